// How well experts and their active neurons are predicted one layer ahead: against
// recall's count of the experts, and neurons computed one by one in double precision.

#include <cmath>

#include <QtTest>

#include "engine/error.h"
#include "engine/eval/prediction_report.h"
#include "engine/eval/recall.h"
#include "engine/run/step_probe.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;
namespace tests = offstage::tests;

namespace {

// The experts' inputs and the experts chosen, of a single step.
class InputProbe final : public StepProbe {
  public:
    explicit InputProbe(LoadedModel& model) : model_(model) {}
    void begin_step(std::int64_t n_tokens) override { n_tokens_ = n_tokens; }
    void submit(std::int64_t layer, const DeviceWeights&, const StepContext& step) override {
        auto& rows = inputs[static_cast<std::size_t>(layer)];
        rows.resize(static_cast<std::size_t>(n_tokens_ * model_.spec().hidden_dim));
        model_.device().download(rows.data(), step.normalised, rows.size() * sizeof(float));
    }
    void collect(std::int64_t layer, const std::int32_t* routing, std::int64_t stride) override {
        for (std::int64_t t = 0; t < n_tokens_; ++t) {
            const std::int32_t* const row = routing + t * stride;
            chosen[static_cast<std::size_t>(layer)].emplace_back(row, row + model_.spec().experts.n_active);
        }
    }

    std::vector<std::vector<float>> inputs = std::vector<std::vector<float>>(64);  // by layer
    std::vector<std::vector<std::vector<std::int32_t>>> chosen{std::size_t{64}};   // by layer and token

  private:
    LoadedModel& model_;
    std::int64_t n_tokens_ = 0;
};

}  // namespace

class TestPrediction : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void shares_areThoseOfEachNeuron() {
        const auto model = open();
        const std::vector<std::vector<TokenId>> sequences = {text(24)};
        constexpr double kTheta = 0.1;
        const PredictionReport report = measure_prediction(*model, sequences, {kTheta, 1e-6, 0, kTheta}, {}, {});
        QCOMPARE(report.n_tokens, std::int64_t{24});
        QCOMPARE(report.thetas.size(), std::size_t{2});
        const PredictionReport::OfTheta& of_theta = report.thetas[1];
        QCOMPARE(of_theta.theta, kTheta);
        // Hardly anything is left out: everybody guesses that.
        QVERIFY(report.thetas[0].sum().recall() > 0.999 && report.thetas[0].sum().precision() > 0.999);

        // Experts: recall's count.
        const std::vector<std::int64_t> distances = {1};
        const RoutingTrace trace = record_routing(*model, sequences, distances, {}, {});
        const RecallReport recall = measure_recall(trace);
        QCOMPARE(recall.ahead.front().n_guesses, report.n_active);
        QCOMPARE(report.experts[0].chosen, std::uint64_t{0});
        for (std::size_t layer = 1; layer < report.experts.size(); ++layer) {
            const PredictionReport::Experts& experts = report.experts[layer];
            QCOMPARE(experts.chosen, static_cast<std::uint64_t>(24 * report.n_active));
            QCOMPARE(experts.guessed, experts.chosen);
            QCOMPARE(static_cast<double>(experts.both) / static_cast<double>(experts.chosen),
                     recall.ahead.front().layers[layer]);
        }

        // Neurons of one layer, one by one.
        InputProbe probe(*model);
        model->forward().set_probe(&probe);
        KvSequence sequence = model->new_sequence();
        const Segment segment{&sequence, sequences[0]};
        QVERIFY(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
        model->forward().set_probe(nullptr);
        constexpr std::size_t kLayer = 2;
        const std::int64_t hidden = model->spec().hidden_dim;
        PredictionReport::Neurons counted;
        std::vector<float> row(static_cast<std::size_t>(hidden));
        for (std::size_t t = 0; t < 24; ++t) {
            const auto guesses = std::span(trace.guesses)
                                     .subspan(t * trace.header.guesses_per_token() +
                                                  kLayer * static_cast<std::size_t>(trace.header.n_guesses),
                                              static_cast<std::size_t>(report.n_active));
            for (const std::int32_t expert : probe.chosen[kLayer][t]) {
                if (std::find(guesses.begin(), guesses.end(), expert) == guesses.end()) continue;
                const kernels::WeightView w1 = model->experts().on_host(kLayer, expert).gate();
                for (std::int64_t j = 0; j < w1.n_rows; ++j) {
                    kernels::cpu_kernels().widen(w1.row(j), w1.type, hidden, row.data());
                    const auto is_active = [&](const std::vector<float>& inputs) {
                        double gate = 0;
                        for (std::size_t i = 0; i < row.size(); ++i) {
                            gate += double{row[i]} * double{inputs[t * row.size() + i]};
                        }
                        return std::abs(gate / (1 + std::exp(-gate))) > kTheta;
                    };
                    const bool active = is_active(probe.inputs[kLayer]);
                    const bool guessed = is_active(probe.inputs[kLayer - 1]);
                    ++counted.all;
                    counted.active += active;
                    counted.guessed += guessed;
                    counted.both += active && guessed;
                }
            }
        }
        const PredictionReport::Neurons& layer = of_theta.layers[kLayer];
        QCOMPARE(layer.all, counted.all);
        QVERIFY(counted.all > 0);
        // Neurons beside theta, by rounding.
        const auto near = [&](std::uint64_t a, std::uint64_t b) {
            return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= 2e-3 * static_cast<double>(counted.all);
        };
        QVERIFY(near(layer.active, counted.active) && near(layer.guessed, counted.guessed) &&
                near(layer.both, counted.both));
        QVERIFY(layer.recall() > layer.active_share());  // better than lots
        QCOMPARE(layer.agreement(), 1 - static_cast<double>(layer.active + layer.guessed - 2 * layer.both) /
                                            static_cast<double>(layer.all));
    }

    void reports_haveEachLayer() {
        const auto model = open();
        PredictionReport report =
            measure_prediction(*model, std::vector<std::vector<TokenId>>{text(5)}, {0.1, 0.2}, {}, {});
        report.text = "a text";
        const nlohmann::ordered_json json = to_json(report);
        QCOMPARE(json["thetas"].size(), std::size_t{2});
        QCOMPARE(json["thetas"][0]["layers"].size(), static_cast<std::size_t>(report.n_layers));
        QVERIFY(json["experts"][0].is_null() && json["thetas"][0]["layers"][0]["recall"].is_null());
        QVERIFY(json["thetas"][0]["all"]["recall"].get<double>() > 0);
        const QString shown = QString::fromStdString(to_text(report));
        QCOMPARE(shown.count(QLatin1Char('\n')), 5 + static_cast<int>(report.n_layers));
        QVERIFY(shown.contains(QStringLiteral("neurons, theta 0.2")));
        QCOMPARE(tests::mismatch(tests::error_of([&] {
                                     measure_prediction(*model, std::vector<std::vector<TokenId>>{text(5)}, {0.0}, {},
                                                        {});
                                 }),
                                 ErrorKind::kInvalidInput, "No theta"),
                 QString());
    }

  private:
    static std::unique_ptr<LoadedModel> open() {
        LoadRequest request;
        request.model = demoModel();
        request.context = 64;
        request.n_threads = 1;
        request.compute = ComputeMode::kF32;
        return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                             std::stop_token{});
    }
    static std::vector<TokenId> text(std::size_t n) {
        const auto golden = readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")));
        std::vector<TokenId> tokens;
        for (const QJsonValue& each : golden[QLatin1String("cases")].toArray()) {
            for (const TokenId token : tokensOf(each[QLatin1String("tokens")].toArray())) tokens.push_back(token);
        }
        tokens.resize(n);
        return tokens;
    }
};

QTEST_GUILESS_MAIN(TestPrediction)
#include "tst_prediction.moc"
