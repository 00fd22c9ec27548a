#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/message.h"

namespace offstage::engine {

enum class MachineState : std::uint8_t {
    kConnecting,   // being connected to, or waiting for its first experts
    kUp,           // computes its experts
    kUnreachable,  // cannot be connected to, or the connection was lost; tried again in the background
    kRefused,      // it answers, and will not or cannot work for this model
    kEnding,       // it has announced its end
};

// Between two of the other machines, where all make the steps.
struct MachineLink {
    std::string to;         // the other one
    bool direct = false;    // otherwise their messages go through this machine
    double latency_us = 0;  // direct: round trip of a small message
    double mbps = 0;        // 1e6 bytes per second, one direction
    Message why;            // not direct: the reason
};

// Another machine that computes experts of the loaded model, as of one moment.
struct MachineFigures {
    std::string name;
    MachineState state = MachineState::kConnecting;
    Message why;  // kUnreachable and kRefused: the reason
    std::int64_t n_held = 0;
    std::uint64_t held_bytes = 0;
    std::uint64_t ram_bytes = 0;  // the limit of its memory
    std::int32_t n_threads = 0;
    std::string instruction_set;
    double latency_us = 0;  // round trip of a small message
    double mbps = 0;        // 1e6 bytes per second, one direction
    // Per decoded token, means over Snapshot::machine_tokens:
    double compute_us = 0;       // of its own
    double network_us = 0;       // there and back, until the answer has come in
    double waiting_us = 0;       // of this machine, without other work
    double bytes = 0;            // of activations, both ways
    double rows = 0;             // (token, expert) pairs
    std::uint64_t n_losses = 0;  // connections that ended while they were used
    std::int64_t n_owned = 0;    // experts that it computes in every step; 0 of helpers
    // A row of an expert there: as measured when the machine was connected, and the
    // present value, after further measurements or use. 0: not known.
    double first_expert_us = 0, expert_us = 0;
    // To other machines, as far as they are known.
    std::vector<MachineLink> links = {};
};

// Per decoded token, microseconds of this machine: computing, on the network, and waiting
// for another machine's computation.
struct ShapeTimes {
    double computing_us = 0;
    double network_us = 0;
    double waiting_us = 0;
    double us() const { return computing_us + network_us + waiting_us; }
};

// Why this machine makes steps without the others, although they make each step with it.
enum class StepsAlone : std::uint8_t {
    kNo,
    kAnswer,  // beams, several answers at once, thetas by expert: no machines do that together
    kKvType,  // a change of the plan keeps the KV cache in another type than the machines do
};

// Who does what of a token where machines are joined (NodeShape).
struct MachineShape {
    bool decentralised = false;  // in force; else the others are helpers
    bool automatic = false;      // it was chosen by forecast
    // Forecasts, 0: not known. For the machines that were up when they were made.
    ShapeTimes helpers, peers;
    StepsAlone alone = StepsAlone::kNo;  // of the last step
    bool late = false;                   // a machine is up that the choice did not count
    bool refuses = false;                // a machine is up and makes no steps, although they are requested of it
    const ShapeTimes& in_force() const { return decentralised ? peers : helpers; }
};

}  // namespace offstage::engine
