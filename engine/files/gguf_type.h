#pragma once

#include <cstdint>
#include <string>

#include "engine/message.h"
#include "kernels/types.h"

namespace offstage::engine {

// A tensor type of ggml by its number, as GGUF files name it.
struct GgufType {
    const char* name;
    std::uint64_t weights;  // in a block; 0: not known
    std::uint64_t bytes;
    bool supported;            // it can be read
    kernels::WeightType type;  // if so; BF16 for blocks that are read as such (engine/model/quantized_tensor.h)
};
GgufType gguf_type(std::uint32_t number);

// For messages: "Q4_K"; for types that cannot be read "Q8_1 (type 9)", "IQ4_KS of
// ik_llama.cpp (type 144)" or "type 99999".
std::string gguf_type_name(std::uint32_t number);
// "one of F32, F16 ...", and advice if a tensor has none of these types.
Message readable_gguf_types();

}  // namespace offstage::engine
