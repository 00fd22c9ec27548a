#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/eval/perplexity.h"
#include "engine/plan/neuron_thresholds.h"

namespace offstage::engine {

// A threshold for each expert, so that a given loss leaves out the most neurons.
//
// 1. The text is read once with theta 0. For every (token, neuron) pair of a chosen
// expert its contribution to the layer's
//    output is computed: (router weight * activation * |w2 column|)^2, summed over the
//    neurons whose |act(w1 x)| is
//    within each of kThresholdSteps steps. So each expert has a curve: pairs left out
//    against their worth, by theta.
// 2. The worth of a layer in nats is measured: the text is scored with one theta in that
// layer alone.
// 3. Greedy: each expert's curve is replaced by its convex hull, and of all experts'
// segments those that leave out the
//    most pairs per nat are taken until the loss is used up.
// 4. The text is scored with that choice; the budget of 3 is corrected by the
// measurement, until the measured loss is
//    just below the allowed one.
// Then 2 is repeated with the chosen thresholds in each layer, and 3 and 4. Neurons of
// one model have the same bytes: pairs left out are bytes left out.

inline constexpr int kThresholdSteps = 192;
// The end of the i-th step. Steps have a constant ratio, from below 1e-3 to above 10;
// each is a number of 4 digits.
float threshold_step(int i);

// For one expert, or for several: the pairs that theta threshold_step(i) leaves out.
struct LeftOutCurve {
    std::vector<double> pairs;  // (kThresholdSteps), ascending: (token, neuron) pairs
    std::vector<double> worth;  // (kThresholdSteps), ascending
};
// The steps of the greedy choice, one for each curve: those of the largest pairs whose
// worth is at most `budget` in sum. At least 0, the first step.
std::vector<int> choose_steps(std::span<const LeftOutCurve> curves, double budget);

// One choice for each loss, with the figures of this text. losses: nats per token, above
// 0. Scores the text about 2 * n_layers + 8 * losses.size() times. `progress` (may be
// empty) gets a line for each choice. Afterwards the model has the theta of its request
// again. Throws Error: kInvalidInput (a loss that check_theta_loss() refuses), and as
// measure_thetas().
std::vector<ChosenThresholds> choose_thresholds(LoadedModel& model, std::span<const TokenId> tokens,
                                                const WindowSettings& windows, std::vector<double> losses,
                                                const std::function<void(const std::string& line)>& progress,
                                                const std::stop_token& stop);

}  // namespace offstage::engine
