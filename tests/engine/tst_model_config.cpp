#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/json.h"
#include "engine/model/config_fields.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/kv_layout.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/fuzz/model_files.h"

using namespace offstage;
using engine::ErrorKind;
using engine::ModelSpec;
using engine::TokenId;
using tests::error_of;
using tests::mismatch;
using tests::write_file;

namespace {

using Keys = std::vector<std::pair<QByteArray, QByteArray>>;  // key, value as JSON; no value: without the key

QByteArray json_of(const Keys& keys) {
    QByteArrayList parts;
    for (const auto& [key, value] : keys) {
        if (!value.isEmpty()) parts.append("\"" + key + "\": " + value);
    }
    return "{" + parts.join(", ") + "}";
}

Keys changed(Keys keys, const Keys& changes) {
    for (const auto& [key, value] : changes) {
        const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& pair) { return pair.first == key; });
        if (found == keys.end()) {
            keys.emplace_back(key, value);
        } else {
            found->second = value;
        }
    }
    return keys;
}

// The keys that a small model needs, and nothing else.
const Keys kSmall = {{"architectures", R"(["MixtralForCausalLM"])"},
                     {"vocab_size", "100"},
                     {"hidden_size", "16"},
                     {"intermediate_size", "24"},
                     {"num_hidden_layers", "3"},
                     {"num_attention_heads", "4"},
                     {"num_key_value_heads", "2"},
                     {"num_local_experts", "5"},
                     {"num_experts_per_tok", "2"},
                     {"max_position_embeddings", "64"}};

ModelSpec parse(const Keys& changes) {
    return engine::parse_model_spec(json_of(changed(kSmall, changes)).toStdString(), "config.json");
}

// mistralai/Mixtral-8x7B-Instruct-v0.1, as transformers 4 wrote it.
const Keys kMixtral8x7B = {{"architectures", R"(["MixtralForCausalLM"])"},
                           {"attention_dropout", "0.0"},
                           {"bos_token_id", "1"},
                           {"eos_token_id", "2"},
                           {"hidden_act", R"("silu")"},
                           {"hidden_size", "4096"},
                           {"initializer_range", "0.02"},
                           {"intermediate_size", "14336"},
                           {"max_position_embeddings", "32768"},
                           {"model_type", R"("mixtral")"},
                           {"num_attention_heads", "32"},
                           {"num_experts_per_tok", "2"},
                           {"num_hidden_layers", "32"},
                           {"num_key_value_heads", "8"},
                           {"num_local_experts", "8"},
                           {"output_router_logits", "false"},
                           {"rms_norm_eps", "1e-05"},
                           {"rope_theta", "1000000.0"},
                           {"router_aux_loss_coef", "0.02"},
                           {"sliding_window", "null"},
                           {"tie_word_embeddings", "false"},
                           {"torch_dtype", R"("bfloat16")"},
                           {"transformers_version", R"("4.36.0.dev0")"},
                           {"use_cache", "true"},
                           {"vocab_size", "32000"}};

const engine::GroupedQuerySpec& attention(const ModelSpec& spec) {
    return std::get<engine::GroupedQuerySpec>(spec.layers.front().attention);
}

}  // namespace

class TestModelConfig : public QObject {
    Q_OBJECT

  private:
    QTemporaryDir dir_;
    QString path(const QString& name) const { return dir_.filePath(name); }
    std::optional<engine::Error> read_error(const QString& name) const {
        return error_of([&] { engine::read_model_spec(path(name).toStdString()); });
    }

  private slots:
    void init() {
        dir_ = QTemporaryDir();
        QVERIFY(dir_.isValid());
    }

    // ------------------------------------------------------------ good files

    void transformers_4_config_is_read_whole() {
        const ModelSpec c = engine::parse_model_spec(json_of(kMixtral8x7B).toStdString(), "config.json");
        QCOMPARE(c.architecture, std::string("MixtralForCausalLM"));
        QCOMPARE(c.vocab_size, 32000);
        QCOMPARE(c.hidden_dim, 4096);
        QCOMPARE(c.experts.ffn_dim, 14336);
        QCOMPARE(c.n_layers(), 32);
        QCOMPARE(attention(c).n_heads, 32);
        QCOMPARE(attention(c).n_kv_heads, 8);
        QCOMPARE(attention(c).head_dim, 128);
        QCOMPARE(c.experts.n_experts, 8);
        QCOMPARE(c.experts.n_active, 2);
        QCOMPARE(c.max_context, 32768);
        QCOMPARE(attention(c).window, 0);
        QCOMPARE(attention(c).rope.theta, 1e6);
        QCOMPARE(c.norm.eps, 1e-5f);
        QVERIFY(!c.tied_embeddings);
        QCOMPARE(c.bos_token, 1);
        QCOMPARE(c.eos_tokens, std::vector<TokenId>{2});
        // The published 46.7 and 12.9 billion, the second without the embedding rows of
        // other tokens.
        QCOMPARE(c.total_weights(), 46'702'792'704);
        QCOMPARE(c.active_weights(), 46'702'792'704 - 32LL * 6 * 3 * 4096 * 14336 - 31999LL * 4096);
    }

    void transformers_5_config_is_read_whole() {
        // Written like MixtralConfig.save_pretrained of 5.23.
        const ModelSpec c = engine::parse_model_spec(R"({
            "architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "dtype": "bfloat16",
            "eos_token_id": [2, 7], "head_dim": null, "hidden_act": "silu", "hidden_size": 64,
            "initializer_range": 0.02, "intermediate_size": 128, "max_position_embeddings": 131072,
            "model_type": "mixtral", "num_attention_heads": 4, "num_experts_per_tok": 2, "num_hidden_layers": 2,
            "num_key_value_heads": 2, "num_local_experts": 8, "output_router_logits": false, "pad_token_id": null,
            "rms_norm_eps": 1e-06, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"},
            "router_aux_loss_coef": 0.001, "router_jitter_noise": 0.0, "sliding_window": 4096,
            "tie_word_embeddings": true, "transformers_version": "5.23.0", "use_cache": true, "vocab_size": 512})",
                                                     "config.json");
        QCOMPARE(attention(c).head_dim, 16);
        QCOMPARE(attention(c).rope.theta, 5e5);
        QCOMPARE(c.norm.eps, 1e-6f);
        QCOMPARE(attention(c).window, 4096);
        QCOMPARE(c.max_context, 131072);
        QCOMPARE(c.eos_tokens, (std::vector<TokenId>{2, 7}));
        QVERIFY(c.tied_embeddings);
        // Counted by PyTorch on a model of this configuration.
        QCOMPARE(c.total_weights(), 451'904);
        QCOMPARE(c.active_weights(), 451'904 - 2LL * 6 * 3 * 64 * 128);
    }

    void absent_and_null_keys_mean_what_transformers_takes_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QByteArray>("value");
        QTest::addColumn<double>("found");
        QTest::addColumn<double>("expected");
        const auto row = [](const char* name, const char* key, const char* value, auto field, double expected) {
            const ModelSpec config = parse({{"num_attention_heads", "8"}, {key, value}});
            QTest::newRow(name) << QByteArray(key) << QByteArray(value) << static_cast<double>(field(config))
                                << expected;
        };
        const auto n_kv_heads = [](const ModelSpec& c) { return attention(c).n_kv_heads; };
        const auto head_dim = [](const ModelSpec& c) { return attention(c).head_dim; };
        const auto theta = [](const ModelSpec& c) { return attention(c).rope.theta; };
        const auto eps = [](const ModelSpec& c) { return static_cast<double>(c.norm.eps); };
        const auto window = [](const ModelSpec& c) { return attention(c).window; };
        const auto tied = [](const ModelSpec& c) { return c.tied_embeddings ? 1 : 0; };
        const auto bos = [](const ModelSpec& c) { return c.bos_token; };
        const auto eos = [](const ModelSpec& c) { return c.eos_tokens.empty() ? -1 : c.eos_tokens.front(); };
        row("kv heads absent", "num_key_value_heads", "", n_kv_heads, 8);
        row("kv heads null", "num_key_value_heads", "null", n_kv_heads, 8);
        row("head_dim absent", "head_dim", "", head_dim, 2);
        row("head_dim null", "head_dim", "null", head_dim, 2);
        row("head_dim of its own", "head_dim", "32", head_dim, 32);
        row("theta absent", "rope_theta", "", theta, 1e6);
        row("theta at the top", "rope_theta", "10000", theta, 1e4);
        row("theta null", "rope_theta", "null", theta, 1e6);
        row("rope_scaling null", "rope_scaling", "null", theta, 1e6);
        row("rope_scaling empty", "rope_scaling", "{}", theta, 1e6);
        row("rope_scaling default", "rope_scaling", R"({"type":"default","rope_theta":7})", theta, 7);
        row("rope_parameters without type", "rope_parameters", R"({"rope_theta":9})", theta, 9);
        row("rope_parameters without theta", "rope_parameters", R"({"rope_type":"default"})", theta, 1e6);
        row("whole rotary", "rope_parameters", R"({"partial_rotary_factor":1.0})", theta, 1e6);
        row("eps absent", "rms_norm_eps", "", eps, static_cast<double>(1e-5f));
        row("window absent", "sliding_window", "", window, 0);
        row("window null", "sliding_window", "null", window, 0);
        row("tied absent", "tie_word_embeddings", "", tied, 0);
        row("tied null", "tie_word_embeddings", "null", tied, 0);
        row("tied", "tie_word_embeddings", "true", tied, 1);
        row("bos absent", "bos_token_id", "", bos, 1);
        row("bos null", "bos_token_id", "null", bos, -1);
        row("bos in a list", "bos_token_id", "[5]", bos, 5);
        row("bos 0", "bos_token_id", "0", bos, 0);
        row("bos the last", "bos_token_id", "99", bos, 99);
        row("eos absent", "eos_token_id", "", eos, 2);
        row("eos null", "eos_token_id", "null", eos, -1);
        row("eos empty", "eos_token_id", "[]", eos, -1);
        row("bias false", "attention_bias", "false", n_kv_heads, 2);
        row("bias null", "attention_bias", "null", n_kv_heads, 2);
        row("quantization null", "quantization_config", "null", n_kv_heads, 2);
        row(
            "all experts active", "num_experts_per_tok", "5", [](const ModelSpec& c) { return c.experts.n_active; }, 5);
    }
    void absent_and_null_keys_mean_what_transformers_takes() {
        QFETCH(double, found);
        QFETCH(double, expected);
        QCOMPARE(found, expected);
    }

    void kv_heads_default_differs_from_null_when_there_are_more_heads() {
        QCOMPARE(attention(parse({{"hidden_size", "64"}, {"num_attention_heads", "16"}, {"num_key_value_heads", ""}}))
                     .n_kv_heads,
                 8);
        QCOMPARE(
            attention(parse({{"hidden_size", "64"}, {"num_attention_heads", "16"}, {"num_key_value_heads", "null"}}))
                .n_kv_heads,
            16);
    }

    void rope_inside_wins_over_the_top() {
        const char* inside = R"({"rope_theta":3})";
        QCOMPARE(attention(parse({{"rope_theta", "2"}, {"rope_parameters", inside}})).rope.theta, 3.0);
        QCOMPARE(attention(parse({{"rope_theta", "2"}, {"rope_scaling", R"({"type":"default"})"}})).rope.theta, 2.0);
        QCOMPARE(attention(parse({{"rope_scaling", R"({"rope_theta":4})"}, {"rope_parameters", inside}})).rope.theta,
                 4.0);
        QCOMPARE(attention(parse({{"rope_scaling", "{}"}, {"rope_parameters", inside}})).rope.theta, 3.0);
    }

    // Factors by which the frequencies of Llama 3.1's heads are divided, as llama.cpp's
    // converter writes them.
    void llama3_slows_slow_pairs() {
        const auto rope = attention(parse({{"head_dim", "128"},
                                           {"rope_theta", "500000"},
                                           {"rope_scaling", R"({"rope_type":"llama3","factor":8.0,
                "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":8192})"}}))
                              .rope;
        QCOMPARE(rope.frequency_scale.size(), std::size_t{64});
        QCOMPARE(rope.amplitude, 1.0);
        const auto divisor = [&](std::size_t pair) { return 1 / rope.frequency_scale[pair]; };
        QCOMPARE(divisor(28), 1.0);
        QVERIFY(std::abs(divisor(29) - 1.207484) < 1e-4);
        QVERIFY(std::abs(divisor(34) - 5.257327) < 1e-4);
        QCOMPARE(divisor(35), 8.0);
    }

    // LongRoPE's factor of cos and sin, as transformers 5.24 computes it: a "factor"
    // comes before the ratio of the contexts (128 / 16), an "attention_factor" before
    // both.
    void longRope_takesItsFactor_beforeTheRatioOfContexts() {
        const std::vector<std::pair<QByteArray, double>> amplitudes = {
            {"", 1.3228756555322954},
            {R"(,"factor":null)", 1.3228756555322954},
            {R"(,"factor":4)", 1.224744871391589},
            {R"(,"factor":0.5)", 1.0},
            {R"(,"factor":4,"attention_factor":1.25)", 1.25}};
        for (const auto& [more, amplitude] : amplitudes) {
            const QByteArray scaling = R"({"rope_type":"longrope","short_factor":[1,1],"long_factor":[2,2],)"
                                       R"("original_max_position_embeddings":16)" +
                                       more + "}";
            const auto rope = attention(parse({{"max_position_embeddings", "128"}, {"rope_scaling", scaling}})).rope;
            QCOMPARE(rope.amplitude, amplitude);
            QCOMPARE(rope.long_amplitude, amplitude);
        }
    }

    // As transformers 5.24 reads the three types: what stands beside the positions comes
    // before what stands among them, and max_position_embeddings after both.
    void originalContext_besideThePositions_comesFirst() {
        const QByteArray both = R"("original_max_position_embeddings":16)";
        const auto read = [](const QByteArray& scaling, const char* beside) {
            return attention(parse({{"max_position_embeddings", "128"},
                                    {"original_max_position_embeddings", beside},
                                    {"rope_scaling", "{" + scaling + "}"}}))
                .rope;
        };
        const QByteArray longrope = R"("rope_type":"longrope","short_factor":[1,1],"long_factor":[2,2],)";
        QCOMPARE(read(longrope + both, "64").original_context, 64);
        QCOMPARE(read(longrope + both, "null").original_context, 16);
        const QByteArray yarn = R"("rope_type":"yarn","factor":2)";
        QCOMPARE(read(yarn + "," + both, "64"), read(yarn + R"(,"original_max_position_embeddings":64)", ""));
        const QByteArray llama = R"("rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4)";
        QCOMPARE(read(llama + "," + both, "64"), read(llama + R"(,"original_max_position_embeddings":64)", ""));
        QCOMPARE(read(llama, ""), read(llama + R"(,"original_max_position_embeddings":128)", ""));
        QVERIFY(read(llama, "") != read(llama, "16"));
    }

    // Scaled positions reach a factor further than the context of the first training.
    void context_isTheStretchedOne_data() {
        QTest::addColumn<QByteArray>("scaling");
        QTest::addColumn<qint64>("context");
        const auto row = [](const char* name, const char* scaling, qint64 context) {
            QTest::newRow(name) << QByteArray(scaling) << context;
        };
        row("linear", R"({"type":"linear","factor":4})", 512);
        row("linear, smaller", R"({"type":"linear","factor":0.5})", 128);
        row("dynamic", R"({"type":"dynamic","factor":2.5})", 320);
        row("yarn", R"({"type":"yarn","factor":4})", 512);
        row("yarn, of a shorter one", R"({"type":"yarn","factor":8,"original_max_position_embeddings":32})", 256);
        row("yarn, that the context has", R"({"type":"yarn","factor":4,"original_max_position_embeddings":32})", 128);
        row("yarn, factor null", R"({"type":"yarn","factor":null,"original_max_position_embeddings":32})", 128);
        row("longrope",
            R"({"type":"longrope","short_factor":[1,1],"long_factor":[2,2],"factor":4,)"
            R"("original_max_position_embeddings":16})",
            128);
        row("llama3", R"({"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4})", 128);
        row("immense", R"({"type":"linear","factor":1e6})", 128'000'000);
    }
    void context_isTheStretchedOne() {
        QFETCH(QByteArray, scaling);
        QFETCH(qint64, context);
        QCOMPARE(parse({{"max_position_embeddings", "128"}, {"rope_scaling", scaling}}).max_context, context);
    }

    void default_tokens_outside_the_vocabulary_are_none() {
        const ModelSpec config = parse({{"vocab_size", "2"}});
        QCOMPARE(config.bos_token, 1);
        QVERIFY(config.eos_tokens.empty());
    }

    void eos_tokens_are_kept_once() {
        QCOMPARE(parse({{"eos_token_id", "[7, 3, 7, 3, 99]"}}).eos_tokens, (std::vector<TokenId>{7, 3, 99}));
    }

    void model_type_stands_in_for_absent_architectures() {
        for (const char* absent : {"", "null"}) {
            const ModelSpec config = parse({{"architectures", absent}, {"model_type", R"("mixtral")"}});
            QCOMPARE(config.architecture, std::string("MixtralForCausalLM"));
        }
    }

    void weights_are_counted_by_hand() {
        const ModelSpec c = parse({{"head_dim", "6"}});
        const std::int64_t attention = 16 * (4 * 6) + 2 * 16 * (2 * 6) + (4 * 6) * 16;
        const std::int64_t rest = attention + 2 * 16 + 5 * 16;
        QCOMPARE(c.experts.expert_weights(), 3 * 16 * 24);
        QCOMPARE(c.total_weights(), 3 * (rest + 5 * 3 * 16 * 24) + 16 + 2 * 100 * 16);
        QCOMPARE(c.active_weights(), 3 * (rest + 2 * 3 * 16 * 24) + 16 + 16 + 100 * 16);
        const ModelSpec tied = parse({{"head_dim", "6"}, {"tie_word_embeddings", "true"}});
        QCOMPARE(tied.total_weights(), c.total_weights() - 100 * 16);
        QCOMPARE(tied.active_weights(), c.active_weights() - 16);
    }

    // ------------------------------------------------------------ bad values

    void value_is_rejected_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QByteArray>("value");
        QTest::addColumn<ErrorKind>("kind");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* key, const char* value, const QString& words,
                            ErrorKind kind = ErrorKind::kInvalidModel) {
            QTest::newRow(qPrintable(QString(key) + " " + value))
                << QByteArray(key) << QByteArray(value) << kind << words;
        };
        // Every size: missing, of another kind, out of range.
        for (const char* key :
             {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
              "num_local_experts", "num_experts_per_tok", "max_position_embeddings"}) {
            row(key, "", "is missing|expected an integer from 1 to ");
            row(key, "null", "is null|expected an integer from 1 to ");
        }
        for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                                "num_attention_heads", "num_local_experts", "num_experts_per_tok",
                                "max_position_embeddings", "num_key_value_heads", "sliding_window"}) {
            for (const char* value : {"0", "-1", "-9223372036854775808", "9223372036854775807", "9223372036854775808",
                                      "18446744073709551615", "4294967296", "1e30", "2.0", "true"}) {
                const QString found = QByteArray(value) == "1e30" ? "1e+30" : value;
                row(key, value, "is " + found + "|expected an integer from 1 to ");
            }
            row(key, R"("16")", "is \"16\"|expected an integer from 1 to ");
            row(key, "[16]", "is a list of 1|expected an integer from 1 to ");
            row(key, "{}", "is an object|expected an integer from 1 to ");
            row(key, "18446744073709551616", "expected an integer from 1 to ");  // 2^64 is read as a float
        }
        row("num_experts_per_tok", "6", "is 6|expected an integer from 1 to 5");
        row("num_key_value_heads", "3", "is 3|expected a divisor of \"num_attention_heads\" (4)");
        row("num_key_value_heads", "8", "is 8|expected a divisor of \"num_attention_heads\" (4)");
        row("num_key_value_heads", "", "is missing|expected a divisor of \"num_attention_heads\" (4)|it is 8");
        row("head_dim", "3", "is 3|expected an even number");
        row("head_dim", "0", "is 0|expected an integer from 2 to");
        row("head_dim", "-2", "is -2|expected an integer from 2 to");
        row("head_dim", "4.0", "is 4.0|expected an integer from 2 to");
        row("hidden_size", "18", "is 18|expected an even multiple of \"num_attention_heads\" (4)|\"head_dim\"");
        row("hidden_size", "12", "is 12|expected an even multiple of \"num_attention_heads\" (4)");
        row("hidden_size", "2", "is 2|expected an even multiple");
        for (const char* value : {"0", "-1e-5", "1.5", "1e-60", R"("1e-5")", "null", "[]"}) {
            row("rms_norm_eps", value, "expected a number from 1.17549e-38 to 1");
        }
        for (const char* value : {"0", "-10000", "0.5", "1e30", R"("10000")", "[]"}) {
            row("rope_theta", value, "expected a number from 1 to 1e+12");
        }
        row("rope_parameters", R"({"rope_theta":0})", "\"rope_parameters.rope_theta\" is 0|expected a number from 1");
        row("rope_parameters", R"({"rope_type":1})", "\"rope_parameters.rope_type\" is 1|expected a text");
        row("rope_parameters", "[]", "\"rope_parameters\" is a list of 0|expected a JSON object");
        row("rope_scaling", "2.0", "\"rope_scaling\" is 2.0|expected a JSON object");
        row("rope_parameters", R"({"partial_rotary_factor":"1"})",
            "\"rope_parameters.partial_rotary_factor\" is \"1\"|expected");
        for (const char* key : {"bos_token_id", "eos_token_id"}) {
            row(key, "-1", "is -1|expected a token id from 0 to 99");
            row(key, "100", "is 100|expected a token id from 0 to 99");
            row(key, "4294967296", "is 4294967296|expected a token id from 0 to 99");
            row(key, "18446744073709551616", "expected a token id from 0 to 99");
            row(key, "2.0", "is 2.0|expected a token id from 0 to 99");
            row(key, R"("</s>")", "is \"</s>\"|expected a token id from 0 to 99");
            row(key, "{}", "is an object|expected a token id");
            row(key, "[2, 100]", "is a list of 2|expected a token id from 0 to 99|the list holds 100");
            row(key, "[[2]]", "the list holds a list of 1");
        }
        row("bos_token_id", "[1, 2]", "is a list of 2|expected one token id");
        row("tie_word_embeddings", "1", "is 1|expected true or false");
        row("architectures", "", "is missing|expected a list with one name|MixtralForCausalLM");
        row("architectures", "[]", "is a list of 0|expected a list with one name");
        row("architectures", R"("MixtralForCausalLM")", "is \"MixtralForCausalLM\"|expected a list with one name");
        row("architectures", R"(["MixtralForCausalLM","X"])", "is a list of 2|expected a list with one name");
        row("architectures", "[1]", "is a list of 1|expected a list with one name");
        row("model_type", R"("llama")", "is \"llama\"|expected \"mixtral\"|MixtralForCausalLM");
        row("model_type", "1", "is 1|expected one of mixtral, qwen2_moe, qwen3_moe");
        // Features.
        const ErrorKind unsupported = ErrorKind::kUnsupported;
        row("architectures", R"(["LlamaForCausalLM"])",
            "\"LlamaForCausalLM\" is not supported|supported: MixtralForCausalLM, Qwen2MoeForCausalLM", unsupported);
        row("architectures", R"(["MixtralModel"])", "\"MixtralModel\" is not supported", unsupported);
        row("hidden_act", R"("gelu")", "is \"gelu\"|not supported|expected \"silu\"", unsupported);
        row("hidden_act", "null", "is null|expected a text");
        row("attention_bias", "true", "is true|not supported|expected false", unsupported);
        row("attention_bias", R"("no")", "is \"no\"|expected true or false");
        row("mlp_bias", "true", "is true|not supported|expected false", unsupported);
        row("quantization_config", R"({"quant_method":"gptq","bits":4})",
            "\"gptq\"|not supported|take the model in one of these", unsupported);
        row("quantization_config", "{}", "a quantized checkpoint|not supported", unsupported);
        row("quantization_config", "4", "\"quantization_config\" is 4|expected a JSON object");
        row("rope_scaling", R"({"type":"circular","factor":2.0})",
            "rope type \"circular\"|not supported|expected \"default\"", unsupported);
        row("rope_scaling", R"({"type":"linear"})", "\"rope_scaling.factor\" is missing");
        row("rope_scaling", R"({"type":"linear","factor":0})", "\"rope_scaling.factor\" is 0|expected a number");
        row("rope_scaling", R"({"rope_type":"yarn"})", "\"rope_scaling.factor\" is missing");
        row("rope_scaling",
            R"({"rope_type":"longrope","short_factor":[1,1],"long_factor":[2,2],)"
            R"("original_max_position_embeddings":16,"factor":0})",
            "\"rope_scaling.factor\" is 0|expected a number");
        row("rope_parameters", R"({"rope_type":"dynamic","type":"default"})", "\"rope_parameters.factor\" is missing");
        row("rope_scaling", R"({"rope_type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":1})",
            "\"rope_scaling.high_freq_factor\" is 1|expected a number above \"low_freq_factor\"");
        row("rope_parameters", R"({"partial_rotary_factor":0.5})", "\"partial_rotary_factor\" is 0.5|expected 1",
            unsupported);
        row("rope_parameters", R"({"full_attention":{"rope_theta":1e4}})",
            "\"rope_parameters.full_attention\" is an object|expected one set for all layers", unsupported);
    }
    void value_is_rejected() {
        QFETCH(QByteArray, key);
        QFETCH(QByteArray, value);
        QFETCH(ErrorKind, kind);
        QFETCH(QString, words);
        const QString about = words.contains("\"" + key) || key == "architectures" || key.startsWith("rope") ||
                                      key == "quantization_config"
                                  ? "config.json: |" + words
                                  : "config.json: \"" + key + "\" |" + words;
        QCOMPARE(mismatch(error_of([&] { parse({{key, value}}); }), kind, about), "");
    }

    // Keys that other families have: named as their files write them.
    void key_of_a_family_is_named_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QString>("words");
        const QByteArray dbrx = R"("architectures": ["DbrxForCausalLM"], "d_model": 64, "n_heads": 4, "n_layers": 2,
            "max_seq_len": 64, "vocab_size": 10, "ffn_config": {"moe_num_experts": 4, "moe_top_k": 2})";
        const QByteArray sizes = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 4, "max_position_embeddings": 64, "vocab_size": 10)";
        QTest::newRow("kv heads") << dbrx + R"(, "attn_config": {"kv_n_heads": 3})"
                                  << R"("attn_config.kv_n_heads" |a divisor of "n_heads" (4))";
        QTest::newRow("no attn_config") << dbrx << R"("attn_config" |an object)";
        QTest::newRow("rotary_dim") << QByteArray(R"("architectures": ["MiniMaxM2ForCausalLM"], "head_dim": 16,
            "rotary_dim": 7, )") + sizes
                                    << R"("rotary_dim" is 7|an even number)";
        QTest::newRow("layer_types") << QByteArray(R"("architectures": ["Qwen2MoeForCausalLM"],
            "use_sliding_window": true, "layer_types": ["sliding_attention", "linear"], )") +
                                            sizes
                                     << R"("layer_types" |but the list holds "linear")";
        const QByteArray qwen35 =
            R"("architectures": ["Qwen3_5MoeForConditionalGeneration"], "text_config": {)" + sizes;
        QTest::newRow("heads below text_config")
            << qwen35 + R"(, "linear_num_key_heads": 3, "linear_num_value_heads": 32})"
            << R"("text_config.linear_num_value_heads" is 32|a multiple of "linear_num_key_heads" (3))";
        QTest::newRow("no attention at all")
            << qwen35 + R"(, "layer_types": ["linear_attention", "linear_attention"]})"
            << R"("text_config.num_hidden_layers" is 2|at least one layer of "full_attention")";
        const QByteArray granite = R"("architectures": ["GraniteMoeHybridForCausalLM"], )" + sizes;
        QTest::newRow("heads of groups") << granite + R"(, "mamba_n_heads": 9, "mamba_n_groups": 2)"
                                         << R"("mamba_n_heads" is 9|a multiple of "mamba_n_groups" (2))";
        QTest::newRow("width of heads") << granite + R"(, "mamba_n_heads": 3, "mamba_d_head": "auto")"
                                        << R"("mamba_d_head" is "auto"|from 1 to 4096)";
        QTest::newRow("old words") << granite + R"(, "layer_types": ["mamba", "full_attention"])"
                                   << R"("layer_types" |times "mamba" or "attention")";
        QTest::newRow("no attention beside Mamba")
            << granite + R"(, "layer_types": ["mamba", "mamba"])"
            << R"("layer_types" is a list of 2|at least one layer of "full_attention")";
        const QByteArray lfm2 = R"("architectures": ["Lfm2MoeForCausalLM"], "intermediate_size": 64, )" + sizes;
        QTest::newRow("no layer_types") << lfm2 << R"("layer_types" |at least one layer of "full_attention")";
        QTest::newRow("a convolution of one token") << lfm2 + R"(, "conv_L_cache": 1)"
                                                    << R"("conv_L_cache" is 1|from 2 to 64)";
        QTest::newRow("numbers of layers") << QByteArray(R"("architectures": ["HunYuanMoEV1ForCausalLM"],
            "num_experts": 8, "moe_topk": [2, 3], )") +
                                                  sizes
                                           << R"("moe_topk" is a list of 2|with the same one for each layer)";
        const QByteArray gemma4 =
            R"("architectures": ["Gemma4ForCausalLM"], "hidden_size_per_layer_input": 0, )" + sizes;
        QTest::newRow("heads of a layer")
            << gemma4 + R"(, "head_dim": 16, "per_layer_config": {"1": {"num_key_value_heads": 3}})"
            << R"("num_key_value_heads" is 3|a divisor of "num_attention_heads" (4))";
        QTest::newRow("layers without positions")
            << gemma4 + R"(, "rope_parameters": {"sliding_attention": {"rope_theta": 10000}})"
            << R"("rope_parameters.full_attention" |an object with "rope_type" and "rope_theta")";
        QTest::newRow("layer_types too few") << QByteArray(R"("architectures": ["GptOssForCausalLM"],
            "layer_types": ["sliding_attention"], )") +
                                                    sizes
                                             << R"("layer_types" |a list of 2 times)";
    }
    void key_of_a_family_is_named() {
        QFETCH(QByteArray, config);
        QFETCH(QString, words);
        const auto error =
            error_of([&] { offstage::engine::parse_model_spec(("{" + config + "}").toStdString(), "config.json"); });
        QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, words), "");
    }

    // Qwen3.5-35B-A3B as published, without unread fields.
    void qwen35_is_read_from_text_config() {
        const ModelSpec c = engine::parse_model_spec(R"({"architectures": ["Qwen3_5MoeForConditionalGeneration"],
            "model_type": "qwen3_5_moe", "tie_word_embeddings": false, "vision_config": {"depth": 27}, "text_config": {
            "attn_output_gate": true, "eos_token_id": 248044, "full_attention_interval": 4, "head_dim": 256,
            "hidden_act": "silu", "hidden_size": 2048, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
            "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
            "max_position_embeddings": 262144, "model_type": "qwen3_5_moe_text", "moe_intermediate_size": 512,
            "mtp_num_hidden_layers": 1, "num_attention_heads": 16, "num_experts": 256, "num_experts_per_tok": 8,
            "num_hidden_layers": 40, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
            "rope_parameters": {"mrope_interleaved": true, "mrope_section": [11, 11, 10], "rope_type": "default",
            "rope_theta": 10000000, "partial_rotary_factor": 0.25}, "shared_expert_intermediate_size": 512,
            "vocab_size": 248320}})",
                                                     "config.json");
        QCOMPARE(c.n_layers(), 40);
        QVERIFY(c.layers[2].delta_net() != nullptr && c.layers[3].delta_net() == nullptr);
        QCOMPARE(c.layers[0].delta_net()->shape().qkv_width(), 8192);
        QCOMPARE(c.largest_attention().rotary_dim, 64);
        QCOMPARE(c.rope().theta, 1e7);
        QCOMPARE(c.eos_tokens, std::vector<engine::TokenId>{248044});
        QCOMPARE(c.total_weights() / 100'000'000, 346);  // 34.66 billion
        QCOMPARE(c.layers[3].moe()->shared_dim, 512);
        QVERIFY(c.layers[3].moe()->router.renormalise);
    }

    // What would change the result is refused by name.
    void features_of_families_are_refused_data() {
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QString>("words");
        const QByteArray sizes = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "max_position_embeddings": 64, "vocab_size": 10, "intermediate_size": 64)";
        const QByteArray granite = R"("architectures": ["GraniteMoeHybridForCausalLM"], )" + sizes;
        QTest::newRow("biases") << granite + R"(, "mamba_proj_bias": true)"
                                << R"("mamba_proj_bias" is true)";
        QTest::newRow("least time") << granite + R"(, "time_step_limit": [0.001, {"__float__": "Infinity"}])"
                                    << R"("time_step_limit" |[0, Infinity])";
        QTest::newRow("most time") << granite + R"(, "time_step_limit": [0.0, 0.1])"
                                   << R"("time_step_limit" )";
        QTest::newRow("biases of convolutions")
            << QByteArray(R"("architectures": ["Lfm2MoeForCausalLM"], "conv_bias": true, )") + sizes
            << R"("conv_bias" is true)";
        QTest::newRow("K-EXAONE's scores")
            << QByteArray(R"("architectures": ["ExaoneMoeForCausalLM"], "scoring_func": "softmax", )") + sizes
            << R"("scoring_func" is "softmax"|expected "sigmoid")";
        QTest::newRow("Ling's scores")
            << QByteArray(R"("architectures": ["BailingMoeV2ForCausalLM"], "score_function": "softmax", )") + sizes
            << R"("score_function" is "softmax"|expected "sigmoid")";
        QTest::newRow("keys of other layers")
            << QByteArray(R"("architectures": ["HunYuanMoEV1ForCausalLM"], "use_cla": true, )") + sizes
            << R"("use_cla" is true|expected false)";
        QTest::newRow("ERNIE's biases") << QByteArray(
                                               R"("architectures": ["Ernie4_5_MoeForCausalLM"], "use_bias": true, )") +
                                               sizes
                                        << R"("use_bias" is true|expected false)";
    }
    void features_of_families_are_refused() {
        QFETCH(QByteArray, config);
        QFETCH(QString, words);
        const auto error =
            error_of([&] { offstage::engine::parse_model_spec(("{" + config + "}").toStdString(), "config.json"); });
        QCOMPARE(mismatch(error, ErrorKind::kUnsupported, words), "");
    }

    // Gemma-4-26B-A4B as published, without unread fields.
    void gemma4_layers_differ() {
        const ModelSpec c = engine::parse_model_spec(R"({"architectures": ["Gemma4ForConditionalGeneration"],
            "model_type": "gemma4", "vision_config": {"hidden_size": 1152}, "audio_config": null, "text_config": {
            "attention_k_eq_v": true, "bos_token_id": 2, "enable_moe_block": true, "eos_token_id": 1,
            "final_logit_softcapping": 30.0, "global_head_dim": 512, "head_dim": 256,
            "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2816, "hidden_size_per_layer_input": 0,
            "intermediate_size": 2112, "max_position_embeddings": 262144, "model_type": "gemma4_text",
            "moe_intermediate_size": 704, "num_attention_heads": 16, "num_experts": 128,
            "num_global_key_value_heads": 2, "num_hidden_layers": 30, "num_key_value_heads": 8,
            "num_kv_shared_layers": 0, "rms_norm_eps": 1e-06, "rope_parameters": {"full_attention":
            {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
            "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}, "sliding_window": 1024,
            "tie_word_embeddings": true, "top_k_experts": 8, "use_bidirectional_attention": "vision",
            "vocab_size": 262144}})",
                                                     "config.json");
        QCOMPARE(c.n_layers(), 30);
        QCOMPARE(c.experts.n_layers, 30);
        QVERIFY(c.tied_embeddings);
        QCOMPARE(c.logits_cap, 30.0f);
        // 25.22 billion, and the keys' projections of five layers once more.
        QCOMPARE(c.total_weights() / 10'000'000, 2524);
        QCOMPARE(c.active_weights() / 10'000'000, 383);
        const auto attention = [&](std::size_t l) {
            return std::get<offstage::engine::GroupedQuerySpec>(c.layers[l].attention);
        };
        QCOMPARE(attention(4).window, 1024);
        QCOMPARE(attention(4).head_dim, 256);
        QCOMPARE(attention(4).n_kv_heads, 8);
        QVERIFY(!attention(4).values_from_keys && attention(4).value_norm);
        QCOMPARE(attention(5).window, 0);
        QCOMPARE(attention(5).head_dim, 512);
        QCOMPARE(attention(5).n_kv_heads, 2);
        QVERIFY(attention(5).values_from_keys);
        QCOMPARE(attention(5).scale, 1.0f);
        QCOMPARE(c.rope(4).theta, 1e4);
        QVERIFY(c.rope(4).frequency_scale.empty());
        QCOMPARE(c.rope(5).theta, 1e6);
        QCOMPARE(c.rope(5).dim, 512);
        QCOMPARE(c.rope(5).frequency_scale[63], 1.0);
        QCOMPARE(c.rope(5).frequency_scale[64], 0.0);
        const offstage::engine::MoeSpec& moe = *c.layers[0].moe();
        QVERIFY(moe.own_norms && moe.router_norm && moe.expert_scale && moe.router.renormalise);
        QCOMPARE(moe.shared_dim, 2112);
        // The synthetic shape is the same model.
        const ModelSpec shape = offstage::engine::parse_synthetic("synthetic:gemma4-26b-a4b").spec;
        QCOMPARE(shape.total_weights(), c.total_weights());
        QCOMPARE(shape.active_weights(), c.active_weights());
    }

    // Nemotron-3-Nano-30B-A3B: 23 layers of Mamba-2, 6 with attention, 23 with experts of
    // two matrices, which count and occupy no third one in any format.
    void nemotron_layers_are_of_one_part_and_experts_of_two_matrices() {
        const ModelSpec c = engine::parse_synthetic("synthetic:nemotron-3-nano-30b-a3b").spec;
        QCOMPARE(c.n_layers(), 52);
        QCOMPARE(c.experts.n_layers, 23);
        QCOMPARE(c.layer_of(0), 1);
        QVERIFY(c.layers[0].kept_size() > 0 && c.layers[0].has_attention() && !c.layers[0].has_ffn());
        QVERIFY(!c.layers[1].has_attention() && c.layers[1].moe()->shared_dim == 3712);
        QVERIFY(c.layers[5].kept_size() == 0 && c.attention_shape(5).rotary_dim == 0 && !c.layers[5].has_ffn());
        const engine::KvLayout kv = engine::kv_layout_of(c, kernels::KvType::kBf16);
        QCOMPARE(kv.groups.size(), std::size_t{2});
        QVERIFY(kv.groups[0].is_state && kv.groups[0].shape.n_layers == 23 && kv.groups[1].shape.n_layers == 6);
        const std::int64_t rows = 2 * 1856, hidden = 2688;
        QCOMPARE(c.experts.expert_weights(), rows * hidden);
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            if (format.is_of_file() || format.is_blocks() || format.is_mixed()) continue;
            QCOMPARE(c.experts.expert_bytes(format.type), rows * kernels::row_bytes(format.type, hidden));
        }
        const ModelSpec file = engine::parse_synthetic("synthetic:nemotron-3-nano-30b-a3b?type=q8_0").spec;
        QCOMPARE(file.experts.expert_bytes(kernels::WeightType::kFile1),
                 rows * kernels::row_bytes(kernels::WeightType::kQ8_0, hidden));
    }

    // Nemotron-3-Super-120B-A12B: experts work on 1024 values, router and shared expert on
    // all 4096.
    void nemotron_super_has_experts_in_a_latent() {
        const ModelSpec c = engine::parse_synthetic("synthetic:nemotron-3-super-120b-a12b").spec;
        QCOMPARE(c.n_layers(), 88);
        QCOMPARE(c.experts.n_layers, 40);
        QVERIFY(c.hidden_dim == 4096 && c.experts.hidden_dim == 1024 && c.layers[1].moe()->latent);
        QCOMPARE(c.experts.expert_weights(), 2 * 1024 * 2688);
        // Published: 120.6B and 12.7B.
        QVERIFY(std::abs(static_cast<double>(c.total_weights()) - 120.6e9) < 0.1e9);
        QVERIFY(std::abs(static_cast<double>(c.active_weights()) - 12.7e9) < 0.6e9);
        std::int64_t n_latent = 0;
        for (const engine::DenseTensor& tensor : engine::dense_tensors(c)) {
            if (tensor.role == engine::TensorRole::kExpertLatentDown) n_latent += tensor.n_rows == 1024;
            if (tensor.role == engine::TensorRole::kExpertLatentUp) n_latent += tensor.n_cols == 1024;
            if (tensor.role == engine::TensorRole::kRouter) QCOMPARE(tensor.n_cols, 4096);
        }
        QCOMPARE(n_latent, 2 * 40);
    }

    // Llama-4-Scout: three of four layers cut the text into chunks, the others have no
    // positions and no norms, and their queries grow.
    void llama4_layers_are_as_published() {
        const ModelSpec c = engine::parse_synthetic("synthetic:llama-4-scout-17b-16e").spec;
        QCOMPARE(c.experts.n_layers, 48);
        QCOMPARE(c.experts.n_active, 1);
        QVERIFY(c.layers[0].moe()->weighs_inputs && c.layers[0].moe()->shared_dim == 8192);
        for (std::size_t l = 0; l < 48; ++l) {
            const auto& attention = std::get<engine::GroupedQuerySpec>(c.layers[l].attention);
            const bool whole = l % 4 == 3;
            QCOMPARE(attention.chunked, !whole);
            QCOMPARE(attention.window, whole ? 0 : 8192);
            QCOMPARE(attention.rope.dim, whole ? 0 : 128);
            QVERIFY((attention.qk_norm == engine::QkNorm::kNone) == whole && !attention.qk_norm_weights);
            QCOMPARE(attention.growth.beta, whole ? 0.1 : 0.0);
            if (whole) QVERIFY(attention.growth.context == 8192 && attention.growth.ahead == 1);
        }
        const engine::KvLayout kv = engine::kv_layout_of(c, kernels::KvType::kBf16);
        QCOMPARE(kv.groups.size(), std::size_t{2});
        QVERIFY(kv.groups[0].chunked && kv.groups[0].shape.n_layers == 36 && !kv.groups[1].chunked);
        const ModelSpec maverick = engine::parse_synthetic("synthetic:llama-4-maverick-17b-128e").spec;
        QCOMPARE(maverick.experts.n_layers, 24);
        QCOMPARE(maverick.layer_of(0), 1);
        QCOMPARE(maverick.layers[0].network_dim(), 16384);
    }

    void llama4_variants_are_read_or_refused_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* key, const char* words) {
            QTest::newRow(name) << QByteArray(key) << QString::fromLatin1(words);
        };
        row("as published first", R"("no_rope_layers": [], "attn_temperature_tuning": 4)", "");
        row("chunk", R"("attention_chunk_size": 100)", R"("attention_chunk_size" is 100|a multiple of 64)");
        row("two experts", R"("num_experts_per_tok": 2)", R"("num_experts_per_tok" is 2|expected 1)");
        row("short list", R"("no_rope_layers": [1])", "a list of 4 booleans");
        row("no such layer", R"("moe_layers": [0, 4])", "a list of layers from 0 to 3, but the list holds 4");
    }
    void llama4_variants_are_read_or_refused() {
        QFETCH(QByteArray, key);
        QFETCH(QString, words);
        const QByteArray config = R"({"architectures": ["Llama4ForCausalLM"], "hidden_size": 64, "num_hidden_layers": 4,
            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "vocab_size": 10, )" +
                                  key + "}";
        const auto error = error_of([&] {
            const ModelSpec c = engine::parse_model_spec(config.toStdString(), "config.json");
            QCOMPARE(c.attention_shape(3).rotary_dim, 0);
            QCOMPARE(std::get<engine::GroupedQuerySpec>(c.layers[3].attention).growth.beta, 0.1);
        });
        if (words.isEmpty()) {
            QVERIFY2(!error, error ? error->what() : "");
            return;
        }
        const bool unsupported = words.startsWith('"');
        QCOMPARE(mismatch(error, unsupported ? ErrorKind::kUnsupported : ErrorKind::kInvalidModel, words), "");
    }

    // MiMo-V2-Flash: five of six layers have a window of 128 tokens and the token itself.
    void mimo_layers_are_as_published() {
        const ModelSpec c = engine::parse_model_spec(
            R"({"architectures": ["MiMoV2FlashForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 2,
            "num_attention_heads": 64, "num_key_value_heads": 4, "swa_num_key_value_heads": 8, "head_dim": 192,
            "swa_head_dim": 192, "v_head_dim": 128, "swa_v_head_dim": 128, "partial_rotary_factor": 0.334,
            "rope_theta": 5000000, "swa_rope_theta": 10000, "sliding_window": 128, "sliding_window_size": 128,
            "hybrid_layer_pattern": [0, 1], "moe_layer_freq": [0, 1], "layernorm_epsilon": 1e-05,
            "add_full_attention_sink_bias": false, "add_swa_attention_sink_bias": true, "n_routed_experts": 256,
            "num_experts_per_tok": 8, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "n_group": 1,
            "topk_group": 1, "routed_scaling_factor": null, "n_shared_experts": null, "moe_intermediate_size": 2048,
            "attention_value_scale": 0.707, "max_position_embeddings": 262144, "vocab_size": 152576})",
            "config.json");
        const auto& whole = std::get<engine::GroupedQuerySpec>(c.layers[0].attention);
        const auto& windowed = std::get<engine::GroupedQuerySpec>(c.layers[1].attention);
        QVERIFY(whole.window == 0 && windowed.window == 129 && !whole.sinks && windowed.sinks);
        QVERIFY(whole.n_kv_heads == 4 && windowed.n_kv_heads == 8);
        QVERIFY(whole.rope.theta == 5e6 && windowed.rope.theta == 1e4);
        QVERIFY(whole.rope.dim == 64 && windowed.rope.dim == 64);
        QVERIFY(whole.of_value() == 128 && windowed.value_scale == 0.707f);
        QVERIFY(c.layers[0].moe() == nullptr && c.layers[1].moe()->selection_bias);
    }

    // Step-3.5-Flash: lists have values for layers that predict further tokens, too.
    void step_layers_are_as_published() {
        const QByteArray config =
            R"({"architectures": ["Step3p5ForCausalLM"], "model_type": "step3p5", "hidden_size": 4096,
            "num_hidden_layers": 5, "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128,
            "attention_other_setting": {"attention_type": "sliding_attention", "num_attention_heads": 96,
            "num_attention_groups": 8, "head_dim": 128}, "layer_types": ["full_attention", "sliding_attention",
            "sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
            "rope_theta": [5000000.0, 10000.0, 10000.0, 10000.0, 5000000.0, 10000.0],
            "partial_rotary_factors": [0.5, 1.0, 1.0, 1.0, 0.5, 1.0], "rope_scaling": {"rope_type": "llama3",
            "factor": 2.0, "original_max_position_embeddings": 131072, "low_freq_factor": 1.0,
            "high_freq_factor": 32.0}, "sliding_window": 512, "moe_layers_enum": "3,4,5", "moe_num_experts": 288,
            "moe_top_k": 8, "moe_intermediate_size": 1280, "share_expert_dim": 1280, "intermediate_size": 11264,
            "moe_router_scaling_factor": 3.0, "swiglu_limits": [0.0, 0.0, 0.0, 0.0, 7, 0.0],
            "swiglu_limits_shared": [0.0, 0.0, 0.0, null, 16, 0.0], "max_position_embeddings": 262144,
            "vocab_size": 128896})";
        const ModelSpec c = engine::parse_model_spec(config.toStdString(), "config.json");
        const auto& whole = std::get<engine::GroupedQuerySpec>(c.layers[4].attention);
        const auto& windowed = std::get<engine::GroupedQuerySpec>(c.layers[1].attention);
        QVERIFY(whole.n_heads == 64 && windowed.n_heads == 96 && whole.n_kv_heads == 8 && windowed.n_kv_heads == 8);
        QVERIFY(whole.window == 0 && windowed.window == 512 && whole.head_gates && whole.output_gate);
        QVERIFY(whole.rope.dim == 64 && whole.rope.theta == 5e6 && !whole.rope.frequency_scale.empty());
        QVERIFY(windowed.rope.dim == 128 && windowed.rope.theta == 1e4 && windowed.rope.frequency_scale.empty());
        QCOMPARE(c.experts.n_layers, 2);
        QCOMPARE(c.layer_of(0), 3);
        QVERIFY(c.experts.limit(0) > 1e30f && c.experts.limit(1) == 7);
        QVERIFY(c.layers[3].network_limit > 1e30f && c.layers[4].network_limit == 16);
        QCOMPARE(c.layers[3].moe()->router.scale, 3.0f);
        QByteArray other = config;
        other.replace("10000.0, 10000.0, 10000.0", "10000.0, 20000.0, 10000.0");
        const auto error = error_of([&] { engine::parse_model_spec(other.toStdString(), "config.json"); });
        QCOMPARE(mismatch(error, ErrorKind::kUnsupported, R"("rope_theta"|one value of all layers with a window)"), "");
    }

    // A model beside a tower for images is what its text_config says.
    void mistral3_is_mistral4_or_refused() {
        const QByteArray text = R"("model_type": "%", "hidden_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 64, "vocab_size": 10)";
        const auto read = [&](const char* type) {
            const QByteArray config = R"({"architectures": ["Mistral3ForConditionalGeneration"], "text_config": {)" +
                                      QByteArray(text).replace('%', type) + "}}";
            return engine::parse_model_spec(config.toStdString(), "config.json");
        };
        QCOMPARE(read("mistral4").experts.n_experts, 128);
        const auto error = error_of([&] { read("mistral"); });
        QCOMPARE(mismatch(error, ErrorKind::kUnsupported, R"("text_config.model_type" is "mistral"|"mistral4")"), "");
    }

    // DeepSeek-V3.2 and GLM-5.2 as published: each layer keeps a latent row of 576
    // numbers, and where it has an indexer a key of 128.
    void indexers_keep_keys_of_their_own() {
        const ModelSpec deepseek = engine::parse_synthetic("synthetic:deepseek-v3.2").spec;
        const engine::KvLayout kv = engine::kv_layout_of(deepseek, offstage::kernels::KvType::kBf16);
        QCOMPARE(kv.groups.size(), std::size_t{2});
        QCOMPARE(kv.groups[0].shape.token_bytes(), 61 * 576 * 2);
        QCOMPARE(kv.groups[1].shape.token_bytes(), 61 * 128 * 2);
        QVERIFY(kv.layers[60].group == 0 && kv.layers[60].layer == 60);
        QVERIFY(kv.indexers[60].group == 1 && kv.indexers[60].layer == 60);
        QCOMPARE(deepseek.attention_shape(3).top_k, 2048);
        QCOMPARE(deepseek.indexer_shape(3).n_heads, 64);
        // Two matrices of a layer, a third one of its heads' weights, and the key's norm.
        const ModelSpec v3 = engine::parse_synthetic("synthetic:deepseek-v3").spec;
        QCOMPARE(deepseek.total_weights() - v3.total_weights(), 61 * (64 * 128 * 1536 + (128 + 64) * 7168 + 2 * 128));

        const ModelSpec glm = engine::parse_synthetic("synthetic:glm-5.2").spec;
        std::string own;
        for (std::int64_t l = 0; l < glm.n_layers(); ++l) {
            QCOMPARE(glm.attention_shape(l).top_k, 2048);
            own += glm.indexer_shape(l).n_heads > 0 ? 'F' : 'S';
        }
        QCOMPARE(own.substr(0, 12), std::string("FFFSSSFSSSFS"));
        QCOMPARE(std::ranges::count(own, 'F'), 21);
        QCOMPARE(engine::kv_layout_of(glm, offstage::kernels::KvType::kBf16).groups[1].shape.n_layers, 21);
    }

    // DeepSeek-V4-Flash: two layers have a window alone, of the others every second one
    // has keys that stand for 4 tokens, with an indexer, the rest keys for 128. What keys
    // are made of stays in float32 in any cache.
    void pooled_keys_have_groups_of_their_own() {
        const ModelSpec flash = engine::parse_synthetic("synthetic:deepseek-v4-flash").spec;
        QVERIFY(flash.attention_shape(0).window == 128 && flash.layers[0].pooled()->key_tokens == 0);
        QVERIFY(flash.layers[2].pooled()->key_tokens == 4 && flash.indexer_shape(2).n_heads == 64);
        QVERIFY(flash.layers[3].pooled()->key_tokens == 128 && flash.indexer_shape(3).n_heads == 0);
        QCOMPARE(flash.rope(0).theta, 10000.0);
        QCOMPARE(flash.rope(2).theta, 160000.0);
        QVERIFY(flash.layers[2].moe()->by_token && !flash.layers[3].moe()->by_token);
        for (const kernels::KvType type : {kernels::KvType::kF32, kernels::KvType::kBf16}) {
            const std::int64_t size = type == kernels::KvType::kF32 ? 4 : 2;
            const engine::KvLayout kv = engine::kv_layout_of(flash, type);
            QCOMPARE(kv.groups.size(), std::size_t{7});
            const auto group = [&](const engine::KvLayout::Place& place) { return kv.groups[place.group]; };
            QVERIFY(group(kv.layers[42]).window == 128 && kv.layers[42].layer == 42);
            QCOMPARE(group(kv.layers[42]).shape.token_bytes(), 43 * 512 * size);
            QCOMPARE(group(kv.pooled[2]).shape.token_bytes(), 21 * 512 * size / 4);
            QCOMPARE(group(kv.indexers[2]).shape.token_bytes(), 21 * 128 * size / 4);
            QCOMPARE(group(kv.pooled[3]).shape.block_bytes(), 20 * 512 * size);
            QVERIFY(group(kv.sources[2]).is_exact && group(kv.sources[2]).window == 8);
            QCOMPARE(group(kv.sources[2]).shape.token_bytes(), 21 * 2 * 2 * 512 * 4);
            QCOMPARE(group(kv.indexer_sources[2]).shape.token_bytes(), 21 * 2 * 2 * 128 * 4);
            QCOMPARE(group(kv.sources[3]).window, 128);
            QCOMPARE(group(kv.sources[3]).shape.token_bytes(), 20 * 2 * 512 * 4);
        }
    }

    void pooled_layers_are_read_or_refused_data() {
        QTest::addColumn<QByteArray>("keys");
        QTest::addColumn<QString>("expected");  // tokens of a key in each layer, or words of a message
        const auto row = [](const char* name, const char* keys, const char* expected) {
            QTest::newRow(name) << QByteArray(keys) << QString::fromLatin1(expected);
        };
        row("all kinds", R"("compress_ratios": [0, 4, 128, 0])", "0 4 128");
        row("too short", R"("compress_ratios": [0, 4])", "\"compress_ratios\"|a number for each of 3");
        row("none", R"("o_groups": 2)", "\"compress_ratios\"|a number for each of 3");
        row("another ratio", R"("compress_ratios": [0, 8, 128])", "\"compress_ratios\"|8|0, 4, 128");
        row("a word", R"("compress_ratios": [0, "4", 128])", "\"compress_ratios\"|\"4\"|0, 4, 128");
        row("groups", R"("compress_ratios": [0, 4, 128], "o_groups": 3)", "\"num_attention_heads\" is 4|3");
        row("odd rotation", R"("compress_ratios": [0, 4, 128], "qk_rope_head_dim": 7)", "\"qk_rope_head_dim\" is 7");
        row("small indexer", R"("compress_ratios": [0, 4, 128], "index_head_dim": 6)", "\"index_head_dim\" is 6|8");
        row("scoring", R"("scoring_func": "sigmoid", "compress_ratios": [0, 4, 128])", "\"scoring_func\"|sqrtsoftplus");
    }
    void pooled_layers_are_read_or_refused() {
        QFETCH(QByteArray, keys);
        QFETCH(QString, expected);
        const std::string config = (R"({"architectures": ["DeepseekV4ForCausalLM"], "hidden_size": 64,
            "num_hidden_layers": 3, "num_attention_heads": 4, "head_dim": 32, "max_position_embeddings": 64,
            "vocab_size": 10, )" + QByteArray(keys.contains("qk_rope") ? "" : R"("qk_rope_head_dim": 8, )") +
                                    QByteArray(keys.contains("o_groups") ? "" : R"("o_groups": 2, )") + keys + "}")
                                       .toStdString();
        const auto read = [&] { return engine::parse_model_spec(config, "config.json"); };
        if (expected.contains(QLatin1Char('|')) || expected.contains(QLatin1Char('"'))) {
            const auto error = error_of([&] { static_cast<void>(read()); });
            const bool unsupported =
                expected.contains(QStringLiteral("0, 4, 128")) || expected.contains(QStringLiteral("scoring"));
            QCOMPARE(mismatch(error, unsupported ? ErrorKind::kUnsupported : ErrorKind::kInvalidModel, expected), "");
            return;
        }
        QStringList tokens;
        for (const engine::LayerSpec& layer : read().layers) tokens << QString::number(layer.pooled()->key_tokens);
        QCOMPARE(tokens.join(QLatin1Char(' ')), expected);
    }

    // MiniMax-M3: three layers attend to all keys; each cached head of the others to 16
    // blocks of 128.
    void minimax_m3_chooses_blocks_for_each_cached_head() {
        const ModelSpec c = engine::parse_synthetic("synthetic:minimax-m3").spec;
        QVERIFY(c.attention_shape(2).top_k == 0 && c.indexer_shape(2).n_heads == 0 && c.layers[2].moe() == nullptr);
        const kernels::AttentionShape shape = c.attention_shape(3), indexer = c.indexer_shape(3);
        QVERIFY(shape.top_k == 2048 && shape.choice_block == 128 && shape.n_local_blocks == 1 && shape.n_choices == 4);
        QVERIFY(indexer.n_heads == 4 && indexer.key_dim == 128 && indexer.rotary_dim == 64 && indexer.n_choices == 4);
        QCOMPARE(shape.n_chosen(2049), 1921);  // 15 blocks, and the one key of the last
        QCOMPARE(shape.n_chosen(2048 + 128), 2048);
        const engine::KvLayout kv = engine::kv_layout_of(c, offstage::kernels::KvType::kBf16);
        QCOMPARE(kv.groups.size(), std::size_t{2});
        QCOMPARE(kv.groups[0].shape.token_bytes(), 60 * 4 * 2 * 128 * 2);
        QCOMPARE(kv.groups[1].shape.token_bytes(), 57 * 128 * 2);
        const auto error = error_of([] {
            engine::parse_model_spec(R"({"architectures": ["MiniMaxM3VLForCausalLM"], "hidden_size": 64,
                "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
                "max_position_embeddings": 64, "vocab_size": 10, "sparse_attention_config":
                {"sparse_num_index_heads": 4}})",
                                     "config.json");
        });
        QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, "\"index_n_heads\"|\"num_key_value_heads\""), "");
    }

    void indexers_are_read_or_refused_data() {
        QTest::addColumn<QByteArray>("keys");
        QTest::addColumn<QString>("expected");  // which layers have one, or words of a message
        const auto row = [](const char* name, const char* keys, const char* expected) {
            QTest::newRow(name) << QByteArray(keys) << QString::fromLatin1(expected);
        };
        row("every layer", "", "FFFF");
        row("listed", R"(, "indexer_types": ["full", "full", "shared", "shared"])", "FFSS");
        row("list before pattern",
            R"(, "indexer_types": ["full", "shared", "full", "full"], "index_topk_pattern": "FFFS")", "FSFF");
        row("pattern", R"(, "index_topk_pattern": "FSSF")", "FSSF");
        row("every second", R"(, "index_topk_freq": 2, "index_skip_topk_offset": 2)", "FFSF");
        row("none in the first", R"(, "indexer_types": ["shared", "full", "full", "full"])",
            "\"indexer_types\"|an indexer of its own in the first layer");
        row("another word", R"(, "indexer_types": ["full", "full", "full", "some"])", "\"indexer_types\"|\"some\"");
        row("short pattern", R"(, "index_topk_pattern": "FSS")",
            "\"index_topk_pattern\"|a letter F or S for each of 4");
        row("another letter", R"(, "index_topk_pattern": "FSSX")", "\"index_topk_pattern\"|a letter F or S");
        row("no rank", R"(, "q_lora_rank": null)", "\"q_lora_rank\"|a rank");
        row("small heads", R"(, "index_head_dim": 6)", "\"index_head_dim\" is 6|\"qk_rope_head_dim\" (8)");
        row("nothing chosen", R"(, "index_topk": 0)", "\"index_topk\" is 0");
    }
    void indexers_are_read_or_refused() {
        QFETCH(QByteArray, keys);
        QFETCH(QString, expected);
        const std::string config = (R"({"architectures": ["GlmMoeDsaForCausalLM"], "hidden_size": 64,
            "num_hidden_layers": 4, "num_attention_heads": 4, "qk_rope_head_dim": 8, "max_position_embeddings": 64,
            "vocab_size": 10, "intermediate_size": 64)" +
                                    keys + "}")
                                       .toStdString();
        const auto read = [&] { return engine::parse_model_spec(config, "config.json"); };
        if (expected.contains(QLatin1Char('|')) || expected.contains(QLatin1Char('"'))) {
            QCOMPARE(mismatch(error_of([&] { static_cast<void>(read()); }), ErrorKind::kInvalidModel, expected), "");
            return;
        }
        const ModelSpec spec = read();
        QString own;
        for (std::int64_t l = 0; l < 4; ++l) {
            QCOMPARE(spec.attention_shape(l).top_k, 2048);
            own += QLatin1Char(spec.indexer_shape(l).n_heads > 0 ? 'F' : 'S');
        }
        QCOMPARE(own, expected);
    }

    void nemotron_variants_are_refused_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<bool>("unsupported");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* key, bool unsupported, const char* words) {
            QTest::newRow(name) << QByteArray(key) << unsupported << QString::fromLatin1(words);
        };
        row("latent", R"("hybrid_override_pattern": "M*E", "moe_latent_size": 1024)", false,
            R"("moe_latent_size" is 1024|64)");
        row("activation", R"("hybrid_override_pattern": "M*E", "mlp_hidden_act": "silu")", true,
            R"("mlp_hidden_act" is "silu"|"relu2")");
        row("biases", R"("hybrid_override_pattern": "M*E", "mlp_bias": true)", true, R"("mlp_bias" is true)");
        row("unknown letter", R"("hybrid_override_pattern": "M*EX")", false, "M, *, E and -");
        row("unknown word", R"("layers_block_type": ["mamba", "attention", "moe", "rnn"])", false, "M, *, E and -");
        row("no layer", R"("layers_block_type": [])", false, "M, *, E and -");
        row("no attention", R"("hybrid_override_pattern": "ME")", false, "full_attention");
        row("no experts", R"("hybrid_override_pattern": "M*-")", true, "no layer has experts");
    }
    void nemotron_variants_are_refused() {
        QFETCH(QByteArray, key);
        QFETCH(bool, unsupported);
        QFETCH(QString, words);
        const QByteArray config = R"({"architectures": ["NemotronHForCausalLM"], "hidden_size": 64, "head_dim": 16,
            "num_attention_heads": 4, "num_key_value_heads": 2, "mamba_num_heads": 8, "mamba_head_dim": 16,
            "n_groups": 2, "max_position_embeddings": 64, "vocab_size": 10, )" +
                                  key + "}";
        const auto error = error_of([&] { engine::parse_model_spec(config.toStdString(), "config.json"); });
        QCOMPARE(mismatch(error, unsupported ? ErrorKind::kUnsupported : ErrorKind::kInvalidModel, words), "");
    }

    void gemma4_variants_without_experts_are_unsupported_data() {
        QTest::addColumn<QByteArray>("key");
        QTest::addColumn<QString>("words");
        QTest::newRow("embedding per layer") << QByteArray(R"("hidden_size_per_layer_input": 256)")
                                             << R"("hidden_size_per_layer_input" is an embedding for each layer|0)";
        QTest::newRow("absent means one") << QByteArray(R"("num_kv_shared_layers": 0)")
                                          << R"("hidden_size_per_layer_input" is an embedding for each layer|0)";
        QTest::newRow("shared keys") << QByteArray(R"("hidden_size_per_layer_input": 0, "num_kv_shared_layers": 1)")
                                     << R"("num_kv_shared_layers" is keys and values that layers share|0)";
        QTest::newRow("both ways") << QByteArray(R"("hidden_size_per_layer_input": null,
            "use_bidirectional_attention": "all")")
                                   << R"("use_bidirectional_attention" is "all"|null or "vision")";
        QTest::newRow("activation") << QByteArray(R"("hidden_size_per_layer_input": 0, "hidden_activation": "relu")")
                                    << R"("hidden_activation" is "relu"|"gelu_pytorch_tanh")";
        QTest::newRow("scaled positions") << QByteArray(R"("hidden_size_per_layer_input": 0,
            "rope_scaling": {"type": "linear", "factor": 8})")
                                          << R"("rope_scaling" is an object|expected null)";
        QTest::newRow("dense") << QByteArray(R"("hidden_size_per_layer_input": 0, "head_dim": 16)")
                               << R"(no layer has experts|expected a Mixture-of-Experts model)";
    }
    void gemma4_variants_without_experts_are_unsupported() {
        QFETCH(QByteArray, key);
        QFETCH(QString, words);
        const QByteArray config = R"({"architectures": ["Gemma4ForCausalLM"], "hidden_size": 64,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 16,
            "max_position_embeddings": 64, "vocab_size": 10, )" +
                                  key + "}";
        const auto error = error_of([&] { offstage::engine::parse_model_spec(config.toStdString(), "config.json"); });
        QCOMPARE(mismatch(error, ErrorKind::kUnsupported, words), "");
    }

    // Without rope_scaling gpt-oss has YaRN; windows follow layer_types if it is given.
    void absent_keys_of_a_family_mean_what_transformers_takes() {
        const std::string sizes = R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 4, "max_position_embeddings": 64, "vocab_size": 10})";
        const auto window = [](const ModelSpec& spec, std::size_t l) {
            return std::get<offstage::engine::GroupedQuerySpec>(spec.layers[l].attention).window;
        };
        const std::string gpt_oss = R"({"architectures": ["GptOssForCausalLM"], "head_dim": 16, )";
        const ModelSpec plain = offstage::engine::parse_model_spec(gpt_oss + sizes, "config.json");
        QCOMPARE(plain.rope().frequency_scale.size(), std::size_t{8});
        QCOMPARE(plain.rope().amplitude, offstage::engine::yarn_mscale(32, 1));
        QCOMPARE(window(plain, 0), 128);
        QCOMPARE(window(plain, 1), 0);
        const std::string qwen = R"({"architectures": ["Qwen2MoeForCausalLM"], "use_sliding_window": true,
            "sliding_window": 32, )";
        QCOMPARE(window(offstage::engine::parse_model_spec(qwen + sizes, "config.json"), 0), 32);
        const ModelSpec named = offstage::engine::parse_model_spec(
            qwen + R"("layer_types": ["full_attention", "sliding_attention"], )" + sizes, "config.json");
        QCOMPARE(window(named, 0), 0);
        QCOMPARE(window(named, 1), 32);
    }

    void model_type_of_another_family_is_unsupported() {
        const auto error = error_of([] { parse({{"architectures", ""}, {"model_type", R"("llama")"}}); });
        QCOMPARE(
            mismatch(error, ErrorKind::kUnsupported, "config.json: |\"llama\" is not supported|mixtral, qwen2_moe"),
            "");
    }

    void product_beyond_64_bits_is_rejected() {
        Keys keys = {{"vocab_size", "16777216"},  {"hidden_size", "1048576"},    {"intermediate_size", "16777216"},
                     {"num_hidden_layers", "64"}, {"num_local_experts", "2048"}, {"num_experts_per_tok", "1"},
                     {"head_dim", "64"}};
        QCOMPARE(mismatch(error_of([&] { parse(keys); }), ErrorKind::kInvalidModel,
                          "config.json: |\"hidden_size\"|\"intermediate_size\"|more than 2^60 weights|expected"),
                 "");
        // Just below: no byte count overflows.
        keys = changed(keys, {{"num_hidden_layers", "8"}});
        const ModelSpec config = parse(keys);
        QVERIFY(config.total_weights() > (1LL << 59));
        QVERIFY(config.total_weights() <= INT64_MAX / 4);
    }

    // ------------------------------------------------------------ bad JSON

    void text_is_rejected_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const QByteArray& text, const char* words) {
            QTest::newRow(name) << text << QString(words);
        };
        const QByteArray good = json_of(kSmall);
        row("empty", "", "not valid JSON at byte|expected JSON in UTF-8");
        row("cut", good.left(good.size() - 1), "not valid JSON at byte");
        row("more behind it", good + "x", "not valid JSON at byte");
        row("NUL and more behind it", good + QByteArray("\0x", 2), "a NUL byte at byte");
        row("a comment", good + "// 1", "not valid JSON at byte");
        row("not UTF-8", "{\"\xc3\x28\":1}", "not valid JSON at byte|UTF-8");
        row("UTF-16", QByteArray("\xff\xfe{\0}\0", 6), "NUL byte");
        row("Latin-1", "{\"caf\xe9\":1}", "not valid JSON at byte");
        row("NaN", R"({"rms_norm_eps": NaN})", "not valid JSON at byte");
        row("Infinity", R"({"rms_norm_eps": Infinity})", "not valid JSON at byte");
        row("1e999", R"({"rms_norm_eps": 1e999})", "number out of range|expected");
        row("a list", "[]", "the file is a list of 0|expected a JSON object");
        row("a number", "3", "the file is 3|expected a JSON object");
        row("key twice", R"({"a": {"b": 1, "c": {"b": 2}, "b": 3}})", "\"b\" appears twice|expected each key once");
        row("key twice, once escaped", R"({"vocab_size": 1, "vocab\u005fsize": 2})", "\"vocab_size\" appears twice");
        row("lists too deep", QByteArray(65, '[') + QByteArray(65, ']'), "nested deeper than 64 levels");
        row("objects too deep", QByteArray("{\"a\":").repeated(64) + "{}" + QByteArray(64, '}'),
            "nested deeper than 64 levels");
        row("a million levels", QByteArray(1'000'000, '['), "nested deeper than 64 levels");
    }
    void text_is_rejected() {
        QFETCH(QByteArray, text);
        QFETCH(QString, words);
        const auto error = error_of([&] { engine::parse_model_spec(text.toStdString(), "config.json"); });
        QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, "config.json: |" + words), "");
    }

    void integers_are_never_wrapped() {
        const auto document = engine::parse_json(R"({"a": 18446744073709551615, "b": -9223372036854775808})", "x.json");
        const std::string source = "x.json";
        const engine::JsonFields fields(document, source);
        QCOMPARE(fields.integer("b", INT64_MIN, INT64_MAX), INT64_MIN);
        QCOMPARE(mismatch(error_of([&] { fields.integer("a", INT64_MIN, INT64_MAX); }), ErrorKind::kInvalidModel,
                          "x.json: \"a\" is 18446744073709551615|expected an integer from"),
                 "");
    }

    void limits_of_a_document_are_exact() {
        // Counted: the list, its end, and three numbers.
        const auto parse_with = [](std::size_t max_values) {
            return error_of(
                [&] { engine::parse_json("[1, 2, 3]", "x.json", {.max_depth = 1, .max_values = max_values}); });
        };
        QVERIFY(!parse_with(5));
        QCOMPARE(mismatch(parse_with(4), ErrorKind::kInvalidModel, "x.json: |more than 4 JSON values|expected fewer"),
                 "");
    }

    void nesting_within_the_limit_and_keys_of_other_objects_are_fine() {
        const QByteArray deep = QByteArray(63, '[') + QByteArray(63, ']');
        QCOMPARE(parse({{"extra", deep}, {"other", R"([{"vocab_size": 1}, {"vocab_size": 2}])"}}).vocab_size, 100);
    }

    // ------------------------------------------------------------ folders

    void folder_is_read_with_its_generation_config_data() {
        QTest::addColumn<QByteArray>("generation");
        QTest::addColumn<QByteArray>("eos");
        QTest::newRow("one") << QByteArray(R"({"eos_token_id": 9})") << QByteArray("2,4,9");
        QTest::newRow("list") << QByteArray(R"({"eos_token_id": [4, 9, 8, 2], "temperature": 0.6})")
                              << QByteArray("2,4,9,8");
        QTest::newRow("the same") << QByteArray(R"({"eos_token_id": 4})") << QByteArray("2,4");
        QTest::newRow("null") << QByteArray(R"({"eos_token_id": null})") << QByteArray("2,4");
        QTest::newRow("absent") << QByteArray("{}") << QByteArray("2,4");
        QTest::newRow("no file") << QByteArray() << QByteArray("2,4");
    }
    void folder_is_read_with_its_generation_config() {
        QFETCH(QByteArray, generation);
        QFETCH(QByteArray, eos);
        QVERIFY(write_file(path("config.json"), json_of(changed(kSmall, {{"eos_token_id", "[2, 4]"}}))));
        if (!generation.isEmpty()) QVERIFY(write_file(path("generation_config.json"), generation));
        const ModelSpec config = engine::read_model_spec(dir_.path().toStdString());
        QCOMPARE(config.hidden_dim, 16);
        QByteArrayList tokens;
        for (const TokenId token : config.eos_tokens) tokens.append(QByteArray::number(token));
        QCOMPARE(tokens.join(","), eos);
    }

    void generation_config_is_rejected_data() {
        QTest::addColumn<QByteArray>("generation");
        QTest::addColumn<QString>("words");
        QTest::newRow("not JSON") << QByteArray("{") << "not valid JSON";
        QTest::newRow("a list") << QByteArray("[]") << "expected a JSON object";
        QTest::newRow("outside the vocabulary")
            << QByteArray(R"({"eos_token_id": 100})") << "\"eos_token_id\" is 100|expected a token id from 0 to 99";
        QTest::newRow("a text") << QByteArray(R"({"eos_token_id": "</s>"})") << "\"eos_token_id\" is \"</s>\"|expected";
    }
    void generation_config_is_rejected() {
        QFETCH(QByteArray, generation);
        QFETCH(QString, words);
        QVERIFY(write_file(path("config.json"), json_of(kSmall)));
        QVERIFY(write_file(path("generation_config.json"), generation));
        QCOMPARE(mismatch(read_error(""), ErrorKind::kInvalidModel, path("generation_config.json") + ": |" + words),
                 "");
    }

    void folder_is_rejected_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<ErrorKind>("kind");
        QTest::addColumn<QString>("words");
        const QString expected = "|expected |config.json|model.safetensors or model.safetensors.index.json";
        QTest::newRow("nothing there") << "none" << ErrorKind::kNotFound << "none: no such folder" + expected;
        QTest::newRow("below a file") << "file/x" << ErrorKind::kNotFound << "file/x: ";
        QTest::newRow("empty") << "empty" << ErrorKind::kNotFound << "empty: config.json is missing" + expected;
        QTest::newRow("another format") << "bin" << ErrorKind::kNotFound
                                        << "config.json is missing|\"m.bin\"|does not read" + expected;
        QTest::newRow("a file") << "file" << ErrorKind::kInvalidInput << "file: is a file" + expected;
        QTest::newRow("config a folder") << "folders" << ErrorKind::kInvalidModel
                                         << "folders/config.json: is a folder|expected a file";
        QTest::newRow("config a pipe") << "pipes" << ErrorKind::kInvalidModel
                                       << "pipes/config.json: is not a regular file|expected a file";
        QTest::newRow("config a link to nowhere")
            << "links" << ErrorKind::kNotFound << "links/config.json: is a link to|nowhere, which is missing";
        QTest::newRow("config too large")
            << "large" << ErrorKind::kInvalidModel << "large/config.json: has 16777217 bytes|expected at most 4194304";
        QTest::newRow("config broken") << "broken" << ErrorKind::kInvalidModel << "broken/config.json: not valid JSON";
    }
    void folder_is_rejected() {
        QFETCH(QString, name);
        QFETCH(ErrorKind, kind);
        QFETCH(QString, words);
        QVERIFY(write_file(path("file"), "{}"));
        for (const char* folder : {"empty", "bin", "folders/config.json", "pipes", "links", "large", "broken"}) {
            QVERIFY(QDir(dir_.path()).mkpath(folder));
        }
        QVERIFY(write_file(path("bin/m.bin"), "PK"));
        QCOMPARE(::mkfifo(path("pipes/config.json").toLocal8Bit().constData(), 0600), 0);
        QVERIFY(QFile::link(path("nowhere"), path("links/config.json")));
        QVERIFY(write_file(path("large/config.json"), json_of(kSmall)));
        QVERIFY(QFile::resize(path("large/config.json"), 16777217));
        QVERIFY(write_file(path("broken/config.json"), "{"));
        QCOMPARE(mismatch(read_error(name), kind, words), "");
    }

    void unreadable_config_is_an_error() {
        if (::geteuid() == 0) QSKIP("root may read every file");
        QVERIFY(write_file(path("config.json"), json_of(kSmall)));
        QVERIFY(QFile::setPermissions(path("config.json"), QFileDevice::WriteOwner));
        QCOMPARE(mismatch(read_error(""), ErrorKind::kNotFound, "config.json: cannot be opened"), "");
    }

    // -------------------------------------------------- stored inputs of the fuzz target

    void stored_input_gives_a_config_or_an_error_data() {
        QTest::addColumn<QString>("file");
        const QDir folder(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/model_config");
        const QStringList names = folder.entryList(QDir::Files);
        QVERIFY2(!names.isEmpty(), qPrintable(folder.path()));
        for (const QString& name : names) QTest::newRow(qPrintable(name)) << folder.filePath(name);
    }
    void stored_input_gives_a_config_or_an_error() {
        QFETCH(QString, file);
        QFile input(file);
        QVERIFY(input.open(QIODevice::ReadOnly));
        QCOMPARE(tests::check_model_config(input.readAll().toStdString()), "");
    }
};

QTEST_GUILESS_MAIN(TestModelConfig)
#include "tst_model_config.moc"
