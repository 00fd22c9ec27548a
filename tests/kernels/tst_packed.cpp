// Packed rows and rows of blocks: the scalar readers against rows written by hand, and
// every instruction set against the scalar readers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <QTest>

#include "kernels/cpu/pack.h"
#include "kernels/cpu_kernels.h"
#include "kernels/gemm.h"
#include "kernels/packed.h"
#include "packed_data.h"
#include "test_buffer.h"
#include "test_data.h"
#include "tests/sanitized.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// Share of the sum of the terms' magnitudes. A weight itself may be off by some roundings
// of scale * zero.
constexpr double kRelative = 2e-6;

// One block, several, a batch of scales and a part of one, and more than a super group of
// each format.
constexpr std::int64_t kLengths[] = {64, 192, 1088, 4096, 16448};

const CpuKernels& kernels_of(int set) {
    return cpu_kernels(static_cast<InstructionSet>(set));
}

void add_set_type_rows() {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("type");
    for (const InstructionSet set : available_instruction_sets()) {
        for (const WeightType type : kDecodedTypes) {
            QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                << static_cast<int>(set) << static_cast<int>(type);
        }
    }
}

double silu(double x) {
    return x / (1.0 + std::exp(-x));
}

// A sum of products, and the magnitude of its terms.
struct Sum {
    double value = 0.0;
    double magnitude = 0.0;
    void add(double term) {
        value += term;
        magnitude += std::abs(term);
    }
    bool is(float got) const { return std::abs(static_cast<double>(got) - value) <= kRelative * magnitude + 1e-30; }
};

// Weights times inputs; the magnitude counts each weight as one of full size, because it
// is rounded like one.
Sum product(const float* weights, const float* x, std::int64_t n) {
    Sum sum;
    for (std::int64_t i = 0; i < n; ++i) {
        sum.value += double{weights[i]} * double{x[i]};
        sum.magnitude += std::max(1.0, std::abs(double{weights[i]})) * std::abs(double{x[i]});
    }
    return sum;
}

}  // namespace

class TestPacked : public QObject {
    Q_OBJECT

  private slots:
    void int8_row_reads_as_written_by_hand();
    void hqq4_row_reads_as_written_by_hand();
    void hqq3_row_reads_as_written_by_hand();
    void hqq2_row_reads_as_written_by_hand();
    void every_code_is_read_where_it_was_set_data();
    void every_code_is_read_where_it_was_set();
    void supers_change_at_their_groups_data();
    void supers_change_at_their_groups();
    void widen_unpacks_a_row_data() { add_set_type_rows(); }
    void widen_unpacks_a_row();
    void matvec_multiplies_any_range_of_rows_data() { add_set_type_rows(); }
    void matvec_multiplies_any_range_of_rows();
    void matvec_multi_multiplies_any_tokens_data() { add_set_type_rows(); }
    void matvec_multi_multiplies_any_tokens();
    void expert_ffn_adds_any_range_of_neurons_data() { add_set_type_rows(); }
    void expert_ffn_adds_any_range_of_neurons();
    void expert_ffn_takes_each_matrix_in_its_own_format_data() { add_instruction_set_rows(); }
    void expert_ffn_takes_each_matrix_in_its_own_format();
    void panels_hold_every_weight_in_its_place_data() { add_set_type_rows(); }
    void panels_hold_every_weight_in_its_place();
    void gemm_is_the_matvec_of_each_token_data();
    void gemm_is_the_matvec_of_each_token();
};

// ---------------------------------------------------------------- the definition

void TestPacked::int8_row_reads_as_written_by_hand() {
    QCOMPARE(packed_row(WeightType::kInt8, 128).bytes, std::int64_t{136});  // 128 codes, two scales, 4 bytes of nothing
    std::vector<std::byte> row(136);
    row[0] = std::byte{1};
    row[1] = std::byte{0xff};   // -1
    row[63] = std::byte{0x80};  // -128
    row[64] = std::byte{0x7f};  // 127
    row[128] = std::byte{0x00};
    row[129] = std::byte{0x3f};  // 0x3f00: 0.5
    row[130] = std::byte{0x40};
    row[131] = std::byte{0xc0};  // 0xc040: -3
    std::vector<float> out(128);
    unpack_row(WeightType::kInt8, row.data(), 128, 0, 128, out.data());
    QCOMPARE(out[0], 0.5f);
    QCOMPARE(out[1], -0.5f);
    QCOMPARE(out[2], 0.0f);
    QCOMPARE(out[63], -64.0f);
    QCOMPARE(out[64], -381.0f);
}

// Supers: scale = 1 + 0.5 S, zero = 2 + 0.25 Z; S = 2 and Z = 4: scale 2, zero 3.
void write_super(std::byte* row) {
    const float numbers[4] = {1.0f, 0.5f, 2.0f, 0.25f};
    std::memcpy(row, numbers, sizeof numbers);
}

void TestPacked::hqq4_row_reads_as_written_by_hand() {
    QCOMPARE(packed_row(WeightType::kHqq4, 64).bytes, std::int64_t{56});  // 16 + 32 + 1 + 1, rounded up
    std::vector<std::byte> row(56);
    write_super(row.data());
    row[16] = std::byte{0x21};       // lane 0: codes 1 (weight 0), 2 (weight 16),
    row[17] = std::byte{0x43};       //         3 (weight 32), 4 (weight 48)
    row[16 + 31] = std::byte{0xf0};  // lane 15, upper byte: code 2 is 0 (weight 47), code 3 is 15 (weight 63)
    row[48] = std::byte{2};
    row[49] = std::byte{4};
    std::vector<float> out(64);
    unpack_row(WeightType::kHqq4, row.data(), 64, 0, 64, out.data());
    QCOMPARE(out[0], 2.0f * (1 - 3));
    QCOMPARE(out[16], 2.0f * (2 - 3));
    QCOMPARE(out[32], 0.0f);
    QCOMPARE(out[48], 2.0f * (4 - 3));
    QCOMPARE(out[1], -6.0f);
    QCOMPARE(out[47], -6.0f);
    QCOMPARE(out[63], 24.0f);
}

void TestPacked::hqq3_row_reads_as_written_by_hand() {
    QCOMPARE(packed_row(WeightType::kHqq3, 64).bytes, std::int64_t{48});  // 16 + 24 + 1 + 1, rounded up
    std::vector<std::byte> row(48);
    write_super(row.data());
    // Lane 1 begins at bit 12 with codes 7, 0, 5, 2 (weights 1, 17, 33, 49): bits 12..14,
    // 18..20, 21..23.
    row[16 + 1] = std::byte{0x70};
    row[16 + 2] = std::byte{0x54};   // 5 << 2 | 2 << 5
    row[16 + 23] = std::byte{0xc0};  // lane 15 begins at bit 180; its code 3 is in bits 189..191: 6 (weight 63)
    row[40] = std::byte{2};
    row[41] = std::byte{4};
    std::vector<float> out(64);
    unpack_row(WeightType::kHqq3, row.data(), 64, 0, 64, out.data());
    QCOMPARE(out[1], 2.0f * (7 - 3));
    QCOMPARE(out[17], 2.0f * (0 - 3));
    QCOMPARE(out[33], 2.0f * (5 - 3));
    QCOMPARE(out[49], 2.0f * (2 - 3));
    QCOMPARE(out[63], 2.0f * (6 - 3));
    QCOMPARE(out[0], -6.0f);
    QCOMPARE(out[47], -6.0f);
}

void TestPacked::hqq2_row_reads_as_written_by_hand() {
    QCOMPARE(packed_row(WeightType::kHqq2, 64).bytes, std::int64_t{40});  // 16 + 16 + 4, rounded up
    std::vector<std::byte> row(40);
    write_super(row.data());
    row[16] = std::byte{0b11'10'01'00};  // lane 0: codes 0, 1, 2, 3 of weights 0, 16, 32, 48
    row[32] = std::byte{0x42};           // group 0 (weights 0..15): S = 2, Z = 4
    row[33] = std::byte{0x00};           // group 1: scale 1, zero 2
    row[34] = std::byte{0xf0};           // group 2: scale 1, zero 5.75
    row[35] = std::byte{0x0f};           // group 3: scale 8.5, zero 2
    std::vector<float> out(64);
    unpack_row(WeightType::kHqq2, row.data(), 64, 0, 64, out.data());
    QCOMPARE(out[0], 2.0f * (0 - 3));
    QCOMPARE(out[16], 1.0f * (1 - 2));
    QCOMPARE(out[32], 2 - 5.75f);
    QCOMPARE(out[48], 8.5f * (3 - 2));
    QCOMPARE(out[63], 8.5f * (0 - 2));
    float part[3] = {};
    unpack_row(WeightType::kHqq2, row.data(), 64, 47, 3, part);  // from inside a group on
    QCOMPARE(part[0], out[47]);
    QCOMPARE(part[1], out[48]);
    QCOMPARE(part[2], out[49]);
}

void TestPacked::every_code_is_read_where_it_was_set_data() {
    QTest::addColumn<int>("type");
    for (const WeightType type : {WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2}) {
        QTest::addRow("%s", name_of(type)) << static_cast<int>(type);
    }
}

void TestPacked::every_code_is_read_where_it_was_set() {
    QFETCH(int, type);
    const auto format = static_cast<WeightType>(type);
    const auto block_bytes = static_cast<std::size_t>(packed_row(format, 64).block_bytes);
    const int n_codes = 1 << traits_of(format).bits;
    for (int w = 0; w < 64; ++w) {
        for (int code = 1; code < n_codes; ++code) {
            std::vector<std::byte> block(block_bytes);
            const int bits = traits_of(format).bits;
            const int first = w % 16 * 4 * bits + w / 16 * bits;  // bit of the block
            const unsigned word = static_cast<unsigned>(code) << static_cast<unsigned>(first % 8);
            const auto byte = static_cast<std::size_t>(first / 8);
            block[byte] |= static_cast<std::byte>(word & 0xffu);
            if (first % 8 + bits > 8) block[byte + 1] |= static_cast<std::byte>(word >> 8u);
            for (int other = 0; other < 64; ++other) {
                QCOMPARE(packed_code(format, block.data(), other), other == w ? code : 0);
            }
        }
    }
}

void TestPacked::supers_change_at_their_groups_data() {
    QTest::addColumn<int>("type");
    QTest::addColumn<qint64>("first_of_second");  // the first weight of the second super group
    QTest::newRow("HQQ4") << static_cast<int>(WeightType::kHqq4) << qint64{256 * 64};
    QTest::newRow("HQQ3") << static_cast<int>(WeightType::kHqq3) << qint64{128 * 64};
    QTest::newRow("HQQ2") << static_cast<int>(WeightType::kHqq2) << qint64{128 * 16};
}

void TestPacked::supers_change_at_their_groups() {
    QFETCH(int, type);
    QFETCH(qint64, first_of_second);
    const auto format = static_cast<WeightType>(type);
    const std::int64_t n = first_of_second + 64;
    std::vector<std::byte> row(row_bytes(format, n));
    const float numbers[8] = {1.0f, 0.0f, -1.0f, 0.0f, 1.0f, 0.0f, -5.0f, 0.0f};  // weights 1, then 5
    std::memcpy(row.data(), numbers, sizeof numbers);
    std::vector<float> out(static_cast<std::size_t>(n));
    unpack_row(format, row.data(), n, 0, n, out.data());
    for (std::int64_t i = 0; i < n; ++i) {
        QCOMPARE(out[static_cast<std::size_t>(i)], i < first_of_second ? 1.0f : 5.0f);
    }
}

// ---------------------------------------------------------------- the kernels

void TestPacked::widen_unpacks_a_row() {
    QFETCH(int, set);
    QFETCH(int, type);
    for (const std::int64_t length : kLengths) {
        const std::int64_t n = length_for(static_cast<WeightType>(type), length);
        const RandomPackedRows rows(static_cast<WeightType>(type), 2, n, 1);
        TestBuffer<float> out(n, 12);
        for (std::int64_t r = 0; r < 2; ++r) {
            kernels_of(set).widen(rows.view().row(r), rows.type(), n, out.data());
            QVERIFY(out.guards_intact());
            for (std::int64_t i = 0; i < n; ++i) {
                if (std::abs(out[i] - rows.row(r)[i]) <= 5e-7f) continue;
                QFAIL(qPrintable(QString("%1 of %2: %3, expected %4").arg(i).arg(n).arg(out[i]).arg(rows.row(r)[i])));
            }
        }
    }
}

void TestPacked::matvec_multiplies_any_range_of_rows() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kRows = 5;
    for (const std::int64_t length : kLengths) {
        const std::int64_t n = length_for(static_cast<WeightType>(type), length);
        for (const std::int64_t apart : {1, 3}) {
            const RandomPackedRows rows(static_cast<WeightType>(type), kRows * apart, n, 2);
            TestBuffer<float> x(n, 4);
            TestBuffer<float> y(kRows, 4);
            fill_random(x.span(), 3);
            for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, kRows}, {1, 3}, {3, 4}, {2, 2}}) {
                std::fill(y.span().begin(), y.span().end(), 77.0f);
                kernels_of(set).matvec(rows.view(0, apart), x.data(), begin, end, y.data());
                QVERIFY(y.guards_intact());
                for (std::int64_t r = 0; r < kRows; ++r) {
                    if (r < begin || r >= end) {
                        QCOMPARE(y[r], 77.0f);
                    } else {
                        QVERIFY2(product(rows.row(r * apart), x.data(), n).is(y[r]),
                                 qPrintable(QString("n %1 row %2").arg(n).arg(r)));
                    }
                }
            }
        }
    }
}

void TestPacked::matvec_multi_multiplies_any_tokens() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kRows = 5;
    for (int n_tokens = 1; n_tokens <= 8; ++n_tokens) {
        for (const std::int64_t length : {64, 192, 1088}) {
            const std::int64_t n = length_for(static_cast<WeightType>(type), length);
            const RandomPackedRows rows(static_cast<WeightType>(type), kRows, n, 4);
            const std::int64_t x_stride = n + 1;
            const std::int64_t y_stride = kRows + 2;
            TestBuffer<float> x(x_stride * n_tokens - 1);
            TestBuffer<float> y(y_stride * n_tokens - 2, 8);
            fill_random(x.span(), 5);
            std::fill(y.span().begin(), y.span().end(), 77.0f);
            kernels_of(set).matvec_multi(rows.view(), x.data(), x_stride, n_tokens, 1, kRows, y.data(), y_stride);
            QVERIFY(y.guards_intact());
            for (int t = 0; t < n_tokens; ++t) {
                QCOMPARE(y[t * y_stride], 77.0f);
                for (std::int64_t r = 1; r < kRows; ++r) {
                    QVERIFY2(product(rows.row(r), x.data() + t * x_stride, n).is(y[t * y_stride + r]),
                             qPrintable(QString("tokens %1 n %2 row %3").arg(n_tokens).arg(n).arg(r)));
                    // A row's sums do not depend on the rows beside it.
                    float alone[8] = {};
                    kernels_of(set).matvec_multi(rows.view(r), x.data(), x_stride, n_tokens, 0, 1, alone, 1);
                    QCOMPARE(alone[t], y[t * y_stride + r]);
                }
            }
        }
    }
}

// expert_ffn on ranges of neurons, added to the present outputs; matrix_row(m, j): row j
// of w1, w3 or the transposed w2, in float32.
template <typename MatrixRow>
void check_expert(int set, const ExpertView& view, int n_tokens,
                  std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges, const MatrixRow& matrix_row) {
    const std::int64_t n = view.layout.hidden_dim;
    TestBuffer<float> x(n * n_tokens);
    TestBuffer<float> out(n * n_tokens, 20);
    std::vector<float> scale(static_cast<std::size_t>(n_tokens));
    fill_random(x.span(), 7);
    fill_random(scale, 8);
    for (const auto& [begin, end] : ranges) {
        fill_random(out.span(), 9);
        const std::vector<float> before(out.span().begin(), out.span().end());
        kernels_of(set).expert_ffn(view, x.data(), scale.data(), n_tokens, begin, end, out.data());
        QVERIFY(out.guards_intact());
        for (int t = 0; t < n_tokens; ++t) {
            std::vector<Sum> want(static_cast<std::size_t>(n));
            for (std::int64_t i = 0; i < n; ++i) {
                want[static_cast<std::size_t>(i)].add(double{before[static_cast<std::size_t>(t * n + i)]});
            }
            for (std::int64_t j = begin; j < end; ++j) {
                const Sum gate = product(matrix_row(0, j), x.data() + t * n, n);
                const Sum up = product(matrix_row(1, j), x.data() + t * n, n);
                const double s = double{scale[static_cast<std::size_t>(t)]};
                const double activation = s * silu(gate.value) * up.value;
                const double magnitude = std::abs(s) * gate.magnitude * up.magnitude;
                for (std::int64_t i = 0; i < n; ++i) {
                    Sum& sum = want[static_cast<std::size_t>(i)];
                    sum.value += activation * double{matrix_row(2, j)[i]};
                    sum.magnitude += magnitude;
                }
            }
            for (std::int64_t i = 0; i < n; ++i) {
                const Sum& sum = want[static_cast<std::size_t>(i)];
                if (sum.is(out[t * n + i])) continue;
                QFAIL(qPrintable(QString("tokens %1 n %2 token %3 place %4: %5, expected %6")
                                     .arg(n_tokens)
                                     .arg(n)
                                     .arg(t)
                                     .arg(i)
                                     .arg(out[t * n + i])
                                     .arg(sum.value)));
            }
        }
    }
}

void TestPacked::expert_ffn_adds_any_range_of_neurons() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kNeurons = 11;
    for (int n_tokens = 1; n_tokens <= 8; n_tokens += offstage::test::kSanitized ? 7 : 1) {
        for (const std::int64_t length : {64, 192, 2112}) {
            const std::int64_t n = length_for(static_cast<WeightType>(type), length);
            const RandomPackedRows rows(static_cast<WeightType>(type), 3 * kNeurons, n, 6);
            const ExpertView view{rows.data(), expert_layout(rows.type(), n, kNeurons)};
            check_expert(set, view, n_tokens, {{0, kNeurons}, {2, 3}, {1, 10}, {4, 4}},
                         [&](std::int64_t m, std::int64_t j) { return rows.row(3 * j + m); });
            if (QTest::currentTestFailed()) return;
        }
    }
}

// Neurons of three packed formats, or of packed and plain ones, side by side.
void TestPacked::expert_ffn_takes_each_matrix_in_its_own_format() {
    QFETCH(int, set);
    constexpr std::int64_t kNeurons = 19;
    constexpr WeightType kMixes[][3] = {{WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8},
                                        {WeightType::kHqq2, WeightType::kHqq3, WeightType::kHqq4},
                                        {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq2},
                                        {WeightType::kBf16, WeightType::kInt8, WeightType::kF32},
                                        {WeightType::kHqq3, WeightType::kF32, WeightType::kF16},
                                        {WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K},
                                        {WeightType::kMxfp4, WeightType::kQ8_0, WeightType::kQ5_1}};
    for (const auto& mix : kMixes) {
        for (const std::int64_t length : {64, 192, 2112}) {
            const std::int64_t n = length_for(mix[0], length);
            ExpertLayout layout;
            layout.hidden_dim = n;
            layout.ffn_dim = kNeurons;
            layout.gate = mix[0];
            layout.up = mix[1];
            layout.down = mix[2];
            TestBuffer<std::byte> block(static_cast<std::int64_t>(layout.bytes()));
            const ExpertView view{block.data(), layout};
            std::vector<std::vector<float>> values;
            for (const WeightView& part : {view.gate(), view.up(), view.down()}) {
                std::vector<float>& rows = values.emplace_back(static_cast<std::size_t>(kNeurons * n));
                const auto seed = static_cast<std::uint32_t>(values.size());
                const bool packed = !is_plain(part.type);
                const RandomPackedRows codes(packed ? part.type : WeightType::kQ8_0, kNeurons, n, seed);
                const RandomWeights plain(packed ? WeightType::kF32 : part.type, kNeurons * n, seed);
                const auto* const from = packed ? codes.data() : static_cast<const std::byte*>(plain.data());
                const std::size_t row = row_bytes(part.type, n);
                for (std::int64_t j = 0; j < kNeurons; ++j) {
                    std::memcpy(block.data() + (part.row(j) - block.data()), from + static_cast<std::size_t>(j) * row,
                                row);
                }
                for (std::int64_t i = 0; i < kNeurons * n; ++i) {
                    rows[static_cast<std::size_t>(i)] = packed ? codes[i] : plain[i];
                }
            }
            for (int n_tokens = 1; n_tokens <= 8; ++n_tokens) {
                check_expert(
                    set, view, n_tokens, {{0, kNeurons}, {1, 18}, {17, 18}, {4, 4}},
                    [&](std::int64_t m, std::int64_t j) { return values[static_cast<std::size_t>(m)].data() + j * n; });
                if (QTest::currentTestFailed()) return;
            }
        }
    }
}

void TestPacked::panels_hold_every_weight_in_its_place() {
    QFETCH(int, set);
    QFETCH(int, type);
    const CpuKernels& kernels = kernels_of(set);
    const PackKernels& pack = pack_kernels(static_cast<InstructionSet>(set));
    const std::int64_t n_cols = length_for(static_cast<WeightType>(type), 2240);
    constexpr std::int64_t kRows = 70;
    const RandomPackedRows rows(static_cast<WeightType>(type), kRows, n_cols, 10);
    // The matvec's weights equal those in the panels, bit by bit.
    std::vector<float> weights(static_cast<std::size_t>(kRows * n_cols));
    for (std::int64_t r = 0; r < kRows; ++r) {
        kernels.widen(rows.view().row(r), rows.type(), n_cols, weights.data() + r * n_cols);
    }
    struct Part {
        std::int64_t first_row, n_rows, first_col, n_cols;
    };
    for (const Part& part : {Part{0, 70, 0, 64}, Part{3, 1, 64, 128}, Part{5, 33, 1984, 256}, Part{1, 16, 960, 320}}) {
        const PanelSource source{rows.view(), part.first_row, part.n_rows, part.first_col, part.n_cols};
        const auto weight = [&](std::int64_t row, std::int64_t col) {
            return weights[static_cast<std::size_t>((part.first_row + row) * n_cols + part.first_col + col)];
        };
        for (const bool rows_are_outputs : {true, false}) {
            const std::int64_t n_in = rows_are_outputs ? part.n_cols : part.n_rows;
            const std::int64_t n_out = rows_are_outputs ? part.n_rows : part.n_cols;
            const std::int64_t width = (n_out + kPanelGrain - 1) / kPanelGrain * kPanelGrain;
            const std::int64_t padded_in = (n_in + 1) / 2 * 2;
            TestBuffer<float> wide(n_in * width, 4);
            TestBuffer<Bf16> pairs(padded_in * width, 4);
            (rows_are_outputs ? pack.transpose_f32 : pack.copy_f32)(source, width, wide.data());
            (rows_are_outputs ? pack.transpose_bf16_pairs : pack.interleave_bf16_pairs)(source, width, pairs.data());
            QVERIFY(wide.guards_intact());
            QVERIFY(pairs.guards_intact());
            for (std::int64_t o = 0; o < n_out; ++o) {
                for (std::int64_t i = 0; i < padded_in; ++i) {
                    const Bf16 pair = pairs[(i / 2 * width + o) * 2 + i % 2];
                    if (i >= n_in) {
                        QCOMPARE(pair.bits, std::uint16_t{0});
                        continue;
                    }
                    const float want = rows_are_outputs ? weight(o, i) : weight(i, o);
                    if (wide[i * width + o] != want || pair.bits != to_bf16(want).bits) {
                        QFAIL(qPrintable(QString("output %1 input %2").arg(o).arg(i)));
                    }
                }
            }
        }
    }
}

void TestPacked::gemm_is_the_matvec_of_each_token_data() {
    QTest::addColumn<int>("mode");
    QTest::addColumn<int>("layout");
    QTest::addColumn<int>("type");
    for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
        for (const GemmLayout layout : {GemmLayout::kRowsAreOutputs, GemmLayout::kRowsAreInputs}) {
            for (const WeightType type : kDecodedTypes) {
                // Panels of both modes use the same reading of a type's rows.
                if (offstage::test::kSanitized && mode == GemmMode::kF32 && !traits_of(type).is_packed()) continue;
                QTest::addRow("%s %s %s", name_of(mode).data(),
                              layout == GemmLayout::kRowsAreOutputs ? "rows are outputs" : "rows are inputs",
                              name_of(type))
                    << static_cast<int>(mode) << static_cast<int>(layout) << static_cast<int>(type);
            }
        }
    }
}

void TestPacked::gemm_is_the_matvec_of_each_token() {
    QFETCH(int, mode);
    QFETCH(int, layout);
    QFETCH(int, type);
    const bool rows_are_outputs = static_cast<GemmLayout>(layout) == GemmLayout::kRowsAreOutputs;
    const bool bf16 = static_cast<GemmMode>(mode) == GemmMode::kBf16;
    struct Shape {
        std::int64_t n_tokens, n_rows, n_cols, apart;
    };
    // One case of everything; columns beyond a panel in both layouts; neuron-major
    // strides; many tokens.
    for (const Shape& shape :
         {Shape{1, 1, 64, 1}, Shape{9, 70, 1216, 3}, Shape{17, 300, 128, 1}, Shape{131, 33, 576, 1}}) {
        const std::int64_t n_cols = length_for(static_cast<WeightType>(type), shape.n_cols);
        const RandomPackedRows rows(static_cast<WeightType>(type), shape.n_rows * shape.apart, n_cols, 11);
        const WeightView view = rows.view(0, shape.apart);
        const std::int64_t n_in = rows_are_outputs ? n_cols : shape.n_rows;
        const std::int64_t n_out = rows_are_outputs ? shape.n_rows : n_cols;
        std::vector<float> x(static_cast<std::size_t>(shape.n_tokens * n_in));
        fill_random(x, 12);
        // Both factors rounded, as in the mode's contract. The weights are those of this
        // machine's own kernels.
        std::vector<float> weights(static_cast<std::size_t>(shape.n_rows * n_cols));
        for (std::int64_t r = 0; r < shape.n_rows; ++r) {
            cpu_kernels().widen(view.row(r), view.type, n_cols, weights.data() + r * n_cols);
        }
        const auto factor = [&](float value) { return bf16 ? to_float(to_bf16(value)) : value; };
        std::vector<float> first;
        for (const int n_threads : {1, 3}) {
            ThreadPool pool(n_threads);
            Gemm gemm(pool);
            TestBuffer<float> y(shape.n_tokens * n_out, 12);
            gemm.multiply(static_cast<GemmMode>(mode), static_cast<GemmLayout>(layout), x.data(), n_in, shape.n_tokens,
                          view, y.data(), n_out);
            QVERIFY(y.guards_intact());
            for (std::int64_t t = 0; t<shape.n_tokens; t += shape.n_tokens> 20 ? 13 : 1) {
                for (std::int64_t o = 0; o < n_out; ++o) {
                    Sum want;
                    for (std::int64_t i = 0; i < n_in; ++i) {
                        const std::int64_t place = rows_are_outputs ? o * n_in + i : i * n_out + o;
                        want.add(double{factor(x[static_cast<std::size_t>(t * n_in + i)])} *
                                 double{factor(weights[static_cast<std::size_t>(place)])});
                    }
                    if (want.is(y[t * n_out + o])) continue;
                    QFAIL(qPrintable(QString("%1 tokens, %2 -> %3: token %4 output %5")
                                         .arg(shape.n_tokens)
                                         .arg(n_in)
                                         .arg(n_out)
                                         .arg(t)
                                         .arg(o)));
                }
            }
            if (first.empty()) first.assign(y.span().begin(), y.span().end());
            QVERIFY2(std::equal(first.begin(), first.end(), y.data()), "other bits on another number of threads");
        }
    }
}

QTEST_GUILESS_MAIN(TestPacked)
#include "tst_packed.moc"
