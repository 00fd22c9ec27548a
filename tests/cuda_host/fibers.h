#pragma once
// The threads of one block as fibers of one thread of the system: each runs until it has
// to wait for others.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "tests/cuda_host/cuda_runtime.h"

namespace cuda_host {

struct KernelStart {
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    std::function<void()> thread;
};

class BlockRunner {
  public:
    BlockRunner();
    ~BlockRunner();

    // Runs `thread` once per thread of every block of the grid, blocks and threads in an
    // order drawn from the seed. `report` gets writes beside the shared memory. False: a
    // thread used an invalid address, and the rest did not run (on x86-64 and without
    // sanitizers, which end the program then).
    bool run(const KernelStart& kernel, std::uint32_t seed, const std::function<void(const std::string&)>& report);
    // Runs one block of the kernel as far as wait_for_previous(); run() goes on with it.
    // `report` gets threads that do not wait.
    void begin(std::shared_ptr<const KernelStart> kernel, std::uint32_t seed,
               const std::function<void(const std::string&)>& report);
    bool has_begun() const;
    // A block that has begun never ends.
    void abandon();

    struct State;

  private:
    struct Faults;
    std::unique_ptr<State> state_;
    std::unique_ptr<Faults> faults_;
};

}  // namespace cuda_host
