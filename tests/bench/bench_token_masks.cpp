// What answers of a given form cost: the masks of each token of a JSON text, in the first
// answer and in the second one by the same schema, beside choosing a token.
//
//   bench_token_masks VOCABULARY...   (a folder or a GGUF file, which need hold nothing else)

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
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

void measure(const Tokenizer& tokenizer, const VocabularyTree& tree, const Case& one) {
    const auto begin = now_us();
    auto grammar = std::make_shared<const Grammar>(json_schema_grammar(Json::parse(one.schema)));
    const double compile_us = us_since(begin);
    TokenMasks masks(grammar, tree);
    const std::vector<TokenId> tokens = tokenizer.encode(one.text);
    std::printf("  %-15s %5zu positions, compiled in %4.0f us; %3zu tokens", one.name, grammar->positions.size(),
                compile_us, tokens.size());
    for (const char* round : {"first", "second"}) {
        GrammarAutomaton automaton(*grammar);
        GrammarAutomaton::State state = automaton.start();
        std::vector<double> times;
        for (const TokenId token : tokens) {
            const auto start = now_us();
            const TokenMask mask = masks.find(automaton, state);
            times.push_back(us_since(start));
            std::string bytes = tokenizer.piece_bytes(token);
            if (times.size() == 1 && tokenizer.begins_with_space() && bytes.starts_with(' ')) bytes.erase(0, 1);
            state = automaton.read(state, bytes);
            if (state == GrammarAutomaton::kDead) break;
        }
        double sum = 0;
        for (const double time : times) sum += time;
        std::sort(times.begin(), times.end());
        std::printf("; %s answer %.0f us a token (median %.0f, longest %.0f)", round,
                    sum / static_cast<double>(times.size()), times[times.size() / 2], times.back());
        if (state == GrammarAutomaton::kDead || !automaton.accepts(state)) std::printf(" NOT READ");
    }
    std::printf("\n");
}

void measure_sampler(std::int64_t vocab_size, const VocabularyTree& tree) {
    const Grammar grammar = json_schema_grammar({{"type", "string"}});
    TokenMasks masks(std::make_shared<const Grammar>(grammar), tree);
    GrammarAutomaton automaton(grammar);
    const TokenMask text = masks.find(automaton, automaton.read(automaton.start(), "\"a")),
                    begin = masks.find(automaton, automaton.start());
    std::vector<float> logits(static_cast<std::size_t>(vocab_size));
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 2654435761U) % 1000) / 100.0F;
    const auto time = [&](const TokenMask* mask) {
        Sampler sampler({.temperature = 0.8F, .top_k = 40}, 1);
        const auto start = now_us();
        for (int i = 0; i < 50; ++i) static_cast<void>(sampler.sample(logits, {}, mask));
        return us_since(start) / 50;
    };
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
            for (const Case& one : kCases) measure(*tokenizer, tree, one);
            measure_sampler(vocab_size, tree);
        } catch (const Error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            return 1;
        }
    }
    return 0;
}
