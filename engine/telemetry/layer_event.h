#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace offstage::engine {

// How loading and computing share a token's time, as in table 3 of CORM: the token takes
// loading_us + computing_us - overlap_us, plus idle time. Measured; all 0 if the device
// is the CPU.
struct LoadingTimes {
    double loading_us = 0;    // experts' weights are being copied to the device, on demand or on a guess
    double computing_us = 0;  // the device computes attention or experts, or the CPU experts, or both
    double overlap_us = 0;    // loading and computing at once
    LoadingTimes& operator+=(const LoadingTimes& other) {
        loading_us += other.loading_us;
        computing_us += other.computing_us;
        overlap_us += other.overlap_us;
        return *this;
    }
    LoadingTimes& operator-=(const LoadingTimes& other) { return *this += other.times(-1); }
    LoadingTimes times(double factor) const {
        return {factor * loading_us, factor * computing_us, factor * overlap_us};
    }
    // The share of the computing that is hidden behind loading (CORM's figure), and the
    // reverse.
    double hidden_computing() const { return computing_us > 0 ? overlap_us / computing_us : 0; }
    double hidden_loading() const { return loading_us > 0 ? overlap_us / loading_us : 0; }
};

// Copies of experts to the device: a layer's, or a sum.
struct CopyCounts {
    std::uint64_t bytes_copied = 0;  // weights
    // Experts of the next layer that were copied ahead of demand (speculative loading);
    // of the called ones, those whose guessed copy was whole; copies that took a
    // resident's place.
    std::uint64_t guessed_copies = 0, used_guesses = 0, admissions = 0;
    // Experts that were copied without the neurons that a theta leaves out, and the bytes
    // that this saved on the bus (not part of bytes_copied).
    std::uint64_t sparse_copies = 0, copy_bytes_saved = 0;
};

// And what was computed with them.
struct LayerCounts : CopyCounts {
    // Bytes of the computed experts, in their present formats, each once a step and
    // layer: on the accelerator, on the CPU (there without the neurons that a theta left
    // out).
    std::uint64_t device_read_bytes = 0, host_read_bytes = 0;
    // With a theta, for experts that this machine's CPU computed (or an emulated device,
    // by it), and for those whose neurons it chose for a copy: (token, neuron) pairs, and
    // the active ones among them. Without one 0.
    std::uint64_t neurons = 0, active_neurons = 0;
    // For experts that were copied without some neurons: those that a token needed, and
    // those of them that the device had already (a guess, or the neuron cache).
    std::uint64_t needed_neurons = 0, held_neurons = 0;
};

// One layer in one step.
struct LayerEvent : LayerCounts {
    std::uint64_t step = 0;  // counted since the model was loaded
    std::int32_t layer = 0;
    std::int32_t n_tokens = 0;
    std::uint8_t policy = 0;  // PolicyKind
    std::uint8_t is_prefill = 0;
    std::uint8_t n_drafted = 0;                 // the last of n_tokens (DraftMode)
    std::uint16_t n_assignments = 0;            // experts used; their entries are Recorder::assignments
    std::uint32_t first_assignment = 0;         // place in the recorder's ring of assignments
    float attention_us = 0;                     // from the layer's begin to the router's answer
    float gpu_us = 0, copy_us = 0, cpu_us = 0;  // each side's work
    float layer_us = 0;                         // the experts' part, all sides
    LoadingTimes loading;                       // in the layer's time: attention and the experts' part
    float predicted_gpu_us = 0, predicted_copy_us = 0, predicted_cpu_us = 0, predicted_layer_us = 0;
};

// The execution of an expert of a layer and step.
struct AssignmentEvent {
    std::uint16_t expert = 0;
    std::uint8_t target = 0;  // plan/schedule.h: ExecutionTarget
    std::uint8_t place = 0;   // plan/plan.h: Place
    std::uint8_t format = 0;  // FormatId
    std::uint32_t n_tokens = 0;
    // The predicted costs that were compared, each alone: computing on the CPU, computing
    // on the accelerator, and the copy to it (0: it was there).
    float cpu_us = 0, gpu_us = 0, copy_us = 0;
};

// Consecutive events with their assignments, copied out of the recorder's rings.
struct LayerEvents {
    std::uint64_t first = 0;         // running number of the first event; larger than requested if older ones are gone
    std::vector<LayerEvent> events;  // LayerEvent::first_assignment: place in `assignments`
    std::vector<AssignmentEvent> assignments;  // of an event whose assignments are gone: none
};

// Calls of one expert since the model was loaded.
struct ExpertUse {
    std::uint64_t tokens = 0;           // routed to it
    std::uint64_t resident_tokens = 0;  // of these, those that found it on the accelerator
    std::uint64_t last_step = 0;        // of the last call; without any call 0
};

// Sums since the model was loaded, or since the last reset.
struct DispatchTotals : LayerCounts {
    std::uint64_t steps = 0, decode_steps = 0;
    std::uint64_t expert_calls = 0;  // (layer, expert) pairs with tokens
    std::uint64_t resident_calls = 0;
    std::uint64_t copied_calls = 0;
    std::uint64_t cpu_calls = 0;
    std::uint64_t routed_tokens = 0;    // (token, chosen expert) pairs
    std::uint64_t resident_tokens = 0;  // of these, with their expert resident
    double gpu_us = 0, copy_us = 0, cpu_us = 0, layers_us = 0, attention_us = 0, steps_us = 0;
    LoadingTimes loading;  // of decode steps
    DispatchTotals& operator+=(const DispatchTotals& other);
    DispatchTotals& operator-=(const DispatchTotals& other);
    // Share of the needed neurons that the device had already; 0 if none were needed.
    double neuron_hit_rate() const {
        return needed_neurons > 0 ? static_cast<double>(held_neurons) / static_cast<double>(needed_neurons) : 0;
    }
    // Share of (token, expert) pairs whose expert was resident; 0 if there were none.
    double hit_rate() const {
        return routed_tokens ? static_cast<double>(resident_tokens) / static_cast<double>(routed_tokens) : 0;
    }
};

}  // namespace offstage::engine
