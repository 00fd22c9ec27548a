// Folders and files of a few KB that claim models of any size: each is refused, or
// listed, with work in proportion to the real bytes, not to the claims. Work is counted
// in allocations and in their bytes.

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/model/model_finder.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/model_shape.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/engine/errors.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using namespace offstage::tests;
namespace fs = std::filesystem;

namespace {

std::atomic<std::int64_t> n_allocations = 0;
std::atomic<std::int64_t> n_allocated_bytes = 0;

void* counted(std::size_t size) {
    ++n_allocations;
    n_allocated_bytes += static_cast<std::int64_t>(size);
    return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

void* operator new(std::size_t size) {
    if (void* p = counted(size)) return p;
    throw std::bad_alloc();
}
// std::stable_sort's buffer comes from here; ASan's own version would not match the
// delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return counted(size);
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}

namespace {

// An allocation and its use take about 0.1 us.
constexpr std::int64_t kMostAllocations = 500'000;
constexpr std::int64_t kMostBytes = 512 << 20;

struct Work {
    std::int64_t allocations = n_allocations;
    std::int64_t bytes = n_allocated_bytes;

    QString excess() const {
        const std::int64_t n = n_allocations - allocations;
        const std::int64_t size = n_allocated_bytes - bytes;
        if (n <= kMostAllocations && size <= kMostBytes) return {};
        return QStringLiteral("%1 allocations of %2 bytes").arg(n).arg(size);
    }
};

struct Claim {
    QString of;  // a tiny model
    QJsonObject keys;
};

QJsonArray repeated(const QJsonValue& value, qsizetype n) {
    QJsonArray list;
    for (qsizetype i = 0; i < n; ++i) list.append(value);
    return list;
}

// Qwen3-MoE whose experts lie in three tensors of a layer, which exist.
GgufWriter fused(std::uint32_t layers, std::uint32_t experts) {
    constexpr std::uint64_t kVocab = 3, kHidden = 4, kDim = 2;
    GgufWriter writer;
    writer.add("general.architecture", "qwen3moe");
    for (const auto& [key, value] :
         std::initializer_list<std::pair<const char*, std::uint32_t>>{{"block_count", layers},
                                                                      {"context_length", 128},
                                                                      {"embedding_length", kHidden},
                                                                      {"feed_forward_length", 1},
                                                                      {"attention.head_count", 2},
                                                                      {"attention.head_count_kv", 1},
                                                                      {"attention.key_length", kDim},
                                                                      {"expert_count", experts},
                                                                      {"expert_used_count", 1},
                                                                      {"expert_feed_forward_length", 1}}) {
        writer.add(std::string("qwen3moe.") + key, value);
    }
    writer.add("qwen3moe.attention.layer_norm_rms_epsilon", 1e-6f);
    const auto floats = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
        std::uint64_t n = 1;
        for (const std::uint64_t dim : shape) n *= dim;
        writer.add_floats(name, shape, std::vector<float>(n, 1.0f));
    };
    floats("token_embd.weight", {kVocab, kHidden});
    floats("output_norm.weight", {kHidden});
    for (std::uint32_t l = 0; l < layers; ++l) {
        const std::string p = "blk." + std::to_string(l) + ".";
        for (const char* norm : {"attn_norm.weight", "ffn_norm.weight"}) floats(p + norm, {kHidden});
        for (const char* norm : {"attn_q_norm.weight", "attn_k_norm.weight"}) floats(p + norm, {kDim});
        floats(p + "attn_q.weight", {2 * kDim, kHidden});
        for (const char* name : {"attn_k.weight", "attn_v.weight"}) floats(p + name, {kDim, kHidden});
        floats(p + "attn_output.weight", {kHidden, 2 * kDim});
        floats(p + "ffn_gate_inp.weight", {experts, kHidden});
        for (const char* name : {"ffn_gate_exps.weight", "ffn_up_exps.weight"}) floats(p + name, {experts, 1, kHidden});
        floats(p + "ffn_down_exps.weight", {experts, kHidden, 1});
    }
    return writer;
}

}  // namespace

class TestModelClaims : public QObject {
    Q_OBJECT

  private:
    fs::path root(const char* inside = "") const { return fs::path(folder_->path().toStdString()) / inside; }

    // The doors through which a model comes before it is loaded.
    QString refusedEverywhere(const fs::path& model, const QString& words) const {
        const Work work;
        const std::vector<ModelPlace> places = {{ModelOrigin::kFolder, root()}};
        const FoundModels found = find_models(places);
        if (found.models.size() != 1) return QStringLiteral("%1 models").arg(found.models.size());
        const QString problem = QString::fromStdString(found.models.front().problem.english());
        for (const QString& word : words.split(u'|')) {
            if (!problem.contains(word)) return QStringLiteral("listed with: ") + problem;
        }
        if (!work.excess().isEmpty()) return QStringLiteral("listing: ") + work.excess();
        const auto refuses = [&](const char* door, const auto& open) {
            const Work of_door;
            const auto error = error_of(open);
            const QString wrong = error ? mismatch(error, error->kind(), words) : QStringLiteral("no error");
            if (!wrong.isEmpty()) return QLatin1String(door) + QStringLiteral(": ") + wrong;
            return of_door.excess().isEmpty() ? QString()
                                              : QLatin1String(door) + QStringLiteral(": ") + of_door.excess();
        };
        if (const QString wrong = refuses("shape", [&] { read_model_shape(model.string()); }); !wrong.isEmpty()) {
            return wrong;
        }
        return refuses("fit", [&] { FitEstimator(model.string(), FitEstimator::Text::kNotNeeded); });
    }

    std::unique_ptr<QTemporaryDir> folder_;

  private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void folder_isRefusedByWhatIsThere_data() {
        QTest::addColumn<QString>("of");
        QTest::addColumn<QJsonObject>("keys");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* of, const QJsonObject& keys, const char* words) {
            QTest::newRow(name) << QString::fromLatin1(of) << keys << QString::fromLatin1(words);
        };
        const QJsonObject yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 16}};
        row("32,768 layers", "qwen3_moe_bf16", {{"num_hidden_layers", 32768}},
            "\"num_hidden_layers\" is 32768; expected an integer from 1 to 512");
        row("512 layers", "qwen3_moe_bf16", {{"num_hidden_layers", 512}}, "model.layers.3.|is missing");
        row("65,536 experts", "qwen3_moe_bf16", {{"num_experts", 65536}},
            "\"num_experts\" is 65536; expected an integer from 1 to 2048");
        row("2,048 experts", "qwen3_moe_bf16", {{"num_experts", 2048}}, "model.layers.0.mlp.experts.|is missing");
        row("layers and experts", "qwen3_moe_bf16", {{"num_hidden_layers", 512}, {"num_experts", 32}}, "is missing");
        row("experts in all", "qwen3_moe_bf16", {{"num_hidden_layers", 512}, {"num_experts", 2048}},
            "512 layers with 2048 experts each|at most 131072");
        row("heads of YaRN", "qwen3_moe_bf16",
            {{"num_hidden_layers", 512}, {"head_dim", 65536}, {"rope_scaling", yarn}},
            "\"head_dim\" is 65536; expected an integer from 2 to 2048");
        row("heads without a size", "qwen3_moe_bf16",
            {{"head_dim", QJsonValue::Null}, {"hidden_size", 1 << 20}, {"num_attention_heads", 2}}, "head_dim");
        row("latent positions", "deepseek_v3_bf16",
            {{"num_hidden_layers", 512}, {"qk_rope_head_dim", 1 << 23}, {"rope_scaling", yarn}},
            "\"qk_rope_head_dim\" is 8388608");
        row("widths", "qwen3_moe_bf16",
            {{"hidden_size", 1 << 20},
             {"moe_intermediate_size", 1 << 24},
             {"num_attention_heads", 65536},
             {"num_key_value_heads", 65536},
             {"vocab_size", 1 << 24}},
            "expected");
        row("layers of Gemma", "gemma4_bf16", {{"num_hidden_layers", 512}, {"layer_types", QJsonValue::Null}},
            "layers");
        row("dense layers", "qwen3_moe_bf16", {{"num_hidden_layers", 512}, {"mlp_only_layers", repeated(511, 190'000)}},
            "is missing");
        row("ends", "qwen3_moe_bf16", {{"vocab_size", 1 << 24}, {"eos_token_id", repeated(1, 190'000)}},
            "\"eos_token_id\" is a list of 190000; expected a list of at most 1024 token ids");
        row("values", "qwen3_moe_bf16", {{"eos_token_id", repeated(1, 300'000)}}, "more than 200000 JSON values");
    }
    void folder_isRefusedByWhatIsThere() {
        QFETCH(QString, of);
        QFETCH(QJsonObject, keys);
        QFETCH(QString, words);
        const QString from = QString::fromStdString(tinyModel(of)) + QStringLiteral("/");
        QJsonObject config = readJson(from + QStringLiteral("config.json"));
        QJsonObject text = config[QLatin1String("text_config")].toObject();
        for (auto key = keys.begin(); key != keys.end(); ++key) {
            (text.isEmpty() ? config : text)[key.key()] = key.value();
        }
        if (!text.isEmpty()) config[QLatin1String("text_config")] = text;
        const fs::path model = root("m");
        fs::create_directory(model);
        QVERIFY(write_file(QString::fromStdString((model / "config.json").string()), QJsonDocument(config).toJson()));
        fs::copy_file((from + QStringLiteral("model.safetensors")).toStdString(), model / "model.safetensors");
        QCOMPARE(refusedEverywhere(model, words), QString());
    }

    // Nested objects: the search for the language model's part must not overflow the
    // stack.
    void nestedConfig_isRefused() {
        const fs::path model = root("m");
        fs::create_directory(model);
        constexpr int kDeep = 200'000;
        const QByteArray text = QByteArrayLiteral(R"({"text_config":)").repeated(kDeep) + QByteArrayLiteral("{}") +
                                QByteArrayLiteral("}").repeated(kDeep);
        QVERIFY(write_file(QString::fromStdString((model / "config.json").string()), text));
        QVERIFY(write_file(QString::fromStdString((model / "x.safetensors").string()), "x"));
        QCOMPARE(refusedEverywhere(model, QStringLiteral("nested deeper than 64 levels")), QString());
    }

    // Each spelling of a file's name would otherwise read its header once more.
    void shardOfManySpellings_isReadOnce() {
        const QString from = QString::fromStdString(tinyModel(QStringLiteral("qwen3_moe_bf16"))) + QStringLiteral("/");
        const fs::path model = root("m");
        fs::create_directory(model);
        fs::copy_file((from + QStringLiteral("config.json")).toStdString(), model / "config.json");
        constexpr int kTensors = 400;
        SafetensorsWriter shard;
        QJsonObject map;
        for (int i = 0; i < kTensors; ++i) {
            const QByteArray name = "t" + QByteArray::number(i);
            shard.add(name, "U8", "[1]", std::vector<std::uint8_t>{0});
            map[QString::fromLatin1(name)] = QStringLiteral("./").repeated(i) + QStringLiteral("a.safetensors");
        }
        QVERIFY(write_file(QString::fromStdString((model / "a.safetensors").string()), shard.file()));
        QVERIFY(write_file(QString::fromStdString((model / "model.safetensors.index.json").string()),
                           QJsonDocument(QJsonObject{{QStringLiteral("weight_map"), map}}).toJson()));
        QCOMPARE(refusedEverywhere(model, QStringLiteral("is missing")), QString());
    }

    void gguf_isRefusedByWhatIsThere_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<quint32>("value");
        QTest::addColumn<QString>("words");
        QTest::newRow("layers") << QByteArray("block_count") << 65535u << "block_count\" is 65535";
        QTest::newRow("layers, some") << QByteArray("block_count") << 512u << "blk.2.|is missing";
        QTest::newRow("experts") << QByteArray("expert_count") << 65536u
                                 << "expert_count\" is 65536; expected an integer from 0 to 2048";
        QTest::newRow("head") << QByteArray("attention.key_length") << 65536u << "key_length\" is 65536";
    }
    void gguf_isRefusedByWhatIsThere() {
        QFETCH(QByteArray, key);
        QFETCH(quint32, value);
        QFETCH(QString, words);
        GgufWriter writer = fused(2, 8);
        writer.add("qwen3moe." + key.toStdString(), static_cast<std::uint32_t>(value));
        writer.write(root("m.gguf"));
        QCOMPARE(refusedEverywhere(root("m.gguf"), words), QString());
    }

    // Also where all tensors are there, of no more bytes than a few MB.
    void ggufOfManyLayers_isRefused_data() {
        QTest::addColumn<quint32>("layers");
        QTest::addColumn<QString>("words");
        QTest::newRow("more tensors than any model") << 3000u << "number of tensors|is 36002";
        QTest::newRow("more layers than any model")
            << 2700u << "block_count\" is 2700; expected an integer from 1 to 512";
    }
    void ggufOfManyLayers_isRefused() {
        QFETCH(quint32, layers);
        QFETCH(QString, words);
        fused(layers, 2).write(root("m.gguf"));
        QCOMPARE(refusedEverywhere(root("m.gguf"), words), QString());
    }
    void ggufOfTheMostLayers_takesLittleWork() {
        fused(512, 2).write(root("m.gguf"));
        const std::vector<ModelPlace> places = {{ModelOrigin::kFolder, root()}};
        const Work listing;
        QVERIFY(find_models(places).models.front().supported());
        QCOMPARE(listing.excess(), QString());
        const Work estimating;
        FitEstimator(root("m.gguf").string(), FitEstimator::Text::kNotNeeded);
        QCOMPARE(estimating.excess(), QString());
    }

    // As many tensors as layers: experts that share them are not searched one by one.
    void expertsInOneTensor_areLookedUpOnce() {
        fused(60, 2048).write(root("m.gguf"));
        const std::vector<ModelPlace> places = {{ModelOrigin::kFolder, root()}};
        const Work listing;
        const FoundModels found = find_models(places);
        QCOMPARE(listing.excess(), QString());
        QCOMPARE(found.models.size(), std::size_t{1});
        QVERIFY2(found.models.front().supported(), found.models.front().problem.english().c_str());
        QCOMPARE(found.models.front().n_experts, 2048);
        const Work estimating;
        FitEstimator(root("m.gguf").string(), FitEstimator::Text::kNotNeeded);
        QCOMPARE(estimating.excess(), QString());
    }

    // Zeros that take nothing of the disk.
    void listsInHoles_areRefused() {
        GgufWriter writer;
        writer.add("general.architecture", "qwen3moe").add("qwen3moe.expert_count", std::uint32_t{8});
        writer.add("holes", std::vector<std::uint8_t>{});
        std::string bytes = writer.bytes();
        const std::size_t length_at = bytes.find("holes") + 5 + 4 + 4;
        constexpr std::uint64_t kListed = std::uint64_t{1} << 24;
        bytes.resize(length_at);
        for (int i = 0; i < 8; ++i) bytes += static_cast<char>(kListed >> (8 * i));
        const fs::path file = root("m.gguf");
        std::ofstream(file, std::ios::binary) << bytes;
        fs::resize_file(file, bytes.size() + kListed);
        QCOMPARE(refusedEverywhere(file, QStringLiteral("the length of|holes|is 16777216|at most 4194304")), QString());
    }
};

QTEST_GUILESS_MAIN(TestModelClaims)
#include "tst_model_claims.moc"
