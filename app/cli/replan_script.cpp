#include "app/cli/replan_script.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "app/cli/command_messages.h"
#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/model_messages.h"
#include "engine/report_table.h"
#include "engine/run/run_messages.h"

namespace offstage::cli {

namespace {

using engine::Error;
using engine::ErrorKind;

constexpr std::size_t kMostLines = 100'000;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr double kLeastFloor = 1e-9, kMostFloor = 1e9;

[[noreturn]] void fail(const std::string& place, engine::Message what) {
    throw Error(ErrorKind::kInvalidInput, engine::messages::in_file(place, std::move(what)));
}

ReplanOrder read_order(const std::string& line, const std::string& place) {
    constexpr std::array kReplanning = {"vram", "ram", "context", "kv", "quant", "min_bits", "max_loss", "max_kl"};
    constexpr std::array kOthers = {"at_token", "pin", "unpin", "evict", "cancel"};
    const nlohmann::json json = engine::parse_json(line, place);
    const engine::JsonFields fields(json, place);
    bool replans = false;
    for (const auto& [key, value] : json.items()) {
        const bool is_replanning = std::find(kReplanning.begin(), kReplanning.end(), key) != kReplanning.end();
        replans |= is_replanning;
        if (!is_replanning && std::find(kOthers.begin(), kOthers.end(), key) == kOthers.end()) {
            fail(place, engine::messages::no_such_key_of_an_order(key));
        }
    }
    ReplanOrder order;
    order.place = place;
    order.at_token = fields.integer("at_token", 0, kMostTokens);
    order.cancel = fields.boolean("cancel", false);
    const auto expert = [&](const char* key, std::optional<std::pair<std::int64_t, std::int64_t>>& value) {
        const nlohmann::json* const pair = fields.find(key);
        if (pair == nullptr) return;
        if (!pair->is_array() || pair->size() != 2 || !(*pair)[0].is_number_integer() ||
            !(*pair)[1].is_number_integer()) {
            fields.reject(key, "[layer, expert]");
        }
        value = {(*pair)[0].get<std::int64_t>(), (*pair)[1].get<std::int64_t>()};
    };
    expert("pin", order.pin);
    expert("unpin", order.unpin);
    expert("evict", order.evict);
    if (!replans) return order;
    engine::ReplanRequest& replan = order.replan.emplace();
    const auto size = [&](const char* key, std::optional<std::uint64_t>& bytes) {
        if (fields.has(key)) bytes = engine::parse_bytes(fields.text(key), place + ": " + key);
    };
    size("vram", replan.vram_bytes);
    size("ram", replan.ram_bytes);
    if (fields.has("context")) replan.context = fields.integer("context", 1, kMostTokens);
    if (fields.has("kv")) replan.kv = engine::parse_kv_type(fields.text("kv"));
    if (fields.has("quant")) {
        const engine::QuantSettings quant = engine::parse_quant(fields.text("quant"));
        if (quant.dense.has_value()) fail(place, engine::messages::order_of_dense_format);
        replan.experts = quant.experts;
    }
    engine::QualityFloor floor;
    floor.min_mean_bits = fields.number("min_bits", kLeastFloor, kMostFloor, floor.min_mean_bits);
    floor.max_loss = fields.number("max_loss", kLeastFloor, kMostFloor, floor.max_loss);
    floor.max_kl = fields.number("max_kl", kLeastFloor, kMostFloor, floor.max_kl);
    if (floor.allows_fewer_bits()) replan.quality = floor;
    return order;
}

}  // namespace

std::vector<ReplanOrder> read_replan_script(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw Error(ErrorKind::kNotFound, engine::messages::replan_script_unreadable(file));
    std::vector<ReplanOrder> orders;
    std::string text;
    for (std::size_t line = 1; std::getline(stream, text); ++line) {
        if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
        const std::string place = file + ", line " + std::to_string(line);
        if (orders.size() == kMostLines) fail(place, engine::messages::script_too_long);
        orders.push_back(read_order(text, place));
        if (orders.size() > 1 && orders.back().at_token < orders[orders.size() - 2].at_token) {
            fail(place, engine::messages::script_goes_back);
        }
    }
    return orders;
}

void check_experts(std::span<const ReplanOrder> orders, const engine::ModelSummary& model) {
    for (const ReplanOrder& order : orders) {
        for (const auto& expert : {order.pin, order.unpin, order.evict}) {
            if (!expert) continue;
            const auto& [layer, number] = *expert;
            if (layer >= 0 && layer < model.n_layers && number >= 0 && number < model.n_experts) continue;
            fail(order.place, engine::messages::no_such_expert(number, layer, model.n_layers, model.n_experts));
        }
    }
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
    nlohmann::ordered_json json = {{"id", report.id}, {"state", engine::name_of(report.state)}};
    ADD_FIELDS(json, report, at_token, in_force_at_token, requested, visible, cancelled, bytes_requested, bytes_moved,
               seconds);
    json["problem"] = report.problem.english();
    json["note"] = report.note.english();
    ADD_FIELDS(json, report, resident_experts, mean_bits, context, vram_bytes, ram_bytes);
    return json;
}

}  // namespace offstage::cli
