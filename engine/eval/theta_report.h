#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/eval/perplexity.h"
#include "engine/plan/neuron_thresholds.h"

namespace offstage::engine {

// What leaving out neurons (LoadRequest::theta) saves and what it costs in quality.

struct ThetaRow {
    double theta = 0;
    double loss = 0;               // above 0: of ChosenThresholds of this loss; theta is their mean
    bool accepts_guesses = false;  // NeuronGuesses::kAccept; else wrong guesses were corrected
    bool of_one_theta() const { return loss == 0 && !accepts_guesses; }
    // 0 .. 1, of all layers and of each layer with experts: (token, neuron) pairs that are
    // not left out. Below 0: not known (experts that a GPU computed are not counted).
    double active_share = 1;
    std::vector<double> layer_shares;
    Perplexity perplexity;
    // Against theta 0, at each scored token, as QuantRow has them.
    double mean_kl = 0;
    double same_top = 0;
    // Decoding: the median of kThetaDecodes runs, all thetas in turn, and what a token read
    // of the experts in RAM.
    double tokens_per_s = 0;
    double read_bytes_per_token = 0;
};

struct ThetaReport {
    std::string model;
    std::string text;  // its name, for the person
    std::string weight_type;
    std::string device;
    std::string compute;
    WindowSettings windows;
    std::int64_t decode_tokens = 0;  // of each run; 0: none
    std::vector<ThetaRow> rows;      // theta 0 first, then ascending, then those of chosen thresholds
};

inline constexpr int kThetaDecodes = 3;

// Scores the tokens once for each theta, then decodes: the text's first tokens are read
// and decode_tokens further ones follow one by one. 0 is put before `thetas` where it is
// missing; `chosen` are scored besides. Of a request with NeuronGuesses::kAccept, on a device with memory of its own,
// the text is read token by token, as it must be where neurons are guessed, and each theta is scored with guesses that
// are corrected and with guesses that are accepted. A text is cut where the reference's rows would take more than
// kLargestReference. The model's theta is that of its request again afterwards.
// `progress` (may be empty) gets a line per theta. Throws Error: kInvalidInput (a theta
// that check_theta() refuses, fewer tokens than a decode takes), as measure_perplexity().
ThetaReport measure_thetas(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& windows,
                           std::vector<double> thetas, std::int64_t decode_tokens,
                           const std::function<void(const std::string& line)>& progress, const std::stop_token& stop,
                           std::span<const ChosenThresholds> chosen = {});
// The active share that one theta for all experts would leave at this distance: between the two measured thetas next to
// it. Below 0: it was not measured so far.
double share_of_one_theta(const ThetaReport& report, double mean_kl);

// What is kept of it beside a model: the rows whose active share is known.
NeuronThresholds thresholds_of(const ThetaReport& report);
nlohmann::ordered_json to_json(const ThetaReport& report);
std::string to_text(const ThetaReport& report);  // a table, and the shares by layer
// LoadRequest::active_share from a command line: a number, or the path of a report as JSON, whose share at `theta` it
// is, between two of its thetas in proportion. Throws Error: kInvalidInput (neither; out of range; thetas that do not
// reach so far), as reading a file does.
double read_active_share(const std::string& text, double theta);

std::string to_csv(const ThetaReport& report);  // a line per theta after that of the names
std::string to_svg(const ThetaReport& report);  // over theta: shares by layer, perplexity, tokens/s

}  // namespace offstage::engine
