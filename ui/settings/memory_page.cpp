#include "ui/settings/memory_page.h"

#include <algorithm>

#include <QCheckBox>
#include <QFormLayout>
#include <QLabel>
#include <QLocale>
#include <QSpinBox>

#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_context.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kTokensPauseMs = 500;
constexpr int kMemoryLookMs = 300;
constexpr int kTokensStep = 4096;

}  // namespace

MemoryPage::MemoryPage(EngineController& engine, QWidget* parent)
    : QWidget(parent),
      m_engine(engine),
      m_on(new QCheckBox(tr("&Keep room for other conversations"))),
      m_tokens(new QSpinBox),
      m_inForce(textLabel(tr("What is in force"))) {
    const qint64 kept = KeptContext::tokens();
    m_on->setChecked(kept > 0);
    m_tokens->setRange(1, static_cast<int>(KeptContext::kMost));
    m_tokens->setSingleStep(kTokensStep);
    m_tokens->setGroupSeparatorShown(true);
    m_tokens->setValue(static_cast<int>(kept > 0 ? kept : KeptContext::kUsual));
    m_tokens->setEnabled(kept > 0);
    QLabel* about = mutedLabel();
    about->setText(
        tr("What was read of a conversation stays in memory while there is room, so that going back to it does not "
           "read it again. Without room of their own, the others have what the running conversation leaves of its "
           "context."));
    auto* label = labelOf(m_tokens, tr("&Tokens"));
    m_tokens->setAccessibleName(tr("Tokens of other conversations that are kept"));
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::FieldsStayAtSizeHint);
    form->setHorizontalSpacing(16);
    form->addRow(label, m_tokens);
    reserveLines(*m_inForce, 4);  // nothing below it moves
    columnOf(this, {m_on, form, about, m_inForce, Stretch{1}}, flush(10));

    m_soon.setSingleShot(true);
    m_soon.setInterval(kTokensPauseMs);
    m_look.setInterval(kMemoryLookMs);
    connect(m_on, &QCheckBox::toggled, this, [this](bool on) {
        m_tokens->setEnabled(on);
        apply();
    });
    connect(m_tokens, &QSpinBox::valueChanged, &m_soon, qOverload<>(&QTimer::start));
    connect(m_tokens, &QSpinBox::editingFinished, this, [this] {
        if (m_soon.isActive()) {
            apply();
        }
    });
    connect(&m_soon, &QTimer::timeout, this, &MemoryPage::apply);
    connect(&m_look, &QTimer::timeout, this, &MemoryPage::refresh);
    connect(&m_engine, &EngineController::loadStarted, this, [this] { m_id = 0; });
    connect(&m_engine, &EngineController::stateChanged, this, &MemoryPage::refresh);
    refresh();
}

qint64 MemoryPage::chosen() const {
    return m_on->isChecked() ? m_tokens->value() : 0;
}

void MemoryPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    m_look.start();
    refresh();
}

void MemoryPage::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    if (m_soon.isActive()) {
        apply();
    }
    m_look.stop();
}

void MemoryPage::apply() {
    m_soon.stop();
    KeptContext::setTokens(chosen());
    engine::ReplanRequest request;
    request.kept_context = chosen();
    m_id = m_engine.replan(request);
    refresh();
}

void MemoryPage::refresh() {
    const std::optional<engine::Snapshot> snapshot = m_engine.snapshot();
    if (!m_engine.model() || !snapshot) {
        m_inForce->setText(tr("No model is open. The next one is opened with what is chosen here."));
        return;
    }
    const QLocale locale;
    QString text = snapshot->kept_context > 0 ? tr("In force now: room for %1 tokens, which takes %2 of memory.")
                                                    .arg(locale.toString(qint64{snapshot->kept_context}),
                                                         bytesText(snapshot->kept_context_bytes))
                                              : tr("In force now: no room of their own, which takes no memory.");
    text += u' ' + (snapshot->kept_prefixes == 0 ? tr("Nothing of other conversations is kept at the moment.")
                                                 : tr("Kept at the moment: %1 tokens of %n conversation(s).", nullptr,
                                                      static_cast<int>(snapshot->kept_prefixes))
                                                       .arg(locale.toString(qint64{snapshot->kept_tokens})));
    const std::vector<engine::ReplanReport> reports = m_engine.replans();
    const auto report = std::find_if(reports.begin(), reports.end(),
                                     [this](const engine::ReplanReport& each) { return each.id == m_id; });
    if (m_id != 0 && report == reports.end()) {
        text += u' ' + tr("Your choice is being carried out…");
    } else if (m_id != 0 && report->state == engine::ReplanState::kFailed) {
        text += u' ' + tr("Your choice could not be carried out: %1").arg(engineText(report->problem));
    } else if (m_id != 0 &&
               (report->state == engine::ReplanState::kWaiting || report->state == engine::ReplanState::kMoving)) {
        text += u' ' + tr("Your choice is being carried out…");
    } else if (snapshot->kept_context != chosen() && !m_soon.isActive()) {
        text += u' ' + tr("Your choice counts for the next model that is opened.");
    }
    m_inForce->setText(text);
}

}  // namespace offstage::ui
