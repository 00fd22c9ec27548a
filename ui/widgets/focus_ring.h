#pragma once

#include <QPointer>
#include <QWidget>

namespace offstage::ui {

// A focus ring around a widget that has no room for one inside: it lies over the scroll
// area or window of the widget and moves with the widget. Takes no events.
class FocusRing : public QWidget {
    Q_OBJECT

  public:
    static constexpr int kRoom = 5;  // between the widget and the outer edge

    explicit FocusRing(QWidget& around);
    ~FocusRing() override;

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

  private:
    void place();

    QPointer<QWidget> m_around;
};

}  // namespace offstage::ui
