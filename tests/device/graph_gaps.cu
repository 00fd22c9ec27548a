// What a node of a CUDA graph costs on this GPU: chains of 256 nodes, each kernel waiting
// for the one before. nvcc -O3 -std=c++17 -arch=sm_90 graph_gaps.cu -o graph_gaps; prints
// one JSON object.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                        \
    do {                                                                                                   \
        const cudaError_t status = (call);                                                                 \
        if (status != cudaSuccess) {                                                                       \
            std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
            std::exit(1);                                                                                  \
        }                                                                                                  \
    } while (0)

struct Small {
    float* x;
};
struct Large {
    float* x;
    char rest[2048 - sizeof(float*)];
};  // as FewCalls, SegmentList

template <typename P, bool kPdl>
__global__ void touch(P p, int n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (kPdl) {
        cudaTriggerProgrammaticLaunchCompletion();
        cudaGridDependencySynchronize();
    }
#endif
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) p.x[i] = p.x[i] * 0.5f + 1.0f;
}

__global__ void stamp(unsigned long long* at) {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    *at = now;
}

// Raises a word in host memory and waits for the host's answer: the hand-over of a layer.
__global__ void hand_over(volatile unsigned* ask, volatile unsigned* answer, unsigned n) {
    for (unsigned i = 1; i <= n; ++i) {
        __threadfence_system();
        *ask = i;
        while (*answer < i) {
        }
    }
}

// The first kernel behind a layer's part on the host: says that it began.
__global__ void say(volatile unsigned* began) {
    *began = *began + 1;
}

static double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

enum Kind { kPlain, kLargeParameters, kPdl, kEvents, kEventsUntimed, kPdlEvents };

// Microseconds of the device for a chain of n kernels; an event node behind every fourth
// for the last three kinds.
static double chain(Kind kind, int n, int blocks, float* x, cudaStream_t stream) {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    std::vector<cudaEvent_t> events;
    cudaGraphNode_t last{};
    bool first = true, last_is_kernel = false;
    const bool pdl = kind == kPdl || kind == kPdlEvents;
    for (int i = 0; i < n; ++i) {
        Small small{x};
        Large large{};
        large.x = x;
        int count = blocks * 256;
        void* small_args[] = {&small, &count};
        void* large_args[] = {&large, &count};
        cudaGraphNodeParams node{};
        node.type = cudaGraphNodeTypeKernel;
        node.kernel.func = kind == kLargeParameters ? reinterpret_cast<void*>(touch<Large, false>)
                           : pdl                    ? reinterpret_cast<void*>(touch<Small, true>)
                                                    : reinterpret_cast<void*>(touch<Small, false>);
        node.kernel.gridDim = dim3(static_cast<unsigned>(blocks));
        node.kernel.blockDim = dim3(256);
        node.kernel.kernelParams = kind == kLargeParameters ? large_args : small_args;
        cudaGraphEdgeData edge{};
        if (pdl && last_is_kernel) {
            edge.from_port = cudaGraphKernelNodePortProgrammatic;
            edge.type = cudaGraphDependencyTypeProgrammatic;
        }
        cudaGraphNode_t made;
#if CUDART_VERSION >= 13000
        CHECK(cudaGraphAddNode(&made, graph, first ? nullptr : &last, first ? nullptr : &edge, first ? 0 : 1, &node));
#else
        CHECK(
            cudaGraphAddNode_v2(&made, graph, first ? nullptr : &last, first ? nullptr : &edge, first ? 0 : 1, &node));
#endif
        last = made;
        first = false;
        last_is_kernel = true;
        if (kind >= kEvents && i % 4 == 3) {
            cudaEvent_t event;
            CHECK(kind == kEventsUntimed ? cudaEventCreateWithFlags(&event, cudaEventDisableTiming)
                                         : cudaEventCreate(&event));
            events.push_back(event);
            CHECK(cudaGraphAddEventRecordNode(&made, graph, &last, 1, event));
            last = made;
            last_is_kernel = false;
        }
    }
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<double> all;
    for (int round = 0; round < 30; ++round) {
        CHECK(cudaEventRecord(begin, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (round >= 5) all.push_back(1e3 * ms);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (cudaEvent_t event : events) CHECK(cudaEventDestroy(event));
    return median(all);
}

static void* driver_function(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    if (status != cudaSuccess) (void)cudaGetLastError();
    return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
}

// Microseconds from the host's last word of a layer to the first kernel behind it, of a
// graph of 12 kernels: the host starts the graph then, or it has been started before,
// behind a wait of the stream for that word. Below 0: the driver has no such wait.
static double begin_behind_host(bool waits, float* x, cudaStream_t stream) {
    using Wait = CUresult(CUDAAPI*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);
    const auto wait = reinterpret_cast<Wait>(driver_function("cuStreamWaitValue32"));
    if (waits && wait == nullptr) return -1;
    volatile unsigned* words;  // (released, began)
    unsigned* there;
    CHECK(cudaHostAlloc(const_cast<unsigned**>(&words), 64, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&there, const_cast<unsigned*>(words), 0));
    words[0] = words[1] = 0;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    say<<<1, 1, 0, stream>>>(there + 1);
    for (int i = 0; i < 11; ++i) touch<Large, false><<<132, 256, 0, stream>>>(Large{x, {}}, 132 * 256);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphUpload(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::vector<double> all;
    for (unsigned round = 1; round <= 300; ++round) {
        if (waits) {
            const CUresult waiting =
                wait(stream, reinterpret_cast<CUdeviceptr>(there), round, CU_STREAM_WAIT_VALUE_GEQ);
            if (waiting != CUDA_SUCCESS) break;
            CHECK(cudaGraphLaunch(exec, stream));
        }
        const auto computing = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - computing < std::chrono::microseconds(100)) {
        }
        const auto begin = std::chrono::steady_clock::now();
        std::atomic_thread_fence(std::memory_order_seq_cst);
        words[0] = round;
        if (!waits) CHECK(cudaGraphLaunch(exec, stream));
        while (words[1] != round) {
        }
        all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFreeHost(const_cast<unsigned*>(words)));
    return all.empty() ? -1 : median(all);
}

int main() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float* x;
    CHECK(cudaMalloc(&x, 1 << 22));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::string out = "{\"gpu\": \"" + std::string(properties.name) + "\"";
    const bool has_pdl = properties.major >= 9;
    const char* const names[] = {"plain",
                                 "2 KiB of parameters",
                                 "pdl",
                                 "timed event after every 4th",
                                 "untimed event after every 4th",
                                 "pdl, timed events"};
    for (const int blocks : {1, 132, 1056}) {
        for (int kind = 0; kind <= kPdlEvents; ++kind) {
            if (!has_pdl && (kind == kPdl || kind == kPdlEvents)) continue;
            // Two lengths: what a launch costs by itself falls out.
            const double us = (chain(static_cast<Kind>(kind), 256, blocks, x, stream) -
                               chain(static_cast<Kind>(kind), 64, blocks, x, stream)) /
                              192;
            char text[160];
            std::snprintf(text, sizeof text, ", \"%s, %d blocks, us a kernel\": %.3f", names[kind], blocks, us);
            out += text;
        }
    }
    // The host's side.
    std::vector<double> launch_us;
    for (int i = 0; i < 2000; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        touch<Small, false><<<1, 32, 0, stream>>>(Small{x}, 32);
        launch_us.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        if (i % 200 == 199) CHECK(cudaStreamSynchronize(stream));
    }
    cudaEvent_t blocking, spinning;
    CHECK(cudaEventCreateWithFlags(&blocking, cudaEventBlockingSync));
    CHECK(cudaEventCreate(&spinning));
    unsigned long long* at;
    CHECK(cudaHostAlloc(&at, sizeof *at, cudaHostAllocMapped));
    const auto wait = [&](cudaEvent_t event) {
        std::vector<double> all;
        for (int i = 0; i < 200; ++i) {
            for (int k = 0; k < 400; ++k) touch<Small, false><<<1056, 256, 0, stream>>>(Small{x}, 1056 * 256);
            CHECK(cudaEventRecord(spinning, stream));  // both: one to ask, one to wait for
            CHECK(cudaEventRecord(event, stream));
            if (event == blocking)
                CHECK(cudaEventSynchronize(event));
            else
                while (cudaEventQuery(event) == cudaErrorNotReady) {
                }
            const auto begin = std::chrono::steady_clock::now();
            touch<Small, false><<<1, 32, 0, stream>>>(Small{x}, 32);
            CHECK(cudaStreamSynchronize(stream));
            all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        }
        return median(all);
    };
    char text[256];
    std::snprintf(text, sizeof text,
                  ", \"host us a launch\": %.3f, \"kernel and wait after a blocking wait, us\": %.2f, \"after a "
                  "spinning one\": %.2f",
                  median(launch_us), wait(blocking), wait(spinning));
    out += text;
    // Hand-over by words in page-locked memory.
    unsigned *ask, *answer, *ask_there, *answer_there;
    CHECK(cudaHostAlloc(&ask, 64, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&answer, 64, cudaHostAllocMapped));
    *ask = *answer = 0;
    CHECK(cudaHostGetDevicePointer(&ask_there, ask, 0));
    CHECK(cudaHostGetDevicePointer(&answer_there, answer, 0));
    constexpr unsigned kRounds = 2000;
    std::thread host([&] {
        volatile unsigned* const asked = ask;
        for (unsigned i = 1; i <= kRounds; ++i) {
            while (*asked < i) {
            }
            std::atomic_thread_fence(std::memory_order_seq_cst);
            *static_cast<volatile unsigned*>(answer) = i;
        }
    });
    const auto begin = std::chrono::steady_clock::now();
    hand_over<<<1, 1, 0, stream>>>(ask_there, answer_there, kRounds);
    CHECK(cudaStreamSynchronize(stream));
    const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    host.join();
    std::snprintf(text, sizeof text, ", \"hand-over to the host and back by words, us\": %.3f", us / kRounds);
    out += text;
    std::snprintf(
        text, sizeof text,
        ", \"first kernel behind the host's part, us, by a launch\": %.2f, \"by a wait of the stream\": %.2f}",
        begin_behind_host(false, x, stream), begin_behind_host(true, x, stream));
    out += text;
    std::puts(out.c_str());
}
