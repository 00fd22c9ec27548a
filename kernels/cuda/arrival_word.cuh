#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
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
constexpr std::chrono::microseconds kUnasked{0};
#else
constexpr std::chrono::microseconds kAwakeForWord{500}, kAwakeForEvent = kAwakeForWord;
// Where the device waits for the host's answer, the runtime is not asked before this: a
// call of another thread, such as one that page-locks memory, may keep it until the device
// is idle.
constexpr std::chrono::microseconds kUnasked = kAwakeForWord;
#endif

// Words in page-locked host memory by which device and host hand over to each other,
// sooner than the runtime sees an event. Numbers count modulo 2^32: what the device has
// handed to the host; what of it the host has answered (HostAnswer); and whether a kernel
// waited too long for that. One thread, whose current device it is.
class ArrivalWord {
  public:
    ArrivalWord() = default;
    ArrivalWord(const ArrivalWord&) = delete;
    ArrivalWord& operator=(const ArrivalWord&) = delete;
    ~ArrivalWord() {
        if (there_ != nullptr && cudaHostUnregister(words_.get()) != cudaSuccess) (void)cudaGetLastError();
    }
    // Where the system or the device refuses, mapped() stays nullptr.
    void open() {
        // Pages are locked as a whole: this one has nothing else.
        const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* const page = std::aligned_alloc(page_bytes, page_bytes);
        if (page == nullptr) return;
        words_.reset(new (page) Words);
        constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;
        if (cudaHostRegister(page, page_bytes, kFlags) != cudaSuccess) {
            (void)cudaGetLastError();
            return;
        }
        void* place = nullptr;
        if (cudaHostGetDevicePointer(&place, page, 0) == cudaSuccess) {
            there_ = static_cast<std::byte*>(place);
            return;
        }
        (void)cudaGetLastError();
        if (cudaHostUnregister(page) != cudaSuccess) (void)cudaGetLastError();
    }
    // For the device: the word that it counts in.
    unsigned* mapped() const { return mapped(offsetof(Words, arrived)); }
    // For kernels behind the stores whose number `count` has, in the device's memory.
    HostAnswer answer_of(const unsigned* count, std::uint64_t limit_ns) const {
        if (there_ == nullptr) return {};
        return {count, mapped(offsetof(Words, answered)), mapped(offsetof(Words, unanswered)), limit_ns};
    }

    // The number of what is handed over next.
    std::uint32_t announce() { return ++announced_; }
    std::uint32_t announced() const { return announced_; }
    // Waits for it, awake since `begin`. query(): the state of the work that hands it
    // over. sleeps: goes on so, with pauses; otherwise false where that takes long. False
    // where the work has ended, or failed, without it.
    template <typename Query>
    bool wait_for(std::uint32_t number, Clock::time_point begin, bool sleeps, const Query& query) const {
        for (int n = 1; !has(number); ++n) {
            rest();
            if (n % kLooks != 0 || (sleeps && Clock::now() - begin < kUnasked)) continue;
            // After a fault in a kernel no word comes.
            const cudaError_t status = query();
            if (status != cudaSuccess) (void)cudaGetLastError();
            if (status != cudaErrorNotReady) return has(number);
            if (Clock::now() - begin < kAwakeForWord) continue;
            if (!sleeps) return has(number);
            std::this_thread::sleep_for(kPause);
        }
        return true;
    }

    // What kernels behind the stores with this number, or an earlier one, read is there.
    void answer(std::uint32_t number) {
        if (words_ != nullptr) words_->answered.store(number, std::memory_order_release);
    }
    // No kernel waits any longer for an answer to what was announced until now.
    void give_up() { answer(announced_); }
    bool any_unanswered() const { return words_ != nullptr && words_->unanswered.load(std::memory_order_acquire) != 0; }
    // The device counts from 0 again, and nothing is on its way.
    void restart() {
        announced_ = 0;
        if (words_ == nullptr) return;
        for (Word* const word : {&words_->arrived, &words_->answered, &words_->unanswered}) {
            word->store(0, std::memory_order_relaxed);
        }
    }

  private:
    static constexpr int kLooks = 64;  // before the runtime is asked
    static constexpr std::chrono::microseconds kPause{50};
    static void rest() {
#ifdef OFFSTAGE_CUDA_ON_HOST
        std::this_thread::yield();
#elif (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
        __builtin_ia32_pause();
#endif
    }
    bool has(std::uint32_t number) const {
        return static_cast<std::int32_t>(words_->arrived.load(std::memory_order_acquire) - number) >= 0;
    }
    unsigned* mapped(std::size_t offset) const {
        return there_ == nullptr ? nullptr : reinterpret_cast<unsigned*>(there_ + offset);
    }

    using Word = std::atomic<std::uint32_t>;
    static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(unsigned), "the device writes it");
    struct Words {  // each in a line of its own
        alignas(64) Word arrived{0};
        alignas(64) Word answered{0};
        alignas(64) Word unanswered{0};
    };
    struct Free {
        void operator()(Words* page) const { std::free(page); }
    };
    std::unique_ptr<Words, Free> words_;
    std::byte* there_ = nullptr;
    std::uint32_t announced_ = 0;
};

}  // namespace offstage::kernels::cuda
