// The steps of a model on a CUDA that runs on the host (tests/cuda_host), as CUDA graphs,
// and begun before the host has seen the token before. No GPU is tested.

#include <array>
#include <numeric>
#include <thread>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/run/dense_costs.h"
#include "engine/run/local_session.h"
#include "engine/run/replanner.h"
#include "engine/run/sampler.h"
#include "engine/run/token_chooser.h"
#include "tests/engine/cuda_answers.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

class TestCudaGraphsOnHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { cuda_host::reset(); }

    // The launches of a token's layers are replayed as CUDA graphs: over a number of keys
    // that takes more splits, in another conversation, when experts change their format
    // or leave the device, if building or starting a graph fails, over keys in another
    // type, and with room for more of them. No bit differs from starting each kernel by
    // itself.
    void graphs_changeNothing_data() {
        QTest::addColumn<bool>("resident");
        if (!kSanitized) QTest::newRow("all resident") << true;  // steps ahead read the same memory
        QTest::newRow("the CPU has a share of each layer") << false;
    }
    void graphs_changeNothing() {
        QFETCH(bool, resident);
        const RecordedAnswer each = answerInGraphs(resident, false);
        if (QTest::currentTestFailed()) return;
        const RecordedAnswer graphs = answerInGraphs(resident, true);
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
            const bool all_replayed = expected[i] == 1;
            if (all_replayed) QVERIFY2(graphs.launches[i] == 0, step);
            const int n_shared_layers = !resident ? 2 : i < kWholeSteps ? 0 : 1;
            if (all_replayed && graphs.built[i] == 0 && i != kWholeSteps) {  // an expert leaves before that one
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
        const RecordedAnswer host = answerByChoices(settings, false, logits);
        if (QTest::currentTestFailed()) return;
        const RecordedAnswer device = answerByChoices(settings, true, logits);
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
                LoadRequest request = onThinModel(QStringLiteral("static"), 80);
                request.learn_placement = false;
                request.prefetch = PrefetchMode::kOff;
                request.cuda_graphs = graphs;
                keepCosts(request);
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

    // One graph a token and those of its pieces do not stand side by side: neither when
    // the host begins to choose, nor back.
    void graphsOfOtherSteps_makeRoom() {
        cuda_host::reset();
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 80);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto model = loadModel(request);
        Sampler sampler({.temperature = 0}, 1);
        std::vector<TokenId> text = {1};
        Chooser chooser(sampler, text, model->spec().vocab_size, true);
        KvSequence sequence = model->new_sequence();
        const auto n_graphs = [] {
            return cuda_host::calls_of("cudaGraphInstantiateWithFlags") - cuda_host::calls_of("cudaGraphExecDestroy");
        };
        std::vector<int> graphs;
        for (const bool device_chooses : {false, true, false, true}) {
            for (int i = 0; i < 20; ++i) {
                const Segment segment{&sequence, std::span(text).last(1)};
                QVERIFY(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}, 0,
                                              device_chooses ? &chooser : nullptr) == Forward::Outcome::kDone);
                text.push_back(static_cast<TokenId>(1 + text.size()));
            }
            graphs.push_back(n_graphs());
        }
        // With times and without them.
        QVERIFY2(graphs[0] >= 2, qPrintable(QString::number(graphs[0])));
        QVERIFY2(graphs[1] <= 2 && graphs[3] <= 2, qPrintable(QString::number(graphs[1])));
        QVERIFY2(graphs[2] <= graphs[0] + 2, qPrintable(QString::number(graphs[2])));
        sequence = KvSequence();
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Points between kernels cost a GPU some microseconds each. Where all experts are
    // resident, a step has none but one time in 16; the other steps are recorded with the
    // times that were measured last. The host reads the choices of a token's first layers
    // while the device computes the last ones.
    void stepsWithoutTimes_recordNoPointBetweenKernels() {
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 80);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto model = loadModel(request);
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
        closeModel(model);
    }

    // A prompt's times are not those of the tokens that follow: the first one has its own,
    // which the next ones share.
    void stepsBehindAPrompt_haveTimesOfTheirOwn() {
        LoadRequest request = onThinModel(QStringLiteral("static"), 80);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto model = loadModel(request);
        KvSequence sequence = model->new_sequence();
        const Recorder& recorder = model->dispatcher().recorder();
        const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        const auto times_of = [&](std::size_t n_tokens) {
            const Segment segment{&sequence, std::span(prompt).first(n_tokens)};
            const std::uint64_t begin = recorder.n_events();
            [&] {
                QVERIFY(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
            }();
            std::vector<float> times;
            for (std::uint64_t e = begin; e < recorder.n_events(); ++e) {
                times.push_back(recorder.event(e).attention_us);
                times.push_back(recorder.event(e).layer_us);
            }
            return times;
        };
        std::vector<float> last;
        for (int i = 0; i < 3 && !QTest::currentTestFailed(); ++i) {
            const std::vector<float> of_prompt = times_of(prompt.size());
            const std::vector<float> of_first = times_of(1);
            QCOMPARE(of_first.size(), of_prompt.size());
            for (const float us : of_first) QVERIFY(us > 0);
            QVERIFY(of_first != of_prompt && of_first != last);
            last = of_first;
            for (int token = 0; token < 2; ++token) QVERIFY(times_of(1) == of_first);
        }
        sequence = KvSequence();
        closeModel(model);
    }

    // Where the CPU has a share of each layer, too, or experts are copied; the host waits
    // for each choice, but the runtime is asked for the step's end alone.
    void stepsThatShareLayers_waitByWords_data() {
        QTest::addColumn<QString>("policy");
        if (!kSanitized) QTest::newRow("static") << QStringLiteral("static");
        QTest::newRow("transfer") << QStringLiteral("transfer");
    }
    void stepsThatShareLayers_waitByWords() {
        QFETCH(QString, policy);
        const bool copies = policy == QStringLiteral("transfer");
        LoadRequest request = onHostLayer(cache_, policy, 50);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        auto model = loadModel(request);
        model->forward().moe().set_awaiting(false);
        const std::int64_t n_layers = model->spec().experts.n_layers;
        KvSequence sequence = model->new_sequence();
        const Recorder& recorder = model->dispatcher().recorder();
        const auto calls = [](const char* of) { return cuda_host::calls_of(of, std::this_thread::get_id()); };
        constexpr int kEach = 16;
        std::vector<float> timed;
        for (int i = 0; i < 2 * kEach + 2; ++i) {
            const int nodes = calls("cudaGraphAddEventRecordNode"), waits = calls("cudaEventSynchronize");
            const int records = calls("cudaEventRecord"), kernels = calls("cudaLaunchKernel");
            const std::uint64_t computed = model->dispatcher().totals().cpu_calls;
            const TokenId token = 1 + i;
            const Segment segment{&sequence, {&token, 1}};
            QVERIFY(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
            QVERIFY(copies || model->dispatcher().totals().cpu_calls > computed);
            std::vector<float> times;
            for (std::uint64_t e = recorder.n_events() - static_cast<std::uint64_t>(n_layers); e < recorder.n_events();
                 ++e) {
                times.push_back(recorder.event(e).attention_us);
                times.push_back(recorder.event(e).layer_us);
                QVERIFY(times.back() > 0);
            }
            const QByteArray step = QStringLiteral("step %1: %2 nodes, %3 waits, %4 records, %5 kernels")
                                        .arg(i)
                                        .arg(calls("cudaGraphAddEventRecordNode") - nodes)
                                        .arg(calls("cudaEventSynchronize") - waits)
                                        .arg(calls("cudaEventRecord") - records)
                                        .arg(calls("cudaLaunchKernel") - kernels)
                                        .toUtf8();
            if (i % kEach == 0) {
                QVERIFY2(times != timed, step);
                timed = times;
                continue;
            }
            QVERIFY2(times == timed, step);
            QVERIFY2(calls("cudaEventSynchronize") == waits + 1, step);
            if (copies) continue;
            QVERIFY2(calls("cudaGraphAddEventRecordNode") == nodes, step);
            // Behind each layer's choice, and at the step's end.
            if (i % kEach > 2) QVERIFY2(calls("cudaEventRecord") - records == n_layers + 1, step);
            if (i % kEach > 2) QVERIFY2(calls("cudaLaunchKernel") == kernels, step);
        }
        if (copies) QVERIFY(model->dispatcher().totals().copied_calls > 2 * kEach);
        sequence = KvSequence();
        closeModel(model);
    }

    // Experts of a token's layers are streamed, and some stay in the place of others:
    // resident ones are still looked up on the device.
    void graphs_changeNothingWhereExpertsMove() {
        Greedy answers[2];
        for (const bool graphs : {false, true}) {
            LoadRequest request = onThinModel(QStringLiteral("transfer"), 45);
            request.cuda_graphs = graphs;
            auto model = loadModel(request);
            answers[graphs] = greedy(*model, goldenPrompt(0));
            const DispatchTotals& totals = model->dispatcher().totals();
            QVERIFY(totals.copied_calls > 0 && totals.resident_calls > 0);
            const auto n_replayed = static_cast<int>(model->device().replays().n_replayed);
            QCOMPARE(n_replayed > 0, graphs && !kSanitized);
            // From the third token on what each of the layers looks up.
            const int n_looked_up = (kTokens - 2) * 4;
            if (graphs) QVERIFY2(n_replayed >= n_looked_up, qPrintable(QString::number(n_replayed)));
            // Plans reserve enough for them, by this host layer's 512 bytes a node.
            const auto nodes = static_cast<int>(model->device().replays().bytes / 512);
            QVERIFY2(nodes <= 4 * 32 + 16, qPrintable(QString::number(nodes)));
            closeModel(model);
        }
        QVERIFY(!answers[0].tokens.empty());
        QCOMPARE(answers[0].tokens, answers[1].tokens);
        QVERIFY(answers[0].logits == answers[1].logits);
    }

  private:
    // Graphs that each step of answerInGraphs() starts: one of the whole step. If all
    // experts are resident it is built when the step comes again, in the first
    // kWholeSteps; then an expert leaves one layer. Where the CPU has a share of a layer
    // it is built at once. The first step and the 16th after it have times, which are
    // sequences of their own: in these each shared layer has two, and there is one before
    // the first of them. The step behind an expert that leaves, while its memory is given
    // back, has new sequences of that kind.
    using Counts = std::array<int, 29>;
    static constexpr Counts kReplays = {0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0,
                                        1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static constexpr Counts kSharedReplays = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0,
                                              1, 4, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static constexpr std::size_t kWholeSteps = 14;
    static constexpr int kMostCalls = 11, kMostSharedCalls = 1;  // of a step, and of such a layer

    // Steps of one token in two conversations, the first of which has read 60 tokens
    // before.
    RecordedAnswer answerInGraphs(bool resident, bool graphs) {
        LoadRequest request = ofSmallModel();
        request.cuda_graphs = graphs;
        auto loaded = loadModel(request);
        LoadedModel& model = *loaded;
        // As a load that checks its costs: what this has freed is there again for the
        // longer context, and a graph goes on.
        static_cast<void>(DenseProbe({model.spec()}, model.spec(), model.device(), model.host(), false));
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
        RecordedAnswer answer;
        const Recorder& recorder = model.dispatcher().recorder();
        const auto here = std::this_thread::get_id();
        const auto step = [&](KvSequence& sequence, std::span<const TokenId> tokens) {
            const Segment segment{&sequence, tokens};
            const std::uint64_t begin = recorder.n_events();
            const Backend::Replays before = device.replays();
            // Times are read when the step has ended, three of each layer, and are not
            // counted; nor are queries of whether it has ended.
            const auto calls = [&] {
                return cuda_host::calls_of_all(here) - 2 * cuda_host::calls_of("cudaEventElapsedTime", here) -
                       cuda_host::calls_of("cudaEventQuery", here) - cuda_host::calls_of("cudaStreamQuery", here);
            };
            const int called = calls(), launched = cuda_host::calls_of("cudaLaunchKernel", here);
            QVERIFY(forward.step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
            const auto logits = forward.logits();
            answer.logits.emplace_back(logits.begin(), logits.end());
            answer.routing.emplace_back(forward.routing().begin(), forward.routing().end());
            addEvents(recorder, begin, answer);
            if (tokens.size() > 1) return;
            answer.replays.push_back(static_cast<int>(device.replays().n_replayed - before.n_replayed));
            answer.built.push_back(static_cast<int>(device.replays().n_graphs - before.n_graphs));
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
            failing("cudaGraphInstantiateWithFlags");
            tokens(second, 4);
            std::vector<KvRoom> rooms;
            for (std::size_t g = 0; g < model.kv().n_groups(); ++g) rooms.push_back(model.kv().pool(g).room());
            model.kv().retype(KvType::kInt8);
            model.kv().resize(rooms);
            tokens(second, 3);
            forward.set_context(100'000);
            tokens(second, 3);
        }();
        finish(loaded, {&first, &second}, answer);
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
    RecordedAnswer answerByChoices(const SamplerSettings& settings, bool ahead, bool wants_logits) {
        auto loaded = loadModel(ofSmallModel());
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
        RecordedAnswer answer;
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
        finish(loaded, {&first, &second}, answer);
        return answer;
    }

    // The demo model without its last layers.
    LoadRequest onThinModel(const QString& policy, int megabytes) {
        LoadRequest request = onHostLayer(cache_, policy, megabytes);
        const QString folder = cache_.filePath(QStringLiteral("thin"));
        const QDir demo(QString::fromStdString(request.model));
        request.model = folder.toStdString();
        if (!QDir().mkdir(folder)) return request;  // made before
        for (const char* const name : {"model.safetensors", "tokenizer.model", "tokenizer_config.json"}) {
            QFile::link(demo.filePath(QLatin1String(name)), folder + QLatin1Char('/') + QLatin1String(name));
        }
        QFile config(demo.filePath(QStringLiteral("config.json"))), changed(folder + QStringLiteral("/config.json"));
        if (!config.open(QIODevice::ReadOnly) || !changed.open(QIODevice::WriteOnly)) return request;
        changed.write(config.readAll().replace("\"num_hidden_layers\": 8", "\"num_hidden_layers\": 4"));
        return request;
    }

    // Whether a freed block is there again in time depends on the stream's thread, and
    // graphs over memory with the same address go on: this CUDA gives none out again.
    LoadRequest ofSmallModel() const {
        cuda_host::Settings settings;
        settings.pools_reuse = false;
        cuda_host::reset(settings);
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), 80);
        request.model = tinyModel("grouped_bf16");
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        return request;
    }

    static void finish(std::unique_ptr<LoadedModel>& model, std::initializer_list<KvSequence*> sequences,
                       RecordedAnswer& answer) {
        addUses(*model, answer);
        answer.habits = model->forward().moe().habits().take().calls;
        for (KvSequence* const sequence : sequences) *sequence = KvSequence();
        closeModel(model);
    }

    QTemporaryDir cache_;
};

QTEST_GUILESS_MAIN(TestCudaGraphsOnHost)
#include "tst_cuda_graphs_on_host.moc"
