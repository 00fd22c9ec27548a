#include "engine/serve/server_metrics.h"

#include <array>
#include <cstdio>

namespace offstage::engine {
namespace {

std::string number_text(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.6g", value);
    return text.data();
}

void add_metric(std::string& text, const std::string& name, const char* type, const char* help,
                const std::string& value) {
    text += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n" + name + " " + value + "\n";
}

}  // namespace

void ServerMetrics::count_reply(const std::string& path, int status) {
    const std::lock_guard lock(mutex_);
    ++replies_[{path, status}];
}

void ServerMetrics::count_answer(const AnswerTotals& totals, double seconds) {
    const std::lock_guard lock(mutex_);
    ++n_answers_;
    seconds_ += seconds;
    tokens_.prompt_tokens += totals.prompt_tokens;
    tokens_.reused_tokens += totals.reused_tokens;
    tokens_.answer_tokens += totals.answer_tokens;
    tokens_.drafted_tokens += totals.drafted_tokens;
    tokens_.accepted_tokens += totals.accepted_tokens;
    n_cancelled_ += totals.stopped ? 1 : 0;
}

std::uint64_t ServerMetrics::n_answers() const {
    const std::lock_guard lock(mutex_);
    return n_answers_;
}

std::uint64_t ServerMetrics::n_stopped() const {
    const std::lock_guard lock(mutex_);
    return n_cancelled_;
}

double ServerMetrics::mean_answer_s() const {
    const std::lock_guard lock(mutex_);
    return n_answers_ > 0 ? seconds_ / static_cast<double>(n_answers_) : 0;
}

std::string ServerMetrics::text(const AnswerQueue& queue) const {
    const std::lock_guard lock(mutex_);
    std::string text =
        "# HELP offstage_http_replies_total Replies, by path and status; 499: the client left before its answer was "
        "whole.\n"
        "# TYPE offstage_http_replies_total counter\n";
    for (const auto& [key, count] : replies_) {
        text += "offstage_http_replies_total{path=\"" + key.first + "\",status=\"" + std::to_string(key.second) +
                "\"} " + std::to_string(count) + "\n";
    }
    add_metric(text, "offstage_answers_total", "counter", "Requests that the engine worked at.",
               std::to_string(n_answers_));
    add_metric(text, "offstage_answers_cancelled_total", "counter", "Of these, stopped because the client left.",
               std::to_string(n_cancelled_));
    add_metric(text, "offstage_answer_seconds_total", "counter", "Time that the engine worked at them.",
               number_text(seconds_));
    add_metric(text, "offstage_prompt_tokens_total", "counter", "Tokens of prompts.",
               std::to_string(tokens_.prompt_tokens));
    add_metric(text, "offstage_prompt_tokens_reused_total", "counter", "Of these, found in the KV cache.",
               std::to_string(tokens_.reused_tokens));
    add_metric(text, "offstage_answer_tokens_total", "counter", "Tokens generated.",
               std::to_string(tokens_.answer_tokens));
    add_metric(text, "offstage_drafted_tokens_total", "counter", "Tokens drafted.",
               std::to_string(tokens_.drafted_tokens));
    add_metric(text, "offstage_accepted_tokens_total", "counter", "Of these, accepted.",
               std::to_string(tokens_.accepted_tokens));
    add_metric(text, "offstage_queue_waiting", "gauge", "Requests that wait.", std::to_string(queue.n_waiting()));
    add_metric(text, "offstage_queue_places", "gauge", "Requests that may wait.", std::to_string(queue.most_waiting()));
    add_metric(text, "offstage_answering", "gauge", "Requests that are being answered.",
               std::to_string(queue.n_running()));
    add_metric(text, "offstage_answering_places", "gauge", "Requests that are answered at a time.",
               std::to_string(queue.most_together()));
    return text;
}

}  // namespace offstage::engine
