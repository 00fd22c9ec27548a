#include "engine/experts/sparse_copies.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "engine/as_size.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

// A device sums in a different order: a neuron so near to theta may be active only there.
// The device decides about these neurons, so they must be present.
constexpr float kNearTheta = 1.0f / 64;

// Dry runs guess this share of a token's active neurons, and this share of the guessed
// ones is active: the middle of the paper's measurements.
constexpr double kDryRecall = 0.85;

constexpr std::int64_t kNeuronsAtOnce = 64;  // gathered by a thread at once

}  // namespace

kernels::ExpertLayout layout_of(kernels::ExpertLayout whole, std::int64_t n_neurons) {
    whole.ffn_dim = n_neurons;
    return whole;
}

void gather_neurons(const kernels::ExpertView& whole, std::span<const std::int32_t> places, std::byte* to,
                    kernels::ThreadPool& pool) {
    const auto* const from = static_cast<const std::byte*>(whole.data);
    const std::size_t bytes = whole.layout.neuron_bytes();
    const auto n = static_cast<std::int64_t>(places.size());
    pool.parallel_for(n, kNeuronsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end;) {
            std::int64_t next = i + 1;  // neighbours go together
            while (next < end && places[as_size(next)] == places[as_size(next - 1)] + 1) ++next;
            std::memcpy(to + as_size(i) * bytes, from + as_size(places[as_size(i)]) * bytes, as_size(next - i) * bytes);
            i = next;
        }
    });
    const kernels::ExpertBiases biases = whole.biases();
    if (biases.gate == nullptr) return;
    auto* const first = reinterpret_cast<float*>(to + layout_of(whole.layout, n).bias_offset());
    for (std::int64_t i = 0; i < n; ++i) {
        first[i] = biases.gate[places[as_size(i)]];
        first[n + i] = biases.up[places[as_size(i)]];
    }
    std::copy_n(biases.down, whole.layout.hidden_dim, first + 2 * n);
}

std::optional<SparseCopies::Gathered> SparseCopies::gather(ExpertKey key, const kernels::ExpertView& whole,
                                                           kernels::WeightType format, const Rows& rows,
                                                           std::span<const std::int32_t> held) {
    kernels::ExpertView expert = whole;
    expert.layout.spec.theta = thetas_.at(key.layer, key.expert);
    const kernels::ExpertLayout& layout = expert.layout;
    if (!on() || no_room_ || !operations_.chooses_neurons(layout, rows.n_rows)) return std::nullopt;
    // Biases follow the last neuron: nothing can be added there.
    if (rows.guess && layout.spec.biases) return std::nullopt;
    // This layer's results so far decide whether choosing neurons pays; every
    // kLookAgain-th expert is tried anyway.
    if (held.empty() && mode_ == SparseLoading::kAuto && !cost_.copies_sparse(layer_, rows.n_rows, format) &&
        ++n_not_looked_at_ % kLookAgain != 0) {
        return std::nullopt;
    }
    choose(key, expert, format, rows);
    n_needed_ = neurons_.size();
    leave_held_out(held);
    n_held_ = n_needed_ - neurons_.size();
    if (held.empty() || !neurons_.empty()) add_up_to_grain(layout);
    const auto n = static_cast<std::int64_t>(neurons_.size());
    const double share = static_cast<double>(n) / static_cast<double>(layout.ffn_dim);
    if (share > kMostCopiedShare || (mode_ == SparseLoading::kAuto && share > cost_.cross_over(format)))
        return std::nullopt;
    const kernels::ExpertLayout smaller = layout_of(whole.layout, n);
    std::byte* const to = room(smaller.bytes(), layout.bytes());
    if (to == nullptr) return std::nullopt;
    work_.expected_gathering_us += cost_.gathering_us(format, share);
    const HostWork gathering{2.0 * static_cast<double>(smaller.bytes())};  // read and written
    work_.gathering_us +=
        device_.run_on_host(gathering, [&] { gather_neurons(whole, neurons_, to, operations_.pool()); });
    if (rows.guess) {
        n_needed_ = n_held_ = 0;
        counts_ = {};
    }
    work_.counted += counts_;
    work_.needed += n_needed_;
    work_.held += n_held_;
    if (held.empty()) return Gathered{{to, smaller}, neurons_, nullptr, next_};
    put_in_order(held);
    return Gathered{{to, smaller}, all_, order_.data(), next_};
}

void SparseCopies::take_back() {
    for (kernels::NeuronCounts* sum : {&work_.counted, &work_.chosen}) {
        sum->neurons -= counts_.neurons;
        sum->active -= counts_.active;
    }
    work_.needed -= n_needed_;
    work_.held -= n_held_;
}

void SparseCopies::choose(ExpertKey key, const kernels::ExpertView& expert, kernels::WeightType format,
                          const Rows& rows) {
    const kernels::ExpertLayout& layout = expert.layout;
    counts_ = {};
    bool computed = false;
    const auto ffn = static_cast<double>(layout.ffn_dim);
    const HostWork work{static_cast<double>(kernels::row_bytes(layout.gate, layout.hidden_dim)) * ffn,
                        2.0 * static_cast<double>(layout.hidden_dim * rows.n_rows) * ffn};
    work_.choosing_us += device_.run_on_host(work, [&] {
        computed = true;
        ExpertCall call{expert, rows.first_row, rows.n_rows};
        if (device_.info().kind == DeviceKind::kCuda) call.weights.layout.spec.theta *= 1 - kNearTheta;
        operations_.choose_neurons(call, rows.inputs, rows.row_token, neurons_, counts_);
    });
    work_.expected_choosing_us += cost_.choosing_us(rows.n_rows, format);
    if (!computed) {
        draw(key, layout.ffn_dim, rows);
        counts_.neurons = static_cast<std::uint64_t>(layout.ffn_dim * rows.n_rows);
        counts_.active =
            static_cast<std::uint64_t>(static_cast<double>(counts_.neurons) * cost_.active_share(layer_, 1));
    }
    if (!rows.guess) work_.chosen += counts_;
}

// For dry runs: draws the expected number of neurons, different ones at each step; for a
// guess only the expected share of right ones.
void SparseCopies::draw(ExpertKey key, std::int64_t ffn_dim, const Rows& rows) {
    const auto n_active = std::llround(cost_.active_share(key.layer, rows.n_rows) * static_cast<double>(ffn_dim));
    const auto n_right = rows.guess ? static_cast<std::int64_t>(kDryRecall * static_cast<double>(n_active)) : n_active;
    std::uint64_t mixed = step_ * 0x9e3779b97f4a7c15u + as_size(key.layer) * 0xbf58476d1ce4e5b9u + as_size(key.expert);
    mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebu;
    const auto first = static_cast<std::int64_t>((mixed >> 11) % as_size(ffn_dim));
    neurons_.clear();
    for (std::int64_t i = 0; i < n_active; ++i) {
        const std::int64_t place = i < n_right ? i : i + n_active - n_right;
        if (place < ffn_dim) neurons_.push_back(static_cast<std::int32_t>((first + place) % ffn_dim));
    }
    std::sort(neurons_.begin(), neurons_.end());
}

void SparseCopies::leave_held_out(std::span<const std::int32_t> held) {
    held_.assign(held.begin(), held.end());
    std::sort(held_.begin(), held_.end());
    std::erase_if(neurons_,
                  [&](std::int32_t neuron) { return std::binary_search(held_.begin(), held_.end(), neuron); });
}

void SparseCopies::put_in_order(std::span<const std::int32_t> held) {
    all_.assign(held.begin(), held.end());
    all_.insert(all_.end(), neurons_.begin(), neurons_.end());
    order_.resize(all_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(),
              [&](std::int32_t a, std::int32_t b) { return all_[as_size(a)] < all_[as_size(b)]; });
    std::sort(all_.begin(), all_.end());
}

// Adds further neurons, from the first on: the device leaves them out by itself. With
// biases the first neuron is always present, because its computation adds w2's biases.
void SparseCopies::add_up_to_grain(const kernels::ExpertLayout& layout) {
    missing_.clear();
    std::int64_t place = 0;
    const auto next_missing = [&] {
        while (std::binary_search(neurons_.begin(), neurons_.end(), place) ||
               std::binary_search(held_.begin(), held_.end(), place)) {
            ++place;
        }
        return static_cast<std::int32_t>(place++);
    };
    if (layout.spec.biases && (neurons_.empty() || neurons_.front() != 0)) missing_.push_back(next_missing());
    const auto size = [&] { return static_cast<std::int64_t>(neurons_.size() + missing_.size()); };
    const std::int64_t most = layout.ffn_dim - static_cast<std::int64_t>(held_.size());
    while (size() < most && (size() == 0 || size() % kNeuronGrain != 0)) missing_.push_back(next_missing());
    const auto middle = static_cast<std::ptrdiff_t>(neurons_.size());
    neurons_.insert(neurons_.end(), missing_.begin(), missing_.end());
    std::inplace_merge(neurons_.begin(), neurons_.begin() + middle, neurons_.end());
}

// nullptr: there is none.
std::byte* SparseCopies::room(std::size_t bytes, std::size_t whole_bytes) {
    next_ = (next_ + 1) % buffers_.size();
    Buffer& buffer = buffers_[next_];
    if (!device_.has_happened(buffer.copied)) device_.host_wait(buffer.copied);
    if (buffer.memory.size() < bytes) {
        try {
            buffer.memory = {};
            const std::size_t most = buffer_bytes(whole_bytes);
            buffer.memory = PinnedHost<std::byte>(device_, std::max(bytes, most), std::string("gathered neurons"));
        } catch (const Error&) {
            no_room_ = true;
            return nullptr;
        }
    }
    return buffer.memory.host();
}

}  // namespace offstage::engine
