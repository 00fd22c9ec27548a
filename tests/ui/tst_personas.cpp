// Personas: system prompt, sampling and model under a name, chosen at the head of a
// conversation and stored with it.

#include <algorithm>

#include <QAbstractItemView>
#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPointer>
#include <QPushButton>
#include <QScopeGuard>
#include <QSpinBox>
#include <QTranslator>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/persona_bar.h"
#include "ui/settings/persona_editor.h"
#include "ui/settings/preset_bar.h"
#include "ui/settings/sampling_panel.h"
#include "ui/window/conversation_setup.h"
#include "ui/window/panel_docks.h"

using namespace offstage::test;
using namespace offstage::ui;
using State = EngineController::State;

namespace {

PersonaBar& bar(const WindowFixture& f) {
    return part<PersonaBar>(*f.window);
}

QComboBox& box(const WindowFixture& f) {
    return bar(f).presets().box();
}

// From the list that the box opens, as at the keyboard.
void choose(const WindowFixture& f, const QString& beginning) {
    const int row = box(f).findText(beginning, Qt::MatchStartsWith);
    QVERIFY2(row >= 0, qPrintable(beginning));
    box(f).setFocus();
    box(f).showPopup();
    box(f).view()->setCurrentIndex(box(f).model()->index(row, 0));
    QTest::keyClick(box(f).view(), Qt::Key_Return);
    QVERIFY(!box(f).view()->isVisible());
}

// The dialog of New or Edit, by keys: a name, and whether the model goes with it.
void edit(const WindowFixture& f, QAction& action, const QString& name, std::optional<bool> withModel = std::nullopt) {
    action.trigger();
    auto& editor = part<PersonaEditor>(*f.window);
    QTRY_VERIFY(editor.isVisible());
    auto& edit = find<QLineEdit>(editor, "Name");
    edit.selectAll();
    QTest::keyClicks(&edit, name);
    auto& model = child<QCheckBox>(editor);
    if (withModel && model.isChecked() != *withModel) {
        QTest::keyClick(&model, Qt::Key_Space);
    }
    QTest::keyClick(&edit, Qt::Key_Return);
    QTRY_VERIFY(f.window->findChild<PersonaEditor*>() == nullptr);
}

void setPrompt(const WindowFixture& f, const QString& prompt) {
    find<QPlainTextEdit>(part<SamplingPanel>(*f.window), "System prompt").selectAll();
    QTest::keyClicks(&find<QPlainTextEdit>(part<SamplingPanel>(*f.window), "System prompt"), prompt);
}

void setTemperature(const WindowFixture& f, float temperature) {
    Sampling sampling = part<SamplingPanel>(*f.window).sampling();
    sampling.sampler.temperature = temperature;
    part<SamplingPanel>(*f.window).choose(part<SamplingPanel>(*f.window).systemPrompt(), sampling);
}

void pressCtrlN(const WindowFixture& f) {
    QApplication::setActiveWindow(f.window.get());  // dialogs and lists have gone
    QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier);
}

QString saveAs(const WindowFixture& f, const QString& name, bool withModel = false) {
    edit(f, action(bar(f), "New persona…"), name, withModel);
    return f.window->core().chat.persona();
}

}  // namespace

class TestPersonas : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void chosen_theModelGetsItsPrompt_andNoneTakesItAway() {
        WindowFixture f;
        f.openAndWait();
        QCOMPARE(box(f).currentText(), QStringLiteral("None"));
        QCOMPARE(box(f).currentIndex(), 0);  // a missing one does not come last
        choose(f, QStringLiteral("Teach"));
        const QString prompt = Personas::builtIn()[1].systemPrompt;
        QCOMPARE(part<SamplingPanel>(*f.window).systemPrompt(), prompt);
        f.ask(QStringLiteral("Hello"));
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        const auto messages = f.stage->requests().back().messages;
        QCOMPARE(messages.size(), size_t(2));
        QCOMPARE(QString::fromStdString(messages[0].content), prompt);
        choose(f, QStringLiteral("None"));
        QCOMPARE(f.window->core().chat.systemPrompt(), QString());
        QCOMPARE(f.window->core().chat.persona(), QString());
    }

    void made_changed_renamed_deleted() {
        WindowFixture f;
        f.openAndWait();
        setPrompt(f, QStringLiteral("Rhyme."));
        setTemperature(f, 0.33F);
        const QString id = saveAs(f, QStringLiteral("Poet"));
        QCOMPARE(box(f).currentText(), QStringLiteral("Poet"));
        QVERIFY(!bar(f).isChanged());
        QVERIFY(!action(bar(f), "Change it to what is set up now").isEnabled());
        const Persona made = *f.window->core().personas.find(id);
        QCOMPARE(made.systemPrompt, QStringLiteral("Rhyme."));
        QCOMPARE(made.sampling->sampler.temperature, 0.33F);
        QCOMPARE(made.model, QString());  // unless it is asked for

        setTemperature(f, 0.5F);
        QCOMPARE(box(f).currentText(), QStringLiteral("Poet, changed"));
        action(bar(f), "Change it to what is set up now").trigger();
        QCOMPARE(box(f).currentText(), QStringLiteral("Poet"));
        QCOMPARE(f.window->core().personas.find(id)->sampling->sampler.temperature, 0.5F);

        edit(f, action(bar(f), "Edit…"), QStringLiteral("Bard"));
        QCOMPARE(box(f).currentText(), QStringLiteral("Bard"));
        QCOMPARE(f.window->core().chat.persona(), id);

        choose(f, QStringLiteral("Concise"));
        QVERIFY(!bar(f).presets().deleteAction().isEnabled());  // the program's own
        choose(f, QStringLiteral("Bard"));
        QCOMPARE(part<SamplingPanel>(*f.window).sampling().sampler.temperature, 0.5F);
        bar(f).presets().deleteAction().trigger();
        QCOMPARE(box(f).currentText(), QStringLiteral("None"));
        QCOMPARE(f.window->core().chat.systemPrompt(), QStringLiteral("Rhyme."));  // the conversation goes on as it was
        QVERIFY(box(f).findText(QStringLiteral("Bard")) < 0);
        QVERIFY(!f.window->core().personas.find(id));

        QVERIFY(action(bar(f), "Bring back Bard").isVisible());
        QVERIFY(action(bar(f), "Bring back Bard").text().contains(QStringLiteral("Bard")));
        action(bar(f), "Bring back Bard").trigger();
        QCOMPARE(box(f).currentText(), QStringLiteral("Bard"));
        QCOMPARE(f.window->core().personas.find(id)->sampling->sampler.temperature, 0.5F);
        QVERIFY(!action(bar(f), "Bring back Bard").isVisible());
    }

    // In a high window the box of presets took the height that was left.
    void name_withAnAmpersand_isWholeInTheMenu() {
        WindowFixture f;
        saveAs(f, QStringLiteral("R&D"));
        Q_EMIT bar(f).choices().aboutToShow();
        QStringList texts;
        for (const QAction* each : bar(f).choices().actions()) {
            texts << each->text();
        }
        QVERIFY2(texts.filter(QStringLiteral("R&&D")).size() == 1, qPrintable(texts.join(u'|')));
    }

    void presets_inAHighWindow_areAsHighAsAnyBox() {
        WindowFixture f;
        f.window->resize(1920, 1080);
        part<PanelDocks>(*f.window).show(QStringLiteral("sampling"));
        const auto& presets = child<QComboBox>(part<PresetBar>(part<SamplingPanel>(*f.window)));
        QTRY_VERIFY(presets.isVisible() && presets.width() > 100);
        QTRY_COMPARE(presets.height(), presets.sizeHint().height());
    }

    // A slip on Esc dropped what may have been long to write.
    void editor_escape_dropsTypedInstructionsByTheSecondOne() {
        WindowFixture f;
        f.openAndWait();
        action(bar(f), "New persona…").trigger();
        const QPointer<PersonaEditor> editor = &part<PersonaEditor>(*f.window);
        QTRY_VERIFY(editor->isVisible());
        auto& instructions = find<QPlainTextEdit>(*editor, "Instructions");
        const auto says = [&editor](const QString& words) {
            const auto labels = editor->findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(),
                               [&](QLabel* each) { return each->text().contains(words); });
        };
        QTest::keyClicks(&instructions, QStringLiteral("Sing."));
        QTest::keyClick(&instructions, Qt::Key_Escape);
        QVERIFY(editor->isVisible() && says(QStringLiteral("Not saved yet")));
        QTest::keyClicks(&instructions, QStringLiteral(" Loudly."));
        QVERIFY(!says(QStringLiteral("Not saved yet")));
        QTest::keyClick(&instructions, Qt::Key_Escape);
        QVERIFY(editor->isVisible());
        QCOMPARE(instructions.toPlainText(), QStringLiteral("Sing. Loudly."));
        QTest::keyClick(&instructions, Qt::Key_Escape);
        QTRY_VERIFY(editor.isNull());
    }

    void editor_hasInstructionsSamplingAndModel_andCancelChangesNothing() {
        WindowFixture f;
        f.openAndWait();
        setPrompt(f, QStringLiteral("Rhyme."));
        action(bar(f), "New persona…").trigger();
        {
            auto& editor = part<PersonaEditor>(*f.window);
            QTRY_VERIFY(editor.isVisible());
            QCOMPARE(find<QPlainTextEdit>(editor, "Instructions").toPlainText(), QStringLiteral("Rhyme."));
            QVERIFY(!child<QCheckBox>(editor).isChecked());
            QPushButton& save = *child<QDialogButtonBox>(editor).button(QDialogButtonBox::Save);
            QVERIFY(!save.isEnabled());  // it has no name
            QTest::keyClicks(&find<QLineEdit>(editor, "Name"), QStringLiteral("Poet"));
            QVERIFY(save.isEnabled());
            QTest::keyClick(&editor, Qt::Key_Escape);
        }
        QTRY_VERIFY(f.window->findChild<PersonaEditor*>() == nullptr);
        QVERIFY(f.window->core().personas.own().isEmpty());

        action(bar(f), "New persona…").trigger();
        auto& editor = part<PersonaEditor>(*f.window);
        QTest::keyClicks(&find<QLineEdit>(editor, "Name"), QStringLiteral("Poet"));
        find<QPlainTextEdit>(editor, "Instructions").selectAll();
        QTest::keyClicks(&find<QPlainTextEdit>(editor, "Instructions"), QStringLiteral("Sing."));
        auto& sampling = find<QComboBox>(editor, "Sampling");
        sampling.setFocus();
        QTest::keyClick(&sampling, Qt::Key_P);
        QCOMPARE(sampling.currentText(), QStringLiteral("Precise"));
        QTest::mouseClick(child<QDialogButtonBox>(editor).button(QDialogButtonBox::Save), Qt::LeftButton);
        const Persona made = f.window->core().personas.own().first();
        QCOMPARE(made.systemPrompt, QStringLiteral("Sing."));
        QVERIFY(*made.sampling == samplingPresets().first().sampling);
        // It is the conversation's at once.
        QCOMPARE(f.window->core().chat.systemPrompt(), QStringLiteral("Sing."));
        QVERIFY(f.window->core().chat.sampling() == *made.sampling);
        QCOMPARE(box(f).currentText(), QStringLiteral("Poet"));
    }

    // A second one of the same name would take the first's place.
    void name_ofAnotherPersona_cannotBeSaved() {
        WindowFixture f;
        f.openAndWait();
        setPrompt(f, QStringLiteral("Rhyme."));
        saveAs(f, QStringLiteral("Poet"));
        action(bar(f), "New persona…").trigger();
        auto& editor = part<PersonaEditor>(*f.window);
        QTRY_VERIFY(editor.isVisible());
        QPushButton& save = *child<QDialogButtonBox>(editor).button(QDialogButtonBox::Save);
        const auto isSaid = [&editor] {
            const QList<QLabel*> labels = editor.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [](const QLabel* each) {
                return each->text() == QStringLiteral("Another persona has this name");
            });
        };
        auto& name = find<QLineEdit>(editor, "Name");
        QTest::keyClicks(&name, QStringLiteral("Poet"));
        QVERIFY(!save.isEnabled() && isSaid());
        QTest::keyClicks(&name, QStringLiteral("s"));
        QVERIFY(save.isEnabled() && !isSaid());
        QTest::keyClick(&editor, Qt::Key_Escape);
        QTRY_VERIFY(f.window->findChild<PersonaEditor*>() == nullptr);
        action(bar(f), "Edit…").trigger();  // its own name is free
        auto& again = part<PersonaEditor>(*f.window);
        QTRY_VERIFY(again.isVisible());
        QVERIFY(child<QDialogButtonBox>(again).button(QDialogButtonBox::Save)->isEnabled());
    }

    // A conversation that was changed since keeps its changes.
    void edited_theConversationFollows_unlessItWasChanged() {
        WindowFixture f;
        f.openAndWait();
        setPrompt(f, QStringLiteral("Rhyme."));
        saveAs(f, QStringLiteral("Poet"));
        const auto rewrite = [&f](const QString& instructions) {
            action(bar(f), "Edit…").trigger();
            auto& editor = part<PersonaEditor>(*f.window);
            find<QPlainTextEdit>(editor, "Instructions").selectAll();
            QTest::keyClicks(&find<QPlainTextEdit>(editor, "Instructions"), instructions);
            QTest::mouseClick(child<QDialogButtonBox>(editor).button(QDialogButtonBox::Save), Qt::LeftButton);
            QTRY_VERIFY(f.window->findChild<PersonaEditor*>() == nullptr);
        };
        rewrite(QStringLiteral("Sing."));
        QCOMPARE(f.window->core().chat.systemPrompt(), QStringLiteral("Sing."));
        setPrompt(f, QStringLiteral("Whisper."));
        rewrite(QStringLiteral("Shout."));
        QCOMPARE(f.window->core().chat.systemPrompt(), QStringLiteral("Whisper."));
        QCOMPARE(f.window->core().personas.own().first().systemPrompt, QStringLiteral("Shout."));
    }

    void keptWithTheConversation_alsoAfterAStart() {
        const QTemporaryDir history;
        ConversationId first = 0;
        {
            WindowFixture f({}, {}, history.path());
            f.openAndWait();
            choose(f, QStringLiteral("Prog"));
            f.ask(QStringLiteral("Hello"));
            QTRY_COMPARE(f.messages().size(), 2);
            QTRY_COMPARE(f.state(), State::Ready);
            first = f.window->core().chat.current();
            part<QAction>(*f.window, "newConversation").trigger();
            choose(f, QStringLiteral("Teach"));
            QVERIFY(f.window->core().chat.openConversation(first));
            QTRY_COMPARE(box(f).currentText(), QStringLiteral("Programmer"));
        }
        const WindowFixture f({}, {}, history.path());
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("None"));
        QVERIFY(f.window->core().chat.openConversation(first));
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("Programmer"));
        QVERIFY(!bar(f).isChanged());
    }

    // It went into the next new conversation, and over a restart.
    void chosen_belongsToItsConversation_withItsSampling() {
        Sampling poets = defaultSampling();
        poets.sampler.temperature = 0.33F;
        {
            WindowFixture f;
            f.openAndWait();
            const auto isPlain = [&f] {
                const ChatController& chat = f.window->core().chat;
                return box(f).currentText() == QStringLiteral("None") && chat.persona().isEmpty() &&
                       chat.systemPrompt().isEmpty() && chat.sampling() == defaultSampling();
            };
            setPrompt(f, QStringLiteral("Rhyme."));
            setTemperature(f, 0.33F);
            saveAs(f, QStringLiteral("Poet"));
            // Without a message, too: it is chosen again in no time.
            pressCtrlN(f);
            QTRY_COMPARE(box(f).currentText(), QStringLiteral("None"));
            QVERIFY(f.window->core().chat.sampling() == poets);  // it was set before there was a persona
            part<SamplingPanel>(*f.window).reset();
            QVERIFY(isPlain());

            choose(f, QStringLiteral("Poet"));
            QVERIFY(f.window->core().chat.sampling() == poets);
            choose(f, QStringLiteral("None"));
            QVERIFY(isPlain());
            choose(f, QStringLiteral("Poet"));
            setTemperature(f, 0.5F);
            f.askAndWait(QStringLiteral("Hello"));
            pressCtrlN(f);
            QTRY_VERIFY(isPlain());
            // What was written by hand stays until there is a message.
            choose(f, QStringLiteral("Poet"));
            setPrompt(f, QStringLiteral("Whisper."));
            pressCtrlN(f);
            QCOMPARE(f.window->core().chat.systemPrompt(), QStringLiteral("Whisper."));
            f.askAndWait(QStringLiteral("Hello"));
            f.window->close();
        }
        WindowFixture f;  // the next start
        f.openAndWait();
        QCOMPARE(box(f).currentText(), QStringLiteral("None"));
        QCOMPARE(f.window->core().chat.systemPrompt(), QString());
        QVERIFY(f.window->core().chat.sampling() == defaultSampling());
        f.askAndWait(QStringLiteral("Hello"));
        QCOMPARE(f.stage->requests().back().messages.size(), std::size_t(1));
    }

    // A later change of one field took the others along.
    void sampling_ofAPersona_isNotOfNewOnes_howeverItIsLeft_data() {
        QTest::addColumn<QString>("left");
        QTest::addColumn<bool>("changed");
        for (const char* left : {"None", "Concise", "edited", "deleted"}) {
            QTest::newRow(left) << QString::fromLatin1(left) << false;
            QTest::addRow("%s, changed", left) << QString::fromLatin1(left) << true;
        }
    }
    void sampling_ofAPersona_isNotOfNewOnes_howeverItIsLeft() {
        QFETCH(QString, left);
        QFETCH(bool, changed);
        WindowFixture f;
        f.openAndWait();
        const float own = defaultSampling().sampler.temperature;
        setPrompt(f, QStringLiteral("Rhyme."));
        setTemperature(f, 0.1F);
        saveAs(f, QStringLiteral("Poet"));
        pressCtrlN(f);
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("None"));
        part<SamplingPanel>(*f.window).reset();
        choose(f, QStringLiteral("Poet"));
        const auto shown = [&f] { return part<SamplingPanel>(*f.window).sampling().sampler.temperature; };
        const auto changeAField = [&f] {
            QTest::keyClick(&find<QSpinBox>(part<SamplingPanel>(*f.window), "Top-k"), Qt::Key_Up);
        };
        QCOMPARE(shown(), 0.1F);
        if (changed) {
            changeAField();
            QCOMPARE(box(f).currentText(), QStringLiteral("Poet, changed"));
        }
        if (left == QStringLiteral("edited")) {
            action(bar(f), "Edit…").trigger();
            auto& editor = part<PersonaEditor>(*f.window);
            QTest::keyClick(&find<QComboBox>(editor, "Sampling"), Qt::Key_T);  // The conversation's own
            QTest::mouseClick(child<QDialogButtonBox>(editor).button(QDialogButtonBox::Save), Qt::LeftButton);
            QTRY_VERIFY(f.window->findChild<PersonaEditor*>() == nullptr);
            QVERIFY(!f.window->core().personas.own().first().sampling);
        } else if (left == QStringLiteral("deleted")) {
            bar(f).presets().deleteAction().trigger();
        } else {
            choose(f, left);
        }
        // A conversation goes on as it was with what is edited or deleted.
        const bool goesOn = left == QStringLiteral("deleted") || (left == QStringLiteral("edited") && changed);
        QCOMPARE(shown(), goesOn ? 0.1F : own);
        changeAField();
        f.askAndWait(QStringLiteral("Hello"));
        pressCtrlN(f);
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("None"));
        QCOMPARE(f.window->core().chat.sampling().sampler.temperature, own);
        QCOMPARE(shown(), own);
    }

    // Off at first; then also for the first conversation of the next start.
    void useForNewConversations_isAChoice() {
        const auto ofNew = [](const WindowFixture& f) -> QAction& {
            QMenu& menu = bar(f).presets().menu();
            menu.popup(f.window->mapToGlobal(QPoint(20, 20)));  // as a click on its button does
            return action(bar(f), "Use for new conversations");
        };
        const auto press = [&ofNew](const WindowFixture& f) {
            const QRect place = bar(f).presets().menu().actionGeometry(&ofNew(f));
            QTest::mouseClick(&bar(f).presets().menu(), Qt::LeftButton, {}, place.center());
        };
        {
            WindowFixture f;
            f.openAndWait();
            QVERIFY(ofNew(f).isChecked() && !ofNew(f).isEnabled());  // "None" is
            bar(f).presets().menu().close();
            choose(f, QStringLiteral("Teach"));
            QVERIFY(!ofNew(f).isChecked() && ofNew(f).isEnabled());
            press(f);
            QVERIFY(ofNew(f).isChecked());
            bar(f).presets().menu().close();
            f.askAndWait(QStringLiteral("Hello"));
            pressCtrlN(f);
            QTRY_COMPARE(box(f).currentText(), QStringLiteral("Teacher"));
            // Another one for this conversation alone.
            choose(f, QStringLiteral("Conc"));
            f.askAndWait(QStringLiteral("Hello"));
            f.window->close();
        }
        WindowFixture f;
        f.openAndWait();
        QCOMPARE(box(f).currentText(), QStringLiteral("Teacher"));
        QCOMPARE(f.window->core().chat.systemPrompt(), Personas::builtIn()[1].systemPrompt);
        QVERIFY(!bar(f).isChanged());
        // None by hand is for this conversation, which has nothing in it.
        choose(f, QStringLiteral("None"));
        pressCtrlN(f);
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("Teacher"));
        choose(f, QStringLiteral("None"));
        setPrompt(f, QStringLiteral("Whisper."));
        pressCtrlN(f);
        QCoreApplication::processEvents();
        QCOMPARE(f.window->core().chat.systemPrompt(), QStringLiteral("Whisper."));
        choose(f, QStringLiteral("Teach"));
        press(f);
        pressCtrlN(f);
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("None"));
    }

    // After a change of the program's language it counted as changed.
    void builtIn_inAnotherLanguage_isUnchanged() {
        const QTemporaryDir history;
        ConversationId first = 0;
        QString german;
        {
            QTranslator translator;
            QVERIFY(translator.load(QStringLiteral(":/i18n/offstage_de.qm")));
            QApplication::installTranslator(&translator);
            const auto away = qScopeGuard([&translator] { QApplication::removeTranslator(&translator); });
            WindowFixture f({}, {}, history.path());
            f.openAndWait();
            choose(f, QStringLiteral("Lehr"));
            german = f.window->core().chat.systemPrompt();
            f.askAndWait(QStringLiteral("Hallo"));
            first = f.window->core().chat.current();
            f.window->close();
        }
        const WindowFixture f({}, {}, history.path());
        QVERIFY(f.window->core().chat.openConversation(first));
        QTRY_COMPARE(box(f).currentText(), QStringLiteral("Teacher"));
        QCOMPARE(f.window->core().chat.systemPrompt(), german);
        QVERIFY(german != Personas::builtIn()[1].systemPrompt);
        setPrompt(f, QStringLiteral("Whisper."));
        QCOMPARE(box(f).currentText(), QStringLiteral("Teacher, changed"));
    }

    void model_isOffered_notOpenedByItself() {
        WindowFixture f;
        f.openAndWait(QStringLiteral("/models/poet-moe"));
        setPrompt(f, QStringLiteral("Rhyme."));
        const QString id = saveAs(f, QStringLiteral("Poet"), true);
        f.openAndWait();
        choose(f, QStringLiteral("Concise"));
        QVERIFY(!part<SetupBar>(*f.window).isVisible());
        choose(f, QStringLiteral("Poet"));
        QVERIFY2(part<SetupBar>(*f.window).sentence().contains(QStringLiteral("Poet")),
                 qPrintable(part<SetupBar>(*f.window).sentence()));
        QCOMPARE(f.stage->loads().back().model, std::string("/models/fake-moe"));
        // It need not have the model.
        edit(f, action(bar(f), "Edit…"), QStringLiteral("Poet"), false);
        QCOMPARE(f.window->core().personas.find(id)->model, QString());
        QVERIFY(!part<SetupBar>(*f.window).isVisible());
    }

    void model_isOpenedAtAClick() {
        const QTemporaryDir models;
        const QString model = models.filePath(QStringLiteral("poet-moe"));
        QVERIFY(QDir().mkpath(model));
        WindowFixture f;
        f.openAndWait(model);
        saveAs(f, QStringLiteral("Poet"), true);
        f.openAndWait();
        QVERIFY(part<SetupBar>(*f.window).isVisible());
        QVERIFY(part<SetupBar>(*f.window).openButton().isVisible());
        QTest::mouseClick(&part<SetupBar>(*f.window).openButton(), Qt::LeftButton);
        QTRY_COMPARE(f.stage->loads().back().model, model.toStdString());
        QTRY_COMPARE(f.state(), State::Ready);
        QVERIFY(!part<SetupBar>(*f.window).isVisible());
    }

    void files_comeBack_othersAreRefused() {
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("personas.json"));
        {
            WindowFixture f;
            f.openAndWait();
            setPrompt(f, QStringLiteral("Rhyme."));
            setTemperature(f, 0.25F);
            saveAs(f, QStringLiteral("Poet"));
            bar(f).exportTo(file);
        }
        QSettings().clear();
        const WindowFixture f;
        bar(f).importFrom(file);
        QCOMPARE(f.window->core().personas.own().size(), 1);
        const Persona poet = f.window->core().personas.own().first();
        QCOMPARE(poet.name, QStringLiteral("Poet"));
        QCOMPARE(poet.systemPrompt, QStringLiteral("Rhyme."));
        QCOMPARE(poet.sampling->sampler.temperature, 0.25F);
        bar(f).importFrom(file);
        QCOMPARE(f.window->core().personas.own().size(), 1);  // of the same name
        QString problem;
        for (const char* bad : {"", "{", "[]", R"({"format": "offstage.conversation", "version": 1})",
                                R"({"format": "offstage.personas", "version": 2, "personas": [{"name": "x"}]})",
                                R"({"format": "offstage.personas", "version": 1, "personas": [7, {}]})"}) {
            QCOMPARE(f.window->core().personas.addFrom(bad, QStringLiteral("bad.json"), problem), 0);
            QVERIFY2(problem.contains(QStringLiteral("bad.json")), bad);
        }
        QCOMPARE(f.window->core().personas.own().size(), 1);
    }

    // Earlier presets of the system prompt become personas.
    void earlierPresets_areTakenOver_once() {
        const QJsonArray presets{QJsonObject{{QStringLiteral("name"), QStringLiteral("Poet")},
                                             {QStringLiteral("text"), QStringLiteral("Rhyme.")}}};
        QSettings().setValue(QStringLiteral("presets/systemPrompts"),
                             QJsonDocument(presets).toJson(QJsonDocument::Compact));
        for (int start = 0; start < 2; ++start) {
            const Personas personas;
            QCOMPARE(personas.own().size(), 1);
            QCOMPARE(personas.own().first().systemPrompt, QStringLiteral("Rhyme."));
            QVERIFY(!personas.own().first().sampling);
        }
        QVERIFY(!QSettings().contains(QStringLiteral("presets/systemPrompts")));
    }

    void pictures() {
        WindowFixture f;
        f.openAndWait();
        choose(f, QStringLiteral("Teach"));
        setTemperature(f, 0.3F);
        f.ask(QStringLiteral("What is an expert?"));
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        picture(*f.window, QStringLiteral("personas"), {560, 1280}, 800);
        action(bar(f), "New persona…").trigger();
        picture(part<PersonaEditor>(*f.window), QStringLiteral("persona-editor"), {360, 520}, 380);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPersonas)
#include "tst_personas.moc"
