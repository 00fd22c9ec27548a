#pragma once
// The guarantee of the reader of stored quantized blocks, checked on any bytes: an
// accepted header describes exactly the requested block. Returns the first broken
// guarantee, or "".

#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "engine/quant/quant_cache.h"

namespace offstage::tests {

inline std::string check_quant_file(std::span<const std::byte> file) {
    engine::QuantKey key;
    // Half of the time the key comes from the file itself, so that the checks after the
    // comparison are reached.
    if (file.size() >= 56 && (static_cast<unsigned>(file[55]) & 1u) == 0) {
        std::uint64_t words[5];
        std::memcpy(words, file.data() + 16, sizeof words);
        key.source = {words[0], words[1]};
        key.format = static_cast<kernels::WeightType>(words[2] % kernels::kWeightTypes);
        key.n_rows = static_cast<std::int64_t>(words[3] % (1u << 20));
        key.n_cols = static_cast<std::int64_t>(words[4] % (1u << 20));
    } else {
        key = {{1, 2}, kernels::WeightType::kHqq3, 16, 64};
    }
    engine::QuantError error;
    engine::Fingerprint block;
    if (!engine::read_quant_header(file, file.size(), key, error, block)) return {};
    if (file.size() != 128 + key.block_bytes()) return "a header for another size of block";
    if (!(error.squared >= 0) || !(error.weights >= 0) || !std::isfinite(error.relative())) {
        return "an error that is negative or not finite";
    }
    return {};
}

}  // namespace offstage::tests
