#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/experts/expert_packer.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/quant_cache.h"
#include "kernels/cpu_kernels.h"
#include "kernels/packed.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::tests;
using kernels::WeightType;

namespace {

constexpr WeightType kPacked[] = {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2};

struct Model {
    explicit Model(const std::string& folder)
        : spec(read_model_spec(folder)),
          grid(spec.experts),
          master(open_weights(Checkpoint::open(folder), spec, false, pool)) {}

    kernels::ThreadPool pool{2};
    ModelSpec spec;
    ExpertGrid grid;
    std::unique_ptr<WeightSource> master;
};

std::vector<std::byte> packed(ExpertSource& source, std::int32_t layer, std::int32_t expert, WeightType format,
                              kernels::ThreadPool& pool, bool* from_cache = nullptr) {
    std::vector<std::byte> block(source.expert_bytes(format));
    const ExpertSource::Packed result = source.pack(LayerIndex{layer}, ExpertIndex{expert}, format, block.data(), pool);
    if (from_cache != nullptr) *from_cache = result.from_cache;
    return block;
}

// A master without a fingerprint unless it packs, as other kinds of sources may be, and
// that counts.
class Plain final : public WeightSource {
  public:
    explicit Plain(WeightSource& source) : source_(source) {}
    WeightType expert_type() const override { return source_.expert_type(); }
    std::uint64_t dense_bytes() const override { return 0; }
    void watch(BytesProgressFn, std::stop_token) override {}
    void advance() override {}
    DenseWeights load_dense(Arena&) override { return {}; }
    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        ++packs;
        pool_of_last = &pool;
        source_.pack_expert(layer, expert, block, pool);
    }
    int packs = 0;
    kernels::ThreadPool* pool_of_last = nullptr;

  private:
    WeightSource& source_;
};

// The same experts, with biases 0.5, 1.5, 2.5 ...
class Biased final : public WeightSource {
  public:
    Biased(WeightSource& source, const ExpertGrid& grid) : source_(source), grid_(grid) {}
    WeightType expert_type() const override { return source_.expert_type(); }
    std::uint64_t dense_bytes() const override { return 0; }
    void watch(BytesProgressFn, std::stop_token) override {}
    void advance() override {}
    DenseWeights load_dense(Arena&) override { return {}; }
    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        source_.pack_expert(layer, expert, block, pool);
        auto* biases = reinterpret_cast<float*>(block + grid_.layout(expert_type()).bias_offset());
        for (std::int64_t i = 0; i < 2 * grid_.ffn_dim + grid_.hidden_dim; ++i)
            biases[i] = 0.5f + static_cast<float>(i);
    }

  private:
    WeightSource& source_;
    ExpertGrid grid_;
};

}  // namespace

class TestExpertSource : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Beside an answer on a separate thread; while the caller waits, with all of the
    // caller's threads.
    void packerThatIsWaitedFor_usesTheCallersThreads() {
        Model model(test::demoModel());
        Plain master(*model.master);
        ExpertSource source(model.grid, master, nullptr);
        const WeightType format = source.master_type();
        const kernels::ExpertLayout layout = model.grid.layout(format);
        const auto expected = packed(source, 1, 3, format, model.pool);
        ExpertPacker packer(source, false);
        for (const bool waited : {true, false, true}) {
            std::vector<std::byte> block(source.expert_bytes(format));
            master.pool_of_last = nullptr;
            packer.start(LayerIndex{1}, ExpertIndex{3}, format, block, layout, nullptr);
            std::optional<ExpertPacker::Result> result = packer.poll();
            QVERIFY(!result.has_value());  // it has not begun
            if (!waited) packer.begin();
            if (waited) packer.wait(model.pool);
            QTRY_VERIFY(result.has_value() || (result = packer.poll()).has_value());
            QVERIFY2(result->ok, result->problem.english().c_str());
            QVERIFY(master.pool_of_last != nullptr && (master.pool_of_last == &model.pool) == waited);
            QVERIFY(layout.interleaved || block == expected);
            QVERIFY(!packer.busy());
        }
        // One that never began is cancelled at once.
        std::vector<std::byte> block(source.expert_bytes(format));
        packer.start(LayerIndex{1}, ExpertIndex{3}, format, block, layout, nullptr);
        QVERIFY(packer.cancel().has_value() && !packer.busy());
    }

    void biases_followTheNeurons_inEveryFormat() {
        QTemporaryDir cacheFolder;
        QuantCache cache(cacheFolder.path().toStdString());
        Model model(test::demoModel());
        Plain neurons(*model.master);
        ExpertSource without(model.grid, neurons, nullptr);
        ExpertGrid grid = model.grid;
        grid.expert.biases = true;
        Biased master(*model.master, grid);
        ExpertSource source(grid, master, &cache);
        for (const WeightType format :
             {source.master_type(), WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq4}) {
            const auto plain = packed(without, 1, 3, format, model.pool);
            const auto block = packed(source, 1, 3, format, model.pool);  // the last time from the cache
            const std::size_t offset = grid.layout(format).bias_offset();
            QCOMPARE(block.size(), offset + grid.layout(format).bias_bytes());
            QVERIFY(std::equal(plain.begin(), plain.end(), block.begin()));
            const kernels::ExpertView view{block.data(), grid.layout(format)};
            QCOMPARE(view.biases().gate[0], 0.5f);
            QCOMPARE(view.biases().up[0], 0.5f + static_cast<float>(grid.ffn_dim));
            QCOMPARE(view.biases().down[grid.hidden_dim - 1],
                     0.5f + static_cast<float>(2 * grid.ffn_dim + grid.hidden_dim - 1));
        }
    }

    void everyFormat_isNearItsMaster_neuronByNeuron() {
        Model m(test::demoModel());
        ExpertSource source(m.grid, *m.master, nullptr);
        QCOMPARE(source.master_type(), WeightType::kBf16);
        const std::vector<std::byte> plain = packed(source, 2, 3, WeightType::kBf16, m.pool);
        std::vector<std::byte> direct(plain.size());
        m.master->pack_expert(LayerIndex{2}, ExpertIndex{3}, direct.data(), m.pool);
        QVERIFY(plain == direct);

        const auto cols = static_cast<std::size_t>(m.grid.hidden_dim);
        const auto rows = static_cast<std::size_t>(3 * m.grid.ffn_dim);
        std::vector<float> original(rows * cols);
        kernels::cpu_kernels().widen(plain.data(), WeightType::kBf16, static_cast<std::int64_t>(rows * cols),
                                     original.data());
        double last = 0;
        for (const WeightType format : kPacked) {
            QVERIFY(source.supports(format));
            std::vector<std::byte> block(source.expert_bytes(format));
            const ExpertSource::Packed result =
                source.pack(LayerIndex{2}, ExpertIndex{3}, format, block.data(), m.pool);
            QVERIFY(!result.from_cache);
            const std::size_t row_bytes = kernels::row_bytes(format, m.grid.hidden_dim);
            QCOMPARE(block.size(), rows * row_bytes);
            std::vector<float> read(rows * cols);
            for (std::size_t r = 0; r < rows; ++r) {
                kernels::unpack_row(format, block.data() + r * row_bytes, m.grid.hidden_dim, 0, m.grid.hidden_dim,
                                    read.data() + r * cols);
                // Checks each row: a row at another's place would be an error of 1.4.
                QVERIFY(test::relativeError(std::span(read).subspan(r * cols, cols),
                                            std::span(original).subspan(r * cols, cols)) < 0.45);
            }
            QVERIFY(std::abs(test::relativeError(read, original) / result.relative_error - 1) < 1e-4);
            QVERIFY(result.relative_error > last);  // fewer bits, larger error
            last = result.relative_error;
        }
        QVERIFY(last < 0.31);
    }

    void aSecondTime_comesFromTheCache_theSameBytes_data() {
        QTest::addColumn<bool>("plain");
        QTest::newRow("fingerprint of the file") << false;
        QTest::newRow("fingerprint of the packed block") << true;
    }
    void aSecondTime_comesFromTheCache_theSameBytes() {
        QFETCH(bool, plain);
        const QTemporaryDir folder;
        QuantCache cache(folder.path().toStdString());
        Model m(test::demoModel());
        Plain wrapped(*m.master);
        WeightSource& master = plain ? static_cast<WeightSource&>(wrapped) : *m.master;
        for (const WeightType format : kPacked) {
            bool first = true;
            bool second = false;
            std::vector<std::byte> one;
            double error = 0;
            {
                ExpertSource source(m.grid, master, &cache);
                one = packed(source, 1, 1, format, m.pool, &first);
            }
            ExpertSource source(m.grid, master, &cache);
            QVERIFY(packed(source, 1, 1, format, m.pool, &second) == one);
            QVERIFY(!first);
            QVERIFY(second);
            std::vector<std::byte> block(source.expert_bytes(format));
            error = source.pack(LayerIndex{1}, ExpertIndex{1}, format, block.data(), m.pool).relative_error;
            QVERIFY(error > 0.001 && error < 0.35);
            bool other = true;
            QVERIFY(packed(source, 1, 2, format, m.pool, &other) != one);
            QVERIFY(!other);
        }
    }

    // Repeated reads, as of experts on disk, cost only the packed bytes: the checkpoint,
    // which is gone here, is not read.
    void aKeptCopy_readAgain_leavesTheCheckpointAlone() {
        const QTemporaryDir folder;
        for (const QFileInfo& file : QDir(QString::fromStdString(test::demoModel())).entryInfoList(QDir::Files)) {
            QVERIFY(QFile::copy(file.filePath(), folder.filePath(file.fileName())));
        }
        const QTemporaryDir kept;
        QuantCache cache(kept.path().toStdString());
        Model m(folder.path().toStdString());
        ExpertSource source(m.grid, *m.master, &cache);
        const std::vector<std::byte> four = packed(source, 7, 7, WeightType::kHqq4, m.pool);
        const std::vector<std::byte> two = packed(source, 7, 7, WeightType::kHqq2, m.pool);
        QFile weights(folder.filePath(QStringLiteral("model.safetensors")));
        QVERIFY(weights.setPermissions(QFile::ReadOwner | QFile::WriteOwner) && weights.resize(0));
        for (int i = 0; i < 3; ++i) {
            QVERIFY(packed(source, 7, 7, WeightType::kHqq4, m.pool) == four);
            QVERIFY(packed(source, 7, 7, WeightType::kHqq2, m.pool) == two);
        }
        QCOMPARE(mismatch(error_of([&] { packed(source, 0, 0, WeightType::kHqq4, m.pool); }), ErrorKind::kInvalidModel),
                 QString());
    }

    void fingerprints_ofDifferentExpertsAndModels_differ() {
        std::vector<Fingerprint> seen;
        const auto take = [&](WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool) {
            for (std::int32_t l = 0; l < grid.n_layers; ++l) {
                for (std::int32_t e = 0; e < grid.n_experts; ++e) {
                    const auto print = source.expert_fingerprint(LayerIndex{l}, ExpertIndex{e}, pool);
                    QVERIFY(print.has_value());
                    QVERIFY(source.expert_fingerprint(LayerIndex{l}, ExpertIndex{e}, pool) == print);
                    seen.push_back(*print);
                }
            }
        };
        Model demo(test::demoModel());
        take(*demo.master, demo.grid, demo.pool);
        Model tiny(test::tinyModel("grouped_bf16"));
        take(*tiny.master, tiny.grid, tiny.pool);
        for (const char* name : {"synthetic:fine?layers=2", "synthetic:fine?layers=2&seed=9"}) {
            const SyntheticModel model = parse_synthetic(name);
            const auto source = draw_weights(model, demo.pool);
            take(*source, model.spec.experts, demo.pool);
        }
        std::sort(seen.begin(), seen.end());
        QVERIFY(std::unique(seen.begin(), seen.end()) == seen.end());
        // Rounding changes the packed bytes: another fingerprint of the same file.
        Model wide(test::tinyModel("grouped_f32"));
        const auto rounded = open_weights(Checkpoint::open(test::tinyModel("grouped_f32")), wide.spec, true, wide.pool);
        QVERIFY(wide.master->expert_fingerprint(LayerIndex{0}, ExpertIndex{0}, wide.pool) !=
                rounded->expert_fingerprint(LayerIndex{0}, ExpertIndex{0}, wide.pool));
    }

    void aModelOfOddWidth_refusesPackedFormats() {
        Model m(test::tinyModel("grouped_f32"));
        if (m.grid.hidden_dim % 64 == 0) m.grid.hidden_dim += 8;
        ExpertSource source(m.grid, *m.master, nullptr);
        QVERIFY(source.supports(WeightType::kF32));
        QVERIFY(source.supports(WeightType::kBf16));
        for (const WeightType format : kPacked) {
            QVERIFY(!source.supports(format));
            std::byte nothing{};
            QCOMPARE(mismatch(error_of([&] { source.pack(LayerIndex{0}, ExpertIndex{0}, format, &nothing, m.pool); }),
                              ErrorKind::kUnsupported),
                     QString());
        }
    }

    void stopping_isCancelled() {
        Model m(test::demoModel());
        ExpertSource source(m.grid, *m.master, nullptr);
        std::vector<std::byte> block(source.expert_bytes(WeightType::kHqq4));
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(mismatch(error_of([&] {
                              source.pack(LayerIndex{0}, ExpertIndex{0}, WeightType::kHqq4, block.data(), m.pool,
                                          stop.get_token());
                          }),
                          ErrorKind::kCancelled),
                 QString());
    }

    void severalThreads_packTheSameBytes() {
        const QTemporaryDir folder;
        QuantCache cache(folder.path().toStdString());
        Model m(test::demoModel());
        ExpertSource source(m.grid, *m.master, &cache);
        ExpertSource alone(m.grid, *m.master, nullptr);
        std::vector<std::vector<std::byte>> want;
        for (std::int32_t e = 0; e < 4; ++e) want.push_back(packed(alone, 4, e, WeightType::kHqq2, m.pool));
        std::atomic<int> wrong{0};
        {
            std::vector<std::jthread> threads;
            for (int n = 0; n < 3; ++n) {
                threads.emplace_back([&] {
                    kernels::ThreadPool pool(1);
                    for (std::int32_t e = 0; e < 4; ++e) {
                        if (packed(source, 4, e, WeightType::kHqq2, pool) != want[static_cast<std::size_t>(e)]) ++wrong;
                    }
                });
            }
        }
        QCOMPARE(wrong.load(), 0);
    }
};

QTEST_GUILESS_MAIN(TestExpertSource)
#include "tst_expert_source.moc"
