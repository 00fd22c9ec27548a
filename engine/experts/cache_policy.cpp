#include "engine/experts/cache_policy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "engine/error.h"
#include "engine/experts/experts_messages.h"
#include "engine/experts/resident_order.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

constexpr std::array<std::string_view, kCacheKinds.size()> kCacheNames = {"static", "lru-layer", "lru", "lfu", "slru"};

class Static final : public CachePolicy {
  public:
    CacheKind kind() const override { return CacheKind::kStatic; }
    void entered(ExpertKey) override {}
    void left(ExpertKey) override {}
    void begin_step() override {}
    void used(ExpertKey, std::int64_t) override {}
    std::optional<ExpertKey> victim(ExpertKey, MayGo) const override { return std::nullopt; }
    std::optional<ExpertKey> least_useful(MayGo) const override { return std::nullopt; }
    void forget() override {}
};

// Experts as numbers, layer by layer.
class Numbers {
  public:
    explicit Numbers(const Popularity& shape)
        : n_experts_(shape.n_experts), size_(static_cast<std::size_t>(shape.n_layers * shape.n_experts)) {}
    std::size_t size() const { return size_; }
    std::uint32_t of(ExpertKey key) const {
        const std::int64_t i = key.layer * n_experts_ + key.expert;
        assert(key.layer >= 0 && key.expert >= 0 && key.expert < n_experts_ && static_cast<std::size_t>(i) < size_);
        return static_cast<std::uint32_t>(i);
    }
    ExpertKey key(std::uint32_t number) const {
        return {static_cast<std::int32_t>(number / n_experts_), static_cast<std::int32_t>(number % n_experts_)};
    }

  private:
    std::int64_t n_experts_;
    std::size_t size_;
};

// The residents by when they were last used: the n-th call to used(), 0 for never.
class Recency {
  public:
    explicit Recency(std::size_t n_experts) : last_(n_experts), order_(n_experts) {}
    void entered(std::uint32_t expert) { order_.enter(expert, last_[expert]); }
    void left(std::uint32_t expert) { order_.leave(expert); }
    void used(std::uint32_t expert) {
        last_[expert] = ++n_uses_;
        order_.set(expert, last_[expert]);
    }
    void forget() {
        std::fill(last_.begin(), last_.end(), 0);
        n_uses_ = 0;
        order_.set_all([](std::uint32_t) { return std::uint64_t{0}; });
    }
    std::uint64_t operator[](std::uint32_t expert) const { return last_[expert]; }
    const ResidentOrder<std::uint64_t>& order() const { return order_; }

  private:
    std::vector<std::uint64_t> last_;
    ResidentOrder<std::uint64_t> order_;
    std::uint64_t n_uses_ = 0;
};

// The residents by decaying numbers of uses (heat). Instead of reducing every count at
// every step, each step's uses weigh more than the last step's. Only the ratios of heats
// matter, and the order changes only when an expert is used.
class Heat {
  public:
    Heat(const Popularity& popularity, const Numbers& numbers, double half_life)
        : growth_(std::exp2(1 / half_life)), seed_(numbers.size()), order_(numbers.size()) {
        // The limit of the heat under constant use with this chance per token.
        if (popularity.n_tokens > 0) {
            for (std::uint32_t i = 0; i < seed_.size(); ++i) {
                const ExpertKey key = numbers.key(i);
                seed_[i] = popularity.share(key.layer, key.expert) / (1 - 1 / growth_);
            }
        }
        forget();
    }
    void entered(std::uint32_t expert) { order_.enter(expert, heat_[expert]); }
    void left(std::uint32_t expert) { order_.leave(expert); }
    void begin_step() {
        weight_ *= growth_;
        if (weight_ < kHeaviest) return;
        for (double& heat : heat_) heat /= weight_;
        weight_ = 1;
        order_again();
    }
    void used(std::uint32_t expert, std::int64_t n_tokens) {
        const double each_later = 1 / growth_;
        heat_[expert] += n_tokens == 1  // decode
                             ? weight_
                             : weight_ * (1 - std::pow(each_later, static_cast<double>(n_tokens))) / (1 - each_later);
        order_.set(expert, heat_[expert]);
    }
    void forget() {
        weight_ = 1;
        heat_ = seed_;
        order_again();
    }
    double operator[](std::uint32_t expert) const { return heat_[expert]; }
    const ResidentOrder<double>& order() const { return order_; }

  private:
    static constexpr double kHeaviest = 1e100;
    void order_again() {
        order_.set_all([this](std::uint32_t expert) { return heat_[expert]; });
    }

    double growth_;
    double weight_ = 1;  // of a use by one token now
    std::vector<double> heat_, seed_;
    ResidentOrder<double> order_;
};

template <typename Order>
std::optional<ExpertKey> first(const Order& order, const Numbers& numbers, MayGo may_go) {
    const auto found = order.first([&](std::uint32_t i) { return may_go(numbers.key(i)); });
    return found ? std::optional(numbers.key(*found)) : std::nullopt;
}

// Over all layers, or only over the layer of the admitted expert: then each layer has its
// own order.
class Lru final : public CachePolicy {
  public:
    Lru(CacheKind kind, const Popularity& shape)
        : kind_(kind), numbers_(shape), n_experts_(static_cast<std::uint32_t>(shape.n_experts)) {
        const auto n_layers = static_cast<std::size_t>(shape.n_layers);
        for (std::size_t i = 0; i < (by_layer() ? n_layers : 1); ++i) {
            parts_.emplace_back(by_layer() ? n_experts_ : numbers_.size());
        }
    }
    CacheKind kind() const override { return kind_; }
    void entered(ExpertKey key) override { part(key).entered(number(key)); }
    void left(ExpertKey key) override { part(key).left(number(key)); }
    void begin_step() override {}
    void used(ExpertKey key, std::int64_t) override { part(key).used(number(key)); }
    std::optional<ExpertKey> victim(ExpertKey admitted, MayGo may_go) const override {
        return oldest(by_layer() ? static_cast<std::uint32_t>(admitted.layer) : 0, may_go);
    }
    std::optional<ExpertKey> least_useful(MayGo may_go) const override {
        std::optional<ExpertKey> oldest_of_all;
        std::uint64_t used_at = 0;
        for (std::uint32_t i = 0; i < parts_.size(); ++i) {
            const std::optional<ExpertKey> key = oldest(i, may_go);
            if (!key) continue;
            const std::uint64_t at = parts_[i][number(*key)];
            if (!oldest_of_all || at < used_at) oldest_of_all = key, used_at = at;
        }
        return oldest_of_all;
    }
    void forget() override {
        for (Recency& part : parts_) part.forget();
    }

  private:
    bool by_layer() const { return kind_ == CacheKind::kLruLayer; }
    Recency& part(ExpertKey key) { return parts_[by_layer() ? static_cast<std::size_t>(key.layer) : 0]; }
    // Within its part.
    std::uint32_t number(ExpertKey key) const {
        return by_layer() ? static_cast<std::uint32_t>(key.expert) : numbers_.of(key);
    }
    std::optional<ExpertKey> oldest(std::uint32_t part, MayGo may_go) const {
        const std::uint32_t before = part * n_experts_;  // 0 where there is one part
        const auto found =
            parts_[part].order().first([&](std::uint32_t i) { return may_go(numbers_.key(before + i)); });
        return found ? std::optional(numbers_.key(before + *found)) : std::nullopt;
    }

    CacheKind kind_;
    Numbers numbers_;
    std::uint32_t n_experts_;
    std::vector<Recency> parts_;
};

class Lfu final : public CachePolicy {
  public:
    Lfu(const Popularity& popularity, const CacheSettings& settings)
        : numbers_(popularity), heat_(popularity, numbers_, settings.half_life) {}
    CacheKind kind() const override { return CacheKind::kLfu; }
    void entered(ExpertKey key) override { heat_.entered(numbers_.of(key)); }
    void left(ExpertKey key) override { heat_.left(numbers_.of(key)); }
    void begin_step() override { heat_.begin_step(); }
    void used(ExpertKey key, std::int64_t n_tokens) override { heat_.used(numbers_.of(key), n_tokens); }
    std::optional<ExpertKey> victim(ExpertKey admitted, MayGo may_go) const override {
        const std::optional<ExpertKey> coldest = least_useful(may_go);
        if (!coldest || heat_[numbers_.of(*coldest)] >= heat_[numbers_.of(admitted)]) return std::nullopt;
        return coldest;
    }
    std::optional<ExpertKey> least_useful(MayGo may_go) const override {
        return first(heat_.order(), numbers_, may_go);
    }
    void forget() override { heat_.forget(); }

  private:
    Numbers numbers_;
    Heat heat_;
};

class Slru final : public CachePolicy {
  public:
    Slru(const Popularity& popularity, const CacheSettings& settings)
        : settings_(settings),
          numbers_(popularity),
          heat_(popularity, numbers_, settings.half_life),
          recency_(numbers_.size()) {
        heats_.reserve(numbers_.size());
    }
    CacheKind kind() const override { return CacheKind::kSlru; }
    void entered(ExpertKey key) override {
        heat_.entered(numbers_.of(key));
        recency_.entered(numbers_.of(key));
    }
    void left(ExpertKey key) override {
        heat_.left(numbers_.of(key));
        recency_.left(numbers_.of(key));
    }
    void begin_step() override {
        heat_.begin_step();
        n_ranked_ = 0;
    }
    void used(ExpertKey key, std::int64_t n_tokens) override {
        heat_.used(numbers_.of(key), n_tokens);
        recency_.used(numbers_.of(key));
    }
    std::optional<ExpertKey> victim(ExpertKey admitted, MayGo may_go) const override {
        const std::optional<ExpertKey> coldest = least_useful(may_go);
        if (!coldest || !gives_way(*coldest, admitted)) return std::nullopt;  // nor does any that is hotter
        const double protected_from = least_protected();
        const std::optional<ExpertKey> on_probation = first(recency_.order(), numbers_, [&](ExpertKey key) {
            return heat_[numbers_.of(key)] < protected_from && may_go(key);
        });
        return on_probation && gives_way(*on_probation, admitted) ? on_probation : coldest;
    }
    std::optional<ExpertKey> least_useful(MayGo may_go) const override {
        return first(heat_.order(), numbers_, may_go);
    }
    void forget() override {
        heat_.forget();
        recency_.forget();
        n_ranked_ = 0;
    }

  private:
    // Without the margin, experts that are called equally often would replace each other
    // without end where there are more of them than slots: at 10 % residency of the demo
    // model's domains the margin raises the hit rate from one call in ten to one in
    // three.
    bool gives_way(ExpertKey resident, ExpertKey admitted) const {
        return heat_[numbers_.of(admitted)] > settings_.margin * heat_[numbers_.of(resident)];
    }

    // The heat from which residents are protected. Computed once in a step: heats change
    // little within one.
    double least_protected() const {
        const auto& members = heat_.order().members();
        if (n_ranked_ == members.size()) return least_protected_;
        n_ranked_ = members.size();
        heats_.clear();
        for (const auto& member : members) heats_.push_back(member.value);
        const auto wanted = (1 - settings_.protected_share) * static_cast<double>(heats_.size());
        const auto n_probation =
            std::min(static_cast<std::ptrdiff_t>(wanted), static_cast<std::ptrdiff_t>(heats_.size()) - 1);
        std::nth_element(heats_.begin(), heats_.begin() + n_probation, heats_.end());
        return least_protected_ = heats_[static_cast<std::size_t>(n_probation)];
    }

    CacheSettings settings_;
    Numbers numbers_;
    Heat heat_;
    Recency recency_;
    mutable std::vector<double> heats_;  // scratch
    mutable double least_protected_ = 0;
    mutable std::size_t n_ranked_ = 0;  // the number of residents for least_protected_; 0: not computed in this step
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
    throw Error(ErrorKind::kInvalidInput, messages::no_such_cache_policy(in_quotes(name), known));
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
