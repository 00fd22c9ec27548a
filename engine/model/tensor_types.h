#pragma once
// The tensors of a checkpoint by purpose: their formats - a file called Q4_K_M mixes
// several - and the unused ones.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/message.h"
#include "engine/model/checkpoint.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

struct TypeCount {
    std::string type;  // as the file names it
    std::int64_t n_tensors = 0;
    std::uint64_t bytes = 0;
};

struct RoleTypes {
    std::string role;              // "experts, down"
    std::vector<TypeCount> types;  // most bytes first
};

// The model's roles, in the order in which a token meets them; `spec`: from
// read_model_spec(). Tensors that the model does not use are left out.
std::vector<RoleTypes> types_by_role(const Checkpoint& checkpoint, const ModelSpec& spec);

// For all roles but the experts', most bytes first: "Q6_K, F32".
std::string dense_types(const std::vector<RoleTypes>& roles);

// Tensors that nothing here reads.
struct UnusedTensors {
    enum class Part : std::uint8_t { kPredictionLayers, kVision, kAudio, kLayers, kOther };
    Part part = Part::kOther;
    std::string first;  // the first one's name
    std::int64_t n_tensors = 0;
    std::uint64_t bytes = 0;
};

// By the part that they belong to, in the order of Part; empty: all are used. A tensor is
// unused if it is in none of the model's roles and no list of rotary factors.
std::vector<UnusedTensors> unused_tensors(const Checkpoint& checkpoint, const ModelSpec& spec);
const char* name_of(UnusedTensors::Part part);  // "vision tower"
// A sentence for the user.
Message describe(const UnusedTensors& unused);

}  // namespace offstage::engine
