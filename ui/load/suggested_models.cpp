#include "ui/load/suggested_models.h"

#include <algorithm>

#include <QCoreApplication>
#include <QLocale>

#include "engine/error.h"
#include "engine/model/model_messages.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

QString useText(const std::string& use) {
    if (use == "code") {
        return SuggestedModels::tr("code");
    }
    return use == "reasoning" ? SuggestedModels::tr("reasoning") : SuggestedModels::tr("chat");
}

QString roomText(const engine::Suggestion& model) {
    switch (model.place) {
        case engine::SuggestedPlace::kDevice:
            return SuggestedModels::tr("GPU");
        case engine::SuggestedPlace::kDeviceAndRam:
            return SuggestedModels::tr("GPU and RAM");
        case engine::SuggestedPlace::kRam:
            return SuggestedModels::tr("RAM");
        case engine::SuggestedPlace::kNowhere:
            break;
    }
    const quint64 missing = model.contexts.empty() ? 0 : model.contexts.front().short_by;
    return missing > 0 ? SuggestedModels::tr("%1 are missing").arg(bytesText(missing)) : SuggestedModels::tr("no room");
}

int alignmentOf(int column) {
    const bool isNumber = column >= SuggestedModels::Speed && column <= SuggestedModels::LongFirstWord;
    return static_cast<int>((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
}

// At the model's own context where that is below the shortest one.
const engine::Forecast* forecastOf(const engine::Suggestion& model, int column) {
    const bool isLong = column == SuggestedModels::LongSpeed || column == SuggestedModels::LongFirstWord;
    const std::size_t i = isLong ? 1 : 0;
    const bool has = i < model.contexts.size() && model.contexts[i].forecast;
    const bool isWanted = has && (!isLong || model.contexts[i].context == engine::kSuggestedContexts[i]);
    return isWanted ? &*model.contexts[i].forecast : nullptr;
}

QString forecastText(const engine::Suggestion& model, const QString& value, bool isLong) {
    const qint64 context = model.contexts.front().context;
    return isLong || context == engine::kSuggestedContexts[0]
               ? value
               : SuggestedModels::tr("%1 at %2k", "speed or time at a context of so many thousand tokens")
                     .arg(value, QLocale().toString(context / 1024));
}

}  // namespace

SuggestedModels::SuggestedModels(QObject* parent) : QAbstractTableModel(parent), m_thread(this) {}

int SuggestedModels::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int SuggestedModels::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : Columns;
}

QVariant SuggestedModels::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) {
        return alignmentOf(section);
    }
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
        return {};
    }
    switch (section) {
        case Name:
            return tr("Model");
        case GoodFor:
            return tr("For");
        case Weights:
            return tr("Weights");
        case File:
            return tr("File");
        case Room:
            return tr("Room in");
        case Speed:
            return tr("Tokens/s\nat 8k");
        case FirstWord:
            return tr("First token\nat 8k");
        case LongSpeed:
            return tr("Tokens/s\nat 32k");
        default:
            return tr("First token\nat 32k");
    }
}

QVariant SuggestedModels::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) {
        return {};
    }
    const engine::Suggestion& model = at(index.row());
    const int column = index.column();
    if (role == HasRoomRole) {
        return model.place != engine::SuggestedPlace::kNowhere;
    }
    if (role == Qt::TextAlignmentRole) {
        return alignmentOf(column);
    }
    if (role == Qt::ToolTipRole) {
        return rowText(index.row());
    }
    const bool sorts = role == SortRole;
    if (!sorts && role != Qt::DisplayRole) {
        return {};
    }
    const engine::Forecast* const forecast = forecastOf(model, column);
    switch (column) {
        case Name:
            return QString::fromStdString(model.model.name) +
                   (model.here.empty() || sorts ? QString() : tr(" (on this computer)"));
        case GoodFor:
            return useText(model.model.good_for);
        case Weights:
            return sorts ? QVariant(static_cast<double>(model.total_weights))
                         : tr("%1, %2 active").arg(countText(model.total_weights), countText(model.active_weights));
        case File:
            return sorts ? QVariant(static_cast<double>(model.file_bytes))
                         : tr("%1, %2").arg(QString::fromStdString(engine::file_type_name(model.type)),
                                            bytesText(model.file_bytes));
        case Room:
            return sorts ? QVariant(static_cast<int>(model.place)) : QVariant(roomText(model));
        case Speed:
        case LongSpeed:
            if (sorts) {
                return forecast != nullptr ? forecast->decode_tokens_per_s : 0;
            }
            return forecast != nullptr
                       ? forecastText(model, rateText(forecast->decode_tokens_per_s), column == LongSpeed)
                       : QStringLiteral("–");
        default:
            if (sorts) {
                return forecast != nullptr ? forecast->ttft_s : 1e9;
            }
            return forecast != nullptr ? forecastText(model, secondsText(forecast->ttft_s), column == LongFirstWord)
                                       : QStringLiteral("–");
    }
}

bool SuggestedModels::hasLongForecast(int row) const {
    return forecastOf(at(row), LongSpeed) != nullptr;
}

// All of the row: a narrow table leaves columns out.
QString SuggestedModels::rowText(int row) const {
    QStringList lines{index(row, Name).data().toString()};
    for (int column = Name + 1; column < Columns; ++column) {
        const QString head = headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().replace(u'\n', u' ');
        lines << tr("%1: %2", "column: its text").arg(head, index(row, column).data().toString());
    }
    return lines.join(u'\n');
}

int SuggestedModels::unknown() const {
    return static_cast<int>(std::count_if(m_rows.begin(), m_rows.end(), [](const engine::Suggestion& model) {
        return model.place != engine::SuggestedPlace::kNowhere && !model.contexts.front().forecast;
    }));
}

void SuggestedModels::cancelMeasuring() {
    if (isMeasuring()) {
        m_thread.stop();
    }
}

void SuggestedModels::letGo() {
    if (m_looking) {
        m_thread.stop();
        setParent(QCoreApplication::instance());
        connect(this, &SuggestedModels::finished, this, &QObject::deleteLater);
    }
}

void SuggestedModels::look(const engine::SuggestionRequest& request, const std::vector<engine::FoundModel>& found) {
    m_looking = true;
    m_request = request;
    m_thread.start([this, request, found](const BackgroundThread::Reply& reply, const std::stop_token& stop) {
        std::vector<engine::Suggestion> rows;
        engine::Message problem;
        try {
            rows = engine::suggest_models(
                request, found,
                [&](const engine::Suggestion& model, double share) {
                    reply([this, name = QString::fromStdString(model.model.name), share] {
                        Q_EMIT progressed(name, share);
                    });
                },
                stop);
        } catch (const engine::Error& error) {
            if (error.kind() != engine::ErrorKind::kCancelled) {
                problem = error.message();
            }
        } catch (const std::exception&) {  // no memory, say
            problem = engine::messages::loading_cancelled;
        }
        reply([this, rows = std::move(rows), problem] { take(rows, problem); });
    });
}

void SuggestedModels::take(std::vector<engine::Suggestion> rows, const engine::Message& problem) {
    m_looking = false;
    if (!rows.empty()) {  // what was there before a cancelled measurement stays
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    Q_EMIT finished(problem);
}

}  // namespace offstage::ui
