// Budgets that move while tokens are generated: places change no result, results follow
// the formats in force, and after any failure the plan in force fits.

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <QtTest>

#include "engine/error.h"
#include "engine/plan/planner.h"
#include "engine/run/local_session.h"
#include "engine/run/replan_queue.h"
#include "tests/engine/replan_play.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::WeightType;

namespace {

constexpr int kTokens = kSanitized ? 150 : 2000;
constexpr int kReplans = kSanitized ? 12 : 100;
constexpr int kWaitedTokens = 1000;
constexpr int kFaultStride = kSanitized ? 7 : 1;

}  // namespace

class TestReplan : public QObject, ReplanSetup {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { measureModel(); }

    // Keys and values change their format while tokens are made: budgets hold, the answer
    // continues, and freed room goes to experts.
    void keysAndValues_changeTheirFormat_data() {
        QTest::addColumn<QString>("device");
        QTest::newRow("cpu") << QStringLiteral("cpu");
        QTest::newRow("emulated") << QStringLiteral("emulated:rtx-3060-desktop");
    }
    void keysAndValues_changeTheirFormat() {
        QFETCH(QString, device);
        LoadRequest request = on(device.toStdString());
        request.compute = ComputeMode::kF32;
        if (device != QStringLiteral("cpu")) request.vram_bytes = vramFor(20);
        Play undisturbed(request);
        Play disturbed(request);
        std::vector<TokenId> next = prompt_;
        std::uint64_t id = 0;
        const std::int64_t resident = disturbed.model.plan().n_resident();
        const auto move_to = [&](KvType type, int token) {
            ReplanRequest replan;
            replan.kv = type;
            begin_replan(disturbed.replanner, ++id, replan, token);
            for (int i = 0; i < 3; ++i) {  // at any progress, a step of a prompt finds blocks
                disturbed.replanner.between_steps(token);
                QVERIFY(disturbed.model.kv().pool(0).n_free() >= kSpareKvBlocks);
            }
            disturbed.replanner.finish({});
            QCOMPARE(disturbed.replanner.reports().back().problem.english(), std::string());
            QVERIFY(disturbed.replanner.reports().back().state == ReplanState::kDone);
            QVERIFY(disturbed.model.kv().type() == type);
            const auto use = static_cast<std::size_t>(MemoryUse::kKvCache);
            const std::uint64_t both =
                disturbed.model.device().memory().usage().by_use[use] +
                (device == QStringLiteral("cpu") ? 0 : disturbed.model.ram().usage().by_use[use]);
            QCOMPARE(both, static_cast<std::uint64_t>(disturbed.model.kv().pool(0).n_blocks() *
                                                      disturbed.model.kv().pool(0).shape().block_bytes()));
            disturbed.checkBudgets();
        };
        for (int token = 0; token < 24; ++token) {
            const auto expected = undisturbed.step(next);
            const auto got = disturbed.step(next);
            QVERIFY(!got.empty());
            if (token < 6) {
                QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end()),
                         qPrintable(QString::number(token)));
            } else {
                QVERIFY2(offstage::test::relativeError(got, expected) < 0.05, qPrintable(QString::number(token)));
            }
            next = {best(expected)};
            if (token == 5) move_to(KvType::kInt8, token);
            if (token == 5 && device != QStringLiteral("cpu")) {
                QVERIFY(disturbed.model.plan().n_resident() > resident);
            }
            if (token == 12) move_to(KvType::kF32, token);
            if (token == 18) move_to(KvType::kBf16, token);
        }
        QCOMPARE(disturbed.model.plan().n_resident(), resident);
    }

    void places_moveAHundredTimes_outputStays_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<double>("theta");
        QTest::addColumn<int>("cached");
        QTest::newRow("balanced") << QStringLiteral("balanced") << 0.0 << 0;
        QTest::newRow("transfer") << QStringLiteral("transfer") << 0.0 << 0;
        // Neurons are left out, the same ones for every place of their expert.
        QTest::newRow("balanced, with a theta") << QStringLiteral("balanced") << 0.1 << 0;
        QTest::newRow("transfer, with a theta") << QStringLiteral("transfer") << 0.1 << 0;
        // And stay where they came, in the room of so many experts.
        QTest::newRow("with a neuron cache") << QStringLiteral("transfer") << 0.25 << 12;
    }
    void places_moveAHundredTimes_outputStays() {
        QFETCH(QString, policy);
        QFETCH(double, theta);
        QFETCH(int, cached);
        LoadRequest request = on("emulated:rtx-3060-desktop");
        request.neuron_cache_bytes = static_cast<std::uint64_t>(cached) * expert_bytes_;
        request.theta = theta;
        request.sparse_loading = SparseLoading::kAlways;
        // Copies that may stay are whole.
        if (theta > 0 && policy == QStringLiteral("transfer")) request.cache = CacheKind::kStatic;
        request.dispatch = parse_dispatch(policy.toStdString());
        request.vram_bytes = vramFor(20 + cached);
        Play undisturbed(request);
        Play disturbed(request);
        std::mt19937_64 random(11);
        std::vector<TokenId> next = prompt_;
        std::uint64_t id = 0;
        // The whole length once; the other policy shows that it is not the only one.
        const int n_tokens = policy == QStringLiteral("balanced") && theta == 0 ? kTokens : kTokens / 5;
        // A hundred re-plans under a theta as well, nearer together.
        const int apart = theta > 0 ? n_tokens / kReplans : kTokens / kReplans;
        for (int token = 0; token < n_tokens; ++token) {
            if (token % apart == 0) {
                ReplanRequest replan;
                const auto n = static_cast<std::int64_t>(random() % 65);
                replan.vram_bytes = vramFor(n + cached);
                if (random() % 3 == 0) replan.ram_bytes = dense_bytes_ + (70 + random() % 30) * expert_bytes_;
                if (random() % 8 == 0) disturbed.replanner.cancel();
                begin_replan(disturbed.replanner, ++id, replan, token);
            }
            const auto expected = undisturbed.step(next);
            const auto got = disturbed.step(next);
            QVERIFY(!got.empty());
            QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end()),
                     qPrintable(QStringLiteral("logits differ at token %1").arg(token)));
            disturbed.checkBudgets();
            next = {best(expected)};
        }
        std::int64_t visible = 0;
        int ended = 0;
        for (const ReplanReport& report : disturbed.replanner.reports()) {
            visible += report.visible;
            ended += report.state == ReplanState::kDone;
            QVERIFY2(report.state != ReplanState::kFailed, report.problem.english().c_str());
            if (report.state != ReplanState::kMoving) QCOMPARE(report.requested, report.visible + report.cancelled);
        }
        QVERIFY(static_cast<int>(disturbed.replanner.reports().size()) >= kReplans * n_tokens / kTokens);
        QVERIFY(visible > 0 && ended > 0);
        const std::uint64_t sparse = disturbed.model.dispatcher().recorder().all_totals().sparse_copies;
        if (policy == QStringLiteral("transfer")) QCOMPARE(sparse > 0, theta > 0);
        if (cached > 0) QVERIFY(disturbed.model.dispatcher().recorder().all_totals().neuron_hit_rate() > 0.1);
        disturbed.checkSteps();
    }

    void context_growsAndShrinks_andItsCacheGoesToRamAndBack() {
        LoadRequest request = on("emulated:rtx-3060-desktop");
        request.vram_bytes = vramFor(20);
        Play undisturbed(request);
        request.context = 192;
        Play disturbed(request);
        const std::int64_t small = disturbed.model.plan().context;
        const Plan& plan = disturbed.model.plan();
        const std::uint64_t bare =  // with the shortest steps
            plan.dense_bytes + plan.workspace_bytes + 2 * expert_bytes_ -
            static_cast<std::uint64_t>(plan.max_step - kSmallestStep) *
                disturbed.model.demand().workspace_bytes_per_token;
        std::mt19937_64 random(5);
        std::vector<TokenId> next = prompt_;
        int spilled = 0, refused = 0;
        const int n_tokens = std::min(kTokens, 1600);
        for (int token = 0; token < n_tokens; ++token) {
            if (token % 15 == 0) {
                ReplanRequest replan;
                // Sometimes less than the conversation already has, sometimes with VRAM
                // for none of it.
                replan.context = small + static_cast<std::int64_t>(random() % 2300);
                if (*replan.context - disturbed.sequence.size() < 20) *replan.context -= 20;  // too short, clearly
                replan.vram_bytes = random() % 3 == 0 ? bare : vramFor(10);
                begin_replan(disturbed.replanner, static_cast<std::uint64_t>(token), replan, token);
                refused += disturbed.replanner.reports().back().problem.empty() ? 0 : 1;
            }
            const auto expected = undisturbed.step(next);
            if (disturbed.sequence.size() == disturbed.sequence.capacity()) {
                disturbed.replanner.finish({});
                ReplanRequest more;
                more.context = disturbed.sequence.size() + 100;
                begin_replan(disturbed.replanner, 1000000, more, token);
                disturbed.replanner.finish({});
            }
            const auto got = disturbed.step(next);
            QVERIFY2(
                !got.empty(),
                qPrintable(QStringLiteral("token %1, context %2: %3")
                               .arg(token)
                               .arg(disturbed.sequence.capacity())
                               .arg(QString::fromStdString(disturbed.replanner.reports().back().problem.english()))));
            QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end()),
                     qPrintable(QStringLiteral("logits differ at token %1").arg(token)));
            spilled += disturbed.model.kv().n_held_in_host() > 0;
            disturbed.checkBudgets();
            next = {best(expected)};
        }
        // Besides the context's blocks the device has some spare ones: a short
        // conversation always stays there.
        QVERIFY2(n_tokens < 1300 || spilled > 0, "the cache never lay in RAM");
        QVERIFY(n_tokens < 300 || refused > 0);
        disturbed.checkSteps();
    }

    // The reference has its experts in RAM and computes on the CPU; its formats change at
    // once, between two steps.
    void formats_change_everyStepIsThatOfAModelQuantizedSo() {
        LoadRequest request = on("emulated:rtx-3060-desktop");
        request.vram_bytes = vramFor(20);
        Play play(request);
        LoadRequest plain = on("cpu");
        Play reference(plain);
        const WeightType formats[] = {WeightType::kBf16, WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3,
                                      WeightType::kHqq2};
        std::mt19937_64 random(3);
        std::vector<TokenId> next = prompt_;
        std::uint64_t id = 0;
        int mixed = 0;
        play.before_step = [&] {
            const std::vector<WeightType> now = play.model.experts().formats();
            mixed += std::adjacent_find(now.begin(), now.end(), std::not_equal_to<>()) != now.end();
            setFormats(reference.model, now);
        };
        const int n_tokens = kTokens / 4;
        // If the quantizing thread gets little of the machine, no format may have changed
        // by then: the test waits for it, a little at each step, until one step has seen
        // experts in several.
        for (int token = 0; token < n_tokens || (mixed == 0 && token < n_tokens + kWaitedTokens); ++token) {
            if (token >= n_tokens) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            if (token < n_tokens ? token % std::max(8, n_tokens / 25) == 0 : token == n_tokens) {
                ReplanRequest replan;
                replan.vram_bytes = vramFor(static_cast<std::int64_t>(random() % 50));
                replan.experts = formats[random() % 5];
                if (token == n_tokens) {
                    const bool int8 = play.model.experts().format(0) == WeightType::kInt8;
                    replan.experts = int8 ? WeightType::kHqq4 : WeightType::kInt8;
                }
                begin_replan(play.replanner, ++id, replan, token);
            } else if (token < n_tokens && random() % 10 == 0) {
                const std::size_t expert = random() % 64;
                play.replanner.change(++id, ExpertChange::Kind::kFormat, {&expert, 1}, formats[random() % 5], token);
            }
            const auto got = play.step(next);
            const auto expected = reference.step(next);
            QVERIFY(!got.empty());
            QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end()),
                     qPrintable(QStringLiteral("logits differ at token %1").arg(token)));
            play.checkBudgets();
            next = {best(expected)};
        }
        QVERIFY(mixed > 0);
        play.replanner.finish({});
        QVERIFY(!play.replanner.moving());
        const ReplanReport& last = play.replanner.reports().back();
        QVERIFY2(last.state == ReplanState::kDone, last.problem.english().c_str());
        play.checkSteps();
    }

    void session_replansWhileItAnswers_andReports() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        session.load(request, {}, {});
        GenerationRequest generation;
        generation.messages = {{Role::kUser, "Tell me a story."}};
        generation.sampler.temperature = 0;
        generation.max_tokens = 60;
        const auto expected = session.generate(generation, {}, {});
        session.reset_conversation();
        std::uint64_t first = 0;
        const auto result = session.generate(generation,
                                             [&](const TextDelta& delta) {
                                                 ReplanRequest replan;
                                                 if (delta.n_tokens == 5) {
                                                     replan.vram_bytes = vramFor(30);
                                                     first = session.replan(replan);
                                                 }
                                                 if (delta.n_tokens == 55) {
                                                     replan.vram_bytes = vramFor(4);
                                                     session.replan(replan);
                                                     session.cancel_replan();
                                                 }
                                             },
                                             {});
        QCOMPARE(result.tokens, expected.tokens);
        QVERIFY(result.replans.size() >= 1);
        QCOMPARE(result.replans.front().id, first);
        session.advance({});
        const auto reports = session.replans();
        QCOMPARE(reports.size(), std::size_t{2});
        QCOMPARE(reports[0].state, ReplanState::kDone);
        QCOMPARE(reports[0].resident_experts, 30);
        QVERIFY(reports[0].visible == reports[0].requested && reports[0].cancelled == 0);
        QCOMPARE(reports[1].state, ReplanState::kCancelled);
        QCOMPARE(session.model()->experts().n_resident(), 30);
    }

    // Without an answer, too, each expert that moves is reported. A re-plan that is
    // cancelled ends after the present expert, and one that is being planned at once.
    void cancelledBetweenAnswers_goesBackAfterThePresentExpert() {
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(12);
        LoadedModel model(request, LoadedModel::Text::kWanted, {}, {});
        DecodeWatch watch;
        ReplanQueue queue;
        queue.open(model, watch, [] { return std::int64_t{0}; });
        const std::vector<WeightType> formats_before = model.experts().formats();
        ReplanRequest fewer_bits;
        fewer_bits.experts = WeightType::kHqq4;
        queue.replan(fewer_bits);
        std::int64_t visible = 0;
        queue.advance({}, [&] {
            if (queue.reports().empty() || visible > 0) return;
            visible = queue.reports().back().visible;
            if (visible > 0) queue.cancel();
        });
        QCOMPARE(queue.reports().size(), std::size_t{1});
        const ReplanReport moved = queue.reports().back();
        QVERIFY2(moved.state == ReplanState::kCancelled, qPrintable(QString::fromUtf8(name_of(moved.state).data())));
        QVERIFY2(moved.visible >= visible && moved.visible < moved.requested / 2,
                 qPrintable(QStringLiteral("%1 of %2").arg(moved.visible).arg(moved.requested)));
        QVERIFY(model.experts().formats() == formats_before);

        int previews = 0;  // one that waits before a Cancel does not hold it back, and comes
        queue.replan(fewer_bits);
        queue.request_preview(fewer_bits, [&](const auto& preview, const Message&) { previews += preview ? 1 : 0; });
        queue.cancel();
        queue.between_steps();
        QCOMPARE(queue.reports().size(), std::size_t{2});
        QCOMPARE(queue.reports().back().state, ReplanState::kCancelled);
        QCOMPARE(queue.reports().back().requested, 0);
        queue.advance({}, [] {});
        QCOMPARE(queue.reports().size(), std::size_t{2});
        QCOMPARE(previews, 1);
        QVERIFY(model.experts().formats() == formats_before);
        queue.close();
    }

    void oneExpert_isPinnedEvictedAndGivenAFormat() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        session.load(request, {}, {});
        ExpertStore& experts = session.model()->experts();
        std::size_t absent = 0;
        while (experts.on_device(absent)) ++absent;
        const ExpertKey key = experts.key(absent);
        session.change_experts({ExpertChange::Kind::kPin, {{key.layer, key.expert}}});
        session.advance({});
        QVERIFY(experts.on_device(absent) && experts.is_pinned(absent));
        QCOMPARE(experts.n_resident(), 8);
        // A smaller budget leaves it where it is.
        ReplanRequest replan;
        replan.vram_bytes = vramFor(1);
        session.replan(replan);
        session.advance({});
        QVERIFY(experts.on_device(absent));
        QCOMPARE(experts.n_resident(), 1);
        session.change_experts({ExpertChange::Kind::kFormat, {{key.layer, key.expert}}, WeightType::kHqq4});
        session.advance({});
        QCOMPARE(experts.format(absent), WeightType::kHqq4);
        QVERIFY(experts.on_device(absent));
        session.change_experts({ExpertChange::Kind::kEvict, {{key.layer, key.expert}}});
        session.advance({});
        QVERIFY(!experts.on_device(absent) && !experts.is_pinned(absent));
        for (const ExpertChange::Expert none : {ExpertChange::Expert{8, 0}, {0, 64}}) {
            const ExpertChange change{ExpertChange::Kind::kPin, {{0, 0}, none}};
            QVERIFY_EXCEPTION_THROWN(session.change_experts(change), Error);
        }
        QVERIFY(!experts.is_pinned(0));
    }

    // In one re-plan a column of experts is pinned, repacked and released.
    void manyExperts_arePinnedEvictedAndGivenAFormat() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(12);
        session.load(request, {}, {});
        ExpertStore& experts = session.model()->experts();
        ExpertChange change{ExpertChange::Kind::kPin, {}};
        for (std::int64_t layer = 0; layer < 8; ++layer) change.experts.push_back({layer, 5});
        const auto count = [&](const auto& has) {
            std::int64_t n = 0;
            for (std::int64_t layer = 0; layer < 8; ++layer) n += has(static_cast<std::size_t>(layer * 8 + 5)) ? 1 : 0;
            return n;
        };
        session.change_experts(change);
        session.advance({});
        QCOMPARE(count([&](std::size_t i) { return experts.on_device(i) && experts.is_pinned(i); }), 8);
        QCOMPARE(experts.n_resident(), 12);
        QCOMPARE(session.replans().size(), std::size_t{1});
        QCOMPARE(session.replans().back().state, ReplanState::kDone);
        change.kind = ExpertChange::Kind::kFormat;
        change.format = WeightType::kHqq4;
        session.change_experts(change);
        session.advance({});
        QCOMPARE(count([&](std::size_t i) { return experts.format(i) == WeightType::kHqq4; }), 8);
        change.kind = ExpertChange::Kind::kEvict;
        session.change_experts(change);
        session.advance({});
        QCOMPARE(count([&](std::size_t i) { return experts.on_device(i) || experts.is_pinned(i); }), 0);
    }

    void requestsThatCannotBe_fail_andNothingChanges() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        session.load(request, {}, {});
        ReplanRequest replan;
        replan.vram_bytes = dense_bytes_ / 2;
        session.replan(replan);
        session.advance({});
        QCOMPARE(session.replans().back().state, ReplanState::kFailed);
        QVERIFY(!session.replans().back().problem.empty());
        QVERIFY_EXCEPTION_THROWN(session.preview(replan), Error);
        replan.vram_bytes = std::uint64_t{1} << 50;
        session.replan(replan);
        session.advance({});
        QCOMPARE(session.replans().back().state, ReplanState::kFailed);
        QCOMPARE(session.model()->experts().n_resident(), 8);
    }

    void preview_saysWhatThePlanDoes() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        session.load(request, {}, {});
        ReplanRequest replan;
        replan.vram_bytes = vramFor(40);
        const ReplanPreview more = session.preview(replan);
        QVERIFY(more.after.hit_rate > more.before.hit_rate);
        QVERIFY(more.after.decode_tokens_per_s >= more.before.decode_tokens_per_s);
        QCOMPARE(more.bytes_to_move / expert_bytes_, std::uint64_t{32});
        QCOMPARE(session.model()->experts().n_resident(), 8);
        ReplanRequest fewer_bits;
        fewer_bits.experts = WeightType::kHqq4;
        const ReplanPreview less = session.preview(fewer_bits);
        QVERIFY(less.after.mean_bits < less.before.mean_bits);
        QVERIFY(less.after.predicted_loss > less.before.predicted_loss);
        QVERIFY(less.after.hit_rate > less.before.hit_rate);
    }

    // A preview's counts equal the migration's work, expert by expert.
    void estimate_countsTheWorkThatIsDone() {
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        Play play(request);
        ReplanRequest more, fewer, bits, mixed;
        more.vram_bytes = vramFor(30);
        fewer.vram_bytes = vramFor(5);
        bits.experts = WeightType::kHqq4;
        mixed.quality = QualityFloor{6, 0};
        std::uint64_t id = 0;
        for (const ReplanRequest& one : {more, fewer, bits, more, mixed}) {
            const PlanInputs draft = play.replanner.inputs();
            const Plan target = replanned(draft, one);
            const Transition told = transition(draft.present->now, target, draft.demand);
            const auto seconds = [](const QElapsedTimer& since) {
                return 1e-9 * static_cast<double>(since.nsecsElapsed());
            };
            QElapsedTimer before, begun;
            before.start();
            play.replanner.begin(++id, target, 0);
            begun.start();
            QVERIFY(play.replanner.progress().work == told.work);
            QCOMPARE(play.replanner.reports().back().bytes_requested, told.bytes_to_move);
            QVERIFY(play.replanner.progress().done == MigrationWork());
            double left = -1, least = 0;
            play.replanner.between_steps(0);
            if (play.replanner.moving()) {
                left = play.replanner.reports().back().seconds_left;
                least = seconds(begun);
            }
            play.replanner.finish({});
            const ReplanReport& report = play.replanner.reports().back();
            QVERIFY2(report.state == ReplanState::kDone, report.problem.english().c_str());
            QVERIFY(play.replanner.progress().done == told.work);
            QCOMPARE(report.seconds_left, 0.0);
            // In the user's real time, though the device's own time is accounted.
            const double most = seconds(before);
            QVERIFY2(report.seconds >= least && report.seconds <= most,
                     qPrintable(QStringLiteral("%1 s, between %2 and %3").arg(report.seconds).arg(least).arg(most)));
            QVERIFY(told.work.copies < 4 || left > 0);
        }
        // The time of a copy is known from now on.
        const MigrationRates measured = play.replanner.inputs().present->migrations;
        QVERIFY(measured.upload_us[static_cast<std::size_t>(WeightType::kHqq4)] > 0);
    }

    // 500 experts of 1.3 ms each, on a computer that lets one through every third of a
    // second.
    void pace_followsWhatTheReplanHasShown() {
        ReplanPace pace;
        pace.begin(1300 * 500, 500);
        const auto left_after = [](int n) { return 1300.0 * (500 - n); };
        QCOMPARE(pace.seconds(left_after(0)), 0.65);  // as in the preview
        double elapsed_us = 1.2e6;                    // the first one takes longest: not all will
        pace.advance(1300, elapsed_us, true);
        const double at_first = pace.seconds(left_after(1));
        QVERIFY2(at_first > 1.2 && at_first < 2.5, qPrintable(QString::number(at_first)));
        for (int n = 2; n <= 60; ++n) pace.advance(1300, elapsed_us += 333e3, true);
        const double soon = pace.seconds(left_after(60));  // 147 s
        QVERIFY2(soon > 120 && soon < 170, qPrintable(QString::number(soon)));
        // The computer is idle from now on.
        for (int n = 61; n <= 110; ++n) pace.advance(1300, elapsed_us += 1300, true);
        for (int n = 111; n <= 160; ++n) pace.advance(1300, elapsed_us += 400e3, false);
        const double beside = pace.seconds(left_after(160));  // an answer: 136 s
        QVERIFY2(beside > 100 && beside < 160, qPrintable(QString::number(beside)));
        QCOMPARE(pace.seconds(0), 0.0);
        pace.begin(0, 500);  // nothing is known
        QCOMPARE(pace.seconds(0), 0.0);
        pace.advance(5, 10, true);
        QCOMPARE(pace.seconds(50), 1e-4);
        // Idle, with rates of its own.
        pace.advance(0.1, 10.2, true);
        pace.advance(0.1, 10.4, true);
        QVERIFY(pace.seconds(1) < 3e-6);
    }

    // 128 experts of 1.3 ms each, of which the first waits for 2.6 s: so much and the rest
    // are expected, not a multiple for each of the others.
    void pace_ofASingleWait_isNotThatOfAll() {
        constexpr double kPieceUs = 1300, kStallUs = 2.6e6;
        constexpr int kPieces = 128;
        for (const int n_before : {0, 1, 64}) {
            ReplanPace pace;
            pace.begin(kPieceUs * kPieces, kPieces);
            double elapsed_us = 0;
            double last = pace.seconds(kPieceUs * kPieces);
            for (int n = 1; n <= n_before; ++n) pace.advance(kPieceUs, elapsed_us += kPieceUs, false);
            for (int step = 0; step < 26; ++step) {
                pace.advance(0, elapsed_us += kStallUs / 26, false);
                last = pace.seconds(kPieceUs * (kPieces - n_before));
                const double waited_s = kStallUs * (step + 1) / 26 / 1e6;
                QVERIFY2(last > waited_s && last < waited_s + 0.2, qPrintable(QString::number(last)));
            }
            for (int n = n_before + 1; n <= kPieces; ++n) {
                pace.advance(kPieceUs, elapsed_us += kPieceUs, false);
                const double left = pace.seconds(kPieceUs * (kPieces - n));
                QVERIFY2(left < last + 1e-9, qPrintable(QStringLiteral("%1 after %2").arg(left).arg(last)));
                last = left;
            }
            QCOMPARE(last, 0.0);
        }
    }

    // A preview's "now" is the measured time of answers, and its forecast is about their
    // time afterwards. The device's times and the host's are accounted: nothing here
    // depends on this machine.
    void preview_afterAnswers_isPutRightByThem() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060-desktop");
        request.vram_bytes = vramFor(16);
        session.load(request, {}, {});
        ReplanRequest more;
        more.vram_bytes = vramFor(64);
        const ReplanPreview told = session.preview(more);
        QCOMPARE(told.measured_steps, 0);
        QCOMPARE(session.snapshot().decode_overhead_us, 0.0);
        GenerationRequest ask;
        ask.messages = {{Role::kUser, "Tell me a story about a fox."}};
        ask.sampler.temperature = 0;
        ask.max_tokens = 101;
        ask.ignore_end = true;
        const auto mean_step_us = [&] {
            session.reset_conversation();
            const GenerationResult result = session.generate(ask, {}, {});
            double sum = 0;
            for (const float s : result.device.steps_s) sum += 1e6 * static_cast<double>(s);
            return sum / static_cast<double>(result.device.steps_s.size());
        };
        const auto is_about = [](double a, double b, double share) { return std::abs(a - b) <= share * b; };
        const double before_us = mean_step_us();
        const ReplanPreview preview = session.preview(more);
        QCOMPARE(preview.measured_steps, 100);
        QVERIFY2(is_about(preview.before.decode_tokens_per_s, 1e6 / before_us, 0.05),
                 qPrintable(QStringLiteral("%1, %2").arg(preview.before.decode_tokens_per_s).arg(1e6 / before_us)));
        // The forecast had left out little.
        QVERIFY2(is_about(told.before.decode_tokens_per_s, 1e6 / before_us, 0.2),
                 qPrintable(QStringLiteral("%1, %2").arg(told.before.decode_tokens_per_s).arg(1e6 / before_us)));
        QVERIFY(session.snapshot().decode_overhead_us < 0.2 * before_us);
        QCOMPARE(preview.after.hit_rate, 1.0);

        session.replan(more);
        session.advance({});
        const ReplanPreview now = session.preview({});
        QCOMPARE(now.measured_steps, 0);  // that was another plan
        // What was said of this one stays said: a forecast corrected by what was measured
        // before.
        QCOMPARE(now.before.decode_tokens_per_s, preview.after.decode_tokens_per_s);
        QCOMPARE(now.before.hit_rate, preview.after.hit_rate);
        QCOMPARE(now.before.ttft_s, preview.after.ttft_s);
        QCOMPARE(session.preview(more).after.decode_tokens_per_s, preview.after.decode_tokens_per_s);
        QCOMPARE(session.snapshot().decode_overhead_us, 0.0);
        const double after_us = mean_step_us();
        QVERIFY(after_us < before_us);
        QVERIFY2(is_about(preview.after.decode_tokens_per_s, 1e6 / after_us, 0.25),
                 qPrintable(QStringLiteral("%1, %2").arg(preview.after.decode_tokens_per_s).arg(1e6 / after_us)));
        QVERIFY(is_about(told.after.decode_tokens_per_s, 1e6 / after_us, 0.2));
    }

    // A floor of quality during an answer: the formats follow from this model's own
    // measured errors.
    void floorOfQuality_givesRarelyUsedExpertsFewerBits() {
        LocalSession session;
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        request.quality.min_mean_bits = 5.5;
        session.load(request, {}, {});
        const LoadedModel& model = *session.model();
        QVERIFY(QDir(cache_.path() + QStringLiteral("/sensitivity")).entryList(QDir::Files).size() == 1);
        QVERIFY2(model.plan().mean_bits >= 5.5 && model.plan().mean_bits < 8.3,
                 qPrintable(QString::number(model.plan().mean_bits)));
        QVERIFY(model.plan().predicted_loss > 0 && model.plan().predicted_loss < 0.04);
        ReplanRequest replan;
        replan.quality = QualityFloor{4.2, 0};
        session.replan(replan);
        session.advance({});
        QVERIFY2(session.replans().back().state == ReplanState::kDone,
                 session.replans().back().problem.english().c_str());
        QVERIFY(session.replans().back().mean_bits >= 4.2 && session.replans().back().mean_bits < 5.5);
        GenerationRequest generation;
        generation.messages = {{Role::kUser, "What is an expert?"}};
        generation.sampler.temperature = 0;
        generation.max_tokens = 12;
        QVERIFY(session.generate(generation, {}, {}).tokens.size() > 3);
    }

    // ---- faults: the 1st, 2nd, 3rd ... of each kind while experts move
    void faultsWhileMoving_leaveAPlanThatFits_data() {
        QTest::addColumn<QString>("kind");
        QTest::newRow("device allocation") << QStringLiteral("device");
        QTest::newRow("RAM allocation") << QStringLiteral("ram");
        QTest::newRow("copy") << QStringLiteral("copy");
        QTest::newRow("cancelled") << QStringLiteral("cancel");
    }
    void faultsWhileMoving_leaveAPlanThatFits() {
        QFETCH(QString, kind);
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(12);
        int failed = 0, done = 0, unharmed = 0;
        std::unique_ptr<Play> play;
        for (int n = 1; n < 60 && unharmed < 3; n += kFaultStride) {
            if (play == nullptr) play = std::make_unique<Play>(request);
            const std::vector<WeightType> formats_before = play->model.experts().formats();
            ReplanRequest replan;
            replan.vram_bytes = vramFor(n % 2 == 0 ? 12 : 30);
            replan.experts = n % 2 == 0 ? WeightType::kBf16 : WeightType::kHqq4;
            begin_replan(play->replanner, static_cast<std::uint64_t>(n), replan, 0);
            if (kind == QStringLiteral("device")) play->model.device().memory().fail_allocation(n);
            if (kind == QStringLiteral("ram")) play->model.ram().fail_allocation(n);
            if (kind == QStringLiteral("copy")) play->model.device().fail_copy(n);
            for (int i = 0; i < (kind == QStringLiteral("cancel") ? n : 0); ++i) {
                play->replanner.between_steps(i);
                play->replanner.between_layers();
            }
            if (kind == QStringLiteral("cancel")) play->replanner.cancel();
            play->replanner.finish({});
            play->model.device().memory().fail_allocation(0);
            play->model.ram().fail_allocation(0);
            play->model.device().fail_copy(0);
            QVERIFY(!play->replanner.moving());
            const ReplanReport& report = play->replanner.reports().back();
            const std::vector<WeightType> formats = play->model.experts().formats();
            if (report.state == ReplanState::kDone) {
                ++done;
                QVERIFY(
                    std::all_of(formats.begin(), formats.end(), [&](WeightType f) { return f == *replan.experts; }));
            } else {
                ++failed;
                QVERIFY(formats == formats_before);
                QVERIFY(report.state == ReplanState::kCancelled || !report.problem.empty());
            }
            play->checkBudgets();
            QVERIFY(!play->step(prompt_).empty());
            play->sequence.truncate(0);
            if (n > 30 && report.state == ReplanState::kDone) ++unharmed;
        }
        QVERIFY(done > 0);
        // RAM that is refused once is requested again; everything else ends the
        // migration.
        if (kind != QStringLiteral("ram") && kFaultStride == 1)
            QVERIFY2(failed > 0, qPrintable(QStringLiteral("%1 failed, %2 done").arg(failed).arg(done)));
    }
};

QTEST_GUILESS_MAIN(TestReplan)
#include "tst_replan.moc"
