#include "engine/eval/bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>

#include "engine/as_size.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/experts/disk_speed.h"
#include "engine/plan/calibration.h"
#include "engine/plan/forecast.h"
#include "engine/plan/repeated_time.h"
#include "engine/print.h"
#include "engine/run/load_planner.h"
#include "engine/run/measurements.h"
#include "engine/statistics.h"
#include "engine/telemetry/decode_meter.h"
#include "kernels/byte_experts.h"
#include "kernels/machine_limits.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kLargestProbe = std::size_t{1} << 30;
constexpr double kDiskSeconds = 0.5;
constexpr std::size_t kPlentyForProbe = std::size_t{256} << 20;  // more than caches hold

// Bytes of weights that decoded tokens read, by who reads them.
struct ReadBytes {
    double device = 0;   // the accelerator, from its own memory
    double host = 0;     // the CPU
    double copied = 0;   // to the accelerator
    double disk = 0;     // experts that were needed and in no memory
    double in_vain = 0;  // in addition, by wrong guesses and beyond the needed bytes
};

struct DecodeRepeat {
    double tokens_per_s;
    ReadBytes per_s;               // in 1e9
    double bandwidth_gbps;         // of the host's memory; 0: not measured
    double disk_gbps;              // of the disk; 0: not measured
    double guesses, used_guesses;  // experts read ahead of demand, and those of them that were needed
    bool steady;
};

// The active weights that only a prompt's last token passes, after the last layer's
// attention and router.
std::int64_t last_network_weights(const ModelSpec& c) {
    const LayerSpec& last = c.layers.back();
    const std::int64_t network = c.experts.expert.n_matrices() * last.network_dim() * c.hidden_dim;
    return network + (last.moe() != nullptr ? c.experts.n_active * c.experts.expert_weights() : 0);
}

// The operations of a prefill: every active weight once per token (the output head and
// the last layer's network and experts only for the last token), and the scores and sums
// of causal attention.
double prefill_operations(const ModelSpec& c, std::int64_t n_tokens) {
    const double n = static_cast<double>(n_tokens);
    const double head = static_cast<double>(c.vocab_size * c.hidden_dim);
    const double body = static_cast<double>(c.active_weights() - c.hidden_dim) - head;
    double attention = 0;
    for (std::int64_t l = 0; l < c.n_layers(); ++l) {
        const kernels::AttentionShape shape = c.attention_shape(l);
        const double window = shape.window > 0 ? std::min(n, static_cast<double>(shape.window)) : n;
        const PooledSpec* const pooled = c.layers[as_size(l)].pooled();
        const double top_k = static_cast<double>(shape.top_k);
        const double seen = top_k > 0 && pooled == nullptr ? std::min(window, top_k) : window;
        double keys = seen * (seen + 1) / 2 + (n - seen) * seen;
        // Of rows with more keys than an indexer chooses: what it scores.
        double scored = top_k > 0 && n > top_k ? (n * (n + 1) - top_k * (top_k + 1)) / 2 : 0;
        if (pooled != nullptr && pooled->key_tokens > 0) {
            const double each = static_cast<double>(pooled->key_tokens), all = n / each;
            const double taken = top_k > 0 ? std::min(all, top_k) : all;
            keys += each * taken * (all - taken / 2);
            scored = each * (all * all - taken * taken) / 2;
        }
        attention += 2.0 * static_cast<double>(shape.query_width() + shape.output_width()) * keys +
                     2.0 * static_cast<double>(c.indexer_shape(l).query_width()) * scored;
    }
    const double left_out = static_cast<double>(last_network_weights(c)) * (n - 1);
    return 2.0 * (body * n - left_out) + 2.0 * head + attention;
}

// The bandwidth of reading an accelerator's memory, in 1e9 bytes per second: the best of
// some products of one row of inputs, which read more than caches hold. bytes: the bytes
// read; 0: there was no room for it.
double device_read_gbps(Backend& device, std::size_t& bytes) {
    constexpr std::int64_t kColumns = 4096;
    for (bytes = kLargestProbe; bytes >= kPlentyForProbe; bytes /= 2) {
        try {
            const auto n_rows = static_cast<std::int64_t>(bytes / sizeof(kernels::Bf16)) / kColumns;
            const auto block = [&](std::size_t size) {
                return device.memory().allocate(size, MemoryUse::kWorkspace, "a measurement of the memory's speed");
            };
            const DeviceBlock weights = block(bytes);
            const DeviceBlock x = block(kColumns * sizeof(float));
            const DeviceBlock y = block(static_cast<std::size_t>(n_rows) * sizeof(float));
            double best_us = 0;
            for (int repeat = 0; repeat < 6; ++repeat) {
                const DeviceEvent begin = device.record(DeviceEvent::Queue::kCompute);
                device.submit(ops::Multiply{
                    {weights.data(), kernels::WeightType::kBf16, n_rows, kColumns}, x.as<float>(), 1, y.as<float>()});
                const DeviceEvent end = device.record(DeviceEvent::Queue::kCompute);
                device.host_wait(end);
                const double us = device.elapsed_us(begin, end);
                if (best_us == 0 || us < best_us) best_us = us;
            }
            return best_us > 0 ? static_cast<double>(bytes) / (best_us * 1e3) : 0;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory) throw;
        }
    }
    bytes = 0;
    return 0;
}

class Bench {
  public:
    Bench(LoadedModel& model, const BenchRequest& request, const std::function<void(const std::string&)>& log)
        : model_(model), steps_(model), request_(request), log_(log) {
        const std::int64_t context = context_of(request);
        if (request.prompt_tokens < 1 || request.decode_tokens < 1 || request.repeats < 1) {
            throw Error(ErrorKind::kInvalidInput, messages::bench_needs_runs);
        }
        const std::int64_t room = std::min(model.spec().max_context, model.plan().context);
        if (context > room) {
            throw Error(ErrorKind::kInvalidInput,
                        messages::bench_context_too_long(context, model.summary().name, room));
        }
        for (const ThetaChoice& theta : request.compared) {
            check_theta(theta.theta);
            static_cast<void>(model.thetas_of(theta));  // throws before anything is measured
        }
        std::mt19937_64 random(7);
        for (std::int64_t i = 0; i < context; ++i) {
            tokens_.push_back(static_cast<TokenId>(random() % static_cast<std::uint64_t>(model.spec().vocab_size)));
        }
        emulated_ = dynamic_cast<const EmulatedAccelerator*>(&model.device());
        if (emulated_ == nullptr) make_probe();
    }

    BenchResult run() {
        BenchResult result;
        result.accounted = emulated_ != nullptr;
        if (model_.cost().table().dense.known())
            result.forecast = model_.plan_inputs().forecast(model_.plan(), request_.prompt_tokens);
        result.prefill_products = is_cpu() && multiplies_bytes() ? "int8" : kernels::name_of(model_.form().many);
        measure_peaks(result);
        prefill();  // warms pages, primitives and clocks
        decode();
        if (!is_cpu() && emulated_ == nullptr) device_gbps_ = device_read_gbps(model_.device(), device_probe_bytes_);

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

        model_.keep_habits();
        std::vector<double> speeds;
        for (const DecodeRepeat& r : decodes) speeds.push_back(r.tokens_per_s);
        result.prefill_tokens_per_s = median(prefills);
        result.decode_tokens_per_s = median(speeds);
        result.active_weight_bytes_per_token =
            static_cast<std::uint64_t>(std::llround((read_.device + read_.host) / static_cast<double>(n_decoded_)));
        const auto n_decoded = static_cast<double>(n_decoded_);
        if (decoded_.neurons > 0) {
            result.active_share = static_cast<double>(decoded_.active_neurons) / static_cast<double>(decoded_.neurons);
        }
        result.decode_hit_rate = decoded_.hit_rate();
        result.sparse_copies_per_token = static_cast<double>(decoded_.sparse_copies) / n_decoded;
        result.copied_bytes_per_token = static_cast<double>(decoded_.bytes_copied) / n_decoded;
        result.copy_bytes_saved_per_token = static_cast<double>(decoded_.copy_bytes_saved) / n_decoded;
        result.neuron_hit_rate = decoded_.neuron_hit_rate();
        result.loading = decoded_.loading.times(1 / n_decoded);
        for (std::size_t i = 0; i < host_us_.size(); ++i) result.host_us[i] = host_us_[i] / n_decoded;
        result.prefill = prefill_rate(result);
        if (result.prefill.fraction > 1) {  // other work came between when the peaks were measured
            measure_peaks(result);
            result.prefill = prefill_rate(result);
        }
        const double peak = result.prefill.limit;
        result.prefill = limited(std::move(result.prefill), peak);
        result.decode = decode_rates(decodes);
        result.note = doubt(result.forecast);
        if (!request_.compared.empty()) result.thetas = compare_thetas();
        if (model_.request().drafts != DraftMode::kOff) {
            steps_.restart();
            const auto prompt = std::span(tokens_).first(static_cast<std::size_t>(request_.prompt_tokens));
            result.drafts = bench_drafts(model_, prompt, request_.decode_tokens, request_.repeats);
        }
        return result;
    }

  private:
    // The best of several: other work on the computer only lowers them.
    void measure_peaks(BenchResult& result) {
        if (!is_cpu()) return;
        const auto keep_best = [](double& best, double now) { best = std::max(best, now); };
        keep_best(result.peak_bf16_gflops, kernels::measure_peak_gflops_bf16(model_.pool()));
        keep_best(result.peak_f32_gflops, kernels::measure_peak_gflops_f32(model_.pool()));
        keep_best(result.peak_int8_gops, kernels::measure_peak_gops_int8(model_.pool()));
    }

    Message doubt(const Forecast& forecast) const {
        MeasuredDecode measured = meter_.figures(false);
        if (is_disturbed(decoding_us_, waited_us_)) measured.n_undisturbed = 0;
        if (forecast.decode_tokens_per_s <= 0 || model_.request().dry) return {};
        const double forecast_us = 1e6 / forecast.decode_tokens_per_s;
        if (!is_unlike(measured, forecast_us)) return {};
        if (!model_.measurements().doubt(model_.device(), model_.host(), model_.plan())) return {};
        return run_unlike_forecast(measured.typical_us(), forecast_us);
    }

    bool is_cpu() const { return model_.device().shares_host_memory(); }
    // Whether prompts' products with experts use inputs in 8 bits.
    bool multiplies_bytes() const {
        if (!model_.form().byte_prompts) return false;
        const ExpertGrid& grid = model_.spec().experts;
        for (std::int64_t i = 0; i < grid.size(); ++i) {
            const auto format = model_.experts().format(i / grid.n_experts, i % grid.n_experts);
            if (kernels::is_coded(grid.layout(format).gate)) return true;
        }
        return false;
    }

    // Reads as many bytes as a token: if those fit in a cache, the probe does too. It
    // reads the experts themselves if RAM holds that many: a model that fills the memory
    // leaves no room for others.
    void make_probe() {
        auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(model_.reads().total(), kLargestProbe));
        std::vector<std::span<const std::byte>> pieces;
        std::size_t found = 0;
        for (const auto piece : model_.experts().ram()) {
            if (found >= bytes) break;
            pieces.push_back(piece.first(std::min(piece.size(), bytes - found)));
            found += pieces.back().size();
        }
        if (found >= std::min(bytes, kPlentyForProbe)) {
            bytes = found;
            probe_ = std::make_unique<kernels::ReadBandwidthProbe>(model_.pool(), std::move(pieces));
        } else {
            require_ram(bytes, messages::measuring_memory_bandwidth);
            probe_ = std::make_unique<kernels::ReadBandwidthProbe>(model_.pool(), bytes);
        }
        probe_is_ = "read bandwidth of " + format_bytes(bytes) + ", measured in this run";
    }

    BenchRate prefill_rate(const BenchResult& result) const {
        BenchRate rate;
        rate.what = "products of the prompt";
        rate.unit = "GFLOP/s";
        rate.rate = prefill_operations(model_.spec(), request_.prompt_tokens) * result.prefill_tokens_per_s /
                    static_cast<double>(request_.prompt_tokens) / 1e9;
        if (emulated_ != nullptr) {
            const HardwareProfile& profile = emulated_->profile();
            if (profile.host) {
                rate.limit = profile.tflops * profile.compute_efficiency * 1e3 + profile.host->gflops;
                rate.limit_is = "peaks of card and CPU by the hardware profile, accounted";
            } else {
                rate.limit_is = "no limit: the card's part is accounted, the CPU's measured";
            }
        } else if (is_cpu() && multiplies_bytes()) {
            rate.limit = result.peak_int8_gops;
            rate.limit_is = "int8 peak, measured in this run";
        } else if (is_cpu()) {
            const auto peak = kernels::limiting_peak(model_.form().many);
            if (peak.has_value()) {
                rate.limit = *peak == kernels::GemmMode::kF32 ? result.peak_f32_gflops : result.peak_bf16_gflops;
                rate.limit_is = std::string(kernels::name_of(*peak)) + " peak, measured in this run";
            } else {
                rate.limit_is = "no limit: oneDNN may use tile instructions, whose peak is not measured";
            }
        } else {
            rate.limit_is = "no limit: the accelerator's peak is not measured";
        }
        if (rate.limit > 0) rate.fraction = rate.rate / rate.limit;
        return rate;
    }

    // limit_of: of one repeat; 0: none.
    template <typename Rate, typename Limit>
    static BenchRate rate_of(const std::vector<DecodeRepeat>& decodes, std::string what, std::string limit_is,
                             const Rate& rate_of_repeat, const Limit& limit_of_repeat) {
        std::vector<double> rates, limits, fractions;
        for (const DecodeRepeat& r : decodes) {
            rates.push_back(rate_of_repeat(r));
            limits.push_back(limit_of_repeat(r));
            fractions.push_back(limits.back() > 0 ? rates.back() / limits.back() : 0);
        }
        const double best = *std::max_element(limits.begin(), limits.end());
        return limited({std::move(what), "GB/s", median(rates), median(limits), median(fractions), std::move(limit_is)},
                       best);
    }

    std::vector<BenchRate> decode_rates(const std::vector<DecodeRepeat>& decodes) const {
        const auto host = [](const DecodeRepeat& r) { return r.per_s.host; };
        const auto measured = [](const DecodeRepeat& r) { return r.bandwidth_gbps; };
        const auto constant = [](double limit) { return [limit](const DecodeRepeat&) { return limit; }; };
        const std::string by_cpu = "weights that the CPU reads";
        if (is_cpu()) {
            std::vector<BenchRate> of_cpu = {rate_of(decodes, by_cpu, probe_is_, host, measured)};
            add_disk_rates(decodes, of_cpu);
            return of_cpu;
        }

        double memory_gbps = device_gbps_, bus_gbps = 0, host_gbps = 0;
        std::string memory_is = device_gbps_ > 0 ? "device's read bandwidth of " + format_bytes(device_probe_bytes_) +
                                                       ", the best of six, measured in this run"
                                                 : "no limit: the accelerator has no room to measure its memory";
        std::string bus_is, host_is = probe_is_;
        if (emulated_ != nullptr) {
            const HardwareProfile& profile = emulated_->profile();
            memory_gbps = profile.memory_gbps * profile.memory_efficiency;
            bus_gbps = profile.bus_gbps * profile.bus_efficiency;
            memory_is = "card's memory by the hardware profile, accounted";
            bus_is = "bus by the hardware profile, accounted";
            if (profile.host) host_gbps = profile.host->read_gbps;
            host_is = profile.host ? "CPU's read bandwidth by the hardware profile, accounted"
                                   : "no limit: the CPU's part is measured, the card's accounted";
        } else {
            const CostTable& costs = model_.cost().table();
            if (costs.weight_copy_us > 0) {
                bus_gbps = static_cast<double>(costs.expert_bytes) / (costs.weight_copy_us * 1e3);
            }
            bus_is = bus_gbps > 0 ? "copies of single experts, measured when costs were calibrated" : "no limit known";
        }
        std::vector<BenchRate> rates;
        rates.push_back(rate_of(
            decodes, "weights that the device reads", memory_is, [](const DecodeRepeat& r) { return r.per_s.device; },
            constant(memory_gbps)));
        rates.push_back(emulated_ != nullptr ? rate_of(decodes, by_cpu, host_is, host, constant(host_gbps))
                                             : rate_of(decodes, by_cpu, host_is, host, measured));
        rates.push_back(rate_of(
            decodes, "weights copied to the device", bus_is, [](const DecodeRepeat& r) { return r.per_s.copied; },
            constant(bus_gbps)));
        add_disk_rates(decodes, rates);
        return rates;
    }

    void add_disk_rates(const std::vector<DecodeRepeat>& decodes, std::vector<BenchRate>& rates) const {
        if (!reads_disk_) return;
        const std::string how =
            std::string("direct reads of half a MiB anywhere in the files, measured in this run (") +
            model_.experts().reader()->way() + ")";
        rates.push_back(rate_of(
            decodes, "needed weights read from disk", how, [](const DecodeRepeat& r) { return r.per_s.disk; },
            [](const DecodeRepeat& r) { return r.disk_gbps; }));
        rates.push_back(rate_of(
            decodes, "read from disk in vain", "guesses that were wrong",
            [](const DecodeRepeat& r) { return r.per_s.in_vain; }, [](const DecodeRepeat&) { return 0.0; }));
    }

    double disk_gbps() {
        return reads_disk_ ? measure_disk_gbps(model_.source().master(), kDiskSeconds, ++disk_seed_) : 0;
    }
    ExpertReader::Counts read_counts() const {
        const ExpertReader* const reader = model_.experts().reader();
        return reader == nullptr ? ExpertReader::Counts{} : reader->counts();
    }

    double prefill() {
        steps_.restart();
        const double start = steps_.now_us();
        feed_prompt(steps_, std::span(tokens_).first(static_cast<std::size_t>(request_.prompt_tokens)), {});
        return (steps_.now_us() - start) / 1e6;
    }

    // Follows prefill(), and continues its tokens.
    DecodeRepeat decode() {
        const double disk_before = disk_gbps();
        const double before = probe_ ? probe_->measure_gbps() : 0;
        model_.device().host_wait(model_.device().record(DeviceEvent::Queue::kCopy));
        const DispatchTotals begin = steps_.totals();
        const ExpertReader::Counts reads_begin = read_counts();
        const double waited_before = waited_us();
        HostTimes& host_times = model_.dispatcher().host_times();
        host_times.enter(HostTimes::Phase::kBetweenSteps);
        const HostTimes::Sums host_begin = host_times.sums();
        const double start = steps_.now_us();
        for (std::int64_t i = 0; i < request_.decode_tokens; ++i) {
            const BeamSearch::Branch next{0, tokens_[static_cast<std::size_t>(request_.prompt_tokens + i)]};
            const double step_start = steps_.now_us();
            const std::int64_t preempted = n_preempted();
            steps_.advance({&next, 1}, {});
            meter_.add(steps_.now_us() - step_start, steps_.totals(), n_preempted() != preempted);
        }
        const double taken_us = steps_.now_us() - start;
        host_times.enter(HostTimes::Phase::kBetweenSteps);
        for (std::size_t i = 0; i < host_us_.size(); ++i) host_us_[i] += host_times.sums()[i] - host_begin[i];
        decoding_us_ += taken_us;
        waited_us_ += waited_us() - waited_before;
        // Waits for unfinished copies, so that the count and the time include the same
        // copies.
        model_.device().host_wait(model_.device().record(DeviceEvent::Queue::kCopy));
        const double copying_us = steps_.now_us() - start;
        DispatchTotals decoded = steps_.totals();
        decoded -= begin;
        const ExpertReader::Counts reads_end = read_counts();
        const double after = probe_ ? probe_->measure_gbps() : 0;
        const double disk_after = disk_gbps();
        const auto dense = static_cast<double>(model_.reads().dense) * static_cast<double>(request_.decode_tokens);
        ReadBytes read;
        read.device = static_cast<double>(decoded.device_read_bytes) + (is_cpu() ? 0 : dense);
        read.host = static_cast<double>(decoded.host_read_bytes) + (is_cpu() ? dense : 0);
        read.copied = static_cast<double>(decoded.bytes_copied);
        read.disk = static_cast<double>(reads_end.needed_bytes - reads_begin.needed_bytes);
        read.in_vain = static_cast<double>(reads_end.bytes - reads_begin.bytes) - read.disk;
        read_.device += read.device;
        read_.host += read.host;
        n_decoded_ += request_.decode_tokens;
        decoded_ += decoded;
        const double per_ns = 1e-3 / taken_us;
        return {1e6 * static_cast<double>(request_.decode_tokens) / taken_us,
                {read.device * per_ns, read.host * per_ns, read.copied * 1e-3 / copying_us, read.disk * per_ns,
                 read.in_vain * per_ns},
                (before + after) / 2,
                (disk_before + disk_after) / 2,
                static_cast<double>(reads_end.guessed - reads_begin.guessed),
                static_cast<double>(reads_end.used_guesses - reads_begin.used_guesses),
                read.host <= 0 || std::abs(before - after) <= kBracketTolerance * std::max(before, after)};
    }

    struct Decoded {
        std::vector<double> token_us;
        double bytes = 0;
        std::uint64_t neurons = 0, active_neurons = 0;
    };

    void decode_one(const ThetaChoice& theta, TokenId token, Decoded& decoded) {
        model_.use_theta(theta);
        model_.device().host_wait(model_.device().record(DeviceEvent::Queue::kCopy));
        const DispatchTotals begin = steps_.totals();
        const double start = steps_.now_us();
        const BeamSearch::Branch next{0, token};
        steps_.advance({&next, 1}, {});
        decoded.token_us.push_back(steps_.now_us() - start);
        DispatchTotals of_token = steps_.totals();
        of_token -= begin;
        decoded.bytes +=
            static_cast<double>(of_token.device_read_bytes + of_token.host_read_bytes + model_.reads().dense);
        decoded.neurons += of_token.neurons;
        decoded.active_neurons += of_token.active_neurons;
    }

    // Each token with a theta is paired with one without, alternately before it and after
    // it, so that neither group has the longer contexts.
    std::vector<ThetaGain> compare_thetas() {
        const std::size_t n = request_.compared.size();
        std::vector<Decoded> with(n), without(n);
        for (int repeat = 0; repeat < request_.repeats; ++repeat) {
            prefill();
            auto token = tokens_.begin() + request_.prompt_tokens;
            for (std::int64_t round = 0; round < request_.decode_tokens; ++round) {
                for (std::size_t i = 0; i < n; ++i) {
                    if (round % 2 == 0) decode_one({}, *token++, without[i]);
                    decode_one(request_.compared[i], *token++, with[i]);
                    if (round % 2 == 1) decode_one({}, *token++, without[i]);
                }
            }
        }
        model_.use_theta({});
        std::vector<ThetaGain> rows;
        for (std::size_t i = 0; i < n; ++i) {
            ThetaGain& row = rows.emplace_back();
            row.theta = request_.compared[i];
            if (with[i].neurons > 0) {
                row.active_share = static_cast<double>(with[i].active_neurons) / static_cast<double>(with[i].neurons);
            }
            std::vector<double> gains;
            for (std::size_t t = 0; t < with[i].token_us.size(); ++t) {
                gains.push_back(without[i].token_us[t] / with[i].token_us[t]);
            }
            row.tokens_per_s = 1e6 / median(with[i].token_us);
            row.whole_tokens_per_s = 1e6 / median(without[i].token_us);
            row.bytes_per_token = with[i].bytes / static_cast<double>(gains.size());
            row.gain = median(gains);
            row.lower_gain = percentile(gains, 0.25);
            row.upper_gain = percentile(gains, 0.75);
            row.bytes_allow = without[i].bytes / with[i].bytes;
        }
        return rows;
    }

    void report(int repeat, double prefill_speed, const DecodeRepeat& r) const {
        if (!log_) return;
        std::array<char, 200> line{};
        if (is_cpu()) {
            std::snprintf(
                line.data(), line.size(),
                "repeat %d: prefill %.1f tokens/s, decode %.2f tokens/s (%.1f GB/s, where reading alone reached "
                "%.1f)%s",
                repeat + 1, prefill_speed, r.tokens_per_s, r.per_s.host, r.bandwidth_gbps,
                r.steady ? "" : ", dropped: the bandwidth changed meanwhile");
            if (r.disk_gbps > 0) {
                log_(line.data());
                std::snprintf(line.data(), line.size(),
                              "  disk: %.2f GB/s needed, where reading alone reached %.2f; %.2f GB/s in vain, %.0f of "
                              "%.0f guesses used",
                              r.per_s.disk, r.disk_gbps, r.per_s.in_vain, r.used_guesses, r.guesses);
            }
        } else {
            std::snprintf(line.data(), line.size(), "repeat %d: prefill %.1f tokens/s, decode %.2f tokens/s (%s)",
                          repeat + 1, prefill_speed, r.tokens_per_s, emulated_ != nullptr ? "accounted" : "measured");
        }
        log_(line.data());
    }

    LoadedModel& model_;
    LoadedStepModel steps_;
    BenchRequest request_;
    const std::function<void(const std::string&)>& log_;
    const EmulatedAccelerator* emulated_ = nullptr;       // the model's device, if it is one
    std::unique_ptr<kernels::ReadBandwidthProbe> probe_;  // of the host's memory; none if times are accounted
    std::string probe_is_;
    double device_gbps_ = 0;  // of an accelerator's memory; 0: not measured
    std::size_t device_probe_bytes_ = 0;
    const bool reads_disk_ = model_.experts().reads_ahead();
    // Other places than in the last run: a virtual disk may have a cache.
    std::uint64_t disk_seed_ = std::random_device{}();
    ReadBytes read_;  // by all tokens decoded so far
    std::int64_t n_decoded_ = 0;
    DispatchTotals decoded_;  // reported in the result
    HostTimes::Sums host_us_{};
    DecodeMeter meter_;
    double decoding_us_ = 0, waited_us_ = 0;  // of all repeats; waiting for a core
    std::vector<TokenId> tokens_;
};

}  // namespace

std::optional<double> ThetaGain::share_of_gain() const {
    if (!(bytes_allow > 1) || !is_distinguishable() || gain > bytes_allow) return {};
    return (gain - 1) / (bytes_allow - 1);
}

BenchRate limited(BenchRate rate, double best) {
    if (!(rate.limit > 0) || rate.fraction <= 1) return rate;
    if (rate.rate <= best) {
        rate.limit = best;
        rate.fraction = rate.rate / best;
        rate.limit_is += ", the best of all repeats, as other work disturbed some";
        return rate;
    }
    rate.limit_is = "no limit: other work disturbed its measurement, which gave " + print("%.1f", best) + " (" +
                    rate.limit_is + ")";
    rate.limit = rate.fraction = 0;
    return rate;
}

std::int64_t context_of(const BenchRequest& request) {
    const auto compared = static_cast<std::int64_t>(request.compared.size());
    return request.prompt_tokens + request.decode_tokens * std::max<std::int64_t>(1, 2 * compared);
}

BenchResult run_bench(LoadedModel& model, const BenchRequest& request,
                      const std::function<void(const std::string&)>& log) {
    return Bench(model, request, log).run();
}

}  // namespace offstage::engine
