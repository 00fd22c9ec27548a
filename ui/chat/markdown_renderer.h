#pragma once

#include <QFont>
#include <QSet>
#include <QTextDocument>
#include <QTextFormat>

#include "ui/base/theme.h"
#include "ui/chat/markdown_splitter.h"
#include "ui/chat/source_map.h"

namespace offstage::ui {

// A document that never loads anything: links in a text never cause reads from disk or
// the network.
class QuietDocument : public QTextDocument {
    Q_OBJECT

  public:
    using QTextDocument::QTextDocument;

  protected:
    QVariant loadResource(int type, const QUrl& name) override;
};

struct TextStyle {
    QFont font;
    QFont code;
    QStringList formula;  // families
    Colours colours;
    bool dark = false;

    static TextStyle of(const QFont& base, const QPalette& palette);
};

// Block property of quoted text: how deep; drawn as bars at the left.
inline constexpr int kQuoteDepthProperty = QTextFormat::UserProperty + 1;

// Character properties of a formula: its source with delimiters, and a number that
// distinguishes it from its neighbour.
inline constexpr int kMathSourceProperty = QTextFormat::UserProperty + 2;
inline constexpr int kMathNumberProperty = QTextFormat::UserProperty + 3;

// Character property of a reference to a footnote: its label.
inline constexpr int kNoteProperty = QTextFormat::UserProperty + 4;

// Preferred widths of a table's columns in pixels; a table cut into segments keeps the
// first one's.
using TableColumns = QList<double>;

// Replaces the document's content. HTML in Markdown is shown as plain characters; images
// show as their description; links keep their address only for http, https and mailto.
// `columns` of a table: written by its first segment, read by one that is `continued`.
// `notes`: the labels of the message's footnotes; a reference to another is text.
// `map`: the source of each piece of the document; exact for text, the whole of it for
// formulas.
void renderSegment(const MarkdownSegment& segment, const TextStyle& style, const QSet<QString>& notes,
                   QTextDocument& document, TableColumns& columns, SourceMap& map);
void renderPlain(const QString& text, const TextStyle& style, QTextDocument& document);
// Gives a table segment's document the width it should have in `available` pixels.
void fitTable(QTextDocument& document, const TableColumns& columns, double available);

}  // namespace offstage::ui
