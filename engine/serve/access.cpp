#include "engine/serve/access.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/serve/api_error.h"
#include "engine/serve/serve_messages.h"

namespace offstage::engine {
namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// An open file descriptor; -1: none.
class OpenFile {
  public:
    explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
    ~OpenFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    int get() const { return descriptor_; }

  private:
    int descriptor_;
};

// Creates the folder and those above it, for its owner alone. Errors show when a file is
// created in it.
void make_private_folder(const std::filesystem::path& folder) {
    if (folder.empty() || ::mkdir(folder.c_str(), S_IRWXU) == 0 || errno != ENOENT || !folder.has_relative_path()) {
        return;
    }
    make_private_folder(folder.parent_path());
    ::mkdir(folder.c_str(), S_IRWXU);
}

// Returns whether it was made: false if such a file exists.
bool make_token_file(const std::filesystem::path& file, const std::string& token) {
    make_private_folder(file.parent_path());
    const OpenFile made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (made.get() < 0 && errno == EEXIST) return false;
    const std::string line = token + "\n";
    const bool written = made.get() >= 0 && ::fchmod(made.get(), S_IRUSR | S_IWUSR) == 0 &&
                         ::write(made.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                         ::fsync(made.get()) == 0;
    if (written) return true;
    const int code = errno;
    if (made.get() >= 0) ::unlink(file.c_str());
    throw Error(ErrorKind::kNotFound, messages::token_file_not_made(file.string(), std::strerror(code)));
}

}  // namespace

std::string make_token() {
    std::array<unsigned char, 32> bytes{};
    for (std::size_t n = 0; n < bytes.size();) {
        const ssize_t got = ::getrandom(bytes.data() + n, bytes.size() - n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            throw Error(ErrorKind::kInternal, messages::no_random_numbers, std::strerror(errno));
        }
        n += static_cast<std::size_t>(got);
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string token;
    for (const unsigned char byte : bytes) {
        token += kDigits[byte >> 4];
        token += kDigits[byte & 15];
    }
    return token;
}

TokenFile read_or_make_token_file(const std::filesystem::path& file) {
    constexpr std::size_t kShortest = 16, kLongest = 1024;
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0 && errno == ENOENT) {
        const std::string token = make_token();
        if (make_token_file(file, token)) return {token, true};
    }
    const OpenFile opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (opened.get() < 0 || ::fstat(opened.get(), &status) != 0) {
        throw Error(ErrorKind::kNotFound, messages::token_file_not_read(file.string(), std::strerror(errno)));
    }
    if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::kNotFound, messages::token_file_is_no_file(file.string()));
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw Error(ErrorKind::kInvalidInput, messages::token_file_not_private(file.string(), file.string()));
    }
    std::array<char, kLongest + 16> bytes{};
    const ssize_t n = ::read(opened.get(), bytes.data(), bytes.size());
    if (n < 0) throw Error(ErrorKind::kNotFound, messages::token_file_not_read(file.string(), std::strerror(errno)));
    const std::string_view token = trimmed({bytes.data(), static_cast<std::size_t>(n)});
    const bool printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
    if (!printable || token.size() < kShortest || token.size() > kLongest) {
        throw Error(ErrorKind::kInvalidInput, messages::token_file_without_token(file.string(), kShortest, kLongest));
    }
    return {std::string(token), false};
}

bool is_same_secret(std::string_view given, std::string_view expected) {
    unsigned differs = given.size() != expected.size() ? 1 : 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const char other = expected.empty() ? '\0' : expected[i % expected.size()];
        differs |= static_cast<unsigned>(static_cast<unsigned char>(given[i] ^ other));
    }
    return differs == 0;
}

std::string parse_origin(const std::string& text) {
    std::string origin = text;
    std::transform(origin.begin(), origin.end(), origin.begin(), [](char c) { return lower_case(c); });
    const std::size_t colon = origin.find("://");
    const std::string scheme = origin.substr(0, std::min(colon, origin.size()));
    const std::string rest = colon == std::string::npos ? std::string() : origin.substr(colon + 3);
    const auto is_of = [](const std::string& part, std::string_view others) {
        return !part.empty() && std::all_of(part.begin(), part.end(), [&](char c) {
            return is_letter_or_digit(c) || others.find(c) != std::string_view::npos;
        });
    };
    if (is_of(scheme, "+-.") && is_of(rest, "-.:[]_")) return origin;
    throw Error(ErrorKind::kInvalidInput, messages::no_origin(in_quotes(text)));
}

bool is_loopback_host(std::string_view host) {
    std::string name;
    for (const char c : host) name += lower_case(c);
    const std::size_t end = name.starts_with('[') ? name.find(']') + 1 : name.find(':');
    std::string port = end < name.size() ? name.substr(end) : std::string();
    name = name.substr(0, end);
    if (!port.empty() && (port.size() < 2 || port[0] != ':' || port.find_first_not_of("0123456789", 1) != port.npos)) {
        return false;
    }
    if (name == "localhost" || name == "[::1]") return true;
    return name.starts_with("127.") && std::count(name.begin(), name.end(), '.') == 3 &&
           name.find_first_not_of("0123456789.") == std::string::npos;
}

bool AccessRules::allows(const std::string& origin) const {
    return std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

std::optional<HttpReply> AccessRules::refuse_source(const HttpRequest& head) const {
    const std::string host = head.header("host");
    if (loopback_only_ && !is_loopback_host(host)) {
        return ApiError(403,
                        "The Host header is " + in_quotes(host) + "; expected this computer: localhost or 127.0.0.1.")
            .reply(style_of_path(head.path));
    }
    const std::string origin = head.header("origin");
    if (!origin.empty() && !allows(origin)) {
        const std::string remedy = how_to_allow_.empty() ? "" : "; " + how_to_allow_;
        return ApiError(403, "Web pages of " + in_quotes(origin) + " may not use this server" + remedy + ".")
            .reply(style_of_path(head.path));
    }
    return std::nullopt;
}

std::optional<HttpReply> AccessRules::refuse_token(const HttpRequest& head) const {
    const std::string given = head.header("authorization"), key = head.header("x-api-key");
    constexpr std::string_view kScheme = "bearer ";
    std::string scheme = given.substr(0, kScheme.size());
    std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](char c) { return lower_case(c); });
    if (scheme == kScheme && is_same_secret(trimmed(std::string_view(given).substr(kScheme.size())), token_)) {
        return std::nullopt;
    }
    if (is_same_secret(key, token_)) return std::nullopt;
    const char* const what = given.empty() && key.empty() ? "The token is missing" : "The token is wrong";
    return ApiError(401,
                    std::string(what) +
                        "; expected the header \"Authorization: Bearer TOKEN\" or \"x-api-key: TOKEN\" with the one "
                        "that this server was started with.",
                    {}, "invalid_api_key")
        .reply(style_of_path(head.path))
        .with("WWW-Authenticate", "Bearer");
}

std::optional<HttpReply> AccessRules::answer_preflight(const HttpRequest& head) const {
    if (head.method != "OPTIONS" || head.header("origin").empty() ||
        head.header("access-control-request-method").empty()) {
        return std::nullopt;
    }
    HttpReply reply;
    reply.status = 204;
    reply.with("Access-Control-Allow-Methods", "GET, POST").with("Access-Control-Max-Age", "600");
    // The requested header names, if they are valid names.
    const std::string names = head.header("access-control-request-headers");
    const bool harmless = std::all_of(names.begin(), names.end(), [](char c) {
        return is_letter_or_digit(c) || c == '-' || c == '_' || c == ',' || c == ' ';
    });
    reply.with("Access-Control-Allow-Headers", harmless && !names.empty() ? names : "Authorization, Content-Type");
    if (head.header("access-control-request-private-network") == "true") {
        reply.with("Access-Control-Allow-Private-Network", "true");
    }
    return reply;
}

void AccessRules::add_origin(const HttpRequest& head, HttpReply& reply) const {
    if (origins_.empty()) return;
    reply.with("Vary", "Origin");
    const std::string origin = head.header("origin");
    if (!origin.empty() && allows(origin)) reply.with("Access-Control-Allow-Origin", origin);
}

}  // namespace offstage::engine
