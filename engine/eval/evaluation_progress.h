#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace offstage::engine {

// The progress of an evaluation.
struct EvaluationProgress {
    const char* unit = "Task";  // the counted unit: "Task", "Chunk"
    std::int64_t n_done = 0;
    std::int64_t n_all = 0;
    std::string score;   // so far: "acc 58.33 %"
    double seconds = 0;  // since the first one began
};
using EvaluationProgressFn = std::function<void(const EvaluationProgress&)>;

// "Task 12 of 100: acc 58.33 %, 1:05 left", as the rest will take as long per task.
std::string progress_line(const EvaluationProgress& progress);

}  // namespace offstage::engine
