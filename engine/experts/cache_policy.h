#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/plan/cache_kind.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

struct ExpertKey {
    std::int32_t layer = 0;
    std::int32_t expert = 0;
    bool operator==(const ExpertKey&) const = default;
};

// Which experts are worth their place on the device. Knows what was used when; where experts are is the caller's
// knowledge. Pure: the live store and a replay of a recorded trace ask the same object the same questions, and the same
// questions have the same answers. One thread. Nothing here throws or allocates once made, but for scratch as long as
// the longest list of residents.
//
// kLfu and kSlru go by an expert's heat: the count of its uses, each worth half as much H = half_life steps later. A
// use by n tokens at once (a prompt's step) counts less than n uses, as if the n tokens had come one after the other:
// (1 - 2^(-n / H)) / (1 - 2^(-1 / H)), so that a long prompt does not drown what follows it.
class CachePolicy {
  public:
    virtual ~CachePolicy() = default;
    virtual CacheKind kind() const = 0;

    // The n-th token or step begins (each once, in order).
    virtual void begin_step() = 0;
    // The expert was called by this step, for so many tokens.
    virtual void used(ExpertKey key, std::int64_t n_tokens) = 0;
    // `admitted` is at hand, and would take a resident's place: the index into `residents` of the one that should give
    // it up, -1 when admitting is not worth it (or nothing may be replaced). Residents that the current step still
    // needs are not among them. Takes time in proportion to the residents. The order of the residents does not matter:
    // among equals the one of the lowest layer, then of the lowest expert, goes.
    virtual std::int64_t victim(ExpertKey admitted, std::span<const ExpertKey> residents) const = 0;
    // The resident that will be missed least, whatever comes in its place; -1: none, or nothing may be replaced.
    virtual std::int64_t least_useful(std::span<const ExpertKey> residents) const = 0;
    // All that was used is forgotten; what the popularity seeded is back.
    virtual void forget() = 0;
};

// Chosen by replaying the demo model's domains (tests/bench/RESULTS.md): half-lives from 8 to 16 differ little.
struct CacheSettings {
    double half_life = 12;         // of a use, in steps; > 0
    double protected_share = 0.5;  // of kSlru: of the residents, 0 .. 1
    double margin = 1.1;           // of kSlru: how many times hotter than the resident that would go; >= 1
};

// `popularity` has the model's n_layers and n_experts; keys beyond them must not be asked for. Its counts (n_tokens 0:
// nothing known) seed the heat of kLfu and kSlru, as if tokens had always been routed so.
std::unique_ptr<CachePolicy> make_cache_policy(CacheKind kind, const Popularity& popularity,
                                               const CacheSettings& settings = {});

}  // namespace offstage::engine
