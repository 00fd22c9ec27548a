#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cuda_runtime.h>
#include <memory>
#include <new>
#include <thread>
#include <unistd.h>

#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {

// Whole words of the device's memory for the host's, which kernels find at `to`.
struct HostStore {
    const std::uint32_t* from = nullptr;
    std::uint32_t* to = nullptr;
    std::int64_t n = 0;
};
constexpr std::size_t kMostStores = 4;
// kernels/ops/elementwise.cu: some of them by one kernel, which then writes the next
// number of `count`, in the device's memory, to `arrived`, in host memory (nullptr: it
// does not).
void store_for_host(Worker& worker, const HostStore* stores, std::size_t n, unsigned* count, unsigned* arrived);

using Clock = std::chrono::steady_clock;
// How long the host's thread waits awake, both together; then it sleeps: see EventRing.
#ifdef OFFSTAGE_CUDA_ON_HOST
constexpr std::chrono::seconds kAwakeForWord{60}, kAwakeForEvent{0};  // streams need the processor
#else
constexpr std::chrono::microseconds kAwakeForWord{500}, kAwakeForEvent = kAwakeForWord;
#endif

// A word in page-locked host memory that counts, modulo 2^32, what the device has handed
// to the host: the host sees it sooner than the runtime sees an event. One thread, whose
// current device it is.
class ArrivalWord {
  public:
    ArrivalWord() = default;
    ArrivalWord(const ArrivalWord&) = delete;
    ArrivalWord& operator=(const ArrivalWord&) = delete;
    ~ArrivalWord() {
        if (there_ != nullptr && cudaHostUnregister(word_.get()) != cudaSuccess) (void)cudaGetLastError();
    }
    // Where the system or the device refuses, mapped() stays nullptr.
    void open() {
        // Pages are locked as a whole: this one has nothing else.
        const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* const page = std::aligned_alloc(page_bytes, page_bytes);
        if (page == nullptr) return;
        word_.reset(new (page) Word(0));
        constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;
        if (cudaHostRegister(page, page_bytes, kFlags) != cudaSuccess) {
            (void)cudaGetLastError();
            return;
        }
        void* place = nullptr;
        if (cudaHostGetDevicePointer(&place, page, 0) == cudaSuccess) {
            there_ = static_cast<unsigned*>(place);
            return;
        }
        (void)cudaGetLastError();
        if (cudaHostUnregister(page) != cudaSuccess) (void)cudaGetLastError();
    }
    // For the device.
    unsigned* mapped() const { return there_; }

    // The number of what is handed over next.
    std::uint32_t announce() { return ++announced_; }
    // Waits for it, awake since `begin`. `event` follows it in its stream: false where
    // that is not to be waited for in this way.
    bool wait_for(std::uint32_t number, cudaEvent_t event, Clock::time_point begin) const {
        for (int n = 1; !has(number); ++n) {
            rest();
            if (n % kLooks != 0) continue;
            // After a fault in a kernel no word comes.
            const cudaError_t status = cudaEventQuery(event);
            if (status != cudaSuccess) (void)cudaGetLastError();
            if (status != cudaErrorNotReady || Clock::now() - begin >= kAwakeForWord) return has(number);
        }
        return true;
    }
    // The device counts from 0 again, and nothing is on its way.
    void restart() {
        announced_ = 0;
        if (word_ != nullptr) word_->store(0, std::memory_order_relaxed);
    }

  private:
    static constexpr int kLooks = 64;  // before the runtime is asked
    static void rest() {
#ifdef OFFSTAGE_CUDA_ON_HOST
        std::this_thread::yield();
#elif (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
        __builtin_ia32_pause();
#endif
    }
    bool has(std::uint32_t number) const {
        return static_cast<std::int32_t>(word_->load(std::memory_order_acquire) - number) >= 0;
    }

    using Word = std::atomic<std::uint32_t>;
    static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(unsigned), "the device writes it");
    struct Free {
        void operator()(Word* page) const { std::free(page); }
    };
    std::unique_ptr<Word, Free> word_;
    unsigned* there_ = nullptr;
    std::uint32_t announced_ = 0;
};

}  // namespace offstage::kernels::cuda
