#pragma once

#include <memory>

#include <QObject>
#include <QStringList>

namespace offstage::engine {
class LocalServer;
}

namespace offstage::ui {

class EngineController;

// What the person chose for the local server; kept in QSettings.
struct LocalServerChoices {
    static constexpr int kLargestPort = 65535;

    QString address = QStringLiteral("127.0.0.1");  // numeric, IPv6 without brackets, or "localhost"
    int port = 8080;                                // 0: one that is free
    QStringList origins;                            // of web pages that may use it: "http://localhost:3000"
    bool startsWithProgram = false;

    bool operator==(const LocalServerChoices&) const = default;
};

// The window's local server: off until setOn(true). Requests are answered by the engine's thread, one at a time,
// whenever the window wants no answer of its own. GUI thread only; the server's own threads never come here.
class LocalServerSwitch : public QObject {
    Q_OBJECT

  public:
    explicit LocalServerSwitch(EngineController& engine, QObject* parent = nullptr);
    ~LocalServerSwitch() override;  // switches off

    const LocalServerChoices& choices() const { return m_choices; }
    // Where it listens holds from the next time that it is switched on.
    void setChoices(const LocalServerChoices& choices);
    // Whether others than this computer's programs can reach the chosen address.
    bool isReachedFromOutside() const;

    bool isOn() const { return m_server != nullptr; }
    // What is under way when it is switched off is answered 503. Where it cannot be switched on, problem() says why.
    void setOn(bool on);
    // A whole sentence; empty: none.
    const QString& problem() const { return m_problem; }

    // For other programs: "http://127.0.0.1:8080/v1".
    QString url() const;
    QString listensAt() const;  // "127.0.0.1:8080"; empty: nowhere
    QString stateText() const;  // "Listening at 127.0.0.1:8080 · 3 answered, 1 waiting"
    quint64 answered() const { return m_counts.answered; }
    quint64 waiting() const { return m_counts.waiting; }
    bool isAnswering() const;
    void stopAnswer();
    // Meanwhile requests wait.
    void setHeld(bool held);

    // The token that requests bring; empty: none was made yet, or it cannot be read.
    const QString& token() const { return m_token; }
    void readToken();
    // The one before is refused from then on; what is under way is answered 503.
    void renewToken();
    static QString tokenFile();

  Q_SIGNALS:
    void changed();

  private:
    struct Counts {
        quint64 answered = 0, waiting = 0;
        bool operator==(const Counts&) const = default;
    };

    void switchOn();
    void switchOff();
    void serveNext();
    void serveNextSoon();
    void refreshCounts();
    template <typename Act>
    void attempt(Act&& act);

    EngineController& m_engine;
    LocalServerChoices m_choices;
    // Shared with the engine's thread while that answers a request.
    std::shared_ptr<engine::LocalServer> m_server;
    Counts m_counts;
    QString m_token;
    QString m_problem;
    bool m_held = false;
};

}  // namespace offstage::ui
