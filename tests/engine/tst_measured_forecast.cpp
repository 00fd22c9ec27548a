// Forecasts put right by what decode steps really took.

#include <QtTest>

#include "engine/plan/forecast.h"
#include "engine/telemetry/decode_meter.h"

using namespace offstage::engine;

namespace {

MeasuredDecode measured(double step_us, std::optional<double> hit_rate = {}) {
    return {100, step_us, hit_rate};
}

Forecast told(double step_us, double hit_rate) {
    Forecast forecast;
    forecast.decode_tokens_per_s = 1e6 / step_us;
    forecast.hit_rate = hit_rate;
    forecast.ttft_s = 0.001;
    forecast.prompt_tokens = 512;
    forecast.prompt_steps = 2;
    forecast.prefill_tokens_per_s = 512'000;
    return forecast;
}

DispatchTotals totals(std::uint64_t routed, std::uint64_t resident) {
    DispatchTotals sum;
    sum.routed_tokens = routed;
    sum.resident_tokens = resident;
    return sum;
}

// Whether a equals b except for rounding.
bool near(double a, double b) {
    return std::abs(a - b) < 1e-9 * std::max(1.0, std::abs(b));
}

}  // namespace

class TestMeasuredForecast : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void correct_addsTheSameOverheadToBoth() {
        Forecast now = told(400, 0.4), then = told(200, 1);
        correct(now, then, measured(850));
        QVERIFY(near(now.decode_tokens_per_s, 1e6 / 850));
        QVERIFY(near(then.decode_tokens_per_s, 1e6 / 650));
        QVERIFY(near(then.ttft_s, 0.001 + 2 * 450e-6));  // for each step of the prompt
        QVERIFY(near(then.prefill_tokens_per_s, 512 / then.ttft_s));
        QCOMPARE(now.hit_rate, 0.4);  // none was measured
    }

    // Faster than the forecast: the plan with the faster forecast stays the faster one.
    void correct_ofATooSlowForecast_keepsTheOrder() {
        Forecast now = told(400, 0.4), then = told(350, 1);
        correct(now, then, measured(200));
        QVERIFY(near(now.decode_tokens_per_s, 5000));
        QVERIFY(near(then.decode_tokens_per_s, 1e6 / 175));
        QCOMPARE(then.ttft_s, 0.001);
    }

    void correct_hits_data() {
        QTest::addColumn<double>("hits");
        QTest::addColumn<double>("now");
        QTest::addColumn<double>("then");
        QTest::addColumn<double>("expected");
        QTest::newRow("all resident then") << 0.67 << 0.39 << 1.0 << 1.0;
        QTest::newRow("fewer than forecast, all resident then") << 0.2 << 0.4 << 1.0 << 1.0;
        QTest::newRow("half of the misses go") << 0.6 << 0.4 << 0.7 << 0.8;
        QTest::newRow("half of the hits go") << 0.6 << 0.4 << 0.2 << 0.3;
        QTest::newRow("none resident then") << 0.6 << 0.4 << 0.0 << 0.0;
        QTest::newRow("none resident now, or then") << 0.0 << 0.0 << 0.0 << 0.0;
        QTest::newRow("the same") << 0.6 << 0.4 << 0.4 << 0.6;
        QTest::newRow("all, and all then") << 0.9 << 1.0 << 1.0 << 0.9;
        QTest::newRow("all, and fewer then") << 1.0 << 1.0 << 0.44 << 0.44;
    }
    void correct_hits() {
        QFETCH(double, hits);
        QFETCH(double, now);
        QFETCH(double, then);
        QFETCH(double, expected);
        Forecast before = told(400, now), after = told(300, then);
        correct(before, after, measured(500, hits));
        QCOMPARE(before.hit_rate, hits);
        QVERIFY2(near(after.hit_rate, expected), qPrintable(QString::number(after.hit_rate)));
    }

    void correct_withoutMeasurement_changesNothing() {
        Forecast now = told(400, 0.4), then = told(200, 1);
        correct(now, then, {});
        QCOMPARE(now.decode_tokens_per_s, 2500.0);
        QCOMPARE(then.decode_tokens_per_s, 5000.0);
        QCOMPARE(then.ttft_s, 0.001);
    }

    void correct_withoutForecast_saysWhatWasMeasuredAlone() {
        Forecast now, then;
        correct(now, then, measured(500));
        QCOMPARE(now.decode_tokens_per_s, 2000.0);
        QCOMPARE(then.decode_tokens_per_s, 0.0);
        QCOMPARE(overhead_us(0, measured(500)), 0.0);
    }

    void meter_needsSomeSteps_andHasTheirMean() {
        DecodeMeter meter;
        meter.pass(totals(1000, 10));  // a prompt
        for (std::uint64_t i = 1; i <= 40; ++i) {
            QCOMPARE(meter.figures(true).n_steps, i > 16 ? static_cast<std::int64_t>(i) - 1 : 0);
            // One outlier, which has no meaning for the others.
            meter.add(i == 7 ? 1e6 : 500, totals(1000 + 16 * i, 10 + 12 * i));
        }
        const MeasuredDecode figures = meter.figures(true);
        QCOMPARE(figures.n_steps, 40);
        QCOMPARE(figures.step_us, 500.0);
        QCOMPARE(*figures.hit_rate, 0.75);
        QVERIFY(!meter.figures(false).hit_rate.has_value());
    }

    void steps_unlikeTheirForecast_data() {
        QTest::addColumn<double>("undisturbed");
        QTest::addColumn<double>("disturbed");
        QTest::addColumn<int>("n_undisturbed");
        QTest::addColumn<bool>("unlike");
        QTest::newRow("as forecast") << 500.0 << 500.0 << 40 << false;
        QTest::newRow("slower") << 700.0 << 700.0 << 40 << true;
        QTest::newRow("slower beside other work") << 520.0 << 2000.0 << 20 << false;
        QTest::newRow("slower, always beside other work") << 500.0 << 2000.0 << 0 << false;
        QTest::newRow("faster") << 300.0 << 300.0 << 40 << true;
        QTest::newRow("faster, beside other work") << 300.0 << 300.0 << 0 << true;
    }
    void steps_unlikeTheirForecast() {
        QFETCH(double, undisturbed);
        QFETCH(double, disturbed);
        QFETCH(int, n_undisturbed);
        QFETCH(bool, unlike);
        DecodeMeter meter;
        QVERIFY(!is_unlike(meter.figures(false), 500));
        for (int i = 0; i < 40; ++i) {
            const bool alone = i < n_undisturbed;
            meter.add(alone ? undisturbed : disturbed, totals(0, 0), !alone);
        }
        QCOMPARE(is_unlike(meter.figures(false), 500), unlike);
        QVERIFY(!is_unlike(meter.figures(false), 0));
    }

    void meter_keepsTheLastSteps_andForgets() {
        DecodeMeter meter;
        for (std::uint64_t i = 1; i <= 3 * DecodeMeter::kSteps; ++i)
            meter.add(i <= 2 * DecodeMeter::kSteps ? 900 : 300, totals(i, 0));
        QCOMPARE(meter.figures(true).n_steps, static_cast<std::int64_t>(DecodeMeter::kSteps));
        QCOMPARE(meter.figures(true).step_us, 300.0);
        meter.clear();
        QCOMPARE(meter.figures(true).n_steps, 0);
        for (std::uint64_t i = 0; i < 20; ++i) meter.add(100, totals(3 * DecodeMeter::kSteps + i, 0));
        QCOMPARE(meter.figures(true).n_steps, 20);
        QCOMPARE(meter.figures(true).step_us, 100.0);
    }
};

QTEST_GUILESS_MAIN(TestMeasuredForecast)
#include "tst_measured_forecast.moc"
