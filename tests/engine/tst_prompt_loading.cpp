// A prompt's experts that are copied ahead of demand, places that are borrowed for it,
// and mixed formats in the cache: results stay the same bit by bit, budgets are kept, and
// borrowed places are restored.

#include <algorithm>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/experts/staging.h"
#include "engine/run/loaded_model.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Its host is accounted as well: the cost model's decisions do not depend on the machine
// that runs the test.
constexpr const char* kDevice = "emulated:rtx-3060-desktop";

std::vector<TokenId> long_prompt() {
    std::vector<TokenId> tokens;
    const QJsonArray cases =
        readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")))[QLatin1String("cases")].toArray();
    for (const QJsonValue& value : cases) {
        for (const TokenId token : tokensOf(value.toObject()[QLatin1String("tokens")].toArray())) {
            tokens.push_back(token);
        }
    }
    tokens.resize(std::min<std::size_t>(tokens.size(), 192));
    return tokens;
}

struct Played {
    std::vector<float> logits;  // of all steps, one after the other
    bool ok = true;
};

// The prompt in pieces of `piece` tokens, then `n` tokens.
Played play(LoadedModel& model, std::span<const TokenId> prompt, std::size_t piece, int n) {
    KvSequence sequence = model.new_sequence();
    Played answer;
    const auto step = [&](std::span<const TokenId> tokens, bool last) {
        const Segment segment{&sequence, tokens};
        const auto wanted = last ? Forward::Logits::kLast : Forward::Logits::kNone;
        answer.ok &= model.forward().step({&segment, 1}, wanted, {}) == Forward::Outcome::kDone;
        const auto logits = model.forward().logits();
        answer.logits.insert(answer.logits.end(), logits.begin(), logits.end());
    };
    for (std::size_t at = 0; at < prompt.size(); at += piece) {
        step(prompt.subspan(at, std::min(piece, prompt.size() - at)), at + piece >= prompt.size());
    }
    for (int i = 0; i < n && answer.ok; ++i) {
        const auto last = model.forward().logits();
        const auto next = static_cast<TokenId>(std::max_element(last.begin(), last.end()) - last.begin());
        step({&next, 1}, true);
    }
    return answer;
}

std::unique_ptr<LoadedModel> open(const LoadRequest& request) {
    return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
}

}  // namespace

class TestPromptLoading : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() {
        prompt_ = long_prompt();
        const auto model = open(on("cpu"));
        expected_ = play(*model, prompt_, 96, 12).logits;
        QVERIFY(!expected_.empty());
    }

    // ---- staging
    void staging_handsOutWhatNobodyWaitsFor() {
        std::vector<std::byte> memory(4 * 256);
        std::vector<SlotHeap::Slot> places;
        for (std::size_t i = 0; i < 3; ++i) places.push_back({memory.data() + i * 256, 256});
        Staging staging;
        staging.reset(places, 256, 1);
        QCOMPARE(staging.n_demand(), 2);
        staging.slot(0).awaited = true;
        for (int i = 0; i < 3; ++i) QCOMPARE(staging.next(256), std::optional<std::size_t>(1));
        staging.slot(1).expert = 7;  // copied for a later layer
        QVERIFY(!staging.next(256).has_value());
        QCOMPARE(staging.find(7), std::optional<std::size_t>(1));

        staging.read_prompt(true);  // guesses' slots and lenders' serve as well
        staging.add_borrowed({memory.data() + 3 * 256, 128}, 42, {});
        QCOMPARE(staging.n_slots(), 3);
        QCOMPARE(staging.n_demand(), 4);
        QCOMPARE(staging.next(256), std::optional<std::size_t>(2));
        QCOMPARE(staging.next(256), std::optional<std::size_t>(2));  // the borrowed one is too small
        QCOMPARE(staging.next(128), std::optional<std::size_t>(3));
        staging.slot(3).returning = true;
        QCOMPARE(staging.next(128), std::optional<std::size_t>(2));
        QCOMPARE(staging.n_demand(), 3);
        staging.remove_borrowed(3);
        QCOMPARE(staging.n_borrowed(), 0);
    }

    // ---- prompts
    void prompt_isTheSame_howeverItsExpertsCome_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<QString>("loading");
        QTest::addColumn<int>("resident");
        QTest::addColumn<bool>("prefetch");
        for (const char* policy : {"transfer", "balanced"}) {
            for (const char* loading : {"on-demand", "ahead", "lend"}) {
                for (const int resident : {0, 24}) {
                    QTest::addRow("%s, %s, %d resident", policy, loading, resident)
                        << QString::fromLatin1(policy) << QString::fromLatin1(loading) << resident
                        << (resident > 0 && loading != std::string_view("lend"));
                }
            }
        }
    }
    void prompt_isTheSame_howeverItsExpertsCome() {
        QFETCH(QString, policy);
        QFETCH(QString, loading);
        QFETCH(int, resident);
        QFETCH(bool, prefetch);
        LoadRequest request = on(kDevice);
        request.dispatch = parse_dispatch(policy.toStdString());
        request.prompt_loading = parse_prompt_loading(loading.toStdString());
        request.prefetch = prefetch ? PrefetchMode::kAlways : PrefetchMode::kOff;
        request.vram_bytes = vramFor(resident);
        const auto model = open(request);
        const std::int64_t before = model->experts().n_resident();
        for (int turn = 0; turn < 2; ++turn) {
            const Played answer = play(*model, prompt_, 96, 12);
            QVERIFY(answer.ok);
            QVERIFY2(answer.logits == expected_, "logits differ");
            QCOMPARE(model->experts().n_resident(), before);
            QCOMPARE(model->experts().staging().n_borrowed(), 0);
        }
        const Prefetcher::PromptCopies& copies = model->forward().moe().mover().prefetcher().prompt_copies();
        if (loading == QStringLiteral("on-demand")) QCOMPARE(copies.ahead, std::uint64_t{0});
        if (loading != QStringLiteral("on-demand") && policy == QStringLiteral("transfer")) {
            QVERIFY(copies.ahead > 0);
            QVERIFY(copies.unused_ahead * 4 < copies.ahead);
        }
        const bool lends = loading == QStringLiteral("lend") && resident > 0;
        if (lends && policy == QStringLiteral("transfer")) QVERIFY(copies.borrowed > 0);
        if (!lends) QCOMPARE(copies.borrowed, std::uint64_t{0});
        const ArenaUsage vram = model->device().memory().usage();
        QVERIFY(vram.high_water_bytes <= vram.budget_bytes);
    }

    void prompt_stoppedOrRefusedCopies_givesBackWhatWasLent() {
        LoadRequest request = on(kDevice);
        request.dispatch = parse_dispatch("transfer");
        request.vram_bytes = vramFor(24);
        const auto model = open(request);
        const std::int64_t before = model->experts().n_resident();
        for (int nth = 1; nth < 60; nth += 7) {
            model->device().fail_copy(nth);
            play(*model, prompt_, prompt_.size(), 1);
            model->device().clear_failure();
            model->device().fail_copy(0);
            QVERIFY(play(*model, prompt_, 96, 12).logits == expected_);
            QCOMPARE(model->experts().n_resident(), before);
        }
        // A re-plan's migration finds all places restored.
        const auto borrowed_before = model->forward().moe().mover().prefetcher().prompt_copies().borrowed;
        play(*model, prompt_, prompt_.size(), 0);
        QVERIFY(model->forward().moe().mover().prefetcher().prompt_copies().borrowed > borrowed_before);
        QVERIFY(model->experts().places().busy());
        model->experts().set_staging(2, model->experts().staging().slot_bytes());
        QVERIFY(!model->experts().places().busy());
        QCOMPARE(model->experts().n_resident(), before);
    }

    // ---- mixed formats
    void smallerFormats_areAdmitted_andNothingElseChanges() {
        const auto request = [&](CacheKind kind) {
            LoadRequest wanted = on(kDevice);
            wanted.dispatch = parse_dispatch("transfer");
            wanted.vram_bytes = vramFor(8);
            wanted.quality.min_mean_bits = 5.5;
            wanted.cache = kind;
            return wanted;
        };
        const auto still = open(request(CacheKind::kStatic));
        const auto lively = open(request(CacheKind::kLru));
        QCOMPARE(lively->plan().formats, still->plan().formats);
        ExpertStore& experts = lively->experts();
        std::vector<std::uint8_t> at_first;
        experts.residency(at_first);
        const std::int64_t before = experts.n_resident();
        const std::span<const TokenId> prompt(prompt_.data(), 24);
        const Played expected = play(*still, prompt, prompt.size(), 48);
        const Played got = play(*lively, prompt, prompt.size(), 48);
        QVERIFY2(got.logits == expected.logits, "logits differ");
        QCOMPARE(experts.n_resident(), before);
        std::int64_t smaller = 0;
        for (std::size_t i = 0; i < experts.size(); ++i) {
            const std::uint64_t bytes = experts.expert_bytes(experts.format(i));
            if (!experts.on_device(i)) continue;
            QVERIFY(experts.place_bytes(i) >= bytes);
            smaller += at_first[i] == 0 && bytes < experts.staging().slot_bytes() ? 1 : 0;
        }
        QVERIFY2(smaller > 0, "only experts of the largest format came to the device");
        // Which of the two hits more often depends on the plan, and that on measurements.
        QVERIFY(lively->dispatcher().totals().admissions > 0);
        QCOMPARE(still->dispatcher().totals().admissions, std::uint64_t{0});
        const ArenaUsage vram = lively->device().memory().usage();
        QVERIFY(vram.high_water_bytes <= vram.budget_bytes);
        QVERIFY(lively->ram().usage().high_water_bytes <= lively->ram().usage().budget_bytes);
    }

  private:
    LoadRequest on(const std::string& device) const {
        LoadRequest request;
        request.model = demoModel();
        request.device = device;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.context = 512;
        request.prefetch = PrefetchMode::kOff;
        request.learn_placement = false;
        request.times_product = [](offstage::kernels::TrialProduct) { return 100.0; };  // nothing is measured
        request.n_threads = 1;  // pieces this small gain nothing from more
        return request;
    }
    // For everything but the experts, and for so many of those besides two staging slots.
    std::uint64_t vramFor(std::int64_t n) {
        if (fixed_bytes_ == 0) {
            const auto model = open(on(kDevice));
            const Plan& plan = model->plan();
            expert_bytes_ = model->demand().expert_bytes;
            fixed_bytes_ = plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes;
        }
        return fixed_bytes_ + static_cast<std::uint64_t>(n + 2) * (expert_bytes_ + 256) + 4096;
    }

    QTemporaryDir cache_;
    std::uint64_t fixed_bytes_ = 0, expert_bytes_ = 0;
    std::vector<TokenId> prompt_;
    std::vector<float> expected_;
};

QTEST_GUILESS_MAIN(TestPromptLoading)
#include "tst_prompt_loading.moc"
