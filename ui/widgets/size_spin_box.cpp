#include "ui/widgets/size_spin_box.h"

#include <algorithm>
#include <cmath>

#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>

#include "engine/device/byte_size.h"
#include "ui/base/delay.h"

namespace offstage::ui {

namespace {

// Enough decimals for one byte of a tebibyte.
constexpr int kKeptDecimals = 12;
constexpr int kMoreShown = 3;  // used if fewer would be off by a thousandth
constexpr int kRefusalMs = 6000;

// Reads numbers as the locale writes them, or else as programs do: "0.5" is understood in
// German too.
std::optional<double> numberIn(const QLocale& locale, const QString& text) {
    bool ok = false;
    double number = locale.toDouble(text, &ok);
    if (!ok) {
        number = QLocale::c().toDouble(text, &ok);
    }
    if (!ok && text.count(u',') == 1) {
        number = QLocale::c().toDouble(QString(text).replace(u',', u'.'), &ok);
    }
    return ok && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

SizeSpinBox::SizeSpinBox(QWidget* parent) : QDoubleSpinBox(parent) {
    setDecimals(kKeptDecimals);
    setKeyboardTracking(false);
    setGroupSeparatorShown(true);
    setAlignment(Qt::AlignRight);
    callAfter(m_noteTime, kRefusalMs, this, &SizeSpinBox::hideRefusal);
    connect(this, &SizeSpinBox::refused, this, &SizeSpinBox::showRefusal);
    connect(lineEdit(), &QLineEdit::textEdited, this, [this] {
        hideRefusal();
        if (hasAcceptableInput()) {
            Q_EMIT understood();
        }
    });
}

void SizeSpinBox::setUnit(quint64 bytes, const QString& text) {
    if (bytes == m_unitBytes && text == m_unit) {
        return;
    }
    m_unitBytes = bytes;
    m_unit = text;
    const QSignalBlocker quiet(lineEdit());
    lineEdit()->setText(specialValueText().isEmpty() || value() > minimum() ? textFromValue(value())
                                                                            : specialValueText());
}

void SizeSpinBox::setShownDecimals(int decimals) {
    m_shownDecimals = decimals;
}

std::optional<double> SizeSpinBox::parsed(const QString& text) const {
    const QString trimmed = text.trimmed();
    if (!specialValueText().isEmpty() && trimmed == specialValueText().trimmed()) {
        return minimum();
    }
    // Its own text means its exact number, even with few decimals.
    if (trimmed == textFromValue(value()).trimmed()) {
        return value();
    }
    qsizetype end = trimmed.size();
    while (end > 0 && trimmed[end - 1].isLetter()) {
        --end;
    }
    const std::optional<double> number = numberIn(locale(), trimmed.left(end).trimmed());
    const QString unit = trimmed.mid(end);
    if (!number || unit.isEmpty() || m_unitBytes == 0) {
        return unit.isEmpty() ? number : std::nullopt;
    }
    const std::optional<std::uint64_t> bytes = engine::unit_bytes(unit.toStdString());
    return bytes ? std::optional(*number * static_cast<double>(*bytes) / static_cast<double>(m_unitBytes))
                 : std::nullopt;
}

QValidator::State SizeSpinBox::validate(QString& text, int&) const {
    const std::optional<double> number = parsed(text);
    return number && *number >= minimum() && *number <= maximum() ? QValidator::Acceptable : QValidator::Intermediate;
}

double SizeSpinBox::valueFromText(const QString& text) const {
    return parsed(text).value_or(value());
}

QString SizeSpinBox::textFromValue(double value) const {
    int decimals = m_shownDecimals;
    const auto error = [&] {
        const double scale = std::pow(10.0, decimals);
        return std::abs(std::round(value * scale) / scale - value);
    };
    while (m_unitBytes > 0 && decimals < kMoreShown && error() > std::abs(value) / 1000) {
        ++decimals;
    }
    const QString number = locale().toString(value, 'f', decimals);
    return m_unitBytes > 0 ? number + u' ' + m_unit : number;
}

QString SizeSpinBox::whyNot(const QString& text) const {
    const std::optional<double> number = parsed(text);
    if (number && *number > maximum()) {
        return tr("%1 is too much here: the most is %2.").arg(text.trimmed(), textFromValue(maximum()));
    }
    if (number) {
        return tr("%1 is too little here: the least is %2.").arg(text.trimmed(), textFromValue(minimum()));
    }
    return m_unitBytes > 0 ? tr("“%1” is not a size. Write it as 600 MiB or %2 GiB.")
                                 .arg(text.trimmed(), locale().toString(0.6, 'f', 1))
                           : tr("“%1” is not a number.").arg(text.trimmed());
}

QString SizeSpinBox::limitFor(const QString& text) const {
    const std::optional<double> number = parsed(text);
    return !number               ? (m_unitBytes > 0 ? tr("not a size") : tr("not a number"))
           : *number > maximum() ? tr("at most %1").arg(textFromValue(maximum()))
                                 : tr("at least %1").arg(textFromValue(minimum()));
}

void SizeSpinBox::fixup(QString& text) const {
    if (isVisible()) {  // as a window closes, nobody reads it
        Q_EMIT refused(whyNot(text), limitFor(text));
    }
}

QString SizeSpinBox::refusal() const {
    return m_note != nullptr && !m_note->isHidden() ? m_note->text() : QString();
}

void SizeSpinBox::showRefusal(const QString& why) {
    QWidget* const over = window();
    if (m_note == nullptr || m_note->parentWidget() != over) {
        delete m_note;
        m_note = new QLabel(over);
        m_note->setAutoFillBackground(true);
        m_note->setFrameShape(QFrame::Box);
        m_note->setMargin(6);
        m_note->setWordWrap(true);
        m_note->setBackgroundRole(QPalette::ToolTipBase);
        m_note->setForegroundRole(QPalette::ToolTipText);
        m_note->setAttribute(Qt::WA_TransparentForMouseEvents);
    }
    m_note->setText(why);
    const int width = std::min(over->width(), m_note->fontMetrics().horizontalAdvance(why) + 4 * m_note->margin());
    m_note->resize(width, m_note->heightForWidth(width));
    const QPoint below = mapTo(over, QPoint(0, height() + 2));
    m_note->move(std::clamp(below.x(), 0, std::max(0, over->width() - width)),
                 std::min(below.y(), std::max(0, over->height() - m_note->height())));
    m_note->show();
    m_note->raise();
    m_noteTime.start();
}

void SizeSpinBox::hideRefusal() {
    if (m_note != nullptr) {
        m_note->hide();
    }
}

}  // namespace offstage::ui
