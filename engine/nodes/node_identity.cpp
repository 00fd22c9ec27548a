#include "engine/nodes/node_identity.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/error.h"
#include "engine/nodes/nodes_messages.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

template <auto kFree>
struct Free {
    template <typename T>
    void operator()(T* object) const {
        kFree(object);
    }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Memory = std::unique_ptr<BIO, Free<BIO_free_all>>;

std::string text_of(BIO* memory) {
    char* data = nullptr;
    const long n = BIO_get_mem_data(memory, &data);
    return n > 0 ? std::string(data, static_cast<std::size_t>(n)) : std::string();
}

Certificate parse_certificate(std::string_view pem) {
    const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return Certificate(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
}

bool add_extension(X509* certificate, int id, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, id, value));
    return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Valid at all times: clocks of machines at home differ, and a key is valid until a user
// removes it.
NodeIdentity make_identity() {
    const Key key(EVP_EC_gen("P-256"));
    const Certificate certificate(X509_new());
    unsigned char serial[16];
    fill_random(serial);
    serial[0] &= 0x7f;
    const std::unique_ptr<BIGNUM, Free<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
    bool made = key != nullptr && certificate != nullptr && number != nullptr;
    made = made && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get())) != nullptr &&
           ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate.get()), "20000101000000Z") == 1 &&
           ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate.get()), "99991231235959Z") == 1 &&
           X509_set_pubkey(certificate.get(), key.get()) == 1;
    if (made) {
        X509_NAME* const name = X509_get_subject_name(certificate.get());
        made =
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                       reinterpret_cast<const unsigned char*>(kNodeCertificateName), -1, -1, 0) == 1 &&
            X509_set_issuer_name(certificate.get(), name) == 1 &&
            add_extension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE") &&
            add_extension(certificate.get(), NID_subject_alt_name,
                          (std::string("DNS:") + kNodeCertificateName).c_str()) &&
            X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0;
    }
    const Memory key_text(BIO_new(BIO_s_mem())), certificate_text(BIO_new(BIO_s_mem()));
    made = made && PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1 &&
           PEM_write_bio_X509(certificate_text.get(), certificate.get()) == 1;
    if (!made) return {};
    return {text_of(key_text.get()), text_of(certificate_text.get()),
            certificate_fingerprint(text_of(certificate_text.get()))};
}

bool belong_together(const NodeIdentity& identity) {
    const Certificate certificate = parse_certificate(identity.certificate_pem);
    const Memory memory(BIO_new_mem_buf(identity.key_pem.data(), static_cast<int>(identity.key_pem.size())));
    const Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
    return certificate != nullptr && key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
}

// Readable by the owner only. False: errno has the reason.
bool write_private(const fs::path& file, const std::string& text) {
    const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (made < 0) return false;
    const bool written =
        ::write(made, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(made) == 0;
    const int code = errno;
    ::close(made);
    if (!written) ::unlink(file.c_str());
    errno = code;
    return written;
}

std::string read_text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

fs::path absolute_of(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && fs::path(value).is_absolute() ? fs::path(value) : fs::path();
}

}  // namespace

NodeIdentity read_or_make_identity(const fs::path& folder) {
    const fs::path key_file = folder / "key.pem", certificate_file = folder / "certificate.pem";
    struct stat status {};
    if (::stat(key_file.c_str(), &status) != 0 && errno == ENOENT) {
        std::error_code failure;
        fs::create_directories(folder, failure);
        if (!failure) fs::permissions(folder, fs::perms::owner_all, failure);
        const NodeIdentity made = make_identity();
        errno = 0;
        // The certificate first, so that a key without certificate never looks complete.
        fs::remove(certificate_file, failure);
        if (made.fingerprint.empty() || !write_private(certificate_file, made.certificate_pem) ||
            !write_private(key_file, made.key_pem)) {
            throw Error(
                ErrorKind::kNotFound,
                messages::identity_not_made(folder.string(), errno != 0 ? std::strerror(errno) : "no key was made"));
        }
        return made;
    }
    if (::stat(key_file.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw Error(ErrorKind::kInvalidInput, messages::identity_not_private(key_file.string(), key_file.string()));
    }
    NodeIdentity identity{read_text(key_file), read_text(certificate_file), {}};
    identity.fingerprint = certificate_fingerprint(identity.certificate_pem);
    if (identity.fingerprint.empty() || !belong_together(identity)) {
        throw Error(ErrorKind::kInvalidInput, messages::identity_unreadable(folder.string()));
    }
    return identity;
}

std::string certificate_fingerprint(std::string_view pem) {
    const Certificate certificate = parse_certificate(pem);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (certificate == nullptr || X509_digest(certificate.get(), EVP_sha256(), digest, &n) != 1) return {};
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < n; ++i) {
        text += kDigits[digest[i] >> 4];
        text += kDigits[digest[i] & 15];
    }
    return text;
}

void fill_random(std::span<unsigned char> bytes) {
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1) return;
    throw Error(ErrorKind::kInternal, messages::identity_not_made("memory", "the system gives no random numbers"));
}

std::string message_authentication(std::string_view key, std::string_view text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), digest, &n);
    return {reinterpret_cast<const char*>(digest), n};
}

bool is_same_proof(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

fs::path machines_folder() {
    const fs::path config = absolute_of("XDG_CONFIG_HOME");
    return (config.empty() ? absolute_of("HOME") / ".config" : config) / "Offstage" / "machines";
}

fs::path node_state_folder() {
    if (const fs::path given = absolute_of("STATE_DIRECTORY"); !given.empty()) return given;
    const fs::path state = absolute_of("XDG_STATE_HOME");
    return (state.empty() ? absolute_of("HOME") / ".local" / "state" : state) / "offstage-node";
}

std::string name_of_this_machine() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? std::string(name) : std::string("machine");
}

}  // namespace offstage::engine
