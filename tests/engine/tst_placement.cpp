// The places of experts and the devices that compute them never change results; budgets
// are kept; faults leave things working.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/logits.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/local_session.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Fault sweeps try every place; where sanitizers slow everything, later ones in strides.
constexpr int kAnswer = kSanitized ? 24 : 64;  // tokens
constexpr int kEach = kSanitized ? 8 : 70;     // of the n-th faults
constexpr int kStride = kSanitized ? 17 : 1;   // of later ones

QStringList policies() {
    return {QStringLiteral("auto"),     QStringLiteral("threshold"), QStringLiteral("balanced"),
            QStringLiteral("transfer"), QStringLiteral("static"),    QStringLiteral("layers")};
}

class Placement {
  public:
    Placement() {
        const LoadRequest request = on("emulated:rtx-3060", "balanced");
        const auto model = open(request);
        const Plan& plan = model->plan();
        expert_bytes_ = model->demand().expert_bytes;
        fixed_bytes_ = plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes;
        n_experts_ = model->summary().total_experts;
        dense_only_ = plan.dense_bytes;
    }

    LoadRequest on(const std::string& device, const std::string& policy) const {
        LoadRequest request;
        request.model = demoModel();
        request.device = device;
        request.dispatch = parse_dispatch(policy);
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.context = 512;
        request.cache = CacheKind::kStatic;  // only the test moves experts
        request.prefetch = PrefetchMode::kOff;
        return request;
    }
    // VRAM for everything except experts, and for this many experts, including staging.
    std::uint64_t vramFor(std::int64_t n) const {
        const std::int64_t staging = n < n_experts_ ? 2 : 0;
        return fixed_bytes_ + static_cast<std::uint64_t>(n + staging) * (expert_bytes_ + 256) + 4096;
    }
    static std::unique_ptr<LoadedModel> open(const LoadRequest& request) {
        return std::make_unique<LoadedModel>(keepCosts(request), LoadedModel::Text::kWanted, LoadProgressFn{},
                                             std::stop_token{});
    }
    std::int64_t n_experts() const { return n_experts_; }
    std::uint64_t expert_bytes() const { return expert_bytes_; }
    std::uint64_t dense_bytes() const { return dense_only_; }

  private:
    QTemporaryDir cache_;
    std::uint64_t expert_bytes_ = 0, fixed_bytes_ = 0, dense_only_ = 0;
    std::int64_t n_experts_ = 0;
};

QJsonArray goldenCases() {
    return readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")))[QLatin1String("cases")].toArray();
}

struct Greedy {
    std::vector<TokenId> tokens;
    std::vector<float> logits;  // of all steps, one after the other
};

Greedy greedy(LoadedModel& model, const std::vector<TokenId>& prompt, int n) {
    KvSequence sequence = model.new_sequence();
    Greedy result;
    std::span<const TokenId> next(prompt);
    for (int i = 0; i < n; ++i) {
        const Segment segment{&sequence, next};
        if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
        const auto logits = model.forward().logits();
        model.runtime().learn(model.forward().routing(), static_cast<std::int64_t>(next.size()));
        result.logits.insert(result.logits.end(), logits.begin(), logits.end());
        result.tokens.push_back(static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        next = std::span<const TokenId>(result.tokens).last(1);
    }
    return result;
}

}  // namespace

class TestPlacement : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() {
        const auto model = Placement::open(placement_.on("cpu", "auto"));
        for (const QJsonValue& value : goldenCases()) {
            prompts_.push_back(tokensOf(value.toObject()[QLatin1String("tokens")].toArray()));
            expected_.push_back(greedy(*model, prompts_.back(), kAnswer));
        }
        QVERIFY(prompts_.size() >= 10);
    }

    void output_isTheSameBitByBit_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("percent");
        for (const QString& policy : policies()) {
            for (const int percent : {0, 10, 50, 100}) {
                // Half has the paths of most others.
                if (kSanitized && percent != 50 && (percent == 10 || policy != QStringLiteral("transfer"))) continue;
                QTest::addRow("%s, %d %% resident", qPrintable(policy), percent) << policy << percent;
            }
        }
    }
    void output_isTheSameBitByBit() {
        QFETCH(QString, policy);
        QFETCH(int, percent);
        LoadRequest request = placement_.on("emulated:rtx-3060", policy.toStdString());
        const std::int64_t wanted = placement_.n_experts() * percent / 100;
        request.vram_bytes = placement_.vramFor(wanted);
        const auto model = Placement::open(request);
        // Whole layers only for that policy; otherwise exactly the requested number.
        if (policy != QStringLiteral("layers")) QCOMPARE(model->summary().resident_experts, wanted);
        QVERIFY(model->summary().resident_experts <= wanted);
        // All ten prompts for the setting that uses every way, three for the others: they
        // run the same code, and time is short.
        const std::size_t n = policy == QStringLiteral("balanced") && percent == 50 ? prompts_.size() : 3;
        for (std::size_t i = 0; i < n; ++i) {
            const Greedy got = greedy(*model, prompts_[i], kAnswer);
            QCOMPARE(got.tokens, expected_[i].tokens);
            QVERIFY2(got.logits == expected_[i].logits, "logits differ");
        }
        const ArenaUsage vram = model->device().memory().usage();
        QVERIFY(vram.high_water_bytes <= vram.budget_bytes);
        QVERIFY(vram.budget_bytes <= request.vram_bytes);
        const ArenaUsage ram = model->ram().usage();
        QVERIFY(ram.high_water_bytes <= ram.budget_bytes);
        const DispatchTotals& totals = model->dispatcher().totals();
        QVERIFY(totals.routed_tokens > 0);
        if (percent == 100) QCOMPARE(totals.hit_rate(), 1.0);
        if (percent == 0) QCOMPARE(totals.hit_rate(), 0.0);
        if (policy == QStringLiteral("static")) QCOMPARE(totals.bytes_copied, std::uint64_t{0});
        if (policy == QStringLiteral("transfer") && percent < 100) {
            QVERIFY(totals.bytes_copied > 0);
            QCOMPARE(totals.cpu_calls, std::uint64_t{0});
        }
    }

    void longPrompt_underAnyBudget_isTheSameBitByBit_data() {
        QTest::addColumn<int>("vram");
        QTest::addColumn<bool>("all");
        for (const int vram : {10, 16, 24, 32, 64}) {
            if (kSanitized && vram != 10 && vram != 24) continue;
            for (const bool all : {false, true})
                QTest::addRow("%d MiB, %s", vram, all ? "all logits" : "the last") << vram << all;
        }
    }
    void longPrompt_underAnyBudget_isTheSameBitByBit() {
        QFETCH(int, vram);
        QFETCH(bool, all);
        std::vector<TokenId> prompt;
        for (int i = 0; i < 600; ++i) prompt.push_back(static_cast<TokenId>(6 + i * 37 % 1990));
        LoadRequest request = placement_.on("cpu", "auto");
        request.context = 600;
        const auto cpu = Placement::open(request);
        request.device = "emulated:rtx-3060";
        request.vram_bytes = static_cast<std::uint64_t>(vram) << 20;
        const auto model = Placement::open(request);
        // Other steps; otherwise this would show nothing.
        if (vram <= 24) QVERIFY(model->forward().max_step() != cpu->forward().max_step());
        QVERIFY2(compute_logits(*model, prompt, all) == compute_logits(*cpu, prompt, all), "logits differ");
    }

    void cachesAndGuesses_changeNoResult_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<QString>("cache");
        QTest::addColumn<bool>("short_of_ram");
        for (const char* cache : {"lru-layer", "lru", "lfu", "slru"}) {
            QTest::addRow("transfer, %s", cache) << QStringLiteral("transfer") << QString::fromLatin1(cache) << false;
            QTest::addRow("swap, %s", cache) << QStringLiteral("transfer") << QString::fromLatin1(cache) << true;
        }
        QTest::newRow("balanced, slru") << QStringLiteral("balanced") << QStringLiteral("slru") << false;
        QTest::newRow("threshold, lru") << QStringLiteral("threshold") << QStringLiteral("lru") << false;
    }
    void cachesAndGuesses_changeNoResult() {
        QFETCH(QString, policy);
        QFETCH(QString, cache);
        QFETCH(bool, short_of_ram);
        LoadRequest request = placement_.on("emulated:rtx-3060", policy.toStdString());
        request.cache = parse_cache_kind(cache.toStdString());
        request.prefetch = PrefetchMode::kAlways;
        request.vram_bytes = placement_.vramFor(24);
        // Swap: device and RAM together hold each expert once.
        if (short_of_ram) request.ram_bytes = placement_.dense_bytes() + 46 * placement_.expert_bytes();
        const auto model = Placement::open(request);
        QCOMPARE(model->plan().duplicates, !short_of_ram);
        const std::int64_t resident = model->experts().n_resident();
        for (std::size_t i = 0; i < 3; ++i) {
            const Greedy got = greedy(*model, prompts_[i], kAnswer);
            QVERIFY2(got.logits == expected_[i].logits, "logits differ");
        }
        const DispatchTotals& totals = model->dispatcher().totals();
        QVERIFY(totals.guessed_copies > 0 && totals.used_guesses > 0);
        QVERIFY(totals.used_guesses <= totals.guessed_copies);
        QVERIFY(totals.admissions > 0);
        if (policy == QStringLiteral("transfer")) QVERIFY(totals.hit_rate() > 0.5);
        QCOMPARE(model->experts().n_resident(), resident);
        if (!short_of_ram) return;
        std::int64_t held = 0;
        for (std::size_t i = 0; i < model->experts().size(); ++i) {
            held += static_cast<int>(model->experts().on_device(i)) + static_cast<int>(model->experts().in_ram(i));
        }
        QVERIFY2(held <= 66, qPrintable(QString::number(held)));
        QVERIFY(model->ram().usage().high_water_bytes <= request.ram_bytes);
    }

    // The demo model's next layer is guessed at `offstage-cli recall`'s rate, and the
    // next plan uses that.
    void habits_areCounted_andKept() {
        const QTemporaryDir folder;
        LoadRequest request = placement_.on("emulated:rtx-3060", "transfer");
        request.cache_directory = folder.path().toStdString();
        request.checks_costs = false;
        request.prefetch = PrefetchMode::kAlways;
        request.vram_bytes = placement_.vramFor(24);
        RoutingHabits counted;
        {
            const auto model = Placement::open(request);
            QCOMPARE(model->popularity().habits.guessable, 0.0);
            static_cast<void>(greedy(*model, prompts_[0], 64));
            const auto n_tokens = static_cast<double>(model->forward().moe().habits().n_tokens());
            QVERIFY(n_tokens >= 60);
            model->keep_habits();
            QCOMPARE(model->forward().moe().habits().n_tokens(), 0);
            counted = model->popularity().habits;
            const ExpertGrid& grid = model->spec().experts;
            // For each decoded token, all layers but the first.
            QCOMPARE(counted.guessable, n_tokens * static_cast<double>((grid.n_layers - 1) * grid.n_active));
            QVERIFY2(counted.guess_recall() > 0.5 && counted.guess_recall() < 1,
                     qPrintable(QString::number(counted.guess_recall())));
            QCOMPARE(std::accumulate(counted.calls.begin(), counted.calls.end(), 0.0),
                     (n_tokens + static_cast<double>(prompts_[0].size())) *
                         static_cast<double>(grid.n_layers * grid.n_active));
            // A cache of all experts always hits; a cache of one token's experts hits
            // sometimes.
            QCOMPARE(counted.hit_rate(static_cast<double>(grid.n_experts)).value(), 1.0);
            const double few = counted.hit_rate(static_cast<double>(grid.n_active)).value();
            QVERIFY2(few > 0.2 && few < 0.9, qPrintable(QString::number(few)));
        }
        QCOMPARE(Placement::open(request)->popularity().habits.guess_recall(), counted.guess_recall());
        QCOMPARE(plan_model(request, 64, {}, {}).inputs.popularity.habits.reused, counted.reused);
    }

    // Several conversations in one step need more experts of a layer than there are slots
    // to copy them through.
    void severalSequences_withACache_changeNoResult() {
        const auto play = [&](const LoadRequest& request) {
            const auto model = Placement::open(request);
            std::vector<KvSequence> sequences;
            std::vector<float> logits;
            std::vector<TokenId> next;
            for (std::size_t i = 0; i < 6; ++i) {
                sequences.push_back(model->new_sequence());
                const Segment segment{&sequences.back(), prompts_[i]};
                if (model->forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone)
                    return logits;
                const auto last = model->forward().logits();
                next.push_back(static_cast<TokenId>(std::max_element(last.begin(), last.end()) - last.begin()));
            }
            for (int token = 0; token < 24; ++token) {
                std::vector<Segment> segments;
                for (std::size_t i = 0; i < 6; ++i) segments.push_back({&sequences[i], {&next[i], 1}});
                if (model->forward().step(segments, Forward::Logits::kLast, {}) != Forward::Outcome::kDone)
                    return logits;
                const auto all = model->forward().logits();
                logits.insert(logits.end(), all.begin(), all.end());
                const std::size_t vocab = all.size() / 6;
                for (std::size_t i = 0; i < 6; ++i) {
                    const auto row = all.subspan(i * vocab, vocab);
                    next[i] = static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
                }
            }
            if (request.device != "cpu") admissions_ = model->dispatcher().totals().admissions;
            return logits;
        };
        const std::vector<float> expected = play(placement_.on("cpu", "auto"));
        QVERIFY(!expected.empty());
        for (const char* policy : {"transfer", "balanced"}) {
            LoadRequest request = placement_.on("emulated:rtx-3060", policy);
            request.cache = CacheKind::kLru;
            request.prefetch = PrefetchMode::kAlways;
            request.vram_bytes = placement_.vramFor(16);
            QVERIFY2(play(request) == expected, policy);
            QVERIFY(admissions_ > 0);
        }
    }

    void output_isTheSameWithExpertsOnDisk_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<QString>("policy");
        QTest::newRow("cpu") << QStringLiteral("cpu") << QStringLiteral("auto");
        for (const QString& policy : policies()) {
            QTest::addRow("emulated, %s", qPrintable(policy)) << QStringLiteral("emulated:rtx-3060") << policy;
        }
    }
    void output_isTheSameWithExpertsOnDisk() {
        QFETCH(QString, device);
        QFETCH(QString, policy);
        LoadRequest request = placement_.on(device.toStdString(), policy.toStdString());
        if (device == QStringLiteral("cpu")) {
            const auto whole = Placement::open(request);
            request.ram_bytes = whole->plan().ram_bytes - 30 * placement_.expert_bytes();
        } else {
            request.vram_bytes = placement_.vramFor(10);
            request.ram_bytes = placement_.dense_bytes() + 20 * placement_.expert_bytes();
        }
        const auto model = Placement::open(request);
        QVERIFY(std::count(model->plan().places.begin(), model->plan().places.end(), Place::kDisk) > 10);
        for (std::size_t i = 0; i < 3; ++i) {
            const Greedy got = greedy(*model, prompts_[i], 12);
            QVERIFY(std::equal(got.logits.begin(), got.logits.end(), expected_[i].logits.begin()));
        }
        QVERIFY(model->ram().usage().high_water_bytes <= request.ram_bytes);
    }

    void learning_changesPlacesAndNoResult() {
        LoadRequest request = placement_.on("emulated:rtx-3060", "balanced");
        request.vram_bytes = placement_.vramFor(12);
        QTemporaryDir folder;
        const QString uniform = folder.filePath(QStringLiteral("uniform.json"));
        write_popularity(Popularity::uniform(8, 8, 2), "demo-model", uniform.toStdString());
        request.popularity_file = uniform.toStdString();
        const auto model = Placement::open(request);
        model->runtime().learn_placement();
        std::vector<std::uint8_t> before, after;
        model->experts().residency(before);
        // The same story repeatedly: keeping its experts pays.
        double first_hits = 0, last_hits = 0;
        for (int round = 0; round < (kSanitized ? 4 : 12); ++round) {
            model->dispatcher().reset_totals();
            const Greedy got = greedy(*model, prompts_[0], kAnswer);
            QVERIFY(got.logits == expected_[0].logits);
            (round == 0 ? first_hits : last_hits) = model->dispatcher().totals().hit_rate();
        }
        model->experts().residency(after);
        QVERIFY(before != after);
        QVERIFY2(last_hits > first_hits, qPrintable(QStringLiteral("%1 %2").arg(first_hits).arg(last_hits)));
    }

    void budgetTooSmall_saysByHowMuch() {
        LoadRequest request = placement_.on("emulated:rtx-3060", "auto");
        request.vram_bytes = placement_.dense_bytes() - 1000;
        try {
            Placement::open(request);
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
            qInfo("%s", error.what());
            QVERIFY(QString::fromUtf8(error.what()).contains(QStringLiteral("byte")) ||
                    QString::fromUtf8(error.what()).contains(QStringLiteral("iB")));
        }
    }

    // ---- faults: the 1st, 2nd, 3rd ... until none is left to inject

    void deviceAllocationFails_smallerPlanOrClearError() {
        LoadRequest request = placement_.on("emulated:rtx-3060", "balanced");
        request.vram_bytes = placement_.vramFor(6);
        int errors = 0, smaller = 0;
        for (int n = 1; n < 400; ++n) {
            if (kSanitized && n > 8 && n < 50 && n % 5 != 0) continue;  // dense weights are alike
            request.drill.device_allocation = n;
            LocalSession session;
            try {
                session.load(request, {}, {});
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
                QVERIFY(!session.is_loaded());
                ++errors;
                continue;
            }
            const LoadedModel& model = *session.model();
            const bool whole = model.summary().resident_experts == 6 && model.summary().notes.empty();
            check(session);
            if (whole && n > 60) {
                QVERIFY(errors > 10 && smaller > 0);
                return;
            }
            smaller += !whole;
        }
        QFAIL("never without a fault");
    }

    void ramAllocationFails_clearError() {
        LoadRequest request = placement_.on("emulated:rtx-3060", "balanced");
        request.vram_bytes = placement_.vramFor(6);
        int errors = 0;
        for (int n = 1; n < 200; ++n) {
            request.drill.ram_allocation = n;
            LocalSession session;
            try {
                session.load(request, {}, {});
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
                ++errors;
                continue;
            }
            check(session);
            QVERIFY(errors > 10);
            return;
        }
        QFAIL("never without a fault");
    }

    void copyFailsWhileLoading_worksOrClearError() {
        LoadRequest request = placement_.on("emulated:rtx-3060", "transfer");
        request.vram_bytes = placement_.vramFor(6);
        int errors = 0, smaller = 0;
        for (int n = 1; n < 200; ++n) {
            request.drill.copy = n;
            LocalSession session;
            try {
                session.load(request, {}, {});
            } catch (const Error& error) {
                QVERIFY2(error.kind() == ErrorKind::kDevice || error.kind() == ErrorKind::kOutOfMemory, error.what());
                ++errors;
                continue;
            }
            check(session);
            if (QTest::currentTestFailed()) return;
            if (session.model()->summary().notes.empty()) {  // a load with fewer copies
                QVERIFY(errors > 10 && smaller > 0);
                return;
            }
            ++smaller;
        }
        QFAIL("never without a fault");
    }

    void copyFailsWhileAnswering_answersOrClearError_andTheNextWorks() {
        LoadRequest request = placement_.on("emulated:rtx-3060", "transfer");
        request.vram_bytes = placement_.vramFor(6);
        LocalSession session;
        session.load(request, {}, {});
        GenerationRequest generation;
        generation.messages = {{Role::kUser, "What is an expert?"}};
        generation.sampler.temperature = 0;
        generation.max_tokens = 3;
        const std::vector<TokenId> expected = session.generate(generation, {}, {}).tokens;
        int errors = 0, unharmed = 0;
        for (int n = 1; n < 250; n += n < kEach ? 1 : kStride) {
            session.reset_conversation();
            session.model()->device().fail_copy(n);
            try {
                const std::vector<TokenId> got = session.generate(generation, {}, {}).tokens;
                QVERIFY2(got == expected, qPrintable(QStringLiteral("with copy %1 refused").arg(n)));
                ++unharmed;
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kDevice);
                ++errors;
            }
            session.model()->device().fail_copy(0);
            QCOMPARE(session.generate(generation, {}, {}).tokens, expected);
        }
        // Refused weight copies go to the CPU without any effect; refused activations end
        // the answer.
        QVERIFY2(errors > 0 && unharmed > (kSanitized ? 5 : 20),
                 qPrintable(QStringLiteral("%1 %2").arg(errors).arg(unharmed)));
    }

  private:
    void check(LocalSession& session) {
        const Greedy got = greedy(*session.model(), prompts_[0], 4);
        QVERIFY(std::equal(got.logits.begin(), got.logits.end(), expected_[0].logits.begin()) && !got.logits.empty());
    }

    Placement placement_;
    std::uint64_t admissions_ = 0;
    std::vector<std::vector<TokenId>> prompts_;
    std::vector<Greedy> expected_;
};

QTEST_GUILESS_MAIN(TestPlacement)
#include "tst_placement.moc"
