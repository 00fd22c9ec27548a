#include "engine/run/suggestions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "engine/device/memory_size.h"
#include "engine/error.h"
#include "engine/model/model_finder.h"
#include "engine/model/model_messages.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"

namespace offstage::engine {
namespace {

// Fewer bits than kFewestBits lose much; a file that has no room on the device as a whole
// has fewer than kMostBitsInRam, since more are read from RAM for each token.
constexpr double kFewestBits = 4;
constexpr double kMostBitsInRam = 5;

// What one call is about: the request, the device of all its estimates, the estimators of
// its files by their names, and what a load may take, bytes.
struct Looking {
    const SuggestionRequest& request;
    FitDevice device = {};
    std::map<std::string, FitEstimator> estimators = {};
    std::uint64_t device_room = 0;
    std::uint64_t room = 0;  // and RAM
};

FitEstimator& estimator_of(Looking& looking, const std::string& synthetic) {
    return looking.estimators.try_emplace(synthetic, synthetic, FitEstimator::Text::kWanted, &looking.device)
        .first->second;
}

std::string synthetic_name(const CatalogueModel& model, const std::string& type) {
    return "synthetic:" + model.shape + "?type=" + type;
}

LoadRequest request_at(const SuggestionRequest& request, std::int64_t context) {
    LoadRequest load = request.load;
    load.context = context;
    const auto free = static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory_size().available_bytes));
    load.dry = load.ram_bytes > 0 && (load.ram_bytes > free || load.device.starts_with("emulated:"));
    return load;
}

SuggestedPlace place_of(const FitEstimate& fit) {
    if (!fit.fits) return SuggestedPlace::kNowhere;
    if (fit.plan.n_in(Place::kDisk) > 0) return SuggestedPlace::kNowhere;
    const std::int64_t on_device = fit.plan.n_resident();
    if (on_device == 0) return SuggestedPlace::kRam;
    return on_device == std::ssize(fit.plan.places) ? SuggestedPlace::kDevice : SuggestedPlace::kDeviceAndRam;
}

void find_room(Looking& looking) {
    const SuggestionRequest& request = looking.request;
    FitEstimator& any = estimator_of(looking, "synthetic:" + catalogue().shapes.front().name);
    const FitEstimate fit = any.estimate(request_at(request, request.contexts.front()), request.held);
    // The device has not got what was asked for.
    if (fit.ram.budget == 0) throw Error(ErrorKind::kOutOfMemory, fit.problem);
    looking.device_room = fit.vram.budget;
    looking.room = fit.vram.budget + fit.ram.budget;
}

Suggestion file_of(const CatalogueModel& model, const std::string& type) {
    Suggestion file;
    file.model = model;
    file.type = type;
    const SyntheticModel shape = parse_synthetic(synthetic_name(model, type));
    const ExpertGrid& grid = shape.spec.experts;
    const std::uint64_t expert_bytes = grid.expert_bytes(shape.expert_type());
    file.bits = 8.0 * static_cast<double>(expert_bytes) / static_cast<double>(grid.expert_weights());
    file.file_bytes = dense_bytes_in(shape.spec, shape.type) + static_cast<std::uint64_t>(grid.size()) * expert_bytes;
    file.total_weights = shape.spec.total_weights();
    file.active_weights = shape.spec.active_weights();
    return file;
}

// What this computer makes of it: a file that is larger than all memory is not planned.
void look_at_file(Looking& looking, Suggestion& file) {
    const SuggestionRequest& request = looking.request;
    file.contexts.clear();
    file.place = SuggestedPlace::kNowhere;
    for (const std::int64_t wanted : request.contexts) {
        auto& at = file.contexts.emplace_back();
        at.context = std::min(wanted, file.model.context);
        at.short_by = file.file_bytes - std::min(file.file_bytes, looking.room);
        if (at.short_by > 0) continue;
        FitEstimator& estimator = estimator_of(looking, synthetic_name(file.model, file.type));
        estimator.set_prompt(std::max<std::int64_t>(1, at.context - kSuggestedAnswer));
        const FitEstimate fit = estimator.estimate(request_at(request, at.context), request.held);
        const SuggestedPlace place = place_of(fit);
        at.fits = place != SuggestedPlace::kNowhere;
        at.short_by = fit.short_by;
        if (at.fits) at.forecast = fit.forecast;
        if (file.contexts.size() == 1) file.place = place;
    }
}

Suggestion best_file(Looking& looking, const CatalogueModel& model, const std::stop_token& stop) {
    const auto look = [&](Suggestion& file) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_cancelled);
        look_at_file(looking, file);
    };
    std::vector<Suggestion> files;  // most bits first
    const std::string& asked = looking.request.type;
    for (const std::string& type : asked.empty() ? model.types : std::vector{asked}) {
        files.push_back(file_of(model, type));
    }
    const bool one = files.size() == 1;
    for (Suggestion& file : files) {
        if (one || file.bits < kFewestBits || file.file_bytes > looking.device_room) continue;
        look(file);
        if (file.place == SuggestedPlace::kDevice) return file;
    }
    for (Suggestion& file : files) {
        if (!one && file.bits >= kMostBitsInRam) continue;
        look(file);
        if (file.place != SuggestedPlace::kNowhere) return file;
    }
    if (files.back().contexts.empty()) look(files.back());
    return files.back();
}

// The costs of the file are measured and kept, and its forecasts follow from them.
void measure_costs(Looking& looking, const Suggestion& of, const std::stop_token& stop) {
    estimator_of(looking, synthetic_name(of.model, of.type))
        .measure(request_at(looking.request, of.contexts.front().context), looking.request.held, {}, stop);
}

// Without its separators, in small letters.
std::string plain_name(const std::string& name) {
    std::string plain;
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return plain;
}

// The model of the catalogue that a file's name begins with, the longest of them.
std::filesystem::path file_here(const CatalogueModel& model, std::span<const FoundModel> found) {
    const auto begins_with = [](const std::string& text, const CatalogueModel& known) {
        return text.starts_with(plain_name(known.name));
    };
    for (const FoundModel& file : found) {
        const std::string name = plain_name(file.name);
        if (!file.supported() || !begins_with(name, model)) continue;
        const std::vector<CatalogueModel>& all = catalogue().models;
        if (std::none_of(all.begin(), all.end(), [&](const CatalogueModel& other) {
                return other.name.size() > model.name.size() && begins_with(name, other);
            })) {
            return file.path;
        }
    }
    return {};
}

bool comes_first(const Suggestion& a, const Suggestion& b) {
    const auto rank = [](const Suggestion& s) {
        return std::tuple(s.here.empty(), s.place == SuggestedPlace::kNowhere, !s.comfortable(), s.bits < kFewestBits,
                          -s.total_weights);
    };
    return rank(a) < rank(b);
}

}  // namespace

std::vector<Suggestion> suggest_models(const SuggestionRequest& request, std::span<const FoundModel> found,
                                       const std::function<void(const Suggestion&, double)>& shown,
                                       const std::stop_token& stop) {
    std::vector<Suggestion> all;
    std::map<std::string, Suggestion> by_shape;
    Looking looking{request};
    find_room(looking);
    const std::string name = plain_name(request.name);
    for (const CatalogueModel& model : catalogue().models) {
        const bool is_asked_for = request.good_for.empty() || model.good_for == request.good_for;
        const bool is_named = !name.empty() && plain_name(model.name).find(name) != std::string::npos;
        if (is_asked_for && (is_named || request.name.empty())) {
            all.emplace_back().model = model;
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const CatalogueModel model = all[i].model;
        std::string shape = model.shape + " " + std::to_string(model.context);
        for (const std::string& type : model.types) shape += " " + type;
        if (!by_shape.contains(shape)) {
            Suggestion file = best_file(looking, model, stop);
            const bool lacks_costs = file.contexts.front().fits && !file.contexts.front().forecast;
            if (request.measure && lacks_costs) {
                measure_costs(looking, file, stop);
                look_at_file(looking, file);
            }
            by_shape.emplace(shape, std::move(file));
        }
        all[i] = by_shape.at(shape);
        all[i].model = model;
        all[i].here = file_here(model, found);
        if (shown) shown(all[i], static_cast<double>(i + 1) / static_cast<double>(all.size()));
    }
    std::stable_sort(all.begin(), all.end(), comes_first);
    return all;
}

std::string file_type_name(const std::string& type) {
    std::string name;
    for (const char c : type) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

std::string place_text(const Suggestion& suggestion) {
    switch (suggestion.place) {
        case SuggestedPlace::kDevice:
            return "GPU";
        case SuggestedPlace::kDeviceAndRam:
            return "GPU and RAM";
        case SuggestedPlace::kRam:
            return "RAM";
        case SuggestedPlace::kNowhere:
            break;
    }
    const std::uint64_t missing = suggestion.contexts.empty() ? 0 : suggestion.contexts.front().short_by;
    return missing > 0 ? format_bytes(missing) + " are missing" : "no room";
}

}  // namespace offstage::engine
