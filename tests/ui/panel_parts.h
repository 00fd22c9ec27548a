#pragma once
// What the panels Dispatch and Experts say, and their choices, by what they are called.

#include <QComboBox>

#include "tests/ui/find_widget.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/experts_panel.h"

namespace offstage::test {

inline QString idleOf(const ui::DispatchPanel& panel) {
    return textOf(panel, QStringLiteral("How long each side had nothing to do"));
}

inline QString hiddenOf(const ui::DispatchPanel& panel) {
    return textOf(panel, QStringLiteral("How much of the computing was hidden behind loading"));
}

inline QString whyOf(const ui::DispatchPanel& panel) {
    return textOf(panel, QStringLiteral("Why experts ran where they ran"));
}

// 0: of the selected token alone.
inline void showMeanOf(const ui::DispatchPanel& panel, int tokens) {
    auto& which = find<QComboBox>(panel, "Which tokens the bars are of");
    which.setCurrentIndex(which.findData(tokens));
}

inline QString readoutOf(const ui::ExpertsPanel& panel) {
    return textOf(panel, QStringLiteral("Numbers of the chosen expert"));
}

}  // namespace offstage::test
