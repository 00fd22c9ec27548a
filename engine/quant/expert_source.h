#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/model/model_config.h"
#include "engine/model/weights.h"
#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

class QuantCache;

// Any expert in any format, from the master: packed as it is, or quantized - read from the cache on disk where it has
// been quantized before, and kept there afterwards. pack() may be called by several threads at once, each with a pool
// of its own; everything else by the thread that loads.
class ExpertSource {
  public:
    // `cache` may be nullptr: nothing is kept. The referents must outlive this object.
    ExpertSource(const ModelConfig& config, WeightSource& master, QuantCache* cache);
    ~ExpertSource();

    kernels::WeightType master_type() const { return master_.expert_type(); }
    std::uint64_t expert_bytes(kernels::WeightType format) const;
    // False where the model's shape does not allow the format (hidden_dim no multiple of 64).
    bool supports(kernels::WeightType format) const;

    struct Packed {
        double relative_error = 0;  // of the format, 0 for the master's
        bool from_cache = false;
    };
    // block: expert_bytes(format) bytes. Throws Error: kCancelled; kOutOfMemory; kUnsupported for a format that
    // supports() denies. A cache that cannot be read or written is no error: the expert is quantized again.
    Packed pack(LayerIndex layer, ExpertIndex expert, kernels::WeightType format, std::byte* block,
                kernels::ThreadPool& pool, const std::stop_token& stop = {});

    // Whole loads: see WeightSource::watch and advance.
    WeightSource& master() { return master_; }

  private:
    const ModelConfig& config_;
    WeightSource& master_;
    QuantCache* cache_;
};

}  // namespace offstage::engine
