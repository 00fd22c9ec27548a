// The local server in the window: off until the user switches it on, and then served
// between the user's own answers.

#include <future>

#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QFile>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

#include "tests/engine/loopback_client.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/chat/chat_page.h"
#include "ui/server/local_server_page.h"
#include "ui/server/local_server_switch.h"
#include "ui/server/server_indicator.h"
#include "ui/settings/settings_dialog.h"

using namespace offstage::test;
using namespace offstage::ui;

namespace {

quint16 portOf(const WindowFixture& f) {
    return static_cast<quint16>(part<LocalServerSwitch>(*f.window).listensAt().section(u':', -1).toUInt());
}

// A chat request of another program, with the answer to come.
std::future<HttpResponse> request(quint16 port, const QString& token, const std::string& prompt) {
    return std::async(std::launch::async, [port, token = token.toStdString(), prompt] {
        const std::string body = R"({"messages":[{"role":"user","content":")" + prompt + R"("}]})";
        LoopbackClient client(port);
        client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token +
                    "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                    "\r\n\r\n" + body);
        return client.read_response();
    });
}

bool hasCome(const std::future<HttpResponse>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void chooseFromTheMenu(const WindowFixture& f) {
    for (QAction* menu : f.window->menuBar()->actions()) {
        for (QAction* action : menu->menu()->actions()) {
            if (action->text() == QStringLiteral("&Local server…")) {
                action->trigger();
                return;
            }
        }
    }
    QFAIL("no such entry");
}

LocalServerPage& dialogOf(const WindowFixture& f) {
    if (f.window->findChild<SettingsDialog*>() == nullptr) {
        chooseFromTheMenu(f);
    }
    return child<LocalServerPage>(*f.window->findChild<SettingsDialog*>());
}

void click(QAbstractButton& button) {
    QTest::mouseClick(&button, Qt::LeftButton, {}, QPoint(8, button.height() / 2));
}

QString stateOf(const LocalServerPage& dialog) {
    return textOf(dialog, QStringLiteral("State of the local server"));
}

void enterPort(LocalServerPage& dialog, int port) {
    find<QSpinBox>(dialog, "Port").setFocus();
    find<QSpinBox>(dialog, "Port").selectAll();
    QTest::keyClicks(&find<QSpinBox>(dialog, "Port"), QString::number(port));
    QTest::keyClick(&find<QSpinBox>(dialog, "Port"), Qt::Key_Tab);
}

// On a port that is free.
LocalServerPage& switchOn(const WindowFixture& f) {
    LocalServerPage& dialog = dialogOf(f);
    enterPort(dialog, 0);
    click(find<QCheckBox>(dialog, "Local server on"));
    return dialog;
}

std::vector<std::string> promptsOf(const Stage& stage) {
    std::vector<std::string> prompts;
    for (const auto& each : stage.requests()) {
        prompts.push_back(each.messages.empty() ? std::string() : each.messages.back().content);
    }
    return prompts;
}

}  // namespace

class TestLocalServer : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        QSettings().clear();
        QFile::remove(LocalServerSwitch::tokenFile());
    }

    void start_isOff() {
        const WindowFixture f;
        f.window->opener().open(QStringLiteral("/models/fake-moe"));
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        QVERIFY(!part<LocalServerSwitch>(*f.window).isOn());
        QVERIFY(!part<ServerIndicator>(*f.window).isVisible());
        const LocalServerPage& dialog = dialogOf(f);
        QVERIFY(!find<QCheckBox>(dialog, "Local server on").isChecked());
        QVERIFY(!find<QCheckBox>(dialog, "Switch it on when Offstage starts").isChecked());
        QCOMPARE(find<QLineEdit>(dialog, "Address to listen on").text(), QStringLiteral("127.0.0.1"));
        QCOMPARE(find<QSpinBox>(dialog, "Port").value(), 8080);
        QCOMPARE(stateOf(dialog), QStringLiteral("Off"));
        QVERIFY(!QFile::exists(LocalServerSwitch::tokenFile()));  // looking makes none
    }

    void start_isOn_onlyWhereThePersonChoseThat() {
        {
            WindowFixture f;
            switchOn(f);
            QVERIFY(part<LocalServerSwitch>(*f.window).isOn());
        }
        {
            WindowFixture f;  // it was on when the window was closed
            QVERIFY(!part<LocalServerSwitch>(*f.window).isOn());
            click(find<QCheckBox>(dialogOf(f), "Switch it on when Offstage starts"));
            QVERIFY(!part<LocalServerSwitch>(*f.window).isOn());
        }
        const WindowFixture f;
        QVERIFY(part<LocalServerSwitch>(*f.window).isOn());
        QVERIFY(part<ServerIndicator>(*f.window).isVisible());
    }

    void on_answersWhoBringsTheToken() {
        WindowFixture f;
        f.openAndWait();
        const LocalServerPage& dialog = switchOn(f);
        QCOMPARE(textOf(dialog, QStringLiteral("Problem")), QString());
        QVERIFY(part<ServerIndicator>(*f.window).button().isVisible());
        QVERIFY(
            part<ServerIndicator>(*f.window).button().text().contains(part<LocalServerSwitch>(*f.window).listensAt()));
        QCOMPARE(find<QLineEdit>(dialog, "Address for other programs").text(),
                 QStringLiteral("http://127.0.0.1:%1/v1").arg(portOf(f)));
        QCOMPARE(find<QLineEdit>(dialog, "Token").echoMode(), QLineEdit::Password);
        QCOMPARE(QFile::permissions(LocalServerSwitch::tokenFile()) &
                     (QFile::ReadGroup | QFile::ReadOther | QFile::WriteGroup | QFile::WriteOther),
                 QFile::Permissions());
        click(find<QPushButton>(dialog, "Copy"));
        const QString token = QGuiApplication::clipboard()->text();
        QCOMPARE(token.size(), 64);

        auto answer = request(portOf(f), token, "Hello");
        QTRY_VERIFY(hasCome(answer));
        const HttpResponse response = answer.get();
        QCOMPARE(response.status, 200);
        QVERIFY(QString::fromStdString(response.body).contains(QStringLiteral("the fake engine")));
        QTRY_VERIFY(stateOf(dialog).contains(QStringLiteral("1 answered, 0 waiting")));
        QVERIFY(f.messages().isEmpty());  // no part of the user's conversation

        auto stranger = request(portOf(f), QStringLiteral("guessed"), "Hello");
        QTRY_VERIFY(hasCome(stranger));
        QCOMPARE(stranger.get().status, 401);
        QCOMPARE(f.stage->requests().size(), std::size_t{1});
    }

    // The message to a page's author names the window's setting, not the command line's
    // option.
    void otherPages_areToldWhereTheyAreLetIn() {
        WindowFixture f;
        f.openAndWait();
        switchOn(f);
        auto answer = std::async(std::launch::async, [port = portOf(f)] {
            LoopbackClient client(port);
            client.send("GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://localhost:3000\r\n\r\n");
            return client.read_response();
        });
        QTRY_VERIFY(hasCome(answer));
        const HttpResponse response = answer.get();
        QCOMPARE(response.status, 403);
        const QString body = QString::fromStdString(response.body);
        QVERIFY2(body.contains(QStringLiteral("Web pages in Offstage")) && body.contains(QStringLiteral("Settings")),
                 qPrintable(body));
        QVERIFY2(!body.contains(QStringLiteral("--allow-origin")), qPrintable(body));
    }

    void personsAnswer_goesBeforeWaitingRequests() {
        WindowFixture f;
        f.openAndWait();
        const LocalServerPage& dialog = switchOn(f);
        const LocalServerSwitch& server = part<LocalServerSwitch>(*f.window);
        f.stage->heldBack = true;
        auto first = request(portOf(f), server.token(), "first of others");
        QTRY_VERIFY(f.stage->generating);
        QTRY_VERIFY(part<ServerIndicator>(*f.window).stopButton().isVisible());
        auto second = request(portOf(f), server.token(), "second of others");
        QTRY_COMPARE(server.waiting(), quint64{1});
        QVERIFY(stateOf(dialog).contains(QStringLiteral("1 being answered")));
        f.ask(QStringLiteral("mine"));
        QCOMPARE(f.state(), EngineController::State::Generating);
        f.stage->heldBack = false;
        QTRY_COMPARE(f.last().state, Message::State::Done);
        QTRY_VERIFY(hasCome(first) && hasCome(second));
        QCOMPARE(first.get().status, 200);
        QCOMPARE(second.get().status, 200);
        QCOMPARE(promptsOf(*f.stage), (std::vector<std::string>{"first of others", "mine", "second of others"}));
    }

    void stop_endsTheAnswerOfAnotherProgram() {
        WindowFixture f;
        f.openAndWait();
        switchOn(f);
        f.stage->heldBack = true;
        auto answer = request(portOf(f), part<LocalServerSwitch>(*f.window).token(), "Hello");
        QTRY_VERIFY(f.stage->generating);
        QTRY_VERIFY(part<ServerIndicator>(*f.window).stopButton().isVisible());
        QTest::mouseClick(&part<ServerIndicator>(*f.window).stopButton(), Qt::LeftButton);
        QTRY_VERIFY(hasCome(answer));
        QCOMPARE(answer.get().status, 503);
        QTRY_VERIFY(!part<ServerIndicator>(*f.window).stopButton().isVisible());
        QCOMPARE(part<LocalServerSwitch>(*f.window).answered(), quint64{0});
        f.stage->heldBack = false;
        f.ask(QStringLiteral("mine"));
        QTRY_COMPARE(f.last().state, Message::State::Done);
    }

    // A user's Stop need not wait for another program's answer.
    void personsStop_doesNotWaitForOthers() {
        WindowFixture f;
        f.openAndWait();
        switchOn(f);
        f.stage->heldBack = true;
        auto answer = request(portOf(f), part<LocalServerSwitch>(*f.window).token(), "Hello");
        QTRY_VERIFY(f.stage->generating);
        f.ask(QStringLiteral("mine"));
        QCOMPARE(f.state(), EngineController::State::Generating);
        QTest::mouseClick(&part<ChatPage>(*f.window).input().button(), Qt::LeftButton);
        QTRY_COMPARE(f.last().state, Message::State::Stopped);
        QCOMPARE(f.state(), EngineController::State::Ready);
        QVERIFY(!hasCome(answer));
        f.stage->heldBack = false;
        QTRY_VERIFY(hasCome(answer));
        QCOMPARE(answer.get().status, 200);
        QCOMPARE(promptsOf(*f.stage), std::vector<std::string>{"Hello"});
    }

    void anotherModel_endsAnswersAndIsServedThen() {
        WindowFixture f;
        f.openAndWait();
        switchOn(f);
        const QString token = part<LocalServerSwitch>(*f.window).token();
        f.stage->heldBack = true;
        auto first = request(portOf(f), token, "first");
        QTRY_VERIFY(f.stage->generating);
        auto second = request(portOf(f), token, "second");
        QTRY_COMPARE(part<LocalServerSwitch>(*f.window).waiting(), quint64{1});
        Script script = f.stage->script();
        script.name = "other-moe";
        f.stage->setScript(script);
        f.window->opener().open(QStringLiteral("/models/other-moe"));
        QTRY_VERIFY(hasCome(first) && hasCome(second));
        QCOMPARE(first.get().status, 503);
        QCOMPARE(second.get().status, 503);
        QTRY_COMPARE(f.state(), EngineController::State::Ready);
        f.stage->heldBack = false;
        auto third = request(portOf(f), token, "third");
        QTRY_VERIFY(hasCome(third));
        const HttpResponse response = third.get();
        QCOMPARE(response.status, 200);
        QVERIFY(QString::fromStdString(response.body).contains(QStringLiteral("\"other-moe\"")));
        QCOMPARE(promptsOf(*f.stage), (std::vector<std::string>{"first", "third"}));
    }

    void noModel_isAnswered503() {
        WindowFixture f;
        const LocalServerPage& dialog = switchOn(f);
        QVERIFY(stateOf(dialog).contains(QStringLiteral("without a model yet")));
        auto answer = request(portOf(f), part<LocalServerSwitch>(*f.window).token(), "Hello");
        QTRY_VERIFY(hasCome(answer));
        QCOMPARE(answer.get().status, 503);
    }

    void off_freesThePort() {
        WindowFixture f;
        f.openAndWait();
        LocalServerPage& dialog = switchOn(f);
        const quint16 port = portOf(f);
        f.stage->heldBack = true;
        auto answer = request(port, part<LocalServerSwitch>(*f.window).token(), "Hello");
        QTRY_VERIFY(f.stage->generating);
        click(find<QCheckBox>(dialog, "Local server on"));
        QVERIFY(!part<LocalServerSwitch>(*f.window).isOn());
        QVERIFY(!part<ServerIndicator>(*f.window).isVisible());
        QTRY_VERIFY(hasCome(answer));
        QCOMPARE(answer.get().status, 503);
        QVERIFY_EXCEPTION_THROWN(LoopbackClient{port}, std::runtime_error);
        enterPort(dialog, port);
        click(find<QCheckBox>(dialog, "Local server on"));
        QCOMPARE(textOf(dialog, QStringLiteral("Problem")), QString());
        QCOMPARE(portOf(f), port);
    }

    void addressInUse_isTold() {
        WindowFixture f, other;
        switchOn(other);
        LocalServerPage& dialog = dialogOf(f);
        enterPort(dialog, portOf(other));
        click(find<QCheckBox>(dialog, "Local server on"));
        QVERIFY(!part<LocalServerSwitch>(*f.window).isOn());
        QVERIFY(!find<QCheckBox>(dialog, "Local server on").isChecked());
        QVERIFY(textOf(dialog, QStringLiteral("Problem")).contains(QStringLiteral("another program listens there")));
        QVERIFY(part<ServerIndicator>(*f.window).isVisible());  // shown beside the dialog too
        click(find<QCheckBox>(dialogOf(other), "Local server on"));
        click(find<QCheckBox>(dialog, "Local server on"));
        QVERIFY(find<QCheckBox>(dialog, "Local server on").isChecked());
        QCOMPARE(textOf(dialog, QStringLiteral("Problem")), QString());
    }

    void newToken_takesThePlaceOfTheOldOne() {
        WindowFixture f;
        f.openAndWait();
        LocalServerPage& dialog = switchOn(f);
        const QString old = part<LocalServerSwitch>(*f.window).token();
        const quint16 port = portOf(f);
        click(find<QPushButton>(dialog, "New token"));
        QVERIFY(part<LocalServerSwitch>(*f.window).token() != old);
        QCOMPARE(portOf(f), port);
        auto refused = request(port, old, "Hello");
        auto answered = request(port, part<LocalServerSwitch>(*f.window).token(), "Hello");
        QTRY_VERIFY(hasCome(refused) && hasCome(answered));
        QCOMPARE(refused.get().status, 401);
        QCOMPARE(answered.get().status, 200);
    }

    void addressForOthers_isWarnedAbout() {
        WindowFixture f;
        LocalServerPage& dialog = dialogOf(f);
        QVERIFY(!part<LocalServerSwitch>(*f.window).isReachedFromOutside());
        find<QLineEdit>(dialog, "Address to listen on").selectAll();
        QTest::keyClicks(&find<QLineEdit>(dialog, "Address to listen on"), QStringLiteral("0.0.0.0"));
        QVERIFY(part<LocalServerSwitch>(*f.window).isReachedFromOutside());
        find<QLineEdit>(dialog, "Address to listen on").selectAll();
        QTest::keyClicks(&find<QLineEdit>(dialog, "Address to listen on"), QStringLiteral("nowhere"));
        click(find<QCheckBox>(dialog, "Local server on"));
        QVERIFY(!part<LocalServerSwitch>(*f.window).isOn());
        QVERIFY(textOf(dialog, QStringLiteral("Problem")).contains(QStringLiteral("is no address to listen on")));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestLocalServer)
#include "tst_local_server.moc"
