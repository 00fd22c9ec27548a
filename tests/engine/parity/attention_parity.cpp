#include <algorithm>
#include <numeric>

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

// The keys that the token at place `last` attends to without a choice.
std::vector<std::int32_t> keys_seen(const AttentionShape& shape, std::int64_t last) {
    const std::int64_t first = shape.window > 0 ? std::max<std::int64_t>(0, last + 1 - shape.window) : 0;
    std::vector<std::int32_t> keys(static_cast<std::size_t>(last + 1 - first));
    std::iota(keys.begin(), keys.end(), static_cast<std::int32_t>(first));
    return keys;
}

// n of them, in rising order.
std::vector<std::int32_t> some_of_keys(std::vector<std::int32_t> keys, std::int64_t n, std::mt19937& generator) {
    std::shuffle(keys.begin(), keys.end(), generator);
    keys.resize(static_cast<std::size_t>(n));
    std::sort(keys.begin(), keys.end());
    return keys;
}

// to[0 .. value_dim) += the attention of a head's query to the keys in `seen`.
void add_attention(const AttentionShape& shape, const float* query, const float* sink,
                   const std::vector<std::vector<float>>& keys, const std::vector<std::vector<float>>& values,
                   const std::vector<std::int32_t>& seen, Expected* to) {
    std::vector<double> scores;
    for (const std::int32_t key : seen) {
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
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const float* const v = values[static_cast<std::size_t>(seen[i])].data();
        const double probability = scores[i] / sum;
        for (std::int64_t d = 0; d < shape.value_dim; ++d) to[d].add(probability * double{v[d]});
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
    // The keys of each row, for each of its choices; those of rows that choose none are
    // not read.
    std::vector<std::vector<std::int32_t>> seen;
    std::vector<std::int32_t> listed(
        static_cast<std::size_t>(std::max<std::int64_t>(1, sequences.n_rows() * shape.choice_width())), INT32_MAX);
    std::mt19937 generator(19);
    for (const AttentionSegment& segment : sequences.segments()) {
        for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
            for (std::int64_t choice = 0; choice < shape.n_choices; ++choice) {
                seen.push_back(keys_seen(shape, segment.past + t));
                const auto n = std::ssize(seen.back());
                if (shape.top_k == 0 || n <= shape.top_k) continue;
                seen.back() = some_of_keys(seen.back(), shape.n_chosen(n), generator);
                std::copy(seen.back().begin(), seen.back().end(),
                          listed.begin() + ((segment.first_row + t) * shape.n_choices + choice) * shape.top_k);
            }
        }
    }
    const OnDevice<std::int32_t> chosen(backend, listed);
    backend.submit(ops::Attend{kLayer, shape, sequences.segments(), queries.data(), stride, sequences.shape(),
                               out.data(), chosen.data()});

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
                    const std::int64_t choice = shape.n_choices > 1 ? kv_head : 0;
                    add_attention(shape, q, sink, keys, values,
                                  seen[static_cast<std::size_t>(row * shape.n_choices + choice)],
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

// Rows that attend to what an indexer chose: fewer keys than a block has, and more.
void check_attend_to_chosen(Backend& backend, const Promise&) {
    int n_steps = 0;
    std::vector<AttentionShape> shapes = {latent_attention(9, 48, 16), latent_attention(1, 20, 6),
                                          latent_attention(2, 512, 64), grouped_attention(8, 2, 64),
                                          grouped_attention(9, 3, 16)};
    const std::int64_t counts[] = {1, 40, 64, 65, 48};
    for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i].top_k = counts[i];
    shapes[3].choice_block = 13;
    shapes[4].choice_block = 12;
    for (const std::size_t i : {3, 4}) {
        shapes[i].n_local_blocks = 1;
        shapes[i].n_choices = shapes[i].n_kv_heads;
    }
    for (const auto& [shape, type] : kv_cases(shapes)) {
        for (const auto& lengths : attention_steps()) {
            PARITY_VERIFY(mismatch_of_attention(backend, shape, type, n_steps++ % 2 == 0, lengths));
        }
    }
}

// What ops::ChooseKeys chooses for a row, by its contract; of a head that chooses alone
// without weights.
std::vector<std::int32_t> key_choice_of(const AttentionShape& shape, const float* queries, const float* weights,
                                        const std::vector<std::vector<float>>& keys, std::int64_t n_keys) {
    const std::int64_t block = shape.choice_block;
    std::vector<float> scores(static_cast<std::size_t>((n_keys + block - 1) / block), -INFINITY);
    for (std::int64_t key = 0; key < n_keys; ++key) {
        float score = 0;
        for (std::int64_t h = 0; h < (weights == nullptr ? 1 : shape.n_heads); ++h) {
            float product = 0;
            for (std::int64_t i = 0; i < shape.key_dim; ++i) {
                product = std::fma(queries[h * shape.key_dim + i],
                                   keys[static_cast<std::size_t>(key)][static_cast<std::size_t>(i)], product);
            }
            score = weights == nullptr ? product : std::fma(weights[h], product > 0 ? product : 0.0f, score);
        }
        float& of_block = scores[static_cast<std::size_t>(key / block)];
        if (!std::isnan(score)) of_block = std::max(of_block, score);
    }
    for (std::int64_t i = 1; i <= shape.n_local_blocks; ++i)
        scores[scores.size() - static_cast<std::size_t>(i)] = INFINITY;
    std::vector<std::int32_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(shape.top_k / block));
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> chosen;
    for (const std::int32_t b : order) {
        for (std::int64_t k = b * block; k < std::min(n_keys, (b + 1) * block); ++k) {
            chosen.push_back(static_cast<std::int32_t>(k));
        }
    }
    return chosen;
}

// weight: of all heads; 0: any.
void check_key_choice(Backend& backend, AttentionShape shape, kernels::KvType type, float weight,
                      const std::vector<TestSequences::Length>& lengths) {
    constexpr std::int64_t kLayer = 1;
    const TestSequences sequences(backend, shape, lengths, 2, TestSequences::Blocks::kEverywhere, type);
    const std::int64_t n = sequences.n_rows();
    const OnDevice<float> queries(backend, random_floats(n * shape.query_width(), 12));
    std::vector<float> weights = weight != 0 ? filled(n * shape.n_heads, weight) : random_floats(n * shape.n_heads, 13);
    if (weight == 0) weights.back() = NAN;  // none of the last row's scores is a number
    const OnDevice<float> of_heads(backend, weights);
    const OnDevice<std::int32_t> chosen(
        backend, std::vector<std::int32_t>(static_cast<std::size_t>(n * shape.choice_width()), -1));
    const bool by_head = shape.n_choices > 1;
    backend.submit(ops::ChooseKeys{kLayer, shape, sequences.segments(), queries.data(),
                                   by_head ? nullptr : of_heads.data(), sequences.shape(), chosen.data()});
    std::vector<std::int32_t> want = chosen.host();
    for (const AttentionSegment& segment : sequences.segments()) {
        std::vector<std::vector<float>> keys;
        for (std::int64_t key = 0; key < segment.past + segment.n_tokens; ++key) {
            keys.push_back(sequences.row(kLayer, 0, 0, segment, key));
        }
        for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
            const std::int64_t row = segment.first_row + t;
            if (segment.past + t + 1 <= shape.top_k) continue;  // nothing is written
            for (std::int64_t c = 0; c < shape.n_choices; ++c) {
                const auto choice =
                    key_choice_of(shape, queries.host().data() + row * shape.query_width() + c * shape.key_dim,
                                  by_head ? nullptr : weights.data() + row * shape.n_heads, keys, segment.past + t + 1);
                QCOMPARE(std::ssize(choice), shape.n_chosen(segment.past + t + 1));
                std::copy(choice.begin(), choice.end(), want.begin() + (row * shape.n_choices + c) * shape.top_k);
            }
        }
    }
    QVERIFY(chosen.download() == want);
}

// The choice is the same everywhere, ties included: with one head and a negative weight
// half of the keys have a score of 0, which is the largest.
void check_choose_keys(Backend& backend, const Promise&) {
    struct Case {
        std::int64_t n_heads, key_dim, top_k;
        float weight;
        std::int64_t block = 1, n_local = 0;
        bool by_head = false;
    };
    int n_cases = 0;
    for (const auto& [n_heads, key_dim, top_k, weight, block, n_local, by_head] : {Case{1, 16, 20, -1.0f},
                                                                                   {5, 10, 7, 0},
                                                                                   {17, 33, 64, 0},
                                                                                   {64, 128, 100, 0.1f},
                                                                                   {33, 6, 1, 0},
                                                                                   {4, 16, 48, 0, 16, 1, true},
                                                                                   {9, 40, 30, 0, 10, 2, true},
                                                                                   {1, 16, 12, -1.0f, 4, 1},
                                                                                   {3, 20, 16, 0, 1, 0, true}}) {
        AttentionShape shape;
        shape.n_heads = n_heads;
        shape.n_kv_heads = 1;
        shape.key_dim = key_dim;
        shape.values_in_keys = true;
        shape.top_k = top_k;
        shape.choice_block = block;
        shape.n_local_blocks = n_local;
        if (by_head) shape.n_choices = n_heads;
        for (const auto& lengths : attention_steps()) {
            check_key_choice(backend, shape, static_cast<kernels::KvType>(n_cases++ % 3), weight, lengths);
            if (QTest::currentTestFailed()) return;
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
            {"attend_to_chosen", check_attend_to_chosen},
            {"choose_keys", check_choose_keys},
            {"attend_bf16_prompts", check_attend_bf16_prompts},
            {"blocks_in_host_memory", check_blocks_in_host_memory}};
}

}  // namespace offstage::engine::parity
