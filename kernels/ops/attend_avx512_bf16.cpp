// bf16_attention(): keys in blocks, an online softmax, as in attend_simd.cpp. Two
// neighbouring values of a key, and the same value of two neighbouring keys, make one
// word: the instruction multiplies words and adds both products. So the keys of a block
// are transposed by words, and its values are put side by side in pairs of rows. Queries
// use both in groups, whose sums stay in registers.

#include <cmath>

#include "kernels/bf16_attention.h"
#include "kernels/cpu/attention_groups.h"
#include "kernels/cpu/simd_avx512.h"
// The templates below use the names of the header above.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/softmax_block_simd.h"

namespace offstage::kernels {
namespace {

constexpr int kBlock = kKvBlockTokens;        // keys
constexpr int kKeyVectors = kBlock / kLanes;  // scores of one query
constexpr std::int64_t kWordValues = 2;       // bf16 values of a word
static_assert(kBlock % kLanes == 0);

using Word = std::uint32_t;

constexpr std::int64_t lines_of(std::int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

struct PairCall : AttentionRows {
    // Parts of the scratch.
    Word* queries;        // (n_queries, key_dim / 2)
    Word* keys;           // (key_dim / 2, kBlock)
    Word* values;         // (kBlock / 2, value_dim)
    float* scores;        // (kPairedQueries, kBlock)
    Word* probabilities;  // (kPairedQueries, kBlock / 2)
    float* largest;       // n_queries
    float* sum;           // n_queries
};

__attribute__((always_inline)) inline __m512bh pairs(Vector words) {
    return reinterpret_cast<__m512bh>(words);
}
__attribute__((always_inline)) inline Vector words_at(const void* p) {
    return _mm512_loadu_ps(p);
}
__attribute__((always_inline)) inline __m512bh broadcast_word(const Word* p) {
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(*p)));
}

void round_queries(const PairCall& call) {
    for (std::int64_t query = 0; query < call.n_queries; ++query) {
        const float* from = call.q + query * call.q_stride;
        auto* to = reinterpret_cast<Bf16*>(call.queries + query * (call.kv.key_dim / kWordValues));
        for (std::int64_t i = 0; i < call.kv.key_dim; i += kLanes) store_bf16(to + i, load(from + i));
    }
}

// Keys [begin, begin + n) lie in one block of the cache. Missing keys are zero.
void lay_out_keys(const PairCall& call, const std::byte* rows, int n) {
    for (int first = 0; first < kBlock; first += kLanes) {
        for (std::int64_t i = 0; i < call.kv.key_dim; i += kWordValues * kLanes) {
            Vector words[kLanes];
            for (int k = 0; k < kLanes; ++k) {
                words[k] = first + k < n ? words_at(rows + (first + k) * call.kv.key_stride + 2 * i) : zero();
            }
            transpose_words(words);
            for (int w = 0; w < kLanes; ++w) {
                _mm512_storeu_ps(call.keys + (i / kWordValues + w) * kBlock + first, words[w]);
            }
        }
    }
}

void lay_out_values(const PairCall& call, const std::byte* rows, int n) {
    const std::int64_t stride = call.kv.value_stride;
    for (int k = 0; k < kBlock; k += 2) {
        Word* to = call.values + k / 2 * call.kv.value_dim;
        for (std::int64_t i = 0; i < call.kv.value_dim; i += kLanes) {
            const auto row = [&](int key) {
                return key < n ? load(reinterpret_cast<const Bf16*>(rows + key * stride) + i) : zero();
            };
            _mm512_storeu_ps(to + i, join_halves(row(k), row(k + 1)));
        }
    }
}

template <int kQueries>
void score(const PairCall& call, std::int64_t query) {
    Vector sums[kQueries][kKeyVectors];
#pragma GCC unroll 8
    for (int t = 0; t < kQueries; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kKeyVectors; ++v) sums[t][v] = zero();
    }
    const std::int64_t n = call.kv.key_dim / kWordValues;
    const Word* q = call.queries + query * n;
    for (std::int64_t i = 0; i < n; ++i) {
        __m512bh keys[kKeyVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kKeyVectors; ++v) keys[v] = pairs(words_at(call.keys + i * kBlock + v * kLanes));
#pragma GCC unroll 8
        for (int t = 0; t < kQueries; ++t) {
            const __m512bh factor = broadcast_word(q + t * n + i);
#pragma GCC unroll 8
            for (int v = 0; v < kKeyVectors; ++v) sums[t][v] = _mm512_dpbf16_ps(sums[t][v], keys[v], factor);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < kQueries; ++t) {
#pragma GCC unroll 8
        for (int v = 0; v < kKeyVectors; ++v) store(call.scores + t * kBlock + v * kLanes, sums[t][v]);
    }
}

// Turns the scores of a group's query t with the block's first n_seen keys into
// exponentials in bf16. Returns the factor for the earlier sums.
float exponentiate(const PairCall& call, std::int64_t query, int t, std::int64_t n_seen) {
    auto* probabilities = reinterpret_cast<Bf16*>(call.probabilities + t * (kBlock / 2));
    return exponentiate_block<kKeyVectors>(
        call.scores + t * kBlock, n_seen, call.scale, call.largest[query], call.sum[query],
        [probabilities](int v, Vector probability) {
            const __m256i rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(probability));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(probabilities + v * kLanes), rounded);
            return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16));
        });
}

template <int kQueries, int kVectors>
__attribute__((always_inline)) inline void add_values_part(const PairCall& call, std::int64_t query, int n_block,
                                                           const float (&factors)[kQueries], std::int64_t i) {
    Vector sums[kQueries][kVectors];
#pragma GCC unroll 8
    for (int t = 0; t < kQueries; ++t) {
        const float* place = call.out + (query + t) * call.out_stride + i;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[t][v] = multiply(broadcast(factors[t]), load(place + v * kLanes));
    }
    for (int k = 0; k < n_block; k += 2) {
        const Word* row = call.values + k / 2 * call.kv.value_dim + i;
        __m512bh values[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) values[v] = pairs(words_at(row + v * kLanes));
#pragma GCC unroll 8
        for (int t = 0; t < kQueries; ++t) {
            const __m512bh factor = broadcast_word(call.probabilities + t * (kBlock / 2) + k / 2);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sums[t][v] = _mm512_dpbf16_ps(sums[t][v], values[v], factor);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < kQueries; ++t) {
        float* place = call.out + (query + t) * call.out_stride + i;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) store(place + v * kLanes, sums[t][v]);
    }
}

template <int kQueries>
void attend_group(const PairCall& call, std::int64_t query, std::int64_t begin, int n) {
    score<kQueries>(call, query);
    // No query of the group sees keys beyond the last one that the last query sees.
    const std::int64_t n_visible = call.n_seen(query + kQueries - 1) - begin;
    const int n_block = n_visible < n ? static_cast<int>(n_visible) : n;
    float factors[kQueries];
    for (int t = 0; t < kQueries; ++t) {
        const std::int64_t n_seen = call.n_seen(query + t) - begin;
        factors[t] = exponentiate(call, query + t, t, n_seen < n_block ? n_seen : n_block);
    }
    constexpr int kVectors = 4;
    std::int64_t i = 0;
    for (; i + kVectors * kLanes <= call.kv.value_dim; i += kVectors * kLanes) {
        add_values_part<kQueries, kVectors>(call, query, n_block, factors, i);
    }
    for (; i < call.kv.value_dim; i += kLanes) add_values_part<kQueries, 1>(call, query, n_block, factors, i);
}

void attend_block(const PairCall& call, std::int64_t begin, int n) {
    // The first query that sees the block's first key.
    const std::int64_t first = call.rows == QueryRows::kHeads ? 0 : begin - (call.n_keys - call.n_queries);
    for (std::int64_t query = first > 0 ? first : 0; query < call.n_queries; query += kPairedQueries) {
        with_number<kPairedQueries>(call.n_queries - query, [&](auto n_queries) {
            attend_group<decltype(n_queries)::value>(call, query, begin, n);
        });
    }
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::avx512_bf16 {

void attention_of_pairs(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key,
                        std::int64_t n_queries, std::int64_t n_keys, float scale, const float* sinks, float* out,
                        std::int64_t out_stride, QueryRows rows, std::byte* scratch) {
    PairCall call{};
    static_cast<AttentionRows&>(call) = {q,     q_stride, kv,  first_key,  n_queries, n_keys,
                                         scale, sinks,    out, out_stride, rows};
    const auto take = [&](std::int64_t bytes) {
        std::byte* const part = scratch;
        scratch += lines_of(bytes);
        return part;
    };
    constexpr auto kWord = static_cast<std::int64_t>(sizeof(Word));
    call.queries = reinterpret_cast<Word*>(take(n_queries * kv.key_dim / kWordValues * kWord));
    call.keys = reinterpret_cast<Word*>(take(kv.key_dim / kWordValues * kBlock * kWord));
    call.values = reinterpret_cast<Word*>(take(kBlock / 2 * kv.value_dim * kWord));
    call.scores = reinterpret_cast<float*>(take(kPairedQueries * kBlock * kWord));
    call.probabilities = reinterpret_cast<Word*>(take(kPairedQueries * kBlock / 2 * kWord));
    call.largest = reinterpret_cast<float*>(take(n_queries * kWord));
    call.sum = reinterpret_cast<float*>(take(n_queries * kWord));

    round_queries(call);
    for (std::int64_t query = 0; query < n_queries; ++query) {
        const std::int64_t head = rows == QueryRows::kHeads ? query : 0;
        call.largest[query] = sinks != nullptr ? sinks[head] : -INFINITY;
        call.sum[query] = sinks != nullptr ? 1.0f : 0.0f;
        for (std::int64_t i = 0; i < kv.value_dim; i += kLanes) store(out + query * out_stride + i, zero());
    }
    int n = 0;
    for (std::int64_t begin = first_key; begin < n_keys; begin += n) {
        const std::int64_t end_of_block = (begin / kBlock + 1) * kBlock;
        n = static_cast<int>((end_of_block < n_keys ? end_of_block : n_keys) - begin);
        const std::byte* const block = kv.blocks[begin / kBlock];
        lay_out_keys(call, block + kv.keys + begin % kBlock * kv.key_stride, n);
        lay_out_values(call, block + kv.values + begin % kBlock * kv.value_stride, n);
        attend_block(call, begin, n);
    }
    for (std::int64_t query = 0; query < n_queries; ++query) {
        float* row = out + query * out_stride;
        const Vector sum = broadcast(call.sum[query]);
        for (std::int64_t i = 0; i < kv.value_dim; i += kLanes) store(row + i, divide(load(row + i), sum));
    }
}

}  // namespace offstage::kernels::avx512_bf16
