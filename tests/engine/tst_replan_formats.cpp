// A re-plan to other formats ends with the plan that a load with the same budget and
// formats makes, under every budget that both fit in, and passes no budget on its way.

#include <algorithm>
#include <map>
#include <tuple>

#include <QtTest>

#include "engine/error.h"
#include "tests/engine/replan_play.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::WeightType;

namespace {

constexpr WeightType kFormats[] = {WeightType::kBf16, WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2};

}  // namespace

class TestReplanFormats : public QObject, ReplanSetup {
    Q_OBJECT

    // A load's plan, and what its model computes of the prompt.
    struct Loaded {
        Plan plan;
        std::vector<float> logits;
    };
    // nullopt: such a model does not load. Several re-plans begin or end with each.
    const std::optional<Loaded>& loaded(LoadRequest request, WeightType format) {
        const auto [known, is_new] = loaded_.try_emplace({request.ram_bytes, request.vram_bytes, format});
        if (!is_new) return known->second;
        request.quant.experts = format;
        try {
            Play play(request);
            const auto logits = play.step(prompt_);
            known->second = {play.model.plan(), {logits.begin(), logits.end()}};
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory) throw;
        }
        return known->second;
    }
    static std::string described(const Plan& plan) {
        return QStringLiteral("%1 on the device, %2 in RAM, %3 on disk, context %4, step %5, slots %6 and %7")
            .arg(plan.n_in(Place::kDevice))
            .arg(plan.n_in(Place::kRam))
            .arg(plan.n_in(Place::kDisk))
            .arg(plan.context)
            .arg(plan.max_step)
            .arg(plan.staging_slots)
            .arg(plan.host_staging_slots)
            .toStdString();
    }
    void replan(const LoadRequest& request, WeightType from, WeightType to, bool answering, const Loaded& after) {
        const Plan& expected = after.plan;
        LoadRequest before = request;
        before.quant.experts = from;
        Play play(before);
        const std::string moved = QStringLiteral("RAM %1, VRAM %2, %3 to %4: ")
                                      .arg(request.ram_bytes)
                                      .arg(request.vram_bytes)
                                      .arg(QString::fromUtf8(offstage::kernels::name_of(from)),
                                           QString::fromUtf8(offstage::kernels::name_of(to)))
                                      .toStdString();
        std::vector<TokenId> next = prompt_;
        QVERIFY(!play.step(next).empty());
        ReplanRequest asked;
        asked.experts = to;
        begin_replan(play.replanner, 1, asked, 1);
        for (int step = 0; answering && step < 6; ++step) {
            next = {static_cast<TokenId>(5 + step)};
            QVERIFY(!play.step(next).empty());
            play.checkBudgets();
        }
        play.replanner.finish({});
        const ReplanReport& report = play.replanner.reports().back();
        QVERIFY2(report.state == ReplanState::kDone, (moved + report.problem.english()).c_str());
        const Plan now = play.replanner.now();
        QVERIFY2(described(now) == described(expected),
                 (moved + described(now) + "; a load: " + described(expected)).c_str());
        QVERIFY2(now.places == expected.places && now.formats == expected.formats, moved.c_str());
        ExpertStore& experts = play.model.experts();
        QCOMPARE(experts.disk_slots().size(), expected.host_staging_slots);
        QCOMPARE(experts.disk_slots().slot_bytes(), expected.host_staging_slots > 0 ? expected.slot_bytes : 0);
        play.checkBudgets();
        // What is computed now is what a model that was loaded so computes.
        next = {9};
        QVERIFY(!play.step(next).empty());
        std::vector<TokenId> again = prompt_;
        KvSequence fresh = play.model.new_sequence();
        const Segment segment{&fresh, again};
        QVERIFY(play.model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) == Forward::Outcome::kDone);
        const auto got = play.model.forward().logits();
        QVERIFY2(std::equal(got.begin(), got.end(), after.logits.begin(), after.logits.end()), moved.c_str());
    }

    std::map<std::tuple<std::uint64_t, std::uint64_t, WeightType>, std::optional<Loaded>> loaded_;  // RAM, VRAM

  private Q_SLOTS:
    void initTestCase() { measureModel(); }

    void everyBudget_endsWithTheLoadsPlan_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<DiskReads>("reads");
        QTest::addColumn<bool>("answering");
        if (!kSanitized) QTest::newRow("CPU") << QStringLiteral("cpu") << DiskReads::kCached << false;
        QTest::newRow("CPU, direct reads, while it answers") << QStringLiteral("cpu") << DiskReads::kDirect << true;
        if (!kSanitized)
            QTest::newRow("emulated") << QStringLiteral("emulated:rtx-3060-desktop") << DiskReads::kCached << false;
        QTest::newRow("emulated, while it answers")
            << QStringLiteral("emulated:rtx-3060-desktop") << DiskReads::kCached << true;
    }
    void everyBudget_endsWithTheLoadsPlan() {
        QFETCH(QString, device);
        QFETCH(DiskReads, reads);
        QFETCH(bool, answering);
        const bool on_cpu = device == QStringLiteral("cpu");
        LoadRequest request = on(device.toStdString());
        request.disk_reads = reads;
        request.context = 2048;
        loaded_.clear();
        const std::uint64_t fixed =
            on_cpu ? loaded(request, WeightType::kBf16).value().plan.ram_bytes - 64 * expert_bytes_ : host_fixed_bytes_;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> budgets;  // RAM, VRAM
        const std::vector<int> rooms = kSanitized ? std::vector<int>{20} : std::vector<int>{2, 20, 63};
        for (const int experts : rooms) {
            const std::uint64_t bytes = static_cast<std::uint64_t>(experts) * expert_bytes_;
            if (on_cpu) {
                budgets.emplace_back(fixed + bytes, 0);
            } else {
                budgets.emplace_back(fixed + dense_bytes_ + bytes, vramFor(63 - experts));
                budgets.emplace_back(fixed + dense_bytes_ + bytes, vramFor(9));
            }
        }
        int n = 0;
        for (auto [ram, vram] : budgets) {
            request.ram_bytes = ram;
            request.vram_bytes = vram;
            for (const WeightType from : kFormats) {
                const auto& before = loaded(request, from);
                if (!before) continue;
                LoadRequest tight = request;  // full to the byte before, or after
                for (const WeightType to : kFormats) {
                    if (to == from) continue;
                    for (const std::uint64_t bytes : {ram, before->plan.ram_bytes}) {
                        tight.ram_bytes = bytes;
                        const auto& after = loaded(tight, to);
                        if (!after || !loaded(tight, from)) continue;
                        replan(tight, from, to, answering, *after);
                        if (QTest::currentTestFailed()) return;
                        ++n;
                    }
                }
            }
        }
        QVERIFY2(n >= (kSanitized ? 6 : 20), qPrintable(QString::number(n)));
    }
};

QTEST_GUILESS_MAIN(TestReplanFormats)
#include "tst_replan_formats.moc"
