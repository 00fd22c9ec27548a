#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/indices.h"
#include "engine/message.h"
#include "engine/text/prompt_text.h"
#include "engine/text/utf8.h"

namespace offstage::engine {

class ChatTemplate;
class GgufMetadata;

// Text to tokens and back. Immutable after open(); may be used from any thread at once.
class Tokenizer {
  public:
    // Opens the first of these in DIR, in the order of AutoTokenizer of Hugging Face
    // transformers 5:
    //   tokenizer.json    byte pair encoding: as Hugging Face tokenizers does; one of
    //                     another kind counts only if there is no tokenizer.model;
    //   tokenizer.model   sentencepiece: encodes as the LlamaTokenizer of Hugging Face
    //                     transformers 4 does that runs it;
    //   *.tiktoken, tiktoken.model, or a tokenizer.model of that format: as OpenAI's
    //                     tiktoken does, with the pattern that tokenizer_config.json
    //                     gives or names.
    // tokenizer_config.json is read as well, if it exists (added_tokens_decoder, the
    // special tokens' names, legacy, add_prefix_space, add_bos_token, add_eos_token;
    // special_tokens_map.json and added_tokens.json for missing fields). Throws Error
    // with the file and the field: missing, damaged, larger than `vocab_size` of the
    // model, or of an unknown kind. Instead of DIR, a GGUF file, or the first one of a
    // split model: its metadata are read, as below.
    static std::unique_ptr<Tokenizer> open(const std::filesystem::path& directory, std::int64_t vocab_size);
    // Whether there is a file, or a tokenizer in a GGUF file, that open() would read.
    // Throws Error if a GGUF file cannot be read.
    static bool is_in(const std::filesystem::path& directory);
    // Throws the errors of open(), if there is something to open, except those inside of
    // a tokenizer.json's vocabulary and merges: in milliseconds.
    static void check(const std::filesystem::path& directory, std::int64_t vocab_size);

    // "tokenizer.ggml.*" of a GGUF file, by "tokenizer.ggml.model":
    //   llama           sentencepiece, each text between special tokens separately,
    //                   with a blank before it unless add_space_prefix is false;
    //   gpt2, gemma4    byte pair encoding, cut into words by "tokenizer.ggml.pre"
    //                   (gguf_pre_tokenizer.h); also Gemma 4's with llama, as
    //                   Ollama's converter writes it.
    // Throws Error with the file, the key, the actual and the expected value: kNotFound
    // (no tokenizer), kUnsupported (another model or pre), kInvalidModel.
    static std::unique_ptr<Tokenizer> open(const GgufMetadata& metadata, std::int64_t vocab_size);
    static bool is_in(const GgufMetadata& metadata);
    static void check(const GgufMetadata& metadata, std::int64_t vocab_size);
    virtual ~Tokenizer() = default;

    virtual std::int64_t vocab_size() const = 0;
    virtual TokenId bos() const = 0;  // -1: none
    virtual TokenId eos() const = 0;  // -1: none
    // Every token that ends a turn: eos(), if there is one, and further ones of a GGUF
    // file.
    virtual std::vector<TokenId> ends() const = 0;
    // Whether a text without a template should begin with bos(): add_bos_token of
    // tokenizer_config.json; if that is missing, true when there is a bos.
    virtual bool adds_bos() const = 0;
    // The same for its end and eos(): add_eos_token; false if that is missing.
    virtual bool adds_eos() const = 0;
    // All tokens around such a text: bos() and eos(), as described above; with a
    // tokenizer.json every special token that its TemplateProcessing puts around one text
    // ("[gMASK]<sop>" of GLM-4.5), where add_bos_token and add_eos_token add or remove
    // only bos() and eos().
    virtual std::vector<TokenId> prefix() const;
    virtual std::vector<TokenId> suffix() const;

    // Plain text, exactly as the library named above: no special token is recognised,
    // none is added. With sentencepiece, if "legacy" is false add_prefix_space decides
    // whether the text begins with a blank piece, otherwise the model. Throws Error
    // (kInvalidInput) when the text is not UTF-8 or longer than 16 MiB.
    virtual std::vector<TokenId> encode(std::string_view utf8) const = 0;

    // The strings of special tokens (added tokens, named ones and control pieces) become
    // their ids; the longest match comes first. Each stretch between them is encoded
    // separately like encode(); with "legacy": false without a prefix, unless it begins
    // the text. An added token marked lstrip or rstrip also takes the white space beside
    // it; one marked single_word counts only between blanks. Same errors.
    std::vector<TokenId> encode_with_special(std::string_view utf8) const { return encode_prompt(utf8, nullptr); }

    // The same for a prompt that `chat` has rendered (nullptr: no template). Where a
    // special token's string has data, it is text. So is that of an added token that is
    // not special but is a marker in this template's prompts (Markers below); other added
    // tokens, for example of white space, are found in data as well.
    virtual std::vector<TokenId> encode_prompt(const PromptText& prompt, const ChatTemplate* chat) const = 0;

    // Data that go on after the token `before`, which ends what encode_prompt() gave:
    // encode(), but that with "legacy": false a text after a special token gets no
    // prefix, and that markers are text. Same errors.
    virtual std::vector<TokenId> encode_after(TokenId before, std::string_view utf8,
                                              const ChatTemplate* chat) const = 0;

    // Whole text of the tokens, as the same library does it; control tokens (bos, eos,
    // turn markers) and ids outside the vocabulary give nothing. Holds U+FFFD for each
    // byte piece that is no UTF-8 (sentencepiece, byte_fallback), or for each part of a
    // character that is incomplete (byte-level).
    virtual std::string decode(std::span<const TokenId> tokens) const = 0;

    // Raw bytes that one token adds to a text already begun (sentencepiece's U+2581 as a
    // space; a byte piece as its byte; control tokens nothing). Concatenating the pieces
    // of a sequence gives its text, except for one leading space if begins_with_space().
    virtual std::string piece_bytes(TokenId token) const = 0;
    virtual bool begins_with_space() const = 0;  // encode() puts a space before a text, which decode() takes away
    virtual std::string piece_name(TokenId token) const = 0;  // as in the vocabulary, for display
    virtual bool is_control(TokenId token) const = 0;
    // -1 if the string is not a special token: encode_with_special() does not look for
    // it.
    virtual TokenId special_token(std::string_view text) const = 0;

    // Parts of the file that are read differently from their values, a sentence each.
    const std::vector<Message>& notes() const { return notes_; }

  protected:
    // `ends` with eos() at their beginning.
    std::vector<TokenId> with_eos(std::vector<TokenId> ends) const;
    // Throws what encode() throws for texts that are too long or no UTF-8.
    static void check_text(std::string_view text);
    // The added tokens that data must not write, special or not: `chat` writes them or
    // looks for them, or they have the form <|...|>. White space is none.
    class Markers {
      public:
        explicit Markers(const ChatTemplate* chat) : chat_(chat) {}
        bool contains(TokenId token, std::string_view content);

      private:
        const ChatTemplate* chat_;
        std::unordered_map<TokenId, bool> known_;
    };

  private:
    std::vector<Message> notes_;
};

}  // namespace offstage::engine
