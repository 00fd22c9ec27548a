#include "engine/run/moe_layer.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace offstage::engine {

using Queue = DeviceEvent::Queue;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::size_t as_size(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

}  // namespace

MoeLayer::MoeLayer(const ModelConfig& config, ExpertStore& experts, Backend& device, CpuOperations& host,
                   Dispatcher& dispatcher, std::int64_t max_step)
    : config_(config),
      experts_(experts),
      device_(device),
      host_(host),
      dispatcher_(dispatcher),
      token_counts_(as_size(config.n_experts), 0),
      next_row_(as_size(config.n_experts), 0),
      staging_free_(as_size(experts.n_staging())) {
    const std::int64_t max_rows = max_step * config.n_active;
    chosen_ = Mirror<std::int32_t>(device, as_size(max_rows), MemoryUse::kWorkspace, "routing");
    row_map_ = Mirror<std::int32_t>(device, as_size(2 * max_rows), MemoryUse::kWorkspace, "routing");
    weights_ = device.memory().allocate(as_size(max_rows) * sizeof(float), MemoryUse::kWorkspace, "routing");
    rows_ = Mirror<float>(device, as_size(max_rows * config.hidden_dim), MemoryUse::kWorkspace, "the experts' outputs");
    if (!device.shares_host_memory()) {
        inputs_ = PinnedHost<float>(device, as_size(max_step * config.hidden_dim), "the experts' inputs");
    }
}

std::uint64_t MoeLayer::bytes_per_token(const ModelConfig& config) {
    return static_cast<std::uint64_t>(config.n_active) *
           (4 * sizeof(std::int32_t) + static_cast<std::uint64_t>(config.hidden_dim) * sizeof(float));
}

void MoeLayer::run(std::int64_t layer, const float* gate, const float* normalised, std::int64_t n_tokens, float* x,
                   std::int32_t* routing, std::int64_t routing_stride) {
    const std::int64_t hidden = config_.hidden_dim;
    const std::int64_t n_active = config_.n_active;
    n_rows_ = n_tokens * n_active;
    device_.route(gate, normalised, n_tokens, hidden, config_.n_experts, n_active, chosen_.device(),
                  weights_.as<float>());
    chosen_.download(0, as_size(n_rows_));
    inputs_here_ = device_.shares_host_memory();
    if (!inputs_here_ && n_tokens <= kEagerTokens) fetch_inputs(normalised, n_tokens);
    const DeviceEvent routed = device_.record(Queue::kCompute);
    device_.host_wait(routed);
    if (!device_.ok()) return;  // what was brought over may be anything: no index may be taken from it
    finish();                   // the layer before has ended: its times can be read

    collect_loads(layer, n_tokens);
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        std::copy_n(chosen_.host() + t * n_active, n_active, routing + t * routing_stride);
    }
    schedule_ = &dispatcher_.schedule(loads_, experts_.n_staging());
    order_rows(n_tokens);
    if (!device_.ok()) return;

    pending_.times.clear();
    pending_.layer = static_cast<std::int32_t>(layer);
    pending_.begin = last_end_;
    pending_.routed = routed;
    pending_.cpu_us = 0;
    pending_.bytes_copied = 0;
    pending_.used_copy = false;

    submit_device(layer, normalised, n_tokens);
    if (!host_groups_.empty()) run_host(layer, normalised, n_tokens);
    device_.combine(rows_.device(), row_map_.device() + n_rows_, weights_.as<float>(), n_tokens, n_active, hidden, x);
    pending_.end = device_.record(Queue::kCompute);
    last_end_ = pending_.end;
    pending_.active = true;
    const auto start = Clock::now();
    pending_loads_ = loads_;
    pending_schedule_ = *schedule_;
    dispatcher_.add_overhead(microseconds_since(start));
}

void MoeLayer::fetch_inputs(const float* normalised, std::int64_t n_tokens) {
    device_.download(inputs_.host(), normalised, as_size(n_tokens * config_.hidden_dim) * sizeof(float));
    inputs_here_ = true;
}

void MoeLayer::collect_loads(std::int64_t layer, std::int64_t n_tokens) {
    std::fill(token_counts_.begin(), token_counts_.end(), 0);
    for (std::int64_t i = 0; i < n_tokens * config_.n_active; ++i) ++token_counts_[as_size(chosen_.host()[i])];
    loads_.clear();
    for (std::int64_t e = 0; e < config_.n_experts; ++e) {
        const std::int32_t n = token_counts_[as_size(e)];
        if (n > 0) loads_.push_back({static_cast<std::int32_t>(e), n, experts_.place(layer, e)});
    }
}

void MoeLayer::order_rows(std::int64_t n_tokens) {
    groups_.clear();
    std::int64_t row = 0;
    for (const Assignment& a : schedule_->assignments) {
        groups_.push_back({a.expert, row, a.n_tokens});
        next_row_[as_size(a.expert)] = row;
        row += a.n_tokens;
    }
    assert(row == n_rows_);
    std::int32_t* row_token = row_map_.host();
    std::int32_t* row_of = row_token + n_rows_;
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t a = 0; a < config_.n_active; ++a) {
            const std::int64_t i = t * config_.n_active + a;
            const std::int64_t r = next_row_[as_size(chosen_.host()[i])]++;
            row_token[r] = static_cast<std::int32_t>(t);
            row_of[i] = static_cast<std::int32_t>(r);
        }
    }
    row_map_.upload(0, as_size(2 * n_rows_));
}

void MoeLayer::submit_device(std::int64_t layer, const float* normalised, std::int64_t n_tokens) {
    host_groups_.clear();
    copied_.clear();
    calls_.clear();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Group& group = groups_[g];
        Way& way = schedule_->assignments[g].way;
        // Where RAM is short the device has the only copy; then the work goes there whatever the policy says.
        if (way == Way::kCpu && experts_.place(layer, group.expert) == Place::kDevice &&
            !experts_.has_ram_copy(layer, group.expert)) {
            way = Way::kResident;
        }
        switch (way) {
            case Way::kResident:
                calls_.push_back({experts_.on_device(layer, group.expert), group.first_row, group.n_rows});
                break;
            case Way::kCopy:
                copied_.push_back({g, {}});
                break;
            case Way::kCpu:
                host_groups_.push_back(g);
                break;
        }
    }
    // As many copies as there are slots start at once, before the device is given anything else.
    const std::size_t n_slots = staging_free_.size();
    if (!copied_.empty()) pending_.copy_begin = device_.record(Queue::kCopy);
    for (std::size_t j = 0; j < std::min(n_slots, copied_.size()); ++j) start_copy(layer, j);
    if (!host_groups_.empty() && !inputs_here_) fetch_inputs(normalised, n_tokens);
    inputs_ready_ = device_.record(Queue::kCompute);

    if (!calls_.empty()) {
        const DeviceEvent begin = device_.record(Queue::kCompute);
        device_.experts(calls_, normalised, row_map_.device(), rows_.device());
        pending_.times.push_back({begin, device_.record(Queue::kCompute)});
    }
    for (std::size_t j = 0; j < copied_.size(); ++j) {
        if (j >= n_slots) start_copy(layer, j);
        const Copied& copied = copied_[j];
        if (!copied.done.has_value()) continue;  // refused: the CPU's now
        const Group& group = groups_[copied.group];
        device_.wait(*copied.done);
        const DeviceEvent begin = device_.record(Queue::kCompute);
        const kernels::ExpertView view{experts_.staging(static_cast<std::int64_t>(j % n_slots)), experts_.type(),
                                       config_.hidden_dim, config_.ffn_dim};
        const ExpertCall call{view, group.first_row, group.n_rows};
        device_.experts({&call, 1}, normalised, row_map_.device(), rows_.device());
        const DeviceEvent end = device_.record(Queue::kCompute);
        staging_free_[j % n_slots] = end;
        pending_.times.push_back({begin, end});
    }
}

void MoeLayer::start_copy(std::int64_t layer, std::size_t j) {
    Copied& copied = copied_[j];
    const Group& group = groups_[copied.group];
    const std::size_t slot = j % staging_free_.size();
    const kernels::ExpertView view = experts_.on_host(layer, group.expert);
    copied.done = device_.copy_weights(experts_.staging(static_cast<std::int64_t>(slot)), view.data,
                                       experts_.expert_bytes(), staging_free_[slot]);
    if (copied.done.has_value()) {
        experts_.hold(layer, group.expert, *copied.done);
        pending_.copy_end = *copied.done;
        pending_.used_copy = true;
        pending_.bytes_copied += experts_.expert_bytes();
    } else {
        schedule_->assignments[copied.group].way = Way::kCpu;
        host_groups_.push_back(copied.group);
    }
}

void MoeLayer::run_host(std::int64_t layer, const float* normalised, std::int64_t n_tokens) {
    const float* inputs = normalised;
    if (!device_.shares_host_memory()) {
        if (!inputs_here_) {
            fetch_inputs(normalised, n_tokens);
            inputs_ready_ = device_.record(Queue::kCompute);
        }
        device_.host_wait(inputs_ready_);
        inputs = inputs_.host();
    }
    // Experts in RAM in one go; those on disk as many at a time as there are slots for them.
    const auto run_calls = [&] {
        if (calls_.empty()) return;
        host_work_.clear();
        for (const ExpertCall& call : calls_) {
            host_work_.push_back({static_cast<double>(experts_.expert_bytes()),
                                  2.0 * static_cast<double>(config_.expert_weights() * call.n_rows)});
        }
        pending_.cpu_us +=
            device_.run_on_host(host_work_, [&] { host_.experts(calls_, inputs, row_map_.host(), rows_.host()); });
    };
    calls_.clear();
    for (const std::size_t g : host_groups_) {
        const Group& group = groups_[g];
        if (experts_.place(layer, group.expert) == Place::kDisk) continue;
        calls_.push_back({experts_.on_host(layer, group.expert), group.first_row, group.n_rows});
    }
    run_calls();
    calls_.clear();
    for (const std::size_t g : host_groups_) {
        const Group& group = groups_[g];
        if (experts_.place(layer, group.expert) != Place::kDisk) continue;
        if (static_cast<std::int64_t>(calls_.size()) == experts_.n_host_slots()) {
            run_calls();
            calls_.clear();
        }
        calls_.push_back({experts_.on_host(layer, group.expert), group.first_row, group.n_rows});
    }
    run_calls();
    // Neighbouring groups go up together: the schedule puts the CPU's last.
    for (std::size_t i = 0; i < host_groups_.size();) {
        const std::int64_t first = groups_[host_groups_[i]].first_row;
        std::int64_t end = first;
        while (i < host_groups_.size() && groups_[host_groups_[i]].first_row == end) {
            end += groups_[host_groups_[i++]].n_rows;
        }
        rows_.upload(as_size(first * config_.hidden_dim), as_size((end - first) * config_.hidden_dim));
    }
}

void MoeLayer::begin_step() {
    last_end_ = device_.record(Queue::kCompute);
    pending_.active = false;
}

void MoeLayer::finish() {
    if (!pending_.active) return;
    pending_.active = false;
    const auto start = Clock::now();
    LayerTimes times;
    times.attention_us = device_.elapsed_us(pending_.begin, pending_.routed);
    times.layer_us = device_.elapsed_us(pending_.routed, pending_.end);
    for (const Span& span : pending_.times) times.gpu_us += device_.elapsed_us(span.begin, span.end);
    if (pending_.used_copy) times.copy_us = device_.elapsed_us(pending_.copy_begin, pending_.copy_end);
    times.cpu_us = pending_.cpu_us;
    times.bytes_copied = pending_.bytes_copied;
    dispatcher_.finish_layer(pending_.layer, pending_schedule_, pending_loads_, times);
    dispatcher_.add_overhead(microseconds_since(start));
}

}  // namespace offstage::engine
