#include "engine/text/expression_parser.h"

#include <algorithm>

#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {

// ---------------------------------------------------------------- tokens

const Token& ExpressionParser::peek(std::size_t ahead) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token ExpressionParser::take() {
    Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
}

bool ExpressionParser::at_operator(std::string_view op, std::size_t ahead) const {
    return peek(ahead).kind == TokenKind::kOperator && peek(ahead).text == op;
}

bool ExpressionParser::at_name(std::string_view name, std::size_t ahead) const {
    return peek(ahead).kind == TokenKind::kName && peek(ahead).text == name;
}

bool ExpressionParser::take_operator(std::string_view op) {
    if (!at_operator(op)) return false;
    take();
    return true;
}

bool ExpressionParser::take_name(std::string_view name) {
    if (!at_name(name)) return false;
    take();
    return true;
}

MessageArgument ExpressionParser::found() const {
    switch (peek().kind) {
        case TokenKind::kEnd:
            return messages::end_of_template;
        case TokenKind::kData:
            return messages::text_of_template;
        case TokenKind::kString:
            return messages::a_string;
        case TokenKind::kBlockEnd:
        case TokenKind::kVariableEnd:
            return messages::end_of_tag;
        case TokenKind::kBlockBegin:
        case TokenKind::kVariableBegin:
            return messages::a_tag;
        default:
            return "'" + peek().text + "'";
    }
}

void ExpressionParser::expect_operator(std::string_view op) {
    if (!take_operator(op)) refuse(messages::where_expected(found(), "'" + std::string(op) + "'"));
}

std::string ExpressionParser::expect_name() {
    if (peek().kind != TokenKind::kName) refuse(messages::where_a_name_expected(found()));
    return take().text;
}

void ExpressionParser::expect(TokenKind kind, const MessageArgument& what) {
    if (peek().kind != kind) refuse(messages::where_expected(found(), what));
    take();
}

void ExpressionParser::refuse(const MessageArgument& what) const {
    refuse_syntax(source_, line(), what);
}
void ExpressionParser::refuse_kind(const MessageArgument& what) const {
    refuse_unsupported(source_, line(), what);
}

// ---------------------------------------------------------------- trees

ExprPtr ExpressionParser::make(ExprKind kind, int line) const {
    auto node = std::make_unique<Expr>();
    node->kind = kind;
    node->line = line;
    return node;
}

void ExpressionParser::adopt(Expr& parent, ExprPtr child) const {
    if (child) parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kMaxDepth) refuse(messages::expression_too_deep(kMaxDepth));
    parent.parts.push_back(std::move(child));
}

ExprPtr ExpressionParser::binary(ExprKind kind, std::string name, int line, ExprPtr left, ExprPtr right) const {
    ExprPtr node = make(kind, line);
    node->name = std::move(name);
    adopt(*node, std::move(left));
    adopt(*node, std::move(right));
    return node;
}

// ------------------------------------------------------------- precedence, loosest first

ExprPtr ExpressionParser::expression() {
    const Level level(*this);
    ExprPtr node = parse_or();
    while (at_name("if")) {
        ExprPtr choice = make(ExprKind::kChoice, line());
        take();
        adopt(*choice, std::move(node));
        adopt(*choice, parse_or());
        adopt(*choice, take_name("else") ? expression() : nullptr);
        node = std::move(choice);
    }
    return node;
}

ExprPtr ExpressionParser::expression_or_tuple() {
    const int at_line = line();
    ExprPtr first = expression();
    if (!at_operator(",")) return first;
    ExprPtr tuple = make(ExprKind::kTuple, at_line);
    adopt(*tuple, std::move(first));
    while (take_operator(",")) {
        if (peek().kind == TokenKind::kBlockEnd || peek().kind == TokenKind::kVariableEnd) break;
        adopt(*tuple, expression());
    }
    return tuple;
}

ExprPtr ExpressionParser::condition_without_if() {
    const Level level(*this);
    return parse_or();
}

ExprPtr ExpressionParser::filters_of_block() {
    const Level level(*this);
    ExprPtr node = make(ExprKind::kName, line());
    node->name = kBlockText;
    if (!at_operator("|")) node = parse_filter(std::move(node));
    return parse_filters(std::move(node));
}

ExprPtr ExpressionParser::parse_or() {
    ExprPtr left = parse_and();
    while (at_name("or")) {
        const int at_line = take().line;
        left = binary(ExprKind::kOr, "or", at_line, std::move(left), parse_and());
    }
    return left;
}

ExprPtr ExpressionParser::parse_and() {
    ExprPtr left = parse_not();
    while (at_name("and")) {
        const int at_line = take().line;
        left = binary(ExprKind::kAnd, "and", at_line, std::move(left), parse_not());
    }
    return left;
}

ExprPtr ExpressionParser::parse_not() {
    if (!at_name("not")) return parse_compare();
    const Level level(*this);
    ExprPtr node = make(ExprKind::kNot, take().line);
    adopt(*node, parse_not());
    return node;
}

ExprPtr ExpressionParser::parse_compare() {
    static constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
    const int at_line = line();
    ExprPtr left = parse_sum();
    ExprPtr chain;
    while (true) {
        std::string op;
        if (peek().kind == TokenKind::kOperator &&
            std::find(std::begin(kComparisons), std::end(kComparisons), peek().text) != std::end(kComparisons)) {
            op = take().text;
        } else if (take_name("in")) {
            op = "in";
        } else if (at_name("not") && at_name("in", 1)) {
            take();
            take();
            op = "not in";
        } else {
            break;
        }
        if (!chain) {
            chain = make(ExprKind::kCompare, at_line);
            adopt(*chain, std::move(left));
        }
        chain->operators.push_back(std::move(op));
        adopt(*chain, parse_sum());
    }
    return chain ? std::move(chain) : std::move(left);
}

ExprPtr ExpressionParser::parse_sum() {
    ExprPtr left = parse_concat();
    while (at_operator("+") || at_operator("-")) {
        Token op = take();
        left = binary(ExprKind::kBinary, std::move(op.text), op.line, std::move(left), parse_concat());
    }
    return left;
}

ExprPtr ExpressionParser::parse_concat() {
    const int at_line = line();
    ExprPtr first = parse_product();
    if (!at_operator("~")) return first;
    ExprPtr node = make(ExprKind::kConcat, at_line);
    adopt(*node, std::move(first));
    while (take_operator("~")) adopt(*node, parse_product());
    return node;
}

ExprPtr ExpressionParser::parse_product() {
    ExprPtr left = parse_power();
    while (at_operator("*") || at_operator("/") || at_operator("//") || at_operator("%")) {
        Token op = take();
        left = binary(ExprKind::kBinary, std::move(op.text), op.line, std::move(left), parse_power());
    }
    return left;
}

ExprPtr ExpressionParser::parse_power() {
    ExprPtr left = parse_unary(true);
    while (at_operator("**")) {
        const int at_line = take().line;
        left = binary(ExprKind::kBinary, "**", at_line, std::move(left), parse_unary(true));
    }
    return left;
}

ExprPtr ExpressionParser::parse_unary(bool with_filters) {
    ExprPtr node;
    if (at_operator("-") || at_operator("+")) {
        const Level level(*this);
        const Token op = take();
        node = make(op.text == "-" ? ExprKind::kNegate : ExprKind::kPlus, op.line);
        adopt(*node, parse_unary(false));
    } else {
        node = parse_primary();
    }
    node = parse_postfix(std::move(node));
    return with_filters ? parse_filters(std::move(node)) : std::move(node);
}

// ---------------------------------------------------------------- primaries

ExprPtr ExpressionParser::parse_primary() {
    const Token& token = peek();
    ExprPtr node = make(ExprKind::kLiteral, token.line);
    switch (token.kind) {
        case TokenKind::kName: {
            const std::string name = take().text;
            if (name == "true" || name == "True") {
                node->value = Value::boolean(true);
            } else if (name == "false" || name == "False") {
                node->value = Value::boolean(false);
            } else if (name == "none" || name == "None") {
                node->value = Value::none();
            } else {
                node->kind = ExprKind::kName;
                node->name = name;
            }
            return node;
        }
        case TokenKind::kString: {
            std::string text;
            while (peek().kind == TokenKind::kString) text += take().text;  // neighbours are one string
            node->value = Value::string(std::move(text));
            return node;
        }
        case TokenKind::kInteger:
            node->value = Value::integer(take().integer);
            return node;
        case TokenKind::kFloat:
            node->value = Value::real(take().real);
            return node;
        default:
            break;
    }
    if (at_operator("(")) return parse_parenthesis();
    if (at_operator("[")) return parse_list();
    if (at_operator("{")) return parse_dict();
    refuse(messages::where_a_value_expected(found()));
}

ExprPtr ExpressionParser::parse_parenthesis() {
    const int at_line = take().line;
    ExprPtr tuple = make(ExprKind::kTuple, at_line);
    bool is_tuple = at_operator(")");
    while (!at_operator(")")) {
        adopt(*tuple, expression());
        if (!take_operator(",")) break;
        is_tuple = true;
    }
    expect_operator(")");
    return is_tuple ? std::move(tuple) : std::move(tuple->parts[0]);
}

ExprPtr ExpressionParser::parse_list() {
    ExprPtr list = make(ExprKind::kList, take().line);
    while (!at_operator("]")) {
        adopt(*list, expression());
        if (!take_operator(",")) break;
    }
    expect_operator("]");
    return list;
}

ExprPtr ExpressionParser::parse_dict() {
    ExprPtr dict = make(ExprKind::kDict, take().line);
    while (!at_operator("}")) {
        adopt(*dict, expression());
        expect_operator(":");
        adopt(*dict, expression());
        if (!take_operator(",")) break;
    }
    expect_operator("}");
    return dict;
}

ExprPtr ExpressionParser::parse_postfix(ExprPtr node) {
    while (true) {
        if (at_operator(".")) {
            const int at_line = take().line;
            ExprPtr access = make(ExprKind::kAttribute, at_line);
            if (peek().kind == TokenKind::kInteger) {
                access->kind = ExprKind::kSubscript;
                ExprPtr index = make(ExprKind::kLiteral, at_line);
                index->value = Value::integer(take().integer);
                adopt(*access, std::move(node));
                adopt(*access, std::move(index));
            } else {
                access->name = expect_name();
                adopt(*access, std::move(node));
            }
            node = std::move(access);
        } else if (at_operator("[")) {
            node = parse_subscript(std::move(node));
        } else if (at_operator("(")) {
            ExprPtr call = make(ExprKind::kCall, line());
            adopt(*call, std::move(node));
            parse_arguments(*call);
            node = std::move(call);
        } else {
            return node;
        }
    }
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr node) {
    ExprPtr access = make(ExprKind::kSubscript, take().line);
    adopt(*access, std::move(node));
    ExprPtr bounds[3];
    int n_colons = 0;
    if (!at_operator(":")) bounds[0] = expression();
    while (n_colons < 2 && take_operator(":")) {
        ++n_colons;
        if (!at_operator(":") && !at_operator("]")) bounds[n_colons] = expression();
    }
    if (at_operator(",")) refuse_kind(messages::subscript_of_parts);
    expect_operator("]");
    if (n_colons == 0) {
        adopt(*access, std::move(bounds[0]));
        return access;
    }
    access->kind = ExprKind::kSlice;
    for (ExprPtr& bound : bounds) adopt(*access, std::move(bound));
    return access;
}

void ExpressionParser::parse_arguments(Expr& call) {
    expect_operator("(");
    while (!at_operator(")")) {
        if (at_operator("*") || at_operator("**")) refuse_kind(messages::unpacked_arguments);
        if (peek().kind == TokenKind::kName && at_operator("=", 1)) {
            std::string name = take().text;
            for (const auto& [other, value] : call.named) {
                if (other == name) refuse_kind(messages::argument_twice(name));
            }
            take();
            ExprPtr value = expression();
            call.depth = std::max(call.depth, value->depth + 1);
            call.named.emplace_back(std::move(name), std::move(value));
        } else {
            if (!call.named.empty()) refuse(messages::argument_behind_named);
            adopt(call, expression());
        }
        if (!take_operator(",")) break;
    }
    expect_operator(")");
}

// ---------------------------------------------------------------- filters and tests

ExprPtr ExpressionParser::parse_filters(ExprPtr node) {
    while (true) {
        if (take_operator("|")) {
            node = parse_filter(std::move(node));
        } else if (at_name("is")) {
            node = parse_test(std::move(node));
        } else if (at_operator("(")) {
            refuse_kind(messages::call_of_filter_result);
        } else {
            return node;
        }
    }
}

ExprPtr ExpressionParser::parse_filter(ExprPtr node) {
    ExprPtr filter = make(ExprKind::kFilter, line());
    filter->name = expect_name();
    adopt(*filter, std::move(node));
    if (at_operator("(")) parse_arguments(*filter);
    return filter;
}

ExprPtr ExpressionParser::parse_test(ExprPtr node) {
    ExprPtr test = make(ExprKind::kTest, take().line);
    const bool negated = take_name("not");
    test->name = expect_name();
    adopt(*test, std::move(node));
    const Token& next = peek();
    const bool is_value = next.kind == TokenKind::kString || next.kind == TokenKind::kInteger ||
                          next.kind == TokenKind::kFloat || at_operator("[") || at_operator("{");
    // As in Jinja, `if`, `in` and `not` are names here.
    const bool is_word =
        next.kind == TokenKind::kName && next.text != "else" && next.text != "or" && next.text != "and";
    if (at_operator("(")) {
        parse_arguments(*test);
    } else if (is_value || is_word) {
        if (at_name("is")) refuse(messages::where_a_value_expected(found()));
        const Level level(*this);
        adopt(*test, parse_postfix(parse_primary()));
    }
    if (!negated) return test;
    ExprPtr opposite = make(ExprKind::kNot, test->line);
    adopt(*opposite, std::move(test));
    return opposite;
}

}  // namespace offstage::engine::jinja
