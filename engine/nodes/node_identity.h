#pragma once
// Keys and certificates. Every machine makes its own, once; others identify it by the
// fingerprint of its certificate. No authority signs anything.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace offstage::engine {

// The name in every certificate: only the key identifies the machine.
inline constexpr const char* kNodeCertificateName = "offstage-node";

struct NodeIdentity {
    std::string key_pem;
    std::string certificate_pem;
    std::string fingerprint;  // of the certificate
};

// key.pem and certificate.pem of the folder, made if they are missing: readable by their
// owner alone, P-256, self-signed. Throws Error: kInvalidInput (other users may read the
// key, or the two do not belong together), kNotFound (they cannot be read or made).
NodeIdentity read_or_make_identity(const std::filesystem::path& folder);

// SHA-256 of a certificate, as 64 hexadecimal digits; empty: that is none.
std::string certificate_fingerprint(std::string_view pem);

void fill_random(std::span<unsigned char> bytes);  // throws Error (kInternal) where the system gives none

// HMAC-SHA256, 32 bytes.
std::string message_authentication(std::string_view key, std::string_view text);
// In a time that does not depend on where they differ.
bool is_same_proof(std::string_view a, std::string_view b);

// The folders with this program's data about other machines: the desktop's
// ($XDG_CONFIG_HOME/Offstage/machines), offstage-node's ($STATE_DIRECTORY, or
// $XDG_STATE_HOME/offstage-node). They are not created.
std::filesystem::path machines_folder();
std::filesystem::path node_state_folder();

// The system's name for it.
std::string name_of_this_machine();

}  // namespace offstage::engine
