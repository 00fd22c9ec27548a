#include "engine/text/bpe_model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "engine/text/encoding_watch.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxRooms = 8;            // kept for later texts
constexpr std::size_t kKeptSymbols = 1u << 16;  // in the buffer for one word

std::size_t hash_bytes(std::string_view bytes) {
    return std::hash<std::string_view>()(bytes);
}

std::uint64_t pair_key(TokenId left, TokenId right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) + 1) << 32 | static_cast<std::uint32_t>(right);
}

std::size_t hash_pair(std::uint64_t key) {
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(key ^ key >> 29);
}

// The ids of a short word that was encoded before. A word takes the place of another one
// with the same slot.
struct CachedWord {
    static constexpr std::size_t kMaxBytes = 30;
    static constexpr std::size_t kMaxIds = 8;
    std::uint8_t n_bytes = 0;  // 0: free
    std::uint8_t n_ids = 0;
    char bytes[kMaxBytes] = {};
    TokenId ids[kMaxIds] = {};

    bool holds(std::string_view word) const {
        return n_bytes == word.size() && std::memcmp(bytes, word.data(), word.size()) == 0;
    }
};
constexpr std::size_t kCachedWords = 1u << 14;

}  // namespace

struct BpeModel::Encoder::Room {
    struct Symbol {
        TokenId id = -1;  // -1: merged into the one before it
        std::int32_t before = -1;
        std::int32_t after = -1;
    };
    // A pair that may be merged: the symbol at `at` and the one after it.
    struct Candidate {
        std::uint32_t rank = 0;
        std::int32_t at = 0;
        TokenId merged = -1;
        bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
    };

    std::vector<Symbol> symbols;
    std::vector<Candidate> candidates;  // a heap, the lowest rank first
    std::vector<CachedWord> cache = std::vector<CachedWord>(kCachedWords);
};

BpeModel::BpeModel(std::vector<std::string> tokens, const std::vector<std::string>& unlisted,
                   const std::vector<Merge>& merges, const Options& options, const std::vector<Alias>& aliases)
    : tokens_(std::move(tokens)), n_tokens_(tokens_.size()), options_(options) {
    token_slots_.assign(std::bit_ceil(2 * (n_tokens_ + aliases.size()) + 1), -1);
    index_tokens(0);
    tokens_.insert(tokens_.end(), unlisted.begin(), unlisted.end());
    const std::size_t first_alias = tokens_.size();
    for (const Alias& alias : aliases) {
        tokens_.push_back(alias.text);
        alias_ids_.push_back(alias.id);
    }
    index_tokens(first_alias);
    index_merges(merges);
    for (int b = 0; b < 256; ++b) {
        static constexpr char kHex[] = "0123456789ABCDEF";
        byte_tokens_[b] = -1;
        if (options_.byte_level) byte_tokens_[b] = id_of(std::string(1, static_cast<char>(b)));
        if (options_.byte_fallback) byte_tokens_[b] = id_of(std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">");
    }
}

BpeModel::~BpeModel() = default;

void BpeModel::index_tokens(std::size_t from) {
    const std::size_t mask = token_slots_.size() - 1;
    for (std::size_t id = from; id < tokens_.size(); ++id) {
        if (tokens_[id].empty()) continue;
        std::size_t slot = hash_bytes(tokens_[id]) & mask;
        const auto is_other = [&](TokenId taken) {
            return taken >= 0 && tokens_[static_cast<std::size_t>(taken)] != tokens_[id];
        };
        while (is_other(token_slots_[slot])) slot = (slot + 1) & mask;
        token_slots_[slot] = static_cast<TokenId>(id);
    }
}

void BpeModel::index_merges(const std::vector<Merge>& merges) {
    pairs_.resize(std::bit_ceil(2 * merges.size() + 1));
    const std::size_t mask = pairs_.size() - 1;
    for (const Merge& merge : merges) {
        const std::uint64_t key = pair_key(merge.left, merge.right);
        std::size_t slot = hash_pair(key) & mask;
        while (pairs_[slot].key != 0 && pairs_[slot].key != key) slot = (slot + 1) & mask;
        pairs_[slot] = {key, merge.rank, merge.merged};  // if a pair is listed twice the last one counts
    }
}

TokenId BpeModel::id_of(std::string_view token) const {
    if (token.empty()) return -1;
    const std::size_t mask = token_slots_.size() - 1;
    for (std::size_t slot = hash_bytes(token) & mask;; slot = (slot + 1) & mask) {
        const TokenId id = token_slots_[slot];
        if (id >= 0 && tokens_[static_cast<std::size_t>(id)] != token) continue;
        const std::size_t first_alias = tokens_.size() - alias_ids_.size();
        const auto at = static_cast<std::size_t>(id);
        return id >= 0 && at >= first_alias ? alias_ids_[at - first_alias] : id;
    }
}

const BpeModel::Pair* BpeModel::find(TokenId left, TokenId right) const {
    const std::uint64_t key = pair_key(left, right);
    const std::size_t mask = pairs_.size() - 1;
    for (std::size_t slot = hash_pair(key) & mask;; slot = (slot + 1) & mask) {
        if (pairs_[slot].key == key) return &pairs_[slot];
        if (pairs_[slot].key == 0) return nullptr;
    }
}

BpeModel::Encoder::Encoder(const BpeModel& model) : model_(model) {
    {
        const std::lock_guard lock(model.rooms_mutex_);
        if (!model.rooms_.empty()) {
            room_ = std::move(model.rooms_.back());
            model.rooms_.pop_back();
        }
    }
    if (room_ == nullptr) room_ = std::make_unique<Room>();
}

BpeModel::Encoder::~Encoder() {
    if (room_->symbols.capacity() > kKeptSymbols) return;
    const std::lock_guard lock(model_.rooms_mutex_);
    if (model_.rooms_.size() < kMaxRooms) model_.rooms_.push_back(std::move(room_));
}

void BpeModel::Encoder::encode(std::string_view word, std::vector<TokenId>& ids) {
    const bool is_short = word.size() <= CachedWord::kMaxBytes;
    CachedWord* cached = is_short ? &room_->cache[hash_bytes(word) % kCachedWords] : nullptr;
    if (cached != nullptr && cached->holds(word)) {
        ids.insert(ids.end(), cached->ids, cached->ids + cached->n_ids);
        return;
    }
    const std::size_t first = ids.size();
    const TokenId whole = model_.options_.whole_words ? model_.id_of(word) : -1;
    if (whole >= 0) {
        ids.push_back(whole);
    } else {
        begin(word);
        merge();
        for (const Room::Symbol& symbol : room_->symbols) {
            if (symbol.id >= 0) append(symbol.id, ids);
        }
    }
    const std::size_t n = ids.size() - first;
    if (cached == nullptr || n > CachedWord::kMaxIds) return;
    cached->n_bytes = static_cast<std::uint8_t>(word.size());
    cached->n_ids = static_cast<std::uint8_t>(n);
    std::memcpy(cached->bytes, word.data(), word.size());
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(first), n, cached->ids);
}

void BpeModel::Encoder::append(TokenId id, std::vector<TokenId>& ids) const {
    if (id < model_.size()) return ids.push_back(id);
    for (const char byte : model_.token(id)) {
        const TokenId token = model_.byte_tokens_[static_cast<unsigned char>(byte)];
        if (token >= 0) ids.push_back(token);
    }
}

void BpeModel::Encoder::add_symbol(TokenId id) {
    room_->symbols.push_back({id, static_cast<std::int32_t>(room_->symbols.size()) - 1, -1});
}

void BpeModel::Encoder::add_unknown(TokenId& pending) {
    if (pending >= 0) add_symbol(pending);
    pending = -1;
}

// The word as its characters' tokens; follows Hugging Face tokenizers' merge_word().
void BpeModel::Encoder::begin(std::string_view word) {
    const Options& options = model_.options_;
    room_->symbols.clear();
    TokenId pending = -1;  // an unknown token that is not written yet: the next one may be fused with it
    EncodingWatch::Counter watch;
    for (std::size_t at = 0; at < word.size();) {
        watch.count();
        const std::size_t n = options.byte_level ? 1 : character_bytes(word, at);
        const std::string_view character = word.substr(at, n);
        at += n;
        const TokenId id = options.byte_level ? model_.byte_tokens_[static_cast<unsigned char>(character[0])]
                                              : model_.id_of(character);
        if (id >= 0) {
            add_unknown(pending);
            add_symbol(id);
            continue;
        }
        const auto byte_token = [&](char byte) { return model_.byte_tokens_[static_cast<unsigned char>(byte)]; };
        if (options.byte_fallback &&
            std::all_of(character.begin(), character.end(), [&](char byte) { return byte_token(byte) >= 0; })) {
            for (const char byte : character) add_symbol(byte_token(byte));
            continue;
        }
        if (!options.fuse_unknown) add_unknown(pending);
        pending = options.unknown;
    }
    add_unknown(pending);
    for (std::size_t i = 0; i + 1 < room_->symbols.size(); ++i) {
        room_->symbols[i].after = static_cast<std::int32_t>(i) + 1;
    }
}

// Puts the pair that begins at the symbol `at` among the candidates, if it has a rank.
void BpeModel::Encoder::offer(std::int32_t at) {
    if (at < 0) return;
    const Room::Symbol& left = room_->symbols[static_cast<std::size_t>(at)];
    if (left.after < 0) return;
    const Pair* pair = model_.find(left.id, room_->symbols[static_cast<std::size_t>(left.after)].id);
    if (pair == nullptr) return;
    room_->candidates.push_back({pair->rank, at, pair->merged});
}

void BpeModel::Encoder::merge() {
    auto& symbols = room_->symbols;
    auto& heap = room_->candidates;
    heap.clear();
    EncodingWatch::Counter watch;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        watch.count();
        offer(static_cast<std::int32_t>(i));
    }
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    const auto offer_to_heap = [&](std::int32_t at) {
        const std::size_t n = heap.size();
        offer(at);
        if (heap.size() > n) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    while (!heap.empty()) {
        watch.count();
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        const Room::Candidate best = heap.back();
        heap.pop_back();
        Room::Symbol& left = symbols[static_cast<std::size_t>(best.at)];
        if (left.id < 0 || left.after < 0) continue;
        Room::Symbol& right = symbols[static_cast<std::size_t>(left.after)];
        // A neighbour may have been merged since; the pair that is here now counts when
        // it gives the same token.
        const Pair* now = model_.find(left.id, right.id);
        if (now == nullptr || now->merged != best.merged) continue;
        left.id = best.merged;
        left.after = right.after;
        right.id = -1;
        if (left.after >= 0) symbols[static_cast<std::size_t>(left.after)].before = best.at;
        offer_to_heap(left.before);
        offer_to_heap(best.at);
    }
}

}  // namespace offstage::engine
