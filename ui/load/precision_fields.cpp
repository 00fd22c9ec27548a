#include "ui/load/precision_fields.h"

#include <algorithm>
#include <cmath>

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QSignalBlocker>
#include <QStandardItemModel>

#include "ui/engine/format.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/value_slider.h"

namespace offstage::ui {

namespace {

constexpr double kUsualBits = 4.5;
constexpr double kLeastBits = 2;
constexpr double kMostBits = 16;
constexpr double kBitsStep = 0.25;
constexpr double kUsualLoss = 0.01;
constexpr double kUsualKl = 0.01;   // nats per token
constexpr int kShownOfQuality = 7;  // letters: with the box beside it, a panel that is 360 pixels wide

}  // namespace

QualityEdit::QualityEdit(QWidget* parent) : QWidget(parent), m_choice(new QComboBox), m_value(new QDoubleSpinBox) {
    describe(*m_choice, tr("Quality of the experts"),
             tr("Experts in fewer bits are smaller and faster, and say less exactly what the model was trained to say. "
                "Nothing of this changes unless you choose it"));
    letShrink(*m_choice, kShownOfQuality);
    m_choice->addItem(tr("Original"));
    m_choice->addItem(tr("Mean bits, at least"));
    m_choice->addItem(tr("Predicted loss, at most"));
    m_choice->addItem(tr("Measured loss, at most"));
    m_choice->setItemData(
        MeasuredLoss,
        tr("One floor for bits and neurons, in nats per token: the planner chooses formats and which neurons are "
           "skipped, whichever is forecast to be fastest. Only what was measured of the model is chosen, each measured "
           "alone: their sum is an estimate"),
        Qt::ToolTipRole);
    fillFormats(std::nullopt);
    m_value->setAccessibleName(tr("Mean bits per expert weight, at least"));
    m_value->setKeyboardTracking(false);
    m_value->setToolTip(tr("No plan goes below this"));
    m_value->setAlignment(Qt::AlignRight);
    keepRoom(*m_value);  // the choice beside it keeps its width
    rowOf(this, {{m_choice, 1}, m_value}, flush(6));
    setFocusProxy(m_choice);
    connect(m_choice, &QComboBox::activated, this, &QualityEdit::chosen);
    connect(m_value, &QDoubleSpinBox::valueChanged, this, &QualityEdit::changed);
    set({}, std::nullopt);
}

engine::QualityFloor QualityEdit::floor() const {
    engine::QualityFloor floor;
    if (m_choice->currentIndex() == MeanBits) {
        floor.min_mean_bits = m_value->value();
    } else if (m_choice->currentIndex() == Loss) {
        floor.max_loss = m_value->value() / 100;
    } else if (m_choice->currentIndex() == MeasuredLoss) {
        floor.max_kl = m_value->value();
    }
    return floor;
}

std::optional<engine::FormatId> QualityEdit::experts() const {
    return m_choice->currentIndex() < FirstFormat
               ? std::nullopt
               : std::optional(static_cast<engine::FormatId>(m_choice->currentData().toInt()));
}

// A chosen format that does not apply to the model stays: the plan reports the problem.
void QualityEdit::fillFormats(std::optional<engine::FormatId> kept) {
    while (m_choice->count() > FirstFormat) {
        m_choice->removeItem(FirstFormat);
    }
    for (const engine::FormatRow& format : engine::expert_formats()) {
        const auto& smaller = m_formats.smaller;
        const bool isOffered =
            !m_formats.in_blocks || std::find(smaller.begin(), smaller.end(), format.id) != smaller.end();
        if (isOffered || format.id == kept) {
            m_choice->addItem(formatText(format), static_cast<int>(format.id));
            m_choice->setItemData(m_choice->count() - 1, tr("All experts in this format"), Qt::ToolTipRole);
        }
    }
}

void QualityEdit::setChoices(const engine::ExpertFormats& formats) {
    if (formats == m_formats) {
        return;
    }
    const engine::QualityFloor floor = this->floor();
    const std::optional<engine::FormatId> experts = this->experts();
    m_formats = formats;
    m_choice->setItemText(
        Off, formats.in_blocks ? tr("Original: %1").arg(QString::fromStdString(formats.stored)) : tr("Original"));
    const bool isSmallest = formats.in_blocks && formats.smaller.empty();
    for (const int index : {MeanBits, Loss}) {
        QStandardItem& item = *qobject_cast<QStandardItemModel*>(m_choice->model())->item(index);
        item.setEnabled(!isSmallest);
        item.setToolTip(isSmallest ? tr("No format of ours has fewer bits than this file's") : QString());
    }
    const QSignalBlocker quiet(m_choice);
    fillFormats(experts);
    set(floor, experts);
}

void QualityEdit::chosen() {
    engine::QualityFloor floor;
    if (m_choice->currentIndex() == MeanBits) {
        const bool isMore = m_formats.in_blocks && m_formats.bits <= kUsualBits;
        floor.min_mean_bits = isMore ? kBitsStep * std::floor(m_formats.bits / kBitsStep) : kUsualBits;
    } else if (m_choice->currentIndex() == Loss) {
        floor.max_loss = kUsualLoss;
    } else if (m_choice->currentIndex() == MeasuredLoss) {
        floor.max_kl = kUsualKl;
    }
    set(floor, experts());
    Q_EMIT changed();
}

void QualityEdit::set(const engine::QualityFloor& floor, std::optional<engine::FormatId> experts) {
    const QSignalBlocker quiet(m_value);
    if (experts && m_choice->findData(static_cast<int>(*experts)) < 0) {
        fillFormats(experts);
    }
    const int format = experts ? m_choice->findData(static_cast<int>(*experts)) : -1;
    m_choice->setCurrentIndex(format >= 0               ? format
                              : experts                 ? Off
                              : floor.min_mean_bits > 0 ? MeanBits
                              : floor.max_loss > 0      ? Loss
                              : floor.max_kl > 0        ? MeasuredLoss
                                                        : Off);
    m_value->setVisible(!experts && floor.allows_fewer_bits());
    if (floor.min_mean_bits > 0) {
        m_value->setAccessibleName(tr("Mean bits per expert weight, at least"));
        m_value->setSuffix(tr(" bits"));
        m_value->setDecimals(2);
        const double most = m_formats.in_blocks ? m_formats.bits : kMostBits;
        m_value->setRange(kLeastBits, std::max(most, floor.min_mean_bits));
        m_value->setSingleStep(kBitsStep);
        m_value->setValue(floor.min_mean_bits);
    } else if (floor.max_loss > 0) {
        m_value->setAccessibleName(tr("Predicted loss in percent, at most"));
        m_value->setSuffix(tr(" %"));
        m_value->setDecimals(3);
        m_value->setRange(0.001, 100);
        m_value->setSingleStep(0.1);
        m_value->setValue(100 * floor.max_loss);
    } else if (floor.max_kl > 0) {
        m_value->setAccessibleName(tr("Measured loss in nats per token, at most"));
        m_value->setSuffix(tr(" nats"));
        m_value->setDecimals(4);
        m_value->setRange(0.0001, 10);
        m_value->setSingleStep(0.001);
        m_value->setValue(floor.max_kl);
    }
}

QComboBox* newKvBox() {
    auto* box = new QComboBox;
    describe(*box, QualityEdit::tr("Format of the KV cache"),
             QualityEdit::tr("What keys and values of the conversation are kept in. 8 bits take half of the room of 16 "
                             "and change answers "
                             "a little; 32 bits are exact"));
    box->addItem(QualityEdit::tr("16 bits"), static_cast<int>(engine::KvType::kBf16));
    box->addItem(QualityEdit::tr("8 bits"), static_cast<int>(engine::KvType::kInt8));
    box->addItem(QualityEdit::tr("32 bits, exact"), static_cast<int>(engine::KvType::kF32));
    return box;
}

engine::KvType kvOf(const QComboBox& box) {
    return static_cast<engine::KvType>(box.currentData().toInt());
}

void setKv(QComboBox& box, engine::KvType kv) {
    box.setCurrentIndex(box.findData(static_cast<int>(kv)));
}

void alignFields(const QList<ValueSlider*>& sliders, QualityEdit& quality) {
    int width = 0;
    for (const ValueSlider* slider : sliders) {
        width = std::max(width, slider->wantedFieldWidth());
    }
    for (ValueSlider* slider : sliders) {
        slider->setFieldWidth(width);
    }
    quality.value().setFixedWidth(width);
}

}  // namespace offstage::ui
