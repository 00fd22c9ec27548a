// The window program: its command line, and the creation of its parts.
#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QPixmap>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTextStream>
#include <QTimer>

#include "app/machine_network.h"
#include "app/process_setup.h"
#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "ui/base/language.h"
#include "ui/settings/cache_place.h"
#include "ui/settings/settings_format.h"
#include "ui/window/main_window.h"
#include "ui/window/one_instance.h"

using offstage::ui::MainWindow;

namespace {

// The small model that comes with Offstage: in the environment's place, in the source
// tree of a build, or installed.
QString findDemoModel() {
    const QDir here(QCoreApplication::applicationDirPath());
    const QStringList places = {qEnvironmentVariable("OFFSTAGE_DEMO_MODEL"),
                                here.filePath(QStringLiteral("../../../resources/demo-model")),
                                here.filePath(QStringLiteral("../share/offstage/demo-model"))};
    for (const QString& place : places) {
        // Looks for config.json: the source tree has the folder even if the model itself
        // was not made yet.
        if (!place.isEmpty() && QFileInfo::exists(place + QStringLiteral("/config.json"))) {
            return QFileInfo(place).canonicalFilePath();
        }
    }
    return {};
}

struct Main {
    Q_DECLARE_TR_FUNCTIONS(main)
};

[[noreturn]] void refuse(const QString& sentence) {
    QTextStream(stderr) << sentence << '\n';
    std::exit(2);
}

// Ends the program where the option has a value of another form than the expected one.
void expect(bool isRight, const QCommandLineParser& parser, const char* option, const QString& form) {
    if (parser.isSet(QLatin1String(option)) && !isRight) {
        refuse(
            Main::tr("--%1 %2: expected is %3.").arg(QLatin1String(option), parser.value(QLatin1String(option)), form));
    }
}

// "1280x800"; nothing: it is of another form.
std::optional<QSize> sizeOf(const QString& text) {
    static const QRegularExpression form(QStringLiteral("^([1-9][0-9]{0,4})x([1-9][0-9]{0,4})$"));
    const QRegularExpressionMatch sides = form.match(text);
    return sides.hasMatch() ? std::optional(QSize(sides.captured(1).toInt(), sides.captured(2).toInt())) : std::nullopt;
}

struct CommandLine {
    QString model;
    QString prompt;
    QString screenshot;
    QSize size;
    bool separate = false;  // beside a window that is open
    bool newChat = false;
    MainWindow::Options window;
};

CommandLine parse(const QApplication& app) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        Main::tr("Chat with Mixture-of-Experts models that do not fit into the GPU's memory."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(QStringLiteral("model"),
                                 Main::tr("Folder or file of a model; without it, the last one, or the demo model."),
                                 QStringLiteral("[MODEL]"));
    const QCommandLineOption prompt(QStringLiteral("prompt"), Main::tr("Send this as soon as the model is ready."),
                                    QStringLiteral("TEXT"));
    const QCommandLineOption theme(QStringLiteral("theme"), Main::tr("Colours: system, light or dark."),
                                   QStringLiteral("THEME"));
    const QCommandLineOption screenshot(
        QStringLiteral("screenshot"), Main::tr("Wait for the answer, save a picture of the window to FILE, and quit."),
        QStringLiteral("FILE"));
    const QCommandLineOption device(
        QStringLiteral("device"),
        Main::tr("Where the model runs: cpu, cuda, cuda:N or emulated:PROFILE, for example emulated:rtx-3060."),
        QStringLiteral("DEVICE"));
    const QCommandLineOption vram(QStringLiteral("vram"), Main::tr("Budget of GPU memory, for example 8GiB."),
                                  QStringLiteral("SIZE"));
    const QCommandLineOption language(QStringLiteral("language"), Main::tr("Language of the window: en, de or vi."),
                                      QStringLiteral("CODE"));
    const QCommandLineOption size(QStringLiteral("size"), Main::tr("Size of the window, for example 1280x800."),
                                  QStringLiteral("WxH"));
    const QCommandLineOption separate(QStringLiteral("separate"),
                                      Main::tr("Do not use the window that is open: open another one."));
    const QCommandLineOption newChat(QStringLiteral("new-chat"),
                                     Main::tr("Begin with a new conversation, not with the last one."));
    parser.addOptions({prompt, theme, screenshot, size, device, vram, language, separate, newChat});
    parser.process(app);

    CommandLine line;
    line.model = parser.positionalArguments().value(0);
    if (const QFileInfo file(line.model); file.exists()) {  // dialogs begin beside it
        line.model = file.absoluteFilePath();
    }
    line.prompt = parser.value(prompt);
    line.screenshot = parser.value(screenshot);
    line.separate = parser.isSet(separate) || !line.screenshot.isEmpty();
    line.newChat = parser.isSet(newChat);
    line.window.reopensLast = !line.newChat && line.prompt.isEmpty() && line.screenshot.isEmpty();
    const std::optional<QSize> sides = sizeOf(parser.value(size));
    expect(sides.has_value(), parser, "size", Main::tr("WIDTHxHEIGHT, for example 1280x800"));
    line.size = sides.value_or(QSize());
    const QString named = parser.value(theme).toLower();
    expect(named == offstage::ui::nameOf(offstage::ui::themeFromName(named)), parser, "theme",
           Main::tr("system, light or dark"));
    expect(offstage::ui::isLanguage(parser.value(language)), parser, "language", Main::tr("en, de or vi"));
    const QString chosen = parser.isSet(theme) ? parser.value(theme) : qEnvironmentVariable("OFFSTAGE_THEME");
    if (!chosen.isEmpty()) {
        line.window.theme = offstage::ui::themeFromName(chosen);
    }
    line.window.models.demoModel = findDemoModel();
    line.window.models.looksAtFilesFirst = true;
    line.window.models.modelPlaces = offstage::engine::model_places();
    line.window.historyFolder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
    line.window.models.device = parser.value(device);
    line.window.machines = offstage::machine_network();
    if (parser.isSet(vram)) {
        try {
            line.window.models.vramBytes = offstage::engine::parse_bytes(parser.value(vram).toStdString(), "--vram");
        } catch (const offstage::engine::Error& error) {
            refuse(QString::fromUtf8(error.what()));
        }
    }
    return line;
}

// Whether a window can be opened, as far as is known before Qt tries: it ends the program
// where it cannot.
bool hasDisplay(int argc, char** argv) {
    const auto isPlatform = [](const char* argument) {
        return std::strcmp(argument, "-platform") == 0 || std::strcmp(argument, "--platform") == 0;
    };
    return !qEnvironmentVariableIsEmpty("DISPLAY") || !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY") ||
           !qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM") || std::any_of(argv, argv + argc, isPlatform);
}

// Whether one of the texts is asked for that are printed without a window.
bool asksForText(int argc, char** argv) {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        for (const char* each : {"-h", "--help", "--help-all", "-v", "--version"}) {
            if (std::strcmp(argv[i], each) == 0 && std::strcmp(argv[i - 1], "--prompt") != 0) {
                return true;
            }
        }
    }
    return false;
}

// Before the parser, whose own texts need the language: the value of --language, or of
// the environment.
QString namedLanguage(const QStringList& arguments) {
    for (qsizetype i = 1; i < arguments.size(); ++i) {
        if (arguments[i] == QStringLiteral("--language")) {
            return arguments.value(i + 1);
        }
        if (arguments[i].startsWith(QStringLiteral("--language="))) {
            return arguments[i].section(u'=', 1);
        }
    }
    return qEnvironmentVariable("OFFSTAGE_LANGUAGE");
}

// Waits until all work is done, then saves the picture and quits.
void takeScreenshot(MainWindow& window, const QString& file, bool prompted) {
    using Engine = offstage::ui::EngineController;
    auto* settled = new QTimer(&window);
    settled->setSingleShot(true);
    settled->setInterval(600);  // for the last paint and the panels' last poll
    QObject::connect(settled, &QTimer::timeout, &window, [&window, file] {
        const bool saved = window.grab().save(file);
        if (!saved) {
            QTextStream(stderr) << Main::tr("Cannot write the picture %1.\n").arg(file);
        }
        QCoreApplication::exit(saved ? 0 : 1);
    });
    const auto check = [&window, settled, prompted] {
        const auto state = window.core().engine.state();
        const bool rests = state == Engine::State::Ready || state == Engine::State::NoModel;
        const bool done = rests && !window.core().chat.hasWaitingPrompt();
        if (done && (!prompted || !window.core().conversation.isEmpty())) {
            settled->start();
        } else {
            settled->stop();
        }
    };
    QObject::connect(&window.core().engine, &Engine::stateChanged, &window, check);
    check();
}

}  // namespace

int main(int argc, char** argv) {
    if (!offstage::set_up_process()) {
        std::perror("offstage: /dev/null");
        return 1;
    }
    // Without a display the command line is still read, and what it asks for is printed.
    const bool canShow = hasDisplay(argc, argv) && !asksForText(argc, argv);
    if (!canShow) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    QApplication app(argc, argv);
    std::setlocale(LC_NUMERIC, "C");  // Qt took the user's, in which printf() writes 1,5
    QApplication::setOrganizationName(QStringLiteral("Offstage"));
    QApplication::setApplicationName(QStringLiteral("offstage"));
    QApplication::setApplicationDisplayName(QStringLiteral("Offstage"));
    QApplication::setApplicationVersion(QStringLiteral(OFFSTAGE_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("offstage"));
    offstage::ui::useSettingsFormat();
    offstage::ui::CachePlace::apply();

    offstage::ui::speak(app, offstage::ui::chosenLanguage(namedLanguage(QApplication::arguments())));
    CommandLine line = parse(app);
    if (!canShow) {
        QTextStream(stderr) << Main::tr(
            "There is no display for a window. “offstage-cli chat” talks in the "
            "terminal.\n");
        return 1;
    }
    offstage::ui::OneInstance instance(line.window.historyFolder);
    // Another window may show that conversation, and what is typed is stored with it.
    line.window.reopensLast = line.window.reopensLast && instance.isFirst();
    if (!instance.isFirst() && !line.separate) {
        if (instance.handOver({line.model, line.prompt, line.newChat})) {
            return 0;
        }
    }
    MainWindow window([] { return offstage::engine::Session::create(); }, line.window);
    if (line.size.isValid()) {
        window.resize(line.size);
    } else {
        window.fitToScreen();
    }
    window.show();
    QObject::connect(&instance, &offstage::ui::OneInstance::asked, &window, &MainWindow::handle);
    if (!instance.isFirst() && line.screenshot.isEmpty()) {
        offstage::ui::Problem notice;
        notice.title = Main::tr("Another window of Offstage is open");
        notice.sentence = Main::tr(
            "Both have the same conversations. What is written in one of them is shown in the "
            "other after its next start.");
        window.core().chat.showNotice(notice);
    }

    // The window first, then the model: prompts typed meanwhile wait.
    QTimer::singleShot(0, &window, [&] {
        const QString model = line.model.isEmpty() ? window.opener().modelToBeginWith() : line.model;
        window.handle({model, line.prompt, false});
        if (!line.screenshot.isEmpty()) {
            takeScreenshot(window, line.screenshot, !line.prompt.isEmpty());
        }
    });
    return QApplication::exec();
}
