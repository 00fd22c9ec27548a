#include "engine/dispatch/host_executor.h"

#include <algorithm>

namespace offstage::engine {
namespace {

// While experts are read from disk, this many rows of experts in RAM are computed at
// once: enough for all threads, but so few that an expert that has just arrived does not
// occupy its slot for long.
constexpr std::int64_t kRowsBesideReading = 128;

}  // namespace

void HostExecutor::complete(LayerWork& work, std::span<const std::size_t> groups) {
    if (groups.empty()) return;
    const float* const inputs = work.inputs.get();
    in_ram_.clear();
    on_disk_.clear();
    for (const std::size_t g : groups) {
        const bool on_disk = experts_.place(work.layer, work.rows.groups()[g].expert) == Place::kDisk;
        (on_disk ? on_disk_ : in_ram_).push_back(g);
    }
    if (on_disk_.empty() || !experts_.reads_ahead()) {
        compute_in_turn(work, inputs);
    } else {
        compute_as_they_come(work, inputs);
    }
    work.rows.upload(groups);
}

// Experts in RAM in one go; those on disk follow.
void HostExecutor::compute_in_turn(LayerWork& work, const float* inputs) {
    for (const std::size_t g : in_ram_) add_call(work, work.rows.groups()[g]);
    run_calls(work, inputs);
    for (const std::size_t g : on_disk_) {
        if (static_cast<std::int64_t>(calls_.size()) == experts_.disk_slots().size()) run_calls(work, inputs);
        add_call(work, work.rows.groups()[g]);
    }
    run_calls(work, inputs);
}

// Computes the experts from disk that have arrived, while others are read; then some of
// those in RAM. A slot can be read into again once its expert has been computed, so at
// most half of the slots are computed in one call.
void HostExecutor::compute_as_they_come(LayerWork& work, const float* inputs) {
    const auto index = [&](std::size_t g) { return experts_.index(work.layer, work.rows.groups()[g].expert); };
    const std::int64_t most_from_disk = std::max<std::int64_t>(1, experts_.disk_slots().size() / 2);
    std::size_t n_in_ram = 0;
    while (!on_disk_.empty() || n_in_ram < in_ram_.size()) {
        computing_.clear();
        std::int64_t n_rows = 0;
        std::erase_if(on_disk_, [&](std::size_t g) {
            if (static_cast<std::int64_t>(computing_.size()) == most_from_disk) return false;
            const RowGroup& group = work.rows.groups()[g];
            const auto weights = experts_.on_host_now(work.layer, group.expert);
            if (!weights) return false;
            calls_.push_back(work.call(*weights, group));
            computing_.push_back(index(g));
            n_rows += group.n_rows;
            return true;
        });
        while (n_in_ram < in_ram_.size() && (on_disk_.empty() || n_rows < kRowsBesideReading)) {
            const RowGroup& group = work.rows.groups()[in_ram_[n_in_ram++]];
            add_call(work, group);
            n_rows += group.n_rows;
        }
        if (calls_.empty()) {
            auto next = std::find_if(on_disk_.begin(), on_disk_.end(),
                                     [&](std::size_t g) { return experts_.disk_slots().is_coming(index(g)); });
            if (next == on_disk_.end()) next = on_disk_.begin();
            add_call(work, work.rows.groups()[*next]);
            computing_.push_back(index(*next));
            on_disk_.erase(next);
        }
        run_calls(work, inputs);
        for (const std::size_t expert : computing_) experts_.disk_slots().release(expert);
    }
}

void HostExecutor::add_call(const LayerWork& work, const RowGroup& group) {
    calls_.push_back(work.call(experts_.on_host(work.layer, group.expert), group));
}

void HostExecutor::run_calls(LayerWork& work, const float* inputs) {
    if (calls_.empty()) return;
    amounts_.clear();
    double left_out = 0;
    for (const ExpertCall& call : calls_) {
        const double share = work.read_share(call);
        const auto bytes = static_cast<double>(call.weights.layout.bytes());
        amounts_.push_back({share * bytes, share * 2.0 * static_cast<double>(grid_.expert_weights() * call.n_rows)});
        left_out += (1 - share) * bytes;
    }
    const std::uint64_t skipped = operations_.neurons().skipped_bytes;
    bool computed = false;
    const double us = device_.run_on_host(amounts_, [&] {
        computed = true;
        operations_.run(ops::Experts{calls_, inputs, work.rows.host_row_token(), work.rows.outputs().host()});
    });
    work.cpu_us += us;
    if (!device_.shares_host_memory()) {
        const double now_us = device_.now_us();
        work.host_times.push_back({now_us - us, now_us});
    }
    // A dry run uses the expected amount.
    work.skipped_bytes +=
        computed ? operations_.neurons().skipped_bytes - skipped : static_cast<std::uint64_t>(left_out);
    calls_.clear();
}

}  // namespace offstage::engine
