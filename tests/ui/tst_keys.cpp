// The window by its keys: mnemonics, shortcuts, tab stops that can be seen, and controls
// that look like what they can do.

#include <cmath>
#include <set>

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QRadioButton>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <QTranslator>

#include "tests/ui/find_widget.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/icons.h"
#include "ui/base/language.h"
#include "ui/base/settings.h"
#include "ui/base/theme.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/widgets/menu_commands.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_rail.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::ui;
using test::part;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

namespace {

QWidget& popup() {
    QWidget* menu = QApplication::activePopupWidget();
    if (menu == nullptr) {
        qFatal("no menu is open");
    }
    return *menu;
}

// By the context menu key, as at the keyboard.
QMenu& contextMenuOf(QWidget& widget, const QPoint& at) {
    QContextMenuEvent event(QContextMenuEvent::Keyboard, at, widget.mapToGlobal(at));
    QApplication::sendEvent(&widget, &event);
    return *qobject_cast<QMenu*>(&popup());
}

QChar mnemonicOf(const QString& text) {
    QString left = text.section(u'\t', 0, 0);
    left.replace(QStringLiteral("&&"), QString());
    const qsizetype at = left.indexOf(u'&');
    return at >= 0 && at + 1 < left.size() ? left[at + 1].toUpper() : QChar();
}

// Every entry that has the mnemonic of an earlier one, in this menu and those below it.
QStringList doubledMnemonics(QMenu& menu, const QString& path) {
    QStringList doubled;
    QMap<QChar, QString> seen;
    Q_EMIT menu.aboutToShow();
    for (QAction* action : menu.actions()) {
        const QChar key = mnemonicOf(action->text());
        if (!key.isNull() && seen.contains(key)) {
            doubled << QStringLiteral("%1: %2 of “%3” and “%4”").arg(path, key, seen[key], action->text());
        } else if (!key.isNull()) {
            seen[key] = action->text();
        }
        if (action->menu() != nullptr) {
            doubled += doubledMnemonics(*action->menu(), path + u'/' + plainMenuText(action->text()));
        }
    }
    return doubled;
}

double contrast(const QColor& a, const QColor& b) {
    const auto luminance = [](const QColor& c) {
        const auto linear = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
        return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    const auto [lower, higher] = std::minmax({luminance(a), luminance(b)});
    return (higher + 0.05) / (lower + 0.05);
}

// Of the most different pixel to the most frequent one.
double drawnContrast(QWidget& widget) {
    const QImage image = widget.grab().toImage().convertToFormat(QImage::Format_RGB32);
    QHash<QRgb, int> count;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            ++count[image.pixel(x, y)];
        }
    }
    QRgb ground = 0;
    int most = 0;
    for (auto each = count.cbegin(); each != count.cend(); ++each) {
        if (each.value() > most) {
            most = each.value();
            ground = each.key();
        }
    }
    double highest = 1;
    for (auto each = count.cbegin(); each != count.cend(); ++each) {
        highest = std::max(highest, contrast(QColor(each.key()), QColor(ground)));
    }
    return highest;
}

}  // namespace

class TestKeys : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        QSettings().clear();
        QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    }

    // ---- where typed text goes

    // After Undo, Reset and Cancel a slider has the focus (tst_budget).
    void typed_onASliderInBudget_isAMessage() {
        WindowFixture f;
        f.openAndWait();
        part<PanelDocks>(*f.window).show(QStringLiteral("budget"));
        auto& panel = part<BudgetPanel>(*f.window);
        QTRY_VERIFY(panel.isVisible());
        QTRY_VERIFY(panel.form().ram().isEnabled());
        const auto before = panel.form().setting();
        panel.form().ram().slider().setFocus();
        keys(QStringLiteral("5 more"));
        QCOMPARE(text(f), QStringLiteral("5 more"));
        QVERIFY(panel.form().setting() == before);
    }

    // After a title was typed the list has the focus.
    void typed_onTheListOfConversations_isAMessage() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("more of this"));
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        f.askAndWait(QStringLiteral("another"));
        auto& list = test::find<QListView>(*f.window, "Conversations");
        const QModelIndex shown = list.currentIndex();
        QTest::keyClick(f.window.get(), Qt::Key_F2);
        QTRY_VERIFY(list.indexWidget(shown) != nullptr || list.findChild<QLineEdit*>() != nullptr);
        keys(QStringLiteral("a title"));
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
        QTRY_VERIFY(list.hasFocus());
        keys(QStringLiteral("more 5"));
        QCOMPARE(text(f), QStringLiteral("more 5"));
        QCOMPARE(list.currentIndex().row(), shown.row());
    }

    // As an input method writes: the word being composed, then what was chosen.
    void composed_onTheListOfConversations_isAMessage() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("more of this"));
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        f.askAndWait(QStringLiteral("another"));
        auto& list = test::find<QListView>(*f.window, "Conversations");
        const QModelIndex shown = list.currentIndex();
        list.setFocus();
        QTRY_VERIFY(list.hasFocus());
        const auto compose = [](const QString& preedit, const QString& commit) {
            QInputMethodEvent event(preedit, {});
            event.setCommitString(commit);
            QApplication::sendEvent(QApplication::focusWidget(), &event);
        };
        compose(QStringLiteral("mo"), {});
        QCOMPARE(text(f), QString());
        QVERIFY(list.hasFocus());  // another one would end the word
        compose({}, QStringLiteral("mở"));
        QCOMPARE(text(f), QStringLiteral("mở"));
        QVERIFY(part<ChatPage>(*f.window).input().edit().hasFocus());
        compose({}, QStringLiteral(" cửa"));
        QCOMPARE(text(f), QStringLiteral("mở cửa"));
        QCOMPARE(list.currentIndex(), shown);
    }

    void keys_thatAMenuHasNoUseFor_goNowhere() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hi"));
        QTest::keyClick(f.window.get(), Qt::Key_C, Qt::AltModifier);
        QTRY_VERIFY(QApplication::activePopupWidget() != nullptr);
        QTest::keyClick(&popup(), Qt::Key_X);
        QTest::keyClick(&popup(), Qt::Key_Q);
        QVERIFY(QApplication::activePopupWidget() != nullptr);
        QCOMPARE(text(f), QString());
        QTest::keyClick(&popup(), Qt::Key_Escape);
        QTRY_VERIFY(QApplication::activePopupWidget() == nullptr);
        QTest::keyClick(f.window.get(), Qt::Key_Escape);  // leaves the menu bar
        part<ChatPage>(*f.window).view().setFocus();
        keys(QStringLiteral("x"));
        QCOMPARE(text(f), QStringLiteral("x"));
    }

    // ---- menus and keys

    void menus_haveNoMnemonicTwice_data() {
        QTest::addColumn<QString>("language");
        for (const Language& language : languages()) {
            QTest::newRow(qPrintable(language.code)) << language.code;
        }
    }
    void menus_haveNoMnemonicTwice() {
        QFETCH(QString, language);
        speak(*qApp, QStringLiteral("en"));
        QTranslator translator;
        if (translator.load(QStringLiteral(":/i18n/offstage_%1.qm").arg(language))) {
            QApplication::installTranslator(&translator);
        }
        {
            Script script;
            script.residents = 4;
            WindowFixture f(script);
            f.openAndWait();
            f.askAndWait(QStringLiteral("hi"));
            QStringList doubled;
            QMap<QChar, QString> bar;
            for (QAction* action : f.window->menuBar()->actions()) {
                const QChar key = mnemonicOf(action->text());
                QVERIFY2(!key.isNull() && !bar.contains(key), qPrintable(action->text()));
                bar[key] = action->text();
            }
            for (QMenu* menu : f.window->findChildren<QMenu*>()) {
                if (qobject_cast<QMenu*>(menu->parent()) == nullptr) {
                    doubled += doubledMnemonics(
                        *menu, menu->title().isEmpty() ? QString::fromLatin1(menu->parent()->metaObject()->className())
                                                       : plainMenuText(menu->title()));
                }
            }
            part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
            HeatMap& map = part<ExpertsPanel>(*f.window).map();
            QTRY_VERIFY(map.isVisible() && map.rows() > 0);
            const std::pair<QWidget*, QPoint> places[] = {
                {&map, map.rect().center()},
                {part<ConversationList>(*f.window).findChild<QListView*>()->viewport(), {20, 40}},
                {part<ChatPage>(*f.window).view().messageWidget(f.messages()[0].id)->findChild<MessageBody*>(), {5, 5}},
                {part<ChatPage>(*f.window).view().messageWidget(f.last().id)->findChild<MessageBody*>(), {5, 5}}};
            for (const auto& [widget, at] : places) {
                QMenu& menu = contextMenuOf(*widget, at);
                QVERIFY(!menu.isEmpty());
                doubled += doubledMnemonics(menu, QString::fromLatin1(widget->metaObject()->className()));
                menu.close();
            }
            QVERIFY2(doubled.isEmpty(), qPrintable(doubled.join(u'\n')));
        }
        QApplication::removeTranslator(&translator);
    }

    // In the window, its menus and the plots' own keys.
    void shortcuts_meanOneThing() {
        WindowFixture f;
        f.openAndWait();
        f.askAndWait(QStringLiteral("hi"));
        QMap<QString, QString> seen;
        for (const QAction* action : f.window->findChildren<QAction*>()) {
            if (action->shortcutContext() == Qt::WidgetShortcut) {
                continue;  // one list's, while it has the focus
            }
            for (const QKeySequence& keys : action->shortcuts()) {
                const QString name = keys.toString();
                QVERIFY2(!seen.contains(name), qPrintable(name + u' ' + seen.value(name) + u' ' + action->text()));
                seen[name] = action->text();
            }
        }
        QVERIFY(seen.size() > 15);
        part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
        HeatMap& map = part<ExpertsPanel>(*f.window).map();
        QTRY_VERIFY(map.isVisible() && map.rows() > 0);
        QMenu& menu = contextMenuOf(map, map.rect().center());
        for (const QAction* action : menu.actions()) {
            const QString keys = action->text().section(u'\t', 1);
            QVERIFY2(keys.isEmpty() || !seen.contains(keys), qPrintable(keys + u' ' + seen.value(keys)));
        }
        menu.close();
        map.setFocus();
        QGuiApplication::clipboard()->clear();
        QTest::keyClick(&map, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(QGuiApplication::clipboard()->text().contains(QStringLiteral("hi")));  // the conversation
        QTest::keyClick(&map, Qt::Key_C, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(QGuiApplication::clipboard()->text().contains(u','));  // the numbers
    }

    void tabStops_canBeSeen() {
        WindowFixture f;
        f.window->resize(1280, 800);
        f.openAndWait();
        f.askAndWait(QStringLiteral("hi"));
        for (QDockWidget* dock : part<PanelDocks>(*f.window).all()) {
            for (QDockWidget* other : part<PanelDocks>(*f.window).all()) {
                other->close();
            }
            part<PanelDocks>(*f.window).show(dock->objectName().chopped(4));
            QTRY_VERIFY(dock->isVisible());
            QCoreApplication::processEvents();
            std::set<QWidget*> seen;
            part<ChatPage>(*f.window).input().edit().setFocus();
            QWidget* const first = QApplication::focusWidget();
            for (int stop = 0; stop < 200; ++stop) {
                // The field that this window writes messages in takes Tab for itself
                // nowhere.
                QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
                QWidget* now = QApplication::focusWidget();
                QVERIFY(now != nullptr);
                if (now == first) {
                    break;
                }
                const QString what =
                    QStringLiteral("%1: %2 “%3” in %4, %5x%6")
                        .arg(dock->objectName(), QString::fromLatin1(now->metaObject()->className()),
                             now->accessibleName(), QString::fromLatin1(now->parentWidget()->metaObject()->className()))
                        .arg(now->width())
                        .arg(now->height());
                QRect seenOf(now->mapTo(f.window.get(), QPoint()), now->size());
                for (QWidget* around = now->parentWidget(); around != nullptr; around = around->parentWidget()) {
                    seenOf &= QRect(around->mapTo(f.window.get(), QPoint()), around->size());
                }
                QVERIFY2(now->isVisible() && seenOf.width() > 3 && seenOf.height() > 3, qPrintable(what));
                // The focus changes its picture: with it and without it.
                const QRect around = now->rect().marginsAdded({6, 6, 6, 6});
                const auto grab = [&] {
                    QCoreApplication::processEvents();
                    return f.window->grab(QRect(now->mapTo(f.window.get(), around.topLeft()), around.size())).toImage();
                };
                const QImage with = grab();
                now->clearFocus();
                const QImage without = grab();
                now->setFocus(Qt::TabFocusReason);
                // A table without a chosen row has nothing to mark.
                const bool isTable = qobject_cast<QAbstractItemView*>(now) != nullptr;
                QVERIFY2(isTable || with != without,
                         qPrintable(what + QStringLiteral(" looks the same with the focus")));
                QVERIFY2(seen.insert(now).second, qPrintable(what + QStringLiteral(" again")));
            }
        }
    }

    void keys_ofPanelsAndMessages() {
        Script script;
        script.answer = "The first answer.";
        WindowFixture f(script, {}, {}, WindowFixture::Start::First);
        f.window->resize(1400, 900);
        f.openAndWait();
        const QList<QDockWidget*> tabs = part<PanelDocks>(*f.window).tabbed();
        QCOMPARE(tabs.size(), 9);
        for (int i = 0; i < tabs.size(); ++i) {
            QTest::keyClick(f.window.get(), static_cast<Qt::Key>(Qt::Key_1 + i), Qt::AltModifier);
            QTRY_VERIFY2(tabs[i]->isVisible() && PanelAction::of(*tabs[i]).isInFront(),
                         qPrintable(tabs[i]->objectName()));
        }
        f.askAndWait(QStringLiteral("one"));
        const ConversationId first = f.window->core().chat.current();
        QTest::keyClick(f.window.get(), Qt::Key_A, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("The first answer."));
        const MessageId before = f.last().id;
        QTest::keyClick(f.window.get(), Qt::Key_R, Qt::ControlModifier);
        QTRY_VERIFY(f.last().id != before && f.last().state == Message::State::Done);
        QCOMPARE(f.last().branches, 2);
        QTRY_COMPARE(f.state(), State::Ready);
        QTest::keyClick(f.window.get(), Qt::Key_E, Qt::ControlModifier | Qt::ShiftModifier);
        MessageWidget* prompt = part<ChatPage>(*f.window).view().messageWidget(f.messages()[0].id);
        QTRY_VERIFY(prompt->editor() != nullptr && prompt->editor()->edit().hasFocus());
        QTest::keyClick(&prompt->editor()->edit(), Qt::Key_Escape);

        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        f.askAndWait(QStringLiteral("two"));
        const ConversationId second = f.window->core().chat.current();
        QTest::keyClick(f.window.get(), Qt::Key_PageDown, Qt::ControlModifier);  // the latest is on top
        QTRY_COMPARE(f.window->core().chat.current(), first);
        QTest::keyClick(f.window.get(), Qt::Key_PageUp, Qt::ControlModifier);
        QTRY_COMPARE(f.window->core().chat.current(), second);
    }

    void modelsName_isAButton_andCtrlO_opensItsList() {
        QTemporaryDir models;
        const QString other = models.filePath(QStringLiteral("other & more.gguf"));
        QFile file(other);
        QVERIFY(file.open(QFile::WriteOnly));
        file.close();
        settings::kRecentModels.set({other, QStringLiteral("/gone/away.gguf")});
        WindowFixture f;
        f.openAndWait();
        auto& button = test::find<QToolButton>(*f.window, "Model");
        QCOMPARE(button.text(), QStringLiteral("fake-moe"));
        QTest::keyClick(f.window.get(), Qt::Key_O, Qt::ControlModifier);
        auto* menu = qobject_cast<QMenu*>(&popup());
        QVERIFY(menu != nullptr && menu == button.menu());
        QStringList names;
        for (const QAction* action : menu->actions()) {
            names << plainMenuText(action->text());
        }
        QVERIFY2(names.contains(QStringLiteral("other & more")) || names.contains(QStringLiteral("other & more.gguf")),
                 qPrintable(names.join(u'|')));
        QVERIFY(names.contains(QStringLiteral("Open with options…")));
        QVERIFY(std::any_of(names.begin(), names.end(),
                            [](const QString& name) { return name.endsWith(QStringLiteral("(missing)")); }));
        test::picture(*menu, QStringLiteral("model-menu"), {menu->width()}, menu->height());
        QVERIFY(menu->activeAction() != nullptr);  // the first that is there
        QTest::keyClick(menu, Qt::Key_Return);
        QTRY_COMPARE(QString::fromStdString(f.stage->loads().back().model), other);
        QTRY_COMPARE(f.state(), State::Ready);
        bool opened = false;
        QTimer look;  // the click returns once the menu is closed
        connect(&look, &QTimer::timeout, this, [&] {
            opened = opened || menu->isVisible();
            menu->close();
        });
        look.start(50);
        QTest::mouseClick(&button, Qt::LeftButton);
        QVERIFY(opened);
    }

    // ---- the rail

    // What opens below the conversation is no tab: framed, and apart from them.
    void rail_tabsAndWhatOpensBelow_lookDifferent() {
        WindowFixture f;
        f.openAndWait();
        auto& rail = part<PanelRail>(*f.window);
        const QList<QToolButton*> buttons = rail.findChildren<QToolButton*>();
        QToolButton& below = test::find<QToolButton>(rail, "Dispatch");
        QVERIFY(!below.accessibleDescription().isEmpty());
        int lowest = 0;
        for (QToolButton* each : buttons) {
            if (each != &below && each->isVisible() && !each->accessibleName().isEmpty()) {
                QVERIFY(each->accessibleDescription() != below.accessibleDescription());
                lowest = std::max(lowest, each->geometry().bottom());
            }
        }
        QVERIFY(below.geometry().top() > lowest + 20);
        // The frame: the edge differs from the ground, also where nothing is chosen.
        const auto framed = [](QToolButton& button) {
            const QImage shown = button.grab().toImage();
            const int middle = shown.height() / 2;
            int edges = 0;
            for (int x = 1; x < shown.width() / 6; ++x) {
                edges += shown.pixel(x, middle) != shown.pixel(x - 1, middle) ? 1 : 0;
            }
            return edges > 0;
        };
        QVERIFY(framed(below));
        QVERIFY(!framed(test::find<QToolButton>(rail, "Budget")));
        // Within the frame nothing is marked until the panel is open.
        const auto marked = [&below] {
            const QImage shown = below.grab().toImage();
            const int x = shown.width() / 2;
            const QRgb ground = shown.pixel(x, 4);
            for (int y = shown.height() - 8; y < shown.height() - 3; ++y) {
                if (shown.pixel(x, y) != ground) {
                    return true;
                }
            }
            return false;
        };
        QVERIFY(!marked());
        QTest::mouseClick(&below, Qt::LeftButton);
        QTRY_VERIFY(part<PanelDocks>(*f.window).dock(QStringLiteral("dispatch"))->isVisible());
        QTest::mouseMove(f.window.get(), QPoint(5, 300));
        QTRY_VERIFY(marked());
        QTest::mouseClick(&below, Qt::LeftButton);
        QTRY_VERIFY(!part<PanelDocks>(*f.window).dock(QStringLiteral("dispatch"))->isVisible());
        for (const char* name : {"Instructions and sampling", "Dispatch"}) {
            QToolButton& button = test::find<QToolButton>(rail, name);
            QVERIFY2(button.width() <= 110, qPrintable(QString::number(button.width())));
        }
    }

    // The name of the chosen tab is bold, and not cut by its stripe or its edge.
    void rail_chosenTab_hasItsNameWhole() {
        WindowFixture f;
        f.openAndWait();
        QToolButton& tab = test::find<QToolButton>(part<PanelRail>(*f.window), "Instructions and sampling");
        QTest::mouseClick(&tab, Qt::LeftButton);
        QTRY_VERIFY(tab.isChecked());
        const QImage shown = tab.grab().toImage().convertToFormat(QImage::Format_RGB32);
        const QRgb ground = shown.pixel(5, 2);
        for (int y = 4; y < shown.height() - 4; ++y) {
            for (const int x : {4, 5, 6, shown.width() - 3, shown.width() - 2, shown.width() - 1}) {
                QVERIFY2(shown.pixel(x, y) == ground, qPrintable(QStringLiteral("at %1, %2").arg(x).arg(y)));
            }
        }
    }

    // ---- colours

    void disabled_canBeRead_data() {
        QTest::addColumn<Theme>("theme");
        QTest::newRow("light") << Theme::Light;
        QTest::newRow("dark") << Theme::Dark;
    }
    void disabled_canBeRead() {
        QFETCH(Theme, theme);
        applyTheme(*qApp, theme);
        const QPalette palette = QApplication::palette();
        for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
            for (const auto ground : {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button}) {
                const double is =
                    contrast(palette.color(QPalette::Disabled, role), palette.color(QPalette::Disabled, ground));
                QVERIFY2(is >= 3.5, qPrintable(QStringLiteral("%1 on %2: %3").arg(role).arg(ground).arg(is)));
            }
        }
        QVERIFY(contrast(palette.color(QPalette::Disabled, QPalette::HighlightedText),
                         palette.color(QPalette::Disabled, QPalette::Highlight)) >= 3.5);
        QComboBox box;
        box.addItem(QStringLiteral("MMM"));
        QLineEdit edit(QStringLiteral("MMM"));
        QLabel label(QStringLiteral("MMM"));
        QPushButton button(QStringLiteral("MMM"));
        QToolButton tool;
        tool.setText(QStringLiteral("MMM"));
        QCheckBox check(QStringLiteral("MMM"));
        QRadioButton radio(QStringLiteral("MMM"));
        for (QWidget* each : std::initializer_list<QWidget*>{&box, &edit, &label, &button, &tool, &check, &radio}) {
            QFont large = each->font();
            large.setPointSize(28);  // so that there are pixels in the text's own colour
            each->setFont(large);
            each->setEnabled(false);
            each->adjustSize();
            const double is = drawnContrast(*each);
            QVERIFY2(
                is >= 3.5,
                qPrintable(QStringLiteral("%1: %2").arg(QString::fromLatin1(each->metaObject()->className())).arg(is)));
        }
        applyTheme(*qApp, Theme::Light);
    }

    // The colours of an empty message's Send button are the new theme's, too.
    void send_followsTheTheme() {
        applyTheme(*qApp, Theme::Light);
        WindowFixture f;
        f.openAndWait();
        const QToolButton& button = part<ChatPage>(*f.window).input().button();
        const auto fill = [] { return Colours::of(QApplication::palette()).raised.name(); };
        QVERIFY(!button.isEnabled() && button.styleSheet().contains(fill()));
        const QString light = fill();
        applyTheme(*qApp, Theme::Dark);
        QVERIFY(fill() != light);
        QTRY_VERIFY2(button.styleSheet().contains(fill()), qPrintable(button.styleSheet()));
        applyTheme(*qApp, Theme::Light);
    }

    // An arrow that does nothing is fainter than one that does.
    void disabledIcon_looksDisabled_data() { disabled_canBeRead_data(); }
    void disabledIcon_looksDisabled() {
        QFETCH(Theme, theme);
        applyTheme(*qApp, theme);
        const QColor ground = QApplication::palette().color(QPalette::Base);
        const auto drawn = [&](const QIcon& icon, QIcon::Mode mode) {
            QImage image(24, 24, QImage::Format_RGB32);
            image.fill(ground);
            QPainter painter(&image);
            icon.paint(&painter, image.rect(), Qt::AlignCenter, mode);
            painter.end();
            double highest = 1;
            for (int i = 0; i < 24 * 24; ++i) {
                highest = std::max(highest, contrast(QColor(image.pixel(i % 24, i / 24)), ground));
            }
            return highest;
        };
        const QIcon muted = colouredIcon(QStringLiteral("left"), Colours::of(QApplication::palette()).muted);
        const double on = drawn(muted, QIcon::Normal), off = drawn(muted, QIcon::Disabled);
        QVERIFY2(off < 0.55 * on && off > 1.3, qPrintable(QStringLiteral("%1 and %2").arg(on).arg(off)));
        applyTheme(*qApp, Theme::Light);
    }

  private:
    static QString text(WindowFixture& f) { return part<ChatPage>(*f.window).input().edit().toPlainText(); }
    static void keys(const QString& typed) {
        for (const QChar& key : typed) {
            QTest::keyClick(QApplication::focusWidget(), key.toLatin1());
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestKeys)
#include "tst_keys.moc"
