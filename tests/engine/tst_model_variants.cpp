// Variants of published models: positions of other types, biases, a separate head,
// experts as transformers 5 saves them. The results of each are compared with
// transformers (tests/golden/make_variant_golden.py).

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/model/model_files.h"
#include "engine/model/model_messages.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "tests/engine/changed_model.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using namespace offstage::tests;
namespace fs = std::filesystem;

namespace {

constexpr double kExact = 1e-4;  // relative, float32

QJsonObject golden(const QString& name) {
    return readJson(QString::fromStdString(tinyModel(name)) + QStringLiteral("/golden.json"));
}

// Separate experts of a layer become two tensors, with the names that transformers 5 then
// uses for the layer.
void fuse_experts(ChangedModel& model) {
    using Tensor = ChangedModel::Tensor;
    std::vector<Tensor> result;
    const auto fused = [&](const QByteArray& name) -> Tensor& {
        const auto found = std::ranges::find(result, name, &Tensor::name);
        return found != result.end() ? *found : result.emplace_back(Tensor{name, {}, {}, {}});
    };
    const QString family = model.config[QLatin1String("model_type")].toString();
    const bool is_granite = family.startsWith(QStringLiteral("granite"));
    // For each expert gate before up, experts by their numbers.
    static const QRegularExpression expert(QStringLiteral(R"(^(.*\.experts\.)(\d+)\.(\w+)\.weight$)"));
    const auto order = [](const Tensor& tensor) {
        const QRegularExpressionMatch match = expert.match(QString::fromUtf8(tensor.name));
        const QString matrix = match.captured(3);
        return std::tuple(match.captured(1), match.captured(2).toInt(),
                          matrix == QStringLiteral("up_proj") || matrix == QStringLiteral("w3"));
    };
    std::ranges::stable_sort(model.tensors, {}, order);
    for (Tensor& tensor : model.tensors) {
        const QRegularExpressionMatch match = expert.match(QString::fromUtf8(tensor.name));
        if (match.hasMatch()) {
            const QString matrix = match.captured(3);
            const bool is_down = matrix == QStringLiteral("down_proj") || matrix == QStringLiteral("w2");
            QByteArray prefix = match.captured(1).toUtf8();
            Tensor& whole =
                fused(prefix.replace(".block_sparse_moe.", ".mlp.") + (is_down ? "down_proj" : "gate_up_proj"));
            whole.dtype = tensor.dtype;
            const std::int64_t n_experts = match.captured(2).toInt() + 1;
            whole.shape = {n_experts, (is_down ? 1 : 2) * tensor.shape[0], tensor.shape[1]};
            whole.bytes.insert(whole.bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
            continue;
        }
        if (is_granite) {
            tensor.name.replace("block_sparse_moe.input_linear.weight", "block_sparse_moe.experts.gate_up_proj")
                .replace("block_sparse_moe.output_linear.weight", "block_sparse_moe.experts.down_proj")
                .replace("router.layer.weight", "router.weight");
        } else {
            tensor.name.replace(".block_sparse_moe.", ".mlp.");
            if (family == QStringLiteral("phimoe")) tensor.name.replace(".gate.weight", ".router.weight");
        }
        result.push_back(std::move(tensor));
    }
    model.tensors = std::move(result);
}

}  // namespace

class TestModelVariants : public QObject {
    Q_OBJECT

  private:
    fs::path folder() const { return fs::path(folder_->path().toStdString()) / "m"; }
    std::unique_ptr<LoadedModel> open() const {
        LoadRequest request;
        request.kv = KvType::kF32;  // as the reference
        request.model = folder().string();
        request.device = "cpu";
        request.compute = ComputeMode::kF32;
        request.context = 128;  // beyond what some are made for
        request.n_threads = 1;  // tests run side by side, and threads would wait for each other
        request.cache_directory = folder_->path().toStdString();
        request.checks_costs = false;
        return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{},
                                             std::stop_token{});
    }
    static QString difference(LoadedModel& model, const QJsonObject& one) {
        const auto tokens = tokensOf(one[QLatin1String("tokens")].toArray());
        KvSequence sequence = model.new_sequence();
        const Segment segment{&sequence, tokens};
        if (model.forward().step({&segment, 1}, Forward::Logits::kAll, {}) != Forward::Outcome::kDone) {
            return QStringLiteral("the step failed");
        }
        const std::span<const float> logits = model.forward().logits();
        const QJsonArray expected = one[QLatin1String("logits")].toArray();
        const auto width = static_cast<std::size_t>(model.spec().vocab_size);
        if (logits.size() != width * static_cast<std::size_t>(expected.size())) return QStringLiteral("other rows");
        for (qsizetype row = 0; row < expected.size(); ++row) {
            const double error = relativeError(logits.subspan(static_cast<std::size_t>(row) * width, width),
                                               floatsOf(expected[row].toArray()));
            if (!(error <= kExact)) return QStringLiteral("row %1: %2").arg(row).arg(error);
        }
        return {};
    }
    QString differenceFromGolden(const QString& name) const {
        const auto model = open();
        return difference(*model, golden(name)[QLatin1String("cases")].toArray().last().toObject());
    }

    std::unique_ptr<QTemporaryDir> folder_;

  private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void variant_computesAsTransformers_data() {
        QTest::addColumn<QJsonObject>("variant");
        const QJsonArray variants =
            readJson(sourcePath(QStringLiteral("tests/engine/data/variants.json")))[QLatin1String("variants")]
                .toArray();
        QVERIFY(!variants.isEmpty());
        for (const QJsonValue& variant : variants) {
            QTest::newRow(qPrintable(variant[QLatin1String("name")].toString())) << variant.toObject();
        }
    }
    void variant_computesAsTransformers() {
        QFETCH(QJsonObject, variant);
        ChangedModel model(tinyModel(variant[QLatin1String("model")].toString()));
        model.set(variant[QLatin1String("config")].toObject());
        const QJsonObject tensors = variant[QLatin1String("tensors")].toObject();
        for (auto tensor = tensors.begin(); tensor != tensors.end(); ++tensor) {
            const QJsonObject what = tensor.value().toObject();
            if (!what.contains(QLatin1String("reversed"))) {
                model.add(tensor.key().toUtf8(), floatsOf(what[QLatin1String("values")].toArray()));
                continue;
            }
            ChangedModel::Tensor other = *model.find(what[QLatin1String("reversed")].toString().toUtf8());
            const std::size_t n_rows = static_cast<std::size_t>(other.shape.front());
            const std::size_t row_bytes = other.bytes.size() / n_rows;
            std::vector<std::byte> bytes;
            for (std::size_t row = n_rows; row-- > 0;) {
                const auto begin = other.bytes.begin() + static_cast<std::ptrdiff_t>(row * row_bytes);
                bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes));
            }
            model.tensors.push_back({tensor.key().toUtf8(), other.dtype, other.shape, bytes});
        }
        QVERIFY(model.write(folder()));
        const auto loaded = open();
        QCOMPARE(difference(*loaded, variant), QString());
    }

    void fusedExperts_computeTheSame_data() {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"grouped_bf16", "qwen2_moe_bf16", "qwen3_moe_bf16", "qwen3_moe_dense_layers_tied_bf16", "olmoe_bf16",
              "glm4_moe_bf16", "glm4_moe_lite_bf16", "deepseek_v2_groups_bf16", "deepseek_v3_bf16", "minimax_m2_bf16",
              "phimoe_bf16", "granite_moe_tied_bf16", "granite_moe_shared_f32", "granite_hybrid_bf16", "lfm2_moe_bf16",
              "hunyuan_moe_bf16", "hy3_bf16"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }
    void fusedExperts_computeTheSame() {
        QFETCH(QString, name);
        ChangedModel model(tinyModel(name));
        const std::size_t n_before = model.tensors.size();
        fuse_experts(model);
        if (!name.startsWith(QStringLiteral("granite"))) QVERIFY(model.tensors.size() < n_before);
        QVERIFY(model.write(folder()));
        QCOMPARE(differenceFromGolden(name), QString());
    }

    // As transformers 5 holds Qwen3-VL's experts: the other way round than published.
    void outputsBeforeInputs_computeTheSame() {
        const QString name = QStringLiteral("qwen3_vl_moe_bf16");
        ChangedModel model(tinyModel(name));
        int n_turned = 0;
        for (ChangedModel::Tensor& tensor : model.tensors) {
            if (!tensor.name.contains(".mlp.experts.")) continue;
            const auto n = static_cast<std::size_t>(tensor.shape[1]), m = static_cast<std::size_t>(tensor.shape[2]);
            const std::vector<std::byte> before = tensor.bytes;
            const std::size_t n_words = before.size() / 2;
            for (std::size_t i = 0; i < n_words; ++i) {
                const std::size_t expert = i / (n * m), row = i / m % n, column = i % m;
                std::memcpy(tensor.bytes.data() + 2 * ((expert * m + column) * n + row), before.data() + 2 * i, 2);
            }
            std::swap(tensor.shape[1], tensor.shape[2]);
            ++n_turned;
        }
        QCOMPARE(n_turned, 6);
        QVERIFY(model.write(folder()));
        QCOMPARE(differenceFromGolden(name), QString());
    }

    // Experts are as wide as the shared one then.
    void hunyuan_withoutAWidthOfItsExperts_computesTheSame() {
        const QString name = QStringLiteral("hunyuan_moe_bf16");
        ChangedModel model(tinyModel(name));
        model.config[QLatin1String("moe_intermediate_size")] = QJsonValue(QJsonValue::Null);
        QVERIFY(model.write(folder()));
        QCOMPARE(differenceFromGolden(name), QString());
    }

    // Kimi-K2's config.json: DeepseekV3ForCausalLM, but a different model_type.
    void kimi_isADeepseek() {
        const QString name = QStringLiteral("deepseek_v3_bf16");
        ChangedModel model(tinyModel(name));
        model.config[QLatin1String("model_type")] = QStringLiteral("kimi_k2");
        QVERIFY(model.write(folder()));
        QCOMPARE(differenceFromGolden(name), QString());
        model.config.remove(QLatin1String("architectures"));
        QVERIFY(model.write(folder()));
        QCOMPARE(read_model_spec(folder()).architecture, "DeepseekV3ForCausalLM");
        model.config[QLatin1String("architectures")] = QJsonArray{QStringLiteral("MixtralForCausalLM")};
        QVERIFY(model.write(folder()));
        QCOMPARE(mismatch(error_of([&] { read_model_spec(folder()); }), ErrorKind::kInvalidModel,
                          QStringLiteral("\"model_type\" is \"kimi_k2\"")),
                 QString());
    }

    void configWithByteOrderMark_isRead() {
        const QString name = QStringLiteral("qwen3_moe_bf16");
        const ChangedModel model(tinyModel(name));
        QVERIFY(model.write(folder()));
        const QString path = QString::fromStdString(folder().string());
        QVERIFY(
            write_file(path + QStringLiteral("/config.json"), "\xef\xbb\xbf" + QJsonDocument(model.config).toJson()));
        QVERIFY(write_file(path + QStringLiteral("/generation_config.json"), "\xef\xbb\xbf{\"eos_token_id\": [5]}"));
        const std::vector<TokenId> ends = read_model_spec(folder()).eos_tokens;
        QVERIFY(std::find(ends.begin(), ends.end(), 5) != ends.end());
        QCOMPARE(differenceFromGolden(name), QString());
    }

    // A tied model that has a head as well: with other values it is the head, and a note
    // reports it.
    void headOfATiedModel_isNamed() {
        ChangedModel model(tinyModel(QStringLiteral("qwen3_moe_dense_layers_tied_bf16")));
        ChangedModel::Tensor head = *model.find("model.embed_tokens.weight");
        head.name = "lm_head.weight";
        model.tensors.push_back(head);
        QVERIFY(model.write(folder()));
        const auto notes_of = [&] {
            return FitEstimator(folder().string(), FitEstimator::Text::kNotNeeded)
                .estimate([&] {
                    LoadRequest request;
                    request.model = folder().string();
                    request.device = "cpu";
                    return request;
                }())
                .notes;
        };
        const Message note = messages::tied_head_differs((folder() / "model.safetensors").string(),
                                                         "\"lm_head.weight\"", "\"model.embed_tokens.weight\"");
        const auto is_noted = [&note](const std::vector<Message>& notes) {
            return std::find(notes.begin(), notes.end(), note) != notes.end();
        };
        {
            const auto equal = open();
            QVERIFY(equal->spec().tied_embeddings);
            QVERIFY(!is_noted(equal->summary().notes));
            QVERIFY(!is_noted(notes_of()));
        }
        // A single value, between the places that an estimate compares: a load compares
        // every value.
        const std::size_t place = head.bytes.size() / 64;
        QVERIFY(place > 70);
        head.bytes[place - 1] ^= std::byte{1};
        *model.find("lm_head.weight") = head;
        QVERIFY(model.write(folder()));
        QVERIFY(!is_noted(notes_of()));
        QVERIFY(is_noted(open()->summary().notes));

        for (std::byte& byte : head.bytes) byte ^= std::byte{1};
        *model.find("lm_head.weight") = head;
        QVERIFY(model.write(folder()));
        const auto other = open();
        QVERIFY(!other->spec().tied_embeddings);
        QVERIFY(is_noted(other->summary().notes));
        QVERIFY(is_noted(notes_of()));
    }

    void headAlone_isTheEmbeddingToo() {
        const QString name = QStringLiteral("qwen3_moe_dense_layers_tied_bf16");
        ChangedModel model(tinyModel(name));
        model.find("model.embed_tokens.weight")->name = "lm_head.weight";
        QVERIFY(model.write(folder()));
        QCOMPARE(differenceFromGolden(name), QString());
    }

    void tensorsOfLayers_thatNothingReads_areNamed() {
        ChangedModel model(tinyModel(QStringLiteral("qwen3_moe_bf16")));
        model.add("model.layers.1.self_attn.q_proj.bias", std::vector<float>(64, 0.5f));
        QVERIFY(model.write(folder()));
        const auto loaded = open();
        const Message note =
            messages::unused_layer_tensors(ByteSize{128}, 1, "\"model.layers.1.self_attn.q_proj.bias\"");
        const std::vector<Message>& notes = loaded->summary().notes;
        QVERIFY(std::find(notes.begin(), notes.end(), note) != notes.end());
    }
};

QTEST_GUILESS_MAIN(TestModelVariants)
#include "tst_model_variants.moc"
