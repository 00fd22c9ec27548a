#include "engine/text/bpe_tokenizer.h"

#include <algorithm>
#include <utf8proc.h>

#include "engine/error.h"
#include "engine/text/byte_level.h"
#include "engine/text/encoding_watch.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

// \w of the Rust crate regex, which tokenizers uses here: letters, marks, digits,
// connecting punctuation, and the two joiners.
bool is_word_character(std::uint32_t c) {
    if (c == 0x200C || c == 0x200D) return true;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC:
            return true;
        default:
            return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
                   (c >= 0x1F170 && c <= 0x1F189);  // letters in circles and squares
    }
}

bool starts_with_word(std::string_view text) {
    std::size_t at = 0;
    return !text.empty() && is_word_character(next_character(text, at));
}

std::size_t last_character(std::string_view text) {
    std::size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return at;
}

bool ends_with_word(std::string_view text) {
    return !text.empty() && starts_with_word(text.substr(last_character(text)));
}

}  // namespace

// A stretch of a text, or an added token in it.
struct BpeTokenizer::Part {
    std::size_t begin = 0;
    std::size_t end = 0;
    TokenId id = -1;  // -1: text
};

BpeTokenizer::BpeTokenizer(BpeParts parts, const TokenizerConfig& config, std::int64_t vocab_size,
                           const std::string& source)
    : normalizer_(std::move(parts.normalizer)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      decoder_(std::move(parts.decoder)),
      model_(std::move(parts.tokens), parts.unlisted, parts.merges, parts.options, parts.aliases),
      byte_level_(parts.options.byte_level),
      other_names_(std::move(parts.other_names)),
      silent_(config.silent) {
    vocab_size_ = model_.size();
    read_added(std::move(parts.added), config, vocab_size, source);
    read_ends(parts, config, source);
}

void BpeTokenizer::read_added(std::vector<AddedToken> added, const TokenizerConfig& config, std::int64_t vocab_size,
                              const std::string& source) {
    for (AddedToken& token : added) added_.emplace(token.id, std::move(token));
    for (const AddedToken& token : config.added) added_.emplace(token.id, token);
    // Tokens named by a field are special; if they are in the vocabulary they become
    // added ones.
    for (const std::string& name : config.named) {
        const TokenId id = id_of_name(name);
        if (id < 0) continue;
        AddedToken& token = added_[id];
        if (token.id < 0) token = {.id = id, .content = name};
        token.special = true;
    }
    for (const auto& [id, token] : added_) {
        const std::string other = vocabulary_name(id);
        if (!other.empty() && other != token.content) {
            bad_field(source, "added_tokens", messages::tokens_with_own_ids(id, other));
        }
        if (id >= vocab_size) {
            bad_field(source, "added_tokens", messages::an_id_not(vocab_size - 1, id));
        }
        vocab_size_ = std::max<std::int64_t>(vocab_size_, id + std::int64_t{1});
        if (token.normalized && !normalizer_.empty()) {
            const std::string text = normalizer_.apply(token.content).bytes;
            if (!text.empty()) normalized_matcher_.add(text, id);
        } else {
            (token.normalized ? normalized_matcher_ : raw_matcher_).add(token.content, id);
        }
    }
}

void BpeTokenizer::read_ends(const BpeParts& parts, const TokenizerConfig& config, const std::string& source) {
    const auto known = [&](const std::string& name, const char* field) {
        const TokenId id = id_of_name(name);
        if (id >= 0) return id;
        throw Error(ErrorKind::kInvalidModel, messages::special_token_unknown(field, name, source));
    };
    const auto named = [&](const std::optional<std::string>& name, const char* field) {
        return name && !name->empty() ? known(*name, field) : TokenId{-1};
    };
    // The one token before a text is BOS, where no other one is named so.
    const bool names_bos = !config.bos_token && parts.template_before.size() == 1;
    bos_ = named(names_bos ? std::optional(parts.template_before.front()) : config.bos_token, "bos_token");
    eos_ = named(config.eos_token, "eos_token");
    if (config.bos_id >= 0) bos_ = config.bos_id;
    if (config.eos_id >= 0) eos_ = config.eos_id;
    ends_ = config.ends;
    for (const std::string& name : parts.template_before) prefix_.push_back(known(name, "post_processor"));
    for (const std::string& name : parts.template_after) suffix_.push_back(known(name, "post_processor"));
    // tokenizer_config.json has the last word on the two that it names.
    if (bos_ >= 0 && config.add_bos_token.value_or(adds_bos()) != adds_bos()) {
        if (std::erase(prefix_, bos_) == 0) prefix_.insert(prefix_.begin(), bos_);
    }
    if (eos_ >= 0 && config.add_eos_token.value_or(adds_eos()) != adds_eos()) {
        if (std::erase(suffix_, eos_) == 0) suffix_.push_back(eos_);
    }
}

TokenId BpeTokenizer::id_of_name(const std::string& name) const {
    for (const auto& [id, token] : added_) {
        if (token.content == name) return id;
    }
    for (const auto& [id, other] : other_names_) {
        if (other == name) return id;
    }
    if (!byte_level_) return model_.id_of(name);
    const auto bytes = byte_level_bytes(name);
    return bytes ? model_.id_of(*bytes) : TokenId{-1};
}

// The same steps as find_matches() of tokenizers, line by line.
std::vector<BpeTokenizer::Part> BpeTokenizer::cut_out(
    const PromptText& whole, const TextMatcher<TokenId>& matcher,
    const std::function<bool(const AddedToken&)>& is_text_in_data) const {
    const std::string_view text = whole.bytes;
    std::vector<Part> parts;
    std::size_t done = 0;
    EncodingWatch::Counter watch;
    for (std::size_t at = 0; at < text.size() && !matcher.empty();) {
        watch.count();
        auto match = matcher.match_at(text, at);
        // A match that touches data is searched for as if the data were not there.
        while (match.n_bytes > 0 && whole.has_data(at, match.n_bytes) && whole.has_other(at, match.n_bytes) &&
               is_text_in_data(added_.at(*match.value))) {
            match = matcher.match_at(text, at, match.n_bytes - 1);
        }
        if (match.n_bytes == 0) {
            ++at;
            continue;
        }
        std::size_t begin = at;
        std::size_t end = at + match.n_bytes;
        at = end;
        const AddedToken& token = added_.at(*match.value);
        if (whole.has_data(begin, match.n_bytes) && is_text_in_data(token)) continue;
        if (token.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
            continue;
        while (token.lstrip && begin > done) {
            const std::size_t before = last_character(text.substr(0, begin));
            if (white_space_at(text.substr(before, begin - before)) == 0) break;
            begin = before;
        }
        begin = std::max(begin, done);
        while (const std::size_t n = token.rstrip ? white_space_at(text.substr(end)) : 0) end += n;
        if (done < begin) parts.push_back({done, begin});
        parts.push_back({begin, end, token.id});
        done = end;
    }
    if (done < text.size()) parts.push_back({done, text.size()});
    return parts;
}

std::vector<TokenId> BpeTokenizer::encode_text(const PromptText& text, const ChatTemplate* chat, bool is_first) const {
    check_text(text.bytes);
    Markers markers(chat);
    const auto is_text_in_data = [&](const AddedToken& token) {
        return token.special || markers.contains(token.id, token.content);
    };
    std::vector<TokenId> ids;
    BpeModel::Encoder encoder(model_);
    for (const Part& part : cut_out(text, raw_matcher_, is_text_in_data)) {
        if (part.id >= 0) {
            ids.push_back(part.id);
            continue;
        }
        EncodingWatch::look();
        PromptText stretch = text.part(part.begin, part.end - part.begin);
        if (normalized_matcher_.empty()) stretch.data.clear();  // no longer needed
        const PromptText normalized = normalizer_.apply(std::move(stretch));
        for (const Part& inner : cut_out(normalized, normalized_matcher_, is_text_in_data)) {
            if (inner.id >= 0) {
                ids.push_back(inner.id);
                continue;
            }
            const bool first = is_first && part.begin == 0 && inner.begin == 0;
            const Words words =
                pre_tokenizer_.cut(normalized.bytes.substr(inner.begin, inner.end - inner.begin), first);
            EncodingWatch::Counter watch;
            for (const TextSpan& word : words.spans) {
                watch.count();
                encoder.encode(std::string_view(words.text).substr(word.begin, word.end - word.begin), ids);
            }
        }
    }
    return ids;
}

std::vector<TokenId> BpeTokenizer::encode(std::string_view utf8) const {
    return encode_text(PromptText::of_data(std::string(utf8)), nullptr, true);
}

std::vector<TokenId> BpeTokenizer::encode_prompt(const PromptText& prompt, const ChatTemplate* chat) const {
    return encode_text(prompt, chat, true);
}

std::vector<TokenId> BpeTokenizer::encode_after(TokenId before, std::string_view utf8, const ChatTemplate* chat) const {
    return encode_text(PromptText::of_data(std::string(utf8)), chat, before < 0);
}

std::string BpeTokenizer::piece_name(TokenId token) const {
    const auto it = added_.find(token);
    return it != added_.end() ? it->second.content : vocabulary_name(token);
}

std::string BpeTokenizer::vocabulary_name(TokenId token) const {
    if (const auto it = other_names_.find(token); it != other_names_.end()) return it->second;
    if (token < 0 || token >= model_.size()) return {};
    return byte_level_ ? byte_level_text(model_.token(token)) : model_.token(token);
}

std::string BpeTokenizer::decoder_name(TokenId token) const {
    if (is_control(token) || std::binary_search(silent_.begin(), silent_.end(), token)) return {};
    const auto it = added_.find(token);
    if (it != added_.end() && it->second.literal && byte_level_) return byte_level_text(it->second.content);
    return piece_name(token);
}

std::string BpeTokenizer::piece_bytes(TokenId token) const {
    return decoder_.bytes_of(decoder_name(token));
}

std::string BpeTokenizer::decode(std::span<const TokenId> tokens) const {
    std::vector<std::string> names;
    for (const TokenId token : tokens) {
        std::string name = decoder_name(token);
        if (!name.empty()) names.push_back(std::move(name));
    }
    return decoder_.decode(std::move(names));
}

bool BpeTokenizer::is_control(TokenId token) const {
    const auto it = added_.find(token);
    return it != added_.end() && it->second.special;
}

TokenId BpeTokenizer::special_token(std::string_view text) const {
    for (const auto* matcher : {&raw_matcher_, &normalized_matcher_}) {
        const TokenId* id = matcher->find(text);
        if (id != nullptr && added_.at(*id).content == text) return *id;
    }
    return -1;
}

}  // namespace offstage::engine
