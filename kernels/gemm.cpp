#include "kernels/gemm.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

namespace {

using dnnl::memory;

constexpr std::int64_t kPanelOutputs = 256;
constexpr std::size_t kMaxPrimitives = 256;

struct ShapeKey {
    GemmMode mode;
    bool weight_is_transposed;
    std::int64_t n_tokens, n_out, n_in, x_stride, weight_stride, y_stride;
    auto operator<=>(const ShapeKey&) const = default;
};

// oneDNN is commonly built on OpenMP and would start a team of its own on every thread of the pool. The setting belongs
// to the calling thread. Looked up by name, because a oneDNN built on another runtime brings no OpenMP along.
void forbid_openmp_teams() {
    using SetNumThreads = void (*)(int);
    static const auto set_num_threads = reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set_num_threads != nullptr) set_num_threads(1);
}

dnnl::matmul make_primitive(const dnnl::engine& engine, const ShapeKey& key) {
    const auto type = key.mode == GemmMode::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
    const memory::dims weight_strides =
        key.weight_is_transposed ? memory::dims{1, key.weight_stride} : memory::dims{key.weight_stride, 1};
    const memory::desc x({key.n_tokens, key.n_in}, type, memory::dims{key.x_stride, 1});
    const memory::desc weight({key.n_in, key.n_out}, type, weight_strides);
    const memory::desc y({key.n_tokens, key.n_out}, memory::data_type::f32, memory::dims{key.y_stride, 1});
#if DNNL_VERSION_MAJOR >= 3
    return dnnl::matmul(dnnl::matmul::primitive_desc(engine, x, weight, y));
#else
    return dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(x, weight, y), engine));
#endif
}

}  // namespace

struct Gemm::State {
    explicit State(ThreadPool& compute_pool)
        : pool(compute_pool), engine(dnnl::engine::kind::cpu, 0), panels(compute_pool.n_threads()) {
        for (int i = 0; i < pool.n_threads(); ++i) streams.emplace_back(engine);
    }

    ThreadPool& pool;
    dnnl::engine engine;
    std::vector<dnnl::stream> streams;       // one per thread
    std::vector<std::vector<float>> panels;  // one per thread
    std::vector<Bf16> narrow_x;
    std::mutex primitives_mutex;
    std::map<ShapeKey, dnnl::matmul> primitives;

    dnnl::matmul primitive(const ShapeKey& key) {
        const std::lock_guard lock(primitives_mutex);
        if (const auto found = primitives.find(key); found != primitives.end()) return found->second;
        if (primitives.size() >= kMaxPrimitives) primitives.clear();
        return primitives.emplace(key, make_primitive(engine, key)).first->second;
    }

    void execute(int thread, const ShapeKey& key, const void* x, const void* weight, float* y) {
        const dnnl::matmul matmul = primitive(key);
        const auto type = key.mode == GemmMode::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
        const memory::dims weight_strides =
            key.weight_is_transposed ? memory::dims{1, key.weight_stride} : memory::dims{key.weight_stride, 1};
        const memory x_memory({{key.n_tokens, key.n_in}, type, memory::dims{key.x_stride, 1}}, engine,
                              const_cast<void*>(x));
        const memory weight_memory({{key.n_in, key.n_out}, type, weight_strides}, engine, const_cast<void*>(weight));
        const memory y_memory({{key.n_tokens, key.n_out}, memory::data_type::f32, memory::dims{key.y_stride, 1}},
                              engine, y);
        matmul.execute(streams[static_cast<std::size_t>(thread)],
                       {{DNNL_ARG_SRC, x_memory}, {DNNL_ARG_WEIGHTS, weight_memory}, {DNNL_ARG_DST, y_memory}});
        streams[static_cast<std::size_t>(thread)].wait();
    }
};

Gemm::Gemm(ThreadPool& pool) : state_(std::make_unique<State>(pool)) {}
Gemm::~Gemm() = default;

void Gemm::multiply(GemmMode mode, GemmLayout layout, const float* x, std::int64_t x_stride, std::int64_t n_tokens,
                    const WeightView& weight, float* y, std::int64_t y_stride) {
    const bool rows_are_outputs = layout == GemmLayout::kRowsAreOutputs;
    const std::int64_t n_out = rows_are_outputs ? weight.n_rows : weight.n_cols;
    const std::int64_t n_in = rows_are_outputs ? weight.n_cols : weight.n_rows;
    if (n_tokens <= 0 || n_out <= 0) return;
    State& state = *state_;
    const CpuKernels& kernels = cpu_kernels();

    if (mode == GemmMode::kBf16) {
        state.narrow_x.resize(static_cast<std::size_t>(n_tokens * n_in));
        state.pool.parallel_for(n_tokens, 1, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t t = begin; t < end; ++t) {
                kernels.narrow_bf16(x + t * x_stride, n_in, state.narrow_x.data() + t * n_in);
            }
        });
    }
    const void* input = mode == GemmMode::kBf16 ? static_cast<const void*>(state.narrow_x.data()) : x;
    const std::int64_t input_stride = mode == GemmMode::kBf16 ? n_in : x_stride;
    const WeightType wanted = mode == GemmMode::kBf16 ? WeightType::kBf16 : WeightType::kF32;

    state.pool.parallel_for(n_out, 64, [&](std::int64_t out_begin, std::int64_t out_end, int thread) {
        forbid_openmp_teams();
        std::vector<float>& panel = state.panels[static_cast<std::size_t>(thread)];
        for (std::int64_t o = out_begin; o < out_end; o += kPanelOutputs) {
            const std::int64_t n = std::min(kPanelOutputs, out_end - o);
            const std::size_t weight_bytes = bytes_per_weight(weight.type);
            const auto* source = static_cast<const std::byte*>(weight.data) +
                                 static_cast<std::size_t>(rows_are_outputs ? o * weight.row_stride : o) * weight_bytes;
            ShapeKey key{mode, rows_are_outputs, n_tokens, n, n_in, input_stride, weight.row_stride, y_stride};
            const void* panel_weight = source;
            if (weight.type != wanted) {
                panel.resize(static_cast<std::size_t>(kPanelOutputs * n_in));
                const std::int64_t rows = rows_are_outputs ? n : n_in;
                const std::int64_t cols = rows_are_outputs ? n_in : n;
                std::vector<float> row(static_cast<std::size_t>(cols));
                for (std::int64_t r = 0; r < rows; ++r) {
                    const std::byte* from = source + static_cast<std::size_t>(r * weight.row_stride) * weight_bytes;
                    if (wanted == WeightType::kF32) {
                        kernels.widen(from, weight.type, cols, panel.data() + r * cols);
                    } else {
                        kernels.widen(from, weight.type, cols, row.data());
                        kernels.narrow_bf16(row.data(), cols, reinterpret_cast<Bf16*>(panel.data()) + r * cols);
                    }
                }
                key.weight_stride = cols;
                panel_weight = panel.data();
            }
            state.execute(thread, key, input, panel_weight, y + o);
        }
    });
}

GemmMode Gemm::faster_mode() {
    static const GemmMode faster = [this] {
        constexpr std::int64_t kTokens = 64;
        constexpr std::int64_t kInputs = 1024;
        constexpr std::int64_t kOutputs = 1024;
        const std::vector<float> x(static_cast<std::size_t>(kTokens * kInputs), 1.0f);
        const std::vector<Bf16> weights(static_cast<std::size_t>(kInputs * kOutputs), Bf16{0x3f80});
        std::vector<float> y(static_cast<std::size_t>(kTokens * kOutputs));
        const WeightView view{weights.data(), WeightType::kBf16, kOutputs, kInputs, kInputs};
        const auto best_seconds = [&](GemmMode mode) {
            double best = 1e30;
            for (int repeat = 0; repeat < 4; ++repeat) {
                const auto start = std::chrono::steady_clock::now();
                multiply(mode, GemmLayout::kRowsAreOutputs, x.data(), kInputs, kTokens, view, y.data(), kOutputs);
                best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            }
            return best;
        };
        const double f32 = best_seconds(GemmMode::kF32);
        return best_seconds(GemmMode::kBf16) < f32 ? GemmMode::kBf16 : GemmMode::kF32;
    }();
    return faster;
}

std::string_view Gemm::library_version() {
    static const std::string version = [] {
        const dnnl_version_t* v = dnnl_version();
        return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    }();
    return version;
}

std::string_view name_of(GemmMode mode) {
    return mode == GemmMode::kBf16 ? "bf16" : "f32";
}

}  // namespace offstage::kernels
