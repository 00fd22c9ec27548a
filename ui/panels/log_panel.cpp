#include "ui/panels/log_panel.h"

#include <algorithm>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableView>

#include "ui/base/save_file.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/table_rows.h"

namespace offstage::ui {

namespace {

constexpr int kLeastLetters = 12;  // of an event

}  // namespace

LogPanel::LogPanel(EventLog& log, QWidget* parent)
    : QWidget(parent),
      m_log(log),
      m_filter(new LogFilter(this)),
      m_kind(new QComboBox),
      m_search(new QLineEdit),
      m_table(new QTableView),
      m_detail(textLabel(tr("The chosen event"))),
      m_summary(mutedLabel()),
      m_save(new QPushButton(tr("Save…"))) {
    m_filter->setSourceModel(&m_log);
    describe(*m_kind, tr("Kind of events"), tr("Show events of one kind only"));
    m_kind->addItem(tr("All events"));
    for (int i = 0; i < kLogKinds; ++i) {
        m_kind->addItem(nameOf(static_cast<LogKind>(i)), i);
    }
    m_search->setAccessibleName(tr("Search in the log"));
    m_search->setPlaceholderText(tr("Search"));
    m_search->setToolTip(tr("Show events that hold all of these words"));
    m_search->setClearButtonEnabled(true);
    m_save->setToolTip(tr("Save what is shown, as text or as JSON"));

    m_table->setModel(m_filter);
    showRows(*m_table, tr("Events"));
    m_table->setWordWrap(false);
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_table->horizontalHeader()->setSectionResizeMode(EventLog::Text, QHeaderView::Stretch);
    fitColumns();
    auto* copy = new QAction(tr("&Copy"), m_table);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    m_table->addAction(copy);
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_detail->hide();
    columnOf(this, {rowOf({m_kind, {m_search, 1}, m_save}), {m_table, 1}, m_detail, m_summary},
             inset(12, 10, 12, 6, 8));

    connect(m_kind, &QComboBox::currentIndexChanged, this, [this](int index) {
        m_filter->setKind(index == 0 ? std::nullopt
                                     : std::optional(static_cast<LogKind>(m_kind->itemData(index).toInt())));
        refresh();
    });
    connect(m_search, &QLineEdit::textChanged, this, [this](const QString& words) {
        m_filter->setWords(words);
        refresh();
    });
    connect(m_save, &QPushButton::clicked, this, &LogPanel::askWhereToSave);
    connect(copy, &QAction::triggered, this, &LogPanel::copyChosen);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &LogPanel::showDetail);
    // A view that shows the end continues to show the end.
    connect(m_filter, &QAbstractItemModel::rowsAboutToBeInserted, this, [this] {
        const QScrollBar* bar = m_table->verticalScrollBar();
        m_table->setProperty("follows", bar->value() == bar->maximum());
    });
    connect(&m_log, &EventLog::appended, this, [this] {
        if (m_table->property("follows").toBool()) {
            m_table->scrollToBottom();
        }
        refresh();
    });
    refresh();
}

void LogPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange) {
        fitColumns();
    }
}

// To the longest texts of the present font; the events have the rest.
void LogPanel::fitColumns() {
    m_table->setColumnWidth(EventLog::Time, fontMetrics().horizontalAdvance(QStringLiteral("00:00:00.000")) + 16);
    int widest = 0;
    for (int kind = 0; kind < kLogKinds; ++kind) {
        widest = std::max(widest, fontMetrics().horizontalAdvance(nameOf(static_cast<LogKind>(kind))));
    }
    m_table->setColumnWidth(EventLog::Kind, widest + 16);
    m_table->setMinimumWidth(m_table->columnWidth(EventLog::Time) + m_table->columnWidth(EventLog::Kind) +
                             kLeastLetters * fontMetrics().averageCharWidth());
}

QString LogPanel::connectionsText() const {
    return m_log.connections() == 0 ? tr("No outbound connections")
                                    : tr("%n outbound connection(s)", nullptr, m_log.connections());
}

QList<LogEntry> LogPanel::shown() const {
    QList<LogEntry> entries;
    for (int row = 0; row < m_filter->rowCount(); ++row) {
        entries.append(m_log.at(m_filter->mapToSource(m_filter->index(row, 0)).row()));
    }
    return entries;
}

void LogPanel::refresh() {
    QString text =
        connectionsText() + QStringLiteral(" · ") + tr("%1 of %2 events").arg(m_filter->rowCount()).arg(m_log.size());
    if (m_log.dropped() > 0) {
        text += QStringLiteral(" · ") + tr("%1 older ones were let go").arg(m_log.dropped());
    }
    m_summary->setText(text);
    m_save->setEnabled(m_filter->rowCount() > 0);
}

void LogPanel::showDetail() {
    const QModelIndex index = m_table->currentIndex();
    m_detail->setVisible(index.isValid());
    if (index.isValid()) {
        m_detail->setText(index.data(Qt::ToolTipRole).toString());
    }
}

void LogPanel::copyChosen() {
    QList<LogEntry> entries;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows()) {
        entries.append(m_log.at(m_filter->mapToSource(index).row()));
    }
    QApplication::clipboard()->setText(logText(entries));
}

bool LogPanel::save(const QString& path, QString* why) const {
    const bool json = path.endsWith(QStringLiteral(".json"), Qt::CaseInsensitive);
    const QByteArray bytes = json ? logJson(shown()) : logText(shown()).toUtf8();
    const QString failure = saveFile(path, bytes);
    if (!failure.isEmpty() && why != nullptr) {
        *why = tr("The log could not be saved as %1: %2.").arg(path, failure);
    }
    return failure.isEmpty();
}

void LogPanel::askWhereToSave() {
    openSaveDialog(this, tr("Save the log"), {tr("Text (*.txt)"), tr("JSON (*.json)")}, QStringLiteral("offstage-log"),
                   [this](const QString& path) {
                       QString why;
                       if (!save(path, &why)) {
                           m_summary->setText(why);
                       }
                   });
}

}  // namespace offstage::ui
