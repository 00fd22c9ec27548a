#include "engine/text/sentencepiece_writer.h"

#include <algorithm>
#include <bit>

namespace offstage::engine {
namespace {

// Records of protobuf's wire format.

void append_varint(std::uint64_t value, std::string& out) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(static_cast<unsigned char>(0x80 | (value & 0x7F)));
    out += static_cast<char>(static_cast<unsigned char>(value));
}

void append_number(std::uint32_t field, std::uint64_t value, std::string& out) {
    append_varint(field << 3, out);
    append_varint(value, out);
}

void append_bytes(std::uint32_t field, std::string_view bytes, std::string& out) {
    append_varint(field << 3 | 2, out);
    append_varint(bytes.size(), out);
    out += bytes;
}

void append_float(std::uint32_t field, float value, std::string& out) {
    append_varint(field << 3 | 5, out);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8)
        out += static_cast<char>(static_cast<unsigned char>(bits >> shift));
}

}  // namespace

std::string write_sentencepiece(std::span<const SentencePiece> pieces, bool add_dummy_prefix) {
    constexpr std::uint64_t kBpe = 2;
    constexpr std::uint32_t kByte = 6;
    std::string model;
    std::string record;
    for (const SentencePiece& piece : pieces) {
        record.clear();
        append_bytes(1, piece.text, record);
        append_float(2, piece.score, record);
        append_number(3, piece.type, record);
        append_bytes(1, record, model);
    }
    const bool has_bytes =
        std::any_of(pieces.begin(), pieces.end(), [](const SentencePiece& piece) { return piece.type == kByte; });
    record.clear();
    append_number(3, kBpe, record);        // model_type
    append_number(35, has_bytes, record);  // byte_fallback
    append_bytes(2, record, model);
    record.clear();
    append_bytes(1, "identity", record);
    append_number(3, add_dummy_prefix, record);
    append_number(4, 0, record);  // remove_extra_whitespaces
    append_number(5, 1, record);  // escape_whitespaces
    append_bytes(3, record, model);
    return model;
}

}  // namespace offstage::engine
