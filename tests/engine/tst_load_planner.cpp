// What a load says and refuses before it reads anything.
#include <QTest>

#include "engine/error.h"
#include "engine/model/synthetic.h"
#include "engine/run/load_planner.h"

using namespace offstage::engine;
namespace kernels = offstage::kernels;

namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;

const MemorySize kMachine{8192 * kMib, 1000 * kMib, {}, 0};
const MemorySize kLimited{2000 * kMib, 1000 * kMib, "RLIMIT_AS", 2000 * kMib};

std::string refusalOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

class TestLoadPlan : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Dense matrices in blocks, and experts: planned for a GPU as for any other device.
    void blocksOfFiles_arePlannedForEveryDevice() {
        ModelSpec spec = parse_synthetic("synthetic:mixtral-mini").spec;
        spec.stored.resize(1);
        spec.experts.file_layouts.push_back(spec.experts.layout(kernels::WeightType::kBf16));
        for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kEmulated, DeviceKind::kCpu}) {
            DeviceInfo device;
            device.kind = kind;
            device.name = "Some device";
            QCOMPARE(refusalOf([&] {
                         LoadPlanner(LoadRequest(), {spec, kernels::WeightType::kBf16, 1, device});
                     }),
                     std::string());
        }
    }

    void aLoadNearTheLimit_isNoted() {
        QCOMPARE(memory_note(0, kLimited), std::string());
        QCOMPARE(memory_note(800 * kMib, kLimited), std::string());
        QCOMPARE(memory_note(801 * kMib, kLimited),
                 std::string("The model takes 801.0 MiB of RAM and 1000.0 MiB (RLIMIT_AS: 2.0 GiB) are free: little is "
                             "left for anything else."));
        QCOMPARE(memory_note(1000 * kMib, kMachine),
                 std::string("The model takes 1000.0 MiB of RAM and 1000.0 MiB are free: little is left for anything "
                             "else."));
        QCOMPARE(memory_note(1001 * kMib, kLimited), std::string());  // that is refused
    }

    void aBudgetBeyondWhatIsFree_isRefused_withTheLimit() {
        check_ram_budget(0, kLimited);
        check_ram_budget(1000 * kMib, kLimited);
        QCOMPARE(refusalOf([] { check_ram_budget(1001 * kMib, kLimited); }),
                 std::string("The RAM budget is 1001.0 MiB, but only 1000.0 MiB (RLIMIT_AS: 2.0 GiB) are free; lower "
                             "it."));
        QCOMPARE(refusalOf([] { check_ram_budget(1001 * kMib, kMachine); }),
                 std::string("The RAM budget is 1001.0 MiB, but only 1000.0 MiB are free; lower it."));
    }

    void aPlanThatDoesNotFit_namesTheLimit() {
        const auto refusal = [](std::uint64_t ram_bytes, const MemorySize& memory, ErrorKind kind) {
            LoadRequest request;
            request.ram_bytes = ram_bytes;
            return refusalOf(
                [&] { plan_under_limit(request, memory, [&]() -> Plan { throw Error(kind, "It does not fit."); }); });
        };
        QCOMPARE(refusal(0, kLimited, ErrorKind::kOutOfMemory),
                 std::string("It does not fit. Free memory: 1000.0 MiB (RLIMIT_AS: 2.0 GiB)."));
        QCOMPARE(refusal(0, kMachine, ErrorKind::kOutOfMemory), std::string("It does not fit."));
        // A budget that a person named is the reason then.
        QCOMPARE(refusal(5, kLimited, ErrorKind::kOutOfMemory), std::string("It does not fit."));
        QCOMPARE(refusal(0, kLimited, ErrorKind::kInvalidInput), std::string("It does not fit."));
    }

    void diskReads_areDirect_whereTheCacheIsTooSmall() {
        ExpertGrid grid;  // of 900 MiB
        grid.n_layers = 3;
        grid.n_experts = 100;
        grid.hidden_dim = grid.ffn_dim = 1;
        grid.ffn_dim = kMib / 2;
        LoadRequest request;
        request.model = "model.gguf";
        const auto reads = [&](DiskReads asked, std::int64_t available_bytes, std::int64_t total_bytes = 8192 * kMib) {
            request.disk_reads = asked;
            const ExpertReads found =
                expert_reads(request, grid, kernels::WeightType::kBf16, {total_bytes, available_bytes, {}, 0});
            return std::string(found.directly ? "direct" : "") + (found.from_cache ? "from cache" : "");
        };
        const std::string direct = "direct", from_cache = "from cache";
        QCOMPARE(reads(DiskReads::kAuto, 1000 * kMib), from_cache);
        QCOMPARE(reads(DiskReads::kAuto, 1000 * kMib - 10), direct);
        QCOMPARE(reads(DiskReads::kAuto, 0, 0), from_cache);  // nobody knows
        QCOMPARE(reads(DiskReads::kCached, 1000 * kMib), from_cache);
        QCOMPARE(reads(DiskReads::kCached, 999 * kMib), std::string());
        QCOMPARE(reads(DiskReads::kDirect, 1000 * kMib), direct);
        // Nothing is read of what is only accounted, or has no file.
        request.dry = true;
        QCOMPARE(reads(DiskReads::kDirect, 999 * kMib), std::string());
        request.dry = false;
        request.model = "synthetic:fine";
        QCOMPARE(reads(DiskReads::kDirect, 999 * kMib), std::string());
        for (const DiskReads asked : {DiskReads::kAuto, DiskReads::kDirect, DiskReads::kCached}) {
            QVERIFY(parse_disk_reads(name_of(asked)) == asked);
        }
        QVERIFY_THROWS_EXCEPTION(Error, parse_disk_reads("mapped"));
    }

    void demand_countsAnEmulatedDevicesMemory() {
        Plan plan;
        plan.ram_bytes = 100;
        plan.dense_bytes = 30;
        plan.expert_bytes = 7;
        DeviceInfo device;
        for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
            device.kind = kind;
            QCOMPARE(ram_demand(plan, device, 30), std::uint64_t{100});
            QCOMPARE(ram_demand(plan, device, 130), std::uint64_t{130});  // dense weights on their way
        }
        device.kind = DeviceKind::kEmulated;
        QCOMPARE(ram_demand(plan, device, 30), std::uint64_t{137});
    }
};

QTEST_GUILESS_MAIN(TestLoadPlan)
#include "tst_load_planner.moc"
