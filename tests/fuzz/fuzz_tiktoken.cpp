// Reads a damaged tiktoken file. The first line may be, after a '#', the pattern that
// splits texts.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/text/bpe_tokenizer.h"

using namespace offstage::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::int64_t kVocabSize = 1024;
    static const nlohmann::json kNone;
    std::string_view file(reinterpret_cast<const char*>(data), size);
    std::string pattern = "\\s+|\\S+";
    if (file.starts_with('#')) {
        const std::string_view line = file.substr(0, file.find('\n'));
        pattern = line.substr(1);
        file.remove_prefix(line.size());
    }
    try {
        is_tiktoken(file);
        SplitPattern compiled = SplitPattern::regex(pattern, PatternSyntax::kRust, JsonPart(kNone, "fuzz", "pat_str"));
        const std::string text = "a cab \xE6\xBC\x94 12 'S\n\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        compiled.find(text);
        SplitPattern::regex(pattern, PatternSyntax::kOniguruma, JsonPart(kNone, "fuzz", "pat_str")).find(text);
        BpeParts parts = read_tiktoken(file, std::move(compiled), kVocabSize, "fuzz");
        const BpeTokenizer tokenizer(std::move(parts), TokenizerConfig(), kVocabSize, "fuzz");
        if (find_invalid_utf8(tokenizer.decode(tokenizer.encode(text))) != std::string::npos) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
