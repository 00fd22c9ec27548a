#include "engine/plan/compute_choice.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "engine/device/hardware.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

using kernels::GemmMode;
using kernels::ProductForm;
using kernels::TrialProduct;
using Origin = ComputeChoice::Origin;

std::string key_of_machine() {
    const Hardware host = detect_host();
    return "products|" + host.cpu_model + " " + host.instruction_set + "|oneDNN " +
           std::string(kernels::Gemm::library_version());
}

struct TimedProduct {
    TrialProduct product;
    const char* stored_as;
    double ProductTimes::*us;
};
constexpr std::array<TimedProduct, 7> kTimedProducts = {{
    {TrialProduct::kManyF32, "f32_us", &ProductTimes::f32_us},
    {TrialProduct::kManyBf16, "bf16_us", &ProductTimes::bf16_us},
    {TrialProduct::kManyBlocksF32, "blocks_f32_us", &ProductTimes::blocks_f32_us},
    {TrialProduct::kManyBlocksBf16, "blocks_bf16_us", &ProductTimes::blocks_bf16_us},
    {TrialProduct::kManyByteInputs, "byte_prompts_us", &ProductTimes::byte_prompts_us},
    {TrialProduct::kFewFloatInputs, "float_inputs_us", &ProductTimes::float_inputs_us},
    {TrialProduct::kFewByteInputs, "byte_inputs_us", &ProductTimes::byte_inputs_us},
}};

ProductTimes measure_products(const ProductTimer& timer) {
    ProductTimes times;
    for (int turn = 0; turn < kProductTurns; ++turn) {
        for (std::size_t i = 0; i < kTimedProducts.size(); ++i) {
            // The order changes from turn to turn.
            const TimedProduct& timed = kTimedProducts[turn % 2 == 0 ? i : kTimedProducts.size() - 1 - i];
            double& shortest = times.*timed.us;
            const double us = timer(timed.product);
            shortest = turn == 0 ? us : std::min(shortest, us);
        }
    }
    times.measured_on = today();
    return times;
}

ProductTimes measure_products() {
    kernels::ThreadPool one_thread(1);
    kernels::ProductTrial trial(one_thread);
    for (const TrialProduct product : {TrialProduct::kManyF32, TrialProduct::kManyBf16, TrialProduct::kManyBlocksF32,
                                       TrialProduct::kManyBlocksBf16}) {
        trial.run_us(product);  // makes the primitives
    }
    return measure_products([&](TrialProduct product) { return trial.run_us(product); });
}

}  // namespace

void StoredAs<ProductTimes>::write(const ProductTimes& times, nlohmann::json& out) {
    out["measured_on"] = times.measured_on;
    for (const TimedProduct& timed : kTimedProducts) out[timed.stored_as] = times.*timed.us;
}

ProductTimes StoredAs<ProductTimes>::read(const JsonFields& fields) {
    ProductTimes times;
    for (const TimedProduct& timed : kTimedProducts) times.*timed.us = fields.number(timed.stored_as, 0, kLongestUs);
    times.measured_on = fields.text("measured_on");
    return times;
}

std::string today() {
    return date_of(std::time(nullptr));
}

std::string date_of(std::int64_t seconds) {
    const std::time_t now = seconds;
    std::tm date{};
    localtime_r(&now, &date);
    std::array<char, 16> text{};
    return std::strftime(text.data(), text.size(), "%Y-%m-%d", &date) > 0 ? text.data() : "";
}

ProductForm faster_form(const ProductTimes& times) {
    const bool bf16 = times.bf16_us * kProductMargin < times.f32_us;
    const bool few_bytes = times.byte_inputs_us * kProductMargin < times.float_inputs_us;
    const bool many_bytes =
        times.byte_prompts_us * kProductMargin < (bf16 ? times.blocks_bf16_us : times.blocks_f32_us);
    return {bf16 ? GemmMode::kBf16 : GemmMode::kF32, few_bytes, few_bytes && many_bytes};
}

std::optional<ComputeChoice> kept_compute(kernels::WeightType weights, const MeasurementStore& cache) {
    if (weights == kernels::WeightType::kF32) return ComputeChoice{GemmMode::kF32, Origin::kWeights, {}};
    ComputeChoice choice;
    if (!cache.load(key_of_machine(), choice.times)) return {};
    choice.form = faster_form(choice.times);
    choice.origin = Origin::kKept;
    return choice;
}

ComputeChoice choose_compute(std::optional<ProductForm> asked, kernels::WeightType weights,
                             const MeasurementStore& cache, const ProductTimer& timer) {
    if (asked) return {*asked, Origin::kAskedFor, {}};
    if (auto kept = kept_compute(weights, cache)) return *kept;
    cache.store(key_of_machine(), timer ? measure_products(timer) : measure_products());
    // Read again: if two programs measure at the same time, both use the version stored
    // last.
    if (auto kept = kept_compute(weights, cache)) {
        kept->origin = Origin::kMeasured;
        return *kept;
    }
    return {GemmMode::kF32, Origin::kCannotKeep, {}};
}

std::string describe(const ComputeChoice& choice) {
    std::array<char, 240> text{};
    switch (choice.origin) {
        case Origin::kAskedFor:
            return "asked for";
        case Origin::kWeights:
            return "the weights are float32";
        case Origin::kMeasured:
        case Origin::kKept:
            std::snprintf(
                text.data(), text.size(),
                "measured on %s and kept for this machine: f32 takes %.2f ms where bf16 takes %.2f and int8 %.2f, "
                "and float inputs of a file's blocks %.2f where int8 takes %.2f",
                choice.times.measured_on.c_str(), choice.times.f32_us / 1e3, choice.times.bf16_us / 1e3,
                choice.times.byte_prompts_us / 1e3, choice.times.float_inputs_us / 1e3,
                choice.times.byte_inputs_us / 1e3);
            return text.data();
        case Origin::kCannotKeep:
            return "a measured choice could not be kept, so that f32 is used, as in every such case";
    }
    return {};
}

}  // namespace offstage::engine
