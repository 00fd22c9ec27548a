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
constexpr const char* kHit[] = {"#1f5fa8", "#7fa8d6"};   // first choice, others
constexpr const char* kMiss[] = {"#c2410c", "#f0a777"};  // likewise
constexpr const char* kHeld = "#9a9a9a";

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

std::string cache_picture(const RoutingTrace& trace, const Popularity& popularity, const CachePictureRequest& request) {
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

    const double row_height = header.n_experts <= 32 ? 10 : (header.n_experts <= 128 ? 6 : 3);
    const double width = static_cast<double>(held.n_tokens) * kTokenWidth;
    const double height = static_cast<double>(header.n_experts) * row_height;
    const double whole_width = std::max(width, 560.0) + 2 * kPictureMargin;
    const double whole_height = kFirstLayer + static_cast<double>(held.layers.size()) * (height + kBetweenLayers) + 16;
    std::string svg =
        print(R"(<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" )", whole_width, whole_height) +
        "font-family=\"sans-serif\">\n" + rect(0, 0, whole_width, whole_height, "#ffffff");
    svg += svg_text(kPictureMargin, 24, "start", 15,
                    print("%s: experts over tokens, %s with %lld of %lld experts", header.model.c_str(),
                          std::string(name_of(request.policy)).c_str(), static_cast<long long>(request.n_slots),
                          static_cast<long long>(header.n_layers * header.n_experts)));
    double x = kPictureMargin;
    for (const auto& [colour, name] : {std::pair{kHit[0], "used, in the cache"}, std::pair{kMiss[0], "used, not in it"},
                                       std::pair{kHeld, "in it, not used"}}) {
        svg += rect(x, 36, 10, 10, colour) + svg_text(x + 16, 45, "start", 12, name);
        x += 160;
    }
    double top = kFirstLayer;
    for (std::size_t l = 0; l < held.layers.size(); ++l) {
        std::string cells;
        std::int64_t n_hits = 0;
        for (std::int64_t t = 0; t < held.n_tokens; ++t) {
            const double left = kPictureMargin + static_cast<double>(t) * kTokenWidth;
            const auto chosen = trace.experts_of(as_size(held.first + t))
                                    .subspan(as_size(held.layers[l] * header.n_active), as_size(header.n_active));
            for (std::int64_t e = 0; e < held.n_experts; ++e) {
                const bool cached = held.cells[held.at(l, t, e)] != 0;
                const auto place = std::find(chosen.begin(), chosen.end(), static_cast<std::int32_t>(e));
                const double y = top + 14 + static_cast<double>(e) * row_height;
                if (place != chosen.end()) {
                    n_hits += cached ? 1 : 0;
                    const std::size_t tone = place == chosen.begin() ? 0 : 1;
                    cells += rect(left, y, kTokenWidth - 1, row_height - 1, (cached ? kHit : kMiss)[tone]);
                } else if (cached) {
                    cells += rect(left + 3, y + row_height * 0.3, 3, row_height * 0.4, kHeld);
                }
            }
        }
        const double share = static_cast<double>(n_hits) / static_cast<double>(held.n_tokens * header.n_active);
        svg += svg_text(kPictureMargin, top + 6, "start", 13,
                        print("layer %lld: %.0f %% of what was used was in the cache",
                              static_cast<long long>(held.layers[l]), 100 * share));
        svg += rect(kPictureMargin - 1, top + 13, width + 1, height + 1, "#f2f2f2") + cells;
        svg += svg_text(kPictureMargin - 8, top + 24, "end", 11, "0");
        svg += svg_text(kPictureMargin - 8, top + 12 + height, "end", 11, std::to_string(header.n_experts - 1));
        top += height + kBetweenLayers;
    }
    svg += svg_text(kPictureMargin, whole_height - 18, "start", 12,
                    print("tokens %lld to %lld; experts of each layer from top to bottom, the first choice darker",
                          static_cast<long long>(held.first), static_cast<long long>(held.first + held.n_tokens - 1)));
    return svg + "</svg>\n";
}

}  // namespace offstage::engine
