// A budget that was set while the model ran applies at the next start, on the real
// engine.
#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include "kernels/formats.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/kept_budget.h"
#include "ui/load/fit_view.h"
#include "ui/load/open_model_dialog.h"
#include "ui/load/precision_fields.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_form.h"
#include "ui/widgets/file_choice.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/hardware_menu.h"

using namespace offstage;
using namespace offstage::ui;
using State = EngineController::State;

class TestKeptBudget : public QObject {
    Q_OBJECT

    static constexpr quint64 kMiB = quint64{1} << 20;

    static engine::LoadRequest requestFor(const std::string& model, const std::string& device) {
        engine::LoadRequest request;
        request.model = model;
        request.device = device;
        KeptBudget::applyTo(request);
        return request;
    }

  private Q_SLOTS:
    void cleanup() { QSettings().clear(); }

    void changes_addUp_andAreOfOneModelOnOneDevice() {
        const QString model = QStringLiteral("/models/ä b/moe"), device = QStringLiteral("cuda:0");
        engine::ReplanRequest vram, quality, format;
        vram.vram_bytes = 100 * kMiB;
        vram.context = 4096;
        vram.kv = engine::KvType::kInt8;
        quality.quality = engine::QualityFloor{.min_mean_bits = 4.5};
        format.experts = kernels::WeightType::kHqq3;
        KeptBudget::keep(model, device, vram);
        KeptBudget::keep(model, device, quality);
        engine::LoadRequest now = requestFor(model.toStdString(), "cuda:0");
        QCOMPARE(quint64{now.vram_bytes}, 100 * kMiB);
        QCOMPARE(now.context, std::int64_t{4096});
        QVERIFY(now.kv == engine::KvType::kInt8);
        QVERIFY(requestFor("/models/other", "cuda:0").kv == engine::KvType::kBf16);
        QCOMPARE(now.quality.min_mean_bits, 4.5);
        QCOMPARE(quint64{now.ram_bytes}, quint64{0});
        QVERIFY(!now.quant.experts);
        KeptBudget::keep(model, device, format);  // takes the place of the floor
        now = requestFor(model.toStdString(), "cuda:0");
        QVERIFY(now.quant.experts == kernels::WeightType::kHqq3);
        QCOMPARE(now.quality.min_mean_bits, 0.0);
        QCOMPARE(quint64{now.vram_bytes}, 100 * kMiB);
        QCOMPARE(quint64{requestFor("/models/other", "cuda:0").vram_bytes}, quint64{0});
        QCOMPARE(quint64{requestFor(model.toStdString(), "cpu").vram_bytes}, quint64{0});
        KeptBudget::forget(model, device);
        QCOMPARE(quint64{requestFor(model.toStdString(), "cuda:0").vram_bytes}, quint64{0});
    }

    void choicesOfTheOpenDialog_areThereAtTheNextStart() {
        const QTemporaryDir model, drafter;  // the scripted engine opens anything that exists
        engine::LoadRequest first;
        {
            test::WindowFixture f;
            f.window->opener().openWithOptions(model.path());
            auto* dialog = f.window->findChild<OpenModelDialog*>();
            QVERIFY(dialog != nullptr);
            FitView& view = dialog->view();
            FileChoice& drafts = view.draftModel();
            drafts.setCurrentIndex(drafts.count() - 1);  // the file dialog
            auto* files = dialog->findChild<QFileDialog*>();
            QVERIFY(files != nullptr);
            QVERIFY(view.request().draft_model.empty());
            Q_EMIT files->fileSelected(drafter.filePath(QStringLiteral("config.json")));
            QCOMPARE(drafts.currentText(), QFileInfo(drafter.path()).fileName());
            QVERIFY(view.requestForOthers().draft_model.empty());
            view.device().setCurrentIndex(view.device().findData(QStringLiteral("emulated:rtx-3060-desktop")));
            view.vram().setBytes(900 * kMiB);
            view.ram().setBytes(3000 * kMiB);
            view.context().setValue(4096);
            setKv(view.kv(), engine::KvType::kInt8);
            view.quality().set({}, kernels::WeightType::kHqq3);
            view.cache().setCurrentIndex(view.cache().findData(static_cast<int>(engine::CacheKind::kLfu)));
            QVERIFY(!view.neuronCache().isHidden());
            view.neuronCache().setBytes(7 * kMiB);
            view.chatTemplate().setCurrentIndex(view.chatTemplate().findData(QStringLiteral("mixtral")));
            first = view.request();
            QCOMPARE(quint64{first.ram_bytes}, 3000 * kMiB);
            dialog->accept();
            QTRY_COMPARE(f.state(), State::Ready);
        }
        test::WindowFixture f;
        QCOMPARE(f.window->opener().modelToBeginWith(), model.path());
        f.openAndWait(f.window->opener().modelToBeginWith());
        const engine::LoadRequest now = f.stage->loads().back();
        QCOMPARE(now.device, first.device);
        QCOMPARE(now.vram_bytes, first.vram_bytes);
        QCOMPARE(now.ram_bytes, first.ram_bytes);
        QCOMPARE(now.context, std::int64_t{4096});
        QVERIFY(now.kv == engine::KvType::kInt8);
        QVERIFY(now.quant.experts == kernels::WeightType::kHqq3);
        QVERIFY(now.cache == engine::CacheKind::kLfu);
        QCOMPARE(quint64{now.neuron_cache_bytes}, 7 * kMiB);
        QCOMPARE(now.chat_template, std::string("mixtral"));
        QCOMPARE(now.draft_model, drafter.path().toStdString());

        // Values left to the program the next time stay so.
        f.window->opener().openWithOptions(model.path());
        auto* dialog = f.window->findChild<OpenModelDialog*>();
        // A chat template belongs to one model: another model does not have it.
        QCOMPARE(dialog->view().request().chat_template, std::string("mixtral"));
        dialog->setModel(model.path() + QStringLiteral("/other"));
        QCOMPARE(dialog->view().request().chat_template, std::string());
        QCOMPARE(dialog->view().request().draft_model, std::string());
        dialog->setModel(model.path());
        QCOMPARE(dialog->view().request().chat_template, std::string("mixtral"));
        // A draft model that is not there any more does not keep the model from opening.
        QCOMPARE(dialog->view().request().draft_model, drafter.path().toStdString());
        QVERIFY(QDir(drafter.path()).removeRecursively());
        dialog->setModel(model.path() + QStringLiteral("/other"));
        dialog->setModel(model.path());
        QCOMPARE(dialog->view().request().draft_model, std::string());
        QComboBox& templates = dialog->view().chatTemplate();
        templates.setCurrentIndex(templates.count() - 1);  // a file, none chosen yet
        QCOMPARE(templates.currentData().toString(), QStringLiteral("mixtral"));
        auto* files = dialog->findChild<QFileDialog*>();
        QVERIFY(files != nullptr);
        Q_EMIT files->fileSelected(model.filePath(QStringLiteral("own.jinja")));
        QCOMPARE(templates.currentText(), QStringLiteral("own.jinja"));
        QCOMPARE(dialog->view().request().chat_template, model.filePath(QStringLiteral("own.jinja")).toStdString());
        templates.setCurrentIndex(0);
        dialog->view().ram().setBytes(0);
        dialog->view().quality().set({.min_mean_bits = 4.5}, std::nullopt);
        dialog->accept();
        QTRY_COMPARE(f.stage->loads().size(), std::size_t{2});
        QTRY_COMPARE(f.state(), State::Ready);
        f.openAndWait(model.path());
        QCOMPARE(f.stage->loads().back().ram_bytes, std::uint64_t{0});
        QCOMPARE(f.stage->loads().back().quality.min_mean_bits, 4.5);
        QVERIFY(!f.stage->loads().back().quant.experts);
        QCOMPARE(f.stage->loads().back().chat_template, std::string());
        QCOMPARE(f.stage->loads().back().vram_bytes, first.vram_bytes);
    }

    // A short context that was chosen for one model is not another's.
    void context_belongsToItsModel() {
        const QTemporaryDir model;
        test::WindowFixture f;
        f.window->opener().openWithOptions(model.path());
        auto* dialog = f.window->findChild<OpenModelDialog*>();
        dialog->view().context().setValue(512);
        dialog->accept();
        QTRY_COMPARE(f.state(), State::Ready);
        QTRY_VERIFY(f.window->findChild<OpenModelDialog*>() == nullptr);
        engine::LoadRequest longer;
        longer.model = "/models/longer";
        longer.context = 65'536;
        KeptBudget::keep(longer);

        QApplication::setActiveWindow(f.window.get());
        QTest::keyClick(f.window.get(), Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
        QTRY_VERIFY(f.window->findChild<OpenModelDialog*>() != nullptr);
        dialog = f.window->findChild<OpenModelDialog*>();
        QCOMPARE(dialog->request().context, std::int64_t{512});
        const auto typePath = [&](const QString& path) {
            dialog->path().selectAll();
            QTest::keyClicks(&dialog->path(), path);
        };
        typePath(QStringLiteral("/models/another"));
        QCOMPARE(dialog->request().context, std::int64_t{0});
        typePath(QStringLiteral("/models/longer"));  // beyond the range of the field until then
        QCOMPARE(dialog->request().context, std::int64_t{65'536});
        QCOMPARE(dialog->view().requestForOthers().context, std::int64_t{0});
        typePath(model.path());
        QCOMPARE(dialog->request().context, std::int64_t{512});
        QApplication::setActiveWindow(dialog);
        auto& context = dialog->view().context().spin();
        context.setFocus();
        context.selectAll();
        QTest::keyClicks(&context, QStringLiteral("1024"));
        QTest::keyClick(&context, Qt::Key_Tab);
        QCOMPARE(dialog->request().context, std::int64_t{1024});
        typePath(QStringLiteral("/models/another"));
        QCOMPARE(dialog->request().context, std::int64_t{1024});  // chosen here
        QCOMPARE(dialog->view().requestForOthers().context, std::int64_t{1024});
        dialog->reject();
    }

    void budget_setWhileItRan_isThereAtTheNextStart() {
        const QString model = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
        MainWindow::Options options;
        options.theme = Theme::Light;
        const auto begin = [&options] {
            auto window = std::make_unique<MainWindow>([] { return engine::Session::create(); }, options);
            window->show();
            return window;
        };
        QSettings().setValue(QStringLiteral("device"), QStringLiteral("emulated:rtx-3060-desktop"));
        QSettings().setValue(QStringLiteral("vram"), 24 * kMiB);
        {
            const auto window = begin();
            window->opener().open(model);
            QTRY_COMPARE_WITH_TIMEOUT(window->core().engine.state(), State::Ready, 60'000);
            QCOMPARE(settingInForce(window->core().engine).vramBytes, 24 * kMiB);
            engine::ReplanRequest request;
            request.vram_bytes = 40 * kMiB;
            request.kv = engine::KvType::kInt8;
            QVERIFY(window->core().engine.replan(request) != 0);
            // The tool bar may show the new budget before the window keeps it.
            QTRY_COMPARE_WITH_TIMEOUT(quint64{requestFor(model.toStdString(), "emulated:rtx-3060-desktop").vram_bytes},
                                      40 * kMiB, 60'000);
            QVERIFY(test::part<HardwareMenu>(*window).text().contains(QStringLiteral("40.0 MiB")));
        }
        {
            const auto window = begin();
            window->opener().open(model);
            QTRY_COMPARE_WITH_TIMEOUT(window->core().engine.state(), State::Ready, 60'000);
            QCOMPARE(settingInForce(window->core().engine).vramBytes, 40 * kMiB);
            QVERIFY(settingInForce(window->core().engine).kv == engine::KvType::kInt8);
            QCOMPARE(window->core().engine.model()->kv_type, std::string("int8"));
        }
        options.models.device = QStringLiteral("emulated:rtx-3060-desktop");  // from the command line
        options.models.vramBytes = 20 * kMiB;
        const auto window = begin();
        window->opener().open(model);
        QTRY_COMPARE_WITH_TIMEOUT(window->core().engine.state(), State::Ready, 60'000);
        QCOMPARE(settingInForce(window->core().engine).vramBytes, 20 * kMiB);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestKeptBudget)
#include "tst_kept_budget.moc"
