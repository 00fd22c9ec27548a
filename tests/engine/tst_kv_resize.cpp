// A KV cache that changes its size and its places during a generation: the logits stay
// the same, bit by bit.

#include <algorithm>
#include <random>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cuda_backend.h"
#include "engine/error.h"
#include "engine/run/loaded_model.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Every CUDA thread is a fiber on the host layer, and sanitizers make it ten times slower
// still.
constexpr int kTokensOnHostLayer = test::kSanitized ? 6 : 10;
constexpr int kTokens = 300;
constexpr std::int64_t kContext = 512;  // beyond the tiny models' limit: positions continue anyway

std::vector<TokenId> somePrompt(std::int64_t n) {
    std::vector<TokenId> tokens;
    for (std::int64_t i = 0; i < n; ++i) tokens.push_back(static_cast<TokenId>(3 + i * 7 % 45));
    return tokens;
}

}  // namespace

class TestKvResize : public QObject {
    Q_OBJECT

  private:
    std::unique_ptr<LoadedModel> open(const QString& model, const QString& device, std::int64_t context = kContext) {
        LoadRequest request;
        request.model = tinyModel(model);
        request.compute = ComputeMode::kF32;
        request.context = context;
        request.n_threads = 1;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.device = device.toStdString();
        if (device == QStringLiteral("cuda")) {
            request.dispatch = parse_dispatch("static");
            request.vram_bytes = std::uint64_t{256} << 20;
            request.opens_device = [](std::uint64_t budget) {
                return make_cuda_backend(kernels::open_cuda_context_on_host(0), 0, budget);
            };
        }
        return std::make_unique<LoadedModel>(keepCosts(request), LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                             std::stop_token{});
    }

    // The logits of all steps, one after the other; `between` is called before each step.
    static std::vector<float> generate(LoadedModel& model, KvSequence& sequence, int n_tokens,
                                       const std::function<void()>& between = {}) {
        std::vector<TokenId> tokens = somePrompt(130);
        std::vector<float> all;
        for (int i = 0; i < n_tokens; ++i) {
            if (between) between();
            const Segment segment{&sequence, tokens};
            if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
            const auto logits = model.forward().logits();
            all.insert(all.end(), logits.begin(), logits.end());
            tokens = {static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
        }
        return all;
    }
    static std::vector<float> generate(LoadedModel& model, int n_tokens, const std::function<void()>& between = {}) {
        KvSequence sequence = model.new_sequence();
        return generate(model, sequence, n_tokens, between);
    }

    static void addDevices() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("device");
        for (const char* device : {"cpu", "emulated:rtx-3060", "cuda"}) {
            for (const char* model : {"grouped_f32", "sliding_window_f16"}) {
                QTest::addRow("%s, %s", model, device) << QString(model) << QString(device);
            }
        }
    }
    static int tokensOn(const QString& device) {
        return device == QStringLiteral("cuda") ? kTokensOnHostLayer : kTokens;
    }

    QTemporaryDir cache_;

  private Q_SLOTS:
    void init() { cuda_host::reset(); }

    void resizesAtRandom_changeNoBit_data() { addDevices(); }
    void resizesAtRandom_changeNoBit() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        auto loaded = open(model, device);
        const int n_tokens = tokensOn(device);
        const std::vector<float> expected = generate(*loaded, n_tokens);
        QVERIFY(!expected.empty());

        std::mt19937 random(11);
        KvPool& pool = loaded->kv().pool(0);
        int n_calls = 0, n_resized = 0, n_spilled = 0;
        const auto resize = [&] {
            n_spilled += pool.n_held_in_host() > 0;
            if (n_calls++ % 2 != 0) return;
            // Blocks for the next step stay: up to three blocks for the prompt, one more
            // for a token.
            const std::int64_t least = std::max<std::int64_t>(3, pool.n_blocks() - pool.n_free() + 1);
            const auto on_device = static_cast<std::int64_t>(random()) % least;
            const auto in_host = std::max<std::int64_t>(0, least - on_device) + static_cast<std::int64_t>(random() % 4);
            pool.resize({on_device, in_host});
            const auto kv = static_cast<std::size_t>(MemoryUse::kKvCache);
            const std::uint64_t used = loaded->device().memory().usage().by_use[kv];
            const std::uint64_t both =
                loaded->device().shares_host_memory() ? used : used + loaded->ram().usage().by_use[kv];
            QCOMPARE(both, static_cast<std::uint64_t>(pool.n_blocks()) *
                               static_cast<std::uint64_t>(pool.shape().block_bytes()));
            ++n_resized;
        };
        const std::vector<float> got = generate(*loaded, n_tokens, resize);
        QVERIFY(got == expected);
        QVERIFY(n_resized == n_tokens / 2 && n_spilled > 0);
        loaded.reset();
        QVERIFY(cuda_host::problems().empty());
    }

    void allInRamFromTheStart_changesNoBit_data() { addDevices(); }
    void allInRamFromTheStart_changesNoBit() {
        QFETCH(QString, model);
        QFETCH(QString, device);
        const auto loaded = open(model, device);
        const int n_tokens = std::min(tokensOn(device), device == QStringLiteral("cuda") ? 2 : 20);
        const std::vector<float> expected = generate(*loaded, n_tokens);
        QVERIFY(!expected.empty());
        loaded->kv().pool(0).resize({0, loaded->kv().pool(0).n_blocks()});
        QVERIFY(generate(*loaded, n_tokens) == expected);
    }

    void spilledBeams_shareAndPartAsElsewhere() {
        const auto loaded = open(QStringLiteral("grouped_f32"), QStringLiteral("emulated:rtx-3060"));
        const auto beams = [&] {
            std::vector<float> all;
            KvSequence first = loaded->new_sequence();
            const auto prompt = somePrompt(100);
            const Segment whole{&first, prompt};
            if (loaded->forward().step({&whole, 1}, Forward::Logits::kNone, {}) != Forward::Outcome::kDone) return all;
            KvSequence second = first.fork();
            KvSequence third = second.fork();
            for (TokenId token = 3; token < 40; ++token) {
                const TokenId tokens[] = {token, token + 1, token + 2};
                const Segment segments[] = {
                    {&first, {&tokens[0], 1}}, {&second, {&tokens[1], 1}}, {&third, {&tokens[2], 1}}};
                if (loaded->forward().step(segments, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return all;
                const auto logits = loaded->forward().logits();
                all.insert(all.end(), logits.begin(), logits.end());
            }
            return all;
        };
        const std::vector<float> expected = beams();
        QCOMPARE(expected.size(), std::size_t{37 * 3 * 48});
        loaded->kv().pool(0).resize({2, 10});
        QVERIFY(beams() == expected);
    }

    void contextGrows_withoutLosingTheConversation() {
        const QString model = QStringLiteral("grouped_f32");
        for (const char* device : {"cpu", "emulated:rtx-3060"}) {
            const std::vector<float> expected = generate(*open(model, device, 1024), kTokens);
            const auto loaded = open(model, device, 192);
            KvSequence sequence = loaded->new_sequence();
            int step = 0;
            const auto grow = [&] {
                if (++step != 50) return;
                loaded->device().memory().fail_allocation(1);
                QVERIFY_THROWS_EXCEPTION(Error, loaded->forward().set_context(1024));
                loaded->device().memory().fail_allocation(0);
                loaded->forward().set_context(1024);
                loaded->kv().pool(0).resize({kv_blocks_for(192), kv_blocks_for(1024)});
                sequence.set_capacity(1024);
            };
            const std::vector<float> got = generate(*loaded, sequence, kTokens, grow);
            QVERIFY(got == expected);
            QVERIFY_THROWS_EXCEPTION(Error, sequence.set_capacity(sequence.size() - 1));
            QVERIFY_THROWS_EXCEPTION(Error, loaded->kv().pool(0).resize({1, 1}));
        }
    }

    void sequencesLongerThanTheContext_areFull() {
        const auto loaded = open(QStringLiteral("grouped_f32"), QStringLiteral("cpu"), 192);
        loaded->kv().pool(0).resize({500, 0});
        std::vector<KvSequence> sequences;
        std::vector<Segment> segments;
        const auto prompt = somePrompt(64);
        for (std::int64_t s = 0; s < Forward::kMaxSegments; ++s) {
            sequences.push_back(loaded->new_sequence());
            sequences.back().set_capacity(10'000);
        }
        const TokenId token = 3;  // as long as the segments
        Forward::Outcome outcome = Forward::Outcome::kDone;
        for (int i = 0; i < 20 && outcome == Forward::Outcome::kDone; ++i) {
            for (KvSequence& sequence : sequences) {
                const Segment segment{&sequence, prompt};
                if (loaded->forward().step({&segment, 1}, Forward::Logits::kNone, {}) != Forward::Outcome::kDone) break;
            }
            segments.clear();
            for (KvSequence& sequence : sequences) segments.push_back({&sequence, {&token, 1}});
            outcome = loaded->forward().step(segments, Forward::Logits::kNone, {});
        }
        QVERIFY(outcome == Forward::Outcome::kFull);
        loaded->forward().set_context(10'000);
        QVERIFY(loaded->forward().step(segments, Forward::Logits::kNone, {}) == Forward::Outcome::kDone);
    }
};

QTEST_GUILESS_MAIN(TestKvResize)
#include "tst_kv_resize.moc"
