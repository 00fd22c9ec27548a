#include "engine/text/sentencepiece_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/error.h"
#include "engine/text/text_messages.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxPieceBytes = 1024;
constexpr std::size_t kMaxNestedUserPieces = 64;     // size of the library's result array for user-defined pieces
constexpr int kMaxNestedRules = 32;                  // the same for normaliser rules
constexpr std::size_t kMaxReplacementBytes = 256;    // NFKC needs 33; a bound on how much text can grow
constexpr std::size_t kMaxCharsmapUnits = 1u << 20;  // nmt_nfkc has 60 thousand

[[noreturn]] void damaged(const std::string& source, const MessageArgument& what) {
    throw Error(ErrorKind::kInvalidModel, messages::sentencepiece_damaged(source, what));
}

// ---------------------------------------------------------------- protobuf's wire format

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Record {
    std::uint32_t field = 0;
    WireType type = kVarint;
    std::uint64_t number = 0;  // kVarint, kFixed32, kFixed64
    std::string_view bytes;    // kBytes
    std::string_view whole;    // with its tag
};

class WireReader {
  public:
    WireReader(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source) {}

    std::optional<Record> next() {
        if (at_ == bytes_.size()) return std::nullopt;
        const std::size_t start = at_;
        Record r;
        const std::uint64_t tag = varint();
        if (tag > std::numeric_limits<std::uint32_t>::max() || (tag >> 3) == 0)
            damaged(source_, messages::bad_field_number);
        r.field = static_cast<std::uint32_t>(tag >> 3);
        switch (tag & 7) {
            case kVarint:
                r.type = kVarint;
                r.number = varint();
                break;
            case kFixed64:
                r.type = kFixed64;
                r.number = fixed(8);
                break;
            case kBytes: {
                r.type = kBytes;
                const std::uint64_t n = varint();
                if (n > bytes_.size() - at_) damaged(source_, messages::ends_in_a_record);
                r.bytes = bytes_.substr(at_, static_cast<std::size_t>(n));
                at_ += static_cast<std::size_t>(n);
                break;
            }
            case kFixed32:
                r.type = kFixed32;
                r.number = fixed(4);
                break;
            default:
                damaged(source_, messages::record_of_unknown_kind);
        }
        r.whole = bytes_.substr(start, at_ - start);
        return r;
    }

  private:
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            if (at_ == bytes_.size()) damaged(source_, messages::ends_in_a_number);
            const auto b = static_cast<std::uint8_t>(bytes_[at_++]);
            if (shift < 64) value |= static_cast<std::uint64_t>(b & 0x7F) << shift;
            if (b < 0x80) return value;
        }
        damaged(source_, messages::number_too_long);
    }

    std::uint64_t fixed(std::size_t n) {
        if (bytes_.size() - at_ < n) damaged(source_, messages::ends_in_a_number);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < n; ++i) {
            value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes_[at_ + i])) << (8 * i);
        }
        at_ += n;
        return value;
    }

    std::string_view bytes_;
    const std::string& source_;
    std::size_t at_ = 0;
};

// protobuf would treat a known field of another kind as unknown, and of a repeated single
// field keep the last.
void expect(const Record& r, WireType type, bool& seen, const MessageArgument& name, const std::string& source) {
    if (r.type != type) damaged(source, messages::wire_field_of_wrong_kind(name));
    if (seen) damaged(source, messages::wire_field_twice(name));
    seen = true;
}

void expect_text(std::string_view text, const MessageArgument& name, const std::string& source) {
    if (text.size() > kMaxPieceBytes) damaged(source, messages::wire_field_too_long(name));
    if (text.find('\0') != std::string_view::npos || find_invalid_utf8(text) != std::string_view::npos) {
        damaged(source, messages::wire_field_no_utf8(name));
    }
}

// ---------------------------------------------------------------- the normaliser's map

// precompiled_charsmap: u32 size of the trie in bytes, the trie (a darts-clone double
// array of u32 units), then the replacements, each ended by a NUL byte. A unit's bits:
// 0-7 label, 8 has_leaf, 9 offset is shifted by 8, 10-31 offset; bit 31 alone marks a
// leaf, whose other bits are the byte offset of the replacement. From a node at index i
// the base is i ^ offset, the child for byte c is at base ^ c if its label is c, the leaf
// is at base itself. The library follows this without any check, so every unit that some
// text can reach is checked here.
class Charsmap {
  public:
    Charsmap(std::string_view bytes, const std::string& source) : source_(source) {
        if (bytes.size() < 8) damaged(source_, messages::normaliser_cut_short);
        const std::uint32_t trie_bytes = unit_at(bytes, 0);
        if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes >= bytes.size() - 4) {
            damaged(source_, messages::normaliser_size_impossible);
        }
        const std::size_t n_units = trie_bytes / 4;
        if (n_units > kMaxCharsmapUnits) damaged(source_, messages::normaliser_too_large);
        units_.resize(n_units);
        for (std::size_t i = 0; i < n_units; ++i) units_[i] = unit_at(bytes, 4 + 4 * i);
        replacements_ = bytes.substr(4 + trie_bytes);
    }

    void check() {
        check_replacements();
        enum : std::uint8_t { kNew, kOpen, kDone };
        std::vector<std::uint8_t> state(units_.size(), kNew);
        std::vector<std::uint8_t> nested(units_.size(), 0);  // most rules on one way from here down
        struct Step {
            std::size_t unit;
            std::uint32_t next_byte;
        };
        std::vector<Step> way{{0, 0}};
        base_of(0);
        state[0] = kOpen;
        while (!way.empty()) {
            const std::size_t unit = way.back().unit;
            if (way.back().next_byte == 256) {
                state[unit] = kDone;
                if (unit != 0 && has_leaf(unit)) ++nested[unit];
                if (nested[unit] > kMaxNestedRules) damaged(source_, messages::normaliser_too_many_rules);
                way.pop_back();
                if (!way.empty()) nested[way.back().unit] = std::max(nested[way.back().unit], nested[unit]);
                continue;
            }
            const std::uint32_t byte = way.back().next_byte++;
            const std::size_t child = base_of(unit) ^ byte;
            if ((units_[child] & 0x800000FFu) != byte) continue;
            if (state[child] == kOpen) damaged(source_, messages::normaliser_in_a_circle);
            if (state[child] == kDone) {
                nested[unit] = std::max(nested[unit], nested[child]);
                continue;
            }
            const std::size_t base = base_of(child);
            if (has_leaf(child) && (units_[base] & 0x7FFFFFFFu) >= replacements_.size()) {
                damaged(source_, messages::normaliser_points_outside);
            }
            state[child] = kOpen;
            way.push_back({child, 0});
        }
    }

  private:
    static std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
        std::uint32_t value = 0;
        for (unsigned i = 0; i < 4; ++i) {
            value |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
        }
        return value;
    }

    void check_replacements() const {
        if (find_invalid_utf8(replacements_) != std::string_view::npos) {
            damaged(source_, messages::normaliser_no_utf8);
        }
        for (std::size_t at = 0; at < replacements_.size();) {
            const std::size_t end = std::min(replacements_.find('\0', at), replacements_.size());
            if (end - at > kMaxReplacementBytes) damaged(source_, messages::normaliser_replacement_too_long);
            at = end + 1;
        }
    }

    bool has_leaf(std::size_t unit) const { return ((units_[unit] >> 8) & 1) != 0; }

    // With all 256 positions of the block inside the array.
    std::size_t base_of(std::size_t unit) const {
        const std::uint32_t u = units_[unit];
        const std::uint32_t offset = (u >> 10) << ((u & (1u << 9)) >> 6);
        const std::size_t base = unit ^ static_cast<std::size_t>(offset);
        if ((base | 0xFF) >= units_.size()) damaged(source_, messages::normaliser_points_outside);
        return base;
    }

    const std::string& source_;
    std::vector<std::uint32_t> units_;
    std::string_view replacements_;
};

// ---------------------------------------------------------------- messages

enum PieceType : std::uint64_t { kNormal = 1, kUserDefined = 4, kLastType = 6 };

struct Piece {
    std::string_view text;
    std::uint64_t type = kNormal;
};

Piece check_piece(std::string_view bytes, std::int64_t index, const std::string& source) {
    WireReader reader(bytes, source);
    Piece piece;
    bool has_text = false;
    bool has_score = false;
    bool has_type = false;
    while (const auto r = reader.next()) {
        if (r->field == 1) {
            expect(*r, kBytes, has_text, "piece", source);
            piece.text = r->bytes;
        } else if (r->field == 2) {
            expect(*r, kFixed32, has_score, "score", source);
            if (!std::isfinite(std::bit_cast<float>(static_cast<std::uint32_t>(r->number)))) {
                damaged(source, messages::piece_score_no_number(index));
            }
        } else if (r->field == 3) {
            expect(*r, kVarint, has_type, "type", source);
            if (r->number < kNormal || r->number > kLastType) damaged(source, messages::piece_type_unknown(index));
            piece.type = r->number;
        }
    }
    if (piece.text.empty()) damaged(source, messages::piece_empty(index));
    expect_text(piece.text, messages::a_piece(index), source);
    return piece;
}

void check_trainer(std::string_view bytes, SentencePieceFile& file, const std::string& source) {
    WireReader reader(bytes, source);
    bool seen_type = false;
    bool seen_byte_fallback = false;
    bool seen_suffix = false;
    bool seen_texts[5] = {};
    while (const auto r = reader.next()) {
        if (r->field == 3) {
            expect(*r, kVarint, seen_type, "model_type", source);
            if (r->number < 1 || r->number > 4) {
                throw Error(ErrorKind::kUnsupported, messages::sentencepiece_type_unknown(source, r->number));
            }
        } else if (r->field == 24) {
            expect(*r, kVarint, seen_suffix, "treat_whitespace_as_suffix", source);
        } else if (r->field == 35) {
            expect(*r, kVarint, seen_byte_fallback, "byte_fallback", source);
        } else if (r->field >= 44 && r->field <= 48) {  // unk_surface, then the names of unk, bos, eos, pad
            expect(*r, kBytes, seen_texts[r->field - 44], messages::trainer_token_names, source);
            expect_text(r->bytes, messages::trainer_token_names, source);
            if (r->field == 44) file.unk_surface = r->bytes;
        }
    }
}

void check_normaliser(std::string_view bytes, SentencePieceFile& file, const std::string& source) {
    WireReader reader(bytes, source);
    bool seen_map = false;
    bool seen_prefix = false;
    bool seen_spaces = false;
    bool seen_escape = false;
    while (const auto r = reader.next()) {
        if (r->field == 2) {
            expect(*r, kBytes, seen_map, "precompiled_charsmap", source);
            if (!r->bytes.empty()) Charsmap(r->bytes, source).check();
        } else if (r->field == 3) {
            expect(*r, kVarint, seen_prefix, "add_dummy_prefix", source);
            file.add_dummy_prefix = r->number != 0;
        } else if (r->field == 4) {
            expect(*r, kVarint, seen_spaces, "remove_extra_whitespaces", source);
            file.remove_extra_whitespaces = r->number != 0;
        } else if (r->field == 5) {
            expect(*r, kVarint, seen_escape, "escape_whitespaces", source);
        }
    }
}

bool has_denormaliser(std::string_view bytes, const std::string& source) {
    WireReader reader(bytes, source);
    bool found = false;
    while (const auto r = reader.next()) found = found || (r->field == 2 && !r->bytes.empty());
    return found;
}

void check_nesting(std::vector<std::string_view> user_defined, const std::string& source) {
    std::sort(user_defined.begin(), user_defined.end());
    std::vector<std::string_view> prefixes;
    for (const std::string_view piece : user_defined) {
        while (!prefixes.empty() && !piece.starts_with(prefixes.back())) prefixes.pop_back();
        prefixes.push_back(piece);
        if (prefixes.size() > kMaxNestedUserPieces) {
            damaged(source, messages::too_many_pieces_alike(kMaxNestedUserPieces));
        }
    }
}

}  // namespace

SentencePieceFile check_sentencepiece(std::string_view bytes, std::int64_t max_pieces, const std::string& source) {
    SentencePieceFile file;
    file.unk_surface = " \xE2\x81\x87 ";
    std::vector<std::string_view> user_defined;
    bool has_trainer = false;
    bool has_normaliser = false;
    WireReader reader(bytes, source);
    while (const auto r = reader.next()) {
        if (r->field == 1) {
            if (r->type != kBytes) damaged(source, messages::wire_field_of_wrong_kind("pieces"));
            if (file.n_pieces == max_pieces) {
                throw Error(ErrorKind::kInvalidModel, messages::more_pieces_than_vocab(source, max_pieces));
            }
            const Piece piece = check_piece(r->bytes, file.n_pieces, source);
            if (piece.type == kUserDefined) {
                user_defined.push_back(piece.text);
                file.user_defined.push_back(static_cast<TokenId>(file.n_pieces));
            }
            ++file.n_pieces;
            file.serialized += r->whole;
        } else if (r->field == 2) {
            expect(*r, kBytes, has_trainer, "trainer_spec", source);
            check_trainer(r->bytes, file, source);
            file.serialized += r->whole;
        } else if (r->field == 3) {
            expect(*r, kBytes, has_normaliser, "normalizer_spec", source);
            check_normaliser(r->bytes, file, source);
            file.serialized += r->whole;
        } else if (r->field == 5) {
            if (r->type == kBytes && has_denormaliser(r->bytes, source)) {
                throw Error(ErrorKind::kUnsupported, messages::rewrites_output(source));
            }
        }
    }
    if (file.n_pieces == 0) damaged(source, messages::no_pieces);
    check_nesting(std::move(user_defined), source);
    return file;
}

}  // namespace offstage::engine
