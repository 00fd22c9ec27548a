// Two nodes that die, hang, lose their links in the middle of a message or become slow,
// at random moments: the answer is the same, in time, nothing is left over, and the next
// prompt works. OFFSTAGE_FAULT_MOMENTS: how many such moments (10 by default),
// OFFSTAGE_FAULT_SEED: which ones.

#include <random>

#include <QElapsedTimer>
#include <QtTest>

#include "engine/nodes/link_test.h"
#include "engine/nodes/node_server.h"
#include "tests/engine/loopback_relay.h"
#include "tests/engine/node_parts.h"
#include "tests/engine/node_process.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

namespace fs = std::filesystem;

constexpr int kTokens = 3;
constexpr double kAnswerSeconds = 0.4;  // a node may take so long

int fromEnvironment(const char* name, int otherwise) {
    bool ok = false;
    const int value = qEnvironmentVariableIntValue(name, &ok);
    return ok ? value : otherwise;
}

// Open files and threads of this process.
std::pair<int, int> inUse() {
    const auto entries = [](const char* folder) {
        return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    };
    return {entries("/proc/self/fd"), entries("/proc/self/task")};
}

}  // namespace

class TestNodeFaults : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    fs::path desktop() const { return m_folder.filePath(QStringLiteral("desktop")).toStdString(); }
    LoadRequest request() const {
        return nodeRequest(demoModel(), m_folder.filePath(QStringLiteral("cache")).toStdString());
    }

  private Q_SLOTS:
    void initTestCase() {
        silence_grpc();
        qputenv("XDG_CACHE_HOME", m_folder.filePath(QStringLiteral("xdg")).toUtf8());
    }

    void faultsAtRandomMoments_changeNoBit_data() {
        QTest::addColumn<bool>("decentralised");
        QTest::addColumn<int>("moments");  // unless set
        QTest::newRow("helpers") << false << 10;
        QTest::newRow("nodes that make the steps") << true << 8;
    }
    void faultsAtRandomMoments_changeNoBit() {
        QFETCH(bool, decentralised);
        QFETCH(int, moments);
        const int n_moments = fromEnvironment("OFFSTAGE_FAULT_MOMENTS", moments);
        std::mt19937 random(static_cast<unsigned>(fromEnvironment("OFFSTAGE_FAULT_SEED", 11)));
        const std::vector<float> expected = nodeLogits(*openModel(request()), kTokens);

        std::vector<std::unique_ptr<NodeProcess>> nodes;
        std::vector<std::unique_ptr<LoopbackRelay>> relays;
        std::vector<NodeAddress> addresses;
        for (int i = 0; i < 2; ++i) {
            nodes.push_back(std::make_unique<NodeProcess>(
                m_folder.filePath(QStringLiteral("%1node%2").arg(QString::fromLatin1(QTest::currentDataTag())).arg(i)),
                desktop(), QStringList{QStringLiteral("--model"), QString::fromStdString(demoModel())}));
            QVERIFY(nodes.back()->port() != 0);
            relays.push_back(std::make_unique<LoopbackRelay>(nodes.back()->port()));
            addresses.push_back(nodes.back()->address(desktop(), relays.back()->port()));
        }
        // Between the two, if there is a link.
        relays.push_back(std::make_unique<LoopbackRelay>(nodes[1]->port()));
        addresses[1].for_nodes = "127.0.0.1:" + std::to_string(relays[2]->port());
        const std::size_t n_links = decentralised ? 3 : 2;
        const auto model = openModel(request());
        JoinSettings settings;
        settings.use = NodeUse::kAlways;
        if (decentralised) settings.shape = NodeShape::kDecentralised;
        // Of a step: a busy computer takes longer for a ping.
        settings.patience.answer_factor = 0;
        settings.patience.least_answer_s = kAnswerSeconds;
        settings.patience.connecting_s = 3;
        settings.patience.first_retry_s = settings.patience.longest_retry_s = 0.05;
        settings.patience.links_again_s = 0.05;
        auto joined =
            std::make_unique<JoinedNodes>(*model, std::move(addresses), settings, LoadProgressFn{}, std::stop_token{});
        const auto ready = [&] {
            return becomesTrue([&] {
                // Two nodes whose direct link has ended try to connect again before a
                // step.
                if (decentralised && joined->link(0, 1).by_way) nodeLogits(*model, 1);
                return joined->node(0).is_up() && joined->node(1).is_up() && joined->node(0).n_held() == 64 &&
                       joined->node(1).n_held() == 64 &&
                       (!decentralised ||
                        (joined->node(0).follows() && joined->node(1).follows() && joined->link(0, 1).direct));
            });
        };
        // For a failure message: the machine that is not ready, and its notes.
        const auto situation = [&] {
            QString told;
            for (const std::size_t i : {0, 1}) {
                const NodeClient& node = joined->node(i);
                told += QStringLiteral("; node %1: up %2, holds %3, follows %4")
                            .arg(i)
                            .arg(node.is_up())
                            .arg(node.n_held())
                            .arg(node.follows());
            }
            const NodeMesh::Link link = joined->link(0, 1);
            told += QStringLiteral("; link: direct %1, by way %2, %3")
                        .arg(link.direct)
                        .arg(link.by_way)
                        .arg(QString::fromStdString(link.why.english()));
            const std::vector<Message> notes = joined->take_notes();
            for (std::size_t i = notes.size() - std::min<std::size_t>(notes.size(), 8); i < notes.size(); ++i) {
                told += QStringLiteral("; ") + QString::fromStdString(notes[i].english());
            }
            return told;
        };
        const auto connections = [&] {
            return relays[0]->n_connections() + relays[1]->n_connections() + relays[2]->n_connections();
        };
        QVERIFY(ready());
        QVERIFY(nodeLogits(*model, kTokens) == expected);
        // Bytes by each relay: in all, and for the last answer.
        std::uint64_t read[3] = {}, sent[3] = {};
        const auto count = [&] {
            for (std::size_t i = 0; i < n_links; ++i)
                sent[i] = relays[i]->bytes() - std::exchange(read[i], relays[i]->bytes());
        };
        const auto answer = [&] {
            count();
            const std::vector<float> logits = nodeLogits(*model, kTokens);
            count();
            return logits;
        };
        QVERIFY(answer() == expected);
        const auto [files_before, threads_before] = inUse();
        const std::uint64_t connections_before = connections();

        int n_come = 0;
        std::uint64_t losses = 0, failed_rows = 0;
        for (int moment = 0; moment < n_moments; ++moment) {
            // Any byte of the links' traffic in an answer without faults.
            std::uint64_t byte = random() % (sent[0] + sent[1] + sent[2]);
            std::size_t link = 0;
            while (byte >= sent[link]) byte -= sent[link++];
            const std::size_t victim = std::min<std::size_t>(link, 1);  // node
            const std::uint64_t at = 1 + byte;
            const char* const kinds[] = {"kill", "stop", "cut", "half a message", "slow", "too slow"};
            const std::string kind = kinds[random() % std::size(kinds)];
            NodeProcess& node = *nodes[victim];
            LoopbackRelay& relay = *relays[link];
            relay.at(at, kind == "half a message", [&] {
                if (kind == "kill") node.signal(SIGKILL);
                if (kind == "stop") node.signal(SIGSTOP);
                if (kind == "cut") relay.cut();
                if (kind == "slow") relay.set_delay(std::chrono::milliseconds(4));
                if (kind == "too slow") relay.set_delay(std::chrono::milliseconds(500));
            });
            QElapsedTimer timer;
            timer.start();
            const std::vector<float> logits = nodeLogits(*model, kTokens);
            const double took_s = static_cast<double>(timer.elapsed()) / 1e3;
            const QString what = QStringLiteral("moment %1: %2 of link %3 at byte %4, %5 s")
                                     .arg(moment)
                                     .arg(QString::fromStdString(kind))
                                     .arg(link)
                                     .arg(at)
                                     .arg(took_s);
            QVERIFY2(logits == expected, qPrintable(what));
            // One missing answer and some slow ones; the rest is this machine's own work,
            // which may be slow on a busy machine.
            QVERIFY2(took_s < 30, qPrintable(what));
            const bool has_come = !relay.forget_moment();
            n_come += has_come ? 1 : 0;
            if (has_come && kind == "kill") {
                QVERIFY(node.process().waitForFinished());
                node.restart();
            }
            node.signal(SIGCONT);
            relay.set_delay({});
            const bool is_ready = ready();
            QVERIFY2(is_ready, qPrintable(what + (is_ready ? QString() : situation())));
            // The next prompt works, with both.
            QVERIFY2(answer() == expected, qPrintable(what));
        }
        for (const std::size_t i : {0, 1}) {
            losses += joined->node(i).n_losses();
            failed_rows += joined->figures()[i].totals.failed_rows;
        }
        qInfo("%d of %d moments came; %d losses, %d rows done again elsewhere", n_come, n_moments,
              static_cast<int>(losses), static_cast<int>(failed_rows));
        QVERIFY(n_come > n_moments / 3);
        QVERIFY(losses > 0);
        // The relays keep their sockets till they end.
        const int sockets = 2 * static_cast<int>(connections() - connections_before);
        QVERIFY2(becomesTrue([&] {
                     const auto [files, threads] = inUse();
                     return files - sockets <= files_before + 8 && threads <= threads_before + 8;
                 }),
                 qPrintable(QStringLiteral("%1 files of which %2 are the relays', %3 threads; %4 and %5 before")
                                .arg(inUse().first)
                                .arg(sockets)
                                .arg(inUse().second)
                                .arg(files_before)
                                .arg(threads_before)));
        joined.reset();
        for (const auto& node : nodes) {
            QVERIFY(becomesTrue([&] {
                const NodeState state = test_link(node->address(desktop())).state;
                return state.n_desktops == 0 && state.n_held == 0 && state.ram_used_bytes == 0;
            }));
        }
    }
};

QTEST_GUILESS_MAIN(TestNodeFaults)
#include "tst_node_faults.moc"
