#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace offstage::kernels {

// The compute pool: runs one CPU operation in pieces on a fixed number of threads, the
// caller among them. Workers are pinned (if the system allows it) to cores other than the
// caller's. They wait for the next operation by spinning for a moment and then sleep, so
// that an idle program uses no CPU and a busy one pays about a microsecond per operation.
//
// One operation at a time: any one thread may call run(), but never from inside a piece.
// Pieces must not throw.
class ThreadPool {
  public:
    // n_threads <= 0: as many as the environment variable OFFSTAGE_THREADS gives (1 to
    // 1024), otherwise one per core that this process may run on.
    explicit ThreadPool(int n_threads = 0);
    // The number of threads for n_threads, if the system allows as many.
    static int threads_for(int n_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int n_threads() const;

    // Calls piece(thread) for each thread in [0, n_threads) and returns when all have
    // returned.
    template <typename Piece>
    void run(const Piece& piece) {
        run_erased([](const void* context, int thread) { (*static_cast<const Piece*>(context))(thread); }, &piece);
    }

    // Splits [0, n) into one contiguous range per thread, multiples of `grain` long, and
    // calls body(begin, end, thread).
    template <typename Body>
    void parallel_for(std::int64_t n, std::int64_t grain, const Body& body) {
        const std::int64_t n_grains = (n + grain - 1) / grain;
        const std::int64_t threads = n_threads();
        if (n_grains <= 1 || threads == 1) {
            if (n > 0) body(std::int64_t{0}, n, 0);
            return;
        }
        run([&](int thread) {
            const std::int64_t begin = n_grains * thread / threads * grain;
            const std::int64_t end_grain = n_grains * (thread + 1) / threads * grain;
            const std::int64_t end = end_grain < n ? end_grain : n;
            if (begin < end) body(begin, end, thread);
        });
    }

    // For pieces of unequal cost: each thread takes the pieces of its own stretch, in
    // order, so that memory is read in order; a finished thread takes pieces of the
    // others.
    template <typename Body>
    void parallel_dynamic(std::int64_t n, const Body& body) {
        const std::int64_t threads = n_threads();
        const auto begin_of = [&](std::int64_t stretch) { return n * stretch / threads; };
        for (std::int64_t t = 0; t < threads; ++t) next_piece(t) = begin_of(t);
        run([&](int thread) {
            for (std::int64_t k = 0; k < threads; ++k) {
                const std::int64_t stretch = (thread + k) % threads;
                const std::int64_t end = begin_of(stretch + 1);
                for (std::int64_t i = next_piece(stretch)++; i < end; i = next_piece(stretch)++) body(i, thread);
            }
        });
    }

  private:
    using ErasedPiece = void (*)(const void* context, int thread);
    void run_erased(ErasedPiece piece, const void* context);
    std::atomic<std::int64_t>& next_piece(std::int64_t stretch);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::kernels
