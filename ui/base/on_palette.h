#pragma once

#include <functional>

#include <QEvent>
#include <QWidget>

namespace offstage::ui {

// Calls `act` now, and whenever the palette of `widget` has changed.
inline void onPalette(QWidget* widget, std::function<void()> act) {
    class Watch : public QObject {
      public:
        Watch(QWidget* of, std::function<void()> what) : QObject(of), m_act(std::move(what)) {
            of->installEventFilter(this);
        }
        bool eventFilter(QObject* watched, QEvent* event) override {
            if (watched == parent() && event->type() == QEvent::PaletteChange) {
                m_act();
            }
            return false;
        }

      private:
        std::function<void()> m_act;
    };
    act();
    new Watch(widget, std::move(act));
}

}  // namespace offstage::ui
