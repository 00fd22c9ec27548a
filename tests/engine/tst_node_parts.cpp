// Experts on other machines, without a network: messages are checked, a node's share
// changes no bit, and after any fault of the node the answer is the same.

#include <random>
#include <set>

#include <QtTest>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/link_costs.h"
#include "engine/cluster/pairing_words.h"
#include "tests/engine/node_parts.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

namespace {

// The grid of the messages below.
ExpertGrid smallGrid() {
    ExpertGrid grid;
    grid.n_layers = 3;
    grid.n_experts = 4;
    grid.n_active = 2;
    grid.hidden_dim = 8;
    grid.ffn_dim = 16;
    return grid;
}

NodeCompute goodRequest() {
    NodeCompute request;
    request.layer = 2;
    request.experts = {{1, 2, kernels::WeightType::kBf16}, {3, 1, kernels::WeightType::kBf16}};
    request.row_token = {0, 1, 1};
    request.n_tokens = 2;
    request.inputs.assign(2 * 8 * 4, '\0');
    return request;
}

}  // namespace

class TestNodeParts : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    std::vector<float> m_expected;  // of one machine

    LoadRequest request() const { return nodeRequest(demoModel(), m_cache.path().toStdString()); }

  private Q_SLOTS:
    void initTestCase() {
        m_expected = nodeLogits(*openModel(request()));
        QVERIFY(!m_expected.empty());
    }

    // ---------------------------------------------------------------- messages
    void request_isCheckedFieldByField_data() {
        using Change = std::function<void(NodeCompute&)>;
        QTest::addColumn<Change>("change");
        QTest::addColumn<QString>("complaint");
        const auto row = [](const char* name, const char* complaint, const Change& change) {
            QTest::newRow(name) << change << QString::fromLatin1(complaint);
        };
        row("as it should be", "", [](NodeCompute&) {});
        row("layer too high", "the layer is 3; expected 0 to 2.", [](NodeCompute& r) { r.layer = 3; });
        row("layer negative", "the layer is -1", [](NodeCompute& r) { r.layer = -1; });
        row("expert too high", "the expert is 4", [](NodeCompute& r) { r.experts[1].expert = 4; });
        row("expert negative", "the expert is -5", [](NodeCompute& r) { r.experts[0].expert = -5; });
        row("expert twice", "the expert is 1; expected experts in ascending order",
            [](NodeCompute& r) { r.experts[1].expert = 1; });
        row("no experts", "the number of experts is 0", [](NodeCompute& r) { r.experts.clear(); });
        row("no rows of an expert", "number of rows is 0", [](NodeCompute& r) { r.experts[0].n_rows = 0; });
        row("more rows than there are", "the sum of the experts' rows is 4294967296; expected 3",
            [](NodeCompute& r) { r.experts[0].n_rows = ~0u; });
        row("row of another token", "a row's token is 2; expected 0 to 1", [](NodeCompute& r) { r.row_token[2] = 2; });
        row("no tokens", "the number of tokens is 0", [](NodeCompute& r) { r.n_tokens = 0; });
        row("more tokens than a message holds", "the number of tokens is", [](NodeCompute& r) { r.n_tokens = ~0u; });
        row("too little", "the size of the activations is 63; expected 64 bytes.",
            [](NodeCompute& r) { r.inputs.pop_back(); });
        row("too much", "the size of the activations is 65", [](NodeCompute& r) { r.inputs += 'x'; });
        row("half the type", "the size of the activations is 64; expected 32",
            [](NodeCompute& r) { r.activations = ActivationType::kBf16; });
        row("unknown type", "the activations' type is 255",
            [](NodeCompute& r) { r.activations = static_cast<ActivationType>(255); });
        row("unknown order", "the order of sums is 7", [](NodeCompute& r) { r.order = static_cast<SumOrder>(7); });
        row("unknown format", "the format is 255",
            [](NodeCompute& r) { r.experts[0].format = static_cast<kernels::WeightType>(255); });
        row("format that no expert is in", "the format is",
            [](NodeCompute& r) { r.experts[0].format = kernels::WeightType::kQ4K; });
        row("format of a file that there is not", "the format is",
            [](NodeCompute& r) { r.experts[0].format = kernels::WeightType::kFile1; });
        row("packed where rows are too short", "the format is",
            [](NodeCompute& r) { r.experts[0].format = kernels::WeightType::kHqq4; });
        row("theta is no number", "theta is", [](NodeCompute& r) { r.theta = NAN; });
        row("theta negative", "theta is", [](NodeCompute& r) { r.theta = -1; });
        row("no rows", "the number of rows is 0", [](NodeCompute& r) { r.row_token.clear(); });
    }
    void request_isCheckedFieldByField() {
        QFETCH(std::function<void(NodeCompute&)>, change);
        QFETCH(QString, complaint);
        NodeCompute request = goodRequest();
        change(request);
        const QString said = QString::fromStdString(check(request, smallGrid()).english());
        QVERIFY2(complaint.isEmpty() ? said.isEmpty() : said.contains(complaint), qPrintable(said));
    }

    void otherMessages_areChecked() {
        const ExpertGrid grid = smallGrid();
        QVERIFY(!check(NodeWant{{{0, 4, kernels::WeightType::kBf16}}}, grid).empty());
        QVERIFY(check(NodeWant{{{2, 3, kernels::WeightType::kBf16}}}, grid).empty());
        QVERIFY(!check(NodeWant{std::vector<NodeExpert>(13)}, grid).empty());
        QVERIFY(!check(NodeHoldings{{}, {{3, 0, kernels::WeightType::kBf16}}, false}, grid).empty());
        QVERIFY(!check(NodePing{1, std::string(kMostPingBytes + 1, 'x')}).empty());
        NodeReply reply;
        reply.n_rows = 2;
        reply.outputs.assign(2 * 8 * 4, '\0');
        QVERIFY(check(reply, 2, ActivationType::kF32, grid).empty());
        QVERIFY(!check(reply, 3, ActivationType::kF32, grid).empty());
        QVERIFY(!check(reply, 2, ActivationType::kBf16, grid).empty());
        reply.outputs.pop_back();
        QVERIFY(!check(reply, 2, ActivationType::kF32, grid).empty());
        NodeHello hello;
        QVERIFY(check(hello).empty());
        hello.desktop.assign(1000, 'x');
        QVERIFY(!check(hello).empty());
        QCOMPARE(printable("a\x1b[31m\n", 64), std::string("a?[31m?"));
    }

    void activations_passBothWays() {
        const std::vector<float> values = {0, 1.0f / 3, -2.5f, 1e-30f, 65504};
        for (const ActivationType type : {ActivationType::kF32, ActivationType::kBf16}) {
            std::string bytes = "";
            append_activations(type, values, bytes);
            append_activations(type, values, bytes);
            QCOMPARE(bytes.size(), 2 * values.size() * bytes_of(type));
            std::vector<float> back(values.size());
            read_activations(type, bytes, values.size(), back);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const float expected =
                    type == ActivationType::kF32 ? values[i] : kernels::to_float(kernels::to_bf16(values[i]));
                QCOMPARE(back[i], expected);
            }
        }
    }

    // ---------------------------------------------------------------- pairing codes
    void pairingCode_isOfWordsThatDiffer() {
        std::set<std::string> words;
        for (std::uint32_t i = 0; i < kPairingVocabulary; ++i) words.insert(pairing_word(i));
        QCOMPARE(words.size(), std::size_t{kPairingVocabulary});
        const std::array<std::uint16_t, kPairingWords> numbers = {0, 1, 2047, 1024, 77, 5, 6, 7};
        const std::string code = pairing_code(numbers);
        QCOMPARE(QString::fromStdString(code).split(QLatin1Char(' ')).size(), 8);
        QCOMPARE(normal_pairing_code(code), code);
        QCOMPARE(
            normal_pairing_code(
                " " + QString::fromStdString(code).toUpper().replace(QLatin1Char(' '), QLatin1Char('-')).toStdString() +
                " \n"),
            code);
        for (const char* wrong :
             {"", "bada", "bada bada bada bada bada bada bada bada bada", "bada bada bada bada bada bada bada badx"}) {
            QVERIFY_THROWS_EXCEPTION(Error, normal_pairing_code(wrong));
        }
    }

    // --------------------------------------------------------------- costs and placement
    void costs_followWhatWasMeasured_andLearn() {
        LinkCosts costs;
        costs.set({100, 0.001, 4000, {{1, 50}, {16, 200}}, 1e6});
        QCOMPARE(costs.expert_us(1e6, 1), 50.0);
        QCOMPARE(costs.expert_us(0.5e6, 16), 100.0);
        QCOMPARE(costs.expert_us(1e6, 31), 350.0);
        QCOMPARE(costs.transfer_us(1), 108.0);
        for (int i = 0; i < 100; ++i) costs.correct(costs.expert_us(1e6, 1), 100, 1, 100 + 54);
        QVERIFY(std::abs(costs.expert_us(1e6, 1) - 100) < 1);
        QVERIFY(std::abs(costs.transfer_us(1) - 54) < 1);
        QVERIFY(std::abs(costs.message_us() - 25) < 1);  // half of a request's way, and as much shorter
        costs.set({100, 0.001, 4000, {{1, 50}, {16, 200}}, 1e6, 60});
        QCOMPARE(costs.message_us(), 60.0);
        // A share of a layer shows the time of computing, not of messages.
        const std::uint64_t n = costs.n_corrections();
        for (int i = 0; i < 100; ++i) costs.correct_computing(costs.expert_us(1e6, 1), 5000);
        QVERIFY(std::abs(costs.expert_us(1e6, 1) - 64 * 50) < 1);  // and no more than that
        QCOMPARE(costs.message_us(), 60.0);
        QCOMPARE(costs.n_corrections(), n + 100);
        // Between layers messages take more or less time than alone, but never almost
        // none.
        costs.set_between_layers(30, -20);
        QCOMPARE(costs.transfer_us(1), 138.0);
        QCOMPARE(costs.message_us(), 40.0);
        costs.set({100, 0.001, 4000, {{1, 50}, {16, 200}}, 1e6, 60});  // over another connection too
        costs.set_between_layers(-200, -200);
        QCOMPARE(costs.transfer_us(1), 33.0);
        QCOMPARE(costs.message_us(), 15.0);
    }

    void costs_areMeasuredAgain_andTheLesserCounts() {
        LinkCosts costs;
        QCOMPARE(costs.first_expert_us(), 0.0);
        const LinkCosts::Measured busy{400, 0.002, 4000, {{1, 2675}, {16, 9000}}, 1e6, 90, 12};
        costs.set(busy);
        costs.correct_computing(2675, 5000);
        QVERIFY(costs.expert_us() > 2675);
        const LinkCosts::Measured idle{100, 0.003, 4000, {{1, 9}, {16, 90}}, 1e6, 95, 4};
        costs.set_again(LinkCosts::least_of(idle, busy));
        QCOMPARE(costs.expert_us(1e6, 1), 9.0);  // nothing learnt from use remains
        QCOMPARE(costs.expert_us(), 9.0);
        QCOMPARE(costs.first_expert_us(), 2675.0);
        const LinkCosts::Measured now = costs.measured();
        QVERIFY(now.latency_us == 100 && now.us_per_byte == 0.002 && now.exchange_us == 90 && now.send_us == 4);
        QCOMPARE(now.expert[1].us, 90.0);
        // Experts in another format count by their bytes.
        const LinkCosts::Measured small{100, 0.003, 4000, {{1, 3}, {16, 10}}, 0.25e6, 95, 4};
        QCOMPARE(LinkCosts::least_of(idle, small).expert[0].us, 9.0);
        QCOMPARE(LinkCosts::least_of(idle, small).expert[1].us, 40.0);
        QCOMPARE(LinkCosts::least_of(small, idle).expert[0].us, 9.0 / 4);
    }

    void machineIsMeasuredAgain_whileNothingUsesIt() {
        using Time = RemeasureSchedule::Time;
        const auto at = [](double s) {
            return Time() + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(1000 + s));
        };
        const Time never{};
        RemeasureSchedule schedule(5, 30);
        schedule.begin();
        schedule.measured(at(0), 2675, 0);
        QVERIFY(!schedule.is_due(at(4.9), never, 0));
        QVERIFY(schedule.is_due(at(5), never, 0));
        // Not while this machine computes, nor shortly after that.
        QVERIFY(!schedule.is_due(at(60), Time::max(), 0));
        QVERIFY(!schedule.is_due(at(60), at(59.5), 0));
        QVERIFY(schedule.is_due(at(60), at(59), 0));
        // A different result: measured once more, later. Two equal results: not again
        // before there have been steps.
        schedule.measured(at(60), 9, 0);
        QVERIFY(!schedule.is_due(at(69), never, 0) && schedule.is_due(at(70), never, 0));
        schedule.measured(at(70), 10, 0);
        QVERIFY(!schedule.is_due(at(700), at(65), 0));
        QVERIFY(!schedule.is_due(at(89), at(80), 0) && schedule.is_due(at(90), at(80), 0));
        schedule.measured(at(90), 10, 0);
        schedule.measured(at(200), 10, 0);  // no longer than
        QVERIFY(!schedule.is_due(at(229), at(210), 0) && schedule.is_due(at(230), at(210), 0));
        // Use is more exact; when it ends, the first interval applies again.
        QVERIFY(!schedule.is_due(at(300), at(299), 7));
        QVERIFY(!schedule.is_due(at(310), at(299), 7));
        QVERIFY(schedule.is_due(at(310), at(301), 7));
        // A new connection.
        schedule.begin();
        schedule.measured(at(400), 10, 7);
        QVERIFY(schedule.is_due(at(405), never, 7));
        RemeasureSchedule none(0, 30);
        none.measured(at(0), 10, 0);
        QVERIFY(!none.is_due(at(1e6), never, 0));
    }

    void shares_beginWithWhatIsNotHere_andAreBalanced() {
        const ExpertGrid grid = smallGrid();
        Plan plan;
        for (std::int64_t i = 0; i < grid.size(); ++i) plan.places.push_back(i % 4 < 2 ? Place::kRam : Place::kDisk);
        const std::vector<kernels::WeightType> formats(12, kernels::WeightType::kBf16);
        const auto lists = share_out_experts(2, grid, plan, formats, Popularity::uniform(3, 4, 2));
        QCOMPARE(lists.size(), std::size_t{2});
        std::set<std::pair<int, int>> first_shares;
        for (const auto& list : lists) {
            QCOMPARE(list.size(), std::size_t{12});
            std::vector<int> of_layer(3);
            for (std::size_t i = 0; i < 3; ++i) {  // half of the six on disk
                QVERIFY(list[i].expert >= 2);
                ++of_layer[static_cast<std::size_t>(list[i].layer)];
                first_shares.insert({list[i].layer, list[i].expert});
            }
            QCOMPARE(of_layer, (std::vector<int>{1, 1, 1}));
        }
        QCOMPARE(first_shares.size(), std::size_t{6});
    }

    // ---------------------------------------------------------------- answers
    void nodes_changeNoBit_data() {
        QTest::addColumn<int>("nodes");
        QTest::addColumn<int>("room");  // experts that each has room for; of 64
        QTest::addColumn<QString>("device");
        QTest::newRow("one, all experts") << 1 << 64 << QStringLiteral("cpu");
        QTest::newRow("one, some experts") << 1 << 20 << QStringLiteral("cpu");
        QTest::newRow("two, some experts") << 2 << 20 << QStringLiteral("cpu");
        QTest::newRow("one without room") << 1 << 0 << QStringLiteral("cpu");
        QTest::newRow("beside an accelerator") << 1 << 40 << QStringLiteral("emulated:rtx-3060");
    }
    void nodes_changeNoBit() {
        QFETCH(int, nodes);
        QFETCH(int, room);
        QFETCH(QString, device);
        LoadRequest node_request = request();
        LoadRequest model_request = request();
        model_request.device = device.toStdString();
        if (device != QStringLiteral("cpu")) model_request.vram_bytes = 12 << 20;
        const auto model = openModel(model_request);
        const std::uint64_t bytes = model->source().expert_bytes(model->plan_inputs().master);
        node_request.ram_bytes = static_cast<std::uint64_t>(room) * (bytes + 256) + 4096;
        std::vector<std::unique_ptr<OneNode>> machines;
        std::vector<NodeAddress> addresses;
        for (int i = 0; i < nodes; ++i) {
            machines.push_back(std::make_unique<OneNode>(node_request));
            addresses.push_back(machines.back()->node.address("node " + std::to_string(i)));
        }
        JoinedNodes joined(*model, std::move(addresses), insisting(), {}, {});
        for (const JoinedNodes::Figures& node : joined.figures()) {
            QCOMPARE(node.up, room > 0);
            QVERIFY2(std::abs(node.n_held - room) <= (room == 64 || room == 0 ? 0 : 2),
                     qPrintable(QString::number(node.n_held)));
        }
        QVERIFY(nodeLogits(*model) == m_expected);
        std::uint64_t rows = 0;
        for (const JoinedNodes::Figures& node : joined.figures()) {
            QCOMPARE(node.totals.rows > 0, room > 0);
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
            rows += node.totals.rows;
        }
        const std::uint64_t all = nodeRows(*model);
        if (room == 64) QCOMPARE(rows, all);
        if (room < 64) QVERIFY(rows < all);
        if (room == 0) QVERIFY(textOf(joined.take_notes()).contains(QStringLiteral("has no room for an expert")));
    }

    // All experts that the machine holds and the accelerator does not are computed there:
    // under every policy, and with guessed copies and copies ahead of a prompt.
    void machinesInsistedOn_areUsed_inAnyPolicy_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<bool>("guesses");
        for (const char* policy : {"threshold", "balanced", "transfer", "static", "layers", "auto"})
            QTest::addRow("%s", policy) << QString::fromLatin1(policy) << false;
        QTest::newRow("transfer, with guesses") << QStringLiteral("transfer") << true;
    }
    void machinesInsistedOn_areUsed_inAnyPolicy() {
        QFETCH(QString, policy);
        QFETCH(bool, guesses);
        LoadRequest model_request = request();
        model_request.device = "emulated:rtx-3060";
        model_request.vram_bytes = 12 << 20;
        model_request.dispatch = parse_dispatch(policy.toStdString());
        if (guesses) model_request.prefetch = PrefetchMode::kAlways;
        const auto model = openModel(model_request);
        OneNode machine(request());
        JoinSettings settings = insisting();
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, settings, {}, {});
        QCOMPARE(joined.figures()[0].n_held, std::int64_t{64});
        model->dispatcher().reset_totals();
        QVERIFY(nodeLogits(*model) == m_expected);
        const DispatchTotals& totals = model->dispatcher().totals();
        const std::uint64_t rows = joined.figures()[0].totals.rows;
        QVERIFY(rows > 0 && rows < nodeRows(*model));
        QCOMPARE(totals.cpu_calls, std::uint64_t{0});
        QCOMPARE(totals.bytes_copied, std::uint64_t{0});
    }

    void quantizedExperts_areTheSameThere() {
        LoadRequest model_request = request();
        model_request.quant = parse_quant("experts=int8");
        QTemporaryDir kept;
        model_request.quant_cache_directory = kept.path().toStdString();
        const std::vector<float> expected = nodeLogits(*openModel(model_request), 4);
        LoadRequest node_request = request();
        node_request.quant_cache_directory = kept.path().toStdString();
        OneNode machine(node_request);
        const auto model = openModel(model_request);
        JoinedNodes joined(*model, {machine.node.address("node")}, insisting(), {}, {});
        QVERIFY(nodeLogits(*model, 4) == expected);
        QVERIFY(joined.figures()[0].totals.rows > 0);
    }

    void measuredCosts_decide() {
        // A node that reports seconds is never used.
        OneNode machine(request());
        machine.node.faults.computes_us = 5e6;
        const auto model = openModel(request());
        JoinSettings settings;
        JoinedNodes joined(*model, {machine.node.address("node")}, settings, {}, {});
        QVERIFY(nodeLogits(*model, 3).size() == m_expected.size() / 4);
        QCOMPARE(joined.figures()[0].n_held, std::int64_t{64});
        QCOMPARE(joined.figures()[0].totals.rows, std::uint64_t{0});
    }

    // Also by measured costs alone: experts that this machine would have to read from a
    // slow disk.
    void expertsThatDoNotFitHere_areComputedThere() {
        LoadRequest small = request();
        {
            const auto whole = openModel(request());
            const std::uint64_t bytes = whole->source().expert_bytes(whole->plan_inputs().master);
            small.ram_bytes = whole->ram().usage().used_bytes - 20 * bytes;
        }
        small.disk_reads = DiskReads::kCached;
        const auto model = openModel(small);
        setCosts(*model, 100);
        const auto on_disk = std::count(model->plan().places.begin(), model->plan().places.end(), Place::kDisk);
        QVERIFY(on_disk >= 16 && on_disk < 64);
        model->cost().set_disk({1e6, 0, 0}, false);
        OneNode machine(request());
        machine.node.faults.computes_us = 100;
        JoinSettings settings = insisting();
        settings.use = NodeUse::kMeasured;
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, settings, {}, {});
        QVERIFY(nodeLogits(*model) == m_expected);
        const DispatchTotals& totals = model->dispatcher().totals();
        QVERIFY(joined.figures()[0].totals.rows > 0);
        QVERIFY(totals.expert_calls > totals.cpu_calls && totals.cpu_calls > 0);
    }

    // While it is busy it reports more time than reading from a disk takes, so it is not
    // used. Its experts are measured again when nothing is computed here.
    void machineThatWasBusyWhenItJoined_isMeasuredAgain_andAsked() {
        LoadRequest small = request();
        {
            const auto whole = openModel(request());
            small.ram_bytes =
                whole->ram().usage().used_bytes - 20 * whole->source().expert_bytes(whole->plan_inputs().master);
        }
        small.disk_reads = DiskReads::kCached;
        const auto model = openModel(small);
        setCosts(*model, 100);
        model->cost().set_disk({1e6, 0, 0}, false);
        OneNode machine(request());
        machine.node.faults.computes_us = 5e9;
        JoinSettings settings = insisting();
        settings.use = NodeUse::kMeasured;
        settings.patience.first_measuring_s = 0.05;
        settings.patience.longest_measuring_s = 0.1;
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, settings, {}, {});
        QVERIFY(nodeLogits(*model) == m_expected);
        QCOMPARE(joined.figures()[0].totals.rows, std::uint64_t{0});
        machine.node.faults.computes_us = 5;
        // It may have been measured between the two lines above; without another step it
        // is not measured again.
        const auto isFaster = [&] { return joined.node(0).costs().expert_us() < 100; };
        for (int i = 0; i < 20 && !becomesTrue(isFaster, 1); ++i) nodeLogits(*model, 1);
        QVERIFY(isFaster());
        Snapshot now;
        joined.fill(now);
        QVERIFY(now.machines[0].first_expert_us > 1e9 && now.machines[0].expert_us < 100);
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(notes.contains(QStringLiteral("cupboard was measured again: it computes experts ")) &&
                     notes.contains(QStringLiteral(" times faster than measured before.")),
                 qPrintable(notes));
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(joined.figures()[0].totals.rows > 0);
    }

    // ---------------------------------------------------------------- faults
    void faultyNode_isReplacedAtOnce_data() {
        using Fault = std::function<bool(FromNode&)>;
        QTest::addColumn<Fault>("fault");  // of the 20th reply
        QTest::addColumn<QString>("note");
        const auto row = [](const char* name, const char* note, const Fault& fault) {
            QTest::newRow(name) << fault << QString::fromLatin1(note);
        };
        row("silent", "no answer for 1.0 s", [](FromNode&) { return false; });
        row("fewer rows", "the number of rows is", [](FromNode& message) {
            --std::get<NodeReply>(message).n_rows;
            return true;
        });
        row("fewer bytes", "the size of the activations is", [](FromNode& message) {
            std::get<NodeReply>(message).outputs.resize(12);
            return true;
        });
        row("another type", "the activations' type is", [](FromNode& message) {
            std::get<NodeReply>(message).activations = ActivationType::kBf16;
            return true;
        });
        row("refuses to compute", "it could not compute: no memory", [](FromNode& message) {
            std::get<NodeReply>(message) = {
                std::get<NodeReply>(message).number, 0, ActivationType::kF32, "", 0, "no memory"};
            return true;
        });
        row("holdings of no layer", "the layer is 99", [](FromNode& message) {
            message = NodeHoldings{{{99, 0, kernels::WeightType::kBf16}}, {}, false};
            return true;
        });
        row("says farewell", "it is being shut down", [](FromNode& message) {
            message = NodeDrain{};
            return true;
        });
    }
    void faultyNode_isReplacedAtOnce() {
        QFETCH(std::function<bool(FromNode&)>, fault);
        QFETCH(QString, note);
        OneNode machine(request());
        std::atomic<int> n_replies = 0;
        machine.node.faults.passes_back = [&](FromNode& message) {
            if (!std::holds_alternative<NodeReply>(message) || n_replies++ != 20) return true;
            return fault(message);
        };
        const bool fault_is_silence = QByteArray(QTest::currentDataTag()) == "silent";
        const auto model = openModel(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, insisting(fault_is_silence ? 1 : 10), {}, {});
        QVERIFY(nodeLogits(*model) == m_expected);
        const JoinedNodes::Figures figures = joined.figures()[0];
        QVERIFY(figures.totals.failed_rows > 0);
        QVERIFY(joined.node(0).n_losses() >= 1);
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(notes.contains(QStringLiteral("cupboard is gone (")) && notes.contains(note), qPrintable(notes));
    }

    // During an answer, over the same connection: a node releases some experts, takes
    // others, and its replies to earlier requests still count.
    void wantedAnew_inMidAnswer_changesNoBit() {
        OneNode machine(request());
        const auto model = openModel(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, insisting(), {}, {});
        const kernels::WeightType format = model->plan_inputs().master;
        const auto listOf = [&](int remainder) {
            std::vector<NodeExpert> list;
            for (std::int32_t i = 0; i < 64; ++i) {
                if (i % 3 != remainder) list.push_back({i / 8, i % 8, format});
            }
            return list;
        };
        std::uint64_t rows = 0;
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step == 0) return;
                    NodeClient& node = joined.node(0);
                    node.want(listOf(step % 3));
                    QVERIFY(becomesTrue(
                        [&] { return node.n_held() == static_cast<std::int64_t>(listOf(step % 3).size()); }));
                    for (std::size_t i = 0; i < 64; ++i)
                        QCOMPARE(node.holds(i, format), i % 3 != static_cast<std::size_t>(step % 3));
                    rows = joined.figures()[0].totals.rows;
                }) == m_expected);
        QVERIFY(joined.figures()[0].totals.rows > rows);
        QCOMPARE(joined.figures()[0].totals.failed_rows, std::uint64_t{0});
        QCOMPARE(joined.node(0).n_losses(), std::uint64_t{0});
        QVERIFY(model->dispatcher().totals().cpu_calls > 0);
    }

    // Three machines with room for a third of the experts each; one is lost for good: the
    // others hold its experts instead of copies, and this machine computes no expert any
    // more that fits there.
    void machineThatStaysAway_leavesItsExpertsToTheOthers() {
        LoadRequest node_request = request();
        const auto model = openModel(request());
        const std::uint64_t bytes = model->source().expert_bytes(model->plan_inputs().master);
        node_request.ram_bytes = 34 * (bytes + 256) + 4096;
        std::vector<std::unique_ptr<OneNode>> machines;
        std::vector<NodeAddress> addresses;
        for (int i = 0; i < 3; ++i) {
            machines.push_back(std::make_unique<OneNode>(node_request));
            addresses.push_back(machines.back()->node.address("node " + std::to_string(i)));
        }
        JoinSettings settings = insisting();
        settings.patience.first_retry_s = settings.patience.longest_retry_s = 1000;
        settings.deal_anew_s = 0.05;
        JoinedNodes joined(*model, std::move(addresses), settings, {}, {});
        const auto missing = [&] {
            int n = 0;
            for (std::size_t i = 0; i < 64; ++i) {
                const kernels::WeightType format = model->plan_inputs().master;
                n += joined.node(1).holds(i, format) || joined.node(2).holds(i, format) ? 0 : 1;
            }
            return n;
        };
        // Each has a third, and half of the third of the machine before it.
        QVERIFY(missing() > 4);
        machines[0]->node.cut();
        QVERIFY(becomesTrue([&] { return !joined.node(0).is_up(); }));
        int n_steps = 0;
        QVERIFY(becomesTrue([&] {
            ++n_steps;
            const std::vector<float> logits = nodeLogits(*model, 2);
            return std::equal(logits.begin(), logits.end(), m_expected.begin()) && missing() == 0;
        }));
        const std::int64_t on_cpu = model->dispatcher().totals().cpu_calls;
        const std::vector<float> logits = nodeLogits(*model, 4);
        QVERIFY(std::equal(logits.begin(), logits.end(), m_expected.begin()));
        QCOMPARE(static_cast<std::int64_t>(model->dispatcher().totals().cpu_calls), on_cpu);
    }

    // From the layer in which the first one fails on: this machine's CPU has nothing to
    // do.
    void anotherNodesCopy_takesOver() {
        OneNode first(request()), second(request());
        std::atomic<bool> fails = false;
        first.node.faults.passes_back = [&](FromNode& message) {
            if (auto* reply = std::get_if<NodeReply>(&message); reply != nullptr && fails) reply->n_rows = 77;
            return true;
        };
        // The first one gets requests before the second one: it is faster by more than
        // the links can differ on a busy machine.
        first.node.faults.computes_us = 10;
        second.node.faults.computes_us = 1e6;
        const auto model = openModel(request());
        JoinSettings settings = insisting();
        settings.patience.first_retry_s = settings.patience.longest_retry_s = 1000;
        JoinedNodes joined(*model, {first.node.address("cupboard"), second.node.address("attic")}, settings, {}, {});
        QVERIFY(nodeLogits(*model, 12, [&](int step) { fails = step >= 3; }) == m_expected);
        const auto figures = joined.figures();
        QVERIFY(!figures[0].up && figures[0].totals.failed_rows > 0);
        QVERIFY(figures[1].up && figures[1].totals.rows > 0);
        QCOMPARE(figures[0].totals.rows + figures[1].totals.rows, nodeRows(*model));
        QCOMPARE(model->dispatcher().totals().cpu_calls, std::uint64_t{0});
    }

    void cutLink_comesBack_andIsUsedAgain() {
        OneNode machine(request());
        const auto model = openModel(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, insisting(), {}, {});
        std::uint64_t before = 0;
        bool back = false;
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step == 3) machine.node.cut();
                    if (step != 8) return;
                    back = becomesTrue([&] { return joined.node(0).is_up() && joined.node(0).n_held() == 64; });
                    before = joined.figures()[0].totals.rows;
                }) == m_expected);
        QVERIFY(back);
        QVERIFY(joined.figures()[0].totals.rows > before);
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(notes.contains(QStringLiteral("is gone (the connection ended)")) &&
                     notes.contains(QStringLiteral("cupboard is back")),
                 qPrintable(notes));
    }

    // For a cut of the link at any place (before the first expert, in a prompt, between
    // two layers) the answer is the same.
    void cutLink_atAnyMoment_changesNoBit() {
        std::mt19937 random(7);
        OneNode machine(request());
        std::atomic<int> left = 0;
        machine.node.faults.passes_back = [&](FromNode&) {
            if (left-- != 0) return true;
            machine.node.cut();
            return false;
        };
        const auto model = openModel(request());
        for (int i = 0; i < 10; ++i) {  // at most kMostNodes executors
            left = static_cast<int>(random() % 200);
            JoinedNodes joined(*model, {machine.node.address("cupboard")}, insisting(), {}, {});
            const std::vector<float> logits = nodeLogits(*model, 4);
            QVERIFY(std::equal(logits.begin(), logits.end(), m_expected.begin()) && !logits.empty());
        }
    }

    void unreachableNode_isNoted_andTriedAgain() {
        OneNode machine(request());
        std::atomic<bool> there = false;
        machine.node.faults.connects = [&] { return there.load(); };
        const auto model = openModel(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, insisting(), {}, {});
        QVERIFY(!joined.figures()[0].up);
        QVERIFY(textOf(joined.take_notes()).contains(QStringLiteral("cupboard cannot be reached")));
        there = true;
        QVERIFY(becomesTrue([&] { return joined.node(0).is_up(); }));
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(joined.figures()[0].totals.rows > 0);
    }

    void differentMachine_isRefused_data() {
        using Change = std::function<void(NodeHello&)>;
        QTest::addColumn<Change>("change");
        QTest::addColumn<QString>("complaint");
        const auto row = [](const char* name, const char* complaint, const Change& change) {
            QTest::newRow(name) << change << QString::fromLatin1(complaint);
        };
        const std::string version =
            "speaks version " + std::to_string(kNodeProtocol) + " of the protocol and was asked in version 1";
        row("version", version.c_str(), [](NodeHello& hello) { hello.version = 1; });
        row("model", "has another model open", [](NodeHello& hello) { hello.fingerprint[0] ^= 1; });
        row("shape", "has another model open", [](NodeHello& hello) { ++hello.n_experts; });
        row("products", "forms products in f32, the desktop in bf16", [](NodeHello& hello) { hello.compute = "bf16"; });
        row("name too long", "the desktop's name is", [](NodeHello& hello) { hello.desktop.assign(99, 'x'); });
    }
    void differentMachine_isRefused() {
        QFETCH(std::function<void(NodeHello&)>, change);
        QFETCH(QString, complaint);
        OneNode machine(request());
        NodeHello hello = hello_of(machine.host, "desk");
        const auto open = [&](Message& refusal) {
            return machine.node.experts().open(
                hello, [](FromNode) {}, refusal);
        };
        Message refusal;
        QVERIFY(open(refusal) != 0);
        change(hello);
        QCOMPARE(open(refusal), std::uint64_t{0});
        QVERIFY2(QString::fromStdString(refusal.english()).contains(complaint), refusal.english().c_str());
        QCOMPARE(machine.node.experts().state().n_desktops, std::uint64_t{1});
    }

    void refusal_isToldWithoutTryingOn() {
        OneNode machine(request(), {"cupboard", 0, 0});
        const auto model = openModel(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, insisting(), {}, {});
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(notes.contains(QStringLiteral("cupboard refuses to work for this computer: This machine works for 0")),
                 qPrintable(notes));
        QVERIFY(nodeLogits(*model) == m_expected);
    }
};

QTEST_GUILESS_MAIN(TestNodeParts)
#include "tst_node_parts.moc"
