#include "engine/hub/hub_connection.h"

#include <algorithm>
#include <clocale>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>

#include <QCoreApplication>
#include <QEventLoop>
#include <QHostAddress>
#include <QNetworkAccessManager>
#include <QNetworkProxy>
#include <QNetworkReply>
#include <QNetworkRequest>
#include <QTimer>
#include <QUrl>

#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/hub/hub_messages.h"
#include "engine/model/model_finder.h"

namespace offstage::engine {
namespace {

constexpr int kMostRedirects = 10;
constexpr long kLongestRetryAfter = 120;  // seconds; a longer one ends with a sentence
constexpr qint64 kBufferBytes = 4 << 20;  // that Qt reads ahead of us
constexpr std::size_t kMostTokenBytes = 4096;
// For an answer's headers, which Qt keeps however many come.
constexpr std::chrono::milliseconds kHeadPatience{10'000};
constexpr std::size_t kMostIgnoredBytes = 65536;  // of the body of an error or a redirect

// Where Qt (6.4) knows that there is no proxy, it reads headers from an unbuffered socket,
// byte by byte as long as there are more, and its thread takes no abort() meanwhile. The
// default proxy is none either, and is asked for later.
class SystemProxies : public QNetworkProxyFactory {
  public:
    QList<QNetworkProxy> queryProxy(const QNetworkProxyQuery& query) override {
        QList<QNetworkProxy> proxies = systemProxyForQuery(query);
        for (QNetworkProxy& proxy : proxies) {
            if (proxy.type() == QNetworkProxy::NoProxy) proxy = QNetworkProxy(QNetworkProxy::DefaultProxy);
        }
        return proxies;
    }
};

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool is_web(const QUrl& address) {
    return address.isValid() && !address.host().isEmpty() &&
           (address.scheme() == QLatin1String("https") || address.scheme() == QLatin1String("http"));
}

bool is_same_server(const QUrl& a, const QUrl& b) {
    const auto port = [](const QUrl& address) {
        return address.port(address.scheme() == QLatin1String("https") ? 443 : 80);
    };
    return a.scheme() == b.scheme() && a.host() == b.host() && port(a) == port(b);
}

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

bool may_send_kept_token(const QUrl& endpoint) {
    const QString off = QString::fromStdString(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN")).toUpper();
    if (!off.isEmpty() && off != QLatin1String("0") && off != QLatin1String("NO") && off != QLatin1String("OFF") &&
        off != QLatin1String("FALSE")) {
        return false;
    }
    return endpoint.scheme() == QLatin1String("https") || endpoint.host() == QLatin1String("localhost") ||
           QHostAddress(endpoint.host()).isLoopback();
}

// What `hf auth login` kept; empty where there is none that can be read.
std::string kept_token() {
    std::filesystem::path file = variable("HF_TOKEN_PATH");
    if (file.empty()) {
        const std::filesystem::path folder = hugging_face_folder();
        if (folder.empty()) return {};
        file = folder / "token";
    }
    std::string token;
    try {
        token = read_small_file(file, kMostTokenBytes).value_or("");
    } catch (const Error&) {
    }
    std::erase_if(token, [](unsigned char c) { return c <= ' '; });
    return token;
}

}  // namespace

HubAccess hub_access() {
    HubAccess access;
    if (const std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) access.endpoint = endpoint;
    while (!access.endpoint.empty() && access.endpoint.back() == '/') access.endpoint.pop_back();
    const QUrl address(QString::fromStdString(access.endpoint));
    if (!is_web(address) || !address.userInfo().isEmpty() || address.hasQuery() || address.hasFragment()) {
        throw Error(ErrorKind::kInvalidInput, messages::no_hub_address(access.endpoint));
    }
    access.token = variable("HF_TOKEN");
    if (access.token.empty() && may_send_kept_token(address)) {
        access.token = kept_token();
        access.token_is_kept = true;
    }
    return access;
}

std::string hub_host() {
    try {
        return QUrl(QString::fromStdString(hub_access().endpoint)).host().toStdString();
    } catch (const Error&) {
        return {};
    }
}

HubRuntime::HubRuntime() {
    static int argc = 1;
    static char name[] = "offstage";
    static char* argv[] = {name, nullptr};
    application_ = std::make_unique<QCoreApplication>(argc, argv);
    std::setlocale(LC_NUMERIC, "C");  // Qt took the user's, in which printf() writes 1,5
}

HubRuntime::~HubRuntime() = default;

struct HubConnection::Answer {
    int status = 0;       // 0: there was none
    bool whole = false;   // nothing was cut off
    bool trusted = true;  // false: the certificate is not
    std::string failure;  // in Qt's words
    QUrl next;            // of a redirect
    std::string content_range;
    long retry_after = 0;  // seconds
    bool has_body() const { return status == 200 || status == 206; }
};

HubConnection::HubConnection(HubAccess access)
    : access_(std::move(access)),
      host_(QUrl(QString::fromStdString(access_.endpoint)).host().toStdString()),
      manager_(std::make_unique<QNetworkAccessManager>()) {
    manager_->setProxyFactory(new SystemProxies);  // the manager owns it
}

HubConnection::~HubConnection() = default;

HubConnection::Answer HubConnection::ask_once(const QUrl& address, const std::optional<ByteRange>& range,
                                              const Take& take, const std::stop_token& stop) {
    QNetworkRequest request(address);
    request.setRawHeader("User-Agent", "offstage");
    request.setRawHeader("Accept-Encoding", "identity");
    if (!access_.token.empty() && is_same_server(address, QUrl(QString::fromStdString(access_.endpoint)))) {
        request.setRawHeader("Authorization", "Bearer " + QByteArray::fromStdString(access_.token));
    }
    if (range) {
        request.setRawHeader("Range", "bytes=" + QByteArray::number(qulonglong{range->begin}) + '-' +
                                          QByteArray::number(qulonglong{range->end - 1}));
    }
    request.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    // One connection for each HubConnection: several are faster than one.
    request.setAttribute(QNetworkRequest::Http2AllowedAttribute, false);
    for (const auto attribute :
         {QNetworkRequest::CookieLoadControlAttribute, QNetworkRequest::CookieSaveControlAttribute,
          QNetworkRequest::AuthenticationReuseAttribute}) {
        request.setAttribute(attribute, QNetworkRequest::Manual);
    }
    Answer answer;
    std::exception_ptr failure;
    std::size_t ignored = 0;
    QEventLoop loop;
    QTimer silence;
    silence.setSingleShot(true);
    const std::unique_ptr<QNetworkReply> reply(manager_->get(request));
    reply->setReadBufferSize(kBufferBytes);
    const auto read_head = [&] {
        answer.status = reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
        answer.next = QUrl::fromEncoded(reply->rawHeader("Location"));  // Qt's own header is absolute
        answer.content_range = reply->rawHeader("Content-Range").toStdString();
        answer.retry_after = std::max(0L, std::atol(reply->rawHeader("Retry-After").constData()));
    };
    const auto read_body = [&] {
        silence.start(access_.patience);
        if (answer.status == 0) read_head();
        while (reply->bytesAvailable() > 0) {
            const QByteArray some = reply->read(1 << 16);
            if (some.isEmpty()) return;
            try {
                const std::string_view bytes(some.constData(), static_cast<std::size_t>(some.size()));
                if (!answer.has_body()) ignored += bytes.size();
                if (answer.has_body() ? take(answer, bytes) : ignored <= kMostIgnoredBytes) continue;
            } catch (...) {  // none passes through Qt's loop
                failure = std::current_exception();
            }
            return reply->abort();
        }
    };
    QObject::connect(reply.get(), &QIODevice::readyRead, &loop, read_body);
    QObject::connect(reply.get(), &QNetworkReply::finished, &loop, &QEventLoop::quit);
    QObject::connect(&silence, &QTimer::timeout, &loop, [&] {
        answer.failure = "no answer";
        reply->abort();
    });
    const std::stop_callback ends(stop, [&] {
        QMetaObject::invokeMethod(
            &loop, [&reply] { reply->abort(); }, Qt::QueuedConnection);
    });
    silence.start(std::min(access_.patience, kHeadPatience));
    loop.exec();
    read_body();
    if (failure) std::rethrow_exception(failure);
    answer.whole = reply->error() == QNetworkReply::NoError;
    answer.trusted = reply->error() != QNetworkReply::SslHandshakeFailedError;
    if (answer.failure.empty()) answer.failure = reply->errorString().toStdString();
    return answer;
}

QUrl HubConnection::address_of(const std::string& path) const {
    return QUrl(QString::fromStdString(access_.endpoint + path));
}

HubConnection::Answer HubConnection::ask(QUrl address, const std::string& what, const std::optional<ByteRange>& range,
                                         const Take& take, const std::stop_token& stop) {
    for (int n = 0; n <= kMostRedirects; ++n) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::download_cancelled);
        Answer answer = ask_once(address, range, take, stop);
        if (answer.status == 401 && access_.token_is_kept && !access_.token.empty()) {
            access_.token.clear();  // it has expired, say, and what is public needs none
            answer = ask_once(address, range, take, stop);
        }
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::download_cancelled);
        if (answer.status < 300 || answer.status >= 400 || answer.next.isEmpty()) return answer;
        const QUrl next = address.resolved(answer.next);
        if (!is_web(next) || (address.scheme() == QLatin1String("https") && next.scheme() != address.scheme())) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::hub_redirects_elsewhere(host_, what, next.toString().toStdString()));
        }
        address = next;
    }
    throw Error(ErrorKind::kInvalidModel, messages::hub_redirects_in_circles(host_, what));
}

// After a wait, which a stop ends.
bool HubConnection::repeats(const Answer& answer, int repetition, const std::stop_token& stop) const {
    const bool is_temporary =
        answer.status == 0 || answer.status == 429 || answer.status >= 500 || answer.has_body();  // which was cut off
    if (!is_temporary || !answer.trusted) return false;
    if (answer.retry_after > kLongestRetryAfter) {
        throw Error(ErrorKind::kInvalidInput, messages::hub_asks_to_wait(host_, answer.retry_after));
    }
    if (repetition >= access_.repetitions) return false;
    const auto wait = std::max<std::chrono::milliseconds>(access_.first_wait * (1 << repetition),
                                                          std::chrono::seconds(answer.retry_after));
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, wait, [] { return false; });
    return true;
}

void HubConnection::fail(const Answer& answer, const std::string& what) const {
    if (!answer.trusted) throw Error(ErrorKind::kInvalidInput, messages::hub_not_trusted(host_, answer.failure));
    if (answer.status == 0) throw Error(ErrorKind::kInvalidInput, messages::hub_not_reached(host_, answer.failure));
    if (answer.status == 401 || answer.status == 403) {
        throw Error(ErrorKind::kUnsupported, messages::hub_refuses(host_, what));
    }
    if (answer.status == 404) throw Error(ErrorKind::kNotFound, messages::hub_has_no(host_, what));
    if (answer.status == 429) {
        throw Error(ErrorKind::kInvalidInput, messages::hub_asks_to_wait(host_, std::max(1L, answer.retry_after)));
    }
    if (answer.has_body()) throw Error(ErrorKind::kInvalidInput, messages::hub_cuts_off(host_, what));
    throw Error(ErrorKind::kInvalidInput, messages::hub_answered(host_, what, answer.status));
}

std::string HubConnection::get(const std::string& path, const std::string& what, std::size_t most,
                               const std::stop_token& stop) {
    for (int repetition = 0;; ++repetition) {
        std::string body;
        const auto take = [&](const Answer&, std::string_view bytes) {
            body += bytes;
            return body.size() <= most;
        };
        const Answer answer = ask(address_of(path), what, std::nullopt, take, stop);
        if (body.size() > most) {
            throw Error(ErrorKind::kInvalidModel, messages::hub_answer_too_long(host_, what));
        }
        if (answer.status == 200 && answer.whole) return body;
        const bool is_reached = answer.status > 0 || repetition == 0;  // a person waits for this one
        if (!is_reached || !repeats(answer, repetition, stop)) fail(answer, what);
    }
}

void HubConnection::get_part(const std::string& path, ByteRange range, std::uint64_t total,
                             const std::function<void(std::string_view)>& take, const std::stop_token& stop) {
    const std::string what = last_part(path);
    const QUrl address = address_of(QByteArray::fromStdString(path).toPercentEncoding("/").toStdString());
    int repetition = 0;
    while (range.size() > 0) {
        const std::uint64_t before = range.begin;
        const bool asks_all = range.size() == total;
        bool is_other = false, too_long = false;
        const std::string wanted =
            "bytes " + std::to_string(range.begin) + "-" + std::to_string(range.end - 1) + "/" + std::to_string(total);
        const auto take_some = [&](const Answer& head, std::string_view bytes) {
            const bool is_whole = head.status == 200 && asks_all;
            is_other = !is_whole && (head.status != 206 || head.content_range != wanted);
            too_long = bytes.size() > range.size();
            if (is_other || too_long) return false;
            take(bytes);
            range.begin += bytes.size();
            return true;
        };
        const Answer answer = ask(address, what, range, take_some, stop);
        if (is_other) throw Error(ErrorKind::kInvalidModel, messages::hub_sends_other_part(host_, what));
        if (too_long) throw Error(ErrorKind::kInvalidModel, messages::hub_answer_too_long(host_, what));
        if (range.size() == 0) return;
        repetition = range.begin > before ? 0 : repetition + 1;
        if (!repeats(answer, repetition, stop)) fail(answer, what);
    }
}

}  // namespace offstage::engine
