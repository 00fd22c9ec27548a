#include <random>
#include <string>

#include <QtTest>

#include "engine/plan/live_comparison.h"

using namespace offstage::engine;

namespace {

constexpr bool kFavourite = true;
constexpr bool kChallenger = false;
const std::string kBalanced = "balanced";
const std::string kStatic = "static";
constexpr int kComparison = 2 * LiveComparison::kWindow * LiveComparison::kWindows;

// Steps that take what their policy takes; returns how many ran with the challenger.
template <typename Time>
int run(LiveComparison& choice, int steps, const Time& step_us, bool differ = true) {
    int challenged = 0;
    for (int i = 0; i < steps; ++i) {
        const bool policy = choice.uses_favourite();
        challenged += policy == kChallenger ? 1 : 0;
        choice.record(step_us(policy), differ);
    }
    return challenged;
}

}  // namespace

class TestLiveComparison : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void comparison_givesBothSidesTheSameTokensInShortWindows() {
        LiveComparison choice(kBalanced, kStatic);
        std::vector<bool> used;
        for (int i = 0; i < kComparison + 1; ++i) {
            used.push_back(choice.uses_favourite());
            QCOMPARE(choice.record(1000, true), i == kComparison);  // the step that brings the verdict
        }
        QCOMPARE(bool(used[0]), kFavourite);
        for (int i = 0; i < kComparison; ++i) {
            QCOMPARE(bool(used[static_cast<std::size_t>(i + 1)]), (i / LiveComparison::kWindow) % 2 == 0);
        }
        QVERIFY(!choice.comparing());
        QCOMPARE(choice.verdicts().size(), std::size_t{1});
    }

    void faster_wins_andIsKeptUntilTheNextComparison_data() {
        QTest::addColumn<double>("favourite");
        QTest::addColumn<double>("challenger");
        QTest::addColumn<bool>("keeps");
        QTest::addColumn<QString>("reason");
        QTest::newRow("favourite") << 41200.0 << 44000.0 << true
                                   << "balanced is kept: 41.2 ms per token against 44.0 with static (32 tokens each)";
        QTest::newRow("challenger")
            << 9000.0 << 4500.0 << false
            << "static is used from now on: 4.50 ms per token against 9.00 with balanced (32 tokens each)";
        QTest::newRow("a tie") << 5000.0 << 5000.0 << true
                               << "balanced is kept: 5.00 ms per token against 5.00 with static (32 tokens each)";
    }
    void faster_wins_andIsKeptUntilTheNextComparison() {
        QFETCH(double, favourite);
        QFETCH(double, challenger);
        QFETCH(bool, keeps);
        QFETCH(QString, reason);
        LiveComparison choice(kBalanced, kStatic);
        const auto time = [&](bool policy) { return policy == kFavourite ? favourite : challenger; };
        run(choice, kComparison + 1, time);
        QCOMPARE(QString::fromStdString(choice.verdicts().at(0).reason), reason);
        QCOMPARE(choice.verdicts()[0].favourite_us, favourite);
        QCOMPARE(choice.verdicts()[0].challenger_us, challenger);
        const int rest = static_cast<int>(LiveComparison::kEvery) - 1;
        QCOMPARE(run(choice, rest, time), keeps ? 0 : rest);
        QVERIFY(!choice.comparing());
        run(choice, 1, time);
        QVERIFY(choice.comparing());
    }

    // What was slower may be faster later: the decision is taken back.
    void loser_thatBecomesFaster_comesBack() {
        LiveComparison choice(kBalanced, kStatic);
        run(choice, kComparison + 1, [](bool p) { return p == kFavourite ? 9.0 : 5.0; });
        QCOMPARE(choice.uses_favourite(), kChallenger);
        run(choice, static_cast<int>(LiveComparison::kEvery) + kComparison,
            [](bool p) { return p == kFavourite ? 4.0 : 5.0; });
        QCOMPARE(choice.verdicts().size(), std::size_t{2});
        QCOMPARE(choice.uses_favourite(), kFavourite);
        QVERIFY(choice.verdicts()[1].reason.find("balanced is used from now on") == 0);
    }

    void outliers_doNotDecide() {
        std::mt19937_64 random(2);
        LiveComparison choice(kBalanced, kStatic);
        run(choice, kComparison + 1, [&](bool p) {
            const double usual = p == kFavourite ? 1000 : 1100;
            return p == kFavourite && random() % 5 == 0 ? 1e6 : usual;
        });
        QCOMPARE(choice.verdicts().at(0).favourite_kept, true);
    }

    void steps_whoseSchedulesAgree_areNotCompared() {
        LiveComparison choice(kBalanced, kStatic);
        const auto same = [](bool p) { return p == kFavourite ? 2.0 : 1.0; };
        QCOMPARE(run(choice, 5000, same, false), 0);
        QVERIFY(!choice.comparing());
        QVERIFY(choice.verdicts().empty());
        // In between they are left out: the comparison takes as many steps with a difference as ever.
        int differing = 0;
        for (int i = 0; choice.verdicts().empty() && i < 10 * kComparison; ++i) {
            const bool differ = i % 3 == 0;
            differing += differ ? 1 : 0;
            choice.record(same(choice.uses_favourite()), differ);
        }
        QCOMPARE(differing, kComparison + 1);
    }

    void verdicts_ofALongSession_areTheLast64() {
        LiveComparison choice(kBalanced, kStatic);
        run(choice, 80 * (static_cast<int>(LiveComparison::kEvery) + kComparison), [](bool) { return 1.0; });
        QCOMPARE(choice.verdicts().size(), std::size_t{64});
        QVERIFY(choice.verdicts().back().at_step > 64 * LiveComparison::kEvery);
    }
};

QTEST_GUILESS_MAIN(TestLiveComparison)
#include "tst_live_comparison.moc"
