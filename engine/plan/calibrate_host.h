#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <string>

#include "engine/plan/measurement_store.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

class RowQuantizer;
class WeightSource;

// The number of weights that one thread quantizes (HQQ) in a second, with the device's
// help where there is some, by format; 0: not measured.
using QuantizingSpeeds = std::array<double, kernels::kWeightTypes>;

template <>
struct StoredAs<QuantizingSpeeds> {
    static constexpr const char* kField = "weights_per_s";
    static void write(const QuantizingSpeeds& speeds, nlohmann::json& out);
    static QuantizingSpeeds read(const JsonFields& fields);
};

// From the store, or measured now on rows of a model's size (some milliseconds per packed
// format) and stored. hidden_dim: a multiple of kernels::kPackedBlock, otherwise nothing
// is measured. helper: of the device with this fingerprint, or nullptr. Throws Error
// (kCancelled).
QuantizingSpeeds quantizing_speeds(std::int64_t hidden_dim, const MeasurementStore& cache, std::stop_token stop,
                                   RowQuantizer* helper = nullptr, const std::string& device = {});

// Microseconds to read one expert from the master (on a disk, or drawn for a synthetic
// model) and pack it into RAM: the median of up to five experts that lie far apart in the
// model. Each is removed from the system's cache before; with `cold` false more experts
// are measured, all of which were read once before. 0 if pages cannot be removed from the
// cache, or RAM has no room for an expert. The first is always read, others while
// `seconds` last. Throws Error (kCancelled, and the errors of WeightSource::pack_expert).
double measure_disk_read_us(WeightSource& master, std::int64_t n_layers, std::int64_t n_experts,
                            std::uint64_t expert_bytes, kernels::ThreadPool& pool, const std::stop_token& stop,
                            bool cold = true, double seconds = 0.25);

}  // namespace offstage::engine
