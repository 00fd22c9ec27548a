// Experts that are read from their files in strips give the same blocks as packing from
// the mapped file; guesses yield to needed experts, are never read twice, and can be
// given up.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/device/host_buffer.h"
#include "engine/device/host_memory.h"
#include "engine/error.h"
#include "engine/experts/disk_slots.h"
#include "engine/experts/disk_speed.h"
#include "engine/experts/expert_reader.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/run/loaded_model.h"
#include "engine/run/model_shape.h"
#include "tests/engine/test_models.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

namespace {

constexpr auto kNeeded = ExpertReader::Urgency::kNeeded;
constexpr auto kGuess = ExpertReader::Urgency::kGuess;

std::string gguf(const char* name) {
    return sourcePath(QStringLiteral("tests/engine/data/gguf/") + QString::fromLatin1(name)).toStdString();
}

// A model's weights, and a reader of its experts with buffers.
struct Opened {
    explicit Opened(const std::string& model, bool to_bf16 = false, DirectReads::Kind kind = DirectReads::Kind::kBest) {
        const std::filesystem::path path = model_path(model);
        spec = read_model_spec(path);
        source = open_weights(Checkpoint::open(path), spec, to_bf16, pool);
        reader = ExpertReader::open(spec.experts, *source, kind);
    }
    void use(const ReadBuffers& buffers) {
        if (reader == nullptr) return;
        reader->set_buffers({}, nullptr);
        memory.emplace(buffers.bytes(), "buffers");
        reader->set_buffers(buffers, memory->data());
    }
    std::size_t bytes(std::int64_t layer) const {
        return spec.experts.expert_bytes(spec.experts.stored(source->expert_type(), layer));
    }
    std::vector<std::byte> packed(ExpertKey key) {
        std::vector<std::byte> block(bytes(key.layer));
        source->pack_expert(LayerIndex{key.layer}, ExpertIndex{key.expert}, block.data(), pool);
        return block;
    }

    kernels::ThreadPool pool{1};
    ModelSpec spec;
    std::unique_ptr<WeightSource> source;
    std::optional<HostBuffer> memory;
    std::unique_ptr<ExpertReader> reader;
};

}  // namespace

class TestExpertReader : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void blocks_areThoseOfTheMappedFile_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("toBf16");
        const auto row = [](const char* name, const std::string& model, bool to_bf16 = false) {
            QTest::newRow(name) << QString::fromStdString(model) << to_bf16;
        };
        const auto tiny = [](const char* name) { return tinyModel(QString::fromLatin1(name)); };
        row("safetensors, bf16", tiny("qwen3_moe_bf16"));
        row("safetensors, f16", tiny("sliding_window_f16"));
        row("safetensors, f32", tiny("grouped_f32"));
        row("safetensors, f32 rounded to bf16", tiny("grouped_f32"), true);
        row("shards", tiny("wide_head_sharded_v4_f32"));
        row("all experts in one tensor", tiny("dbrx_bf16"));
        row("gate and up in one tensor", tiny("granite_moe_tied_bf16"));
        row("gate and up by turns, biases", tiny("gpt_oss_bf16"));
        row("codes and exponents apart", tiny("gpt_oss_mxfp4"));
        row("GGUF, bf16", gguf("qwen3_moe_bf16.gguf"));
        row("GGUF, f32", gguf("granite_moe_shared_f32.gguf"));
        row("GGUF, blocks", gguf("gpt_oss_mxfp4.gguf"));
        row("GGUF, DeepSeek", gguf("deepseek_v3_bf16.gguf"));
    }
    void blocks_areThoseOfTheMappedFile() {
        QFETCH(QString, model);
        QFETCH(bool, toBf16);
        for (const auto kind : {DirectReads::Kind::kBest, DirectReads::Kind::kThreads}) {
            Opened opened(model.toStdString(), toBf16, kind);
            QVERIFY(opened.reader != nullptr);
            const ExpertGrid& grid = opened.spec.experts;
            // A strip holds a row or a few, and then much of the expert.
            for (const std::uint64_t strip : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1} << 18}) {
                opened.use({strip, std::max<std::uint64_t>(strip, 4096) / 4096 * 4096 + 8 * 4096, 5});
                std::vector<std::vector<std::byte>> blocks;
                std::vector<ExpertReader::Handle> reads;
                for (std::int32_t layer = 0; layer < grid.n_layers; ++layer) {
                    for (std::int32_t expert = 0; expert < grid.n_experts; expert += strip == 1 ? 3 : 1) {
                        blocks.emplace_back(opened.bytes(layer), std::byte{0xcd});
                        reads.push_back(opened.reader->start({layer, expert}, blocks.back().data(), kNeeded));
                        QVERIFY(reads.back() != nullptr);
                    }
                }
                std::size_t i = 0;
                for (std::int32_t layer = 0; layer < grid.n_layers; ++layer) {
                    for (std::int32_t expert = 0; expert < grid.n_experts; expert += strip == 1 ? 3 : 1, ++i) {
                        opened.reader->wait(reads[i]);
                        QVERIFY(opened.reader->is_whole(reads[i]));
                        std::vector<std::byte> expected(blocks[i].size(), std::byte{0xcd});
                        opened.source->pack_expert(LayerIndex{layer}, ExpertIndex{expert}, expected.data(),
                                                   opened.pool);
                        QVERIFY2(
                            blocks[i] == expected,
                            qPrintable(
                                QStringLiteral("layer %1, expert %2, strips of %3").arg(layer).arg(expert).arg(strip)));
                    }
                }
            }
        }
    }

    void strips_readNoByteTwice() {
        // Gate and up rows alternate: bytes read for the one serve the other.
        Opened opened(tinyModel(QStringLiteral("gpt_oss_bf16")));
        const auto& files = dynamic_cast<const FileExperts&>(*opened.source);
        std::uint64_t bytes = 0;
        for (const ExpertStrip& strip : files.expert_strips(LayerIndex{0}, ExpertIndex{1}, 4096)) {
            bytes += strip.weights.bytes;
        }
        const ExpertGrid& grid = opened.spec.experts;
        const auto weights = static_cast<std::uint64_t>(3 * grid.ffn_dim * grid.hidden_dim);
        const auto biases = static_cast<std::uint64_t>(2 * grid.ffn_dim + grid.hidden_dim);
        QCOMPARE(bytes, 2 * (weights + biases));
    }

    void expert_withoutAFileOrBuffers_isNotRead() {
        kernels::ThreadPool pool(1);
        SyntheticModel model = parse_synthetic("synthetic:fine?layers=1");
        const auto drawn = draw_weights(model, pool, true);
        QVERIFY(ExpertReader::open(model.spec.experts, *drawn) == nullptr);
        QCOMPARE(measure_direct_read(*drawn, model.spec.experts, pool, {}).us, 0.0);
        QCOMPARE(measure_disk_gbps(*drawn, 0.01, 1), 0.0);

        Opened opened(gguf("qwen3_moe_bf16.gguf"));
        std::vector<std::byte> block(opened.bytes(0));
        QVERIFY(opened.reader->start({0, 0}, block.data(), kNeeded) == nullptr);
        opened.use({std::uint64_t{1} << 20, 512, 4});  // a strip is larger than that
        QVERIFY(opened.reader->start({0, 0}, block.data(), kNeeded) == nullptr);
    }

    void buffers_areUsedInTurn() {
        // The buffer that a CPU copied from last is written last.
        Opened opened(gguf("qwen3_moe_bf16.gguf"));
        const ReadBuffers buffers{std::uint64_t{1} << 20, std::uint64_t{1} << 18, 8};
        opened.use(buffers);
        const auto n_strips = [&](ExpertKey key) {
            return dynamic_cast<const FileExperts&>(*opened.source)
                .expert_strips(LayerIndex{key.layer}, ExpertIndex{key.expert}, buffers.strip_bytes)
                .size();
        };
        std::vector<std::byte> block(opened.bytes(0));
        std::size_t n_read = 0;
        for (std::int32_t expert = 0; n_read + n_strips({0, expert}) <= 8; ++expert) {
            n_read += n_strips({0, expert});
            opened.reader->wait(opened.reader->start({0, expert}, block.data(), kNeeded));
        }
        QVERIFY(n_read > n_strips({0, 0}));
        const auto address = reinterpret_cast<std::uintptr_t>(opened.memory->data());
        const std::byte* at =
            opened.memory->data() + (kDirectAlignment - address % kDirectAlignment) % kDirectAlignment;
        std::size_t n_used = 0;
        for (int i = 0; i < buffers.n; ++i, at += buffers.buffer_bytes)
            n_used += std::any_of(at, at + buffers.buffer_bytes, [](std::byte b) { return b != std::byte{0}; });
        QCOMPARE(n_used, n_read);
    }

    void buffers_ofLargeBlocks_areMoreThanCachesHold() {
        constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
        const ReadBuffers large = read_buffers_for(3 * kMiB, 16);
        QVERIFY(large.n > 2 * kMostReadsAtOnce);
        QVERIFY(large.bytes() > 31 * kMiB && large.bytes() <= 33 * kMiB);
        // For little data, no more than is read at once.
        QCOMPARE(read_buffers_for(3 * kMiB, 4).n, kMostReadsAtOnce);
        QCOMPARE(read_buffers_for(kMiB / 8, 16).n, kMostReadsAtOnce);
        QCOMPARE(read_buffers_for(kMiB / 8, 1).n, 4);
    }

    void disk_isMeasuredWithTheReader() {
        Opened opened(gguf("qwen3_moe_bf16.gguf"));
        const DiskReadCost read = measure_direct_read(*opened.source, opened.spec.experts, opened.pool, {});
        QVERIFY(read.us > 0);
        // The reading threads copied all of it.
        QVERIFY(read.cpu_us > 0);
        QVERIFY(read.check_us > 0);
        QCOMPARE(read.latency_us, std::max(0.0, read.check_us - read.us));
        QVERIFY(direct_read_alone_us(*opened.source, opened.spec.experts, opened.pool, {}, 0) > 0);
        std::stop_source stop;
        stop.request_stop();
        QVERIFY_THROWS_EXCEPTION(
            Error, measure_direct_read(*opened.source, opened.spec.experts, opened.pool, stop.get_token()));
    }

    void fileCutShort_isAnErrorThatNamesIt() {
        QTemporaryDir folder;
        const std::filesystem::path copy = folder.filePath(QStringLiteral("model.gguf")).toStdString();
        std::filesystem::copy_file(gguf("qwen3_moe_bf16.gguf"), copy);
        Opened opened(copy.string());
        opened.use(read_buffers_for(opened.bytes(0), 4));
        const ExpertGrid& grid = opened.spec.experts;
        ExpertKey last{0, 0}, first{0, 0};  // in the file
        std::uint64_t end = 0, least = ~std::uint64_t{0};
        const auto& files = dynamic_cast<const FileExperts&>(*opened.source);
        for (std::int32_t layer = 0; layer < grid.n_layers; ++layer) {
            for (std::int32_t expert = 0; expert < grid.n_experts; ++expert) {
                std::uint64_t ends = 0;
                for (const auto& strip : files.expert_strips(LayerIndex{layer}, ExpertIndex{expert}, 1 << 20)) {
                    ends = std::max(ends, strip.weights.offset + strip.weights.bytes);
                }
                if (ends > end) last = {layer, expert};
                if (ends < least) first = {layer, expert};
                end = std::max(end, ends);
                least = std::min(least, ends);
            }
        }
        const std::vector<std::byte> expected = opened.packed(first);
        std::filesystem::resize_file(copy, end - 1);
        std::vector<std::byte> block(opened.bytes(last.layer)), other(opened.bytes(first.layer));
        const auto broken = opened.reader->start(last, block.data(), kNeeded);
        const auto whole = opened.reader->start(first, other.data(), kNeeded);
        try {
            opened.reader->wait(broken);
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
            QVERIFY(std::string_view(error.what()).starts_with(copy.string() + ": cannot be read: it has "));
        }
        QVERIFY(opened.reader->is_done(broken) && !opened.reader->is_whole(broken));
        opened.reader->wait(whole);  // others are not affected
        QVERIFY(other == expected);
    }

    void guesses_comeLast_canBeNeededAndGivenUp() {
        Opened opened(gguf("qwen3_moe_bf16.gguf"));
        opened.use({64, 12 * 4096, 4});  // many strips
        std::vector<std::vector<std::byte>> blocks(4, std::vector<std::byte>(opened.bytes(0)));
        const auto guess = opened.reader->start({0, 0}, blocks[0].data(), kGuess);
        const auto wrong = opened.reader->start({0, 1}, blocks[1].data(), kGuess);
        const auto needed = opened.reader->start({0, 2}, blocks[2].data(), kNeeded);
        opened.reader->cancel(wrong);
        opened.reader->drain(wrong);
        opened.reader->need(guess);
        opened.reader->need(guess);  // once is enough
        opened.reader->wait(needed);
        opened.reader->wait(guess);
        QVERIFY(blocks[0] == opened.packed({0, 0}) && blocks[2] == opened.packed({0, 2}));
        const auto counts = opened.reader->counts();
        QCOMPARE(counts.needed, std::uint64_t{1});
        QCOMPARE(counts.guessed, std::uint64_t{2});
        QCOMPARE(counts.used_guesses, std::uint64_t{1});
        QVERIFY(counts.cancelled <= 1);  // it may have been whole
        // Reads under way are finished before the reader is destroyed.
        static_cast<void>(opened.reader->start({0, 3}, blocks[3].data(), kNeeded));
        opened.reader.reset();
    }

    // ---- slots
    void slots_readGuessesOnceAndNeedsFirst() {
        Opened opened(gguf("qwen3_moe_bf16.gguf"));
        const ExpertGrid& grid = opened.spec.experts;
        CpuOperations operations(opened.pool, kernels::GemmMode::kF32);
        CpuBackend device(opened.pool, kernels::GemmMode::kF32, 0);
        HostMemory memory;
        Arena ram("RAM", memory, 0);
        ram.set_budget(std::uint64_t{1} << 30);
        std::vector<std::pair<std::size_t, bool>> begun;  // and whether it was a guess
        {
            DiskSlots disk_slots(device, ram);
            disk_slots.set_reader(
                opened.reader.get(), [&](std::size_t index, std::byte* block, ExpertReader::Urgency how) {
                    begun.emplace_back(index, how == kGuess);
                    const auto i = static_cast<std::int64_t>(index);
                    return opened.reader->start(
                        {static_cast<std::int32_t>(i / grid.n_experts), static_cast<std::int32_t>(i % grid.n_experts)},
                        block, how);
                });
            const std::uint64_t bytes = opened.bytes(0);
            disk_slots.resize(4, bytes, true);
            QVERIFY(ram.usage().used_bytes >= 4 * bytes + read_buffers_for(bytes, 4).bytes());
            const auto list = [&](std::initializer_list<std::size_t> experts) {
                std::vector<DiskSlots::Expert> wanted;
                for (const std::size_t i : experts) wanted.push_back({i, bytes});
                return wanted;
            };
            const auto is_right = [&](std::size_t index) {
                const std::byte* const block =
                    disk_slots.find_or_pack(index, bytes, [](std::byte*) { QFAIL("packed"); });
                const auto i = static_cast<std::int32_t>(index);
                const auto n = static_cast<std::int32_t>(grid.n_experts);
                const auto expected = opened.packed({i / n, i % n});
                return std::memcmp(block, expected.data(), expected.size()) == 0;
            };
            using Begun = std::vector<std::pair<std::size_t, bool>>;
            // Two are needed, of three guesses half of the slots have room.
            disk_slots.expect(list({0, 1}), list({4, 5, 6}));
            QCOMPARE(begun, (Begun{{0, false}, {1, false}, {4, true}, {5, true}}));
            QVERIFY(is_right(0) && is_right(1));
            disk_slots.release(0);
            disk_slots.release(1);
            begun.clear();
            // One guess was right and is not read again; the other gives up its slot.
            disk_slots.expect(list({4, 2}), list({7}));
            QCOMPARE(begun, (Begun{{2, false}, {7, true}}));
            QVERIFY(is_right(4) && is_right(2));
            begun.clear();
            // More than the number of slots: the others follow as slots are released.
            disk_slots.expect(list({7, 8, 9, 10, 11, 3}), {});
            QVERIFY(begun.size() <= 3);
            for (const std::size_t expert : {7, 8, 9, 10, 11, 3}) {
                QVERIFY(is_right(expert));
                disk_slots.release(expert);
            }
            std::set<std::size_t> once;
            for (const auto& [expert, guess] : begun) QVERIFY(!guess && once.insert(expert).second);
            QCOMPARE(once, (std::set<std::size_t>{8, 9, 10, 11, 3}));
            // Unfinished reads are cancelled when slots change; nothing writes to them
            // then.
            disk_slots.expect(list({20, 21, 22}), list({23}));
            disk_slots.resize(2, 2 * bytes, true);
            disk_slots.shrink(2, bytes, true);
            QCOMPARE(disk_slots.slot_bytes(), bytes);
            disk_slots.shrink(0, bytes, true);
            QCOMPARE(ram.usage().used_bytes, std::uint64_t{0});
        }
        QCOMPARE(ram.usage().used_bytes, std::uint64_t{0});
    }

    // ---- a whole model
    void logits_areThoseOfAModelInRam_data() {
        QTest::addColumn<QString>("model");
        QTest::newRow("safetensors") << QString::fromStdString(tinyModel(QStringLiteral("qwen3_moe_bf16")));
        QTest::newRow("GGUF") << QString::fromStdString(gguf("qwen3_moe_bf16.gguf"));
        QTest::newRow("GGUF, blocks") << QString::fromStdString(gguf("gpt_oss_mxfp4.gguf"));
    }
    void logits_areThoseOfAModelInRam() {
        QFETCH(QString, model);
        QTemporaryDir cache;
        LoadRequest request;
        request.model = model.toStdString();
        request.compute = ComputeMode::kF32;
        request.disk_reads = DiskReads::kDirect;
        request.context = 128;
        request.n_threads = 1;
        request.cache_directory = request.quant_cache_directory = cache.path().toStdString();
        std::vector<float> expected;
        std::uint64_t all_bytes = 0, expert_bytes = 0;
        {
            LoadedModel whole(request, LoadedModel::Text::kNotNeeded, {}, {});
            QCOMPARE(whole.experts().n_in_ram(), whole.spec().experts.size());
            all_bytes = whole.plan().ram_bytes - whole.plan().kept_bytes;  // what is kept shrinks first
            expert_bytes = whole.plan().slot_bytes;
            expected = logitsOf(whole);
        }
        const std::string direct_note = " are read from disk whenever they are needed, past the system's cache.";
        const auto notes = [](const LoadedModel& loaded) {
            std::string all;
            for (const Message& note : loaded.summary().notes) all += note.english();
            return all;
        };
        LoadRequest less = request;
        less.ram_bytes = all_bytes - 3 * expert_bytes;
        // Such a small model would stay in the system's cache.
        for (const auto reads : {DiskReads::kAuto, DiskReads::kCached}) {
            less.disk_reads = reads;
            LoadedModel cached(less, LoadedModel::Text::kNotNeeded, {}, {});
            QVERIFY(cached.experts().n_in_ram() < cached.spec().experts.size());
            QVERIFY(cached.experts().reader() == nullptr && cached.plan().disk_buffer_bytes == 0);
            QVERIFY(notes(cached).find(direct_note) == std::string::npos);
            QVERIFY(logitsOf(cached) == expected);
        }
        less.disk_reads = DiskReads::kDirect;
        for (const auto prefetch : {PrefetchMode::kOff, PrefetchMode::kAuto}) {
            less.prefetch = prefetch;
            LoadedModel partly(less, LoadedModel::Text::kNotNeeded, {}, {});
            QVERIFY(partly.experts().n_in_ram() < partly.spec().experts.size());
            QVERIFY(partly.experts().reads_ahead());
            QVERIFY(notes(partly).find(direct_note) != std::string::npos);
            const auto before = partly.experts().reader()->counts();
            QVERIFY(logitsOf(partly) == expected);
            const auto after = partly.experts().reader()->counts();
            QVERIFY(after.needed + after.used_guesses > before.needed + before.used_guesses);
            QVERIFY(prefetch == PrefetchMode::kAuto || after.guessed == 0);
            const ArenaUsage used = partly.ram().usage();
            QVERIFY(used.high_water_bytes <= less.ram_bytes);
        }
    }

  private:
    static std::vector<float> logitsOf(LoadedModel& model) {
        KvSequence sequence = model.new_sequence();
        std::vector<TokenId> tokens;
        for (int i = 0; i < 90; ++i) tokens.push_back(1 + i * 7 % 50);  // more rows than are computed in one go
        std::vector<float> all;
        for (int i = 0; i < 12; ++i) {
            const Segment segment{&sequence, tokens};
            if (model.forward().step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) return {};
            const auto logits = model.forward().logits();
            all.insert(all.end(), logits.begin(), logits.end());
            tokens = {static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
        }
        return all;
    }
};

QTEST_GUILESS_MAIN(TestExpertReader)
#include "tst_expert_reader.moc"
