// The panels' docks: the effect of their buttons, and that panels have room to be read.
#include <QAbstractButton>
#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QMenu>
#include <QRegularExpression>
#include <QScrollBar>
#include <QStyle>
#include <QTabBar>
#include <QTest>
#include <QToolButton>
#include <QVBoxLayout>

#include "tests/ui/drag_edge.h"
#include "tests/ui/panel_parts.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/settings.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_page.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_area.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

using namespace offstage;
using namespace offstage::ui;
using test::WindowFixture;

namespace {

QDockWidget& dockOf(const WindowFixture& f, const char16_t* name) {
    return *test::part<PanelDocks>(*f.window).dock(QStringView(name).toString());
}

PanelAction& actionOf(const WindowFixture& f, const char16_t* name) {
    return PanelAction::of(dockOf(f, name));
}

// Some of it is visible on the screen.
bool canBeSeen(const QDockWidget& dock) {
    return !dock.visibleRegion().isEmpty();
}

// Docks find their places in a few turns.
void settle() {
    for (int turn = 0; turn < 6; ++turn) {
        QCoreApplication::processEvents();
    }
}

const PanelArea* shownArea(const QDockWidget& dock) {
    for (const PanelArea* area : dock.findChildren<PanelArea*>()) {
        if (area->isVisible()) {
            return area;
        }
    }
    return nullptr;
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

    // With five panels open, Alt and a menu's letter opened that menu every second time,
    // or never.
    void panels_takeNoKeyFromTheMenus() {
        WindowFixture f;
        static const QRegularExpression mnemonic(QStringLiteral("(^|[^&])&[^& ]"));
        QStringList takers;
        for (const QDockWidget* dock : f.window->findChildren<QDockWidget*>()) {
            for (const QWidget* widget : dock->findChildren<QWidget*>()) {
                const auto* label = qobject_cast<const QLabel*>(widget);
                const auto* button = qobject_cast<const QAbstractButton*>(widget);
                const auto* tabs = qobject_cast<const QTabBar*>(widget);
                if (label && label->buddy() && label->text().contains(mnemonic)) {
                    takers << label->text();
                }
                if (button && button->text().contains(mnemonic)) {
                    takers << button->text();
                }
                for (int i = 0; tabs && i < tabs->count(); ++i) {
                    if (tabs->tabText(i).contains(mnemonic) && tabs->parentWidget() != f.window.get()) {
                        takers << tabs->tabText(i);
                    }
                }
            }
        }
        QCOMPARE(takers, QStringList());
    }

    void button_ofAnotherPanel_takesItsPlace() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        for (const char16_t* name : {u"budget", u"cache", u"log", u"cache"}) {
            actionOf(f, name).trigger();
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
            QTRY_VERIFY(actionOf(f, name).isChecked());
        }
        QTRY_VERIFY(dockOf(f, u"log").isHidden() && dockOf(f, u"budget").isHidden());
        QTRY_VERIFY(!actionOf(f, u"log").isChecked());
        actionOf(f, u"cache").trigger();  // it is in front
        QVERIFY(dockOf(f, u"cache").isHidden());
        QTRY_VERIFY(!actionOf(f, u"cache").isChecked());
    }

    // Panels that a user puts together elsewhere are tabs, as docks are.
    void button_whereATabWasChosen_followsIt() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.window->addDockWidget(Qt::BottomDockWidgetArea, &dockOf(f, u"cache"));
        f.window->tabifyDockWidget(&dockOf(f, u"dispatch"), &dockOf(f, u"cache"));
        actionOf(f, u"dispatch").trigger();
        actionOf(f, u"cache").trigger();
        QTRY_VERIFY(actionOf(f, u"cache").isChecked());
        QVERIFY(!dockOf(f, u"dispatch").isHidden());
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
        actionOf(f, u"cache").trigger();  // covered: to the front
        QTRY_VERIFY(canBeSeen(dockOf(f, u"cache")));
    }

    void layout_savedWithTabs_comesBackWithItsButtons() {
        {
            WindowFixture f;
            QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
            f.window->addDockWidget(Qt::BottomDockWidgetArea, &dockOf(f, u"cache"));
            f.window->tabifyDockWidget(&dockOf(f, u"dispatch"), &dockOf(f, u"cache"));
            for (const char16_t* name : {u"dispatch", u"cache", u"budget", u"sampling"}) {
                actionOf(f, name).trigger();
                QTRY_VERIFY(actionOf(f, name).isChecked());
            }
            f.window->close();
        }
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        for (const char16_t* name : {u"cache", u"sampling", u"conversations"}) {
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
            QTRY_VERIFY2(actionOf(f, name).isChecked(), qPrintable(QStringView(name).toString()));
        }
        QVERIFY(!dockOf(f, u"dispatch").isHidden());
        for (const char16_t* name : {u"dispatch", u"budget"}) {
            QTRY_VERIFY(!canBeSeen(dockOf(f, name)));
            QTRY_VERIFY2(!actionOf(f, name).isChecked(), qPrintable(QStringView(name).toString()));
            actionOf(f, name).trigger();
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
        }
        QVERIFY(!actionOf(f, u"log").isChecked());
    }

    // The conversation gives way to a wider inspector; the list at the other side does not.
    void widerInspector_leavesTheListItsWidth() {
        WindowFixture f;
        f.window->resize(1400, 800);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        actionOf(f, u"cache").trigger();
        QDockWidget &inspector = dockOf(f, u"cache"), &list = dockOf(f, u"conversations");
        QTRY_VERIFY(canBeSeen(inspector) && canBeSeen(list));
        settle();
        const int before = list.width(), narrow = inspector.width();
        test::dragEdge(*f.window, inspector.x() - 3, 60);
        settle();
        QVERIFY(inspector.width() > narrow);
        QCOMPARE(list.width(), before);
        // And the list can be made narrower and wider as before.
        test::dragEdge(*f.window, list.geometry().right() + 2, list.geometry().right() - 28);
        settle();
        QTRY_VERIFY2(std::abs(list.width() - (before - 30)) < 6, qPrintable(QString::number(list.width())));
    }

    void columns_inANarrowerWindow_leaveTheConversationItsWidth() {
        WindowFixture f;
        f.window->resize(1600, 800);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        QDockWidget& dock = dockOf(f, u"cache");
        actionOf(f, u"cache").trigger();
        QTRY_VERIFY(canBeSeen(dock));
        settle();
        test::dragEdge(*f.window, dock.x() - 3, dock.geometry().right() - 700);
        QTRY_VERIFY2(std::abs(dock.width() - 700) < 12, qPrintable(QString::number(dock.width())));
        settle();
        const int chosen = dock.width();
        const QWidget& conversation = *f.window->centralWidget();
        for (const int width : {1500, 1300, 1000}) {
            f.window->resize(width, 800);
            QTRY_COMPARE(f.window->width(), width);
            settle();
            QTRY_VERIFY2(conversation.width() >= SideColumns::kConversationWidth,
                         qPrintable(QStringLiteral("%1 of %2").arg(conversation.width()).arg(width)));
        }
        QVERIFY(dock.isVisible() && dock.width() < chosen);
        f.window->resize(1600, 800);
        QTRY_COMPARE(dock.width(), chosen);
    }

    // Nobody chose the widths of a large window: in a smaller one they are that one's.
    void columns_ofALargeWindow_leaveASmallerOnesConversationRoom() {
        WindowFixture f;
        f.window->resize(1920, 1080);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        const QWidget& conversation = *f.window->centralWidget();
        for (const char16_t* name : {u"experts", u"cache", u"budget", u"whatIf", u"benchmark", u"sampling"}) {
            f.window->resize(1920, 1080);
            QTRY_COMPARE(f.window->width(), 1920);
            if (!canBeSeen(dockOf(f, name))) {
                actionOf(f, name).trigger();
            }
            QTRY_VERIFY(canBeSeen(dockOf(f, name)) && canBeSeen(dockOf(f, u"conversations")));
            settle();
            f.window->resize(1280, 800);
            QTRY_COMPARE(f.window->width(), 1280);
            settle();
            QTRY_VERIFY2(conversation.width() >= 520, qPrintable(QString::number(conversation.width())));
            QVERIFY(canBeSeen(dockOf(f, name)) && canBeSeen(dockOf(f, u"conversations")));
        }
    }

    void columns_inALowerWindow_keepTheirWidths() {
        WindowFixture f;
        f.window->resize(1600, 800);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        QDockWidget& dock = dockOf(f, u"cache");
        actionOf(f, u"cache").trigger();
        QTRY_VERIFY(canBeSeen(dock));
        settle();
        f.window->resizeDocks({&dock}, {640}, Qt::Horizontal);
        QTRY_COMPARE(dock.width(), 640);
        for (const int height : {500, 800}) {  // a dock below has no room in the first
            f.window->resize(1600, height);
            QTRY_COMPARE(f.window->height(), height);
            settle();
            QCOMPARE(dock.width(), 640);
        }
    }

    // Two in one area have widths of their own, not both that of a column.
    void docks_sideBySide_keepTheirWidths() {
        WindowFixture f;
        f.window->resize(1600, 800);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        QDockWidget &list = dockOf(f, u"conversations"), &cache = dockOf(f, u"cache");
        dockOf(f, u"experts").hide();
        f.window->addDockWidget(Qt::LeftDockWidgetArea, &cache);
        f.window->splitDockWidget(&list, &cache, Qt::Horizontal);
        cache.show();
        QTRY_VERIFY(canBeSeen(cache) && list.x() < cache.x());
        settle();
        f.window->resizeDocks({&list, &cache}, {210, cache.minimumSizeHint().width() + 20}, Qt::Horizontal);
        QTRY_VERIFY2(list.width() < 240, qPrintable(QString::number(list.width())));
        settle();
        const int narrow = list.width(), beside = cache.width();
        f.window->resize(1620, 800);
        QTRY_COMPARE(f.window->width(), 1620);
        settle();
        QCOMPARE(list.width(), narrow);
        QCOMPARE(cache.width(), beside);
    }

    // Not only when the window's size changes.
    void columns_followWhatPanelsNeed() {
        WindowFixture f;
        f.window->resize(1280, 768);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        QDockWidget& dock = dockOf(f, u"cache");
        actionOf(f, u"cache").trigger();
        QTRY_VERIFY(canBeSeen(dock));
        settle();
        const SideColumns& columns = test::part<PanelDocks>(*f.window).columns();
        QTRY_COMPARE(columns.room(), SideColumns::Room::Three);
        dock.widget()->setMinimumWidth(700);
        QTRY_COMPARE(columns.room(), SideColumns::Room::Two);
        QTRY_VERIFY(dockOf(f, u"conversations").isHidden());
        dock.widget()->setMinimumWidth(0);
        QTRY_COMPARE(columns.room(), SideColumns::Room::Three);
        QTRY_VERIFY(dockOf(f, u"conversations").isVisible());
    }

    void area_whoseContentNeedsNoOtherWidth_asksForNoLayout() {
        QWidget window;
        auto* content = new QWidget;
        auto* label = new QLabel(QStringLiteral("one"));
        (new QVBoxLayout(content))->addWidget(label);
        auto* area = new PanelArea(content);
        (new QVBoxLayout(&window))->addWidget(area);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        settle();
        label->setMinimumWidth(300);
        QTRY_VERIFY(area->width() >= 300);
        settle();
        const test::EventCount requests(window, QEvent::LayoutRequest);
        for (int height = 20; height < 30; ++height) {
            label->setMinimumHeight(height);
            settle();
        }
        QCOMPARE(requests.count(), 0);
        label->setMinimumWidth(500);
        QTRY_VERIFY(requests.count() > 0 && area->width() >= 500);
    }

    void lowerPanel_openedFirst_isHighEnoughToRead() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        const QSize before = f.window->size();
        actionOf(f, u"dispatch").trigger();
        const int enough = before.height() / 2 - 40;  // with its tabs
        QTRY_VERIFY2(dockOf(f, u"dispatch").height() >= enough,
                     qPrintable(QString::number(dockOf(f, u"dispatch").height())));
        QCOMPARE(f.window->size(), before);
        // From now on its height is the user's, for every panel there.
        f.window->resizeDocks({&dockOf(f, u"dispatch")}, {190}, Qt::Vertical);
        QTRY_VERIFY(dockOf(f, u"dispatch").height() < 220);
        actionOf(f, u"dispatch").trigger();
        QVERIFY(dockOf(f, u"dispatch").isHidden());
        actionOf(f, u"dispatch").trigger();
        QTRY_VERIFY(canBeSeen(dockOf(f, u"dispatch")));
        QCoreApplication::processEvents();
        QVERIFY2(dockOf(f, u"dispatch").height() < 220, qPrintable(QString::number(dockOf(f, u"dispatch").height())));
        // "Reset layout" starts again.
        test::part<PanelDocks>(*f.window).reset();
        actionOf(f, u"dispatch").trigger();
        QTRY_VERIFY(dockOf(f, u"dispatch").height() >= enough);
    }

    void lowerPanel_getsItsHeightBack_whenTheWindowGrowsAgain() {
        WindowFixture f;
        f.window->resize(1280, 800);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        QDockWidget& dock = dockOf(f, u"dispatch");
        actionOf(f, u"dispatch").trigger();
        QTRY_COMPARE(dock.height(), 404);
        const int before = dock.height();
        f.window->resize(1280, 440);
        QTRY_VERIFY2(dock.height() < before, qPrintable(QString::number(dock.height())));
        f.window->resize(1280, 500);
        f.window->resize(1280, 800);
        QTRY_COMPARE(dock.height(), before);
        // Also at the user's size.
        f.window->resizeDocks({&dock}, {360}, Qt::Vertical);
        QTRY_COMPARE(dock.height(), 360);
        f.window->resize(1280, 440);
        QTRY_VERIFY(dock.height() < 360);
        f.window->resize(1280, 800);
        QTRY_COMPARE(dock.height(), 360);
    }

    // The explanation of a clicked bar is visible, at the panel's default height.
    void dispatch_explanation_isInSight() {
        offstage::test::Script script;
        script.residents = 3;
        WindowFixture f(script);
        f.window->resize(1280, 800);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        actionOf(f, u"dispatch").trigger();
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        auto* panel = f.window->findChild<DispatchPanel*>();
        QTRY_VERIFY(!panel->timeline().spans().empty());
        panel->explain(1, std::nullopt);
        QVERIFY(!test::whyOf(*panel).isEmpty());
        QLabel* why = nullptr;
        for (QLabel* each : panel->findChildren<QLabel*>()) {
            why = each->text() == test::whyOf(*panel) ? each : why;
        }
        QVERIFY(why != nullptr);
        // From its first line on, and as much as two experts need; longer text scrolls in
        // its place.
        QTRY_VERIFY(why->visibleRegion().contains(QPoint(1, 1)));
        QVERIFY(why->visibleRegion().boundingRect().height() >= 4 * why->fontMetrics().lineSpacing());
    }

    void lowerPanel_canBeMadeTaller_withAndWithoutAConversation_data() {
        QTest::addColumn<bool>("conversation");
        QTest::newRow("none yet") << false;
        QTest::newRow("one") << true;
    }

    void lowerPanel_canBeMadeTaller_withAndWithoutAConversation() {
        QFETCH(bool, conversation);
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        if (conversation) {
            f.ask(QStringLiteral("Hello"));
            QTRY_COMPARE(f.last().state, Message::State::Done);
        }
        const QSize before = f.window->size();
        actionOf(f, u"dispatch").trigger();
        QTRY_VERIFY(canBeSeen(dockOf(f, u"dispatch")));
        f.window->resizeDocks({&dockOf(f, u"dispatch")}, {before.height()}, Qt::Vertical);  // as far as it goes
        QTRY_VERIFY2(dockOf(f, u"dispatch").height() > before.height() / 2,
                     qPrintable(QString::number(dockOf(f, u"dispatch").height())));
        QVERIFY(test::part<ChatPage>(*f.window).height() >= test::part<ChatPage>(*f.window).minimumSizeHint().height());
        QCOMPARE(f.window->size(), before);
    }

    void panels_allOpened_inASmallWindow_leaveItsSize() {
        WindowFixture f;
        f.window->resize(800, 600);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
        for (const char16_t* name :
             {u"budget", u"sampling", u"dispatch", u"cache", u"whatIf", u"benchmark", u"log", u"conversations"}) {
            if (!actionOf(f, name).isInFront()) {
                actionOf(f, name).trigger();
            }
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
            QCOMPARE(f.window->size(), QSize(800, 600));
        }
        for (const char16_t* name : {u"whatIf", u"benchmark", u"log", u"dispatch"}) {  // more than there is room for
            f.window->addDockWidget(Qt::LeftDockWidgetArea, &dockOf(f, name));
            dockOf(f, name).show();
            QTRY_VERIFY2(canBeSeen(dockOf(f, name)), qPrintable(QStringView(name).toString()));
            QCOMPARE(f.window->size(), QSize(800, 600));
        }
    }

    void sidePanel_isNeverNarrowerThanItsContent() {
        WindowFixture f;
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        f.openAndWait();
        for (const char16_t* name : {u"budget", u"sampling"}) {
            actionOf(f, name).trigger();
            QTRY_VERIFY(canBeSeen(dockOf(f, name)));
            const auto* area = shownArea(dockOf(f, name));
            QVERIFY(area != nullptr);
            const auto cut = [area] { return area->widget()->width() - area->viewport()->width(); };
            QTRY_VERIFY2(cut() <= 0, qPrintable(QString::number(cut())));
            QVERIFY(area->horizontalScrollBar()->maximum() == 0);
        }
        auto& sampling = dockOf(f, u"sampling");
        const auto* area = shownArea(sampling);
        const int before = sampling.width();
        f.window->resizeDocks({&sampling}, {220}, Qt::Horizontal);
        QTRY_VERIFY2(sampling.width() < before || before == sampling.minimumSizeHint().width(),
                     qPrintable(QString::number(sampling.width())));
        QVERIFY(area->viewport()->width() >= area->widget()->minimumSizeHint().width());
        QVERIFY(!area->horizontalScrollBar()->isVisible());
    }

    void samplingPanel_itsDots_canBeSeenInEitherTheme_data() {
        QTest::addColumn<Theme>("theme");
        QTest::newRow("light") << Theme::Light;
        QTest::newRow("dark") << Theme::Dark;
    }

    void samplingPanel_itsDots_canBeSeenInEitherTheme() {
        QFETCH(Theme, theme);
        // As at the start of the program: style and colours change after the panels have
        // been made.
        qApp->setStyle(QStringLiteral("Windows"));
        qApp->setPalette(qApp->style()->standardPalette());
        qApp->setProperty("offstageDesktopIsDark", QVariant());
        MainWindow::Options options;
        options.theme = theme;
        const auto stage = std::make_shared<test::Stage>();
        MainWindow window([stage] { return makeFakeSession(stage); }, options);
        window.show();
        test::part<PanelDocks>(window).show(QStringLiteral("sampling"));
        int dots = 0;
        for (QToolButton* button : test::part<SamplingPanel>(window).findChildren<QToolButton*>()) {
            if (button->text() != QStringLiteral("⋯")) {
                continue;
            }
            ++dots;
            QTRY_VERIFY(button->isVisible());
            QTRY_VERIFY(!button->visibleRegion().isEmpty());
            const QImage image = window.grab({button->mapTo(&window, QPoint()), button->size()}).toImage();
            const int ground = window.palette().color(QPalette::Window).lightness();
            QVERIFY(std::abs(image.pixelColor(1, 1).lightness() - ground) < 20);
            int strongest = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    strongest = std::max(strongest, std::abs(image.pixelColor(x, y).lightness() - ground));
                }
            }
            QVERIFY2(strongest > 90, qPrintable(QString::number(strongest)));
        }
        QCOMPARE(dots, 1);
        applyTheme(*qApp, Theme::Light);
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
