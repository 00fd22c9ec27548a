#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "engine/serve/answer_queue.h"
#include "engine/serve/answer_work.h"

namespace offstage::engine {

// The server's counts since its start. Any thread.
class ServerMetrics {
  public:
    // path: one of the server's, or "other".
    void count_reply(const std::string& path, int status);
    void count_answer(const AnswerTotals& totals, double seconds);

    std::uint64_t n_answers() const;  // including stopped ones
    std::uint64_t n_stopped() const;
    double mean_answer_s() const;  // 0: none yet

    // Prometheus' text format, version 0.0.4.
    std::string text(const AnswerQueue& queue) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, int>, std::uint64_t> replies_;
    std::uint64_t n_answers_ = 0, n_cancelled_ = 0;
    double seconds_ = 0;
    AnswerTotals tokens_;
};

}  // namespace offstage::engine
