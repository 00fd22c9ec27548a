// The cost of the live panels: the demo model decodes on an emulated GPU that is paced to
// about 100 tokens a second, in the real window, alternating with every panel open and
// with every panel closed. Prints both medians of tokens per second by the wall clock,
// their ratio, and both medians of the window's thread's load, which other programs
// disturb less.
//
// With --shape the model is a scripted one of so many layers and experts, which writes
// 100 tokens a second and computes nothing: so the cost of its panels depends on their
// size alone.
//
// With --only one panel is opened and closed, by its object's name (a wrong one lists
// them).
//
//   QT_QPA_PLATFORM=offscreen bench_panels [--pairs N] [--tokens N] [--shape 61x256]
//   [--only PANEL]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTimer>

#include "tests/ui/fake_session.h"
#include "ui/window/main_window.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

constexpr int kSettleMs = 600;

// The desktop's card, with such long operation starts that a token of the demo model
// takes about 10 ms.
QString slowProfile(const QString& folder) {
    QFile from(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/hardware/rtx-3060-desktop.json"));
    if (!from.open(QIODevice::ReadOnly)) {
        return {};
    }
    QJsonObject profile = QJsonDocument::fromJson(from.readAll()).object();
    profile[QStringLiteral("launch_us")] = 75.0;
    const QString path = folder + QStringLiteral("/slow.json");
    QFile to(path);
    if (!to.open(QIODevice::WriteOnly)) {
        return {};
    }
    to.write(QJsonDocument(profile).toJson());
    return path;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

void waitFor(EngineController& engine, EngineController::State state) {
    QEventLoop loop;
    QObject::connect(&engine, &EngineController::stateChanged, &loop, [&] {
        if (engine.state() == state) {
            loop.quit();
        }
    });
    if (engine.state() != state) {
        loop.exec();
    }
}

double threadCpuSeconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// The times of every thread but the window's, from Linux's /proc/self/task/*/schedstat.
struct OtherThreads {
    double ran_s = 0, waited_s = 0;  // computing; ready to, while others had the cores

    static OtherThreads now() {
        OtherThreads sum;
        const QDir tasks(QStringLiteral("/proc/self/task"));
        for (const QString& thread : tasks.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            QFile file(tasks.filePath(thread + QStringLiteral("/schedstat")));
            if (thread.toLongLong() == QCoreApplication::applicationPid() || !file.open(QIODevice::ReadOnly)) {
                continue;
            }
            const QList<QByteArray> fields = file.readAll().simplified().split(' ');
            sum.ran_s += fields.value(0).toDouble() / 1e9;
            sum.waited_s += fields.value(1).toDouble() / 1e9;
        }
        return sum;
    }
};

// Printed as medians.
struct Figures {
    std::vector<double> tokensPerSecond;            // by the wall clock, first token to last
    std::vector<double> busy;                       // share of the wall time that the window's thread worked
    std::vector<double> othersBusy, othersWaiting;  // sums over all other threads
};

void decode(MainWindow& window, int tokens, Figures& figures) {
    engine::GenerationRequest request;
    request.messages = {{engine::Role::kUser, "Tell me a story about a fox and a farmer."}};
    request.sampler.temperature = 1.0f;
    request.sampler.seed = 7;
    request.max_tokens = tokens;
    QElapsedTimer clock;
    qint64 first = -1, last = 0;
    qint64 firstTokens = 0, lastTokens = 0;
    const auto connection = QObject::connect(&window.core().engine, &EngineController::streamed, &window,
                                             [&](quint64, const StreamedText& piece) {
                                                 last = clock.nsecsElapsed();
                                                 lastTokens = piece.tokens;
                                                 if (first < 0) {
                                                     first = last;
                                                     firstTokens = lastTokens;
                                                 }
                                             });
    clock.start();
    const double cpuBefore = threadCpuSeconds();
    const OtherThreads before = OtherThreads::now();
    window.core().engine.generate(request);
    waitFor(window.core().engine, EngineController::State::Ready);
    const double elapsed = static_cast<double>(clock.nsecsElapsed()) / 1e9;
    const OtherThreads after = OtherThreads::now();
    figures.busy.push_back((threadCpuSeconds() - cpuBefore) / elapsed);
    figures.othersBusy.push_back((after.ran_s - before.ran_s) / elapsed);
    figures.othersWaiting.push_back((after.waited_s - before.waited_s) / elapsed);
    QObject::disconnect(connection);
    figures.tokensPerSecond.push_back(
        last > first ? static_cast<double>(lastTokens - firstTokens) * 1e9 / static_cast<double>(last - first) : 0);
}

void showPanels(MainWindow& window, bool shown, const QString& only) {
    for (QDockWidget* dock : window.findChildren<QDockWidget*>()) {
        if (!only.isEmpty() && dock->objectName() != only) {
            dock->hide();
            continue;
        }
        dock->setFloating(shown);  // side by side: tabs would hide one another
        dock->setVisible(shown);
    }
    QEventLoop settle;  // docks move into their places
    QTimer::singleShot(kSettleMs, &settle, &QEventLoop::quit);
    settle.exec();
}

std::unique_ptr<engine::Session> scripted(const QString& shape) {
    test::Script script;
    script.layers = shape.section(u'x', 0, 0).toInt();
    script.experts = shape.section(u'x', 1).toInt();
    script.active = std::min<std::int64_t>(8, script.experts / 4);
    script.residents = script.layers * script.experts / 5;
    script.tokensPerSecond = 100;
    script.answer = test::longAnswer(2000);
    script.ignoresEnd = false;
    auto stage = std::make_shared<test::Stage>();
    stage->setScript(script);
    return test::makeFakeSession(stage);
}

int argument(const QStringList& arguments, const QString& name, int otherwise) {
    const qsizetype at = arguments.indexOf(name);
    return at < 0 ? otherwise : arguments.value(at + 1).toInt();
}

}  // namespace

int main(int argc, char** argv) {
    const QTemporaryDir folder;
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder.path());
    QStandardPaths::setTestModeEnabled(true);
    QApplication app(argc, argv);
    const int pairs = argument(QApplication::arguments(), QStringLiteral("--pairs"), 7);
    const int tokens = argument(QApplication::arguments(), QStringLiteral("--tokens"), 150);

    MainWindow::Options options;
    options.models.device = QStringLiteral("emulated:") + slowProfile(folder.path());
    options.models.vramBytes = quint64{16} << 20;
    const qsizetype shapeAt = QApplication::arguments().indexOf(QStringLiteral("--shape"));
    const QString shape = shapeAt < 0 ? QString() : QApplication::arguments().value(shapeAt + 1);
    MainWindow window([shape] { return shape.isEmpty() ? engine::Session::create() : scripted(shape); }, options);
    window.resize(1280, 800);
    window.show();
    window.opener().open(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model"));
    waitFor(window.core().engine, EngineController::State::Ready);
    Figures warm, open, closed;
    decode(window, 20, warm);
    const qsizetype onlyAt = QApplication::arguments().indexOf(QStringLiteral("--only"));
    const QString only = onlyAt < 0 ? QString() : QApplication::arguments().value(onlyAt + 1);
    if (onlyAt >= 0 && window.findChild<QDockWidget*>(only) == nullptr) {
        for (const QDockWidget* dock : window.findChildren<QDockWidget*>()) {
            std::printf("%s\n", qPrintable(dock->objectName()));
        }
        return 1;
    }
    for (int i = 0; i < pairs; ++i) {
        for (const bool shown : {i % 2 == 0, i % 2 != 0}) {
            showPanels(window, shown, only);
            decode(window, tokens, shown ? open : closed);
        }
    }
    const double openSpeed = median(open.tokensPerSecond), closedSpeed = median(closed.tokensPerSecond);
    std::printf("tokens/s, median of %d: all panels open %.2f, all closed %.2f, ratio %.4f\n", pairs, openSpeed,
                closedSpeed, openSpeed / closedSpeed);
    std::printf("window's thread busy: open %.2f %%, closed %.2f %%\n", 100 * median(open.busy),
                100 * median(closed.busy));
    std::printf(
        "all other threads: busy open %.2f %%, closed %.2f %%; waiting for a core open %.2f %%, closed %.2f %%\n",
        100 * median(open.othersBusy), 100 * median(closed.othersBusy), 100 * median(open.othersWaiting),
        100 * median(closed.othersWaiting));
    return 0;
}
