#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/text/thinking_format.h"
#include "engine/text/utf8.h"

namespace offstage::engine {

// Follows a text that arrives in pieces: whether it is inside Markdown's code (a fence of
// ``` or ~~~, or between backticks).
class CodeTracker {
  public:
    void push(char c);
    bool in_fence() const;
    bool in_code() const;
    bool at_line_start() const;  // only white space so far
    bool ends_fence() const;     // the line so far is the end of the open fence
    // Whether `text`, which follows, ends code between backticks before the line ends;
    // nothing: not known yet. `whole`: no text follows `text`.
    std::optional<bool> ends_in_line(std::string_view text, bool whole) const;

  private:
    static constexpr std::size_t kKeptLine = 64;

    std::size_t marks_at_line_start() const;

    std::string line_;  // its beginning
    bool line_is_longer_ = false;
    std::size_t fence_ = 0;  // marks that began the open one; 0: none
    char fence_mark_ = 0;
    std::size_t run_ = 0;     // backticks that the text ends with as yet
    std::size_t inline_ = 0;  // backticks that began code within a paragraph; 0: none
};

// Splits a reply, token by token, into the thought and the answer. Special tokens are
// recognized by their ids, markers of several tokens by their text. A thought begins only
// after white space on its line, and never inside code. It does not end inside code
// either, with one exception: a special token at the beginning of a line ends it inside a
// fence too, because models leave a fence open more often than they write the token in
// one. White space around a thought is left out. Output consists of whole UTF-8
// characters. It is taken back in one case: where a model whose template has no tags ends
// a thought that it did not begin (Piece::text_was_thought). One thread.
class ThoughtSplitter {
  public:
    // The format must outlive this object. `in_thought`: the prompt has begun one.
    explicit ThoughtSplitter(const ThinkingFormat& format, bool in_thought = false);

    struct Piece {
        std::string thought, answer;
        bool text_was_thought = false;  // `thought` is all of the answer so far, which it was not
    };
    // Continues a reply: its text so far is not returned again. Call it once, before
    // anything else.
    void resume(const ChatMessage& begun);
    // `bytes`: the token's text.
    Piece push(TokenId token, std::string_view bytes);
    // Returns held-back text. If a thought never ended, but its end stands in a fence of
    // code that never ended either, thought() and answer() are split there: the fence was
    // the error. A thought without an opening and a closing tag is the answer, unless the
    // reply was cut: then it may still have come to its end.
    Piece finish(bool was_cut = false);

    bool in_thought() const { return in_thought_; }
    const ThinkingFormat& format() const { return format_; }
    // kHarmony: to whom the message goes whose header was last ("functions.NAME"); empty: to
    // the user.
    const std::string& recipient() const { return recipient_; }
    // The thought is ended before the model ends it: where it does so in the answer all
    // the same, once, that is no text.
    void expect_second_end() { expects_second_end_ = true; }
    // As resume() after the text so far: it is no part of thought() and answer().
    void forget_text();
    // All output, without the text given to resume().
    const std::string& thought() const { return thought_; }
    const std::string& answer() const { return answer_; }

  private:
    void take(std::string_view text);
    bool take_marker(TokenId token);
    bool take_harmony_marker(TokenId token);
    void scan(bool at_end);
    std::string_view opening() const;
    bool is_second_end() const { return expects_second_end_ && !in_thought_ && !code_.in_code(); }
    bool may_begin() const { return code_.at_line_start() && !code_.in_code(); }
    bool may_end() const {
        return code_.ends_fence() || (!code_.in_fence() && (code_.at_line_start() || !code_.in_code()));
    }
    void begin_thought();
    void end_thought();
    void turn_into_thought();
    void put(std::string_view text);
    void put(char c);
    void put_thought(char c);
    void put_answer(char c);
    void take_header(char c);
    void read_recipient();

    const ThinkingFormat& format_;
    Utf8Stream stream_;
    CodeTracker code_;
    bool in_thought_ = false;
    bool is_assumed_ = false;  // in_thought_, though no opening tag stands before it
    std::string opening_;      // which the model may write all the same, or once more
    bool may_lack_opening_;    // of a thought: text so far may turn out to be one
    bool had_thought_ = false;
    bool expects_second_end_ = false;
    bool thought_begun_ = false;  // it has a character, or is gone on with
    bool answer_begun_ = false;
    std::string pending_;    // may be the beginning of a marker
    bool is_token_ = false;  // `pending_` begins with the end of a thought, which was a special token
    std::string space_;      // white space that counts only where something follows
    bool in_header_ = false;
    std::string recipient_;
    std::string header_;                           // kHarmony: behind <|channel|>; kTags: the channel's word
    std::size_t end_in_code_ = std::string::npos;  // in thought_: an end of a thought that was not taken for one
    std::string thought_, answer_;
    Piece piece_;  // of this push
};

}  // namespace offstage::engine
