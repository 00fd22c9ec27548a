#include "engine/json.h"

#include <cmath>
#include <utility>
#include <vector>

#include "engine/base_messages.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestQuote = 96;

// Bytes of the well-formed UTF-8 sequence at the front of `text` (Unicode 15, table 3-7),
// 0 if there is none.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto in = [&](std::size_t i, unsigned low, unsigned high) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return in(1, 0x80, 0xbf) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : 0xbf;
        return in(1, low, high) && in(2, 0x80, 0xbf) ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const unsigned low = first == 0xf0 ? 0x90 : 0x80;
        const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
        return in(1, low, high) && in(2, 0x80, 0xbf) && in(3, 0x80, 0xbf) ? 4 : 0;
    }
    return 0;
}

std::string escaped(std::string_view text, std::size_t longest) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    while (!text.empty()) {
        if (out.size() >= longest) return out + "...";
        const auto byte = static_cast<unsigned char>(text.front());
        std::size_t length = utf8_length(text);
        if (length == 0 || byte < 0x20 || byte == 0x7f) {
            out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
            length = 1;
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out;
}

// Builds the value, and refuses values that it could not represent or that are too large.
// The library's own parser with a filter callback scans a whole list again for each
// object in it.
template <typename Json>
class Builder final : public nlohmann::json_sax<Json> {
  public:
    Builder(const std::string& source, const JsonLimits& limits) : source_(source), limits_(limits) {}

    Json take() { return std::move(root_); }

    bool null() override { return add(nullptr); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(std::int64_t value) override { return add(value); }
    bool number_unsigned(std::uint64_t value) override { return add(value); }
    bool number_float(double value, const std::string& /*as_written*/) override { return add(value); }
    bool string(std::string& value) override { return add(std::move(value)); }
    bool binary(typename Json::binary_t& /*value*/) override { return false; }  // JSON has none
    bool start_object(std::size_t /*n*/) override { return begin(Json::object()); }
    bool start_array(std::size_t /*n*/) override { return begin(Json::array()); }
    bool end_object() override { return end(); }
    bool end_array() override { return end(); }
    bool key(std::string& name) override {
        count();
        const auto [at, is_new] = open_.back()->emplace(name, nullptr);
        if (!is_new) throw Error(ErrorKind::kInvalidModel, messages::json_key_twice(source_, in_quotes(name)));
        if (open_.back()->size() > limits_.max_keys) {
            throw Error(ErrorKind::kInvalidModel, messages::json_too_many_keys(source_, limits_.max_keys));
        }
        of_key_ = &*at;
        return true;
    }
    bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const json::exception& error) override {
        if (const auto* syntax = dynamic_cast<const json::parse_error*>(&error)) {
            throw Error(ErrorKind::kInvalidModel, messages::json_invalid(source_, syntax->byte),
                        escaped(error.what(), 1000));
        }
        // A number beyond the range of double.
        throw Error(ErrorKind::kInvalidModel, messages::json_number_out_of_range(source_), escaped(error.what(), 1000));
    }

  private:
    void count() {
        if (++n_values_ > limits_.max_values) {
            throw Error(ErrorKind::kInvalidModel, messages::json_too_many_values(source_, limits_.max_values));
        }
    }
    // To where it belongs; a container that is open does not move, since the one around
    // it gets nothing meanwhile.
    Json& put(Json value) {
        count();
        if (open_.empty()) return root_ = std::move(value);
        if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
        return *of_key_ = std::move(value);
    }
    bool add(Json value) {
        put(std::move(value));
        return true;
    }
    bool begin(Json container) {
        if (open_.size() >= limits_.max_depth) {
            throw Error(ErrorKind::kInvalidModel, messages::json_too_deep(source_, limits_.max_depth));
        }
        open_.push_back(&put(std::move(container)));
        return true;
    }
    bool end() {
        count();
        open_.pop_back();
        return true;
    }

    const std::string& source_;
    const JsonLimits& limits_;
    std::size_t n_values_ = 0;
    Json root_;
    std::vector<Json*> open_;  // containers, each inside the one before it
    Json* of_key_ = nullptr;   // the destination of the value of the last key
};

template <typename Json>
Json parse_bounded(std::string_view text, const std::string& source, const JsonLimits& limits) {
    // nlohmann's lexer takes a NUL byte for the end of the text and ignores the rest.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
        throw Error(ErrorKind::kInvalidModel, messages::json_nul_byte(source, nul));
    }
    Builder<Json> builder(source, limits);
    Json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
}

template <typename Json>
MessageArgument description_of(const Json& value) {
    switch (value.type()) {
        case json::value_t::null:
            return "null";
        case json::value_t::string:
            return in_quotes(value.template get_ref<const std::string&>());
        case json::value_t::array:
            return messages::a_list_of(value.size());
        case json::value_t::object:
            return messages::an_object;
        case json::value_t::boolean:
        case json::value_t::number_integer:
        case json::value_t::number_unsigned:
        case json::value_t::number_float:
            return value.dump();
        case json::value_t::binary:
        case json::value_t::discarded:
            break;
    }
    return messages::something_else;
}

}  // namespace

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    out += escaped(text, kLongestQuote);
    out += '"';
    return out;
}

MessageArgument describe(const json& value) {
    return description_of(value);
}

MessageArgument describe(const nlohmann::ordered_json& value) {
    return description_of(value);
}

json parse_json(std::string_view text, const std::string& source, const JsonLimits& limits) {
    return parse_bounded<json>(text, source, limits);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& source, const JsonLimits& limits) {
    return parse_bounded<nlohmann::ordered_json>(text, source, limits);
}

JsonFields::JsonFields(const json& object, const std::string& source, std::string path)
    : object_(object), source_(source), path_(std::move(path)) {
    if (object.is_object()) return;
    throw Error(ErrorKind::kInvalidModel,
                path_.empty() ? messages::json_file_no_object(source_, describe(object))
                              : messages::json_no_object(source_, in_quotes(path_.substr(0, path_.size() - 1)),
                                                         describe(object)));
}

const json* JsonFields::find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
}

bool JsonFields::is_null(const char* key) const {
    const json* value = find(key);
    return value != nullptr && value->is_null();
}

void JsonFields::reject(const char* key, const MessageArgument& expected) const {
    const json* value = find(key);
    throw Error(ErrorKind::kInvalidModel,
                value == nullptr ? messages::field_missing(source_, named(key), expected)
                                 : messages::field_rejected(source_, named(key), describe(*value), expected));
}

std::int64_t JsonFields::integer(const char* key, std::int64_t low, std::int64_t high,
                                 std::optional<std::int64_t> fallback) const {
    const json* value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr && value->is_number_integer()) {
        // nlohmann keeps a non-negative integer as unsigned; above int64 it must not be
        // read as a signed one.
        const bool fits = !value->is_number_unsigned() || std::in_range<std::int64_t>(value->get<std::uint64_t>());
        if (fits && value->get<std::int64_t>() >= low && value->get<std::int64_t>() <= high) {
            return value->get<std::int64_t>();
        }
    }
    reject(key, messages::an_integer_in_range(low, high));
}

double JsonFields::number(const char* key, double low, double high, std::optional<double> fallback) const {
    const json* value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value != nullptr && value->is_number()) {
        const auto found = value->get<double>();
        if (std::isfinite(found) && found >= low && found <= high) return found;
    }
    reject(key, messages::a_number_in_range(low, high));
}

bool JsonFields::boolean(const char* key, bool fallback) const {
    const json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) reject(key, messages::true_or_false);
    return value->get<bool>();
}

std::string JsonFields::text(const char* key, std::optional<std::string> fallback) const {
    const json* value = find(key);
    if (value == nullptr && fallback) return *fallback;
    if (value == nullptr || !value->is_string()) reject(key, messages::a_text);
    return value->get<std::string>();
}

}  // namespace offstage::engine
