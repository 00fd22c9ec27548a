#pragma once

#include "engine/plan/prefetch_settings.h"

namespace offstage::engine {

// A user's choice of neurons of routed experts to leave out. A value.
struct ThetaChoice {
    double theta = 0;  // LoadRequest::theta: one for all experts; 0: none
    double loss = 0;   // LoadRequest::theta_loss: above 0 `theta` is 0, and each expert has its own
    NeuronGuesses guesses = NeuronGuesses::kCorrect;

    // Implicit conversion: a number means one theta for all.
    constexpr ThetaChoice(double of_all = 0) : theta(of_all) {}
    constexpr ThetaChoice(double of_all, double of_loss, NeuronGuesses how)
        : theta(of_all), loss(of_loss), guesses(how) {}
    static constexpr ThetaChoice for_loss(double loss) { return {0, loss, NeuronGuesses::kCorrect}; }

    bool leaves_out() const { return theta > 0 || loss > 0; }
    bool accepts_guesses() const { return leaves_out() && guesses == NeuronGuesses::kAccept; }
    // If nothing is left out, nothing is guessed.
    bool operator==(const ThetaChoice& other) const {
        return theta == other.theta && loss == other.loss && accepts_guesses() == other.accepts_guesses();
    }
};

}  // namespace offstage::engine
