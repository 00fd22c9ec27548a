#pragma once
// Which models that people run would run on this computer, and how fast: the catalogue
// (engine/model/catalogue.h) with the forecast that a model gets once it is there.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/model/catalogue.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_request.h"
#include "engine/run/fit_estimate.h"

namespace offstage::engine {

struct FoundModel;

// Where all weights of a model find room.
enum class SuggestedPlace : std::uint8_t { kDevice, kDeviceAndRam, kRam, kNowhere };

struct Suggestion {
    struct AtContext {
        std::int64_t context = 0;  // tokens; the model's own where that is shorter
        bool fits = false;
        std::uint64_t short_by = 0;  // bytes, where it does not fit; 0: not known
        // Of a prompt that leaves kSuggestedAnswer tokens of the context, and the decode
        // after it; nothing: does not fit, or costs that are missing were not measured.
        std::optional<Forecast> forecast;
    };

    CatalogueModel model;
    std::string type;              // of the file that suits best: "q4_k"
    double bits = 0;               // per weight of an expert
    std::uint64_t file_bytes = 0;  // of such a file, without its vocabulary
    std::int64_t total_weights = 0, active_weights = 0;
    SuggestedPlace place = SuggestedPlace::kNowhere;  // at the first context
    std::vector<AtContext> contexts;
    std::filesystem::path here;  // a file of it on this computer; empty: none

    // Faster than this is comfortable to read.
    static constexpr double kComfortable = 6;  // tokens/s
    bool comfortable() const {
        return !contexts.empty() && contexts.front().forecast &&
               contexts.front().forecast->decode_tokens_per_s >= kComfortable;
    }
};

inline constexpr std::int64_t kSuggestedAnswer = 512;  // tokens
inline constexpr std::int64_t kSuggestedContexts[] = {8192, 32768};

struct SuggestionRequest {
    // Device, budgets, threads, arithmetic and folders of caches count; the model does
    // not. RAM above what is free is another computer's, and so is that named for an
    // emulated device, whose own memory does not lie in it then.
    LoadRequest load;
    FitHeld held;
    std::vector<std::int64_t> contexts{std::begin(kSuggestedContexts), std::end(kSuggestedContexts)};
    std::string good_for;  // "code"; empty: all
    std::string name;      // what the name has in it, as file names may write it; empty: all
    std::string type;      // of all files; empty: what suits
    bool measure = true;   // costs that are missing (some seconds a shape); false: known ones alone
};

// Of each model the file that suits: in the most bits with which all of it has room on
// the device, or else in four, three or two bits in device and RAM. Models with the same
// shape and file have one forecast. `found`: models on this computer. `shown` gets each
// suggestion as soon as it is there and the share that is done. In the end: what is on
// this computer, what has room and is comfortable, what has room, the rest; in each of
// these first what has four bits or more; by size. Throws Error as a load does, and
// kCancelled.
std::vector<Suggestion> suggest_models(const SuggestionRequest& request, std::span<const FoundModel> found,
                                       const std::function<void(const Suggestion&, double)>& shown,
                                       const std::stop_token& stop);

std::string file_type_name(const std::string& type);   // "Q4_K"
std::string place_text(const Suggestion& suggestion);  // "GPU and RAM", "12.0 GiB are missing"

}  // namespace offstage::engine
