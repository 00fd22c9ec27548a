// The tool bar: what one click there does.

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
};

OFFSTAGE_UI_TEST_MAIN(TestToolBar)
#include "tst_tool_bar.moc"
