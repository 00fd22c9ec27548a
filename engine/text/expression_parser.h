#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/message.h"
#include "engine/text/template_ast.h"
#include "engine/text/template_lexer.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {

// Expressions, in Jinja's order of precedence. Recursion is bounded by kMaxNesting, the
// trees by kMaxDepth.
class ExpressionParser {
  public:
    ExpressionParser(std::vector<Token> tokens, std::string source)
        : tokens_(std::move(tokens)), source_(std::move(source)) {}

  protected:
    static constexpr int kMaxNesting = 64;
    static constexpr int kMaxDepth = 128;

    // Counts one level of recursion while it exists.
    class Level {
      public:
        explicit Level(ExpressionParser& parser) : parser_(parser) {
            if (++parser_.nesting_ > kMaxNesting) parser_.refuse(messages::nesting_too_deep(kMaxNesting));
        }
        ~Level() { --parser_.nesting_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        ExpressionParser& parser_;
    };

    ExprPtr expression();            // with an inline if
    ExprPtr expression_or_tuple();   // a, b
    ExprPtr condition_without_if();  // the part after "in" of a for: its if is the loop's filter
    ExprPtr filters_of_block();      // a | b, or | a | b: of the block's text, whose name is kBlockText

    const Token& peek(std::size_t ahead = 0) const;
    Token take();
    bool at_operator(std::string_view op, std::size_t ahead = 0) const;
    bool at_name(std::string_view name, std::size_t ahead = 0) const;
    bool take_operator(std::string_view op);
    bool take_name(std::string_view name);
    void expect_operator(std::string_view op);
    std::string expect_name();
    void expect(TokenKind kind, const MessageArgument& what);
    [[noreturn]] void refuse(const MessageArgument& what) const;
    [[noreturn]] void refuse_kind(const MessageArgument& what) const;  // kUnsupported
    MessageArgument found() const;
    int line() const { return peek().line; }
    const std::string& source() const { return source_; }

  private:
    ExprPtr make(ExprKind kind, int line) const;
    void adopt(Expr& parent, ExprPtr child) const;
    ExprPtr binary(ExprKind kind, std::string name, int line, ExprPtr left, ExprPtr right) const;

    ExprPtr parse_or();
    ExprPtr parse_and();
    ExprPtr parse_not();
    ExprPtr parse_compare();
    ExprPtr parse_sum();
    ExprPtr parse_concat();
    ExprPtr parse_product();
    ExprPtr parse_power();
    ExprPtr parse_unary(bool with_filters);
    ExprPtr parse_primary();
    ExprPtr parse_parenthesis();
    ExprPtr parse_list();
    ExprPtr parse_dict();
    ExprPtr parse_postfix(ExprPtr node);
    ExprPtr parse_subscript(ExprPtr node);
    ExprPtr parse_filters(ExprPtr node);
    ExprPtr parse_filter(ExprPtr node);  // behind |
    ExprPtr parse_test(ExprPtr node);
    void parse_arguments(Expr& call);

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    std::string source_;
    int nesting_ = 0;
};

}  // namespace offstage::engine::jinja
