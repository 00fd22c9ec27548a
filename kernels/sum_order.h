#pragma once

#include <cstdint>

namespace offstage::kernels {

// The order of the sums behind a row of activations. It decides their last bits.
enum class SumOrder : std::uint8_t {
    kByNumber,  // the fastest for the number of rows computed together: one, a few, or many
    // The order for many rows, even where they are few: a row's result then does not
    // depend on the others, so that a prompt may be read in steps of any length. Costs
    // time where rows are few.
    kMany,
    // The order for one row, whatever their number: a row's result is that of a step of
    // its own. Weights are still read once, in pieces that stay in a cache.
    kAlone,
};

}  // namespace offstage::kernels
