// The catalogue of models, and what is suggested of it.

#include <algorithm>
#include <set>

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cpu_operations.h"
#include "engine/device/memory_size.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/model/model_finder.h"
#include "engine/model/model_messages.h"
#include "engine/model/synthetic.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/suggestions.h"
#include "kernels/thread_pool.h"

using namespace offstage::engine;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

const Suggestion& named(const std::vector<Suggestion>& all, const std::string& name) {
    return *std::find_if(all.begin(), all.end(), [&](const Suggestion& one) { return one.model.name == name; });
}

}  // namespace

class TestSuggestions : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;

    // Accounted by the profile, the host as well, so that nothing has to be measured;
    // another computer, so that the memory of this one does not matter.
    SuggestionRequest wanted(std::uint64_t vram, std::uint64_t ram) const {
        SuggestionRequest request;
        request.load.device = "emulated:fiddler-env1";
        request.load.vram_bytes = vram;
        request.load.ram_bytes = ram;
        request.load.n_threads = 1;
        request.load.compute = ComputeMode::kF32;
        request.load.cache_directory = request.load.quant_cache_directory = m_cache.path().toStdString();
        request.measure = false;
        return request;
    }

  private Q_SLOTS:
    void catalogue_isSound_eachShapeOpensAsEachOfItsFiles() {
        QVERIFY(catalogue().models.size() >= 40);
        std::set<std::string> names;
        static const QRegularExpression repository(QStringLiteral("^[\\w.-]+/[\\w.-]+$"));
        for (const CatalogueModel& model : catalogue().models) {
            QVERIFY2(names.insert(model.name).second, model.name.c_str());
            QVERIFY2(repository.match(QString::fromStdString(model.repository)).hasMatch(), model.name.c_str());
            QVERIFY2(!model.licence.empty() && !model.good_for.empty(), model.name.c_str());
            for (const std::string& type : model.types) {
                const SyntheticModel file = parse_synthetic("synthetic:" + model.shape + "?type=" + type);
                QVERIFY2(file.spec.experts.expert_bytes(file.expert_type()) > 0, model.name.c_str());
            }
        }
    }

    // The sizes that their publishers name, in billions.
    void shapes_haveThePublishedSizes_data() {
        QTest::addColumn<double>("total");
        QTest::addColumn<double>("active");
        QTest::newRow("mixtral-8x7b") << 46.7 << 12.9;
        QTest::newRow("mixtral-8x22b") << 141.0 << 39.0;
        QTest::newRow("qwen3-30b-a3b") << 30.5 << 3.3;
        QTest::newRow("qwen3-235b-a22b") << 235.0 << 22.0;
        QTest::newRow("qwen3-coder-480b-a35b") << 480.0 << 35.0;
        QTest::newRow("deepseek-v2-lite") << 15.7 << 2.4;
        QTest::newRow("deepseek-v2") << 236.0 << 21.0;
        QTest::newRow("deepseek-v3") << 671.0 << 37.0;
        QTest::newRow("deepseek-v3.2") << 672.0 << 37.0;
        QTest::newRow("deepseek-v4-flash") << 284.0 << 13.0;
        QTest::newRow("deepseek-v4") << 1600.0 << 49.0;
        QTest::newRow("glm-5") << 744.0 << 40.0;
        QTest::newRow("glm-5.2") << 744.0 << 40.0;
        QTest::newRow("minimax-m3") << 428.0 << 23.0;
        QTest::newRow("kimi-k2") << 1026.0 << 32.0;
        QTest::newRow("glm-4.5") << 355.0 << 32.0;
        QTest::newRow("glm-4.5-air") << 106.0 << 12.0;
        QTest::newRow("gpt-oss-20b") << 20.9 << 3.6;
        QTest::newRow("gpt-oss-120b") << 116.8 << 5.1;
        QTest::newRow("minimax-m2") << 229.0 << 10.0;
        QTest::newRow("dbrx") << 132.0 << 36.0;
        QTest::newRow("olmoe") << 6.9 << 1.3;
        QTest::newRow("qwen1.5-moe-a2.7b") << 14.3 << 2.7;
        QTest::newRow("granite-3b-a800m") << 3.3 << 0.8;
        QTest::newRow("granite-4.0-h-small") << 32.2 << 9.0;
        QTest::newRow("lfm2-8b-a1b") << 8.3 << 1.5;
        QTest::newRow("nemotron-3-nano-30b-a3b") << 31.6 << 3.2;
        QTest::newRow("llama-4-scout-17b-16e") << 109.0 << 17.0;
        QTest::newRow("llama-4-maverick-17b-128e") << 400.0 << 17.0;
        QTest::newRow("mimo-v2-flash") << 309.0 << 15.0;
        QTest::newRow("step-3.5-flash") << 196.0 << 11.0;
        QTest::newRow("hunyuan-a13b") << 80.0 << 13.0;
        QTest::newRow("hy3-295b-a21b") << 295.0 << 21.0;
        QTest::newRow("solar-open-100b") << 102.6 << 12.0;
        QTest::newRow("mistral-small-4-119b") << 119.0 << 6.5;
    }
    void shapes_haveThePublishedSizes() {
        QFETCH(double, total);
        QFETCH(double, active);
        const ModelSpec spec = parse_synthetic(std::string("synthetic:") + QTest::currentDataTag()).spec;
        const double has = static_cast<double>(spec.total_weights()) / 1e9;
        QVERIFY2(std::abs(has / total - 1) < 0.02, qPrintable(QString::number(has)));
        // Publishers count embeddings in or not.
        const double reads = static_cast<double>(spec.active_weights()) / 1e9;
        QVERIFY2(std::abs(reads / active - 1) < 0.15, qPrintable(QString::number(reads)));
    }

    // Rows of 704 weights have no blocks of 256: files have blocks of 32 there.
    void typesWithLargeBlocks_haveSmallOnes_whereRowsAreShort() {
        const SyntheticModel model = parse_synthetic("synthetic:gemma4-26b-a4b?type=q4_k");
        const auto layout = model.spec.experts.layout(model.expert_type());
        QCOMPARE(layout.gate, offstage::kernels::WeightType::kQ4K);
        QCOMPARE(layout.down, offstage::kernels::WeightType::kQ5_0);
        QVERIFY_THROWS_EXCEPTION(Error, parse_synthetic("synthetic:gemma4-26b-a4b?type=q4_k&layers=0"));
    }

    void files_suitTheMemory() {
        const std::vector<Suggestion> all = suggest_models(wanted(12 * kGiB, 64 * kGiB), {}, {}, {});
        QCOMPARE(all.size(), catalogue().models.size());
        const Suggestion& small = named(all, "granite-3.1-1b-a400m-instruct");
        QCOMPARE(small.place, SuggestedPlace::kDevice);
        QCOMPARE(small.type, std::string("q8_0"));  // all of it has room on the device
        const Suggestion& usual = named(all, "Qwen3-30B-A3B-Instruct-2507");
        QCOMPARE(usual.place, SuggestedPlace::kDeviceAndRam);
        QCOMPARE(usual.type, std::string("q4_k"));
        QVERIFY(usual.contexts.front().forecast && usual.contexts.front().forecast->decode_tokens_per_s > 0);
        QCOMPARE(usual.contexts.front().forecast->prompt_tokens, 8192 - kSuggestedAnswer);
        QVERIFY(usual.contexts[1].forecast->ttft_s > usual.contexts[0].forecast->ttft_s);
        const Suggestion& huge = named(all, "Kimi-K2-Instruct-0905");
        QCOMPARE(huge.place, SuggestedPlace::kNowhere);
        QVERIFY(!huge.contexts.front().forecast);
        QCOMPARE(huge.contexts.front().short_by, huge.file_bytes - 76 * kGiB);
        // A context is no longer than the model's own.
        QCOMPARE(named(all, "OLMoE-1B-7B-0125-Instruct").contexts[1].context, 4096);
        // Sorted: what has no room comes last.
        const auto is_nowhere = [](const Suggestion& one) { return one.place == SuggestedPlace::kNowhere; };
        QVERIFY(std::is_partitioned(all.begin(), all.end(), [&](const Suggestion& one) { return !is_nowhere(one); }));

        const std::vector<Suggestion> more = suggest_models(wanted(23 * kGiB, 64 * kGiB), {}, {}, {});
        QCOMPARE(named(more, "Qwen3-30B-A3B-Instruct-2507").place, SuggestedPlace::kDevice);
    }

    // One forecast: the panel for budgets and the dialog for opening ask the same class.
    void forecast_isThatOfTheModelOnceItIsThere() {
        SuggestionRequest request = wanted(12 * kGiB, 64 * kGiB);
        request.good_for = "code";
        const std::vector<Suggestion> all = suggest_models(request, {}, {}, {});
        QVERIFY(std::all_of(all.begin(), all.end(), [](const Suggestion& s) { return s.model.good_for == "code"; }));
        const Suggestion& coder = named(all, "Qwen3-Coder-30B-A3B-Instruct");
        LoadRequest load = request.load;
        load.context = 8192;
        load.dry = true;  // another computer's memory
        FitEstimator there("synthetic:qwen3-30b-a3b?type=" + coder.type);
        there.set_prompt(8192 - kSuggestedAnswer);
        const FitEstimate fit = there.estimate(load);
        QCOMPARE(coder.contexts.front().forecast->decode_tokens_per_s, fit.forecast->decode_tokens_per_s);
        QCOMPARE(coder.contexts.front().forecast->ttft_s, fit.forecast->ttft_s);
    }

    void modelsOnThisComputer_comeFirst() {
        std::vector<FoundModel> found(3);
        found[0].name = "qwen3-30b-a3b-instruct-2507-Q4_K_M";
        found[0].path = "/models/a.gguf";
        found[1].name = "olmoe-1b-7b-0125-instruct:latest";
        found[1].path = "/models/b.gguf";
        found[2].name = "Moonlight-16B-A3B-Instruct";
        found[2].problem = messages::loading_cancelled;
        SuggestionRequest request = wanted(12 * kGiB, 64 * kGiB);
        request.contexts = {2048};
        const std::vector<Suggestion> all = suggest_models(request, found, {}, {});
        QCOMPARE(all[0].here, found[0].path);
        QCOMPARE(all[1].here, found[1].path);
        QVERIFY(all[2].here.empty());
        // The model with the shorter name is another one.
        QVERIFY(named(all, "Qwen3-30B-A3B").here.empty());
    }

    // RAM that is free here, but not beside the card's memory, is the other computer's all the same.
    void room_ofAnotherComputer_isWhatWasNamed() {
        const std::uint64_t ram = static_cast<std::uint64_t>(memory_size().available_bytes) - kGiB, vram = 12 * kGiB;
        SuggestionRequest request = wanted(vram, ram);
        request.contexts = {2048};
        request.type = "q4_k";
        int found = 0;
        for (const Suggestion& one : suggest_models(request, {}, {}, {})) {
            if (one.file_bytes + 4 * kGiB > ram + vram) continue;
            QVERIFY2(one.place != SuggestedPlace::kNowhere, one.model.name.c_str());
            ++found;
        }
        QVERIFY(found > 0);
    }

    // A GPU takes about a second to open.
    void device_isOpenedOnce_forAllModels() {
        offstage::kernels::ThreadPool pool(1);
        CpuOperations host(pool, offstage::kernels::GemmMode::kF32);
        SuggestionRequest request = wanted(12 * kGiB, 64 * kGiB);
        request.contexts = {2048};
        const std::vector<Suggestion> accounted = suggest_models(request, {}, {}, {});
        int opened = 0;
        request.load.opens_device = [&](std::uint64_t vram) {
            ++opened;
            return open_device("emulated:fiddler-env1", vram, host);
        };
        const std::vector<Suggestion> all = suggest_models(request, {}, {}, {});
        QCOMPARE(opened, 1);
        QCOMPARE(all.size(), accounted.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            QCOMPARE(all[i].model.name, accounted[i].model.name);
            QCOMPARE(all[i].type, accounted[i].type);
        }
    }

    void device_isOpenedOnce_forEstimatesAndMeasurements() {
        offstage::kernels::ThreadPool pool(1);
        CpuOperations host(pool, offstage::kernels::GemmMode::kF32);
        LoadRequest request = wanted(0, 0).load;
        request.context = 256;
        int opened = 0;
        request.opens_device = [&](std::uint64_t vram) {
            ++opened;
            return open_device("emulated:fiddler-env1", vram, host);
        };
        FitDevice shared;
        for (const char* const model : {"synthetic:granite-1b-a400m?layers=2", "synthetic:granite-1b-a400m?layers=3"}) {
            FitEstimator estimator(model, FitEstimator::Text::kWanted, &shared);
            QVERIFY(estimator.estimate(request).fits);
            QVERIFY(estimator.measure(request, {}, {}, {}).forecast);
        }
        QCOMPARE(opened, 1);
    }

    void name_isFound_asAPersonWritesIt() {
        SuggestionRequest request = wanted(12 * kGiB, 64 * kGiB);
        request.contexts = {2048};
        request.name = "glm 4.5 air";
        const std::vector<Suggestion> air = suggest_models(request, {}, {}, {});
        QCOMPARE(air.size(), std::size_t{1});
        QCOMPARE(air.front().model.name, std::string("GLM-4.5-Air"));
        request.name = "granite-3.1";
        QCOMPARE(suggest_models(request, {}, {}, {}).size(), std::size_t{2});
        request.name = "nothing of this name";
        QVERIFY(suggest_models(request, {}, {}, {}).empty());
    }

    void suggesting_showsEach_andStops() {
        std::stop_source stop;
        int n = 0;
        double last = 0;
        const auto show = [&](const Suggestion&, double share) {
            QVERIFY(share > last);
            last = share;
            if (++n == 3) stop.request_stop();
        };
        QVERIFY_THROWS_EXCEPTION(Error, suggest_models(wanted(12 * kGiB, 64 * kGiB), {}, show, stop.get_token()));
        QVERIFY(n < 10);
    }
};

QTEST_GUILESS_MAIN(TestSuggestions)
#include "tst_suggestions.moc"
