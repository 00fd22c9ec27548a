#pragma once

#include <QWidget>

#include "ui/panels/event_log.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace offstage::ui {

// The event log with a filter by kind, a search, and Save. GUI thread only.
class LogPanel : public QWidget {
    Q_OBJECT

  public:
    // The log must outlive the panel.
    explicit LogPanel(EventLog& log, QWidget* parent = nullptr);

    QTableView& table() const { return *m_table; }
    QComboBox& kind() const { return *m_kind; }
    QLineEdit& search() const { return *m_search; }
    LogFilter& filter() const { return *m_filter; }
    // "No outbound connections", or how many.
    QString connectionsText() const;

    // Saves the filtered lines, as text, or as JSON if the name ends in .json. False with
    // a sentence in `why`.
    bool save(const QString& path, QString* why = nullptr) const;
    QList<LogEntry> shown() const;

    QSize sizeHint() const override { return {360, 300}; }

  private:
    void changeEvent(QEvent* event) override;
    void fitColumns();
    void refresh();
    void askWhereToSave();
    void showDetail();
    void copyChosen();

    EventLog& m_log;
    LogFilter* m_filter;
    QComboBox* m_kind;
    QLineEdit* m_search;
    QTableView* m_table;
    QLabel* m_detail;
    QLabel* m_summary;
    QPushButton* m_save;
};

}  // namespace offstage::ui
