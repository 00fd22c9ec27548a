#include <array>
#include <cstdlib>

#include "engine/device/hardware.h"
#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/name_hash.h"
#include "engine/plan/cache_folders.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestCalibrationFile = std::size_t{1} << 20;
constexpr std::size_t kMostPoints = 1024;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr double kLongestUs = 1e12;
constexpr double kLargestFactor = 1000, kLeastShareStep = 1e-6;
constexpr std::int64_t kLastSecond = std::int64_t{1} << 40;
constexpr int kCostTableVersion = 5;
constexpr std::array<const char*, kAllProductRows.size()> kProductRowNames = {"few", "many", "small_experts"};

json points_to_json(const std::vector<CostPoint>& points) {
    json list = json::array();
    for (const CostPoint& point : points) list.push_back({point.n_tokens, point.us});
    return list;
}

json sparse_to_json(const std::vector<SparseFactor>& factors) {
    json list = json::array();
    for (const SparseFactor& point : factors) list.push_back({point.share, point.factor});
    return list;
}

json to_document(const CostTable& table) {
    return {{"device", table.device},
            {"emulated", table.emulated},
            {"weight_type", table.weight_type},
            {"hidden_dim", table.hidden_dim},
            {"ffn_dim", table.ffn_dim},
            {"expert_bytes", table.expert_bytes},
            {"pinned", table.pinned},
            {"weight_copy_us", table.weight_copy_us},
            {"activation_copy_us", points_to_json(table.activation_copy)},
            {"gpu_expert_us", points_to_json(table.gpu_expert)},
            {"cpu_expert_us", points_to_json(table.cpu_expert)},
            {"sparse_cpu", sparse_to_json(table.sparse_cpu)},
            {"sync_us", table.sync_us},
            {"cpu_slowdown", table.cpu_slowdown},
            {"copy_slowdown", table.copy_slowdown},
            {"disk_read_us", table.disk.us},
            {"disk_cpu_us", table.disk.cpu_us},
            {"disk_latency_us", table.disk.latency_us},
            {"measured_at", table.measured_at},
            {"disturbed", table.disturbed},
            {"doubt", static_cast<int>(table.doubt)}};
}

// [[n_tokens, us], ...], both ascending.
std::vector<CostPoint> points_of(const JsonFields& fields, const char* key, bool may_be_empty) {
    static const std::string kExpected =
        "a list of pairs [tokens, microseconds], tokens ascending from 1, microseconds not falling";
    const json* list = fields.find(key);
    if (list == nullptr || !list->is_array() || list->size() > kMostPoints || (list->empty() && !may_be_empty)) {
        fields.reject(key, kExpected);
    }
    std::vector<CostPoint> points;
    for (const json& pair : *list) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() || !pair[1].is_number()) {
            fields.reject(key, kExpected);
        }
        // As doubles, which hold any integer with enough precision for the comparison, of
        // either sign.
        const double n_tokens = pair[0].get<double>();
        const double us = pair[1].get<double>();
        const double least = points.empty() ? 1 : static_cast<double>(points.back().n_tokens) + 1;
        const double least_us = points.empty() ? 0 : points.back().us;
        if (!(n_tokens >= least) || !(n_tokens <= static_cast<double>(kMostTokens)) || !(us >= least_us) ||
            !(us <= kLongestUs)) {
            fields.reject(key, kExpected);
        }
        points.push_back({static_cast<std::int64_t>(n_tokens), us});
    }
    return points;
}

// [[share, factor], ...], shares ascending.
std::vector<SparseFactor> sparse_of(const JsonFields& fields, const char* key) {
    static const std::string kExpected = "a list of pairs [share, factor], shares ascending from 0 to 1";
    const json* list = fields.find(key);
    std::vector<SparseFactor> factors;
    if (list == nullptr) return factors;
    if (!list->is_array() || list->size() > kMostPoints) fields.reject(key, kExpected);
    for (const json& pair : *list) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number()) {
            fields.reject(key, kExpected);
        }
        const SparseFactor point{pair[0].get<double>(), pair[1].get<double>()};
        const bool ascends = factors.empty() ? point.share >= 0 : point.share > factors.back().share + kLeastShareStep;
        if (!ascends || !(point.share <= 1) || !(point.factor > 0) || !(point.factor <= kLargestFactor)) {
            fields.reject(key, kExpected);
        }
        factors.push_back(point);
    }
    return factors;
}

template <typename Costs>
void read_age(const JsonFields& fields, Costs& costs) {
    costs.measured_at = fields.integer("measured_at", 0, kLastSecond);
    costs.doubt = static_cast<CostDoubt>(fields.integer("doubt", 0, static_cast<int>(CostDoubt::kAnswered), 0));
}

CostTable from_document(const json& document, const std::string& source) {
    const JsonFields fields(document, source);
    constexpr std::int64_t kLargestDim = std::int64_t{1} << 31;
    CostTable table;
    table.device = fields.text("device");
    table.emulated = fields.boolean("emulated", false);
    table.weight_type = fields.text("weight_type");
    table.hidden_dim = fields.integer("hidden_dim", 1, kLargestDim);
    table.ffn_dim = fields.integer("ffn_dim", 1, kLargestDim);
    table.expert_bytes = static_cast<std::uint64_t>(fields.integer("expert_bytes", 1, std::int64_t{1} << 62));
    table.pinned = fields.boolean("pinned", false);
    table.weight_copy_us = fields.number("weight_copy_us", 0, kLongestUs);
    table.activation_copy = points_of(fields, "activation_copy_us", true);
    table.gpu_expert = points_of(fields, "gpu_expert_us", true);
    table.cpu_expert = points_of(fields, "cpu_expert_us", false);
    table.sparse_cpu = sparse_of(fields, "sparse_cpu");
    read_age(fields, table);
    table.disturbed = fields.boolean("disturbed", false);
    table.sync_us = fields.number("sync_us", 0, kLongestUs);
    table.cpu_slowdown = fields.number("cpu_slowdown", 1, 100);
    table.copy_slowdown = fields.number("copy_slowdown", 1, 100);
    table.disk.us = fields.number("disk_read_us", 0, kLongestUs, 0.0);
    table.disk.cpu_us = fields.number("disk_cpu_us", 0, kLongestUs, 0.0);
    table.disk.latency_us = fields.number("disk_latency_us", 0, kLongestUs, 0.0);
    return table;
}

std::string dump(const json& document) {
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

constexpr double kFastest = 1e15;  // weights per second

json to_document(const QuantizingSpeeds& speeds) {
    json document = json::object();
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        if (speeds[i] > 0) document[kernels::name_of(static_cast<kernels::WeightType>(i))] = speeds[i];
    }
    return document;
}

QuantizingSpeeds speeds_from_document(const json& document, const std::string& source) {
    const JsonFields fields(document, source);
    QuantizingSpeeds speeds{};
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        speeds[i] = fields.number(kernels::name_of(static_cast<kernels::WeightType>(i)), 0, kFastest, 0.0);
    }
    return speeds;
}

std::filesystem::path file_of(const std::filesystem::path& directory, const std::string& key) {
    return directory / "calibration" / (name_hash(key) + ".json");  // the key inside decides
}

template <typename Take>
bool load_document(const std::filesystem::path& directory, const std::string& key, const char* part, const Take& take) {
    if (directory.empty()) return false;
    try {
        const std::filesystem::path file = file_of(directory, key);
        const std::optional<std::string> text = read_small_file(file, kLargestCalibrationFile);
        if (!text) return false;
        const std::string source = shown_path(file);
        const json document = parse_json(*text, source, {.max_depth = 8, .max_values = 100'000});
        const JsonFields fields(document, source);
        if (fields.text("format") != "offstage-calibration" ||
            fields.integer("version", 0, 1'000'000) != kCostTableVersion || fields.text("key") != key ||
            fields.find(part) == nullptr) {
            return false;
        }
        take(*fields.find(part), source);
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::string store_document(const std::filesystem::path& directory, const std::string& key, const char* part,
                           json content) {
    if (directory.empty()) return {};
    const json document = {
        {"format", "offstage-calibration"}, {"version", kCostTableVersion}, {"key", key}, {part, std::move(content)}};
    return write_file(file_of(directory, key), dump(document));
}

}  // namespace

std::string to_json(const CostTable& table) {
    return dump(to_document(table));
}

CostTable parse_cost_table(std::string_view text, const std::string& source) {
    return from_document(parse_json(text, source, {.max_depth = 8, .max_values = 100'000}), source);
}

CalibrationCache::CalibrationCache(std::filesystem::path directory) : directory_(std::move(directory)) {}

CostPlace place_of(const Backend& device, const CpuOperations& host) {
    // pool() is not const because it is handed out for work; only its size is read here.
    return {device.info(), const_cast<CpuOperations&>(host).pool().n_threads(), host.form()};
}

namespace {

// A file's formats are called alike in all models.
std::string format_key(kernels::WeightType format, const ExpertGrid& grid) {
    if (!kernels::traits_of(format).is_of_file()) return kernels::name_of(format);
    const kernels::ExpertLayout layout = grid.layout(format);
    return std::string(kernels::name_of(layout.gate)) + "+" + kernels::name_of(layout.up) + "+" +
           kernels::name_of(layout.down);
}

}  // namespace

std::string CalibrationCache::key(const CostPlace& place, kernels::WeightType format, const ExpertGrid& grid,
                                  bool pinned) {
    return place.device.fingerprint + "|" + detect_hardware().cpu_model + " x" + std::to_string(place.n_threads) + " " +
           std::string(kernels::name_of(kernels::cpu_kernels().instruction_set)) + "|" + kernels::name_of(place.form) +
           "|" + format_key(format, grid) + " " + std::to_string(grid.hidden_dim) + "x" + std::to_string(grid.ffn_dim) +
           (grid.expert.activation == kernels::Activation::kSilu
                ? ""
                : " activation " + std::to_string(static_cast<int>(grid.expert.activation))) +
           (grid.expert.biases ? " with biases" : "") + (pinned ? "" : "|pageable");
}

std::string to_json(const QuantizingSpeeds& speeds) {
    return dump(to_document(speeds));
}

QuantizingSpeeds parse_quantizing_speeds(std::string_view json_text, const std::string& source) {
    return speeds_from_document(parse_json(json_text, source, {.max_depth = 4, .max_values = 1000}), source);
}

bool CalibrationCache::load(const std::string& key, CostTable& table) const {
    return load_document(directory_, key, "table", [&](const json& document, const std::string& source) {
        table = from_document(document, source);
    });
}

std::string CalibrationCache::store(const std::string& key, const CostTable& table) const {
    return report(store_document(directory_, key, "table", to_document(table)));
}

bool CalibrationCache::load(const std::string& key, QuantizingSpeeds& speeds) const {
    return load_document(directory_, key, "weights_per_s", [&](const json& document, const std::string& source) {
        speeds = speeds_from_document(document, source);
    });
}

std::string CalibrationCache::store(const std::string& key, const QuantizingSpeeds& speeds) const {
    return report(store_document(directory_, key, "weights_per_s", to_document(speeds)));
}

std::string CalibrationCache::report(const std::string& failure) const {
    if (!failure.empty()) problem_ = measurements_not_kept(directory_, failure);
    return failure;
}

Message measurements_not_kept(const std::filesystem::path& directory, const std::string& reason) {
    return messages::measurement_not_kept(directory.string(), reason);
}

bool CalibrationCache::load(const std::string& key, ProductTimes& times) const {
    return load_document(directory_, key, "products", [&](const json& document, const std::string& source) {
        const JsonFields fields(document, source);
        times.f32_us = fields.number("f32_us", 0, kLongestUs);
        times.bf16_us = fields.number("bf16_us", 0, kLongestUs);
        times.blocks_f32_us = fields.number("blocks_f32_us", 0, kLongestUs);
        times.blocks_bf16_us = fields.number("blocks_bf16_us", 0, kLongestUs);
        times.byte_prompts_us = fields.number("byte_prompts_us", 0, kLongestUs);
        times.float_inputs_us = fields.number("float_inputs_us", 0, kLongestUs);
        times.byte_inputs_us = fields.number("byte_inputs_us", 0, kLongestUs);
        times.measured_on = fields.text("measured_on");
    });
}

std::string CalibrationCache::store(const std::string& key, const ProductTimes& times) const {
    return report(store_document(directory_, key, "products",
                                 {{"f32_us", times.f32_us},
                                  {"bf16_us", times.bf16_us},
                                  {"blocks_f32_us", times.blocks_f32_us},
                                  {"blocks_bf16_us", times.blocks_bf16_us},
                                  {"byte_prompts_us", times.byte_prompts_us},
                                  {"float_inputs_us", times.float_inputs_us},
                                  {"byte_inputs_us", times.byte_inputs_us},
                                  {"measured_on", times.measured_on}}));
}

bool CalibrationCache::load(const std::string& key, DeviceProductTimes& times) const {
    return load_document(directory_, key, "device_products", [&](const json& document, const std::string& source) {
        const JsonFields fields(document, source);
        times = {};
        times.measured_on = fields.text("measured_on");
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            const json* const found = fields.find(format.name);
            if (found == nullptr) continue;
            const JsonFields type(*found, source);
            for (const kernels::ProductRows rows : kAllProductRows) {
                const std::string name = kProductRowNames[static_cast<std::size_t>(rows)];
                times.types[format.type][static_cast<std::size_t>(rows)] = {
                    type.number((name + "_float_us").c_str(), 0, kLongestUs),
                    type.number((name + "_bytes_us").c_str(), 0, kLongestUs)};
            }
        }
    });
}

std::string CalibrationCache::store(const std::string& key, const DeviceProductTimes& times) const {
    json document = {{"measured_on", times.measured_on}};
    for (const auto& [type, us] : times.types) {
        json& of_type = document[kernels::name_of(type)];
        for (const kernels::ProductRows rows : kAllProductRows) {
            const std::string name = kProductRowNames[static_cast<std::size_t>(rows)];
            of_type[name + "_float_us"] = us[static_cast<std::size_t>(rows)].float_us;
            of_type[name + "_bytes_us"] = us[static_cast<std::size_t>(rows)].bytes_us;
        }
    }
    return report(store_document(directory_, key, "device_products", std::move(document)));
}

bool CalibrationCache::load(const std::string& key, DenseCosts& costs) const {
    return load_document(directory_, key, "dense", [&](const json& document, const std::string& source) {
        const JsonFields fields(document, source);
        costs.step = points_of(fields, "step_us", false);
        costs.past = points_of(fields, "past_us", true);
        costs.pairs = points_of(fields, "pairs_us", true);
        costs.guess_us = fields.number("guess_us", 0, kLongestUs);
        costs.check_us = fields.number("check_us", 0, kLongestUs);
        read_age(fields, costs);
        costs.disturbed = fields.boolean("disturbed", false);
    });
}

std::string CalibrationCache::store(const std::string& key, const DenseCosts& costs) const {
    return report(store_document(directory_, key, "dense",
                                 {{"step_us", points_to_json(costs.step)},
                                  {"past_us", points_to_json(costs.past)},
                                  {"pairs_us", points_to_json(costs.pairs)},
                                  {"guess_us", costs.guess_us},
                                  {"check_us", costs.check_us},
                                  {"measured_at", costs.measured_at},
                                  {"disturbed", costs.disturbed},
                                  {"doubt", static_cast<int>(costs.doubt)}}));
}

bool CalibrationCache::load(const std::string& key, DiskReadCost& read) const {
    return load_document(directory_, key, "disk", [&](const json& document, const std::string& source) {
        const JsonFields fields(document, source);
        read = {fields.number("read_us", 0, kLongestUs), fields.number("cpu_us", 0, kLongestUs),
                fields.number("latency_us", 0, kLongestUs), fields.number("check_us", 0, kLongestUs)};
        read_age(fields, read);
    });
}

std::string CalibrationCache::store(const std::string& key, const DiskReadCost& read) const {
    return report(store_document(directory_, key, "disk",
                                 {{"read_us", read.us},
                                  {"cpu_us", read.cpu_us},
                                  {"latency_us", read.latency_us},
                                  {"check_us", read.check_us},
                                  {"measured_at", read.measured_at},
                                  {"doubt", static_cast<int>(read.doubt)}}));
}

bool CalibrationCache::load(const std::string& key, RoutingHabits& habits) const {
    return load_document(directory_, key, "habits", [&](const json& document, const std::string& source) {
        const JsonFields fields(document, source);
        habits.guessable = fields.number("guessable", 0, RoutingHabits::kMostCalled);
        habits.guessed = fields.number("guessed", 0, habits.guessable);
        const auto counts = [&](const char* name) {
            const json* const found = fields.find(name);
            const auto is_count = [](const json& n) {
                return n.is_number() && n.get<double>() >= 0 && n.get<double>() <= RoutingHabits::kMostCalled;
            };
            if (found == nullptr || !found->is_array() || !std::all_of(found->begin(), found->end(), is_count)) {
                fields.reject(name, messages::a_list_of_counts);
            }
            return found->get<std::vector<double>>();
        };
        habits.calls = counts("calls");
        habits.reused = counts("reused");
    });
}

std::string CalibrationCache::store(const std::string& key, const RoutingHabits& habits) const {
    return report(store_document(directory_, key, "habits",
                                 {{"guessable", habits.guessable},
                                  {"guessed", habits.guessed},
                                  {"calls", habits.calls},
                                  {"reused", habits.reused}}));
}

std::filesystem::path calibration_directory(const std::string& asked) {
    if (!asked.empty()) return asked;
    const std::filesystem::path caches = cache_directory();
    return caches.empty() ? caches : caches / "calibration";
}

namespace {

std::filesystem::path usual_cache_directory() {
    // By the specification of XDG_CACHE_HOME, relative paths are ignored.
    const char* const xdg = std::getenv("XDG_CACHE_HOME");
    if (xdg != nullptr && std::filesystem::path(xdg).is_absolute()) return std::filesystem::path(xdg) / "offstage";
    const char* const home = std::getenv("HOME");
    if (home != nullptr && std::filesystem::path(home).is_absolute()) {
        return std::filesystem::path(home) / ".cache" / "offstage";
    }
    return {};
}

std::vector<CacheFolder> cache_folders_of(const std::filesystem::path& caches) {
    if (caches.empty()) return {};
    return {{CacheContent::kQuantized, caches / "quantized"},
            {CacheContent::kCalibration, caches / "calibration"},
            {CacheContent::kSensitivity, caches / "sensitivity"}};
}

}  // namespace

std::filesystem::path cache_directory() {
    const char* const own = std::getenv("OFFSTAGE_CACHE");
    if (own != nullptr && std::filesystem::path(own).is_absolute()) return own;
    return usual_cache_directory();
}

std::vector<CacheFolder> cache_folders() {
    return cache_folders_of(cache_directory());
}

std::vector<CacheFolder> usual_cache_folders() {
    return cache_folders_of(usual_cache_directory());
}

}  // namespace offstage::engine
