// The panels' docks: what their buttons do, and that there is room to read in them.
#include <QAction>
#include <QDockWidget>
#include <QMenu>
#include <QTabBar>
#include <QTest>

#include "tests/ui/window_fixture.h"
#include "ui/widgets/panel_action.h"

using namespace offstage;
using namespace offstage::ui;
using test::WindowFixture;

namespace {

QDockWidget& dockOf(const WindowFixture& f, const char16_t* name) {
    return *f.window->dock(QStringView(name).toString());
}

PanelAction& actionOf(const WindowFixture& f, const char16_t* name) {
    return PanelAction::of(dockOf(f, name));
}

// Some of it is on the screen, as a person sees it.
bool canBeSeen(const QDockWidget& dock) {
    return !dock.visibleRegion().isEmpty();
}

}  // namespace

class TestPanelDocks : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void button_ofAHiddenPanel_showsIt_andHidesItAgain() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        QVERIFY(!actionOf(f, u"cache").isChecked());
        actionOf(f, u"cache").trigger();
        QTRY_VERIFY(canBeSeen(dockOf(f, u"cache")));
        QTRY_VERIFY(actionOf(f, u"cache").isChecked());
        actionOf(f, u"cache").trigger();
        QVERIFY(dockOf(f, u"cache").isHidden());
        QVERIFY(!actionOf(f, u"cache").isChecked());
    }

    void button_ofACoveredPanel_bringsItToTheFront() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        for (const char16_t* name : {u"dispatch", u"cache", u"log"}) {
            actionOf(f, name).trigger();
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
        }
        QTRY_VERIFY(!canBeSeen(dockOf(f, u"cache")));
        QVERIFY(!dockOf(f, u"cache").isHidden());
        QTRY_VERIFY(!actionOf(f, u"cache").isChecked());
        QVERIFY(actionOf(f, u"log").isChecked());
        for (const char16_t* name : {u"cache", u"dispatch", u"log", u"cache"}) {
            actionOf(f, name).trigger();
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
            QTRY_VERIFY(actionOf(f, name).isChecked());
        }
        QTRY_VERIFY(!actionOf(f, u"log").isChecked());
        actionOf(f, u"cache").trigger();  // it is in front
        QVERIFY(dockOf(f, u"cache").isHidden());
        // The one that comes into its place is in front now, and hidden by its own button.
        QTRY_VERIFY(canBeSeen(dockOf(f, u"dispatch")) != canBeSeen(dockOf(f, u"log")));
        const char16_t* next = canBeSeen(dockOf(f, u"log")) ? u"log" : u"dispatch";
        QTRY_VERIFY(actionOf(f, next).isChecked());
        actionOf(f, next).trigger();
        QVERIFY(dockOf(f, next).isHidden());
    }

    void button_whereATabWasChosen_followsIt() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        actionOf(f, u"dispatch").trigger();
        actionOf(f, u"cache").trigger();
        QTRY_VERIFY(actionOf(f, u"cache").isChecked());
        QTabBar* tabs = nullptr;
        QTRY_VERIFY([&] {
            for (QTabBar* bar : f.window->findChildren<QTabBar*>()) {
                if (bar->parentWidget() == f.window.get() && bar->isVisible() && bar->count() == 2) {
                    tabs = bar;
                }
            }
            return tabs != nullptr;
        }());
        const int other = 1 - tabs->currentIndex();
        QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(other).center());
        QTRY_VERIFY(actionOf(f, u"dispatch").isChecked());
        QTRY_VERIFY(!actionOf(f, u"cache").isChecked());
    }

    void layout_savedWithTabs_comesBackWithItsButtons() {
        {
            WindowFixture f;
            QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
            for (const char16_t* name : {u"dispatch", u"cache", u"budget", u"sampling"}) {
                actionOf(f, name).trigger();
                QTRY_VERIFY(actionOf(f, name).isChecked());
            }
            f.window->close();
        }
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        for (const char16_t* name : {u"cache", u"sampling", u"conversations", u"experts"}) {
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
            QTRY_VERIFY2(actionOf(f, name).isChecked(), qPrintable(QStringView(name).toString()));
        }
        for (const char16_t* name : {u"dispatch", u"budget"}) {
            QVERIFY(!dockOf(f, name).isHidden());
            QTRY_VERIFY(!canBeSeen(dockOf(f, name)));
            QTRY_VERIFY2(!actionOf(f, name).isChecked(), qPrintable(QStringView(name).toString()));
            actionOf(f, name).trigger();
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
        }
        QVERIFY(!actionOf(f, u"log").isChecked());
    }

    void menuOfATitle_hasTheSameButtons() {
        WindowFixture f;
        const std::unique_ptr<QMenu> menu(f.window->createPopupMenu());
        QVERIFY(menu != nullptr);
        QVERIFY(menu->actions().contains(&actionOf(f, u"cache")));
        QVERIFY(!menu->actions().contains(dockOf(f, u"cache").toggleViewAction()));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPanelDocks)
#include "tst_panel_docks.moc"
