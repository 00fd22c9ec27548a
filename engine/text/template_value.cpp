#include "engine/text/template_value.h"

#include <algorithm>

#include "engine/text/template_evaluator.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

constexpr int kMaxDepth = 64;

// Lists that hold one list twice, and so on, are small in memory and extremely long when
// printed: so the printed size is limited.
constexpr std::uint64_t kMaxWeight = 16u << 20;

void include(Extent& outer, const Value& v) {
    // A function must not outlive its template. The contents of a namespace are neither
    // printed nor compared: they count nothing.
    if (v.is(Kind::kNamespace) && v.as_dict().is_loop) fail_unsupported(messages::namespace_inside_value);
    if (v.is(Kind::kFunction)) fail_unsupported(messages::function_as_value);
    if (v.is(Kind::kList)) outer.depth = std::max(outer.depth, v.as_list().extent.depth);
    if (v.is(Kind::kDict)) outer.depth = std::max(outer.depth, v.as_dict().extent.depth);
    outer.weight += v.weight();
    outer.has_data = outer.has_data || v.has_data();
    if (outer.weight > kMaxWeight) fail(messages::container_too_large);
}

Extent around(Extent inside) {
    if (inside.depth >= kMaxDepth) fail(messages::containers_too_deep(kMaxDepth));
    ++inside.depth;
    return inside;
}

Extent around(const std::vector<Value>& items) {
    Extent inside;
    for (const Value& item : items) include(inside, item);
    return around(inside);
}

Extent around(const std::vector<std::pair<Value, Value>>& items) {
    Extent inside;
    for (const auto& [key, value] : items) {
        include(inside, key);
        include(inside, value);
    }
    return around(inside);
}

}  // namespace

void fail(Message what) {
    throw Failure{ErrorKind::kInvalidInput, std::move(what), false};
}
void fail_unsupported(Message what) {
    throw Failure{ErrorKind::kUnsupported, std::move(what), false};
}

Value Value::undefined(std::string_view name) {
    Value v;
    v.string_ = std::make_shared<const PromptText>(name);
    return v;
}

Value Value::none() {
    Value v;
    v.kind_ = Kind::kNone;
    return v;
}

Value Value::boolean(bool b) {
    Value v;
    v.kind_ = Kind::kBool;
    v.integer_ = b ? 1 : 0;
    return v;
}

Value Value::integer(std::int64_t i) {
    Value v;
    v.kind_ = Kind::kInt;
    v.integer_ = i;
    return v;
}

Value Value::real(double d) {
    Value v;
    v.kind_ = Kind::kFloat;
    v.real_ = d;
    return v;
}

Value Value::string(PromptText text, bool is_markup) {
    Value v;
    v.kind_ = Kind::kString;
    v.is_markup_ = is_markup;
    v.string_ = std::make_shared<const PromptText>(std::move(text));
    return v;
}

Value Value::list(std::vector<Value> items, bool is_tuple) {
    return row(std::move(items), is_tuple ? Row::kTuple : Row::kList);
}

Value Value::row(std::vector<Value> items, Row row) {
    const Extent extent = around(items);
    Value v;
    v.kind_ = Kind::kList;
    v.list_ = std::make_shared<List>(List{std::move(items), extent, row});
    return v;
}

Value Value::range(std::vector<Value> items, std::int64_t begin, std::int64_t end, std::int64_t step) {
    Value v;
    v.kind_ = Kind::kList;
    const Extent extent = around(items);
    v.list_ = std::make_shared<List>(List{std::move(items), extent, Row::kRange, {begin, end, step}});
    return v;
}

Value Value::iterator(std::vector<Value> items, std::optional<std::uint64_t> changes) {
    Value v;
    v.kind_ = Kind::kList;
    const Extent extent = around(items);
    v.list_ = std::make_shared<List>(List{std::move(items), extent, Row::kIterator, {}, {}, changes});
    return v;
}

Value Value::dict(std::vector<std::pair<Value, Value>> items) {
    const Extent extent = around(items);
    Value v;
    v.kind_ = Kind::kDict;
    v.dict_ = std::make_shared<Dict>(Dict{std::move(items), extent});
    return v;
}

Value Value::name_space(std::vector<std::pair<Value, Value>> items) {
    Value v = dict(std::move(items));
    v.kind_ = Kind::kNamespace;
    return v;
}

Value Value::loop(std::vector<std::pair<Value, Value>> items) {
    Value v = name_space(std::move(items));
    v.dict_->is_loop = true;
    return v;
}

Value Value::function(const Function* f) {
    Value v;
    v.kind_ = Kind::kFunction;
    v.function_ = f;
    return v;
}

bool Value::truthy() const {
    switch (kind_) {
        case Kind::kUndefined:
        case Kind::kNone:
            return false;
        case Kind::kBool:
        case Kind::kInt:
            return integer_ != 0;
        case Kind::kFloat:
            return real_ != 0;
        case Kind::kString:
            return !string_->empty();
        case Kind::kList:
            return list_->row == Row::kIterator || !list_->items.empty();
        case Kind::kDict:
            return !dict_->items.empty();
        default:
            return true;
    }
}

bool Value::is_hashable() const {
    if (kind_ == Kind::kDict) return false;
    if (kind_ != Kind::kList) return true;
    const auto hashable = [](const Value& item) { return item.is_hashable(); };
    if (list_->row == Row::kTuple) return std::all_of(list_->items.begin(), list_->items.end(), hashable);
    return list_->row == Row::kRange || list_->row == Row::kValues || list_->row == Row::kIterator;
}

std::uint64_t Value::weight() const {
    switch (kind_) {
        case Kind::kString:
            return 1 + string_->size();
        case Kind::kList:
            return list_->extent.weight;
        case Kind::kDict:
            return dict_->extent.weight;
        default:  // a namespace's may change
            return 1;
    }
}

bool Value::has_data() const {
    switch (kind_) {
        case Kind::kString:
            return string_->has_data();
        case Kind::kList:
            return list_->extent.has_data;
        case Kind::kDict:
            return dict_->extent.has_data;
        default:
            return false;
    }
}

const Value* Value::find(std::string_view key) const {
    for (const auto& [k, v] : dict_->items) {
        if (k.is(Kind::kString) && k.as_string() == key) return &v;
    }
    return nullptr;
}

const Value* Value::find(const Value& key, Budget& budget) const {
    budget.spend_steps(dict_->items.size() / 8);
    for (const auto& [k, v] : dict_->items) {
        if (equal(k, key, budget)) return &v;
    }
    return nullptr;
}

void Value::set_attribute(const std::string& key, Value value) const {
    Extent inside;
    include(inside, value);
    for (auto& [k, v] : dict_->items) {
        if (k.as_string() == key) {
            v = std::move(value);
            return;
        }
    }
    dict_->items.emplace_back(string(key), std::move(value));
}

namespace {

bool are_equal(const List& a, const List& b, Budget& budget) {
    const auto is_set = [](const List& list) { return list.row == Row::kKeys || list.row == Row::kItems; };
    const auto is_same = [&budget](const Value& x, const Value& y) { return equal(x, y, budget); };
    if (is_set(a) && is_set(b)) {
        if (a.items.size() != b.items.size()) return false;
        budget.spend_steps(a.items.size() * b.items.size());
        return std::all_of(a.items.begin(), a.items.end(), [&](const Value& x) {
            return std::any_of(b.items.begin(), b.items.end(), [&](const Value& y) { return is_same(x, y); });
        });
    }
    if (a.row != b.row) return false;
    if (a.row == Row::kIterator || a.row == Row::kValues) return &a == &b;
    return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), is_same);
}

// Below, at or above zero. A whole number is not rounded, as in Python.
int compare_numbers(const Value& a, const Value& b) {
    const auto exact = [](const Value& v) {
        return v.is_integer() ? static_cast<long double>(v.as_int()) : static_cast<long double>(v.as_double());
    };
    const long double x = exact(a), y = exact(b);
    return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace

bool equal(const Value& a, const Value& b, Budget& budget) {
    if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::kUndefined:
        case Kind::kNone:
            return true;
        case Kind::kString:
            return a.as_string() == b.as_string();
        case Kind::kList:
            return are_equal(a.as_list(), b.as_list(), budget);
        case Kind::kDict: {
            const auto& x = a.as_dict().items;
            if (x.size() != b.as_dict().items.size()) return false;
            return std::all_of(x.begin(), x.end(), [&](const auto& item) {
                const Value* other = b.find(item.first, budget);
                return other != nullptr && equal(item.second, *other, budget);
            });
        }
        case Kind::kNamespace:
            return &a.as_dict() == &b.as_dict();
        case Kind::kFunction:
            return a.as_function() == b.as_function();
        default:
            return false;
    }
}

int compare(const Value& a, const Value& b, Budget& budget) {
    const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
    if (a.is_number() && b.is_number()) return compare_numbers(a, b);
    if (a.is(Kind::kString) && b.is(Kind::kString)) return sign(a.as_string().compare(b.as_string()), 0);
    if ((a.is(Row::kList) && b.is(Row::kList)) || (a.is(Row::kTuple) && b.is(Row::kTuple))) {
        const auto& x = a.as_list().items;
        const auto& y = b.as_list().items;
        for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
            if (!equal(x[i], y[i], budget)) return compare(x[i], y[i], budget);
        }
        return sign(x.size(), y.size());
    }
    fail(messages::types_not_ordered(type_name(a), type_name(b)));
}

std::string_view name_of(Row row) {
    constexpr std::string_view kNames[] = {"list",        "tuple",      "range",    "dict_keys",
                                           "dict_values", "dict_items", "generator"};
    return kNames[static_cast<std::size_t>(row)];
}

std::string_view type_name(const Value& v) {
    switch (v.kind()) {
        case Kind::kUndefined:
            return "undefined";
        case Kind::kNone:
            return "None";
        case Kind::kBool:
            return "bool";
        case Kind::kInt:
            return "int";
        case Kind::kFloat:
            return "float";
        case Kind::kString:
            return "str";
        case Kind::kList:
            return name_of(v.as_list().row);
        case Kind::kDict:
            return "dict";
        case Kind::kNamespace:
            return "namespace";
        case Kind::kFunction:
            return "function";
    }
    return "";
}

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t byte_of_character(std::string_view text, std::size_t index) {
    std::size_t at = 0;
    while (index > 0 && at < text.size()) {
        at += character_bytes(text, at);
        --index;
    }
    return at;
}

std::string_view strip_left(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t n = python_space_at(text.substr(at));
        if (n == 0) break;
        at += n;
    }
    return text.substr(at);
}

std::string_view strip_right(std::string_view text) {
    while (!text.empty()) {
        std::size_t at = text.size() - 1;
        while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
        if (python_space_at(text.substr(at)) == 0) break;
        text = text.substr(0, at);
    }
    return text;
}

}  // namespace offstage::engine::jinja
