#include "engine/serve/request_fields.h"

#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/serve/api_error.h"

namespace offstage::engine {

void refuse_field(const std::string& field, const RequestJson& value, const std::string& expected) {
    throw ApiError(400, "\"" + field + "\" is " + describe(value).english() + "; expected " + expected + ".", field);
}

RequestJson parse_body(std::string_view body) {
    constexpr std::size_t kMostValues = 2'000'000;
    // An object looks at all of its keys for each further one.
    constexpr std::size_t kMostKeys = 2048;
    RequestJson object;
    try {
        object = parse_ordered_json(body, "The request's body",
                                    {.max_depth = 32, .max_values = kMostValues, .max_keys = kMostKeys});
    } catch (const Error& error) {
        throw api_error_of(400, error);
    }
    if (!object.is_object())
        throw ApiError(400, "The request's body is " + describe(object).english() + "; expected an object.");
    return object;
}

void check_model(const std::string& wanted, const std::string& loaded) {
    if (wanted.empty() || wanted == loaded || wanted == loaded + ":latest") return;  // as Ollama's programs write it
    throw ApiError(404, "The model " + in_quotes(wanted) + " is not loaded; expected " + in_quotes(loaded) + ".",
                   "model", "model_not_found");
}

const RequestJson* RequestFields::find(const char* name) const {
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
}

const char* RequestFields::one_of(std::initializer_list<const char*> names) const {
    const char* given = nullptr;
    for (const char* name : names) {
        if (find(name) == nullptr) continue;
        if (given == nullptr) given = name;
        check_same(given, *this, name);
    }
    return given != nullptr ? given : *(names.end() - 1);
}

void RequestFields::check_same(const char* name, const RequestFields& other, const char* other_name) const {
    const RequestJson *value = find(name), *other_value = other.find(other_name);
    if (value == nullptr || other_value == nullptr || *value == *other_value) return;
    const std::string field = other.path_ + other_name;
    refuse_field(field, *other_value,
                 "what \"" + path_ + name + "\" says, " + describe(*value).english() + ": both name the same");
}

std::int64_t RequestFields::integer(const char* name, std::int64_t low, std::int64_t high, std::int64_t fallback,
                                    const char* also) const {
    const RequestJson* value = find(name);
    if (value == nullptr) return fallback;
    // Larger than int64 is out of every range here. Some programs write 40.0 for 40.
    constexpr double kExact = 9007199254740992;  // 2^53: larger floats are no exact integers
    const double real = value->is_number_float() ? value->get<double>() : 0;
    const bool fits = value->is_number_float() ? std::abs(real) <= kExact && std::trunc(real) == real
                                               : value->is_number_integer() &&
                                                     (!value->is_number_unsigned() ||
                                                      value->get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
    if (!fits || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high) {
        refuse_field(path_ + name, *value,
                     (also == nullptr ? std::string() : std::string(also) + " or ") + "an integer from " +
                         std::to_string(low) + " to " + std::to_string(high));
    }
    return value->get<std::int64_t>();
}

float RequestFields::number(const char* name, double low, double high, float fallback) const {
    const RequestJson* value = find(name);
    if (value == nullptr) return fallback;
    const double given = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(given >= low && given <= high)) {
        const auto shown = [](double bound) { return RequestJson(bound).dump(); };
        refuse_field(path_ + name, *value, "a number from " + shown(low) + " to " + shown(high));
    }
    return static_cast<float>(given);
}

bool RequestFields::boolean(const char* name, bool fallback) const {
    const RequestJson* value = find(name);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) refuse_field(path_ + name, *value, "true or false");
    return value->get<bool>();
}

std::string RequestFields::text(const char* name) const {
    const RequestJson* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string()) refuse_field(path_ + name, *value, "a text");
    return value->get<std::string>();
}

const RequestJson& RequestFields::object(const char* name) const {
    static const RequestJson kNone = RequestJson::object();
    const RequestJson* value = find(name);
    if (value == nullptr) return kNone;
    if (!value->is_object()) refuse_field(path_ + name, *value, "an object");
    return *value;
}

}  // namespace offstage::engine
