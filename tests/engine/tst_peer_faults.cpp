// Faults of machines that all make every step: each is replaced at once, changes no bit,
// and catches up when it returns.

#include <QtTest>

#include "engine/cluster/node_peers.h"
#include "tests/engine/peer_nodes.h"

using namespace offstage::engine;
using namespace offstage::test;

class TestPeerFaults : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    std::vector<float> m_expected;  // of one machine

    LoadRequest request() const { return nodeRequest(demoModel(), m_cache.path().toStdString()); }

  private Q_SLOTS:
    void initTestCase() {
        m_expected = nodeLogits(*openModel(request()));
        QVERIFY(!m_expected.empty());
    }

    void faultyPeer_isReplacedAtOnce_andCatchesUp_data() {
        using Fault = std::function<bool(FromNode&)>;
        QTest::addColumn<Fault>("fault");  // in a share of a layer in the third step
        QTest::addColumn<QString>("note");
        const auto row = [](const char* name, const char* note, const Fault& fault) {
            QTest::newRow(name) << fault << QString::fromLatin1(note);
        };
        row("silent", "no answer for 2.0 s", [](FromNode&) { return false; });
        row("fewer bytes", "the size of the activations is", [](FromNode& message) {
            std::get<NodeOutputs>(message).outputs.resize(12);
            return true;
        });
        row("another type", "the activations' type is", [](FromNode& message) {
            NodeOutputs& outputs = std::get<NodeOutputs>(message);
            outputs.activations = ActivationType::kBf16;
            outputs.outputs.resize(outputs.outputs.size() / 2);
            return true;
        });
        row("says farewell", "it is being shut down", [](FromNode& message) {
            message = NodeDrain{};
            return true;
        });
        // It is there, and has nothing: no machine is lost, and this machine computes it.
        row("nothing of its share", "", [](FromNode& message) {
            NodeOutputs& outputs = std::get<NodeOutputs>(message);
            outputs.experts.clear();
            outputs.row_token.clear();
            outputs.outputs.clear();
            return true;
        });
        row("rows of other tokens", "", [](FromNode& message) {
            for (std::uint32_t& token : std::get<NodeOutputs>(message).row_token) token += 1;
            return true;
        });
        row("runs far ahead", "it sent more of the layers to come", [](FromNode&) { return true; });
        row("says that it gave up", "", [](FromNode& message) {
            message = NodeStepped{std::get<NodeOutputs>(message).step, false};
            return true;
        });
    }
    void faultyPeer_isReplacedAtOnce_andCatchesUp() {
        QFETCH(std::function<bool(FromNode&)>, fault);
        QFETCH(QString, note);
        PeerNode machine(request()), other(request());
        std::atomic<int> n_shares = 0;
        std::atomic<bool> had_rows = false;
        machine.node.faults.passes_back = [&](FromNode& message) {
            const auto* outputs = std::get_if<NodeOutputs>(&message);
            // The first from the third step on that has any rows.
            if (outputs == nullptr || n_shares++ < 2 * 8 || outputs->row_token.empty() || had_rows.exchange(true)) {
                return true;
            }
            return fault(message);
        };
        // The most that a message may hold, for a layer that no machine waits for.
        std::atomic<bool> flooded = QByteArray(QTest::currentDataTag()) != "runs far ahead";
        machine.node.faults.sends_before = [&](const FromNode& message) {
            std::vector<FromNode> flood;
            const auto* outputs = std::get_if<NodeOutputs>(&message);
            if (outputs == nullptr || n_shares < 2 * 8 || outputs->row_token.empty() || flooded.exchange(true)) {
                return flood;
            }
            NodeOutputs far = *outputs;
            far.layer = outputs->layer == 7 ? 6 : 7;
            far.last = false;
            const std::size_t row_bytes = outputs->outputs.size() / outputs->row_token.size();
            far.row_token.assign(kMostActivationBytes / row_bytes, 0);
            far.outputs.assign(far.row_token.size() * row_bytes, '\0');
            far.experts = {{0, static_cast<std::uint32_t>(far.row_token.size()), outputs->experts[0].format}};
            for (far.part = 0; far.part < 3; ++far.part) flood.push_back(far);
            return flood;
        };
        const bool fault_is_silence = QByteArray(QTest::currentDataTag()) == "silent";
        const auto model = openCosted(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard"), other.node.address("attic")},
                           decentralised(fault_is_silence ? 2 : 10), {}, {});
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(had_rows);
        const JoinedNodes::Figures figures = joined.figures()[0];
        QVERIFY(figures.totals.failed_rows > 0);
        const QString notes = textOf(joined.take_notes());
        QCOMPARE(joined.node(0).n_losses() >= 1, !note.isEmpty());
        QVERIFY2(note.isEmpty() || (notes.contains(QStringLiteral("cupboard is gone (")) && notes.contains(note)),
                 qPrintable(notes));
        QCOMPARE(joined.node(1).n_losses(), std::uint64_t{0});
        // The other one's steps went on, up to the last.
        QCOMPARE(joined.figures()[1].totals.failed_rows, std::uint64_t{0});
        QCOMPARE(joined.figures()[1].totals.requests, std::uint64_t{12 * 8});
        // It is there again for the next prompt.
        QVERIFY(becomesTrue([&] { return joined.node(0).follows() && joined.node(0).n_held() == 64; }));
        const std::uint64_t before = joined.figures()[0].totals.rows;
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(joined.figures()[0].totals.rows > before);
        QCOMPARE(joined.figures()[0].totals.failed_rows, figures.totals.failed_rows);
    }

    // In mid-answer the machine makes the missed steps in their original form, and takes
    // part again in the same answer.
    void peerThatComesBack_catchesUpInMidAnswer() {
        PeerNode machine(request());
        StepWatch watch;
        watch.put_on(machine.node);
        const auto model = openCosted(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, decentralised(), {}, {});
        const auto rows = [&] { return joined.figures()[0].totals.rows; };
        std::uint64_t then = 0;
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step == 3) machine.node.cut();
                    if (step == 5) {
                        // Ready, and still without the sequence's tokens.
                        QVERIFY(becomesTrue([&] {
                            return joined.node(0).n_losses() > 0 && joined.node(0).follows() &&
                                   joined.node(0).n_held() == 64;
                        }));
                        watch.clear();
                        then = rows();
                        QVERIFY(then < nodeRows(*model, 5));
                    }
                    // At the fifth it gets the missing tokens; this machine continues
                    // without it.
                    if (step == 6) QVERIFY(watch.makes(kNodePrompt + 4) && rows() == then);
                    // For the sixth step it gets the fifth's token too, and it makes this
                    // step together with this machine.
                    if (step == 7) QVERIFY(rows() > then);
                }) == m_expected);
        QCOMPARE(watch.sent.back().machines, 3u);
        QCOMPARE(joined.figures()[0].n_held, std::int64_t{64});
        QCOMPARE(joined.node(0).n_losses(), std::uint64_t{1});
    }

    // It joins after steps whose ends are cut: it makes these whole.
    void peerThatComes_catchesUpWithCutSteps() {
        const auto model = openCosted(request());
        PeerNode machine(request());
        StepWatch watch;
        watch.put_on(machine.node);
        std::unique_ptr<JoinedNodes> joined;
        const auto play = [&](bool with_node) {
            KvSequence sequence = model->new_sequence();
            std::vector<float> all;
            TokenId token = 3;
            const auto step = [&](int n_tokens) {
                std::vector<TokenId> tokens;
                for (int i = 0; i < n_tokens; ++i)
                    tokens.push_back(token = static_cast<TokenId>((token * 37 + 11) % 900));
                const Segment segment{&sequence, tokens};
                if (model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return;
                const auto logits = model->forward().logits();
                all.insert(all.end(), logits.begin(), logits.end());
            };
            step(20);
            step(10);
            sequence.truncate(25);
            step(3);
            sequence.truncate(27);
            sequence.truncate(26);
            if (with_node) {
                joined = std::make_unique<JoinedNodes>(*model, std::vector{machine.node.address("cupboard")},
                                                       decentralised(), LoadProgressFn{}, std::stop_token{});
            }
            step(1);
            if (with_node && !watch.makes(20 + 10 + 3)) return std::vector<float>();
            for (int i = 0; i < 4; ++i) step(1);
            return all;
        };
        const std::vector<float> expected = play(false);
        QCOMPARE(expected.size(), std::size_t{8} * static_cast<std::size_t>(model->spec().vocab_size));
        QVERIFY(play(true) == expected);
        QVERIFY(joined->figures()[0].totals.rows > 0);
        QCOMPARE(joined->figures()[0].totals.requests, std::uint64_t{4 * 8});
        QCOMPARE(joined->figures()[0].totals.failed_rows, std::uint64_t{0});
        QCOMPARE(joined->node(0).n_losses(), std::uint64_t{0});
    }

    // Another prompt begins while it still catches up with the one before: that work is
    // not needed any more.
    void newPrompt_needsNothingOfWhatWasMissed() {
        PeerNode machine(request());
        std::atomic<bool> is_silent = false;  // so that it is never done
        StepWatch watch;
        watch.put_on(machine.node, [&] { return !is_silent; });
        const auto model = openCosted(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, decentralised(), {}, {});
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step == 3) {
                        is_silent = true;
                        machine.node.cut();
                    }
                    if (step != 5) return;
                    QVERIFY(becomesTrue([&] {
                        return joined.node(0).n_losses() == 1 && joined.node(0).follows() &&
                               joined.node(0).n_held() == 64;
                    }));
                    watch.clear();
                }) == m_expected);
        const JoinedNodes::Figures before = joined.figures()[0];
        QVERIFY(watch.makes(kNodePrompt + 4));
        const std::size_t n_missed = watch.sent.size();
        QVERIFY(nodeLogits(*model) == m_expected);
        const JoinedNodes::Figures after = joined.figures()[0];
        QVERIFY(after.totals.rows > before.totals.rows);
        QCOMPARE(after.totals.requests, before.totals.requests + 12 * 8);
        QCOMPARE(after.totals.failed_rows, before.totals.failed_rows);
        QCOMPARE(joined.node(0).n_losses(), std::uint64_t{1});
        // The cancellation came before the first step of the new one.
        QVERIFY(watch.abandoned == std::pair(watch.sent[n_missed - 1].number, n_missed));
        QCOMPARE(watch.sent[n_missed].n_kept, std::int64_t{0});
    }

    // It never reports that it has caught up: it is given up and connected anew.
    void peerThatIsSilentOfWhatItMissed_isGivenUp() {
        PeerNode machine(request());
        std::atomic<bool> is_silent = false;
        StepWatch watch;
        watch.put_on(machine.node, [&] { return !is_silent; });
        const auto model = openCosted(request());
        JoinSettings settings = ::decentralised();
        settings.patience.most_answer_s = 1;
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, settings, {}, {});
        const auto ready = [&] { return joined.node(0).follows() && joined.node(0).n_held() == 64; };
        std::optional<std::chrono::steady_clock::time_point> sent_at;
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step == 3) {
                        is_silent = true;
                        machine.node.cut();
                    }
                    if (step == 5) QVERIFY(becomesTrue([&] { return joined.node(0).n_losses() == 1 && ready(); }));
                    if (step == 6) sent_at = std::chrono::steady_clock::now();
                    if (step == 7) {
                        QVERIFY(becomesTrue([&] {
                            return std::chrono::steady_clock::now() - *sent_at > std::chrono::milliseconds(1300);
                        }));
                    }
                    if (step == 8) QVERIFY(joined.node(0).n_losses() >= 2);
                }) == m_expected);
        is_silent = false;
        QVERIFY(becomesTrue(ready));
        const std::uint64_t before = joined.figures()[0].totals.rows;
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(joined.figures()[0].totals.rows > before);
    }
};

QTEST_GUILESS_MAIN(TestPeerFaults)
#include "tst_peer_faults.moc"
