#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <QTest>

#include "kernels/cpu_kernels.h"
#include "test_data.h"

using namespace offstage::kernels;

namespace {

struct Routing {
    std::vector<std::int32_t> experts;
    std::vector<float> weights;
};

Routing route(const std::vector<float>& logits, int n_active, bool renormalise) {
    Routing routing{std::vector<std::int32_t>(static_cast<std::size_t>(n_active)),
                    std::vector<float>(static_cast<std::size_t>(n_active))};
    route_softmax_top_k(logits, n_active, renormalise, routing.experts, routing.weights);
    return routing;
}

}  // namespace

class TestRouting : public QObject {
    Q_OBJECT

  private slots:
    void ties_go_to_the_lower_index();
    void weights_match_softmax_in_double_data();
    void weights_match_softmax_in_double();
    void all_experts_active_are_sorted_and_sum_to_one();
    void extreme_logits_stay_finite();
    void not_a_number_is_never_preferred();
};

void TestRouting::ties_go_to_the_lower_index() {
    QCOMPARE(route({1, 3, 2, 3, 3}, 2, true).experts, (std::vector<std::int32_t>{1, 3}));
    QCOMPARE(route({5, 5, 5, 5}, 3, true).experts, (std::vector<std::int32_t>{0, 1, 2}));
    QCOMPARE(route({0, 1, 1, 2}, 3, false).experts, (std::vector<std::int32_t>{3, 1, 2}));
    QCOMPARE(route({5, 5, 5, 5}, 2, false).weights, (std::vector<float>{0.25f, 0.25f}));
    QCOMPARE(route({5, 5, 5, 5}, 2, true).weights, (std::vector<float>{0.5f, 0.5f}));
}

void TestRouting::weights_match_softmax_in_double_data() {
    QTest::addColumn<int>("n_experts");
    QTest::addColumn<int>("n_active");
    QTest::addColumn<bool>("renormalise");
    for (const auto& [n_experts, n_active] : {std::pair{8, 2}, {64, 8}, {128, 8}, {1, 1}, {16, 16}}) {
        for (const bool renormalise : {false, true}) {
            QTest::addRow("%d of %d, %s", n_active, n_experts, renormalise ? "renormalised" : "plain")
                << n_experts << n_active << renormalise;
        }
    }
}

void TestRouting::weights_match_softmax_in_double() {
    QFETCH(int, n_experts);
    QFETCH(int, n_active);
    QFETCH(bool, renormalise);
    std::vector<float> logits(static_cast<std::size_t>(n_experts));
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        test::fill_random(logits, seed, 6.0f);
        const Routing routing = route(logits, n_active, renormalise);
        std::vector<std::int32_t> order(logits.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
        });
        order.resize(static_cast<std::size_t>(n_active));
        QCOMPARE(routing.experts, order);
        const auto e = [&](std::int32_t expert) { return std::exp(double{logits[static_cast<std::size_t>(expert)]}); };
        double sum = 0.0;
        if (renormalise) {
            for (const std::int32_t expert : order) sum += e(expert);
        } else {
            for (std::int32_t expert = 0; expert < n_experts; ++expert) sum += e(expert);
        }
        for (std::size_t i = 0; i < order.size(); ++i) {
            QVERIFY(std::abs(double{routing.weights[i]} - e(order[i]) / sum) < 1e-6);
        }
    }
}

void TestRouting::all_experts_active_are_sorted_and_sum_to_one() {
    const Routing routing = route({0.5f, -1.0f, 2.0f, 0.0f}, 4, false);
    QCOMPARE(routing.experts, (std::vector<std::int32_t>{2, 0, 3, 1}));
    QVERIFY(std::is_sorted(routing.weights.rbegin(), routing.weights.rend()));
    QVERIFY(std::abs(std::accumulate(routing.weights.begin(), routing.weights.end(), 0.0f) - 1.0f) < 1e-6f);
}

void TestRouting::extreme_logits_stay_finite() {
    const float infinity = std::numeric_limits<float>::infinity();
    QCOMPARE(route({3e38f, -3e38f, 0.0f}, 2, true).weights, (std::vector<float>{1.0f, 0.0f}));
    QCOMPARE(route({-3e38f, -3e38f}, 1, false).weights, (std::vector<float>{0.5f}));
    QCOMPARE(route({1.0f, -infinity, 1.0f}, 3, true).experts, (std::vector<std::int32_t>{0, 2, 1}));
    QCOMPARE(route({1.0f, -infinity, 1.0f}, 3, true).weights, (std::vector<float>{0.5f, 0.5f, 0.0f}));
    QCOMPARE(route({infinity, 1.0f, infinity}, 2, true).weights, (std::vector<float>{0.5f, 0.5f}));
    QCOMPARE(route({-infinity, -infinity}, 2, true).weights, (std::vector<float>{0.5f, 0.5f}));
}

void TestRouting::not_a_number_is_never_preferred() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    QCOMPARE(route({nan, -5.0f, nan, 2.0f}, 2, true).experts, (std::vector<std::int32_t>{3, 1}));
    const Routing all = route({nan, nan, nan}, 2, true);
    QCOMPARE(all.experts, (std::vector<std::int32_t>{0, 1}));
    QCOMPARE(all.weights, (std::vector<float>{0.5f, 0.5f}));
}

QTEST_GUILESS_MAIN(TestRouting)
#include "tst_routing.moc"
