#pragma once

#include <array>
#include <string_view>

#include "kernels/kv_type.h"

namespace offstage::engine {

// The format of the conversation's keys and values.
using kernels::KvType;
inline constexpr std::array kKvTypes = {KvType::kF32, KvType::kBf16, KvType::kInt8};

std::string_view name_of(KvType type);        // "f32", "bf16", "int8"
KvType parse_kv_type(std::string_view name);  // throws Error (kInvalidInput), listing the names

}  // namespace offstage::engine
