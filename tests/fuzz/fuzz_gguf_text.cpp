// Reads a damaged GGUF file: its header, then the tokenizer and the chat template in its
// metadata, and encodes and decodes with valid ones. Start it with the stored inputs:
// without them it takes long to find a file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/files/gguf.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

using namespace offstage::engine;

namespace {

constexpr std::string_view kSource = "model.gguf";

void play(const Tokenizer& tokenizer) {
    static const std::string kText =
        std::string("  Cafe\xCC\x81 \xEF\xBD\xB6\xE3\x8D\xBF 12 <tool>\n\t<|end|>\xF0\x9F\x91\xA9 \xC2\xA0 abc cab") +
        '\0' + "b \xEF\xB7\xBA don't 345 \xE6\xBC\x94 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \xD0\xB0 ";
    std::vector<TokenId> ids = tokenizer.encode_with_special(kText);
    for (const TokenId id : tokenizer.encode_after(0, kText, nullptr)) ids.push_back(id);
    for (const TokenId id : tokenizer.ends()) {
        if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
    }
    for (TokenId id = -1; id < 300; ++id) ids.push_back(id);
    Utf8Stream stream;
    for (const TokenId id : ids) {
        if (find_invalid_utf8(stream.push(tokenizer.piece_bytes(id))) != std::string::npos) std::abort();
        tokenizer.piece_name(id);
    }
    if (find_invalid_utf8(tokenizer.decode(ids)) != std::string::npos) std::abort();
}

template <typename Action>
void expect_named_errors(Action action) {
    try {
        action();
    } catch (const Error& error) {
        const bool is_input = error.kind() == ErrorKind::kInvalidInput;  // about a text or a template
        if (!is_input && !std::string_view(error.what()).starts_with(kSource)) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    expect_named_errors([&] {
        const GgufHeader header = parse_gguf(std::as_bytes(std::span(data, size)), std::string(kSource));
        for (const GgufTensor& tensor : header.tensors) {
            if (tensor.offset > size) std::abort();
        }
        expect_named_errors([&] { play(*Tokenizer::open(header.metadata, 4096)); });
        expect_named_errors([&] {
            const auto chat = ChatTemplate::read(header.metadata);
            if (chat != nullptr) chat->render({{Role::kUser, "hello"}}, {"<s>", "</s>"}, true);
        });
    });
    return 0;
}
