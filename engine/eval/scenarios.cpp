#include "engine/eval/scenarios.h"

#include <algorithm>
#include <array>
#include <random>

#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/print.h"
#include "engine/statistics.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {
namespace {

// One run's figures at one of its out lengths.
struct Sample {
    double ttft_us = 0, itl_median_us = 0, itl_p95_us = 0, total_us = 0;
    DispatchTotals totals;
};

// One run: all `outs` come from one run to the longest.
struct Case {
    ScenarioKind kind;
    std::int64_t in;
    std::vector<std::int64_t> outs;  // ascending
    std::int64_t width;
};

std::vector<std::int64_t> ascending(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

std::vector<Case> cases_of(const ScenarioRequest& request) {
    std::vector<Case> cases;
    for (const ScenarioKind kind : request.kinds) {
        switch (kind) {
            case ScenarioKind::kDecode:
                for (const std::int64_t in : request.decode_in) {
                    cases.push_back({kind, in, ascending(request.decode_out), 1});
                }
                break;
            case ScenarioKind::kPrefill:
                for (const std::int64_t in : request.prefill_in) cases.push_back({kind, in, {1}, 1});
                break;
            case ScenarioKind::kBeam:
                // The search does not depend on where it ends, so the longest run gives
                // the results of shorter answers too.
                for (const std::int64_t in : request.beam_in) {
                    for (const std::int64_t width : request.beam_widths) {
                        cases.push_back({kind, in, ascending(request.beam_out), width});
                    }
                }
                break;
        }
    }
    return cases;
}

class Runner {
  public:
    Runner(StepModel& model, const std::vector<std::vector<TokenId>>& sequences, const std::stop_token& stop)
        : model_(model), sequences_(sequences), stop_(stop) {}

    // One sample for each of the case's outs.
    std::vector<Sample> run(const Case& c, int repeat) {
        std::mt19937_64 random(static_cast<std::uint64_t>(c.in * 64 + c.width));
        std::size_t sequence = sequences_.empty() ? 0 : sequence_for(c.in, repeat), place = 0;
        const auto draw = [&] {
            if (sequences_.empty()) {
                return static_cast<TokenId>(random() % static_cast<std::uint64_t>(model_.vocab_size()));
            }
            while (place == sequences_[sequence].size()) {
                sequence = (sequence + 1) % sequences_.size();
                place = 0;
            }
            return sequences_[sequence][place++];
        };
        std::vector<TokenId> prompt;
        for (std::int64_t i = 0; i < c.in; ++i) prompt.push_back(draw());
        model_.restart();
        model_.reset_totals();
        BeamSearch search({static_cast<int>(c.width), 1.0}, {}, 0);

        times_.clear();
        const double start = model_.now_us();
        feed_prompt(model_, prompt, stop_);
        std::vector<Sample> samples;
        std::array<BeamSearch::Branch, 1> one{};
        for (std::int64_t made = 1;; ++made) {
            std::span<const BeamSearch::Branch> branches = one;
            if (c.width > 1) {
                branches = search.advance(model_.logits(), model_.vocab_size());
                if (branches.empty()) {
                    throw Error(ErrorKind::kInvalidModel, messages::no_probabilities);
                }
            }
            times_.push_back(model_.now_us() - start);
            if (std::binary_search(c.outs.begin(), c.outs.end(), made)) samples.push_back(sample());
            if (made == c.outs.back()) return samples;
            if (c.width == 1) one[0] = {0, draw()};
            model_.advance(branches, stop_);
        }
    }

  private:
    // The sequence that a repeat's prompt of so many tokens is the beginning of.
    std::size_t sequence_for(std::int64_t in, int repeat) const {
        std::vector<std::size_t> long_enough;
        std::size_t longest = 0;
        for (std::size_t i = 0; i < sequences_.size(); ++i) {
            longest = std::max(longest, sequences_[i].size());
            if (sequences_[i].size() >= static_cast<std::size_t>(in)) long_enough.push_back(i);
        }
        if (long_enough.empty()) {
            throw Error(ErrorKind::kInvalidInput, messages::no_text_for_prompt(in, static_cast<std::int64_t>(longest)));
        }
        return long_enough[static_cast<std::size_t>(repeat) % long_enough.size()];
    }

    Sample sample() const {
        Sample result;
        result.ttft_us = times_.front();
        result.total_us = times_.back();
        std::vector<double> gaps;
        gaps.reserve(times_.size());
        for (std::size_t i = 1; i < times_.size(); ++i) gaps.push_back(times_[i] - times_[i - 1]);
        result.itl_median_us = median(gaps);
        result.itl_p95_us = percentile(gaps, 0.95);
        result.totals = model_.totals();
        return result;
    }

    StepModel& model_;
    const std::vector<std::vector<TokenId>>& sequences_;
    const std::stop_token& stop_;
    std::vector<double> times_;  // of each token, from the request
};

template <typename Figure>
double median_of(const std::vector<Sample>& samples, const Figure& figure) {
    std::vector<double> values;
    values.reserve(samples.size());
    for (const Sample& sample : samples) values.push_back(static_cast<double>(figure(sample)));
    return median(std::move(values));
}

ScenarioRow row_of(const Case& c, std::int64_t out, const std::string& policy, const std::vector<Sample>& samples) {
    ScenarioRow row;
    row.kind = c.kind;
    row.policy = policy;
    row.in = c.in;
    row.out = out;
    row.width = c.width;
    row.ttft_us = median_of(samples, [](const Sample& s) { return s.ttft_us; });
    row.itl_median_us = median_of(samples, [](const Sample& s) { return s.itl_median_us; });
    row.itl_p95_us = median_of(samples, [](const Sample& s) { return s.itl_p95_us; });
    row.total_us = median_of(samples, [](const Sample& s) { return s.total_us; });
    const double tokens = static_cast<double>(c.kind == ScenarioKind::kPrefill ? c.in : out);
    row.tokens_per_s = row.total_us > 0 ? 1e6 * tokens / row.total_us : 0;
    row.hit_rate = median_of(samples, [](const Sample& s) { return s.totals.hit_rate(); });
    row.bytes_copied = median_of(samples, [](const Sample& s) { return s.totals.bytes_copied; });
    row.copied_calls = median_of(samples, [](const Sample& s) { return s.totals.copied_calls; });
    row.cpu_calls = median_of(samples, [](const Sample& s) { return s.totals.cpu_calls; });
    row.resident_calls = median_of(samples, [](const Sample& s) { return s.totals.resident_calls; });
    row.repeats = static_cast<int>(samples.size());
    return row;
}

void check_list(const std::vector<std::int64_t>& values, std::int64_t largest, const Message& what) {
    if (values.empty()) throw Error(ErrorKind::kInvalidInput, messages::none_given(what));
    for (const std::int64_t value : values) {
        if (value >= 1 && value <= largest) continue;
        throw Error(ErrorKind::kInvalidInput, messages::scenario_value_out_of_range(what, value, largest));
    }
}

constexpr std::int64_t kLongest = std::int64_t{1} << 20;

bool has(const ScenarioRequest& request, ScenarioKind kind) {
    return std::find(request.kinds.begin(), request.kinds.end(), kind) != request.kinds.end();
}

std::int64_t largest(const std::vector<std::int64_t>& values) {
    return *std::max_element(values.begin(), values.end());
}

}  // namespace

std::string_view name_of(ScenarioKind kind) {
    constexpr std::string_view kNames[] = {"decode", "prefill", "beam"};
    return kNames[static_cast<std::size_t>(kind)];
}

void validate(const ScenarioRequest& request) {
    if (request.kinds.empty()) throw Error(ErrorKind::kInvalidInput, messages::no_scenario_chosen);
    if (request.policies.empty()) throw Error(ErrorKind::kInvalidInput, messages::no_policy_chosen);
    if (request.repeats < 1) throw Error(ErrorKind::kInvalidInput, messages::scenario_without_repeat);
    if (has(request, ScenarioKind::kDecode)) {
        check_list(request.decode_in, kLongest, messages::prompt_length);
        check_list(request.decode_out, kLongest, messages::answer_length);
    }
    if (has(request, ScenarioKind::kPrefill)) check_list(request.prefill_in, kLongest, messages::prompt_length);
    if (has(request, ScenarioKind::kBeam)) {
        check_list(request.beam_in, kLongest, messages::prompt_length);
        check_list(request.beam_out, kLongest, messages::answer_length);
        check_list(request.beam_widths, kLargestBeamWidth, messages::beam_width);
    }
}

std::string fit_to_context(ScenarioRequest& request, std::int64_t max_context) {
    std::string left_out;
    const auto fit = [&](std::vector<std::int64_t>& values, std::int64_t room, const MessageArgument& what) {
        std::erase_if(values, [&](std::int64_t value) {
            if (value <= room) return false;
            left_out += (left_out.empty() ? "" : ", ") + what.english() + " " + std::to_string(value);
            return true;
        });
        if (!values.empty()) return;
        throw Error(ErrorKind::kInvalidInput, messages::scenario_beyond_context(max_context, what));
    };
    validate(request);
    if (has(request, ScenarioKind::kDecode)) {
        const std::int64_t shortest = *std::min_element(request.decode_out.begin(), request.decode_out.end());
        fit(request.decode_in, max_context - shortest, messages::decode_prompt);
        fit(request.decode_out, max_context - largest(request.decode_in), messages::answer);
    }
    if (has(request, ScenarioKind::kPrefill)) fit(request.prefill_in, max_context, messages::prefill_prompt);
    if (has(request, ScenarioKind::kBeam)) {
        const std::int64_t shortest = *std::min_element(request.beam_out.begin(), request.beam_out.end());
        fit(request.beam_in, max_context - shortest, messages::beam_prompt);
        fit(request.beam_out, max_context - largest(request.beam_in), messages::beam_answer);
    }
    if (left_out.empty()) return {};
    return "Left out, the model holds " + std::to_string(max_context) + " tokens: " + left_out + ".";
}

std::int64_t context_of(const ScenarioRequest& request) {
    validate(request);
    std::int64_t context = 1;
    if (has(request, ScenarioKind::kDecode)) {
        context = std::max(context, largest(request.decode_in) + largest(request.decode_out));
    }
    if (has(request, ScenarioKind::kPrefill)) context = std::max(context, largest(request.prefill_in));
    if (has(request, ScenarioKind::kBeam)) {
        // Beams share whole blocks of the prompt; each beam may have its own copy of the
        // rest.
        const std::int64_t block = kernels::kKvBlockTokens;
        const std::int64_t in = largest(request.beam_in), out = largest(request.beam_out);
        const std::int64_t shared = in / block * block;
        const std::int64_t own = (in - shared + out + block - 1) / block * block;
        context = std::max(context, shared + own * largest(request.beam_widths));
    }
    return context;
}

std::vector<ScenarioRow> run_scenarios(StepModel& model, const ScenarioRequest& request,
                                       const std::function<void(const std::string&)>& log,
                                       const std::stop_token& stop) {
    validate(request);
    const std::size_t n_policies = request.policies.size();
    Runner runner(model, request.sequences, stop);
    for (const ScenarioPolicy& policy : request.policies) {  // warms pages, primitives and clocks
        model.set_policy(policy.settings);
        runner.run({ScenarioKind::kDecode, std::min<std::int64_t>(8, model.context() - 4), {4}, 1}, 0);
    }
    std::vector<ScenarioRow> rows;
    for (const Case& c : cases_of(request)) {
        // samples[policy][out][repeat]
        std::vector<std::vector<std::vector<Sample>>> samples(n_policies,
                                                              std::vector<std::vector<Sample>>(c.outs.size()));
        for (int repeat = 0; repeat < request.repeats; ++repeat) {
            for (std::size_t turn = 0; turn < n_policies; ++turn) {
                const std::size_t p = (turn + static_cast<std::size_t>(repeat)) % n_policies;
                model.set_policy(request.policies[p].settings);
                const std::vector<Sample> run = runner.run(c, repeat);
                for (std::size_t i = 0; i < run.size(); ++i) samples[p][i].push_back(run[i]);
                if (!log) continue;
                const Sample& whole = run.back();
                std::string line = print("%s, in %lld, out %lld, width %lld, %s, repeat %d: first token %.1f ms",
                                         std::string(name_of(c.kind)).c_str(), static_cast<long long>(c.in),
                                         static_cast<long long>(c.outs.back()), static_cast<long long>(c.width),
                                         request.policies[p].name.c_str(), repeat + 1, whole.ttft_us / 1000);
                if (whole.itl_median_us > 0) line += print(", then %.2f ms each", whole.itl_median_us / 1000);
                log(line);
            }
        }
        for (std::size_t i = 0; i < c.outs.size(); ++i) {
            for (std::size_t p = 0; p < n_policies; ++p) {
                rows.push_back(row_of(c, c.outs[i], request.policies[p].name, samples[p][i]));
            }
        }
    }
    return rows;
}

}  // namespace offstage::engine
