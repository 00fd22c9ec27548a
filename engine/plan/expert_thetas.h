#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace offstage::engine {

// kernels::ExpertSpec::theta of a model's routed experts: one for all of them, or one for
// each. A value; copies share the array.
class ExpertThetas {
  public:
    ExpertThetas(double of_all = 0) : mean_(static_cast<float>(of_all)) {}
    // (n_layers, n_experts)
    ExpertThetas(std::vector<float> of_each, std::int64_t n_experts) : n_experts_(n_experts) {
        mean_ = of_each.empty()
                    ? 0
                    : std::accumulate(of_each.begin(), of_each.end(), 0.0f) / static_cast<float>(of_each.size());
        of_each_ = std::make_shared<const std::vector<float>>(std::move(of_each));
    }

    float at(std::int64_t layer, std::int64_t expert) const {
        return of_each_ == nullptr ? mean_ : (*of_each_)[static_cast<std::size_t>(layer * n_experts_ + expert)];
    }
    bool one_for_all() const { return of_each_ == nullptr; }
    bool leaves_out() const { return mean_ > 0; }
    float mean() const { return mean_; }  // the one, where it is that of all

    bool operator==(const ExpertThetas& other) const {
        return mean_ == other.mean_ &&
               (of_each_ == other.of_each_ ||
                (of_each_ != nullptr && other.of_each_ != nullptr && *of_each_ == *other.of_each_));
    }

  private:
    float mean_ = 0;
    std::shared_ptr<const std::vector<float>> of_each_;
    std::int64_t n_experts_ = 1;
};

}  // namespace offstage::engine
