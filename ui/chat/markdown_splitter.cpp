#include "ui/chat/markdown_splitter.h"

#include <algorithm>

#include "ui/chat/footnotes.h"

namespace offstage::ui {

namespace {

using Kind = MarkdownSegment::Kind;

qsizetype indentOf(QStringView line) {
    qsizetype columns = 0;
    for (const QChar c : line) {
        if (c == u' ') {
            ++columns;
        } else if (c == u'\t') {
            columns += 4;
        } else {
            break;
        }
    }
    return columns;
}

bool isListItem(QStringView line) {
    line = line.trimmed();
    if (line.size() < 2) {
        return false;
    }
    if ((line[0] == u'-' || line[0] == u'*' || line[0] == u'+') && line[1].isSpace()) {
        return true;
    }
    qsizetype digits = 0;
    while (digits < line.size() && digits < 9 && line[digits].isDigit()) {
        ++digits;
    }
    return digits > 0 && digits + 1 < line.size() && (line[digits] == u'.' || line[digits] == u')') &&
           line[digits + 1].isSpace();
}

bool isHeading(QStringView line) {
    qsizetype marks = 0;
    while (marks < line.size() && line[marks] == u'#') {
        ++marks;
    }
    return marks >= 1 && marks <= 6 && (marks == line.size() || line[marks].isSpace());
}

// Cells of a table row; 0 when it has no bar at all.
qsizetype cellsOf(QStringView line) {
    line = line.trimmed();
    qsizetype bars = 0;
    for (qsizetype i = 0; i < line.size(); ++i) {
        if (line[i] == u'\\') {
            ++i;
        } else if (line[i] == u'|' && i != 0 && i != line.size() - 1) {
            ++bars;
        }
    }
    return line.contains(u'|') ? bars + 1 : 0;
}

bool isDelimiterRow(QStringView line) {
    line = line.trimmed();
    if (!line.contains(u'|') || !line.contains(u'-')) {
        return false;
    }
    return std::all_of(line.begin(), line.end(),
                       [](QChar c) { return c == u'|' || c == u'-' || c == u':' || c == u' '; });
}

}  // namespace

qsizetype MarkdownSegment::sourceOf(qsizetype at) const {
    const auto after = std::upper_bound(lines.begin(), lines.end(), at,
                                        [](qsizetype x, const SourceLine& line) { return x < line.text; });
    if (after == lines.begin()) {
        return lines.isEmpty() ? at : lines.first().source;
    }
    const SourceLine& line = *std::prev(after);
    return line.source + at - line.text;
}

void MarkdownSplitter::append(QStringView text) {
    m_partial += text;
    qsizetype from = 0;
    while (true) {
        const qsizetype end = m_partial.indexOf(u'\n', from);
        const qsizetype length = (end < 0 ? m_partial.size() : end) - from;
        if (length > kLineLimit) {
            // Cuts after the last blank of the first kLineLimit characters, but never
            // between two surrogates.
            const QStringView head = QStringView(m_partial).mid(from, kLineLimit);
            qsizetype cut = head.lastIndexOf(u' ') + 1;
            if (cut < kLineLimit / 2) {
                cut = head.back().isHighSurrogate() ? kLineLimit - 1 : kLineLimit;
            }
            m_lines.take(head.first(cut), false, m_partialAt + from);
            from += cut;
        } else if (end >= 0) {
            m_lines.take(QStringView(m_partial).mid(from, length), true, m_partialAt + from);
            from = end + 1;
        } else {
            break;
        }
    }
    m_partial.remove(0, from);
    m_partialAt += from;
}

void MarkdownSplitter::finish() {
    if (!m_partial.isEmpty()) {
        m_lines.take(m_partial, false, m_partialAt);
        m_partialAt += m_partial.size();
        m_partial.clear();
    }
    if (m_lines.open.kind == MarkdownSegment::Kind::Code && m_lines.open.text.isEmpty()) {
        m_lines.open = {};  // a fence that ends the text, as of an answer that was stopped there
    }
    m_lines.close();
}

QList<MarkdownSegment> MarkdownSplitter::growing() const {
    Lines ahead = m_lines;
    ahead.finished.clear();
    if (!m_partial.isEmpty()) {
        ahead.take(m_partial, false, m_partialAt);
    }
    ahead.close();
    return ahead.finished;
}

void MarkdownSplitter::Lines::close() {
    if (open.kind == Kind::Table && open.continued && !open.text.isEmpty()) {
        open.text.prepend(tableHead);  // to be read on its own; a renderer leaves the repeated header out
        for (SourceLine& line : open.lines) {
            line.text += tableHead.size();
        }
        open.lines = headLines + open.lines;
    }
    const bool keepEmptyCode = open.kind == Kind::Code && !open.continued;
    if (!open.text.isEmpty() || keepEmptyCode) {
        if (open.kind == Kind::Prose) {
            while (open.text.endsWith(u'\n')) {
                open.text.chop(1);
            }
        }
        if (!open.text.isEmpty() || keepEmptyCode) {
            finished.append(open);
        }
    }
    open = {};
    blankBefore = isList = closed = false;
    lines = 0;
}

void MarkdownSplitter::Lines::take(QStringView line, bool wholeLine, qsizetype source) {
    if (line.endsWith(u'\r')) {
        line.chop(1);
    }
    if (open.kind == Kind::Code) {
        takeCode(line, wholeLine, source);
        return;
    }
    if (open.kind == Kind::Table) {
        if (takeTableRow(line, source)) {
            return;
        }
        close();
    }
    if (beginFence(line) || beginTable(line, source)) {
        return;
    }
    takeProse(line, wholeLine, source);
}

bool MarkdownSplitter::Lines::beginFence(QStringView line) {
    const QStringView mark = line.trimmed();
    if (!mark.startsWith(u"```") && !mark.startsWith(u"~~~")) {
        return false;
    }
    if (indentOf(line) > 3 && !isList) {
        return false;
    }
    const QChar character = mark[0];
    qsizetype length = 0;
    while (length < mark.size() && mark[length] == character) {
        ++length;
    }
    const QStringView info = mark.mid(length).trimmed();
    if (character == u'`' && info.contains(u'`')) {
        return false;  // inline code that begins a line
    }
    close();
    open.kind = Kind::Code;
    const qsizetype blank = info.indexOf(u' ');
    open.language = (blank < 0 ? info : info.first(blank)).left(32).toString().toLower();
    fence = character;
    fenceLength = length;
    fenceIndent = indentOf(line);
    return true;
}

void MarkdownSplitter::Lines::takeCode(QStringView line, bool wholeLine, qsizetype source) {
    const QStringView mark = line.trimmed();
    if (mark.size() >= fenceLength && std::all_of(mark.begin(), mark.end(), [this](QChar c) { return c == fence; })) {
        close();
        return;
    }
    qsizetype drop = 0;
    while (drop < fenceIndent && drop < line.size() && line[drop] == u' ') {
        ++drop;
    }
    open.lines.append({open.text.size(), source + drop});
    open.text += line.mid(drop);
    if (wholeLine) {
        open.text += u'\n';
    }
    if (++lines >= kCodeLines || open.text.size() >= 2 * kProseLimit) {
        const QString language = open.language;
        close();
        open.kind = Kind::Code;
        open.language = language;
        open.continued = true;
    }
}

bool MarkdownSplitter::Lines::beginTable(QStringView line, qsizetype source) {
    if (open.kind != Kind::Prose || blankBefore || closed || open.text.isEmpty() || !isDelimiterRow(line)) {
        return false;
    }
    // The delimiter row turns the line before it into a header.
    QStringView before(open.text);
    before = before.endsWith(u'\n') ? before.chopped(1) : before;
    const qsizetype start = before.lastIndexOf(u'\n') + 1;
    const QString header = before.mid(start).toString();
    if (cellsOf(header) != cellsOf(line) || indentOf(header) > 3) {
        return false;
    }
    const qsizetype headerSource = open.sourceOf(start);
    open.text.truncate(start);
    while (!open.lines.isEmpty() && open.lines.last().text >= start) {
        open.lines.removeLast();
    }
    close();
    open.kind = Kind::Table;
    tableHead = header + u'\n';
    headLines = {{0, headerSource}, {tableHead.size(), source}};
    tableHead += line;
    tableHead += u'\n';
    open.text = tableHead;
    open.lines = headLines;
    return true;
}

bool MarkdownSplitter::Lines::takeTableRow(QStringView line, qsizetype source) {
    if (!line.contains(u'|')) {
        return false;
    }
    open.lines.append({open.text.size(), source});
    open.text += line;
    open.text += u'\n';
    if (++lines >= kTableRows || open.text.size() >= 2 * kProseLimit) {
        close();
        open.kind = Kind::Table;
        open.continued = true;
    }
    return true;
}

void MarkdownSplitter::Lines::takeProse(QStringView line, bool wholeLine, qsizetype source) {
    if (line.trimmed().isEmpty()) {
        if (!open.text.isEmpty()) {
            blankBefore = true;
            if (closed) {
                close();
            }
        }
        return;
    }
    const bool item = isListItem(line);
    const bool heading = isHeading(line);
    const QString note = noteLabel(line);
    if (!open.text.isEmpty()) {
        const bool long_ = open.text.size() >= kProseLimit;
        bool cut = closed || heading || !note.isEmpty() || (long_ && (!isList || item));
        if (!open.note.isEmpty()) {
            // Only what is indented belongs to a footnote, or ends its paragraph.
            cut = cut || long_ || (indentOf(line) < 2 && (blankBefore || item));
        } else if (blankBefore) {
            // An indented line, or the next item, continues the list before it.
            cut = cut || !isList || (indentOf(line) < 2 && !item);
        }
        if (cut) {
            close();
        } else if (blankBefore) {
            open.text += u'\n';
        }
    }
    if (open.text.isEmpty()) {
        isList = item || !note.isEmpty();
        open.note = note;
    }
    blankBefore = false;
    closed = heading;
    open.lines.append({open.text.size(), source});
    open.text += line;
    if (wholeLine) {
        open.text += u'\n';
    } else if (open.text.size() >= kProseLimit) {
        closed = true;  // a line without an end: the rest of it is a separate paragraph
    }
}

}  // namespace offstage::ui
