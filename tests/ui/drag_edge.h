#pragma once

#include <QMainWindow>
#include <QTest>

namespace offstage::test {

// The user drags the edge between two docks; both in the window's pixels from its left.
inline void dragEdge(QMainWindow& window, int from, int to) {
    const int y = window.height() / 2;
    QTest::mousePress(&window, Qt::LeftButton, {}, {from, y});
    QTest::mouseMove(&window, {to, y});
    QCoreApplication::processEvents();
    QTest::mouseRelease(&window, Qt::LeftButton, {}, {to, y});
    QCoreApplication::processEvents();
}

}  // namespace offstage::test
