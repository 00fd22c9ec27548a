#include "engine/text/template_survey.h"

namespace offstage::engine::jinja {
namespace {

// The parser bounds how deep statements and expressions are nested.
class Surveyor {
  public:
    explicit Surveyor(Survey& out) : out_(out) {}

    void visit(const Block& block) {
        for (const auto& stmt : block) visit(*stmt);
    }

  private:
    void visit(const Stmt& stmt) {
        const bool is_with = stmt.kind == StmtKind::kWith, is_filter = stmt.kind == StmtKind::kFilter;
        if (stmt.kind == StmtKind::kText) out_.texts.push_back(stmt.name);
        declare(stmt.target);
        if (is_with) {
            for (const auto& set : stmt.otherwise) declare(set->target);
            visit(stmt.otherwise);
        }
        if (!is_filter) visit(stmt.value);
        for (const Branch& branch : stmt.branches) {
            visit(branch.condition);
            visit(branch.body);
        }
        for (const Parameter& parameter : stmt.parameters) declared_.insert(parameter.name);
        for (const Parameter& parameter : stmt.parameters) visit(parameter.fallback);
        visit(stmt.body);
        if (!is_with) visit(stmt.otherwise);
        visit(stmt.filter);
        if (is_filter) visit(stmt.value);
    }

    void declare(const Target& target) {
        if (!target.name.empty() && target.attribute.empty()) declared_.insert(target.name);
        for (const Target& part : target.parts) declare(part);
    }

    void visit(const ExprPtr& e) {
        if (e == nullptr) return;
        if (e->kind == ExprKind::kName) {
            out_.variables.insert(e->name);
            if (!declared_.contains(e->name)) out_.undeclared.insert(e->name);
        }
        if (e->kind == ExprKind::kAttribute) out_.fields.insert(e->name);
        if (e->kind == ExprKind::kLiteral && e->value.is(Kind::kString)) {
            out_.fields.insert(e->value.as_string());
            out_.texts.push_back(e->value.as_string());
        }
        for (const ExprPtr& part : e->parts) visit(part);
        for (const auto& [name, value] : e->named) visit(value);
    }

    Survey& out_;
    std::set<std::string, std::less<>> declared_;
};

}  // namespace

Survey survey(const Block& block) {
    Survey out;
    Surveyor(out).visit(block);
    return out;
}

}  // namespace offstage::engine::jinja
