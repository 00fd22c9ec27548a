#include "engine/cluster/joined_nodes.h"

#include <algorithm>
#include <random>
#include <utility>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/plan/format_costs.h"
#include "engine/plan/routing_draw.h"
#include "engine/quant/random_rows.h"
#include "engine/run/dense_probe.h"
#include "engine/run/model_costs.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMeasuredTokens = 64;
constexpr double kMeasuringSeconds = 0.5;
constexpr int kForecastTokens = 32;

}  // namespace

NodeHello hello_of(ExpertHost& host, const std::string& desktop) {
    const ExpertGrid& grid = host.spec().experts;
    NodeHello hello;
    hello.desktop = printable(desktop, kMostNameBytes);
    const auto fingerprint = host.source().master().model_fingerprint();
    hello.fingerprint = fingerprint ? fingerprint->text() : std::string("unknown");
    hello.n_layers = grid.n_layers;
    hello.n_experts = grid.n_experts;
    hello.n_active = grid.n_active;
    hello.hidden_dim = grid.hidden_dim;
    hello.ffn_dim = grid.ffn_dim;
    hello.compute = kernels::name_of(host.form());
    return hello;
}

JoinedNodes::JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings,
                         const LoadProgressFn& progress, const std::stop_token& stop)
    : model_(model), settings_(settings) {
    if (addresses.empty()) return;
    if (addresses.size() > kMostNodes) {
        throw Error(ErrorKind::kInvalidInput, messages::too_many_nodes(addresses.size(), kMostNodes));
    }
    const ExpertGrid& grid = model.spec().experts;
    const NodeHello hello = hello_of(model, settings.desktop);
    const auto lists =
        share_out_experts(addresses.size(), grid, model.plan(), model.experts().formats(), model.popularity());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        nodes_.push_back(std::make_shared<NodeClient>(std::move(addresses[i]), hello, grid, settings.activations,
                                                      settings.patience));
        nodes_.back()->start(lists[i]);
    }
    last_up_at_.assign(nodes_.size(), std::chrono::steady_clock::now());
    dealt_ = {std::vector<std::uint8_t>(nodes_.size(), 1), model.plan().places, model.experts().formats()};
    measure_here(settings.forecasts, stop);
    const auto all = static_cast<std::uint64_t>(grid.size());
    for (const std::shared_ptr<NodeClient>& node : nodes_) {
        node->wait_until_settled(
            [&](std::int64_t held) {
                if (!progress) return;
                progress({messages::loading_experts_elsewhere, static_cast<std::uint64_t>(held), all, false});
            },
            stop);
        if (progress) progress({messages::loading_experts_elsewhere, all, all, false});
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_experts_elsewhere);
        const NodeWelcome welcome = node->welcome();
        if (!node->is_up()) continue;
        const LinkCosts::Measured measured = node->costs().measured();
        notes_.push_back(messages::node_is_used(node->name(), node->n_held(), grid.size(),
                                                Decimal{measured.latency_us / 1e3, 2},
                                                Decimal{measured.us_per_byte > 0 ? 1 / measured.us_per_byte : 0, 0}));
        const std::string here(kernels::name_of(kernels::cpu_kernels().instruction_set));
        if (welcome.instruction_set != here) {
            notes_.push_back(messages::node_rounds_otherwise(node->name(), welcome.instruction_set, here));
        }
    }
    if (settings.activations == ActivationType::kBf16) notes_.push_back(messages::node_activations_rounded);
    for (const std::shared_ptr<NodeClient>& node : nodes_) {
        auto executor = std::make_unique<RemoteExecutor>(node, grid, model.experts(), model.host(), settings.use);
        if (executors_.empty()) executor->set_after_step([this] { follow_plan(); });
        executors_.push_back(executor.get());
        model.forward().moe().add_executor(std::move(executor));
    }
}

// Another plan has other experts on disk, or in other formats; and what a machine held that stays away is for the
// others to hold.
void JoinedNodes::follow_plan() {
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::uint8_t> counted(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i]->is_up()) last_up_at_[i] = now;
        counted[i] = now - last_up_at_[i] < std::chrono::duration<double>(settings_.deal_anew_s) ? 1 : 0;
    }
    const std::size_t n = static_cast<std::size_t>(std::count(counted.begin(), counted.end(), 1));
    const Plan& plan = model_.plan();
    const std::vector<kernels::WeightType> formats = model_.experts().formats();
    if (n == 0 || (counted == dealt_.counted && plan.places == dealt_.places && formats == dealt_.formats)) return;
    const ExpertGrid& grid = model_.spec().experts;
    auto lists = share_out_experts(n, grid, plan, formats, model_.popularity());
    std::size_t next = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (counted[i] == 0) continue;
        std::vector<NodeExpert>& list = lists[next++];
        // What has no room there is not wanted, or what is there already would stay in its place.
        if (std::uint64_t room = nodes_[i]->welcome().ram_bytes; room > 0) {
            const auto end = std::find_if(list.begin(), list.end(), [&](const NodeExpert& expert) {
                const std::uint64_t bytes = grid.expert_bytes(expert.format);
                if (bytes > room) return true;
                room -= bytes;
                return false;
            });
            list.erase(end, list.end());
        }
        nodes_[i]->want(std::move(list));
    }
    dealt_ = {std::move(counted), plan.places, formats};
}

JoinedNodes::~JoinedNodes() {
    for (RemoteExecutor* executor : executors_) executor->set_after_step({});
    for (const std::shared_ptr<NodeClient>& node : nodes_) node->stop();
}

// A load on the CPU alone measures nothing: without a choice there is nothing to choose
// by. Now there is one.
void JoinedNodes::measure_here(bool forecasts, const std::stop_token& stop) {
    CostModel& cost = model_.cost();
    const LoadRequest& request = model_.request();
    if (cost.table().cpu_expert.empty()) {
        const CalibrationCache cache(calibration_directory(request.cache_directory));
        FormatCalibration wanted;
        wanted.grid = model_.spec().experts;
        wanted.largest = kMeasuredTokens;
        wanted.budget_s = kMeasuringSeconds;
        const kernels::WeightType master = model_.basis().master;
        const auto measure = [&](kernels::WeightType format) {
            wanted.format = format;
            wanted.pack = [layout = wanted.grid.layout(format)](std::int64_t, std::byte* block) {
                fill_random_expert(layout, block);
            };
            return format_costs(model_.device(), model_.host(), wanted, cache, {}, stop).table;
        };
        CostTable table = measure(master);
        if (forecasts) {
            table.dense = dense_costs({model_.spec(), master, request.quant.dense, request.kv}, model_.device(),
                                      model_.host(), cache, stop);
        }
        CostModel measured(std::move(table));
        measured.set_master(master);
        for (const FormatDemand& row : model_.demand().formats) {
            measured.set_expert_bytes(row.format, model_.source().expert_bytes(row.format));
        }
        std::vector<kernels::WeightType> formats = model_.experts().formats();
        std::sort(formats.begin(), formats.end());
        formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
        for (const kernels::WeightType format : formats) {
            if (format != master) measured.set_table(format, measure(format));
        }
        cost = std::move(measured);
    }
    const CostedModel costed{request,
                             model_.spec(),
                             model_.basis().master,
                             {},
                             expert_reads(request, model_.spec().experts, model_.basis().master, model_.memory())};
    if (lacks_disk_cost(costed, model_.device().info(), cost, model_.plan())) {
        cost.set_disk(disk_read(costed, model_.directory(), model_.source().master(), model_.host(), stop),
                      disk_reads_beside(costed, model_.device().info()));
    }
}

std::vector<JoinedNodes::Figures> JoinedNodes::figures() const {
    std::vector<Figures> figures;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const LinkCosts::Measured measured = nodes_[i]->costs().measured();
        figures.push_back({nodes_[i]->name(), nodes_[i]->is_up(), nodes_[i]->n_held(), measured.latency_us,
                           measured.us_per_byte > 0 ? 1 / measured.us_per_byte : 0, executors_[i]->totals()});
    }
    return figures;
}

std::vector<Message> JoinedNodes::take_notes() {
    std::vector<Message> notes = std::exchange(notes_, {});
    for (const std::shared_ptr<NodeClient>& node : nodes_) {
        for (Message& note : node->take_notes()) notes.push_back(std::move(note));
    }
    return notes;
}

double JoinedNodes::forecast_tokens_per_s(std::int64_t n_past) const {
    const CostModel& cost = model_.cost();
    const DenseCosts& dense = cost.table().dense;
    if (cost.table().cpu_expert.empty() || !dense.known()) return 0;
    const ExpertGrid& grid = model_.spec().experts;
    ExpertStore& store = model_.experts();
    // Decided as the dispatcher does, which may be told to prefer the machines; summed as
    // measured.
    const std::vector<const ExecutorCost*> deciding(executors_.begin(), executors_.end());
    std::vector<const ExecutorCost*> measured;
    for (const RemoteExecutor* executor : executors_) measured.push_back(&executor->cost());
    ExpertDraw draw(model_.popularity());
    std::mt19937_64 random(1);
    Schedule schedule;
    std::vector<ExpertLoad> loads;
    double us = 0;
    const PolicyKind policy = model_.dispatcher().decode_policy();
    for (int token = 0; token < kForecastTokens; ++token) {
        for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
            loads.clear();
            draw.draw(layer, random, [&](int expert) {
                ExpertLoad load;
                load.expert = expert;
                load.n_tokens = 1;
                load.place = store.place(layer, expert);
                load.format = store.format(layer, expert);
                for (std::size_t i = 0; i < executors_.size(); ++i) {
                    if (executors_[i]->takes(layer, expert)) load.elsewhere |= 1u << i;
                }
                loads.push_back(load);
            });
            std::sort(loads.begin(), loads.end(),
                      [](const ExpertLoad& a, const ExpertLoad& b) { return a.expert < b.expert; });
            decide(policy, loads, cost, store.staging().n_demand(), schedule, deciding);
            us += makespan_us(schedule.assignments, cost, store.staging().n_demand(), measured);
        }
    }
    us = us / kForecastTokens + dense.step_us(1, n_past);
    return us > 0 ? 1e6 / us : 0;
}

}  // namespace offstage::engine
