#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace offstage::engine {

// Texts that are looked for in a longer one, each with a value: special and added tokens.
template <typename Value>
class TextMatcher {
  public:
    struct Match {
        std::size_t n_bytes = 0;  // 0: none
        const Value* value = nullptr;
    };

    // `text` must not be empty; an existing one gets the new value.
    void add(const std::string& text, Value value) {
        values_.insert_or_assign(text, std::move(value));
        auto& lengths = lengths_[static_cast<unsigned char>(text.front())];
        const auto at = std::lower_bound(lengths.begin(), lengths.end(), text.size(), std::greater<>());
        if (at == lengths.end() || *at != text.size()) lengths.insert(at, text.size());
    }

    bool empty() const { return values_.empty(); }
    const Value* find(std::string_view text) const {
        const auto it = values_.find(text);
        return it == values_.end() ? nullptr : &it->second;
    }
    Value* find(std::string_view text) {
        const auto it = values_.find(text);
        return it == values_.end() ? nullptr : &it->second;
    }

    // The longest text of at most `max_bytes` that begins at `at`.
    Match match_at(std::string_view text, std::size_t at, std::size_t max_bytes = std::string::npos) const {
        for (const std::size_t n : lengths_[static_cast<unsigned char>(text[at])]) {
            if (n > std::min(text.size() - at, max_bytes)) continue;
            if (const Value* value = find(text.substr(at, n))) return {n, value};
        }
        return {};
    }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };

    std::unordered_map<std::string, Value, Hash, std::equal_to<>> values_;
    std::array<std::vector<std::size_t>, 256> lengths_;  // by first byte, longest first
};

}  // namespace offstage::engine
