#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/device/host_buffer.h"
#include "engine/device/open_device.h"
#include "engine/device/product_kernels.h"
#include "engine/error.h"
#include "engine/files/cache_folders.h"
#include "engine/model/checkpoint.h"
#include "engine/model/file_formats.h"
#include "engine/model/kv_layout.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/model/tensor_types.h"
#include "engine/model/weights.h"
#include "engine/plan/forecast.h"
#include "engine/plan/popularity.h"
#include "engine/plan/product_choice.h"
#include "engine/report_table.h"
#include "engine/run/model_defaults.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "engine/run/template_choice.h"
#include "engine/text/family_templates.h"
#include "engine/text/thinking_format.h"
#include "engine/text/tokenizer.h"

namespace offstage::cli {
namespace {

struct Facts {
    engine::ModelSpec spec;
    std::string name;
    engine::FormatId type{};
    std::uint64_t checkpoint_bytes = 0;
    std::vector<engine::RoleTypes> types;  // of a checkpoint's tensors
    std::vector<engine::UnusedTensors> unused;
    std::vector<engine::Message> notes;
    bool tokenizer = false;
    bool chat_template = false;
    bool thinks = false;  // the template supports thoughts before answers
    std::vector<std::string> thinking_choices;
};

// ", thinks: off, on"
std::string thinking_of(const Facts& facts) {
    if (!facts.thinks && facts.thinking_choices.empty()) return {};
    std::string names;
    for (const std::string& name : facts.thinking_choices) names += (names.empty() ? ": " : ", ") + name;
    return ", thinks before it answers" + names;
}

Facts look_at(const std::string& model) {
    Facts facts;
    if (engine::is_synthetic(model)) {
        const engine::SyntheticModel synthetic = engine::parse_synthetic(model);
        facts.type = synthetic.expert_type();
        facts.spec = synthetic.spec;
        facts.name = synthetic.name;
        return facts;
    }
    const std::filesystem::path directory = engine::model_path(model);
    facts.spec = engine::read_model_spec(directory, &facts.notes);
    facts.name = engine::model_name(model);
    auto checkpoint = engine::Checkpoint::open(directory);
    facts.checkpoint_bytes = checkpoint->total_bytes();
    kernels::ThreadPool pool(1);
    const auto source = engine::open_weights(std::move(checkpoint), facts.spec, false, pool);
    facts.types = source->types();
    facts.unused = source->unused();
    for (engine::Message& note : source->notes()) facts.notes.push_back(std::move(note));
    facts.type = source->expert_type();
    const engine::ModelSpec& c = facts.spec;
    if (engine::Tokenizer::is_in(directory)) {
        const auto tokenizer = engine::Tokenizer::open(directory, c.vocab_size);
        engine::TemplateChoice text = engine::try_chat_template(model, {}, *tokenizer);
        const auto& chat = text.chat;
        facts.tokenizer = tokenizer != nullptr;
        facts.notes.insert(facts.notes.end(), tokenizer->notes().begin(), tokenizer->notes().end());
        if (chat == nullptr && text.problem.empty()) {
            text.problem = engine::messages::model_without_template(facts.name, engine::family_template_names());
        }
        if (!text.problem.empty()) facts.notes.push_back(std::move(text.problem));
        try {
            engine::Message note = engine::read_model_defaults(model).name_note;
            if (!note.empty()) facts.notes.push_back(std::move(note));
        } catch (const engine::Error& error) {  // a load is refused with it
            facts.notes.push_back(error.message());
        }
        facts.chat_template = chat != nullptr;
        if (chat != nullptr) {
            const auto name = [&](engine::TokenId token) { return token < 0 ? "" : tokenizer->piece_name(token); };
            facts.thinks = engine::find_thinking_format(*chat, *tokenizer).any();
            for (const engine::ThinkingChoice& choice :
                 engine::find_thinking_choices(*chat, {name(tokenizer->bos()), name(tokenizer->eos())})) {
                facts.thinking_choices.push_back(choice.name);
            }
        }
    } else {
        facts.notes.push_back(engine::messages::model_without_tokenizer(facts.name));
    }
    return facts;
}

// The choice of --compute auto on this machine. Measures nothing.
struct Products {
    std::string mode;  // empty: the first load will measure it
    std::string origin = "the first model that is loaded measures it once for this machine";
    engine::ProductTimes times;
};

Products look_at_products(engine::FormatId weights) {
    const auto known = engine::kept_compute(weights, engine::MeasurementStore(engine::calibration_directory()));
    if (!known) return {};
    return {name_of(known->form), engine::describe(*known), known->times};
}

nlohmann::ordered_json to_json(const Products& products) {
    nlohmann::ordered_json json = {{"auto", nullptr}, {"origin", products.origin}};
    if (!products.mode.empty()) json["auto"] = products.mode;
    if (!products.times.measured_on.empty()) {
        ADD_FIELDS(json, products.times, measured_on, f32_us, bf16_us, blocks_f32_us, blocks_bf16_us, byte_prompts_us,
                   float_inputs_us, byte_inputs_us);
    }
    return json;
}

// A device's form of products with the file's blocks.
struct DeviceFacts {
    std::string name;
    engine::DeviceProducts products;
    struct Type {
        std::string name;
        const char *few, *many, *small_experts;  // inputs of one token, of many, and of many with small experts
    };
    std::vector<Type> types;  // empty: as the CPU, or no blocks

    std::string text() const {
        std::string lines = "  products there " + name + ": ";
        if (products.origin == engine::DeviceProducts::Origin::kNoChoice) {
            return lines + (types.empty() ? "float32 inputs: the file has no blocks" : "as on the CPU") + "\n";
        }
        lines += engine::describe(products) + "\n";
        for (const Type& type : types) {
            lines += "                 " + type.name + ": " + type.few +
                     (type.few == type.many ? " inputs" : std::string(" inputs, of many tokens ") + type.many) +
                     (type.many == type.small_experts
                          ? ""
                          : std::string(", of many tokens with small experts ") + type.small_experts) +
                     "\n";
        }
        return lines;
    }
};

// Of the model's tensors, by name.
std::vector<std::string> formats_in(const Facts& facts) {
    std::vector<std::string> names;
    for (const engine::RoleTypes& role : facts.types) {
        for (const engine::TypeCount& count : role.types) names.push_back(count.type);
    }
    if (names.empty()) names.emplace_back(name_of(facts.type));
    return names;
}

// The device is opened; nothing is measured on it.
DeviceFacts look_at_device(const ModelOptions& options, const Facts& facts) {
    constexpr std::string_view kEmulated = "emulated:";
    const engine::LoadRequest request = load_request(options);
    DeviceFacts found;
    if (request.device.starts_with(kEmulated)) {  // its products are the CPU's
        found.name = engine::find_hardware_profile(request.device.substr(kEmulated.size())).name + " (emulated)";
    } else {
        kernels::ThreadPool pool(1);
        engine::CpuOperations host(pool, kernels::GemmMode::kF32);
        const auto device = engine::open_device(request.device, 0, host);
        found.name = device->info().name;
        found.products = engine::known_device_products(*device, request.compute, facts.type,
                                                       engine::MeasurementStore(engine::calibration_directory()));
    }
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        const bool is_there = std::any_of(facts.types.begin(), facts.types.end(), [&](const engine::RoleTypes& role) {
            return std::any_of(role.types.begin(), role.types.end(),
                               [&](const engine::TypeCount& count) { return count.type == format.name; });
        });
        if (!format.is_blocks() || !is_there) continue;
        using kernels::ProductRows;
        const auto inputs = [&](ProductRows rows) { return inputs_of(found.products, format.type, rows); };
        found.types.push_back({format.name, inputs(ProductRows::kFew), inputs(ProductRows::kMany),
                               inputs(ProductRows::kManyOfSmallExperts)});
    }
    return found;
}

nlohmann::ordered_json to_json(const DeviceFacts& device) {
    auto types = nlohmann::ordered_json::array();
    const bool chooses = device.products.origin != engine::DeviceProducts::Origin::kNoChoice;
    for (const DeviceFacts::Type& type : device.types) {
        if (!chooses) continue;
        types.push_back({{"type", type.name},
                         {"inputs", type.few},
                         {"inputs_of_many", type.many},
                         {"inputs_of_many_with_small_experts", type.small_experts}});
    }
    return {{"device", device.name},
            {"device_compute", name_of(device.products)},
            {"device_compute_origin", engine::describe(device.products)},
            {"types", types}};
}

nlohmann::ordered_json to_json(const engine::Hardware& hardware) {
    auto gpus = nlohmann::ordered_json::array();
    for (const auto& gpu : hardware.cuda.devices) {
        gpus.push_back({{"name", gpu.name}, {"total_bytes", gpu.total_bytes}, {"free_bytes", gpu.free_bytes}});
    }
    return {{"cpu", hardware.cpu_model},
            {"cores", hardware.n_cores},
            {"instruction_set", hardware.instruction_set},
            {"ram_total_bytes", hardware.ram.total_bytes},
            {"ram_available_bytes", hardware.ram.available_bytes},
            {"ram_limit", hardware.ram.limit},
            {"ram_limit_bytes", hardware.ram.limit_bytes},
            {"gpus", gpus}};
}

// In bf16.
struct KvFacts {
    std::uint64_t bytes_per_token = 0;
    nlohmann::json windows = nlohmann::json::array();  // of layers that keep only a window
    std::int64_t n_state_layers = 0;
    std::uint64_t state_bytes = 0;  // of a sequence of any length

    std::string text() const {
        std::string lines;
        for (const auto& window : windows) {
            lines += "  window         " + std::to_string(window["layers"].get<std::int64_t>()) + " layers keep " +
                     std::to_string(window["tokens"].get<std::int64_t>()) + " tokens, " +
                     engine::format_bytes(window["bytes_per_token"].get<std::uint64_t>()) + " of these each\n";
        }
        if (n_state_layers > 0) {
            lines += "  state          " + std::to_string(n_state_layers) + " layers keep " +
                     engine::format_bytes(state_bytes) + " of a conversation of any length\n";
        }
        return lines;
    }
};

KvFacts kv_facts(const engine::ModelSpec& spec) {
    KvFacts facts;
    for (const engine::KvGroup& group : engine::kv_layout_of(spec, engine::KvType::kBf16).groups) {
        if (group.is_state) {
            facts.n_state_layers = group.shape.n_layers;
            facts.state_bytes = static_cast<std::uint64_t>(group.shape.block_bytes());
            continue;
        }
        const auto bytes = static_cast<std::uint64_t>(group.shape.token_bytes());
        facts.bytes_per_token += bytes;
        if (group.window == 0) continue;
        facts.windows.push_back(
            {{"layers", group.shape.n_layers}, {"tokens", group.window}, {"bytes_per_token", bytes}});
    }
    return facts;
}

std::string text_of(const std::vector<engine::RoleTypes>& roles) {
    std::string lines;
    for (const engine::RoleTypes& role : roles) {
        lines += lines.empty() ? "  in the file    " : "                 ";
        lines += role.role + ": ";
        for (std::size_t i = 0; i < role.types.size(); ++i) {
            const engine::TypeCount& count = role.types[i];
            lines += (i > 0 ? ", " : "") + std::to_string(count.n_tensors) + " x " + count.type + " " +
                     engine::format_bytes(count.bytes);
        }
        lines += "\n";
    }
    return lines;
}

std::string text_of(const std::vector<engine::UnusedTensors>& unused) {
    std::string lines;
    for (const engine::UnusedTensors& part : unused) {
        lines += (lines.empty() ? "  not used       " : "                 ") + std::string(name_of(part.part)) + ": " +
                 std::to_string(part.n_tensors) + (part.n_tensors == 1 ? " tensor, " : " tensors, ") +
                 engine::format_bytes(part.bytes) + ", " + engine::in_quotes(part.first) +
                 (part.n_tensors > 1 ? " ..." : "") + "\n";
    }
    return lines;
}

std::string text_of(const std::vector<engine::Message>& notes) {
    std::string lines;
    for (const engine::Message& note : notes) {
        lines += (lines.empty() ? "  notes          " : "                 ") + note.english() + "\n";
    }
    return lines;
}

nlohmann::ordered_json to_json(const std::vector<engine::UnusedTensors>& unused) {
    auto list = nlohmann::ordered_json::array();
    for (const engine::UnusedTensors& part : unused) {
        list.push_back(
            {{"part", name_of(part.part)}, {"tensors", part.n_tensors}, {"bytes", part.bytes}, {"first", part.first}});
    }
    return list;
}

nlohmann::ordered_json to_json(const std::vector<engine::RoleTypes>& roles) {
    auto list = nlohmann::ordered_json::array();
    for (const engine::RoleTypes& role : roles) {
        auto types = nlohmann::ordered_json::array();
        for (const engine::TypeCount& count : role.types) {
            types.push_back({{"type", count.type}, {"tensors", count.n_tensors}, {"bytes", count.bytes}});
        }
        list.push_back({{"role", role.role}, {"types", types}});
    }
    return list;
}

void declare_info(CLI::App& command, ModelOptions& options) {
    command.add_option("MODEL", options.model, kModelHelp)->required();
    add_compute_options(command, options);
    command
        .add_option("--device", options.device,
                    "Say too how this device forms products: cuda, cuda:N or emulated:PROFILE, which is opened")
        ->check(check_device);
    add_json_option(command, options.json);
}

int run_info(const ModelOptions& options) {
    const Facts facts = look_at(options.model);
    const engine::ModelSpec& c = facts.spec;
    const engine::ExpertGrid& grid = c.experts;
    const auto attention = c.largest_attention();
    const KvFacts kv = kv_facts(c);
    const double rope_theta =
        std::visit([](const auto& layer) { return layer.rope.theta; }, c.layers.front().attention);
    const std::uint64_t dense_bytes = engine::dense_bytes_in(c, facts.type);
    const std::uint64_t expert_bytes = grid.expert_bytes(facts.type);
    std::uint64_t weight_bytes = dense_bytes;
    for (std::int64_t l = 0; l < grid.n_layers; ++l) {
        weight_bytes += static_cast<std::uint64_t>(grid.n_experts) * grid.expert_bytes(grid.stored(facts.type, l));
    }
    const engine::WeightReads reads = engine::expected_reads(
        grid, engine::dense_bytes_read(c, dense_bytes, facts.type),
        engine::Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active), facts.type, {});
    engine::check_environment();
    const engine::Hardware hardware = engine::detect_hardware();
    const Products products = look_at_products(facts.type);
    std::optional<DeviceFacts> device;
    if (!options.device.empty() && options.device != "cpu") device = look_at_device(options, facts);
    if (options.json) {
        print_json({{"name", facts.name},
                    {"architecture", c.architecture},
                    {"weight_type", engine::stored_formats_of(grid, facts.type)},
                    {"n_layers", c.n_layers()},
                    {"n_moe_layers", grid.n_layers},
                    {"n_experts", grid.n_experts},
                    {"n_active", grid.n_active},
                    {"hidden_dim", c.hidden_dim},
                    {"ffn_dim", grid.ffn_dim},
                    {"n_heads", attention.n_heads},
                    {"n_kv_heads", attention.n_kv_heads},
                    {"head_dim", attention.key_dim},
                    {"vocab_size", c.vocab_size},
                    {"max_context", c.max_context},
                    {"rope_theta", rope_theta},
                    {"tied_embeddings", c.tied_embeddings},
                    {"total_weights", c.total_weights()},
                    {"active_weights", c.active_weights()},
                    {"weight_bytes", weight_bytes},
                    {"active_weight_bytes_per_token", reads.total()},
                    {"expert_bytes", expert_bytes},
                    {"kv_bytes_per_token", kv.bytes_per_token},
                    {"state_bytes", kv.state_bytes},
                    {"kv_windows", kv.windows},
                    {"tensor_types", to_json(facts.types)},
                    {"unused_tensors", to_json(facts.unused)},
                    {"notes", engine::english(facts.notes)},
                    {"tokenizer", facts.tokenizer},
                    {"chat_template", facts.chat_template},
                    {"thinks", facts.thinks},
                    {"thinking_choices", facts.thinking_choices},
                    {"compute", to_json(products)},
                    {"kernels", engine::product_kernels_json()},
                    {"device", device ? to_json(*device) : nlohmann::ordered_json()},
                    {"hardware", to_json(hardware)}});
        return 0;
    }
    const auto yes_no = [](bool value) { return value ? "yes" : "no"; };
    std::cout << facts.name << ": " << c.architecture << ", " << engine::stored_formats_of(grid, facts.type) << "\n"
              << "  layers         " << c.n_layers()
              << (grid.n_layers < c.n_layers() ? ", " + std::to_string(grid.n_layers) + " with experts" : "") << "\n"
              << "  experts        " << grid.n_experts << " per layer, " << grid.n_active << " active, "
              << engine::format_bytes(expert_bytes) << " each\n"
              << "  hidden         " << c.hidden_dim << ", ffn " << grid.ffn_dim << "\n"
              << "  attention      " << attention.n_heads << " heads, " << attention.n_kv_heads
              << " KV heads, head size " << attention.key_dim << "\n"
              << "  vocabulary     " << c.vocab_size << (c.tied_embeddings ? ", tied" : "") << "\n"
              << "  context        " << c.max_context << " tokens, " << engine::format_bytes(kv.bytes_per_token)
              << " of KV cache each, in bf16\n"
              << kv.text() << "  weights        " << c.total_weights() << ", " << engine::format_bytes(weight_bytes)
              << "; " << c.active_weights() << " active per token, " << engine::format_bytes(reads.total()) << "\n"
              << text_of(facts.types) << text_of(facts.unused) << text_of(facts.notes) << "  tokenizer      "
              << yes_no(facts.tokenizer) << ", chat template " << yes_no(facts.chat_template) << thinking_of(facts)
              << "\n  this machine   " << hardware.cpu_model << ", " << hardware.n_cores << " cores, "
              << hardware.instruction_set << ", " << engine::free_memory_text(hardware.ram).english() << " of "
              << engine::format_bytes(static_cast<std::uint64_t>(hardware.ram.total_bytes)) << " RAM free\n";
    if (const engine::Message note = engine::instruction_set_note(); !note.empty())
        std::cout << "                 " << note.english() << "\n";
    std::cout << "  products       " << (products.mode.empty() ? "auto" : products.mode + " by --compute auto") << ": "
              << products.origin << "\n"
              << engine::cpu_kernels_text(formats_in(facts)) << (device ? device->text() : std::string());
    if (!hardware.cuda.devices.empty()) std::cout << engine::gpu_kernels_text(formats_in(facts));
    for (const auto& gpu : hardware.cuda.devices) {
        std::cout << "  GPU            " << gpu.name << ", "
                  << engine::format_bytes(static_cast<std::uint64_t>(gpu.total_bytes)) << "\n";
    }
    if (hardware.cuda.devices.empty())
        std::cout << "  GPU            none: " << hardware.no_gpu_because().english() << "\n";
    std::cout << std::flush;
    return 0;
}

}  // namespace

void add_info(Commands& commands) {
    commands.add("info", "What a model is: shapes, sizes, files checked", declare_info, run_info);
}

}  // namespace offstage::cli
