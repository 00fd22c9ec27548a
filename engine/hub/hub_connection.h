#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

class QCoreApplication;
class QNetworkAccessManager;
class QUrl;

namespace offstage::engine {

// Where models are published, and how it is asked.
struct HubAccess {
    std::string endpoint = "https://huggingface.co";  // without a slash at its end
    std::string token;                                // sent to the endpoint alone; empty: none
    bool token_is_kept = false;                       // left out where the endpoint refuses it
    std::chrono::milliseconds patience{30'000};       // without a byte; 10 s at most for headers
    std::chrono::milliseconds first_wait{500};        // before the first repetition, then twice as long each
    int repetitions = 8;                              // without any progress, two minutes
};

// As HF_ENDPOINT and HF_TOKEN say. Without the latter, unless
// HF_HUB_DISABLE_IMPLICIT_TOKEN is set or the endpoint is another computer asked without
// TLS, the token that `hf auth login` kept (HF_TOKEN_PATH, else "token" in
// hugging_face_folder()). Throws Error (kInvalidInput) for an endpoint that is no
// address.
HubAccess hub_access();
// "huggingface.co", of hub_access(); empty where that throws.
std::string hub_host();

// Bytes [begin, end) of a file.
struct ByteRange {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
};

// What requests need of Qt, in a program that has no QCoreApplication. Lives on the main
// thread, longer than every HubConnection.
class HubRuntime {
  public:
    HubRuntime();
    ~HubRuntime();
    HubRuntime(const HubRuntime&) = delete;
    HubRuntime& operator=(const HubRuntime&) = delete;

  private:
    std::unique_ptr<QCoreApplication> application_;
};

// Requests to a hub by HTTP or HTTPS, one at a time, through the system's proxy. Nothing
// is sent but the request: no cookies, and the token to the endpoint alone. Up to ten
// redirects are followed, none from https to http; certificates are checked by those that
// the system trusts. One thread; the program has a QCoreApplication (HubRuntime).
class HubConnection {
  public:
    explicit HubConnection(HubAccess access);
    ~HubConnection();
    HubConnection(const HubConnection&) = delete;
    HubConnection& operator=(const HubConnection&) = delete;

    const std::string& host() const { return host_; }  // of the endpoint, for messages

    // The whole body of `path` below the endpoint, percent-encoded and with its query, at
    // most `most` bytes; `what`: its name in messages. Cut connections, 429 and 5xx are
    // repeated; a hub that is not reached is asked twice. Throws Error: kNotFound,
    // kUnsupported (no permission), kInvalidModel (an answer that is none), kInvalidInput
    // (not reached), kCancelled.
    std::string get(const std::string& path, const std::string& what, std::size_t most, const std::stop_token& stop);
    // A part of a file of `total` bytes; `path`: as it is, not percent-encoded. `take`
    // gets its bytes in order, each once; an interrupted part goes on where it stopped.
    // Throws as get(), and whatever `take` throws.
    void get_part(const std::string& path, ByteRange range, std::uint64_t total,
                  const std::function<void(std::string_view)>& take, const std::stop_token& stop);

  private:
    struct Answer;
    // False ends the answer.
    using Take = std::function<bool(const Answer&, std::string_view)>;

    QUrl address_of(const std::string& path) const;
    Answer ask(QUrl address, const std::string& what, const std::optional<ByteRange>& range, const Take& take,
               const std::stop_token& stop);
    Answer ask_once(const QUrl& address, const std::optional<ByteRange>& range, const Take& take,
                    const std::stop_token& stop);
    bool repeats(const Answer& answer, int repetition, const std::stop_token& stop) const;
    [[noreturn]] void fail(const Answer& answer, const std::string& what) const;

    HubAccess access_;
    std::string host_;
    std::unique_ptr<QNetworkAccessManager> manager_;
};

}  // namespace offstage::engine
