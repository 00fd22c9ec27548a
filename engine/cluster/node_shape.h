#pragma once

namespace offstage::engine {

// Who does what of a token, where other machines are joined.
enum class NodeShape {
    kHelpers,        // this machine makes the steps, and others compute experts for it
    kDecentralised,  // every machine makes each step, with a share of the experts (PeerStep)
    kAuto,           // the faster one by forecast; with NodeUse::kAlways, helpers
};

}  // namespace offstage::engine
