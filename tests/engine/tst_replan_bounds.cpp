// A re-plan's guarantees after any failure: a plan in force that fits its budgets, pieces
// small enough for a conversation to continue, and one sentence if it could not be done.

#include <algorithm>
#include <csignal>
#include <random>
#include <sys/resource.h>

#include <QDir>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/local_session.h"
#include "tests/engine/replan_play.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::kernels::WeightType;

namespace {

constexpr const char* kDevice = "emulated:rtx-3060-desktop";

// A copy of the demo model whose weights can be truncated and restored, in place.
class ModelCopy {
  public:
    ModelCopy() {
        const QDir from(QString::fromStdString(demoModel()));
        for (const QString& name : from.entryList(QDir::Files)) {
            if (!name.endsWith(QStringLiteral(".py"))) QFile::copy(from.filePath(name), folder_.filePath(name));
        }
        weights_ = folder_.filePath(QStringLiteral("model.safetensors"));
        QFile::setPermissions(weights_, QFile::ReadOwner | QFile::WriteOwner);
        QFile original(from.filePath(QStringLiteral("model.safetensors")));
        if (original.open(QIODevice::ReadOnly)) bytes_ = original.readAll();
    }
    std::string path() const { return folder_.path().toStdString(); }
    void setContext(int tokens) {
        QFile file(folder_.filePath(QStringLiteral("config.json")));
        QJsonObject config = readJson(file.fileName());
        config[QLatin1String("max_position_embeddings")] = tokens;
        file.remove();
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QJsonDocument(config).toJson());
    }
    bool cutShort() { return QFile::resize(weights_, bytes_.size() / 3); }
    bool putBack() {
        QFile file(weights_);
        return file.open(QIODevice::ReadWrite) && file.write(bytes_) == bytes_.size();
    }

  private:
    QTemporaryDir folder_;
    QString weights_;
    QByteArray bytes_;
};

// No file may grow beyond this while an object exists, as on a full disk.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit = before_;
        limit.rlim_cur = bytes;
        works_ = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    bool works() const { return works_; }

  private:
    void (*handler_)(int);
    rlimit before_{};
    bool works_ = false;
};

}  // namespace

class TestReplanBounds : public QObject, ReplanSetup {
    Q_OBJECT

    // The next token of both; false: they differ.
    static bool agree(Play& play, Play& reference, std::vector<TokenId>& next) {
        const auto expected = reference.step(next);
        const auto got = play.step(next);
        if (got.empty() || !std::equal(got.begin(), got.end(), expected.begin(), expected.end())) return false;
        next = {best(expected)};
        return true;
    }
    // RAM for so many experts.
    std::uint64_t ramFor(std::int64_t n) const {
        return host_fixed_bytes_ + static_cast<std::uint64_t>(n) * expert_bytes_ + 4096;
    }
    // The savings of steps of 64 tokens compared with those of 512.
    static std::uint64_t shorterSteps(const LoadedModel& model) {
        return (512 - kSmallestStep) * model.demand().workspace_bytes_per_token;
    }
    static std::vector<Place> placesOf(Play& play) {
        std::vector<Place> places;
        const ExpertStore& experts = play.model.experts();
        for (std::int64_t l = 0; l < experts.n_layers(); ++l) {
            for (std::int64_t e = 0; e < experts.n_experts(); ++e) places.push_back(experts.place(l, e));
        }
        return places;
    }

  private Q_SLOTS:
    void initTestCase() { measureModel(); }

    // Nobody named RAM: an emulated device's memory is a part of what was free.
    void budgetOfALoad_isItsPlans() {
        LoadRequest request = on(kDevice);
        request.vram_bytes = vramFor(20);
        Play play(request);
        const ArenaUsage of_load = play.model.ram().usage();
        QCOMPARE(of_load.budget_bytes, play.model.plan().budget.ram_bytes);
        QCOMPARE(play.model.summary().ram_budget_bytes, of_load.budget_bytes);
        const FitEstimate estimate = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
        QCOMPARE(estimate.ram.budget, estimate.plan.budget.ram_bytes);
        ReplanRequest same;
        same.vram_bytes = request.vram_bytes;
        begin_replan(play.replanner, 1, same, 0);
        play.replanner.finish({});
        QCOMPARE(play.replanner.reports().back().state, ReplanState::kDone);
        QCOMPARE(play.model.ram().usage().budget_bytes, of_load.budget_bytes);
    }

    // RAM for fewer experts than there are: copies beside the device's go, then experts
    // to disk, and their memory is released. (67: while the last of 64 come from disk
    // there are slots for them as well.)
    void smallerBudgets_areMetToTheByte_data() {
        QTest::addColumn<DiskReads>("reads");
        QTest::newRow("cached") << DiskReads::kCached;
        QTest::newRow("direct") << DiskReads::kDirect;
    }
    void smallerBudgets_areMetToTheByte() {
        QFETCH(DiskReads, reads);
        LoadRequest request = on(kDevice);
        request.disk_reads = reads;
        request.vram_bytes = vramFor(20);
        Play undisturbed(request);
        Play disturbed(request);
        std::mt19937_64 random(17);
        std::vector<TokenId> next = prompt_;
        std::uint64_t id = 0;
        bool on_disk = false;
        for (const std::int64_t in_ram : {50, 67, 40, 30, 90, 12, 67, 44}) {
            ReplanRequest replan;
            replan.ram_bytes = ramFor(in_ram);
            replan.vram_bytes = vramFor(static_cast<std::int64_t>(random() % 40));
            begin_replan(disturbed.replanner, ++id, replan, 0);
            // Experts are packed when no other thread needs the core, so the number of
            // steps is open.
            for (int step = 0; step == 0 || (disturbed.replanner.moving() && step < 12); ++step) {
                QVERIFY(agree(disturbed, undisturbed, next));
                disturbed.checkBudgets();
            }
            disturbed.replanner.finish({});
            disturbed.checkBudgets();
            const ReplanReport& report = disturbed.replanner.reports().back();
            QVERIFY2(report.state == ReplanState::kDone, report.problem.english().c_str());
            const ArenaUsage ram = disturbed.model.ram().usage();
            const ArenaUsage vram = disturbed.model.device().memory().usage();
            QCOMPARE(ram.budget_bytes, *replan.ram_bytes);
            QCOMPARE(vram.budget_bytes, *replan.vram_bytes);
            QVERIFY(ram.used_bytes <= *replan.ram_bytes && vram.used_bytes <= *replan.vram_bytes);
            on_disk |= disturbed.model.experts().disk_slots().size() > 0;
        }
        QVERIFY(on_disk);
        disturbed.checkSteps();
    }

    void planLargerThanItsBudget_isNeverInForce() {
        LoadRequest request = on(kDevice);
        request.vram_bytes = vramFor(20);
        Play play(request);
        Play reference(request);
        std::vector<TokenId> next = prompt_;
        const auto places = placesOf(play);
        const std::uint64_t before = play.model.plan().budget.ram_bytes;
        DeviceBlock stranger = play.model.ram().allocate(static_cast<std::size_t>(30 * expert_bytes_),
                                                         MemoryUse::kWorkspace, "what no plan knows of");
        ReplanRequest replan;
        replan.ram_bytes = ramFor(70);
        begin_replan(play.replanner, 1, replan, 0);
        play.replanner.finish({});
        QCOMPARE(play.replanner.reports().back().state, ReplanState::kFailed);
        const QString problem = QString::fromStdString(play.replanner.reports().back().problem.english());
        QVERIFY2(problem.contains(QStringLiteral("RAM keeps its budget")), qPrintable(problem));
        QCOMPARE(play.model.ram().usage().budget_bytes, before);
        QVERIFY(placesOf(play) == places && agree(play, reference, next));
        stranger = {};
        begin_replan(play.replanner, 2, replan, 0);
        play.replanner.finish({});
        QCOMPARE(play.replanner.reports().back().state, ReplanState::kDone);
        QCOMPARE(play.model.ram().usage().budget_bytes, *replan.ram_bytes);
        QVERIFY(agree(play, reference, next));
    }

    // VRAM only for spare blocks of the KV cache: the cache leaves the device one block
    // per step, and returns when the re-plan is cancelled or replaced half way.
    void kvCache_leavesInPieces_andComesBack_data() {
        QTest::addColumn<bool>("cancelled");
        QTest::newRow("cancelled") << true;
        if (!kSanitized) QTest::newRow("superseded") << false;
    }
    void kvCache_leavesInPieces_andComesBack() {
        QFETCH(bool, cancelled);
        LoadRequest request = on(kDevice);
        request.vram_bytes = vramFor(10);
        Play reference(request);
        Play play(request);
        std::vector<TokenId> next;
        for (int part = 0; part < 3; ++part) {
            next.resize(500);
            for (std::size_t i = 0; i < next.size(); ++i) next[i] = static_cast<TokenId>(3 + i * 7 % 1900);
            QVERIFY(agree(play, reference, next));
        }
        KvPool& kv = play.model.kv().pool(0);
        const KvRoom whole = kv.room();
        const std::uint64_t block_bytes = static_cast<std::uint64_t>(kv.shape().block_bytes());
        const auto most = static_cast<std::int64_t>(std::max<std::uint64_t>(1, expert_bytes_ / block_bytes));
        ReplanRequest bare;
        bare.context = 2560;
        bare.vram_bytes = fixed_bytes_ - play.model.plan().kv_bytes + 2 * expert_bytes_ - shorterSteps(play.model);
        begin_replan(play.replanner, 1, bare, 0);
        QVERIFY(play.replanner.moving());
        for (int step = 0; step < 100 && kv.n_held_in_host() < 3; ++step) {
            const KvRoom room = kv.room();
            const std::int64_t in_host = kv.n_held_in_host();
            QVERIFY(agree(play, reference, next));
            QVERIFY(room.device_blocks - kv.room().device_blocks <= most);
            QVERIFY(kv.room().host_blocks - room.host_blocks <= most);
            QVERIFY(kv.n_held_in_host() - in_host <= most);
            play.checkBudgets();
        }
        QVERIFY(kv.n_held_in_host() == 3 && play.replanner.moving());
        ReplanRequest back;
        back.context = 2560;
        back.vram_bytes = vramFor(14);
        if (cancelled) play.replanner.cancel();
        if (!cancelled) begin_replan(play.replanner, 2, back, 0);
        for (int step = 0; step < 100 && play.replanner.moving(); ++step) QVERIFY(agree(play, reference, next));
        QCOMPARE(play.replanner.reports().back().state, cancelled ? ReplanState::kCancelled : ReplanState::kDone);
        QVERIFY(kv.n_held_in_host() == 0 && kv.room() == whole);
        QCOMPARE(play.model.experts().n_resident(), cancelled ? 10 : 14);
        play.checkSteps();
    }

    // A re-plan reaches the same minimum as a load: prompts are read in steps of 64
    // tokens then, and later in longer ones again.
    void vramForNoExpert_asLowAsALoad_data() {
        QTest::addColumn<QString>("device");
        QTest::newRow("emulated") << QString(kDevice);
        QTest::newRow("CPU") << QStringLiteral("cpu");
    }
    void vramForNoExpert_asLowAsALoad() {
        QFETCH(QString, device);
        const bool on_cpu = device == QStringLiteral("cpu");
        LoadRequest roomy = on(device.toStdString());
        if (!on_cpu) roomy.vram_bytes = vramFor(20);
        Play play(roomy), reference(roomy);
        const std::int64_t step = play.model.plan().max_step;
        QVERIFY(step >= 512);
        // The least that such a model loads with.
        const Plan& plan = play.model.plan();
        const std::uint64_t saved =
            static_cast<std::uint64_t>(step - kSmallestStep) * play.model.demand().workspace_bytes_per_token;
        const std::uint64_t least = on_cpu ? plan.ram_bytes - saved - 64 * expert_bytes_ + 2 * expert_bytes_
                                           : plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes - saved;
        LoadRequest tight = roomy;
        (on_cpu ? tight.ram_bytes : tight.vram_bytes) = least;
        if (!on_cpu) QCOMPARE(LoadedModel(tight, LoadedModel::Text::kWanted, {}, {}).plan().max_step, kSmallestStep);
        std::vector<TokenId> next = prompt_;
        QVERIFY(agree(play, reference, next));
        std::uint64_t id = 0;
        for (int round = 0; round < 2; ++round) {
            ReplanRequest low;
            (on_cpu ? low.ram_bytes : low.vram_bytes) = least;
            begin_replan(play.replanner, ++id, low, 0);
            QCOMPARE(play.model.forward().max_step(), kSmallestStep);  // at once: the new plan needs the room
            for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
            play.replanner.finish({});
            const ReplanReport& report = play.replanner.reports().back();
            QVERIFY2(report.state == ReplanState::kDone, report.problem.english().c_str());
            const Arena& memory = on_cpu ? play.model.ram() : play.model.device().memory();
            QVERIFY(memory.usage().used_bytes <= least && memory.usage().budget_bytes == least);
            for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
            ReplanRequest back;
            (on_cpu ? back.ram_bytes : back.vram_bytes) =
                on_cpu ? reference.model.plan().budget.ram_bytes : roomy.vram_bytes;
            begin_replan(play.replanner, ++id, back, 0);
            for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
            if (round == 1) play.replanner.finish({});
            if (round == 0) play.replanner.cancel();
            play.replanner.finish({});
            QCOMPARE(play.model.forward().max_step(), round == 1 ? step : play.replanner.in_force().max_step);
            play.checkBudgets();
        }
        next.resize(500);
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = static_cast<TokenId>(3 + i * 7 % 1900);
        QVERIFY(agree(play, reference, next));
    }

    // On the CPU a re-plan shortens a default context like a load does, and restores it
    // later.
    void cpuContext_isShortenedAsByALoad() {
        ModelCopy copy;
        copy.setContext(32768);
        LoadRequest roomy = on("cpu", copy.path());
        roomy.context = 0;
        Play play(roomy), reference(roomy);
        const Plan whole = play.model.plan();
        QCOMPARE(whole.context, std::int64_t{32768});
        const ModelDemand& demand = play.model.demand();
        const std::uint64_t least = whole.ram_bytes - (64 - 2) * expert_bytes_ -
                                    (demand.kv_bytes(32768) - demand.kv_bytes(kUsualContext)) -
                                    static_cast<std::uint64_t>(whole.max_step - 512) * demand.workspace_bytes_per_token;
        LoadRequest tight = roomy;
        tight.ram_bytes = least;
        const Plan loaded = LoadedModel(tight, LoadedModel::Text::kNotNeeded, {}, {}).plan();
        QCOMPARE(loaded.context, kUsualContext);
        std::vector<TokenId> next = prompt_;
        QVERIFY(agree(play, reference, next));
        ReplanRequest low;
        low.ram_bytes = least;
        begin_replan(play.replanner, 1, low, 0);
        for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
        play.replanner.finish({});
        const ReplanReport& report = play.replanner.reports().back();
        QVERIFY2(report.state == ReplanState::kDone, report.problem.english().c_str());
        const Plan& now = play.replanner.in_force();
        QCOMPARE(now.context, loaded.context);
        QCOMPARE(now.max_step, loaded.max_step);
        QCOMPARE(now.places, loaded.places);
        QVERIFY2(now.note.english().find("16384") != std::string::npos, now.note.english().c_str());
        QVERIFY(play.model.ram().usage().used_bytes <= least && play.model.ram().usage().budget_bytes == least);
        for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
        // Not shorter than the conversation, and not beyond the place where positions
        // change.
        PlanInputs draft = play.replanner.inputs();
        draft.present->tokens_in_use = 20000;
        low.ram_bytes = least + demand.kv_bytes(20000) - demand.kv_bytes(kUsualContext) + 65536;
        const std::int64_t longer = replanned(draft, low).context;
        QVERIFY(longer >= 20000 && longer < 32768);
        draft.demand.short_context = 20480;
        low.ram_bytes = reference.model.plan().budget.ram_bytes;
        QCOMPARE(replanned(draft, low).context, std::int64_t{20480});
        draft.present->in_force.context = 32768;
        low.ram_bytes = least + demand.kv_bytes(20481) - demand.kv_bytes(kUsualContext) + 65536;
        QVERIFY(replanned(draft, low).context > 20480);

        ReplanRequest back;
        back.ram_bytes = reference.model.plan().budget.ram_bytes;
        begin_replan(play.replanner, 2, back, 0);
        play.replanner.finish({});
        QCOMPARE(play.replanner.in_force().context, whole.context);
        for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
        play.checkBudgets();
    }

    // The plan comes while the prompt is being read: the rest of it is read in steps that
    // fit.
    void promptUnderWay_goesOnInShorterSteps() {
        LoadRequest request = on(kDevice);
        request.compute = ComputeMode::kF32;
        request.vram_bytes = vramFor(20);
        LocalSession session, undisturbed;
        session.load(request, {}, {});
        undisturbed.load(request, {}, {});
        const std::int64_t step = session.model()->forward().max_step();
        GenerationRequest ask;
        ask.sampler.temperature = 0;
        ask.max_tokens = 8;
        ask.ignore_end = true;
        std::string text;
        while (session.count_tokens({{Role::kUser, text}}) < 3 * step)
            text += "A fox went to the river and met a bear. ";
        ask.messages = {{Role::kUser, text}};
        ReplanRequest low;
        low.vram_bytes = request.vram_bytes - 22 * expert_bytes_ - shorterSteps(*session.model());
        session.replan(low);
        const GenerationResult got = session.generate(ask, {}, {});
        session.advance({});
        QCOMPARE(session.replans().back().state, ReplanState::kDone);
        QVERIFY(session.model()->forward().max_step() < step);
        QCOMPARE(got.tokens, undisturbed.generate(ask, {}, {}).tokens);
    }

    void diskFull_quantizedExpertsAreUsedAllTheSame_data() {
        QTest::addColumn<bool>("no_folder");
        QTest::newRow("the disk is full") << false;
        QTest::newRow("the folder cannot be made") << true;
    }
    void diskFull_quantizedExpertsAreUsedAllTheSame() {
        QFETCH(bool, no_folder);
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("file")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        LoadRequest request = on(kDevice);
        request.vram_bytes = vramFor(12);
        request.quant_cache_directory = folder.filePath(no_folder ? "file/quantized" : "quantized").toStdString();
        Play play(request);
        Play reference(on("cpu"));
        ReplanRequest replan;
        replan.experts = WeightType::kHqq4;
        begin_replan(play.replanner, 1, replan, 0);
        {
            const FullDisk full(rlim_t{64} << 10);  // an expert has 81 KiB
            QVERIFY(full.works());
            play.replanner.finish({});
        }
        const ReplanReport& report = play.replanner.reports().back();
        QVERIFY2(report.state == ReplanState::kDone && report.visible == report.requested,
                 report.problem.english().c_str());
        QVERIFY2(QString::fromStdString(report.note.english()).contains(QStringLiteral("could not be kept")),
                 report.note.english().c_str());
        if (!no_folder) {  // nothing half written stays
            QCOMPARE(QDir(folder.filePath("quantized")).entryList(QDir::Files | QDir::Hidden), QStringList{"lock"});
        }
        setFormats(reference.model, play.model.experts().formats());
        std::vector<TokenId> next = prompt_;
        for (int i = 0; i < 4; ++i) QVERIFY(agree(play, reference, next));
        play.checkBudgets();
    }

    // Cut short before anything was read: the old plan stays, to the last copy.
    void checkpointCutShort_theOldPlanStays() {
        ModelCopy copy;
        LoadRequest request = on(kDevice, copy.path());
        request.vram_bytes = vramFor(12);
        Play play(request);
        Play reference(on("cpu"));
        std::vector<TokenId> next = prompt_;
        QVERIFY(agree(play, reference, next));
        const auto places = placesOf(play);
        const auto formats = play.model.experts().formats();
        QVERIFY(copy.cutShort());
        ReplanRequest replan;
        replan.experts = WeightType::kHqq3;
        replan.vram_bytes = vramFor(30);
        begin_replan(play.replanner, 1, replan, 1);
        for (int step = 0; step < 12 && play.replanner.moving(); ++step) {
            QVERIFY(agree(play, reference, next));
            play.checkBudgets();
        }
        play.replanner.finish({});
        const ReplanReport& report = play.replanner.reports().back();
        QCOMPARE(report.state, ReplanState::kFailed);
        const QString problem = QString::fromStdString(report.problem.english());
        QVERIFY2(problem.contains(QStringLiteral("model.safetensors: cannot be read: it has")), qPrintable(problem));
        QVERIFY(!problem.contains(QStringLiteral("Going back failed")));
        QVERIFY(placesOf(play) == places && play.model.experts().formats() == formats);
        QCOMPARE(play.model.device().memory().usage().budget_bytes, request.vram_bytes);
        for (int i = 0; i < 3; ++i) QVERIFY(agree(play, reference, next));
        QVERIFY(copy.putBack());
        begin_replan(play.replanner, 2, replan, 1);
        play.replanner.finish({});
        QCOMPARE(play.replanner.reports().back().state, ReplanState::kDone);
    }

    // Truncated half way: neither plan can be reached, as neither format can be made any
    // more. The present copies are whole, fit the old budgets and continue; with the file
    // back, both directions are possible again.
    void checkpointCutShortHalfWay_whatIsThereFitsAndGoesOn() {
        ModelCopy copy;
        LoadRequest request = on(kDevice, copy.path());
        request.vram_bytes = vramFor(12);
        Play play(request);
        Play reference(on("cpu"));
        std::vector<TokenId> next = prompt_;
        play.before_step = [&] { setFormats(reference.model, play.model.experts().formats()); };
        const auto agrees = [&] {  // the formats of the step are the play's
            const auto got = play.step(next);
            const auto expected = reference.step(next);
            const bool same = !got.empty() && std::equal(got.begin(), got.end(), expected.begin(), expected.end());
            next = {best(expected)};
            return same;
        };
        ReplanRequest replan;
        replan.experts = WeightType::kHqq2;
        replan.vram_bytes = vramFor(30);
        begin_replan(play.replanner, 1, replan, 0);
        const auto in_old_format = [&] {
            const auto formats = play.model.experts().formats();
            return std::count(formats.begin(), formats.end(), WeightType::kBf16);
        };
        // Soon: experts are packed ahead of their way to the device.
        QTRY_VERIFY_WITH_TIMEOUT((play.replanner.between_steps(0), in_old_format() <= 62), 60000);
        QVERIFY(in_old_format() > 0 && play.replanner.moving());
        QVERIFY(copy.cutShort());
        for (int step = 0; step < 12 && play.replanner.moving(); ++step) {
            QVERIFY(agrees());
            play.checkBudgets();
        }
        play.replanner.finish({});
        const ReplanReport& report = play.replanner.reports().back();
        QVERIFY2(report.state == ReplanState::kFailed,
                 qPrintable(QStringLiteral("%1 of %2 visible, %3 in the old format")
                                .arg(report.visible)
                                .arg(report.requested)
                                .arg(in_old_format())));
        QVERIFY2(QString::fromStdString(report.problem.english()).contains(QStringLiteral("model.safetensors")),
                 report.problem.english().c_str());
        QVERIFY(in_old_format() > 0 && in_old_format() < 64);
        const ArenaUsage vram = play.model.device().memory().usage();
        QVERIFY(vram.budget_bytes == request.vram_bytes && vram.used_bytes <= vram.budget_bytes);
        for (int i = 0; i < 5; ++i) QVERIFY(agrees());
        QVERIFY(copy.putBack());
        replan.experts = WeightType::kBf16;
        begin_replan(play.replanner, 2, replan, 0);
        play.replanner.finish({});
        QVERIFY2(play.replanner.reports().back().state == ReplanState::kDone,
                 play.replanner.reports().back().problem.english().c_str());
        QCOMPARE(in_old_format(), 64);
        QVERIFY(agrees());
    }

    // An expert on disk that cannot be read ends the step with an Error; the same step
    // succeeds when it can.
    void checkpointCutShort_expertsOnDisk_endTheStep() {
        ModelCopy copy;
        LoadRequest request = on(kDevice, copy.path());
        request.vram_bytes = vramFor(10);
        request.ram_bytes = ramFor(20) + dense_bytes_;
        Play play(request);
        Play reference(on("cpu"));
        std::vector<TokenId> next = prompt_;
        QVERIFY(agree(play, reference, next));
        QVERIFY(copy.cutShort());
        QString problem;
        for (int step = 0; step < 20 && problem.isEmpty(); ++step) {
            try {
                const auto got = play.step(next);
                const auto expected = reference.step(next);
                QVERIFY(std::equal(got.begin(), got.end(), expected.begin(), expected.end()));
                next = {best(expected)};
            } catch (const Error& error) {
                problem = QString::fromUtf8(error.what());
            }
        }
        QVERIFY2(problem.contains(QStringLiteral("model.safetensors: cannot be read")), qPrintable(problem));
        QVERIFY(copy.putBack());
        for (int i = 0; i < 5; ++i) QVERIFY(agree(play, reference, next));
        play.checkBudgets();
    }
};

QTEST_GUILESS_MAIN(TestReplanBounds)
#include "tst_replan_bounds.moc"
