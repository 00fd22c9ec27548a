#pragma once
// How much quality of a model a person gives up for speed and memory, in words: rows over
// the floors that the planner keeps to, and words for what a plan costs.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <QString>

#include "engine/run/session.h"

namespace offstage::ui {

struct QualityLevel {
    double leastBits = 0;  // engine::QualityFloor::min_mean_bits; 0: the file's own formats
    QString (*name)() = nullptr;
    QString (*explanation)() = nullptr;
};
inline constexpr int kQualityLevels = 4;
const std::array<QualityLevel, kQualityLevels>& qualityLevels();
// The level of this choice; nothing: it is none's.
std::optional<int> levelOf(const engine::QualityFloor& floor, std::optional<engine::FormatId> experts,
                           const engine::ThetaChoice& leftOut);
// Whether the model's experts have more bits than this level asks for.
bool isOffered(const QualityLevel& level, const engine::ExpertFormats& formats);

// What formats and skipped neurons change, as far as it is known.
struct QualityChange {
    double predictedLoss = 0;              // of the formats (engine::Forecast::predicted_loss)
    std::optional<double> formatKl;        // measured of them, in nats per token
    bool skips = false;                    // neurons
    std::optional<double> skippedKl = {};  // measured of those
};
// "very small (KL 0.0004)", "small (predicted, 0.6 % error)", "none"
QString qualityChangeText(const QualityChange& change);

// Measured, in nats per token, of all experts in the format that they have; nothing: they
// have several, or it was not. By FormatId.
std::optional<double> measuredKl(const std::optional<engine::ModelSummary>& model,
                                 const std::vector<engine::FormatId>& formats);
std::optional<double> measuredKl(const std::optional<engine::ModelSummary>& model,
                                 const std::vector<std::uint8_t>& formats);

}  // namespace offstage::ui
