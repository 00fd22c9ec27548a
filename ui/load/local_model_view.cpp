#include "ui/load/local_model_view.h"

#include <algorithm>

#include <QApplication>
#include <QDir>
#include <QEvent>
#include <QLabel>
#include <QListView>
#include <QPainter>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStyledItemDelegate>
#include <QTextLayout>
#include <QTextOption>

#include "ui/base/save_file.h"
#include "ui/base/theme.h"
#include "ui/load/local_models.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kRowMarginX = 10;
constexpr int kRowMarginY = 6;
constexpr int kLineGap = 2;
constexpr int kWideRow = 62;  // characters: from here on the verdict stands at the right

QFont smallFont(QFont font) {
    font.setPointSizeF(font.pointSizeF() * 0.9);
    return font;
}

// Characters that go into one line.
qsizetype lengthOfLine(const QString& text, const QFont& font, int width) {
    QTextLayout layout(text, font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid()) {
        line.setLineWidth(width);
    }
    layout.endLayout();
    return line.isValid() ? line.textLength() : text.size();
}

class LocalModelDelegate : public QStyledItemDelegate {
  public:
    explicit LocalModelDelegate(QListView& view) : QStyledItemDelegate(&view), m_view(view) {}

    bool isWide() const { return m_view.viewport()->width() >= kWideRow * m_view.fontMetrics().averageCharWidth(); }

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const override {
        const int small = QFontMetrics(smallFont(option.font)).height();
        const int lines = isWide() ? small + kLineGap : 2 * (small + kLineGap);
        return {120, QFontMetrics(option.font).height() + lines + 2 * kRowMarginY};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyleOptionViewItem item = option;
        initStyleOption(&item, index);
        item.text.clear();
        if ((option.state & QStyle::State_MouseOver) && !(option.state & QStyle::State_Selected)) {
            painter->fillRect(option.rect, Colours::of(option.palette).raised);
        }
        item.state &= ~QStyle::State_MouseOver;
        m_view.style()->drawControl(QStyle::CE_ItemViewItem, &item, painter, &m_view);

        painter->save();
        painter->setClipRect(option.rect);
        const bool selected = option.state & QStyle::State_Selected;
        const auto group = option.state & QStyle::State_Active ? QPalette::Active : QPalette::Inactive;
        const Colours colours = Colours::of(option.palette);
        const auto fit = static_cast<LocalModel::Fit>(index.data(LocalModels::FitRole).toInt());
        const bool usable = fit != LocalModel::Fit::NotSupported;
        const QColor chosen = option.palette.color(group, QPalette::HighlightedText);
        const QColor strong = selected ? chosen : usable ? colours.text : colours.muted;
        const QColor weak = selected ? chosen : colours.muted;
        const bool isBad = fit == LocalModel::Fit::TooLarge;
        const QRect inner = option.rect.adjusted(kRowMarginX, kRowMarginY, -kRowMarginX, -kRowMarginY);
        const QFont small = smallFont(option.font);
        const QFontMetrics smallMetrics(small);
        const QString verdict = index.data(LocalModels::VerdictRole).toString();

        QRect name(inner.left(), inner.top(), inner.width(), QFontMetrics(option.font).height());
        QRect facts(inner.left(), name.bottom() + 1 + kLineGap, inner.width(), smallMetrics.height());
        QRect verdictRect = facts.translated(0, smallMetrics.height() + kLineGap);
        int side = Qt::AlignLeft;
        if (isWide()) {
            side = Qt::AlignRight;
            const int width = std::min(smallMetrics.horizontalAdvance(verdict) + 1, inner.width() / 2);
            verdictRect = QRect(inner.right() + 1 - width, inner.top(), width, name.height());
            name.setRight(verdictRect.left() - kRowMarginX);
        }
        painter->setFont(option.font);
        painter->setPen(strong);
        const QString title = index.data(Qt::DisplayRole).toString();
        painter->drawText(name, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                          QFontMetrics(option.font).elidedText(title, Qt::ElideMiddle, name.width()));
        painter->setFont(small);
        painter->setPen(weak);
        const auto write = [&](const QRect& line, int alignment, const QString& text) {
            painter->drawText(line, alignment | Qt::AlignVCenter | Qt::TextSingleLine,
                              smallMetrics.elidedText(text, Qt::ElideRight, line.width()));
        };
        if (!usable && !isWide()) {  // why not is worth both lines
            const qsizetype first = lengthOfLine(verdict, small, facts.width());
            write(facts, Qt::AlignLeft, verdict.left(first));
            write(verdictRect, Qt::AlignLeft, verdict.mid(first));
        } else {
            write(facts, Qt::AlignLeft, index.data(LocalModels::FactsRole).toString());
            painter->setPen(isBad && !selected ? colours.problem : usable ? strong : weak);
            write(verdictRect, side, verdict);
        }
        painter->restore();
    }

  private:
    QListView& m_view;
};

// Models that can be opened, the first few of them.
class FirstModels : public QSortFilterProxyModel {
  public:
    explicit FirstModels(int most, QObject* parent) : QSortFilterProxyModel(parent), m_most(most) {}

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
        const QModelIndex index = sourceModel()->index(row, 0, parent);
        return row < m_most &&
               index.data(LocalModels::FitRole).toInt() != static_cast<int>(LocalModel::Fit::NotSupported);
    }

  private:
    int m_most;
};

}  // namespace

LocalModelView::LocalModelView(LocalModels& models, Extent extent, QWidget* parent)
    : QWidget(parent),
      m_models(models),
      m_extent(extent),
      m_heading(new QLabel(tr("On this computer"))),
      m_list(new QListView),
      m_status(mutedLabel()),
      m_button(new QPushButton(extent == Extent::All ? tr("&Add folder…") : tr("All models…"))),
      m_rows(extent == Extent::Few ? new FirstModels(kFew, this) : new QSortFilterProxyModel(this)) {
    m_rows->setSourceModel(&models);
    m_list->setModel(m_rows);
    m_list->setItemDelegate(new LocalModelDelegate(*m_list));
    m_list->setResizeMode(QListView::Adjust);
    m_list->setUniformItemSizes(true);
    m_list->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setAccessibleName(tr("Models on this computer"));
    m_list->setMinimumWidth(140);
    m_list->viewport()->setAttribute(Qt::WA_Hover);
    m_heading->setForegroundRole(QPalette::PlaceholderText);
    m_heading->setBuddy(m_list);
    m_button->setAutoDefault(false);
    m_button->setToolTip(extent == Extent::All ? tr("Look for models in a folder of your own too")
                                               : tr("All models that were found, and how to load them"));
    if (extent == Extent::Few) {
        m_list->viewport()->setCursor(Qt::PointingHandCursor);
        m_list->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    }

    auto* column = columnOf(
        this,
        {m_heading, {m_list, 1}, m_status, {m_button, 0, extent == Extent::All ? Qt::AlignLeft : Qt::AlignHCenter}},
        inset(0, extent == Extent::All ? 0 : 8, 0, 0, 6));
    column->addStretch(0);  // if the list is hidden

    const auto path = [](const QModelIndex& index) { return index.data(LocalModels::PathRole).toString(); };
    if (extent == Extent::All) {
        connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
                [this, path](const QModelIndex& now) {
                    if (!m_marking && now.isValid()) {
                        Q_EMIT chosen(path(now));
                    }
                });
        connect(m_list, &QListView::activated, this, [this, path](const QModelIndex& at) { Q_EMIT opened(path(at)); });
        connect(m_button, &QPushButton::clicked, this,
                [this] { chooseModelsFolder(this, [this](const QString& folder) { m_models.addFolder(folder); }); });
    } else {
        connect(m_list, &QListView::clicked, this, [this, path](const QModelIndex& at) { Q_EMIT opened(path(at)); });
        connect(m_list, &QListView::activated, this, [this, path](const QModelIndex& at) {
            if (QGuiApplication::mouseButtons() == Qt::NoButton) {  // Enter; a click is seen to above
                Q_EMIT opened(path(at));
            }
        });
        connect(m_button, &QPushButton::clicked, this, &LocalModelView::allRequested);
    }
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, [this, path](const QModelIndex& now) {
        if (now.isValid()) {
            m_current = path(now);
        }
    });
    connect(&models, &LocalModels::searched, this, &LocalModelView::refresh);
    connect(&models, &QAbstractItemModel::modelReset, this, [this] {
        refresh();
        setCurrent(m_current);
    });
    restyle();
    refresh();
}

// A few models look on the page like the suggested prompts.
void LocalModelView::restyle() {
    if (m_extent == Extent::Few) {
        const Colours colours = Colours::of(palette());
        const QString style =
            QStringLiteral(
                "QListView { background: %1; border: 1px solid %2; border-radius: 10px; padding: 3px; }"
                "QListView:focus { border-color: %3; }")
                .arg(colours.surface.name(), colours.line.name(), colours.accent.name());
        if (m_list->styleSheet() != style) {  // setting one is a change of the palette too
            m_list->setStyleSheet(style);
        }
    }
}

void LocalModelView::setCurrent(const QString& path) {
    m_current = path;
    const int row = m_models.rowOf(path);
    const QModelIndex index = row < 0 ? QModelIndex() : m_rows->mapFromSource(m_models.index(row));
    m_marking = true;
    m_list->setCurrentIndex(index);
    if (!index.isValid()) {
        m_list->clearSelection();
    }
    m_marking = false;
}

void LocalModelView::refresh() {
    const QString summary = m_models.summary();
    m_status->setText(summary);
    const int rows = m_rows->rowCount();
    if (m_extent == Extent::All) {
        m_status->setVisible(!summary.isEmpty());
        m_list->setVisible(rows > 0 || !m_models.wasSearched());
        return;
    }
    m_status->setVisible(rows == 0 && !summary.isEmpty());
    m_heading->setVisible(rows > 0);
    m_list->setVisible(rows > 0);
    m_button->setVisible(m_models.rowCount() > rows);
    if (rows > 0) {
        const int around = m_list->height() - m_list->contentsRect().height();  // frame and padding
        m_list->setFixedHeight(rows * m_list->sizeHintForRow(0) + around);
    }
}

void LocalModelView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    if (m_extent == Extent::Few) {
        // Rows have two or three lines, depending on the list's width, which is known
        // after its layout.
        QMetaObject::invokeMethod(this, &LocalModelView::refresh, Qt::QueuedConnection);
    }
}

// Models may have come to the disk since.
bool LocalModelView::event(QEvent* event) {
    const bool isSeen = event->type() == QEvent::Show || (event->type() == QEvent::WindowActivate && isVisible());
    if (isSeen && m_models.wasSearched() && !m_models.isSearching()) {
        m_models.search();
    }
    return QWidget::event(event);
}

void LocalModelView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        restyle();
    }
    if (event->type() == QEvent::FontChange && m_extent == Extent::Few) {
        refresh();
    }
}

}  // namespace offstage::ui
