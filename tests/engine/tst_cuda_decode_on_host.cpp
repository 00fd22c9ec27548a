// One token's layers in few kernels (ops::DecodeExperts) on the CUDA that runs on the
// host (tests/cuda_host): the bits of the operations one by one, and how many kernels
// there are.

#include <numeric>

#include <QTest>

#include "engine/device/cpu_backend.h"
#include "kernels/thread_pool.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/parity/parity_values.h"
#include "tests/engine/parity/test_experts.h"
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
    Experts(Backend& backend, const kernels::ExpertLayout& layout, const kernels::RouterSpec& router, bool biased)
        : backend_(backend),
          layout_(layout),
          router_(router),
          n_active_(router.n_active),
          experts_(backend, std::vector<kernels::ExpertLayout>(static_cast<std::size_t>(router.n_experts), layout)),
          blocks_(backend, addresses()),
          gate_(backend, random_floats(router.n_experts * layout.hidden_dim, 3, 0.4f)),
          bias_(backend, random_floats(router.n_experts, 4, 0.2f)),
          norm_(backend, random_floats(layout.hidden_dim, 5)),
          tokens_(backend, std::vector<std::int32_t>(static_cast<std::size_t>(n_active_), 0)),
          row_of_(backend, counted(n_active_)) {
        if (biased) selection_bias_ = bias_.data();
    }

    struct Result {
        std::vector<float> x, normalised, weights;
        std::vector<std::int32_t> chosen;
        int n_kernels = 0;
    };
    Result run(bool one_by_one, std::uint32_t seed) const {
        const OnDevice<float> x(backend_, random_floats(layout_.hidden_dim, seed));
        const OnDevice<float> normalised(backend_, parity::filled(layout_.hidden_dim, NAN));
        const OnDevice<float> weights(backend_, parity::filled(n_active_, NAN));
        const OnDevice<float> rows(backend_, parity::filled(n_active_ * layout_.hidden_dim, NAN));
        const OnDevice<std::int32_t> chosen(backend_, std::vector<std::int32_t>(as_size(n_active_), -1));
        const ops::DecodeExperts op{.norm = {kernels::NormKind::kRms, norm_.data(), nullptr, layout_.hidden_dim, 1e-5f},
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
                                    .rows = rows.data()};
        const int before = cuda_host::calls_of("cudaLaunchKernel");
        if (one_by_one) {
            op.for_each([&](const auto& part) { backend_.submit(part); });
        } else {
            backend_.submit(op);
        }
        const int n_kernels = cuda_host::calls_of("cudaLaunchKernel") - before;
        return {x.download(), normalised.download(), weights.download(), chosen.download(), n_kernels};
    }

  private:
    static std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }
    static std::vector<std::int32_t> counted(std::int64_t n) {
        std::vector<std::int32_t> numbers(as_size(n));
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }
    std::vector<const std::byte*> addresses() const {
        std::vector<const std::byte*> all;
        for (std::int32_t e = 0; e < router_.n_experts; ++e) {
            all.push_back(static_cast<const std::byte*>(experts_.view(as_size(e)).data));
        }
        return all;
    }

    Backend& backend_;
    const kernels::ExpertLayout layout_;
    const kernels::RouterSpec router_;
    const std::int64_t n_active_;
    const parity::TestExperts experts_;
    const OnDevice<const std::byte*> blocks_;
    const OnDevice<float> gate_, bias_, norm_;
    const OnDevice<std::int32_t> tokens_, row_of_;
    const float* selection_bias_ = nullptr;
};

bool same_result(const Experts::Result& a, const Experts::Result& b) {
    return parity::same_bits<float>(a.x, b.x) && parity::same_bits<float>(a.normalised, b.normalised) &&
           parity::same_bits<float>(a.weights, b.weights) && a.chosen == b.chosen;
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
        row(Type::kHqq4, Type::kHqq4, false, 512, 128, 8, 2, 4);
        row(Type::kHqq3, Type::kHqq3, false, 256, 64, 4, 2, 4);
        row(Type::kInt8, Type::kInt8, false, 256, 192, 5, 3, 4);
        row(Type::kBf16, Type::kBf16, false, 192, 72, 8, 2, 4);
        row(Type::kBf16, Type::kBf16, false, 1088, 320, 4, 2, 4);
        // Not in few kernels: blocks with float32 inputs, and a width that is no multiple
        // of 64.
        row(Type::kQ4_0, Type::kQ4_0, false, 128, 64, 4, 2, 8);
        row(Type::kBf16, Type::kBf16, false, 72, 40, 4, 2, 8);
        if (test::kSanitized) return;
        row(Type::kQ4_0, Type::kQ4_0, true, 4096, 32, 4, 2, 3);
        row(Type::kQ8_0, Type::kQ4_0, true, 128, 32, 256, 16, 3);
        row(Type::kQ8_0, Type::kQ8_0, true, 128, 1056, 40, 6, 3);
        row(Type::kHqq4, Type::kBf16, false, 256, 64, 4, 2, 4);
        row(Type::kHqq2, Type::kHqq2, false, 768, 64, 4, 1, 4);
        row(Type::kF16, Type::kF16, false, 128, 40, 4, 2, 4);
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

    // Every way to choose, and experts with biases and another activation.
    void everyRouterAndActivation_hasTheBitsOfTheOperations() {
        auto backend = open_on_host();
        QVERIFY(backend->set_byte_inputs(kernels::ByteInputTypes::all()));
        for (const WeightType type : {WeightType::kQ8_0, WeightType::kBf16}) {
            kernels::ExpertLayout layout = layout_of(type, type, 128, 64);
            for (const kernels::RouterSpec& router : kernels::test::router_specs()) {
                layout.spec.biases = !layout.spec.biases;
                layout.spec.activation =
                    layout.spec.biases ? kernels::Activation::kClamped : kernels::Activation::kGeluTanh;
                backend->reserve(step_of(layout, router));
                for (const bool biased : {false, true}) {
                    const Experts layer(*backend, layout, router, biased);
                    const Experts::Result expected = layer.run(true, 20);
                    const Experts::Result result = layer.run(false, 20);
                    QVERIFY(same_result(result, expected));
                    QCOMPARE(result.n_kernels, type == WeightType::kBf16 ? 4 : 3);
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
};

QTEST_GUILESS_MAIN(TestCudaDecodeOnHost)
#include "tst_cuda_decode_on_host.moc"
