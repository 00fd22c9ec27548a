#pragma once
// Shared by the window's tests: a main() with a separate settings folder, and a window on
// the scripted engine.

#include <memory>

#include <QApplication>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/fake_session.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/input_bar.h"
#include "ui/window/main_window.h"

namespace offstage::test {

// A part of the window, by its type and, where there are several, its name.
template <typename Part>
Part& part(const QObject& window, const char* name = nullptr) {
    Part* found = window.findChild<Part*>(name != nullptr ? QString::fromLatin1(name) : QString());
    if (found == nullptr) {
        qFatal("the window has no %s", Part::staticMetaObject.className());
    }
    return *found;
}

class WindowFixture {
  public:
    // The panel of experts is open, unless a layout is kept or it is the first start. As
    // the program does, it may show the last conversation again. Models write titles only
    // where the test has set that.
    enum class Start { Later, First, WithLastConversation };
    explicit WindowFixture(const Script& script = {}, const QString& demoModel = {}, const QString& historyFolder = {},
                           Start start = Start::Later);
    ~WindowFixture();

    void openAndWait(const QString& model = QStringLiteral("/models/fake-moe"));
    void type(const QString& text);
    void pressEnter();
    void ask(const QString& text) {
        type(text);
        pressEnter();
    }
    void askAndWait(const QString& text);  // until the answer is whole
    // The last message, by value; an empty one if there is none.
    ui::Message last() const;
    QList<ui::Message> messages() const { return window->core().conversation.messages(); }
    ui::EngineController::State state() const { return window->core().engine.state(); }

    std::shared_ptr<Stage> stage;
    std::unique_ptr<ui::MainWindow> window;
};

// The number of events of a type that an object got since this was made.
class EventCount : public QObject {
  public:
    EventCount(QObject& watched, QEvent::Type type) : m_type(type) { watched.installEventFilter(this); }
    int count() const { return m_count; }

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        m_count += event->type() == m_type ? 1 : 0;
        return QObject::eventFilter(watched, event);
    }

  private:
    QEvent::Type m_type;
    int m_count = 0;
};

// The model for tests of the real engine: resources/demo-model, or the file that
// OFFSTAGE_DEMO_MODEL names, the same model in another format.
QString demoModel();
// VRAM of an emulated GPU that holds some of a model's experts but not all:
// `ofTheFolder`, or the size for such a file.
quint64 demoVram(quint64 ofTheFolder, qint64 context);

// Runs a test object headless, with separate settings.
int runHeadless(int argc, char** argv, const std::function<int(int, char**)>& run);

}  // namespace offstage::test

#define OFFSTAGE_UI_TEST_MAIN(TestClass)                                     \
    int main(int argc, char** argv) {                                        \
        return offstage::test::runHeadless(argc, argv, [](int n, char** v) { \
            TestClass test;                                                  \
            return QTest::qExec(&test, n, v);                                \
        });                                                                  \
    }
