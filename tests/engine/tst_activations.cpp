// How near to zero neurons are: against sums computed here, from the experts' inputs and
// their weights.

#include <cmath>

#include <QtTest>

#include "engine/eval/activations.h"
#include "engine/eval/logits.h"
#include "engine/eval/text_sequences.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

namespace {

std::unique_ptr<LoadedModel> open(const QString& name, const char* device = "cpu", std::uint64_t vram_bytes = 0) {
    LoadRequest request;
    request.model = tinyModel(name);
    request.device = device;
    request.vram_bytes = vram_bytes;
    request.compute = ComputeMode::kF32;
    request.n_threads = 2;
    request.learn_placement = false;
    return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
}

// One longer than the tokens computed in one pass, and a single token.
std::vector<std::vector<TokenId>> someTokens(const LoadedModel& model) {
    std::vector<std::vector<TokenId>> sequences(2);
    const auto token = [&](int i) { return static_cast<TokenId>(3 + i * 7 % (model.spec().vocab_size - 3)); };
    for (int i = 0; i < 40; ++i) sequences[0].push_back(token(i));
    sequences[1] = {token(5)};
    return sequences;
}

double activationOf(const kernels::ExpertSpec& spec, double gate) {
    switch (spec.activation) {
        case kernels::Activation::kSilu:
            return gate / (1 + std::exp(-gate));
        case kernels::Activation::kGelu:
            return gate * (1 + std::erf(gate / std::sqrt(2.0))) / 2;
        case kernels::Activation::kGeluTanh:
            return gate * (1 + std::tanh(std::sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate))) / 2;
        case kernels::Activation::kClamped:
            gate = std::min<double>(gate, spec.limit);
            return gate / (1 + std::exp(-spec.alpha * gate));
        case kernels::Activation::kReluSquared:
            return std::max(gate, 0.0);
        case kernels::Activation::kSiluCapped:
            return std::min<double>(gate / (1 + std::exp(-gate)), spec.limit);
        case kernels::Activation::kSiluClamped:
            gate = std::min<double>(gate, spec.limit);
            return gate / (1 + std::exp(-gate));
    }
    return 0;
}

// For a model on the CPU, whose activations are in this memory: |value| of every neuron,
// by layer.
class DirectSums final : public StepProbe {
  public:
    explicit DirectSums(LoadedModel& model)
        : values(static_cast<std::size_t>(model.spec().experts.n_layers)), m_model(model) {}

    void begin_step(std::int64_t n_tokens) override { m_tokens = n_tokens; }
    void submit(std::int64_t, const DeviceWeights&, const StepContext& step) override {
        m_inputs.assign(step.normalised, step.normalised + m_tokens * m_model.spec().hidden_dim);
    }
    void collect(std::int64_t layer, const std::int32_t* routing, std::int64_t stride) override {
        const ExpertGrid& grid = m_model.spec().experts;
        std::vector<float> row(static_cast<std::size_t>(grid.hidden_dim));
        for (std::int64_t t = 0; t < m_tokens; ++t) {
            for (std::int64_t a = 0; a < grid.n_active; ++a) {
                const kernels::ExpertView expert = m_model.experts().on_host(layer, routing[t * stride + a]);
                const kernels::WeightView w1 = expert.gate();
                for (std::int64_t j = 0; j < grid.ffn_dim; ++j) {
                    kernels::cpu_kernels(kernels::InstructionSet::kScalar)
                        .widen(w1.row(j), w1.type, grid.hidden_dim, row.data());
                    double gate = expert.biases().gate != nullptr ? double{expert.biases().gate[j]} : 0.0;
                    for (std::size_t i = 0; i < row.size(); ++i)
                        gate += double{row[i]} * double{m_inputs[static_cast<std::size_t>(t) * row.size() + i]};
                    values[static_cast<std::size_t>(layer)].push_back(std::abs(activationOf(grid.expert, gate)));
                }
            }
        }
    }

    std::vector<std::vector<double>> values;

  private:
    LoadedModel& m_model;
    std::int64_t m_tokens = 0;
    std::vector<float> m_inputs;
};

std::uint64_t nBelow(const std::vector<double>& values, double bound) {
    return static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), [&](double v) { return v < bound; }));
}

}  // namespace

class TestActivations : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // silu and gpt-oss's function with its limit and biases; plain and packed weights;
    // layers without experts.
    void shares_areThoseOfADirectSum_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"grouped_f32", "grouped_bf16", "gpt_oss_bf16", "gpt_oss_mxfp4", "deepseek_v3_bf16",
                                 "qwen3_moe_dense_layers_tied_bf16"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void shares_areThoseOfADirectSum() {
        QFETCH(QString, name);
        const auto model = open(name);
        const ExpertGrid& grid = model->spec().experts;
        const auto sequences = someTokens(*model);
        DirectSums direct(*model);
        run_sequences(*model, sequences, 16, &direct, [](std::int64_t, std::int64_t) {}, {});

        const std::vector<double> bounds = {0.001, 0.01, 0.1, 0.25, 1.0, 1e9};
        std::int64_t done = 0;
        const ActivationReport report =
            measure_activations(*model, sequences, bounds, [&](std::int64_t n) { done = n; }, {});
        QCOMPARE(report.n_tokens, std::int64_t{41});
        QCOMPARE(done, std::int64_t{41});
        QCOMPARE(report.n_layers, grid.n_layers);
        std::uint64_t below = 0, all = 0;
        for (std::size_t layer = 0; layer < direct.values.size(); ++layer) {
            const std::vector<double>& values = direct.values[layer];
            QCOMPARE(values.size(), static_cast<std::size_t>(41 * grid.n_active * grid.ffn_dim));
            QCOMPARE(report.n_values[layer], values.size());
            for (std::size_t b = 0; b < bounds.size(); ++b) {
                // Float32 sums in another order put few values on the other side.
                const std::uint64_t counted = report.n_below[layer * bounds.size() + b];
                const std::uint64_t least = nBelow(values, bounds[b] * (1 - 1e-4) - 1e-6);
                const std::uint64_t most = nBelow(values, bounds[b] * (1 + 1e-4) + 1e-6);
                QVERIFY2(counted >= least && counted <= most,
                         qPrintable(QStringLiteral("layer %1, bound %2: %3, not %4 to %5")
                                        .arg(layer)
                                        .arg(bounds[b])
                                        .arg(counted)
                                        .arg(least)
                                        .arg(most)));
                QCOMPARE(report.share(static_cast<std::int64_t>(layer), b),
                         static_cast<double>(counted) / static_cast<double>(values.size()));
            }
            QCOMPARE(report.share(static_cast<std::int64_t>(layer), bounds.size() - 1), 1.0);
            below += report.n_below[layer * bounds.size() + 2];
            all += values.size();
        }
        QVERIFY(below > 0 && below < all);
        QCOMPARE(report.share(-1, 2), static_cast<double>(below) / static_cast<double>(all));
    }

    // Experts on a device are examined too, and have the same inputs there.
    void placement_changesNoShare() {
        const auto on_cpu = open(QStringLiteral("grouped_bf16"));
        const auto apart = open(QStringLiteral("grouped_bf16"), "emulated:rtx-3060", std::uint64_t{4} << 20);
        QVERIFY(apart->experts().n_resident() > 0);
        const auto sequences = someTokens(*on_cpu);
        const ActivationReport a = measure_activations(*on_cpu, sequences, kActivationBounds, {}, {});
        const ActivationReport b = measure_activations(*apart, sequences, kActivationBounds, {}, {});
        QCOMPARE(a.n_below, b.n_below);
        QCOMPARE(a.n_values, b.n_values);
    }

    void measuring_changesNoBitOfTheAnswer() {
        const auto model = open(QStringLiteral("grouped_f32"));
        const auto sequences = someTokens(*model);
        const auto before = compute_logits(*model, sequences[0], true);
        struct Routing final : StepProbe {
            void begin_step(std::int64_t) override {}
            void submit(std::int64_t, const DeviceWeights&, const StepContext&) override {}
            void collect(std::int64_t, const std::int32_t*, std::int64_t) override {}
        } nothing;
        std::vector<std::int32_t> plain, probed;
        run_sequences(*model, sequences, 16, &nothing,
                      [&](std::int64_t, std::int64_t) {
                          const auto routing = model->forward().routing();
                          plain.insert(plain.end(), routing.begin(), routing.end());
                      },
                      {});
        measure_activations(*model, sequences, kActivationBounds,
                            [&](std::int64_t) {
                                const auto routing = model->forward().routing();
                                probed.insert(probed.end(), routing.begin(), routing.end());
                            },
                            {});
        QCOMPARE(probed, plain);
        QCOMPARE(compute_logits(*model, sequences[0], true), before);
    }

    void report_isATableAndJson() {
        ActivationReport report;
        report.model = "m";
        report.n_layers = 2;
        report.n_tokens = 7;
        report.bounds = {0.1, 1};
        report.n_values = {200, 600};
        report.n_below = {20, 150, 120, 600};
        const QString text = QString::fromStdString(to_text(report));
        QVERIFY2(text.startsWith(QStringLiteral("7 tokens;")), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("  layer     < 0.1       < 1\n"
                                              "      0     10.00     75.00\n"
                                              "      1     20.00    100.00\n"
                                              "    all     17.50     93.75\n")),
                 qPrintable(text));
        const auto json = to_json(report);
        QCOMPARE(json["overall"][0].get<double>(), 0.175);
        QCOMPARE(json["layers"][1]["below"][0].get<double>(), 0.2);
        QCOMPARE(json["layers"][1]["n_values"].get<int>(), 600);
    }
};

QTEST_GUILESS_MAIN(TestActivations)
#include "tst_activations.moc"
