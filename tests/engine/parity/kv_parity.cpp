// Blocks of the KV cache that are copied.
#include "kernels/cpu_kernels.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_sequences.h"

namespace offstage::engine::parity {

namespace {

void check_copy_kv_block(Backend& backend, const Promise&) {
    using kernels::KvType;
    for (const auto& [kept, target_type] : {std::pair{kernels::KvShape{2, 3, 16, 16, false}, KvType::kF32},
                                            {{3, 2, 24, 10, false}, KvType::kBf16},
                                            {{2, 1, 26, 20, true}, KvType::kF32},
                                            {{1, 1, 9, 31, false, KvType::kBf16}, KvType::kBf16},
                                            {{2, 2, 70, 66, false}, KvType::kInt8},
                                            {{2, 2, 70, 67, false, KvType::kInt8}, KvType::kInt8},
                                            {{1, 2, 80, 15, false, KvType::kInt8}, KvType::kBf16}}) {
        const kernels::KvShape& shape = kept;
        kernels::KvShape target = shape;
        target.type = target_type;
        PinnedHost<std::byte> host(backend, static_cast<std::size_t>(target.block_bytes()), "a test");
        std::byte* const mapped = host.pinned() ? backend.mapped(host.host()) : nullptr;
        for (const std::int64_t n_tokens : {1, 17, 64}) {
            const OnDevice<std::byte> source(backend, random_cache(shape, 1, 13));
            const OnDevice<std::byte> memory(backend, random_cache(target, 1, 14));
            const KvBlock from{source.data(), false};
            const KvBlock to{memory.data(), false};
            const KvBlock in_host{mapped, true};
            if (mapped == nullptr) {
                backend.submit(ops::CopyKvBlock{shape, from, target.type, to, n_tokens});
            } else {  // to host memory and back
                backend.submit(ops::CopyKvBlock{shape, from, target.type, in_host, n_tokens});
                backend.submit(ops::CopyKvBlock{target, in_host, target.type, to, n_tokens});
            }
            std::vector<std::byte> want = memory.host();
            const auto expect = [&](std::int64_t first, std::int64_t stride, std::int64_t place,
                                    std::int64_t target_stride, std::int64_t n) {
                for (std::int64_t t = 0; t < n_tokens; ++t) {
                    const std::byte* row = source.host().data() + first + t * stride;
                    std::byte* to_row = want.data() + place + t * target_stride;
                    if (shape.type == target.type) {
                        std::copy_n(row, stride, to_row);
                        continue;
                    }
                    std::vector<float> values(static_cast<std::size_t>(n));
                    kernels::load_kv_row(row, n, shape.type, values.data());
                    kernels::store_kv_row(values.data(), n, target.type, to_row);
                }
            };
            for (std::int64_t layer = 0; layer < shape.n_layers; ++layer) {
                for (std::int64_t head = 0; head < shape.n_kv_heads; ++head) {
                    expect(shape.keys_offset(layer, head), shape.key_stride(), target.keys_offset(layer, head),
                           target.key_stride(), shape.key_dim);
                    if (shape.values_in_keys) continue;
                    expect(shape.values_offset(layer, head), shape.value_stride(), target.values_offset(layer, head),
                           target.value_stride(), shape.value_dim);
                }
            }
            const std::vector<std::byte> got = memory.download();
            QVERIFY(same_bits<std::byte>(got, want));
        }
    }
}

}  // namespace

std::vector<Check> kv_checks() {
    return {{"copy_kv_block", check_copy_kv_block}};
}

}  // namespace offstage::engine::parity
