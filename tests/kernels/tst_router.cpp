// The router's choice against the same in double precision (router_reference.h).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <QTest>

#include "kernels/cpu_kernels.h"
#include "router_reference.h"
#include "test_buffer.h"
#include "test_data.h"

using namespace offstage::kernels;

namespace {

struct Routing {
    std::vector<std::int32_t> experts;
    std::vector<float> weights;
};

Routing route(const RouterSpec& spec, const std::vector<float>& logits, const std::vector<float>& bias = {}) {
    Routing routing{std::vector<std::int32_t>(static_cast<std::size_t>(spec.n_active)),
                    std::vector<float>(static_cast<std::size_t>(spec.n_active))};
    std::vector<float> scratch(2 * logits.size(), std::nanf(""));
    offstage::kernels::route(spec, logits, bias.empty() ? nullptr : bias.data(), routing.experts, routing.weights,
                             scratch);
    return routing;
}

// Softmax, without groups.
Routing route(const std::vector<float>& logits, int n_active, bool renormalise) {
    RouterSpec spec;
    spec.n_experts = static_cast<std::int32_t>(logits.size());
    spec.n_active = n_active;
    spec.renormalise = renormalise;
    return route(spec, logits);
}

std::vector<float> random_values(std::int32_t n, std::uint32_t seed, float scale) {
    std::vector<float> values(static_cast<std::size_t>(n));
    test::fill_random(values, seed, scale);
    return values;
}

}  // namespace

class TestRouter : public QObject {
    Q_OBJECT

  private slots:
    void ties_go_to_the_lower_index();
    void weights_match_softmax_in_double_data();
    void weights_match_softmax_in_double();
    void every_spec_matches_the_reference_data();
    void every_spec_matches_the_reference();
    void plain_softmax_keeps_its_bits();
    void groups_of_equal_experts_go_to_the_lower_index();
    void a_bias_chooses_and_does_not_weigh();
    void an_experts_scale_weighs_and_does_not_choose();
    void more_experts_than_the_groups_have_get_more_groups();
    void nothing_beyond_the_results_is_written();
    void all_experts_active_are_sorted_and_sum_to_one();
    void extreme_logits_stay_finite();
    void not_a_number_is_never_preferred();
    void not_a_number_stays_in_range_data();
    void not_a_number_stays_in_range();
};

void TestRouter::ties_go_to_the_lower_index() {
    QCOMPARE(route({1, 3, 2, 3, 3}, 2, true).experts, (std::vector<std::int32_t>{1, 3}));
    QCOMPARE(route({5, 5, 5, 5}, 3, true).experts, (std::vector<std::int32_t>{0, 1, 2}));
    QCOMPARE(route({0, 1, 1, 2}, 3, false).experts, (std::vector<std::int32_t>{3, 1, 2}));
    QCOMPARE(route({5, 5, 5, 5}, 2, false).weights, (std::vector<float>{0.25f, 0.25f}));
    QCOMPARE(route({5, 5, 5, 5}, 2, true).weights, (std::vector<float>{0.5f, 0.5f}));
}

void TestRouter::weights_match_softmax_in_double_data() {
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

void TestRouter::weights_match_softmax_in_double() {
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

void TestRouter::every_spec_matches_the_reference_data() {
    QTest::addColumn<int>("index");
    QTest::addColumn<bool>("biased");
    const std::vector<RouterSpec> specs = test::router_specs();
    for (std::size_t i = 0; i < specs.size(); ++i) {
        for (const bool biased : {false, true}) {
            const RouterSpec& spec = specs[i];
            QTest::addRow("%s, %d of %d, groups %d of %d by %s, %s, floor %g, %s", test::name_of(spec.scoring),
                          spec.n_active, spec.n_experts, spec.n_groups_used, spec.n_groups,
                          spec.group_score == GroupScore::kLargest ? "the best" : "the two best",
                          spec.renormalise ? "renormalised" : "scaled", double{spec.denominator_floor},
                          biased ? "biased" : "plain")
                << static_cast<int>(i) << biased;
        }
    }
}

void TestRouter::every_spec_matches_the_reference() {
    QFETCH(int, index);
    QFETCH(bool, biased);
    const RouterSpec spec = test::router_specs()[static_cast<std::size_t>(index)];
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        const std::vector<float> logits = random_values(spec.n_experts, seed, 4.0f);
        const std::vector<float> bias = biased ? random_values(spec.n_experts, 100 + seed, 0.3f) : std::vector<float>();
        const Routing got = route(spec, logits, bias);
        const test::Routing want =
            test::expected_routing(spec, std::vector<double>(logits.begin(), logits.end()), bias);
        QCOMPARE(got.experts, want.experts);
        for (std::size_t i = 0; i < got.weights.size(); ++i) {
            QVERIFY(std::abs(double{got.weights[i]} - want.weights[i]) < 2e-6 * (1 + want.weights[i]));
        }
    }
}

// Mixtral's choice: its answers must not change by a bit.
void TestRouter::plain_softmax_keeps_its_bits() {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        const std::vector<float> logits = random_values(8, seed, 6.0f);
        const Routing got = route(logits, 2, true);
        const float best = logits[static_cast<std::size_t>(got.experts[0])];
        const float second = std::exp(logits[static_cast<std::size_t>(got.experts[1])] - best);
        const float sum = 1.0f + second;
        QVERIFY(got.weights[0] == 1.0f / sum && got.weights[1] == second / sum);
    }
}

void TestRouter::groups_of_equal_experts_go_to_the_lower_index() {
    for (const RouterScoring scoring : test::kScorings) {
        for (const GroupScore score : {GroupScore::kLargest, GroupScore::kSumOfTwoBest}) {
            RouterSpec spec;
            spec.scoring = scoring;
            spec.group_score = score;
            spec.n_experts = 12;
            spec.n_active = 4;
            spec.n_groups = 4;
            spec.n_groups_used = 2;
            QCOMPARE(route(spec, std::vector<float>(12, 0.5f)).experts, (std::vector<std::int32_t>{0, 1, 2, 3}));
            // The last two groups are the best, and equal.
            const std::vector<float> logits = {0, 1, 2, 0, 1, 2, 1, 2, 3, 1, 2, 3};
            QCOMPARE(route(spec, logits).experts, (std::vector<std::int32_t>{8, 11, 7, 10}));
            const std::vector<float> bias(12, 0.125f);
            QCOMPARE(route(spec, logits, bias).experts, (std::vector<std::int32_t>{8, 11, 7, 10}));
        }
    }
}

void TestRouter::a_bias_chooses_and_does_not_weigh() {
    RouterSpec spec;
    spec.scoring = RouterScoring::kSigmoid;
    spec.n_experts = 4;
    spec.n_active = 2;
    spec.renormalise = false;
    spec.scale = 3.0f;
    const Routing routing = route(spec, {0.0f, 0.0f, 0.0f, 10.0f}, {0.0f, 0.75f, 0.25f, -1.0f});
    QCOMPARE(routing.experts, (std::vector<std::int32_t>{1, 2}));
    QCOMPARE(routing.weights, (std::vector<float>{1.5f, 1.5f}));
}

void TestRouter::an_experts_scale_weighs_and_does_not_choose() {
    const std::vector<float> scale = {100.0f, 0.5f, -2.0f, 4.0f};
    for (RouterSpec spec : test::router_specs()) {
        spec.n_experts = 4;
        spec.n_active = 2;
        spec.n_groups = spec.n_groups_used = 1;
        const std::vector<float> logits = {0.1f, 0.7f, -0.4f, 0.9f};
        const Routing plain = route(spec, logits);
        Routing scaled = plain;
        std::vector<float> scratch(8);
        offstage::kernels::route(spec, logits, nullptr, scaled.experts, scaled.weights, scratch, scale.data());
        QCOMPARE(scaled.experts, plain.experts);
        for (std::size_t i = 0; i < 2; ++i) {
            QCOMPARE(scaled.weights[i], plain.weights[i] * scale[static_cast<std::size_t>(plain.experts[i])]);
        }
    }
}

void TestRouter::more_experts_than_the_groups_have_get_more_groups() {
    RouterSpec spec;
    spec.n_experts = 12;
    spec.n_active = 4;
    spec.n_groups = 4;
    spec.n_groups_used = 1;
    const std::vector<float> logits = {0, 9, 0, 1, 1, 1, 2, 3, 4, 0, 0, 8};
    QCOMPARE(route(spec, logits).experts, (std::vector<std::int32_t>{1, 11, 0, 2}));
    spec.n_active = 12;
    std::vector<std::int32_t> all = route(spec, logits).experts;
    std::sort(all.begin(), all.end());
    for (std::int32_t e = 0; e < 12; ++e) QCOMPARE(all[static_cast<std::size_t>(e)], e);
}

void TestRouter::nothing_beyond_the_results_is_written() {
    for (const RouterSpec& spec : test::router_specs()) {
        const std::vector<float> logits = random_values(spec.n_experts, 1, 4.0f);
        const std::vector<float> bias = random_values(spec.n_experts, 2, 1.0f);
        const test::TestBuffer<std::int32_t> experts(spec.n_active);
        const test::TestBuffer<float> weights(spec.n_active, 4);
        const test::TestBuffer<float> scratch(2 * spec.n_experts, 4);
        offstage::kernels::route(spec, logits, bias.data(), experts.span(), weights.span(), scratch.span());
        QVERIFY(experts.guards_intact() && weights.guards_intact() && scratch.guards_intact());
    }
}

void TestRouter::all_experts_active_are_sorted_and_sum_to_one() {
    const Routing routing = route({0.5f, -1.0f, 2.0f, 0.0f}, 4, false);
    QCOMPARE(routing.experts, (std::vector<std::int32_t>{2, 0, 3, 1}));
    QVERIFY(std::is_sorted(routing.weights.rbegin(), routing.weights.rend()));
    QVERIFY(std::abs(std::accumulate(routing.weights.begin(), routing.weights.end(), 0.0f) - 1.0f) < 1e-6f);
}

void TestRouter::extreme_logits_stay_finite() {
    const float infinity = std::numeric_limits<float>::infinity();
    QCOMPARE(route({3e38f, -3e38f, 0.0f}, 2, true).weights, (std::vector<float>{1.0f, 0.0f}));
    QCOMPARE(route({-3e38f, -3e38f}, 1, false).weights, (std::vector<float>{0.5f}));
    QCOMPARE(route({1.0f, -infinity, 1.0f}, 3, true).experts, (std::vector<std::int32_t>{0, 2, 1}));
    QCOMPARE(route({1.0f, -infinity, 1.0f}, 3, true).weights, (std::vector<float>{0.5f, 0.5f, 0.0f}));
    QCOMPARE(route({infinity, 1.0f, infinity}, 2, true).weights, (std::vector<float>{0.5f, 0.5f}));
    QCOMPARE(route({-infinity, -infinity}, 2, true).weights, (std::vector<float>{0.5f, 0.5f}));
}

void TestRouter::not_a_number_is_never_preferred() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    QCOMPARE(route({nan, -5.0f, nan, 2.0f}, 2, true).experts, (std::vector<std::int32_t>{3, 1}));
    const Routing all = route({nan, nan, nan}, 2, true);
    QCOMPARE(all.experts, (std::vector<std::int32_t>{0, 1}));
    QCOMPARE(all.weights, (std::vector<float>{0.5f, 0.5f}));
}

void TestRouter::not_a_number_stays_in_range_data() {
    every_spec_matches_the_reference_data();
}

// For any logits: experts of the model, all different, and weights that are numbers.
void TestRouter::not_a_number_stays_in_range() {
    QFETCH(int, index);
    QFETCH(bool, biased);
    const RouterSpec spec = test::router_specs()[static_cast<std::size_t>(index)];
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> bias = biased ? random_values(spec.n_experts, 3, 0.3f) : std::vector<float>();
    if (biased) bias[1] = nan;
    for (const std::vector<float>& odd : {std::vector{nan}, {nan, 0.5f}, {-infinity}, {infinity, nan}, {3e38f, nan}}) {
        std::vector<float> logits = random_values(spec.n_experts, 4, 4.0f);
        for (std::size_t e = 0; e < logits.size(); ++e) {
            if (odd.size() == 1 || e % 3 != 0) logits[e] = odd[e % odd.size()];
        }
        const Routing got = route(spec, logits, bias);
        std::vector<std::int32_t> experts = got.experts;
        std::sort(experts.begin(), experts.end());
        QVERIFY(std::adjacent_find(experts.begin(), experts.end()) == experts.end());
        QVERIFY(experts.front() >= 0 && experts.back() < spec.n_experts);
        for (const float weight : got.weights) QVERIFY(std::isfinite(weight));
    }
}

QTEST_GUILESS_MAIN(TestRouter)
#include "tst_router.moc"
