#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/model/model_spec.h"
#include "kernels/kv_cache.h"

namespace offstage::engine {

// Layers that keep keys and values of one shape for the same tokens: one block of the
// cache holds all of them. Or recurrent layers: one block holds their state of a sequence
// of any length.
struct KvGroup {
    kernels::KvShape shape;
    std::int64_t window = 0;  // tokens that a token sees, itself among them; 0: all
    bool is_state = false;    // for recurrent layers
    bool chunked = false;     // GroupedQuerySpec::chunked
    bool is_exact = false;    // float32 whatever the type of the cache

    bool keeps_type() const { return is_state || is_exact; }
};

// The KV cache of a model, in groups of layers that are alike.
struct KvLayout {
    // A layer's group, and its number among the group's layers. An indexer's keys have a
    // place as if they were those of a further layer.
    struct Place {
        std::size_t group = 0;
        std::int64_t layer = 0;
    };

    std::vector<KvGroup> groups;  // in the order of their first layers
    std::vector<Place> layers;    // that of a layer without attention counts for nothing
    std::vector<Place> indexers;  // that of a layer without an indexer of its own counts for nothing
    // Those of a layer without pooled keys (PooledSpec) count for nothing: the keys, and
    // what they and the indexer's are made of.
    std::vector<Place> pooled, sources, indexer_sources;
};

KvLayout kv_layout_of(const ModelSpec& spec, kernels::KvType type);

}  // namespace offstage::engine
