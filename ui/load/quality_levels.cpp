#include "ui/load/quality_levels.h"

#include <algorithm>

#include <QCoreApplication>
#include <QLocale>

namespace offstage::ui {

namespace {

struct QualityText {
    Q_DECLARE_TR_FUNCTIONS(QualityLevel)
};

// Words by the bounds of a loss: nats per token as measured, or the predicted squared
// error of weights.
QString wordFor(double loss, const std::array<double, 3>& bounds) {
    return loss < bounds[0]   ? QualityText::tr("very small", "change of quality")
           : loss < bounds[1] ? QualityText::tr("small", "change of quality")
           : loss < bounds[2] ? QualityText::tr("noticeable", "change of quality")
                              : QualityText::tr("large", "change of quality");
}

constexpr std::array kKlBounds = {0.001, 0.02, 0.1};
constexpr std::array kErrorBounds = {0.0005, 0.01, 0.05};
constexpr double kNone = 1e-9;

template <typename Formats>
std::optional<double> measuredKlOf(const std::optional<engine::ModelSummary>& model, const Formats& formats) {
    if (!model || formats.empty()) {
        return std::nullopt;  // as right after a start, before the first snapshot
    }
    const auto id = static_cast<engine::FormatId>(formats.front());
    const auto isOfFile = [&](engine::FormatId f) {
        return f == model->expert_format || engine::format_row(f).kind == engine::FormatRow::Kind::kFile;
    };
    const bool isOriginal =
        std::all_of(formats.begin(), formats.end(), [&](auto f) { return isOfFile(static_cast<engine::FormatId>(f)); });
    if (isOriginal) {
        return 0;
    }
    const auto& measured = model->thresholds.formats;
    const auto found = std::find_if(measured.begin(), measured.end(),
                                    [id](const engine::FormatLoss& known) { return known.format == id; });
    const bool isOne = std::all_of(formats.begin(), formats.end(), [&](auto f) { return f == formats.front(); });
    return isOne && found != measured.end() ? std::optional(found->mean_kl) : std::nullopt;
}

}  // namespace

const std::array<QualityLevel, kQualityLevels>& qualityLevels() {
    static constexpr std::array<QualityLevel, kQualityLevels> kLevels = {{
        {0, [] { return QualityText::tr("Original"); },
         [] { return QualityText::tr("Experts stay as they are in the model's files"); }},
        {8, [] { return QualityText::tr("Nearly lossless"); },
         [] { return QualityText::tr("Experts in at least 8 bits a weight on average"); }},
        {4.25, [] { return QualityText::tr("Balanced"); },
         [] {
             return QualityText::tr("Experts in at least 4.25 bits a weight on average: about a quarter of 16 bits");
         }},
        {3.25, [] { return QualityText::tr("Small"); },
         [] { return QualityText::tr("Experts in at least 3.25 bits a weight on average: about a fifth of 16 bits"); }},
    }};
    return kLevels;
}

std::optional<int> levelOf(const engine::QualityFloor& floor, std::optional<engine::FormatId> experts,
                           const engine::ThetaChoice& leftOut) {
    if (experts || leftOut.leaves_out()) {
        return std::nullopt;
    }
    for (int level = 0; level < kQualityLevels; ++level) {
        const double bits = qualityLevels()[static_cast<std::size_t>(level)].leastBits;
        if (floor == engine::QualityFloor{.min_mean_bits = bits}) {
            return level;
        }
    }
    return std::nullopt;
}

bool isOffered(const QualityLevel& level, const engine::ExpertFormats& formats) {
    return level.leastBits == 0 || !formats.in_blocks || (level.leastBits < formats.bits && !formats.smaller.empty());
}

QString qualityChangeText(const QualityChange& change) {
    const auto klText = [](double kl) {
        return QualityText::tr("%1 (KL %2)", "a word, a number")
            .arg(wordFor(kl, kKlBounds), QLocale().toString(kl, 'g', 2));
    };
    const bool formatsChange = change.predictedLoss >= kNone || change.formatKl.value_or(0) > 0;
    if (change.skips && !change.skippedKl) {
        return QualityText::tr("not measured");
    }
    const double skipped = change.skippedKl.value_or(0);
    if (!formatsChange) {
        return change.skips ? klText(skipped) : QualityText::tr("none", "change of quality");
    }
    if (change.formatKl) {
        return klText(*change.formatKl + skipped);
    }
    const QString formats =
        QualityText::tr("%1 (predicted, %2 % error)", "a word, a number")
            .arg(wordFor(change.predictedLoss, kErrorBounds), QLocale().toString(100 * change.predictedLoss, 'g', 2));
    return change.skips ? QualityText::tr("%1; skipped neurons: %2").arg(formats, klText(skipped)) : formats;
}

std::optional<double> measuredKl(const std::optional<engine::ModelSummary>& model,
                                 const std::vector<engine::FormatId>& formats) {
    return measuredKlOf(model, formats);
}

std::optional<double> measuredKl(const std::optional<engine::ModelSummary>& model,
                                 const std::vector<std::uint8_t>& formats) {
    return measuredKlOf(model, formats);
}

}  // namespace offstage::ui
