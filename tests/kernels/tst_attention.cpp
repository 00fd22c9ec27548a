// Every instruction set against causal attention written out in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <QTest>

#include "kernels/bf16_attention.h"
#include "kernels/cpu_kernels.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

struct Case {
    std::int64_t n_queries;
    std::int64_t n_keys;
    std::int64_t key_dim;
    std::int64_t value_dim = key_dim;
    bool values_in_keys = false;  // a value is the first value_dim floats of its key
};

constexpr Case kCases[] = {
    {1, 1, 64},
    {1, 2, 128},
    {1, 63, 64},
    {1, 64, 96},
    {1, 65, 128},
    {1, 1000, 128},
    {2, 130, 80},
    {3, 3, 64},
    {5, 200, 128},
    {7, 7, 32},
    {8, 8, 64},
    {9, 73, 128},
    {12, 64, 20},
    {17, 17, 16},
    {70, 70, 128},
    {64, 128, 64},
    {65, 200, 72},
    {133, 133, 40},
    {100, 301, 256},
    {6, 6, 1},
    {10, 90, 5},
    {20, 21, 33},
    // Values of another size, after the keys and in them.
    {1, 100, 24, 16},
    {5, 130, 5, 9},
    {70, 70, 192, 128},
    {9, 73, 33, 1},
    {1, 65, 576, 512, true},
    {9, 200, 576, 512, true},
    {1, 70, 5, 3, true},
    {3, 129, 40, 33, true},
    {20, 64, 21, 20, true},
    {12, 90, 19, 19, true},
};

// Cases that bf16_attention() can compute.
constexpr Case kPairCases[] = {
    {1, 1, 64},         {2, 130, 64},       {5, 200, 128},           {6, 64, 32, 16},
    {8, 8, 64},         {9, 73, 128},       {64, 128, 96},           {65, 200, 256},
    {70, 70, 192, 128}, {13, 300, 128, 80}, {3, 65, 576, 512, true}, {20, 90, 96, 64, true},
};

// `values` are value_stride floats apart.
std::vector<double> exact_row(const Case& sizes, const float* q, const float* keys, const float* values,
                              std::int64_t value_stride, std::int64_t n_seen, double scale, double sink = -HUGE_VAL) {
    const std::int64_t key_dim = sizes.key_dim;
    std::vector<double> scores(static_cast<std::size_t>(n_seen));
    for (std::int64_t k = 0; k < n_seen; ++k) {
        double score = 0.0;
        for (std::int64_t i = 0; i < key_dim; ++i) score += double{q[i]} * double{keys[k * key_dim + i]};
        scores[static_cast<std::size_t>(k)] = score * scale;
    }
    const double largest = std::max(sink, *std::max_element(scores.begin(), scores.end()));
    double sum = std::exp(sink - largest);
    std::vector<double> row(static_cast<std::size_t>(sizes.value_dim), 0.0);
    for (std::int64_t k = 0; k < n_seen; ++k) {
        const double probability = std::exp(scores[static_cast<std::size_t>(k)] - largest);
        sum += probability;
        for (std::int64_t i = 0; i < sizes.value_dim; ++i) {
            row[static_cast<std::size_t>(i)] += probability * double{values[k * value_stride + i]};
        }
    }
    for (double& value : row) value /= sum;
    return row;
}

enum class Order { kAscending, kShuffled };

// Random keys and values of n_keys tokens, one after the other.
struct KeysAndValues {
    KeysAndValues(const Case& the_sizes, std::uint32_t seed, float key_scale = 2.0f)
        : sizes(the_sizes),
          keys(static_cast<std::size_t>(sizes.n_keys * sizes.key_dim)),
          own_values(static_cast<std::size_t>(sizes.values_in_keys ? 0 : sizes.n_keys * sizes.value_dim)) {
        fill_random(keys, seed, key_scale);
        fill_random(own_values, seed + 1);
    }
    std::int64_t value_stride() const { return sizes.values_in_keys ? sizes.key_dim : sizes.value_dim; }
    const float* key(std::int64_t k) const { return keys.data() + k * sizes.key_dim; }
    const float* value(std::int64_t k) const {
        return (sizes.values_in_keys ? keys.data() : own_values.data()) + k * value_stride();
    }
    void hide_first(std::int64_t n) {
        std::fill_n(keys.begin(), n * sizes.key_dim, std::nanf(""));
        if (!sizes.values_in_keys) std::fill_n(own_values.begin(), n * sizes.value_dim, std::nanf(""));
    }

    Case sizes;
    std::vector<float> keys;
    std::vector<float> own_values;
};

// A cache whose blocks lie in the given order, none aligned to more than a float; bytes
// outside of keys are NaN (all ones), so that reading them spoils the result.
class BlockedCache {
  public:
    BlockedCache(const KeysAndValues& from, Order order, KvType type = KvType::kF32)
        : shape_{1, 2, from.sizes.key_dim, from.sizes.value_dim, from.sizes.values_in_keys, type},
          n_blocks_((from.sizes.n_keys + kKvBlockTokens - 1) / kKvBlockTokens + 2),
          memory_(n_blocks_ * shape_.block_bytes(), 4) {
        std::fill(memory_.span().begin(), memory_.span().end(), std::byte{0xff});
        for (std::int64_t b = 0; b < n_blocks_; ++b) blocks_.push_back(memory_.data() + b * shape_.block_bytes());
        if (order == Order::kShuffled) {
            std::shuffle(blocks_.begin(), blocks_.end(), std::mt19937(static_cast<unsigned>(from.sizes.n_keys)));
        }
        for (std::int64_t k = 0; k < from.sizes.n_keys; ++k) {
            std::byte* block = blocks_[static_cast<std::size_t>(k / kKvBlockTokens)];
            const std::int64_t in_block = k % kKvBlockTokens;
            store_kv_row(from.key(k), shape_.key_dim, type, block + head().keys + in_block * shape_.key_stride());
            if (shape_.values_in_keys) continue;
            store_kv_row(from.value(k), shape_.value_dim, type,
                         block + head().values + in_block * shape_.value_stride());
        }
    }

    // The second of two.
    KvHead head() const { return kv_head_of(shape_, blocks_.data(), 0, 1); }

  private:
    KvShape shape_;
    std::int64_t n_blocks_;
    TestBuffer<std::byte> memory_;
    std::vector<std::byte*> blocks_;
};

void add_case_rows() {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("index");
    for (const InstructionSet set : available_instruction_sets()) {
        for (std::size_t i = 0; i < std::size(kCases); ++i) {
            QTest::addRow("%s, %lld queries, %lld keys of %lld, values of %lld%s", name_of(set).data(),
                          static_cast<long long>(kCases[i].n_queries), static_cast<long long>(kCases[i].n_keys),
                          static_cast<long long>(kCases[i].key_dim), static_cast<long long>(kCases[i].value_dim),
                          kCases[i].values_in_keys ? " in them" : "")
                << static_cast<int>(set) << static_cast<int>(i);
        }
    }
}

}  // namespace

class TestAttention : public QObject {
    Q_OBJECT

  private slots:
    void matches_softmax_in_double_data() { add_case_rows(); }
    void matches_softmax_in_double();
    void large_scores_do_not_overflow_data() { add_instruction_set_rows(); }
    void large_scores_do_not_overflow();
    void later_keys_are_not_seen_data() { add_instruction_set_rows(); }
    void later_keys_are_not_seen();
    void blocks_anywhere_change_nothing_data() { add_case_rows(); }
    void blocks_anywhere_change_nothing();
    void many_order_makes_queries_independent_data() { blocks_anywhere_change_nothing_data(); }
    void many_order_makes_queries_independent();
    void rounded_caches_are_read_as_they_were_rounded_data() { add_case_rows(); }
    void rounded_caches_are_read_as_they_were_rounded();
    void heads_together_are_as_alone_data() { add_case_rows(); }
    void heads_together_are_as_alone();
    void rows_are_kept_to_half_a_step();
    void first_key_hides_those_before_data() { add_case_rows(); }
    void first_key_hides_those_before();
    void sinks_take_their_share_data() { add_case_rows(); }
    void sinks_take_their_share();
    void pairs_are_rounded_and_no_more_data();
    void pairs_are_rounded_and_no_more();
};

void TestAttention::matches_softmax_in_double() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    const std::int64_t q_stride = key_dim + 3;
    const std::int64_t out_stride = value_dim + 5;
    TestBuffer<float> q(q_stride * (n_queries - 1) + key_dim, 4);
    TestBuffer<float> out(out_stride * (n_queries - 1) + value_dim, 4);
    TestBuffer<float> scratch(attention_scratch_floats(n_keys, key_dim));
    fill_random(q.span(), 1, 2.0f);
    const KeysAndValues from(sizes, 2, values_in_keys ? 1.0f : 2.0f);
    const BlockedCache cache(from, Order::kShuffled);
    std::fill(out.span().begin(), out.span().end(), 77.0f);
    const float scale = 1.0f / std::sqrt(static_cast<float>(key_dim));
    cpu_kernels(static_cast<InstructionSet>(set))
        .attention(q.data(), q_stride, cache.head(), 0, n_queries, n_keys, scale, nullptr, out.data(), out_stride,
                   QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
    QVERIFY(out.guards_intact());
    QVERIFY(scratch.guards_intact());
    for (std::int64_t query = 0; query < n_queries; ++query) {
        const auto want = exact_row(sizes, q.data() + query * q_stride, from.key(0), from.value(0), from.value_stride(),
                                    n_keys - n_queries + query + 1, double{scale});
        for (std::int64_t i = 0; i < value_dim; ++i) {
            const double got = double{out[query * out_stride + i]};
            QVERIFY2(std::abs(got - want[static_cast<std::size_t>(i)]) < 4e-6,
                     qPrintable(QString("query %1 place %2: %3, expected %4")
                                    .arg(query)
                                    .arg(i)
                                    .arg(got)
                                    .arg(want[static_cast<std::size_t>(i)])));
        }
        for (std::int64_t i = value_dim; query + 1 < n_queries && i < out_stride; ++i) {
            QCOMPARE(out[query * out_stride + i], 77.0f);
        }
    }
}

void TestAttention::large_scores_do_not_overflow() {
    QFETCH(int, set);
    // Scores of thousands, largest in a late block: without the maximum subtracted, every
    // exponential overflows.
    constexpr std::int64_t kKeys = 300;
    constexpr std::int64_t kHeadDim = 64;
    std::vector<float> q(kHeadDim, 10.0f);
    KeysAndValues from({1, kKeys, kHeadDim}, 1);
    for (std::size_t k = 0; k < kKeys; ++k) {
        const auto first = static_cast<std::ptrdiff_t>(k * kHeadDim);
        std::fill_n(from.keys.begin() + first, kHeadDim, k == 200 ? 10.0f : -10.0f);
        std::fill_n(from.own_values.begin() + first, kHeadDim, static_cast<float>(k));
    }
    const BlockedCache cache(from, Order::kShuffled);
    std::vector<float> out(kHeadDim);
    std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(kKeys, kHeadDim)));
    cpu_kernels(static_cast<InstructionSet>(set))
        .attention(q.data(), kHeadDim, cache.head(), 0, 1, kKeys, 1.0f, nullptr, out.data(), kHeadDim,
                   QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
    for (const float value : out) QCOMPARE(value, 200.0f);
}

void TestAttention::later_keys_are_not_seen() {
    QFETCH(int, set);
    // Keys and values that a query must not see are NaN for it: reading one would spoil
    // the result.
    constexpr std::int64_t kHeadDim = 32;
    for (const std::int64_t n : {1, 5, 40, 100}) {
        std::vector<float> q(static_cast<std::size_t>(n * kHeadDim));
        fill_random(q, 4);
        KeysAndValues from({n, n, kHeadDim}, 5, 1.0f);
        std::fill_n(from.keys.end() - kHeadDim, kHeadDim, std::nanf(""));
        const BlockedCache cache(from, Order::kShuffled);
        std::vector<float> out(q.size());
        std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(n, kHeadDim)));
        cpu_kernels(static_cast<InstructionSet>(set))
            .attention(q.data(), kHeadDim, cache.head(), 0, n, n, 0.2f, nullptr, out.data(), kHeadDim,
                       QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
        for (std::int64_t i = 0; i < (n - 1) * kHeadDim; ++i) QVERIFY(std::isfinite(out[static_cast<std::size_t>(i)]));
        QVERIFY(std::isnan(out.back()));
    }
}

void TestAttention::blocks_anywhere_change_nothing() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    std::vector<float> q(static_cast<std::size_t>(sizes.n_queries * sizes.key_dim));
    fill_random(q, 7, 2.0f);
    const KeysAndValues from(sizes, 8);
    const BlockedCache ascending(from, Order::kAscending);
    const BlockedCache shuffled(from, Order::kShuffled);
    std::vector<float> want(static_cast<std::size_t>(sizes.n_queries * sizes.value_dim));
    TestBuffer<float> got(sizes.n_queries * sizes.value_dim, 4);
    TestBuffer<float> scratch(attention_scratch_floats(sizes.n_keys, sizes.key_dim));
    kernels.attention(q.data(), sizes.key_dim, ascending.head(), 0, sizes.n_queries, sizes.n_keys, 0.2f, nullptr,
                      want.data(), sizes.value_dim, QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
    kernels.attention(q.data(), sizes.key_dim, shuffled.head(), 0, sizes.n_queries, sizes.n_keys, 0.2f, nullptr,
                      got.data(), sizes.value_dim, QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
    QVERIFY(got.guards_intact());
    QVERIFY(scratch.guards_intact());
    // QCOMPARE is not used: it accepts small differences of float values.
    QVERIFY(std::equal(want.begin(), want.end(), got.data()));
}

void TestAttention::many_order_makes_queries_independent() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    std::vector<float> q(static_cast<std::size_t>(n_queries * key_dim));
    fill_random(q, 13, 2.0f);
    const KeysAndValues from(sizes, 14, values_in_keys ? 1.0f : 2.0f);
    const BlockedCache cache(from, Order::kShuffled);
    std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(n_keys, key_dim)));
    std::vector<float> together(static_cast<std::size_t>(n_queries * value_dim));
    const auto attend = [&](std::int64_t first, std::int64_t n, float* out) {
        kernels.attention(q.data() + first * key_dim, key_dim, cache.head(), 0, n, n_keys - n_queries + first + n, 0.2f,
                          nullptr, out, value_dim, QueryRows::kTokens, QueryOrder::kMany, scratch.data());
    };
    attend(0, n_queries, together.data());
    for (const std::int64_t at_once : {1, 3, 7, 8, 20}) {
        std::vector<float> apart(together.size());
        for (std::int64_t first = 0; first < n_queries; first += at_once)
            attend(first, std::min(at_once, n_queries - first), apart.data() + first * value_dim);
        QVERIFY2(apart == together, qPrintable(QString::number(at_once)));
    }
}

void TestAttention::rounded_caches_are_read_as_they_were_rounded() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    std::vector<float> q(static_cast<std::size_t>(n_queries * key_dim));
    fill_random(q, 15, 2.0f);
    const float scale = 1.0f / std::sqrt(static_cast<float>(key_dim));
    for (const KvType type : {KvType::kBf16, KvType::kInt8}) {
        KeysAndValues from(sizes, 16, values_in_keys ? 1.0f : 2.0f);
        const BlockedCache cache(from, Order::kShuffled, type);
        std::vector<std::byte> row(static_cast<std::size_t>(kv_row_bytes(type, std::max(key_dim, value_dim))));
        const auto round = [&](std::vector<float>& values, std::int64_t n) {
            for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(n)) {
                store_kv_row(values.data() + at, n, type, row.data());
                load_kv_row(row.data(), n, type, values.data() + at);
            }
        };
        round(from.keys, key_dim);
        if (!values_in_keys) round(from.own_values, value_dim);
        TestBuffer<float> scratch(attention_scratch_floats(std::max(n_keys, n_queries), std::max(key_dim, value_dim)));
        std::vector<float> out(static_cast<std::size_t>(n_queries * value_dim));
        for (const QueryOrder order : {QueryOrder::kByNumber, QueryOrder::kMany}) {
            cpu_kernels(static_cast<InstructionSet>(set))
                .attention(q.data(), key_dim, cache.head(), 0, n_queries, n_keys, scale, nullptr, out.data(), value_dim,
                           QueryRows::kTokens, order, scratch.data());
            QVERIFY(scratch.guards_intact());
            for (std::int64_t query = 0; query < n_queries; ++query) {
                const auto want = exact_row(sizes, q.data() + query * key_dim, from.key(0), from.value(0),
                                            from.value_stride(), n_keys - n_queries + query + 1, double{scale});
                for (std::int64_t i = 0; i < value_dim; ++i) {
                    QVERIFY(std::abs(double{out[static_cast<std::size_t>(query * value_dim + i)]} -
                                     want[static_cast<std::size_t>(i)]) < 4e-6);
                }
            }
        }
    }
}

void TestAttention::heads_together_are_as_alone() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    std::vector<float> q(static_cast<std::size_t>(n_queries * key_dim));
    fill_random(q, 17, 2.0f);
    const KeysAndValues from(sizes, 18, values_in_keys ? 1.0f : 2.0f);
    for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8}) {
        const BlockedCache cache(from, Order::kShuffled, type);
        TestBuffer<float> scratch(attention_scratch_floats(std::max(n_keys, n_queries), std::max(key_dim, value_dim)));
        for (const QueryOrder order : {QueryOrder::kByNumber, QueryOrder::kMany}) {
            const auto attend = [&](std::int64_t first, std::int64_t n, QueryRows rows, float* out) {
                kernels.attention(q.data() + first * key_dim, key_dim, cache.head(), 0, n, n_keys, 0.2f, nullptr, out,
                                  value_dim, rows, order, scratch.data());
            };
            std::vector<float> together(static_cast<std::size_t>(n_queries * value_dim)), apart(together.size());
            attend(0, n_queries, QueryRows::kHeads, together.data());
            QVERIFY(scratch.guards_intact());
            for (std::int64_t head = 0; head < n_queries; ++head)
                attend(head, 1, QueryRows::kTokens, apart.data() + head * value_dim);
            QVERIFY(together == apart);
        }
    }
}

void TestAttention::rows_are_kept_to_half_a_step() {
    for (const std::int64_t n : {1, 3, 64, 65, 200}) {
        std::vector<float> values(static_cast<std::size_t>(n)), got(values.size());
        fill_random(values, 19, 3.0f);
        for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8}) {
            TestBuffer<std::byte> row(kv_row_bytes(type, n), 4);
            store_kv_row(values.data(), n, type, row.data());
            QVERIFY(row.guards_intact());
            load_kv_row(row.data(), n, type, got.data());
            for (std::size_t begin = 0; begin < values.size(); begin += kKvScaleGroup) {
                const std::size_t end = std::min(values.size(), begin + kKvScaleGroup);
                float largest = 0;
                for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
                for (std::size_t i = begin; i < end; ++i) {
                    const float step = type == KvType::kF32    ? 0.0f
                                       : type == KvType::kBf16 ? std::abs(values[i]) / 128
                                                               : largest / 127;
                    QVERIFY(std::abs(got[i] - values[i]) <= step * 0.5001f);
                }
            }
        }
    }
}

void TestAttention::first_key_hides_those_before() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    const float scale = key_dim > 256 ? 0.04f : 0.2f;
    std::vector<float> q(static_cast<std::size_t>(n_queries * key_dim));
    fill_random(q, 10, 2.0f);
    const KeysAndValues from(sizes, 11, values_in_keys ? 1.0f : 2.0f);
    for (const std::int64_t first : {1, 63, 64, 65, 100}) {
        if (first > n_keys - n_queries) break;
        KeysAndValues hidden = from;
        hidden.hide_first(first);
        const BlockedCache cache(hidden, Order::kShuffled);
        TestBuffer<float> got(n_queries * value_dim);
        TestBuffer<float> scratch(attention_scratch_floats(n_keys, key_dim));
        kernels.attention(q.data(), key_dim, cache.head(), first, n_queries, n_keys, scale, nullptr, got.data(),
                          value_dim, QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
        QVERIFY(scratch.guards_intact());
        for (std::int64_t query = 0; query < n_queries; ++query) {
            const auto want = exact_row(sizes, q.data() + query * key_dim, from.key(first), from.value(first),
                                        from.value_stride(), n_keys - n_queries + query + 1 - first, double{scale});
            for (std::int64_t i = 0; i < value_dim; ++i) {
                const double value = double{got[query * value_dim + i]};
                QVERIFY(std::abs(value - want[static_cast<std::size_t>(i)]) < 4e-6);
            }
        }
    }
}

// The queries as one head's of consecutive tokens, then as several heads' of one token,
// each with a separate sink.
void TestAttention::sinks_take_their_share() {
    QFETCH(int, set);
    QFETCH(int, index);
    const Case& sizes = kCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    const float scale = 1.0f / std::sqrt(static_cast<float>(key_dim));
    std::vector<float> q(static_cast<std::size_t>(n_queries * key_dim));
    fill_random(q, 10, 2.0f);
    const KeysAndValues from(sizes, 11, values_in_keys ? 1.0f : 2.0f);
    const BlockedCache cache(from, Order::kShuffled);
    std::vector<float> sinks(static_cast<std::size_t>(n_queries));
    fill_random(sinks, 12, 8.0f);
    sinks.back() = 300.0f;  // takes all
    TestBuffer<float> scratch(attention_scratch_floats(std::max(n_keys, n_queries), key_dim));
    for (const QueryRows rows : {QueryRows::kTokens, QueryRows::kHeads}) {
        for (const QueryOrder order : {QueryOrder::kByNumber, QueryOrder::kMany}) {
            TestBuffer<float> got(n_queries * value_dim);
            kernels.attention(q.data(), key_dim, cache.head(), 0, n_queries, n_keys, scale, sinks.data(), got.data(),
                              value_dim, rows, order, scratch.data());
            QVERIFY(got.guards_intact() && scratch.guards_intact());
            for (std::int64_t query = 0; query < n_queries; ++query) {
                const bool heads = rows == QueryRows::kHeads;
                const auto want = exact_row(sizes, q.data() + query * key_dim, from.key(0), from.value(0),
                                            from.value_stride(), heads ? n_keys : n_keys - n_queries + query + 1,
                                            double{scale}, double{sinks[static_cast<std::size_t>(heads ? query : 0)]});
                for (std::int64_t i = 0; i < value_dim; ++i) {
                    const double value = double{got[query * value_dim + i]};
                    QVERIFY(std::abs(value - want[static_cast<std::size_t>(i)]) < 4e-6);
                }
            }
        }
    }
}

void TestAttention::pairs_are_rounded_and_no_more_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < std::size(kPairCases); ++i) {
        QTest::addRow("%lld queries, %lld keys of %lld, values of %lld%s",
                      static_cast<long long>(kPairCases[i].n_queries), static_cast<long long>(kPairCases[i].n_keys),
                      static_cast<long long>(kPairCases[i].key_dim), static_cast<long long>(kPairCases[i].value_dim),
                      kPairCases[i].values_in_keys ? " in them" : "")
            << static_cast<int>(i);
    }
}

// Queries that are bf16 already are multiplied with keys exactly: then only the
// exponentials are rounded, each by at most a 256th, and a result is off by no more than
// that share of its values' magnitudes.
void TestAttention::pairs_are_rounded_and_no_more() {
    QFETCH(int, index);
    const Bf16Attention attention = bf16_attention(available_instruction_sets().back());
    if (attention == nullptr) QSKIP("This processor has no dot product of bf16.");
    const Case& sizes = kPairCases[index];
    const auto [n_queries, n_keys, key_dim, value_dim, values_in_keys] = sizes;
    const std::int64_t q_stride = key_dim + 3;
    const std::int64_t out_stride = value_dim + 5;
    TestBuffer<float> q(q_stride * (n_queries - 1) + key_dim, 4);
    fill_random(q.span(), 31, 2.0f);
    for (float& value : q.span()) value = to_float(to_bf16(value));
    KeysAndValues from(sizes, 32, values_in_keys ? 1.0f : 2.0f);
    for (float& value : from.keys) value = to_float(to_bf16(value));
    for (float& value : from.own_values) value = to_float(to_bf16(value));
    const BlockedCache cache(from, Order::kShuffled, KvType::kBf16);
    const KvHead head = cache.head();
    QVERIFY(takes_pair_attention(head));
    const float scale = 1.0f / std::sqrt(static_cast<float>(key_dim));
    const float sink = 0.5f;
    TestBuffer<std::byte> scratch(bf16_attention_scratch(n_queries, key_dim, value_dim));
    const auto attend = [&](std::int64_t first, std::int64_t n, std::int64_t first_key, const float* sinks,
                            float* out) {
        attention(q.data() + first * q_stride, q_stride, head, first_key, n, n_keys - n_queries + first + n, scale,
                  sinks, out, out_stride, QueryRows::kTokens, scratch.data());
    };
    for (const float* const sinks : {static_cast<const float*>(nullptr), &sink}) {
        TestBuffer<float> out(out_stride * (n_queries - 1) + value_dim, 4);
        std::fill(out.span().begin(), out.span().end(), 77.0f);
        attend(0, n_queries, 0, sinks, out.data());
        QVERIFY(out.guards_intact());
        QVERIFY(scratch.guards_intact());
        for (std::int64_t query = 0; query < n_queries; ++query) {
            const std::int64_t n_seen = n_keys - n_queries + query + 1;
            const auto row = [&](const float* values) {
                return exact_row(sizes, q.data() + query * q_stride, from.key(0), values, from.value_stride(), n_seen,
                                 double{scale}, sinks != nullptr ? double{sink} : -HUGE_VAL);
            };
            const auto want = row(from.value(0));
            std::vector<float> magnitudes(
                from.value(0), from.value(0) + n_keys * from.value_stride() - (from.value_stride() - value_dim));
            for (float& value : magnitudes) value = std::abs(value);
            const auto most = row(magnitudes.data());
            for (std::int64_t i = 0; i < value_dim; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const double off = std::abs(double{out[query * out_stride + i]} - want[at]);
                QVERIFY2(off <= most[at] / 128 + 1e-5, qPrintable(QString("%1 %2: %3").arg(query).arg(i).arg(off)));
            }
            for (std::int64_t i = value_dim; query + 1 < n_queries && i < out_stride; ++i) {
                QCOMPARE(out[query * out_stride + i], 77.0f);
            }
        }
        // A query alone, or with others, as a token's head or a prompt's token: the same
        // bits.
        TestBuffer<float> apart(out_stride * (n_queries - 1) + value_dim, 4);
        for (const std::int64_t at_once : {1, 4, 7}) {
            std::fill(apart.span().begin(), apart.span().end(), 77.0f);
            for (std::int64_t first = 0; first < n_queries; first += at_once)
                attend(first, std::min(at_once, n_queries - first), 0, sinks, apart.data() + first * out_stride);
            QVERIFY(std::equal(out.span().begin(), out.span().end(), apart.data()));
        }
        const std::int64_t last = n_queries - 1;
        attention(q.data() + last * q_stride, q_stride, head, 0, 1, n_keys, scale, sinks, apart.data(), out_stride,
                  QueryRows::kHeads, scratch.data());
        QVERIFY(std::equal(apart.data(), apart.data() + value_dim, out.data() + last * out_stride));
    }
    // Keys before the first are not seen.
    const std::int64_t first_key = std::min<std::int64_t>(70, n_keys - n_queries);
    if (first_key == 0) return;
    std::vector<float> want(static_cast<std::size_t>(n_queries * out_stride)), got(want.size());
    attend(0, n_queries, first_key, nullptr, want.data());
    KeysAndValues hidden = from;
    hidden.hide_first(first_key);
    const BlockedCache without(hidden, Order::kAscending, KvType::kBf16);
    attention(q.data(), q_stride, without.head(), first_key, n_queries, n_keys, scale, nullptr, got.data(), out_stride,
              QueryRows::kTokens, scratch.data());
    QVERIFY(std::none_of(got.begin(), got.end(), [](float value) { return std::isnan(value); }));
    QVERIFY(got == want);
}

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
