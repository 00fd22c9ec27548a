// The inspector at the window's right side: its tabs, the height of its panels, and the
// parts that shrink in a small window.
#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QSlider>
#include <QStatusBar>
#include <QTest>
#include <QToolBar>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/geometry.h"
#include "tests/ui/replan_session.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/base/settings.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/heat_map.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_rail.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr quint64 kMiB = quint64{1} << 20;
const char* const kTabs[] = {"experts",  "cache",     "dispatch", "budget",  "whatIf",
                             "machines", "benchmark", "log",      "sampling"};

// A window on an engine whose budgets can be moved.
struct Fixture {
    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    std::shared_ptr<ReplanStage> replans = std::make_shared<ReplanStage>();
    std::unique_ptr<MainWindow> window;

    explicit Fixture(QSize size) {
        MainWindow::Options options;
        options.theme = Theme::Light;
        window = std::make_unique<MainWindow>(
            [s = stage, r = replans] { return std::make_unique<ReplanSession>(s, r); }, options);
        if (!settings::kWindowState.kept()) {
            part<PanelDocks>(*window).show(QStringLiteral("experts"));
        }
        window->resize(size);
        window->show();
        QApplication::setActiveWindow(window.get());
        window->opener().open(QStringLiteral("/models/fake-moe"));
        QTRY_COMPARE(window->core().engine.state(), EngineController::State::Ready);
    }
    QDockWidget& dock(const char* name) const { return *part<PanelDocks>(*window).dock(QString::fromLatin1(name)); }
    // The tab of a panel, by its text.
    QToolButton* tab(const char* name) const {
        for (QToolButton* each : part<PanelRail>(*window).findChildren<QToolButton*>()) {
            if (each->isVisible() && each->text() == dock(name).windowTitle()) {
                return each;
            }
        }
        return nullptr;
    }
    void click(const char* name) const {
        QToolButton* button = tab(name);
        QVERIFY2(button != nullptr, name);
        QTest::mouseClick(button, Qt::LeftButton);
    }
};

bool isSeenWhole(const QWidget& widget) {
    return widget.isVisible() && QRegion(widget.rect()).subtracted(widget.visibleRegion()).isEmpty();
}

}  // namespace

class TestInspector : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    // "?" was read as Help, and was What if.
    void everyPanel_hasATabWithIconAndName() {
        Fixture f({1280, 800});
        for (const char* name : kTabs) {
            const QToolButton* tab = f.tab(name);
            QVERIFY2(tab != nullptr, name);
            QVERIFY2(isSeenWhole(*tab), name);
            QVERIFY2(!tab->icon().isNull(), name);
            QVERIFY2(!tab->accessibleName().isEmpty() && !tab->toolTip().isEmpty(), name);
            for (const QString& word : tab->text().split(u' ')) {  // long names have two lines
                QVERIFY2(tab->fontMetrics().horizontalAdvance(word) * 9 / 10 <= tab->width(), name);
            }
        }
        // In the tool bar is no panel without a name.
        const auto* bar = f.window->findChild<QToolBar*>(QStringLiteral("mainToolBar"));
        for (const char* name : kTabs) {
            QVERIFY2(!bar->actions().contains(&PanelAction::of(f.dock(name))), name);
        }
    }

    void tab_clicked_showsItsPanelAlone_inTheSamePlace() {
        Fixture f({1280, 800});
        QTRY_VERIFY(f.dock("experts").isVisible());
        const int width = f.dock("experts").width();
        for (const char* name : {"budget", "whatIf", "cache", "machines", "log", "sampling", "benchmark", "experts"}) {
            f.click(name);
            QTRY_VERIFY2(f.dock(name).isVisible(), name);
            QCoreApplication::processEvents();
            QTRY_VERIFY2(f.tab(name)->isChecked(), name);
            int shown = 0;
            for (const char* other : kTabs) {
                shown += f.dock(other).isVisible() ? 1 : 0;
            }
            QCOMPARE(shown, 1);
            QVERIFY2(f.dock(name).width() >= width, name);
            // It takes the whole height beside the conversation.
            QVERIFY2(f.dock(name).height() >= part<ChatPage>(*f.window).height(), name);
            QCOMPARE(f.window->size(), QSize(1280, 800));
        }
        f.click("experts");  // it is in front
        QVERIFY(f.dock("experts").isHidden());
    }

    void wideOne_standsBelow_besideTheInspector() {
        Fixture f({1280, 800});
        f.click("dispatch");
        QTRY_VERIFY(f.dock("dispatch").isVisible());
        QVERIFY(f.dock("experts").isVisible());
        QVERIFY(f.dock("dispatch").mapToGlobal(QPoint()).y() > part<ChatPage>(*f.window).mapToGlobal(QPoint()).y());
    }

    void budget_showsAllThatItHas_data() {
        QTest::addColumn<QSize>("size");
        QTest::newRow("1280x800") << QSize(1280, 800);
        QTest::newRow("1920x1080") << QSize(1920, 1080);
    }

    void budget_showsAllThatItHas() {
        QFETCH(QSize, size);
        Fixture f(size);
        f.click("budget");
        BudgetPanel& panel = part<BudgetPanel>(*f.window);
        QTRY_VERIFY(panel.isVisible());
        for (ValueSlider* row : {&panel.form().vram(), &panel.form().ram(), &panel.form().context()}) {
            QTRY_VERIFY(isSeenWhole(row->slider()));
        }
        for (QPushButton* button : {&test::find<QPushButton>(panel, "Apply"), &find<QPushButton>(panel, "Reset"),
                                    &test::find<QPushButton>(panel, "Undo")}) {
            QTRY_VERIFY2(isSeenWhole(*button), qPrintable(button->text()));
        }
        const int length = panel.form().vram().slider().width();
        QCOMPARE(panel.form().ram().slider().width(), length);
        QCOMPARE(panel.form().context().slider().width(), length);
    }

    // The footer neither scrolls nor leaves the window.
    void budget_inASmallWindow_hasItsButtons() {
        Fixture f({560, 420});
        part<PanelDocks>(*f.window).show(QStringLiteral("budget"));
        BudgetPanel& panel = part<BudgetPanel>(*f.window);
        for (QPushButton* button : {&test::find<QPushButton>(panel, "Apply"), &find<QPushButton>(panel, "Reset"),
                                    &test::find<QPushButton>(panel, "Undo")}) {
            QTRY_VERIFY2(isSeenWhole(*button), qPrintable(button->text()));
        }
    }

    void smallWindow_leavesItsWidthToTheConversation() {
        Fixture f({560, 420});
        QTRY_COMPARE(part<ChatPage>(*f.window).width(), 560);
        QVERIFY(!f.dock("conversations").isVisible());
        QVERIFY(!f.dock("experts").isVisible());
        QVERIFY(!part<PanelRail>(*f.window).isVisible());
        // A panel takes the conversation's place, and gives it back.
        QVERIFY(isSeenWhole(part<QToolButton>(*f.window, "panels")));
        QVERIFY(part<QToolButton>(*f.window, "panels").menu()->actions().contains(&PanelAction::of(f.dock("budget"))));
        PanelAction::of(f.dock("budget")).trigger();
        QTRY_VERIFY(f.dock("budget").isVisible());
        QTRY_COMPARE(f.dock("budget").width(), 560);
        QVERIFY(!part<ChatPage>(*f.window).isVisible());
        PanelAction::of(f.dock("budget")).trigger();
        QTRY_VERIFY(part<ChatPage>(*f.window).isVisible());
        QTRY_COMPARE(part<ChatPage>(*f.window).width(), 560);
        // With room everything is there again.
        f.window->resize(1280, 800);
        QTRY_VERIFY(f.dock("conversations").isVisible());
        QTRY_VERIFY(f.dock("experts").isVisible());
        QTRY_VERIFY(part<ChatPage>(*f.window).width() >= SideColumns::kConversationWidth);
        QVERIFY(part<PanelRail>(*f.window).isVisible());
    }

    // In height, too: what is below the conversation takes its place.
    void lowWindow_leavesItsHeightToTheConversation() {
        Fixture f({1280, 800});
        PanelAction::of(f.dock("dispatch")).trigger();
        QTRY_VERIFY(f.dock("dispatch").isVisible());
        for (const QSize size : {QSize(1280, 430), QSize(560, 420)}) {
            f.window->resize(size);
            QTRY_VERIFY(!f.dock("dispatch").isVisible());
            const QAbstractButton& send = part<ChatPage>(*f.window).input().button();
            QTRY_VERIFY(isSeenWhole(send));
            PanelAction::of(f.dock("dispatch")).trigger();
            QTRY_VERIFY(f.dock("dispatch").isVisible());
            QVERIFY(!part<ChatPage>(*f.window).isVisible());
            QTRY_VERIFY(f.window->statusBar()->geometry().bottom() < f.window->height());
            QTest::keyClick(f.window.get(), Qt::Key_H);  // a message begins
            QTRY_VERIFY(!f.dock("dispatch").isVisible());
            QTRY_VERIFY(isSeenWhole(send));
            f.window->resize(1280, 800);
        }
        PanelAction::of(f.dock("dispatch")).trigger();
        f.window->resize(1280, 430);
        QTRY_VERIFY(!f.dock("dispatch").isVisible());
        f.window->resize(1280, 800);
        QTRY_VERIFY(f.dock("dispatch").isVisible());
        QVERIFY(part<ChatPage>(*f.window).isVisible());
    }

    void mediumWindow_hasTwoColumns() {
        Fixture f({860, 640});
        QTRY_VERIFY(f.dock("experts").isVisible());
        QVERIFY(!f.dock("conversations").isVisible());
        QTRY_VERIFY(part<ChatPage>(*f.window).width() >= SideColumns::kConversationWidth);
        PanelAction::of(f.dock("conversations")).trigger();
        QTRY_VERIFY(f.dock("conversations").isVisible());
        QVERIFY(!f.dock("experts").isVisible());
        QTRY_VERIFY(part<ChatPage>(*f.window).width() >= SideColumns::kConversationWidth);
    }

    void newConversation_inASmallWindow_showsTheConversation() {
        Fixture f({560, 420});
        part<PanelDocks>(*f.window).show(QStringLiteral("log"));
        QTRY_VERIFY(!part<ChatPage>(*f.window).isVisible());
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        QTRY_VERIFY(part<ChatPage>(*f.window).isVisible());
        QVERIFY(part<ChatPage>(*f.window).input().edit().hasFocus());
    }

    void palette_opensAPanel() {
        Fixture f({1280, 800});
        part<CommandPalette>(*f.window).open();
        QTest::keyClicks(&part<CommandPalette>(*f.window).input(), QStringLiteral("budget"));
        QTest::keyClick(&part<CommandPalette>(*f.window).input(), Qt::Key_Return);
        QTRY_VERIFY(f.dock("budget").isVisible());
        QVERIFY(!f.dock("experts").isVisible());
        // A user who chose it by keys continues in it by keys.
        QVERIFY(f.dock("budget").isAncestorOf(f.window->focusWidget()));
    }

    // A panel that had the focus leaves it to the message, not to a tab.
    void tab_clicked_takesTheFocusFromThePanelBefore() {
        Fixture f({1280, 800});
        f.click("budget");
        auto& reset = find<QPushButton>(part<BudgetPanel>(*f.window), "Reset");
        for (const char* clicked : {"cache", "budget"}) {  // another panel's tab, and its own
            QTRY_VERIFY(reset.isVisible());
            part<BudgetPanel>(*f.window).form().vram().slider().setFocus();
            QVERIFY(f.dock("budget").isAncestorOf(f.window->focusWidget()));
            f.click(clicked);
            QTRY_VERIFY(!reset.isVisible());
            QTRY_VERIFY(part<ChatPage>(*f.window).input().edit().hasFocus());
            f.click("budget");
        }
    }

    // Who opens a panel by its key and types on changes nothing in it.
    void key_ofAPanel_thenWords_changeNoChoice() {
        Fixture f({1280, 800});
        const QList<QDockWidget*> tabs = part<PanelDocks>(*f.window).tabbed();
        for (int i = 0; i < tabs.size(); ++i) {
            if (PanelAction::of(*tabs[i]).isInFront()) {
                tabs[i]->hide();
            }
            QTest::keyClick(f.window.get(), static_cast<Qt::Key>(Qt::Key_1 + i), Qt::AltModifier);
            QTRY_VERIFY(tabs[i]->isVisible());
            QStringList before, after;
            const auto note = [&](QStringList& values) {
                for (const QComboBox* each : tabs[i]->findChildren<QComboBox*>()) {
                    values << each->currentText();
                }
                for (const QAbstractSpinBox* each : tabs[i]->findChildren<QAbstractSpinBox*>()) {
                    values << each->text();
                }
            };
            note(before);
            for (const char letter : {'h', 'i', ' ', '5'}) {
                QTest::keyClick(f.window->focusWidget(), letter);
            }
            note(after);
            QCOMPARE(after, before);
        }
        QTest::keyClick(f.window.get(), Qt::Key_1, Qt::AltModifier);
        QVERIFY(part<HeatMap>(f.dock("experts")).hasFocus());
    }

    void tab_clicked_leavesTheFocusInTheMessage() {
        Fixture f({1280, 800});
        part<ChatPage>(*f.window).input().edit().setFocus();
        PanelAction::of(f.dock("budget")).trigger();
        QTRY_VERIFY(f.dock("budget").isVisible());
        QVERIFY(part<ChatPage>(*f.window).input().edit().hasFocus());
    }

    void layout_comesBack_alsoFromASmallWindow() {
        {
            Fixture f({1280, 800});
            f.click("whatIf");
            f.click("dispatch");
            QTRY_VERIFY(f.dock("dispatch").isVisible());
            f.window->resize(560, 420);
            QTRY_VERIFY(!f.dock("whatIf").isVisible());
            f.window->close();
        }
        Fixture f({1280, 800});
        QTRY_VERIFY(f.dock("whatIf").isVisible());
        QVERIFY(f.dock("conversations").isVisible());
        QVERIFY(f.dock("dispatch").isVisible());
        QVERIFY(f.dock("experts").isHidden());
    }

    // Pictures to look at, if OFFSTAGE_PICTURES names a folder: each panel in each size,
    // theme and language. Last: a language stays for the rest of the program.
    void pictures() {
        const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
        if (folder.isEmpty() || !QFile::exists(demoModel())) {
            return;
        }
        const QString language = qEnvironmentVariable("OFFSTAGE_PICTURES_LANGUAGE", QStringLiteral("en"));
        speak(*qApp, language);
        MainWindow::Options options;
        options.theme = Theme::Light;
        options.models.device = QStringLiteral("emulated:rtx-3060-desktop");
        options.models.vramBytes = demoVram(24 * kMiB, 0);
        MainWindow window([] { return engine::Session::create(); }, options);
        window.resize(1280, 800);
        window.show();
        window.opener().open(demoModel());
        QTRY_COMPARE_WITH_TIMEOUT(window.core().engine.state(), EngineController::State::Ready, 60'000);
        window.core().chat.send(QStringLiteral("What is a cache hit?"));
        QTRY_VERIFY_WITH_TIMEOUT(!window.core().conversation.messages().isEmpty() &&
                                     window.core().conversation.messages().last().state == Message::State::Done,
                                 60'000);
        auto& whatIf = *part<PanelDocks>(window).dock(QStringLiteral("whatIf"))->findChild<WhatIfPanel*>();
        QTest::mouseClick(&test::find<QPushButton>(whatIf, "Forecast"), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!whatIf.isRunning(), 120'000);
        part<BudgetPanel>(window).form().vram().spin().setValue(60);
        const QList<QSize> sizes{{1280, 800}, {1920, 1080}, {560, 420}};
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            for (const QSize size : sizes) {
                window.resize(size);
                for (const char* name : {"chat", "experts", "cache", "dispatch", "budget", "whatIf", "machines",
                                         "benchmark", "log", "sampling"}) {
                    part<SideColumns>(window).showMiddle();
                    if (QDockWidget* dock = part<PanelDocks>(window).dock(QString::fromLatin1(name))) {
                        part<PanelDocks>(window).show(QString::fromLatin1(name));
                        QTRY_VERIFY(dock->isVisible());
                    }
                    for (int pass = 0; pass < 6; ++pass) {
                        QTest::qWait(30);
                    }
                    window.grab().save(QStringLiteral("%1/%2-%3-%4-%5.png")
                                           .arg(folder, QString::fromLatin1(name), nameOf(theme), language)
                                           .arg(size.width()));
                    if (qstrcmp(name, "dispatch") == 0) {
                        part<PanelDocks>(window).dock(QStringLiteral("dispatch"))->hide();
                    }
                }
            }
        }
        window.resize(1280, 800);
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            part<CommandPalette>(window).open();
            QTest::qWait(50);
            window.grab().save(QStringLiteral("%1/palette-%2-%3.png").arg(folder, nameOf(theme), language));
            QTest::keyClick(&part<CommandPalette>(window).input(), Qt::Key_Escape);
        }
        applyTheme(*qApp, Theme::Light);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestInspector)
#include "tst_inspector.moc"
