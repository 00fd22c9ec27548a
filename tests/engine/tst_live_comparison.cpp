#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <QtTest>

#include "engine/dispatch/live_comparison.h"
#include "engine/plan/plan_messages.h"

using namespace offstage::engine;

namespace {

enum : std::size_t { kBalanced, kStatic, kTransfer };
constexpr int kTrial = 2 * LiveComparison::kWindow * LiveComparison::kPairs;

LiveComparison comparison() {
    return LiveComparison({"balanced", "static", "transfer"});
}

using StepTime = std::function<double(std::size_t way)>;

// Steps with the time of their alternative; a comparison that is due begins with these
// challengers. Returns the alternatives used.
std::vector<std::size_t> run(LiveComparison& live, int steps, const std::vector<std::size_t>& challengers,
                             const StepTime& step_us) {
    std::vector<std::size_t> ways;
    for (int i = 0; i < steps; ++i) {
        if (live.is_due()) live.begin(challengers);
        ways.push_back(live.way());
        live.record(step_us(ways.back()), true);
    }
    return ways;
}

StepTime constant(std::vector<double> us) {
    return [us = std::move(us)](std::size_t way) { return us[way]; };
}

// Each step takes its way's time, times e^(a normal deviate of that deviation).
StepTime noisy(std::vector<double> us, double deviation, std::mt19937_64& random) {
    return [us = std::move(us), deviation, &random](std::size_t way) {
        return us[way] * std::exp(std::normal_distribution<double>(0, deviation)(random));
    };
}

std::int64_t count(const std::vector<std::size_t>& ways, std::size_t way) {
    return std::count(ways.begin(), ways.end(), way);
}

}  // namespace

class TestLiveComparison : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void trial_isTurnsOfEqualNumber_thatGrowingSlownessDoesNotFavour() {
        LiveComparison live = comparison();
        double drift = 1;  // every step takes longer than the one before
        const auto ways = run(live, kTrial, {kStatic}, [&](std::size_t) { return 1000 * (drift *= 1.01); });
        for (int i = 0; i < kTrial; ++i) {
            const int window = i / LiveComparison::kWindow;
            const bool holder = window % 4 == 0 || window % 4 == 3;  // A B B A
            QCOMPARE(ways[static_cast<std::size_t>(i)], holder ? kBalanced : kStatic);
        }
        QCOMPARE(live.verdicts().size(), std::size_t{1});
        QVERIFY(!live.verdicts()[0].is_clear);
        QVERIFY(!live.comparing());
    }

    void clearDifference_decides_data() {
        QTest::addColumn<double>("favourite");
        QTest::addColumn<double>("challenger");
        QTest::addColumn<bool>("keeps");
        QTest::addColumn<QString>("reason");
        QTest::newRow("favourite, found out before the end")
            << 41200.0 << 44000.0 << true
            << "balanced is kept: 41.2 ms per token against 44.0 with static (12 tokens each)";
        QTest::newRow("challenger")
            << 9000.0 << 4500.0 << false
            << "static is used from now on: 4.50 ms per token against 9.00 with balanced (32 tokens each)";
        QTest::newRow("a tie") << 5000.0 << 5000.0 << true
                               << "balanced is used, as static is not clearly faster: 5.00 ms per token against 5.00 "
                                  "(32 tokens each)";
        // A case that differed by one part in 400: "0.86 against 0.86".
        QTest::newRow("less than the margin")
            << 862.0 << 860.0 << true
            << "balanced is used, as static is not clearly faster: 0.86 ms per token against 0.86 (32 tokens each)";
        QTest::newRow("nearly the margin")
            << 1000.0 << 981.0 << true
            << "balanced is used, as static is not clearly faster: 1.00 ms per token against 0.98 (32 tokens each)";
        QTest::newRow("more than the margin")
            << 1000.0 << 975.0 << false
            << "static is used from now on: 0.97 ms per token against 1.00 with balanced (32 tokens each)";
    }
    void clearDifference_decides() {
        QFETCH(double, favourite);
        QFETCH(double, challenger);
        QFETCH(bool, keeps);
        QFETCH(QString, reason);
        LiveComparison live = comparison();
        const StepTime time = constant({favourite, challenger, 1});
        while (live.verdicts().empty()) run(live, 1, {kStatic}, time);
        QCOMPARE(QString::fromStdString(live.verdicts().at(0).reason.english()), reason);
        QCOMPARE(live.verdicts()[0].holder_us, favourite);
        QCOMPARE(live.verdicts()[0].challenger_us, challenger);
        const auto rest = run(live, static_cast<int>(LiveComparison::kEvery), {kStatic}, time);
        QCOMPARE(count(rest, keeps ? kBalanced : kStatic), LiveComparison::kEvery);
        QVERIFY(live.is_due());
    }

    // Equal alternatives under noise: the forecast's choice stays.
    void noise_doesNotDecide_data() {
        QTest::addColumn<double>("deviation");
        QTest::newRow("2 %") << 0.02;
        QTest::newRow("10 %") << 0.10;
        QTest::newRow("50 %") << 0.50;
    }
    void noise_doesNotDecide() {
        QFETCH(double, deviation);
        std::mt19937_64 random(5);
        int switched = 0;
        for (int i = 0; i < 1000; ++i) {
            LiveComparison live = comparison();
            run(live, kTrial, {kStatic}, noisy({1000, 1000, 1}, deviation, random));
            switched += live.way() != kBalanced;
        }
        QVERIFY2(switched <= 5, qPrintable(QStringLiteral("%1 of 1000").arg(switched)));
    }

    void differenceBeyondTheNoise_isFound() {
        std::mt19937_64 random(6);
        int found = 0;
        for (int i = 0; i < 200; ++i) {
            LiveComparison live = comparison();
            run(live, kTrial, {kStatic}, noisy({1000, 850, 1}, 0.03, random));
            found += live.way() == kStatic;
        }
        QVERIFY2(found >= 190, qPrintable(QStringLiteral("%1 of 200").arg(found)));
    }

    // Some steps that took a thousand times as long.
    void outliers_doNotDecide() {
        std::mt19937_64 random(2);
        LiveComparison live = comparison();
        run(live, kTrial, {kStatic}, [&](std::size_t way) {
            const double usual = way == kBalanced ? 1000 : 1100;
            return way == kBalanced && random() % 5 == 0 ? 1e6 : usual;
        });
        QCOMPARE(live.verdicts().at(0).winner, std::size_t{kBalanced});
    }

    // Each challenger has one trial against the best so far; then there is a pause.
    void challengers_areTriedInTheirOrder_andNoLongerThanThat() {
        LiveComparison live = comparison();
        const auto ways = run(live, 2 * kTrial, {kTransfer, kStatic}, constant({1000, 900, 800}));
        QCOMPARE(live.verdicts().size(), std::size_t{2});
        QCOMPARE(QString::fromStdString(live.verdicts()[0].reason.english()),
                 QStringLiteral("transfer is used from now on: 0.80 ms per token against 1.00 with balanced (32 tokens "
                                "each)"));
        QCOMPARE(QString::fromStdString(live.verdicts()[1].reason.english()),
                 QStringLiteral("transfer is kept: 0.80 ms per token against 0.90 with static (12 tokens each)"));
        QCOMPARE(count(ways, kStatic), std::int64_t{LiveComparison::kLeastPairs * LiveComparison::kWindow});
        QVERIFY(!live.comparing());
        const auto rest =
            run(live, static_cast<int>(LiveComparison::kEvery) - 64, {kTransfer, kStatic}, constant({1000, 900, 800}));
        QCOMPARE(count(rest, kTransfer), static_cast<std::int64_t>(rest.size()));
    }

    // A slower one may be faster later: the decision is reversed, also if there is no
    // clear winner any more.
    void winner_hasToWinAgain() {
        LiveComparison live = comparison();
        run(live, kTrial, {kStatic}, constant({1000, 500, 1}));
        QCOMPARE(live.way(), std::size_t{kStatic});
        run(live, static_cast<int>(LiveComparison::kEvery) + kTrial, {kTransfer, kStatic}, constant({1000, 500, 5000}));
        QCOMPARE(live.verdicts()[1].winner, std::size_t{kStatic});  // first of the trials: it is in use
        QVERIFY(live.verdicts()[1].reason.is(messages::choice_kept));
        while (live.verdicts().size() < 4) run(live, 1, {kStatic}, constant({500, 500, 1}));
        QCOMPARE(live.way(), std::size_t{kBalanced});
        QVERIFY(live.verdicts()[3].reason.is(messages::choice_not_clearly_better));
    }

    void nothingToCompare_isAskedAgainLater() {
        LiveComparison live = comparison();
        live.begin({});
        QVERIFY(!live.comparing() && !live.is_due());
        int steps = 0;
        for (; !live.is_due(); ++steps) QVERIFY(!live.record(1000, false));
        QCOMPARE(steps, static_cast<int>(LiveComparison::kAgain));
    }

    void steps_whoseSchedulesAgree_areLeftOut() {
        LiveComparison live = comparison();
        static constexpr std::size_t kOnly[] = {kStatic};
        live.begin(kOnly);
        int differing = 0;
        for (int i = 0; live.verdicts().empty() && i < 10 * kTrial; ++i) {
            const bool differ = i % 3 == 0;
            differing += differ ? 1 : 0;
            live.record(live.way() == kBalanced ? 2.0 : 1.0, differ);
        }
        QCOMPARE(differing, kTrial);
        QCOMPARE(live.way(), std::size_t{kStatic});
    }

    void timesThatAreNone_areLeftOut() {
        LiveComparison live = comparison();
        static constexpr std::size_t kOnly[] = {kStatic};
        live.begin(kOnly);
        for (int i = 0; i < 3 * kTrial; ++i) {
            QVERIFY(!live.record(i % 3 == 0 ? 0 : i % 3 == 1 ? -1 : HUGE_VAL, true));
        }
    }

    void verdicts_ofALongSession_areTheLast64() {
        LiveComparison live = comparison();
        run(live, 80 * (static_cast<int>(LiveComparison::kEvery) + kTrial), {kStatic}, [](std::size_t) { return 1.0; });
        QCOMPARE(live.verdicts().size(), std::size_t{64});
        QVERIFY(live.verdicts().back().at_step > 64 * LiveComparison::kEvery);
    }
};

QTEST_GUILESS_MAIN(TestLiveComparison)
#include "tst_live_comparison.moc"
