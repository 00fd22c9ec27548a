// Notes and refusals of a load before it reads anything.
#include <QScopeGuard>
#include <QTemporaryDir>
#include <QTest>

#include "engine/error.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "engine/run/load_planner.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "tests/engine/mixed_gguf.h"

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

struct Load {
    const ModelSpec& spec;
    kernels::WeightType type = kernels::WeightType::kBf16;
    std::uint64_t dense_bytes = 0;
    DeviceInfo device{};
    MemorySize memory{};
    std::uint64_t vram_bytes = 0, ram_bytes = 0;
};

PlanInputs inputsOf(const LoadRequest& request, const Load& load, const Popularity& popularity = {}) {
    PlanInputs inputs;
    inputs.master = load.type;
    inputs.device = load.device;
    inputs.memory = load.memory;
    inputs.asked.vram_bytes = load.vram_bytes;
    inputs.asked.ram_bytes = load.ram_bytes;
    inputs.popularity = popularity;
    inputs.sensitivity = Sensitivity::typical(popularity.n_layers, popularity.n_experts);
    describe_load(inputs, request, load.spec, load.dense_bytes, {});
    return inputs;
}

Plan planOf(const LoadRequest& request, const Load& load, const Popularity& popularity) {
    PlanInputs inputs = inputsOf(request, load, popularity);
    return plan_load(inputs);
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
                         inputsOf(LoadRequest(), {spec, kernels::WeightType::kBf16, 1, device});
                     }),
                     std::string());
        }
    }

    // Under any budgets, experts of a file's blocks are quantized a second time only if
    // fewer bits were requested.
    void blocksOfAFile_areKeptUnlessFewerBitsAreAskedFor() {
        const QTemporaryDir folder;
        LoadRequest request;
        request.model = folder.filePath("mixed.gguf").toStdString();
        offstage::tests::write_mixed_gguf(request.model);
        const ModelShape shape = read_model_shape(request.model);
        const ExpertGrid& grid = shape.spec.experts;
        const Popularity popularity = Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active);
        const std::uint64_t dense_bytes = dense_bytes_in(shape.spec, shape.type);
        int n_plans = 0;
        for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
            DeviceInfo device;
            device.kind = kind;
            request.device = kind == DeviceKind::kCpu ? "cpu" : "cuda";
            for (const std::uint64_t vram_mib : {2, 3, 4, 8, 64}) {
                for (const std::uint64_t ram_mib : {1, 2, 3, 4, 8, 64}) {
                    for (const PolicyKind policy : {PolicyKind::kBalanced, PolicyKind::kLayers}) {
                        request.dispatch.decode = policy;
                        const Load inputs{shape.spec, shape.type,     dense_bytes,  device,
                                          {},         vram_mib << 20, ram_mib << 20};
                        Plan plan;
                        try {
                            plan = planOf(request, inputs, popularity);
                        } catch (const Error& error) {
                            QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
                            continue;
                        }
                        ++n_plans;
                        for (std::size_t i = 0; i < plan.formats.size(); ++i) {
                            QCOMPARE(plan.formats[i],
                                     grid.stored(shape.type, static_cast<std::int64_t>(i) / grid.n_experts));
                        }
                        QVERIFY2(plan.note.english().find("second time") == std::string::npos,
                                 plan.note.english().c_str());
                    }
                }
            }
        }
        QVERIFY2(n_plans >= 20, qPrintable(QString::number(n_plans)));

        request.quant.experts = kernels::WeightType::kHqq3;
        const Load inputs{shape.spec, shape.type, dense_bytes, {}, {}, 0, 64 << 20};
        const std::string note = planOf(request, inputs, popularity).note.english();
        QVERIFY2(
            note.find("Quantized a second time: 18 experts go from the file's Q4_K, Q6_K, Q5_K, Q3_K, IQ4_XS, Q8_0 "
                      "to HQQ3, with a relative squared error of 0.034 against the file.") != std::string::npos,
            note.c_str());
        request.quant.experts = kernels::WeightType::kInt8;
        const std::string refusal = refusalOf([&] { planOf(request, inputs, popularity); });
        QVERIFY2(refusal.find("cannot be kept in INT8; expected one of Q4_K, Q6_K, Q5_K, Q3_K, IQ4_XS, Q8_0 (as in the "
                              "file), HQQ4, HQQ3, HQQ2.") != std::string::npos,
                 refusal.c_str());
    }

    // A load, an estimate and a report differ in the source of their costs alone.
    void costs_areAskedForInOneOrder() {
        const ModelSpec spec = parse_synthetic("synthetic:mixtral-mini").spec;
        constexpr auto kType = kernels::WeightType::kBf16;
        DeviceInfo device;
        device.kind = DeviceKind::kCpu;
        LoadRequest request;
        request.model = "a file";
        request.context = 2048;
        QStringList asked;
        bool knows = true;
        const auto costs_of = [&](const Plan& first) -> std::optional<CostModel> {
            asked << QStringLiteral("costs for %1 bits").arg(first.mean_bits);
            if (!knows) return {};
            CostTable table;
            table.expert_bytes = spec.experts.expert_bytes(kType);
            table.cpu_expert = {{1, 100}, {2, 200}};
            return CostModel(table);
        };
        const auto disk_of = [&] {
            asked << QStringLiteral("disk");
            return DiskReadCost{5000};
        };
        PlanInputs inputs;
        const auto planned = [&](std::uint64_t ram_bytes) {
            const ExpertGrid& grid = spec.experts;
            inputs = inputsOf(request, {spec, kType, dense_bytes_in(spec, kType), device, {}, 0, ram_bytes},
                              Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active));
            asked.clear();
            return plan_load(inputs, grid, costs_of, disk_of);
        };
        const QString costs = QStringLiteral("costs for 16 bits"), disk = QStringLiteral("disk");
        const Plan whole = planned(0);
        QCOMPARE(asked, QStringList{costs});
        QVERIFY(inputs.has_costs() && inputs.demand.n_experts == spec.experts.n_experts);
        const std::uint64_t less = whole.ram_bytes - whole.ram_bytes / 4;
        QVERIFY(planned(less).n_in(Place::kDisk) > 0);
        QCOMPARE(asked, (QStringList{costs, disk}));
        QCOMPARE(inputs.cost.table().disk.us, 5000.0);
        request.quality.min_mean_bits = 5;
        const Plan chosen = planned(less);
        QCOMPARE(asked, (QStringList{costs, disk}));
        QVERIFY(chosen.mean_bits >= 5 && chosen.mean_bits < 16 && chosen.predicted_loss > 0);
        QVERIFY(chosen.budget.ram_bytes == less && chosen.budget.quality == request.quality);

        // Unknown ones stay so; the floor is taken for one format.
        knows = false;
        const Plan assumed = planned(less);
        QCOMPARE(asked, QStringList{costs});
        QVERIFY(!inputs.has_costs() && assumed.mean_bits >= 5 && assumed.mean_bits < 16);
        QVERIFY(std::count(assumed.formats.begin(), assumed.formats.end(), assumed.formats.front()) ==
                static_cast<std::ptrdiff_t>(assumed.formats.size()));
        request.quality.min_mean_bits = 17;
        QVERIFY(refusalOf([&] { planned(less); }).find("at most 16") != std::string::npos);
    }

    // What the room of a default context costs is said where experts lack it; that of a
    // named one is not.
    void costOfADefaultContext_isNoted() {
        ModelSpec spec = parse_synthetic("synthetic:mixtral-mini").spec;
        spec.max_context = 32768;
        constexpr auto kType = kernels::WeightType::kBf16;
        DeviceInfo device;
        device.kind = DeviceKind::kCpu;
        LoadRequest request;
        request.model = "a file";
        const auto costs_of = [&](const Plan&) -> std::optional<CostModel> {
            CostTable table;
            table.expert_bytes = spec.experts.expert_bytes(kType);
            table.cpu_expert = {{1, 100}, {2, 200}};
            return CostModel(table);
        };
        const auto disk_of = [] { return DiskReadCost{5000}; };
        const auto note = [&](std::uint64_t ram_bytes, Plan& plan) {
            const ExpertGrid& grid = spec.experts;
            PlanInputs inputs = inputsOf(request, {spec, kType, dense_bytes_in(spec, kType), device, {}, 0, ram_bytes},
                                         Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active));
            plan = plan_load(inputs, grid, costs_of, disk_of);
            return plan.note.english();
        };
        Plan plan;
        QVERIFY(note(0, plan).find("costs speed") == std::string::npos);      // all experts have their place
        const std::uint64_t less = plan.ram_bytes - plan.kv_bytes / 16 * 15;  // all fit beside 2,048 tokens
        const std::string said = note(less, plan);
        QVERIFY(plan.context >= kUsualContext && plan.context < 32768);
        QVERIFY2(said.find("The room of the context costs speed: about ") != std::string::npos, said.c_str());
        QVERIFY2(said.find(" with a context of 2048 (forecast).") != std::string::npos, said.c_str());
        request.context = kUsualContext;
        QVERIFY(note(less, plan).find("costs speed") == std::string::npos);
    }

    void aLoadNearTheLimit_isNoted() {
        const auto note = [&](std::int64_t mib, const MemorySize& memory, DeviceKind kind = DeviceKind::kCpu,
                              std::int64_t dense_mib = 1) {
            DeviceInfo device;
            device.kind = kind;
            Plan plan;
            plan.ram_bytes = static_cast<std::uint64_t>(mib * kMib);
            plan.dense_bytes = static_cast<std::uint64_t>(100 * kMib);
            const auto dense_bytes = static_cast<std::uint64_t>(dense_mib * kMib);
            return memory_note(
                inputsOf(LoadRequest(), {spec_, kernels::WeightType::kBf16, dense_bytes, device, memory}), plan);
        };
        QVERIFY(note(0, kLimited).empty());
        QVERIFY(note(800, kLimited).empty());
        QCOMPARE(note(801, kLimited).english(),
                 std::string("The model takes 801.0 MiB of RAM and 1000.0 MiB (RLIMIT_AS: 2.0 GiB) are free: little is "
                             "left for anything else."));
        QVERIFY(note(1000, kMachine) == messages::little_ram_left(ByteSize{1000 * kMib}, ByteSize{1000 * kMib}));
        QCOMPARE(note(1000, kMachine).english(),
                 std::string("The model takes 1000.0 MiB of RAM and 1000.0 MiB are free: little is left for anything "
                             "else."));
        QVERIFY(note(1001, kLimited).empty());  // this is refused
        // An emulated device's memory is RAM, and all dense weights pass through RAM.
        QVERIFY(note(750, kMachine, DeviceKind::kCuda).empty());
        QVERIFY(note(750, kMachine, DeviceKind::kEmulated) ==
                messages::little_ram_left(ByteSize{850 * kMib}, ByteSize{1000 * kMib}));
        QVERIFY(note(100, kMachine, DeviceKind::kCuda, 900) ==
                messages::little_ram_left(ByteSize{900 * kMib}, ByteSize{1000 * kMib}));
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
        const ExpertGrid& grid = spec_.experts;
        const Popularity popularity = Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active);
        const auto refusal = [&](std::uint64_t asked_bytes, const MemorySize& memory) {
            LoadRequest request;
            request.ram_bytes = asked_bytes;
            DeviceInfo device;
            device.kind = DeviceKind::kCpu;
            const Load load{spec_, kernels::WeightType::kBf16, 1, device, memory, 0, 1000};
            return refusalOf([&] { planOf(request, load, popularity); });
        };
        const std::string limit = " Free memory: 1000.0 MiB (RLIMIT_AS: 2.0 GiB).";
        QVERIFY2(refusal(0, kLimited).ends_with(limit), refusal(0, kLimited).c_str());
        QVERIFY(!refusal(0, kMachine).empty() && refusal(0, kMachine).find("Free memory") == std::string::npos);
        // Then the reason is a budget that the user set.
        QVERIFY(refusal(1000, kLimited) == refusal(0, kMachine));
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
        QCOMPARE(reads(DiskReads::kAuto, 0, 0), from_cache);  // unknown
        QCOMPARE(reads(DiskReads::kCached, 1000 * kMib), from_cache);
        QCOMPARE(reads(DiskReads::kCached, 999 * kMib), std::string());
        QCOMPARE(reads(DiskReads::kDirect, 1000 * kMib), direct);
        // Accounted models, or those without a file, have no reads.
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

    void moreThreadsThanCores_areNoted_byOptionOrVariable() {
        const QByteArray before = qgetenv("OFFSTAGE_THREADS");
        const auto restored =
            qScopeGuard([&] { before.isNull() ? qunsetenv("OFFSTAGE_THREADS") : qputenv("OFFSTAGE_THREADS", before); });
        qunsetenv("OFFSTAGE_THREADS");
        LoadRequest request;
        QVERIFY(request_notes(request, 4096).empty());
        request.n_threads = 1024;
        QCOMPARE(request_notes(request, 4096).size(), std::size_t{1});
        request.n_threads = 0;
        qputenv("OFFSTAGE_THREADS", "1024");
        QCOMPARE(request_notes(request, 4096).size(), std::size_t{1});
    }

  private:
    const ModelSpec spec_ = parse_synthetic("synthetic:mixtral-mini").spec;
};

QTEST_GUILESS_MAIN(TestLoadPlan)
#include "tst_load_planner.moc"
