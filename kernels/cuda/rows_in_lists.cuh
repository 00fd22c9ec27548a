#pragma once
// Experts of many rows, a list of calls at a time: as many rows as scratch memory holds.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/few_experts.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tiled_matrix.cuh"

namespace offstage::kernels::cuda {

inline constexpr std::int64_t kMostRowsOfCall = 32768;  // the limit of a grid

// run(list, n_rows) for the rows of those calls that takes(call) is true of: each row's
// results lie in scratch memory at FewCall::scratch_row, below n_rows; row_bytes: scratch
// bytes of a row, in four pieces. The last list may be empty. Without room for one row
// the worker reports missing scratch memory.
template <typename Takes, typename Run>
void run_rows_in_lists(Worker& worker, const CudaExpertCall* calls, std::size_t n_calls, std::size_t row_bytes,
                       const Takes& takes, const Run& run) {
    constexpr std::size_t kRounding = 4 * 256;
    worker.scratch.restart();
    const std::size_t left = worker.scratch.left() < kRounding ? 0 : worker.scratch.left() - kRounding;
    std::int64_t room = static_cast<std::int64_t>(left / row_bytes);
    if (room > kMostRowsOfCall) room = kMostRowsOfCall;
    FewCalls list;
    std::int64_t n_rows = 0;
    const auto flush = [&] {
        run(list, n_rows);
        list.n = 0;
        n_rows = 0;
    };
    for (std::size_t c = 0; c < n_calls; ++c) {
        const CudaExpertCall& call = calls[c];
        if (!takes(call)) continue;
        if (room < 1) {
            worker.lacks_scratch();
            return;
        }
        std::int64_t taken = 0;
        while (taken < call.n_rows) {
            const std::int64_t wanted = call.n_rows - taken < room ? call.n_rows - taken : room;
            if (list.n == kCallsPerLaunch || n_rows + wanted > room) flush();
            FewCall& one = list.calls[list.n++];
            one = {};
            one.weights = call.weights;
            one.first_row = static_cast<std::int32_t>(call.first_row + taken);
            one.n_rows = static_cast<std::int32_t>(wanted);
            one.scratch_row = static_cast<std::int32_t>(n_rows);
            n_rows += wanted;
            taken += wanted;
        }
    }
    flush();
}

}  // namespace offstage::kernels::cuda
