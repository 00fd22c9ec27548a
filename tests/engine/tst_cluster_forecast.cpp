// Experts on several machines: the performance model of "Towards Building Private LLMs"
// (RACS '24) gives the figures of its cluster, one machine gives the forecast for one
// machine, and useless changes do not help.

#include <bit>

#include <QtTest>

#include "engine/cluster/cluster_forecast.h"
#include "engine/error.h"
#include "tests/engine/plan_values.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

constexpr std::uint64_t kExpertBytes = 1'000'000;
constexpr double kExchangeBytes = 16'384;

ModelDemand demandOf(std::int64_t layers, std::int64_t experts, std::int64_t active) {
    ModelDemand d;
    d.n_layers = layers;
    d.n_experts = experts;
    d.n_active = active;
    d.expert_bytes = kExpertBytes;
    d.formats = {{FormatId::kBf16, d.expert_bytes, 16}};
    d.dense_bytes = 3 * kExpertBytes;
    d.host_fixed_bytes = kExpertBytes;
    d.kv_groups = {{0, {16, 16, 16}}};
    d.workspace_fixed_bytes = 1000;
    d.workspace_bytes_per_token = 100;
    d.max_context = 4096;
    return d;
}

CostTable table() {
    CostTable t;
    t.expert_bytes = kExpertBytes;
    t.weight_copy_us = 300;
    t.activation_copy = {{1, 2}, {2, 2}};
    t.gpu_expert = {{1, 20}, {2, 20}, {64, 40}};
    t.cpu_expert = {{1, 100}, {2, 200}};
    t.dense.step = {{1, 1000}, {2, 20}, {3, 30}};  // 10 for each token of a prompt
    return t;
}

Popularity skewed(const ModelDemand& d) {
    Popularity p = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
    for (std::size_t i = 0; i < p.counts.size(); ++i) p.counts[i] = static_cast<double>(10 + (i * 7) % 23);
    return p;
}

PlanInputs inputsOf(const ModelDemand& d, const Popularity& p, const CostTable& costs = table(),
                    PolicyKind policy = PolicyKind::kBalanced) {
    PlanInputs inputs;
    inputs.demand = d;
    inputs.popularity = p;
    inputs.cost = CostModel(costs);
    inputs.prefill = inputs.decode = policy;
    return inputs;
}

Budget budgetOf(std::uint64_t vram_bytes) {
    Budget budget;
    budget.vram_bytes = vram_bytes;
    return budget;
}

// Spare ones.
std::int64_t copiesIn(const ClusterPlan& plan) {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < plan.owners.size(); ++i) {
        for (const std::int32_t machine : plan.holders[i]) n += machine != plan.owners[i] ? 1 : 0;
    }
    return n;
}

bool isNear(double value, double expected, double share) {
    if (std::abs(value - expected) <= share * expected) return true;
    qWarning("%g is not %g within %g %%", value, expected, share * 100);
    return false;
}

double binomial(int n, int k) {
    double ways = 1;
    for (int i = 0; i < k; ++i) ways = ways * (n - i) / (i + 1);
    return ways;
}

// Ways to choose `active` of the groups' experts with at most `most` of any group.
double ways(const std::vector<int>& groups, int active, int most) {
    std::vector<double> of(static_cast<std::size_t>(active) + 1, 0.0);
    of[0] = 1;
    for (const int size : groups) {
        std::vector<double> next(of.size(), 0.0);
        for (int before = 0; before <= active; ++before) {
            for (int k = 0; k <= std::min({most, size, active - before}); ++k)
                next[static_cast<std::size_t>(before + k)] += of[static_cast<std::size_t>(before)] * binomial(size, k);
        }
        of = next;
    }
    return of.back();
}

// Mean of the largest number of active experts in one group if every choice is equally
// likely.
double expectedMost(const std::vector<int>& groups, int active) {
    double mean = 0;
    for (int most = 1; most <= active; ++most)
        mean += most * (ways(groups, active, most) - ways(groups, active, most - 1));
    return mean / ways(groups, active, active);
}

// The least that the busiest of these machines can have of the chosen experts.
std::size_t leastMost(const std::vector<std::size_t>& chosen, const std::vector<std::vector<std::int32_t>>& holders,
                      std::size_t n_machines) {
    for (std::size_t most = 1;; ++most) {
        std::vector<std::size_t> load(n_machines);
        const std::function<bool(std::size_t)> fits = [&](std::size_t i) {
            if (i == chosen.size()) return true;
            return std::any_of(holders[chosen[i]].begin(), holders[chosen[i]].end(), [&](std::int32_t machine) {
                std::size_t& there = load[static_cast<std::size_t>(machine)];
                if (there == most) return false;
                ++there;
                if (fits(i + 1)) return true;
                --there;
                return false;
            });
        };
        if (fits(0)) return most;
    }
}

std::vector<int> evenly(int experts, int machines) {
    std::vector<int> groups(static_cast<std::size_t>(machines), experts / machines);
    for (int i = 0; i < experts % machines; ++i) ++groups[static_cast<std::size_t>(i)];
    return groups;
}

// DBRX on Mac Studios, from the paper's table 1: a GPU is as fast as it reads its
// weights. Experts have eight places in each layer, as in the paper.
constexpr double kMacGbps = 800;
constexpr std::uint64_t kMacBytes = 134'200'000'000;

ModelDemand dbrx() {
    ModelDemand d = demandOf(40, 16, 4);
    d.formats.front().expert_bytes = d.expert_bytes = std::uint64_t{6144} * 10752 * 3 * 2;
    d.dense_bytes = std::uint64_t{8192 * 6144 + 6144 * 6144} * 40 * 2;
    return d;
}

CostTable macStudio(const ModelDemand& d) {
    CostTable t;
    t.expert_bytes = d.expert_bytes;
    const double expert_us = static_cast<double>(d.expert_bytes) / (kMacGbps * 1e3);
    t.gpu_expert = {{1, expert_us}, {2, expert_us}};
    t.cpu_expert = {{1, 100 * expert_us}, {2, 200 * expert_us}};
    t.weight_copy_us = 100 * expert_us;
    t.dense.step = {{1, static_cast<double>(d.dense_bytes) / (kMacGbps * 1e3)}};
    return t;
}

}  // namespace

class TestClusterForecast : public QObject {
    Q_OBJECT

    static ClusterForecast told(const ModelDemand& d, const Popularity& p, std::int64_t machines,
                                const Network& network = find_network("10gbe"), std::uint64_t vram_bytes = 0,
                                std::int64_t prompt_tokens = 600) {
        const PlanInputs inputs = inputsOf(d, p);
        return forecast_cluster(make_cluster_plan(inputs, budgetOf(vram_bytes), machines), inputs, network,
                                kExchangeBytes, prompt_tokens);
    }

  private Q_SLOTS:
    // Table 6 and section 5.5.
    void dbrxOnTwoMacStudios_isAsFastAsThePaperSays_data() {
        QTest::addColumn<QString>("network");
        QTest::addColumn<double>("tokens_per_s");
        QTest::newRow("10 GbE") << "10gbe" << 9.7;
        QTest::newRow("RoCEv2") << "rocev2" << 16.3;
        QTest::newRow("InfiniBand") << "infiniband" << 16.3;
    }
    void dbrxOnTwoMacStudios_isAsFastAsThePaperSays() {
        QFETCH(QString, network);
        QFETCH(double, tokens_per_s);
        const ModelDemand d = dbrx();
        const Popularity p = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
        const PlanInputs inputs = inputsOf(d, p, macStudio(d));
        const ClusterPlan plan = make_cluster_plan(inputs, budgetOf(kMacBytes), 2);
        QCOMPARE(plan.n_resident(), std::int64_t{40 * 16});
        QVERIFY(copiesIn(plan) < 4);
        const double exchange_bytes = 6144 * 4 * 2;  // the outputs of four experts, 16 bits each
        const ClusterForecast f =
            forecast_cluster(plan, inputs, find_network(network.toStdString()), exchange_bytes, 128);
        QVERIFY(isNear(f.busiest_experts, 2.65, 0.01));
        QVERIFY(isNear(f.whole.decode_tokens_per_s, tokens_per_s, 0.02));
        if (network == QStringLiteral("10gbe")) QVERIFY(isNear(f.network_us, 40'000 + 1573, 0.001));
    }

    // The paper's spare copies, here spread over all machines: never busier than in its
    // table 1, where the third machine has copies of the first one's experts.
    void spareMemory_levelsTheLoad_data() {
        QTest::addColumn<int>("machines");
        QTest::addColumn<double>("paper");
        QTest::newRow("3") << 3 << 2.32;
        QTest::newRow("4") << 4 << 1.57;
        QTest::newRow("6") << 6 << 1.08;
    }
    void spareMemory_levelsTheLoad() {
        QFETCH(int, machines);
        QFETCH(double, paper);
        const ModelDemand d = dbrx();
        const Popularity p = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
        const PlanInputs inputs = inputsOf(d, p, macStudio(d));
        const ClusterPlan plan = make_cluster_plan(inputs, budgetOf(kMacBytes), machines);
        const std::int64_t all = d.n_layers * d.n_experts;
        QCOMPARE(plan.n_resident(), all);
        QVERIFY(isNear(static_cast<double>(copiesIn(plan)), static_cast<double>(320 * machines - all), 0.05));
        for (const Plan& machine : plan.machines) QVERIFY(machine.vram_bytes() <= kMacBytes);
        const ClusterForecast f = forecast_cluster(plan, inputs, find_network("10gbe"), 6144 * 4 * 2, 128);
        // Every choice of four, in the layers that the end of the memory has not cut
        // short.
        double counted = 0;
        int n = 0;
        for (const std::int64_t layer : {0, 10, 20, 30}) {
            const std::vector<std::vector<std::int32_t>> holders(
                plan.holders.begin() + static_cast<std::ptrdiff_t>(layer * 16),
                plan.holders.begin() + static_cast<std::ptrdiff_t>(layer * 16 + 16));
            for (unsigned choice = 0; choice < (1u << 16); ++choice) {
                if (std::popcount(choice) != 4) continue;
                std::vector<std::size_t> chosen;
                for (std::size_t e = 0; e < 16; ++e) {
                    if ((choice >> e & 1u) != 0) chosen.push_back(e);
                }
                counted += static_cast<double>(leastMost(chosen, holders, static_cast<std::size_t>(machines)));
                ++n;
            }
        }
        counted /= n;
        QVERIFY(isNear(f.busiest_experts, counted, 0.03));
        QVERIFY2(f.busiest_experts <= paper * 1.005, qPrintable(QString::number(f.busiest_experts)));
        const double token_us = static_cast<double>(d.dense_bytes) / 8e5 +
                                40 * f.busiest_experts * static_cast<double>(d.expert_bytes) / 8e5 + 40'000 + 1573;
        QVERIFY(isNear(f.whole.decode_tokens_per_s, 1e6 / token_us, 0.01));
        // A prompt's steps are balanced as well: one owner each would be slower.
        const ClusterPlan alone = make_cluster_plan(inputs, budgetOf(0), machines);
        QCOMPARE(copiesIn(alone), std::int64_t{0});
        qInfo("%d machines: %.2f experts on the busiest (paper: %.2f), %.1f tokens/s", machines, f.busiest_experts,
              paper, f.whole.decode_tokens_per_s);
    }

    void busiestMachine_hasWhatChanceGivesIt_data() {
        QTest::addColumn<int>("machines");
        for (const int n : {1, 2, 3, 4, 6, 8, 16}) QTest::addRow("%d", n) << n;
    }
    void busiestMachine_hasWhatChanceGivesIt() {
        QFETCH(int, machines);
        const ModelDemand d = demandOf(40, 16, 4);
        const Popularity p = Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
        QVERIFY(isNear(told(d, p, machines).busiest_experts, expectedMost(evenly(16, machines), 4), 0.015));
    }

    void oneMachine_isTheForecastForOne_data() {
        QTest::addColumn<int>("policy");
        QTest::addColumn<quint64>("vram_bytes");
        for (const PolicyKind policy : {PolicyKind::kThreshold, PolicyKind::kBalanced, PolicyKind::kTransfer,
                                        PolicyKind::kStatic, PolicyKind::kLayers}) {
            for (const quint64 experts : {quint64{0}, quint64{9}, quint64{17}, quint64{100}}) {
                QTest::addRow("%s, %d experts' bytes", std::string(name_of(policy)).c_str(), static_cast<int>(experts))
                    << static_cast<int>(policy) << (experts > 0 ? (experts + 3) * kExpertBytes + 200'000 : 0);
            }
        }
    }
    void oneMachine_isTheForecastForOne() {
        QFETCH(int, policy);
        QFETCH(quint64, vram_bytes);
        const auto kind = static_cast<PolicyKind>(policy);
        const PlacementKind placed = kind == PolicyKind::kLayers ? PlacementKind::kLayers : PlacementKind::kPopular;
        const ModelDemand d = demandOf(4, 8, 2);
        const Popularity p = skewed(d);
        const PlanInputs inputs = inputsOf(d, p, table(), kind);
        const Plan plan = make_plan(d, budgetOf(vram_bytes), p, placed);
        const ClusterPlan one = make_cluster_plan(inputs, budgetOf(vram_bytes), 1);
        QCOMPARE(one.n_machines(), std::int64_t{1});
        QVERIFY(one.machines.front().places == plan.places);
        QCOMPARE(one.machines.front().vram_bytes(), plan.vram_bytes());
        QCOMPARE(one.machines.front().ram_bytes, plan.ram_bytes);
        for (const std::int64_t prompt : {1, 100, 513, 10'000}) {
            const Forecast alone = inputs.forecast(plan, prompt);
            const ClusterForecast f = forecast_cluster(one, inputs, find_network("1gbe"), kExchangeBytes, prompt);
            QVERIFY(f.whole.decode_tokens_per_s == alone.decode_tokens_per_s);
            QVERIFY(f.whole.decode_layer_us == alone.decode_layer_us);
            QVERIFY(f.whole.hit_rate == alone.hit_rate);
            QVERIFY(f.whole.bytes_per_token == alone.bytes_per_token);
            QVERIFY(f.whole.ttft_s == alone.ttft_s);
            QVERIFY(f.whole.prefill_tokens_per_s == alone.prefill_tokens_per_s);
            QCOMPARE(f.whole.prompt_tokens, prompt);
            QCOMPARE(f.network_us, 0.0);
            QCOMPARE(f.busiest_experts, 2.0);
        }
    }

    // Both experts of the layer at once: each machine has one of them.
    void layer_lastsAsLongAsItsBusiestMachine() {
        const ModelDemand d = demandOf(4, 2, 2);
        const Popularity p = Popularity::uniform(4, 2, 2);
        const Network network{"test", from_outside("test"), 0.1, 50, from_outside("none")};
        const ClusterForecast one = told(d, p, 1, network, 0, 2);
        const ClusterForecast two = told(d, p, 2, network, 0, 2);
        QCOMPARE(one.whole.decode_layer_us, 40.0);
        QCOMPARE(two.whole.decode_layer_us, 20.0);
        // 16,384 bytes at 100 bytes a microsecond, and twice as many for a prompt of two.
        QVERIFY(isNear(two.network_us, 4 * (50 + 163.84), 1e-9));
        QVERIFY(isNear(two.whole.decode_tokens_per_s, 1e6 / (1000 + 4 * (20 + 50 + 163.84)), 1e-9));
        QVERIFY(isNear(one.whole.ttft_s, (20 + 4 * 40) / 1e6, 1e-9));
        QVERIFY(isNear(two.whole.ttft_s, (20 + 4 * (20 + 50 + 327.68)) / 1e6, 1e-9));
    }

    void moreMachines_neverHaveABusierOne_data() {
        QTest::addColumn<bool>("popular");
        QTest::newRow("all alike") << false;
        QTest::newRow("some more popular") << true;
    }
    void moreMachines_neverHaveABusierOne() {
        QFETCH(bool, popular);
        const ModelDemand d = demandOf(40, 16, 4);
        const Popularity p = popular ? skewed(d) : Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
        double before = 4;
        for (std::int64_t n = 1; n <= 16; ++n) {
            const double busiest = told(d, p, n).busiest_experts;
            QVERIFY2(busiest <= before, qPrintable(QStringLiteral("%1: %2 after %3").arg(n).arg(busiest).arg(before)));
            before = busiest;
        }
        QCOMPARE(before, 1.0);
    }

    void slowerNetwork_isNeverFaster() {
        const ModelDemand d = demandOf(8, 8, 2);
        for (const std::int64_t machines : {2, 3, 8}) {
            ClusterForecast before;
            for (const Network& network : network_presets()) {
                const ClusterForecast f = told(d, skewed(d), machines, network);
                QVERIFY(f.whole.decode_tokens_per_s > before.whole.decode_tokens_per_s);
                if (before.whole.ttft_s > 0) QVERIFY(f.whole.ttft_s < before.whole.ttft_s);
                QCOMPARE(f.busiest_experts, told(d, skewed(d), machines).busiest_experts);
                before = f;
            }
        }
    }

    void experts_areDealtOutEvenly_data() {
        QTest::addColumn<int>("machines");
        for (const int n : {1, 2, 3, 5, 7, 8, 13, 16}) QTest::addRow("%d", n) << n;
    }
    void experts_areDealtOutEvenly() {
        QFETCH(int, machines);
        const ModelDemand d = demandOf(12, 16, 4);
        const Popularity p = skewed(d);
        const std::vector<std::int32_t> owners = partition_experts(d, p, machines);
        QCOMPARE(owners.size(), std::size_t{12 * 16});
        std::vector<std::int64_t> all(static_cast<std::size_t>(machines), 0);
        for (std::int64_t layer = 0; layer < d.n_layers; ++layer) {
            std::vector<double> load(static_cast<std::size_t>(machines), 0.0);
            std::vector<std::int64_t> held(static_cast<std::size_t>(machines), 0);
            double largest = 0;
            for (std::int64_t e = 0; e < d.n_experts; ++e) {
                const auto owner = static_cast<std::size_t>(owners[static_cast<std::size_t>(layer * 16 + e)]);
                QVERIFY(owner < load.size());
                load[owner] += p.share(layer, e);
                ++held[owner];
                ++all[owner];
                largest = std::max(largest, p.share(layer, e));
            }
            const auto [fewest, most] = std::minmax_element(held.begin(), held.end());
            QCOMPARE(*fewest, std::int64_t{16 / machines});
            QCOMPARE(*most, std::int64_t{(16 + machines - 1) / machines});
            // As even as possible with whole experts.
            const double busiest = *std::max_element(load.begin(), load.end());
            QVERIFY(busiest <= 4.0 / machines + largest);
        }
    }

    // Each goes to the machine with less load: 5 + 2 against 4 + 3, not 5 + 3 against 4 +
    // 2.
    void popularExperts_goApart() {
        const ModelDemand d = demandOf(2, 4, 1);
        Popularity p = Popularity::uniform(2, 4, 1);
        p.counts = {5, 4, 3, 2, 2, 3, 4, 5};
        const std::vector<std::int32_t> owners = partition_experts(d, p, 2);
        QCOMPARE(owners, (std::vector<std::int32_t>{0, 1, 1, 0, 0, 1, 1, 0}));
    }

    // Every machine has the whole budget: two hold about twice as much as one, and each
    // holds only its own experts.
    void machines_placeTheirOwnExpertsInTheirOwnVram() {
        const ModelDemand d = demandOf(6, 9, 2);
        const Popularity p = skewed(d);
        const std::uint64_t vram = (3 + 2 + 10) * kExpertBytes + 500'000;  // dense weights, two slots, ten experts
        std::int64_t before = 0;
        double hit_rate = 0;
        for (const std::int64_t n : {1, 2, 3, 4}) {
            const ClusterPlan plan = make_cluster_plan(inputsOf(d, p), budgetOf(vram), n);
            QCOMPARE(plan.n_machines(), n);
            for (std::int64_t m = 0; m < n; ++m) {
                const Plan& machine = plan.machines[static_cast<std::size_t>(m)];
                QVERIFY(machine.vram_bytes() <= vram);
                for (std::size_t i = 0; i < plan.owners.size(); ++i) {
                    if (plan.owners[i] != m) QVERIFY(machine.places[i] == Place::kDisk);
                    if (plan.owners[i] == m) QVERIFY(machine.places[i] != Place::kDisk);
                }
            }
            QVERIFY(plan.n_resident() > before || plan.n_resident() == d.n_layers * d.n_experts);
            QVERIFY(plan.hit_rate > hit_rate);
            before = plan.n_resident();
            hit_rate = plan.hit_rate;
            if (n == 1) QCOMPARE(before, std::int64_t{10});
            if (n == 2) QVERIFY(before >= 20);
        }
        QVERIFY(hit_rate <= 1 + 1e-9);
    }

    // RAM is short, too: experts that one machine must read from disk, four keep in
    // theirs.
    void machines_needLessRamEach() {
        const ModelDemand d = demandOf(6, 8, 2);
        const Popularity p = skewed(d);
        Budget budget = budgetOf((3 + 2 + 4) * kExpertBytes + 200'000);
        budget.ram_bytes = 14 * kExpertBytes;
        const auto on_disk = [&](std::int64_t n) {
            const ClusterPlan plan = make_cluster_plan(inputsOf(d, p), budget, n);
            std::int64_t count = 0;
            for (std::size_t i = 0; i < plan.owners.size(); ++i) {
                const Plan& owner = plan.machines[static_cast<std::size_t>(plan.owners[i])];
                count += owner.places[i] == Place::kDisk ? 1 : 0;
            }
            return count;
        };
        QVERIFY(on_disk(1) > 0);
        QVERIFY(on_disk(2) < on_disk(1));
        QCOMPARE(on_disk(4), std::int64_t{0});
        // Room for those that come from disk: no more than a machine can need at once.
        budget.ram_bytes = 8 * kExpertBytes;
        const ModelDemand busy = demandOf(6, 8, 4);
        for (const Plan& machine : make_cluster_plan(inputsOf(busy, p), budget, 4).machines)
            QCOMPARE(machine.host_staging_slots, std::int64_t{2});
    }

    void wholeLayers_areWholeOnEachMachine() {
        const ModelDemand d = demandOf(6, 9, 2);
        const ClusterPlan plan = make_cluster_plan(inputsOf(d, skewed(d), table(), PolicyKind::kLayers),
                                                   budgetOf((3 + 2 + 10) * kExpertBytes + 200'000), 2);
        QVERIFY(plan.n_resident() > 0);
        for (std::int64_t m = 0; m < 2; ++m) {
            for (std::int64_t layer = 0; layer < d.n_layers; ++layer) {
                std::int64_t own = 0, resident = 0;
                for (std::int64_t e = 0; e < d.n_experts; ++e) {
                    if (plan.owners[static_cast<std::size_t>(layer * d.n_experts + e)] != m) continue;
                    ++own;
                    const Plan& machine = plan.machines[static_cast<std::size_t>(m)];
                    resident += machine.place(layer, d.n_experts, e) == Place::kDevice ? 1 : 0;
                }
                QVERIFY(own == 4 || own == 5);
                QVERIFY(resident == 0 || resident == own);
            }
        }
    }

    void moreMachinesThanExperts_saysSo() {
        const ModelDemand d = demandOf(2, 8, 2);
        for (const std::int64_t n : {-1, 0, 9, 16}) {
            try {
                make_cluster_plan(inputsOf(d, skewed(d)), budgetOf(0), n);
                QFAIL("dealt out");
            } catch (const Error& error) {
                QVERIFY(error.kind() == ErrorKind::kInvalidInput);
                const QString text = QString::fromUtf8(error.what());
                QVERIFY2(text.contains(QStringLiteral("%1 machines").arg(n)) && text.contains(QStringLiteral("1 to 8")),
                         qPrintable(text));
            }
        }
    }

    void networks_areFoundById() {
        QCOMPARE(network_presets().size(), std::size_t{4});
        for (const Network& network : network_presets()) {
            QCOMPARE(find_network(network.id).name, network.name);
            QVERIFY(network.gbps > 0 && network.latency_us > 0 && !network.source.empty());
        }
        try {
            find_network("token-ring");
            QFAIL("found");
        } catch (const Error& error) {
            QVERIFY(QString::fromUtf8(error.what()).contains(QStringLiteral("rocev2")));
        }
    }
};

QTEST_GUILESS_MAIN(TestClusterForecast)
#include "tst_cluster_forecast.moc"
