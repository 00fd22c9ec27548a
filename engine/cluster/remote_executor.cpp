#include "engine/cluster/remote_executor.h"

#include <algorithm>
#include <utility>

#include "engine/cluster/node_messages.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

double elapsed_us(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

}  // namespace

bool RemoteExecutor::takes(std::int64_t layer, std::int64_t expert) const {
    const std::size_t index = experts_.index(layer, expert);
    return node_->holds(index, experts_.format(index));
}

// Uses as many messages as needed. An expert's rows stay together, because the order of
// its sums depends on their number.
void RemoteExecutor::submit(LayerWork& work, std::span<const std::size_t> groups) {
    if (each_layer_) each_layer_();
    requests_.clear();
    if (groups.empty()) return;
    const std::size_t row_bytes = static_cast<std::size_t>(grid_.hidden_dim) * bytes_of(node_->activations());
    const std::size_t most_rows = std::min(kMostActivationBytes / row_bytes, kMostRowsOfMessage);
    std::vector<std::size_t> order(groups.begin(), groups.end());
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const RowGroup& first = work.rows.groups()[a];
        const RowGroup& second = work.rows.groups()[b];
        return std::pair(work.theta_of(first), first.expert) < std::pair(work.theta_of(second), second.expert);
    });
    std::vector<std::size_t> together;
    std::size_t n_rows = 0;
    for (const std::size_t g : order) {
        const auto rows = static_cast<std::size_t>(work.rows.groups()[g].n_rows);
        if (rows > most_rows) {
            work.leave_to_cpu(g);
            continue;
        }
        // A message has one theta.
        const bool apart = !together.empty() &&
                           work.theta_of(work.rows.groups()[together.back()]) != work.theta_of(work.rows.groups()[g]);
        if (n_rows + rows > most_rows || apart) {
            send(work, std::exchange(together, {}));
            n_rows = 0;
        }
        together.push_back(g);
        n_rows += rows;
    }
    if (!together.empty()) send(work, std::move(together));
}

void RemoteExecutor::send(LayerWork& work, std::vector<std::size_t> groups) {
    NodeCompute message;
    message.layer = static_cast<std::int32_t>(work.layer);
    message.order = host_.sum_order();
    message.theta = work.theta_of(work.rows.groups()[groups.front()]);
    message.activations = node_->activations();
    const float* const inputs = work.inputs.get();
    const std::int32_t* const row_token = work.rows.host_row_token();
    const auto width = static_cast<std::size_t>(grid_.hidden_dim);
    Request request;
    std::vector<std::uint32_t> sent;
    for (const std::size_t g : groups) {
        const RowGroup& group = work.rows.groups()[g];
        const kernels::WeightType format = experts_.format(work.layer, group.expert);
        message.experts.push_back({group.expert, static_cast<std::uint32_t>(group.n_rows), format});
        request.predicted_us += cost_.expert_us(format, group.n_rows);
        for (std::int64_t r = group.first_row; r < group.first_row + group.n_rows; ++r) {
            const auto token = static_cast<std::size_t>(row_token[r]);
            if (token >= token_row_.size()) token_row_.resize(token + 1, kNoRow);
            if (token_row_[token] == kNoRow) {
                token_row_[token] = message.n_tokens++;
                sent.push_back(static_cast<std::uint32_t>(token));
                append_activations(message.activations, {inputs + token * width, width}, message.inputs);
            }
            message.row_token.push_back(token_row_[token]);
        }
    }
    for (const std::uint32_t token : sent) token_row_[token] = kNoRow;
    request.groups = std::move(groups);
    request.n_rows = message.row_token.size();
    totals_.requests += 1;
    totals_.bytes += message.inputs.size();
    request.begin = Clock::now();
    request.number = node_->send(std::move(message));
    requests_.push_back(std::move(request));
}

Message RemoteExecutor::take(LayerWork& work, const Request& request, const NodeReply& reply) {
    if (!reply.refusal.empty()) return messages::node_could_not_compute(printable(reply.refusal, kMostSentenceBytes));
    if (const Message wrong = check(reply, request.n_rows, node_->activations(), grid_); !wrong.empty()) {
        return messages::node_sent_nonsense(wrong);
    }
    const auto width = static_cast<std::size_t>(grid_.hidden_dim);
    std::size_t row = 0;
    for (const std::size_t g : request.groups) {
        const RowGroup& group = work.rows.groups()[g];
        const auto n_rows = static_cast<std::size_t>(group.n_rows);
        float* const to = work.rows.outputs().host() + static_cast<std::size_t>(group.first_row) * width;
        read_activations(reply.activations, reply.outputs, row * width, {to, n_rows * width});
        row += n_rows;
        done_.push_back(g);
    }
    totals_.rows += request.n_rows;
    totals_.bytes += reply.outputs.size();
    totals_.compute_us += reply.compute_us;
    return {};
}

void RemoteExecutor::complete(LayerWork& work, std::span<const std::size_t> groups) {
    if (!groups.empty()) take_replies(work);
    if (after_step_ && work.layer == grid_.n_layers - 1) after_step_();
}

void RemoteExecutor::take_replies(LayerWork& work) {
    const auto begin = Clock::now();
    const NodePatience& patience = node_->patience();
    done_.clear();
    double predicted_us = 0;
    bool failed = false;
    for (const Request& request : requests_) {
        // A request behind others waits for them as well.
        predicted_us += request.predicted_us + cost_.transfer_us(static_cast<std::int64_t>(request.n_rows));
        if (!failed && request.number != 0) {
            const double wait_s = std::clamp(patience.answer_factor * predicted_us / 1e6, patience.least_answer_s,
                                             patience.most_answer_s);
            const auto until =
                begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s));
            const std::optional<NodeReply> reply = node_->wait(request.number, until);
            // Taken from the arrival: this machine may have been busy with its own
            // experts.
            const double took_us = reply ? elapsed_us(request.begin, reply->arrived) : 0;
            const Message why = reply ? take(work, request, *reply) : messages::node_is_silent(Decimal{wait_s, 1});
            if (why.empty()) {
                totals_.network_us += std::max(0.0, took_us - reply->compute_us);
                node_->costs().correct(request.predicted_us, reply->compute_us,
                                       static_cast<std::int64_t>(request.n_rows), took_us);
                continue;
            }
            node_->give_up(why);  // a connection that ended by itself has reported the reason
        }
        failed = true;
        for (const std::size_t g : request.groups) work.leave_to_cpu(g);
        totals_.failed_rows += request.n_rows;
    }
    requests_.clear();
    std::sort(done_.begin(), done_.end());
    work.rows.upload(done_);
    totals_.waiting_us += elapsed_us(begin, Clock::now());
}

}  // namespace offstage::engine
