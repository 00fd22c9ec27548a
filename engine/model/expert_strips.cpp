#include "engine/model/expert_strips.h"

#include <algorithm>

namespace offstage::engine {
namespace {

using kernels::WeightType;

std::int64_t outer_stride(const StripPart& part) {
    return part.by_neurons ? part.neuron_stride : part.hidden_stride;
}

bool overlap(const FileRange& a, const FileRange& b) {
    return a.file == b.file && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// Bytes between the beginnings of two rows; for codes in a separate tensor, two in a
// byte.
std::uint64_t row_step(const StripPart& part, bool has_exponents) {
    const std::int64_t stride = outer_stride(part);
    return has_exponents ? static_cast<std::uint64_t>(stride / 2) : kernels::row_bytes(part.type, stride);
}

struct Bounds {
    std::uint64_t begin = 0, end = 0;
};

// For rows [first, last) of a range; the last row ends with the range at the latest.
Bounds bounds_of(const FileRange& range, std::uint64_t step, std::uint64_t row_bytes, std::int64_t first,
                 std::int64_t last) {
    const std::uint64_t begin = range.offset + static_cast<std::uint64_t>(first) * step;
    const std::uint64_t end = range.offset + static_cast<std::uint64_t>(last - 1) * step + row_bytes;
    return {begin, std::min(end, range.offset + range.bytes)};
}

FileRange united(const FileRange& range, std::span<const Bounds> bounds) {
    FileRange all{range.file, bounds.front().begin, 0};
    std::uint64_t end = 0;
    for (const Bounds& b : bounds) {
        all.offset = std::min(all.offset, b.begin);
        end = std::max(end, b.end);
    }
    all.bytes = end - all.offset;
    return all;
}

// Pieces that lie between each other have rows of the same kind and distance.
void cut_group(std::span<const StripSource* const> group, std::uint64_t most_bytes, std::vector<ExpertStrip>& strips) {
    const StripSource& first = *group.front();
    const bool has_exponents = first.exponents.bytes > 0;
    const std::uint64_t step = row_step(first.part, has_exponents);
    const std::uint64_t exponent_step = has_exponents ? step / 16 : 0;
    const std::int64_t n_rows = first.part.end;
    const auto together =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(most_bytes / std::max<std::uint64_t>(1, step)));
    const auto n_strips = (n_rows + together - 1) / together;
    std::vector<Bounds> weights(group.size()), exponents(group.size());
    for (std::int64_t s = 0; s < n_strips; ++s) {
        const std::int64_t begin = n_rows * s / n_strips;
        const std::int64_t end = n_rows * (s + 1) / n_strips;
        for (std::size_t i = 0; i < group.size(); ++i) {
            const StripSource& piece = *group[i];
            // A row's own bytes: those of the range after the beginning of the last row.
            const auto before = static_cast<std::uint64_t>(n_rows - 1);
            weights[i] = bounds_of(piece.weights, step, piece.weights.bytes - before * step, begin, end);
            if (has_exponents) {
                exponents[i] = bounds_of(piece.exponents, exponent_step, piece.exponents.bytes - before * exponent_step,
                                         begin, end);
            }
        }
        ExpertStrip strip;
        strip.weights = united(first.weights, weights);
        if (has_exponents) strip.exponents = united(first.exponents, exponents);
        for (std::size_t i = 0; i < group.size(); ++i) {
            StripPart part = group[i]->part;
            part.begin = begin;
            part.end = end;
            part.skipped_bytes = weights[i].begin - strip.weights.offset;
            if (has_exponents) part.skipped_exponents = exponents[i].begin - strip.exponents.offset;
            strip.parts.push_back(part);
        }
        strips.push_back(std::move(strip));
    }
}

bool same_rows(const StripSource& a, const StripSource& b) {
    return a.part.by_neurons == b.part.by_neurons && outer_stride(a.part) == outer_stride(b.part) &&
           a.part.end == b.part.end && a.part.type == b.part.type && overlap(a.weights, b.weights) &&
           a.exponents.bytes == b.exponents.bytes && (a.exponents.bytes == 0 || overlap(a.exponents, b.exponents));
}

void pack_bias(const StripPart& part, const std::byte* from, const kernels::ExpertLayout& layout, std::byte* block) {
    auto* to = reinterpret_cast<float*>(block + layout.bias_offset()) + (part.piece - 3) * layout.ffn_dim;
    const std::int64_t stride = outer_stride(part);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
        const auto skipped = static_cast<std::size_t>((i - part.begin) * stride);
        convert_weights(from + skipped * kernels::bytes_per_weight(part.type), part.type,
                        reinterpret_cast<std::byte*>(to + i), WeightType::kF32, 1);
    }
}

}  // namespace

std::vector<ExpertStrip> cut_into_strips(std::span<const StripSource> pieces, std::uint64_t most_bytes) {
    std::vector<ExpertStrip> strips;
    std::vector<bool> cut(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (cut[i]) continue;
        std::vector<const StripSource*> group = {&pieces[i]};
        for (std::size_t j = i + 1; j < pieces.size(); ++j) {
            if (cut[j] || !same_rows(pieces[i], pieces[j])) continue;
            group.push_back(&pieces[j]);
            cut[j] = true;
        }
        cut_group(group, most_bytes, strips);
    }
    return strips;
}

void pack_strip(const ExpertStrip& strip, const std::byte* weights, const std::byte* exponents,
                const kernels::ExpertLayout& layout, std::byte* block) {
    for (const StripPart& part : strip.parts) {
        const std::byte* const from = weights + part.skipped_bytes;
        if (part.piece >= 3) {
            pack_bias(part, from, layout, block);
            continue;
        }
        NeuronMatrix rows{from, part.type, part.neuron_stride, part.hidden_stride};
        rows.factor = part.factor;
        if (strip.exponents.bytes > 0) rows.exponents = exponents + part.skipped_exponents;
        pack_rows_of(rows, {part.piece, part.by_neurons, part.begin, part.end}, layout, block);
    }
}

}  // namespace offstage::engine
