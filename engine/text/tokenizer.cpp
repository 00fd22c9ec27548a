#include "engine/text/tokenizer.h"

#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/text/sentencepiece_tokenizer.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxModelBytes = 64u << 20;

}  // namespace

std::unique_ptr<Tokenizer> Tokenizer::open(const std::filesystem::path& directory, std::int64_t vocab_size) {
    const std::filesystem::path path = directory / "tokenizer.model";
    const auto bytes = read_small_file(path, kMaxModelBytes);
    if (!bytes) {
        std::error_code ignored;
        for (const char* other : {"tokenizer.json", "vocab.json", "tokenizer.tiktoken", "tiktoken.model"}) {
            if (!std::filesystem::exists(directory / other, ignored)) continue;
            throw Error(ErrorKind::kUnsupported, shown_path(directory) + " has " + other +
                                                     " but no tokenizer.model (sentencepiece), which is expected here: "
                                                     "byte-level BPE tokenizers are not supported yet.");
        }
        throw Error(ErrorKind::kNotFound,
                    shown_path(path) + " is missing: a sentencepiece tokenizer is expected there.");
    }
    const TokenizerConfig config = read_tokenizer_config(directory, vocab_size);
    return std::make_unique<SentencePieceTokenizer>(*bytes, config, vocab_size, shown_path(path));
}

}  // namespace offstage::engine
