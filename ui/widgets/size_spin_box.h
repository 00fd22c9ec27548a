#pragma once

#include <optional>

#include <QDoubleSpinBox>
#include <QPointer>
#include <QTimer>

class QLabel;

namespace offstage::ui {

// A number, or a size in bytes that may be typed in any unit: "600MiB", "0,6 GiB", "600
// mb". Invalid input, or a value outside the limits, is refused with a sentence beside
// the box, and the number stays: nothing is changed silently. GUI thread only.
class SizeSpinBox : public QDoubleSpinBox {
    Q_OBJECT

  public:
    explicit SizeSpinBox(QWidget* parent = nullptr);

    // The number counts units of `bytes`, shown as `text` after it; 0: a plain number.
    void setUnit(quint64 bytes, const QString& text);
    // Shown decimals; a typed number keeps its exact value.
    void setShownDecimals(int decimals);

    QValidator::State validate(QString& text, int& position) const override;
    double valueFromText(const QString& text) const override;
    QString textFromValue(double value) const override;
    void fixup(QString& text) const override;
    QString refusal() const;  // as long as it is shown

  Q_SIGNALS:
    // `limit`: the same in few words, "at least 64".
    void refused(const QString& why, const QString& limit) const;
    void understood();  // what is being typed, as far as it goes

  private:
    std::optional<double> parsed(const QString& text) const;  // in units
    QString whyNot(const QString& text) const;
    QString limitFor(const QString& text) const;
    void showRefusal(const QString& why);
    void hideRefusal();

    quint64 m_unitBytes = 0;
    QString m_unit;
    int m_shownDecimals = 0;
    // Overlays the area below the box: nothing moves, and a tool tip would disappear with
    // the focus.
    QPointer<QLabel> m_note;
    QTimer m_noteTime;
};

}  // namespace offstage::ui
