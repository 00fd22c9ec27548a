#pragma once

#include "engine/run/generation.h"

namespace offstage::cli {

// Writes a streamed reply to standard output, its thought apart from its answer.
class ReplyPrinter {
  public:
    enum class Thoughts {
        kHidden,
        kDimmed,    // for terminals
        kLabelled,  // between lines [thinking] and [answer]
    };
    explicit ReplyPrinter(Thoughts thoughts) : thoughts_(thoughts) {}
    ~ReplyPrinter();
    ReplyPrinter(const ReplyPrinter&) = delete;
    ReplyPrinter& operator=(const ReplyPrinter&) = delete;

    // The display of thoughts on this standard output: `otherwise` if it is no terminal.
    static Thoughts shown(bool hidden, Thoughts otherwise);

    void print(const engine::TextDelta& delta);
    // Call it after the last piece, before any other output.
    void finish();

  private:
    void leave_thought(bool for_answer);

    Thoughts thoughts_;
    bool in_thought_ = false;
    bool had_thought_ = false;
};

}  // namespace offstage::cli
