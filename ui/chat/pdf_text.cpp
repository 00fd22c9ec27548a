#include "ui/chat/pdf_text.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QLocale>

#ifdef OFFSTAGE_PDF
#include <QtPdf/QPdfDocument>
#include <QtPdf/QPdfSelection>
#endif

#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

struct PdfWords {
    Q_DECLARE_TR_FUNCTIONS(Pdf)
};

#ifdef OFFSTAGE_PDF

QString openingProblem(QPdfDocument::Error error, const QString& name) {
    switch (error) {
        case QPdfDocument::Error::IncorrectPassword:
            return PdfWords::tr("%1 is protected by a password. Save it without one and attach that.").arg(name);
        case QPdfDocument::Error::UnsupportedSecurityScheme:
            return PdfWords::tr(
                       "%1 is encrypted in a way that cannot be read. Save it without protection and attach "
                       "that.")
                .arg(name);
        case QPdfDocument::Error::FileNotFound:
            return PdfWords::tr("%1 is not there.").arg(name);
        case QPdfDocument::Error::None:
            return {};
        default:
            return PdfWords::tr(
                       "%1 is not a whole PDF file. Open it in a PDF viewer and save it anew, or copy its text.")
                .arg(name);
    }
}

// The PDF reader's additions to the text: U+0002 for a hyphen at the end of a line, whose
// word continues in the next one, and other control characters.
QString cleaned(QString text) {
    text.replace(QStringLiteral("\r\n"), QStringLiteral("\n")).replace(u'\r', u'\n');
    text.remove(QStringLiteral("\x02\n"));
    text.remove(QStringLiteral("\ufffe\n"));
    text.removeIf(
        [](QChar c) { return (c < u' ' && c != u'\n' && c != u'\t') || c == QChar(0x7f) || c == QChar(0xfffe); });
    return text.trimmed();
}

#endif

}  // namespace

#ifdef OFFSTAGE_PDF

bool readsPdf() {
    return true;
}

PdfText readPdf(const QString& path, const QString& name, qsizetype mostText, const std::stop_token& stop,
                const std::function<void(int page, int nPages)>& onPage) {
    const auto refuse = [](const QString& sentence) { return PdfText{{}, sentence}; };
    const qint64 bytes = QFileInfo(path).size();
    if (bytes > kLargestPdf) {
        return refuse(
            PdfWords::tr("%1 is too large to attach: it has %2, and PDF files of up to %3 are read. Attach the "
                         "pages that matter.")
                .arg(name, bytesText(static_cast<quint64>(bytes)), bytesText(static_cast<quint64>(kLargestPdf))));
    }
    QPdfDocument document;
    if (const QString problem = openingProblem(document.load(path), name); !problem.isEmpty()) {
        return refuse(problem);
    }
    QString text;
    const int nPages = document.pageCount();
    for (int page = 0; page < nPages; ++page) {
        if (stop.stop_requested()) {
            return refuse(PdfWords::tr("%1 was not attached: its reading was cancelled.").arg(name));
        }
        if (onPage) {
            onPage(page + 1, nPages);
        }
        const QString here = cleaned(document.getAllText(page).text());
        if (!here.isEmpty()) {
            text += text.isEmpty() ? here : QStringLiteral("\n\n") + here;
        }
        if (text.size() > mostText) {
            const QLocale locale;
            return refuse(
                PdfWords::tr("%1 is too long to attach: by page %2 of %3 it has more than %4 characters. Attach "
                             "the pages that matter.")
                    .arg(name, locale.toString(page + 1), locale.toString(nPages), locale.toString(mostText)));
        }
    }
    if (text.isEmpty()) {
        return refuse(
            PdfWords::tr("%1 has no text: its pages are pictures. Let a program recognize their text (OCR) and "
                         "attach that.")
                .arg(name));
    }
    return {text, {}};
}

#else

bool readsPdf() {
    return false;
}

PdfText readPdf(const QString&, const QString& name, qsizetype, const std::stop_token&,
                const std::function<void(int page, int nPages)>&) {
    return {
        {},
        PdfWords::tr("%1: this Offstage was built without Qt PDF and cannot read PDF files; copy its text.").arg(name)};
}

#endif

}  // namespace offstage::ui
