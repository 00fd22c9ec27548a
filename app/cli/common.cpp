#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <unistd.h>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "engine/device/byte_size.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/eval/scenario_report.h"
#include "engine/eval/theta_report.h"
#include "engine/files/file_writer.h"
#include "engine/plan/plan_messages.h"
#include "engine/print.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {

engine::LoadRequest load_request(const ModelOptions& options) {
    engine::LoadRequest request;
    request.model = options.model;
    request.n_threads = options.n_threads;
    request.chat_template = options.chat_template;
    request.context = options.context;
    if (options.compute == "f32" || options.compute == "exact") request.compute = engine::ComputeMode::kF32;
    if (options.compute == "bf16") request.compute = engine::ComputeMode::kBf16;
    if (options.compute == "int8") request.compute = engine::ComputeMode::kInt8;
    request.device = options.device;
    if (!options.vram.empty()) request.vram_bytes = engine::parse_bytes(options.vram, "--vram");
    if (!options.disk_reads.empty()) request.disk_reads = engine::parse_disk_reads(options.disk_reads);
    if (!options.ram.empty()) request.ram_bytes = engine::parse_bytes(options.ram, "--ram");
    if (!options.kv.empty()) request.kv = engine::parse_kv_type(options.kv);
    request.kept_context = options.kept_context;
    request.theta = options.theta;
    request.theta_loss = options.theta_loss;
    if (!options.sparse_loading.empty()) request.sparse_loading = engine::parse_sparse_loading(options.sparse_loading);
    if (!options.neuron_guesses.empty()) request.neuron_guesses = engine::parse_neuron_guesses(options.neuron_guesses);
    if (!options.neuron_cache.empty()) {
        request.neuron_cache_bytes = engine::parse_bytes(options.neuron_cache, "--neuron-cache");
    }
    if (!options.active_share.empty()) {
        request.active_share = engine::read_active_share(options.active_share, options.theta);
    }
    request.dispatch = engine::parse_dispatch(options.policy);
    if (!options.quant.empty()) request.quant = engine::parse_quant(options.quant);
    request.popularity_file = options.profile;
    if (!options.cache.empty()) request.cache = engine::parse_cache_kind(options.cache);
    if (!options.prefetch.empty()) request.prefetch = engine::parse_prefetch(options.prefetch);
    request.cuda_graphs = !options.no_cuda_graphs;
    if (!options.prompt_loading.empty()) {
        request.prompt_loading = engine::parse_prompt_loading(options.prompt_loading);
    }
    request.quality = {options.min_bits, options.max_loss, options.max_kl};
    request.paced = options.paced;
    request.dry = options.dry;
    request.dry_repeat = options.dry_repeat;
    request.dry_guess_recall = options.dry_guess_recall;
    return request;
}

std::string read_standard_input() {
    return {std::istreambuf_iterator<char>(std::cin), {}};
}

std::string prompt_of(const GenerateOptions& options) {
    const std::string& from = options.prompt_file.empty() ? options.prompt : options.prompt_file;
    if (options.prompt_file.empty() && from != "-") return from;
    std::string text = from == "-" ? read_standard_input() : read_long_text(from);
    for (const char end : {'\n', '\r'}) {
        if (text.ends_with(end)) text.pop_back();
    }
    return text;
}

void apply_defaults(const engine::ModelSummary& model, GenerateOptions& options) {
    const auto is_chosen = [&](std::string_view name) { return options.chosen.contains(name); };
    model.defaults.apply(options.sampler, is_chosen);
    if (!is_chosen("max_tokens") && model.defaults.max_tokens() > 0) options.max_tokens = model.defaults.max_tokens();
}

engine::LoadRequest text_request(const ModelOptions& options) {
    // Long enough for the routing to see contexts, short enough that attention stays
    // cheap.
    constexpr std::int64_t kWindow = 2048;
    engine::LoadRequest request = load_request(options);
    if (request.context == 0) {
        request.context = std::min(kWindow, engine::read_model_shape(options.model).spec.max_context);
    }
    request.learn_placement = false;
    return request;
}

namespace {

void print_note(const engine::Message& note) {
    std::cerr << "note: " << note.english() << std::endl;
}

}  // namespace

void print_notes(const engine::ModelSummary& model) {
    const std::string notice = engine::emulation_notice(model);
    if (!notice.empty()) std::cerr << notice << std::endl;
    if (model.theta_loss > 0) {
        const engine::ChosenThresholds* const chosen = engine::thresholds_for(model.thresholds, model.theta_loss);
        const double measured = chosen != nullptr ? chosen->mean_kl : model.theta_loss;
        print_note(engine::messages::thresholds_leave_out(engine::print("%g", model.theta_loss),
                                                          engine::print("%.4g", measured),
                                                          engine::print("%.3g", model.theta)));
    } else if (model.theta > 0) {
        print_note(engine::messages::theta_leaves_out(model.theta));
    }
    if (model.accepts_guesses) print_note(engine::messages::guesses_accepted);
    for (std::size_t i = model.n_early_notes; i < model.notes.size(); ++i) print_note(model.notes[i]);
}

void print_notes(const engine::GenerationResult& answer) {
    for (const engine::Message& note : answer.notes) print_note(note);
}

void print_machine_notes(engine::Session& session) {
    for (const engine::Message& note : session.take_machine_notes()) {
        std::cerr << "note: " << note.english() << std::endl;
    }
}

std::string theta_label(const engine::ModelSummary& model) {
    const std::string guesses = model.accepts_guesses ? ", guessed neurons accepted" : "";
    if (model.theta_loss > 0) return engine::print(", theta auto:%g", model.theta_loss) + guesses;
    return model.theta > 0 ? engine::print(", theta %g", model.theta) + guesses : std::string();
}

bool read_theta(const std::string& text, ModelOptions& options) {
    constexpr std::string_view kAuto = "auto";
    const auto number = [](std::string_view digits, double& value) {
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
    };
    options.theta = options.theta_loss = 0;
    if (!text.starts_with(kAuto)) return number(text, options.theta);
    options.theta_loss = kDefaultThetaLoss;
    const std::string_view rest = std::string_view(text).substr(kAuto.size());
    if (rest.empty()) return true;
    return rest.front() == ':' && number(rest.substr(1), options.theta_loss) && options.theta_loss > 0;
}

engine::LoadProgressFn progress_on_terminal() {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    return [terminal](const engine::LoadProgress& progress) {
        if (!progress.note.empty()) {
            if (terminal) std::cerr << "\r\x1b[K";
            print_note(progress.note);
            return;
        }
        if (!terminal) return;
        const bool done = progress.bytes_done >= progress.bytes_total;
        std::cerr << "\r\x1b[K";
        if (!done) {
            std::cerr << progress.stage.english() << ": ";
            if (progress.counts_bytes) {
                std::cerr << engine::format_bytes(progress.bytes_done) << " of "
                          << engine::format_bytes(progress.bytes_total);
            } else {
                std::cerr << 100 * progress.bytes_done / std::max<std::uint64_t>(1, progress.bytes_total) << " %";
            }
        }
        std::cerr << std::flush;
    };
}

std::vector<std::string_view> split_list(std::string_view list) {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = list.find(',', begin);
        items.push_back(list.substr(begin, end - begin));
        if (end == std::string_view::npos) return items;
        begin = end + 1;
    }
}

void print_json(const nlohmann::ordered_json& object) {
    std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
}

void write_or_throw(const std::string& path, const std::string& content) {
    if (path.empty()) return;
    if (const std::string failure = engine::write_file(path, content); !failure.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::file_cannot_be_written(path, failure));
    }
}

}  // namespace offstage::cli
