#include <string_view>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/plan/load_request.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {

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
