#include "ui/panels/budget_form.h"

#include <algorithm>
#include <cmath>

#include <QComboBox>
#include <QCoreApplication>
#include <QDoubleSpinBox>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QStandardItemModel>
#include <QToolButton>

#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/load/precision_fields.h"
#include "ui/load/quality_levels.h"
#include "ui/panels/left_out_edit.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/value_slider.h"

namespace offstage::ui {

namespace {

struct BudgetText {
    Q_DECLARE_TR_FUNCTIONS(BudgetSetting)
};

constexpr quint64 kLeastBytes = quint64{1} << 20;
constexpr quint64 kRoomBeside = quint64{128} << 20;  // KV cache and workspace, generously
constexpr double kLeastContext = 64;
constexpr double kContextStep = 256;
constexpr int kShownOfLevel = 8;  // letters, beside Advanced

}  // namespace

bool BudgetSetting::operator==(const BudgetSetting& other) const {
    return vramBytes == other.vramBytes && ramBytes == other.ramBytes && context == other.context && kv == other.kv &&
           quality == other.quality && experts == other.experts && theta == other.theta;
}

BudgetSetting settingOf(const engine::ModelSummary& model, const engine::LoadRequest& request) {
    BudgetSetting setting;
    setting.vramBytes = model.vram_budget_bytes;
    setting.ramBytes = model.ram_budget_bytes;
    setting.context = model.context;
    setting.kv = request.kv;
    setting.quality = request.quality;
    setting.experts = request.quant.experts;
    setting.theta = request.theta_choice();
    return setting;
}

BudgetSetting settingInForce(const EngineController& engine) {
    if (!engine.model()) {
        return {};
    }
    BudgetSetting setting = settingOf(*engine.model(), engine.loadRequest());
    const auto& requests = engine.replanRequests();
    std::vector<engine::ReplanRequest> pending;  // a request that gave way to a later one is part of that one
    for (const engine::ReplanReport& report :
         requests.empty() ? std::vector<engine::ReplanReport>() : engine.replans()) {
        const auto asked = requests.find(report.id);
        if (asked == requests.end()) {
            continue;  // one expert was pinned, evicted or repacked: no budget
        }
        if (report.state == engine::ReplanState::kSuperseded) {
            pending.push_back(asked->second);
            continue;
        }
        if (report.state == engine::ReplanState::kDone) {
            pending.push_back(asked->second);
            for (const engine::ReplanRequest& request : pending) {
                setting.vramBytes = request.vram_bytes.value_or(setting.vramBytes);
                setting.ramBytes = request.ram_bytes.value_or(setting.ramBytes);
                setting.context = request.context.value_or(setting.context);
                setting.kv = request.kv.value_or(setting.kv);
                if (request.quality) {
                    setting.quality = *request.quality;
                    setting.experts.reset();
                } else if (request.experts) {
                    setting.quality = {};
                    setting.experts = request.experts;
                }
            }
        }
        pending.clear();
    }
    setting.theta = engine.theta();
    return setting;
}

engine::ReplanRequest changeBetween(const BudgetSetting& from, const BudgetSetting& to) {
    engine::ReplanRequest request;
    if (to.vramBytes != from.vramBytes) {
        request.vram_bytes = to.vramBytes;
    }
    if (to.ramBytes != from.ramBytes) {
        request.ram_bytes = to.ramBytes;
    }
    if (to.context != from.context) {
        request.context = to.context;
    }
    if (to.kv != from.kv) {
        request.kv = to.kv;
    }
    if (to.theta != from.theta || to.quality.max_kl > 0) {
        request.theta = to.theta;
    }
    const bool sameFloor = to.quality == from.quality && to.experts == from.experts;
    if (!sameFloor && to.experts) {
        request.experts = to.experts;
    } else if (!sameFloor) {
        request.quality = to.quality;
    }
    return request;
}

QString settingText(const BudgetSetting& setting) {
    QStringList parts;
    if (setting.vramBytes > 0) {
        parts << BudgetText::tr("VRAM %1").arg(bytesText(setting.vramBytes));
    }
    if (setting.ramBytes > 0) {
        parts << BudgetText::tr("RAM %1").arg(bytesText(setting.ramBytes));
    }
    if (setting.context > 0) {
        parts << BudgetText::tr("context %1").arg(QLocale().toString(setting.context));
    }
    if (setting.kv != engine::KvType::kBf16) {
        parts << BudgetText::tr("KV cache in %1 bits").arg(setting.kv == engine::KvType::kInt8 ? 8 : 32);
    }
    const std::optional<int> level = levelOf(setting.quality, setting.experts, {});
    if (level.value_or(0) > 0) {
        parts << BudgetText::tr("quality: %1").arg(qualityLevels()[static_cast<std::size_t>(*level)].name());
    } else if (setting.experts) {
        parts << BudgetText::tr("all experts in %1").arg(formatText(engine::format_row(*setting.experts)));
    } else if (setting.quality.min_mean_bits > 0) {
        parts << BudgetText::tr("at least %1 bits").arg(QLocale().toString(setting.quality.min_mean_bits, 'f', 2));
    } else if (setting.quality.max_kl > 0) {
        parts
            << BudgetText::tr("measured loss at most %1 nats").arg(QLocale().toString(setting.quality.max_kl, 'g', 3));
    } else if (setting.quality.max_loss > 0) {
        parts << BudgetText::tr("loss at most %1").arg(QLocale().toString(setting.quality.max_loss, 'g', 3));
    }
    if (setting.theta.leaves_out()) {
        parts << thetaText(setting.theta);
    }
    return parts.join(QStringLiteral(", "));
}

BudgetForm::BudgetForm(Plan plan, QWidget* parent)
    : QWidget(parent),
      m_vram(new ValueSlider(tr("VRAM budget"))),
      m_ram(new ValueSlider(tr("RAM budget"))),
      m_context(new ValueSlider(tr("Context in tokens"))),
      m_kv(newKvBox()),
      m_level(new QComboBox),
      m_change(mutedLabel(tr("What this quality changes"))),
      m_advanced(new QToolButton),
      m_quality(new QualityEdit),
      m_leftOut(new LeftOutEdit),
      m_vramReason(mutedLabel()) {
    m_vram->setToolTip(
        tr("Memory of the accelerator that Offstage may take, for everything: dense weights, experts, "
           "KV cache and buffers"));
    m_ram->setToolTip(
        tr("Memory of this computer that Offstage may take. Experts that find no room in it are read "
           "from disk when they are called"));
    m_context->setToolTip(tr("Tokens that a conversation can hold. Its KV cache takes room that experts could have"));
    m_context->setRange(kLeastContext, 1e6, kContextStep, 0);
    describe(*m_level, tr("Quality"),
             tr("How exactly experts are kept. Fewer bits are smaller and faster, and change what the model says"));
    letShrink(*m_level, kShownOfLevel);
    fillLevels();
    build(plan);
    for (ValueSlider* slider : {m_vram, m_ram, m_context}) {
        connect(slider, &ValueSlider::changed, this, &BudgetForm::changed);
    }
    connect(m_kv, &QComboBox::activated, this, &BudgetForm::changed);
    connect(m_level, &QComboBox::activated, this, &BudgetForm::levelChosen);
    connect(m_advanced, &QToolButton::toggled, this, &BudgetForm::unfold);
    for (const auto refresh : {&BudgetForm::refreshLevel, &BudgetForm::changed}) {
        connect(m_quality, &QualityEdit::changed, this, refresh);
        connect(m_leftOut, &LeftOutEdit::changed, this, refresh);
    }
    alignFields({m_vram, m_ram, m_context}, *m_quality);
    m_leftOut->value().setFixedWidth(m_quality->value().minimumWidth());
    m_vramReason->hide();
    unfold(false);
    refreshLevel();
}

void BudgetForm::build(Plan plan) {
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(3);
    grid->setColumnStretch(1, 1);
    int row = 0;
    const auto addRow = [&](const QString& text, QWidget* field) {
        grid->addWidget(labelOf(field, text), row, 0);
        grid->addWidget(field, row++, 1);
    };
    addRow(tr("VRAM"), m_vram);
    grid->addWidget(m_vramReason, row++, 1);
    addRow(tr("RAM"), m_ram);
    addRow(tr("Context"), m_context);
    addRow(tr("KV cache"), m_kv);
    grid->addWidget(labelOf(m_level, tr("Quality")), row, 0);
    grid->addLayout(rowOf({{m_level, 1}, m_advanced}, flush(6)), row++, 1);
    auto* single = new QPushButton(tr("Single experts…"));
    single->setToolTip(tr("Opens the Experts panel: mark experts there, and Change gives them other bits"));
    connect(single, &QPushButton::clicked, this, &BudgetForm::singleExpertsRequested);
    auto* change = widgetOf(rowOf({{m_change, 1}, single}, flush(6)));
    grid->addWidget(change, row, 0, 1, 2);
    if (plan == Plan::Other) {
        change->hide();
    }
    m_folded << single;
    m_advanced->setText(tr("Advanced"));
    m_advanced->setCheckable(true);
    m_advanced->setAutoRaise(true);
    m_advanced->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_advanced->setFocusPolicy(Qt::StrongFocus);
    m_advanced->setToolTip(tr("Formats and floors of experts, neurons that are skipped, single experts"));
    buildAdvanced(*grid);
}

void BudgetForm::buildAdvanced(QGridLayout& grid) {
    const auto addRow = [&](const QString& text, QWidget* field) {
        QLabel* const label = labelOf(field, text);
        label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
        label->setContentsMargins(0, std::max(0, (m_kv->sizeHint().height() - fontMetrics().height()) / 2), 0, 0);
        const int row = grid.rowCount();
        grid.addWidget(label, row, 0);
        grid.addWidget(field, row, 1);
        m_folded << label << field;
    };
    addRow(tr("Experts"), m_quality);
    addRow(tr("Skip weak\nneurons"), m_leftOut);
}

void BudgetForm::unfold(bool all) {
    m_advanced->setArrowType(all ? Qt::DownArrow : Qt::RightArrow);
    reserveLines(*m_change, all ? 2 : 1);  // a button stands beside it
    for (QWidget* each : std::as_const(m_folded)) {
        each->setVisible(all);
    }
    Q_EMIT unfolded(all);
}

bool BudgetForm::isUnfolded() const {
    return m_advanced->isChecked();
}

void BudgetForm::fillLevels() {
    const int chosen = m_level->currentIndex();
    m_level->clear();
    for (const QualityLevel& level : qualityLevels()) {
        m_level->addItem(level.name());
        QStandardItem& item = *qobject_cast<QStandardItemModel*>(m_level->model())->item(m_level->count() - 1);
        item.setEnabled(isOffered(level, m_formats));
        item.setToolTip(
            item.isEnabled()
                ? level.explanation()
                : tr("The experts of this file have no more bits: %1").arg(QLocale().toString(m_formats.bits, 'f', 2)));
    }
    m_level->addItem(tr("Custom"));
    m_level->setItemData(kQualityLevels, tr("As chosen below, under Advanced"), Qt::ToolTipRole);
    m_level->setCurrentIndex(std::max(0, chosen));
}

// "Custom" changes nothing: it shows what can be chosen.
void BudgetForm::levelChosen() {
    const int chosen = m_level->currentIndex();
    if (chosen == kQualityLevels) {
        m_advanced->setChecked(true);
        m_quality->choice().setFocus(Qt::OtherFocusReason);
        refreshLevel();
        return;
    }
    m_quality->set({.min_mean_bits = qualityLevels()[static_cast<std::size_t>(chosen)].leastBits}, std::nullopt);
    m_leftOut->set({});
    refreshLevel();
    Q_EMIT changed();
}

void BudgetForm::refreshLevel() {
    const std::optional<int> level = levelOf(m_quality->floor(), m_quality->experts(), m_leftOut->choice());
    m_level->setCurrentIndex(level.value_or(kQualityLevels));
    // With one floor for bits and neurons the plan chooses both.
    m_leftOut->setChosenByPlan(m_quality->floor().max_kl > 0);
}

void BudgetForm::setQualityChange(const QString& text) {
    m_change->setText(text);
}

QString BudgetForm::vramReason() const {
    return m_hasVram ? QString() : m_vramReason->text();
}

void BudgetForm::setLimits(const engine::ModelSummary& model, const engine::Snapshot& snapshot) {
    const BudgetSetting kept = setting();
    m_quality->setChoices(model.expert_formats);
    if (!(model.expert_formats == m_formats)) {
        m_formats = model.expert_formats;
        fillLevels();
    }
    m_leftOut->setMeasured(model.thresholds, model.device != "cpu");
    m_hasVram = snapshot.vram.total > 0 || model.vram_budget_bytes > 0;
    m_vram->setEnabled(m_hasVram);
    m_vramReason->setVisible(!m_hasVram);
    m_vramReason->setText(
        m_hasVram ? QString()
                  : tr("The model runs on the CPU, which has no memory of its own. RAM and context count."));
    // Ends the slider's range at a useful size: a small model on a large GPU would leave
    // the slider no room to move.
    const quint64 ofUse = 2 * model.weight_bytes + kRoomBeside;
    const auto most = [ofUse](const engine::MemoryLedger& ledger, quint64 budget) {
        return std::max<quint64>(budget,
                                 std::min<quint64>(ofUse, ledger.total - std::min(ledger.total, ledger.others)));
    };
    if (m_hasVram) {
        m_vram->setByteRange(
            kLeastBytes,
            std::max<quint64>(most(snapshot.vram, std::max<quint64>(model.vram_budget_bytes, snapshot.vram.budget)),
                              kLeastBytes));
    }
    m_ram->setByteRange(
        kLeastBytes,
        std::max<quint64>(most(snapshot.ram, std::max<quint64>(model.ram_budget_bytes, snapshot.ram.budget)),
                          kLeastBytes));
    const double longest = static_cast<double>(std::max(model.max_context, model.context));
    const double least = std::max(1.0, std::min(kLeastContext, longest));
    // In steps, so that it seldom moves during an answer; never beyond the context's
    // size.
    const double used = std::min(kContextStep * std::ceil(static_cast<double>(snapshot.context_used) / kContextStep),
                                 static_cast<double>(std::max(snapshot.context_used, snapshot.context_size)));
    m_context->setRange(std::max(least, used), longest, kContextStep, 0);
    setSetting(kept);
}

BudgetSetting BudgetForm::setting() const {
    BudgetSetting setting;
    setting.vramBytes = m_hasVram ? m_vram->bytes() : 0;
    setting.ramBytes = m_ram->bytes();
    setting.context = std::llround(m_context->value());
    setting.kv = kvOf(*m_kv);
    setting.quality = m_quality->floor();
    setting.experts = m_quality->experts();
    setting.theta = m_leftOut->choice();
    return setting;
}

void BudgetForm::setSetting(const BudgetSetting& setting) {
    if (setting == this->setting()) {
        return;
    }
    m_vram->setBytes(setting.vramBytes);
    m_ram->setBytes(setting.ramBytes);
    m_context->setValue(static_cast<double>(setting.context));
    setKv(*m_kv, setting.kv);
    m_quality->set(setting.quality, setting.experts);
    m_leftOut->set(setting.theta);
    refreshLevel();
}

}  // namespace offstage::ui
