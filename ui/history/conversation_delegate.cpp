#include "ui/history/conversation_delegate.h"

#include <algorithm>

#include <QApplication>
#include <QLineEdit>
#include <QPainter>
#include <QTextLayout>
#include <QWidget>

#include "ui/base/found_colours.h"
#include "ui/base/theme.h"
#include "ui/history/conversation_list_model.h"

namespace offstage::ui {

namespace {

constexpr int kMarginX = 12;
constexpr int kMarginY = 7;
constexpr int kTextGap = 2;
constexpr int kSectionAbove = 10, kSectionBelow = 3;
constexpr int kFolderIndent = 16;  // of its conversations, and of its name beside the arrow
constexpr int kArrow = 12;

// The part of a row that is the name of its section.
int sectionHeight(const QFont& font, const QModelIndex& index);

QFont smaller(QFont font) {
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
}

int sectionHeight(const QFont& font, const QModelIndex& index) {
    return index.data(ConversationListModel::SectionRole).toString().isEmpty()
               ? 0
               : kSectionAbove + QFontMetrics(smaller(font)).height() + kSectionBelow;
}

bool isFolder(const QModelIndex& index) {
    return index.data(ConversationListModel::ConversationRole).toULongLong() == 0;
}

// An arrow that says whether it is open, its name, and how many conversations it has.
void paintFolder(QPainter& painter, const QStyleOptionViewItem& option, const QRect& inner, const QModelIndex& index) {
    const auto group = option.state & QStyle::State_Active ? QPalette::Active : QPalette::Inactive;
    const QWidget* widget = option.widget;
    const QStyle* style = widget ? widget->style() : QApplication::style();
    QStyleOption arrow;
    arrow.palette = option.palette;
    arrow.state = QStyle::State_Enabled;
    arrow.rect = QRect(inner.left() - 2, inner.center().y() - kArrow / 2, kArrow, kArrow);
    const bool isClosed = index.data(ConversationListModel::ClosedRole).toBool();
    style->drawPrimitive(isClosed ? QStyle::PE_IndicatorArrowRight : QStyle::PE_IndicatorArrowDown, &arrow, &painter,
                         widget);
    const QString count = index.data(ConversationListModel::SecondLineRole).toString();
    painter.setFont(smaller(option.font));
    painter.setPen(option.palette.color(group, QPalette::PlaceholderText));
    painter.drawText(inner, Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, count);
    const int counted = painter.fontMetrics().horizontalAdvance(count) + kFolderIndent;
    QFont font = option.font;
    font.setWeight(QFont::DemiBold);
    painter.setFont(font);
    painter.setPen(option.palette.color(group, QPalette::Text));
    const QRect name = inner.adjusted(kFolderIndent, 0, -counted, 0);
    painter.drawText(
        name, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
        QFontMetrics(font).elidedText(index.data(Qt::DisplayRole).toString(), Qt::ElideRight, name.width()));
}

// One line of text that fades into "…"; `marks` in bold, on the colour of what is found.
// If the first match is far from the beginning, the text before it is cut so that the
// match is visible.
void paintMarked(QPainter& painter, const QRect& rect, QString text, const QVariantList& marks, const QFont& font,
                 bool isOnDark) {
    const QFontMetrics metrics(font);
    const FoundColours found = foundColours(isOnDark);
    // Bold letters are wider; an eighth is left for them.
    const int width = marks.isEmpty() ? rect.width() : rect.width() * 7 / 8;
    QList<QTextLayout::FormatRange> formats;
    for (const QVariant& mark : marks) {
        QTextLayout::FormatRange range;
        range.start = mark.toPoint().x();
        range.length = mark.toPoint().y();
        range.format.setFontWeight(QFont::Bold);
        range.format.setBackground(found.background);
        range.format.setForeground(found.text);
        formats.append(range);
    }
    if (!formats.isEmpty()) {
        const int first = formats.first().start;
        const int end = first + formats.first().length;
        int cut = 0;
        if (metrics.horizontalAdvance(text.left(first)) > rect.width() / 2 ||
            metrics.horizontalAdvance(text.left(end)) > width) {
            cut = static_cast<int>(text.lastIndexOf(u' ', std::max(0, first - 12))) + 1;
            const int room = width - 2 * metrics.horizontalAdvance(u'…');  // one before it and one behind
            while (cut < first && metrics.horizontalAdvance(text.mid(cut, end - cut)) > room) {
                const auto next = static_cast<int>(text.indexOf(u' ', cut)) + 1;
                cut = next == 0 ? first : std::min(next, first);
            }
        }
        if (cut > 0) {
            text = u'…' + text.mid(cut);
            for (QTextLayout::FormatRange& range : formats) {
                range.start += 1 - cut;
            }
        }
    }
    QTextLayout layout(metrics.elidedText(text, Qt::ElideRight, width), font);
    const auto size = static_cast<int>(layout.text().size());
    formats.removeIf([size](const QTextLayout::FormatRange& range) { return range.start < 0 || range.start >= size; });
    for (QTextLayout::FormatRange& range : formats) {
        range.length = std::min(range.length, size - range.start);
    }
    layout.setFormats(formats);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    line.setLineWidth(rect.width() * 2);
    layout.endLayout();
    layout.draw(&painter, rect.topLeft());
}

}  // namespace

void ConversationDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    item.text.clear();
    const int section = sectionHeight(option.font, index);
    const QRect row = option.rect.adjusted(0, section, 0, 0);
    const QWidget* widget = option.widget;
    const QStyle* style = widget ? widget->style() : QApplication::style();
    const Colours colours = Colours::of(option.palette);
    const bool selected = option.state & QStyle::State_Selected;
    // A soft colour with a stripe: a whole row in the highlight's colour would be the
    // brightest part of a dark window.
    item.rect = row;
    item.state &= ~QStyle::State_Selected;
    painter->save();
    painter->setClipRect(option.rect);
    if (selected) {
        painter->fillRect(row, colours.prompt);
        painter->fillRect(QRect(row.left(), row.top(), 3, row.height()), colours.accent);
    }
    style->drawControl(QStyle::CE_ItemViewItem, &item, painter, widget);
    const auto group = option.state & QStyle::State_Active ? QPalette::Active : QPalette::Inactive;
    const QColor strong = option.palette.color(group, QPalette::Text);
    const QColor weak = option.palette.color(group, QPalette::PlaceholderText);
    if (section > 0) {
        QFont heading = smaller(option.font);
        heading.setWeight(QFont::DemiBold);
        painter->setFont(heading);
        painter->setPen(weak);
        painter->drawText(QRect(row.left() + kMarginX, option.rect.top() + kSectionAbove, row.width() - 2 * kMarginX,
                                QFontMetrics(heading).height()),
                          Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                          index.data(ConversationListModel::SectionRole).toString());
    }
    const bool inFolder = !index.data(ConversationListModel::FolderRole).toString().isEmpty();
    const int indent = inFolder && !isFolder(index) ? kFolderIndent : 0;
    const QRect inner = row.adjusted(kMarginX + indent, kMarginY, -kMarginX, -kMarginY);
    if (isFolder(index)) {
        paintFolder(*painter, option, inner, index);
        painter->restore();
        return;
    }
    const QFontMetrics title(option.font);
    painter->setFont(option.font);
    painter->setPen(strong);
    const QRect first(inner.left(), inner.top(), inner.width(), title.height());
    paintMarked(*painter, first, index.data(Qt::DisplayRole).toString(),
                index.data(ConversationListModel::TitleMarksRole).toList(), option.font, isDark(option.palette));
    const QFont small = smaller(option.font);
    painter->setFont(small);
    const bool unsaved = index.data(ConversationListModel::UnsavedRole).toBool();
    painter->setPen(unsaved ? colours.problem : weak);
    QRect second(inner.left(), first.bottom() + 1 + kTextGap, inner.width(), QFontMetrics(small).height());
    if (const QString place = index.data(ConversationListModel::PlaceRole).toString(); !place.isEmpty()) {
        QFont italic = small;
        italic.setItalic(true);
        const QString shown = place + QStringLiteral(" · ");
        painter->save();
        painter->setFont(italic);
        painter->setPen(colours.accent);
        painter->drawText(second, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, shown);
        painter->restore();
        second.setLeft(second.left() + QFontMetrics(italic).horizontalAdvance(shown));
    }
    paintMarked(*painter, second, index.data(ConversationListModel::SecondLineRole).toString(),
                index.data(ConversationListModel::MarksRole).toList(), small, isDark(option.palette));
    painter->restore();
}

QSize ConversationDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const int secondLine = isFolder(index) ? 0 : kTextGap + QFontMetrics(smaller(option.font)).height();
    const int height = QFontMetrics(option.font).height() + secondLine;
    return {120, height + 2 * kMarginY + sectionHeight(option.font, index)};
}

void ConversationDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
    const auto* line = qobject_cast<QLineEdit*>(editor);
    if (line == nullptr || !line->isModified()) {
        QStyledItemDelegate::setEditorData(editor, index);
    }
}

void ConversationDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                                const QModelIndex& index) const {
    editor->setGeometry(option.rect.adjusted(kMarginX / 2, 3 + sectionHeight(option.font, index), -kMarginX / 2, -3));
}

}  // namespace offstage::ui
