#pragma once
// What tests of measured costs share: a device that is accounted, and a comparison.

#include <algorithm>

#include <QtTest>

#include "engine/device/emulated_accelerator.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"
#include "kernels/thread_pool.h"

namespace offstage::test {

inline constexpr std::int64_t kHidden = 256;
inline constexpr std::int64_t kFfn = 512;
inline constexpr std::size_t kExpertBytes = std::size_t{3} * kHidden * kFfn * 2;
inline constexpr int kExperts = 6;

inline engine::ExpertGrid grid(std::int64_t ffn_dim = kFfn) {
    engine::ExpertGrid grid;
    grid.n_active = 2;
    grid.hidden_dim = kHidden;
    grid.ffn_dim = ffn_dim;
    return grid;
}

// So slow that every figure is far above the launches. The host is accounted too, so that
// nothing depends on this machine's speed.
inline engine::HardwareProfile profile() {
    engine::HardwareProfile p;
    p.id = "test";
    p.name = "Test GPU";
    p.memory_bytes = std::uint64_t{1} << 30;
    p.reserved_bytes = 1;
    p.memory_gbps = 4;
    p.memory_efficiency = 0.5;
    p.tflops = 0.1;
    p.compute_efficiency = 0.5;
    p.bus_gbps = 1;
    p.bus_efficiency = 0.8;
    p.launch_us = 5;
    p.sync_us = 12;
    p.copy_latency_us = 10;
    p.host = engine::HostProfile{"test host", 2, 2.24, 20};
    return p;
}

struct Fixture {
    explicit Fixture(std::uint64_t budget = std::uint64_t{64} << 20, const engine::HardwareProfile& p = profile(),
                     int n_slots = 1)
        : device(p, operations, budget) {
        for (int e = 0; e < kExperts; ++e) {
            auto& block = weights.emplace_back(kExpertBytes / 2);
            for (std::size_t i = 0; i < block.size(); ++i) {
                block[i] =
                    kernels::to_bf16(0.01f * static_cast<float>((i * 31 + static_cast<std::size_t>(e)) % 97) - 0.5f);
            }
            experts.push_back({block.data(), grid().layout(kernels::WeightType::kBf16)});
        }
        for (int i = 0; i < n_slots; ++i) {
            blocks.push_back(device.memory().allocate(kExpertBytes, engine::MemoryUse::kStaging, "a test"));
            device_slots.push_back(blocks.back().data());
        }
        request.experts = experts;
        request.device_slots = device_slots;
        request.largest = 64;
        request.budget_s = 60;  // never spent
    }
    engine::CostTable run() { return engine::calibrate(device, operations, request, {}, {}); }

    kernels::ThreadPool pool{2};
    engine::CpuOperations operations{pool, kernels::GemmMode::kF32};
    engine::EmulatedAccelerator device;
    std::vector<std::vector<kernels::Bf16>> weights;
    std::vector<kernels::ExpertView> experts;
    std::vector<engine::DeviceBlock> blocks;
    std::vector<std::byte*> device_slots;
    engine::CalibrationRequest request;
};

inline bool same(const std::vector<engine::CostPoint>& a, const std::vector<engine::CostPoint>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const engine::CostPoint& x, const engine::CostPoint& y) {
                          return x.n_tokens == y.n_tokens && x.us == y.us;
                      });
}

inline bool same(const engine::CostTable& a, const engine::CostTable& b) {
    return a.device == b.device && a.weight_type == b.weight_type && a.hidden_dim == b.hidden_dim &&
           a.ffn_dim == b.ffn_dim && a.expert_bytes == b.expert_bytes && a.pinned == b.pinned &&
           a.weight_copy_us == b.weight_copy_us && same(a.activation_copy, b.activation_copy) &&
           same(a.gpu_expert, b.gpu_expert) && same(a.cpu_expert, b.cpu_expert) && a.sync_us == b.sync_us &&
           a.cpu_slowdown == b.cpu_slowdown && a.copy_slowdown == b.copy_slowdown && a.emulated == b.emulated &&
           a.measured_at == b.measured_at && a.disturbed == b.disturbed && a.doubt == b.doubt &&
           std::equal(a.sparse_cpu.begin(), a.sparse_cpu.end(), b.sparse_cpu.begin(), b.sparse_cpu.end(),
                      [](const engine::SparseFactor& x, const engine::SparseFactor& y) {
                          return x.share == y.share && x.factor == y.factor;
                      });
}

}  // namespace offstage::test
