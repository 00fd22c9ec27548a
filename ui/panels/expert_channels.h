#pragma once
// The data that the experts panel can show for each expert, computed from a snapshot.

#include <cstdint>
#include <vector>

#include <QString>

#include "engine/run/session.h"
#include "ui/plot/heat_map.h"

namespace offstage::ui {

enum class ExpertChannel {
    Window,        // share of the last tokens that were sent to it
    Conversation,  // the same of all tokens of the conversation
    Profile,       // the same as the placement was planned with
    Recency,       // 1: called by the last step; 0: not within the last kRecencySteps
    Residency,     // the fastest memory that holds a copy
    Precision,     // the format it is kept in
    HitRate,       // share of its tokens that found it on the accelerator
    Active,        // share of its layer's neurons that were not skipped
    Machine,       // which other machines hold it
};
inline constexpr int kExpertChannels = 9;
inline constexpr int kRecencySteps = 64;

QString channelName(ExpertChannel channel);
QString channelExplanation(ExpertChannel channel);
bool isShareOfTokens(ExpertChannel channel);

// One channel of every expert, (n_layers, n_experts) row-major; either values or kinds.
struct ExpertCells {
    int layers = 0;
    int experts = 0;
    std::vector<double> values;
    double top = 1;             // of the values' scale; of shares of tokens the highest
    double mark = 0;            // worth a line at the scale
    QString markText;           // what it is
    std::vector<double> known;  // 1, or 0 for a missing value; empty: none is missing
    std::vector<std::uint8_t> kinds;
    std::vector<HeatMap::Category> categories;
    std::vector<int> counts;  // experts of each category
    bool isEmpty() const { return values.empty() && kinds.empty(); }
};

// Empty if the snapshot has nothing for that channel. `planned`:
// Session::planned_popularity(); `ownMemory`: the accelerator has separate memory.
ExpertCells expertCells(ExpertChannel channel, const engine::Snapshot& snapshot, const std::vector<float>& planned,
                        bool ownMemory);

// 0..1, (n_layers, n_experts): 1 is called by the last step. Empty if it is not known.
std::vector<double> recencyOf(const engine::Snapshot& snapshot);

QString placeText(std::uint8_t place);  // "on the device"
// The names of the other machines that hold the expert at this place; empty: none does.
QString machinesText(const engine::Snapshot& snapshot, std::size_t at);

// The numbers of one expert, as lines of text. layerNumber: the model's own of the cell's
// layer.
QString expertText(ExpertChannel channel, const engine::Snapshot& snapshot, const std::vector<float>& planned,
                   bool ownMemory, HeatMap::Cell cell, int layerNumber);

// For several experts: which ones, their places, their formats.
QString expertsText(const engine::Snapshot& snapshot, const HeatMap::Area& area, const HeatMap& map);

}  // namespace offstage::ui
