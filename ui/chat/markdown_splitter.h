#pragma once

#include <QList>
#include <QString>

namespace offstage::ui {

// The beginning of a segment's line: in the segment's text, and in the original text.
struct SourceLine {
    qsizetype text = 0;
    qsizetype source = 0;
    bool operator==(const SourceLine&) const = default;
};

// A piece of a Markdown text that is laid out on its own.
struct MarkdownSegment {
    enum class Kind { Prose, Code, Table };
    Kind kind = Kind::Prose;
    QString text;      // Code: the text between the fences. Table: header row, delimiter row, rows. Prose: as written
    QString language;  // for Code, in lower case; may be empty
    bool continued = false;        // goes on where the segment before it was cut: same box, no header
    QList<SourceLine> lines = {};  // in order of the source; a repeated table head stands first
    QString note = {};             // of a footnote, "[^label]: text": its label

    // The place in the original text of a place in this segment's text: exact, except for
    // blank lines left out.
    qsizetype sourceOf(qsizetype at) const;

    bool operator==(const MarkdownSegment&) const = default;
};

// Cuts a growing Markdown text into segments, so that finished ones are rendered once and
// only the last is rendered again. It cuts at blank lines, headings, around fenced code,
// tables and footnotes; and inside very long code, tables and paragraphs, so that one
// more token has a bounded cost in an answer of any length. Only whole lines (or a line
// longer than kLineLimit) change the state: the result does not depend on how append()
// received the text.
class MarkdownSplitter {
  public:
    static constexpr qsizetype kLineLimit = 4096;   // characters; a longer line is cut
    static constexpr qsizetype kProseLimit = 4096;  // characters of one prose segment, cut at the next line's end
    static constexpr int kCodeLines = 60;
    static constexpr int kTableRows =
        8;  // few: a table's layout is dear, and the growing one is laid out again and again

    void append(QStringView text);
    // No more text will come: growing segments are finished.
    void finish();

    // Segments that will not change any more.
    const QList<MarkdownSegment>& finished() const { return m_lines.finished; }
    // The unfinished segments, as if the text ended here.
    QList<MarkdownSegment> growing() const;

  private:
    // The state after some whole lines. It is copied for looking ahead and therefore
    // small: `finished` shares its data.
    struct Lines {
        QList<MarkdownSegment> finished;
        MarkdownSegment open;
        bool blankBefore = false;  // the last line was blank
        bool isList = false;       // the open prose began as a list
        bool closed = false;       // the open prose takes no further line (a heading)
        QChar fence;               // of open code
        qsizetype fenceLength = 0;
        qsizetype fenceIndent = 0;
        int lines = 0;      // of the open code or table
        QString tableHead;  // header and delimiter rows
        QList<SourceLine> headLines;

        // `source`: where the line begins in the whole text.
        void take(QStringView line, bool wholeLine, qsizetype source);
        void takeCode(QStringView line, bool wholeLine, qsizetype source);
        bool takeTableRow(QStringView line, qsizetype source);
        bool beginFence(QStringView line);
        bool beginTable(QStringView line, qsizetype source);
        void takeProse(QStringView line, bool wholeLine, qsizetype source);
        void close();
    };

    Lines m_lines;
    QString m_partial;          // the last line, still without its end
    qsizetype m_partialAt = 0;  // its beginning in the whole text
};

}  // namespace offstage::ui
