// Models whose weights are in the blocks of their files, through the CUDA backend on a
// CUDA that runs on the host (tests/cuda_host): for every place of the experts, and while
// plans move them, the logits are the CPU's. No GPU is tested.

#include <map>
#include <set>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/logits.h"
#include "engine/experts/prefetcher.h"
#include "engine/run/step_probe.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/replan_play.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;
using kernels::WeightType;

namespace {

constexpr int kAnswer = test::kSanitized ? 2 : 4;  // tokens
// Without cuBLAS products are float32 throughout; with it, of more than 8 rows, bf16.
constexpr double kExact = 1e-4;
constexpr double kRounded = 3e-2;

struct ExpectedAnswer {
    std::vector<TokenId> tokens;  // the prompt and what follows
    std::vector<std::vector<float>> logits;
};

}  // namespace

class TestCudaBlocksOnHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { tests::write_mixed_gguf(path_of(QStringLiteral("mixed"))); }
    void init() { reset(true); }

    void logits_areThoseOfTheCpu_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("percent");  // of the experts, resident
        QTest::addColumn<bool>("cublas");
        QTest::newRow("mixed, half resident") << QStringLiteral("mixed") << QStringLiteral("transfer") << 50 << false;
        QTest::newRow("MXFP4 folder, half resident")
            << QStringLiteral("gpt_oss_mxfp4") << QStringLiteral("transfer") << 50 << true;
        if (kSanitized) return;
        QTest::newRow("mixed, all copied") << QStringLiteral("mixed") << QStringLiteral("transfer") << 0 << true;
        QTest::newRow("mixed, all resident") << QStringLiteral("mixed") << QStringLiteral("static") << 100 << false;
        QTest::newRow("mixed, half on the CPU") << QStringLiteral("mixed") << QStringLiteral("static") << 50 << false;
        for (const char* name : {"gpt_oss_mxfp4", "gpt_oss_mxfp4.gguf"}) {
            for (const int percent : {0, 50, 100}) {
                QTest::addRow("%s, %d %%", name, percent)
                    << QString(name) << QStringLiteral("transfer") << percent << false;
            }
        }
    }
    void logits_areThoseOfTheCpu() {
        QFETCH(QString, name);
        QFETCH(QString, policy);
        QFETCH(int, percent);
        QFETCH(bool, cublas);
        const ExpectedAnswer expected = answered(name);
        reset(cublas);
        LoadRequest request = on_host_layer(name);
        request.dispatch = parse_dispatch(policy.toStdString());
        request.vram_bytes = vram_for(request, percent);
        auto model = open(request);
        const auto n = static_cast<std::int64_t>(model->spec().experts.size());
        const std::int64_t resident = model->summary().resident_experts;
        QVERIFY2(percent == 0     ? resident == 0
                 : percent == 100 ? resident == n
                                  : resident > n / 4 && resident < n * 3 / 4,
                 qPrintable(QString::number(resident)));
        compare(*model, expected, cublas ? kRounded : kExact);
        const DispatchTotals& totals = model->dispatcher().totals();
        QCOMPARE(totals.copied_calls > 0, policy == QStringLiteral("transfer") && percent < 100);
        QCOMPARE(totals.resident_calls > 0, percent > 0);
        QCOMPARE(totals.cpu_calls > 0, policy == QStringLiteral("static") && percent < 100);
        const ArenaUsage vram = model->device().memory().usage();
        QVERIFY(vram.high_water_bytes <= vram.budget_bytes);
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Both sides round inputs to 8 bits. A different last bit of a sum changes a code now
    // and then, and that changes later ones: logits differ by about the effect of
    // rounding. The CPU rounds only for few tokens, so results for many tokens are
    // compared with those.
    void logitsOfRoundedInputs_areThoseOfTheCpu() {
        constexpr double kInBytes = 4e-2;
        const QString name = QStringLiteral("mixed");
        const std::vector<TokenId> tokens = answered(name).tokens;
        const auto few = std::span(tokens).first(5);
        const auto many = std::span(tokens).first(11);
        LoadRequest cpu = on_cpu(name);
        const auto exact = compute_logits(*open(cpu), few, true);
        cpu.compute = ComputeMode::kInt8;
        const auto expected = compute_logits(*open(cpu), few, true);
        reset(false);
        LoadRequest request = on_host_layer(name);
        request.compute = ComputeMode::kInt8;
        request.dispatch = parse_dispatch("transfer");
        request.vram_bytes = vram_for(request, 50);
        auto model = open(request);
        QCOMPARE(model->summary().device_compute, std::string("int8 inputs with all types"));
        for (const auto& rows : {compute_logits(*model, few, true), compute_logits(*model, many, true)}) {
            for (std::size_t r = 0; r < few.size(); ++r) {
                const double error = relativeError(rows[r], expected[r]);
                QVERIFY2(error < kInBytes, qPrintable(QStringLiteral("%1: %2").arg(r).arg(error)));
                QVERIFY(relativeError(rows[r], exact[r]) > 10 * kExact);
            }
        }
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Where the device has all experts it groups a prompt's tokens by the choice: bits
    // and records are those with a choice that the host waits for (because of a probe),
    // and nothing goes to the device between the layers.
    void choiceOfAPrompt_staysOnTheDevice_data() {
        QTest::addColumn<bool>("packed");
        QTest::newRow("a file's blocks with inputs in 8 bits") << false;
        QTest::newRow("HQQ4") << true;
    }
    void choiceOfAPrompt_staysOnTheDevice() {
        QFETCH(bool, packed);
        struct Probe final : StepProbe {
            void begin_step(std::int64_t) override {}
            void submit(std::int64_t, const DeviceWeights&, const StepContext&) override {}
            void collect(std::int64_t, const std::int32_t*, std::int64_t) override {}
        } probe;
        const std::vector<TokenId> tokens = answered(QStringLiteral("mixed")).tokens;
        reset(false);
        LoadRequest request = on_host_layer(packed ? QStringLiteral("grouped_bf16") : QStringLiteral("mixed"));
        if (packed) request.quant.experts = kernels::WeightType::kHqq4;
        if (!packed) request.compute = ComputeMode::kInt8;
        request.dispatch = parse_dispatch("static");
        request.vram_bytes = packed ? std::uint64_t{256} << 20 : vram_for(request, 100);
        auto model = open(request);
        struct Result {
            std::vector<std::vector<float>> rows;
            std::vector<std::int32_t> routing;
            std::uint64_t resident_calls = 0;
            int n_copies = 0;
        };
        const auto read = [&](StepProbe* awaits) {
            model->forward().set_probe(awaits);
            const int before = cuda_host::calls_of("cudaMemcpyAsync");
            const std::uint64_t calls_before = model->dispatcher().totals().resident_calls;
            Result result;
            result.rows = compute_logits(*model, std::span(tokens).first(11), true);
            result.n_copies = cuda_host::calls_of("cudaMemcpyAsync") - before;
            result.resident_calls = model->dispatcher().totals().resident_calls - calls_before;
            const auto routing = model->forward().routing();
            result.routing.assign(routing.begin(), routing.end());
            return result;
        };
        (void)read(nullptr);  // the tables of experts go to the device once
        const Result awaited = read(&probe);
        const Result there = read(nullptr);
        QCOMPARE(there.rows, awaited.rows);
        QCOMPARE(there.routing, awaited.routing);
        QCOMPARE(there.resident_calls, awaited.resident_calls);
        const auto n_layers = static_cast<int>(model->spec().experts.n_layers);
        QVERIFY2(there.n_copies + n_layers <= awaited.n_copies,
                 qPrintable(QStringLiteral("%1 and %2").arg(there.n_copies).arg(awaited.n_copies)));
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

    // Budgets that change between tokens, with guessed copies and a cache.
    void plansThatMove_changeNoLogits() {
        const ExpectedAnswer expected = answered(QStringLiteral("mixed"));
        reset(false);
        LoadRequest request = on_host_layer(QStringLiteral("mixed"));
        request.prefetch = PrefetchMode::kAlways;
        request.dispatch = parse_dispatch("transfer");
        request.vram_bytes = vram_for(request, 70);
        auto model = open(request);
        auto replanner = std::make_unique<Replanner>(*model);
        KvSequence sequence = model->new_sequence();
        replanner->set_tokens_in_use([&] { return sequence.size(); });
        model->forward().set_between_layers([&] { replanner->between_layers(); });
        std::set<std::int64_t> residents;
        const int percents[] = {70, 20, 100, 40};
        std::span<const TokenId> tokens(expected.tokens);
        for (std::size_t i = 0; i < expected.logits.size(); ++i) {
            ReplanRequest replan;
            replan.vram_bytes = vram_for(request, percents[i % std::size(percents)]);
            begin_replan(*replanner, i + 1, replan, static_cast<std::int64_t>(i));
            if (i % 2 == 0) replanner->finish({});
            replanner->between_steps(static_cast<std::int64_t>(i));
            const Segment segment{&sequence, i == 0 ? tokens.first(tokens.size() - expected.logits.size() + 1)
                                                    : tokens.subspan(tokens.size() - expected.logits.size() + i, 1)};
            QCOMPARE(model->forward().step({&segment, 1}, Forward::Logits::kLast, {}), Forward::Outcome::kDone);
            const double error = relativeError(model->forward().logits(), expected.logits[i]);
            QVERIFY2(error < kExact, qPrintable(QStringLiteral("step %1: %2").arg(i).arg(error)));
            residents.insert(model->experts().n_resident());
        }
        QVERIFY(residents.size() > 1);
        sequence = KvSequence();
        replanner.reset();
        model.reset();
        QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host()));
    }

  private:
    void reset(bool cublas) {
        cuda_host::Settings settings;
        settings.cublas = cublas;
        if (cublas != cublas_) plans_.clear();  // cuBLAS takes additional memory
        cublas_ = cublas;
        cuda_host::reset(settings);
    }
    std::string path_of(const QString& name) const {
        if (name == QStringLiteral("mixed")) return folder_.filePath("mixed.gguf").toStdString();
        if (name.endsWith(QStringLiteral(".gguf"))) {
            return sourcePath(QStringLiteral("tests/engine/data/gguf/") + name).toStdString();
        }
        return tinyModel(name);
    }
    LoadRequest on_cpu(const QString& name) const {
        LoadRequest request;
        request.model = path_of(name);
        request.kv = KvType::kF32;
        request.context = 128;
        request.compute = ComputeMode::kF32;
        request.n_threads = 1;  // tests run side by side, and threads would wait for each other
        request.prefetch = PrefetchMode::kOff;
        request.cache_directory = folder_.path().toStdString();
        request.checks_costs = false;
        request.quant_cache_directory = folder_.filePath("quantized").toStdString();
        return request;
    }
    LoadRequest on_host_layer(const QString& name) const {
        LoadRequest request = on_cpu(name);
        request.device = "cuda";
        request.opens_device = open_on_host;
        return request;
    }
    static std::unique_ptr<LoadedModel> open(const LoadRequest& request) {
        return std::make_unique<LoadedModel>(keepCosts(request), LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                             std::stop_token{});
    }
    // The budget with which this many experts are resident.
    std::uint64_t vram_for(LoadRequest request, int percent) {
        request.vram_bytes = std::uint64_t{256} << 20;
        const bool guesses = request.prefetch != PrefetchMode::kOff;
        Plan& plan = plans_[request.model + (guesses ? " with guesses" : "")];
        if (plan.places.empty()) plan = open(request)->plan();
        const auto staged = static_cast<std::uint64_t>(kDemandSlots + (guesses ? Prefetcher::kMostGuessedCopies : 0));
        return plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes +
               plan.expert_bytes * static_cast<std::uint64_t>(percent) / 100 +
               (percent < 100 ? staged * plan.slot_bytes : 0);
    }
    // The CPU's greedy answer to a prompt.
    ExpectedAnswer answered(const QString& name) {
        ExpectedAnswer& answer = answers_[name];
        if (!answer.logits.empty()) return answer;
        const auto model = open(on_cpu(name));
        KvSequence sequence = model->new_sequence();
        for (TokenId t = 0; t < 11; ++t) answer.tokens.push_back((t * 7 + 3) % 40);
        std::vector<TokenId> next = answer.tokens;
        for (int i = 0; i < kAnswer; ++i) {
            const Segment segment{&sequence, next};
            if (model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
            const auto logits = model->forward().logits();
            answer.logits.emplace_back(logits.begin(), logits.end());
            next = {best(logits)};
            if (i + 1 < kAnswer) answer.tokens.push_back(next[0]);
        }
        return answer;
    }
    static void compare(LoadedModel& model, const ExpectedAnswer& expected, double tolerance) {
        KvSequence sequence = model.new_sequence();
        const std::size_t prompt = expected.tokens.size() - expected.logits.size() + 1;
        // The head's product of many rows too.
        const auto rows = compute_logits(model, std::span(expected.tokens).first(prompt), true);
        QCOMPARE(rows.size(), prompt);
        const double of_rows = relativeError(rows.back(), expected.logits.front());
        QVERIFY2(of_rows < tolerance, qPrintable(QString::number(of_rows)));
        for (std::size_t i = 0; i < expected.logits.size(); ++i) {
            const std::span<const TokenId> tokens(expected.tokens);
            const Segment segment{&sequence, i == 0 ? tokens.first(prompt) : tokens.subspan(prompt + i - 1, 1)};
            QCOMPARE(model.forward().step({&segment, 1}, Forward::Logits::kLast, {}), Forward::Outcome::kDone);
            const double error = relativeError(model.forward().logits(), expected.logits[i]);
            QVERIFY2(error < tolerance, qPrintable(QStringLiteral("step %1: %2").arg(i).arg(error)));
        }
    }

    QTemporaryDir folder_;
    bool cublas_ = false;
    std::map<QString, ExpectedAnswer> answers_;
    std::map<std::string, Plan> plans_;
};

QTEST_GUILESS_MAIN(TestCudaBlocksOnHost)
#include "tst_cuda_blocks_on_host.moc"
