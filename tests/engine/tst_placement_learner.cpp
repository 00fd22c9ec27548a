#include <algorithm>
#include <numeric>
#include <random>

#include <QtTest>

#include "engine/experts/placement_learner.h"
#include "engine/plan/popularity.h"

using namespace offstage::engine;

namespace {

// A stream in which a layer's experts are chosen by weight, without repetition.
class Stream {
  public:
    Stream(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active, double skew, std::uint64_t seed)
        : n_layers_(n_layers), n_experts_(n_experts), n_active_(n_active), random_(seed) {
        weights_.resize(static_cast<std::size_t>(n_layers * n_experts));
        turn(skew);
    }
    // Other experts become the popular ones.
    void turn(double skew) {
        for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
            const auto first = weights_.begin() + layer * n_experts_;
            for (std::int64_t e = 0; e < n_experts_; ++e) first[e] = std::pow(1.0 + static_cast<double>(e), -skew);
            std::shuffle(first, first + n_experts_, random_);
        }
    }
    std::vector<std::int32_t> token() {
        std::vector<std::int32_t> experts;
        for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
            std::vector<double> w(weights_.begin() + layer * n_experts_, weights_.begin() + (layer + 1) * n_experts_);
            for (std::int64_t a = 0; a < n_active_; ++a) {
                std::discrete_distribution<std::int32_t> choose(w.begin(), w.end());
                experts.push_back(choose(random_));
                w[static_cast<std::size_t>(experts.back())] = 0;
            }
        }
        return experts;
    }

  private:
    std::int64_t n_layers_, n_experts_, n_active_;
    std::mt19937_64 random_;
    std::vector<double> weights_;
};

struct Shape {
    std::int64_t layers = 8, experts = 16, active = 2, resident = 4;  // resident: per layer
};

std::vector<std::uint8_t> firstExperts(const Shape& s) {
    std::vector<std::uint8_t> resident(static_cast<std::size_t>(s.layers * s.experts), 0);
    for (std::int64_t l = 0; l < s.layers; ++l)
        for (std::int64_t e = 0; e < s.resident; ++e) resident[static_cast<std::size_t>(l * s.experts + e)] = 1;
    return resident;
}

// Carries one proposal out. False if there is none.
bool exchange(const PlacementLearner& learner, const Shape& s, std::vector<std::uint8_t>& resident) {
    const auto proposal = learner.propose(resident);
    if (!proposal) return false;
    std::uint8_t& in = resident[static_cast<std::size_t>(proposal->admit_layer * s.experts + proposal->admit_expert)];
    std::uint8_t& out = resident[static_cast<std::size_t>(proposal->evict_layer * s.experts + proposal->evict_expert)];
    if (in != 0 || out != 1) qFatal("not an exchange of an absent expert for a resident one");
    in = 1;
    out = 0;
    return true;
}

struct Run {
    int exchanges = 0;
    Popularity seen;
};

Run run(Stream& stream, PlacementLearner& learner, const Shape& s, std::vector<std::uint8_t>& resident, int tokens) {
    Run result{0, Popularity::uniform(s.layers, s.experts, s.active)};
    for (int t = 0; t < tokens; ++t) {
        const std::vector<std::int32_t> experts = stream.token();
        result.seen.add(experts, 1);
        learner.observe(experts, 1);
        result.exchanges += exchange(learner, s, resident) ? 1 : 0;
    }
    return result;
}

// The best placement of as many experts, knowing the counts.
double bestRate(const Popularity& seen, const std::vector<std::uint8_t>& resident) {
    std::vector<std::size_t> order(resident.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return seen.counts[a] > seen.counts[b]; });
    std::vector<std::uint8_t> best(resident.size(), 0);
    for (std::ptrdiff_t i = 0; i < std::count(resident.begin(), resident.end(), 1); ++i)
        best[order[static_cast<std::size_t>(i)]] = 1;
    return expected_hit_rate(seen, best);
}

}  // namespace

class TestPlacementLearner : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void counts_halveEveryHalfLife() {
        PlacementLearner learner(1, 2, 1, 100);
        learner.observe(std::vector<std::int32_t>{0}, 1);
        QVERIFY(std::abs(learner.count(0, 0) - 1) < 1e-9);
        learner.observe(std::vector<std::int32_t>(100, 1), 100);
        QVERIFY(std::abs(learner.count(0, 0) - 0.5) < 1e-9);
        const double steady = learner.count(0, 1);
        // Long after every rescaling the counts still follow the last tokens.
        for (int i = 0; i < 1000; ++i) learner.observe(std::vector<std::int32_t>(100, 1), 100);
        QVERIFY(learner.count(0, 0) < 1e-9);
        QVERIFY(std::abs(learner.count(0, 1) - 2 * steady) < 1e-6);
    }

    void ids_outOfRange_areIgnored() {
        PlacementLearner learner(1, 2, 2, 100);
        learner.observe(std::vector<std::int32_t>{-1, 2}, 1);
        QCOMPARE(learner.count(0, 0), 0.0);
        QCOMPARE(learner.count(0, 1), 0.0);
    }

    void proposal_needsAClearMargin_data() {
        QTest::addColumn<int>("inside");
        QTest::addColumn<int>("outside");
        QTest::addColumn<bool>("proposes");
        QTest::newRow("nothing seen") << 0 << 0 << false;
        QTest::newRow("a few tokens") << 0 << 4 << false;
        QTest::newRow("some more") << 0 << 6 << true;
        QTest::newRow("a little more popular") << 100 << 140 << false;
        QTest::newRow("clearly more popular") << 100 << 160 << true;
        QTest::newRow("less popular") << 100 << 50 << false;
    }
    void proposal_needsAClearMargin() {
        QFETCH(int, inside);
        QFETCH(int, outside);
        QFETCH(bool, proposes);
        PlacementLearner learner(1, 2, 1, 1'000'000);
        learner.observe(std::vector<std::int32_t>(static_cast<std::size_t>(inside), 0), inside);
        learner.observe(std::vector<std::int32_t>(static_cast<std::size_t>(outside), 1), outside);
        const auto proposal = learner.propose(std::vector<std::uint8_t>{1, 0});
        QCOMPARE(proposal.has_value(), proposes);
        if (proposal) {
            QCOMPARE(proposal->admit_expert, 1);
            QCOMPARE(proposal->evict_expert, 0);
        }
        QVERIFY(!learner.propose(std::vector<std::uint8_t>{1, 1}));
        QVERIFY(!learner.propose(std::vector<std::uint8_t>{0, 0}));
    }

    void proposal_betweenLayers_onlyWhenNoneWithinALayerPays() {
        // Layer 0 uses expert 0 alone, layer 1 expert 1 alone.
        PlacementLearner learner(2, 2, 1, 1'000'000);
        for (int i = 0; i < 50; ++i) learner.observe(std::vector<std::int32_t>{0, 1}, 1);
        const auto within = learner.propose(std::vector<std::uint8_t>{0, 1, 0, 0});
        QVERIFY(within && within->admit_layer == 0 && within->evict_layer == 0);
        const auto between = learner.propose(std::vector<std::uint8_t>{1, 1, 0, 0});
        QVERIFY(between && between->admit_layer == 1 && between->admit_expert == 1);
        QVERIFY(between->evict_layer == 0 && between->evict_expert == 1);
        QVERIFY(!learner.propose(std::vector<std::uint8_t>{1, 0, 0, 1}));
    }

    void hitRate_ofASkewedStream_approachesTheBestStaticPlacement_data() {
        QTest::addColumn<double>("skew");
        QTest::addColumn<double>("share");  // of the best placement's gain over the first one, at least
        QTest::newRow("mild") << 0.5 << 0.8;
        QTest::newRow("strong") << 1.0 << 0.95;
        QTest::newRow("very strong") << 2.0 << 0.97;
    }
    void hitRate_ofASkewedStream_approachesTheBestStaticPlacement() {
        QFETCH(double, skew);
        QFETCH(double, share);
        const Shape s;
        Stream stream(s.layers, s.experts, s.active, skew, 5);
        PlacementLearner learner(s.layers, s.experts, s.active);
        std::vector<std::uint8_t> resident = firstExperts(s);
        run(stream, learner, s, resident, 1500);
        const std::vector<std::uint8_t> first = firstExperts(s);
        const Run later = run(stream, learner, s, resident, 3000);
        const double before = expected_hit_rate(later.seen, first);
        const double learnt = expected_hit_rate(later.seen, resident);
        const double best = bestRate(later.seen, resident);
        qInfo("hit rate %.1f %% before, %.1f %% learnt, %.1f %% best; %d exchanges in the last 3000 tokens",
              100 * before, 100 * learnt, 100 * best, later.exchanges);
        QVERIFY(learnt - before >= share * (best - before));
        // Once learnt it rests: less than one exchange in a hundred tokens.
        QVERIFY(later.exchanges < 30);
    }

    void evenStream_isLeftAlone() {
        const Shape s;
        Stream stream(s.layers, s.experts, s.active, 0, 6);
        PlacementLearner learner(s.layers, s.experts, s.active);
        std::vector<std::uint8_t> resident = firstExperts(s);
        run(stream, learner, s, resident, 1000);
        const Run later = run(stream, learner, s, resident, 4000);
        QVERIFY2(later.exchanges <= 20, qPrintable(QString::number(later.exchanges)));
    }

    void streamThatTurns_isFollowed() {
        const Shape s;
        Stream stream(s.layers, s.experts, s.active, 1.0, 7);
        PlacementLearner learner(s.layers, s.experts, s.active, 512);
        std::vector<std::uint8_t> resident = firstExperts(s);
        run(stream, learner, s, resident, 3000);
        stream.turn(1.0);
        const std::vector<std::uint8_t> old = resident;
        run(stream, learner, s, resident, 3000);
        const Run later = run(stream, learner, s, resident, 2000);
        const double best = bestRate(later.seen, resident);
        QVERIFY(expected_hit_rate(later.seen, old) < 0.7 * best);
        QVERIFY(expected_hit_rate(later.seen, resident) > 0.95 * best);
    }
};

QTEST_GUILESS_MAIN(TestPlacementLearner)
#include "tst_placement_learner.moc"
