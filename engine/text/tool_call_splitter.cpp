#include "engine/text/tool_call_splitter.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

bool begins(std::string_view whole, std::string_view part) {
    return whole.starts_with(part) || part.starts_with(whole);
}

}  // namespace

ToolCallSplitter::ToolCallSplitter(const ToolCallFormat& format, ToolDefinitions tools)
    : format_(format), tools_(std::move(tools)) {
    const auto add = [&](const ThoughtMarker& marker) {
        if (marker.token >= 0) markers_[marker.token] = marker.text;
    };
    for (const ThoughtMarker* marker : {&format.section_begin, &format.section_end, &format.begin, &format.end}) {
        add(*marker);
    }
    for (const ThoughtMarker& marker : format.inner) add(marker);
}

ToolCallSplitter::Piece ToolCallSplitter::take(TokenId token, bool is_marker, std::string_view answer,
                                               const ThoughtSplitter& thoughts) {
    constexpr std::string_view kFunctions = "functions.";
    Piece piece = push(answer);
    const auto add = [&](Piece more) {
        piece.text += more.text;
        piece.calls.insert(piece.calls.end(), more.calls.begin(), more.calls.end());
    };
    const ThinkingFormat& format = thoughts.format();
    if (is_marker) {
        add(push_marker(token));
    } else if (format.kind != ThinkingFormat::Kind::kHarmony) {
    } else if (token == format.message.token && thoughts.recipient().starts_with(kFunctions)) {
        add(begin_message(thoughts.recipient().substr(kFunctions.size())));
    } else if (token == format.close.token || token == format.start.token || token == format.open.token) {
        if (state_ == State::kMessage) state_ = State::kText;
    }
    return piece;
}

ToolCallSplitter::Piece ToolCallSplitter::push_marker(TokenId token) {
    piece_ = {};
    const std::string& text = markers_.at(token);
    if (state_ == State::kText) {
        if (token == format_.opening().token && !code_.in_code()) {
            put_text(std::exchange(pending_, {}));
            opened_ = text;
            open(!format_.section_begin.text.empty());
        } else {
            put_text(text);  // text about the markers
        }
    } else {
        pending_ += text;
        scan();
    }
    return std::exchange(piece_, {});
}

ToolCallSplitter::Piece ToolCallSplitter::push(std::string_view answer) {
    piece_ = {};
    if (state_ == State::kMessage) {
        add_arguments(std::string(answer));
    } else {
        pending_ += answer;
        scan();
    }
    return std::exchange(piece_, {});
}

ToolCallSplitter::Piece ToolCallSplitter::begin_message(const std::string& name) {
    piece_ = {};
    put_text(std::exchange(pending_, {}));
    state_ = State::kMessage;
    begin_call(name);
    return std::exchange(piece_, {});
}

ToolCallSplitter::Piece ToolCallSplitter::finish(bool was_cut) {
    piece_ = {};
    if (state_ == State::kText) {
        put_text(std::exchange(pending_, {}));
    } else if (state_ == State::kCall && !is_named_) {
        give_up();
        put_text(std::exchange(pending_, {}));
    } else if (in_call() && !was_cut) {
        close_call();
    }
    if (calls_.empty()) piece_.text += std::exchange(space_, {});
    return std::exchange(piece_, {});
}

void ToolCallSplitter::scan() {
    bool goes_on = true;
    while (goes_on) {
        goes_on = state_ == State::kText ? scan_text() : state_ == State::kBetween ? scan_between() : scan_call();
    }
}

void ToolCallSplitter::open(bool is_section) {
    n_before_ = calls_.size();
    state_ = is_section ? State::kBetween : State::kCall;
    is_named_ = false;
    n_given_ = 0;
}

// Each returns whether the next state has something to look at.
bool ToolCallSplitter::scan_text() {
    const std::string& opening = format_.opening().text;
    const bool by_text = format_.opening().token < 0 && !opening.empty();
    const bool is_bare = !format_.has_marker() && format_.kind == ToolCallFormat::Kind::kJson;
    std::size_t at = 0;
    for (; at < pending_.size(); ++at) {
        const std::string_view rest = std::string_view(pending_).substr(at);
        if (is_bare && at_start_ && rest.front() == '{') {
            opened_.clear();
            pending_.erase(0, at);
            open(false);
            return true;
        }
        if (by_text && !code_.in_code() && begins(rest, opening)) {
            if (rest.size() < opening.size()) break;
            opened_ = opening;
            pending_.erase(0, at + opening.size());
            open(!format_.section_begin.text.empty());
            return true;
        }
        put_text(rest.substr(0, 1));
    }
    pending_.erase(0, at);
    return false;
}

bool ToolCallSplitter::scan_between() {
    const std::size_t first = pending_.find_first_not_of(format_.is_list ? " \t\r\n,[" : " \t\r\n,");
    if (first == std::string::npos) return false;
    const std::string_view rest = std::string_view(pending_).substr(first);
    const std::string &end = format_.section_end.text, &begin = format_.begin.text;
    const bool is_begun = begin.empty() ? rest.front() == '{' : rest.starts_with(begin);
    if (is_begun) {
        pending_.erase(0, first + begin.size());
        state_ = State::kCall;
        is_named_ = false;
        n_given_ = 0;
        return true;
    }
    if (!end.empty() && rest.starts_with(end)) {
        pending_.erase(0, first + end.size());
        state_ = State::kText;
        return true;
    }
    if ((!begin.empty() && begins(rest, begin)) || (!end.empty() && begins(rest, end))) return false;
    if (calls_.size() == n_before_) {
        give_up();
    } else {
        state_ = State::kText;
    }
    return true;
}

bool ToolCallSplitter::scan_call() {
    const ToolCallText call = read_tool_call(format_, tools_, pending_);
    const bool is_bare = !format_.has_marker();
    const bool is_unknown = is_bare && !call.name.empty() && find_tool(tools_, call.name) == nullptr;
    if ((call.is_broken || is_unknown) && !is_named_) {
        give_up();
        return true;
    }
    if (!call.name.empty()) {
        if (!std::exchange(is_named_, true)) begin_call(call.name);
        if (call.arguments.size() > n_given_) {
            add_arguments(call.arguments.substr(n_given_));
            n_given_ = call.arguments.size();
        }
    }
    if (!call.is_ended && !call.is_broken) return false;
    pending_.erase(0, call.n_read);
    // One that breaks off behind its name ends there, and what follows is text.
    state_ = format_.section_begin.text.empty() || call.is_broken ? State::kText : State::kBetween;
    return !pending_.empty();
}

void ToolCallSplitter::begin_call(const std::string& name) {
    calls_.push_back({{}, name, {}});
    piece_.calls.push_back({calls_.size() - 1, name, {}});
    space_.clear();
}

void ToolCallSplitter::add_arguments(const std::string& more) {
    if (more.empty()) return;
    calls_.back().arguments += more;
    piece_.calls.push_back({calls_.size() - 1, {}, more});
}

void ToolCallSplitter::close_call() {
    const std::string& given = calls_.back().arguments;
    if (state_ == State::kMessage) {
        add_arguments(given.empty() ? "{}" : missing_brackets(given));
    } else if (const std::optional<ToolCallText> whole = complete_tool_call(format_, tools_, pending_)) {
        add_arguments(whole->arguments.substr(std::min(n_given_, whole->arguments.size())));
    }
    state_ = State::kText;
}

void ToolCallSplitter::give_up() {
    state_ = State::kText;
    const std::string text = std::exchange(opened_, {}) + std::exchange(pending_, {});
    at_start_ = false;
    // The marker is not looked at again.
    const std::size_t n = std::min(text.size(), std::max<std::size_t>(1, format_.opening().text.size()));
    put_text(std::string_view(text).substr(0, n));
    pending_ = text.substr(n);
}

void ToolCallSplitter::put_text(std::string_view text) {
    for (const char c : text) {
        code_.push(c);
        if (kSpace.find(c) != std::string_view::npos) {
            space_ += c;
            continue;
        }
        if (std::exchange(at_start_, false) && !calls_.empty()) space_.clear();  // between a call and the text
        piece_.text += std::exchange(space_, {});
        piece_.text += c;
    }
}

}  // namespace offstage::engine
