#include "engine/experts/expert_store.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "engine/device/host_buffer.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kPinPiece = std::uint64_t{1} << 30;

}  // namespace

ExpertStore::ExpertStore(const ModelConfig& config, WeightSource& source, const Plan& plan, Backend& device, Arena& ram,
                         kernels::ThreadPool& pool, std::uint64_t pin_budget_bytes)
    : device_(&device),
      source_(&source),
      pool_(&pool),
      type_(source.expert_type()),
      hidden_dim_(config.hidden_dim),
      ffn_dim_(config.ffn_dim),
      n_layers_(config.n_layers),
      n_experts_(config.n_experts),
      expert_bytes_(kernels::expert_bytes(source.expert_type(), config.hidden_dim, config.ffn_dim)),
      entries_(static_cast<std::size_t>(config.n_layers * config.n_experts)) {
    assert(plan.places.size() == entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const bool in_ram = plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
        if (in_ram) entries_[i].ram_slot = static_cast<std::int32_t>(n_in_ram_++);
    }
    ram_ = ram.allocate(static_cast<std::size_t>(n_in_ram_) * expert_bytes_, MemoryUse::kExperts, "the experts");
    host_slots_.resize(static_cast<std::size_t>(plan.host_staging_slots));
    for (HostSlot& slot : host_slots_) {
        slot.memory = ram.allocate(expert_bytes_, MemoryUse::kStaging, "experts read from disk");
    }
    pin(pin_budget_bytes);
    if (!device.shares_host_memory()) {
        for (std::int64_t i = 0; i < plan.staging_slots; ++i) {
            try {
                staging_.push_back(device.memory().allocate(expert_bytes_, MemoryUse::kStaging, "copies on demand"));
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::kOutOfMemory) throw;
                notes_.push_back(device.info().name + " has no room for copies on demand: " + error.what());
                break;
            }
        }
    }
    fill(source, plan);
}

ExpertStore::~ExpertStore() {
    if (device_ == nullptr) return;
    // Nothing may still read or write what is given back.
    device_->host_wait(device_->record(DeviceEvent::Queue::kCopy));
    device_->host_wait(device_->record(DeviceEvent::Queue::kCompute));
    std::uint64_t done = 0;
    const std::uint64_t piece = std::max(expert_bytes_, kPinPiece / expert_bytes_ * expert_bytes_);
    for (; done < pinned_bytes_; done += piece) {
        device_->unpin({ram_.data() + done, static_cast<std::size_t>(std::min(piece, pinned_bytes_ - done))});
    }
}

void ExpertStore::pin(std::uint64_t budget_bytes) {
    if (device_->shares_host_memory() || ram_.size() == 0) return;
    const std::uint64_t piece = std::max(expert_bytes_, kPinPiece / expert_bytes_ * expert_bytes_);
    const std::uint64_t wanted = std::min<std::uint64_t>(ram_.size(), budget_bytes);
    while (pinned_bytes_ < wanted) {
        const std::uint64_t n = std::min(piece, wanted - pinned_bytes_);
        if (!device_->pin({ram_.data() + pinned_bytes_, static_cast<std::size_t>(n)})) break;
        pinned_bytes_ += n;
    }
    if (pinned_bytes_ < ram_.size()) {
        notes_.push_back("Only " + format_bytes(pinned_bytes_) + " of " + format_bytes(ram_.size()) +
                         " of experts in RAM are page-locked; copies of the others to the GPU are slower.");
    }
}

void ExpertStore::fill(WeightSource& source, const Plan& plan) {
    // Experts that keep no copy in RAM pass through two blocks, one being packed while the other is copied.
    std::array<DeviceBlock, 2> passing;
    std::array<DeviceEvent, 2> passed;
    HostBuffer passing_memory;
    std::size_t next = 0;
    std::int64_t refused = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        const bool to_device = plan.places[i] == Place::kDevice && !device_->shares_host_memory();
        const LayerIndex layer{static_cast<std::int32_t>(i / static_cast<std::size_t>(n_experts_))};
        const ExpertIndex expert{static_cast<std::int32_t>(i % static_cast<std::size_t>(n_experts_))};
        if (entry.ram_slot >= 0) {
            std::byte* block = ram_.data() + static_cast<std::size_t>(entry.ram_slot) * expert_bytes_;
            source.pack_expert(layer, expert, block, *pool_);
            if (to_device && !put_on_device(i, block)) ++refused;
        } else if (to_device) {
            if (passing_memory.size() == 0) passing_memory = HostBuffer(2 * expert_bytes_, "experts on their way");
            device_->host_wait(passed[next]);
            std::byte* block = passing_memory.data() + next * expert_bytes_;
            source.pack_expert(layer, expert, block, *pool_);
            if (!put_on_device(i, block)) ++refused;
            passed[next] = device_->record(DeviceEvent::Queue::kCopy);
            next = 1 - next;
        } else {
            continue;
        }
        source.advance();
    }
    device_->host_wait(device_->record(DeviceEvent::Queue::kCopy));
    if (!device_->ok()) {
        throw Error(ErrorKind::kDevice,
                    "Copying the experts to " + device_->info().name + " failed: " + device_->failure());
    }
    if (device_->shares_host_memory()) n_resident_ = n_in_ram_;
    if (refused > 0) {
        notes_.push_back(device_->info().name + " took " + std::to_string(n_resident_) + " experts; " +
                         std::to_string(refused) + " more were planned and found no room.");
        if (host_slots_.empty() && !plan.duplicates) {
            throw Error(ErrorKind::kOutOfMemory,
                        device_->info().name +
                            " has less memory free than planned, and RAM has no room for the "
                            "experts left over; close other programs or lower the VRAM budget.");
        }
    }
}

bool ExpertStore::put_on_device(std::size_t entry, const std::byte* block) {
    DeviceBlock slot;
    try {
        slot = device_->memory().allocate(expert_bytes_, MemoryUse::kExperts, "an expert");
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return false;
    }
    if (!device_->copy_weights(slot.data(), block, expert_bytes_, DeviceEvent{})) return false;
    entries_[entry].device_slot = static_cast<std::int32_t>(device_slots_.size());
    device_slots_.push_back(std::move(slot));
    ++n_resident_;
    return true;
}

std::size_t ExpertStore::index(std::int64_t layer, std::int64_t expert) const {
    assert(layer >= 0 && layer < n_layers_ && expert >= 0 && expert < n_experts_);
    return static_cast<std::size_t>(layer * n_experts_ + expert);
}

Place ExpertStore::place(std::int64_t layer, std::int64_t expert) const {
    const Entry& entry = entries_[index(layer, expert)];
    if (entry.device_slot >= 0) return Place::kDevice;
    return entry.ram_slot >= 0 ? Place::kRam : Place::kDisk;
}

void ExpertStore::residency(std::vector<std::uint8_t>& resident) const {
    resident.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        resident[i] = device_->shares_host_memory() ? entries_[i].ram_slot >= 0 : entries_[i].device_slot >= 0;
    }
}

kernels::ExpertView ExpertStore::on_device(std::int64_t layer, std::int64_t expert) const {
    const Entry& entry = entries_[index(layer, expert)];
    assert(entry.device_slot >= 0);
    return view(device_slots_[static_cast<std::size_t>(entry.device_slot)].data());
}

kernels::ExpertView ExpertStore::on_host(std::int64_t layer, std::int64_t expert) {
    const std::size_t i = index(layer, expert);
    if (entries_[i].ram_slot >= 0) return view(ram_block(entries_[i].ram_slot));
    assert(!host_slots_.empty());
    HostSlot* oldest = &host_slots_.front();
    for (HostSlot& slot : host_slots_) {
        if (slot.expert == static_cast<std::int64_t>(i)) {
            slot.last_use = ++uses_;
            return view(slot.memory.data());
        }
        if (slot.last_use < oldest->last_use) oldest = &slot;
    }
    device_->host_wait(oldest->busy);
    oldest->expert = -1;
    source_->pack_expert(LayerIndex{static_cast<std::int32_t>(layer)}, ExpertIndex{static_cast<std::int32_t>(expert)},
                         oldest->memory.data(), *pool_);
    oldest->expert = static_cast<std::int64_t>(i);
    oldest->last_use = ++uses_;
    return view(oldest->memory.data());
}

void ExpertStore::hold(std::int64_t layer, std::int64_t expert, DeviceEvent event) {
    const auto i = static_cast<std::int64_t>(index(layer, expert));
    for (HostSlot& slot : host_slots_) {
        if (slot.expert == i) slot.busy = event;
    }
}

std::vector<kernels::ExpertView> ExpertStore::some_in_ram(std::int64_t n) const {
    std::vector<kernels::ExpertView> experts;
    for (std::int32_t slot = 0; slot < std::min(n, n_in_ram_); ++slot) experts.push_back(view(ram_block(slot)));
    return experts;
}

bool ExpertStore::begin_exchange(const Exchange& exchange) {
    if (exchange_.has_value() || device_->shares_host_memory()) return false;
    const std::size_t admitted = index(exchange.admit_layer, exchange.admit_expert);
    const std::size_t evicted = index(exchange.evict_layer, exchange.evict_expert);
    Entry& in = entries_[admitted];
    Entry& out = entries_[evicted];
    if (in.device_slot >= 0 || in.ram_slot < 0 || out.device_slot < 0 || out.ram_slot < 0) return false;
    const std::int32_t slot = out.device_slot;
    // What the GPU still does with the evicted expert lies before this point of its queue.
    const auto done =
        device_->copy_weights(device_slots_[static_cast<std::size_t>(slot)].data(), ram_block(in.ram_slot),
                              expert_bytes_, device_->record(DeviceEvent::Queue::kCompute));
    if (!done) return false;
    out.device_slot = -1;
    --n_resident_;
    exchange_ = {admitted, slot, *done};
    return true;
}

void ExpertStore::poll() {
    if (!exchange_.has_value() || !device_->has_happened(exchange_->done)) return;
    entries_[exchange_->admitted].device_slot = exchange_->device_slot;
    ++n_resident_;
    ++n_exchanged_;
    exchange_.reset();
}

}  // namespace offstage::engine
