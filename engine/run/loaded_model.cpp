#include "engine/run/loaded_model.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "engine/device/hardware.h"
#include "engine/error.h"
#include "engine/model/file_formats.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/print.h"
#include "engine/quant/quantize_dense.h"
#include "engine/run/measurements.h"
#include "engine/run/model_shape.h"
#include "engine/run/model_text.h"
#include "engine/run/moe_layer.h"
#include "engine/run/run_messages.h"
#include "engine/run/template_choice.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kHabitTokens = 16;  // fewer tokens are not worth a file

// Passes progress on at most about 30 times a second, and always the end.
BytesProgressFn throttled(const LoadProgressFn& progress, Message stage) {
    if (!progress) return {};
    return [&progress, stage = std::move(stage), last = Clock::time_point{}](std::uint64_t done,
                                                                             std::uint64_t total) mutable {
        const auto now = Clock::now();
        if (done < total && now - last < std::chrono::milliseconds(33)) return;
        last = now;
        progress({stage, done, total});
    };
}

}  // namespace

std::shared_ptr<TextOfModel> LoadedModel::open_text(const LoadRequest& request, Text text) {
    if (text == Text::kNotNeeded || is_synthetic(request.model) || request.dry) {
        return std::make_shared<TextOfModel>();
    }
    const std::filesystem::path directory = model_path(request.model);
    auto files = std::make_shared<TextOfModel>();
    files->tokenizer = Tokenizer::open(directory, read_model_spec(directory).vocab_size);
    TemplateChoice choice = choose_chat_template(request.model, request.chat_template, *files->tokenizer);
    files->chat_template = std::move(choice.chat);
    files->template_note = std::move(choice.note);
    files->defaults = read_model_defaults(request.model);
    if (files->chat_template != nullptr) {
        const Tokenizer& tokenizer = *files->tokenizer;
        const auto name = [&](TokenId token) { return token < 0 ? std::string() : tokenizer.piece_name(token); };
        files->thinking = find_thinking_format(*files->chat_template, tokenizer);
        files->thinking_choices =
            find_thinking_choices(*files->chat_template, {name(tokenizer.bos()), name(tokenizer.eos())});
    }
    return files;
}

LoadedModel::LoadedModel(const LoadRequest& request, Text text, const LoadProgressFn& progress,
                         const std::stop_token& stop)
    : LoadedModel(Clock::now(), open_text(request, text), open_model_drafter(request, progress, stop), request,
                  progress, stop) {}

LoadedModel::~LoadedModel() = default;

std::unique_ptr<ModelDrafter> LoadedModel::open_model_drafter(const LoadRequest& request,
                                                              const LoadProgressFn& progress,
                                                              const std::stop_token& stop) {
    if (request.draft_model.empty() || request.drafts == DraftMode::kOff) return nullptr;
    return std::make_unique<ModelDrafter>(request, progress, stop);
}

LoadedModel::LoadedModel(Clock::time_point start, std::shared_ptr<TextOfModel> text,
                         std::unique_ptr<ModelDrafter> model_drafter, const LoadRequest& request,
                         const LoadProgressFn& progress, const std::stop_token& stop)
    : ExpertHost(request, progress, stop), model_drafter_(std::move(model_drafter)), text_(std::move(text)) {
    if (model_drafter_ != nullptr) model_drafter_->require_tokens_of(*this);
    text_->name = name();
    text_->vocab_size = spec().vocab_size;
    text_->eos_tokens = spec().eos_tokens;
    ModelText(*text_).require(request.text_needs);
    summary_.notes = notes();
    if (tokenizer() != nullptr) {
        const auto& of_tokenizer = tokenizer()->notes();
        summary_.notes.insert(summary_.notes.end(), of_tokenizer.begin(), of_tokenizer.end());
    }
    read_thresholds();
    opened_theta_ = request.theta_choice();
    thetas_ = thetas_of(opened_theta_);  // refused before anything is measured
    plan_inputs().thresholds = summary_.thresholds;
    describe_load(request, defaults().context);
    Measurements measurements = this->measurements();
    Plan plan = plan_within_memory(measurements, progress, stop);
    if (plan.theta) {
        opened_theta_ = *plan.theta;
        thetas_ = thetas_of(opened_theta_);
    }
    const MeasurementStore& kept = measurements.kept();
    if (!kept.problem().empty()) summary_.notes.push_back(kept.problem());
    summary_.notes.insert(summary_.notes.end(), kept.notes().begin(), kept.notes().end());
    WeightSource& master = source().master();
    master.watch(throttled(progress, directory().empty() ? messages::drawing_weights : messages::packing_weights),
                 stop);
    DenseWeights dense = master.load_dense(ram());
    if (request.quant.dense) quantize_dense(dense, *request.quant.dense, ram(), pool(), stop);
    const std::uint64_t dense_bytes = dense.bytes(), dense_read_bytes = dense.decode_bytes();
    DeviceWeights weights(std::move(dense), spec().n_layers(), device(), host());
    fill(plan);
    const std::uint64_t planned_ram = plan.budget.ram_bytes;
    master.watch({}, {});
    runtime_.emplace(*this, std::move(weights), dense_read_bytes, std::move(plan));
    open_layer_drafter();
    use_theta({});
    device().memory().fail_allocation(0);
    ram().fail_allocation(0);
    device().fail_copy(0);
    // An emulated device's memory is a part of the RAM that was free, and so of the
    // arena's budget until here.
    if (planned_ram > 0) ram().lower_budget(planned_ram);
    describe(dense_bytes);
    summary_.load_s = std::chrono::duration<double>(Clock::now() - start).count();
}

// Without the layer that drafts where there is no room for it beside all experts, unless
// it must be used.
Plan LoadedModel::plan_within_memory(Measurements& measurements, const LoadProgressFn& progress,
                                     const std::stop_token& stop) {
    const LoadRequest& request = this->request();
    const auto plan = [&] {
        return plan_load(
            plan_inputs(), spec().experts,
            [&](const Plan& first) {
                note_memory(first, progress);
                device().memory().fail_allocation(request.drill.device_allocation);
                if (request.drill.ram_allocation > 0) ram().fail_allocation(request.drill.ram_allocation);
                device().fail_copy(request.drill.copy);
                return costs_for(first, measurements, progress, stop);
            },
            [&] { return measurements.disk(source().master(), host(), stop); });
    };
    if (prediction_layer() == nullptr || request.drafts == DraftMode::kAlways) return plan();
    const std::vector<Message> notes = summary_.notes;
    Message why = messages::prediction_layer_needs_room;
    try {
        Plan with = plan();
        if (with.n_in(Place::kDisk) == 0) return with;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        why = error.message();
    }
    summary_.notes = notes;
    summary_.notes.push_back(messages::prediction_layer_left_out(why));
    drop_prediction_layer();
    describe_load(request, defaults().context);
    return plan();
}

void LoadedModel::open_layer_drafter() {
    if (prediction_layer() == nullptr) return;
    try {
        layer_drafter_ = std::make_unique<LayerDrafter>(*prediction_layer(), *this, runtime());
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory || request().drafts == DraftMode::kAlways) throw;
        summary_.notes.push_back(messages::prediction_layer_left_out(error.message()));
    }
}

void LoadedModel::note_memory(const Plan& plan, const LoadProgressFn& progress) {
    Message note = memory_note(plan_inputs(), plan);
    if (note.empty()) return;
    summary_.notes.push_back(note);
    if (!progress) return;
    summary_.n_early_notes = summary_.notes.size();
    progress({.stage = {}, .note = std::move(note)});
}

// On the CPU alone costs decide only about formats: if the formats are given, nothing is
// measured, and stored costs serve the forecast.
std::optional<CostModel> LoadedModel::costs_for(const Plan& plan, Measurements& measurements,
                                                const LoadProgressFn& progress, const std::stop_token& stop) {
    const LoadRequest& request = this->request();
    PlanInputs& inputs = plan_inputs();
    const Measurements::Machine machine{device(), host(), progress, stop};
    const std::vector<kernels::WeightType> formats = formats_of(request, inputs.demand);
    Measurements::Effort effort{.reserved = true};
    if (device().shares_host_memory()) {
        if (request.dry) return {};
        if (!request.quality.allows_fewer_bits()) {
            if (!measurements.kept_costs(device().info(), formats)) return {};
            return measurements.costs(machine, formats, {});
        }
        effort.largest = 2;  // the cost of one token's expert in each format
        effort.budget_s = 0.2;
    } else {
        device().reserve(Forward::step_shape(spec(), inputs.master, plan.max_step, plan.context));
        effort.largest = std::min<std::int64_t>(
            kFullCalibration, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(plan.max_step))));
    }
    CostModel cost = measurements.costs(machine, formats, effort);
    // For forecasts of a re-plan's duration. A dry run never quantizes.
    if (!request.dry) {
        inputs.quantizing_speeds = measurements.quantizing_speeds(device(), stop);
    }
    return cost;
}

void LoadedModel::describe(std::uint64_t dense_bytes) {
    const LoadRequest& request = this->request();
    const ModelSpec& spec = this->spec();
    const ExpertStore& store = experts();
    summary_.source = request.model;
    summary_.name = name();
    summary_.architecture = spec.architecture;
    summary_.n_layers = spec.experts.n_layers;
    for (std::int64_t i = 0; i < summary_.n_layers; ++i)
        summary_.layer_numbers.push_back(static_cast<std::int32_t>(spec.layer_of(i)));
    summary_.n_experts = spec.experts.n_experts;
    summary_.n_active = spec.experts.n_active;
    summary_.hidden_dim = spec.hidden_dim;
    summary_.ffn_dim = spec.experts.ffn_dim;
    summary_.vocab_size = spec.vocab_size;
    const kernels::AttentionShape attention = spec.largest_attention();
    summary_.n_heads = attention.n_heads;
    summary_.n_kv_heads = attention.n_kv_heads;
    summary_.head_dim = attention.key_dim;
    summary_.max_context = spec.max_context;
    summary_.context = plan().context;
    summary_.total_weights = spec.total_weights();
    summary_.active_weights = spec.active_weights();
    summary_.weight_bytes = dense_bytes;
    for (std::size_t i = 0; i < store.size(); ++i) summary_.weight_bytes += store.expert_bytes(store.format(i));
    summary_.active_bytes = reads().total();
    summary_.weight_type = stored_formats_of(spec.experts, plan_inputs().master);
    summary_.expert_format = plan_inputs().master;
    summary_.expert_formats = expert_formats_of(plan_inputs(), spec);
    summary_.formats = format_rows_of(spec.experts);
    if (request.quant.experts.has_value()) summary_.weight_type = kernels::name_of(*request.quant.experts);
    summary_.kv_type = name_of(request.kv);
    summary_.theta = opened_theta_.loss > 0 ? static_cast<double>(thetas_.mean()) : opened_theta_.theta;
    summary_.theta_loss = opened_theta_.loss;
    summary_.accepts_guesses = opened_theta_.accepts_guesses() && request.sparse_loading != SparseLoading::kOff &&
                               !device().shares_host_memory();
    summary_.compute = kernels::name_of(form());
    summary_.compute_origin = engine::describe(compute());
    summary_.device_compute = name_of(device_products());
    summary_.device_compute_origin = engine::describe(device_products());
    summary_.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
    summary_.n_threads = pool().n_threads();
    summary_.has_tokenizer = tokenizer() != nullptr;
    summary_.has_chat_template = chat_template() != nullptr;
    summary_.defaults = defaults();
    if (Message note = instruction_set_note(); !note.empty()) summary_.notes.push_back(std::move(note));
    if (!text_->template_note.empty()) summary_.notes.push_back(text_->template_note);
    for (Message& note : defaults().notes()) summary_.notes.push_back(std::move(note));
    summary_.thinks = thinking().any();
    for (const ThinkingChoice& choice : thinking_choices()) summary_.thinking_choices.push_back(choice.name);
    if (tokenizer() != nullptr) summary_.text = text_;

    summary_.device = device().info().id;
    summary_.device_name = device().info().name;
    summary_.emulated = device().info().emulated;
    summary_.emulated_host = device().info().emulated_host;
    summary_.policy = engine::describe(request.dispatch);
    summary_.resident_experts = store.n_resident();
    summary_.ram_experts = store.n_in_ram();
    summary_.total_experts = spec.experts.n_layers * spec.experts.n_experts;
    summary_.vram_budget_bytes = device().shares_host_memory() ? 0 : device().memory().usage().budget_bytes;
    summary_.ram_budget_bytes = ram().usage().budget_bytes;
    summary_.pinned_bytes = store.pinned_bytes();
    std::vector<std::uint8_t> resident;
    store.residency(resident);
    summary_.expected_hit_rate = expected_hit_rate(popularity(), resident);
    if (popularity().n_tokens > 0) summary_.popularity = popularity().source;
    for (Message& note : request_notes(request, spec.max_context)) summary_.notes.push_back(std::move(note));
    if (!device().info().note.empty()) summary_.notes.push_back(device().info().note);
    if (!plan().note.empty()) summary_.notes.push_back(plan().note);
    if (Message note = load_note(plan_inputs(), request, spec); !note.empty())
        summary_.notes.push_back(std::move(note));
    for (const Message& note : store.notes()) summary_.notes.push_back(note);
    if (Message note = source().take_cache_problem(); !note.empty()) summary_.notes.push_back(note);
}

// A file that is damaged costs a note, not the model.
void LoadedModel::read_thresholds() {
    Message problem;
    summary_.thresholds = kept_thresholds(directory(), &problem);
    if (!problem.empty()) summary_.notes.push_back(std::move(problem));
}

void LoadedModel::use_theta(const std::optional<ThetaChoice>& choice) {
    used_theta_ = choice.value_or(opened_theta_);
    ActiveShares prior = expected_shares(summary_.thresholds, used_theta_);
    if (request().active_share > 0) prior = {request().active_share, {}};
    forward().moe().set_theta(choice ? thetas_of(used_theta_) : thetas_, std::move(prior));
    forward().moe().mover().sparse().set_guesses(used_theta_.guesses);
}

ExpertThetas LoadedModel::thetas_of(const ThetaChoice& choice) const {
    const double loss = choice.loss;
    if (loss == 0) return choice.theta;
    const ChosenThresholds* const chosen = thresholds_for(summary_.thresholds, loss);
    if (chosen == nullptr) {
        std::string kept;
        for (const ChosenThresholds& each : summary_.thresholds.chosen) {
            kept += (kept.empty() ? "" : ", ") + print("%g", each.loss);
        }
        const MessageArgument list =
            kept.empty() ? MessageArgument(messages::no_thresholds_kept) : MessageArgument(kept);
        throw Error(ErrorKind::kInvalidInput, messages::no_thresholds_for_loss(name(), print("%g", loss), list));
    }
    const ExpertGrid& grid = spec().experts;
    const auto n_layers = static_cast<std::int64_t>(chosen->layer_shares.size());
    if (n_layers != grid.n_layers || chosen->n_experts != grid.n_experts) {
        throw Error(ErrorKind::kInvalidInput, messages::thresholds_of_another_model(name(), n_layers, chosen->n_experts,
                                                                                    grid.n_layers, grid.n_experts));
    }
    return chosen->of_experts();
}

void LoadedModel::keep_habits() {
    HabitCounter& counter = forward().moe().habits();
    if (request().dry || counter.n_tokens() < kHabitTokens) return;
    RoutingHabits& known = plan_inputs().popularity.habits;
    known.add(counter.take());
    measurements().keep_habits(known);
}

}  // namespace offstage::engine
