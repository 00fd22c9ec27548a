// Weights with interleaved rows give the same bits as weights with consecutive rows:
// alone, and in a model that has some interleaved experts in RAM and reads the others
// from its file.

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/eval/logits.h"
#include "engine/experts/interleave_expert.h"
#include "engine/run/device_weights.h"
#include "engine/run/loaded_model.h"
#include "engine/run/replanner.h"
#include "kernels/thread_pool.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/replan_play.h"
#include "tests/engine/set_costs.h"
#include "tests/kernels/test_data.h"

using namespace offstage;
using namespace offstage::engine;
using kernels::WeightType;

namespace {

kernels::ExpertLayout layout_of(WeightType gate, WeightType up, WeightType down, std::int64_t hidden,
                                std::int64_t ffn) {
    kernels::ExpertLayout layout;
    layout.hidden_dim = hidden;
    layout.ffn_dim = ffn;
    layout.gate = gate;
    layout.up = up;
    layout.down = down;
    layout.down_rows_are_outputs = true;
    return layout;
}

// A block of random weights, row by row.
std::vector<std::byte> random_block(const kernels::ExpertLayout& layout) {
    std::vector<std::byte> block(layout.bytes());
    std::mt19937 generator(5);
    const kernels::ExpertView expert{block.data(), layout};
    expert.for_matrices([&](const kernels::WeightView& weight) {
        for (std::int64_t row = 0; row < weight.n_rows; ++row) {
            kernels::test::fill_block_row(weight.type, weight.n_cols, generator, 0.25f,
                                          block.data() + (weight.row(row) - block.data()));
        }
    });
    return block;
}

}  // namespace

class TestInterleavedExperts : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase() { tests::write_mixed_gguf(path()); }

    void experts_giveTheSameBits_data() {
        QTest::addColumn<int>("gate");
        QTest::addColumn<int>("up");
        QTest::addColumn<int>("down");
        QTest::addColumn<int>("hidden");
        QTest::addColumn<int>("ffn");
        QTest::addColumn<bool>("together");  // w1 and w3 are interleaved
        QTest::addColumn<bool>("down_too");
        const auto row = [](const char* name, WeightType gate, WeightType up, WeightType down, int hidden, int ffn,
                            bool together, bool down_too) {
            QTest::newRow(name) << static_cast<int>(gate) << static_cast<int>(up) << static_cast<int>(down) << hidden
                                << ffn << together << down_too;
        };
        using enum WeightType;
        row("Q4_K and Q6_K", kQ4K, kQ4K, kQ6K, 512, 256, true, true);
        row("Q8_0", kQ8_0, kQ8_0, kQ8_0, 96, 160, true, true);
        row("Q4_0, IQ4_NL", kQ4_0, kQ4_0, kIq4Nl, 64, 32, true, true);
        row("MXFP4", kMxfp4, kMxfp4, kMxfp4, 96, 32, true, true);
        row("w3 apart", kQ4_0, kQ8_0, kQ8_0, 64, 32, false, true);
        row("Q3_K, Q2_K", kQ3K, kQ3K, kQ2K, 512, 256, true, true);
        row("IQ4_XS", kIq4Xs, kIq4Xs, kIq4Xs, 256, 512, true, true);
        row("w2 of another type", kQ5K, kQ5K, kIq3Xxs, 256, 256, true, false);
    }
    void experts_giveTheSameBits() {
        QFETCH(int, gate);
        QFETCH(int, up);
        QFETCH(int, down);
        QFETCH(int, hidden);
        QFETCH(int, ffn);
        QFETCH(bool, together);
        QFETCH(bool, down_too);
        kernels::ExpertLayout layout = layout_of(static_cast<WeightType>(gate), static_cast<WeightType>(up),
                                                 static_cast<WeightType>(down), hidden, ffn);
        giveTheSameBits(layout, together, down_too);
        if (gate != up || QTest::currentTestFailed()) return;
        layout.spec.activation = kernels::Activation::kReluSquared;  // of two matrices
        giveTheSameBits(layout, together, down_too);
    }
    static void giveTheSameBits(const kernels::ExpertLayout& layout, bool together, bool down_too) {
        const std::vector<std::byte> plain = random_block(layout);
        std::vector<std::byte> block = plain;
        kernels::ThreadPool pool(2);
        interleave_expert(layout, block.data(), pool);
        QVERIFY(block == plain);  // the layout has none
        kernels::ExpertLayout interleaved = layout;
        interleaved.interleaved = true;
        QCOMPARE(interleaved.interleaves_gate_and_up(), together);
        QCOMPARE(interleaved.interleaves_down(), down_too);
        interleave_expert(interleaved, block.data(), pool);
        QVERIFY(block != plain);
        CpuOperations operations(pool, kernels::ProductForm(kernels::GemmMode::kF32, true));
        QVERIFY(operations.wants_interleaved());
        for (const std::int64_t n_rows : {1, 3, 9, 40}) {
            std::vector<float> inputs(static_cast<std::size_t>(n_rows * layout.hidden_dim));
            kernels::test::fill_random(inputs, 7);
            std::vector<std::int32_t> tokens(static_cast<std::size_t>(n_rows));
            for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i);
            std::vector<float> expected(inputs.size(), -1.0f);
            std::vector<float> got(inputs.size(), -2.0f);
            const ExpertCall apart[] = {{{plain.data(), layout}, 0, n_rows}};
            const ExpertCall beside[] = {{{block.data(), interleaved}, 0, n_rows}};
            operations.run(ops::Experts{{apart, 1}, inputs.data(), tokens.data(), expected.data()});
            operations.run(ops::Experts{{beside, 1}, inputs.data(), tokens.data(), got.data()});
            QCOMPARE(std::memcmp(expected.data(), got.data(), got.size() * sizeof(float)), 0);
            QVERIFY(*std::max_element(got.begin(), got.end()) > 0);
        }
        interleave_expert(interleaved, block.data(), pool, true);
        QVERIFY(block == plain);
    }

    // The head's and attention's matrices are interleaved; an embedding only if it is the
    // head as well.
    void denseWeights_giveTheSameBits_data() {
        QTest::addColumn<int>("type");
        QTest::addColumn<bool>("tied");
        QTest::addColumn<int>("threads");
        for (const WeightType type : {WeightType::kQ4K, WeightType::kQ6K, WeightType::kQ8_0, WeightType::kMxfp4}) {
            for (const bool tied : {false, true}) {
                QTest::addRow("%s%s", kernels::name_of(type), tied ? ", tied" : "")
                    << static_cast<int>(type) << tied << (tied ? 2 : 3);
            }
        }
    }
    void denseWeights_giveTheSameBits() {
        QFETCH(int, type);
        QFETCH(bool, tied);
        QFETCH(int, threads);
        constexpr std::int64_t kHidden = 512, kVocab = 208;
        kernels::ThreadPool pool(threads);
        CpuBackend bytes(pool, kernels::ProductForm(kernels::GemmMode::kF32, true), std::uint64_t{1} << 24);
        CpuOperations operations(pool, kernels::ProductForm(kernels::GemmMode::kF32, true));
        CpuOperations floats(pool, kernels::ProductForm(kernels::GemmMode::kF32));
        const auto made = [&](CpuOperations& host) {
            DenseWeights weights;
            std::mt19937 generator(3);
            const auto add = [&](TensorRole role, std::int64_t layer, std::int64_t n_rows) {
                DenseWeight weight;
                weight.what = {role, layer, DenseTensor::Kind::kMatrix, n_rows, kHidden};
                weight.matrix = Matrix(bytes.memory(), static_cast<WeightType>(type), n_rows, kHidden, "a test");
                for (std::int64_t row = 0; row < n_rows; ++row)
                    kernels::test::fill_block_row(weight.matrix.type, kHidden, generator, 0.25f,
                                                  weight.matrix.row(row));
                weights.tensors.push_back(std::move(weight));
            };
            add(TensorRole::kEmbedding, -1, kVocab);
            add(TensorRole::kQkv, 0, 80);
            add(TensorRole::kKeyUp, 0, 64);
            add(TensorRole::kAttentionOutput, 0, 72);  // no whole strips
            if (!tied) add(TensorRole::kHead, -1, kVocab);
            return DeviceWeights(std::move(weights), 1, bytes, host);
        };
        const DeviceWeights apart = made(floats);
        const DeviceWeights beside = made(operations);
        QVERIFY(!apart.logits().interleaved && !apart.matrix(TensorRole::kQkv, 0).interleaved);
        QVERIFY(beside.logits().interleaved && beside.matrix(TensorRole::kQkv, 0).interleaved);
        QCOMPARE(beside.matrix(TensorRole::kEmbedding).interleaved, tied);
        QVERIFY(!beside.matrix(TensorRole::kKeyUp, 0).interleaved);
        QVERIFY(!beside.matrix(TensorRole::kAttentionOutput, 0).interleaved);
        for (const std::int64_t n : {1, 3, 9, 40}) {
            std::vector<float> inputs(static_cast<std::size_t>(n * kHidden));
            kernels::test::fill_random(inputs, 7);
            for (const TensorRole role : {TensorRole::kQkv, TensorRole::kHead, TensorRole::kAttentionOutput}) {
                const bool head = role == TensorRole::kHead;
                const kernels::WeightView a = head ? apart.logits() : apart.matrix(role, 0);
                const kernels::WeightView b = head ? beside.logits() : beside.matrix(role, 0);
                std::vector<float> expected(static_cast<std::size_t>(n * a.n_rows), -1.0f);
                std::vector<float> got(expected.size(), -2.0f);
                operations.run(ops::Multiply{a, inputs.data(), n, expected.data()});
                operations.run(ops::Multiply{b, inputs.data(), n, got.data()});
                QCOMPARE(std::memcmp(expected.data(), got.data(), got.size() * sizeof(float)), 0);
                QVERIFY(*std::max_element(got.begin(), got.end()) > 0);
            }
            std::vector<TokenId> tokens(static_cast<std::size_t>(n));
            for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<TokenId>((i * 37 + 5) % kVocab);
            std::vector<float> expected(inputs.size(), -1.0f);
            std::vector<float> got(inputs.size(), -2.0f);
            operations.run(ops::Embed{apart.matrix(TensorRole::kEmbedding), tokens.data(), n, expected.data()});
            operations.run(ops::Embed{beside.matrix(TensorRole::kEmbedding), tokens.data(), n, got.data()});
            QCOMPARE(std::memcmp(expected.data(), got.data(), got.size() * sizeof(float)), 0);
        }
    }

    // RAM copies have interleaved rows; slots for experts on disk have the file's layout.
    // Changed budgets convert one into the other.
    void model_answersTheSameBits_whereverExpertsAre() {
        const std::vector<TokenId> tokens = {3, 10, 17, 24, 31, 38, 5, 12, 19, 26, 33};
        auto all = open(0);
        QVERIFY(all->experts().on_host(0, 0).layout.interleaved);
        QVERIFY(all->experts().on_host(0, 0).layout.interleaves_down());
        const auto expected = compute_logits(*all, tokens, true);
        const std::uint64_t whole = all->device().memory().usage().used_bytes;
        const std::uint64_t half = whole - all->plan().expert_bytes / 2;
        all.reset();

        auto model = open(half);
        std::int64_t n_interleaved = 0;
        std::int64_t n_apart = 0;
        for (std::int64_t layer = 0; layer < model->experts().n_layers(); ++layer) {
            for (std::int64_t expert = 0; expert < model->experts().n_experts(); ++expert) {
                const bool is = model->experts().on_host(layer, expert).layout.interleaved;
                QCOMPARE(is, model->experts().has_ram_copy(layer, expert));
                ++(is ? n_interleaved : n_apart);
            }
        }
        QVERIFY(n_interleaved > 0 && n_apart > 0);
        QVERIFY(compute_logits(*model, tokens, true) == expected);

        Replanner replanner(*model);
        replanner.set_tokens_in_use([] { return 0; });
        ReplanRequest replan;
        replan.ram_bytes = whole + (std::uint64_t{8} << 20);
        test::begin_replan(replanner, 1, replan, 0);
        replanner.finish({});
        replanner.between_steps(0);
        QCOMPARE(model->experts().n_in_ram(), static_cast<std::int64_t>(model->experts().size()));
        QVERIFY(model->experts().on_host(2, 5).layout.interleaved);
        QVERIFY(compute_logits(*model, tokens, true) == expected);
    }

    // Beside a device, too: it gets its own layout by copies on demand and ahead of it,
    // by loads of the cache, by exchanges with experts that have no copy in RAM, and by
    // new budgets.
    void besideADevice_answersTheSameBits_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<bool>("short_of_ram");
        for (const char* policy : {"threshold", "transfer", "balanced"}) {
            for (const bool short_of_ram : {false, true})
                QTest::addRow("%s%s", policy, short_of_ram ? ", each expert once" : "")
                    << QString::fromLatin1(policy) << short_of_ram;
        }
    }
    void besideADevice_answersTheSameBits() {
        QFETCH(QString, policy);
        QFETCH(bool, short_of_ram);
        const std::vector<TokenId> prompt = {3, 10, 17, 24, 31, 38, 5, 12, 19, 26, 33};
        const auto expected = greedy(*open(0), prompt);
        LoadRequest request = wanted();
        request.device = "emulated:rtx-3060";
        request.dispatch = parse_dispatch(policy.toStdString());
        request.cache = CacheKind::kLru;
        request.prefetch = PrefetchMode::kAlways;
        const auto load = [&request] {
            return std::make_unique<LoadedModel>(test::keepCosts(request), LoadedModel::Text::kNotNeeded,
                                                 LoadProgressFn{}, std::stop_token{});
        };
        const std::uint64_t whole = load()->device().memory().usage().used_bytes;
        const std::uint64_t expert_bytes = load()->demand().expert_bytes;
        request.vram_bytes = whole - 10 * expert_bytes;
        if (short_of_ram) request.ram_bytes = 14 * expert_bytes;
        const auto model = load();
        if (policy == "threshold") test::setCosts(*model, 0.01);  // the CPU is chosen, however slow it is now
        const ExpertStore& experts = model->experts();
        QVERIFY(experts.n_resident() > 0 && experts.n_resident() < static_cast<std::int64_t>(experts.size()));
        QCOMPARE(model->plan().duplicates, !short_of_ram);
        const auto all_as_wanted = [&] {
            for (std::size_t i = 0; i < experts.size(); ++i) {
                const ExpertKey key = experts.key(i);
                if (experts.in_ram(i) && !experts.ram_view(i).layout.has_strips()) return false;
                if (experts.on_device(i) && experts.device_view(key.layer, key.expert).layout.interleaved) return false;
            }
            return true;
        };
        QVERIFY(all_as_wanted());
        QVERIFY(greedy(*model, prompt) == expected);
        const DispatchTotals totals = model->dispatcher().totals();
        if (policy == "transfer")
            QVERIFY(totals.bytes_copied > 0 && totals.admissions > 0 && totals.guessed_copies > 0);
        if (policy == "threshold") QVERIFY(totals.cpu_calls > 0);

        Replanner replanner(*model);
        replanner.set_tokens_in_use([] { return 0; });
        for (const std::uint64_t vram : {whole - 4 * expert_bytes, whole - 12 * expert_bytes}) {
            const std::int64_t resident = experts.n_resident();
            ReplanRequest replan;
            replan.vram_bytes = vram;
            test::begin_replan(replanner, vram, replan, 0);
            replanner.finish({});
            replanner.between_steps(0);
            QVERIFY(experts.n_resident() != resident);
            QVERIFY(all_as_wanted());
            QVERIFY(greedy(*model, prompt) == expected);
        }
    }

    void floatProducts_wantRowsApart() {
        LoadRequest request = wanted();
        request.compute = ComputeMode::kF32;
        const LoadedModel model(request, LoadedModel::Text::kNotNeeded, {}, {});
        QVERIFY(!const_cast<LoadedModel&>(model).experts().on_host(0, 0).layout.interleaved);
    }

  private:
    // Logits of the prompt's last token and of those that follow.
    static std::vector<float> greedy(LoadedModel& model, const std::vector<TokenId>& prompt) {
        KvSequence sequence = model.new_sequence();
        std::vector<float> result;
        std::vector<TokenId> next = prompt;
        for (int i = 0; i < 24; ++i) {
            const Segment segment{&sequence, next};
            if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
            const auto logits = model.forward().logits();
            model.runtime().learn(model.forward().routing(), static_cast<std::int64_t>(next.size()));
            result.insert(result.end(), logits.begin(), logits.end());
            next = {test::best(logits)};
        }
        return result;
    }
    std::string path() const { return folder_.filePath("mixed.gguf").toStdString(); }
    LoadRequest wanted() const {
        LoadRequest request;
        request.model = path();
        request.kv = KvType::kF32;
        request.context = 128;
        request.compute = ComputeMode::kInt8;
        request.cache_directory = folder_.path().toStdString();
        request.checks_costs = false;
        request.quant_cache_directory = folder_.filePath("quantized").toStdString();
        return request;
    }
    std::unique_ptr<LoadedModel> open(std::uint64_t ram) const {
        LoadRequest request = wanted();
        request.ram_bytes = ram;
        return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                             std::stop_token{});
    }

    QTemporaryDir folder_;
};

QTEST_GUILESS_MAIN(TestInterleavedExperts)
#include "tst_interleaved_experts.moc"
