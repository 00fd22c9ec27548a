#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace offstage::engine {

// The objects of a request that have fields. The first two are whole bodies.
enum class RequestObject { kChat, kCompletion, kMessage, kPart, kStreamOptions, kToolCall, kFunction };

// Throws ApiError (400), with the field's name, for the first field of `object` that
// would change the answer and is not supported, and for the first unknown one. null
// counts as left out; so does a neutral value. `path`: before the field's name, such as
// "messages[3].".
void check_fields(const nlohmann::json& object, RequestObject kind, const std::string& path = {});

}  // namespace offstage::engine
