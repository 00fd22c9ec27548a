// Compiles a grammar or a JSON schema, and reads a text by it. The first byte chooses which
// of the two; a byte of 0 ends it, and the rest is the text. What is refused is refused by
// an Error; each byte that the automaton takes leads to a state from which more text, or
// the end, is possible, as far as its nesting goes; forgetting other states changes nothing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/text/gbnf.h"
#include "engine/text/grammar_automaton.h"
#include "engine/text/json_schema_grammar.h"

using namespace offstage::engine;

namespace {

Grammar compile(std::uint8_t choice, std::string_view source) {
    if (choice % 2 == 0) return parse_gbnf(source);
    static_cast<void>(parse_json(source, "schema", {.max_depth = 32}));
    return json_schema_grammar(nlohmann::ordered_json::parse(source));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t end = std::min(rest.find('\0'), rest.size());
    try {
        const Grammar grammar = compile(data[0], rest.substr(0, end));
        GrammarAutomaton automaton(grammar);
        GrammarAutomaton::State state = automaton.start();
        if (state == GrammarAutomaton::kDead) std::abort();
        std::size_t n_read = 0;
        for (const char c : rest.substr(std::min(end + 1, rest.size()))) {
            const GrammarAutomaton::State next = automaton.step(state, static_cast<unsigned char>(c));
            if (next == GrammarAutomaton::kDead) break;
            const bool accepts = automaton.accepts(next);
            const GrammarAutomaton::State kept = automaton.forget_others(next);
            if (automaton.accepts(kept) != accepts) std::abort();
            state = kept;
            if (++n_read > 256) break;
        }
        if (automaton.without_callers(state) == GrammarAutomaton::kDead && !automaton.is_complete(state)) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
