#include "app/cli/reply_printer.h"

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <unistd.h>

namespace offstage::cli {
namespace {

constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";

// Whether standard output can show dimmed text.
bool is_terminal() {
    const char* const kind = std::getenv("TERM");
    const char* const no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    return isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

ReplyPrinter::~ReplyPrinter() {
    // A failed answer must not leave the terminal dimmed. Errors of the stream were
    // thrown before.
    if (in_thought_ && thoughts_ == Thoughts::kDimmed && write(STDOUT_FILENO, kPlain, 4) < 0) return;
}

ReplyPrinter::Thoughts ReplyPrinter::shown(bool hidden, Thoughts otherwise) {
    if (hidden) return Thoughts::kHidden;
    return is_terminal() ? Thoughts::kDimmed : otherwise;
}

void ReplyPrinter::print(const engine::TextDelta& delta) {
    if (delta.text.empty()) return;
    if (!delta.is_thinking) {
        leave_thought(true);
        std::cout << delta.text << std::flush;
        return;
    }
    if (delta.text_was_thought) {  // it was printed
        std::cout << (thoughts_ == Thoughts::kLabelled ? "\n[answer]\n" : "\n\n");
        return;
    }
    if (thoughts_ == Thoughts::kHidden) return;
    if (!in_thought_) {
        if (had_thought_) std::cout << "\n";
        if (thoughts_ == Thoughts::kLabelled) std::cout << "[thinking]\n";
        if (thoughts_ == Thoughts::kDimmed) std::cout << kDim;
        in_thought_ = had_thought_ = true;
    }
    std::cout << delta.text << std::flush;
}

void ReplyPrinter::finish() {
    leave_thought(false);
    std::cout << std::flush;
}

void ReplyPrinter::leave_thought(bool for_answer) {
    if (!in_thought_) return;
    in_thought_ = false;
    if (thoughts_ == Thoughts::kDimmed) std::cout << kPlain;
    if (for_answer) std::cout << (thoughts_ == Thoughts::kLabelled ? "\n[answer]\n" : "\n\n");
}

}  // namespace offstage::cli
