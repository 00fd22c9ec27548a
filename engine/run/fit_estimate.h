#pragma once
// What a load would take and give, before any weight is read: for the window's choices,
// for `offstage-cli plan` and for What if.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/formats.h"
#include "engine/message.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_request.h"
#include "engine/plan/planner.h"
#include "engine/run/fit_device.h"
#include "engine/run/load_planner.h"
#include "engine/run/model_shape.h"
#include "engine/telemetry/snapshot.h"
#include "engine/text/tokenizer.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

class CpuOperations;
class Measurements;

// Memory that this program holds now and releases before the next load: it counts as
// free.
struct FitHeld {
    std::string device;            // the device of vram_bytes, as DeviceInfo::id: "cuda:0", "emulated:t4"
    std::uint64_t vram_bytes = 0;  // of a GPU
    std::uint64_t ram_bytes = 0;   // also what an emulated device holds: that is RAM too
};

// A single change of the request that would make the model fit.
struct FitChange {
    enum class Kind : std::uint8_t { kContext, kVram, kRam, kCpu };
    Kind kind = Kind::kContext;
    LoadRequest request;  // with the change; an estimate of it fits
};

// The outcome of a load, computed without the weights.
struct FitEstimate {
    ModelShape shape;
    std::string dense_types;  // of all tensors but the experts, most bytes first: "Q6_K, F32"
    // What the plan and its forecast depend on, with the costs as the forecast used them,
    // and the largest budgets: device.available_bytes (0: unknown, and on "cpu") and
    // memory.available_bytes.
    PlanInputs inputs;
    Plan plan;  // without places if it does not fit
    // For a prompt of kForecastPrompt tokens (FitEstimator::set_prompt) and the decode
    // after it; nothing: costs would have to be measured first, or it does not fit.
    std::optional<Forecast> forecast;
    std::string cost_source;     // for the user: "kept calibration", "measured now", "hardware profile rtx-3060"
    std::vector<Message> notes;  // about files, tokenizer and request, a sentence each

    bool fits = false;
    Message problem;             // a sentence; empty where it fits
    std::uint64_t short_by = 0;  // bytes that are missing
    bool vram_is_short = false;  // else RAM is; of no meaning where it fits
    // As Snapshot's after the load. If the model does not fit: totals, budgets and others
    // only. The VRAM's total is 0 on "cpu".
    MemoryLedger vram, ram;
    std::uint64_t peak_ram_bytes = 0;  // while loading, dense weights pass through RAM
    bool has_chat_template = true;     // false: neither the model nor the request, and there is a tokenizer
    std::vector<FitChange> changes;    // if it does not fit: changes that would help

    // Plans that the same budgets allow, this one last: whole layers and popular experts
    // in each format that the floor of quality allows. Empty unless requested.
    struct Compared {
        std::string name;     // "whole layers, HQQ4"
        std::string failure;  // the reason if there is no such plan; the rest is empty then
        Plan plan;
        Forecast forecast;
    };
    std::vector<Compared> compared;

    WeightReads reads() const;  // of a decoded token
    ThetaChoice theta() const;  // the forecast's threshold of neurons
    // The share of active neurons is "given" by the request, "measured" for this model,
    // or the "assumed" kUnknownActiveShare; "of all neurons": none is left out.
    std::string active_share_is() const;
    ExpertFormats expert_formats() const;
    std::span<const FormatRow> formats() const;  // what FormatIds mean in this model
    // With a floor of quality the planner chooses formats when it has measured their
    // costs. Until then all experts count in the smallest format that the floor allows,
    // and this is true.
    bool formats_assumed() const { return inputs.asked.quality.allows_fewer_bits() && !inputs.has_costs(); }
    std::vector<Message> all_notes() const;  // the planner's and the memory's before `notes`
};

// Reads the headers of one model once, then makes any number of estimates, in a few
// milliseconds each. Uses a load's planner: a model that fits here fits in a load, unless
// the machine's memory changes in between. Forecasts with the stored costs of this
// machine (Measurements::kept_costs()). No weight is read. Emulated devices and the CPU
// are not opened; a CUDA device is opened for a moment the first time (about a second),
// or once for all that share a FitDevice, and its free memory is as of then.
//
// One thread at a time. Not for the GUI thread if the device is a CUDA device.
class FitEstimator {
  public:
    enum class Text {
        kWanted,
        kNotNeeded,    // as LoadedModel::Text
        kIfThere,      // the model may lack its weights as well
        kHeadersAlone  // as kNotNeeded, and weights are zeros: no disk is measured with them
    };

    // Throws Error as a load does when the model or its tokenizer cannot be used.
    // `shared` must outlive this object; nullptr: devices are opened for this one alone.
    explicit FitEstimator(const std::string& model, Text text = Text::kWanted, FitDevice* shared = nullptr);

    const std::string& model() const { return model_; }
    const ModelSpec& spec() const { return shape_.spec; }
    void set_prompt(std::int64_t tokens) { prompt_tokens_ = tokens; }
    // request.model is replaced by model(). Too little memory is not an error (see
    // `fits`); all other errors of a load are thrown as Error.
    FitEstimate estimate(const LoadRequest& request, const FitHeld& held = {});

    // The same after measuring and storing the costs that the forecast needs (some
    // seconds). `anew`: ignores stored costs, which other work on the machine may have
    // disturbed. Throws the errors of a load.
    FitEstimate measure(const LoadRequest& request, const FitHeld& held, const LoadProgressFn& progress,
                        const std::stop_token& stop, bool anew = false);

    // WeightSource::model_fingerprint() as text; empty if there is none. Reads the
    // beginnings of the tensors.
    std::string fingerprint();

  private:
    friend FitEstimate plan_model(const LoadRequest& request, std::int64_t prompt_tokens,
                                  const LoadProgressFn& progress, const std::stop_token& stop, bool compare);
    // A device as of its first use.
    struct KnownDevice {
        DeviceInfo info;
        std::string profile;        // an emulated device's name
        std::uint64_t reserve = 0;  // of the available memory, kept free unless a budget is set
        std::function<std::uint64_t(const Backend::StepShape&)> scratch_bytes = [](const Backend::StepShape&) {
            return std::uint64_t{0};
        };
    };
    struct Terms;  // of one report

    WeightSource* source_for(const LoadRequest& request);  // nullptr: it has no weights, or draws them
    const PredictionLayer* prediction_for(const LoadRequest& request);
    kernels::WeightType type_for(const LoadRequest& request);
    Measurements measurements_of(const LoadRequest& request, const ExpertReads& reads = {});
    static std::string key_of_device(const LoadRequest& request);
    KnownDevice known_by(Backend& device, const LoadRequest& request);
    const KnownDevice& device_of(const LoadRequest& request);
    // With the memory as a load would find it, and the budgets as it would set them.
    PlanInputs inputs_for(const LoadRequest& request, const Terms& terms);
    FitEstimate make(const LoadRequest& request, const Terms& terms);
    FitEstimate make_with_changes(const LoadRequest& request, const Terms& terms);
    FitEstimate make_measured(const LoadRequest& request, Terms terms, const LoadProgressFn& progress,
                              const std::stop_token& stop);
    DiskReadCost disk_cost(Measurements& measurements, const LoadRequest& request, const Terms& terms);
    std::optional<CostModel> kept_costs(const Measurements& measurements, const LoadRequest& request,
                                        const DeviceInfo& device, const std::vector<kernels::WeightType>& formats);
    void suggest(FitEstimate& report, const LoadRequest& request, const FitHeld& held);

    std::string model_;
    FitDevice* shared_;
    std::unique_ptr<kernels::ThreadPool> pool_;
    std::unique_ptr<WeightSource> source_;
    std::unique_ptr<PredictionLayer> prediction_;  // of source_, once it was asked for
    bool has_weights_ = true;
    bool rounded_ = false;  // source_ rounds float32 to bf16
    ModelShape shape_;      // habits and measurements are kept by its name
    std::string dense_types_;
    std::unique_ptr<Tokenizer> tokenizer_;      // nullptr: no text is needed
    std::vector<Message> text_notes_;           // about the tokenizer
    std::map<std::string, bool> has_template_;  // by LoadRequest::chat_template
    std::int64_t advised_context_ = 0;
    std::int64_t prompt_tokens_ = kForecastPrompt;
    std::map<std::string, KnownDevice> devices_;
    std::map<std::string, Popularity> popularity_;  // by file
    std::map<std::string, CostModel> costs_;        // stored costs, by everything that they depend on
};

// One report, of a prompt of prompt_tokens and the decode after it. Costs are those of an
// emulated device's profile, or else a stored calibration, or else measured now with
// random weights of the model's shape (and stored): Measurements. With a floor of
// quality, or to compare, each format is costed so; its sensitivity is typical of the
// format, because weights are not read. An emulated device's memory is part of this
// computer's, as for a load; if that leaves less RAM than the request names, the plan is
// for another computer that has both, and a note reports it. Throws Error as a load does:
// kOutOfMemory, with the missing amount, when the budget is too small.
FitEstimate plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                       const std::stop_token& stop, bool compare = false);

// Measures the costs of a model's experts anew, on random weights, and keeps them
// (Fiddler, figure 7). On an emulated device these are the accounted times, which are not
// kept. `not_kept` (may be nullptr): a sentence where they could not be kept.
CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop,
                          Message* not_kept = nullptr);

nlohmann::ordered_json to_json(const FitEstimate& report);
std::string to_text(const FitEstimate& report);
nlohmann::ordered_json report_json(const CostTable& table);
std::string to_text(const CostTable& table);

}  // namespace offstage::engine
