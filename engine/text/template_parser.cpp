#include "engine/text/template_parser.h"

#include <algorithm>
#include <initializer_list>

#include "engine/text/expression_parser.h"
#include "engine/text/template_survey.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

constexpr std::size_t kMaxTemplateBytes = 256u << 10;

class TemplateParser : private ExpressionParser {
  public:
    using ExpressionParser::ExpressionParser;

    Block run() {
        Block block = parse_block({});
        if (peek().kind != TokenKind::kEnd) refuse(messages::where_it_does_not_belong(found()));
        return block;
    }

  private:
    // Parses up to a tag whose name is in `ends` (left unread after its {%), or to the
    // end of the template if there are none.
    Block parse_block(std::initializer_list<std::string_view> ends) {
        const Level level(*this);
        Block block;
        while (true) {
            const Token& token = peek();
            if (token.kind == TokenKind::kData) {
                auto text = make(StmtKind::kText);
                text->name = take().text;
                block.push_back(std::move(text));
            } else if (token.kind == TokenKind::kVariableBegin) {
                auto print = make(StmtKind::kPrint);
                take();
                print->value = expression_or_tuple();
                expect(TokenKind::kVariableEnd, "'}}'");
                block.push_back(std::move(print));
            } else if (token.kind == TokenKind::kBlockBegin) {
                const Token& name = peek(1);
                if (name.kind == TokenKind::kName && std::find(ends.begin(), ends.end(), name.text) != ends.end()) {
                    take();
                    return block;
                }
                block.push_back(parse_tag());
            } else {
                if (ends.size() > 0) refuse(messages::no_such_tag(*(ends.end() - 1)));
                return block;
            }
        }
    }

    std::unique_ptr<Stmt> parse_tag() {
        take();  // {%
        const Token name = peek();
        if (name.kind != TokenKind::kName) refuse(messages::where_a_tag_expected(found()));
        if (name.text == "if") return parse_if();
        if (name.text == "for") return parse_for();
        if (name.text == "set") return parse_set();
        if (name.text == "macro") return parse_macro();
        if (name.text == "filter") return parse_filter_block();
        if (name.text == "call") return parse_call_block();
        if (name.text == "with") return parse_with();
        if (name.text == "break" || name.text == "continue") return parse_jump();
        if (name.text == "generation") return parse_group();
        for (const std::string_view known :
             {"raw", "include", "import", "from", "extends", "block", "autoescape", "do", "trans", "debug"}) {
            if (name.text == known) refuse_kind(messages::the_tag(name.text));
        }
        if (name.text.starts_with("end") || name.text == "else" || name.text == "elif") {
            refuse(messages::where_it_does_not_belong("'" + name.text + "'"));
        }
        refuse_kind(messages::the_tag(name.text));
    }

    std::unique_ptr<Stmt> make(StmtKind kind) const {
        auto stmt = std::make_unique<Stmt>();
        stmt->kind = kind;
        stmt->line = line();
        return stmt;
    }

    void end_of_tag() { expect(TokenKind::kBlockEnd, "'%}'"); }

    std::unique_ptr<Stmt> parse_if() {
        auto stmt = make(StmtKind::kIf);
        take();
        while (true) {
            Branch branch;
            branch.condition = expression_or_tuple();
            end_of_tag();
            branch.body = parse_block({"elif", "else", "endif"});
            stmt->branches.push_back(std::move(branch));
            const std::string end = expect_name();
            if (end == "elif") continue;
            if (end == "else") {
                end_of_tag();
                stmt->otherwise = parse_block({"endif"});
                expect_name();
            }
            end_of_tag();
            return stmt;
        }
    }

    std::unique_ptr<Stmt> parse_for() {
        auto stmt = make(StmtKind::kFor);
        take();
        stmt->target = parse_targets(false);
        if (!take_name("in")) refuse(messages::where_expected(found(), "'in'"));
        stmt->value = condition_without_if();
        if (take_name("if")) stmt->filter = expression();
        stmt->is_recursive = take_name("recursive");
        end_of_tag();
        ++loops_;
        stmt->body = parse_block({"else", "endfor"});
        --loops_;
        stmt->uses_loop = survey(stmt->body).undeclared.contains("loop");
        if (expect_name() == "else") {
            end_of_tag();
            stmt->otherwise = parse_block({"endfor"});
            expect_name();
        }
        end_of_tag();
        return stmt;
    }

    // In parentheses a comma after a single one makes a list, too.
    Target parse_targets(bool with_attributes) {
        const Level level(*this);
        Target first = parse_target(with_attributes);
        if (!at_operator(",")) return first;
        Target list;
        list.parts.push_back(std::move(first));
        while (take_operator(",")) {
            if (at_operator(")")) break;
            list.parts.push_back(parse_target(with_attributes));
        }
        return list;
    }

    Target parse_target(bool with_attributes) {
        Target target;
        if (take_operator("(")) {
            target = parse_targets(false);
            expect_operator(")");
            return target;
        }
        target.name = expect_name();
        if (with_attributes && take_operator(".")) target.attribute = expect_name();
        for (const std::string_view reserved : {"true", "false", "none", "True", "False", "None", "loop"}) {
            if (target.name == reserved) refuse(messages::assignment_to(target.name));
        }
        return target;
    }

    std::unique_ptr<Stmt> parse_set() {
        auto stmt = make(StmtKind::kSet);
        take();
        stmt->target = parse_targets(true);
        if (take_operator("=")) {
            stmt->value = expression_or_tuple();
            end_of_tag();
            return stmt;
        }
        if (at_operator("|")) stmt->value = filters_of_block();
        if (stmt->target.name.empty()) refuse(messages::set_block_of_names);
        stmt->kind = StmtKind::kSetBlock;
        end_of_tag();
        stmt->body = parse_block({"endset"});
        expect_name();
        end_of_tag();
        return stmt;
    }

    // {% with a = 1, b = 2 %} ... {% endwith %}
    std::unique_ptr<Stmt> parse_with() {
        auto stmt = make(StmtKind::kWith);
        take();
        while (peek().kind != TokenKind::kBlockEnd) {
            if (!stmt->otherwise.empty()) expect_operator(",");
            auto set = make(StmtKind::kSet);
            set->target = parse_targets(false);
            expect_operator("=");
            set->value = expression();
            stmt->otherwise.push_back(std::move(set));
        }
        end_of_tag();
        stmt->body = parse_block({"endwith"});
        expect_name();
        end_of_tag();
        return stmt;
    }

    std::unique_ptr<Stmt> parse_macro() {
        auto stmt = make(StmtKind::kMacro);
        take();
        stmt->name = expect_name();
        parse_parameters(*stmt);
        end_of_tag();
        parse_body(*stmt, "endmacro");
        end_of_tag();
        return stmt;
    }

    void parse_parameters(Stmt& stmt) {
        expect_operator("(");
        while (!at_operator(")")) {
            Parameter parameter;
            parameter.name = expect_name();
            if (take_operator("=")) parameter.fallback = expression();
            stmt.parameters.push_back(std::move(parameter));
            if (!take_operator(",")) break;
        }
        expect_operator(")");
    }

    // A loop around it does not reach it.
    void parse_body(Stmt& stmt, std::string_view end) {
        const int outer_loops = std::exchange(loops_, 0);
        stmt.body = parse_block({end});
        loops_ = outer_loops;
        expect_name();
        const auto reads = [&stmt, names = survey(stmt.body).undeclared](std::string_view name) {
            const auto is_it = [name](const Parameter& parameter) { return parameter.name == name; };
            return names.contains(name) && std::none_of(stmt.parameters.begin(), stmt.parameters.end(), is_it);
        };
        for (const Parameter& parameter : stmt.parameters) {
            if (parameter.name == "caller" && parameter.fallback == nullptr && stmt.kind == StmtKind::kMacro &&
                survey(stmt.body).undeclared.contains("caller")) {
                refuse(messages::where_expected("'caller'", "a default for it"));
            }
        }
        stmt.uses_caller = reads("caller");
        stmt.uses_varargs = reads("varargs");
        stmt.uses_kwargs = reads("kwargs");
    }

    // {% call(x) macro() %} ... {% endcall %}
    std::unique_ptr<Stmt> parse_call_block() {
        auto stmt = make(StmtKind::kCallBlock);
        take();
        stmt->name = "caller";
        if (at_operator("(")) parse_parameters(*stmt);
        stmt->value = expression();
        if (stmt->value->kind != ExprKind::kCall) refuse(messages::where_expected(found(), "'('"));
        end_of_tag();
        parse_body(*stmt, "endcall");
        end_of_tag();
        return stmt;
    }

    std::unique_ptr<Stmt> parse_filter_block() {
        auto stmt = make(StmtKind::kFilter);
        take();
        if (at_operator("|")) expect_name();  // which it is not
        stmt->value = filters_of_block();
        end_of_tag();
        stmt->body = parse_block({"endfilter"});
        expect_name();
        end_of_tag();
        return stmt;
    }

    std::unique_ptr<Stmt> parse_jump() {
        auto stmt = make(at_name("break") ? StmtKind::kBreak : StmtKind::kContinue);
        if (loops_ == 0) refuse(messages::outside_of_a_loop(peek().text));
        take();
        end_of_tag();
        return stmt;
    }

    // {% generation %} marks text for training; it has no effect here.
    std::unique_ptr<Stmt> parse_group() {
        auto stmt = make(StmtKind::kGroup);
        take();
        end_of_tag();
        stmt->body = parse_block({"endgeneration"});
        expect_name();
        end_of_tag();
        return stmt;
    }

    int loops_ = 0;
};

}  // namespace

Block parse_template(std::string_view jinja, const std::string& source) {
    if (jinja.size() > kMaxTemplateBytes) {
        refuse_syntax(source, 1, messages::template_too_long(jinja.size(), kMaxTemplateBytes));
    }
    return TemplateParser(tokenize(jinja, source), source).run();
}

}  // namespace offstage::engine::jinja
