// Messages between machines as bytes: they arrive complete, stored inputs of the fuzzer
// keep their contract, and a node that receives damaged messages continues as before.

#include <atomic>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include <QDirIterator>
#include <QtTest>

#include "engine/nodes/call_status.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/node_parts.h"
#include "tests/fuzz/node_messages.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;
namespace node = offstage::node;

namespace {

constexpr auto kBf16 = kernels::WeightType::kBf16;

NodeCompute request(std::int64_t width) {
    NodeCompute message;
    message.number = 77;
    message.layer = 1;
    message.order = SumOrder::kMany;
    message.theta = 0.25f;
    message.experts = {{1, 2, kBf16}, {3, 1, kBf16}};
    message.row_token = {0, 1, 1};
    message.n_tokens = 2;
    for (std::int64_t i = 0; i < 2 * width; ++i) {
        const float value = 0.01f * static_cast<float>(i % 13 - 6);
        append_activations(ActivationType::kF32, {&value, 1}, message.inputs);
    }
    return message;
}

NodeOutputs outputs() {
    NodeOutputs message;
    message.step = 7;
    message.layer = 2;
    message.machine = 1;
    message.last = false;
    message.experts = {{0, 1, kBf16}, {2, 2, kBf16}};
    message.row_token = {1, 0, 2};
    message.outputs.assign(3 * 4 * 4, 'y');
    message.compute_us = 12.5;
    message.part = 3;
    message.direct = 6;
    return message;
}

NodeOutputs lostMachine() {
    NodeOutputs message;
    message.step = 7;
    message.machine = 2;
    message.lost = true;
    return message;
}

std::vector<ToNode> toNode() {
    NodeHello hello;
    hello.desktop = "desk";
    hello.fingerprint = "0123456789abcdef";
    hello.n_layers = 3;
    hello.n_experts = 4;
    hello.n_active = 2;
    hello.hidden_dim = 4;
    hello.ffn_dim = 8;
    hello.compute = "f32";
    NodeFollow follow;
    follow.instruction_set = "AVX2";
    follow.context = 256;
    follow.max_step = 64;
    follow.kv = kernels::KvType::kInt8;
    follow.quantizes_dense = true;
    follow.dense = kernels::WeightType::kInt8;
    follow.activations = ActivationType::kBf16;
    const NodeShares shares{2, std::string("\0\1\2\0\1\2\0\1\2\0\1\2", 12), std::string(12, static_cast<char>(kBf16))};
    return {hello,
            NodeWant{{{2, 3, kBf16}, {0, 1, kernels::WeightType::kInt8}}},
            request(4),
            NodePing{5, "there"},
            follow,
            shares,
            NodeStep{7, 7, 12, 65, 0.25f, {1, 15, 0}},
            NodeAbandon{7},
            outputs(),
            lostMachine(),
            NodePeer{9, 1, 2, "attic", NodeNetwork::key_of(1), "attic.lan:7420"},
            NodePeer{9, 1, 2, "attic", NodeNetwork::key_of(1), "attic.lan:7420", true},
            NodePeer{9, 2, 1, "cupboard", NodeNetwork::key_of(0), ""},
            NodePeer{9, 2, 1, "cupboard", "", ""},
            NodePeerHello{kNodeProtocol, 9, 1}};
}

std::vector<FromNode> fromNode() {
    NodeReply reply{77, 3, ActivationType::kF32, "", 12.5, ""};
    reply.outputs.assign(3 * 4 * 4, 'x');
    return {NodeWelcome{"cupboard", "AVX2", 4, 1u << 30},
            NodeHoldings{{{2, 3, kBf16}}, {{0, 1, kBf16}}, true},
            reply,
            NodeReply{78, 0, ActivationType::kBf16, "", 0, "no memory"},
            NodePong{5, "there", {1, 2, 3, 4, 5, 6, 7.5}},
            NodeDrain{},
            NodeRefusal{"no"},
            NodeFollowing{},
            NodeFollowing{"no memory"},
            NodeStepped{7, true},
            outputs(),
            NodePeerWelcome{9},
            NodePeerReport{9, 2, NodePeerReport::State::kUp, 410.5, 0.001, "", 180.25, 201.5},
            NodePeerReport{9, 2, NodePeerReport::State::kEnded, 0, 0, "the connection ended", 0, 0}};
}

// The message that bytes are, as a machine reads them; nothing: none.
template <typename Wire>
auto messageOf(const std::string& bytes) {
    Wire wire;
    return wire.ParseFromString(bytes) ? from_wire(std::move(wire)) : decltype(from_wire(std::move(wire)))();
}

bool isAccepted(const ToNode& message) {
    const ExpertGrid grid = offstage::tests::node_grid();
    return std::visit(
        [&](const auto& what) {
            using T = std::decay_t<decltype(what)>;
            if constexpr (std::is_same_v<T, NodeAbandon>) {
                return true;
            } else if constexpr (std::is_same_v<T, NodeHello> || std::is_same_v<T, NodePing> ||
                                 std::is_same_v<T, NodeFollow> || std::is_same_v<T, NodePeer> ||
                                 std::is_same_v<T, NodePeerHello>) {
                return check(what).empty();
            } else if constexpr (std::is_same_v<T, NodeStep>) {
                return check(what, offstage::tests::kVocabulary).empty();
            } else {
                return check(what, grid).empty();
            }
        },
        message);
}

bool isAccepted(const FromNode& message) {
    const ExpertGrid grid = offstage::tests::node_grid();
    if (const auto* holdings = std::get_if<NodeHoldings>(&message)) return check(*holdings, grid).empty();
    if (const auto* outputs = std::get_if<NodeOutputs>(&message)) return check(*outputs, grid).empty();
    if (const auto* report = std::get_if<NodePeerReport>(&message)) return check(*report).empty();
    return true;
}

// 1 to 3 bytes of a message become others, mostly at its beginning, where the fields are.
std::string damaged(std::string bytes, std::mt19937& random) {
    const std::size_t end = random() % 4 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 64);
    for (auto n = 1 + random() % 3; n > 0 && end > 0; --n) bytes[random() % end] = static_cast<char>(random());
    return bytes;
}

}  // namespace

class TestNodeWire : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // People read why a connection failed as a sentence, never gRPC's own words.
    void endOfACall_isSaidInWords_data() {
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("raw");
        QTest::addColumn<QString>("said");
        using Code = grpc::StatusCode;
        const auto row = [](Code code, const char* raw, const char* said) {
            QTest::newRow(raw) << static_cast<int>(code) << QString::fromLatin1(raw) << QString::fromLatin1(said);
        };
        row(Code::UNAVAILABLE,
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: Failed to "
            "connect to remote host: Connection refused",
            "nothing listens there");
        row(Code::UNAVAILABLE,
            "DNS resolution failed for nowhere.invalid:7700: C-ares status is not ARES_SUCCESS "
            "qtype=A name=nowhere.invalid is_balancer=0: Domain name not found",
            "no address is known for that name");
        row(Code::UNAVAILABLE,
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:9: No route to host",
            "the network has no way there");
        row(Code::UNAVAILABLE, "last error: UNKNOWN: Ssl handshake failed: SSL_ERROR_SSL: error:1000007d",
            "it does not prove that it is the paired machine, or does not know this computer");
        row(Code::UNAVAILABLE,
            "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:127.0.0.1:9: Socket closed",
            "it does not prove that it is the paired machine, or does not know this computer");
        row(Code::UNAUTHENTICATED, "not paired",
            "it does not prove that it is the paired machine, or does not know this computer");
        row(Code::UNAVAILABLE, "Socket closed", "the connection ended");
        row(Code::UNAVAILABLE, "something new", "no connection can be made");
        row(Code::DEADLINE_EXCEEDED, "Deadline Exceeded", "no answer");
        row(Code::UNIMPLEMENTED, "Method not found", "another program answers there");
        row(Code::CANCELLED, "CANCELLED", "the connection ended");
        row(Code::INTERNAL, "RST_STREAM with error code 2", "the connection ended");
    }
    void endOfACall_isSaidInWords() {
        QFETCH(int, code);
        QFETCH(QString, raw);
        QFETCH(QString, said);
        const grpc::Status status(static_cast<grpc::StatusCode>(code), raw.toStdString());
        QCOMPARE(QString::fromStdString(reason_of(status).english()), said);
    }

    void initTestCase() { silence_protobuf(); }

    void messages_comeThroughWhole() {
        for (const ToNode& message : toNode()) {
            node::ToNode wire;
            const std::string bytes = to_wire(message).SerializeAsString();
            QVERIFY(wire.ParseFromString(bytes));
            const auto back = from_wire(std::move(wire));
            QVERIFY(back && back->index() == message.index());
            QCOMPARE(to_wire(*back).SerializeAsString(), bytes);
            QCOMPARE(offstage::tests::check_node_message("n" + bytes), std::string());
        }
        for (const FromNode& message : fromNode()) {
            node::FromNode wire;
            const std::string bytes = to_wire(message).SerializeAsString();
            QVERIFY(wire.ParseFromString(bytes));
            const auto back = from_wire(std::move(wire));
            QVERIFY(back && back->index() == message.index());
            QCOMPARE(to_wire(*back).SerializeAsString(), bytes);
            QCOMPARE(offstage::tests::check_node_message("d" + bytes), std::string());
        }
        QVERIFY(!from_wire(node::ToNode()) && !from_wire(node::FromNode()));
    }

    // Every kind of message is among them, at least one valid, and if anything is checked
    // one invalid.
    void storedInputs_keepThePromises() {
        QDirIterator files(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/node_message"), QDir::Files);
        std::array<std::array<int, 2>, std::variant_size_v<ToNode>> to_node{};  // refused, accepted
        std::array<std::array<int, 2>, std::variant_size_v<FromNode>> from_node{};
        while (files.hasNext()) {
            QFile file(files.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            const std::string input = file.readAll().toStdString();
            const std::string broken = offstage::tests::check_node_message(input);
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + QString::fromStdString(": " + broken)));
            if (input.empty()) continue;
            if (input[0] == 'n') {
                const auto message = messageOf<node::ToNode>(input.substr(1));
                if (message) ++to_node[message->index()][isAccepted(*message) ? 1 : 0];
            } else if (const auto message = messageOf<node::FromNode>(input.substr(1))) {
                ++from_node[message->index()][isAccepted(*message) ? 1 : 0];
            }
        }
        for (std::size_t kind = 0; kind < to_node.size(); ++kind) {
            const bool is_any = kind == ToNode(NodeAbandon()).index() || kind == ToNode(NodePing()).index();
            QVERIFY2(to_node[kind][1] > 0 && (is_any || to_node[kind][0] > 0), qPrintable(QString::number(kind)));
        }
        for (std::size_t kind = 0; kind < from_node.size(); ++kind) {
            const bool is_checked = kind == FromNode(NodeHoldings()).index() ||
                                    kind == FromNode(NodeOutputs()).index() ||
                                    kind == FromNode(NodePeerReport()).index();
            QVERIFY2(from_node[kind][1] > 0 && (!is_checked || from_node[kind][0] > 0),
                     qPrintable(QString::number(kind)));
        }
    }

    // Messages byte by byte, as earlier and later programs write them: missing fields are
    // 0, and unknown ones are skipped.
    void olderAndNewerPeerMessages_areRead() {
        using namespace std::string_literals;
        const auto within = [](char field, const std::string& message) {  // of ToNode or FromNode, less than 128 bytes
            return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(message.size())} + message;
        };
        const auto doubles = [](char field, double value) {
            std::string bytes(9, static_cast<char>(field << 3 | 1));
            std::memcpy(bytes.data() + 1, &value, sizeof value);
            return bytes;
        };
        const auto report_of = [&](const std::string& more) {
            const auto message = messageOf<node::FromNode>(
                within(11, "\x08\x09\x10\x02\x18\x01"s + doubles(4, 410.5) + doubles(5, 0.001) + more));
            const auto* report = message ? std::get_if<NodePeerReport>(&*message) : nullptr;
            return report != nullptr && check(*report).empty() ? *report : NodePeerReport();
        };
        for (const bool with_message : {false, true}) {  // the oldest one has not even that
            const NodePeerReport report = report_of(with_message ? doubles(7, 180.25) : std::string());
            QCOMPARE(report.link, std::uint64_t{9});
            QCOMPARE(report.machine, 2u);
            QVERIFY(report.state == NodePeerReport::State::kUp);
            QCOMPARE(report.latency_us, 410.5);
            QCOMPARE(report.us_per_byte, 0.001);
            QCOMPARE(report.message_us, with_message ? 180.25 : 0);
            QCOMPARE(report.between_layers_us, 0.0);
        }
        QCOMPARE(report_of(doubles(7, 180.25) + doubles(8, 201.5)).between_layers_us, 201.5);
        QCOMPARE(report_of(doubles(8, 201.5) + doubles(15, 7)).between_layers_us, 201.5);
        // As an older node sees it: an unknown field in a known message.
        const std::string peer = "\x08\x09\x10\x01\x18\x02"s + within(4, "attic") + within(5, NodeNetwork::key_of(1)) +
                                 within(6, "attic:7420");
        for (const auto& [bytes, asks] :
             {std::pair(peer, false), std::pair(peer + "\x38\x01"s, true), std::pair(peer + "\x78\x01"s, false)}) {
            const auto message = messageOf<node::ToNode>(within(10, bytes));
            const auto* read = message ? std::get_if<NodePeer>(&*message) : nullptr;
            QVERIFY(read != nullptr && check(*read).empty());
            QCOMPARE(read->address, std::string("attic:7420"));
            QCOMPARE(read->between_layers, asks);
        }
    }

    // A message about another node: where it listens, and nothing that could be misread.
    void peer_isCheckedFieldByField() {
        const NodePeer good{9, 1, 2, "attic", NodeNetwork::key_of(1), "attic.lan:7420"};
        QVERIFY(check(good).empty());
        const auto with = [&](auto&& change) {
            NodePeer peer = good;
            change(peer);
            return check(peer).empty();
        };
        for (const char* address : {"192.168.0.7:1", "[fe80::1]:7420", "localhost:65535", "a_b-c.d:80"}) {
            QVERIFY2(with([&](NodePeer& peer) { peer.address = address; }), address);
        }
        for (const char* address : {"", "attic", ":7420", "attic:", "attic:0", "attic:65536", "attic:7420x",
                                    "unix:/tmp/x:1", "dns:///attic:1", "http://attic:80", "attic/x:80", "attic%41:80",
                                    "a b:80", "fe80::1:7420", "[attic]:80", "[]:80", "a\n:80"}) {
            QVERIFY2(!with([&](NodePeer& peer) { peer.address = address; }), address);
        }
        QVERIFY(!with([](NodePeer& peer) { peer.address = std::string(kMostAddressBytes, 'a') + ":7420"; }));
        QVERIFY(!with([](NodePeer& peer) { peer.self = 0; }));
        QVERIFY(!with([](NodePeer& peer) { peer.machine = kMostPeers; }));
        QVERIFY(!with([](NodePeer& peer) { peer.machine = 1; }));
        QVERIFY(!with([](NodePeer& peer) { peer.self = 3; }));  // then the other one connects
        QVERIFY(!with([](NodePeer& peer) { peer.name.assign(kMostNameBytes + 1, 'x'); }));
        QVERIFY(!with([](NodePeer& peer) { peer.fingerprint.pop_back(); }));
        QVERIFY(!with([](NodePeer& peer) { peer.fingerprint[0] = 'G'; }));
        QVERIFY(!with([](NodePeer& peer) { peer.fingerprint.clear(); }));  // and an address
        NodePeerReport report{9, 2, NodePeerReport::State::kUp, 410.5, 0.001, "", 0};
        QVERIFY(check(report).empty());
        report.latency_us = std::numeric_limits<double>::quiet_NaN();
        QVERIFY(!check(report).empty());
        report.latency_us = -1;
        QVERIFY(!check(report).empty());
        report.latency_us = 410.5;
        report.message_us = -1;
        QVERIFY(!check(report).empty());
        report.message_us = 200;
        report.between_layers_us = std::numeric_limits<double>::infinity();
        QVERIFY(!check(report).empty());
        report.between_layers_us = 2e9;
        QVERIFY(!check(report).empty());
        report.between_layers_us = 201;
        QVERIFY(check(report).empty());
        report = {9, 0, NodePeerReport::State::kUp, 1, 0, "", 1};
        QVERIFY(!check(report).empty());
        report = {9, 2, static_cast<NodePeerReport::State>(3), 1, 0, "", 1};
        QVERIFY(!check(report).empty());
    }

    // A node that sends anything at any time: the desktop accepts only valid messages,
    // and connects again if it must.
    void anythingFromANode_harmsNoDesktop() {
        class Babbler final : public NodeChannel {
          public:
            Babbler(NodeChannelEvents events, unsigned seed)
                : events_(std::move(events)), thread_([this, seed](const std::stop_token& stop) { run(seed, stop); }) {}
            void send(ToNode) override {}
            void close() override { thread_.request_stop(); }

          private:
            void run(unsigned seed, const std::stop_token& stop) {
                std::mt19937 random(seed);
                std::vector<std::string> seeds;
                for (const FromNode& message : fromNode()) seeds.push_back(to_wire(message).SerializeAsString());
                for (int i = 0; i < 300 && !stop.stop_requested(); ++i) {
                    std::string bytes = seeds[random() % seeds.size()];
                    if (random() % 3 != 0 && !bytes.empty())
                        bytes[random() % bytes.size()] = static_cast<char>(random());
                    node::FromNode wire;
                    if (!wire.ParseFromString(bytes)) continue;
                    if (auto message = from_wire(std::move(wire))) events_.received(std::move(*message));
                }
                events_.ended(messages::node_link_ended);
            }
            const NodeChannelEvents events_;
            std::jthread thread_;
        };
        std::atomic<unsigned> n_connections = 0;
        const NodeAddress address{"babbler", [&](NodeChannelEvents events) -> std::unique_ptr<NodeChannel> {
                                      return std::make_unique<Babbler>(std::move(events), ++n_connections);
                                  }};
        NodePatience patience;
        patience.most_answer_s = patience.connecting_s = 0.05;
        patience.first_retry_s = patience.longest_retry_s = 0.001;
        const ExpertGrid grid = offstage::tests::node_grid();
        NodeClient client(address, {std::get<NodeHello>(toNode().front()), grid, ActivationType::kF32, patience});
        client.start({{2, 3, kBf16}, {0, 1, kBf16}});
        bool in_range = true;
        QVERIFY(becomesTrue([&] {
            const std::int64_t held = client.n_held();
            in_range = in_range && held >= 0 && held <= 2;
            for (const Message& note : client.take_notes()) {
                for (const char c : note.english()) in_range = in_range && c >= 0x20 && c < 0x7f;
            }
            return n_connections > 100;
        }));
        client.stop();
        QVERIFY(in_range);
        QVERIFY(!client.is_up());
    }

    // A channel waits for its events when it is destroyed, so a merely sending thread
    // must never destroy it: an event may send, with a lock that another event waits for.
    void channelIsNotDestroyed_byWhoSends() {
        struct Sent {
            std::atomic<bool> has_begun = false, may_end = false;
            std::atomic<int> n_destroyed = 0, n_by_sender = 0;
            std::thread::id sender;
        } sent;
        class Slow final : public NodeChannel {
          public:
            Slow(std::unique_ptr<NodeChannel> channel, Sent& sent) : channel_(std::move(channel)), sent_(sent) {}
            ~Slow() override {
                channel_.reset();
                if (std::this_thread::get_id() == sent_.sender) ++sent_.n_by_sender;
                ++sent_.n_destroyed;
            }
            void send(ToNode message) override {
                if (std::this_thread::get_id() == sent_.sender) {
                    sent_.has_begun = true;
                    becomesTrue([&] { return sent_.may_end.load(); });
                }
                channel_->send(std::move(message));
            }
            void close() override { channel_->close(); }

          private:
            std::unique_ptr<NodeChannel> channel_;
            Sent& sent_;
        };
        QTemporaryDir cache;
        ExpertHost host(nodeRequest(demoModel(), cache.path().toStdString()));
        NodeInProcess machine(host, {"cupboard", 2, 0});
        const NodeAddress fast = machine.address("cupboard");
        const NodeAddress slow{"cupboard", [&](NodeChannelEvents events) -> std::unique_ptr<NodeChannel> {
                                   return std::make_unique<Slow>(fast.connect(std::move(events)), sent);
                               }};
        NodeClient client(slow, {hello_of(host, "desk"), machine.experts().grid()});
        client.start({{1, 1, kBf16}, {1, 3, kBf16}});
        QVERIFY(becomesTrue([&] { return client.is_up(); }));
        std::atomic<bool> may_begin = false;
        std::jthread sender([&] {
            becomesTrue([&] { return may_begin.load(); });
            client.send_up(NodePing{77, ""});
        });
        sent.sender = sender.get_id();
        may_begin = true;
        QVERIFY(becomesTrue([&] { return sent.has_begun.load(); }));
        machine.cut();
        QVERIFY(becomesTrue([&] { return !client.is_up(); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        QCOMPARE(sent.n_destroyed.load(), 0);
        sent.may_end = true;
        QVERIFY(becomesTrue([&] { return sent.n_destroyed > 0; }));
        sender.join();
        client.stop();
        QCOMPARE(sent.n_by_sender.load(), 0);
    }

    // Read as a node does; a damaged message causes only a refusal, and the next request
    // is computed as before.
    void damagedMessages_harmNothing() {
        QTemporaryDir cache;
        ExpertHost host(nodeRequest(demoModel(), cache.path().toStdString()));
        NodeInProcess machine(host, {"cupboard", 2, 0});
        NodeExperts& experts = machine.experts();
        Message refusal;
        const auto desktop = experts.open(
            hello_of(host, "desk"), [](FromNode) {}, refusal);
        QVERIFY(desktop != 0);
        const NodeWant want{{{1, 1, kBf16}, {1, 3, kBf16}}};
        QVERIFY(experts.want(desktop, want).empty());
        QVERIFY(becomesTrue([&] { return experts.state().n_held == 2; }));
        NodeCompute good = request(experts.grid().hidden_dim);
        good.theta = 0;
        const NodeReply expected = experts.compute(desktop, good);
        QVERIFY2(expected.refusal.empty(), expected.refusal.c_str());

        std::vector<std::string> seeds = {to_wire(ToNode(want)).SerializeAsString()};
        // Most of a request is numbers, which may be any: of these it has one row less.
        good.experts.pop_back();
        good.row_token.pop_back();
        seeds.push_back(to_wire(ToNode(good)).SerializeAsString());
        good.inputs.clear();
        seeds.push_back(to_wire(ToNode(good)).SerializeAsString());
        std::mt19937 random(3);
        int n_read = 0, n_refused = 0, n_computed = 0;
        for (int i = 0; i < 6000; ++i) {
            auto message = messageOf<node::ToNode>(damaged(seeds[random() % seeds.size()], random));
            if (!message) continue;
            ++n_read;
            if (auto* list = std::get_if<NodeWant>(&*message)) {
                // Valid lists are not applied, for the sake of the other messages: only
                // refusals matter.
                if (!check(*list, experts.grid()).empty()) {
                    QVERIFY(!experts.want(desktop, std::move(*list)).empty());
                    ++n_refused;
                }
            } else if (const auto* compute = std::get_if<NodeCompute>(&*message)) {
                const NodeReply reply = experts.compute(desktop, *compute);
                reply.refusal.empty() ? ++n_computed : ++n_refused;
                QCOMPARE(reply.number, compute->number);
                QCOMPARE(static_cast<std::size_t>(reply.n_rows), reply.refusal.empty() ? compute->row_token.size() : 0);
            }
        }
        QVERIFY2(
            n_read > 500 && n_refused > 200 && n_computed > 20,
            qPrintable(QStringLiteral("%1 read, %2 refused, %3 computed").arg(n_read).arg(n_refused).arg(n_computed)));
        NodeCompute again = request(experts.grid().hidden_dim);
        again.theta = 0;
        QCOMPARE(experts.compute(desktop, again).outputs, expected.outputs);
        QCOMPARE(experts.state().n_held, std::uint64_t{2});
    }

    // The same for a node that makes steps: after any message it follows a desktop that
    // begins anew.
    void damagedSteps_harmNothing() {
        QTemporaryDir cache;
        LoadRequest request = nodeRequest(demoModel(), cache.path().toStdString());
        request.ram_bytes = std::uint64_t{256} << 20;  // for any requested context
        ExpertHost host(request);
        NodeInProcess machine(host, {"cupboard", 2, 0});
        NodeExperts& experts = machine.experts();
        std::mutex mutex;
        std::vector<FromNode> said;
        Message refusal;
        const auto desktop = experts.open(
            hello_of(host, "desk"),
            [&](FromNode message) {
                const std::scoped_lock lock(mutex);
                said.push_back(std::move(message));
            },
            refusal);
        QVERIFY(desktop != 0);
        NodeFollow follow;
        follow.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
        follow.context = 128;
        follow.max_step = 64;
        const std::string formats(64, static_cast<char>(kBf16));
        std::string owners(64, '\1');
        for (std::size_t i = 0; i < owners.size(); i += 2) owners[i] = '\0';
        const NodeShares shares{1, owners, formats};
        const NodeStep step{1, 3, 0, 0, 0, {5, 42, 79}};
        // Awaited in the first layer.
        NodeOutputs others;
        others.step = 1;
        others.experts = {{0, 1, kBf16}};
        others.row_token = {0};
        others.outputs.assign(static_cast<std::size_t>(experts.grid().hidden_dim) * sizeof(float), '\0');
        const ToNode all[] = {follow, shares, step, NodeAbandon{1}, others};
        std::vector<std::string> seeds;
        for (const ToNode& message : all) seeds.push_back(to_wire(message).SerializeAsString());
        QVERIFY(experts.follow(desktop, follow).empty());
        std::mt19937 random(5);
        int n_read = 0, n_refused = 0;
        for (int i = 0; i < 4000; ++i) {
            // Opening the model is what takes time.
            const std::size_t kind = random() % 100 == 0 ? 0 : 1 + random() % (seeds.size() - 1);
            const std::string& seed = seeds[kind];
            auto message = messageOf<node::ToNode>(random() % 8 == 0 ? seed : damaged(seed, random));
            if (!message || message->index() == ToNode(NodeHello()).index() ||
                message->index() == ToNode(NodeCompute()).index()) {
                continue;
            }
            ++n_read;
            n_refused += experts.follow(desktop, std::move(*message)).empty() ? 0 : 1;
        }
        QVERIFY2(n_read > 1000 && n_refused > 200 && n_read - n_refused > 200,
                 qPrintable(QStringLiteral("%1 read, %2 refused").arg(n_read).arg(n_refused)));
        // As at the beginning.
        QVERIFY(experts.follow(desktop, follow).empty());
        {
            const std::scoped_lock lock(mutex);
            said.clear();
        }
        QVERIFY(experts.follow(desktop, shares).empty());
        QVERIFY(experts.follow(desktop, NodeStep{9, 0, 0, 0, 0, {5, 42, 79}}).empty());
        QVERIFY(becomesTrue([&] {
            const std::scoped_lock lock(mutex);
            const auto* stepped = said.empty() ? nullptr : std::get_if<NodeStepped>(&said.back());
            return stepped != nullptr && stepped->number == 9 && stepped->done;
        }));
        experts.close(desktop);
    }

    // Damaged shares of layers: the machine counts as sending nonsense, or rows that do
    // not fit are computed here. The answer comes, and the next one is right.
    void damagedShares_harmNoDesktop() {
        QTemporaryDir cache;
        const LoadRequest request = nodeRequest(demoModel(), cache.path().toStdString());
        const std::vector<float> expected = nodeLogits(*openModel(request), 4);
        ExpertHost host(request);
        NodeInProcess machine(host, {"cupboard", 2, 0});
        std::atomic<bool> damages = false;
        std::atomic<int> n_damaged = 0;
        std::mt19937 random(9);  // for the node's thread that makes steps
        machine.faults.passes_back = [&](FromNode& message) {
            const bool of_steps =
                std::holds_alternative<NodeOutputs>(message) || std::holds_alternative<NodeStepped>(message);
            if (!damages || !of_steps || random() % 8 != 0) return true;
            auto other = messageOf<node::FromNode>(damaged(to_wire(message).SerializeAsString(), random));
            if (!other) return true;  // no message at all ends a connection: there is none here
            ++n_damaged;
            message = std::move(*other);
            return true;
        };
        // Each has a share.
        machine.faults.computes_us = 100;
        const auto model = openModel(request);
        setCosts(*model, 100);
        JoinSettings settings = quickToReturn(0.2);
        settings.shape = NodeShape::kDecentralised;
        JoinedNodes joined(*model, {machine.address("cupboard")}, settings, {}, {});
        QVERIFY(nodeLogits(*model, 4) == expected);
        damages = true;
        const auto follows = [&] { return joined.node(0).follows() && joined.node(0).n_held() == 64; };
        for (int i = 0; i < 12; ++i) {
            QVERIFY(!nodeLogits(*model, 4).empty());
            QVERIFY(becomesTrue(follows));
        }
        QVERIFY(n_damaged > 5);
        damages = false;
        // Earlier messages to it may still be on their way.
        joined.node(0).give_up(messages::node_link_ended);
        QVERIFY(becomesTrue(follows));
        joined.take_notes();
        const auto n_rows = [&] { return joined.figures()[0].totals.rows; };
        const std::uint64_t before = n_rows();
        // Beside other programs the machine's threads may be later than the wait allowed
        // here, and then it is away for the rest of an answer as short as this one.
        for (int i = 0; i < 10 && n_rows() == before; ++i) {
            QVERIFY(becomesTrue(follows));
            QVERIFY(nodeLogits(*model, 4) == expected);
        }
        QVERIFY2(n_rows() > before, qPrintable(textOf(joined.take_notes())));
    }
};

QTEST_GUILESS_MAIN(TestNodeWire)
#include "tst_node_wire.moc"
