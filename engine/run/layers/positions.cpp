#include "engine/run/layers/positions.h"

#include <algorithm>
#include <cmath>

#include "engine/as_size.h"

namespace offstage::engine {
namespace {

// The different ones, in the order of their first layers; pooled: of pooled keys.
std::vector<const RopeSpec*> kinds_of(const ModelSpec& spec, std::vector<std::size_t>* layers,
                                      std::vector<std::size_t>* pooled) {
    std::vector<const RopeSpec*> kinds;
    const auto add = [&](const RopeSpec& rope, std::vector<std::size_t>* numbers) {
        const auto found =
            std::find_if(kinds.begin(), kinds.end(), [&](const RopeSpec* known) { return *known == rope; });
        if (numbers != nullptr) numbers->push_back(as_size(found - kinds.begin()));
        if (found == kinds.end()) kinds.push_back(&rope);
    };
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        add(spec.rope(l), layers);
        const PooledSpec* const own = spec.layers[as_size(l)].pooled();
        add(own != nullptr && own->key_tokens > 0 ? own->pooled_rope : spec.rope(l), pooled);
    }
    return kinds;
}

// For each pair.
std::vector<float> inverse_frequencies(const RopeSpec& rope, double theta, const std::vector<double>& scales) {
    std::vector<float> frequencies;
    for (std::int64_t i = 0; i < rope.dim / 2; ++i) {
        const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(rope.dim);
        const double scale = scales.empty() ? 1.0 : scales[as_size(i)];
        frequencies.push_back(static_cast<float>(scale / std::pow(theta, exponent)));
    }
    return frequencies;
}

// For dynamic positions, in a step that ends at token `end`.
std::vector<float> stretched_frequencies(const RopeSpec& rope, std::int64_t end) {
    const double length = static_cast<double>(end) / static_cast<double>(rope.dynamic_context);
    const auto dim = static_cast<double>(rope.dim);
    const double stretch = rope.dynamic_factor * length - (rope.dynamic_factor - 1);
    return inverse_frequencies(rope, rope.theta * std::pow(stretch, dim / (dim - 2)), {});
}

}  // namespace

Positions::Positions(const ModelSpec& spec, std::int64_t context) {
    for (const RopeSpec* rope : kinds_of(spec, &layers_, &pooled_)) {
        const bool is_long = rope->is_long(context);
        const std::vector<double>& scales = is_long ? rope->long_frequency_scale : rope->frequency_scale;
        Kind kind;
        kind.amplitude = static_cast<float>(is_long ? rope->long_amplitude : rope->amplitude);
        kind.inverse_frequencies = inverse_frequencies(*rope, rope->theta, scales);
        if (rope->dynamic_context > 0) kind.dynamic = rope;
        kind.unit = rope->unit;
        kinds_.push_back(std::move(kind));
    }
    places_.resize(kinds_.size());
}

std::int64_t Positions::floats_per_token(const ModelSpec& spec) {
    std::int64_t floats = 0;
    for (const RopeSpec* rope : kinds_of(spec, nullptr, nullptr)) floats += rope->dim;
    return floats;
}

void Positions::fill(std::int64_t past, std::int64_t n_tokens, std::int64_t first_row, std::int64_t n_rows,
                     float* values) const {
    for (const Kind& kind : kinds_) {
        const std::int64_t half = kind.half();
        float* const cos = values + first_row * half;
        float* const sin = cos + n_rows * half;
        const bool stretched = kind.dynamic != nullptr && past + n_tokens > kind.dynamic->dynamic_context;
        const std::vector<float> own =
            stretched ? stretched_frequencies(*kind.dynamic, past + n_tokens) : std::vector<float>();
        const std::vector<float>& frequencies = stretched ? own : kind.inverse_frequencies;
        for (std::int64_t t = 0; t < n_tokens; ++t) {
            for (std::int64_t i = 0; i < half; ++i) {
                const float angle = static_cast<float>((past + t) / kind.unit * kind.unit) * frequencies[as_size(i)];
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
