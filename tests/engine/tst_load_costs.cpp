// The measurements of a load, and when they are skipped: disks, quantizing, formats on a
// CPU.

#include <algorithm>
#include <filesystem>

#include <QDirIterator>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/eval/bench.h"
#include "engine/plan/calibration.h"
#include "engine/plan/repeated_time.h"
#include "engine/run/dense_costs.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/measurements.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "tests/engine/replan_play.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::WeightType;

namespace {

// The disk's costs in a folder of stored costs.
struct DiskFile {
    explicit DiskFile(const QString& folder) {
        QDirIterator files(folder, QDir::Files, QDirIterator::Subdirectories);
        while (files.hasNext()) {
            const QString each = files.next();
            const QJsonObject content = readJson(each);
            if (!content.contains(QLatin1String("disk"))) continue;
            name = each;
            whole = content;
            disk = content[QLatin1String("disk")].toObject();
        }
    }
    void write(const QJsonObject& changed) const {
        QJsonObject content = whole;
        content[QLatin1String("disk")] = changed;
        QFile file(name);
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        file.write(QJsonDocument(content).toJson());
    }

    QString name;
    QJsonObject whole, disk;
};

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
        // For steps of 512 tokens, as if not all experts fit.
        const std::int64_t longer = std::max<std::int64_t>(0, model.plan().max_step - 512);
        cpu_fixed_bytes_ = model.plan().ram_bytes - 64 * expert_bytes_ -
                           static_cast<std::uint64_t>(longer) * model.demand().workspace_bytes_per_token;
    }

    // One place and one format: there is nothing to decide, even if experts are on disk.
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
        QCOMPARE(whole->model.cost().table().disk.us, 0.0);  // no expert is on disk
        request.ram_bytes = host_fixed_bytes_ + dense_bytes_ + 24 * expert_bytes_;
        Play play(request);
        CostModel& cost = play.model.cost();
        QVERIFY(count(play.model.plan(), Place::kDisk) > 0);
        const double read_us = cost.disk_read(WeightType::kBf16).us;
        QVERIFY(read_us > 0);
        QVERIFY(cost.disk_read(WeightType::kHqq4).us > 0 && cost.disk_read(WeightType::kHqq4).us < read_us / 2);
        // Stored on this machine, so that they are not measured again.
        const MeasurementStore kept{std::filesystem::path(request.cache_directory)};
        const QuantizingSpeeds speeds = quantizing_speeds(play.model.spec().hidden_dim, kept, {});
        QVERIFY(quantizing_speeds(play.model.spec().hidden_dim, kept, {}) == speeds);

        // They are in a preview: experts read from disk, or quantized and read.
        ReplanRequest replan;
        replan.ram_bytes = host_fixed_bytes_ + dense_bytes_ + 64 * expert_bytes_;
        const ReplanPreview more = preview_of(play.replanner.inputs(), replan);
        const std::int64_t n_fetched = count(play.model.plan(), Place::kDisk) - count(more.plan, Place::kDisk);
        QVERIFY(n_fetched > 0);
        QVERIFY(more.seconds >= 0.999e-6 * static_cast<double>(n_fetched) * read_us);
        replan.experts = WeightType::kHqq2;
        const ReplanPreview fewer = preview_of(play.replanner.inputs(), replan);
        const double n_weights = static_cast<double>(expert_bytes_) / 2 * 64;
        QVERIFY(fewer.seconds >= 0.99 * n_weights / speeds[static_cast<std::size_t>(WeightType::kHqq2)]);
        // Waiting for a disk is slower, and the forecast includes it.
        QVERIFY(more.after.decode_tokens_per_s > more.before.decode_tokens_per_s);
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
        // Measured values differ from machine to machine, and under sanitizers arithmetic
        // is slower than a disk: the stored speeds here are those of a processor that is
        // always faster than a disk.
        const QTemporaryDir kept;
        request.cache_directory = kept.path().toStdString();
        {
            Play measured(request);
            const MeasurementStore cache{std::filesystem::path(request.cache_directory)};
            const ExpertGrid& grid = measured.model.spec().experts;
            double us = 0.5;
            for (const WeightType format :
                 {WeightType::kHqq2, WeightType::kHqq3, WeightType::kHqq4, WeightType::kInt8, WeightType::kBf16}) {
                const std::string key =
                    cost_key(place_of(measured.model.device(), measured.model.host()), format, grid, false) +
                    "|up to 2";
                CostTable table;
                QVERIFY2(cache.load(key, table), key.c_str());
                table.cpu_expert = {{1, us}, {2, 2 * us}};
                cache.store(key, table);
                us += 0.5;
            }
        }
        request.checks_costs = false;
        Play play(request);
        QCOMPARE(play.model.cost().cpu_us(1, WeightType::kHqq2), 0.5);
        const Plan& plan = play.model.plan();
        qInfo("%.2f bits on average, %lld of 64 in RAM", plan.mean_bits,
              static_cast<long long>(count(plan, Place::kRam)));
        QVERIFY2(plan.mean_bits >= 4 && plan.mean_bits < 16, qPrintable(QString::number(plan.mean_bits)));
        QCOMPARE(plan.formats.size(), std::size_t{64});
        QVERIFY(plan.predicted_loss > 0);
        QCOMPARE(play.model.cost().cpu_us(1, WeightType::kHqq4), 1.5);  // its own, not the master's by bytes
        QVERIFY(play.model.ram().usage().high_water_bytes <= request.ram_bytes);
        const bool all_in_ram = count(plan, Place::kRam) == 64;
        QCOMPARE(all_in_ram, n_experts > 20);
        if (!all_in_ram) {
            // The rest of the budget would not hold one more.
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

    // ---- kept costs
    // As a machine had them that was busy when they were measured.
    void load_measuresAgain_whatDoesNotHold() {
        const QTemporaryDir kept;
        LoadRequest request = on("emulated:rtx-3060");  // with this CPU
        request.compute = ComputeMode::kF32;
        request.cache_directory = kept.path().toStdString();
        const auto us_of_load = [&](std::vector<Message>* notes = nullptr) {
            const LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
            if (notes != nullptr) *notes = model.summary().notes;
            return model.plan_inputs().cost.table().cpu_expert.front().us;
        };
        const double first_us = us_of_load();
        scale_kept(request, 1000);
        request.checks_costs = false;
        QVERIFY(us_of_load() > 500 * first_us);
        request.checks_costs = true;
        std::vector<Message> notes;
        const double us = us_of_load(&notes);
        QVERIFY2(us < 100 * first_us, qPrintable(QStringLiteral("%1, at first %2").arg(us).arg(first_us)));
        const auto says = [](const Message& note) {
            return note.english().find("an expert on the CPU took") != std::string::npos;
        };
        QCOMPARE(std::count_if(notes.begin(), notes.end(), says), 1);
        request.checks_costs = false;
        QCOMPARE(us_of_load(), us);  // kept
    }

    // A problem that a run shows and the check of one expert does not: then all of it is
    // measured again, once.
    void run_farFromItsForecast_raisesADoubt() {
        const QTemporaryDir kept;
        LoadRequest request = on("cpu");
        request.compute = ComputeMode::kF32;
        request.cache_directory = kept.path().toStdString();
        request.checks_costs = false;
        plan_model(request, 32, {}, {});
        scale_kept(request, 1000);
        const auto note_of_run = [&] {
            LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
            return run_bench(model, {8, 24, 1}, {}).note.english();
        };
        std::string note;
        for (int run = 0; note.empty() && run < 20; ++run) note = note_of_run();  // a disturbed run says nothing
        QVERIFY2(note.find("measured again when the model is loaded next") != std::string::npos, note.c_str());
        const CostTable wrong = kept_table(request);
        QVERIFY(wrong.doubt == CostDoubt::kRaised);
        QCOMPARE(note_of_run(), std::string());  // measured again
        const CostTable again = kept_table(request);
        QVERIFY(again.cpu_expert.front().us < wrong.cpu_expert.front().us / 10);
        QVERIFY(again.doubt == CostDoubt::kAnswered);
        // No doubt is raised twice: not of the experts, and not of the dense part either.
        scale_kept(request, 1000);
        for (int run = 0; run < 3; ++run) QCOMPARE(note_of_run(), std::string());
        QVERIFY(kept_table(request).doubt == CostDoubt::kAnswered);
    }

    // The disk's stored costs age, are doubted and are checked like other costs.
    void disk_isMeasuredAgain_whereItDoesNotHold_data() {
        QTest::addColumn<DiskReads>("reads");
        QTest::addColumn<double>("factor");  // of what is kept
        QTest::addColumn<int>("days");
        QTest::addColumn<bool>("doubted");
        QTest::addColumn<bool>("anew");
        using enum DiskReads;
        for (const auto& [name, reads] : {std::pair("cached", kCached), std::pair("direct", kDirect)}) {
            QTest::addRow("%s, holds", name) << reads << 1.0 << 0 << false << false;
            QTest::addRow("%s, faster now", name) << reads << 1000.0 << 0 << false << true;
            QTest::addRow("%s, old", name) << reads << 1.0 << 91 << false << true;
            QTest::addRow("%s, in doubt", name) << reads << 1.0 << 0 << true << true;
        }
    }
    void disk_isMeasuredAgain_whereItDoesNotHold() {
        QFETCH(DiskReads, reads);
        QFETCH(double, factor);
        QFETCH(int, days);
        QFETCH(bool, doubted);
        QFETCH(bool, anew);
        const QTemporaryDir& kept = reads == DiskReads::kDirect ? read_directly_ : read_through_cache_;
        LoadRequest request = on("cpu");
        request.compute = ComputeMode::kF32;
        request.cache_directory = kept.path().toStdString();
        request.disk_reads = reads;
        request.ram_bytes = cpu_fixed_bytes_ + 40 * expert_bytes_;
        request.checks_costs = false;
        plan_model(request, 32, {}, {});
        {
            LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
            QVERIFY(model.plan().n_in(Place::kDisk) > 0 && model.cost().table().disk.us > 0);
            if (doubted) {
                const auto doubt = [&] {
                    return model.measurements().doubt(model.device(), model.host(), model.plan());
                };
                QVERIFY(doubt() && !doubt());
            }
        }
        const DiskFile file(kept.path());
        QVERIFY(!file.disk.isEmpty());
        QCOMPARE(file.disk[QLatin1String("doubt")].toInt(), doubted ? 1 : 0);
        QJsonObject changed = file.disk;
        const double check_us = changed[QLatin1String("check_us")].toDouble();
        QVERIFY(check_us > 0);
        changed[QLatin1String("check_us")] = check_us * factor;
        const qint64 then = changed[QLatin1String("measured_at")].toInteger() - (1 + days * qint64{24} * 3600);
        changed[QLatin1String("measured_at")] = then;
        file.write(changed);
        // Without checks, only costs that are old or in doubt are measured again.
        if (factor > 1) {
            const LoadedModel unchecked(request, LoadedModel::Text::kNotNeeded, {}, {});
            QCOMPARE(DiskFile(kept.path()).disk, changed);
        }
        // A slower result while the computer is busy is no reason; on an idle computer it
        // may be one.
        request.checks_costs = factor > 1;
        const LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
        const QJsonObject again = DiskFile(kept.path()).disk;
        QCOMPARE(again[QLatin1String("measured_at")].toInteger() > then, anew);
        QCOMPARE(again[QLatin1String("doubt")].toInt(), doubted ? 2 : 0);
        const auto& notes = model.summary().notes;
        const auto says = [](const Message& note) {
            return note.english().find("an expert from the disk took") != std::string::npos;
        };
        QCOMPARE(std::count_if(notes.begin(), notes.end(), says), factor > 1 ? 1 : 0);
    }

    // Other work makes the first 120 steps take a quarter longer: less than what counts
    // as other work's, but there are later ones of each kind. A check that finds such
    // steps is made again.
    void dense_besideOtherWorkForAWhile_isTheSame() {
        const ModelShape shape = read_model_shape(demoModel());
        offstage::kernels::ThreadPool pool(1);
        CpuOperations operations(pool, offstage::kernels::GemmMode::kF32);
        CpuBackend cpu(pool, offstage::kernels::GemmMode::kF32, std::uint64_t{1} << 40);
        DenseProbeModel model{shape.spec};
        int n_calls = 0;
        const auto true_us = [](std::int64_t n) { return 100 + 10 * static_cast<double>(n); };
        double slower = 1.25;
        model.timer = [&](std::int64_t n, std::int64_t) { return true_us(n) * (n_calls++ < 120 ? slower : 1); };
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        const DenseCosts costs = dense_costs(model, cpu, operations, cache, {});
        for (const CostPoint& point : costs.step) {
            QVERIFY2(std::abs(point.us / true_us(point.n_tokens) - 1) < 0.01,
                     qPrintable(QStringLiteral("%1 tokens: %2").arg(point.n_tokens).arg(point.us)));
        }
        n_calls = 0;
        slower = 1.5;
        dense_costs(model, cpu, operations, cache, {});
        QVERIFY(n_calls > 120 && cache.notes().empty());
    }

    // The experts of a small model count with their table's time, whatever they take in
    // the step; thinner ones in their place do not.
    void dense_stepOfASmallModel_hasItsExpertsByTheirTable() {
        const ModelShape shape = read_model_shape(demoModel());
        offstage::kernels::ThreadPool pool(1);
        CpuOperations operations(pool, offstage::kernels::GemmMode::kF32);
        CpuBackend cpu(pool, offstage::kernels::GemmMode::kF32, DenseProbe::kPlentyBytes);
        CostTable never_ending;
        never_ending.cpu_expert = {{1, 1e12}};
        DenseProbeModel model{shape.spec, shape.type};
        model.experts = &never_ending;
        DenseProbe whole(model, shape.spec, cpu, operations, false);
        QCOMPARE(whole.step_us(1, 0), 0.0);
        QCOMPARE(whole.step_us(8, 0), 0.0);
        ModelSpec thin = shape.spec;
        thin.experts.ffn_dim = 64;
        QVERIFY(DenseProbe(model, thin, cpu, operations, false).step_us(1, 0) > 0);
        never_ending.cpu_expert = {{1, 0}};
        DenseProbe all(model, shape.spec, cpu, operations, false);
        QVERIFY(all.step_us(1, 0) > 0);
    }

    // A step of n tokens takes 100 + 10 n, and past / 100 more; other work adds much two
    // of three times, and to one token alone at first always.
    void dense_besideOtherWork_isTheSame_andChecked() {
        const QTemporaryDir folder;
        const MeasurementStore cache(folder.path().toStdString());
        const ModelShape shape = read_model_shape(demoModel());
        offstage::kernels::ThreadPool pool(1);
        CpuOperations operations(pool, offstage::kernels::GemmMode::kF32);
        CpuBackend cpu(pool, offstage::kernels::GemmMode::kF32, std::uint64_t{1} << 40);
        DenseProbeModel model{shape.spec};
        int n_calls = 0, n_of_one = 0;
        const auto true_us = [](std::int64_t n, std::int64_t past) {
            return 100 + 10 * static_cast<double>(n) + static_cast<double>(past * n) / 100;
        };
        double speed = 1;
        model.timer = [&](std::int64_t n, std::int64_t past) {
            if (n == 1 && past == 0 && n_of_one++ < 20) return 1339.0;
            return true_us(n, past) / speed * (++n_calls % 3 == 0 ? 1 : 2 + n_calls % 7);
        };
        const auto costs = [&] { return dense_costs(model, cpu, operations, cache, {}); };
        const DenseCosts first = costs();
        for (const CostPoint& point : first.step) {
            QVERIFY2(std::abs(point.us / true_us(point.n_tokens, 0) - 1) < 0.01,
                     qPrintable(QStringLiteral("%1 tokens: %2").arg(point.n_tokens).arg(point.us)));
        }
        for (const CostPoint& point : first.past) {
            QVERIFY(std::abs(point.us - static_cast<double>(point.n_tokens) / 100) < 2);
        }
        // While steps keep their times, the stored costs stay; noise changes nothing.
        const auto is_kept = [&] { return costs().measured_at == first.measured_at && cache.notes().empty(); };
        QVERIFY(is_kept());
        speed = 1.2;
        QVERIFY(is_kept());
        // But this load counts with the time of now.
        const DenseCosts now = costs();
        const double less_us = 110 - 110 / speed;
        for (std::size_t i = 0; i < now.step.size(); ++i) {
            const double us = first.step[i].us - less_us;
            QVERIFY2(std::abs(now.step[i].us / us - 1) < 0.03,
                     qPrintable(QStringLiteral("%1 tokens: %2").arg(now.step[i].n_tokens).arg(now.step[i].us)));
        }
        speed = 2;
        const DenseCosts faster = costs();
        QCOMPARE(cache.notes().size(), std::size_t{1});
        QVERIFY2(cache.notes().front().english().find("a token beside its experts took") != std::string::npos,
                 cache.notes().front().english().c_str());
        QVERIFY(std::abs(faster.step.front().us / (first.step.front().us / 2) - 1) < 0.01);
    }

  private:
    // For on(), with products in float32.
    static std::string key() {
        const CostPlace here{cpu_info(), 1, offstage::kernels::GemmMode::kF32};
        return cost_key(here, WeightType::kBf16, read_model_shape(demoModel()).spec.experts, false);
    }
    static CostTable kept_table(const LoadRequest& request) {
        CostTable table;
        MeasurementStore{std::filesystem::path(request.cache_directory)}.load(key(), table);
        return table;
    }
    static void scale_kept(const LoadRequest& request, double factor) {
        CostTable table = kept_table(request);
        QVERIFY(!table.cpu_expert.empty());
        for (CostPoint& point : table.cpu_expert) point.us *= factor;
        MeasurementStore{std::filesystem::path(request.cache_directory)}.store(key(), table);
    }

    std::uint64_t cpu_fixed_bytes_ = 0;
    QTemporaryDir read_directly_, read_through_cache_;  // costs, measured once each
};

QTEST_GUILESS_MAIN(TestLoadCosts)
#include "tst_load_costs.moc"
