#pragma once
// In which formats a checkpoint has its tensors, by what they are for: a file called
// Q4_K_M mixes several.

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace offstage::engine
