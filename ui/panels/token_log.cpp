#include "ui/panels/token_log.h"

#include <algorithm>

#include "ui/engine/engine_controller.h"

namespace offstage::ui {

namespace {

// Copied at one poll: more than any engine records between two polls, and bounded,
// because this is the GUI thread.
constexpr int kCopiesPerPoll = 32;

}  // namespace

std::vector<engine::AssignmentEvent> LoggedStep::assignmentsOf(const engine::LayerEvent& layer) const {
    const auto begin = assignments.begin() + static_cast<std::ptrdiff_t>(layer.first_assignment);
    return {begin, begin + layer.n_assignments};
}

TokenLog::TokenLog(EngineController& engine, std::size_t limitBytes, QObject* parent)
    : QObject(parent), m_engine(engine), m_limitBytes(limitBytes) {
    m_timer.setInterval(kIntervalMs);
    connect(&m_timer, &QTimer::timeout, this, &TokenLog::poll);
    connect(&m_engine, &EngineController::stateChanged, this, &TokenLog::onStateChanged);
    connect(&m_engine, &EngineController::modelLoaded, this, &TokenLog::begin);
    if (m_engine.model()) {
        begin(*m_engine.model());
    }
    onStateChanged();
}

void TokenLog::begin(const engine::ModelSummary& model) {
    beginModel(static_cast<int>(model.n_layers), static_cast<int>(model.n_experts),
               QList<int>(model.layer_numbers.begin(), model.layer_numbers.end()), model.formats);
}

void TokenLog::beginModel(int layers, int experts, const QList<int>& layerNumbers,
                          std::span<const engine::FormatRow> formats) {
    m_base = m_nextId;
    m_next = 0;
    m_layers = std::max(0, layers);
    m_experts = std::max(0, experts);
    m_layerNumbers = layerNumbers;
    m_formats = formats;
    m_uses.assign(static_cast<std::size_t>(m_layers) * static_cast<std::size_t>(m_experts), {});
    Q_EMIT modelBegun();
}

void TokenLog::beginShown() {
    poll();
    m_shown = m_nextId;
    Q_EMIT shownBegun();
}

void TokenLog::onStateChanged() {
    if (m_engine.isAnswering()) {
        m_timer.start();
        return;
    }
    m_timer.stop();
    poll();
}

void TokenLog::poll() {
    // While a model loads, numbers begin again at an unknown moment.
    if (!m_engine.model() || (!m_engine.isAnswering() && m_engine.state() != EngineController::State::Ready)) {
        return;
    }
    bool any = false;
    for (int i = 0; i < kCopiesPerPoll; ++i) {
        const engine::LayerEvents events = m_engine.layerEvents(m_next);
        if (events.events.empty()) {
            break;
        }
        any = true;
        addEvents(events);
    }
    if (any) {
        Q_EMIT stepsAdded();
    }
}

void TokenLog::addEvents(const engine::LayerEvents& events) {
    m_lostEvents += events.first - std::min<quint64>(events.first, m_next);
    m_next = events.first + events.events.size();
    for (const engine::LayerEvent& event : events.events) {
        const StepId id = m_base + event.step;
        LoggedStep& step = stepFor(event, id);
        m_bytes -= bytesOf(step);
        engine::LayerEvent kept = event;
        kept.first_assignment = static_cast<std::uint32_t>(step.assignments.size());
        const auto from = events.assignments.begin() + static_cast<std::ptrdiff_t>(event.first_assignment);
        step.assignments.insert(step.assignments.end(), from, from + event.n_assignments);
        step.layers.push_back(kept);
        m_bytes += bytesOf(step);
        addToIndex(step, step.layers.back());
    }
    trim();
}

LoggedStep& TokenLog::stepFor(const engine::LayerEvent& event, StepId id) {
    if (!m_steps.empty() && m_steps.back().id == id) {
        LoggedStep& last = m_steps.back();
        if (!last.layers.empty() && event.layer <= last.layers.back().layer) {
            // A step that was stopped halfway has its number used again.
            m_bytes -= bytesOf(last);
            removeFromIndex(id);
            last.layers.clear();
            last.assignments.clear();
            m_bytes += bytesOf(last);
        }
        return last;
    }
    LoggedStep& step = m_steps.emplace_back();
    step.id = id;
    step.layerNumbers = m_layerNumbers;
    step.formats = m_formats;
    step.layers.reserve(static_cast<std::size_t>(m_layers));
    m_nextId = std::max(m_nextId, id + 1);
    m_bytes += bytesOf(step);
    return step;
}

std::size_t TokenLog::bytesOf(const LoggedStep& step) {
    return sizeof step + step.layers.capacity() * sizeof(engine::LayerEvent) +
           step.assignments.capacity() * sizeof(engine::AssignmentEvent) + step.assignments.size() * sizeof(quint32);
}

void TokenLog::addToIndex(const LoggedStep& step, const engine::LayerEvent& event) {
    if (event.n_tokens != 1) {
        return;
    }
    for (std::size_t i = 0; i < event.n_assignments; ++i) {
        const ExpertId expert{event.layer, step.assignments[event.first_assignment + i].expert};
        if (auto* uses = usesOf(expert)) {
            uses->push_back(static_cast<quint32>(step.id - m_base));
        }
    }
}

void TokenLog::removeFromIndex(StepId id) {
    for (auto& uses : m_uses) {
        if (!uses.empty() && uses.back() == id - m_base) {
            uses.pop_back();
        }
    }
}

void TokenLog::trim() {
    if (m_bytes <= m_limitBytes || m_steps.size() < 2) {
        return;
    }
    // An eighth at a time, so that the index is not swept for every step.
    const std::size_t goal = m_limitBytes - m_limitBytes / 8;
    while (m_bytes > goal && m_steps.size() > 1) {
        m_bytes -= bytesOf(m_steps.front());
        m_steps.pop_front();
        ++m_droppedSteps;
    }
    const StepId first = m_steps.front().id;
    for (auto& uses : m_uses) {
        const auto kept =
            std::partition_point(uses.begin(), uses.end(), [&](quint32 use) { return m_base + use < first; });
        uses.erase(uses.begin(), kept);
        uses.shrink_to_fit();
    }
    using Tokens = QHash<MessageId, std::vector<LoggedToken>>;
    m_tokens.removeIf([&](const Tokens::iterator& message) { return message.value().back().step < first; });
}

void TokenLog::addTokens(MessageId message, int textOffset, const StreamedText& piece) {
    if (piece.textWasThought && m_tokens.contains(message)) {
        std::erase_if(m_tokens[message], [&](const LoggedToken& token) { return token.text.begin >= textOffset; });
        if (m_tokens[message].empty()) {
            m_tokens.remove(message);
        }
        Q_EMIT tokensAdded(message);
    }
    if (message == 0 || piece.marks.isEmpty()) {
        return;
    }
    auto& tokens = m_tokens[message];
    int begin = 0;
    for (const TokenMark& mark : piece.marks) {
        LoggedToken token;
        token.message = message;
        token.index = static_cast<int>(tokens.size());
        token.text = {textOffset + begin, textOffset + mark.end};
        token.step = m_base + mark.step;
        // The tokens with the first bytes of this one's character.
        for (auto before = tokens.rbegin(); mark.end > begin && before != tokens.rend(); ++before) {
            if (before->text.begin != before->text.end) {
                break;
            }
            before->text = token.text;
        }
        begin = mark.end;
        m_nextId = std::max(m_nextId, token.step + 1);
        tokens.push_back(token);
    }
    m_lastMessage = message;
    Q_EMIT tokensAdded(message);
}

int TokenLog::tokenCount(MessageId message) const {
    const auto found = m_tokens.constFind(message);
    return found == m_tokens.cend() ? 0 : static_cast<int>(found->size());
}

std::optional<LoggedToken> TokenLog::token(MessageId message, int index) const {
    if (index < 0 || index >= tokenCount(message)) {
        return std::nullopt;
    }
    return m_tokens.constFind(message)->at(static_cast<std::size_t>(index));
}

std::optional<LoggedToken> TokenLog::tokenAt(MessageId message, int offset) const {
    const auto found = m_tokens.constFind(message);
    if (found == m_tokens.cend()) {
        return std::nullopt;
    }
    const auto after = std::partition_point(found->begin(), found->end(),
                                            [offset](const LoggedToken& token) { return token.text.end <= offset; });
    if (after == found->end() || offset < after->text.begin) {
        return std::nullopt;
    }
    return *after;
}

std::optional<LoggedToken> TokenLog::tokenOfStep(StepId id) const {
    for (const auto& tokens : m_tokens) {
        const auto found = std::ranges::equal_range(tokens, id, {}, &LoggedToken::step);
        if (!found.empty()) {
            return found.front();
        }
    }
    return std::nullopt;
}

int TokenLog::tokenCountOfStep(StepId id) const {
    std::ptrdiff_t n = 0;
    for (const auto& tokens : m_tokens) {
        n += std::ranges::ssize(std::ranges::equal_range(tokens, id, {}, &LoggedToken::step));
    }
    return static_cast<int>(n);
}

std::optional<LoggedToken> TokenLog::lastToken() const {
    const int count = tokenCount(m_lastMessage);
    return count == 0 ? std::nullopt : token(m_lastMessage, count - 1);
}

const LoggedStep* TokenLog::step(StepId id) const {
    const auto found =
        std::partition_point(m_steps.begin(), m_steps.end(), [id](const LoggedStep& step) { return step.id < id; });
    return found == m_steps.end() || found->id != id ? nullptr : &*found;
}

std::vector<ExpertId> TokenLog::expertsOf(const LoggedToken& token) const {
    std::vector<ExpertId> experts;
    const LoggedStep* of = step(token.step);
    if (of == nullptr || of->tokens() != 1) {
        return experts;
    }
    for (const engine::LayerEvent& layer : of->layers) {
        for (std::size_t i = 0; i < layer.n_assignments; ++i) {
            experts.push_back({layer.layer, of->assignments[layer.first_assignment + i].expert});
        }
    }
    return experts;
}

std::vector<quint32>* TokenLog::usesOf(ExpertId expert) {
    if (expert.layer < 0 || expert.layer >= m_layers || expert.expert < 0 || expert.expert >= m_experts) {
        return nullptr;
    }
    return &m_uses[static_cast<std::size_t>(expert.layer) * static_cast<std::size_t>(m_experts) +
                   static_cast<std::size_t>(expert.expert)];
}

const std::vector<quint32>* TokenLog::usesOf(ExpertId expert) const {
    return const_cast<TokenLog*>(this)->usesOf(expert);
}

QHash<MessageId, QList<TextRange>> TokenLog::textOf(ExpertId expert) const {
    QHash<MessageId, QList<TextRange>> text;
    const std::vector<quint32>* uses = usesOf(expert);
    if (uses == nullptr || uses->empty()) {
        return text;
    }
    for (auto message = m_tokens.cbegin(); message != m_tokens.cend(); ++message) {
        QList<TextRange> ranges;
        auto token = message->begin();
        if (token->step < m_base) {  // an answer of the model before; continued by this one, perhaps
            token =
                std::partition_point(token, message->end(), [this](const LoggedToken& t) { return t.step < m_base; });
        }
        if (token == message->end()) {
            continue;
        }
        // Both ascend: they are merged.
        auto use = std::lower_bound(uses->begin(), uses->end(), static_cast<quint32>(token->step - m_base));
        while (token != message->end() && use != uses->end()) {
            const StepId step = m_base + *use;
            if (token->step < step) {
                ++token;
            } else if (step < token->step) {
                ++use;
            } else {
                const TextRange range = (token++)->text;
                if (range.begin == range.end) {
                    continue;
                }
                if (!ranges.isEmpty() && range.begin <= ranges.back().end) {
                    ranges.back().end = std::max(ranges.back().end, range.end);
                } else {
                    ranges.append(range);
                }
            }
        }
        if (!ranges.isEmpty()) {
            text.insert(message.key(), ranges);
        }
    }
    return text;
}

}  // namespace offstage::ui
