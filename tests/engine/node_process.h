#pragma once
// offstage-node as a separate process, which tests start, break and end.

#include <csignal>
#include <filesystem>
#include <memory>

#include <QProcess>
#include <QRandomGenerator>
#include <QRegularExpression>
#include <QString>
#include <QStringList>
#if defined(__SANITIZE_THREAD__)
#include <QTest>
#endif

#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_identity.h"
#include "engine/nodes/paired_peers.h"

namespace offstage::test {

// offstage-node, paired with the desktop of a folder. prefix: the command that starts it,
// as `ip netns exec NAME`; host: the IP address that it listens at; program:
// offstage-node, or another one with the same function.
class NodeProcess {
  public:
    NodeProcess(const QString& state, const std::filesystem::path& desktop, const QStringList& arguments,
                QStringList prefix = {}, QString host = QStringLiteral("127.0.0.1"),
                QString program = QStringLiteral(OFFSTAGE_BIN_DIR "/offstage-node"))
        : m_state(state), m_prefix(std::move(prefix)), m_host(std::move(host)), m_program(std::move(program)) {
        const std::filesystem::path folder(state.toStdString());
        const engine::NodeIdentity own = engine::read_or_make_identity(folder);
        const engine::NodeIdentity other = engine::read_or_make_identity(desktop);
        engine::PairedPeers(folder).add({"desk", "", other.certificate_pem, other.fingerprint});
        m_peer = {"node", "", own.certificate_pem, own.fingerprint};
        m_arguments = QStringList{QStringLiteral("--state"),   state,
                                  QStringLiteral("--compute"), QStringLiteral("f32"),
                                  QStringLiteral("--threads"), QStringLiteral("1"),
                                  QStringLiteral("--linger"),  QStringLiteral("0")} +
                      arguments;
        startOnFreePort();
    }
    ~NodeProcess() {
        signal(SIGCONT);
        m_process->kill();
        m_process->waitForFinished();
        failIfRacesWereSeen();
    }
    // Listens on `port`, which a started node keeps: see startOnFreePort().
    void start(std::uint16_t port) {
        failIfRacesWereSeen();
        m_process = std::make_unique<QProcess>();
        const QStringList command =
            m_prefix + QStringList{m_program} + m_arguments +
            QStringList{QStringLiteral("--listen"), QStringLiteral("%1:%2").arg(m_host).arg(port)};
        m_process->start(command.first(), command.mid(1));
        m_out.clear();
        while (!m_out.contains("Ctrl+C ends.") && m_process->waitForReadyRead(60'000))
            m_out += m_process->readAllStandardOutput();
        static const QRegularExpression on_port(QStringLiteral("ready on port (\\d+)"));
        m_port = on_port.match(QString::fromUtf8(m_out)).captured(1).toUShort();
    }
    void restart() { start(m_port); }
    void signal(int number) {
        if (m_process->processId() > 0) ::kill(static_cast<pid_t>(m_process->processId()), number);
    }
    QProcess& process() { return *m_process; }
    std::uint16_t port() const { return m_port; }
    QString state() const { return m_state; }
    QByteArray said() {
        m_out += m_process->readAllStandardOutput() + m_process->readAllStandardError();
        return m_out;
    }
    const engine::PairedPeer& peer() const { return m_peer; }
    // Connects through `port` of this machine if that is not 0; to other nodes through
    // node_port, or directly.
    engine::NodeAddress address(const std::filesystem::path& desktop, std::uint16_t port = 0,
                                std::uint16_t node_port = 0) const {
        engine::PairedPeer peer = m_peer;
        const std::string here = "127.0.0.1:", own = m_host.toStdString() + ":" + std::to_string(m_port);
        peer.address = port == 0 ? own : here + std::to_string(port);
        engine::NodeAddress address = engine::address_of(peer, engine::read_or_make_identity(desktop));
        address.for_nodes = node_port == 0 ? own : here + std::to_string(node_port);
        return address;
    }

  private:
    // A port below those that the system gives to programs that ask for any: while the
    // node is down, no other program gets its port, nor does a connection to it (which
    // would reach itself).
    void startOnFreePort() {
        for (int i = 0; i < 20 && (i == 0 || m_port == 0); ++i) {
            start(static_cast<std::uint16_t>(QRandomGenerator::system()->bounded(10'000, 32'000)));
        }
    }

    // Checks the last process, which may have been killed: its exit status does not show
    // races.
    void failIfRacesWereSeen() {
#if defined(__SANITIZE_THREAD__)
        if (m_process && said().contains("ThreadSanitizer")) QTest::qFail(m_out.constData(), __FILE__, __LINE__);
#endif
    }

    QString m_state;
    QStringList m_prefix;
    QString m_host, m_program;
    QStringList m_arguments;
    std::unique_ptr<QProcess> m_process;
    QByteArray m_out;
    std::uint16_t m_port = 0;
    engine::PairedPeer m_peer;
};

}  // namespace offstage::test
