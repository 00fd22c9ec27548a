#include <algorithm>
#include <cmath>

#include "engine/eval/choice_evaluation.h"
#include "engine/print.h"

namespace offstage::engine {
namespace {

struct ShareInterval {
    double low = 0, high = 0;
};

// Wilson's, of 95 %, which llama.cpp prints for HellaSwag.
ShareInterval wilson_interval(double share, std::int64_t n) {
    if (n == 0) return {0, 1};
    constexpr double kDeviations = 1.95996398454;
    const double z = kDeviations * kDeviations / static_cast<double>(n);
    const double half = std::sqrt(z * (share * (1 - share) + z / 4));
    return {(share + z / 2 - half) / (1 + z), (share + z / 2 + half) / (1 + z)};
}

}  // namespace

nlohmann::ordered_json to_json(const ChoiceReport& report, std::span<const ChoiceTask> tasks, bool with_results) {
    const ChoiceFormatRow& row = choice_format_row(report.format);
    nlohmann::ordered_json json = {{"task", row.name},          {"rule", row.rule_text},
                                   {"n_tasks", report.n_tasks}, {"n_done", report.n_done()},
                                   {"partial", report.partial}, {"scores", nlohmann::ordered_json::array()},
                                   {"chance", report.chance}};
    for (std::size_t i = 0; i < report.scores.size(); ++i) {
        const ShareInterval interval = wilson_interval(report.value(i), report.n_done());
        json["scores"].push_back({{"name", report.scores[i].name},
                                  {"value", report.value(i)},
                                  {"standard_error", report.standard_error(i)},
                                  {"interval_95", {interval.low, interval.high}},
                                  {"n_right", report.scores[i].n_right}});
    }
    if (!report.groups.empty()) {
        json["groups"] = nlohmann::ordered_json::array();
        for (const ChoiceReport::Group& group : report.groups) {
            json["groups"].push_back({{"name", group.name}, {"n_done", group.n_done}, {"n_right", group.n_right}});
        }
    }
    json["tokens_read"] = report.n_read;
    json["tokens_alone"] = report.n_alone;
    json["choices_cut"] = report.n_cut;
    json["seconds"] = report.seconds;
    if (!with_results) return json;
    json["results"] = nlohmann::ordered_json::array();
    for (const ChoiceResult& result : report.results) {
        const ChoiceTask& task = tasks[result.task];
        nlohmann::ordered_json one = {{"where", task.where},
                                      {"right", nlohmann::ordered_json::array()},
                                      {"chosen", result.chosen},
                                      {"log_likelihood", result.log_likelihood},
                                      {"n_tokens", result.n_tokens}};
        for (std::size_t i = 0; i < task.is_right.size(); ++i) {
            if (task.is_right[i] != 0) one["right"].push_back(i);
        }
        json["results"].push_back(std::move(one));
    }
    return json;
}

std::string to_text(const ChoiceReport& report) {
    const ChoiceFormatRow& row = choice_format_row(report.format);
    std::string text = std::string(row.name) + ": " + std::to_string(report.n_done()) + " of " +
                       std::to_string(report.n_tasks) + " tasks" + (report.partial ? ", stopped: partial" : "") + "\n";
    for (std::size_t i = 0; i < report.scores.size(); ++i) {
        const ShareInterval interval = wilson_interval(report.value(i), report.n_done());
        text += print("  %-9s %6.2f %% +/- %.2f  (95 %%: %.2f to %.2f; by chance %.2f)\n",
                      report.scores[i].name.c_str(), 100 * report.value(i), 100 * report.standard_error(i),
                      100 * interval.low, 100 * interval.high, 100 * report.chance);
    }
    for (const ChoiceReport::Group& group : report.groups) {
        const auto n = static_cast<double>(std::max<std::int64_t>(1, group.n_done));
        text += print("  %6.2f %% of %lld  ", 100 * static_cast<double>(group.n_right) / n,
                      static_cast<long long>(group.n_done)) +
                group.name + "\n";
    }
    text += std::string("Rule: ") + row.rule_text + ".\n";
    text += std::to_string(report.n_read) + " tokens read, " + std::to_string(report.n_alone) +
            " if each choice were read alone";
    if (report.n_cut > 0) text += "; " + std::to_string(report.n_cut) + " choices cut to the context";
    return text + ".\n";
}

}  // namespace offstage::engine
