// The tool bar: what one click there does.

#include <QScopeGuard>
#include <QToolButton>

#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/window/hardware_menu.h"
#include "ui/window/main_tool_bar.h"
#include "ui/window/model_opener.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

class TestToolBar : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    // A long name of a model pushed the hardware out of a narrow window.
    void longNames_leaveTheHardwareItsPlace() {
        Script script;
        script.name = "Qwen3-Coder-30B-A3B-Instruct-1M-UD-Q4_K_XL-00001-of-00002";
        script.emulated = true;
        WindowFixture f(script);
        f.openAndWait();
        auto& bar = part<MainToolBar>(*f.window);
        QToolButton& hardware = part<HardwareMenu>(*f.window).button();
        QToolButton& model = test::find<QToolButton>(bar, "Model");
        const auto isSeen = [&](const QToolButton& button) {
            return button.isVisible() && bar.rect().contains(button.geometry()) && button.width() >= 60;
        };
        for (const QSize size : {QSize(500, 400), QSize(620, 800), QSize(1280, 800), QSize(560, 420)}) {
            f.window->resize(size);
            QTRY_VERIFY2(isSeen(hardware), qPrintable(QString::number(size.width())));
            QTRY_VERIFY2(isSeen(model), qPrintable(QString::number(size.width())));
            picture(*f.window, QStringLiteral("tool-bar-names"), {size.width()}, size.height());
        }
        // Short names are not cut.
        f.stage->setScript({});
        f.openAndWait(QStringLiteral("/models/other"));
        f.window->resize(1280, 800);
        QTRY_VERIFY(model.width() >= model.sizeHint().width() && hardware.width() >= hardware.sizeHint().width());
    }

    // Where the bar is too long, its button stands out from its ground in either theme.
    void overflow_canBeSeenInEitherTheme() {
        WindowFixture f;
        f.openAndWait();
        f.window->opener().tryEmulatedGpu();
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        f.window->resize(560, 420);
        auto& button = part<QToolButton>(part<MainToolBar>(*f.window), "qt_toolbar_ext_button");
        QTRY_VERIFY(button.isVisible());
        const auto usual = qScopeGuard([] { applyTheme(*qApp, Theme::Light); });
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            QCoreApplication::processEvents();
            QRect middle(0, 0, 10, 10);
            middle.moveCenter(button.rect().center());
            const QImage image = f.window->grab(middle.translated(button.mapTo(f.window.get(), QPoint()))).toImage();
            const int ground = f.window->palette().color(QPalette::Window).lightness();
            int strongest = 0;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    strongest = std::max(strongest, std::abs(image.pixelColor(x, y).lightness() - ground));
                }
            }
            QVERIFY2(strongest > 120, qPrintable(nameOf(theme) + QStringLiteral(": %1").arg(strongest)));
        }
    }

    void emulatedGpu_isLeftByOneClick() {
        WindowFixture f;
        f.window->resize(1280, 800);
        f.openAndWait();
        auto& bar = part<MainToolBar>(*f.window);
        auto* leave = qobject_cast<QToolButton*>(bar.widgetForAction(&part<HardwareMenu>(*f.window).leave()));
        QVERIFY(leave != nullptr && !leave->isVisible());
        f.window->opener().tryEmulatedGpu();
        QTRY_VERIFY(f.state() == EngineController::State::Ready && leave->isVisible());
        QVERIFY(f.window->opener().device().startsWith(QStringLiteral("emulated:")));
        QVERIFY2(leave->text().remove(u'&').startsWith(QStringLiteral("Back to ")), qPrintable(leave->text()));
        QVERIFY(leave->toolTip().contains(QStringLiteral("emulated")));
        picture(*f.window, QStringLiteral("tool-bar-emulated"), {1280}, 800);
        QTRY_VERIFY2(bar.rect().contains(leave->geometry()) && leave->isEnabled(),
                     qPrintable(QStringLiteral("%1 of %2, %3")
                                    .arg(leave->geometry().right())
                                    .arg(bar.width())
                                    .arg(leave->isEnabled())));
        QTest::mouseClick(leave, Qt::LeftButton);
        QVERIFY(!f.window->opener().device().startsWith(QStringLiteral("emulated:")));
        QTRY_VERIFY(f.state() == EngineController::State::Ready && !leave->isVisible());
    }

    // Its menu may be open while the window grows.
    void overflow_endsWhereAllHasRoom() {
        WindowFixture f;
        f.openAndWait();
        f.window->opener().tryEmulatedGpu();
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        auto& bar = part<MainToolBar>(*f.window);
        auto& button = part<QToolButton>(bar, "qt_toolbar_ext_button");
        const int line = bar.height();
        f.window->resize(560, 420);
        QTRY_VERIFY(button.isVisible());
        QTest::mouseClick(&button, Qt::LeftButton);
        QTRY_VERIFY(button.isChecked() && bar.height() > line);
        f.window->resize(1600, 800);
        QTRY_VERIFY(!button.isVisible() && bar.height() == line);
        QVERIFY(bar.rect().contains(bar.widgetForAction(&part<HardwareMenu>(*f.window).leave())->geometry()));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestToolBar)
#include "tst_tool_bar.moc"
