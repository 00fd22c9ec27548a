// Several conversations in turn: each continues from its part in the KV cache, reads only
// the new tokens, and answers as if it had been read from its beginning.

#include <QTemporaryDir>
#include <QtTest>

#include "engine/run/loaded_model.h"
#include "engine/run/local_session.h"
#include "engine/run/prefix_store.h"
#include "engine/run/replanner.h"
#include "tests/engine/greedy_reader.h"
#include "tests/engine/replan_play.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// One model, and the conversations in its KV cache.
struct Reader : GreedyReader {
    explicit Reader(const LoadRequest& request) : GreedyReader(request) {
        model.kv().set_give_up([this](KvCache::GiveUp what) {
            return store.give_up(what) || (what == KvCache::GiveUp::kEnds && running.sequence.give_up_checkpoint());
        });
        running.sequence = model.new_sequence();
    }
    KvSequence& sequence() override { return running.sequence; }
    void wasRead(const Segment& segment) override {
        running.tokens.insert(running.tokens.end(), segment.tokens.begin(), segment.tokens.end());
    }

    GreedyAnswer answer(const Tokens& prompt, int n_tokens) {
        return continued(prompt, store.begin(running, prompt), n_tokens);
    }
    // A step that ends before its last layer, as Stop leaves it.
    void stopInAStep(const Tokens& tokens) {
        std::stop_source stop;
        stop.request_stop();
        const Segment segment{&running.sequence, tokens};
        QCOMPARE(model.forward().step({&segment, 1}, Forward::Logits::kLast, stop.get_token()),
                 Forward::Outcome::kStopped);
    }
    std::int64_t nHeld() {
        std::int64_t n = 0;
        for (std::size_t g = 0; g < model.kv().n_groups(); ++g)
            n += model.kv().pool(g).n_blocks() - model.kv().pool(g).n_free();
        return n;
    }

    PrefixStore store;
    CachedPrefix running;
};

// The same prompt read from its beginning, in an otherwise empty KV cache.
bool isAsFresh(Reader& fresh, const Tokens& prompt, const GreedyAnswer& got) {
    fresh.store.clear();
    fresh.running.sequence.truncate(0);
    fresh.running.tokens.clear();
    const GreedyAnswer expected = fresh.answer(prompt, static_cast<int>(got.tokens.size()));
    return expected.reused == 0 && got.isLike(expected);
}

}  // namespace

class TestPrefixStore : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

  private Q_SLOTS:
    void initTestCase() { qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); }

    // ---- every kind of layer

    void byTurns_onlyTheNewTokensAreRead_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("n_conversations");
        // Grouped attention, windows with whole layers, only windows, states of DeltaNet,
        // Mamba-2 and short convolutions with whole layers, MLA, chunks with whole
        // layers, an indexer, pooled keys.
        for (const char* const model :
             {"olmoe_bf16", "gpt_oss_bf16", "gemma4_odd_f32", "qwen3_moe_window_f32", "qwen3_5_moe_bf16",
              "qwen3_5_moe_odd_f32", "nemotron_h_odd_f32", "lfm2_moe_odd_f32", "deepseek_v3_plain_f32", "llama4_bf16",
              "mimo_v2_flash_bf16", "glm_moe_dsa_bf16", "deepseek_v4_odd_f32"}) {
            QTest::addRow("%s, CPU, 3", model) << QString(model) << QStringLiteral("cpu") << 3;
        }
        for (const char* const model : {"olmoe_bf16", "gemma4_odd_f32", "qwen3_5_moe_odd_f32", "granite_hybrid_bf16"})
            QTest::addRow("%s, emulated, 3", model) << QString(model) << QString(kEmulatedCard) << 3;
        for (const char* const device : {"cpu", kEmulatedCard})
            QTest::addRow("states, %s, 2", device) << QStringLiteral("qwen3_5_moe_odd_f32") << QString(device) << 2;
    }
    void byTurns_onlyTheNewTokensAreRead() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(int, n_conversations);
        LoadRequest request = requestFor(model, device);
        Reader fresh(request);
        // By default a recurrent layer has room for one conversation beside the running
        // one, at its last prompt.
        const bool has_states = fresh.model.kv().has_states();
        if (has_states && n_conversations > 2) request.kept_context = 3 * kKeptTokensEach;
        Reader reader(request);
        const std::int64_t n_blocks = reader.model.kv().pool(0).n_blocks();
        const Tokens system = someText(70, 1);
        std::vector<Tokens> talks, held;
        std::vector<std::int64_t> prompts;
        for (int turn = 0; turn < 3; ++turn) {
            for (int c = 0; c < n_conversations; ++c) {
                const auto i = static_cast<std::size_t>(c);
                if (turn == 0) {
                    talks.push_back(joined(system, someText(25 + 5 * c, 10 + c)));
                    held.emplace_back();
                    prompts.push_back(0);
                } else {
                    talks[i] = joined(talks[i], someText(12 + turn, 20 * turn + c));
                }
                const GreedyAnswer got = reader.answer(talks[i], 6);
                const QString where = QStringLiteral("turn %1 of conversation %2: %3 of %4 tokens reused")
                                          .arg(turn)
                                          .arg(c)
                                          .arg(got.reused)
                                          .arg(talks[i].size());
                QVERIFY2(isAsFresh(fresh, talks[i], got), qPrintable(where));
                if (turn > 0) {
                    const bool at_end = got.reused == std::ssize(held[i]);
                    const bool at_prompt = got.reused == prompts[i] - 8;
                    QVERIFY2(at_end || (has_states && n_conversations == 2 && at_prompt), qPrintable(where));
                } else if (c > 0 && model == QStringLiteral("olmoe_bf16")) {
                    QCOMPARE(got.reused, 70);  // the system prompt common to all of them
                }
                prompts[i] = std::ssize(talks[i]);
                held[i] = talks[i] = got.whole;
            }
        }
        QCOMPARE(reader.store.n_sequences(), n_conversations - 1);
        QCOMPARE(reader.model.kv().pool(0).n_blocks(), n_blocks);
        reader.store.clear();
        reader.running.sequence.clear();
        QCOMPARE(reader.nHeld(), 0);
    }

    // Between two turns chat programs request a title, tags, further questions. An edited
    // earlier message continues from the prompt before it.
    void sideRequests_everyTurnIsReused_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        for (const char* const device : {"cpu", kEmulatedCard}) {
            for (const char* const model : {"olmoe_bf16", "gpt_oss_bf16", "gemma4_odd_f32", "qwen3_moe_window_f32",
                                            "qwen3_5_moe_bf16", "qwen3_5_moe_odd_f32", "nemotron_h_bf16", "llama4_bf16",
                                            "deepseek_v32_bf16", "deepseek_v4_odd_f32", "minimax_m3_bf16"})
                QTest::addRow("%s, %s", model, device) << QString(model) << QString(device);
        }
    }
    void sideRequests_everyTurnIsReused() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        const LoadRequest request = requestFor(model, device, 4096);
        Reader fresh(request), reader(request);
        std::vector<std::int64_t> rooms;
        for (std::size_t g = 0; g < reader.model.kv().n_groups(); ++g)
            rooms.push_back(reader.model.kv().pool(g).n_blocks());
        Tokens talk = someText(150, 1);
        std::int64_t last_prompt = 0;
        for (int turn = 0; turn < 4; ++turn) {
            const Tokens prompt = talk;
            const GreedyAnswer got = reader.answer(prompt, 5);
            QVERIFY2(got.reused >= last_prompt - 8,
                     qPrintable(QStringLiteral("turn %1: %2").arg(turn).arg(got.reused)));
            QVERIFY(isAsFresh(fresh, prompt, got));
            last_prompt = std::ssize(prompt);
            for (int side = 0; side < 8; ++side) reader.answer(someText(120 + side, 100 + 20 * turn + side), 5);
            talk = joined(got.whole, someText(20, 50 + turn));
        }
        reader.store.clear();
        const Tokens next = joined(reader.answer(talk, 5).whole, someText(20, 60));
        const Tokens then = joined(reader.answer(next, 5).whole, someText(20, 61));
        reader.answer(then, 5);
        const Tokens edited = joined(next, someText(25, 99));
        const GreedyAnswer got = reader.answer(edited, 5);
        QVERIFY2(got.reused >= std::ssize(next) - 8, qPrintable(QString::number(got.reused)));
        QVERIFY(isAsFresh(fresh, edited, got));
        for (std::size_t g = 0; g < rooms.size(); ++g) QCOMPARE(reader.model.kv().pool(g).n_blocks(), rooms[g]);

        // A shorter context: the other conversations are removed, and the running one
        // stays.
        Replanner replanner(reader.model);
        replanner.set_tokens_in_use([&] { return reader.running.sequence.size(); });
        ReplanRequest shorter;
        shorter.context = 512;
        begin_replan(replanner, 1, shorter, 0);
        replanner.finish({});
        QVERIFY2(replanner.reports().back().state == ReplanState::kDone,
                 replanner.reports().back().problem.english().c_str());
        reader.running.sequence.set_capacity(512);
        const std::vector<KvRoom> planned = reader.model.demand().kv_rooms(reader.model.plan());
        for (std::size_t g = 0; g < rooms.size(); ++g) QVERIFY(reader.model.kv().pool(g).room() == planned[g]);
        const Tokens longer = joined(got.whole, someText(10, 98));
        const GreedyAnswer after = reader.answer(longer, 3);
        QVERIFY(after.reused >= std::ssize(edited) - 8);
        QVERIFY(isAsFresh(fresh, longer, after));
    }

    // As many single requests as a chat program makes in a while, with a context that
    // they would fill three times: the second turn of a conversation is not read again.
    void firstTurn_staysBehindTwentyOthers_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"gpt_oss_bf16", "qwen3_moe_window_f32", "qwen3_5_moe_odd_f32"})
            QTest::newRow(model) << QString(model);
    }
    void firstTurn_staysBehindTwentyOthers() {
        QFETCH(QString, model);
        const LoadRequest request = requestFor(model, QString(kEmulatedCard), 1024);
        Reader fresh(request), reader(request);
        const Tokens first = someText(150, 1);
        const Tokens next = joined(reader.answer(first, 5).whole, someText(20, 2));
        for (int side = 0; side < 20; ++side) reader.answer(someText(160, 100 + side), 2);
        const GreedyAnswer got = reader.answer(next, 5);
        QVERIFY2(got.reused >= std::ssize(first) - 8, qPrintable(QString::number(got.reused)));
        QVERIFY(isAsFresh(fresh, next, got));
    }

    // Where states are the most of what a sequence holds, a long prompt is dearer to read
    // again than a short one of the same bytes; but nothing stays for ever.
    void shortPrompts_goBeforeLongOnes() {
        Reader reader(requestFor(QStringLiteral("qwen3_5_moe_odd_f32"), QString(kEmulatedCard), 1024));
        const Tokens talk = joined(reader.answer(someText(300, 1), 5).whole, someText(20, 2));
        int n = 0;
        const auto others = [&](int n_more) {
            for (int side = 0; side < n_more; ++side) reader.answer(someText(60, 100 + n++), 2);
        };
        others(50);  // more than there are states
        QVERIFY(reader.store.n_sequences() < 50);
        QVERIFY(reader.answer(talk, 1).reused > 290);
        reader.store.clear();
        const Tokens another = joined(reader.answer(someText(300, 3), 5).whole, someText(20, 4));
        others(250);
        QCOMPARE(reader.answer(another, 1).reused, 0);
    }

    // More single requests than there is room for: a continued conversation stays, and so
    // do the places to which an edit of an earlier message returns.
    void manyRequests_conversationsStay_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"olmoe_bf16", "gpt_oss_bf16", "qwen3_moe_window_f32", "qwen3_5_moe_odd_f32"})
            QTest::newRow(model) << QString(model);
    }
    void manyRequests_conversationsStay() {
        QFETCH(QString, model);
        const LoadRequest request = requestFor(model, QString(kEmulatedCard), 1024);
        Reader fresh(request), reader(request);
        std::vector<Tokens> prompts = {someText(150, 1)};
        for (int turn = 0; turn < 4; ++turn) {
            const GreedyAnswer got = reader.answer(prompts.back(), 5);
            // A first prompt looks like any single request and is given up, but the store
            // remembers it.
            if (turn > 1) QVERIFY2(got.reused >= std::ssize(prompts.end()[-2]) - 8, qPrintable(QString::number(turn)));
            QVERIFY(isAsFresh(fresh, prompts.back(), got));
            prompts.push_back(joined(got.whole, someText(20, 50 + turn)));
            for (int side = 0; side < 36; ++side) reader.answer(someText(120 + side % 7, 100 + 40 * turn + side), 2);
        }
        // The third message is another one.
        Tokens edited = prompts[2];
        edited.resize(edited.size() - 20);
        edited = joined(edited, someText(25, 99));
        const GreedyAnswer got = reader.answer(edited, 5);
        QVERIFY2(got.reused >= std::ssize(prompts[1]) - 8, qPrintable(QString::number(got.reused)));
        QVERIFY(isAsFresh(fresh, edited, got));
        QVERIFY(reader.store.n_sequences() > 4);
    }

    // The template writes the end of a prompt differently once the answer follows: a
    // window that begins with a block cannot return to a place before it.
    void windows_goBackByTheEndOfAPrompt_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"gpt_oss_bf16", "gemma4_odd_f32", "qwen3_moe_window_f32"})
            QTest::newRow(model) << QString(model);
    }
    void windows_goBackByTheEndOfAPrompt() {
        QFETCH(QString, model);
        const LoadRequest request = requestFor(model, QStringLiteral("cpu"));
        Reader fresh(request), reader(request);
        std::int64_t window = 0;
        for (std::size_t g = 0; g < reader.model.kv().n_groups(); ++g)
            window = std::max(window, reader.model.kv().pool(g).window());
        QVERIFY(window > 0);
        const std::int64_t n = window + 2 * offstage::kernels::kKvBlockTokens;
        const Tokens prompt = someText(n, 1);
        reader.answer(prompt, 70);
        Tokens next = prompt;
        next.resize(prompt.size() - 7);
        next = joined(next, someText(30, 2));
        const GreedyAnswer got = reader.answer(next, 3);
        QVERIFY2(got.reused >= n - 8, qPrintable(QString::number(got.reused)));
        QVERIFY(isAsFresh(fresh, next, got));
    }

    // Random actions of a user, with little room: continue, regenerate an answer, change
    // an earlier message, stop, and go back to any of it.
    void anything_answersAsAFreshRead_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"olmoe_bf16", "gemma4_odd_f32", "qwen3_5_moe_odd_f32", "deepseek_v3_plain_f32"})
            QTest::newRow(model) << QString(model);
    }
    void anything_answersAsAFreshRead() {
        QFETCH(QString, model);
        LoadRequest request = requestFor(model, QString(kEmulatedCard), 200);
        Reader fresh(request), reader(request);
        std::mt19937 random(11);
        std::vector<Tokens> places;  // places to go back to
        places.push_back(someText(30, 1));
        std::int64_t n_reused = 0;
        for (int i = 0; i < 30; ++i) {
            Tokens prompt = places[random() % places.size()];
            if (random() % 3 == 0) prompt.resize(1 + random() % prompt.size());
            if (random() % 4 != 0) prompt = joined(prompt, someText(1 + static_cast<int>(random() % 40), i));
            if (prompt.size() > 180) prompt.resize(40);
            if (random() % 5 == 0) reader.store.begin_anew(reader.running);
            const GreedyAnswer got = reader.answer(prompt, static_cast<int>(random() % 6));
            n_reused += got.reused;
            QVERIFY2(isAsFresh(fresh, prompt, got), qPrintable(QStringLiteral("%1, reused %2").arg(i).arg(got.reused)));
            if (random() % 4 == 0) reader.stopInAStep(someText(5, i));
            places.push_back(got.whole);
        }
        QVERIFY2(n_reused > 150, qPrintable(QString::number(n_reused)));
        reader.store.clear();
        reader.running.sequence.clear();
        QCOMPARE(reader.nHeld(), 0);
    }

    // ---- regenerated answers, and shortage of room

    void answerMadeAgain_isTheFirstToGo() {
        Reader reader(requestFor(QStringLiteral("olmoe_bf16"), QStringLiteral("cpu")));
        const Tokens other = someText(100, 1), asked = someText(90, 2);
        const Tokens talk = reader.answer(other, 10).whole;
        for (int i = 0; i < 3; ++i) {
            const GreedyAnswer got = reader.answer(asked, 10);
            if (i > 0) QCOMPARE(got.reused, 89);
        }
        QCOMPARE(reader.store.n_sequences(), 3);
        QCOMPARE(reader.store.n_tokens(), 110 + 2 * 100);
        // An edit in the middle leaves a conversation to which the user may go back.
        reader.answer(joined(Tokens(asked.begin(), asked.begin() + 50), someText(20, 3)), 1);
        QVERIFY(reader.store.give_up(KvCache::GiveUp::kWhole) && reader.store.give_up(KvCache::GiveUp::kWhole));
        QCOMPARE(reader.answer(talk, 1).reused, 109);
        QCOMPARE(reader.answer(asked, 1).reused, 89);
    }

    void roomIsShort_theOneUsedLongestAgoGoesFromItsEnd() {
        // 8 blocks of the context, and 17 for beams.
        Reader reader(requestFor(QStringLiteral("olmoe_bf16"), QString(kEmulatedCard)));
        const KvPool& pool = reader.model.kv().pool(0);
        const std::uint64_t bytes = reader.model.device().memory().usage().used_bytes;
        std::vector<Tokens> talks;
        for (int c = 0; c < 5; ++c) talks.push_back(reader.answer(someText(316, c), 4).whole);  // 5 blocks each
        QCOMPARE(pool.n_free(), 0);
        QCOMPARE(reader.store.n_tokens(), 4 * 320);
        const Tokens longer = joined(talks[4], someText(100, 99));
        QCOMPARE(reader.answer(longer, 1).reused, 320);  // two blocks are of the first one
        QCOMPARE(reader.store.n_tokens(), 4 * 320 - 128);
        QCOMPARE(reader.answer(talks[0], 1).reused, 192);
        QCOMPARE(reader.answer(talks[3], 1).reused, 319);
        QCOMPARE(reader.answer(talks[1], 1).reused, 64);  // since then the one used longest ago
        QCOMPARE(pool.n_blocks(), 8 + kSpareKvBlocks);
        QCOMPARE(reader.model.device().memory().usage().used_bytes, bytes);
        // One that takes all the room.
        Reader fresh(requestFor(QStringLiteral("olmoe_bf16"), QString(kEmulatedCard)));
        const Tokens whole = someText(500, 77);
        QVERIFY(isAsFresh(fresh, whole, reader.answer(whole, 12)));
    }

    // ---- requested room

    void keptContext_isPlannedAndTaken_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        for (const char* const model : {"olmoe_bf16", "gemma4_odd_f32", "qwen3_5_moe_odd_f32"}) {
            for (const char* const device : {"cpu", kEmulatedCard})
                QTest::addRow("%s, %s", model, device) << QString(model) << QString(device);
        }
    }
    void keptContext_isPlannedAndTaken() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        LoadRequest request = requestFor(model, device);
        Reader without(request);
        request.kept_context = 2 * kKeptTokensEach;
        Reader reader(request);
        const Plan &more = reader.model.plan(), &less = without.model.plan();
        const std::uint64_t bytes = reader.model.demand().kept_bytes();
        QVERIFY(bytes > 0);
        QCOMPARE(without.model.demand().kept_bytes(), std::uint64_t{0});
        QCOMPARE(more.ram_bytes, less.ram_bytes + bytes);
        QCOMPARE(more.context, less.context);
        std::uint64_t taken = 0;
        for (std::size_t g = 0; g < reader.model.kv().n_groups(); ++g) {
            const KvPool& pool = reader.model.kv().pool(g);
            taken += static_cast<std::uint64_t>((pool.n_blocks() - without.model.kv().pool(g).n_blocks()) *
                                                pool.shape().block_bytes());
        }
        QCOMPARE(taken, bytes);
        if (device == QStringLiteral("cpu")) {
            QCOMPARE(more.kv_bytes, less.kv_bytes + bytes);
            return;
        }
        QCOMPARE(more.vram_bytes(), less.vram_bytes());
        QCOMPARE(more.kv_host_bytes, less.kv_host_bytes + bytes);
        const auto in_use = [](const Arena& arena) {
            return arena.usage().by_use[static_cast<std::size_t>(MemoryUse::kKvCache)];
        };
        QCOMPARE(in_use(reader.model.ram()), more.kv_host_bytes);
        QCOMPARE(in_use(reader.model.device().memory()), in_use(without.model.device().memory()));
    }

    // Room for other conversations appears and disappears while the model is loaded.
    void keptContext_movesWithAReplan_data() {
        QTest::addColumn<QString>("device");
        for (const char* const device : {"cpu", kEmulatedCard}) QTest::addRow("%s", device) << QString(device);
    }
    void keptContext_movesWithAReplan() {
        QFETCH(QString, device);
        LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"), device);
        request.model = demoModel();
        LocalSession session;
        session.load(request, {}, {});
        KvPool& pool = session.model()->kv().pool(0);
        const std::int64_t before = pool.n_blocks();
        QCOMPARE(session.snapshot().kept_context, 0);
        request.kept_context = 3 * kKeptTokensEach;
        Reader loaded(request);
        ReplanRequest more;
        more.kept_context = request.kept_context;
        session.replan(more);
        session.advance({});
        QCOMPARE(session.replans().back().state, ReplanState::kDone);
        QCOMPARE(pool.n_blocks(), loaded.model.kv().pool(0).n_blocks());
        QCOMPARE(session.snapshot().kept_context, request.kept_context);
        QCOMPARE(session.snapshot().kept_context_bytes, loaded.model.demand().kept_bytes());
        // The next request leaves it.
        ReplanRequest shorter;
        shorter.context = session.model()->plan().context / 2;
        session.replan(shorter);
        session.advance({});
        QCOMPARE(session.snapshot().kept_context, request.kept_context);
        ReplanRequest none;
        none.kept_context = 0;
        none.context = 2 * *shorter.context;
        session.replan(none);
        session.advance({});
        QCOMPARE(session.replans().back().state, ReplanState::kDone);
        QCOMPARE(pool.n_blocks(), before);
        QCOMPARE(session.snapshot().kept_context_bytes, std::uint64_t{0});
        more.kept_context = -1;
        session.replan(more);
        session.advance({});
        QCOMPARE(session.replans().back().state, ReplanState::kFailed);
    }

    // The running conversation's blocks are on the device, those of the others in RAM.
    void otherConversations_leaveTheDevice_andComeBack() {
        LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"), QString(kEmulatedCard));
        Reader fresh(request);
        request.kept_context = 3 * kKeptTokensEach;
        Reader reader(request);
        KvPool& pool = reader.model.kv().pool(0);
        const auto nOnDevice = [&] {
            std::int64_t n = 0;
            for (const std::int32_t block : reader.running.sequence.table(0).blocks) n += !pool.block(block).in_host;
            return n;
        };
        std::vector<Tokens> talks;
        for (int c = 0; c < 9; ++c) talks.push_back(reader.answer(someText(316, c), 4).whole);
        QCOMPARE(reader.store.n_tokens(), 8 * 320);
        QVERIFY(pool.n_held_in_host() >= 9 * 5 - 25);
        for (const int c : {0, 3, 8}) {
            const auto i = static_cast<std::size_t>(c);
            const Tokens prompt = joined(talks[i], someText(10, 50 + c));
            const GreedyAnswer got = reader.answer(prompt, 3);
            QCOMPARE(got.reused, 320);
            QCOMPARE(nOnDevice(), 6);
            QVERIFY(isAsFresh(fresh, prompt, got));
        }
    }

    // ---- re-plans

    void smallerContext_theOthersGoFirst() {
        LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"), QString(kEmulatedCard), 1024);
        Reader fresh(request), reader(request);
        Replanner replanner(reader.model);
        replanner.set_tokens_in_use([&] { return reader.running.sequence.size(); });
        std::vector<Tokens> talks;
        for (int c = 0; c < 4; ++c) talks.push_back(reader.answer(someText(444, c), 4).whole);  // 7 blocks each
        QCOMPARE(reader.model.kv().pool(0).n_free(), 16 + kSpareKvBlocks - 28);
        ReplanRequest replan;
        replan.context = 512;
        begin_replan(replanner, 1, replan, 0);
        replanner.finish({});
        QVERIFY2(replanner.reports().back().state == ReplanState::kDone,
                 replanner.reports().back().problem.english().c_str());
        QCOMPARE(reader.model.kv().pool(0).n_blocks(), 8 + kSpareKvBlocks);
        QCOMPARE(reader.store.n_tokens(), 3 * 448 - 3 * 64);  // 25 blocks are left
        reader.running.sequence.set_capacity(512);
        for (const int c : {3, 2, 0}) {
            const auto i = static_cast<std::size_t>(c);
            const Tokens prompt = joined(talks[i], someText(10, 50 + c));
            const GreedyAnswer got = reader.answer(prompt, 3);
            QCOMPARE(got.reused, c == 0 ? 256 - 2 * 64 : 448);  // a block went to each of the two that went on
            QVERIFY(isAsFresh(fresh, prompt, got));
        }
        // Another format differs from a fresh read's.
        replan = {};
        replan.kv = KvType::kInt8;
        begin_replan(replanner, 2, replan, 0);
        replanner.finish({});
        QVERIFY(replanner.reports().back().state == ReplanState::kDone);
        QCOMPARE(reader.store.n_sequences(), 0);
        QVERIFY(reader.running.sequence.size() > 0);
    }

    // ---- a session

    void session_byTurns_beamsAndStops() {
        LocalSession session, fresh;
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.context = 512;
        request.kv = KvType::kF32;
        request.n_threads = 1;
        session.load(request, {}, {});
        fresh.load(request, {}, {});
        GenerationRequest ask;
        ask.sampler.temperature = 0;
        ask.max_tokens = 12;
        const auto answer = [&](const std::vector<ChatMessage>& messages) {
            ask.messages = messages;
            const GenerationResult got = session.generate(ask, {}, {});
            fresh.reset_conversation();
            const GenerationResult expected = fresh.generate(ask, {}, {});
            QTest::qVerify(got.tokens == expected.tokens && expected.reused_tokens == 0, "as fresh", "", __FILE__,
                           __LINE__);
            return got;
        };
        std::vector<ChatMessage> first = {{Role::kUser, "What is an expert?"}},
                                 second = {{Role::kUser, "Tell me a story about a fox."}};
        const auto goOn = [](std::vector<ChatMessage>& talk, const GenerationResult& result, const char* next) {
            talk.push_back({Role::kAssistant, result.text});
            talk.push_back({Role::kUser, next});
        };
        const GenerationResult a = answer(first);
        session.begin_conversation();
        QCOMPARE(session.snapshot().context_used, 0);
        QCOMPARE(session.snapshot().kept_prefixes, 1);
        QVERIFY(session.snapshot().kept_tokens >= a.prompt_tokens);
        const GenerationResult b = answer(second);
        QVERIFY(b.reused_tokens < a.prompt_tokens);
        goOn(first, a, "And a router?");
        const GenerationResult a2 = answer(first);
        QVERIFY2(a2.reused_tokens >= a.prompt_tokens, qPrintable(QString::number(a2.reused_tokens)));
        // Beams part from a conversation's sequence, and release their blocks.
        goOn(second, b, "And then?");
        ask.beam.width = 3;
        const GenerationResult b2 = answer(second);
        ask.beam.width = 1;
        QVERIFY2(b2.reused_tokens >= b.prompt_tokens, qPrintable(QString::number(b2.reused_tokens)));
        goOn(first, a2, "Thanks.");
        std::stop_source stop;
        ask.messages = first;
        ask.max_tokens = 40;
        const GenerationResult stopped = session.generate(
            ask,
            [&](const TextDelta& delta) {
                if (delta.n_tokens == 4) stop.request_stop();
            },
            stop.get_token());
        QVERIFY(stopped.finish == FinishReason::kStopped && stopped.reused_tokens >= a2.prompt_tokens);
        ask.max_tokens = 12;
        goOn(second, b2, "Why?");
        QVERIFY(answer(second).reused_tokens >= b2.prompt_tokens);
        goOn(first, stopped, "Go on.");
        QVERIFY(answer(first).reused_tokens >= stopped.prompt_tokens);
        // Scores are those of all tokens, and change nothing else.
        ask.score_prompt = true;
        QCOMPARE(answer({{Role::kUser, "What is an expert?"}}).reused_tokens, 0);
        ask.score_prompt = false;
        QVERIFY(answer(second).reused_tokens > b2.prompt_tokens);
        session.reset_conversation();
        QCOMPARE(session.snapshot().kept_prefixes, 0);
        KvPool& pool = session.model()->kv().pool(0);
        QCOMPARE(pool.n_free(), pool.n_blocks());
    }
};

QTEST_GUILESS_MAIN(TestPrefixStore)
#include "tst_prefix_store.moc"
