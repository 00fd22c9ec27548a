#pragma once
// The tokenizer of a GGUF file, written token by token.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <QString>

#include "engine/error.h"
#include "engine/files/gguf.h"
#include "engine/text/tokenizer.h"
#include "engine/text/utf8.h"
#include "tests/engine/gguf_writer.h"

namespace offstage::tests::gguf_tokens {

inline constexpr int kVocabSize = 4096;
using Ids = std::vector<engine::TokenId>;

enum Type : std::int32_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

// The tokens of a file, by id.
struct Tokens {
    std::vector<std::string> names;
    std::vector<std::int32_t> types;
    std::vector<float> scores;

    Tokens& add(const std::string& name, Type type = kNormal, float score = 0) {
        names.push_back(name);
        types.push_back(type);
        scores.push_back(score);
        return *this;
    }
    void put(std::size_t id, const std::string& name, Type type) {
        while (names.size() <= id) add("[PAD" + std::to_string(names.size()) + "]", kUnused);
        names[id] = name;
        types[id] = type;
    }
    GgufWriter writer(const std::string& model) const {
        GgufWriter writer;
        writer.add("general.architecture", "llama").add("tokenizer.ggml.model", model);
        writer.add("tokenizer.ggml.tokens", names).add("tokenizer.ggml.token_type", types);
        if (model == "llama") writer.add("tokenizer.ggml.scores", scores);
        return writer;
    }
};

inline std::unique_ptr<engine::Tokenizer> open(const GgufWriter& writer, std::int64_t vocab_size = kVocabSize) {
    const std::string file = writer.bytes();
    return engine::Tokenizer::open(engine::parse_gguf(std::as_bytes(std::span(file)), "model.gguf").metadata,
                                   vocab_size);
}

inline std::optional<engine::Error> error_of(const GgufWriter& writer, std::int64_t vocab_size = kVocabSize) {
    try {
        open(writer, vocab_size);
    } catch (const engine::Error& error) {
        return error;
    }
    return std::nullopt;
}

// Each byte as a token, then these merges' results and special tokens.
inline Tokens byte_tokens() {
    Tokens tokens;
    for (std::uint32_t c = 0; c < 256; ++c) {
        std::string name;
        const bool printable = (c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || c >= 0xAE;
        static std::uint32_t next = 0x100;
        if (c == 0) next = 0x100;
        engine::append_utf8(printable ? c : next++, name);
        tokens.add(name);
    }
    return tokens;
}
inline GgufWriter small_bpe(Tokens more = {}) {
    Tokens tokens = byte_tokens();
    tokens.add("ab").add("abc");  // 256, 257
    for (std::size_t i = 0; i < more.names.size(); ++i) tokens.add(more.names[i], static_cast<Type>(more.types[i]));
    return tokens.writer("gpt2")
        .add("tokenizer.ggml.pre", "gpt-2")
        .add("tokenizer.ggml.merges", std::vector<std::string>{"a b", "ab c"});
}

// <unk> 0, <s> 1, </s> 2, bytes 3 to 258, then these.
inline Tokens small_pieces() {
    Tokens tokens;
    tokens.add("<unk>", kUnknown).add("<s>", kControl).add("</s>", kControl);
    for (int byte = 0; byte < 256; ++byte) {
        tokens.add(QString::asprintf("<0x%02X>", byte).toStdString(), kByte);
    }
    tokens.add("\u2581", kNormal, -3).add("a", kNormal, -4).add("b", kNormal, -5);  // 259 to 261
    return tokens.add("\u2581a", kNormal, -1).add("ab", kNormal, -2);               // 262, 263
}

}  // namespace offstage::tests::gguf_tokens
