#include <QLocale>

#include "ui/engine/format.h"
#include "ui/panels/benchmark_panel.h"

namespace offstage::ui {

namespace {

QString msText(double seconds) {
    return seconds > 0 ? QLocale().toString(1000 * seconds, 'f', seconds < 0.1 ? 2 : 0) : QStringLiteral("–");
}

}  // namespace

void BenchmarkTable::append(const BenchmarkRun& run) {
    if (m_runs.size() >= kMostRuns) {
        beginRemoveRows({}, 0, 0);
        m_runs.erase(m_runs.begin());
        endRemoveRows();
    }
    const int row = static_cast<int>(m_runs.size());
    beginInsertRows({}, row, row);
    m_runs.push_back(run);
    endInsertRows();
}

void BenchmarkTable::clear() {
    beginResetModel();
    m_runs.clear();
    endResetModel();
}

int BenchmarkTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_runs.size());
}

int BenchmarkTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(Columns);
}

QVariant BenchmarkTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const BenchmarkRun& run = m_runs[static_cast<std::size_t>(index.row())];
    if (role == Qt::TextAlignmentRole) {
        return index.column() == Label ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                       : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    }
    if (role == Qt::ToolTipRole) {
        // All figures: the last columns may have no room.
        QStringList figures;
        for (int column = Label + 1; column < Columns; ++column) {
            figures << headerData(column, Qt::Horizontal, Qt::DisplayRole).toString() + QStringLiteral(": ") +
                           data(index.siblingAtColumn(column), Qt::DisplayRole).toString();
        }
        return tr("%1\n%2\n%3, %4, %5 bits on average, seed %6")
                   .arg(run.label, settingText(run.setting), run.device, run.policy,
                        QLocale().toString(run.meanBits, 'f', 2))
                   .arg(run.seed) +
               u'\n' + figures.join(QStringLiteral(" · "));
    }
    if (role == Qt::UserRole) {
        const double values[Columns] = {0,
                                        run.hasSpeed() ? run.tokensPerSecond : 0,
                                        run.ttftSeconds,
                                        static_cast<double>(run.tokensIn),
                                        static_cast<double>(run.tokensOut),
                                        run.itl(0.5),
                                        run.itl(0.95),
                                        run.itl(0.99),
                                        run.hitRate,
                                        static_cast<double>(run.bytesCopied)};
        return values[index.column()];
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (index.column()) {
        case Label:
            return run.label;
        case In:
            return QLocale().toString(run.tokensIn);
        case Out:
            return QLocale().toString(run.tokensOut);
        case Ttft:
            return msText(run.ttftSeconds);
        case Speed:
            return run.hasSpeed() ? QLocale().toString(run.tokensPerSecond, 'f', 1) : QStringLiteral("–");
        case P50:
            return msText(run.itl(0.5));
        case P95:
            return msText(run.itl(0.95));
        case P99:
            return msText(run.itl(0.99));
        case HitRate:
            return percentText(run.hitRate);
        default:
            return bytesText(run.bytesCopied);
    }
}

QVariant BenchmarkTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::DisplayRole) {
        const QString names[Columns] = {tr("run"),    tr("tokens/s"), tr("TTFT ms"), tr("in"),       tr("out"),
                                        tr("p50 ms"), tr("p95 ms"),   tr("p99 ms"),  tr("hit rate"), tr("copied")};
        return names[section];
    }
    if (role == Qt::ToolTipRole) {
        const QString tips[Columns] = {tr("The answer, or the scenario"),
                                       tr("Decode, after the first token; – where there is none, or where a scenario's "
                                          "answer ended early"),
                                       tr("Time to the first token"),
                                       tr("Tokens of the prompt"),
                                       tr("Tokens of the answer"),
                                       tr("Time from one token to the next, median of the engine's decode steps"),
                                       tr("95 of 100 steps take no longer"),
                                       tr("99 of 100 steps take no longer"),
                                       tr("Expert calls that found their expert on the accelerator"),
                                       tr("Weights copied to the accelerator")};
        return tips[section];
    }
    return {};
}

}  // namespace offstage::ui
