// Rows of codes, ours and those of files, times inputs of 8 bits, and experts in our own
// formats, on every instruction set: against products of the decoded weights with the
// rounded inputs.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <QTest>

#include "byte_inputs_reference.h"
#include "expert_reference.h"
#include "kernels/block_parts.h"
#include "kernels/byte_experts.h"
#include "kernels/cpu/codebook_codes.h"
#include "kernels/interleaved.h"
#include "packed_data.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// Share of the sum of the terms' magnitudes.
constexpr double kRelative = 1e-5;
constexpr int kMostTokens = 17;  // more than go together, and one left over

// y as from CpuKernels::matvec_multi, over buffers of the exact size.
void multiply(const CpuKernels& kernels, const WeightView& weight, const float* x, int n_tokens, std::int64_t begin,
              std::int64_t end, float* y) {
    const std::int64_t n = weight.n_cols;
    TestBuffer<float> exact_x(n_tokens * n);
    std::copy_n(x, n_tokens * n, exact_x.data());
    TestBuffer<std::byte> inputs(n_tokens * rounded_input_bytes(n));
    std::fill_n(inputs.data(), n_tokens * rounded_input_bytes(n), std::byte{0xff});
    kernels.round_inputs(weight.type, exact_x.data(), n, n_tokens, n, inputs.data());
    std::vector<const std::byte*> places;
    for (int t = 0; t < n_tokens; ++t) places.push_back(inputs.data() + t * rounded_input_bytes(n));
    const TestBuffer<std::byte> scratch(byte_product_scratch(n), 1);
    kernels.matvec_bytes(weight, places.data(), n_tokens, begin, end, y, weight.n_rows, scratch.data());
    QVERIFY(scratch.guards_intact());
}

// out += the expert, over buffers of the exact size.
void run_expert(InstructionSet set, const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                std::int64_t begin, std::int64_t end, float* out) {
    const std::int64_t n = expert.layout.hidden_dim;
    TestBuffer<std::byte> inputs(n_tokens * rounded_input_bytes(n));
    cpu_kernels(set).round_inputs(expert.layout.gate, x, n, n_tokens, n, inputs.data());
    std::vector<const std::byte*> places;
    for (int t = 0; t < n_tokens; ++t) places.push_back(inputs.data() + t * rounded_input_bytes(n));
    const TestBuffer<std::byte> scratch(byte_expert_scratch(n, n_tokens), 1);
    expert_ffn_bytes(set)(expert, places.data(), scale, n_tokens, begin, end, out, scratch.data());
    QVERIFY(scratch.guards_intact());
}

std::size_t index(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

}  // namespace

class TestByteInputs : public QObject {
    Q_OBJECT

    // Inputs of the tokens, including a stretch of zeros, one outlier and one very small
    // value.
    static std::vector<float> inputs(std::int64_t n_cols, std::int64_t n_tokens = kMostTokens) {
        std::vector<float> x(static_cast<std::size_t>(n_tokens * n_cols));
        fill_random(x, 3, 2.0f);
        std::fill_n(x.begin(), 32, 0.0f);
        x[40] = 300.0f;
        std::fill_n(x.begin() + n_cols, 32, 1e-30f);
        return x;
    }

  private slots:
    void products_of_rounded_inputs_data() {
        QTest::addColumn<int>("set");
        QTest::addColumn<int>("type");
        for (const InstructionSet set : available_instruction_sets()) {
            for (const WeightType type : kDecodedTypes) {
                QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                    << static_cast<int>(set) << static_cast<int>(type);
            }
        }
    }

    // Any range of rows, any number of tokens, and columns that are no whole group of
    // 256 where the type has such rows.
    void products_of_rounded_inputs() {
        QFETCH(int, set);
        QFETCH(int, type);
        const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
        for (const std::int64_t some : {64, 256, 1088}) {
            const std::int64_t n_cols = length_for(static_cast<WeightType>(type), some);
            constexpr std::int64_t kRows = 41, kBegin = 2, kEnd = 37;
            const RandomPackedRows rows(static_cast<WeightType>(type), kRows, n_cols, 11);
            const std::vector<float> x = inputs(n_cols);
            for (const int n_tokens : {1, 3, 6, kMostTokens}) {
                std::vector<float> y(static_cast<std::size_t>(n_tokens * kRows), -1.0f);
                multiply(kernels, rows.view(), x.data(), n_tokens, kBegin, kEnd, y.data());
                for (int t = 0; t < n_tokens; ++t) {
                    const std::vector<double> in = rounded_inputs(x.data() + t * n_cols, n_cols).values;
                    for (std::int64_t r = 0; r < kRows; ++r) {
                        const float got = y[static_cast<std::size_t>(t * kRows + r)];
                        if (r < kBegin || r >= kEnd) {
                            QCOMPARE(got, -1.0f);
                            continue;
                        }
                        double sum = 0.0;
                        double magnitude = 0.0;
                        for (std::int64_t i = 0; i < n_cols; ++i) {
                            const double term = double{rows[r * n_cols + i]} * in[static_cast<std::size_t>(i)];
                            sum += term;
                            magnitude += std::abs(term);
                        }
                        QVERIFY2(std::abs(double{got} - sum) <= kRelative * magnitude,
                                 qPrintable(QStringLiteral("%1 columns, token %2, row %3: %4, not %5")
                                                .arg(n_cols)
                                                .arg(t)
                                                .arg(r)
                                                .arg(double{got})
                                                .arg(sum)));
                    }
                }
            }
        }
    }

    void largest_codes_times_largest_inputs_data() {
        QTest::addColumn<int>("set");
        QTest::addColumn<int>("type");
        for (const InstructionSet set : available_instruction_sets()) {
            for (const WeightType type : kDecodedTypes) {
                if (!is_blocks(type) || traits_of(type).scale_at < 0) continue;
                QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                    << static_cast<int>(set) << static_cast<int>(type);
            }
        }
    }

    // Sums within 16 bits come as near to their bounds as a format's codes allow.
    void largest_codes_times_largest_inputs() {
        QFETCH(int, set);
        QFETCH(int, type);
        const auto weight_type = static_cast<WeightType>(type);
        const FormatTraits& traits = traits_of(weight_type);
        constexpr std::int64_t kCols = 512;
        const RandomPackedRows scales(weight_type, 1, kCols, 11);
        const auto n_bytes = static_cast<std::int64_t>(row_bytes(weight_type, kCols));
        const int scale_bytes = weight_type == WeightType::kMxfp4 ? 1 : 2;
        // The largest code is 0x7 in MXFP4.
        const std::vector<std::byte> fills = {std::byte{0xff}, std::byte{0x77}, std::byte{0x88}, std::byte{0x00}};
        const auto n_rows = std::int64_t{10} * static_cast<std::int64_t>(fills.size());
        TestBuffer<std::byte> rows(n_rows * n_bytes);
        std::vector<float> weights(static_cast<std::size_t>(n_rows * kCols));
        for (std::int64_t r = 0; r < n_rows; ++r) {
            std::byte* const row = rows.data() + r * n_bytes;
            std::copy_n(scales.data(), n_bytes, row);
            for (std::int64_t i = 0; i < n_bytes; ++i) {
                const auto at = static_cast<int>(i % traits.block_bytes);
                const auto is_of = [&](int number) { return number >= 0 && at >= number && at < number + scale_bytes; };
                if (!is_of(traits.scale_at) && !is_of(traits.minimum_at)) row[i] = fills[index(r) % fills.size()];
            }
            unpack_blocks(weight_type, row, 0, kCols, weights.data() + r * kCols);
        }
        std::vector<float> x(static_cast<std::size_t>(kMostTokens * kCols), 1.0f);
        for (std::int64_t i = kCols; i < 2 * kCols; ++i) x[index(i)] = -1.0f;
        for (const int n_tokens : {1, 4, kMostTokens}) {
            std::vector<float> y(static_cast<std::size_t>(n_tokens * n_rows));
            multiply(cpu_kernels(static_cast<InstructionSet>(set)),
                     {rows.data(), weight_type, n_rows, kCols, static_cast<std::size_t>(n_bytes)}, x.data(), n_tokens,
                     0, n_rows, y.data());
            for (int t = 0; t < n_tokens; ++t) {
                for (std::int64_t r = 0; r < n_rows; ++r) {
                    double sum = 0.0, magnitude = 0.0;
                    for (std::int64_t i = 0; i < kCols; ++i) {
                        sum += double{weights[index(r * kCols + i)]} * double{x[index(t * kCols + i)]};
                        magnitude += std::abs(double{weights[index(r * kCols + i)]});
                    }
                    QVERIFY(std::abs(double{y[index(t * n_rows + r)]} - sum) <= kRelative * magnitude);
                }
            }
        }
    }

    void experts_of_rounded_inputs_data() {
        QTest::addColumn<int>("set");
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("down");
        for (const InstructionSet set : available_instruction_sets()) {
            for (const auto& [type, down] : {std::pair{WeightType::kInt8, WeightType::kInt8},
                                             {WeightType::kHqq4, WeightType::kHqq4},
                                             {WeightType::kHqq4, WeightType::kInt8},
                                             {WeightType::kHqq3, WeightType::kHqq3},
                                             {WeightType::kHqq2, WeightType::kHqq2},
                                             {WeightType::kInt8, WeightType::kHqq2}}) {
                QTest::addRow("%s %s %s", name_of(set).data(), name_of(type), name_of(down))
                    << static_cast<int>(set) << static_cast<int>(type) << static_cast<int>(down);
            }
        }
    }

    // Single neurons, whose activations are then exact, and many, whose activations are
    // rounded by at most half a step. Tokens together equal those one by one, bit by bit.
    void experts_of_rounded_inputs() {
        QFETCH(int, set);
        QFETCH(int, type);
        QFETCH(int, down);
        constexpr std::int64_t kNeurons = kByteTileNeurons + 5;
        constexpr int kTokens = 11;
        struct Case {
            std::int64_t n;
            Activation activation = Activation::kSilu;
        };
        for (const Case& of : {Case{64}, {320}, {1088}, {320, Activation::kReluSquared}}) {
            const std::int64_t n = of.n;
            ExpertLayout layout;
            layout.spec.activation = of.activation;
            layout.hidden_dim = n;
            layout.ffn_dim = kNeurons;
            layout.gate = layout.up = static_cast<WeightType>(type);
            layout.down = static_cast<WeightType>(down);
            QVERIFY(takes_byte_inputs(layout));
            const RandomPackedRows w1(layout.gate, kNeurons, n, layout.spec.has_gate() ? 5 : 6);
            const RandomPackedRows w3(layout.up, kNeurons, n, 6);
            const RandomPackedRows w2(layout.down, kNeurons, n, 7);
            TestBuffer<std::byte> block(static_cast<std::int64_t>(layout.bytes()));
            const ExpertView view{block.data(), layout};
            for (std::int64_t j = 0; j < kNeurons; ++j) {
                const auto put = [&](const WeightView& to, const RandomPackedRows& from) {
                    std::memcpy(const_cast<std::byte*>(to.row(j)), from.view().row(j), row_bytes(to.type, n));
                };
                put(view.gate(), w1);
                put(view.up(), w3);
                put(view.down(), w2);
            }
            std::vector<float> x(static_cast<std::size_t>(kTokens * n));
            std::vector<float> scale(kTokens);
            fill_random(x, 3, 2.0f);
            fill_random(scale, 4);
            const PackedRow packed = packed_row(layout.down, n);
            for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{5, 6}, {0, kNeurons}, {3, 20}}) {
                TestBuffer<float> out(kTokens * n, 20);
                std::fill_n(out.data(), kTokens * n, 0.5f);
                run_expert(static_cast<InstructionSet>(set), view, x.data(), scale.data(), kTokens, begin, end,
                           out.data());
                QVERIFY(out.guards_intact());
                for (const int few : {3, static_cast<int>(kFewByteExpertTokens), 5}) {
                    std::vector<float> together(static_cast<std::size_t>(few * n), 0.5f);
                    run_expert(static_cast<InstructionSet>(set), view, x.data(), scale.data(), few, begin, end,
                               together.data());
                    QCOMPARE(std::memcmp(together.data(), out.data(), together.size() * sizeof(float)), 0);
                }
                for (int t = 0; t < kTokens; ++t) {
                    std::vector<float> alone(static_cast<std::size_t>(n), 0.5f);
                    run_expert(static_cast<InstructionSet>(set), view, x.data() + t * n, scale.data() + t, 1, begin,
                               end, alone.data());
                    QCOMPARE(std::memcmp(alone.data(), out.data() + t * n, alone.size() * sizeof(float)), 0);
                    const std::vector<double> in = rounded_inputs(x.data() + t * n, n).values;
                    std::vector<double> want(alone.size(), 0.5);
                    std::vector<double> tolerance(alone.size(), 1e-5);
                    for (std::int64_t first = begin; first < end; first += kRoundedNeurons) {
                        std::vector<double> largest(static_cast<std::size_t>(packed.n_groups));
                        std::vector<double> codes(alone.size());
                        const std::int64_t last = std::min(end, first + kRoundedNeurons);
                        for (std::int64_t j = first; j < last; ++j) {
                            double gate = 0.0;
                            double up = 0.0;
                            double gate_magnitude = 0.0;
                            double up_magnitude = 0.0;
                            for (std::int64_t i = 0; i < n; ++i) {
                                const double input = in[static_cast<std::size_t>(i)];
                                gate += double{w1[j * n + i]} * input;
                                up += double{w3[j * n + i]} * input;
                                gate_magnitude += std::abs(double{w1[j * n + i]} * input);
                                up_magnitude += std::abs(double{w3[j * n + i]} * input);
                            }
                            const double factor = double{scale[static_cast<std::size_t>(t)]};
                            const double activation = factor * activation_in_double(layout.spec, gate, up);
                            const double error = 1e-5 * std::abs(factor) * gate_magnitude * up_magnitude;
                            const std::byte* const row = w2.view().row(j);
                            for (std::int64_t i = 0; i < n; ++i) {
                                float group_scale = 0.0f;
                                float zero = 0.0f;
                                packed_group(layout.down, row, packed, i / packed.group, group_scale, zero);
                                const double weight = double{w2[j * n + i]};
                                const auto place = static_cast<std::size_t>(i);
                                want[place] += activation * weight;
                                tolerance[place] += error * (std::abs(double{group_scale}) * 16.0 + std::abs(weight));
                                double& most = largest[static_cast<std::size_t>(i / packed.group)];
                                most = std::max(most, std::abs(activation * double{group_scale}));
                                if (group_scale != 0.0f) {
                                    codes[place] += std::abs(weight / double{group_scale} + double{zero});
                                }
                            }
                        }
                        if (last - first == 1) continue;
                        for (std::int64_t i = 0; i < n; ++i) {
                            const auto place = static_cast<std::size_t>(i);
                            tolerance[place] +=
                                largest[static_cast<std::size_t>(i / packed.group)] / 127.0 * 0.501 * codes[place];
                        }
                    }
                    for (std::int64_t i = 0; i < n; ++i) {
                        const auto place = static_cast<std::size_t>(i);
                        const double got = double{out[t * n + i]};
                        QVERIFY2(std::abs(got - want[place]) <= tolerance[place],
                                 qPrintable(QStringLiteral("%1 columns, neurons %2 to %3, token %4, place %5: %6, not "
                                                           "%7 (%8)")
                                                .arg(n)
                                                .arg(begin)
                                                .arg(end)
                                                .arg(t)
                                                .arg(i)
                                                .arg(got)
                                                .arg(want[place])
                                                .arg(tolerance[place])));
                    }
                }
            }
        }
    }

    void a_token_is_summed_alike_in_any_company_data() { products_of_rounded_inputs_data(); }
    void a_token_is_summed_alike_in_any_company() {
        QFETCH(int, set);
        QFETCH(int, type);
        const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
        // Our own formats, longer than a group of scales that are quantized together.
        const std::int64_t n_cols =
            length_for(static_cast<WeightType>(type), is_packed(static_cast<WeightType>(type)) ? 16640 : 512);
        constexpr std::int64_t kRows = 19;
        const RandomPackedRows rows(static_cast<WeightType>(type), kRows, n_cols, 12);
        const std::vector<float> x = inputs(n_cols);
        std::vector<float> together(kMostTokens * kRows);
        std::vector<float> alone(kMostTokens * kRows);
        for (int t = 0; t < kMostTokens; ++t) {
            multiply(kernels, rows.view(), x.data() + t * n_cols, 1, 0, kRows, alone.data() + t * kRows);
        }
        for (int n_tokens = 1; n_tokens <= kMostTokens; ++n_tokens) {
            multiply(kernels, rows.view(), x.data(), n_tokens, 0, kRows, together.data());
            QCOMPARE(
                std::memcmp(alone.data(), together.data(), sizeof(float) * static_cast<std::size_t>(n_tokens) * kRows),
                0);
        }
    }

    void codebook_codes_are_alike_data() {
        QTest::addColumn<int>("type");
        for (const WeightType type : kDecodedTypes) {
            if (has_codebook(type)) QTest::addRow("%s", name_of(type)) << static_cast<int>(type);
        }
    }

    // On every processor those of read_part(), which other products are built on.
    void codebook_codes_are_alike() {
        QFETCH(int, type);
        const auto weight_type = static_cast<WeightType>(type);
        constexpr std::int64_t kBlocks = 60;
        const RandomPackedRows rows(weight_type, 1, kBlocks * 256, 14);
        const auto* const blocks = reinterpret_cast<const std::uint8_t*>(rows.view().data);
        TestBuffer<std::int8_t> expected(kBlocks * 256, 1);
        TestBuffer<std::int8_t> fastest(kBlocks * 256, 1);
        scalar::codebook_codes(weight_type, blocks, kBlocks, expected.data());
        fastest_codebook_codes()(weight_type, blocks, kBlocks, fastest.data());
        QVERIFY(expected.guards_intact() && fastest.guards_intact());
        QCOMPARE(std::memcmp(expected.data(), fastest.data(), kBlocks * 256), 0);
        with_block_type(weight_type, [&](auto constant) {
            constexpr WeightType kType = decltype(constant)::value;
            for (int i = 0; i < kBlocks * 16; ++i) {
                BlockPart part;
                read_part<kType>(blocks + i / 16 * traits_of(kType).block_bytes, i % 16, kBlockCodebooks, part);
                QCOMPARE(std::memcmp(part.codes, expected.data() + 16 * i, 16), 0);
            }
        });
    }

    void rows_side_by_side_are_multiplied_alike_data() {
        QTest::addColumn<int>("set");
        QTest::addColumn<int>("type");
        for (const InstructionSet set : available_instruction_sets()) {
            for (const WeightType type : kDecodedTypes) {
                if (!can_interleave(type)) continue;
                QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                    << static_cast<int>(set) << static_cast<int>(type);
            }
        }
    }

    // Bit by bit, any number of tokens, and columns that are no whole group of 256 where
    // the type has such rows.
    void rows_side_by_side_are_multiplied_alike() {
        QFETCH(int, set);
        QFETCH(int, type);
        const CpuKernels& kernels = cpu_kernels(static_cast<InstructionSet>(set));
        const auto weight_type = static_cast<WeightType>(type);
        for (const std::int64_t some : {64, 256, 1088}) {
            const std::int64_t n_cols = length_for(weight_type, some);
            constexpr std::int64_t kRows = 4 * kInterleavedRows;
            const RandomPackedRows rows(weight_type, kRows, n_cols, 13);
            const std::size_t strip_bytes = kInterleavedRows * row_bytes(weight_type, n_cols);
            TestBuffer<std::byte> strips(static_cast<std::int64_t>(4 * strip_bytes), 1);
            TestBuffer<std::byte> back(static_cast<std::int64_t>(4 * strip_bytes), 1);
            for (int i = 0; i < 4; ++i) {
                const std::byte* const from = rows.view().row(i * kInterleavedRows);
                interleave_rows(weight_type, n_cols, from, strips.data() + i * strip_bytes);
                interleave_rows(weight_type, n_cols, strips.data() + i * strip_bytes, back.data() + i * strip_bytes,
                                true);
            }
            QVERIFY(strips.guards_intact() && back.guards_intact());
            QCOMPARE(std::memcmp(back.data(), rows.view().data, 4 * strip_bytes), 0);
            QVERIFY(std::memcmp(strips.data(), rows.view().data, 4 * strip_bytes) != 0);
            WeightView interleaved = rows.view();
            interleaved.data = strips.data();
            interleaved.interleaved = true;
            // Two strips together and one alone; fewer tokens than a tile has, and up to
            // three times as many.
            constexpr int kMostInStrips = 33;
            const std::vector<float> x = inputs(n_cols, kMostInStrips);
            for (int n_tokens = 1; n_tokens <= kMostInStrips;
                 n_tokens = n_tokens == 18 ? kMostInStrips : n_tokens + 1) {
                std::vector<float> expected(static_cast<std::size_t>(n_tokens * kRows), -1.0f);
                std::vector<float> got = expected;
                multiply(kernels, rows.view(), x.data(), n_tokens, 16, kRows, expected.data());
                multiply(kernels, interleaved, x.data(), n_tokens, 16, kRows, got.data());
                QCOMPARE(std::memcmp(expected.data(), got.data(), sizeof(float) * got.size()), 0);
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestByteInputs)
#include "tst_byte_inputs.moc"
