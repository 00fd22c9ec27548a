#include "engine/eval/bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/statistics.h"
#include "kernels/machine_limits.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kProbeBytes = std::size_t{1} << 30;

struct DecodeRepeat {
    double tokens_per_s;
    double bandwidth_gbps;
    double fraction;
    bool steady;
};

// Operations of a prefill: every active weight once per token (the output head for the last token only), and the scores
// and sums of causal attention.
double prefill_operations(const ModelConfig& c, std::int64_t n_tokens) {
    const double n = static_cast<double>(n_tokens);
    const double head = static_cast<double>(c.vocab_size * c.hidden_dim);
    const double body = static_cast<double>(c.active_weights() - c.hidden_dim) - head;
    const double keys = n * (n + 1) / 2;
    const double attention = 4.0 * static_cast<double>(c.n_heads * c.head_dim * c.n_layers) * keys;
    return 2.0 * body * n + 2.0 * head + attention;
}

class Bench {
  public:
    Bench(LoadedModel& model, const BenchRequest& request, const std::function<void(const std::string&)>& log)
        : model_(model), steps_(model), request_(request), log_(log) {
        // The weights themselves are read where they are larger than any cache; a small model needs a buffer beside it.
        const auto slabs = model.experts().ram();
        const auto large =
            std::find_if(slabs.begin(), slabs.end(), [](auto slab) { return slab.size() >= kProbeBytes; });
        if (large != slabs.end()) {
            probe_ = std::make_unique<kernels::ReadBandwidthProbe>(model.pool(), large->first(kProbeBytes));
        } else {
            require_ram(kProbeBytes, "Measuring the memory's bandwidth");
            probe_ = std::make_unique<kernels::ReadBandwidthProbe>(model.pool(), kProbeBytes);
        }
        const std::int64_t context = request.prompt_tokens + request.decode_tokens;
        if (request.prompt_tokens < 1 || request.decode_tokens < 1 || request.repeats < 1) {
            throw Error(ErrorKind::kInvalidInput, "A bench needs a prompt, a decode and a repeat of at least 1.");
        }
        const std::int64_t room = std::min(model.config().max_context, model.plan().context);
        if (context > room) {
            throw Error(ErrorKind::kInvalidInput, "The bench needs a context of " + std::to_string(context) +
                                                      " tokens, but " + model.summary().name + " holds " +
                                                      std::to_string(room) + ".");
        }
        std::mt19937_64 random(7);
        for (std::int64_t i = 0; i < context; ++i) {
            tokens_.push_back(static_cast<TokenId>(random() % static_cast<std::uint64_t>(model.config().vocab_size)));
        }
    }

    BenchResult run() {
        BenchResult result;
        result.active_weight_bytes_per_token = model_.active_bytes();
        result.peak_bf16_gflops = kernels::measure_peak_gflops_bf16(model_.pool());
        result.peak_f32_gflops = kernels::measure_peak_gflops_f32(model_.pool());
        result.prefill_products = kernels::name_of(model_.mode());
        prefill();  // warms pages, primitives and clocks
        decode();

        std::vector<double> prefills;
        std::vector<DecodeRepeat> decodes;
        int steady = 0;
        for (int tried = 0; tried < 3 * request_.repeats && steady < request_.repeats; ++tried) {
            const double prefill_s = prefill();
            prefills.push_back(static_cast<double>(request_.prompt_tokens) / prefill_s);
            decodes.push_back(decode());
            steady += decodes.back().steady;
            report(tried, prefills.back(), decodes.back());
        }
        if (steady > 0) std::erase_if(decodes, [](const DecodeRepeat& r) { return !r.steady; });
        result.dropped_repeats = static_cast<int>(prefills.size()) - steady;
        result.repeats = static_cast<int>(decodes.size());

        std::vector<double> speeds, bandwidths, fractions;
        for (const DecodeRepeat& r : decodes) {
            speeds.push_back(r.tokens_per_s);
            bandwidths.push_back(r.bandwidth_gbps);
            fractions.push_back(r.fraction);
        }
        result.prefill_tokens_per_s = median(prefills);
        result.decode_tokens_per_s = median(speeds);
        result.decode_gb_per_s = gigabytes_per_s(result.decode_tokens_per_s);
        result.read_bandwidth_gb_per_s = median(bandwidths);
        result.decode_bandwidth_fraction = median(fractions);
        result.prefill_gflops = prefill_operations(model_.config(), request_.prompt_tokens) *
                                result.prefill_tokens_per_s / static_cast<double>(request_.prompt_tokens) / 1e9;
        result.prefill_peak_fraction = result.prefill_gflops / result.peak_bf16_gflops;
        return result;
    }

  private:
    double gigabytes_per_s(double tokens_per_s) const {
        return static_cast<double>(model_.active_bytes()) * tokens_per_s / 1e9;
    }

    double prefill() {
        steps_.restart();
        const double start = steps_.now_us();
        feed_prompt(steps_, std::span(tokens_).first(static_cast<std::size_t>(request_.prompt_tokens)), {});
        return (steps_.now_us() - start) / 1e6;
    }

    // Follows prefill(), whose tokens it continues.
    DecodeRepeat decode() {
        const double before = probe_->measure_gbps();
        const double start = steps_.now_us();
        for (std::int64_t i = 0; i < request_.decode_tokens; ++i) {
            const BeamSearch::Branch next{0, tokens_[static_cast<std::size_t>(request_.prompt_tokens + i)]};
            steps_.advance({&next, 1}, {});
        }
        const double tokens_per_s = 1e6 * static_cast<double>(request_.decode_tokens) / (steps_.now_us() - start);
        const double after = probe_->measure_gbps();
        const double bandwidth = (before + after) / 2;
        const bool steady = std::abs(before - after) <= kBracketTolerance * std::max(before, after);
        return {tokens_per_s, bandwidth, gigabytes_per_s(tokens_per_s) / bandwidth, steady};
    }

    void report(int repeat, double prefill_speed, const DecodeRepeat& r) const {
        if (!log_) return;
        std::array<char, 160> line{};
        std::snprintf(line.data(), line.size(),
                      "repeat %d: prefill %.1f tokens/s, decode %.2f tokens/s (%.0f %% of %.1f GB/s)%s", repeat + 1,
                      prefill_speed, r.tokens_per_s, 100 * r.fraction, r.bandwidth_gbps,
                      r.steady ? "" : ", dropped: the bandwidth changed meanwhile");
        log_(line.data());
    }

    LoadedModel& model_;
    LoadedStepModel steps_;
    BenchRequest request_;
    const std::function<void(const std::string&)>& log_;
    std::unique_ptr<kernels::ReadBandwidthProbe> probe_;
    std::vector<TokenId> tokens_;
};

}  // namespace

BenchResult run_bench(LoadedModel& model, const BenchRequest& request,
                      const std::function<void(const std::string&)>& log) {
    return Bench(model, request, log).run();
}

}  // namespace offstage::engine
