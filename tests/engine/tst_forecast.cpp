#include <QtTest>

#include "engine/plan/forecast.h"
#include "engine/plan/planner_objective.h"
#include "tests/engine/plan_values.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

constexpr std::uint64_t kExpertBytes = 1'000'000;

ModelDemand demand(std::int64_t experts = 8, std::int64_t active = 2) {
    ModelDemand d;
    d.n_layers = 4;
    d.n_experts = experts;
    d.n_active = active;
    d.expert_bytes = kExpertBytes;
    d.formats = {{FormatId::kBf16, kExpertBytes, 16}};
    d.max_context = 4096;
    return d;
}

CostTable table() {
    CostTable t;
    t.weight_copy_us = 300;
    t.activation_copy = {{1, 0}, {2, 0}};
    t.gpu_expert = {{1, 20}, {2, 20}};
    t.cpu_expert = {{1, 100}, {2, 200}};
    t.dense.step = {{1, 1000}, {2, 20}, {3, 30}};  // 10 for each token of a prompt
    return t;
}

Plan planOf(const ModelDemand& d, std::int64_t resident_per_layer) {
    Plan plan;
    for (std::int64_t layer = 0; layer < d.n_layers; ++layer) {
        for (std::int64_t e = 0; e < d.n_experts; ++e)
            plan.places.push_back(e < resident_per_layer ? Place::kDevice : Place::kRam);
    }
    plan.staging_slots = 2;
    return plan;
}

Popularity skewed(const ModelDemand& d) {
    Popularity p = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(p.counts.size()); ++i)
        p.counts[static_cast<std::size_t>(i)] = static_cast<double>(10 + i % d.n_experts);
    return p;
}

bool isNear(double value, double expected, double share) {
    if (std::abs(value - expected) <= share * expected) return true;
    qWarning("%g is not %g within %g %%", value, expected, share * 100);
    return false;
}

}  // namespace

class TestForecast : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void decode_withAllExpertsInOnePlace_isTheSumOfTheirTimes_data() {
        QTest::addColumn<int>("resident");
        QTest::addColumn<int>("policy");
        QTest::addColumn<double>("layer_us");
        QTest::addColumn<double>("bytes");
        QTest::newRow("on the device") << 8 << int(PolicyKind::kBalanced) << 40.0 << 0.0;
        QTest::newRow("on the CPU") << 0 << int(PolicyKind::kStatic) << 200.0 << 0.0;
        QTest::newRow("copied") << 0 << int(PolicyKind::kTransfer) << 620.0 << 8.0 * kExpertBytes;
    }
    void decode_withAllExpertsInOnePlace_isTheSumOfTheirTimes() {
        QFETCH(int, resident);
        QFETCH(int, policy);
        QFETCH(double, layer_us);
        QFETCH(double, bytes);
        const ModelDemand d = demand();
        const auto kind = static_cast<PolicyKind>(policy);
        const Forecast f = forecast(planOf(d, resident), d, skewed(d), CostModel(table()), kind, 100);
        QVERIFY(isNear(f.decode_layer_us, layer_us, 1e-9));
        QVERIFY(isNear(f.decode_tokens_per_s, 1e6 / (1000 + 4 * layer_us), 1e-9));
        QCOMPARE(f.bytes_per_token, bytes);
        QVERIFY(isNear(f.hit_rate + 1, resident / 8.0 + 1, 1e-9));
    }

    // Half the experts resident, static: a layer costs 20 us per hit and 100 per miss,
    // side by side.
    void decode_drawsExpertsByTheirShare() {
        const ModelDemand d = demand(8, 1);
        const Popularity p = skewed(d);
        const Forecast f = forecast(planOf(d, 4), d, p, CostModel(table()), PolicyKind::kStatic, 1);
        const double hit_rate = (10.0 + 11 + 12 + 13) / (4 * 13.5 * 2);
        QVERIFY(isNear(f.hit_rate, hit_rate, 1e-9));
        QVERIFY(isNear(f.decode_layer_us, hit_rate * 20 + (1 - hit_rate) * 100, 0.08));
    }

    void prefill_ofLongSteps_countsEveryExpertOnceAndAllTokens() {
        const ModelDemand d = demand();
        Plan plan = planOf(d, 8);
        plan.max_step = 512;
        const CostModel cost(table());
        const auto prefill = [&](std::int64_t tokens) {
            return forecast(plan, d, skewed(d), cost, PolicyKind::kBalanced, tokens);
        };
        // 8 experts at 20 us, 4 layers, per step.
        QVERIFY(isNear(prefill(512).ttft_s, (8 * 20 * 4 + 5120) / 1e6, 1e-9));
        QVERIFY(isNear(prefill(51200).ttft_s, 100 * (8 * 20 * 4 + 5120) / 1e6, 1e-9));
        QVERIFY(isNear(prefill(1024 + 300).ttft_s, (3 * 8 * 20 * 4 + 13240) / 1e6, 1e-9));
        QVERIFY(isNear(prefill(512).prefill_tokens_per_s, 512e6 / (8 * 20 * 4 + 5120), 1e-9));
        plan.max_step = 4096;  // one step instead of eight
        QVERIFY(isNear(prefill(4096).ttft_s, (8 * 20 * 4 + 40960) / 1e6, 1e-9));
    }

    // On the CPU a token costs 100 us per expert, for any distribution: the draw keeps
    // the number of tokens. For a prompt in steps of 40, 40 and 20 tokens, the last
    // layer's experts are computed for the last token.
    void prefill_leavesOutOfTheLastLayer_whatNobodyAsksFor() {
        ModelDemand d = demand(8, 8);  // all are called
        CostTable t = table();
        t.gpu_expert.clear();
        t.cpu_expert = {{1, 100}, {2, 200}};
        Plan plan = planOf(d, 0);
        plan.max_step = 40;
        const auto us = [&] {
            const Forecast f = forecast(plan, d, Popularity::uniform(4, 8, 8), CostModel(t), PolicyKind::kStatic, 100);
            return f.ttft_s * 1e6;
        };
        const double whole_us = us();
        d.ends_with_experts = true;
        QVERIFY(isNear(whole_us - us(), 99 * 8 * 100, 1e-9));
        // One step that is full.
        plan.max_step = 100;
        d.ends_with_experts = false;
        const double at_once_us = us();
        d.ends_with_experts = true;
        QVERIFY(isNear(at_once_us - us(), 99 * 8 * 100, 1e-9));
        QCOMPARE(computed_tokens(d, 3, 40, false), 0);
        QCOMPARE(computed_tokens(d, 3, 40, true), 1);
        QCOMPARE(computed_tokens(d, 3, 1, false), 1);
        QCOMPARE(computed_tokens(d, 2, 40, true), 40);
    }

    void prefill_onTheCpu_countsAllTokens_data() {
        QTest::addColumn<int>("tokens");
        for (const int n : {1, 7, 64, 65, 512}) QTest::addRow("%d", n) << n;
    }
    void prefill_onTheCpu_countsAllTokens() {
        QFETCH(int, tokens);
        const ModelDemand d = demand();
        CostTable t = table();
        t.dense.step.front().us = 10;
        const Forecast f = forecast(planOf(d, 0), d, skewed(d), CostModel(t), PolicyKind::kStatic, tokens);
        QVERIFY(isNear(f.ttft_s, tokens * (4 * 2 * 100 + 10) / 1e6, tokens > 64 ? 0.05 : 1e-9));
    }

    // Guessed experts are read before their layer begins if the disk has time: four of
    // five, and none of the first layer.
    void decode_fromDisk_readsAheadWhatIsGuessed() {
        ModelDemand d = demand(2, 2);
        d.shares_host_memory = true;
        CostTable t = table();
        t.gpu_expert.clear();
        t.cpu_expert = {{1, 10}, {2, 20}};
        t.dense.step = {{1, 4000}, {2, 4000}};
        t.dense.guess_us = 50;
        t.disk = {100, 0, 0};
        t.disk_beside = true;
        Plan plan = planOf(d, 0);
        plan.places.assign(plan.places.size(), Place::kDisk);
        plan.host_staging_slots = 4;  // half of a token's calls: none is there at its next call
        Popularity uniform = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
        const auto token_us = [&] {
            return 1e6 / forecast(plan, d, uniform, CostModel(t), PolicyKind::kStatic, 1).decode_tokens_per_s;
        };
        const double needed_us = 2 * 100 + 10;
        QVERIFY(isNear(token_us(), 4000 + 4 * needed_us, 1e-9));
        d.disk_guess_slots = 2;
        const double guessed_us = 0.64 * 20 + 0.32 * (100 + 10) + 0.04 * needed_us;
        QVERIFY(isNear(token_us(), 4050 + needed_us + 3 * guessed_us, 0.01));
        // As many as were counted, at the same places.
        uniform.habits = {{}, 200, 100, {}};
        QVERIFY(isNear(token_us(), 4050 + needed_us + 3 * (0.25 * 20 + 0.5 * (100 + 10) + 0.25 * needed_us), 0.015));
        uniform.habits = {};
        // If one is missing, its layer begins with an idle disk.
        t.disk.latency_us = 200;
        QVERIFY(isNear(token_us(), 4050 + needed_us + 3 * guessed_us + 200 * (1 + 3 * 0.36), 0.015));
        // Without time between the layers, reads ahead happen only while the CPU
        // computes.
        t.disk.latency_us = 0;
        t.dense.step = {{1, 0}, {2, 0}};
        t.dense.guess_us = 0;
        QVERIFY(token_us() > 4 * needed_us - 3 * 2 * 20);
    }

    // If copies stay, the recently used experts are on the device, independent of the
    // first placement; and experts that a prompt never called need no copy.
    void habits_makeForecastsFaster() {
        const ModelDemand still = demand();
        ModelDemand moving = still;
        moving.residents_change = true;
        const CostModel cost(table());
        const Plan plan = planOf(still, 3);
        Popularity popularity = Popularity::uniform(still.n_layers, still.n_experts, still.n_active);
        const auto of = [&](const ModelDemand& d) {
            return forecast(plan, d, popularity, cost, PolicyKind::kTransfer, 64);
        };
        const Forecast plain = of(moving);
        QCOMPARE(plain.decode_tokens_per_s, of(still).decode_tokens_per_s);
        popularity.habits.reused = {1e4};  // always the one before
        QCOMPARE(of(still).decode_tokens_per_s, plain.decode_tokens_per_s);
        QVERIFY(of(moving).decode_tokens_per_s > plain.decode_tokens_per_s);
        QCOMPARE(of(moving).bytes_per_token, 0.0);
        popularity.habits = {};
        popularity.habits.calls.assign(popularity.counts.size(), 0.0);
        for (std::int64_t layer = 0; layer < still.n_layers; ++layer) {
            for (std::int64_t e = 0; e < still.n_active; ++e)
                popularity.habits.calls[static_cast<std::size_t>(layer * still.n_experts + e)] = 1000;
        }
        QVERIFY(of(still).ttft_s < plain.ttft_s);
        popularity.n_tokens = 1;  // counts were given: they stay
        QCOMPARE(of(still).ttft_s, plain.ttft_s);
    }

    void forecast_isDeterministic() {
        const ModelDemand d = demand();
        const auto once = [&] {
            return forecast(planOf(d, 3), d, skewed(d), CostModel(table()), PolicyKind::kBalanced, 1000);
        };
        QCOMPARE(once().decode_tokens_per_s, once().decode_tokens_per_s);
        QCOMPARE(once().ttft_s, once().ttft_s);
    }

    void forecast_ofMoreResidents_isFaster() {
        const ModelDemand d = demand();
        double last = 0;
        for (const int resident : {0, 2, 4, 6, 8}) {
            PlanInputs inputs = plan_inputs(d, skewed(d));
            inputs.cost = CostModel(table());
            inputs.decode = PolicyKind::kStatic;
            const Forecast f = inputs.forecast(planOf(d, resident), 100);
            QVERIFY(f.decode_tokens_per_s > last);
            last = f.decode_tokens_per_s;
        }
    }
};

QTEST_GUILESS_MAIN(TestForecast)
#include "tst_forecast.moc"
