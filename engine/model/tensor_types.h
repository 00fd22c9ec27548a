#pragma once
// What the tensors of a checkpoint are for: in which formats it has them - a file called
// Q4_K_M mixes several - and which of them nothing reads.

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

// Roles that the model has, in the order in which a token meets them; `spec` as
// read_model_spec() gave it. Tensors that the model does not use are left out.
std::vector<RoleTypes> types_by_role(const Checkpoint& checkpoint, const ModelSpec& spec);

// Of all roles but the experts', most bytes first: "Q6_K, F32".
std::string dense_types(const std::vector<RoleTypes>& roles);

// Tensors that nothing here reads.
struct UnusedTensors {
    enum class Part : std::uint8_t { kPredictionLayers, kVision, kAudio, kLayers, kOther };
    Part part = Part::kOther;
    std::string first;  // the first one's name
    std::int64_t n_tensors = 0;
    std::uint64_t bytes = 0;
};

// By what they belong to, in the order of Part; empty: all are read. What is in none of
// the model's roles, and no list of rotary factors either, is unused.
std::vector<UnusedTensors> unused_tensors(const Checkpoint& checkpoint, const ModelSpec& spec);
const char* name_of(UnusedTensors::Part part);  // "vision tower"
// A sentence for the person.
Message describe(const UnusedTensors& unused);

}  // namespace offstage::engine
