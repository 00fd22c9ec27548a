#pragma once
// The parts of a layer's time: the lists of what each side computes, and the play-through
// of all sides beside each other (makespan_us()).

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/schedule.h"

namespace offstage::engine {

// The CPU's share.
struct CpuList {
    double us = 0;       // without slow-downs by copies and reads
    double disk_us = 0;  // reading from disk, before all else
    // Experts that are read while others are computed, in their order.
    double beside_us = 0;       // reading all of them
    double first_read_us = 0;   // the first one
    double beside_cpu_us = 0;   // of `us`, computing them
    double last_beside_us = 0;  // with the last one
    double reading_us = 0;      // of `us`, the time of one token for each expert
    std::int64_t n_experts = 0;
    std::int64_t n_tokens = 0;

    void add(double expert_us, double one_us, const DiskReadCost& read, bool beside, std::int64_t tokens) {
        us += expert_us;
        reading_us += one_us;
        if (beside && read.us > 0) {
            us += read.cpu_us;
            if (beside_us == 0) beside_us = first_read_us = read.latency_us;
            if (beside_cpu_us == 0) first_read_us += read.us;
            beside_us += read.us;
            beside_cpu_us += expert_us + read.cpu_us;
            last_beside_us = expert_us;
        } else {
            disk_us += read.us;
        }
        ++n_experts;
        n_tokens += tokens;
    }
};

// A layer played through, event by event, as makespan_us() describes it.
class LayerTimeline {
  public:
    static constexpr std::int64_t kMostSlots =
        16;  // more are as good as 16: the GPU is never that far behind the copies

    // n_rows: tokens of all experts together. elsewhere: at most kMostElsewhere.
    LayerTimeline(const CostModel& cost, std::int64_t staging_slots, std::int64_t n_rows, ElsewhereCosts elsewhere)
        : cost_(cost),
          n_rows_(n_rows),
          copy_us_(cost.weight_copy_us()),
          one_token_us_(cost.cpu_us(1)),
          n_slots_(std::clamp<std::int64_t>(staging_slots, 1, kMostSlots)),
          elsewhere_(elsewhere) {}

    // The makespan of these assignments, the costs of which are set. Those of one target
    // run in their order. resident_us: of the device, beside the residents among them.
    template <typename Assignments>
    double makespan_us(const Assignments& assignments, double resident_us) {
        CpuList list;
        double copied_us = 0, copied_disk_us = 0, preparing_us = 0;
        if (!elsewhere_.empty()) there_ = {};
        for (const Assignment& a : assignments) {
            if (a.target == ExecutionTarget::kResident) {
                resident_us += a.gpu_us;
            } else if (a.target == ExecutionTarget::kCopy) {
                copied_disk_us += a.disk_us;
                preparing_us += a.preparing_us;
            } else if (a.target == ExecutionTarget::kCpu) {
                list.add(a.cpu_us, a.one_us, a.disk_us > 0 ? cost_.disk_read(a.format) : DiskReadCost{},
                         cost_.reads_beside(a.format), a.n_tokens);
            } else {
                const auto i = index_elsewhere(a.target);
                there_[i].us += elsewhere_[i]->expert_us(a.format, a.n_tokens);
                there_[i].n_rows += a.n_tokens;
            }
        }
        begin(resident_us, list, copied_disk_us, preparing_us);
        for (const Assignment& a : assignments) {
            if (a.target != ExecutionTarget::kCopy) continue;
            copied_us += a.gpu_us;
            copy(a.copy_us, a.disk_us + a.preparing_us, a.gpu_us);
        }
        gpu_busy_ = resident_us + copied_us;
        beside_ = list.beside_us;
        return std::max(finish(), elsewhere_end());
    }

    // ---- of the last makespan: Schedule's figures
    double gpu_busy_us() const { return gpu_busy_; }
    double copying_us() const { return copying_; }
    double cpu_busy_us() const { return cpu_busy_; }
    double reading_beside_us() const { return beside_; }

  private:
    struct There {
        double us = 0;
        std::int64_t n_rows = 0;
    };

    // copied_disk_us: before everything else the host reads experts that are copied
    // later. preparing_us: the host's work for copies before its own experts.
    void begin(double resident_us, const CpuList& list, double copied_disk_us, double preparing_us) {
        const bool hands_over = list.n_experts > 0 && cost_.table().has_accelerator();
        // Down before the GPU and the CPU begin, up when both are done.
        const double activations_us = hands_over ? download_us(list.n_tokens) : 0;
        upload_us_ = hands_over ? cost_.activation_copy_us(list.n_tokens) / 2 : 0;
        gpu_end_ = activations_us + copied_disk_us + resident_us;
        copy_end_ = copying_ = read_end_ = 0;
        n_copied_ = 0;
        cpu_clock_ = 0;
        cpu_lead_ =
            (hands_over ? activations_us + cost_.table().sync_us : 0) + list.disk_us + copied_disk_us + preparing_us;
        cpu_work_ = list.us;
        cpu_busy_ = 0;
        // The CPU computes experts that have arrived; at the end it waits for the last
        // one.
        reads_end_ = 0;
        if (list.beside_us > 0) {
            reads_end_ = std::max(list.beside_us + list.last_beside_us, list.first_read_us + list.beside_cpu_us) +
                         list.disk_us + copied_disk_us;
        }
        // The slow-downs were measured with one token, for which the CPU reads an
        // expert's weights at full speed. An expert with more tokens computes longer and
        // uses less of the memory's bandwidth.
        const double reading = list.us > 0 ? std::min(1.0, list.reading_us / list.us) : 0;
        const double demand =
            copy_us_ > 0 && one_token_us_ > 0 ? (one_token_us_ + reading * copy_us_) / (one_token_us_ + copy_us_) : 1;
        copy_slowdown_ = std::max(1.0, cost_.table().copy_slowdown * demand);
        cpu_slowdown_ = std::max(1.0, cost_.table().cpu_slowdown * demand);
    }

    // Adds the next expert to copy, after it has been read from disk and prepared; then
    // it runs for `gpu_us`.
    void copy(double copy_us, double before_us, double gpu_us) {
        read_end_ += before_us;
        double begin = std::max(copy_end_, read_end_);
        // A slot is free again when the expert that was in it has been computed.
        if (n_copied_ >= n_slots_) begin = std::max(begin, done_[static_cast<std::size_t>(n_copied_ % n_slots_)]);
        run_cpu(begin, 1.0);
        copy_end_ = begin + copy_beside_cpu(begin, copy_us);
        copying_ += copy_end_ - begin;
        gpu_end_ = std::max(gpu_end_, copy_end_) + gpu_us;
        done_[static_cast<std::size_t>(n_copied_ % n_slots_)] = gpu_end_;
        ++n_copied_;
    }

    // Ends the layer.
    double finish() {
        // The clock of a CPU that finished before the last copy is beyond its end, but
        // the GPU then ends later still.
        cpu_busy_ += cpu_work_;
        return std::max({gpu_end_, cpu_clock_ + cpu_lead_ + cpu_work_, reads_end_}) + upload_us_;
    }

    // When the last of the executors elsewhere is done.
    double elsewhere_end() const {
        double end = 0;
        for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
            if (there_[i].n_rows > 0) end = std::max(end, there_[i].us + elsewhere_[i]->transfer_us(there_[i].n_rows));
        }
        return end;
    }

    // All tokens of the step come to the host, each once; a few tokens do so anyway.
    double download_us(std::int64_t n_cpu_rows) const {
        const DenseCosts& dense = cost_.table().dense;
        if (!dense.known()) return cost_.activation_copy_us(n_cpu_rows) / 2;
        const std::int64_t n_tokens = n_rows_ / dense.n_active;
        return n_tokens <= kEagerTokens ? 0 : cost_.activation_copy_us(n_tokens) / 2;
    }

    // The CPU works until `until`; each microsecond of its work takes `slowdown`.
    void run_cpu(double until, double slowdown) {
        double time = until - cpu_clock_;
        if (time <= 0) return;
        cpu_clock_ = until;
        const double lead = std::min(time, cpu_lead_);
        cpu_lead_ -= lead;
        time -= lead;
        const double work = std::min(time / slowdown, cpu_work_);
        cpu_work_ -= work;
        cpu_busy_ += work * slowdown;
    }

    // Duration of one copy that begins now (the CPU's work has been advanced to this
    // time): full speed in the CPU's lead and after its end, slowed down in between.
    double copy_beside_cpu(double begin, double copy_us) {
        double left = copy_us;
        double duration = std::min(left, cpu_lead_);
        left -= duration;
        if (left > 0 && cpu_work_ > 0) {
            const double together = std::min(left * copy_slowdown_, cpu_work_ * cpu_slowdown_);
            left -= together / copy_slowdown_;
            duration += together;
        }
        duration += std::max(left, 0.0);
        run_cpu(begin + duration, cpu_slowdown_);
        return duration;
    }

    const CostModel& cost_;
    const std::int64_t n_rows_;
    const double copy_us_, one_token_us_;
    const std::int64_t n_slots_;
    const ElsewhereCosts elsewhere_;
    std::array<There, kMostElsewhere> there_{};
    double copy_slowdown_ = 1, cpu_slowdown_ = 1, upload_us_ = 0;
    std::array<double, kMostSlots> done_{};
    std::int64_t n_copied_ = 0;
    double gpu_end_ = 0, copy_end_ = 0, copying_ = 0, read_end_ = 0;
    double cpu_clock_ = 0, cpu_lead_ = 0, cpu_work_ = 0, cpu_busy_ = 0, gpu_busy_ = 0, beside_ = 0;
    double reads_end_ = 0;  // when the CPU has computed with the last expert that was read beside it
};

// The sides between which candidates are split, besides executors elsewhere.
enum class SplitHere : std::uint8_t {
    kNothing,  // each is for an executor elsewhere, and has one
    kCpu,
    kCpuAndCopies,  // there is an accelerator, and room on it for copies
};

// Searches the split of the candidates (most loaded first) with the smallest makespan;
// sets `target`. Only copies and the CPU: with few candidates it tries all splits. With
// more it takes the best of three simple splits (copy the most loaded, copy the least
// loaded, put each where it ends first), each improved by single moves and exchanges.
// With executors elsewhere: few candidates: all splits. More: each goes where it ends
// first; the better of this split and the best without the executors is improved by
// single moves, and by moves from one machine to the next.
void split_balanced(std::vector<Schedule::Candidate>& candidates, double resident_us, const CostModel& cost,
                    std::int64_t staging_slots, std::int64_t n_rows, SplitHere here, ElsewhereCosts elsewhere);

}  // namespace offstage::engine
