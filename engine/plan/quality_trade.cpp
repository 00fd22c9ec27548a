#include "engine/plan/quality_trade.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/error.h"
#include "engine/plan/format_search.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/placer.h"
#include "engine/plan/plan_messages.h"
#include "engine/print.h"

namespace offstage::engine {
namespace {

// FormatSearch may exceed its limit by this relative amount (rounding of sums in another
// order). The user's floor must not be exceeded.
constexpr double kBelowFloor = 1 - 1e-8;

// A plan that leaves neurons out must decode faster than one without by more than the
// error of such forecasts: up to 3.2 % in alternating runs with and without a theta.
constexpr double kLeastGain = 1.05;

struct TradeCandidate {
    ThetaChoice theta;
    double kl = 0;
    double active_share = 1;
};

TradeCandidate asked_candidate(const ThetaChoice& theta, const NeuronThresholds& measured, double floor) {
    const ThresholdLoss loss = expected_loss(measured, theta);
    if (!loss.known || theta.accepts_guesses()) {
        throw Error(ErrorKind::kInvalidInput, messages::left_out_without_a_loss);
    }
    if (loss.mean_kl > floor) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::left_out_above_the_floor(print("%.4g", loss.mean_kl), print("%.4g", floor)));
    }
    return {theta, loss.mean_kl, loss.active_share};
}

// The candidate without a theta, and the candidates within the floor that no other
// candidate beats in both loss and active neurons.
std::vector<TradeCandidate> offered_candidates(const NeuronThresholds& measured, double floor) {
    std::vector<TradeCandidate> all = {{}};
    const auto add = [&](const TradeCandidate& candidate) {
        if (candidate.kl <= floor) all.push_back(candidate);
    };
    for (const ChosenThresholds& each : measured.chosen) {
        add({ThetaChoice::for_loss(each.loss), each.mean_kl, each.active_share});
    }
    for (const NeuronThreshold& each : measured.rows) add({each.theta, each.mean_kl, each.active_share});
    std::stable_sort(all.begin(), all.end(),
                     [](const TradeCandidate& a, const TradeCandidate& b) { return a.kl < b.kl; });
    double least_active = 2;
    std::erase_if(all, [&](const TradeCandidate& candidate) {
        if (candidate.active_share >= least_active) return true;
        least_active = candidate.active_share;
        return false;
    });
    return all;
}

Message left_out_text(const ThetaChoice& theta) {
    if (theta.loss > 0) return messages::left_out_by_expert(print("%g", theta.loss));
    return theta.theta > 0 ? messages::left_out_up_to(print("%g", theta.theta)) : messages::none_left_out;
}

Message trade_note(const Plan& plan, const NeuronThresholds& measured, double floor) {
    Message note = messages::quality_traded(
        print("%g", floor), print("%.2f", plan.mean_bits), left_out_text(*plan.theta), print("%.3g", plan.format_kl),
        print("%.3g", plan.neuron_kl), print("%.3g", plan.format_kl + plan.neuron_kl));
    if (measured.formats.empty()) note = joined(std::move(note), messages::formats_without_a_loss);
    if (measured.rows.empty() && measured.chosen.empty())
        note = joined(std::move(note), messages::neurons_without_a_loss);
    return note;
}

}  // namespace

Sensitivity sensitivity_in_nats(const Sensitivity& errors, const NeuronThresholds& measured,
                                const Popularity& popularity) {
    Sensitivity nats{errors.n_layers, errors.n_experts, {}, errors.source};
    const auto n = static_cast<std::size_t>(errors.n_layers * errors.n_experts);
    for (const FormatLoss& known : measured.formats) {
        Sensitivity::Format format{known.format, std::vector<double>(n, 1.0)};
        const auto found = std::find_if(errors.formats.begin(), errors.formats.end(),
                                        [&](const Sensitivity::Format& f) { return f.format == known.format; });
        // Without known errors, or if all are 0: equal errors for all experts.
        const bool has_errors =
            found != errors.formats.end() && found->errors.size() == n &&
            std::any_of(found->errors.begin(), found->errors.end(), [](double error) { return error > 0; });
        if (has_errors) format.errors = found->errors;
        Plan all;
        all.formats.assign(n, known.format);
        const Sensitivity alone{errors.n_layers, errors.n_experts, {format}, {}};
        const double loss = predicted_loss(all, alone, popularity);
        const double scale = loss > 0 ? std::sqrt(known.mean_kl / loss) : 0;
        for (double& error : format.errors) error *= scale;
        nats.formats.push_back(std::move(format));
    }
    return nats;
}

Plan trade_quality(const PlanInputs& inputs, const Budget& budget, PlacementKind kind) {
    const NeuronThresholds& measured = inputs.thresholds;
    const double floor = budget.quality.max_kl;
    const std::vector<TradeCandidate> candidates = budget.theta
                                                       ? std::vector{asked_candidate(*budget.theta, measured, floor)}
                                                       : offered_candidates(measured, floor);

    check_demand(inputs.demand, budget, inputs.popularity);
    PlanInputs traded = inputs;
    traded.sensitivity = sensitivity_in_nats(inputs.sensitivity, measured, inputs.popularity);
    std::vector<ModelDemand::Format>& offered = traded.demand.formats;
    offered = formats_of(inputs.demand);
    const auto unmeasured = [&](const ModelDemand::Format& f) {
        return std::none_of(measured.formats.begin(), measured.formats.end(),
                            [&](const FormatLoss& known) { return known.format == f.format; });
    };
    offered.erase(std::remove_if(offered.begin() + 1, offered.end(), unmeasured), offered.end());

    struct Best {
        Plan plan;
        PlanScore score;
    };
    std::optional<Best> best, best_whole;
    std::optional<Error> failure;
    for (const TradeCandidate& candidate : candidates) {
        traded.cost = inputs.cost;
        leave_out(traded.cost, candidate.theta, measured, inputs.sparse_loading);
        Budget rest = budget;
        rest.quality = {.max_loss = std::max((floor - candidate.kl) * kBelowFloor, 1e-300)};
        Best one;
        try {
            FormatSearch search(traded, rest, kind);
            one.plan = search.choose();
            one.score = search.score();
        } catch (const Error& error) {
            // Others leave more of the floor to formats of fewer bits.
            if (error.kind() != ErrorKind::kOutOfMemory) throw;
            failure = error;
            continue;
        }
        one.plan.theta = candidate.theta;
        one.plan.neuron_kl = candidate.kl;
        one.plan.format_kl = one.plan.predicted_loss;
        one.score.loss = one.plan.format_kl + one.plan.neuron_kl;
        if (!candidate.theta.leaves_out()) best_whole = one;
        if (!best || is_better(one.score, best->score, inputs.cost)) best = std::move(one);
    }
    if (!best) throw *failure;
    const bool fewer_calls = best_whole && inputs.cost.table().disk.us <= 0 &&
                             best->score.disk_calls < best_whole->score.disk_calls * (1 - 1e-9);
    if (best_whole && !fewer_calls && best->score.us * kLeastGain > best_whole->score.us) best = std::move(best_whole);
    Plan plan = std::move(best->plan);
    plan.predicted_loss = predicted_loss(plan, inputs.sensitivity, inputs.popularity);
    plan.note = joined(std::move(plan.note), trade_note(plan, measured, floor));
    return plan;
}

}  // namespace offstage::engine
