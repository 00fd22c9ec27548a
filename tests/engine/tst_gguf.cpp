// GGUF files: models of all families made by llama.cpp's converter
// (tests/golden/make_gguf_golden.py) against Hugging Face transformers, names and keys of
// other converters, and split files. tst_gguf_tensors.cpp has tensors that only some files
// have, tst_damaged_gguf.cpp bad files.

#include <fstream>
#include <map>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/logits.h"
#include "engine/files/gguf.h"
#include "engine/files/gguf_type.h"
#include "engine/files/mapped_file.h"
#include "engine/model/gguf_model.h"
#include "engine/model/model_files.h"
#include "engine/run/loaded_model.h"
#include "engine/run/model_shape.h"
#include "tests/engine/errors.h"
#include "tests/engine/gguf_fixture.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::tests::GgufFixture;
using offstage::tests::ggufModel;
using offstage::tests::GgufParts;
using offstage::tests::GgufWriter;
using offstage::tests::sentence_of;
namespace fs = std::filesystem;

class TestGguf : public QObject, GgufFixture {
    Q_OBJECT

  private:
    static void compareToGolden(LoadedModel& model, const QJsonObject& golden) {
        for (const QJsonValue& one : golden[QLatin1String("cases")].toArray()) {
            const auto tokens = tokensOf(one[QLatin1String("tokens")].toArray());
            const auto logits = compute_logits(model, tokens, true);
            const QJsonArray expected = one[QLatin1String("logits")].toArray();
            QCOMPARE(static_cast<qsizetype>(logits.size()), expected.size());
            for (qsizetype row = 0; row < expected.size(); ++row) {
                const double error =
                    relativeError(logits[static_cast<std::size_t>(row)], floatsOf(expected[row].toArray()));
                QVERIFY2(error <= 1e-4, qPrintable(QStringLiteral("row %1: %2").arg(row).arg(error)));
            }
        }
    }
    // Pairs under another architecture's name.
    static GgufWriter renamedPairs(const GgufParts& parts, const std::string& from, const std::string& to) {
        GgufWriter writer = parts.pairs();
        writer.rename_keys(from + ".", to + ".");
        return writer.add("general.architecture", to);
    }
    static GgufParts::Rename renaming(const std::vector<std::pair<std::string, std::string>>& names) {
        return [names](std::string name) {
            for (const auto& [ours, theirs] : names) {
                const std::size_t at = name.find("." + ours, name.find('.') + 1);
                if (at != std::string::npos && at + 1 + ours.size() == name.size()) {
                    return name.substr(0, at + 1) + theirs;
                }
            }
            return name;
        };
    }
    fs::path file(const char* name) const { return fs::path(folder_.path().toStdString()) / name; }

    QTemporaryDir folder_;

  private Q_SLOTS:
    void converted_computesAsTransformers_data() {
        QTest::addColumn<QString>("name");
        const QDir folder(sourcePath(QStringLiteral("tests/engine/data/gguf")));
        const QStringList files = folder.entryList({QStringLiteral("*.gguf")});
        QVERIFY(files.size() >= 21);
        for (const QString& name : files) QTest::newRow(qPrintable(name)) << name.chopped(5);
    }
    void converted_computesAsTransformers() {
        QFETCH(QString, name);
        const QJsonObject golden = readJson(QString::fromStdString(tinyModel(name)) + QStringLiteral("/golden.json"));
        QVERIFY(!golden.isEmpty());
        const auto model = open(on(ggufModel(name)));
        compareToGolden(*model, golden);
        if (QTest::currentTestFailed()) return;
        const auto on_device = open(on(ggufModel(name), "emulated:rtx-3060"));
        compareToGolden(*on_device, golden);
    }

    // The file has the checkpoint's data about the model, too.
    void converted_hasTheSameSpec_data() { converted_computesAsTransformers_data(); }
    void converted_hasTheSameSpec() {
        QFETCH(QString, name);
        const ModelSpec expected = read_model_spec(fs::path(tinyModel(name)));
        const ModelSpec got = read_model_spec(fs::path(ggufModel(name)));
        QCOMPARE(got.n_layers(), expected.n_layers());
        QCOMPARE(got.vocab_size, expected.vocab_size);
        // The converter's word for layers without positions.
        const bool has_positions = expected.largest_attention().rotary_dim > 0;
        QCOMPARE(got.max_context, has_positions ? expected.max_context : 1 << 20);
        QCOMPARE(got.total_weights(), expected.total_weights());
        QCOMPARE(got.active_weights(), expected.active_weights());
        QVERIFY(got.experts == expected.experts);
    }

    // -------------------------------- parts of published models that the tiny ones lack

    void yarn_isAsTheFileSays() {
        const GgufParts deepseek(QStringLiteral("deepseek_v3_bf16"));
        const std::string scaling = "deepseek2.rope.scaling.";
        // Kimi K2 has 1 for both borders of the ramp. llama.cpp takes 32 and 1 for all.
        const RopeSpec kimi = specOf(deepseek, deepseek.pairs().add(scaling + "yarn_beta_fast", 1.0f)).rope();
        QCOMPARE(kimi.frequency_scale, yarn_frequency_scale({40, 1, 1, 96}, 8, 50));
        QCOMPARE(kimi.amplitude, 1.0);
        const RopeSpec usual = specOf(deepseek, deepseek.pairs().remove(scaling + "yarn_beta_fast")).rope();
        QCOMPARE(usual.frequency_scale, yarn_frequency_scale({40, 32, 1, 96}, 8, 50));
        const RopeSpec given = specOf(deepseek, deepseek.pairs().add(scaling + "yarn_attn_factor", 1.5f)).rope();
        QCOMPARE(given.amplitude, 1.5);
    }

    // gpt-oss has YaRN by default in a configuration; a file has explicit keys.
    void gptOss_withoutScalingHasNone() {
        const GgufParts gpt_oss(QStringLiteral("gpt_oss_mxfp4"));
        for (const char* type : {"none", ""}) {
            const RopeSpec rope = specOf(gpt_oss, gpt_oss.pairs().add("gpt-oss.rope.scaling.type", type)).rope();
            QVERIFY(rope.frequency_scale.empty());
            QCOMPARE(rope.amplitude, 1.0);
        }
    }

    void linearScaling_isAsTheFileSays() {
        const GgufParts qwen(QStringLiteral("qwen3_moe_bf16"));
        const auto n = static_cast<std::size_t>(specOf(qwen, qwen.pairs()).rope().dim / 2);
        const std::string rope = "qwen3moe.rope.";
        const auto of = [&](const GgufWriter& writer) { return specOf(qwen, writer).rope(); };
        const std::vector<double> quarter(n, 0.25);
        const std::string scaling = rope + "scaling.";
        QCOMPARE(of(qwen.pairs().add(scaling + "type", "linear").add(scaling + "factor", 4.0f)).frequency_scale,
                 quarter);
        QCOMPARE(of(qwen.pairs().add(scaling + "factor", 4.0f)).frequency_scale,
                 quarter);  // the type is optional
        QCOMPARE(of(qwen.pairs().add(rope + "scale_linear", 4.0f)).frequency_scale, quarter);
        // The newer key counts.
        QCOMPARE(of(qwen.pairs().add(rope + "scale_linear", 8.0f).add(scaling + "factor", 4.0f)).frequency_scale,
                 quarter);
        QVERIFY(of(qwen.pairs().add(scaling + "type", "none").add(scaling + "factor", 4.0f)).frequency_scale.empty());
        QVERIFY(of(qwen.pairs().add(scaling + "factor", 0.0f)).frequency_scale.empty());
        QVERIFY(of(qwen.pairs().add(scaling + "factor", 1.0f)).frequency_scale.empty());
        // Beside factors of pairs, both count.
        GgufWriter both = qwen.pairs().add(scaling + "factor", 4.0f);
        both.add_floats("rope_freqs.weight", {n}, std::vector<float>(n, 2));
        QCOMPARE(of(both).frequency_scale, std::vector<double>(n, 0.125));
        both.add(scaling + "type", "yarn");
        const QString error = sentence_of([&] { of(both); });
        QVERIFY2(error.contains(QStringLiteral("\"rope_freqs.weight\" beside positions of type \"yarn\"")),
                 qPrintable(error));
        // Gemma's layers with a window are not scaled.
        const GgufParts gemma(QStringLiteral("gemma4_bf16"));
        const ModelSpec scaled = specOf(gemma, gemma.pairs().add("gemma4.rope.scaling.factor", 2.0f));
        const ModelSpec plain = specOf(gemma, gemma.pairs());
        QVERIFY(scaled.rope(0) == plain.rope(0));
        for (std::size_t i = 0; i < plain.rope(1).frequency_scale.size(); ++i) {
            QCOMPARE(scaled.rope(1).frequency_scale[i], plain.rope(1).frequency_scale[i] / 2);
        }
    }

    // A factor of cos and sin, for any type.
    void attentionFactor_isOfEveryType() {
        const GgufParts qwen(QStringLiteral("qwen3_moe_bf16"));
        const std::string scaling = "qwen3moe.rope.scaling.";
        for (const char* type : {"", "none", "linear", "yarn"}) {
            GgufWriter writer = qwen.pairs().add(scaling + "factor", 4.0f);
            if (*type != 0) writer.add(scaling + "type", type);
            const double before = specOf(qwen, writer).rope().amplitude;
            writer.add(scaling + "attn_factor", 1.5f);
            QCOMPARE(specOf(qwen, writer).rope().amplitude, 1.5 * before);
        }
        GgufWriter alone = qwen.pairs().add(scaling + "attn_factor", 1.5f);
        QCOMPARE(specOf(qwen, alone).rope().amplitude, 1.5);
    }

    // Also where no factor would make it count.
    void scalingOfAnUnknownType_isRefused() {
        const GgufParts qwen(QStringLiteral("qwen3_moe_bf16"));
        const QString error =
            sentence_of([&] { specOf(qwen, qwen.pairs().add("qwen3moe.rope.scaling.type", "bogus")); });
        QVERIFY2(error.contains(QStringLiteral("bogus")), qPrintable(error));
    }

    // Phi-3.5-MoE: its factor of cos and sin is not in the file.
    void phimoeLongRope_hasThePublishedFactor() {
        const GgufParts phi(QStringLiteral("phimoe_plain_bf16"));
        const auto n = static_cast<std::size_t>(specOf(phi, phi.pairs()).rope().dim / 2);
        GgufWriter writer = phi.pairs().add("phimoe.rope.scaling.attn_factor", 1.19f);
        writer.add_floats("rope_factors_short.weight", {n}, std::vector<float>(n, 2));
        writer.add_floats("rope_factors_long.weight", {n}, std::vector<float>(n, 4));
        const RopeSpec rope = specOf(phi, writer).rope();
        QCOMPARE(rope.frequency_scale, std::vector<double>(n, 0.5));
        QCOMPARE(rope.long_frequency_scale, std::vector<double>(n, 0.25));
        QCOMPARE(rope.amplitude, 1.243163121016122);
        QCOMPARE(rope.long_amplitude, 1.243163121016122);
    }

    // Such an id is outside of the vocabulary: the model has no such token then.
    void specialIdsBeyondTheTokens_areNone() {
        const GgufParts mixtral(QStringLiteral("grouped_bf16"));
        GgufWriter writer = mixtral.pairs();
        writer.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
        for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"}) {
            writer.add(key, std::uint32_t{99999});
        }
        QVERIFY(specOf(mixtral, writer).eos_tokens.empty());
        QCOMPARE(specOf(mixtral, writer.add("tokenizer.ggml.eos_token_id", std::uint32_t{2})).eos_tokens,
                 std::vector<TokenId>{2});
    }

    // Llama 3.1's scaling, in a model of Mixtral's shape.
    void frequencyFactors_divideAtEveryLength() {
        const GgufParts mixtral(QStringLiteral("grouped_bf16"));
        const auto n = static_cast<std::size_t>(specOf(mixtral, mixtral.pairs()).rope().dim / 2);
        GgufWriter writer = mixtral.pairs();
        writer.add_floats("rope_freqs.weight", {n}, std::vector<float>(n, 8));
        const RopeSpec rope = specOf(mixtral, writer).rope();
        QCOMPARE(rope.frequency_scale, std::vector<double>(n, 0.125));
        QCOMPARE(rope.long_frequency_scale, rope.frequency_scale);
        QCOMPARE(rope.amplitude, 1.0);
        GgufWriter bad = mixtral.pairs();
        bad.add_floats("rope_freqs.weight", {n}, std::vector<float>(n, std::numeric_limits<float>::quiet_NaN()));
        const QString error = sentence_of([&] { specOf(mixtral, bad); });
        const QString expected = QStringLiteral("expected a list of %1 numbers from 1e-6 to 1e6").arg(n);
        QVERIFY2(error.contains(expected) && error.contains(QStringLiteral(": \"rope_freqs.weight\" is")),
                 qPrintable(error));
        GgufWriter longer = mixtral.pairs();
        longer.add_floats("rope_freqs.weight", {n + 1}, std::vector<float>(n + 1, 8));
        const QString length = sentence_of([&] { specOf(mixtral, longer); });
        QVERIFY2(length.contains(expected) && length.contains(QStringLiteral(": \"rope_freqs.weight\" is a list")),
                 qPrintable(length));
        const QString factor =
            sentence_of([&] { specOf(mixtral, mixtral.pairs().add("llama.rope.scaling.factor", -1.0f)); });
        QVERIFY2(factor.contains(QStringLiteral(": \"llama.rope.scaling.factor\" is -1")), qPrintable(factor));
    }

    // Older files lack the keys for DeepSeek-V3's and V2's groups of experts.
    void groupsOfExperts_areKnownWhereTheFileIsOlder_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<quint32>("n_experts");
        QTest::addColumn<int>("n_groups");
        QTest::addColumn<int>("n_used");
        QTest::newRow("DeepSeek-V3, R1") << "deepseek_v3_bf16" << 256u << 8 << 4;
        QTest::newRow("Kimi K2") << "deepseek_v3_bf16" << 384u << 1 << 1;
        QTest::newRow("DeepSeek-V2, V2.5") << "deepseek_v2_lite_bf16" << 160u << 8 << 3;
        QTest::newRow("DeepSeek-V2-Lite") << "deepseek_v2_lite_bf16" << 64u << 1 << 1;
    }
    void groupsOfExperts_areKnownWhereTheFileIsOlder() {
        QFETCH(quint32, n_experts);
        QFETCH(QString, name);
        const GgufParts parts(name);
        GgufWriter writer = parts.pairs().add("deepseek2.expert_count", n_experts);
        const auto router = [&] { return specOf(parts, writer).layers.back().moe()->router; };
        QCOMPARE(router().n_groups, name == QLatin1String("deepseek_v3_bf16") ? 4 : 1);  // as in the file
        writer.remove("deepseek2.expert_group_count").remove("deepseek2.expert_group_used_count");
        QTEST(router().n_groups, "n_groups");
        QTEST(router().n_groups_used, "n_used");
    }

    // Mistral Large 3 comes as deepseek2.
    void attentionScaledByPosition_isRead() {
        const GgufParts deepseek(QStringLiteral("deepseek_v3_bf16"));
        const auto growth = [&](GgufWriter pairs) {
            return std::get<LatentSpec>(specOf(deepseek, pairs).layers.front().attention).growth;
        };
        QCOMPARE(growth(deepseek.pairs()).beta, 0.0);
        GgufWriter scaled = deepseek.pairs().add("deepseek2.attention.temperature_scale", 0.5f);
        QCOMPARE(growth(scaled).beta, 0.5);
        QCOMPARE(growth(scaled).context,
                 deepseek.header.metadata.integer("deepseek2.rope.scaling.original_context_length", 1, 1 << 20));
        scaled.add("deepseek2.attention.temperature_length", std::uint32_t{7});
        QCOMPARE(growth(scaled).context, 7);
        // YaRN's context stays its own.
        const ModelSpec with = specOf(deepseek, scaled), without = specOf(deepseek, deepseek.pairs());
        QVERIFY(!without.rope().frequency_scale.empty());
        QVERIFY(with.rope() == without.rope());
        QCOMPARE(with.max_context, without.max_context);
    }

    // Configurations have defaults there: Hunyuan's is one expert.
    void expertsPerToken_mustBeThere() {
        for (const auto& [name, family] :
             {std::pair("hunyuan_moe_bf16", "hunyuan-moe"), std::pair("qwen3_moe_bf16", "qwen3moe")}) {
            const GgufParts parts(QString::fromLatin1(name));
            const std::string key = std::string(family) + ".expert_used_count";
            const GgufWriter writer = parts.pairs().remove(key);
            const QString error = sentence_of([&] { specOf(parts, writer); });
            QVERIFY2(error.contains(QString::fromStdString("\"" + key + "\" is missing; expected")), qPrintable(error));
        }
    }

    // ------------------------------------ as other converters write them, above all
    // Ollama's

    // Published with these names before llama.cpp had any for the family.
    void gptOssOfOllama_computesTheSame() {
        const GgufParts parts(QStringLiteral("gpt_oss_mxfp4"));
        GgufWriter writer = renamedPairs(parts, "gpt-oss", "gptoss");
        writer.remove("gptoss.rope.scaling.type").remove("gptoss.expert_feed_forward_length");
        parts.copy(writer, 0, parts.n(),
                   renaming({{"attn_output.weight", "attn_out.weight"},
                             {"attn_output.bias", "attn_out.bias"},
                             {"attn_sinks.weight", "attn_sinks"},
                             {"post_attention_norm.weight", "ffn_norm.weight"}}));
        QCOMPARE(logitsOf(writer), logitsOf(ggufModel(QStringLiteral("gpt_oss_mxfp4"))));
    }

    // An early form of the format: the rows of gate and up alternate.
    void gptOssWithGateAndUpInOne_isRefused() {
        const GgufParts parts(QStringLiteral("gpt_oss_mxfp4"));
        GgufWriter writer = parts.pairs();
        const auto rename = renaming({{"ffn_gate_exps.weight", "ffn_gate_up_exps.weight"}});
        parts.copy(writer, 0, parts.n(), [&](std::string name) {
            return name.find("ffn_up_exps.weight") != std::string::npos ? std::string() : rename(std::move(name));
        });
        const QString error = sentence_of([&] { specOf(writer); });
        QVERIFY2(error.contains(QStringLiteral("tensor \"blk.0.ffn_gate_up_exps.weight\" is not supported")),
                 qPrintable(error));
    }

    // The first files of Qwen3-Next have one tensor for queries, keys, values and gates,
    // with the rows of a key head together.
    void qwen3Next_joinedByKeyHead_computesTheSame() {
        const GgufParts parts(QStringLiteral("qwen3_next_bf16"));
        GgufWriter writer = parts.pairs();
        constexpr std::size_t kKeyHeads = 2, kKey = 8, kValue = 3 * 12, kRowBytes = 32 * 2;
        std::map<std::string, std::string> qkv;
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            if (name.ends_with(".attn_qkv.weight")) qkv[name.substr(0, name.size() - 15)] = parts.bytesOf(tensor);
        }
        QCOMPARE(qkv.size(), std::size_t{3});
        for (const GgufTensor& tensor : parts.header.tensors) {
            const std::string name(tensor.name);
            if (name.ends_with(".attn_qkv.weight")) continue;
            if (!name.ends_with(".attn_gate.weight")) {
                writer.add_tensor(name, GgufParts::shapeOf(tensor), tensor.type, parts.bytesOf(tensor));
                continue;
            }
            const std::string block = name.substr(0, name.size() - 16);
            const std::string& first = qkv.at(block);
            const std::string gates(parts.bytesOf(tensor));
            std::string joined;
            for (std::size_t head = 0; head < kKeyHeads; ++head) {
                const auto rows = [&](const std::string& from, std::size_t begin, std::size_t n) {
                    joined += from.substr((begin + head * n) * kRowBytes, n * kRowBytes);
                };
                rows(first, 0, kKey);
                rows(first, kKeyHeads * kKey, kKey);
                rows(first, 2 * kKeyHeads * kKey, kValue);
                rows(gates, 0, kValue);
            }
            writer.add_tensor(block + "ssm_in.weight", {kKeyHeads * 2 * (kKey + kValue), 32}, tensor.type, joined);
        }
        QCOMPARE(logitsOf(writer), logitsOf(ggufModel(QStringLiteral("qwen3_next_bf16"))));
    }

    // Heads of each layer, none in the recurrent ones, which no other key here names. The
    // tower and the prediction layer are in the same file.
    void qwen35OfOllama_computesTheSame() {
        const GgufParts parts(QStringLiteral("qwen3_5_moe_bf16"));
        const std::string heads = "qwen35moe.attention.head_count_kv";
        GgufWriter writer = parts.pairs();
        writer.remove("qwen35moe.nextn_predict_layers").remove("qwen35moe.full_attention_interval");
        writer.add("qwen35moe.block_count", std::uint32_t{4}).add("qwen35moe.ssm.v_head_reordered", true);
        writer.add(heads, std::vector<std::uint32_t>{0, 0, 0, 2});
        const auto rename = renaming({{"ssm_dt.bias", "ssm_dt"}});
        parts.copy(writer, 0, parts.n(), [&](std::string name) {
            return name.starts_with("blk.4.") ? "mtp.layers.0." + name.substr(6) : rename(std::move(name));
        });
        for (const char* name : {"v.blk.0.attn_q.weight", "v.patch_embed.weight", "mm.input_projection.weight"}) {
            writer.add_floats(name, {2}, {1, 2});
        }
        QCOMPARE(logitsOf(writer), logitsOf(ggufModel(QStringLiteral("qwen3_5_moe_bf16"))));
        const auto error = [&](const std::vector<std::uint32_t>& list) {
            GgufWriter changed = writer;
            return sentence_of([&] { specOf(changed.add(heads, list)); });
        };
        QVERIFY2(error({0, 1, 0, 2})
                     .contains(QStringLiteral(
                         "\"qwen35moe.attention.head_count_kv\" is a list of 4: 0, 1, 0, 2; expected one number, or")),
                 qPrintable(error({0, 1, 0, 2})));
        QVERIFY(error({0, 0, 2}).contains(QStringLiteral("is a list of 3: 0, 0, 2; expected")));
        QVERIFY(error({0, 0, 0, 0}).contains(QStringLiteral("num_key_value_heads")) ||
                error({0, 0, 0, 0}).contains(QString::fromStdString(heads)));
    }

    void gemma4OfOllama_computesTheSame() {
        const GgufParts parts(QStringLiteral("gemma4_bf16"));
        GgufWriter writer = parts.pairs();
        parts.copy(writer, 0, parts.n(),
                   renaming({{"ffn_down_exps.scale", "ffn_gate_inp.per_expert_scale"},
                             {"post_attention_norm.weight", "attn_post_norm.weight"},
                             {"ffn_norm.weight", "ffn_pre_norm.weight"},
                             {"post_ffw_norm.weight", "ffn_post_norm.weight"},
                             {"post_ffw_norm_1.weight", "ffn_post_norm_1.weight"},
                             {"pre_ffw_norm_2.weight", "ffn_pre_norm_2.weight"},
                             {"post_ffw_norm_2.weight", "ffn_post_norm_2.weight"},
                             {"layer_output_scale.weight", "layer_scalar"}}));
        QCOMPARE(logitsOf(writer), logitsOf(ggufModel(QStringLiteral("gemma4_bf16"))));
    }

    // GLM-4.7-Flash: a head's sizes and those of the latent under each other's keys, or a
    // head's alone.
    void glm4MoeLiteOfOllama_computesTheSame_data() {
        QTest::addColumn<bool>("both");
        QTest::newRow("sizes of the latent as mla") << true;
        QTest::newRow("sizes of a head alone") << false;
    }
    void glm4MoeLiteOfOllama_computesTheSame() {
        QFETCH(bool, both);
        const GgufParts parts(QStringLiteral("deepseek_v3_bf16"));
        GgufWriter writer = renamedPairs(parts, "deepseek2", "glm4moelite");
        const GgufMetadata& metadata = parts.header.metadata;
        for (const char* key : {"attention.key_length", "attention.value_length"}) {
            const std::string plain = std::string("deepseek2.") + key, mla = plain + "_mla";
            const std::string theirs = std::string("glm4moelite.") + key;
            writer.add(theirs, metadata.integer(mla, 0, 1000)).remove(theirs + "_mla");
            if (both) writer.add(theirs + "_mla", metadata.integer(plain, 0, 1000));
        }
        parts.copy(writer, 0, parts.n(),
                   renaming({{"attn_output.weight", "attn_out.weight"}, {"exp_probs_b.bias", "exp_probs_b"}}));
        QCOMPARE(logitsOf(writer), logitsOf(ggufModel(QStringLiteral("deepseek_v3_bf16"))));
    }

    // Like llama.cpp reads keys that may differ between layers.
    void listsOfEqualNumbers_areThatNumber() {
        const GgufParts parts(QStringLiteral("qwen3_moe_bf16"));
        const GgufMetadata& metadata = parts.header.metadata;
        const ModelSpec expected = specOf(parts, parts.pairs());
        int n_keys = 0;
        for (const GgufMetadata::Entry& entry : metadata.entries()) {
            const auto* const number = std::get_if<std::int64_t>(&entry.value);
            const std::string key(entry.key);
            if (number == nullptr || !key.starts_with("qwen3moe.")) continue;
            ++n_keys;
            const ModelSpec got = specOf(parts, parts.pairs().add(key, std::vector<std::int64_t>(3, *number)));
            QCOMPARE(got.total_weights(), expected.total_weights());
            QCOMPARE(got.max_context, expected.max_context);
            QVERIFY(got.experts == expected.experts);
            const std::vector<std::int64_t> unequal = {*number, *number, *number + 1};
            const QString error = sentence_of([&] { specOf(parts, parts.pairs().add(key, unequal)); });
            const QString words = QStringLiteral("\"%1\" is a list of 3: %2, %2, %3; expected")
                                      .arg(QString::fromStdString(key))
                                      .arg(*number)
                                      .arg(*number + 1);
            // Unread values may be anything.
            if (!key.ends_with("value_length")) QVERIFY2(error.contains(words), qPrintable(error));
        }
        QVERIFY(n_keys >= 9);
    }

    // ------------------------------------ files and folders

    void splitFile_isOneModel() {
        const GgufParts whole(QStringLiteral("qwen3_moe_bf16"));
        const auto part = [&](int i) {
            GgufWriter writer = i == 1 ? whole.pairs() : GgufWriter();
            writer.add("split.no", static_cast<std::uint16_t>(i - 1)).add("split.count", std::uint16_t{3});
            // The first one without tensors, as a splitter may leave it.
            whole.copy(writer, whole.n() * static_cast<std::size_t>(std::max(i - 2, 0)) / 2,
                       whole.n() * static_cast<std::size_t>(i - 1) / 2);
            writer.write(file(qPrintable(QStringLiteral("tiny-0000%1-of-00003.gguf").arg(i))));
        };
        for (const int i : {1, 2, 3}) part(i);
        // Any part names the model.
        for (const char* named : {"tiny-00001-of-00003.gguf", "tiny-00003-of-00003.gguf"}) {
            const auto model = open(on(file(named).string()));
            QCOMPARE(model->summary().name, std::string("tiny"));
            compareToGolden(*model, readJson(QString::fromStdString(tinyModel(QStringLiteral("qwen3_moe_bf16"))) +
                                             QStringLiteral("/golden.json")));
        }
        // So does a folder that has no other model.
        QCOMPARE(model_path(folder_.path().toStdString()), file("tiny-00001-of-00003.gguf"));

        fs::remove(file("tiny-00002-of-00003.gguf"));
        const QString missing = sentence_of([&] { model_path(file("tiny-00001-of-00003.gguf").string()); });
        QVERIFY2(missing.contains(QStringLiteral("tiny-00002-of-00003.gguf: is missing; expected all 3 parts")),
                 qPrintable(missing));
        fs::rename(file("tiny-00001-of-00003.gguf"), file("renamed.gguf"));
        const QString renamed = sentence_of([&] { static_cast<void>(Checkpoint::open(file("renamed.gguf"))); });
        QVERIFY2(renamed.contains(QStringLiteral("\"split.count\" is 3; expected the name that this part had")),
                 qPrintable(renamed));
    }

    void folder_withItsModelTwoDown_isThatModel() {
        const QTemporaryDir folder;
        const fs::path path = folder.path().toStdString();
        fs::create_directories(path / "models" / "BF16");
        fs::create_directories(path / "models" / ".cache");
        fs::copy_file(ggufModel(QStringLiteral("qwen3_moe_bf16")), path / "models" / "BF16" / "a.gguf");
        std::ofstream(path / "models" / ".cache" / "b.gguf") << "GGUF";
        QCOMPARE(model_path(path.string()), path / "models" / "BF16" / "a.gguf");
        // Nearer ones come before those further down.
        fs::create_directories(path / "other");
        fs::copy_file(ggufModel(QStringLiteral("grouped_bf16")), path / "other" / "c.gguf");
        QCOMPARE(model_path(path.string()), path / "other" / "c.gguf");
    }

    void folder_withTwoModels_asksForOne() {
        const QTemporaryDir folder;
        const fs::path path = folder.path().toStdString();
        for (const char* name : {"b.gguf", "a.gguf", "mmproj-a.gguf", "c-00002-of-00002.gguf"}) {
            std::ofstream(path / name) << "GGUF";
        }
        QCOMPARE(gguf_models_in(path), (std::vector<fs::path>{path / "a.gguf", path / "b.gguf"}));
        const QString error = sentence_of([&] { static_cast<void>(read_model_spec(path)); });
        QVERIFY2(
            error.contains(QStringLiteral("holds 2 GGUF models (\"a.gguf\" ...); expected the path of one of them")),
            qPrintable(error));
    }
};

QTEST_GUILESS_MAIN(TestGguf)
#include "tst_gguf.moc"
