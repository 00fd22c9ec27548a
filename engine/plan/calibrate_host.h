#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <string>

#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

class CalibrationCache;
class RowQuantizer;
class WeightSource;

// The number of weights that one thread quantizes (HQQ) in a second, with the device's
// help where there is some, by format; 0: not measured.
using QuantizingSpeeds = std::array<double, kernels::kWeightTypes>;

// From the cache, or measured now on rows of a model's size (some milliseconds per packed
// format) and stored. hidden_dim: a multiple of kernels::kPackedBlock, otherwise nothing
// is measured. helper: of the device with this fingerprint, or nullptr. Throws Error
// (kCancelled).
QuantizingSpeeds quantizing_speeds(std::int64_t hidden_dim, const CalibrationCache& cache, std::stop_token stop,
                                   RowQuantizer* helper = nullptr, const std::string& device = {});

// One expert of the master from where it lies - a disk, or drawn anew for a synthetic
// model - into RAM, packed and ready: the median of up to five, far apart in the model,
// each made cold before; or (`cold` false) of more, which were all read once before; microseconds. 0 where pages
// cannot be made cold, and where RAM has no room for one. The first is read in any case, others while `seconds` last.
// Throws Error (kCancelled; what WeightSource::pack_expert does).
double measure_disk_read_us(WeightSource& master, std::int64_t n_layers, std::int64_t n_experts,
                            std::uint64_t expert_bytes, kernels::ThreadPool& pool, const std::stop_token& stop,
                            bool cold = true, double seconds = 0.25);

}  // namespace offstage::engine
