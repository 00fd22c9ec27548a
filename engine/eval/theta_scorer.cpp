#include "engine/eval/theta_scorer.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/quantize_report.h"
#include "engine/run/moe_layer.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

// Sums of the layers' events since the last call.
class ActiveNeurons {
  public:
    explicit ActiveNeurons(LoadedModel& model)
        : recorder_(model.dispatcher().recorder()),
          next_(recorder_.n_events()),
          neurons_(as_size(model.spec().experts.n_layers), 0),
          active_(neurons_) {}

    // At least every Recorder::kEvents events.
    void take() {
        for (; next_ < recorder_.n_events(); ++next_) {
            const LayerEvent& event = recorder_.event(next_);
            neurons_[as_size(event.layer)] += event.neurons;
            active_[as_size(event.layer)] += event.active_neurons;
        }
    }
    void fill(ThetaRow& row) const {
        std::uint64_t neurons = 0, active = 0;
        const auto share = [](std::uint64_t part, std::uint64_t all) {
            return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : -1.0;
        };
        for (std::size_t layer = 0; layer < neurons_.size(); ++layer) {
            row.layer_shares.push_back(row.theta > 0 ? share(active_[layer], neurons_[layer]) : 1.0);
            neurons += neurons_[layer];
            active += active_[layer];
        }
        row.active_share = row.theta > 0 ? share(active, neurons) : 1.0;
    }

  private:
    const Recorder& recorder_;
    std::uint64_t next_;
    std::vector<std::uint64_t> neurons_, active_;
};

// A row of a report before it is measured.
struct Asked {
    ExpertThetas thetas;
    double theta = 0, loss = 0;
    bool accepts_guesses = false;
};

// 0, the given thetas, rising, and the chosen thresholds; after them, where guesses may
// be `accepted`, all but 0 once more with them.
std::vector<Asked> rows_of(const ThetaSettings& settings, bool accepted) {
    std::set<double> thetas = {0};
    for (const double theta : settings.thetas) {
        check_theta(theta);
        thetas.insert(theta);
    }
    std::vector<Asked> rows;
    for (const double theta : thetas) rows.push_back({theta, theta, 0, false});
    for (const ChosenThresholds& each : settings.chosen) {
        rows.push_back({each.of_experts(), static_cast<double>(each.of_experts().mean()), each.loss, false});
    }
    for (std::size_t i = 0, n = rows.size(); accepted && i < n; ++i) {
        if (rows[i].theta > 0) rows.push_back({rows[i].thetas, rows[i].theta, rows[i].loss, true});
    }
    return rows;
}

constexpr std::int64_t kDecodePrompt = 32;  // tokens that are read before the decoded ones

// Returns tokens/s by the device's clock.
double decode(LoadedModel& model, std::span<const TokenId> tokens, ThetaRow& row, const std::stop_token& stop) {
    KvSequence sequence = model.new_sequence();
    const auto step = [&](std::span<const TokenId> part) {
        const Segment segment{&sequence, part};
        require_done(model.forward().step({&segment, 1}, Forward::Logits::kLast, stop), model.device());
    };
    step(tokens.first(as_size(kDecodePrompt)));
    const std::span<const TokenId> decoded = tokens.subspan(as_size(kDecodePrompt));
    const Recorder& recorder = model.dispatcher().recorder();
    const std::uint64_t read_before = recorder.all_totals().host_read_bytes;
    const double start_us = model.device().now_us();
    for (std::size_t i = 0; i < decoded.size(); ++i) step(decoded.subspan(i, 1));
    const double us = model.device().now_us() - start_us;
    const auto n = static_cast<double>(decoded.size());
    row.read_bytes_per_token = static_cast<double>(recorder.all_totals().host_read_bytes - read_before) / n;
    return n / us * 1e6;
}

}  // namespace

std::span<const TokenId> ThetaScorer::scorable(const LoadedModel& model, std::span<const TokenId> tokens) {
    const std::uint64_t most =
        kLargestReference / (sizeof(float) * static_cast<std::uint64_t>(model.spec().vocab_size));
    return tokens.first(std::min<std::size_t>(tokens.size(), std::max<std::uint64_t>(2, most)));
}

ThetaScorer::ThetaScorer(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& windows)
    : model_(model), tokens_(tokens), windows_(windows), reference_(as_size(model.spec().vocab_size)) {}

ThetaRow ThetaScorer::score(const ExpertThetas& thetas, const std::stop_token& stop) {
    const bool fills = reference_.n_rows() == 0;
    if (fills && thetas.leaves_out()) static_cast<void>(score({}, stop));
    const auto start = std::chrono::steady_clock::now();
    const auto width = as_size(model_.spec().vocab_size);
    ThetaRow row;
    row.theta = static_cast<double>(thetas.mean());
    model_.forward().moe().set_theta(thetas);
    ActiveNeurons neurons(model_);
    std::size_t index = 0;
    std::int64_t n_same = 0;
    score_text(
        model_, tokens_, windows_,
        [&](std::size_t first, std::span<const float> logits) {
            neurons.take();
            if (fills && !thetas.leaves_out()) reference_.take(logits, model_.pool());
            const std::size_t n = logits.size() / width;
            for (const LogitComparison& token :
                 reference_.compare(index, logits, tokens_.subspan(first, n), model_.pool())) {
                row.perplexity.negative_log_likelihood -= token.log_probability;
                row.mean_kl += token.kl;
                n_same += token.same_top ? 1 : 0;
                ++row.perplexity.n_tokens;
            }
            index += n;
        },
        stop);
    neurons.take();
    neurons.fill(row);
    row.perplexity.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto n = static_cast<double>(std::max<std::int64_t>(1, row.perplexity.n_tokens));
    row.mean_kl = std::max(0.0, row.mean_kl / n);  // the rounded stored values may give less than 0
    row.same_top = static_cast<double>(n_same) / n;
    return row;
}

ThetaReport measure_thetas(LoadedModel& model, std::span<const TokenId> tokens, const ThetaSettings& settings,
                           const std::function<void(const std::string& line)>& progress,
                           const EvaluationProgressFn& of_tasks, const std::stop_token& stop) {
    const bool accepts =
        model.request().neuron_guesses == NeuronGuesses::kAccept && !model.device().shares_host_memory();
    const std::vector<Asked> of_rows = rows_of(settings, accepts);
    const std::int64_t decode_tokens = settings.decode_tokens;
    const std::int64_t n_decoded = kDecodePrompt + decode_tokens;
    const std::int64_t context = std::min(model.spec().max_context, model.plan().context);
    if (decode_tokens > 0 && (static_cast<std::int64_t>(tokens.size()) < n_decoded || n_decoded > context)) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::too_many_to_decode(decode_tokens, n_decoded, tokens.size(), context));
    }
    tokens = ThetaScorer::scorable(model, tokens);

    ThetaReport report;
    report.model = model.summary().name;
    report.weight_type = model.summary().weight_type;
    report.device = model.summary().device;
    report.compute = model.summary().compute;
    report.windows = settings.windows;
    report.decode_tokens = decode_tokens;
    MoeLayer& moe = model.forward().moe();
    const auto back = [&] {
        model.use_theta({});
        moe.mover().sparse().set_guesses(model.request().neuron_guesses);
    };
    SparseCopies& sparse = moe.mover().sparse();
    const auto set = [&](const Asked& asked) {
        moe.set_theta(asked.thetas);
        sparse.set_guesses(asked.accepts_guesses ? NeuronGuesses::kAccept : NeuronGuesses::kCorrect);
    };
    WindowSettings scored = settings.windows;
    if (accepts) scored.step = 1;
    // False: a stop, which keeps the present results.
    const auto goes_on = [&](const auto& work) {
        try {
            work();
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kCancelled || report.rows.empty()) throw;
            report.partial = true;
        }
        return !report.partial;
    };
    try {
        ThetaScorer scorer(model, tokens, scored);
        for (const Asked& asked : of_rows) {
            set(asked);
            ThetaRow row;
            if (!goes_on([&] { row = scorer.score(asked.thetas, stop); })) break;
            row.theta = asked.theta;
            row.loss = asked.loss;
            row.accepts_guesses = asked.accepts_guesses;
            if (progress) progress(text_line(row));
            report.rows.push_back(std::move(row));
        }
        const auto n_answering =
            std::count_if(of_rows.begin(), of_rows.end(), [](const Asked& asked) { return !asked.accepts_guesses; });
        std::int64_t n_before = 0;  // tasks of the thetas before
        double seconds = 0;
        for (std::size_t i = 0; !settings.tasks.empty() && !report.partial && i < of_rows.size(); ++i) {
            if (of_rows[i].accepts_guesses) continue;
            set(of_rows[i]);
            ThetaRow& row = report.rows[i];
            const auto show = [&](EvaluationProgress so_far) {
                so_far.score = "theta " + theta_name(row) + ", " + so_far.score;
                so_far.n_done += n_before;
                so_far.n_all *= n_answering;
                so_far.seconds += seconds;
                of_tasks(so_far);
            };
            ChoiceReport choices = evaluate_choices(model, settings.format, settings.tasks, settings.choices,
                                                    of_tasks ? show : EvaluationProgressFn(), stop);
            report.partial = choices.partial;
            if (choices.n_done() == 0) break;
            n_before += choices.n_done();
            seconds += choices.seconds;
            row.choices = std::move(choices);
            if (progress) progress(task_line(row));
        }
        std::vector<std::vector<double>> rates(report.rows.size());
        for (int repeat = 0; decode_tokens > 0 && repeat < kThetaDecodes; ++repeat) {
            for (std::size_t i = 0; !report.partial && i < report.rows.size(); ++i) {
                set(of_rows[i]);
                static_cast<void>(goes_on([&] {
                    rates[i].push_back(decode(model, tokens.first(as_size(n_decoded)), report.rows[i], stop));
                }));
            }
        }
        for (std::size_t i = 0; i < report.rows.size(); ++i) {
            if (!rates[i].empty()) report.rows[i].tokens_per_s = median(rates[i]);
        }
    } catch (...) {
        back();
        throw;
    }
    back();
    return report;
}

}  // namespace offstage::engine
