#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/plan/load_settings.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

struct ExpertKey {
    std::int32_t layer = 0;
    std::int32_t expert = 0;
    bool operator==(const ExpertKey&) const = default;
};

// The residents that may be evicted now. A view: the function must outlive it.
class MayGo {
  public:
    template <typename Function>
    MayGo(const Function& function)
        : function_(&function),
          call_([](const void* f, ExpertKey key) { return (*static_cast<const Function*>(f))(key); }) {}
    bool operator()(ExpertKey key) const { return call_(function_, key); }

  private:
    const void* function_;
    bool (*call_)(const void*, ExpertKey);
};

// Decides which experts keep their place on the device, from their past uses and the
// current residents. Deterministic: the live store and a replay of a recorded trace make
// the same calls and get the same results. One thread. Once made, nothing here throws or
// allocates. Residents are kept in order, so that finding one takes log(residents) steps,
// and as many for each earlier one that may not go.
//
// kLfu and kSlru use an expert's heat: the count of its uses, each worth half as much H =
// half_life steps later. A use by n tokens at once (a prompt's step) counts less than n
// uses, as if the n tokens had come one after the other: (1 - 2^(-n / H)) / (1 - 2^(-1 /
// H)), so that a long prompt does not outweigh what follows it.
class CachePolicy {
  public:
    virtual ~CachePolicy() = default;
    virtual CacheKind kind() const = 0;

    // The expert got a place, or lost it. Called alternately, beginning with entered().
    virtual void entered(ExpertKey key) = 0;
    virtual void left(ExpertKey key) = 0;
    // The n-th token or step begins (each once, in order).
    virtual void begin_step() = 0;
    // This step called the expert, for this many tokens.
    virtual void used(ExpertKey key, std::int64_t n_tokens) = 0;
    // The resident that `admitted`, which has just been copied, should replace; nothing
    // when that does not pay (or no resident may go). Among equals the one of the lowest
    // layer, then of the lowest expert, goes.
    virtual std::optional<ExpertKey> victim(ExpertKey admitted, MayGo may_go) const = 0;
    // The resident with the least value, independent of its successor.
    virtual std::optional<ExpertKey> least_useful(MayGo may_go) const = 0;
    // Forgets all uses and restores the heat seeded from the popularity. Residents stay.
    virtual void forget() = 0;
};

// Chosen by replaying the demo model's domains (tests/bench/results/routing.md):
// half-lives from 8 to 16 differ little.
struct CacheSettings {
    double half_life = 12;         // of a use, in steps; > 0
    double protected_share = 0.5;  // kSlru: of the residents, 0 .. 1
    double margin = 1.1;           // kSlru: how many times hotter than the resident that would go; >= 1
};

// `popularity` has the model's n_layers and n_experts; no call may use keys beyond them.
// Its counts (n_tokens 0: unknown) seed the heat of kLfu and kSlru, as if tokens had
// always been routed so.
std::unique_ptr<CachePolicy> make_cache_policy(CacheKind kind, const Popularity& popularity,
                                               const CacheSettings& settings = {});

}  // namespace offstage::engine
