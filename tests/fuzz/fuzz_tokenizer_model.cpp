// Opens a damaged tokenizer.model and, if that succeeds, encodes and decodes with it.
// Start it with the models under tests/engine/data/text in the corpus: from nothing it
// takes long to find a model.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/text/sentencepiece_tokenizer.h"

using namespace offstage::engine;

namespace {

void play(std::string_view model, bool legacy) {
    static const std::string kText =
        std::string("  Cafe\xCC\x81 \xEF\xBD\xB6\xE3\x8D\xBF 12 <tool>\n\t<turn>\xF0\x9F\x91\xA9 \xC2\xA0 AFF a") +
        '\0' + "b \xEF\xB7\xBA the actors wait, the theatre weights[i] \xD0\xB0 ";
    TokenizerConfig config;
    config.legacy = legacy;
    try {
        const SentencePieceTokenizer tokenizer(model, config, 1024, "fuzz");
        std::vector<TokenId> ids = tokenizer.encode_with_special(kText);
        std::string every;
        for (int c = 1; c < 0x500; ++c) {
            if (c < 0x80) {
                every += static_cast<char>(c);
            } else {
                every += static_cast<char>(0xC0 | (c >> 6));
                every += static_cast<char>(0x80 | (c & 0x3F));
            }
        }
        tokenizer.encode(every);
        for (TokenId id = -1; id <= tokenizer.vocab_size(); ++id) ids.push_back(id);
        for (const TokenId id : ids) {
            tokenizer.piece_bytes(id);
            tokenizer.piece_name(id);
        }
        if (find_invalid_utf8(tokenizer.decode(ids)) != std::string::npos) std::abort();
    } catch (const Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const bool legacy : {true, false}) play({reinterpret_cast<const char*>(data), size}, legacy);
    return 0;
}
