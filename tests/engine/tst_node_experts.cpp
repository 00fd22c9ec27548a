// What a node holds for the desktops that use it, and whom it serves when.

#include <QtTest>

#include "tests/engine/node_parts.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

class TestNodeExperts : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---------------------------------------------------------------- a node's experts
    void node_freesWhatNobodyWants_andServesTwo() {
        OneNode machine(request());
        NodeExperts& experts = machine.node.experts();
        std::mutex mutex;
        std::map<int, std::vector<NodeExpert>> held;
        const auto open = [&](int who) {
            Message refusal;
            return experts.open(
                hello_of(machine.host, "desk"),
                [&, who](FromNode message) {
                    const std::scoped_lock lock(mutex);
                    if (const auto* holdings = std::get_if<NodeHoldings>(&message))
                        held[who].insert(held[who].end(), holdings->held.begin(), holdings->held.end());
                },
                refusal);
        };
        const auto n_held = [&](int who) {
            const std::scoped_lock lock(mutex);
            return held[who].size();
        };
        const auto one = open(1), two = open(2);
        constexpr auto kFormat = kernels::WeightType::kBf16;
        const kernels::WeightType format = machine.host.plan_inputs().master;
        QCOMPARE(format, kFormat);
        QVERIFY(experts.want(one, {{{0, 1, format}, {0, 2, format}}}).empty());
        QVERIFY(experts.want(two, {{{0, 2, format}, {1, 3, format}}}).empty());
        QVERIFY(becomesTrue([&] { return n_held(1) == 2 && n_held(2) == 2; }));
        QCOMPARE(experts.state().n_held, std::uint64_t{3});

        NodeCompute request;
        request.layer = 1;
        request.experts = {{3, 1, format}};
        request.row_token = {0};
        request.n_tokens = 1;
        request.inputs.assign(static_cast<std::size_t>(experts.grid().hidden_dim) * 4, '\0');
        QVERIFY(experts.compute(two, request).refusal.empty());
        QVERIFY(!experts.compute(77, request).refusal.empty());  // no such desktop
        request.experts[0].expert = 4;
        QVERIFY(
            QString::fromStdString(experts.compute(two, request).refusal).contains(QStringLiteral("is not held here")));

        QCOMPARE(experts.n_warmed(), std::uint64_t{0});

        experts.close(two);
        QVERIFY(becomesTrue([&] { return experts.state().n_held == 2; }));
        experts.close(one);
        QVERIFY(becomesTrue([&] { return experts.state().n_held == 0; }));
        QCOMPARE(experts.state().ram_used_bytes, std::uint64_t{0});
    }

    // Experts that another desktop left, and that matter least to this one, make room for
    // its most important ones.
    void node_holdsWhatMattersMost_whateverIsThere() {
        LoadRequest node_request = request();
        std::uint64_t bytes = 0;
        {
            const auto model = openModel(request());
            bytes = model->source().expert_bytes(model->plan_inputs().master);
        }
        node_request.ram_bytes = 20 * (bytes + 256) + 4096;
        OneNode machine(node_request, {"cupboard", 2, 1000});
        NodeExperts& experts = machine.node.experts();
        const kernels::WeightType format = machine.host.plan_inputs().master;
        std::mutex mutex;
        std::vector<std::vector<NodeExpert>> held(2);
        std::vector<bool> complete(2);
        const auto serve = [&](std::size_t who, bool backwards) {
            Message refusal;
            const auto desktop = experts.open(
                hello_of(machine.host, "desk"),
                [&, who](FromNode message) {
                    const std::scoped_lock lock(mutex);
                    const auto* holdings = std::get_if<NodeHoldings>(&message);
                    if (holdings == nullptr) return;
                    held[who].insert(held[who].end(), holdings->held.begin(), holdings->held.end());
                    complete[who] = complete[who] || holdings->complete;
                },
                refusal);
            NodeWant want;
            for (std::int32_t i = 0; i < 64; ++i) {
                const std::int32_t expert = backwards ? 63 - i : i;
                want.experts.push_back({expert / 8, expert % 8, format});
            }
            QVERIFY(experts.want(desktop, want).empty());
            // A reference to a bit would be read after the lock.
            QVERIFY(becomesTrue([&]() -> bool {
                const std::scoped_lock lock(mutex);
                return complete[who];
            }));
            experts.close(desktop);
        };
        serve(0, false);
        serve(1, true);
        QVERIFY(held[0].size() >= 18 && held[1].size() == held[0].size());
        for (std::size_t i = 0; i < held[1].size(); ++i) {
            QCOMPARE(held[0][i].layer * 8 + held[0][i].expert, static_cast<std::int32_t>(i));
            QCOMPARE(held[1][i].layer * 8 + held[1][i].expert, 63 - static_cast<std::int32_t>(i));
        }
    }

    // After a re-plan that needs experts in another format; but not while another desktop
    // uses the old one.
    void node_packsAnew_whatIsWantedInAnotherFormat() {
        LoadRequest node_request = request();
        QTemporaryDir kept;
        node_request.quant_cache_directory = kept.path().toStdString();
        OneNode machine(node_request);
        NodeExperts& experts = machine.node.experts();
        std::mutex mutex;
        std::map<int, std::vector<NodeExpert>> held;
        std::map<int, int> n_complete;
        const auto open = [&](int who) {
            Message refusal;
            return experts.open(
                hello_of(machine.host, "desk"),
                [&, who](FromNode message) {
                    const std::scoped_lock lock(mutex);
                    if (const auto* holdings = std::get_if<NodeHoldings>(&message)) {
                        held[who].insert(held[who].end(), holdings->held.begin(), holdings->held.end());
                        n_complete[who] += holdings->complete ? 1 : 0;
                    }
                },
                refusal);
        };
        const auto completed = [&](int who, int times) {
            return becomesTrue([&] {
                const std::scoped_lock lock(mutex);
                return n_complete[who] == times;
            });
        };
        const auto one = open(1), two = open(2);
        const kernels::WeightType format = machine.host.plan_inputs().master;
        constexpr auto kInt8 = kernels::WeightType::kInt8;
        QVERIFY(experts.want(one, {{{0, 1, format}, {0, 2, format}}}).empty());
        QVERIFY(experts.want(two, {{{0, 2, format}}}).empty());
        QVERIFY(completed(1, 1) && completed(2, 1));
        QVERIFY(experts.want(one, {{{0, 1, kInt8}, {0, 2, kInt8}}}).empty());
        QVERIFY(completed(1, 2));
        QCOMPARE(experts.state().n_held, std::uint64_t{2});
        NodeCompute request;
        request.experts = {{1, 1, kInt8}};
        request.row_token = {0};
        request.n_tokens = 1;
        request.inputs.assign(static_cast<std::size_t>(experts.grid().hidden_dim) * 4, '\0');
        QCOMPARE(experts.compute(one, request).refusal, std::string());
        request.experts = {{2, 1, kInt8}};
        QVERIFY(!experts.compute(one, request).refusal.empty());
        request.experts = {{2, 1, format}};
        QCOMPARE(experts.compute(two, request).refusal, std::string());
        // When the other one has gone it is packed in the new format.
        experts.close(two);
        QVERIFY(experts.want(one, {{{0, 2, kInt8}}}).empty());
        QVERIFY(completed(1, 3));
        request.experts = {{2, 1, kInt8}};
        QCOMPARE(experts.compute(one, request).refusal, std::string());
    }

    // Held but unused experts are read again and again; those in use are not.
    void idleExperts_areKeptWarm_whereThatIsAskedFor() {
        OneNode machine(request(), {"cupboard", 2, 0, 0.02});
        NodeExperts& experts = machine.node.experts();
        Message refusal;
        const auto desktop = experts.open(
            hello_of(machine.host, "desk"), [](FromNode) {}, refusal);
        QVERIFY(desktop != 0);
        const kernels::WeightType format = machine.host.plan_inputs().master;
        QVERIFY(experts.want(desktop, {{{0, 1, format}, {3, 2, format}}}).empty());
        QVERIFY(becomesTrue([&] { return experts.n_warmed() >= 6; }));
        QCOMPARE(experts.state().n_held, std::uint64_t{2});
        experts.close(desktop);
        QVERIFY(becomesTrue([&] { return experts.state().n_held == 0; }));
        const std::uint64_t before = experts.n_warmed();
        experts.close(desktop);
        QVERIFY(experts.n_warmed() - before <= 2);
    }

    // The first request is served first, and a served one queues again behind the others.
    void turns_areInTheOrderOfAsking() {
        TurnLock turn;
        std::vector<int> order;  // of the lock's grants
        std::vector<std::jthread> desktops;
        turn.lock();
        for (int i = 0; i < 12; ++i) {
            desktops.emplace_back([&, i] {
                const std::scoped_lock lock(turn);
                order.push_back(i);
            });
            QVERIFY(becomesTrue([&] { return turn.n_waiting() == static_cast<std::uint64_t>(i) + 1; }));
        }
        turn.unlock();
        {
            const std::scoped_lock lock(turn);
            order.push_back(12);
        }
        for (std::jthread& desktop : desktops) desktop.join();
        for (int i = 0; i <= 12; ++i) QCOMPARE(order[static_cast<std::size_t>(i)], i);
    }

    // One desktop sends one large request after the other. Each small request of another
    // desktop waits for at most one of them.
    void desktops_areServedInTurn() {
        OneNode machine(request());
        NodeExperts& experts = machine.node.experts();
        const kernels::WeightType format = machine.host.plan_inputs().master;
        const auto open = [&] {
            Message refusal;
            return experts.open(
                hello_of(machine.host, "desk"), [](FromNode) {}, refusal);
        };
        const auto greedy = open(), modest = open();
        QVERIFY(experts.want(greedy, {{{0, 0, format}}}).empty());
        QVERIFY(becomesTrue([&] { return experts.state().n_held == 1; }));
        const auto requestOf = [&](std::uint32_t n_rows) {
            NodeCompute request;
            request.experts = {{0, n_rows, format}};
            for (std::uint32_t i = 0; i < n_rows; ++i) request.row_token.push_back(i);
            request.n_tokens = n_rows;
            request.inputs.assign(n_rows * static_cast<std::size_t>(experts.grid().hidden_dim) * 4, '\0');
            return request;
        };
        const NodeCompute large = requestOf(256), small = requestOf(1);
        std::atomic<int> n_large = 0;
        std::atomic<bool> refused = false;
        {
            const std::jthread busy([&](const std::stop_token& stop) {
                while (!stop.stop_requested()) {
                    if (!experts.compute(greedy, large).refusal.empty()) refused = true;
                    ++n_large;
                }
            });
            QVERIFY(becomesTrue([&] { return n_large > 2; }));
            std::vector<int> waited;
            for (int i = 0; i < 31; ++i) {
                const int before = n_large;
                QVERIFY(experts.compute(modest, small).refusal.empty());
                waited.push_back(n_large - before);
            }
            std::sort(waited.begin(), waited.end());
            QVERIFY2(waited[waited.size() / 2] <= 2, qPrintable(QString::number(waited[waited.size() / 2])));
        }
        QVERIFY(!refused);
    }

  private:
    QTemporaryDir m_cache;
    LoadRequest request() const { return nodeRequest(demoModel(), m_cache.path().toStdString()); }
};

QTEST_GUILESS_MAIN(TestNodeExperts)
#include "tst_node_experts.moc"
