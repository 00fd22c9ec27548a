// The names of a load's settings, for users.

#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/plan/load_request.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

template <typename Setting, std::size_t n, typename NoSuch>
Setting setting_in(const std::string_view (&names)[n], std::string_view name, const NoSuch& no_such) {
    for (std::size_t i = 0; i < n; ++i) {
        if (names[i] == name) return static_cast<Setting>(i);
    }
    throw Error(ErrorKind::kInvalidInput, no_such(name));
}

constexpr std::string_view kPolicyNames[] = {"threshold", "balanced", "transfer", "static", "layers"};

Message no_such_policy(std::string_view unknown) {
    std::string names;
    for (const std::string_view known : kPolicyNames) names += (names.empty() ? "" : ", ") + std::string(known);
    return messages::no_such_dispatch_policy(unknown, names);
}

}  // namespace

// Defines name_of() and PARSE() of a setting, by names in the order of its values.
#define NAMED_SETTING(Setting, PARSE, no_such, ...)          \
    std::string_view name_of(Setting setting) {              \
        constexpr std::string_view kNames[] = {__VA_ARGS__}; \
        return kNames[static_cast<std::size_t>(setting)];    \
    }                                                        \
    Setting PARSE(std::string_view name) {                   \
        constexpr std::string_view kNames[] = {__VA_ARGS__}; \
        return setting_in<Setting>(kNames, name, no_such);   \
    }
NAMED_SETTING(KvType, parse_kv_type, messages::no_such_kv_type, "f32", "bf16", "int8")
NAMED_SETTING(PrefetchMode, parse_prefetch, messages::no_such_prefetch, "off", "auto", "always")
NAMED_SETTING(DraftMode, parse_drafts, messages::no_such_drafts, "off", "auto", "always")
NAMED_SETTING(PromptLoading, parse_prompt_loading, messages::no_such_prompt_loading, "on-demand", "ahead", "lend")
NAMED_SETTING(SparseLoading, parse_sparse_loading, messages::no_such_sparse_loading, "off", "auto", "always")
NAMED_SETTING(NeuronGuesses, parse_neuron_guesses, messages::no_such_neuron_guesses, "correct", "accept")
NAMED_SETTING(DiskReads, parse_disk_reads, messages::no_such_disk_reads, "auto", "direct", "cached")
#undef NAMED_SETTING

std::string_view name_of(PolicyKind kind) {
    return kPolicyNames[static_cast<std::size_t>(kind)];
}

PolicyKind parse_policy(std::string_view name) {
    return setting_in<PolicyKind>(kPolicyNames, name, no_such_policy);
}

DispatchSettings parse_dispatch(const std::string& text) {
    DispatchSettings settings;
    const auto set_decode = [&](std::string_view name) {
        settings.measured = name == "auto";
        settings.decode = settings.measured ? PolicyKind::kBalanced : parse_policy(name);
    };
    const auto set_prefill = [&](std::string_view name) {
        settings.prefill = name == "auto" ? PolicyKind::kBalanced : parse_policy(name);
    };
    if (text.find('=') == std::string::npos) {
        set_decode(text);
        set_prefill(text);
        return settings;
    }
    bool seen_prefill = false;
    bool seen_decode = false;
    std::string_view rest = text;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        more = comma != std::string_view::npos;
        const std::string_view part = rest.substr(0, comma);
        if (more) rest.remove_prefix(comma + 1);
        const std::size_t equals = part.find('=');
        const std::string_view side = part.substr(0, equals);
        const std::string_view name = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
        bool* const seen = side == "prefill" ? &seen_prefill : side == "decode" ? &seen_decode : nullptr;
        if (seen == nullptr || *seen || name.empty()) {
            throw Error(ErrorKind::kInvalidInput, messages::no_such_dispatch_setting(in_quotes(text)));
        }
        *seen = true;
        if (seen == &seen_prefill) {
            set_prefill(name);
        } else {
            set_decode(name);
        }
    }
    return settings;
}

std::string describe(const DispatchSettings& settings) {
    std::string decode = std::string(name_of(settings.decode)) + (settings.measured ? " (measured)" : "");
    if (settings.prefill == settings.decode) return decode;
    return "prefill " + std::string(name_of(settings.prefill)) + ", decode " + decode;
}

}  // namespace offstage::engine
