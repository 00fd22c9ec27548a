#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/mirror.h"
#include "engine/experts/cache_policy.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/neuron_thresholds.h"
#include "kernels/expert_layout.h"

namespace offstage::engine {

// Copies of experts without the neurons that a theta leaves out (CORM, section 4.1). The
// CPU multiplies the rows by w1 and so finds the neurons that any of them needs; only
// those are gathered from the expert's block in RAM into page-locked memory, as a smaller
// expert of the same layout, which one copy moves to the device and which is computed
// from its staging slot. An expert is copied whole where its layout has no separate
// neurons, where its rows are many, and where so many neurons are active that gathering
// takes longer than it saves (kMostCopiedShare, and measured times).
//
// One thread, the engine's.
class SparseCopies {
  public:
    // Copies have a multiple of this many neurons, so that all their matrices are as
    // aligned as the whole expert's.
    static constexpr std::int64_t kNeuronGrain = 16;

    // Page-locked host memory for experts of this size, allocated when the first expert
    // is gathered.
    static constexpr std::size_t kBuffers = 2;  // one is filled while the other is copied
    static constexpr std::size_t buffer_bytes(std::size_t whole_bytes) { return whole_bytes / 100 * 76 + 4096; }

    // The rows that an expert is computed for: [first_row, first_row + n_rows), row r of
    // which is the input inputs[row_token[r]], (n, hidden_dim) on the host.
    struct Rows {
        const float* inputs = nullptr;
        const std::int32_t* row_token = nullptr;
        std::int64_t first_row = 0;
        std::int64_t n_rows = 0;
        bool guess = false;  // the inputs of the layer before, used ahead of demand
    };
    // A smaller expert in page-locked memory: the bytes to copy. neurons: see ExpertCall,
    // including those that the device had already; order: see ExpertView, for a block
    // with the latter first. Valid until the next gather().
    struct Gathered {
        kernels::ExpertView expert;
        std::span<const std::int32_t> neurons;
        const std::int32_t* order = nullptr;
        std::size_t buffer = 0;
    };

    // The referents must outlive this object.
    SparseCopies(Backend& device, CpuOperations& operations, const CostModel& cost)
        : device_(device), operations_(operations), cost_(cost) {}

    // Where choosing neurons does not pay, every so many-th expert is tried anyway.
    static constexpr std::uint64_t kLookAgain = 64;

    void set_mode(SparseLoading mode) { mode_ = mode; }
    void set_guesses(NeuronGuesses guesses) { guesses_ = guesses; }
    bool accepts_guesses() const { return guesses_ == NeuronGuesses::kAccept; }
    // From the next layer on. 0: all experts are copied whole.
    void set_thetas(const ExpertThetas& thetas) { thetas_ = thetas; }
    bool on() const { return thetas_.leaves_out() && mode_ != SparseLoading::kOff && !device_.shares_host_memory(); }

    void begin_layer(std::int64_t layer) {
        if (layer == 0) ++step_;
        layer_ = layer;
        work_ = {};
    }
    // whole: the expert `key`. held: neurons that the device has, in any order. nullopt:
    // the caller should copy the whole expert.
    std::optional<Gathered> gather(ExpertKey key, const kernels::ExpertView& whole, kernels::WeightType format,
                                   const Rows& rows, std::span<const std::int32_t> held = {});
    // The buffer is read until then.
    void copied(std::size_t buffer, DeviceEvent end) { buffers_[buffer].copied = end; }

    // This layer's work. Times: the CPU's; the expected ones are the cost model's
    // predictions.
    struct Work {
        double choosing_us = 0, expected_choosing_us = 0;
        double gathering_us = 0, expected_gathering_us = 0;
        kernels::NeuronCounts chosen;   // of all experts that were tried
        kernels::NeuronCounts counted;  // of those among them that were not copied whole
        // Neurons that at least one row needs, and those of them that the device had
        // already.
        std::uint64_t needed = 0, held = 0;
    };
    const Work& work() const { return work_; }
    // The result of the last gather() is not used; the expert is tried again.
    void take_back();
    // The last gather()'s neurons in its copy, in stored order; how many neurons were
    // needed and held.
    std::span<const std::int32_t> came() const { return neurons_; }
    std::pair<std::size_t, std::size_t> last_hits() const { return {n_needed_, n_held_}; }

  private:
    struct Buffer {
        PinnedHost<std::byte> memory;
        DeviceEvent copied;
    };

    void choose(ExpertKey key, const kernels::ExpertView& expert, kernels::WeightType format, const Rows& rows);
    void draw(ExpertKey key, std::int64_t ffn_dim, const Rows& rows);
    void leave_held_out(std::span<const std::int32_t> held);
    void add_up_to_grain(const kernels::ExpertLayout& layout);
    void put_in_order(std::span<const std::int32_t> held);
    std::byte* room(std::size_t bytes, std::size_t whole_bytes);

    Backend& device_;
    CpuOperations& operations_;
    const CostModel& cost_;
    SparseLoading mode_ = SparseLoading::kAuto;
    ExpertThetas thetas_;
    NeuronGuesses guesses_ = NeuronGuesses::kCorrect;
    std::int64_t layer_ = 0;
    Work work_;
    kernels::NeuronCounts counts_;  // the current expert's
    std::size_t n_needed_ = 0, n_held_ = 0;
    std::vector<std::int32_t> neurons_, missing_;
    std::vector<std::int32_t> held_;         // ascending
    std::vector<std::int32_t> all_, order_;  // held and gathered ones together
    std::uint64_t step_ = 0;
    std::uint64_t n_not_looked_at_ = 0;
    std::array<Buffer, kBuffers> buffers_;
    std::size_t next_ = 0;
    bool no_room_ = false;  // the system refused the buffers' memory
};

// Gathers neurons `places` of an expert whose layout is neuron-major, with all of w2's
// biases, as a block of layout_of(whole, places.size()). to: its bytes().
kernels::ExpertLayout layout_of(kernels::ExpertLayout whole, std::int64_t n_neurons);
void gather_neurons(const kernels::ExpertView& whole, std::span<const std::int32_t> places, std::byte* to,
                    kernels::ThreadPool& pool);

}  // namespace offstage::engine
