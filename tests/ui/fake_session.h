#pragma once
// A scripted engine for the window's tests: normal, slow, failing, out of memory,
// cancelled, as in the script.

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/error.h"
#include "engine/run/session.h"

namespace offstage::test {

struct Script {
    std::string name = "fake-moe";
    std::string answer = "Hello! This is **the fake engine** speaking.";
    // Before the answer, unless "off" is chosen or the request goes on with an answer.
    std::string thought;
    bool thoughtIsTakenBack = false;  // it comes as text, until the answer begins
    std::vector<std::string> thinkingChoices;
    engine::ModelDefaults advised;
    std::size_t bytesPerToken = 4;  // the answer is cut into tokens of about so many bytes
    int tokensPerStep = 1;          // above 1: all but the first of a step are drafted
    // 0: as fast as the machine can. Where a busy machine was late, the next tokens come
    // at most a third faster than this, not at once.
    double tokensPerSecond = 0;
    int promptMs = 0;  // before the first token
    int layerMs = 0;   // a stop request is looked at this often at least; 0: every millisecond
    int loadMs = 0;
    int loadSteps = 10;
    std::optional<engine::Error> loadError;      // thrown halfway
    std::optional<engine::Error> generateError;  // thrown after `failAfterTokens`
    std::int64_t failAfterTokens = 0;
    bool loadThrowsForeign = false;  // std::runtime_error, not engine::Error
    bool generateThrowsBadAlloc = false;
    std::int64_t context = 2048;
    std::int64_t layers = 8;
    std::int32_t denseLayers = 0;  // before those with experts
    std::int64_t experts = 8;
    std::int64_t active = 2;
    // An accelerator with room for this many experts, the lowest numbers of each layer
    // first; 0: the model is on the CPU.
    std::int64_t residents = 0;
    // For each layer of an answer's step: needed neurons of copied experts, and those of
    // them already there.
    std::uint32_t neededNeurons = 0, heldNeurons = 0;
    bool emulated = false;
    bool hasTemplate = true;             // the model brings a chat template
    std::vector<std::string> decisions;  // of live comparisons, made by each answer; the snapshot keeps the last four
    bool ignoresEnd = true;  // GenerationRequest::ignore_end is honoured; false: the answer ends where it ends
    std::vector<std::string> loadNotes;                  // of the model; the first comes already during the load
    std::vector<std::string> answerNotes;                // of each answer
    std::optional<engine::ExpertFormats> expertFormats;  // nothing: of a BF16 checkpoint
    std::string tokenizerOf;                             // a model whose vocabulary it has; empty: none is known
    std::string expertProblem;  // why pinning, evicting and other formats do not go; empty: they go
};

// Set and read by a test while the session runs on its own thread.
class Stage {
  public:
    void setScript(const Script& script);
    Script script() const;
    std::vector<engine::GenerationRequest> requests() const;
    std::vector<engine::LoadRequest> loads() const;
    void note(const engine::GenerationRequest& request);
    void note(const engine::LoadRequest& request);

    std::atomic<int> snapshots = 0;
    std::atomic<int> resets = 0;
    std::atomic<int> sessionsAlive = 0;
    std::atomic<std::int64_t> promptTokens = 0, promptRead = 0;  // the session's progress of a prompt
    std::atomic<bool> generating = false;
    std::atomic<bool> heldBack = false;  // while this is set, no answer begins
    // An answer waits before this token, counted from 0, until a test sets a later one.
    std::atomic<std::int64_t> heldFrom = std::numeric_limits<std::int64_t>::max();
    void release() { heldFrom = std::numeric_limits<std::int64_t>::max(); }
    std::atomic<bool> deafToStop = false;  // while this is set, a request to stop is not looked at

  private:
    mutable std::mutex m_mutex;
    Script m_script;
    std::vector<engine::GenerationRequest> m_requests;
    std::vector<engine::LoadRequest> m_loads;
};

// Bytes of a token of kept context there.
inline constexpr std::uint64_t kFakeKeptBytes = 1024;

// The fake engine's probability of its i-th token, repeating: 0.9, 0.4, 0.1, 0.03, 0.005.
double fakeProbability(std::size_t i);

std::unique_ptr<engine::Session> makeFakeSession(std::shared_ptr<Stage> stage);

// An answer of about n_tokens fake tokens with headings, lists, tables and code.
std::string longAnswer(std::size_t tokens);

}  // namespace offstage::test
