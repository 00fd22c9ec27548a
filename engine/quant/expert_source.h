#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

class QuantCache;

// Any expert in any format, from the master: packed unchanged, or quantized. Quantized
// experts are read from the cache on disk if they are there, and stored there otherwise.
// pack() may be called by several threads at once, each with its own pool; everything
// else by the thread that loads.
class ExpertSource {
  public:
    // `cache` may be nullptr: nothing is kept. The referents must outlive this object.
    ExpertSource(const ExpertGrid& grid, WeightSource& master, QuantCache* cache);
    ~ExpertSource();

    // Before anything is packed. With another method than HQQ nothing is kept on disk.
    void set_method(QuantMethod method) { method_ = method; }
    // Before anything is packed: the helper quantizes instead of the processor, one
    // expert at a time; others are quantized beside it. nullptr: none. It must outlive
    // this object's last pack().
    void set_helper(RowQuantizer* helper) { helper_ = helper; }
    std::int64_t n_helped() const { return n_helped_; }  // experts that the helper quantized. Any thread

    kernels::WeightType master_type() const { return master_.expert_type(); }  // see WeightSource
    std::uint64_t expert_bytes(kernels::WeightType format) const { return grid_.expert_bytes(format); }
    // The master's formats, bf16, and packed ones where the model's shape allows them
    // (hidden_dim a multiple of 64).
    bool supports(kernels::WeightType format) const;

    struct Packed {
        double relative_error = 0;  // of the format, 0 for the master's
        bool from_cache = false;
    };
    // block: expert_bytes(format) bytes. A format of the file only for layers that have
    // it. Throws Error: kCancelled; kOutOfMemory; kUnsupported for a format that
    // supports() denies; kInvalidModel where the master cannot be read. A cache that
    // cannot be read or written is no error: the expert is quantized again.
    Packed pack(LayerIndex layer, ExpertIndex expert, kernels::WeightType format, std::byte* block,
                kernels::ThreadPool& pool, const std::stop_token& stop = {});

    // The reason why an expert was not stored on disk since the last call, a sentence;
    // empty: all were stored. Any thread.
    Message take_cache_problem();

    // Whole loads: see WeightSource::watch and advance.
    WeightSource& master() { return master_; }

  private:
    // Bytes of the input for quantizing: an expert in the master's format, if that is a
    // plain one, otherwise also in float32 after it.
    std::uint64_t scratch_bytes() const;
    // Memory for one expert, scratch_bytes().
    class Scratch {
      public:
        explicit Scratch(ExpertSource& source);
        ~Scratch();
        Scratch(const Scratch&) = delete;
        Scratch& operator=(const Scratch&) = delete;
        std::byte* data() const { return memory_.get(); }

      private:
        ExpertSource& source_;
        std::unique_ptr<std::byte[]> memory_;
    };

    const ExpertGrid grid_;
    WeightSource& master_;
    QuantCache* cache_;
    QuantMethod method_ = QuantMethod::kHqq;
    RowQuantizer* helper_ = nullptr;
    std::mutex helping_;  // held while helper_ works
    std::atomic<std::int64_t> n_helped_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::byte[]>> spare_;  // guarded by mutex_
};

}  // namespace offstage::engine
