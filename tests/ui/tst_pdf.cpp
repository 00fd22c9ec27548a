// PDF files with a message: their text is read page by page on another thread; files
// without text are refused with a reason.

#include <QMimeData>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QPushButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/attachment_chips.h"
#include "ui/chat/attachment_file.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/context_counter.h"
#include "ui/chat/draft_attachments.h"
#include "ui/chat/pdf_text.h"

using namespace offstage::test;
using namespace offstage::ui;

namespace {

const QString kName = QStringLiteral("report.pdf");

// A page for each text; an empty one has a filled rectangle.
QString pdfOf(const QTemporaryDir& folder, const QStringList& pages, const QString& name = kName) {
    const QString path = folder.filePath(name);
    QPdfWriter writer(path);
    writer.setPageSize(QPageSize(QPageSize::A5));
    writer.setResolution(100);
    QPainter painter(&writer);
    for (qsizetype i = 0; i < pages.size(); ++i) {
        if (i > 0) {
            writer.newPage();
        }
        if (pages[i].isEmpty()) {
            painter.fillRect(QRect(50, 50, 200, 200), Qt::blue);
        } else {
            painter.drawText(QRect(20, 20, 500, 700), Qt::TextWordWrap, pages[i]);
        }
    }
    return path;
}

// One empty page, with these lines for the trailer and further objects from number 4 on.
QByteArray rawPdf(const QByteArray& trailer, const QByteArrayList& objects) {
    QByteArrayList all = {"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                          "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >>"};
    all += objects;
    QByteArray file = "%PDF-1.4\n";
    QByteArray table = "xref\n0 " + QByteArray::number(all.size() + 1) + "\n0000000000 65535 f \n";
    for (qsizetype i = 0; i < all.size(); ++i) {
        table += QByteArray::number(file.size()).rightJustified(10, '0') + " 00000 n \n";
        file += QByteArray::number(i + 1) + " 0 obj\n" + all[i] + "\nendobj\n";
    }
    const QByteArray at = QByteArray::number(file.size());
    return file + table + "trailer\n<< /Size " + QByteArray::number(all.size() + 1) + " /Root 1 0 R " + trailer +
           " >>\nstartxref\n" + at + "\n%%EOF\n";
}

QString write(const QTemporaryDir& folder, const QByteArray& content) {
    QFile file(folder.filePath(kName));
    return file.open(QIODevice::WriteOnly) && file.write(content) == content.size() ? file.fileName() : QString();
}

PdfText read(const QString& path, qsizetype mostText = kLargestAttachment) {
    return readPdf(path, kName, mostText, {}, {});
}

DraftAttachments& attachments(const WindowFixture& f) {
    return part<ChatPage>(*f.window).attachments();
}

QStringList chips(const WindowFixture& f) {
    QStringList names;
    for (const AttachmentChip* chip : part<ChatPage>(*f.window).input().chips().chips()) {
        names += chip->name();
    }
    return names;
}

}  // namespace

class TestPdf : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        QSettings().clear();
        if (!readsPdf()) {
            QSKIP("built without Qt PDF");
        }
    }

    void text_isThatOfAllPages() {
        const QTemporaryDir folder;
        const QString path = pdfOf(folder, {QStringLiteral("First page, größer."), {}, QStringLiteral("Third page.")});
        QList<QPair<int, int>> pages;
        const PdfText pdf = readPdf(path, kName, 1000, {}, [&pages](int page, int of) { pages.append({page, of}); });
        QCOMPARE(pdf.error, QString());
        QCOMPARE(pdf.text, QStringLiteral("First page, größer.\n\nThird page."));
        QCOMPARE(pages, (QList<QPair<int, int>>{{1, 3}, {2, 3}, {3, 3}}));
        const ReadAttachment file = readAttachment(path);
        QCOMPARE(file.error, QString());
        QCOMPARE(file.attachment.name, kName);
        QCOMPARE(file.attachment.text, pdf.text);
        QCOMPARE(file.attachment.bytes, QFileInfo(path).size());
    }

    void pictures_haveNoText() {
        const QTemporaryDir folder;
        const PdfText pdf = read(pdfOf(folder, {{}, {}}));
        QVERIFY2(pdf.error.contains(kName) && pdf.error.contains(QStringLiteral("OCR")), qPrintable(pdf.error));
    }

    void protectedOnes_areRefused() {
        const QTemporaryDir folder;
        const QByteArray key = "<" + QByteArray(32, 'x').toHex() + ">";
        const QByteArray trailer = "/Encrypt 4 0 R /ID [" + key + key + "]";
        const QByteArray standard = "<< /Filter /Standard /V 1 /R 2 /O " + key + " /U " + key + " /P -4 >>";
        const PdfText password = read(write(folder, rawPdf(trailer, {standard})));
        QVERIFY2(password.error.contains(QStringLiteral("protected by a password")), qPrintable(password.error));
        const PdfText other = read(write(folder, rawPdf(trailer, {"<< /Filter /Other /V 9 /R 9 >>"})));
        QVERIFY2(other.error.contains(QStringLiteral("encrypted in a way")), qPrintable(other.error));
        // The same page without it is a PDF file.
        QVERIFY(read(write(folder, rawPdf({}, {}))).error.contains(QStringLiteral("OCR")));
    }

    void damagedOnes_areRefused() {
        const QTemporaryDir folder;
        const PdfText pdf = read(write(folder, "%PDF-1.7\n%\xe2\xe3"));
        QVERIFY2(pdf.error.contains(QStringLiteral("not a whole PDF file")), qPrintable(pdf.error));
    }

    void tooLong_isRefused_withThePage() {
        const QTemporaryDir folder;
        const QString page = QStringLiteral("word ").repeated(30).trimmed();
        const PdfText pdf = read(pdfOf(folder, {page, page, page}), 200);
        QVERIFY2(pdf.error.contains(QStringLiteral("by page 2 of 3")), qPrintable(pdf.error));
        QVERIFY(pdf.text.isEmpty());
    }

    void stop_endsBetweenPages() {
        const QTemporaryDir folder;
        const QString path = pdfOf(folder, {QStringLiteral("one"), QStringLiteral("two"), QStringLiteral("three")});
        std::stop_source stop;
        int last = 0;
        const ReadAttachment file = readAttachment(path, stop.get_token(), [&](int page, int) {
            last = page;
            if (page == 2) {
                stop.request_stop();
            }
        });
        QCOMPARE(last, 2);
        QVERIFY2(file.error.contains(QStringLiteral("cancelled")), qPrintable(file.error));
        QVERIFY(file.attachment.text.isEmpty());
    }

    // ---------------------------------------------------------------- in the window

    void attached_isReadElsewhere_andSentWhenRead() {
        const QTemporaryDir folder;
        WindowFixture f;
        f.openAndWait();
        attachments(f).attach({pdfOf(folder, {QStringLiteral("The answer is 42.")})});
        QVERIFY(attachments(f).isReading());  // not by this thread
        QVERIFY(chips(f).isEmpty());
        f.ask(QStringLiteral("What is the answer?"));
        QVERIFY(f.messages().isEmpty());  // waits for the file
        QTRY_COMPARE(f.messages().size(), 2);
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        const std::string prompt = f.stage->requests().back().messages.back().content;
        QCOMPARE(QString::fromStdString(prompt),
                 QStringLiteral("File: report.pdf\n```\nThe answer is 42.\n```\n\nWhat is the answer?"));
        QVERIFY(chips(f).isEmpty());
    }

    void cancelled_isNamed_andNothingIsSent() {
        const QTemporaryDir folder;
        WindowFixture f;
        f.openAndWait();
        QStringList pages;
        for (int i = 0; i < 1500; ++i) {  // many times the pages read before the button appears
            pages += QStringLiteral("page %1").arg(i);
        }
        attachments(f).attach({pdfOf(folder, pages)});
        f.ask(QStringLiteral("Sum it up"));
        QTRY_VERIFY(find<QPushButton>(part<ChatPage>(*f.window).input(), "Cancel reading files").isVisible());
        QVERIFY2(part<ChatPage>(*f.window).input().reading().contains(kName),
                 qPrintable(part<ChatPage>(*f.window).input().reading()));
        QTest::mouseClick(&find<QPushButton>(part<ChatPage>(*f.window).input(), "Cancel reading files"),
                          Qt::LeftButton);
        QTRY_VERIFY(!attachments(f).isReading());
        QVERIFY2(part<ChatPage>(*f.window).input().notice().contains(QStringLiteral("cancelled")),
                 qPrintable(part<ChatPage>(*f.window).input().notice()));
        QVERIFY(!find<QPushButton>(part<ChatPage>(*f.window).input(), "Cancel reading files").isVisible());
        QVERIFY(chips(f).isEmpty());
        QVERIFY(f.messages().isEmpty());
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QStringLiteral("Sum it up"));
    }

    void refused_sendsNothing_theOthersAreAttached() {
        const QTemporaryDir folder;
        WindowFixture f;
        f.openAndWait();
        QFile notes(folder.filePath(QStringLiteral("notes.txt")));
        QVERIFY(notes.open(QIODevice::WriteOnly) && notes.write("notes") == 5);
        notes.close();
        attachments(f).attach({pdfOf(folder, {{}}), notes.fileName()});
        f.ask(QStringLiteral("Sum it up"));
        QTRY_COMPARE(chips(f), QStringList{QStringLiteral("notes.txt")});
        QVERIFY(part<ChatPage>(*f.window).input().notice().contains(QStringLiteral("OCR")));
        QTRY_VERIFY(part<ChatPage>(*f.window).counter().isUpToDate());
        QVERIFY(f.messages().isEmpty());  // the user decides without the file
        QCOMPARE(part<ChatPage>(*f.window).input().text(), QStringLiteral("Sum it up"));
    }

    void windowClosed_whileItReads() {
        const QTemporaryDir folder;
        const QString path = pdfOf(folder, QStringList(100, QStringLiteral("page")));
        const WindowFixture f;
        attachments(f).attach({path, path});
        QVERIFY(attachments(f).isReading());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPdf)
#include "tst_pdf.moc"
