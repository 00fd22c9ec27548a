#pragma once
// Whether a model will fit, and in which formats, before any weight is read: for the
// window's choices.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/formats.h"
#include "engine/message.h"
#include "engine/model/weights.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_request.h"
#include "engine/plan/plan.h"
#include "engine/plan/popularity.h"
#include "engine/run/measurements.h"
#include "engine/telemetry/snapshot.h"
#include "engine/text/tokenizer.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

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

// The memory that a load would take, in bytes.
struct FitEstimate {
    bool fits = false;
    Message problem;             // a sentence; empty where it fits
    std::uint64_t short_by = 0;  // bytes that are missing
    bool vram_is_short = false;  // else RAM is; of no meaning where it fits

    DeviceInfo device;
    // As Snapshot's after the load. If the model does not fit: totals, budgets and others
    // only. The VRAM's total is 0 on "cpu".
    MemoryLedger vram, ram;
    std::uint64_t vram_available = 0, ram_available = 0;  // the largest allowed budgets
    std::uint64_t peak_ram_bytes = 0;                     // while loading, dense weights pass through RAM

    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;
    Plan plan;                     // without places if it does not fit
    std::int64_t max_context = 0;  // tokens the model was made for
    ExpertFormats expert_formats;
    std::string dense_types;                             // all other tensors', most bytes first: "Q6_K, F32"
    std::span<const FormatRow> formats = format_rows();  // what FormatIds mean in this model
    // With a floor of quality the planner chooses formats when it has measured their
    // costs. Until then all experts count in the smallest format that the floor allows,
    // and this is true.
    bool formats_assumed = false;

    // For a prompt of kForecastPrompt tokens (FitEstimator::set_prompt) and the decode
    // after it, equal to plan_model()'s for the same request; nothing if that would first
    // measure costs, or the model does not fit.
    std::optional<Forecast> forecast;

    bool has_chat_template = true;  // false: neither the model nor the request, and there is a tokenizer

    // The planner's notes on reductions, and unused parts of the files.
    std::vector<Message> notes;
    std::vector<FitChange> changes;  // if it does not fit: changes that would help
};

// Reads the headers of one model once, then makes any number of estimates, in a few
// milliseconds each. Uses a load's planner: a model that fits here fits in a load, unless
// the machine's memory changes in between. Forecasts with the stored costs of this machine
// (Measurements::kept_costs()). No weight is read. Emulated devices and the CPU are not
// opened; a CUDA device is opened for a moment the first time (about a second), and its
// free memory is as of then.
//
// One thread at a time. Not for the GUI thread if the device is a CUDA device.
class FitEstimator {
  public:
    enum class Text { kWanted, kNotNeeded };  // as LoadedModel::Text

    // Throws Error as a load does when the model or its tokenizer cannot be used.
    explicit FitEstimator(const std::string& model, Text text = Text::kWanted);

    const std::string& model() const { return model_; }
    const ModelSpec& spec() const { return spec_; }
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
    // A device as of its first use.
    struct KnownDevice {
        DeviceInfo info;
        std::string profile;        // an emulated device's name
        std::uint64_t reserve = 0;  // of the available memory, kept free unless a budget is set
        std::function<std::uint64_t(const Backend::StepShape&)> scratch_bytes = [](const Backend::StepShape&) {
            return std::uint64_t{0};
        };
    };

    const WeightSource& source_for(const LoadRequest& request);
    Measurements measurements_of(const LoadRequest& request, const ExpertReads& reads = {});
    static std::string key_of_device(const LoadRequest& request);
    const KnownDevice& device_of(const LoadRequest& request);
    // With the memory as a load would find it, and the budgets as it would set them.
    PlanInputs inputs_for(const LoadRequest& request, const FitHeld& held);
    // The costs that the forecast may use. With a machine: costs that are not stored, or
    // (anew) all, are measured there.
    struct Costs {
        bool kept = false;
        const Measurements::Machine* machine = nullptr;
        bool anew = false;
    };
    FitEstimate estimate_by(const Costs& costs, const LoadRequest& request, const FitHeld& held);
    FitEstimate try_out(const LoadRequest& request, const FitHeld& held, const Costs& costs);
    std::optional<CostModel> kept_costs(const Measurements& measurements, const LoadRequest& request,
                                        const DeviceInfo& device, const std::vector<kernels::WeightType>& formats);
    void suggest(FitEstimate& estimate, const LoadRequest& request, const FitHeld& held);

    std::string model_;
    std::string name_;  // habits and measurements are kept by it
    ModelSpec spec_;
    std::filesystem::path directory_;           // empty: synthetic
    std::unique_ptr<Tokenizer> tokenizer_;      // nullptr: no text is needed
    std::map<std::string, bool> has_template_;  // by LoadRequest::chat_template
    std::int64_t advised_context_ = 0;
    std::int64_t prompt_tokens_ = kForecastPrompt;
    std::unique_ptr<kernels::ThreadPool> pool_;
    std::unique_ptr<WeightSource> source_;
    bool rounded_ = false;        // source_ rounds float32 to bf16
    std::vector<Message> notes_;  // about the files, a sentence each
    std::string dense_types_;
    std::map<std::string, KnownDevice> devices_;
    std::map<std::string, Popularity> popularity_;  // by file
    std::map<std::string, CostModel> costs_;        // stored costs, by everything that they depend on
};

}  // namespace offstage::engine
