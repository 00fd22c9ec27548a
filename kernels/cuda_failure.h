#pragma once

#include <cstdint>
#include <string>

namespace offstage::kernels {

// Why CUDA is not there, a GPU does not open, or it failed. A value: the floors above put
// it in words.
enum class CudaFault : std::uint8_t {
    kNone,
    kPartNotInstalled,  // no offstage-cuda.so
    kPartDoesNotLoad,   // text: the loader's words
    kPartOfOtherBuild,  // text: its build; detail: this program's
    kNoDriver,
    kDriverTooOld,     // text: the CUDA that the driver serves; detail: what this program was built with
    kNoGpu,            // the driver shows none
    kDriverReports,    // text: the runtime's words
    kNoGpuDescribed,   // the driver does not describe its GPUs
    kNoSuchOrdinal,    // first: how many there are
    kGpuNotDescribed,  // text: the runtime's words
    kGpuTooOld,        // text: its name; first, second: its compute capability
    kGpuDoesNotOpen,   // text: its name; detail: the runtime's words
    kCannotBeSelected,
    kAnswersNoMore,     // text: the runtime's words
    kAttentionTooWide,  // first, second: numbers of a key and of a value
    kRouterTooLarge,
    kOther,  // text: a sentence for the log
};

struct CudaFailure {
    CudaFault fault = CudaFault::kNone;
    std::string text = {};
    std::string detail = {};
    std::int64_t first = 0;
    std::int64_t second = 0;

    bool none() const { return fault == CudaFault::kNone; }
};

}  // namespace offstage::kernels
