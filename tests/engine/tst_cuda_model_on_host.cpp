// A whole model through the CUDA backend, on a CUDA that runs on the host
// (tests/cuda_host): its streams are asynchronous, so copies, waits and computations in
// the wrong order show here, without a GPU. No GPU is tested.

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include <QDeadlineTimer>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/local_session.h"
#include "engine/run/moe_layer.h"
#include "engine/run/replanner.h"
#include "engine/run/sampler.h"
#include "engine/run/step_probe.h"
#include "engine/run/token_chooser.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Every CUDA thread is a fiber here, and sanitizers make it ten times slower still: they
// run a shorter play.
constexpr int kTokens = test::kSanitized ? 2 : 6;
// RAM, so that experts on the device keep no copy there, and others stay on disk.
constexpr std::uint64_t kRamWithDisk = std::uint64_t{8} << 20;
constexpr int kPrompts = test::kSanitized ? 1 : 2;

struct Greedy {
    std::vector<TokenId> tokens;
    std::vector<std::vector<float>> logits;
};

Greedy greedy(LoadedModel& model, const std::vector<TokenId>& prompt) {
    KvSequence sequence = model.new_sequence();
    Greedy result;
    std::span<const TokenId> next(prompt);
    for (int i = 0; i < kTokens; ++i) {
        const Segment segment{&sequence, next};
        if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
        const auto logits = model.forward().logits();
        result.logits.emplace_back(logits.begin(), logits.end());
        result.tokens.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        next = std::span<const TokenId>(result.tokens).last(1);
    }
    return result;
}

}  // namespace

class TestCudaModelOnHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { cuda_host::reset(); }

    void initTestCase() {
        const QJsonArray cases =
            readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")))[QLatin1String("cases")]
                .toArray();
        LoadRequest request;
        request.model = demoModel();
        LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
        for (int i = 0; i < kPrompts; ++i) {
            prompts_.push_back(tokensOf(cases[i].toObject()[QLatin1String("tokens")].toArray()));
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
        LoadRequest request = onHostLayer(policy, megabytes);
        auto loaded =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
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
        loaded.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
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
        LoadRequest on_gpu = onHostLayer(policy, 50);
        on_gpu.cache = CacheKind::kStatic;
        on_gpu.sparse_loading = SparseLoading::kAlways;
        QFETCH(quint64, cached);
        on_gpu.neuron_cache_bytes = cached;
        if (policy == QStringLiteral("transfer")) on_gpu.prefetch = PrefetchMode::kAlways;
        on_cpu.theta = on_gpu.theta = 0.5;
        LoadedModel cpu(on_cpu, LoadedModel::Text::kNotNeeded, {}, {});
        const Greedy expected = greedy(cpu, prompts_[0]);
        const double effect = relativeError(expected.logits[0], expected_[0].logits[0]);
        QVERIFY2(effect > 0.1, qPrintable(QString::number(effect)));
        auto gpu =
            std::make_unique<LoadedModel>(on_gpu, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        const Greedy got = greedy(*gpu, prompts_[0]);
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
        gpu.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Layers with a state; layers with different heads, positions and norms: in one step
    // and in several, and sequences that part.
    void layersOfOtherKinds_answerAsTheCpu_data() {
        QTest::addColumn<QString>("name");
        for (const char* const name : {"qwen3_5_moe_odd_f32", "gemma4_odd_f32", "deepseek_v3_plain_f32"}) {
            QTest::newRow(name) << QString(name);
        }
    }
    void layersOfOtherKinds_answerAsTheCpu() {
        QFETCH(QString, name);
        LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
        request.model = tinyModel(name);
        request.kv = KvType::kF32;
        const QJsonObject golden = readJson(QString::fromStdString(request.model) + QStringLiteral("/golden.json"));
        const QJsonValue last = golden[QLatin1String("cases")].toArray().last();
        const std::vector<TokenId> tokens = tokensOf(last[QLatin1String("tokens")].toArray());
        auto model =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        KvSequence whole = model->new_sequence();
        const auto step = [&](KvSequence& sequence, std::size_t first, std::size_t n) {
            const Segment segment{&sequence, std::span(tokens).subspan(first, n)};
            QTest::qVerify(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone,
                           "done", "", __FILE__, __LINE__);
            const auto row = static_cast<qsizetype>(first + n - 1);
            const double error = relativeError(model->forward().logits(),
                                               floatsOf(last[QLatin1String("logits")].toArray()[row].toArray()));
            QVERIFY2(error < 1e-3, qPrintable(QStringLiteral("row %1: %2").arg(row).arg(error)));
        };
        const std::size_t n = std::min<std::size_t>(20, tokens.size() - 10);
        step(whole, 0, n);
        KvSequence other = whole.fork();
        step(whole, n, 1);
        step(whole, n + 1, 5);
        for (std::size_t i = n + 6; i < n + 10; ++i) step(whole, i, 1);
        step(other, n, 3);
        // The third of these tokens, and the fourth, were replayed.
        QVERIFY(model->device().replays().n_replayed >= 2);
        for (KvSequence* const sequence : {&whole, &other}) *sequence = KvSequence();
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
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

        const LoadRequest on_gpu = onHostLayer(QStringLiteral("static"), 80);
        auto gpu =
            std::make_unique<LoadedModel>(on_gpu, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
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
        gpu.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // While tokens are generated, memory is allocated and released beside them: the
    // device is not waited for, and another thread unlocks memory.
    void replanBetweenLayers_takesAndGivesBackWithoutWaiting() {
        auto model = std::make_unique<LoadedModel>(onHostLayer(QStringLiteral("static"), 80),
                                                   LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
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
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // The sources of experts' copies are page-locked, so that no thread waits for them.
    void copies_comeFromPageLockedMemory() {
        LoadRequest request = onHostLayer(QStringLiteral("transfer"), 45);
        request.ram_bytes = kRamWithDisk;
        auto model =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        QVERIFY(model->experts().disk_slots().size() > 0);
        const std::vector<std::size_t> loading = cuda_host::pageable_copies();
        constexpr std::size_t kPiece = 262'144;  // of an expert, as in OFFSTAGE_COPY_BYTES
        QVERIFY(model->experts().bytes(0) > kPiece);
        QCOMPARE(std::count(loading.begin(), loading.end(), kPiece), 0);
        const Greedy got = greedy(*model, prompts_[0]);
        QCOMPARE(got.tokens, expected_[0].tokens);
        QVERIFY(model->dispatcher().totals().copied_calls > 0);
        QCOMPARE(cuda_host::pageable_copies().size(), loading.size());
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // If all experts are resident, a token's layers wait for nothing; one that loses an
    // expert, or has them in two formats, waits for its choice again. Failures and stops
    // in between change nothing else.
    void choiceLeftOnTheDevice_changesNothingElse() {
        const Answer awaited = answerThroughChanges(true);
        if (QTest::currentTestFailed()) return;
        const Answer left = answerThroughChanges(false);
        if (QTest::currentTestFailed()) return;
        QVERIFY(left.logits == awaited.logits);
        QVERIFY(left.routing == awaited.routing);
        QCOMPARE(left.events.size(), static_cast<std::size_t>(kSteps * 8));
        QVERIFY(left.events == awaited.events);
        QVERIFY(left.uses == awaited.uses);
        QVERIFY(left.habits == awaited.habits);
        // For the step as a whole, for the choices of all but its last layers, and for
        // the layers whose choice is needed at once; the CPU waits for its inputs.
        QCOMPARE(left.waits[0], 2);
        QCOMPARE(left.waits[1], 2);
        QCOMPARE(left.waits[2], 2);
        QVERIFY(left.waits[3] == 3 || left.waits[3] == 4);
        for (const int waits : awaited.waits) QVERIFY(waits >= 9);
    }

    // The launches of a token's layers are replayed as CUDA graphs: over a number of keys
    // that takes more splits, in another conversation, when experts change their format
    // or leave the device, if building or starting a graph fails, over keys in another
    // type, and with room for more of them. No bit differs from starting each kernel by
    // itself.
    void graphs_changeNothing_data() {
        QTest::addColumn<bool>("resident");
        QTest::newRow("all resident") << true;
        QTest::newRow("the CPU has a share of each layer") << false;
    }
    void graphs_changeNothing() {
        QFETCH(bool, resident);
        const Answer each = answerInGraphs(resident, false);
        if (QTest::currentTestFailed()) return;
        const Answer graphs = answerInGraphs(resident, true);
        if (QTest::currentTestFailed()) return;
        QVERIFY(graphs.logits == each.logits);
        QVERIFY(graphs.routing == each.routing);
        QVERIFY(graphs.events == each.events);
        QVERIFY(graphs.uses == each.uses);
        QVERIFY(graphs.habits == each.habits);
        const auto& expected = resident ? kReplays : kSharedReplays;
        QCOMPARE(graphs.replays.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const QByteArray step = QStringLiteral("step %1: %2 graphs, %3 calls of %4")
                                        .arg(i)
                                        .arg(graphs.replays[i])
                                        .arg(graphs.calls[i])
                                        .arg(each.calls[i])
                                        .toUtf8();
            QCOMPARE(each.replays[i], 0);
            QVERIFY2(graphs.replays[i] == expected[i], step);
            // For any number of kernels: the inputs and the logits are copied, and the
            // rows that the CPU computed of each layer. No kernel is started by itself.
            const bool all_replayed = expected[i] == (!resident ? 5 : i < kWholeSteps ? 1 : 3);
            if (all_replayed) QVERIFY2(graphs.launches[i] == 0, step);
            const int n_shared_layers = !resident ? 2 : i < kWholeSteps ? 0 : 1;
            const bool builds = i == 0 || expected[i - 1] != expected[i];
            if (all_replayed && !builds && i != kWholeSteps) {  // an expert leaves before that one
                QVERIFY2(graphs.calls[i] <= kMostCalls + n_shared_layers * kMostSharedCalls, step);
            }
        }
    }

    // The device chooses the tokens, and begins the next step before the host has seen
    // this one's: in two conversations, over a number of keys that takes more splits,
    // through steps with times, when experts change their format or leave the device, and
    // around a step that is stopped. Tokens, choices of experts and records are those of
    // a host that chooses.
    void stepsAhead_changeNothing_data() {
        QTest::addColumn<float>("temperature");
        QTest::addColumn<float>("penalty");
        QTest::addColumn<bool>("logits");
        QTest::newRow("greedy") << 0.0f << 1.0f << true;
        if (kSanitized) return;
        QTest::newRow("drawn") << 1.5f << 1.0f << false;
        QTest::newRow("with a penalty") << 0.8f << 1.4f << true;
    }
    void stepsAhead_changeNothing() {
        QFETCH(float, temperature);
        QFETCH(float, penalty);
        QFETCH(bool, logits);
        const SamplerSettings settings{.temperature = temperature, .repeat_penalty = penalty};
        const Answer host = answerByChoices(settings, false, logits);
        if (QTest::currentTestFailed()) return;
        const Answer device = answerByChoices(settings, true, logits);
        if (QTest::currentTestFailed()) return;
        QCOMPARE(device.tokens, host.tokens);
        QVERIFY(device.routing == host.routing);
        QVERIFY(device.events == host.events);
        QVERIFY(device.uses == host.uses);
        QVERIFY(device.habits == host.habits);
        if (logits) QVERIFY(device.logits == host.logits);
        QCOMPARE(host.n_ahead, 0);
        // All but the first two of each kind, those with times and those behind a change.
        QVERIFY2(device.n_ahead >= 12, qPrintable(QString::number(device.n_ahead)));
        // One graph, the inputs and the token for the next one; the choices and the token
        // come to the host.
        QCOMPARE(device.launches.size(), device.replays.size());
        for (std::size_t i = 0; i < device.launches.size(); ++i) {
            if (device.replays[i] == 1) QCOMPARE(device.launches[i], 2);
        }
    }

    // A sequence that was started again is not started when it is submitted next, unless
    // other work came between, or it is another one.
    void sequenceStartedAgain_runsOnce() {
        auto device = open_on_host();
        constexpr std::int64_t kValues = 64;
        constexpr std::int64_t kPlace = 3;
        const auto values = [&](const char* purpose) {
            return device->memory().allocate(kValues * sizeof(float), MemoryUse::kWorkspace, purpose);
        };
        DeviceBlock in = values("in"), out = values("out");
        const auto set = [&](float value) {
            const std::vector<float> host(kValues, value);
            device->upload(in.data(), host.data(), kValues * sizeof(float));
            device->host_wait(device->record(DeviceEvent::Queue::kCompute));
        };
        const auto submit = [&](float factor) {
            device->begin_repeated(kPlace);
            device->submit(ops::Clear{kValues, out.as<float>()});
            device->submit(ops::Add{in.as<float>(), kValues, out.as<float>(), factor});
            device->end_repeated();
        };
        const auto result = [&] {
            std::vector<float> host(kValues);
            device->download(host.data(), out.data(), kValues * sizeof(float));
            device->host_wait(device->record(DeviceEvent::Queue::kCompute));
            return host.back();
        };
        QVERIFY(!device->start_again(kPlace));
        set(1);
        for (int i = 0; i < 3; ++i) submit(2);
        QVERIFY(!device->start_again(kPlace + 1));
        set(5);
        QVERIFY(device->start_again(kPlace));
        const int launches = cuda_host::calls_of("cudaGraphLaunch");
        submit(2);
        QCOMPARE(cuda_host::calls_of("cudaGraphLaunch"), launches);
        QCOMPARE(device->replays().n_ahead, std::uint64_t{1});
        QCOMPARE(result(), 10.0f);
        submit(2);
        QVERIFY(device->start_again(kPlace));
        set(6);
        submit(2);
        QCOMPARE(result(), 12.0f);
        submit(2);
        QVERIFY(device->start_again(kPlace));
        submit(3);
        QCOMPARE(result(), 18.0f);
        QVERIFY(!device->start_again(kPlace));  // the last one was no graph
        QCOMPARE(device->replays().n_ahead, std::uint64_t{1});
        in = DeviceBlock();
        out = DeviceBlock();
        device.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Without graphs the host chooses.
    void answers_areTheSameWhoeverChooses() {
        for (const bool with_choices : {false, true}) {
            std::vector<GenerationResult> results[2];
            int n_launches[2];
            for (const bool graphs : {false, true}) {
                cuda_host::reset();
                LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
                request.learn_placement = false;
                request.prefetch = PrefetchMode::kOff;
                request.cuda_graphs = graphs;
                auto session = std::make_unique<LocalSession>();
                session->load(request, {}, {});
                GenerationRequest wanted;
                wanted.raw = true;
                wanted.raw_prompt = "Once upon a time";
                wanted.max_tokens = 2 * kTokens;
                wanted.sampler.seed = 3;
                if (with_choices) {
                    wanted.n_alternatives = 2;
                    wanted.sampler.repeat_penalty = 1.3f;
                } else {
                    wanted.sampler.temperature = 0;
                    wanted.ignore_end = true;
                }
                const int launches = cuda_host::calls_of("cudaGraphLaunch");
                results[graphs].push_back(session->generate(wanted, {}, {}));
                wanted.raw_prompt += ", there";  // behind a step that ran ahead for nothing
                results[graphs].push_back(session->generate(wanted, {}, {}));
                n_launches[graphs] = cuda_host::calls_of("cudaGraphLaunch") - launches;
                session.reset();
                QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
            }
            for (std::size_t i = 0; i < results[0].size(); ++i) {
                QCOMPARE(results[1][i].tokens, results[0][i].tokens);
                QCOMPARE(results[1][i].text, results[0][i].text);
                QVERIFY(results[1][i].choices == results[0][i].choices);
                QVERIFY(results[1][i].finish == results[0][i].finish);
            }
            QCOMPARE(n_launches[0], 0);
            if (!kSanitized) QVERIFY2(n_launches[1] > 2 * kTokens, qPrintable(QString::number(n_launches[1])));
        }
    }

    // Points between kernels cost a GPU some microseconds each. Where all experts are
    // resident, a step has none but one time in 16; the other steps are recorded with the
    // times that were measured last. The host reads the choices of a token's first layers
    // while the device computes the last ones.
    void stepsWithoutTimes_recordNoPointBetweenKernels() {
        LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto model =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        const std::int64_t n_layers = model->spec().experts.n_layers;
        KvSequence sequence = model->new_sequence();
        const Recorder& recorder = model->dispatcher().recorder();
        const auto here = std::this_thread::get_id();
        constexpr int kEach = 16;
        std::vector<float> timed;
        for (int i = 0; i < 2 * kEach + 2; ++i) {
            const int nodes = cuda_host::calls_of("cudaGraphAddEventRecordNode", here);
            const int records = cuda_host::calls_of("cudaEventRecord", here);
            const std::uint64_t replayed = model->device().replays().n_replayed;
            const TokenId token = 1 + i;
            const Segment segment{&sequence, {&token, 1}};
            QVERIFY(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
            const int new_nodes = cuda_host::calls_of("cudaGraphAddEventRecordNode", here) - nodes;
            const int new_records = cuda_host::calls_of("cudaEventRecord", here) - records;
            const auto new_replays = static_cast<int>(model->device().replays().n_replayed - replayed);
            std::vector<float> times;
            for (std::uint64_t e = recorder.n_events() - static_cast<std::uint64_t>(n_layers); e < recorder.n_events();
                 ++e) {
                QCOMPARE(recorder.event(e).step, static_cast<std::uint64_t>(i));
                for (const float us :
                     {recorder.event(e).attention_us, recorder.event(e).gpu_us, recorder.event(e).layer_us}) {
                    QVERIFY(us > 0);
                    times.push_back(us);
                }
            }
            const QByteArray step = QStringLiteral("step %1: %2 nodes, %3 records, %4 graphs")
                                        .arg(i)
                                        .arg(new_nodes)
                                        .arg(new_records)
                                        .arg(new_replays)
                                        .toUtf8();
            if (i % kEach == 0) {
                QVERIFY2(times != timed, step);
                timed = times;
                // The third time it is a graph (in the first step tables come to the
                // device): of a layer the router's answer, both ends of the experts, and
                // its own end.
                if (i == 2 * kEach) QVERIFY2(new_nodes >= 3 * n_layers && new_nodes <= 4 * n_layers + 1, step);
                continue;
            }
            QVERIFY2(new_nodes == 0 && times == timed, step);
            // Behind the first layers' choices, and at the step's end.
            if (i > 2) QVERIFY2(new_replays == 2 && new_records == 2, step);
        }
        sequence = KvSequence();
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Experts of a token's layers are streamed, and some stay in the place of others:
    // resident ones are still looked up on the device.
    void graphs_changeNothingWhereExpertsMove() {
        Greedy answers[2];
        for (const bool graphs : {false, true}) {
            LoadRequest request = onHostLayer(QStringLiteral("transfer"), 50);
            request.cuda_graphs = graphs;
            auto model = std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                                       std::stop_token{});
            answers[graphs] = greedy(*model, prompts_[0]);
            const DispatchTotals& totals = model->dispatcher().totals();
            QVERIFY(totals.copied_calls > 0 && totals.resident_calls > 0);
            const auto n_replayed = static_cast<int>(model->device().replays().n_replayed);
            QCOMPARE(n_replayed > 0, graphs && !kSanitized);
            // From the third token on what each of the layers looks up.
            const int n_looked_up = (kTokens - 2) * 8;
            if (graphs) QVERIFY2(n_replayed >= n_looked_up, qPrintable(QString::number(n_replayed)));
            // Plans reserve enough for them, by this host layer's 512 bytes a node.
            const auto nodes = static_cast<int>(model->device().replays().bytes / 512);
            QVERIFY2(nodes <= 8 * 32 + 16, qPrintable(QString::number(nodes)));
            model.reset();
            QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
        }
        QVERIFY(!answers[0].tokens.empty());
        QCOMPARE(answers[0].tokens, answers[1].tokens);
        QVERIFY(answers[0].logits == answers[1].logits);
    }

    // Over keys of which most lie in RAM: a layer's are copied while the one before
    // computes, also for a step that is stopped before they are needed; tokens are
    // replayed as graphs behind them.
    void keysInRam_changeNothing() {
        std::vector<std::vector<float>> logits[2];
        int n_copies[2], n_begun[2];
        for (const bool in_ram : {false, true}) {
            LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
            request.model = tinyModel("grouped_bf16");
            request.learn_placement = false;
            request.prefetch = PrefetchMode::kOff;
            auto model = std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                                       std::stop_token{});
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
            model.reset();
            QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
        }
        QVERIFY(logits[0] == logits[1]);
        QCOMPARE(n_copies[1] - n_copies[0], 2 * 3);  // three blocks in two layers, each once
        QCOMPARE(n_begun[1] - n_begun[0], 3 + 1);    // and the one whose 64 tokens are all before the step
    }

    void pinningRefused_isSaidAndHarmless() {
        if (kSanitized) QSKIP("takes a minute under sanitizers, and only says again what the others do");
        LoadRequest request = onHostLayer(QStringLiteral("transfer"), 45);
        constexpr int kEach = -1;
        for (const int nth : {kEach, 1, 2, 3, 4}) {
            cuda_host::reset();
            cuda_host::fail_call("cudaHostRegister", nth);
            auto model = std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                                       std::stop_token{});
            cuda_host::fail_call("cudaHostRegister", 0);
            // One refusal may be that of a buffer, which needs no note.
            if (nth == kEach) QVERIFY(!model->summary().notes.empty());
            const Greedy got = greedy(*model, prompts_[0]);
            QCOMPARE(got.tokens, expected_[0].tokens);
            model.reset();
            QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
        }
    }

  private:
    static constexpr int kSteps = 4;
    struct Answer {
        std::vector<std::vector<float>> logits;
        std::vector<std::vector<std::int32_t>> routing;
        std::vector<int> waits;  // of the engine's thread for the device
        std::vector<std::vector<std::uint64_t>> events;
        std::vector<std::vector<std::uint64_t>> uses;
        std::vector<double> habits;
        std::vector<TokenId> tokens;
        int n_ahead = 0;
        // For each step: started graphs, calls of the runtime, single kernels.
        std::vector<int> replays, calls, launches;
    };

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
    Answer answerThroughChanges(bool awaited) {
        LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
        request.learn_placement = false;
        auto loaded =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        LoadedModel& model = *loaded;
        model.source().set_helper(nullptr);  // packed by the processor, since every CUDA thread is a fiber here
        Forward& forward = model.forward();
        IdleProbe probe;
        if (awaited) forward.set_probe(&probe);
        KvSequence sequence = model.new_sequence();
        TokenId token = prompts_[0][0];
        Answer answer;
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
        std::vector<ExpertUse> uses;
        recorder.uses(uses);
        for (const ExpertUse& use : uses) answer.uses.push_back({use.tokens, use.resident_tokens, use.last_step});
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
        loaded.reset();
        if (!problems_on_host().isEmpty()) QTest::qFail(qPrintable(problems_on_host()), __FILE__, __LINE__);
        return answer;
    }

    // Graphs that each step of answerInGraphs() starts. If all experts are resident there
    // is one of the whole step, in the first kWholeSteps; then an expert leaves one
    // layer. Each layer that the CPU has a share of has one for the looked-up experts,
    // and one for the rest; and there is one for the part before the first of these. From
    // the step after the expert has left on, steps have times, which are sequences of
    // their own.
    using Counts = std::array<int, 29>;
    static constexpr Counts kReplays = {0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0,
                                        0, 3, 0, 0, 0, 0, 3, 3, 2, 3, 3, 2, 3, 3};
    static constexpr Counts kSharedReplays = {0, 5, 5, 5, 5, 3, 5, 5, 3, 5, 5, 4, 5, 5, 5,
                                              5, 5, 0, 0, 0, 0, 5, 5, 3, 5, 5, 3, 5, 5};
    static constexpr std::size_t kWholeSteps = 14;
    static constexpr int kMostCalls = 11, kMostSharedCalls = 16;  // of a step, and of such a layer

    // Steps of one token in two conversations, the first of which has read 60 tokens
    // before.
    Answer answerInGraphs(bool resident, bool graphs) {
        // Whether a freed block is there again in time depends on the stream's thread,
        // and graphs over memory with the same address go on.
        cuda_host::Settings settings;
        settings.pools_reuse = false;
        cuda_host::reset(settings);
        LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
        request.model = tinyModel("grouped_bf16");
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        request.cuda_graphs = graphs;
        // What the checks have freed is there again for the longer context: a graph goes
        // on.
        request.checks_costs = true;
        auto loaded =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        LoadedModel& model = *loaded;
        const auto n_experts = static_cast<std::size_t>(model.spec().experts.n_experts);
        for (std::size_t layer = 0; !resident && layer < 2; ++layer) model.experts().drop_device(layer * n_experts);
        model.source().set_helper(nullptr);
        Forward& forward = model.forward();
        Backend& device = model.device();
        KvSequence first = model.new_sequence();
        KvSequence second = model.new_sequence();
        std::vector<TokenId> prompt;
        const auto vocab_size = static_cast<std::size_t>(model.spec().vocab_size);
        while (prompt.size() < 60) prompt.push_back(static_cast<TokenId>(5 * prompt.size() % vocab_size));
        Answer answer;
        const Recorder& recorder = model.dispatcher().recorder();
        const auto here = std::this_thread::get_id();
        const auto step = [&](KvSequence& sequence, std::span<const TokenId> tokens) {
            const Segment segment{&sequence, tokens};
            const std::uint64_t begin = recorder.n_events();
            const std::uint64_t replayed = device.replays().n_replayed;
            // Times are read when the step has ended, three of each layer, and are not
            // counted; nor are queries of whether it has ended.
            const auto calls = [&] {
                return cuda_host::calls_of_all(here) - 2 * cuda_host::calls_of("cudaEventElapsedTime", here) -
                       cuda_host::calls_of("cudaEventQuery", here);
            };
            const int called = calls(), launched = cuda_host::calls_of("cudaLaunchKernel", here);
            QVERIFY(forward.step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
            const auto logits = forward.logits();
            answer.logits.emplace_back(logits.begin(), logits.end());
            answer.routing.emplace_back(forward.routing().begin(), forward.routing().end());
            addEvents(recorder, begin, answer);
            if (tokens.size() > 1) return;
            answer.replays.push_back(static_cast<int>(device.replays().n_replayed - replayed));
            answer.calls.push_back(calls() - called);
            answer.launches.push_back(cuda_host::calls_of("cudaLaunchKernel", here) - launched);
        };
        const auto tokens = [&](KvSequence& sequence, int n) {
            for (int i = 0; i < n && !QTest::currentTestFailed(); ++i) {
                const auto next = static_cast<TokenId>(7 * (answer.replays.size() + 1) % vocab_size);
                step(sequence, {&next, 1});
            }
        };
        // A function fails in a step, which is made all the same.
        const auto failing = [&](const char* function) {
            if (graphs) cuda_host::fail_call(function, 1);
            tokens(second, 1);
            cuda_host::fail_call(function, 0);
            QCOMPARE(device.take_note().empty(), !graphs);
            device.set_graphs(graphs);
        };
        [&] {
            step(first, prompt);
            tokens(first, 3);
            tokens(second, 1);
            tokens(first, 1);  // the 64th key
            tokens(first, 3);  // a second split
            tokens(second, 2);
            tokens(second, 1);
            std::vector<std::size_t> changed(n_experts);
            std::iota(changed.begin(), changed.end(), n_experts);
            Replanner replanner(model);
            replanner.change(1, ExpertChange::Kind::kFormat, changed, kernels::WeightType::kInt8, 0);
            replanner.finish({});
            QCOMPARE(replanner.reports().back().problem.english(), std::string());
            tokens(second, 3);
            model.experts().drop_device(n_experts + 2);
            tokens(second, 3);
            failing("cudaGraphLaunch");
            tokens(second, 1);
            failing("cudaGraphInstantiateWithFlags");
            tokens(second, 3);
            std::vector<KvRoom> rooms;
            for (std::size_t g = 0; g < model.kv().n_groups(); ++g) rooms.push_back(model.kv().pool(g).room());
            model.kv().retype(KvType::kInt8);
            model.kv().resize(rooms);
            tokens(second, 3);
            forward.set_context(100'000);
            tokens(second, 3);
        }();
        std::vector<ExpertUse> uses;
        recorder.uses(uses);
        for (const ExpertUse& use : uses) answer.uses.push_back({use.tokens, use.resident_tokens, use.last_step});
        answer.habits = forward.moe().habits().take().calls;
        first = KvSequence();
        second = KvSequence();
        loaded.reset();
        if (!problems_on_host().isEmpty()) QTest::qFail(qPrintable(problems_on_host()), __FILE__, __LINE__);
        return answer;
    }

    class Chooser final : public TokenChooser {
      public:
        Chooser(Sampler& sampler, const std::vector<TokenId>& text, std::int64_t vocab_size, bool logits)
            : sampler_(sampler), text_(text), vocab_size_(vocab_size), logits_(logits) {}
        std::optional<kernels::TokenRule> rule(int n_ahead) override {
            const auto before = std::span(text_).first(text_.size() - (n_ahead == 0 ? 1 : 0));
            return sampler_.rule(static_cast<std::size_t>(n_ahead), vocab_size_, {}, before);
        }
        bool needs_logits() const override { return logits_; }

      private:
        Sampler& sampler_;
        const std::vector<TokenId>& text_;
        std::int64_t vocab_size_;
        bool logits_;
    };

    // Steps of one token in two conversations; ahead: the device chooses the tokens.
    Answer answerByChoices(const SamplerSettings& settings, bool ahead, bool wants_logits) {
        cuda_host::Settings host_settings;
        host_settings.pools_reuse = false;
        cuda_host::reset(host_settings);
        LoadRequest request = onHostLayer(QStringLiteral("static"), 80);
        request.model = tinyModel("grouped_bf16");
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto loaded =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        LoadedModel& model = *loaded;
        model.source().set_helper(nullptr);
        Forward& forward = model.forward();
        const auto n_experts = static_cast<std::size_t>(model.spec().experts.n_experts);
        const std::int64_t vocab_size = model.spec().vocab_size;
        const Recorder& recorder = model.dispatcher().recorder();
        const auto here = std::this_thread::get_id();
        KvSequence first = model.new_sequence(), second = model.new_sequence();
        Sampler sampler(settings, 11);
        std::vector<TokenId> texts[2];
        Answer answer;
        const auto answer_in = [&](int which, int n, const std::stop_token& stop = {}) {
            std::vector<TokenId>& text = texts[which];
            KvSequence& sequence = which == 0 ? first : second;
            Chooser chooser(sampler, text, vocab_size, wants_logits);
            for (int i = 0; i < n && !QTest::currentTestFailed(); ++i) {
                const Segment segment{
                    &sequence, std::span<const TokenId>(text).subspan(static_cast<std::size_t>(sequence.size()))};
                const std::uint64_t begin = recorder.n_events();
                const std::uint64_t ran_ahead = model.device().replays().n_ahead;
                const int launched = cuda_host::calls_of("cudaLaunchKernel", here);
                const auto outcome =
                    forward.step({&segment, 1}, Forward::Logits::kLast, stop, 0, ahead ? &chooser : nullptr);
                if (stop.stop_requested()) {
                    QVERIFY(outcome == Forward::Outcome::kStopped);
                    return;
                }
                QVERIFY(outcome == Forward::Outcome::kDone);
                const auto logits = forward.logits();
                const std::optional<TokenId> chosen = forward.chosen();
                QCOMPARE(chosen.has_value(), ahead && segment.tokens.size() == 1);
                QCOMPARE(logits.empty(), chosen.has_value() && !wants_logits);
                if (chosen) sampler.count_choice();
                text.push_back(chosen ? *chosen : sampler.sample(logits, text));
                answer.tokens.push_back(text.back());
                if (!logits.empty()) answer.logits.emplace_back(logits.begin(), logits.end());
                answer.routing.emplace_back(forward.routing().begin(), forward.routing().end());
                addEvents(recorder, begin, answer);
                answer.replays.push_back(static_cast<int>(model.device().replays().n_ahead - ran_ahead));
                answer.launches.push_back(cuda_host::calls_of("cudaLaunchKernel", here) - launched);
            }
        };
        [&] {
            for (std::vector<TokenId>& text : texts) {
                while (text.size() < (&text == texts ? 56 : 3)) {
                    text.push_back(static_cast<TokenId>(5 * text.size() % static_cast<std::size_t>(vocab_size)));
                }
            }
            answer_in(0, 13);  // a second split
            answer_in(1, 4);
            answer_in(0, 8);
            std::vector<std::size_t> changed(n_experts);
            std::iota(changed.begin(), changed.end(), n_experts);
            Replanner replanner(model);
            replanner.change(1, ExpertChange::Kind::kFormat, changed, kernels::WeightType::kInt8, 0);
            replanner.finish({});
            answer_in(0, 5);
            std::stop_source stop;
            stop.request_stop();
            answer_in(0, 1, stop.get_token());
            answer_in(0, 4);
            model.experts().drop_device(n_experts + 2);
            answer_in(0, 3);
        }();
        answer.n_ahead = static_cast<int>(model.device().replays().n_ahead);
        std::vector<ExpertUse> uses;
        recorder.uses(uses);
        for (const ExpertUse& use : uses) answer.uses.push_back({use.tokens, use.resident_tokens, use.last_step});
        answer.habits = forward.moe().habits().take().calls;
        first = KvSequence();
        second = KvSequence();
        loaded.reset();
        if (!problems_on_host().isEmpty()) QTest::qFail(qPrintable(problems_on_host()), __FILE__, __LINE__);
        return answer;
    }

    // All but times.
    static void addEvents(const Recorder& recorder, std::uint64_t first, Answer& answer) {
        for (std::uint64_t i = first; i < recorder.n_events(); ++i) {
            const LayerEvent& event = recorder.event(i);
            answer.events.push_back({static_cast<std::uint64_t>(event.layer),
                                     static_cast<std::uint64_t>(event.n_tokens), event.policy, event.is_prefill,
                                     event.bytes_copied, event.device_read_bytes, event.guessed_copies,
                                     event.used_guesses, event.admissions, event.neurons});
            for (std::size_t n = 0; n < event.n_assignments; ++n) {
                const AssignmentEvent& a = recorder.assignment(i, n);
                for (const std::uint64_t value :
                     {std::uint64_t{a.expert}, std::uint64_t{a.target}, std::uint64_t{a.place}, std::uint64_t{a.format},
                      std::uint64_t{a.n_tokens}}) {
                    answer.events.back().push_back(value);
                }
            }
        }
    }

    LoadRequest onHostLayer(const QString& policy, int megabytes) const {
        LoadRequest request;
        request.model = demoModel();
        request.context = 256;
        request.device = "cuda";
        request.dispatch = parse_dispatch(policy.toStdString());
        request.vram_bytes = static_cast<std::uint64_t>(megabytes) << 20;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.quant_cache_directory = cache_.filePath("quantized").toStdString();
        request.opens_device = open_on_host;
        return request;
    }

    QTemporaryDir cache_;
    std::vector<std::vector<TokenId>> prompts_;
    std::vector<Greedy> expected_;
};

QTEST_GUILESS_MAIN(TestCudaModelOnHost)
#include "tst_cuda_model_on_host.moc"
