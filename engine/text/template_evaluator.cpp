#include "engine/text/template_evaluator.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>

#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

constexpr std::uint64_t kMaxSteps = 2'000'000;
constexpr std::uint64_t kMaxBytes = 256u << 20;
constexpr std::size_t kMaxOutputBytes = 16u << 20;
constexpr std::size_t kMaxMacros = 10'000;

// The last three are Jinja's, and refused where they are called.
constexpr std::array<Function, 8> kFunctions = {Function{"raise_exception"}, Function{"namespace"}, Function{"range"},
                                                Function{"strftime_now"},    Function{"dict"},      Function{"lipsum"},
                                                Function{"cycler"},          Function{"joiner"}};

}  // namespace

// ---------------------------------------------------------------- bounds

void Budget::spend_steps(std::uint64_t n) {
    steps_ += n;
    if (steps_ > kMaxSteps) fail(messages::template_too_many_steps(kMaxSteps));
}

void Budget::spend_bytes(std::uint64_t n) {
    bytes_ += n;
    if (bytes_ > kMaxBytes) fail(messages::template_too_much_text(kMaxBytes >> 20));
}

const Value* Arguments::find(std::size_t index, std::string_view name) const {
    if (index < positional.size()) return &positional[index];
    for (const auto& [key, value] : named) {
        if (key == name) return &value;
    }
    return nullptr;
}

void Arguments::check(const MessageArgument& callee, std::size_t max,
                      std::initializer_list<std::string_view> names) const {
    if (positional.size() > max) fail_unsupported(messages::call_with_arguments(callee, positional.size()));
    for (const auto& [key, value] : named) {
        if (std::find(names.begin(), names.end(), key) == names.end()) {
            fail_unsupported(messages::call_with_argument(callee, key));
        }
    }
}

// ---------------------------------------------------------------- statements

Evaluator::Evaluator(const std::string& source, const std::tm& now) : source_(source), now_(now) {
    scopes_.push_back({});
}

// Namespaces that hold one another would never be freed.
Evaluator::~Evaluator() {
    for (const Value& one : namespaces_) one.clear_attributes();
}

PromptText Evaluator::run(const Block& block, std::vector<std::pair<std::string, Value>> variables) {
    for (auto& variable : variables) {
        scopes_.front().values.insert_or_assign(variable.first, std::move(variable.second));
    }
    try {
        PromptText out;
        execute(block, out);
        return out;
    } catch (const Failure& failure) {
        if (failure.from_template) {
            throw Error(ErrorKind::kInvalidInput, failure.what, source_ + ", line " + std::to_string(line_));
        }
        const bool unsupported = failure.kind == ErrorKind::kUnsupported;
        throw Error(failure.kind, unsupported ? messages::template_uses(source_, line_, failure.what)
                                              : messages::template_failed(source_, line_, failure.what));
    } catch (const std::bad_alloc&) {
        throw Error(ErrorKind::kOutOfMemory, messages::template_no_memory(source_, line_));
    }
}

void Evaluator::emit(PromptText& out, const PromptText& text) {
    if (text.size() > kMaxOutputBytes - out.size()) fail(messages::template_output_too_long(kMaxOutputBytes >> 20));
    budget_.spend_bytes(text.size());
    out.append(text);
}

Evaluator::Flow Evaluator::execute(const Block& block, PromptText& out) {
    const Level level(*this);
    for (const auto& stmt : block) {
        budget_.step();
        const Flow flow = execute(*stmt, out);
        if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
}

Evaluator::Flow Evaluator::execute(const Stmt& stmt, PromptText& out) {
    line_ = stmt.line;
    switch (stmt.kind) {
        case StmtKind::kText:
            emit(out, stmt.name);
            break;
        case StmtKind::kPrint:
            execute_print(stmt, out);
            break;
        case StmtKind::kIf:
            for (const Branch& branch : stmt.branches) {
                if (evaluate(*branch.condition).truthy()) return execute(branch.body, out);
            }
            return execute(stmt.otherwise, out);
        case StmtKind::kFor:
            return execute_for(stmt, evaluate(*stmt.value), 0, out);
        case StmtKind::kSet:
            assign(stmt.target, evaluate(*stmt.value));
            break;
        case StmtKind::kSetBlock: {
            PromptText text;
            const Flow flow = execute_inside(stmt.body, text);
            if (flow != Flow::kNext) return flow;
            assign(stmt.target,
                   stmt.value ? filtered(*stmt.value, std::move(text)) : new_string(std::move(text), budget_));
            break;
        }
        case StmtKind::kFilter: {
            PromptText text;
            const Flow flow = execute_inside(stmt.body, text);
            if (flow != Flow::kNext) return flow;
            const Value made = filtered(*stmt.value, std::move(text));
            if (!made.is(Kind::kString)) fail(messages::takes_a_text("filter", type_name(made)));
            emit(out, made.as_text());
            break;
        }
        case StmtKind::kCallBlock:
            execute_call_block(stmt, out);
            break;
        case StmtKind::kMacro:
            define_macro(stmt);
            break;
        case StmtKind::kGroup:
            return execute(stmt.body, out);
        case StmtKind::kWith: {
            // A value can use the names around the block, not those that the block
            // defines.
            std::vector<Value> values;
            for (const auto& set : stmt.otherwise) values.push_back(evaluate(*set->value));
            const NewScope scope(*this, scopes_.size() - 1);
            for (std::size_t i = 0; i < values.size(); ++i) assign(stmt.otherwise[i]->target, values[i]);
            return execute(stmt.body, out);
        }
        case StmtKind::kBreak:
            return Flow::kBreak;
        case StmtKind::kContinue:
            return Flow::kContinue;
    }
    return Flow::kNext;
}

Evaluator::Flow Evaluator::execute_inside(const Block& block, PromptText& out) {
    const NewScope scope(*this, scopes_.size() - 1);
    return execute(block, out);
}

void Evaluator::execute_print(const Stmt& stmt, PromptText& out) {
    const Value value = evaluate(*stmt.value);
    if (value.is(Kind::kString)) return emit(out, value.as_text());
    budget_.spend_bytes(value.weight());
    emit(out, to_text(value));
}

Value Evaluator::filtered(const Expr& filters, PromptText text) {
    const NewScope scope(*this, scopes_.size() - 1);
    scopes_.back().values.insert_or_assign(std::string(kBlockText), new_string(std::move(text), budget_));
    return evaluate(filters);
}

void Evaluator::execute_call_block(const Stmt& stmt, PromptText& out) {
    const Function caller{"caller", &stmt, scopes_.size() - 1};  // no value of the macro's outlives the call
    const Value macro = evaluate(*stmt.value->parts[0]);
    if (!macro.is(Kind::kFunction) || macro.as_function()->macro == nullptr)
        fail_unsupported(messages::type_is_called(type_name(macro)));
    Arguments arguments = arguments_of(*stmt.value);
    arguments.named.emplace_back("caller", Value::function(&caller));
    emit(out, call_macro(*macro.as_function(), arguments).as_text());
}

// Like an iterator's items, an item is looked at by the loop's filter when its turn comes,
// but where the body reads `loop`: it knows its length.
Evaluator::Flow Evaluator::execute_for(const Stmt& stmt, const Value& over, int depth, PromptText& out) {
    std::vector<Value> items = items_of(over, budget_);
    const List* iterator = over.is(Row::kIterator) && !items.empty() ? &over.as_list() : nullptr;
    if (iterator != nullptr) iterator->given = List::Given::kPart;
    const std::uint64_t n_reads = budget_.reads, n_changes = budget_.changes;
    const bool filters_first = stmt.filter && stmt.uses_loop;
    if (filters_first) {
        std::vector<Value> kept;
        for (Value& item : items) {
            if (is_kept(stmt, item)) kept.push_back(std::move(item));
        }
        items = std::move(kept);
    }
    const bool depends = (iterator != nullptr && iterator->changes) || budget_.reads != n_reads;
    bool is_first = true, completed = false;
    for (std::size_t at = 0; at < items.size(); ++at) {
        // By the body, or by the filter, whose changes the body would see too early.
        if ((depends || (filters_first && is_first)) && budget_.changes != n_changes)
            fail_unsupported(messages::loop_of_changed_namespace);
        if (stmt.filter && !filters_first && !is_kept(stmt, items[at])) continue;
        is_first = false;
        const Flow flow = execute_item(stmt, items, at, depth, out);
        completed = completed || flow == Flow::kNext;
        if (flow != Flow::kBreak) continue;
        return completed ? Flow::kNext : execute_inside(stmt.otherwise, out);
    }
    if (iterator != nullptr) iterator->given = List::Given::kAll;
    // As Jinja does it: also where no turn came to the end of the body.
    return completed ? Flow::kNext : execute_inside(stmt.otherwise, out);
}

// An item that is taken apart is put together again, as a tuple.
bool Evaluator::is_kept(const Stmt& stmt, Value& item) {
    const NewScope scope(*this, scopes_.size() - 1);
    budget_.step();
    assign(stmt.target, item);
    if (stmt.target.name.empty()) item = assigned(stmt.target);
    return evaluate(*stmt.filter).truthy();
}

Evaluator::Flow Evaluator::execute_item(const Stmt& stmt, const std::vector<Value>& items, std::size_t at, int depth,
                                        PromptText& out) {
    const NewScope scope(*this, scopes_.size() - 1);
    budget_.spend_steps(4);
    if (stmt.uses_loop) {
        const auto i = static_cast<std::int64_t>(at), n = static_cast<std::int64_t>(items.size());
        std::vector<std::pair<Value, Value>> loop;
        loop.reserve(11);
        const auto set = [&](const char* name, Value value) {
            loop.emplace_back(Value::string(name), std::move(value));
        };
        set("index", Value::integer(i + 1));
        set("index0", Value::integer(i));
        set("revindex", Value::integer(n - i));
        set("revindex0", Value::integer(n - i - 1));
        set("first", Value::boolean(i == 0));
        set("last", Value::boolean(i + 1 == n));
        set("length", Value::integer(n));
        set("depth", Value::integer(depth + 1));
        set("depth0", Value::integer(depth));
        set("previtem", at > 0 ? items[at - 1] : Value::undefined("loop.previtem"));
        set("nextitem", at + 1 < items.size() ? items[at + 1] : Value::undefined("loop.nextitem"));
        scopes_.back().values.insert_or_assign("loop", Value::loop(std::move(loop)));
    }
    if (stmt.is_recursive) {
        scopes_.back().loop = &stmt;
        scopes_.back().loop_depth = depth;
    }
    assign(stmt.target, items[at]);
    return execute(stmt.body, out);
}

// loop(items): runs the same loop again and returns its text.
Value Evaluator::call_loop(const Arguments& arguments) {
    arguments.check("loop", 1, {});
    if (arguments.positional.empty()) fail(messages::call_without_argument("loop"));
    std::size_t at = scopes_.size() - 1;
    while (!scopes_[at].values.contains("loop") && at > 0) at = scopes_[at].parent;
    const Stmt* const again = scopes_[at].loop;
    if (again == nullptr) fail(messages::type_is_called("loop"));
    const int depth = scopes_[at].loop_depth + 1;
    const Level level(*this);
    const NewScope scope(*this, scopes_[at].parent);
    PromptText text;
    execute_for(*again, arguments.positional[0], depth, text);
    return new_string(std::move(text), budget_);
}

void Evaluator::define_macro(const Stmt& stmt) {
    if (macros_.size() >= kMaxMacros) fail(messages::template_too_many_macros(kMaxMacros));
    macros_.push_back(std::make_unique<Function>(Function{stmt.name, &stmt, scopes_.size() - 1}));
    scopes_.back().values.insert_or_assign(stmt.name, Value::function(macros_.back().get()));
}

Value Evaluator::assigned(const Target& target) const {
    if (!target.name.empty()) return look_up(target.name);
    std::vector<Value> parts;
    for (const Target& part : target.parts) parts.push_back(assigned(part));
    return Value::list(std::move(parts), true);
}

void Evaluator::assign(const Target& target, const Value& value) {
    if (target.name.empty()) {
        const std::vector<Value> parts = items_of(value, budget_);
        if (parts.size() != target.parts.size()) {
            fail(messages::values_for_names(parts.size(), target.parts.size()));
        }
        for (std::size_t i = 0; i < parts.size(); ++i) assign(target.parts[i], parts[i]);
        return;
    }
    if (target.attribute.empty()) {
        scopes_.back().values.insert_or_assign(target.name, value);
        return;
    }
    const Value object = look_up(target.name);
    if (!object.is(Kind::kNamespace) || target.name == "loop") fail(messages::no_namespace_to_set(target.name));
    budget_.spend_steps(1 + object.as_dict().items.size() / 8);
    ++budget_.changes;
    object.set_attribute(target.attribute, value);
}

// ---------------------------------------------------------------- expressions

Value Evaluator::look_up(const std::string& name) const {
    for (std::size_t at = scopes_.size() - 1;; at = scopes_[at].parent) {
        const auto it = scopes_[at].values.find(name);
        if (it != scopes_[at].values.end()) return it->second;
        if (at == 0) break;
    }
    for (const Function& function : kFunctions) {
        if (function.name == name) return Value::function(&function);
    }
    if (name == "self") fail_unsupported(messages::the_name(name));  // Jinja's, of the whole template
    return Value::undefined(name);
}

Value Evaluator::evaluate(const Expr& e) {
    const Level level(*this);
    budget_.step();
    const int outer_line = std::exchange(line_, e.line);
    Value value = evaluate_node(e);
    line_ = outer_line;  // a failure leaves the line where it happened
    return value;
}

Value Evaluator::evaluate_node(const Expr& e) {
    switch (e.kind) {
        case ExprKind::kLiteral:
            return e.value;
        case ExprKind::kName:
            return look_up(e.name);
        case ExprKind::kList:
        case ExprKind::kTuple: {
            std::vector<Value> items;
            items.reserve(e.parts.size());
            for (const ExprPtr& part : e.parts) items.push_back(evaluate(*part));
            return Value::list(std::move(items), e.kind == ExprKind::kTuple);
        }
        case ExprKind::kDict:
            return evaluate_dict(e);
        case ExprKind::kAttribute: {
            const Value object = evaluate(*e.parts[0]);
            return attribute_of(object, e.name, budget_);
        }
        case ExprKind::kSubscript: {
            const Value object = evaluate(*e.parts[0]);
            return item_of(object, evaluate(*e.parts[1]), budget_);
        }
        case ExprKind::kSlice:
            return evaluate_slice(e);
        case ExprKind::kCall:
            return evaluate_call(e);
        case ExprKind::kFilter: {
            const Value value = evaluate(*e.parts[0]);
            return apply_filter(e.name, value, arguments_of(e), budget_);
        }
        case ExprKind::kTest: {
            const Value value = evaluate(*e.parts[0]);
            return Value::boolean(apply_test(e.name, value, arguments_of(e), budget_));
        }
        case ExprKind::kNot:
            return Value::boolean(!evaluate(*e.parts[0]).truthy());
        case ExprKind::kAnd: {
            Value left = evaluate(*e.parts[0]);
            return left.truthy() ? evaluate(*e.parts[1]) : left;
        }
        case ExprKind::kOr: {
            Value left = evaluate(*e.parts[0]);
            return left.truthy() ? left : evaluate(*e.parts[1]);
        }
        case ExprKind::kCompare:
            return evaluate_compare(e);
        case ExprKind::kBinary: {
            const Value left = evaluate(*e.parts[0]);
            return binary(e.name, left, evaluate(*e.parts[1]), budget_);
        }
        case ExprKind::kConcat: {
            PromptText text;
            for (const ExprPtr& part : e.parts) {
                const Value value = evaluate(*part);
                budget_.spend_bytes(value.weight());
                text.append(to_text(value));
            }
            return new_string(std::move(text), budget_);
        }
        case ExprKind::kNegate:
        case ExprKind::kPlus: {
            const Value value = evaluate(*e.parts[0]);
            if (!value.is_number()) fail(messages::sign_before_type(type_name(value)));
            const bool negate = e.kind == ExprKind::kNegate;
            if (!value.is_integer()) return Value::real(negate ? -value.as_double() : value.as_double());
            return binary(negate ? "-" : "+", Value::integer(0), value, budget_);
        }
        case ExprKind::kChoice:
            if (evaluate(*e.parts[1]).truthy()) return evaluate(*e.parts[0]);
            return e.parts[2] ? evaluate(*e.parts[2]) : Value();
    }
    return {};
}

Value Evaluator::evaluate_dict(const Expr& e) {
    DictItems items;
    for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) {
        Value key = evaluate(*e.parts[i]);
        put(items, std::move(key), evaluate(*e.parts[i + 1]), budget_);
    }
    return Value::dict(std::move(items));
}

Value Evaluator::evaluate_slice(const Expr& e) {
    const Value object = evaluate(*e.parts[0]);
    std::optional<std::int64_t> bounds[3];
    for (std::size_t i = 0; i < 3; ++i) {
        if (!e.parts[i + 1]) continue;
        const Value bound = evaluate(*e.parts[i + 1]);
        if (bound.is(Kind::kNone)) continue;
        if (!bound.is_integer()) fail(messages::slice_bound_of_type(type_name(bound)));
        bounds[i] = bound.as_int();
    }
    if (!object.has_index() && !object.is(Kind::kString)) fail(messages::slice_of_type(type_name(object)));
    const bool is_text = object.is(Kind::kString);
    if (is_text) budget_.spend_bytes(object.weight());
    const auto n =
        static_cast<std::int64_t>(is_text ? count_characters(object.as_string()) : object.as_list().items.size());
    const std::int64_t step = bounds[2].value_or(1);
    if (step == 0) fail(messages::slice_step_of_zero);
    // Python's rule: a bound from the end, then held inside [low, high].
    const auto place = [&](std::optional<std::int64_t> bound, std::int64_t otherwise) {
        if (!bound) return otherwise;
        const std::int64_t low = step > 0 ? 0 : -1;
        const std::int64_t high = step > 0 ? n : n - 1;
        const std::int64_t at = *bound < 0 ? std::max(*bound, -n - 1) + n : *bound;
        return std::clamp(at, low, high);
    };
    const std::int64_t begin = place(bounds[0], step > 0 ? 0 : n - 1);
    const std::int64_t end = place(bounds[1], step > 0 ? n : -1);
    const std::int64_t stride = std::clamp<std::int64_t>(step, -n - 1, n + 1);
    if (is_text && step == 1) {
        const std::string_view text = object.as_string();
        const std::size_t from = byte_of_character(text, static_cast<std::size_t>(begin));
        const std::size_t n_kept = end > begin ? static_cast<std::size_t>(end - begin) : 0;
        return new_string(object.as_text().part(from, byte_of_character(text.substr(from), n_kept)), budget_,
                          object.is_markup());
    }
    const std::vector<Value> items = items_of(object, budget_);
    std::vector<Value> kept;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += stride)
        kept.push_back(items[static_cast<std::size_t>(i)]);
    if (object.is(Row::kRange)) {
        const std::int64_t first = object.as_list().range[0], by = object.as_list().range[2];
        const auto at = [](std::int64_t zero, std::int64_t count, std::int64_t size) {
            std::int64_t result = 0;
            if (__builtin_mul_overflow(count, size, &result) || __builtin_add_overflow(zero, result, &result))
                fail(messages::number_too_large);
            return result;
        };
        return Value::range(std::move(kept), at(first, begin, by), at(first, end, by), at(0, by, step));
    }
    if (object.is(Kind::kList)) return Value::row(std::move(kept), object.as_list().row);
    PromptText text;
    for (const Value& character : kept) text.append(character.as_text());
    return new_string(std::move(text), budget_, object.is_markup());
}

Value Evaluator::evaluate_compare(const Expr& e) {
    Value left = evaluate(*e.parts[0]);
    for (std::size_t i = 0; i < e.operators.size(); ++i) {
        Value right = evaluate(*e.parts[i + 1]);
        const std::string& op = e.operators[i];
        bool holds = false;
        if (op == "in" || op == "not in") {
            holds = contains(right, left, budget_) == (op == "in");
        } else {
            budget_.spend_bytes(std::min(left.weight(), right.weight()));
            if (op == "==" || op == "!=") {
                holds = equal(left, right, budget_) == (op == "==");
            } else {
                const int order = compare(left, right, budget_);
                holds = op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
            }
        }
        if (!holds) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

}  // namespace offstage::engine::jinja
