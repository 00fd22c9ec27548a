// Random use: a thousand clicks, keys, prompts, stops and switches in random order on the
// scripted engine. Nothing may end in a crash, in an engine that no longer answers, or in
// a conversation whose tree is broken. The seed is printed; OFFSTAGE_RANDOM_SEED repeats
// a run, OFFSTAGE_RANDOM_ACTIONS makes it longer.

#include <random>

#include <QAbstractButton>
#include <QAction>
#include <QComboBox>
#include <QDialog>
#include <QDockWidget>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPlainTextEdit>
#include <QSlider>
#include <QTemporaryDir>
#include <QTimer>
#include <QWheelEvent>

#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/history/history.h"
#include "ui/widgets/command_palette.h"
#include "ui/widgets/panel_action.h"

using namespace offstage::test;
using namespace offstage::ui;

namespace {

class Restless {
  public:
    Restless(WindowFixture& fixture, quint32 seed) : m_f(fixture), m_random(seed) {}

    void act() {
        switch (below(14)) {
            case 0:
            case 1:
                prompt();
                break;
            case 2:
                m_f.window->core().chat.stop();
                break;
            case 3:
                part<QAction>(*m_f.window, "newConversation").trigger();
                break;
            case 4:
                openSome();
                break;
            case 5:
                editSome();
                break;
            case 6:
            case 7:
                click();
                break;
            case 8:
                command();
                break;
            case 9:
                keys();
                break;
            case 10:
                m_f.window->resize(480 + below(1400), 360 + below(900));
                break;
            case 11:
                toggleDock();
                break;
            case 12:
                scroll();
                break;
            default:
                loadSome();
        }
        leaveDialogs();
        QCoreApplication::processEvents();
    }

  private:
    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

    template <typename T>
    T* one(const QList<T*>& all) {
        return all.isEmpty() ? nullptr : all[below(static_cast<int>(all.size()))];
    }

    void prompt() {
        static const QStringList texts = {QStringLiteral("hello"),
                                          QStringLiteral("| a | b |\n|---|---|\n| 1 | 2 |"),
                                          QStringLiteral("```cpp\nint main() {}\n```"),
                                          QStringLiteral("$x^2$"),
                                          QStringLiteral("äöü 你好 🦊"),
                                          QString(3000, u'x')};
        Script script = m_f.stage->script();
        script.tokensPerSecond = below(2) == 0 ? 0 : 2000;
        script.answer = texts[below(static_cast<int>(texts.size()))].toStdString() + longAnswer(below(120));
        script.generateError.reset();
        if (below(8) == 0) {
            script.generateError = offstage::engine::Error(offstage::engine::ErrorKind::kOutOfMemory,
                                                           offstage::engine::from_outside("There is no room."));
            script.failAfterTokens = below(10);
        }
        m_f.stage->setScript(script);
        m_f.window->core().chat.send(texts[below(static_cast<int>(texts.size()))]);
    }

    void openSome() {
        const QList<ConversationInfo> all = m_f.window->core().history.conversations();
        if (!all.isEmpty()) {
            m_f.window->core().chat.openConversation(all[below(static_cast<int>(all.size()))].id);
        }
    }

    void editSome() {
        const QList<Message> messages = m_f.messages();
        if (messages.isEmpty()) {
            return;
        }
        const Message& message = messages[below(static_cast<int>(messages.size()))];
        ChatController& chat = m_f.window->core().chat;
        switch (below(5)) {
            case 4:
                chat.editAnswer(message.id, QStringLiteral("edited %1").arg(below(100)));
                break;
            case 0:
                chat.editPrompt(message.id, QStringLiteral("edited %1").arg(below(100)));
                break;
            case 1:
                chat.regenerate(message.id);
                break;
            case 2:
                chat.continueAnswer(message.id);
                break;
            default:
                chat.switchBranch(message.id, below(2) == 0 ? 1 : -1);
        }
    }

    void click() {
        QList<QWidget*> all;
        for (QWidget* widget : m_f.window->findChildren<QWidget*>()) {
            if (widget->isVisible() && widget->isEnabled() && !widget->size().isEmpty()) {
                all.append(widget);
            }
        }
        QWidget* widget = one(all);
        if (!widget) {
            return;
        }
        const QPoint at(below(widget->width()), below(widget->height()));
        const auto button = below(5) == 0 ? Qt::RightButton : Qt::LeftButton;
        if (auto* tool = qobject_cast<QAbstractButton*>(widget); tool && tool->inherits("QToolButton")) {
            // A button with a menu would wait for its end.
            if (tool->property("popupMode").toInt() != 0) {
                return;
            }
        }
        if (qobject_cast<QComboBox*>(widget) || qobject_cast<QMenuBar*>(widget)) {
            return;
        }
        closeMenusSoon();
        QTest::mouseClick(widget, button, below(3) == 0 ? Qt::ControlModifier : Qt::NoModifier, at);
    }

    void command() {
        CommandPalette& palette = part<CommandPalette>(*m_f.window);
        palette.open();
        const QStringList all = palette.listed();
        if (all.isEmpty()) {
            return;
        }
        const QString wanted = all[below(static_cast<int>(all.size()))];
        if (wanted.contains(QStringLiteral("Quit"))) {
            palette.hide();
            return;
        }
        palette.input().setText(wanted.section(QStringLiteral(" › "), -1));
        closeMenusSoon();
        QTest::keyClick(&palette.input(), palette.listed().value(0) == wanted ? Qt::Key_Return : Qt::Key_Escape);
    }

    void keys() {
        static const Qt::Key choices[] = {Qt::Key_Tab,      Qt::Key_Backtab, Qt::Key_Escape, Qt::Key_PageUp,
                                          Qt::Key_PageDown, Qt::Key_Home,    Qt::Key_End,    Qt::Key_Left,
                                          Qt::Key_Right,    Qt::Key_Up,      Qt::Key_Down,   Qt::Key_Plus,
                                          Qt::Key_Minus,    Qt::Key_Delete,  Qt::Key_F2};
        QWidget* target = QApplication::focusWidget();
        closeMenusSoon();
        QTest::keyClick(target ? target : static_cast<QWidget*>(m_f.window.get()),
                        choices[below(static_cast<int>(std::size(choices)))]);
    }

    void toggleDock() {
        if (QDockWidget* dock = one(m_f.window->findChildren<QDockWidget*>())) {
            PanelAction::of(*dock).trigger();
        }
    }

    void scroll() {
        QWidget* viewport = part<ChatPage>(*m_f.window).view().viewport();
        const QPointF at(viewport->width() / 2.0, viewport->height() / 2.0);
        QWheelEvent event(at, viewport->mapToGlobal(at), {}, {0, below(2) == 0 ? 480 : -480}, Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(viewport, &event);
    }

    void loadSome() {
        if (below(3) != 0) {
            return;
        }
        Script script = m_f.stage->script();
        script.loadMs = below(30);
        script.loadError.reset();
        if (below(4) == 0) {
            script.loadError = offstage::engine::Error(offstage::engine::ErrorKind::kNotFound,
                                                       offstage::engine::from_outside("There is no such model."));
        }
        m_f.stage->setScript(script);
        m_f.window->opener().open(QStringLiteral("/models/fake-%1").arg(below(3)));
        if (below(3) == 0) {
            m_f.window->core().engine.cancelLoad();
        }
    }

    // Menus and dialogs that wait for a choice get none.
    void closeMenusSoon() {
        QTimer::singleShot(0, m_f.window.get(), [] {
            while (QWidget* popup = QApplication::activePopupWidget()) {
                popup->close();
            }
        });
    }

    void leaveDialogs() {
        for (QWidget* top : QApplication::topLevelWidgets()) {
            if (auto* dialog = qobject_cast<QDialog*>(top); dialog && dialog->isVisible()) {
                dialog->reject();
            }
        }
    }

    WindowFixture& m_f;
    std::mt19937 m_random;
};

}  // namespace

class TestRandomActions : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void aThousand_leaveAWindowThatAnswers() {
        const quint32 seed = qEnvironmentVariableIsSet("OFFSTAGE_RANDOM_SEED")
                                 ? qEnvironmentVariable("OFFSTAGE_RANDOM_SEED").toUInt()
                                 : std::random_device()();
        const int actions = qEnvironmentVariableIsSet("OFFSTAGE_RANDOM_ACTIONS")
                                ? qEnvironmentVariable("OFFSTAGE_RANDOM_ACTIONS").toInt()
                                : 1000;
        qInfo("seed %u, %d actions", seed, actions);
        const QTemporaryDir folder;
        WindowFixture f({}, {}, folder.path());
        f.openAndWait();
        Restless person(f, seed);
        for (int i = 0; i < actions; ++i) {
            person.act();
        }
        // The window still works.
        f.window->core().chat.stop();
        Script script;
        script.answer = "Still here.";
        f.stage->setScript(script);
        f.window->opener().open(QStringLiteral("/models/fake-moe"));
        QTRY_COMPARE_WITH_TIMEOUT(f.state(), EngineController::State::Ready, 20000);
        QTRY_VERIFY_WITH_TIMEOUT(f.window->core().chat.queue().isEmpty(), 20000);
        part<QAction>(*f.window, "newConversation").trigger();
        QVERIFY(f.window->core().chat.send(QStringLiteral("Are you there?")));
        QTRY_COMPARE_WITH_TIMEOUT(f.last().text, QStringLiteral("Still here."), 20000);
        // Every conversation opens, and each row's place in the tree exists.
        for (const ConversationInfo& info : f.window->core().history.conversations()) {
            QVERIFY(f.window->core().chat.openConversation(info.id));
            MessageId parent = 0;
            for (const Message& message : f.messages()) {
                if (message.kind == Message::Kind::Problem) {
                    continue;
                }
                QCOMPARE(message.parent, parent);
                QVERIFY(message.branch >= 0 && message.branch < message.branches);
                parent = message.id;
            }
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestRandomActions)
#include "tst_random_actions.moc"
