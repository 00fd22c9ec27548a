#pragma once

#include <QTimer>

namespace offstage::ui {

// Prepares `timer`: so many milliseconds after its last start() it calls `slot` once.
template <typename Receiver, typename Slot>
void callAfter(QTimer& timer, int ms, Receiver* receiver, Slot slot) {
    timer.setSingleShot(true);
    timer.setInterval(ms);
    QObject::connect(&timer, &QTimer::timeout, receiver, slot);
}

}  // namespace offstage::ui
