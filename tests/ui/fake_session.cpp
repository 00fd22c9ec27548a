#include "tests/ui/fake_session.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

namespace offstage::test {

namespace {

using Clock = std::chrono::steady_clock;

// Sleeps in steps of a "layer", and looks at the token after each.
bool sleepUnlessStopped(Clock::time_point until, int layerMs, const std::stop_token& stop) {
    const auto layer = std::chrono::milliseconds(std::max(1, layerMs));
    while (Clock::now() < until) {
        if (stop.stop_requested()) {
            return false;
        }
        std::this_thread::sleep_until(std::min(until, Clock::now() + layer));
    }
    return !stop.stop_requested();
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
        for (int step = 0; step < script.loadSteps; ++step) {
            progress({step < script.loadSteps / 2 ? "Reading weights" : "Packing experts",
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
                                    script.layerMs, stop)) {
                throw engine::Error(engine::ErrorKind::kCancelled, "Loading was cancelled.");
            }
        }
        engine::ModelSummary model;
        model.name = script.name;
        model.source = request.model;
        model.architecture = "mixtral";
        model.n_layers = script.layers;
        model.n_experts = script.experts;
        model.n_active = script.active;
        model.context = model.max_context = script.context;
        model.total_weights = 14'200'000;
        model.active_weights = 4'800'000;
        model.weight_bytes = 28'400'000;
        model.weight_type = "BF16";
        model.instruction_set = "avx512_bf16";
        model.n_threads = 2;
        model.has_tokenizer = model.has_chat_template = true;
        const std::lock_guard lock(m_mutex);
        m_loaded = true;
        m_snapshot = {};
        m_snapshot.revision = ++m_revision;
        m_snapshot.n_layers = script.layers;
        m_snapshot.n_experts = script.experts;
        m_snapshot.n_active = script.active;
        m_snapshot.context_size = script.context;
        clearCounts();
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
        result.prompt_tokens = count_tokens(request.messages);
        result.seed = request.sampler.seed;
        if (result.prompt_tokens > script.context) {
            throw engine::Error(engine::ErrorKind::kInvalidInput,
                                "The conversation takes " + std::to_string(result.prompt_tokens) +
                                    " tokens; the context holds " + std::to_string(script.context) +
                                    ". Shorten the message or begin a new conversation.",
                                "fake_session: prompt_tokens > context");
        }
        if (script.generateThrowsBadAlloc) {
            throw std::bad_alloc();
        }
        const auto begin = Clock::now();
        const bool read = sleepUnlessStopped(begin + std::chrono::milliseconds(script.promptMs), script.layerMs, stop);
        route(result.prompt_tokens);
        const std::vector<std::string> tokens = tokensOf(script.answer, std::max<std::size_t>(1, script.bytesPerToken));
        const auto first = Clock::now();
        result.finish = read ? engine::FinishReason::kEndOfTurn : engine::FinishReason::kStopped;
        for (std::size_t i = 0; read; ++i) {
            const auto n = static_cast<std::int64_t>(i);
            if (script.generateError && n == script.failAfterTokens) {
                throw *script.generateError;
            }
            if (i == tokens.size()) {
                break;
            }
            if (request.max_tokens > 0 && n == request.max_tokens) {
                result.finish = engine::FinishReason::kMaxTokens;
                break;
            }
            if (script.tokensPerSecond > 0) {
                const auto due = first + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                             static_cast<double>(i) / script.tokensPerSecond));
                sleepUnlessStopped(due, script.layerMs, stop);
            }
            if (stop.stop_requested()) {
                result.finish = engine::FinishReason::kStopped;
                break;
            }
            if (i == 0) {
                result.ttft_s = std::chrono::duration<double>(Clock::now() - begin).count();
            }
            route(1);
            result.text += tokens[i];
            result.tokens.push_back(static_cast<engine::TokenId>(i % 2000));
            const double s = std::chrono::duration<double>(Clock::now() - first).count();
            result.decode_tokens_per_s = i == 0 || s <= 0 ? 0 : static_cast<double>(i) / s;
            onDelta({tokens[i], result.tokens.back(), n + 1, result.decode_tokens_per_s});
        }
        return result;
    }

    void reset_conversation() override {
        ++m_stage->resets;
        const std::lock_guard lock(m_mutex);
        clearCounts();
        m_snapshot.context_used = 0;
        m_snapshot.revision = ++m_revision;
    }

    engine::Snapshot snapshot() const override {
        ++m_stage->snapshots;
        const std::lock_guard lock(m_mutex);
        return m_snapshot;
    }

  private:
    void clearCounts() {
        const auto cells = static_cast<std::size_t>(m_snapshot.n_layers * m_snapshot.n_experts);
        m_snapshot.window_counts.assign(cells, 0);
        m_snapshot.conversation_counts.assign(cells, 0);
        m_snapshot.window_tokens = m_snapshot.conversation_tokens = 0;
        m_history.clear();
    }

    // Tokens go through the layers; each layer has its favourites.
    void route(std::int64_t nTokens) {
        const std::lock_guard lock(m_mutex);
        const auto experts = static_cast<std::size_t>(m_snapshot.n_experts);
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
        m_snapshot.revision = ++m_revision;
    }

    std::shared_ptr<Stage> m_stage;
    std::atomic<bool> m_loaded = false;
    mutable std::mutex m_mutex;
    engine::Snapshot m_snapshot;
    std::uint64_t m_revision = 0;
    std::deque<std::vector<std::size_t>> m_history;
    std::mt19937 m_random{7};
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
