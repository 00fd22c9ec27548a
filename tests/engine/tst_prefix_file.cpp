// A conversation's keys and values on disk: a later program answers bit by bit as if it
// had read the conversation from its beginning, and reads only what is new.

#include <filesystem>
#include <fstream>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/run/conversation_cache.h"
#include "engine/run/local_session.h"
#include "tests/engine/greedy_reader.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace fs = std::filesystem;

namespace {

// A program with a loaded model.
struct Program : GreedyReader {
    explicit Program(const LoadRequest& request) : GreedyReader(request) {
        conversation.open(model);
        running = conversation.run();
    }
    KvSequence& sequence() override { return running->sequence; }
    void wasRead(const Segment& segment) override { conversation.add_step({&segment, 1}, model.forward().routing()); }

    GreedyAnswer answer(const Tokens& prompt, int n_tokens, const std::string& kept_in = {}) {
        return continued(prompt, conversation.begin(*running, prompt, kept_in, reading, {}), n_tokens);
    }
    void keep(const std::string& name, std::uint64_t most_bytes = 0) {
        conversation.keep(sequence(), name, most_bytes);
        while (conversation.write_piece()) {
        }
    }

    ConversationCache conversation;
    ConversationCache::Running running;
    PromptReading reading;
};

bool isAsReadWhole(const LoadRequest& request, const Tokens& prompt, const GreedyAnswer& got) {
    Program fresh(request);
    const GreedyAnswer expected = fresh.answer(prompt, static_cast<int>(got.tokens.size()));
    return expected.reused == 0 && got.isLike(expected);
}

std::string contentOf(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void put(const std::string& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
}

}  // namespace

class TestPrefixFile : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_n = 0;

    // Of a conversation that may be kept.
    std::string newName() {
        const QString folder = m_folder.filePath(QString::number(++m_n));
        QDir().mkpath(folder);
        std::string name = folder.toStdString() + "/talk";
        QTest::qVerify(PrefixFile::prepare(name).empty(), "prepared", "", __FILE__, __LINE__);
        return name;
    }

  private Q_SLOTS:
    void initTestCase() { qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); }

    void startedAgain_answersAreTheSameBits_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        QTest::addColumn<bool>("int8");
        // Full attention, windows with whole layers, only windows, states of DeltaNet,
        // Mamba-2 and short convolutions with whole layers, MLA, pooled keys.
        for (const char* const model :
             {"olmoe_bf16", "gpt_oss_bf16", "gemma4_odd_f32", "qwen3_moe_window_f32", "qwen3_5_moe_bf16",
              "qwen3_5_moe_odd_f32", "granite_hybrid_bf16", "lfm2_moe_odd_f32", "deepseek_v3_plain_f32",
              "glm_moe_dsa_bf16", "deepseek_v4_odd_f32"}) {
            QTest::addRow("%s", model) << QString(model) << QStringLiteral("cpu") << false;
        }
        for (const char* const model : {"olmoe_bf16", "gemma4_odd_f32", "qwen3_5_moe_odd_f32", "granite_hybrid_bf16"})
            QTest::addRow("%s, emulated", model) << QString(model) << QString(kEmulatedCard) << false;
        for (const char* const model : {"olmoe_bf16", "gpt_oss_bf16"})
            QTest::addRow("%s, int8", model) << QString(model) << QStringLiteral("cpu") << true;
    }
    void startedAgain_answersAreTheSameBits() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        QFETCH(bool, int8);
        LoadRequest request = requestFor(model, device);
        if (int8) request.kv = KvType::kInt8;
        const std::string name = newName();
        Tokens talk = someText(230, 1);
        std::int64_t held = 0, prompt = 0;
        for (int turn = 0; turn < 3; ++turn) {
            Program program(request);
            const GreedyAnswer got = program.answer(talk, 5, name);
            QCOMPARE(got.reused, held);
            QVERIFY(isAsReadWhole(request, talk, got));
            QVERIFY(program.conversation.take_file_problem().empty());
            program.keep(name);
            prompt = std::ssize(talk);
            held = std::ssize(got.whole);
            talk = joined(got.whole, someText(70, 10 + turn));
        }
        // The last answer made again, and the last prompt with another end.
        for (const int changed : {0, 5}) {
            Tokens again(talk.begin(), talk.begin() + prompt - changed);
            again = joined(again, someText(changed, 50));
            Program program(request);
            const GreedyAnswer got = program.answer(again, 3, name);
            QVERIFY2(got.reused >= prompt - 8, qPrintable(QString::number(got.reused)));
            QVERIFY(isAsReadWhole(request, again, got));
        }
        // An edit far above: of groups that keep everything the beginning is read.
        const Tokens edited = joined(Tokens(talk.begin(), talk.begin() + 150), someText(40, 60));
        Program program(request);
        const GreedyAnswer got = program.answer(edited, 3, name);
        QCOMPARE(got.reused, program.model.kv().keeps_all() ? 150 : 0);
        QVERIFY(isAsReadWhole(request, edited, got));
        program.keep(name);  // another branch replaces the one before
        Program last(request);
        const Tokens next = joined(got.whole, someText(9, 61));
        const GreedyAnswer answer = last.answer(next, 3, name);
        QCOMPARE(answer.reused, std::ssize(got.whole));
        QVERIFY(isAsReadWhole(request, next, answer));
    }

    void fewDeviceBlocks_theRestIsReadToRam() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"), QString(kEmulatedCard));
        const std::string name = newName();
        Program first(request);
        const Tokens talk = first.answer(someText(300, 1), 5).whole;
        first.keep(name);
        Program program(request);
        KvPool& pool = program.model.kv().pool(0);
        pool.resize({2, pool.n_blocks() - 2});
        // All blocks are those of other conversations.
        for (int c = 0; c < 6; ++c) program.answer(someText(316, 100 + c), 4);
        QCOMPARE(pool.n_free(), 0);
        const Tokens next = joined(talk, someText(20, 2));
        const GreedyAnswer got = program.answer(next, 4, name);
        QCOMPARE(got.reused, std::ssize(talk));
        QVERIFY(pool.n_held_in_host() > 0);
        QVERIFY(isAsReadWhole(request, next, got));
    }

    void shortTalks_andThoseInTheCache_areNotReadFromDisk() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program program(request);
        const Tokens talk = program.answer(someText(200, 1), 5).whole;
        program.keep(name);
        fs::resize_file(name + ".kv", 0);  // reading it would fail
        const Tokens next = joined(talk, someText(20, 2));
        QCOMPARE(program.answer(next, 3, name).reused, std::ssize(talk));
        QVERIFY(program.conversation.take_file_problem().empty());
        Program other(request);
        QCOMPARE(other.answer(Tokens(talk.begin(), talk.begin() + 60), 3, name).reused, 0);
        QVERIFY(other.conversation.take_file_problem().empty());
        QCOMPARE(other.answer(next, 3, name).reused, 60);
        QVERIFY(!other.conversation.take_file_problem().empty());
    }

    // ---- what does not belong to it

    void anotherModelTypeOrBuild_isNotRead() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program program(request);
        const Tokens talk = program.answer(someText(200, 1), 5).whole;
        program.keep(name);
        const Tokens next = joined(talk, someText(20, 2));
        LoadRequest int8 = request, theta = request;
        int8.kv = KvType::kInt8;
        theta.theta = 0.01;
        for (const LoadRequest& other : {requestFor(QStringLiteral("qwen3_moe_bf16")), int8, theta,
                                         requestFor(QStringLiteral("olmoe_bf16"), QString(kEmulatedCard))}) {
            Program one(other);
            QCOMPARE(one.answer(next, 2, name).reused, 0);
            QVERIFY(one.conversation.take_file_problem().empty());
        }
        LoadRequest demo = request, formats;
        demo.model = demoModel();
        formats = demo;
        formats.quant.experts = FormatId::kHqq4;
        const std::string of_demo = newName();
        Program whole_bits(demo);
        whole_bits.answer(talk, 0);
        whole_bits.keep(of_demo);
        Program fewer_bits(formats), as_many(demo);
        QCOMPARE(fewer_bits.answer(next, 2, of_demo).reused, 0);
        QCOMPARE(as_many.answer(next, 2, of_demo).reused, std::ssize(talk));
        Program same(request);
        PrefixFile file;
        file.open(same.model);
        QVERIFY(file.find(name, next, 200).has_value());
        file.close();
        file.open(same.model, "another build");
        QVERIFY(!file.find(name, next, 1).has_value());
    }

    void damagedFiles_areRemoved_andChangeNoAnswer_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"olmoe_bf16", "gpt_oss_bf16", "qwen3_5_moe_odd_f32"})
            QTest::newRow(model) << QString(model);
    }
    void damagedFiles_areRemoved_andChangeNoAnswer() {
        QFETCH(QString, model);
        const LoadRequest request = requestFor(model);
        const std::string name = newName();
        Program first(request);
        const Tokens talk = first.answer(someText(200, 1), 5).whole;
        first.keep(name);
        const Tokens next = joined(talk, someText(20, 2));
        Program fresh(request);
        const GreedyAnswer expected = fresh.answer(next, 2);
        const std::string blocks = contentOf(name + ".kv"), end = contentOf(name + ".end");
        Program program(request);
        std::mt19937 random(5);
        for (int i = 0; i < 200; ++i) {
            std::string bad_blocks = blocks, bad_end = end;
            std::string& bad = i % 2 == 0 ? bad_end : bad_blocks;
            const std::size_t at = random() % bad.size();
            if (i % 3 == 0) {
                bad.resize(at);
            } else {
                bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
            }
            put(name + ".kv", bad_blocks);
            put(name + ".end", bad_end);
            program.conversation.reset();
            const GreedyAnswer got = program.answer(next, 2, name);
            QVERIFY2(got.reused == 0 && got.logits == expected.logits, qPrintable(QString::number(i)));
            QVERIFY(!program.conversation.take_file_problem().empty());
            QVERIFY(!fs::exists(name + ".end") && fs::file_size(name + ".kv") == 0);
        }
        put(name + ".kv", blocks);
        put(name + ".end", end);
        program.conversation.reset();
        QCOMPARE(program.answer(next, 2, name).reused, std::ssize(talk));
    }

    void stop_isObeyed() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program first(request);
        const Tokens talk = first.answer(someText(200, 1), 5).whole;
        first.keep(name);
        Program program(request);
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(program.conversation.begin(*program.running, talk, name, program.reading, stop.get_token()), 0);
        QCOMPARE(program.model.kv().pool(0).n_free(), program.model.kv().pool(0).n_blocks());
        QCOMPARE(program.answer(joined(talk, {1}), 1, name).reused, std::ssize(talk));
    }

    // ---- writing

    void grownConversation_writesOnlyItsNewBlocks() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program program(request);
        const Tokens talk = program.answer(someText(200, 1), 5).whole;
        program.keep(name);
        std::string blocks = contentOf(name + ".kv");
        const auto block = static_cast<std::size_t>(program.model.kv().pool(0).shape().block_bytes());
        QCOMPARE(blocks.size(), 4 * block);
        blocks[0] = static_cast<char>(~blocks[0]);
        put(name + ".kv", blocks);
        program.answer(joined(talk, someText(70, 2)), 3);
        program.keep(name);
        const std::string grown = contentOf(name + ".kv");
        QCOMPARE(grown.size(), 5 * block);
        QVERIFY(grown.compare(0, 3 * block, blocks, 0, 3 * block) == 0);
    }

    void closedInBetween_whatIsCompleteIsKept() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program program(request);
        const Tokens talk = program.answer(someText(300, 1), 5).whole;
        {
            PrefixFile file;
            file.open(program.model);
            file.begin_write(name, 0, program.sequence());
            QVERIFY(file.write_piece(1) && file.write_piece(1));
            QVERIFY(!fs::exists(name + ".end"));
        }
        QVERIFY(fs::exists(name + ".end"));
        Program other(request);
        const Tokens next = joined(talk, someText(20, 2));
        const GreedyAnswer got = other.answer(next, 3, name);
        QCOMPARE(got.reused, 128);
        QVERIFY(isAsReadWhole(request, next, got));
        other.keep(name);
        Program last(request);
        QCOMPARE(last.answer(joined(got.whole, {1}), 1, name).reused, std::ssize(got.whole));
    }

    void shortRoom_whatIsStillToBeWrittenGivesWay() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program program(request);
        KvPool& pool = program.model.kv().pool(0);
        pool.resize({8, 0});
        program.answer(someText(316, 1), 2);
        program.conversation.keep(program.sequence(), name, 0);
        const Tokens longer = someText(500, 2);
        const GreedyAnswer got = program.answer(longer, 4);
        QVERIFY(isAsReadWhole(request, longer, got));
        QVERIFY(!program.conversation.write_piece());
        QVERIFY(!fs::exists(name + ".end"));
        program.keep(name);
        QVERIFY(fs::exists(name + ".end"));
    }

    void removedConversation_isNotWritten() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        Program program(request);
        program.answer(someText(300, 1), 5);
        program.conversation.keep(program.sequence(), name, 0);
        fs::remove(name + ".kv");
        while (program.conversation.write_piece()) {
        }
        QVERIFY(!fs::exists(name + ".end") && !fs::exists(name + ".kv"));
        program.keep(name);  // removed before
        QVERIFY(!fs::exists(name + ".end") && !fs::exists(name + ".kv"));
    }

    void fullDisk_theConversationGoesOn() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string name = newName();
        fs::remove(name + ".kv");
        fs::create_symlink("/dev/full", name + ".kv");
        Program program(request);
        const Tokens talk = program.answer(someText(300, 1), 5, name).whole;
        program.keep(name);
        QVERIFY(program.conversation.take_file_problem().english().find("No space left") != std::string::npos);
        QVERIFY(!fs::exists(name + ".end"));
        QCOMPARE(program.answer(joined(talk, {1}), 2, name).reused, std::ssize(talk));
    }

    void folder_staysWithinItsSize() {
        const LoadRequest request = requestFor(QStringLiteral("olmoe_bf16"));
        const std::string first = newName();
        const auto name = [&](int i) { return first + std::to_string(i); };
        Program program(request);
        const auto block = static_cast<std::uint64_t>(program.model.kv().pool(0).shape().block_bytes());
        const std::uint64_t most = 10 * block;  // each has four
        const std::string deleted = first + "-deleted";
        std::ofstream(deleted + ".end") << "index";
        for (int i = 0; i < 3; ++i) {
            QVERIFY(PrefixFile::prepare(name(i)).empty());
            if (i == 2) {  // used later than the other one
                Program other(request);
                QVERIFY(other.answer(joined(someText(200, 0), {1}), 1, name(0)).reused > 0);
            }
            program.answer(someText(200, i), 5);
            program.keep(name(i), most);
        }
        QVERIFY(fs::exists(name(0) + ".end") && fs::exists(name(2) + ".end"));
        QVERIFY(!fs::exists(name(1) + ".end") && !fs::exists(name(1) + ".kv"));
        QVERIFY(!fs::exists(deleted + ".end"));
        // One that is larger than all of it.
        program.keep(name(0), 2 * block);
        QVERIFY(fs::exists(name(2) + ".end"));
    }

    // ---- a session

    void session_keepsItsConversation_behindOtherRequests() {
        const std::string name = newName();
        LoadRequest request;
        request.model = demoModel();
        request.context = 1024;
        request.n_threads = 1;
        GenerationRequest ask;
        ask.sampler.temperature = 0;
        ask.max_tokens = 6;
        std::string text = "What is an expert?";
        for (int i = 0; i < 40; ++i) text += " And what is a router?";
        ask.messages = {{Role::kUser, text}};
        ask.kept_in = name;
        GenerationRequest title;
        title.messages = {{Role::kUser, "Give it a title."}};
        title.max_tokens = 4;
        GenerationResult first;
        {
            LocalSession session;
            session.load(request, {}, {});
            first = session.generate(ask, {}, {});
            QCOMPARE(first.reused_tokens, 0);
            session.generate(title, {}, {});  // before anything is written
            session.advance({});
        }
        QVERIFY(fs::file_size(name + ".kv") > 0);
        ask.messages.push_back({Role::kAssistant, first.text});
        ask.messages.push_back({Role::kUser, "Thanks."});
        LocalSession session, fresh;
        session.load(request, {}, {});
        fresh.load(request, {}, {});
        const GenerationResult got = session.generate(ask, {}, {});
        QVERIFY2(got.reused_tokens >= first.prompt_tokens, qPrintable(QString::number(got.reused_tokens)));
        ask.kept_in.clear();
        const GenerationResult expected = fresh.generate(ask, {}, {});
        QCOMPARE(expected.reused_tokens, 0);
        QVERIFY(got.tokens == expected.tokens);
    }
};

QTEST_GUILESS_MAIN(TestPrefixFile)
#include "tst_prefix_file.moc"
