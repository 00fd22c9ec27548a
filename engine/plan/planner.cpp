#include "engine/plan/planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "kernels/types.h"

namespace offstage::engine {
namespace {

// Sizes may come from files: products and sums of 64-bit numbers are formed in 128.
__extension__ typedef unsigned __int128 Wide;

constexpr std::int64_t kDefaultContext = 32768;  // tokens, when the person named none
constexpr std::int64_t kShortestContext = 2048;  // ... and experts are short of room
constexpr std::int64_t kUsualStep = 512;
constexpr std::int64_t kLargestStep = 4096;
constexpr std::int64_t kSmallestStep = 64;
constexpr std::int64_t kLongestContext = std::int64_t{1} << 40;
constexpr std::int64_t kMostExperts = std::int64_t{1} << 26;

std::uint64_t narrow(Wide bytes) {
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    return bytes > kMost ? kMost : static_cast<std::uint64_t>(bytes);
}

std::string in_words(Wide bytes) {
    const std::uint64_t exact = narrow(bytes);
    return exact < 1024 ? format_bytes(exact) : std::to_string(exact) + " bytes (" + format_bytes(exact) + ")";
}

void add_note(Plan& plan, const std::string& sentence) {
    plan.note += (plan.note.empty() ? "" : " ") + sentence;
}

class Planner {
  public:
    Planner(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind)
        : demand_(demand), budget_(budget), popularity_(popularity), kind_(kind) {
        check();
        n_all_ = static_cast<Wide>(demand.n_layers) * static_cast<Wide>(demand.n_experts);
        wished_context_ = budget.context > 0 ? budget.context : std::min(demand.max_context, kDefaultContext);
        least_context_ = budget.context > 0 ? budget.context : std::min(wished_context_, kShortestContext);
        largest_step_ = std::min(kLargestStep, least_context_);  // a longer one might never be filled
        usual_step_ = std::min(kUsualStep, largest_step_);
        smallest_step_ = std::min(kSmallestStep, usual_step_);
    }

    Plan make() {
        plan_.places.assign(static_cast<std::size_t>(n_all_), Place::kDisk);
        rank_experts();
        plan_.dense_bytes = demand_.dense_bytes;
        if (demand_.shares_host_memory) {
            place_on_host();
        } else {
            place_on_device();
            place_in_ram();
        }
        std::vector<std::uint8_t> fast(plan_.places.size());
        const Place best = demand_.shares_host_memory ? Place::kRam : Place::kDevice;
        std::transform(plan_.places.begin(), plan_.places.end(), fast.begin(),
                       [&](Place place) { return static_cast<std::uint8_t>(place == best); });
        plan_.expected_hit_rate = expected_hit_rate(popularity_, fast);
        return std::move(plan_);
    }

  private:
    void check() const {
        const auto require = [](bool ok, const char* what) {
            if (!ok) throw Error(ErrorKind::kInvalidInput, std::string("No plan can be made: ") + what);
        };
        require(demand_.n_layers > 0 && demand_.n_experts > 0 && demand_.n_layers <= kMostExperts &&
                    demand_.n_experts <= kMostExperts / demand_.n_layers,
                "the model's number of experts is out of range.");
        require(demand_.n_active > 0 && demand_.n_active <= demand_.n_experts,
                "the model's number of active experts is out of range.");
        require(demand_.expert_bytes > 0, "the model's experts have no size.");
        require(demand_.max_context > 0 && budget_.context >= 0 && budget_.context <= kLongestContext,
                "the context is out of range.");
        if (popularity_.n_layers != demand_.n_layers || popularity_.n_experts != demand_.n_experts) {
            throw Error(ErrorKind::kInvalidInput,
                        "The popularity profile is of " + std::to_string(popularity_.n_layers) + " layers of " +
                            std::to_string(popularity_.n_experts) + " experts, the model has " +
                            std::to_string(demand_.n_layers) + " of " + std::to_string(demand_.n_experts) +
                            "; expected a profile of this model.");
        }
    }

    // ---- sizes
    // The KV cache comes in whole blocks.
    Wide kv_bytes(std::int64_t context) const {
        const std::int64_t blocks = (context - 1) / kernels::kKvBlockTokens + 1;
        return Wide{demand_.kv_bytes_per_token} * static_cast<Wide>(blocks) * kernels::kKvBlockTokens;
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
    // The longest context up to the wished one whose cache fits in `bytes`; 0: none.
    std::int64_t longest_context_in(Wide bytes) const {
        if (kv_bytes(wished_context_) <= bytes) return wished_context_;
        const Wide block = Wide{demand_.kv_bytes_per_token} * kernels::kKvBlockTokens;
        return static_cast<std::int64_t>(bytes / block) * kernels::kKvBlockTokens;
    }

    // ---- order of the experts: who gets the fastest place first
    void rank_experts() {
        order_.resize(static_cast<std::size_t>(n_all_));
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        const auto n_experts = static_cast<std::size_t>(demand_.n_experts);
        if (kind_ == PlacementKind::kLayers) {
            std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
                return a / n_experts != b / n_experts ? a / n_experts > b / n_experts : a < b;
            });
            return;
        }
        std::vector<double> shares(order_.size());
        for (std::int64_t layer = 0; layer < demand_.n_layers; ++layer) {
            double sum = 0;
            for (std::int64_t expert = 0; expert < demand_.n_experts; ++expert) sum += popularity_.count(layer, expert);
            for (std::int64_t expert = 0; expert < demand_.n_experts; ++expert) {
                shares[static_cast<std::size_t>(layer * demand_.n_experts + expert)] =
                    sum > 0 ? popularity_.count(layer, expert) / sum : 1.0 / static_cast<double>(demand_.n_experts);
            }
        }
        // Equals go in turn through the layers, so that without counts each layer gets its share.
        std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
            if (shares[a] != shares[b]) return shares[a] > shares[b];
            if (a % n_experts != b % n_experts) return a % n_experts < b % n_experts;
            return a < b;
        });
    }

    // ---- one memory: a device's, or the host's where they share it
    // Sets context, step, KV cache and workspace for a memory of `bytes`, of which `fixed` are taken by what has no
    // choice. Returns how many experts fit beside them.
    Wide divide(Wide bytes, Wide fixed, bool larger_steps, const char* place) {
        const Wide base = fixed + kv_bytes(least_context_);
        if (base + workspace_bytes(smallest_step_) > bytes) fail(bytes, fixed, place);

        plan_.context = least_context_;
        plan_.max_step = usual_step_;
        Wide n = 0;
        Wide left = 0;  // after the experts and the workspace
        if (base + workspace_bytes(usual_step_) > bytes) {
            plan_.max_step = largest_step_in(bytes - base);
            add_note(plan_,
                     "Memory is short: prompts are read in steps of " + std::to_string(plan_.max_step) + " tokens.");
            left = bytes - base - workspace_bytes(plan_.max_step);
        } else {
            const Wide all = n_all_ * demand_.expert_bytes;
            const Wide rest = bytes - base;
            if (rest - workspace_bytes(usual_step_) >= all) {
                n = n_all_;
                left = rest - workspace_bytes(usual_step_) - all;
            } else {
                // A tenth of the memory may go into the workspace, since a longer step copies experts less often. The
                // allowance grows with the budget without leaps, and so does the number of experts: more memory never
                // means fewer of them. What the division leaves over goes to the context and then to the step.
                Wide allowance = workspace_bytes(usual_step_);
                if (larger_steps) {
                    allowance = std::clamp(bytes / 10, allowance, workspace_bytes(largest_step_));
                    allowance = std::min(allowance, rest);
                }
                n = (rest - allowance) / demand_.expert_bytes;
                plan_.max_step = larger_steps ? largest_step_in(allowance) : usual_step_;
                left = rest - workspace_bytes(plan_.max_step) - n * demand_.expert_bytes;
            }
        }
        if (wished_context_ > least_context_) {
            plan_.context = std::max(least_context_, longest_context_in(kv_bytes(least_context_) + left));
            left -= kv_bytes(plan_.context) - kv_bytes(least_context_);
            if (plan_.context < wished_context_) {
                add_note(plan_, "The context is " + std::to_string(plan_.context) + " tokens instead of " +
                                    std::to_string(wished_context_) + ", so that more experts fit in " + place +
                                    "; a named context is kept.");
            }
        }
        if (larger_steps && n < n_all_) {
            plan_.max_step = largest_step_in(workspace_bytes(plan_.max_step) + left);
        }
        plan_.kv_bytes = narrow(kv_bytes(plan_.context));
        plan_.workspace_bytes = narrow(workspace_bytes(plan_.max_step));
        return n;
    }

    [[noreturn]] void fail(Wide bytes, Wide fixed, const char* place) const {
        const Wide least = fixed + kv_bytes(least_context_) + workspace_bytes(smallest_step_);
        std::string text =
            "The model does not fit in " + in_words(bytes) + " of " + place + ": " +
            (plan_.host_staging_slots > 0 ? "dense weights and room for experts from disk (" : "dense weights (") +
            format_bytes(narrow(fixed)) + "), the KV cache of " + std::to_string(least_context_) + " tokens (" +
            format_bytes(narrow(kv_bytes(least_context_))) + ") and workspace (" +
            format_bytes(narrow(workspace_bytes(smallest_step_))) + ") need " + in_words(least) + ", " +
            std::to_string(narrow(least - bytes)) + " bytes more.";
        const Wide others = fixed + workspace_bytes(smallest_step_);
        const std::int64_t context = others < bytes ? longest_context_in(bytes - others) : 0;
        if (context > 0) text += " A context of " + std::to_string(context) + " tokens would fit.";
        throw Error(ErrorKind::kOutOfMemory, text);
    }

    static Wide limit(std::uint64_t bytes) { return bytes > 0 ? bytes : std::numeric_limits<std::uint64_t>::max(); }

    // ---- accelerator: VRAM, then RAM, then disk
    void place_on_device() {
        Wide n = divide(limit(budget_.vram_bytes), demand_.dense_bytes, true, "VRAM");
        if (n < n_all_) {
            const Wide slots = std::min(n, static_cast<Wide>(demand_.staging_slots));
            n -= slots;
            plan_.staging_slots = static_cast<std::int64_t>(slots);
            plan_.staging_bytes = narrow(slots * demand_.expert_bytes);
            if (slots == 0)
                add_note(plan_, "No room is left to copy experts on demand: those not on the device run on the CPU.");
            if (kind_ == PlacementKind::kLayers) n -= n % static_cast<Wide>(demand_.n_experts);
        }
        plan_.expert_bytes = narrow(n * demand_.expert_bytes);
        n_resident_ = static_cast<std::size_t>(n);
        for (std::size_t i = 0; i < n_resident_; ++i) plan_.places[order_[i]] = Place::kDevice;
    }

    void place_in_ram() {
        const Wide bytes = limit(budget_.ram_bytes);
        const Wide expert = demand_.expert_bytes;
        const Wide n_misses = n_all_ - n_resident_;
        Wide n = n_misses;
        if (demand_.host_fixed_bytes + n_all_ * expert <= bytes) {
            plan_.ram_bytes = narrow(demand_.host_fixed_bytes + n_all_ * expert);
        } else {
            plan_.duplicates = false;
            n = place_with_disk(bytes, demand_.host_fixed_bytes, n_misses);
            plan_.ram_bytes =
                narrow(demand_.host_fixed_bytes + (n + static_cast<Wide>(plan_.host_staging_slots)) * expert);
        }
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
            plan_.places[order_[n_resident_ + i]] = Place::kRam;
    }

    // ---- CPU: one memory, then disk
    void place_on_host() {
        const Wide bytes = limit(budget_.ram_bytes);
        const Wide expert = demand_.expert_bytes;
        Wide fixed = Wide{demand_.dense_bytes} + demand_.host_fixed_bytes;
        const bool all_fit = fixed + kv_bytes(least_context_) + workspace_bytes(usual_step_) + n_all_ * expert <= bytes;
        if (!all_fit) {
            plan_.host_staging_slots = demand_.n_active;
            fixed += static_cast<Wide>(demand_.n_active) * expert;
        }
        const Wide n = divide(bytes, fixed, false, "RAM");
        if (n < n_all_) note_disk(n_all_ - n);
        plan_.ram_bytes = narrow(fixed + plan_.kv_bytes + plan_.workspace_bytes + n * expert);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) plan_.places[order_[i]] = Place::kRam;
    }

    // How many of `n_wanted` experts get a place in RAM beside `taken`. When not all do, room for a token's experts is
    // kept for those that come from disk.
    Wide place_with_disk(Wide bytes, Wide taken, Wide n_wanted) {
        const Wide expert = demand_.expert_bytes;
        if (taken + n_wanted * expert <= bytes) return n_wanted;
        const auto slots = static_cast<Wide>(demand_.n_active);
        if (taken + slots * expert > bytes) {
            throw Error(ErrorKind::kOutOfMemory,
                        "The model does not fit in " + in_words(bytes) + " of RAM: " +
                            in_words(taken + slots * expert) + " are needed even with the experts on disk, " +
                            std::to_string(narrow(taken + slots * expert - bytes)) + " bytes more.");
        }
        plan_.host_staging_slots = demand_.n_active;
        const Wide n = (bytes - taken) / expert - slots;
        note_disk(n_wanted - n);
        return n;
    }

    void note_disk(Wide n_experts) {
        add_note(plan_, "RAM is short: " + std::to_string(narrow(n_experts)) +
                            " experts are read from disk whenever they are needed.");
    }

    const ModelDemand& demand_;
    const Budget& budget_;
    const Popularity& popularity_;
    const PlacementKind kind_;
    Wide n_all_ = 0;
    std::int64_t wished_context_ = 0, least_context_ = 0;
    std::int64_t largest_step_ = 0, usual_step_ = 0, smallest_step_ = 0;
    std::vector<std::size_t> order_;
    std::size_t n_resident_ = 0;
    Plan plan_;
};

}  // namespace

std::int64_t Plan::n_resident() const {
    return std::count(places.begin(), places.end(), Place::kDevice);
}

Plan make_plan(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind) {
    return Planner(demand, budget, popularity, kind).make();
}

}  // namespace offstage::engine
