#include "engine/run/replanner.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "engine/plan/forecast.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostReports = 256;
constexpr std::int64_t kPreviewPrompt = 512;  // tokens

}  // namespace

std::string_view name_of(ReplanState state) {
    switch (state) {
        case ReplanState::kWaiting:
            return "waiting";
        case ReplanState::kMoving:
            return "moving";
        case ReplanState::kDone:
            return "done";
        case ReplanState::kCancelled:
            return "cancelled";
        case ReplanState::kSuperseded:
            return "superseded";
        case ReplanState::kFailed:
            return "failed";
    }
    return "?";
}

Replanner::Replanner(LoadedModel& model)
    : model_(model),
      migrator_(model.experts(), model.source(), model.device(), model.request().dry),
      in_force_(model.plan()),
      budget_(model.budget()),
      uniform_(model.request().quant.experts) {}

Replanner::Target Replanner::target_of(const ReplanRequest& request) const {
    if (request.quality.has_value() && request.experts.has_value()) {
        throw Error(ErrorKind::kInvalidInput,
                    "A re-plan names one format for all experts and a floor of quality as well; choose one of them.");
    }
    // What is asked for later adds to what is on its way.
    Target target = moving_ && !going_back_.has_value() ? target_ : Target{in_force_, budget_, uniform_};
    const bool shared = model_.device().shares_host_memory();
    if (request.vram_bytes.has_value()) {
        if (shared) {
            throw Error(ErrorKind::kInvalidInput, "A VRAM budget was given, but the device is the CPU; name RAM.");
        }
        target.budget.vram_bytes = *request.vram_bytes;
    }
    if (request.ram_bytes.has_value()) target.budget.ram_bytes = *request.ram_bytes;
    if (request.context.has_value()) {
        const std::int64_t used = tokens_in_use_ ? tokens_in_use_() : 0;
        if (*request.context < used || *request.context > kLargestContext || *request.context < 1) {
            throw Error(ErrorKind::kInvalidInput, "A context of " + std::to_string(*request.context) +
                                                      " tokens is not possible: the conversation holds " +
                                                      std::to_string(used) + ", and the most is " +
                                                      std::to_string(kLargestContext) + ".");
        }
        target.budget.context = *request.context;
    }
    if (request.quality.has_value()) {
        target.budget.quality = *request.quality;
        target.uniform.reset();
    }
    if (request.experts.has_value()) {
        target.budget.quality = {};
        target.uniform = request.experts;
    }
    model_.check_budget(target.budget);
    target.plan = model_.replan_for(target.budget, target.uniform, in_force_.context);
    honour_pins(target.plan);
    return target;
}

// An expert that a person keeps on the device takes the place of the least popular one of its size.
void Replanner::honour_pins(Plan& plan) const {
    ExpertStore& store = model_.experts();
    const auto format = [&](std::size_t i) { return plan.formats.empty() ? store.master_type() : plan.formats[i]; };
    for (std::size_t i = 0; i < store.size(); ++i) {
        if (!store.is_pinned(i) || plan.places[i] == Place::kDevice) continue;
        std::size_t least = store.size();
        for (std::size_t j = 0; j < store.size(); ++j) {
            if (plan.places[j] != Place::kDevice || store.is_pinned(j)) continue;
            if (store.expert_bytes(format(j)) < store.expert_bytes(format(i))) continue;
            const auto share = [&](std::size_t e) {
                return model_.popularity().share(store.key(e).layer, store.key(e).expert);
            };
            if (least == store.size() || share(j) < share(least)) least = j;
        }
        if (least < store.size()) std::swap(plan.places[i], plan.places[least]);
    }
}

ReplanPreview Replanner::preview(const ReplanRequest& request) {
    ReplanPreview preview;
    preview.plan = target_of(request).plan;
    const Plan now = plan_as_it_is();
    const DispatchSettings& dispatch = model_.dispatcher().settings();
    const auto forecast_of = [&](const Plan& plan) {
        return forecast(plan, model_.demand(), model_.popularity(), model_.cost(), dispatch.prefill, dispatch.decode,
                        kPreviewPrompt);
    };
    const Forecast before = forecast_of(now);
    const Forecast after = forecast_of(preview.plan);
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
    model_.estimate_transition(now, preview.plan, preview);
    return preview;
}

// The plan with the places and formats that are in force this moment.
Plan Replanner::plan_as_it_is() const {
    Plan plan = in_force_;
    const ExpertStore& store = model_.experts();
    const bool shared = model_.device().shares_host_memory();
    for (std::size_t i = 0; i < store.size(); ++i) {
        plan.places[i] = !shared && store.belongs_on_device(i) ? Place::kDevice : store.in_ram(i) ? Place::kRam : Place::kDisk;
    }
    plan.formats = store.formats();
    model_.describe_formats(plan);
    return plan;
}

void Replanner::begin(std::uint64_t id, const ReplanRequest& request, std::int64_t at_token) {
    Target target;
    try {
        target = target_of(request);
    } catch (const Error& error) {
        ReplanReport failed;
        failed.id = id;
        failed.at_token = failed.in_force_at_token = at_token;
        failed.state = ReplanState::kFailed;
        failed.problem = error.what();
        // Before the one that is under way, which stays the last.
        reports_.insert(moving_ ? reports_.end() - 1 : reports_.end(), std::move(failed));
        return;
    }
    start(id, std::move(target), at_token);
}

void Replanner::pin(std::uint64_t id, std::size_t expert, bool pinned, std::int64_t at_token) {
    model_.experts().set_pinned(expert, pinned);
    Target target = moving_ && !going_back_.has_value() ? target_ : Target{plan_as_it_is(), budget_, uniform_};
    if (pinned) honour_pins(target.plan);
    start(id, std::move(target), at_token);
}

void Replanner::evict(std::uint64_t id, std::size_t expert, std::int64_t at_token) {
    model_.experts().set_pinned(expert, false);
    Target target = moving_ && !going_back_.has_value() ? target_ : Target{plan_as_it_is(), budget_, uniform_};
    // Without a copy in RAM it goes to where the plan's duplicates do not: RAM takes it.
    if (target.plan.places[expert] == Place::kDevice) target.plan.places[expert] = Place::kRam;
    start(id, std::move(target), at_token);
}

void Replanner::set_format(std::uint64_t id, std::size_t expert, kernels::WeightType format, std::int64_t at_token) {
    Target target = moving_ && !going_back_.has_value() ? target_ : Target{plan_as_it_is(), budget_, uniform_};
    if (target.plan.formats.empty()) target.plan.formats = model_.experts().formats();
    target.plan.formats[expert] = format;
    model_.describe_formats(target.plan);
    start(id, std::move(target), at_token);
}

void Replanner::start(std::uint64_t id, Target target, std::int64_t at_token) {
    if (moving_) end(going_back_.value_or(ReplanState::kSuperseded), problem_);
    target_ = std::move(target);
    ReplanReport fresh;
    fresh.id = id;
    fresh.state = ReplanState::kMoving;
    fresh.at_token = at_token;
    fresh.resident_experts = target_.plan.n_resident();
    fresh.mean_bits = target_.plan.mean_bits;
    fresh.context = target_.plan.context;
    fresh.vram_bytes = target_.budget.vram_bytes;
    fresh.ram_bytes = target_.budget.ram_bytes;
    reports_.push_back(std::move(fresh));
    if (reports_.size() > kMostReports) reports_.pop_front();
    started_us_ = model_.device().now_us();
    at_token_ = at_token;
    problem_.clear();
    going_back_.reset();
    start_moving();
    report().requested = migrator_.progress().requested;
    report().bytes_requested = migrator_.progress().bytes_requested;
}

void Replanner::start_moving() {
    moving_ = true;
    model_.set_resting(true);
    try {
        model_.make_room_for(target_.plan, target_.budget);
        migrator_.begin(target_.plan);
    } catch (const Error& error) {
        go_back(ReplanState::kFailed, error.what());
    }
}

void Replanner::cancel() {
    if (moving_ && !going_back_.has_value()) go_back(ReplanState::kCancelled, "");
}

void Replanner::go_back(ReplanState because, const std::string& problem) {
    const bool again = going_back_.has_value();
    if (!again) {
        going_back_ = because;
        problem_ = problem;
        report().visible = migrator_.progress().visible;
        report().bytes_moved = migrator_.progress().bytes_moved;
    } else {
        // Not even the way back is open: what is in force fits, and stays.
        problem_ += (problem_.empty() ? "" : " ") + std::string("Going back failed as well: ") + problem;
        in_force_ = plan_as_it_is();
        migrator_.stop();
        end(*going_back_, problem_);
        return;
    }
    target_ = {in_force_, budget_, uniform_};
    try {
        model_.make_room_for(target_.plan, target_.budget);
        migrator_.begin(target_.plan);
    } catch (const Error& error) {
        go_back(because, error.what());
    }
}

void Replanner::between_layers() {
    if (moving_) migrator_.advance(Migrator::When::kBetweenLayers);
}

void Replanner::between_steps(std::int64_t at_token) {
    if (!moving_) return;
    at_token_ = at_token;
    migrator_.advance(Migrator::When::kBetweenSteps);
    settle();
}

void Replanner::finish(const std::stop_token& stop) {
    while (moving_ && !stop.stop_requested()) {
        migrator_.advance(Migrator::When::kIdle);
        settle();
        if (moving_ && migrator_.moving()) migrator_.wait();
    }
}

void Replanner::settle() {
    if (migrator_.state() == MigrationState::kFailed) {
        go_back(ReplanState::kFailed, migrator_.problem());
        return;
    }
    if (!going_back_.has_value()) {
        report().visible = migrator_.progress().visible;
        report().bytes_moved = migrator_.progress().bytes_moved;
    }
    if (migrator_.state() != MigrationState::kDone) return;
    const std::int64_t used = tokens_in_use_ ? tokens_in_use_() : 0;
    if (target_.plan.context < used && !going_back_.has_value()) {
        go_back(ReplanState::kFailed, "The conversation has outgrown a context of " +
                                          std::to_string(target_.plan.context) + " tokens: it holds " +
                                          std::to_string(used) + ".");
        return;
    }
    try {
        model_.put_in_force(target_.plan, target_.budget);
    } catch (const Error& error) {
        go_back(ReplanState::kFailed, error.what());
        return;
    }
    in_force_ = target_.plan;
    budget_ = target_.budget;
    uniform_ = target_.uniform;
    end(going_back_.value_or(ReplanState::kDone), problem_);
}

void Replanner::end(ReplanState state, const std::string& problem) {
    ReplanReport& last = report();
    last.state = state;
    last.problem = problem;
    last.cancelled = last.requested - last.visible;
    last.in_force_at_token = at_token_;
    last.seconds = (model_.device().now_us() - started_us_) / 1e6;
    moving_ = false;
    going_back_.reset();
    migrator_.stop();
    model_.set_resting(false);
}

}  // namespace offstage::engine
