#include "ui/server/local_server_switch.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLocale>
#include <QSettings>
#include <QTimer>

#include "engine/error.h"
#include "engine/serve/api_server.h"
#include "engine/serve/serve_messages.h"
#include "ui/base/settings.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"

namespace offstage::ui {

namespace {

constexpr std::size_t kMostTogether = 4;  // requests that are answered at a time
constexpr int kCountsMs = 500;            // interval for updating the shown numbers: clients come and go by themselves

LocalServerChoices readServerChoices() {
    LocalServerChoices choices;
    choices.address = settings::kServerAddress.value();
    choices.port = settings::kServerPort.value();
    if (choices.port < 0 || choices.port > LocalServerChoices::kLargestPort) {
        choices.port = LocalServerChoices().port;
    }
    choices.origins = settings::kServerOrigins.value();
    choices.startsWithProgram = settings::kServerStarts.value();
    return choices;
}

std::filesystem::path filePathOf(const QString& file) {
    return QFile::encodeName(file).toStdString();
}

// Throws engine::Error.
engine::ListenAddress listenAddress(const LocalServerChoices& choices) {
    const QString& host = choices.address;
    const QString text = (host.contains(u':') ? QStringLiteral("[%1]:%2") : QStringLiteral("%1:%2")).arg(host);
    return engine::parse_listen_address(text.arg(choices.port).toStdString());
}

}  // namespace

LocalServerSwitch::LocalServerSwitch(EngineController& engine, QObject* parent)
    : QObject(parent), m_engine(engine), m_choices(readServerChoices()) {
    connect(&m_engine, &EngineController::loadStarted, this, [this] {
        if (m_server) {
            m_server->set_model(std::nullopt);
            refreshCounts();
        }
    });
    connect(&m_engine, &EngineController::modelLoaded, this, [this](const engine::ModelSummary& model) {
        if (m_server) {
            m_server->set_model(model);
            Q_EMIT changed();
        }
    });
    connect(&m_engine, &EngineController::stateChanged, this, &LocalServerSwitch::followEngine);
    connect(&m_engine, &EngineController::servingChanged, this, [this] {
        refreshCounts();
        Q_EMIT changed();
        serveNextSoon();
    });
    auto* look = new QTimer(this);
    look->setInterval(kCountsMs);
    connect(look, &QTimer::timeout, this, &LocalServerSwitch::refreshCounts);
    connect(this, &LocalServerSwitch::changed, look, [this, look] {
        if (isOn() != look->isActive()) {
            isOn() ? look->start() : look->stop();
        }
    });
}

LocalServerSwitch::~LocalServerSwitch() {
    switchOff();
}

void LocalServerSwitch::setChoices(const LocalServerChoices& choices) {
    if (choices == m_choices) {
        return;
    }
    m_choices = choices;
    QSettings open;
    settings::kServerAddress.set(open, choices.address);
    settings::kServerPort.set(open, choices.port);
    settings::kServerOrigins.set(open, choices.origins);
    settings::kServerStarts.set(open, choices.startsWithProgram);
    Q_EMIT changed();
}

bool LocalServerSwitch::isReachedFromOutside() const {
    try {
        return !listenAddress(m_choices).is_loopback();
    } catch (const engine::Error&) {
        return false;  // it cannot be listened on at all
    }
}

template <typename Act>
void LocalServerSwitch::attempt(Act&& act) {
    m_problem.clear();
    try {
        act();
    } catch (const engine::Error& error) {
        m_problem = engineText(error.message());
    }
    refreshCounts();
    Q_EMIT changed();
}

void LocalServerSwitch::setOn(bool on) {
    if (on == isOn()) {
        return;
    }
    attempt([&] { on ? switchOn() : switchOff(); });
}

void LocalServerSwitch::switchOn() {
    engine::ApiServerSettings settings;
    settings.listen = listenAddress(m_choices);
    for (const QString& origin : m_choices.origins) {
        settings.origins.push_back(engine::parse_origin(origin.toStdString()));
    }
    // In English, as all that other programs read of the server.
    settings.how_to_allow_origin =
        "to let them, add it to Web pages in Offstage, under Edit > Settings > Local server, while the server is off";
    QDir().mkpath(QFileInfo(tokenFile()).path());
    settings.most_together = kMostTogether;
    settings.token = engine::read_or_make_token_file(filePathOf(tokenFile())).token;
    m_token = QString::fromStdString(settings.token);
    const auto server = std::make_shared<engine::ApiServer>(settings);
    server->queue().set_on_submit(
        [this] { QMetaObject::invokeMethod(this, &LocalServerSwitch::serveNext, Qt::QueuedConnection); });
    server->set_model(m_engine.model());
    server->start();
    m_server = server;
    followEngine();
}

// After stop() no thread of the server is left to call this object.
void LocalServerSwitch::switchOff() {
    if (const auto server = std::exchange(m_server, nullptr)) {
        server->stop();
    }
}

// Where an answer of the window's is wanted, no further request is begun before it; and
// machines, which make one answer at a time, are joined again between two.
void LocalServerSwitch::followEngine() {
    if (m_server) {
        m_server->queue().set_alone(m_held || m_engine.hasMachines() ||
                                    m_engine.state() != EngineController::State::Ready);
    }
    serveNextSoon();
}

void LocalServerSwitch::serveNextSoon() {
    // Delayed: the window's own next answer, which begins at the same signal, goes first.
    QMetaObject::invokeMethod(this, &LocalServerSwitch::serveNext, Qt::QueuedConnection);
}

void LocalServerSwitch::serveNext() {
    if (m_server && !m_held && m_server->queue().n_waiting() > 0) {
        m_engine.serve({m_server, &m_server->queue()});
    }
    refreshCounts();
}

void LocalServerSwitch::refreshCounts() {
    Counts counts;
    if (m_server) {
        const engine::ServerMetrics& metrics = m_server->metrics();
        const engine::AnswerQueue& queue = m_server->queue();
        counts = {metrics.n_answers() - metrics.n_stopped(), queue.n_waiting(), queue.n_running()};
        // The engine's thread takes its request out of the queue in a moment.
        if (isAnswering() && counts.running == 0) {
            counts.running = 1;
            counts.waiting -= counts.waiting > 0 ? 1 : 0;
        }
    }
    if (std::exchange(m_counts, counts) != counts) {
        Q_EMIT changed();
    }
}

void LocalServerSwitch::setHeld(bool held) {
    m_held = held;
    followEngine();
}

bool LocalServerSwitch::isAnswering() const {
    return m_engine.isServingOthers();
}

void LocalServerSwitch::stopAnswer() {
    m_engine.stopServing();
}

QString LocalServerSwitch::listensAt() const {
    return m_server ? QString::fromStdString(m_server->address().text()) : QString();
}

QString LocalServerSwitch::url() const {
    return m_server ? QString::fromStdString(m_server->base_url()) : QString();
}

QString LocalServerSwitch::stateText() const {
    if (!m_server) {
        return tr("Off");
    }
    const QString listening = m_engine.model() ? tr("Listening at %1").arg(listensAt())
                                               : tr("Listening at %1, without a model yet").arg(listensAt());
    const QLocale locale;
    const QString counts = tr("%1 answered, %2 waiting").arg(locale.toString(answered()), locale.toString(waiting()));
    return isAnswering() ? tr("%1 · %2, %3 being answered").arg(listening, counts, locale.toString(m_counts.running))
                         : tr("%1 · %2").arg(listening, counts);
}

QString LocalServerSwitch::tokenFile() {
    return QFileInfo(QSettings().fileName()).absoluteDir().filePath(QStringLiteral("server-token"));
}

void LocalServerSwitch::readToken() {
    if (!m_token.isEmpty() || !QFileInfo::exists(tokenFile())) {
        return;
    }
    attempt(
        [this] { m_token = QString::fromStdString(engine::read_or_make_token_file(filePathOf(tokenFile())).token); });
}

void LocalServerSwitch::renewToken() {
    attempt([this] {
        const std::filesystem::path file = filePathOf(tokenFile()),
                                    fresh = filePathOf(tokenFile() + QStringLiteral(".new"));
        std::error_code code;
        std::filesystem::create_directories(file.parent_path(), code);
        std::filesystem::remove(fresh, code);
        const std::string token = engine::read_or_make_token_file(fresh).token;
        std::filesystem::rename(fresh, file, code);
        if (code) {
            throw engine::Error(engine::ErrorKind::kNotFound,
                                engine::messages::token_file_not_written(tokenFile().toStdString(), code.message()));
        }
        m_token = QString::fromStdString(token);
        if (isOn()) {
            const quint16 port = m_server->address().port;
            switchOff();
            const int chosen = std::exchange(m_choices.port, port);  // also where any free one was chosen
            try {
                switchOn();
            } catch (...) {
                m_choices.port = chosen;
                throw;
            }
            m_choices.port = chosen;
        }
    });
}

}  // namespace offstage::ui
