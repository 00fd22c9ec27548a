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

class BlockRunner {
  public:
    BlockRunner();
    ~BlockRunner();

    // Runs `thread` once per thread of every block of the grid, blocks and threads in an
    // order drawn from the seed. `report` gets writes beside the shared memory. False: a
    // thread used an invalid address, and the rest did not run (on x86-64 and without
    // sanitizers, which end the program then).
    bool run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread, std::uint32_t seed,
             const std::function<void(const std::string&)>& report);

    struct State;

  private:
    struct Faults;
    std::unique_ptr<State> state_;
    std::unique_ptr<Faults> faults_;
};

}  // namespace cuda_host
