#include <vector>

#include "engine/text/split_pattern.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kWordCharacters = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
constexpr int kMaxNestedClasses = 16;

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class PatternTranslator {
  public:
    PatternTranslator(std::string_view pattern, PatternSyntax syntax) : in_(pattern), syntax_(syntax) {}

    std::string run() {
        std::vector<std::size_t> groups;  // beginnings of the open groups in out_
        std::size_t atom = 0;             // beginning of the operand of a repetition
        while (at_ < in_.size()) {
            const char c = in_[at_];
            const std::size_t begin = out_.size();
            if (c == '\\') {
                out_ += escape(false);
                atom = begin;
            } else if (c == '[') {
                out_ += character_class(0);
                atom = begin;
            } else if (c == '(') {
                groups.push_back(begin);
                out_ += in_[at_++];
            } else if (c == ')') {
                atom = begin;
                if (!groups.empty()) {
                    atom = groups.back();
                    groups.pop_back();
                }
                out_ += in_[at_++];
            } else if (c == '{' && syntax_ == PatternSyntax::kOniguruma && repeats_a_repetition()) {
                const std::size_t n = in_.find('}', at_) - at_ + 1;
                out_.insert(atom, "(?:");
                out_ += in_.substr(at_, n);
                out_ += ")+";
                at_ += n + 1;
            } else {
                const bool repeats = std::string_view("*+?{").find(c) != std::string_view::npos;
                const std::size_t n = c == '{' ? repetition_bytes() : character_bytes(in_, at_);
                if (!repeats) atom = begin;
                out_ += in_.substr(at_, n);
                at_ += n;
            }
        }
        return std::move(out_);
    }

  private:
    // "{1,3}" at at_, or the brace alone when it is no repetition.
    std::size_t repetition_bytes() const {
        const std::size_t end = in_.find_first_not_of("0123456789,", at_ + 1);
        return end != std::string_view::npos && in_[end] == '}' ? end - at_ + 1 : 1;
    }
    bool repeats_a_repetition() const {
        const std::size_t n = repetition_bytes();
        return n > 2 && at_ + n < in_.size() && in_[at_ + n] == '+';
    }

    // The escape that begins with the backslash at at_.
    std::string escape(bool in_class) {
        if (at_ + 1 >= in_.size()) {
            ++at_;
            return "\\";
        }
        const char c = in_[at_ + 1];
        if (c == 'p' || c == 'P') return property();
        if (c == 'u') return code_point();
        const std::size_t n = 1 + character_bytes(in_, at_ + 1);
        const std::string_view whole = in_.substr(at_, n);
        at_ += n;
        const auto set = [&](std::string_view members, bool negated) {
            return in_class ? std::string(members) : (negated ? "[^" : "[") + std::string(members) + "]";
        };
        if (c == 's') return "\\p{White_Space}";
        if (c == 'S') return "\\P{White_Space}";
        if (c == 'w') return set(kWordCharacters, false);
        if (c == 'W' && !in_class) return set(kWordCharacters, true);
        if (syntax_ == PatternSyntax::kOniguruma && c == 'h') return set("0-9a-fA-F", false);
        if (syntax_ == PatternSyntax::kOniguruma && c == 'H' && !in_class) return set("0-9a-fA-F", true);
        return std::string(whole);
    }

    // \p{Han}: a script gets PCRE2's sc:, since its name alone means the script's
    // extensions there.
    std::string property() {
        const std::size_t close = in_.find('}', at_);
        if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
            std::string two(in_.substr(at_, 2));
            at_ += 2;
            return two;
        }
        std::string text(in_.substr(at_, close + 1 - at_));
        at_ = close + 1;
        const std::size_t name = text.size() > 3 && text[3] == '^' ? 4 : 3;
        if (is_script(std::string_view(text).substr(name, text.size() - name - 1))) text.insert(name, "sc:");
        return text;
    }

    // \uHHHH, \u{H...}
    std::string code_point() {
        const std::string_view rest = in_.substr(at_ + 2);
        std::size_t n = 0;
        if (rest.starts_with('{')) {
            n = rest.find('}');
            if (n == std::string_view::npos) n = 0;
            at_ += 2 + (n > 0 ? n + 1 : 0);
            return "\\x" + std::string(rest.substr(0, n > 0 ? n + 1 : 0));
        }
        while (n < 4 && n < rest.size() && is_hex(rest[n])) ++n;
        at_ += 2 + n;
        return "\\x{" + std::string(rest.substr(0, n)) + "}";
    }

    static bool is_script(std::string_view name);

    // The class at at_, with its brackets. A class in a class adds its members.
    std::string character_class(int depth) {
        ++at_;
        const bool negated = at_ < in_.size() && in_[at_] == '^';
        if (negated) ++at_;
        std::vector<std::string> parts;  // the operands of &&, each a class
        std::string members;
        std::string only;  // the part so far is this class, and nothing else
        const auto end_part = [&] {
            parts.push_back(members.empty() && !only.empty() ? only : "[" + only_members(only) + members + "]");
            members.clear();
            only.clear();
        };
        bool first = true;
        while (at_ < in_.size() && (in_[at_] != ']' || first)) {
            first = false;
            if (in_.substr(at_).starts_with("&&")) {
                at_ += 2;
                end_part();
            } else if (in_.substr(at_).starts_with("[:") && in_.find(":]", at_) != std::string_view::npos) {
                const std::size_t n = in_.find(":]", at_) + 2 - at_;
                members += in_.substr(at_, n);
                at_ += n;
            } else if (in_[at_] == '[' && depth < kMaxNestedClasses) {
                const std::string inner = character_class(depth + 1);
                if (members.empty() && only.empty()) {
                    only = inner;
                } else {
                    members += only_members(inner);
                }
            } else if (in_[at_] == '\\') {
                members += escape(true);
            } else {
                const std::size_t n = character_bytes(in_, at_);
                members += in_.substr(at_, n);
                at_ += n;
            }
        }
        if (at_ < in_.size()) {
            ++at_;
        } else {
            return "[" + members;  // without an end: PCRE2 reports it
        }
        end_part();
        if (parts.size() == 1) {
            if (!negated) return parts[0];
            if (parts[0].starts_with("[^")) return "[" + parts[0].substr(2);
            if (parts[0].starts_with("[")) return "[^" + parts[0].substr(1);
        }
        std::string all = "(?:";
        for (std::size_t i = 1; i < parts.size(); ++i) all += "(?=" + parts[i] + ")";
        all += parts[0] + ")";
        return negated ? "(?:(?!" + all + ")(?s:.))" : all;
    }

    // The members of a class without its brackets. A negated class or an intersection
    // among other members has no such form: PCRE2 then gets a bracket in a class that it
    // refuses.
    static std::string only_members(const std::string& inner) {
        if (inner.empty()) return {};
        if (inner.starts_with("[^") || !inner.starts_with("[")) return "[:nested:]";
        return inner.substr(1, inner.size() - 2);
    }

    std::string_view in_;
    PatternSyntax syntax_;
    std::size_t at_ = 0;
    std::string out_;
};

// The scripts that patterns of tokenizers name.
bool PatternTranslator::is_script(std::string_view name) {
    static constexpr std::string_view kScripts[] = {
        "Arabic",    "Armenian", "Bengali",  "Bopomofo", "Cyrillic", "Devanagari", "Ethiopic",
        "Georgian",  "Greek",    "Gujarati", "Gurmukhi", "Han",      "Hangul",     "Hebrew",
        "Hiragana",  "Kannada",  "Katakana", "Khmer",    "Lao",      "Latin",      "Malayalam",
        "Mongolian", "Myanmar",  "Sinhala",  "Tamil",    "Telugu",   "Thai",       "Tibetan"};
    for (const std::string_view script : kScripts) {
        if (name == script) return true;
    }
    return false;
}

}  // namespace

std::string translate_pattern(std::string_view pattern, PatternSyntax syntax) {
    return PatternTranslator(pattern, syntax).run();
}

}  // namespace offstage::engine
