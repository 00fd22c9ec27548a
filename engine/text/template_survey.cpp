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
        if (stmt.kind == StmtKind::kText) out_.texts.push_back(stmt.name);
        visit(stmt.value);
        visit(stmt.filter);
        for (const Branch& branch : stmt.branches) {
            visit(branch.condition);
            visit(branch.body);
        }
        for (const Parameter& parameter : stmt.parameters) visit(parameter.fallback);
        visit(stmt.body);
        visit(stmt.otherwise);
    }

    void visit(const ExprPtr& e) {
        if (e == nullptr) return;
        if (e->kind == ExprKind::kName) out_.variables.insert(e->name);
        if (e->kind == ExprKind::kAttribute) out_.fields.insert(e->name);
        if (e->kind == ExprKind::kLiteral && e->value.is(Kind::kString)) {
            out_.fields.insert(e->value.as_string());
            out_.texts.push_back(e->value.as_string());
        }
        for (const ExprPtr& part : e->parts) visit(part);
        for (const auto& [name, value] : e->named) visit(value);
    }

    Survey& out_;
};

}  // namespace

Survey survey(const Block& block) {
    Survey out;
    Surveyor(out).visit(block);
    return out;
}

}  // namespace offstage::engine::jinja
