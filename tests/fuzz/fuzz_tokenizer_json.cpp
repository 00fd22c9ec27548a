// Opens a damaged tokenizer.json and, when it is taken, encodes and decodes with it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/text/bpe_tokenizer.h"

using namespace offstage::engine;

namespace {

void play(const BpeTokenizer& tokenizer) {
    static const std::string kText =
        std::string("  Cafe\xCC\x81 \xEF\xBD\xB6\xE3\x8D\xBF 12 <tool>\n\t<end>\xF0\x9F\x91\xA9 \xC2\xA0 abc cab") +
        '\0' + "b \xEF\xB7\xBA don't 345 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \xD0\xB0 ";
    std::vector<TokenId> ids = tokenizer.encode_with_special(kText);
    for (const TokenId id : tokenizer.encode_after(0, kText, nullptr)) ids.push_back(id);
    for (TokenId id = -1; id < 300; ++id) ids.push_back(id);
    Utf8Stream stream;
    for (const TokenId id : ids) {
        if (find_invalid_utf8(stream.push(tokenizer.piece_bytes(id))) != std::string::npos) std::abort();
        tokenizer.piece_name(id);
    }
    if (find_invalid_utf8(tokenizer.decode(ids)) != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::int64_t kVocabSize = 1024;
    try {
        const TokenizerJson file = parse_tokenizer_json({reinterpret_cast<const char*>(data), size}, "fuzz");
        TokenizerConfig config;
        BpeParts parts = read_bpe_json(file, config, kVocabSize, "fuzz");
        play(BpeTokenizer(std::move(parts), TokenizerConfig(), kVocabSize, "fuzz"));
    } catch (const Error&) {
    }
    return 0;
}
