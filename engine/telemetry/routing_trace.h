#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/file_writer.h"

namespace offstage::engine {

// A routing trace: the experts that each token of a run was routed to, and those that
// were guessed beforehand. Used to judge caches and prefetching without the model.
//
// The file is JSON lines in UTF-8. The first line describes the model:
//   {"format": "offstage-trace", "version": 1, "model": "...", "n_layers": L,
//   "n_experts": E, "n_active": A} and, where guesses were recorded, "distances": [1, 2,
//   ...] (ascending, each in 1 .. L - 1) and "n_guesses": G. Each further line is a
//   token, in the order in which they were computed:
//   {"step": S, "position": P, "kind": "prompt" or "decode", "experts": [L * A numbers],
//   "guesses": [...]}
// Tokens that one pass of the model computed together share their step; steps ascend.
// Position: in the token's own sequence. Experts: (n_layers, n_active), best first.
// Guesses, when the first line has distances: (n_distances, n_layers, n_guesses), best
// first: for layer l the guesses of l's gate on the gate input of layer l - distance, -1
// in layers before which there are not so many.
struct TraceHeader {
    std::string model;
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::vector<std::int64_t> distances;
    std::int64_t n_guesses = 0;  // 0 without distances

    std::size_t experts_per_token() const { return static_cast<std::size_t>(n_layers * n_active); }
    std::size_t guesses_per_token() const { return distances.size() * static_cast<std::size_t>(n_layers * n_guesses); }
};

enum class TokenKind : std::uint8_t { kPrompt, kDecode };

struct TracedToken {
    std::int64_t step = 0;
    std::int64_t position = 0;
    TokenKind kind = TokenKind::kDecode;
};

struct RoutingTrace {
    TraceHeader header;
    std::vector<TracedToken> tokens;
    std::vector<std::int32_t> experts;  // (n_tokens, n_layers, n_active)
    std::vector<std::int32_t> guesses;  // (n_tokens, n_distances, n_layers, n_guesses)

    std::span<const std::int32_t> experts_of(std::size_t token) const {
        return std::span(experts).subspan(token * header.experts_per_token(), header.experts_per_token());
    }
};

// Reads a whole trace: at most 1 GiB, a line at most 4 MiB. Every id is checked against
// the first line's shapes, and a token's experts in a layer must differ. Throws Error
// (kInvalidModel; kNotFound) naming file, line and field.
RoutingTrace parse_trace(std::string_view text, const std::string& source);
RoutingTrace read_trace(const std::filesystem::path& file);

// Writes a trace while a model runs. A regular file appears complete at finish(); without
// finish() the old file stays. Other files that FileWriter can write to get the lines as
// they come, some of them at a time.
class TraceWriter {
  public:
    // Throws Error (kInvalidInput) when the file cannot be written.
    TraceWriter(const std::filesystem::path& file, const TraceHeader& header);

    // One step. experts: (n_tokens, n_layers, n_active), as Forward::routing();
    // positions: one per token; guesses: (n_tokens, n_distances, n_layers, n_guesses), or
    // nothing where the header has no distances. Does not throw: finish() reports a disk
    // that is full.
    void add_step(std::span<const std::int32_t> experts, std::span<const std::int64_t> positions, TokenKind kind,
                  std::span<const std::int32_t> guesses = {});
    // The same for consecutive tokens of one sequence, the first at first_position.
    void add_step(std::span<const std::int32_t> experts, std::int64_t n_tokens, std::int64_t first_position,
                  TokenKind kind, std::span<const std::int32_t> guesses = {});
    // Throws Error (kInvalidInput) when not all could be written.
    void finish();
    std::int64_t n_tokens() const { return n_tokens_; }

  private:
    void add_token(std::span<const std::int32_t> experts, std::int64_t position, TokenKind kind,
                   std::span<const std::int32_t> guesses);

    std::string name_;
    TraceHeader header_;
    FileWriter file_;
    std::string line_;
    std::int64_t step_ = 0;
    std::int64_t n_tokens_ = 0;
};

}  // namespace offstage::engine
