// What answers of a given form cost: the masks of each token of a JSON text, in the first
// answer and in the second one by the same schema, beside choosing a token.
//
//   bench_token_masks VOCABULARY...   (a folder or a GGUF file, which need hold nothing else)

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/run/sampler.h"
#include "engine/text/json_schema_grammar.h"
#include "engine/text/token_masks.h"
#include "engine/text/tokenizer.h"

using namespace offstage::engine;

namespace {

using Json = nlohmann::ordered_json;

struct Case {
    const char* name;
    const char* schema;
    const char* text;
};
constexpr Case kCases[] = {
    {"any JSON", R"({"type": "object"})",
     R"({"city": "Bielefeld", "people": 334002, "names": ["Liebefeld", "a town that is said not to be there"], "at": {"x": 8.53, "y": 52.02}})"},
    {"a record",
     R"({"type": "object", "properties": {"city": {"type": "string"}, "people": {"type": "integer", "minimum": 0}, "kind": {"enum": ["town", "village"]},
         "names": {"type": "array", "items": {"type": "string"}}, "note": {"type": "string"}}, "required": ["city", "people", "kind", "names"], "additionalProperties": false})",
     R"({"city": "Bielefeld", "people": 334002, "kind": "town", "names": ["Liebefeld", "a town that is said not to be there"], "note": "Nobody has seen it, or so they say on the train."})"},
    {"a bounded text",
     R"({"type": "object", "properties": {"note": {"type": "string", "maxLength": 200}}, "required": ["note"]})",
     R"({"note": "Nobody has seen it, or so they say on the train. Whoever asks is told that there is no such town."})"},
    {"up to its bound",
     R"({"type": "object", "properties": {"note": {"type": "string", "maxLength": 100}}, "required": ["note"]})",
     R"({"note": "Nobody has seen it, or so they say on the train. Whoever asks is told that there is no such town. So"})"},
};

// Of the thread's own time, so that other programs do not count.
double now_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double us_since(double begin) {
    return now_us() - begin;
}

// As an answer asks for them, without what it keeps of its own.
class Filter final : public TokenFilter {
  public:
    Filter(TokenMasks& masks, const Tokenizer& tokenizer)
        : masks_(masks), tokenizer_(tokenizer), automaton_(masks.grammar()), state_(automaton_.start()) {}

    bool is_costly() override { return masks_.is_costly(automaton_, state_); }
    bool allows(TokenId token) override {
        return masks_.allows(automaton_, state_, token, tokenizer_.piece_bytes(token));
    }
    const TokenMask& mask() override {
        mask_ = masks_.find(automaton_, state_);
        return mask_;
    }
    // False: the grammar does not read it.
    bool read(std::string_view bytes) {
        state_ = automaton_.read(state_, bytes);
        return state_ != GrammarAutomaton::kDead;
    }
    bool accepts() const { return automaton_.accepts(state_); }

  private:
    TokenMasks& masks_;
    const Tokenizer& tokenizer_;
    GrammarAutomaton automaton_;
    GrammarAutomaton::State state_;
    TokenMask mask_;
};

// best: what the filter adds to choosing one of the 40 best tokens, of a model that would
// write the text; otherwise whole masks are found.
void measure(const Tokenizer& tokenizer, const VocabularyTree& tree, const Case& one, bool best) {
    const auto begin = now_us();
    auto grammar = std::make_shared<const Grammar>(json_schema_grammar(Json::parse(one.schema)));
    const double compile_us = us_since(begin);
    TokenMasks masks(grammar, tree);
    const std::vector<TokenId> tokens = tokenizer.encode(one.text);
    std::printf("  %-15s %-13s %5zu positions, compiled in %4.0f us; %3zu tokens", one.name,
                best ? "40 best tokens" : "whole masks", grammar->positions.size(), compile_us, tokens.size());
    std::vector<float> logits(static_cast<std::size_t>(tree.vocab_size()));
    for (const char* round : {"first", "second"}) {
        Filter filter(masks, tokenizer);
        Sampler sampler({.temperature = 0.8F, .top_k = 40}, 1), free({.temperature = 0.8F, .top_k = 40}, 1);
        std::vector<double> times;
        bool is_read = true;
        for (const TokenId token : tokens) {
            if (best) {
                // What models find likely beside a text's token is mostly text as well.
                for (std::size_t i = 0; i < logits.size(); ++i) {
                    logits[i] = static_cast<float>(((i + times.size()) * 2654435761U) % 1000) / 1000.0F;
                }
                for (const TokenId likely : tokens) logits[static_cast<std::size_t>(likely)] += 5.0F;
                logits[static_cast<std::size_t>(token)] += 10.0F;
            }
            const auto chosen_us = [&](Sampler& its, TokenFilter* its_filter) {
                const auto start = now_us();
                static_cast<void>(its.sample(logits, {}, its_filter));
                return us_since(start);
            };
            const auto start = now_us();
            if (!best) static_cast<void>(filter.mask());
            const double mask_us = us_since(start);
            times.push_back(best ? chosen_us(sampler, &filter) - chosen_us(free, nullptr) : mask_us);
            std::string bytes = tokenizer.piece_bytes(token);
            if (times.size() == 1 && tokenizer.begins_with_space() && bytes.starts_with(' ')) bytes.erase(0, 1);
            is_read = filter.read(bytes);
            if (!is_read) break;
        }
        double sum = 0;
        for (const double time : times) sum += time;
        std::sort(times.begin(), times.end());
        std::printf("; %s answer %.0f us a token (median %.0f, longest %.0f)", round,
                    sum / static_cast<double>(times.size()), times[times.size() / 2], times.back());
        if (!is_read || !filter.accepts()) std::printf(" NOT READ");
    }
    std::printf("\n");
}

void measure_sampler(const Tokenizer& tokenizer, std::int64_t vocab_size, const VocabularyTree& tree) {
    TokenMasks masks(std::make_shared<const Grammar>(json_schema_grammar({{"type", "string"}})), tree);
    std::vector<float> logits(static_cast<std::size_t>(vocab_size));
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 2654435761U) % 1000) / 100.0F;
    const auto time = [&](TokenFilter* filter) {
        Sampler sampler({.temperature = 0.8F, .top_k = 40}, 1);
        const auto start = now_us();
        for (int i = 0; i < 50; ++i) static_cast<void>(sampler.sample(logits, {}, filter));
        return us_since(start) / 50;
    };
    Filter text(masks, tokenizer), begin(masks, tokenizer);
    text.read("\"a");
    const double free_us = time(nullptr);
    std::printf("  choosing a token %.0f us, within a text %.0f, at its beginning %.0f\n", free_us, time(&text),
                time(&begin));
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        try {
            constexpr std::int64_t kMost = 1 << 20;
            const auto tokenizer = Tokenizer::open(argv[i], kMost);
            const std::int64_t vocab_size = tokenizer->vocab_size() == kMost ? 262'144 : tokenizer->vocab_size();
            const auto begin = now_us();
            const VocabularyTree tree(*tokenizer, vocab_size);
            std::printf("%s: %lld tokens, %zu nodes, read in %.0f ms\n", argv[i], static_cast<long long>(vocab_size),
                        tree.nodes().size(), us_since(begin) / 1000);
            for (const Case& one : kCases)
                for (const bool best : {false, true}) measure(*tokenizer, tree, one, best);
            measure_sampler(*tokenizer, vocab_size, tree);
        } catch (const Error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            return 1;
        }
    }
    return 0;
}
