// A whole model through the CUDA backend, on a CUDA that runs on the host
// (tests/cuda_host): its streams are asynchronous, so copies, waits and computations in
// the wrong order show here, without a GPU. No GPU is tested.

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include <QDeadlineTimer>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/replanner.h"
#include "engine/run/step_probe.h"
#include "tests/engine/cuda_answers.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

namespace {

// RAM, so that experts on the device keep no copy there, and others stay on disk.
constexpr std::uint64_t kRamWithDisk = std::uint64_t{8} << 20;
constexpr int kPrompts = test::kSanitized ? 1 : 2;

}  // namespace

class TestCudaModelOnHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { cuda_host::reset(); }

    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.cache_directory = cache_.path().toStdString();
        request.compute = ComputeMode::kF32;
        LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
        for (int i = 0; i < kPrompts; ++i) {
            prompts_.push_back(goldenPrompt(i));
            expected_.push_back(greedy(model, prompts_.back()));
        }
    }

    void answers_areThoseOfTheCpu_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("megabytes");
        QTest::newRow("copied or resident") << QStringLiteral("transfer") << 50;
        if (kSanitized) return;
        QTest::newRow("resident or on the CPU") << QStringLiteral("static") << 50;
        QTest::newRow("every expert copied") << QStringLiteral("transfer") << 45;
        QTest::newRow("all resident") << QStringLiteral("static") << 80;
    }
    void answers_areThoseOfTheCpu() {
        QFETCH(QString, policy);
        QFETCH(int, megabytes);
        LoadRequest request = onHostLayer(cache_, policy, megabytes);
        auto loaded = loadModel(request);
        LoadedModel& model = *loaded;
        for (std::size_t i = 0; i < prompts_.size(); ++i) {
            const Greedy got = greedy(model, prompts_[i]);
            QCOMPARE(got.tokens, expected_[i].tokens);
            for (std::size_t t = 0; t < got.logits.size(); ++t) {
                const double error = relativeError(got.logits[t], expected_[i].logits[t]);
                QVERIFY2(error < 2e-2, qPrintable(QString::number(error)));
            }
        }
        const DispatchTotals& totals = model.dispatcher().totals();
        if (policy == QStringLiteral("transfer")) QVERIFY(totals.copied_calls > 0);
        if (megabytes == 50) QVERIFY(totals.resident_calls > 0);
        if (megabytes == 50 && policy == QStringLiteral("static")) QVERIFY(totals.cpu_calls > 0);
        const ArenaUsage vram = model.device().memory().usage();
        QVERIFY(vram.high_water_bytes <= vram.budget_bytes);
        closeModel(loaded);
    }

    // The device and the CPU leave out the same neurons, by kernels for few rows and for
    // many; the bus does not carry them.
    void answers_withATheta_areThoseOfTheCpu_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<quint64>("cached");
        QTest::newRow("resident or on the CPU") << QStringLiteral("static") << quint64{0};
        if (!kSanitized) QTest::newRow("resident or copied") << QStringLiteral("transfer") << quint64{0};
        if (!kSanitized) QTest::newRow("with a neuron cache") << QStringLiteral("transfer") << quint64{6'000'000};
    }
    void answers_withATheta_areThoseOfTheCpu() {
        QFETCH(QString, policy);
        LoadRequest on_cpu;
        on_cpu.model = demoModel();
        LoadRequest on_gpu = onHostLayer(cache_, policy, 50);
        on_gpu.cache = CacheKind::kStatic;
        on_gpu.sparse_loading = SparseLoading::kAlways;
        QFETCH(quint64, cached);
        on_gpu.neuron_cache_bytes = cached;
        if (policy == QStringLiteral("transfer")) on_gpu.prefetch = PrefetchMode::kAlways;
        on_cpu.theta = on_gpu.theta = 0.5;
        LoadedModel cpu(on_cpu, LoadedModel::Text::kNotNeeded, {}, {});
        const int n_tokens = std::max(3, kTokens);  // or a median says nothing
        const Greedy expected = greedy(cpu, prompts_[0], n_tokens);
        const double effect = relativeError(expected.logits[0], expected_[0].logits[0]);
        QVERIFY2(effect > 0.1, qPrintable(QString::number(effect)));
        auto gpu = loadModel(on_gpu);
        const Greedy got = greedy(*gpu, prompts_[0], n_tokens);
        QCOMPARE(got.tokens, expected.tokens);
        // Different rounding sometimes moves a neuron across the theta; most tokens have
        // none of those.
        std::vector<double> errors;
        for (std::size_t t = 0; t < got.logits.size(); ++t) {
            errors.push_back(relativeError(got.logits[t], expected.logits[t]));
        }
        std::sort(errors.begin(), errors.end());
        const double median = errors[errors.size() / 2];
        QVERIFY2(median < 1e-2, qPrintable(QString::number(median)));
        QVERIFY2(errors.back() < 5e-2, qPrintable(QString::number(errors.back())));
        const DispatchTotals& totals = gpu->dispatcher().totals();
        const bool copies = policy == QStringLiteral("transfer");
        QVERIFY(totals.resident_calls > 0 && (copies ? totals.copied_calls : totals.cpu_calls) > 0);
        QCOMPARE(totals.sparse_copies > 0, copies);
        QCOMPARE(totals.copy_bytes_saved > 0, copies);
        if (cached > 0) {
            QVERIFY(totals.neuron_hit_rate() > 0.2);
            QVERIFY(gpu->forward().moe().mover().copier().neuron_cache()->used_bytes() > 0);
        }
        QCOMPARE(totals.used_guesses > 0, copies);
        closeModel(gpu);
    }

    // Layers with a state; layers with different heads, positions and norms: in one step
    // and in several, and sequences that part.
    void layersOfOtherKinds_answerAsTheCpu_data() {
        QTest::addColumn<QString>("name");
        for (const char* const name :
             {"qwen3_5_moe_odd_f32", "gemma4_odd_f32", "deepseek_v3_plain_f32", "hunyuan_moe_bf16", "mistral4_bf16",
              "nemotron_h_odd_f32", "llama4_odd_f32", "mimo_v2_flash_odd_f32", "step3p7_odd_f32", "minimax_m3_odd_f32",
              "glm_moe_dsa_odd_f32", "deepseek_v4_odd_f32"}) {
            QTest::newRow(name) << QString(name);
        }
    }
    void layersOfOtherKinds_answerAsTheCpu() {
        QFETCH(QString, name);
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 80);
        request.model = tinyModel(name);
        request.kv = KvType::kF32;
        const QJsonObject golden = readJson(QString::fromStdString(request.model) + QStringLiteral("/golden.json"));
        const QJsonValue last = golden[QLatin1String("cases")].toArray().last();
        const std::vector<TokenId> tokens = tokensOf(last[QLatin1String("tokens")].toArray());
        const double most = name.endsWith(QStringLiteral("_bf16")) ? 2e-2 : 1e-3;  // inputs of products are rounded
        auto model = loadModel(request);
        const auto step = [&](KvSequence& sequence, std::size_t first, std::size_t n) {
            const Segment segment{&sequence, std::span(tokens).subspan(first, n)};
            QTest::qVerify(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone,
                           "done", "", __FILE__, __LINE__);
            const auto row = static_cast<qsizetype>(first + n - 1);
            const double error = relativeError(model->forward().logits(),
                                               floatsOf(last[QLatin1String("logits")].toArray()[row].toArray()));
            QVERIFY2(error < most, qPrintable(QStringLiteral("row %1: %2").arg(row).arg(error)));
        };
        const auto play = [&](std::size_t n) {
            KvSequence whole = model->new_sequence();
            step(whole, 0, n);
            KvSequence other = whole.fork();
            step(whole, n, 1);
            step(whole, n + 1, 5);
            for (std::size_t i = n + 6; i < n + 10; ++i) step(whole, i, 1);
            step(other, n, 3);
            // The third of these tokens, and the fourth, were replayed.
            QVERIFY(model->device().replays().n_replayed >= 2);
        };
        const auto top_k = static_cast<std::size_t>(model->spec().largest_attention().top_k);
        if (top_k > 0) {  // keys are chosen from one token to the next, and of many
            play(top_k - 7);
            play(tokens.size() - 10);
        } else {
            const bool has_chunks = name.startsWith(QStringLiteral("llama4"));  // across their borders
            play(has_chunks ? 126 : std::min<std::size_t>(20, tokens.size() - 10));
        }
        closeModel(model);
    }

    // The GPU packs the experts of a re-plan, and the answers are those of a CPU that
    // packed by itself.
    void replannedFormats_arePackedByTheGpu() {
        const auto in_int8 = [&](LoadedModel& model) {
            Replanner replanner(model);
            for (const std::size_t expert : {3u, 17u}) {
                replanner.change(expert, ExpertChange::Kind::kFormat, {&expert, 1}, kernels::WeightType::kInt8, 0);
                replanner.finish({});
                QCOMPARE(replanner.reports().back().problem.english(), std::string());
                QVERIFY(replanner.reports().back().state == ReplanState::kDone);
                QVERIFY(model.experts().format(expert) == kernels::WeightType::kInt8);
            }
        };
        LoadRequest request;
        request.model = demoModel();
        request.context = 256;
        request.quant_cache_directory = cache_.filePath("quantized by the CPU").toStdString();
        LoadedModel cpu(request, LoadedModel::Text::kNotNeeded, {}, {});
        in_int8(cpu);
        QCOMPARE(cpu.source().n_helped(), 0);
        const Greedy expected = greedy(cpu, prompts_[0]);

        const LoadRequest on_gpu = onHostLayer(cache_, QStringLiteral("static"), 80);
        auto gpu = loadModel(on_gpu);
        // New memory is page-locked where it is filled: where no answer is made, by all
        // threads.
        const int locked = cuda_host::calls_of("cudaHostRegister");
        in_int8(*gpu);
        QCOMPARE(cuda_host::calls_of("cudaHostRegister") - locked, 2);
        QCOMPARE(gpu->source().n_helped(), 2);
        const Greedy got = greedy(*gpu, prompts_[0]);
        QCOMPARE(got.tokens, expected.tokens);
        for (std::size_t t = 0; t < got.logits.size(); ++t) {
            QVERIFY(relativeError(got.logits[t], expected.logits[t]) < 2e-2);
        }
        closeModel(gpu);
    }

    // While tokens are generated, memory is allocated and released beside them: the
    // device is not waited for, and another thread unlocks memory.
    void replanBetweenLayers_takesAndGivesBackWithoutWaiting() {
        auto model = loadModel(onHostLayer(cache_, QStringLiteral("static"), 80));
        const auto calls = [](const char* function) { return cuda_host::calls_of(function); };
        const auto here = [](const char* function) {
            return cuda_host::calls_of(function, std::this_thread::get_id());
        };
        const int unlocked = calls("cudaHostUnregister"), unlocked_here = here("cudaHostUnregister");
        const int locked = calls("cudaHostRegister"), locked_here = here("cudaHostRegister");
        const int taken = calls("cudaMallocFromPoolAsync"), given_back = calls("cudaFreeAsync");
        Replanner replanner(*model);
        const std::size_t expert = 5;  // none that another test has packed for all
        replanner.change(1, ExpertChange::Kind::kFormat, {&expert, 1}, kernels::WeightType::kInt8, 0);
        int n_waits = 0;
        const QDeadlineTimer deadline(60'000);
        while (replanner.moving() && !deadline.hasExpired()) {
            const int waits = here("cudaEventSynchronize") + here("cudaStreamSynchronize");
            replanner.between_layers();
            n_waits += here("cudaEventSynchronize") + here("cudaStreamSynchronize") - waits;
            replanner.between_steps(0);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        QVERIFY(!replanner.moving());
        QVERIFY(replanner.reports().back().state == ReplanState::kDone);
        QVERIFY(model->experts().format(expert) == kernels::WeightType::kInt8);
        QCOMPARE(n_waits, 0);
        QCOMPARE(calls("cudaHostRegister") - locked, 1);
        QCOMPARE(here("cudaHostRegister"), locked_here);
        QCOMPARE(calls("cudaHostUnregister") - unlocked, 1);
        QCOMPARE(here("cudaHostUnregister"), unlocked_here);
        QVERIFY(calls("cudaMallocFromPoolAsync") > taken && calls("cudaFreeAsync") > given_back);
        QCOMPARE(calls("cudaMalloc") + calls("cudaFree"), 0);
        closeModel(model);
    }

    // The sources of experts' copies are page-locked, so that no thread waits for them.
    void copies_comeFromPageLockedMemory() {
        LoadRequest request = onHostLayer(cache_, QStringLiteral("transfer"), 45);
        request.ram_bytes = kRamWithDisk;
        auto model = loadModel(request);
        QVERIFY(model->experts().disk_slots().size() > 0);
        const std::vector<std::size_t> loading = cuda_host::pageable_copies();
        constexpr std::size_t kPiece = 262'144;  // of an expert, as in OFFSTAGE_COPY_BYTES
        QVERIFY(model->experts().bytes(0) > kPiece);
        QCOMPARE(std::count(loading.begin(), loading.end(), kPiece), 0);
        const Greedy got = greedy(*model, prompts_[0]);
        QCOMPARE(got.tokens, expected_[0].tokens);
        QVERIFY(model->dispatcher().totals().copied_calls > 0);
        QCOMPARE(cuda_host::pageable_copies().size(), loading.size());
        closeModel(model);
    }

    // If all experts are resident, a token's layers wait for nothing; one that loses an
    // expert, or has them in two formats, waits for its choice again. Failures and stops
    // in between change nothing else.
    void choiceLeftOnTheDevice_changesNothingElse() {
        const RecordedAnswer awaited = answerThroughChanges(true);
        if (QTest::currentTestFailed()) return;
        const RecordedAnswer left = answerThroughChanges(false);
        if (QTest::currentTestFailed()) return;
        QVERIFY(left.logits == awaited.logits);
        QVERIFY(left.routing == awaited.routing);
        QCOMPARE(left.events.size(), static_cast<std::size_t>(kSteps * 8));
        QVERIFY(left.events == awaited.events);
        QVERIFY(left.uses == awaited.uses);
        QVERIFY(left.habits == awaited.habits);
        // For the step as a whole, and, in the first, for its times. For choices the host
        // looks in its memory.
        for (std::size_t i = 0; i < left.waits.size(); ++i) QCOMPARE(left.waits[i], i == 0 ? 2 : 1);
        for (const int waits : awaited.waits) QVERIFY(waits >= 9);
    }

    // The device reads the rows of one token that the CPU computed, and where they are,
    // in host memory.
    void rowsOfTheCpu_areNotCopied() {
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 50);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto model = loadModel(request);
        KvSequence sequence = model->new_sequence();
        TokenId token = 7;
        const auto step = [&](std::span<const TokenId> tokens) {
            const Segment segment{&sequence, tokens};
            return model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone;
        };
        const auto copies = [] { return cuda_host::calls_of("cudaMemcpyAsync", std::this_thread::get_id()); };
        QVERIFY(step(prompts_[0]));
        QVERIFY(step({&token, 1}));  // its first layer copies the tokens of one token's rows
        for (int i = 0; i < 3; ++i) {
            const int before = copies();
            const std::uint64_t computed = model->dispatcher().totals().cpu_calls;
            QVERIFY(step({&token, 1}));
            QVERIFY(model->dispatcher().totals().cpu_calls > computed);
            QCOMPARE(copies() - before, 2);  // the inputs and the logits
        }
        sequence = KvSequence();
        closeModel(model);
    }

    // Over keys of which most lie in RAM: a layer's are copied while the one before
    // computes, also for a step that is stopped before they are needed; tokens are
    // replayed as graphs behind them.
    void keysInRam_changeNothing() {
        std::vector<std::vector<float>> logits[2];
        int n_copies[2], n_begun[2];
        for (const bool in_ram : {false, true}) {
            LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 80);
            request.model = tinyModel("grouped_bf16");
            request.learn_placement = false;
            request.prefetch = PrefetchMode::kOff;
            auto model = loadModel(request);
            std::vector<KvRoom> rooms;
            for (std::size_t g = 0; g < model->kv().n_groups(); ++g) {
                rooms.push_back(model->kv().pool(g).room());
                if (in_ram) rooms.back() = {1, rooms.back().n_blocks() - 1};
            }
            model->kv().resize(rooms);
            std::vector<TokenId> prompt;
            const auto vocab_size = static_cast<std::size_t>(model->spec().vocab_size);
            while (prompt.size() < 210) prompt.push_back(static_cast<TokenId>(5 * prompt.size() % vocab_size));
            KvSequence sequence = model->new_sequence();
            const auto step = [&](std::span<const TokenId> tokens, const std::stop_token& stop = {}) {
                const Segment segment{&sequence, tokens};
                const auto outcome = model->forward().step({&segment, 1}, Forward::Logits::kLast, stop);
                if (outcome != Forward::Outcome::kDone) return outcome;
                const auto row = model->forward().logits();
                logits[in_ram].emplace_back(row.begin(), row.end());
                return outcome;
            };
            const auto copies = [] { return cuda_host::calls_of("cudaMemcpyAsync", std::this_thread::get_id()); };
            const auto tokens = std::span<const TokenId>(prompt);
            QVERIFY(step(tokens.first(150)) == Forward::Outcome::kDone);
            StoppingProbe probe;
            model->forward().set_probe(&probe);
            int begin = copies();
            QVERIFY(step(tokens.subspan(150, 56), probe.stop.get_token()) == Forward::Outcome::kStopped);
            n_begun[in_ram] = copies() - begin;
            model->forward().set_probe(nullptr);
            const int waits = cuda_host::calls_of("cudaStreamWaitEvent");
            model->device().forget_keys();
            QCOMPARE(cuda_host::calls_of("cudaStreamWaitEvent"), waits);  // the step has done so
            begin = copies();
            QVERIFY(step(tokens.subspan(150, 56)) == Forward::Outcome::kDone);
            n_copies[in_ram] = copies() - begin;
            for (std::size_t i = 206; i < 210; ++i) QVERIFY(step(tokens.subspan(i, 1)) == Forward::Outcome::kDone);
            QVERIFY(model->device().replays().n_replayed > 0);
            QCOMPARE(model->kv().n_held_in_host(), in_ram ? 3 : 0);
            sequence = KvSequence();
            closeModel(model);
        }
        QVERIFY(logits[0] == logits[1]);
        QCOMPARE(n_copies[1] - n_copies[0], 2 * 3);  // three blocks in two layers, each once
        QCOMPARE(n_begun[1] - n_begun[0], 3 + 1);    // and the one whose 64 tokens are all before the step
    }

    void pinningRefused_isSaidAndHarmless() {
        if (kSanitized) QSKIP("takes a minute under sanitizers, and only says again what the others do");
        LoadRequest request = onHostLayer(cache_, QStringLiteral("transfer"), 45);
        constexpr int kEach = -1;
        for (const int nth : {kEach, 1, 2, 3, 4, 5}) {
            cuda_host::reset();
            cuda_host::fail_call("cudaHostRegister", nth);
            auto model = loadModel(request);
            cuda_host::fail_call("cudaHostRegister", 0);
            // One refusal may be that of the word or of a buffer, which needs no note.
            if (nth == kEach) QVERIFY(!model->summary().notes.empty());
            const Greedy got = greedy(*model, prompts_[0]);
            QCOMPARE(got.tokens, expected_[0].tokens);
            closeModel(model);
        }
    }

  private:
    static constexpr int kSteps = 4;

    // A probe needs every choice at once.
    class IdleProbe final : public StepProbe {
      public:
        void begin_step(std::int64_t) override {}
        void submit(std::int64_t, const DeviceWeights&, const StepContext&) override {}
        void collect(std::int64_t, const std::int32_t*, std::int64_t) override {}
    };

    // Stops a step within its first layer.
    class StoppingProbe final : public StepProbe {
      public:
        std::stop_source stop;
        void begin_step(std::int64_t) override {}
        void submit(std::int64_t, const DeviceWeights&, const StepContext&) override { stop.request_stop(); }
        void collect(std::int64_t, const std::int32_t*, std::int64_t) override {}
    };

    // One token a step. Before the third one layer's experts change their format, and one
    // of another layer; in the fourth an expert leaves the device. A step that fails and
    // one that is stopped follow, each made again.
    RecordedAnswer answerThroughChanges(bool awaited) {
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 80);
        request.learn_placement = false;
        auto loaded = loadModel(request);
        LoadedModel& model = *loaded;
        model.source().set_helper(nullptr);  // packed by the processor, since every CUDA thread is a fiber here
        Forward& forward = model.forward();
        IdleProbe probe;
        if (awaited) forward.set_probe(&probe);
        KvSequence sequence = model.new_sequence();
        TokenId token = prompts_[0][0];
        RecordedAnswer answer;
        const auto step = [&](const std::stop_token& stop = {}) {
            const Segment segment{&sequence, {&token, 1}};
            const Forward::Outcome outcome = forward.step({&segment, 1}, Forward::Logits::kLast, stop);
            if (outcome != Forward::Outcome::kDone) return outcome;
            const auto logits = forward.logits();
            answer.logits.emplace_back(logits.begin(), logits.end());
            answer.routing.emplace_back(forward.routing().begin(), forward.routing().end());
            token = static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
            return outcome;
        };
        const auto before_layer = [&](int layer, std::function<void()> what) {
            forward.set_between_layers([n = 0, layer, what = std::move(what)]() mutable {
                if (++n == layer) what();
            });
        };
        const auto in_int8 = [&](std::vector<std::size_t> experts) {
            Replanner replanner(model);
            replanner.change(1, ExpertChange::Kind::kFormat, experts, kernels::WeightType::kInt8, 0);
            replanner.finish({});
            QCOMPARE(replanner.reports().back().problem.english(), std::string());
        };
        const auto of_layer = [](std::size_t layer) {
            std::vector<std::size_t> experts(8);
            std::iota(experts.begin(), experts.end(), layer * 8);
            return experts;
        };
        const Recorder& recorder = model.dispatcher().recorder();
        for (int i = 0; i < kSteps && !QTest::currentTestFailed(); ++i) {
            if (i == 2) {
                std::vector<std::size_t> changed = of_layer(1);
                changed.push_back(6 * 8 + 3);
                in_int8(changed);
            }
            if (i == 3) before_layer(3, [&] { model.experts().drop_device(7 * 8 + 2); });
            const std::uint64_t begin = recorder.n_events();
            const int waited = cuda_host::calls_of("cudaEventSynchronize", std::this_thread::get_id());
            [&] { QVERIFY(step() == Forward::Outcome::kDone); }();
            answer.waits.push_back(cuda_host::calls_of("cudaEventSynchronize", std::this_thread::get_id()) - waited);
            addEvents(recorder, begin, answer);
        }
        addUses(model, answer);
        const RoutingHabits habits = forward.moe().habits().take();
        answer.habits = habits.calls;
        answer.habits.insert(answer.habits.end(), habits.reused.begin(), habits.reused.end());
        answer.habits.push_back(habits.guessable);
        forward.set_between_layers({});

        [&] {
            // The launch with the third layer's experts does not reach the device.
            in_int8(of_layer(2));
            model.device().fail_copy(4);
            QVERIFY(step() == Forward::Outcome::kFailed);
            model.device().clear_failure();
            QVERIFY(model.device().ok());
            QVERIFY(step() == Forward::Outcome::kDone);
            std::stop_source stop;
            before_layer(5, [&] { stop.request_stop(); });
            QVERIFY(step(stop.get_token()) == Forward::Outcome::kStopped);
            forward.set_between_layers({});
            QVERIFY(step() == Forward::Outcome::kDone);
        }();
        forward.set_probe(nullptr);
        sequence = KvSequence();
        closeModel(loaded);
        return answer;
    }

    QTemporaryDir cache_;
    std::vector<std::vector<TokenId>> prompts_;
    std::vector<Greedy> expected_;
};

QTEST_GUILESS_MAIN(TestCudaModelOnHost)
#include "tst_cuda_model_on_host.moc"
