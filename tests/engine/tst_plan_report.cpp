// Plans and calibrations without weights.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include <QtTest>

#include "engine/device/hardware.h"
#include "engine/error.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "engine/run/measurements.h"
#include "engine/run/run_messages.h"
#include "engine/text/tokenizer.h"
#include "test_models.h"
#include "tests/engine/errors.h"
#include "tests/engine/mixed_gguf.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

double us_at(const std::vector<CostPoint>& points, std::int64_t n_tokens) {
    for (const CostPoint& point : points) {
        if (point.n_tokens == n_tokens) return point.us;
    }
    return 0;
}

}  // namespace

class TestPlanReport : public QObject {
    Q_OBJECT

    QTemporaryDir cache_;

    LoadRequest request(const char* device = "emulated:fiddler-env1") const {
        LoadRequest load;
        load.model = offstage::test::demoModel();
        load.compute = ComputeMode::kF32;
        load.n_threads = 2;
        load.device = device;
        load.vram_bytes = std::uint64_t{14} << 20;
        load.context = 256;
        load.dispatch = parse_dispatch("balanced");
        load.cache_directory = cache_.path().toStdString();
        return load;
    }

  private Q_SLOTS:
    // On the CPU steps are measured with separate memory, and experts on disk with the
    // cost of reading one.
    void costsOfTheCpu_haveStepsAndTheDisk() {
        LoadRequest load = request("cpu");
        load.vram_bytes = 0;
        const FitEstimate whole = plan_model(load, 64, {}, {});
        QVERIFY(whole.inputs.cost.table().dense.known() && whole.inputs.cost.table().dense.step.front().us > 0);
        QCOMPARE(whole.inputs.cost.table().disk.us, 0.0);  // nothing lies there
        load.ram_bytes = whole.plan.ram_bytes - whole.plan.ram_bytes / 4;
        const FitEstimate less = plan_model(load, 64, {}, {});
        QVERIFY(std::count(less.plan.places.begin(), less.plan.places.end(), Place::kDisk) > 0);
        QVERIFY(less.inputs.cost.table().disk.us > 0);
    }
    // Not the file's first layout by the number of its row.
    void costsOfAFilesBlocks_nameTheirTypes() {
        const QTemporaryDir folder;
        LoadRequest load = request();
        load.vram_bytes = 0;
        load.model = folder.filePath(QStringLiteral("mixed.gguf")).toStdString();
        write_mixed_gguf(load.model);
        for (const char* device : {"cpu", "emulated:fiddler-env1"}) {
            load.device = device;
            load.context = 64;
            const auto json = to_json(plan_model(load, 64, {}, {}));
            QCOMPARE(json["costs"]["weight_type"].get<std::string>(), "Q4_K, Q6_K");
        }
    }
    // A plan that a load could not carry out: the dense weights do not pass through the
    // RAM budget.
    void ramBelowTheDenseWeights_isRefusedAsByTheLoad() {
        LoadRequest load = request();
        load.vram_bytes = 0;
        FitEstimator estimator(load.model, FitEstimator::Text::kNotNeeded);
        load.ram_bytes = 1;
        for (FitEstimate tried = estimator.estimate(load); !tried.fits; tried = estimator.estimate(load)) {
            QVERIFY(tried.short_by > 0);
            load.ram_bytes += tried.short_by;  // no byte more than it takes
        }
        const auto problem = [&](const auto& attempt) {
            try {
                attempt();
            } catch (const Error& error) {
                return error.kind() == ErrorKind::kOutOfMemory ? std::string(error.what()) : "another error";
            }
            return std::string();
        };
        const auto plan = [&] { static_cast<void>(plan_model(load, 64, {}, {})); };
        QCOMPARE(problem(plan), std::string());
        --load.ram_bytes;
        const FitEstimate estimate = estimator.estimate(load);
        QVERIFY2(!estimate.fits && estimate.short_by == 1, estimate.problem.english().c_str());
        QVERIFY(estimate.problem.is(messages::dense_weights_pass_ram));
        QCOMPARE(problem(plan), estimate.problem.english());
        QCOMPARE(problem([&] { const LoadedModel model(load, LoadedModel::Text::kNotNeeded, {}, {}); }),
                 estimate.problem.english());
    }

    void costsMeasuredBesideOtherWork_areNamed() {
        LoadRequest load = request("cpu");
        load.vram_bytes = 0;
        load.checks_costs = false;
        static_cast<void>(plan_model(load, 64, {}, {}));
        int n = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(load.cache_directory)) {
            if (!entry.is_regular_file()) continue;
            nlohmann::json content = nlohmann::json::parse(std::ifstream(entry.path()));
            for (const char* const part : {"table", "dense"}) {
                if (content.contains(part)) content[part]["disturbed"] = (++n, true);
            }
            std::ofstream(entry.path()) << content;
        }
        QVERIFY(n >= 2);
        const std::string says = plan_model(load, 64, {}, {}).cost_source;
        QVERIFY2(says.starts_with("kept calibration of "), says.c_str());
        QVERIFY2(says.find(". Other work kept this computer busy meanwhile") != std::string::npos, says.c_str());
    }

    void costsOfAProfile_areWhatItsDeviceIsCalibratedTo() {
        LoadRequest load = request();
        load.vram_bytes = 0;
        QCOMPARE(plan_model(load, 64, {}, {}).cost_source, std::string("hardware profile fiddler-env1"));
        const CostTable measured = calibrate_model(load, {}, {});
        ExpertGrid grid;
        grid.hidden_dim = 192;
        grid.ffn_dim = 256;
        const CostTable made =
            costs_of(find_hardware_profile("fiddler-env1"), offstage::kernels::WeightType::kBf16, grid, false);
        const auto near = [](double a, double b) { return a > 0 && qAbs(a - b) < 0.02 * b; };
        QVERIFY(measured.emulated && made.emulated);
        QCOMPARE(made.expert_bytes, measured.expert_bytes);
        QVERIFY2(near(made.weight_copy_us, measured.weight_copy_us), qPrintable(QString::number(made.weight_copy_us)));
        QVERIFY(near(made.sync_us, measured.sync_us));
        QVERIFY(near(made.copy_slowdown, measured.copy_slowdown) ||
                qAbs(made.copy_slowdown - measured.copy_slowdown) < 0.1);
        QVERIFY(measured.gpu_expert.size() >= 5 && measured.cpu_expert.size() >= 5);
        for (const CostPoint& point : measured.gpu_expert)
            QVERIFY(near(us_at(made.gpu_expert, point.n_tokens), point.us));
        for (const CostPoint& point : measured.cpu_expert)
            QVERIFY(near(us_at(made.cpu_expert, point.n_tokens), point.us));
        for (const CostPoint& point : measured.activation_copy) {
            QVERIFY(near(us_at(made.activation_copy, point.n_tokens), point.us));
        }
        // Plans go by the profile all the same.
        QCOMPARE(plan_model(load, 64, {}, {}).cost_source, std::string("hardware profile fiddler-env1"));
    }

    // Experts in RAM whose rows are interleaved: a kernel puts them in order behind the
    // copy.
    void costsOfAProfile_countWhatPutsStripsInOrder() {
        LoadRequest load = request();
        load.model = "synthetic:qwen3-30b-a3b?layers=1&type=q4_k";
        load.compute = ComputeMode::kInt8;
        load.vram_bytes = 0;
        const HardwareProfile profile = find_hardware_profile("fiddler-env1");
        const CostTable measured = calibrate_model(load, {}, {});
        const double us = plan_model(load, 64, {}, {}).inputs.cost.table().weight_copy_us;
        QCOMPARE(us, profile.strips_copy_us(static_cast<double>(measured.expert_bytes)));
        QVERIFY2(qAbs(us - measured.weight_copy_us) < 1e-3 * us, qPrintable(QString::number(measured.weight_copy_us)));
        QVERIFY(us > 1.01 * profile.copy_us(static_cast<double>(measured.expert_bytes)));
        // Nothing is interleaved for products of floats.
        load.compute = ComputeMode::kF32;
        QCOMPARE(plan_model(load, 64, {}, {}).inputs.cost.table().weight_copy_us,
                 profile.copy_us(static_cast<double>(measured.expert_bytes)));
    }

    void plan_fitsItsBudget_andForecastsBySpeedOfTheDevice() {
        const FitEstimate slow = plan_model(request("emulated:t4"), 128, {}, {});
        const FitEstimate fast = plan_model(request("emulated:h200"), 128, {}, {});
        QVERIFY(slow.plan.vram_bytes() <= slow.plan.budget.vram_bytes);
        QCOMPARE(slow.plan.n_resident(), fast.plan.n_resident());
        QVERIFY(slow.plan.n_resident() > 0 && slow.plan.n_resident() < 64);
        QVERIFY(slow.forecast->ttft_s > fast.forecast->ttft_s);
        QCOMPARE(slow.forecast->prompt_tokens, 128);
        const nlohmann::ordered_json json = to_json(slow);
        QCOMPARE(json["resident_experts"].get<std::int64_t>(), slow.plan.n_resident());
        QVERIFY(to_text(slow).find("accounted time, not a measurement") != std::string::npos);
    }

    void comparison_listsOneFormatForAll_andNothingFasterThanTheChosenPlan() {
        LoadRequest load = request("emulated:fiddler-env1");
        load.vram_bytes = std::uint64_t{10} << 20;
        load.quality.min_mean_bits = 4;
        const FitEstimate report = plan_model(load, 64, {}, {}, true);
        QVERIFY(report.plan.mean_bits >= 4 && report.plan.mean_bits < 16);
        QVERIFY(report.plan.predicted_loss > 0);
        // Short rows have many scales: at 192 columns HQQ3 keeps this floor as well.
        const auto allowed = std::count_if(report.inputs.demand.formats.begin(), report.inputs.demand.formats.end(),
                                           [](const ModelDemand::Format& f) { return f.bits_per_weight >= 4; });
        QVERIFY(allowed >= 3);
        QCOMPARE(report.compared.size(), static_cast<std::size_t>(2 * allowed + 1));
        for (const FitEstimate::Compared& one : report.compared)
            QVERIFY(one.forecast.decode_layer_us >= report.forecast->decode_layer_us * (1 - 1e-9));
        const nlohmann::ordered_json json = to_json(report);
        std::int64_t experts = 0;
        for (const auto& format : json["formats"])
            experts += format["device"].get<int>() + format["ram"].get<int>() + format["disk"].get<int>();
        QCOMPARE(experts, 64);
        QCOMPARE(json["compared"].size(), report.compared.size());
        QVERIFY(to_text(report).find("whole layers, HQQ4") != std::string::npos);
    }

    // More RAM in a request than this computer has means another computer: the plan is
    // for that one.
    void ramOfAnotherComputer_isPlannedWith() {
        LoadRequest load = request();
        load.model = "synthetic:deepseek-v3";  // 1.2 TiB of experts
        load.vram_bytes = std::uint64_t{23} << 30;
        load.ram_bytes = std::uint64_t{4} << 40;
        load.quant = parse_quant("dense=4");
        const auto n_on_disk = [](const FitEstimate& report) {
            return std::count(report.plan.places.begin(), report.plan.places.end(), Place::kDisk);
        };
        const FitEstimate roomy = plan_model(load, 64, {}, {});
        QCOMPARE(roomy.plan.budget.ram_bytes, load.ram_bytes);
        QCOMPARE(roomy.plan.budget.vram_bytes, load.vram_bytes);
        QCOMPARE(n_on_disk(roomy), 0);
        QVERIFY2(roomy.plan.note.english().find("This computer has not enough memory") != std::string::npos,
                 roomy.plan.note.english().c_str());
        load.ram_bytes = std::uint64_t{1} << 40;  // more than this computer's as well
        const FitEstimate less = plan_model(load, 64, {}, {});
        QCOMPARE(less.plan.budget.ram_bytes, load.ram_bytes);
        QVERIFY(n_on_disk(less) > 0);
        QVERIFY(less.forecast->decode_tokens_per_s < roomy.forecast->decode_tokens_per_s);

        // Within this computer's RAM the plan equals a load's.
        LoadRequest small = request();
        small.ram_bytes = std::uint64_t{256} << 20;
        const FitEstimate here = plan_model(small, 64, {}, {});
        QCOMPARE(here.plan.budget.ram_bytes, small.ram_bytes);
        QVERIFY2(here.plan.note.english().find("This computer") == std::string::npos, here.plan.note.english().c_str());
    }

    // The notes of a load about the files, and the context that their publisher advises.
    void notesOfTheFiles_andTheAdvisedContext_areTaken() {
        const QTemporaryDir place;
        const std::filesystem::path folder = place.path().toStdString(), blob = folder / "blobs" / "sha256-aa";
        std::filesystem::create_directories(blob.parent_path());
        write_mixed_gguf(blob.string(),
                         [](GgufWriter& writer) { writer.add("tokenizer.ggml.eos_token_id", std::uint32_t{900}); });
        const std::filesystem::path manifest = folder / "manifests/registry.ollama.ai/library/mine/v1";
        std::filesystem::create_directories(manifest.parent_path());
        std::ofstream(manifest)
            << R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},)"
               R"({"mediaType": "application/vnd.ollama.image.params", "digest": "sha256:cc"}]})";
        std::ofstream(folder / "blobs" / "sha256-cc") << R"({"num_ctx": 96})";
        LoadRequest load = request();
        load.model = blob.string();
        load.context = 0;
        const FitEstimate report = plan_model(load, 8, {}, {});
        QCOMPARE(report.plan.context, std::int64_t{96});
        const auto tokenizer = Tokenizer::open(blob, report.shape.spec.vocab_size);
        QVERIFY(!tokenizer->notes().empty());
        const std::string text = to_text(report);
        for (const Message& note : tokenizer->notes()) {
            QVERIFY2(text.find("  note       " + note.english() + "\n") != std::string::npos, text.c_str());
            const auto json = to_json(report)["notes"].get<std::vector<std::string>>();
            QVERIFY(std::find(json.begin(), json.end(), note.english()) != json.end());
        }
        // And of the request, as a load notes them.
        const std::size_t n_before = report.notes.size();
        load.context = report.shape.spec.max_context + 1;
        load.n_threads = cores_to_use() + 1;
        QCOMPARE(plan_model(load, 8, {}, {}).notes.size(), n_before + 2);
    }

    // Templates that a load refuses, and one that fails with each prompt.
    void unusableTemplate_isANote() {
        const QTemporaryDir place;
        const std::string file = place.filePath(QStringLiteral("m.gguf")).toStdString();
        for (const char* jinja : {"{% for m in messages %}", "{{ messages|nosuch }}"}) {
            write_mixed_gguf(file, [&](GgufWriter& writer) { writer.add("tokenizer.chat_template", jinja); });
            LoadRequest load = request();
            load.model = file;
            load.context = 0;
            const auto notes = plan_model(load, 8, {}, {}).notes;
            const auto of_template = std::count_if(notes.begin(), notes.end(), [&](const Message& note) {
                return note.english().find(file + " (tokenizer.chat_template), line 1: the chat template") !=
                       std::string::npos;
            });
            QCOMPARE(of_template, 1);
        }
    }

    void budgetTooSmall_saysByHowMuch() {
        LoadRequest load = request();
        load.vram_bytes = std::uint64_t{4} << 20;
        QCOMPARE(mismatch(error_of([&] { plan_model(load, 64, {}, {}); }), ErrorKind::kOutOfMemory, "bytes more"),
                 QString());
    }

    void vramOfTheCpu_isRefused() {
        QCOMPARE(mismatch(error_of([&] { plan_model(request("cpu"), 64, {}, {}); }), ErrorKind::kInvalidInput),
                 QString());
    }

    void profileOfAnotherModel_isRefused() {
        const ModelShape demo = read_model_shape(offstage::test::demoModel());
        QCOMPARE(demo.spec.experts.n_experts, 8);
        QCOMPARE(demo.type, offstage::kernels::WeightType::kBf16);
        const QString file = cache_.filePath(QStringLiteral("other.json"));
        Popularity other = Popularity::uniform(2, 4, 2);
        other.n_tokens = 1;
        other.counts = {1, 1, 0, 0, 0, 0, 1, 1};
        write_popularity(other, "other", file.toStdString());
        try {
            LoadRequest request;
            request.popularity_file = file.toStdString();
            static_cast<void>(Measurements(request, demo.spec, demo.type, demo.name, demo.directory).popularity());
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY2(QString::fromUtf8(error.what()).contains(QLatin1String("2 layers of 4 experts")), error.what());
        }
    }
};

QTEST_GUILESS_MAIN(TestPlanReport)
#include "tst_plan_report.moc"
