// Quantized safetensors checkpoints: what other libraries read from the same tensors,
// whole models beside the same ones in BF16, and forms that do not fit.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/host_memory.h"
#include "engine/model/model_files.h"
#include "engine/model/quantized_tensor.h"
#include "engine/model/weights.h"
#include "tests/engine/changed_model.h"

using namespace offstage::engine;
using namespace offstage::test;
using namespace offstage::tests;
namespace kernels = offstage::kernels;

namespace {

using Bits = std::vector<std::uint16_t>;

Bits read(const TensorView& tensor, std::int64_t first, std::int64_t n) {
    std::vector<kernels::Bf16> values(static_cast<std::size_t>(n));
    tensor.quantized->read(first, n, values.data());
    Bits bits;
    for (const kernels::Bf16 value : values) bits.push_back(value.bits);
    return bits;
}

Bits bits_of(std::span<const std::byte> bytes) {
    Bits bits(bytes.size() / 2);
    std::memcpy(bits.data(), bytes.data(), bytes.size());
    return bits;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

float e4m3(std::uint8_t code) {
    const int exponent = code >> 3 & 15;
    const float value = exponent == 0 ? std::ldexp(static_cast<float>(code & 7), -9)
                                      : std::ldexp(1.0f + static_cast<float>(code & 7) / 8.0f, exponent - 7);
    return code & 0x80 ? -value : value;
}

// Random weights in FP8 take the place of all matrices but embeddings, heads and routers,
// in one model as codes and in the other as BF16.
void put_in_fp8(ChangedModel& codes, ChangedModel& plain) {
    std::mt19937 random(48);
    std::vector<ChangedModel::Tensor> scales;
    for (std::size_t t = 0; t < codes.tensors.size(); ++t) {
        ChangedModel::Tensor& tensor = codes.tensors[t];
        const bool is_small =
            tensor.shape.size() < 2 || tensor.shape.back() % 8 != 0 || tensor.shape.end()[-2] % 4 != 0;
        if (is_small || tensor.name.contains("embed") || tensor.name.contains("head") || tensor.name.contains("norm") ||
            tensor.name.contains("gate.weight") || tensor.name.contains("conv")) {
            continue;
        }
        const std::int64_t rows = tensor.shape.end()[-2], cols = tensor.shape.back();
        std::int64_t matrices = 1;
        for (std::size_t i = 0; i + 2 < tensor.shape.size(); ++i) matrices *= tensor.shape[i];
        ChangedModel::Tensor scale{tensor.name + "_scale_inv", "F32", tensor.shape, {}};
        scale.shape.end()[-2] = rows / 4;
        scale.shape.back() = cols / 8;
        std::vector<float> factors(static_cast<std::size_t>(matrices * rows / 4 * (cols / 8)));
        for (float& factor : factors) factor = std::ldexp(1.0f + static_cast<float>(random() % 1000) / 1000.0f, -10);
        std::vector<std::uint8_t> fp8(static_cast<std::size_t>(matrices * rows * cols));
        Bits bf16;
        for (std::size_t i = 0; i < fp8.size(); ++i) {
            fp8[i] = static_cast<std::uint8_t>(random() % 2 * 128 + random() % 127);  // no NaN
            const auto row = static_cast<std::int64_t>(i) / cols, col = static_cast<std::int64_t>(i) % cols;
            const float factor = factors[static_cast<std::size_t>(row / 4 * (cols / 8) + col / 8)];
            bf16.push_back(kernels::to_bf16(e4m3(fp8[i]) * factor).bits);
        }
        scale.bytes = bytes_of(factors);
        tensor.dtype = "F8_E4M3";
        tensor.bytes = bytes_of(fp8);
        plain.tensors[t].dtype = "BF16";
        plain.tensors[t].bytes = bytes_of(bf16);
        scales.push_back(std::move(scale));
    }
    codes.tensors.insert(codes.tensors.end(), scales.begin(), scales.end());
    codes.set({{QStringLiteral("quantization_config"), QJsonObject{{QStringLiteral("quant_method"), "fp8"}}}});
}

struct Opened {
    HostMemory memory;
    Arena ram{"RAM", memory, std::uint64_t{1} << 30};
    kernels::ThreadPool pool{2};
    ModelSpec spec;
    std::unique_ptr<WeightSource> source;

    explicit Opened(const std::string& folder) : spec(read_model_spec(folder)) {
        source = open_weights(Checkpoint::open(folder), spec, false, pool);
    }
    std::vector<std::byte> expert(std::int32_t layer, std::int32_t index) {
        std::vector<std::byte> block(spec.experts.expert_bytes(source->expert_type()));
        source->pack_expert(LayerIndex{layer}, ExpertIndex{index}, block.data(), pool);
        return block;
    }
};

}  // namespace

class TestQuantizedTensors : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    std::string path(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)).toStdString(); }

    // What opening a file of these tensors throws.
    std::optional<Error> refusal(const SafetensorsWriter& writer) const {
        const std::string file = path("refused.safetensors");
        if (!write_file(QString::fromStdString(file), writer.file())) return {};
        return error_of([&] { Checkpoint::open(file); });
    }

  private Q_SLOTS:
    void weights_areThoseOfOtherLibraries() {
        const auto file = Checkpoint::open(sourcePath("tests/engine/data/quantized.safetensors").toStdString());
        int n_forms = 0;
        for (const TensorView& expected : file->tensors()) {
            if (!expected.name.ends_with(".expected")) continue;
            ++n_forms;
            const std::string form = expected.name.substr(0, expected.name.size() - 9);
            const TensorView& tensor = file->require_weights(form + ".weight", expected.shape);
            QVERIFY2(tensor.quantized != nullptr, form.c_str());
            QCOMPARE(tensor.type, kernels::WeightType::kBf16);
            const Bits wanted = bits_of(expected.bytes);
            const auto n = static_cast<std::int64_t>(wanted.size());
            QVERIFY2(read(tensor, 0, n) == wanted, form.c_str());
            // Pieces that begin and end anywhere.
            for (std::int64_t first = 1; first < n; first = 3 * first + 5) {
                const std::int64_t count = std::min<std::int64_t>(n - first, first % 97 + 1);
                QVERIFY2(read(tensor, first, count) == Bits(wanted.begin() + first, wanted.begin() + first + count),
                         form.c_str());
            }
            QCOMPARE(mismatch(error_of([&] { file->require(tensor.name, expected.shape); }), ErrorKind::kInvalidModel,
                              "has dtype|expected BF16, F16 or F32"),
                     QString());
        }
        QCOMPARE(n_forms, 13);
        // Blocks of GGUF.
        using Codes = QuantizedTensor::Codes;
        for (const auto& [form, codes, number] :
             {std::tuple("gguf_nvfp4", Codes::kNvfp4Blocks, 40u), std::tuple("gguf_tq1", Codes::kTq1Blocks, 34u),
              std::tuple("gguf_tq2", Codes::kTq2Blocks, 35u)}) {
            QVERIFY(codes_of_ggml_type(number) == codes);
            const TensorView* const expected = file->find(std::string(form) + ".values");
            const TensorView* const stored = file->find(std::string(form) + ".blocks");
            QVERIFY(expected != nullptr && stored != nullptr);
            QuantizedTensor quantized;
            quantized.codes = codes;
            quantized.code_bytes = stored->bytes;
            quantized.n_cols = expected->shape.back();
            const Bits wanted = bits_of(expected->bytes);
            TensorView tensor = *expected;
            tensor.quantized = std::make_shared<const QuantizedTensor>(quantized);
            for (std::int64_t first = 0; first < std::ssize(wanted); first = 3 * first + 7) {
                const std::int64_t count = std::min<std::int64_t>(std::ssize(wanted) - first, first % 397 + 300);
                QVERIFY2(read(tensor, first, count) == Bits(wanted.begin() + first, wanted.begin() + first + count),
                         form);
            }
            QCOMPARE(quantized.codes_of(2, 3).size(), stored->bytes.size() / 2);
            QVERIFY(quantized.scales_of(0, 2).empty());
        }
        // Nothing else is left.
        QCOMPARE(file->tensors().size(), std::size_t{32});
    }

    void model_isTheSameInBf16_data() {
        QTest::addColumn<QString>("name");
        for (const char* const name :
             {"grouped_bf16", "qwen3_moe_bf16", "deepseek_v3_bf16", "glm4_moe_bf16", "minimax_m2_bf16",
              "qwen3_5_moe_bf16", "gpt_oss_bf16", "nemotron_h_bf16", "qwen3_vl_moe_bf16", "llama4_bf16",
              "kimi_k25_bf16", "mimo_v2_flash_bf16", "step3p5_bf16", "glm_moe_dsa_bf16", "deepseek_v4_odd_f32"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }
    void model_isTheSameInBf16() {
        QFETCH(QString, name);
        ChangedModel codes(tinyModel(name)), plain(tinyModel(name));
        put_in_fp8(codes, plain);
        QVERIFY(codes.tensors.size() > plain.tensors.size());
        codes.write(path("codes"));
        plain.write(path("plain"));
        Opened quantized(path("codes")), wide(path("plain"));
        QCOMPARE(quantized.source->expert_type(), wide.source->expert_type());
        QCOMPARE(quantized.source->unused().size(), wide.source->unused().size());
        const ExpertGrid& grid = wide.spec.experts;
        for (std::int32_t l = 0; l < grid.n_layers; ++l) {
            for (std::int32_t e = 0; e < grid.n_experts; ++e) QVERIFY(quantized.expert(l, e) == wide.expert(l, e));
        }
        const DenseWeights a = quantized.source->load_dense(quantized.ram), b = wide.source->load_dense(wide.ram);
        QCOMPARE(a.tensors.size(), b.tensors.size());
        for (std::size_t i = 0; i < a.tensors.size(); ++i) {
            QCOMPARE(a.tensors[i].values, b.tensors[i].values);
            const Matrix &x = a.tensors[i].matrix, &y = b.tensors[i].matrix;
            QCOMPARE(x.type, y.type);
            QCOMPARE(x.bytes(), y.bytes());
            if (x.memory.data() == nullptr) continue;
            QVERIFY(std::memcmp(x.memory.data(), y.memory.data(), x.bytes()) == 0);
        }
        // Scales are part of what a fingerprint is of.
        const auto fingerprint = [&](const char* folder) {
            Opened opened(path(folder));
            return opened.source->expert_fingerprint(LayerIndex{0}, ExpertIndex{0}, opened.pool);
        };
        const auto before = fingerprint("codes");
        QCOMPARE(fingerprint("codes"), before);
        for (ChangedModel::Tensor& tensor : codes.tensors) {
            const bool is_of_experts = tensor.name.contains("expert") || tensor.name.contains(".moe.");
            if (!tensor.name.endsWith("_scale_inv") || !is_of_experts) continue;
            tensor.bytes[2] ^= std::byte{1};
        }
        codes.write(path("codes"));
        QVERIFY(fingerprint("codes") != before);
    }

    void formsThatDoNotFit_areRefused() {
        const std::vector<std::uint8_t> bytes(64, 1);
        const std::vector<std::int32_t> words(16, 1);
        const std::vector<float> floats(8, 1.0f);
        const auto of = [](const std::vector<float>& values, std::size_t n) {
            return std::vector<float>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
        };
        const QString misfit = "refused.safetensors|does not fit what is beside it|expected one scale for each";
        const auto invalid = [&](const SafetensorsWriter& writer) {
            return mismatch(refusal(writer), ErrorKind::kInvalidModel, misfit);
        };
        const auto fp8 = [&](const QByteArray& shape) { return SafetensorsWriter().add("w", "F8_E4M3", shape, bytes); };
        QVERIFY(!refusal(fp8("[8,8]").add("w_scale_inv", "F32", "[2,4]", floats)));
        QCOMPARE(invalid(fp8("[8,8]").add("w_scale_inv", "F32", "[3,2]", of(floats, 6))), QString());
        QCOMPARE(invalid(fp8("[8,8]").add("w_scale_inv", "F32", "[2,2,2]", floats)), QString());
        QCOMPARE(invalid(fp8("[64]").add("w_scale_inv", "F32", "[8]", floats)), QString());
        QCOMPARE(invalid(fp8("[8,8]").add("w_scale_inv", "F64", "[4]", std::vector<double>(4))), QString());
        QCOMPARE(invalid(fp8("[2,4,8]").add("w_scale_inv", "F32", "[4,2,1]", floats)), QString());
        QCOMPARE(invalid(SafetensorsWriter()
                             .add("w", "F8_E4M3", "[0,8]", std::vector<char>())
                             .add("w_scale", "F32", "[0,1]", std::vector<float>())),
                 QString());
        // INT4: words of eight codes.
        const auto int4 = [&] {
            return SafetensorsWriter()
                .add("w_packed", "I32", "[4,4]", words)
                .add("w_scale", "F32", "[4,1]", of(floats, 4));
        };
        QVERIFY(!refusal(int4().add("w_shape", "I64", "[2]", std::vector<qint64>{4, 32})));
        QVERIFY(!refusal(int4().add("w_shape", "I64", "[2]", std::vector<qint64>{4, 16})));  // of four codes
        QCOMPARE(invalid(int4()), QString());
        QCOMPARE(invalid(int4().add("w_shape", "I64", "[2]", std::vector<qint64>{4, 24})), QString());
        QCOMPARE(invalid(int4().add("w_shape", "I64", "[2]", std::vector<qint64>{4, -32})), QString());
        QCOMPARE(
            invalid(int4().add("w", "F32", "[1]", of(floats, 1)).add("w_shape", "I64", "[1]", std::vector<qint64>{32})),
            QString());
        for (const char* const other : {"w_zero_point", "w_g_idx"}) {
            QCOMPARE(mismatch(refusal(int4().add(other, "I32", "[1]", std::vector<qint32>{1})), ErrorKind::kUnsupported,
                              QString("refused.safetensors|\"%1\"|expected symmetric ones").arg(other)),
                     QString());
        }
        // Codes of six bits: three bytes for four weights.
        QCOMPARE(invalid(SafetensorsWriter()
                             .add("w_packed", "U8", "[1,48]", std::vector<quint8>(48))
                             .add("w_scale", "U8", "[1,2]", std::vector<quint8>(2))),
                 QString());
        const auto nvfp4 = [&](const QByteArray& dtype, const QByteArray& shape, const std::vector<float>& global) {
            return SafetensorsWriter()
                .add("w_packed", "U8", "[2,32]", bytes)
                .add("w_scale", "F8_E4M3", "[2,4]", std::vector<quint8>(8))
                .add("w_global_scale", dtype, shape, global);
        };
        QVERIFY(!refusal(nvfp4("F32", "[1]", {2.0f})));
        QCOMPARE(invalid(nvfp4("F32", "[2]", {2.0f, 2.0f})), QString());
        QCOMPARE(invalid(nvfp4("I32", "[1]", {2.0f})), QString());
        QCOMPARE(invalid(nvfp4("F32", "[1]", {std::numeric_limits<float>::quiet_NaN()})), QString());
        // Previews have headers alone: their numbers are zeros.
        QVERIFY(!refusal(nvfp4("F32", "[1]", {0.0f})));
        QVERIFY(!refusal(int4().add("w_shape", "I64", "[2]", std::vector<qint64>{0, 0})));
    }

    // MiMo-V2.5: the last block of each machine's share is cut off.
    void sharesOfMachines_haveBlocksOfTheirOwn_data() {
        QTest::addColumn<int>("shares");
        QTest::addColumn<int>("rows");  // of a share
        QTest::newRow("8 of 133 rows") << 8 << 133;
        QTest::newRow("4 of 260 rows") << 4 << 260;
    }
    void sharesOfMachines_haveBlocksOfTheirOwn() {
        QFETCH(int, shares);
        QFETCH(int, rows);
        constexpr std::int64_t kCols = 2;
        const std::int64_t blocks = (rows + 127) / 128, n = shares * rows * kCols;
        std::vector<float> scales;
        for (std::int64_t i = 0; i < shares * blocks; ++i) scales.push_back(std::ldexp(1.0f, static_cast<int>(i)));
        SafetensorsWriter writer;
        writer.add("w", "F8_E4M3", QStringLiteral("[%1,%2]").arg(shares * rows).arg(kCols).toLatin1(),
                   std::vector<std::uint8_t>(static_cast<std::size_t>(n), 0x38));  // ones
        writer.add("w_scale_inv", "F32", QStringLiteral("[%1,1]").arg(shares * blocks).toLatin1(), scales);
        const std::string file = path("shares.safetensors");
        QVERIFY(write_file(QString::fromStdString(file), writer.file()));
        const auto checkpoint = Checkpoint::open(file);
        const TensorView& tensor = *checkpoint->find("w");
        QCOMPARE(tensor.quantized->n_rows, std::int64_t{rows});
        const Bits values = read(tensor, 0, n);
        for (std::int64_t row = 0; row < shares * rows; ++row) {
            const float scale = scales[static_cast<std::size_t>(row / rows * blocks + row % rows / 128)];
            QCOMPARE(values[static_cast<std::size_t>(row * kCols)], kernels::to_bf16(scale).bits);
        }
    }

    void sharesWithoutScales_areRefused() {
        ChangedModel model(tinyModel("mimo_v2_5_fp8"));
        std::erase_if(model.tensors, [](const auto& tensor) { return tensor.name.endsWith("_scale_inv"); });
        for (ChangedModel::Tensor& tensor : model.tensors) {
            if (tensor.dtype != "F8_E4M3") continue;
            tensor.dtype = "BF16";
            tensor.bytes.resize(2 * tensor.bytes.size());
        }
        model.write(path("shares"));
        QCOMPARE(mismatch(error_of([&] { Opened opened(path("shares")); }), ErrorKind::kUnsupported,
                          "layers.0.self_attn.qkv_proj.weight|the shares of several machines"),
                 QString());
    }

    void vectorsInFp8_areRefused() {
        ChangedModel model(tinyModel("qwen3_moe_bf16"));
        const ChangedModel::Tensor norm = model.take("model.norm.weight");
        model.tensors.push_back({norm.name, "F8_E4M3", norm.shape,
                                 std::vector<std::byte>(static_cast<std::size_t>(norm.shape[0]), std::byte{0x38})});
        model.write(path("norm"));
        QCOMPARE(mismatch(error_of([&] { Opened opened(path("norm")); }), ErrorKind::kInvalidModel,
                          "model.norm.weight|has dtype F8_E4M3"),
                 QString());
    }

    void config_saysWhatCannotBeRead() {
        const auto refusal_of = [&](const QJsonObject& quantization) {
            ChangedModel model(tinyModel("qwen3_moe_bf16"));
            model.set({{QStringLiteral("quantization_config"), quantization}});
            model.write(path("config"));
            return sentence_of([&] { read_model_spec(path("config")); });
        };
        const QString method = QStringLiteral("quant_method");
        for (const char* const known : {"fp8", "compressed-tensors", "modelopt"}) {
            QCOMPARE(refusal_of({{method, known}}), QString());
        }
        for (const char* const unknown : {"gptq", "awq", "bitsandbytes", "mxfp4"}) {
            QVERIFY2(refusal_of({{method, unknown}}).contains(unknown), unknown);
        }
        const QString packed = QStringLiteral("compressed-tensors");
        QCOMPARE(
            refusal_of({{method, packed}, {"transform_config", QJsonObject()}, {"sparsity_config", QJsonObject()}}),
            QString());
        QCOMPARE(refusal_of({{method, packed}, {"sparsity_config", QJsonObject{{"format", "dense"}}}}), QString());
        QVERIFY(refusal_of({{method, packed}, {"sparsity_config", QJsonObject{{"format", "sparse-24-bitmask"}}}})
                    .contains("sparsity_config"));
        QVERIFY(refusal_of({{method, packed}, {"transform_config", QJsonObject{{"config_groups", QJsonObject()}}}})
                    .contains("transform_config"));
    }
};

QTEST_GUILESS_MAIN(TestQuantizedTensors)
#include "tst_quantized_tensors.moc"
