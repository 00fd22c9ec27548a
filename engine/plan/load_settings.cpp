// The names of a load's settings, for users.

#include <span>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/plan/load_request.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

template <typename Setting>
struct SettingName {
    Setting setting;
    std::string_view name;
};

constexpr SettingName<PolicyKind> kPolicyNames[] = {{PolicyKind::kThreshold, "threshold"},
                                                    {PolicyKind::kBalanced, "balanced"},
                                                    {PolicyKind::kTransfer, "transfer"},
                                                    {PolicyKind::kStatic, "static"},
                                                    {PolicyKind::kLayers, "layers"}};
constexpr SettingName<KvType> kKvTypeNames[] = {
    {KvType::kF32, "f32"}, {KvType::kBf16, "bf16"}, {KvType::kInt8, "int8"}};
constexpr SettingName<PrefetchMode> kPrefetchNames[] = {
    {PrefetchMode::kOff, "off"}, {PrefetchMode::kAuto, "auto"}, {PrefetchMode::kAlways, "always"}};
constexpr SettingName<SparseLoading> kSparseLoadingNames[] = {
    {SparseLoading::kOff, "off"}, {SparseLoading::kAuto, "auto"}, {SparseLoading::kAlways, "always"}};
constexpr SettingName<NeuronGuesses> kNeuronGuessesNames[] = {{NeuronGuesses::kCorrect, "correct"},
                                                              {NeuronGuesses::kAccept, "accept"}};
constexpr SettingName<PromptLoading> kPromptLoadingNames[] = {
    {PromptLoading::kOnDemand, "on-demand"}, {PromptLoading::kAhead, "ahead"}, {PromptLoading::kLend, "lend"}};
constexpr SettingName<DiskReads> kDiskReadsNames[] = {
    {DiskReads::kAuto, "auto"}, {DiskReads::kDirect, "direct"}, {DiskReads::kCached, "cached"}};

template <typename Setting, std::size_t n>
std::string_view name_in(const SettingName<Setting> (&names)[n], Setting setting) {
    for (const SettingName<Setting>& known : names) {
        if (known.setting == setting) return known.name;
    }
    return "?";
}

template <typename Setting, std::size_t n, typename NoSuch>
Setting setting_in(const SettingName<Setting> (&names)[n], std::string_view name, const NoSuch& no_such) {
    for (const SettingName<Setting>& known : names) {
        if (known.name == name) return known.setting;
    }
    throw Error(ErrorKind::kInvalidInput, no_such(name));
}

}  // namespace

std::string_view name_of(PolicyKind kind) {
    return name_in(kPolicyNames, kind);
}

PolicyKind parse_policy(std::string_view name) {
    return setting_in(kPolicyNames, name, [](std::string_view unknown) {
        std::string names;
        for (const auto& known : kPolicyNames) names += (names.empty() ? "" : ", ") + std::string(known.name);
        return messages::no_such_dispatch_policy(unknown, names);
    });
}

std::string_view name_of(KvType type) {
    return name_in(kKvTypeNames, type);
}

KvType parse_kv_type(std::string_view name) {
    return setting_in(kKvTypeNames, name, messages::no_such_kv_type);
}

std::string_view name_of(PrefetchMode mode) {
    return name_in(kPrefetchNames, mode);
}

PrefetchMode parse_prefetch(std::string_view name) {
    return setting_in(kPrefetchNames, name, messages::no_such_prefetch);
}

std::string_view name_of(SparseLoading loading) {
    return name_in(kSparseLoadingNames, loading);
}

SparseLoading parse_sparse_loading(std::string_view name) {
    return setting_in(kSparseLoadingNames, name, messages::no_such_sparse_loading);
}

std::string_view name_of(NeuronGuesses guesses) {
    return name_in(kNeuronGuessesNames, guesses);
}

NeuronGuesses parse_neuron_guesses(std::string_view name) {
    return setting_in(kNeuronGuessesNames, name, messages::no_such_neuron_guesses);
}

std::string_view name_of(PromptLoading loading) {
    return name_in(kPromptLoadingNames, loading);
}

PromptLoading parse_prompt_loading(std::string_view name) {
    return setting_in(kPromptLoadingNames, name, messages::no_such_prompt_loading);
}

std::string_view name_of(DiskReads reads) {
    return name_in(kDiskReadsNames, reads);
}

DiskReads parse_disk_reads(std::string_view name) {
    return setting_in(kDiskReadsNames, name, messages::no_such_disk_reads);
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
