#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/run/beam_settings.h"

namespace offstage::engine {

struct BeamAnswer {
    std::vector<TokenId> tokens;  // without the end token
    double log_probability = 0;   // sum over the tokens, the end token included when there is one
    double score = 0;
    bool ended = false;  // by an end token
};

// Beam search over next-token logits, the arithmetic alone: the caller computes logits
// for each live beam and forks their KV sequences. As transformers'
// generate(num_beams=width, do_sample=False, early_stopping=False): each step ranks the
// (1 + end tokens, at least 2) * width best continuations of all beams. Continuations
// that end (within the first width ranks) become answers, the best width of the others
// stay live. It is done when there are width answers and no live beam's present score
// beats the worst of them, or at max_tokens, when the first width ranks become answers
// unfinished. Width 1 is greedy decoding. Checked against transformers by golden files.
class BeamSearch {
  public:
    // max_tokens 0: no limit; the caller ends the search.
    BeamSearch(const BeamSettings& settings, std::vector<TokenId> end_tokens, std::int64_t max_tokens);

    // After the prompt one beam is live; then up to `width`.
    bool done() const;

    struct Branch {
        std::int32_t parent = 0;  // index of the live beam that it continues
        TokenId token = -1;       // to feed next
    };
    // logits: (n_live, vocab_size); tokens whose logits are not finite are never chosen.
    // Returns the new live beams, best first; empty when done. Valid until the next call.
    std::span<const Branch> advance(std::span<const float> logits, std::int64_t vocab_size);
    // Ends the search (stopped, context full): the live beams become answers unfinished.
    // There is at least one answer then, without tokens if nothing was computed.
    void finish();

    // Best score first; at most width. Whole once done.
    std::vector<BeamAnswer> answers() const;

  private:
    struct Beam {
        std::vector<TokenId> tokens;
        double log_probability = 0;
    };
    struct Candidate {
        double log_probability;
        std::int32_t parent;
        TokenId token;
    };

    bool is_end(TokenId token) const;
    void rank(std::span<const float> logits, std::int64_t vocab_size);
    void add_answer(const Candidate& candidate);
    void keep(BeamAnswer answer);

    BeamSettings settings_;
    std::vector<TokenId> end_tokens_;  // ascending
    std::int64_t max_tokens_;
    std::vector<Beam> live_, next_;      // best first
    std::vector<Candidate> candidates_;  // the last step's
    std::vector<BeamAnswer> answers_;    // best first
    std::vector<Branch> branches_;
    bool done_ = false;
};

}  // namespace offstage::engine
