#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/thought_splitter.h"
#include "engine/text/tool_call_format.h"

namespace offstage::engine {

// Splits an answer, without its thought, into text and calls of tools. Markers that are
// special tokens are recognized by their ids, others by their text; none of them counts
// inside code. White space beside a call is left out. A call without a name, or one that
// breaks off before it, is text. One thread.
class ToolCallSplitter {
  public:
    // The format must outlive this object.
    ToolCallSplitter(const ToolCallFormat& format, ToolDefinitions tools);

    struct Piece {
        std::string text;
        std::vector<ToolCallDelta> calls;
    };
    // Whether this token, outside a thought, is a marker: its text is no part of the
    // answer.
    bool is_marker(TokenId token) const { return markers_.contains(token); }
    // The next token, which the splitter of thoughts has taken, and what it added to the
    // answer. is_marker: it is one, outside a thought.
    Piece take(TokenId token, bool is_marker, std::string_view answer, const ThoughtSplitter& thoughts);
    Piece push_marker(TokenId token);
    Piece push(std::string_view answer);
    // was_cut: the reply has not come to its end. If it has, a call without its own end
    // is closed, as far as its values are whole: a text that breaks off stays open.
    Piece finish(bool was_cut = false);

    bool in_call() const { return state_ == State::kCall || state_ == State::kMessage; }
    const std::vector<ToolCall>& calls() const { return calls_; }

  private:
    enum class State { kText, kBetween, kCall, kMessage };

    void scan();
    bool scan_text();
    bool scan_between();
    bool scan_call();
    void put_text(std::string_view text);
    void open(bool is_section);
    void give_up();  // what looked like a call is text
    void begin_call(const std::string& name);
    void add_arguments(const std::string& more);
    // Harmony: from here on the text is the arguments of a call.
    Piece begin_message(const std::string& name);
    void close_call();

    const ToolCallFormat& format_;
    const ToolDefinitions tools_;
    std::map<TokenId, std::string> markers_;
    State state_ = State::kText;
    CodeTracker code_;
    bool at_start_ = true;      // of the answer: a call without a marker may begin
    std::string pending_;       // not split yet
    std::string opened_;        // what began the section, and stands before pending_ where it is no call
    std::string space_;         // white space that counts only where text follows
    std::size_t n_given_ = 0;   // bytes of the call's arguments
    bool is_named_ = false;     // the call that is being read
    std::size_t n_before_ = 0;  // calls when the section began
    std::vector<ToolCall> calls_;
    Piece piece_;
};

}  // namespace offstage::engine
