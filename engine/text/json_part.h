#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/message.h"

namespace offstage::engine {

// Error (kInvalidModel): "FILE: the field FIELD must be EXPECTED."
[[noreturn]] void bad_field(const std::string& file, const std::string& field, const MessageArgument& expected);

// A value of a JSON file with the name of its place, for errors. A view: the value must
// outlive it. null counts as missing.
class JsonPart {
  public:
    JsonPart(const nlohmann::json& value, std::string file, std::string field = {})
        : value_(&value), file_(std::move(file)), field_(std::move(field)) {}

    const nlohmann::json& value() const { return *value_; }
    const std::string& file() const { return file_; }
    const std::string& field() const { return field_; }

    bool has(const char* name) const;
    JsonPart at(const char* name) const;  // a part that is null when the name is missing
    std::vector<JsonPart> items() const;  // of a list; throws Error for anything else
    bool is_null() const { return value_->is_null(); }
    // A text of at most 64 KiB, of this part itself and of a field of it. Throws Error
    // when it is missing or no text.
    std::string text() const;
    std::string text(const char* name) const { return at(name).text(); }
    std::string text(const char* name, const std::string& otherwise) const;
    bool flag(const char* name, bool otherwise) const;
    std::int64_t number(const char* name, std::int64_t otherwise) const;

    [[noreturn]] void bad(const MessageArgument& expected) const;
    // For a text that names something: kUnsupported, with the known names.
    [[noreturn]] void unknown(const std::string& known) const;

  private:
    const nlohmann::json* value_;
    std::string file_;
    std::string field_;
};

}  // namespace offstage::engine
