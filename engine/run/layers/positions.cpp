#include "engine/run/layers/positions.h"

#include <algorithm>
#include <cmath>

#include "engine/as_size.h"

namespace offstage::engine {
namespace {

// The different ones, in the order of their first layers.
std::vector<const RopeSpec*> kinds_of(const ModelSpec& spec, std::vector<std::size_t>* layers) {
    std::vector<const RopeSpec*> kinds;
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const RopeSpec& rope = spec.rope(l);
        const auto found =
            std::find_if(kinds.begin(), kinds.end(), [&](const RopeSpec* known) { return *known == rope; });
        if (layers != nullptr) layers->push_back(as_size(found - kinds.begin()));
        if (found == kinds.end()) kinds.push_back(&rope);
    }
    return kinds;
}

}  // namespace

Positions::Positions(const ModelSpec& spec, std::int64_t context) {
    for (const RopeSpec* rope : kinds_of(spec, &layers_)) {
        const bool is_long = rope->is_long(context);
        const std::vector<double>& scales = is_long ? rope->long_frequency_scale : rope->frequency_scale;
        Kind kind;
        kind.amplitude = static_cast<float>(is_long ? rope->long_amplitude : rope->amplitude);
        for (std::int64_t i = 0; i < rope->dim / 2; ++i) {
            const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(rope->dim);
            const double scale = scales.empty() ? 1.0 : scales[as_size(i)];
            kind.inverse_frequencies.push_back(static_cast<float>(scale / std::pow(rope->theta, exponent)));
        }
        kinds_.push_back(std::move(kind));
    }
    places_.resize(kinds_.size());
}

std::int64_t Positions::floats_per_token(const ModelSpec& spec) {
    std::int64_t floats = 0;
    for (const RopeSpec* rope : kinds_of(spec, nullptr)) floats += rope->dim;
    return floats;
}

void Positions::fill(std::int64_t past, std::int64_t n_tokens, std::int64_t first_row, std::int64_t n_rows,
                     float* values) const {
    for (const Kind& kind : kinds_) {
        const std::int64_t half = kind.half();
        float* const cos = values + first_row * half;
        float* const sin = cos + n_rows * half;
        for (std::int64_t t = 0; t < n_tokens; ++t) {
            for (std::int64_t i = 0; i < half; ++i) {
                const float angle = static_cast<float>(past + t) * kind.inverse_frequencies[as_size(i)];
                cos[t * half + i] = std::cos(angle) * kind.amplitude;
                sin[t * half + i] = std::sin(angle) * kind.amplitude;
            }
        }
        values += 2 * n_rows * half;
    }
}

std::span<const Rotation> Positions::places(const float* values, std::int64_t n_rows) {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const std::int64_t floats = n_rows * kinds_[k].half();
        places_[k] = {values, values + floats};
        values += 2 * floats;
    }
    return places_;
}

}  // namespace offstage::engine
