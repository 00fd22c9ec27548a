// Layers that the device shares with the host, one token as one sequence in which the
// device waits for the host's rows, on a CUDA that runs on the host (tests/cuda_host). No
// GPU is tested.

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cuda_backend.h"
#include "engine/run/replanner.h"
#include "tests/engine/cuda_answers.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Computes nothing; is called in the host's part of each layer.
class InEachPart final : public ElsewhereExecutor {
  public:
    explicit InEachPart(std::function<void(std::int64_t layer)> call) : call_(std::move(call)) {}
    bool takes(std::int64_t, std::int64_t) const override { return false; }
    double expert_us(kernels::WeightType, std::int64_t) const override { return 1e9; }
    double transfer_us(std::int64_t) const override { return 1e9; }
    void submit(LayerWork& work, std::span<const std::size_t>) override { call_(work.layer); }

  private:
    std::function<void(std::int64_t layer)> call_;
};

int calls(const char* function) {
    return cuda_host::calls_of(function, std::this_thread::get_id());
}

}  // namespace

class TestCudaAwaitingOnHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { cuda_host::reset(); }
    void cleanup() {  // of a test that has failed
        sequence_ = KvSequence();
        model_.reset();
    }

    // Answers, choices and records are those of a host that waits for each layer's choice,
    // through steps with times, which have no such sequence. One graph is started for a
    // token instead of two for each shared layer.
    void awaiting_changesNothing_data() {
        QTest::addColumn<QString>("experts");
        QTest::newRow("of each layer some on the CPU") << QStringLiteral("shared");
        if (kSanitized) return;
        QTest::newRow("two layers shared") << QStringLiteral("two");
        QTest::newRow("one layer in two formats") << QStringLiteral("formats");
        QTest::newRow("some on disk, with guesses") << QStringLiteral("disk");
        QTest::newRow("memory is not mapped") << QStringLiteral("unmapped");
    }
    void awaiting_changesNothing() {
        QFETCH(QString, experts);
        Answer answers[2];
        for (const bool awaits : {false, true}) {
            cuda_host::reset();
            const bool maps = experts != QStringLiteral("unmapped");
            if (!maps) cuda_host::fail_call("cudaHostGetDevicePointer", -1);
            LoadRequest request = ofSharedLayers(experts == QStringLiteral("two") ? 80 : 50);
            if (experts == QStringLiteral("disk")) {
                request.ram_bytes = std::uint64_t{8} << 20;
                request.prefetch = PrefetchMode::kAuto;
            }
            open(request);
            if (experts == QStringLiteral("two")) {
                for (const std::size_t layer : {2, 5}) model_->experts().drop_device(layer * 8 + 1);
            }
            if (experts == QStringLiteral("formats")) {
                std::size_t on_device = 3 * 8;
                while (!model_->experts().on_device(on_device)) ++on_device;
                Replanner replanner(*model_);
                replanner.change(1, ExpertChange::Kind::kFormat, std::span(&on_device, 1), kernels::WeightType::kInt8,
                                 0);
                replanner.finish({});
                QCOMPARE(replanner.reports().back().problem.english(), std::string());
            }
            model_->forward().moe().set_awaiting(awaits);
            QCOMPARE(model_->device().awaits_host(), maps);
            for (int i = 0; i < kSteps; ++i) QVERIFY(step(answers[awaits]) == Forward::Outcome::kDone);
            addUses(*model_, answers[awaits].recorded);
            answers[awaits].recorded.habits = model_->forward().moe().habits().take().calls;
            QVERIFY(model_->dispatcher().totals().cpu_calls > 0);
            close();
        }
        QVERIFY(answers[1].recorded.logits == answers[0].recorded.logits);
        QVERIFY(answers[1].recorded.routing == answers[0].recorded.routing);
        QVERIFY(answers[1].recorded.events == answers[0].recorded.events);
        QVERIFY(answers[1].recorded.uses == answers[0].recorded.uses);
        QVERIFY(answers[1].recorded.habits == answers[0].recorded.habits);
        if (experts == QStringLiteral("unmapped")) return;
        // Two for each shared layer and one before them, in steps whose sequences have
        // come before.
        const int before = experts == QStringLiteral("two") ? 2 * 2 + 1 : 2 * 8 + 1;
        // The layer in two formats divides the sequence.
        const int awaited = experts == QStringLiteral("formats") ? 4 : 1;
        for (int i = 3; i < kSteps && i != kTimed; ++i) {
            const QByteArray counts = QStringLiteral("step %1: %2 and %3 graphs, %4 and %5 copies, %6 kernels")
                                          .arg(i)
                                          .arg(answers[0].graphs[i])
                                          .arg(answers[1].graphs[i])
                                          .arg(answers[0].copies[i])
                                          .arg(answers[1].copies[i])
                                          .arg(answers[1].kernels[i])
                                          .toUtf8();
            QVERIFY2(answers[0].graphs[i] == before, counts);
            QVERIFY2(answers[1].graphs[i] == awaited, counts);
            QVERIFY2(answers[1].kernels[i] == answers[0].kernels[i], counts);  // of the expert in another format
            QVERIFY2(answers[1].copies[i] == 2, counts);                       // inputs and logits
        }
    }

    // Of every family, with every other expert of each layer on the CPU.
    void families_answerTheSame_data() {
        QTest::addColumn<QString>("model");
        const QStringList models =
            QDir(sourcePath(QStringLiteral("tests/engine/data/models"))).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
        QVERIFY(models.size() > 40);
        for (qsizetype i = 0; i < models.size(); i += kSanitized ? 8 : 1)
            QTest::newRow(qPrintable(models[i])) << models[i];
    }
    void families_answerTheSame() {
        QFETCH(QString, model);
        Answer answers[2];
        for (const bool awaits : {false, true}) {
            LoadRequest request = ofSharedLayers(80);
            request.model = tinyModel(model);
            open(request);
            for (std::size_t i = 0; i < static_cast<std::size_t>(model_->spec().experts.size()); i += 2) {
                if (model_->experts().in_ram(i)) model_->experts().drop_device(i);
            }
            model_->forward().moe().set_awaiting(awaits);
            for (int i = 0; i < 4; ++i) QVERIFY(step(answers[awaits]) == Forward::Outcome::kDone);
            QVERIFY(model_->dispatcher().totals().cpu_calls > 0);
            close();
        }
        QVERIFY(answers[1].recorded.logits == answers[0].recorded.logits);
        QVERIFY(answers[1].recorded.routing == answers[0].recorded.routing);
        QVERIFY(answers[1].recorded.events == answers[0].recorded.events);
        QCOMPARE(answers[1].graphs, (std::vector<int>{0, 1, 1, 1}));  // the first step has times
    }

    // A host that is late, with each layer's part or with one.
    void lateAnswers_areAwaited() {
        std::int64_t late = -1;  // in this layer
        const std::vector<std::vector<float>> wanted = logitsOf(kFew);
        openWith([&](std::int64_t layer) {
            if (late < 0 || layer == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        });
        Answer answer;
        for (; late < kFew - 1; ++late) {
            QVERIFY(step(answer) == Forward::Outcome::kDone);
            if (late >= 0) QCOMPARE(answer.graphs.back(), 1);
        }
        QVERIFY(answer.recorded.logits == wanted);
        close();
    }

    // A step that is stopped in the host's part of any layer ends without waiting for the
    // parts behind it, and changes nothing: the same step follows.
    void stops_inEachLayer() {
        const std::vector<std::vector<float>> wanted = logitsOf(kFew);
        std::int64_t stopped = -1;
        std::stop_source stop;
        openWith([&](std::int64_t layer) {
            if (layer == stopped) stop.request_stop();
        });
        Answer answer;
        for (int i = 0; i < 2; ++i) QVERIFY(step(answer) == Forward::Outcome::kDone);
        for (stopped = 0; stopped < 8; ++stopped) {
            stop = {};
            const std::int64_t size = sequence_.size();
            const auto outcome = step(answer, stop.get_token());
            QCOMPARE(outcome == Forward::Outcome::kStopped, stopped < 7);  // behind the last part none is left
            QCOMPARE(sequence_.size(), size + (stopped < 7 ? 0 : 1));
            QVERIFY(model_->device().ok());
        }
        while (answer.recorded.logits.size() < wanted.size()) QVERIFY(step(answer) == Forward::Outcome::kDone);
        QVERIFY(answer.recorded.logits == wanted);
        close();
    }

    // An answer that never comes ends the wait, and the step fails; so does a step during
    // which the GPU is lost. The next one is as if nothing had happened.
    void failures_inAPart_data() {
        QTest::addColumn<bool>("lost");
        QTest::newRow("no answer") << false;
        QTest::newRow("the GPU is lost") << true;
    }
    void failures_inAPart() {
        QFETCH(bool, lost);
        const std::vector<std::vector<float>> wanted = logitsOf(kFew);
        bool fails = false;
        openWith([&](std::int64_t) {
            if (!std::exchange(fails, false)) return;
            if (lost) return cuda_host::lose_context(true);
            Backend& device = model_->device();
            const DeviceEvent end = device.record(DeviceEvent::Queue::kCompute);
            while (!device.has_happened(end)) std::this_thread::yield();
        });
        Answer answer;
        for (int i = 0; i < 3; ++i) QVERIFY(step(answer) == Forward::Outcome::kDone);
        fails = true;
        if (!lost) context_->set_answer_limit(std::chrono::milliseconds(500));
        QVERIFY(step(answer) == Forward::Outcome::kFailed);
        QVERIFY(!fails);
        QVERIFY(!model_->device().ok() && !model_->device().failure().empty());
        if (!lost) qInfo("%s", model_->device().failure().english().c_str());
        cuda_host::lose_context(false);
        context_->set_answer_limit(std::chrono::minutes(5));
        model_->device().clear_failure();
        QVERIFY(model_->device().ok());
        while (answer.recorded.logits.size() < wanted.size()) QVERIFY(step(answer) == Forward::Outcome::kDone);
        QVERIFY(answer.recorded.logits == wanted);
        QCOMPARE(answer.graphs.back() == 1, lost);  // behind an answer that never came no kernel waits any more
        close();
    }

    // A part that throws, as where an expert cannot be read, ends the step, and nothing
    // waits for it.
    void partsThatThrow_leaveNothingWaiting() {
        const std::vector<std::vector<float>> wanted = logitsOf(kFew);
        std::int64_t throws = -1;
        openWith([&](std::int64_t layer) {
            if (layer == throws) throw std::runtime_error("unreadable");
        });
        Answer answer;
        for (int i = 0; i < 2; ++i) QVERIFY(step(answer) == Forward::Outcome::kDone);
        for (throws = 0; throws < 8; throws += 7) {
            QVERIFY_THROWS_EXCEPTION(std::runtime_error, (void)step(answer));
            QVERIFY(model_->device().ok());
            const std::int64_t thrower = std::exchange(throws, -1);
            QVERIFY(step(answer) == Forward::Outcome::kDone);
            throws = thrower;
        }
        throws = -1;
        while (answer.recorded.logits.size() < wanted.size()) QVERIFY(step(answer) == Forward::Outcome::kDone);
        QVERIFY(answer.recorded.logits == wanted);
        close();
    }

    // A GPU that drives a display ends kernels that wait, and the context with them.
    void limitedKernels_doNotWait() {
        cuda_host::reset({.limits_kernels = true});
        open(ofSharedLayers(50));
        Answer answer;
        for (int i = 0; i < 3; ++i) QVERIFY(step(answer) == Forward::Outcome::kDone);
        QVERIFY(answer.graphs.back() > 1);
        close();
    }

    // Each of a step's copies and stores fails once.
    void nthCopy_fails() {
        const std::vector<std::vector<float>> wanted = logitsOf(kFew);
        openWith([](std::int64_t) {});
        Answer answer;
        for (int i = 0; i < 3; ++i) QVERIFY(step(answer) == Forward::Outcome::kDone);
        int n_failed = 0;
        for (int n = 1; answer.recorded.logits.size() < 4; n += kSanitized ? 5 : 1) {
            model_->device().fail_copy(n);
            if (step(answer) == Forward::Outcome::kDone) break;
            ++n_failed;
            model_->device().fail_copy(0);
            model_->device().clear_failure();
            QVERIFY(model_->device().ok());
        }
        model_->device().fail_copy(0);
        QVERIFY2(n_failed >= (kSanitized ? 3 : 16), qPrintable(QString::number(n_failed)));  // two of each layer
        while (answer.recorded.logits.size() < wanted.size()) QVERIFY(step(answer) == Forward::Outcome::kDone);
        QVERIFY(answer.recorded.logits == wanted);
        close();
    }

    // A policy that copies: the first step that would do so computes on the CPU instead, and
    // is the last one of this kind.
    void copies_endIt() {
        if (kSanitized) return;
        constexpr int kLong = 22;
        const std::vector<std::vector<float>> wanted = logitsOf(kLong - 1);
        open(ofSharedLayers(50));
        Answer answer;
        const auto n_copied = [&] { return model_->dispatcher().totals().copied_calls; };
        for (int i = 0; i < kLong - 2; ++i) QVERIFY(step(answer) == Forward::Outcome::kDone);
        model_->dispatcher().set_policy(parse_dispatch("transfer"));
        QVERIFY(step(answer) == Forward::Outcome::kDone);
        QCOMPARE(n_copied(), std::uint64_t{0});
        QCOMPARE(answer.graphs.back(), 1);
        QVERIFY(answer.recorded.logits == wanted);
        QVERIFY(step(answer) == Forward::Outcome::kDone);
        QVERIFY(n_copied() > 0);
        close();
    }

  private:
    static constexpr int kTimed = 16;  // steps behind the first with times
    static constexpr int kSteps = kSanitized ? 4 : kTimed + 4;
    static constexpr int kFew = 9;

    struct Answer {
        RecordedAnswer recorded;
        std::vector<int> graphs, copies, kernels;  // of each step
    };

    LoadRequest ofSharedLayers(int megabytes) {
        LoadRequest request = onHostLayer(cache_, QStringLiteral("static"), megabytes);
        request.learn_placement = false;
        request.prefetch = PrefetchMode::kOff;
        request.opens_device = [this](std::uint64_t budget) {
            kernels::CudaOpening opening = kernels::open_cuda_context_on_host(0);
            context_ = opening.context.get();
            context_->set_answer_limit(std::chrono::minutes(5));
            return make_cuda_backend(std::move(opening), 0, budget);
        };
        return request;
    }
    void open(const LoadRequest& request) {
        model_ = loadModel(request);
        model_->source().set_helper(nullptr);  // packed by the processor, since every CUDA thread is a fiber here
        sequence_ = model_->new_sequence();
    }
    void openWith(std::function<void(std::int64_t layer)> in_each_part) {
        open(ofSharedLayers(50));
        model_->forward().moe().add_executor(std::make_unique<InEachPart>(std::move(in_each_part)));
    }
    void close() {
        sequence_ = KvSequence();
        closeModel(model_);
    }
    // Of the next token, which does not depend on the logits.
    Forward::Outcome step(Answer& answer, const std::stop_token& stop = {}) {
        const auto token = static_cast<TokenId>(1 + 3 * sequence_.size());
        const Segment segment{&sequence_, {&token, 1}};
        const Recorder& recorder = model_->dispatcher().recorder();
        const std::uint64_t begin = recorder.n_events();
        const int graphs = calls("cudaGraphLaunch"), copies = calls("cudaMemcpyAsync");
        const int kernels = calls("cudaLaunchKernel");
        const auto outcome = model_->forward().step({&segment, 1}, Forward::Logits::kLast, stop);
        if (outcome != Forward::Outcome::kDone) return outcome;
        const auto logits = model_->forward().logits();
        answer.recorded.logits.emplace_back(logits.begin(), logits.end());
        answer.recorded.routing.emplace_back(model_->forward().routing().begin(), model_->forward().routing().end());
        addEvents(recorder, begin, answer.recorded);
        answer.graphs.push_back(calls("cudaGraphLaunch") - graphs);
        answer.copies.push_back(calls("cudaMemcpyAsync") - copies);
        answer.kernels.push_back(calls("cudaLaunchKernel") - kernels);
        return outcome;
    }
    // Without such sequences.
    std::vector<std::vector<float>> logitsOf(int n_steps) {
        open(ofSharedLayers(50));
        model_->forward().moe().set_awaiting(false);
        Answer answer;
        for (int i = 0; i < n_steps; ++i) (void)step(answer);
        close();
        cuda_host::reset();
        return answer.recorded.logits;
    }

    QTemporaryDir cache_;
    kernels::CudaContext* context_ = nullptr;
    std::unique_ptr<LoadedModel> model_;
    KvSequence sequence_;
};

QTEST_GUILESS_MAIN(TestCudaAwaitingOnHost)
#include "tst_cuda_awaiting_on_host.moc"
