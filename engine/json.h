#pragma once
// JSON from untrusted files: bounded, strict, and with messages that name file and key.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/message.h"

namespace offstage::engine {

struct JsonLimits {
    std::size_t max_depth = 64;          // nested lists and objects
    std::size_t max_values = 4'000'000;  // keys, strings, numbers ... together: about 16 to 100 bytes of memory each
    std::size_t max_keys = std::numeric_limits<std::size_t>::max();  // of one object
};

// Parses one JSON document. Stricter than nlohmann::json::parse: it also rejects a key
// that appears twice in one object, a NUL byte, and nesting or size beyond the limits.
// Throws Error (kInvalidModel) that begins with `source`.
nlohmann::json parse_json(std::string_view text, const std::string& source, const JsonLimits& limits = {});
// The same: objects keep the order of their keys, and look at all of them for each new
// one.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& source,
                                          const JsonLimits& limits = {});

// `text` in quotes for a message: control characters and bytes that are not UTF-8 become
// \xNN, a long text is cut.
std::string in_quotes(std::string_view text);

// A short description of a value for a message: a number as written, a text in quotes, "a
// list of 3", "an object", "null".
MessageArgument describe(const nlohmann::json& value);
MessageArgument describe(const nlohmann::ordered_json& value);

// Reads the fields of one JSON object, with a check on each. The object and the source
// must outlive it. A field counts as absent when the key is missing; null is a separate
// value (see is_null). Every failed check throws Error (kInvalidModel): source, key,
// actual and expected value.
class JsonFields {
  public:
    // `path` precedes the keys in messages, for an object inside another:
    // "rope_parameters.".
    JsonFields(const nlohmann::json& object, const std::string& source, std::string path = {});
    JsonFields(const JsonFields&) = default;
    virtual ~JsonFields() = default;

    bool has(const char* key) const { return find(key) != nullptr; }
    bool is_null(const char* key) const;
    bool has_value(const char* key) const { return has(key) && !is_null(key); }
    const nlohmann::json* find(const char* key) const;  // nullptr when absent

    // An integer in [low, high]; 3.0 and "3" are not integers. Without a fallback the key
    // is required.
    std::int64_t integer(const char* key, std::int64_t low, std::int64_t high,
                         std::optional<std::int64_t> fallback = {}) const;
    // A finite number in [low, high].
    double number(const char* key, double low, double high, std::optional<double> fallback = {}) const;
    bool boolean(const char* key, bool fallback) const;
    std::string text(const char* key, std::optional<std::string> fallback = {}) const;
    // The object of a key that is there.
    JsonFields object(const std::string& key) const {
        return JsonFields(*find(key.c_str()), source_, path_ + key + ".");
    }

    // Throws: SOURCE: "KEY" is FOUND; expected EXPECTED.
    [[noreturn]] void reject(const char* key, const MessageArgument& expected) const;

  protected:
    // A key as messages call it.
    virtual std::string named(const std::string& key) const { return path_ + key; }

  private:
    const nlohmann::json& object_;
    const std::string& source_;
    std::string path_;
};

}  // namespace offstage::engine
