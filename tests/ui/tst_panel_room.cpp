// Panels beside the conversation in a window of 1280 x 800: no reserved blank makes them
// scroll. Cache is not among them: its plots are higher than the window.

#include <QDockWidget>
#include <QLabel>
#include <QPushButton>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTranslator>

#include "tests/ui/find_widget.h"
#include "tests/ui/no_machines.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/engine/device_choice.h"
#include "ui/panels/panel.h"
#include "ui/panels/what_if_panel.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

class TestPanelRoom : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;

  private Q_SLOTS:
    void init() { QSettings().clear(); }
    void cleanup() {
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
    }

    void panels_at1280x800_doNotScroll_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("page");
        QTest::addColumn<QString>("language");
        QTest::addColumn<bool>("onCpu");
        const std::initializer_list<std::pair<const char*, int>> pages = {
            {"experts", 0},  {"budget", 0},    {"whatIf", 0},    {"whatIf", 1},  {"whatIf", 2},
            {"machines", 0}, {"benchmark", 0}, {"benchmark", 1}, {"sampling", 0}};
        for (const char* language : {"en", "de"}) {
            for (const bool onCpu : {false, true}) {
                for (const auto& [name, page] : pages) {
                    QTest::newRow(qPrintable(QStringLiteral("%1 %2 %3 %4")
                                                 .arg(QLatin1String(name))
                                                 .arg(page)
                                                 .arg(QLatin1String(language), QLatin1String(onCpu ? "cpu" : "gpu"))))
                        << QString::fromLatin1(name) << page << QString::fromLatin1(language) << onCpu;
                }
            }
        }
    }
    void panels_at1280x800_doNotScroll() {
        QFETCH(QString, name);
        QFETCH(int, page);
        QFETCH(QString, language);
        QFETCH(bool, onCpu);
        speak(*qApp, language);
        MainWindow::Options options;
        options.theme = Theme::Light;
        auto network = std::make_shared<NoMachines>();
        network->m_paired = {{"cupboard", "cupboard:7420", "0123456789abcdef"}};
        options.machines = network;
        MainWindow window([] { return engine::Session::create(); }, options);
        window.resize(1280, 800);
        window.show();
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.device = onCpu ? "cpu" : DeviceChoices::demonstrationDevice().toStdString();
        request.vram_bytes = onCpu ? 0 : demoVram(DeviceChoices::kDemonstrationVram, 2048);
        request.checks_costs = false;
        request.cache_directory = m_cache.path().toStdString();
        window.core().engine.openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(window.core().engine.state(), EngineController::State::Ready, 60'000);
        window.core().chat.send(QStringLiteral("What is 47 + 38?"));
        QTRY_VERIFY_WITH_TIMEOUT(window.core().conversation.rowCount() == 2 &&
                                     window.core().engine.state() == EngineController::State::Ready,
                                 60'000);
        part<PanelDocks>(window).show(name);
        QDockWidget* const dock = part<PanelDocks>(window).dock(name);
        QTRY_VERIFY(dock->isVisible());
        auto* panel = qobject_cast<Panel*>(dock->widget());
        if (auto* tabs = dock->findChild<QTabWidget*>()) {
            tabs->setCurrentIndex(page);
        }
        if (auto* whatIf = qobject_cast<WhatIfPanel*>(panel)) {  // its pages are empty before
            find<QPushButton>(*whatIf, WhatIfPanel::tr("Forecast").toUtf8().constData()).click();
            QTRY_VERIFY_WITH_TIMEOUT(!whatIf->isRunning(), 120'000);
        }
        for (const auto& [width, height] : {std::pair(560, 420), std::pair(1280, 800)}) {
            window.resize(width, height);
            QTRY_COMPARE(window.size(), QSize(width, height));
            picture(window, QStringLiteral("room-%1-%2-%3-%4").arg(name).arg(page).arg(language).arg(onCpu), {width},
                    height);
        }
        auto* area = panel != nullptr ? qobject_cast<PanelArea*>(panel->findChild<QStackedWidget*>()->currentWidget())
                                      : qobject_cast<PanelArea*>(dock->widget());
        QVERIFY(area != nullptr && area->isVisible());
        QTRY_VERIFY2(area->verticalScrollBar()->maximum() == 0,
                     qPrintable(QStringLiteral("%1 pixels too high in %2")
                                    .arg(area->verticalScrollBar()->maximum())
                                    .arg(area->viewport()->height())));
        QTRY_COMPARE(area->horizontalScrollBar()->maximum(), 0);
        // What stands below the panel all the time can be read whole.
        for (const PanelArea* part : dock->findChildren<PanelArea*>()) {
            if (part != area && part->isVisible() && panel != nullptr && panel->notice().isEmpty()) {
                QTRY_VERIFY2(part->verticalScrollBar()->maximum() == 0,
                             qPrintable(part->widget()->findChild<QLabel*>() != nullptr
                                            ? part->widget()->findChild<QLabel*>()->text()
                                            : QString::number(part->verticalScrollBar()->maximum())));
            }
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanelRoom)
#include "tst_panel_room.moc"
