#include "engine/text/go_template.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/text/chat_template.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kGoBlanks = " \t\r\n";
constexpr std::size_t kMaxGoTemplateBytes = 1u << 20;
constexpr int kMaxGoDepth = 100;  // blocks and parentheses

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string jinja_string(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\\' || c == '\'') quoted += '\\';
        quoted += c == '\n' ? "\\n" : std::string(1, c);
    }
    return quoted + "'";
}

// "ToolCalls": "tool_calls".
std::string jinja_name(std::string_view field) {
    std::string name;
    for (const char c : field) {
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper && !name.empty() && name.back() != '_') name += '_';
        name += upper ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return name;
}

// A stretch of the template: text, or the contents of {{ }}.
struct GoPiece {
    bool is_action = false;
    int line = 0;
    std::string text;
};

// A value of the template in Jinja, and the last field of it: "Arguments".
struct GoValue {
    std::string jinja;
    std::string field = {};
};

class GoTranslator {
  public:
    GoTranslator(std::string_view text, std::string source) : source_(std::move(source)) { cut_into_pieces(text); }

    bool reads_messages() const { return has_field(".Messages"); }

    // The template once. `turn`: of one that has .Prompt and .Response, otherwise of
    // .Messages. `open`: up to .Response.
    std::string once(bool turn, bool open) {
        turn_ = turn;
        open_ = open;
        closed_ = false;
        out_.clear();
        at_ = 0;
        n_names_ = 0;
        variables_.assign(1, {{"$", ""}});
        block("", 0);
        if (at_ < pieces_.size()) refuse("{{" + pieces_[at_].text + "}}");
        if (turn && !has_field(".Response")) emit("{{ turn.response }}");
        return out_;
    }

  private:
    struct Word {
        char kind = 0;  // 'n'ame, 's'tring, 'd'igits, '.'field or dot, '$' variable, else the character itself; 0: end
        std::string text;
    };

    // ---- pieces
    void cut_into_pieces(std::string_view text) {
        int line = 1;
        bool trims = false;  // the tag before ended with -}}
        while (!text.empty()) {
            const std::size_t open = text.find("{{");
            std::string_view plain = text.substr(0, open);
            const int plain_line = line;
            line += static_cast<int>(std::count(plain.begin(), plain.end(), '\n'));
            const bool trims_before = open != std::string_view::npos && text.substr(open + 2).starts_with("-") &&
                                      open + 3 < text.size() &&
                                      kGoBlanks.find(text[open + 3]) != std::string_view::npos;
            if (trims) plain.remove_prefix(std::min(plain.find_first_not_of(kGoBlanks), plain.size()));
            if (trims_before) plain = plain.substr(0, plain.find_last_not_of(kGoBlanks) + 1);
            pieces_.push_back({false, plain_line, std::string(plain)});
            if (open == std::string_view::npos) return;
            text.remove_prefix(open + (trims_before ? 3 : 2));
            const std::size_t close = end_of_tag(text);
            if (close == std::string_view::npos) {
                throw Error(ErrorKind::kInvalidModel, messages::template_has(source_, line, messages::tag_without_end));
            }
            std::string_view inside = text.substr(0, close);
            trims = inside.size() > 1 && inside.back() == '-' &&
                    kGoBlanks.find(inside[inside.size() - 2]) != std::string_view::npos;
            if (trims) inside.remove_suffix(1);
            pieces_.push_back({true, line, std::string(inside)});
            line += static_cast<int>(std::count(inside.begin(), inside.end(), '\n'));
            text.remove_prefix(close + 2);
        }
    }
    // The place of its }}, which may also occur in a string or a comment.
    static std::size_t end_of_tag(std::string_view text) {
        const std::size_t begin = text.find_first_not_of(kGoBlanks);
        if (begin != std::string_view::npos && text.substr(begin).starts_with("/*")) {
            const std::size_t end = text.find("*/", begin);
            return end == std::string_view::npos ? end : text.find("}}", end);
        }
        char quote = 0;
        for (std::size_t i = 0; i + 1 < text.size(); ++i) {
            if (quote != 0) {
                if (text[i] == '\\' && quote == '"')
                    ++i;
                else if (text[i] == quote)
                    quote = 0;
            } else if (text[i] == '"' || text[i] == '`') {
                quote = text[i];
            } else if (text.substr(i, 2) == "}}") {
                return i;
            }
        }
        return std::string_view::npos;
    }

    bool has_field(std::string_view field) const {
        return std::any_of(pieces_.begin(), pieces_.end(), [&](const GoPiece& piece) {
            if (!piece.is_action) return false;
            for (std::size_t at = piece.text.find(field); at != std::string::npos;
                 at = piece.text.find(field, at + 1)) {
                const std::size_t end = at + field.size();
                if (end == piece.text.size() || !is_name_char(piece.text[end])) return true;
            }
            return false;
        });
    }

    // ---- words of an action
    [[noreturn]] void refuse(const std::string& what) const {
        const int line = at_ < pieces_.size() ? pieces_[at_].line : 0;
        throw Error(ErrorKind::kUnsupported, messages::template_uses(source_, line, what));
    }

    std::vector<Word> words_of(const std::string& text) const {
        std::vector<Word> words;
        for (std::size_t i = 0; i < text.size();) {
            const char c = text[i];
            const auto name_end = [&](std::size_t from) {
                while (from < text.size() && is_name_char(text[from])) ++from;
                return from;
            };
            std::size_t end = i + 1;
            if (kGoBlanks.find(c) != std::string_view::npos) {
                words.push_back({' ', ""});
                end = std::min(text.find_first_not_of(kGoBlanks, i), text.size());
            } else if (c == '"' || c == '`') {
                std::string value;
                for (; end < text.size() && text[end] != c; ++end) value += character(text, end, c == '`');
                words.push_back({'s', value});
                ++end;
            } else if (c == '.' || c == '$') {
                end = name_end(end);
                words.push_back({c, text.substr(i, end - i)});
            } else if (is_name_char(c) || (c == '-' && end < text.size() && text[end] >= '0' && text[end] <= '9')) {
                end = name_end(end);
                words.push_back({c == '-' || (c >= '0' && c <= '9') ? 'd' : 'n', text.substr(i, end - i)});
            } else if (text.substr(i, 2) == ":=") {
                words.push_back({':', ":="});
                end = i + 2;
            } else {
                words.push_back({c, std::string(1, c)});
            }
            i = end;
        }
        words.push_back({});
        return words;
    }
    // One of a string, at `i`, which is moved to its end.
    char character(const std::string& text, std::size_t& i, bool raw) const {
        if (raw || text[i] != '\\' || i + 1 == text.size()) return text[i];
        constexpr std::string_view kEscapes = "n\nt\tr\r\"\"\\\\''";
        const std::size_t at = kEscapes.find(text[++i]);
        if (at == std::string_view::npos || at % 2 != 0) refuse("\\" + std::string(1, text[i]));
        return kEscapes[at + 1];
    }

    const Word& peek() const { return words_[word_]; }
    Word next() { return word_ + 1 < words_.size() ? words_[word_++] : words_[word_]; }
    void skip_blanks() {
        while (peek().kind == ' ') next();
    }
    bool take(char kind) {
        skip_blanks();
        if (peek().kind != kind) return false;
        next();
        return true;
    }
    [[noreturn]] void unexpected_word() const { refuse("'" + peek().text + "' in {{" + pieces_[at_].text + "}}"); }

    // ---- values
    GoValue field_of(const std::string& base, const std::string& word) {
        const std::string name = word.substr(1);
        if (!base.empty()) return {base + "." + jinja_name(name), name};
        static const std::map<std::string, std::string, std::less<>> kTurn = {
            {"System", "turn.system"}, {"Prompt", "turn.prompt"}, {"Response", "turn.response"}};
        static const std::map<std::string, std::string, std::less<>> kRoot = {
            {"System", "go.system"},
            {"Messages", "go.messages"},
            {"Tools", "tools"},
            {"Response", "''"},
            {"Prompt", "''"},
            {"Suffix", "''"},
            {"Think", "(enable_thinking if enable_thinking is defined else reasoning_effort is defined)"},
            {"ThinkLevel", "(reasoning_effort if reasoning_effort is defined else '')"},
            {"IsThinkSet", "(enable_thinking is defined or reasoning_effort is defined)"}};
        if (name == "Response") reads_response_ = true;
        for (const auto* table : {turn_ ? &kTurn : &kRoot, &kRoot}) {
            if (const auto found = table->find(name); found != table->end()) return {found->second, name};
        }
        refuse(word);
    }

    GoValue with_fields(GoValue value) {
        while (peek().kind == '.' && peek().text.size() > 1) value = field_of(value.jinja, next().text);
        return value;
    }

    std::optional<GoValue> operand() {
        skip_blanks();
        const Word word = peek();
        if (word.kind == 's') return next(), GoValue{jinja_string(word.text)};
        if (word.kind == 'd') return next(), GoValue{word.text};
        if (word.kind == '.' || word.kind == '$') {
            next();
            const bool is_field = word.kind == '.' && word.text.size() > 1;
            const GoValue value = with_fields(is_field           ? field_of(dot_, word.text)
                                              : word.kind == '.' ? GoValue{dot_}
                                                                 : GoValue{variable(word.text)});
            if (value.jinja.empty()) refuse(word.text);  // all that the template is given
            return value;
        }
        if (word.kind == '(') {
            next();
            if (++depth_ > kMaxGoDepth) refuse("(");
            const GoValue value = pipeline();
            --depth_;
            if (!take(')')) unexpected_word();
            return with_fields({"(" + value.jinja + ")", value.field});
        }
        if (word.text == "true" || word.text == "false") return next(), GoValue{word.text};
        if (word.text == "nil") return next(), GoValue{"none"};
        return std::nullopt;
    }

    std::string variable(const std::string& name) const {
        for (auto scope = variables_.rbegin(); scope != variables_.rend(); ++scope) {
            if (const auto found = scope->find(name); found != scope->end()) return found->second;
        }
        refuse(name);
    }

    std::string called(const std::string& name, const std::vector<std::string>& of) const {
        const auto joined = [&](const std::string& between, std::size_t first = 0) {
            std::string text = "(" + of[first];
            for (std::size_t i = first + 1; i < of.size(); ++i) text += between + of[i];
            return text + ")";
        };
        static const std::map<std::string, std::string, std::less<>> kCompare = {
            {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
        const std::size_t n = of.size();
        if (const auto sign = kCompare.find(name); sign != kCompare.end() && n == 2)
            return joined(" " + sign->second + " ");
        if (name == "eq" && n >= 2) return "(" + of[0] + " == " + joined(" or " + of[0] + " == ", 1).substr(1);
        if ((name == "and" || name == "or") && n >= 1) return joined(" " + name + " ");
        if (name == "not" && n == 1) return "(not " + of[0] + ")";
        if (name == "len" && n == 1) return "((" + of[0] + " or '') | length)";
        if (name == "json" && n == 1) return "(" + of[0] + " | tojson)";
        if (name == "print" && n >= 1) return joined(" ~ ");
        if (name == "printf" && n >= 1) return formatted(of);
        if (name == "currentDate") return "strftime_now('%Y-%m-%d')";
        if (name == "index" && n >= 1) {
            std::string text = of[0];
            for (std::size_t i = 1; i < n; ++i) text += "[" + of[i] + "]";
            return text;
        }
        if (name == "slice" && n >= 1 && n <= 3) {
            return of[0] + "[" + (n > 1 ? of[1] : "") + ":" + (n > 2 ? of[2] : "") + "]";
        }
        return "raise_exception(" +
               jinja_string(source_ + ": line " + std::to_string(pieces_[at_].line) + " calls " + name +
                            ", which is not supported") +
               ")";
    }
    // printf's; its first argument is a string of Jinja's already.
    std::string formatted(const std::vector<std::string>& of) const {
        std::string text = "(''", piece;
        std::size_t n = 0;
        const auto flush = [&] { text += piece.empty() ? "" : " ~ '" + std::exchange(piece, "") + "'"; };
        if (!of[0].starts_with('\'')) refuse("printf");
        for (std::size_t i = 1; i + 1 < of[0].size(); ++i) {
            if (of[0][i] != '%') {
                piece += of[0][i];
                continue;
            }
            const char verb = of[0][++i];
            if (verb == '%') {
                piece += verb;
            } else if ((verb == 's' || verb == 'd' || verb == 'v') && ++n < of.size()) {
                flush();
                text += " ~ " + of[n];
            } else {
                refuse("printf " + of[0]);
            }
        }
        flush();
        return text + ")";
    }

    GoValue command(const std::optional<GoValue>& last) {
        skip_blanks();
        std::string function;
        std::vector<std::string> of;
        GoValue value;
        if (peek().kind == 'n' && peek().text != "true" && peek().text != "false" && peek().text != "nil") {
            function = next().text;
        }
        while (auto argument = operand()) {
            value = *argument;
            of.push_back(value.jinja);
        }
        if (last) of.push_back(last->jinja);
        if (!function.empty()) return {called(function, of)};
        if (of.size() != 1 || last) unexpected_word();
        return value;
    }

    GoValue pipeline() {
        GoValue value = command({});
        while (take('|')) value = command(value);
        return value;
    }
    GoValue whole_pipeline() {
        GoValue value = pipeline();
        skip_blanks();
        if (peek().kind != 0) unexpected_word();
        return value;
    }

    // ---- statements
    void emit(const std::string& text) {
        if (!closed_) out_ += text;
    }
    std::string new_name() { return "v" + std::to_string(++n_names_); }
    std::string declare(const std::string& name) { return variables_.back()[name] = "go." + new_name(); }

    // "$x := " or "$x, $y := " before a pipeline: their names.
    std::vector<std::string> declared() {
        const std::size_t begin = word_;
        std::vector<std::string> names;
        do {
            skip_blanks();
            if (peek().kind != '$') break;
            names.push_back(next().text);
        } while (take(','));
        if (!names.empty() && take(':')) return names;
        word_ = begin;
        return {};
    }

    // Reads up to {{ end }} or {{ else ...}} of the open block, and leaves that at at_.
    void block(const std::string& opened, int depth) {
        if (depth > kMaxGoDepth) refuse(opened);
        for (; at_ < pieces_.size(); ++at_) {
            const GoPiece& piece = pieces_[at_];
            if (!piece.is_action) {
                if (!piece.text.empty()) emit("{{ " + jinja_string(piece.text) + " }}");
                keep_lines();
                continue;
            }
            words_ = words_of(piece.text);
            word_ = 0;
            skip_blanks();
            const std::string first = peek().text;
            if (first == "end" || first == "else") return;
            if (first == "/") {
                continue;  // a comment
            } else if (first == "if" || first == "with" || first == "range") {
                next();
                branch(first, depth);
            } else if (first == "break" || first == "continue") {
                emit("{% " + first + " %}");
            } else if (peek().kind == 'n' && kOthers.find(" " + first + " ") != std::string_view::npos) {
                refuse("{{" + piece.text + "}}");
            } else if (peek().kind != 0) {
                action();
            }
        }
    }
    static constexpr std::string_view kOthers = " define template block ";

    // Has as many lines as the pieces, so that Jinja's errors name the template's own
    // lines.
    void keep_lines() {
        if (at_ + 1 >= pieces_.size()) return;
        const auto n = pieces_[at_ + 1].line - 1 - static_cast<int>(std::count(out_.begin(), out_.end(), '\n'));
        if (n > 0) emit("{#" + std::string(static_cast<std::size_t>(n), '\n') + "#}");
    }

    void action() {
        reads_response_ = false;
        const std::vector<std::string> names = declared();
        if (!names.empty()) {
            if (names.size() > 1) unexpected_word();
            const std::string value = whole_pipeline().jinja;
            emit("{% set " + declare(names[0]) + " = " + value + " %}");
            return;
        }
        const std::size_t begin = word_;
        if (peek().kind == '$') {
            const std::string name = next().text;
            if (take('=')) {
                const std::string value = whole_pipeline().jinja;
                emit("{% set " + variable(name) + " = " + value + " %}");
                return;
            }
            word_ = begin;
        }
        const GoValue value = whole_pipeline();
        static constexpr std::string_view kOfJson = " Tools Arguments Properties Function ";
        const bool is_dot = value.field.empty() && value.jinja == dot_;
        if (kOfJson.find(" " + value.field + " ") != std::string_view::npos && !value.field.empty()) {
            emit("{{ " + value.jinja + " | tojson }}");
        } else if (is_dot) {
            emit("{{ " + value.jinja + " if " + value.jinja + " is string else " + value.jinja + " | tojson }}");
        } else {
            emit("{{ " + value.jinja + " }}");
        }
        if (open_ && reads_response_) closed_ = true;
    }

    void branch(const std::string& keyword, int depth) {
        const bool opened = !closed_;
        bool closed_before_else = false;
        const int line = pieces_[at_].line;
        const std::string outer_dot = dot_;
        variables_.emplace_back();
        const std::vector<std::string> names = declared();
        const GoValue value = whole_pipeline();
        if (keyword == "range") {
            begin_loop(names, value);
        } else {
            std::string condition = value.jinja;
            if (names.size() > 1) unexpected_word();
            if (!names.empty() || keyword == "with") {
                const std::string name = names.empty() ? "go." + new_name() : declare(names[0]);
                emit("{% set " + name + " = " + condition + " %}");
                condition = name;
            }
            emit("{% if " + condition + " %}");
            if (keyword == "with") dot_ = condition;
        }
        ++at_;
        block(keyword, depth + 1);
        dot_ = outer_dot;
        if (at_ == pieces_.size()) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::template_has(source_, line, "{{" + keyword + "}} without {{end}}"));
        }
        if (peek().text == "else") {
            next();
            skip_blanks();
            if (opened) out_ += "{% else %}";
            closed_before_else = std::exchange(closed_, !opened);
            if (peek().kind == 'n') {  // {{ else if ...}}: ends with its own block
                const std::string again = next().text;
                if (again != "if" && again != "with") unexpected_word();
                branch(again, depth + 1);
            } else {
                ++at_;
                block(keyword, depth + 1);
                if (at_ == pieces_.size() || peek().text != "end") refuse("{{else}} without {{end}}");
            }
        }
        closed_ = closed_ || closed_before_else;
        variables_.pop_back();
        if (opened) out_ += keyword == "range" ? "{% endfor %}" : "{% endif %}";
    }

    void begin_loop(const std::vector<std::string>& names, const GoValue& value) {
        if (names.size() > 2) unexpected_word();
        const std::string key = new_name(), item = new_name();
        const bool of_map = value.field == "Properties" || value.field == "Arguments";
        emit("{% for " +
             (of_map ? key + ", " + item + " in (" + value.jinja + " or {}).items()"
                     : item + " in (" + value.jinja + " or [])") +
             " %}");
        if (!names.empty()) emit("{% set " + declare(names.back()) + " = " + item + " %}");
        if (names.size() == 2) emit("{% set " + declare(names[0]) + " = " + (of_map ? key : "loop.index0") + " %}");
        dot_ = item;
    }

    const std::string source_;
    std::vector<GoPiece> pieces_;
    std::size_t at_ = 0;
    std::vector<Word> words_;  // of the action at at_
    std::size_t word_ = 0;
    int depth_ = 0;
    bool turn_ = false, open_ = false;
    bool closed_ = false;          // nothing is written any more
    bool reads_response_ = false;  // the action that is read does
    std::string dot_;              // the meaning of "."; empty: the root
    std::vector<std::map<std::string, std::string>> variables_;
    int n_names_ = 0;
    std::string out_;
};

}  // namespace

bool is_go_template(std::string_view text) {
    if (text.find("{%") != std::string_view::npos || text.find("{{") == std::string_view::npos) return false;
    constexpr std::array<std::string_view, 5> kFields = {".Prompt", ".Messages", ".System", ".Response", "$."};
    return std::any_of(kFields.begin(), kFields.end(),
                       [&](std::string_view field) { return text.find(field) != std::string_view::npos; });
}

std::string jinja_of_go_template(std::string_view text, const std::string& source, std::string_view bos) {
    if (text.size() > kMaxGoTemplateBytes) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::template_has(source, 1, messages::template_too_long(text.size(), kMaxGoTemplateBytes)));
    }
    GoTranslator translator(text, source);
    std::string jinja;
    if (!bos.empty() && text.find(bos) == std::string_view::npos) jinja += "{{ bos_token }}";
    jinja +=
        "{% set go = namespace(messages=[], system='', turns=[], turn={}) %}"
        "{% for m in messages %}"
        "{% if m.role == 'system' %}"
        "{% set go.system = go.system + ('\\n\\n' if go.system else '') + m.content %}"
        "{% endif %}"
        "{% if go.messages and go.messages[-1].role == m.role and m.role != 'tool' %}"
        "{% set go.messages = go.messages[:-1] + "
        "[{'role': m.role, 'content': go.messages[-1].content + '\\n\\n' + m.content}] %}"
        "{% else %}{% set go.messages = go.messages + [m] %}{% endif %}"
        "{% endfor %}";
    if (translator.reads_messages()) return jinja + translator.once(false, false);
    constexpr std::string_view kPush =
        "{% set go.turns = go.turns + [{'system': go.system, 'prompt': go.prompt, 'response': go.response}] %}";
    const std::string clear = "{% set go.system = '' %}{% set go.prompt = '' %}{% set go.response = '' %}";
    jinja += clear + "{% for m in go.messages %}{% if m.role == 'system' %}{% if go.prompt or go.response %}";
    jinja += std::string(kPush) + clear + "{% endif %}{% set go.system = m.content %}";
    jinja += "{% elif m.role == 'user' %}{% if go.response %}" + std::string(kPush) + clear;
    jinja += "{% endif %}{% set go.prompt = m.content %}";
    jinja += "{% elif m.role == 'assistant' %}{% set go.response = m.content %}{% endif %}{% endfor %}";
    jinja += std::string(kPush) + "{% for turn in go.turns %}{% if loop.last and add_generation_prompt %}";
    jinja += translator.once(true, true);
    return jinja + "{% else %}" + translator.once(true, false) + "{% endif %}{% endfor %}";
}

std::unique_ptr<ChatTemplate> parse_either_template(std::string_view text, const std::string& source,
                                                    std::string_view bos) {
    return ChatTemplate::parse(is_go_template(text) ? jinja_of_go_template(text, source, bos) : std::string(text),
                               source);
}

}  // namespace offstage::engine
