#pragma once

namespace offstage::engine {

inline constexpr int kLargestBeamWidth = 16;

struct BeamSettings {
    int width = 1;                // 1 .. kLargestBeamWidth
    double length_penalty = 1.0;  // score = log probability / length^length_penalty, length without the prompt
};

// Throws Error (kInvalidInput) naming the setting and its range.
void validate(const BeamSettings& settings);

}  // namespace offstage::engine
