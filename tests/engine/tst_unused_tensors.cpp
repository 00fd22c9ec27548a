// Tensors of a checkpoint that no role of its model reads: prediction layers, towers.

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/files/gguf.h"
#include "engine/files/mapped_file.h"
#include "engine/model/model_files.h"
#include "engine/model/model_messages.h"
#include "engine/model/tensor_types.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::tests::GgufWriter;

namespace {

using Part = UnusedTensors::Part;

QString listOf(const std::vector<UnusedTensors>& unused) {
    QStringList parts;
    for (const UnusedTensors& part : unused) {
        parts << QStringLiteral("%1 %2 %3 %4")
                     .arg(QString::fromLatin1(name_of(part.part)))
                     .arg(part.n_tensors)
                     .arg(part.bytes)
                     .arg(QString::fromStdString(part.first));
    }
    return parts.join(QStringLiteral("; "));
}

std::vector<UnusedTensors> unusedIn(const std::string& model) {
    const ModelSpec spec = read_model_spec(model);
    return unused_tensors(*Checkpoint::open(model), spec);
}

}  // namespace

class TestUnusedTensors : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // All others of the tiny models are read to the last tensor.
    void partsOfAModel_areNamed_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("unused");
        const QMap<QString, QString> known = {
            {QStringLiteral("deepseek_v3_bf16"),
             QStringLiteral("layers that predict further tokens 5 6720 model.layers.3.eh_proj.weight")},
            {QStringLiteral("deepseek_v32_bf16"),
             QStringLiteral("layers that predict further tokens 5 6720 model.layers.3.eh_proj.weight")},
            {QStringLiteral("deepseek_v32_bf16.gguf"),
             QStringLiteral("layers that predict further tokens 5 7040 blk.3.nextn.eh_proj.weight")},
            {QStringLiteral("deepseek_v4_fp4"),
             QStringLiteral("layers that predict further tokens 3 192 mtp.0.enorm.weight")},
            {QStringLiteral("deepseek_v4_odd_f32"),
             QStringLiteral("layers that predict further tokens 3 120 mtp.0.enorm.weight")},
            {QStringLiteral("minimax_m3_bf16"),
             QStringLiteral("vision tower 27 11264 multi_modal_projector.linear_1.bias")},
            {QStringLiteral("minimax_m3_odd_f32"),
             QStringLiteral("vision tower 27 16512 multi_modal_projector.linear_1.bias")},
            {QStringLiteral("glm4_moe_bf16"),
             QStringLiteral("layers that predict further tokens 5 9600 model.layers.3.eh_proj.weight")},
            {QStringLiteral("glm4_moe_lite_bf16"),
             QStringLiteral("layers that predict further tokens 5 4352 model.layers.3.eh_proj.weight")},
            {QStringLiteral("glm4_moe_bf16.gguf"),
             QStringLiteral("layers that predict further tokens 5 9984 blk.3.nextn.eh_proj.weight")},
            {QStringLiteral("qwen3_5_moe_bf16.gguf"),
             QStringLiteral("layers that predict further tokens 2 256 blk.4.attn_norm.weight")},
            {QStringLiteral("gemma4_bf16"),
             QStringLiteral("vision tower 3 192 model.embed_vision.embedding_projection.weight")},
            {QStringLiteral("glm4v_moe_bf16"),
             QStringLiteral("vision tower 20 12512 model.visual.blocks.0.attn.proj.weight")},
            {QStringLiteral("qwen3_vl_moe_bf16"),
             QStringLiteral("vision tower 27 7328 model.visual.blocks.0.attn.proj.bias")},
            {QStringLiteral("llama4_bf16"), QStringLiteral("vision tower 3 192 multi_modal_projector.norm.weight")},
            {QStringLiteral("kimi_k25_bf16"), QStringLiteral("vision tower 3 192 multi_modal_projector.norm.weight")},
            {QStringLiteral("step3p7_odd_f32"), QStringLiteral("vision tower 23 49816 vision_model.conv1.weight")},
            {QStringLiteral("mistral3_bf16"), QStringLiteral("vision tower 3 192 multi_modal_projector.norm.weight")},
            {QStringLiteral("qwen3_5_moe_bf16"),
             QStringLiteral("layers that predict further tokens 2 128 mtp.layers.0.input_layernorm.weight; "
                            "vision tower 1 64 model.visual.patch_embed.proj.bias")}};
        const QDir folder(sourcePath(QStringLiteral("tests/engine/data/models")));
        for (const QString& name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            QTest::newRow(qPrintable(name)) << folder.filePath(name) << known.value(name);
        }
        const QDir files(sourcePath(QStringLiteral("tests/engine/data/gguf")));
        for (const QString& name : files.entryList({QStringLiteral("*.gguf")})) {
            QTest::newRow(qPrintable(name)) << files.filePath(name) << known.value(name);
        }
    }
    void partsOfAModel_areNamed() {
        QFETCH(QString, model);
        QFETCH(QString, unused);
        QCOMPARE(listOf(unusedIn(model.toStdString())), unused);
    }

    // As in a file that has them in different formats.
    void queriesKeysAndValuesApart_areRead() {
        for (const char* const name : {"qwen3_moe_bf16", "gemma4_bf16"}) {
            const std::string file =
                sourcePath(QStringLiteral("tests/engine/data/gguf/%1.gguf").arg(QLatin1String(name))).toStdString();
            ModelSpec spec = read_model_spec(file);
            spec.split_qkv.assign(spec.layers.size(), 1);
            QVERIFY(unused_tensors(*Checkpoint::open(file), spec).empty());
            QVERIFY(!types_by_role(*Checkpoint::open(file), spec).empty());
        }
    }

    // A config.json with fewer layers than the files have.
    void layersThatAreLeftOut_areNotCalledPredictingOnes() {
        const std::string folder = sourcePath(QStringLiteral("tests/engine/data/models/qwen3_moe_bf16")).toStdString();
        ModelSpec spec = read_model_spec(folder);
        spec.layers.pop_back();
        const std::vector<UnusedTensors> unused = unused_tensors(*Checkpoint::open(folder), spec);
        QCOMPARE(unused.size(), std::size_t{1});
        QCOMPARE(int(unused[0].part), int(Part::kLayers));
    }

    void tensorsByName_belongToParts_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<int>("part");
        const auto row = [](const char* name, Part part) { QTest::newRow(name) << QByteArray(name) << int(part); };
        row("blk.3.nextn.eh_proj.weight", Part::kPredictionLayers);
        row("blk.7.attn_norm.weight", Part::kPredictionLayers);
        row("v.blk.0.attn_q.weight", Part::kVision);
        row("mm.input_projection.weight", Part::kVision);
        row("a.blk.0.attn_q.weight", Part::kAudio);
        row("blk.0.attn_norm.bias", Part::kLayers);
        row("blk.x.attn_norm.bias", Part::kOther);
        row("something.else", Part::kOther);
        for (const char* redundant : {"blk.0.attn_rot_embd.inv_freq", "blk.0.ffn_up_exps.input_scale",
                                      "model.layers.0.self_attn.rotary_emb.inv_freq"}) {
            QTest::newRow(redundant) << QByteArray(redundant) << -1;  // no part: no word about it
        }
    }
    // Besides the tensors of a model of three layers.
    void tensorsByName_belongToParts() {
        QFETCH(QByteArray, name);
        QFETCH(int, part);
        const std::string file = sourcePath(QStringLiteral("tests/engine/data/gguf/qwen3_moe_bf16.gguf")).toStdString();
        const ModelSpec spec = read_model_spec(file);
        QTemporaryDir folder;
        const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "more.gguf";
        const MappedFile map(file);
        const GgufHeader header = parse_gguf(map.bytes(), file);
        GgufWriter writer;
        for (const GgufTensor& tensor : header.tensors) {
            std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
            std::size_t n = 1;
            for (const std::uint64_t dim : shape) n *= dim;
            writer.add_floats(std::string(tensor.name), shape, std::vector<float>(n));
        }
        writer.add_floats(name.toStdString(), {4, 2}, std::vector<float>(8));
        writer.write(path);
        const std::vector<UnusedTensors> unused = unused_tensors(*Checkpoint::open(path), spec);
        QCOMPARE(unused.size(), part < 0 ? std::size_t{0} : std::size_t{1});
        if (part < 0) return;
        QCOMPARE(int(unused[0].part), part);
        QCOMPARE(unused[0].n_tensors, 1);
        QCOMPARE(unused[0].bytes, 32u);
        QCOMPARE(QByteArray::fromStdString(unused[0].first), name);
        QVERIFY(!describe(unused[0]).empty());
    }

    void loadedModelAndEstimate_say() {
        LoadRequest request;
        request.model = tinyModel(QStringLiteral("qwen3_5_moe_bf16"));
        request.device = "cpu";
        request.n_threads = 1;
        const LoadedModel model(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        const FitEstimate estimate = FitEstimator(request.model, FitEstimator::Text::kNotNeeded).estimate(request);
        const std::vector<Message> estimated = estimate.all_notes();
        for (const std::vector<Message>* const notes : {&model.summary().notes, &estimated}) {
            const QString all = QString::fromStdString(nlohmann::json(english(*notes)).dump());
            for (const Message& said : {messages::unused_prediction_layers(ByteSize{128}, 2),
                                        messages::unused_vision_tower(ByteSize{64}, 1)}) {
                QVERIFY2(std::find(notes->begin(), notes->end(), said) != notes->end(), qPrintable(all));
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestUnusedTensors)
#include "tst_unused_tensors.moc"
