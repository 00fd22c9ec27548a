#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/text/tokenizer.h"

namespace offstage::engine {

// A lower bound of a text's number of tokens, without encoding it: no token is longer
// than the vocabulary's longest. White space and characters that a normalizer may drop
// count little, as if three of four were dropped: a text of nothing else is refused when
// it is four times as long as any that fits. Immutable; any thread.
class TokenBound {
  public:
    // Looks at the whole vocabulary.
    explicit TokenBound(const Tokenizer& tokenizer);
    std::int64_t at_least(std::string_view text) const;

  private:
    double longest_ = 1;               // bytes of the longest token
    std::array<double, 256> share_{};  // of a token, by a character's first byte: the least share of each of its bytes
};

}  // namespace offstage::engine
