// Attributes, items and methods of values.

#include <algorithm>
#include <optional>
#include <span>

#include "engine/text/template_evaluator.h"
#include "engine/text/template_format.h"
#include "engine/text/template_text.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

// Names of Python 3.11's types, but for those that Jinja's sandbox hides: __class__.
constexpr std::string_view kStringNames[] = {
    "capitalize",   "casefold",   "center",    "count",       "encode",    "endswith",     "expandtabs",   "find",
    "format",       "format_map", "index",     "isalnum",     "isalpha",   "isascii",      "isdecimal",    "isdigit",
    "isidentifier", "islower",    "isnumeric", "isprintable", "isspace",   "istitle",      "isupper",      "join",
    "ljust",        "lower",      "lstrip",    "maketrans",   "partition", "removeprefix", "removesuffix", "replace",
    "rfind",        "rindex",     "rjust",     "rpartition",  "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith",   "strip",      "swapcase",  "title",       "translate", "upper",        "zfill"};
constexpr std::string_view kMarkupNames[] = {"escape", "striptags", "unescape"};
constexpr std::string_view kDictNames[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                           "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::string_view kIntNames[] = {"as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
                                          "from_bytes",       "imag",      "numerator",  "real",      "to_bytes"};
constexpr std::string_view kFloatNames[] = {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag",
                                            "is_integer",       "real"};
constexpr std::string_view kLoopNames[] = {"changed", "cycle"};  // besides the attributes that have values

constexpr std::string_view kListNames[] = {"append", "clear", "copy",   "count",   "extend", "index",
                                           "insert", "pop",   "remove", "reverse", "sort"};
constexpr std::string_view kTupleNames[] = {"count", "index"};
constexpr std::string_view kRangeNames[] = {"count", "index", "start", "step", "stop"};
constexpr std::string_view kSetNames[] = {"isdisjoint", "mapping"};
constexpr std::string_view kValuesNames[] = {"mapping"};
constexpr std::string_view kIteratorNames[] = {"close",        "gi_code",      "gi_frame", "gi_running",
                                               "gi_suspended", "gi_yieldfrom", "send",     "throw"};

using Names = std::span<const std::string_view>;
constexpr Names kRowNames[] = {kListNames,   kTupleNames, kRangeNames,   kSetNames,
                               kValuesNames, kSetNames,   kIteratorNames};  // by Row

// Whether a value has a name of its type, which comes before its items.
bool has_name_of_type(const Value& v, std::string_view name) {
    const auto is_in = [name](Names names) { return std::find(names.begin(), names.end(), name) != names.end(); };
    switch (v.kind()) {
        case Kind::kString:
            return is_in(kStringNames) || (v.is_markup() && is_in(kMarkupNames));
        case Kind::kDict:
            return is_in(kDictNames);
        case Kind::kList:
            return is_in(kRowNames[static_cast<std::size_t>(v.as_list().row)]);
        case Kind::kBool:
        case Kind::kInt:
            return is_in(kIntNames);
        case Kind::kFloat:
            return is_in(kFloatNames);
        case Kind::kNamespace:
            return v.as_dict().is_loop && is_in(kLoopNames);
        case Kind::kFunction:
            return true;  // whichever it is
        default:
            return false;
    }
}

[[noreturn]] void fail_undefined(const Value& v) {
    fail(v.has_name() ? messages::name_undefined(v.as_string()) : Message(messages::undefined_value_used));
}

const std::string& text_argument(const Value& v, const std::string& method) {
    if (!v.is(Kind::kString)) fail(messages::takes_a_text(method, type_name(v)));
    return v.as_string();
}

std::int64_t int_argument(const Value* v, const std::string& method, std::int64_t otherwise) {
    if (v == nullptr) return otherwise;
    if (!v->is_integer()) fail(messages::takes_a_number(method, type_name(*v)));
    return v->as_int();
}

Value strip(const PromptText& text, const std::string& name, const Arguments& arguments, Budget& budget) {
    arguments.check(name, 1, {});
    const bool left = name != "rstrip";
    const bool right = name != "lstrip";
    std::string_view rest = text.bytes;
    budget.spend_bytes(text.size());
    if (arguments.positional.empty() || arguments.positional[0].is(Kind::kNone)) {
        if (left) rest = strip_left(rest);
        if (right) rest = strip_right(rest);
    } else {
        const std::string& characters = text_argument(arguments.positional[0], name);
        budget.spend_bytes(text.size() * (characters.size() / 16 + 1));
        rest = strip_characters(rest, characters, left, right);
    }
    return new_string(text.part(rest), budget);
}

Value begins_or_ends(const std::string& text, const std::string& name, const Arguments& arguments, Budget& budget) {
    arguments.check(name, 1, {});
    if (arguments.positional.empty()) fail(messages::call_without_argument(name));
    const Value& what = arguments.positional[0];
    const auto matches = [&](const Value& part) {
        const std::string& affix = text_argument(part, name);
        return name == "startswith" ? text.starts_with(affix) : text.ends_with(affix);
    };
    budget.spend_bytes(what.weight());
    if (!what.is(Row::kTuple)) return Value::boolean(matches(what));
    const auto& parts = what.as_list().items;
    return Value::boolean(std::any_of(parts.begin(), parts.end(), matches));
}

Value split(const PromptText& text, bool from_right, const Arguments& arguments, Budget& budget) {
    arguments.check("split", 2, {"sep", "maxsplit"});
    const Value* separator = arguments.find(0, "sep");
    const std::int64_t limit = int_argument(arguments.find(1, "maxsplit"), "split", -1);
    std::string_view at;
    if (separator != nullptr && !separator->is(Kind::kNone)) {
        at = text_argument(*separator, "split");
        if (at.empty()) fail(messages::split_at_empty_text);
    }
    budget.spend_bytes(text.size());
    const auto parts = from_right ? split_text_from_right(text.bytes, at, limit < 0 ? -1 : limit)
                                  : split_text(text.bytes, at, limit < 0 ? -1 : limit);
    budget.spend_steps(parts.size());
    std::vector<Value> items;
    items.reserve(parts.size());
    for (const std::string_view part : parts) items.push_back(new_string(text.part(part), budget));
    return Value::list(std::move(items));
}

Value lines_of(const PromptText& text, const Arguments& arguments, Budget& budget) {
    arguments.check("splitlines", 1, {"keepends"});
    const Value* keep_ends = arguments.find(0, "keepends");
    budget.spend_bytes(text.size());
    const auto lines = split_lines(text.bytes, int_argument(keep_ends, "splitlines", 0) != 0);
    budget.spend_steps(lines.size());
    std::vector<Value> items;
    items.reserve(lines.size());
    for (const std::string_view line : lines) items.push_back(new_string(text.part(line), budget));
    return Value::list(std::move(items));
}

Value find_text(const std::string& text, const std::string& name, const Arguments& arguments, Budget& budget) {
    arguments.check(name, 1, {});
    if (arguments.positional.empty()) fail(messages::call_without_argument(name));
    budget.spend_bytes(text.size());
    const std::string& what = text_argument(arguments.positional[0], name);
    const std::size_t at = name.starts_with('r') ? text.rfind(what) : text.find(what);
    if (at == std::string::npos && name.ends_with("index")) fail(messages::index_of_missing_value);
    if (at == std::string::npos) return Value::integer(-1);
    return Value::integer(static_cast<std::int64_t>(count_characters(std::string_view(text).substr(0, at))));
}

Value partition(const PromptText& text, const std::string& name, const Arguments& arguments, Budget& budget) {
    arguments.check(name, 1, {});
    if (arguments.positional.empty()) fail(messages::call_without_argument(name));
    const std::string& separator = text_argument(arguments.positional[0], name);
    if (separator.empty()) fail(messages::split_at_empty_text);
    budget.spend_bytes(text.size());
    const bool from_right = name.starts_with('r');
    const std::size_t at = from_right ? text.bytes.rfind(separator) : text.bytes.find(separator);
    const PromptText none;
    std::vector<PromptText> parts = {from_right ? none : text, none, from_right ? text : none};
    if (at != std::string::npos)
        parts = {text.part(0, at), text.part(at, separator.size()), text.part(at + separator.size())};
    std::vector<Value> items;
    items.reserve(parts.size());
    for (PromptText& part : parts) items.push_back(new_string(std::move(part), budget));
    return Value::list(std::move(items), true);
}

Value justify(const PromptText& text, const std::string& name, const Arguments& arguments, Budget& budget) {
    arguments.check(name, name == "zfill" ? 1 : 2, {});
    if (arguments.positional.empty()) fail(messages::call_without_argument(name));
    const std::int64_t width = int_argument(&arguments.positional[0], name, 0);
    PromptText fill = name == "zfill" ? "0" : " ";
    if (arguments.positional.size() > 1) {
        text_argument(arguments.positional[1], name);
        fill = arguments.positional[1].as_text();
    }
    if (count_characters(fill.bytes) != 1) fail(messages::takes_a_text(name, "str"));
    const auto n = static_cast<std::int64_t>(count_characters(text.bytes));
    const auto missing = static_cast<std::uint64_t>(std::max<std::int64_t>(width - n, 0));
    budget.spend_bytes(missing * fill.size());
    // Python's center() puts the odd one before the text where the width is odd.
    const std::uint64_t before = name == "ljust"    ? 0
                                 : name == "center" ? missing / 2 + (missing & static_cast<std::uint64_t>(width) & 1)
                                                    : missing;
    const bool has_sign = name == "zfill" && (text.bytes.starts_with('-') || text.bytes.starts_with('+'));
    PromptText out = text.part(0, has_sign ? 1 : 0);
    for (std::uint64_t i = 0; i < before; ++i) out.append(fill);
    out.append(text, has_sign ? 1 : 0);
    for (std::uint64_t i = before; i < missing; ++i) out.append(fill);
    return new_string(std::move(out), budget);
}

// A method of Markup marks up each text that it returns.
Value marked_up(const Value& v) {
    if (v.is(Kind::kString)) return Value::string(v.as_text(), true);
    if (!v.is(Kind::kList)) return v;
    std::vector<Value> items;
    for (const Value& item : v.as_list().items) items.push_back(marked_up(item));
    return Value::row(std::move(items), v.as_list().row);
}

Value string_method(const Value& self, const std::string& name, Arguments arguments, Budget& budget) {
    const PromptText& whole = self.as_text();
    const std::string& text = whole.bytes;
    const bool adds_second = name == "replace" || name == "ljust" || name == "rjust" || name == "center";
    if (self.is_markup() && adds_second && arguments.positional.size() > 1)
        arguments.positional[1] = Value::string(escaped(arguments.positional[1], budget));
    if (name == "strip" || name == "lstrip" || name == "rstrip") return strip(whole, name, arguments, budget);
    if (name == "startswith" || name == "endswith") return begins_or_ends(text, name, arguments, budget);
    if (name == "split" || name == "rsplit") return split(whole, name == "rsplit", arguments, budget);
    if (name == "format") return format_braces(self, arguments, budget);
    if (name == "partition" || name == "rpartition") return partition(whole, name, arguments, budget);
    if (name == "ljust" || name == "rjust" || name == "center" || name == "zfill")
        return justify(whole, name, arguments, budget);
    if (name == "isspace" || name == "isupper" || name == "islower") {
        arguments.check(name, 0, {});
        budget.spend_bytes(text.size());
        return Value::boolean(name == "isspace" ? !text.empty() && strip_left(text).empty()
                                                : has_case(text, name == "isupper"));
    }
    if (name == "splitlines") return lines_of(whole, arguments, budget);
    if (name == "find" || name == "rfind" || name == "index" || name == "rindex")
        return find_text(text, name, arguments, budget);
    if (name == "upper" || name == "lower" || name == "title" || name == "capitalize") {
        arguments.check(name, 0, {});
        budget.spend_bytes(text.size());
        return changed_string(name == "upper"   ? to_upper(text)
                              : name == "lower" ? to_lower(text)
                              : name == "title" ? to_title(text)
                                                : to_capitalized(text),
                              self, budget);
    }
    if (name == "replace") {
        arguments.check(name, 3, {"count"});
        if (arguments.positional.size() < 2) fail(messages::replace_needs_texts);
        for (std::size_t i = 0; i < 2; ++i) text_argument(arguments.positional[i], name);
        int_argument(arguments.find(2, "count"), name, -1);
        return apply_filter("replace", self, arguments, budget);
    }
    if (name == "count") {
        arguments.check(name, 1, {});
        if (arguments.positional.empty()) fail(messages::call_without_argument("count"));
        budget.spend_bytes(text.size());
        return Value::integer(
            static_cast<std::int64_t>(count_text(text, text_argument(arguments.positional[0], name))));
    }
    if (name == "join") {
        arguments.check(name, 1, {});
        if (arguments.positional.empty()) fail(messages::call_without_argument("join"));
        const std::vector<Value> parts = items_of(arguments.positional[0], budget);
        PromptText out;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!self.is_markup()) text_argument(parts[i], name);
            budget.spend_bytes(text.size() + parts[i].weight());
            if (i > 0) out.append(whole);
            out.append(self.is_markup() ? escaped(parts[i], budget) : parts[i].as_text());
        }
        return new_string(std::move(out), budget);
    }
    if (name == "removeprefix" || name == "removesuffix") {
        arguments.check(name, 1, {});
        if (arguments.positional.empty()) fail(messages::call_without_argument(name));
        const std::string& affix = text_argument(arguments.positional[0], name);
        std::string_view rest = text;
        if (name == "removeprefix" && rest.starts_with(affix)) rest.remove_prefix(affix.size());
        if (name == "removesuffix" && rest.ends_with(affix)) rest.remove_suffix(affix.size());
        return new_string(whole.part(rest), budget);
    }
    if (name == "isdigit" || name == "isalpha") {
        arguments.check(name, 0, {});
        budget.spend_bytes(text.size());
        const bool digits = name == "isdigit";
        for (const char c : text) {
            if (static_cast<unsigned char>(c) >= 0x80) fail_unsupported(messages::letters_beyond_ascii(name));
            const bool fits = digits ? c >= '0' && c <= '9' : (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
            if (!fits) return Value::boolean(false);
        }
        return Value::boolean(!text.empty());
    }
    fail_unsupported(messages::method_of_text(name));
}

Value dict_method(const Value& dict, const std::string& name, const Arguments& arguments, Budget& budget) {
    const auto& entries = dict.as_dict().items;
    budget.spend_steps(1 + entries.size() / 8);
    if (name == "get") {
        arguments.check(name, 2, {});
        if (arguments.positional.empty()) fail(messages::get_without_key);
        if (!arguments.positional[0].is_hashable()) fail(messages::key_of_type(type_name(arguments.positional[0])));
        const Value* found = dict.find(arguments.positional[0], budget);
        if (found != nullptr) return *found;
        return arguments.positional.size() > 1 ? arguments.positional[1] : Value::none();
    }
    if (name != "items" && name != "keys" && name != "values") fail_unsupported(messages::method_of_dict(name));
    arguments.check(name, 0, {});
    budget.spend_steps(entries.size());
    std::vector<Value> items;
    items.reserve(entries.size());
    for (const auto& [key, value] : entries) {
        items.push_back(name == "items" ? Value::list({key, value}, true) : name == "keys" ? key : value);
    }
    return Value::row(std::move(items), name == "items" ? Row::kItems : name == "keys" ? Row::kKeys : Row::kValues);
}

Value list_method(const Value& list, const std::string& name, const Arguments& arguments, Budget& budget) {
    if (!list.has_index()) fail_unsupported(messages::method_of_type(name, type_name(list)));
    if (name != "index" && name != "count") fail_unsupported(messages::method_of_list(name));
    arguments.check(name, 1, {});
    if (arguments.positional.empty()) fail(messages::call_without_argument(name));
    budget.spend_bytes(list.weight());
    const auto& items = list.as_list().items;
    const auto same = [&](const Value& item) { return equal(item, arguments.positional[0], budget); };
    if (name == "count") return Value::integer(std::count_if(items.begin(), items.end(), same));
    const auto it = std::find_if(items.begin(), items.end(), same);
    if (it == items.end()) fail(messages::index_of_missing_value);
    return Value::integer(it - items.begin());
}

}  // namespace

Value call_method(const Value& object, const std::string& name, const Arguments& arguments, Budget& budget) {
    switch (object.kind()) {
        case Kind::kString:
            return object.is_markup() ? marked_up(string_method(object, name, arguments, budget))
                                      : string_method(object, name, arguments, budget);
        case Kind::kDict:
            if (has_name_of_type(object, name) || object.find(name) == nullptr)
                return dict_method(object, name, arguments, budget);
            fail(messages::no_function_called(name));
        case Kind::kList:
            return list_method(object, name, arguments, budget);
        case Kind::kNamespace: {
            const Value* index = object.find("index0");
            const std::size_t n = arguments.positional.size();
            if (name != "cycle" || index == nullptr || !index->is_integer()) break;
            if (n == 0 || index->as_int() < 0) fail(messages::cycle_without_value);
            return arguments.positional[static_cast<std::size_t>(index->as_int()) % n];
        }
        case Kind::kUndefined:
            fail_undefined(object);
        default:
            break;
    }
    fail_unsupported(messages::method_of_type(name, type_name(object)));
}

Value attribute_of(const Value& object, std::string_view name, Budget& budget) {
    if (object.is(Kind::kUndefined)) fail_undefined(object);
    if (has_name_of_type(object, name))
        fail_unsupported(messages::attribute_as_value(std::string(name), type_name(object)));
    if (object.is(Kind::kDict) || object.is(Kind::kNamespace)) {
        budget.spend_steps(object.as_dict().items.size() / 8);
        if (object.is(Kind::kNamespace) && !object.as_dict().is_loop) ++budget.reads;
        const Value* found = object.find(name);
        if (found != nullptr) return *found;
    }
    return Value::undefined(name);
}

Value item_of(const Value& object, const Value& key, Budget& budget) {
    if (object.is(Kind::kUndefined)) fail_undefined(object);
    if (object.is(Kind::kDict)) {
        budget.spend_bytes(key.weight());
        const Value* found = object.find(key, budget);
        if (found != nullptr) return *found;
    }
    if (key.is(Kind::kString)) return attribute_of(object, key.as_string(), budget);
    if (object.is(Kind::kFunction)) fail_unsupported(messages::item_of_function);  // dict[1] is a type of Python's
    const auto place = [&](std::size_t size) -> std::optional<std::size_t> {
        const auto n = static_cast<std::int64_t>(size);
        const std::int64_t at = key.as_int() < 0 ? key.as_int() + n : key.as_int();
        return at >= 0 && at < n ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
    };
    if (key.is_integer() && object.has_index()) {
        const auto& items = object.as_list().items;
        if (const auto at = place(items.size())) return items[*at];
    } else if (key.is_integer() && object.is(Kind::kString)) {
        const std::string& text = object.as_string();
        budget.spend_bytes(text.size());
        if (const auto at = place(count_characters(text))) {
            const std::size_t begin = byte_of_character(text, *at);
            return Value::string(object.as_text().part(begin, character_bytes(text, begin)), object.is_markup());
        }
    }
    return Value::undefined(to_text(key.is_number() ? key : Value::string("an item")).bytes);
}

bool contains(const Value& container, const Value& item, Budget& budget) {
    const auto is_same = [&](const Value& v) { return equal(v, item, budget); };
    const auto check_key = [&] {
        if (!item.is_hashable()) fail(messages::key_of_type(type_name(item)));
    };
    switch (container.kind()) {
        case Kind::kUndefined:
            return false;
        case Kind::kString:
            if (!item.is(Kind::kString)) fail(messages::type_looked_for_in_text(type_name(item)));
            budget.spend_bytes(container.weight());
            return container.as_string().find(item.as_string()) != std::string::npos;
        case Kind::kList: {
            const List& list = container.as_list();
            const auto& items = list.row == Row::kIterator ? left_in(list, budget) : list.items;
            if (list.row == Row::kKeys) check_key();
            budget.spend_bytes(container.weight());
            const bool found = std::any_of(items.begin(), items.end(), is_same);
            if (list.row == Row::kIterator && !items.empty())
                list.given = found || budget.is_lazy ? List::Given::kPart : List::Given::kAll;
            return found;
        }
        case Kind::kDict:
            check_key();
            return container.find(item, budget) != nullptr;
        default:
            fail(messages::in_with_type(type_name(container)));
    }
}

const std::vector<Value>& left_in(const List& iterator, const Budget& budget) {
    static const std::vector<Value> nothing;
    if (iterator.given == List::Given::kAll) return nothing;
    if (iterator.given == List::Given::kPart) fail_unsupported(messages::iterator_used_again);
    if (iterator.changes.value_or(budget.changes) != budget.changes)
        fail_unsupported(messages::iterator_of_changed_namespace);
    return iterator.items;
}

std::vector<Value> items_of(const Value& value, Budget& budget) {
    std::vector<Value> items;
    switch (value.kind()) {
        case Kind::kUndefined:
            break;
        case Kind::kList: {
            const List& list = value.as_list();
            budget.spend_steps(list.items.size());
            items = list.row == Row::kIterator ? left_in(list, budget) : list.items;
            if (list.row == Row::kIterator && !items.empty())
                list.given = budget.is_lazy ? List::Given::kPart : List::Given::kAll;
            break;
        }
        case Kind::kDict:
            budget.spend_steps(value.as_dict().items.size());
            for (const auto& [key, ignored] : value.as_dict().items) items.push_back(key);
            break;
        case Kind::kString: {
            const std::string& text = value.as_string();
            budget.spend_steps(count_characters(text));
            for (std::size_t at = 0; at < text.size();) {
                const std::size_t n = character_bytes(text, at);
                items.push_back(Value::string(value.as_text().part(at, n)));
                at += n;
            }
            break;
        }
        default:
            fail(messages::type_without_items(type_name(value)));
    }
    return items;
}

}  // namespace offstage::engine::jinja
