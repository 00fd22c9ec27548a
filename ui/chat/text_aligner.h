#pragma once
// Finds the place in the source for text that a Markdown parser has taken from it.

#include <QList>
#include <QSet>
#include <QString>

#include "ui/chat/markdown_splitter.h"
#include "ui/chat/source_map.h"

namespace offstage::ui {

// A segment's text in which each formula and each reference to a footnote is one
// character outside of Unicode's assigned ones, so that the parser does not parse its
// inside ("a_1 * b_2" is not emphasis in a formula). A footnote becomes a list item: the
// parser reads segments one by one, and would drop it where its reference is in another.
class ProtectedText {
  public:
    struct Formula {
        QString tex;      // of a reference: the footnote's label
        QString written;  // with its delimiters
        bool display = false;
        qsizetype source = 0;
        bool isNote = false;
    };

    ProtectedText(const MarkdownSegment& segment, const QSet<QString>& notes);

    const QString& text() const { return m_text; }
    // Null: there is no formula at this place of a text that came from text().
    const Formula* formulaAt(const QString& text, qsizetype at) const;
    // From a place in text() to the message's source.
    qsizetype sourceOf(qsizetype at) const;

  private:
    const MarkdownSegment& m_segment;
    QString m_text;
    QList<Formula> m_formulas;
    QList<SourceLine> m_shifts;  // from text() to the segment's text
};

// Walks through the source in the order of the parser's texts.
class TextAligner {
  public:
    explicit TextAligner(const ProtectedText& source);

    void goTo(int line, int column);  // as the parser counts: from 1, in bytes
    void nextLine();
    void skipAddress(const QString& url);
    void skipFormula();
    // The source of `piece`, the next text; positions count from its beginning. Handles
    // escapes and entities; a piece that is not found is assigned to this place, as a
    // whole.
    QList<SourceMap::Run> align(const QString& piece);

    const ProtectedText::Formula* formulaAt(const QString& text, qsizetype at) const {
        return m_source.formulaAt(text, at);
    }

  private:
    bool matches(qsizetype at, const QString& piece, QList<SourceMap::Run>* runs, qsizetype* end) const;

    const ProtectedText& m_source;
    QList<qsizetype> m_lines;  // the beginning of each
    qsizetype m_at = 0;
};

}  // namespace offstage::ui
