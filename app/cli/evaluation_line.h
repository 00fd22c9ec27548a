#pragma once

#include <chrono>
#include <iostream>
#include <optional>
#include <unistd.h>

#include "engine/eval/evaluation_progress.h"

namespace offstage::cli {

// One line on stderr that is written over, where that is a terminal.
class EvaluationLine {
  public:
    engine::EvaluationProgressFn callback() {
        return [this](const engine::EvaluationProgress& progress) {
            const auto now = std::chrono::steady_clock::now();
            if (!terminal_ || (shown_ && now - *shown_ < std::chrono::milliseconds(100))) return;
            shown_ = now;
            std::cerr << "\r\x1b[K" << engine::progress_line(progress) << std::flush;
        };
    }
    void finish() const {
        if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
    }

  private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
    std::optional<std::chrono::steady_clock::time_point> shown_;
};

}  // namespace offstage::cli
