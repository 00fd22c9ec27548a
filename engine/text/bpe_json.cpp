#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/json.h"
#include "engine/text/bpe_parts.h"
#include "engine/text/byte_level.h"
#include "engine/text/text_messages.h"
#include "engine/text/tokenizer_json.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMaxBpeTokens = 1 << 22;

// Tokens of the vocabulary by id, and the other way round.
class BpeVocabulary {
  public:
    BpeVocabulary(const TokenizerJson& file, std::int64_t vocab_size, const std::string& source) {
        if (file.vocab.empty()) {
            bad_field(source, "model.vocab", messages::an_object_of_token_ids_cut);
        }
        const std::int64_t n_ids = std::min(vocab_size, kMaxBpeTokens);
        ids_.reserve(file.vocab.size());
        for (const auto& [name, id] : file.vocab) {
            const std::string field = "model.vocab[\"" + name + "\"]";
            if (id < 0 || id >= n_ids) {
                bad_field(source, field, messages::an_id_not(n_ids - 1, id));
            }
            if (static_cast<std::size_t>(id) >= names_.size()) names_.resize(static_cast<std::size_t>(id) + 1);
            ids_[name] = static_cast<TokenId>(id);
            names_[static_cast<std::size_t>(id)] = name;
        }
        // Of an id's texts the last one is written, and all are read.
        for (std::size_t id = 0; id < names_.size(); ++id) {
            if (!names_[id].empty() && ids_[names_[id]] != static_cast<TokenId>(id)) names_[id] = {};
        }
        for (const auto& [name, id] : ids_) {
            if (names_[static_cast<std::size_t>(id)] != name) aliases_.push_back({std::string(name), id});
        }
        std::ranges::sort(aliases_, {}, &BpeModel::Alias::text);
    }

    TokenId id_of(std::string_view name) const {
        const auto it = ids_.find(name);
        return it == ids_.end() ? -1 : it->second;
    }
    const std::vector<std::string_view>& names() const { return names_; }
    const std::vector<BpeModel::Alias>& aliases() const { return aliases_; }
    std::int64_t size() const { return static_cast<std::int64_t>(ids_.size()); }

  private:
    std::unordered_map<std::string_view, TokenId> ids_;
    std::vector<std::string_view> names_;
    std::vector<BpeModel::Alias> aliases_;
};

void read_merges(const TokenizerJson& file, const BpeVocabulary& vocabulary, const std::string& source,
                 BpeParts& parts) {
    // An empty list is one: words become characters, or tokens as a whole.
    if (!file.has_merges) bad_field(source, "model.merges", messages::a_list_of_merges_cut);
    parts.merges.reserve(file.merges.size());
    std::string together;
    for (std::size_t rank = 0; rank < file.merges.size(); ++rank) {
        const auto& [left, right] = file.merges[rank];
        together = left;
        together += right;
        const BpeModel::Merge merge = {vocabulary.id_of(left), vocabulary.id_of(right), vocabulary.id_of(together),
                                       static_cast<std::uint32_t>(rank)};
        if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
            bad_field(source, "model.merges[" + std::to_string(rank) + "]", messages::two_tokens_of_vocab(left, right));
        }
        parts.merges.push_back(merge);
    }
}

void check_model(const JsonPart& model) {
    const JsonPart dropout = model.at("dropout");
    if (!dropout.is_null() && !(dropout.value().is_number() && dropout.value().get<double>() == 0)) {
        dropout.bad(messages::null_or_zero_dropout);
    }
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!model.text(affix, "").empty()) model.at(affix).bad(messages::empty_or_null_affix);
    }
}

void read_model(const JsonPart& model, const BpeVocabulary& vocabulary, BpeParts& parts) {
    check_model(model);
    parts.options.byte_level = parts.pre_tokenizer.is_byte_level();
    parts.options.byte_fallback = model.flag("byte_fallback", false) && !parts.options.byte_level;
    parts.options.fuse_unknown = model.flag("fuse_unk", false);
    parts.options.whole_words = model.flag("ignore_merges", false);
    const std::string unknown = model.text("unk_token", "");
    if (unknown.empty()) return;
    parts.options.unknown = vocabulary.id_of(unknown);
    if (parts.options.unknown < 0) model.at("unk_token").bad(messages::a_token_of_vocab(unknown));
}

// The special tokens that TemplateProcessing puts around one text.
void read_template(const JsonPart& part, BpeParts& parts) {
    if (part.is_null()) return;
    const std::string type = part.text("type");
    if (type == "Sequence") {
        for (const JsonPart& step : part.at("processors").items()) {
            if (step.text("type") != "Sequence") read_template(step, parts);
        }
        return;
    }
    if (type == "ByteLevel") return;
    if (type != "TemplateProcessing") part.at("type").unknown("ByteLevel, TemplateProcessing, Sequence");
    bool after_text = false;
    for (const JsonPart& piece : part.at("single").items()) {
        if (piece.has("Sequence")) {
            after_text = true;
        } else {
            (after_text ? parts.template_after : parts.template_before).push_back(piece.at("SpecialToken").text("id"));
        }
    }
}

// Hugging Face's tokenizers library gives an added token the id that its text has in the
// vocabulary, or the one behind all texts, and does not read its "id"; of equal texts the
// first decides the place and the last one the flags. An id is written as its added token.
class AddedInOrder {
  public:
    AddedInOrder(const BpeVocabulary& vocabulary, std::int64_t vocab_size)
        : vocabulary_(vocabulary), tokens_(vocab_size), next_(vocabulary.size()) {}

    void add(AddedToken token, std::int64_t id, const std::string& field, const std::string& file) {
        if (token.content.empty()) return;
        if (tokens_.has(token.content)) return tokens_.change(std::move(token));
        const TokenId known = vocabulary_.id_of(token.content);
        const std::int64_t given = known >= 0 ? known : next_;
        next_ = std::max(next_, given + 1);
        if (given != id && n_moved_++ == 0) first_moved_ = {in_quotes(token.content), id, given};
        tokens_.add(std::move(token), given, field, file);
    }

    bool has(const std::string& content) const { return tokens_.has(content); }

    void finish(BpeParts& parts) {
        parts.added = tokens_.take();
        for (const AddedToken& token : parts.added) {
            const auto id = static_cast<std::size_t>(token.id);
            if (id >= parts.tokens.size() || vocabulary_.names()[id] == token.content) continue;
            if (!parts.tokens[id].empty()) parts.aliases.push_back({std::exchange(parts.tokens[id], {}), token.id});
            parts.other_names.erase(token.id);
        }
        const auto& [text, id, given] = first_moved_;
        if (n_moved_ > 0) parts.notes.push_back(messages::added_tokens_moved(n_moved_, text, id, given));
    }

  private:
    const BpeVocabulary& vocabulary_;
    AddedTokens tokens_;
    std::int64_t next_;
    std::int64_t n_moved_ = 0;
    std::tuple<std::string, std::int64_t, std::int64_t> first_moved_;
};

void read_added_tokens_of(const JsonPart& root, const BpeVocabulary& vocabulary, TokenizerConfig& config,
                          std::int64_t vocab_size, BpeParts& parts) {
    AddedInOrder tokens(vocabulary, vocab_size);
    if (root.has("added_tokens")) {
        for (const JsonPart& part : root.at("added_tokens").items()) {
            AddedToken token = read_added_token(part);
            const std::int64_t id = part.number("id", -1);
            if (id < 0) part.at("id").bad(messages::a_token_id);
            tokens.add(std::move(token), id, part.field(), part.file());
        }
    }
    std::vector<AddedToken> further = std::exchange(config.added, {});
    for (AddedToken& token : further) {
        const TokenId id = token.id;
        if (!config.added_have_flags && tokens.has(token.content)) continue;
        tokens.add(std::move(token), id, "added_tokens_decoder", root.file());
    }
    tokens.finish(parts);
}

void note_aliases(const BpeVocabulary& vocabulary, BpeParts& parts) {
    parts.aliases = vocabulary.aliases();
    if (parts.aliases.empty()) return;
    const BpeModel::Alias& first = parts.aliases.front();
    const std::string_view written = vocabulary.names()[static_cast<std::size_t>(first.id)];
    parts.notes.push_back(messages::vocab_ids_twice(parts.aliases.size(), first.id, in_quotes(first.text),
                                                    in_quotes(std::string(written))));
    if (!parts.options.byte_level) return;
    // No text has the bytes of a name that is not in their alphabet.
    std::erase_if(parts.aliases, [](BpeModel::Alias& alias) {
        auto bytes = byte_level_bytes(alias.text);
        if (bytes) alias.text = std::move(*bytes);
        return !bytes;
    });
}

}  // namespace

void set_tokens(std::span<const std::string_view> names, BpeParts& parts) {
    parts.tokens.resize(names.size());
    for (std::size_t id = 0; id < names.size(); ++id) {
        if (!parts.options.byte_level) {
            parts.tokens[id] = names[id];
        } else if (auto bytes = byte_level_bytes(names[id])) {
            parts.tokens[id] = std::move(*bytes);
        } else {
            parts.other_names.emplace(static_cast<TokenId>(id), names[id]);
        }
    }
}

bool is_bpe(const TokenizerJson& file, const std::string& source) {
    const JsonPart root(file.rest, source);
    const JsonPart model = root.at("model");
    return !model.value().is_object() || model.text("type", "BPE") == "BPE";
}

void check_bpe_json(const TokenizerJson& head, const std::string& source) {
    const JsonPart root(head.rest, source);
    BpeParts parts;
    parts.normalizer = TextNormalizer(root.at("normalizer"));
    parts.pre_tokenizer = PreTokenizer(root.at("pre_tokenizer"));
    if (root.has("decoder")) parts.decoder = TokenDecoder(root.at("decoder"));
    if (!is_bpe(head, source)) root.at("model").at("type").unknown("BPE");
    if (root.has("model")) check_model(root.at("model"));
    read_template(root.at("post_processor"), parts);
}

BpeParts read_bpe_json(const TokenizerJson& file, TokenizerConfig& config, std::int64_t vocab_size,
                       const std::string& source) {
    const JsonPart root(file.rest, source);
    const JsonPart model = root.at("model");
    if (!model.value().is_object()) model.bad(messages::an_object_cut);
    if (!is_bpe(file, source)) model.at("type").unknown("BPE");

    BpeParts parts;
    parts.normalizer = TextNormalizer(root.at("normalizer"));
    parts.pre_tokenizer = PreTokenizer(root.at("pre_tokenizer"));
    parts.decoder = TokenDecoder(root.at("decoder"));
    const BpeVocabulary vocabulary(file, vocab_size, source);
    read_model(model, vocabulary, parts);
    read_merges(file, vocabulary, source, parts);
    set_tokens(vocabulary.names(), parts);
    read_template(root.at("post_processor"), parts);
    note_aliases(vocabulary, parts);
    read_added_tokens_of(root, vocabulary, config, vocab_size, parts);
    return parts;
}

}  // namespace offstage::engine
