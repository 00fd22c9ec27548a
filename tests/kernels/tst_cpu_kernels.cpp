// Every instruction set against the scalar reference, and the scalar reference against
// definitions in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include <QTest>

#include "expert_reference.h"
#include "kernels/cpu/compiled_sets.h"
#include "kernels/cpu_kernels.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// Rounding may change a sum by this much of the sum of its terms' magnitudes.
constexpr double kRelative = 1e-6;

constexpr WeightType kTypes[] = {WeightType::kF32, WeightType::kF16, WeightType::kBf16};
constexpr std::int64_t kLengths[] = {1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 130, 191, 257, 1000};

const CpuKernels& kernels_of(int set) {
    return cpu_kernels(static_cast<InstructionSet>(set));
}

void add_set_type_rows() {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("type");
    for (const InstructionSet set : available_instruction_sets()) {
        for (const WeightType type : kTypes) {
            QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                << static_cast<int>(set) << static_cast<int>(type);
        }
    }
}

double silu(double x) {
    return x / (1.0 + std::exp(-x));
}

bool close(float got, double want, double magnitude) {
    return std::abs(static_cast<double>(got) - want) <= kRelative * magnitude + 1e-30;
}

}  // namespace

class TestCpuKernels : public QObject {
    Q_OBJECT

  private slots:
    void best_table_is_available();
    void sets_that_are_not_compiled_are_not_used();
    void matvec_matches_double_for_any_length_data() { add_set_type_rows(); }
    void matvec_matches_double_for_any_length();
    void matvec_multi_matches_double_for_any_tokens_data() { add_set_type_rows(); }
    void matvec_multi_matches_double_for_any_tokens();
    void expert_ffn_matches_double_for_any_tokens_data() { add_set_type_rows(); }
    void expert_ffn_matches_double_for_any_tokens();
    void expert_ffn_is_the_sum_of_its_neuron_ranges_data() { add_instruction_set_rows(); }
    void expert_ffn_is_the_sum_of_its_neuron_ranges();
    void one_token_has_the_same_bits_in_any_ranges_data() { add_set_type_rows(); }
    void one_token_has_the_same_bits_in_any_ranges();
    void rms_norm_matches_double_data() { add_instruction_set_rows(); }
    void rms_norm_matches_double();
    void layer_norm_matches_double_data() { add_instruction_set_rows(); }
    void layer_norm_matches_double();
    void rope_rotates_pairs_data() { add_instruction_set_rows(); }
    void rope_rotates_pairs();
    void activate_by_silu_matches_double_data() { add_instruction_set_rows(); }
    void activate_by_silu_matches_double();
    void activate_matches_double_data() { add_instruction_set_rows(); }
    void activate_matches_double();
    void expert_ffn_by_any_spec_is_the_scalar_one_data() { add_instruction_set_rows(); }
    void expert_ffn_by_any_spec_is_the_scalar_one();
    void activate_by_silu_takes_extreme_gates_data() { add_instruction_set_rows(); }
    void activate_by_silu_takes_extreme_gates();
    void delta_rule_is_the_scalar_one_data() { add_instruction_set_rows(); }
    void delta_rule_is_the_scalar_one();
    void indexer_scores_are_the_scalar_ones_data() { add_instruction_set_rows(); }
    void indexer_scores_are_the_scalar_ones();
    void soft_cap_matches_double_data() { add_instruction_set_rows(); }
    void soft_cap_matches_double();
    void axpy_adds_for_any_length_data() { add_instruction_set_rows(); }
    void axpy_adds_for_any_length();
    void argmax_finds_the_first_largest_data() { add_instruction_set_rows(); }
    void argmax_finds_the_first_largest();
};

void TestCpuKernels::best_table_is_available() {
    const auto sets = available_instruction_sets();
    QVERIFY(!sets.empty());
    QCOMPARE(sets.front(), InstructionSet::kScalar);
    for (const InstructionSet set : sets) QCOMPARE(cpu_kernels(set).instruction_set, set);
    QVERIFY(std::find(sets.begin(), sets.end(), cpu_kernels().instruction_set) != sets.end());
    if (const QByteArray wanted = qgetenv("OFFSTAGE_ISA"); !wanted.isEmpty()) {
        QCOMPARE(QByteArray(name_of(cpu_kernels().instruction_set).data()), wanted);
    } else {
        QCOMPARE(cpu_kernels().instruction_set, sets.back());
    }
}

void TestCpuKernels::sets_that_are_not_compiled_are_not_used() {
    using enum InstructionSet;
    using Sets = std::vector<InstructionSet>;
    const CpuFeatures none;
    const CpuFeatures zen2{.avx2 = true};
    const CpuFeatures alder_lake{.avx2 = true, .avx_vnni = true};
    const CpuFeatures skylake_x{.avx2 = true, .avx512 = true};
    const CpuFeatures zen4{.avx2 = true, .avx512 = true, .avx512_vnni = true, .avx512_vbmi = true, .avx512_bf16 = true};
    const char* const all =
        "avx2 avx512 avx512_bf16 avx512_vbmi avx2_integer avx2_vnni_integer avx512_integer avx512_vnni_integer";
    QCOMPARE(usable_sets(none, all), Sets({kScalar}));
    QCOMPARE(usable_sets(zen2, all), Sets({kScalar, kAvx2}));
    QCOMPARE(usable_sets(zen4, all), Sets({kScalar, kAvx2, kAvx512, kAvx512Bf16}));
    // Compiled for a processor with AVX-512 alone, started on others.
    const char* const of_zen4 = "avx512 avx512_bf16 avx512_vbmi avx512_vnni_integer";
    QCOMPARE(usable_sets(zen4, of_zen4), Sets({kScalar, kAvx512, kAvx512Bf16}));
    QCOMPARE(usable_sets(skylake_x, of_zen4), Sets({kScalar}));
    QCOMPARE(usable_sets(zen2, of_zen4), Sets({kScalar}));
    QCOMPARE(usable_sets(zen4, "avx512 avx512_integer"), Sets({kScalar, kAvx512}));
    // And the same for AVX2.
    QCOMPARE(usable_sets(alder_lake, "avx2 avx2_vnni_integer"), Sets({kScalar, kAvx2}));
    QCOMPARE(usable_sets(zen2, "avx2 avx2_vnni_integer"), Sets({kScalar}));
    QCOMPARE(usable_sets(zen4, "avx2 avx2_integer"), Sets({kScalar, kAvx2}));
    QCOMPARE(usable_sets(zen4, ""), Sets({kScalar}));
}

void TestCpuKernels::matvec_matches_double_for_any_length() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kRows = 11;
    for (const std::int64_t n : kLengths) {
        for (const std::int64_t gap : {0, 5}) {
            const RandomWeights weights(static_cast<WeightType>(type), kRows * (n + gap), 1);
            const WeightView view{weights.data(), weights.type(), kRows, n,
                                  static_cast<std::size_t>(n + gap) * bytes_per_weight(weights.type())};
            TestBuffer<float> x(n, 12);
            TestBuffer<float> y(kRows, 4);
            fill_random(x.span(), 2);
            // Ranges that start and end anywhere write their own rows only.
            for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, kRows}, {1, 3}, {2, 9}, {4, 4}}) {
                std::fill(y.span().begin(), y.span().end(), 77.0f);
                kernels_of(set).matvec(view, x.data(), begin, end, y.data());
                QVERIFY(y.guards_intact());
                for (std::int64_t r = 0; r < kRows; ++r) {
                    if (r < begin || r >= end) {
                        QCOMPARE(y[r], 77.0f);
                        continue;
                    }
                    double want = 0.0;
                    double magnitude = 0.0;
                    for (std::int64_t i = 0; i < n; ++i) {
                        const double term = double{weights[r * (n + gap) + i]} * double{x[i]};
                        want += term;
                        magnitude += std::abs(term);
                    }
                    QVERIFY2(close(y[r], want, magnitude), qPrintable(QString("n %1 row %2").arg(n).arg(r)));
                }
            }
        }
    }
}

void TestCpuKernels::matvec_multi_matches_double_for_any_tokens() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kRows = 7;
    for (int n_tokens = 1; n_tokens <= 8; ++n_tokens) {
        for (const std::int64_t n : {1, 16, 37, 130, 515}) {
            const RandomWeights weights(static_cast<WeightType>(type), kRows * (n + 3), 3);
            const WeightView view{weights.data(), weights.type(), kRows, n,
                                  static_cast<std::size_t>(n + 3) * bytes_per_weight(weights.type())};
            const std::int64_t x_stride = n + 1;
            const std::int64_t y_stride = kRows + 2;
            TestBuffer<float> x(x_stride * n_tokens - 1);
            TestBuffer<float> y(y_stride * n_tokens - 2, 8);
            fill_random(x.span(), 4);
            std::fill(y.span().begin(), y.span().end(), 77.0f);
            kernels_of(set).matvec_multi(view, x.data(), x_stride, n_tokens, 1, kRows, y.data(), y_stride);
            QVERIFY(y.guards_intact());
            for (int t = 0; t < n_tokens; ++t) {
                QCOMPARE(y[t * y_stride], 77.0f);
                for (std::int64_t r = 1; r < kRows; ++r) {
                    double want = 0.0;
                    double magnitude = 0.0;
                    for (std::int64_t i = 0; i < n; ++i) {
                        const double term = double{weights[r * (n + 3) + i]} * double{x[t * x_stride + i]};
                        want += term;
                        magnitude += std::abs(term);
                    }
                    QVERIFY2(close(y[t * y_stride + r], want, magnitude),
                             qPrintable(QString("tokens %1 n %2 row %3").arg(n_tokens).arg(n).arg(r)));
                }
            }
        }
    }
}

void TestCpuKernels::expert_ffn_matches_double_for_any_tokens() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kNeurons = 5;
    for (int n_tokens = 1; n_tokens <= 8; ++n_tokens) {
        for (const std::int64_t n : {1, 8, 31, 64, 100, 129}) {
            const RandomWeights weights(static_cast<WeightType>(type), kNeurons * 3 * n, 5);
            const ExpertView view{weights.data(), expert_layout(weights.type(), n, kNeurons)};
            TestBuffer<float> x(n * n_tokens);
            TestBuffer<float> out(n * n_tokens, 20);
            std::vector<float> scale(static_cast<std::size_t>(n_tokens));
            fill_random(x.span(), 6);
            fill_random(scale, 7);
            fill_random(out.span(), 8);
            const std::vector<float> before(out.span().begin(), out.span().end());
            kernels_of(set).expert_ffn(view, x.data(), scale.data(), n_tokens, 1, kNeurons, out.data());
            QVERIFY(out.guards_intact());
            for (int t = 0; t < n_tokens; ++t) {
                std::vector<double> want(static_cast<std::size_t>(n));
                std::vector<double> magnitude(static_cast<std::size_t>(n));
                for (std::int64_t i = 0; i < n; ++i) {
                    want[static_cast<std::size_t>(i)] = double{before[static_cast<std::size_t>(t * n + i)]};
                    magnitude[static_cast<std::size_t>(i)] = std::abs(want[static_cast<std::size_t>(i)]);
                }
                for (std::int64_t j = 1; j < kNeurons; ++j) {
                    double gate = 0.0;
                    double up = 0.0;
                    double gate_magnitude = 0.0;
                    double up_magnitude = 0.0;
                    for (std::int64_t i = 0; i < n; ++i) {
                        const double gate_term = double{weights[j * 3 * n + i]} * double{x[t * n + i]};
                        const double up_term = double{weights[j * 3 * n + n + i]} * double{x[t * n + i]};
                        gate += gate_term;
                        up += up_term;
                        gate_magnitude += std::abs(gate_term);
                        up_magnitude += std::abs(up_term);
                    }
                    for (std::int64_t i = 0; i < n; ++i) {
                        const double w2 = double{weights[j * 3 * n + 2 * n + i]};
                        const double s = double{scale[static_cast<std::size_t>(t)]};
                        want[static_cast<std::size_t>(i)] += s * silu(gate) * up * w2;
                        magnitude[static_cast<std::size_t>(i)] += std::abs(s * gate_magnitude * up_magnitude * w2);
                    }
                }
                for (std::int64_t i = 0; i < n; ++i) {
                    QVERIFY2(
                        close(out[t * n + i], want[static_cast<std::size_t>(i)],
                              magnitude[static_cast<std::size_t>(i)]),
                        qPrintable(QString("tokens %1 n %2 token %3 place %4").arg(n_tokens).arg(n).arg(t).arg(i)));
                }
            }
        }
    }
}

void TestCpuKernels::expert_ffn_is_the_sum_of_its_neuron_ranges() {
    QFETCH(int, set);
    constexpr std::int64_t kHidden = 48;
    constexpr std::int64_t kNeurons = 13;
    const RandomWeights weights(WeightType::kBf16, kNeurons * 3 * kHidden, 9, 0.2f);
    const ExpertView view{weights.data(), expert_layout(weights.type(), kHidden, kNeurons)};
    std::vector<float> x(kHidden * 2);
    fill_random(x, 10);
    const float scale[2] = {1.0f, -0.5f};
    std::vector<float> whole(kHidden * 2, 0.0f);
    std::vector<float> parts(kHidden * 2, 0.0f);
    kernels_of(set).expert_ffn(view, x.data(), scale, 2, 0, kNeurons, whole.data());
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 6}, {6, 6}, {6, 13}}) {
        kernels_of(set).expert_ffn(view, x.data(), scale, 2, begin, end, parts.data());
    }
    double largest = 0.0;
    for (const float value : whole) largest = std::max(largest, std::abs(double{value}));
    for (std::size_t i = 0; i < whole.size(); ++i)
        QVERIFY(std::abs(double{whole[i]} - double{parts[i]}) < 1e-5 * largest);
}

// Ranges of eight rows or neurons: so many are taken beside each other at most.
void TestCpuKernels::one_token_has_the_same_bits_in_any_ranges() {
    QFETCH(int, set);
    QFETCH(int, type);
    constexpr std::int64_t kNeurons = 24;
    const CpuKernels& kernels = kernels_of(set);
    for (const std::int64_t n : kLengths) {
        const RandomWeights weights(static_cast<WeightType>(type), kNeurons * 3 * n, 31, 0.2f);
        const WeightView rows{weights.data(), weights.type(), kNeurons, n,
                              static_cast<std::size_t>(n) * bytes_per_weight(weights.type())};
        const ExpertView expert{weights.data(), expert_layout(weights.type(), n, kNeurons)};
        std::vector<float> x(static_cast<std::size_t>(n));
        fill_random(x, 32);
        const float scale = 0.75f;
        std::vector<float> whole(static_cast<std::size_t>(kNeurons + n), 0.0f);
        std::vector<float> parts = whole;
        kernels.matvec(rows, x.data(), 0, kNeurons, whole.data());
        kernels.expert_ffn(expert, x.data(), &scale, 1, 0, kNeurons, whole.data() + kNeurons);
        for (std::int64_t begin = 0; begin < kNeurons; begin += 8) {
            kernels.matvec(rows, x.data(), begin, begin + 8, parts.data());
            kernels.expert_ffn(expert, x.data(), &scale, 1, begin, begin + 8, parts.data() + kNeurons);
        }
        QVERIFY2(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)) == 0,
                 qPrintable(QString("n %1").arg(n)));
    }
}

void TestCpuKernels::rms_norm_matches_double() {
    QFETCH(int, set);
    for (const std::int64_t n : kLengths) {
        TestBuffer<float> x(n, 4);
        TestBuffer<float> weight(n, 8);
        TestBuffer<float> out(n, 4);
        fill_random(x.span(), 11, 3.0f);
        fill_random(weight.span(), 12);
        double squares = 0.0;
        for (const float value : x.span()) squares += double{value} * double{value};
        const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
        kernels_of(set).rms_norm(x.data(), weight.data(), n, 1e-5f, out.data());
        QVERIFY(out.guards_intact());
        for (std::int64_t i = 0; i < n; ++i) {
            const double want = double{x[i]} * factor * double{weight[i]};
            QVERIFY(close(out[i], want, std::abs(want)));
        }
        TestBuffer<float> plain(n, 4);
        kernels_of(set).rms_norm(x.data(), nullptr, n, 1e-5f, plain.data());
        QVERIFY(plain.guards_intact());
        for (std::int64_t i = 0; i < n; ++i) {
            const double want = double{x[i]} * factor;
            QVERIFY(close(plain[i], want, std::abs(want)));
        }
        kernels_of(set).rms_norm(x.data(), weight.data(), n, 1e-5f, x.data());  // in place
        QVERIFY(std::equal(out.span().begin(), out.span().end(), x.span().begin()));
    }
    float zeros[3] = {0.0f, 0.0f, 0.0f};
    const float ones[3] = {1.0f, 1.0f, 1.0f};
    kernels_of(set).rms_norm(zeros, ones, 3, 1e-6f, zeros);
    for (const float value : zeros) QCOMPARE(value, 0.0f);
}

void TestCpuKernels::layer_norm_matches_double() {
    QFETCH(int, set);
    for (const std::int64_t n : kLengths) {
        for (const bool biased : {false, true}) {
            TestBuffer<float> x(n, 4);
            TestBuffer<float> weight(n, 8);
            TestBuffer<float> bias(n, 12);
            TestBuffer<float> out(n, 4);
            fill_random(x.span(), 11, 3.0f);
            for (float& value : x.span()) value += 5.0f;  // a mean that matters
            fill_random(weight.span(), 12);
            fill_random(bias.span(), 13);
            double mean = 0.0;
            for (const float value : x.span()) mean += double{value} / static_cast<double>(n);
            double variance = 0.0;
            for (const float value : x.span()) {
                variance += (double{value} - mean) * (double{value} - mean) / static_cast<double>(n);
            }
            const double factor = 1.0 / std::sqrt(variance + 1e-5);
            const float* with = biased ? bias.data() : nullptr;
            kernels_of(set).layer_norm(x.data(), weight.data(), with, n, 1e-5f, out.data());
            QVERIFY(out.guards_intact());
            for (std::int64_t i = 0; i < n && n > 1; ++i) {
                const double scaled = (double{x[i]} - mean) * factor * double{weight[i]};
                const double want = scaled + (biased ? double{bias[i]} : 0.0);
                // Taking away the mean leaves the rounding of numbers as large as it.
                QVERIFY(std::abs(double{out[i]} - want) < 3e-6 * (std::abs(want) + 5.0));
            }
            if (n == 1) QCOMPARE(out[0], biased ? bias[0] : 0.0f);  // no distance from the mean, for any factor
            kernels_of(set).layer_norm(x.data(), weight.data(), with, n, 1e-5f, x.data());  // in place
            QVERIFY(std::equal(out.span().begin(), out.span().end(), x.span().begin()));
        }
    }
}

void TestCpuKernels::rope_rotates_pairs() {
    QFETCH(int, set);
    for (const std::int64_t head_dim : {2, 6, 16, 30, 64, 96, 128, 130}) {
        const std::int64_t half = head_dim / 2;
        TestBuffer<float> head(head_dim, 4);
        TestBuffer<float> cosines(half);
        TestBuffer<float> sines(half);
        fill_random(head.span(), 13);
        for (std::int64_t i = 0; i < half; ++i) {
            cosines[i] = static_cast<float>(std::cos(0.1 * static_cast<double>(i + 1)));
            sines[i] = static_cast<float>(std::sin(0.1 * static_cast<double>(i + 1)));
        }
        const std::vector<float> before(head.span().begin(), head.span().end());
        kernels_of(set).rope(head.data(), cosines.data(), sines.data(), head_dim);
        QVERIFY(head.guards_intact());
        for (std::int64_t i = 0; i < half; ++i) {
            const double a = double{before[static_cast<std::size_t>(i)]};
            const double b = double{before[static_cast<std::size_t>(i + half)]};
            const double c = double{cosines[i]};
            const double s = double{sines[i]};
            QVERIFY(close(head[i], a * c - b * s, 1.0));
            QVERIFY(close(head[i + half], b * c + a * s, 1.0));
        }
    }
}

void TestCpuKernels::activate_by_silu_matches_double() {
    QFETCH(int, set);
    for (const std::int64_t n : kLengths) {
        TestBuffer<float> gate(n, 4);
        TestBuffer<float> up(n, 12);
        TestBuffer<float> out(n, 4);
        fill_random(gate.span(), 14, 30.0f);
        fill_random(up.span(), 15);
        kernels_of(set).activate({}, gate.data(), up.data(), n, out.data());
        QVERIFY(out.guards_intact());
        for (std::int64_t i = 0; i < n; ++i) {
            const double want = silu(double{gate[i]}) * double{up[i]};
            QVERIFY2(close(out[i], want, std::abs(want)), qPrintable(QString("gate %1").arg(double{gate[i]})));
        }
        kernels_of(set).activate({}, gate.data(), up.data(), n, gate.data());  // in place
        QVERIFY(std::equal(out.span().begin(), out.span().end(), gate.span().begin()));
    }
}

void TestCpuKernels::activate_matches_double() {
    QFETCH(int, set);
    constexpr std::int64_t kN = 37;
    for (const ExpertSpec& spec : all_expert_specs()) {
        TestBuffer<float> gate(kN, 4);
        TestBuffer<float> up(kN, 12);
        TestBuffer<float> out(kN, 4);
        fill_random(gate.span(), 14, 12.0f);
        fill_random(up.span(), 15, 3.0f);
        gate[0] = up[1] = 100.0f;
        gate[2] = up[3] = -100.0f;
        kernels_of(set).activate(spec, gate.data(), up.data(), kN, out.data());
        QVERIFY(out.guards_intact());
        for (std::int64_t i = 0; i < kN; ++i) {
            const double want = activation_in_double(spec, double{gate[i]}, double{up[i]});
            const double most = std::abs(double{gate[i]}) * (std::abs(double{up[i]}) + 1);
            QVERIFY2(close(out[i], want, most), qPrintable(QString("gate %1, up %2: %3, expected %4")
                                                               .arg(double{gate[i]})
                                                               .arg(double{up[i]})
                                                               .arg(double{out[i]})
                                                               .arg(want)));
        }
    }
}

void TestCpuKernels::expert_ffn_by_any_spec_is_the_scalar_one() {
    QFETCH(int, set);
    constexpr std::int64_t kHidden = 40;
    constexpr std::int64_t kNeurons = 21;
    for (ExpertSpec spec : all_expert_specs()) {
        for (const bool biases : {false, true}) {
            if (biases && !spec.has_gate()) continue;
            spec.biases = biases;
            const ExpertLayout layout = expert_layout(WeightType::kF32, kHidden, kNeurons, spec);
            std::vector<float> block(layout.bytes() / sizeof(float));
            fill_random(block, 21, 0.6f);
            const ExpertView view{block.data(), layout};
            for (int n = 1; n <= 8; ++n) {
                std::vector<float> x(static_cast<std::size_t>(n * kHidden));
                fill_random(x, 22);
                const std::vector<float> scale(8, 0.75f);
                std::vector<float> want(x.size(), 0.5f);
                std::vector<float> got = want;
                for (const auto& [begin, end] : {std::pair<int, int>{0, 9}, {9, 21}}) {
                    cpu_kernels(InstructionSet::kScalar)
                        .expert_ffn(view, x.data(), scale.data(), n, begin, end, want.data());
                    kernels_of(set).expert_ffn(view, x.data(), scale.data(), n, begin, end, got.data());
                }
                for (std::size_t i = 0; i < want.size(); ++i) {
                    QVERIFY2(std::abs(got[i] - want[i]) <= 2e-5f * (1 + std::abs(want[i])),
                             qPrintable(QString("%1 tokens, value %2").arg(n).arg(i)));
                }
            }
        }
    }
}

// Any range of columns, and tokens in one call or in two, give the same bits; columns
// beside the range stay.
// Bit by bit: what is chosen must not depend on the machine.
void TestCpuKernels::indexer_scores_are_the_scalar_ones() {
    QFETCH(int, set);
    constexpr std::int64_t kRows = 3;
    for (const std::int64_t key_dim : {1, 6, 31, 64, 130}) {
        for (const std::int64_t n_heads : {1, 3, 4, 7, 20}) {
            for (const KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8}) {
                AttentionShape shape;
                shape.n_heads = n_heads;
                shape.n_kv_heads = 1;
                shape.key_dim = key_dim;
                shape.values_in_keys = true;
                const KvShape cache = kv_shape_of(2, shape, type);
                TestBuffer<std::byte> first(cache.block_bytes()), second(cache.block_bytes());
                std::vector<float> key(static_cast<std::size_t>(key_dim));
                const std::byte* const blocks[] = {first.data(), second.data()};
                for (std::int64_t k = 0; k < 2 * kKvBlockTokens; ++k) {
                    fill_random(key, static_cast<std::uint32_t>(k));
                    store_kv_row(key.data(), key_dim, type,
                                 (k < kKvBlockTokens ? first : second).data() + cache.keys_offset(1, 0) +
                                     k % kKvBlockTokens * cache.key_stride());
                }
                std::vector<float> queries(static_cast<std::size_t>(kRows * n_heads * key_dim));
                std::vector<float> weights(static_cast<std::size_t>(kRows * n_heads));
                fill_random(queries, 5);
                fill_random(weights, 6);
                for (const auto& [begin, end] : {std::pair{0, 128}, {3, 5}, {60, 70}, {64, 127}}) {
                    const std::int64_t n = end - begin;
                    TestBuffer<float> scratch(indexer_scratch_floats(key_dim));
                    TestBuffer<float> got(kRows * n), want(kRows * n);
                    for (TestBuffer<float>* const to : {&got, &want}) {
                        const CpuKernels& kernels = to == &got ? kernels_of(set) : cpu_kernels(InstructionSet::kScalar);
                        kernels.indexer_scores({queries.data(), weights.data(), kRows, n_heads, to->data() - begin, n},
                                               kv_head_of(cache, blocks, 1, 0), begin, end, scratch.data());
                        QVERIFY(to->guards_intact() && scratch.guards_intact());
                    }
                    QVERIFY(std::memcmp(got.data(), want.data(), got.span().size_bytes()) == 0);
                    double sum = 0;
                    for (const float score : got.span()) sum += std::abs(static_cast<double>(score));
                    QVERIFY(sum > 0 || key_dim * n_heads < 4);
                }
            }
        }
    }
}

void TestCpuKernels::delta_rule_is_the_scalar_one() {
    QFETCH(int, set);
    constexpr std::int64_t kTokens = 5;
    struct Case {
        std::int64_t key_dim, value_dim;
        bool corrects;
    };
    for (const auto [key_dim, value_dim, corrects] :
         {Case{1, 1, true}, {7, 9, true}, {16, 32, true}, {33, 131, true}, {7, 9, false}, {33, 131, false}}) {
        const auto floats = [](std::int64_t n, unsigned seed) {
            std::vector<float> values(static_cast<std::size_t>(n));
            fill_random(values, seed);
            return values;
        };
        const std::int64_t stride = 2 * key_dim + value_dim + 3;
        const std::vector<float> rows = floats(kTokens * stride, 1), gates = floats(2 * kTokens, 2);
        const std::vector<float> begin = floats(key_dim * value_dim, 3);
        const auto run = [&](const CpuKernels& kernels, std::vector<float>& state, std::vector<float>& out,
                             std::int64_t first, std::int64_t n, std::int64_t column, std::int64_t end) {
            const float* const row = rows.data() + first * stride;
            DeltaRule rule{n, key_dim, value_dim, row, row + key_dim, row + 2 * key_dim, stride};
            rule.decay = gates.data() + 2 * first;
            rule.beta = rule.decay + 1;
            rule.gate_stride = 2;
            rule.out = out.data() + first * value_dim;
            rule.out_stride = value_dim;
            rule.corrects = corrects;
            kernels.delta_rule(rule, column, end, state.data());
        };
        std::vector<float> want_state = begin, want(static_cast<std::size_t>(kTokens * value_dim), 7.0f), whole = want;
        run(cpu_kernels(InstructionSet::kScalar), want_state, want, 0, kTokens, 0, value_dim);
        std::vector<float> state = begin;
        run(kernels_of(set), state, whole, 0, kTokens, 0, value_dim);
        for (std::size_t i = 0; i < want.size(); ++i)
            QVERIFY(std::abs(whole[i] - want[i]) <= 1e-4f * (1 + std::abs(want[i])));
        for (std::size_t i = 0; i < state.size(); ++i)
            QVERIFY(std::abs(state[i] - want_state[i]) <= 1e-4f * (1 + std::abs(want_state[i])));
        std::vector<float> pieces(whole.size(), 7.0f), in_pieces = begin;
        const std::int64_t middle = value_dim / 3;
        run(kernels_of(set), in_pieces, pieces, 0, 2, 0, middle);
        for (std::int64_t t = 0; t < 2; ++t) {
            for (std::int64_t c = middle; c < value_dim; ++c)
                QVERIFY(pieces[static_cast<std::size_t>(t * value_dim + c)] == 7.0f);
        }
        run(kernels_of(set), in_pieces, pieces, 2, kTokens - 2, 0, middle);
        run(kernels_of(set), in_pieces, pieces, 0, kTokens, middle, value_dim);
        QVERIFY(pieces == whole && in_pieces == state);
    }
}

void TestCpuKernels::activate_by_silu_takes_extreme_gates() {
    QFETCH(int, set);
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> gate = {0.0f,
                               1e-30f,
                               -1e-30f,
                               88.0f,
                               90.0f,
                               1e30f,
                               infinity,
                               -87.0f,
                               -88.5f,
                               -89.5f,
                               -104.5f,
                               -1e30f,
                               std::numeric_limits<float>::quiet_NaN(),
                               5.0f,
                               -5.0f,
                               0.5f,
                               17.0f};
    const std::vector<float> up(gate.size(), 1.0f);
    std::vector<float> out(gate.size());
    kernels_of(set).activate({}, gate.data(), up.data(), static_cast<std::int64_t>(gate.size()), out.data());
    for (std::size_t i = 0; i < gate.size(); ++i) {
        const double g = double{gate[i]};
        if (std::isnan(g)) {
            QVERIFY(std::isnan(out[i]));
        } else if (g > 80.0) {
            QCOMPARE(out[i], gate[i]);
        } else if (g < -80.0) {
            QVERIFY2(std::abs(out[i]) < 1e-33f, qPrintable(QString("gate %1 gave %2").arg(g).arg(double{out[i]})));
        } else {
            QVERIFY(close(out[i], silu(g), std::abs(silu(g))));
        }
    }
}

void TestCpuKernels::soft_cap_matches_double() {
    QFETCH(int, set);
    for (const std::int64_t n : kLengths) {
        TestBuffer<float> x(n, 4);
        fill_random(x.span(), 18, 90.0f);
        x[0] = n % 2 == 0 ? 1e30f : -INFINITY;
        const std::vector<float> before(x.span().begin(), x.span().end());
        kernels_of(set).soft_cap(30.0f, n, x.data());
        QVERIFY(x.guards_intact());
        for (std::int64_t i = 0; i < n; ++i) {
            const double want = 30.0 * std::tanh(double{before[static_cast<std::size_t>(i)]} / 30.0);
            QVERIFY(std::abs(double{x[i]} - want) < 1e-5);
        }
    }
    float invalid[3] = {NAN, NAN, NAN};
    kernels_of(set).soft_cap(30.0f, 3, invalid);
    for (const float value : invalid) QVERIFY(std::isnan(value));
}

void TestCpuKernels::axpy_adds_for_any_length() {
    QFETCH(int, set);
    for (const std::int64_t n : kLengths) {
        TestBuffer<float> x(n, 12);
        TestBuffer<float> y(n, 4);
        fill_random(x.span(), 16);
        fill_random(y.span(), 17);
        const std::vector<float> before(y.span().begin(), y.span().end());
        kernels_of(set).axpy(0.75f, x.data(), n, y.data());
        QVERIFY(y.guards_intact());
        for (std::int64_t i = 0; i < n; ++i) {
            QVERIFY(close(y[i], double{before[static_cast<std::size_t>(i)]} + 0.75 * double{x[i]}, 2.0));
        }
    }
}

void TestCpuKernels::argmax_finds_the_first_largest() {
    QFETCH(int, set);
    const CpuKernels& kernels = kernels_of(set);
    for (const std::int64_t n : kLengths) {
        TestBuffer<float> x(n, 4);
        fill_random(x.span(), static_cast<std::uint32_t>(n));
        const auto first_largest = [&] {
            return std::max_element(x.span().begin(), x.span().end()) - x.span().begin();
        };
        QCOMPARE(kernels.argmax(x.data(), n), static_cast<std::int64_t>(first_largest()));
        for (const std::int64_t place : {n - 1, n / 2, std::int64_t{0}}) {  // ties: each earlier place wins
            x[place] = 9.0f;
            QCOMPARE(kernels.argmax(x.data(), n), place);
        }
        std::fill(x.span().begin(), x.span().end(), -std::numeric_limits<float>::infinity());
        QCOMPARE(kernels.argmax(x.data(), n), std::int64_t{0});
        x[n - 1] = -3e38f;
        QCOMPARE(kernels.argmax(x.data(), n), n - 1);
        std::fill(x.span().begin(), x.span().end(), std::numeric_limits<float>::quiet_NaN());
        QCOMPARE(kernels.argmax(x.data(), n), std::int64_t{0});
        x[n - 1] = -1.0f;
        QCOMPARE(kernels.argmax(x.data(), n), n - 1);
        if (n > 1) {
            x[0] = -0.0f;
            x[n - 1] = 0.0f;  // equal
            QCOMPARE(kernels.argmax(x.data(), n), std::int64_t{0});
        }
    }
}

QTEST_GUILESS_MAIN(TestCpuKernels)
#include "tst_cpu_kernels.moc"
