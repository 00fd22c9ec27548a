#include "kernels/gemm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "kernels/bf16_products.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu_features.h"
#include "kernels/cpu_kernels.h"
#include "kernels/cpu_product_table.h"

namespace offstage::kernels {

namespace {

using dnnl::memory;

// The size of the part of a weight that is copied into a panel before it is multiplied. A
// float32 panel is 512 KiB and fits a core's second cache together with the inputs. If
// rows are inputs, panels are wide, because only a row's part in a panel is contiguous.
struct PanelShape {
    std::int64_t n_in;
    std::int64_t n_out;
};
constexpr PanelShape kPanelRowsAreOutputs = {1024, 128};
constexpr PanelShape kPanelRowsAreInputs = {256, 512};
constexpr std::int64_t kPanelFloats = 1024 * 128;
constexpr std::int64_t kBf16PanelOutputs = 64;  // the block of the format below

constexpr std::size_t kMaxPrimitives = 1024;

// Memory of one thread for any type, aligned to a cache line. Its contents are lost when
// it grows.
class Scratch {
  public:
    Scratch() = default;
    Scratch(Scratch&& other) noexcept : data_(other.data_), n_bytes_(other.n_bytes_) { other.data_ = nullptr; }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { ::operator delete(data_, kAlignment); }

    template <typename Value>
    Value* get(std::int64_t n) {
        const std::size_t wanted = static_cast<std::size_t>(n) * sizeof(Value);
        if (wanted > n_bytes_) {
            ::operator delete(data_, kAlignment);
            data_ = nullptr;
            n_bytes_ = 0;
            data_ = ::operator new(wanted, kAlignment);
            n_bytes_ = wanted;
        }
        return static_cast<Value*>(data_);
    }

  private:
    static constexpr std::align_val_t kAlignment{64};
    void* data_ = nullptr;
    std::size_t n_bytes_ = 0;
};

// One shape of product, as oneDNN compiles code for it.
struct ProductShape {
    GemmMode mode;
    bool add;  // to what y holds
    std::int64_t n_tokens, n_in, n_out;
    std::int64_t x_stride, panel_width, y_stride;
    auto operator<=>(const ProductShape&) const = default;
};

struct Product {
    bool usable = false;
    memory::desc x, weight, y, scratchpad;
    dnnl::matmul matmul;
};

// oneDNN is commonly built on OpenMP and would start its own team on every thread of the
// pool. The setting belongs to the calling thread. Looked up by name, because a oneDNN
// built on another runtime comes without OpenMP.
void forbid_openmp_teams() {
    using SetNumThreads = void (*)(int);
    static const auto set_num_threads = reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (set_num_threads != nullptr) set_num_threads(1);
}

// oneDNN compiles code with the first product of a shape. If it gets no memory for that
// code, it writes to an invalid address and ends the program. So more memory than it
// needs must be free beforehand.
bool has_room_to_compile() {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    void* const room =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, kBytes);
    return true;
}

Product make_product(const dnnl::engine& engine, const ProductShape& shape) {
    const bool bf16 = shape.mode == GemmMode::kBf16;
    const auto type = bf16 ? memory::data_type::bf16 : memory::data_type::f32;
    Product product;
    product.x = memory::desc({shape.n_tokens, shape.n_in}, type, memory::dims{shape.x_stride, 1});
    // bf16: blocks of 32 inputs and 64 outputs, inputs in pairs; with one block of
    // outputs that is [input / 2][output][input % 2].
    product.weight = bf16 ? memory::desc({shape.n_in, shape.n_out}, type, memory::format_tag::BA16a64b2a)
                          : memory::desc({shape.n_in, shape.n_out}, type, memory::dims{shape.panel_width, 1});
    product.y = memory::desc({shape.n_tokens, shape.n_out}, memory::data_type::f32, memory::dims{shape.y_stride, 1});
    dnnl::primitive_attr attributes;
    // oneDNN's own scratchpad belongs to the thread that created the primitive; here
    // another thread may execute it.
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (shape.add) {
        dnnl::post_ops sum;
        sum.append_sum(1.0f);
        attributes.set_post_ops(sum);
    }
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(engine, product.x, product.weight, product.y, attributes);
#else
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(product.x, product.weight, product.y), attributes,
                                                   engine);
#endif
    // Packed weights are in the format of the brgemm kernels; any other implementation
    // would be the slow reference.
    product.usable = !bf16 || std::strncmp(description.impl_info_str(), "brg", 3) == 0;
    if (!product.usable) return product;
    product.scratchpad = description.scratchpad_desc();
    product.matmul = dnnl::matmul(description);
    return product;
}

// The token groups of oneDNN's float32 kernels. Remaining tokens at the end are summed in
// another order, so a product with such a rest is padded with tokens of zeros: a token's
// result then does not depend on the number of others. (The bf16 kernels have no such
// rest.)
struct TokenGroups {
    std::int64_t together;  // tokens
    bool only_alone;        // a rest is summed in another order only where it is all there is
    std::int64_t most;      // tokens of a product that oneDNN does not divide into parts with rests; 0: any

    // Tokens at the end that must be multiplied together with others.
    std::int64_t n_rest(std::int64_t n_tokens) const {
        if (only_alone) return n_tokens < together ? n_tokens : 0;
        return n_tokens % together;
    }
    // The number of tokens of the next product: pieces of one size, or most of them, and
    // then the others, fewer than 128. So few shapes serve any number.
    std::int64_t n_next(std::int64_t n_left) const {
        if (most > 0) return std::min(most, n_left);
        return n_left < 128 ? n_left : (n_left / 64 - 1) * 64;
    }
};
constexpr TokenGroups kAvx512Groups = {2, true, 0};  // a single token is a product of a matrix with a vector
constexpr TokenGroups kOtherGroups = {6, false, 48};

struct Call {
    GemmLayout layout;
    bool round_weights;  // to bf16, before they are multiplied as float32
    const float* x;
    std::int64_t x_stride;
    const Bf16* narrow_x;  // (n_tokens, n_in), contiguous; bf16 mode only
    std::int64_t n_tokens;
    WeightView weight;
    std::int64_t n_in;
    float* y;
    std::int64_t y_stride;
    // The last n_rest tokens, followed by tokens of zeros, and their products;
    // contiguous. float32 only.
    std::int64_t n_rest;
    const float* rest_x;
    float* rest_y;
    std::int64_t rest_stride;  // of rest_y

    // The part of the weight that connects inputs [i, i + n_inputs) with outputs [o, o +
    // n_outputs).
    PanelSource part(std::int64_t i, std::int64_t n_inputs, std::int64_t o, std::int64_t n_outputs) const {
        if (layout == GemmLayout::kRowsAreOutputs) return {weight, o, n_outputs, i, n_inputs};
        return {weight, i, n_inputs, o, n_outputs};
    }
};

}  // namespace

struct Gemm::State {
    struct Thread {
        explicit Thread(const dnnl::engine& engine) : stream(engine) {}
        dnnl::stream stream;
        Scratch panel;
        Scratch y;
        Scratch library;
    };

    explicit State(ThreadPool& compute_pool)
        : pool(compute_pool),
          kernels(cpu_kernels()),
          pack(pack_kernels(kernels.instruction_set)),
          pair_products(offstage::kernels::pair_products(kernels.instruction_set)),
          widened_products(offstage::kernels::widened_products(kernels.instruction_set)),
          groups(kernels.instruction_set >= InstructionSet::kAvx512 ? kAvx512Groups : kOtherGroups),
          engine(dnnl::engine::kind::cpu, 0) {
        for (int i = 0; i < pool.n_threads(); ++i) threads.emplace_back(engine);
        // A thread's first allocation reserves 64 MiB of addresses for its part of the
        // heap. It is made here, so that it does not fall between has_room_to_compile()
        // and the compilation.
        pool.run([](int) {
            void* volatile first = std::malloc(1);
            std::free(first);
        });
    }

    ThreadPool& pool;
    const CpuKernels& kernels;
    const PackKernels& pack;
    const PairProducts& pair_products;
    const WidenedProducts& widened_products;
    TokenGroups groups;
    dnnl::engine engine;
    std::vector<Thread> threads;
    Scratch narrow_x;
    Scratch laid_out_x;
    Scratch rounded_x;
    Scratch rest_x;
    Scratch rest_y;
    std::mutex products_mutex;
    std::map<ProductShape, Product> products;

    void execute(const Product& product, Thread& thread, const void* x, const void* panel, float* y) {
        const auto scratchpad_bytes = static_cast<std::int64_t>(product.scratchpad.get_size());
        const auto bind = [&](const memory::desc& description, const void* data) {
            return memory(description, engine, const_cast<void*>(data));
        };
        product.matmul.execute(
            thread.stream,
            {{DNNL_ARG_SRC, bind(product.x, x)},
             {DNNL_ARG_WEIGHTS, bind(product.weight, panel)},
             {DNNL_ARG_DST, bind(product.y, y)},
             {DNNL_ARG_SCRATCHPAD,
              bind(product.scratchpad, thread.library.get<std::byte>(std::max<std::int64_t>(scratchpad_bytes, 1)))}});
        thread.stream.wait();
    }

    // False: oneDNN has no good implementation for the shape, or no memory. The caller
    // must then use another one.
    bool run_product(Thread& thread, const ProductShape& shape, const void* x, const void* panel, float* y) {
        try {
            std::unique_lock lock(products_mutex);
            if (const auto found = products.find(shape); found != products.end()) {
                const Product product = found->second;
                lock.unlock();
                if (product.usable) execute(product, thread, x, panel, y);
                return product.usable;
            }
            // The first product of a shape runs under the lock, so that no other thread
            // uses the memory that has_room_to_compile() found.
            if (!has_room_to_compile()) return false;
            const Product product = make_product(engine, shape);
            if (product.usable) execute(product, thread, x, panel, y);
            if (products.size() >= kMaxPrimitives) products.clear();
            products.emplace(shape, product);
            return product.usable;
        } catch (const std::exception&) {  // dnnl::error, std::bad_alloc
            return false;
        }
    }

    // Without oneDNN: the panel's rows, times each token's input, added up.
    void run_plainly(const ProductShape& shape, const float* x, const float* panel, float* y) const {
        for (std::int64_t t = 0; t < shape.n_tokens; ++t) {
            float* y_row = y + t * shape.y_stride;
            if (!shape.add) std::fill_n(y_row, shape.n_out, 0.0f);
            for (std::int64_t i = 0; i < shape.n_in; ++i) {
                kernels.axpy(x[t * shape.x_stride + i], panel + i * shape.panel_width, shape.n_out, y_row);
            }
        }
    }

    void round_panel(float* panel, std::int64_t n) const {
        constexpr std::int64_t kStretch = 512;
        Bf16 rounded[kStretch];
        for (std::int64_t i = 0; i < n; i += kStretch) {
            const std::int64_t n_stretch = std::min(kStretch, n - i);
            kernels.narrow_bf16(panel + i, n_stretch, rounded);
            kernels.widen(rounded, WeightType::kBf16, n_stretch, panel + i);
        }
    }

    // The outer loop runs over inputs: all outputs reuse the inputs' part of x from the
    // cache.
    void multiply_f32(const Call& call, Thread& thread, std::int64_t out_begin, std::int64_t out_end) {
        const bool rows_are_outputs = call.layout == GemmLayout::kRowsAreOutputs;
        const PanelShape shape = rows_are_outputs ? kPanelRowsAreOutputs : kPanelRowsAreInputs;
        auto* panel = thread.panel.get<float>(kPanelFloats);
        for (std::int64_t i = 0; i < call.n_in; i += shape.n_in) {
            const std::int64_t n_in = std::min(shape.n_in, call.n_in - i);
            for (std::int64_t o = out_begin; o < out_end; o += shape.n_out) {
                const std::int64_t n_out = std::min(shape.n_out, out_end - o);
                const std::int64_t width = (n_out + kPanelGrain - 1) / kPanelGrain * kPanelGrain;
                const PanelSource source = call.part(i, n_in, o, n_out);
                if (rows_are_outputs) {
                    pack.transpose_f32(source, width, panel);
                } else {
                    pack.copy_f32(source, width, panel);
                }
                if (call.round_weights) {
                    for (std::int64_t row = 0; row < n_in; ++row) round_panel(panel + row * width, n_out);
                }
                const auto multiply_tokens = [&](std::int64_t n_tokens, const float* x, std::int64_t x_stride, float* y,
                                                 std::int64_t y_stride) {
                    const ProductShape product{GemmMode::kF32, i > 0, n_tokens, n_in, n_out, x_stride, width, y_stride};
                    if (!run_product(thread, product, x + i, panel, y + o)) run_plainly(product, x + i, panel, y + o);
                };
                const std::int64_t n_whole = call.n_tokens - call.n_rest;
                for (std::int64_t t = 0, n = 0; t < n_whole; t += n) {
                    n = groups.n_next(n_whole - t);
                    multiply_tokens(n, call.x + t * call.x_stride, call.x_stride, call.y + t * call.y_stride,
                                    call.y_stride);
                }
                if (call.n_rest > 0)
                    multiply_tokens(groups.together, call.rest_x, call.n_in, call.rest_y, call.rest_stride);
            }
        }
        for (std::int64_t t = 0; t < call.n_rest; ++t) {
            std::copy_n(call.rest_y + t * call.rest_stride + out_begin, out_end - out_begin,
                        call.y + (call.n_tokens - call.n_rest + t) * call.y_stride + out_begin);
        }
    }

    void prepare_rest(Call& call, std::int64_t n_out) {
        call.n_rest = groups.n_rest(call.n_tokens);
        if (call.n_rest == 0) return;
        auto* x = rest_x.get<float>(groups.together * call.n_in);
        std::fill_n(x, groups.together * call.n_in, 0.0f);
        for (std::int64_t t = 0; t < call.n_rest; ++t)
            std::copy_n(call.x + (call.n_tokens - call.n_rest + t) * call.x_stride, call.n_in, x + t * call.n_in);
        call.rest_x = x;
        call.rest_stride = n_out;
        call.rest_y = rest_y.get<float>(groups.together * n_out);
    }

    // Returns the number of finished outputs; fewer than requested where oneDNN has no
    // fast bf16 product.
    std::int64_t multiply_bf16(const Call& call, Thread& thread, std::int64_t out_begin, std::int64_t out_end) {
        constexpr std::int64_t kInputBlock = 32;
        const std::int64_t padded_in = (call.n_in + kInputBlock - 1) / kInputBlock * kInputBlock;
        auto* panel = thread.panel.get<Bf16>(padded_in * kBf16PanelOutputs);
        for (std::int64_t o = out_begin; o < out_end; o += kBf16PanelOutputs) {
            const std::int64_t n_out = std::min(kBf16PanelOutputs, out_end - o);
            // The format's padding must be zero: inputs beyond n_in, and outputs beyond
            // n_out.
            const std::int64_t first_padded = n_out < kBf16PanelOutputs ? 0 : call.n_in / 2;
            std::fill(panel + first_padded * 2 * kBf16PanelOutputs, panel + padded_in * kBf16PanelOutputs, Bf16{});
            const PanelSource source = call.part(0, call.n_in, o, n_out);
            if (call.layout == GemmLayout::kRowsAreOutputs) {
                pack.transpose_bf16_pairs(source, kBf16PanelOutputs, panel);
            } else {
                pack.interleave_bf16_pairs(source, kBf16PanelOutputs, panel);
            }
            // oneDNN 2.6 needs a contiguous y for these kernels.
            const auto multiply_tokens = [&](std::int64_t t, std::int64_t n_tokens) {
                const ProductShape product{GemmMode::kBf16, false, n_tokens, call.n_in, n_out, call.n_in, 0, n_out};
                auto* y = thread.y.get<float>(n_tokens * n_out);
                if (!run_product(thread, product, call.narrow_x + t * call.n_in, panel, y)) return false;
                for (std::int64_t row = 0; row < n_tokens; ++row) {
                    std::copy_n(y + row * n_out, n_out, call.y + (t + row) * call.y_stride + o);
                }
                return true;
            };
            for (std::int64_t t = 0, n = 0; t < call.n_tokens; t += n) {
                n = groups.n_next(call.n_tokens - t);
                if (!multiply_tokens(t, n)) return o - out_begin;
            }
        }
        return out_end - out_begin;
    }

    // Allocates the memory of every thread while a failure can still be thrown.
    void reserve(GemmMode mode, std::int64_t n_tokens, std::int64_t n_in) {
        for (Thread& thread : threads) {
            static_cast<void>(thread.panel.get<float>(kPanelFloats));
            if (mode != GemmMode::kBf16) continue;
            static_cast<void>(thread.panel.get<Bf16>((n_in + 32) * kBf16PanelOutputs));
            static_cast<void>(thread.y.get<float>(n_tokens * kBf16PanelOutputs));
        }
    }

    // Independent of the number of tokens, so that the number changes no bit; not by pairs
    // where oneDNN may use tiles.
    CpuProduct product_of(GemmMode mode, const Call& call) const {
        const bool rows_of_bf16 = call.layout == GemmLayout::kRowsAreOutputs && takes_bf16_products(call.weight);
        const bool pairs = rows_of_bf16 && mode == GemmMode::kBf16 && pair_products.multiply != nullptr;
        const bool widened = rows_of_bf16 && mode == GemmMode::kF32 && widened_products.multiply != nullptr;
        const std::uint32_t facts = (pairs ? product_needs::kBf16Pairs : 0) |
                                    (widened ? product_needs::kBf16Widened : 0) |
                                    (cpu_features().amx_bf16 ? 0 : product_needs::kNoAmx);
        // A caller may want many rows' sums for few.
        const std::int64_t rows = std::max<std::int64_t>(call.n_tokens, kFewCpuRows + 1);
        return find_cpu_product({ProductOf::kMatrix, weights_of(call.weight.type), ProductInputs::kFloat, rows, facts});
    }

    // Rows in bf16 need no packing, which for few tokens takes as long as the products.
    template <typename Products>
    void multiply_rows(const Products& by_rows, const Call& call) {
        using Value = typename Products::Value;
        const typename Products::Tiles tiles{call.n_tokens};
        auto* const x = laid_out_x.get<Value>(call.n_tokens * call.n_in);
        pool.parallel_for(tiles.count, 1, [&](std::int64_t begin, std::int64_t end, int) {
            by_rows.lay_out(call.x, call.x_stride, tiles, call.n_in, begin, end, x);
        });
        pool.parallel_for(call.weight.n_rows, kPanelGrain, [&](std::int64_t begin, std::int64_t end, int) {
            by_rows.multiply(call.weight, x, tiles, begin, end, call.y, call.y_stride);
        });
    }

    void multiply(GemmMode mode, Call call, std::int64_t n_out) {
        const CpuProduct product = product_of(mode, call);
        if (product == CpuProduct::kBf16Pairs) return multiply_rows(pair_products, call);
        if (product == CpuProduct::kBf16Widened) return multiply_rows(widened_products, call);
        reserve(mode, call.n_tokens, call.n_in);
        std::atomic<bool> all_done{true};
        std::vector<std::int64_t> done(threads.size(), 0);
        if (mode == GemmMode::kBf16) {
            auto* narrow = narrow_x.get<Bf16>(call.n_tokens * call.n_in);
            pool.parallel_for(call.n_tokens, 1, [&](std::int64_t begin, std::int64_t end, int) {
                for (std::int64_t t = begin; t < end; ++t) {
                    kernels.narrow_bf16(call.x + t * call.x_stride, call.n_in, narrow + t * call.n_in);
                }
            });
            call.narrow_x = narrow;
            pool.parallel_for(n_out, kPanelGrain, [&](std::int64_t begin, std::int64_t end, int thread) {
                forbid_openmp_teams();
                const auto index = static_cast<std::size_t>(thread);
                done[index] = multiply_bf16(call, threads[index], begin, end);
                if (done[index] < end - begin) all_done = false;
            });
            if (all_done) return;
            // Otherwise float32 products of the rounded factors: the same products, with
            // sums in float32 too.
            auto* rounded = rounded_x.get<float>(call.n_tokens * call.n_in);
            kernels.widen(narrow, WeightType::kBf16, call.n_tokens * call.n_in, rounded);
            call.x = rounded;
            call.x_stride = call.n_in;
            call.round_weights = call.weight.type != WeightType::kBf16;
        }
        prepare_rest(call, n_out);
        pool.parallel_for(n_out, kPanelGrain, [&](std::int64_t begin, std::int64_t end, int thread) {
            forbid_openmp_teams();
            const auto index = static_cast<std::size_t>(thread);
            if (begin + done[index] < end) multiply_f32(call, threads[index], begin + done[index], end);
        });
    }
};

Gemm::Gemm(ThreadPool& pool) : state_(std::make_unique<State>(pool)) {}
Gemm::~Gemm() = default;

void Gemm::multiply(GemmMode mode, GemmLayout layout, const float* x, std::int64_t x_stride, std::int64_t n_tokens,
                    const WeightView& weight, float* y, std::int64_t y_stride) {
    const bool rows_are_outputs = layout == GemmLayout::kRowsAreOutputs;
    const std::int64_t n_out = rows_are_outputs ? weight.n_rows : weight.n_cols;
    Call call{};
    call.layout = layout;
    call.x = x;
    call.x_stride = x_stride;
    call.n_tokens = n_tokens;
    call.weight = weight;
    call.n_in = rows_are_outputs ? weight.n_cols : weight.n_rows;
    call.y = y;
    call.y_stride = y_stride;
    if (n_tokens > 0 && n_out > 0) state_->multiply(mode, call, n_out);
}

struct ProductTrial::State {
    static constexpr std::int64_t kTokens = 64;
    static constexpr std::int64_t kInputs = 2048;
    static constexpr std::int64_t kOutputs = 512;

    explicit State(ThreadPool& pool) : gemm(pool) {}

    Gemm gemm;
    std::vector<float> x = std::vector<float>(static_cast<std::size_t>(kTokens * kInputs), 1.0f);
    std::vector<std::byte> rounded =
        std::vector<std::byte>(static_cast<std::size_t>(kTokens * rounded_input_bytes(kInputs)));
    std::vector<std::byte> scratch = std::vector<std::byte>(static_cast<std::size_t>(byte_product_scratch(kInputs)));
    std::vector<Bf16> weights = std::vector<Bf16>(static_cast<std::size_t>(kInputs * kOutputs), Bf16{0x3f80});
    std::vector<float> y = std::vector<float>(static_cast<std::size_t>(kTokens * kOutputs));
    // Small numbers everywhere, scales among them.
    std::vector<std::uint16_t> blocks =
        std::vector<std::uint16_t>(kOutputs * row_bytes(WeightType::kQ4K, kInputs) / 2, std::uint16_t{0x1c1c});

    void multiply_bytes(const WeightView& weight, int n_tokens) {
        const CpuKernels& kernels = cpu_kernels();
        kernels.round_inputs(weight.type, x.data(), kInputs, n_tokens, kInputs, rounded.data());
        const std::byte* inputs[kTokens];
        for (int t = 0; t < n_tokens; ++t) inputs[t] = rounded.data() + t * rounded_input_bytes(kInputs);
        kernels.matvec_bytes(weight, inputs, n_tokens, 0, kOutputs, y.data(), kOutputs, scratch.data());
    }
};

ProductTrial::ProductTrial(ThreadPool& pool) : state_(std::make_unique<State>(pool)) {}
ProductTrial::~ProductTrial() = default;

double ProductTrial::run_us(TrialProduct product) {
    State& s = *state_;
    const WeightView many{s.weights.data(), WeightType::kBf16, State::kOutputs, State::kInputs};
    const WeightView few{s.blocks.data(), WeightType::kQ4K, State::kOutputs, State::kInputs};
    // All bytes are the same, so that this is a matter of the view.
    const WeightView interleaved{s.blocks.data(), WeightType::kQ4K, State::kOutputs, State::kInputs, 0, true};
    const auto multiply_many = [&](GemmMode mode, const WeightView& weight) {
        s.gemm.multiply(mode, GemmLayout::kRowsAreOutputs, s.x.data(), State::kInputs, State::kTokens, weight,
                        s.y.data(), State::kOutputs);
    };
    const CpuKernels& kernels = cpu_kernels();
    const auto start = std::chrono::steady_clock::now();
    switch (product) {
        case TrialProduct::kManyF32:
        case TrialProduct::kManyBf16:
            multiply_many(product == TrialProduct::kManyF32 ? GemmMode::kF32 : GemmMode::kBf16, many);
            break;
        case TrialProduct::kManyBlocksF32:
        case TrialProduct::kManyBlocksBf16:
            multiply_many(product == TrialProduct::kManyBlocksF32 ? GemmMode::kF32 : GemmMode::kBf16, few);
            break;
        case TrialProduct::kFewFloatInputs:
            kernels.matvec(few, s.x.data(), 0, State::kOutputs, s.y.data());
            break;
        case TrialProduct::kFewByteInputs:
            s.multiply_bytes(interleaved, 1);
            break;
        case TrialProduct::kManyByteInputs:
            s.multiply_bytes(interleaved, State::kTokens);
            break;
    }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
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

std::string name_of(ProductForm form) {
    const char* const bytes = form.byte_prompts ? " and int8" : form.byte_inputs ? ", int8 for few tokens" : "";
    return std::string(name_of(form.many)) + bytes;
}

}  // namespace offstage::kernels
