#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/eval/cache_replay.h"

namespace offstage::engine {

struct CachePictureRequest {
    CacheKind policy = CacheKind::kLruLayer;
    std::int64_t n_slots = 0;
    CacheSettings settings{};
    std::vector<std::int64_t> layers;  // drawn layers, one below the other; empty: first, middle and last
    std::int64_t first_token = 0;
    std::int64_t n_tokens = 64;  // as many of them as the trace has
};

// An SVG picture of experts over tokens (Mixtral-Offloading, figure 1): the experts that
// each token used, the first choice darker than the others, whether the cache held them,
// and its other contents. The cache begins as in compare_policies() and processes all
// tokens of the trace. Throws Error (kInvalidInput): a layer or a first token outside the
// trace, popularity of other shapes.
std::string cache_picture(const RoutingTrace& trace, const Popularity& popularity, const CachePictureRequest& request);

}  // namespace offstage::engine
