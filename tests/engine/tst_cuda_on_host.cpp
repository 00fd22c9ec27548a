// The CUDA backend's operations on the host. tst_cuda_backend.cpp tests real hardware.

#include <memory>

#include <QTest>

#include "engine/device/cpu_backend.h"
#include "kernels/thread_pool.h"
#include "tests/engine/cuda_on_host.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_experts.h"
#include "tests/engine/parity/test_sequences.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using test::open_on_host;
using test::problems_on_host;

namespace {

// With cuBLAS, products of more than 8 rows round their inputs to the weights' type
// (bf16: 8 bits).
constexpr double kRounded = 4e-3;
constexpr double kExact = 3e-6;

// A prompt after about 2,000 tokens.
Backend::StepShape prompt_step(const kernels::AttentionShape& attention) {
    Backend::StepShape step;
    step.n_tokens = 24;
    step.hidden_dim = 16;
    step.ffn_dim = 16;
    step.n_experts = 1;
    step.n_active = 1;
    step.attention = attention;
    step.context = 2048;
    return step;
}

// The largest difference of two results, as a share of 1 or of the value.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = a.size() == b.size() && !a.empty() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double difference = std::abs(double{a[i]} - double{b[i]}) / std::max(1.0, std::abs(double{b[i]}));
        if (!(difference <= largest)) largest = difference;  // NaN too
    }
    return largest;
}

std::vector<float> attended(Backend& backend, const kernels::AttentionShape& shape,
                            const std::vector<parity::TestSequences::Length>& lengths) {
    Backend::StepShape step = parity::largest_step();
    step.attention = shape;
    step.context = 8192;
    backend.reserve(step);
    const parity::TestSequences sequences(backend, shape, lengths, 1);
    const std::int64_t stride = parity::query_stride(shape);
    const parity::OnDevice<float> queries(backend, parity::random_floats(sequences.n_rows() * stride, 2));
    const parity::OnDevice<float> out(backend, parity::filled(sequences.n_rows() * shape.output_width(), NAN));
    backend.submit(ops::Attend{0, shape, sequences.segments(), queries.data(), stride, sequences.shape(), out.data()});
    return out.download();
}

}  // namespace

class TestCudaOnHost : public QObject {
    Q_OBJECT

  private slots:
    void init() { cuda_host::reset(); }
    void keeps_the_contract_on_the_host_layer_data();
    void keeps_the_contract_on_the_host_layer();
    void attention_of_unusual_shapes_matches_the_cpu_data();
    void attention_of_unusual_shapes_matches_the_cpu();
    void more_experts_than_a_launch_takes_match_the_cpu();
    void more_rows_than_scratch_takes_match_the_cpu();
    void packed_experts_of_many_rows_are_multiplied_together();
    void small_experts_of_many_rows_are_chosen_for_apart();
    void prompts_read_keys_in_host_memory_once_data();
    void prompts_read_keys_in_host_memory_once();
    void keys_are_copied_beside_the_work();
    void one_tokens_place_may_be_the_devices_to_read();
    void too_little_scratch_is_a_failure();
    void layers_of_two_head_sizes_have_room();
    void packed_weights_that_are_not_aligned_are_a_failure();
    void same_bits_in_any_order_of_threads();

  private:
    kernels::ThreadPool pool_{1};
    CpuBackend cpu_{pool_, kernels::GemmMode::kF32, std::uint64_t{256} << 20};
};

void TestCudaOnHost::keeps_the_contract_on_the_host_layer_data() {
    QTest::addColumn<int>("compute_major");
    QTest::addColumn<int>("compute_minor");
    QTest::addColumn<bool>("cublas");
    QTest::addColumn<int>("seed");
    QTest::addColumn<int>("check");
    QTest::addColumn<bool>("byte_inputs");
    for (std::size_t i = 0; i < parity::all_checks().size(); ++i) {
        const char* name = parity::all_checks()[i].name;
        const auto check = static_cast<int>(i);
        QTest::addRow("host layer as 9.0 with cuBLAS: %s", name) << 9 << 0 << true << 1 << check << false;
        const bool of_blocks = QString(name).contains("_blocks") && !QString(name).startsWith("embed");
        if (of_blocks) QTest::addRow("inputs of 8 bits: %s", name) << 8 << 6 << false << 4 << check << true;
        if (test::kSanitized) continue;  // every lane is a fiber: minutes
        // Without cuBLAS, and on older GPUs, only products differ: cuBLAS has no bfloat16
        // for these.
        if (!QString(name).startsWith("multiply") && !QString(name).startsWith("experts")) continue;
        QTest::addRow("host layer as 8.6 without cuBLAS: %s", name) << 8 << 6 << false << 3 << check << false;
        QTest::addRow("host layer as 7.5 with cuBLAS: %s", name) << 7 << 5 << true << 2 << check << false;
    }
}

void TestCudaOnHost::keeps_the_contract_on_the_host_layer() {
    QFETCH(int, compute_major);
    QFETCH(int, compute_minor);
    QFETCH(bool, cublas);
    QFETCH(int, seed);
    QFETCH(int, check);
    QFETCH(bool, byte_inputs);
    cuda_host::Settings settings;
    settings.compute_major = compute_major;
    settings.compute_minor = compute_minor;
    settings.cublas = cublas;
    settings.seed = static_cast<std::uint32_t>(seed);
    cuda_host::reset(settings);
    const parity::Check& run = parity::all_checks()[static_cast<std::size_t>(check)];
    // Tensor cores multiply many rows of packed weights, with cuBLAS or without.
    const bool rounds = cublas || QString(run.name).contains("packed") || QString(run.name).contains("mixed");
    parity::run_check(run, *open_on_host(), {rounds ? kRounded : kExact, true, byte_inputs});
    QCOMPARE(problems_on_host(), QString());
}

void TestCudaOnHost::attention_of_unusual_shapes_matches_the_cpu_data() {
    QTest::addColumn<int>("n_heads");
    QTest::addColumn<int>("n_kv_heads");
    QTest::addColumn<int>("head_dim");
    QTest::addColumn<int>("sliding_window");
    QTest::addRow("groups of 8, window") << 8 << 1 << 32 << 70;
    if (test::kSanitized) return;
    QTest::addRow("groups of 3") << 6 << 2 << 64 << 0;
    QTest::addRow("heads of 256") << 4 << 2 << 256 << 0;
    QTest::addRow("heads of 192, groups of 5") << 5 << 1 << 192 << 0;
    QTest::addRow("heads of 4") << 2 << 2 << 4 << 0;
    QTest::addRow("latent") << 5 << 0 << 30 << 0;
    QTest::addRow("latent in a window") << 2 << 0 << 25 << 100;
}

void TestCudaOnHost::attention_of_unusual_shapes_matches_the_cpu() {
    QFETCH(int, n_heads);
    QFETCH(int, n_kv_heads);
    QFETCH(int, head_dim);
    QFETCH(int, sliding_window);
    // The cache has no separate heads: latent attention.
    const kernels::AttentionShape shape =
        n_kv_heads == 0 ? parity::latent_attention(n_heads, head_dim, head_dim / 10 * 2, sliding_window)
                        : parity::grouped_attention(n_heads, n_kv_heads, head_dim, sliding_window);
    const std::unique_ptr<Backend> backend = open_on_host();
    // More keys than the splits hold at their least; more segments than a launch takes;
    // both kinds in one step.
    std::vector<std::vector<parity::TestSequences::Length>> steps = {{{4500, 1}, {4096, 2}},
                                                                     {{70, 45}, {5, 3}, {0, 9}}};
    steps.emplace_back();
    for (std::int64_t s = 0; s < 70; ++s) steps.back().push_back({s * 3, s % 2 == 0 ? 1 : 9});
    for (const auto& lengths : steps) {
        const double apart = distance(attended(*backend, shape, lengths), attended(cpu_, shape, lengths));
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
        QVERIFY2(apart < 1e-5, qPrintable(QString::number(apart)));
    }
}

void TestCudaOnHost::more_experts_than_a_launch_takes_match_the_cpu() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const auto rows = [](Backend& device) {
        device.reserve(parity::largest_step());
        const parity::TestExperts experts(device, kernels::WeightType::kF16, 24, 16, 70);
        const parity::OnDevice<float> inputs(device, parity::random_floats(64 * 24, 1));
        std::vector<parity::TestExperts::Share> shares;
        for (std::size_t e = 0; e < 70; ++e) {
            shares.push_back({e, parity::some_tokens(e < 66 ? 1 : 3, static_cast<std::int32_t>(e), 1)});
        }
        return experts.run(shares, inputs, 0).rows;
    };
    const double apart = distance(rows(*backend), rows(cpu_));
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QVERIFY2(apart < 1e-5, qPrintable(QString::number(apart)));
}

// Products and experts of more rows than are converted at once.
void TestCudaOnHost::more_rows_than_scratch_takes_match_the_cpu() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const auto results = [](Backend& device) {
        constexpr std::int64_t kRows = 1100;
        Backend::StepShape step = parity::largest_step();
        step.hidden_dim = 32;
        step.ffn_dim = 16;
        step.attention = parity::grouped_attention(1, 1, 32);
        device.reserve(step);
        const parity::TestWeight weight(device, kernels::WeightType::kBf16, 8, 32, 3);
        const parity::OnDevice<float> x(device, parity::random_floats(kRows * 32, 4));
        const parity::OnDevice<float> y(device, parity::filled(kRows * 8, NAN));
        device.submit(ops::Multiply{weight.view, x.data(), kRows, y.data()});
        std::vector<float> all = y.download();
        const parity::TestExperts experts(device, kernels::WeightType::kBf16, 32, 16, 1);
        const parity::TestExperts::Share share{0, parity::some_tokens(kRows, 0, 1)};
        const std::vector<float> rows = experts.run(std::vector{share}, x, 0).rows;
        all.insert(all.end(), rows.begin(), rows.end());
        return all;
    };
    const double apart = distance(results(*backend), results(cpu_));
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QVERIFY2(apart < 3e-2, qPrintable(QString::number(apart)));  // inputs in bf16
    QVERIFY(apart > 0);
}

// From their bits, all of a layer in one launch for w1 and w3 and one for w2; cuBLAS only
// for many rows.
void TestCudaOnHost::packed_experts_of_many_rows_are_multiplied_together() {
    using kernels::WeightType;
    const auto calls = [](const char* function) { return cuda_host::calls_of(function); };
    const std::unique_ptr<Backend> backend = open_on_host();
    const auto rows = [](Backend& device) {
        device.reserve(parity::largest_step());
        const parity::TestExperts experts(device, WeightType::kHqq4, 64, 18, 66);
        const parity::OnDevice<float> inputs(device, parity::random_floats(64 * 64, 1));
        std::vector<parity::TestExperts::Share> shares;
        for (std::size_t e = 0; e < 66; ++e) {
            shares.push_back({e, parity::some_tokens(e == 0 ? 60 : 9, static_cast<std::int32_t>(e % 50), 1)});
        }
        return experts.run(shares, inputs, 0).rows;
    };
    const int launches = calls("cudaLaunchKernel");
    const std::vector<float> got = rows(*backend);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    QCOMPARE(calls("cublasGemmEx"), 0);
    // Inputs, activations and w2, of 64 experts and of the others; and reserve() clears
    // the words of arrival.
    QCOMPARE(calls("cudaLaunchKernel") - launches, 7);
    const double difference = distance(got, rows(cpu_));
    QVERIFY2(difference > 0 && difference < 1e-2, qPrintable(QString::number(difference)));  // rounded to bf16

    const parity::TestWeight weight(*backend, WeightType::kHqq4, 8, 64, 3);
    const parity::OnDevice<float> x(*backend, parity::random_floats(257 * 64, 4));
    const parity::OnDevice<float> y(*backend, parity::filled(257 * 8, NAN));
    backend->submit(ops::Multiply{weight.view, x.data(), 256, y.data()});
    QCOMPARE(calls("cublasGemmEx"), 0);
    const std::vector<float> tiles = y.download();
    backend->submit(ops::Multiply{weight.view, x.data(), 257, y.data()});
    QVERIFY(calls("cublasGemmEx") > 0);
    std::vector<float> products = y.download();
    products.resize(256 * 8);
    const double apart = distance({tiles.begin(), tiles.begin() + 256 * 8}, products);
    QVERIFY2(apart < 1e-5, qPrintable(QString::number(apart)));  // of the same numbers

    // Large matrices take cuBLAS from the first such row on; but experts in INT8.
    const int before = calls("cublasGemmEx");
    const parity::TestWeight large(*backend, WeightType::kHqq4, 129, 64, 5);
    const parity::OnDevice<float> out(*backend, parity::filled(9 * 129, NAN));
    backend->submit(ops::Multiply{large.view, x.data(), 9, out.data()});
    QVERIFY(calls("cublasGemmEx") > before);
    for (const WeightType type : {WeightType::kInt8, WeightType::kHqq4}) {
        const int calls_before = calls("cublasGemmEx");
        backend->reserve(parity::largest_step());
        const parity::TestExperts experts(*backend, type, 64, 129, 1);
        experts.run(std::vector{parity::TestExperts::Share{0, parity::some_tokens(9, 0, 1)}}, x, 0);
        QCOMPARE(calls("cublasGemmEx") > calls_before, type == WeightType::kHqq4);
    }
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
}

// For small experts, rounding of inputs for many rows is a separate choice; all of them
// are five launches then.
void TestCudaOnHost::small_experts_of_many_rows_are_chosen_for_apart() {
    using kernels::ByteInputTypes;
    using kernels::WeightType;
    const auto calls = [](const char* function) { return cuda_host::calls_of(function); };
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(parity::largest_step());
    for (const bool small : {true, false}) {
        const std::int64_t hidden = small ? 64 : 256, ffn = 64;
        kernels::ExpertLayout layout = kernels::expert_layout(WeightType::kQ8_0, hidden, ffn);
        layout.down_rows_are_outputs = true;
        const parity::TestExperts experts(*backend, {layout, layout});
        const parity::OnDevice<float> inputs(*backend, parity::random_floats(64 * hidden, 1));
        for (const bool rounded : {true, false}) {
            ByteInputTypes types;
            (rounded == small ? types.small_experts : types.many) = ByteInputTypes::bit(WeightType::kQ8_0);
            backend->set_byte_inputs(types);
            const int launches = calls("cudaLaunchKernel"), products = calls("cublasGemmEx");
            experts.run(std::vector<parity::TestExperts::Share>{{0, parity::some_tokens(9, 0, 1)},
                                                                {1, parity::some_tokens(20, 3, 1)}},
                        inputs, 0);
            QVERIFY2(backend->ok(), backend->failure().english().c_str());
            QCOMPARE(calls("cublasGemmEx") > products, !rounded);
            if (rounded) QCOMPARE(calls("cudaLaunchKernel") - launches, 3);
        }
    }
}

void TestCudaOnHost::prompts_read_keys_in_host_memory_once_data() {
    QTest::addColumn<int>("key_dim");
    QTest::addColumn<int>("n_kv_heads");
    QTest::addColumn<int>("window");
    QTest::addColumn<int>("pieces");  // at least
    QTest::addRow("all keys") << 64 << 2 << 0 << 3;
    QTest::addRow("latent in a window") << 48 << 0 << 1900 << 2;
    if (test::kSanitized) return;
    QTest::addRow("heads of 256") << 256 << 1 << 0 << 2;
    QTest::addRow("in a window") << 64 << 2 << 1900 << 3;
}

// Copied to the device a few blocks at a time, as its memory allows, and by a copy queue;
// the first of them ahead of use, blocks that change meanwhile only at use. No bit
// differs.
void TestCudaOnHost::prompts_read_keys_in_host_memory_once() {
    QFETCH(int, key_dim);
    QFETCH(int, n_kv_heads);
    QFETCH(int, window);
    QFETCH(int, pieces);
    const kernels::AttentionShape shape = n_kv_heads == 0 ? parity::latent_attention(2, key_dim, 16, window)
                                                          : parity::grouped_attention(2, n_kv_heads, key_dim, window);
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(prompt_step(shape));
    using Blocks = parity::TestSequences::Blocks;
    // The written block is in host memory too.
    std::vector<parity::TestSequences::Length> lengths = {{2000, 9}, {150, 9}, {7, 3}};
    const auto is_written_in_host = [&] {
        const parity::TestSequences sequences(*backend, shape, lengths, 2);
        const AttentionSegment& segment = sequences.segments().front();
        return segment.in_host[static_cast<std::size_t>(segment.past / kernels::kKvBlockTokens)] != 0;
    };
    while (!is_written_in_host()) lengths[0].past -= kernels::kKvBlockTokens;
    QVERIFY(lengths[0].past > 1500);
    const auto calls = [](const char* function) { return cuda_host::calls_of(function); };
    struct Run {
        parity::TestSequences::Blocks where;
        bool fetched, repeated;
        std::vector<float> result;
        int launches, copies, fetches;
    };
    Run runs[] = {{Blocks::kOnDevice, true, false, {}, 0, 0, 0},
                  {Blocks::kEverywhere, false, false, {}, 0, 0, 0},
                  {Blocks::kEverywhere, true, false, {}, 0, 0, 0},
                  {Blocks::kEverywhere, true, true, {}, 0, 0, 0}};
    for (Run& run : runs) {
        const parity::TestSequences sequences(*backend, shape, lengths, 2, run.where);
        const auto segments = sequences.segments();
        const std::int64_t stride = shape.qkv_width();
        const parity::OnDevice<float> qkv(*backend, parity::random_floats(sequences.n_rows() * stride, 2, 2.0f));
        const parity::OnDevice<float> angles(*backend, parity::filled(sequences.n_rows() * shape.rotary_dim, 0.5f));
        const parity::OnDevice<float> out(*backend, parity::filled(sequences.n_rows() * shape.output_width(), NAN));
        const int launches = calls("cudaLaunchKernel");
        int copies = calls("cudaMemcpyAsync");
        if (run.fetched) backend->fetch_keys(1, shape, segments, sequences.shape());
        run.fetches = calls("cudaMemcpyAsync") - copies;
        if (run.repeated) backend->begin_repeated(0);
        copies = calls("cudaMemcpyAsync");
        if (n_kv_heads > 0) {
            backend->submit(
                ops::RotateAndStore{1, shape, segments, angles.data(), angles.data(), qkv.data(), sequences.shape()});
        }
        backend->submit(ops::Attend{1, shape, segments, qkv.data(), stride, sequences.shape(), out.data()});
        run.copies = calls("cudaMemcpyAsync") - copies;
        backend->end_repeated();
        run.launches = calls("cudaLaunchKernel") - launches;
        run.result = out.download();
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
        QVERIFY(parity::same_bits<float>(run.result, runs[0].result));
    }
    QVERIFY(std::isfinite(runs[0].result[0]));
    QVERIFY(runs[0].fetches == 0 && runs[0].copies == 0 && runs[1].fetches == 0);
    // A table, then pieces of the prompt's keys, each entered by one launch and read by
    // another.
    const QString said = QStringLiteral("%1 and %2 launches, %3 copies, %4 and %5 with keys that were fetched")
                             .arg(runs[0].launches)
                             .arg(runs[1].launches)
                             .arg(runs[1].copies)
                             .arg(runs[2].fetches)
                             .arg(runs[2].copies);
    QVERIFY2(runs[1].launches - runs[0].launches >= 2 * pieces && runs[1].launches <= 30, qPrintable(said));
    for (const Run& run : {runs[2], runs[3]}) {
        QVERIFY2(run.fetches >= 3 && run.fetches + run.copies == runs[1].copies, qPrintable(said));
    }
}

// A range's keys are being copied before the attention of the range before; and the next
// layer's before its products, which continue if they are not used.
void TestCudaOnHost::keys_are_copied_beside_the_work() {
    const kernels::AttentionShape shape = parity::grouped_attention(2, 2, 64);
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(prompt_step(shape));
    const auto copies = [] { return cuda_host::calls_of("cudaMemcpyAsync"); };
    const parity::TestSequences sequences(*backend, shape, std::vector<parity::TestSequences::Length>{{2000, 9}}, 2);
    const auto segments = sequences.segments();
    const parity::OnDevice<float> qkv(*backend, parity::random_floats(9 * shape.qkv_width(), 2));
    const parity::OnDevice<float> out(*backend, parity::filled(9 * shape.output_width(), NAN));
    const auto attend = [&] {
        backend->submit(ops::Attend{1, shape, segments, qkv.data(), shape.qkv_width(), sequences.shape(), out.data()});
    };
    const int before = copies();
    attend();
    const int all = copies() - before;
    // The table, the places of the first range, its attention.
    cuda_host::fail_call("cudaLaunchKernel", 3);
    const int until = copies();
    attend();
    const int two_ranges = copies() - until;
    cuda_host::fail_call("cudaLaunchKernel", 0);
    QVERIFY(!backend->ok());
    backend->clear_failure();
    QVERIFY2(two_ranges >= 4 && two_ranges < all, qPrintable(QStringLiteral("%1 of %2").arg(two_ranges).arg(all)));
    // The second range's first copy fails: it was requested before the first one's
    // attention.
    const int launched = cuda_host::calls_of("cudaLaunchKernel");
    cuda_host::fail_call("cudaMemcpyAsync", two_ranges / 2 + 1);
    attend();
    cuda_host::fail_call("cudaMemcpyAsync", 0);
    QVERIFY(!backend->ok());
    const int started = cuda_host::calls_of("cudaLaunchKernel") - launched;
    backend->clear_failure();
    QCOMPARE(started, 1);
    // As many are fetched; again, since the keys may have changed meanwhile; and then
    // used.
    const auto fetch = [&] { backend->fetch_keys(1, shape, segments, sequences.shape()); };
    const int fetched = copies();
    fetch();
    QCOMPARE(copies() - fetched, two_ranges);
    fetch();
    QCOMPARE(copies() - fetched, 2 * two_ranges);
    attend();
    QCOMPARE(copies() - fetched, two_ranges + all);
    attend();
    QCOMPARE(copies() - fetched, two_ranges + 2 * all);
    // Given up: the compute queue continues behind the begun copies.
    fetch();
    const int waits = cuda_host::calls_of("cudaStreamWaitEvent");
    backend->forget_keys();
    backend->forget_keys();
    QCOMPARE(cuda_host::calls_of("cudaStreamWaitEvent") - waits, 2);
    parity::finish(*backend);
    QVERIFY(backend->ok());
    // Without room nothing is fetched, and attention reports it.
    const std::unique_ptr<Backend> other = open_on_host();
    const parity::TestSequences theirs(*other, shape, std::vector<parity::TestSequences::Length>{{2000, 9}}, 2);
    const int unreserved = copies();
    other->fetch_keys(1, shape, theirs.segments(), theirs.shape());
    QCOMPARE(copies(), unreserved);
    QVERIFY(other->ok());
    other->submit(ops::Attend{1, shape, theirs.segments(), qkv.data(), shape.qkv_width(), theirs.shape(), out.data()});
    QVERIFY(QString::fromStdString(other->failure().english()).contains("scratch"));
}

// If a token's keys are counted on the device, one number of splits serves many numbers
// of keys, and no bit differs.
void TestCudaOnHost::one_tokens_place_may_be_the_devices_to_read() {
    struct Case {
        kernels::AttentionShape shape;
        std::int64_t past;
    };
    std::vector<Case> cases;
    for (const std::int64_t past : {0, 63, 64, 127, 191, 200, 4300}) {
        cases.push_back({parity::grouped_attention(2, 1, 16), past});
    }
    for (const std::int64_t past : {60, 300}) cases.push_back({parity::grouped_attention(2, 1, 16, 70), past});
    for (const std::int64_t past : {63, 64, 1200}) cases.push_back({parity::latent_attention(2, 24, 8), past});
    const std::unique_ptr<Backend> backend = open_on_host();
    for (const Case& each : cases) {
        Backend::StepShape step = parity::largest_step();
        step.attention = each.shape;
        step.context = each.past + 1;  // no more scratch memory than for so many keys
        backend->reserve(step);
        const std::vector<parity::TestSequences::Length> lengths = {{each.past, 1}};
        const std::int64_t stride = parity::query_stride(each.shape);
        const parity::OnDevice<float> queries(*backend, parity::random_floats(stride, 2));
        const parity::OnDevice<std::int32_t> past(*backend, {static_cast<std::int32_t>(each.past)});
        std::vector<float> results[2];
        for (const bool on_device : {false, true}) {
            const parity::TestSequences sequences(*backend, each.shape, lengths, 1);
            std::vector<AttentionSegment> segments(sequences.segments().begin(), sequences.segments().end());
            if (on_device) segments[0].device_past = past.data();
            const parity::OnDevice<float> out(*backend, parity::filled(each.shape.output_width(), NAN));
            backend->submit(
                ops::Attend{0, each.shape, segments, queries.data(), stride, sequences.shape(), out.data()});
            results[on_device ? 1 : 0] = out.download();
        }
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
        QVERIFY(std::isfinite(results[0][0]));
        QVERIFY2(parity::same_bits<float>(results[0], results[1]), qPrintable(QString::number(each.past)));
    }
}

void TestCudaOnHost::too_little_scratch_is_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const parity::TestExperts experts(*backend, {kernels::WeightType::kBf16, kernels::WeightType::kHqq4}, 64, 64);
    const parity::OnDevice<float> inputs(*backend, parity::random_floats(64 * 64, 1));
    const auto lacks_scratch = [&] {
        const bool lacks = QString::fromStdString(backend->failure().english()).contains("scratch");
        backend->clear_failure();
        return lacks;
    };
    for (const std::int64_t n : {1, 20}) {  // nothing was reserved
        for (const std::size_t expert : {0, 1}) {
            const std::vector<parity::TestExperts::Share> shares = {{expert, parity::some_tokens(n, 0, 1)}};
            experts.run(shares, inputs, 0);
            QVERIFY(lacks_scratch());
        }
    }
    const parity::TestExperts alike(*backend, kernels::WeightType::kBf16, 64, 64, 2);
    alike.choose({1}, {0}, inputs);
    QVERIFY(lacks_scratch());
    const parity::TestWeight weight(*backend, kernels::WeightType::kInt8, 8, 64, 1);
    const parity::OnDevice<float> y(*backend, parity::filled(9 * 8, 0.0f));
    backend->submit(ops::Multiply{weight.view, inputs.data(), 9, y.data()});
    QVERIFY(lacks_scratch());
    // Memory reserved for one token is enough for it, after any larger step.
    Backend::StepShape shape;
    shape.hidden_dim = 64;
    shape.ffn_dim = 64;
    shape.n_experts = 8;
    shape.n_active = 2;
    shape.attention = parity::grouped_attention(4, 2, 16);
    backend->reserve(shape);
    const std::vector<parity::TestExperts::Share> one = {{0, {5}}};
    experts.run(one, inputs, 0);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    // The same for the network of every token, which is wider than the experts, and for
    // the logits of many experts.
    shape.dense_ffn_dim = 3000;
    shape.n_experts = 4096;
    backend->reserve(shape);
    const parity::TestExperts network(*backend, kernels::WeightType::kBf16, 64, 3000, 1);
    network.run(one, inputs, 0);
    QVERIFY2(backend->ok(), backend->failure().english().c_str());
    kernels::RouterSpec router;
    router.n_experts = 4096;
    router.n_active = 2;
    const parity::OnDevice<float> gate(*backend, parity::random_floats(4096 * 64, 3));
    const parity::OnDevice<std::int32_t> chosen(*backend, std::vector<std::int32_t>(2));
    const parity::OnDevice<float> weights(*backend, parity::filled(2, 0.0f));
    const auto route = [&] {
        backend->submit(ops::Route{router, {gate.data()}, inputs.data(), 1, 64, chosen.data(), weights.data()});
        parity::finish(*backend);
        return backend->ok();
    };
    QVERIFY2(route(), backend->failure().english().c_str());
    router.n_experts = 4097;
    QVERIFY(!route());
    QVERIFY(QString::fromStdString(backend->failure().english()).contains("4096"));
}

// The smaller heads' keys are split into more pieces.
void TestCudaOnHost::layers_of_two_head_sizes_have_room() {
    const std::unique_ptr<Backend> backend = open_on_host();
    const kernels::AttentionShape wide = parity::grouped_attention(2, 1, 512);
    Backend::StepShape step;
    step.hidden_dim = 64;
    step.ffn_dim = 64;
    step.n_experts = 8;
    step.n_active = 2;
    step.attention = wide;
    step.context = 4300;
    backend->reserve(step);
    for (const kernels::AttentionShape& shape : {wide, parity::grouped_attention(2, 1, 256)}) {
        const std::vector<parity::TestSequences::Length> lengths = {{4200, 1}};
        const parity::TestSequences sequences(*backend, shape, lengths, 1);
        const parity::OnDevice<float> queries(*backend, parity::random_floats(shape.qkv_width(), 1));
        const parity::OnDevice<float> out(*backend, parity::filled(shape.output_width(), NAN));
        backend->submit(ops::Attend{0, shape, sequences.segments(), queries.data(), shape.qkv_width(),
                                    sequences.shape(), out.data()});
        QVERIFY(std::isfinite(out.download().back()));
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
    }
}

void TestCudaOnHost::packed_weights_that_are_not_aligned_are_a_failure() {
    const std::unique_ptr<Backend> backend = open_on_host();
    backend->reserve(parity::largest_step());
    const parity::TestWeight weight(*backend, kernels::WeightType::kHqq4, 4, 64, 1);
    const parity::OnDevice<float> x(*backend, parity::random_floats(10 * 64, 1));
    const parity::OnDevice<float> y(*backend, parity::filled(9 * 4, 0.0f));
    for (const std::int64_t n : {1, 9}) {
        kernels::WeightView apart = weight.view;
        apart.data = weight.device.data() + 4;
        apart.n_rows = 3;
        backend->submit(ops::Multiply{apart, x.data(), n, y.data()});
        QVERIFY(QString::fromStdString(backend->failure().english()).contains("aligned"));
        backend->clear_failure();
        backend->submit(ops::Multiply{weight.view, x.data() + 1, n, y.data()});
        QVERIFY(QString::fromStdString(backend->failure().english()).contains("aligned"));
        backend->clear_failure();
        backend->submit(ops::Multiply{weight.view, x.data(), n, y.data()});
        QVERIFY2(backend->ok(), backend->failure().english().c_str());
    }
}

// Sums must not depend on which block or thread comes first.
void TestCudaOnHost::same_bits_in_any_order_of_threads() {
    std::vector<float> first;
    for (const std::uint32_t seed : {1u, 2u, 3u, 4u}) {
        cuda_host::Settings settings;
        settings.seed = seed;
        settings.cublas = false;
        cuda_host::reset(settings);
        const std::unique_ptr<Backend> backend = open_on_host();
        backend->reserve(parity::largest_step());
        const parity::TestExperts experts(*backend, kernels::WeightType::kBf16, 72, 130, 3);
        const parity::OnDevice<float> inputs(*backend, parity::random_floats(64 * 72, 1));
        const std::vector<parity::TestExperts::Share> shares = {
            {0, {1, 5}}, {1, parity::some_tokens(8, 0, 3)}, {2, parity::some_tokens(20, 0, 1)}};
        std::vector<float> all = experts.run(shares, inputs, 0).rows;
        const parity::TestExperts packed(
            *backend, {kernels::WeightType::kHqq4, kernels::WeightType::kHqq2, kernels::WeightType::kInt8}, 192, 50);
        const parity::OnDevice<float> wider(*backend, parity::random_floats(64 * 192, 2));
        const std::vector<float> packed_rows = packed.run(shares, wider, 0).rows;
        all.insert(all.end(), packed_rows.begin(), packed_rows.end());

        const kernels::AttentionShape shape = parity::grouped_attention(4, 2, 64);
        const std::vector<parity::TestSequences::Length> lengths = {{300, 1}, {20, 40}};
        const parity::TestSequences sequences(*backend, shape, lengths, 1);
        const parity::OnDevice<float> qkv(*backend, parity::random_floats(sequences.n_rows() * 8 * 64, 2));
        const parity::OnDevice<float> out(*backend, parity::filled(sequences.n_rows() * 4 * 64, 0.0f));
        backend->submit(ops::Attend{0, shape, sequences.segments(), qkv.data(), 8 * 64, sequences.shape(), out.data()});
        const std::vector<float> grouped = out.download();
        all.insert(all.end(), grouped.begin(), grouped.end());
        const std::vector<float> latent = attended(*backend, parity::latent_attention(9, 40, 8), {{1200, 1}, {20, 12}});
        all.insert(all.end(), latent.begin(), latent.end());
        kernels::RouterSpec router;
        router.scoring = kernels::RouterScoring::kSigmoid;
        router.n_experts = 64;
        router.n_active = 6;
        router.n_groups = 8;
        router.n_groups_used = 3;
        router.group_score = kernels::GroupScore::kSumOfTwoBest;
        const parity::OnDevice<float> gate(*backend, parity::random_floats(64 * 72, 3));
        const parity::OnDevice<std::int32_t> chosen(*backend, std::vector<std::int32_t>(10 * 6));
        const parity::OnDevice<float> weights(*backend, parity::filled(10 * 6, 0.0f));
        backend->submit(
            ops::Route{router, {gate.data(), gate.data()}, inputs.data(), 10, 72, chosen.data(), weights.data()});
        const std::vector<float> shares_of_six = weights.download();
        all.insert(all.end(), shares_of_six.begin(), shares_of_six.end());
        QVERIFY(backend->ok());
        if (first.empty()) first = all;
        QVERIFY(parity::same_bits<float>(all, first));
    }
}

QTEST_GUILESS_MAIN(TestCudaOnHost)
#include "tst_cuda_on_host.moc"
