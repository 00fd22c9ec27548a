#pragma once

#include <span>
#include <string_view>

namespace offstage::engine {

// A shape of a synthetic model: a config.json's sizes, which its family reads like any
// other's. Contexts are 32768 tokens for all, and positions unscaled.
struct SyntheticShape {
    std::string_view name;  // "mixtral-8x7b"
    std::string_view config;
};

std::span<const SyntheticShape> synthetic_shapes();

}  // namespace offstage::engine
