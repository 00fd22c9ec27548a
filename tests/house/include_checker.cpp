#include "tests/house/include_checker.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include <QRegularExpression>

namespace offstage::house {
namespace {

namespace fs = std::filesystem;

bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Walks a source text, and recognizes comments, strings and characters.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::vector<Include> run() {
        bool line_is_blank = true;  // nothing but blanks and comments so far
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\n') {
                line_is_blank = true;
                next();
            } else if (starts("//")) {
                skip_until("\n", false);
            } else if (starts("/*")) {
                skip_until("*/", true);
            } else if (c == '#' && line_is_blank) {
                directive();
                line_is_blank = false;
            } else if (c == '"') {
                skip_quoted('"');
            } else if (c == '\'') {
                skip_quoted('\'');
            } else if (is_name_char(c)) {
                word();
                line_is_blank = false;
            } else {
                line_is_blank = line_is_blank && (c == ' ' || c == '\t' || c == '\r');
                next();
            }
        }
        return std::move(found_);
    }

  private:
    bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

    void next() {
        if (text_[at_] == '\n') ++line_;
        ++at_;
    }

    void skip_until(std::string_view end, bool inclusive) {
        while (at_ < text_.size() && !starts(end)) next();
        for (std::size_t i = 0; inclusive && i < end.size() && at_ < text_.size(); ++i) next();
    }

    void skip_quoted(char quote) {
        next();
        while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) next();
            next();
        }
        if (at_ < text_.size() && text_[at_] == quote) next();
    }

    // An identifier, a number with its digit separators, or the prefix of a raw string
    // together with the string.
    void word() {
        const std::size_t begin = at_;
        const bool number = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
        while (at_ < text_.size() && (is_name_char(text_[at_]) || (number && text_[at_] == '\''))) next();
        if (at_ < text_.size() && text_[at_] == '"' && text_[at_ - 1] == 'R' && at_ - begin <= 3) {
            const std::size_t open = text_.find('(', at_);
            if (open == std::string_view::npos) return;
            std::string end(1, ')');
            end.append(text_.substr(at_ + 1, open - at_ - 1)).push_back('"');
            skip_until(end, true);
        }
    }

    void blanks() {
        while (at_ < text_.size()) {
            if (text_[at_] == ' ' || text_[at_] == '\t') {
                next();
            } else if (starts("\\\n")) {
                next();
                next();
            } else if (starts("/*")) {
                skip_until("*/", true);
            } else {
                return;
            }
        }
    }

    void directive() {
        const int line = line_;
        next();
        blanks();
        std::size_t begin = at_;
        while (at_ < text_.size() && is_name_char(text_[at_])) next();
        const std::string_view keyword = text_.substr(begin, at_ - begin);
        if (keyword != "include" && keyword != "include_next" && keyword != "import") return;
        blanks();
        if (at_ >= text_.size()) return;
        const char open = text_[at_];
        if (open == '"' || open == '<') {
            const std::size_t end = text_.find(open == '"' ? '"' : '>', at_ + 1);
            const std::string_view name = text_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1);
            found_.push_back({line, std::string(name), open == '"' ? Include::Form::kQuoted : Include::Form::kAngled});
            at_ = end == std::string_view::npos ? text_.size() : end + 1;
        } else {
            begin = at_;
            while (at_ < text_.size() && is_name_char(text_[at_])) next();
            found_.push_back({line, std::string(text_.substr(begin, at_ - begin)), Include::Form::kMacro});
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
    std::vector<Include> found_;
};

// ---------------------------------------------------------------- the rules

// Lowest floor first: a file includes nothing from a floor above its own. Tests may
// include everything.
constexpr std::array<std::string_view, 5> kFloors = {"kernels", "engine", "ui", "app", "tests"};

std::optional<std::size_t> floor_of(std::string_view path) {
    const std::string_view top = path.substr(0, path.find('/'));
    const auto found = std::find(kFloors.begin(), kFloors.end(), top);
    if (found == kFloors.end() || top.size() == path.size()) return std::nullopt;
    return static_cast<std::size_t>(found - kFloors.begin());
}

// The folders of engine/, lowest first: the folders that each may include besides itself
// and the files in engine/ itself, which include nothing of any folder. A folder includes
// only folders of rows above its own, so that there are no circles.
struct FolderRule {
    std::string_view folder;
    std::string_view may_include;  // names with a blank before each
};
constexpr FolderRule kEngineFolders[] = {
    {"files", ""},
    {"telemetry", " files"},
    {"text", " files"},
    {"device", " files"},
    {"model", " files text device"},
    {"quant", " files device model"},
    {"plan", " files telemetry device model quant"},
    {"experts", " files telemetry device model quant plan"},
    {"dispatch", " telemetry device model quant plan experts"},
    {"run", " files telemetry text device model quant plan experts dispatch"},
    {"manual", " run"},
    {"cluster", " files telemetry device model quant plan experts dispatch run"},
    {"nodes", " files model run cluster"},
    {"serve", " text run"},
    {"hub", " files model"},
    {"eval", " files telemetry text device model quant plan experts dispatch run cluster"},
};

// The same of ui/. No file lies in ui/ itself.
constexpr FolderRule kUiFolders[] = {
    {"base", ""},
    {"plot", " base"},
    {"widgets", " base"},
    {"engine", " base"},
    {"help", " base widgets"},
    {"server", " base widgets engine"},
    {"history", " base widgets engine"},
    {"settings", " base widgets engine help server history"},
    {"load", " base plot widgets engine"},
    {"chat", " base widgets engine history settings load"},
    {"panels", " base plot widgets engine load"},
    {"window", " base plot widgets engine help server history settings load chat panels"},
};

constexpr bool names(std::string_view list, std::string_view folder) {
    for (std::size_t at = list.find(folder); at != list.npos; at = list.find(folder, at + 1)) {
        const std::size_t end = at + folder.size();
        if (at > 0 && list[at - 1] == ' ' && (end == list.size() || list[end] == ' ')) return true;
    }
    return false;
}

constexpr bool folders_have_no_circles(std::span<const FolderRule> rules) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
        for (std::size_t j = i; j < rules.size(); ++j) {
            if (names(rules[i].may_include, rules[j].folder)) return false;
        }
    }
    return true;
}
static_assert(folders_have_no_circles(kEngineFolders));
static_assert(folders_have_no_circles(kUiFolders));

// "run" of "engine/run/layers/a.h"; empty: the file is in engine/ itself.
std::string_view folder_of(std::string_view path) {
    path.remove_prefix(path.find('/') + 1);
    const std::size_t slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// For an include within one floor; `rules` are those of its folders.
std::optional<std::string> broken_folder_rule(std::string_view floor, std::span<const FolderRule> rules,
                                              std::string_view file, std::string_view target) {
    const std::string_view from = folder_of(file), to = folder_of(target);
    if (to.empty() || from == to) return std::nullopt;
    const std::string base = std::string(floor) + '/';
    if (from.empty()) return "files of " + base + " itself include nothing of its folders";
    const auto row =
        std::find_if(rules.begin(), rules.end(), [&](const FolderRule& rule) { return rule.folder == from; });
    if (row == rules.end()) return base + std::string(from) + " has no row in the table of folders";
    if (names(row->may_include, to)) return std::nullopt;
    return base + std::string(from) + " includes nothing of " + base + std::string(to);
}

bool matches(const std::string& text, const char* pattern) {
    static std::map<const char*, QRegularExpression> compiled;  // which takes longer than matching
    QRegularExpression& whole = compiled[pattern];
    if (whole.pattern().isEmpty()) {
        whole.setPattern(QRegularExpression::anchoredPattern(QString::fromUtf8(pattern)));
    }
    return whole.match(QString::fromStdString(text)).hasMatch();
}

// Users of the local server: the command that starts it, and the window's switch.
// Everything else listens to nothing.
constexpr const char* kServer = "engine/serve/(api|http)_server\\.h";
constexpr const char* kMayListen =
    "engine/serve/.*|app/cli/command_serve\\.cpp|ui/server/local_server_switch\\.cpp|tests/engine/.*";

// The engine's headers that the window may use: the session façade, value types, and
// computations with such values without a session (does it fit, what if, other cache
// policies, percentiles), the networks of forecasts, the models on this computer, writing
// of files, chat templates of families, answers from the manual, and the server that its
// switch starts.
constexpr const char* kEngineForUi =
    "engine/(run/session\\.h|run/sampler_settings\\.h|telemetry/[^/]+\\.h|error\\.h|message\\.h|text/"
    "(chat|family)_templates?\\.h"
    "|formats\\.h|indices\\.h|device/byte_size\\.h|device/hardware\\.h|device/hardware_profile\\.h|cluster/network\\.h"
    "|files/(cache_folders|file_writer)\\.h|model/model_finder\\.h|[a-z]+/[a-z]+_messages\\.h|plan/schedule\\.h"
    "|eval/cache_(picture|replay)\\.h|manual/(demo_model|manual_answers)\\.h|run/(fit_estimate|suggestions)\\.h|hub/"
    "hub_(download|preview)\\.h|cluster/"
    "(what_if|machine_network)\\.h|statistics\\.h"
    "|serve/(api_server|answer_queue)\\.h)";

// Users of connections to other machines, or from them: the program that a user starts
// for it, the command line's --node and nodes, and the window program, for machines that
// a user adds. Everything else is as if there were no network.
constexpr const char* kNodes = "engine/nodes/(?!nodes_messages).*";
constexpr const char* kMayConnect =
    "engine/nodes/.*|app/node/main\\.cpp|app/cli/(nodes_paired|nodes_joined)\\.cpp|app/machine_network\\.cpp"
    "|tests/engine/(tst_node_[a-z_]+\\.cpp|node_process\\.h)|tests/ui/tst_machines_joined\\.cpp"
    "|tests/app/tst_cli_nodes\\.cpp|tests/fuzz/.*|tests/bench/bench_machines\\.cpp";

// Users of the hub: the command and the window's queue, each begun by a person for one
// model.
constexpr const char* kHub = "engine/hub/(?!hub_messages).*";
constexpr const char* kMayGet =
    "engine/hub/.*|app/cli/command_get\\.cpp|ui/load/download_queue\\.cpp|tests/engine/tst_hub\\.cpp|tests/fuzz/.*";

struct LibraryRule {
    const char* headers;     // which includes this is about
    const char* allowed_in;  // which files may have them
    const char* rule;
};

constexpr LibraryRule kLibraryRules[] = {
    {"Q[A-Z].*|Qt[A-Z][A-Za-z0-9]*/.*|q[a-z0-9_]+\\.h", "(ui|app|tests)/.*|engine/hub/hub_connection\\.cpp",
     "kernels and engine know nothing of Qt, but for requests to a hub"},
    {"(oneapi/)?dnnl[^/]*|oneapi/.*", "kernels/gemm\\.cpp|tests/bench/.*", "only kernels/gemm.cpp knows oneDNN"},
    {"[a-z0-9]+intrin\\.h|arm_(neon|sve|bf16|fp16)\\.h|cpuid\\.h", "kernels/.*", "SIMD stays in kernels/"},
    {"cuda.*|cublas.*|cub/.*|cooperative_groups.*|nvml\\.h|nvtx3/.*|thrust/.*|mma\\.h",
     "kernels/cuda/.*|(kernels/ops|tests/device)/.*\\.cu",
     "CUDA stays in kernels/cuda/ and the .cu files of kernels/ops/ and tests/device/"},
    {"(.*/)?(QtCharts|QtDataVisualization|QtGraphs|QtNetworkAuth|QtVirtualKeyboard|QtQuick3D|QtLottie)(/.*)?"
     "|Q[A-Za-z]*(Chart|LineSeries|BarSeries|BarSet|PieSeries|ValueAxis)[A-Za-z]*|(.*/)?qcustomplot\\.h|Q3D.*",
     "", "its licence is the GPL, and Offstage's is the Apache licence"},
    {"httplib\\.h", "engine/serve/http_server\\.cpp",
     "only engine/serve/http_server.cpp listens, and nothing connects"},
    {"(grpc|grpcpp|google/protobuf)/.*|openssl/(?!evp\\.h).*",
     "engine/nodes/.*|tests/tsan_grpc\\.cpp|tests/engine/hub_server\\.h",
     "only engine/nodes connects to other machines, and holds keys"},
    {"openssl/evp\\.h", "engine/nodes/.*|engine/hub/partial_file\\.cpp|tests/engine/hub_server\\.h",
     "only engine/hub/partial_file.cpp compares files with checksums"},
    {"(QtNetwork/"
     ")?Q(Network.*|Tcp.*|Udp.*|Ssl.*|Dtls.*|HostInfo|WebSocket.*|Http.*)|"
     "QtNetwork|QtWeb.*|curl/.*|sys/socket\\.h|netinet/.*|arpa/.*|netdb\\.h|(boost/)?asio.*",
     "engine/serve/(http_socket|listen_address)\\.cpp|engine/hub/hub_connection\\.cpp"
     "|tests/engine/(loopback_(client|relay)|hub_server)\\.h",
     "only engine/hub/hub_connection.cpp opens connections"},
};

std::optional<std::string> broken_rule(const fs::path& root, const std::string& file, const Include& include) {
    if (include.form == Include::Form::kMacro) return "an include by macro cannot be checked";

    // The included file as a path from the root; relative to the including file if that
    // is meant.
    std::string target = include.name;
    const fs::path beside = (fs::path(file).parent_path() / include.name).lexically_normal();
    if (include.form == Include::Form::kQuoted && !fs::exists(root / include.name) && fs::exists(root / beside)) {
        target = beside.generic_string();
    }
    if (target.find("..") != std::string::npos) return "includes of our own are written from the root of the tree";

    const std::size_t from = *floor_of(file);
    if (const auto to = floor_of(target)) {
        const std::string rule = std::string(kFloors[from]) + " includes nothing of " + std::string(kFloors[*to]);
        if (*to > from) return rule;
        if ((kFloors[from] == "ui" || kFloors[from] == "app") && kFloors[*to] == "kernels") return rule;
        if (matches(target, kServer) && !matches(file, kMayListen)) {
            return "only app/cli/command_serve.cpp and ui/server/local_server_switch.cpp start a server";
        }
        if (matches(target, kHub) && !matches(file, kMayGet)) {
            return "only app/cli/command_get.cpp and ui/load/download_queue.cpp get models from a hub";
        }
        if (matches(target, kNodes) && !matches(file, kMayConnect)) {
            return "only offstage-node, the command line's --node and nodes and the window program connect to other "
                   "machines";
        }
        if (kFloors[from] == "engine" && kFloors[*to] == "engine") {
            return broken_folder_rule("engine", kEngineFolders, file, target);
        }
        if (kFloors[from] == "ui" && kFloors[*to] == "ui" && folder_of(target).empty()) {
            return "every file of ui/ lies in one of its folders";
        }
        if (kFloors[from] == "ui" && kFloors[*to] == "ui") return broken_folder_rule("ui", kUiFolders, file, target);
        if (kFloors[from] == "ui" && kFloors[*to] == "engine" && !matches(target, kEngineForUi)) {
            return "ui includes of the engine only the session façade and value types";
        }
        return std::nullopt;
    }
    for (const LibraryRule& rule : kLibraryRules) {
        if (matches(target, rule.headers) && !matches(file, rule.allowed_in)) return rule.rule;
    }
    return std::nullopt;
}

bool is_source(const fs::path& path) {
    constexpr std::string_view kExtensions[] = {".h", ".hpp", ".cpp", ".cc", ".inc", ".inl", ".cu", ".cuh"};
    return std::find(std::begin(kExtensions), std::end(kExtensions), path.extension().string()) !=
           std::end(kExtensions);
}

}  // namespace

std::vector<Include> includes_of(std::string_view source) {
    return Scanner(source).run();
}

std::string describe(const Breach& breach) {
    return breach.file + ":" + std::to_string(breach.line) + ": \"" + breach.include + "\": " + breach.rule;
}

Report check_includes(const fs::path& root) {
    Report report;
    for (const std::string_view floor : kFloors) {
        if (!fs::is_directory(root / floor)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / floor)) {
            if (!entry.is_regular_file() || !is_source(entry.path())) continue;
            const std::string file = entry.path().lexically_relative(root).generic_string();
            std::ifstream in(entry.path(), std::ios::binary);
            const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
            ++report.n_files;
            for (const Include& include : includes_of(text)) {
                ++report.n_includes;
                if (const auto rule = broken_rule(root, file, include)) {
                    report.breaches.push_back({file, include.line, include.name, *rule});
                }
            }
        }
    }
    std::sort(report.breaches.begin(), report.breaches.end(),
              [](const Breach& a, const Breach& b) { return std::tie(a.file, a.line) < std::tie(b.file, b.line); });
    return report;
}

}  // namespace offstage::house
