#pragma once

#include <optional>

#include "kernels/token_rule.h"

namespace offstage::engine {

// Who chooses the tokens behind steps of one token, by rules that a device can follow.
class TokenChooser {
  public:
    virtual ~TokenChooser() = default;

    // The rule behind the next step (n_ahead: 0), or behind the one after it (1), whose
    // token will be chosen by the first rule. nullopt: the host must choose, or no such
    // step will be made.
    virtual std::optional<kernels::TokenRule> rule(int n_ahead) = 0;
    // Whether the step's logits are to come to the host all the same.
    virtual bool needs_logits() const = 0;
};

}  // namespace offstage::engine
