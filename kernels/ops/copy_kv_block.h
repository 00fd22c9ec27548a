#pragma once

#include "kernels/ops/cost.h"
#include "kernels/ops/segments.h"

namespace offstage::kernels::ops {

// Writes the first n_tokens tokens of a block to another one, of the given type, all
// layers: a sequence parts from another inside a block, or the cache changes its type.
struct CopyKvBlock {
    KvShape kv;
    KvBlock from;
    KvType type = KvType::kF32;
    KvBlock to;
    std::int64_t n_tokens = 0;

    std::int64_t n_rows() const { return n_tokens == kKvBlockTokens ? kv.block_rows() : kv.keys_of(n_tokens); }
    Cost cost() const {
        KvShape target = kv;
        target.type = type;
        const double read = as_double(kv.token_bytes() * n_tokens);
        const double written = as_double(target.token_bytes() * n_tokens);
        return {(from.in_host ? 0 : read) + (to.in_host ? 0 : written), 0,
                (from.in_host ? read : 0) + (to.in_host ? written : 0)};
    }
};
void compute(CpuWorker& worker, const CopyKvBlock& op);     // rotate_and_store.cpp
void compute(cuda::Worker& worker, const CopyKvBlock& op);  // rotate_and_store.cu

}  // namespace offstage::kernels::ops
