// Panels beside the conversation in a window of 1280 x 800: no reserved blank makes them
// scroll. Cache is not among them: its plots are higher than the window.

#include <QDockWidget>
#include <QScrollBar>
#include <QStackedWidget>

#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/panel.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

class TestPanelRoom : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void panels_at1280x800_doNotScroll_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"experts", "budget", "whatIf", "machines", "benchmark", "sampling"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }
    void panels_at1280x800_doNotScroll() {
        QFETCH(QString, name);
        Script script;
        script.residents = 20;
        script.emulated = true;
        WindowFixture f(script);
        f.window->resize(1280, 800);
        f.openAndWait();
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        part<PanelDocks>(*f.window).show(name);
        QDockWidget* const dock = part<PanelDocks>(*f.window).dock(name);
        QTRY_VERIFY(dock->isVisible());
        for (const auto& [width, height] : {std::pair(560, 420), std::pair(1280, 800)}) {
            f.window->resize(width, height);
            QTRY_COMPARE(f.window->size(), QSize(width, height));
            picture(*f.window, QStringLiteral("room-%1").arg(name), {width}, height);
        }
        auto* panel = qobject_cast<Panel*>(dock->widget());
        auto* area = panel != nullptr ? qobject_cast<PanelArea*>(panel->findChild<QStackedWidget*>()->currentWidget())
                                      : qobject_cast<PanelArea*>(dock->widget());
        QVERIFY(area != nullptr && area->isVisible());
        QTRY_VERIFY2(area->verticalScrollBar()->maximum() == 0,
                     qPrintable(QStringLiteral("%1 pixels too high in %2")
                                    .arg(area->verticalScrollBar()->maximum())
                                    .arg(area->viewport()->height())));
        QTRY_COMPARE(area->horizontalScrollBar()->maximum(), 0);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanelRoom)
#include "tst_panel_room.moc"
