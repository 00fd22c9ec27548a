#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/eval/cache_replay.h"

namespace offstage::engine {

// The use of an expert for one computed token.
enum class ExpertOutcome : std::uint8_t {
    kNone,
    kHeld,       // on the device, and not called
    kHit,        // called, and found there
    kCopied,     // called, and brought there
    kCpu,        // called, and computed on the CPU
    kElsewhere,  // called, and computed by another machine
};

// Experts over tokens (Mixtral-Offloading, figure 1), of some layers.
struct ExpertPicture {
    struct Layer {
        std::string title;
        std::vector<ExpertOutcome> uses;       // (n_columns, n_experts)
        std::vector<std::int32_t> first = {};  // (n_columns): the router's first choice, drawn darker; empty: not known
    };
    std::string title;
    std::vector<std::pair<ExpertOutcome, std::string>> legend;
    std::int64_t n_columns = 0, n_experts = 0;
    std::vector<Layer> layers;  // one below the other
    std::string below;          // what columns and rows are
};
std::string to_svg(const ExpertPicture& picture);

struct CachePictureRequest {
    CacheKind policy = CacheKind::kLruLayer;
    std::int64_t n_slots = 0;
    CacheSettings settings{};
    std::vector<std::int64_t> layers;  // drawn layers, one below the other; empty: first, middle and last
    std::int64_t first_token = 0;
    std::int64_t n_tokens = 64;  // as many of them as the trace has
};

// A cache's picture of a trace: the experts that each token used, whether the cache held
// them, and its other contents. The cache begins as in compare_policies() and processes
// all tokens of the trace. Throws Error (kInvalidInput): a layer or a first token outside
// the trace, popularity of other shapes.
ExpertPicture cache_picture(const RoutingTrace& trace, const Popularity& popularity,
                            const CachePictureRequest& request);

}  // namespace offstage::engine
