#include "engine/nodes/paired_peers.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "engine/cluster/node_protocol.h"
#include "engine/files/file_writer.h"
#include "engine/json.h"
#include "engine/nodes/nodes_messages.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPairedPeers = 256;

std::string text_field(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void write(const fs::path& file, const std::string& text) {
    const std::string failure = write_file(file, text);
    if (!failure.empty()) throw Error(ErrorKind::kNotFound, messages::peers_not_written(file.string(), failure));
}

}  // namespace

PairedPeers::PairedPeers(fs::path folder) : folder_(std::move(folder)) {
    const fs::path file = list_file(folder_);
    std::ifstream in(file, std::ios::binary);
    if (!in) return;
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    try {
        const nlohmann::json json = parse_json(text, file.string());
        const auto list = json.is_object() ? json.find("peers") : json.end();
        if (!json.is_object() || list == json.end() || !list->is_array() || list->size() > kMostPairedPeers) {
            throw Error(ErrorKind::kInvalidInput, messages::peers_invalid(file.string(), "there is no list of peers"));
        }
        for (const nlohmann::json& entry : *list) {
            PairedPeer peer;
            if (entry.is_object()) {
                peer.name = printable(text_field(entry, "name"), kMostNameBytes);
                peer.address = printable(text_field(entry, "address"), 256);
                peer.certificate_pem = text_field(entry, "certificate");
                peer.fingerprint = certificate_fingerprint(peer.certificate_pem);
            }
            if (peer.fingerprint.empty()) {
                throw Error(ErrorKind::kInvalidInput,
                            messages::peers_invalid(file.string(), "an entry has no certificate"));
            }
            peers_.push_back(std::move(peer));
        }
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::kInvalidInput) throw;
        throw Error(ErrorKind::kInvalidInput, messages::peers_invalid(file.string(), error.message()));
    }
}

const PairedPeer* PairedPeers::find(const std::string& text) const {
    const auto named = std::find_if(peers_.begin(), peers_.end(), [&](const PairedPeer& peer) {
        return peer.name == text || peer.address == text || (!peer.address.empty() && peer.address == text + ":7420") ||
               (text.size() >= 8 && peer.fingerprint.starts_with(text));
    });
    return named == peers_.end() ? nullptr : &*named;
}

bool PairedPeers::trusts(const std::string& fingerprint) const {
    return !fingerprint.empty() && std::any_of(peers_.begin(), peers_.end(),
                                               [&](const PairedPeer& peer) { return peer.fingerprint == fingerprint; });
}

const PairedPeer& PairedPeers::add(PairedPeer peer) {
    std::erase_if(peers_, [&](const PairedPeer& known) { return known.fingerprint == peer.fingerprint; });
    const std::string base = peer.name.empty() ? "machine" : peer.name;
    peer.name = base;
    for (int n = 2; find(peer.name) != nullptr; ++n) peer.name = base + "-" + std::to_string(n);
    peers_.push_back(std::move(peer));
    store();
    return peers_.back();
}

const PairedPeer& PairedPeers::at(const std::string& text) const {
    if (const PairedPeer* const peer = find(text)) return *peer;
    std::string names;
    for (const PairedPeer& known : peers_) names += (names.empty() ? "" : ", ") + known.name;
    throw Error(ErrorKind::kNotFound,
                messages::no_such_peer(printable(text, kMostNameBytes),
                                       names.empty() ? Message(messages::no_peers_yet) : messages::peers_are(names)));
}

void PairedPeers::remove(const std::string& text) {
    peers_.erase(peers_.begin() + (&at(text) - peers_.data()));
    store();
}

void PairedPeers::store() const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PairedPeer& peer : peers_) {
        list.push_back({{"name", peer.name}, {"address", peer.address}, {"certificate", peer.certificate_pem}});
    }
    write(list_file(folder_), nlohmann::ordered_json{{"peers", list}}.dump(2) + "\n");
}

std::string node_address_of(const std::string& text, int default_port) {
    const auto wrong = [&] {
        return Error(ErrorKind::kInvalidInput, messages::node_address_invalid(printable(text, 256)));
    };
    const bool bracketed = text.starts_with('[');
    const std::size_t end = bracketed ? text.find(']') : text.find(':');
    if (bracketed && end == text.npos) throw wrong();
    const std::string host = text.substr(0, bracketed ? end + 1 : end);
    const std::string rest = end == text.npos ? "" : text.substr(bracketed ? end + 1 : end);
    const std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._%[]:";
    if (host.empty() || host.size() > 253 || host.find_first_not_of(letters) != host.npos) throw wrong();
    if (!bracketed && host.find_first_of("[]") != host.npos) throw wrong();
    if (rest.empty()) return host + ":" + std::to_string(default_port);
    const std::string port = rest.substr(1);
    if (rest[0] != ':' || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos ||
        std::stoi(port) > 65535) {
        throw wrong();
    }
    return host + ":" + port;
}

}  // namespace offstage::engine
