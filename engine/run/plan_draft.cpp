#include "engine/run/plan_draft.h"

#include <algorithm>
#include <utility>

#include "engine/device/device_messages.h"
#include "engine/device/host_buffer.h"
#include "engine/device/memory_size.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/plan/forecast.h"
#include "engine/plan/measured_forecast.h"
#include "engine/run/load_planner.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
PlanTarget PlanDraft::plan(const ReplanRequest& request) const {
    if (request.quality.has_value() && request.experts.has_value()) {
        throw Error(ErrorKind::kInvalidInput, messages::format_and_quality_in_replan);
    }
    PlanTarget target = base;
    if (request.vram_bytes.has_value()) {
        if (basis.demand.shares_host_memory) {
            throw Error(ErrorKind::kInvalidInput, messages::vram_budget_without_gpu_now);
        }
        target.budget.vram_bytes = *request.vram_bytes;
    }
    if (request.ram_bytes.has_value()) target.budget.ram_bytes = *request.ram_bytes;
    if (request.context.has_value()) {
        if (*request.context < tokens_in_use || *request.context > kLargestContext || *request.context < 1) {
            throw Error(ErrorKind::kInvalidInput,
                        messages::context_impossible(*request.context, tokens_in_use, kLargestContext));
        }
        const std::int64_t limit = basis.demand.short_context;
        if (limit > 0 && (*request.context > limit) != (in_force.context > limit)) {
            throw Error(ErrorKind::kUnsupported, messages::positions_change_beyond(limit, *request.context));
        }
        target.budget.context = *request.context;
    }
    if (request.kept_context.has_value()) {
        check_kept_context(*request.kept_context);
        target.budget.kept_context = *request.kept_context;
    }
    if (request.kv.has_value()) target.budget.kv = *request.kv;
    if (request.quality.has_value()) {
        target.budget.quality = *request.quality;
        target.uniform.reset();
    }
    if (request.experts.has_value()) {
        target.budget.quality = {};
        target.uniform = request.experts;
    }
    check(target.budget);
    const std::optional<ThetaChoice> kept = request.theta.has_value() ? *request.theta : theta;
    target.plan = basis.replan_for(in_force, target.budget, tokens_in_use, target.uniform,
                                   request.chooses_theta ? std::nullopt : kept);
    honour_pins(basis, pinned, target.plan);
    return target;
}

void PlanDraft::check(const Budget& budget) const {
    if (!basis.demand.shares_host_memory) check_vram_budget(device, budget.vram_bytes, device_bytes);
    if (budget.ram_bytes > 0 && !basis.dry) {
        MemorySize memory = memory_size();
        memory.available_bytes += static_cast<std::int64_t>(ram_used_bytes);
        const auto most = static_cast<std::uint64_t>(memory.available_bytes);
        if (budget.ram_bytes > std::max(most, ram_budget_bytes)) {
            throw Error(ErrorKind::kInvalidInput,
                        messages::ram_budget_not_there(ByteSize{budget.ram_bytes}, free_memory_text(memory)));
        }
    }
}

ReplanPreview PlanDraft::preview(const ReplanRequest& request) const {
    ReplanPreview preview;
    preview.plan = plan(request).plan;
    const auto forecast_of = [&](const Plan& which, const CostModel& cost) {
        return forecast(which, basis.demand, basis.popularity, cost, prefill, decode, kForecastPrompt);
    };
    CostModel cost_after = basis.cost;
    if (request.chooses_theta && preview.plan.theta.has_value()) {
        basis.set_theta(cost_after, *preview.plan.theta);
    } else if (request.theta.has_value()) {
        basis.set_theta(cost_after, *request.theta);
    }
    Forecast before = forecast_of(now, basis.cost);
    Forecast after = forecast_of(preview.plan, cost_after);
    correct(before, after, measured);
    preview.measured_steps = measured.n_steps;
    preview.tokens_per_s_before = before.decode_tokens_per_s;
    preview.tokens_per_s_after = after.decode_tokens_per_s;
    preview.ttft_s_before = before.ttft_s;
    preview.ttft_s_after = after.ttft_s;
    preview.hit_rate_before = before.hit_rate;
    preview.hit_rate_after = after.hit_rate;
    preview.mean_bits_before = now.mean_bits;
    preview.mean_bits_after = preview.plan.mean_bits;
    preview.predicted_loss_before = now.predicted_loss;
    preview.predicted_loss_after = preview.plan.predicted_loss;
    basis.estimate_transition(now, preview.plan, migrations, preview);
    return preview;
}

void honour_pins(const PlanBasis& basis, const std::vector<std::uint8_t>& pinned, Plan& plan) {
    const auto bytes = [&](std::size_t i) { return basis.expert_bytes(plan.format(i, basis.master)); };
    const auto least = [&](std::uint64_t least_bytes) {
        std::optional<std::size_t> found;
        for (std::size_t j = 0; j < plan.places.size(); ++j) {
            if (plan.places[j] != Place::kDevice || pinned[j] != 0 || bytes(j) < least_bytes) continue;
            if (!found.has_value() || basis.share(j) < basis.share(*found)) found = j;
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
    if (formats_changed) basis.describe_formats(plan);
}

}  // namespace offstage::engine
