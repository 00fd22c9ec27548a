// Experts of files' blocks for many rows with inputs in 8 bits, and packed ones, on the
// CUDA that runs on the host (tests/cuda_host): the bits of tiles, and of the device's own
// grouping by the router's choice.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <QTest>

#include "kernels/block_parts.h"
#include "kernels/ops/operation.h"
#include "kernels/packed.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/kernels/test_data.h"
#include "tests/sanitized.h"

using namespace offstage::kernels;

namespace {

std::size_t as_size(std::int64_t n) {
    return static_cast<std::size_t>(n);
}

// Random blocks whose scales are numbers near 0.01.
std::vector<std::byte> random_rows(WeightType type, std::int64_t n_rows, std::int64_t n_columns, std::uint32_t seed) {
    std::mt19937 generator(seed);
    std::vector<std::byte> rows(as_size(n_rows) * row_bytes(type, n_columns));
    for (std::byte& byte : rows) byte = static_cast<std::byte>(generator());
    if (is_packed(type)) {
        const PackedRow places = packed_row(type, n_columns);
        for (std::size_t at = 0; at < rows.size(); at += row_bytes(type, n_columns)) {
            for (std::int64_t s = 0; s < places.codes; s += std::int64_t{sizeof(PackedSuper)}) {
                const PackedSuper super{0.002f, 1e-5f, 3.0f, 5e-3f};
                std::memcpy(rows.data() + at + s, &super, sizeof super);
            }
            if (type != WeightType::kInt8) continue;
            for (std::int64_t g = 0; g < n_columns / kPackedBlock; ++g) {
                const Bf16 scale = to_bf16(test::uniform(generator, 0.0004f, 0.002f));
                std::memcpy(rows.data() + at + places.scales + 2 * g, &scale, sizeof scale);
            }
        }
        return rows;
    }
    const FormatTraits& format = traits_of(type);
    for (std::size_t at = 0; at < rows.size(); at += as_size(format.block_bytes)) {
        if (type == WeightType::kMxfp4) {
            rows[at] = static_cast<std::byte>(118 + generator() % 4);
            continue;
        }
        if (type == WeightType::kIq1M) {  // a digit in each of four words
            const unsigned half = test::to_f16_truncated(test::uniform(generator, 0.004f, 0.02f)).bits;
            for (std::size_t i = 0; i < 4; ++i) {
                std::byte& upper = rows[at + 49 + 2 * i];
                upper = (upper & std::byte{15}) | static_cast<std::byte>((half >> (4 * i) & 15u) << 4u);
            }
        }
        for (const int place : {format.scale_at, format.minimum_at}) {
            if (place < 0) continue;
            const F16 half = test::to_f16_truncated(test::uniform(generator, 0.004f, 0.02f));
            std::memcpy(rows.data() + at + place, &half, sizeof half);
        }
    }
    return rows;
}

ExpertLayout layout_of(WeightType gate, WeightType up, WeightType down, std::int64_t hidden_dim, std::int64_t ffn_dim,
                       bool biases) {
    ExpertLayout layout;
    layout.hidden_dim = hidden_dim;
    layout.ffn_dim = ffn_dim;
    layout.gate = gate;
    layout.up = up;
    layout.down = down;
    layout.down_rows_are_outputs = is_blocks(down);
    layout.spec.biases = biases;
    return layout;
}

// A GPU on the host with all products in 8 bits.
class Gpu {
  public:
    explicit Gpu(std::uint32_t seed = 1, bool cublas = false) {
        cuda_host::Settings settings;
        settings.seed = seed;
        settings.cublas = cublas;
        cuda_host::reset(settings);
        context_ = open_cuda_context_on_host(0).context;
        context_->set_byte_inputs(ByteInputTypes::all());
        CudaStep step;
        step.n_tokens = 600;
        step.hidden_dim = step.ffn_dim = 512;
        step.n_experts = 16;
        step.n_active = 4;
        step.blocks = true;
        reserve(step);
    }
    // Just the scratch memory that such steps take.
    void reserve(const CudaStep& step) {
        context_->set_scratch(nullptr, 0);
        if (scratch_ != nullptr) context_->release(scratch_);
        scratch_bytes_ = context_->scratch_bytes(step);
        scratch_ = context_->allocate(scratch_bytes_);
        context_->set_scratch(scratch_, scratch_bytes_);
    }
    // Leaves the operations no more scratch memory than is_enough() needs.
    void take_scratch_away(const std::function<bool()>& is_enough) {
        std::size_t enough = scratch_bytes_, too_little = 0;
        while (enough - too_little > 256) {
            const std::size_t bytes = (enough + too_little) / 2 / 256 * 256;
            context_->set_scratch(scratch_, bytes);
            (is_enough() ? enough : too_little) = bytes;
        }
        context_->set_scratch(scratch_, enough);
    }
    ~Gpu() { (void)close(); }
    // Everything is freed. A failure, and what the host's layer found; empty: nothing.
    std::string close() {
        if (context_ == nullptr) return {};
        wait();
        std::string all = context_->failure().text + context_->failure().detail;
        context_->set_scratch(nullptr, 0);
        for (void* block : blocks_) context_->release(block);
        context_->release(scratch_);
        context_.reset();
        for (const std::string& problem : cuda_host::problems()) all += problem + "; ";
        return all;
    }
    CudaContext& context() { return *context_; }

    template <typename T>
    T* put(const std::vector<T>& values) {
        void* const block = context_->allocate(values.size() * sizeof(T) + 16);
        blocks_.push_back(block);
        context_->upload(block, values.data(), values.size() * sizeof(T));
        wait();
        return static_cast<T*>(block);
    }
    // Rows as files have them, laid out as the kernels read them; `beyond` bytes behind a
    // multiple of 16.
    WeightView put_rows(const std::vector<std::byte>& rows, std::size_t beyond, WeightType type, std::int64_t n_rows,
                        std::int64_t n_columns) {
        std::vector<std::byte> moved(beyond);
        moved.insert(moved.end(), rows.begin(), rows.end());
        const WeightView view{put(moved) + beyond, type, n_rows, n_columns};
        context_->lay_out(view);
        wait();
        return view;
    }
    template <typename T>
    std::vector<T> get(const T* device, std::int64_t n) {
        std::vector<T> values(as_size(n));
        context_->download(values.data(), device, values.size() * sizeof(T));
        wait();
        return values;
    }
    // With all launches counted.
    int submit(const ops::Operation& operation) {
        const int before = cuda_host::calls_of("cudaLaunchKernel");
        context_->submit(operation);
        wait();
        return cuda_host::calls_of("cudaLaunchKernel") - before;
    }

  private:
    void wait() { context_->host_wait(CudaQueue::kCompute, context_->record(CudaQueue::kCompute)); }

    std::unique_ptr<CudaContext> context_;
    void* scratch_ = nullptr;
    std::size_t scratch_bytes_ = 0;
    std::vector<void*> blocks_;
};

// A layer's experts on the GPU.
struct Layer {
    Layer(Gpu& gpu, const ExpertLayout& its_layout, std::int64_t n) : layout(its_layout) {
        for (std::int64_t e = 0; e < n; ++e) {
            const auto seed = static_cast<std::uint32_t>(10 + 3 * e);
            std::vector<std::byte> block(layout.bytes());
            const ExpertView own{block.data(), layout};
            const auto fill = [&](const WeightView& part, std::uint32_t which) {
                const std::vector<std::byte> rows = random_rows(part.type, part.n_rows, part.n_cols, seed + which);
                const std::size_t bytes = row_bytes(part.type, part.n_cols);
                for (std::int64_t r = 0; r < part.n_rows; ++r) {
                    std::memcpy(block.data() + (part.row(r) - block.data()), rows.data() + as_size(r) * bytes, bytes);
                }
            };
            fill(own.gate(), 0);
            fill(own.up(), 1);
            fill(own.down(), 2);
            if (layout.spec.biases) {
                std::vector<float> biases(layout.bias_bytes() / sizeof(float));
                test::fill_random(biases, seed + 50, 0.5f);
                std::memcpy(block.data() + layout.bias_offset(), biases.data(), layout.bias_bytes());
            }
            addresses.push_back(gpu.put(block));
            gpu.context().lay_out(ExpertView{addresses.back(), layout});
        }
        table = gpu.put(addresses);
    }
    ExpertLayout layout;
    std::vector<std::byte*> addresses;
    std::byte** table = nullptr;
};

std::vector<float> random_inputs(std::int64_t n, std::uint32_t seed) {
    std::vector<float> values(as_size(n));
    test::fill_random(values, seed, 2.0f);
    return values;
}

// 16 weights of a row with their inputs, which have one scale with 16 others.
struct PartProduct {
    float scale = 0, bias = 0;  // of the weights
    float input_scale = 0;
    int dot = 0, sum = 0;  // of whole numbers: products, inputs
};
template <WeightType kType>
PartProduct product_of(const std::byte* row, std::int64_t part, const std::vector<float>& x) {
    constexpr int kParts = traits_of(kType).group / kPartWeights;
    float most = 0.0f;
    for (std::int64_t j = part / 2 * 32; j < part / 2 * 32 + 32; ++j) most = std::max(most, std::abs(x[as_size(j)]));
    const float factor = most > 0.0f ? 127.0f / most : 0.0f;
    BlockPart weights = {};
    read_part<kType>(reinterpret_cast<const std::uint8_t*>(row) + part / kParts * traits_of(kType).block_bytes,
                     static_cast<int>(part % kParts), kBlockCodebooks, weights);
    PartProduct product{weights.scale, weights.bias, most / 127.0f};
    for (int j = 0; j < kPartWeights; ++j) {
        const int code = static_cast<int>(std::rint(x[as_size(part * kPartWeights + j)] * factor));
        product.dot += weights.codes[j] * code;
        product.sum += code;
    }
    return product;
}

// A row of a matrix with a row of inputs, as a tile forms it: whole numbers for each
// scale, one after the other.
float dot_in_order(const WeightView& weight, std::int64_t row, const std::vector<float>& x) {
    float sum = 0.0f;
    with_block_type(weight.type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        for (std::int64_t part = 0; part < weight.n_cols / kPartWeights; part += 2) {
            PartProduct parts[2];
            for (int p = 0; p < 2; ++p) parts[p] = product_of<kType>(weight.row(row), part + p, x);
            if (parts[0].scale == parts[1].scale && kType != WeightType::kQ6K) {
                parts[0].dot += parts[1].dot;
                parts[0].sum += parts[1].sum;
            }
            const int n = kType == WeightType::kQ6K ? 2 : 1;
            for (int p = 0; p < n; ++p) {
                const PartProduct& part_p = parts[p];
                sum = std::fma(part_p.scale * part_p.input_scale, static_cast<float>(part_p.dot), sum);
                if (has_bias(kType)) {
                    sum = std::fma(part_p.bias, part_p.input_scale * static_cast<float>(part_p.sum), sum);
                }
            }
        }
    });
    return sum;
}

// The same as a warp forms it: each lane has every 32nd pair of parts.
float dot_of_warp(const WeightView& weight, std::int64_t row, const std::vector<float>& x) {
    constexpr std::size_t kLanes = 32;
    std::vector<float> sums(kLanes);
    with_block_type(weight.type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        constexpr int kPairs = traits_of(kType).group / 32;
        for (std::int64_t i = 0; i < weight.n_cols / 32; ++i) {
            const std::int64_t block = i / kPairs, pair = i % kPairs;
            std::int64_t first = 2 * pair, second = first + 1;
            if (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
                first = pair / 2 * 4 + pair % 2, second = first + 2;
            } else if (kType == WeightType::kQ6K) {
                first = pair / 4 * 8 + pair % 4, second = first + 4;
            }
            std::vector<PartProduct> parts;
            for (const std::int64_t part : {first, second}) {
                parts.push_back(product_of<kType>(weight.row(row), 2 * kPairs * block + part, x));
            }
            if (kPairs == 1) {  // one scale
                parts[0].dot += parts[1].dot;
                parts[0].sum += parts[1].sum;
                parts.pop_back();
            }
            float& sum = sums[as_size(i) % kLanes];
            for (const PartProduct& part : parts) {
                sum = std::fma(part.scale * part.input_scale, static_cast<float>(part.dot), sum);
                if (!has_bias(kType)) continue;
                sum = std::fma(part.bias * part.input_scale, static_cast<float>(part.sum), sum);
            }
        }
    });
    for (std::size_t distance = kLanes / 2; distance > 0; distance /= 2) {
        for (std::size_t lane = 0; lane < distance; ++lane) sums[lane] += sums[lane + distance];
    }
    return sums[0];
}

template <typename T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

struct Formats {
    const char* name;
    WeightType gate, up, down;
};
constexpr Formats kFormatsOfTests[] = {
    {"Q4_0", WeightType::kQ4_0, WeightType::kQ4_0, WeightType::kQ4_0},
    {"Q8_0", WeightType::kQ8_0, WeightType::kQ8_0, WeightType::kQ8_0},
    {"MXFP4", WeightType::kMxfp4, WeightType::kMxfp4, WeightType::kMxfp4},
    {"Q4_K", WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ4K},
    {"Q6_K", WeightType::kQ6K, WeightType::kQ6K, WeightType::kQ6K},
    {"Q4_K, Q6_K and Q8_0", WeightType::kQ4K, WeightType::kQ6K, WeightType::kQ8_0},
    {"HQQ4", WeightType::kHqq4, WeightType::kHqq4, WeightType::kHqq4},
    {"HQQ3", WeightType::kHqq3, WeightType::kHqq3, WeightType::kHqq3},
    {"HQQ2", WeightType::kHqq2, WeightType::kHqq2, WeightType::kHqq2},
    {"INT8", WeightType::kInt8, WeightType::kInt8, WeightType::kInt8},
};
constexpr int kPackedFormats = 6;  // from here on

}  // namespace

class TestCudaPrompts : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Any number of rows in the last tile, and an odd number of its outputs.
    void tiles_addPartsInOrder_data() {
        QTest::addColumn<int>("formats");
        QTest::addColumn<int>("n");
        for (int f = 0; f < 5; ++f) {
            for (const int n : {9, 16, 17, 33, 64, 71}) {
                if (offstage::test::kSanitized && n != 17) continue;
                QTest::addRow("%s, %d rows", kFormatsOfTests[f].name, n) << f << n;
            }
        }
    }
    void tiles_addPartsInOrder() {
        QFETCH(int, formats);
        QFETCH(int, n);
        const WeightType type = kFormatsOfTests[formats].gate;
        // Rows of 544 are laid out, those of 96 too short for it.
        const std::int64_t n_columns = traits_of(type).group == 256 ? 256 : n == 17 ? 544 : 96;
        constexpr std::int64_t kRows = 133;
        Gpu gpu;
        const std::vector<std::byte> rows = random_rows(type, kRows, n_columns, 5);
        const std::vector<float> x = random_inputs(n * n_columns, 6);
        const WeightView there = gpu.put_rows(rows, 0, type, kRows, n_columns);
        float* const y = gpu.put(std::vector<float>(as_size(n * kRows), 77.0f));
        QCOMPARE(gpu.submit(ops::Multiply{there, gpu.put(x), n, y}), 2);
        const std::vector<float> sums = gpu.get(y, n * kRows);
        const WeightView here{rows.data(), type, kRows, n_columns};
        for (std::int64_t t = 0; t < n; ++t) {
            const std::vector<float> input(x.begin() + t * n_columns, x.begin() + (t + 1) * n_columns);
            for (std::int64_t r = 0; r < kRows; ++r) {
                QCOMPARE(bits_of(sums[as_size(t * kRows + r)]), bits_of(dot_in_order(here, r, input)));
            }
        }
        QCOMPARE(QString::fromStdString(gpu.close()), QString());
    }

    // One row of inputs or several, rows at any address, laid out but at odd ones: more
    // pairs than a warp takes at once.
    void fewRows_addTheirPairsByLane_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("n");
        for (const FormatTraits& format : kFormats) {
            if (!format.is_blocks()) continue;
            for (const int n : {1, 3}) {
                QTest::addRow("%s, %d rows", format.name, n) << static_cast<int>(format.type) << n;
            }
        }
    }
    void fewRows_addTheirPairsByLane() {
        QFETCH(int, type);
        QFETCH(int, n);
        const auto format = static_cast<WeightType>(type);
        const std::int64_t n_columns = traits_of(format).group == 32 ? 33 * 32 : 6 * 256;
        constexpr std::int64_t kRows = 19;
        Gpu gpu;
        const std::vector<std::byte> rows = random_rows(format, kRows, n_columns, 5);
        const std::vector<float> x = random_inputs(n * n_columns, 6);
        const float* const inputs = gpu.put(x);
        const WeightView here{rows.data(), format, kRows, n_columns};
        for (const std::size_t beyond : {0, 2, 3}) {
            float* const y = gpu.put(std::vector<float>(as_size(n * kRows), 77.0f));
            const WeightView there = gpu.put_rows(rows, beyond, format, kRows, n_columns);
            QCOMPARE(gpu.submit(ops::Multiply{there, inputs, n, y}), 2);
            const std::vector<float> sums = gpu.get(y, n * kRows);
            for (std::int64_t t = 0; t < n; ++t) {
                const std::vector<float> input(x.begin() + t * n_columns, x.begin() + (t + 1) * n_columns);
                for (std::int64_t r = 0; r < kRows; ++r) {
                    QCOMPARE(bits_of(sums[as_size(t * kRows + r)]), bits_of(dot_of_warp(here, r, input)));
                }
            }
        }
        QCOMPARE(QString::fromStdString(gpu.close()), QString());
    }

    // w1 and w3 with the activation in one kernel: the bits of two products, the
    // activation, and the third.
    void experts_haveTheBitsOfTheirMatrices_data() {
        QTest::addColumn<int>("formats");
        QTest::addColumn<int>("n");
        for (int f = 0; f < 6; ++f) {
            for (const int n : {9, 30, 64, 70}) {
                if (offstage::test::kSanitized && n != 30) continue;
                QTest::addRow("%s, %d rows", kFormatsOfTests[f].name, n) << f << n;
            }
        }
    }
    void experts_haveTheBitsOfTheirMatrices() {
        QFETCH(int, formats);
        QFETCH(int, n);
        const Formats& types = kFormatsOfTests[formats];
        const std::int64_t hidden = types.gate == WeightType::kQ8_0 ? 96 : 256;
        const std::int64_t ffn = types.down == WeightType::kQ8_0 || types.down == WeightType::kQ4_0 ? 96 : 256;
        Gpu gpu;
        const Layer layer(gpu, layout_of(types.gate, types.up, types.down, hidden, ffn, false), 1);
        const std::vector<float> x = random_inputs(n * hidden, 7);
        const float* const inputs = gpu.put(x);
        std::vector<std::int32_t> tokens;
        for (std::int32_t t = 0; t < n; ++t) tokens.push_back(t);
        float* const out = gpu.put(std::vector<float>(as_size(n * hidden), 77.0f));
        const ExpertView expert{layer.addresses[0], layer.layout};
        const ExpertCall call{expert, 0, n};
        QCOMPARE(gpu.submit(ops::Experts{{&call, 1}, inputs, gpu.put(tokens), out}), 3);
        float* const sums = gpu.put(std::vector<float>(as_size(2 * n * ffn)));
        (void)gpu.submit(ops::Multiply{expert.gate(), inputs, n, sums});
        (void)gpu.submit(ops::Multiply{expert.up(), inputs, n, sums + n * ffn});
        const std::vector<float> both = gpu.get(sums, 2 * n * ffn);
        std::vector<float> activations(as_size(n * ffn));
        for (std::size_t i = 0; i < activations.size(); ++i) {
            const float gate = both[i];
            activations[i] = gate / (1.0f + expf(-gate)) * both[activations.size() + i];
        }
        float* const expected = gpu.put(std::vector<float>(as_size(n * hidden)));
        (void)gpu.submit(ops::Multiply{expert.down(), gpu.put(activations), n, expected});
        const std::vector<float> a = gpu.get(out, n * hidden);
        const std::vector<float> b = gpu.get(expected, n * hidden);
        QVERIFY(same_bytes<float>(a, b));
        QCOMPARE(QString::fromStdString(gpu.close()), QString());
    }

    // Random loads with experts that nobody chooses, one with all rows, and few tokens.
    void groups_haveTheBitsOfLists_data() {
        QTest::addColumn<int>("formats");
        QTest::addColumn<int>("n_tokens");
        QTest::addColumn<int>("n_active");
        QTest::addColumn<int>("n_experts");
        QTest::addColumn<int>("n_chosen");  // the others have no rows
        const auto row = [](int formats, int n_tokens, int n_active, int n_experts, int n_chosen) {
            QTest::addRow("%s, %d tokens, %d of %d experts, %d in use", kFormatsOfTests[formats].name, n_tokens,
                          n_active, n_experts, n_chosen)
                << formats << n_tokens << n_active << n_experts << n_chosen;
        };
        row(0, 33, 2, 7, 5);
        if (offstage::test::kSanitized) return;
        for (int f = 0; f < 6; ++f) row(f, 40, 2, 6, 4);
        for (const int n : {1, 2, 8, 9, 64, 65, 129}) row(0, n, 1, 5, 1);
        row(0, 600, 1, 5, 1);
        row(0, 600, 2, 16, 13);
        row(5, 90, 4, 16, 16);
        row(3, 20, 4, 16, 16);
        for (int f = kPackedFormats; f < kPackedFormats + 4; ++f) row(f, 40, 2, 6, 4);
        for (const int n : {9, 64, 65}) row(6, n, 1, 5, 1);
        row(6, 300, 2, 16, 13);
        row(8, 90, 4, 16, 16);
    }
    void groups_haveTheBitsOfLists() {
        QFETCH(int, formats);
        QFETCH(int, n_tokens);
        QFETCH(int, n_active);
        QFETCH(int, n_experts);
        QFETCH(int, n_chosen);
        const Formats& types = kFormatsOfTests[formats];
        const bool small = types.gate == WeightType::kQ4_0;
        const bool packed = formats >= kPackedFormats;
        for (const std::uint32_t seed : {1u, 2u}) {
            // Packed: by the kernels for whole pieces of rows, and by those for any.
            const std::int64_t hidden = small || (packed && seed == 2) ? 64 : 256;
            const std::int64_t ffn = small ? 96 : packed ? 200 : 256;
            Gpu gpu(seed);
            const Layer layer(gpu, layout_of(types.gate, types.up, types.down, hidden, ffn, formats % 2 == 1),
                              n_experts);
            const std::int64_t n_pairs = std::int64_t{n_tokens} * n_active;
            const float* const inputs = gpu.put(random_inputs(n_tokens * hidden, seed));
            // Different experts for each token.
            std::mt19937 generator(seed);
            std::vector<std::int32_t> chosen;
            for (int t = 0; t < n_tokens; ++t) {
                std::vector<std::int32_t> its;
                while (static_cast<int>(its.size()) < n_active) {
                    const auto low = std::min(generator(), generator()) % static_cast<unsigned>(n_chosen);
                    const std::int32_t e = n_experts - 1 - static_cast<std::int32_t>(low);
                    if (std::find(its.begin(), its.end(), e) == its.end()) its.push_back(e);
                }
                chosen.insert(chosen.end(), its.begin(), its.end());
            }
            std::vector<std::int32_t> row_token, row_of(as_size(n_pairs));
            std::vector<ExpertCall> calls;
            for (std::int32_t e = 0; e < n_experts; ++e) {
                const auto first = static_cast<std::int64_t>(row_token.size());
                for (std::size_t p = 0; p < chosen.size(); ++p) {
                    if (chosen[p] != e) continue;
                    row_of[p] = static_cast<std::int32_t>(row_token.size());
                    row_token.push_back(static_cast<std::int32_t>(p) / n_active);
                }
                const std::int64_t n = static_cast<std::int64_t>(row_token.size()) - first;
                if (n > 0) calls.push_back({{layer.addresses[as_size(e)], layer.layout}, first, n});
            }
            float* const listed = gpu.put(std::vector<float>(as_size(n_pairs * hidden), 77.0f));
            (void)gpu.submit(ops::Experts{calls, inputs, gpu.put(row_token), listed});
            float* const grouped = gpu.put(std::vector<float>(as_size(n_pairs * hidden), 78.0f));
            std::int32_t* const numbers = gpu.put(std::vector<std::int32_t>(as_size(2 * n_pairs), -1));
            const auto takes = [&] { return gpu.context().takes_grouped(layer.layout, n_tokens, n_active, n_experts); };
            QVERIFY(takes());
            if (packed) gpu.take_scratch_away(takes);
            const int n_launches = gpu.submit(ops::GroupedExperts{.layout = layer.layout,
                                                                  .blocks = layer.table,
                                                                  .chosen = gpu.put(chosen),
                                                                  .n_tokens = n_tokens,
                                                                  .n_active = n_active,
                                                                  .n_experts = n_experts,
                                                                  .inputs = inputs,
                                                                  .row_token = numbers,
                                                                  .row_of = numbers + n_pairs,
                                                                  .out = grouped});
            // The order; for many tokens rounding and two products; four for few rows,
            // and one more where w1 and w3 are of different formats. Of packed experts
            // with few rows those for eight at a time, one less where inputs are not
            // split.
            const int n_few = packed ? (n_experts + 7) / 8 * (hidden == 64 ? 3 : 4) : types.gate == types.up ? 4 : 5;
            QCOMPARE(n_launches, (n_tokens > CudaContext::kFewRows ? 4 : 1) + n_few);
            const std::vector<std::int32_t> all = gpu.get(numbers, 2 * n_pairs);
            QVERIFY(same_bytes<std::int32_t>(std::span(all).first(as_size(n_pairs)), row_token));
            QVERIFY(same_bytes<std::int32_t>(std::span(all).subspan(as_size(n_pairs)), row_of));
            const std::vector<float> a = gpu.get(grouped, n_pairs * hidden);
            const std::vector<float> b = gpu.get(listed, n_pairs * hidden);
            QVERIFY(std::all_of(a.begin(), a.end(), [](float value) { return std::isfinite(value); }));
            QVERIFY(same_bytes<float>(a, b));
            QCOMPARE(QString::fromStdString(gpu.close()), QString());
        }
    }

    // Without the types or the memory for them the operation is not offered.
    void groups_needRoundedInputsAndMemory() {
        Gpu gpu;
        const ExpertLayout layout = layout_of(WeightType::kQ4_0, WeightType::kQ4_0, WeightType::kQ4_0, 64, 96, false);
        QVERIFY(gpu.context().takes_grouped(layout, 600, 4, 16));
        QVERIFY(!gpu.context().takes_grouped(layout, 30'000, 4, 16));
        QVERIFY(!gpu.context().takes_grouped(expert_layout(WeightType::kBf16, 64, 96), 20, 4, 16));
        gpu.context().set_byte_inputs({});
        QVERIFY(!gpu.context().takes_grouped(layout, 20, 4, 16));
        // Packed ones need them not, but rows for which tiles are used however many an
        // expert has.
        const ExpertLayout packed = expert_layout(WeightType::kHqq4, 64, 96);
        const ExpertLayout large = expert_layout(WeightType::kHqq4, 128, 96);
        QVERIFY(gpu.context().takes_grouped(packed, 600, 4, 16));
        QVERIFY(gpu.context().takes_grouped(large, 600, 4, 16));
        ExpertLayout mixed = packed;
        mixed.up = WeightType::kHqq3;
        QVERIFY(!gpu.context().takes_grouped(mixed, 20, 4, 16));
        QCOMPARE(QString::fromStdString(gpu.close()), QString());
        Gpu multiplying(1, true);
        QVERIFY(multiplying.context().takes_grouped(packed, 512, 4, 16));
        QVERIFY(!multiplying.context().takes_grouped(packed, 513, 4, 16));
        QVERIFY(!multiplying.context().takes_grouped(packed, 8, 4, 16));
        QVERIFY(!multiplying.context().takes_grouped(large, 9, 4, 16));
    }

    // Whatever the format that a re-plan gives the experts.
    void stepsReserveWhatGroupingPackedExpertsTakes_data() {
        QTest::addColumn<bool>("cublas");
        QTest::addColumn<int>("most_tokens");
        for (const int n : {9, 64, 200, 512, 513, 700}) {
            QTest::addRow("%d tokens", n) << false << n;
            QTest::addRow("%d tokens, cuBLAS", n) << true << n;
        }
    }
    void stepsReserveWhatGroupingPackedExpertsTakes() {
        QFETCH(bool, cublas);
        QFETCH(int, most_tokens);
        Gpu gpu(1, cublas);
        CudaStep step;
        step.n_tokens = most_tokens;
        step.hidden_dim = 64;
        step.ffn_dim = 96;
        step.n_experts = 128;
        step.n_active = 8;
        gpu.reserve(step);
        for (int f = kPackedFormats; f < kPackedFormats + 4; ++f) {
            const ExpertLayout layout = expert_layout(kFormatsOfTests[f].gate, step.hidden_dim, step.ffn_dim);
            for (int n = CudaContext::kFewRows + 1; n <= most_tokens; ++n) {
                const bool taken = gpu.context().takes_grouped(layout, n, step.n_active, step.n_experts);
                QVERIFY2(taken == (!cublas || n <= 512), qPrintable(QString::number(n)));
            }
        }
        QCOMPARE(QString::fromStdString(gpu.close()), QString());
    }

    // Small packed experts that the host calls by their rows: cuBLAS serves more than 256.
    void calledPackedExperts_areTilesUpTo256Rows() {
        Gpu gpu(1, true);
        const Layer layer(gpu, expert_layout(WeightType::kHqq4, 64, 96), 1);
        const std::int64_t hidden = layer.layout.hidden_dim;
        const auto n_matrices = [&](std::int64_t n_rows) {
            std::vector<std::int32_t> row_token(as_size(n_rows));
            for (std::size_t i = 0; i < row_token.size(); ++i) row_token[i] = static_cast<std::int32_t>(i);
            float* const out = gpu.put(std::vector<float>(as_size(n_rows * hidden)));
            const ExpertCall call{{layer.addresses[0], layer.layout}, 0, n_rows};
            const int before = cuda_host::calls_of("cublasGemmEx");
            (void)gpu.submit(
                ops::Experts{{&call, 1}, gpu.put(random_inputs(n_rows * hidden, 5)), gpu.put(row_token), out});
            return cuda_host::calls_of("cublasGemmEx") - before;
        };
        QCOMPARE(n_matrices(256), 0);
        QVERIFY(n_matrices(257) > 0);
        QVERIFY(n_matrices(512) > 0);
        QCOMPARE(QString::fromStdString(gpu.close()), QString());
    }
};

QTEST_GUILESS_MAIN(TestCudaPrompts)
#include "tst_cuda_prompts.moc"
