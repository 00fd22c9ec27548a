// The session façade on the demo model: streaming, stop, reuse of the KV cache, errors
// that leave it usable.

#include <filesystem>
#include <map>
#include <thread>

#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/session.h"
#include "engine/text/tokenizer.h"
#include "kernels/formats.h"
#include "kernels/short_turns.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

GenerationRequest ask(const std::string& text, int max_tokens = 0) {
    GenerationRequest request;
    request.messages = {{Role::kUser, text}};
    request.sampler.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

QString messageOf(const std::function<void()>& call, ErrorKind kind) {
    try {
        call();
    } catch (const Error& error) {
        return error.kind() == kind ? QString::fromUtf8(error.what()) : QStringLiteral("another kind of error");
    }
    return QStringLiteral("no error");
}

}  // namespace

class TestSession : public QObject {
    Q_OBJECT

    std::unique_ptr<Session> m_session;

    void load(ComputeMode compute = ComputeMode::kF32, std::int64_t context = 0) {
        LoadRequest request;
        request.model = demoModel();
        request.compute = compute;
        request.context = context;
        m_session->load(request, {}, {});
    }

  private Q_SLOTS:
    void init() {
        m_session = Session::create();
        load();
    }

    // Experts on disk are quantized during an answer: the answer has a note on those that
    // could not be stored.
    void expertsNotKept_areNotedWithTheAnswer() {
        const QTemporaryDir folder;
        QFile file(folder.filePath("file"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.context = 256;
        request.kv = KvType::kF32;
        request.ram_bytes = std::uint64_t{14} << 20;
        request.quant.experts = offstage::kernels::WeightType::kHqq4;
        request.quant_cache_directory = folder.filePath("file/quantized").toStdString();
        const ModelSummary model = m_session->load(request, {}, {});
        QVERIFY(model.ram_experts < model.total_experts);
        QCOMPARE(model.n_early_notes, std::size_t{0});  // progress was not requested
        GenerationRequest asked;
        asked.messages = {{Role::kUser, "Hi"}};
        asked.max_tokens = 4;
        const GenerationResult result = m_session->generate(asked, {}, {});
        QCOMPARE(result.notes.size(), std::size_t{1});
        QVERIFY2(result.notes[0].english().starts_with("Quantized experts could not be kept in " +
                                                       request.quant_cache_directory),
                 result.notes[0].english().c_str());
        load();
        QVERIFY(m_session->generate(asked, {}, {}).notes.empty());
    }

    // Whoever takes the text has a part in the time of a token: what a re-plan calls
    // measured is what the answer says.
    void measuredSpeed_isTheAnswersOwn() {
        GenerationRequest request = ask("Tell me a story about a fox.", 24);
        request.ignore_end = true;
        const GenerationResult result = m_session->generate(
            request, [](const TextDelta&) { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }, {});
        const ReplanPreview preview = m_session->preview({});
        QCOMPARE(preview.measured_steps, 23);
        const double share = preview.before.decode_tokens_per_s / result.decode_tokens_per_s;
        QVERIFY2(share > 0.7 && share < 1.4, qPrintable(QString::number(share)));
    }

    void load_reportsProgressAndDescribesTheModel() {
        LoadRequest request;
        request.model = demoModel();
        std::uint64_t last = 0;
        bool ended = false;
        const ModelSummary summary =
            m_session->load(request,
                            [&](const LoadProgress& progress) {
                                QVERIFY(progress.bytes_done >= last && progress.bytes_done <= progress.bytes_total);
                                QVERIFY(!progress.stage.empty());
                                last = progress.bytes_done;
                                ended = progress.bytes_done == progress.bytes_total;
                            },
                            {});
        QVERIFY(ended);
        QCOMPARE(summary.architecture, std::string("MixtralForCausalLM"));
        QVERIFY(summary.n_layers >= 8 && summary.n_experts >= 8 && summary.n_active == 2);
        QVERIFY(summary.has_tokenizer && summary.has_chat_template);
        QVERIFY(summary.weight_bytes <= 42'000'000);
    }

    // Who loads computes the steps, too.
    void load_asksForShortTurnsOfTheCore() {
        if (offstage::kernels::turn_ns() == 0)
            QSKIP("This system does not tell how long a thread's turns are (Linux before 6.12).");
        std::uint64_t turns = 0;
        std::thread([&] {
            load();
            turns = offstage::kernels::turn_ns();
        }).join();
        QCOMPARE(turns, 400'000u);
    }

    void load_cancelled_leavesNoModel_andTheNextLoadWorks() {
        std::stop_source stop;
        LoadRequest request;
        request.model = "synthetic:fine?layers=4";
        const QString text = messageOf(
            [&] {
                m_session->load(
                    request, [&](const LoadProgress&) { stop.request_stop(); }, stop.get_token());
            },
            ErrorKind::kCancelled);
        QCOMPARE(text, QStringLiteral("Loading was cancelled."));
        QVERIFY(!m_session->is_loaded());
        QCOMPARE(messageOf([&] { m_session->generate(ask("Hello"), {}, {}); }, ErrorKind::kInvalidInput),
                 QStringLiteral("No model is loaded; open one first."));
        load();
        QVERIFY(!m_session->generate(ask("Hello", 4), {}, {}).tokens.empty());
    }

    void load_failed_leavesNoModel_andTheNextLoadWorks() {
        LoadRequest request;
        request.model = "/no/such/folder";
        QVERIFY(messageOf([&] { m_session->load(request, {}, {}); }, ErrorKind::kNotFound)
                    .contains(QStringLiteral("/no/such/folder")));
        QVERIFY(!m_session->is_loaded());
        QCOMPARE(m_session->snapshot().n_layers, 0);
        load();
        QVERIFY(m_session->is_loaded());
    }

    void generate_streamsTheTextOfTheResult() {
        std::string streamed;
        std::int64_t count = 0;
        const GenerationResult result =
            m_session->generate(ask("Tell me a story about a fox.", 60),
                                [&](const TextDelta& delta) {
                                    QCOMPARE(find_invalid_utf8(delta.text), std::string::npos);
                                    if (delta.token >= 0) ++count;
                                    streamed += delta.text;
                                },
                                {});
        QCOMPARE(streamed, result.text);
        QCOMPARE(count, static_cast<std::int64_t>(result.tokens.size()));
        QVERIFY(!result.text.empty() && result.text.front() != ' ');
        QVERIFY(result.ttft_s > 0);
        QVERIFY(result.prompt_tokens > 4);
    }

    void generate_maxTokens_endsThere() {
        const GenerationResult result = m_session->generate(ask("Tell me a story about a fox.", 5), {}, {});
        QCOMPARE(result.tokens.size(), std::size_t(5));
        QCOMPARE(result.finish, FinishReason::kMaxTokens);
    }

    // An answer that would end continues for as many tokens as requested, with every
    // strategy.
    void generate_ignoreEnd_goesOnToMaxTokens_data() {
        QTest::addColumn<float>("temperature");
        QTest::addColumn<int>("answers");
        QTest::addColumn<int>("beams");
        QTest::newRow("greedy") << 0.0F << 1 << 1;
        QTest::newRow("drawn") << 1.0F << 1 << 1;
        QTest::newRow("several") << 1.0F << 3 << 1;
        QTest::newRow("beams") << 0.0F << 1 << 3;
    }
    void generate_ignoreEnd_goesOnToMaxTokens() {
        QFETCH(float, temperature);
        QFETCH(int, answers);
        QFETCH(int, beams);
        GenerationRequest request = ask("Hello");
        request.sampler.temperature = temperature;
        request.sampler.seed = 7;
        request.n_answers = answers;
        request.beam.width = beams;
        request.max_tokens = 400;
        const GenerationResult ending = m_session->generate(request, {}, {});
        QCOMPARE(ending.finish, FinishReason::kEndOfTurn);

        request.max_tokens = static_cast<int>(ending.tokens.size()) + 40;
        request.ignore_end = true;
        const GenerationResult endless = m_session->generate(request, {}, {});
        QCOMPARE(endless.finish, FinishReason::kMaxTokens);
        QCOMPARE(static_cast<int>(endless.tokens.size()), request.max_tokens);
        for (const Answer& answer : endless.answers) {
            QCOMPARE(static_cast<int>(answer.tokens.size()), request.max_tokens);
            QVERIFY(std::isfinite(answer.log_probability));
        }
        if (temperature == 0 && beams == 1) {  // the same up to its natural end
            QVERIFY(std::equal(ending.tokens.begin(), ending.tokens.end(), endless.tokens.begin()));
        }
    }

    void generate_rawTokens_cutsThePrompt() {
        GenerationRequest request;
        request.raw = true;
        for (int i = 0; i < 100; ++i) request.raw_prompt += "compile harbor ";
        request.max_tokens = 1;
        const std::int64_t whole = m_session->generate(request, {}, {}).prompt_tokens;
        QVERIFY(whole > 200);
        request.raw_tokens = 150;
        QCOMPARE(m_session->generate(request, {}, {}).prompt_tokens, 150);
        request.raw_tokens = whole + 1;  // at most
        QCOMPARE(m_session->generate(request, {}, {}).prompt_tokens, whole);
    }

    void generate_secondTurn_reusesTheCache_andAnswersAsAFreshSession() {
        GenerationRequest request = ask("What is an expert?", 40);
        const GenerationResult first = m_session->generate(request, {}, {});
        QCOMPARE(first.reused_tokens, 0);
        request.messages.push_back({Role::kAssistant, first.text});
        const ChatMessage question{Role::kUser, "What is a router?"};
        request.messages.push_back(question);
        const GenerationResult second = m_session->generate(request, {}, {});
        QVERIFY2(second.reused_tokens >= first.prompt_tokens, qPrintable(QString::number(second.reused_tokens)));

        m_session->reset_conversation();
        const GenerationResult fresh = m_session->generate(request, {}, {});
        QCOMPARE(fresh.reused_tokens, 0);
        QCOMPARE(fresh.text, second.text);
    }

    void generate_continueLast_goesOnWhereTheAnswerWasCut() {
        const GenerationResult whole = m_session->generate(ask("Tell me a story about a fox.", 60), {}, {});
        GenerationRequest request = ask("Tell me a story about a fox.", 25);
        const GenerationResult begun = m_session->generate(request, {}, {});
        request.messages.push_back({Role::kAssistant, begun.text});
        request.continue_last = true;
        request.max_tokens = 35;
        const GenerationResult rest = m_session->generate(request, {}, {});
        QCOMPARE(begun.text + rest.text, whole.text);
        QVERIFY2(rest.reused_tokens > begun.prompt_tokens, "The answer's tokens are in the cache");
        request.messages.pop_back();
        QVERIFY(messageOf([&] { m_session->generate(request, {}, {}); }, ErrorKind::kInvalidInput)
                    .contains(QStringLiteral("not the assistant's")));
    }

    // The panels' data: every token's step has its layers' events, with the called
    // experts.
    void layerEvents_tellWhichExpertsWroteAToken() {
        std::vector<std::uint64_t> steps;
        LoadRequest load;
        load.model = demoModel();
        load.device = "emulated:rtx-3060-desktop";
        load.vram_bytes = 16u << 20;
        load.context = 512;
        const ModelSummary model = m_session->load(load, {}, {});
        m_session->generate(ask("Tell me a story about a fox.", 12),
                            [&](const TextDelta& delta) { steps.push_back(delta.step); }, {});
        std::map<std::uint64_t, std::vector<LayerEvent>> of_step;
        std::vector<AssignmentEvent> assignments;
        for (std::uint64_t next = 0;;) {
            const LayerEvents events = m_session->layer_events(next);
            QCOMPARE(events.first, next);
            if (events.events.empty()) break;
            next += events.events.size();
            for (LayerEvent event : events.events) {
                event.first_assignment += static_cast<std::uint32_t>(assignments.size());
                of_step[event.step].push_back(event);
            }
            assignments.insert(assignments.end(), events.assignments.begin(), events.assignments.end());
        }
        QVERIFY(steps.size() >= 10);
        for (std::size_t t = 1; t < 10; ++t) {
            QCOMPARE(steps[t], steps[t - 1] + 1);
            const std::vector<LayerEvent>& layers = of_step[steps[t]];
            QCOMPARE(static_cast<std::int64_t>(layers.size()), model.n_layers);
            for (const LayerEvent& layer : layers) {
                QCOMPARE(static_cast<std::int64_t>(layer.n_assignments), model.n_active);
                const AssignmentEvent& first = assignments[layer.first_assignment];
                QVERIFY(first.expert < model.n_experts);
                QVERIFY(first.cpu_us > 0 && first.gpu_us > 0);
                QCOMPARE(first.copy_us > 0, first.place != 0);
            }
        }
        const Snapshot snapshot = m_session->snapshot();
        QCOMPARE(snapshot.experts.place.size(), static_cast<std::size_t>(model.total_experts));
        QVERIFY(snapshot.totals.routed_tokens > 0);
        QCOMPARE(snapshot.mean_bits, 16.0);
        QVERIFY(snapshot.vram.budget == load.vram_bytes && snapshot.vram.used() <= snapshot.vram.budget);
        QVERIFY(snapshot.vram.experts[static_cast<std::size_t>(offstage::kernels::WeightType::kBf16)] > 0);
        QCOMPARE(m_session->planned_popularity().size(), snapshot.experts.place.size());

        // A preview from another thread's point of view: answered where the engine works.
        std::optional<ReplanPreview> preview;
        ReplanRequest smaller;
        smaller.vram_bytes = 12u << 20;
        m_session->request_preview(
            smaller, [&](const std::optional<ReplanPreview>& answer, const Message&) { preview = answer; });
        QVERIFY(!preview.has_value());
        m_session->advance({});
        QVERIFY(preview.has_value());
        QVERIFY(preview->plan.vram_bytes() <= *smaller.vram_bytes);
    }

    void generate_sameQuestionAgain_givesTheSameAnswer() {
        const GenerationResult first = m_session->generate(ask("What is 12 + 30?", 30), {}, {});
        const GenerationResult again = m_session->generate(ask("What is 12 + 30?", 30), {}, {});
        QCOMPARE(again.text, first.text);
        QCOMPARE(again.reused_tokens, first.prompt_tokens - 1);
    }

    void generate_stopRequested_keepsWhatWasThere() {
        std::stop_source stop;
        QElapsedTimer since;
        const GenerationResult result = m_session->generate(
            ask("Tell me a story about a fox."),
            [&](const TextDelta& delta) {
                if (delta.n_tokens == 3) {
                    stop.request_stop();
                    since.start();
                }
            },
            stop.get_token());
        qInfo("Stop answered after %.1f ms", static_cast<double>(since.nsecsElapsed()) / 1e6);
        QCOMPARE(result.finish, FinishReason::kStopped);
        QCOMPARE(result.tokens.size(), std::size_t(3));
        QVERIFY(!m_session->generate(ask("Hello", 4), {}, {}).tokens.empty());
    }

    void generate_stoppedBeforeTheFirstToken_isNoError() {
        std::stop_source stop;
        stop.request_stop();
        const GenerationResult result = m_session->generate(ask("Hello"), {}, stop.get_token());
        QCOMPARE(result.finish, FinishReason::kStopped);
        QVERIFY(result.tokens.empty() && result.text.empty());
        QVERIFY(!m_session->generate(ask("Hello", 4), {}, {}).tokens.empty());
    }

    void generate_promptLongerThanTheContext_saysHowLong() {
        std::string text;
        for (int i = 0; i < 3000; ++i) text += "word ";
        const QString message = messageOf([&] { m_session->generate(ask(text), {}, {}); }, ErrorKind::kInvalidInput);
        QVERIFY2(message.contains(QStringLiteral("The prompt has ")) && message.contains(QStringLiteral("holds 2048")),
                 qPrintable(message));
        QVERIFY(!m_session->generate(ask("Hello", 4), {}, {}).tokens.empty());
    }

    void generate_contextFull_endsWithThatReason() {
        load(ComputeMode::kF32, 40);
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = "Once upon a time";
        request.sampler.temperature = 1.5f;
        request.sampler.top_k = 0;
        request.sampler.top_p = 1;
        for (request.sampler.seed = 1; request.sampler.seed < 50; ++request.sampler.seed) {
            const GenerationResult result = m_session->generate(request, {}, {});
            if (result.finish != FinishReason::kContextFull) continue;
            QCOMPARE(m_session->snapshot().context_used, 40);
            QCOMPARE(static_cast<std::int64_t>(result.tokens.size()) + result.prompt_tokens, 41);
            return;
        }
        QFAIL("no answer reached the end of the context");
    }

    void generate_textThatIsNotUtf8_saysWhichByte() {
        const QString message =
            messageOf([&] { m_session->generate(ask("ab\xff"), {}, {}); }, ErrorKind::kInvalidInput);
        QVERIFY2(message.contains(QStringLiteral("UTF-8")) && message.contains(QStringLiteral("byte 3")),
                 qPrintable(message));
        GenerationRequest raw;
        raw.raw = true;
        raw.raw_prompt = "\xc3";
        QVERIFY(messageOf([&] { m_session->generate(raw, {}, {}); }, ErrorKind::kInvalidInput)
                    .contains(QStringLiteral("UTF-8")));
    }

    void generate_withoutTokenizer_saysSo() {
        LoadRequest request;
        request.model = "synthetic:fine?layers=1";
        m_session->load(request, {}, {});
        QVERIFY(messageOf([&] { m_session->generate(ask("Hello"), {}, {}); }, ErrorKind::kUnsupported)
                    .contains(QStringLiteral("tokenizer")));
    }

    void generate_badSampler_namesTheField() {
        GenerationRequest request = ask("Hello");
        request.sampler.top_p = 1.5f;
        QVERIFY(messageOf([&] { m_session->generate(request, {}, {}); }, ErrorKind::kInvalidInput)
                    .contains(QStringLiteral("top"), Qt::CaseInsensitive));
    }

    void countTokens_isWhatGenerateSees() {
        const auto request = ask("What is a cache hit?", 2);
        QCOMPARE(m_session->count_tokens(request.messages), m_session->generate(request, {}, {}).prompt_tokens);
    }

    void tokenizerConfig_saysWhatPromptsBeginAndEndWith() {
        // The demo model with another tokenizer_config.json: turns of a line feed, before
        // which "legacy" puts a blank.
        const QTemporaryDir folder;
        for (const auto& entry : std::filesystem::directory_iterator(demoModel())) {
            if (entry.path().filename() == "tokenizer_config.json") continue;
            std::filesystem::create_symlink(
                entry.path(), std::filesystem::path(folder.path().toStdString()) / entry.path().filename());
        }
        QFile original(QString::fromStdString(demoModel()) + "/tokenizer_config.json");
        QVERIFY(original.open(QIODevice::ReadOnly));
        QJsonObject config = QJsonDocument::fromJson(original.readAll()).object();
        GenerationRequest raw = ask("", 1);
        raw.raw = true;
        raw.raw_prompt = "Once upon a time";
        const std::vector<ChatMessage> turns = {{Role::kUser, "\n"}, {Role::kAssistant, "\n"}, {Role::kUser, "\n"}};
        GenerationRequest more;
        more.messages = {{Role::kUser, "\n"}, {Role::kAssistant, "\n"}};
        more.continue_last = true;
        more.max_tokens = 1;
        struct Counts {
            std::int64_t raw, turns, more;
        };
        const auto counts_with = [&](const char* field, bool value) {
            config[QLatin1String(field)] = value;
            QFile file(folder.filePath("tokenizer_config.json"));
            if (!file.open(QIODevice::WriteOnly)) return Counts{};
            file.write(QJsonDocument(config).toJson());
            file.close();
            LoadRequest request;
            request.model = folder.path().toStdString();
            m_session->load(request, {}, {});
            return Counts{m_session->generate(raw, {}, {}).prompt_tokens, m_session->count_tokens(turns),
                          m_session->generate(more, {}, {}).prompt_tokens};
        };
        const Counts before = counts_with("legacy", true);
        const Counts after = counts_with("legacy", false);
        QCOMPARE(after.raw, before.raw);
        QCOMPARE(after.turns, before.turns - 3);
        QCOMPARE(after.more, before.more - 2);
        QCOMPARE(counts_with("add_bos_token", true).raw, before.raw + 1);
        QCOMPARE(counts_with("add_eos_token", true).raw, before.raw + 2);
    }

    void snapshot_countsEveryTokenOnce_andIsCleared() {
        const GenerationResult result = m_session->generate(ask("Tell me a story about a fox.", 100), {}, {});
        const Snapshot s = m_session->snapshot();
        // The last token of the answer, or the end of the turn, was sampled but never
        // run.
        const std::int64_t ran = result.prompt_tokens + static_cast<std::int64_t>(result.tokens.size()) -
                                 (result.finish == FinishReason::kEndOfTurn ? 0 : 1);
        QCOMPARE(s.conversation_tokens, ran);
        QCOMPARE(s.context_used, ran);
        std::uint64_t sum = 0;
        for (const std::uint64_t count : s.conversation_counts) sum += count;
        QCOMPARE(sum, static_cast<std::uint64_t>(ran * s.n_layers * s.n_active));
        m_session->reset_conversation();
        QCOMPARE(m_session->snapshot().conversation_tokens, 0);
        QCOMPARE(m_session->snapshot().context_used, 0);
    }

    void snapshot_fromAnotherThread_whileGenerating() {
        std::atomic<bool> done = false;
        std::atomic<bool> generating = false;
        std::atomic<std::int64_t> most = 0;
        std::jthread watcher([&] {
            while (!done) {
                const std::int64_t seen = m_session->snapshot().conversation_tokens;
                if (generating) most = std::max<std::int64_t>(most, seen);
            }
        });
        // An answer may end before the other thread has run, or before a snapshot of it
        // is due.
        std::int64_t n_prompt = 0;
        for (int answer = 0; answer < 1000 && most == 0; ++answer) {
            m_session->reset_conversation();
            generating = true;
            n_prompt = m_session->generate(ask("Tell me a story about a fox.", 40), {}, {}).prompt_tokens;
            generating = false;
        }
        done = true;
        watcher.join();
        QVERIFY(most > 0 && most <= n_prompt + 40);
    }

    void promptProgress_growsWhileAPromptIsRead_andIsNothingAfterwards() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "Tell me a story about a fox. ";
        std::atomic<bool> done = false;
        std::atomic<int> between = 0;
        std::atomic<std::int64_t> n_tokens = 0;
        std::atomic<bool> sane = true;
        std::jthread watcher([&] {
            double before = 0;
            while (!done) {
                const PromptProgress now = m_session->prompt_progress();
                if (now.n_tokens == 0) {
                    before = 0;
                    continue;
                }
                if (now.n_read < 0 || now.n_read > static_cast<double>(now.n_tokens)) sane = false;
                if (now.n_read > before && now.n_read < static_cast<double>(now.n_tokens)) ++between;
                before = now.n_read;
                n_tokens = now.n_tokens;
            }
        });
        // A prompt may be read before the other thread has run.
        std::int64_t n_prompt = 0;
        for (int answer = 0; answer < 1000 && between < 2; ++answer) {
            m_session->reset_conversation();
            n_prompt = m_session->generate(ask(text, 1), {}, {}).prompt_tokens;
            if (m_session->prompt_progress().n_tokens != 0) sane = false;
        }
        done = true;
        watcher.join();
        QVERIFY(sane);
        QVERIFY(between >= 2);
        QCOMPARE(n_tokens.load(), n_prompt);
    }

    // Steps add up, and layers of the running one count as shares of it.
    void promptReading_countsStepsAndLayers() {
        PromptReading reading;
        QCOMPARE(reading.progress().n_tokens, 0);
        {
            const PromptReading::Span span(reading, 700);
            QCOMPARE(reading.progress().n_tokens, 700);
            QCOMPARE(reading.progress().n_read, 0.0);
            reading.begin_step(512);
            QCOMPARE(reading.progress().n_read, 0.0);
            reading.begin_layer(1, 4);
            QCOMPARE(reading.progress().n_read, 128.0);
            reading.begin_step(188);
            QCOMPARE(reading.progress().n_read, 512.0);
            reading.begin_layer(2, 4);
            QCOMPARE(reading.progress().n_read, 606.0);
        }
        QCOMPARE(reading.progress().n_tokens, 0);
        QCOMPARE(reading.progress().n_read, 0.0);
    }
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
