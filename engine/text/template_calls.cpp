// The evaluator's calls and arithmetic.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/text/template_evaluator.h"
#include "engine/text/template_format.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100'000;
constexpr std::uint64_t kStepsOfNamespace = 16;  // it stays until the end of the rendering

[[noreturn]] void too_large() {
    fail(messages::number_too_large);
}

// Its real part alone is none of Python's results.
[[noreturn]] void no_real_number() {
    fail_unsupported(messages::the_number("nan"));
}

Value power(const Value& a, const Value& b) {
    if (!a.is_integer() || !b.is_integer() || b.as_int() < 0) {
        const double base = a.as_double(), exponent = b.as_double();
        if (base == 0 && exponent < 0) fail(messages::division_by_zero);
        if (base < 0 && std::isfinite(exponent) && exponent != std::floor(exponent)) no_real_number();
        const double result = std::pow(base, exponent);
        if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) too_large();
        return Value::real(result);
    }
    std::int64_t result = 1;
    const std::int64_t base = a.as_int();
    if (base == 0 || base == 1) return Value::integer(b.as_int() == 0 ? 1 : base);
    if (base == -1) return Value::integer(b.as_int() % 2 == 0 ? 1 : -1);
    if (b.as_int() > 64) too_large();
    for (std::int64_t i = 0; i < b.as_int(); ++i) {
        if (__builtin_mul_overflow(result, base, &result)) too_large();
    }
    return Value::integer(result);
}

// Python's // and %: rounded down, the remainder has the divisor's sign.
Value divide_down(bool remainder, const Value& a, const Value& b) {
    if (b.as_double() == 0) fail(messages::division_by_zero);
    if (a.is_integer() && b.is_integer()) {
        const std::int64_t x = a.as_int();
        const std::int64_t y = b.as_int();
        if (y == -1) {
            if (remainder) return Value::integer(0);
            if (x == std::numeric_limits<std::int64_t>::min()) too_large();
            return Value::integer(-x);
        }
        const std::int64_t rest = x % y;
        const bool adjust = rest != 0 && (rest < 0) != (y < 0);
        return Value::integer(remainder ? (adjust ? rest + y : rest) : x / y - (adjust ? 1 : 0));
    }
    const double x = a.as_double(), y = b.as_double();
    const double rest = std::fmod(x, y);
    const bool adjust = rest != 0 && (rest < 0) != (y < 0);
    const double modulo = adjust ? rest + y : rest;
    if (remainder) return Value::real(modulo == 0 ? std::copysign(0.0, y) : modulo);
    const double exact = (x - modulo) / y;  // but for rounding a whole number
    if (exact == 0) return Value::real(std::copysign(0.0, x / y));
    return Value::real(std::floor(exact) + (exact - std::floor(exact) > 0.5 ? 1 : 0));
}

Value arithmetic(const std::string& op, const Value& a, const Value& b) {
    if (op == "**") return power(a, b);
    if (op == "/") {
        constexpr double kMostExact = 9007199254740992.0;  // 2^53: Python rounds but once above it, too
        if (b.as_double() == 0) fail(messages::division_by_zero);
        if (a.is_integer() && b.is_integer() &&
            std::max(std::fabs(a.as_double()), std::fabs(b.as_double())) > kMostExact)
            too_large();
        return Value::real(a.as_double() / b.as_double());
    }
    if (op == "//" || op == "%") return divide_down(op == "%", a, b);
    if (a.is_integer() && b.is_integer()) {
        std::int64_t result = 0;
        const bool overflow = op == "+"   ? __builtin_add_overflow(a.as_int(), b.as_int(), &result)
                              : op == "-" ? __builtin_sub_overflow(a.as_int(), b.as_int(), &result)
                                          : __builtin_mul_overflow(a.as_int(), b.as_int(), &result);
        if (overflow) too_large();
        return Value::integer(result);
    }
    const double x = a.as_double();
    const double y = b.as_double();
    return Value::real(op == "+" ? x + y : op == "-" ? x - y : x * y);
}

Value repeat(const Value& what, std::int64_t times, Budget& budget) {
    const std::uint64_t n = times > 0 ? static_cast<std::uint64_t>(times) : 0;
    if (n > 0 && what.weight() > (std::uint64_t{1} << 32) / n) fail(messages::repetition_too_long);
    budget.spend_bytes(n * what.weight());
    if (what.is(Kind::kString)) {
        PromptText text;
        for (std::uint64_t i = 0; i < n && !what.as_string().empty(); ++i) text.append(what.as_text());
        return new_string(std::move(text), budget, what.is_markup());
    }
    const List& list = what.as_list();
    budget.spend_steps(n * list.items.size());
    std::vector<Value> items;
    for (std::uint64_t i = 0; i < n && !list.items.empty(); ++i)
        items.insert(items.end(), list.items.begin(), list.items.end());
    return Value::row(std::move(items), list.row);
}

Value make_range(const Arguments& arguments, Budget& budget) {
    arguments.check("range", 3, {});
    std::int64_t parts[3] = {0, 0, 1};
    const auto& given = arguments.positional;
    if (given.empty()) fail(messages::call_without_argument("range"));
    for (const Value& part : given) {
        if (!part.is_integer()) fail(messages::range_of_type(type_name(part)));
    }
    if (given.size() == 1) {
        parts[1] = given[0].as_int();
    } else {
        for (std::size_t i = 0; i < given.size(); ++i) parts[i] = given[i].as_int();
    }
    const auto [begin, end, step] = parts;
    if (step == 0) fail(messages::range_step_of_zero);
    std::vector<Value> items;
    std::int64_t at = begin;
    while (step > 0 ? at < end : at > end) {
        if (static_cast<std::int64_t>(items.size()) >= kMaxRange) fail(messages::range_too_long(kMaxRange));
        items.push_back(Value::integer(at));
        if (__builtin_add_overflow(at, step, &at)) break;
    }
    budget.spend_steps(items.size());
    return Value::range(std::move(items), begin, end, step);
}

// Python's dict(): of a dict or of pairs, and of named values. `name`: the function.
DictItems dict_items(std::string_view name, const Arguments& arguments, Budget& budget) {
    const auto& given = arguments.positional;
    if (given.size() > 1) fail(messages::call_with_arguments(name, given.size()));
    DictItems items;
    if (!given.empty() && given[0].is(Kind::kDict)) {
        items = given[0].as_dict().items;
        budget.spend_steps(items.size());
    } else if (!given.empty()) {
        if (given[0].is(Kind::kUndefined)) fail(messages::type_without_items(type_name(given[0])));
        for (const Value& pair : items_of(given[0], budget)) {
            const std::vector<Value> two = items_of(pair, budget);
            if (two.size() != 2) fail(messages::dict_of_no_pairs);
            put(items, two[0], two[1], budget);
        }
    }
    for (const auto& [key, value] : arguments.named) put(items, Value::string(key), value, budget);
    return items;
}

Value make_namespace(const Arguments& arguments, Budget& budget) {
    DictItems items = dict_items("namespace", arguments, budget);
    for (const auto& [key, value] : items) {
        if (!key.is(Kind::kString)) fail_unsupported(messages::namespace_name_of_type);
    }
    budget.spend_steps(kStepsOfNamespace);
    return Value::name_space(std::move(items));
}

// The digits of a whole number, rounded to 10^n (n > 0), half to even. `has_rest`: others
// follow.
std::string rounded_digits(std::string digits, std::size_t n, bool has_rest) {
    if (digits.size() <= n) digits.insert(0, n + 1 - digits.size(), '0');
    const std::size_t n_kept = digits.size() - n;
    std::string half(n, '0');
    half[0] = '5';
    const int order = digits.compare(n_kept, n, half);
    const bool is_odd = (digits[n_kept - 1] - '0') % 2 != 0;
    const bool up = order > 0 || (order == 0 && (has_rest || is_odd));
    digits.replace(n_kept, n, n, '0');
    std::size_t at = n_kept;
    while (up && at > 0 && digits[at - 1] == '9') digits[--at] = '0';
    if (up && at > 0) ++digits[at - 1];
    return up && at == 0 ? '1' + digits : digits;
}

// The time in the format of Python's strftime(), in English for every system language.
std::string time_text(std::string_view format, const std::tm& now) {
    static constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                              "July",    "August",   "September", "October", "November", "December"};
    static constexpr const char* kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                            "Thursday", "Friday", "Saturday"};
    const std::string month = kMonths[std::clamp(now.tm_mon, 0, 11)];
    const std::string day = kDays[std::clamp(now.tm_wday, 0, 6)];
    const auto digits = [](int value, std::size_t n) {
        std::string text = std::to_string(value);
        return text.size() < n ? std::string(n - text.size(), '0') + text : text;
    };
    std::string text;
    for (std::size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%' || at + 1 >= format.size()) {
            text += format[at];
            continue;
        }
        const char directive = format[++at];
        switch (directive) {
            case 'Y':
                text += digits(now.tm_year + 1900, 4);
                break;
            case 'y':
                text += digits(now.tm_year % 100, 2);
                break;
            case 'm':
                text += digits(now.tm_mon + 1, 2);
                break;
            case 'd':
                text += digits(now.tm_mday, 2);
                break;
            case 'H':
                text += digits(now.tm_hour, 2);
                break;
            case 'I':
                text += digits((now.tm_hour + 11) % 12 + 1, 2);
                break;
            case 'M':
                text += digits(now.tm_min, 2);
                break;
            case 'S':
                text += digits(now.tm_sec, 2);
                break;
            case 'j':
                text += digits(now.tm_yday + 1, 3);
                break;
            case 'p':
                text += now.tm_hour < 12 ? "AM" : "PM";
                break;
            case 'B':
                text += month;
                break;
            case 'b':
                text += month.substr(0, 3);
                break;
            case 'A':
                text += day;
                break;
            case 'a':
                text += day.substr(0, 3);
                break;
            case '%':
                text += '%';
                break;
            default:
                fail_unsupported(messages::strftime_directive(std::string(1, directive)));
        }
    }
    return text;
}

Value make_time(const Arguments& arguments, const std::tm& now, Budget& budget) {
    arguments.check("strftime_now", 1, {});
    if (arguments.positional.empty() || !arguments.positional[0].is(Kind::kString))
        fail(messages::strftime_without_format);
    budget.spend_bytes(arguments.positional[0].weight() * 5);
    const PromptText& format = arguments.positional[0].as_text();
    return changed_string(time_text(format.bytes, now), Value::string(format), budget);
}

}  // namespace

Value new_string(PromptText text, Budget& budget, bool is_markup) {
    budget.spend_bytes(text.size());
    return Value::string(std::move(text), is_markup);
}

Value changed_string(std::string text, const Value& from, Budget& budget) {
    return new_string(from.has_data() ? PromptText::of_data(std::move(text)) : PromptText(std::move(text)), budget,
                      from.is_markup());
}

Value binary(const std::string& op, const Value& a, const Value& b, Budget& budget) {
    if (a.is_number() && b.is_number()) {
        Value result = arithmetic(op, a, b);
        if (std::isnan(result.as_double())) no_real_number();
        return result;
    }
    if (op == "+" && a.is(Kind::kString) && b.is(Kind::kString)) {
        const bool is_markup = a.is_markup() || b.is_markup();
        PromptText text = is_markup ? escaped(a, budget) : a.as_text();
        text.append(is_markup ? escaped(b, budget) : b.as_text());
        return new_string(std::move(text), budget, is_markup);
    }
    const auto repeats = [](const Value& v) { return v.is(Row::kList) || v.is(Row::kTuple); };
    if (op == "+" && repeats(a) && repeats(b) && a.as_list().row == b.as_list().row) {
        std::vector<Value> items = a.as_list().items;
        items.insert(items.end(), b.as_list().items.begin(), b.as_list().items.end());
        budget.spend_steps(items.size());
        return Value::row(std::move(items), a.as_list().row);
    }
    if (op == "*") {
        if ((a.is(Kind::kString) || repeats(a)) && b.is_integer()) return repeat(a, b.as_int(), budget);
        if ((b.is(Kind::kString) || repeats(b)) && a.is_integer()) return repeat(b, a.as_int(), budget);
    }
    if (op == "%" && a.is(Kind::kString)) return format_percent(a, b, budget);
    for (const Value* side : {&a, &b}) {
        if (side->is(Kind::kUndefined))
            fail(side->has_name() ? messages::name_undefined(side->as_string())
                                  : Message(messages::undefined_value_used));
    }
    fail(messages::operator_between_types(op, type_name(a), type_name(b)));
}

void put(DictItems& items, Value key, Value value, Budget& budget) {
    if (!key.is(Kind::kString) && !key.is_number() && !key.is(Kind::kNone))
        fail_unsupported(messages::dict_key_of_type(type_name(key)));
    budget.spend_steps(items.size() / 8);
    budget.spend_bytes(key.weight());
    const auto same =
        std::find_if(items.begin(), items.end(), [&](const auto& item) { return equal(item.first, key, budget); });
    if (same == items.end()) {
        items.emplace_back(std::move(key), std::move(value));
    } else {
        same->second = std::move(value);
    }
}

Value rounded(const Value& number, std::int64_t digits) {
    constexpr std::int64_t kMostDigits = 323, kLeastDigits = -308;  // beyond: all of a double stays, or nothing
    const double real = number.as_double();
    if (number.is_integer() && digits >= 0) return Value::integer(number.as_int());
    if (!std::isfinite(real) || digits > kMostDigits) return number;
    char buffer[700];
    const auto text_of = [&](double size, std::int64_t n) {
        const auto fixed = std::chars_format::fixed;
        return std::string(buffer, std::to_chars(buffer, std::end(buffer), size, fixed, static_cast<int>(n)).ptr);
    };
    const bool is_negative = number.is_integer() ? number.as_int() < 0 : std::signbit(real);
    std::string text = is_negative ? "-" : "";
    const auto n = static_cast<std::size_t>(-std::clamp<std::int64_t>(digits, kLeastDigits - 1, 0));
    if (number.is_integer()) {
        const auto size = static_cast<std::uint64_t>(number.as_int());
        text += rounded_digits(std::to_string(is_negative ? 0 - size : size), n, false);
        std::int64_t result = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), result);
        if (read.ec != std::errc()) too_large();
        return Value::integer(result);
    }
    const double size = std::fabs(real);
    // Decimal digits of the whole value, half to even, as Python rounds.
    text += n == 0 ? text_of(size, digits) : rounded_digits(text_of(std::trunc(size), 0), n, size != std::trunc(size));
    double result = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), result);
    if (read.ec != std::errc()) too_large();
    return Value::real(result);
}

Arguments Evaluator::arguments_of(const Expr& e) {
    Arguments arguments;
    for (std::size_t i = 1; i < e.parts.size(); ++i) arguments.positional.push_back(evaluate(*e.parts[i]));
    for (const auto& [name, value] : e.named) arguments.named.emplace_back(name, evaluate(*value));
    return arguments;
}

Value Evaluator::evaluate_call(const Expr& e) {
    const Expr& callee = *e.parts[0];
    if (callee.kind == ExprKind::kAttribute) {
        const Value object = evaluate(*callee.parts[0]);
        return call_method(object, callee.name, arguments_of(e), budget_);
    }
    const Value function = evaluate(callee);
    if (callee.kind == ExprKind::kName && callee.name == "loop" && function.is(Kind::kNamespace))
        return call_loop(arguments_of(e));
    if (function.is(Kind::kFunction)) return call(*function.as_function(), arguments_of(e));
    if (callee.kind == ExprKind::kName && function.is(Kind::kUndefined))
        fail_unsupported(messages::the_function(callee.name));
    fail(messages::type_is_called(type_name(function)));
}

Value Evaluator::call(const Function& function, const Arguments& arguments) {
    if (function.macro != nullptr) return call_macro(function, arguments);
    if (function.name == "range") return make_range(arguments, budget_);
    if (function.name == "namespace") {
        namespaces_.push_back(make_namespace(arguments, budget_));
        return namespaces_.back();
    }
    if (function.name == "dict") return Value::dict(dict_items("dict", arguments, budget_));
    if (function.name == "strftime_now") return make_time(arguments, now_, budget_);
    if (function.name != "raise_exception") fail_unsupported(messages::the_function(std::string(function.name)));
    const Value* message = arguments.find(0, "message");
    throw Failure{ErrorKind::kInvalidInput, from_outside(message != nullptr ? to_text(*message).bytes : std::string()),
                  true};
}

Value Evaluator::call_macro(const Function& function, const Arguments& arguments) {
    const Stmt& macro = *function.macro;
    const std::size_t n_parameters = macro.parameters.size();
    if (arguments.positional.size() > n_parameters && !macro.uses_varargs)
        fail(messages::macro_takes_fewer(macro.name));
    std::vector<Value> more_values;  // varargs, kwargs
    DictItems more_names;
    for (std::size_t i = n_parameters; i < arguments.positional.size(); ++i)
        more_values.push_back(arguments.positional[i]);
    for (const auto& [name, value] : arguments.named) {
        bool known = name == "caller" && macro.uses_caller;
        for (std::size_t i = arguments.positional.size(); i < n_parameters; ++i)
            known = known || macro.parameters[i].name == name;
        if (!known && !macro.uses_kwargs) fail(messages::macro_takes_no_argument(macro.name, name));
        if (!known) put(more_names, Value::string(name), value, budget_);
    }
    const Level level(*this);
    const NewScope scope(*this, std::min(function.scope, scopes_.size() - 1));
    const std::size_t own = scopes_.size() - 1;
    for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
        const Parameter& parameter = macro.parameters[i];
        const Value* given = arguments.find(i, parameter.name);
        Value value = given != nullptr     ? *given
                      : parameter.fallback ? evaluate(*parameter.fallback)
                                           : Value::undefined(parameter.name);
        scopes_[own].values.insert_or_assign(parameter.name, std::move(value));
    }
    const auto set = [&](const char* name, Value value) {
        scopes_[own].values.insert_or_assign(name, std::move(value));
    };
    if (macro.uses_caller) {
        const Value* caller = arguments.find(arguments.positional.size(), "caller");
        set("caller", caller != nullptr ? *caller : Value::undefined("caller"));
    }
    if (macro.uses_varargs) set("varargs", Value::list(std::move(more_values), true));
    if (macro.uses_kwargs) set("kwargs", Value::dict(std::move(more_names)));
    PromptText text;
    execute(macro.body, text);
    return new_string(std::move(text), budget_);
}

}  // namespace offstage::engine::jinja
