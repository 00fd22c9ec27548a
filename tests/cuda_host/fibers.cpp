#include "tests/cuda_host/fibers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <utility>
#include <vector>

// Defined by builds in which only this file is not checked.
#if defined(__SANITIZE_ADDRESS__) && !defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
#define OFFSTAGE_FIBERS_AMONG_CHECKED
#endif
#if defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace cuda_host {

constinit thread_local const ThisThread* this_thread = nullptr;

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr std::size_t kMostThreads = 1024;  // of a block
constexpr std::size_t kStacksBytes = kMostThreads * kStackBytes;
// Stacks begin at different distances from a page's end. Otherwise the used parts of all
// lanes' stacks share a few sets of the cache, and every switch misses it.
constexpr std::size_t kStackColours = 61;
constexpr std::size_t kColourBytes = 17 * 64;
constexpr int kLanes = 32;
constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xa5;
constexpr unsigned char kUninitialised = 0xff;  // a NaN as float

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "CUDA on the host: %s\n", why.c_str());
    std::abort();
}

// ---- switching: swapcontext() makes two system calls per switch, which is too slow for
// thousands of lanes.
#if defined(__x86_64__)
struct Place {
    void* stack_pointer = nullptr;
    void prefetch() const {
        __builtin_prefetch(stack_pointer);
        __builtin_prefetch(static_cast<std::byte*>(stack_pointer) + 64);
    }
};
extern "C" void cuda_host_switch(void** from, void* to);
__asm__(
    ".text\n.globl cuda_host_switch\n.type cuda_host_switch,@function\ncuda_host_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size cuda_host_switch,.-cuda_host_switch\n");
void prepare(Place& place, std::byte* stack, std::size_t stack_bytes, void (*entry)()) {
    auto* top = reinterpret_cast<void**>(stack + stack_bytes);
    *--top = nullptr;  // the entry's return address: it never returns; also aligns the stack as a call would
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    place.stack_pointer = top;
}
void switch_places(Place& from, Place& to) {
    cuda_host_switch(&from.stack_pointer, to.stack_pointer);
}
#else
struct Place {
    ucontext_t context;
    void prefetch() const {}
};
void prepare(Place& place, std::byte* stack, std::size_t stack_bytes, void (*entry)()) {
    getcontext(&place.context);
    place.context.uc_stack.ss_sp = stack;
    place.context.uc_stack.ss_size = stack_bytes;
    place.context.uc_link = nullptr;
    makecontext(&place.context, entry, 0);
}
void switch_places(Place& from, Place& to) {
    swapcontext(&from.context, &to.context);
}
#endif

// A fast random generator: one number is drawn for each switch.
struct Random {
    using result_type = std::uint32_t;
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return 0xffffffffu; }
    result_type operator()() {
        state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
        return static_cast<result_type>(state >> 32);
    }
    // Below n, which is small.
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(std::uint64_t{(*this)()} * n >> 32); }

    std::uint64_t state = 0;
};

using Lane = std::uint8_t;

// Orders of a warp's lanes: after each exchange they go on in one of these.
constexpr std::uint32_t kOrders = 512;
using Orders = std::array<std::array<Lane, kLanes>, kOrders>;
const Orders& orders() {
    static const Orders all = [] {
        Orders made;
        Random random;
        for (std::array<Lane, kLanes>& order : made) {
            std::iota(order.begin(), order.end(), Lane{0});
            std::shuffle(order.begin(), order.end(), random);
        }
        return made;
    }();
    return all;
}

struct Warp {
    std::uint32_t n_runnable = 0;
    std::uint32_t n_arrived = 0;
    std::array<Lane, kLanes> runnable = {};  // the last one goes on next
    const char* function = nullptr;
    unsigned generation = 0;
    // Two sets: a lane may begin the next exchange while others still read the words of
    // the last one.
    std::uint32_t words[2][kLanes * kMostWords] = {};
};

struct Fiber {
    Place place;
    std::byte* stack = nullptr;
    ThisThread self;
    int index = 0;
    std::uint32_t warp = 0, lane = 0;
    void* tsan_fiber = nullptr;
};

}  // namespace

struct BlockRunner::State {
    Place scheduler;
    // To AddressSanitizer the stacks of all fibers are one: it is told of switches
    // between them and the scheduler alone. Between fibers it would take longer than the
    // switch.
    std::byte* stacks = nullptr;
    void* fibers_fake_stack = nullptr;
    void* scheduler_fake_stack = nullptr;
    void* scheduler_tsan = nullptr;
    const void* scheduler_stack = nullptr;
    std::size_t scheduler_stack_bytes = 0;
    std::vector<Fiber> fibers;
    Fiber* current = nullptr;
    bool from_scheduler = false;  // came there, not from another fiber
    bool quit = false;
    bool faulted = false;
    bool meets_once = false;

    const std::function<void()>* thread = nullptr;
    std::vector<Warp> warps;
    std::uint32_t running_warp = 0;
    std::uint32_t n_in_warp = 0;    // switches until another warp has its turn
    std::uint32_t ready_warps = 0;  // a bit for each that has runnable lanes
    std::vector<int> at_barrier;
    std::vector<int> at_wait;                  // in wait_for_previous()
    std::shared_ptr<const KernelStart> begun;  // a block of it has begun, and its threads wait there
    std::vector<std::uint64_t> order;          // of the grid's blocks
    int alive = 0;
    std::vector<std::byte> shared;
    std::byte* shared_data = nullptr;
    Random random;

    void add_fiber();
    void forget_fibers();
    void set_runnable(int thread_index);
    Fiber* draw();
    void resume(Fiber& fiber);
    // Switches to a fiber that can run; without one, or finally, to the scheduler.
    void leave(bool for_ever);
    void arrived();
    void release_barrier() {
        if (at_barrier.empty() || static_cast<int>(at_barrier.size()) < alive) return;
        for (const int index : at_barrier) set_runnable(index);
        at_barrier.clear();
    }
    void set_up(const KernelStart& kernel, std::uint32_t seed);
    void begin_block(const KernelStart& kernel, std::uint64_t index);
    void go_on();
    bool end_block(std::size_t shared_bytes, const std::function<void(const std::string&)>& report);
    [[noreturn]] void report_deadlock() const;
};

namespace {

thread_local BlockRunner::State* active = nullptr;

}  // namespace

static void fiber_main() {
    BlockRunner::State* state = active;
    state->arrived();
    while (!state->quit) {
        (*state->thread)();
        --state->alive;
        state->release_barrier();
        state->leave(false);
    }
    state->leave(true);
}

void BlockRunner::State::add_fiber() {
    if (stacks == nullptr) {  // addresses for all; a page of memory where one is used
        void* all =
            mmap(nullptr, kStacksBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) give_up("no memory for stacks");
        stacks = static_cast<std::byte*>(all);
        fibers.reserve(kMostThreads);
    }
    Fiber& fiber = fibers.emplace_back();
    fiber.index = static_cast<int>(fibers.size()) - 1;
    fiber.warp = static_cast<std::uint32_t>(fiber.index / kLanes);
    fiber.lane = static_cast<std::uint32_t>(fiber.index % kLanes);
    fiber.stack = stacks + static_cast<std::size_t>(fiber.index) * kStackBytes;
    const std::size_t colour = static_cast<std::size_t>(fiber.index) % kStackColours;
    prepare(fiber.place, fiber.stack, kStackBytes - colour * kColourBytes, fiber_main);
#if defined(__SANITIZE_THREAD__)
    fiber.tsan_fiber = __tsan_create_fiber(0);
#endif
}

// Abandons unfinished fibers: nothing on their stacks is destroyed.
void BlockRunner::State::forget_fibers() {
#if defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
    // Functions that never returned: their marks would remain for the next fibers and for
    // later mappings at these addresses.
    ASAN_UNPOISON_MEMORY_REGION(stacks, fibers.size() * kStackBytes);
#endif
    fibers.clear();
    ready_warps = 0;
    at_barrier.clear();
    at_wait.clear();
    begun.reset();
}

void BlockRunner::State::set_runnable(int thread_index) {
    const Fiber& fiber = fibers[static_cast<std::size_t>(thread_index)];
    Warp& warp = warps[fiber.warp];
    // In any place of the order.
    Lane& place = warp.runnable[random.below(warp.n_runnable + 1)];
    warp.runnable[warp.n_runnable++] = place;
    place = static_cast<Lane>(fiber.lane);
    ready_warps |= 1u << fiber.warp;
}

// The next of the fibers that can run. A warp goes on for a while, up to the barrier or
// to a random lane: the stacks of 32 lanes fit into the fastest cache, those of a block
// do not.
Fiber* BlockRunner::State::draw() {
    if (ready_warps == 0) return nullptr;
    if ((ready_warps >> running_warp & 1u) == 0 || n_in_warp-- == 0) {
        std::uint32_t others = ready_warps;
        for (auto skip = random.below(static_cast<std::uint32_t>(std::popcount(others))); skip > 0; --skip) {
            others &= others - 1;
        }
        running_warp = static_cast<std::uint32_t>(std::countr_zero(others));
        n_in_warp = random.below(2 * kLanes);
    }
    Warp& warp = warps[running_warp];
    Fiber* const of_warp = &fibers[running_warp * kLanes];
    Fiber* const next = of_warp + warp.runnable[--warp.n_runnable];
    if (warp.n_runnable == 0) {
        ready_warps &= ~(1u << running_warp);
    } else {
        of_warp[warp.runnable[warp.n_runnable - 1]].place.prefetch();
    }
    return next;
}

void BlockRunner::State::resume(Fiber& fiber) {
    current = &fiber;
    this_thread = &fiber.self;
    from_scheduler = true;
#if defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
    __sanitizer_start_switch_fiber(&scheduler_fake_stack, stacks, kStacksBytes);
#endif
#if defined(__SANITIZE_THREAD__)
    scheduler_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.tsan_fiber, 0);
#endif
    switch_places(scheduler, fiber.place);
#if defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
    __sanitizer_finish_switch_fiber(scheduler_fake_stack, nullptr, nullptr);
#endif
    current = nullptr;
    this_thread = nullptr;
}

void BlockRunner::State::leave(bool for_ever) {
    Fiber* const self = current;
    Fiber* const next = for_ever ? nullptr : draw();
    if (next == self) return;
    current = next;
    this_thread = next == nullptr ? nullptr : &next->self;
    from_scheduler = false;
#if defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
    if (next == nullptr) {
        __sanitizer_start_switch_fiber(for_ever ? nullptr : &fibers_fake_stack, scheduler_stack, scheduler_stack_bytes);
        if (for_ever) fibers_fake_stack = nullptr;
    }
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(next == nullptr ? scheduler_tsan : next->tsan_fiber, 0);
#endif
    switch_places(self->place, next == nullptr ? scheduler : next->place);
    arrived();
}

// The first action of a fiber that continues.
void BlockRunner::State::arrived() {
#if defined(OFFSTAGE_FIBERS_AMONG_CHECKED)
    if (from_scheduler) {
        __sanitizer_finish_switch_fiber(fibers_fake_stack, &scheduler_stack, &scheduler_stack_bytes);
    }
#endif
}

void BlockRunner::State::report_deadlock() const {
    std::string why = "threads wait for each other for ever:";
    why += " " + std::to_string(at_barrier.size()) + " of " + std::to_string(alive) + " at __syncthreads";
    for (std::size_t w = 0; w < warps.size(); ++w) {
        if (warps[w].n_arrived == 0) continue;
        why += "; warp " + std::to_string(w) + ": " + std::to_string(warps[w].n_arrived) + " lanes at " +
               warps[w].function;
    }
    give_up(why);
}

// Until no thread can go on.
void BlockRunner::State::go_on() {
    if (Fiber* const first = draw()) resume(*first);
}

void BlockRunner::State::set_up(const KernelStart& kernel, std::uint32_t seed) {
    active = this;
    random.state = seed;
    meets_once = random.below(4) > 0;
    const dim3& block = kernel.block;
    while (fibers.size() < block.x * block.y * block.z) add_fiber();
    shared.resize(kernel.shared_bytes + 2 * kGuardBytes + 16);
    auto address = reinterpret_cast<std::uintptr_t>(shared.data() + kGuardBytes);
    shared_data = reinterpret_cast<std::byte*>((address + 15) / 16 * 16);
    order.resize(std::uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::shuffle(order.begin(), order.end(), random);
}

void BlockRunner::State::begin_block(const KernelStart& kernel, std::uint64_t index) {
    const dim3& grid = kernel.grid;
    const dim3 place(static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index / grid.x % grid.y),
                     static_cast<unsigned>(index / grid.x / grid.y));
    const int n_threads = static_cast<int>(kernel.block.x * kernel.block.y * kernel.block.z);
    for (int i = 0; i < n_threads; ++i) {
        fibers[static_cast<std::size_t>(i)].self = {dim3(static_cast<unsigned>(i), 0, 0), place, kernel.block, grid};
    }
    std::memset(shared.data(), kGuard, shared.size());
    std::memset(shared_data, kUninitialised, kernel.shared_bytes);
    thread = &kernel.thread;
    alive = n_threads;
    warps.resize(static_cast<std::size_t>((n_threads + kLanes - 1) / kLanes));
    for (Warp& warp : warps) {
        warp.n_runnable = warp.n_arrived = 0;
        warp.generation = 0;
    }
    for (int i = 0; i < n_threads; ++i) set_runnable(i);
    go_on();
}

// False: a thread used an invalid address.
bool BlockRunner::State::end_block(std::size_t shared_bytes, const std::function<void(const std::string&)>& report) {
    if (faulted) {
        faulted = false;
        forget_fibers();
        return false;
    }
    if (alive > 0) report_deadlock();
    const auto is_guard = [](std::byte value) { return value == std::byte{kGuard}; };
    if (!std::all_of(shared.data(), shared_data, is_guard) ||
        !std::all_of(shared_data + shared_bytes, shared.data() + shared.size(), is_guard)) {
        report("a kernel wrote beside its shared memory");
    }
    return true;
}

// ---- missing addresses: on a GPU they end the kernel and the context, but not the
// program.
#if defined(__x86_64__) && !defined(OFFSTAGE_FIBERS_AMONG_CHECKED) && !defined(__SANITIZE_THREAD__)
namespace {

struct sigaction others_action;

// Called on the stack of the faulting fiber, which is never resumed.
[[noreturn]] void leave_faulted() {
    active->faulted = true;
    switch_places(active->current->place, active->scheduler);
    std::abort();
}

void handle_fault(int signal, siginfo_t*, void* context) {
    if (active == nullptr || active->current == nullptr) {  // not a kernel's: behave as without this handler
        sigaction(signal, &others_action, nullptr);
        return;
    }
    greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto top = reinterpret_cast<greg_t>(active->current->stack + kStackBytes);
    registers[REG_RSP] = top / 16 * 16 - 8;  // as after a call
    registers[REG_RIP] = reinterpret_cast<greg_t>(&leave_faulted);
}

// This thread's; the handler is the process's.
class FaultStack {
  public:
    FaultStack() {
        stack_t stack{};
        stack.ss_sp = memory_.data();
        stack.ss_size = memory_.size();
        sigaltstack(&stack, &before_);
        struct sigaction current {};
        sigaction(SIGSEGV, nullptr, &current);
        if (current.sa_sigaction == handle_fault) return;
        struct sigaction ours {};
        ours.sa_sigaction = handle_fault;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(SIGSEGV, &ours, &others_action);
    }
    ~FaultStack() { sigaltstack(&before_, nullptr); }

  private:
    std::vector<std::byte> memory_ = std::vector<std::byte>(std::size_t{64} << 10);
    stack_t before_{};
};

}  // namespace
#else
namespace {
struct FaultStack {};
}  // namespace
#endif

struct BlockRunner::Faults {
    FaultStack stack;
};

BlockRunner::BlockRunner() : state_(std::make_unique<State>()), faults_(std::make_unique<Faults>()) {}

BlockRunner::~BlockRunner() {
    active = state_.get();
    abandon();
    state_->quit = true;
    for (Fiber& fiber : state_->fibers) {
        state_->resume(fiber);  // out of its loop, so that the sanitizers let go of its stack
#if defined(__SANITIZE_THREAD__)
        __tsan_destroy_fiber(fiber.tsan_fiber);
#endif
    }
    state_->forget_fibers();
    if (state_->stacks != nullptr) munmap(state_->stacks, kStacksBytes);
    active = nullptr;
}

void BlockRunner::begin(std::shared_ptr<const KernelStart> kernel, std::uint32_t seed,
                        const std::function<void(const std::string&)>& report) {
    State& state = *state_;
    state.begun = std::move(kernel);
    state.set_up(*state.begun, seed);
    state.begin_block(*state.begun, state.order.front());
    if (!state.faulted && static_cast<int>(state.at_wait.size()) < state.alive) state.report_deadlock();
    if (state.at_wait.size() < state.begun->block.x * state.begun->block.y * state.begun->block.z) {
        report("a kernel that began early did not wait for the one before it");
    }
    active = nullptr;
}

bool BlockRunner::has_begun() const {
    return state_->begun != nullptr;
}

void BlockRunner::abandon() {
    if (state_->begun != nullptr) state_->forget_fibers();
}

bool BlockRunner::run(const KernelStart& kernel, std::uint32_t seed,
                      const std::function<void(const std::string&)>& report) {
    State& state = *state_;
    const std::shared_ptr<const KernelStart> begun = std::move(state.begun);
    bool goes_on = begun != nullptr;
    if (!goes_on) state.set_up(kernel, seed);
    active = &state;
    bool well = true;
    for (const std::uint64_t index : state.order) {
        if (std::exchange(goes_on, false)) {
            for (const int thread_index : state.at_wait) state.set_runnable(thread_index);
            state.at_wait.clear();
            state.go_on();
        } else {
            state.begin_block(kernel, index);
        }
        well = state.end_block(kernel.shared_bytes, report);
        if (!well) break;
    }
    active = nullptr;
    return well;
}

void wait_for_previous() {
    BlockRunner::State& state = *active;
    if (state.begun == nullptr) return;
    state.at_wait.push_back(state.current->index);
    state.leave(false);
}

void nap() {
    BlockRunner::State& state = *active;
    state.set_runnable(state.current->index);
    state.leave(false);
    std::this_thread::yield();
}

std::uint64_t now_ns() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

void* shared_memory() {
    return active->shared_data;
}

namespace {

// Where lanes leave their words: `finish(words)` is called once all are there. Returns
// the words.
template <typename Leave, typename Finish>
const std::uint32_t* meet(unsigned mask, const char* function, const Leave& leave, const Finish& finish) {
    BlockRunner::State& state = *active;
    const Fiber& self = *state.current;
    Warp& warp = state.warps[self.warp];
    if (mask != 0xffffffffu) give_up("masks of less than a warp are not served");
    if (warp.n_arrived > 0 && warp.function != function && std::strcmp(warp.function, function) != 0) {
        give_up(std::string("lanes of one warp meet at ") + function + " and " + warp.function);
    }
    warp.function = function;
    std::uint32_t* const words = warp.words[warp.generation % 2];
    leave(words, self.lane);
    if (++warp.n_arrived == kLanes) {
        warp.runnable = orders()[state.random.below(kOrders)];
        warp.n_runnable = kLanes;
        warp.n_arrived = 0;
        ++warp.generation;
        state.ready_warps |= 1u << self.warp;
        finish(words);
    }
    state.leave(false);
    return words;
}

// As by exchanges with the lane 16 further on, 8 further on, and so on.
template <typename Combine>
float combined(unsigned mask, const char* function, float value, const Combine& combine) {
    const std::uint32_t* const words = meet(
        mask, function,
        [&](std::uint32_t* all, std::uint32_t lane) { all[lane] = std::bit_cast<std::uint32_t>(value); },
        [&](std::uint32_t* all) {
            for (int n = kLanes / 2; n > 0; n /= 2) {
                for (int i = 0; i < n; ++i) {
                    all[i] = std::bit_cast<std::uint32_t>(
                        combine(std::bit_cast<float>(all[i]), std::bit_cast<float>(all[i + n])));
                }
            }
        });
    return std::bit_cast<float>(words[0]);
}

}  // namespace

const std::uint32_t* meet_warp(unsigned mask, const char* function, const std::uint32_t* mine, int n_words) {
    return meet(
        mask, function,
        [&](std::uint32_t* all, std::uint32_t lane) {
            std::uint32_t* const its = all + lane * static_cast<std::uint32_t>(n_words);
            for (int i = 0; i < n_words; ++i) its[i] = mine[i];
        },
        [](std::uint32_t*) {});
}

const std::uint32_t* meet_warp(unsigned mask, const char* function, std::uint32_t word) {
    return meet(
        mask, function, [&](std::uint32_t* all, std::uint32_t lane) { all[lane] = word; }, [](std::uint32_t*) {});
}

bool meets_once() {
    return active->meets_once;
}

float sum_of_warp(unsigned mask, float value) {
    return combined(mask, "warp_sum", value, [](float a, float b) { return a + b; });
}

float largest_of_warp(unsigned mask, float value) {
    return combined(mask, "warp_max", value, [](float a, float b) { return std::fmax(a, b); });
}

void meet_block() {
    BlockRunner::State& state = *active;
    state.at_barrier.push_back(state.current->index);
    state.release_barrier();
    state.leave(false);
}

}  // namespace cuda_host
