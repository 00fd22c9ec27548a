#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/template_value.h"

namespace offstage::engine::jinja {

enum class ExprKind {
    kLiteral,    // value
    kName,       // name
    kList,       // parts
    kTuple,      // parts
    kDict,       // parts: key, value, key, value ...
    kAttribute,  // parts[0] . name
    kSubscript,  // parts[0] [ parts[1] ]
    kSlice,      // parts[0] [ parts[1] : parts[2] : parts[3] ]; an absent bound is nullptr
    kCall,       // parts[0] ( parts[1]... ), named arguments in `named`
    kFilter,     // parts[0] | name ( parts[1]... )
    kTest,       // parts[0] is name ( parts[1]... )
    kNot,        // parts[0]
    kAnd,        // parts[0], parts[1]
    kOr,         // parts[0], parts[1]
    kCompare,    // parts[0] op[0] parts[1] op[1] parts[2] ...; operators in `operators`
    kBinary,     // parts[0] name parts[1]
    kConcat,     // parts joined as text (~)
    kNegate,     // - parts[0]
    kPlus,       // + parts[0]
    kChoice,     // parts[0] if parts[1] else parts[2]; parts[2] may be nullptr
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
    ExprKind kind = ExprKind::kLiteral;
    int line = 1;
    int depth = 1;  // of this tree; limited, so that walking and freeing it cannot overflow the stack
    Value value;
    std::string name;
    std::vector<ExprPtr> parts;
    std::vector<std::pair<std::string, ExprPtr>> named;
    std::vector<std::string> operators;
};

enum class StmtKind {
    kText,       // name: the text
    kPrint,      // value
    kIf,         // branches; body of the else in `otherwise`
    kFor,        // target in value, filter; body, otherwise; is_recursive: `loop` may be called
    kSet,        // target = value
    kSetBlock,   // target = body as text; value: filters of it, or nullptr
    kFilter,     // body as text, through the filters of value
    kCallBlock,  // value, a call of a macro, which may call `caller`: parameters; body
    kMacro,      // name, parameters; body
    kGroup,      // body
    kWith,       // body, with names of its own: those that the kSet in `otherwise` assign
    kBreak,
    kContinue,
};

struct Stmt;
using Block = std::vector<std::unique_ptr<Stmt>>;

struct Branch {
    ExprPtr condition;
    Block body;
};

// The target of {% set %} and {% for %}: a name, or one attribute of a namespace, or
// (without a name) several targets for the parts of the value.
struct Target {
    std::string name;
    std::string attribute;
    std::vector<Target> parts;
};

struct Parameter {
    std::string name;
    ExprPtr fallback;  // nullptr: undefined when not given
};

// By what name the filters of a block find its text.
inline constexpr std::string_view kBlockText = "";

struct Stmt {
    StmtKind kind = StmtKind::kText;
    int line = 1;
    bool is_recursive = false;
    bool uses_loop = false;    // kFor: its body reads `loop`
    bool uses_caller = false;  // kMacro, kCallBlock: what its body reads besides its parameters
    bool uses_varargs = false;
    bool uses_kwargs = false;
    std::string name;
    ExprPtr value;
    ExprPtr filter;
    Target target;
    std::vector<Branch> branches;
    std::vector<Parameter> parameters;
    Block body;
    Block otherwise;
};

}  // namespace offstage::engine::jinja
