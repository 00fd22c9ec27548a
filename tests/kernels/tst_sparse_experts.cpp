// Experts of which a theta leaves neurons out, on every instruction set: against sums in
// double precision without these neurons, and without reading their weights.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <QTest>

#include "expert_reference.h"
#include "kernels/byte_experts.h"
#include "kernels/sparse_experts.h"
#include "packed_data.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;
using namespace offstage::kernels::test;

namespace {

// Neurons of more than one stretch, the last one not whole.
constexpr std::int64_t kNeurons = kChosenTogether + 37;

// An expert in one format, and what its weights are.
struct Expert {
    ExpertLayout layout;
    std::vector<std::byte> block;
    std::vector<float> weights;  // (layout.n_rows(), hidden_dim): of each neuron w1, w3, w2

    Expert(WeightType type, std::int64_t hidden, ExpertSpec spec, std::uint32_t seed)
        : layout(expert_layout(type, hidden, kNeurons, spec)),
          block(layout.bytes()),
          weights(static_cast<std::size_t>(layout.n_rows() * hidden)) {
        if (is_packed(type)) {
            const RandomPackedRows rows(type, layout.n_rows(), hidden, seed);
            std::memcpy(block.data(), rows.data(), layout.weight_bytes());
            std::copy_n(rows.row(0), weights.size(), weights.begin());
        } else {
            fill_random(weights, seed, 0.6f);
            for (std::size_t i = 0; i < weights.size(); ++i) {
                const auto put = [&](auto value) {
                    std::memcpy(block.data() + i * sizeof value, &value, sizeof value);
                    weights[i] = to_float(value);
                };
                if (type == WeightType::kF32) put(weights[i]);
                if (type == WeightType::kBf16) put(to_bf16(weights[i]));
                if (type == WeightType::kF16) put(to_f16_truncated(weights[i]));
            }
        }
        std::vector<float> biases(layout.bias_bytes() / sizeof(float));
        fill_random(biases, seed + 1, 0.3f);
        if (!biases.empty()) std::memcpy(block.data() + layout.bias_offset(), biases.data(), layout.bias_bytes());
    }
    // matrix: 0 for w1, 1 for w3, 2 for w2.
    std::int64_t row_of(std::int64_t j, int matrix) const {
        const int first = layout.spec.first_matrix();
        return layout.spec.n_matrices() * j + std::max(matrix - first, 0);
    }
    double weight(std::int64_t row, std::int64_t i) const {
        return double{weights[static_cast<std::size_t>(row * layout.hidden_dim + i)]};
    }
    ExpertView view(float theta = 0) const {
        ExpertView view{block.data(), layout};
        view.layout.spec.theta = theta;
        return view;
    }
    double product(std::int64_t row, const float* x) const {
        double sum = 0;
        for (std::int64_t i = 0; i < layout.hidden_dim; ++i) sum += weight(row, i) * double{x[i]};
        return sum;
    }
    double gate(std::int64_t j, const float* x) const {
        const float* const bias = view().biases().gate;
        return gate_in_double(layout.spec, product(row_of(j, 0), x) + (bias != nullptr ? double{bias[j]} : 0.0));
    }
    double activation(std::int64_t j, const float* x) const {
        const float* const bias = view().biases().up;
        return gate(j, x) *
               up_in_double(layout.spec, product(row_of(j, 1), x) + (bias != nullptr ? double{bias[j]} : 0.0));
    }
    // Changes what w1 chooses of the neuron so that reading them shows in the result.
    void spoil(std::int64_t j) {
        const std::size_t row = row_bytes(layout.gate, layout.hidden_dim);
        std::memset(block.data() + j * static_cast<std::int64_t>(layout.neuron_bytes()) + row, 0xff,
                    layout.chosen_bytes());
    }
};

// In the widest gap between the magnitudes around their middle: rounding decides nothing.
float theta_between(std::vector<double> values) {
    for (double& value : values) value = std::abs(value);
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    std::size_t best = middle;
    for (std::size_t i = middle - values.size() / 8; i < middle + values.size() / 8; ++i) {
        if (values[i + 1] - values[i] > values[best + 1] - values[best]) best = i;
    }
    if (values[best + 1] == 0.0) {  // a relu's zeros are all of these
        best = static_cast<std::size_t>(std::upper_bound(values.begin(), values.end(), 0.0) - values.begin()) - 1;
    }
    return static_cast<float>((values[best] + values[best + 1]) / 2);
}

float theta_of(const Expert& expert, const std::vector<float>& x) {
    std::vector<double> gates;
    for (std::size_t at = 0; at < x.size(); at += static_cast<std::size_t>(expert.layout.hidden_dim)) {
        for (std::int64_t j = 0; j < kNeurons; ++j) gates.push_back(expert.gate(j, x.data() + at));
    }
    return theta_between(gates);
}

// The whole expert, in two ranges. out += .
NeuronCounts run(InstructionSet set, const ExpertView& view, const std::vector<float>& x, const float* scale,
                 std::vector<float>& out) {
    const auto n_tokens = static_cast<int>(static_cast<std::int64_t>(x.size()) / view.layout.hidden_dim);
    NeuronCounts counts;
    constexpr std::int64_t kFirst = 2 * kRoundedNeurons;
    sparse_expert_ffn(set)(view, x.data(), scale, n_tokens, 0, kFirst, out.data(), counts);
    sparse_expert_ffn(set)(view, x.data(), scale, n_tokens, kFirst, kNeurons, out.data(), counts);
    return counts;
}

NeuronCounts run_bytes(InstructionSet set, const ExpertView& view, const std::vector<float>& x, const float* scale,
                       std::vector<float>& out) {
    const std::int64_t n = view.layout.hidden_dim;
    const auto n_tokens = static_cast<int>(static_cast<std::int64_t>(x.size()) / n);
    TestBuffer<std::byte> inputs(n_tokens * rounded_input_bytes(n));
    cpu_kernels(set).round_inputs(view.layout.gate, x.data(), n, n_tokens, n, inputs.data());
    std::vector<const std::byte*> places;
    for (int t = 0; t < n_tokens; ++t) places.push_back(inputs.data() + t * rounded_input_bytes(n));
    NeuronCounts counts;
    constexpr std::int64_t kFirst = 2 * kRoundedNeurons;
    sparse_expert_ffn_bytes(set)(view, places.data(), scale, n_tokens, 0, kFirst, out.data(), counts);
    sparse_expert_ffn_bytes(set)(view, places.data(), scale, n_tokens, kFirst, kNeurons, out.data(), counts);
    return counts;
}

// Neurons, and (token, neuron) pairs.
std::pair<std::vector<std::int32_t>, std::uint64_t> chosen_of_bytes(InstructionSet set, const ExpertView& view,
                                                                    const std::vector<float>& x) {
    const std::int64_t n = view.layout.hidden_dim;
    const auto n_tokens = static_cast<int>(static_cast<std::int64_t>(x.size()) / n);
    TestBuffer<std::byte> inputs(n_tokens * rounded_input_bytes(n));
    cpu_kernels(set).round_inputs(view.layout.gate, x.data(), n, n_tokens, n, inputs.data());
    std::vector<const std::byte*> places;
    for (int t = 0; t < n_tokens; ++t) places.push_back(inputs.data() + t * rounded_input_bytes(n));
    std::vector<std::int32_t> chosen(kNeurons, -1);
    std::uint64_t active = 0;
    const std::int64_t n_chosen =
        chosen_neurons_bytes(set)(view, places.data(), n_tokens, 0, kNeurons, chosen.data(), active);
    chosen.resize(static_cast<std::size_t>(n_chosen));
    return {chosen, active};
}

std::vector<float> some_inputs(std::int64_t n_values, std::uint32_t seed) {
    std::vector<float> x(static_cast<std::size_t>(n_values));
    fill_random(x, seed, 0.3f);
    return x;
}

constexpr float kScale[8] = {0.75f, 1.0f, -0.5f, 2.0f, 0.25f, 1.5f, 1.0f, 0.1f};

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
    double difference = 0, length = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        difference += std::pow(double{got[i]} - double{want[i]}, 2);
        length += std::pow(double{want[i]}, 2);
    }
    return std::sqrt(difference / length);
}

void add_rows(bool bytes) {
    QTest::addColumn<int>("set");
    QTest::addColumn<int>("type");
    std::vector<WeightType> types;
    if (!bytes) types = {WeightType::kF32, WeightType::kF16, WeightType::kBf16};
    for (const WeightType type : kDecodedTypes) {
        if (is_packed(type)) types.push_back(type);
    }
    for (const InstructionSet set : available_instruction_sets()) {
        for (const WeightType type : types) {
            QTest::addRow("%s %s", name_of(set).data(), name_of(type))
                << static_cast<int>(set) << static_cast<int>(type);
        }
    }
}

}  // namespace

class TestSparseExperts : public QObject {
    Q_OBJECT

  private slots:
    void sum_is_that_of_the_active_neurons_data() { add_rows(false); }
    void sum_is_that_of_the_active_neurons() {
        QFETCH(int, set);
        QFETCH(int, type);
        const auto format = static_cast<WeightType>(type);
        const std::int64_t hidden = is_packed(format) ? length_for(format, 128) : 44;
        std::vector<ExpertSpec> specs = all_expert_specs();
        if (format != WeightType::kF32) specs = {specs.front(), specs.back()};
        for (ExpertSpec spec : specs) {
            spec.biases = spec.activation == Activation::kClamped;
            const Expert expert(format, hidden, spec, 5);
            for (const int n_tokens : {1, 2, 3, 7, 8}) {
                const std::vector<float> x = some_inputs(n_tokens * hidden, 9);
                const float theta = theta_of(expert, x);
                std::vector<double> want(x.size(), 0.5), magnitude(x.size(), 0.5);
                NeuronCounts expected;
                const float* const bias = expert.view().biases().down;
                std::vector<int> users(kNeurons, 0);
                for (int t = 0; t < n_tokens; ++t) {
                    double* const row = want.data() + t * hidden;
                    for (std::int64_t i = 0; bias != nullptr && i < hidden; ++i)
                        row[i] += double{kScale[t]} * double{bias[i]};
                    for (std::int64_t j = 0; j < kNeurons; ++j) {
                        ++expected.neurons;
                        if (std::abs(expert.gate(j, x.data() + t * hidden)) <= double{theta}) continue;
                        ++expected.active;
                        ++users[static_cast<std::size_t>(j)];
                        const double activation = double{kScale[t]} * expert.activation(j, x.data() + t * hidden);
                        for (std::int64_t i = 0; i < hidden; ++i) {
                            const double term = activation * expert.weight(expert.row_of(j, 2), i);
                            row[i] += term;
                            magnitude[static_cast<std::size_t>(t * hidden + i)] += std::abs(term);
                        }
                    }
                }
                expected.skipped_bytes = static_cast<std::uint64_t>(std::count(users.begin(), users.end(), 0)) *
                                         expert.layout.chosen_bytes();
                QVERIFY(expected.active > expected.neurons / 4 && expected.active < expected.neurons * 3 / 4);
                std::vector<float> got(x.size(), 0.5f);
                const NeuronCounts counts = run(static_cast<InstructionSet>(set), expert.view(theta), x, kScale, got);
                for (std::size_t i = 0; i < got.size(); ++i) {
                    QVERIFY2(std::abs(double{got[i]} - want[i]) <= 2e-5 * magnitude[i],
                             qPrintable(QStringLiteral("%1 tokens, value %2: %3, not %4")
                                            .arg(n_tokens)
                                            .arg(i)
                                            .arg(double{got[i]})
                                            .arg(want[i])));
                }
                QCOMPARE(counts.neurons, expected.neurons);
                QCOMPARE(counts.active, expected.active);
                QCOMPARE(counts.skipped_bytes, expected.skipped_bytes);
                // They are found from w1 alone, and by pieces as well.
                std::vector<std::int32_t> chosen(kNeurons, -1);
                std::uint64_t active = 0;
                const ExpertView view = expert.view(theta);
                const auto choose = [&](std::int64_t begin, std::int64_t end, std::int32_t* to) {
                    return chosen_neurons(static_cast<InstructionSet>(set))(view, x.data(), n_tokens, begin, end, to,
                                                                            active);
                };
                std::int64_t n_chosen = choose(0, 32, chosen.data());
                n_chosen += choose(32, kNeurons, chosen.data() + n_chosen);
                QCOMPARE(active, expected.active);
                std::vector<std::int32_t> used;
                for (std::size_t j = 0; j < users.size(); ++j) {
                    if (users[j] > 0) used.push_back(static_cast<std::int32_t>(j));
                }
                chosen.resize(static_cast<std::size_t>(n_chosen));
                QCOMPARE(chosen, used);
            }
        }
    }

    // Bytes that would make every sum no number, or the codes' sums others.
    void what_is_left_out_is_not_read_data() { add_rows(false); }
    void what_is_left_out_is_not_read() {
        QFETCH(int, set);
        QFETCH(int, type);
        const auto format = static_cast<WeightType>(type);
        const std::int64_t hidden = is_packed(format) ? length_for(format, 128) : 44;
        for (const ExpertSpec& spec : {all_expert_specs().front(), all_expert_specs().back()}) {
            leaves_out_unread(Expert(format, hidden, spec, 6), static_cast<InstructionSet>(set));
        }
    }
    static void leaves_out_unread(Expert expert, InstructionSet set) {
        const std::int64_t hidden = expert.layout.hidden_dim;
        const WeightType format = expert.layout.gate;
        const std::vector<float> x = some_inputs(hidden, 10);
        const float theta = theta_of(expert, x);
        std::vector<float> before(x.size(), 0.0f), before_bytes = before;
        const bool bytes = is_packed(format);
        run(set, expert.view(theta), x, kScale, before);
        if (bytes) run_bytes(set, expert.view(theta), x, kScale, before_bytes);
        for (std::int64_t j = 0; j < kNeurons; ++j) {
            // Rounded inputs move a gate a little.
            if (std::abs(expert.gate(j, x.data())) < 0.9 * double{theta}) expert.spoil(j);
        }
        std::vector<float> after(x.size(), 0.0f), after_bytes = after;
        run(set, expert.view(theta), x, kScale, after);
        QCOMPARE(after, before);
        if (!bytes) return;
        run_bytes(set, expert.view(theta), x, kScale, after_bytes);
        QCOMPARE(after_bytes, before_bytes);
    }

    // With rounded inputs as well. The scalar version rounds the same neurons together.
    void bytes_are_those_of_the_scalar_one_data() { add_rows(true); }
    void bytes_are_those_of_the_scalar_one() {
        QFETCH(int, set);
        QFETCH(int, type);
        const auto format = static_cast<WeightType>(type);
        const std::int64_t hidden = length_for(format, 128);
        ExpertSpec clamped = all_expert_specs()[3];
        clamped.biases = true;
        for (const ExpertSpec& spec : {clamped, all_expert_specs().back()}) {
            bytes_are_scalar(Expert(format, hidden, spec, 7), static_cast<InstructionSet>(set));
        }
    }
    static void bytes_are_scalar(const Expert& expert, InstructionSet set) {
        const std::int64_t hidden = expert.layout.hidden_dim;
        for (const int n_tokens : {1, 2, 5, 8}) {
            const std::vector<float> x = some_inputs(n_tokens * hidden, 11);
            const float theta = theta_of(expert, x);
            std::vector<float> want(x.size(), 0.0f), got = want, in_floats = want;
            const NeuronCounts expected = run_bytes(InstructionSet::kScalar, expert.view(theta), x, kScale, want);
            const NeuronCounts counts = run_bytes(set, expert.view(theta), x, kScale, got);
            QVERIFY2(relative_error(got, want) < 1e-3, qPrintable(QString::number(relative_error(got, want))));
            QCOMPARE(counts.neurons, expected.neurons);
            QCOMPARE(counts.active, expected.active);
            QCOMPARE(counts.skipped_bytes, expected.skipped_bytes);
            const auto [chosen, n_active] = chosen_of_bytes(set, expert.view(theta), x);
            QCOMPARE(n_active, expected.active);
            QCOMPARE(chosen, chosen_of_bytes(InstructionSet::kScalar, expert.view(theta), x).first);
            QCOMPARE(static_cast<std::uint64_t>(kNeurons - static_cast<std::int64_t>(chosen.size())) *
                         expert.layout.chosen_bytes(),
                     expected.skipped_bytes);
            run(set, expert.view(theta), x, kScale, in_floats);
            QVERIFY2(relative_error(got, in_floats) < 0.06,
                     qPrintable(QString::number(relative_error(got, in_floats))));
        }
    }

    // Rows of several groups of columns with a rest, and long rows, are not read one
    // after the other: the results equal the dense kernel's, bit by bit.
    void bytes_of_all_neurons_are_those_of_the_whole_expert_data() { add_rows(true); }
    void bytes_of_all_neurons_are_those_of_the_whole_expert() {
        QFETCH(int, set);
        QFETCH(int, type);
        const auto format = static_cast<WeightType>(type);
        std::vector<std::int64_t> lengths = {3 * 256 + 64};
        if (format == WeightType::kInt8 && set != static_cast<int>(InstructionSet::kScalar))
            lengths.push_back(28 * 256);
        for (const std::int64_t hidden : lengths) {
            const Expert expert(format, hidden, {}, 13);
            const std::vector<float> x = some_inputs(hidden, 14);
            std::vector<float> sparse(x.size(), 0.0f), whole = sparse;
            const NeuronCounts counts =
                run_bytes(static_cast<InstructionSet>(set), expert.view(1e-30f), x, kScale, sparse);
            QCOMPARE(counts.active, static_cast<std::uint64_t>(kNeurons));
            TestBuffer<std::byte> inputs(rounded_input_bytes(hidden));
            cpu_kernels(static_cast<InstructionSet>(set))
                .round_inputs(format, x.data(), hidden, 1, hidden, inputs.data());
            const std::byte* const place = inputs.data();
            expert_ffn_bytes(static_cast<InstructionSet>(set))(expert.view(), &place, kScale, 1, 0, kNeurons,
                                                               whole.data(), nullptr);
            QCOMPARE(sparse, whole);
        }
    }

    // Independent of the others' neurons, bit by bit.
    void a_token_does_not_depend_on_the_others_data() { add_rows(false); }
    void a_token_does_not_depend_on_the_others() {
        QFETCH(int, set);
        QFETCH(int, type);
        const auto format = static_cast<WeightType>(type);
        const std::int64_t hidden = is_packed(format) ? length_for(format, 128) : 44;
        const Expert expert(format, hidden, {}, 8);
        for (const int n_tokens : {2, 3, 6}) {
            std::vector<float> x = some_inputs(n_tokens * hidden, 12);
            const ExpertView view = expert.view(theta_of(expert, x));
            const auto row_of = [&](const auto& compute) {
                std::vector<float> out(x.size(), 0.0f);
                compute(static_cast<InstructionSet>(set), view, x, kScale, out);
                out.resize(static_cast<std::size_t>(hidden));
                return out;
            };
            const std::vector<float> first = row_of(run);
            const std::vector<float> first_bytes = is_packed(format) ? row_of(run_bytes) : first;
            for (std::size_t i = static_cast<std::size_t>(hidden); i < x.size(); ++i) x[i] = i % 3 == 0 ? 0.4f : -x[i];
            QCOMPARE(row_of(run), first);
            if (is_packed(format)) QCOMPARE(row_of(run_bytes), first_bytes);
        }
    }

    void activations_are_zero_where_they_are_left_out() {
        for (const InstructionSet set : available_instruction_sets()) {
            for (ExpertSpec spec : all_expert_specs()) {
                constexpr std::int64_t kValues = 133;
                std::vector<float> gate(kValues), up(kValues), dense(kValues), out(kValues);
                fill_random(gate, 3, 2.0f);
                fill_random(up, 4, 2.0f);
                gate[7] = std::numeric_limits<float>::quiet_NaN();  // no magnitude is small
                cpu_kernels(set).activate(spec, gate.data(), up.data(), kValues, dense.data());
                std::vector<double> factors;
                for (const float value : gate) {
                    if (value == value) factors.push_back(gate_in_double(spec, double{value}));
                }
                spec.theta = theta_between(factors);
                cpu_kernels(set).activate(spec, gate.data(), up.data(), kValues, out.data());
                std::int64_t n_left_out = 0;
                for (std::size_t i = 0; i < gate.size(); ++i) {
                    if (i == 7) {
                        QCOMPARE(std::isnan(out[i]), std::isnan(dense[i]));
                        continue;
                    }
                    const bool left_out = std::abs(gate_in_double(spec, double{gate[i]})) <= double{spec.theta};
                    n_left_out += left_out;
                    QCOMPARE(out[i], left_out ? 0.0f : dense[i]);
                }
                QVERIFY(n_left_out > kValues / 4 && n_left_out < kValues * 3 / 4);
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestSparseExperts)
#include "tst_sparse_experts.moc"
