#pragma once
// CUDA on the host, for tests: the part of the runtime API that Offstage's device code
// uses, with the names and meanings of NVIDIA's documentation. Found in the toolkit's
// place when kernels/cuda/*.cu are compiled as C++ (tests/cuda_host/CMakeLists.txt).
// Kernels run as fibers, streams are separate threads, device memory is the host's with
// guards around it. Tests on it do not show a GPU's real races, speed and rounding.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __noinline__
#define __launch_bounds__(...)
#define threadIdx (::cuda_host::this_thread->thread)
#define blockIdx (::cuda_host::this_thread->block)
#define blockDim (::cuda_host::this_thread->block_dim)
#define gridDim (::cuda_host::this_thread->grid_dim)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorUnknown = 999,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDefault = 4 };
enum cudaDeviceAttr {
    cudaDevAttrClockRate,
    cudaDevAttrMemoryClockRate,
    cudaDevAttrGlobalMemoryBusWidth,
    cudaDevAttrMemoryPoolsSupported,
    cudaDevAttrKernelExecTimeout,
};
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
struct cudaDeviceProp {
    char name[256];
    int major;
    int minor;
    int multiProcessorCount;
    std::size_t totalGlobalMem;
};
using cudaStream_t = struct HostStream*;
using cudaEvent_t = struct HostEvent*;
using cudaMemPool_t = struct HostPool*;
using cudaGraph_t = struct HostGraph*;
using cudaGraphNode_t = struct HostGraphNode*;
using cudaGraphExec_t = struct HostGraphExec*;
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone = 0 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4, cudaMemPoolAttrReservedMemCurrent = 5 };
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemAllocationHandleType handleTypes;
    cudaMemLocation location;
};
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventBlockingSync = 1;
inline constexpr unsigned cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostRegisterPortable = 1;
inline constexpr unsigned cudaHostRegisterMapped = 2;

// What the layer knows of graphs is CUDA 13's.
#define CUDART_VERSION 13000
struct cudaFuncAttributes {
    int ptxVersion;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);
cudaError_t cudaMalloc(void** data, std::size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep);
cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* data);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end);
// Nodes that do not depend on each other run in an order drawn from the seed. NVIDIA's
// documentation leaves open the state of a graph's event between the graph's launch and
// the node's turn: here it is unchanged.
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        std::size_t n_dependencies, cudaEvent_t event);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
template <typename T>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* function) {
    return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

namespace cuda_host {

struct ThisThread {
    dim3 thread, block, block_dim, grid_dim;
};
// Lanes read it at every index, so it is a variable.
extern constinit thread_local const ThisThread* this_thread;

// Exchanges values with the other lanes of the warp; returns those of each lane, one
// after the other: as many words as it gave, at most kMostWords.
constexpr int kMostWords = 6;
const std::uint32_t* meet_warp(unsigned mask, const char* function, const std::uint32_t* words, int n_words);
const std::uint32_t* meet_warp(unsigned mask, const char* function, std::uint32_t word);
void meet_block();

// Values of all lanes combined in one exchange, to the bits of exchanges with the lane 16
// further on, 8, 4, 2 and 1. meets_once(): the running kernel does so; in one launch of
// four, drawn from the seed, each exchange is made.
bool meets_once();
float sum_of_warp(unsigned mask, float value);
float largest_of_warp(unsigned mask, float value);

// The running block's: exactly the size of the launch.
void* shared_memory();

// Replaces cudaLaunchKernel, whose arguments have no types.
cudaError_t start(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t parameter_bytes, cudaStream_t stream,
                  std::function<void()> thread);

template <typename... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   Parameters... parameters) {
    return start(grid, block, shared_bytes, (sizeof(Parameters) + ... + 0), stream, [=] { kernel(parameters...); });
}

// Replaces griddepcontrol.wait.
void wait_for_previous();

// Other lanes, and the host's thread, go on.
void nap();
std::uint64_t now_ns();

// Adds what a kernel did wrong to problems(), once.
void report(const char* problem);

// In the place of cudaGraphAddKernelNode or, `early`, of cudaGraphAddNode with a
// programmatic edge from the only dependency, a kernel: then one block runs as far as
// wait_for_previous() before that kernel, and the one before it, begin. The parameters
// are copied, as there.
cudaError_t add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t n_dependencies, bool early, dim3 grid, dim3 block, std::size_t shared_bytes,
                            std::size_t parameter_bytes, std::function<void()> thread);

template <typename... Parameters>
cudaError_t add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t n_dependencies, bool early, void (*kernel)(Parameters...), dim3 grid,
                            dim3 block, std::size_t shared_bytes, Parameters... parameters) {
    return add_kernel_node(node, graph, dependencies, n_dependencies, early, grid, block, shared_bytes,
                           (sizeof(Parameters) + ... + 0), [=] { kernel(parameters...); });
}

}  // namespace cuda_host

inline void __syncthreads() {
    cuda_host::meet_block();
}
inline void __nanosleep(unsigned) {
    cuda_host::nap();
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    cuda_host::meet_warp(mask, "__syncwarp", 0);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
    static_assert(sizeof(T) == 4, "words only");
    std::uint32_t word = 0;
    std::memcpy(&word, &value, 4);
    const std::uint32_t* words = cuda_host::meet_warp(mask, "__shfl_xor_sync", word);
    const unsigned lane = cuda_host::this_thread->thread.x % 32;
    std::memcpy(&value, words + (lane ^ static_cast<unsigned>(lane_mask)) % 32, 4);
    return value;
}
inline unsigned __ballot_sync(unsigned mask, bool holds) {
    const std::uint32_t* const words = cuda_host::meet_warp(mask, "__ballot_sync", holds ? 1 : 0);
    unsigned lanes = 0;
    for (unsigned lane = 0; lane < 32; ++lane) lanes |= words[lane] << lane;
    return lanes;
}
inline int __popc(unsigned word) {
    return __builtin_popcount(word);
}
inline float __uint_as_float(unsigned bits) {
    float value = 0.0f;
    std::memcpy(&value, &bits, 4);
    return value;
}
inline unsigned __float_as_uint(float value) {
    unsigned bits = 0;
    std::memcpy(&bits, &value, 4);
    return bits;
}
// Digit i of the selector chooses byte i of the result from the eight bytes of y and x;
// with the digit's highest bit set, that byte's sign is repeated eight times.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned digit = selector >> (4 * i) & 15u;
        const auto byte = static_cast<unsigned>(bytes >> (8 * (digit & 7u)) & 255u);
        result |= (digit < 8u ? byte : (byte >> 7) * 255u) << (8 * i);
    }
    return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31u));
}
// c + the products of the four signed bytes of a and b.
inline int __dp4a(int a, int b, int c) {
    for (int shift = 0; shift < 32; shift += 8) {
        c += static_cast<std::int8_t>(static_cast<unsigned>(a) >> shift) *
             static_cast<std::int8_t>(static_cast<unsigned>(b) >> shift);
    }
    return c;
}
template <typename T>
T __ldcs(const T* address) {
    return *address;
}
template <typename T>
T __ldcg(const T* address) {
    return *address;
}
// Blocks run one after the other, and what one wrote all others see.
inline void __threadfence() {}
inline void __threadfence_system() {}
inline unsigned atomicAdd(unsigned* address, unsigned value) {
    const unsigned before = *address;
    *address = before + value;
    return before;
}
inline unsigned atomicOr(unsigned* address, unsigned value) {
    const unsigned before = *address;
    *address = before | value;
    return before;
}
