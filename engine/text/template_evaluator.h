#pragma once

#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/message.h"
#include "engine/text/template_ast.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {

// A callable: a macro, or a name that Offstage provides. `macro` points into the
// template's tree.
struct Function {
    std::string_view name;
    const Stmt* macro = nullptr;
    std::size_t scope = 0;  // the scope of a macro's definition: it sees this scope and those around it
};

struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;

    // The positional argument `index` or the one named `name`; nullptr if neither is
    // given.
    const Value* find(std::size_t index, std::string_view name) const;
    // Fails for more positional arguments than `max`, or a name that is not in `names`.
    void check(const MessageArgument& callee, std::size_t max, std::initializer_list<std::string_view> names) const;
};

// The limits of one rendering, and what in it depends on an order.
class Budget {
  public:
    void step() { spend_steps(1); }
    void spend_steps(std::uint64_t n);
    void spend_bytes(std::uint64_t n);  // text made or searched, whether it is kept or not

    // How often an attribute of a namespace was read and set.
    std::uint64_t reads = 0;
    std::uint64_t changes = 0;
    // Whether Jinja computes this later, when its result is asked for.
    bool is_lazy = false;

  private:
    std::uint64_t steps_ = 0;
    std::uint64_t bytes_ = 0;
};

// Filters, tests and methods of strings and dicts. All throw Failure.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);
Value call_method(const Value& object, const std::string& name, const Arguments& arguments, Budget& budget);
// Looks up object.name and object["name"] like Jinja; undefined if there is no such name.
// What Python's types have besides, such as methods, is refused as a value.
Value attribute_of(const Value& object, std::string_view name, Budget& budget);
Value item_of(const Value& object, const Value& key, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);
// The items of {% for %}: items, keys or characters; nothing for undefined. An iterator
// has given all of them then.
std::vector<Value> items_of(const Value& value, Budget& budget);
// What an iterator has still to give. Fails if it gave a part, or if its items would be
// others now.
const std::vector<Value>& left_in(const List& iterator, const Budget& budget);
Value new_string(PromptText text, Budget& budget, bool is_markup = false);
Value binary(const std::string& op, const Value& a, const Value& b, Budget& budget);  // a op b
// Text that was made from `from`: data where any of that is, marked up as that is.
Value changed_string(std::string text, const Value& from, Budget& budget);
// A number with so many digits after the point, or before it (below 0), as Python's
// round().
Value rounded(const Value& number, std::int64_t digits);
using DictItems = std::vector<std::pair<Value, Value>>;
void put(DictItems& items, Value key, Value value, Budget& budget);  // replaces the value of an equal key

// Walks a template once. Not reusable.
class Evaluator {
  public:
    // `now`: the time for strftime_now().
    Evaluator(const std::string& source, const std::tm& now);
    ~Evaluator();
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    // Throws Error as ChatTemplate::render does.
    PromptText run(const Block& block, std::vector<std::pair<std::string, Value>> variables);

  private:
    static constexpr int kMaxDepth = 256;

    enum class Flow { kNext, kBreak, kContinue };

    struct Scope {
        std::map<std::string, Value, std::less<>> values;
        std::size_t parent = 0;      // index of the scope around it; the outermost is its own
        const Stmt* loop = nullptr;  // of a recursive one: the target of `loop`
        int loop_depth = 0;
    };

    // One level of recursion, and one scope of names, while it exists.
    class Level {
      public:
        explicit Level(Evaluator& evaluator) : evaluator_(evaluator) {
            if (evaluator_.depth_ >= kMaxDepth) fail(messages::template_too_deep);
            ++evaluator_.depth_;
        }
        ~Level() { --evaluator_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        Evaluator& evaluator_;
    };

    class NewScope {
      public:
        NewScope(Evaluator& evaluator, std::size_t parent) : evaluator_(evaluator) {
            evaluator_.scopes_.push_back({{}, parent});
        }
        ~NewScope() { evaluator_.scopes_.pop_back(); }
        NewScope(const NewScope&) = delete;
        NewScope& operator=(const NewScope&) = delete;

      private:
        Evaluator& evaluator_;
    };

    Flow execute(const Block& block, PromptText& out);
    Flow execute(const Stmt& stmt, PromptText& out);
    Flow execute_inside(const Block& block, PromptText& out);  // with names of its own
    Flow execute_for(const Stmt& stmt, const Value& over, int depth, PromptText& out);
    Flow execute_item(const Stmt& stmt, const std::vector<Value>& items, std::size_t at, int depth, PromptText& out);
    bool is_kept(const Stmt& stmt, Value& item);
    void execute_call_block(const Stmt& stmt, PromptText& out);
    Value filtered(const Expr& filters, PromptText text);
    Value call_loop(const Arguments& arguments);
    void execute_print(const Stmt& stmt, PromptText& out);
    void define_macro(const Stmt& stmt);
    void emit(PromptText& out, const PromptText& text);
    void assign(const Target& target, const Value& value);
    Value assigned(const Target& target) const;  // the value that it has now

    Value evaluate(const Expr& e);
    Value evaluate_node(const Expr& e);
    Value evaluate_slice(const Expr& e);
    Value evaluate_compare(const Expr& e);
    Value evaluate_call(const Expr& e);
    Value evaluate_dict(const Expr& e);
    Value call(const Function& function, const Arguments& arguments);
    Value call_macro(const Function& function, const Arguments& arguments);
    Arguments arguments_of(const Expr& e);
    Value look_up(const std::string& name) const;

    const std::string& source_;
    const std::tm now_;
    Budget budget_;
    std::vector<Scope> scopes_;
    std::vector<std::unique_ptr<Function>> macros_;
    std::vector<Value> namespaces_;
    int depth_ = 0;
    int line_ = 1;
};

}  // namespace offstage::engine::jinja
