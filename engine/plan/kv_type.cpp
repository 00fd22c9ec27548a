#include "engine/plan/kv_type.h"

#include <string>

#include "engine/error.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {

std::string_view name_of(KvType type) {
    switch (type) {
        case KvType::kF32:
            return "f32";
        case KvType::kBf16:
            return "bf16";
        case KvType::kInt8:
            return "int8";
    }
    return "?";
}

KvType parse_kv_type(std::string_view name) {
    for (const KvType type : kKvTypes) {
        if (name_of(type) == name) return type;
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_kv_type(name));
}

}  // namespace offstage::engine
