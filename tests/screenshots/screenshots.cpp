// Drives the real window on the demo model and an emulated GPU, and saves pictures of it
// in use: the whole window, and each panel beside the conversation. Run by
// resources/screenshots/make.
//
//   screenshots FOLDER THEME WxH LANGUAGE [PANEL ...]
//   without panels: all panels, and the window as it opens
//
// A PANEL may also be "window": the whole window after a conversation; "formats": the map
// of experts in several formats with the menu that changes them; or "open": the dialog
// that opens a model.
#include <algorithm>
#include <cstdio>

#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QHash>
#include <QImage>
#include <QMenu>
#include <QPushButton>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTimer>

#include "tests/ui/find_widget.h"
#include "ui/base/language.h"
#include "ui/chat/chat_page.h"
#include "ui/load/fit_view.h"
#include "ui/load/open_model_dialog.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/selection.h"
#include "ui/panels/what_if_panel.h"
#include "ui/window/main_window.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

constexpr int kAlike = 8;  // in the sum of red, green and blue
constexpr int kColours = 128;

void pass(int ms) {
    QEventLoop loop;
    QTimer::singleShot(ms, &loop, &QEventLoop::quit);
    loop.exec();
}

void waitUntil(const std::function<bool()>& done, int ms = 60000) {
    QElapsedTimer clock;
    clock.start();
    while (!done() && clock.elapsed() < ms) {
        pass(20);
    }
}

void ask(MainWindow& window, const QString& prompt) {
    window.core().chat.send(prompt);
    waitUntil([&] { return !window.core().chat.queue().isEmpty(); }, 2000);
    waitUntil([&] {
        return window.core().chat.queue().isEmpty() && window.core().engine.state() == EngineController::State::Ready;
    });
}

// With a palette: a third of the bytes. The most frequent colours, no two of them much
// alike; the shades of letters' edges are not told apart.
QImage indexed(const QImage& image) {
    QHash<QRgb, int> counts;
    for (int y = 0; y < image.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
        for (int x = 0; x < image.width(); ++x) {
            ++counts[line[x] | 0xff000000];
        }
    }
    QList<QRgb> colours = counts.keys();
    std::sort(colours.begin(), colours.end(),
              [&](QRgb a, QRgb b) { return std::pair(counts[a], a) > std::pair(counts[b], b); });
    const auto distance = [](QRgb a, QRgb b) {
        return std::abs(qRed(a) - qRed(b)) + std::abs(qGreen(a) - qGreen(b)) + std::abs(qBlue(a) - qBlue(b));
    };
    QList<QRgb> palette;
    for (int apart = 1; apart >= 0 && palette.size() < kColours; --apart) {
        for (const QRgb colour : colours) {
            const bool isNew = std::none_of(palette.begin(), palette.end(), [&](QRgb other) {
                return distance(colour, other) <= (apart > 0 ? kAlike : 0);
            });
            if (isNew && palette.size() < kColours) {
                palette << colour;
            }
        }
    }
    return image.convertToFormat(QImage::Format_Indexed8, palette, Qt::ThresholdDither | Qt::AvoidDither);
}

bool save(QWidget& window, const QString& file) {
    pass(700);  // the panels' last look at the engine, and the last painting
    const bool saved = indexed(window.grab().toImage().convertToFormat(QImage::Format_RGB32)).save(file, nullptr, 0);
    std::printf("%s%s\n", qPrintable(file), saved ? "" : ": cannot be written");
    return saved;
}

}  // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QTemporaryDir settings;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
    QStandardPaths::setTestModeEnabled(true);
    QApplication app(argc, argv);
    QApplication::setOrganizationName(QStringLiteral("Offstage"));  // otherwise settings would be refused
    QApplication::setApplicationName(QStringLiteral("offstage-screenshots"));
    const QStringList arguments = QApplication::arguments();
    if (arguments.size() < 5) {
        std::fprintf(stderr, "usage: screenshots FOLDER THEME WxH LANGUAGE [PANEL ...]\n");
        return 2;
    }
    const QDir folder(QDir(arguments[1]).absolutePath());
    const QString theme = arguments[2], size = arguments[3], language = arguments[4];
    const QStringList wanted = arguments.mid(5);
    speak(app, chosenLanguage(language));

    MainWindow::Options options;
    QDir::setCurrent(QStringLiteral(OFFSTAGE_SOURCE_DIR));
    options.models.demoModel = QStringLiteral("resources/demo-model");  // pictures show no folder of this computer
    options.theme = themeFromName(theme);
    options.models.device = DeviceChoices::demonstrationDevice();
    options.models.vramBytes = DeviceChoices::kDemonstrationVram;
    options.historyFolder = settings.path();
    MainWindow window([] { return engine::Session::create(); }, options);
    const QSize whole(size.section(u'x', 0, 0).toInt(), size.section(u'x', 1).toInt());
    window.resize(whole);
    window.show();
    window.opener().open(options.models.demoModel);
    waitUntil([&] { return window.core().engine.state() == EngineController::State::Ready; });

    const auto name = [&](const QString& what) {
        return folder.filePath(QStringLiteral("%1-%2-%3-%4.png").arg(what, theme, size, language));
    };
    bool saved = true;
    if (wanted.isEmpty()) {
        saved = save(window, name(QStringLiteral("start")));
    }
    window.findChild<PanelDocks*>()->show(QStringLiteral("experts"));
    Sampling sampling = window.core().chat.sampling();
    sampling.sampler.seed = 11;
    window.core().chat.setSampling(sampling);
    ask(window, QStringLiteral("Tell me a story about a fox."));
    ask(window, QStringLiteral("What is 47 + 38?"));
    ask(window, QStringLiteral("What is an expert?"));
    if (wanted.isEmpty() || wanted.contains(QStringLiteral("window"))) {
        saved = save(window, name(QStringLiteral("window"))) && saved;
    }
    for (QDockWidget* dock : window.findChildren<QDockWidget*>()) {
        const QString panel = dock->objectName().chopped(4);
        if (!wanted.isEmpty() && !wanted.contains(panel)) {
            continue;
        }
        window.findChild<PanelDocks*>()->reset();
        for (QDockWidget* other : window.findChildren<QDockWidget*>()) {
            other->setVisible(other == dock);
        }
        // In the panels that show a token: one in the middle of the last answer, as a
        // user selects it.
        const QList<Message>& messages = window.core().conversation.messages();
        const bool showsToken = panel == QStringLiteral("experts") || panel == QStringLiteral("dispatch");
        if (showsToken && !messages.isEmpty()) {
            const MessageId answer = messages.last().id;
            window.core().selection.selectToken(answer, window.core().tokens.tokenCount(answer) / 2);
        } else {
            window.core().selection.clearToken();
        }
        dock->raise();
        const bool below = window.dockWidgetArea(dock) == Qt::BottomDockWidgetArea;
        window.resizeDocks({dock}, {below ? window.height() / 2 : window.width() * 2 / 5},
                           below ? Qt::Vertical : Qt::Horizontal);
        pass(300);
        window.resize(whole);  // while all docks were shown it may have had to grow
        if (auto* whatIf = dock->findChild<WhatIfPanel*>()) {
            test::find<QPushButton>(*whatIf, qPrintable(WhatIfPanel::tr("Forecast"))).click();
            waitUntil([&] { return !whatIf->isRunning(); });
        }
        saved = save(window, name(panel)) && saved;
    }
    if (wanted.contains(QStringLiteral("formats"))) {
        engine::ReplanRequest fewerBits;
        fewerBits.quality = engine::QualityFloor{.min_mean_bits = 5};
        window.core().engine.replan(fewerBits);
        auto* experts = window.findChild<ExpertsPanel*>();
        window.findChild<PanelDocks*>()->reset();
        window.findChild<QDockWidget*>(QStringLiteral("expertsDock"))->show();
        window.findChild<QDockWidget*>(QStringLiteral("expertsDock"))->raise();
        window.resize(whole);
        experts->setChannel(ExpertChannel::Precision);
        waitUntil(
            [&] {
                const auto replans = window.core().engine.replans();
                return !replans.empty() && replans.back().state == engine::ReplanState::kDone;
            },
            20000);
        window.core().selection.selectExpert({2, 3});
        saved = save(window, name(QStringLiteral("formats"))) && saved;
        QMenu menu;
        Q_EMIT experts->map().cellMenuRequested({2, 3}, &menu);
        for (QAction* action : menu.actions()) {
            if (action->menu() != nullptr) {
                action->menu()->popup({});
                saved = save(*action->menu(), name(QStringLiteral("formats-menu"))) && saved;
            }
        }
    }
    if (wanted.contains(QStringLiteral("open"))) {
        OpenModelDialog dialog(window.core().engine, &window);
        dialog.show();
        waitUntil([&] { return dialog.view().fits(); });
        saved = save(dialog, name(QStringLiteral("open"))) && saved;
        dialog.resize(380, 640);
        dialog.view().device().setCurrentIndex(0);
        waitUntil([&] { return dialog.view().fits(); });
        saved = save(dialog, name(QStringLiteral("open-narrow"))) && saved;
    }
    return saved ? 0 : 1;
}
