#pragma once
// A hub on this computer that is as slow, as wrong and as sudden as a test wants it.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <QCryptographicHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMap>
#include <QPointer>
#include <QThread>
#include <QUrl>
#include <QtNetwork/QSslCertificate>
#include <QtNetwork/QSslKey>
#include <QtNetwork/QSslServer>
#include <QtNetwork/QSslSocket>
#include <QtNetwork/QTcpServer>
#include <QtNetwork/QTcpSocket>

namespace offstage::test {

inline QByteArray hexSha256(const QByteArray& bytes) {
    return QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex();
}

struct HubRequest {
    QByteArray target;                     // "/maker/Model-GGUF/resolve/...", as it was sent
    QByteArray proxiedTo;                  // the host that a proxy should ask; empty: this is none
    QMap<QByteArray, QByteArray> headers;  // names in lower case
    qint64 begin = 0, end = -1;            // of the range [begin, end); -1: none
    bool isListing() const { return target.startsWith("/api/"); }
};

struct HubAnswer {
    int status = 200;
    QByteArray headers = {};  // further ones, each with its line's end
    QByteArray body = {};
    qint64 cutAfter = -1;   // bytes of the body, before the connection ends; -1: none
    bool isSilent = false;  // never answers
    bool hasEndlessHeaders = false;
};

class HubServer {
  public:
    // Changes the right answer to a request; on the server's thread.
    using Fault = std::function<void(const HubRequest&, HubAnswer&)>;
    enum class Security { kNone, kOwnCertificate };

    explicit HubServer(Security security = Security::kNone) : m_isSecure(security != Security::kNone) {
        m_thread.start();
        m_context.moveToThread(&m_thread);
        QMetaObject::invokeMethod(
            &m_context, [this] { listen(); }, Qt::BlockingQueuedConnection);
    }
    ~HubServer() {
        QMetaObject::invokeMethod(
            &m_context, [this] { m_server.reset(); }, Qt::BlockingQueuedConnection);
        m_thread.quit();
        m_thread.wait();
    }
    HubServer(const HubServer&) = delete;
    HubServer& operator=(const HubServer&) = delete;

    void add(const QByteArray& path, const QByteArray& bytes) {
        const std::scoped_lock lock(m_mutex);
        m_files[path] = bytes;
    }
    QByteArray file(const QByteArray& path) const {
        const std::scoped_lock lock(m_mutex);
        return m_files[path];
    }
    void setFault(const Fault& fault) {
        const std::scoped_lock lock(m_mutex);
        m_fault = fault;
    }
    // The server sends no more than this many bytes of bodies from its start on, until it
    // is called again.
    void allow(qint64 bytes) {
        m_allowed = bytes;
        QMetaObject::invokeMethod(&m_context, [this] { pumpAll(); });
    }
    std::string endpoint() const {
        return (m_isSecure ? "https://localhost:" : "http://127.0.0.1:") + std::to_string(m_port);
    }
    quint16 port() const { return m_port; }
    const QByteArray& commit() const { return m_commit; }
    int requests() const { return m_requests; }  // for files
    qint64 bytesSent() const { return m_sent; }  // of bodies
    QList<HubRequest> takeRequests() {
        const std::scoped_lock lock(m_mutex);
        return std::exchange(m_seen, {});
    }

    QByteArray listing() const {
        QJsonArray files;
        for (auto file = m_files.begin(); file != m_files.end(); ++file) {
            const QJsonObject sum{{QStringLiteral("sha256"), QString::fromLatin1(hexSha256(file.value()))}};
            files.append(QJsonObject{{QStringLiteral("rfilename"), QString::fromUtf8(file.key())},
                                     {QStringLiteral("size"), file.value().size()},
                                     {QStringLiteral("blobId"), QString(40, QLatin1Char('a'))},
                                     {QStringLiteral("lfs"), sum}});
        }
        const QJsonObject all{{QStringLiteral("sha"), QString::fromLatin1(m_commit)},
                              {QStringLiteral("siblings"), files}};
        return QJsonDocument(all).toJson();
    }

  private:
    struct Connection {
        QPointer<QTcpSocket> socket;
        QByteArray in;
        QByteArray out;        // of a body, still to be sent
        bool cuts = false;     // after `out`
        bool endless = false;  // sends headers as long as they are read
    };

    void listen() {
        if (m_isSecure) {
            auto server = std::make_unique<QSslServer>();
            server->setSslConfiguration(ownCertificate());
            m_server = std::move(server);
        } else {
            m_server = std::make_unique<QTcpServer>();
        }
        QObject::connect(m_server.get(), &QTcpServer::pendingConnectionAvailable, m_server.get(), [this] {
            while (QTcpSocket* socket = m_server->nextPendingConnection()) accept(socket);
        });
        m_server->listen(QHostAddress::LocalHost);
        m_port = m_server->serverPort();
    }

    // Of a key that nobody knows.
    static QSslConfiguration ownCertificate() {
        EVP_PKEY* const key = EVP_RSA_gen(2048);
        X509* const certificate = X509_new();
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
        X509_set_pubkey(certificate, key);
        X509_NAME* const name = X509_get_subject_name(certificate);
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1,
                                   -1, 0);
        X509_set_issuer_name(certificate, name);
        X509_sign(certificate, key, EVP_sha256());
        const auto pem = [](const auto& write) {
            BIO* const memory = BIO_new(BIO_s_mem());
            write(memory);
            char* bytes = nullptr;
            const long n = BIO_get_mem_data(memory, &bytes);
            const QByteArray text(bytes, n);
            BIO_free(memory);
            return text;
        };
        QSslConfiguration configuration = QSslConfiguration::defaultConfiguration();
        configuration.setPrivateKey(QSslKey(
            pem([&](BIO* memory) { PEM_write_bio_PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr); }),
            QSsl::Rsa));
        configuration.setLocalCertificate(
            QSslCertificate(pem([&](BIO* memory) { PEM_write_bio_X509(memory, certificate); })));
        X509_free(certificate);
        EVP_PKEY_free(key);
        return configuration;
    }

    void accept(QTcpSocket* socket) {
        const auto connection = std::make_shared<Connection>();
        connection->socket = socket;
        m_connections.append(connection);
        QObject::connect(socket, &QTcpSocket::readyRead, socket, [this, connection] { read(*connection); });
        QObject::connect(socket, &QTcpSocket::bytesWritten, socket, [this, connection] { pump(*connection); });
        QObject::connect(socket, &QTcpSocket::disconnected, socket, [this, connection] {
            m_connections.removeOne(connection);
            connection->socket->deleteLater();
        });
        read(*connection);
    }

    void read(Connection& connection) {
        connection.in += connection.socket->readAll();
        for (qsizetype end = 0; (end = connection.in.indexOf("\r\n\r\n")) >= 0;) {
            const QList<QByteArray> lines = connection.in.left(end).split('\n');
            connection.in.remove(0, end + 4);
            HubRequest request;
            request.target = lines[0].split(' ').value(1);
            if (request.target.startsWith("http://")) {  // it was sent to a proxy
                const qsizetype path = request.target.indexOf('/', 7);
                request.proxiedTo = request.target.mid(7, path - 7);
                request.target.remove(0, path);
            }
            for (const QByteArray& line : lines.mid(1)) {
                const qsizetype colon = line.indexOf(':');
                request.headers[line.left(colon).toLower()] = line.mid(colon + 1).trimmed();
            }
            const QByteArray range = request.headers.value("range");  // "bytes=0-99"
            if (!range.isEmpty()) {
                request.begin = range.mid(6, range.indexOf('-') - 6).toLongLong();
                request.end = range.mid(range.indexOf('-') + 1).toLongLong() + 1;
            }
            answer(connection, request);
        }
    }

    HubAnswer rightAnswer(const HubRequest& request) const {
        HubAnswer answer;
        if (request.isListing()) {
            answer.body = listing();
            return answer;
        }
        const QByteArray path = QByteArray::fromPercentEncoding(request.target);
        const QByteArray before = "/resolve/" + m_commit + "/";
        const auto file = m_files.find(path.mid(path.indexOf(before) + before.size()));
        if (!path.contains(before) || file == m_files.end()) {
            answer.status = 404;
            return answer;
        }
        answer.body = *file;
        if (request.end >= 0) {
            answer.status = 206;
            answer.body = file->mid(request.begin, request.end - request.begin);
            answer.headers = contentRange(request.begin, request.begin + answer.body.size(), file->size());
        }
        return answer;
    }

    void answer(Connection& connection, const HubRequest& request) {
        HubAnswer answer;
        Fault fault;
        {
            const std::scoped_lock lock(m_mutex);
            m_seen.append(request);
            if (!request.isListing()) ++m_requests;
            answer = rightAnswer(request);
            fault = m_fault;
        }
        if (fault) fault(request, answer);
        if (answer.isSilent) return;
        QByteArray head = "HTTP/1.1 " + QByteArray::number(answer.status) + " Of course\r\n" + answer.headers;
        connection.endless = answer.hasEndlessHeaders;
        if (!answer.hasEndlessHeaders) head += "Content-Length: " + QByteArray::number(answer.body.size()) + "\r\n\r\n";
        connection.cuts = answer.cutAfter >= 0;
        if (!answer.hasEndlessHeaders)
            connection.out += connection.cuts ? answer.body.left(answer.cutAfter) : answer.body;
        connection.socket->write(head);
        pump(connection);
    }

    void pump(Connection& connection) {
        constexpr qint64 kAhead = 1 << 18;
        if (connection.socket == nullptr) return;
        while (connection.endless && connection.socket->bytesToWrite() < kAhead) {
            if (connection.socket->write("X-More: " + QByteArray(1000, 'x') + "\r\n") <= 0) return;
        }
        while (!connection.out.isEmpty() && connection.socket->bytesToWrite() < kAhead) {
            const qint64 n = std::min<qint64>({connection.out.size(), 1 << 16, m_allowed - m_sent});
            if (n <= 0) return;
            connection.socket->write(connection.out.left(n));
            connection.out.remove(0, n);
            m_sent += n;
        }
        if (connection.cuts && connection.out.isEmpty()) connection.socket->disconnectFromHost();
    }
    void pumpAll() {
        for (const auto& connection : QList(m_connections)) pump(*connection);
    }

  public:
    static QByteArray contentRange(qint64 begin, qint64 end, qint64 total) {
        return "Content-Range: bytes " + QByteArray::number(begin) + '-' + QByteArray::number(end - 1) + '/' +
               QByteArray::number(total) + "\r\n";
    }

  private:
    const bool m_isSecure;
    const QByteArray m_commit = QByteArray(40, 'c');
    QThread m_thread;
    QObject m_context;  // lives on the thread, as does what follows
    std::unique_ptr<QTcpServer> m_server;
    QList<std::shared_ptr<Connection>> m_connections;
    std::atomic<quint16> m_port{0};
    std::atomic<int> m_requests{0};
    std::atomic<qint64> m_sent{0}, m_allowed{std::numeric_limits<qint64>::max()};
    mutable std::mutex m_mutex;  // of what follows
    QMap<QByteArray, QByteArray> m_files;
    Fault m_fault;
    QList<HubRequest> m_seen;
};

}  // namespace offstage::test
