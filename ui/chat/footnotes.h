#pragma once

#include <QList>
#include <QSet>
#include <QString>

namespace offstage::ui {

// A reference to a footnote in a Markdown text, "[^label]".
struct NoteMark {
    qsizetype begin = 0;
    qsizetype end = 0;
    QString label;
};

// The label of the footnote that the line begins, "[^label]: text"; empty: none.
QString noteLabel(QStringView line);

// The references to these footnotes, outside of code spans; "[^a-z]" is one only where
// there is such a footnote.
QList<NoteMark> findNoteMarks(QStringView markdown, const QSet<QString>& labels);

}  // namespace offstage::ui
