#include "engine/plan/prefetch_settings.h"

#include "engine/error.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {

std::string_view name_of(PrefetchMode mode) {
    switch (mode) {
        case PrefetchMode::kOff:
            return "off";
        case PrefetchMode::kAuto:
            return "auto";
        case PrefetchMode::kAlways:
            return "always";
    }
    return "?";
}

PrefetchMode parse_prefetch(std::string_view name) {
    for (const PrefetchMode mode : {PrefetchMode::kOff, PrefetchMode::kAuto, PrefetchMode::kAlways}) {
        if (name_of(mode) == name) return mode;
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_prefetch(name));
}

std::string_view name_of(SparseLoading loading) {
    switch (loading) {
        case SparseLoading::kOff:
            return "off";
        case SparseLoading::kAuto:
            return "auto";
        case SparseLoading::kAlways:
            return "always";
    }
    return "?";
}

SparseLoading parse_sparse_loading(std::string_view name) {
    for (const SparseLoading loading : {SparseLoading::kOff, SparseLoading::kAuto, SparseLoading::kAlways}) {
        if (name_of(loading) == name) return loading;
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_sparse_loading(name));
}

std::string_view name_of(NeuronGuesses guesses) {
    return guesses == NeuronGuesses::kAccept ? "accept" : "correct";
}

NeuronGuesses parse_neuron_guesses(std::string_view name) {
    for (const NeuronGuesses guesses : {NeuronGuesses::kCorrect, NeuronGuesses::kAccept}) {
        if (name_of(guesses) == name) return guesses;
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_neuron_guesses(name));
}

std::string_view name_of(PromptLoading loading) {
    switch (loading) {
        case PromptLoading::kOnDemand:
            return "on-demand";
        case PromptLoading::kAhead:
            return "ahead";
        case PromptLoading::kLend:
            return "lend";
    }
    return "?";
}

PromptLoading parse_prompt_loading(std::string_view name) {
    for (const PromptLoading loading : {PromptLoading::kOnDemand, PromptLoading::kAhead, PromptLoading::kLend}) {
        if (name_of(loading) == name) return loading;
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_prompt_loading(name));
}

std::string_view name_of(DiskReads reads) {
    switch (reads) {
        case DiskReads::kAuto:
            return "auto";
        case DiskReads::kDirect:
            return "direct";
        case DiskReads::kCached:
            return "cached";
    }
    return "?";
}

DiskReads parse_disk_reads(std::string_view name) {
    for (const DiskReads reads : {DiskReads::kAuto, DiskReads::kDirect, DiskReads::kCached}) {
        if (name_of(reads) == name) return reads;
    }
    throw Error(ErrorKind::kInvalidInput, messages::no_such_disk_reads(name));
}

}  // namespace offstage::engine
