#include "engine/serve/answer_form.h"

#include "engine/error.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/text/gbnf.h"
#include "engine/text/json_schema_grammar.h"

namespace offstage::engine {
namespace {

// Calls `make`; its errors are the field's.
template <typename Make>
std::shared_ptr<const Grammar> form_of(const std::string& field, const Make& make) {
    try {
        return std::make_shared<const Grammar>(make());
    } catch (const Error& error) {
        throw ApiError(400, "\"" + field + "\": " + error.what(), field);
    }
}

std::shared_ptr<const Grammar> any_object() {
    static const auto kObject = std::make_shared<const Grammar>(json_schema_grammar({{"type", "object"}}));
    return kObject;
}

std::shared_ptr<const Grammar> schema_form(const RequestJson& schema, const std::string& field) {
    return form_of(field, [&] { return json_schema_grammar(schema); });
}

// An object with "type"; the name of its type.
std::string type_of_format(const RequestJson& format, RequestObject kind, const std::string& field) {
    if (!format.is_object()) refuse_field(field, format, "an object with \"type\"");
    check_fields(format, kind, field + ".");
    return RequestFields(format, field + ".").text("type");
}

const RequestJson& require_schema(const RequestJson& object, const std::string& at) {
    const RequestJson* schema = object.is_object() ? RequestFields(object).find("schema") : nullptr;
    if (schema == nullptr) throw ApiError(400, "\"" + at + ".schema\" is missing; expected a JSON schema.", at);
    return *schema;
}

std::shared_ptr<const Grammar> format_form(const RequestJson& format) {
    const std::string field = "response_format", type = type_of_format(format, RequestObject::kResponseFormat, field);
    const bool has_own = format.contains("schema") && !format["schema"].is_null();
    if (type == "json_schema") {
        const RequestJson& inner = RequestFields(format, field + ".").object("json_schema");
        check_fields(inner, RequestObject::kJsonSchema, field + ".json_schema.");
        return schema_form(require_schema(inner, field + ".json_schema"), field);
    }
    if (type == "json_object") return has_own ? schema_form(format["schema"], field) : any_object();
    if (type != "text") refuse_field(field + ".type", type, "text, json_object or json_schema");
    return nullptr;
}

std::shared_ptr<const Grammar> json_schema_format(const RequestJson& format, const std::string& field) {
    const std::string type = type_of_format(format, RequestObject::kOutputFormat, field);
    if (type != "json_schema") refuse_field(field + ".type", type, "json_schema");
    return schema_form(require_schema(format, field), field);
}

}  // namespace

std::shared_ptr<const Grammar> openai_form(const RequestFields& fields) {
    std::shared_ptr<const Grammar> form;
    std::string said_by;
    const auto add = [&](const std::string& field, std::shared_ptr<const Grammar> more) {
        if (more == nullptr) return;
        if (form != nullptr) {
            throw ApiError(400, "\"" + field + "\" and \"" + said_by + "\" both give the answer a form; expected one.",
                           field);
        }
        form = std::move(more);
        said_by = field;
    };
    if (const RequestJson* format = fields.find("response_format")) add("response_format", format_form(*format));
    if (const RequestJson* schema = fields.find("json_schema")) add("json_schema", schema_form(*schema, "json_schema"));
    if (const std::string grammar = fields.text("grammar"); !grammar.empty()) {
        add("grammar", form_of("grammar", [&] { return parse_gbnf(grammar); }));
    }
    if (form != nullptr && fields.boolean("ignore_eos", false)) {
        refuse_field("ignore_eos", true, "false: an answer ends where \"" + said_by + "\" says");
    }
    return form;
}

std::shared_ptr<const Grammar> responses_form(const RequestFields& fields) {
    const RequestJson& text = fields.object("text");
    check_fields(text, RequestObject::kResponseText, "text.");
    const RequestJson* format = RequestFields(text, "text.").find("format");
    if (format == nullptr) return nullptr;
    const std::string field = "text.format", type = type_of_format(*format, RequestObject::kTextFormat, field);
    if (type == "text") return nullptr;
    if (type == "json_object") return any_object();
    if (type != "json_schema") refuse_field(field + ".type", type, "text, json_object or json_schema");
    return schema_form(require_schema(*format, field), field);
}

std::shared_ptr<const Grammar> ollama_form(const RequestFields& fields) {
    const RequestJson* format = fields.find("format");
    if (format == nullptr || *format == "") return nullptr;
    if (*format == "json") return any_object();
    if (!format->is_object()) refuse_field("format", *format, "\"json\" or a JSON schema");
    return schema_form(*format, "format");
}

std::shared_ptr<const Grammar> anthropic_form(const RequestFields& fields) {
    const RequestJson& config = fields.object("output_config");
    const RequestJson *inner = RequestFields(config).find("format"), *outer = fields.find("output_format");
    if (inner != nullptr && outer != nullptr) {
        refuse_field("output_format", *outer, "none beside \"output_config.format\"");
    }
    if (inner != nullptr) return json_schema_format(*inner, "output_config.format");
    if (outer != nullptr) return json_schema_format(*outer, "output_format");
    return nullptr;
}

}  // namespace offstage::engine
