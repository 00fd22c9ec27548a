// Scroll bars: one style in the whole window, and what mouse and wheel do with them.

#include <QMouseEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QStyleOptionSlider>
#include <QTest>

#include "tests/ui/window_fixture.h"
#include "ui/base/window_style.h"
#include "ui/widgets/panel_area.h"

using namespace offstage;
using namespace offstage::ui;
using test::WindowFixture;

namespace {

QRect handleOf(QScrollBar& bar) {
    QStyleOptionSlider option;
    option.initFrom(&bar);
    option.orientation = bar.orientation();
    option.minimum = bar.minimum();
    option.maximum = bar.maximum();
    option.pageStep = bar.pageStep();
    option.sliderPosition = bar.sliderPosition();
    return bar.style()->subControlRect(QStyle::CC_ScrollBar, &option, QStyle::SC_ScrollBarSlider, &bar);
}

void drag(QScrollBar& bar, QPoint from, QPoint to) {
    QTest::mousePress(&bar, Qt::LeftButton, {}, from);
    QMouseEvent move(QEvent::MouseMove, to, bar.mapToGlobal(to), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&bar, &move);
    QTest::mouseRelease(&bar, Qt::LeftButton, {}, to);
}

int coloursIn(const QImage& image) {
    QSet<QRgb> colours;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            colours.insert(image.pixel(x, y));
        }
    }
    return static_cast<int>(colours.size());
}

}  // namespace

class TestScrollBars : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void window_hasOneStyleOfThem() {
        WindowFixture f;
        f.openAndWait();
        int seen = 0;
        for (const QScrollBar* bar : f.window->findChildren<QScrollBar*>()) {
            const QSize size = bar->sizeHint();
            QCOMPARE(std::min(size.width(), size.height()), WindowStyle::kScrollBar);
            QVERIFY(bar->styleSheet().isEmpty());
            ++seen;
        }
        QVERIFY(seen > 10);
    }

    // Dragged, the handle keeps its place under the pointer; a click beside it turns a
    // page.
    void handle_isDragged_andItsTrackTurnsPages() {
        const WindowFixture f;  // applies the style
        auto* content = new QWidget;
        content->setFixedSize(100, 2000);
        PanelArea area(content);
        area.resize(200, 200);
        area.show();
        QScrollBar& bar = *area.verticalScrollBar();
        QTRY_COMPARE(bar.maximum(), 1800);
        const QRect handle = handleOf(bar);
        QVERIFY2(handle.height() >= 32 && handle.top() == 0, qPrintable(QString::number(handle.height())));
        drag(bar, handle.center(), handle.center() + QPoint(0, (200 - handle.height()) / 2));
        QVERIFY2(std::abs(bar.value() - 900) < 20, qPrintable(QString::number(bar.value())));
        const int before = bar.value();
        QTest::mouseClick(&bar, Qt::LeftButton, {}, QPoint(6, 198));
        QCOMPARE(bar.value(), before + bar.pageStep());
        QTest::mouseClick(&bar, Qt::LeftButton, {}, QPoint(6, 1));
        QCOMPARE(bar.value(), before);
    }

    // Its room is kept, and nothing is painted there.
    void withoutAnythingToScroll_thereIsNoHandle() {
        const WindowFixture f;
        auto* content = new QWidget;
        content->setFixedHeight(100);
        PanelArea area(content);
        area.resize(200, 200);
        area.show();
        QScrollBar& bar = *area.verticalScrollBar();
        QCOMPARE(bar.width(), WindowStyle::kScrollBar);
        QTRY_COMPARE(bar.maximum(), 0);
        QCOMPARE(coloursIn(bar.grab().toImage()), 1);
        content->setFixedHeight(1000);
        QTRY_VERIFY(bar.maximum() > 0);
        QVERIFY(coloursIn(bar.grab().toImage()) > 1);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestScrollBars)
#include "tst_scroll_bars.moc"
