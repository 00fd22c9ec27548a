#include "ui/history/conversation_delegate.h"

#include <algorithm>

#include <QApplication>
#include <QPainter>
#include <QTextLayout>
#include <QWidget>

#include "ui/history/conversation_list_model.h"
#include "ui/theme.h"

namespace offstage::ui {

namespace {

constexpr int kMarginX = 12;
constexpr int kMarginY = 7;
constexpr int kTextGap = 2;

QFont smaller(QFont font) {
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
}

// One line of text that fades into "…"; `marks` in bold. Long before the first match, the beginning is left out.
void paintMarked(QPainter& painter, const QRect& rect, QString text, const QVariantList& marks, const QFont& font) {
    const QFontMetrics metrics(font);
    QList<QTextLayout::FormatRange> formats;
    for (const QVariant& mark : marks) {
        QTextLayout::FormatRange range;
        range.start = mark.toPoint().x();
        range.length = mark.toPoint().y();
        range.format.setFontWeight(QFont::Bold);
        range.format.setForeground(painter.pen().color());
        formats.append(range);
    }
    if (!formats.isEmpty()) {
        const int first = formats.first().start;
        const int room = rect.width() / 2;
        const int cut = metrics.horizontalAdvance(text.left(first)) > room
                            ? static_cast<int>(text.lastIndexOf(u' ', std::max(0, first - 12))) + 1
                            : 0;
        if (cut > 0) {
            text = u'…' + text.mid(cut);
            for (QTextLayout::FormatRange& range : formats) {
                range.start += 1 - cut;
            }
        }
    }
    // Bold letters are wider; an eighth is left for them.
    const int width = formats.isEmpty() ? rect.width() : rect.width() * 7 / 8;
    QTextLayout layout(metrics.elidedText(text, Qt::ElideRight, width), font);
    formats.removeIf([&layout](const QTextLayout::FormatRange& range) {
        return range.start < 0 || range.start + range.length > layout.text().size();
    });
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
    const QWidget* widget = option.widget;
    const QStyle* style = widget ? widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &item, painter, widget);

    painter->save();
    painter->setClipRect(option.rect);
    const bool selected = option.state & QStyle::State_Selected;
    const auto group = option.state & QStyle::State_Active ? QPalette::Active : QPalette::Inactive;
    const QColor strong = option.palette.color(group, selected ? QPalette::HighlightedText : QPalette::Text);
    QColor weak = selected ? strong : option.palette.color(group, QPalette::PlaceholderText);
    weak.setAlphaF(selected ? 0.85f : weak.alphaF());
    const QRect inner = option.rect.adjusted(kMarginX, kMarginY, -kMarginX, -kMarginY);
    const QFontMetrics title(option.font);
    painter->setFont(option.font);
    painter->setPen(strong);
    const QRect first(inner.left(), inner.top(), inner.width(), title.height());
    painter->drawText(first, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                      title.elidedText(index.data(Qt::DisplayRole).toString(), Qt::ElideRight, first.width()));
    const QFont small = smaller(option.font);
    painter->setFont(small);
    const bool unsaved = index.data(ConversationListModel::UnsavedRole).toBool();
    painter->setPen(unsaved && !selected ? Colours::of(option.palette).problem : weak);
    paintMarked(*painter,
                QRect(inner.left(), first.bottom() + 1 + kTextGap, inner.width(), QFontMetrics(small).height()),
                index.data(ConversationListModel::SecondLineRole).toString(),
                index.data(ConversationListModel::MarksRole).toList(), small);
    painter->restore();
}

QSize ConversationDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
    const int height = QFontMetrics(option.font).height() + kTextGap + QFontMetrics(smaller(option.font)).height();
    return {120, height + 2 * kMarginY};
}

void ConversationDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                                const QModelIndex&) const {
    editor->setGeometry(option.rect.adjusted(kMarginX / 2, 3, -kMarginX / 2, -3));
}

}  // namespace offstage::ui
