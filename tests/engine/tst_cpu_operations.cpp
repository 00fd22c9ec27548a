// Tests what CpuOperations guarantees beyond Backend's contract: the same bits on any
// number of threads.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <QTest>

#include "engine/as_size.h"
#include "engine/device/cpu_operations.h"
#include "kernels/bf16_attention.h"
#include "kernels/thread_pool.h"
#include "tests/kernels/packed_data.h"
#include "tests/kernels/test_data.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::GemmMode;
using kernels::WeightType;
using kernels::test::RandomPackedRows;
using kernels::test::RandomWeights;

namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 7, 16};

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(n));
    kernels::test::fill_random(values, seed);
    return values;
}

// n_rows rows of random weights of any type, one after the other.
class RandomRows {
  public:
    RandomRows(WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::uint32_t seed, float scale = 1.0f) {
        if (kernels::is_packed(type)) {
            packed_ = std::make_unique<RandomPackedRows>(type, n_rows, n_cols, seed, scale);
        } else {
            plain_ = std::make_unique<RandomWeights>(type, n_rows * n_cols, seed, scale);
        }
    }
    const void* data() const { return packed_ ? packed_->data() : plain_->data(); }

  private:
    std::unique_ptr<RandomPackedRows> packed_;
    std::unique_ptr<RandomWeights> plain_;
};

// Calls compute(operations) on pools of different sizes; each must leave the same bits in
// `result`.
template <typename Compute>
void compare_thread_counts(GemmMode mode, std::vector<float>& result, const Compute& compute) {
    std::vector<float> first;
    for (const int n_threads : kThreadCounts) {
        kernels::ThreadPool pool(n_threads);
        CpuOperations operations(pool, mode);
        std::fill(result.begin(), result.end(), 0.0f);
        compute(operations);
        if (first.empty()) first = result;
        QVERIFY2(std::memcmp(first.data(), result.data(), first.size() * sizeof(float)) == 0,
                 qPrintable(QStringLiteral("%1 threads give other bits than one").arg(n_threads)));
    }
}

}  // namespace

class TestCpuOperations : public QObject {
    Q_OBJECT

  private slots:
    void multiply_same_on_any_number_of_threads_data() { add_rows(); }
    void multiply_same_on_any_number_of_threads();
    void experts_same_on_any_number_of_threads_data() { add_rows(); }
    void experts_same_on_any_number_of_threads();

    void experts_of_few_and_many_rows_agree_data();
    void experts_of_few_and_many_rows_agree();

    void rounded_inputs_of_packed_experts_give_nearly_the_same_data() { experts_of_few_and_many_rows_agree_data(); }
    void rounded_inputs_of_packed_experts_give_nearly_the_same();
    void rounded_inputs_give_a_row_the_same_bits_in_any_company_data();
    void rounded_inputs_give_a_row_the_same_bits_in_any_company();
    void bf16_gives_a_prompts_row_the_same_bits_in_any_company();
    void alone_gives_a_row_the_bits_of_a_step_of_its_own();
    void attention_is_rounded_in_bf16_for_many_queries_alone();

  private:
    static void add_rows() {
        QTest::addColumn<int>("mode");
        QTest::addColumn<int>("type");
        QTest::addColumn<qint64>("n");
        for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
            for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBf16, WeightType::kInt8,
                                          WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2}) {
                for (const qint64 n : {1, 2, 3, 5, 7, 8, 9, 33, 200}) {
                    if (offstage::test::kSanitized && n != 1 && n != 7 && n != 33) continue;
                    if (kernels::is_packed(type) && n != 1 && n != 3 && n != 8 && n != 33) continue;
                    QTest::addRow("%s products, %s weights, %lld rows", name_of(mode).data(), name_of(type),
                                  static_cast<long long>(n))
                        << static_cast<int>(mode) << static_cast<int>(type) << n;
                }
            }
        }
    }
};

void TestCpuOperations::multiply_same_on_any_number_of_threads() {
    QFETCH(int, mode);
    QFETCH(int, type);
    QFETCH(qint64, n);
    const auto format = static_cast<WeightType>(type);
    const std::int64_t cols = kernels::is_packed(format) ? 2112 : 2100;
    for (const std::int64_t rows : {37, 331, 1100}) {
        const RandomRows values(format, rows, cols, 1);
        const kernels::WeightView weight{values.data(), format, rows, cols};
        const std::vector<float> x = random_floats(n * cols, 2);
        std::vector<float> y(static_cast<std::size_t>(n * rows));
        compare_thread_counts(static_cast<GemmMode>(mode), y, [&](CpuOperations& operations) {
            operations.run(ops::Multiply{weight, x.data(), n, y.data()});
        });
    }
}

void TestCpuOperations::experts_same_on_any_number_of_threads() {
    QFETCH(int, mode);
    QFETCH(int, type);
    QFETCH(qint64, n);
    const auto format = static_cast<WeightType>(type);
    const std::int64_t hidden = kernels::is_packed(format) ? 384 : 344;
    constexpr std::int64_t kFfn = 1171;
    const RandomRows values(format, 3 * kFfn, hidden, 3, 0.1f);
    const kernels::ExpertView view{values.data(), kernels::expert_layout(format, hidden, kFfn)};
    const std::vector<float> x = random_floats(n * hidden, 4);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(n) + 1);
    std::iota(tokens.begin(), tokens.end() - 1, 0);
    std::shuffle(tokens.begin(), tokens.end() - 1, std::mt19937(5));
    tokens.back() = 0;
    const std::vector<ExpertCall> calls = {{view, 0, n}, {view, n, 1}};
    std::vector<float> out(static_cast<std::size_t>((n + 1) * hidden));
    compare_thread_counts(static_cast<GemmMode>(mode), out, [&](CpuOperations& operations) {
        operations.run(ops::Experts{calls, x.data(), tokens.data(), out.data()});
    });
}

void TestCpuOperations::experts_of_few_and_many_rows_agree_data() {
    QTest::addColumn<int>("type");
    for (const WeightType type : kernels::test::kDecodedTypes) {
        QTest::addRow("%s", kernels::name_of(type)) << static_cast<int>(type);
    }
}

// The one-pass kernel and the batched product read the same packed expert: a row's result
// differs by rounding alone.
void TestCpuOperations::experts_of_few_and_many_rows_agree() {
    QFETCH(int, type);
    const auto format = static_cast<WeightType>(type);
    constexpr std::int64_t kHidden = 256;
    constexpr std::int64_t kFfn = 200;
    constexpr std::int64_t kRows = 12;
    const RandomPackedRows weights(format, 3 * kFfn, kHidden, 6);
    const kernels::ExpertView view{weights.data(), kernels::expert_layout(format, kHidden, kFfn)};
    const std::vector<float> x = random_floats(kRows * kHidden, 7);
    std::vector<std::int32_t> tokens(kRows);
    std::iota(tokens.begin(), tokens.end(), 0);
    kernels::ThreadPool pool(2);
    CpuOperations operations(pool, GemmMode::kF32);
    std::vector<float> many(kRows * kHidden);
    std::vector<float> few(kRows * kHidden);
    const std::vector<ExpertCall> all = {{view, 0, kRows}};
    operations.run(ops::Experts{all, x.data(), tokens.data(), many.data()});
    const std::vector<ExpertCall> parts = {{view, 0, 1}, {view, 1, 3}, {view, 4, 8}};
    operations.run(ops::Experts{parts, x.data(), tokens.data(), few.data()});
    float largest = 0.0f;
    for (const float value : many) largest = std::max(largest, std::abs(value));
    QVERIFY(largest > 0.0f);
    for (std::size_t i = 0; i < many.size(); ++i) {
        if (std::abs(few[i] - many[i]) <= 1e-5f * largest) continue;
        QFAIL(qPrintable(QStringLiteral("place %1: %2 and %3").arg(i).arg(few[i]).arg(many[i])));
    }
}

// Experts in our own formats with inputs of 8 bits, a few rows at once and many: near the
// results from float32, but not equal.
void TestCpuOperations::rounded_inputs_of_packed_experts_give_nearly_the_same() {
    QFETCH(int, type);
    const auto format = static_cast<WeightType>(type);
    constexpr std::int64_t kHidden = 256;
    constexpr std::int64_t kFfn = 200;
    constexpr std::int64_t kRows = 12;
    const RandomPackedRows weights(format, 3 * kFfn, kHidden, 6);
    const kernels::ExpertView view{weights.data(), kernels::expert_layout(format, kHidden, kFfn)};
    const std::vector<float> x = random_floats(kRows * kHidden, 7);
    std::vector<std::int32_t> tokens(kRows);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::shuffle(tokens.begin(), tokens.end(), std::mt19937(8));
    kernels::ThreadPool pool(2);
    const std::vector<ExpertCall> all = {{view, 0, kRows}};
    const std::vector<ExpertCall> parts = {{view, 0, 1}, {view, 1, 3}, {view, 4, 8}};
    const auto results = [&](kernels::ProductForm form, const std::vector<ExpertCall>& calls) {
        CpuOperations operations(pool, form);
        std::vector<float> out(kRows * kHidden);
        operations.run(ops::Experts{calls, x.data(), tokens.data(), out.data()});
        return out;
    };
    const std::vector<float> exact = results(GemmMode::kF32, parts);
    double squares = 0.0;
    for (const float value : exact) squares += double{value} * double{value};
    for (const auto& calls : {all, parts}) {
        const std::vector<float> rounded = results(kernels::ProductForm(GemmMode::kF32, true), calls);
        double errors = 0.0;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const double error = double{rounded[i]} - double{exact[i]};
            errors += error * error;
        }
        const double relative = std::sqrt(errors / squares);
        QVERIFY2(relative > (kernels::is_packed(format) ? 1e-4 : -1.0) && relative < 0.03,
                 qPrintable(QString::number(relative)));
    }
}

void TestCpuOperations::rounded_inputs_give_a_row_the_same_bits_in_any_company_data() {
    QTest::addColumn<int>("gate");
    QTest::addColumn<int>("up");
    QTest::addColumn<int>("down");
    const auto add = [](WeightType gate, WeightType up, WeightType down) {
        QTest::addRow("%s, %s, %s", name_of(gate), name_of(up), name_of(down))
            << static_cast<int>(gate) << static_cast<int>(up) << static_cast<int>(down);
    };
    add(WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K);
    add(WeightType::kQ8_0, WeightType::kQ8_0, WeightType::kQ8_0);
    add(WeightType::kQ5_1, WeightType::kQ4_0, WeightType::kIq4Nl);
}

// Products of many tokens with a file's blocks equal those of each alone: for a matrix,
// for one by heads, and for experts, on any number of threads and in both orders of sums.
void TestCpuOperations::rounded_inputs_give_a_row_the_same_bits_in_any_company() {
    QFETCH(int, gate);
    QFETCH(int, up);
    QFETCH(int, down);
    constexpr std::int64_t kHidden = 512;
    constexpr std::int64_t kFfn = 256;
    constexpr std::int64_t kRows = 23;  // the second expert has one more
    kernels::ExpertLayout layout{
        kHidden, kFfn, static_cast<WeightType>(gate), static_cast<WeightType>(up), static_cast<WeightType>(down),
        {},      true};
    layout.spec.biases = true;
    std::vector<std::byte> block(layout.bytes());
    const kernels::ExpertView expert{block.data(), layout};
    const auto fill = [&](const kernels::WeightView& matrix, std::uint32_t seed) {
        const RandomPackedRows rows(matrix.type, matrix.n_rows, matrix.n_cols, seed, 0.1f);
        const std::size_t bytes = kernels::row_bytes(matrix.type, matrix.n_cols);
        for (std::int64_t r = 0; r < matrix.n_rows; ++r) {
            std::memcpy(const_cast<std::byte*>(matrix.row(r)), rows.view().row(r), bytes);
        }
    };
    fill(expert.gate(), 1);
    fill(expert.up(), 2);
    fill(expert.down(), 3);
    const std::vector<float> biases = random_floats(2 * kFfn + kHidden, 4);
    std::memcpy(block.data() + layout.bias_offset(), biases.data(), layout.bias_bytes());
    const std::vector<float> x = random_floats((kRows + 1) * kHidden, 5);
    std::vector<std::int32_t> tokens(kRows + 1);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::shuffle(tokens.begin(), tokens.end(), std::mt19937(6));
    const kernels::WeightView heads{expert.down().data, expert.down().type, kHidden, kFfn};

    struct Results {
        std::vector<float> experts = std::vector<float>((kRows + 1) * kHidden);
        std::vector<float> product = std::vector<float>((kRows + 1) * kFfn);
        std::vector<float> of_heads = std::vector<float>((kRows + 1) * kHidden);
        bool operator==(const Results&) const = default;
    };
    Results alone;
    kernels::ThreadPool one(1);
    CpuOperations single(one, kernels::ProductForm(GemmMode::kF32, true));
    for (std::int64_t r = 0; r <= kRows; ++r) {
        const ExpertCall call{expert, 0, 1};
        single.run(ops::Experts{{&call, 1}, x.data(), tokens.data() + r, alone.experts.data() + r * kHidden});
        single.run(ops::Multiply{expert.gate(), x.data() + r * kHidden, 1, alone.product.data() + r * kFfn});
        single.run(ops::MultiplyHeads{heads, 2, x.data() + r * kHidden, kHidden, kFfn, 1,
                                      alone.of_heads.data() + r * kHidden, kHidden, kHidden / 2});
    }
    for (const int n_threads : {1, 3}) {
        for (const SumOrder order : {SumOrder::kByNumber, SumOrder::kMany}) {
            kernels::ThreadPool pool(n_threads);
            CpuOperations operations(pool, kernels::ProductForm(GemmMode::kF32, true));
            operations.set_sum_order(order);
            Results all;
            const std::vector<ExpertCall> calls = {{expert, 0, kRows}, {expert, kRows, 1}};
            operations.run(ops::Experts{calls, x.data(), tokens.data(), all.experts.data()});
            operations.run(ops::Multiply{expert.gate(), x.data(), kRows + 1, all.product.data()});
            operations.run(ops::MultiplyHeads{heads, 2, x.data(), kHidden, kFfn, kRows + 1, all.of_heads.data(),
                                              kHidden, kHidden / 2});
            QVERIFY(all.experts == alone.experts);
            QVERIFY(all.product == alone.product);
            QVERIFY(all.of_heads == alone.of_heads);
        }
    }
}

// SumOrder::kAlone, for weights whose kernels sum one row in another order than several.
void TestCpuOperations::alone_gives_a_row_the_bits_of_a_step_of_its_own() {
    constexpr std::int64_t kHidden = 192, kFfn = 330, kRows = 5;
    const std::vector<float> x = random_floats(kRows * kHidden, 5);
    const std::vector<std::int32_t> tokens = {3, 0, 4, 1, 2};
    for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBf16}) {
        const RandomWeights weights(type, 3 * kFfn * kHidden, 1, 0.2f);
        const kernels::ExpertView expert{static_cast<const std::byte*>(weights.data()),
                                         kernels::expert_layout(type, kHidden, kFfn)};
        const kernels::WeightView matrix{weights.data(), type, kFfn, kHidden};
        const kernels::WeightView heads{weights.data(), type, 2 * kFfn, kHidden / 2};
        for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
            for (const int n_threads : {1, 3}) {
                kernels::ThreadPool pool(n_threads);
                CpuOperations operations(pool, mode);
                const auto rows = [&](std::int64_t first, std::int64_t n) {
                    std::vector<float> out(as_size(n * (kHidden + kFfn + 2 * kFfn)));
                    float* const product = out.data() + n * kHidden;
                    float* const of_heads = product + n * kFfn;
                    const float* const inputs = x.data() + first * kHidden;
                    const ExpertCall call{expert, 0, n};
                    operations.run(ops::Experts{{&call, 1}, x.data(), tokens.data() + first, out.data()});
                    operations.run(ops::Multiply{matrix, inputs, n, product});
                    operations.run(
                        ops::MultiplyHeads{heads, 2, inputs, kHidden, kHidden / 2, n, of_heads, 2 * kFfn, kFfn});
                    return out;
                };
                operations.set_sum_order(SumOrder::kAlone);
                const std::vector<float> all = rows(0, kRows);
                operations.set_sum_order(SumOrder::kByNumber);
                for (std::int64_t row = 0; row < kRows; ++row) {
                    const std::vector<float> one = rows(row, 1);
                    std::int64_t at = 0, of_one = 0;
                    for (const std::int64_t width : {kHidden, kFfn, 2 * kFfn}) {
                        const auto from = all.begin() + at + row * width;
                        QVERIFY(std::equal(from, from + width, one.begin() + of_one));
                        at += kRows * width;
                        of_one += width;
                    }
                }
            }
        }
    }
}

// A prompt's experts in bf16 with products in bf16: one row or many, in pieces of neurons
// and of rows.
void TestCpuOperations::bf16_gives_a_prompts_row_the_same_bits_in_any_company() {
    constexpr std::int64_t kHidden = 64;
    constexpr std::int64_t kFfn = 2100;  // two pieces
    constexpr std::int64_t kRows[] = {1, 70, 3};
    constexpr std::int64_t kAllRows = 74;
    const RandomWeights weights(WeightType::kBf16, 3 * 3 * kFfn * kHidden, 1, 0.2f);
    const kernels::ExpertLayout layout = kernels::expert_layout(WeightType::kBf16, kHidden, kFfn);
    std::vector<ExpertCall> calls;
    for (std::int64_t e = 0, row = 0; e < 3; row += kRows[e], ++e) {
        calls.push_back(
            {{static_cast<const std::byte*>(weights.data()) + static_cast<std::size_t>(e) * layout.bytes(), layout},
             row,
             kRows[e]});
    }
    const std::vector<float> x = random_floats(kAllRows * kHidden, 2);
    std::vector<std::int32_t> tokens(kAllRows);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::shuffle(tokens.begin(), tokens.end(), std::mt19937(3));

    kernels::ThreadPool one(1);
    CpuOperations single(one, GemmMode::kBf16);
    CpuOperations exact(one, GemmMode::kF32);
    std::vector<float> alone(kAllRows * kHidden);
    std::vector<float> in_f32(kAllRows * kHidden);
    single.set_sum_order(SumOrder::kMany);
    exact.run(ops::Experts{calls, x.data(), tokens.data(), in_f32.data()});
    for (const ExpertCall& call : calls) {
        for (std::int64_t r = call.first_row; r < call.first_row + call.n_rows; ++r) {
            const ExpertCall row{call.weights, 0, 1};
            single.run(ops::Experts{{&row, 1}, x.data(), tokens.data() + r, alone.data() + r * kHidden});
        }
    }
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) {
        error += std::pow(double{alone[i]} - double{in_f32[i]}, 2);
        size += std::pow(double{in_f32[i]}, 2);
    }
    QVERIFY2(error < 1e-4 * size, qPrintable(QString::number(error / size)));
    for (const int n_threads : {1, 3}) {
        kernels::ThreadPool pool(n_threads);
        CpuOperations operations(pool, GemmMode::kBf16);
        operations.set_sum_order(SumOrder::kMany);
        std::vector<float> all(kAllRows * kHidden, 7.0f);
        operations.run(ops::Experts{calls, x.data(), tokens.data(), all.data()});
        QVERIFY(all == alone);

        // By number: each expert alone and together with the others.
        operations.set_sum_order(SumOrder::kByNumber);
        single.set_sum_order(SumOrder::kByNumber);
        operations.run(ops::Experts{calls, x.data(), tokens.data(), all.data()});
        for (const ExpertCall& call : calls) {
            std::vector<float> of_call(kAllRows * kHidden);
            single.run(ops::Experts{{&call, 1}, x.data(), tokens.data(), of_call.data()});
            const std::int64_t begin = call.first_row * kHidden;
            const std::int64_t end = begin + call.n_rows * kHidden;
            QVERIFY(std::equal(of_call.begin() + begin, of_call.begin() + end, all.begin() + begin));
            error = size = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                error += std::pow(double{all[as_size(i)]} - double{in_f32[as_size(i)]}, 2);
                size += std::pow(double{in_f32[as_size(i)]}, 2);
            }
            QVERIFY2(error < 1e-4 * size, qPrintable(QString::number(error / size)));
        }
    }
}

// With a cache in bf16, and prompts' products in bf16: queries are rounded there, and a
// little of the result with them; single or few ones are not, nor with another cache.
void TestCpuOperations::attention_is_rounded_in_bf16_for_many_queries_alone() {
    if (kernels::bf16_attention(kernels::cpu_kernels().instruction_set) == nullptr) {
        QSKIP("This processor has no dot product of bf16.");
    }
    constexpr std::int64_t kPast = 70;
    kernels::ThreadPool pool(2);
    for (const kernels::KvType type : {kernels::KvType::kBf16, kernels::KvType::kF32}) {
        for (const std::int64_t n : {1, 7, 8, 65}) {
            for (const SumOrder order : {SumOrder::kByNumber, SumOrder::kMany}) {
                kernels::AttentionShape shape;
                shape.n_heads = 4;
                shape.n_kv_heads = 2;
                shape.key_dim = shape.value_dim = 64;
                shape.scale = 0.125f;
                const kernels::KvShape kv = kernels::kv_shape_of(1, shape, type);
                constexpr std::int64_t kBlocks = 3;
                std::vector<std::byte> cache(static_cast<std::size_t>(kBlocks * kv.block_bytes()));
                const std::int64_t n_values = kv.key_dim;
                for (std::size_t at = 0; at < cache.size(); at += static_cast<std::size_t>(kv.key_stride())) {
                    const auto row = random_floats(n_values, static_cast<std::uint32_t>(at));
                    kernels::store_kv_row(row.data(), n_values, type, cache.data() + at);
                }
                std::vector<std::byte*> blocks;
                for (std::int64_t b = 0; b < kBlocks; ++b) blocks.push_back(cache.data() + b * kv.block_bytes());
                AttentionSegment segment;
                segment.n_tokens = n;
                segment.past = kPast;
                segment.blocks = blocks;
                const auto queries = random_floats(n * shape.query_width(), 5);
                const auto attended = [&](GemmMode mode) {
                    CpuOperations operations(pool, mode);
                    operations.set_sum_order(order);
                    std::vector<float> out(static_cast<std::size_t>(n * shape.output_width()));
                    operations.run(
                        ops::Attend{0, shape, {&segment, 1}, queries.data(), shape.query_width(), kv, out.data()});
                    return out;
                };
                const std::vector<float> exact = attended(GemmMode::kF32), rounded = attended(GemmMode::kBf16);
                const bool many = type == kernels::KvType::kBf16 && (n >= 8 || order == SumOrder::kMany);
                QVERIFY2((exact != rounded) == many, qPrintable(QString::number(n)));
                double off = 0, size = 0;
                for (std::size_t i = 0; i < exact.size(); ++i) {
                    off += std::pow(double{exact[i]} - double{rounded[i]}, 2);
                    size += std::pow(double{exact[i]}, 2);
                }
                QVERIFY2(std::sqrt(off / size) < 1e-2, qPrintable(QString::number(std::sqrt(off / size))));
            }
        }
    }
}

QTEST_GUILESS_MAIN(TestCpuOperations)
#include "tst_cpu_operations.moc"
