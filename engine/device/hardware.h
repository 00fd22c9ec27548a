#pragma once
// The hardware and system that Offstage runs on, as plain values: for the command line's
// `info`, for reports, and for the window.

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/device/memory_size.h"
#include "engine/message.h"
#include "kernels/cuda_devices.h"

namespace offstage::kernels {
enum class InstructionSet : std::uint8_t;
}

namespace offstage::engine {

struct Hardware {
    std::string cpu_model;        // "AMD EPYC 9755 128-Core Processor"
    int n_cores = 0;              // logical cores that this process may run on
    std::string instruction_set;  // the kernels in use: "scalar", "avx2", "avx512", "avx512_bf16"
    MemorySize ram;
    kernels::CudaDevices cuda;

    // The reason why there is none, if there is none: a part of a sentence.
    Message no_gpu_because() const;
};

// Takes as long as the NVIDIA driver's first start (a second or so where there is one,
// microseconds elsewhere): not for the GUI thread. Throws only std::bad_alloc: unknown
// values stay empty or 0. Any thread.
Hardware detect_hardware();

// Where the best kernels of this program (used) are not the best that the processor runs,
// because it was compiled for another one: a note that says so. Else empty. Any thread.
Message instruction_set_note(kernels::InstructionSet used, kernels::InstructionSet best);
Message instruction_set_note();  // of this process

// Hardware::cpu_model, read once: keys of what is stored are made of it. Any thread.
const std::string& cpu_model();

// The same without looking for GPUs (`cuda` stays empty): in no time.
Hardware detect_host();

// Cores that this process may keep busy: those it may run on, or fewer where its control
// groups grant less time (cpu_quota(), rounded up). At least 1.
int cores_to_use(const std::filesystem::path& root = "/");
// Threads of a compute pool: `asked`, or if that is 0 the value of OFFSTAGE_THREADS, or
// else cores_to_use(). Throws Error as check_environment() does.
int compute_threads(int asked);
// Throws Error (kInvalidInput) where OFFSTAGE_ISA names no instruction set that this
// processor has, or OFFSTAGE_THREADS no number of threads.
void check_environment();

}  // namespace offstage::engine
