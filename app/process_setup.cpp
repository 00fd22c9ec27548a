#include "app/process_setup.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <execinfo.h>
#include <fcntl.h>
#include <initializer_list>
#include <new>
#include <unistd.h>

namespace offstage {
namespace {

// False: there is no /dev/null; errno has the reason.
bool open_closed_streams() {
    // In ascending order: open() takes the smallest number that is free.
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", O_RDWR) != descriptor) return false;
    }
    return true;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Runs before any library's constructor: gRPC's opens an event descriptor, which would
// become standard input.
void open_streams_early(int, char**, char**) {
    static_cast<void>(open_closed_streams());
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const kOpenStreamsEarly)(int, char**,
                                                                              char**) = &open_streams_early;
#endif

constexpr std::size_t kKeptBytes = std::size_t{4} << 20;
std::atomic<void*> kept_memory;

// If as much is free besides, a large request alone failed: it is kept from now on where
// nothing is.
[[noreturn]] void give_kept_memory() {
    void* unneeded = std::malloc(kKeptBytes);
    if (unneeded == nullptr) {
        unneeded = kept_memory.exchange(nullptr);
    } else if (void* none = nullptr; kept_memory.compare_exchange_strong(none, unneeded)) {
        unneeded = nullptr;
    }
    std::free(unneeded);
    throw std::bad_alloc();
}

}  // namespace

bool set_up_process() {
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    void* frame = nullptr;
    backtrace(&frame, 1);
    kept_memory = std::malloc(kKeptBytes);
    std::set_new_handler(give_kept_memory);
    return open_closed_streams();
}

}  // namespace offstage
