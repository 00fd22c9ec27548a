#include "engine/text/json_part.h"

#include "engine/base_messages.h"
#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxFieldBytes = 64u << 10;

}  // namespace

void bad_field(const std::string& file, const std::string& field, const MessageArgument& expected) {
    throw Error(ErrorKind::kInvalidModel, messages::token_field_must_be(file, field, expected));
}

bool JsonPart::has(const char* name) const {
    return !at(name).is_null();
}

JsonPart JsonPart::at(const char* name) const {
    static const nlohmann::json kNull;
    const std::string field = field_.empty() ? name : field_ + "." + name;
    if (!value_->is_object()) bad(messages::an_object);
    const auto it = value_->find(name);
    return {it == value_->end() ? kNull : *it, file_, field};
}

std::vector<JsonPart> JsonPart::items() const {
    if (!value_->is_array()) bad(messages::a_list);
    std::vector<JsonPart> parts;
    parts.reserve(value_->size());
    for (std::size_t i = 0; i < value_->size(); ++i) {
        parts.emplace_back((*value_)[i], file_, field_ + "[" + std::to_string(i) + "]");
    }
    return parts;
}

std::string JsonPart::text() const {
    if (!value_->is_string()) bad(messages::a_text);
    auto text = value_->get<std::string>();
    if (text.size() > kMaxFieldBytes) bad(messages::a_text_of_at_most(kMaxFieldBytes));
    return text;
}

std::string JsonPart::text(const char* name, const std::string& otherwise) const {
    return has(name) ? text(name) : otherwise;
}

bool JsonPart::flag(const char* name, bool otherwise) const {
    const JsonPart part = at(name);
    if (part.is_null()) return otherwise;
    if (!part.value().is_boolean()) part.bad(messages::true_or_false);
    return part.value().get<bool>();
}

std::int64_t JsonPart::number(const char* name, std::int64_t otherwise) const {
    const JsonPart part = at(name);
    if (part.is_null()) return otherwise;
    if (!part.value().is_number_integer()) part.bad(messages::a_number);
    return part.value().get<std::int64_t>();
}

void JsonPart::bad(const MessageArgument& expected) const {
    bad_field(file_, field_.empty() ? "(all)" : field_, expected);
}

void JsonPart::unknown(const std::string& known) const {
    throw Error(ErrorKind::kUnsupported, messages::tokenizer_field_unsupported(file_, field_, text(), known));
}

}  // namespace offstage::engine
