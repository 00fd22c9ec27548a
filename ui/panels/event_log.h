#pragma once

#include <deque>
#include <optional>
#include <set>

#include <QAbstractTableModel>
#include <QDateTime>
#include <QSortFilterProxyModel>

#include "ui/base/message.h"

namespace offstage::ui {

class EngineController;

enum class LogKind { Load, Replan, Decision, Note, Problem, Connection };
inline constexpr int kLogKinds = 6;
QString nameOf(LogKind kind);        // for display
QString identifierOf(LogKind kind);  // in files: "load", "replan", "decision", "note", "problem", "connection"

struct LogEntry {
    QDateTime time;
    LogKind kind = LogKind::Note;
    QString text;
    QString detail;  // may be empty
};

// Events since the program began, the newest last; bounded, the oldest are removed. Other
// parts append to it. GUI thread only.
class EventLog : public QAbstractTableModel {
    Q_OBJECT

  public:
    enum Column { Time, Kind, Text, Columns };
    enum Role { KindRole = Qt::UserRole, DetailRole };
    static constexpr int kMostRows = 10'000;

    explicit EventLog(QObject* parent = nullptr);

    void append(LogKind kind, const QString& text, const QString& detail = {});
    // What a person was told as an error.
    void appendError(const Problem& error);
    // A connection to another machine, begun by this program: to whom and what for.
    void appendConnection(const QString& host, const QString& purpose);
    void clear();

    const LogEntry& at(int row) const { return m_entries[static_cast<std::size_t>(row)]; }
    int size() const { return static_cast<int>(m_entries.size()); }
    int connections() const { return m_connections; }  // ever, also those removed from the list
    qint64 dropped() const { return m_dropped; }       // entries that have left the list

    // Logs loads, re-plans and live decisions of the engine as they happen.
    void follow(EngineController& engine);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  Q_SIGNALS:
    void appended();

  private:
    void readReports(EngineController& engine);
    void readDecisions(EngineController& engine);

    std::deque<LogEntry> m_entries;
    int m_connections = 0;
    qint64 m_dropped = 0;
    std::set<quint64> m_reported;  // re-plans whose end has been logged
    quint64 m_decisions = 0;       // logged ones of the engine's
};

// Shows the selected kinds and words.
class LogFilter : public QSortFilterProxyModel {
    Q_OBJECT

  public:
    explicit LogFilter(QObject* parent = nullptr);

    void setKind(std::optional<LogKind> kind);  // nothing: all
    void setWords(const QString& words);        // all must occur, in any case

  protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

  private:
    std::optional<LogKind> m_kind;
    QStringList m_words;
};

// One line per entry: "2026-11-21 23:10:05.120  load  ...", details indented below.
QString logText(const QList<LogEntry>& entries);
// {"format": "offstage.log", "version": 1, "entries": [{"time": "...", "kind": "load",
// "text": "...", "detail": "..."}]}
QByteArray logJson(const QList<LogEntry>& entries);

}  // namespace offstage::ui
