#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <stop_token>

#include "engine/run/generation.h"

namespace offstage::engine {

// A request for an answer, and who gets it. The engine's thread calls both functions.
struct AnswerCall {
    const GenerationRequest* request = nullptr;  // these two live until `end` was called
    const TextDeltaFn* on_delta = nullptr;
    std::stop_token stop;
    // Called once: with the result, or with the exception that made it impossible.
    std::function<void(GenerationResult result, const std::exception_ptr& problem)> end;
};

// The next one that waits; nullopt: none does now.
using NextAnswerFn = std::function<std::optional<AnswerCall>()>;

}  // namespace offstage::engine
