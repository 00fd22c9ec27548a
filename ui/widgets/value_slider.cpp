#include "ui/widgets/value_slider.h"

#include <algorithm>
#include <cmath>

#include <QEvent>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>

#include "ui/base/on_palette.h"
#include "ui/base/theme.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/size_spin_box.h"

namespace offstage::ui {

namespace {

constexpr int kPositions = 1000;
constexpr int kBesideText = 28;    // a spin box's frame and buttons
constexpr double kManyGiB = 1000;  // a number of so many digits has one decimal
constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;

}  // namespace

ValueSlider::ValueSlider(const QString& name, QWidget* parent)
    : QWidget(parent), m_slider(new QSlider(Qt::Horizontal)), m_spin(new SizeSpinBox), m_limit(new QLabel) {
    m_slider->setRange(0, kPositions);
    m_slider->setPageStep(kPositions / 20);
    m_slider->setSingleStep(kPositions / 100);
    m_slider->setMinimumWidth(48);
    m_slider->setFocusPolicy(Qt::ClickFocus);  // by keyboard the box beside it does the same, and more exactly
    m_slider->setAccessibleName(tr("%1, slider").arg(name));
    m_spin->setAccessibleName(name);
    m_limit->setTextFormat(Qt::PlainText);
    m_limit->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_limit->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
    m_limit->setMinimumWidth(m_slider->minimumWidth());
    m_limit->setAccessibleName(tr("%1, limit").arg(name));
    m_limit->hide();
    m_limit->installEventFilter(this);
    onPalette(this, [this] {
        QPalette colours;
        colours.setColor(QPalette::WindowText, Colours::of(palette()).problem);
        m_limit->setPalette(colours);
    });
    rowOf(this, {{m_slider, 1}, {m_limit, 1}, m_spin}, flush(8));
    setFocusProxy(m_spin);
    connect(m_slider, &QSlider::valueChanged, this, &ValueSlider::sliderToSpin);
    connect(m_spin, &SizeSpinBox::refused, this,
            [this](const QString& why, const QString& limit) { showLimit(limit, why); });
    connect(m_spin, &SizeSpinBox::understood, this, [this] { showLimit({}, {}); });
    connect(m_spin, &SizeSpinBox::valueChanged, this, [this] {
        showLimit({}, {});
        spinToSlider();
        Q_EMIT changed();
    });
}

void ValueSlider::showLimit(const QString& limit, const QString& why) {
    m_limit->setText(limit);
    m_limit->setToolTip(why);
    m_limit->setVisible(!limit.isEmpty());
    m_slider->setVisible(limit.isEmpty());
}

QString ValueSlider::limitShown() const {
    return m_limit->isHidden() ? QString() : m_limit->text();
}

// Whoever reaches for the slider with the mouse finds it.
bool ValueSlider::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Enter || event->type() == QEvent::MouseButtonPress) {
        showLimit({}, {});
    }
    return QWidget::eventFilter(watched, event);
}

void ValueSlider::setRange(double lo, double hi, double step, int decimals) {
    const Limits limits{m_unit, lo, hi, step, decimals};
    if (limits == m_limits) {
        return;
    }
    m_limits = limits;
    showLimit({}, {});
    const double kept = value();
    const QSignalBlocker quiet(m_spin);
    m_spin->setShownDecimals(decimals);
    if (m_unit == 1) {
        m_spin->setDecimals(decimals);
    }
    m_spin->setRange(lo / m_unit, std::max(lo, hi) / m_unit);
    m_spin->setSingleStep(step / m_unit);
    setValue(kept);
}

void ValueSlider::setByteRange(quint64 lo, quint64 hi) {
    const double kept = value();
    const bool large = static_cast<double>(hi) >= 8 * kGiB;
    m_unit = large ? kGiB : kMiB;
    m_spin->setUnit(static_cast<quint64>(m_unit), large ? QStringLiteral("GiB") : QStringLiteral("MiB"));
    const bool small = static_cast<double>(hi) < 256 * kMiB;
    setRange(static_cast<double>(lo), static_cast<double>(hi),
             large   ? kGiB / 4
             : small ? kMiB
                     : 64 * kMiB,
             large && static_cast<double>(hi) < kManyGiB * kGiB ? 2 : 1);
    setValue(kept);
}

void ValueSlider::setLowestText(const QString& text) {
    m_spin->setSpecialValueText(text);
}

double ValueSlider::value() const {
    // Rounding for display must not change a value that the user did not touch.
    const double shown = m_spin->value();
    if (shown == m_shownExact) {
        return m_exact;
    }
    return shown >= m_spin->maximum() ? highest() : shown <= m_spin->minimum() ? m_limits.lo : shown * m_unit;
}

quint64 ValueSlider::bytes() const {
    return static_cast<quint64>(std::llround(std::max(0.0, value())));
}

void ValueSlider::setValue(double value) {
    if (value != this->value()) {
        showLimit({}, {});
    }
    {
        const QSignalBlocker quiet(m_spin);
        m_spin->setValue(value / m_unit);
    }
    m_exact = std::clamp(value, m_limits.lo, std::max(m_limits.lo, m_limits.hi));
    m_shownExact = m_spin->value();
    spinToSlider();
}

void ValueSlider::setBytes(quint64 bytes) {
    setValue(static_cast<double>(bytes));
}

double ValueSlider::highest() const {
    return std::max(m_limits.lo, m_limits.hi);
}

int ValueSlider::wantedFieldWidth() const {
    // By the longest shown number, not the range, which changes while the user aims at a
    // button.
    const int text = std::max(fontMetrics().horizontalAdvance(QStringLiteral("0,000.0 MiB")),
                              fontMetrics().horizontalAdvance(m_spin->specialValueText()));
    return text + kBesideText;
}

void ValueSlider::setFieldWidth(int width) {
    m_spin->setFixedWidth(width);
}

void ValueSlider::spinToSlider() {
    const QSignalBlocker quiet(m_slider);
    const double span = m_spin->maximum() - m_spin->minimum();
    const double share = span > 0 ? (m_spin->value() - m_spin->minimum()) / span : 0;
    m_slider->setValue(static_cast<int>(std::lround(share * kPositions)));
}

void ValueSlider::sliderToSpin(int position) {
    const double span = m_spin->maximum() - m_spin->minimum();
    const double scale = std::pow(10.0, m_limits.decimals);  // a number that can be read
    const double wanted = position == 0 ? m_spin->minimum()
                          : position == kPositions
                              ? m_spin->maximum()
                              : std::round((m_spin->minimum() + span * position / kPositions) * scale) / scale;
    {
        const QSignalBlocker quiet(m_spin);
        m_spin->setValue(wanted);
    }
    Q_EMIT changed();
}

}  // namespace offstage::ui
