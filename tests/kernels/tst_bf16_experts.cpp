// expert_ffn_bf16() and expert_ffn_widened() against double precision, and bit by bit
// against themselves together with other tokens.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <QTest>

#include "expert_reference.h"
#include "kernels/bf16_experts.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// The share of the sum of the terms' magnitudes by which a result may be off: pairs round
// activations to 8 bits of mantissa.
double tolerance(InstructionSet set) {
    return set == InstructionSet::kAvx512Bf16 ? 1.0 / 256 : 1e-5;
}

struct Block {
    ExpertLayout layout;
    std::vector<std::byte> bytes;

    Block(const ExpertSpec& spec, std::int64_t n, std::int64_t n_neurons)
        : layout(expert_layout(WeightType::kBf16, n, n_neurons, spec)), bytes(layout.bytes()) {
        std::vector<float> values(static_cast<std::size_t>(layout.n_rows() * n));
        fill_random(values, 1, 0.3f);
        cpu_kernels(InstructionSet::kScalar)
            .narrow_bf16(values.data(), static_cast<std::int64_t>(values.size()), weights());
        if (!spec.biases) return;
        std::vector<float> biases(layout.bias_bytes() / sizeof(float));
        fill_random(biases, 2);
        std::memcpy(bytes.data() + layout.bias_offset(), biases.data(), layout.bias_bytes());
    }
    Bf16* weights() { return reinterpret_cast<Bf16*>(bytes.data()); }
    double weight(std::int64_t neuron, int matrix, std::int64_t i) const {
        const WeightView rows = matrix == 0 ? view().gate() : matrix == 1 ? view().up() : view().down();
        return double{to_float(reinterpret_cast<const Bf16*>(rows.row(neuron))[i])};
    }
    ExpertView view() const { return {bytes.data(), layout}; }
};

std::vector<Bf16> inputs_of(std::int64_t n_tokens, std::int64_t n) {
    std::vector<float> values(static_cast<std::size_t>(n_tokens * n));
    fill_random(values, 3);
    std::vector<Bf16> narrow(values.size());
    cpu_kernels(InstructionSet::kScalar).narrow_bf16(values.data(), n_tokens * n, narrow.data());
    return narrow;
}

void run(InstructionSet set, const Block& block, const std::vector<Bf16>& x, const std::vector<int>& tokens,
         std::int64_t begin, std::int64_t end, float* out) {
    const std::int64_t n = block.layout.hidden_dim;
    const bool rounds = set == InstructionSet::kAvx512Bf16;
    std::vector<float> wide(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) wide[i] = to_float(x[i]);
    std::vector<const Bf16*> rows;
    std::vector<const float*> wide_rows;
    for (const int t : tokens) {
        rows.push_back(x.data() + t * n);
        wide_rows.push_back(wide.data() + t * n);
    }
    const auto n_tokens = static_cast<std::int64_t>(tokens.size());
    const auto size =
        static_cast<std::int64_t>(rounds ? bf16_expert_scratch(n, n_tokens) : widened_expert_scratch(n, n_tokens));
    std::vector<std::byte> room(static_cast<std::size_t>(size) + 2 * 64, std::byte{0xff});
    std::byte* const scratch = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
    const std::byte guard = scratch[size];
    if (rounds) {
        NeuronCounts counts;
        expert_ffn_bf16(set)(block.view(), rows.data(), n_tokens, begin, end, out, scratch, counts);
        if (block.layout.spec.theta == 0) {
            QCOMPARE(counts.neurons, std::uint64_t{0});
        } else {
            QCOMPARE(counts.neurons, static_cast<std::uint64_t>(n_tokens * (end - begin)));
            QVERIFY(end <= begin + 1 || (counts.active > 0 && counts.active < counts.neurons));
        }
    } else {
        expert_ffn_widened(set)(block.view(), wide_rows.data(), n_tokens, begin, end, out, scratch);
    }
    QCOMPARE(scratch[size], guard);
}

bool is_there(InstructionSet set) {
    const auto sets = available_instruction_sets();
    return std::find(sets.begin(), sets.end(), set) != sets.end();
}

}  // namespace

class TestBf16Experts : public QObject {
    Q_OBJECT

  private slots:
    void only_sets_with_the_instruction_have_it() {
        for (const InstructionSet set : available_instruction_sets()) {
            QCOMPARE(expert_ffn_bf16(set) != nullptr, set == InstructionSet::kAvx512Bf16);
            QCOMPARE(expert_ffn_widened(set) != nullptr, set == InstructionSet::kAvx2);
        }
    }

    void layouts_that_it_takes() {
        ExpertLayout layout = expert_layout(WeightType::kBf16, 64, 8);
        QVERIFY(takes_bf16_rows(layout));
        layout.hidden_dim = 48;
        QVERIFY(!takes_bf16_rows(layout));
        layout.hidden_dim = 64;
        layout.down_rows_are_outputs = true;
        QVERIFY(!takes_bf16_rows(layout));
        QVERIFY(!takes_bf16_rows(expert_layout(WeightType::kF32, 64, 8)));
    }

    void is_the_expert_in_double_data() {
        QTest::addColumn<int>("of");
        QTest::newRow("pairs") << int(InstructionSet::kAvx512Bf16);
        QTest::newRow("widened") << int(InstructionSet::kAvx2);
    }

    void is_the_expert_in_double() {
        QFETCH(int, of);
        const auto set = InstructionSet(of);
        if (!is_there(set)) QSKIP("This processor lacks the instructions.");
        for (ExpertSpec spec : all_expert_specs()) {
            for (const bool biases : {false, true}) {
                spec.biases = biases && spec.has_gate();
                spec.theta = biases && set == InstructionSet::kAvx512Bf16 ? 0.1f : 0.0f;
                for (const std::int64_t n : {32, 96, 160}) {
                    for (const auto& [begin, end] : {std::pair{0, 1}, {0, 16}, {3, 37}, {5, 5}})
                        compare(set, spec, n, begin, end);
                }
            }
        }
        compare(set, {}, 2080, 0, 16);  // more columns than are taken at a time
    }

    void result_does_not_depend_on_other_tokens_data() {
        QTest::addColumn<int>("of");
        QTest::addColumn<int>("hidden_dim");
        for (const int hidden_dim : {128, 2080}) {  // 2080: more than are taken at a time
            QTest::addRow("pairs, %d", hidden_dim) << int(InstructionSet::kAvx512Bf16) << hidden_dim;
            QTest::addRow("widened, %d", hidden_dim) << int(InstructionSet::kAvx2) << hidden_dim;
        }
    }

    void result_does_not_depend_on_other_tokens() {
        QFETCH(int, of);
        QFETCH(int, hidden_dim);
        const auto set = InstructionSet(of);
        if (!is_there(set)) QSKIP("This processor lacks the instructions.");
        const std::int64_t kN = hidden_dim;
        constexpr int kTokens = 19;
        const Block block({}, kN, 50);
        const std::vector<Bf16> x = inputs_of(kTokens, kN);
        std::vector<float> alone(static_cast<std::size_t>(kTokens * kN));
        for (int t = 0; t < kTokens; ++t) run(set, block, x, {t}, 0, 50, alone.data() + t * kN);
        for (int count = 2; count <= kTokens; ++count) {
            std::vector<int> tokens;
            for (int t = count - 1; t >= 0; --t) tokens.push_back(t);
            std::vector<float> out(static_cast<std::size_t>(count * kN));
            run(set, block, x, tokens, 0, 50, out.data());
            for (int i = 0; i < count; ++i) {
                const float* const want = alone.data() + tokens[static_cast<std::size_t>(i)] * kN;
                QVERIFY2(std::equal(want, want + kN, out.data() + i * kN), qPrintable(QString::number(count)));
            }
        }
    }

  private:
    static void compare(InstructionSet set, const ExpertSpec& spec, std::int64_t n, std::int64_t begin,
                        std::int64_t end) {
        constexpr int kTokens = 11;
        const Block block(spec, n, 40);
        const std::vector<Bf16> x = inputs_of(kTokens, n);
        std::vector<int> tokens;
        for (int t = 0; t < kTokens; ++t) tokens.push_back(t);
        TestBuffer<float> out(kTokens * n);
        run(set, block, x, tokens, begin, end, out.data());
        QVERIFY(out.guards_intact());
        const ExpertBiases biases = block.view().biases();
        for (int t = 0; t < kTokens; ++t) {
            std::vector<double> want(static_cast<std::size_t>(n));
            std::vector<double> magnitude(static_cast<std::size_t>(n), 1e-3);
            const auto add = [&](std::int64_t i, double value) {
                want[static_cast<std::size_t>(i)] += value;
                magnitude[static_cast<std::size_t>(i)] += std::abs(value);
            };
            for (std::int64_t i = 0; begin == 0 && end > begin && biases.down != nullptr && i < n; ++i)
                add(i, double{biases.down[i]});
            for (std::int64_t j = begin; j < end; ++j) {
                double gate = biases.gate == nullptr ? 0 : double{biases.gate[j]};
                double up = biases.up == nullptr ? 0 : double{biases.up[j]};
                for (std::int64_t i = 0; i < n; ++i) {
                    const auto input = double{to_float(x[static_cast<std::size_t>(t * n + i)])};
                    gate += block.weight(j, 0, i) * input;
                    up += block.weight(j, 1, i) * input;
                }
                const double distance = std::abs(std::abs(gate_in_double(spec, gate)) - double{spec.theta});
                const bool is_out = spec.theta > 0 && std::abs(gate_in_double(spec, gate)) <= double{spec.theta};
                const double value = is_out ? 0 : activation_in_double(spec, gate, up);
                if (spec.theta > 0 && distance < 1e-4) {  // rounding decides
                    for (std::int64_t i = 0; i < n; ++i)
                        magnitude[static_cast<std::size_t>(i)] +=
                            256 * std::abs(activation_in_double(spec, gate, up) * block.weight(j, 2, i));
                }
                for (std::int64_t i = 0; i < n; ++i) add(i, value * block.weight(j, 2, i));
            }
            for (std::int64_t i = 0; i < n; ++i) {
                const double error = std::abs(double{out[t * n + i]} - want[static_cast<std::size_t>(i)]);
                QVERIFY2(error <= tolerance(set) * magnitude[static_cast<std::size_t>(i)],
                         qPrintable(QString("activation %1, n %2, neurons %3..%4, token %5, place %6: error %7")
                                        .arg(static_cast<int>(spec.activation))
                                        .arg(n)
                                        .arg(begin)
                                        .arg(end)
                                        .arg(t)
                                        .arg(i)
                                        .arg(error)));
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestBf16Experts)
#include "tst_bf16_experts.moc"
