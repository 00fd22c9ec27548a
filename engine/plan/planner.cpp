#include "engine/plan/planner.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/plan/plan_messages.h"
#include "engine/print.h"

namespace offstage::engine {
namespace {

// The name for users of a format of this model.
MessageArgument shown_name(const ModelDemand& demand, kernels::WeightType format) {
    const bool of_file = kernels::traits_of(format).is_of_file();
    if (of_file && !demand.file_blocks.empty()) return messages::as_in_the_file(demand.file_blocks);
    return name_of(format);
}

// A share with two digits that count.
Decimal two_digits(double share) {
    if (!(share > 0 && share < 1)) return {share};
    return {share, 1 - static_cast<int>(std::floor(std::log10(share)))};
}

// The experts of a file's blocks that the plan quantizes a second time; empty: none.
Message requantized_note(const Plan& plan, const ModelDemand& demand, const Sensitivity& sensitivity) {
    if (demand.file_blocks.empty()) return {};
    std::int64_t n = 0;
    double squared = 0;
    std::string names;
    for (const ModelDemand::Format& f : demand.formats) {
        if (kernels::traits_of(f.format).is_of_file()) continue;
        std::int64_t n_of_format = 0;
        for (std::size_t i = 0; i < plan.formats.size(); ++i) {
            if (plan.formats[i] != f.format) continue;
            ++n_of_format;
            const auto expert = static_cast<std::int64_t>(i);
            const double error = sensitivity.error(f.format, expert / demand.n_experts, expert % demand.n_experts);
            squared += error * error;
        }
        if (n_of_format > 0) names += (names.empty() ? "" : ", ") + std::string(name_of(f.format));
        n += n_of_format;
    }
    if (n == 0) return {};
    return messages::quantized_twice(n, demand.file_blocks, names, two_digits(squared / static_cast<double>(n)));
}

Plan placed(const PlanInputs& inputs, const Budget& budget, PlacementKind kind) {
    const ModelDemand& demand = inputs.demand;
    FormatChoice choice;
    if (budget.uniform.has_value()) {
        if (budget.quality.allows_fewer_bits()) {
            throw Error(ErrorKind::kInvalidInput, messages::format_and_quality_in_plan);
        }
        const std::vector<ModelDemand::Format>& formats = demand.formats;
        const auto found = std::ranges::find(formats, *budget.uniform, &ModelDemand::Format::format);
        if (found == formats.end()) {
            std::string names;
            for (const ModelDemand::Format& f : formats)
                names += (names.empty() ? "" : ", ") + shown_name(demand, f.format).english();
            const char* const wanted = name_of(*budget.uniform);
            if (kernels::is_packed(*budget.uniform) && demand.hidden_dim % kernels::kPackedBlock != 0) {
                throw Error(ErrorKind::kInvalidInput,
                            messages::expert_format_needs_hidden_size(wanted, demand.hidden_dim, names));
            }
            throw Error(ErrorKind::kInvalidInput, messages::expert_format_impossible(wanted, names));
        }
        choice.uniform = static_cast<std::uint8_t>(found - formats.begin());
    }
    Plan plan = place_experts(inputs, budget, kind, choice);
    plan.predicted_loss = predicted_loss(plan.formats, inputs.sensitivity, inputs.popularity);
    return plan;
}

}  // namespace

Plan make_plan(const PlanInputs& inputs, const Budget& budget, PlacementKind kind) {
    const bool by_costs = budget.quality.allows_fewer_bits() && !budget.uniform.has_value() && inputs.has_costs();
    Plan plan = !by_costs                   ? placed(inputs, budget, kind)
                : budget.quality.max_kl > 0 ? trade_quality(inputs, budget, kind)
                                            : search_formats(inputs, budget, kind);
    plan.budget = budget;
    plan.note = joined(std::move(plan.note), requantized_note(plan, inputs.demand, inputs.sensitivity));
    return plan;
}

void PlanInputs::set_theta(const ThetaChoice& choice) {
    leave_out(cost, choice, thresholds, sparse_loading);
    if (active_share > 0) cost.set_theta(cost.theta(), sparse_loading, active_share, {});
}

double PlanInputs::kl_of(kernels::WeightType format) const {
    if (format == demand.formats.front().format) return 0;  // as in the file
    return thresholds.kl_of(format).value_or(std::numeric_limits<double>::infinity());
}

void PlanInputs::describe_formats(Plan& plan) const {
    double bits = 0;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const ModelDemand::Format* const found = demand.find(plan.format(i, master));
        bits += found != nullptr ? found->bits_per_weight : 16;
    }
    plan.predicted_loss = engine::predicted_loss(plan.formats, sensitivity, popularity);
    plan.mean_bits = bits / static_cast<double>(plan.places.size());
}

MigrationRates PlanInputs::migration_rates(const QuantizingSpeeds* speeds) const {
    MigrationRates rates;
    for (const kernels::FormatTraits& row : kernels::kFormats) {
        const ModelDemand::Format* const size = demand.find(row.type);
        if (size == nullptr) continue;
        const auto f = static_cast<std::size_t>(row.type);
        rates.upload_us[f] = cost.weight_copy_us(row.type);
        rates.pack_us[f] = cost.disk_read(row.type).us;
        rates.change_us[f] = cost.disk_read(master).us;
        const double n_weights = static_cast<double>(size->expert_bytes) * 8 / size->bits_per_weight;
        if (speeds != nullptr && row.is_packed() && (*speeds)[f] > 0)
            rates.change_us[f] += n_weights / (*speeds)[f] * 1e6;
    }
    return rates;
}

ExpertMove move_of(const ExpertCopies& has, const ExpertCopies& wanted) {
    ExpertMove move;
    const bool changes = has.format != wanted.format;
    const bool new_ram = wanted.ram && (changes || !has.ram);
    move.uploads = wanted.device && (changes || !has.device);
    move.packs = new_ram || (move.uploads && (changes || !has.ram));
    move.changes = changes && move.packs;
    move.copies = static_cast<int>(new_ram) + static_cast<int>(move.uploads);
    return move;
}

void MigrationWork::add(const ExpertMove& move, kernels::WeightType format) {
    const auto f = static_cast<std::size_t>(format);
    if (move.packs) ++(move.changes ? changed : packed)[f];
    if (move.uploads) ++uploaded[f];
    copies += move.copies;
}

MigrationWork MigrationWork::operator-(const MigrationWork& done) const {
    MigrationWork left = *this;
    for (const auto& [counts, _] : kMigrationKinds) {
        for (std::size_t f = 0; f < packed.size(); ++f) (left.*counts)[f] -= (done.*counts)[f];
    }
    left.copies -= done.copies;
    return left;
}

void MigrationRates::learn(Us& rates, kernels::WeightType format, double us) {
    if (!(us > 0)) return;  // a clock that does not count it
    double& rate = rates[static_cast<std::size_t>(format)];
    rate = rate > 0 ? (rate + us) / 2 : us;
}

double us_of(const MigrationWork& work, const MigrationRates& measured, const MigrationRates& expected) {
    double us = 0;
    for (const auto& [counts, rates] : kMigrationKinds) {
        for (std::size_t f = 0; f < work.packed.size(); ++f) {
            const double known = (measured.*rates)[f];
            us += static_cast<double>((work.*counts)[f]) * (known > 0 ? known : (expected.*rates)[f]);
        }
    }
    return us;
}

Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand) {
    assert(from.places.size() == to.places.size());
    const kernels::WeightType master = demand.formats.front().format;
    const auto has_ram_copy = [&](const Plan& plan, std::size_t i) {
        return plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
    };
    Transition sum;
    for (std::size_t i = 0; i < to.places.size(); ++i) {
        const kernels::WeightType old_format = from.format(i, master);
        const kernels::WeightType format = to.format(i, master);
        const ExpertMove move = move_of({has_ram_copy(from, i), from.places[i] == Place::kDevice, old_format},
                                        {has_ram_copy(to, i), to.places[i] == Place::kDevice, format});
        sum.work.add(move, format);
        // A copy that leaves the device for RAM comes over the bus or from the master:
        // the slower of both is counted.
        sum.bytes_to_move += demand.bytes_of(format) * static_cast<std::uint64_t>(move.copies);
        // Experts on disk are packed when they are called.
        const bool changes = format != old_format && to.places[i] != Place::kDisk;
        if (changes && kernels::is_packed(format) && demand.find(format) != nullptr) ++sum.quantized;
    }
    return sum;
}

}  // namespace offstage::engine
