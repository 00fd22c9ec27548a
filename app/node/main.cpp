// offstage-node: this machine's memory and processor for a desktop that runs a model
// which does not fit there. Exit status: 0 done, 1 failed (one line on stderr), 2 wrong
// usage.

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <stop_token>
#include <string>
#include <thread>

#include "app/process_setup.h"
#include "app/read_option.h"
#include "engine/cluster/node_experts.h"
#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_server.h"
#include "engine/nodes/pairing.h"
#include "engine/print.h"

namespace {

namespace engine = offstage::engine;

struct Options {
    engine::LoadRequest request;
    std::string listen = "0.0.0.0:7420";
    std::string state;  // folder; empty: node_state_folder()
    std::string name;   // empty: the system's
    int desktops = 4;
    double linger_s = 30;
    double keep_warm_s = 0;
    int state_every_s = 60;
    bool takes_peers = true;
    std::string pair_listen = "0.0.0.0:7421";
    int pair_minutes = 10;
    std::string removed;

    std::filesystem::path state_folder() const {
        return state.empty() ? engine::node_state_folder() : std::filesystem::path(state);
    }
    std::string machine() const { return name.empty() ? engine::name_of_this_machine() : name; }
};

// The signals that end the program, blocked in all threads and waited for by one.
class EndSignals {
  public:
    EndSignals() {
        sigemptyset(&set_);
        sigaddset(&set_, SIGTERM);
        sigaddset(&set_, SIGINT);
        pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }
    // Returns whether one came within that many seconds.
    bool wait(int seconds) {
        const timespec time{seconds, 0};
        int got = 0;
        do {
            got = sigtimedwait(&set_, nullptr, &time);
        } while (got < 0 && errno == EINTR);
        return got > 0;
    }

  private:
    sigset_t set_{};
};

void print_line(const std::string& line) {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    std::cout << line << std::endl;
}

// The file with the node's port and, in a second line, its name, for the command that
// pairs.
std::filesystem::path port_file(const std::filesystem::path& folder) {
    return folder / "port";
}

std::string state_line(const engine::NodeState& now, const engine::NodeState& before) {
    const std::uint64_t n_requests = now.n_requests - before.n_requests;
    const double compute_us = now.compute_us - before.compute_us;
    std::string line = engine::print(
        "%llu experts in %s of %s, %llu desktops, %llu requests with %llu rows",
        static_cast<unsigned long long>(now.n_held), engine::format_bytes(now.ram_used_bytes).c_str(),
        engine::format_bytes(now.ram_bytes).c_str(), static_cast<unsigned long long>(now.n_desktops),
        static_cast<unsigned long long>(n_requests), static_cast<unsigned long long>(now.n_rows - before.n_rows));
    if (n_requests > 0) line += engine::print(", %.2f ms each", compute_us / 1e3 / static_cast<double>(n_requests));
    return line;
}

int run_node(const Options& options, EndSignals& signals) {
    engine::LoadRequest request = options.request;
    request.disk_reads = engine::DiskReads::kCached;
    request.prefetch = engine::PrefetchMode::kOff;
    engine::ExpertHost host(request);
    for (const engine::Message& note : host.notes()) std::cerr << "note: " << note.english() << std::endl;
    const std::filesystem::path folder = options.state_folder();
    engine::NodeExperts experts(
        host, {options.machine(), static_cast<std::size_t>(options.desktops), options.linger_s, options.keep_warm_s,
               [](const engine::Message& note) { print_line(note.english()); },
               options.takes_peers ? engine::connecting_peers(engine::read_or_make_identity(folder))
                                   : engine::ConnectPeer()});
    engine::NodeServer server(experts, folder, engine::node_address_of(options.listen, engine::kNodePort), print_line);
    const std::string failure =
        engine::write_file(port_file(folder), std::to_string(server.port()) + "\n" + options.machine() + "\n");
    if (!failure.empty()) std::cerr << "note: " << port_file(folder).string() << ": " << failure << std::endl;
    if (engine::PairedPeers(folder).all().empty()) {
        print_line("No desktop is paired with this machine yet: offstage-node pair shows how.");
    }
    print_line(host.name() + ": ready on port " + std::to_string(server.port()) + ", products in " +
               offstage::kernels::name_of(host.form()) + ". Ctrl+C ends.");
    engine::NodeState before;
    while (!signals.wait(options.state_every_s)) {
        const engine::NodeState now = experts.state();
        print_line(state_line(now, before));
        before = now;
    }
    print_line(state_line(experts.state(), before) + "; ending");
    return 0;
}

int run_pair(const Options& options, EndSignals& signals) {
    const std::filesystem::path folder = options.state_folder();
    int port = engine::kNodePort;
    std::string name;
    std::ifstream in(port_file(folder));
    if (!(in >> port) || port < 1 || port > 65535) port = engine::kNodePort;
    std::getline(in >> std::ws, name);
    if (name.empty() || !options.name.empty()) name = options.machine();
    engine::PairingOffer offer(folder, engine::node_address_of(options.pair_listen, engine::kPairingPort), port, name);
    print_line("On the desktop, within " + std::to_string(options.pair_minutes) +
               " minutes:\n\n    offstage-cli nodes pair " + engine::name_of_this_machine() + ":" +
               std::to_string(offer.port()) + "\n\nand there this code, which is good for one pair:\n\n    " +
               offer.code() + "\n");
    std::stop_source stop;
    std::jthread watch([&](const std::stop_token& end) {
        while (!end.stop_requested()) {
            if (!signals.wait(0)) {
                poll(nullptr, 0, 50);
                continue;
            }
            stop.request_stop();
            return;
        }
    });
    const engine::PairedPeer desktop = offer.wait(std::chrono::minutes(options.pair_minutes), stop.get_token());
    print_line("Paired with " + desktop.name + " (" + desktop.fingerprint.substr(0, 16) + ").");
    return 0;
}

int run_desktops(const Options& options) {
    const std::filesystem::path folder = options.state_folder();
    engine::PairedPeers peers(folder);
    if (!options.removed.empty()) {
        peers.remove(options.removed);
        return 0;
    }
    for (const engine::PairedPeer& peer : peers.all()) print_line(peer.name + "  " + peer.fingerprint);
    return 0;
}

int run_program(int argc, char** argv) {
    Options options;
    CLI::App app(
        "Offstage's helper: holds experts of a model in this machine's memory, and computes them for the desktops "
        "that are paired with it.\nExit status: 0 done, 1 failed (one line on stderr), 2 wrong usage.");
    app.name("offstage-node");
    app.set_version_flag("--version", std::string("offstage-node ") + OFFSTAGE_VERSION);
    app.require_subcommand(0, 1);
    app.add_option("--state", options.state,
                   "Folder of this machine's key and of what it is paired with; $STATE_DIRECTORY, or "
                   "~/.local/state/offstage-node unless given");
    app.add_option(
        "--name", options.name,
        "This machine's name, as others see it; the system's unless given. Without it, pair takes that of the node "
        "that runs here");
    app.add_option("--model", options.request.model,
                   "The same model as on the desktop: GGUF file, folder, or synthetic:NAME");
    app.add_option("--listen", options.listen, "ADDRESS:PORT")->capture_default_str();
    offstage::add_parsed(app, "--ram", options.request.ram_bytes, offstage::parse_size,
                         "Memory that experts may take: 48GiB; nine tenths of what is free unless given");
    offstage::add_compute_option(app, options.request,
                                 "As on the desktop: f32 (exact is the same), bf16, int8 or auto");
    offstage::add_threads_option(app, options.request);
    app.add_option("--desktops", options.desktops, "Desktops that may be connected at once; others are refused")
        ->check(CLI::Range(1, 32))
        ->capture_default_str();
    app.add_option("--linger", options.linger_s, "Seconds that experts stay when the desktop that wanted them is gone")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--keep-warm", options.keep_warm_s,
                   "Read experts that were not used for so many seconds, so that the system leaves them in memory; 0: "
                   "never")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--state-every", options.state_every_s, "Seconds between two lines about what was done")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    app.add_flag("!--no-peers", options.takes_peers,
                 "Neither connect to other nodes that a paired desktop names, nor let them connect: what they and this "
                 "machine send each other goes by way of the desktop");
    CLI::App* const pair = app.add_subcommand("pair", "Show a code by which a desktop is paired with this machine");
    pair->add_option("--listen", options.pair_listen, "ADDRESS:PORT for as long as the code is shown")
        ->capture_default_str();
    pair->add_option("--minutes", options.pair_minutes, "Then the code is void")
        ->check(CLI::Range(1, 120))
        ->capture_default_str();
    CLI::App* const desktops = app.add_subcommand("desktops", "The desktops that are paired with this machine");
    desktops->add_option("--remove", options.removed, "Forget this one: its name, or the beginning of its key");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (desktops->parsed()) return run_desktops(options);
    if (!pair->parsed() && options.request.model.empty()) {
        std::cerr << "offstage-node: --model is missing; offstage-node --help tells the rest" << std::endl;
        return 2;
    }
    engine::silence_grpc();
    EndSignals signals;
    return pair->parsed() ? run_pair(options, signals) : run_node(options, signals);
}

}  // namespace

int main(int argc, char** argv) {
    std::string failure;
    try {
        if (offstage::set_up_process()) return run_program(argc, argv);
        failure = std::string("/dev/null cannot be opened: ") + std::strerror(errno);
    } catch (const std::bad_alloc&) {
        failure = "not enough memory";
    } catch (const std::exception& error) {
        failure = error.what();
    }
    std::cerr << "offstage-node: " << failure << std::endl;
    return 1;
}
