#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/experts/expert_packer.h"
#include "engine/experts/expert_store.h"
#include "engine/message.h"
#include "engine/plan/planner.h"
#include "engine/plan/transition.h"

namespace offstage::engine {

enum class MigrationState : std::uint8_t { kNone, kMoving, kDone, kFailed };

// What a migration has done so far. Copies: an expert's new copy in RAM or on the device.
struct MigrationProgress {
    std::int64_t requested = 0;  // copies
    std::int64_t visible = 0;    // of these, in force
    std::uint64_t bytes_requested = 0;
    std::uint64_t bytes_moved = 0;
    MigrationWork work, done;  // the same in what each expert takes
};

// Brings about the copies that a plan asks for, beside the ones in force, while tokens are being made: one expert is
// packed or quantized at a time (ExpertPacker's thread), one is on its way to the device, and at most one copy to the
// device is begun per step, so that a step takes no longer than its own work and one expert's copy. Experts whose
// copies are whole change over one by one: places between two layers, formats between two steps. At every moment each
// expert has a whole copy, or is on disk and there are slots for such, and both memories are within their budgets.
//
// When something fails - no memory, a refused copy, an expert that cannot be packed - it stops where it is, with all
// that is in force whole, and says why; whoever owns it then begins a migration back. One thread, the engine's.
class Migrator {
  public:
    // The referents must outlive this object.
    Migrator(ExpertStore& store, ExpertSource& source, Backend& device, bool dry);
    ~Migrator() { stop(); }
    Migrator(const Migrator&) = delete;
    Migrator& operator=(const Migrator&) = delete;

    // Towards this plan from what is in force now; a migration on its way is given up first. Experts that are `held`
    // (pinned by the person) keep their place. Does nothing yet.
    void begin(const Plan& plan);
    // Gives up what is not in force.
    void stop();

    MigrationState state() const { return state_; }
    bool moving() const { return state_ == MigrationState::kMoving; }
    const MigrationProgress& progress() const { return progress_; }
    // What each expert took in all migrations so far, by now_us(): from its turn until that was seen to be over, so
    // that what goes on beside is in it, and a copy's wait for the next step. idle: while no tokens were made.
    const MigrationRates& rates(bool idle) const { return rates_[idle ? 1 : 0]; }
    const Message& problem() const { return problem_; }  // kFailed: a sentence
    // Microseconds by the clock that a person waits by, on emulated devices too: what moves in the background is not
    // part of their accounted time. Of a dry model, where nothing moves, by the device's clock.
    double now_us() const;

    enum class When : std::uint8_t { kBetweenLayers, kBetweenSteps, kIdle };
    // Goes on as far as it can without waiting. kIdle: no token is being made, nothing need be spared.
    void advance(When when);
    // kIdle: waits until advance() can do something, a short while at most. pool: the
    // caller's, which an expert is packed with.
    void wait(kernels::ThreadPool& pool);

  private:
    // Packed experts that wait for their turn on the way to the device, so that RAM holds no second copy of many.
    static constexpr std::ptrdiff_t kPackedAhead = 2;

    struct Task {
        std::size_t expert = 0;
        kernels::WeightType format = kernels::WeightType::kBf16;
        bool ram = false;  // wanted copies
        bool device = false;
        bool changes = false;        // the format
        bool packed = false;         // its new RAM block is filled
        std::int64_t tried_at = -1;  // changes_ when there was no room for it
    };

    ExpertCopies copies_of(std::size_t expert) const;
    bool needs_packing(const Task& task) const;
    bool needs_device(const Task& task) const;
    bool make_room(When when);
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
    std::vector<Task> ready_;  // wait for the end of a step
    double packing_since_us_ = 0, uploading_since_us_ = 0;
    std::optional<double> queued_since_us_;      // the next copy to the device could have begun then, but for its step
    std::optional<kernels::WeightType> copied_;  // the format of a copy that is whole before its step has ended
    MigrationRates rates_[2];                    // [1]: idle
    bool may_upload_ = true;
    bool no_room_ = false;  // for the last copy to the device that was tried: what is yet to be packed may make some
    std::int64_t changes_ = 0;  // counts everything that happened: nothing happening means being stuck
};

}  // namespace offstage::engine
