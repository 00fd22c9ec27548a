#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/files/read_buffers.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/planner.h"
#include "engine/plan/planner_objective.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {
namespace {

// Sizes may come from files: products and sums of 64-bit numbers are formed in 128.
__extension__ typedef unsigned __int128 Wide;

constexpr std::int64_t kDefaultContext = 32768;  // tokens, unless the user set one
constexpr std::int64_t kUsualStep = 512;
constexpr std::int64_t kRoomyStep = 2048;  // ... if memory is plentiful: weights are read and unpacked less often
constexpr std::int64_t kLargestStep = 4096;
constexpr std::int64_t kLongestPlannedContext = std::int64_t{1} << 40;
constexpr std::int64_t kMostExpertsOfAll = std::int64_t{1} << 26;

std::uint64_t narrow(Wide bytes) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    return bytes > kMost ? kMost : static_cast<std::uint64_t>(bytes);
}

// Exact in English, for logs; the window rounds it.
ByteSize both_ways(Wide bytes) {
    return {narrow(bytes), ByteSize::Style::kBoth};
}

ByteSize rounded_size(Wide bytes) {
    return {narrow(bytes)};
}

void add_note(Plan& plan, Message sentence) {
    plan.note = joined(std::move(plan.note), std::move(sentence));
}

class Placer {
  public:
    Placer(const PlanInputs& inputs, const Budget& budget, PlacementKind kind, const FormatChoice& choice)
        : inputs_(inputs), demand_(inputs.demand), budget_(budget), kind_(kind), choice_(choice) {
        check_demand(inputs, budget);
        wished_context_ = budget.context > 0 ? budget.context : std::min(demand_.max_context, kDefaultContext);
        const auto no_shorter_than = [&](std::int64_t tokens) {
            return budget.context > 0 ? budget.context
                                      : std::min(wished_context_, std::max(tokens, budget.least_context));
        };
        least_context_ = no_shorter_than(kUsualContext);
        shortest_context_ = no_shorter_than(kShortestContext);
        largest_step_ = std::min(kLargestStep, shortest_context_);  // a longer one might never be filled
        if (budget.largest_step > 0) largest_step_ = std::min(largest_step_, budget.largest_step);
        usual_step_ = std::min(kUsualStep, largest_step_);
        roomy_step_ = std::min(kRoomyStep, largest_step_);
        smallest_step_ = std::min(kSmallestStep, usual_step_);
        const auto all = static_cast<std::size_t>(demand_.n_layers * demand_.n_experts);
        n_all_ = choice.order == nullptr ? all : choice.order->size();
    }

    Plan make() {
        plan_.places.assign(static_cast<std::size_t>(demand_.n_layers * demand_.n_experts), Place::kDisk);
        if (choice_.order == nullptr) own_order_ = placement_order(inputs_, kind_);
        sum_sizes();
        plan_.kv = demand_.kv;
        plan_.kept_context = demand_.kept_context;
        plan_.kept_bytes = demand_.kept_bytes();
        plan_.dense_bytes = demand_.dense_bytes;
        if (demand_.shares_host_memory) {
            place_on_host();
        } else {
            place_on_device();
            place_in_ram();
        }
        plan_.expected_hit_rate = resident_rate(plan_, inputs_);
        return std::move(plan_);
    }

  private:
    // ---- sizes
    // The KV cache comes in whole blocks; of each group at most so many.
    Wide kv_bytes(std::int64_t context, std::int64_t most_blocks = kLongestPlannedContext) const {
        Wide bytes = 0;
        for (const KvGroupDemand& group : demand_.kv_groups) {
            const auto blocks = static_cast<Wide>(std::min(group.n_blocks(context), most_blocks));
            bytes += Wide{group.bytes_per_token(demand_.kv)} * blocks * kernels::kKvBlockTokens;
        }
        return bytes;
    }
    Wide workspace_bytes(std::int64_t step) const {
        return Wide{demand_.workspace_fixed_bytes} + Wide{demand_.workspace_bytes_per_token} * static_cast<Wide>(step);
    }
    std::int64_t largest_step_in(Wide bytes) const {
        if (demand_.workspace_bytes_per_token == 0) return largest_step_;
        const Wide rest = bytes - demand_.workspace_fixed_bytes;
        return static_cast<std::int64_t>(
            std::min(rest / demand_.workspace_bytes_per_token, static_cast<Wide>(largest_step_)));
    }
    // The longest context, up to the requested one, whose cache fits in `bytes`; 0: none.
    std::int64_t longest_context_in(Wide bytes) const {
        if (kv_bytes(wished_context_) <= bytes) return wished_context_;
        return kernels::kKvBlockTokens *
               most_blocks(wished_context_ / kernels::kKvBlockTokens,
                           [&](std::int64_t blocks) { return kv_bytes(blocks * kernels::kKvBlockTokens) <= bytes; });
    }
    // The largest number up to `most` that fits. Precondition: 0 fits, and every smaller
    // number than one that fits.
    template <typename Fits>
    static std::int64_t most_blocks(std::int64_t most, const Fits& fits) {
        std::int64_t good = 0;
        std::int64_t bad = most + 1;
        while (bad - good > 1) {
            const std::int64_t middle = good + (bad - good) / 2;
            (fits(middle) ? good : bad) = middle;
        }
        return good;
    }

    // ---- experts, in their order
    std::size_t ranked(std::size_t rank) const {
        return choice_.order == nullptr ? own_order_[rank] : (*choice_.order)[rank];
    }

    void sum_sizes() {
        const auto format = [&](std::size_t expert) -> const ModelDemand::Format& {
            return demand_.format_of(choice_.formats.empty() ? choice_.uniform : choice_.formats[expert], expert);
        };
        bytes_up_to_.reserve(n_all_ + 1);
        bytes_up_to_.push_back(0);
        double bits = 0;
        for (std::size_t rank = 0; rank < n_all_; ++rank) {
            const ModelDemand::Format& f = format(ranked(rank));
            bytes_up_to_.push_back(bytes_up_to_.back() + f.expert_bytes);
            slot_bytes_ = std::max<Wide>(slot_bytes_, f.expert_bytes);
            bits += f.bits_per_weight;
        }
        plan_.slot_bytes = narrow(slot_bytes_);
        // If all have one format the mean is exact, without the rounding of a sum.
        plan_.mean_bits = choice_.formats.empty() ? demand_.formats[choice_.uniform].bits_per_weight
                                                  : bits / static_cast<double>(n_all_);
        plan_.formats.reserve(plan_.places.size());
        for (std::size_t i = 0; i < plan_.places.size(); ++i) plan_.formats.push_back(format(i).format);
    }

    // Bytes of the experts from rank `first` to before `last`.
    Wide bytes_between(std::size_t first, std::size_t last) const { return bytes_up_to_[last] - bytes_up_to_[first]; }
    Wide bytes_of_all() const { return bytes_up_to_.back(); }
    // Where a usual step has no room beside `fixed` and the context: shortens the context
    // to what fits, if it may be.
    void shorten_context(Wide bytes, Wide fixed) {
        const Wide others = fixed + workspace_bytes(usual_step_);
        if (others + kv_bytes(least_context_) <= bytes) return;
        comes_first_ = true;
        least_context_ = std::max(shortest_context_, others < bytes ? longest_context_in(bytes - others) : 0);
    }
    // The number of experts from rank `first` on that fit.
    std::size_t fitting(std::size_t first, Wide bytes) const {
        const auto begin = bytes_up_to_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = std::upper_bound(begin, bytes_up_to_.end(), *begin + bytes);
        return static_cast<std::size_t>(end - begin) - 1;
    }

    // ---- one memory: a device's, or the host's where they share it
    // Sets context, step, KV cache and workspace for a memory of `bytes`, of which
    // `fixed` are taken by parts of fixed size, and on a device staging. Returns how many
    // experts fit beside them.
    std::size_t divide(Wide bytes, Wide fixed, bool on_device, const char* place) {
        shorten_context(bytes, fixed);
        const Wide base = fixed + kv_bytes(least_context_);
        if (base + workspace_bytes(smallest_step_) > bytes) {
            if (!on_device || !spill_context(bytes, fixed)) fail(bytes, fixed, place);
            return 0;
        }
        plan_.context = least_context_;
        plan_.max_step = usual_step_;
        std::size_t n = 0;
        Wide left = 0;  // after the experts and the workspace
        if (base + workspace_bytes(usual_step_) > bytes) {
            plan_.max_step = largest_step_in(bytes - base);
            add_note(plan_, messages::short_memory_small_steps(plan_.max_step));
            left = bytes - base - workspace_bytes(plan_.max_step);
        } else {
            const Wide rest = bytes - base;
            if (comes_first_) {
                left = rest - workspace_bytes(usual_step_);
            } else if (rest - workspace_bytes(usual_step_) >= bytes_of_all()) {
                n = n_all_;
                left = rest - workspace_bytes(usual_step_) - bytes_of_all();
            } else {
                // A tenth of the memory may go into the workspace, since a longer step
                // copies experts less often. The allowance grows with the budget without
                // leaps, and so does the number of experts: more memory never means fewer
                // of them. The remaining memory goes to the context and then to the step.
                Wide allowance = workspace_bytes(usual_step_);
                if (on_device) {
                    allowance = std::clamp(bytes / 10, allowance, workspace_bytes(largest_step_));
                    allowance = std::min(allowance, rest);
                }
                Wide room = rest - allowance;
                left = rest - room;
                if (on_device) {
                    const Wide slots = std::min(room / slot_bytes_, static_cast<Wide>(demand_.staging_slots));
                    plan_.staging_slots = static_cast<std::int64_t>(slots);
                    plan_.staging_bytes = narrow(slots * slot_bytes_);
                    room -= slots * slot_bytes_;
                    plan_.max_step = largest_step_in(allowance);
                }
                // Experts smaller than a slot wait until all slots are there; otherwise
                // more memory could mean fewer of them.
                if (!on_device || plan_.staging_slots == demand_.staging_slots) n = fitting(0, room);
                left += room - bytes_up_to_[n] - workspace_bytes(plan_.max_step);
            }
        }
        if (wished_context_ > least_context_) {
            plan_.context = std::max(least_context_, longest_context_in(kv_bytes(least_context_) + left));
            left -= kv_bytes(plan_.context) - kv_bytes(least_context_);
            if (plan_.context < wished_context_) {
                add_note(plan_, messages::context_shortened(plan_.context, wished_context_, place));
            }
        }
        if (on_device && n < n_all_) {
            plan_.max_step = largest_step_in(workspace_bytes(plan_.max_step) + left);
        } else if (n == n_all_) {  // a quarter of the unused memory
            const std::int64_t step = largest_step_in(workspace_bytes(plan_.max_step) + left / 4);
            plan_.max_step = std::max(plan_.max_step, std::min(step, roomy_step_));
        }
        plan_.kv_bytes = narrow(kv_bytes(plan_.context));
        plan_.workspace_bytes = narrow(workspace_bytes(plan_.max_step));
        return n;
    }

    // For a context that the device has no room for: puts as many blocks of its
    // cache on the device as fit, the others in RAM. False if that is impossible.
    bool spill_context(Wide bytes, Wide fixed) {
        if (!demand_.kv_may_lie_in_ram) return false;
        const Wide others = fixed + workspace_bytes(smallest_step_);
        if (others > bytes) return false;
        const std::int64_t context = budget_.context > 0 ? budget_.context : least_context_;
        const std::int64_t blocks =
            most_blocks(kv_blocks_for(context), [&](std::int64_t n) { return others + kv_bytes(context, n) <= bytes; });
        if (blocks == 0) return false;
        const Wide on_device = kv_bytes(context, blocks);
        plan_.context = context;
        plan_.kv_device_blocks = blocks;
        plan_.max_step = largest_step_in(bytes - fixed - on_device);
        plan_.kv_bytes = narrow(on_device);
        plan_.kv_host_bytes = narrow(kv_bytes(context) - on_device);
        plan_.workspace_bytes = narrow(workspace_bytes(plan_.max_step));
        add_note(plan_, messages::vram_short_kv_in_ram(plan_.context, blocks * kernels::kKvBlockTokens,
                                                       ByteSize{plan_.kv_host_bytes}));
        return true;
    }

    [[noreturn]] void fail(Wide bytes, Wide fixed, const char* place) const {
        // What may lie in RAM needs one block of keys and values here.
        const bool spills = demand_.kv_may_lie_in_ram;
        const std::int64_t n_tokens = spills ? std::min(least_context_, kernels::kKvBlockTokens) : least_context_;
        const Wide kv_here =
            spills ? kv_bytes(budget_.context > 0 ? budget_.context : least_context_, 1) : kv_bytes(least_context_);
        const Wide least = fixed + kv_here + workspace_bytes(smallest_step_);
        const Wide kept = demand_.shares_host_memory ? demand_.kept_bytes() : 0;  // among the fixed
        const ByteSize dense = rounded_size(fixed - kept);
        const ByteSize room = rounded_size(kept);
        const ByteSize kv = rounded_size(kv_here);
        const ByteSize workspace = rounded_size(workspace_bytes(smallest_step_));
        const ByteSize missing{narrow(least - bytes), ByteSize::Style::kExact};
        const bool with_disk = plan_.host_staging_slots > 0;
        Message text;
        if (kept > 0) {
            const auto& said =
                with_disk ? messages::vram_too_small_with_disk_and_kept : messages::vram_too_small_with_kept;
            text = said(both_ways(bytes), place, dense, room, n_tokens, kv, workspace, both_ways(least), missing);
        } else {
            const auto& said = with_disk ? messages::vram_too_small_with_disk : messages::vram_too_small;
            text = said(both_ways(bytes), place, dense, n_tokens, kv, workspace, both_ways(least), missing);
        }
        const Wide others = fixed + workspace_bytes(smallest_step_);
        const std::int64_t context = others < bytes ? longest_context_in(bytes - others) : 0;
        if (context > 0) text = joined(std::move(text), messages::context_would_fit(context));
        throw Error(ErrorKind::kOutOfMemory, text);
    }

    static Wide limit(std::uint64_t bytes) { return bytes > 0 ? bytes : std::numeric_limits<std::uint64_t>::max(); }

    // ---- other conversations' states and windows, in RAM
    // If not all experts fit: the part of the experts' room reserved for these. It grows
    // with the room without leaps, so that more memory never means fewer experts.
    Wide sequences_allowance(Wide experts_room) const {
        const std::int64_t context = plan_.context > 0 ? plan_.context : wished_context_;
        return std::min<Wide>(demand_.sequences_bytes(context, kMostOtherSequences), experts_room / 16);
    }
    // As many as fit in the rest of RAM, or in a quarter of it if all experts have their
    // place.
    void keep_sequences(Wide bytes) {
        Wide left = bytes - plan_.ram_bytes;
        if (plan_.host_staging_slots == 0) left /= 4;
        const std::int64_t n = demand_.sequences_in(plan_.context, narrow(left));
        const std::uint64_t kept = demand_.sequences_bytes(plan_.context, n);
        plan_.ram_bytes += kept;
        plan_.kept_bytes += kept;
        (demand_.shares_host_memory ? plan_.kv_bytes : plan_.kv_host_bytes) += kept;
    }

    // ---- accelerator: VRAM, then RAM, then disk
    void place_on_device() {
        std::size_t n = divide(limit(budget_.vram_bytes), demand_.dense_bytes, true, "VRAM");
        if (n < n_all_) {
            if (plan_.staging_slots == 0) add_note(plan_, messages::no_room_to_copy_experts);
            if (kind_ == PlacementKind::kLayers) n = in_whole_layers(n);
        }
        plan_.expert_bytes = narrow(bytes_up_to_[n]);
        n_resident_ = n;
        for (std::size_t rank = 0; rank < n; ++rank) plan_.places[ranked(rank)] = Place::kDevice;
    }

    // The largest part of the first n that consists of whole layers.
    std::size_t in_whole_layers(std::size_t n) const {
        const auto layer = [this](std::size_t rank) {
            return ranked(rank) / static_cast<std::size_t>(demand_.n_experts);
        };
        while (n > 0 && n < n_all_ && layer(n) == layer(n - 1)) --n;
        return n;
    }

    void place_in_ram() {
        plan_.kv_host_bytes += demand_.kept_bytes();
        const Wide bytes = limit(budget_.ram_bytes);
        const Wide fixed = Wide{demand_.host_fixed_bytes} + plan_.kv_host_bytes;
        std::size_t n = n_all_ - n_resident_;
        if (fixed + bytes_of_all() <= bytes) {
            plan_.ram_bytes = narrow(fixed + bytes_of_all());
        } else {
            plan_.duplicates = false;
            n = place_with_disk(bytes, fixed);
            plan_.ram_bytes = narrow(fixed + bytes_between(n_resident_, n_resident_ + n) + disk_slots_bytes());
        }
        keep_sequences(bytes);
        for (std::size_t i = 0; i < n; ++i) plan_.places[ranked(n_resident_ + i)] = Place::kRam;
    }

    // ---- CPU: one memory, then disk
    void place_on_host() {
        const Wide bytes = limit(budget_.ram_bytes);
        Wide fixed = Wide{demand_.dense_bytes} + demand_.host_fixed_bytes + demand_.kept_bytes();
        const bool all_fit = fixed + kv_bytes(least_context_) + workspace_bytes(usual_step_) + bytes_of_all() <= bytes;
        Wide allowance = 0;
        if (!all_fit) {
            shorten_context(bytes, fixed + static_cast<Wide>(demand_.n_active) * slot_bytes_);
            const Wide others = kv_bytes(least_context_) + workspace_bytes(smallest_step_);
            set_disk_slots(fixed + others, bytes);
            fixed += disk_slots_bytes();
            if (fixed + others < bytes) allowance = sequences_allowance(bytes - fixed - others);
        }
        const std::size_t n = divide(bytes - allowance, fixed, false, "RAM");
        if (n < n_all_) note_disk(n_all_ - n);
        plan_.ram_bytes = narrow(fixed + plan_.kv_bytes + plan_.workspace_bytes + bytes_up_to_[n]);
        plan_.kv_bytes += demand_.kept_bytes();
        keep_sequences(bytes);
        for (std::size_t rank = 0; rank < n; ++rank) plan_.places[ranked(rank)] = Place::kRam;
    }

    // Slots for a token's experts, and for guesses of the next layer's experts in up to
    // an eighth of the remaining room for experts.
    void set_disk_slots(Wide taken, Wide bytes) {
        plan_.host_staging_slots = demand_.n_active;
        // Without room for buffers, experts are read through the mapped file.
        without_buffers_ = taken + disk_slots_bytes() > bytes;
        const Wide least = taken + disk_slots_bytes();
        const Wide room = least < bytes ? (bytes - least) / 8 : 0;
        const Wide guesses =
            std::min(static_cast<Wide>(demand_.disk_guess_slots), room / std::max<Wide>(1, slot_bytes_));
        plan_.host_staging_slots += static_cast<std::int64_t>(guesses);
        // More slots may have more buffers.
        if (taken + disk_slots_bytes() > bytes) plan_.host_staging_slots = demand_.n_active;
    }
    Wide disk_slots_bytes() {
        plan_.disk_buffer_bytes = 0;
        if (demand_.reads_directly && !without_buffers_) {
            plan_.disk_buffer_bytes = read_buffers_for(narrow(slot_bytes_), plan_.host_staging_slots).bytes();
        }
        return static_cast<Wide>(plan_.host_staging_slots) * slot_bytes_ + plan_.disk_buffer_bytes;
    }

    // The number of experts outside the device that get a place in RAM beside `taken`.
    // When not all do, room for a token's experts is reserved for those that come from
    // disk.
    std::size_t place_with_disk(Wide bytes, Wide taken) {
        const std::size_t n_wanted = n_all_ - n_resident_;
        if (taken + bytes_between(n_resident_, n_all_) <= bytes) return n_wanted;
        set_disk_slots(taken, bytes);
        const Wide least = taken + disk_slots_bytes();
        if (least > bytes) {
            const Wide kept = demand_.kept_bytes();
            const ByteSize missing{narrow(least - bytes), ByteSize::Style::kExact};
            throw Error(ErrorKind::kOutOfMemory,
                        kept > 0 ? messages::ram_too_small_with_kept(both_ways(bytes), both_ways(least),
                                                                     rounded_size(kept), missing)
                                 : messages::ram_too_small(both_ways(bytes), both_ways(least), missing));
        }
        const std::size_t n = fitting(n_resident_, bytes - least - sequences_allowance(bytes - least));
        note_disk(n_wanted - n);
        return n;
    }

    void note_disk(std::size_t n_experts) {
        const bool direct = demand_.reads_directly && !without_buffers_;
        add_note(plan_, (direct ? messages::ram_short_disk_direct : messages::ram_short_disk)(n_experts));
    }

    const PlanInputs& inputs_;
    const ModelDemand& demand_;
    const Budget& budget_;
    const PlacementKind kind_;
    const FormatChoice& choice_;
    std::int64_t wished_context_ = 0, least_context_ = 0, shortest_context_ = 0;
    bool comes_first_ = false;  // the context was shortened, so no expert takes room
    std::int64_t largest_step_ = 0, roomy_step_ = 0, usual_step_ = 0, smallest_step_ = 0;
    std::vector<std::size_t> own_order_;  // if the choice has no order
    std::vector<Wide> bytes_up_to_;       // [k]: of the first k experts in their order
    Wide slot_bytes_ = 0;
    bool without_buffers_ = false;  // for reading experts on disk directly
    std::size_t n_all_ = 0;         // experts to be placed
    std::size_t n_resident_ = 0;
    Plan plan_;
};

}  // namespace

void check_demand(const PlanInputs& inputs, const Budget& budget) {
    const ModelDemand& demand = inputs.demand;
    const Popularity& popularity = inputs.popularity;
    const auto require = [](bool ok, const MessageCode<0>& what) {
        if (!ok) throw Error(ErrorKind::kInvalidInput, what);
    };
    require(demand.n_layers > 0 && demand.n_experts > 0 && demand.n_layers <= kMostExpertsOfAll &&
                demand.n_experts <= kMostExpertsOfAll / demand.n_layers,
            messages::plan_experts_out_of_range);
    require(demand.n_active > 0 && demand.n_active <= demand.n_experts, messages::plan_active_out_of_range);
    require(demand.expert_bytes > 0 && !demand.formats.empty(), messages::plan_experts_without_size);
    for (const ModelDemand::Format& f : demand.formats) require(f.expert_bytes > 0, messages::plan_format_without_size);
    require(demand.formats.size() <= kernels::kWeightTypes, messages::plan_too_many_formats);
    require(demand.max_context > 0 && budget.context >= 0 && budget.context <= kLongestPlannedContext,
            messages::plan_context_out_of_range);
    if (popularity.n_layers != demand.n_layers || popularity.n_experts != demand.n_experts) {
        throw Error(ErrorKind::kInvalidInput, messages::popularity_differs(popularity.n_layers, popularity.n_experts,
                                                                           demand.n_layers, demand.n_experts));
    }
}

std::vector<std::size_t> order_by(const std::vector<double>& worth, std::int64_t n_experts) {
    std::vector<std::size_t> order(worth.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto per_layer = static_cast<std::size_t>(n_experts);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (worth[a] != worth[b]) return worth[a] > worth[b];
        if (a % per_layer != b % per_layer) return a % per_layer < b % per_layer;
        return a < b;
    });
    return order;
}

std::vector<std::size_t> placement_order(const PlanInputs& inputs, PlacementKind kind) {
    const ModelDemand& demand = inputs.demand;
    const Popularity& popularity = inputs.popularity;
    const auto n_experts = static_cast<std::size_t>(demand.n_experts);
    std::vector<double> shares(static_cast<std::size_t>(demand.n_layers) * n_experts);
    if (kind == PlacementKind::kLayers) {
        std::vector<std::size_t> order(shares.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return a / n_experts > b / n_experts; });
        return order;
    }
    for (std::int64_t layer = 0; layer < demand.n_layers; ++layer) {
        double sum = 0;
        for (std::int64_t expert = 0; expert < demand.n_experts; ++expert) sum += popularity.count(layer, expert);
        for (std::int64_t expert = 0; expert < demand.n_experts; ++expert) {
            shares[static_cast<std::size_t>(layer * demand.n_experts + expert)] =
                sum > 0 ? popularity.count(layer, expert) / sum : 1.0 / static_cast<double>(demand.n_experts);
        }
    }
    return order_by(shares, demand.n_experts);
}

Plan place_experts(const PlanInputs& inputs, const Budget& budget, PlacementKind kind, const FormatChoice& choice) {
    return Placer(inputs, budget, kind, choice).make();
}

}  // namespace offstage::engine
