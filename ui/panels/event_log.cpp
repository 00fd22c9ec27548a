#include "ui/panels/event_log.h"

#include <algorithm>

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

struct Log {
    Q_DECLARE_TR_FUNCTIONS(EventLog)
};

QString replanText(const engine::ReplanReport& report) {
    using State = engine::ReplanState;
    switch (report.state) {
        case State::kDone:
            return Log::tr("Re-plan %1 is in force: %2 of %3 copies, %4 moved in %5; %6 experts on the device, %7 bits")
                .arg(report.id)
                .arg(report.visible)
                .arg(report.requested)
                .arg(bytesText(report.bytes_moved), secondsText(report.seconds))
                .arg(report.resident_experts)
                .arg(report.mean_bits, 0, 'f', 2);
        case State::kCancelled:
            return Log::tr("Re-plan %1 was cancelled").arg(report.id);
        case State::kSuperseded:
            return Log::tr("Re-plan %1 gave way to a later one").arg(report.id);
        default:
            return Log::tr("Re-plan %1 could not be carried out").arg(report.id);
    }
}

}  // namespace

QString nameOf(LogKind kind) {
    switch (kind) {
        case LogKind::Load:
            return Log::tr("model");
        case LogKind::Replan:
            return Log::tr("re-plan");
        case LogKind::Decision:
            return Log::tr("decision");
        case LogKind::Note:
            return Log::tr("note");
        case LogKind::Problem:
            return Log::tr("problem");
        case LogKind::Connection:
            return Log::tr("connection");
    }
    return {};
}

QString identifierOf(LogKind kind) {
    static const char* const kNames[kLogKinds] = {"load", "replan", "decision", "note", "problem", "connection"};
    return QString::fromLatin1(kNames[static_cast<int>(kind)]);
}

EventLog::EventLog(QObject* parent) : QAbstractTableModel(parent) {}

void EventLog::append(LogKind kind, const QString& text, const QString& detail) {
    if (size() >= kMostRows) {
        // A tenth at once, so that views do not get a removal for every line.
        const int n = kMostRows / 10;
        beginRemoveRows({}, 0, n - 1);
        m_entries.erase(m_entries.begin(), m_entries.begin() + n);
        m_dropped += n;
        endRemoveRows();
    }
    if (kind == LogKind::Connection) {
        ++m_connections;
    }
    beginInsertRows({}, size(), size());
    m_entries.push_back({QDateTime::currentDateTime(), kind, text, detail});
    endInsertRows();
    Q_EMIT appended();
}

void EventLog::appendError(const Problem& error) {
    append(LogKind::Problem, tr("%1: %2").arg(error.title, error.sentence), error.detail);
}

void EventLog::appendConnection(const QString& host, const QString& purpose) {
    append(LogKind::Connection, tr("Connection to %1: %2").arg(host, purpose));
}

void EventLog::clear() {
    beginResetModel();
    m_entries.clear();
    endResetModel();
    Q_EMIT appended();
}

void EventLog::follow(EngineController& engine) {
    connect(&engine, &EngineController::loadStarted, this, [this](const QString& model) {
        m_reported.clear();
        m_decisions = 0;
        append(LogKind::Load, tr("Loading %1").arg(model));
    });
    connect(&engine, &EngineController::loadProgressed, this, [this](const engine::LoadProgress& progress) {
        if (!progress.note.empty()) {
            append(LogKind::Note, engineText(progress.note));
        }
    });
    connect(&engine, &EngineController::modelLoaded, this, [this](const engine::ModelSummary& model) {
        append(LogKind::Load,
               tr("%1 is loaded in %2").arg(QString::fromStdString(model.name), secondsText(model.load_s)),
               tr("device %1, %2 of %3 experts on it, context %4")
                   .arg(QString::fromStdString(model.device))
                   .arg(model.resident_experts)
                   .arg(model.total_experts)
                   .arg(model.context));
        for (std::size_t i = model.n_early_notes; i < model.notes.size(); ++i) {
            append(LogKind::Note, engineText(model.notes[i]));
        }
    });
    connect(&engine, &EngineController::loadFailed, this, [this](const QString& model, const EngineFailure& failure) {
        if (failure.kind == engine::ErrorKind::kCancelled) {  // others have a card: appendError()
            append(LogKind::Note, tr("%1: %2").arg(model, failure.sentence), failure.detail);
        }
    });
    connect(&engine, &EngineController::answered, this,
            [this, &engine](RequestId, const engine::GenerationResult& result) {
                for (const engine::Message& note : result.notes) {
                    append(LogKind::Note, engineText(note));
                }
                readReports(engine);
                readDecisions(engine);
            });
    connect(&engine, &EngineController::replanEnded, this, [this, &engine] { readReports(engine); });
    connect(&engine, &EngineController::replanRequested, this,
            [this](quint64 id) { append(LogKind::Replan, tr("Re-plan %1 was asked for").arg(id)); });
}

void EventLog::readReports(EngineController& engine) {
    for (const engine::ReplanReport& report : engine.replans()) {
        if (!isOver(report.state) || !m_reported.insert(report.id).second) {
            continue;
        }
        const bool failed = report.state == engine::ReplanState::kFailed;
        append(failed ? LogKind::Problem : LogKind::Replan, replanText(report), engineText(report.problem));
        if (!report.note.empty()) {
            append(LogKind::Note, engineText(report.note));
        }
    }
}

void EventLog::readDecisions(EngineController& engine) {
    const auto snapshot = engine.snapshot();
    if (!snapshot) {
        return;
    }
    // The engine keeps the newest and counts them all.
    const auto& decisions = snapshot->decisions;
    const quint64 fresh = snapshot->n_decisions - std::min<quint64>(m_decisions, snapshot->n_decisions);
    for (std::size_t i = decisions.size() - std::min<std::size_t>(fresh, decisions.size()); i < decisions.size(); ++i) {
        append(LogKind::Decision, engineText(decisions[i]));
    }
    m_decisions = snapshot->n_decisions;
}

int EventLog::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : size();
}

int EventLog::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(Columns);
}

QVariant EventLog::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= size()) {
        return {};
    }
    const LogEntry& entry = at(index.row());
    switch (role) {
        case Qt::DisplayRole:
            return index.column() == Time   ? entry.time.toString(QStringLiteral("HH:mm:ss.zzz"))
                   : index.column() == Kind ? nameOf(entry.kind)
                                            : entry.text;
        case Qt::ToolTipRole:
            return entry.detail.isEmpty() ? entry.text : entry.text + u'\n' + entry.detail;
        case KindRole:
            return static_cast<int>(entry.kind);
        case DetailRole:
            return entry.detail;
        default:
            return {};
    }
}

QVariant EventLog::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    return section == Time ? tr("Time") : section == Kind ? tr("Kind") : tr("What happened");
}

LogFilter::LogFilter(QObject* parent) : QSortFilterProxyModel(parent) {}

void LogFilter::setKind(std::optional<LogKind> kind) {
    m_kind = kind;
    invalidateFilter();
}

void LogFilter::setWords(const QString& words) {
    m_words = words.split(u' ', Qt::SkipEmptyParts);
    invalidateFilter();
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const QModelIndex index = sourceModel()->index(row, EventLog::Text, parent);
    if (m_kind && index.data(EventLog::KindRole).toInt() != static_cast<int>(*m_kind)) {
        return false;
    }
    const QString text = index.data().toString() + u'\n' + index.data(EventLog::DetailRole).toString();
    return std::all_of(m_words.begin(), m_words.end(),
                       [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

QString logText(const QList<LogEntry>& entries) {
    QString text;
    for (const LogEntry& entry : entries) {
        text += entry.time.toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.zzz")) + QStringLiteral("  ") +
                identifierOf(entry.kind).leftJustified(10) + QStringLiteral("  ") + entry.text + u'\n';
        for (const QString& line : entry.detail.split(u'\n', Qt::SkipEmptyParts)) {
            text += QStringLiteral("    ") + line + u'\n';
        }
    }
    return text;
}

QByteArray logJson(const QList<LogEntry>& entries) {
    QJsonArray array;
    for (const LogEntry& entry : entries) {
        array.append(QJsonObject{{QStringLiteral("time"), entry.time.toString(Qt::ISODateWithMs)},
                                 {QStringLiteral("kind"), identifierOf(entry.kind)},
                                 {QStringLiteral("text"), entry.text},
                                 {QStringLiteral("detail"), entry.detail}});
    }
    return QJsonDocument(QJsonObject{{QStringLiteral("format"), QStringLiteral("offstage.log")},
                                     {QStringLiteral("version"), 1},
                                     {QStringLiteral("entries"), array}})
        .toJson();
}

}  // namespace offstage::ui
