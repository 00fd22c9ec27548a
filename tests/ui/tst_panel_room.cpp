// Panels beside and below the conversation in a window that fills a screen of 1280 x 800
// below its title, and in one of 560 x 420: in no usual state a panel scrolls in the large
// one, no table scrolls sideways in either,
// and a forecast moves nothing.

#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QTabWidget>
#include <QTableView>
#include <QTemporaryDir>
#include <QToolButton>
#include <QTranslator>

#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/no_machines.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/engine/device_choice.h"
#include "ui/load/quality_levels.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/expert_actions.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/what_if_panel.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr QSize kWindow{1280, 800 - 32};  // of a screen of 1280 x 800, without its title

QString nameOfArea(const QWidget& area) {
    const auto* label = area.findChild<QLabel*>();
    return area.accessibleName().isEmpty() ? label != nullptr ? label->text().left(60) : QString()
                                           : area.accessibleName();
}

// What scrolls of the dock; a line for each. A list may be longer than its place.
QStringList scrolled(const QDockWidget& dock, bool alsoDown = true) {
    QStringList lines;
    for (const QAbstractScrollArea* area : dock.findChildren<QAbstractScrollArea*>()) {
        const bool isPart = qobject_cast<const PanelArea*>(area) != nullptr;
        if (!area->isVisible() || (!isPart && qobject_cast<const QTableView*>(area) == nullptr)) {
            continue;
        }
        if (isPart && alsoDown && area->verticalScrollBar()->maximum() > 0) {
            lines << QStringLiteral("%1: %2 pixels too high in %3")
                         .arg(nameOfArea(*area))
                         .arg(area->verticalScrollBar()->maximum())
                         .arg(area->viewport()->height());
        }
        if (area->horizontalScrollBar()->maximum() > 0) {
            lines << QStringLiteral("%1: %2 too wide in %3")
                         .arg(nameOfArea(*area))
                         .arg(area->horizontalScrollBar()->maximum())
                         .arg(area->viewport()->width());
        }
    }
    return lines;
}

}  // namespace

#define COMPARE_ROOM(dock, ...) \
    QTRY_VERIFY2(scrolled(dock, ##__VA_ARGS__).isEmpty(), qPrintable(scrolled(dock, ##__VA_ARGS__).join(u'\n')))

class TestPanelRoom : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    std::unique_ptr<MainWindow> m_window;

    // The demo model, which has answered once.
    void open(const QString& language, bool onCpu) {
        speak(*qApp, language);
        MainWindow::Options options;
        options.theme = Theme::Light;
        auto network = std::make_shared<NoMachines>();
        network->m_paired = {{"cupboard", "cupboard:7420", "0123456789abcdef"}};
        options.machines = network;
        m_window = std::make_unique<MainWindow>([] { return engine::Session::create(); }, options);
        m_window->resize(kWindow);
        m_window->show();
        QApplication::setActiveWindow(m_window.get());
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.device = onCpu ? "cpu" : DeviceChoices::demonstrationDevice().toStdString();
        request.vram_bytes = onCpu ? 0 : demoVram(DeviceChoices::kDemonstrationVram, 2048);
        request.checks_costs = false;
        request.cache_directory = m_cache.path().toStdString();
        m_window->core().engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(m_window->core().engine.state(), EngineController::State::Ready, 60'000);
        m_window->core().chat.send(QStringLiteral("What is 47 + 38?"));
        QTRY_VERIFY_WITH_TIMEOUT(m_window->core().conversation.rowCount() == 2 &&
                                     m_window->core().engine.state() == EngineController::State::Ready,
                                 60'000);
    }

    QDockWidget& show(const QString& name) {
        part<PanelDocks>(*m_window).show(name);
        for (int pass = 0; pass < 6; ++pass) {  // docks find their places in a few
            QCoreApplication::processEvents();
        }
        return *part<PanelDocks>(*m_window).dock(name);
    }

    // The panel alone, in place of the conversation.
    void showNarrow(const QString& name) {
        m_window->resize(560, 420);
        QTRY_COMPARE(m_window->size(), QSize(560, 420));
        QTRY_VERIFY(show(name).isVisible());
        takePictures(name + QStringLiteral("-narrow"), 560, 420);
    }

    // In both themes.
    void takePictures(const QString& name, int width = kWindow.width(), int height = kWindow.height()) {
        picture(*m_window, QStringLiteral("room-") + name, {width}, height);
    }

    static void languagesAndDevices() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<bool>("onCpu");
        for (const char* language : {"en", "de"}) {
            for (const bool onCpu : {false, true}) {
                QTest::newRow(qPrintable(
                    QStringLiteral("%1 %2").arg(QLatin1String(language), QLatin1String(onCpu ? "cpu" : "gpu"))))
                    << QString::fromLatin1(language) << onCpu;
            }
        }
    }

  private Q_SLOTS:
    void init() { QSettings().clear(); }
    void cleanup() {
        m_window.reset();
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
    }

    void panels_doNotScroll_data() { languagesAndDevices(); }
    void panels_doNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        for (const char* name : {"dispatch", "experts", "cache", "machines", "benchmark", "sampling", "log"}) {
            QDockWidget& dock = show(QString::fromLatin1(name));
            QTRY_VERIFY(dock.isVisible());
            auto* tabs = dock.findChild<QTabWidget*>();
            const bool isBenchmark = qstrcmp(name, "benchmark") == 0;  // the form of its third page is Budget's
            const int pages = tabs == nullptr ? 1 : isBenchmark ? 2 : tabs->count();
            for (int page = 0; page < pages; ++page) {
                if (tabs != nullptr) {
                    tabs->setCurrentIndex(page);
                }
                if (auto* cache = dock.findChild<CachePanel*>(); cache != nullptr && page == 2) {
                    find<QPushButton>(*cache, CachePanel::tr("Compare policies").toUtf8().constData()).click();
                    QTRY_VERIFY_WITH_TIMEOUT(cache->table().isVisible(), 60'000);
                }
                takePictures(QStringLiteral("%1-%2-%3-%4").arg(QLatin1String(name)).arg(page).arg(language).arg(onCpu));
                COMPARE_ROOM(dock);
            }
            showNarrow(QString::fromLatin1(name));
            COMPARE_ROOM(dock, false);
            m_window->resize(kWindow);
            dock.hide();
        }
    }

    void whatIf_afterForecast_hasMovedNothing_data() { languagesAndDevices(); }
    void whatIf_afterForecast_hasMovedNothing() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("whatIf"));
        auto& panel = part<WhatIfPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible());
        COMPARE_ROOM(dock);
        const auto before = placesOf(panel);
        auto& forecast = find<QPushButton>(panel, WhatIfPanel::tr("Forecast").toUtf8().constData());
        QTest::mouseClick(&forecast, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!panel.isRunning() && panel.table().rowCount() > 20, 120'000);
        for (int page = 0; page < panel.tabs().count(); ++page) {
            panel.tabs().setCurrentIndex(page);
            takePictures(QStringLiteral("whatIf-%1-%2-%3").arg(page).arg(language).arg(onCpu));
            COMPARE_ROOM(dock);
        }
        panel.tabs().setCurrentIndex(0);
        QCoreApplication::processEvents();
        QCOMPARE(movedSince(before, panel).join(u'\n'), QString());
        // From its top on, and the chosen GPU is there.
        QTRY_COMPARE(panel.table().verticalScrollBar()->value(), 0);
        QCOMPARE(panel.table().item(0, 0)->text(), panel.profile().currentText());
        showNarrow(QStringLiteral("whatIf"));
        COMPARE_ROOM(dock, false);
    }

    void experts_afterAPin_doNotScroll_data() { languagesAndDevices(); }
    void experts_afterAPin_doNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("experts"));
        auto& panel = part<ExpertsPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible() && panel.map().rows() > 0);
        QTest::mouseClick(&panel.map(), Qt::LeftButton, {}, panel.map().rectOf({2, 3}).center());
        QTRY_VERIFY(panel.map().selected());
        COMPARE_ROOM(dock);
        panel.actions().change(onCpu ? engine::ExpertChange::Kind::kFormat : engine::ExpertChange::Kind::kPin, {{2, 3}},
                               kernels::WeightType::kHqq4);
        QTRY_VERIFY_WITH_TIMEOUT(!m_window->core().engine.replans().empty() &&
                                     m_window->core().engine.replans().back().state == engine::ReplanState::kDone,
                                 60'000);
        takePictures(QStringLiteral("experts-pinned-%1-%2").arg(language).arg(onCpu));
        COMPARE_ROOM(dock);
    }

    // A preview, several formats in force, what was done, and Advanced.
    void budget_inEachState_doesNotScroll_data() { languagesAndDevices(); }
    void budget_inEachState_doesNotScroll() {
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        open(language, onCpu);
        QDockWidget& dock = show(QStringLiteral("budget"));
        auto& panel = part<BudgetPanel>(*m_window);
        QTRY_VERIFY(dock.isVisible());
        auto& level = find<QComboBox>(panel, BudgetForm::tr("Quality").toUtf8().constData());
        auto& apply = find<QPushButton>(panel, BudgetPanel::tr("Apply").toUtf8().constData());
        auto& advanced = child<QToolButton>(panel.form());
        QTRY_VERIFY(panel.form().setting() == panel.inForce());
        for (const bool open : {false, true}) {
            if (advanced.isChecked() != open) {
                QTest::mouseClick(&advanced, Qt::LeftButton);
            }
            takePictures(QStringLiteral("budget-%1-%2-%3").arg(open).arg(language).arg(onCpu));
            COMPARE_ROOM(dock);
            level.setFocus();
            QTest::keyClick(&level, open ? Qt::Key_Up : Qt::Key_Down);
            QTest::keyClick(&level, open ? Qt::Key_Up : Qt::Key_Down);
            QTRY_COMPARE(level.currentIndex(), open ? 0 : 2);
            QTRY_VERIFY2_WITH_TIMEOUT(apply.isEnabled(), qPrintable(apply.toolTip()), 60'000);
            takePictures(QStringLiteral("budget-preview-%1-%2-%3").arg(open).arg(language).arg(onCpu));
            COMPARE_ROOM(dock);
            QTest::mouseClick(&apply, Qt::LeftButton);
            COMPARE_ROOM(dock);
            QTRY_VERIFY_WITH_TIMEOUT(panel.form().setting() == panel.inForce(), 60'000);
            takePictures(QStringLiteral("budget-applied-%1-%2-%3").arg(open).arg(language).arg(onCpu));
            COMPARE_ROOM(dock);
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanelRoom)
#include "tst_panel_room.moc"
