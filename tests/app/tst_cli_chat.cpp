// offstage-cli chat on a terminal: keys, pastes and signals, through a pseudo-terminal.

#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli_runner.h"

namespace {

using offstage::test::cliProgram;
using offstage::test::runCli;
using offstage::test::words;

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
constexpr auto kPasteBegin = "\x1b[200~", kPasteEnd = "\x1b[201~";

// The program on a separate terminal. Its chat template refuses every message and echoes
// it: nothing has to be computed.
class Terminal {
  public:
    explicit Terminal(const char* kind = "xterm") {
        QFile file(m_folder.filePath(QStringLiteral("echo.jinja")));
        if (!file.open(QIODevice::WriteOnly)) return;
        file.write(
            "{% set text = messages[-1].content %}"
            "{{ raise_exception('<<' ~ text | length ~ ':' ~ text[:60] | replace('\\n', '/') ~ ':' ~ "
            "text[-3:] | replace('\\n', '/') ~ '>>') }}");
        file.close();
        const QByteArray program = cliProgram().toUtf8(), model = kDemo.toUtf8(), echo = file.fileName().toUtf8();
        const QByteArray cache = m_folder.path().toUtf8();
        winsize size{24, 80, 0, 0};
        m_process = forkpty(&m_terminal, nullptr, nullptr, &size);
        if (m_process != 0) return;
        setenv("XDG_CACHE_HOME", cache.constData(), 1);
        setenv("HOME", cache.constData(), 1);
        if (kind != nullptr) setenv("TERM", kind, 1);
        if (kind == nullptr) unsetenv("TERM");
        execl(program.constData(), "offstage-cli", "chat", "--model", model.constData(), "--chat-template",
              echo.constData(), "--threads", "1", nullptr);
        _exit(127);
    }
    ~Terminal() {
        kill(m_process, SIGKILL);
        waitpid(m_process, nullptr, 0);
        close(m_terminal);
    }

    // Its output up to and including `text`; all output of a minute if that does not
    // come.
    QByteArray until(const QByteArray& text) {
        QElapsedTimer timer;
        timer.start();
        while (!m_pending.contains(text) && timer.elapsed() < 60'000) {
            pollfd input{m_terminal, POLLIN, 0};
            if (poll(&input, 1, 100) <= 0) continue;
            char bytes[4096];
            const ssize_t n = read(m_terminal, bytes, sizeof bytes);
            if (n <= 0) break;  // it has ended
            m_pending.append(bytes, n);
            m_all.append(bytes, n);
        }
        const qsizetype at = m_pending.indexOf(text);
        const QByteArray seen = m_pending.left(at < 0 ? m_pending.size() : at + text.size());
        m_pending.remove(0, seen.size());
        return seen;
    }
    // In pieces, as a terminal sends input that is longer than its buffer.
    void send(const QByteArray& keys) {
        for (qsizetype at = 0; at < keys.size(); at += 1024) {
            const QByteArray piece = keys.mid(at, 1024);
            QCOMPARE(write(m_terminal, piece.constData(), static_cast<std::size_t>(piece.size())), piece.size());
        }
    }
    // The next message as it was understood: its length in characters, its beginning and
    // its end.
    QByteArray message() {
        QByteArray text = until(">>");
        text = text.mid(text.lastIndexOf("<<") + 2);
        return text.chopped(2);
    }
    int endStatus() {
        until("no such text");
        int status = -1;
        return waitpid(m_process, &status, 0) == m_process && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    void resize(unsigned short columns) {
        winsize size{24, columns, 0, 0};
        QCOMPARE(ioctl(m_terminal, TIOCSWINSZ, &size), 0);
    }
    int terminal() const { return m_terminal; }
    QByteArray all() const { return m_all; }

  private:
    QTemporaryDir m_folder;
    int m_terminal = -1;
    pid_t m_process = -1;
    QByteArray m_all, m_pending;
};

QByteArray paste(const QByteArray& text) {
    return kPasteBegin + text + kPasteEnd;
}

}  // namespace

class TestCliChat : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void keys_makeAMessage_data() {
        QTest::addColumn<QByteArray>("kind");
        QTest::addColumn<QByteArray>("keys");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* name, const QByteArray& keys, const QByteArray& message,
                            const char* kind = "xterm") { QTest::newRow(name) << QByteArray(kind) << keys << message; };
        row("a line", "Hello\n", "5:Hello:llo");
        row("a paste of three lines", paste("one\rtwo\rthree") + "\n", "13:one/two/three:ree");
        row("a paste that ends with a line", paste("one\rtwo\r") + "\n", "7:one/two:two");
        row("a paste of lines as Windows ends them", paste("one\r\ntwo\r\n") + "\n", "7:one/two:two");
        row("the same without bracketed paste", "one\r\ntwo\r\nthree\r", "13:one/two/three:ree", "dumb");
        row("Enter", "Hello\r", "5:Hello:llo");
        row("a paste within a line", "ab" + paste("1\n2") + "c\n", "6:ab1/2c:/2c");
        row("a paste with Ctrl+D in it",
            paste("a\x04"
                  "b") +
                "\n",
            "2:ab:ab");
        row("a paste with control characters", paste("a\x01\x1b[31mbc") + "\n", "7:a[31mbc:mbc");
        row("three lines at once, without bracketed paste", "one\ntwo\nthree\n", "13:one/two/three:ree");
        row("the same of a dumb terminal", "one\ntwo\nthree\n", "13:one/two/three:ree", "dumb");
        row("a long line", QByteArray(20'000, 'x') + "end\n", "20003:" + QByteArray(60, 'x') + ":end");
        row("a long paste", paste(QByteArray(20'000, 'x') + "\nend") + "\n", "20004:" + QByteArray(60, 'x') + ":end");
        row("a long line of a dumb terminal", QByteArray(5'000, 'x') + "end\n", "5003:" + QByteArray(60, 'x') + ":end",
            "dumb");
        row("wide characters, one taken back", "漢字\x7f語\n", "2:漢語:漢語");
        row("a combining character", "e\u0301a\n", "3:e\u0301a:e\u0301a");
        row("an emoji", "🙂!\n", "2:🙂!:🙂!");
        row("bytes that are no UTF-8",
            "a\xff"
            "b\n",
            "3:a\uFFFDb:a\uFFFDb");
        row("Left, Home and Delete", "bcx\x1b[D\x1b[D\x1b[Da\x1b[3~\n", "3:acx:acx");
    }
    void keys_makeAMessage() {
        QFETCH(QByteArray, kind);
        QFETCH(QByteArray, keys);
        QFETCH(QByteArray, message);
        Terminal terminal(kind.constData());
        terminal.until("\n> ");
        terminal.send(keys);
        const QByteArray understood = terminal.message();
        QVERIFY2(understood.startsWith(message), (understood + "\n" + terminal.all()).constData());
        terminal.until("> ");
        terminal.send("/quit\n");
        QCOMPARE(terminal.endStatus(), 0);
        QCOMPARE(terminal.all().contains("\x1b[?2004h"), kind == "xterm");
    }

    void lineWithASlash_isACommandOrText() {
        Terminal terminal;
        terminal.until("\n> ");
        terminal.send("/nosuch 1\n");
        const QByteArray refused = terminal.until("a blank before it.");
        QVERIFY2(refused.contains("\"/nosuch\" is no command here; there are /new and /quit."), refused.constData());
        for (const QByteArray text : {" /nosuch", "/usr/bin", "// a comment"}) {
            terminal.until("> ");
            terminal.send(text + "\n");
            QVERIFY(terminal.message().startsWith(QByteArray::number(text.size()) + ":" + text + ":"));
        }
    }

    void history_givesTheLastMessageAgain() {
        Terminal terminal;
        terminal.until("\n> ");
        terminal.send(paste("one\ntwo") + "\n");
        QCOMPARE(terminal.message(), QByteArray("7:one/two:two"));
        terminal.until("> ");
        terminal.send("\x1b[A!\n");
        QCOMPARE(terminal.message(), QByteArray("8:one/two!:wo!"));
    }

    void ctrlD_andCtrlC_endIt_andLeaveTheTerminalAsItWas_data() {
        QTest::addColumn<char>("key");
        QTest::addColumn<QByteArray>("before");
        QTest::newRow("Ctrl+D") << '\x04' << QByteArray();
        QTest::newRow("Ctrl+C") << '\x03' << QByteArray("begun");
        // The end of a paste never came: a terminal that was cut off.
        QTest::newRow("Ctrl+D in a paste") << '\x04' << kPasteBegin + QByteArray("begun\rtwo");
        QTest::newRow("Ctrl+C in a paste") << '\x03' << kPasteBegin + QByteArray("begun\rtwo");
    }
    void ctrlD_andCtrlC_endIt_andLeaveTheTerminalAsItWas() {
        QFETCH(char, key);
        QFETCH(QByteArray, before);
        Terminal terminal;
        termios outside{}, within{}, after{};
        tcgetattr(terminal.terminal(), &outside);
        terminal.until("\n> ");
        tcgetattr(terminal.terminal(), &within);
        QCOMPARE(within.c_lflag & static_cast<tcflag_t>(ICANON), tcflag_t{0});
        terminal.send(before);
        if (!before.isEmpty()) QTest::qWait(300);  // typed after it, not with it
        terminal.send(QByteArray(1, key));
        const int status = terminal.endStatus();
        QCOMPARE(status, 0);
        QVERIFY(terminal.all().endsWith("\x1b[?2004l") || terminal.all().contains("\x1b[?2004l"));
        if (tcgetattr(terminal.terminal(), &after) == 0) QCOMPARE(after.c_lflag, outside.c_lflag);
    }

    void aTerminalOfAnotherSize_losesNothing() {
        Terminal terminal;
        terminal.until("\n> ");
        terminal.send(QByteArray(100, 'x'));
        terminal.until("xxxxx");
        terminal.resize(30);
        terminal.send(" after\n");
        QCOMPARE(terminal.message(), "106:" + QByteArray(60, 'x') + ":ter");
    }

    void withoutTerm_linesAreRead() {
        Terminal terminal(nullptr);
        terminal.until("\n> ");
        terminal.send("Hello\n");
        QCOMPARE(terminal.message(), QByteArray("5:Hello:llo"));
    }

    // The demo model knows the program as it was when it was trained. Any other question is
    // its own, and so is the text of generate, which says so.
    void questionsAboutTheProgram_areTheManuals() {
        const QByteArray question = "Can you open GGUF files?", sum = "What is 47 + 38?";
        const QString options = QStringLiteral("--model %1 --threads 1 --temperature 0 --max-tokens 40");
        const auto chat = runCli(words(QStringLiteral("chat ") + options, {kDemo}), question + '\n' + sum + '\n');
        QCOMPARE(chat.status, 0);
        QVERIFY2(chat.out.contains("safetensors") && chat.out.contains("Families: ") &&
                     chat.out.contains("[from the manual: offstage-cli help models]"),
                 chat.out.constData());
        QVERIFY2(!chat.out.contains("yet") && chat.out.contains("85"), chat.out.constData());
        QCOMPARE(chat.out.count("tokens/s"), 1);
        const auto generate = [&](const QByteArray& prompt, const char* more) {
            return runCli(words(QStringLiteral("generate ") + options + QLatin1String(more), {kDemo}) +
                          QStringList{QStringLiteral("--prompt"), QString::fromUtf8(prompt)});
        };
        const auto asked = generate(question, "");
        QCOMPARE(asked.status, 0);
        QVERIFY2(asked.err.contains("\"offstage-cli help models\"") && !asked.out.contains("offstage-cli help"),
                 (asked.err + asked.out).constData());
        QVERIFY(!generate(sum, "").err.contains("offstage-cli help"));
        QVERIFY(!generate(question, " --raw").err.contains("offstage-cli help"));
    }

    // Each line of a pipe is a message, as ever; --prompt-file - takes all of it as one.
    void pipedLines_areMessages_orOneByAnOption() {
        const QTemporaryDir folder;
        QFile echo(folder.filePath(QStringLiteral("echo.jinja")));
        QVERIFY(echo.open(QIODevice::WriteOnly));
        echo.write("{{ raise_exception('<<' ~ messages[-1].content | replace('\\n', '/') ~ '>>') }}");
        echo.close();
        const QStringList base =
            words(QStringLiteral("chat --model %1 --chat-template %2 --threads 1"), {kDemo, echo.fileName()});
        const auto lines = runCli(base, "one\ntwo\n");
        QVERIFY2(lines.err.contains("<<one>>") && lines.err.contains("<<two>>"), lines.err.constData());
        for (const char* option : {"--prompt-file -", "--prompt -"}) {
            const auto whole = runCli(base + words(QLatin1String(option)), "one\ntwo\n");
            QVERIFY2(whole.err.contains("<<one/two>>"), whole.err.constData());
            QCOMPARE(whole.err.count("<<"), 1);
        }
    }
};

QTEST_GUILESS_MAIN(TestCliChat)
#include "tst_cli_chat.moc"
