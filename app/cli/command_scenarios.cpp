#include <iostream>
#include <set>

#include "app/cli/command_bench.h"
#include "app/cli/command_messages.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "engine/error.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/scenario_report.h"
#include "engine/eval/text_sequences.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

engine::ScenarioRequest scenario_request(const BenchOptions& options) {
    using engine::ScenarioKind;
    engine::ScenarioRequest request;
    if (options.scenario == "decode") request.kinds = {ScenarioKind::kDecode};
    if (options.scenario == "prefill") request.kinds = {ScenarioKind::kPrefill};
    if (options.scenario == "beam") request.kinds = {ScenarioKind::kBeam};
    if (!options.in.empty()) request.decode_in = request.prefill_in = request.beam_in = options.in;
    if (!options.out.empty()) request.decode_out = request.beam_out = options.out;
    if (!options.widths.empty()) request.beam_widths = options.widths;
    request.repeats = options.repeats;
    std::set<std::string> names;
    for (const engine::ScenarioPolicy& policy : options.compare) {
        if (names.insert(policy.name).second) continue;
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::compared_policy_twice(policy.name));
    }
    if (!options.compare.empty()) {
        request.policies = options.compare;
    } else {
        request.policies = {{options.model.policy_text, options.model.dispatch}};
    }
    return request;
}

// `layers` keeps whole layers on the device: another placement, so it needs a separate
// load.
bool places_layers(const engine::ScenarioPolicy& policy) {
    return policy.settings.decode == engine::PolicyKind::kLayers;
}

// Adds the other machines' work to `nodes`.
engine::ScenarioReport run_on_one_placement(const BenchOptions& options, engine::ScenarioRequest request,
                                            nlohmann::ordered_json& nodes) {
    engine::LoadRequest load = load_request(options.model);
    load.dispatch = request.policies.front().settings;
    load.context = engine::context_of(request);
    load.learn_placement = false;  // so that all policies have the same experts
    if (request.policies.size() > 1) {
        if (!options.model.names_cache) load.cache = engine::CacheKind::kStatic;
        if (!options.model.names_prefetch) load.prefetch = engine::PrefetchMode::kOff;
    }
    if (!options.text.empty()) load.text_needs = engine::TextNeeds::kTokenizer;
    const auto text = options.text.empty() ? engine::LoadedModel::Text::kNotNeeded : engine::LoadedModel::Text::kWanted;
    engine::LoadedModel model(load, text, progress_on_terminal(), {});
    if (!options.text.empty()) {
        request.sequences = engine::sequences_of(model, read_long_text(options.text), options.text);
    }
    const auto joined = join_nodes(model, options.model, false);
    engine::LoadedStepModel steps(model);
    engine::ScenarioReport report;
    report.model = model.summary();
    // Beside accounted times the speed of this machine's memory has no meaning.
    if (!report.model.emulated_host) report.read_gbps = steps.measure_read_gbps();
    const engine::CostTable& costs = model.cost().table();
    if (costs.weight_copy_us > 0) {
        report.bus_gbps = static_cast<double>(costs.expert_bytes) / (costs.weight_copy_us * 1e3);
    }
    const auto log = [](const std::string& line) { std::cerr << line << std::endl; };
    report.rows = engine::run_scenarios(steps, request, log, {});
    if (joined != nullptr) {
        joined->print_notes();
        nodes.push_back(joined->to_json());
    }
    return report;
}

}  // namespace

std::vector<engine::ScenarioPolicy> parse_policies(const std::string& list) {
    std::vector<engine::ScenarioPolicy> policies;
    for (const std::string_view item : split_list(list)) {
        const std::string name(item);
        policies.push_back({name, engine::parse_dispatch(name)});
    }
    return policies;
}

int run_scenario_bench(const BenchOptions& options) {
    engine::ScenarioRequest request = scenario_request(options);
    const engine::ModelShape shape = engine::read_model_shape(options.model.model);
    const std::string left_out = engine::fit_to_context(request, shape.spec.max_context);

    std::vector<engine::ScenarioReport> reports;
    nlohmann::ordered_json nodes = nlohmann::ordered_json::array();  // for each placement
    for (const bool layers : {false, true}) {
        engine::ScenarioRequest part = request;
        std::erase_if(part.policies,
                      [&](const engine::ScenarioPolicy& policy) { return places_layers(policy) != layers; });
        if (part.policies.empty()) continue;
        reports.push_back(run_on_one_placement(options, part, nodes));
        reports.back().left_out = left_out;
    }
    // Makes one report: the second placement's rows follow the first's; its resident
    // experts count in its own rows' hit rates.
    engine::ScenarioReport report = reports.front();
    for (std::size_t i = 1; i < reports.size(); ++i) {
        report.rows.insert(report.rows.end(), reports[i].rows.begin(), reports[i].rows.end());
        report.model.notes.push_back(engine::messages::layers_ran_after(reports[i].model.resident_experts));
    }
    if (options.model.json) {
        nlohmann::ordered_json json = engine::to_json(report);
        json["theta"] = report.model.theta;
        json["theta_loss"] = report.model.theta_loss;
        if (!nodes.empty()) json["nodes"] = nodes.front();
        if (nodes.size() > 1) json["nodes_beside_whole_layers"] = nodes.back();
        if (options.markdown) json["markdown"] = engine::to_markdown(report);
        print_json(json);
        return 0;
    }
    std::cout << engine::to_markdown(report);
    if (const std::string label = theta_label(report.model); !label.empty()) {
        std::cout << "\nNote: results are not the model's own" << label << ".\n";
    }
    for (const engine::Message& note : report.model.notes) std::cout << "\nNote: " << note.english() << ".\n";
    std::cout << std::flush;
    return 0;
}

}  // namespace offstage::cli
