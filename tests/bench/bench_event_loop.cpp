// How long the window's thread is busy without a break while an answer of 20,000 tokens
// with tables and code streams, beside the same window idle: the longest turn of the
// event loop of each run, by the thread's CPU time and by the wall clock, and the median
// of the runs. Then how soon Stop responds, and, with --kinds, the same for long texts of
// one kind. The limit is a frame of a 60 Hz screen, 16.7 ms.
//
//   QT_QPA_PLATFORM=offscreen bench_event_loop [--runs N] [--kinds]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include <QAction>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>

#include "tests/ui/message_widgets.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"

using namespace offstage;
using namespace offstage::ui;

namespace {

constexpr int kSettleMs = 300;
constexpr int kIdleMs = 2000;
constexpr int kResizeMs = 1500;

double threadCpuMs() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1000.0 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e6;
}

double share(std::vector<double> values, double at) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1))];
}

double median(const std::vector<double>& values) {
    return share(values, 0.5);
}

// A timer of 1 ms that records, at each turn, the time since the last one: by the wall
// clock, which includes other programs' time, and in this thread's CPU time, which does
// not, and is 0 while the loop waits. (A virtual machine's host takes time from both.)
class LoopProbe {
  public:
    LoopProbe() {
        QObject::connect(&m_timer, &QTimer::timeout, [this] { turn(); });
        m_timer.setTimerType(Qt::PreciseTimer);
        m_cpuBefore = threadCpuMs();
        m_clock.start();
        m_timer.start(1);
    }

    void report(const char* what) {
        m_timer.stop();
        std::printf(
            "  %-10s %5zu turns; CPU: median %.2f, 99 %% %.2f, longest %.2f ms; wall: 99 %% %.2f, longest %.2f ms\n",
            what, m_cpu.size(), median(m_cpu), share(m_cpu, 0.99), longestCpu(), share(m_wall, 0.99), longestWall());
        std::fflush(stdout);
    }
    double longestCpu() const { return share(m_cpu, 1); }
    double longestWall() const { return share(m_wall, 1); }

  private:
    void turn() {
        const double cpu = threadCpuMs();
        m_cpu.push_back(cpu - std::exchange(m_cpuBefore, cpu));
        m_wall.push_back(static_cast<double>(m_clock.nsecsElapsed()) / 1e6);
        m_clock.start();
    }

    QTimer m_timer;
    double m_cpuBefore = 0;
    QElapsedTimer m_clock;
    std::vector<double> m_cpu;
    std::vector<double> m_wall;
};

struct Longest {
    std::vector<double> cpu, wall;
    void add(const LoopProbe& probe) {
        cpu.push_back(probe.longestCpu());
        wall.push_back(probe.longestWall());
    }
    void report(const char* what) const {
        std::printf("longest turn, %s, median of %zu: CPU %.1f ms, wall %.1f ms\n", what, cpu.size(), median(cpu),
                    median(wall));
    }
};

// exec(), not processEvents(): the loop sleeps and wakes as in normal use.
void turnFor(int ms) {
    QEventLoop loop;
    QTimer::singleShot(ms, &loop, &QEventLoop::quit);
    loop.exec();
}

void turnUntil(EngineController& engine, EngineController::State state) {
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

void openModel(test::WindowFixture& f) {
    f.window->resize(1280, 800);
    f.window->opener().open(QStringLiteral("/models/fake-moe"));
    turnUntil(f.window->core().engine, EngineController::State::Ready);
    turnFor(kSettleMs);
}

void answer(test::WindowFixture& f) {
    f.pressEnter();
    turnUntil(f.window->core().engine, EngineController::State::Generating);
    turnUntil(f.window->core().engine, EngineController::State::Ready);
    turnFor(100);  // so that the last output is shown too
}

void longAnswer(int runs) {
    test::Script script;
    script.answer = test::longAnswer(20'000);
    script.tokensPerSecond = 4000;
    script.context = 100'000;
    Longest idle, streaming;
    for (int run = 0; run < runs; ++run) {
        test::WindowFixture f(script);
        openModel(f);
        {
            LoopProbe probe;
            turnFor(kIdleMs);
            probe.report("idle");
            idle.add(probe);
        }
        f.type(QStringLiteral("a long answer, please"));
        turnFor(100);
        {
            LoopProbe probe;
            answer(f);
            probe.report("streaming");
            streaming.add(probe);
        }
        const auto& view = test::part<ChatPage>(*f.window).view();
        const Message last = f.last();
        std::printf("  %lld tokens at %.0f per second, %d paints of text; %d documents alive\n",
                    last.figures ? static_cast<long long>(last.figures->tokensOut) : 0LL,
                    last.figures ? last.figures->tokensPerSecond : 0.0, view.pacer().turns(),
                    test::documentCount(view));
        // A narrower window lays out the long answer again.
        LoopProbe probe;
        f.window->resize(900, 700);
        turnFor(kResizeMs);
        probe.report("resized");
    }
    idle.report("idle");
    streaming.report("streaming 20,000 tokens");
}

void oneKind(const char* name, const QString& head, const QString& piece, int runs) {
    test::Script script;
    script.answer = (head + piece.repeated(60'000 / piece.size())).toStdString();
    script.bytesPerToken = 16;
    script.tokensPerSecond = 1500;
    script.context = 100'000;
    Longest longest;
    for (int run = 0; run < runs; ++run) {
        test::WindowFixture f(script);
        openModel(f);
        f.type(QStringLiteral("go"));
        turnFor(100);
        LoopProbe probe;
        answer(f);
        probe.report(name);
        longest.add(probe);
    }
    longest.report(name);
}

// With the real engine on the demo model, which would hardly ever end at this
// temperature.
void stopping(int presses) {
    MainWindow::Options options;
    options.models.device = QStringLiteral("cpu");
    MainWindow window([] { return engine::Session::create(); }, options);
    window.resize(1280, 800);
    window.show();
    window.opener().open(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model"));
    turnUntil(window.core().engine, EngineController::State::Ready);
    Sampling sampling = window.core().chat.sampling();
    sampling.sampler.temperature = 100;
    sampling.sampler.seed = 4;
    window.core().chat.setSampling(sampling);
    turnFor(kSettleMs);
    std::vector<double> pressed, ended;
    for (int i = 0; i < presses; ++i) {
        test::part<QAction>(window, "newConversation").trigger();
        window.core().chat.send(QStringLiteral("Tell me a story."));
        QEventLoop begins;
        QObject::connect(&window.core().engine, &EngineController::streamed, &begins, &QEventLoop::quit);
        begins.exec();
        if (window.core().engine.state() != EngineController::State::Generating) {
            continue;  // it has ended by itself
        }
        QElapsedTimer clock;
        clock.start();
        QTest::keyClick(&test::part<ChatPage>(window).input().edit(), Qt::Key_Escape);
        pressed.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
        turnUntil(window.core().engine, EngineController::State::Ready);
        ended.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
    }
    std::printf(
        "Stop on the demo model, median of %zu: the key takes %.2f ms, the answer has ended after %.1f ms (longest "
        "%.1f)\n",
        ended.size(), median(pressed), median(ended), share(ended, 1));
}

}  // namespace

int main(int argc, char** argv) {
    return test::runHeadless(argc, argv, [](int, char**) {
        const QStringList arguments = QApplication::arguments();
        const qsizetype at = arguments.indexOf(QStringLiteral("--runs"));
        const int runs = std::max(1, at < 0 ? 7 : arguments.value(at + 1).toInt());
        longAnswer(runs);
        stopping(9);
        if (arguments.contains(QStringLiteral("--kinds"))) {
            oneKind("table", QStringLiteral("| a | b | c |\n|---|---|---|\n"),
                    QStringLiteral("| cell | another *cell* | third |\n"), runs);
            oneKind("code", QStringLiteral("```\n"), QStringLiteral("for (int i = 0; i < n; ++i) { sum += a[i]; }\n"),
                    runs);
            oneKind("one line", {}, QStringLiteral("words without an end and without a line "), runs);
            oneKind("list", {}, QStringLiteral("- a point of a list that does not end\n"), runs);
        }
        return 0;
    });
}
