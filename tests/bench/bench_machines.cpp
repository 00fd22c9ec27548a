// Several machines as processes on this one (results/machines.md).
//
//   bench_machines equal [--model M]... [--nodes 1,2,3,4] [--namespaces]
//     Logits of a prompt and of greedy tokens in float32, of one machine and then of one
//     with nodes, in both shapes and
//     with experts in several places: are all bits the same? --namespaces: each node in a
//     separate network namespace,
//     behind a bridge (needs root).
//   bench_machines networks [--model M] [--nodes 1,2] [--node-share P]
//     Tokens per second, forecast and measured, with a relay of given latency and rate
//     before each node, and between
//     each two of them. --relay-core N: the relays have that core, this program core 0.
//     --in-program: no relays
//     (late_messages.h). --no-sleep: cores are never idle. --held-once: each expert on
//     one node alone.
//     --slow-node F: the first node computes F times as slowly (slow_node.cpp).
// --star, for either: no links between the nodes.
//   bench_machines messages [--delay-us 0,100]
//     The time and cost of one small message there and one back, with pauses between them
//     of several kinds.
//
// Exit status: 0, or 1 if a bit differs.
#include <CLI/CLI.hpp>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <QCoreApplication>
#include <QTemporaryDir>

#include "engine/device/memory_size.h"
#include "engine/nodes/node_server.h"
#include "engine/print.h"
#include "engine/quant/weight_format.h"
#include "engine/statistics.h"
#include "tests/bench/late_messages.h"
#include "tests/bench/message_costs.h"
#include "tests/engine/loopback_relay.h"
#include "tests/engine/node_parts.h"
#include "tests/engine/node_process.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kArenaSlack = 64 * kMiB;

bool run(const QStringList& command) {
    return QProcess::execute(command.first(), command.mid(1)) == 0;
}

QString number(std::size_t i) {
    return QString::number(static_cast<qulonglong>(i));
}

// n network namespaces and a bridge between them and this one; gone with the object.
class Namespaces {
  public:
    explicit Namespaces(std::size_t n) : n_(n) {
        bool made = run(words("ip link add %1 type bridge", {bridge()})) &&
                    run(words("ip addr add 10.219.0.1/24 dev %1", {bridge()})) &&
                    run(words("ip link set %1 up", {bridge()}));
        for (std::size_t i = 0; i < n && made; ++i) {
            const QString name = name_of(i), outside = bridge() + QLatin1Char('v') + number(i);
            made = run(words("ip netns add %1", {name})) &&
                   run(words("ip link add %1 type veth peer name eth0 netns %2", {outside, name})) &&
                   run(words("ip link set %1 master %2 up", {outside, bridge()})) &&
                   run(words("ip -n %1 addr add %2/24 dev eth0", {name, host(i)})) &&
                   run(words("ip -n %1 link set eth0 up", {name}));
        }
        if (!made) {
            remove();
            throw std::runtime_error("network namespaces cannot be made: see above");
        }
    }
    ~Namespaces() { remove(); }
    Namespaces(const Namespaces&) = delete;
    Namespaces& operator=(const Namespaces&) = delete;

    QStringList prefix(std::size_t i) const { return words("ip netns exec %1", {name_of(i)}); }
    QString host(std::size_t i) const { return QStringLiteral("10.219.0.") + number(i + 2); }

  private:
    static QStringList words(const char* text, const QStringList& values) {
        QString line = QString::fromLatin1(text);
        for (const QString& value : values) line = line.arg(value);
        return line.split(QLatin1Char(' '));
    }
    static QString bridge() { return QStringLiteral("ofbench"); }
    QString name_of(std::size_t i) const { return bridge() + number(i); }
    void remove() {
        for (std::size_t i = 0; i < n_; ++i) run(words("ip netns del %1", {name_of(i)}));
        run(words("ip link del %1", {bridge()}));
    }
    const std::size_t n_;
};

// Limits some processes together to a share of one core, by control groups (version 1 or
// 2; needs root).
class CpuShare {
  public:
    explicit CpuShare(int percent) {
        constexpr int kPeriodUs = 3000;
        const int quota_us = std::max(1000, kPeriodUs * percent / 100);
        const bool first = fs::exists("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
        folder_ = fs::path(first ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup") / "offstage-bench";
        fs::create_directory(folder_);
        if (first) {
            write("cpu.cfs_period_us", std::to_string(kPeriodUs));
            write("cpu.cfs_quota_us", std::to_string(quota_us));
        } else {
            write("cpu.max", std::to_string(quota_us) + " " + std::to_string(kPeriodUs));
        }
    }
    ~CpuShare() {
        std::error_code ignored;
        fs::remove(folder_, ignored);
    }
    CpuShare(const CpuShare&) = delete;
    CpuShare& operator=(const CpuShare&) = delete;
    void add(qint64 process) { write("cgroup.procs", std::to_string(process)); }

  private:
    void write(const char* file, const std::string& text) {
        std::ofstream out(folder_ / file);
        out << text << std::flush;
        if (!out) throw std::runtime_error((folder_ / file).string() + " cannot be written");
    }
    fs::path folder_;
};

// The folders for the programs' keys and the desktop's measurements.
class Workplace {
  public:
    Workplace() {
        silence_grpc();
        qputenv("XDG_CACHE_HOME", folder_.filePath(QStringLiteral("xdg")).toUtf8());
    }
    fs::path desktop() const { return folder_.filePath(QStringLiteral("desktop")).toStdString(); }
    LoadRequest request(const std::string& model, const std::string& quant) const {
        LoadRequest request = nodeRequest(model, folder_.filePath(QStringLiteral("cache")).toStdString());
        request.quant_cache_directory = folder_.filePath(QStringLiteral("quantized")).toStdString();
        request.n_threads = 1;
        if (!quant.empty()) request.quant = parse_quant(quant);
        return request;
    }
    // core: the one that it runs on; -1: any. slow_factor: it computes so many times as
    // slowly.
    std::unique_ptr<NodeProcess> start(const std::string& model, std::uint64_t ram_bytes, const Namespaces* where,
                                       std::size_t i, int core = -1, double slow_factor = 1) {
        QStringList prefix = where ? where->prefix(i) : QStringList();
        const bool is_slow = slow_factor > 1;
        if (is_slow) prefix += {QStringLiteral("env"), QStringLiteral("OFFSTAGE_SLOW_FACTOR=%1").arg(slow_factor)};
        if (core >= 0) prefix += {QStringLiteral("taskset"), QStringLiteral("-c"), QString::number(core)};
        QStringList arguments = {QStringLiteral("--model"), QString::fromStdString(model)};
        if (ram_bytes > 0) arguments += {QStringLiteral("--ram"), QString::number(ram_bytes)};
        auto node = std::make_unique<NodeProcess>(
            folder_.filePath(QStringLiteral("node") + number(++n_started_)), desktop(), arguments, prefix,
            where ? where->host(i) : QStringLiteral("127.0.0.1"),
            is_slow ? QStringLiteral(OFFSTAGE_SLOW_NODE) : QStringLiteral(OFFSTAGE_BIN_DIR "/offstage-node"));
        if (node->port() == 0) throw std::runtime_error("a node does not start: " + node->said().toStdString());
        return node;
    }

  private:
    QTemporaryDir folder_;
    std::size_t n_started_ = 0;
};

JoinSettings settings_of(NodeShape shape) {
    JoinSettings settings;
    settings.shape = shape;
    settings.use = NodeUse::kAlways;
    settings.patience.least_answer_s = settings.patience.most_answer_s = 120;
    settings.patience.connecting_s = 60;
    return settings;
}

const char* name_of(NodeShape shape) {
    return shape == NodeShape::kDecentralised ? "decentralised" : "helpers";
}

void print_notes(JoinedNodes& joined) {
    for (const Message& note : joined.take_notes()) std::fprintf(stderr, "  %s\n", note.english().c_str());
}

// ---------------------------------------------------------------- equal bits
// How many experts have room here and on each node.
struct Placing {
    const char* name;
    std::int64_t here, there;
};

std::vector<Placing> placings(std::int64_t n_experts, std::int64_t n_nodes) {
    const auto share = [&](std::int64_t n) { return (n + n_nodes - 1) / n_nodes; };
    return {{"all elsewhere", 0, share(n_experts)},
            {"half here, half elsewhere", n_experts / 2, share(n_experts - n_experts / 2)},
            {"elsewhere, twice", 0, std::min(n_experts, 2 * share(n_experts))},
            {"a quarter here, half elsewhere, the rest read", n_experts / 4, share(n_experts / 2)}};
}

// The logits and sizes of a model on one machine.
struct Whole {
    std::vector<float> logits;
    ExpertGrid grid;
    std::uint64_t expert_bytes = 0;
    std::uint64_t beside_bytes = 0;  // in RAM, without experts
};

Whole compute_alone(const LoadRequest& request, int n_tokens) {
    const auto model = openModel(request);
    Whole whole;
    whole.grid = model->spec().experts;
    whole.expert_bytes = whole.grid.expert_bytes(model->experts().format(std::size_t{0})) + 256;
    whole.beside_bytes =
        model->ram().usage().used_bytes - static_cast<std::uint64_t>(whole.grid.size()) * (whole.expert_bytes - 256);
    whole.logits = nodeLogits(*model, n_tokens);
    return whole;
}

bool is_equal(Workplace& place, const std::string& model, const std::string& quant, const Whole& whole, int n_tokens,
              const Placing& placing, NodeShape shape, std::size_t n_nodes, const Namespaces* namespaces, bool star) {
    const auto experts = [&](std::int64_t n) { return static_cast<std::uint64_t>(n) * whole.expert_bytes; };
    // Room to read experts that are held nowhere.
    const std::uint64_t reading_bytes = experts(whole.grid.n_active);
    const bool decentralised = shape == NodeShape::kDecentralised;
    std::vector<std::unique_ptr<NodeProcess>> nodes;
    std::vector<NodeAddress> addresses;
    for (std::size_t i = 0; i < n_nodes; ++i) {
        nodes.push_back(place.start(
            model, experts(placing.there) + kArenaSlack + (decentralised ? whole.beside_bytes + reading_bytes : 0),
            namespaces, i));
        addresses.push_back(nodes.back()->address(place.desktop()));
        if (star) addresses.back().for_nodes.clear();
    }
    LoadRequest request = place.request(model, quant);
    request.ram_bytes = whole.beside_bytes + reading_bytes + experts(placing.here) + kArenaSlack;
    const auto begin = Clock::now();
    const auto loaded = openModel(request);
    const std::vector<Place>& places = loaded->plan().places;
    const auto n_here = std::count(places.begin(), places.end(), Place::kRam);
    JoinedNodes joined(*loaded, std::move(addresses), settings_of(shape), {}, {});
    const bool same = nodeLogits(*loaded, n_tokens) == whole.logits;
    std::string held, rows;
    std::uint64_t failed = 0, all_rows = 0;
    bool all_up = true;
    for (const JoinedNodes::Figures& node : joined.figures()) {
        held += (held.empty() ? "" : ", ") + std::to_string(node.n_held);
        rows += (rows.empty() ? "" : ", ") + std::to_string(node.totals.rows);
        failed += node.totals.failed_rows;
        all_rows += node.totals.rows;
        all_up = all_up && node.up;
    }
    // All links that there should be.
    bool linked = true;
    for (std::size_t b = 1; b < n_nodes && decentralised; ++b) {
        for (std::size_t a = 0; a < b; ++a) linked = linked && joined.link(a, b).direct != star;
    }
    const bool good = same && all_up && all_rows > 0 && failed == 0 && linked;
    std::printf("| %s | %zu | %s | %s | %td | %s | %s | %s | %.0f |\n", model.c_str(), n_nodes, name_of(shape),
                placing.name, n_here, held.c_str(), rows.c_str(),
                good   ? "same"
                : same ? "SAME, BUT NOT BY ALL"
                       : "OTHER",
                std::chrono::duration<double>(Clock::now() - begin).count());
    std::fflush(stdout);
    if (!good) print_notes(joined);
    return good;
}

struct EqualOptions {
    std::vector<std::string> models = {"synthetic:mixtral-8x7b?layers=1", "synthetic:dbrx?layers=1"};
    std::vector<std::size_t> nodes = {1, 2, 3, 4};
    std::string quant;
    int n_tokens = 3;
    bool in_namespaces = false;
    bool star = false;
    std::vector<std::size_t> placings;  // which; none: all
};

int run_equal(const EqualOptions& options) {
    Workplace place;
    std::unique_ptr<Namespaces> namespaces;
    if (options.in_namespaces) {
        namespaces = std::make_unique<Namespaces>(*std::max_element(options.nodes.begin(), options.nodes.end()));
    }
    bool good = true;
    std::printf(
        "| model | nodes | shape | experts | here | held by each | rows by each | bits | seconds |\n"
        "|---|---:|---|---|---:|---|---|---|---:|\n");
    for (const std::string& model : options.models) {
        const Whole whole = compute_alone(place.request(model, options.quant), options.n_tokens);
        for (const std::size_t n_nodes : options.nodes) {
            const auto all = placings(whole.grid.size(), static_cast<std::int64_t>(n_nodes));
            for (std::size_t p = 0; p < all.size(); ++p) {
                if (!options.placings.empty() && std::count(options.placings.begin(), options.placings.end(), p) == 0)
                    continue;
                for (const NodeShape shape : {NodeShape::kHelpers, NodeShape::kDecentralised}) {
                    const auto n = static_cast<std::uint64_t>(n_nodes);
                    const std::uint64_t bytes = whole.beside_bytes * (shape == NodeShape::kDecentralised ? n + 1 : 1) +
                                                whole.expert_bytes * (static_cast<std::uint64_t>(all[p].here) +
                                                                      static_cast<std::uint64_t>(all[p].there) * n);
                    const auto free = static_cast<std::uint64_t>(memory_size().available_bytes);
                    if (bytes > free / 10 * 9) {
                        std::printf("| %s | %zu | %s | %s | | | | not run: %s of %s | |\n", model.c_str(), n_nodes,
                                    name_of(shape), all[p].name, format_bytes(bytes).c_str(),
                                    format_bytes(free).c_str());
                        continue;
                    }
                    good &= is_equal(place, model, options.quant, whole, options.n_tokens, all[p], shape, n_nodes,
                                     namespaces.get(), options.star);
                }
            }
        }
    }
    return good ? 0 : 1;
}

// ---------------------------------------------------------------- networks
struct NetworkOptions {
    std::string model = demoModel();
    std::vector<std::size_t> nodes = {1, 2};
    std::vector<int> delays_us = {100, 1000, 5000};  // of one message; -1: no relay
    std::vector<double> gbits = {1, 10};
    int n_tokens = 24;
    int n_times = 1;           // of each; their medians are used
    bool apart = false;        // this program on core 0, the nodes on the others
    int node_percent = 0;      // of a core, for all nodes together; 0: no limit
    bool here_as_well = true;  // experts; otherwise this machine has none of them in RAM
    bool star = false;         // nodes reach each other by way of this machine
    int relay_core = -1;       // -1: where this program is
    bool held_once = false;    // nodes have no room for copies of each other's experts
    bool in_program = false;   // LateMessages in the place of relays
    bool no_sleep = false;     // of cores
    double slow_factor = 1;    // of the first node's computing
};

struct Speed {
    double forecast = 0;  // tokens/s, before the first token
    double measured = 0;  // over the second half of the tokens
    double off() const { return 100 * (forecast / measured - 1); }
};
Speed median_of(const std::vector<Speed>& speeds) {
    const auto of = [&](double Speed::*value) {
        std::vector<double> values;
        for (const Speed& speed : speeds) values.push_back(speed.*value);
        return median(values);
    };
    return {of(&Speed::forecast), of(&Speed::measured)};
}

// For decode: the second half of the tokens after a prompt. No result if an answer
// differs. begins: called before these tokens.
double tokens_per_s(LoadedModel& model, int n_tokens, const std::vector<float>& expected,
                    const std::function<void()>& begins = {}) {
    std::vector<Clock::time_point> times;
    const auto first = static_cast<std::size_t>(n_tokens / 2);
    const std::vector<float> logits = nodeLogits(model, n_tokens, [&](int) {
        if (times.size() == first && begins) begins();
        times.push_back(Clock::now());
    });
    if (!expected.empty() && logits != expected) throw std::runtime_error("another answer than one machine's");
    const std::chrono::duration<double> took = times.back() - times[first];
    return static_cast<double>(times.size() - 1 - first) / took.count();
}

// Restricts the calling thread, and threads that begin from now on, to a core.
void run_on_core(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (::sched_setaffinity(0, sizeof(cores), &cores) != 0) throw std::runtime_error("no such core");
}

// Programs that only loop, one on each core, and only while no other program needs it: an
// idle core of a virtual machine takes long to wake, and so do the threads that messages
// wake.
class NoSleep {
  public:
    NoSleep() {
        const int n_cores = static_cast<int>(std::thread::hardware_concurrency());
        for (int core = 0; core < n_cores; ++core) {
            const pid_t parent = ::getpid(), child = ::fork();
            if (child != 0) {
                children_.push_back(child);
                continue;
            }
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            run_on_core(core);
            const sched_param none{};
            ::sched_setscheduler(0, SCHED_IDLE, &none);
            while (::getppid() == parent) {
                for (int i = 0; i < 1'000'000; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            ::_exit(0);
        }
    }
    ~NoSleep() {
        for (const pid_t child : children_) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
    }
    NoSleep(const NoSleep&) = delete;
    NoSleep& operator=(const NoSleep&) = delete;

  private:
    std::vector<pid_t> children_;
};

// The total work of the programs' threads.
struct Work {
    ThreadTimes here, there;
};
Work work_of(const std::vector<std::unique_ptr<NodeProcess>>& nodes) {
    Work work;
    work.here = thread_times(::getpid());
    for (const auto& node : nodes) {
        const ThreadTimes one = thread_times(node->process().processId());
        work.there.cpu_us += one.cpu_us;
        work.there.n_waits += one.n_waits;
    }
    return work;
}
// Between two moments, for each of n.
Work per(const Work& before, const Work& after, double n) {
    const auto of = [n](const ThreadTimes& a, const ThreadTimes& b) {
        return ThreadTimes{(b.cpu_us - a.cpu_us) / n, (b.n_waits - a.n_waits) / n};
    };
    return {of(before.here, after.here), of(before.there, after.there)};
}

// The times of the calling thread, which makes the steps: running on a core, and ready to
// run, as the kernel counts them.
struct EngineThread {
    double cpu_us = 0, ready_us = 0;
};
EngineThread engine_thread() {
    double cpu_ns = 0, ready_ns = 0;
    std::ifstream("/proc/thread-self/schedstat") >> cpu_ns >> ready_ns;
    return {cpu_ns / 1e3, ready_ns / 1e3};
}

Speed speed_with(LoadedModel& model, const std::vector<std::unique_ptr<NodeProcess>>& nodes,
                 const std::vector<NodeAddress>& addresses, NodeShape shape, int n_tokens,
                 const std::vector<float>& expected, RoundTrips& round_trips) {
    JoinSettings settings = settings_of(shape);
    settings.forecasts = true;
    JoinedNodes joined(model, addresses, settings, {}, {});
    const auto print_round_trips = [&](const char* when) {
        const std::vector<double> us = round_trips.take();
        if (us.empty()) return;
        const double mean = std::accumulate(us.begin(), us.end(), 0.0) / static_cast<double>(us.size());
        std::fprintf(stderr,
                     "  requests %s: %zu, until their replies were there %.0f us in the median, %.0f in the mean, %.0f "
                     "at the 90th percentile\n",
                     when, us.size(), median(us), mean, percentile(us, 0.9));
    };
    print_round_trips("when it joined");
    Speed speed;
    const std::int64_t n_past = kNodePrompt + n_tokens * 3 / 4;
    speed.forecast = joined.forecast_tokens_per_s(n_past);
    const ShapeTimes times = joined.forecast().in_force(n_past);
    const ForecastDesktop here = joined.forecast().here(n_past);
    const auto n_layers = static_cast<double>(model.spec().experts.n_layers);
    std::fprintf(
        stderr,
        "  forecast of a layer: computing %.0f us, network %.0f, waiting %.0f; pause %.0f, a woken thread %.0f, "
        "an expert %.0f here and %.0f there\n",
        times.computing_us / n_layers, times.network_us / n_layers, times.waiting_us / n_layers, here.pause_us,
        here.wake_us, here.cost.cpu_us(1), joined.node(0).costs().expert_us());
    // Per layer of the measured tokens.
    const double n = static_cast<double>(n_tokens - n_tokens / 2) * static_cast<double>(model.spec().experts.n_layers);
    Work before;
    std::vector<JoinedNodes::Figures> figures_before;
    EngineThread thread_before;
    speed.measured = tokens_per_s(model, n_tokens, expected, [&] {
        before = work_of(nodes);
        round_trips.take();
        figures_before = joined.figures();
        thread_before = engine_thread();
    });
    print_round_trips("of tokens");
    const EngineThread thread = engine_thread();
    for (std::size_t b = 1; b < joined.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            const NodeMesh::Link link = joined.link(a, b);
            if (link.direct)
                std::fprintf(stderr, "  node %zu to node %zu: round trip %.0f us, a share %.0f, between layers %+.0f\n",
                             a, b, link.latency_us, link.message_us, link.longer_us.value_or(0));
        }
    }
    const Work work = per(before, work_of(nodes), n);
    std::fprintf(stderr,
                 "  of a layer, with relays: %.0f us of CPU and %.1f waits of threads here, %.0f and %.1f there; the "
                 "thread that makes steps computes for %.0f us, and for %.0f has no core\n",
                 work.here.cpu_us, work.here.n_waits, work.there.cpu_us, work.there.n_waits,
                 (thread.cpu_us - thread_before.cpu_us) / n, (thread.ready_us - thread_before.ready_us) / n);
    for (std::size_t i = 0; i < joined.size(); ++i) {
        const JoinedNodes::Figures node = joined.figures()[i];
        const RemoteTotals &now = node.totals, &then = figures_before[i].totals;
        const LinkCosts::Measured measured = joined.node(i).costs().measured();
        std::fprintf(
            stderr,
            "  %s: %.0f tokens/s, forecast %.0f; round trip %.0f us, one of two that cross %.0f, sending %.0f, "
            "%.0f MB/s; %lld experts held; of a layer: computed there %.0f us, on its way %.0f, waited for %.0f; %llu "
            "rows, %llu failed\n",
            name_of(shape), speed.measured, speed.forecast, node.latency_us, measured.exchange_us, measured.send_us,
            node.mbps, static_cast<long long>(node.n_held), (now.compute_us - then.compute_us) / n,
            (now.network_us - then.network_us) / n, (now.waiting_us - then.waiting_us) / n,
            static_cast<unsigned long long>(now.rows), static_cast<unsigned long long>(now.failed_rows));
    }
    return speed;
}

// Where b becomes as fast as a: the latency of one message at which the times of a token
// are equal, on the straight line between two measured ones.
std::string crossing(const std::vector<int>& delays_us, const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i + 1 < delays_us.size(); ++i) {
        const double first = 1 / a[i] - 1 / b[i], second = 1 / a[i + 1] - 1 / b[i + 1];
        if ((first < 0) == (second < 0)) continue;
        const double at = delays_us[i] + (delays_us[i + 1] - delays_us[i]) * first / (first - second);
        return print("%.2f ms", at / 1e3);
    }
    return a.front() > b.front() ? "none: helpers are faster at each" : "none: decentralised is faster at each";
}

int run_networks(const NetworkOptions& options) {
    Workplace place;
    const int n_cores = static_cast<int>(std::thread::hardware_concurrency());
    if (options.apart || options.relay_core >= 0) run_on_core(0);
    std::optional<NoSleep> no_sleep;
    if (options.no_sleep) no_sleep.emplace();
    LoadRequest request = place.request(options.model, {});
    const Whole whole = compute_alone(request, options.n_tokens);
    if (!options.here_as_well) {
        request.ram_bytes =
            whole.beside_bytes + static_cast<std::uint64_t>(whole.grid.n_active) * whole.expert_bytes + kMiB;
        request.disk_reads = DiskReads::kCached;
    }
    const auto model = openModel(request);
    std::optional<CpuShare> share;
    if (options.node_percent > 0) share.emplace(options.node_percent);
    std::printf("one machine alone: %.1f tokens/s\n\n", tokens_per_s(*model, options.n_tokens, whole.logits));
    std::printf(
        "| nodes | Gbit/s | one message, ms | helpers: forecast | measured | off, %% | decentralised: forecast | "
        "measured | off, %% | faster: forecast | measured |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|\n");
    std::string crossings;
    for (const std::size_t n_nodes : options.nodes) {
        std::vector<std::unique_ptr<NodeProcess>> nodes;
        for (std::size_t i = 0; i < n_nodes; ++i) {
            const int core = options.apart && n_cores > 1 ? 1 + static_cast<int>(i) % (n_cores - 1) : -1;
            const auto n_held = (static_cast<std::size_t>(whole.grid.size()) + n_nodes - 1) / n_nodes;
            const std::uint64_t ram_bytes =
                options.held_once ? n_held * whole.expert_bytes + whole.expert_bytes / 2 + kMiB : 0;
            nodes.push_back(place.start(options.model, ram_bytes, nullptr, i, core, i == 0 ? options.slow_factor : 1));
            if (share) share->add(nodes.back()->process().processId());
        }
        for (const double gbit : options.gbits) {
            std::vector<double> forecast[2], measured[2];
            for (const int delay_us : options.delays_us) {
                std::vector<std::unique_ptr<LoopbackRelay>> relays;
                std::vector<NodeAddress> addresses;
                const auto round_trips = std::make_shared<RoundTrips>();
                const auto relay_to = [&](const NodeProcess& node) {
                    if (delay_us < 0) return std::uint16_t{0};
                    if (options.relay_core >= 0) run_on_core(options.relay_core);
                    relays.push_back(std::make_unique<LoopbackRelay>(node.port(), std::chrono::microseconds(delay_us),
                                                                     gbit * 1e9 / 8));
                    if (options.relay_core >= 0) run_on_core(0);
                    return relays.back()->port();
                };
                for (const auto& node : nodes) {
                    if (options.in_program && delay_us >= 0) {
                        addresses.push_back(LateMessages::through(node->address(place.desktop()),
                                                                  std::chrono::microseconds(delay_us), gbit * 1e9 / 8,
                                                                  round_trips));
                        addresses.back().for_nodes.clear();
                        continue;
                    }
                    const std::uint16_t from_here = relay_to(*node);
                    // Each connection is a separate line.
                    const std::uint16_t from_nodes = options.star ? std::uint16_t{0} : relay_to(*node);
                    addresses.push_back(node->address(place.desktop(), from_here, from_nodes));
                    if (options.star) addresses.back().for_nodes.clear();
                }
                std::vector<Speed> all[2];
                for (int i = 0; i < options.n_times; ++i) {
                    for (const std::size_t s : {0, 1}) {
                        // A node that makes steps needs room beside its experts.
                        if (options.held_once && s == 1) {
                            all[s].push_back({});
                            continue;
                        }
                        const NodeShape shape = s == 0 ? NodeShape::kHelpers : NodeShape::kDecentralised;
                        all[s].push_back(
                            speed_with(*model, nodes, addresses, shape, options.n_tokens, whole.logits, *round_trips));
                    }
                }
                const Speed of[2] = {median_of(all[0]), median_of(all[1])};
                for (const std::size_t s : {0, 1}) {
                    forecast[s].push_back(of[s].forecast);
                    measured[s].push_back(of[s].measured);
                }
                std::vector<double> given_us;
                for (const auto& relay : relays) {
                    const std::vector<double> of_one = relay->take_delays_us();
                    given_us.insert(given_us.end(), of_one.begin(), of_one.end());
                }
                if (!given_us.empty())
                    std::fprintf(stderr,
                                 "  relays: %zu pieces, held for %.0f us in the median, %.0f at the 90th percentile\n",
                                 given_us.size(), percentile(given_us, 0.5), percentile(given_us, 0.9));
                const auto faster = [](double a, double b) { return a > b ? "helpers" : "decentralised"; };
                std::printf("| %zu | %.0f | %.1f | %.1f | %.1f | %+.0f | %.1f | %.1f | %+.0f | %s | %s |\n", n_nodes,
                            gbit, delay_us / 1e3, of[0].forecast, of[0].measured, of[0].off(), of[1].forecast,
                            of[1].measured, of[1].off(), faster(of[0].forecast, of[1].forecast),
                            faster(of[0].measured, of[1].measured));
                std::fflush(stdout);
            }
            if (options.held_once) continue;
            crossings += print("| %zu | %.0f | %s | %s |\n", n_nodes, gbit,
                               crossing(options.delays_us, forecast[0], forecast[1]).c_str(),
                               crossing(options.delays_us, measured[0], measured[1]).c_str());
        }
    }
    if (crossings.empty()) return 0;
    std::printf("\n| nodes | Gbit/s | shapes cross: forecast | measured |\n|---:|---:|---|---|\n%s", crossings.c_str());
    return 0;
}

// ---------------------------------------------------------------- messages
struct MessageOptions {
    std::vector<int> delays_us = {-1, 0, 100};  // of one message; -1: no relay
    std::size_t n_bytes = 1200;
    int n = 600;
};

int run_messages(const MessageOptions& options) {
    Workplace place;
    std::vector<std::unique_ptr<NodeProcess>> nodes;
    nodes.push_back(place.start(demoModel(), 0, nullptr, 0));
    std::printf(
        "| relay, us | between them | there and back, us: median | p90 | held by the relay, us | CPU here, us | there "
        "| "
        "waits here | there |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (const int delay_us : options.delays_us) {
        std::optional<LoopbackRelay> relay;
        if (delay_us >= 0) relay.emplace(nodes[0]->port(), std::chrono::microseconds(delay_us));
        Pings pings(nodes[0]->address(place.desktop(), relay ? relay->port() : std::uint16_t{0}));
        struct Pause {
            const char* name;
            std::chrono::microseconds computing, asleep;
        };
        using namespace std::chrono_literals;
        for (const Pause& pause :
             {Pause{"nothing", 0us, 0us}, {"40 us of computing", 40us, 0us}, {"1 ms of sleep", 0us, 1000us}}) {
            for (int i = 0; i < 20; ++i) pings.ping(options.n_bytes);
            if (relay) relay->take_delays_us();
            std::vector<double> us;
            const Work before = work_of(nodes);
            for (int i = 0; i < options.n; ++i) {
                compute_for(pause.computing);
                if (pause.asleep.count() > 0) std::this_thread::sleep_for(pause.asleep);
                us.push_back(pings.ping(options.n_bytes));
            }
            const Work work = per(before, work_of(nodes), options.n);
            const std::vector<double> held_us = relay ? relay->take_delays_us() : std::vector<double>();
            std::printf("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f |\n",
                        relay ? std::to_string(delay_us).c_str() : "none", pause.name, median(us), percentile(us, 0.9),
                        held_us.empty() ? 0.0 : median(held_us), work.here.cpu_us, work.there.cpu_us, work.here.n_waits,
                        work.there.n_waits);
            std::fflush(stdout);
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    QCoreApplication application(argc, argv);
    CLI::App app("Several machines as processes on this one");
    app.require_subcommand(1);
    EqualOptions equal;
    CLI::App* const is_equal_app = app.add_subcommand("equal", "Are answers with nodes one machine's, bit by bit?");
    is_equal_app->add_option("--model", equal.models)->capture_default_str();
    is_equal_app->add_option("--nodes", equal.nodes)->delimiter(',')->capture_default_str();
    is_equal_app->add_option("--quant", equal.quant, "As offstage-cli's");
    is_equal_app->add_option("--tokens", equal.n_tokens)->capture_default_str();
    is_equal_app->add_option("--placing", equal.placings, "Which of the four, from 0; all unless given")
        ->delimiter(',');
    is_equal_app->add_flag("--namespaces", equal.in_namespaces, "Each node in a network namespace of its own");
    is_equal_app->add_flag("--star", equal.star, "No links between the nodes");
    NetworkOptions networks;
    CLI::App* const networks_app = app.add_subcommand("networks", "Tokens per second by latency and rate");
    networks_app->add_option("--model", networks.model)->capture_default_str();
    networks_app->add_option("--nodes", networks.nodes)->delimiter(',')->capture_default_str();
    networks_app->add_option("--delay-us", networks.delays_us, "Of one message; -1: without a relay")
        ->delimiter(',')
        ->capture_default_str();
    networks_app->add_option("--gbit", networks.gbits)->delimiter(',')->capture_default_str();
    networks_app->add_option("--tokens", networks.n_tokens)->capture_default_str();
    networks_app->add_option("--times", networks.n_times, "Measure each so often, and take medians")
        ->capture_default_str();
    networks_app->add_flag("--apart", networks.apart, "This program on core 0, the nodes on the others in turn");
    networks_app->add_flag("--held-once", networks.held_once,
                           "No room on the nodes for copies of each other's experts (helpers alone)");
    networks_app->add_flag("--in-program", networks.in_program,
                           "Messages are held back in this program, not by relays; no links between the nodes");
    networks_app->add_flag("--no-sleep", networks.no_sleep, "Keep cores busy with nothing while nobody wants them");
    networks_app->add_option("--relay-core", networks.relay_core,
                             "The relays on this core, this program on core 0; unless given they are where it is");
    networks_app->add_option("--node-share", networks.node_percent, "Percent of a core for the nodes; needs root");
    networks_app->add_option("--slow-node", networks.slow_factor, "The first node computes so many times as slowly")
        ->capture_default_str();
    networks_app->add_flag("--star", networks.star, "No links between the nodes");
    networks_app->add_flag("!--no-experts-here", networks.here_as_well, "This machine has no expert in RAM");
    MessageOptions messages;
    CLI::App* const messages_app = app.add_subcommand("messages", "What a small message there and back costs");
    messages_app->add_option("--delay-us", messages.delays_us, "Of one message; -1: without a relay")
        ->delimiter(',')
        ->capture_default_str();
    messages_app->add_option("--bytes", messages.n_bytes)->capture_default_str();
    messages_app->add_option("--pings", messages.n)->capture_default_str();
    try {
        app.parse(argc, argv);
        if (messages_app->parsed()) return run_messages(messages);
        return is_equal_app->parsed() ? run_equal(equal) : run_networks(networks);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_machines: %s\n", error.what());
        return 1;
    }
}
