#include <algorithm>

#include "engine/error.h"
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
            std::string_view& taken = names_[static_cast<std::size_t>(id)];
            if (taken.data() != nullptr) bad_field(source, field, messages::id_given_twice);
            taken = name;
            if (!ids_.emplace(name, static_cast<TokenId>(id)).second) {
                bad_field(source, field, messages::given_twice(name));
            }
        }
    }

    TokenId id_of(std::string_view name) const {
        const auto it = ids_.find(name);
        return it == ids_.end() ? -1 : it->second;
    }
    const std::vector<std::string_view>& names() const { return names_; }

  private:
    std::unordered_map<std::string_view, TokenId> ids_;
    std::vector<std::string_view> names_;
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

void read_added_tokens_of(const JsonPart& root, const BpeVocabulary& vocabulary, std::int64_t vocab_size,
                          BpeParts& parts) {
    if (!root.has("added_tokens")) return;
    AddedTokens tokens(vocab_size);
    for (const JsonPart& part : root.at("added_tokens").items()) {
        AddedToken token = read_added_token(part);
        const std::int64_t id = part.number("id", -1);
        const TokenId known = vocabulary.id_of(token.content);
        if (known >= 0 && known != id) {
            part.at("id").bad(messages::the_id_in_vocab(token.content, known));
        }
        tokens.add(std::move(token), id, part.field(), part.file());
    }
    parts.added = tokens.take();
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

BpeParts read_bpe_json(const TokenizerJson& file, std::int64_t vocab_size, const std::string& source) {
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
    read_added_tokens_of(root, vocabulary, vocab_size, parts);
    return parts;
}

}  // namespace offstage::engine
