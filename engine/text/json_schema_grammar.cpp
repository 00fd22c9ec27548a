#include "engine/text/json_schema_grammar.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUnbounded = GrammarBuilder::kNoLimit;
constexpr std::size_t kMostSchemaBytes = 256u << 10;
constexpr int kDeepestSchema = 128, kDeepestMerge = 24;
constexpr int kMostMerged = 500;
constexpr std::size_t kMostPrefixItems = 256;
constexpr std::size_t kLongestProperty = 256;  // of a property beside others that are free

// Keywords that say nothing about a value, and where definitions lie.
constexpr std::string_view kAnnotations[] = {"$schema",     "$id",        "$comment",    "$defs",     "$anchor",
                                             "definitions", "title",      "description", "default",   "example",
                                             "examples",    "deprecated", "readOnly",    "writeOnly", "$vocabulary"};

struct Keyword {
    std::string_view name;
    std::string_view type;  // of the values that it is about; empty: all
};
constexpr Keyword kKeywords[] = {
    {"$ref", ""},
    {"type", ""},
    {"enum", ""},
    {"const", ""},
    {"anyOf", ""},
    {"oneOf", ""},
    {"allOf", ""},
    {"properties", "object"},
    {"required", "object"},
    {"additionalProperties", "object"},
    {"items", "array"},
    {"prefixItems", "array"},
    {"minItems", "array"},
    {"maxItems", "array"},
    {"pattern", "string"},
    {"format", "string"},
    {"minLength", "string"},
    {"maxLength", "string"},
    {"minimum", "number"},
    {"maximum", "number"},
    {"exclusiveMinimum", "number"},
    {"exclusiveMaximum", "number"},
};
// Keywords that are not supported, with the values that say nothing.
constexpr std::pair<std::string_view, std::string_view> kSayNothing[] = {
    {"uniqueItems", "false"}, {"minProperties", "0"}, {"nullable", "false"}, {"unevaluatedProperties", "true"}};

constexpr std::string_view kJsonTypes[] = {"object", "array", "string", "number", "boolean", "null"};

#define OFFSTAGE_DATE \
    "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
#define OFFSTAGE_TIME "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
constexpr std::pair<std::string_view, std::string_view> kFormats[] = {
    {"date", "^" OFFSTAGE_DATE "$"},
    {"time", "^" OFFSTAGE_TIME "$"},
    {"date-time", "^" OFFSTAGE_DATE "T" OFFSTAGE_TIME "$"},
    {"duration",
     "^P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|[0-9]{1,4}D|"
     "T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"email",
     "^[a-zA-Z0-9_+-]{1,32}([.][a-zA-Z0-9_+-]{1,32}){0,2}@([a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?[.]){1,4}[a-z]{2,12}$"},
    {"hostname", "^([a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?[.]){0,4}[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$"},
    {"ipv4", "^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$"},
    {"ipv6", "^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$"},
};
#undef OFFSTAGE_DATE
#undef OFFSTAGE_TIME

const Keyword* find_keyword(const std::string& name) {
    const auto found = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                    [&](const Keyword& keyword) { return keyword.name == name; });
    return found == std::end(kKeywords) ? nullptr : found;
}

bool is_annotation(const std::string& name) {
    return name.starts_with("x-") ||
           std::find(std::begin(kAnnotations), std::end(kAnnotations), name) != std::end(kAnnotations);
}

[[noreturn]] void refuse_keyword(const std::string& at, const std::string& keyword) {
    throw Error(ErrorKind::kInvalidInput, messages::schema_keyword_unsupported(keyword, at));
}

[[noreturn]] void refuse_value(const std::string& at, const std::string& keyword, const Json& value,
                               const char* expected) {
    throw Error(ErrorKind::kInvalidInput,
                messages::schema_value_wrong(at + "/" + keyword, describe(nlohmann::json(value)), expected));
}

[[noreturn]] void too_large(const std::string& at) {
    throw Error(ErrorKind::kInvalidInput, messages::schema_too_large(at));
}

// How deep a recursion is.
class DepthGuard {
  public:
    explicit DepthGuard(int& depth) : depth_(++depth) {}
    ~DepthGuard() { --depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

  private:
    int& depth_;
};

[[noreturn]] void refuse_contradiction(const std::string& at) {
    throw Error(ErrorKind::kInvalidInput, messages::schema_without_values(at));
}

const Json* find_in(const Json& schema, const char* keyword) {
    const auto found = schema.find(keyword);
    return found == schema.end() ? nullptr : &*found;
}

int size_in(const Json& schema, const char* keyword, const std::string& at, int fallback) {
    const Json* value = find_in(schema, keyword);
    if (value == nullptr) return fallback;
    constexpr int kMost = 100'000;
    if (!value->is_number() || value->get<double>() != std::floor(value->get<double>()) || value->get<double>() < 0 ||
        value->get<double>() > kMost) {
        refuse_value(at, keyword, *value, "a whole number up to 100000");
    }
    return static_cast<int>(value->get<double>());
}

std::vector<std::string> types_in(const Json& schema, const std::string& at) {
    const Json* given = find_in(schema, "type");
    std::vector<std::string> types;
    if (given != nullptr) {
        for (const Json& type : given->is_array() ? *given : Json::array({*given})) {
            const std::string name = type.is_string() ? type.get<std::string>() : std::string();
            const bool is_known = name == "integer" ||
                                  std::find(std::begin(kJsonTypes), std::end(kJsonTypes), name) != std::end(kJsonTypes);
            if (!is_known) refuse_value(at, "type", type, "one of JSON's types, or a list of them");
            types.push_back(name);
        }
        if (types.empty()) refuse_contradiction(at);
        return types;
    }
    // Values of the types that the keywords are about.
    for (const auto& [name, value] : schema.items()) {
        const Keyword* keyword = find_keyword(name);
        if (keyword == nullptr || keyword->type.empty()) continue;
        if (std::find(types.begin(), types.end(), keyword->type) == types.end()) types.emplace_back(keyword->type);
    }
    return types;
}

bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") {
        return value.is_number_integer() ||
               (value.is_number() && std::floor(value.get<double>()) == value.get<double>());
    }
    return value.is_null();
}

// Refuses keywords beside `keyword` that the values would have to be tried against.
void require_alone(const Json& schema, const std::string& keyword, const std::string& at) {
    for (const auto& [name, value] : schema.items()) {
        if (name == keyword || name == "type" || is_annotation(name)) continue;
        if (find_keyword(name) != nullptr) {
            throw Error(ErrorKind::kInvalidInput, messages::schema_keywords_together(name, keyword, at));
        }
    }
}

// Refuses keywords that are not supported.
void check_keywords(const Json& schema, const std::string& at) {
    if (!schema.is_object()) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::schema_value_wrong(at, describe(nlohmann::json(schema)), "an object, true or false"));
    }
    for (const auto& item : schema.items()) {
        const std::string& name = item.key();
        if (find_keyword(name) != nullptr || is_annotation(name)) continue;
        const bool says_nothing = std::any_of(std::begin(kSayNothing), std::end(kSayNothing), [&](const auto& one) {
            return one.first == name && one.second == item.value().dump();
        });
        if (!says_nothing) refuse_keyword(at, name);
    }
}

// "additionalProperties" is about the properties beside it alone: where it excludes others,
// the other schema must have none.
void require_same_properties(const Json& closed, const Json& other, const std::string& at) {
    if (!closed.contains("additionalProperties") || closed["additionalProperties"] == true) return;
    const Json* others = find_in(other, "properties");
    if (others == nullptr || !others->is_object()) return;
    const Json* own = find_in(closed, "properties");
    for (const auto& [name, schema] : others->items()) {
        if (own != nullptr && own->contains(name)) continue;
        throw Error(ErrorKind::kInvalidInput, messages::schema_keywords_together("allOf", "additionalProperties", at));
    }
}

// The part of a JSON pointer's name as it is written in one.
std::string in_pointer(const std::string& name) {
    std::string out;
    for (const char c : name) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
}

}  // namespace

JsonSchemaGrammar::Node JsonSchemaGrammar::value() {
    if (root_.dump().size() > kMostSchemaBytes) too_large("#");
    return value(root_, "#");
}

// ---------------------------------------------------------------- references, merging

const JsonSchemaGrammar::Json& JsonSchemaGrammar::target_of(const std::string& reference, const std::string& at) const {
    if (!reference.starts_with("#"))
        refuse_value(at, "$ref", reference, "a place in the same schema, like #/$defs/NAME");
    try {
        return root_.at(Json::json_pointer(reference.substr(1)));
    } catch (const nlohmann::json::exception&) {
        refuse_value(at, "$ref", reference, "a place that the schema has");
    }
}

JsonSchemaGrammar::Node JsonSchemaGrammar::reference(const std::string& name, const std::string& at) {
    const auto known = references_.find(name);
    if (known != references_.end()) return builder_.call(known->second);
    const Json& target = target_of(name, at);
    const GrammarBuilder::Rule rule = builder_.new_rule(name);
    references_[name] = rule;
    builder_.define(rule, value(target, name));
    return builder_.call(rule);
}

void JsonSchemaGrammar::merge(Json& to, const Json& from, const std::string& at, int depth) {
    if (from == true) return;
    const Json part = merged(from, at, depth + 1);
    require_same_properties(to, part, at);
    require_same_properties(part, to, at);
    for (const auto& [name, value] : part.items()) {
        if (is_annotation(name)) continue;
        Json& mine = to[name];
        if (mine.is_null() || mine == value) {
            mine = value;
        } else if (name == "properties" && value.is_object() && mine.is_object()) {
            for (const auto& [property, schema] : value.items()) {
                Json& its = mine[property];
                its = its.is_null() || its == schema ? schema : Json{{"allOf", Json::array({its, schema})}};
            }
        } else if (name == "required" && value.is_array() && mine.is_array()) {
            for (const Json& property : value) {
                if (std::find(mine.begin(), mine.end(), property) == mine.end()) mine.push_back(property);
            }
        } else if (name.starts_with("min") || name == "exclusiveMinimum") {
            mine = std::max(mine, value);
        } else if (name.starts_with("max") || name == "exclusiveMaximum") {
            mine = std::min(mine, value);
        } else if (name == "items") {
            mine = Json{{"allOf", Json::array({mine, value})}};
        } else {
            throw Error(ErrorKind::kInvalidInput, messages::schema_keywords_differ(name, at));
        }
    }
}

JsonSchemaGrammar::Json JsonSchemaGrammar::merged(const Json& schema, const std::string& at, int depth) {
    check_keywords(schema, at);
    if (depth > kDeepestMerge || ++n_merged_ > kMostMerged) too_large(at);
    if (!schema.contains("allOf") && !schema.contains("$ref")) return schema;
    Json out = schema;
    out.erase("allOf");
    out.erase("$ref");
    if (const Json* name = find_in(schema, "$ref")) {
        if (!name->is_string()) refuse_value(at, "$ref", *name, "a text");
        merge(out, target_of(*name, at), name->get<std::string>(), depth);
    }
    if (const Json* all = find_in(schema, "allOf")) {
        if (!all->is_array() || all->empty()) refuse_value(at, "allOf", *all, "a list of schemas");
        for (std::size_t i = 0; i < all->size(); ++i) {
            merge(out, (*all)[i], at + "/allOf/" + std::to_string(i), depth);
        }
    }
    return out;
}

// ---------------------------------------------------------------- values

// As a rule, so that its text is compiled once for all uses.
JsonSchemaGrammar::Node JsonSchemaGrammar::in_rule(const Json& schema, const std::string& at) {
    const Node node = value(schema, at);
    const GrammarBuilder::Rule rule = builder_.new_rule(at);
    builder_.define(rule, node);
    return builder_.call(rule);
}

JsonSchemaGrammar::Node JsonSchemaGrammar::value(const Json& given, const std::string& at) {
    const DepthGuard guard(depth_);
    if (depth_ > kDeepestSchema) too_large(at);
    if (given == true) return json_.any_value();
    if (given == false) refuse_contradiction(at);
    check_keywords(given, at);
    if (const Json* name = find_in(given, "$ref"); name != nullptr && name->is_string()) {
        const bool is_alone = std::all_of(given.items().begin(), given.items().end(), [](const auto& item) {
            return item.key() == "$ref" || is_annotation(item.key());
        });
        if (is_alone) return reference(name->get<std::string>(), at);
    }
    const bool is_merged = given.contains("allOf") || given.contains("$ref");
    const Json made = is_merged ? merged(given, at) : Json();
    const Json& schema = is_merged ? made : given;
    for (const char* keyword : {"anyOf", "oneOf"}) {
        if (schema.contains(keyword)) return alternatives(schema, keyword, at);
    }
    if (const Json* only = find_in(schema, "const")) {
        require_alone(schema, "const", at);
        return values(schema, Json::array({*only}), at);
    }
    if (const Json* list = find_in(schema, "enum")) {
        require_alone(schema, "enum", at);
        if (!list->is_array()) refuse_value(at, "enum", *list, "a list of values");
        return values(schema, *list, at);
    }
    const std::vector<std::string> types = types_in(schema, at);
    if (types.empty()) return json_.any_value();
    std::vector<Node> parts;
    for (const std::string& type : types) parts.push_back(of_type(schema, type, at));
    return builder_.choice(std::move(parts));
}

JsonSchemaGrammar::Node JsonSchemaGrammar::alternatives(const Json& schema, const std::string& keyword,
                                                        const std::string& at) {
    const Json& list = schema[keyword];
    if (!list.is_array() || list.empty()) refuse_value(at, keyword, list, "a list of schemas");
    Json others = schema;
    others.erase(keyword);
    const bool is_alone = std::all_of(others.items().begin(), others.items().end(),
                                      [](const auto& item) { return is_annotation(item.key()); });
    std::vector<Node> parts;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string place = at + "/" + keyword + "/" + std::to_string(i);
        if (list[i] == false) continue;
        parts.push_back(is_alone ? value(list[i], place) : value({{"allOf", Json::array({others, list[i]})}}, place));
    }
    if (parts.empty()) refuse_contradiction(at);
    return builder_.choice(std::move(parts));
}

JsonSchemaGrammar::Node JsonSchemaGrammar::values(const Json& schema, const Json& list, const std::string& at) {
    const std::vector<std::string> types = schema.contains("type") ? types_in(schema, at) : std::vector<std::string>();
    std::vector<Node> parts;
    for (const Json& value : list) {
        const bool fits = types.empty() || std::any_of(types.begin(), types.end(),
                                                       [&](const std::string& type) { return has_type(value, type); });
        if (fits) parts.push_back(json_.literal(value));
    }
    if (parts.empty()) refuse_contradiction(at);
    return builder_.choice(std::move(parts));
}

JsonSchemaGrammar::Node JsonSchemaGrammar::of_type(const Json& schema, const std::string& type, const std::string& at) {
    if (type == "object") return object(schema, at);
    if (type == "array") return array(schema, at);
    if (type == "string") return string(schema, at);
    if (type == "boolean") return json_.any_boolean();
    if (type == "null") return builder_.text("null");
    return number(schema, type == "integer", at);
}

JsonSchemaGrammar::Node JsonSchemaGrammar::string(const Json& schema, const std::string& at) {
    const int least = size_in(schema, "minLength", at, 0), most = size_in(schema, "maxLength", at, kUnbounded);
    if (most != kUnbounded && most < least) refuse_contradiction(at);
    const Json *pattern = find_in(schema, "pattern"), *format = find_in(schema, "format");
    if (pattern == nullptr && format == nullptr) return json_.string(least, most);
    const char* const keyword = pattern != nullptr ? "pattern" : "format";
    for (const char* other : {"minLength", "maxLength", "format"}) {
        if (other == std::string_view(keyword) || !schema.contains(other)) continue;
        throw Error(ErrorKind::kInvalidInput, messages::schema_keywords_together(other, keyword, at));
    }
    const Json& value = pattern != nullptr ? *pattern : *format;
    if (!value.is_string()) refuse_value(at, keyword, value, "a text");
    if (pattern != nullptr) return json_.string_of_pattern(value.get<std::string>());
    for (const auto& [name, expression] : kFormats) {
        if (value == name) return json_.string_of_pattern(expression);
    }
    refuse_value(at, keyword, value, "date, time, date-time, duration, uuid, email, hostname, ipv4 or ipv6");
}

JsonSchemaGrammar::Node JsonSchemaGrammar::number(const Json& schema, bool is_integer, const std::string& at) {
    JsonGrammar::Bounds bounds;
    const auto read = [&](const char* keyword, std::optional<double>& bound, bool& is_out, int direction,
                          bool excludes) {
        const Json* value = find_in(schema, keyword);
        if (value == nullptr) return;
        if (!value->is_number()) refuse_value(at, keyword, *value, "a number");
        const double given = value->get<double>();
        if (bound && (given - *bound) * direction < 0) return;
        is_out = excludes;
        bound = given;
    };
    read("minimum", bounds.low, bounds.without_low, 1, false);
    read("exclusiveMinimum", bounds.low, bounds.without_low, 1, true);
    read("maximum", bounds.high, bounds.without_high, -1, false);
    read("exclusiveMaximum", bounds.high, bounds.without_high, -1, true);
    const std::optional<Node> node = json_.number(bounds, is_integer);
    if (!node) refuse_contradiction(at);
    return *node;
}

JsonSchemaGrammar::Node JsonSchemaGrammar::array(const Json& schema, const std::string& at) {
    const int least = size_in(schema, "minItems", at, 0);
    int most = size_in(schema, "maxItems", at, kUnbounded);
    const Json none = Json::array();
    const Json *prefix = find_in(schema, "prefixItems"), *items = find_in(schema, "items");
    if (prefix == nullptr) prefix = &none;
    if (!prefix->is_array() || prefix->size() > kMostPrefixItems) {
        refuse_value(at, "prefixItems", *prefix, "a list of at most 256 schemas");
    }
    const int n_prefix = static_cast<int>(prefix->size());
    if (items != nullptr && *items == false) most = most == kUnbounded ? n_prefix : std::min(most, n_prefix);
    if (most != kUnbounded && most < least) refuse_contradiction(at);
    const bool has_more = most == kUnbounded || most > n_prefix;
    const auto item = [&] { return items != nullptr ? in_rule(*items, at + "/items") : json_.any_value(); };
    if (n_prefix == 0) return json_.list(most == 0 ? builder_.empty() : item(), least, most);
    Node rest = builder_.empty();
    if (has_more && (items != nullptr || least > n_prefix)) {
        rest = builder_.repeat(builder_.sequence({json_.comma(), item()}), std::max(0, least - n_prefix),
                               most == kUnbounded ? kUnbounded : most - n_prefix);
    }
    for (int i = most == kUnbounded ? n_prefix : std::min(most, n_prefix); i-- > 0;) {
        const Node one = in_rule((*prefix)[static_cast<std::size_t>(i)], at + "/prefixItems/" + std::to_string(i));
        rest = i == 0 ? builder_.sequence({one, rest}) : builder_.sequence({json_.comma(), one, rest});
        if (i >= least) rest = builder_.optional(rest);
    }
    return json_.enclosed("[", rest, "]");
}

JsonSchemaGrammar::Node JsonSchemaGrammar::object(const Json& schema, const std::string& at) {
    const Json none = Json::object();
    const Json *properties = find_in(schema, "properties"), *required = find_in(schema, "required");
    const Json* others = find_in(schema, "additionalProperties");
    if (properties == nullptr) properties = &none;
    if (!properties->is_object()) refuse_value(at, "properties", *properties, "an object of schemas");
    if (required != nullptr && !required->is_array()) refuse_value(at, "required", *required, "a list of names");
    const bool is_open = others != nullptr ? *others != false : properties->empty();
    const Json free = others != nullptr && is_open ? *others : Json(true);

    struct Property {
        Node member;
        bool is_required;
    };
    std::vector<Property> list;
    std::set<std::string> needed;
    for (const Json& name : required != nullptr ? *required : none) {
        if (!name.is_string()) refuse_value(at, "required", name, "names");
        needed.insert(name.get<std::string>());
    }
    std::vector<std::string> names;
    const auto add = [&](const std::string& name, const Json& its, const std::string& place) {
        const bool is_needed = needed.erase(name) > 0;
        names.push_back(name);
        if (its == false && !is_needed) return;  // must not be there
        list.push_back({json_.member(json_.name(name), in_rule(its, place)), is_needed});
    };
    for (const auto& [name, its] : properties->items()) add(name, its, at + "/properties/" + in_pointer(name));
    for (const std::string& name : std::set<std::string>(needed)) {
        if (others != nullptr && !is_open) refuse_contradiction(at + "/required");
        add(name, free, at + "/additionalProperties");
    }
    // What may follow the i-th property, if something stands before it and if not.
    Node rest = builder_.empty(), first = rest;
    if (is_open) {
        if (std::any_of(names.begin(), names.end(), [](const auto& name) { return name.size() > kLongestProperty; })) {
            too_large(at);
        }
        const Node one = json_.member(json_.string_except(names), in_rule(free, at + "/additionalProperties"));
        const GrammarBuilder::Rule rule = builder_.new_rule(at);
        builder_.define(rule, one);
        rest = builder_.repeat(builder_.sequence({json_.comma(), builder_.call(rule)}), 0, kUnbounded);
        first = builder_.optional(builder_.sequence({builder_.call(rule), rest}));
    }
    for (std::size_t i = list.size(); i-- > 0;) {
        const GrammarBuilder::Rule behind = builder_.new_rule(at), begin = builder_.new_rule(at);
        builder_.define(behind, rest);
        builder_.define(begin, first);
        const Node with = builder_.sequence({list[i].member, builder_.call(behind)});
        const Node after = builder_.sequence({json_.comma(), with});
        if (list[i].is_required) {
            rest = after;
            first = with;
        } else {
            rest = builder_.choice({after, builder_.call(behind)});
            first = builder_.choice({with, builder_.call(begin)});
        }
    }
    return json_.enclosed("{", first, "}");
}

Grammar json_schema_grammar(const nlohmann::ordered_json& schema) {
    GrammarBuilder builder;
    JsonGrammar values(builder);
    const GrammarBuilder::Rule root = builder.new_rule("root");
    builder.define(root, JsonSchemaGrammar(values, schema).value());
    return builder.compile(root);
}

}  // namespace offstage::engine
