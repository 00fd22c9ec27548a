#include "engine/text/gguf_pre_tokenizer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/text/known_patterns.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kGemma = "gemma4";
constexpr std::string_view kUnnamed = "default";

// The meaning of "default" in files of these architectures.
constexpr std::pair<std::string_view, std::string_view> kPreOfFamily[] = {
    {"gptoss", "gpt-4o"}, {"gpt-oss", "gpt-4o"}, {"glm4moelite", "glm4"}, {"glm4moe", "glm4"}};

std::string_view pre_tokenizer_name(const GgufMetadata& metadata) {
    if (gguf_tokenizer_model(metadata) == kGemma) return kGemma;
    const std::string_view name = metadata.text(kPreKey, kUnnamed);
    if (name != kUnnamed && !name.empty()) return name;
    const std::string_view architecture = metadata.text("general.architecture", "");
    for (const auto& [family, pre] : kPreOfFamily) {
        if (family == architecture) return pre;
    }
    return kUnnamed;
}

struct NamedPreTokenizer {
    std::vector<std::string_view> names;
    std::vector<std::string> patterns;  // each cuts out its matches, one after the other
    bool composes = false;              // NFC
    bool whole_words = false;
    bool adds_bos = false;
    std::vector<std::string_view> before = {};
};

// DeepSeek's letters: letters with two cases, as far as the makers of its vocabulary
// listed them.
constexpr std::string_view kDeepSeekLetters =
    "41-5a,61-7a,b5,c0-d6,d8-f6,f8-1ba,1bc-1bf,1c4-293,295-2af,370-373,376,377,37b-37d,37f,386,388-38a,38c,38e-3a1,"
    "3a3-3f5,3f7-481,48a-52f,531-556,10a0-10c5,13a0-13f5,13f8-13fd,1c90-1cba,1cbd-1cbf,1d00-1d2b,1d6b-1d77,1d79-1d9a,"
    "1e00-1f15,1f18-1f1d,1f20-1f45,1f48-1f4d,1f50-1f57,1f59,1f5b,1f5d,1f5f-1f7d,1f80-1fb4,1fb6-1fbc,1fbe,1fc2-1fc4,"
    "1fc6-1fcc,1fd0-1fd3,1fd6-1fdb,1fe0-1fec,1ff2-1ff4,1ff6-1ffc,2102,2107,210a-2113,2115,2119-211d,2124,2126,2128,"
    "212a-212d,212f-2134,2139,213c-213f,2145-2149,214e,2183,2184,2c00-2c7b,2c7e-2ce4,2ceb-2cee,2cf2,2cf3,a640-a66d,"
    "a680-a69b,a722-a76f,a771-a787,a78b-a78e,ab70-abbf,fb00-fb06,fb13-fb17,ff21-ff3a,ff41-ff5a,10400-1044f,"
    "104b0-104d3,104d8-104fb,10c80-10cb2,10cc0-10cf2,118a0-118df,1e900-1e943";
constexpr std::string_view kDeepSeekSigns = "21-2f,3a-7e,ff01-ff0f,ff1a-ff5e,2018-201f,3000-3002";
constexpr std::string_view kDeepSeekCjk = "4e00-9fa5,800-4e00,ac00-d7ff";

// "41-5a,b5" as a class: [\x{41}-\x{5a}\x{b5}].
std::string class_of(std::string_view ranges) {
    std::string members = "\\x{";
    for (const char c : ranges) {
        if (c == ',' || c == '-') {
            members += std::string(c == '-' ? "}-" : "}") + "\\x{";
        } else {
            members += c;
        }
    }
    return "[" + members + "}]";
}

std::vector<NamedPreTokenizer> make_table() {
    const std::string each_digit = "\\p{N}";
    const std::string three_digits = "[0-9][0-9][0-9]";
    const std::string one_digit = cl100k_pattern({.digits = each_digit});
    const std::string bailing =
        "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|"
        "\\s+(?!\\S)|\\s+";
    const std::string deepseek3 =
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
        R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    return {
        {.names = {"default"}, .patterns = {"[\\p{P}$+<=>^~|]+", kGpt2Pattern, "\\p{N}+", three_digits}},
        {.names = {"falcon"}, .patterns = {"[\\p{P}$+<=>^~|`]+", kGpt2Pattern, three_digits}},
        {.names = {"gpt-2", "phi-2", "gigachat", "exaone4", "granite-docling"}, .patterns = {kGpt2Pattern}},
        {.names = {"olmo", "mpt"}, .patterns = {kGpt2Pattern}, .composes = true},
        {.names = {"starcoder", "refact", "smollm", "command-r"}, .patterns = {each_digit, kGpt2Pattern}},
        {.names = {"dbrx", "smaug-bpe"}, .patterns = {cl100k_pattern()}},
        {.names = {"glm4", "chatglm-bpe"},
         .patterns = {cl100k_pattern()},
         .whole_words = true,
         .before = {"[gMASK]", "<sop>"}},
        {.names = {"llama-bpe", "llama3", "llama-v3", "lfm2"},
         .patterns = {cl100k_pattern()},
         .whole_words = true,
         .adds_bos = true},
        {.names = {"qwen2"}, .patterns = {one_digit}, .composes = true},
        {.names = {"deepseek-r1-qwen", "megrez", "hunyuan", "grok-2"}, .patterns = {one_digit}},
        {.names = {"qwen35"}, .patterns = {cl100k_pattern({.marks = true, .digits = each_digit})}, .composes = true},
        {.names = {"gpt-4o", "llama4", "kanana2"}, .patterns = {o200k_pattern()}, .whole_words = true},
        {.names = {"minimax-m2"}, .patterns = {o200k_pattern()}},
        {.names = {"kimi-k2"},
         .patterns = {o200k_pattern({.han_apart = true, .after_signs = ""})},
         .whole_words = true},
        {.names = {"tekken"},
         .patterns = {o200k_pattern({.contractions = false, .digits = each_digit})},
         .whole_words = true,
         .adds_bos = true},
        {.names = {"deepseek-llm"},
         .patterns = {"[\\r\\n]", "\\s?" + class_of(kDeepSeekLetters) + "+", "\\s?" + class_of(kDeepSeekSigns) + "+",
                      "\\s+$", class_of(kDeepSeekCjk) + "+", each_digit}},
        {.names = {"deepseek-coder"},
         .patterns = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", class_of(kDeepSeekCjk) + "+", each_digit}},
        {.names = {"deepseek-v3", "hunyuan-dense", "joyai-llm"},
         .patterns = {"\\p{N}{1,3}", class_of("4e00-9fa5,3040-309f,30a0-30ff") + "+", deepseek3}},
        {.names = {"bailingmoe", "bailingmoe2", "llada-moe"}, .patterns = {bailing}},
        {.names = {"superbpe"}, .patterns = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    };
}

json steps_of(const NamedPreTokenizer& row) {
    json steps = json::array();
    for (const std::string& pattern : row.patterns) {
        steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}});
    }
    steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
    return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

}  // namespace

std::string_view gguf_tokenizer_model(const GgufMetadata& metadata) {
    const std::string_view model = metadata.text("tokenizer.ggml.model");
    const bool is_gemma = metadata.text(kPreKey, "") == kGemma || metadata.text("general.architecture", "") == kGemma;
    return model == "llama" && is_gemma ? kGemma : model;
}

GgufPreTokenizer read_gguf_pre_tokenizer(const GgufMetadata& metadata) {
    static const std::vector<NamedPreTokenizer> kTable = make_table();
    const std::string_view name = pre_tokenizer_name(metadata);
    if (name == kGemma) {
        return {.normalizer = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\xE2\x96\x81"}},
                .pre_tokenizer = nullptr,
                .adds_bos = true,
                .before = {}};
    }
    std::string known(kGemma);
    for (const NamedPreTokenizer& row : kTable) {
        if (std::find(row.names.begin(), row.names.end(), name) != row.names.end()) {
            return {.normalizer = row.composes ? json{{"type", "NFC"}} : json(),
                    .pre_tokenizer = steps_of(row),
                    .whole_words = row.whole_words,
                    .adds_bos = row.adds_bos,
                    .may_lack_merges = name == "kimi-k2",
                    .is_assumed = name == kUnnamed && metadata.text(kPreKey, "").empty(),
                    .before = row.before};
        }
        for (const std::string_view other : row.names) known += ", " + std::string(other);
    }
    throw Error(ErrorKind::kUnsupported,
                messages::metadata_one_of(metadata.source(), in_quotes(kPreKey), in_quotes(name), known));
}

}  // namespace offstage::engine
