#include "ui/chat/markdown_renderer.h"

#include <algorithm>
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <memory>
#include <string_view>
#include <utility>

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextTable>
#include <QUrl>

#include "ui/chat/math_text.h"
#include "ui/chat/text_aligner.h"

namespace offstage::ui {

namespace {

constexpr double kIndent = 26;       // pixels per list level
constexpr int kDeepest = 24;         // nesting that is still drawn as such
constexpr double kLineHeight = 132;  // per cent
constexpr double kCellPadding = 6;
constexpr double kNoteSize = 0.92;  // of the text's
constexpr double kNoteGap = 10;     // behind a footnote's label

struct NodeDeleter {
    void operator()(cmark_node* node) const { cmark_node_free(node); }
    void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
};

std::unique_ptr<cmark_node, NodeDeleter> parse(const QString& markdown) {
    static const bool registered = [] {
        cmark_gfm_core_extensions_ensure_registered();
        return true;
    }();
    Q_UNUSED(registered);
    const std::unique_ptr<cmark_parser, NodeDeleter> parser(cmark_parser_new(CMARK_OPT_DEFAULT));
    for (const char* name : {"table", "strikethrough", "autolink"}) {
        if (cmark_syntax_extension* extension = cmark_find_syntax_extension(name)) {
            cmark_parser_attach_syntax_extension(parser.get(), extension);
        }
    }
    const QByteArray bytes = markdown.toUtf8();
    cmark_parser_feed(parser.get(), bytes.constData(), static_cast<size_t>(bytes.size()));
    return std::unique_ptr<cmark_node, NodeDeleter>(cmark_parser_finish(parser.get()));
}

QString literal(cmark_node* node) {
    return QString::fromUtf8(cmark_node_get_literal(node));
}
std::string_view typeOf(cmark_node* node) {
    return cmark_node_get_type_string(node);
}

constexpr qsizetype kBoxLength = 4;  // "[x] "

// The box of a list item that is a task, "[ ] text" or "[x] text"; empty: it is none. The
// parser's own extension takes any "[x]" in the line for the box's.
QString boxOf(cmark_node* item) {
    cmark_node* paragraph = cmark_node_first_child(item);
    cmark_node* first = paragraph ? cmark_node_first_child(paragraph) : nullptr;
    if (!first || cmark_node_get_type(paragraph) != CMARK_NODE_PARAGRAPH ||
        cmark_node_get_type(first) != CMARK_NODE_TEXT) {
        return {};
    }
    const QString begin = literal(first).left(kBoxLength);
    return begin == u"[ ] "                       ? QStringLiteral("☐")
           : begin == u"[x] " || begin == u"[X] " ? QStringLiteral("☑")
                                                  : QString();
}

// Writes one parsed text at the end of a document.
class Writer {
  public:
    // `note`: the label of the footnote that it is; empty: none.
    Writer(QTextDocument& document, const TextStyle& style, TextAligner& aligner, SourceMap& map, const QString& note)
        : m_cursor(&document), m_style(style), m_aligner(aligner), m_map(map), m_note(note) {
        m_text.setFont(style.font);
        m_text.setForeground(style.colours.text);
        if (!note.isEmpty()) {
            m_text.setFontPointSize(style.font.pointSizeF() * kNoteSize);
            const QFontMetricsF metrics(m_text.font());
            m_markerWidth = std::max(kIndent, metrics.horizontalAdvance(note) + kNoteGap);
        }
    }

    void blocks(cmark_node* parent, int depth) {
        for (cmark_node* node = cmark_node_first_child(parent); node; node = cmark_node_next(node)) {
            block(node, depth);
        }
    }

    // Null columns: the layout's own widths.
    void table(cmark_node* node, bool withHeader, TableColumns* columns);

  private:
    void block(cmark_node* node, int depth);
    void list(cmark_node* node, int depth);
    void inlines(cmark_node* parent, const QTextCharFormat& format, int depth);
    void inlineNode(cmark_node* node, const QTextCharFormat& format, int depth);
    void codeBlock(const QString& code);
    void text(const QString& text, const QTextCharFormat& format);
    void formula(const ProtectedText::Formula& formula, const QTextCharFormat& format);

    QTextBlockFormat blockFormat() const {
        QTextBlockFormat format;
        format.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
        format.setTopMargin(m_first ? 0 : m_tight ? 2 : 8);
        format.setLeftMargin(m_indent);
        if (m_quote > 0) {
            format.setProperty(kQuoteDepthProperty, m_quote);
        }
        return format;
    }
    void startBlock(QTextBlockFormat format) {
        if (!m_marker.isEmpty()) {
            format.setTextIndent(-m_markerWidth);
            QList<QTextOption::Tab> tabs{QTextOption::Tab(m_markerWidth, QTextOption::LeftTab)};
            format.setTabPositions(tabs);
        }
        if (m_first) {
            m_cursor.setBlockFormat(format);
        } else {
            m_cursor.insertBlock(format, m_text);
        }
        m_first = false;
        if (!m_marker.isEmpty()) {
            QTextCharFormat muted = m_text;
            muted.setForeground(m_style.colours.muted);
            m_cursor.insertText(m_marker + u'\t', muted);
            m_marker.clear();
            m_markerWidth = kIndent;
        }
    }

    QTextCursor m_cursor;
    const TextStyle& m_style;
    TextAligner& m_aligner;
    SourceMap& m_map;
    int m_formulas = 0;
    bool m_afterDisplay = false;  // the text that follows begins a line
    QTextCharFormat m_text;
    double m_indent = 0;
    int m_quote = 0;
    bool m_first = true;
    bool m_tight = false;
    QString m_marker;         // of the list item whose first block comes next
    QString m_box;            // of a task in a numbered list, before the next text
    qsizetype m_skipped = 0;  // characters of the next text that are not shown
    QString m_note;
    double m_markerWidth = kIndent;
};

// Enters the source of this text into the map; formulas replace the characters that stand
// for them.
void Writer::text(const QString& shown, const QTextCharFormat& format) {
    qsizetype from = 0;
    while (from < shown.size()) {
        qsizetype to = from;
        while (to < shown.size() && !m_aligner.formulaAt(shown, to)) {
            ++to;
        }
        QString piece = shown.mid(from, to - from);
        if (m_afterDisplay) {
            const qsizetype blanks = piece.size() - QStringView(piece).trimmed().size();
            if (blanks == piece.size()) {
                piece.clear();
            } else {
                m_cursor.insertText(QString(QChar(QChar::LineSeparator)), format);
                while (piece.startsWith(u' ')) {
                    piece.remove(0, 1);
                }
                m_afterDisplay = false;
            }
        }
        if (!piece.isEmpty()) {
            for (SourceMap::Run run : m_aligner.align(piece)) {
                run.position += m_cursor.position();
                m_map.append(run);
            }
            m_cursor.insertText(piece, format);
        }
        if (to < shown.size()) {
            formula(*m_aligner.formulaAt(shown, to), format);
            to += 2;
        }
        from = to;
    }
}

void Writer::formula(const ProtectedText::Formula& formula, const QTextCharFormat& format) {
    QTextCharFormat set = format;
    set.setProperty(kMathSourceProperty, formula.written);
    set.setProperty(kMathNumberProperty, ++m_formulas);
    if (formula.isNote) {
        set.setProperty(kNoteProperty, formula.tex);
        set.setVerticalAlignment(QTextCharFormat::AlignSuperScript);
        set.setForeground(m_style.colours.accent);
        m_map.append(
            {m_cursor.position(), static_cast<int>(formula.tex.size()), formula.source, formula.written.size()});
        m_aligner.skipFormula();
        m_cursor.insertText(formula.tex, set);
        return;
    }
    set.setFontFamilies(m_style.formula);
    set.setToolTip(formula.written);
    QString shown = mathToText(formula.tex, formula.display);
    shown.replace(u'\n', QChar::LineSeparator);
    if (formula.display) {
        set.setFontPointSize(format.font().pointSizeF() * 1.1);
        if (!m_cursor.atBlockStart() && !m_cursor.block().text().endsWith(u'\t')) {
            m_cursor.insertText(QString(QChar(QChar::LineSeparator)), format);
        }
        shown.prepend(QStringLiteral("\u2003"));
        shown.replace(QString(QChar(QChar::LineSeparator)), QChar(QChar::LineSeparator) + QStringLiteral("\u2003"));
    } else if (m_afterDisplay) {
        m_cursor.insertText(QString(QChar(QChar::LineSeparator)), format);
    }
    m_map.append({m_cursor.position(), static_cast<int>(shown.size()), formula.source, formula.written.size()});
    m_aligner.skipFormula();
    m_cursor.insertText(shown, set);
    m_afterDisplay = formula.display;
}

void Writer::block(cmark_node* node, int depth) {
    m_afterDisplay = false;
    m_aligner.goTo(cmark_node_get_start_line(node), cmark_node_get_start_column(node));
    switch (cmark_node_get_type(node)) {
        case CMARK_NODE_HEADING: {
            static constexpr double kSizes[] = {1.45, 1.28, 1.14, 1.05, 1.0, 1.0};
            QTextBlockFormat format = blockFormat();
            format.setTopMargin(m_first ? 2 : 14);
            const int level = std::clamp(cmark_node_get_heading_level(node), 1, 6);
            format.setHeadingLevel(level);
            startBlock(format);
            QTextCharFormat heading = m_text;
            heading.setFontWeight(QFont::DemiBold);
            heading.setFontPointSize(m_style.font.pointSizeF() * kSizes[level - 1]);
            inlines(node, heading, depth + 1);
            return;
        }
        case CMARK_NODE_LIST:
            list(node, depth);
            return;
        case CMARK_NODE_BLOCK_QUOTE:
            if (depth >= kDeepest) {
                return;
            }
            m_indent += 16;
            ++m_quote;
            blocks(node, depth + 1);
            --m_quote;
            m_indent -= 16;
            return;
        case CMARK_NODE_CODE_BLOCK:
            codeBlock(literal(node));
            return;
        case CMARK_NODE_HTML_BLOCK:
            startBlock(blockFormat());
            text(literal(node).trimmed().replace(u'\n', QChar::LineSeparator), m_text);
            return;
        case CMARK_NODE_THEMATIC_BREAK: {
            QTextBlockFormat format = blockFormat();
            format.setProperty(QTextFormat::BlockTrailingHorizontalRulerWidth,
                               QTextLength(QTextLength::PercentageLength, 100));
            startBlock(format);
            return;
        }
        default:
            break;
    }
    if (typeOf(node) == "table") {
        // Inside a list or quote; separate tables come as segments.
        table(node, true, nullptr);
        return;
    }
    startBlock(blockFormat());
    inlines(node, m_text, depth + 1);
}

void Writer::list(cmark_node* node, int depth) {
    if (depth >= kDeepest) {
        return;
    }
    const bool ordered = cmark_node_get_list_type(node) == CMARK_ORDERED_LIST;
    const bool tight = cmark_node_get_list_tight(node) != 0;
    int number = cmark_node_get_list_start(node);
    static constexpr char16_t kBullets[] = {u'•', u'◦', u'▪'};
    const int level = static_cast<int>(m_indent / kIndent);
    const QString note = std::exchange(m_note, {});  // the list that it is made of
    const double indent = note.isEmpty() ? kIndent : m_markerWidth;
    m_indent += indent;
    bool firstItem = true;
    for (cmark_node* item = cmark_node_first_child(node); item; item = cmark_node_next(item)) {
        m_marker = ordered           ? QStringLiteral("%1.").arg(number++)
                   : !note.isEmpty() ? note
                                     : QString(QChar(kBullets[level % 3]));
        if (const QString box = boxOf(item); !box.isEmpty()) {
            (ordered ? m_box : m_marker) = box;
            m_skipped = kBoxLength;
        }
        m_tight = tight && !firstItem;
        firstItem = false;
        if (!cmark_node_first_child(item)) {
            startBlock(blockFormat());
        }
        blocks(item, depth + 1);
        m_marker.clear();
    }
    m_tight = false;
    m_indent -= indent;
}

void Writer::codeBlock(const QString& code) {
    QTextCharFormat fixed = m_text;
    fixed.setFont(m_style.code);
    QTextBlockFormat format = blockFormat();
    format.setBackground(m_style.colours.raised);
    startBlock(format);
    text(code.chopped(code.endsWith(u'\n') ? 1 : 0).replace(u'\n', QChar::LineSeparator), fixed);
}

void Writer::inlines(cmark_node* parent, const QTextCharFormat& format, int depth) {
    for (cmark_node* node = cmark_node_first_child(parent); node; node = cmark_node_next(node)) {
        inlineNode(node, format, depth);
    }
}

void Writer::inlineNode(cmark_node* node, const QTextCharFormat& format, int depth) {
    if (depth > kDeepest + 16) {
        return;
    }
    QTextCharFormat next = format;
    switch (cmark_node_get_type(node)) {
        case CMARK_NODE_TEXT:
        case CMARK_NODE_HTML_INLINE: {
            QString shown = literal(node);
            if (const qsizetype skipped = std::exchange(m_skipped, 0); skipped > 0) {
                m_aligner.align(shown.left(skipped));
                shown.remove(0, skipped);
            }
            if (!m_box.isEmpty()) {
                m_cursor.insertText(std::exchange(m_box, {}) + u' ', format);
            }
            text(shown, format);
            return;
        }
        case CMARK_NODE_SOFTBREAK:
            m_aligner.nextLine();
            if (!m_afterDisplay) {
                m_cursor.insertText(QStringLiteral(" "), format);
            }
            return;
        case CMARK_NODE_LINEBREAK:
            m_aligner.nextLine();
            if (!m_afterDisplay) {
                m_cursor.insertText(QString(QChar(QChar::LineSeparator)), format);
            }
            return;
        case CMARK_NODE_CODE:
            next.setFontFamilies(m_style.code.families());
            next.setFontPointSize(format.font().pointSizeF() * 0.93);
            next.setBackground(m_style.colours.raised);
            text(literal(node), next);
            return;
        case CMARK_NODE_EMPH:
            next.setFontItalic(true);
            break;
        case CMARK_NODE_STRONG:
            next.setFontWeight(QFont::Bold);
            break;
        case CMARK_NODE_LINK: {
            const QUrl url(QString::fromUtf8(cmark_node_get_url(node)), QUrl::StrictMode);
            const QString scheme = url.scheme();
            if (url.isValid() &&
                (scheme == u"http" || scheme == u"https" || scheme == u"mailto" || scheme == u"help")) {
                next.setAnchor(true);
                next.setAnchorHref(url.toString());
                next.setForeground(m_style.colours.accent);
                next.setFontUnderline(true);
            }
            inlines(node, next, depth + 1);
            m_aligner.skipAddress(QString::fromUtf8(cmark_node_get_url(node)));
            return;
        }
        case CMARK_NODE_IMAGE:
            next.setForeground(m_style.colours.muted);
            m_cursor.insertText(QStringLiteral("["), next);
            inlines(node, next, depth + 1);
            m_aligner.skipAddress(QString::fromUtf8(cmark_node_get_url(node)));
            m_cursor.insertText(QuietDocument::tr(" – picture not loaded]"), next);
            return;
        default:
            if (typeOf(node) == "strikethrough") {
                next.setFontStrikeOut(true);
            }
            break;
    }
    inlines(node, next, depth + 1);
}

TableColumns naturalColumns(const QTextTable& table, const TextStyle& style) {
    QFont bold = style.font;
    bold.setWeight(QFont::DemiBold);
    const QFontMetricsF metrics(bold);
    TableColumns widths;
    for (int c = 0; c < table.columns(); ++c) {
        double widest = 28;
        for (int r = 0; r < table.rows(); ++r) {
            const QString cell = table.cellAt(r, c).firstCursorPosition().block().text();
            widest = std::max(widest, metrics.horizontalAdvance(cell.left(120)));
        }
        widths.append(std::min(widest, 360.0) + 2 * kCellPadding + 6);
    }
    return widths;
}

void Writer::table(cmark_node* node, bool withHeader, TableColumns* widths) {
    QList<cmark_node*> rows;
    for (cmark_node* row = cmark_node_first_child(node); row; row = cmark_node_next(row)) {
        if (withHeader || typeOf(row) != "table_header") {
            rows.append(row);
        }
    }
    const int columns = cmark_gfm_extensions_get_table_columns(node);
    if (rows.isEmpty() || columns <= 0) {
        return;
    }
    const uint8_t* alignments = cmark_gfm_extensions_get_table_alignments(node);
    QTextTableFormat format;
    format.setBorder(1);
    format.setBorderCollapse(true);
    format.setBorderBrush(m_style.colours.line);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setCellPadding(kCellPadding);
    format.setCellSpacing(0);
    format.setMargin(0);
    format.setLeftMargin(m_indent);
    QTextTable* out = m_cursor.insertTable(static_cast<int>(rows.size()), columns, format);
    for (int r = 0; r < rows.size(); ++r) {
        const bool header = typeOf(rows[r]) == "table_header";
        m_aligner.goTo(cmark_node_get_start_line(rows[r]), 1);
        int c = 0;
        for (cmark_node* cell = cmark_node_first_child(rows[r]); cell && c < columns;
             cell = cmark_node_next(cell), ++c) {
            QTextTableCell target = out->cellAt(r, c);
            if (header) {
                QTextTableCellFormat shaded;
                shaded.setBackground(m_style.colours.raised);
                target.setFormat(shaded);
            }
            m_cursor = target.firstCursorPosition();
            QTextBlockFormat paragraph;
            paragraph.setAlignment(alignments[c] == 'r'   ? Qt::AlignRight
                                   : alignments[c] == 'c' ? Qt::AlignHCenter
                                                          : Qt::AlignLeft);
            m_cursor.setBlockFormat(paragraph);
            QTextCharFormat cellText = m_text;
            cellText.setFontWeight(header ? QFont::DemiBold : QFont::Normal);
            m_afterDisplay = false;
            inlines(cell, cellText, 1);
        }
    }
    if (widths) {
        if (withHeader) {
            *widths = naturalColumns(*out, m_style);
        }
        double sum = 0;
        for (const double width : *widths) {
            sum += width;
        }
        QList<QTextLength> constraints;
        for (int c = 0; c < columns && c < widths->size(); ++c) {
            constraints.append(QTextLength(QTextLength::PercentageLength, 100 * widths->at(c) / sum));
        }
        format.setColumnWidthConstraints(constraints);
        format.setWidth(QTextLength(QTextLength::PercentageLength, 100));
        out->setFormat(format);
    }
    m_cursor.movePosition(QTextCursor::End);
    m_first = false;
}

void prepare(QTextDocument& document, const QFont& font) {
    document.setUndoRedoEnabled(false);
    document.clear();
    document.setDocumentMargin(0);
    if (document.defaultFont() != font) {
        document.setDefaultFont(font);
    }
}

}  // namespace

QVariant QuietDocument::loadResource(int, const QUrl&) {
    return {};
}

TextStyle TextStyle::of(const QFont& base, const QPalette& palette) {
    TextStyle style;
    style.font = base;
    style.font.setPointSizeF(base.pointSizeF() + 0.5);
    style.code = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    style.code.setPointSizeF(base.pointSizeF() * 0.96);
    style.colours = Colours::of(palette);
    style.dark = isDark(palette);
    // Font families with many mathematical characters, if installed; then the text's own.
    style.formula = QStringList{QStringLiteral("STIX Two Math"), QStringLiteral("Cambria Math"),
                                QStringLiteral("Latin Modern Math"), QStringLiteral("DejaVu Serif")} +
                    style.font.families();
    return style;
}

void renderPlain(const QString& text, const TextStyle& style, QTextDocument& document) {
    prepare(document, style.font);
    QTextCursor cursor(&document);
    QTextBlockFormat format;
    format.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
    QTextCharFormat character;
    character.setForeground(style.colours.text);
    cursor.setBlockFormat(format);
    cursor.insertText(text, character);
}

void renderSegment(const MarkdownSegment& segment, const TextStyle& style, const QSet<QString>& notes,
                   QTextDocument& document, TableColumns& columns, SourceMap& map) {
    map.clear();
    QTextCursor edit(&document);
    if (segment.kind == MarkdownSegment::Kind::Code) {
        prepare(document, style.code);
        QTextBlockFormat line;
        line.setLineHeight(118, QTextBlockFormat::ProportionalHeight);
        edit.setBlockFormat(line);
        QTextCharFormat character;
        character.setForeground(style.colours.text);
        edit.insertText(segment.text.endsWith(u'\n') ? segment.text.chopped(1) : segment.text, character);
        map = SourceMap::ofLines(segment);
        return;
    }
    const ProtectedText protectedText(segment, notes);
    const auto root = parse(protectedText.text());
    if (!root) {
        renderPlain(segment.text, style, document);
        map = SourceMap::ofLines(segment);
        return;
    }
    TextAligner aligner(protectedText);
    prepare(document, style.font);
    // One edit block: laid out once, at its end.
    edit.beginEditBlock();
    Writer writer(document, style, aligner, map, segment.note);
    cmark_node* first = cmark_node_first_child(root.get());
    if (segment.kind == MarkdownSegment::Kind::Table && first && typeOf(first) == "table") {
        writer.table(first, !segment.continued, &columns);
    } else {
        writer.blocks(root.get(), 0);
    }
    edit.endEditBlock();
}

void fitTable(QTextDocument& document, const TableColumns& columns, double available) {
    QTextTable* table = nullptr;
    for (QTextFrame* frame : document.rootFrame()->childFrames()) {
        table = table ? table : qobject_cast<QTextTable*>(frame);
    }
    if (!table) {
        return;
    }
    double sum = 0;
    for (const double width : columns) {
        sum += width;
    }
    QTextTableFormat format = table->format();
    const QTextLength width =
        sum < available ? QTextLength(QTextLength::FixedLength, sum) : QTextLength(QTextLength::PercentageLength, 100);
    if (format.width() != width) {
        format.setWidth(width);
        table->setFormat(format);
    }
}

}  // namespace offstage::ui
