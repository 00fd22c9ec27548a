#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/text/prompt_text.h"
#include "engine/text/utf8.h"

namespace offstage::engine::jinja {

class Budget;
class Value;
struct Function;

// The values of templates: plain data, as in Python. Strings and containers are shared
// and never change once made (except a namespace's attributes), so copying a value is
// cheap.
struct Extent {
    int depth = 0;             // containers inside one another
    std::uint64_t weight = 1;  // values and bytes of text, counted as often as they would be printed
    bool has_data = false;     // in any text inside
};

// Python's types of values in a row. An iterator stands for its generators and iterators:
// always true, without length or index, and its items come once.
enum class Row { kList, kTuple, kRange, kKeys, kValues, kItems, kIterator };

struct List {
    std::vector<Value> items;
    Extent extent;
    Row row = Row::kList;
    std::int64_t range[3] = {};  // kRange: begin, end, step
    // kIterator: what it gave already; one that gave a part, in an order that only Jinja
    // knows, is refused.
    enum class Given { kNothing, kPart, kAll };
    mutable Given given = Given::kNothing;
    // kIterator: the changes of namespaces (Budget::changes) up to which its items hold.
    std::optional<std::uint64_t> changes = {};
};

struct Dict {
    std::vector<std::pair<Value, Value>> items;  // in the order of insertion
    Extent extent;
    bool is_loop = false;  // a namespace that {% for %} made, which never changes
};

enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kString, kList, kDict, kNamespace, kFunction };

class Value {
  public:
    Value() = default;  // undefined
    static Value undefined(std::string_view name);
    static Value none();
    static Value boolean(bool b);
    static Value integer(std::int64_t i);
    static Value real(double d);
    static Value string(PromptText text, bool is_markup = false);
    static Value list(std::vector<Value> items, bool is_tuple = false);  // throws Failure when too deep or too heavy
    static Value row(std::vector<Value> items, Row row);
    static Value range(std::vector<Value> items, std::int64_t begin, std::int64_t end, std::int64_t step);
    static Value iterator(std::vector<Value> items, std::optional<std::uint64_t> changes = {});
    static Value dict(std::vector<std::pair<Value, Value>> items);  // the same; keys must differ
    // Its maker calls clear_attributes() in the end: namespaces may hold one another.
    static Value name_space(std::vector<std::pair<Value, Value>> items);
    static Value loop(std::vector<std::pair<Value, Value>> items);  // a kNamespace that is in no other value
    static Value function(const Function* f);

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is(Row row) const { return kind_ == Kind::kList && list_->row == row; }
    bool has_index() const { return is(Row::kList) || is(Row::kTuple) || is(Row::kRange); }
    bool is_hashable() const;  // as Python's hash(): may be a key
    bool is_number() const { return kind_ == Kind::kBool || kind_ == Kind::kInt || kind_ == Kind::kFloat; }
    bool is_integer() const { return kind_ == Kind::kBool || kind_ == Kind::kInt; }

    std::int64_t as_int() const { return integer_; }  // kBool, kInt
    double as_double() const { return kind_ == Kind::kFloat ? real_ : static_cast<double>(integer_); }
    const std::string& as_string() const { return string_->bytes; }  // kString; kUndefined: its name, if it has one
    const PromptText& as_text() const { return *string_; }           // kString
    // kString: marked up, as Jinja's Markup, which escapes whatever is added to it.
    bool is_markup() const { return is_markup_; }
    const List& as_list() const { return *list_; }
    const Dict& as_dict() const { return *dict_; }  // kDict, kNamespace
    const Function* as_function() const { return function_; }

    // The largest cost of printing, comparing or searching this value.
    std::uint64_t weight() const;
    bool has_data() const;  // in the printed text
    bool has_name() const { return string_ != nullptr; }
    bool truthy() const;
    // nullptr when there is none.
    const Value* find(std::string_view key) const;  // kDict, kNamespace
    const Value* find(const Value& key, Budget& budget) const;
    void set_attribute(const std::string& key, Value value) const;  // kNamespace; refuses functions
    void clear_attributes() const { dict_->items.clear(); }         // kNamespace

  private:
    Kind kind_ = Kind::kUndefined;
    bool is_markup_ = false;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::shared_ptr<const PromptText> string_;
    std::shared_ptr<const List> list_;
    std::shared_ptr<Dict> dict_;
    const Function* function_ = nullptr;
};

// A failure inside an expression; the evaluator adds the template's name and the line.
struct Failure {
    ErrorKind kind = ErrorKind::kInvalidInput;
    Message what;
    bool from_template = false;  // raise_exception: `what` is the template's own
};
[[noreturn]] void fail(Message what);
[[noreturn]] void fail_unsupported(Message what);

bool equal(const Value& a, const Value& b, Budget& budget);  // as Python's ==
// Below, at or above zero; fails for kinds that have no order.
int compare(const Value& a, const Value& b, Budget& budget);

std::string_view name_of(Row row);           // Python's name of the type
std::string_view type_name(const Value& v);  // the same
// str(): the output of {{ }}. If a list or a dict has data, all of its text is data.
PromptText to_text(const Value& v);
std::string to_repr(const Value& v);  // repr()
// Options of Python's json.dumps().
struct JsonStyle {
    int indent = -1;  // below 0: on one line
    std::string between_items = ", ";
    std::string after_key = ": ";
    bool ascii = false;  // other characters as \uXXXX
};
PromptText to_json(const Value& v, const JsonStyle& style = {});  // all of it data where the value has data

// UTF-8 helpers; strings are valid UTF-8 throughout.
std::size_t count_characters(std::string_view text);
std::size_t byte_of_character(std::string_view text, std::size_t index);  // text.size() when past the end
std::string_view strip_left(std::string_view text);
std::string_view strip_right(std::string_view text);

}  // namespace offstage::engine::jinja
