#include "engine/plan/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/plan/format_search.h"
#include "engine/plan/placer.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/quality_trade.h"
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
Message requantized_note(const Plan& plan, const ModelDemand& demand, const Sensitivity* sensitivity) {
    if (demand.file_blocks.empty()) return {};
    std::int64_t n = 0;
    double squared = 0;
    std::string names;
    for (const FormatDemand& f : demand.formats) {
        if (kernels::traits_of(f.format).is_of_file()) continue;
        std::int64_t n_of_format = 0;
        for (std::size_t i = 0; i < plan.formats.size(); ++i) {
            if (plan.formats[i] != f.format) continue;
            ++n_of_format;
            const auto expert = static_cast<std::int64_t>(i);
            const double error = sensitivity == nullptr ? kernels::traits_of(f.format).typical_error
                                                        : sensitivity->error(f.format, expert / demand.n_experts,
                                                                             expert % demand.n_experts);
            squared += error * error;
        }
        if (n_of_format > 0) names += (names.empty() ? "" : ", ") + std::string(name_of(f.format));
        n += n_of_format;
    }
    if (n == 0) return {};
    return messages::quantized_twice(n, demand.file_blocks, names, two_digits(squared / static_cast<double>(n)));
}

}  // namespace

std::int64_t Plan::n_resident() const {
    return std::count(places.begin(), places.end(), Place::kDevice);
}

ModelDemand ModelDemand::with_kv(kernels::KvType type) const {
    ModelDemand changed = *this;
    if (type == kv) return changed;
    changed.kv = type;
    changed.workspace_fixed_bytes += changed.kv_workspace_bytes(0) - kv_workspace_bytes(0);
    changed.workspace_bytes_per_token += changed.kv_workspace_bytes(1) - changed.kv_workspace_bytes(0);
    changed.workspace_bytes_per_token -= kv_workspace_bytes(1) - kv_workspace_bytes(0);
    return changed;
}

const FormatDemand* ModelDemand::find(kernels::WeightType format) const {
    for (const std::vector<FormatDemand>* list : {&file_formats, &formats}) {
        for (const FormatDemand& known : *list) {
            if (known.format == format) return &known;
        }
    }
    return nullptr;
}

std::uint64_t ModelDemand::kv_bytes(std::int64_t context) const {
    std::uint64_t bytes = 0;
    for (const KvGroupDemand& group : kv_groups) {
        bytes +=
            static_cast<std::uint64_t>(group.n_blocks(context) * kernels::kKvBlockTokens) * group.bytes_per_token(kv);
    }
    return bytes;
}

std::uint64_t ModelDemand::kept_bytes() const {
    std::uint64_t bytes = 0;
    for (const KvGroupDemand& group : kv_groups) {
        bytes += static_cast<std::uint64_t>(group.n_kept_blocks(kept_context) * kernels::kKvBlockTokens) *
                 group.bytes_per_token(kv);
    }
    return bytes;
}

std::uint64_t ModelDemand::sequences_bytes(std::int64_t context, std::int64_t n) const {
    __extension__ typedef unsigned __int128 Wide;
    Wide bytes = 0;
    for (const KvGroupDemand& group : kv_groups) {
        const auto blocks = static_cast<Wide>(group.n_other_sequences_blocks(context, n));
        bytes += blocks * kernels::kKvBlockTokens * group.bytes_per_token(kv);
    }
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    return bytes > kMost ? kMost : static_cast<std::uint64_t>(bytes);
}

std::int64_t ModelDemand::sequences_in(std::int64_t context, std::uint64_t bytes) const {
    if (sequences_bytes(context, 1) == 0) return 0;
    std::int64_t n = kMostOtherSequences;
    while (n > 0 && sequences_bytes(context, n) > bytes) --n;
    return n;
}

std::uint64_t ModelDemand::kv_workspace_bytes(std::int64_t max_step) const {
    std::uint64_t bytes = 0;
    for (const KvGroupDemand& group : kv_groups) {
        if (group.is_state) continue;
        // A step need not fill its last block.
        const std::int64_t of_step = group.window > 0 ? kernels::kKvBlockTokens + max_step : 0;
        const std::int64_t spare = kSpareKvBlocks * kernels::kKvBlockTokens;
        bytes += static_cast<std::uint64_t>(spare + of_step) * group.bytes_per_token(kv);
    }
    return bytes;
}

std::vector<KvRoom> ModelDemand::kv_rooms(const Plan& plan) const {
    std::vector<KvRoom> rooms;
    ModelDemand asked = with_kv(plan.kv);
    asked.kept_context = plan.kept_context;
    const std::uint64_t asked_bytes = std::min(plan.kept_bytes, asked.kept_bytes());
    const std::int64_t n_sequences = asked.sequences_in(plan.context, plan.kept_bytes - asked_bytes);
    for (const KvGroupDemand& group : kv_groups) {
        const std::int64_t n = group.n_blocks(plan.context);
        const std::int64_t on_device = std::min(n, plan.kv_device_blocks);
        KvRoom room{on_device + group.n_other_blocks(plan.max_step), n - on_device};
        (shares_host_memory ? room.device_blocks : room.host_blocks) +=
            group.n_kept_blocks(plan.kept_context) + group.n_other_sequences_blocks(plan.context, n_sequences);
        rooms.push_back(room);
    }
    return rooms;
}

namespace {

Plan plan_formats(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind,
                  const PlanCosts& costs) {
    const bool has_costs = costs.cost != nullptr && costs.sensitivity != nullptr;
    if (budget.quality.allows_fewer_bits()) {
        if (budget.uniform.has_value()) {
            throw Error(ErrorKind::kInvalidInput, messages::format_and_quality_in_plan);
        }
        if (has_costs && budget.quality.max_kl > 0) return trade_quality(demand, budget, popularity, kind, costs);
        if (has_costs) return FormatSearch(demand, budget, popularity, kind, costs).choose();
    }
    FormatChoice choice;
    if (budget.uniform.has_value()) {
        const std::vector<FormatDemand> formats = formats_of(demand);
        const auto found = std::find_if(formats.begin(), formats.end(),
                                        [&](const FormatDemand& f) { return f.format == *budget.uniform; });
        if (found == formats.end()) {
            std::string names;
            for (const FormatDemand& f : formats)
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
    Plan plan = place_experts(demand, budget, popularity, kind, choice);
    if (costs.sensitivity != nullptr) plan.predicted_loss = predicted_loss(plan, *costs.sensitivity, popularity);
    return plan;
}

}  // namespace

Plan make_plan(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind,
               const PlanCosts& costs) {
    Plan plan = plan_formats(demand, budget, popularity, kind, costs);
    plan.note = joined(std::move(plan.note), requantized_note(plan, demand, costs.sensitivity));
    return plan;
}

}  // namespace offstage::engine
