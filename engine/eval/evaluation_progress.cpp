#include "engine/eval/evaluation_progress.h"

#include <cmath>

#include "engine/print.h"

namespace offstage::engine {

std::string progress_line(const EvaluationProgress& progress) {
    std::string line =
        std::string(progress.unit) + " " + std::to_string(progress.n_done) + " of " + std::to_string(progress.n_all);
    if (!progress.score.empty()) line += ": " + progress.score;
    if (progress.n_done == 0) return line;
    const double each = progress.seconds / static_cast<double>(progress.n_done);
    const auto left =
        static_cast<std::int64_t>(std::ceil(each * static_cast<double>(progress.n_all - progress.n_done)));
    line += ", ";
    if (left >= 3600) line += std::to_string(left / 3600) + ":" + print("%02d", static_cast<int>(left / 60 % 60));
    if (left < 3600) line += std::to_string(left / 60);
    return line + print(":%02d left", static_cast<int>(left % 60));
}

}  // namespace offstage::engine
