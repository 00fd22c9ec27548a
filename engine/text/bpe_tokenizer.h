#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/bpe_parts.h"
#include "engine/text/text_matcher.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {

// Byte pair encoding as the libraries tokenizers (tokenizer.json) and tiktoken run it:
// added tokens are cut out, the rest is normalized, cut into words, and each word merged.
// encode() looks for the added tokens that are not special, as there.
class BpeTokenizer final : public Tokenizer {
  public:
    // `source`: the file's name in errors. Throws Error (kInvalidModel) naming the file
    // and the field when the parts contradict one another or `config`.
    BpeTokenizer(BpeParts parts, const TokenizerConfig& config, std::int64_t vocab_size, const std::string& source);

    std::int64_t vocab_size() const override { return vocab_size_; }
    TokenId bos() const override { return bos_; }
    TokenId eos() const override { return eos_; }
    std::vector<TokenId> ends() const override { return with_eos(ends_); }
    bool adds_bos() const override { return std::find(prefix_.begin(), prefix_.end(), bos_) != prefix_.end(); }
    bool adds_eos() const override { return std::find(suffix_.begin(), suffix_.end(), eos_) != suffix_.end(); }
    std::vector<TokenId> prefix() const override { return prefix_; }
    std::vector<TokenId> suffix() const override { return suffix_; }
    std::vector<TokenId> encode(std::string_view utf8) const override;
    std::vector<TokenId> encode_prompt(const PromptText& prompt, const ChatTemplate* chat) const override;
    std::vector<TokenId> encode_after(TokenId before, std::string_view utf8, const ChatTemplate* chat) const override;
    std::string decode(std::span<const TokenId> tokens) const override;
    std::string piece_bytes(TokenId token) const override;
    bool begins_with_space() const override { return decoder_.strips_space(); }
    std::string piece_name(TokenId token) const override;
    bool is_control(TokenId token) const override;
    TokenId special_token(std::string_view text) const override;

  private:
    struct Part;
    void read_added(std::vector<AddedToken> added, const TokenizerConfig& config, std::int64_t vocab_size,
                    const std::string& source);
    void read_ends(const BpeParts& parts, const TokenizerConfig& config, const std::string& source);
    std::string vocabulary_name(TokenId token) const;
    std::string decoder_name(TokenId token) const;      // the decoder's input; empty: no text
    TokenId id_of_name(const std::string& name) const;  // added, or in the vocabulary; -1: none
    std::vector<TokenId> encode_text(const PromptText& text, const ChatTemplate* chat, bool is_first) const;
    std::vector<Part> cut_out(const PromptText& text, const TextMatcher<TokenId>& matcher,
                              const std::function<bool(const AddedToken&)>& is_text_in_data) const;

    TextNormalizer normalizer_;
    PreTokenizer pre_tokenizer_;
    TokenDecoder decoder_;
    BpeModel model_;
    bool byte_level_ = false;
    std::unordered_map<TokenId, std::string> other_names_;
    std::map<TokenId, AddedToken> added_;
    std::vector<TokenId> silent_;              // by rising id
    TextMatcher<TokenId> raw_matcher_;         // added tokens that are looked for in the text as it is
    TextMatcher<TokenId> normalized_matcher_;  // and in normalized text
    std::int64_t vocab_size_ = 0;
    TokenId bos_ = -1;
    TokenId eos_ = -1;
    std::vector<TokenId> ends_;
    std::vector<TokenId> prefix_, suffix_;
};

}  // namespace offstage::engine
