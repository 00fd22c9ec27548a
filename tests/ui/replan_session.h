#pragma once
// The fake engine with re-plans: scripted previews and moves, on top of the scripted
// session.

#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/formats.h"
#include "tests/ui/fake_session.h"

namespace offstage::test {

// Set and read by a test; any thread.
struct ReplanStage {
    std::mutex mutex;
    std::string previewProblem;        // empty: there is a preview
    std::string nowProblem;            // the same, of a preview of no change
    bool finishes = true;              // false: a re-plan stays under way until it is cancelled or this turns true
    std::string failure;               // of a re-plan; empty: it succeeds
    std::string note;                  // of a successful one
    bool finishesExpertFirst = false;  // a cancelled one goes on until this turns false
    int previews = 0;                  // of a change; a preview of no change returns the present state
    std::int64_t measuredSteps = 0;    // of a preview
    double speedBefore = 20, speedAfter = 31;  // of its decode, in tokens per second; 0: costs are not known
    std::uint64_t bytesToMove = 3'000'000'000;
    std::int64_t quantized = 0;
    double predictedLoss = 0;                          // of a preview's plan
    std::optional<kernels::WeightType> previewFormat;  // of all experts in it
    std::uint64_t vram_times = 1, ram_times = 1;       // as much of each memory
    std::vector<engine::ReplanRequest> requests;
    engine::NeuronThresholds thresholds;  // of models loaded from now on
    bool leavesOut = true;                // whether the engine can leave out neurons
    engine::ThetaChoice theta;
    std::optional<engine::ThetaChoice> previewTheta;  // in the last preview's request
    std::optional<engine::ThetaChoice> planTheta;     // that a plan chooses if requested
    bool choosesTheta = false;                        // in the last preview's request
};

class ReplanSession : public engine::Session {
  public:
    ReplanSession(std::shared_ptr<Stage> stage, std::shared_ptr<ReplanStage> replans)
        : m_inner(makeFakeSession(std::move(stage))), m_stage(std::move(replans)) {}

    engine::ModelSummary load(const engine::LoadRequest& request, const engine::LoadProgressFn& progress,
                              std::stop_token stop) override {
        engine::ModelSummary model = m_inner->load(request, progress, stop);
        const std::lock_guard lock(m_stage->mutex);
        m_reports.clear();
        model.device = "cuda:0";
        model.device_name = "Scripted GPU";
        model.vram_budget_bytes = m_vram = m_stage->vram_times * 6 << 30;
        model.ram_budget_bytes = m_ram = m_stage->ram_times * 20 << 30;
        model.max_context = 32768;
        model.weight_bytes = m_stage->ram_times * 20 << 30;
        model.thresholds = m_stage->thresholds;
        m_stage->theta = request.theta_choice();
        return model;
    }
    void set_theta(const engine::ThetaChoice& theta) override {
        const std::lock_guard lock(m_stage->mutex);
        if (!m_stage->leavesOut) engine::Session::set_theta(theta);  // throws
        m_stage->theta = theta;
    }
    void unload() override { m_inner->unload(); }
    bool is_loaded() const override { return m_inner->is_loaded(); }
    std::int64_t count_tokens(const std::vector<engine::ChatMessage>& messages) const override {
        return m_inner->count_tokens(messages);
    }
    engine::GenerationResult generate(const engine::GenerationRequest& request, const engine::TextDeltaFn& onDelta,
                                      std::stop_token stop) override {
        // Between its steps, as the engine does: previews are answered and experts move.
        const auto step = [&](const engine::TextDelta& delta) {
            onDelta(delta);
            advance(stop);
        };
        engine::GenerationResult result = m_inner->generate(request, step, stop);
        for (std::size_t i = 1; i < result.tokens.size(); ++i) {
            result.device.steps_s.push_back(0.010F + 0.001F * static_cast<float>(i % 10));
        }
        result.device.hit_rate = m_vram > std::uint64_t{8} << 30 ? 0.875 : 0.75;
        result.device.bytes_copied = 5'000'000;
        result.device.mean_bits = 16;
        result.device.decode_policy = "balanced";
        return result;
    }
    void reset_conversation() override { m_inner->reset_conversation(); }
    void begin_conversation() override { m_inner->begin_conversation(); }
    engine::Snapshot snapshot() const override {
        engine::Snapshot snapshot = m_inner->snapshot();
        const std::lock_guard lock(m_stage->mutex);
        snapshot.vram.total = m_stage->vram_times * 12 << 30;
        snapshot.vram.others = m_stage->vram_times * 1 << 30;
        snapshot.vram.budget = m_vram;
        snapshot.vram.dense = m_stage->vram_times * 1 << 30;
        snapshot.vram.kv_cache = m_stage->vram_times * 512 << 20;
        snapshot.vram.staging = m_stage->vram_times * 128 << 20;
        snapshot.vram.workspace = m_stage->vram_times * 256 << 20;
        snapshot.vram.add_experts(kernels::WeightType::kBf16, m_stage->vram_times * 2 << 30);
        snapshot.vram.add_experts(kernels::WeightType::kHqq4, m_stage->vram_times * 1 << 30);
        snapshot.ram.total = m_stage->ram_times * 32 << 30;
        snapshot.ram.others = m_stage->ram_times * 5 << 30;
        snapshot.ram.budget = m_ram;
        snapshot.ram.add_experts(kernels::WeightType::kBf16, m_stage->ram_times * 14 << 30);
        snapshot.kept_context = m_keptContext;
        if (m_context > 0) snapshot.context_size = m_context;
        return snapshot;
    }
    void request_preview(const engine::ReplanRequest& request, engine::PreviewFn done) override {
        const std::lock_guard lock(m_stage->mutex);
        m_waiting = std::move(done);
        m_stage->previewTheta = request.theta;
        m_stage->choosesTheta = request.chooses_theta;
        m_waitingChanges = request.theta || request.vram_bytes || request.ram_bytes || request.context || request.kv ||
                           request.quality || request.experts || request.kept_context;
    }
    void answerPreview() {
        engine::PreviewFn done;
        std::string problem;
        {
            const std::lock_guard lock(m_stage->mutex);
            if (!m_waiting) {
                return;
            }
            done = std::exchange(m_waiting, {});
            problem = m_waitingChanges ? m_stage->previewProblem : m_stage->nowProblem;
            m_stage->previews += m_waitingChanges ? 1 : 0;
        }
        if (!problem.empty()) {
            done(std::nullopt, engine::from_outside(problem));
            return;
        }
        engine::ReplanPreview preview;
        preview.plan.places.assign(64, engine::Place::kRam);
        preview.before.ttft_s = 0.9;
        preview.after.ttft_s = 0.0006;  // of a small model
        preview.before.hit_rate = 0.5;
        preview.after.hit_rate = 0.8;
        preview.seconds = 1.5;
        {
            const std::lock_guard lock(m_stage->mutex);
            preview.before.decode_tokens_per_s = m_stage->speedBefore;
            preview.after.decode_tokens_per_s = m_stage->speedAfter;
            preview.bytes_to_move = m_stage->bytesToMove;
            preview.measured_steps = m_stage->measuredSteps;
            preview.quantized = m_stage->quantized;
            if (m_waitingChanges) preview.after.predicted_loss = m_stage->predictedLoss;
            if (m_stage->previewFormat) preview.plan.formats.assign(64, *m_stage->previewFormat);
            if (m_stage->choosesTheta) {
                preview.plan.theta = m_stage->planTheta;
            }
        }
        preview.before.mean_bits = preview.after.mean_bits = 16;
        done(preview, {});
    }
    std::uint64_t replan(const engine::ReplanRequest& request) override {
        const std::lock_guard lock(m_stage->mutex);
        m_stage->requests.push_back(request);
        engine::ReplanReport& report = m_reports.emplace_back();
        report.id = m_reports.size();
        report.state = engine::ReplanState::kMoving;
        report.requested = 40;
        report.visible = 12;
        report.bytes_requested = 3'000'000'000;
        report.bytes_moved = 900'000'000;
        return report.id;
    }
    void cancel_replan() override {
        const std::lock_guard lock(m_stage->mutex);
        m_cancelled = !m_reports.empty();
    }
    std::vector<engine::ReplanReport> replans() const override {
        const std::lock_guard lock(m_stage->mutex);
        if (m_cancelled && !m_stage->finishesExpertFirst) {
            m_cancelled = false;
            m_reports.back().state = engine::ReplanState::kCancelled;
        }
        return m_reports;
    }
    void advance(const std::stop_token&) override {
        answerPreview();
        const std::lock_guard lock(m_stage->mutex);
        if (m_reports.empty() || m_reports.back().state != engine::ReplanState::kMoving || !m_stage->finishes) {
            return;
        }
        engine::ReplanReport& report = m_reports.back();
        if (!m_stage->failure.empty()) report.problem = engine::from_outside(m_stage->failure);
        if (!report.problem.empty()) {
            report.state = engine::ReplanState::kFailed;
            return;
        }
        const engine::ReplanRequest& asked = m_stage->requests[report.id - 1];
        m_vram = asked.vram_bytes.value_or(m_vram);
        m_ram = asked.ram_bytes.value_or(m_ram);
        m_keptContext = asked.kept_context.value_or(m_keptContext);
        m_context = asked.context.value_or(m_context);
        report.state = engine::ReplanState::kDone;
        report.visible = report.requested;
        report.bytes_moved = report.bytes_requested;
        report.seconds = 1.5;
        report.resident_experts = 24;
        report.mean_bits = 16;
        if (!m_stage->note.empty()) report.note = engine::from_outside(m_stage->note);
    }

  private:
    std::unique_ptr<engine::Session> m_inner;
    std::shared_ptr<ReplanStage> m_stage;
    mutable std::vector<engine::ReplanReport> m_reports;
    mutable bool m_cancelled = false;  // not yet obeyed
    bool m_waitingChanges = false;     // m_waiting's request contains a change
    engine::PreviewFn m_waiting;       // answered on the thread that generates, as the engine does
    std::uint64_t m_vram = 0, m_ram = 0;
    std::int64_t m_keptContext = 0, m_context = 0;
};

}  // namespace offstage::test
