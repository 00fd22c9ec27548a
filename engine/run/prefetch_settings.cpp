#include "engine/run/prefetch_settings.h"

#include "engine/error.h"

namespace offstage::engine {

std::string_view name_of(PrefetchMode mode) {
    switch (mode) {
        case PrefetchMode::kOff:
            return "off";
        case PrefetchMode::kAuto:
            return "auto";
        case PrefetchMode::kAlways:
            return "always";
    }
    return "?";
}

PrefetchMode parse_prefetch(std::string_view name) {
    for (const PrefetchMode mode : {PrefetchMode::kOff, PrefetchMode::kAuto, PrefetchMode::kAlways}) {
        if (name_of(mode) == name) return mode;
    }
    throw Error(ErrorKind::kInvalidInput,
                "Prefetch cannot be \"" + std::string(name) + "\"; expected off, auto or always.");
}

}  // namespace offstage::engine
