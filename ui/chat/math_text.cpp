#include "ui/chat/math_text.h"

#include <algorithm>

#include <QHash>

#include "ui/chat/math_symbols.h"

namespace offstage::ui {

namespace {

constexpr qsizetype kLongestInline = 600;
constexpr qsizetype kLongestDisplay = 4000;
constexpr int kDeepestFormula = 40;

bool isEscaped(QStringView text, qsizetype at) {
    qsizetype slashes = 0;
    while (slashes < at && text[at - 1 - slashes] == u'\\') {
        ++slashes;
    }
    return slashes % 2 == 1;
}

bool hasBlankLine(QStringView text) {
    qsizetype from = 0;
    while ((from = text.indexOf(u'\n', from)) >= 0) {
        qsizetype next = ++from;
        while (next < text.size() && (text[next] == u' ' || text[next] == u'\t')) {
            ++next;
        }
        if (next < text.size() && text[next] == u'\n') {
            return true;
        }
    }
    return false;
}

// "5, or 10": begins with an amount and continues with words, without any sign of a
// formula.
bool looksLikeProse(QStringView inside) {
    if (inside.contains(u'\\') || inside.contains(u'^') || inside.contains(u'_') || inside.contains(u'=')) {
        return false;
    }
    int letters = 0;
    int words = 0;
    for (const QChar c : inside) {
        letters = c.isLetter() ? letters + 1 : 0;
        words += letters == 2 ? 1 : 0;
    }
    return words >= (inside.front().isDigit() ? 1 : 3);
}

qsizetype closingDollar(QStringView text, qsizetype from) {
    const qsizetype last = std::min(text.size(), from + kLongestInline);
    for (qsizetype i = from; i < last; ++i) {
        if (text[i] == u'`') {
            return -1;
        }
        if (text[i] != u'$' || isEscaped(text, i)) {
            continue;
        }
        const bool good = i > from && !text[i - 1].isSpace() && (i + 1 == text.size() || !text[i + 1].isDigit());
        return good ? i : -1;
    }
    return -1;
}

class TexReader {
  public:
    TexReader(QStringView text, bool display) : m_text(text), m_display(display) {}

    QString all() { return sequence(QStringView()).trimmed(); }

  private:
    // Reads up to `stop` (a closing brace, or the name of an environment's end), and
    // consumes it.
    QString sequence(QStringView stop);
    QString command(QString& out);
    QString root();
    // "log n", but "log₂ n" and "log(n)"; `before`: what stands there already.
    QString function(const QString& which, const QString& before);
    QString argument();
    QString optional();
    QString rawArgument();
    QString environment(const QString& name);
    QStringView name();
    void skipBlanks() {
        while (m_at < m_text.size() && m_text[m_at].isSpace()) {
            ++m_at;
        }
    }

    QStringView m_text;
    bool m_display;
    qsizetype m_at = 0;
    int m_depth = 0;
};

bool isAtom(QStringView text) {
    if (text.size() <= 1) {
        return true;
    }
    return std::all_of(text.begin(), text.end(), [](QChar c) {
        // Marks and subscripts belong to the letter before them.
        return c.isLetterOrNumber() || c.isMark() || c.isSurrogate() || c == u'′' || c == u'.' ||
               c.category() == QChar::Number_Other;
    });
}

QString grouped(const QString& text) {
    const bool wrapped = text.startsWith(u'(') && text.endsWith(u')') && text.indexOf(u')') == text.size() - 1;
    return isAtom(text) || wrapped ? text : u'(' + text + u')';
}

// Under a root or below a fraction's bar, a product needs parentheses: √(2π), not √2π.
bool isSingle(QStringView text) {
    const auto digit = [](QChar c) { return c.isDigit() || c == u'.'; };
    if (std::all_of(text.begin(), text.end(), digit)) {
        return true;
    }
    const qsizetype base = !text.isEmpty() && text.front().isHighSurrogate() ? 2 : 1;
    const QStringView rest = text.mid(std::min(base, text.size()));
    return std::all_of(rest.begin(), rest.end(), [](QChar c) {
        return c.isMark() || c == u'′' || c.category() == QChar::Number_Other || c.category() == QChar::Letter_Modifier;
    });
}

QString tightlyGrouped(const QString& text) {
    return isSingle(text) ? text : isAtom(text) ? u'(' + text + u')' : grouped(text);
}

QString raised(const QString& text, bool up) {
    QString out;
    for (const QChar c : text) {
        if (c == u' ') {
            continue;
        }
        const QChar mapped = up ? mathSuperscript(c) : mathSubscript(c);
        if (mapped.isNull()) {
            // Not all of it exists as superscript or subscript: written in line.
            const QString plain = grouped(text);
            return (up ? u'^' : u'_') + plain;
        }
        out += mapped;
    }
    return out;
}

QStringView TexReader::name() {
    const qsizetype from = m_at;
    while (m_at < m_text.size() && m_text[m_at].isLetter() && m_text[m_at].unicode() < 128) {
        ++m_at;
    }
    if (m_at == from && m_at < m_text.size()) {
        ++m_at;
    }
    return m_text.mid(from, m_at - from);
}

QString TexReader::rawArgument() {
    skipBlanks();
    if (m_at >= m_text.size()) {
        return {};
    }
    if (m_text[m_at] != u'{') {
        return m_text.mid(m_at++, 1).toString();
    }
    const qsizetype from = ++m_at;
    int open = 1;
    while (m_at < m_text.size()) {
        const QChar c = m_text[m_at++];
        open += c == u'{' ? 1 : c == u'}' ? -1 : 0;
        if (open == 0) {
            return m_text.mid(from, m_at - 1 - from).toString();
        }
    }
    return m_text.mid(from).toString();
}

QString TexReader::argument() {
    skipBlanks();
    if (m_at >= m_text.size() || m_depth >= kDeepestFormula) {
        return {};
    }
    const QChar c = m_text[m_at];
    if (c == u'{') {
        ++m_at;
        ++m_depth;
        const QString inside = sequence(u"}").trimmed();
        --m_depth;
        return inside;
    }
    if (c == u'\\') {
        ++m_at;
        QString out;
        ++m_depth;
        out += command(out);
        --m_depth;
        return out;
    }
    const int length = c.isHighSurrogate() && m_at + 1 < m_text.size() ? 2 : 1;
    const QString one = m_text.mid(m_at, length).toString();
    m_at += length;
    return one == u"-" ? QStringLiteral("−") : one;
}

QString TexReader::optional() {
    if (m_at >= m_text.size() || m_text[m_at] != u'[') {
        return {};
    }
    const qsizetype end = m_text.indexOf(u']', m_at);
    if (end < 0) {
        return {};
    }
    const QString inside = m_text.mid(m_at + 1, end - m_at - 1).toString();
    m_at = end + 1;
    return inside;
}

QString TexReader::environment(const QString& environmentName) {
    if (environmentName.startsWith(u"array")) {
        rawArgument();  // the columns' alignment
    }
    ++m_depth;
    const QString body = m_depth < kDeepestFormula ? sequence(environmentName).trimmed() : QString();
    --m_depth;
    // Rows come apart at the line feeds that sequence() has made of "\\".
    QStringList rows = body.split(u'\n', Qt::SkipEmptyParts);
    for (QString& row : rows) {
        row = row.trimmed();
    }
    static const QHash<QString, QStringList> kBrackets{
        {QStringLiteral("pmatrix"), {QStringLiteral("("), QStringLiteral(")")}},
        {QStringLiteral("bmatrix"), {QStringLiteral("["), QStringLiteral("]")}},
        {QStringLiteral("Bmatrix"), {QStringLiteral("{"), QStringLiteral("}")}},
        {QStringLiteral("vmatrix"), {QStringLiteral("|"), QStringLiteral("|")}},
        {QStringLiteral("Vmatrix"), {QStringLiteral("‖"), QStringLiteral("‖")}},
        {QStringLiteral("matrix"), {QStringLiteral("["), QStringLiteral("]")}},
        {QStringLiteral("smallmatrix"), {QStringLiteral("["), QStringLiteral("]")}},
        {QStringLiteral("array"), {QStringLiteral("["), QStringLiteral("]")}},
    };
    const auto brackets = kBrackets.constFind(environmentName);
    if (brackets != kBrackets.constEnd()) {
        if (!m_display || m_depth > 0 || rows.size() < 2) {
            return brackets->at(0) + rows.join(QStringLiteral("; ")) + brackets->at(1);
        }
        for (QString& row : rows) {
            row = brackets->at(0) + u' ' + row + u' ' + brackets->at(1);
        }
        return u'\n' + rows.join(u'\n') + u'\n';
    }
    if (environmentName.startsWith(u"cases")) {
        return QStringLiteral("{ ") + rows.join(m_display ? QStringLiteral("\n  ") : QStringLiteral("; "));
    }
    return rows.join(m_display ? QStringLiteral("\n") : QStringLiteral("; "));
}

QString TexReader::root() {
    skipBlanks();
    const QString degree = optional();
    const QString sign = degree.isEmpty() || degree == u"2" ? QStringLiteral("√")
                         : degree == u"3"                   ? QStringLiteral("∛")
                         : degree == u"4"                   ? QStringLiteral("∜")
                                                            : raised(degree, true) + u'√';
    return sign + tightlyGrouped(argument());
}

QString TexReader::function(const QString& which, const QString& before) {
    const bool glued = before.isEmpty() || !before.back().isLetterOrNumber();
    const QChar next = m_at < m_text.size() ? m_text[m_at] : QChar(u' ');
    const bool open = QStringView(u"(_^{\\").contains(next) || m_text.mid(m_at).trimmed().isEmpty();
    const QString shown = which == u"limsup"   ? QStringLiteral("lim sup")
                          : which == u"liminf" ? QStringLiteral("lim inf")
                                               : which;
    if (next == u' ') {
        ++m_at;
    }
    return (glued ? QString() : QStringLiteral(" ")) + shown + (open ? QString() : QStringLiteral(" "));
}

QString TexReader::command(QString& out) {
    const QString which = name().toString();
    const bool isWord = !which.isEmpty() && which[0].isLetter();
    if (which == u"\\" || which == u"newline" || which == u"cr") {
        optional();
        return QStringLiteral("\n");
    }
    if (!isWord) {
        return which == u"!" || which == u"/"                              ? QString()
               : !which.isEmpty() && QStringView(u",;: >").contains(which) ? QStringLiteral(" ")
               : which == u"|"                                             ? QStringLiteral("‖")
                                                                           : which;
    }
    if (which == u"frac" || which == u"dfrac" || which == u"tfrac" || which == u"cfrac") {
        const QString above = argument();
        const QString below = argument();
        return grouped(above) + u'/' + tightlyGrouped(below);
    }
    if (which == u"binom" || which == u"dbinom" || which == u"tbinom") {
        const QString above = argument();
        const QString below = argument();
        return QStringLiteral("C(%1, %2)").arg(above, below);
    }
    if (which == u"sqrt") {
        return root();
    }
    if (which == u"left" || which == u"right" || which == u"middle") {
        skipBlanks();
        if (m_at < m_text.size() && m_text[m_at] == u'.') {
            ++m_at;
        }
        return {};
    }
    if (which == u"begin") {
        QString environmentName = rawArgument();
        return environment(environmentName.remove(u'*'));
    }
    if (which == u"end") {
        rawArgument();  // without an opening command
        return {};
    }
    if (which == u"not") {
        const QString what = argument();
        return what == u"=" ? QStringLiteral("≠") : what == u"∈" ? QStringLiteral("∉") : what + QChar(0x0338);
    }
    if (which == u"text" || which == u"textrm" || which == u"textbf" || which == u"textit" || which == u"mbox" ||
        which == u"texttt" || which == u"textsf") {
        return rawArgument();
    }
    if (which == u"operatorname") {
        if (m_at < m_text.size() && m_text[m_at] == u'*') {
            ++m_at;
        }
        return argument();
    }
    if (which == u"tag") {
        return QStringLiteral("   (%1)").arg(rawArgument());
    }
    if (which == u"label" || which == u"color" || which == u"hspace" || which == u"vspace") {
        rawArgument();
        return {};
    }
    if (const MathAlphabet alphabet = mathAlphabet(which); alphabet != MathAlphabet::None) {
        return mathLetters(argument(), alphabet);
    }
    if (const QChar accent = mathAccent(which); !accent.isNull()) {
        const QString letter = argument();
        return letter.isEmpty()                       ? letter
               : isAtom(letter) && letter.size() <= 2 ? letter + accent
                                                      : mathAccentName(which) + grouped(letter);
    }
    if (which == u"overset" || which == u"stackrel" || which == u"underset") {
        const QString mark = argument();
        const QString base = argument();
        return base + raised(mark, which != u"underset");
    }
    if (which == u"pmod") {
        return QStringLiteral(" (mod %1)").arg(argument());
    }
    if (isMathStyle(which)) {
        return {};
    }
    if (isMathFunction(which)) {
        return function(which, out);
    }
    const QString symbol = mathSymbol(which);
    return symbol.isEmpty() ? which : symbol;
}

QString TexReader::sequence(QStringView stop) {
    QString out;
    while (m_at < m_text.size()) {
        const QChar c = m_text[m_at];
        if (c == u'}') {
            ++m_at;
            if (stop == u"}") {
                return out;
            }
            continue;
        }
        if (c == u'\\') {
            ++m_at;
            if (stop.size() > 1 && m_text.mid(m_at).startsWith(u"end{")) {
                m_at += 3;
                rawArgument();
                return out;
            }
            out += command(out);
            continue;
        }
        if (c == u'{') {
            out += argument();
            if (m_depth >= kDeepestFormula) {
                ++m_at;
            }
            continue;
        }
        ++m_at;
        if (c == u'^' || c == u'_') {
            out += raised(argument(), c == u'^');
        } else if (c == u'\'') {
            out += u'′';
        } else if (c == u'-') {
            out += u'−';
        } else if (c == u'*') {
            out += u'∗';
        } else if (c == u'&') {
            // An em space parts a matrix's columns; aligned formulas are not parted.
            const bool columns = stop.contains(u"matrix") || stop.startsWith(u"array");
            out += columns ? QStringLiteral("\u2003") : QStringLiteral(" ");
        } else if (c == u'~' || c.isSpace()) {
            if (!out.isEmpty() && !out.back().isSpace()) {
                out += u' ';
            }
        } else if (c == u'%') {
            while (m_at < m_text.size() && m_text[m_at] != u'\n') {
                ++m_at;
            }
        } else {
            out += c;
        }
    }
    return out;
}

}  // namespace

qsizetype behindCodeSpan(QStringView text, qsizetype at) {
    const auto ticksEnd = [text](qsizetype from) {
        while (from < text.size() && text[from] == u'`') {
            ++from;
        }
        return from;
    };
    const qsizetype open = ticksEnd(at);
    for (qsizetype close = text.indexOf(u'`', open); close >= 0;) {
        const qsizetype end = ticksEnd(close);
        if (end - close == open - at) {
            return end;
        }
        close = text.indexOf(u'`', end);
    }
    return open;
}

QList<MathSpan> findMath(QStringView text) {
    QList<MathSpan> spans;
    qsizetype i = 0;
    while (i < text.size()) {
        const QChar c = text[i];
        if (c == u'`') {
            i = behindCodeSpan(text, i);
            continue;
        }
        const bool slash = c == u'\\' && i + 1 < text.size();
        if (slash && (text[i + 1] == u'(' || text[i + 1] == u'[')) {
            const bool display = text[i + 1] == u'[';
            const QStringView close = display ? QStringView(u"\\]") : QStringView(u"\\)");
            qsizetype end = text.indexOf(close, i + 2);
            while (end >= 0 && isEscaped(text, end)) {
                end = text.indexOf(close, end + 1);
            }
            const QStringView inside = end < 0 ? QStringView() : text.mid(i + 2, end - i - 2);
            if (end >= 0 && inside.size() <= kLongestDisplay && !inside.trimmed().isEmpty() && !hasBlankLine(inside)) {
                spans.append({i, end + 2, inside.toString(), display});
                i = end + 2;
                continue;
            }
        }
        if (slash) {
            i += 2;
            continue;
        }
        if (c == u'$' && i + 1 < text.size() && text[i + 1] == u'$') {
            const qsizetype end = text.indexOf(u"$$", i + 2);
            const QStringView inside = end < 0 ? QStringView() : text.mid(i + 2, end - i - 2);
            if (end >= 0 && inside.size() <= kLongestDisplay && !inside.trimmed().isEmpty() && !hasBlankLine(inside)) {
                spans.append({i, end + 2, inside.toString(), true});
                i = end + 2;
            } else {
                i += 2;
            }
            continue;
        }
        const bool opens =
            c == u'$' && i + 1 < text.size() && !text[i + 1].isSpace() && (i == 0 || !text[i - 1].isLetterOrNumber());
        if (opens) {
            const qsizetype end = closingDollar(text, i + 1);
            const QStringView inside = end < 0 ? QStringView() : text.mid(i + 1, end - i - 1);
            if (end >= 0 && !hasBlankLine(inside) && !looksLikeProse(inside)) {
                spans.append({i, end + 1, inside.toString(), false});
                i = end + 1;
                continue;
            }
        }
        ++i;
    }
    return spans;
}

QString mathToText(QStringView tex, bool display) {
    QString out = TexReader(tex, display).all();
    QStringList lines = out.split(u'\n', Qt::SkipEmptyParts);
    for (QString& line : lines) {
        while (line.contains(u"  ")) {
            line.replace(QStringLiteral("  "), QStringLiteral(" "));
        }
        line.replace(QStringLiteral(" \u2003"), QStringLiteral("\u2003"));
        line.replace(QStringLiteral("\u2003 "), QStringLiteral("\u2003"));
        while (line.endsWith(u' ')) {
            line.chop(1);
        }
    }
    lines.removeAll(QString());
    out = lines.join(display ? QStringLiteral("\n") : QStringLiteral(" "));
    return out.isEmpty() ? tex.trimmed().toString() : out;
}

}  // namespace offstage::ui
