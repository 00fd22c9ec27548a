#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/model/indices.h"
#include "engine/model/model_config.h"
#include "engine/model/weights.h"
#include "engine/plan/planner.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {

// Where every expert is, and its copies. Each copy is one contiguous neuron-major block (kernels::ExpertView), so one
// copy moves an expert. The master of all is the WeightSource (a mapped checkpoint); copies lie in RAM (page-locked
// where the system lets us) and on the device, each under its arena's budget. An expert without either is packed from
// its master into one of a few slots when it is called.
//
// One thread, the engine's. What happens between two layers is visible to the next: a copy on its way to the device is
// not there before it is whole.
class ExpertStore {
  public:
    ExpertStore() = default;
    // Makes the copies that the plan asks for. Where the device has less room than planned, or refuses a copy, experts
    // stay in RAM and a note says so. Throws Error: kOutOfMemory (RAM), kCancelled, kDevice. The referents must outlive
    // this object.
    ExpertStore(const ModelConfig& config, WeightSource& source, const Plan& plan, Backend& device, Arena& ram,
                kernels::ThreadPool& pool, std::uint64_t pin_budget_bytes);
    ~ExpertStore();
    ExpertStore(ExpertStore&& other) noexcept = delete;
    ExpertStore(const ExpertStore&) = delete;

    kernels::WeightType type() const { return type_; }
    std::uint64_t expert_bytes() const { return expert_bytes_; }
    Place place(std::int64_t layer, std::int64_t expert) const;
    std::int64_t n_resident() const { return n_resident_; }  // on the device; on a CPU backend: in RAM
    std::int64_t n_in_ram() const { return n_in_ram_; }
    std::uint64_t pinned_bytes() const { return pinned_bytes_; }
    const std::vector<std::string>& notes() const { return notes_; }
    // (n_layers, n_experts), 1 where the device holds the expert.
    void residency(std::vector<std::uint8_t>& resident) const;

    bool has_ram_copy(std::int64_t layer, std::int64_t expert) const {
        return entries_[index(layer, expert)].ram_slot >= 0;
    }

    // Precondition: place() is kDevice.
    kernels::ExpertView on_device(std::int64_t layer, std::int64_t expert) const;
    // The RAM copy, or one packed now; valid until n_host_slots() other experts without a copy were asked for.
    kernels::ExpertView on_host(std::int64_t layer, std::int64_t expert);
    std::int64_t n_host_slots() const { return static_cast<std::int64_t>(host_slots_.size()); }
    // The block that on_host() gave is read until `event`.
    void hold(std::int64_t layer, std::int64_t expert, DeviceEvent event);

    // Room on the device for copies on demand.
    std::int64_t n_staging() const { return static_cast<std::int64_t>(staging_.size()); }
    std::byte* staging(std::int64_t slot) const { return staging_[static_cast<std::size_t>(slot)].data(); }

    // All RAM copies, one after the other: what a bandwidth probe reads.
    std::span<const std::byte> ram() const { return {ram_.data(), static_cast<std::size_t>(ram_.size())}; }
    // Some experts in RAM, for calibration.
    std::vector<kernels::ExpertView> some_in_ram(std::int64_t n) const;

    // Gives one expert's place on the device to another, in the background: the first leaves at once, the second is
    // there once poll() finds its copy whole. False when that cannot be now (another is on its way, no RAM copy, the
    // device refused).
    bool begin_exchange(const Exchange& exchange);
    void poll();
    bool exchanging() const { return exchange_.has_value(); }
    std::uint64_t n_exchanged() const { return n_exchanged_; }

  private:
    struct Entry {
        std::int32_t device_slot = -1;
        std::int32_t ram_slot = -1;
    };
    struct HostSlot {
        DeviceBlock memory;
        std::int64_t expert = -1;  // index into entries_
        std::uint64_t last_use = 0;
        DeviceEvent busy;
    };
    struct Exchanging {
        std::size_t admitted;
        std::int32_t device_slot;
        DeviceEvent done;
    };

    std::size_t index(std::int64_t layer, std::int64_t expert) const;
    kernels::ExpertView view(const std::byte* block) const { return {block, type_, hidden_dim_, ffn_dim_}; }
    const std::byte* ram_block(std::int32_t slot) const {
        return ram_.data() + static_cast<std::size_t>(slot) * expert_bytes_;
    }
    void pin(std::uint64_t budget_bytes);
    void fill(WeightSource& source, const Plan& plan);
    bool put_on_device(std::size_t entry, const std::byte* block);

    Backend* device_ = nullptr;
    WeightSource* source_ = nullptr;
    kernels::ThreadPool* pool_ = nullptr;
    kernels::WeightType type_ = kernels::WeightType::kBf16;
    std::int64_t hidden_dim_ = 0, ffn_dim_ = 0, n_layers_ = 0, n_experts_ = 0;
    std::uint64_t expert_bytes_ = 0;
    DeviceBlock ram_;
    std::uint64_t pinned_bytes_ = 0;
    std::vector<Entry> entries_;  // (n_layers, n_experts)
    std::vector<DeviceBlock> device_slots_;
    std::vector<DeviceBlock> staging_;
    std::vector<HostSlot> host_slots_;
    std::uint64_t uses_ = 0;
    std::int64_t n_resident_ = 0, n_in_ram_ = 0;
    std::optional<Exchanging> exchange_;
    std::uint64_t n_exchanged_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace offstage::engine
