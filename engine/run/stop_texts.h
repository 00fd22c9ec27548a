#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace offstage::engine {

// Finds the first of some texts in an answer that arrives in pieces, and passes on only
// text that cannot be the beginning of one. One object for each answer.
class StopTexts {
  public:
    // None of them empty; none at all lets everything through.
    explicit StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}

    // Returns the text that may be shown now. Nothing more once a stop text was found.
    std::string push(std::string_view piece);
    // Returns the held-back text, which was no stop text.
    std::string finish();
    bool found() const { return !found_.empty(); }
    const std::string& found_text() const { return found_; }  // empty: none
    bool any() const { return !texts_.empty(); }

  private:
    std::vector<std::string> texts_;
    std::string held_;
    std::string found_;
};

}  // namespace offstage::engine
