#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/error.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/planner.h"
#include "engine/plan/planner_objective.h"
#include "engine/print.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Prices of memory: those at which experts of these ranks of use change their place.
constexpr double kRanks[] = {0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95};
constexpr int kHalvings = 18;  // of the interval that contains the price of loss

// An expert's part of the plan's loss (Sensitivity).
double expert_loss(double error, double use, const Popularity& popularity) {
    return error * error * use / static_cast<double>(popularity.n_active) / static_cast<double>(popularity.n_layers);
}

void check_shape(const Sensitivity& sensitivity, const Popularity& popularity) {
    const auto n = static_cast<std::size_t>(popularity.n_layers * popularity.n_experts);
    const bool whole = std::all_of(sensitivity.formats.begin(), sensitivity.formats.end(),
                                   [&](const Sensitivity::Format& f) { return f.errors.size() == n; });
    if (sensitivity.n_layers == popularity.n_layers && sensitivity.n_experts == popularity.n_experts && whole) return;
    throw Error(ErrorKind::kInvalidInput, messages::sensitivities_differ(sensitivity.n_layers, sensitivity.n_experts,
                                                                         popularity.n_layers, popularity.n_experts));
}

class FormatSearch {
  public:
    // The referents must outlive this object.
    FormatSearch(const PlanInputs& inputs, const Budget& budget, PlacementKind kind)
        : inputs_(inputs),
          demand_(inputs.demand),
          budget_(budget),
          popularity_(inputs.popularity),
          kind_(kind),
          formats_(demand_.formats),
          n_experts_(static_cast<std::size_t>(demand_.n_layers * demand_.n_experts)),
          // Rejects invalid input before anything is computed from it.
          sample_((check_demand(inputs, budget), inputs)),
          decode_costs_(inputs) {
        check_shape(inputs.sensitivity, popularity_);
        measure_ways();
        weigh_experts();
        find_floor();
    }

    struct Found {
        Plan plan;
        PlanScore score;
    };
    Found choose() {
        add_uniform();
        add_mixtures();
        add_priced();
        return *std::move(best_);
    }

  private:
    using Formats = std::vector<std::uint8_t>;  // per expert, indices into formats_

    void measure_ways() {
        const auto n = static_cast<std::size_t>(demand_.n_active);
        const auto us = [&](Place place, WeightType format) {
            return decode_costs_.of(std::string(n, DecodeCosts::code(place, format)), 2).us / static_cast<double>(n);
        };
        for (const ModelDemand::Format& f : formats_) {
            device_us_.push_back(demand_.shares_host_memory ? kInfinity : us(Place::kDevice, f.format));
            ram_us_.push_back(us(Place::kRam, f.format));
            disk_us_.push_back(us(Place::kDisk, f.format));
        }
    }

    void weigh_experts() {
        use_ = popularity_.shares();
        loss_.assign(n_experts_ * formats_.size(), 0.0);
        for (const Sensitivity::Format& known : inputs_.sensitivity.formats) {
            const auto found = std::ranges::find(formats_, known.format, &ModelDemand::Format::format);
            if (found == formats_.end()) continue;
            const auto f = static_cast<std::size_t>(found - formats_.begin());
            for (std::size_t i = 0; i < n_experts_; ++i) {
                loss_[at(i, f)] = expert_loss(known.errors[i], use_[i], popularity_);
            }
        }
        by_use_.resize(n_experts_);
        std::iota(by_use_.begin(), by_use_.end(), 0u);
        // Equal experts are ordered in turn through the layers, so that without counts
        // each layer gets its share of each format.
        const auto per_layer = static_cast<std::uint32_t>(demand_.n_experts);
        std::sort(by_use_.begin(), by_use_.end(), [&](std::uint32_t a, std::uint32_t b) {
            if (use_[a] != use_[b]) return use_[a] < use_[b];
            return a % per_layer != b % per_layer ? a % per_layer < b % per_layer : a < b;
        });
    }

    // See QualityFloor::min_mean_bits.
    void find_floor() {
        min_bits_ = budget_.quality.min_mean_bits;
        max_loss_ = budget_.quality.max_loss > 0 ? budget_.quality.max_loss : kInfinity;
        if (min_bits_ <= 0) return;
        int above = -1, below = -1;
        for (int f = 0; f < static_cast<int>(formats_.size()); ++f) {
            const double bits = formats_[static_cast<std::size_t>(f)].bits_per_weight;
            const auto bits_of = [&](int other) { return formats_[static_cast<std::size_t>(other)].bits_per_weight; };
            if (bits >= min_bits_ && (above < 0 || bits < bits_of(above))) above = f;
            if (bits < min_bits_ && (below < 0 || bits > bits_of(below))) below = f;
        }
        if (above < 0) {
            throw Error(ErrorKind::kInvalidInput,
                        messages::no_format_of_so_many_bits(min_bits_, formats_.front().bits_per_weight));
        }
        if (below < 0) below = above;
        const Formats plain =
            mixture(static_cast<std::uint8_t>(above), static_cast<std::uint8_t>(below), min_bits_, kInfinity);
        max_loss_ = std::min(max_loss_, loss_of(plain));
    }

    double loss_of(const Formats& formats) const {
        double loss = 0;
        for (std::size_t i = 0; i < n_experts_; ++i) loss += loss_[at(i, formats[i])];
        return loss;
    }

    bool is_allowed(const Formats& formats) const {
        double bits = 0;
        for (const std::uint8_t f : formats) bits += formats_[f].bits_per_weight;
        // Sums of the same numbers in another order.
        return bits >= min_bits_ * static_cast<double>(n_experts_) * (1 - 1e-9) &&
               loss_of(formats) <= max_loss_ * (1 + 1e-9);
    }

    // The least used experts in `fewer` bits while mean bits and loss allow one more.
    Formats mixture(std::uint8_t more, std::uint8_t fewer, double min_bits, double max_loss) const {
        Formats formats(n_experts_, more);
        const double step = formats_[more].bits_per_weight - formats_[fewer].bits_per_weight;
        double spare_bits = (formats_[more].bits_per_weight - min_bits) * static_cast<double>(n_experts_) * (1 + 1e-12);
        double loss = loss_of(formats);
        for (const std::uint32_t i : by_use_) {
            loss += loss_[at(i, fewer)] - loss_[at(i, more)];
            spare_bits -= step;
            if (spare_bits < 0 || loss > max_loss) break;
            formats[i] = fewer;
        }
        return formats;
    }

    void add_uniform() {
        const std::vector<std::size_t> popular = placement_order(inputs_, PlacementKind::kPopular);
        const std::vector<std::size_t> layers = placement_order(inputs_, PlacementKind::kLayers);
        for (std::size_t f = 0; f < formats_.size(); ++f) {
            const auto index = static_cast<std::uint8_t>(f);
            if (!is_allowed(Formats(n_experts_, index))) continue;
            consider({{}, index, &popular}, PlacementKind::kPopular);
            consider({{}, index, &layers}, PlacementKind::kLayers);
        }
        if (best_) return;
        // Not even the master's format fits in the budgets: this call throws the error
        // with the reason.
        place_experts(inputs_, budget_, kind_, {});
    }

    void add_mixtures() {
        for (std::size_t more = 0; more < formats_.size(); ++more) {
            for (std::size_t fewer = 0; fewer < formats_.size(); ++fewer) {
                if (formats_[more].bits_per_weight <= formats_[fewer].bits_per_weight) continue;
                const Formats formats =
                    mixture(static_cast<std::uint8_t>(more), static_cast<std::uint8_t>(fewer), min_bits_, max_loss_);
                if (!is_allowed(formats)) continue;
                const std::vector<std::size_t> order = order_of(formats);
                consider({formats, 0, &order}, PlacementKind::kPopular);
            }
        }
    }

    void add_priced() {
        // The price of VRAM at which an expert in the master's format is indifferent to
        // its place; the same for RAM, where not all experts fit.
        const auto price = [&](double rank, double far_us, double near_us) {
            const std::size_t i = by_use_[static_cast<std::size_t>(rank * static_cast<double>(n_experts_ - 1))];
            return use_[i] * std::max(0.0, far_us - near_us) / static_cast<double>(formats_.front().expert_bytes);
        };
        std::vector<double> vram_prices = {0};
        if (!demand_.shares_host_memory) {
            for (const double rank : kRanks) vram_prices.push_back(price(rank, ram_us_.front(), device_us_.front()));
        }
        std::vector<double> ram_prices = {0};
        const double all_bytes = static_cast<double>(n_experts_) * static_cast<double>(formats_.front().expert_bytes);
        if (budget_.ram_bytes > 0 && all_bytes > static_cast<double>(budget_.ram_bytes)) {
            for (const double rank : {0.25, 0.6, 0.9})
                ram_prices.push_back(price(rank, disk_us_.front(), ram_us_.front()));
        }
        std::vector<Formats> seen;
        for (const double ram_price : ram_prices) {
            for (const double vram_price : vram_prices) {
                Formats formats = priced(vram_price, ram_price);
                if (formats.empty() || std::find(seen.begin(), seen.end(), formats) != seen.end()) continue;
                seen.push_back(std::move(formats));
                const std::vector<std::size_t> order = order_of(seen.back());
                consider({seen.back(), 0, &order}, PlacementKind::kPopular);
            }
        }
    }

    Formats priced(double vram_price, double ram_price) const {
        const std::size_t n_formats = formats_.size();
        std::vector<double> cost(n_experts_ * n_formats);
        for (std::size_t i = 0; i < n_experts_; ++i) {
            for (std::size_t f = 0; f < n_formats; ++f) {
                const auto bytes = static_cast<double>(formats_[f].expert_bytes);
                double us = use_[i] * ram_us_[f] + ram_price * bytes;
                if (ram_price > 0) us = std::min(us, use_[i] * disk_us_[f]);
                if (!demand_.shares_host_memory) us = std::min(us, use_[i] * device_us_[f] + vram_price * bytes);
                cost[at(i, f)] = us;
            }
        }
        const auto choose_at = [&](double loss_price) {
            Formats formats(n_experts_);
            for (std::size_t i = 0; i < n_experts_; ++i) {
                std::size_t best = 0;
                double best_cost = kInfinity;
                for (std::size_t f = 0; f < n_formats; ++f) {
                    const double of_format = cost[at(i, f)] + loss_price * loss_[at(i, f)];
                    if (of_format < best_cost) {
                        best_cost = of_format;
                        best = f;
                    }
                }
                formats[i] = static_cast<std::uint8_t>(best);
            }
            return formats;
        };
        Formats kept = choose_at(0);
        if (loss_of(kept) > max_loss_) {
            // The cheapest price of loss that keeps the floor.
            double low = 0;
            double high = 0;
            for (std::size_t i = 0; i < n_experts_; ++i) high += cost[at(i, 0)];
            high /= std::max(max_loss_, 1e-300);
            Formats cheap = kept;
            for (int doubling = 0; loss_of(kept) > max_loss_; ++doubling, high *= 8) {
                if (doubling > 40) return {};  // a floor that only the master keeps
                low = doubling == 0 ? 0 : high / 8;
                cheap = std::move(kept);
                kept = choose_at(high);
            }
            high = std::max(high / 8, low);
            for (int halving = 0; halving < kHalvings; ++halving) {
                const double middle = (low + high) / 2;
                Formats formats = choose_at(middle);
                if (loss_of(formats) > max_loss_) {
                    low = middle;
                    cheap = std::move(formats);
                } else {
                    high = middle;
                    kept = std::move(formats);
                }
            }
            // The rest of the floor goes to the least used experts.
            double loss = loss_of(kept);
            for (const std::uint32_t i : by_use_) {
                const double more = loss_[at(i, cheap[i])] - loss_[at(i, kept[i])];
                if (more <= 0 || loss + more > max_loss_) continue;
                loss += more;
                kept[i] = cheap[i];
            }
        }
        raise_bits(kept);
        return is_allowed(kept) ? kept : Formats{};
    }

    // If the mean is below the floor: from the fewest bits on, the most used experts go
    // one format up.
    void raise_bits(Formats& formats) const {
        std::vector<std::uint8_t> ascending(formats_.size());
        std::iota(ascending.begin(), ascending.end(), std::uint8_t{0});
        std::sort(ascending.begin(), ascending.end(), [&](std::uint8_t a, std::uint8_t b) {
            return formats_[a].bits_per_weight < formats_[b].bits_per_weight;
        });
        double missing = min_bits_ * static_cast<double>(n_experts_);
        for (const std::uint8_t f : formats) missing -= formats_[f].bits_per_weight;
        for (std::size_t level = 0; level + 1 < ascending.size(); ++level) {
            const double step =
                formats_[ascending[level + 1]].bits_per_weight - formats_[ascending[level]].bits_per_weight;
            for (std::size_t k = n_experts_; k-- > 0 && missing > 0;) {
                if (formats[by_use_[k]] != ascending[level]) continue;
                formats[by_use_[k]] = ascending[level + 1];
                missing -= step;
            }
        }
    }

    // Most time gained per byte first; where nothing is gained, or much alike, by use.
    std::vector<std::size_t> order_of(const Formats& formats) const {
        std::vector<double> gain(n_experts_);
        for (std::size_t i = 0; i < n_experts_; ++i) {
            const std::size_t f = formats[i];
            const double far_us = demand_.shares_host_memory ? disk_us_[f] : ram_us_[f];
            const double near_us = demand_.shares_host_memory ? ram_us_[f] : device_us_[f];
            // Disk of unknown speed: by use.
            const double gained_us = far_us > near_us ? far_us - near_us : 1;
            gain[i] = use_[i] * gained_us / static_cast<double>(formats_[f].expert_bytes);
        }
        return order_by(gain, demand_.n_experts);
    }

    void consider(const FormatChoice& choice, PlacementKind kind) {
        Found candidate;
        try {
            candidate.plan = place_experts(inputs_, budget_, kind, choice);
        } catch (const Error& error) {
            // Experts in fewer bits may fit where these do not.
            if (error.kind() != ErrorKind::kOutOfMemory) throw;
            return;
        }
        PlanScore& score = candidate.score;
        score.us = sample_.play(candidate.plan, decode_costs_, {}).us;
        for (std::size_t i = 0; i < n_experts_; ++i) {
            score.loss += loss_[at(i, choice.formats.empty() ? choice.uniform : choice.formats[i])];
            if (candidate.plan.places[i] == Place::kDisk) score.disk_calls += use_[i];
        }
        candidate.plan.predicted_loss = score.loss;
        if (!best_ || is_better(score, best_->score, inputs_.cost)) best_ = std::move(candidate);
    }

    std::size_t at(std::size_t expert, std::size_t format) const { return expert * formats_.size() + format; }

    const PlanInputs& inputs_;
    const ModelDemand& demand_;
    const Budget& budget_;
    const Popularity& popularity_;
    const PlacementKind kind_;
    const std::vector<ModelDemand::Format>& formats_;
    const std::size_t n_experts_;  // in all layers

    DecodeSample sample_;
    DecodeCosts decode_costs_;
    // Mean microseconds of one expert of a token, by format, if all of the token's
    // experts are at this place.
    std::vector<double> device_us_, ram_us_, disk_us_;
    std::vector<double> use_;            // share of the layer's tokens that choose the expert
    std::vector<double> loss_;           // (experts, formats)
    std::vector<std::uint32_t> by_use_;  // experts, the least used first
    double min_bits_ = 0, max_loss_ = 0;

    std::optional<Found> best_;
};

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

// Sensitivities whose loss is in nats: Sensitivity::loss of all experts in one format is
// its measured loss. Contains only measured formats.
Sensitivity sensitivity_in_nats(const Sensitivity& errors, const NeuronThresholds& measured,
                                const Popularity& popularity) {
    Sensitivity nats{errors.n_layers, errors.n_experts, {}, errors.source};
    const auto n = static_cast<std::size_t>(errors.n_layers * errors.n_experts);
    for (const FormatLoss& known : measured.formats) {
        Sensitivity::Format format{known.format, std::vector<double>(n, 1.0)};
        const auto found = std::ranges::find(errors.formats, known.format, &Sensitivity::Format::format);
        // Without known errors, or if all are 0: equal errors for all experts.
        const bool has_errors =
            found != errors.formats.end() && found->errors.size() == n &&
            std::any_of(found->errors.begin(), found->errors.end(), [](double error) { return error > 0; });
        if (has_errors) format.errors = found->errors;
        const Sensitivity alone{errors.n_layers, errors.n_experts, {format}, {}};
        const double loss = predicted_loss(std::vector(n, known.format), alone, popularity);
        const double scale = loss > 0 ? std::sqrt(known.mean_kl / loss) : 0;
        for (double& error : format.errors) error *= scale;
        nats.formats.push_back(std::move(format));
    }
    return nats;
}

}  // namespace

double predicted_loss(const std::vector<FormatId>& formats, const Sensitivity& sensitivity,
                      const Popularity& popularity) {
    if (formats.empty()) return 0;
    check_shape(sensitivity, popularity);
    const std::vector<double> use = popularity.shares();
    double sum = 0;
    for (std::size_t i = 0; i < formats.size(); ++i) {
        const auto known = std::ranges::find(sensitivity.formats, formats[i], &Sensitivity::Format::format);
        if (known != sensitivity.formats.end()) sum += expert_loss(known->errors[i], use[i], popularity);
    }
    return sum;
}

Plan search_formats(const PlanInputs& inputs, const Budget& budget, PlacementKind kind) {
    return FormatSearch(inputs, budget, kind).choose().plan;
}

Plan trade_quality(const PlanInputs& inputs, const Budget& budget, PlacementKind kind) {
    const NeuronThresholds& measured = inputs.thresholds;
    const double floor = budget.quality.max_kl;
    const std::vector<TradeCandidate> candidates = budget.theta
                                                       ? std::vector{asked_candidate(*budget.theta, measured, floor)}
                                                       : offered_candidates(measured, floor);

    check_demand(inputs, budget);
    PlanInputs traded = inputs;
    traded.sensitivity = sensitivity_in_nats(inputs.sensitivity, measured, inputs.popularity);
    std::vector<ModelDemand::Format>& offered = traded.demand.formats;
    const auto unmeasured = [&](const ModelDemand::Format& f) { return !measured.kl_of(f.format); };
    offered.erase(std::remove_if(offered.begin() + 1, offered.end(), unmeasured), offered.end());

    std::optional<FormatSearch::Found> best, best_whole;
    std::optional<Error> failure;
    for (const TradeCandidate& candidate : candidates) {
        traded.cost = inputs.cost;
        leave_out(traded.cost, candidate.theta, measured, inputs.sparse_loading);
        Budget rest = budget;
        rest.quality = {.max_loss = std::max((floor - candidate.kl) * kBelowFloor, 1e-300)};
        FormatSearch::Found one;
        try {
            one = FormatSearch(traded, rest, kind).choose();
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
    plan.predicted_loss = predicted_loss(plan.formats, inputs.sensitivity, inputs.popularity);
    plan.note = joined(std::move(plan.note), trade_note(plan, measured, floor));
    return plan;
}

}  // namespace offstage::engine
