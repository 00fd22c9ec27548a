#include "engine/run/replan_plan.h"

#include <algorithm>
#include <utility>

#include "engine/device/device_messages.h"
#include "engine/device/host_buffer.h"
#include "engine/device/memory_size.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/plan/calibration.h"
#include "engine/plan/planner.h"
#include "engine/run/load_planner.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

void check(const Budget& budget, const PlanInputs& inputs) {
    const PlanInputs::Present& present = *inputs.present;
    if (!inputs.demand.shares_host_memory) {
        check_vram_budget(inputs.device.name, budget.vram_bytes, inputs.device.available_bytes);
    }
    if (budget.ram_bytes == 0 || inputs.dry) return;
    MemorySize memory = memory_size();
    memory.available_bytes += static_cast<std::int64_t>(present.ram_used_bytes);
    const auto most = static_cast<std::uint64_t>(memory.available_bytes);
    if (budget.ram_bytes > std::max(most, present.ram_budget_bytes)) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::ram_budget_not_there(ByteSize{budget.ram_bytes}, free_memory_text(memory)));
    }
}

// From the present places to the preview's plan.
void add_transition(const PlanInputs& inputs, ReplanPreview& preview) {
    const Transition change = transition(inputs.present->now, preview.plan, inputs.demand);
    std::optional<QuantizingSpeeds> speeds;
    if (change.quantized > 0 && !inputs.dry) {
        const MeasurementStore cache(inputs.calibrations);
        speeds = inputs.quantizing_speeds;
        if (!speeds) speeds = quantizing_speeds(inputs.demand.hidden_dim, cache, {});
        if (preview.plan.note.empty()) preview.plan.note = cache.problem();
    }
    preview.bytes_to_move = change.bytes_to_move;
    const MigrationRates expected = inputs.migration_rates(speeds ? &*speeds : nullptr);
    preview.seconds = us_of(change.work, inputs.present->migrations, expected) / 1e6;
    preview.quantized = change.quantized;
    const MigrationRates& measured = inputs.present->migrations;
    preview.was_timed = true;
    for (const auto& [counts, rates] : kMigrationKinds) {
        for (std::size_t f = 0; f < (measured.*rates).size(); ++f) {
            if ((change.work.*counts)[f] > 0 && !((measured.*rates)[f] > 0)) preview.was_timed = false;
        }
    }
}

}  // namespace

Plan replanned(const PlanInputs& inputs, const ReplanRequest& request) {
    const PlanInputs::Present& present = *inputs.present;
    const Plan& in_force = present.in_force;
    const std::int64_t tokens_in_use = present.tokens_in_use;
    if (request.quality.has_value() && request.experts.has_value()) {
        throw Error(ErrorKind::kInvalidInput, messages::format_and_quality_in_replan);
    }
    Budget budget = present.base.budget;
    if (request.vram_bytes.has_value()) {
        if (inputs.demand.shares_host_memory) {
            throw Error(ErrorKind::kInvalidInput, messages::vram_budget_without_gpu_now);
        }
        budget.vram_bytes = *request.vram_bytes;
    }
    if (request.ram_bytes.has_value()) budget.ram_bytes = *request.ram_bytes;
    if (request.context.has_value()) {
        if (*request.context < tokens_in_use || *request.context > kLargestContext || *request.context < 1) {
            throw Error(ErrorKind::kInvalidInput,
                        messages::context_impossible(*request.context, tokens_in_use, kLargestContext));
        }
        const std::int64_t limit = inputs.demand.short_context;
        if (limit > 0 && (*request.context > limit) != (in_force.context > limit)) {
            throw Error(ErrorKind::kUnsupported, messages::positions_change_beyond(limit, *request.context));
        }
        budget.context = *request.context;
    }
    if (request.kept_context.has_value()) {
        check_kept_context(*request.kept_context);
        budget.kept_context = *request.kept_context;
    }
    if (request.kv.has_value()) budget.kv = *request.kv;
    if (request.quality.has_value()) {
        budget.quality = *request.quality;
        budget.uniform.reset();
    }
    if (request.experts.has_value()) {
        budget.quality = {};
        budget.uniform = request.experts;
    }
    check(budget, inputs);
    PlanInputs asked = inputs;
    ModelDemand& model = asked.demand;
    model = model.with_kv(budget.kv);
    model.kept_context = budget.kept_context.value_or(model.kept_context);
    Budget wanted = budget;
    wanted.theta.reset();
    if (!request.chooses_theta) wanted.theta = request.theta.value_or(present.theta);
    // On a device the present context, whose last blocks may be in RAM; on the CPU the
    // context that a load would choose, with room for the tokens in use. Steps are as in
    // a request without a context.
    if (wanted.context == 0) {
        wanted.largest_step = kShortestContext;
        if (!model.shares_host_memory) {
            wanted.context = in_force.context;
        } else if (in_force.context > model.short_context) {
            wanted.least_context = std::max(tokens_in_use, model.short_context + 1);
        } else {  // positions stay what they are
            model.max_context = std::min(model.max_context, model.short_context);
            wanted.least_context = tokens_in_use;
        }
    }
    model.max_context = std::max(model.max_context, wanted.context);
    Plan target = make_plan(asked, wanted, placement_for(inputs.decode));
    target.budget = budget;
    apply_pins(inputs, present.pinned, target);
    return target;
}

ReplanPreview preview_of(const PlanInputs& inputs, const ReplanRequest& request, ForecastError* error) {
    const PlanInputs::Present& present = *inputs.present;
    ReplanPreview preview;
    preview.plan = replanned(inputs, request);
    PlanInputs after = inputs;
    const std::optional<ThetaChoice>& theta_after =
        request.chooses_theta && preview.plan.theta ? preview.plan.theta : request.theta;
    if (theta_after) after.set_theta(*theta_after);
    preview.before = inputs.forecast(present.now);
    preview.after = after.forecast(preview.plan);
    const ForecastError corrected =
        correct(preview.before, preview.after, present.measured, error != nullptr ? *error : ForecastError());
    if (error != nullptr) *error = corrected;
    preview.measured_steps = present.measured.n_steps;
    add_transition(inputs, preview);
    return preview;
}

void apply_pins(const PlanInputs& inputs, const std::vector<std::uint8_t>& pinned, Plan& plan) {
    const auto bytes = [&](std::size_t i) { return inputs.demand.bytes_of(plan.format(i, inputs.master)); };
    const auto least = [&](std::uint64_t least_bytes) {
        std::optional<std::size_t> found;
        for (std::size_t j = 0; j < plan.places.size(); ++j) {
            if (plan.places[j] != Place::kDevice || pinned[j] != 0 || bytes(j) < least_bytes) continue;
            if (!found.has_value() || inputs.share(j) < inputs.share(*found)) found = j;
        }
        return found;
    };
    bool formats_changed = false;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        if (pinned[i] == 0 || plan.places[i] == Place::kDevice) continue;
        std::optional<std::size_t> other = least(bytes(i));
        if (!other.has_value()) {
            // All experts at that place have fewer bits: the two experts exchange their
            // formats too.
            other = least(0);
            if (!other.has_value()) continue;
            std::swap(plan.formats[i], plan.formats[*other]);
            formats_changed = true;
        }
        std::swap(plan.places[i], plan.places[*other]);
    }
    if (formats_changed) inputs.describe_formats(plan);
}

}  // namespace offstage::engine
