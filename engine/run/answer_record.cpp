#include "engine/run/answer_record.h"

#include <algorithm>

#include "engine/as_size.h"

namespace offstage::engine {

AnswerRecord::AnswerRecord(LoadedModel& model, const GenerationRequest& request) : model_(&model) {
    if (request.trace_file.empty()) return;
    const ExpertGrid& grid = model.spec().experts;
    TraceHeader header;
    header.model = model.summary().name;
    header.n_layers = grid.n_layers;
    header.n_experts = grid.n_experts;
    header.n_active = grid.n_active;
    trace_ = std::make_unique<TraceWriter>(request.trace_file, header);
}

// Prompts are one segment of several tokens; beams and drawn answers one token each.
void AnswerRecord::add_step(std::span<const Segment> segments, double us, std::size_t n_accepted) {
    std::size_t n_certain = 0;
    for (const Segment& segment : segments) n_certain += segment.certain().size();
    if (n_certain == 1) {
        steps_us_.insert(steps_us_.end(), 1 + n_accepted, us / static_cast<double>(1 + n_accepted));
    }
    if (trace_ == nullptr) return;
    std::vector<std::int64_t> positions;
    bool prompt = false;
    for (const Segment& segment : segments) {
        const auto n = static_cast<std::int64_t>(segment.certain().size() + n_accepted);
        prompt |= segment.certain().size() > 1;
        for (std::int64_t t = 0; t < n; ++t) positions.push_back(segment.sequence->size() - n + t);
    }
    const ExpertGrid& grid = model_->spec().experts;
    const std::size_t row = as_size(grid.n_layers * grid.n_active);
    trace_->add_step(model_->forward().routing().first(positions.size() * row), positions,
                     prompt ? TokenKind::kPrompt : TokenKind::kDecode);
}

void AnswerRecord::add_decode(std::span<const Segment> segments, double us, std::size_t n_drafted,
                              std::size_t n_accepted, Drafter drafter) {
    if (segments.size() == 1) count_drafts(n_drafted, n_accepted, drafter);
    add_step(segments, us, n_accepted);
}

void AnswerRecord::count_drafts(std::size_t n_drafted, std::size_t n_accepted, Drafter drafter) {
    DraftReport step;
    step.steps = 1;
    step.tokens = static_cast<std::int64_t>(1 + n_accepted);
    step.drafted = static_cast<std::int64_t>(n_drafted);
    step.accepted = static_cast<std::int64_t>(n_accepted);
    step.of(drafter) = {step.drafted, step.accepted};
    const ExpertGrid& grid = model_->spec().experts;
    const std::span<const std::int32_t> routing = model_->forward().routing();
    const std::size_t row = as_size(grid.n_layers * grid.n_active);
    const auto is_new = [&](std::size_t at) {  // no row before calls it
        const std::size_t layer = at % row / as_size(grid.n_active) * as_size(grid.n_active);
        for (std::size_t before = layer; before < at / row * row; before += row) {
            const auto of_row = routing.subspan(before, as_size(grid.n_active));
            if (std::ranges::find(of_row, routing[at]) != of_row.end()) return false;
        }
        return true;
    };
    step.expert_calls = static_cast<std::int64_t>(row);
    for (std::size_t at = row; at < (1 + n_drafted) * row; ++at) {
        step.expert_calls += is_new(at) ? 1 : 0;
        step.more_calls += is_new(at) ? 1 : 0;
    }
    drafts_ += step;
    model_->drafts() += step;
}

void AnswerRecord::finish(GenerationResult& result) {
    report(result.device);
    result.drafts = drafts_;
    if (trace_ == nullptr) return;
    const std::unique_ptr<TraceWriter> trace = std::move(trace_);
    trace->finish();
    result.traced_tokens = trace->n_tokens();
}

void AnswerRecord::report(DeviceReport& report) const {
    Backend& device = model_->device();
    if (!device.shares_host_memory()) report.vram_high_water_bytes = device.memory().usage().high_water_bytes;
    report.ram_high_water_bytes = model_->ram().usage().high_water_bytes;
    const DispatchTotals& totals = model_->dispatcher().totals();
    // On the CPU a hit is an expert that is in RAM; which ones those are does not change.
    report.hit_rate = device.shares_host_memory() ? model_->summary().expected_hit_rate : totals.hit_rate();
    static_cast<CopyCounts&>(report) = totals;
    report.neuron_hit_rate = totals.neuron_hit_rate();
    report.loading = totals.loading;
    if (totals.steps_us > 0) {
        report.dispatch_overhead = model_->dispatcher().recorder().overhead_us() / totals.steps_us;
        report.decision_overhead = model_->dispatcher().deciding_us() / totals.steps_us;
    }
    report.decode_policy = name_of(model_->dispatcher().decode_policy());
    const auto& decisions = model_->dispatcher().decisions();
    report.decisions.assign(decisions.begin(), decisions.end());
    for (const double us : steps_us_) report.steps_s.push_back(static_cast<float>(us / 1e6));
    if (!steps_us_.empty()) {
        std::vector<double> sorted = steps_us_;
        std::sort(sorted.begin(), sorted.end());
        report.median_step_s = sorted[sorted.size() / 2] / 1e6;
        report.longest_step_s = sorted.back() / 1e6;
    }
    Plan now = model_->plan();
    now.formats = model_->experts().formats();
    model_->plan_inputs().describe_formats(now);
    report.mean_bits = now.mean_bits;
}

}  // namespace offstage::engine
