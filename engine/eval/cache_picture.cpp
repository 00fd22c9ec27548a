#include "engine/eval/cache_picture.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/svg_plot.h"
#include "engine/print.h"

namespace offstage::engine {
namespace {

constexpr double kPictureMargin = 70, kFirstLayer = 66, kBetweenLayers = 46, kTokenWidth = 10;

struct Tones {
    const char* first;  // the router's first choice, or where that is not known
    const char* others;
};
// By ExpertOutcome.
constexpr Tones kTones[] = {{"", ""},
                            {"#9a9a9a", "#9a9a9a"},
                            {"#1f5fa8", "#7fa8d6"},
                            {"#c2410c", "#f0a777"},
                            {"#2f7d4f", "#8fc4a4"},
                            {"#7a4fa3", "#bfa3d9"}};

const Tones& tones(ExpertOutcome use) {
    return kTones[static_cast<std::size_t>(use)];
}

std::string rect(double x, double y, double width, double height, const char* fill) {
    return print(R"(<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>)", x, y, width, height, fill) + "\n";
}

// The contents of the cache before each drawn token in each drawn layer.
struct Held {
    std::int64_t first = 0, n_tokens = 0, n_experts = 0;
    std::vector<std::int64_t> layers;
    std::vector<std::uint8_t> cells;  // (n layers, n_tokens, n_experts)

    std::size_t at(std::size_t layer, std::int64_t token, std::int64_t expert) const {
        return (layer * as_size(n_tokens) + as_size(token)) * as_size(n_experts) + as_size(expert);
    }
    void see(const CacheCalls::Layer& step, std::span<const std::int64_t> slots) {
        const auto row = std::find(layers.begin(), layers.end(), step.layer);
        if (row == layers.end()) return;
        const auto begin = static_cast<std::int64_t>(step.token);
        const auto end = std::min(begin + static_cast<std::int64_t>(step.n_tokens), first + n_tokens);
        for (std::int64_t token = std::max(begin, first); token < end; ++token) {
            for (std::int64_t e = 0; e < n_experts; ++e) {
                cells[at(as_size(row - layers.begin()), token - first, e)] =
                    slots[as_size(step.layer * n_experts + e)] >= 0 ? 1 : 0;
            }
        }
    }
};

}  // namespace

ExpertPicture cache_picture(const RoutingTrace& trace, const Popularity& popularity,
                            const CachePictureRequest& request) {
    const TraceHeader& header = trace.header;
    require_shapes(popularity, header);
    const auto n_all = static_cast<std::int64_t>(trace.tokens.size());
    if (request.first_token < 0 || request.first_token >= n_all) {
        throw Error(ErrorKind::kInvalidInput, messages::picture_without_token(request.first_token, n_all));
    }
    Held held{request.first_token, std::min(request.n_tokens, n_all - request.first_token), header.n_experts, {}, {}};
    held.layers = request.layers;
    if (held.layers.empty()) held.layers = {0, header.n_layers / 2, header.n_layers - 1};
    std::sort(held.layers.begin(), held.layers.end());
    held.layers.erase(std::unique(held.layers.begin(), held.layers.end()), held.layers.end());
    if (held.layers.front() < 0 || held.layers.back() >= header.n_layers) {
        const std::int64_t wrong = held.layers.front() < 0 ? held.layers.front() : held.layers.back();
        throw Error(ErrorKind::kInvalidInput, messages::picture_without_layer(wrong, header.n_layers - 1));
    }
    held.cells.resize(held.layers.size() * as_size(held.n_tokens * held.n_experts));
    const auto policy = make_cache_policy(request.policy, popularity, request.settings);
    const auto watch = [&](const CacheCalls::Layer& step, std::span<const std::int64_t> slots) {
        held.see(step, slots);
    };
    replay(cache_calls(trace), *policy, request.n_slots,
           initial_residents(request.n_slots, request.policy == CacheKind::kLruLayer, popularity), {}, watch);

    ExpertPicture picture;
    picture.title = print("%s: experts over tokens, %s with %lld of %lld experts", header.model.c_str(),
                          std::string(name_of(request.policy)).c_str(), static_cast<long long>(request.n_slots),
                          static_cast<long long>(header.n_layers * header.n_experts));
    picture.legend = {{ExpertOutcome::kHit, "used, in the cache"},
                      {ExpertOutcome::kCopied, "used, not in it"},
                      {ExpertOutcome::kHeld, "in it, not used"}};
    picture.n_columns = held.n_tokens;
    picture.n_experts = held.n_experts;
    for (std::size_t l = 0; l < held.layers.size(); ++l) {
        ExpertPicture::Layer& layer = picture.layers.emplace_back();
        layer.uses.resize(as_size(held.n_tokens * held.n_experts));
        std::int64_t n_hits = 0;
        for (std::int64_t t = 0; t < held.n_tokens; ++t) {
            const auto uses = std::span(layer.uses).subspan(as_size(t * held.n_experts), as_size(held.n_experts));
            for (std::int64_t e = 0; e < held.n_experts; ++e) {
                if (held.cells[held.at(l, t, e)] != 0) uses[as_size(e)] = ExpertOutcome::kHeld;
            }
            const auto chosen = trace.experts_of(as_size(held.first + t))
                                    .subspan(as_size(held.layers[l] * header.n_active), as_size(header.n_active));
            for (const std::int32_t expert : chosen) {
                ExpertOutcome& use = uses[as_size(expert)];
                n_hits += use == ExpertOutcome::kHeld ? 1 : 0;
                use = use == ExpertOutcome::kHeld ? ExpertOutcome::kHit : ExpertOutcome::kCopied;
            }
            layer.first.push_back(chosen.front());
        }
        layer.title =
            print("layer %lld: %.0f %% of what was used was in the cache", static_cast<long long>(held.layers[l]),
                  100 * static_cast<double>(n_hits) / static_cast<double>(held.n_tokens * header.n_active));
    }
    picture.below = print("tokens %lld to %lld; experts of each layer from top to bottom, the first choice darker",
                          static_cast<long long>(held.first), static_cast<long long>(held.first + held.n_tokens - 1));
    return picture;
}

std::string to_svg(const ExpertPicture& picture) {
    const double row_height = picture.n_experts <= 32 ? 10 : (picture.n_experts <= 128 ? 6 : 3);
    const double width = static_cast<double>(picture.n_columns) * kTokenWidth;
    const double height = static_cast<double>(picture.n_experts) * row_height;
    const double whole_width = std::max(width, 640.0) + 2 * kPictureMargin;
    const double whole_height =
        kFirstLayer + static_cast<double>(picture.layers.size()) * (height + kBetweenLayers) + 16;
    std::string svg =
        print(R"(<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" )", whole_width, whole_height) +
        "font-family=\"sans-serif\">\n" + rect(0, 0, whole_width, whole_height, "#ffffff");
    svg += svg_text(kPictureMargin, 24, "start", 15, picture.title);
    double x = kPictureMargin;
    for (const auto& [use, name] : picture.legend) {
        svg += rect(x, 36, 10, 10, tones(use).first) + svg_text(x + 16, 45, "start", 12, name);
        x += 160;
    }
    double top = kFirstLayer;
    for (const ExpertPicture::Layer& layer : picture.layers) {
        svg += svg_text(kPictureMargin, top + 6, "start", 13, layer.title);
        svg += rect(kPictureMargin - 1, top + 13, width + 1, height + 1, "#f2f2f2");
        for (std::int64_t c = 0; c < picture.n_columns; ++c) {
            const double left = kPictureMargin + static_cast<double>(c) * kTokenWidth;
            for (std::int64_t e = 0; e < picture.n_experts; ++e) {
                const ExpertOutcome use = layer.uses[as_size(c * picture.n_experts + e)];
                const double y = top + 14 + static_cast<double>(e) * row_height;
                if (use == ExpertOutcome::kHeld) {
                    svg += rect(left + 3, y + row_height * 0.3, 3, row_height * 0.4, tones(use).first);
                } else if (use != ExpertOutcome::kNone) {
                    const bool first = layer.first.empty() || layer.first[as_size(c)] == e;
                    svg += rect(left, y, kTokenWidth - 1, row_height - 1, first ? tones(use).first : tones(use).others);
                }
            }
        }
        svg += svg_text(kPictureMargin - 8, top + 24, "end", 11, "0");
        svg += svg_text(kPictureMargin - 8, top + 12 + height, "end", 11, std::to_string(picture.n_experts - 1));
        top += height + kBetweenLayers;
    }
    svg += svg_text(kPictureMargin, whole_height - 18, "start", 12, picture.below);
    return svg + "</svg>\n";
}

}  // namespace offstage::engine
