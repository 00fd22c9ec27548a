// Every instruction set against causal attention written out in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <QTest>

#include "kernels/cpu_kernels.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

struct Case {
    std::int64_t n_queries;
    std::int64_t n_keys;
    std::int64_t head_dim;
};

constexpr Case kCases[] = {
    {1, 1, 64},      {1, 2, 128},  {1, 63, 64},   {1, 64, 96},   {1, 65, 128},  {1, 1000, 128},
    {2, 130, 80},    {3, 3, 64},   {5, 200, 128}, {7, 7, 32},    {8, 8, 64},    {9, 73, 128},
    {12, 64, 20},    {17, 17, 16}, {70, 70, 128}, {64, 128, 64}, {65, 200, 72}, {133, 133, 40},
    {100, 301, 256}, {6, 6, 1},    {10, 90, 5},   {20, 21, 33},
};

std::vector<double> exact_row(const float* q, const float* keys, const float* values, std::int64_t n_seen,
                              std::int64_t head_dim, double scale) {
    std::vector<double> scores(static_cast<std::size_t>(n_seen));
    for (std::int64_t k = 0; k < n_seen; ++k) {
        double score = 0.0;
        for (std::int64_t i = 0; i < head_dim; ++i) score += double{q[i]} * double{keys[k * head_dim + i]};
        scores[static_cast<std::size_t>(k)] = score * scale;
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    std::vector<double> row(static_cast<std::size_t>(head_dim), 0.0);
    for (std::int64_t k = 0; k < n_seen; ++k) {
        const double probability = std::exp(scores[static_cast<std::size_t>(k)] - largest);
        sum += probability;
        for (std::int64_t i = 0; i < head_dim; ++i) {
            row[static_cast<std::size_t>(i)] += probability * double{values[k * head_dim + i]};
        }
    }
    for (double& value : row) value /= sum;
    return row;
}

enum class Order { kAscending, kShuffled };

// A cache whose blocks lie in the given order, none aligned to more than a float; what no key owns is NaN, so that a
// look there spoils the result.
class BlockedCache {
  public:
    BlockedCache(const float* keys, const float* values, std::int64_t n_keys, std::int64_t head_dim, Order order)
        : shape_{1, 2, head_dim},
          n_blocks_((n_keys + kKvBlockTokens - 1) / kKvBlockTokens + 2),
          memory_(n_blocks_ * shape_.block_floats(), 4) {
        std::fill(memory_.span().begin(), memory_.span().end(), std::nanf(""));
        for (std::int64_t b = 0; b < n_blocks_; ++b) blocks_.push_back(memory_.data() + b * shape_.block_floats());
        if (order == Order::kShuffled) {
            std::shuffle(blocks_.begin(), blocks_.end(), std::mt19937(static_cast<unsigned>(n_keys)));
        }
        for (std::int64_t k = 0; k < n_keys; ++k) {
            float* row = blocks_[static_cast<std::size_t>(k / kKvBlockTokens)] + k % kKvBlockTokens * head_dim;
            std::copy_n(keys + k * head_dim, head_dim, row + head().keys);
            std::copy_n(values + k * head_dim, head_dim, row + head().values);
        }
    }

    // The second of two.
    KvHead head() const { return {blocks_.data(), shape_.part_offset(0, 0, 1), shape_.part_offset(0, 1, 1)}; }

  private:
    KvShape shape_;
    std::int64_t n_blocks_;
    TestBuffer<float> memory_;
    std::vector<float*> blocks_;
};

void add_case_rows() {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("index");
    for (const InstructionSet set : available_instruction_sets()) {
        for (std::size_t i = 0; i < std::size(kCases); ++i) {
            QTest::addRow("%s, %lld queries, %lld keys, head_dim %lld", name_of(set).data(),
                          static_cast<long long>(kCases[i].n_queries), static_cast<long long>(kCases[i].n_keys),
                          static_cast<long long>(kCases[i].head_dim))
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
    void first_key_hides_those_before_data() { add_case_rows(); }
    void first_key_hides_those_before();
};

void TestAttention::matches_softmax_in_double() {
    QFETCH(int, set);
    QFETCH(int, index);
    const auto [n_queries, n_keys, head_dim] = kCases[index];
    const std::int64_t q_stride = head_dim + 3;
    const std::int64_t out_stride = head_dim + 5;
    TestBuffer<float> q(q_stride * (n_queries - 1) + head_dim, 4);
    std::vector<float> keys(static_cast<std::size_t>(n_keys * head_dim));
    std::vector<float> values(keys.size());
    TestBuffer<float> out(out_stride * (n_queries - 1) + head_dim, 4);
    TestBuffer<float> scratch(attention_scratch_floats(n_keys, head_dim));
    fill_random(q.span(), 1, 2.0f);
    fill_random(keys, 2, 2.0f);
    fill_random(values, 3);
    const BlockedCache cache(keys.data(), values.data(), n_keys, head_dim, Order::kShuffled);
    std::fill(out.span().begin(), out.span().end(), 77.0f);
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    cpu_kernels(static_cast<InstructionSet>(set))
        .attention(q.data(), q_stride, cache.head(), 0, n_queries, n_keys, head_dim, scale, out.data(), out_stride,
                   QueryOrder::kByNumber, scratch.data());
    QVERIFY(out.guards_intact());
    QVERIFY(scratch.guards_intact());
    for (std::int64_t query = 0; query < n_queries; ++query) {
        const auto want = exact_row(q.data() + query * q_stride, keys.data(), values.data(),
                                    n_keys - n_queries + query + 1, head_dim, double{scale});
        for (std::int64_t i = 0; i < head_dim; ++i) {
            const double got = double{out[query * out_stride + i]};
            QVERIFY2(std::abs(got - want[static_cast<std::size_t>(i)]) < 4e-6,
                     qPrintable(QString("query %1 place %2: %3, expected %4")
                                    .arg(query)
                                    .arg(i)
                                    .arg(got)
                                    .arg(want[static_cast<std::size_t>(i)])));
        }
        for (std::int64_t i = head_dim; query + 1 < n_queries && i < out_stride; ++i) {
            QCOMPARE(out[query * out_stride + i], 77.0f);
        }
    }
}

void TestAttention::large_scores_do_not_overflow() {
    QFETCH(int, set);
    // Scores of thousands, largest in a late block: without the maximum subtracted, every exponential overflows.
    constexpr std::int64_t kKeys = 300;
    constexpr std::int64_t kHeadDim = 64;
    std::vector<float> q(kHeadDim, 10.0f);
    std::vector<float> keys(kKeys * kHeadDim);
    std::vector<float> values(kKeys * kHeadDim);
    for (std::size_t k = 0; k < kKeys; ++k) {
        std::fill_n(keys.begin() + static_cast<std::ptrdiff_t>(k * kHeadDim), kHeadDim, k == 200 ? 10.0f : -10.0f);
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(k * kHeadDim), kHeadDim, static_cast<float>(k));
    }
    const BlockedCache cache(keys.data(), values.data(), kKeys, kHeadDim, Order::kShuffled);
    std::vector<float> out(kHeadDim);
    std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(kKeys, kHeadDim)));
    cpu_kernels(static_cast<InstructionSet>(set))
        .attention(q.data(), kHeadDim, cache.head(), 0, 1, kKeys, kHeadDim, 1.0f, out.data(), kHeadDim,
                       QueryOrder::kByNumber, scratch.data());
    for (const float value : out) QCOMPARE(value, 200.0f);
}

void TestAttention::later_keys_are_not_seen() {
    QFETCH(int, set);
    // Keys and values that a query must not see are NaN for it: one look would spoil the result.
    constexpr std::int64_t kHeadDim = 32;
    for (const std::int64_t n : {1, 5, 40, 100}) {
        std::vector<float> q(static_cast<std::size_t>(n * kHeadDim));
        std::vector<float> keys(static_cast<std::size_t>(n * kHeadDim));
        std::vector<float> values(static_cast<std::size_t>(n * kHeadDim));
        fill_random(q, 4);
        fill_random(keys, 5);
        fill_random(values, 6);
        std::fill_n(keys.end() - kHeadDim, kHeadDim, std::nanf(""));
        const BlockedCache cache(keys.data(), values.data(), n, kHeadDim, Order::kShuffled);
        std::vector<float> out(q.size());
        std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(n, kHeadDim)));
        cpu_kernels(static_cast<InstructionSet>(set))
            .attention(q.data(), kHeadDim, cache.head(), 0, n, n, kHeadDim, 0.2f, out.data(), kHeadDim,
                       QueryOrder::kByNumber, scratch.data());
        for (std::int64_t i = 0; i < (n - 1) * kHeadDim; ++i) QVERIFY(std::isfinite(out[static_cast<std::size_t>(i)]));
        QVERIFY(std::isnan(out.back()));
    }
}

void TestAttention::blocks_anywhere_change_nothing() {
    QFETCH(int, set);
    QFETCH(int, index);
    const auto [n_queries, n_keys, head_dim] = kCases[index];
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    std::vector<float> q(static_cast<std::size_t>(n_queries * head_dim));
    std::vector<float> keys(static_cast<std::size_t>(n_keys * head_dim));
    std::vector<float> values(keys.size());
    fill_random(q, 7, 2.0f);
    fill_random(keys, 8, 2.0f);
    fill_random(values, 9);
    const BlockedCache ascending(keys.data(), values.data(), n_keys, head_dim, Order::kAscending);
    const BlockedCache shuffled(keys.data(), values.data(), n_keys, head_dim, Order::kShuffled);
    std::vector<float> want(q.size());
    TestBuffer<float> got(n_queries * head_dim, 4);
    TestBuffer<float> scratch(attention_scratch_floats(n_keys, head_dim));
    kernels.attention(q.data(), head_dim, ascending.head(), 0, n_queries, n_keys, head_dim, 0.2f, want.data(), head_dim,
                      QueryOrder::kByNumber, scratch.data());
    kernels.attention(q.data(), head_dim, shuffled.head(), 0, n_queries, n_keys, head_dim, 0.2f, got.data(), head_dim,
                      QueryOrder::kByNumber, scratch.data());
    QVERIFY(got.guards_intact());
    QVERIFY(scratch.guards_intact());
    // Not QCOMPARE, which lets float values differ a little.
    QVERIFY(std::equal(want.begin(), want.end(), got.data()));
}

void TestAttention::many_order_makes_queries_independent() {
    QFETCH(int, set);
    QFETCH(int, index);
    const auto [n_queries, n_keys, head_dim] = kCases[index];
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    std::vector<float> q(static_cast<std::size_t>(n_queries * head_dim));
    std::vector<float> keys(static_cast<std::size_t>(n_keys * head_dim));
    std::vector<float> values(keys.size());
    fill_random(q, 13, 2.0f);
    fill_random(keys, 14, 2.0f);
    fill_random(values, 15);
    const BlockedCache cache(keys.data(), values.data(), n_keys, head_dim, Order::kShuffled);
    std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(n_keys, head_dim)));
    std::vector<float> together(q.size());
    const auto attend = [&](std::int64_t first, std::int64_t n, float* out) {
        kernels.attention(q.data() + first * head_dim, head_dim, cache.head(), 0, n, n_keys - n_queries + first + n,
                          head_dim, 0.2f, out, head_dim, QueryOrder::kMany, scratch.data());
    };
    attend(0, n_queries, together.data());
    for (const std::int64_t at_once : {1, 3, 7, 8, 20}) {
        std::vector<float> apart(q.size());
        for (std::int64_t first = 0; first < n_queries; first += at_once)
            attend(first, std::min(at_once, n_queries - first), apart.data() + first * head_dim);
        QVERIFY2(apart == together, qPrintable(QString::number(at_once)));
    }
}

void TestAttention::first_key_hides_those_before() {
    QFETCH(int, set);
    QFETCH(int, index);
    const auto [n_queries, n_keys, head_dim] = kCases[index];
    const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
    std::vector<float> q(static_cast<std::size_t>(n_queries * head_dim));
    std::vector<float> keys(static_cast<std::size_t>(n_keys * head_dim));
    std::vector<float> values(keys.size());
    fill_random(q, 10, 2.0f);
    fill_random(keys, 11, 2.0f);
    fill_random(values, 12);
    for (const std::int64_t first : {1, 63, 64, 65, 100}) {
        if (first > n_keys - n_queries) break;
        std::vector<float> hidden_keys = keys;
        std::vector<float> hidden_values = values;
        std::fill_n(hidden_keys.begin(), first * head_dim, std::nanf(""));
        std::fill_n(hidden_values.begin(), first * head_dim, std::nanf(""));
        const BlockedCache cache(hidden_keys.data(), hidden_values.data(), n_keys, head_dim, Order::kShuffled);
        TestBuffer<float> got(n_queries * head_dim);
        TestBuffer<float> scratch(attention_scratch_floats(n_keys, head_dim));
        kernels.attention(q.data(), head_dim, cache.head(), first, n_queries, n_keys, head_dim, 0.2f, got.data(),
                          head_dim, QueryOrder::kByNumber, scratch.data());
        QVERIFY(scratch.guards_intact());
        for (std::int64_t query = 0; query < n_queries; ++query) {
            const auto want =
                exact_row(q.data() + query * head_dim, keys.data() + first * head_dim, values.data() + first * head_dim,
                          n_keys - n_queries + query + 1 - first, head_dim, double{0.2f});
            for (std::int64_t i = 0; i < head_dim; ++i) {
                const double value = double{got[query * head_dim + i]};
                QVERIFY(std::abs(value - want[static_cast<std::size_t>(i)]) < 4e-6);
            }
        }
    }
}

QTEST_GUILESS_MAIN(TestAttention)
#include "tst_attention.moc"
