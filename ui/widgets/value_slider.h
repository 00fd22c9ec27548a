#pragma once

#include <QWidget>

class QLabel;
class QSlider;

namespace offstage::ui {

class SizeSpinBox;

// A number that the user sets roughly with a slider and exactly with a spin box beside
// it. What is typed and refused keeps the number, and the limit stands in the slider's
// place until something right is typed or set. GUI thread only.
class ValueSlider : public QWidget {
    Q_OBJECT

  public:
    // `name`: for screen readers; the spin box is called so, the slider "name, slider".
    explicit ValueSlider(const QString& name, QWidget* parent = nullptr);

    // lo < hi. The value stays, or moves to the nearer end.
    void setRange(double lo, double hi, double step, int decimals);
    // Bytes in a unit that suits the largest value: MiB below 8 GiB, GiB from there on;
    // value() is always in bytes.
    void setByteRange(quint64 lo, quint64 hi);
    // Stands in the place of the lowest value.
    void setLowestText(const QString& text);

    double value() const;
    quint64 bytes() const;
    // Emits nothing.
    void setValue(double value);
    void setBytes(quint64 bytes);
    double highest() const;

    // The spin box's preferred width, and its actual one: sliders below each other have
    // one length.
    int wantedFieldWidth() const;
    void setFieldWidth(int width);

    QSlider& slider() const { return *m_slider; }
    SizeSpinBox& spin() const { return *m_spin; }
    QString limitShown() const;  // empty: nothing was refused

  Q_SIGNALS:
    void changed();  // by the user

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void showLimit(const QString& limit, const QString& why);
    void spinToSlider();
    void sliderToSpin(int position);

    QSlider* m_slider;
    SizeSpinBox* m_spin;
    QLabel* m_limit;
    // The spin box's last limits: setting them again would lay its neighbours out anew.
    struct Limits {
        double unit = 0, lo = 0, hi = 0, step = 0;
        int decimals = 0;
        bool operator==(const Limits&) const = default;
    };
    Limits m_limits;
    double m_unit = 1;         // of the spin box, in units of value()
    double m_exact = 0;        // setValue()'s number, while the spin box shows it rounded
    double m_shownExact = -1;  // the spin box's value that stands for m_exact
};

}  // namespace offstage::ui
