#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/indices.h"

namespace offstage::engine {

// Byte pair encoding: a word begins as its characters (or bytes), and the pair of
// neighbours with the lowest rank is made one token until no pair has a rank. Immutable
// except for a cache of words; any thread.
class BpeModel {
  public:
    struct Merge {
        TokenId left = -1;
        TokenId right = -1;
        TokenId merged = -1;
        std::uint32_t rank = 0;
    };
    struct Options {
        bool byte_level = false;     // words are bytes, and so are the tokens
        bool byte_fallback = false;  // a character that is no token becomes its bytes' tokens, "<0x0A>"
        bool fuse_unknown = false;   // consecutive unknown characters become one unknown token
        bool whole_words = false;    // a word that is a token becomes that token, without merges ("ignore_merges")
        TokenId unknown = -1;        // for other characters; -1: nothing
    };

    // Another text of a token.
    struct Alias {
        std::string text;
        TokenId id = -1;
    };

    // `tokens`: by id, empty where there is none; of equal ones the last one counts.
    // `unlisted`: results of merges that are no tokens; their ids follow the tokens'. A
    // word that ends as one of them becomes the tokens of its bytes.
    BpeModel(std::vector<std::string> tokens, const std::vector<std::string>& unlisted,
             const std::vector<Merge>& merges, const Options& options, const std::vector<Alias>& aliases = {});
    ~BpeModel();

    std::int64_t size() const { return static_cast<std::int64_t>(n_tokens_); }  // without the unlisted ones
    const std::string& token(TokenId id) const { return tokens_[static_cast<std::size_t>(id)]; }
    TokenId id_of(std::string_view token) const;  // -1: none

    // Takes a buffer and a word cache from the model, and returns them: one for each text
    // that is encoded.
    class Encoder {
      public:
        explicit Encoder(const BpeModel& model);
        ~Encoder();
        Encoder(const Encoder&) = delete;
        Encoder& operator=(const Encoder&) = delete;

        void encode(std::string_view word, std::vector<TokenId>& ids);

      private:
        struct Room;
        friend class BpeModel;

        void begin(std::string_view word);
        void add_unknown(TokenId& pending);
        void add_symbol(TokenId id);
        void append(TokenId id, std::vector<TokenId>& ids) const;
        void merge();
        void offer(std::int32_t at);

        const BpeModel& model_;
        std::unique_ptr<Room> room_;
    };

  private:
    // Open addressing: the slots of a table of 2^n.
    void index_tokens(std::size_t from);
    void index_merges(const std::vector<Merge>& merges);
    struct Pair {
        std::uint64_t key = 0;  // left and right, as pair_key() gives them; 0: free
        std::uint32_t rank = 0;
        TokenId merged = -1;
    };
    const Pair* find(TokenId left, TokenId right) const;

    std::vector<std::string> tokens_;
    std::size_t n_tokens_ = 0;  // the rest are unlisted, then aliases
    std::vector<TokenId> alias_ids_;
    Options options_;
    std::vector<TokenId> token_slots_;
    std::vector<Pair> pairs_;
    TokenId byte_tokens_[256];  // byte_level: of each byte; byte_fallback: "<0xXX>"; -1: none
    mutable std::mutex rooms_mutex_;
    mutable std::vector<std::unique_ptr<Encoder::Room>> rooms_;
};

}  // namespace offstage::engine
