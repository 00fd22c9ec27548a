#include "engine/experts/loading_overlap.h"

#include <algorithm>

namespace offstage::engine {

void LoadingOverlap::begin_step() {
    step_us_ = 0;
    begun_us_ = std::numeric_limits<double>::infinity();
    // Copies end in their order, and what has ended by now is in no layer that follows.
    copies_.erase(copies_.begin(), std::partition_point(copies_.begin(), copies_.end(), [this](const Copy& copy) {
                      return device_.has_happened(copy.end);
                  }));
}

LoadingTimes LoadingOverlap::measure(const Layer& layer, std::span<const Span> device, std::span<const Span> host) {
    computing_.assign(1, {0, layer.routed_us});
    computing_.insert(computing_.end(), device.begin(), device.end());
    if (!host.empty()) {
        begun_us_ = std::min(begun_us_, layer.routed_seen_us - step_us_ - layer.routed_us);
        const double layer_begun_us = begun_us_ + step_us_;
        for (const Span& span : host) {
            computing_.push_back({span.begin_us - layer_begun_us, span.end_us - layer_begun_us});
        }
    }
    step_us_ += layer.end_us;

    std::sort(computing_.begin(), computing_.end(),
              [](const Span& a, const Span& b) { return a.begin_us < b.begin_us; });
    LoadingTimes times;
    double computed_until_us = 0;
    for (Span& span : computing_) {
        span.begin_us = std::max(span.begin_us, computed_until_us);
        span.end_us = std::clamp(span.end_us, span.begin_us, std::max(span.begin_us, layer.end_us));
        computed_until_us = span.end_us;
        times.computing_us += span.end_us - span.begin_us;
    }

    std::erase_if(copies_, [&](const Copy& copy) {
        if (!device_.has_happened(copy.submitted) || !device_.has_happened(copy.after)) return false;
        const auto at = [&](DeviceEvent event) { return device_.elapsed_us(layer.begin, event); };
        const bool has_ended = device_.has_happened(copy.end);
        const double begin_us = std::max({0.0, at(copy.submitted), at(copy.after)});
        const double end_us = has_ended ? at(copy.end) : layer.end_us;
        const double until_us = std::min(end_us, layer.end_us);
        times.loading_us += std::max(0.0, until_us - begin_us);
        for (const Span& span : computing_) {
            times.overlap_us += std::max(0.0, std::min(span.end_us, until_us) - std::max(span.begin_us, begin_us));
        }
        return has_ended && end_us <= layer.end_us;
    });
    return times;
}

}  // namespace offstage::engine
