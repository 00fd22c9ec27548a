#pragma once
// What the Budget panel says, and a change of its sliders.

#include <algorithm>

#include "tests/ui/find_widget.h"
#include "ui/panels/budget_panel.h"

namespace offstage::test {

// The figures, a line each: their names and the column "now"; with `after`, the column
// "after" too.
inline QStringList figuresOf(const ui::BudgetPanel& panel, bool after) {
    QStringList lines;
    for (const char* figure : {"Tokens/s", "First token", "Hit rate of answers", "Mean bits", "Predicted loss",
                               "Experts on the device", "Active neurons", "Loss by skipped neurons"}) {
        const QString name = QString::fromLatin1(figure);
        lines << name + QStringLiteral(": ") + textOf(panel, name + QStringLiteral(", now"));
        if (after) {
            lines.back() += QStringLiteral(" -> ") + textOf(panel, name + QStringLiteral(", after"));
        }
    }
    return lines;
}

inline QString nowText(const ui::BudgetPanel& panel) {
    return figuresOf(panel, false).join(u'\n');
}

// Empty: no preview is shown.
inline QString previewText(const ui::BudgetPanel& panel) {
    QStringList lines = figuresOf(panel, true);
    if (std::all_of(lines.begin(), lines.end(), [](const QString& line) { return line.endsWith(u'–'); })) {
        return {};
    }
    lines << textOf(panel, QStringLiteral("What the figures rest on")) << textOf(panel, QStringLiteral("What happened"))
          << textOf(panel, QStringLiteral("A note on the plan"));
    return lines.join(u'\n');
}

inline void propose(ui::BudgetPanel& panel, const ui::BudgetSetting& setting) {
    panel.form().setSetting(setting);
    Q_EMIT panel.form().changed();
}

}  // namespace offstage::test
