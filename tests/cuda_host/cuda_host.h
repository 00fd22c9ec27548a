#pragma once
// The tests' interface to the host layer (see cuda_runtime.h). All of it applies to the
// whole program.

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda_context.h"

namespace offstage::kernels {

// open_cuda_context() of the layer that is compiled for the host.
CudaOpening open_cuda_context_on_host(int ordinal);

}  // namespace offstage::kernels

namespace cuda_host {

// The state after reset(): a GPU of compute capability 9.0 with 1 GiB and cuBLAS.
struct Settings {
    int n_devices = 1;
    int compute_major = 9;
    int compute_minor = 0;
    std::size_t memory_bytes = std::size_t{1} << 30;
    bool cublas = true;
    bool limits_kernels = false;  // as a GPU that drives a display does
    bool memory_pools = true;
    std::size_t pool_page_bytes = 1;     // blocks of a memory pool take whole pages; a real GPU's are 2 MiB
    bool pools_reuse = true;             // a freed block's memory; false: each block gets a new address
    std::size_t graph_node_bytes = 512;  // GPU memory of a graph, for each node
    std::uint32_t seed = 1;              // for the order in which blocks and threads run
};

// No device may be open.
void reset(const Settings& settings = {});

// The n-th call of an API function from now fails (1: the next), e.g. "cudaMalloc",
// "cudaLaunchKernel"; n 0: none, below 0: each of them.
void fail_call(const std::string& function, int n);
// Calls of a function since reset().
int calls_of(const std::string& function);
int calls_of(const std::string& function, std::thread::id thread);
int calls_of_all(std::thread::id thread);  // functions
// Every call fails with an illegal address from now on, as after a fault in a kernel;
// false: the GPU is well again.
void lose_context(bool lost);
bool has_lost_context();

// Streams begin nothing more of what they were given, until false.
void hold_streams(bool held);

// The bytes of each copy from or to host memory that is not page-locked, since reset(): a
// real runtime stages these, and the caller waits.
std::vector<std::size_t> pageable_copies();

// The GPU memory that the program has allocated now, including blocks kept by its memory
// pools.
std::size_t taken_bytes();

// Errors that a real GPU might not have shown: writes beside an allocation or beside
// shared memory, copies to it that nobody waited for, frees of unknown addresses, memory
// never freed; and kernels that used an
// invalid address, after which every call fails as it does after lose_context(). Checks
// all allocations. Empty: none.
std::vector<std::string> problems();

}  // namespace cuda_host
