// Jinja's tests: x is NAME.

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "engine/text/template_evaluator.h"
#include "engine/text/template_text.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

const Value& only_argument(const std::string& test, const Arguments& arguments) {
    arguments.check(messages::the_test(test), 1, {});
    if (arguments.positional.empty()) fail(messages::test_without_value(test));
    return arguments.positional[0];
}

std::optional<bool> test_kind(const std::string& name, const Value& v) {
    if (name == "defined") return !v.is(Kind::kUndefined);
    if (name == "undefined") return v.is(Kind::kUndefined);
    if (name == "none") return v.is(Kind::kNone);
    if (name == "string") return v.is(Kind::kString);
    if (name == "escaped") return v.is_markup();
    if (name == "mapping") return v.is(Kind::kDict);
    const bool is_loop = v.is(Kind::kNamespace) && v.as_dict().is_loop;
    if (name == "iterable" || name == "sequence") {
        if (v.is(Kind::kList)) return name == "iterable" || v.has_index();
        return v.is(Kind::kDict) || v.is(Kind::kString) || v.is(Kind::kUndefined) || (is_loop && name == "iterable");
    }
    if (name == "number") return v.is_number();
    if (name == "integer") return v.is(Kind::kInt);
    if (name == "float") return v.is(Kind::kFloat);
    if (name == "boolean") return v.is(Kind::kBool);
    if (name == "true") return v.is(Kind::kBool) && v.truthy();
    if (name == "false") return v.is(Kind::kBool) && !v.truthy();
    if (name == "callable") return v.is(Kind::kFunction) || v.is(Kind::kUndefined) || is_loop;
    return std::nullopt;
}

}  // namespace

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
    if (const auto holds = test_kind(name, value)) {
        arguments.check(messages::the_test(name), 0, {});
        return *holds;
    }
    if (name == "odd" || name == "even" || name == "divisibleby") {
        const Value divisor = name == "divisibleby" ? only_argument(name, arguments) : Value::integer(2);
        return equal(binary("%", value, divisor, budget), Value::integer(name == "odd"), budget);
    }
    if (name == "lower" || name == "upper") {
        budget.spend_bytes(value.weight());
        return has_case(to_text(value).bytes, name == "upper");
    }
    if (name == "in") return contains(only_argument(name, arguments), value, budget);

    const Value* other = nullptr;
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
        if (std::find(names.begin(), names.end(), name) == names.end()) return false;
        other = &only_argument(name, arguments);
        budget.spend_bytes(std::min(value.weight(), other->weight()));
        return true;
    };
    if (is_one_of({"eq", "equalto", "=="})) return equal(value, *other, budget);
    if (is_one_of({"ne", "!="})) return !equal(value, *other, budget);
    if (is_one_of({"lt", "lessthan", "<"})) return compare(value, *other, budget) < 0;
    if (is_one_of({"le", "<="})) return compare(value, *other, budget) <= 0;
    if (is_one_of({"gt", "greaterthan", ">"})) return compare(value, *other, budget) > 0;
    if (is_one_of({"ge", ">="})) return compare(value, *other, budget) >= 0;
    if (is_one_of({"sameas"})) {
        if (value.kind() != other->kind()) return false;
        // Of other kinds Python may have one object, or two that are equal.
        for (const Kind kind : {Kind::kNone, Kind::kBool, Kind::kNamespace, Kind::kFunction}) {
            if (value.is(kind)) return equal(value, *other, budget);
        }
        fail_unsupported(messages::sameas_of_type(type_name(value)));
    }
    fail_unsupported(messages::the_test(name));
}

}  // namespace offstage::engine::jinja
