// One token's layers in few kernels (ops::GroupedAttention, ops::DecodeExperts) on the
// CUDA that runs on the host (tests/cuda_host): the bits of the operations one by one,
// and how many kernels there are.

#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include <QTest>

#include "engine/device/cpu_backend.h"
#include "kernels/thread_pool.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/parity/parity_values.h"
#include "tests/engine/parity/test_experts.h"
#include "tests/engine/parity/test_sequences.h"
#include "tests/kernels/router_reference.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::WeightType;
using parity::OnDevice;
using parity::random_floats;
using test::open_on_host;
using test::problems_on_host;

namespace {

kernels::ExpertLayout layout_of(WeightType up, WeightType down, std::int64_t hidden_dim, std::int64_t ffn_dim) {
    kernels::ExpertLayout layout;
    layout.hidden_dim = hidden_dim;
    layout.ffn_dim = ffn_dim;
    layout.gate = layout.up = up;
    layout.down = down;
    layout.down_rows_are_outputs = kernels::is_blocks(down);
    return layout;
}

kernels::RouterSpec softmax_router(std::int32_t n_experts, std::int32_t n_active) {
    kernels::RouterSpec spec;
    spec.n_experts = n_experts;
    spec.n_active = n_active;
    return spec;
}

Backend::StepShape step_of(const kernels::ExpertLayout& layout, const kernels::RouterSpec& router) {
    Backend::StepShape step;
    step.hidden_dim = layout.hidden_dim;
    step.ffn_dim = layout.ffn_dim;
    step.n_experts = router.n_experts;
    step.n_active = router.n_active;
    step.n_tokens = 32;
    step.attention = parity::grouped_attention(1, 1, 16);
    step.context = 64;
    step.vocab_size = 32;
    return step;
}

// A layer's experts on a device, and what a token makes of them.
class Experts {
  public:
    using Weights = std::shared_ptr<const parity::TestExperts>;
    static Weights weights_of(Backend& backend, const kernels::ExpertLayout& layout, std::int32_t n_experts) {
        return std::make_shared<const parity::TestExperts>(
            backend, std::vector<kernels::ExpertLayout>(static_cast<std::size_t>(n_experts), layout));
    }
    Experts(Backend& backend, const kernels::ExpertLayout& layout, const kernels::RouterSpec& router, bool biased)
        : Experts(backend, layout, router, biased, weights_of(backend, layout, router.n_experts)) {}
    // Of at least router.n_experts experts.
    Experts(Backend& backend, const kernels::ExpertLayout& layout, const kernels::RouterSpec& router, bool biased,
            Weights weights)
        : backend_(backend),
          layout_(layout),
          router_(router),
          n_active_(router.n_active),
          experts_(std::move(weights)),
          blocks_(backend, addresses()),
          gate_(backend, random_floats(router.n_experts * layout.hidden_dim, 3, 0.4f)),
          bias_(backend, random_floats(router.n_experts, 4, 0.2f)),
          norm_(backend, random_floats(layout.hidden_dim, 5)),
          tokens_(backend, std::vector<std::int32_t>(static_cast<std::size_t>(n_active_), 0)),
          row_of_(backend, counted(n_active_)) {
        if (biased) selection_bias_ = bias_.data();
    }

    // From now on the layer has shared experts, with a gate or a factor.
    void set_shared(const kernels::ExpertLayout& layout, bool gated) {
        shared_ = std::make_unique<parity::TestExperts>(backend_, std::vector<kernels::ExpertLayout>{layout});
        gated_ = gated;
    }

    struct Result {
        std::vector<float> x, normalised, weights;
        std::vector<std::int32_t> chosen;
        int n_kernels = 0;
    };
    Result run(bool one_by_one, std::uint32_t seed) const { return run(one_by_one, false, 1, seed).front(); }
    // `n` tokens, as sequences that are repeated: from the third one on a graph.
    std::vector<Result> repeat(int n, std::uint32_t seed) const { return run(false, true, n, seed); }

  private:
    std::vector<Result> run(bool one_by_one, bool repeated, int n, std::uint32_t seed) const {
        const OnDevice<float> x(backend_, parity::filled(layout_.hidden_dim, NAN));
        const OnDevice<float> normalised(backend_, parity::filled(layout_.hidden_dim, NAN));
        const OnDevice<float> weights(backend_, parity::filled(n_active_, NAN));
        const OnDevice<float> rows(backend_, parity::filled(n_active_ * layout_.hidden_dim, NAN));
        const OnDevice<std::int32_t> chosen(backend_, std::vector<std::int32_t>(as_size(n_active_), -1));
        const OnDevice<float> shared_output(backend_, parity::filled(layout_.hidden_dim, NAN));
        ops::DecodeExperts op{.norm = {kernels::NormKind::kRms, norm_.data(), nullptr, layout_.hidden_dim, 1e-5f},
                              .x = x.data(),
                              .normalised = normalised.data(),
                              .router = router_,
                              .arrays = {gate_.data(), selection_bias_, nullptr},
                              .layout = layout_,
                              .blocks = blocks_.data(),
                              .row_token = tokens_.data(),
                              .row_of = row_of_.data(),
                              .chosen = chosen.data(),
                              .weights = weights.data(),
                              .rows = rows.data(),
                              .shared = {}};
        if (shared_ != nullptr) {
            op.shared = shared_->view(0);
            op.shared_gate = gated_ ? gate_.data() : nullptr;
            op.shared_factor = 0.7f;
            op.shared_output = shared_output.data();
        }
        std::vector<Result> results;
        for (int i = 0; i < n; ++i) {
            const std::vector<float> token = random_floats(layout_.hidden_dim, seed + static_cast<std::uint32_t>(i));
            backend_.upload(x.data(), token.data(), token.size() * sizeof(float));
            const int before = cuda_host::calls_of("cudaLaunchKernel");
            if (repeated) backend_.begin_repeated(0);
            if (one_by_one) {
                op.for_each([&](const auto& part) { backend_.submit(part); });
            } else {
                backend_.submit(op);
            }
            if (repeated) backend_.end_repeated();
            const int n_kernels = cuda_host::calls_of("cudaLaunchKernel") - before;
            results.push_back({x.download(), normalised.download(), weights.download(), chosen.download(), n_kernels});
        }
        return results;
    }

    static std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }
    static std::vector<std::int32_t> counted(std::int64_t n) {
        std::vector<std::int32_t> numbers(as_size(n));
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }
    std::vector<const std::byte*> addresses() const {
        std::vector<const std::byte*> all;
        for (std::int32_t e = 0; e < router_.n_experts; ++e) {
            all.push_back(static_cast<const std::byte*>(experts_->view(as_size(e)).data));
        }
        return all;
    }

    Backend& backend_;
    const kernels::ExpertLayout layout_;
    const kernels::RouterSpec router_;
    const std::int64_t n_active_;
    const Weights experts_;
    const OnDevice<const std::byte*> blocks_;
    const OnDevice<float> gate_, bias_, norm_;
    const OnDevice<std::int32_t> tokens_, row_of_;
    const float* selection_bias_ = nullptr;
    std::unique_ptr<parity::TestExperts> shared_;
    bool gated_ = false;
};

bool same_result(const Experts::Result& a, const Experts::Result& b) {
    return parity::same_bits<float>(a.x, b.x) && parity::same_bits<float>(a.normalised, b.normalised) &&
           parity::same_bits<float>(a.weights, b.weights) && a.chosen == b.chosen;
}

// A layer's attention on a device.
struct AttentionCase {
    kernels::AttentionShape shape;
    std::int64_t hidden_dim = 0;
    std::vector<WeightType> projections;  // one of all rows, or those of queries, keys and values
    WeightType output = WeightType::kF32;
    std::int64_t past = 0;
    kernels::KvType kv = kernels::KvType::kF32;
    bool head_norms = false;
    bool biases = false;
    bool sinks = false;

    static AttentionCase of(WeightType type, std::int64_t hidden_dim, const kernels::AttentionShape& shape,
                            std::int64_t past) {
        return {shape, hidden_dim, {type}, type, past};
    }
};

// What kTokens tokens make of their rows and of the cache.
struct AttentionResult {
    std::vector<std::vector<float>> x;  // of each token
    std::vector<std::byte> cache;
    int n_kernels = 0;  // of a token
    std::uint64_t n_replayed = 0;

    bool operator==(const AttentionResult& other) const {
        for (std::size_t t = 0; t < x.size(); ++t) {
            if (!parity::same_bits<float>(x[t], other.x[t])) return false;
        }
        return cache == other.cache;
    }
};

enum class Submit { kOneByOne, kWhole, kRepeated };

template <typename Change>
AttentionResult attend(Backend& backend, const AttentionCase& of, Submit submit, std::uint32_t seed,
                       const Change& change) {
    constexpr std::int64_t kTokens = 4;  // the fourth is a graph, if it is repeated
    constexpr std::int64_t kLayers = 2;
    const kernels::AttentionShape& shape = of.shape;
    const std::int64_t hidden = of.hidden_dim;
    const auto whole = [&](std::int64_t n, std::uint32_t its_seed) {
        return OnDevice<float>(backend, random_floats(n, its_seed, 0.5f));
    };
    const parity::TestSequences::Length length{of.past, kTokens};
    const parity::TestSequences sequences(backend, shape, {&length, 1}, kLayers,
                                          parity::TestSequences::Blocks::kEverywhere, of.kv);
    const std::int64_t part_rows[] = {shape.query_width(), shape.n_kv_heads * shape.key_dim,
                                      shape.n_kv_heads * shape.value_dim};
    std::vector<std::unique_ptr<parity::TestWeight>> projections;
    for (std::size_t p = 0; p < of.projections.size(); ++p) {
        const std::int64_t n_rows = of.projections.size() == 1 ? shape.qkv_width() : part_rows[p];
        projections.push_back(std::make_unique<parity::TestWeight>(backend, of.projections[p], n_rows, hidden,
                                                                   static_cast<std::uint32_t>(20 + p)));
    }
    const parity::TestWeight output(backend, of.output, hidden, shape.output_width(), 30);
    const auto norm = whole(hidden, 31), query_norm = whole(shape.key_dim, 32), key_norm = whole(shape.key_dim, 33);
    const auto bias = whole(shape.qkv_width(), 34), output_bias = whole(hidden, 35), sinks = whole(shape.n_heads, 36);
    const auto cos = whole(shape.rotary_dim / 2, 37), sin = whole(shape.rotary_dim / 2, 38);
    const auto nothing = [&](std::int64_t n) { return OnDevice<float>(backend, parity::filled(n, NAN)); };
    const auto normalised = nothing(hidden), qkv = nothing(shape.qkv_width()), gate = nothing(shape.output_width());
    const auto attended = nothing(shape.output_width()), projected = nothing(hidden);
    const OnDevice<float> x(backend, random_floats(hidden, seed));

    ops::GroupedAttention op;
    op.n = 1;
    op.norm = {kernels::NormKind::kRms, norm.data(), nullptr, hidden, 1e-5f};
    op.x = x.data();
    for (std::size_t p = 0; p < projections.size(); ++p) op.projections[p] = projections[p]->view;
    if (of.biases) op.bias = bias.data(), op.output_bias = output_bias.data();
    if (of.head_norms) {
        op.query_norm = {kernels::NormKind::kRms, query_norm.data(), nullptr, shape.key_dim, 1e-6f};
        op.key_norm = {kernels::NormKind::kRms, key_norm.data(), nullptr, shape.key_dim, 1e-6f};
    }
    op.layer = 1;
    op.shape = shape;
    if (of.sinks) op.shape.sinks = sinks.data();
    op.cos = cos.data(), op.sin = sin.data();
    op.kv = sequences.shape();
    op.output = output.view;
    op.factor = 0.75f;
    op.normalised = normalised.data(), op.qkv = qkv.data(), op.attended = attended.data();
    op.gate = gate.data(), op.projected = projected.data();
    change(op);

    AttentionResult result;
    const OnDevice<std::int32_t> device_past(backend, {0});
    for (std::int32_t t = 0; t < kTokens; ++t) {
        AttentionSegment segment = sequences.segments().front();
        segment.n_tokens = 1;
        segment.past += t;
        const auto past = static_cast<std::int32_t>(segment.past);
        if (submit == Submit::kRepeated) {
            backend.upload(device_past.data(), &past, sizeof past);
            parity::finish(backend);
            segment.device_past = device_past.data();
        }
        op.segments = {&segment, 1};
        const int before = cuda_host::calls_of("cudaLaunchKernel");
        if (submit == Submit::kRepeated) backend.begin_repeated(0);
        if (submit == Submit::kOneByOne) {
            op.for_each([&](const auto& part) { backend.submit(part); });
        } else {
            backend.submit(op);
        }
        if (submit == Submit::kRepeated) backend.end_repeated();
        result.n_kernels = cuda_host::calls_of("cudaLaunchKernel") - before;
        result.x.push_back(x.download());
    }
    result.cache = sequences.contents();
    result.n_replayed = backend.replays().n_replayed;
    return result;
}

AttentionResult attend(Backend& backend, const AttentionCase& of, Submit submit, std::uint32_t seed) {
    return attend(backend, of, submit, seed, [](ops::GroupedAttention&) {});
}

Backend::StepShape step_of(const AttentionCase& of) {
    Backend::StepShape step =
        step_of(layout_of(WeightType::kF32, WeightType::kF32, of.hidden_dim, 32), softmax_router(4, 2));
    step.attention = of.shape;
    step.context = 4096;
    return step;
}

void set_device(std::uint32_t seed, int compute_major = 9) {
    cuda_host::Settings settings;
    settings.seed = seed;
    settings.compute_major = compute_major;
    settings.compute_minor = compute_major == 7 ? 5 : 0;
    cuda_host::reset(settings);
}

}  // namespace

class TestCudaDecodeOnHost : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { cuda_host::reset(); }
    void cleanup() { QVERIFY2(problems_on_host().isEmpty(), qPrintable(problems_on_host())); }

    void experts_haveTheBitsOfTheOperations_data() {
        QTest::addColumn<int>("up");
        QTest::addColumn<int>("down");
        QTest::addColumn<bool>("bytes");
        QTest::addColumn<int>("hidden");
        QTest::addColumn<int>("ffn");
        QTest::addColumn<int>("experts");
        QTest::addColumn<int>("active");
        QTest::addColumn<int>("most_kernels");
        const auto row = [](WeightType up, WeightType down, bool bytes, int hidden, int ffn, int experts, int active,
                            int most_kernels) {
            QTest::addRow("%s and %s, %s inputs, %d x %d, %d of %d", kernels::traits_of(up).name,
                          kernels::traits_of(down).name, bytes ? "rounded" : "float32", hidden, ffn, active, experts)
                << static_cast<int>(up) << static_cast<int>(down) << bytes << hidden << ffn << experts << active
                << most_kernels;
        };
        using Type = WeightType;
        row(Type::kQ4_0, Type::kQ4_0, true, 64, 32, 4, 1, 3);
        row(Type::kQ4_0, Type::kQ4_0, true, 1088, 96, 8, 2, 3);
        row(Type::kQ8_0, Type::kQ8_0, true, 192, 160, 17, 8, 3);
        row(Type::kQ4K, Type::kQ6K, true, 512, 256, 9, 4, 3);
        row(Type::kQ4K, Type::kQ4K, true, 256, 512, 4, 2, 3);
        row(Type::kMxfp4, Type::kMxfp4, true, 128, 64, 8, 4, 3);
        row(Type::kHqq4, Type::kHqq4, false, 512, 128, 8, 2, 3);
        row(Type::kHqq3, Type::kHqq3, false, 256, 64, 4, 2, 3);
        row(Type::kInt8, Type::kInt8, false, 256, 192, 5, 3, 3);
        row(Type::kBf16, Type::kBf16, false, 192, 72, 8, 2, 3);
        row(Type::kBf16, Type::kBf16, false, 1088, 320, 4, 2, 3);
        row(Type::kQ4_0, Type::kQ4_0, false, 128, 64, 4, 2, 3);
        row(Type::kQ4K, Type::kQ6K, false, 256, 256, 9, 4, 3);
        // Not in few kernels: a width that is no multiple of 64.
        row(Type::kBf16, Type::kBf16, false, 72, 40, 4, 2, 8);
        if (test::kSanitized) return;
        row(Type::kQ4_0, Type::kQ4_0, true, 4096, 32, 4, 2, 3);
        row(Type::kQ8_0, Type::kQ4_0, true, 128, 32, 256, 16, 3);
        row(Type::kQ8_0, Type::kQ8_0, true, 128, 1056, 40, 6, 3);
        row(Type::kHqq4, Type::kBf16, false, 256, 64, 4, 2, 3);
        row(Type::kHqq2, Type::kHqq2, false, 768, 64, 4, 1, 3);
        row(Type::kF16, Type::kF16, false, 128, 40, 4, 2, 3);
        // All stretches that there may be, and more than one block of columns.
        row(Type::kHqq4, Type::kHqq4, false, 1280, 2112, 4, 2, 3);
        row(Type::kF32, Type::kF32, false, 576, 1600, 4, 3, 3);
        row(Type::kMxfp4, Type::kMxfp4, false, 192, 96, 40, 16, 3);
        // More blocks of columns than there are arrivals.
        row(Type::kF16, Type::kF16, false, 5120, 32, 56, 52, 8);
    }
    void experts_haveTheBitsOfTheOperations() {
        QFETCH(int, up);
        QFETCH(int, down);
        QFETCH(bool, bytes);
        QFETCH(int, hidden);
        QFETCH(int, ffn);
        QFETCH(int, experts);
        QFETCH(int, active);
        QFETCH(int, most_kernels);
        for (const std::uint32_t seed : {1u, 2u}) {
            set_device(seed, seed == 2 ? 7 : 9);
            auto backend = open_on_host();
            if (bytes) QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
            const auto layout = layout_of(static_cast<WeightType>(up), static_cast<WeightType>(down), hidden, ffn);
            const kernels::RouterSpec router = softmax_router(experts, active);
            backend->reserve(step_of(layout, router));
            const Experts layer(*backend, layout, router, false);
            for (const std::uint32_t token : {10u, 11u}) {  // the words of arrival are 0 again
                const Experts::Result expected = layer.run(true, token);
                const Experts::Result result = layer.run(false, token);
                QVERIFY2(backend->ok(), backend->failure().english().c_str());
                QVERIFY(same_result(result, expected));
                QVERIFY(result.x[0] == result.x[0]);
                QVERIFY2(result.n_kernels <= most_kernels, qPrintable(QString::number(result.n_kernels)));
                if (most_kernels < 8) QVERIFY(result.n_kernels + 3 <= expected.n_kernels);
            }
        }
    }

    // Rows come through shared memory from compute capability 8.0 on, and are read where
    // they lie before: files' blocks of every type, at any address, and packed rows at
    // multiples of 16 and of 8. Others are laid out, with codes at any distance from a
    // row's beginning. 3072: rows of three whole stages, which end between two
    // words of 16 bytes.
    void rowsThroughSharedMemory_haveTheSameBits_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("hidden");
        const auto row = [](WeightType type, int hidden) {
            QTest::addRow("%s, %d", kernels::name_of(type), hidden) << static_cast<int>(type) << hidden;
        };
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            if (format.is_blocks()) row(format.type, format.group == 256 ? 768 : 2080);
        }
        row(WeightType::kQ3K, 3072);
        if (!test::kSanitized) {
            row(WeightType::kIq3S, 3072);
            row(WeightType::kQ6K, 3072);
        }
        for (const WeightType type : {WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2, WeightType::kInt8}) {
            row(type, 768);
            if (!test::kSanitized) row(type, 2560);
        }
    }
    void rowsThroughSharedMemory_haveTheSameBits() {
        QFETCH(int, type);
        QFETCH(int, hidden);
        const auto weights = static_cast<WeightType>(type);
        // Packed w2 has other kernels there.
        const auto layout = layout_of(weights, kernels::is_blocks(weights) ? weights : WeightType::kF32, hidden, 256);
        const kernels::RouterSpec router = softmax_router(4, 2);
        const AttentionCase attention = AttentionCase::of(weights, hidden, parity::grouped_attention(4, 2, 64), 3);
        std::vector<Experts::Result> experts;
        std::vector<AttentionResult> attended;
        struct Way {
            int compute_major;
            bool lays_out;
        };
        for (const Way way : {Way{7, false}, Way{9, false}, Way{9, true}}) {  // cleanup() sees the problems of the last
            set_device(static_cast<std::uint32_t>(way.compute_major), way.compute_major);
            auto backend = test::open_with_rows(way.lays_out);
            if (kernels::is_blocks(weights)) QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
            backend->reserve(step_of(layout, router));
            const Experts layer(*backend, layout, router, false);
            experts.push_back(layer.run(false, 10));
            experts.push_back(layer.run(true, 11));
            backend->reserve(step_of(attention));
            attended.push_back(attend(*backend, attention, Submit::kWhole, 12));
            QVERIFY2(backend->ok(), backend->failure().english().c_str());
        }
        for (const std::size_t way : {1u, 2u}) {
            QVERIFY(same_result(experts[0], experts[2 * way]) && same_result(experts[1], experts[2 * way + 1]));
            QVERIFY(attended[0] == attended[way]);
        }
        QVERIFY(experts[0].x[0] == experts[0].x[0]);
        QVERIFY(attended[0].x.back()[0] == attended[0].x.back()[0]);
    }

    void attention_hasTheBitsOfTheOperations_data() {
        QTest::addColumn<int>("first");
        QTest::addColumn<int>("value");
        QTest::addColumn<int>("output");
        QTest::addColumn<bool>("bytes");
        QTest::addColumn<int>("hidden");
        QTest::addColumn<int>("heads");
        QTest::addColumn<int>("kv_heads");
        QTest::addColumn<int>("head_dim");
        QTest::addColumn<int>("kernels");
        using Type = WeightType;
        const auto row = [](Type first, Type value, Type output, bool bytes, int hidden, int heads, int kv_heads,
                            int head_dim, int kernels) {
            QTest::addRow("%s, values %s, output %s, %s inputs, %d, %d of %d heads of %d",
                          kernels::traits_of(first).name, kernels::traits_of(value).name,
                          kernels::traits_of(output).name, bytes ? "rounded" : "float32", hidden, kv_heads, heads,
                          head_dim)
                << static_cast<int>(first) << static_cast<int>(value) << static_cast<int>(output) << bytes << hidden
                << heads << kv_heads << head_dim << kernels;
        };
        row(Type::kQ4_0, Type::kQ4_0, Type::kQ4_0, true, 96, 4, 2, 64, 3);
        row(Type::kQ8_0, Type::kQ8_0, Type::kQ4_0, true, 1088, 2, 2, 80, 3);
        row(Type::kQ4K, Type::kQ6K, Type::kQ4K, true, 512, 8, 1, 128, 3);
        row(Type::kQ4K, Type::kQ8_0, Type::kQ5K, true, 256, 8, 2, 96, 3);
        row(Type::kHqq4, Type::kHqq4, Type::kHqq4, false, 512, 4, 1, 64, 3);
        row(Type::kInt8, Type::kInt8, Type::kHqq3, false, 256, 6, 2, 128, 3);
        row(Type::kBf16, Type::kBf16, Type::kF16, false, 72, 3, 1, 80, 3);
        row(Type::kF32, Type::kF32, Type::kBf16, false, 64, 4, 2, 32, 3);
        row(Type::kQ4_0, Type::kQ4_0, Type::kQ4_0, false, 64, 2, 1, 64, 3);
        row(Type::kQ4K, Type::kQ6K, Type::kQ8_0, false, 256, 2, 1, 64, 3);
        // Parts of which no kernel has more than an operation: products of types that one
        // kernel does not have together, and large heads.
        row(Type::kQ4_0, Type::kQ5_0, Type::kQ4_0, true, 64, 2, 1, 64, 9);
        row(Type::kBf16, Type::kBf16, Type::kBf16, false, 64, 2, 1, 160, 4);
        if (test::kSanitized) return;
        row(Type::kHqq2, Type::kHqq2, Type::kInt8, false, 256, 16, 2, 64, 3);
        row(Type::kQ4_0, Type::kQ4_0, Type::kQ8_0, true, 4096, 4, 4, 64, 3);
        row(Type::kQ4_0, Type::kQ4_0, Type::kMxfp4, false, 4608, 2, 1, 64, 3);
        row(Type::kF16, Type::kF16, Type::kF32, false, 1088, 5, 5, 128, 3);
    }
    void attention_hasTheBitsOfTheOperations() {
        QFETCH(int, first);
        QFETCH(int, value);
        QFETCH(int, output);
        QFETCH(bool, bytes);
        QFETCH(int, hidden);
        QFETCH(int, heads);
        QFETCH(int, kv_heads);
        QFETCH(int, head_dim);
        QFETCH(int, kernels);
        AttentionCase of = AttentionCase::of(static_cast<WeightType>(first), hidden,
                                             parity::grouped_attention(heads, kv_heads, head_dim), 60);
        if (value != first) of.projections = {of.projections[0], of.projections[0], static_cast<WeightType>(value)};
        of.output = static_cast<WeightType>(output);
        for (const std::uint32_t seed : {1u, 2u}) {
            set_device(seed, seed == 2 ? 7 : 9);
            auto backend = open_on_host();
            if (bytes) QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
            backend->reserve(step_of(of));
            of.head_norms = of.biases = seed == 2;
            const AttentionResult expected = attend(*backend, of, Submit::kOneByOne, 50);
            const AttentionResult result = attend(*backend, of, Submit::kWhole, 50);
            QVERIFY2(backend->ok(), backend->failure().english().c_str());
            QVERIFY(result == expected);
            QVERIFY(result.x[0][0] == result.x[0][0] && result.x[0] != result.x[1]);
            if (seed == 1) QCOMPARE(result.n_kernels, kernels);
            const AttentionResult repeated = attend(*backend, of, Submit::kRepeated, 50);
            QVERIFY(repeated == expected);
        }
    }

    // One block of keys, several splits, and as many as there are at most; every type of
    // cache; windows, sinks, and heads that are rotated in part.
    void keysAndCaches_haveTheBitsOfTheOperations() {
        struct Keys {
            std::int64_t past, window;
            int heads, kv_heads, head_dim;
        };
        std::vector<Keys> all = {{0, 0, 4, 2, 64},   {29, 0, 1, 1, 64},    {61, 0, 8, 1, 80},
                                 {126, 0, 3, 1, 96}, {190, 70, 2, 1, 128}, {300, 0, 4, 1, 64}};
        if (!test::kSanitized) all.push_back({2046, 0, 2, 1, 64});
        std::uint32_t seed = 1;
        for (const Keys& keys : all) {
            for (const kernels::KvType type : {kernels::KvType::kF32, kernels::KvType::kBf16, kernels::KvType::kInt8}) {
                set_device(++seed);
                auto backend = open_on_host();
                AttentionCase of = AttentionCase::of(
                    WeightType::kBf16, 64,
                    parity::grouped_attention(keys.heads, keys.kv_heads, keys.head_dim, keys.window), keys.past);
                of.kv = type;
                of.head_norms = seed % 2 == 0;
                of.sinks = of.biases = seed % 3 == 0;
                if (seed % 4 == 0) of.shape.rotary_dim = 16, of.shape.rotary_first = 8;
                backend->reserve(step_of(of));
                const AttentionResult expected = attend(*backend, of, Submit::kOneByOne, seed);
                const AttentionResult whole = attend(*backend, of, Submit::kWhole, seed);
                QVERIFY2(backend->ok(), backend->failure().english().c_str());
                QVERIFY(whole == expected);
                QCOMPARE(whole.n_kernels, 3);
                const AttentionResult repeated = attend(*backend, of, Submit::kRepeated, seed);
                QVERIFY(repeated == expected);
                // At 301 to 304 keys the number of splits stays in its power of two.
                if (keys.past == 300) QVERIFY(repeated.n_replayed > 0);
            }
        }
    }

    // What families have besides is computed by its operations, the rest as before.
    void furtherRules_haveTheBitsOfTheOperations() {
        auto backend = open_on_host();
        AttentionCase of = AttentionCase::of(WeightType::kBf16, 64, parity::grouped_attention(4, 2, 64), 70);
        of.head_norms = true;
        backend->reserve(step_of(of));
        const parity::TestWeight gate(*backend, WeightType::kBf16, of.shape.output_width(), of.hidden_dim, 60);
        const std::pair<int, std::function<void(ops::GroupedAttention&)>> rules[] = {
            {7, [](auto& op) { op.query_norm.dim *= 4, op.query_norm.weight = op.norm.weight = nullptr; }},
            {8,
             [](auto& op) {
                 op.value_norm = {kernels::NormKind::kRms, nullptr, nullptr, 64, 1e-6f};
             }},
            {8, [](auto& op) { op.clip = 0.3f; }},
            {7, [&](auto& op) { op.output_gate = gate.view; }},
            {5, [](auto& op) { op.output_norm = op.norm; }},
        };
        for (const auto& [n_kernels, rule] : rules) {
            const AttentionResult expected = attend(*backend, of, Submit::kOneByOne, 61, rule);
            const AttentionResult result = attend(*backend, of, Submit::kWhole, 61, rule);
            QVERIFY2(backend->ok(), backend->failure().english().c_str());
            QVERIFY(result == expected);
            QCOMPARE(result.n_kernels, n_kernels);
        }
    }

    // Layers of all kinds of weights. In graphs all but the first begin early, where the
    // GPU knows that.
    void aLayer_hasSixKernels_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("value");  // also w2's, where it is not the same
        QTest::addColumn<bool>("bytes");
        const auto row = [](const char* name, WeightType type, WeightType value, bool bytes) {
            QTest::newRow(name) << static_cast<int>(type) << static_cast<int>(value) << bytes;
        };
        using Type = WeightType;
        row("Mixtral in Q4_0", Type::kQ4_0, Type::kQ4_0, true);
        row("Qwen3 in Q4_K", Type::kQ4K, Type::kQ6K, true);
        row("Q4_K, float32 inputs", Type::kQ4K, Type::kQ6K, false);
        row("HQQ4", Type::kHqq4, Type::kHqq4, false);
        row("bf16", Type::kBf16, Type::kBf16, false);
    }
    void aLayer_hasSixKernels() {
        QFETCH(int, type);
        QFETCH(int, value);
        QFETCH(bool, bytes);
        const auto first = static_cast<WeightType>(type), second = static_cast<WeightType>(value);
        AttentionCase of = AttentionCase::of(first, 256, parity::grouped_attention(8, 2, 64), 200);
        of.head_norms = first == WeightType::kQ4K;
        if (second != first) of.projections = {first, first, second};
        const kernels::ExpertLayout layout = layout_of(first, second, 256, 256);
        const kernels::RouterSpec router = softmax_router(8, 2);
        for (const int compute_major : {8, 9}) {
            set_device(3, compute_major);
            auto backend = open_on_host();
            if (bytes) QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
            backend->reserve(step_of(of));
            const int attention = attend(*backend, of, Submit::kWhole, 70).n_kernels;
            backend->reserve(step_of(layout, router));
            const Experts layer(*backend, layout, router, false);
            const Experts::Result result = layer.run(false, 70);
            QCOMPARE(attention + result.n_kernels, 6);
            const int early = cuda_host::calls_of("cudaGraphAddNode");
            const int others = cuda_host::calls_of("cudaGraphAddKernelNode");
            const std::vector<Experts::Result> repeated = layer.repeat(4, 70);
            for (std::uint32_t i = 0; i < repeated.size(); ++i) {
                QVERIFY(same_result(repeated[i], layer.run(true, 70 + i)));
            }
            QVERIFY(backend->replays().n_replayed >= 2);
            QCOMPARE(cuda_host::calls_of("cudaGraphAddNode") - early, compute_major == 9 ? result.n_kernels - 1 : 0);
            QCOMPARE(cuda_host::calls_of("cudaGraphAddKernelNode") - others, compute_major == 9 ? 1 : result.n_kernels);
        }
    }

    // With them a layer has eight kernels; formats by neurons are computed by operations.
    void sharedExperts_haveTheBitsOfTheOperations() {
        struct Case {
            WeightType up, down, shared_up, shared_down;
            std::int64_t hidden, shared_ffn;
            int n_kernels;
        };
        using Type = WeightType;
        const Case cases[] = {
            {Type::kQ4_0, Type::kQ4_0, Type::kQ4_0, Type::kQ4_0, 64, 32, 5},
            {Type::kQ4K, Type::kQ6K, Type::kQ8_0, Type::kQ8_0, 512, 96, 5},
            {Type::kQ8_0, Type::kQ8_0, Type::kQ8_0, Type::kQ4_0, 2304, 512, 5},
            {Type::kQ4_0, Type::kQ4_0, Type::kBf16, Type::kBf16, 64, 48, 0},
            {Type::kBf16, Type::kBf16, Type::kBf16, Type::kBf16, 64, 48, 0},
        };
        std::uint32_t seed = 0;
        for (const Case& each : cases) {
            for (const bool gated : {false, true}) {
                set_device(++seed);
                auto backend = open_on_host();
                QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
                const auto layout = layout_of(each.up, each.down, each.hidden, each.down == Type::kQ4_0 ? 32 : 256);
                const kernels::RouterSpec router = softmax_router(6, 2);
                Backend::StepShape step = step_of(layout, router);
                step.dense_ffn_dim = each.shared_ffn;
                backend->reserve(step);
                Experts layer(*backend, layout, router, false);
                const Experts::Result without = layer.run(false, seed);
                layer.set_shared(layout_of(each.shared_up, each.shared_down, each.hidden, each.shared_ffn), gated);
                const Experts::Result expected = layer.run(true, seed);
                const Experts::Result result = layer.run(false, seed);
                QVERIFY2(backend->ok(), backend->failure().english().c_str());
                QVERIFY(same_result(result, expected) && !same_result(result, without));
                if (each.n_kernels > 0) QCOMPARE(result.n_kernels, each.n_kernels);
            }
        }
    }

    // Every way to choose, and experts with biases and another activation.
    void everyRouterAndActivation_hasTheBitsOfTheOperations() {
        auto backend = open_on_host();
        QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
        const std::vector<kernels::RouterSpec> routers = kernels::test::router_specs();
        for (const WeightType type : {WeightType::kQ8_0, WeightType::kBf16, WeightType::kMxfp4}) {
            if (type == WeightType::kMxfp4) QVERIFY(backend->set_byte_inputs({}));
            kernels::ExpertLayout layout = layout_of(type, type, 128, 64);
            Experts::Weights weights[3];  // of each kind; making them takes longest
            // The router's kernel is the same for weights of all types.
            const std::size_t stride = type == WeightType::kQ8_0 ? 1 : 5;
            for (std::size_t r = 0; r < routers.size(); r += stride) {
                const kernels::RouterSpec& router = routers[r];
                layout.spec.biases = r % 3 == 0;
                layout.spec.activation = layout.spec.biases ? kernels::Activation::kClamped
                                         : r % 3 == 1       ? kernels::Activation::kGeluTanh
                                                            : kernels::Activation::kReluSquared;
                backend->reserve(step_of(layout, router));
                Experts::Weights& experts = weights[r % 3];
                QVERIFY(router.n_experts <= 64);
                if (experts == nullptr) experts = Experts::weights_of(*backend, layout, 64);
                for (const bool biased : {false, true}) {
                    const Experts layer(*backend, layout, router, biased, experts);
                    const Experts::Result expected = layer.run(true, 20);
                    const Experts::Result result = layer.run(false, 20);
                    QVERIFY(same_result(result, expected));
                    QCOMPARE(result.n_kernels, 3);
                }
            }
        }
    }

    // The CPU computes the operations one by one.
    void cpu_hasTheBitsOfTheOperations() {
        kernels::ThreadPool pool(1);
        CpuBackend cpu(pool, kernels::GemmMode::kF32, std::uint64_t{64} << 20);
        for (const WeightType type : {WeightType::kQ4_0, WeightType::kHqq4, WeightType::kBf16}) {
            const Experts layer(cpu, layout_of(type, type, 128, 64), softmax_router(6, 2), false);
            const Experts::Result result = layer.run(false, 30);
            QVERIFY(same_result(result, layer.run(true, 30)));
            QVERIFY(!parity::same_bits<float>(result.x, random_floats(128, 30)));
            const AttentionCase of = AttentionCase::of(type, 128, parity::grouped_attention(2, 1, 64), 5);
            QVERIFY(attend(cpu, of, Submit::kWhole, 30) == attend(cpu, of, Submit::kOneByOne, 30));
        }
    }

    // Behind a router that did not start no address follows from its choice; after the
    // recovery the layer is computed as before.
    void afterAFailure_theBitsAreTheSame() {
        auto backend = open_on_host();
        QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
        const kernels::ExpertLayout layout = layout_of(WeightType::kQ4_0, WeightType::kQ4_0, 128, 64);
        const kernels::RouterSpec router = softmax_router(8, 2);
        backend->reserve(step_of(layout, router));
        const Experts layer(*backend, layout, router, false);
        const Experts::Result expected = layer.run(false, 40);
        for (int n = 1; n <= 3; ++n) {
            cuda_host::fail_call("cudaLaunchKernel", n);
            (void)layer.run(false, 40);
            cuda_host::fail_call("cudaLaunchKernel", 0);
            QVERIFY(!backend->ok());
            backend->clear_failure();
            QVERIFY(backend->ok());
            QVERIFY(same_result(layer.run(false, 40), expected));
        }
    }
    void afterAFailureInAttention_theBitsAreTheSame() {
        auto backend = open_on_host();
        const AttentionCase of = AttentionCase::of(WeightType::kBf16, 64, parity::grouped_attention(4, 1, 64), 200);
        backend->reserve(step_of(of));
        const AttentionResult expected = attend(*backend, of, Submit::kWhole, 41);
        for (int n = 1; n <= 3; ++n) {
            cuda_host::fail_call("cudaLaunchKernel", n);
            (void)attend(*backend, of, Submit::kWhole, 41);
            cuda_host::fail_call("cudaLaunchKernel", 0);
            QVERIFY(!backend->ok());
            backend->clear_failure();
            QVERIFY(backend->ok());
            QVERIFY(attend(*backend, of, Submit::kWhole, 41) == expected);
        }
    }
};

QTEST_GUILESS_MAIN(TestCudaDecodeOnHost)
#include "tst_cuda_decode_on_host.moc"
