// What a new user meets in the first ten minutes, by real keys and clicks: what belongs
// to which conversation, where typed text goes, what menus and keys mean.

#include <cmath>
#include <set>

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QScrollBar>
#include <QStatusBar>
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
#include "ui/chat/context_counter.h"
#include "ui/chat/conversation_list.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/persona_bar.h"
#include "ui/chat/problem_card.h"
#include "ui/chat/suggested_prompts.h"
#include "ui/chat/title_writer.h"
#include "ui/history/conversation_list_model.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/log_panel.h"
#include "ui/plot/line_plot.h"
#include "ui/settings/preset_bar.h"
#include "ui/settings/sampling_panel.h"
#include "ui/settings/settings_dialog.h"
#include "ui/widgets/menu_commands.h"
#include "ui/widgets/panel_action.h"
#include "ui/widgets/panel_rail.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"
#include "ui/window/panel_docks.h"
#include "ui/window/status_line.h"

using namespace offstage;
using namespace offstage::ui;
using test::part;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

namespace {

void askAndWait(WindowFixture& f, const QString& prompt) {
    f.ask(prompt);
    QTRY_COMPARE(f.last().state, Message::State::Done);
    QTRY_COMPARE(f.state(), State::Ready);
}

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

class TestFirstMinutes : public QObject {
    Q_OBJECT

    static QPlainTextEdit& promptField(WindowFixture& f) {
        return test::find<QPlainTextEdit>(part<SamplingPanel>(*f.window), "System prompt");
    }
    static QToolButton& promptChip(WindowFixture& f) {
        return test::find<QToolButton>(part<PersonaBar>(*f.window), "System prompt of this conversation");
    }
    static QString text(WindowFixture& f) { return part<ChatPage>(*f.window).input().edit().toPlainText(); }
    static void keys(const QString& typed) {
        for (const QChar& key : typed) {
            QTest::keyClick(QApplication::focusWidget(), key.toLatin1());
        }
    }
    static QFileDialog& fileDialog(QWidget& window) {
        auto* dialog = window.findChild<QFileDialog*>();
        if (dialog == nullptr) {
            qFatal("no file dialog is open");
        }
        return *dialog;
    }

  private Q_SLOTS:
    void init() {
        QSettings().clear();
        QCoreApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
    }

    // ---- which conversation something belongs to

    void systemPrompt_belongsToItsConversation_andAChipShowsIt() {
        {
            WindowFixture f;
            f.openAndWait();
            QVERIFY(!promptChip(f).isVisible());
            part<PanelDocks>(*f.window).show(QStringLiteral("sampling"));
            promptField(f).setFocus();
            keys(QStringLiteral("Talk like a pirate."));
            QTRY_VERIFY(promptChip(f).isVisible());
            QCOMPARE(promptChip(f).text(), QStringLiteral("System prompt: Talk like a pirate."));
            test::picture(*f.window, QStringLiteral("system-prompt-chip"), {620, 1280}, 800);
            askAndWait(f, QStringLiteral("ahoy"));
            QCOMPARE(f.stage->requests().back().messages.size(), std::size_t(2));
            const ConversationId pirates = f.window->core().chat.current();

            QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
            QTRY_VERIFY(!promptChip(f).isVisible());
            QCOMPARE(promptField(f).toPlainText(), QString());
            askAndWait(f, QStringLiteral("hello"));
            QCOMPARE(f.stage->requests().back().messages.size(), std::size_t(1));

            f.window->core().chat.openConversation(pirates);
            QTRY_VERIFY(promptChip(f).isVisible());
            part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
            QTest::mouseClick(&promptChip(f), Qt::LeftButton);
            QTRY_VERIFY(promptField(f).isVisible() && promptField(f).hasFocus());
            f.window->close();
        }
        WindowFixture f;  // the next start
        f.openAndWait();
        QVERIFY(!promptChip(f).isVisible());
        QCOMPARE(f.window->core().chat.systemPrompt(), QString());
    }

    void persona_givesNewConversationsItsOwnPrompt_notAChangedOne() {
        const QString teacher = Personas::builtIn()[1].systemPrompt;
        {
            WindowFixture f;
            f.openAndWait();
            QComboBox& box = part<PersonaBar>(*f.window).presets().box();
            box.setFocus();
            QTest::keyClick(&box, Qt::Key_Down);
            QTest::keyClick(&box, Qt::Key_Down);
            QCOMPARE(f.window->core().chat.systemPrompt(), teacher);
            part<PanelDocks>(*f.window).show(QStringLiteral("sampling"));
            promptField(f).setFocus();
            keys(QStringLiteral(" And rhyme."));
            askAndWait(f, QStringLiteral("one"));
            QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
            QCOMPARE(f.window->core().chat.systemPrompt(), teacher);
            QVERIFY(!f.window->core().chat.persona().isEmpty());
            f.window->close();
        }
        WindowFixture f;
        QCOMPARE(f.window->core().chat.systemPrompt(), teacher);
    }

    void contextMeter_isTheShownConversations() {
        Script script;
        WindowFixture f(script);
        f.openAndWait();
        askAndWait(f, QStringLiteral("a short one"));
        const ConversationId first = f.window->core().chat.current();
        auto& status = part<StatusLine>(*f.window);
        QTRY_VERIFY(status.contextText() != QStringLiteral("0 of 2,048 tokens"));
        auto& counter = part<ChatPage>(*f.window).counter();
        QTRY_VERIFY(counter.isUpToDate());
        const QString ofFirst = status.contextText();

        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        QTRY_COMPARE(status.contextText(), QStringLiteral("0 of 2,048 tokens"));
        script.answer = std::string(40'000, 'x');
        script.tokensPerSecond = 100;
        f.stage->setScript(script);
        f.ask(QString(200, u'y'));
        QTRY_VERIFY(f.last().text.size() > 100);
        const ConversationId second = f.window->core().chat.current();
        const QString ofSecond = status.contextText();
        QVERIFY(ofSecond != ofFirst);
        f.window->core().chat.openConversation(first);
        QCOMPARE(status.contextText(), ofFirst);
        QTRY_VERIFY(counter.isUpToDate());  // the pause after the change is over
        QCOMPARE(status.contextText(), ofFirst);
        f.window->core().chat.newConversation();  // never counted
        QCOMPARE(status.contextText(), QStringLiteral("– of 2,048 tokens"));
        f.window->core().chat.openConversation(second);
        QTRY_VERIFY(status.contextText() != QStringLiteral("– of 2,048 tokens") && status.contextText() != ofFirst);
        f.window->core().chat.stop();
        QTRY_COMPARE(f.state(), State::Ready);
    }

    void searchHit_isMarkedInItsMessage() {
        Script script;
        script.answer = "The **quick brown** fox, and a fox's den.";
        test::HistoryFolder folder;
        WindowFixture f(script, {}, folder.path());
        f.openAndWait();
        askAndWait(f, QStringLiteral("tell me"));
        const MessageId answer = f.last().id;
        askAndWait(f, QStringLiteral("again"));
        const ConversationId found = f.window->core().chat.current();
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        auto& list = part<ConversationList>(*f.window);
        auto& search = test::find<QLineEdit>(list, "Search all conversations");
        search.setFocus();
        keys(QStringLiteral("brown fox"));
        auto& view = test::find<QListView>(list, "Conversations");
        QTRY_VERIFY(view.model()->rowCount() >= 2);
        QTest::keyClick(&search, Qt::Key_Down);
        for (int row = 0; row < view.model()->rowCount() && view.currentIndex().row() != view.model()->rowCount() - 1;
             ++row) {
            QTest::keyClick(&view, Qt::Key_Down);
        }
        QTest::keyClick(&view, Qt::Key_Return);
        QTRY_COMPARE(f.window->core().chat.current(), found);
        ConversationView& chat = part<ChatPage>(*f.window).view();
        const auto marks = [&](MessageId id, TextMark mark) {
            const MessageWidget* widget = chat.messageWidget(id);
            return widget != nullptr ? widget->body().marks().of(mark) : QList<QPair<int, int>>();
        };
        QCOMPARE(marks(answer, TextMark::Found), (QList<QPair<int, int>>{{12, 17}, {20, 23}, {31, 34}}));
        QCOMPARE(marks(answer, TextMark::FoundCurrent), (QList<QPair<int, int>>{{12, 17}}));
        test::picture(*f.window, QStringLiteral("search-hit"), {1280}, 800);
        search.setFocus();
        QTest::keyClick(&search, Qt::Key_Escape);  // the search is over
        QVERIFY(marks(answer, TextMark::Found).isEmpty() && marks(answer, TextMark::FoundCurrent).isEmpty());
        QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
        f.window->core().chat.openConversation(found);
        QVERIFY(marks(answer, TextMark::Found).isEmpty());
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

    void keys_thatAMenuHasNoUseFor_goNowhere() {
        WindowFixture f;
        f.openAndWait();
        askAndWait(f, QStringLiteral("hi"));
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

    void editor_opensWholeInView() {
        Script script;
        script.answer = test::longAnswer(300);
        WindowFixture f(script);
        f.window->resize(900, 700);
        f.openAndWait();
        for (int i = 0; i < 3; ++i) {
            askAndWait(f, QStringLiteral("a prompt of its own").repeated(i == 1 ? 12 : 1));
        }
        ConversationView& view = part<ChatPage>(*f.window).view();
        const MessageId prompt = f.messages()[2].id;
        // Its bubble is cut by the lower end of the view, as after scrolling.
        view.showSource(prompt, 0);
        QTRY_VERIFY(view.messageWidget(prompt) != nullptr);
        MessageWidget* widget = view.messageWidget(prompt);
        const int top = widget->mapTo(view.viewport(), QPoint()).y();
        view.verticalScrollBar()->setValue(view.verticalScrollBar()->value() + top - view.viewport()->height() + 60);
        QTRY_VERIFY(view.messageWidget(prompt) != nullptr);
        widget = view.messageWidget(prompt);
        QTest::mouseMove(&widget->body(), {20, 10});
        QEnterEvent enter({20, 10}, {20, 10}, widget->mapToGlobal(QPointF(20, 10)));
        QApplication::sendEvent(widget, &enter);
        auto& edit = test::find<QToolButton>(*widget, "Edit this message: a new branch");
        QVERIFY(edit.isVisible());
        QTest::mouseClick(&edit, Qt::LeftButton);
        QVERIFY(widget->editor() != nullptr);
        const auto inView = [&] {
            const QRect place(widget->editor()->mapTo(view.viewport(), QPoint()), widget->editor()->size());
            return view.viewport()->rect().contains(place);
        };
        QTRY_VERIFY(inView());
        for (int line = 0; line < 8; ++line) {
            QTest::keyClick(&widget->editor()->edit(), Qt::Key_Return, Qt::ShiftModifier);
        }
        QTRY_VERIFY(inView());
        test::picture(*f.window, QStringLiteral("edit-in-view"), {900}, 700);
    }

    // ---- cards

    void card_ofAFailedModel_canBeClosed_andGoesWithTheNextModel() {
        Script script;
        script.loadError = engine::Error(engine::ErrorKind::kInvalidInput, engine::from_outside("No tensor."));
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(f.messages().size(), 1);
        QCOMPARE(f.last().kind, Message::Kind::Problem);
        test::picture(*f.window, QStringLiteral("problem-card"), {620, 1280}, 700);
        auto* card = f.window->findChild<ProblemCard*>();
        QVERIFY(card != nullptr);
        QTest::mouseClick(&test::find<QToolButton>(*card, "Close this notice"), Qt::LeftButton);
        QTRY_VERIFY(f.messages().isEmpty());

        f.window->opener().open(QStringLiteral("/models/broken"));
        QTRY_COMPARE(f.messages().size(), 1);
        const ConversationId first = f.window->core().chat.current();
        f.stage->setScript({});
        f.openAndWait();
        QVERIFY(f.messages().isEmpty());
        QCOMPARE(f.window->core().chat.current(), first);
        // A card about an answer stays: it is no model's.
        script = {};
        script.generateError = engine::Error(engine::ErrorKind::kInternal, engine::from_outside("No."));
        f.stage->setScript(script);
        f.ask(QStringLiteral("hi"));
        QTRY_COMPARE(f.last().kind, Message::Kind::Problem);
        f.openAndWait(QStringLiteral("/models/another"));
        QCOMPARE(f.last().kind, Message::Kind::Problem);
    }

    void cardTitles_ofSuggestedPrompts_areInTheWindowsLanguage() {
        QCOMPARE(readSuggestedPrompts(test::demoModel()).value(0).domain, QStringLiteral("Stories"));
        QFile catalogue(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model/suggested_prompts.json"));
        QVERIFY(catalogue.open(QIODevice::ReadOnly));
        QTranslator german;
        speak(*qApp, QStringLiteral("en"));  // the catalogues are resources of the program
        QVERIFY(german.load(QStringLiteral(":/i18n/offstage_de.qm")));
        QApplication::installTranslator(&german);
        const auto prompts = readSuggestedPrompts(test::demoModel());
        QApplication::removeTranslator(&german);
        const QSet<QString> same = {QStringLiteral("Offstage"), QStringLiteral("Code")};
        const QString source = QString::fromUtf8(catalogue.readAll());
        for (const SuggestedPrompt& prompt : prompts) {
            const bool english = source.contains(u'"' + prompt.domain.toLower() + u'"');
            QVERIFY2(!english || same.contains(prompt.domain), qPrintable(prompt.domain));
        }
    }

    // ---- files

    void exported_titleWithDots_isMarkdownWithItsEnding() {
        QTemporaryDir target;
        settings::kLastExportFolder.set(target.path());
        WindowFixture f;
        f.openAndWait();
        askAndWait(f, QStringLiteral("What is new in v1.5?"));
        auto& list = part<ConversationList>(*f.window);
        const ConversationId id = f.window->core().chat.current();
        for (const char* title : {"It ends.", "Release v1.5", "…"}) {
            f.window->core().history.setTitle(id, QString::fromUtf8(title));
            list.chooseExport(id);
            QFileDialog& dialog = fileDialog(list);
            QVERIFY(dialog.nameFilters().first().contains(QStringLiteral("*.md")));
            QCOMPARE(QFileInfo(dialog.directory().path()).canonicalFilePath(),
                     QFileInfo(target.path()).canonicalFilePath());
            QTest::keyClick(&dialog, Qt::Key_Return);
            QTRY_VERIFY(list.notice().contains(QStringLiteral("Saved")));
            delete &dialog;
        }
        const QStringList files = QDir(target.path()).entryList(QDir::Files, QDir::Name);
        QCOMPARE(files, (QStringList{QStringLiteral("It ends.md"), QStringLiteral("Release v1.5.md"),
                                     QStringLiteral("….md")}));
    }

    void saveDialogs_beginWhereAFileWasSavedLast() {
        WindowFixture f;
        f.openAndWait();
        QTemporaryDir target;
        settings::kLastExportFolder.set(target.path());
        part<PanelDocks>(*f.window).show(QStringLiteral("log"));
        auto& log = part<LogPanel>(*f.window);
        QTRY_VERIFY(log.isVisible());
        QTest::mouseClick(&test::find<QPushButton>(log, "Save…"), Qt::LeftButton);
        QFileDialog& dialog = fileDialog(log);
        QCOMPARE(dialog.directory().canonicalPath(), QDir(target.path()).canonicalPath());
        QCOMPARE(QFileInfo(dialog.selectedFiles().value(0)).fileName(), QStringLiteral("offstage-log.txt"));
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
            askAndWait(f, QStringLiteral("hi"));
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
        askAndWait(f, QStringLiteral("hi"));
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
        askAndWait(f, QStringLiteral("hi"));
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
        askAndWait(f, QStringLiteral("one"));
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
        askAndWait(f, QStringLiteral("two"));
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

    void panels_areClosedAtFirst_withOneHint() {
        const auto hint = [](WindowFixture& f) {
            return &test::find<QToolButton>(part<ChatPage>(*f.window).emptyState(), "Do not show this again");
        };
        {
            WindowFixture f({}, {}, {}, WindowFixture::Start::First);
            f.openAndWait();
            for (QDockWidget* dock : part<PanelDocks>(*f.window).tabbed()) {
                QVERIFY2(!dock->isVisible(), qPrintable(dock->objectName()));
            }
            QVERIFY(part<PanelDocks>(*f.window).dock(QStringLiteral("conversations"))->isVisible());
            QTRY_VERIFY(hint(f)->isVisible());
            test::picture(*f.window, QStringLiteral("first-start"), {620, 1280}, 800);
            QTest::mouseClick(hint(f), Qt::LeftButton);
            QVERIFY(!hint(f)->isVisible());
            f.window->close();
        }
        {
            WindowFixture f;
            f.openAndWait();
            QVERIFY(!hint(f)->isVisible());
            QTest::keyClick(f.window.get(), Qt::Key_3, Qt::AltModifier);
            QTRY_VERIFY(part<BudgetPanel>(*f.window).isVisible());
            f.window->close();
        }
        WindowFixture f;  // what was opened is kept
        f.openAndWait();
        QTRY_VERIFY(part<BudgetPanel>(*f.window).isVisible());
    }

    // ---- starts

    void secondStart_besideAnAnswer_waitsInItsOwnConversation() {
        Script script;
        script.answer = test::longAnswer(2000);
        script.tokensPerSecond = 200;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("a long story"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        const ConversationId first = f.window->core().chat.current();
        f.stage->setScript({});
        f.window->handle({{}, QStringLiteral("What is the time?"), false});
        QVERIFY(f.window->core().chat.current() != first);
        QCOMPARE(text(f), QString());
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.last().state, Message::State::Waiting);
        f.window->core().engine.stop();  // the story
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().first().text, QStringLiteral("What is the time?"));
    }

    void secondStart_withoutAModel_keepsItsPromptInTheInputBox() {
        WindowFixture f;
        f.type(QStringLiteral("a draft"));
        f.window->handle({{}, QStringLiteral("What is the time?"), false});
        QCOMPARE(text(f), QStringLiteral("What is the time?"));
        QCOMPARE(f.window->core().history.conversations().size(), 2);  // the draft is in another one
    }

    void secondStart_withAModel_orForANewConversation() {
        WindowFixture f;
        f.openAndWait();
        askAndWait(f, QStringLiteral("one"));
        const ConversationId first = f.window->core().chat.current();
        f.window->handle({{}, {}, true});
        QVERIFY(f.window->core().chat.current() != first);
        f.window->handle({QStringLiteral("/models/other"), QStringLiteral("three"), true});
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(f.messages().first().text, QStringLiteral("three"));
        QCOMPARE(f.stage->loads().back().model, std::string("/models/other"));
    }

    void lastConversation_isShownAtTheStart_atItsEnd() {
        const test::HistoryFolder folder;
        using Start = WindowFixture::Start;
        Script script;
        script.answer = test::longAnswer(1500);
        ConversationId last = 0;
        {
            WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
            QVERIFY(f.messages().isEmpty());  // the first start
            QVERIFY(part<ChatPage>(*f.window).emptyState().isVisible());
            f.openAndWait();
            askAndWait(f, QStringLiteral("one"));
            part<QAction>(*f.window, "newConversation").trigger();
            askAndWait(f, QStringLiteral("two"));
            last = f.window->core().chat.current();
            f.window->close();
        }
        {
            WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
            QCOMPARE(f.window->core().chat.current(), last);
            QCOMPARE(f.messages().size(), 2);
            QVERIFY(f.stage->loads().empty());  // that is not the conversation's to begin
            const QScrollBar& bar = *part<ChatPage>(*f.window).view().verticalScrollBar();
            QTRY_VERIFY(bar.maximum() > 0 && bar.value() == bar.maximum());
            f.openAndWait();
            QCOMPARE(f.stage->loads().size(), size_t(1));
            QTRY_VERIFY(bar.value() == bar.maximum());
            askAndWait(f, QStringLiteral("more"));
            QCOMPARE(f.messages().size(), 4);
            part<QAction>(*f.window, "newConversation").trigger();
            f.window->close();
        }
        {  // a new one was shown last: it is shown
            WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
            QVERIFY(f.messages().isEmpty());
            f.window->core().chat.openConversation(last);
            QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
            part<SettingsDialog>(*f.window).showPage(SettingsDialog::Page::Conversations);
            auto& choice =
                test::find<QCheckBox>(part<SettingsDialog>(*f.window), "Show the last conversation at the start");
            QVERIFY(choice.isChecked());
            choice.setFocus();
            QTest::keyClick(&choice, Qt::Key_Space);
            f.window->close();
        }
        const WindowFixture f(script, {}, folder.path(), Start::WithLastConversation);
        QVERIFY(f.messages().isEmpty());
    }

    // The list with folders, the rail, and both in German.
    void pictures_data() {
        QTest::addColumn<QString>("language");
        QTest::newRow("en") << QStringLiteral("en");
        QTest::newRow("de") << QStringLiteral("de");
    }
    void pictures() {
        QFETCH(const QString, language);
        speak(*qApp, language);
        WindowFixture f;
        f.openAndWait();
        ConversationFolders& folders = part<ConversationList>(*f.window).model().folders();
        for (const char* asked : {"A plan for the garden", "Quinces and pears", "What is an expert?"}) {
            f.window->core().chat.newConversation();
            askAndWait(f, QString::fromUtf8(asked));
            if (*asked != 'W') {
                folders.put(f.window->core().chat.current(), QStringLiteral("Garden & kitchen"));
            }
        }
        folders.rename(folders.create(), QStringLiteral("A closed one with a rather long name"));
        folders.setClosed(QStringLiteral("A closed one with a rather long name"), true);
        part<PanelDocks>(*f.window).show(QStringLiteral("dispatch"));
        test::picture(*f.window, QStringLiteral("folders-") + language, {620, 1280}, 800);
        for (QTranslator* each : qApp->findChildren<QTranslator*>()) {  // English is in the sources
            QApplication::removeTranslator(each);
        }
    }

    // ---- titles by the model

    void title_isWrittenAfterTheFirstAnswer_fromTheConversation() {
        settings::kModelTitles.set(true);
        Script script;
        script.answer = "\"Pears and quinces.\"";
        WindowFixture f(script);
        f.openAndWait();
        askAndWait(f, QStringLiteral("Which fruits are related?"));
        const ConversationId id = f.window->core().chat.current();
        QTRY_COMPARE(f.window->core().history.info(id).title, QStringLiteral("Pears and quinces"));
        QCOMPARE(f.messages().size(), 2);  // nothing of it is in the conversation
        const auto requests = f.stage->requests();
        QCOMPARE(requests.size(), size_t(2));
        // It goes on from the conversation, so that the KV cache has its beginning.
        QCOMPARE(requests[1].messages.size(), size_t(3));
        QCOMPARE(requests[1].messages[0].content, requests[0].messages[0].content);
        QCOMPARE(requests[1].messages[1].content, script.answer);
        QCOMPARE(f.stage->resets.load(), 0);
        askAndWait(f, QStringLiteral("More?"));
        QCOMPARE(f.stage->requests().size(), size_t(3));  // once
        QVERIFY(!f.window->core().history.info(id).titleByPerson);
    }

    void title_isGivenUp_whenThePersonTypes_andTriedAgain() {
        settings::kModelTitles.set(true);
        Script script;
        script.answer = "Pears and quinces";
        script.tokensPerSecond = 20;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("Which fruits are related?"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        f.stage->heldBack = true;  // the title's answer does not come
        QTRY_COMPARE(f.last().state, Message::State::Done);
        const ConversationId id = f.window->core().chat.current();
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(f.state(), State::Ready);  // nobody waits for it
        f.type(QStringLiteral("A"));
        QTRY_VERIFY(!f.window->core().engine.isServing());  // it is stopped, not waited for
        QCOMPARE(f.window->core().history.info(id).title, QStringLiteral("Which fruits are related?"));
        f.stage->heldBack = false;
        f.ask(QStringLiteral(" second"));
        QTRY_COMPARE(f.messages().size(), 4);
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.window->core().history.info(id).title, QStringLiteral("Pears and quinces"));
    }

    // A prompt that comes from elsewhere than the input box ends it, too; and a title
    // that was typed meanwhile stays.
    void title_comesAfterPrompts_andNotOverATypedOne() {
        settings::kModelTitles.set(true);
        Script script;
        script.answer = "Pears and quinces";
        script.tokensPerSecond = 20;
        WindowFixture f(script);
        f.openAndWait();
        f.ask(QStringLiteral("one"));
        QTRY_COMPARE(f.last().state, Message::State::Streaming);
        f.stage->heldBack = true;
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        f.window->handle({{}, QStringLiteral("two"), false});
        QTRY_COMPARE(f.stage->requests().size(), size_t(3));  // the title did not hold it back
        const ConversationId id = f.window->core().chat.current();
        QTest::keyClick(f.window.get(), Qt::Key_F2);
        auto* editor = part<ConversationList>(*f.window).view().findChild<QLineEdit*>();
        QVERIFY(editor != nullptr);
        editor->selectAll();
        QTest::keyClicks(editor, QStringLiteral("Mine"));
        QTest::keyClick(editor, Qt::Key_Return);
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_COMPARE(f.state(), State::Ready);
        QCoreApplication::processEvents();
        QCOMPARE(f.stage->requests().size(), size_t(3));
        QCOMPARE(f.window->core().history.info(id).title, QStringLiteral("Mine"));
    }

    void title_notWritten_data() {
        QTest::addColumn<bool>("switchedOff");
        QTest::addColumn<QString>("demo");
        QTest::newRow("switched off") << true << QString();
        QTest::newRow("the demo model") << false << QStringLiteral("/models/fake-moe");
    }
    void title_notWritten() {
        QFETCH(const bool, switchedOff);
        QFETCH(const QString, demo);
        settings::kModelTitles.set(true);
        WindowFixture f({}, demo);
        f.openAndWait();
        if (switchedOff) {
            QTest::keyClick(f.window.get(), Qt::Key_Comma, Qt::ControlModifier);
            part<SettingsDialog>(*f.window).showPage(SettingsDialog::Page::Conversations);
            auto& choice = test::find<QCheckBox>(part<SettingsDialog>(*f.window), "Let the model write the titles");
            choice.setFocus();
            QTest::keyClick(&choice, Qt::Key_Space);
            part<SettingsDialog>(*f.window).close();
        }
        for (const char* prompt : {"one", "two"}) {
            askAndWait(f, QString::fromLatin1(prompt));
            QCoreApplication::processEvents();  // a title would be asked for then
            QVERIFY(!part<TitleWriter>(*f.window).isWriting());
        }
        QCOMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(f.window->core().history.info(f.window->core().chat.current()).title, QStringLiteral("one"));
    }

    void titles_areTakenFromWhatModelsWrite_data() {
        QTest::addColumn<QString>("written");
        QTest::addColumn<QString>("title");
        QTest::newRow("plain") << "Related fruits"
                               << "Related fruits";
        QTest::newRow("marks") << "**\"Related fruits.\"**\n\nIs there more?"
                               << "Related fruits";
        QTest::newRow("label") << "Title: Related fruits"
                               << "Related fruits";
        QTest::newRow("German") << QStringLiteral("„Verwandte Früchte“") << QStringLiteral("Verwandte Früchte");
        QTest::newRow("question") << "Which fruits?"
                                  << "Which fruits?";
        QTest::newRow("nothing") << " \n "
                                 << "";
        QTest::newRow("an answer")
            << "Sure! Here is what I would say about all of the fruits that you have named so far"
            << "";
    }
    void titles_areTakenFromWhatModelsWrite() {
        QFETCH(const QString, written);
        QTEST(titleFromModel(written), "title");
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
        QTest::mouseClick(&below, Qt::LeftButton);
        QTRY_VERIFY(part<PanelDocks>(*f.window).dock(QStringLiteral("dispatch"))->isVisible());
        for (const char* name : {"Instructions and sampling", "Dispatch"}) {
            QToolButton& button = test::find<QToolButton>(rail, name);
            QVERIFY2(button.width() <= 110, qPrintable(QString::number(button.width())));
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
};

OFFSTAGE_UI_TEST_MAIN(TestFirstMinutes)
#include "tst_first_minutes.moc"
