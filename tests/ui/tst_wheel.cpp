// The wheel over a panel scrolls it, and changes nothing under the pointer.
#include <QComboBox>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QSpinBox>
#include <QTest>
#include <QVBoxLayout>
#include <QWheelEvent>

#include "tests/ui/window_fixture.h"
#include "ui/load/open_model_dialog.h"
#include "ui/plot/heat_map.h"
#include "ui/settings/sampling_panel.h"
#include "ui/widgets/input_guard.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::ui;
using test::WindowFixture;

namespace {

// Sent like the desktop does: to the innermost widget there, and from there to its
// parents.
void turnWheel(QWidget& at, int notches, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    const QPoint middle = at.rect().center();
    QWidget* inner = at.childAt(middle);
    QWidget& target = inner != nullptr ? *inner : at;
    const QPoint place = target.mapFrom(&at, middle);
    QWheelEvent event(place, at.mapToGlobal(middle), {}, {0, 120 * notches}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QSpontaneKeyEvent::setSpontaneous(&event);
    qApp->notify(&target, &event);
}

// A little window on a lot of content.
struct Scrolled {
    Scrolled() {
        area.setWidgetResizable(true);
        area.setWidget(new QWidget);
        column = new QVBoxLayout(area.widget());
        area.resize(400, 300);
    }
    template <typename Widget>
    Widget* add() {
        auto* widget = new Widget;
        column->addWidget(widget);
        return widget;
    }
    int at() const { return area.verticalScrollBar()->value(); }

    QScrollArea area;
    QVBoxLayout* column;
};

}  // namespace

class TestWheel : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void settings_withoutTheFocus_letThePanelScroll() {
        const InputGuard guard(*qApp);
        Scrolled s;
        auto* spin = s.add<QSpinBox>();
        auto* number = s.add<QDoubleSpinBox>();
        auto* combo = s.add<QComboBox>();
        auto* slider = s.add<QSlider>();
        auto* button = s.add<QWidget>();
        button->setFocusPolicy(Qt::StrongFocus);
        s.add<QWidget>()->setMinimumHeight(2000);
        spin->setValue(40);
        number->setValue(40);
        combo->addItems({QStringLiteral("a"), QStringLiteral("b"), QStringLiteral("c")});
        combo->setCurrentIndex(1);
        slider->setValue(40);
        slider->setFocusPolicy(Qt::WheelFocus);
        s.area.show();
        button->setFocus();
        QApplication::setActiveWindow(&s.area);
        QTRY_VERIFY(button->hasFocus());
        for (QWidget* each : std::initializer_list<QWidget*>{spin, number, combo, slider}) {
            QVERIFY(each->focusPolicy() == Qt::StrongFocus);  // not by the wheel
            s.area.verticalScrollBar()->setValue(100);
            turnWheel(*each, -1);
            QVERIFY(s.at() > 100);
            turnWheel(*each, 2);
            QVERIFY(s.at() < 100);
            QVERIFY(button->hasFocus());
        }
        QCOMPARE(spin->value(), 40);
        QCOMPARE(number->value(), 40.0);
        QCOMPARE(combo->currentIndex(), 1);
        QCOMPARE(slider->value(), 40);

        // With the focus the wheel changes it.
        s.area.verticalScrollBar()->setValue(100);
        spin->setFocus();
        turnWheel(*spin, 2);
        QCOMPARE(spin->value(), 42);
        combo->setFocus();
        turnWheel(*combo, -1);
        QCOMPARE(combo->currentIndex(), 2);
        QCOMPARE(s.at(), 100);
    }

    void samplingPanel_turnedOver_keepsItsValues() {
        WindowFixture f;
        f.window->resize(1000, 440);
        QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
        test::part<PanelDocks>(*f.window).show(QStringLiteral("sampling"));
        SamplingPanel& panel = test::part<SamplingPanel>(*f.window);
        auto* area = qobject_cast<QScrollArea*>(panel.parentWidget()->parentWidget());
        QVERIFY(area != nullptr);
        QTRY_VERIFY(area->verticalScrollBar()->maximum() > 0);
        const Sampling before = panel.sampling();
        int turned = 0;
        for (QWidget* each : panel.findChildren<QWidget*>()) {
            if (qobject_cast<QAbstractSpinBox*>(each) || qobject_cast<QComboBox*>(each)) {
                area->verticalScrollBar()->setValue(0);
                turnWheel(*each, -3);
                QVERIFY2(area->verticalScrollBar()->value() > 0, qPrintable(each->accessibleName()));
                ++turned;
            }
        }
        QVERIFY(turned >= 10);
        QVERIFY(panel.sampling() == before);
    }

    void openWithOptions_turnedOver_keepsItsValues() {
        WindowFixture f;
        f.openAndWait();
        OpenModelDialog dialog(f.window->core().engine, f.window.get());
        dialog.show();
        QApplication::setActiveWindow(&dialog);
        for (QComboBox* box : dialog.findChildren<QComboBox*>()) {
            if (!box->hasFocus()) {
                const int index = box->currentIndex();
                turnWheel(*box, 1);
                turnWheel(*box, -2);
                QCOMPARE(box->currentIndex(), index);
            }
        }
    }

    void plot_inAPanelThatScrolls_zoomsWithCtrlOnly() {
        Scrolled s;
        auto* map = s.add<HeatMap>();
        map->setValues(4, 128, std::vector<double>(4 * 128, 0.5), 1);
        map->setMinimumHeight(200);
        auto* below = s.add<QWidget>();
        below->setMinimumHeight(2000);
        s.area.show();
        QTRY_VERIFY(s.area.verticalScrollBar()->maximum() > 0);
        turnWheel(*map, -1);
        QVERIFY(s.at() > 0);
        QCOMPARE(map->shownColumns().count(), 128);
        turnWheel(*map, 1);
        turnWheel(*map, 1);  // at its end: nothing is zoomed by turning on
        QCOMPARE(s.at(), 0);
        QCOMPARE(map->shownColumns().count(), 128);
        turnWheel(*map, 4, Qt::ControlModifier);
        QVERIFY(map->shownColumns().count() < 128);
        QCOMPARE(s.at(), 0);
        const int begin = map->shownColumns().begin;
        turnWheel(*map, -2, Qt::ShiftModifier);  // pans
        QVERIFY(map->shownColumns().begin > begin);
        QCOMPARE(s.at(), 0);

        // If everything fits, nothing scrolls.
        below->hide();
        QTRY_COMPARE(s.area.verticalScrollBar()->maximum(), 0);
        const int shown = map->shownColumns().count();
        turnWheel(*map, 1);
        QVERIFY(map->shownColumns().count() < shown);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestWheel)
#include "tst_wheel.moc"
