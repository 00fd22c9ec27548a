#include "ui/chat/attachment_file.h"

#include <algorithm>

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QMimeData>
#include <QStringDecoder>
#include <QUrl>

#include "ui/chat/pdf_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

const QByteArray kPdfMark = QByteArrayLiteral("%PDF-");
constexpr qint64 kBlock = 256 << 10;

struct AttachmentText {
    Q_DECLARE_TR_FUNCTIONS(Attachments)
};

// Control characters that texts do not contain. Line ends, tabs, form feeds and the
// escapes of terminals are allowed.
bool isForeignToText(char16_t c) {
    return (c < 0x20 && c != u'\n' && c != u'\r' && c != u'\t' && c != u'\f' && c != u'\x1b') || c == 0x7f;
}

bool looksBinary(const QByteArray& content) {
    return std::any_of(content.begin(), content.end(),
                       [](char c) { return isForeignToText(static_cast<unsigned char>(c)); });
}

// A name may hold anything but a slash; in a prompt it is one line.
QString oneLine(QString name) {
    for (QChar& c : name) {
        if (c.isSpace() || c.category() == QChar::Other_Control) {
            c = u' ';
        }
    }
    return name;
}

}  // namespace

ReadAttachment readAttachment(const QString& path, const std::stop_token& stop,
                              const std::function<void(int page, int nPages)>& onPage) {
    const QFileInfo info(path);
    const QString name = oneLine(info.fileName());
    const auto refuse = [](const QString& sentence) { return ReadAttachment{{}, sentence}; };
    if (info.isDir()) {
        return refuse(AttachmentText::tr("%1 is a folder: attach the files in it.").arg(name));
    }
    if (!info.isFile()) {  // opening a pipe would block
        return refuse(info.exists() ? AttachmentText::tr("%1 is not a regular file and cannot be attached.").arg(name)
                                    : AttachmentText::tr("%1 is not there.").arg(name));
    }
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        return refuse(AttachmentText::tr("%1 cannot be read: %2.").arg(name, file.errorString()));
    }
    if (file.peek(kPdfMark.size()) == kPdfMark) {
        const PdfText pdf = readPdf(path, name, kLargestAttachment, stop, onPage);
        return pdf.error.isEmpty() ? ReadAttachment{{name, file.size(), pdf.text}, {}} : refuse(pdf.error);
    }
    QByteArray content;
    while (content.size() <= kLargestAttachment) {
        if (stop.stop_requested()) {
            return refuse(AttachmentText::tr("%1 was not attached: its reading was cancelled.").arg(name));
        }
        const QByteArray block = file.read(std::min(kBlock, kLargestAttachment + 1 - content.size()));
        if (block.isEmpty()) {
            break;
        }
        content += block;
    }
    if (content.size() > kLargestAttachment) {
        return refuse(AttachmentText::tr("%1 is too large to attach: it has %2, and up to %3 are read. Attach the part "
                                         "that matters.")
                          .arg(name, bytesText(static_cast<quint64>(file.size())),
                               bytesText(static_cast<quint64>(kLargestAttachment))));
    }
    if (file.error() != QFileDevice::NoError) {
        return refuse(AttachmentText::tr("%1 cannot be read: %2.").arg(name, file.errorString()));
    }
    const auto marked = QStringConverter::encodingForData(content);
    QStringDecoder decoder(marked.value_or(QStringConverter::Utf8));
    QString text = decoder.decode(content);
    const bool binary =
        marked.has_value() && marked != QStringConverter::Utf8
            ? std::any_of(text.begin(), text.end(), [](QChar c) { return isForeignToText(c.unicode()); })
            : looksBinary(content);
    if (binary) {
        return refuse(
            AttachmentText::tr("%1 is not a text file. Text, source code, CSV, Markdown and PDF can be attached.")
                .arg(name));
    }
    if (decoder.hasError() || !text.isValidUtf16()) {
        return refuse(AttachmentText::tr("The text of %1 is in an encoding that cannot be told. Save it as UTF-8 and "
                                         "attach it again.")
                          .arg(name));
    }
    text.replace(QStringLiteral("\r\n"), QStringLiteral("\n")).replace(u'\r', u'\n');
    if (text.trimmed().isEmpty()) {
        return refuse(AttachmentText::tr("%1 is empty.").arg(name));
    }
    return {{name, content.size(), text}, {}};
}

bool isModelPath(const QString& path) {
    const QFileInfo info(path);
    if (info.isDir()) {
        return true;
    }
    const QString suffix = info.suffix().toLower();
    if (suffix == QStringLiteral("gguf") || suffix == QStringLiteral("safetensors")) {
        return true;
    }
    QFile file(path);  // stores of models name their files by a checksum
    return info.isFile() && file.open(QIODevice::ReadOnly) && file.read(4) == "GGUF";
}

QStringList attachablePathsIn(const QMimeData* mime) {
    QStringList paths;
    const QList<QUrl> urls = mime->urls();
    for (const QUrl& url : urls) {
        const QString path = url.toLocalFile();
        if (!url.isLocalFile() || !QFileInfo(path).isFile() || isModelPath(path)) {
            return {};
        }
        paths += path;
    }
    return paths;
}

}  // namespace offstage::ui
