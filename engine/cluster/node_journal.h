#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "engine/cluster/connected_nodes.h"
#include "engine/telemetry/snapshot.h"

namespace offstage::engine {

// What users learn of joined machines: sentences about them, and the work of the last
// tokens. Any thread, unless otherwise stated.
class NodeJournal {
  public:
    // measured: experts are computed elsewhere where that is forecast to be faster.
    NodeJournal(bool measured, bool emulated) : measured_(measured), emulated_(emulated) {}

    // Other machines than before, which have begun to connect.
    void begin(const ConnectedNodes& nodes);
    // The machines that are up (bit i: node i) before the first step.
    void begin_steps(std::uint32_t up) { last_up_ = up; }
    void add(std::vector<Message> notes);
    // What a machine holds, once, when all of it is there.
    void announce(const ConnectedNodes& nodes, std::size_t i);
    // The engine's thread: other machines than after the last step, or the first token
    // with these.
    bool is_news(std::uint32_t up) const;
    // The engine's thread, after each step of n_tokens tokens.
    void after_step(const ConnectedNodes& nodes, double us, std::int64_t n_tokens);
    // Snapshot::machine_tokens and what they took; machines: there already.
    void fill(Snapshot& snapshot) const;
    // Of the machines as well.
    std::vector<Message> take_notes(const ConnectedNodes& nodes);

  private:
    // The time of a decoded token, and each machine's work for it.
    struct Token {
        double us = 0;
        std::vector<RemoteTotals> of_nodes;
    };
    // For helpers: the last reported cost of a row of an expert there, with its transfer;
    // and the number of that measurement.
    struct KnownCost {
        std::uint64_t measurement = 0;
        double us = 0;
    };

    void announce_locked(const ConnectedNodes& nodes, std::size_t i);
    void say_who_steps(StepsAlone alone);
    void say_what_use_found(const ConnectedNodes& nodes);
    void follow_losses(const ConnectedNodes& nodes, std::uint32_t now);

    const bool measured_, emulated_;
    // One thread.
    StepsAlone said_alone_ = StepsAlone::kNo;
    std::vector<KnownCost> known_costs_;
    std::vector<RemoteTotals> seen_;  // of the machines, at the last step's end
    std::uint32_t last_up_ = 0;       // at the last step's end
    // A loss whose cost is not known yet: the lost machines, and a token's time before.
    std::string lost_;
    double before_us_ = 0;

    mutable std::mutex mutex_;  // for the members below
    std::vector<Message> notes_;
    std::vector<char> announced_;  // whether its experts were announced
    std::deque<Token> tokens_;     // the last ones, all with the same machines
};

}  // namespace offstage::engine
