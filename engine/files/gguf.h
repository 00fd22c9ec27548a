#pragma once
// The container of a GGUF file: its metadata, and the places of its tensors. Other files
// interpret them. Specification: ggml's docs/gguf.md, versions 2 and 3.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engine/message.h"

namespace offstage::engine {

// A value of the metadata. Texts point into the file. Integers beyond 2^63 - 1 are stored
// as 2^63 - 1; a list of lists is stored as std::monostate.
using GgufValue = std::variant<std::monostate, bool, std::int64_t, double, std::string_view, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string_view>>;

// The key-value pairs of a file, with checks. Every failed check throws Error
// (kInvalidModel): source, key, actual and expected value. Any thread.
class GgufMetadata {
  public:
    const std::string& source() const { return source_; }
    bool has(std::string_view key) const { return find(key) != nullptr; }
    const GgufValue* find(std::string_view key) const;  // nullptr when absent

    // Without a fallback the key must be there. A list of equal numbers is that number.
    std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback = {}) const;
    double number(std::string_view key, std::optional<double> fallback = {}) const;
    bool flag(std::string_view key, bool fallback) const;
    std::string_view text(std::string_view key, std::optional<std::string_view> fallback = {}) const;
    // Empty where the key is absent. Lists of booleans are integers.
    std::span<const std::string_view> texts(std::string_view key) const;
    std::span<const std::int64_t> integers(std::string_view key) const;
    std::span<const double> numbers(std::string_view key) const;

    // Throws: SOURCE: "KEY" is FOUND; expected EXPECTED.
    [[noreturn]] void reject(std::string_view key, const MessageArgument& expected) const;

    // In the file's order.
    struct Entry {
        std::string_view key;
        GgufValue value;
    };
    std::span<const Entry> entries() const { return entries_; }

  private:
    friend class GgufParser;
    std::string source_;
    std::vector<Entry> entries_;
    std::unordered_map<std::string_view, std::size_t> by_key_;
};

// Found, for a message: a number as written, a text in quotes, "a list of 3: 2, 4, 2".
MessageArgument describe(const GgufValue& value);
// If a value is a list of equal numbers, that number, because llama.cpp accepts lists for
// keys of layers. Otherwise the value.
GgufValue one_number(const GgufValue& value);

struct GgufTensor {
    std::string_view name;
    std::vector<std::int64_t> shape;  // row-major: the file's in reverse
    std::uint32_t type = 0;           // ggml's number
    std::uint64_t offset = 0;         // from the beginning of the file, in bytes
    std::uint64_t bytes = 0;          // all within the file; 0 too if the type is not known
};

struct GgufHeader {
    std::uint32_t version = 0;
    GgufMetadata metadata;
    std::vector<GgufTensor> tensors;
    std::uint64_t alignment = 32;   // the tensors' data
    std::uint64_t data_offset = 0;  // beginning of the tensors' data
};

// `file`: the whole file, mapped; must outlive the result. Only the header is read.
//
//   byte 0   "GGUF"
//   byte 4   version, 32 bits     all numbers little-endian
//   byte 8   number of tensors, of pairs, 64 bits each
//   ...      pairs: key, type (32 bits), value
//   ...      tensors: name, number of dimensions (32 bits), dimensions (64 bits), the
//            innermost first, type (32 bits), offset (64 bits) from the data's beginning
//   ...      data, from the next multiple of general.alignment
//
// Throws Error (kInvalidModel; kUnsupported for another version or byte order) naming the
// source and the byte: a wrong magic, a file cut short (by how many bytes), numbers that
// the file cannot hold, keys or tensors that appear twice, an alignment or an offset that
// is none, rows that are no whole blocks.
GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& source);

}  // namespace offstage::engine
