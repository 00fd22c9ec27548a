#pragma once

#include <stop_token>

#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/cost_model.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// The time of one expert from the disk into RAM, packed and ready, when layers are read
// as ExpertStore reads them: directly, as many at a time as a token calls, far apart in
// the model, while `pool` reads the weights of the layer before, as its products would.
// The mean over most of a second, at least two layers; other places each time. cpu_us:
// the reading threads' time, divided by the pool's threads. 0 where the experts lie in no
// file, or RAM has no room for them. Throws Error (kCancelled; kInvalidModel where a file
// cannot be read).
DiskReadCost measure_direct_read(WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool,
                                 const std::stop_token& stop);
// For a check: the time of one expert that is read in this way while nothing else is
// read, and of others one after the other while `seconds` last; the median. 0 and throws
// as above.
double direct_read_alone_us(WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool,
                            const std::stop_token& stop, double seconds);

// Microseconds to read one expert from the master (on a disk, or drawn for a synthetic
// model) and pack it into RAM: the median of up to five experts that lie far apart in the
// model. Each is removed from the system's cache before; with `cold` false more experts
// are measured, all of which were read once before. 0 if pages cannot be removed from the
// cache, or RAM has no room for an expert. The first is always read, others while
// `seconds` last. Throws Error (kCancelled, and the errors of WeightSource::pack_expert).
double measure_disk_read_us(WeightSource& master, std::int64_t n_layers, std::int64_t n_experts,
                            std::uint64_t expert_bytes, kernels::ThreadPool& pool, const std::stop_token& stop,
                            bool cold = true, double seconds = 0.25);

// The disk's speed in 1e9 bytes a second: reads pieces of half a MiB anywhere in the
// model's files, directly, as many at a time as ExpertReader reads, for `seconds`. 0
// where there are no files.
double measure_disk_gbps(const WeightSource& source, double seconds, std::uint64_t seed);

}  // namespace offstage::engine
