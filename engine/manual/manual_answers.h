#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace offstage::engine {

// What the manual says to a question about the program, so that no model need know it.
struct ManualAnswer {
    std::string page;             // "models": resources/help/en/models.md
    std::string title;            // its first heading
    std::string text;             // a part of it, Markdown; empty: no part is known to suit
    bool lists_families = false;  // the names of families belong to it: family_names()
    std::string language;         // of the question ("de"); empty: nothing was asked
};

// Knows questions about the program in all of the window's languages, by the phrases of
// resources/help/questions.json, and finds their answers in the manual. What is taken
// falsely is worse than what is missed. Any thread.
class ManualAnswers {
  public:
    // The text of a file of resources/help ("questions.json", "en/models.md"); empty: there
    // is none. Any thread.
    using ReadFn = std::function<std::string(const std::string& file)>;

    // Without questions.json no question is known. Throws nlohmann::json::exception where
    // that is no such file.
    explicit ManualAnswers(ReadFn read);

    // The answer of a short text that is about this program: the part of a page that suits
    // best, or where to look. Nothing: it is about something else, goes on with the
    // conversation, or asks for what only a model can do.
    std::optional<ManualAnswer> answer_of(std::string_view typed) const;
    // The first part of a page below a heading; of the whole page without one.
    ManualAnswer part_of(const std::string& page, const std::string& heading) const;

  private:
    // Words between blanks. Where the beginning of the last word counts there is no blank
    // behind it; that of a whole question has the marks of its begin and end.
    using Phrases = std::vector<std::string>;
    struct Topic {
        std::string page, from, heading;     // of the text, in the page `from`; no page: in any
        Phrases sure, asked, named, things;  // see questions.json
    };

    const Topic* topic_of(const std::string& plain) const;
    bool is_task(const std::string& plain) const;
    bool is_plain_beside(const std::string& whole, const std::string& thing) const;
    std::string language_of(const std::string& plain) const;
    ManualAnswer answer_from(const Topic& topic, const std::string& plain) const;
    ManualAnswer found_in_any(const Phrases& words) const;
    Phrases content_of(const std::string& plain) const;

    ReadFn read_;
    std::vector<Topic> topics_;
    Phrases program_, frames_, polite_, tasks_, subjects_, answers_, changes_, places_;
    std::unordered_set<std::string> skipped_;
    std::vector<std::pair<std::string, std::unordered_set<std::string>>> plain_;  // by language, English first
    std::vector<std::pair<std::string, std::string>> english_;  // of other languages, the longest first
};

}  // namespace offstage::engine
