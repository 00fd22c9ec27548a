#include "kernels/cpu_kernels.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_sequences.h"

namespace offstage::engine::parity {

namespace {

std::vector<AttentionShape> grouped_shapes() {
    std::vector<AttentionShape> shapes = {grouped_attention(4, 2, 16),       grouped_attention(8, 2, 64),
                                          grouped_attention(2, 2, 80),       grouped_attention(4, 1, 128),
                                          grouped_attention(8, 2, 64, 50),   grouped_attention(4, 4, 16, 64),
                                          grouped_attention(4, 2, 128, 100), grouped_attention(2, 1, 512)};
    AttentionShape partly_rotated = grouped_attention(4, 2, 64);
    partly_rotated.rotary_dim = 16;
    shapes.push_back(partly_rotated);
    partly_rotated.rotary_first = 30;
    partly_rotated.scale = 0.3f;
    shapes.push_back(partly_rotated);
    AttentionShape smaller_values = grouped_attention(6, 2, 40);
    smaller_values.value_dim = 24;
    shapes.push_back(smaller_values);
    AttentionShape larger_values = grouped_attention(2, 2, 18, 70);
    larger_values.value_dim = 33;
    shapes.push_back(larger_values);
    return shapes;
}

std::vector<AttentionShape> latent_shapes() {
    return {latent_attention(9, 48, 16), latent_attention(1, 20, 6), latent_attention(3, 33, 10, 50),
            latent_attention(2, 512, 64)};
}

std::vector<AttentionShape> attention_shapes() {
    std::vector<AttentionShape> shapes = grouped_shapes();
    for (const AttentionShape& shape : latent_shapes()) shapes.push_back(shape);
    return shapes;
}

struct KvCase {
    AttentionShape shape;
    kernels::KvType type;
};

// Each shape with float32, and of each kind one with the other types: they differ in how
// rows are read and written.
std::vector<KvCase> kv_cases(const std::vector<AttentionShape>& shapes) {
    std::vector<KvCase> cases;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        cases.push_back({shapes[i], kernels::KvType::kF32});
        if (i % 3 != 1) continue;
        cases.push_back({shapes[i], kernels::KvType::kBf16});
        cases.push_back({shapes[i], kernels::KvType::kInt8});
    }
    return cases;
}

const std::vector<std::vector<TestSequences::Length>>& attention_steps() {
    static const std::vector<std::vector<TestSequences::Length>> steps = {{{0, 1}},
                                                                          {{0, 70}},
                                                                          {{63, 2}},
                                                                          {{200, 1}},
                                                                          {{130, 65}},
                                                                          {{10, 1}, {200, 1}, {64, 1}, {127, 1}},
                                                                          {{0, 5}, {100, 33}, {63, 1}}};
    return steps;
}

// The value of a head's row at place i after rotation, or unrotated.
Expected rotated_value(const AttentionShape& shape, const float* head, std::int64_t i, const float* cos,
                       const float* sin) {
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t place = i - shape.rotary_first;
    Expected value;
    if (place < 0 || place >= shape.rotary_dim) {
        value.add(double{head[i]});
        return value;
    }
    const std::int64_t pair = place % half;
    const float* first = head + shape.rotary_first + pair;
    value.add(double{first[place < half ? 0 : half]} * double{cos[pair]});
    value.add((place < half ? -1 : 1) * double{first[place < half ? half : 0]} * double{sin[pair]});
    return value;
}

void check_rotate_and_store(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayers = 3;
    constexpr std::int64_t kLayer = 1;
    for (const auto& [shape, type] : kv_cases(grouped_shapes())) {
        for (const auto& lengths : attention_steps()) {
            const TestSequences sequences(backend, shape, lengths, kLayers, TestSequences::Blocks::kEverywhere, type);
            const std::int64_t half = shape.rotary_dim / 2;
            const std::int64_t width = shape.qkv_width();
            const std::int64_t rotated_width = (shape.n_heads + shape.n_kv_heads) * shape.key_dim;
            const OnDevice<float> qkv(backend, random_floats(sequences.n_rows() * width, 9));
            const OnDevice<float> cos(backend, random_floats(sequences.n_rows() * half, 10));
            const OnDevice<float> sin(backend, random_floats(sequences.n_rows() * half, 11));
            backend.submit(ops::RotateAndStore{kLayer, shape, sequences.segments(), cos.data(), sin.data(), qkv.data(),
                                               sequences.shape()});

            std::vector<Expected> want;
            for (std::int64_t row = 0; row < sequences.n_rows(); ++row) {
                const float* values = qkv.host().data() + row * width;
                for (std::int64_t i = 0; i < width; ++i) {
                    if (i < rotated_width) {
                        want.push_back(rotated_value(shape, values + i / shape.key_dim * shape.key_dim,
                                                     i % shape.key_dim, cos.host().data() + row * half,
                                                     sin.host().data() + row * half));
                    } else {
                        want.emplace_back();
                        want.back().add(double{values[i]});
                    }
                }
            }
            const std::vector<float> rotated = qkv.download();
            PARITY_VERIFY(mismatch(rotated, want, 1e-6));

            // The cache must hold qkv's present keys and values, and nothing else may
            // have changed.
            std::vector<std::byte> cache = sequences.made();
            for (const AttentionSegment& segment : sequences.segments()) {
                for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                    const float* row = rotated.data() + (segment.first_row + t) * width;
                    for (std::int64_t head = 0; head < shape.n_kv_heads; ++head) {
                        const auto place = [&](std::int64_t part) {
                            return cache.data() + sequences.place(kLayer, part, head, segment, segment.past + t);
                        };
                        kernels::store_kv_row(row + (shape.n_heads + head) * shape.key_dim, shape.key_dim, type,
                                              place(0));
                        kernels::store_kv_row(row + rotated_width + head * shape.value_dim, shape.value_dim, type,
                                              place(1));
                    }
                }
            }
            const std::vector<std::byte> got = sequences.contents();
            QVERIFY(same_bits<std::byte>(got, cache));
        }
    }
}

void check_rotate_and_store_latent(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayers = 3;
    constexpr std::int64_t kLayer = 2;
    constexpr std::int64_t kNope = 12;
    for (const auto& [shape, type] : kv_cases(latent_shapes())) {
        for (const auto& lengths : attention_steps()) {
            const TestSequences sequences(backend, shape, lengths, kLayers, TestSequences::Blocks::kEverywhere, type);
            const std::int64_t n = sequences.n_rows();
            const std::int64_t half = shape.rotary_dim / 2;
            const std::int64_t q_dim = kNope + shape.rotary_dim;
            const OnDevice<float> q(backend, random_floats(n * shape.n_heads * q_dim, 9));
            const OnDevice<float> latent(backend, random_floats(n * shape.key_dim, 12));
            const OnDevice<float> queries(backend, random_floats(n * shape.query_width(), 13));
            const OnDevice<float> cos(backend, random_floats(n * half, 10));
            const OnDevice<float> sin(backend, random_floats(n * half, 11));
            backend.submit(ops::RotateAndStoreLatent{kLayer, shape, sequences.segments(), cos.data(), sin.data(),
                                                     q.data(), kNope, latent.data(), queries.data(),
                                                     sequences.shape()});

            AttentionShape within_q = shape;  // there the rotary part is behind the other
            within_q.rotary_first = kNope;
            std::vector<Expected> want_queries;
            std::vector<Expected> want_latent;
            for (std::int64_t row = 0; row < n; ++row) {
                const float* c = cos.host().data() + row * half;
                const float* s = sin.host().data() + row * half;
                for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                    const float* from = q.host().data() + (row * shape.n_heads + head) * q_dim;
                    for (std::int64_t i = 0; i < shape.key_dim; ++i) {
                        if (i >= shape.rotary_first) {
                            want_queries.push_back(rotated_value(within_q, from, kNope + i - shape.rotary_first, c, s));
                        } else {  // the latent part is there already
                            want_queries.emplace_back();
                            want_queries.back().add(double{queries.host()[want_queries.size() - 1]});
                        }
                    }
                }
                for (std::int64_t i = 0; i < shape.key_dim; ++i) {
                    want_latent.push_back(rotated_value(shape, latent.host().data() + row * shape.key_dim, i, c, s));
                }
            }
            const std::vector<float> rotated = latent.download();
            PARITY_VERIFY(mismatch(rotated, want_latent, 1e-6));
            PARITY_VERIFY(mismatch(queries.download(), want_queries, 1e-6));

            std::vector<std::byte> cache = sequences.made();
            for (const AttentionSegment& segment : sequences.segments()) {
                for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                    kernels::store_kv_row(rotated.data() + (segment.first_row + t) * shape.key_dim, shape.key_dim, type,
                                          cache.data() + sequences.place(kLayer, 0, 0, segment, segment.past + t));
                }
            }
            const std::vector<std::byte> got = sequences.contents();
            QVERIFY(same_bits<std::byte>(got, cache));
        }
    }
}

// to[0 .. value_dim) += the attention of a head's query at place `last`.
void add_attention(const AttentionShape& shape, const float* query, const float* sink,
                   const std::vector<std::vector<float>>& keys, const std::vector<std::vector<float>>& values,
                   std::int64_t last, Expected* to) {
    const std::int64_t first = shape.window > 0 ? std::max<std::int64_t>(0, last + 1 - shape.window) : 0;
    std::vector<double> scores;
    for (std::int64_t key = first; key <= last; ++key) {
        const float* const k = keys[static_cast<std::size_t>(key)].data();
        double score = 0;
        for (std::int64_t i = 0; i < shape.key_dim; ++i) score += double{query[i]} * double{k[i]};
        scores.push_back(score * double{shape.scale});
    }
    double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    if (sink != nullptr) {
        largest = std::max(largest, double{*sink});
        sum = std::exp(double{*sink} - largest);
    }
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (std::int64_t key = first; key <= last; ++key) {
        const float* const v = values[static_cast<std::size_t>(key)].data();
        const double probability = scores[static_cast<std::size_t>(key - first)] / sum;
        for (std::int64_t i = 0; i < shape.value_dim; ++i) to[i].add(probability * double{v[i]});
    }
}

// Layer kLayer's attention to random keys and values, with random sinks if requested:
// against the same in double precision.
QString mismatch_of_attention(Backend& backend, AttentionShape shape, kernels::KvType type, bool has_sinks,
                              const std::vector<TestSequences::Length>& lengths) {
    constexpr std::int64_t kLayers = 2;
    constexpr std::int64_t kLayer = 1;
    const OnDevice<float> sinks(backend, random_floats(shape.n_heads, 13, 4.0f));
    if (has_sinks) shape.sinks = sinks.data();
    const TestSequences sequences(backend, shape, lengths, kLayers, TestSequences::Blocks::kEverywhere, type);
    const std::int64_t stride = query_stride(shape);
    const OnDevice<float> queries(backend, random_floats(sequences.n_rows() * stride, 12, 2.0f));
    const OnDevice<float> out(backend, filled(sequences.n_rows() * shape.output_width(), NAN));
    backend.submit(
        ops::Attend{kLayer, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data()});

    std::vector<Expected> want(out.host().size());
    const std::int64_t heads_of_kv = shape.n_heads / shape.n_kv_heads;
    for (const AttentionSegment& segment : sequences.segments()) {
        for (std::int64_t kv_head = 0; kv_head < shape.n_kv_heads; ++kv_head) {
            std::vector<std::vector<float>> keys, values;
            for (std::int64_t key = 0; key < segment.past + segment.n_tokens; ++key) {
                keys.push_back(sequences.row(kLayer, 0, kv_head, segment, key));
                values.push_back(sequences.row(kLayer, 1, kv_head, segment, key));
            }
            for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                const std::int64_t row = segment.first_row + t;
                for (std::int64_t head = kv_head * heads_of_kv; head < (kv_head + 1) * heads_of_kv; ++head) {
                    const float* q = queries.host().data() + row * stride + head * shape.key_dim;
                    const float* sink = has_sinks ? sinks.host().data() + head : nullptr;
                    add_attention(shape, q, sink, keys, values, segment.past + t,
                                  want.data() + row * shape.output_width() + head * shape.value_dim);
                }
            }
        }
    }
    // A score's rounding moves the whole softmax, so a little more than for a plain sum.
    return mismatch(out.download(), want, 2 * Promise::kTolerance);
}

void check_attend(Backend& backend, const Promise&) {
    int n_steps = 0;
    for (const auto& [shape, type] : kv_cases(attention_shapes())) {
        for (const auto& lengths : attention_steps()) {
            PARITY_VERIFY(mismatch_of_attention(backend, shape, type, n_steps++ % 2 == 0, lengths));
        }
    }
}

// Shapes and steps of prompts that end anywhere in tiles of queries, keys and dimensions:
// groups of 1 to 8 heads, windows smaller and larger than a block of the cache.
std::vector<AttentionShape> prompt_shapes() {
    return {grouped_attention(3, 3, 16),    grouped_attention(8, 1, 64, 70), grouped_attention(4, 1, 128),
            grouped_attention(2, 2, 80, 9), grouped_attention(6, 2, 96, 64), grouped_attention(4, 2, 128, 100),
            grouped_attention(5, 1, 112, 1)};
}

const std::vector<std::vector<TestSequences::Length>>& prompt_steps() {
    static const std::vector<std::vector<TestSequences::Length>> steps = {
        {{0, 9}}, {{0, 64}}, {{0, 150}}, {{63, 17}}, {{128, 66}}, {{0, 20}, {5, 1}, {190, 33}, {64, 3}, {60, 70}}};
    return steps;
}

void check_attend_bf16_prompts(Backend& backend, const Promise&) {
    int n_steps = 0;
    for (const AttentionShape& shape : prompt_shapes()) {
        for (const auto& lengths : prompt_steps()) {
            PARITY_VERIFY(mismatch_of_attention(backend, shape, kernels::KvType::kBf16, n_steps++ % 3 == 0, lengths));
        }
    }
}

// Compares results with all blocks on the device and with some in host memory; empty:
// equal.
QString difference_by_place(Backend& backend, const AttentionShape& shape, kernels::KvType type,
                            const std::vector<TestSequences::Length>& lengths) {
    using Blocks = TestSequences::Blocks;
    std::vector<float> results[2];
    for (const Blocks where : {Blocks::kOnDevice, Blocks::kEverywhere}) {
        const TestSequences sequences(backend, shape, lengths, 1, where, type);
        const std::int64_t stride = query_stride(shape);
        const OnDevice<float> queries(backend, random_floats(sequences.n_rows() * stride, 21, 2.0f));
        const OnDevice<float> out(backend, filled(sequences.n_rows() * shape.output_width(), NAN));
        backend.submit(
            ops::Attend{0, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data()});
        results[where == Blocks::kOnDevice ? 0 : 1] = out.download();
    }
    return same_bits<float>(results[0], results[1]) ? QString() : QStringLiteral("bits differ");
}

// The places of the blocks change no bit of the result.
void check_blocks_in_host_memory(Backend& backend, const Promise&) {
    std::vector<KvCase> cases;
    for (const AttentionShape& shape : {grouped_attention(8, 2, 64), grouped_attention(4, 2, 128, 100),
                                        grouped_attention(4, 4, 18), latent_attention(3, 48, 16)}) {
        cases.push_back({shape, kernels::KvType::kF32});
    }
    for (const AttentionShape& shape :
         {grouped_attention(4, 4, 64), grouped_attention(8, 2, 128, 100), grouped_attention(4, 4, 112, 64)}) {
        cases.push_back({shape, kernels::KvType::kBf16});
    }
    for (const auto& [shape, type] : cases) {
        for (const auto& lengths : attention_steps()) PARITY_VERIFY(difference_by_place(backend, shape, type, lengths));
    }
    // More blocks in host memory than are copied at once: several ranges of keys.
    for (const std::int64_t window : {0, 850}) {
        PARITY_VERIFY(
            difference_by_place(backend, grouped_attention(8, 8, 128, window), kernels::KvType::kBf16, {{945, 9}}));
    }
}

}  // namespace

std::vector<Check> attention_checks() {
    return {{"rotate_and_store", check_rotate_and_store},
            {"rotate_and_store_latent", check_rotate_and_store_latent},
            {"attend", check_attend},
            {"attend_bf16_prompts", check_attend_bf16_prompts},
            {"blocks_in_host_memory", check_blocks_in_host_memory}};
}

}  // namespace offstage::engine::parity
