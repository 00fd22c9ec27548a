// Layers with a window keep only that: no result changes, whatever was released, and the
// memory is really available to others.

#include <algorithm>
#include <random>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/loaded_model.h"
#include "engine/run/local_session.h"
#include "engine/run/replanner.h"
#include "engine/text/sentencepiece_writer.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/replan_play.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Layer 0 sees 100 tokens, layer 1 all. Few experts, which take most of the time.
constexpr const char* kMixed = "synthetic:fine?layers=2&window=100&active=2";
constexpr int kPlans = kSanitized ? 15 : 100;

std::vector<TokenId> someText(std::int64_t n) {
    std::vector<TokenId> tokens;
    for (std::int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<TokenId>(3 + i * i * 7 % 45));
    return tokens;
}

LoadRequest requestFor(const std::string& model, const char* device) {
    LoadRequest request;
    request.checks_costs = false;
    request.model = model;
    request.device = device;
    request.compute = ComputeMode::kF32;
    request.context = 512;
    request.n_threads = 1;
    request.learn_placement = false;
    return request;
}

std::unique_ptr<LoadedModel> open(const LoadRequest& request) {
    return std::make_unique<LoadedModel>(keepCosts(request), LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                         std::stop_token{});
}

std::uint64_t kvBytes(LoadedModel& model) {
    return model.device().memory().usage().by_use[static_cast<std::size_t>(MemoryUse::kKvCache)];
}

}  // namespace

class TestKvWindow : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

  private Q_SLOTS:
    void initTestCase() { qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); }

    // Within one step nothing is freed.
    void textInSteps_isThatOfOneStep_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        for (const char* const device : {"cpu", "emulated:rtx-3060"}) {
            for (const char* const model : {"qwen3_moe_window_f32", "sliding_window_f16", "qwen3_5_moe_bf16",
                                            "qwen3_5_moe_odd_f32", "gemma4_bf16", "deepseek_v4_fp4", kMixed}) {
                QTest::addRow("%s, %s", model, device) << QString(model) << QString(device);
            }
        }
    }
    void textInSteps_isThatOfOneStep() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        const bool is_synthetic = model.startsWith(QStringLiteral("synthetic"));
        const auto loaded = open(requestFor(is_synthetic ? model.toStdString() : tinyModel(model), qPrintable(device)));
        const std::vector<TokenId> text = someText(is_synthetic ? 240 : 330);
        const auto read = [&](std::size_t max_step) {
            std::vector<float> logits;
            KvSequence sequence = loaded->new_sequence();
            for (std::span<const TokenId> left(text); !left.empty();) {
                const Segment segment{&sequence, left.first(std::min(max_step, left.size()))};
                if (loaded->forward().step({&segment, 1}, Forward::Logits::kLast, {}, std::ssize(text)) !=
                    Forward::Outcome::kDone) {
                    return std::vector<float>();
                }
                left = left.subspan(segment.tokens.size());
                logits.assign(loaded->forward().logits().begin(), loaded->forward().logits().end());
            }
            return logits;
        };
        const std::vector<float> expected = read(text.size());
        QVERIFY(!expected.empty());
        for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{150}}) {
            if (is_synthetic && step < 64) continue;  // reads much; the plans below take single tokens
            QVERIFY2(read(step) == expected, qPrintable(QString::number(step)));
        }
    }

    void windowedLayers_keepTheWindowAlone() {
        LoadRequest request = requestFor(kMixed, "emulated:rtx-3060");
        request.context = 4096;
        const auto model = open(request);
        request.model = "synthetic:fine?layers=2";
        const auto whole = open(request);
        const KvLayout layout = kv_layout_of(model->spec(), request.kv);
        QCOMPARE(layout.groups.size(), std::size_t{2});
        QCOMPARE(layout.groups[0].window, 100);
        QCOMPARE(layout.layers[1].group, std::size_t{1});
        // 64 blocks of a layer and 17 spare ones, or two windows of up to 3 blocks, 17
        // and those of a step.
        const auto block = static_cast<std::uint64_t>(layout.groups[0].shape.block_bytes());
        const auto of_step = static_cast<std::uint64_t>(kv_blocks_for(model->plan().max_step));
        QCOMPARE(kvBytes(*whole), 2 * (64 + 17) * block);
        QCOMPARE(kvBytes(*model), (64 + 17 + 2 * 3 + 17 + of_step) * block);
        QCOMPARE(model->plan().kv_bytes, (64 + 2 * 3) * block);
        KvSequence sequence = model->new_sequence();
        const std::vector<TokenId> text = someText(1000);
        for (std::span<const TokenId> left(text); !left.empty(); left = left.subspan(50)) {
            const Segment segment{&sequence, left.first(50)};
            QCOMPARE(model->forward().step({&segment, 1}, Forward::Logits::kNone, {}), Forward::Outcome::kDone);
        }
        // A window of 100, and the 8 tokens before it.
        QCOMPARE(sequence.table(0).blocks.size(), std::size_t{3});
        QCOMPARE(model->kv().pool(0).n_blocks() - model->kv().pool(0).n_free(), 3);
        QCOMPARE(sequence.table(1).blocks.size(), std::size_t{16});
    }

    // A hundred plans: contexts, budgets and places of the cache, some with blocks of
    // both groups in RAM.
    void plansMoveAHundredTimes_outputStays() {
        LoadRequest request = requestFor(kMixed, "emulated:rtx-3060");
        request.kv = KvType::kF32;
        request.context = 2048;
        const auto undisturbed = open(request), disturbed = open(request);
        Replanner replanner(*disturbed);
        KvSequence left = undisturbed->new_sequence(), right = disturbed->new_sequence();
        replanner.set_tokens_in_use([&] { return right.size(); });
        const Plan plan = disturbed->plan();
        const std::uint64_t fixed =  // with the shortest steps
            plan.dense_bytes + plan.workspace_bytes -
            static_cast<std::uint64_t>(plan.max_step - kSmallestStep) * disturbed->demand().workspace_bytes_per_token;
        const std::vector<TokenId> text = someText(1400);  // more than the spare blocks hold
        for (std::span<const TokenId> rest(text); !rest.empty(); rest = rest.subspan(200)) {
            for (const auto& [model, sequence] : {std::pair{&undisturbed, &left}, {&disturbed, &right}}) {
                const Segment segment{sequence, rest.first(200)};
                QCOMPARE((*model)->forward().step({&segment, 1}, Forward::Logits::kNone, {}), Forward::Outcome::kDone);
            }
        }
        std::vector<TokenId> next = {7};
        std::mt19937 random(5);
        std::int64_t n_in_host = 0, n_of_window_in_host = 0, n_moved = 0;
        for (int token = 0; token < kPlans; ++token) {
            ReplanRequest replan;
            replan.context = right.size() + 1 + static_cast<std::int64_t>(random() % 1000);
            replan.vram_bytes = fixed + random() % (token % 2 == 0 ? plan.kv_bytes : plan.kv_bytes + plan.expert_bytes);
            try {
                begin_replan(replanner, static_cast<std::uint64_t>(token) + 1, replan, token);
                replanner.finish({});
                n_moved += replanner.reports().back().state == ReplanState::kDone;
                right.set_capacity(disturbed->plan().context);
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
            }
            n_in_host += disturbed->kv().n_held_in_host() > 0;
            n_of_window_in_host += disturbed->kv().pool(0).n_held_in_host() > 0;
            const auto step = [&](LoadedModel& model, KvSequence& sequence) {
                const Segment segment{&sequence, next};
                return model.forward().step({&segment, 1}, Forward::Logits::kLast, {});
            };
            QCOMPARE(step(*undisturbed, left), Forward::Outcome::kDone);
            QCOMPARE(step(*disturbed, right), Forward::Outcome::kDone);
            const auto expected = undisturbed->forward().logits(), got = disturbed->forward().logits();
            QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end()),
                     qPrintable(QString::number(token)));
            next = {static_cast<TokenId>(std::max_element(expected.begin(), expected.end()) - expected.begin())};
            const std::vector<KvRoom> rooms = disturbed->demand().kv_rooms(disturbed->plan());
            for (std::size_t g = 0; g < rooms.size(); ++g) QVERIFY(disturbed->kv().pool(g).room() == rooms[g]);
        }
        QVERIFY2(n_moved > kPlans / 2, qPrintable(QString::number(n_moved)));
        QVERIFY2(n_in_host > 0, qPrintable(QString::number(n_in_host)));
        QVERIFY2(n_of_window_in_host < n_in_host, qPrintable(QString::number(n_of_window_in_host)));
    }

    // ---- a session whose model sees 60 tokens

    // Each answer equals that of a session that reads its prompt again.
    void turnsEditsAndStops_answerAsANewSession_data() {
        QTest::addColumn<QString>("device");
        if (!kSanitized) QTest::newRow("CPU") << QStringLiteral("cpu");
        QTest::newRow("emulated") << QStringLiteral("emulated:rtx-3060");
    }
    void turnsEditsAndStops_answerAsANewSession() {
        QFETCH(QString, device);
        LoadRequest request = requestFor(windowedDemo(), qPrintable(device));
        request.kv = KvType::kF32;
        request.context = 1024;
        keepCosts(request);
        keepCosts(request);
        LocalSession session, anew;
        session.load(request, {}, {});
        anew.load(request, {}, {});
        GenerationRequest ask;
        ask.sampler.temperature = 0;
        ask.max_tokens = 120;
        ask.ignore_end = true;
        const auto answer = [&](std::int64_t* reused, std::int64_t* n_prompt = nullptr) {
            const GenerationResult got = session.generate(ask, {}, {});
            anew.reset_conversation();
            const GenerationResult expected = anew.generate(ask, {}, {});
            if (reused != nullptr) *reused = got.reused_tokens;
            if (n_prompt != nullptr) *n_prompt = got.prompt_tokens;
            QTest::qVerify(got.tokens == expected.tokens && got.tokens.size() == 120, "tokens", "", __FILE__, __LINE__);
            return got;
        };
        std::string story;
        for (int i = 0; i < 12; ++i) story += "Once upon a time a fox went to the river and met an old bear. ";
        ask.messages = {{Role::kUser, story}};
        std::int64_t reused = 0, n_prompt = 0, first_prompt = 0;
        GenerationResult last = answer(&reused, &first_prompt);
        QVERIFY(first_prompt > 150);
        QCOMPARE(reused, 0);

        for (int i = 0; i < 2; ++i) {  // regenerate, twice
            last = answer(&reused);
            QCOMPARE(reused, first_prompt - 1);
        }
        ask.messages.push_back({Role::kAssistant, last.text});
        ask.messages.push_back({Role::kUser, "And then? " + story});
        last = answer(&reused, &n_prompt);  // the next turn
        QVERIFY(reused > first_prompt - 1 && n_prompt > 2 * first_prompt);
        last = answer(&reused);
        QCOMPARE(reused, n_prompt - 1);

        ask.messages.back().content = "Why? " + story;  // edited: the first prompt's end is still known
        answer(&reused);
        QVERIFY2(reused >= first_prompt - 1, qPrintable(QString::number(reused)));
        ask.messages = {{Role::kUser, "No. " + story}};  // nothing is known
        answer(&reused);
        QCOMPARE(reused, 0);

        // Stopped in the middle, regenerated, and gone on with.
        std::stop_source stop;
        const TextDeltaFn stops = [&](const TextDelta& delta) {
            if (delta.n_tokens == 70) stop.request_stop();
        };
        const GenerationResult stopped = session.generate(ask, stops, stop.get_token());
        QVERIFY(stopped.finish == FinishReason::kStopped && !stopped.text.empty());
        answer(&reused);
        QVERIFY(reused > 100);
        ask.messages.push_back({Role::kAssistant, stopped.text});
        ask.continue_last = true;
        answer(nullptr);
        ask.continue_last = false;
        ask.messages.pop_back();

        // Beams share the part before their windows' first blocks.
        ask.beam.width = 4;
        answer(nullptr);
        QCOMPARE(session.model()->kv().pool(0).n_held_in_host(), 0);
        session.reset_conversation();
        QCOMPARE(session.model()->kv().pool(0).n_free(), session.model()->kv().pool(0).n_blocks());
    }

    // States cannot go back token by token: every prompt leaves one 8 tokens before its
    // end.
    void turnsEditsAndStops_withStates_answerAsANewSession_data() { turnsEditsAndStops_answerAsANewSession_data(); }
    void turnsEditsAndStops_withStates_answerAsANewSession() {
        QFETCH(QString, device);
        LoadRequest request = requestFor(deltaNetChat(), qPrintable(device));
        request.kv = KvType::kF32;
        request.context = 1024;
        LocalSession session, anew;
        session.load(request, {}, {});
        anew.load(request, {}, {});
        GenerationRequest ask;
        ask.sampler.temperature = 0;
        ask.max_tokens = 40;
        ask.ignore_end = true;
        std::int64_t reused = 0, n_prompt = 0;
        const auto answer = [&] {
            const GenerationResult got = session.generate(ask, {}, {});
            anew.reset_conversation();
            const GenerationResult expected = anew.generate(ask, {}, {});
            reused = got.reused_tokens;
            n_prompt = got.prompt_tokens;
            QTest::qVerify(got.tokens == expected.tokens && got.tokens.size() == 40, "tokens", "", __FILE__, __LINE__);
            return got;
        };
        std::string story;
        for (int i = 0; i < 3; ++i) story += "a fox went to the river and met an old bear. ";
        ask.messages = {{Role::kUser, story}};
        GenerationResult last = answer();
        const std::int64_t first_prompt = n_prompt;
        QVERIFY(first_prompt > 120);
        QCOMPARE(reused, 0);
        for (int i = 0; i < 2; ++i) {  // regenerate, twice
            last = answer();
            QCOMPARE(reused, first_prompt - 8);
        }
        ask.messages.push_back({Role::kAssistant, last.text});
        ask.messages.push_back({Role::kUser, "and then? " + story});
        answer();  // the next turn
        QVERIFY(reused >= first_prompt - 8 && n_prompt > 2 * first_prompt);
        answer();
        QCOMPARE(reused, n_prompt - 8);
        ask.messages.back().content = "why? " + story;  // edited: the first prompt's end is still known
        answer();
        QVERIFY2(reused >= first_prompt - 8 && reused < n_prompt - 100, qPrintable(QString::number(reused)));
        ask.messages = {{Role::kUser, "no. " + story}};
        answer();
        QCOMPARE(reused, 0);

        // Stopped in the middle, and repeated.
        std::stop_source stop;
        const TextDeltaFn stops = [&](const TextDelta& delta) {
            if (delta.n_tokens == 20) stop.request_stop();
        };
        QVERIFY(session.generate(ask, stops, stop.get_token()).finish == FinishReason::kStopped);
        answer();
        QCOMPARE(reused, n_prompt - 8);

        // Beams have a state each, and give it back afterwards.
        KvPool& states = session.model()->kv().pool(0);
        QVERIFY(states.is_state());
        const std::int64_t planned = states.n_blocks();
        QCOMPARE(planned, kStateBlocks + kMostOtherSequences);
        ask.beam.width = 4;
        answer();
        QVERIFY(states.n_blocks() >= planned);
        session.reset_conversation();
        QCOMPARE(states.n_free(), states.n_blocks());
        session.model()->kv().resize(session.model()->demand().kv_rooms(session.model()->plan()));
        QCOMPARE(states.n_blocks(), planned);
    }

    // Random actions of a user: sequences part, end and go back, and every state comes
    // back with them.
    void statesOfForksAndCheckpoints_areGivenBack() {
        const auto model = open(requestFor(tinyModel(QStringLiteral("qwen3_5_moe_odd_f32")), "cpu"));
        KvCache& cache = model->kv();
        const std::size_t group = cache.pool(0).is_state() ? 0 : 1;
        std::mt19937 random(3);
        std::vector<KvSequence> live;
        live.push_back(model->new_sequence());
        for (int i = 0; i < 1000; ++i) {
            const std::size_t which = random() % live.size();
            KvSequence& one = live[which];
            switch (random() % 6) {
                case 0:
                    if (live.size() < 6) live.push_back(one.fork());
                    break;
                case 1: {
                    const std::int64_t size = one.size(),
                                       to = std::max<std::int64_t>(0, size - static_cast<std::int64_t>(random() % 9));
                    const std::int64_t got = one.truncate(to);
                    QVERIFY(got == size || (got <= to && one.table(group).blocks.empty() == (got == 0)));
                    break;
                }
                case 2:
                    if (live.size() > 1) live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
                    break;
                case 3:
                    if (one.size() > 0) one.checkpoint();
                    break;
                default: {
                    const auto n = static_cast<std::int64_t>(1 + random() % 9);
                    QVERIFY(one.size() + n > one.capacity() || one.prepare(n, model->device()));
                    if (one.size() + n <= one.capacity() && random() % 4 != 0) one.commit(n);
                }
            }
        }
        live.clear();
        for (const std::size_t g : {0, 1}) QCOMPARE(cache.pool(g).n_free(), cache.pool(g).n_blocks());
    }

  private:
    // A model with DeltaNet layers that reads and writes small letters.
    std::string deltaNetChat() {
        const QString folder = m_folder.filePath(QStringLiteral("delta-net-chat"));
        if (QDir(folder).exists()) return folder.toStdString();
        QDir().mkpath(folder);
        const QDir tiny(QString::fromStdString(tinyModel(QStringLiteral("qwen3_5_moe_bf16"))));
        for (const QString& name : {QStringLiteral("config.json"), QStringLiteral("model.safetensors")}) {
            QFile::link(tiny.filePath(name), folder + QLatin1Char('/') + name);
        }
        const auto write = [&](const char* name, const std::string& text) {
            QFile file(folder + QLatin1Char('/') + QLatin1String(name));
            if (file.open(QIODevice::WriteOnly)) file.write(text.data(), static_cast<qint64>(text.size()));
        };
        std::vector<std::string> texts = {"<unk>", "<s>", "</s>", "\u2581"};
        for (const char letter : std::string("abcdefghijklmnopqrstuvwxyz.,?!0123456789ABCD"))
            texts.emplace_back(1, letter);
        std::vector<SentencePiece> pieces;
        for (const std::string& text : texts) {
            pieces.push_back({text, -static_cast<float>(pieces.size()),
                              pieces.empty()      ? 2u
                              : pieces.size() < 3 ? 3u
                                                  : 1u});
        }
        write("tokenizer.model", write_sentencepiece(pieces, false));
        write(
            "tokenizer_config.json",
            R"({"chat_template": "{% for m in messages %}{{ 'A ' if m.role == 'user' else 'B ' }}{{ m.content }}{% endfor %})"
            R"({% if add_generation_prompt %}{{ 'B ' }}{% endif %}"})");
        return folder.toStdString();
    }

    // The demo model with a sliding window of 60 tokens in all layers.
    std::string windowedDemo() {
        const QString folder = m_folder.filePath(QStringLiteral("windowed-demo"));
        if (QDir(folder).exists()) return folder.toStdString();
        QDir().mkpath(folder);
        const QDir demo(QString::fromStdString(demoModel()));
        for (const QString& name : demo.entryList(QDir::Files)) {
            if (name != QStringLiteral("config.json"))
                QFile::link(demo.filePath(name), folder + QLatin1Char('/') + name);
        }
        QFile config(demo.filePath(QStringLiteral("config.json")));
        QFile changed(folder + QStringLiteral("/config.json"));
        if (!config.open(QIODevice::ReadOnly) || !changed.open(QIODevice::WriteOnly)) return {};
        changed.write(config.readAll().replace("\"sliding_window\": null", "\"sliding_window\": 60"));
        return folder.toStdString();
    }
};

QTEST_GUILESS_MAIN(TestKvWindow)
#include "tst_kv_window.moc"
