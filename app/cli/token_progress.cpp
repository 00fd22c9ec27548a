#include "app/cli/token_progress.h"

#include <iostream>
#include <unistd.h>
#include <utility>

namespace offstage::cli {

TokenProgress::TokenProgress(std::string what, std::span<const std::vector<engine::TokenId>> sequences)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {
    for (const auto& sequence : sequences) n_tokens_ += static_cast<std::int64_t>(sequence.size());
}

void TokenProgress::operator()(std::int64_t n_done) const {
    if (terminal_) {
        std::cerr << "\r\x1b[K" << what_ << ": " << n_done << " of " << n_tokens_ << " tokens" << std::flush;
    }
}

void TokenProgress::finish() const {
    if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace offstage::cli
