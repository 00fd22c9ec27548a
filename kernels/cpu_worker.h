#pragma once
// What the operations of kernels/ops compute with on the CPU: the pool, the kernels of
// this machine, and scratch memory that grows to the largest step seen. One thread at a
// time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/bf16_attention.h"
#include "kernels/cpu_kernels.h"
#include "kernels/gemm.h"
#include "kernels/ops/segments.h"
#include "kernels/sum_order.h"
#include "kernels/thread_pool.h"

namespace offstage::kernels {

struct CpuWorker {
    static constexpr std::int64_t kFewTokens = 8;      // with SumOrder::kByNumber: kernels for few rows take so many
    static constexpr std::int64_t kRowGrain = 16;      // rows of a step or a weight: the least for another thread
    static constexpr std::int64_t kValueGrain = 4096;  // the same for single values
    static constexpr std::int64_t kSerialFloats = 1 << 16;  // shorter sums do not wake the pool

    CpuWorker(ThreadPool& compute_pool, ProductForm product_form)
        : pool(compute_pool),
          form(product_form),
          kernels(cpu_kernels()),
          attention_scratch(static_cast<std::size_t>(compute_pool.n_threads())),
          thread_scratch(static_cast<std::size_t>(compute_pool.n_threads())) {}

    ThreadPool& pool;
    ProductForm form;
    SumOrder order = SumOrder::kByNumber;
    const CpuKernels& kernels;
    const Bf16Attention bf16_attention = kernels::bf16_attention(kernels.instruction_set);
    std::vector<std::vector<float>> attention_scratch;   // per thread
    std::vector<std::vector<std::byte>> thread_scratch;  // per thread: see scratch_of()
    std::vector<float> indexer_scores;                   // (rows, keys): see ops::ChooseKeys
    std::vector<std::byte> chosen_keys;                  // these three: see ops::Attend
    std::vector<std::byte*> chosen_blocks;
    std::vector<AttentionSegment> chosen_segments;
    std::vector<float> router_logits;  // (n, 3, n_experts): see ops::Route
    std::vector<std::byte> strip;      // an embedding's strip, its rows one after the other

    template <typename Value>
    static Value* room(std::vector<Value>& buffer, std::int64_t n) {
        if (buffer.size() < static_cast<std::size_t>(n)) buffer.resize(static_cast<std::size_t>(n));
        return buffer.data();
    }
    // The same for bytes that begin at a cache line.
    static std::byte* room_at_line(std::vector<std::byte>& buffer, std::int64_t n) {
        constexpr std::uintptr_t kLine = 64;
        std::byte* const bytes = room(buffer, n + static_cast<std::int64_t>(kLine));
        return bytes + (kLine - reinterpret_cast<std::uintptr_t>(bytes) % kLine) % kLine;
    }
    // Scratch memory of any thread, from a cache line on.
    void reserve_thread_scratch(std::int64_t bytes) {
        for (auto& scratch : thread_scratch) room_at_line(scratch, bytes);
    }
    std::byte* scratch_of(int thread) { return room_at_line(thread_scratch[static_cast<std::size_t>(thread)], 0); }

    // change(begin, end): a range of n values, here or on the pool.
    template <typename Change>
    void for_values(std::int64_t n, const Change& change) {
        if (n <= kSerialFloats) {
            change(std::int64_t{0}, n);
        } else {
            pool.parallel_for(n, kValueGrain, [&](std::int64_t begin, std::int64_t end, int) { change(begin, end); });
        }
    }
    // change(row) for each of n rows, on the pool.
    template <typename Change>
    void for_rows(std::int64_t n, const Change& change, std::int64_t grain = kRowGrain) {
        pool.parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t row = begin; row < end; ++row) change(row);
        });
    }
};

}  // namespace offstage::kernels
