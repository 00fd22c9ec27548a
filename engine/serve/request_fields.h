#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace offstage::engine {

// Of a request: objects keep the order of their keys, as schemas need it.
using RequestJson = nlohmann::ordered_json;

// Throws ApiError (400): "FIELD" is VALUE; expected EXPECTED.
[[noreturn]] void refuse_field(const std::string& field, const RequestJson& value, const std::string& expected);

// A request's body, which must be an object. Throws ApiError (400).
RequestJson parse_body(std::string_view body);

// Throws ApiError (404) where another model than the loaded one is wanted. Empty: any.
void check_model(const std::string& wanted, const std::string& loaded);

// Reads the fields of an object of a request, null counting as left out. Throws ApiError
// (400) for values of another type or out of range. The object must outlive it.
class RequestFields {
  public:
    // `path`: before the names, in messages.
    explicit RequestFields(const RequestJson& object, std::string path = {})
        : object_(object), path_(std::move(path)) {}

    // nullptr: left out.
    const RequestJson* find(const char* name) const;
    // Of the names for one thing, the one that the request contains; the last name if it
    // contains none. Refuses two that contradict each other.
    const char* one_of(std::initializer_list<const char*> names) const;
    // Refuses two fields for one thing that contradict each other.
    void check_same(const char* name, const RequestFields& other, const char* other_name) const;
    // A float without a fraction is one, too. also: a value that the caller takes besides
    // these, for the message.
    std::int64_t integer(const char* name, std::int64_t low, std::int64_t high, std::int64_t fallback,
                         const char* also = nullptr) const;
    float number(const char* name, double low, double high, float fallback) const;
    bool boolean(const char* name, bool fallback) const;
    std::string text(const char* name) const;
    // An object of its own; left out: an empty one.
    const RequestJson& object(const char* name) const;

  private:
    const RequestJson& object_;
    std::string path_;
};

}  // namespace offstage::engine
