#include "engine/eval/theta_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/svg_plot.h"
#include "engine/eval/theta_scorer.h"
#include "engine/files/text_file.h"
#include "engine/print.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

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

std::string percent(double share) {
    return share < 0 ? "not known" : print("%.1f %%", 100 * share);
}

std::string name_of(const ThetaRow& row) {
    return (row.loss > 0 ? print("auto:%g", row.loss) : print("%g", row.theta)) + (row.accepts_guesses ? "+guess" : "");
}

double largest(const ThetaReport& report, double (*value)(const ThetaRow&)) {
    double most = 0;
    for (const ThetaRow& row : report.rows) most = std::max(most, value(row));
    return most;
}

}  // namespace

ThetaReport measure_thetas(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& windows,
                           std::vector<double> thetas, std::int64_t decode_tokens,
                           const std::function<void(const std::string& line)>& progress, const std::stop_token& stop,
                           std::span<const ChosenThresholds> chosen) {
    for (const double theta : thetas) check_theta(theta);
    thetas.push_back(0);
    std::sort(thetas.begin(), thetas.end());
    thetas.erase(std::unique(thetas.begin(), thetas.end()), thetas.end());
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
    report.windows = windows;
    report.decode_tokens = decode_tokens;
    MoeLayer& moe = model.forward().moe();
    const auto back = [&] {
        model.use_theta({});
        moe.mover().sparse().set_guesses(model.request().neuron_guesses);
    };
    const bool accepts =
        model.request().neuron_guesses == NeuronGuesses::kAccept && !model.device().shares_host_memory();
    struct Asked {
        ExpertThetas thetas;
        double theta = 0, loss = 0;
        bool accepts_guesses = false;
    };
    std::vector<Asked> of_rows;
    for (const double theta : thetas) of_rows.push_back({theta, theta, 0, false});
    for (const ChosenThresholds& each : chosen) {
        of_rows.push_back({each.of_experts(), static_cast<double>(each.of_experts().mean()), each.loss, false});
    }
    for (std::size_t i = 0, n = of_rows.size(); accepts && i < n; ++i) {
        if (of_rows[i].theta > 0) of_rows.push_back({of_rows[i].thetas, of_rows[i].theta, of_rows[i].loss, true});
    }
    SparseCopies& sparse = moe.mover().sparse();
    const auto set = [&](const Asked& asked) {
        moe.set_theta(asked.thetas);
        sparse.set_guesses(asked.accepts_guesses ? NeuronGuesses::kAccept : NeuronGuesses::kCorrect);
    };
    WindowSettings scored = windows;
    if (accepts) scored.step = 1;
    try {
        ThetaScorer scorer(model, tokens, scored);
        for (const Asked& asked : of_rows) {
            set(asked);
            ThetaRow row = scorer.score(asked.thetas, stop);
            row.theta = asked.theta;
            row.loss = asked.loss;
            row.accepts_guesses = asked.accepts_guesses;
            if (progress) {
                progress("theta " + name_of(row) + print(": perplexity %.4f, active ", row.perplexity.value()) +
                         percent(row.active_share));
            }
            report.rows.push_back(std::move(row));
        }
        std::vector<std::vector<double>> rates(report.rows.size());
        for (int repeat = 0; decode_tokens > 0 && repeat < kThetaDecodes; ++repeat) {
            for (std::size_t i = 0; i < report.rows.size(); ++i) {
                set(of_rows[i]);
                rates[i].push_back(decode(model, tokens.first(as_size(n_decoded)), report.rows[i], stop));
            }
        }
        for (std::size_t i = 0; decode_tokens > 0 && i < report.rows.size(); ++i) {
            report.rows[i].tokens_per_s = median(rates[i]);
        }
    } catch (...) {
        back();
        throw;
    }
    back();
    return report;
}

double share_of_one_theta(const ThetaReport& report, double mean_kl) {
    const ThetaRow* before = nullptr;
    for (const ThetaRow& row : report.rows) {
        if (!row.of_one_theta() || row.active_share < 0) continue;
        if (before != nullptr && before->mean_kl <= mean_kl && row.mean_kl >= mean_kl &&
            row.mean_kl > before->mean_kl) {
            // The distance grows by powers of what is left out; from theta 0 on by its amount.
            const bool powers = before->mean_kl > 0 && mean_kl > 0 && before->theta > 0;
            const double part = powers ? std::log(mean_kl / before->mean_kl) / std::log(row.mean_kl / before->mean_kl)
                                       : (mean_kl - before->mean_kl) / (row.mean_kl - before->mean_kl);
            return before->active_share + part * (row.active_share - before->active_share);
        }
        before = &row;
    }
    return -1;
}

NeuronThresholds thresholds_of(const ThetaReport& report) {
    NeuronThresholds kept;
    kept.model = report.model;
    kept.text = report.text;
    kept.weight_type = report.weight_type;
    for (const ThetaRow& row : report.rows) {
        if (row.theta == 0 && row.of_one_theta()) {
            kept.n_tokens = row.perplexity.n_tokens;
            kept.perplexity = row.perplexity.value();
        } else if (row.active_share >= 0 && row.of_one_theta()) {
            kept.rows.push_back({row.theta, row.active_share, row.perplexity.value(), row.mean_kl, row.same_top});
        }
    }
    return kept;
}

double read_active_share(const std::string& text, double theta) {
    double share = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    if (error == std::errc() && end == text.data() + text.size()) {
        if (share > 0 && share <= 1) return share;
        throw Error(ErrorKind::kInvalidInput, messages::active_share_out_of_range(text));
    }
    const auto report = read_json_object(text);
    if (!report.has_value()) throw Error(ErrorKind::kInvalidInput, messages::no_active_share(text));
    double below = -1, share_below = 0;
    try {
        for (const nlohmann::json& row : report->at("rows")) {
            if (!row.contains("active_share")) continue;
            const double at = row.at("theta").get<double>();
            share = row.at("active_share").get<double>();
            if (!(share > 0 && share <= 1)) continue;
            if (at == theta) return share;
            if (at > theta && below >= 0) return share_below + (share - share_below) * (theta - below) / (at - below);
            if (at > theta) break;
            below = at;
            share_below = share;
        }
    } catch (const nlohmann::json::exception&) {
        throw Error(ErrorKind::kInvalidInput, messages::no_active_share(text));
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_active_share_at(text, theta));
}

nlohmann::ordered_json to_json(const ThetaReport& report) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const ThetaRow& row : report.rows) {
        nlohmann::ordered_json json = {{"theta", row.theta}};
        if (row.accepts_guesses) json["neuron_guesses"] = "accept";
        if (row.loss > 0) {
            json["thresholds_for_loss"] = row.loss;
            const double one = share_of_one_theta(report, row.mean_kl);
            if (one >= 0) json["active_share_of_one_theta"] = rounded(one);
        }
        if (row.active_share >= 0) {
            json["active_share"] = rounded(row.active_share);
            json["layers"] = nlohmann::ordered_json::array();
            for (const double share : row.layer_shares) json["layers"].push_back(rounded(share));
        }
        json["perplexity"] = row.perplexity.value();
        json["mean_kl"] = row.mean_kl;
        json["same_top"] = row.same_top;
        if (report.decode_tokens > 0) {
            json["tokens_per_s"] = row.tokens_per_s;
            json["read_bytes_per_token"] = row.read_bytes_per_token;
        }
        rows.push_back(std::move(json));
    }
    return {{"model", report.model},
            {"text", report.text},
            {"weight_type", report.weight_type},
            {"device", report.device},
            {"compute", report.compute},
            {"n_tokens", report.rows.empty() ? 0 : report.rows.front().perplexity.n_tokens},
            {"window", report.windows.window},
            {"stride", report.windows.stride},
            {"decode_tokens", report.decode_tokens},
            {"rows", std::move(rows)}};
}

std::string to_text(const ThetaReport& report) {
    const bool decoded = report.decode_tokens > 0;
    std::string text = "         theta      active  perplexity   mean KL  same top";
    if (decoded) text += "  tokens/s  MB read per token";
    text += "\n";
    for (const ThetaRow& row : report.rows) {
        text += print("%14s  %10s  %10.4f  %8.5f  %7.2f %%", name_of(row).c_str(), percent(row.active_share).c_str(),
                      row.perplexity.value(), row.mean_kl, 100 * row.same_top);
        if (decoded) text += print("  %7.1f  %17.2f", row.tokens_per_s, row.read_bytes_per_token / 1e6);
        text += "\n";
    }
    for (const ThetaRow& row : report.rows) {
        const double one = row.loss > 0 && !row.accepts_guesses ? share_of_one_theta(report, row.mean_kl) : -1;
        if (one < 0) continue;
        text += print("%s: at this distance one theta for all experts leaves %s active\n", name_of(row).c_str(),
                      percent(one).c_str());
    }
    text += "\nactive neurons in %, by layer\n         theta";
    if (report.rows.empty()) return text + "\n";
    for (std::size_t layer = 0; layer < report.rows.front().layer_shares.size(); ++layer) text += print("%7zu", layer);
    text += "\n";
    for (const ThetaRow& row : report.rows) {
        text += print("%14s", name_of(row).c_str());
        for (const double share : row.layer_shares) {
            text += share < 0 ? std::string("      -") : print("%7.1f", 100 * share);
        }
        text += "\n";
    }
    return text;
}

std::string to_csv(const ThetaReport& report) {
    std::string text = "theta,active_share,perplexity,mean_kl,same_top,tokens_per_s,read_bytes_per_token";
    const std::size_t n_layers = report.rows.empty() ? 0 : report.rows.front().layer_shares.size();
    for (std::size_t layer = 0; layer < n_layers; ++layer) text += ",layer_" + std::to_string(layer);
    text += "\n";
    const auto share = [](double value) { return value < 0 ? std::string() : print("%.6f", value); };
    for (const ThetaRow& row : report.rows) {
        text += name_of(row) + "," + share(row.active_share) +
                print(",%.6f,%.8f,%.6f", row.perplexity.value(), row.mean_kl, row.same_top);
        text += report.decode_tokens > 0 ? print(",%.3f,%.0f", row.tokens_per_s, row.read_bytes_per_token) : ",,";
        for (const double of_layer : row.layer_shares) {
            text += ",";
            text += share(of_layer);
        }
        text += "\n";
    }
    return text;
}

std::string to_svg(const ThetaReport& report) {
    const auto over_theta = [&](const char* title, const char* y_label) {
        Plot plot;
        plot.title = title;
        plot.x_label = "theta";
        plot.y_label = y_label;
        double last = 1e-6;
        for (const ThetaRow& row : report.rows) last = std::max(last, row.of_one_theta() ? row.theta : 0);
        plot.x_last = last;
        return plot;
    };
    const auto line = [&](const std::string& name, const char* colour, auto value) {
        PlotSeries series{name, {}, {}, colour};
        series.markers = true;
        for (const ThetaRow& row : report.rows) {
            if (!row.of_one_theta()) continue;
            series.x.push_back(row.theta);
            series.y.push_back(value(row));
        }
        return series;
    };
    std::vector<Plot> plots = {over_theta("Active neurons", "share")};
    const std::size_t n_layers = report.rows.empty() ? 0 : report.rows.front().layer_shares.size();
    for (std::size_t layer = 0; layer < n_layers; ++layer) {
        PlotSeries series =
            line(layer == 0 ? "a layer" : "", "#a9c4e2", [&](const ThetaRow& row) { return row.layer_shares[layer]; });
        series.markers = false;
        series.width = 1;
        plots.back().series.push_back(std::move(series));
    }
    plots.back().series.push_back(line("all layers", "#1f5fa8", [](const ThetaRow& row) { return row.active_share; }));
    const auto numbers = [&](Plot plot, double (*value)(const ThetaRow&), const char* colour, double first) {
        plot.y_is_share = false;
        plot.y_first = first;
        plot.y_last = std::max(first + 1e-3, first + (largest(report, value) - first) * 1.1);
        plot.series = {line("", colour, value)};
        plots.push_back(std::move(plot));
    };
    numbers(
        over_theta("Distance to theta 0", "mean KL divergence"), [](const ThetaRow& row) { return row.mean_kl; },
        "#7a3f9d", 0);
    const double ppl = report.rows.empty() ? 0 : report.rows.front().perplexity.value();
    numbers(
        over_theta("Quality", "perplexity"), [](const ThetaRow& row) { return row.perplexity.value(); }, "#a8321f",
        ppl * 0.95);
    if (report.decode_tokens > 0) {
        numbers(
            over_theta("Decoding", "tokens/s"), [](const ThetaRow& row) { return row.tokens_per_s; }, "#2b7a3a", 0);
    }
    return to_svg(plots,
                  report.model + ", " + report.weight_type + ", " + report.device + ": neurons left out below theta");
}

}  // namespace offstage::engine
