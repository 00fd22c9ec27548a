#pragma once
// An engine with scripted re-plans, a model, and panels on it.

#include <functional>

#include <QComboBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>

#include "tests/ui/replan_session.h"
#include "ui/panels/budget_panel.h"
#include "ui/widgets/value_slider.h"

namespace offstage::test {

inline constexpr quint64 kMiB = quint64{1} << 20;
inline constexpr quint64 kGiB = quint64{1} << 30;

// An engine with a model, and any panel on it.
struct Bench {
    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    std::shared_ptr<ReplanStage> replans = std::make_shared<ReplanStage>();
    ui::EngineController engine{[s = stage, r = replans] { return std::make_unique<ReplanSession>(s, r); }};

    void open() {
        engine::LoadRequest request;
        request.model = "/models/fake-moe";
        engine.openModel(request);
        QTRY_COMPARE(engine.state(), ui::EngineController::State::Ready);
    }
    void with(const std::function<void(ReplanStage&)>& change) {
        const std::lock_guard lock(replans->mutex);
        change(*replans);
    }
    ~Bench() { engine.shutdown(); }
};

// With the budget's panel, shown for a model of 6 GiB of VRAM.
struct BudgetBench : Bench {
    ui::BudgetPanel panel{engine};

    void show() {
        open();
        panel.show();
        QTRY_COMPARE(panel.form().vram().bytes(), 6 * kGiB);
    }
};

// Every control that a user can reach has a name for screen readers.
inline QStringList namelessControls(const QWidget& root) {
    QStringList missing;
    for (const QWidget* w : root.findChildren<QWidget*>()) {
        const bool control =
            qobject_cast<const QComboBox*>(w) != nullptr || qobject_cast<const QSlider*>(w) != nullptr ||
            qobject_cast<const QAbstractSpinBox*>(w) != nullptr || qobject_cast<const QTableView*>(w) != nullptr ||
            qobject_cast<const QPlainTextEdit*>(w) != nullptr;
        const bool button = qobject_cast<const QPushButton*>(w) != nullptr;
        if ((control && w->accessibleName().isEmpty()) ||
            (button && qobject_cast<const QPushButton*>(w)->text().isEmpty() && w->accessibleName().isEmpty())) {
            missing << QString::fromLatin1(w->metaObject()->className());
        }
        if (button && w->toolTip().isEmpty() && qobject_cast<const QPushButton*>(w)->isEnabled()) {
            missing << QStringLiteral("tip of ") + qobject_cast<const QPushButton*>(w)->text();
        }
    }
    return missing;
}

}  // namespace offstage::test
