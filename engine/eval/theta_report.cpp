#include "engine/eval/theta_report.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/svg_plot.h"
#include "engine/files/text_file.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

std::string percent(double share) {
    return share < 0 ? "not known" : print("%.1f %%", 100 * share);
}

std::string percent_and_error(double value, double standard_error, const char* number) {
    return print(number, 100 * value) + print(" +/- %.2f", 100 * standard_error);
}

// Those of theta 0, if the tasks were scored.
const ChoiceReport* choices_of(const ThetaReport& report) {
    return report.rows.empty() || !report.rows.front().choices ? nullptr : &*report.rows.front().choices;
}

double largest(const ThetaReport& report, double (*value)(const ThetaRow&)) {
    double most = 0;
    for (const ThetaRow& row : report.rows) most = std::max(most, value(row));
    return most;
}

}  // namespace

std::string theta_name(const ThetaRow& row) {
    return (row.loss > 0 ? print("auto:%g", row.loss) : print("%g", row.theta)) + (row.accepts_guesses ? "+guess" : "");
}

std::string text_line(const ThetaRow& row) {
    return "theta " + theta_name(row) + print(": perplexity %.4f, active ", row.perplexity.value()) +
           percent(row.active_share);
}

std::string task_line(const ThetaRow& row) {
    std::string line = "theta " + theta_name(row) + ":";
    for (std::size_t i = 0; row.choices && i < row.choices->scores.size(); ++i) {
        line += (i > 0 ? ", " : " ") + row.choices->scores[i].name + " " +
                percent_and_error(row.choices->value(i), row.choices->standard_error(i), "%.2f") + " %";
    }
    return line;
}

double share_of_one_theta(const ThetaReport& report, double mean_kl) {
    const ThetaRow* before = nullptr;
    for (const ThetaRow& row : report.rows) {
        if (!row.of_one_theta() || row.active_share < 0) continue;
        if (before != nullptr && before->mean_kl <= mean_kl && row.mean_kl >= mean_kl &&
            row.mean_kl > before->mean_kl) {
            // The distance grows by powers of the left-out share; from theta 0 on in
            // proportion to it.
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

namespace {

nlohmann::ordered_json json_of(const ChoiceReport& choices, const ChoiceReport& of_theta_0) {
    nlohmann::ordered_json scores = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < choices.scores.size(); ++i) {
        const ChoiceChange change = change_between(of_theta_0, choices, i);
        scores.push_back({{"name", choices.scores[i].name},
                          {"value", choices.value(i)},
                          {"standard_error", choices.standard_error(i)},
                          {"from_theta_0", change.value},
                          {"from_theta_0_standard_error", change.standard_error}});
    }
    return {{"n_done", choices.n_done()}, {"scores", std::move(scores)}};
}

std::string text_of_choices(const ThetaReport& report, const ChoiceReport& first) {
    const ChoiceFormatRow& format = choice_format_row(first.format);
    Table table({{"theta", 14}});
    for (const ChoiceScore& score : first.scores) {
        table.add_column({score.name, 18});
        table.add_column({"from theta 0", 18});
    }
    table.add_column({});
    for (const ThetaRow& row : report.rows) {
        if (!row.choices) continue;
        std::vector<Cell>& cells = table.add({theta_name(row)});
        for (std::size_t i = 0; i < row.choices->scores.size(); ++i) {
            const ChoiceChange change = change_between(first, *row.choices, i);
            cells.emplace_back(percent_and_error(row.choices->value(i), row.choices->standard_error(i), "%.2f"));
            cells.emplace_back(row.theta == 0 ? std::string()
                                              : percent_and_error(change.value, change.standard_error, "%+.2f"));
        }
        if (row.choices->n_done() < row.choices->n_tasks) {
            cells.emplace_back("  of " + std::to_string(row.choices->n_done()) + " tasks");
        }
    }
    return std::string("\nright answers in %, ") + format.name + ", " + std::to_string(first.n_tasks) +
           print(" tasks; by chance %.2f\n", 100 * first.chance) + table.text() +
           "+/-: a standard error; of a difference that of the same tasks. Rule: " + format.rule_text + ".\n";
}

}  // namespace

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
        ADD_FIELDS(json, row, mean_kl, same_top);
        if (row.choices) json.update(json_of(*row.choices, *choices_of(report)));
        if (row.tokens_per_s > 0) ADD_FIELDS(json, row, tokens_per_s, read_bytes_per_token);
        rows.push_back(std::move(json));
    }
    nlohmann::ordered_json json;
    ADD_FIELDS(json, report, model, text, weight_type, device, compute);
    json["n_tokens"] = report.rows.empty() ? 0 : report.rows.front().perplexity.n_tokens;
    ADD_FIELDS(json, report.windows, window, stride);
    ADD_FIELDS(json, report, decode_tokens, partial);
    if (const ChoiceReport* const first = choices_of(report)) {
        json["task"] = choice_format_row(first->format).name;
        json["rule"] = choice_format_row(first->format).rule_text;
        json["n_tasks"] = first->n_tasks;
        json["chance"] = first->chance;
    }
    json["rows"] = std::move(rows);
    return json;
}

std::string to_text(const ThetaReport& report) {
    Table table(
        {{"theta", 14}, {"active", 12}, {"perplexity", 12, 4}, {"mean KL", 10, 5}, {"same top", 11, 2, 100, " %"}});
    Table by_layer({{"theta", 14}});
    if (report.decode_tokens > 0) {
        table.add_column({"tokens/s", 10, 1});
        table.add_column({"MB read per token", 19, 2, 1e-6});
    }
    if (!report.rows.empty()) {
        for (std::size_t layer = 0; layer < report.rows.front().layer_shares.size(); ++layer) {
            by_layer.add_column({std::to_string(layer), 7, 1, 100});
        }
    }
    std::string text_of_distances;
    for (const ThetaRow& row : report.rows) {
        std::vector<Cell>& cells =
            table.add({theta_name(row), percent(row.active_share), row.perplexity.value(), row.mean_kl, row.same_top});
        if (row.tokens_per_s > 0) cells.insert(cells.end(), {row.tokens_per_s, row.read_bytes_per_token});
        std::vector<Cell>& shares = by_layer.add({theta_name(row)});
        for (const double share : row.layer_shares) shares.push_back(if_known(share));
        const double one = row.loss > 0 && !row.accepts_guesses ? share_of_one_theta(report, row.mean_kl) : -1;
        if (one < 0) continue;
        text_of_distances +=
            theta_name(row) + ": at this distance one theta for all experts leaves " + percent(one) + " active\n";
    }
    std::string text = table.text() + text_of_distances;
    if (const ChoiceReport* const first = choices_of(report)) text += text_of_choices(report, *first);
    return text + "\nactive neurons in %, by layer\n" + by_layer.text();
}

std::string to_csv(const ThetaReport& report) {
    Table table({{"theta"},
                 {"active_share", 0, 6},
                 {"perplexity", 0, 6},
                 {"mean_kl", 0, 8},
                 {"same_top", 0, 6},
                 {"tokens_per_s", 0, 3},
                 {"read_bytes_per_token"}});
    const ChoiceReport* const first = choices_of(report);
    const std::size_t n_scores = first == nullptr ? 0 : first->scores.size();
    if (first != nullptr) table.add_column({"n_tasks"});
    for (std::size_t i = 0; i < n_scores; ++i) {
        table.add_column({first->scores[i].name, 0, 6});
        table.add_column({first->scores[i].name + "_standard_error", 0, 6});
    }
    const std::size_t n_layers = report.rows.empty() ? 0 : report.rows.front().layer_shares.size();
    for (std::size_t layer = 0; layer < n_layers; ++layer) table.add_column({"layer_" + std::to_string(layer), 0, 6});
    for (const ThetaRow& row : report.rows) {
        const bool decoded = row.tokens_per_s > 0;
        std::vector<Cell>& cells =
            table.add({theta_name(row), if_known(row.active_share), row.perplexity.value(), row.mean_kl, row.same_top,
                       decoded ? Cell(row.tokens_per_s) : Cell(), decoded ? Cell(row.read_bytes_per_token) : Cell()});
        if (first != nullptr) cells.push_back(row.choices ? Cell(row.choices->n_done()) : Cell());
        for (std::size_t i = 0; i < n_scores; ++i) {
            cells.push_back(row.choices ? Cell(row.choices->value(i)) : Cell());
            cells.push_back(row.choices ? Cell(row.choices->standard_error(i)) : Cell());
        }
        for (const double of_layer : row.layer_shares) cells.push_back(if_known(of_layer));
    }
    return table.csv();
}

namespace {

// Thetas with unfinished tasks are left out: their shares are of other tasks.
void draw_scores(const ThetaReport& report, const ChoiceReport& first, Plot& plot) {
    constexpr double kNarrowest = 10;  // points of the axis, so that a task's worth is not drawn as a fall
    constexpr double kApart = 10;      // pixels between the bars of two scores
    constexpr const char* kColours[] = {"#1f5fa8", "#c2571a"};
    double low = 100, high = 0;
    for (std::size_t i = 0; i < first.scores.size(); ++i) {
        PlotSeries series{first.scores[i].name + " +/- standard error", {}, {}, kColours[i % std::size(kColours)]};
        series.markers = true;
        series.shift = kApart * (static_cast<double>(i) - static_cast<double>(first.scores.size() - 1) / 2);
        for (const ThetaRow& row : report.rows) {
            if (!row.of_one_theta() || !row.choices || row.choices->partial) continue;
            series.x.push_back(row.theta);
            series.y.push_back(100 * row.choices->value(i));
            series.bars.push_back(100 * row.choices->standard_error(i));
            low = std::min(low, series.y.back() - series.bars.back());
            high = std::max(high, series.y.back() + series.bars.back());
        }
        plot.series.push_back(std::move(series));
    }
    const double middle = (low + high) / 2, half = std::max(kNarrowest, (high - low) * 1.2) / 2;
    plot.y_is_share = false;
    plot.y_first = std::max(0.0, middle - half);
    plot.y_last = std::min(100.0, middle + half);
}

}  // namespace

std::string to_svg(const ThetaReport& report) {
    const auto over_theta = [&](const char* title, const char* y_label) {
        Plot plot;
        plot.title = title;
        plot.x_label = "theta";
        plot.y_label = y_label;
        double last = 1e-6;
        for (const ThetaRow& row : report.rows) last = std::max(last, row.of_one_theta() ? row.theta : 0);
        // The first and the last point and their error bars keep a distance to the axes'
        // ends.
        constexpr double kMargin = 0.03;
        plot.x_first = -kMargin * last;
        plot.x_last = (1 + kMargin) * last;
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
    if (const ChoiceReport* const first = choices_of(report)) {
        const ChoiceFormatRow& format = choice_format_row(first->format);
        plots.push_back(over_theta("", "right answers, %"));
        Plot& plot = plots.back();
        plot.title = print("Accuracy: %s, %lld tasks, by chance %.0f %%", format.name,
                           static_cast<long long>(first->n_tasks), 100 * first->chance);
        draw_scores(report, *first, plot);
    }
    if (std::any_of(report.rows.begin(), report.rows.end(), [](const ThetaRow& row) { return row.tokens_per_s > 0; })) {
        numbers(
            over_theta("Decoding", "tokens/s"),
            [](const ThetaRow& row) { return row.tokens_per_s > 0 ? row.tokens_per_s : std::nan(""); }, "#2b7a3a", 0);
    }
    return to_svg(plots,
                  report.model + ", " + report.weight_type + ", " + report.device + ": neurons skipped below theta");
}

}  // namespace offstage::engine
