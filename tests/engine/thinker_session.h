#pragma once
// A session whose answers are a thought in two pieces and a text in two.

#include <string>

#include "tests/engine/gate_session.h"

namespace offstage::test {

class Thinker : public GateSession {
  public:
    std::string thought = "So so.";  // of the result; empty: all that it said was the answer
    bool announces_it = true;        // false: that the text was a thought becomes known at its end

    engine::GenerationResult generate(const engine::GenerationRequest& /*request*/, const engine::TextDeltaFn& on_delta,
                                      std::stop_token /*stop*/) override {
        const auto say = [&](const char* text, bool thinking) {
            engine::TextDelta delta;
            delta.text = text;
            delta.token = 1;
            delta.is_thinking = thinking;
            delta.choice = engine::TokenChoice{{1, -1.0, text, false}, {}};
            on_delta(delta);
        };
        say("So ", announces_it);
        say("so.", announces_it);
        if (!announces_it) {
            engine::TextDelta taken_back;
            taken_back.text = thought;
            taken_back.is_thinking = taken_back.text_was_thought = true;
            on_delta(taken_back);
        }
        say("Yes", false);
        say("no", false);
        engine::GenerationResult result;
        result.thought = thought;
        return result;
    }
};

}  // namespace offstage::test
