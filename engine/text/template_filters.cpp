// Jinja's filters.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "engine/text/template_evaluator.h"
#include "engine/text/template_format.h"
#include "engine/text/template_text.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

using Filter = Value (*)(const Value&, const Arguments&, Budget&);

PromptText text_of(const Value& v, Budget& budget) {
    budget.spend_bytes(v.weight());
    return to_text(v);
}

Value cased(const Value& v, const Arguments& arguments, Budget& budget, std::string (*change)(std::string_view)) {
    arguments.check(messages::a_letter_case_filter, 0, {});
    return changed_string(change(text_of(v, budget).bytes), v, budget);
}

// The text itself, marked up or not.
Value plain(const Value& v, const Arguments& arguments, Budget& budget, const char* name, bool is_markup) {
    arguments.check(name, 0, {});
    return new_string(text_of(v, budget), budget, is_markup);
}

Value filter_list(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("list", 0, {});
    return Value::list(items_of(v, budget));
}

Value filter_trim(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("trim", 1, {"chars"});
    Arguments rest;
    if (const Value* characters = arguments.find(0, "chars")) rest.positional.push_back(*characters);
    return call_method(Value::string(text_of(v, budget), v.is_markup()), "strip", rest, budget);
}

Value filter_length(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("length", 0, {});
    std::size_t n = 0;
    switch (v.kind()) {
        case Kind::kUndefined:
            break;
        case Kind::kString:
            budget.spend_bytes(v.weight());
            n = count_characters(v.as_string());
            break;
        case Kind::kList:
            if (v.is(Row::kIterator)) fail(messages::length_of_generator);
            n = v.as_list().items.size();
            break;
        case Kind::kDict:
            n = v.as_dict().items.size();
            break;
        default:
            fail(messages::length_of_type(type_name(v)));
    }
    return Value::integer(static_cast<std::int64_t>(n));
}

Value filter_default(const Value& v, const Arguments& arguments, Budget&) {
    arguments.check("default", 2, {"default_value", "boolean"});
    const Value* boolean = arguments.find(1, "boolean");
    const bool replace = v.is(Kind::kUndefined) || (boolean != nullptr && boolean->truthy() && !v.truthy());
    if (!replace) return v;
    const Value* otherwise = arguments.find(0, "default_value");
    return otherwise != nullptr ? *otherwise : Value::string("");
}

// "a.b" or "0": the attribute argument of selectattr, map and join; None: the item itself.
// `otherwise` stands for each part that is missing.
Value attribute_path(const Value& item, const Value& path, Budget& budget, const Value* otherwise = nullptr) {
    const auto found = [&](Value value) {
        return value.is(Kind::kUndefined) && otherwise != nullptr && !otherwise->is(Kind::kNone) ? *otherwise : value;
    };
    if (path.is(Kind::kNone)) return item;
    if (!path.is(Kind::kString)) return found(item_of(item, path, budget));
    Value at = item;
    for (const std::string_view part : split_text(path.as_string(), ".", -1)) {
        std::int64_t index = 0;
        const auto [end, failure] = std::from_chars(part.data(), part.data() + part.size(), index);
        const bool is_index = failure == std::errc() && end == part.data() + part.size() && part.front() != '-';
        budget.step();
        at = found(item_of(at, is_index ? Value::integer(index) : Value::string(std::string(part)), budget));
    }
    return at;
}

// sum, min, max, sort and join use an attribute of each item if one is named.
Value looked_at(const Value& item, const Value* attribute, Budget& budget) {
    return attribute == nullptr ? item : attribute_path(item, *attribute, budget);
}

Value filter_join(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("join", 2, {"d", "attribute"});
    const Value* between = arguments.find(0, "d");
    const Value* attribute = arguments.find(1, "attribute");
    const PromptText separator = between != nullptr ? text_of(*between, budget) : PromptText();
    PromptText out;
    bool first = true;
    for (const Value& item : items_of(v, budget)) {
        if (!first) out.append(separator);
        first = false;
        out.append(text_of(looked_at(item, attribute, budget), budget));
        budget.spend_bytes(separator.size());
    }
    return new_string(std::move(out), budget);
}

Value filter_end(const Value& v, const Arguments& arguments, Budget& budget, bool last) {
    arguments.check(last ? "last" : "first", 0, {});
    // Markup's first character is plain text, its last one is not.
    if (v.is(Kind::kString) && last) return item_of(v, Value::integer(-1), budget);
    if (v.is(Kind::kString)) return item_of(Value::string(v.as_text()), Value::integer(0), budget);
    const auto end_of = [last](const std::vector<Value>& items) {
        if (items.empty()) return Value::undefined(last ? "last" : "first");
        return last ? items.back() : items.front();
    };
    if (!v.is(Kind::kList)) return end_of(items_of(v, budget));
    const List& list = v.as_list();
    if (list.row != Row::kIterator) return end_of(list.items);
    if (last) fail(messages::last_of_generator);
    const std::vector<Value>& items = left_in(list, budget);
    if (!items.empty()) list.given = List::Given::kPart;
    return end_of(items);
}

Value filter_tojson(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("tojson", 0, {"indent", "ensure_ascii", "separators"});
    JsonStyle style;
    const Value* indent = arguments.find(0, "indent");
    if (indent != nullptr && !indent->is(Kind::kNone)) {
        if (!indent->is_integer() || indent->as_int() < 0 || indent->as_int() > 16)
            fail_unsupported(messages::tojson_indent);
        style.indent = static_cast<int>(indent->as_int());
        style.between_items = ",";
    }
    const Value* ascii = arguments.find(1, "ensure_ascii");
    style.ascii = ascii != nullptr && ascii->truthy();
    const Value* separators = arguments.find(2, "separators");
    if (separators != nullptr && !separators->is(Kind::kNone)) {
        const std::vector<Value> two = items_of(*separators, budget);
        if (two.size() != 2 || !two[0].is(Kind::kString) || !two[1].is(Kind::kString))
            fail(messages::tojson_separators);
        style.between_items = two[0].as_string();
        style.after_key = two[1].as_string();
        if (style.between_items.size() + style.after_key.size() > 16)
            fail_unsupported(messages::tojson_long_separators);
    }
    // A line per value, indented up to 64 levels deep; a byte is six as an escape;
    // separators of up to 16.
    const std::uint64_t longest = (style.ascii ? 6 : 2) + (separators != nullptr ? 16 : 0);
    budget.spend_bytes(v.weight() *
                       (longest + (style.indent < 0 ? 0 : 64 * static_cast<std::uint64_t>(style.indent) / 4)));
    return new_string(to_json(v, style), budget);
}

Value filter_replace(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("replace", 3, {"old", "new", "count"});
    const Value* from = arguments.find(0, "old");
    const Value* to = arguments.find(1, "new");
    const Value* count = arguments.find(2, "count");
    if (from == nullptr || to == nullptr) fail(messages::replace_needs_texts);
    std::int64_t limit = -1;
    if (count != nullptr && !count->is(Kind::kNone)) {
        if (!count->is_integer()) fail(messages::replace_count);
        limit = std::max<std::int64_t>(count->as_int(), -1);
    }
    const PromptText text = text_of(v, budget);
    const std::string old_text = text_of(*from, budget).bytes;
    const PromptText new_text = text_of(*to, budget);
    // Counted before the work: the result may be far longer than the text.
    budget.spend_bytes(count_text(text.bytes, old_text) * new_text.size());
    return new_string(replace_text(text, old_text, new_text, limit), budget);
}

// A text without white space at its ends, without + and without _ between digits: as
// Python's int() and float() read it. Empty: no number.
std::string number_text(std::string_view text) {
    text = strip_right(strip_left(text));
    const auto is_digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    std::string out;
    for (std::size_t at = text.starts_with('+') ? 1 : 0; at < text.size();) {
        const std::size_t begin = at;
        const std::uint32_t c = next_character(text, at);
        const auto shown = std::string(text.substr(begin, at - begin));
        if (is_decimal_digit(c) && c >= 0x80) fail_unsupported(messages::the_number(shown));
        const bool is_known = c == '_' ? begin > 0 && is_digit(begin - 1) && is_digit(at) : c < 0x80 && c != '(';
        if (!is_known || (begin == 1 && c == '-')) return {};
        if (c != '_') out += static_cast<char>(c);
    }
    return out;
}

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
    Number number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ptr != text.data() + text.size() || read.ec == std::errc::invalid_argument) return {};
    if (read.ec == std::errc::result_out_of_range) fail(messages::number_too_large);
    return number;
}

std::optional<double> real_in(const std::string& text) {
    const auto number = number_in<double>(text);
    if (number && std::isnan(*number)) fail_unsupported(messages::the_number(text));
    return number;
}

Value filter_int(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("int", 1, {"default"});
    const Value* given = arguments.find(0, "default");
    const Value otherwise = given != nullptr ? *given : Value::integer(0);
    if (v.is(Kind::kUndefined)) fail(messages::int_of_undefined);
    if (v.is_integer()) return Value::integer(v.as_int());
    if (!v.is(Kind::kFloat) && !v.is(Kind::kString)) return otherwise;
    double number = v.as_double();
    if (v.is(Kind::kString)) {
        budget.spend_bytes(v.weight());
        const std::string text = number_text(v.as_string());
        if (const auto whole = number_in<std::int64_t>(text)) return Value::integer(*whole);
        const auto real = real_in(text);
        if (!real || std::isinf(*real)) return otherwise;
        number = *real;
    }
    if (!(std::fabs(number) < 9.2e18)) fail(messages::number_too_large);
    return Value::integer(static_cast<std::int64_t>(number));
}

Value filter_float(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("float", 1, {"default"});
    const Value* given = arguments.find(0, "default");
    if (v.is(Kind::kUndefined)) fail(messages::float_of_undefined);
    if (v.is_number()) return Value::real(v.as_double());
    if (v.is(Kind::kString)) {
        budget.spend_bytes(v.weight());
        if (const auto real = real_in(number_text(v.as_string()))) return Value::real(*real);
    }
    return given != nullptr ? *given : Value::real(0);
}

Value filter_items(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("items", 0, {});
    if (v.is(Kind::kUndefined)) return Value::iterator({});
    if (!v.is(Kind::kDict)) fail(messages::items_of_type(type_name(v)));
    return Value::iterator(items_of(call_method(v, "items", {}, budget), budget));
}

Value filter_reverse(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("reverse", 0, {});
    std::vector<Value> items = items_of(v, budget);
    std::reverse(items.begin(), items.end());
    if (v.is(Row::kIterator)) return Value::list(std::move(items));
    if (!v.is(Kind::kString)) return Value::iterator(std::move(items));
    PromptText text;
    for (const Value& item : items) text.append(item.as_text());
    return new_string(std::move(text), budget, v.is_markup());
}

Value filter_abs(const Value& v, const Arguments& arguments, Budget&) {
    arguments.check("abs", 0, {});
    if (!v.is_number()) fail(messages::abs_of_type(type_name(v)));
    if (!v.is_integer()) return Value::real(std::fabs(v.as_double()));
    if (v.as_int() == std::numeric_limits<std::int64_t>::min()) fail(messages::number_too_large);
    return Value::integer(std::abs(v.as_int()));
}

// What texts are compared by: their small letters unless `case_sensitive`.
Value order_key(Value key, bool case_sensitive, Budget& budget) {
    budget.spend_bytes(key.weight());
    return key.is(Kind::kString) && !case_sensitive ? Value::string(to_lower(key.as_string())) : key;
}

// Values in the order of their keys.
std::vector<Value> sorted(std::vector<Value> items, bool reverse, const std::function<Value(const Value&)>& key_of,
                          Budget& budget) {
    std::vector<std::pair<Value, Value>> keyed;
    for (Value& item : items) {
        Value key = key_of(item);
        keyed.emplace_back(std::move(key), std::move(item));
    }
    budget.spend_steps(keyed.size() * 16);
    std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
        return reverse ? compare(b.first, a.first, budget) < 0 : compare(a.first, b.first, budget) < 0;
    });
    items.clear();
    for (auto& [key, item] : keyed) items.push_back(std::move(item));
    return items;
}

bool is_set(const Arguments& arguments, std::size_t index, std::string_view name) {
    const Value* value = arguments.find(index, name);
    return value != nullptr && value->truthy();
}

Value filter_sum(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("sum", 2, {"attribute", "start"});
    const Value* start = arguments.find(1, "start");
    Value sum = start != nullptr ? *start : Value::integer(0);
    if (sum.is(Kind::kString)) fail(messages::takes_a_number("sum", type_name(sum)));
    for (const Value& item : items_of(v, budget))
        sum = binary("+", sum, looked_at(item, arguments.find(0, "attribute"), budget), budget);
    return sum;
}

Value filter_extreme(const Value& v, const Arguments& arguments, Budget& budget, bool largest) {
    arguments.check(largest ? "max" : "min", 2, {"case_sensitive", "attribute"});
    const bool case_sensitive = is_set(arguments, 0, "case_sensitive");
    Value found = Value::undefined(largest ? "max" : "min"), found_key;
    bool is_first = true;
    for (const Value& item : items_of(v, budget)) {
        Value key = order_key(looked_at(item, arguments.find(1, "attribute"), budget), case_sensitive, budget);
        if (!std::exchange(is_first, false) &&
            (largest ? compare(found_key, key, budget) >= 0 : compare(key, found_key, budget) >= 0))
            continue;
        found = item;
        found_key = std::move(key);
    }
    return found;
}

Value filter_round(const Value& v, const Arguments& arguments, Budget&) {
    arguments.check("round", 2, {"precision", "method"});
    const Value* precision = arguments.find(0, "precision");
    const Value* method = arguments.find(1, "method");
    if (!v.is_number()) fail(messages::takes_a_number("round", type_name(v)));
    if (precision != nullptr && !precision->is_integer())
        fail(messages::takes_a_number("round", type_name(*precision)));
    const std::int64_t digits = precision != nullptr ? precision->as_int() : 0;
    const std::string name = method != nullptr ? to_text(*method).bytes : "common";
    if (name == "common") return rounded(v, digits);
    if (name != "ceil" && name != "floor") fail_unsupported(messages::call_with_argument("round", name));
    // Up to here powers of ten are exact, or as Python has them.
    if (digits < -300 || digits > 22) fail_unsupported(messages::call_with_argument("round", std::to_string(digits)));
    if (v.is_integer() && digits >= 0) return Value::real(v.as_double());
    const double scale = std::pow(10.0, static_cast<double>(digits)), scaled = v.as_double() * scale;
    if (!std::isfinite(scaled)) fail(messages::number_too_large);
    const double whole = name == "ceil" ? std::ceil(scaled) : std::floor(scaled);
    return Value::real((whole + 0.0) / scale);  // Python's is an integer, without -0
}

Value filter_escape(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("escape", 0, {});
    return new_string(escaped(v, budget), budget, true);
}

Value filter_format(const Value& v, const Arguments& arguments, Budget& budget) {
    if (!arguments.positional.empty() && !arguments.named.empty()) fail(messages::text_format_values);
    std::vector<std::pair<Value, Value>> named;
    for (const auto& [name, value] : arguments.named) named.emplace_back(Value::string(name), value);
    const Value values = named.empty() ? Value::list(arguments.positional, true) : Value::dict(std::move(named));
    return format_percent(Value::string(text_of(v, budget), v.is_markup()), values, budget);
}

Value filter_dictsort(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("dictsort", 3, {"case_sensitive", "by", "reverse"});
    if (!v.is(Kind::kDict)) fail(messages::dictsort_of_type(type_name(v)));
    const Value* by = arguments.find(1, "by");
    const std::string order = by != nullptr ? by->is(Kind::kString) ? by->as_string() : "" : "key";
    if (order != "key" && order != "value") fail(messages::dictsort_by);
    std::vector<Value> items;
    for (const auto& [key, value] : v.as_dict().items) items.push_back(Value::list({key, value}, true));
    const auto key_of = [&](const Value& item) {
        return order_key(item.as_list().items[order == "value" ? 1 : 0], is_set(arguments, 0, "case_sensitive"),
                         budget);
    };
    return Value::list(sorted(std::move(items), is_set(arguments, 2, "reverse"), key_of, budget));
}

Value filter_sort(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("sort", 3, {"reverse", "case_sensitive", "attribute"});
    const Value* attribute = arguments.find(2, "attribute");
    std::vector<Value> attributes = {attribute != nullptr ? *attribute : Value::none()};
    if (attribute != nullptr && attribute->is(Kind::kString)) {
        attributes.clear();
        for (const std::string_view part : split_text(attribute->as_string(), ",", -1))
            attributes.push_back(Value::string(PromptText(part)));
    }
    // Keys in lists, as in Jinja: what has no order, such as None, may stand in all of them.
    const auto key_of = [&](const Value& item) {
        std::vector<Value> keys;
        for (const Value& path : attributes)
            keys.push_back(
                order_key(attribute_path(item, path, budget), is_set(arguments, 1, "case_sensitive"), budget));
        return Value::list(std::move(keys));
    };
    return Value::list(sorted(items_of(v, budget), is_set(arguments, 0, "reverse"), key_of, budget));
}

// Jinja computes the items of a filter's generator when they are asked for, in an order
// with other things. Here they are computed at once, and refused where that differs: if
// they come of a namespace that changes before they are asked for, or of an iterator that
// is used elsewhere.
class Lazily {
  public:
    explicit Lazily(Budget& budget)
        : budget_(budget), was_lazy_(std::exchange(budget.is_lazy, true)), n_reads_(budget.reads) {}
    ~Lazily() { budget_.is_lazy = was_lazy_; }
    Lazily(const Lazily&) = delete;
    Lazily& operator=(const Lazily&) = delete;

    Value made(std::vector<Value> items) const {
        const bool depends = budget_.reads != n_reads_;
        return Value::iterator(std::move(items), depends ? std::optional(budget_.changes) : std::nullopt);
    }

  private:
    Budget& budget_;
    bool was_lazy_;
    std::uint64_t n_reads_;
};

// Each text with other letters once.
Value filter_unique(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("unique", 0, {});
    const Lazily lazily(budget);
    std::vector<Value> seen;
    std::vector<Value> kept;
    for (Value& item : items_of(v, budget)) {
        if (!item.is_hashable()) fail(messages::key_of_type(type_name(item)));
        Value key = item.is(Kind::kString) ? Value::string(to_lower(item.as_string())) : item;
        budget.spend_steps(1 + seen.size());
        budget.spend_bytes(key.weight());
        if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(other, key, budget); }))
            continue;
        seen.push_back(std::move(key));
        kept.push_back(std::move(item));
    }
    return lazily.made(std::move(kept));
}

Value filter_indent(const Value& v, const Arguments& arguments, Budget& budget) {
    arguments.check("indent", 3, {"width", "first", "blank"});
    const Value* width = arguments.find(0, "width");
    PromptText margin(std::string(4, ' '));
    if (width != nullptr && width->is(Kind::kString)) {
        margin = width->as_text();
    } else if (width != nullptr) {
        if (!width->is_integer() || width->as_int() > 256) fail(messages::indent_width);
        margin = PromptText(std::string(static_cast<std::size_t>(std::max<std::int64_t>(width->as_int(), 0)), ' '));
    }
    if (!v.is(Kind::kString)) fail(messages::takes_a_text("indent", type_name(v)));
    const bool escapes = width != nullptr && width->is_markup() && !v.is_markup();
    PromptText text = text_of(v, budget);
    text.append("\n");
    const std::vector<std::string_view> lines = split_lines(text.bytes, false);
    budget.spend_bytes(text.size() + lines.size() * (margin.size() + 1));
    const bool blank = is_set(arguments, 2, "blank");
    PromptText out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) out.append("\n");
        if (i > 0 && (blank || !lines[i].empty())) out.append(margin);
        const PromptText line = text.part(lines[i]);
        out.append(escapes && (blank || i > 0) ? escaped(Value::string(line), budget) : line);
    }
    Value made = new_string(std::move(out), budget, v.is_markup() || (escapes && blank));
    if (!is_set(arguments, 1, "first")) return made;
    return binary("+", Value::string(std::move(margin), v.is_markup() || escapes), made, budget);
}

// select, reject: (test, arguments...); selectattr, rejectattr: (attribute, test,
// arguments...).
Value filter_select(const Value& v, const Arguments& arguments, Budget& budget, bool by_attribute, bool keep) {
    if (!arguments.named.empty()) fail_unsupported(messages::list_filter_with_names);
    const auto& given = arguments.positional;
    const std::size_t at_test = by_attribute ? 1 : 0;
    if (given.size() < at_test) fail(messages::selectattr_without_attribute);
    if (!v.truthy()) return Value::iterator({});  // Jinja looks no further: also at None
    const Lazily lazily(budget);
    std::string test;
    Arguments rest;
    if (given.size() > at_test) {
        if (!given[at_test].is(Kind::kString)) fail(messages::test_name_of_type(type_name(given[at_test])));
        test = given[at_test].as_string();
        rest.positional.assign(given.begin() + static_cast<std::ptrdiff_t>(at_test) + 1, given.end());
    }
    std::vector<Value> kept;
    for (Value& item : items_of(v, budget)) {
        budget.step();
        const Value subject = by_attribute ? attribute_path(item, given[0], budget) : item;
        const bool holds = test.empty() ? subject.truthy() : apply_test(test, subject, rest, budget);
        if (holds == keep) kept.push_back(std::move(item));
    }
    return lazily.made(std::move(kept));
}

Value filter_map(const Value& v, const Arguments& arguments, Budget& budget) {
    if (!v.truthy()) return Value::iterator({});
    const Lazily lazily(budget);
    std::vector<Value> mapped;
    const auto& given = arguments.positional;
    if (given.empty()) {
        arguments.check("map", 0, {"attribute", "default"});
        const Value* attribute = arguments.find(0, "attribute");
        const Value* otherwise = arguments.find(1, "default");
        if (attribute == nullptr) fail(messages::map_without_filter);
        for (const Value& item : items_of(v, budget)) {
            mapped.push_back(attribute_path(item, *attribute, budget, otherwise));
        }
        return lazily.made(std::move(mapped));
    }
    if (!given[0].is(Kind::kString)) fail(messages::filter_name_of_type(type_name(given[0])));
    // Filters of filters would go around the evaluator's count of depth.
    const std::string& name = given[0].as_string();
    if (name == "map") fail_unsupported(messages::map_of_map);
    Arguments rest;
    rest.positional.assign(given.begin() + 1, given.end());
    rest.named = arguments.named;
    for (const Value& item : items_of(v, budget)) {
        budget.step();
        mapped.push_back(apply_filter(name, item, rest, budget));
    }
    return lazily.made(std::move(mapped));
}

const std::map<std::string, Filter, std::less<>>& filters() {
    static const std::map<std::string, Filter, std::less<>> all = {
        {"trim", filter_trim},
        {"length", filter_length},
        {"count", filter_length},
        {"lower", [](const Value& v, const Arguments& a, Budget& b) { return cased(v, a, b, to_lower); }},
        {"upper", [](const Value& v, const Arguments& a, Budget& b) { return cased(v, a, b, to_upper); }},
        {"title",
         [](const Value& v, const Arguments& a, Budget& b) {
             return cased(Value::string(text_of(v, b)), a, b, to_title_words);  // plain text
         }},
        {"capitalize", [](const Value& v, const Arguments& a, Budget& b) { return cased(v, a, b, to_capitalized); }},
        {"default", filter_default},
        {"d", filter_default},
        {"join", filter_join},
        {"first", [](const Value& v, const Arguments& a, Budget& b) { return filter_end(v, a, b, false); }},
        {"last", [](const Value& v, const Arguments& a, Budget& b) { return filter_end(v, a, b, true); }},
        {"tojson", filter_tojson},
        {"dictsort", filter_dictsort},
        {"sort", filter_sort},
        {"unique", filter_unique},
        {"indent", filter_indent},
        {"replace", filter_replace},
        {"string",
         [](const Value& v, const Arguments& a, Budget& b) { return plain(v, a, b, "string", v.is_markup()); }},
        {"safe", [](const Value& v, const Arguments& a, Budget& b) { return plain(v, a, b, "safe", true); }},
        {"int", filter_int},
        {"float", filter_float},
        {"list", filter_list},
        {"items", filter_items},
        {"reverse", filter_reverse},
        {"abs", filter_abs},
        {"sum", filter_sum},
        {"min", [](const Value& v, const Arguments& a, Budget& b) { return filter_extreme(v, a, b, false); }},
        {"max", [](const Value& v, const Arguments& a, Budget& b) { return filter_extreme(v, a, b, true); }},
        {"round", filter_round},
        {"escape", filter_escape},
        {"e", filter_escape},
        {"forceescape", [](const Value& v, const Arguments& a,
                           Budget& b) { return filter_escape(Value::string(text_of(v, b)), a, b); }},
        {"format", filter_format},
        {"select", [](const Value& v, const Arguments& a, Budget& b) { return filter_select(v, a, b, false, true); }},
        {"reject", [](const Value& v, const Arguments& a, Budget& b) { return filter_select(v, a, b, false, false); }},
        {"selectattr",
         [](const Value& v, const Arguments& a, Budget& b) { return filter_select(v, a, b, true, true); }},
        {"rejectattr",
         [](const Value& v, const Arguments& a, Budget& b) { return filter_select(v, a, b, true, false); }},
        {"map", filter_map},
    };
    return all;
}

}  // namespace

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
    const auto it = filters().find(name);
    if (it == filters().end()) fail_unsupported(messages::the_filter(name));
    return it->second(value, arguments, budget);
}

}  // namespace offstage::engine::jinja
