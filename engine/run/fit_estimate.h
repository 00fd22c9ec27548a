#pragma once
// Whether a model will fit, and into what, before any weight is read: for the window's choices.

#include <cstdint>
#include <filesystem>
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
#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"
#include "engine/run/model_costs.h"
#include "engine/telemetry/snapshot.h"
#include "engine/text/tokenizer.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// What this program holds now and gives back before the next load: it is free for that one.
struct FitHeld {
    std::string device;            // whose vram_bytes these are, as DeviceInfo::id: "cuda:0", "emulated:t4"
    std::uint64_t vram_bytes = 0;  // of a GPU
    std::uint64_t ram_bytes = 0;   // also what an emulated device holds: that is RAM too
};

// One change of the request with which the model would fit.
struct FitChange {
    enum class Kind : std::uint8_t { kContext, kVram, kRam, kCpu };
    Kind kind = Kind::kContext;
    LoadRequest request;  // with the change; an estimate of it fits
};

// What a load would take of each memory, in bytes.
struct FitEstimate {
    bool fits = false;
    Message problem;             // a sentence; empty where it fits
    std::uint64_t short_by = 0;  // bytes that are missing
    bool vram_is_short = false;  // else RAM is; of no meaning where it fits

    DeviceInfo device;
    // As Snapshot's after the load. Where the model does not fit: totals, budgets and others only. The VRAM's total is
    // 0 on "cpu".
    MemoryLedger vram, ram;
    std::uint64_t vram_available = 0, ram_available = 0;  // what a budget may be at most
    std::uint64_t peak_ram_bytes = 0;                     // while loading, dense weights pass through RAM

    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;
    std::int64_t resident = 0, in_ram = 0, on_disk = 0;  // experts by the fastest place that holds a copy
    std::int64_t context = 0;                            // tokens
    std::int64_t max_context = 0;                        // tokens the model was made for
    double mean_bits = 0;                                // per expert weight
    double expected_hit_rate = 0;
    ExpertFormats expert_formats;
    std::string dense_types;                             // of all else in the files, most bytes first: "Q6_K, F32"
    std::span<const FormatRow> formats = format_rows();  // what FormatIds mean in this model
    // With a floor of quality the planner chooses formats when it has measured what they cost. Until then all experts
    // count in the smallest format that the floor allows, and this is true.
    bool formats_assumed = false;

    // Of a prompt of kForecastPrompt tokens and the decode after it, as plan_model() has
    // it for the same request; nothing where that would measure something first, or the
    // model does not fit.
    std::optional<Forecast> forecast;

    bool has_chat_template = true;  // false: neither the model nor the request, and there is a tokenizer

    // What was given up, as the planner says it, and what of the files is not used.
    std::vector<Message> notes;
    std::vector<FitChange> changes;  // where it does not fit: what would
};

// Looks at the headers of one model once, then estimates as often as asked, in a few
// milliseconds each. Plans with a load's planner: what is said to fit is what a load
// takes, unless the machine's memory changes in between. Forecasts by what is known of
// this machine's costs (known_costs()). No weight is read. Devices that are emulated, and
// the CPU, are not opened; a CUDA device is opened for a moment the first time (about a
// second), and its free memory is as of then.
//
// One thread at a time. Not for the GUI thread where a CUDA device is named.
class FitEstimator {
  public:
    enum class Text { kWanted, kNotNeeded };  // as LoadedModel::Text

    // Throws Error as a load does when the model or its tokenizer cannot be used.
    explicit FitEstimator(const std::string& model, Text text = Text::kWanted);
    ~FitEstimator();

    const std::string& model() const { return model_; }
    // request.model is taken as model(). Too little memory is no error (see `fits`); all else that a load refuses is
    // thrown as an Error.
    FitEstimate estimate(const LoadRequest& request, const FitHeld& held = {});

    // The same after what its forecast wants has been measured and kept (some seconds).
    // `anew`: what is kept does not count; other work on the machine may have made it too
    // slow. Throws what a load does too.
    FitEstimate measure(const LoadRequest& request, const FitHeld& held, const LoadProgressFn& progress,
                        const std::stop_token& stop, bool anew = false);

    // WeightSource::model_fingerprint() as text; empty where there is none. Reads the beginnings of the tensors.
    std::string fingerprint();

  private:
    struct DeviceFacts;
    struct Room;

    const WeightSource& source_for(const LoadRequest& request);
    static std::string key_of_device(const LoadRequest& request);
    const DeviceFacts& facts_of(const LoadRequest& request);
    Room room_for(const LoadRequest& request, const FitHeld& held);
    FitEstimate try_out(const LoadRequest& request, const FitHeld& held, bool forecasts = false);
    const ModelCosts* costs_for(const CostedModel& model, const DeviceInfo& device);
    void suggest(FitEstimate& estimate, const LoadRequest& request, const FitHeld& held);

    std::string model_;
    ModelSpec spec_;
    std::filesystem::path directory_;           // empty: synthetic
    std::unique_ptr<Tokenizer> tokenizer_;      // nullptr: no text is wanted
    std::map<std::string, bool> has_template_;  // by LoadRequest::chat_template
    std::int64_t advised_context_ = 0;
    std::unique_ptr<kernels::ThreadPool> pool_;
    std::unique_ptr<WeightSource> source_;
    bool rounded_ = false;        // source_ rounds float32 to bf16
    std::vector<Message> notes_;  // of the files, a sentence each
    std::string dense_types_;
    std::map<std::string, std::unique_ptr<DeviceFacts>> devices_;
    std::map<std::string, Popularity> popularity_;  // by file
    std::map<std::string, ModelCosts> costs_;       // by what they depend on; those that are known
};

// One estimate of one request.
FitEstimate estimate_fit(const LoadRequest& request, const FitHeld& held = {});

}  // namespace offstage::engine
