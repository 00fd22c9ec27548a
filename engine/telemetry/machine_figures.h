#pragma once

#include <cstdint>
#include <string>

#include "engine/message.h"

namespace offstage::engine {

enum class MachineState : std::uint8_t {
    kConnecting,   // being connected to, or waiting for its first experts
    kUp,           // computes what it holds
    kUnreachable,  // cannot be connected to, or the connection was lost; tried again in the background
    kRefused,      // it answers, and will not or cannot work for this model
    kEnding,       // it has said that it is about to end
};

// Another machine that computes experts of the loaded model, as of one moment.
struct MachineFigures {
    std::string name;
    MachineState state = MachineState::kConnecting;
    Message why;  // of kUnreachable and kRefused: the reason
    std::int64_t n_held = 0;
    std::uint64_t held_bytes = 0;
    std::uint64_t ram_bytes = 0;  // what it may hold
    std::int32_t n_threads = 0;
    std::string instruction_set;
    double latency_us = 0;  // of a small message there and its answer back
    double mbps = 0;        // 1e6 bytes per second, one direction
    // Of a decoded token, means over Snapshot::machine_tokens:
    double compute_us = 0;       // of its own
    double network_us = 0;       // there and back, until the answer has come in
    double waiting_us = 0;       // of this machine, which had nothing else to do
    double bytes = 0;            // of activations, both ways
    double rows = 0;             // (token, expert) pairs
    std::uint64_t n_losses = 0;  // connections that ended while they were used
};

}  // namespace offstage::engine
