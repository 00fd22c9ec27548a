#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/mirror.h"
#include "engine/experts/expert_packer.h"
#include "engine/experts/expert_store.h"
#include "engine/message.h"
#include "engine/plan/plan.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

enum class MigrationState : std::uint8_t { kNone, kMoving, kDone, kFailed };

// The progress of a migration. Copies: an expert's new copy in RAM or on the device.
struct MigrationProgress {
    std::int64_t requested = 0;  // copies
    std::int64_t visible = 0;    // of these, in use
    std::uint64_t bytes_requested = 0;
    std::uint64_t bytes_moved = 0;
    MigrationWork work, done;  // the same in what each expert takes
};

// Makes a plan's copies, beside the ones in use, while tokens are generated: one expert
// is packed or quantized at a time (ExpertPacker's thread), one is being copied to the
// device, and at most one such copy is begun per step, so that a step takes no longer
// than its own work and one expert's copy. Experts whose copies are complete change over
// one by one: places between two layers, formats between two steps. At every moment each
// expert has a complete copy, or is on disk and there are slots for it, and both memories
// are within their budgets.
//
// Where a memory has no room for a new copy beside the old one, the new one passes
// through a block of its own, as in a load, and takes the old one's place between two
// steps; slots for experts on disk that the plan does not have make room for the last
// copies. So every plan that a load has room for can be reached.
//
// On a failure (no memory, a refused copy, an expert that cannot be packed) it stops,
// with all used copies complete, and reports the reason; its owner then begins a
// migration back. One thread, the engine's.
class Migrator {
  public:
    // The referents must outlive this object.
    Migrator(ExpertStore& store, ExpertSource& source, Backend& device, bool dry);
    ~Migrator() { stop(); }
    Migrator(const Migrator&) = delete;
    Migrator& operator=(const Migrator&) = delete;

    // Starts a migration from the current state to this plan, after giving up one under
    // way. `held` experts (pinned by the user) keep their place. Only prepares; advance()
    // does the work.
    void begin(const Plan& plan);
    // Gives up copies that are not in use yet.
    void stop();

    MigrationState state() const { return state_; }
    bool moving() const { return state_ == MigrationState::kMoving; }
    const MigrationProgress& progress() const { return progress_; }
    // The time of each expert in all migrations so far, by now_us(): from its turn until
    // its end was noticed, including other work beside it, and a copy's wait for the next
    // step. idle: while no tokens were generated.
    const MigrationRates& rates(bool idle) const { return rates_[idle ? 1 : 0]; }
    const Message& problem() const { return problem_; }  // kFailed: a sentence
    // Microseconds of real time, on emulated devices too: background moves are not part
    // of their accounted time. For a dry model, where nothing moves, the device's clock.
    double now_us() const;

    enum class When : std::uint8_t { kBetweenLayers, kBetweenSteps, kIdle };
    // Continues as far as it can without waiting. kIdle: no token is being made, so it
    // may use the machine fully.
    void advance(When when);
    // kIdle: waits until advance() can do something, a short while at most. pool: the
    // caller's, which an expert is packed with.
    void wait(kernels::ThreadPool& pool);

  private:
    // Packed experts that wait for their copy to the device: a limit, so that RAM does
    // not hold second copies of many.
    static constexpr std::ptrdiff_t kPackedAhead = 2;

    struct Task {
        std::size_t expert = 0;
        kernels::WeightType format = kernels::WeightType::kBf16;
        bool ram = false;  // copies to make or keep
        bool device = false;
        bool changes = false;        // the format
        bool packed = false;         // its new block is filled: in RAM,
        bool passes = false;         // or the passing one
        bool requantizes = false;    // it had another format when the migration began
        std::int64_t tried_at = -1;  // changes_ when there was no room for it
    };

    ExpertCopies copies_of(std::size_t expert) const;
    bool needs_packing(const Task& task) const;
    bool needs_device(const Task& task) const;
    bool make_room(When when);
    void start_packing(const Task& task, std::byte* block, Backend* pins, When when);
    bool is_stuck(When when) const;
    void find_room(When when);
    bool slots_may_go_for(std::size_t expert) const;
    bool fits_in_its_place(const Task& task) const;
    bool drop_second_copy();
    bool reduce_slots();
    void pack_next(When when);
    void upload_next(When when);
    void finish_packing(When when);
    void finish_upload(When when);
    void learn_upload(When when, kernels::WeightType format);
    void finish_ready();
    void change_over(const Task& task);
    void fail(const Message& problem);

    ExpertStore& store_;
    Backend& device_;
    bool dry_;
    ExpertPacker packer_;
    MigrationState state_ = MigrationState::kNone;
    MigrationProgress progress_;
    Message problem_;

    std::vector<Task> to_pack_;    // the next one last
    std::vector<Task> to_upload_;  // the next one first
    std::optional<Task> packing_, uploading_;
    PinnedHost<std::byte> passing_;  // beside the budgets: for one expert at a time
    std::vector<Task> ready_;        // wait for the end of a step
    double packing_since_us_ = 0, uploading_since_us_ = 0;
    std::optional<double> queued_since_us_;      // since when the next copy to the device has waited for its step only
    std::optional<kernels::WeightType> copied_;  // the format of a copy that is whole before its step has ended
    MigrationRates rates_[2];                    // [1]: idle
    bool may_upload_ = true;
    bool no_room_ = false;      // for the last attempted copy to the device: experts yet to be packed may make some
    Message shortage_;          // the last attempt's problem
    std::int64_t n_slots_ = 0;  // for experts on disk, and the next two: as the plan has them
    std::uint64_t slot_bytes_ = 0;
    bool buffered_ = false;
    std::int64_t changes_ = 0;  // counts everything that happened: nothing happening means being stuck
};

}  // namespace offstage::engine
