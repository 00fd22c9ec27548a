#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/experts/cache_policy.h"
#include "engine/files/direct_reads.h"
#include "engine/files/read_buffers.h"
#include "engine/message.h"
#include "engine/model/expert_strips.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"

namespace offstage::engine {

// Reads experts from the model's files into their blocks, directly from the disk and
// beside all other work: an expert is cut into strips, many of which are read at once;
// this object's threads put each into its place in the block. Needed experts come before
// guessed ones, whose strips are begun when all strips of needed ones have been begun.
// One thread calls this, the engine's.
class ExpertReader {
  public:
    enum class Urgency : std::uint8_t { kNeeded, kGuess };
    class Read;
    using Handle = std::shared_ptr<Read>;

    // nullptr: the experts' bytes are not in files. `source` must outlive this object.
    static std::unique_ptr<ExpertReader> open(const ExpertGrid& grid, const WeightSource& source,
                                              DirectReads::Kind kind = DirectReads::Kind::kBest);
    ~ExpertReader();  // cancels its reads
    ExpertReader(const ExpertReader&) = delete;
    ExpertReader& operator=(const ExpertReader&) = delete;

    // The memory for reading strips: buffers.bytes(), which must stay until the next
    // call. No read may be under way. None at first, and without buffers nothing is read.
    void set_buffers(const ReadBuffers& buffers, std::byte* memory);

    // Into a block of the layer's stored format. nullptr: this expert cannot be read so.
    Handle start(ExpertKey expert, std::byte* block, Urgency urgency);
    // A guess is needed now.
    void need(const Handle& read);
    // Whether no thread writes to its block any more.
    bool is_done(const Handle& read) const;
    // And its block has all of the expert.
    bool is_whole(const Handle& read) const;
    // Throws Error (kInvalidModel) naming the file where it could not be read.
    void wait(const Handle& read);
    // Begins no further strips; is_done() when those under way have arrived.
    void cancel(const Handle& read);
    // Waits until no thread writes to its block, for any outcome.
    void drain(const Handle& read);

    // Totals of begun reads: a guess that was needed later counts as both.
    struct Counts {
        std::uint64_t needed = 0, guessed = 0, used_guesses = 0, cancelled = 0;
        std::uint64_t bytes = 0;         // read from files
        std::uint64_t needed_bytes = 0;  // of reads that were needed, or became needed
        double cpu_us = 0;               // of this object's threads: beginning reads and putting strips into place
    };
    Counts counts() const;
    const char* way() const { return reads_->name(); }

  private:
    struct Flight {  // one buffer's
        Handle read;
        std::size_t strip = 0;
        int n_left = 0;  // ranges left
        bool guess = false;
        Message problem;
    };

    ExpertReader(const ExpertGrid& grid, kernels::WeightType master, const FileExperts& experts,
                 DirectReads::Kind kind);
    void work();
    int n_under_way() const { return n_needed_strips_ + n_guessed_strips_; }
    bool can_begin() const { return !free_.empty() && n_under_way() < kMostReadsAtOnce; }
    void begin_strips();
    void prepare(std::size_t buffer);
    void wake();
    void finish(std::size_t buffer);
    const std::byte* data_of(std::size_t buffer, bool exponents) const;
    void close(Read& read);

    const ExpertGrid grid_;
    const kernels::WeightType master_;
    const FileExperts& experts_;
    std::vector<std::unique_ptr<DirectFile>> files_;
    std::unique_ptr<DirectReads> reads_;
    ReadBuffers buffers_;
    std::byte* memory_ = nullptr;

    mutable std::mutex mutex_;  // guards the rest
    std::condition_variable changed_;
    std::deque<Handle> needed_, guessed_;             // with strips that were not begun
    std::vector<Flight> flights_;                     // by buffer
    std::deque<std::size_t> free_;                    // buffers, the least recently used first
    int n_needed_strips_ = 0, n_guessed_strips_ = 0;  // under way
    std::vector<DirectRead> begun_;                   // room for begin_strips()
    bool woken_ = false;                              // a thread is about to begin strips
    Counts counts_;
    std::vector<std::jthread> threads_;  // the last member: they use the others
};

}  // namespace offstage::engine
