#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/indices.h"

namespace offstage::engine {

// Drafts by prompt lookup (Saxena, 2023): an earlier place of the conversation that ends
// with its last tokens, and the tokens that followed there. A search costs microseconds
// at any length: places with the same one, two or three last tokens are chained by a
// hash, as in LZ77, and few of a chain are looked at. One thread.
class PromptLookup {
  public:
    static constexpr std::size_t kLongestMatch = 8;  // tokens; longer ones count as this

    PromptLookup();

    void add(TokenId token);  // to the conversation
    std::size_t size() const { return tokens_.size(); }

    // Writes draft.size() tokens that may follow, and returns how many last tokens of the
    // conversation the place has in common; 0: no place, nothing is written. Of several
    // the one with the longest match, of equals the latest.
    std::size_t find(std::span<TokenId> draft) const;

  private:
    static constexpr std::size_t kLongestGram = 3;
    static constexpr std::size_t kHashBits = 14;
    static constexpr int kLookedAt = 16;  // places of a chain

    // Places, as the number of tokens before them, of one length of n-gram.
    struct Chains {
        std::vector<std::int32_t> newest;  // by hash; 0: none
        std::vector<std::int32_t> before;  // the next older place with the hash, by place
    };
    std::size_t hash_before(std::size_t place, std::size_t n) const;
    std::size_t match_before(std::size_t place) const;

    std::vector<TokenId> tokens_;
    std::array<Chains, kLongestGram> chains_;  // of 1, 2, 3 tokens; without the end of the conversation
};

}  // namespace offstage::engine
