#include "engine/run/replanner.h"

#include <algorithm>
#include <utility>

#include "engine/device/counted_bytes.h"
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

constexpr std::size_t kMostReports = 256;

// Measured values, and expected ones where none was measured.
MigrationRates merged(const MigrationRates& measured, MigrationRates expected) {
    for (const auto part : {&MigrationRates::pack_us, &MigrationRates::change_us, &MigrationRates::upload_us}) {
        for (std::size_t f = 0; f < (expected.*part).size(); ++f) {
            if ((measured.*part)[f] > 0) (expected.*part)[f] = (measured.*part)[f];
        }
    }
    return expected;
}

void check_budget(const Budget& budget, const PlanInputs& inputs) {
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
    check_budget(budget, inputs);
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

std::string_view name_of(ReplanState state) {
    static constexpr std::string_view kNames[] = {"waiting", "moving", "done", "cancelled", "superseded", "failed"};
    return kNames[static_cast<std::size_t>(state)];
}

Replanner::Replanner(LoadedModel& model)
    : model_(model),
      migrator_(model.experts(), model.source(), model.device(), model.request().dry),
      in_force_(model.plan()) {}

// A later request adds to the migration under way.
Plan Replanner::base(Plan else_from) const {
    return moving_ && !going_back_.has_value() ? target_ : else_from;
}

std::vector<std::uint8_t> Replanner::pinned() const {
    const ExpertStore& store = model_.experts();
    std::vector<std::uint8_t> pinned(store.size());
    for (std::size_t i = 0; i < pinned.size(); ++i) pinned[i] = store.is_pinned(i);
    return pinned;
}

PlanInputs Replanner::inputs(const MeasuredDecode& measured) const {
    const ArenaUsage ram = model_.ram().usage();
    PlanInputs inputs = model_.plan_inputs();
    inputs.present = {.base = base(in_force_),
                      .in_force = in_force_,
                      .now = now(),
                      .pinned = pinned(),
                      .theta = model_.theta(),
                      .tokens_in_use = tokens_in_use_ ? tokens_in_use_() : 0,
                      .ram_used_bytes = ram.used_bytes,
                      .ram_budget_bytes = ram.budget_bytes,
                      .measured = measured,
                      .migrations = migrator_.rates(idle_)};
    return inputs;
}

std::optional<std::size_t> Replanner::least_popular(const std::function<bool(std::size_t)>& among) const {
    const ExpertStore& store = model_.experts();
    const auto share = [&](std::size_t i) {
        return model_.popularity().share(store.key(i).layer, store.key(i).expert);
    };
    std::optional<std::size_t> least;
    for (std::size_t i = 0; i < store.size(); ++i) {
        if (among(i) && (!least.has_value() || share(i) < share(*least))) least = i;
    }
    return least;
}

// Larger formats of experts need room on the device, and so do staging slots for them:
// the least popular experts leave, the requested ones last, and then slots.
void Replanner::make_fit(Plan& plan, std::span<const std::size_t> wanted) const {
    const ExpertStore& store = model_.experts();
    if (model_.device().shares_host_memory() || plan.budget.vram_bytes == 0) return;
    std::vector<std::uint8_t> is_wanted(store.size());
    for (const std::size_t i : wanted) is_wanted[i] = 1;
    for (;;) {
        plan.expert_bytes = plan.slot_bytes = 0;
        for (std::size_t i = 0; i < store.size(); ++i) {
            const std::uint64_t bytes = counted_bytes(store.expert_bytes(plan.formats[i]));
            plan.slot_bytes = std::max(plan.slot_bytes, bytes);
            if (plan.places[i] == Place::kDevice) plan.expert_bytes += bytes;
        }
        plan.staging_bytes = static_cast<std::uint64_t>(plan.staging_slots) * plan.slot_bytes;
        if (plan.vram_bytes() <= plan.budget.vram_bytes) return;
        const auto may_go = [&](std::size_t i) { return plan.places[i] == Place::kDevice && !store.is_pinned(i); };
        auto least = least_popular([&](std::size_t i) { return is_wanted[i] == 0 && may_go(i); });
        if (!least.has_value()) least = least_popular(may_go);
        if (least.has_value()) {
            plan.places[*least] = Place::kRam;
        } else if (plan.staging_slots > 0) {
            --plan.staging_slots;
        } else {
            return;  // the migration will fail and report it
        }
    }
}

// As many of these as the budget has room for beside those that are there.
void Replanner::take_free_room(Plan& plan, std::span<const std::size_t> experts) const {
    const ExpertStore& store = model_.experts();
    if (model_.device().shares_host_memory() || plan.budget.vram_bytes == 0) return;
    const auto bytes = [&](std::size_t i) { return counted_bytes(store.expert_bytes(plan.formats[i])); };
    plan.expert_bytes = 0;
    for (std::size_t i = 0; i < store.size(); ++i) {
        if (plan.places[i] == Place::kDevice) plan.expert_bytes += bytes(i);
    }
    for (const std::size_t i : experts) {
        if (plan.places[i] == Place::kDevice || plan.vram_bytes() + bytes(i) > plan.budget.vram_bytes) continue;
        plan.places[i] = Place::kDevice;
        plan.expert_bytes += bytes(i);
    }
}

Plan Replanner::now() const {
    Plan plan = in_force_;
    const ExpertStore& store = model_.experts();
    const bool shared = model_.device().shares_host_memory();
    for (std::size_t i = 0; i < store.size(); ++i) {
        plan.places[i] = !shared && store.belongs_on_device(i) ? Place::kDevice
                         : store.in_ram(i)                     ? Place::kRam
                                                               : Place::kDisk;
    }
    plan.formats = store.formats();
    model_.plan_inputs().describe_formats(plan);
    return plan;
}

void Replanner::begin(std::uint64_t id, Plan target, std::int64_t at_token) {
    // The conversation went on while the plan was made.
    const std::int64_t used = tokens_in_use_ ? tokens_in_use_() : 0;
    if (target.context < used) {
        return refuse(id, messages::conversation_outgrew_context(target.context, used), at_token);
    }
    start(id, std::move(target), at_token);
}

void Replanner::refuse(std::uint64_t id, const Message& problem, std::int64_t at_token, ReplanState state) {
    ReplanReport refused;
    refused.id = id;
    refused.at_token = refused.in_force_at_token = at_token;
    refused.state = state;
    refused.problem = problem;
    // Inserted before the running one, which stays the last.
    reports_.insert(moving_ ? reports_.end() - 1 : reports_.end(), std::move(refused));
}

void Replanner::change(std::uint64_t id, ExpertChange::Kind kind, std::span<const std::size_t> experts,
                       kernels::WeightType format, std::int64_t at_token) {
    using Kind = ExpertChange::Kind;
    for (const std::size_t expert : experts) {
        if (kind != Kind::kFormat) model_.experts().set_pinned(expert, kind == Kind::kPin);
    }
    Plan plan = base(now());
    if (plan.formats.empty()) plan.formats = model_.experts().formats();
    switch (kind) {
        case Kind::kPin:
            take_free_room(plan, experts);
            apply_pins(model_.plan_inputs(), pinned(), plan);
            break;
        case Kind::kUnpin:
            break;
        case Kind::kEvict:
            // An expert without a copy in RAM needs one there before it leaves the
            // device.
            for (const std::size_t expert : experts) {
                if (plan.places[expert] == Place::kDevice) plan.places[expert] = Place::kRam;
            }
            break;
        case Kind::kFormat:
            // A file may have different formats in its layers.
            for (const std::size_t expert : experts) {
                plan.formats[expert] =
                    kernels::traits_of(format).is_of_file() ? model_.experts().stored(expert) : format;
            }
            make_fit(plan, experts);
            model_.plan_inputs().describe_formats(plan);
            break;
    }
    start(id, std::move(plan), at_token);
}

void Replanner::start(std::uint64_t id, Plan target, std::int64_t at_token) {
    if (moving_) end(going_back_.value_or(ReplanState::kSuperseded), problem_);
    target_ = std::move(target);
    ReplanReport fresh;
    fresh.id = id;
    fresh.state = ReplanState::kMoving;
    fresh.at_token = at_token;
    const bool shared = model_.device().shares_host_memory();
    fresh.resident_experts = target_.n_in(shared ? Place::kRam : Place::kDevice);
    fresh.mean_bits = target_.mean_bits;
    fresh.context = target_.context;
    fresh.vram_bytes = shared ? 0 : target_.budget.vram_bytes;
    fresh.ram_bytes = target_.budget.ram_bytes;
    reports_.push_back(std::move(fresh));
    if (reports_.size() > kMostReports) reports_.pop_front();
    started_us_ = migrator_.now_us();
    at_token_ = at_token;
    problem_ = {};
    going_back_.reset();
    model_.source().take_cache_problem();
    start_moving();
    report().requested = migrator_.progress().requested;
    report().bytes_requested = migrator_.progress().bytes_requested;
}

void Replanner::start_moving() {
    moving_ = true;
    moving_since_us_ = migrator_.now_us();
    model_.runtime().set_resting(true);
    model_.kv().drop_prepared();  // of the plan before
    try {
        model_.runtime().shorten_steps(target_);
        model_.grow_for(target_);
        migrator_.begin(target_);
        const PlanInputs& inputs = model_.plan_inputs();
        const QuantizingSpeeds* const speeds = inputs.quantizing_speeds ? &*inputs.quantizing_speeds : nullptr;
        expected_ = merged(migrator_.rates(idle_), inputs.migration_rates(speeds));
        const MigrationWork& work = migrator_.progress().work;
        pace_.begin(us_of(work, expected_, {}), work.copies);
        paced_ = {};
        phase_ = model_.runtime().frees_device_of_kv(target_) ? Phase::kFreeing : Phase::kExperts;
    } catch (const Error& error) {
        go_back(going_back_.value_or(ReplanState::kFailed), error.message());
    }
}

void Replanner::cancel() {
    if (moving_ && !going_back_.has_value()) go_back(ReplanState::kCancelled, {});
}

void Replanner::go_back(ReplanState because, const Message& problem) {
    const bool again = going_back_.has_value();
    if (!again) {
        going_back_ = because;
        problem_ = problem;
        report().visible = migrator_.progress().visible;
        report().bytes_moved = migrator_.progress().bytes_moved;
    } else {
        keep_current_plan(problem);
        return;
    }
    target_ = in_force_;
    start_moving();
}

// The way back failed as well: every expert has a whole copy somewhere, and that state is
// the plan from now on. Copies on the device that do not fit the old budgets are dropped.
void Replanner::keep_current_plan(const Message& problem) {
    problem_ = joined(std::move(problem_), messages::going_back_failed(problem));
    migrator_.stop();
    in_force_ = now();
    try {
        while (!model_.runtime().resize_kv(in_force_)) model_.kv().wait_for_memory();
    } catch (const Error&) {  // answers end where its blocks do
    }
    release_to_budget();
    in_force_ = now();
    in_force_.max_step = model_.forward().reserved_step();
    end(*going_back_, problem_);
}

// Back to the budgets in force by giving up copies of experts that have another.
void Replanner::release_to_budget() {
    ExpertStore& experts = model_.experts();
    const bool shared = model_.device().shares_host_memory();
    experts.settle();
    const auto trim = [&](Arena& arena, std::uint64_t& budget_bytes, const auto& drop) {
        if (budget_bytes == 0) return;  // no limit
        while (arena.usage().used_bytes > budget_bytes) {
            const auto least =
                least_popular([&](std::size_t i) { return !shared && experts.on_device(i) && experts.in_ram(i); });
            if (!least.has_value()) break;
            drop(*least);
            experts.settle();
        }
        budget_bytes = std::max(budget_bytes, arena.usage().used_bytes);
        if (budget_bytes < arena.usage().budget_bytes) arena.set_budget(budget_bytes);
    };
    if (!shared)
        trim(model_.device().memory(), in_force_.budget.vram_bytes, [&](std::size_t i) { experts.drop_device(i); });
    trim(model_.ram(), in_force_.budget.ram_bytes, [&](std::size_t i) { experts.drop_ram(i); });
}

void Replanner::between_layers() {
    if (moving_ && phase_ == Phase::kExperts) migrator_.advance(Migrator::When::kBetweenLayers);
}

void Replanner::between_steps(std::int64_t at_token) {
    idle_ = false;
    if (!moving_) return;
    at_token_ = at_token;
    advance(Migrator::When::kBetweenSteps);
}

void Replanner::move_idle(std::int64_t at_token) {
    idle_ = true;
    if (!moving_) return;
    at_token_ = at_token;
    advance(Migrator::When::kIdle);
    if (!moving_) return;
    if (phase_ == Phase::kExperts) {
        migrator_.wait(model_.pool());
    } else {
        model_.kv().wait_for_memory();
    }
}

void Replanner::finish(const std::stop_token& stop) {
    while (moving_ && !stop.stop_requested()) move_idle(at_token_);
}

void Replanner::advance(Migrator::When when) {
    if (phase_ != Phase::kExperts) return resize_kv();
    migrator_.advance(when);
    if (migrator_.state() == MigrationState::kFailed) {
        go_back(ReplanState::kFailed, migrator_.problem());
        return;
    }
    report_progress();
    if (migrator_.state() == MigrationState::kDone) phase_ = Phase::kKvCache;
}

void Replanner::report_progress() {
    const MigrationProgress& progress = migrator_.progress();
    const double elapsed_us = migrator_.now_us() - moving_since_us_;
    if (!going_back_.has_value()) {
        report().visible = progress.visible;
        report().bytes_moved = progress.bytes_moved;
        report().seconds = elapsed_us / 1e6;
    }
    const MigrationRates& measured = migrator_.rates(idle_);
    // Of rates that were measured only, those beside answers and the others differ much.
    const double done_us = us_of(progress.done - paced_, expected_, measured);
    pace_.advance(done_us, elapsed_us, idle_);
    if (done_us > 0) paced_ = progress.done;  // otherwise no rate is known yet
    report().seconds_left = pace_.seconds(us_of(progress.work - progress.done, expected_, measured));
}

void Replanner::resize_kv() {
    try {
        if (!model_.runtime().resize_kv(target_)) return;
    } catch (const Error& error) {
        // Its blocks may find room in RAM when experts have left that.
        if (phase_ != Phase::kFreeing || error.kind() != ErrorKind::kOutOfMemory) {
            go_back(ReplanState::kFailed, error.message());
            return;
        }
    }
    if (phase_ == Phase::kFreeing) {
        phase_ = Phase::kExperts;
    } else {
        settle();
    }
}

void Replanner::settle() {
    const std::int64_t used = tokens_in_use_ ? tokens_in_use_() : 0;
    if (target_.context < used && !going_back_.has_value()) {
        go_back(ReplanState::kFailed, messages::conversation_outgrew_context(target_.context, used));
        return;
    }
    try {
        model_.runtime().put_in_force(target_);
    } catch (const Error& error) {
        go_back(ReplanState::kFailed, error.message());
        return;
    }
    in_force_ = target_;
    end(going_back_.value_or(ReplanState::kDone), problem_);
}

void Replanner::end(ReplanState state, const Message& problem) {
    ReplanReport& last = report();
    last.state = state;
    last.problem = problem;
    last.note = model_.source().take_cache_problem();
    last.seconds_left = 0;
    last.cancelled = last.requested - last.visible;
    last.in_force_at_token = at_token_;
    last.seconds = (migrator_.now_us() - started_us_) / 1e6;
    moving_ = false;
    going_back_.reset();
    migrator_.stop();
    model_.runtime().set_resting(false);
}

}  // namespace offstage::engine
