#include "engine/manual/manual_answers.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utf8proc.h>

namespace offstage::engine {
namespace {

constexpr std::size_t kLongestQuestion = 20;                      // words
constexpr std::size_t kFewestFound = 2;                           // words of a question that a part of a page must have
constexpr std::string_view kPlaceHeading = "\n## Where it is\n";  // of a panel's page, its last
constexpr std::string_view kPlace = kPlaceHeading.substr(4, kPlaceHeading.size() - 5);

struct Block {
    std::string text, plain;
};

// Words alone, each between blanks, in one case.
std::string plain_words(std::string_view text) {
    utf8proc_uint8_t* found = nullptr;
    const utf8proc_ssize_t n =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &found, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(found, std::free);
    std::string out = " ";
    utf8proc_int32_t c = 0;
    for (utf8proc_ssize_t at = 0, size = 0; at < n; at += size) {
        size = std::max<utf8proc_ssize_t>(utf8proc_iterate(found + at, n - at, &c), 1);
        const utf8proc_category_t kind = utf8proc_category(c);
        const bool is_letter = kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
        if (is_letter || (kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO)) {
            out.append(reinterpret_cast<const char*>(found + at), static_cast<std::size_t>(size));
        } else if (out.back() != ' ') {
            out += ' ';
        }
    }
    if (out.back() != ' ') out += ' ';
    return out;
}

std::vector<std::string> words_in(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(std::move(word));
    return words;
}

// With marks of its begin and end.
std::string whole_question(const std::string& plain) {
    return '^' + plain + '$';
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

bool has_one_of(const std::string& plain, const std::vector<std::string>& phrases) {
    return std::any_of(phrases.begin(), phrases.end(), [&](const std::string& each) { return has(plain, each); });
}

void replace_all(std::string& text, const std::string& part, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size()) {
        text.replace(at, part.size(), by);
    }
}

// Of a phrase without a blank at its end, all of each word that begins so.
void translate_all(std::string& text, const std::string& phrase, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(phrase, at)) != std::string::npos; at += by.size() - 1) {
        const std::size_t end = text.find(' ', at + phrase.size() - 1);
        text.replace(at, end + 1 - at, by);
    }
}

// As it is looked for in plain_words().
std::string phrase_of(const std::string& typed) {
    std::string words = plain_words(typed);
    if (words == " ") return {};
    if (has(typed, "=")) words = whole_question(words);
    if (typed.back() == '*') words.pop_back();
    return words;
}

// The texts of all languages.
std::vector<std::string> in_all_languages(const nlohmann::json& object, const char* name) {
    std::vector<std::string> out;
    if (const auto lists = object.find(name); lists != object.end()) {
        for (const auto& list : *lists) out.push_back(list.get<std::string>());
    }
    return out;
}

std::vector<std::string> phrases_of(const nlohmann::json& object, const char* name) {
    std::vector<std::string> out;
    for (const std::string& list : in_all_languages(object, name)) {
        std::istringstream in(list);
        for (std::string phrase; std::getline(in, phrase, ',');) {
            if (std::string words = phrase_of(phrase); !words.empty()) out.push_back(std::move(words));
        }
    }
    return out;
}

// The lines of a page below the heading, or of the whole page without where its panel is.
std::string section_of(const std::string& page, const std::string& heading) {
    std::istringstream lines(page);
    std::string text;
    bool is_in = heading.empty();
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("<!--")) continue;
        if (line.starts_with("## ")) {
            const std::string_view name = std::string_view(line).substr(3);
            is_in = heading.empty() ? name != kPlace : name == heading;
            line.clear();
        }
        if (is_in) text += line + '\n';
    }
    return text;
}

// Paragraphs and whole lists: what can be read by itself. No headings, code or tables.
std::vector<Block> blocks_of(const std::string& page, const std::string& heading) {
    const std::string text = section_of(page, heading);
    std::vector<Block> blocks;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 2) {
        end = std::min(text.find("\n\n", begin), text.size());
        std::string_view block = std::string_view(text).substr(begin, end - begin);
        block.remove_prefix(std::min(block.find_first_not_of('\n'), block.size()));
        while (!block.empty() && block.back() == '\n') block.remove_suffix(1);
        if (block.empty() || block.starts_with("    ") || block.starts_with('#') || block.starts_with('|')) continue;
        blocks.push_back({std::string(block), plain_words(block)});
    }
    return blocks;
}

std::size_t n_found(const Block& block, const std::vector<std::string>& words) {
    return static_cast<std::size_t>(
        std::count_if(words.begin(), words.end(), [&](const std::string& word) { return has(block.plain, word); }));
}

// The first one with most of the words, where it has at least two of them; else the first,
// of which `begins` says that it is about the whole: another one has two words more.
Block best_of(const std::vector<Block>& blocks, const std::vector<std::string>& words, bool begins = false) {
    Block best = blocks.empty() ? Block() : blocks.front();
    std::size_t n_best = n_found(best, words) + (begins ? 1 : 0);
    for (const Block& each : blocks) {
        if (const std::size_t n = n_found(each, words); n >= std::max(kFewestFound, n_best + 1)) {
            best = each;
            n_best = n;
        }
    }
    return best;
}

std::string title_of(const std::string& page) {
    return page.size() < 2 ? std::string() : page.substr(2, page.find('\n') - 2);
}

// Without its ending, as far as these languages have one.
std::string stem(std::string word) {
    const auto n_letters = std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xc0) != 0x80; });
    for (const std::string_view ending : {"ing", "es", "s", "e"}) {
        if (n_letters > 4 && std::string_view(word).ends_with(ending)) {
            word.erase(word.size() - ending.size());
            break;
        }
    }
    return word;
}

}  // namespace

ManualAnswers::ManualAnswers(ReadFn read) : read_(std::move(read)) {
    const std::string text = read_("questions.json");
    if (text.empty()) return;
    const nlohmann::json all = nlohmann::json::parse(text);
    const std::pair<const char*, Phrases*> lists[] = {
        {"program", &program_},   {"frames", &frames_},   {"polite", &polite_},   {"tasks", &tasks_},
        {"subjects", &subjects_}, {"answers", &answers_}, {"changes", &changes_}, {"places", &places_}};
    for (const auto& [name, list] : lists) *list = phrases_of(all, name);
    for (const std::string& word : words_in(all.at("skipped").get<std::string>())) skipped_.insert(word);
    plain_.emplace_back("en", std::unordered_set<std::string>());
    for (const auto& [language, list] : all.at("plain").items()) {
        if (language != plain_.front().first) plain_.emplace_back(language, std::unordered_set<std::string>());
        auto& words = language == plain_.front().first ? plain_.front().second : plain_.back().second;
        for (const std::string& word : words_in(plain_words(list.get<std::string>()))) words.insert(word);
    }
    for (const auto& language : all.at("words")) {
        for (const auto& [phrase, english] : language.items()) {
            if (std::string words = phrase_of(phrase); !words.empty()) {
                english_.emplace_back(std::move(words), plain_words(english.get<std::string>()));
            }
        }
    }
    std::stable_sort(english_.begin(), english_.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (const auto& topic : all.at("topics")) {
        const auto page = topic.at("page").get<std::string>();
        topics_.push_back({page, topic.value("from", page), topic.at("heading").get<std::string>(),
                           phrases_of(topic, "sure"), phrases_of(topic, "asked"), phrases_of(topic, "named"),
                           phrases_of(topic, "things")});
    }
}

// Nothing but words that ask, and at least one of them.
bool ManualAnswers::is_plain_beside(const std::string& whole, const std::string& thing) const {
    std::string rest = whole;
    replace_all(rest, thing, " ");
    const std::vector<std::string> words = words_in(rest.substr(1, rest.size() - 2));
    return !words.empty() && std::all_of(words.begin(), words.end(), [this](const std::string& word) {
        return std::any_of(plain_.begin(), plain_.end(), [&](const auto& each) { return each.second.contains(word); });
    });
}

// The one with most of the words that ask; of equals the first.
std::string ManualAnswers::language_of(const std::string& plain) const {
    const std::vector<std::string> words = words_in(plain);
    const auto n_known = [&words](const auto& language) {
        return std::count_if(words.begin(), words.end(),
                             [&](const std::string& word) { return language.second.contains(word); });
    };
    const auto most = std::max_element(plain_.begin(), plain_.end(),
                                       [&](const auto& a, const auto& b) { return n_known(a) < n_known(b); });
    return most == plain_.end() ? std::string() : most->first;
}

// By the longest phrase; of equals the first. A question that only names the program is
// of the topic without a page.
const ManualAnswers::Topic* ManualAnswers::topic_of(const std::string& plain) const {
    const std::string whole = whole_question(plain);
    const Topic *best = nullptr, *any = nullptr;
    std::size_t longest = 0;
    const auto take = [&](const Topic& topic, const Phrases& phrases, bool is_thing = false) {
        for (const std::string& phrase : phrases) {
            if (phrase.size() > longest && has(whole, phrase) && (!is_thing || is_plain_beside(whole, phrase))) {
                longest = phrase.size();
                best = &topic;
            }
        }
    };
    const bool is_named = has_one_of(plain, program_), is_asked = is_named || has_one_of(plain, frames_);
    for (const Topic& topic : topics_) {
        take(topic, topic.sure);
        if (is_asked) take(topic, topic.asked);
        if (is_named) take(topic, topic.named);
        take(topic, topic.things, true);
        if (topic.page.empty()) any = &topic;
    }
    return best == nullptr && is_named ? any : best;
}

bool ManualAnswers::is_task(const std::string& plain) const {
    std::string_view rest = plain;
    for (bool is_polite = true; is_polite;) {
        is_polite = false;
        for (const std::string& phrase : polite_) {
            if (rest.starts_with(phrase)) {
                rest.remove_prefix(phrase.size() - 1);
                is_polite = true;
            }
        }
    }
    return has_one_of(plain, subjects_) ||
           std::any_of(tasks_.begin(), tasks_.end(), [&](const std::string& each) { return rest.starts_with(each); });
}

// The beginnings of the words that say what is asked, in the manual's language.
ManualAnswers::Phrases ManualAnswers::content_of(const std::string& plain) const {
    std::string rest = plain;
    for (const std::string& phrase : program_) replace_all(rest, phrase, " ");
    for (const auto& [phrase, english] : english_) translate_all(rest, phrase, english);
    Phrases words;
    for (std::string& word : words_in(rest)) {
        if (!skipped_.contains(word)) words.emplace_back(" ").append(stem(std::move(word)));
    }
    return words;
}

// In the order of the manual's list of pages.
ManualAnswer ManualAnswers::found_in_any(const Phrases& words) const {
    const std::string list = read_("en/README.md");
    for (std::size_t at = 0; words.size() >= kFewestFound && (at = list.find("](", at)) != std::string::npos;) {
        at += 2;
        const std::string page = list.substr(at, list.find(')', at) - at);
        const std::size_t ending = page.find(".md");
        if (ending == std::string::npos || ending + 3 != page.size()) continue;
        const std::string text = read_("en/" + page);
        const Block block = best_of(blocks_of(text, {}), words);
        if (n_found(block, words) == words.size()) {
            return {page.substr(0, ending), title_of(text), block.text, false, {}};
        }
    }
    return {"start", title_of(read_("en/start.md")), {}, false, {}};
}

ManualAnswer ManualAnswers::answer_from(const Topic& topic, const std::string& plain) const {
    const Phrases words = content_of(plain);
    if (topic.page.empty()) return found_in_any(words);
    const std::string page = read_("en/" + topic.page + ".md");
    const std::string from = topic.from == topic.page ? page : read_("en/" + topic.from + ".md");
    const bool asks_place = has_one_of(plain, places_) && topic.heading.empty() && has(page, kPlaceHeading);
    const std::string heading = asks_place ? std::string(kPlace) : topic.heading;
    return {topic.page,
            title_of(page),
            best_of(blocks_of(from, heading), topic.from == topic.page ? words : Phrases(), !heading.empty()).text,
            topic.page == "models" && topic.heading == "What can be opened",
            {}};
}

ManualAnswer ManualAnswers::part_of(const std::string& page, const std::string& heading) const {
    return answer_from({page, page, heading, {}, {}, {}, {}}, {});
}

std::optional<ManualAnswer> ManualAnswers::answer_of(std::string_view typed) const {
    const std::string plain = plain_words(typed);
    std::string_view trimmed = typed;
    while (!trimmed.empty() && static_cast<unsigned char>(trimmed.back()) <= ' ') trimmed.remove_suffix(1);
    while (!trimmed.empty() && static_cast<unsigned char>(trimmed.front()) <= ' ') trimmed.remove_prefix(1);
    const auto n_blanks = static_cast<std::size_t>(std::count(plain.begin(), plain.end(), ' '));
    const bool is_long = trimmed.find('\n') != std::string_view::npos || n_blanks > kLongestQuestion + 1;
    const bool goes_on = has_one_of(plain, answers_) && has_one_of(plain, changes_);
    if (is_long || goes_on || is_task(plain)) return std::nullopt;
    const Topic* const topic = topic_of(plain);
    if (topic == nullptr) return std::nullopt;
    ManualAnswer answer = answer_from(*topic, plain);
    answer.language = language_of(plain);
    return answer;
}

}  // namespace offstage::engine
