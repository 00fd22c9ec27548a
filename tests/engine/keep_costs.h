#pragma once

#include <memory>
#include <set>

#include "engine/device/cpu_backend.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/files/cache_folders.h"
#include "engine/plan/calibration.h"
#include "engine/plan/product_choice.h"
#include "engine/plan/repeated_time.h"
#include "engine/run/dense_costs.h"
#include "engine/run/measurements.h"
#include "engine/run/model_shape.h"

namespace offstage::test {

// Keeps costs of this model in the request's cache folder, unless there are some, as if
// they had been measured: those of a computer by its profile. Loads that do not check
// them measure nothing then, which takes some seconds for each model, and plan alike on
// every machine. The products' form is float32 where the request leaves it open.
inline const engine::LoadRequest& keepCosts(const engine::LoadRequest& request) {
    using namespace engine;
    if (request.device == "cpu" || request.checks_costs) return request;  // a load on the CPU measures nothing
    const ModelShape shape = read_model_shape(request.model);
    const ExpertGrid& grid = shape.spec.experts;
    const MeasurementStore store(calibration_directory(request.cache_directory));
    kernels::ProductForm form;
    if (request.compute == ComputeMode::kBf16) form = kernels::GemmMode::kBf16;
    if (request.compute == ComputeMode::kInt8) form.byte_inputs = form.byte_prompts = true;
    if (request.compute == ComputeMode::kAuto) {
        form = choose_compute({}, shape.type, store, [](kernels::TrialProduct) { return 100.0; }).form;
    }
    kernels::ThreadPool pool(compute_threads(request.n_threads));
    CpuOperations host(pool, form);
    std::unique_ptr<Backend> device;
    if (request.opens_device) device = request.opens_device(request.vram_bytes);
    const CostPlace place{device ? device->info() : cpu_info(), pool.n_threads(), form};

    std::set<kernels::WeightType> formats = {shape.type};
    if (request.quant.experts) formats.insert(*request.quant.experts);
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) formats.insert(grid.stored(shape.type, layer));
    for (const kernels::WeightType format : formats) {
        if (CostTable kept; store.load(cost_key(place, format, grid, false), kept)) continue;
        CostTable table = costs_of(find_hardware_profile("fiddler-env1"), format, grid, form.wants_interleaved());
        table.emulated = false;
        table.measured_at = seconds_since_1970();
        if (!device) table.gpu_expert.clear();
        for (const bool pinned : {false, true}) {
            table.pinned = pinned;
            if (device || !pinned) store.store(cost_key(place, format, grid, pinned), table);
        }
    }
    if (!device) return request;
    const auto step_us = [](std::int64_t n_tokens, std::int64_t past) {
        return 20'000.0 + 10.0 * static_cast<double>(n_tokens) + static_cast<double>(past);
    };
    dense_costs({shape.spec, shape.type, request.quant.dense, request.kv, step_us}, *device, host, store, {}, false,
                false);
    return request;
}

}  // namespace offstage::test
