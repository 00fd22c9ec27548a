#include "tests/ui/window_fixture.h"

#include "engine/run/fit_estimate.h"
#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/engine/engine_controller.h"
#include "ui/window/panel_docks.h"

namespace offstage::test {

WindowFixture::WindowFixture(const Script& script, const QString& demoModel, const QString& historyFolder, Start start)
    : stage(std::make_shared<Stage>()) {
    stage->setScript(script);
    if (!ui::settings::kModelTitles.kept()) {
        ui::settings::kModelTitles.set(false);  // requests are the tests' own
    }
    ui::MainWindow::Options options;
    options.models.demoModel = demoModel;
    options.historyFolder = historyFolder;
    options.theme = ui::Theme::Light;
    options.reopensLast = start == Start::WithLastConversation;
    window = std::make_unique<ui::MainWindow>([s = stage] { return makeFakeSession(s); }, options);
    if (start != Start::First && !ui::settings::kWindowState.kept()) {
        part<ui::PanelDocks>(*window).show(QStringLiteral("experts"));
    }
    window->show();
    QApplication::setActiveWindow(window.get());
}

WindowFixture::~WindowFixture() = default;

void WindowFixture::askAndWait(const QString& text) {
    ask(text);
    QTRY_COMPARE(last().state, ui::Message::State::Done);
    QTRY_COMPARE(state(), ui::EngineController::State::Ready);
}

void WindowFixture::openAndWait(const QString& model) {
    window->opener().open(model);
    QTRY_COMPARE(state(), ui::EngineController::State::Ready);
}

void WindowFixture::type(const QString& text) {
    auto& edit = part<ui::ChatPage>(*window).input().edit();
    edit.setFocus();
    QTest::keyClicks(&edit, text);
}

void WindowFixture::pressEnter() {
    QTest::keyClick(&part<ui::ChatPage>(*window).input().edit(), Qt::Key_Return);
}

ui::Message WindowFixture::last() const {
    const auto& all = window->core().conversation.messages();
    return all.isEmpty() ? ui::Message{} : all.last();
}

QString demoModel() {
    return qEnvironmentVariable("OFFSTAGE_DEMO_MODEL", QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model"));
}

quint64 demoVram(quint64 ofTheFolder, qint64 context) {
    if (!qEnvironmentVariableIsSet("OFFSTAGE_DEMO_MODEL")) {
        return ofTheFolder;
    }
    engine::LoadRequest request;
    request.model = demoModel().toStdString();
    request.device = "emulated:rtx-3060-desktop";
    request.context = context;
    engine::FitEstimator estimator(request.model, engine::FitEstimator::Text::kNotNeeded);
    for (quint64 mib = 4; mib < 64; ++mib) {
        request.vram_bytes = mib << 20;
        const engine::FitEstimate estimate = estimator.estimate(request);
        if (estimate.fits && estimate.plan.n_resident() > 1) {
            return request.vram_bytes;
        }
    }
    return ofTheFolder;
}

int runHeadless(int argc, char** argv, const std::function<int(int, char**)>& run) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QTemporaryDir settings;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
    QStandardPaths::setTestModeEnabled(true);
    QApplication app(argc, argv);
    QApplication::setOrganizationName(QStringLiteral("OffstageTests"));
    QApplication::setApplicationName(QStringLiteral("offstage-ui-tests"));
    return run(argc, argv);
}

}  // namespace offstage::test
