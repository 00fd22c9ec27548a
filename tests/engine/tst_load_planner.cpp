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
