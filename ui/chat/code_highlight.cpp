#include "ui/chat/code_highlight.h"

#include <algorithm>

#include <QHash>

#include "ui/chat/code_language.h"

namespace offstage::ui {

namespace {

using Inside = LexState::Inside;

bool isWordCharacter(QChar c) {
    return c.isLetterOrNumber() || c == u'_' || c.isMark() || c.isSurrogate();
}

class Line {
  public:
    Line(const CodeLanguage& language, QStringView line, LexState& state)
        : m_language(language), m_line(line), m_state(state) {}

    QList<CodeSpan> read();

  private:
    bool done() const { return m_at >= m_line.size(); }
    QChar peek(qsizetype ahead = 0) const { return m_at + ahead < m_line.size() ? m_line[m_at + ahead] : QChar(); }
    bool starts(QStringView with) const { return !with.isEmpty() && m_line.mid(m_at).startsWith(with); }
    void add(qsizetype from, CodeTone tone) {
        if (m_at > from && tone != CodeTone::Text) {
            m_spans.append({static_cast<int>(from), static_cast<int>(m_at - from), tone});
        }
    }

    void restOfComment(qsizetype from);
    void restOfString(qsizetype from, int rule);
    bool comment();
    bool string();
    void number();
    void word();
    void takeWord() {
        while (!done() && isWordCharacter(peek())) {
            ++m_at;
        }
    }
    void codeStep();
    void tagStep();
    void styleStep();
    void dataKey();
    void diffLine();
    QChar nextPrinted() const {
        qsizetype i = m_at;
        while (i < m_line.size() && m_line[i].isSpace()) {
            ++i;
        }
        return i < m_line.size() ? m_line[i] : QChar();
    }

    const CodeLanguage& m_language;
    QStringView m_line;
    LexState& m_state;
    qsizetype m_at = 0;
    QList<CodeSpan> m_spans;
};

void Line::restOfComment(qsizetype from) {
    while (!done()) {
        if (starts(m_language.commentClose)) {
            m_at += m_language.commentClose.size();
            if (--m_state.which <= 0) {
                m_state.inside = Inside::Code;
                break;
            }
        } else if (m_language.nestedComments && starts(m_language.commentOpen)) {
            m_at += m_language.commentOpen.size();
            ++m_state.which;
        } else {
            ++m_at;
        }
    }
    add(from, CodeTone::Comment);
}

void Line::restOfString(qsizetype from, int which) {
    const StringRule& rule = m_language.strings[which];
    const Inside outside = m_language.family == CodeFamily::Markup ? Inside::Tag : Inside::Code;
    m_state.inside = outside;
    bool closed = false;
    while (!done() && !closed) {
        if (rule.escapes && peek() == u'\\') {
            m_at = std::min(m_at + 2, m_line.size());
        } else if (starts(rule.close)) {
            m_at += rule.close.size();
            closed = true;
        } else {
            ++m_at;
        }
    }
    if (!closed && (rule.severalLines || m_language.family == CodeFamily::Markup)) {
        m_state.inside = Inside::String;
        m_state.which = which;
    }
    const bool key = m_language.family == CodeFamily::Data && closed && nextPrinted() == u':';
    add(from, key ? CodeTone::Meta : CodeTone::String);
}

bool Line::comment() {
    if (starts(m_language.commentOpen)) {
        const qsizetype from = m_at;
        m_at += m_language.commentOpen.size();
        m_state.inside = Inside::Comment;
        m_state.which = 1;
        restOfComment(from);
        return true;
    }
    for (const QString& mark : m_language.lineComments) {
        if (!starts(mark)) {
            continue;
        }
        // In a shell "$#" and "a#b" are no comments.
        const bool apart = m_at == 0 || m_line[m_at - 1].isSpace() || m_line[m_at - 1] == u';';
        if (mark == u"#" && !apart) {
            continue;
        }
        const qsizetype from = m_at;
        m_at = m_line.size();
        add(from, CodeTone::Comment);
        return true;
    }
    return false;
}

bool Line::string() {
    for (int i = 0; i < m_language.strings.size(); ++i) {
        const QStringView open(m_language.strings[i].open);
        if (!starts(open)) {
            continue;
        }
        if (m_language.lifetimes && open == u"'") {
            const bool character = peek(1) == u'\\' || peek(2) == u'\'' || (peek(1).isSurrogate() && peek(3) == u'\'');
            if (!character) {
                const qsizetype from = m_at++;
                takeWord();
                add(from, CodeTone::Type);
                return true;
            }
        }
        const qsizetype from = m_at;
        m_at += open.size();
        restOfString(from, static_cast<int>(i));
        return true;
    }
    return false;
}

void Line::number() {
    const qsizetype from = m_at;
    const bool hex = peek() == u'0' && (peek(1) == u'x' || peek(1) == u'X');
    while (!done()) {
        const QChar c = peek();
        const QChar before = m_at > from ? m_line[m_at - 1].toLower() : QChar();
        const bool exponent = (c == u'+' || c == u'-') && (before == (hex ? u'p' : u'e'));
        const bool separator = c == u'\'' && peek(1).isDigit() && m_at > from;
        const bool point = c == u'.' && (peek(1).isDigit() || !isWordCharacter(peek(1))) && peek(1) != u'.';
        if (!isWordCharacter(c) && !exponent && !separator && !point && c != u'%') {
            break;
        }
        ++m_at;
    }
    add(from, CodeTone::Number);
}

void Line::word() {
    const qsizetype from = m_at;
    takeWord();
    QString text = m_line.mid(from, m_at - from).toString();
    const bool capital = text[0].isUpper();
    if (m_language.anyCase) {
        text = text.toLower();
    }
    const bool member = from > 0 && m_line[from - 1] == u'.';
    if (m_language.keywords.contains(text) && !member) {
        add(from, CodeTone::Keyword);
    } else if (m_language.types.contains(text) && !member) {
        add(from, CodeTone::Type);
    } else if (m_language.capitalTypes && capital && !member) {
        add(from, CodeTone::Type);
    } else if (m_language.family == CodeFamily::Words && peek() == u'(') {
        add(from, CodeTone::Function);
    }
}

void Line::codeStep() {
    const QChar c = peek();
    if (comment() || string()) {
        return;
    }
    if (c.isDigit()) {
        number();
        return;
    }
    const qsizetype from = m_at;
    const bool sigil = (m_language.attributes && c == u'@') || (m_language.dollarNames && c == u'$');
    if (sigil) {
        ++m_at;
        if (peek() == u'{' || peek() == u'@') {
            ++m_at;
        }
        takeWord();
        add(from, c == u'@' ? CodeTone::Meta : CodeTone::Type);
        return;
    }
    if (isWordCharacter(c)) {
        word();
        return;
    }
    ++m_at;
}

void Line::tagStep() {
    if (m_state.inside == Inside::Tag) {
        const qsizetype from = m_at;
        const QChar c = peek();
        if (c == u'>') {
            ++m_at;
            m_state.inside = Inside::Code;
            add(from, CodeTone::Keyword);
        } else if (c == u'/' || c == u'?') {
            ++m_at;
            add(from, CodeTone::Keyword);
        } else if (!string()) {
            if (isWordCharacter(c)) {
                while (!done() && (isWordCharacter(peek()) || peek() == u'-' || peek() == u':')) {
                    ++m_at;
                }
                add(from, CodeTone::Type);
            } else {
                ++m_at;
            }
        }
        return;
    }
    if (comment()) {
        return;
    }
    const qsizetype from = m_at;
    const QChar next = peek(1);
    if (peek() == u'<' && (next.isLetter() || next == u'/' || next == u'!' || next == u'?')) {
        ++m_at;
        while (!done() && (isWordCharacter(peek()) || QStringView(u"/!?-:").contains(peek()))) {
            ++m_at;
        }
        m_state.inside = Inside::Tag;
        add(from, CodeTone::Keyword);
    } else if (peek() == u'&') {
        const qsizetype end = m_line.indexOf(u';', m_at);
        const bool entity = end > 0 && end - m_at < 12;
        m_at = entity ? end + 1 : m_at + 1;
        add(from, entity ? CodeTone::Number : CodeTone::Text);
    } else {
        ++m_at;
    }
}

void Line::styleStep() {
    if (comment() || string()) {
        return;
    }
    const qsizetype from = m_at;
    const QChar c = peek();
    const auto takeName = [this] {
        while (!done() && (isWordCharacter(peek()) || peek() == u'-')) {
            ++m_at;
        }
    };
    if (c == u'{' || c == u'}') {
        ++m_at;
        m_state.depth = std::max(0, m_state.depth + (c == u'{' ? 1 : -1));
    } else if (c == u'@') {
        ++m_at;
        takeName();
        add(from, CodeTone::Keyword);
    } else if (c == u'#' || (c == u'.' && peek(1).isLetter())) {
        ++m_at;
        takeName();
        add(from, m_state.depth > 0 && c == u'#' ? CodeTone::Number : CodeTone::Type);
    } else if (c.isDigit()) {
        number();
    } else if (isWordCharacter(c) || (c == u'-' && (peek(1) == u'-' || peek(1).isLetter()))) {
        takeName();
        const bool property = m_state.depth > 0 && nextPrinted() == u':';
        add(from, property             ? CodeTone::Meta
                  : m_state.depth == 0 ? CodeTone::Keyword
                  : peek() == u'('     ? CodeTone::Function
                                       : CodeTone::Text);
    } else {
        ++m_at;
    }
}

// "key:" of YAML, "key =" and "[section]" of TOML, at the line's beginning.
void Line::dataKey() {
    qsizetype i = 0;
    while (i < m_line.size() &&
           (m_line[i].isSpace() || (m_line[i] == u'-' && i + 1 < m_line.size() && m_line[i + 1] == u' '))) {
        ++i;
    }
    const qsizetype from = i;
    if (i < m_line.size() && m_line[i] == u'[' && m_language.label == u"TOML") {
        m_at = m_line.indexOf(u']', i) + 1;
        m_at = m_at == 0 ? m_line.size() : m_at;
        add(from, CodeTone::Keyword);
        return;
    }
    while (i < m_line.size() && (isWordCharacter(m_line[i]) || QStringView(u"-./").contains(m_line[i]))) {
        ++i;
    }
    const qsizetype end = i;
    while (i < m_line.size() && m_line[i] == u' ') {
        ++i;
    }
    const bool colon = i < m_line.size() && m_line[i] == u':' && (i + 1 == m_line.size() || m_line[i + 1].isSpace());
    const bool equals = i < m_line.size() && m_line[i] == u'=';
    if (end > from && (colon || equals)) {
        m_at = end;
        add(from, CodeTone::Meta);
    }
}

void Line::diffLine() {
    m_at = m_line.size();
    if (m_line.startsWith(u"+++") || m_line.startsWith(u"---") || m_line.startsWith(u"diff ") ||
        m_line.startsWith(u"index ")) {
        add(0, CodeTone::Keyword);
    } else if (m_line.startsWith(u"@@")) {
        add(0, CodeTone::Meta);
    } else if (m_line.startsWith(u'+')) {
        add(0, CodeTone::Added);
    } else if (m_line.startsWith(u'-')) {
        add(0, CodeTone::Removed);
    }
}

QList<CodeSpan> Line::read() {
    if (m_language.family == CodeFamily::Diff) {
        diffLine();
        return m_spans;
    }
    if (m_state.inside == Inside::Comment) {
        restOfComment(0);
    } else if (m_state.inside == Inside::String) {
        restOfString(0, m_state.which);
    } else if (m_language.preprocessor && m_line.trimmed().startsWith(u'#')) {
        while (peek() == u' ' || peek() == u'\t') {
            ++m_at;
        }
        const qsizetype from = m_at++;
        while (peek() == u' ') {
            ++m_at;
        }
        takeWord();
        add(from, CodeTone::Meta);
        const qsizetype angle = m_line.indexOf(u'<', m_at);
        if (m_line.mid(from).contains(u"include") && angle >= 0) {
            m_at = m_line.indexOf(u'>', angle) + 1;
            m_at = m_at == 0 ? m_line.size() : m_at;
            add(angle, CodeTone::String);
        }
    } else if (m_language.family == CodeFamily::Data) {
        dataKey();
    }
    while (!done()) {
        switch (m_language.family) {
            case CodeFamily::Markup:
                tagStep();
                break;
            case CodeFamily::Style:
                styleStep();
                break;
            default:
                codeStep();
                break;
        }
    }
    return m_spans;
}

}  // namespace

QColor toneColour(CodeTone tone, bool dark) {
    switch (tone) {
        case CodeTone::Keyword:
            return dark ? QColor(0xc7, 0x9b, 0xf2) : QColor(0x7b, 0x2f, 0xb5);
        case CodeTone::Type:
            return dark ? QColor(0x6f, 0xc3, 0xd6) : QColor(0x0b, 0x6a, 0x80);
        case CodeTone::Function:
            return dark ? QColor(0x82, 0xb1, 0xf5) : QColor(0x1f, 0x56, 0xb0);
        case CodeTone::String:
            return dark ? QColor(0x98, 0xcc, 0x84) : QColor(0x2c, 0x6e, 0x24);
        case CodeTone::Number:
            return dark ? QColor(0xe8, 0xb0, 0x6a) : QColor(0x9a, 0x4d, 0x00);
        case CodeTone::Comment:
            return dark ? QColor(0x97, 0xa0, 0xb0) : QColor(0x5f, 0x67, 0x75);
        case CodeTone::Meta:
            return dark ? QColor(0xf0, 0x92, 0xb4) : QColor(0xa8, 0x25, 0x60);
        case CodeTone::Added:
            return dark ? QColor(0x7f, 0xd1, 0x8f) : QColor(0x1b, 0x70, 0x35);
        case CodeTone::Removed:
            return dark ? QColor(0xf2, 0x92, 0x8c) : QColor(0xb3, 0x26, 0x22);
        case CodeTone::Text:
            break;
    }
    return dark ? QColor(0xe7, 0xe9, 0xee) : QColor(0x1b, 0x1f, 0x27);
}

const CodeLanguage* findLanguage(QStringView name) {
    static const QHash<QString, const CodeLanguage*> all = [] {
        QHash<QString, const CodeLanguage*> out;
        for (const CodeLanguage& language : codeLanguages()) {
            for (const QString& one : language.names) {
                out.insert(one, &language);
            }
        }
        return out;
    }();
    return all.value(name.toString());
}

QString languageLabel(const QString& name) {
    const CodeLanguage* language = findLanguage(name);
    return language ? language->label : name;
}

QList<CodeSpan> lexLine(const CodeLanguage& language, QStringView line, LexState& state) {
    return Line(language, line, state).read();
}

}  // namespace offstage::ui
