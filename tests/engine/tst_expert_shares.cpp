// Which machine holds and computes which expert: spare copies spread, chosen experts
// balanced over their holders as well as possible, and the effect on a real model's
// routing.

#include <random>
#include <set>

#include <QtTest>

#include "engine/cluster/expert_shares.h"
#include "engine/plan/dispatch_policy.h"
#include "tests/engine/node_parts.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

using Holders = std::vector<std::vector<std::int32_t>>;

std::vector<std::span<const std::int32_t>> spansOf(const Holders& holders) {
    return {holders.begin(), holders.end()};
}

std::int64_t largest(std::span<const std::int32_t> to, std::int64_t n_machines) {
    std::vector<std::int64_t> n(static_cast<std::size_t>(n_machines));
    for (const std::int32_t machine : to) ++n[static_cast<std::size_t>(machine)];
    return *std::max_element(n.begin(), n.end());
}

// By looking at every way to assign.
std::int64_t leastLargest(const Holders& holders, std::int64_t n_machines) {
    std::vector<std::int32_t> to(holders.size());
    std::int64_t least = static_cast<std::int64_t>(holders.size()) + 1;
    const std::function<void(std::size_t)> from = [&](std::size_t i) {
        if (i == holders.size()) {
            least = std::min(least, largest(to, n_machines));
            return;
        }
        for (const std::int32_t machine : holders[i]) {
            to[i] = machine;
            from(i + 1);
        }
    };
    from(0);
    return least;
}

// Every machine as fast as the others.
class EqualCost final : public ExecutorCost {
  public:
    double expert_us(offstage::kernels::WeightType, std::int64_t n_rows) const override {
        return 100 * static_cast<double>(n_rows);
    }
    double transfer_us(std::int64_t) const override { return 50; }
};

CostModel slowHere() {
    CostTable table;
    table.expert_bytes = 1'000'000;
    table.cpu_expert = {{1, 1e7}, {2, 2e7}};
    return CostModel(std::move(table));
}

}  // namespace

class TestExpertShares : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void copies_followTheOwnOnes_roundTheMachines() {
        const std::vector<std::int32_t> owners = {0, 1, 2, 0, 1, 2};
        const std::vector<std::size_t> order = {5, 4, 3, 2, 1, 0};
        QCOMPARE(holding_order(owners, order, 0, 3), (std::vector<std::size_t>{3, 0, 5, 2, 4, 1}));
        QCOMPARE(holding_order(owners, order, 1, 3), (std::vector<std::size_t>{4, 1, 3, 0, 5, 2}));
        QCOMPARE(holding_order(owners, order, 2, 3), (std::vector<std::size_t>{5, 2, 4, 1, 3, 0}));
    }

    // Room for half of the others: every expert is on two machines, none on three.
    void spareMemory_holdsEveryExpertTwiceBeforeAnyThrice() {
        ExpertGrid grid;
        grid.n_layers = 5;
        grid.n_experts = 6;
        grid.n_active = 2;
        Plan plan;
        plan.places.assign(30, Place::kRam);
        const std::vector<offstage::kernels::WeightType> formats(30, offstage::kernels::WeightType::kBf16);
        for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
            const auto lists = share_out_experts(n, grid, plan, formats, Popularity::uniform(5, 6, 2));
            std::map<std::pair<int, int>, int> holders;
            for (const auto& list : lists) {
                QCOMPARE(list.size(), std::size_t{30});
                for (std::size_t i = 0; i < 2 * 30 / n; ++i) ++holders[{list[i].layer, list[i].expert}];
            }
            QCOMPARE(holders.size(), std::size_t{30});
            for (const auto& [expert, number] : holders) QCOMPARE(number, 2);
        }
    }

    void balance_isAsGoodAsAnyAssignment() {
        std::mt19937 random(5);
        for (int round = 0; round < 400; ++round) {
            const std::int32_t n_machines = 2 + static_cast<std::int32_t>(random() % 4);
            Holders holders(1 + random() % 7);
            for (auto& of : holders) {
                for (std::int32_t m = 0; m < n_machines; ++m) {
                    if (random() % 3 == 0) of.push_back(m);
                }
                if (of.empty()) of.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(n_machines)));
            }
            std::vector<std::int32_t> to(holders.size());
            const auto spans = spansOf(holders);
            const std::int64_t most = balance_over_holders(spans, n_machines, to);
            QCOMPARE(most, leastLargest(holders, n_machines));
            QCOMPARE(most, largest(to, n_machines));
            for (std::size_t i = 0; i < to.size(); ++i) {
                QVERIFY(std::find(holders[i].begin(), holders[i].end(), to[i]) != holders[i].end());
            }
        }
    }

    void tokens_goWhereFewestAre() {
        const Holders holders = {{0, 1}, {0}, {0, 1}, {1, 0}};
        const std::vector<std::int32_t> n_tokens = {9, 5, 3, 4};
        std::vector<std::int32_t> to(4);
        spread_tokens(spansOf(holders), n_tokens, 2, to);
        QCOMPARE(to, (std::vector<std::int32_t>{0, 0, 1, 1}));
    }

    // More distributions than it tries: of eight experts a layer on four machines, half
    // with a second holder.
    void dispatcher_balancesManyExperts() {
        std::mt19937 random(9);
        const CostModel slow_here = slowHere();
        const EqualCost equal;
        const std::vector<const ExecutorCost*> machines(4, &equal);
        double best = 0, decided = 0;
        Schedule schedule;
        for (int round = 0; round < 300; ++round) {
            Holders holders;
            std::vector<ExpertLoad> loads;
            for (std::int32_t expert = 0; expert < 8; ++expert) {
                const auto owner = static_cast<std::int32_t>(random() % 4);
                holders.push_back({owner});
                if (random() % 2 == 0) holders.back().push_back((owner + 1) % 4);
                loads.push_back({expert, 1, Place::kRam, offstage::kernels::WeightType::kBf16, 0});
                for (const std::int32_t m : holders.back()) loads.back().elsewhere |= 1u << m;
            }
            std::vector<std::int32_t> to(8);
            best += static_cast<double>(balance_over_holders(spansOf(holders), 4, to));
            decide(PolicyKind::kBalanced, loads, slow_here, 0, schedule, machines);
            for (const Assignment& a : schedule.assignments) {
                QVERIFY(is_elsewhere(a.target));
                to[static_cast<std::size_t>(a.expert)] = static_cast<std::int32_t>(index_elsewhere(a.target));
            }
            decided += static_cast<double>(largest(to, 4));
        }
        QVERIFY2(decided <= best * 1.03, qPrintable(QString::number(decided / best)));
    }

    // Compares one owner for each expert with spare copies and balance, token by token of
    // a demo model's answer.
    void recordedRouting_isLevelledByCopies() {
        QTemporaryDir cache;
        const auto model = openModel(nodeRequest(demoModel(), cache.path().toStdString()));
        const ExpertGrid& grid = model->spec().experts;
        std::vector<std::int32_t> routing;
        nodeLogits(*model, 60, [&](int step) {
            if (step == 0) return;
            const auto more = model->forward().routing();
            routing.insert(routing.end(), more.begin(), more.end());
        });
        const auto active = static_cast<std::size_t>(grid.n_active);
        const auto n_layers = static_cast<std::size_t>(grid.n_layers);
        const std::size_t n_choices = routing.size() / active;
        QVERIFY(n_choices / n_layers > static_cast<std::size_t>(kNodePrompt));

        const CostModel slow_here = slowHere();
        const EqualCost equal;
        for (const std::int64_t n : {2, 3, 4}) {
            const std::vector<const ExecutorCost*> machines(static_cast<std::size_t>(n), &equal);
            // Half as many copies as own experts.
            Holders holders(static_cast<std::size_t>(grid.size()));
            std::vector<std::int32_t> owners;
            std::vector<std::size_t> order;
            for (std::int64_t i = 0; i < grid.size(); ++i) {
                owners.push_back(static_cast<std::int32_t>(i % grid.n_experts % n));
                order.push_back(static_cast<std::size_t>(i));
                holders[static_cast<std::size_t>(i)] = {owners.back()};
            }
            for (std::int32_t m = 0; m < n; ++m) {
                const auto list = holding_order(owners, order, m, static_cast<std::int32_t>(n));
                const auto own = static_cast<std::size_t>(std::count(owners.begin(), owners.end(), m));
                for (std::size_t i = own; i < own + own / 2; ++i) holders[list[i]].push_back(m);
            }
            double naive = 0, balanced = 0;
            Schedule schedule;
            for (std::size_t c = 0; c < n_choices; ++c) {
                const std::size_t layer = c % n_layers;
                std::vector<std::span<const std::int32_t>> chosen;
                std::vector<std::int32_t> to(active), alone;
                std::vector<ExpertLoad> loads;
                for (std::size_t k = 0; k < active; ++k) {
                    const std::int32_t expert = routing[c * active + k];
                    const auto at = layer * static_cast<std::size_t>(grid.n_experts) + static_cast<std::size_t>(expert);
                    chosen.emplace_back(holders[at]);
                    alone.push_back(owners[at]);
                    loads.push_back({expert, 1, Place::kRam, offstage::kernels::WeightType::kBf16, 0});
                    for (const std::int32_t m : holders[at]) loads.back().elsewhere |= 1u << m;
                }
                const std::int64_t before = largest(alone, n);
                const std::int64_t after = balance_over_holders(chosen, n, to);
                QVERIFY(after <= before);
                naive += static_cast<double>(before);
                balanced += static_cast<double>(after);
                // The dispatcher, which uses times, has the same result.
                decide(PolicyKind::kBalanced, loads, slow_here, 0, schedule, machines);
                std::vector<std::int32_t> decided;
                for (const Assignment& a : schedule.assignments) {
                    QVERIFY(is_elsewhere(a.target));
                    decided.push_back(static_cast<std::int32_t>(index_elsewhere(a.target)));
                }
                QCOMPARE(largest(decided, n), after);
            }
            naive /= static_cast<double>(n_choices);
            balanced /= static_cast<double>(n_choices);
            QVERIFY2(balanced < naive - 0.02, qPrintable(QString::number(balanced)));
            qInfo(
                "%d machines: experts of a layer on the busiest, mean: %.3f with one owner each, %.3f with half as "
                "many "
                "copies, %d tokens",
                static_cast<int>(n), naive, balanced, static_cast<int>(n_choices / n_layers));
        }
    }
};

QTEST_GUILESS_MAIN(TestExpertShares)
#include "tst_expert_shares.moc"
