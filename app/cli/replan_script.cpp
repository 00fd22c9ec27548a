#include "app/cli/replan_script.h"

#include <fstream>
#include <set>

#include "engine/device/byte_size.h"
#include "engine/error.h"

namespace offstage::cli {

namespace {

using engine::Error;
using engine::ErrorKind;
using Json = nlohmann::json;

constexpr std::size_t kMostLines = 100'000;

class ScriptReader {
  public:
    ScriptReader(const std::string& file, std::size_t line) : place_(file + ", line " + std::to_string(line)) {}

    [[noreturn]] void fail(const std::string& what) const {
        throw Error(ErrorKind::kInvalidInput, place_ + ": " + what);
    }

    ReplanOrder read(const std::string& text) const {
        const Json json = Json::parse(text, nullptr, false);
        if (!json.is_object()) fail("expected a JSON object like {\"at_token\": 10, \"vram\": \"8GiB\"}.");
        static const std::set<std::string> known = {"at_token", "vram",     "ram", "context", "kv",    "quant",
                                                    "min_bits", "max_loss", "pin", "unpin",   "evict", "cancel"};
        for (const auto& [key, value] : json.items()) {
            if (!known.contains(key)) {
                fail("there is no \"" + key +
                     "\"; expected at_token, vram, ram, context, kv, quant, min_bits, max_loss, pin, unpin, evict or "
                     "cancel.");
            }
        }
        ReplanOrder order;
        order.at_token = whole(json, "at_token", 0);
        engine::ReplanRequest replan;
        bool replans = false;
        const auto size = [&](const char* key, std::optional<std::uint64_t>& bytes) {
            if (!json.contains(key)) return;
            if (!json[key].is_string()) fail(std::string(key) + " is no size; expected text like \"8GiB\".");
            bytes = engine::parse_bytes(json[key].get<std::string>(), place_ + ": " + key);
            replans = true;
        };
        size("vram", replan.vram_bytes);
        size("ram", replan.ram_bytes);
        if (json.contains("context")) {
            replan.context = whole(json, "context", 1);
            replans = true;
        }
        if (json.contains("kv")) {
            if (!json["kv"].is_string()) fail("kv is no text; expected f32, bf16 or int8.");
            replan.kv = engine::parse_kv_type(json["kv"].get<std::string>());
            replans = true;
        }
        if (json.contains("quant")) {
            if (!json["quant"].is_string()) fail("quant is no text; expected one like \"experts=hqq3\".");
            const engine::QuantSettings quant = engine::parse_quant(json["quant"].get<std::string>());
            if (quant.dense.has_value()) {
                fail("attention's matrices keep the format they were loaded in; expected experts=FORMAT alone.");
            }
            replan.experts = quant.experts;
            replans = true;
        }
        engine::QualityFloor floor;
        number(json, "min_bits", floor.min_mean_bits);
        number(json, "max_loss", floor.max_loss);
        if (floor.allows_fewer_bits()) {
            replan.quality = floor;
            replans = true;
        }
        if (replans) order.replan = replan;
        expert(json, "pin", order.pin);
        expert(json, "unpin", order.unpin);
        expert(json, "evict", order.evict);
        if (json.contains("cancel")) {
            if (!json["cancel"].is_boolean()) fail("cancel is neither true nor false.");
            order.cancel = json["cancel"].get<bool>();
        }
        return order;
    }

  private:
    std::int64_t whole(const Json& json, const char* key, std::int64_t least) const {
        if (!json.contains(key) || !json[key].is_number_integer() || json[key].get<std::int64_t>() < least) {
            fail(std::string(key) + " is missing or no whole number from " + std::to_string(least) + " on.");
        }
        return json[key].get<std::int64_t>();
    }
    void number(const Json& json, const char* key, double& value) const {
        if (!json.contains(key)) return;
        if (!json[key].is_number() || !(json[key].get<double>() > 0)) {
            fail(std::string(key) + " is no number above 0.");
        }
        value = json[key].get<double>();
    }
    void expert(const Json& json, const char* key, std::optional<std::pair<std::int64_t, std::int64_t>>& value) const {
        if (!json.contains(key)) return;
        const Json& pair = json[key];
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() || !pair[1].is_number_integer()) {
            fail(std::string(key) + " names no expert; expected [layer, expert].");
        }
        value = {pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>()};
    }

    std::string place_;
};

}  // namespace

std::vector<ReplanOrder> read_replan_script(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw Error(ErrorKind::kNotFound, "The re-plan script " + file + " cannot be read.");
    std::vector<ReplanOrder> orders;
    std::string text;
    for (std::size_t line = 1; std::getline(stream, text); ++line) {
        if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
        const ScriptReader reader(file, line);
        if (orders.size() == kMostLines) reader.fail("the script is too long.");
        orders.push_back(reader.read(text));
        if (orders.size() > 1 && orders.back().at_token < orders[orders.size() - 2].at_token) {
            reader.fail("at_token goes back; expected the lines in the order of their tokens.");
        }
    }
    return orders;
}

void carry_out(const ReplanOrder& order, engine::Session& session) {
    if (order.cancel) session.cancel_replan();
    using Kind = engine::ExpertChange::Kind;
    if (order.pin) session.change_experts({Kind::kPin, {{order.pin->first, order.pin->second}}});
    if (order.unpin) session.change_experts({Kind::kUnpin, {{order.unpin->first, order.unpin->second}}});
    if (order.evict) session.change_experts({Kind::kEvict, {{order.evict->first, order.evict->second}}});
    if (order.replan) session.replan(*order.replan);
}

nlohmann::ordered_json to_json(const engine::ReplanReport& report) {
    return {{"id", report.id},
            {"state", std::string(engine::name_of(report.state))},
            {"at_token", report.at_token},
            {"in_force_at_token", report.in_force_at_token},
            {"requested", report.requested},
            {"visible", report.visible},
            {"cancelled", report.cancelled},
            {"bytes_requested", report.bytes_requested},
            {"bytes_moved", report.bytes_moved},
            {"seconds", report.seconds},
            {"problem", report.problem},
            {"note", report.note},
            {"resident_experts", report.resident_experts},
            {"mean_bits", report.mean_bits},
            {"context", report.context},
            {"vram_bytes", report.vram_bytes},
            {"ram_bytes", report.ram_bytes}};
}

}  // namespace offstage::cli
