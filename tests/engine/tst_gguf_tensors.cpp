// GGUF files: tensors that only some files have, and those that must not be there.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/model/quantized_tensor.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/changed_model.h"
#include "tests/engine/errors.h"
#include "tests/engine/gguf_fixture.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::tests::ChangedModel;
using offstage::tests::GgufFixture;
using offstage::tests::ggufModel;
using offstage::tests::GgufParts;
using offstage::tests::GgufWriter;
using offstage::tests::sentence_of;

class TestGgufTensors : public QObject, GgufFixture {
    Q_OBJECT

  private:
    // A file's tensors, plain ones in float32: with numbers for the matrices that
    // llama.cpp has numbers for, or multiplied by them, without blocks then.
    enum class Scales : std::uint8_t { kNone, kBeside, kMultiplied };
    static GgufWriter withScales(const GgufParts& parts, Scales scales) {
        const QRegularExpression scalable(
            QStringLiteral("^blk\\.\\d+\\.(attn_(q|k|v|qkv|gate|output)|ssm_(out|alpha|beta)|"
                           "ffn_(gate|up|down)(_shexp|_exps)?)\\.weight$"));
        const bool has_own = std::ranges::any_of(
            parts.header.tensors, [](const GgufTensor& tensor) { return tensor.name.ends_with("down_exps.scale"); });
        GgufWriter writer = parts.pairs();
        float next = 0;
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            const GgufType type = gguf_type(tensor.type);
            const bool has_scale = scalable.match(QString::fromStdString(name)).hasMatch() &&
                                   !(has_own && name.ends_with("ffn_down_exps.weight"));
            const bool is_blocks = offstage::kernels::is_blocks(type.type);
            if (is_blocks && !(has_scale && scales == Scales::kMultiplied)) {
                writer.add_tensor(name, GgufParts::shapeOf(tensor), tensor.type, parts.bytesOf(tensor));
            }
            std::vector<float> factors(has_scale && tensor.shape.size() == 3 ? tensor.shape[0] : 1);
            for (float& factor : factors) {
                next += 0.37f;
                const float part = next - std::floor(next);
                // Scales of blocks would be rounded to 16 bits, but for these numbers.
                const float own = is_blocks ? std::exp2(std::floor(3 * part)) : 0.6f + part;
                factor = has_scale ? own : 1.0f;
            }
            if (!is_blocks || (has_scale && scales == Scales::kMultiplied)) {
                const std::string_view bytes = parts.bytesOf(tensor);
                std::vector<float> values(bytes.size() / type.bytes * type.weights);
                offstage::kernels::cpu_kernels().widen(reinterpret_cast<const std::byte*>(bytes.data()), type.type,
                                                       std::ssize(values), values.data());
                const std::size_t of_each = values.size() / factors.size();
                for (std::size_t i = 0; i < values.size() && scales == Scales::kMultiplied; ++i) {
                    values[i] *= factors[i / of_each];
                }
                writer.add_floats(name, GgufParts::shapeOf(tensor), values);
            }
            if (!has_scale || scales != Scales::kBeside) continue;
            const std::string beside = name.substr(0, name.size() - std::string_view("weight").size());
            writer.add_floats(beside + "scale", {factors.size()}, factors);
            writer.add_floats(beside + "input_scale", {factors.size()}, std::vector<float>(factors.size(), 3));
        }
        return writer;
    }

  private Q_SLOTS:
    // A factor of each expert's output: powers of two, so that the file with the factors
    // in its weights computes exactly the same.
    void factorsOfExperts_areRead() {
        const GgufParts parts(QStringLiteral("qwen3_moe_bf16"));
        GgufWriter scaled = parts.pairs(), multiplied = parts.pairs();
        parts.copy(scaled, 0, parts.n());
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            std::string bytes(parts.bytesOf(tensor));
            if (name.ends_with(".ffn_down_exps.weight")) {
                const auto n_experts = static_cast<std::size_t>(tensor.shape[0]);
                std::vector<float> factors(n_experts);
                for (std::size_t e = 0; e < n_experts; ++e) factors[e] = e % 3 == 0 ? 4 : e % 3 == 1 ? 0.5f : 1;
                scaled.add_floats(name.substr(0, name.size() - 6) + "scale", {n_experts}, factors);
                QCOMPARE(tensor.type, 30u);  // bf16: 8 bits of exponent above 7 of fraction
                for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
                    std::uint16_t value = 0;
                    std::memcpy(&value, bytes.data() + 2 * i, 2);
                    const float factor = factors[i / (bytes.size() / 2 / n_experts)];
                    const int exponents = factor == 4 ? 2 : factor == 1 ? 0 : -1;
                    if ((value & 0x7f80) != 0) value = static_cast<std::uint16_t>(value + exponents * (1 << 7));
                    std::memcpy(bytes.data() + 2 * i, &value, 2);
                }
            }
            multiplied.add_tensor(name, GgufParts::shapeOf(tensor), tensor.type, bytes);
        }
        const auto expected = logitsOf(multiplied);
        QCOMPARE(logitsOf(scaled), expected);
        QVERIFY(expected != logitsOf(ggufModel(QStringLiteral("qwen3_moe_bf16"))));
    }

    // Queries, keys and values in one tensor, and their biases in one or three, as in the
    // weights or otherwise: with positions in halves and in neighbours.
    void queriesKeysAndValues_areOneTensorOrThree_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("weights");
        QTest::addColumn<bool>("biases");
        for (const char* const model : {"qwen3_moe_bias_bf16", "granite_moe_bias_bf16"}) {
            QTest::addRow("%s, weights", model) << QString(model) << true << false;
            QTest::addRow("%s, both", model) << QString(model) << true << true;
            QTest::addRow("%s, biases", model) << QString(model) << false << true;
        }
    }
    void queriesKeysAndValues_areOneTensorOrThree() {
        QFETCH(QString, model);
        QFETCH(bool, weights);
        QFETCH(bool, biases);
        const GgufParts parts(model);
        GgufWriter writer = parts.pairs();
        struct Fused {
            std::uint64_t rows = 0, columns = 0;
            std::uint32_t type = 0;
            std::string bytes;
        };
        std::map<std::string, std::array<Fused, 3>> fused;
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            const auto shape = GgufParts::shapeOf(tensor);
            const bool is_bias = name.ends_with(".bias");
            const std::size_t part = name.find(".attn_q.") != name.npos   ? 0
                                     : name.find(".attn_k.") != name.npos ? 1
                                     : name.find(".attn_v.") != name.npos ? 2
                                                                          : 3;
            if (part == 3 || !(is_bias ? biases : weights)) {
                writer.add_tensor(name, shape, tensor.type, parts.bytesOf(tensor));
                continue;
            }
            std::string whole = name;
            whole.replace(name.find(".attn_") + 6, 1, "qkv");
            fused[whole][part] = {shape[0], is_bias ? 0 : shape[1], tensor.type, std::string(parts.bytesOf(tensor))};
        }
        QVERIFY(!fused.empty());
        for (const auto& [name, of] : fused) {
            std::vector<std::uint64_t> shape = {of[0].rows + of[1].rows + of[2].rows};
            if (of[0].columns > 0) shape.push_back(of[0].columns);
            writer.add_tensor(name, shape, of[0].type, of[0].bytes + of[1].bytes + of[2].bytes);
        }
        QCOMPARE(logitsOf(writer), logitsOf(ggufModel(model)));
    }

    // Each of the three biases may be there without the others, as in llama.cpp.
    void biasesOfSomeProjections_areRead_data() {
        QTest::addColumn<QString>("lacking");
        for (const char* lacking : {"k", "v", "q", "k v", "q k", "q v"}) QTest::newRow(lacking) << lacking;
    }
    void biasesOfSomeProjections_areRead() {
        QFETCH(QString, lacking);
        const GgufParts parts(QStringLiteral("qwen2_moe_plain_bf16"));
        GgufWriter without = parts.pairs();
        GgufWriter zeros = parts.pairs();
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            const std::size_t at = name.find(".attn_");
            const bool is_lacking = name.ends_with(".bias") && at != std::string::npos &&
                                    lacking.contains(QLatin1Char(name[at + 6])) && name.substr(at + 7) == ".bias";
            const auto shape = GgufParts::shapeOf(tensor);
            if (is_lacking) {
                zeros.add_floats(name, shape, std::vector<float>(shape[0]));
            } else {
                without.add_tensor(name, shape, tensor.type, parts.bytesOf(tensor));
                zeros.add_tensor(name, shape, tensor.type, parts.bytesOf(tensor));
            }
        }
        QCOMPARE(logitsOf(without), logitsOf(zeros));
        QVERIFY(logitsOf(without) != logitsOf(ggufModel(QStringLiteral("qwen2_moe_plain_bf16"))));
    }

    // No converter writes them; a folder of the same model has them by "attention_bias".
    void biasesOfLatentAttention_areRead() {
        const QString model = QStringLiteral("deepseek_v3_bf16");
        const GgufParts parts(model);
        GgufWriter writer = parts.pairs();
        parts.copy(writer, 0, parts.n());
        ChangedModel folder(tinyModel(model));
        folder.set({{QStringLiteral("attention_bias"), true}});
        const auto size = [&](const char* key) { return folder.config[QLatin1String(key)].toInt(); };
        for (int l = 0; l < size("num_hidden_layers"); ++l) {
            for (const auto& [theirs, ours, n] :
                 {std::tuple("q_a_proj", "attn_q_a", size("q_lora_rank")),
                  std::tuple("kv_a_proj_with_mqa", "attn_kv_a_mqa", size("kv_lora_rank") + size("qk_rope_head_dim")),
                  std::tuple("o_proj", "attn_output", size("hidden_size"))}) {
                std::vector<float> values;
                for (int i = 0; i < n; ++i) values.push_back(static_cast<float>((i * 7 + l) % 16 - 8) / 32);
                const std::string layer = std::to_string(l);
                folder.add(QByteArray::fromStdString("model.layers." + layer + ".self_attn." + theirs + ".bias"),
                           values);
                writer.add_floats("blk." + layer + "." + ours + ".bias", {values.size()}, values);
            }
        }
        const QTemporaryDir place;
        const std::filesystem::path path = place.path().toStdString() + "/biased";
        QVERIFY(folder.write(path));
        const auto expected = logitsOf(path.string());
        QCOMPARE(logitsOf(writer), expected);
        QVERIFY(expected != logitsOf(ggufModel(model)));
    }

    // Layers behind the model's, by their tensors and by the key that counts them: if one
    // is without the other, all layers of the model stay.
    void predictionLayers_areCounted_data() {
        QTest::addColumn<int>("said");  // -1: no key
        QTest::addColumn<int>("there");
        QTest::addColumn<int>("block_count");  // more than the model's layers
        QTest::addColumn<QString>("note");
        const QString at_end = QStringLiteral("layers that predict further tokens is %1. The 3 layers before them");
        QTest::newRow("none") << -1 << 0 << 0 << QString();
        QTest::newRow("said and there") << 1 << 1 << 1 << QString();
        QTest::newRow("two") << 2 << 2 << 2 << QString();
        QTest::newRow("said, left out, not counted")
            << 1 << 0 << 0
            << QStringLiteral("\"qwen3moe.nextn_predict_layers\" is 1, but the number of the file's ") + at_end.arg(0);
        QTest::newRow("said, left out, counted")
            << 1 << 0 << 1
            << QStringLiteral("\"qwen3moe.nextn_predict_layers\" is 1, but the number of the file's ") + at_end.arg(0);
        QTest::newRow("said two, one there")
            << 2 << 1 << 2
            << QStringLiteral("\"qwen3moe.nextn_predict_layers\" is 2, but the number of the file's ") + at_end.arg(1);
        QTest::newRow("not said, counted")
            << -1 << 1 << 1
            << QStringLiteral("\"qwen3moe.nextn_predict_layers\" is missing, but the number of the file's ") +
                   at_end.arg(1);
        QTest::newRow("not said, not counted")
            << -1 << 1 << 0
            << QStringLiteral("\"qwen3moe.nextn_predict_layers\" is missing, but the number of the file's ") +
                   at_end.arg(1);
    }
    void predictionLayers_areCounted() {
        QFETCH(int, said);
        QFETCH(int, there);
        QFETCH(int, block_count);
        QFETCH(QString, note);
        const GgufParts parts(QStringLiteral("qwen3_moe_bf16"));
        GgufWriter writer = parts.pairs();
        writer.add("qwen3moe.block_count", static_cast<std::uint32_t>(3 + block_count));
        if (said >= 0) writer.add("qwen3moe.nextn_predict_layers", static_cast<std::uint32_t>(said));
        parts.copy(writer, 0, parts.n());
        for (int i = 0; i < there; ++i) {
            const std::string block = "blk." + std::to_string(3 + i) + ".";
            writer.add_floats(block + "attn_norm.weight", {2}, {1, 1});
            writer.add_floats(block + "nextn.eh_proj.weight", {2}, {1, 1});
        }
        std::vector<Message> notes;
        QCOMPARE(specOf(writer, &notes).n_layers(), 3);
        QCOMPARE(notes.size(), note.isEmpty() ? 0u : 1u);
        if (!notes.empty())
            QVERIFY2(QString::fromStdString(notes[0].english()).contains(note), notes[0].english().c_str());
    }

    // Tensors that the model's computation needs and that are not supported here.
    void tensorThatNothingReads_isRefused_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QByteArray>("tensor");
        const auto row = [](const char* model, const char* tensor) {
            QTest::newRow(tensor) << QString::fromLatin1(model) << QByteArray(tensor);
        };
        row("qwen3_moe_bf16", "blk.1.ffn_gate_up_exps.scale");
        row("qwen3_moe_bf16", "blk.1.ffn_gate_shexp.scale");
        row("qwen3_moe_bf16", "blk.1.attn_qkv.scale");
        row("qwen3_moe_bf16", "blk.7.attn_q.scale");
        row("qwen3_moe_bf16", "output.scale");
        row("qwen3_moe_bf16", "token_embd.scale");
        row("qwen3_moe_bf16", "blk.1.ffn_gate_inp.bias");
        row("qwen3_moe_bf16", "blk.1.ffn_down_exps.bias");
        row("qwen3_moe_bf16", "blk.1.exp_probs_b.bias");
        row("qwen3_moe_bf16", "blk.1.attn_sinks.weight");
        row("qwen3_moe_bf16", "blk.1.attn_norm.bias");
        row("qwen3_moe_bf16", "blk.7.attn_norm.weight");
        row("qwen3_moe_bf16", "blk.x.attn_norm.weight");
        row("qwen3_moe_bf16", "output.bias");
        row("qwen3_moe_bf16", "token_embd_norm.weight");
        row("grouped_bf16", "blk.0.attn_q_norm.weight");
        row("granite_moe_shared_f32", "blk.0.ffn_up_shexp.bias");
        row("deepseek_v3_bf16", "blk.0.attn_q_b.bias");
        row("deepseek_v3_bf16", "blk.0.attn_q_b.scale");
        row("gemma4_bf16", "blk.1.attn_v.weight");
    }
    void tensorThatNothingReads_isRefused() {
        QFETCH(QString, model);
        QFETCH(QByteArray, tensor);
        const GgufParts parts(model);
        GgufWriter writer = parts.pairs();
        writer.add_floats(tensor.toStdString(), {2}, {1, 2});
        const QString error = sentence_of([&] { specOf(parts, writer); });
        QVERIFY2(error.contains(QStringLiteral("changed.gguf: tensor \"%1\" is not supported, and results without it "
                                               "would be wrong")
                                    .arg(QString::fromLatin1(tensor))),
                 qPrintable(error));
    }
    // Weights with a number of their own, one for a matrix or one for each expert,
    // compute as weights that were multiplied by it before.
    void scaledMatrices_computeAsMultipliedWeights_data() {
        QTest::addColumn<QString>("model");
        for (const char* model :
             {"qwen3_moe_bf16", "qwen3_5_moe_bf16", "gemma4_bf16", "granite_moe_shared_f32", "deepseek_v3_bf16"}) {
            QTest::newRow(model) << QString::fromLatin1(model);
        }
        QTest::newRow("blocks") << QString();
    }
    void scaledMatrices_computeAsMultipliedWeights() {
        QFETCH(QString, model);
        const QTemporaryDir folder;
        const auto path_of = [&](const char* name) { return folder.filePath(QLatin1String(name)).toStdString(); };
        const std::string mixed = path_of("mixed.gguf");
        if (model.isEmpty()) offstage::tests::write_mixed_gguf(mixed);
        const GgufParts parts(model.isEmpty() ? mixed : ggufModel(model));
        const std::string plain = path_of("plain.gguf");
        const std::string scaled = path_of("scaled.gguf");
        const std::string multiplied = path_of("multiplied.gguf");
        withScales(parts, Scales::kNone).write(plain);
        withScales(parts, Scales::kBeside).write(scaled);
        withScales(parts, Scales::kMultiplied).write(multiplied);
        const auto compare = [&](const LoadRequest& request, double most) {
            const auto logits = [&](const std::string& path) {
                LoadRequest one = request;
                one.model = path;
                return compute_logits(*open(one), std::vector<TokenId>{3, 17, 40, 5, 22, 9, 31}, true);
            };
            const auto expected = logits(multiplied), got = logits(scaled), without = logits(plain);
            for (std::size_t row = 0; row < expected.size(); ++row) {
                const double error = relativeError(got[row], expected[row]);
                QVERIFY2(error <= most, qPrintable(QStringLiteral("row %1: %2").arg(row).arg(error)));
                QVERIFY(relativeError(without[row], expected[row]) > 0.02);
            }
        };
        const double most = model.isEmpty() ? 1e-4 : 1e-5;
        LoadRequest request = on(scaled);
        request.context = 64;
        compare(request, most);
        compare(on(scaled, "emulated:rtx-3060"), most);
        // Copies in other formats, kept under the fingerprints of the file's experts.
        LoadRequest quantized = request;
        using offstage::kernels::WeightType;
        quantized.quant.experts = model.isEmpty() ? WeightType::kHqq4 : WeightType::kBf16;
        quantized.quant_cache_directory = cache_.path().toStdString();
        compare(quantized, model.isEmpty() ? 0.05 : 0.02);
        if (model.isEmpty()) return;  // too few experts for any to be on the disk
        // Experts that are read in strips.
        LoadRequest from_disk = request;
        const auto in_ram = open(request);
        from_disk.ram_bytes = in_ram->plan().ram_bytes - in_ram->plan().kept_bytes - 3 * in_ram->plan().slot_bytes;
        from_disk.disk_reads = DiskReads::kDirect;
        QVERIFY(open(from_disk)->experts().reads_ahead());
        compare(from_disk, most);
    }
    // Scales of MXFP4 are powers of two: no other number can be part of them.
    // Blocks that no kernel multiplies, in most matrices or beside others.
    void blocksThatAreWidened_computeAsBf16_data() {
        QTest::addColumn<bool>("mixed");
        QTest::addColumn<bool>("scaled");
        QTest::newRow("all") << false << false;
        QTest::newRow("beside others") << true << false;
        QTest::newRow("with a number for each matrix") << false << true;
    }
    void blocksThatAreWidened_computeAsBf16() {
        QFETCH(bool, mixed);
        QFETCH(bool, scaled);
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("mixed.gguf")).toStdString();
        offstage::tests::write_mixed_gguf(path);
        const GgufParts parts(path);
        GgufWriter blocks = parts.pairs(), wide = parts.pairs();
        std::mt19937 random(5);
        std::size_t n_changed = 0;
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            const auto shape = GgufParts::shapeOf(tensor);
            const bool is_matrix = shape.size() >= 2 && !name.ends_with("ffn_gate_inp.weight");
            if (!is_matrix || (mixed && (name.ends_with("down_exps.weight") || name.ends_with("attn_q.weight")))) {
                for (GgufWriter* writer : {&blocks, &wide}) {
                    writer->add_tensor(name, shape, tensor.type, parts.bytesOf(tensor));
                }
                continue;
            }
            const std::uint32_t number = std::array{40u, 34u, 35u}[n_changed++ % 3];
            const GgufType type = gguf_type(number);
            QVERIFY(type.supported);
            std::uint64_t n = 1;
            for (const std::uint64_t dim : shape) n *= dim;
            std::vector<std::byte> bytes(n / type.weights * type.bytes);
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
            for (std::size_t block = 0; block < bytes.size(); block += type.bytes) {
                if (number == 40) {
                    for (std::size_t i = 0; i < 4; ++i) bytes[block + i] = static_cast<std::byte>(random() % 40);
                } else {
                    bytes[block + type.bytes - 1] = std::byte{0x2c};  // binary16, about 0.07
                }
            }
            QuantizedTensor quantized;
            quantized.codes = *codes_of_ggml_type(number);
            quantized.code_bytes = bytes;
            quantized.n_cols = static_cast<std::int64_t>(shape.back());
            std::vector<offstage::kernels::Bf16> values(n);
            quantized.read(0, static_cast<std::int64_t>(n), values.data());
            blocks.add_tensor(name, shape, number, bytes);
            wide.add_tensor(name, shape, 30, values);
            if (!scaled || name == "token_embd.weight" || name == "output.weight") continue;
            const std::vector<float> factors(shape.size() == 3 ? shape[0] : 1, 2.0f);
            for (GgufWriter* writer : {&blocks, &wide}) {
                writer->add_floats(name.substr(0, name.size() - 6) + "scale", {factors.size()}, factors);
            }
        }
        QVERIFY(n_changed > 10);
        const auto expected = logitsOf(wide);
        QVERIFY(std::isfinite(expected.front().front()));
        QCOMPARE(logitsOf(blocks), expected);
    }

    void scaleOfMxfp4_isRefused() {
        const GgufParts parts(QStringLiteral("gpt_oss_mxfp4"));
        const auto n = static_cast<std::size_t>(specOf(parts, parts.pairs()).experts.n_experts);
        for (const char* name : {"blk.0.ffn_gate_exps.scale", "blk.0.ffn_down_exps.scale"}) {
            GgufWriter writer = parts.pairs();
            writer.add_floats(name, {n}, std::vector<float>(n, 0.7f));
            parts.copy(writer, 0, parts.n());
            const QString error = sentence_of([&] { logitsOf(writer); });
            QVERIFY2(error.contains(QStringLiteral("tensor \"%1\" is not supported").arg(QLatin1String(name))),
                     qPrintable(error));
        }
    }
    void scaleOfAnotherShape_isRefused() {
        const GgufParts parts(QStringLiteral("qwen3_moe_bf16"));
        for (const char* name : {"blk.0.ffn_gate_exps.scale", "blk.0.attn_q.scale"}) {
            GgufWriter writer = parts.pairs();
            writer.add_floats(name, {3}, {1, 2, 3});
            parts.copy(writer, 0, parts.n());
            const QString error = sentence_of([&] { logitsOf(writer); });
            QVERIFY2(error.contains(QLatin1String(name)) && error.contains(QStringLiteral("(3)")), qPrintable(error));
        }
    }
    // Tensors that the program computes itself, has in another form, or leaves out with a
    // note.
    void tensorThatChangesNothing_isNotRefused_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QByteArray>("tensor");
        const auto row = [](const char* model, const char* tensor) {
            QTest::newRow(tensor) << QString::fromLatin1(model) << QByteArray(tensor);
        };
        row("grouped_bf16", "blk.0.attn_rot_embd.inv_freq");
        row("qwen3_moe_bf16", "blk.1.ffn_up_exps.input_scale");
        row("deepseek_v2_lite_bf16", "rope_freqs_unused.weight");
        row("qwen3_moe_bf16", "blk.2.nextn.shared_head_norm.weight");
        row("qwen3_moe_bf16", "v.blk.0.attn_norm.weight");
        row("qwen3_moe_bf16", "mm.0.weight");
        row("qwen3_moe_bf16", "mtp.fc.weight");
    }
    void tensorThatChangesNothing_isNotRefused() {
        QFETCH(QString, model);
        QFETCH(QByteArray, tensor);
        const GgufParts parts(model);
        GgufWriter writer = parts.pairs();
        writer.add_floats(tensor.toStdString(), {2}, {1, 2});
        QCOMPARE(sentence_of([&] { specOf(parts, writer); }), QString());
    }
    // ik_llama.cpp keeps both forms of latent attention's matrix.
    void latentMatrix_inBothForms_isRead() {
        const GgufParts parts(QStringLiteral("deepseek_v2_lite_bf16"));
        const ModelSpec apart = specOf(parts, parts.pairs());
        QVERIFY(!apart.gguf.joined_kv_b);
        const auto& latent = std::get<LatentSpec>(apart.layers[0].attention);
        GgufWriter writer = parts.pairs();
        const auto rows = static_cast<std::uint64_t>(latent.n_heads * (latent.nope_dim + latent.value_dim));
        const auto columns = static_cast<std::uint64_t>(latent.latent_dim);
        for (std::int64_t l = 0; l < apart.n_layers(); ++l) {
            writer.add_floats("blk." + std::to_string(l) + ".attn_kv_b.weight", {rows, columns},
                              std::vector<float>(rows * columns));
        }
        QVERIFY(specOf(parts, writer).gguf.joined_kv_b);
    }
};

QTEST_GUILESS_MAIN(TestGgufTensors)
#include "tst_gguf_tensors.moc"
