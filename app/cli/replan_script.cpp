#include "app/cli/replan_script.h"

#include <fstream>
#include <set>

#include "app/cli/command_messages.h"
#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/model/model_messages.h"

namespace offstage::cli {

namespace {

using engine::Error;
using engine::ErrorKind;
using Json = nlohmann::json;

constexpr std::size_t kMostLines = 100'000;

class ScriptReader {
  public:
    ScriptReader(const std::string& file, std::size_t line) : place_(file + ", line " + std::to_string(line)) {}

    [[noreturn]] void fail(engine::Message what) const {
        throw Error(ErrorKind::kInvalidInput, engine::messages::in_file(place_, std::move(what)));
    }

    ReplanOrder read(const std::string& text) const {
        const Json json = Json::parse(text, nullptr, false);
        if (!json.is_object()) fail(engine::messages::an_order_of_a_script);
        static const std::set<std::string> known = {"at_token", "vram",     "ram",      "context", "kv",
                                                    "quant",    "min_bits", "max_loss", "max_kl",  "pin",
                                                    "unpin",    "evict",    "cancel"};
        for (const auto& [key, value] : json.items()) {
            if (!known.contains(key)) {
                fail(engine::messages::no_such_key_of_an_order(key));
            }
        }
        ReplanOrder order;
        order.at_token = whole(json, "at_token", 0);
        engine::ReplanRequest replan;
        bool replans = false;
        const auto size = [&](const char* key, std::optional<std::uint64_t>& bytes) {
            if (!json.contains(key)) return;
            if (!json[key].is_string()) fail(engine::messages::order_size_invalid(key));
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
            if (!json["kv"].is_string()) fail(engine::messages::order_kv_no_text);
            replan.kv = engine::parse_kv_type(json["kv"].get<std::string>());
            replans = true;
        }
        if (json.contains("quant")) {
            if (!json["quant"].is_string()) fail(engine::messages::order_quant_no_text);
            const engine::QuantSettings quant = engine::parse_quant(json["quant"].get<std::string>());
            if (quant.dense.has_value()) {
                fail(engine::messages::order_of_dense_format);
            }
            replan.experts = quant.experts;
            replans = true;
        }
        engine::QualityFloor floor;
        number(json, "min_bits", floor.min_mean_bits);
        number(json, "max_loss", floor.max_loss);
        number(json, "max_kl", floor.max_kl);
        if (floor.allows_fewer_bits()) {
            replan.quality = floor;
            replans = true;
        }
        if (replans) order.replan = replan;
        expert(json, "pin", order.pin);
        expert(json, "unpin", order.unpin);
        expert(json, "evict", order.evict);
        if (json.contains("cancel")) {
            if (!json["cancel"].is_boolean()) fail(engine::messages::order_cancel_invalid);
            order.cancel = json["cancel"].get<bool>();
        }
        return order;
    }

  private:
    std::int64_t whole(const Json& json, const char* key, std::int64_t least) const {
        if (!json.contains(key) || !json[key].is_number_integer() || json[key].get<std::int64_t>() < least) {
            fail(engine::messages::order_number_invalid(key, least));
        }
        return json[key].get<std::int64_t>();
    }
    void number(const Json& json, const char* key, double& value) const {
        if (!json.contains(key)) return;
        if (!json[key].is_number() || !(json[key].get<double>() > 0)) {
            fail(engine::messages::order_number_not_positive(key));
        }
        value = json[key].get<double>();
    }
    void expert(const Json& json, const char* key, std::optional<std::pair<std::int64_t, std::int64_t>>& value) const {
        if (!json.contains(key)) return;
        const Json& pair = json[key];
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer() || !pair[1].is_number_integer()) {
            fail(engine::messages::order_expert_invalid(key));
        }
        value = {pair[0].get<std::int64_t>(), pair[1].get<std::int64_t>()};
    }

    std::string place_;
};

}  // namespace

std::vector<ReplanOrder> read_replan_script(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw Error(ErrorKind::kNotFound, engine::messages::replan_script_unreadable(file));
    std::vector<ReplanOrder> orders;
    std::string text;
    for (std::size_t line = 1; std::getline(stream, text); ++line) {
        if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
        const ScriptReader reader(file, line);
        if (orders.size() == kMostLines) reader.fail(engine::messages::script_too_long);
        orders.push_back(reader.read(text));
        if (orders.size() > 1 && orders.back().at_token < orders[orders.size() - 2].at_token) {
            reader.fail(engine::messages::script_goes_back);
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
            {"problem", report.problem.english()},
            {"note", report.note.english()},
            {"resident_experts", report.resident_experts},
            {"mean_bits", report.mean_bits},
            {"context", report.context},
            {"vram_bytes", report.vram_bytes},
            {"ram_bytes", report.ram_bytes}};
}

}  // namespace offstage::cli
