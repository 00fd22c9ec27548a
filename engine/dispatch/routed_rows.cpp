#include "engine/dispatch/routed_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/as_size.h"
#include "engine/dispatch/dispatch_messages.h"

namespace offstage::engine {

RoutedRows::RoutedRows(const ExpertGrid& grid, Backend& device, std::int64_t max_step)
    : grid_(grid), device_(device), token_counts_(as_size(grid.n_experts)), next_row_(as_size(grid.n_experts)) {
    set_max_step(max_step);
}

void RoutedRows::set_max_step(std::int64_t max_step) {
    chosen_ = {};
    row_map_ = {};
    weights_ = {};
    outputs_ = {};
    max_step_ = max_step;
    has_zeros_ = false;
    if (max_step == 0) return;
    const std::int64_t max_rows = max_step * grid_.n_active;
    chosen_ = Mirror<std::int32_t>(device_, as_size(max_rows), MemoryUse::kWorkspace, messages::routing);
    row_map_ = Mirror<std::int32_t>(device_, as_size(2 * max_rows), MemoryUse::kWorkspace, messages::routing);
    weights_ = device_.memory().allocate(as_size(max_rows) * sizeof(float), MemoryUse::kWorkspace, messages::routing);
    outputs_ =
        Mirror<float>(device_, as_size(max_rows * grid_.hidden_dim), MemoryUse::kWorkspace, messages::expert_outputs);
    std::fill_n(row_map_.host(), 2 * max_rows, 0);  // places of rows, whatever part is read of it
}

std::uint64_t RoutedRows::bytes_per_token(const ExpertGrid& grid) {
    return static_cast<std::uint64_t>(grid.n_active) *
           (4 * sizeof(std::int32_t) + static_cast<std::uint64_t>(grid.hidden_dim) * sizeof(float));
}

void RoutedRows::begin(std::int64_t n_tokens, std::span<const TokenRange> wanted) {
    n_tokens_ = n_tokens;
    wanted_ = wanted;
    n_wanted_ = 0;
    for (const TokenRange& tokens : wanted) n_wanted_ += tokens.n;
}

TokenRange RoutedRows::span() const {
    if (wanted_.empty()) return {};
    const std::int64_t first = wanted_.front().first;
    return {first, wanted_.back().first + wanted_.back().n - first};
}

void RoutedRows::download(bool as_operation) {
    const std::size_t n = as_size(n_tokens_ * grid_.n_active);
    if (as_operation) {
        chosen_.store(0, n);
    } else {
        chosen_.download(0, n);
    }
}

void RoutedRows::compute(const kernels::ExpertLayout& layout, const std::byte* const* blocks, const float* input) {
    assert(!leaves_out());
    row_of_at_ = n_rows();
    in_place_ = has_zeros_ = false;
    device_.submit(ops::GroupedExperts{.layout = layout,
                                       .blocks = blocks,
                                       .chosen = chosen(),
                                       .n_tokens = n_tokens_,
                                       .n_active = grid_.n_active,
                                       .n_experts = grid_.n_experts,
                                       .inputs = input,
                                       .row_token = row_map_.device(),
                                       .row_of = row_map_.device() + row_of_at_,
                                       .out = outputs_.device()});
}

void RoutedRows::copy_choice(std::int32_t* to, std::int64_t stride) {
    for (std::int64_t t = 0; t < n_tokens_; ++t) {
        std::copy_n(chosen_.host() + t * grid_.n_active, grid_.n_active, to + t * stride);
    }
}

std::span<ExpertLoad> RoutedRows::count() {
    for (const TokenRange& tokens : wanted_) {
        add_counts({chosen_.host() + tokens.first * grid_.n_active, as_size(tokens.n * grid_.n_active)});
    }
    return list_counted();
}

std::span<ExpertLoad> RoutedRows::count_all() {
    return count({chosen_.host(), as_size(n_tokens_ * grid_.n_active)});
}

std::span<ExpertLoad> RoutedRows::count(std::span<const std::int32_t> chosen) {
    add_counts(chosen);
    return list_counted();
}

void RoutedRows::add_counts(std::span<const std::int32_t> chosen) {
    for (const std::int32_t expert : chosen) ++token_counts_[as_size(expert)];
}

std::span<ExpertLoad> RoutedRows::list_counted() {
    loads_.clear();
    for (std::size_t e = 0; e < token_counts_.size(); ++e) {
        if (token_counts_[e] == 0) continue;
        loads_.emplace_back();
        loads_.back().expert = static_cast<std::int32_t>(e);
        loads_.back().n_tokens = std::exchange(token_counts_[e], 0);
    }
    return loads_;
}

void RoutedRows::group(std::span<const Assignment> assignments, std::span<const std::uint8_t> looked_up) {
    assert(looked_up.empty() || (room_behind() && n_tokens_ == 1));
    groups_.clear();
    std::int64_t row = looked_up.empty() ? 0 : grid_.n_active;
    for (std::size_t i = 0; i < assignments.size(); ++i) {
        const Assignment& a = assignments[i];
        const bool is_there = !looked_up.empty() && looked_up[i] != 0;
        const std::int64_t first = is_there ? place_in_choice(a.expert) : row;
        groups_.push_back({a.expert, first, a.n_tokens, is_there});
        next_row_[as_size(a.expert)] = first;
        if (!is_there) row += a.n_tokens;
    }
    assert(!looked_up.empty() || row == n_rows());
    if (n_rows() == 0) return;
    in_place_ = n_tokens_ == 1 && combines_in_place();
    row_of_at_ = (in_place_ && room_behind()) || !looked_up.empty() ? 2 * grid_.n_active : n_rows();
    std::int32_t* row_token = row_map_.host();
    std::int32_t* row_of = row_token + row_of_at_;
    for (const TokenRange& tokens : wanted_) {
        for (std::int64_t t = tokens.first; t < tokens.first + tokens.n; ++t) {
            for (std::int64_t a = 0; a < grid_.n_active; ++a) {
                const std::int64_t r = next_row_[as_size(chosen_.host()[t * grid_.n_active + a])]++;
                row_token[r] = static_cast<std::int32_t>(t);
                *row_of++ = static_cast<std::int32_t>(r);
            }
        }
    }
    upload_map();
}

void RoutedRows::upload_map() {
    if (!in_place_) {
        row_map_.upload(0, as_size(row_of_at_ + n_rows()));
    } else if (!has_zeros_) {
        std::fill_n(row_map_.host(), row_of_at_, 0);
        row_map_.upload(0, as_size(row_of_at_));
    }
    has_zeros_ = in_place_ && device_.ok();
}

// For one token.
std::int64_t RoutedRows::place_in_choice(std::int32_t expert) {
    const std::int32_t* const chosen = chosen_.host();
    return std::find(chosen, chosen + grid_.n_active, expert) - chosen;
}

void RoutedRows::upload(std::span<const std::size_t> groups) {
    if (in_place_) {
        std::int32_t* const row_of = row_map_.host() + row_of_at_;
        for (const std::size_t g : groups) {
            const auto row = static_cast<std::int32_t>(groups_[g].first_row);
            std::replace(row_of, row_of + grid_.n_active, row, ~row);
        }
        return;
    }
    for (std::size_t i = 0; i < groups.size();) {
        const std::int64_t first = groups_[groups[i]].first_row;
        std::int64_t end = first;
        while (i < groups.size() && groups_[groups[i]].first_row == end) end += groups_[groups[i++]].n_rows;
        outputs_.upload(as_size(first * grid_.hidden_dim), as_size((end - first) * grid_.hidden_dim));
    }
}

bool RoutedRows::combines_in_place() const {
    return device_.combines_host_rows() && row_map_.mapped() != nullptr && outputs_.mapped() != nullptr;
}

bool RoutedRows::can_await() const {
    return room_behind() && combines_in_place() && chosen_.mapped() != nullptr;
}

void RoutedRows::prepare_await() {
    in_place_ = true;
    row_of_at_ = 2 * grid_.n_active;
    upload_map();
}

void RoutedRows::combine_awaited(float* x) {
    in_place_ = true;
    row_of_at_ = 2 * grid_.n_active;
    submit_sums(x, true);
}

void RoutedRows::combine(float* x) {
    submit_sums(x, false);
}

void RoutedRows::submit_sums(float* x, bool awaits_host) {
    const std::int32_t* row_of = (in_place_ ? row_map_.mapped() : row_map_.device()) + row_of_at_;
    for (const TokenRange& tokens : wanted_) {
        device_.submit(ops::Combine{outputs_.device(), row_of, weights_.as<float>() + tokens.first * grid_.n_active,
                                    tokens.n, grid_.n_active, grid_.hidden_dim, x + tokens.first * grid_.hidden_dim,
                                    in_place_ ? outputs_.mapped() : nullptr, awaits_host});
        row_of += tokens.n * grid_.n_active;
    }
}

}  // namespace offstage::engine
