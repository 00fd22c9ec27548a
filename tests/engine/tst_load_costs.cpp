// What loading a model measures, and when it does not: disks, quantizing, formats on a CPU.

#include <algorithm>
#include <filesystem>

#include <QtTest>

#include "engine/plan/calibration.h"
#include "engine/run/run_messages.h"
#include "tests/engine/replan_play.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::WeightType;

namespace {

std::int64_t count(const Plan& plan, Place place) {
    return std::count(plan.places.begin(), plan.places.end(), place);
}

}  // namespace

class TestLoadCosts : public QObject, ReplanSetup {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() {
        measureModel();
        const LoadedModel model(on("cpu"), LoadedModel::Text::kNotNeeded, {}, {});
        // Of steps of 512 tokens, as where not all experts fit.
        const std::int64_t longer = std::max<std::int64_t>(0, model.plan().max_step - 512);
        cpu_fixed_bytes_ = model.plan().ram_bytes - 64 * expert_bytes_ -
                           static_cast<std::uint64_t>(longer) * model.demand().workspace_bytes_per_token;
    }

    // One place and one format: there is nothing to decide, also where experts are on disk.
    void cpu_withoutAFloor_measuresNothing() {
        const QTemporaryDir nothing;
        LoadRequest request = on("cpu");
        request.compute = ComputeMode::kF32;  // or the products' two formats are compared, once
        request.cache_directory = nothing.path().toStdString();
        request.ram_bytes = cpu_fixed_bytes_ + 30 * expert_bytes_;
        std::vector<Message> stages;
        LoadedModel model(request, LoadedModel::Text::kNotNeeded,
                          [&](const LoadProgress& p) { stages.push_back(p.stage); }, {});
        QVERIFY(count(model.plan(), Place::kDisk) > 0);
        QCOMPARE(model.cost().table().expert_bytes, std::uint64_t{0});
        QVERIFY(!stages.empty() &&
                std::find(stages.begin(), stages.end(), Message(messages::measuring_this_machine)) == stages.end());
        QVERIFY(std::filesystem::is_empty(request.cache_directory));
    }

    void device_withExpertsOnDisk_knowsWhatReadingAndQuantizingCost() {
        LoadRequest request = on("emulated:rtx-3060");
        request.vram_bytes = vramFor(8);
        const auto whole = std::make_unique<Play>(request);
        QCOMPARE(count(whole->model.plan(), Place::kDisk), 0);
        QCOMPARE(whole->model.cost().table().disk.us, 0.0);  // nobody has to wait for one
        request.ram_bytes = host_fixed_bytes_ + dense_bytes_ + 24 * expert_bytes_;
        Play play(request);
        CostModel& cost = play.model.cost();
        QVERIFY(count(play.model.plan(), Place::kDisk) > 0);
        const double read_us = cost.disk_read(WeightType::kBf16).us;
        QVERIFY(read_us > 0);
        QVERIFY(cost.disk_read(WeightType::kHqq4).us > 0 && cost.disk_read(WeightType::kHqq4).us < read_us / 2);
        // Kept on this machine, so that nobody waits for them again.
        const CalibrationCache kept{std::filesystem::path(request.cache_directory)};
        const QuantizingSpeeds speeds = quantizing_speeds(play.model.spec().hidden_dim, kept, {});
        QVERIFY(quantizing_speeds(play.model.spec().hidden_dim, kept, {}) == speeds);

        // They are what a preview says: experts fetched from disk, or quantized and fetched.
        ReplanRequest replan;
        replan.ram_bytes = host_fixed_bytes_ + dense_bytes_ + 64 * expert_bytes_;
        const ReplanPreview more = play.replanner.preview(replan);
        const std::int64_t n_fetched = count(play.model.plan(), Place::kDisk) - count(more.plan, Place::kDisk);
        QVERIFY(n_fetched > 0);
        QVERIFY(more.seconds >= 0.999e-6 * static_cast<double>(n_fetched) * read_us);
        replan.experts = WeightType::kHqq2;
        const ReplanPreview fewer = play.replanner.preview(replan);
        const double n_weights = static_cast<double>(expert_bytes_) / 2 * 64;
        QVERIFY(fewer.seconds >= 0.99 * n_weights / speeds[static_cast<std::size_t>(WeightType::kHqq2)]);
        // Who waits for a disk is slower, and the forecast knows it.
        QVERIFY(more.tokens_per_s_after > more.tokens_per_s_before);
    }

    void cpu_withAFloor_choosesFormatsThatFit_data() {
        QTest::addColumn<int>("n_experts");
        QTest::newRow("all fit in fewer bits") << 26;
        QTest::newRow("some stay on disk in any format") << 14;
    }
    void cpu_withAFloor_choosesFormatsThatFit() {
        QFETCH(int, n_experts);
        LoadRequest request = on("cpu");
        request.quality.min_mean_bits = 4;
        request.ram_bytes = cpu_fixed_bytes_ + static_cast<std::uint64_t>(n_experts) * expert_bytes_;
        // What is measured here differs from machine to machine, and under sanitizers arithmetic is slower than a disk:
        // the speeds that a load finds kept are those of a processor that no disk can keep up with.
        const QTemporaryDir kept;
        request.cache_directory = kept.path().toStdString();
        {
            Play measured(request);
            const CalibrationCache cache{std::filesystem::path(request.cache_directory)};
            const ExpertGrid& grid = measured.model.spec().experts;
            double us = 0.5;
            for (const WeightType format :
                 {WeightType::kHqq2, WeightType::kHqq3, WeightType::kHqq4, WeightType::kInt8, WeightType::kBf16}) {
                const std::string key =
                    CalibrationCache::key(measured.model.device(), measured.model.host(), format, grid, false) +
                    "|up to 2";
                CostTable table;
                QVERIFY2(cache.load(key, table), key.c_str());
                table.cpu_expert = {{1, us}, {2, 2 * us}};
                cache.store(key, table);
                us += 0.5;
            }
        }
        Play play(request);
        QCOMPARE(play.model.cost().cpu_us(1, WeightType::kHqq2), 0.5);
        const Plan& plan = play.model.plan();
        qInfo("%.2f bits on average, %lld of 64 in RAM", plan.mean_bits,
              static_cast<long long>(count(plan, Place::kRam)));
        QVERIFY2(plan.mean_bits >= 4 && plan.mean_bits < 16, qPrintable(QString::number(plan.mean_bits)));
        QCOMPARE(plan.formats.size(), std::size_t{64});
        QVERIFY(plan.predicted_loss > 0);
        QVERIFY(play.model.cost().has_table(WeightType::kHqq4));
        QVERIFY(play.model.ram().usage().high_water_bytes <= request.ram_bytes);
        const bool all_in_ram = count(plan, Place::kRam) == 64;
        QCOMPARE(all_in_ram, n_experts > 20);
        if (!all_in_ram) {
            // What is left of the budget would not hold one more.
            QVERIFY(count(plan, Place::kDisk) > 0 && count(plan, Place::kRam) > 0);
            std::uint64_t largest = 0;
            for (std::size_t i = 0; i < plan.places.size(); ++i) {
                if (plan.places[i] != Place::kDisk) continue;
                largest = std::max(largest, play.model.source().expert_bytes(plan.formats[i]));
            }
            QVERIFY(plan.ram_bytes + largest > request.ram_bytes);
        }

        Play reference(on("cpu"));
        setFormats(reference.model, plan.formats);
        std::vector<TokenId> next = prompt_;
        for (int token = 0; token < 12; ++token) {
            const auto expected = reference.step(next);
            const auto got = play.step(next);
            QVERIFY(!got.empty());
            QVERIFY2(std::equal(got.begin(), got.end(), expected.begin(), expected.end()),
                     qPrintable(QStringLiteral("logits differ at token %1").arg(token)));
            next = {best(expected)};
        }
    }

  private:
    std::uint64_t cpu_fixed_bytes_ = 0;
};

QTEST_GUILESS_MAIN(TestLoadCosts)
#include "tst_load_costs.moc"
