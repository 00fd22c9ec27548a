#include "engine/quant/expert_source.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/model/pack_neurons.h"
#include "engine/quant/quant_cache.h"
#include "engine/quant/quant_messages.h"

namespace offstage::engine {

using kernels::WeightType;

ExpertSource::ExpertSource(const ExpertGrid& grid, WeightSource& master, QuantCache* cache)
    : grid_(grid), master_(master), cache_(cache) {}

ExpertSource::~ExpertSource() = default;

bool ExpertSource::supports(WeightType format) const {
    const auto& of_file = grid_.file_formats;
    if (format == master_type() || std::find(of_file.begin(), of_file.end(), format) != of_file.end()) return true;
    const kernels::FormatTraits& traits = kernels::traits_of(format);
    return traits.for_experts && (!traits.is_packed() || grid_.hidden_dim % kernels::kPackedBlock == 0);
}

std::uint64_t ExpertSource::scratch_bytes() const {
    if (!kernels::traits_of(master_type()).is_of_file()) return expert_bytes(master_type());
    std::uint64_t largest = 0;
    for (const WeightType format : grid_.file_formats) largest = std::max(largest, expert_bytes(format));
    return (largest + 63) / 64 * 64 + expert_bytes(WeightType::kF32);
}

ExpertSource::Packed ExpertSource::pack(LayerIndex layer, ExpertIndex expert, WeightType format, std::byte* block,
                                        kernels::ThreadPool& pool, const std::stop_token& stop) {
    if (!supports(format)) {
        throw Error(ErrorKind::kUnsupported,
                    messages::expert_rows_do_not_fit_format(kernels::name_of(format), grid_.hidden_dim));
    }
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::packing_cancelled);
    const WeightType stored = grid_.stored(master_type(), layer.value);
    assert(format == stored || !kernels::traits_of(format).is_of_file());
    if (format == stored) {
        master_.pack_expert(layer, expert, block, pool);
        return {};
    }
    QuantCache* const cache = method_ == QuantMethod::kHqq ? cache_ : nullptr;
    QuantKey key{{}, format, grid_.layout(format).n_rows(), grid_.hidden_dim, grid_.expert};
    QuantError error;
    const std::optional<Fingerprint> known =
        cache != nullptr && !grid_.expert.biases ? master_.expert_fingerprint(layer, expert, pool) : std::nullopt;
    if (known) {
        key.source = *known;
        if (cache->load(key, {block, key.block_bytes()}, error, pool)) return {error.relative(), true};
    }
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::packing_cancelled);

    const Scratch scratch(*this);
    master_.pack_expert(layer, expert, scratch.data(), pool);
    kernels::ExpertView plain{scratch.data(), grid_.layout(stored)};
    if (kernels::traits_of(stored).is_of_file()) {
        const kernels::ExpertLayout wide = grid_.layout(WeightType::kF32);
        std::byte* const to = scratch.data() + scratch_bytes() - wide.bytes();
        unpack_expert(plain, wide, to, pool);
        plain = {to, wide};
    }
    const kernels::ExpertLayout layout = grid_.layout(format);
    if (cache != nullptr && !known) {
        copy_biases(plain, layout, block);  // the cache keeps the matrices only
        key.source = fingerprint_of({static_cast<const std::byte*>(plain.data), plain.layout.weight_bytes()}, pool);
        if (cache->load(key, {block, key.block_bytes()}, error, pool)) return {error.relative(), true};
    }
    {
        std::unique_lock helping(helping_, std::defer_lock);
        const bool helped = helper_ != nullptr && helping.try_lock();
        Quantizer quantizer(pool, method_, helped ? helper_ : nullptr);
        error = quantizer.quantize_expert(plain, layout, block, stop);
        if (quantizer.n_helped() == key.n_rows) ++n_helped_;
    }
    if (cache != nullptr) cache->store(key, {block, key.block_bytes()}, error, pool);
    return {error.relative(), false};
}

Message ExpertSource::take_cache_problem() {
    return cache_ != nullptr ? cache_->take_problem() : Message();
}

ExpertSource::Scratch::Scratch(ExpertSource& source) : source_(source) {
    {
        const std::lock_guard lock(source_.mutex_);
        if (!source_.spare_.empty()) {
            memory_ = std::move(source_.spare_.back());
            source_.spare_.pop_back();
            return;
        }
    }
    require_ram(source_.scratch_bytes(), messages::quantizing_an_expert);
    try {
        memory_ = std::make_unique_for_overwrite<std::byte[]>(source_.scratch_bytes());
    } catch (const std::bad_alloc&) {
        throw Error(ErrorKind::kOutOfMemory, messages::no_memory_to_quantize_expert);
    }
}

ExpertSource::Scratch::~Scratch() {
    const std::lock_guard lock(source_.mutex_);
    source_.spare_.push_back(std::move(memory_));
}

}  // namespace offstage::engine
