// Files that go with a prompt: chosen by dropping, pasting and keys, counted, sent once,
// stored with the conversation.
#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/prompt_text.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/attachment_file.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/context_counter.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/draft_attachments.h"
#include "ui/chat/message_attachments.h"
#include "ui/chat/message_editor.h"
#include "ui/chat/message_widget.h"
#include "ui/chat/paste_offer.h"
#include "ui/chat/persona_bar.h"
#include "ui/history/conversation_files.h"
#include "ui/settings/preset_bar.h"

using namespace offstage;
using namespace offstage::ui;
using test::Script;
using test::WindowFixture;
using State = EngineController::State;

namespace {

struct Folder {
    QString write(const QString& name, const QByteArray& content) const {
        QFile file(folder.filePath(name));
        return file.open(QIODevice::WriteOnly) && file.write(content) == content.size() ? file.fileName() : QString();
    }
    QTemporaryDir folder;
};

QMimeData* mimeOf(const QStringList& paths) {
    auto* mime = new QMimeData;
    QList<QUrl> urls;
    for (const QString& path : paths) {
        urls << QUrl::fromLocalFile(path);
    }
    mime->setUrls(urls);
    return mime;
}

// As the desktop does it: an event that the widget under the mouse does not accept goes
// to its parents.
bool drop(QWidget& target, const QStringList& paths) {
    const std::unique_ptr<QMimeData> mime(mimeOf(paths));
    const QPoint at = target.rect().center();
    QDragEnterEvent enter(at, Qt::CopyAction, mime.get(), Qt::LeftButton, Qt::NoModifier);
    enter.ignore();
    QApplication::sendEvent(&target, &enter);
    if (!enter.isAccepted()) {
        return false;
    }
    QDropEvent event(QPointF(at), Qt::CopyAction, mime.get(), Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&target, &event);
    return true;
}

InputBar& input(WindowFixture& f) {
    return test::part<ChatPage>(*f.window).input();
}

QStringList chipsOf(const AttachmentChips& chips) {
    QStringList texts;
    for (const AttachmentChip* chip : chips.chips()) {
        texts << chip->name() + QStringLiteral(" | ") + chip->detail();
    }
    return texts;
}

QStringList chips(WindowFixture& f) {
    return chipsOf(input(f).chips());
}

bool isCounted(WindowFixture& f) {
    return QTest::qWaitFor([&] { return !test::part<ChatPage>(*f.window).attachments().isReading(); }) &&
           QTest::qWaitFor([&] { return !chips(f).join(QString()).contains(u'…'); }) &&
           QTest::qWaitFor([&] { return test::part<ChatPage>(*f.window).counter().isUpToDate(); });
}

QString longText() {
    return QStringLiteral("A line of a log, and what it says\n").repeated(1000);
}

void pasteInto(PromptEdit& edit, const QString& text, const QString& by) {
    if (by == QStringLiteral("drop")) {
        QMimeData mime;
        mime.setText(text);
        const QPoint at = edit.cursorRect().center();
        QDragEnterEvent enter(at, Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(edit.viewport(), &enter);
        QDropEvent drop(QPointF(at), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(edit.viewport(), &drop);
    } else if (by == QStringLiteral("middle")) {
        QGuiApplication::clipboard()->setText(text, QClipboard::Selection);
        QTest::mouseClick(edit.viewport(), Qt::MiddleButton, {}, edit.cursorRect().center());
    } else {
        QGuiApplication::clipboard()->setText(text);
        QTest::keyClick(&edit, Qt::Key_V, Qt::ControlModifier);
    }
}

// The messages are shown before the engine's thread has the request.
std::string lastPrompt(WindowFixture& f) {
    if (!QTest::qWaitFor([&] { return !f.stage->requests().empty(); })) {
        return "no request came";
    }
    return f.stage->requests().back().messages.back().content;
}

const QByteArray kNotes = "first line\nsecond line\n";
const char kFramedNotes[] = "File: notes.txt\n```\nfirst line\nsecond line\n```\n\nsum it up";

}  // namespace

class TestAttachments : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---------------------------------------------------------------- reading

    void read_texts_areWhole_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("text");
        QTest::newRow("UTF-8") << QByteArray("gr\xc3\xbc\xc3\x9f\n") << QStringLiteral("grüß\n");
        QTest::newRow("UTF-8 with a mark") << QByteArray("\xef\xbb\xbfgr\xc3\xbc\xc3\x9f") << QStringLiteral("grüß");
        QTest::newRow("UTF-16 LE") << QByteArray("\xff\xfeh\0\xfc\0", 6) << QStringLiteral("hü");
        QTest::newRow("UTF-16 BE") << QByteArray("\xfe\xff\0h\0\xfc", 6) << QStringLiteral("hü");
        QTest::newRow("line ends of Windows") << QByteArray("a\r\nb\r\n") << QStringLiteral("a\nb\n");
    }
    void read_texts_areWhole() {
        QFETCH(QByteArray, content);
        const Folder folder;
        const ReadAttachment read = readAttachment(folder.write(QStringLiteral("a.md"), content));
        QCOMPARE(read.error, QString());
        QTEST(read.attachment.text, "text");
        QCOMPARE(read.attachment.name, QStringLiteral("a.md"));
        QCOMPARE(read.attachment.bytes, content.size());
    }

    void read_others_areRefusedInWords_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("a picture") << QByteArray("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)
                                   << QStringLiteral("not a text file");
        QTest::newRow("zeros") << QByteArray(100, '\0') << QStringLiteral("not a text file");
        QTest::newRow("Latin-1") << QByteArray("gr\xfc\xdf") << QStringLiteral("Save it as UTF-8");
        QTest::newRow("half of UTF-16") << QByteArray("\xff\xfeh\0\xd8\xd8h\0", 8)
                                        << QStringLiteral("Save it as UTF-8");
        QTest::newRow("nothing") << QByteArray(" \n") << QStringLiteral("is empty");
        QTest::newRow("too large") << QByteArray(kLargestAttachment + 1, 'x') << QStringLiteral("too large");
    }
    void read_others_areRefusedInWords() {
        QFETCH(QByteArray, content);
        QFETCH(QString, sentence);
        const Folder folder;
        const ReadAttachment read = readAttachment(folder.write(QStringLiteral("odd.dat"), content));
        QVERIFY2(read.error.contains(sentence) && read.error.contains(QStringLiteral("odd.dat")),
                 qPrintable(read.error));
        QVERIFY(read.attachment.text.isEmpty());
    }

    void read_whatIsNoFile_isRefused() {
        const Folder folder;
        QVERIFY(readAttachment(folder.folder.path()).error.contains(QStringLiteral("folder")));
        QVERIFY(readAttachment(folder.folder.filePath(QStringLiteral("gone.txt"))).error.contains(u"gone.txt"));
    }

    void frame_isLongerThanAnyInside() {
        const Attachment file{QStringLiteral("a.md"), 9, QStringLiteral("````\ncode\n````")};
        QCOMPARE(promptForModel(QStringLiteral("why?"), {file}),
                 QStringLiteral("File: a.md\n`````\n````\ncode\n````\n`````\n\nwhy?"));
        QCOMPARE(promptForModel(QStringLiteral("why?"), {}), QStringLiteral("why?"));
    }

    // ---------------------------------------------------------------- long texts

    void longText_isAskedAbout_andBecomesAFile_data() {
        QTest::addColumn<QString>("by");
        QTest::newRow("Ctrl+V") << QStringLiteral("key");
        QTest::newRow("drop") << QStringLiteral("drop");
        if (QGuiApplication::clipboard()->supportsSelection()) {  // not without a display
            QTest::newRow("middle click") << QStringLiteral("middle");
        }
    }
    void longText_isAskedAbout_andBecomesAFile() {
        QFETCH(QString, by);
        Script script;
        script.context = 32'768;
        WindowFixture f(script);
        f.openAndWait();
        PromptEdit& edit = input(f).edit();
        edit.setFocus();
        const QString text = longText();
        QTest::keyClicks(&edit, QStringLiteral("sum it up"));
        QTest::keyClick(&edit, Qt::Key_Home);
        pasteInto(edit, text, by);
        QVERIFY(input(f).pasteOffer().isVisible());
        QCOMPARE(input(f).text(), text + QStringLiteral("sum it up"));  // nothing is lost while it is asked
        test::picture(*f.window, QStringLiteral("paste-") + by, {500, 1280}, 800);
        QTest::mouseClick(&test::find<QPushButton>(input(f), "Attach as a file"), Qt::LeftButton);
        QVERIFY(!input(f).pasteOffer().isVisible());
        QCOMPARE(input(f).text(), QStringLiteral("sum it up"));
        QVERIFY(edit.hasFocus());
        QVERIFY(isCounted(f));
        QCOMPARE(chips(f).size(), 1);
        QVERIFY2(chips(f)[0].startsWith(QStringLiteral("Pasted text.txt | 3")) &&
                     chips(f)[0].endsWith(QStringLiteral(" tokens")),
                 qPrintable(chips(f)[0]));
        QTest::keyClick(&edit, Qt::Key_Return);
        QTRY_COMPARE(f.messages().size(), qsizetype(2));
        QCOMPARE(lastPrompt(f), "File: Pasted text.txt\n```\n" + text.toStdString() + "```\n\nsum it up");
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QCOMPARE(input(f).text(), QString());
    }

    // It was refused only after it was sent.
    void longText_thatDoesNotFit_isRefusedAtOnce() {
        WindowFixture f;  // 2,048 tokens
        f.openAndWait();
        PromptEdit& edit = input(f).edit();
        edit.setFocus();
        const QString text = longText().repeated(4);
        pasteInto(edit, text, QStringLiteral("key"));
        QVERIFY(input(f).pasteOffer().isVisible());
        QTest::keyClick(&edit, Qt::Key_Return);  // before its tokens are counted
        QTRY_VERIFY2(input(f).hint().contains(QStringLiteral("Too long by")), qPrintable(input(f).hint()));
        QVERIFY2(input(f).hint().endsWith(QStringLiteral("Shorten it.")), qPrintable(input(f).hint()));
        test::picture(*f.window, QStringLiteral("paste-too-long"), {500, 1280}, 800);
        QTest::keyClick(&edit, Qt::Key_Return);
        QTest::mouseClick(&input(f).button(), Qt::LeftButton);
        QVERIFY(f.messages().isEmpty() && input(f).pasteOffer().isVisible());
        QCOMPARE(input(f).text(), text);  // nothing is lost
        // Kept as text it is as long.
        QTest::mouseClick(&test::find<QPushButton>(input(f), "Keep as text"), Qt::LeftButton);
        QTest::keyClick(&edit, Qt::Key_Return);
        QVERIFY(f.messages().isEmpty() && input(f).isBlocked());
        QTest::keyClick(&edit, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(&edit, QStringLiteral("short"));
        QVERIFY(!input(f).isBlocked());
        QTest::keyClick(&edit, Qt::Key_Return);
        QTRY_COMPARE(f.messages().size(), qsizetype(2));
    }

    // What was pasted and fits is sent as it stands, without an answer to the question.
    void longText_sentWhileItIsAskedAbout_staysText() {
        Script script;
        script.context = 32'768;
        WindowFixture f(script);
        f.openAndWait();
        input(f).edit().setFocus();
        pasteInto(input(f).edit(), longText(), QStringLiteral("key"));
        QTest::keyClick(&input(f).edit(), Qt::Key_Return);
        QTRY_COMPARE(f.messages().size(), qsizetype(2));
        QCOMPARE(f.messages().first().text.trimmed(), longText().trimmed());
        QVERIFY(!input(f).pasteOffer().isVisible() && input(f).text().isEmpty());
    }

    void longText_mayStayText_andIsAskedAboutAgain() {
        WindowFixture f;
        f.openAndWait();
        PromptEdit& edit = input(f).edit();
        edit.setFocus();
        pasteInto(edit, QStringLiteral("short\n"), QStringLiteral("key"));
        QVERIFY(!input(f).pasteOffer().isVisible());
        pasteInto(edit, longText(), QStringLiteral("key"));
        QTest::mouseClick(&test::find<QPushButton>(input(f), "Keep as text"), Qt::LeftButton);
        QVERIFY(!input(f).pasteOffer().isVisible());
        QCOMPARE(input(f).text(), QStringLiteral("short\n") + longText());
        QVERIFY(chips(f).isEmpty() && edit.hasFocus());
        pasteInto(edit, longText(), QStringLiteral("key"));
        QVERIFY(input(f).pasteOffer().isVisible());  // the answer before was for that text
        QTest::keyClick(&edit, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!input(f).pasteOffer().isVisible());  // it is gone, and the question with it
        QCOMPARE(input(f).text(), QStringLiteral("short\n") + longText());
    }

    void longText_asAFile_isNeverLost() {
        const QTemporaryDir history;
        const QString typed = QStringLiteral("sum it up");
        ConversationId first = 0;
        {
            WindowFixture f({}, {}, history.path());
            f.openAndWait();
            f.ask(QStringLiteral("first"));
            QTRY_COMPARE(f.messages().size(), 2);
            QTRY_COMPARE(f.state(), State::Ready);
            input(f).edit().setFocus();
            for (int i = 0; i < 2; ++i) {
                pasteInto(input(f).edit(), longText(), QStringLiteral("key"));
                QTest::mouseClick(&test::find<QPushButton>(input(f), "Attach as a file"), Qt::LeftButton);
            }
            f.type(typed);
            QCOMPARE(chips(f).size(), 2);
            QVERIFY(chips(f)[1].startsWith(QStringLiteral("Pasted text 2.txt")));
            // Another conversation and back: as it was.
            first = f.window->core().chat.current();
            test::part<QAction>(*f.window, "newConversation").trigger();
            QVERIFY(chips(f).isEmpty() && input(f).text().isEmpty());
            QVERIFY(f.window->core().chat.openConversation(first));
            QCOMPARE(chips(f).size(), 2);
            QCOMPARE(input(f).text(), typed);
            // A removed one is gone; what was typed stays.
            AttachmentChip* second = input(f).chips().chips()[1];
            QTest::mouseClick(second, Qt::LeftButton, {}, second->markRect().center());
            QCOMPARE(input(f).text(), typed);
        }
        // The program ends, with files that are no files.
        WindowFixture f({}, {}, history.path());
        f.openAndWait();
        QVERIFY(f.window->core().chat.openConversation(first));
        QCOMPARE(input(f).text(), typed + QStringLiteral("\n\n") + longText());
        QVERIFY(chips(f).isEmpty());
    }

    void longText_beyondTheMostFiles_staysText() {
        WindowFixture f;
        f.openAndWait();
        QList<Attachment> files;
        for (int i = 0; i < DraftAttachments::kMostFiles; ++i) {
            files.append({QStringLiteral("%1.txt").arg(i), 1, QStringLiteral("x")});
        }
        f.window->core().chat.setDraftAttachments(files);
        input(f).edit().setFocus();
        pasteInto(input(f).edit(), longText(), QStringLiteral("key"));
        QTest::mouseClick(&test::find<QPushButton>(input(f), "Attach as a file"), Qt::LeftButton);
        QCOMPARE(input(f).text(), longText());
        QVERIFY2(input(f).notice().contains(QStringLiteral("a message can have 20 files")),
                 qPrintable(input(f).notice()));
    }

    // ---------------------------------------------------------------- chips

    void drop_onTheInput_showsAChipWithItsTokens() {
        const Folder folder;
        WindowFixture f;
        const QString notes = folder.write(QStringLiteral("notes.txt"), kNotes);
        QVERIFY(drop(*input(f).edit().viewport(), {notes}));
        QTRY_COMPARE(chips(f).size(), 1);
        QVERIFY2(chips(f).first().contains(u'…'), qPrintable(chips(f).first()));  // no model that could count
        f.openAndWait();
        QVERIFY(isCounted(f));
        const auto size = [](const QString& text) { return 3 + text.toUtf8().size() / 4; };
        const QString framedText = framed({QStringLiteral("notes.txt"), kNotes.size(), QString::fromUtf8(kNotes)});
        const qint64 tokens = size(framedText + QStringLiteral("\n\n.")) - size(QStringLiteral("."));
        QVERIFY2(chips(f).first().contains(QStringLiteral("· %1 tokens").arg(tokens)), qPrintable(chips(f).first()));
        QVERIFY(input(f).chips().isVisible());
        QVERIFY(input(f).chips().chips().first()->accessibleName().contains(QStringLiteral("notes.txt")));
        QCOMPARE(test::part<ChatPage>(*f.window).counter().lastCount(),
                 std::optional<qint64>(size(framedText + QStringLiteral("\n\n"))));
        QVERIFY(input(f).text().isEmpty());
    }

    void drop_several_onTheConversation() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("a.cpp"), "int main() {}\n"),
                                 folder.write(QStringLiteral("b.csv"), "x,y\n1,2\n")}));
        QVERIFY(isCounted(f));
        QTRY_COMPARE(chips(f).size(), 2);
        QVERIFY(chips(f)[0].startsWith(QStringLiteral("a.cpp")));
        QVERIFY(chips(f)[1].startsWith(QStringLiteral("b.csv")));
    }

    void drop_model_opensItStill() {
        const Folder folder;
        WindowFixture f;
        const QString blob = folder.write(QStringLiteral("sha256-00"), "GGUF and more");
        QVERIFY(drop(*f.window, {blob}));
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->loads().back().model, blob.toStdString());
        QVERIFY(chips(f).isEmpty());
    }

    // A cleared document emits contentsChanged while it keeps a list of its cursors aside:
    // one that was destroyed then was written to at every later change, in memory that
    // belonged to others by then.
    void pastedText_clearedUnanswered_leavesNoCursorBehind() {
        QPlainTextEdit edit;
        QWidget parent;  // is not shown, so that hiding the question takes no memory
        PasteOffer offer(edit, &parent);
        edit.insertPlainText(QString(PasteOffer::kLongPaste + 1, u'x'));
        offer.pasted(0, PasteOffer::kLongPaste + 1);
        QVERIFY(!offer.isHidden());
        std::vector<std::vector<char>> others;  // where the cursor would have been
        others.reserve(2000);
        connect(edit.document(), &QTextDocument::contentsChanged, &parent, [&] {
            if (!others.empty()) {
                return;
            }
            for (std::size_t bytes = 24; bytes <= 128; bytes += 8) {
                for (int i = 0; i < 100; ++i) others.emplace_back(bytes, '\0');
            }
        });
        edit.clear();
        QVERIFY(offer.isHidden() && !others.empty());
        edit.document()->disconnect(&parent);
        edit.insertPlainText(QStringLiteral("a short one"));
        edit.clear();
        for (const std::vector<char>& other : others) {
            QVERIFY(std::all_of(other.begin(), other.end(), [](char c) { return c == 0; }));
        }
        offer.pasted(0, 0);
        QVERIFY(offer.isHidden());
    }

    // A file that is called like a text that was pasted and sent is no pasted text: the
    // stored draft does not keep it.
    void paste_sent_leavesNoName() {
        const Folder folder;
        Script script;
        script.context = 32'768;
        WindowFixture f(script);
        f.openAndWait();
        pasteInto(input(f).edit(), longText(), QStringLiteral("key"));
        QTest::mouseClick(&test::find<QPushButton>(input(f), "Attach as a file"), Qt::LeftButton);
        QTRY_COMPARE(chips(f).size(), 1);
        f.ask(QStringLiteral("sum it up"));
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("Pasted text.txt"), "a file of that name")}));
        QTRY_COMPARE(chips(f).size(), 1);
        f.type(QStringLiteral("and this"));
        const ConversationId shown = f.window->core().chat.current();
        QCOMPARE(f.window->core().history.info(shown).draft, QStringLiteral("and this"));
    }

    void paste_files_attachesThem() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        QMimeData* mime = mimeOf({folder.write(QStringLiteral("notes.txt"), kNotes)});
        mime->setText(QStringLiteral("file:///notes.txt"));  // file managers give both
        QGuiApplication::clipboard()->setMimeData(mime);
        input(f).edit().setFocus();
        QTest::keyClick(&input(f).edit(), Qt::Key_V, Qt::ControlModifier);
        QVERIFY(isCounted(f));
        QTRY_COMPARE(chips(f).size(), 1);
        QVERIFY(input(f).text().isEmpty());
        QGuiApplication::clipboard()->setText(QStringLiteral("words"));
        QTest::keyClick(&input(f).edit(), Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(input(f).text(), QStringLiteral("words"));
    }

    void paperClip_asksForFiles() {
        const Folder folder;
        WindowFixture f;
        QTest::mouseClick(&test::find<QToolButton>(input(f), "Attach files"), Qt::LeftButton);
        auto* dialog = f.window->findChild<QFileDialog*>();
        QVERIFY(dialog);
        QCOMPARE(dialog->fileMode(), QFileDialog::ExistingFiles);
        Q_EMIT dialog->filesSelected({folder.write(QStringLiteral("notes.txt"), kNotes)});
        QTRY_COMPARE(chips(f).size(), 1);
        dialog->close();
    }

    void chips_areRemoved_byMouseAndKeys() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("a.txt"), "a"), folder.write(QStringLiteral("b.txt"), "b"),
                                 folder.write(QStringLiteral("c.txt"), "c")}));
        QVERIFY(isCounted(f));
        AttachmentChip* chip = input(f).chips().chips()[1];
        QTest::mouseClick(chip, Qt::LeftButton, {}, QPoint(8, 8));  // its name
        QTRY_COMPARE(chips(f).size(), 3);
        QTest::mouseClick(chip, Qt::LeftButton, {}, chip->markRect().center());
        QTRY_COMPARE(chips(f).size(), 2);
        QVERIFY(chips(f)[1].startsWith(QStringLiteral("c.txt")));
        // Backwards from the text the last chip comes first.
        input(f).edit().setFocus();
        QTest::keyClick(&input(f).edit(), Qt::Key_Tab, Qt::ShiftModifier);
        QTRY_VERIFY(input(f).chips().chips().last()->hasFocus());
        QTest::keyClick(input(f).chips().chips().last(), Qt::Key_Delete);
        QTRY_COMPARE(chips(f).size(), 1);
        QVERIFY(input(f).chips().chips().first()->hasFocus());
        QTest::keyClick(input(f).chips().chips().first(), Qt::Key_Space);
        QVERIFY(chips(f).isEmpty());
        QVERIFY(!input(f).chips().isVisible());
        QVERIFY(input(f).edit().hasFocus());
    }

    void refused_areNamed_theOthersAreAttached() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("photo.png"), QByteArray("\x89PNG\0\0", 6)),
                                 folder.write(QStringLiteral("notes.txt"), kNotes)}));
        QTRY_COMPARE(chips(f).size(), 1);
        QVERIFY2(input(f).notice().contains(QStringLiteral("photo.png is not a text file")),
                 qPrintable(input(f).notice()));
        QVERIFY(isCounted(f));
        f.ask(QStringLiteral("hello"));
        QTRY_COMPARE(f.messages().size(), 2);
        QVERIFY(input(f).notice().isEmpty());
    }

    // ---------------------------------------------------------------- sending

    void sent_theModelGetsTheTextOnce_thePersonSeesAChip() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("notes.txt"), kNotes)}));
        f.ask(QStringLiteral("sum it up"));  // sent as soon as it is counted
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        QCOMPARE(f.stage->requests().size(), size_t(1));
        QCOMPARE(lastPrompt(f), std::string(kFramedNotes));
        QVERIFY(chips(f).isEmpty());
        QVERIFY(input(f).text().isEmpty());
        QCOMPARE(f.messages()[0].text, QStringLiteral("sum it up"));

        MessageWidget* shown = test::part<ChatPage>(*f.window).view().messageWidget(f.messages()[0].id);
        QVERIFY(shown && shown->attachments());
        QCOMPARE(chipsOf(shown->attachments()->chips()).size(), 1);
        AttachmentChip* chip = shown->attachments()->chips().chips().first();
        QTest::mouseClick(chip, Qt::LeftButton);
        QVERIFY(shown->attachments()->text()->isVisible());
        QCOMPARE(shown->attachments()->text()->toPlainText(), QString::fromUtf8(kNotes).trimmed());
        QTest::keyClick(chip, Qt::Key_Space);
        QVERIFY(!shown->attachments()->text()->isVisible());

        f.ask(QStringLiteral("more"));
        QTRY_COMPARE(f.messages().size(), 4);
        QTRY_COMPARE(f.state(), State::Ready);
        const auto messages = f.stage->requests().back().messages;
        QCOMPARE(messages.size(), size_t(3));
        QCOMPARE(messages[0].content, std::string(kFramedNotes));
        QCOMPARE(messages[2].content, std::string("more"));
    }

    void tooLong_isRefusedInWords_untilItIsRemoved() {
        const Folder folder;
        Script script;
        script.context = 256;
        WindowFixture f(script);
        f.openAndWait();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("small.txt"), "few words"),
                                 folder.write(QStringLiteral("long.txt"), QByteArray(2000, 'x'))}));
        f.ask(QStringLiteral("sum it up"));
        QVERIFY(isCounted(f));
        const qint64 used = test::part<ChatPage>(*f.window).counter().lastCount().value();
        QVERIFY(used > 256);
        // The three figures agree: an answer needs at least one token.
        static const QRegularExpression figures(
            QStringLiteral("Too long by ([\\d,]+) tokens.* takes ([\\d,]+), .* holds ([\\d,]+)\\."));
        const QRegularExpressionMatch said = figures.match(input(f).hint());
        QVERIFY2(said.hasMatch(), qPrintable(input(f).hint()));
        const auto figure = [&said](int n) { return QLocale().toLongLong(said.captured(n)); };
        QCOMPARE(figure(1), used + 1 - 256);
        QCOMPARE(figure(1), figure(2) - figure(3));
        QVERIFY(!input(f).button().isEnabled());
        f.pressEnter();
        QVERIFY(f.messages().isEmpty());
        QVERIFY(f.stage->requests().empty());
        QCOMPARE(input(f).text(), QStringLiteral("sum it up"));
        QTest::keyClick(input(f).chips().chips()[1], Qt::Key_Delete);
        QTRY_VERIFY(input(f).button().isEnabled());
        f.pressEnter();
        QTRY_COMPARE(f.messages().size(), 2);
        QVERIFY(lastPrompt(f).find("few words") != std::string::npos);
        QVERIFY(lastPrompt(f).find("xxx") == std::string::npos);
    }

    void edited_keepsItsFiles() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("notes.txt"), kNotes)}));
        f.ask(QStringLiteral("first"));
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        const MessageId prompt = f.messages()[0].id;
        test::part<ChatPage>(*f.window).view().startEditing(prompt);
        MessageWidget* shown = test::part<ChatPage>(*f.window).view().messageWidget(prompt);
        QVERIFY(shown && shown->editor());
        QVERIFY(shown->attachments()->isVisible());
        QTest::keyClick(&shown->editor()->edit(), Qt::Key_A, Qt::ControlModifier);
        QTest::keyClicks(&shown->editor()->edit(), QStringLiteral("sum it up"));
        QTest::keyClick(&shown->editor()->edit(), Qt::Key_Return);
        QTRY_COMPARE(f.stage->requests().size(), size_t(2));
        QCOMPARE(lastPrompt(f), std::string(kFramedNotes));
    }

    void withdrawn_comesBackWithItsFiles() {
        const Folder folder;
        Script script;
        script.loadMs = 20'000;
        WindowFixture f(script);
        f.window->opener().open(QStringLiteral("/models/slow"));
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("notes.txt"), kNotes)}));
        f.ask(QStringLiteral("sum it up"));
        QTRY_COMPARE(input(f).mode(), InputBar::Mode::Queued);
        QVERIFY(chips(f).isEmpty());
        QTest::mouseClick(&input(f).button(), Qt::LeftButton);
        QCOMPARE(input(f).text(), QStringLiteral("sum it up"));
        QTRY_COMPARE(chips(f).size(), 1);
        QVERIFY(f.messages().isEmpty());
    }

    void otherConversation_hasItsOwnFiles() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        f.ask(QStringLiteral("first"));
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        const ConversationId first = f.window->core().chat.current();
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("notes.txt"), kNotes)}));
        test::part<QAction>(*f.window, "newConversation").trigger();
        QVERIFY(chips(f).isEmpty());
        QVERIFY(f.window->core().chat.openConversation(first));
        QTRY_COMPARE(chips(f).size(), 1);
    }

    // The list of conversations has none of files alone: they were lost.
    void newConversation_besideAPersona_leavesWhatIsWritten() {
        const Folder folder;
        WindowFixture f;
        f.openAndWait();
        const ConversationId first = f.window->core().chat.current();
        QComboBox& personas = test::part<PersonaBar>(*f.window).presets().box();
        personas.setFocus();
        QTest::keyClick(&personas, Qt::Key_T);
        QCOMPARE(personas.currentText(), QStringLiteral("Teacher"));
        const auto pressCtrlN = [&f] { QTest::keyClick(f.window.get(), Qt::Key_N, Qt::ControlModifier); };
        const auto stays = [&f, &personas, first] {
            QCoreApplication::processEvents();
            return f.window->core().chat.current() == first && personas.currentText() == QStringLiteral("Teacher");
        };
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("notes.txt"), kNotes)}));
        QVERIFY(test::part<ChatPage>(*f.window).attachments().isReading());
        pressCtrlN();
        QVERIFY(stays());
        QTRY_COMPARE(chips(f).size(), 1);
        pressCtrlN();
        QVERIFY(stays());
        QCOMPARE(chips(f).size(), 1);
        AttachmentChip* const chip = input(f).chips().chips()[0];
        QTest::mouseClick(chip, Qt::LeftButton, {}, chip->markRect().center());
        QVERIFY(chips(f).isEmpty());
        f.type(QStringLiteral("sum it up"));
        pressCtrlN();
        QVERIFY(stays());
        QCOMPARE(input(f).text(), QStringLiteral("sum it up"));
        input(f).edit().selectAll();
        QTest::keyClick(&input(f).edit(), Qt::Key_Delete);
        pressCtrlN();
        QTRY_COMPARE(personas.currentText(), QStringLiteral("None"));
    }

    // ---------------------------------------------------------------- kept

    void openedAgain_isTheSame() {
        const Folder folder;
        const QTemporaryDir history;
        ConversationId id = 0;
        {
            WindowFixture f({}, {}, history.path());
            f.openAndWait();
            QVERIFY(drop(*f.window, {folder.write(QStringLiteral("notes.txt"), kNotes)}));
            f.ask(QStringLiteral("sum it up"));
            QTRY_COMPARE(f.messages().size(), 2);
            QTRY_COMPARE(f.state(), State::Ready);
            id = f.window->core().chat.current();
        }
        WindowFixture f({}, {}, history.path());
        f.openAndWait();
        QVERIFY(f.window->core().chat.openConversation(id));
        QCOMPARE(f.messages().size(), 2);
        QCOMPARE(f.messages()[0].attachments.size(), 1);
        QVERIFY(!f.messages()[0].figures);
        QVERIFY(f.messages()[1].figures);
        MessageWidget* shown = test::part<ChatPage>(*f.window).view().messageWidget(f.messages()[0].id);
        QVERIFY(shown && shown->attachments());
        QVERIFY(chipsOf(shown->attachments()->chips()).first().startsWith(QStringLiteral("notes.txt")));
        f.ask(QStringLiteral("more"));
        QTRY_COMPARE(f.messages().size(), 4);
        QTRY_VERIFY(!f.stage->requests().empty());
        QCOMPARE(f.stage->requests().back().messages[0].content, std::string(kFramedNotes));
    }

    void exported_comesBack_badFieldsAreNamed() {
        StoredConversation conversation;
        Message prompt;
        prompt.id = 1;
        prompt.text = QStringLiteral("sum it up");
        prompt.attachments = {{QStringLiteral("notes.txt"), kNotes.size(), QString::fromUtf8(kNotes)}};
        conversation.messages = {prompt};
        const QByteArray json = conversationsToJson({conversation});
        const ImportedConversations read = conversationsFromJson(json, QStringLiteral("c.json"));
        QCOMPARE(read.error, QString());
        QCOMPARE(read.conversations.first().messages.first().attachments, prompt.attachments);
        QVERIFY(conversationToMarkdown(conversation).contains(QLatin1String(kFramedNotes)));
        conversation.messages.front().cut = QStringLiteral("Two people\ngreet each other.");
        QVERIFY(conversationToMarkdown(conversation)
                    .contains(QStringLiteral("but this summary of it:\n> Two people\n> greet each other.\n\n## ")));
        QByteArray bad = json;
        bad.replace("\"bytes\": 23", "\"bytes\": -1");
        QVERIFY(bad != json);
        QVERIFY(conversationsFromJson(bad, QStringLiteral("c.json"))
                    .error.contains(QStringLiteral("attachments[0].bytes")));
    }

    // Saves pictures to OFFSTAGE_PICTURES.
    void pictures() {
        if (qEnvironmentVariableIsEmpty("OFFSTAGE_PICTURES")) {
            return;
        }
        const Folder folder;
        Script script;
        script.context = 600;
        WindowFixture f(script);
        f.openAndWait();
        QByteArray code;
        for (int i = 0; i < 12; ++i) {
            code += "int function_" + QByteArray::number(i) + "(int x) { return x + 1; }\n";
        }
        QVERIFY(drop(*f.window,
                     {folder.write(QStringLiteral("main.cpp"), code),
                      folder.write(QStringLiteral("figures of the second quarter, by month.csv"), "x,y\n1,2\n")}));
        f.ask(QStringLiteral("What does this program do?"));
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), State::Ready);
        QTest::mouseClick(
            test::part<ChatPage>(*f.window).view().messageWidget(f.messages()[0].id)->attachments()->chips().chips()[0],
            Qt::LeftButton);
        QVERIFY(
            drop(*f.window, {folder.write(QStringLiteral("README.md"), QByteArray(1200, 'x')),
                             folder.write(QStringLiteral("a rather long name of a file with notes in it.txt"), kNotes),
                             folder.write(QStringLiteral("settings.json"), "{\"a\": 1}"),
                             folder.write(QStringLiteral("photo.png"), QByteArray("\x89PNG\0\0", 6))}));
        QVERIFY(isCounted(f));
        test::picture(*f.window, QStringLiteral("attachments-fit"), {560, 1280}, 800);
        QVERIFY(drop(*f.window, {folder.write(QStringLiteral("long.txt"), QByteArray(5000, 'x'))}));
        f.type(QStringLiteral("And this?"));
        QVERIFY(isCounted(f));
        test::picture(*f.window, QStringLiteral("attachments-too-long"), {560, 1280}, 800);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestAttachments)
#include "tst_attachments.moc"
