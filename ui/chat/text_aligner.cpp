#include "ui/chat/text_aligner.h"

#include <algorithm>

#include "ui/chat/footnotes.h"
#include "ui/chat/math_text.h"

namespace offstage::ui {

namespace {

// Plane 15 is for private use: the parser does not interpret its characters, and
// keyboards do not produce them.
constexpr char32_t kFirst = 0xF0000;
constexpr qsizetype kMostFormulas = 0xFFFD;

bool isPlane15(QChar c) {
    return c.unicode() >= 0xDB80 && c.unicode() <= 0xDBBF;
}

}  // namespace

ProtectedText::ProtectedText(const MarkdownSegment& segment, const QSet<QString>& notes) : m_segment(segment) {
    const QString& text = segment.text;
    qsizetype from = 0;
    if (!segment.note.isEmpty()) {
        from = text.indexOf(u"]:") + 2;
        while (from < text.size() && text[from] == u' ') {
            ++from;
        }
        m_text = QStringLiteral("- ");
        m_shifts.append({m_text.size(), from});
    }
    if (std::any_of(text.begin(), text.end(), isPlane15)) {
        m_text += QStringView(text).mid(from);
        return;
    }
    const bool hasMath =
        text.contains(u'$') || text.contains(QStringLiteral("\\(")) || text.contains(QStringLiteral("\\["));
    const QList<MathSpan> spans = hasMath ? findMath(text) : QList<MathSpan>();
    const QList<NoteMark> marks = notes.isEmpty() ? QList<NoteMark>() : findNoteMarks(text, notes);
    auto span = spans.begin();
    auto mark = marks.begin();
    const auto replace = [&](qsizetype begin, qsizetype end, Formula by) {
        if (begin < from || m_formulas.size() >= kMostFormulas) {
            return;
        }
        m_text += QStringView(text).mid(from, begin - from);
        const char32_t sign = kFirst + static_cast<char32_t>(m_formulas.size());
        by.written = text.mid(begin, end - begin);
        by.source = segment.sourceOf(begin);
        m_formulas.append(by);
        m_text += QString::fromUcs4(&sign, 1);
        m_shifts.append({m_text.size(), end});
        from = end;
    };
    while (span != spans.end() || mark != marks.end()) {
        if (mark == marks.end() || (span != spans.end() && span->begin < mark->begin)) {
            replace(span->begin, span->end, {span->tex, {}, span->display});
            ++span;
        } else {
            replace(mark->begin, mark->end, {mark->label, {}, false, 0, true});
            ++mark;
        }
    }
    m_text += QStringView(text).mid(from);
}

const ProtectedText::Formula* ProtectedText::formulaAt(const QString& text, qsizetype at) const {
    if (m_formulas.isEmpty() || !isPlane15(text[at]) || at + 1 >= text.size()) {
        return nullptr;
    }
    const qsizetype number = static_cast<qsizetype>(QChar::surrogateToUcs4(text[at], text[at + 1]) - kFirst);
    return number >= 0 && number < m_formulas.size() ? &m_formulas[number] : nullptr;
}

qsizetype ProtectedText::sourceOf(qsizetype at) const {
    const auto after = std::upper_bound(m_shifts.begin(), m_shifts.end(), at,
                                        [](qsizetype x, const SourceLine& shift) { return x < shift.text; });
    if (after == m_shifts.begin()) {
        return m_segment.sourceOf(at);
    }
    const SourceLine& shift = *std::prev(after);
    return m_segment.sourceOf(shift.source + at - shift.text);
}

TextAligner::TextAligner(const ProtectedText& source) : m_source(source) {
    m_lines.append(0);
    const QString& text = source.text();
    for (qsizetype i = text.indexOf(u'\n'); i >= 0; i = text.indexOf(u'\n', i + 1)) {
        m_lines.append(i + 1);
    }
}

void TextAligner::goTo(int line, int column) {
    if (line < 1 || line > m_lines.size()) {
        return;
    }
    // Indentation and markers precede a block: as many characters as bytes.
    const qsizetype at = std::min(m_lines[line - 1] + std::max(0, column - 1), m_source.text().size());
    m_at = std::max(m_at, at);
}

void TextAligner::nextLine() {
    const qsizetype end = m_source.text().indexOf(u'\n', m_at);
    m_at = end < 0 ? m_at : end + 1;
}

void TextAligner::skipAddress(const QString& url) {
    const QStringView rest = QStringView(m_source.text()).mid(m_at);
    if (!rest.startsWith(u"](")) {
        return;  // an address that is its own text, or one given elsewhere
    }
    const qsizetype at = url.isEmpty() ? -1 : rest.indexOf(url);
    const qsizetype close = rest.indexOf(u')', std::max<qsizetype>(at < 0 ? 0 : at + url.size(), 0));
    m_at += close < 0 ? 0 : close + 1;
}

void TextAligner::skipFormula() {
    const QString& text = m_source.text();
    while (m_at < text.size() && !isPlane15(text[m_at])) {
        ++m_at;
    }
    m_at = std::min(m_at + 2, text.size());
}

bool TextAligner::matches(qsizetype at, const QString& piece, QList<SourceMap::Run>* runs, qsizetype* end) const {
    const QString& text = m_source.text();
    qsizetype i = 0;
    qsizetype runFrom = 0;
    qsizetype runAt = at;
    const auto closeRun = [&](qsizetype nextAt) {
        if (i > runFrom && runs) {
            const qsizetype source = m_source.sourceOf(runAt);
            runs->append({static_cast<int>(runFrom), static_cast<int>(i - runFrom), source, i - runFrom});
        }
        runFrom = i;
        runAt = nextAt;
    };
    while (i < piece.size()) {
        if (at >= text.size()) {
            return false;
        }
        const QChar want = piece[i] == QChar(QChar::LineSeparator) ? QChar(u'\n') : piece[i];
        const QChar have = text[at];
        if (have == u'\\' && at + 1 < text.size() && text[at + 1] == want && want != u'\\') {
            closeRun(at + 1);
            at += 2;
            ++i;
        } else if (have == u'\\' && want == u'\\' && at + 1 < text.size() && text[at + 1] == u'\\') {
            closeRun(at + 1);
            at += 2;
            ++i;
        } else if (have == u'&' && (want != u'&' || QStringView(text).mid(at).startsWith(u"&amp;"))) {
            const qsizetype close = text.indexOf(u';', at);
            if (close < 0 || close - at > 32) {
                return false;
            }
            closeRun(close + 1);
            const qsizetype length = want.isHighSurrogate() ? 2 : 1;
            if (runs) {
                runs->append({static_cast<int>(i), static_cast<int>(length), m_source.sourceOf(at), close + 1 - at});
            }
            i += length;
            at = close + 1;
            runFrom = i;
        } else if (have == want || (have == u'\n' && want == u' ')) {
            ++at;
            ++i;
        } else {
            return false;
        }
    }
    closeRun(at);
    *end = at;
    return true;
}

QList<SourceMap::Run> TextAligner::align(const QString& piece) {
    // The parser leaves nothing out but markers: the place is near.
    constexpr qsizetype kFarthest = 2048;
    const qsizetype last = std::min(m_source.text().size(), m_at + kFarthest);
    qsizetype end = 0;
    for (qsizetype at = m_at; at < last; ++at) {
        if (matches(at, piece, nullptr, &end)) {
            QList<SourceMap::Run> runs;
            matches(at, piece, &runs, &end);
            m_at = end;
            return runs;
        }
    }
    return {{0, static_cast<int>(piece.size()), m_source.sourceOf(m_at), 0}};
}

}  // namespace offstage::ui
