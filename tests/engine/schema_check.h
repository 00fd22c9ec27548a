#pragma once
// Whether a JSON value is one of a schema: what the keywords say, written down once more.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include <QDate>
#include <QRegularExpression>
#include <QString>
#include <QTime>

namespace offstage::test {

class SchemaCheck {
  public:
    using Json = nlohmann::ordered_json;

    explicit SchemaCheck(const Json& root) : root_(root) {}

    bool fits(const Json& value) const { return fits(root_, value); }

  private:
    static bool is_type(const Json& value, const std::string& type) {
        if (type == "integer") return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
        if (type == "number") return value.is_number();
        return type == value.type_name();
    }
    static qsizetype length(const Json& text) {
        return QString::fromStdString(text.get<std::string>()).toUcs4().size();
    }
    static bool has_format(const std::string& format, const QString& text) {
        const auto is = [&](const char* expression) {
            return QRegularExpression(QRegularExpression::anchoredPattern(QLatin1String(expression)))
                .match(text)
                .hasMatch();
        };
        if (format == "date") return text.size() == 10 && QDate::fromString(text, Qt::ISODate).isValid();
        if (format == "time") {
            return QTime::fromString(text.left(8), QStringLiteral("HH:mm:ss")).isValid() &&
                   is(".{8}(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)");
        }
        if (format == "uuid") return is("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
        if (format == "ipv4") return is("\\d{1,3}(\\.\\d{1,3}){3}");
        return false;
    }

    bool fits(const Json& schema, const Json& value) const {
        if (schema.is_boolean()) return schema.get<bool>();
        for (const auto& [keyword, said] : schema.items()) {
            if (!obeys(schema, keyword, said, value)) return false;
        }
        return true;
    }
    bool any(const Json& list, const Json& value) const {
        return std::any_of(list.begin(), list.end(), [&](const Json& one) { return fits(one, value); });
    }
    bool all(const Json& list, const Json& value) const {
        return std::all_of(list.begin(), list.end(), [&](const Json& one) { return fits(one, value); });
    }
    bool obeys(const Json& schema, const std::string& keyword, const Json& said, const Json& value) const {
        if (keyword == "$ref") return fits(root_.at(Json::json_pointer(said.get<std::string>().substr(1))), value);
        if (keyword == "type") {
            if (said.is_string()) return is_type(value, said);
            return std::any_of(said.begin(), said.end(), [&](const Json& type) { return is_type(value, type); });
        }
        if (keyword == "enum") return std::find(said.begin(), said.end(), value) != said.end();
        if (keyword == "const") return said == value;
        if (keyword == "anyOf" || keyword == "oneOf") return any(said, value);
        if (keyword == "allOf") return all(said, value);
        if (value.is_string()) {
            const QString text = QString::fromStdString(value.get<std::string>());
            if (keyword == "minLength") return length(value) >= said.get<int>();
            if (keyword == "maxLength") return length(value) <= said.get<int>();
            if (keyword == "pattern") {
                return QRegularExpression(QString::fromStdString(said.get<std::string>()),
                                          QRegularExpression::UseUnicodePropertiesOption)
                    .match(text)
                    .hasMatch();
            }
            if (keyword == "format") return has_format(said, text);
        }
        if (value.is_number()) {
            const double number = value.get<double>();
            if (keyword == "minimum") return number >= said.get<double>();
            if (keyword == "maximum") return number <= said.get<double>();
            if (keyword == "exclusiveMinimum") return number > said.get<double>();
            if (keyword == "exclusiveMaximum") return number < said.get<double>();
        }
        if (value.is_array()) {
            if (keyword == "minItems") return value.size() >= said.get<std::size_t>();
            if (keyword == "maxItems") return value.size() <= said.get<std::size_t>();
            const std::size_t n_prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
            for (std::size_t i = 0; i < value.size(); ++i) {
                if (keyword == "prefixItems" && i < n_prefix && !fits(said[i], value[i])) return false;
                if (keyword == "items" && i >= n_prefix && !fits(said, value[i])) return false;
            }
        }
        if (value.is_object()) {
            if (keyword == "required") {
                return std::all_of(said.begin(), said.end(),
                                   [&](const Json& name) { return value.contains(name.get<std::string>()); });
            }
            for (const auto& [name, its] : value.items()) {
                const bool is_listed = schema.contains("properties") && schema["properties"].contains(name);
                if (keyword == "properties" && is_listed && !fits(said[name], its)) return false;
                if (keyword == "additionalProperties" && !is_listed && !fits(said, its)) return false;
            }
        }
        return true;
    }

    const Json& root_;
};

}  // namespace offstage::test
