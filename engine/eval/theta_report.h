#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/eval/choice_evaluation.h"
#include "engine/eval/perplexity.h"
#include "engine/plan/neuron_thresholds.h"

namespace offstage::engine {

// The savings of leaving out neurons (LoadRequest::theta), and the loss of quality.

struct ThetaRow {
    double theta = 0;
    double loss = 0;               // above 0: of ChosenThresholds of this loss; theta is their mean
    bool accepts_guesses = false;  // NeuronGuesses::kAccept; else wrong guesses were corrected
    bool of_one_theta() const { return loss == 0 && !accepts_guesses; }
    // 0 .. 1, over all layers and for each layer with experts: (token, neuron) pairs that
    // are not left out. Below 0: not known (experts that a GPU computed are not counted).
    double active_share = 1;
    std::vector<double> layer_shares;
    Perplexity perplexity;
    // Against theta 0, at each scored token, as QuantRow has them.
    double mean_kl = 0;
    double same_top = 0;
    // For the tasks of ThetaSettings; none if they were not scored.
    std::optional<ChoiceReport> choices;
    // Decoding: the median of kThetaDecodes runs, all thetas in turn, and the bytes of
    // experts in RAM that a token read. 0: not measured.
    double tokens_per_s = 0;
    double read_bytes_per_token = 0;
};

struct ThetaReport {
    std::string model;
    std::string text;  // its name, for the user
    std::string weight_type;
    std::string device;
    std::string compute;
    WindowSettings windows;
    std::int64_t decode_tokens = 0;  // of each run; 0: none
    bool partial = false;            // stopped before all was measured
    std::vector<ThetaRow> rows;      // theta 0 first, then ascending, then those of chosen thresholds
};

std::string theta_name(const ThetaRow& row);  // "0.1"; "auto:0.01" of chosen thresholds; "+guess" with guesses accepted
// A row's results for its text and for its tasks, for a line of progress.
std::string text_line(const ThetaRow& row);
std::string task_line(const ThetaRow& row);

// The active share that one theta for all experts would leave at this distance,
// interpolated between the two measured thetas next to it. Below 0: not measured.
double share_of_one_theta(const ThetaReport& report, double mean_kl);

// The part that is stored beside a model: the rows whose active share is known.
NeuronThresholds thresholds_of(const ThetaReport& report);
nlohmann::ordered_json to_json(const ThetaReport& report);
// A table, the tasks' scores with their standard errors, and the shares by layer.
std::string to_text(const ThetaReport& report);
// LoadRequest::active_share from a command line: a number, or the path of a report as
// JSON, whose share at `theta` is taken, interpolated between two of its thetas. Throws
// Error: kInvalidInput (neither; out of range; thetas that do not reach so far), as
// reading a file does.
double read_active_share(const std::string& text, double theta);

std::string to_csv(const ThetaReport& report);  // a line per theta after that of the names
// Curves over theta: shares by layer, distance, perplexity, the tasks' scores with bars
// of one standard error in both directions, tokens/s.
std::string to_svg(const ThetaReport& report);

}  // namespace offstage::engine
