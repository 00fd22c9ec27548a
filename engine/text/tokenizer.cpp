#include "engine/text/tokenizer.h"

#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/files/text_file.h"
#include "engine/text/bpe_tokenizer.h"
#include "engine/text/chat_template.h"
#include "engine/text/sentencepiece_tokenizer.h"
#include "engine/text/text_messages.h"
#include "engine/text/tokenizer_json.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxModelBytes = 64u << 20;
constexpr std::size_t kMaxTextBytes = 16u << 20;
constexpr const char* kPieceFile = "tokenizer.model";

// DIR/tiktoken.model, or the first DIR/*.tiktoken by name.
std::optional<std::filesystem::path> find_tiktoken(const std::filesystem::path& directory) {
    std::error_code ignored;
    if (std::filesystem::exists(directory / "tiktoken.model", ignored)) return directory / "tiktoken.model";
    std::optional<std::filesystem::path> first;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
        if (entry.path().extension() == ".tiktoken" && (!first || entry.path() < *first)) first = entry.path();
    }
    return first;
}

// Calls `use` with tokenizer.json, read as far as `extent`, and its name, where that is
// what the folder's tokenizer is made of: beside pieces of sentencepiece only where it
// holds byte pairs. False: it is another file.
template <typename Use>
bool use_json(const std::filesystem::path& directory, JsonExtent extent, const Use& use) {
    const std::filesystem::path path = directory / "tokenizer.json";
    const auto content = read_small_file(path, kMaxModelBytes);
    if (!content) return false;
    const std::string source = shown_path(path);
    const TokenizerJson file = parse_tokenizer_json(*content, source, extent);
    if (!is_bpe(file, source)) {
        const auto pieces = read_small_file(directory / kPieceFile, kMaxModelBytes);
        if (pieces && !is_tiktoken(*pieces)) return false;
    }
    use(file, source);
    return true;
}

}  // namespace

bool Tokenizer::is_in(const std::filesystem::path& directory) {
    if (is_gguf_path(directory)) return is_in(GgufFile(directory).metadata());
    std::error_code ignored;
    return std::filesystem::exists(directory / kPieceFile, ignored) ||
           std::filesystem::exists(directory / "tokenizer.json", ignored) || find_tiktoken(directory).has_value();
}

void Tokenizer::check(const std::filesystem::path& directory, std::int64_t vocab_size) {
    if (is_gguf_path(directory)) return check(GgufFile(directory).metadata(), vocab_size);
    if (!is_in(directory)) return;
    const bool is_json = use_json(directory, JsonExtent::kHead, [&](const TokenizerJson& head, const auto& source) {
        check_bpe_json(head, source);
        static_cast<void>(read_tokenizer_config(directory, vocab_size));
    });
    if (!is_json) static_cast<void>(open(directory, vocab_size));
}

std::unique_ptr<Tokenizer> Tokenizer::open(const std::filesystem::path& directory, std::int64_t vocab_size) {
    std::unique_ptr<Tokenizer> made;
    if (is_gguf_path(directory)) {
        const GgufFile file(directory);
        made = open(file.metadata(), vocab_size);
        file.require_nothing_lost();
        return made;
    }
    use_json(directory, JsonExtent::kWhole, [&](const TokenizerJson& file, const std::string& source) {
        TokenizerConfig config = read_tokenizer_config(directory, vocab_size);
        BpeParts parts = read_bpe_json(file, config, vocab_size, source);
        std::vector<Message> notes = std::move(parts.notes);
        made = std::make_unique<BpeTokenizer>(std::move(parts), config, vocab_size, source);
        made->notes_ = std::move(notes);
    });
    if (made) return made;
    std::filesystem::path path = directory / kPieceFile;
    auto bytes = read_small_file(path, kMaxModelBytes);
    if (bytes && !is_tiktoken(*bytes)) {
        const TokenizerConfig config = read_tokenizer_config(directory, vocab_size);
        return std::make_unique<SentencePieceTokenizer>(*bytes, config, vocab_size, shown_path(path));
    }
    if (const auto found = find_tiktoken(directory); !bytes && found) {
        path = *found;
        bytes = read_small_file(path, kMaxModelBytes);
    }
    if (!bytes) {
        throw Error(ErrorKind::kNotFound, messages::no_tokenizer_in_folder(shown_path(directory)));
    }
    const TokenizerConfig config = read_tokenizer_config(directory, vocab_size);
    const std::string source = shown_path(path);
    return std::make_unique<BpeTokenizer>(read_tiktoken(*bytes, read_tiktoken_pattern(directory), vocab_size, source),
                                          config, vocab_size, source);
}

std::vector<TokenId> Tokenizer::with_eos(std::vector<TokenId> ends) const {
    std::erase(ends, eos());
    if (eos() >= 0) ends.insert(ends.begin(), eos());
    return ends;
}

std::vector<TokenId> Tokenizer::prefix() const {
    return adds_bos() ? std::vector{bos()} : std::vector<TokenId>();
}

std::vector<TokenId> Tokenizer::suffix() const {
    return adds_eos() ? std::vector{eos()} : std::vector<TokenId>();
}

bool Tokenizer::Markers::contains(TokenId token, std::string_view content) {
    if (chat_ == nullptr || content.find_first_not_of(" \t\r\n") == std::string_view::npos) return false;
    const auto [it, is_new] = known_.try_emplace(token);
    if (is_new) {
        const auto has_form = [&](std::string_view begin, std::string_view end) {
            return content.starts_with(begin) && content.ends_with(end);
        };
        it->second = has_form("<|", "|>") || has_form("<\xEF\xBD\x9C", "\xEF\xBD\x9C>") || chat_->has_text(content);
    }
    return it->second;
}

void Tokenizer::check_text(std::string_view text) {
    if (text.size() > kMaxTextBytes) {
        throw Error(ErrorKind::kInvalidInput, messages::text_too_long(kMaxTextBytes >> 20));
    }
    const std::size_t bad = find_invalid_utf8(text);
    if (bad != std::string_view::npos) {
        throw Error(ErrorKind::kInvalidInput, messages::text_not_utf8(bad));
    }
}

}  // namespace offstage::engine
