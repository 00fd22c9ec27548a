#include "engine/text/thought_splitter.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {
namespace {

bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

std::string_view stripped(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

// ---------------------------------------------------------------- code

std::size_t CodeTracker::marks_at_line_start() const {
    const std::size_t first = line_.find_first_not_of(" \t");
    if (first == std::string::npos || (line_[first] != '`' && line_[first] != '~')) return 0;
    const std::size_t end = std::min(line_.find_first_not_of(line_[first], first), line_.size());
    return end - first >= 3 ? end - first : 0;
}

bool CodeTracker::in_fence() const {
    return fence_ > 0 || marks_at_line_start() > 0;
}

bool CodeTracker::in_code() const {
    if (in_fence()) return true;
    return run_ > 0 ? inline_ != run_ : inline_ > 0;
}

bool CodeTracker::at_line_start() const {
    return !line_is_longer_ && stripped(line_).empty();
}

bool CodeTracker::ends_fence() const {
    const std::string_view line = stripped(line_);
    const std::size_t marks = marks_at_line_start();
    return fence_ > 0 && !line_is_longer_ && marks >= fence_ && marks == line.size() && line.front() == fence_mark_;
}

std::optional<bool> CodeTracker::ends_in_line(std::string_view text, bool whole) const {
    const std::size_t wanted = inline_ > 0 ? inline_ : run_;
    std::size_t run = 0;
    for (const char c : text) {
        if (c != '`' && run == wanted) return true;
        if (c == '\n') return false;
        run = c == '`' ? run + 1 : 0;
    }
    if (!whole) return std::nullopt;
    return run == wanted;
}

void CodeTracker::push(char c) {
    if (c != '`' && run_ > 0) {
        if (marks_at_line_start() == 0 && fence_ == 0) inline_ = inline_ == 0 ? run_ : inline_ == run_ ? 0 : inline_;
        run_ = 0;
    }
    if (c != '\n') {
        run_ += c == '`' ? 1 : 0;
        line_is_longer_ = line_is_longer_ || line_.size() >= kKeptLine;
        if (!line_is_longer_) line_ += c;
        return;
    }
    const std::size_t marks = marks_at_line_start();
    const std::string_view line = stripped(line_);
    if (fence_ == 0 && marks > 0) {
        fence_ = marks;
        fence_mark_ = line.front();
    } else if (ends_fence()) {
        fence_ = 0;
    }
    if (line.empty() && !line_is_longer_) inline_ = 0;  // code within a paragraph ends with it
    if (marks > 0) inline_ = 0;
    line_.clear();
    line_is_longer_ = false;
}

// ---------------------------------------------------------------- thoughts

ThoughtSplitter::ThoughtSplitter(const ThinkingFormat& format, bool in_thought) : format_(format) {
    if (in_thought) begin_thought();
    is_assumed_ = in_thought && format.open.text.empty();
    opening_ = format.open.text.empty() ? format.close.text : format.open.text;
    if (format.open.text.empty()) std::erase(opening_, '/');
    may_lack_opening_ = !format.in_template && !in_thought;
}

// What a thought may begin with and does not contain: the opening tag that the prompt
// ends with, repeated; or, if none stood before it, </think> without its stroke.
std::string_view ThoughtSplitter::opening() const {
    return in_thought_ && !thought_begun_ ? std::string_view(opening_) : std::string_view();
}

void ThoughtSplitter::resume(const ChatMessage& begun) {
    in_thought_ = begun.thought_is_open && format_.any();
    is_assumed_ = may_lack_opening_ = false;
    had_thought_ = in_thought_ || !begun.thought.empty();
    thought_begun_ = !begun.thought.empty();
    answer_begun_ = !begun.content.empty();
    in_header_ = false;
    code_ = {};
    for (const char c : in_thought_ ? begun.thought : begun.content) code_.push(c);
}

void ThoughtSplitter::forget_text() {
    may_lack_opening_ = may_lack_opening_ && answer_.empty();
    thought_.clear();
    answer_.clear();
    end_in_code_ = std::string::npos;
}

ThoughtSplitter::Piece ThoughtSplitter::push(TokenId token, std::string_view bytes) {
    piece_ = {};
    if (!format_.any()) {
        piece_.answer = stream_.push(bytes);
        answer_ += piece_.answer;
    } else if (!take_marker(token)) {
        // <|constrain|> and the like end a word of a header.
        const bool is_sign = bytes.empty() && in_header_ && format_.kind == ThinkingFormat::Kind::kHarmony;
        take(is_sign ? std::string(" ") : stream_.push(bytes));
    }
    return std::exchange(piece_, {});
}

ThoughtSplitter::Piece ThoughtSplitter::finish(bool was_cut) {
    piece_ = {};
    if (!format_.any()) {
        piece_.answer = stream_.finish();
        answer_ += piece_.answer;
        return std::exchange(piece_, {});
    }
    take(stream_.finish());
    scan(true);
    if (in_header_ && in_thought_ && format_.kind == ThinkingFormat::Kind::kTags) {
        in_header_ = false;
        const std::string cut = std::exchange(header_, {});
        if (!format_.channel.starts_with(cut)) put(cut);
    }
    if (in_thought_ && is_assumed_ && end_in_code_ == std::string::npos && !was_cut) {
        in_thought_ = had_thought_ = false;
        piece_.answer += thought_;
        answer_ = std::exchange(thought_, {});
    }
    if (!in_thought_ && !had_thought_) {
        for (const char c : std::exchange(space_, {})) {
            piece_.answer += c;
            answer_ += c;
        }
    }
    if (in_thought_ && end_in_code_ != std::string::npos && code_.in_fence()) {
        const std::string rest = thought_.substr(std::min(end_in_code_ + format_.close.text.size(), thought_.size()));
        const std::string_view answer = stripped(rest);
        thought_.resize(end_in_code_);
        while (!thought_.empty() && is_space(thought_.back())) thought_.pop_back();
        answer_ += answer;
        piece_.answer += answer;
        in_thought_ = false;
    }
    return std::exchange(piece_, {});
}

bool ThoughtSplitter::take_marker(TokenId token) {
    if (token < 0) return false;
    if (format_.kind == ThinkingFormat::Kind::kHarmony) return take_harmony_marker(token);
    const bool opens = token == format_.open.token, closes = token == format_.close.token;
    if (!opens && !closes) return false;
    take(stream_.finish());
    scan(true);
    if (opens && !in_thought_ && may_begin()) {
        begin_thought();
    } else if (closes && in_thought_ && code_.in_fence() && code_.at_line_start()) {
        end_thought();
    } else if (closes && in_thought_) {
        pending_ = format_.close.text;
        is_token_ = true;
        scan(false);
    } else if (closes && is_second_end()) {
        expects_second_end_ = false;
    } else if (closes && may_lack_opening_ && !code_.in_code()) {
        turn_into_thought();
    } else if (opens ? opening().empty() : answer_begun_) {
        put(opens ? format_.open.text : format_.close.text);  // text about the markers
    }
    return true;
}

bool ThoughtSplitter::take_harmony_marker(TokenId token) {
    const bool begins = token == format_.open.token || token == format_.start.token;
    if (!begins && token != format_.message.token && token != format_.close.token) return false;
    take(stream_.finish());
    if (in_header_) read_recipient();
    if (begins) {
        if (token == format_.start.token) recipient_.clear();
        in_header_ = true;
        header_.clear();
    } else if (token == format_.message.token) {
        // A call is none of a thought, on whichever channel.
        const bool calls = recipient_.starts_with("functions.");
        const bool thinks = stripped(header_).starts_with("analysis") && !calls;
        if (in_thought_) end_thought();
        in_header_ = false;
        header_.clear();
        if (thinks) {
            begin_thought();
        } else if (answer_begun_) {
            space_ = calls ? "" : "\n\n";  // two messages for the user
        }
    } else if (in_thought_) {
        end_thought();
    }
    return true;
}

void ThoughtSplitter::read_recipient() {
    constexpr std::string_view kTo = "to=";
    const std::size_t to = header_.find(kTo);
    if (to == std::string::npos) return;
    const std::size_t begin = to + kTo.size();
    recipient_ = header_.substr(begin, header_.find_first_of(" \t\n<", begin) - begin);
}

void ThoughtSplitter::take(std::string_view text) {
    if (format_.kind == ThinkingFormat::Kind::kHarmony) {
        for (const char c : text) {
            if (in_header_) {
                header_ += c;
            } else {
                put(c);
            }
        }
        return;
    }
    pending_ += text;
    scan(false);
}

// Returns text that cannot begin a marker.
void ThoughtSplitter::scan(bool at_end) {
    std::size_t at = 0;
    while (at < pending_.size()) {
        const ThoughtMarker& marker = in_thought_ ? format_.close : format_.open;
        const std::string_view rest = std::string_view(pending_).substr(at);
        const bool by_text = is_token_ || (marker.token < 0 && !marker.text.empty() && (in_thought_ || may_begin()));
        if (!opening().empty() && rest.starts_with(opening())) {
            at += opening().size();
            is_assumed_ = false;
            continue;
        }
        if (!opening().empty() && !at_end && opening().starts_with(rest)) break;
        if (is_second_end() && format_.close.token < 0) {
            const std::string_view end = format_.close.text;
            if (rest.starts_with(end)) {
                at += end.size();
                expects_second_end_ = false;
                continue;
            }
            if (!at_end && end.starts_with(rest)) break;
        }
        if (by_text && rest.starts_with(marker.text)) {
            if (!in_thought_) {
                begin_thought();
                at += marker.text.size();
                continue;
            }
            // Code within a line must end in that line.
            const std::optional<bool> is_code = may_end() ? false
                                                : code_.in_fence()
                                                    ? true
                                                    : code_.ends_in_line(rest.substr(marker.text.size()), at_end);
            if (!is_code) break;
            is_token_ = false;
            if (!*is_code) {
                at += marker.text.size();
                end_thought();
                continue;
            }
            if (code_.in_fence()) end_in_code_ = thought_.size() + space_.size();
        } else if (by_text && !at_end && marker.text.starts_with(rest)) {
            break;
        }
        put(pending_[at++]);
    }
    pending_.erase(0, at);
}

void ThoughtSplitter::begin_thought() {
    may_lack_opening_ = false;
    in_thought_ = had_thought_ = true;
    in_header_ = !format_.channel.empty();
    header_.clear();
    space_ = thought_begun_ ? "\n\n" : "";
    end_in_code_ = std::string::npos;
    code_ = {};
}

void ThoughtSplitter::end_thought() {
    if (in_header_ && stripped(header_) != format_.channel && format_.kind == ThinkingFormat::Kind::kTags) {
        in_header_ = false;
        put(std::exchange(header_, {}));
    }
    in_header_ = in_thought_ = is_assumed_ = false;
    header_.clear();
    space_.clear();
    code_ = {};
}

void ThoughtSplitter::turn_into_thought() {
    thought_ = stripped(std::exchange(answer_, {}));
    piece_ = {thought_, {}, true};
    had_thought_ = true;
    thought_begun_ = !thought_.empty();
    may_lack_opening_ = answer_begun_ = false;
    space_.clear();
    code_ = {};
}

void ThoughtSplitter::put(std::string_view text) {
    for (const char c : text) put(c);
}

void ThoughtSplitter::put(char c) {
    if (in_thought_ && in_header_) return take_header(c);
    code_.push(c);
    if (in_thought_) {
        put_thought(c);
    } else {
        put_answer(c);
    }
}

// "thought" and a line feed; anything else belongs to the thought.
void ThoughtSplitter::take_header(char c) {
    header_ += c;
    const std::string whole = format_.channel + "\n";
    if (header_ == whole) {
        in_header_ = false;
        header_.clear();
    } else if (!std::string_view(whole).starts_with(header_)) {
        in_header_ = false;
        put(std::exchange(header_, {}));
    }
}

void ThoughtSplitter::put_thought(char c) {
    if (is_space(c)) {
        if (thought_begun_) space_ += c;
        return;
    }
    thought_begun_ = true;
    for (std::string* out : {&thought_, &piece_.thought}) {
        *out += space_;
        *out += c;
    }
    space_.clear();
}

void ThoughtSplitter::put_answer(char c) {
    if (!answer_begun_ && is_space(c)) {
        if (!had_thought_) space_ += c;
        return;
    }
    answer_begun_ = true;
    for (std::string* out : {&answer_, &piece_.answer}) {
        *out += space_;
        *out += c;
    }
    space_.clear();
}

}  // namespace offstage::engine
