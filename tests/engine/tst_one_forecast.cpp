// One request has one forecast: that of `plan`, of the estimate before a load, of the
// Budget panel's preview after it, and of "What if" for the same GPU.

#include <QTemporaryDir>
#include <QtTest>

#include "engine/as_size.h"
#include "engine/cluster/what_if.h"
#include "engine/error.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "engine/run/measurements.h"
#include "engine/run/model_shape.h"
#include "engine/run/replanner.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using namespace offstage::tests;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Figures {
    double tokens_per_s = 0;
    double ttft_s = 0;
};

QString text_of(const char* who, const Figures& f) {
    return QStringLiteral("%1: %2 tokens/s, first token %3 s; ")
        .arg(who)
        .arg(f.tokens_per_s, 0, 'g', 10)
        .arg(f.ttft_s, 0, 'g', 10);
}

bool same(const Figures& a, const Figures& b) {
    return std::abs(a.tokens_per_s - b.tokens_per_s) <= 1e-9 * b.tokens_per_s &&
           std::abs(a.ttft_s - b.ttft_s) <= 1e-9 * b.ttft_s;
}

Figures figures_of(const Forecast& forecast) {
    return {forecast.decode_tokens_per_s, forecast.ttft_s};
}

}  // namespace

class TestOneForecast : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;

    LoadRequest requestFor(const std::string& model, const QString& device, int vram, int ram) const {
        LoadRequest request;
        request.model = model;
        request.device = device.toStdString();
        request.vram_bytes = static_cast<std::uint64_t>(vram) * kMiB;
        request.ram_bytes = static_cast<std::uint64_t>(ram) * kMiB;
        request.context = 1024;
        request.n_threads = 1;
        request.checks_costs = false;  // on a busy machine they may not hold, and would change the forecast
        request.cache_directory = m_cache.path().toStdString();
        request.quant_cache_directory = m_cache.path().toStdString();
        return request;
    }

  private Q_SLOTS:
    void everybodySaysTheSame_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("vram");
        QTest::addColumn<int>("ram");
        QTest::addColumn<QString>("experts");
        QTest::addColumn<bool>("measures");  // something has to be measured first
        const QString demo = QString::fromStdString(demoModel());
        const QString deepseek = QString::fromStdString(tinyModel(QStringLiteral("deepseek_v2_lite_bf16")));
        QTest::newRow("accounted") << demo << "emulated:fiddler-env1" << 20 << 256 << "" << false;
        QTest::newRow("accounted, all on the device") << demo << "emulated:fiddler-env2" << 96 << 256 << "" << false;
        QTest::newRow("accounted, experts on disk") << demo << "emulated:fiddler-env1" << 18 << 20 << "" << false;
        QTest::newRow("accounted, fewer bits") << demo << "emulated:fiddler-env1" << 16 << 256 << "hqq4" << false;
        QTest::newRow("accounted GPU, this CPU") << demo << "emulated:rtx-3060" << 20 << 256 << "" << true;
        QTest::newRow("CPU") << demo << "cpu" << 0 << 256 << "" << true;
        QTest::newRow("CPU, fewer bits") << demo << "cpu" << 0 << 256 << "int8" << true;
        QTest::newRow("CPU, experts on disk") << demo << "cpu" << 0 << 34 << "" << true;
        QTest::newRow("another family") << deepseek << "emulated:fiddler-env1" << 8 << 64 << "" << false;
    }
    void everybodySaysTheSame() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(int, vram);
        QFETCH(int, ram);
        QFETCH(QString, experts);
        QFETCH(bool, measures);
        LoadRequest request = requestFor(model.toStdString(), device, vram, ram);
        if (!experts.isEmpty()) request.quant.experts = parse_format(experts.toStdString());

        FitEstimator estimator(request.model, FitEstimator::Text::kNotNeeded);
        const FitEstimate before = estimator.estimate(request);
        QVERIFY2(before.fits, before.problem.english().c_str());
        const QTemporaryDir nothing;
        LoadRequest unknown = request;
        unknown.cache_directory = nothing.path().toStdString();
        QCOMPARE(FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(unknown).forecast.has_value(),
                 !measures);

        const FitEstimate estimate = estimator.measure(request, {}, {}, {});
        QVERIFY(estimate.forecast.has_value());
        const Figures fit = figures_of(*estimate.forecast);
        const FitEstimate report = plan_model(request, kForecastPrompt, {}, {});
        const Figures plan = figures_of(*report.forecast);
        LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
        Replanner replanner(loaded);
        const ReplanPreview preview = preview_of(replanner.inputs(), {});
        const Figures budget{preview.before.decode_tokens_per_s, preview.before.ttft_s};
        QCOMPARE(preview.measured_steps, 0);
        QString text = text_of("plan", plan) + text_of("fit", fit) + text_of("budget", budget);
        bool agree = plan.tokens_per_s > 0 && plan.ttft_s > 0 && same(fit, plan) && same(budget, plan);
        if (request.device != "cpu" && experts.isEmpty() && ram > 128) {  // What if: as in the checkpoint
            const std::string profile = request.device.substr(request.device.find(':') + 1);
            const WhatIfRow row = WhatIf(request, {}, {}).on(find_hardware_profile(profile), request.vram_bytes);
            text += text_of("what if", {row.tokens_per_s, row.ttft_s});
            agree = agree && same({row.tokens_per_s, row.ttft_s}, plan);
        }
        QVERIFY2(agree, qPrintable(text));
        // A request after that need not measure.
        const FitEstimate after = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
        QVERIFY(after.forecast && same(figures_of(*after.forecast), plan));
    }

    // Also after the model has run, when its routing's habits are known.
    void habits_areEverybodys() {
        const QTemporaryDir folder;
        LoadRequest request = requestFor(demoModel(), QStringLiteral("emulated:fiddler-env1"), 20, 256);
        request.cache_directory = folder.path().toStdString();
        const auto figures = [&] {
            const FitEstimate report = plan_model(request, kForecastPrompt, {}, {});
            FitEstimator estimator(request.model, FitEstimator::Text::kNotNeeded);
            LoadedModel loaded(request, LoadedModel::Text::kNotNeeded, {}, {});
            const ReplanPreview preview = preview_of(Replanner(loaded).inputs(), {});
            const WhatIfRow row = WhatIf(request, {}, {}).on(find_hardware_profile("fiddler-env1"), request.vram_bytes);
            return std::vector<Figures>{figures_of(*report.forecast),
                                        figures_of(*estimator.estimate(request).forecast),
                                        {preview.before.decode_tokens_per_s, preview.before.ttft_s},
                                        {row.tokens_per_s, row.ttft_s}};
        };
        const std::vector<Figures> before = figures();
        const ModelShape shape = read_model_shape(request.model);
        const ExpertGrid& grid = shape.spec.experts;
        RoutingHabits habits{std::vector<double>(as_size(grid.size()), 1000), 2000, 1800, {500, 800, 300, 100, 50}};
        for (std::int64_t i = 0; i < grid.size(); i += 3) habits.calls[as_size(i)] = 4000;
        Measurements(request, shape.spec, shape.type, shape.name, shape.directory).keep_habits(habits);
        const std::vector<Figures> after = figures();
        for (std::size_t i = 0; i < after.size(); ++i) {
            QVERIFY2(same(after[i], after.front()), qPrintable(text_of("one", after[i]) + text_of("plan", after[0])));
            QVERIFY2(after[i].tokens_per_s > before[i].tokens_per_s, qPrintable(QString::number(i)));
        }
    }

    // Neurons that the planner leaves out within a floor are left out of every forecast.
    void neuronsLeftOut_areInEverybodysForecast() {
        LoadRequest request = requestFor(demoModel(), QStringLiteral("emulated:fiddler-env1"), 12, 256);
        request.context = 256;
        request.quality.max_kl = 0.02;
        const FitEstimate report = plan_model(request, kForecastPrompt, {}, {});
        QVERIFY(report.plan.theta && report.plan.theta->leaves_out() && report.inputs.cost.leaves_out());
        const FitEstimate estimate = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
        QVERIFY(estimate.forecast && !estimate.formats_assumed());
        const Figures fit = figures_of(*estimate.forecast), plan = figures_of(*report.forecast);
        QVERIFY2(same(fit, plan), qPrintable(text_of("plan", plan) + text_of("fit", fit)));
    }

    void measuringAnew_replacesWhatIsKept() {
        const QTemporaryDir folder;
        LoadRequest request = requestFor(demoModel(), QStringLiteral("cpu"), 0, 256);
        request.cache_directory = folder.path().toStdString();
        FitEstimator estimator(request.model, FitEstimator::Text::kNotNeeded);
        const Figures first = figures_of(*estimator.measure(request, {}, {}, {}).forecast);
        QVERIFY(same(figures_of(*estimator.measure(request, {}, {}, {}).forecast), first));
        // Two measurements do not give the same nanoseconds.
        const Figures anew = figures_of(*estimator.measure(request, {}, {}, {}, true).forecast);
        QVERIFY(!same(anew, first));
        QVERIFY(same(figures_of(*estimator.estimate(request).forecast), anew));
    }

    void measuring_canBeCancelled() {
        const QTemporaryDir nothing;
        LoadRequest request = requestFor(demoModel(), QStringLiteral("cpu"), 0, 256);
        request.cache_directory = nothing.path().toStdString();
        FitEstimator estimator(request.model, FitEstimator::Text::kNotNeeded);
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(
            mismatch(error_of([&] { estimator.measure(request, {}, {}, stop.get_token()); }), ErrorKind::kCancelled),
            QString());
        QVERIFY(!estimator.estimate(request).forecast);
    }
};

QTEST_GUILESS_MAIN(TestOneForecast)
#include "tst_one_forecast.moc"
