// Several answers at a time: with float32 products each has the tokens that it has alone,
// however the others come, go, fail or take the room in the KV cache.

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/text/gbnf.h"
#include "tests/engine/asked_answers.h"
#include "tests/engine/running_server.h"

using namespace offstage::engine;
using namespace offstage::test;

class TestAnswerBatch : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    // Grouped attention, windows, states; and the emulated device.
    static void addModels() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        for (const char* const model :
             {"olmoe_bf16", "qwen3_moe_window_f32", "gemma4_odd_f32", "qwen3_5_moe_odd_f32", "granite_hybrid_bf16",
              "deepseek_v3_plain_f32", "llama4_bf16", "deepseek_v4_odd_f32"})
            QTest::addRow("%s, CPU", model) << QString(model) << QStringLiteral("cpu");
        for (const char* const model : {"olmoe_bf16", "qwen3_moe_window_f32", "qwen3_5_moe_odd_f32", "llama4_bf16"})
            QTest::addRow("%s, emulated", model) << QString(model) << QString(kEmulatedCard);
    }

  private Q_SLOTS:
    void initTestCase() { qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); }

    void eightTogether_areAsAlone_data() { addModels(); }
    void eightTogether_areAsAlone() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        LoadRequest load = requestFor(model, device);
        load.kept_context = 8 * kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(11);
        for (int i = 0; i < 11; ++i)
            all[static_cast<std::size_t>(i)].request = request(i, 70 + 40 * (i % 4), 10 + 3 * i);
        all[2].request.n_answers = 3;  // more rows than one step has
        all[2].request.sampler.temperature = 1;
        all[3].request.ignore_end = false;
        all[3].request.grammar = std::make_shared<const Grammar>(parse_gbnf("root ::= (\"ab\" | [f-k])+"));
        all[4].request.n_alternatives = 2;
        all[5].request.score_prompt = true;
        all[6].request.n_answers = 2;
        all[7].request.beam.width = 3;
        all[8].request.prompt_only = true;
        all[9].request.sampler.repeat_penalty = 1.3F;
        makeTogether(session, all, 8);
        COMPARE_WITH_ALONE(all, other);
        session.reset_conversation();
        QCOMPARE(nHeld(session), 0);
    }

    // Not all have room at a time: the newest wait, and read again what they have lost.
    void littleRoom_allAreRightInTheEnd_data() { addModels(); }
    void littleRoom_allAreRightInTheEnd() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        LoadRequest load = requestFor(model, device);
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(6);
        std::int64_t n_blocks = 0;
        for (int i = 0; i < 6; ++i) {
            all[static_cast<std::size_t>(i)].request = request(i, 150 + 20 * i, 200 + 5 * i);
            n_blocks += kv_blocks_for(350 + 25 * i);
        }
        all[1].request.n_answers = 2;
        all[1].request.sampler.temperature = 1;
        const Taken taken(session.model()->kv(), 24);
        QVERIFY(n_blocks > 24);
        makeTogether(session, all, 6);
        const std::uint64_t n_steps = nSteps(session);
        COMPARE_WITH_ALONE(all, other);
        bool grows = false;  // with the tokens
        for (std::size_t g = 0; g < session.model()->kv().n_groups(); ++g) {
            grows = grows || session.model()->kv().pool(g).keeps_all();
        }
        if (grows) QVERIFY(n_steps > nSteps(other) + 30);  // some tokens were read again
        session.reset_conversation();
        QCOMPARE(nHeld(session), taken.n());
    }

    // A scored prompt waits while it is read, and loses blocks, or finds more in the KV
    // cache than it had read: each token has its own probabilities, once.
    void scoredPrompt_waitsForRoom_data() {
        QTest::addColumn<bool>("finds_more");
        QTest::newRow("loses blocks") << false;
        QTest::newRow("finds the whole prompt") << true;
    }
    void scoredPrompt_waitsForRoom() {
        QFETCH(bool, finds_more);
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.kept_context = kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(2);
        all[0].request = finds_more ? request(1, 400, 30) : request(0, 70, 200);
        all[1].request = request(1, 400, 4);
        all[1].request.score_prompt = true;
        const Taken taken(session.model()->kv(), finds_more ? 10 : 7);
        makeTogether(session, all, 2);
        COMPARE_WITH_ALONE(all, other);
        QCOMPARE(all[1].result.prompt_choices.size(), std::size_t{400});
    }

    // One answer reaches the context's end in the step in which another one needs a
    // block: that one has the first one's.
    void endOfOne_makesRoomForAnother() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"), QStringLiteral("cpu"), 256);
        load.kept_context = kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(2);
        all[0].request = request(0, 246, 60);
        all[1].request = request(1, 119, 40);  // read a round later: 128 tokens when the first one has 256
        const Taken taken(session.model()->kv(), 6);
        makeTogether(session, all, 2);
        QCOMPARE(all[0].result.finish, FinishReason::kContextFull);
        QCOMPARE(all[1].result.finish, FinishReason::kMaxTokens);
        COMPARE_WITH_ALONE(all, other);
    }

    // Nobody waits for the tokens of an answer that was stopped while it waited.
    void stopWhileItWaits_leavesASmallerContextPossible() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.kept_context = kKeptTokensEach;
        LocalSession session;
        openSessions(load, {&session});
        std::vector<Asked> all(2);
        all[0].request = request(0, 70, 300);
        all[1].request = request(1, 200, 150);
        int n_words = 0;
        all[0].on_delta = [&](const TextDelta& delta) {
            if (delta.n_tokens != 195) return;
            for (Asked& one : all) one.stop.request_stop();
        };
        all[1].on_delta = [&](const TextDelta&) { ++n_words; };
        {
            const Taken taken(session.model()->kv(), 6);
            makeTogether(session, all, 2);
        }
        QVERIFY2(n_words > 0 && n_words < 150, qPrintable(QString::number(n_words)));  // it waited
        QCOMPARE(all[1].result.finish, FinishReason::kStopped);
        ReplanRequest less;
        less.context = 192;
        session.replan(less);
        session.advance({});
        QCOMPARE(session.replans().size(), std::size_t{1});
        QVERIFY2(session.replans().back().state == ReplanState::kDone,
                 session.replans().back().problem.english().c_str());
    }

    // Where the order of sums may depend on the rows of a step.
    void otherProducts_shareSteps() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.compute = ComputeMode::kBf16;
        load.kept_context = 8 * kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(8);
        for (int i = 0; i < 8; ++i) all[static_cast<std::size_t>(i)].request = request(i, 70, 40);
        makeTogether(session, all, 8);
        QCOMPARE(nSteps(session), std::uint64_t{8 + 39 + 7});  // the last one begins seven steps later
        for (const Asked& one : all) {
            QCOMPARE(one.result.tokens.size(), std::size_t{40});
            // A row's place in the step does not matter.
            QCOMPARE(one.result.tokens.front(), alone(other, one.request).tokens.front());
        }
    }

    // A common beginning is read once although the first answer is still being made.
    void commonBeginning_isSharedWithARunningAnswer() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.kept_context = kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(3);
        for (int i = 0; i < 3; ++i) {
            all[static_cast<std::size_t>(i)].request = request(1, 200, 30);
            all[static_cast<std::size_t>(i)].request.prompt_ids.back() = i;
        }
        std::size_t n = 0;
        bool begun = false;
        all[0].on_delta = [&](const TextDelta&) { begun = true; };
        session.generate_together(
            [&]() -> std::optional<AnswerCall> {
                if (n == 3 || (n > 0 && !begun)) return std::nullopt;
                return all[n++].call();
            },
            3);
        COMPARE_WITH_ALONE(all, other);
        for (const std::size_t i : {1U, 2U}) QVERIFY(all[i].result.reused_tokens >= 192);
    }

    // A long prompt is read in slices between the tokens of the running answer.
    void longPrompt_doesNotHoldUpARunningAnswer() {
        LoadRequest load = requestFor(QStringLiteral("qwen3_moe_window_f32"));
        load.context = 1024;
        load.kept_context = kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(2);
        all[0].request = request(0, 70, 60);
        all[1].request = request(1, 700, 8);
        int n_words = 0, n_at_begin = 0, n_at_first_word = 0;
        all[0].on_delta = [&](const TextDelta&) { ++n_words; };
        all[1].on_delta = [&](const TextDelta& delta) {
            if (delta.n_tokens == 1) n_at_first_word = n_words;
        };
        std::size_t n = 0;
        session.generate_together(
            [&]() -> std::optional<AnswerCall> {
                if (n == 2 || (n == 1 && n_words < 5)) return std::nullopt;
                if (n == 1) n_at_begin = n_words;
                return all[n++].call();
            },
            2);
        QCOMPARE(n_at_begin, 5);
        QVERIFY2(n_at_first_word - n_at_begin >= 5, qPrintable(QString::number(n_at_first_word)));
        QVERIFY(n_at_first_word < 60);
        COMPARE_WITH_ALONE(all, other);
    }

    // In order, each as soon as there is a place, and not more than asked for.
    void waitingAnswers_beginInOrder() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.kept_context = 4 * kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(9);
        for (int i = 0; i < 9; ++i) all[static_cast<std::size_t>(i)].request = request(i, 70, 4 + (i * 5) % 11);
        std::vector<int> began;
        int most_at_once = 0;
        for (int i = 0; i < 9; ++i) {
            all[static_cast<std::size_t>(i)].on_delta = [&, i](const TextDelta& delta) {
                if (delta.n_tokens != 1 || delta.token < 0) return;
                began.push_back(i);
                int running = 0;
                for (const Asked& one : all) running += one.n_begun - one.n_ended;
                most_at_once = std::max(most_at_once, running);
            };
        }
        makeTogether(session, all, 3);
        QVERIFY(std::is_sorted(began.begin(), began.end()));
        QCOMPARE(began.size(), std::size_t{9});
        QCOMPARE(most_at_once, 3);
        COMPARE_WITH_ALONE(all, other);
    }

    void stopOrFailureOfOne_leavesTheOthers_data() {
        QTest::addColumn<QString>("what");
        for (const char* const what : {"stop", "stop, shared steps", "stop before it begins",
                                       "stop while it waits for room", "failing reader", "impossible request"})
            QTest::addRow("%s", what) << QString(what);
    }
    void stopOrFailureOfOne_leavesTheOthers() {
        QFETCH(QString, what);
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        const bool waits_for_room = what == QStringLiteral("stop while it waits for room");
        const bool shared = what == QStringLiteral("stop, shared steps");
        if (shared) load.compute = ComputeMode::kBf16;
        load.kept_context = waits_for_room ? 0 : 4 * kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(3);
        for (int i = 0; i < 3; ++i) {
            all[static_cast<std::size_t>(i)].request = request(i, 70 + 10 * i, waits_for_room ? 200 : 20);
        }
        Asked& odd = all[waits_for_room ? 2 : 1];
        int n_words = 0, n_after = 0;
        if (what == QStringLiteral("stop") || shared) {
            all[0].on_delta = [&](const TextDelta& delta) {
                if (delta.n_tokens == 8) odd.stop.request_stop();
            };
            odd.on_delta = [&](const TextDelta& delta) {
                n_words += delta.token >= 0 ? 1 : 0;
                n_after += odd.stop.stop_requested() && delta.token >= 0 ? 1 : 0;
            };
        } else if (what == QStringLiteral("stop before it begins")) {
            odd.stop.request_stop();
        } else if (waits_for_room) {
            all[0].on_delta = [&](const TextDelta& delta) {
                if (delta.n_tokens == 195) odd.stop.request_stop();
            };
            odd.on_delta = [&](const TextDelta&) { ++n_words; };
        } else if (what == QStringLiteral("failing reader")) {
            odd.on_delta = [&](const TextDelta& delta) {
                if (delta.n_tokens == 5) throw std::runtime_error("the reader fails");
            };
        } else {
            odd.request.n_alternatives = 99;
        }
        makeTogether(session, all, 3);
        QCOMPARE(odd.n_ended, 1);
        if (what.startsWith(QStringLiteral("stop"))) {
            QVERIFY(!odd.problem);
            QCOMPARE(odd.result.finish, FinishReason::kStopped);
            QVERIFY2(n_after <= 1, qPrintable(QString::number(n_after)));
            if (what == QStringLiteral("stop") || shared) QVERIFY(n_words >= 3 && n_words < 20);
            if (waits_for_room) QVERIFY(n_words > 0 && n_words < 195);
        } else {
            QVERIFY(odd.problem != nullptr);
        }
        std::vector<Asked> rest;
        for (Asked& one : all) {
            if (&one != &odd) rest.push_back(std::move(one));
        }
        if (shared) {
            for (const Asked& one : rest) QCOMPARE(one.result.tokens.size(), std::size_t{20});
        } else {
            COMPARE_WITH_ALONE(rest, other);
        }
        session.reset_conversation();
        QCOMPARE(nHeld(session), 0);
    }

    // It ends those that run, and leaves a session that answers.
    void exceptionOfNext_endsAll() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.kept_context = 4 * kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(2), again(1);
        for (int i = 0; i < 2; ++i) all[static_cast<std::size_t>(i)].request = request(i, 70, 20);
        again[0].request = request(2, 70, 20);
        int n_words = 0;
        all[0].on_delta = [&](const TextDelta&) { ++n_words; };
        std::size_t n = 0;
        const NextAnswerFn next = [&]() -> std::optional<AnswerCall> {
            if (n < 2) return all[n++].call();
            if (n_words < 5) return std::nullopt;
            throw std::runtime_error("no further one");
        };
        QVERIFY_EXCEPTION_THROWN(session.generate_together(next, 3), std::runtime_error);
        for (const Asked& one : all) {
            QCOMPARE(one.n_ended, 1);
            QVERIFY(one.problem != nullptr);
            QVERIFY_EXCEPTION_THROWN(std::rethrow_exception(one.problem), std::runtime_error);
        }
        makeTogether(session, again, 3);
        COMPARE_WITH_ALONE(again, other);
        session.reset_conversation();
        QCOMPARE(nHeld(session), 0);
    }

    void noModel_isAnError() {
        LocalSession session;
        QVERIFY_EXCEPTION_THROWN(session.generate_together([] { return std::nullopt; }, 2), Error);
    }

    // The routing of a step with others is not its own: it waits, and those behind it.
    void tracedAnswer_isMadeAlone() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.compute = ComputeMode::kBf16;  // in which answers share steps
        load.kept_context = 4 * kKeptTokensEach;
        LocalSession session;
        openSessions(load, {&session});
        std::vector<Asked> all(4);
        for (int i = 0; i < 4; ++i) all[static_cast<std::size_t>(i)].request = request(i, 70, 9);
        all[2].request.trace_file = m_folder.filePath(QStringLiteral("trace")).toStdString();
        std::vector<std::pair<int, std::uint64_t>> steps;
        for (int i = 0; i < 4; ++i) {
            all[static_cast<std::size_t>(i)].on_delta = [&, i](const TextDelta& delta) {
                if (delta.token >= 0) steps.emplace_back(i, delta.step);
            };
        }
        makeTogether(session, all, 4);
        QCOMPARE(all[2].result.traced_tokens, 70 + 8);
        for (const auto& [i, step] : steps) {
            for (const auto& [other, its] : steps) QVERIFY(i != 2 || other == 2 || step != its);
        }
    }

    // A re-plan leaves less room than four answers hold: the newest wait.
    void replan_whileSeveralRun_data() {
        QTest::addColumn<QString>("device");
        for (const char* const device : {"cpu", kEmulatedCard}) QTest::addRow("%s", device) << QString(device);
    }
    void replan_whileSeveralRun() {
        QFETCH(QString, device);
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"), device);
        load.kept_context = 3 * kKeptTokensEach;
        LocalSession session, other;
        openSessions(load, {&session, &other});
        std::vector<Asked> all(4);
        for (int i = 0; i < 4; ++i) all[static_cast<std::size_t>(i)].request = request(i, 150, 330);
        std::int64_t n_held = 0;
        all[0].on_delta = [&](const TextDelta& delta) {
            if (delta.n_tokens != 300) return;
            n_held = nHeld(session);
            ReplanRequest less;
            less.kept_context = 0;
            session.replan(less);
        };
        makeTogether(session, all, 4);
        session.advance({});
        QCOMPARE(session.replans().size(), std::size_t{1});
        QVERIFY2(session.replans().back().state == ReplanState::kDone,
                 session.replans().back().problem.english().c_str());
        QCOMPARE(session.snapshot().kept_context, 0);
        QVERIFY(n_held > session.model()->kv().pool(0).n_blocks());
        COMPARE_WITH_ALONE(all, other);
    }

    // What running answers hold is converted, however much there is: none waits.
    void replanOfTheKvType_keepsWhatRunningAnswersHold() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"), QStringLiteral("cpu"), 2048);
        load.kept_context = 4 * kKeptTokensEach;
        LocalSession session;
        openSessions(load, {&session});
        std::vector<Asked> all(4);
        for (int i = 0; i < 4; ++i) all[static_cast<std::size_t>(i)].request = request(i, 150, 1800);
        const KvCache& kv = session.model()->kv();
        std::int64_t n_before = 0, n_after = 0;
        all[0].on_delta = [&](const TextDelta& delta) {
            if (delta.n_tokens == 20) {
                ReplanRequest other_type;
                other_type.kv = KvType::kInt8;
                session.replan(other_type);
            }
            if (delta.n_tokens < 20 || n_after > 0) return;
            if (kv.type() == KvType::kInt8) {
                n_after = nHeld(session);
                for (Asked& one : all) one.stop.request_stop();
            } else {
                n_before = nHeld(session);
                session.wait_for_plan();  // which is made beside the steps
            }
        };
        makeTogether(session, all, 4);
        QVERIFY2(n_before >= 4 * 3 && n_after >= n_before, qPrintable(QString::number(n_after)));
    }

    // ---- through the server
    void server_answersSeveralAtATime_andForgetsThoseWhoLeave() {
        LoadRequest load;
        load.model = demoModel();
        load.compute = ComputeMode::kF32;
        load.context = 1024;
        load.n_threads = 1;
        load.checks_costs = false;
        LocalSession session;
        const ModelSummary model = session.load(load, {}, {});
        const std::string expected = session.generate(story(12), {}, {}).text;
        {
            ApiServerSettings settings;
            settings.most_together = 4;
            settings.most_waiting = 64;
            settings.http.connections = 64;
            settings.http.head_ms = settings.http.write_ms = kPatienceMs;
            Running running(session, model, settings);
            const auto text = [&](bool stream, int n_tokens) {
                const QJsonObject body =
                    chat_body({{QStringLiteral("stream"), stream}, {QStringLiteral("max_tokens"), n_tokens}});
                return running.text("POST", kChat, QJsonDocument(body).toJson().toStdString());
            };
            LoopbackClient slow(running.port(), 1024);
            slow.send(text(true, 400));  // reads nothing until all others are done
            std::vector<std::unique_ptr<LoopbackClient>> clients;
            for (int i = 0; i < 40; ++i) {
                clients.push_back(std::make_unique<LoopbackClient>(running.port()));
                clients.back()->send(text(i % 4 == 1, i % 2 == 0 ? 12 : 900));
            }
            const std::string metrics = running.get("/metrics").body;
            QVERIFY2(metrics.find("offstage_answering_places 4\n") != std::string::npos, metrics.c_str());
            QCOMPARE(json_of(running.get("/props"))[QStringLiteral("total_slots")].toInt(), 4);
            for (std::size_t i = 1; i < 40; i += 4) clients[i]->read_some(1);  // has begun
            for (std::size_t i = 1; i < 40; i += 2) clients[i].reset();        // and leaves
            for (std::size_t i = 0; i < 40; i += 2) {
                const HttpResponse response = clients[i]->read_response();
                QCOMPARE(response.status, 200);
                const QString got =
                    choice_of_reply(response)[QStringLiteral("message")][QStringLiteral("content")].toString();
                QCOMPARE(got.toStdString(), expected);
            }
            const HttpResponse response = slow.read_response();
            QVERIFY2(response.whole && response.body.ends_with("data: [DONE]\n\n"), response.body.c_str());
            QTRY_COMPARE_WITH_TIMEOUT(running.server().queue().n_running(), std::size_t{0}, kPatienceMs);
            QCOMPARE(running.server().queue().n_waiting(), std::size_t{0});
        }
        session.reset_conversation();
        QCOMPARE(nHeld(session), 0);
    }
};

QTEST_GUILESS_MAIN(TestAnswerBatch)
#include "tst_answer_batch.moc"
