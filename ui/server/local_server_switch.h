#pragma once

#include <memory>

#include <QObject>
#include <QStringList>

#include "ui/base/settings.h"

namespace offstage::engine {
class ApiServer;
}

namespace offstage::ui {

class EngineController;

// The user's settings of the local server; stored in QSettings.
struct LocalServerChoices {
    static constexpr int kLargestPort = 65535;

    QString address = settings::kServerAddress.fallback;  // numeric, IPv6 without brackets, or "localhost"
    int port = settings::kServerPort.fallback;            // 0: a free one
    QStringList origins;                                  // of web pages that may use it: "http://localhost:3000"
    bool startsWithProgram = false;

    bool operator==(const LocalServerChoices&) const = default;
};

// The window's local server: off until setOn(true). The engine's thread answers requests,
// a few at a time, between the window's own answers. GUI thread only; the server's own
// threads never use this object.
class LocalServerSwitch : public QObject {
    Q_OBJECT

  public:
    explicit LocalServerSwitch(EngineController& engine, QObject* parent = nullptr);
    ~LocalServerSwitch() override;  // switches off

    const LocalServerChoices& choices() const { return m_choices; }
    // The address applies from the next time that it is switched on.
    void setChoices(const LocalServerChoices& choices);
    // Whether other computers can reach the chosen address.
    bool isReachedFromOutside() const;

    bool isOn() const { return m_server != nullptr; }
    // When it is switched off, running requests are answered 503. If it cannot be
    // switched on, problem() has the reason.
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

    // The token for requests; empty: none was made yet, or it cannot be read.
    const QString& token() const { return m_token; }
    void readToken();
    // The old one is refused from then on; running requests are answered 503.
    void renewToken();
    static QString tokenFile();

  Q_SIGNALS:
    void changed();

  private:
    struct Counts {
        quint64 answered = 0, waiting = 0, running = 0;
        bool operator==(const Counts&) const = default;
    };

    void switchOn();
    void switchOff();
    void serveNext();
    void serveNextSoon();
    void followEngine();
    void refreshCounts();
    template <typename Act>
    void attempt(Act&& act);

    EngineController& m_engine;
    LocalServerChoices m_choices;
    // Shared with the engine's thread while that answers a request.
    std::shared_ptr<engine::ApiServer> m_server;
    Counts m_counts;
    QString m_token;
    QString m_problem;
    bool m_held = false;
};

}  // namespace offstage::ui
