#include "tests/ui/fake_session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <random>
#include <thread>

#include "engine/run/text_of_model.h"
#include "kernels/formats.h"

namespace offstage::test {

namespace {

using Clock = std::chrono::steady_clock;

bool isStopped(const Stage& stage, const std::stop_token& stop) {
    return stop.stop_requested() && !stage.deafToStop;
}

// Sleeps in steps of a "layer", and checks the token after each.
bool sleepUnlessStopped(Clock::time_point until, int layerMs, const Stage& stage, const std::stop_token& stop) {
    const auto layer = std::chrono::milliseconds(std::max(1, layerMs));
    while (Clock::now() < until) {
        if (isStopped(stage, stop)) {
            return false;
        }
        std::this_thread::sleep_until(std::min(until, Clock::now() + layer));
    }
    return !isStopped(stage, stop);
}

// Whole UTF-8 characters of about n bytes.
std::vector<std::string> tokensOf(const std::string& text, std::size_t bytes) {
    std::vector<std::string> tokens;
    std::size_t from = 0;
    while (from < text.size()) {
        std::size_t to = std::min(text.size(), from + bytes);
        while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xC0) == 0x80) {
            ++to;
        }
        tokens.push_back(text.substr(from, to - from));
        from = to;
    }
    return tokens;
}

// The token and six others; their ids are above those of the answer.
engine::TokenChoice choiceOf(std::size_t i, const std::string& text, engine::TokenId token, int alternatives) {
    engine::TokenChoice choice;
    choice.chosen = {token, std::log(fakeProbability(i)), text, false};
    double rest = (1 - fakeProbability(i)) / 2;
    for (int rival = 0; rival < alternatives; ++rival) {
        const bool end = rival == 3;
        choice.alternatives.push_back({static_cast<engine::TokenId>(3000 + rival), std::log(rest),
                                       end ? "</s>" : " rival" + std::to_string(rival), end});
        rest /= 2;
    }
    if (fakeProbability(i) > 0.3 && !choice.alternatives.empty()) {
        choice.alternatives.insert(choice.alternatives.begin(), choice.chosen);
        choice.alternatives.pop_back();
    }
    return choice;
}

// A script's texts as messages.
std::vector<engine::Message> said(const std::vector<std::string>& texts) {
    std::vector<engine::Message> messages;
    for (const std::string& text : texts) {
        messages.push_back(engine::from_outside(text));
    }
    return messages;
}

class FakeSession : public engine::Session {
  public:
    explicit FakeSession(std::shared_ptr<Stage> stage) : m_stage(std::move(stage)) { ++m_stage->sessionsAlive; }
    ~FakeSession() override { --m_stage->sessionsAlive; }

    engine::ModelSummary load(const engine::LoadRequest& request, const engine::LoadProgressFn& progress,
                              std::stop_token stop) override {
        m_stage->note(request);
        const Script script = m_stage->script();
        unload();
        constexpr std::uint64_t kBytes = 1'300'000'000;
        const auto begin = Clock::now();
        if (!script.loadNotes.empty()) {
            engine::LoadProgress early;
            early.note = engine::from_outside(script.loadNotes.front());
            progress(early);
        }
        for (int step = 0; step < script.loadSteps; ++step) {
            progress({engine::from_outside(step < script.loadSteps / 2 ? "Reading weights" : "Packing experts"),
                      kBytes * static_cast<std::uint64_t>(step) / static_cast<std::uint64_t>(script.loadSteps),
                      kBytes});
            if (step == script.loadSteps / 2) {
                if (script.loadError) {
                    throw *script.loadError;
                }
                if (script.loadThrowsForeign) {
                    throw std::runtime_error("something foreign");
                }
            }
            if (!sleepUnlessStopped(begin + std::chrono::milliseconds(script.loadMs * (step + 1) / script.loadSteps),
                                    script.layerMs, *m_stage, stop)) {
                throw engine::Error(engine::ErrorKind::kCancelled, engine::from_outside("Loading was cancelled."));
            }
        }
        engine::ModelSummary model;
        model.name = script.name;
        model.source = request.model;
        model.architecture = "mixtral";
        model.n_layers = script.layers;
        for (std::int32_t i = 0; i < script.layers; ++i) {
            model.layer_numbers.push_back(script.denseLayers + i);
        }
        model.n_experts = script.experts;
        model.hidden_dim = 2048;
        model.ffn_dim = 768;
        model.n_active = script.active;
        model.context = model.max_context = script.context;
        model.total_weights = 14'200'000;
        model.active_weights = 4'800'000;
        model.weight_bytes = 28'400'000;
        model.weight_type = "BF16";
        model.expert_format = engine::FormatId{2};
        for (const engine::FormatRow& row : engine::expert_formats()) {
            if (row.id != model.expert_format) {
                model.expert_formats.smaller.push_back(row.id);
            }
        }
        if (script.expertFormats) {
            model.expert_formats = *script.expertFormats;
            model.expert_format = kernels::WeightType::kFile1;
        }
        model.instruction_set = "avx512_bf16";
        model.n_threads = 2;
        model.device = script.residents == 0 ? "cpu" : script.emulated ? "emulated:fake-gpu" : "cuda:0";
        model.device_name = script.residents == 0 ? "CPU" : "Fake GPU";
        model.emulated = script.emulated;
        model.total_experts = script.layers * script.experts;
        model.resident_experts = script.residents == 0 ? model.total_experts : script.residents;
        model.has_tokenizer = true;
        if (!script.tokenizerOf.empty()) {
            auto text = std::make_shared<engine::TextOfModel>();
            text->tokenizer = engine::Tokenizer::open(script.tokenizerOf, std::int64_t{1} << 20);
            model.vocab_size = text->tokenizer->vocab_size();
            model.text = std::move(text);
        }
        model.has_chat_template = script.hasTemplate || !request.chat_template.empty();
        model.thinks = !script.thought.empty();
        model.thinking_choices = script.thinkingChoices;
        model.defaults = script.advised;
        model.notes = said(script.loadNotes);
        model.n_early_notes = std::min<std::size_t>(1, script.loadNotes.size());
        const std::lock_guard lock(m_mutex);
        m_loaded = true;
        m_snapshot = {};
        m_snapshot.revision = ++m_revision;
        m_snapshot.n_layers = script.layers;
        m_snapshot.n_experts = script.experts;
        m_snapshot.n_active = script.active;
        m_snapshot.context_size = script.context;
        m_snapshot.kept_context = request.kept_context;
        m_snapshot.kept_context_bytes = static_cast<std::uint64_t>(request.kept_context) * kFakeKeptBytes;
        m_script = script;
        clearCounts();
        placeExperts();
        return model;
    }

    void unload() override {
        const std::lock_guard lock(m_mutex);
        m_loaded = false;
    }
    bool is_loaded() const override { return m_loaded; }

    std::int64_t count_tokens(const std::vector<engine::ChatMessage>& messages) const override {
        std::int64_t tokens = 0;
        for (const auto& message : messages) {
            tokens += 3 + static_cast<std::int64_t>(message.content.size() / 4);
        }
        return tokens;
    }

    engine::GenerationResult generate(const engine::GenerationRequest& request, const engine::TextDeltaFn& onDelta,
                                      std::stop_token stop) override {
        m_stage->note(request);
        const Script script = m_stage->script();
        struct Flag {
            std::atomic<bool>& flag;
            explicit Flag(std::atomic<bool>& f) : flag(f) { flag = true; }
            ~Flag() { flag = false; }
        } running(m_stage->generating);

        engine::GenerationResult result;
        result.notes = said(script.answerNotes);
        // A raw prompt has two tokens a word, which no caller may assume.
        result.prompt_tokens = request.raw
                                   ? 2 * (1 + std::count(request.raw_prompt.begin(), request.raw_prompt.end(), ' '))
                                   : count_tokens(request.messages);
        result.prompt_tokens += static_cast<std::int64_t>(request.reply_begin.size());
        if (request.continue_last) {  // as many as were written
            const std::string& begun = request.messages.back().content;
            result.prompt_tokens = count_tokens({request.messages.begin(), request.messages.end() - 1}) +
                                   static_cast<std::int64_t>(tokensOf(begun, script.bytesPerToken).size());
        }
        if (request.raw && request.raw_tokens > 0) {
            result.prompt_tokens = std::min(result.prompt_tokens, request.raw_tokens);
        }
        result.seed = request.sampler.seed;
        if (result.prompt_tokens > script.context) {
            throw engine::Error(engine::ErrorKind::kInvalidInput,
                                engine::from_outside("The conversation takes " + std::to_string(result.prompt_tokens) +
                                                     " tokens; the context holds " + std::to_string(script.context) +
                                                     ". Shorten the message or begin a new conversation."),
                                "fake_session: prompt_tokens > context");
        }
        if (script.generateThrowsBadAlloc) {
            throw std::bad_alloc();
        }
        waitWhile([this] { return m_stage->heldBack.load(); }, stop);
        const auto begin = Clock::now();
        const bool read =
            sleepUnlessStopped(begin + std::chrono::milliseconds(script.promptMs), script.layerMs, *m_stage, stop);
        resetTimes();
        route(result.prompt_tokens, true);
        const bool begun = !request.reply_begin.empty() || (request.continue_last && !request.messages.empty() &&
                                                            !request.messages.back().thought_is_open);
        const bool thinks = !script.thought.empty() && request.thinking != "off" && !begun;
        std::vector<std::string> tokens;
        if (thinks) {
            tokens = tokensOf(script.thought, std::max<std::size_t>(1, script.bytesPerToken));
        }
        const std::size_t thoughtTokens = tokens.size();
        for (std::string& one : tokensOf(script.answer, std::max<std::size_t>(1, script.bytesPerToken))) {
            tokens.push_back(std::move(one));
        }
        const bool goesOn = request.ignore_end && script.ignoresEnd && request.max_tokens > 0;
        const auto first = Clock::now();
        auto last = first;
        result.finish = read ? engine::FinishReason::kEndOfTurn : engine::FinishReason::kStopped;
        for (std::size_t i = 0; read; ++i) {
            const auto n = static_cast<std::int64_t>(i);
            if (script.generateError && n == script.failAfterTokens) {
                throw *script.generateError;
            }
            if (i >= tokens.size() && !(goesOn && !tokens.empty())) {
                break;
            }
            if (request.max_tokens > 0 && n == request.max_tokens) {
                result.finish = engine::FinishReason::kMaxTokens;
                break;
            }
            if (script.tokensPerSecond > 0 && i > 0) {
                const auto pause = [&](double pieces) {
                    return std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(pieces / script.tokensPerSecond));
                };
                const auto due = std::max(first + pause(static_cast<double>(i)), last + pause(0.75));
                sleepUnlessStopped(due, script.layerMs, *m_stage, stop);
            }
            waitWhile([&] { return n >= m_stage->heldFrom; }, stop);
            if (isStopped(*m_stage, stop)) {
                result.finish = engine::FinishReason::kStopped;
                break;
            }
            const std::string& text = tokens[i % tokens.size()];  // past its end it begins again
            if (i == 0) {
                result.ttft_s = std::chrono::duration<double>(Clock::now() - begin).count();
            }
            const bool isThought = i < thoughtTokens;
            (isThought ? result.thought : result.text) += text;
            result.thought_tokens += isThought ? 1 : 0;
            result.thought_is_open = isThought;
            result.tokens.push_back(static_cast<engine::TokenId>(i % 2000));
            const double s = std::chrono::duration<double>(Clock::now() - first).count();
            result.decode_tokens_per_s = i == 0 || s <= 0 ? 0 : static_cast<double>(i) / s;
            engine::TextDelta delta{text,
                                    result.tokens.back(),
                                    n + 1,
                                    result.decode_tokens_per_s,
                                    m_step.load(),
                                    {},
                                    isThought && !script.thoughtIsTakenBack};
            if (script.thoughtIsTakenBack && thinks && i == thoughtTokens) {
                onDelta({result.thought, -1, n, result.decode_tokens_per_s, m_step.load(), {}, true, true});
            }
            if (request.n_alternatives >= 0) {
                delta.choice = choiceOf(i, text, result.tokens.back(), request.n_alternatives);
            }
            onDelta(delta);
            last = Clock::now();
            if (n % script.tokensPerStep == 0) {  // the next tokens: the prompt's step wrote the first one
                route(script.tokensPerStep, false);
                ++result.drafts.steps;
            }
        }
        if (script.tokensPerStep > 1) {
            result.drafts.drafted = result.drafts.steps * (script.tokensPerStep - 1);
            result.drafts.tokens = static_cast<std::int64_t>(result.tokens.size()) - 1;
            result.drafts.accepted = result.drafts.tokens - result.drafts.steps;
            result.drafts.expert_calls = 9;
            result.drafts.more_calls = 1;
        }
        decide(script.decisions);
        return result;
    }

    void reset_conversation() override {
        ++m_stage->resets;
        const std::lock_guard lock(m_mutex);
        clearCounts();
        m_snapshot.context_used = 0;
        m_snapshot.revision = ++m_revision;
    }

    engine::PromptProgress prompt_progress() const override {
        return {m_stage->promptTokens, static_cast<double>(m_stage->promptRead)};
    }
    engine::Snapshot snapshot() const override {
        ++m_stage->snapshots;
        const std::lock_guard lock(m_mutex);
        return m_snapshot;
    }

    engine::LayerEvents layer_events(std::uint64_t i) const override {
        const std::lock_guard lock(m_mutex);
        engine::LayerEvents copied;
        copied.first = std::min<std::uint64_t>(i, m_events.size());
        const std::size_t end = std::min<std::size_t>(m_events.size(), copied.first + 1024);
        for (std::size_t e = copied.first; e < end; ++e) {
            engine::LayerEvent event = m_events[e];
            const auto from = m_assignments.begin() + static_cast<std::ptrdiff_t>(event.first_assignment);
            event.first_assignment = static_cast<std::uint32_t>(copied.assignments.size());
            copied.assignments.insert(copied.assignments.end(), from, from + event.n_assignments);
            copied.events.push_back(event);
        }
        return copied;
    }

    std::vector<float> planned_popularity() const override {
        const std::lock_guard lock(m_mutex);
        std::vector<float> shares(static_cast<std::size_t>(m_snapshot.n_layers * m_snapshot.n_experts));
        const auto experts = static_cast<std::size_t>(std::max<std::int64_t>(1, m_snapshot.n_experts));
        for (std::size_t i = 0; i < shares.size(); ++i) {
            shares[i] = 2.0F * static_cast<float>(m_snapshot.n_active) * static_cast<float>(experts - i % experts) /
                        static_cast<float>(experts * (experts + 1));
        }
        return shares;
    }

    std::uint64_t change_experts(const engine::ExpertChange& change) override {
        using Kind = engine::ExpertChange::Kind;
        const std::lock_guard lock(m_mutex);
        engine::ReplanReport& report = m_reports.emplace_back();
        report.id = m_reports.size();
        report.requested = static_cast<std::int64_t>(change.experts.size());
        report.state = m_script.expertProblem.empty() ? engine::ReplanState::kDone : engine::ReplanState::kFailed;
        if (!m_script.expertProblem.empty()) report.problem = engine::from_outside(m_script.expertProblem);
        m_snapshot.revision = ++m_revision;
        engine::ExpertStates& states = m_snapshot.experts;
        for (const engine::ExpertChange::Expert& one : change.experts) {
            const auto i = static_cast<std::size_t>(one.layer * m_snapshot.n_experts + one.expert);
            if (report.state == engine::ReplanState::kFailed) {
                break;
            }
            ++report.visible;
            if (change.kind == Kind::kFormat) {
                states.format[i] = static_cast<std::uint8_t>(change.format);
                continue;
            }
            states.pinned[i] = change.kind == Kind::kPin ? 1 : 0;
            if (change.kind != Kind::kUnpin) {
                states.place[i] = change.kind == Kind::kPin ? 0 : 1;
            }
        }
        return report.id;
    }
    // The only supported re-plan is room for other conversations.
    std::uint64_t replan(const engine::ReplanRequest& request) override {
        if (!request.kept_context.has_value()) {
            return engine::Session::replan(request);
        }
        const std::lock_guard lock(m_mutex);
        engine::ReplanReport& report = m_reports.emplace_back();
        report.id = m_reports.size();
        report.state = m_script.expertProblem.empty() ? engine::ReplanState::kDone : engine::ReplanState::kFailed;
        if (!m_script.expertProblem.empty()) report.problem = engine::from_outside(m_script.expertProblem);
        if (m_script.expertProblem.empty()) {
            m_snapshot.revision = ++m_revision;
            m_snapshot.kept_context = *request.kept_context;
            m_snapshot.kept_context_bytes = static_cast<std::uint64_t>(*request.kept_context) * kFakeKeptBytes;
        }
        return report.id;
    }
    std::vector<engine::ReplanReport> replans() const override {
        const std::lock_guard lock(m_mutex);
        return m_reports;
    }

  private:
    void waitWhile(const std::function<bool()>& held, const std::stop_token& stop) const {
        while (held() && !isStopped(*m_stage, stop)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    void placeExperts() {
        const auto cells = static_cast<std::size_t>(m_snapshot.n_layers * m_snapshot.n_experts);
        engine::ExpertStates& states = m_snapshot.experts;
        states.place.assign(cells, 1);
        states.format.assign(cells, static_cast<std::uint8_t>(kernels::WeightType::kBf16));
        states.pinned.assign(cells, 0);
        states.uses.assign(cells, {});
        std::int64_t left = m_script.residents;
        for (std::int64_t expert = 0; expert < m_snapshot.n_experts; ++expert) {
            for (std::int64_t layer = 0; layer < m_snapshot.n_layers && left > 0; ++layer, --left) {
                states.place[static_cast<std::size_t>(layer * m_snapshot.n_experts + expert)] = 0;
            }
        }
        m_events.clear();
        m_assignments.clear();
        m_reports.clear();
        m_step = 0;
        m_anyStep = false;
        m_snapshot.mean_bits = 16;
    }

    void decide(const std::vector<std::string>& decisions) {
        constexpr std::size_t kKept = 4;
        const std::lock_guard lock(m_mutex);
        for (const std::string& decision : decisions) {
            ++m_snapshot.n_decisions;
            m_snapshot.decisions.push_back(engine::from_outside(decision));
            if (m_snapshot.decisions.size() > kKept) {
                m_snapshot.decisions.erase(m_snapshot.decisions.begin());
            }
        }
    }

    void resetTimes() {
        const std::lock_guard lock(m_mutex);
        m_snapshot.telemetry_us = m_snapshot.answer_us = 0;
    }

    // One step's events: experts on the device run there; every second other expert is
    // copied if there is a device.
    void recordStep(const std::vector<std::uint32_t>& calls, std::int64_t nTokens, bool prompt) {
        const auto experts = static_cast<std::size_t>(m_snapshot.n_experts);
        engine::ExpertStates& states = m_snapshot.experts;
        engine::DispatchTotals& totals = m_snapshot.totals;
        m_step = m_anyStep ? m_step.load() + 1 : 0;
        m_anyStep = true;
        ++totals.steps;
        totals.decode_steps += prompt ? 0 : 1;
        double step_us = 0;
        for (std::size_t layer = 0; layer < static_cast<std::size_t>(m_snapshot.n_layers); ++layer) {
            engine::LayerEvent event;
            event.step = m_step;
            event.layer = static_cast<std::int32_t>(layer);
            event.n_tokens = static_cast<std::int32_t>(nTokens);
            event.is_prefill = prompt ? 1 : 0;
            event.n_drafted = static_cast<std::uint8_t>(prompt ? 0 : nTokens - 1);
            event.policy = 1;
            event.attention_us = 20;
            event.first_assignment = static_cast<std::uint32_t>(m_assignments.size());
            for (std::size_t expert = 0; expert < experts; ++expert) {
                const std::size_t cell = layer * experts + expert;
                if (calls[cell] == 0) {
                    continue;
                }
                engine::AssignmentEvent a;
                a.expert = static_cast<std::uint16_t>(expert);
                a.place = states.place[cell];
                a.target = a.place == 0 ? 0 : m_script.residents > 0 && expert % 2 == 0 ? 1 : 2;
                a.format = states.format[cell];
                a.n_tokens = calls[cell];
                if (m_script.residents > 0) {
                    a.cpu_us = 120;
                    a.gpu_us = 15;
                    a.copy_us = a.place == 0 ? 0 : 90;
                }
                (a.target == 2 ? event.cpu_us : event.gpu_us) += a.target == 2 ? 110 : 16;
                event.copy_us += a.target == 1 ? 95 : 0;
                event.bytes_copied += a.target == 1 ? 1'000'000 : 0;
                m_assignments.push_back(a);
                ++event.n_assignments;
                ++totals.expert_calls;
                totals.resident_calls += a.target == 0;
                totals.copied_calls += a.target == 1;
                totals.cpu_calls += a.target == 2;
                totals.routed_tokens += a.n_tokens;
                totals.resident_tokens += a.target == 0 ? a.n_tokens : 0;
                if (a.target == 0) {
                    event.guessed_copies = static_cast<std::uint16_t>(event.guessed_copies + 2);
                    ++event.used_guesses;
                }
                if (a.target == 1) {
                    ++event.admissions;
                }
                states.uses[cell].tokens += a.n_tokens;
                states.uses[cell].resident_tokens += a.target == 0 ? a.n_tokens : 0;
                states.uses[cell].last_step = event.step;
            }
            event.layer_us = std::max({event.gpu_us + event.copy_us, event.cpu_us});
            if (m_script.residents > 0) {
                const double computing_us = double{event.attention_us} + double{std::max(event.gpu_us, event.cpu_us)};
                event.loading = {double{event.copy_us}, computing_us, double{event.copy_us} / 2};
            }
            event.predicted_gpu_us = event.gpu_us * 0.9F;
            event.predicted_copy_us = event.copy_us * 0.9F;
            event.predicted_cpu_us = event.cpu_us * 1.1F;
            event.predicted_layer_us = event.layer_us * 1.05F;
            totals.bytes_copied += event.bytes_copied;
            totals.guessed_copies += event.guessed_copies;
            totals.used_guesses += event.used_guesses;
            totals.admissions += event.admissions;
            event.needed_neurons = prompt ? 0 : m_script.neededNeurons;
            event.held_neurons = prompt ? 0 : m_script.heldNeurons;
            totals.needed_neurons += event.needed_neurons;
            totals.held_neurons += event.held_neurons;
            step_us += static_cast<double>(event.attention_us + event.layer_us);
            m_events.push_back(event);
        }
        states.step = m_step;
        m_snapshot.n_events = m_events.size();
        m_snapshot.answer_us += step_us;
        m_snapshot.telemetry_us += step_us * 0.002;
    }

    void clearCounts() {
        const auto cells = static_cast<std::size_t>(m_snapshot.n_layers * m_snapshot.n_experts);
        m_snapshot.window_counts.assign(cells, 0);
        m_snapshot.conversation_counts.assign(cells, 0);
        m_snapshot.window_tokens = m_snapshot.conversation_tokens = 0;
        m_history.clear();
    }

    // Tokens go through the layers; each layer has its favourites.
    void route(std::int64_t nTokens, bool prompt) {
        const std::lock_guard lock(m_mutex);
        const auto experts = static_cast<std::size_t>(m_snapshot.n_experts);
        std::vector<std::uint32_t> calls(m_snapshot.window_counts.size(), 0);
        for (std::int64_t t = 0; t < nTokens; ++t) {
            std::vector<std::size_t> cells;
            for (std::size_t layer = 0; layer < static_cast<std::size_t>(m_snapshot.n_layers); ++layer) {
                std::vector<std::size_t> chosen;
                while (chosen.size() < static_cast<std::size_t>(m_snapshot.n_active)) {
                    const double u = std::generate_canonical<double, 32>(m_random);
                    const auto pick =
                        (static_cast<std::size_t>(u * u * static_cast<double>(experts)) + layer * 3) % experts;
                    if (std::find(chosen.begin(), chosen.end(), pick) == chosen.end()) {
                        chosen.push_back(pick);
                        cells.push_back(layer * experts + pick);
                    }
                }
            }
            for (const std::size_t cell : cells) {
                ++m_snapshot.window_counts[cell];
                ++m_snapshot.conversation_counts[cell];
                ++calls[cell];
            }
            m_history.push_back(std::move(cells));
            if (m_history.size() > static_cast<std::size_t>(engine::kRoutingWindow)) {
                for (const std::size_t cell : m_history.front()) {
                    --m_snapshot.window_counts[cell];
                }
                m_history.pop_front();
            }
        }
        m_snapshot.window_tokens = static_cast<std::int64_t>(m_history.size());
        m_snapshot.conversation_tokens += nTokens;
        m_snapshot.context_used += nTokens;
        recordStep(calls, nTokens, prompt);
        m_snapshot.revision = ++m_revision;
    }

    std::shared_ptr<Stage> m_stage;
    std::atomic<bool> m_loaded = false;
    mutable std::mutex m_mutex;
    engine::Snapshot m_snapshot;
    std::uint64_t m_revision = 0;
    std::deque<std::vector<std::size_t>> m_history;
    std::mt19937 m_random{7};
    Script m_script;  // of the load
    std::vector<engine::LayerEvent> m_events;
    std::vector<engine::AssignmentEvent> m_assignments;
    std::vector<engine::ReplanReport> m_reports;
    std::atomic<std::uint64_t> m_step = 0;
    bool m_anyStep = false;
};

}  // namespace

void Stage::setScript(const Script& script) {
    const std::lock_guard lock(m_mutex);
    m_script = script;
}

Script Stage::script() const {
    const std::lock_guard lock(m_mutex);
    return m_script;
}

std::vector<engine::GenerationRequest> Stage::requests() const {
    const std::lock_guard lock(m_mutex);
    return m_requests;
}

std::vector<engine::LoadRequest> Stage::loads() const {
    const std::lock_guard lock(m_mutex);
    return m_loads;
}

void Stage::note(const engine::GenerationRequest& request) {
    const std::lock_guard lock(m_mutex);
    m_requests.push_back(request);
}

void Stage::note(const engine::LoadRequest& request) {
    const std::lock_guard lock(m_mutex);
    m_loads.push_back(request);
}

double fakeProbability(std::size_t i) {
    constexpr std::array kProbabilities = {0.9, 0.4, 0.1, 0.03, 0.005};
    return kProbabilities[i % kProbabilities.size()];
}

std::unique_ptr<engine::Session> makeFakeSession(std::shared_ptr<Stage> stage) {
    return std::make_unique<FakeSession>(std::move(stage));
}

std::string longAnswer(std::size_t tokens) {
    std::string text;
    for (int part = 1; text.size() < tokens * 4; ++part) {
        const std::string n = std::to_string(part);
        text += "## Part " + n +
                "\n\nA paragraph with **bold**, *emphasis* and `inline code`, long enough to be broken "
                "into two or three lines at the width of the conversation's column.\n\n";
        text += "- first point\n- second point, with a [link](https://example.org/" + n + ")\n  - nested\n\n";
        text += "| layer | expert | share | note |\n|---|---:|---:|:---|\n";
        for (int row = 0; row < 12; ++row) {
            text += "| " + n + " | " + std::to_string(row) + " | " + std::to_string(row * 7 % 100) +
                    " % | some *words* |\n";
        }
        text += "\n```cpp\n";
        for (int line = 0; line < 15; ++line) {
            text += "    total += weights[" + std::to_string(line) + "] * activations[" + n + "];  // a comment\n";
        }
        text +=
            "```\n\n1. then this\n2. and that\n\n> A quotation, which is also not short and goes on for a while.\n\n";
    }
    return text;
}

}  // namespace offstage::test
