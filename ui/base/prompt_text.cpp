#include "ui/base/prompt_text.h"

#include <algorithm>

#include <QCoreApplication>

namespace offstage::ui {

namespace {

qsizetype longestRunOfBackticks(const QString& text) {
    qsizetype longest = 0;
    qsizetype run = 0;
    for (const QChar c : text) {
        run = c == u'`' ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return longest;
}

}  // namespace

QString framed(const Attachment& attachment) {
    const QString fence(std::max<qsizetype>(3, longestRunOfBackticks(attachment.text) + 1), u'`');
    const QString end = attachment.text.endsWith(u'\n') ? QString() : QStringLiteral("\n");
    // Not translated: models were trained on English, and the prompt must not change with
    // the window's language.
    return QStringLiteral("File: ") + attachment.name + u'\n' + fence + u'\n' + attachment.text + end + fence;
}

QString promptForModel(const QString& text, const QList<Attachment>& attachments) {
    QString out;
    for (const Attachment& attachment : attachments) {
        out += framed(attachment) + QStringLiteral("\n\n");
    }
    return attachments.isEmpty() ? text : out + text;
}

QString cutText(const Message& prompt) {
    return prompt.cut->isEmpty()
               ? QCoreApplication::translate("offstage::ui::MessageWidget",
                                             "The model no longer sees what stands above.")
               : QCoreApplication::translate("offstage::ui::MessageWidget",
                                             "The model no longer sees what stands above, but this summary of it:") +
                     u'\n' + *prompt.cut;
}

}  // namespace offstage::ui
