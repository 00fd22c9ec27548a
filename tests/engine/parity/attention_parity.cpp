#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

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
                      const std::vector<TestSequences::Length>& lengths, std::int64_t key_tokens = 1) {
    constexpr std::int64_t kLayer = 1;
    const TestSequences sequences(backend, shape, lengths, 2, TestSequences::Blocks::kEverywhere, type, key_tokens);
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
        for (std::int64_t key = 0; key < (segment.past + segment.n_tokens) / key_tokens; ++key) {
            keys.push_back(sequences.row(kLayer, 0, 0, segment, key));
        }
        for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
            const std::int64_t row = segment.first_row + t;
            const std::int64_t n_keys = (segment.past + t + 1) / key_tokens;
            if (n_keys <= shape.top_k) continue;  // nothing is written
            for (std::int64_t c = 0; c < shape.n_choices; ++c) {
                const auto choice =
                    key_choice_of(shape, queries.host().data() + row * shape.query_width() + c * shape.key_dim,
                                  by_head ? nullptr : weights.data() + row * shape.n_heads, keys, n_keys);
                QCOMPARE(std::ssize(choice), shape.n_chosen(n_keys));
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
    AttentionShape pooled;
    pooled.n_heads = 9;
    pooled.n_kv_heads = 1;
    pooled.key_dim = 24;
    pooled.values_in_keys = true;
    for (const auto& [key_tokens, top_k, past] :
         {std::tuple<std::int64_t, std::int64_t, std::int64_t>{4, 7, 90}, {4, 300, 2300}, {128, 2, 500}, {16, 3, 70}}) {
        pooled.top_k = top_k;
        const std::vector<TestSequences::Length> lengths = {{past, 1}, {0, 70}, {past - 5, 40}, {63, 2}};
        check_key_choice(backend, pooled, static_cast<kernels::KvType>(n_cases++ % 3), 0, lengths, key_tokens);
        if (QTest::currentTestFailed()) return;
    }
}

// Pairs of neighbours, forward and back.
void check_rotate_pairs(Backend& backend, const Promise&) {
    constexpr std::int64_t kRows = 5, kHeads = 3, kDim = 14, kFirst = 6, kRotated = 8;
    for (const bool back : {false, true}) {
        const OnDevice<float> x(backend, random_floats(kRows * kHeads * kDim, 9));
        const OnDevice<float> cos(backend, random_floats(kRows * kRotated / 2, 10));
        const OnDevice<float> sin(backend, random_floats(kRows * kRotated / 2, 11));
        backend.submit(ops::RotatePairs{kRows, kHeads, kDim, kFirst, kRotated, cos.data(), sin.data(), back, x.data()});
        std::vector<Expected> want(x.host().size());
        for (std::size_t i = 0; i < want.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const std::int64_t place = at % kDim - kFirst;
            if (place < 0 || place >= kRotated) {
                want[i].add(double{x.host()[i]});
                continue;
            }
            const auto angle = static_cast<std::size_t>(at / (kHeads * kDim) * kRotated / 2 + place / 2);
            const double other = double{x.host()[place % 2 == 0 ? i + 1 : i - 1]};
            want[i].add(double{x.host()[i]} * double{cos.host()[angle]});
            want[i].add(((place % 2 == 0) == back ? 1 : -1) * other * double{sin.host()[angle]});
        }
        PARITY_VERIFY(mismatch(x.download(), want, 1e-6));
    }
}

struct PooledCase {
    std::int64_t key_tokens, key_dim, n_parts;
    kernels::KvType type;
};
const PooledCase kPooledCases[] = {{4, 24, 2, kernels::KvType::kF32},
                                   {128, 40, 1, kernels::KvType::kF32},
                                   {4, 512, 2, kernels::KvType::kBf16},
                                   {16, 10, 1, kernels::KvType::kInt8}};
const std::vector<TestSequences::Length> kPooledSteps[] = {
    {{0, 1}}, {{3, 1}}, {{126, 2}}, {{0, 300}}, {{200, 3}, {64, 64}}};

// A pooled key by its contract, from rows of values and scores as they are now.
std::vector<double> pooled_key_of(const ops::PoolKeys& op, const std::vector<std::vector<float>>& values,
                                  const std::vector<std::vector<float>>& scores, std::int64_t number,
                                  const std::vector<float>& norm, const float* cos, const float* sin) {
    const std::int64_t dim = op.pooled.key_dim, n = op.pooled.key_tokens;
    std::vector<double> key;
    for (std::int64_t c = 0; c < dim; ++c) {
        double sum = 0, value = 0;
        for (std::int64_t i = op.n_parts() > 1 && number > 0 ? -n : 0; i < n; ++i) {
            const auto token = static_cast<std::size_t>(number * n + i);
            const auto at = static_cast<std::size_t>(op.n_parts() > 1 && i >= 0 ? dim + c : c);
            const double share = std::exp(double{scores[token][at]});
            sum += share;
            value += share * double{values[token][at]};
        }
        key.push_back(value / sum);
    }
    double squares = 0;
    for (const double value : key) squares += value * value;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(dim) + double{op.norm.eps});
    for (std::size_t c = 0; c < key.size(); ++c) key[c] *= factor * double{norm[c]};
    for (std::int64_t i = 0; i < op.rotary_dim / 2; ++i) {
        double& first = key[static_cast<std::size_t>(dim - op.rotary_dim + 2 * i)];
        double& second = key[static_cast<std::size_t>(dim - op.rotary_dim + 2 * i + 1)];
        const double x = first, y = second;
        first = x * double{cos[i]} - y * double{sin[i]};
        second = y * double{cos[i]} + x * double{sin[i]};
    }
    return key;
}

void check_pool_keys_of(Backend& backend, const PooledCase& one, const std::vector<TestSequences::Length>& lengths) {
    constexpr std::int64_t kLayer = 1, kRotated = 6;
    const std::int64_t width = one.n_parts * one.key_dim;
    AttentionShape sources_shape, pooled_shape;
    sources_shape.n_kv_heads = pooled_shape.n_kv_heads = 1;
    sources_shape.key_dim = sources_shape.value_dim = width;
    pooled_shape.key_dim = one.key_dim;
    pooled_shape.values_in_keys = true;
    const TestSequences sources(backend, sources_shape, lengths, 2);
    const TestSequences pooled(backend, pooled_shape, lengths, 2, TestSequences::Blocks::kEverywhere, one.type,
                               one.key_tokens);
    const std::int64_t n = sources.n_rows();
    const OnDevice<float> values(backend, random_floats(n * width, 3));
    const OnDevice<float> scores(backend, random_floats(n * width, 4));
    const OnDevice<float> bias(backend, random_floats(one.key_tokens * width, 5));
    const OnDevice<float> norm(backend, random_floats(one.key_dim, 6));
    const OnDevice<float> cos(backend, random_floats(n * kRotated / 2, 10));
    const OnDevice<float> sin(backend, random_floats(n * kRotated / 2, 11));
    const ops::PoolKeys op{.layer = kLayer,
                           .segments = sources.segments(),
                           .sources = sources.shape(),
                           .pooled_layer = kLayer,
                           .pooled_segments = pooled.segments(),
                           .pooled = pooled.shape(),
                           .values = values.data(),
                           .scores = scores.data(),
                           .position_bias = bias.data(),
                           .norm = {kernels::NormKind::kRms, norm.data(), nullptr, one.key_dim, 1e-3f},
                           .rotary_dim = kRotated,
                           .cos = cos.data(),
                           .sin = sin.data()};
    backend.submit(op);
    const std::vector<std::byte> got = pooled.contents();
    std::vector<std::byte> untouched = pooled.made();
    const auto& segments = sources.segments();
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const AttentionSegment& segment = segments[s];
        std::vector<std::vector<float>> all_values, all_scores;
        for (std::int64_t token = 0; token < segment.past + segment.n_tokens; ++token) {
            all_values.push_back(sources.row(kLayer, 0, 0, segment, token));
            all_scores.push_back(sources.row(kLayer, 1, 0, segment, token));
            const std::int64_t row = (segment.first_row + token - segment.past) * width;
            for (std::int64_t i = 0; token >= segment.past && i < width; ++i) {
                const auto c = static_cast<std::size_t>(i), at = static_cast<std::size_t>(row + i);
                all_values.back()[c] = values.host()[at];
                all_scores.back()[c] =
                    scores.host()[at] + bias.host()[static_cast<std::size_t>(token % one.key_tokens * width + i)];
            }
        }
        for (std::int64_t key = op.first_key(segment); key < op.end_key(segment); ++key) {
            const std::int64_t row = segment.first_row + (key + 1) * one.key_tokens - 1 - segment.past;
            const std::vector<double> want =
                pooled_key_of(op, all_values, all_scores, key, norm.host(), cos.host().data() + row * kRotated / 2,
                              sin.host().data() + row * kRotated / 2);
            const std::size_t place = pooled.place(kLayer, 0, 0, pooled.segments()[s], key);
            std::vector<float> stored(want.size());
            kernels::load_kv_row(got.data() + place, one.key_dim, one.type, stored.data());
            const double tolerance = one.type == kernels::KvType::kF32 ? 1e-5 : 0.03;
            for (std::size_t c = 0; c < want.size(); ++c) {
                QVERIFY2(std::abs(double{stored[c]} - want[c]) <= tolerance * (1 + std::abs(want[c])),
                         qPrintable(QStringLiteral("key %1, value %2").arg(key).arg(c)));
            }
            const auto first = got.begin() + static_cast<std::ptrdiff_t>(place);
            std::copy(first, first + pooled.shape().key_stride(),
                      untouched.begin() + static_cast<std::ptrdiff_t>(place));
        }
    }
    QVERIFY(same_bits<std::byte>(got, untouched));
}

void check_pool_keys(Backend& backend, const Promise&) {
    for (const PooledCase& one : kPooledCases) {
        for (const auto& lengths : kPooledSteps) {
            check_pool_keys_of(backend, one, lengths);
            if (QTest::currentTestFailed()) return;
        }
    }
}

// A window beside pooled keys: all of them, or some.
void check_attend_pooled(Backend& backend, const Promise&) {
    constexpr std::int64_t kLayer = 1, kPooledLayer = 0;
    for (const PooledCase& one : kPooledCases) {
        for (const auto& lengths : kPooledSteps) {
            AttentionShape shape = latent_attention(9, one.key_dim - 6, 6);
            shape.value_dim = one.key_dim;
            shape.window = 70;
            shape.top_k = one.n_parts > 1 ? 20 : 0;
            const OnDevice<float> sinks(backend, random_floats(shape.n_heads, 13, 4.0f));
            shape.sinks = sinks.data();
            const TestSequences near(backend, shape, lengths, 2, TestSequences::Blocks::kEverywhere, one.type);
            AttentionShape whole = shape;  // of pooled keys all blocks are there
            whole.window = 0;
            const TestSequences pooled(backend, whole, lengths, 1, TestSequences::Blocks::kEverywhere, one.type,
                                       one.key_tokens);
            const std::int64_t n = near.n_rows();
            const OnDevice<float> queries(backend, random_floats(n * shape.query_width(), 12, 2.0f));
            const OnDevice<float> out(backend, filled(n * shape.output_width(), NAN));
            std::vector<std::int32_t> listed(static_cast<std::size_t>(std::max<std::int64_t>(1, n * shape.top_k)),
                                             INT32_MAX);
            std::mt19937 generator(19);
            std::vector<Expected> want(out.host().size());
            for (std::size_t s = 0; s < lengths.size(); ++s) {
                const AttentionSegment& segment = near.segments()[s];
                for (std::int64_t t = 0; t < segment.n_tokens; ++t) {
                    const std::int64_t end = segment.past + t + 1, row = segment.first_row + t;
                    std::vector<std::int32_t> numbers = keys_seen(whole, end / one.key_tokens - 1);
                    if (shape.top_k > 0 && std::ssize(numbers) > shape.top_k) {
                        numbers = some_of_keys(numbers, shape.top_k, generator);
                        std::copy(numbers.begin(), numbers.end(), listed.begin() + row * shape.top_k);
                    }
                    std::vector<std::vector<float>> keys;
                    for (const std::int32_t key : numbers) {
                        keys.push_back(pooled.row(kPooledLayer, 0, 0, pooled.segments()[s], key));
                    }
                    for (const std::int32_t key : keys_seen(shape, end - 1)) {
                        keys.push_back(near.row(kLayer, 0, 0, segment, key));
                    }
                    std::vector<std::int32_t> all(keys.size());
                    std::iota(all.begin(), all.end(), 0);
                    for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                        add_attention(shape, queries.host().data() + row * shape.query_width() + head * shape.key_dim,
                                      sinks.host().data() + head, keys, keys, all,
                                      want.data() + row * shape.output_width() + head * shape.value_dim);
                    }
                }
            }
            const OnDevice<std::int32_t> chosen(backend, listed);
            backend.submit(ops::AttendPooled{.layer = kLayer,
                                             .shape = shape,
                                             .segments = near.segments(),
                                             .kv = near.shape(),
                                             .pooled_layer = kPooledLayer,
                                             .pooled_segments = pooled.segments(),
                                             .pooled = pooled.shape(),
                                             .queries = queries.data(),
                                             .out = out.data(),
                                             .chosen = chosen.data()});
            PARITY_VERIFY(mismatch(out.download(), want, 2 * Promise::kTolerance));
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
            {"rotate_pairs", check_rotate_pairs},
            {"pool_keys", check_pool_keys},
            {"attend_pooled", check_attend_pooled},
            {"attend_bf16_prompts", check_attend_bf16_prompts},
            {"blocks_in_host_memory", check_blocks_in_host_memory}};
}

}  // namespace offstage::engine::parity
