// Machines that join a loaded model, and leave it: the display, and the cost of a loss,
// with times invented by the test.

#include <QtTest>

#include "engine/run/local_session.h"
#include "tests/engine/node_parts.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

JoinSettings atOnce() {
    JoinSettings settings = insisting();
    settings.waits = false;
    return settings;
}

// What is measured of a node counts as this link, however busy the computer is.
std::function<void(LinkCosts::Measured&)> linkOf(double latency_us, double exchange_us) {
    return [=](LinkCosts::Measured& measured) {
        measured.latency_us = latency_us;
        measured.exchange_us = exchange_us;
        measured.us_per_byte = measured.send_us = 0;
    };
}

}  // namespace

class TestJoinedNodes : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    LoadRequest request() const { return nodeRequest(demoModel(), m_cache.path().toStdString()); }

    static GenerationResult reply(Session& session) {
        GenerationRequest ask;
        ask.messages = {{Role::kUser, "What is an expert?"}};
        ask.sampler.temperature = 0;
        ask.max_tokens = 12;
        ask.n_alternatives = 0;
        ask.ignore_end = true;
        return session.generate(ask, {}, {});
    }
    static std::vector<TokenId> answer(Session& session) { return reply(session).tokens; }
    static bool isUp(const Session& session, std::size_t machines) {
        return becomesTrue([&] {
            const Snapshot now = session.snapshot();
            return now.machines.size() == machines &&
                   std::all_of(now.machines.begin(), now.machines.end(), [](const MachineFigures& machine) {
                       return machine.state == MachineState::kUp && machine.n_held == 64;
                   });
        });
    }

  private Q_SLOTS:
    void session_isJoined_partedFrom_andJoinedAgain() {
        ExpertHost host(request()), other(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0}), attic(other, {"attic", 2, 0});
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        const std::uint64_t first = session.snapshot().revision;

        session.join(joining({cupboard.address("cupboard")}, atOnce()), {});
        QVERIFY(isUp(session, 1));
        QVERIFY(answer(session) == alone);
        Snapshot now = session.snapshot();
        QVERIFY(now.revision > first);
        QVERIFY(now.machines[0].rows > 0 && now.machines[0].bytes > 0);
        QVERIFY(now.machines[0].held_bytes > 0 && now.machines[0].n_threads > 0);
        QCOMPARE(now.machine_tokens, std::int64_t{12});  // only the prompt's last token was new
        QVERIFY(now.elsewhere == std::vector<std::uint16_t>(64, 1));
        QVERIFY(textOf(session.take_machine_notes()).contains(QStringLiteral("it holds 64 of 64 experts")));

        // Another one besides; then none.
        session.join(joining({cupboard.address("cupboard"), attic.address("attic")}, atOnce()), {});
        QVERIFY(isUp(session, 2));
        QVERIFY(answer(session) == alone);
        QVERIFY(session.snapshot().elsewhere == std::vector<std::uint16_t>(64, 3));
        const std::uint64_t joined = session.snapshot().revision;
        session.join({}, {});
        QVERIFY(answer(session) == alone);
        now = session.snapshot();
        QVERIFY(now.machines.empty() && now.elsewhere.empty() && now.machine_tokens == 0);
        QVERIFY(now.revision > joined);
        QVERIFY(becomesTrue([&] { return cupboard.experts().state().n_desktops == 0; }));

        // A newly loaded model has no joined machines.
        session.join(joining({cupboard.address("cupboard")}, atOnce()), {});
        QVERIFY(isUp(session, 1));
        session.load(request(), {}, {});
        QVERIFY(session.snapshot().machines.empty());
        QVERIFY(answer(session) == alone);
        session.unload();
        QVERIFY_THROWS_EXCEPTION(Error, session.join(joining({cupboard.address("cupboard")}, atOnce()), {}));
    }

    // Each expert has its own theta, but a message has only one: a layer's experts may
    // need several messages.
    void thetasOfExperts_areThoseOfTheMachine() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        const auto answerAt = [&](double loss, bool joined, std::uint64_t& active, double& rows) {
            LoadRequest leaving = request();
            leaving.theta_loss = loss;
            LocalSession session;
            session.load(leaving, {}, {});
            if (joined) session.join(joining({cupboard.address("cupboard")}, atOnce()), {});
            if (joined && !isUp(session, 1)) return std::vector<TokenChoice>();
            std::vector<TokenChoice> choices = reply(session).choices;
            const Snapshot now = session.snapshot();
            active = now.totals.active_neurons;
            rows = joined ? now.machines[0].rows : 0;
            return choices;
        };
        std::uint64_t active = 0, none = 0;
        double rows = 0;
        const auto dense = answerAt(0, false, none, rows);
        const auto alone = answerAt(0.01, false, active, rows);
        QVERIFY(none == 0 && active > 0);
        QVERIFY(alone != dense);
        QVERIFY(answerAt(0.01, true, active, rows) == alone);
        QVERIFY(rows > 0);
    }

    void machineThatIsNotThere_holdsUpNothing_andSaysWhy() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        std::atomic<bool> there = false;
        cupboard.faults.connects = [&] { return there.load(); };
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        session.join(joining({cupboard.address("cupboard")}, atOnce()), {});
        QVERIFY(answer(session) == alone);
        QVERIFY(becomesTrue([&] { return session.snapshot().machines[0].state == MachineState::kUnreachable; }));
        QVERIFY(!session.snapshot().machines[0].why.empty());
        QVERIFY(becomesTrue([&] {
            return textOf(session.take_machine_notes()).contains(QStringLiteral("cupboard cannot be reached ("));
        }));
        there = true;
        QVERIFY(isUp(session, 1));
        QVERIFY(answer(session) == alone);
        QVERIFY(session.snapshot().machines[0].rows > 0);
    }

    // A window does not wait: the choice is made by the machines that can be measured at
    // once, with one expert each.
    void shape_isChosenWithoutWaiting_andShown() {
        ExpertHost host(request()), other(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0}), attic(other, {"attic", 2, 0});
        std::atomic<bool> there = false;
        attic.faults.connects = [&] { return there.load(); };
        // So slow that nothing is computed there, in either shape: only messages cost
        // something.
        cupboard.faults.computes_us = 5e6;
        cupboard.faults.counts_as = linkOf(3000, 1500);
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        setCosts(*session.model(), 100, 1000);
        JoinSettings settings = atOnce();
        settings.use = NodeUse::kMeasured;
        settings.shape = NodeShape::kAuto;
        settings.forecasts = true;
        settings.pauses.wake_us = 1;
        session.join(joining({cupboard.address("cupboard"), attic.address("attic")}, settings), {});
        Snapshot now = session.snapshot();
        QVERIFY(now.machine_shape.automatic && !now.machine_shape.decentralised && !now.machine_shape.late);
        QVERIFY(now.machine_shape.helpers.us() > 0);
        QVERIFY(now.machine_shape.peers.us() > now.machine_shape.helpers.us());
        QVERIFY(now.expert_owners.empty());
        QVERIFY(becomesTrue([&] { return session.snapshot().machines[0].n_held == 64; }));
        QVERIFY(
            textOf(session.take_machine_notes()).contains(QStringLiteral("compute experts for this one (forecast: ")));
        QVERIFY(answer(session) == alone);
        // One that comes later was not counted.
        there = true;
        QVERIFY(becomesTrue([&] { return session.snapshot().machine_shape.late; }));
    }

    void shapeSwitch_waitsForCostsThatChange_andForLonger() {
        const ShapeSwitch::Time begin{};
        const auto at = [&](int s) { return begin + std::chrono::seconds(s); };
        ShapeSwitch shapes(30);
        shapes.chosen(at(0), {1, 100});
        QVERIFY(!shapes.is_due(at(29), {1, 200}));
        QVERIFY(!shapes.is_due(at(31), {1, 109}));
        QVERIFY(shapes.is_due(at(31), {1, 111}));
        QVERIFY(shapes.is_due(at(31), {1, 111}));  // not forecast yet
        shapes.forecast({1, 111});
        QVERIFY(!shapes.is_due(at(32), {1, 111}));
        QVERIFY(shapes.is_due(at(33), {1, 111, 2, 50}));
        shapes.switched(at(40), {1, 111});
        QVERIFY(!shapes.is_due(at(99), {1, 50}));
        QVERIFY(shapes.is_due(at(101), {1, 50}));
        ShapeSwitch never(0);
        never.chosen(at(0), {1});
        QVERIFY(!never.is_due(at(1000), {2}));
        QVERIFY(ShapeSwitch::is_better(115.1, 100) && !ShapeSwitch::is_better(114.9, 100));
        QVERIFY(!ShapeSwitch::is_better(0, 100) && !ShapeSwitch::is_better(100, 0));
    }

    // Experts are expensive here. While the machine's are more expensive, it has nothing
    // to do as a helper and would only delay steps that are made together; when they are
    // cheap and requests are slow to return, shares are better.
    void shape_isChosenAgain_betweenAnswers() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        std::atomic<bool> is_fast = false;
        cupboard.faults.counts_as = [&](LinkCosts::Measured& measured) {
            linkOf(is_fast ? 2000 : 5000, is_fast ? 500 : 2500)(measured);
        };
        const auto setFast = [&](bool fast) {
            is_fast = fast;
            cupboard.faults.computes_us = fast ? 0.1 : 5e6;
        };
        setFast(false);
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        JoinSettings settings = atOnce();
        settings.use = NodeUse::kMeasured;
        settings.shape = NodeShape::kAuto;
        settings.deal_anew_s = 0.001;
        settings.choose_again_s = 0.001;
        settings.pauses.wake_us = 1;
        const auto join = [&] { session.join(joining({cupboard.address("cupboard")}, settings), {}); };
        setCosts(*session.model(), 1000, 1000);
        join();
        QVERIFY(!session.snapshot().machine_shape.decentralised);
        session.take_machine_notes();
        QString seen;  // of the last answer
        const auto answerIn = [&](bool decentralised) {
            bool is_same = true;
            const bool is_in = becomesTrue([&] {
                session.reset_conversation();
                is_same = answer(session) == alone;
                const Snapshot now = session.snapshot();
                const auto& shape = now.machine_shape;
                seen = QStringLiteral("the same %1, together %2, automatic %3, helpers %4 us, together %5 us, state %6")
                           .arg(is_same)
                           .arg(shape.decentralised)
                           .arg(shape.automatic)
                           .arg(shape.helpers.us())
                           .arg(shape.peers.us())
                           .arg(static_cast<int>(now.machines[0].state));
                return !is_same || shape.decentralised == decentralised;
            });
            return is_same && is_in;
        };
        // The measurements of a new connection.
        const auto change = [&] {
            const std::uint64_t losses = session.snapshot().machines[0].n_losses;
            cupboard.cut();
            QVERIFY(becomesTrue([&] { return session.snapshot().machines[0].n_losses > losses; }));
            QVERIFY(isUp(session, 1));
        };
        const auto changesTo = [&](bool decentralised) {
            change();
            return !QTest::currentTestFailed() && answerIn(decentralised);
        };
        const auto notes = [&] { return textOf(session.take_machine_notes()); };
        QVERIFY(isUp(session, 1));
        QVERIFY2(answerIn(false), qPrintable(seen));
        QVERIFY(!notes().contains(QStringLiteral("From this answer on")));

        setFast(true);
        QVERIFY2(changesTo(true), qPrintable(seen));
        QVERIFY(notes().contains(QStringLiteral("From this answer on every machine makes each step itself")));
        Snapshot now = session.snapshot();
        QVERIFY(now.machine_shape.automatic && !now.machine_shape.late);
        QVERIFY(now.machine_shape.helpers.us() > 1.15 * now.machine_shape.peers.us());
        QVERIFY(isUp(session, 1));

        setFast(false);
        QVERIFY2(changesTo(false), qPrintable(seen));
        QVERIFY(
            notes().contains(QStringLiteral("From this answer on the other machines compute experts for this one")));
        now = session.snapshot();
        QVERIFY(now.machine_shape.automatic && now.expert_owners.empty());

        // An explicit choice of the shape is not overruled.
        setFast(true);
        settings.shape = NodeShape::kHelpers;
        join();
        QVERIFY(isUp(session, 1));
        for (int i = 0; i < 3; ++i)
            QVERIFY(answer(session) == alone && !session.snapshot().machine_shape.decentralised);
        settings.shape = NodeShape::kAuto;
        settings.use = NodeUse::kAlways;
        join();
        QVERIFY(isUp(session, 1));
        for (int i = 0; i < 3; ++i)
            QVERIFY(answer(session) == alone && !session.snapshot().machine_shape.decentralised);
    }

    void everyMachineMakesTheSteps_isShown_andAnotherKvTypeIsFollowed() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        cupboard.faults.computes_us = 100;
        setCosts(*session.model(), 100);
        JoinSettings settings = atOnce();
        settings.shape = NodeShape::kDecentralised;
        const auto join = [&] {
            session.join(joining({cupboard.address("cupboard")}, settings), {});
            session.reset_conversation();  // otherwise the machine would have to catch up first
            return isUp(session, 1);
        };
        QVERIFY(join());
        const std::uint64_t before = session.snapshot().revision;
        QVERIFY(answer(session) == alone);
        Snapshot now = session.snapshot();
        QVERIFY(now.revision > before);
        QVERIFY(now.machine_shape.decentralised && !now.machine_shape.automatic);
        QCOMPARE(now.machine_shape.alone, StepsAlone::kNo);
        QCOMPARE(now.expert_owners.size(), std::size_t{64});
        QCOMPARE(std::count(now.expert_owners.begin(), now.expert_owners.end(), 1), now.machines[0].n_owned);
        QVERIFY(now.machines[0].n_owned > 0 && now.machines[0].rows > 0);
        // Both directions: each of its rows was sent here, and at least as many of this
        // machine's there.
        const double rows_of_token = 8 * 2, row_bytes = static_cast<double>(host.spec().experts.hidden_dim) * 4;
        QCOMPARE(now.machines[0].bytes, rows_of_token * row_bytes);

        ReplanRequest replan;
        replan.kv = offstage::kernels::KvType::kInt8;
        session.replan(replan);
        session.advance({});
        session.reset_conversation();
        const auto rounded = answer(session);
        QString notes = textOf(session.take_machine_notes());
        QVERIFY2(notes.contains(QStringLiteral("keeps the KV cache in another type")) &&
                     !notes.contains(QStringLiteral("beams")),
                 qPrintable(notes));
        QCOMPARE(session.snapshot().machine_shape.alone, StepsAlone::kKvType);
        QVERIFY(join());
        QVERIFY(answer(session) == rounded);
        now = session.snapshot();
        QCOMPARE(now.machine_shape.alone, StepsAlone::kNo);
        QVERIFY(now.machines[0].rows > 0);
    }

    // The machine was measured while it started, so it gets no experts. While idle it is
    // measured again, and both machines compute the next answer.
    void machineThatWasBusyWhenItJoined_getsItsShare() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        cupboard.faults.computes_us = 5e6;
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        // So little that experts here always take 8 times as long, the most that is
        // learnt.
        setCosts(*session.model(), 0.01);
        JoinSettings settings = atOnce();
        settings.shape = NodeShape::kDecentralised;
        settings.patience.first_measuring_s = 0.05;
        settings.patience.longest_measuring_s = 0.1;
        settings.patience.deal_anew_factor = 1.5;
        session.join(joining({cupboard.address("cupboard")}, settings), {});
        QVERIFY(isUp(session, 1));
        const auto answerAnew = [&] {
            session.reset_conversation();
            return answer(session);
        };
        QVERIFY(answerAnew() == alone);
        Snapshot now = session.snapshot();
        QCOMPARE(now.expert_owners.size(), std::size_t{64});
        QVERIFY(now.machines[0].n_owned == 0 && now.machines[0].rows == 0);
        QVERIFY(now.machines[0].first_expert_us > 1e6);
        cupboard.faults.computes_us = 0.01;
        const auto isFaster = [&] { return session.snapshot().machines[0].expert_us < 1; };
        for (int i = 0; i < 20 && !becomesTrue(isFaster, 1); ++i) QVERIFY(answerAnew() == alone);
        QVERIFY(isFaster());
        QVERIFY(answerAnew() == alone);
        now = session.snapshot();
        QVERIFY(now.machines[0].n_owned > 0 && now.machines[0].rows > 0);
        QVERIFY(now.machines[0].first_expert_us > 1e6 && now.machines[0].expert_us < 1);
        const QString notes = textOf(session.take_machine_notes());
        const QString deal = QStringLiteral("cupboard now computes %1 of 64 experts in each step (before: 0).");
        QVERIFY2(notes.contains(QStringLiteral("cupboard was measured again: it computes experts ")) &&
                     notes.contains(deal.arg(now.machines[0].n_owned)),
                 qPrintable(notes));
    }

    // Shares do not show the link's cost: it is measured after an answer. The learnt cost
    // of experts stays.
    void linkThatBecomesSlow_isMeasuredAgain_whereSharesAreExchanged() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        cupboard.faults.computes_us = 0.1;
        std::atomic<bool> is_slow = false;
        cupboard.faults.counts_as = [&](LinkCosts::Measured& measured) {
            linkOf(is_slow ? 6000 : 1000, 500)(measured);
        };
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        JoinSettings settings = atOnce();
        settings.shape = NodeShape::kDecentralised;
        settings.patience.first_measuring_s = 0.05;
        settings.patience.longest_measuring_s = 1000;
        settings.patience.deal_anew_factor = 1.5;
        session.join(joining({cupboard.address("cupboard")}, settings), {});
        QVERIFY(isUp(session, 1));
        const auto machine = [&] { return session.snapshot().machines[0]; };
        QVERIFY(machine().latency_us < 4000);
        QString notes;
        const auto isTold = [&] {
            notes += textOf(session.take_machine_notes());
            return notes.contains(QStringLiteral("The link to cupboard has become slower: messages take "));
        };
        is_slow = true;
        for (int i = 0; i < 20 && !isTold(); ++i) {
            session.reset_conversation();
            QVERIFY(answer(session) == alone);
            becomesTrue(isTold, 5);
        }
        QVERIFY2(isTold(), qPrintable(notes));
        QVERIFY(machine().latency_us > 4000 && machine().expert_us < 1);
    }

    // Within one answer: the helper takes its part until its experts become slow, gets
    // less and less, and a note reports it.
    void helperThatBecomesSlow_getsLess_fromTheNextLayersOn() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        std::atomic<double> node_us = 1000;
        std::atomic<bool> becomes_slow = false;
        std::atomic<int> n_rows = 0, n_rows_when_slow = 0;
        cupboard.faults.passes_back = [&](FromNode& message) {
            auto* const reply = std::get_if<NodeReply>(&message);
            if (reply == nullptr) return true;
            // From the fourth token on.
            n_rows += static_cast<int>(reply->n_rows);
            const bool is_slow = becomes_slow && n_rows > 3 * 16;
            n_rows_when_slow += is_slow ? static_cast<int>(reply->n_rows) : 0;
            reply->compute_us = is_slow ? 1000 * node_us : node_us.load();
            return true;
        };
        // Next to nothing, also at 64 times as long, the most that is learnt.
        cupboard.faults.counts_as = linkOf(1, 1);
        LocalSession session;
        session.load(request(), {}, {});
        const auto alone = answer(session);
        JoinSettings settings = atOnce();
        settings.use = NodeUse::kMeasured;
        settings.forecasts = true;
        settings.pauses.wake_us = 1;
        setCosts(*session.model(), 20'000, 1000);
        session.join(joining({cupboard.address("cupboard")}, settings), {});
        QVERIFY(isUp(session, 1));
        QVERIFY(answer(session) == alone);
        QVERIFY(!textOf(session.take_machine_notes()).contains(QStringLiteral("slower in use: an expert")));
        QVERIFY(session.snapshot().machines[0].rows > 8);  // of 16 of a token
        n_rows = 0;
        becomes_slow = true;
        QVERIFY(answer(session) == alone);
        // For the rest there would be 144.
        QVERIFY2(n_rows_when_slow > 0 && n_rows_when_slow < 60, qPrintable(QString::number(n_rows_when_slow)));
        const QString notes = textOf(session.take_machine_notes());
        QVERIFY2(notes.contains(QStringLiteral("cupboard has become slower in use: an expert takes ")),
                 qPrintable(notes));
    }

    // The time of a request between layers, and of a layer after a wait for its reply, is
    // measured with the machine's own replies, and is part of the forecast. The first
    // replies, for the link by itself, come at once.
    void forecast_isOfWhatWasMeasuredHere() {
        constexpr std::chrono::microseconds kLate{2000};
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        cupboard.faults.computes_us = 1;
        std::atomic<int> n_asked = 0, n_at_once = 1'000'000;
        cupboard.faults.sees = [&](const ToNode& message) { n_asked += std::holds_alternative<NodeCompute>(message); };
        cupboard.faults.passes_back = [&](FromNode& message) {
            if (std::holds_alternative<NodeReply>(message) && n_asked > n_at_once) std::this_thread::sleep_for(kLate);
            return true;
        };
        JoinSettings settings = insisting();
        settings.shape = NodeShape::kDecentralised;
        std::unique_ptr<LoadedModel> model;
        std::unique_ptr<JoinedNodes> joined;
        const auto join = [&](bool forecasts) {
            joined.reset();
            model = openModel(request());
            settings.forecasts = forecasts;
            n_asked = 0;
            joined = std::make_unique<JoinedNodes>(*model, std::vector<NodeAddress>{cupboard.address("cupboard")},
                                                   settings, LoadProgressFn{}, std::stop_token{});
        };
        join(false);
        const int n_without = n_asked;
        QCOMPARE(joined->forecast_tokens_per_s(kShapePast), 0.0);
        join(true);
        QVERIFY2(n_asked > n_without + 50, qPrintable(QString::number(n_asked)));
        const auto forecast = [&] { return joined->forecast().here(kShapePast); };
        QVERIFY(forecast().wake_us > 0);
        // A microsecond or less of this model's layers, a difference of medians: of a
        // busy machine's times it may be none, and where each access to memory is checked
        // it mostly is.
        if (!kSanitized) {
            for (int i = 0; i < 20 && !(forecast().pause_us > 0); ++i) join(true);
            QVERIFY(forecast().pause_us > 0);
        }
        n_at_once = n_without;
        join(true);
        const LinkCosts& link = joined->node(0).costs();
        QVERIFY2(link.transfer_us(1) >= static_cast<double>(kLate.count()),
                 qPrintable(QStringLiteral("%1, alone %2").arg(link.transfer_us(1)).arg(link.measured().latency_us)));
        QVERIFY(link.measured().send_us > 0);
        const double us = 1e6 / joined->forecast_tokens_per_s(kShapePast);
        QVERIFY(std::abs(us - joined->forecast().in_force(kShapePast).us()) < 1e-6 * us);
    }

    // After a large message a connection accepts some bytes that cost nothing: as many go
    // and come back before a small message is measured.
    void smallMessages_areMeasured_whenAsMuchAsTheLargeOneHasPassed() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        std::atomic<std::size_t> largest = 0, since = 0, before_experts = 0;
        std::atomic<bool> asked = false;
        cupboard.faults.sees = [&](const ToNode& message) {
            if (const auto* ping = std::get_if<NodePing>(&message); ping != nullptr && !asked) {
                const std::size_t bytes = ping->payload.size();
                since = bytes >= largest ? 0 : since + bytes;
                largest = std::max(largest.load(), bytes);
            }
            if (std::holds_alternative<NodeCompute>(message) && !asked.exchange(true)) before_experts = since.load();
        };
        const auto model = openModel(request());
        JoinedNodes joined(*model, {cupboard.address("cupboard")}, insisting(), {}, {});
        QVERIFY(asked && largest > 64 << 10);
        QVERIFY2(before_experts >= largest, qPrintable(QString::number(before_experts)));
    }

    // Two that are measured at the same time slow each other down.
    void machinesThatConnectTogether_areMeasuredOneAfterTheOther() {
        ExpertHost first(request()), second(request());
        NodeInProcess cupboard(first, {"cupboard", 2, 0}), attic(second, {"attic", 2, 0});
        std::mutex mutex;
        std::vector<int> order;  // who is measured: each once for all of its messages in turn
        const auto watch = [&](NodeInProcess& node, int which) {
            auto has_begun = std::make_shared<std::atomic<bool>>(false);
            node.faults.sees = [&, which, has_begun](const ToNode& message) {
                if (!std::holds_alternative<NodePing>(message) && !std::holds_alternative<NodeCompute>(message)) return;
                // Long enough for the other one to begin, and much shorter than the wait
                // for a turn.
                if (!has_begun->exchange(true)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
                const std::scoped_lock lock(mutex);
                if (order.empty() || order.back() != which) order.push_back(which);
            };
        };
        watch(cupboard, 0);
        watch(attic, 1);
        const auto model = openModel(request());
        JoinedNodes joined(*model, {cupboard.address("cupboard"), attic.address("attic")}, insisting(), {}, {});
        QVERIFY(joined.node(0).is_up() && joined.node(1).is_up());
        const std::scoped_lock lock(mutex);
        QCOMPARE(order.size(), std::size_t{2});
    }

    // One that is silent while it is measured does not keep others from being used.
    void measuringTurn_isNotWaitedForWithoutEnd() {
        MeasuringTurn turn;
        {
            const MeasuringTurn::Guard first(turn, 10, {});
            const MeasuringTurn::Guard second(turn, 0.01, {});
            std::stop_source stop;
            stop.request_stop();
            const MeasuringTurn::Guard third(turn, 1000, stop.get_token());
            QVERIFY(first.has_it() && !second.has_it() && !third.has_it());
        }
        QVERIFY(MeasuringTurn::Guard(turn, 10, {}).has_it());
    }

    // A machine whose computing takes 100 times as long is found to be slow, and the
    // forecast of a token includes its work there, in both shapes; if every machine makes
    // the steps it gets fewer experts.
    void forecast_followsAMachineThatIsSlow() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        cupboard.faults.counts_as = linkOf(100, 50);
        const auto model = openModel(request());
        setCosts(*model, 100, 1000);
        JoinSettings settings = insisting();
        settings.forecasts = true;
        settings.pauses.wake_us = 1;
        struct Found {
            double expert_us = 0;
            ShapeTimes helpers;
            ShapeForecast peers;
        };
        const auto find = [&](double expert_us) {
            cupboard.faults.computes_us = expert_us;
            JoinedNodes joined(*model, {cupboard.address("cupboard")}, settings, {}, {});
            const ExpertGrid& grid = model->spec().experts;
            const ForecastNode node{&joined.node(0).costs(),
                                    std::vector<std::uint8_t>(static_cast<std::size_t>(grid.size()), 1)};
            return Found{joined.node(0).costs().expert_us(), joined.forecast().in_force(kShapePast),
                         forecast_as_peers(joined.forecast().here(kShapePast), {&node, 1})};
        };
        const Found fast = find(50), slow = find(5000);
        QVERIFY(fast.helpers.us() > 0 && fast.peers.times.us() > 0);
        QVERIFY(fast.expert_us == 50 && slow.expert_us == 5000);
        // As helpers: each layer has at least one expert.
        const double n_layers = static_cast<double>(model->spec().experts.n_layers);
        QVERIFY2(slow.helpers.us() > 0.9 * n_layers * slow.expert_us,
                 qPrintable(QStringLiteral("%1 us").arg(slow.helpers.us())));
        QVERIFY(slow.peers.times.us() > fast.peers.times.us());
        QVERIFY(slow.peers.calls[1] < fast.peers.calls[1]);
    }

    void machineThatMakesNoSteps_isShownAsRefusing() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        cupboard.faults.passes_back = [](FromNode& message) {
            if (auto* following = std::get_if<NodeFollowing>(&message)) following->refusal = "It has no mind to.";
            return true;
        };
        LocalSession session;
        session.load(request(), {}, {});
        JoinSettings settings = atOnce();
        settings.shape = NodeShape::kDecentralised;
        session.join(joining({cupboard.address("cupboard")}, settings), {});
        QVERIFY(becomesTrue([&] { return session.snapshot().machine_shape.refuses; }));
        const Snapshot now = session.snapshot();
        QCOMPARE(now.machines[0].state, MachineState::kRefused);
        QVERIFY(now.machines[0].why.english().find("It has no mind to.") != std::string::npos);
    }

    void loss_isPricedByWhatTokensTakeAfterIt() {
        ExpertHost host(request());
        NodeInProcess cupboard(host, {"cupboard", 2, 0});
        std::atomic<bool> there = true;
        cupboard.faults.connects = [&] { return there.load(); };
        const auto model = openModel(request());
        JoinSettings settings = atOnce();
        settings.waits = true;
        JoinedNodes joined(*model, {cupboard.address("cupboard")}, settings, {}, {});
        for (int i = 0; i < 8; ++i) joined.after_step(20'000, 1);
        Snapshot now;
        joined.fill(now);
        QCOMPARE(now.machine_tokens, std::int64_t{8});
        QCOMPARE(now.machine_token_us, 20'000.0);
        there = false;
        cupboard.cut();
        QVERIFY(becomesTrue([&] { return !joined.node(0).is_up(); }));
        joined.after_step(900'000, 1);  // in which it was lost
        joined.after_step(70'000, 16);  // a prompt
        for (int i = 0; i < 3; ++i) joined.after_step(30'000 + 1'000 * i, 1);
        QVERIFY(!textOf(joined.take_notes()).contains(QStringLiteral("a token takes")));
        joined.after_step(33'000, 1);
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(notes.contains(QStringLiteral("Without cupboard a token takes 31.5 ms; with it, it took 20.0 ms.")),
                 qPrintable(notes));
        for (int i = 0; i < 8; ++i) joined.after_step(30'000, 1);
        QVERIFY(!textOf(joined.take_notes()).contains(QStringLiteral("a token takes")));  // once
        there = true;
        QVERIFY(becomesTrue([&] { return joined.node(0).is_up(); }));
        joined.after_step(30'000, 1);
        QVERIFY(textOf(joined.take_notes()).contains(QStringLiteral("cupboard is back")));
    }
};

QTEST_GUILESS_MAIN(TestJoinedNodes)
#include "tst_joined_nodes.moc"
