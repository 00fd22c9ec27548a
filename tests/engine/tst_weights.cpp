// Packing: a checkpoint's experts in the neuron-major layout, dense weights fused, errors
// and cancellation.

#include <cstring>

#include <QtTest>

#include "engine/device/host_buffer.h"
#include "engine/device/host_memory.h"
#include "engine/error.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "kernels/blocks.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

namespace {

float valueAt(const void* data, kernels::WeightType type, std::int64_t index) {
    const auto* bytes = static_cast<const std::byte*>(data) + static_cast<std::size_t>(index) * bytes_per_weight(type);
    if (type == kernels::WeightType::kF32) {
        float value = 0;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes, sizeof bits);
    return type == kernels::WeightType::kBf16 ? kernels::to_float(kernels::Bf16{bits})
                                              : kernels::to_float(kernels::F16{bits});
}

// A source of weights, and all that it gave.
struct Loaded {
    HostMemory memory;
    Arena ram{"RAM", memory, std::uint64_t{1} << 32};
    std::unique_ptr<WeightSource> source;
    DenseWeights dense;
    ExpertGrid grid;
    kernels::ThreadPool packing_pool{2};

    Loaded(std::unique_ptr<WeightSource> from, const ModelSpec& c, BytesProgressFn progress = {},
           std::stop_token stop = {})
        : source(std::move(from)), grid(c.experts) {
        source->watch(std::move(progress), std::move(stop));
        dense = source->load_dense(ram);
    }
    Loaded(ModelSpec c, const QString& name, bool round, kernels::ThreadPool& pool, BytesProgressFn progress = {},
           std::stop_token stop = {})
        : Loaded(open_weights(Checkpoint::open(tinyModel(name)), c, round, pool), c, std::move(progress),
                 std::move(stop)) {}

    std::vector<std::byte> expert(std::int32_t layer, std::int32_t index) {
        std::vector<std::byte> block(grid.expert_bytes(source->expert_type()));
        source->pack_expert(LayerIndex{layer}, ExpertIndex{index}, block.data(), packing_pool);
        return block;
    }
    void packAll() {
        for (std::int32_t l = 0; l < grid.n_layers; ++l) {
            for (std::int32_t e = 0; e < grid.n_experts; ++e) {
                expert(l, e);
                source->advance();
            }
        }
    }
};

}  // namespace

class TestWeights : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void expert_isNeuronMajor_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("round");
        for (const char* name :
             {"grouped_f32", "full_heads_tied_f32", "wide_head_sharded_v4_f32", "grouped_bf16", "sliding_window_f16"}) {
            QTest::addRow("%s as it is", name) << QString::fromLatin1(name) << false;
            QTest::addRow("%s rounded", name) << QString::fromLatin1(name) << true;
        }
    }
    void expert_isNeuronMajor() {
        QFETCH(QString, name);
        QFETCH(bool, round);
        ModelSpec c = read_model_spec(tinyModel(name));
        const auto checkpoint = Checkpoint::open(tinyModel(name));
        kernels::ThreadPool pool(3);
        Loaded weights(c, name, round, pool);
        const kernels::WeightType type = weights.source->expert_type();
        if (round) QCOMPARE(type, kernels::WeightType::kBf16);
        const ExpertGrid& grid = c.experts;
        for (std::int32_t l = 0; l < grid.n_layers; ++l) {
            for (std::int32_t e = 0; e < grid.n_experts; ++e) {
                const auto part = [&](const char* w) {
                    return checkpoint->find("model.layers." + std::to_string(l) + ".block_sparse_moe.experts." +
                                            std::to_string(e) + "." + w + ".weight");
                };
                const TensorView &w1 = *part("w1"), &w2 = *part("w2"), &w3 = *part("w3");
                if (!round) QCOMPARE(type, w1.type);
                const std::vector<std::byte> block = weights.expert(l, e);
                const auto expected = [&](const TensorView& tensor, std::int64_t index) {
                    const float value = valueAt(tensor.bytes.data(), tensor.type, index);
                    return round ? kernels::to_float(kernels::to_bf16(value)) : value;
                };
                for (std::int64_t j = 0; j < grid.ffn_dim; ++j) {
                    for (std::int64_t h = 0; h < c.hidden_dim; ++h) {
                        const std::int64_t at = j * 3 * c.hidden_dim + h;
                        QCOMPARE(valueAt(block.data(), type, at), expected(w1, j * c.hidden_dim + h));
                        QCOMPARE(valueAt(block.data(), type, at + c.hidden_dim), expected(w3, j * c.hidden_dim + h));
                        QCOMPARE(valueAt(block.data(), type, at + 2 * c.hidden_dim),
                                 expected(w2, h * grid.ffn_dim + j));
                    }
                }
            }
        }
    }

    void dense_queriesKeysAndValuesLieBelowEachOther() {
        ModelSpec c = read_model_spec(tinyModel(QStringLiteral("grouped_f32")));
        const auto checkpoint = Checkpoint::open(tinyModel(QStringLiteral("grouped_f32")));
        kernels::ThreadPool pool(2);
        const Loaded weights(c, QStringLiteral("grouped_f32"), false, pool);
        const auto& qkv = weights.dense.find(TensorRole::kQkv, 1)->matrix;
        std::int64_t row = 0;
        for (const char* part : {"q", "k", "v"}) {
            const TensorView& tensor =
                *checkpoint->find(std::string("model.layers.1.self_attn.") + part + "_proj.weight");
            QCOMPARE(std::memcmp(qkv.view().row(row), tensor.bytes.data(), tensor.bytes.size()), 0);
            row += tensor.shape[0];
        }
        QCOMPARE(qkv.n_rows, row);
        // Norms and gates are always float32, so the bytes in memory are those of the
        // file here.
        const auto experts = static_cast<std::uint64_t>(c.experts.size() * c.experts.expert_weights());
        QCOMPARE(weights.dense.bytes() + experts * 4, static_cast<std::uint64_t>(c.total_weights()) * 4);
        QCOMPARE(weights.source->dense_bytes(), weights.dense.bytes());
        QVERIFY(weights.ram.usage().used_bytes > 0);
    }

    void progress_growsToTheWhole() {
        ModelSpec c = read_model_spec(tinyModel(QStringLiteral("grouped_bf16")));
        const auto checkpoint = Checkpoint::open(tinyModel(QStringLiteral("grouped_bf16")));
        kernels::ThreadPool pool(2);
        std::uint64_t last = 0;
        int calls = 0;
        Loaded weights(c, QStringLiteral("grouped_bf16"), false, pool, [&](std::uint64_t done, std::uint64_t total) {
            QVERIFY(done > last || calls == 0);
            QCOMPARE(total, checkpoint->total_bytes());
            last = done;
            ++calls;
        });
        weights.packAll();
        QVERIFY(calls > 10);
        QCOMPARE(last, checkpoint->total_bytes());
    }

    void stopRequested_endsInCancelled() {
        ModelSpec c = read_model_spec(tinyModel(QStringLiteral("grouped_f32")));
        kernels::ThreadPool pool(2);
        std::stop_source stop;
        int calls = 0;
        try {
            Loaded weights(
                c, QStringLiteral("grouped_f32"), false, pool,
                [&](std::uint64_t, std::uint64_t) {
                    if (++calls == 5) stop.request_stop();
                },
                stop.get_token());
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kCancelled);
            QCOMPARE(calls, 5);
        }
    }

    void config_unlikeTheTensors_namesTensorAndShapes() {
        ModelSpec c = read_model_spec(tinyModel(QStringLiteral("grouped_f32")));
        c.experts.ffn_dim += 1;
        kernels::ThreadPool pool(1);
        try {
            open_weights(Checkpoint::open(tinyModel(QStringLiteral("grouped_f32"))), c, false, pool);
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
            const QString text = QString::fromUtf8(error.what());
            QVERIFY2(text.contains(QStringLiteral("model.layers.0.block_sparse_moe.experts.0.w1.weight")),
                     error.what());
            QVERIFY2(text.contains(QStringLiteral("48")) && text.contains(QStringLiteral("49")), error.what());
        }
    }

    void requireRam_moreThanThereIs_saysByHowMuch() {
        try {
            require_ram(std::uint64_t{1} << 60, "The model X");
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
            QVERIFY2(QString::fromUtf8(error.what()).startsWith(QStringLiteral("The model X needs 1048576.0 TiB")),
                     error.what());
            QVERIFY2(QString::fromUtf8(error.what()).contains(QStringLiteral("too little")), error.what());
        }
    }

    void synthetic_sameSeed_sameWeightsForAnyThreads() {
        SyntheticModel model = parse_synthetic("synthetic:fine?layers=1&seed=5");
        model.spec.experts.n_experts = 4;  // smaller, or the test would only wait
        std::get<MoeSpec>(model.spec.layers[0].ffn).router.n_experts = 4;
        model.spec.vocab_size = 101;
        kernels::ThreadPool one(1), three(3);
        Loaded a(draw_weights(model, one), model.spec);
        Loaded b(draw_weights(model, three), model.spec);
        model.seed = 6;
        Loaded c(draw_weights(model, three), model.spec);
        const std::vector<std::byte> block = a.expert(0, 3);
        b.packAll();  // after any earlier draws
        QVERIFY(block == b.expert(0, 3));
        QVERIFY(block != c.expert(0, 3));
        QVERIFY(block != a.expert(0, 2));
        QVERIFY(a.dense.find(TensorRole::kRouter, 0)->values == b.dense.find(TensorRole::kRouter, 0)->values);
        QCOMPARE(a.source->dense_bytes(), a.dense.bytes());

        double sum = 0, squares = 0;
        const std::int64_t n = model.spec.experts.expert_weights();
        for (std::int64_t i = 0; i < n; ++i) {
            const double value = static_cast<double>(valueAt(block.data(), kernels::WeightType::kBf16, i));
            sum += value;
            squares += value * value;
        }
        const double variance = squares / static_cast<double>(n) * static_cast<double>(model.spec.hidden_dim);
        QVERIFY2(std::abs(variance - 1) < 0.02, qPrintable(QString::number(variance)));
        QVERIFY(std::abs(sum / static_cast<double>(n)) * std::sqrt(static_cast<double>(model.spec.hidden_dim)) < 0.01);
    }

    // Blocks of GGUF's types, as `synthetic:NAME?type=` draws them.
    void syntheticBlocks_haveTheVarianceOfTheirInputs_data() {
        QTest::addColumn<QString>("type");
        for (const char* type :
             {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "q6_k", "q5_k", "q4_k", "q3_k", "q2_k", "iq4_nl", "iq4_xs",
              "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_s", "mxfp4"}) {
            QTest::newRow(type) << QString::fromLatin1(type);
        }
    }
    void syntheticBlocks_haveTheVarianceOfTheirInputs() {
        QFETCH(QString, type);
        SyntheticModel model = parse_synthetic("synthetic:fine?layers=1&vocab=101&type=" + type.toStdString());
        model.spec.experts.n_experts = 4;
        std::get<MoeSpec>(model.spec.layers[0].ffn).router.n_experts = 4;
        kernels::ThreadPool one(1), three(3);
        Loaded a(draw_weights(model, one), model.spec);
        Loaded b(draw_weights(model, three), model.spec);
        const std::vector<std::byte> block = a.expert(0, 3);
        QVERIFY(block == b.expert(0, 3));
        QVERIFY(block != a.expert(0, 2));
        QCOMPARE(a.source->dense_bytes(), a.dense.bytes());
        const DenseWeight* const head = a.dense.find(TensorRole::kHead);
        QVERIFY(head != nullptr);
        QCOMPARE(QString::fromLatin1(kernels::traits_of(head->matrix.type).option), type);

        const kernels::ExpertLayout layout = model.spec.experts.layout(model.expert_type());
        QCOMPARE(static_cast<std::uint64_t>(block.size()), layout.bytes());
        const kernels::ExpertView expert{block.data(), layout};
        for (const kernels::WeightView& matrix : {expert.gate(), expert.up(), expert.down()}) {
            std::vector<float> row(static_cast<std::size_t>(matrix.n_cols));
            double sum = 0, squares = 0;
            for (std::int64_t i = 0; i < matrix.n_rows; ++i) {
                kernels::unpack_blocks(matrix.type, matrix.row(i), 0, matrix.n_cols, row.data());
                for (const float value : row) {
                    sum += static_cast<double>(value);
                    squares += static_cast<double>(value) * static_cast<double>(value);
                }
            }
            const auto n = static_cast<double>(matrix.n_rows * matrix.n_cols);
            const double variance = squares / n * static_cast<double>(model.spec.hidden_dim);
            // An exponent of two cannot meet it exactly.
            const double most = type == QStringLiteral("mxfp4") ? 2 : 1.1;
            QVERIFY2(variance < most && variance > 1 / most, qPrintable(QString::number(variance)));
            const double mean = sum / n * std::sqrt(static_cast<double>(model.spec.hidden_dim));
            QVERIFY2(std::abs(mean) < 0.15, qPrintable(QString::number(mean)));
        }
    }

    void synthetic_names_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("says");  // empty: it is right
        QTest::newRow("8x7b") << QStringLiteral("synthetic:mixtral-8x7b") << QString();
        QTest::newRow("options") << QStringLiteral("synthetic:mixtral-mini?layers=3&seed=18446744073709551615")
                                 << QString();
        QTest::newRow("order") << QStringLiteral("synthetic:fine?seed=1&layers=2") << QString();
        QTest::newRow("unknown") << QStringLiteral("synthetic:gpt") << QStringLiteral("mixtral-mini");
        QTest::newRow("empty") << QStringLiteral("synthetic:") << QStringLiteral("expected one of mixtral-8x7b");
        QTest::newRow("no layers") << QStringLiteral("synthetic:fine?layers=0") << QStringLiteral("layers is \"0\"");
        QTest::newRow("layers in words") << QStringLiteral("synthetic:fine?layers=two")
                                         << QStringLiteral("layers is \"two\"");
        QTest::newRow("too many layers") << QStringLiteral("synthetic:fine?layers=99999") << QStringLiteral("512");
        QTest::newRow("negative seed") << QStringLiteral("synthetic:fine?seed=-1") << QStringLiteral("seed is \"-1\"");
        QTest::newRow("vocabulary") << QStringLiteral("synthetic:dbrx?layers=3&vocab=4096&seed=18446744073709551615")
                                    << QString();
        QTest::newRow("larger vocabulary") << QStringLiteral("synthetic:dbrx?vocab=100353") << QStringLiteral("100352");
        QTest::newRow("type") << QStringLiteral("synthetic:fine?type=q4_k&layers=2") << QString();
        QTest::newRow("unknown type") << QStringLiteral("synthetic:fine?type=q9_k") << QStringLiteral("q4_0, q6_k");
        QTest::newRow("blocks longer than rows") << QStringLiteral("synthetic:deepseek-v2-lite?type=q4_k") << QString();
        QTest::newRow("unknown option") << QStringLiteral("synthetic:fine?depth=1")
                                        << QStringLiteral("no option \"depth\"");
    }
    void synthetic_names() {
        QFETCH(QString, name);
        QFETCH(QString, says);
        try {
            const SyntheticModel model = parse_synthetic(name.toStdString());
            QVERIFY2(says.isEmpty(), "no error");
            QVERIFY(model.spec.total_weights() > 0);
            if (name.contains(QStringLiteral("layers=3"))) {
                QCOMPARE(model.spec.n_layers(), 3);
                const bool is_dbrx = name.contains(QStringLiteral("dbrx"));
                QCOMPARE(model.spec.experts.ffn_dim, is_dbrx ? 10752 : 7168);
                QCOMPARE(model.spec.vocab_size, is_dbrx ? 4096 : 32000);
                QCOMPARE(model.seed, std::numeric_limits<std::uint64_t>::max());
            }
        } catch (const Error& error) {
            QVERIFY2(!says.isEmpty() && QString::fromUtf8(error.what()).contains(says), error.what());
            QCOMPARE(error.kind(), ErrorKind::kInvalidInput);
        }
    }
};

QTEST_GUILESS_MAIN(TestWeights)
#include "tst_weights.moc"
