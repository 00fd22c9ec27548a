// From one plan to another, and KV caches that VRAM has no room for.

#include <cmath>

#include <QtTest>

#include "engine/error.h"
#include "engine/plan/planner.h"
#include "engine/run/replanner.h"
#include "tests/engine/plan_values.h"

using namespace offstage::engine;
using namespace offstage::tests;
using offstage::kernels::WeightType;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

ModelDemand demand() {
    ModelDemand d;
    d.n_layers = 1;
    d.n_experts = 5;
    d.n_active = 2;
    d.expert_bytes = 16'000;
    d.formats = {{WeightType::kBf16, 16'000, 16}, {WeightType::kHqq4, 4'000, 4}};
    d.max_context = 4096;
    return d;
}

Plan plan(std::vector<Place> places, std::vector<WeightType> formats, bool duplicates) {
    Plan p;
    p.places = std::move(places);
    p.formats = std::move(formats);
    p.duplicates = duplicates;
    return p;
}

constexpr auto kB = WeightType::kBf16;
constexpr auto kH = WeightType::kHqq4;
constexpr auto kDevice = Place::kDevice;
constexpr auto kRam = Place::kRam;
constexpr auto kDisk = Place::kDisk;

}  // namespace

class TestTransition : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // The first piece of a thousand waits for memory a thousand times as long as it
    // takes: the time left does not become minutes.
    void timeLeft_afterASlowBeginning_staysInProportion() {
        ReplanPace pace;
        pace.begin(671e3, 1000);
        pace.advance(671, 1e6, true);
        const double left = pace.seconds(671e3 - 671);
        QVERIFY2(left > 1 && left < 15, qPrintable(QString::number(left)));
        // Where all pieces are as slow, it says so.
        for (int i = 2; i <= 100; ++i) pace.advance(671, 1e6 * i, true);
        QVERIFY2(pace.seconds(671e3 * 0.9) > 100, qPrintable(QString::number(pace.seconds(671e3 * 0.9))));
    }

    void transition_toTheSamePlan_isNothing() {
        const Plan p = plan({kDevice, kRam, kDisk, kDevice, kRam}, {kB, kH, kB, kH, kB}, false);
        const Transition t = transition(p, p, demand());
        QCOMPARE(t.bytes_to_move, std::uint64_t{0});
        QVERIFY(t.work == MigrationWork());
        QCOMPARE(t.quantized, 0);
    }

    void transition_countsEveryCopyThatHasToBeMade() {
        //                     stays    leaves   arrives  requantized  from disk
        const Plan from = plan({kDevice, kDevice, kRam, kDevice, kDisk}, {kB, kB, kB, kB, kB}, false);
        const Plan to = plan({kDevice, kRam, kDevice, kDevice, kRam}, {kB, kB, kB, kH, kH}, false);
        const Transition t = transition(from, to, demand());
        // To the device 2 as it is and 3 anew, to RAM 1 as it is and 4 anew.
        QCOMPARE(t.bytes_to_move, std::uint64_t{2 * (16'000 + 4'000)});
        QCOMPARE(t.quantized, 2);
        QCOMPARE(t.work.copies, 4);
        QCOMPARE(t.work.packed[static_cast<std::size_t>(kB)], 1);
        QCOMPARE(t.work.changed[static_cast<std::size_t>(kH)], 2);
        QCOMPARE(t.work.uploaded[static_cast<std::size_t>(kB)], 1);
        QCOMPARE(t.work.uploaded[static_cast<std::size_t>(kH)], 1);
    }

    // ---- how long a migration takes

    void move_makesWhatIsWantedOfWhatIsThere() {
        for (int bits = 0; bits < 32; ++bits) {
            const ExpertCopies has{(bits & 1) != 0, (bits & 2) != 0, kB};
            const ExpertCopies wanted{(bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0 ? kH : kB};
            const ExpertMove move = move_of(has, wanted);
            // Copies of the old format are useless.
            const bool ram = has.ram && wanted.format == kB, device = has.device && wanted.format == kB;
            QCOMPARE(move.uploads, wanted.device && !device);
            QCOMPARE(move.packs, !ram && (wanted.ram || move.uploads));
            QCOMPARE(move.changes, move.packs && wanted.format == kH);
            QCOMPARE(move.copies, (wanted.ram && !ram ? 1 : 0) + (wanted.device && !device ? 1 : 0));
        }
    }

    void time_growsWithWork_andFollowsWhatWasMeasured() {
        MigrationRates expected, measured;
        const auto h = static_cast<std::size_t>(kH);
        expected.pack_us[h] = 3;
        expected.change_us[h] = 50;
        expected.upload_us[h] = 7;
        MigrationWork work;
        double us = 0;
        for (int i = 0; i < 32; ++i) {
            const ExpertMove move =
                move_of({(i & 1) != 0, (i & 2) != 0, (i & 4) != 0 ? kB : kH}, {(i & 8) != 0, (i & 16) != 0, kH});
            work.add(move, kH);
            const double with_it = us_of(work, measured, expected);
            QCOMPARE(with_it > us, move.packs || move.uploads);
            us = with_it;
        }
        QCOMPARE(us, static_cast<double>(3 * work.packed[h] + 50 * work.changed[h] + 7 * work.uploaded[h]));
        MigrationRates::learn(measured.change_us, kH, 300);
        MigrationRates::learn(measured.change_us, kH, 0);  // not counted by this clock
        MigrationRates::learn(measured.change_us, kH, 100);
        QCOMPARE(measured.change_us[h], 200.0);
        QCOMPARE(us_of(work, measured, expected), us + 150.0 * static_cast<double>(work.changed[h]));
        QVERIFY(work - work == MigrationWork());
        QCOMPARE(us_of(work - work, measured, expected), 0.0);
    }

    void transition_toDuplicates_makesCopiesInRam() {
        const Plan from = plan({kDevice, kDevice, kRam, kRam, kRam}, {}, false);
        const Plan to = plan({kDevice, kDevice, kRam, kRam, kRam}, {}, true);
        const Transition t = transition(from, to, demand());
        QCOMPARE(t.work.copies, 2);
        QCOMPARE(t.work.uploaded[static_cast<std::size_t>(kB)], 0);
        QCOMPARE(transition(to, from, demand()).bytes_to_move, std::uint64_t{0});
    }

    void context_thatVramHasNoRoomFor_liesPartlyInRam() {
        ModelDemand d = demand();
        d.dense_bytes = 10 * kMiB;
        d.kv_groups = {{0, {1000, 1000, 1000}}};
        d.workspace_fixed_bytes = kMiB;
        d.workspace_bytes_per_token = 100;
        d.host_fixed_bytes = kMiB;
        const Popularity p = Popularity::uniform(1, 5, 2);
        Budget budget;
        budget.context = 4000;
        budget.vram_bytes = 12 * kMiB;
        const auto planned = [&] { return make_plan(d, budget, p, PlacementKind::kPopular); };
        QVERIFY_THROWS_EXCEPTION(Error, planned());
        d.kv_may_lie_in_ram = true;
        const Plan plan = planned();
        constexpr std::uint64_t kBlock = 64 * 1000;
        QCOMPARE(plan.context, 4000);
        QCOMPARE(plan.kv_bytes + plan.kv_host_bytes, 63 * kBlock);
        QCOMPARE(plan.kv_bytes % kBlock, std::uint64_t{0});
        QVERIFY(plan.kv_bytes > 0 && plan.kv_host_bytes > 0);
        QVERIFY(plan.vram_bytes() <= budget.vram_bytes);
        QVERIFY(plan.vram_bytes() + kBlock > budget.vram_bytes);
        QCOMPARE(plan.n_resident(), 0);
        QCOMPARE(plan.ram_bytes, d.host_fixed_bytes + 5 * d.expert_bytes + plan.kv_host_bytes);
        QVERIFY2(plan.note.english().find("lie in RAM") != std::string::npos, plan.note.english().c_str());

        // Experts leave the device before a block does.
        budget.vram_bytes = 10 * kMiB + 63 * kBlock + kMiB + 64 * 100;
        const Plan without = planned();
        QCOMPARE(without.kv_host_bytes, std::uint64_t{0});
        QCOMPARE(without.n_resident(), 0);
        budget.vram_bytes -= 1;
        QCOMPARE(planned().kv_host_bytes, kBlock);

        // A context that the user did not set is shortened instead.
        budget.context = 0;
        budget.vram_bytes = 14 * kMiB;
        QCOMPARE(planned().kv_host_bytes, std::uint64_t{0});
        // And RAM must have the room.
        budget.context = 4000;
        budget.vram_bytes = 12 * kMiB;
        budget.ram_bytes = plan.kv_host_bytes + d.host_fixed_bytes;
        QVERIFY_THROWS_EXCEPTION(Error, planned());
    }
};

QTEST_GUILESS_MAIN(TestTransition)
#include "tst_transition.moc"
