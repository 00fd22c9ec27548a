#include <algorithm>
#include <array>
#include <charconv>

#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/text/bpe_parts.h"
#include "engine/text/known_patterns.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMaxRanks = 1 << 22;
constexpr std::size_t kMaxRankedBytes = 1024;

// ----------------------------------------------------------- patterns of known encodings

std::string known_pattern(const JsonPart& root) {
    const std::string encoding = root.text("encoding_name", "");
    if (encoding == "cl100k_base") return cl100k_pattern();
    if (encoding == "o200k_base" || encoding == "o200k_harmony") return o200k_pattern();
    const std::string kind = root.text("tokenizer_class", "");
    if (kind == "TiktokenTokenizerWrapper" || kind == "GPT4Tokenizer") return cl100k_pattern();     // DBRX
    if (kind == "TikTokenTokenizer") return o200k_pattern({.han_apart = true, .after_signs = ""});  // Kimi K2
    return {};
}

// ---------------------------------------------------------------- lines

[[noreturn]] void bad_line(const std::string& source, std::size_t line, const MessageArgument& expected) {
    throw Error(ErrorKind::kInvalidModel, messages::line_must_be(source, line, expected));
}

// Nothing when `text` is no base64.
std::optional<std::string> from_base64(std::string_view text) {
    static const std::array<int, 256> kValues = [] {
        constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::array<int, 256> values;
        values.fill(-1);
        for (std::size_t i = 0; i < kBase64.size(); ++i) {
            values[static_cast<unsigned char>(kBase64[i])] = static_cast<int>(i);
        }
        return values;
    }();
    if (text.empty() || text.size() % 4 != 0) return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    std::string bytes;
    unsigned bits = 0;
    for (std::size_t i = 0; i < text.size() - padding; ++i) {
        const int value = kValues[static_cast<unsigned char>(text[i])];
        if (value < 0) return std::nullopt;
        bits = bits << 6 | static_cast<unsigned>(value);
        if (i % 4 != 0) bytes += static_cast<char>(static_cast<unsigned char>(bits >> (6 - 2 * (i % 4))));
    }
    return bytes;
}

struct RankedToken {
    std::string bytes;
    std::int64_t rank = -1;
};

// "aGVsbG8= 31373"; nothing when the line is no such thing.
std::optional<RankedToken> read_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    auto bytes = from_base64(line.substr(0, space));
    const std::string_view number = line.substr(space + 1);
    RankedToken token;
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), token.rank);
    if (!bytes || failure != std::errc() || end != number.data() + number.size()) return std::nullopt;
    token.bytes = std::move(*bytes);
    return token;
}

// Every pair of tokens that makes up a token, with the token's rank: tiktoken merges the
// neighbours whose joined bytes have the lowest rank, whatever merges made them.
void add_merges(const std::unordered_map<std::string_view, TokenId>& ids, BpeParts& parts) {
    for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
        const std::string_view token = parts.tokens[id];
        for (std::size_t n = 1; n < token.size(); ++n) {
            const auto left = ids.find(token.substr(0, n));
            if (left == ids.end()) continue;
            const auto right = ids.find(token.substr(n));
            if (right == ids.end()) continue;
            parts.merges.push_back(
                {left->second, right->second, static_cast<TokenId>(id), static_cast<std::uint32_t>(id)});
        }
    }
}

}  // namespace

bool is_tiktoken(std::string_view bytes) {
    return read_line(bytes.substr(0, bytes.find('\n'))).has_value();
}

BpeParts read_tiktoken(std::string_view bytes, SplitPattern pattern, std::int64_t vocab_size,
                       const std::string& source) {
    BpeParts parts;
    parts.pre_tokenizer = PreTokenizer(std::move(pattern));
    parts.options.byte_level = true;
    parts.options.whole_words = true;
    const std::int64_t n_ids = std::min(vocab_size, kMaxRanks);
    std::size_t n_lines = 0;
    while (!bytes.empty()) {
        const std::string_view line = bytes.substr(0, bytes.find('\n'));
        bytes.remove_prefix(std::min(bytes.size(), line.size() + 1));
        ++n_lines;
        if (line.empty() || line == "\r") continue;
        auto token = read_line(line);
        if (!token || token->bytes.empty() || token->bytes.size() > kMaxRankedBytes) {
            bad_line(source, n_lines, messages::tiktoken_line);
        }
        if (token->rank < 0 || token->rank >= n_ids) {
            bad_line(source, n_lines, messages::an_id_not(n_ids - 1, token->rank));
        }
        const auto id = static_cast<std::size_t>(token->rank);
        if (id >= parts.tokens.size()) parts.tokens.resize(id + 1);
        if (!parts.tokens[id].empty()) bad_line(source, n_lines, messages::id_given_twice);
        parts.tokens[id] = std::move(token->bytes);
    }
    std::unordered_map<std::string_view, TokenId> ids;
    ids.reserve(parts.tokens.size());
    for (std::size_t id = 0; id < parts.tokens.size(); ++id) {
        if (parts.tokens[id].empty()) continue;
        if (!ids.emplace(parts.tokens[id], static_cast<TokenId>(id)).second) {
            throw Error(ErrorKind::kInvalidModel, messages::token_rank_twice(source, id));
        }
    }
    for (int b = 0; b < 256; ++b) {
        if (ids.contains(std::string(1, static_cast<char>(b)))) continue;
        throw Error(ErrorKind::kInvalidModel, messages::byte_without_token(source, b));
    }
    add_merges(ids, parts);
    return parts;
}

SplitPattern read_tiktoken_pattern(const std::filesystem::path& directory) {
    const std::filesystem::path path = directory / "tokenizer_config.json";
    const nlohmann::json config = read_json_object(path).value_or(nlohmann::json::object());
    const JsonPart root(config, shown_path(path));
    if (root.has("pat_str")) return SplitPattern::regex(root.text("pat_str"), PatternSyntax::kRust, root.at("pat_str"));
    const std::string pattern = known_pattern(root);
    if (pattern.empty()) {
        root.at("pat_str").bad(messages::tiktoken_expression);
    }
    return SplitPattern::regex(pattern, PatternSyntax::kRust, root.at("encoding_name"));
}

}  // namespace offstage::engine
