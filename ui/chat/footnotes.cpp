#include "ui/chat/footnotes.h"

#include <algorithm>

#include "ui/chat/math_text.h"

namespace offstage::ui {

namespace {

// The place of the bracket that ends the label after "[^"; -1: it is no label.
qsizetype labelEnd(QStringView text, qsizetype from) {
    const qsizetype end = text.indexOf(u']', from);
    const QStringView label = end < 0 ? QStringView() : text.mid(from, end - from);
    const bool isLabel =
        !label.isEmpty() && std::none_of(label.begin(), label.end(), [](QChar c) { return c.isSpace() || c == u'['; });
    return isLabel ? end : -1;
}

}  // namespace

QString noteLabel(QStringView line) {
    qsizetype at = 0;
    while (at < 3 && at < line.size() && line[at] == u' ') {
        ++at;
    }
    if (!line.mid(at).startsWith(u"[^")) {
        return {};
    }
    const qsizetype end = labelEnd(line, at + 2);
    return end >= 0 && line.mid(end).startsWith(u"]:") ? line.mid(at + 2, end - at - 2).toString() : QString();
}

QList<NoteMark> findNoteMarks(QStringView text, const QSet<QString>& labels) {
    QList<NoteMark> marks;
    for (qsizetype at = 0; at < text.size();) {
        if (text[at] == u'`') {
            at = behindCodeSpan(text, at);
            continue;
        }
        const qsizetype end = text.mid(at).startsWith(u"[^") ? labelEnd(text, at + 2) : -1;
        const QString label = end < 0 ? QString() : text.mid(at + 2, end - at - 2).toString();
        if (labels.contains(label)) {
            marks.append({at, end + 1, label});
            at = end + 1;
        } else {
            at += text[at] == u'\\' ? 2 : 1;
        }
    }
    return marks;
}

}  // namespace offstage::ui
