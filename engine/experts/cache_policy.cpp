#include "engine/experts/cache_policy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

constexpr std::array<std::string_view, kCacheKinds.size()> kCacheNames = {"static", "lru-layer", "lru", "lfu", "slru"};

class Static final : public CachePolicy {
  public:
    CacheKind kind() const override { return CacheKind::kStatic; }
    void begin_step() override {}
    void used(ExpertKey, std::int64_t) override {}
    std::int64_t victim(ExpertKey, std::span<const ExpertKey>) const override { return -1; }
    std::int64_t least_useful(std::span<const ExpertKey>) const override { return -1; }
    void forget() override {}
};

// A value for each (layer, expert).
template <typename T>
class Table {
  public:
    explicit Table(const Popularity& shape)
        : n_experts_(shape.n_experts), values_(static_cast<std::size_t>(shape.n_layers * shape.n_experts)) {}
    T& operator[](ExpertKey key) { return values_[index(key)]; }
    const T& operator[](ExpertKey key) const { return values_[index(key)]; }
    std::vector<T>& values() { return values_; }

  private:
    std::size_t index(ExpertKey key) const {
        const auto i = static_cast<std::size_t>(key.layer * n_experts_ + key.expert);
        assert(key.layer >= 0 && key.expert >= 0 && key.expert < n_experts_ && i < values_.size());
        return i;
    }
    std::int64_t n_experts_;
    std::vector<T> values_;
};

// When each expert was last used: the n-th call to used(), 0 for never.
class Recency {
  public:
    explicit Recency(const Popularity& shape) : last_(shape) {}
    void used(ExpertKey key) { last_[key] = ++n_uses_; }
    void forget() {
        std::fill(last_.values().begin(), last_.values().end(), 0);
        n_uses_ = 0;
    }
    std::uint64_t operator[](ExpertKey key) const { return last_[key]; }

  private:
    Table<std::uint64_t> last_;
    std::uint64_t n_uses_ = 0;
};

// Uses that halve. Instead of shrinking every count at every step, each step's uses weigh more than the last one's;
// only the ratios of heats mean anything.
class Heat {
  public:
    Heat(const Popularity& popularity, double half_life)
        : growth_(std::exp2(1 / half_life)), heat_(popularity), seed_(popularity) {
        // What constant use with this chance per token comes to in the end.
        if (popularity.n_tokens > 0) {
            for (std::int32_t layer = 0; layer < popularity.n_layers; ++layer) {
                for (std::int32_t expert = 0; expert < popularity.n_experts; ++expert) {
                    seed_[{layer, expert}] = popularity.share(layer, expert) / (1 - 1 / growth_);
                }
            }
        }
        forget();
    }
    void begin_step() {
        weight_ *= growth_;
        if (weight_ < kHeaviest) return;
        for (double& heat : heat_.values()) heat /= weight_;
        weight_ = 1;
    }
    void used(ExpertKey key, std::int64_t n_tokens) {
        if (n_tokens == 1) {  // decode
            heat_[key] += weight_;
            return;
        }
        const double each_later = 1 / growth_;
        heat_[key] += weight_ * (1 - std::pow(each_later, static_cast<double>(n_tokens))) / (1 - each_later);
    }
    void forget() {
        weight_ = 1;
        heat_ = seed_;
    }
    double operator[](ExpertKey key) const { return heat_[key]; }

  private:
    static constexpr double kHeaviest = 1e100;
    double growth_;
    double weight_ = 1;  // of a use by one token now
    Table<double> heat_, seed_;
};

// The resident with the least `value`, of those for which `may_go` holds; -1: none.
template <typename Value, typename MayGo>
std::int64_t least(std::span<const ExpertKey> residents, const Value& value, const MayGo& may_go) {
    std::int64_t best = -1;
    for (std::size_t i = 0; i < residents.size(); ++i) {
        const ExpertKey key = residents[i];
        if (!may_go(key)) continue;
        if (best >= 0) {
            const ExpertKey other = residents[static_cast<std::size_t>(best)];
            const auto mine = value[key], its = value[other];
            if (mine > its) continue;
            if (mine == its && (key.layer > other.layer || (key.layer == other.layer && key.expert > other.expert))) {
                continue;
            }
        }
        best = static_cast<std::int64_t>(i);
    }
    return best;
}

constexpr auto kAny = [](ExpertKey) { return true; };

class Lru final : public CachePolicy {
  public:
    Lru(CacheKind kind, const Popularity& shape) : kind_(kind), recency_(shape) {}
    CacheKind kind() const override { return kind_; }
    void begin_step() override {}
    void used(ExpertKey key, std::int64_t) override { recency_.used(key); }
    std::int64_t victim(ExpertKey admitted, std::span<const ExpertKey> residents) const override {
        if (kind_ == CacheKind::kLru) return least(residents, recency_, kAny);
        return least(residents, recency_, [&](ExpertKey key) { return key.layer == admitted.layer; });
    }
    std::int64_t least_useful(std::span<const ExpertKey> residents) const override {
        return least(residents, recency_, kAny);
    }
    void forget() override { recency_.forget(); }

  private:
    CacheKind kind_;
    Recency recency_;
};

class Lfu final : public CachePolicy {
  public:
    Lfu(const Popularity& popularity, const CacheSettings& settings) : heat_(popularity, settings.half_life) {}
    CacheKind kind() const override { return CacheKind::kLfu; }
    void begin_step() override { heat_.begin_step(); }
    void used(ExpertKey key, std::int64_t n_tokens) override { heat_.used(key, n_tokens); }
    std::int64_t victim(ExpertKey admitted, std::span<const ExpertKey> residents) const override {
        const std::int64_t coldest = least(residents, heat_, kAny);
        if (coldest < 0 || heat_[residents[static_cast<std::size_t>(coldest)]] >= heat_[admitted]) return -1;
        return coldest;
    }
    std::int64_t least_useful(std::span<const ExpertKey> residents) const override {
        return least(residents, heat_, kAny);
    }
    void forget() override { heat_.forget(); }

  private:
    Heat heat_;
};

class Slru final : public CachePolicy {
  public:
    Slru(const Popularity& popularity, const CacheSettings& settings)
        : settings_(settings), heat_(popularity, settings.half_life), recency_(popularity) {}
    CacheKind kind() const override { return CacheKind::kSlru; }
    void begin_step() override { heat_.begin_step(); }
    void used(ExpertKey key, std::int64_t n_tokens) override {
        heat_.used(key, n_tokens);
        recency_.used(key);
    }
    std::int64_t victim(ExpertKey admitted, std::span<const ExpertKey> residents) const override {
        if (residents.empty()) return -1;
        heats_.clear();
        for (const ExpertKey key : residents) heats_.push_back(heat_[key]);
        const auto wanted = (1 - settings_.protected_share) * static_cast<double>(residents.size());
        const auto n_probation =
            std::min(static_cast<std::ptrdiff_t>(wanted), static_cast<std::ptrdiff_t>(residents.size()) - 1);
        std::nth_element(heats_.begin(), heats_.begin() + n_probation, heats_.end());
        const double protected_from = heats_[static_cast<std::size_t>(n_probation)];
        const std::int64_t on_probation =
            least(residents, recency_, [&](ExpertKey key) { return heat_[key] < protected_from; });
        if (gives_way(on_probation, admitted, residents)) return on_probation;
        const std::int64_t coldest = least(residents, heat_, kAny);
        return gives_way(coldest, admitted, residents) ? coldest : -1;
    }
    std::int64_t least_useful(std::span<const ExpertKey> residents) const override {
        return least(residents, heat_, kAny);
    }
    void forget() override {
        heat_.forget();
        recency_.forget();
    }

  private:
    // Without the margin, experts that are called equally often would take each other's places for ever where there are
    // more of them than slots: at 10 % residency of the demo model's domains it is the difference between hitting one
    // call in ten and one in three.
    bool gives_way(std::int64_t resident, ExpertKey admitted, std::span<const ExpertKey> residents) const {
        return resident >= 0 &&
               heat_[admitted] > settings_.margin * heat_[residents[static_cast<std::size_t>(resident)]];
    }

    CacheSettings settings_;
    Heat heat_;
    Recency recency_;
    mutable std::vector<double> heats_;  // scratch
};

}  // namespace

std::string_view name_of(CacheKind kind) {
    return kCacheNames[static_cast<std::size_t>(kind)];
}

CacheKind parse_cache_kind(std::string_view name) {
    std::string known;
    for (const CacheKind kind : kCacheKinds) {
        if (name == name_of(kind)) return kind;
        known += (known.empty() ? "" : ", ") + std::string(name_of(kind));
    }
    throw Error(ErrorKind::kInvalidInput, in_quotes(name) + " is no cache policy; expected one of " + known);
}

std::unique_ptr<CachePolicy> make_cache_policy(CacheKind kind, const Popularity& popularity,
                                               const CacheSettings& settings) {
    switch (kind) {
        case CacheKind::kStatic:
            return std::make_unique<Static>();
        case CacheKind::kLruLayer:
        case CacheKind::kLru:
            return std::make_unique<Lru>(kind, popularity);
        case CacheKind::kLfu:
            return std::make_unique<Lfu>(popularity, settings);
        case CacheKind::kSlru:
            return std::make_unique<Slru>(popularity, settings);
    }
    assert(false);
    return nullptr;
}

}  // namespace offstage::engine
