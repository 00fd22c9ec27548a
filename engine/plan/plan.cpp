#include "engine/plan/plan.h"

#include <algorithm>
#include <limits>
#include <span>

namespace offstage::engine {
namespace {

// Each other conversation has room for so many tokens: if not in the unused part of the
// context, then beside it. A short context is full of other requests soon.
constexpr std::int64_t kOtherTokensEach = 512;

std::int64_t blocks_of_others(const KvGroupDemand& group, std::int64_t context, std::int64_t n) {
    const std::int64_t all_tokens = std::max(context, n * kOtherTokensEach);
    if (!group.is_state && group.window == 0) return kv_blocks_for(all_tokens) - kv_blocks_for(context);
    return group.n_other_sequences_blocks(all_tokens, n);
}

// Where no layer has any, other conversations are stored in the unused part of the
// context alone.
bool has_states_or_windows(std::span<const KvGroupDemand> groups) {
    return std::ranges::any_of(groups, [](const KvGroupDemand& group) { return group.is_state || group.window > 0; });
}

// Bytes of so many tokens(group) of each group.
template <typename Tokens>
std::uint64_t sum_of_groups(const ModelDemand& demand, const Tokens& tokens) {
    __extension__ typedef unsigned __int128 Sum128;
    constexpr Sum128 kMost = std::numeric_limits<std::uint64_t>::max();
    Sum128 bytes = 0;
    for (const KvGroupDemand& group : demand.kv_groups) {
        bytes += static_cast<Sum128>(tokens(group)) * group.bytes_per_token(demand.kv);
    }
    return static_cast<std::uint64_t>(std::min(bytes, kMost));
}

// Of blocks.
template <typename Blocks>
std::uint64_t sum_of_blocks(const ModelDemand& demand, const Blocks& blocks) {
    return sum_of_groups(demand, [&](const KvGroupDemand& group) { return blocks(group) * kernels::kKvBlockTokens; });
}

}  // namespace

std::int64_t Plan::n_in(Place place) const {
    return std::count(places.begin(), places.end(), place);
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

const ModelDemand::Format* ModelDemand::find(kernels::WeightType format) const {
    for (const std::vector<Format>* list : {&file_formats, &formats}) {
        for (const Format& known : *list) {
            if (known.format == format) return &known;
        }
    }
    return nullptr;
}

std::uint64_t ModelDemand::bytes_of(kernels::WeightType format) const {
    const Format* const known = find(format);
    return known != nullptr ? known->expert_bytes : expert_bytes;
}

std::uint64_t ModelDemand::kv_bytes(std::int64_t context) const {
    return sum_of_blocks(*this, [&](const KvGroupDemand& group) { return group.n_blocks(context); });
}

std::uint64_t ModelDemand::kept_bytes() const {
    return sum_of_blocks(*this, [&](const KvGroupDemand& group) { return group.n_kept_blocks(kept_context); });
}

std::uint64_t ModelDemand::sequences_bytes(std::int64_t context, std::int64_t n) const {
    if (!has_states_or_windows(kv_groups)) return 0;
    return sum_of_blocks(*this, [&](const KvGroupDemand& group) { return blocks_of_others(group, context, n); });
}

std::int64_t ModelDemand::sequences_in(std::int64_t context, std::uint64_t bytes) const {
    if (!has_states_or_windows(kv_groups)) return 0;
    std::int64_t n = kMostOtherSequences;
    while (n > 0 && sequences_bytes(context, n) > bytes) --n;
    return n;
}

std::uint64_t ModelDemand::kv_workspace_bytes(std::int64_t max_step) const {
    return sum_of_groups(*this, [&](const KvGroupDemand& group) -> std::int64_t {
        if (group.is_state) return 0;
        // A step need not fill its last block.
        const std::int64_t of_step = group.window > 0 ? kernels::kKvBlockTokens + max_step : 0;
        return kSpareKvBlocks * kernels::kKvBlockTokens + of_step;
    });
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
            group.n_kept_blocks(plan.kept_context) + blocks_of_others(group, plan.context, n_sequences);
        rooms.push_back(room);
    }
    return rooms;
}

}  // namespace offstage::engine
