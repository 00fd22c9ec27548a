#pragma once
// Options whose values are read by functions of the engine, directly into the field that
// is used.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/plan/load_request.h"

namespace offstage {

// `read` gets the value. An engine::Error that it throws is wrong usage.
inline CLI::Option* add_read(CLI::App& command, const std::string& name, std::function<void(const std::string&)> read,
                             const std::string& help) {
    const auto take = [name, read = std::move(read)](const std::string& text) {
        try {
            read(text);
        } catch (const engine::Error& error) {
            throw CLI::ValidationError(name.substr(0, name.find(',')), error.what());
        }
    };
    return command.add_option_function<std::string>(name, take, help);
}

// The same into one field: field = parse(text).
template <typename Field, typename Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, Field& field, Parse parse,
                        const std::string& help) {
    return add_read(
        command, name, [&field, parse](const std::string& text) { field = parse(text); }, help);
}

// The same for several values, each read by itself.
template <typename Field, typename Parse>
CLI::Option* add_parsed_list(CLI::App& command, const std::string& name, std::vector<Field>& fields, Parse parse,
                             const std::string& help) {
    const auto take = [&fields, name, parse](const std::vector<std::string>& texts) {
        fields.clear();
        try {
            for (const std::string& text : texts) fields.push_back(parse(text));
        } catch (const engine::Error& error) {
            throw CLI::ValidationError(name.substr(0, name.find(',')), error.what());
        }
    };
    return command.add_option_function<std::vector<std::string>>(name, take, help);
}

// A checked value, whose default the help shows.
template <typename Field, typename Check>
CLI::Option* add_checked(CLI::App& command, const std::string& name, Field& field, const Check& check,
                         const std::string& help) {
    return command.add_option(name, field, help)->check(check)->capture_default_str();
}

// "6GiB": bytes.
inline std::uint64_t parse_size(const std::string& text) {
    return engine::parse_bytes(text, "the size");
}

inline CLI::Option* add_compute_option(CLI::App& command, engine::LoadRequest& request, const std::string& help) {
    const auto parse = [](const std::string& name) {
        if (name == "f32" || name == "exact") return engine::ComputeMode::kF32;
        if (name == "bf16") return engine::ComputeMode::kBf16;
        return name == "int8" ? engine::ComputeMode::kInt8 : engine::ComputeMode::kAuto;
    };
    return add_parsed(command, "--compute", request.compute, parse, help)
        ->check(CLI::IsMember({"f32", "exact", "bf16", "int8", "auto"}))
        ->default_str("auto");
}

inline CLI::Option* add_threads_option(CLI::App& command, engine::LoadRequest& request) {
    return add_checked(command, "--threads", request.n_threads, CLI::Range(0, 1024),
                       "Compute threads; 0: one per core that this program may use");
}

}  // namespace offstage
