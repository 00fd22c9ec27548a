// The policies that are tried on live tokens, their order and duration. Costs and times
// are scripted.

#include <map>
#include <vector>

#include <QtTest>

#include "engine/dispatch/dispatcher.h"

using namespace offstage::engine;

namespace {

constexpr int kTrial = 2 * LiveComparison::kWindow * LiveComparison::kPairs;

// GPU 20; the given costs of CPU and copy.
CostTable table(double cpu_us, double copy_us) {
    CostTable t;
    t.weight_copy_us = copy_us;
    t.activation_copy = {{1, 0}, {2, 0}};
    t.gpu_expert = {{1, 20}, {2, 20}};
    t.cpu_expert = {{1, cpu_us}, {2, cpu_us}};
    return t;
}

// Two experts of a layer, none of them on the device.
const std::vector<ExpertLoad> kMisses = {{0, 1, Place::kRam}, {1, 1, Place::kRam}};

// Decode steps of one layer; returns how many each policy had.
std::map<PolicyKind, int> decode(Dispatcher& dispatcher, int steps, std::span<const ExpertLoad> loads,
                                 const std::map<PolicyKind, double>& step_us) {
    std::map<PolicyKind, int> used;
    for (int i = 0; i < steps; ++i) {
        dispatcher.begin_step(1, false);
        const PolicyKind policy = dispatcher.decode_policy();
        ++used[policy];
        dispatcher.schedule(loads, 2);
        dispatcher.end_step(step_us.at(policy));
    }
    return used;
}

const std::map<PolicyKind, double> kAlike = {{PolicyKind::kBalanced, 1000},
                                             {PolicyKind::kStatic, 1000},
                                             {PolicyKind::kThreshold, 1000},
                                             {PolicyKind::kTransfer, 1000}};

}  // namespace

class TestDispatcher : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // CPU 100 against 90 to copy and 20 to compute: balanced splits (110), static is the
    // CPU twice (200: too long), threshold is static, transfer copies both (200).
    void hopelessPolicies_haveNoTrial() {
        CostModel cost(table(100, 90));
        Dispatcher dispatcher(cost, parse_dispatch("auto"));
        const auto used = decode(dispatcher, 2000, kMisses, kAlike);
        QCOMPARE(used.size(), std::size_t{1});
        QCOMPARE(used.at(PolicyKind::kBalanced), 2000);
        QCOMPARE(dispatcher.n_decisions(), std::uint64_t{0});
    }

    // One miss more than is worth a copy: static 3 x 50 = 150, balanced 120, transfer 3 x
    // 60 + 20 = 200.
    void others_areTriedByForecast_eachOnce_andTheForecastStaysWhereAllAreAlike() {
        CostModel cost(table(50, 55));
        const std::vector<ExpertLoad> loads = {{0, 1, Place::kRam}, {1, 1, Place::kRam}, {2, 1, Place::kRam}};
        Dispatcher dispatcher(cost, parse_dispatch("auto"));
        const int look = Dispatcher::kStepsLookedAt;
        QCOMPARE(decode(dispatcher, look, loads, kAlike).at(PolicyKind::kBalanced), look);
        PolicyOutlook outlook(PolicyKind::kBalanced);
        outlook.add_layer(loads, cost, 2);
        const std::vector<std::size_t> challengers = outlook.challengers();
        QVERIFY(!challengers.empty());
        for (std::size_t i = 0; i < challengers.size(); ++i) {
            const PolicyKind policy = outlook.policies()[challengers[i]];
            const auto used = decode(dispatcher, kTrial, loads, kAlike);
            QCOMPARE(used.size(), std::size_t{2});
            QCOMPARE(used.at(PolicyKind::kBalanced), kTrial / 2);
            QCOMPARE(used.at(policy), kTrial / 2);
            QCOMPARE(dispatcher.n_decisions(), std::uint64_t{i + 1});
            QVERIFY(dispatcher.decisions().back().english().find(
                        "balanced is used, as " + std::string(name_of(policy)) + " is not clearly faster: 1.00 ms") ==
                    0);
        }
        const auto rest = decode(dispatcher, 900, loads, kAlike);
        QCOMPARE(rest.at(PolicyKind::kBalanced), 900);
    }

    void fasterPolicy_thanTheForecasts_wins() {
        CostModel cost(table(50, 55));
        const std::vector<ExpertLoad> loads = {{0, 1, Place::kRam}, {1, 1, Place::kRam}, {2, 1, Place::kRam}};
        std::map<PolicyKind, double> live = kAlike;
        live[PolicyKind::kStatic] = 800;
        Dispatcher dispatcher(cost, parse_dispatch("auto"));
        decode(dispatcher, 5 * kTrial, loads, live);
        QCOMPARE(dispatcher.decode_policy(), PolicyKind::kStatic);
        QCOMPARE(decode(dispatcher, 500, loads, live).at(PolicyKind::kStatic), 500);
    }

    // Everything is on the device: no policy has anything to decide.
    void schedulesThatAgree_areNotCompared() {
        CostModel cost(table(100, 90));
        const std::vector<ExpertLoad> loads = {{0, 1, Place::kDevice}, {1, 1, Place::kDevice}};
        Dispatcher dispatcher(cost, parse_dispatch("auto"));
        QCOMPARE(decode(dispatcher, 2000, loads, kAlike).at(PolicyKind::kBalanced), 2000);
        QCOMPARE(dispatcher.n_decisions(), std::uint64_t{0});
    }

    void namedPolicy_isNotCompared() {
        CostModel cost(table(50, 55));
        Dispatcher dispatcher(cost, parse_dispatch("transfer"));
        QCOMPARE(decode(dispatcher, 2000, kMisses, kAlike).at(PolicyKind::kTransfer), 2000);
    }

    // Prompts are no part of it.
    void prompts_areNotCompared() {
        CostModel cost(table(50, 55));
        Dispatcher dispatcher(cost, parse_dispatch("auto"));
        for (int i = 0; i < 500; ++i) {
            dispatcher.begin_step(8, true);
            dispatcher.schedule(kMisses, 2);
            dispatcher.end_step(1000);
        }
        QCOMPARE(dispatcher.n_decisions(), std::uint64_t{0});
    }

    // The compared costs are recorded as of the decision.
    void event_hasTheCostsOfItsDecision() {
        CostModel cost(table(100, 90));
        Dispatcher dispatcher(cost, parse_dispatch("balanced"));
        dispatcher.begin_step(1, false);
        const std::vector<ExpertLoad> loads = {{0, 1, Place::kRam}, {1, 1, Place::kDevice}};
        Schedule done = dispatcher.schedule(loads, 2);
        for (int i = 0; i < 20; ++i) cost.correct(CostModel::Side::kCpu, 1, 100, 300);
        LayerTimes times;
        times.device_read_bytes = 5;
        times.host_read_bytes = 7;
        dispatcher.finish_layer(0, done, times);
        const Recorder& recorder = dispatcher.recorder();
        QCOMPARE(recorder.n_events(), std::uint64_t{1});
        for (std::size_t i = 0; i < 2; ++i) {
            const AssignmentEvent& a = recorder.assignment(0, i);
            QCOMPARE(a.cpu_us, 100.0f);
            QCOMPARE(a.gpu_us, 20.0f);
            QCOMPARE(a.copy_us, a.expert == 0 ? 90.0f : 0.0f);
            QCOMPARE(a.place, static_cast<std::uint8_t>(loads[static_cast<std::size_t>(a.expert)].place));
        }
        QCOMPARE(recorder.totals().device_read_bytes, std::uint64_t{5});
        QCOMPARE(recorder.totals().host_read_bytes, std::uint64_t{7});
    }
};

QTEST_GUILESS_MAIN(TestDispatcher)
#include "tst_dispatcher.moc"
