#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/text_matcher.h"
#include "engine/text/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace offstage::engine {

// libsentencepiece for plain text, and our own search for special tokens around it.
class SentencePieceTokenizer final : public Tokenizer {
  public:
    // `model`: the bytes of tokenizer.model; `source`: its name in errors; `names`: of
    // pieces that the model has under another one.
    SentencePieceTokenizer(std::string_view model, const TokenizerConfig& config, std::int64_t vocab_size,
                           const std::string& source, const std::map<TokenId, std::string>& names = {});
    ~SentencePieceTokenizer() override;

    std::int64_t vocab_size() const override { return static_cast<std::int64_t>(tokens_.size()); }
    TokenId bos() const override { return bos_; }
    TokenId eos() const override { return eos_; }
    std::vector<TokenId> ends() const override { return with_eos(ends_); }
    bool adds_bos() const override { return adds_bos_; }
    bool adds_eos() const override { return adds_eos_; }
    std::vector<TokenId> encode(std::string_view utf8) const override;
    std::vector<TokenId> encode_prompt(const PromptText& prompt, const ChatTemplate* chat) const override;
    std::vector<TokenId> encode_after(TokenId before, std::string_view utf8, const ChatTemplate* chat) const override;
    std::string decode(std::span<const TokenId> tokens) const override;
    std::string piece_bytes(TokenId token) const override;
    bool begins_with_space() const override { return true; }
    std::string piece_name(TokenId token) const override;
    bool is_control(TokenId token) const override;
    TokenId special_token(std::string_view text) const override;

  private:
    enum class Kind : std::uint8_t { kAbsent, kPiece, kByte, kUnknown, kControl, kAdded };

    struct Token {
        std::string name;   // as in the vocabulary
        std::string bytes;  // added to a text already begun
        Kind kind = Kind::kAbsent;
    };

    struct Special {
        TokenId id = -1;
        bool lstrip = false;
        bool rstrip = false;
        bool single_word = false;
    };

    struct Part {
        PromptText text;
        const Special* special = nullptr;  // nullptr: text
    };

    void read_pieces(const std::string& unk_surface);
    void read_added(const TokenizerConfig& config);
    void read_named(const TokenizerConfig& config);
    TokenId piece_of(const std::string& text) const;  // -1: none
    TokenId named_token(const std::string& text, const char* field, const std::string& source) const;
    PromptText with_prefix(const PromptText& text) const;
    bool is_text_in_data(TokenId token, Markers& markers) const;
    std::vector<Part> split(const PromptText& text, Markers& markers) const;
    void apply_flags(std::vector<Part>& parts) const;
    void append_plain(std::string_view text, std::vector<TokenId>& ids) const;
    void append_part(std::string_view text, std::vector<TokenId>& ids) const;
    void append_data(const PromptText& text, Markers& markers, std::vector<TokenId>& ids) const;
    std::string private_character(std::string_view text) const;

    std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
    std::vector<Token> tokens_;  // by id
    TextMatcher<Special> specials_;
    TextMatcher<TokenId> user_defined_;  // by libsentencepiece, which finds them in any text
    bool strips_first_space_ = false;
    bool strips_leading_spaces_ = false;
    TokenId bos_ = -1;
    TokenId eos_ = -1;
    std::vector<TokenId> ends_;
    bool adds_bos_ = false;
    bool adds_eos_ = false;
    bool legacy_ = true;
    bool add_prefix_space_ = true;
    // "legacy": false only: a text put before parts that begin with a blank, which
    // sentencepiece might drop otherwise, and how many pieces it is.
    std::string guard_;
    std::size_t n_guard_pieces_ = 0;
};

}  // namespace offstage::engine
