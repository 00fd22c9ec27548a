#include "engine/files/lost_pages.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace offstage::engine {
namespace {

struct sigaction handler_before {};
std::uintptr_t bytes_of_page = 0;
std::mutex slots_mutex;  // for all but the handler
std::atomic<int> n_handling = 0;

}  // namespace

// The handler reads slots without a lock: `begin` is set last and cleared first.
struct LostPages::Slot {
    std::atomic<std::uintptr_t> begin = 0;  // 0: free
    std::atomic<std::uintptr_t> end = 0;
    std::atomic<std::uint64_t> n_lost = 0;
    std::atomic<std::uint64_t> n_mapped = 0;  // n_lost when the file was last mapped whole

    static std::array<Slot, 1024> all;

    // As a handler of signals may: no lock, no memory.
    static bool take(std::uintptr_t at) noexcept {
        for (Slot& slot : all) {
            const std::uintptr_t begin = slot.begin, end = slot.end;
            if (begin == 0 || at < begin || at >= end || slot.begin != begin) continue;
            const std::uintptr_t page = at / bytes_of_page * bytes_of_page;
            const bool is_mapped = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
            slot.n_lost.fetch_add(1);
            return is_mapped;
        }
        return false;
    }
};

std::array<LostPages::Slot, 1024> LostPages::Slot::all;

namespace {

// What nobody watches, or another program has sent, is handled as without this handler.
void as_before(int signal, siginfo_t* info, void* context) {
    if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
        handler_before.sa_sigaction(signal, info, context);
    } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
        handler_before.sa_handler(signal);
    } else if (info->si_code != BUS_MCEERR_AO) {  // that one is an advice
        ::sigaction(signal, &handler_before, nullptr);
        if (info->si_code <= 0) ::raise(signal);  // otherwise the access is made again
    }
}

}  // namespace

LostPages::LostPages(const std::byte* data, std::size_t bytes) {
    const std::lock_guard lock(slots_mutex);
    if (bytes_of_page == 0) {
        bytes_of_page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        ::sigaction(SIGBUS, nullptr, &handler_before);
        struct sigaction action {};
        action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
            const int code = errno;
            n_handling.fetch_add(1);
            const bool is_taken = info->si_code > 0 && Slot::take(reinterpret_cast<std::uintptr_t>(info->si_addr));
            n_handling.fetch_sub(1);
            if (!is_taken) as_before(signal, info, context);
            errno = code;
        };
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        ::sigaction(SIGBUS, &action, nullptr);
    }
    for (Slot& slot : Slot::all) {
        if (slot.begin != 0) continue;
        slot.n_lost = 0;
        slot.n_mapped = 0;
        slot.end = reinterpret_cast<std::uintptr_t>(data) + bytes;
        slot.begin = reinterpret_cast<std::uintptr_t>(data);
        slot_ = &slot;
        return;
    }
}

LostPages::~LostPages() {
    const std::lock_guard lock(slots_mutex);
    if (slot_ != nullptr) slot_->begin = 0;
}

std::uint64_t LostPages::n_lost() const {
    if (slot_ == nullptr) return 0;
    while (n_handling != 0) std::this_thread::yield();  // its zeros may be there before it is counted
    return slot_->n_lost;
}

void LostPages::map_again(int descriptor) {
    if (slot_ == nullptr || n_lost() == slot_->n_mapped) return;
    const std::lock_guard lock(slots_mutex);
    const std::uint64_t n_before = n_lost();
    const std::uintptr_t begin = slot_->begin;
    void* const map =
        ::mmap(reinterpret_cast<void*>(begin), slot_->end - begin, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0);
    if (map != MAP_FAILED) slot_->n_mapped = n_before;
}

}  // namespace offstage::engine
