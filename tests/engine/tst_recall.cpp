// Recall: counted by hand, against a replay of the same cache, and measured on models.

#include <random>

#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/cache_replay.h"
#include "engine/eval/recall.h"
#include "engine/eval/text_sequences.h"
#include "engine/run/routing_probe.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

std::unique_ptr<LoadedModel> open(const std::string& path, LoadedModel::Text text) {
    LoadRequest request;
    request.model = path;
    request.compute = ComputeMode::kF32;
    request.n_threads = 1;  // tests run side by side, and threads would wait for each other
    request.learn_placement = false;
    return std::make_unique<LoadedModel>(request, text, LoadProgressFn{}, std::stop_token{});
}

RoutingTrace randomTrace() {
    std::mt19937 random(11);
    RoutingTrace trace;
    trace.header = {"m", 3, 6, 2, {}, 0};
    for (std::int64_t t = 0; t < 400; ++t) {
        trace.tokens.push_back({t, t, TokenKind::kDecode});
        for (int layer = 0; layer < 3; ++layer) {
            const auto first = static_cast<std::int32_t>(random() % 3 + random() % 2);
            trace.experts.push_back(first);
            trace.experts.push_back((first + 1 + static_cast<std::int32_t>(random() % 4)) % 6);
        }
    }
    return trace;
}

constexpr int kDeepLayers = 13;

// A Mixtral of 13 layers in which only the experts of layer 1 add to the embedded token:
// the gates of layers 0 and 1 see one input, those of all other layers another one.
void writeDeepModel(const QString& folder) {
    constexpr int kHidden = 32, kFfn = 32, kExperts = 8, kVocab = 48;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    offstage::tests::SafetensorsWriter tensors;
    const auto add = [&](const QByteArray& name, int rows, int columns, float spread) {
        std::vector<float> values(static_cast<std::size_t>(rows * columns));
        for (float& value : values) value = spread * normal(random);
        tensors.add(name, "F32", "[" + QByteArray::number(rows) + "," + QByteArray::number(columns) + "]", values);
    };
    const auto add_norm = [&](const QByteArray& name) {
        tensors.add(name, "F32", "[" + QByteArray::number(kHidden) + "]", std::vector<float>(kHidden, 1.0f));
    };
    add("model.embed_tokens.weight", kVocab, kHidden, 1);
    add("lm_head.weight", kVocab, kHidden, 1);
    add_norm("model.norm.weight");
    for (int layer = 0; layer < kDeepLayers; ++layer) {
        const QByteArray name = "model.layers." + QByteArray::number(layer) + ".";
        add_norm(name + "input_layernorm.weight");
        add_norm(name + "post_attention_layernorm.weight");
        for (const char* part : {"q", "k", "v", "o"})
            add(name + "self_attn." + part + "_proj.weight", kHidden, kHidden, *part == 'o' ? 0.0f : 1.0f);
        add(name + "block_sparse_moe.gate.weight", kExperts, kHidden, 1);
        for (int expert = 0; expert < kExperts; ++expert) {
            const QByteArray begin = name + "block_sparse_moe.experts." + QByteArray::number(expert) + ".";
            add(begin + "w1.weight", kFfn, kHidden, 1);
            add(begin + "w2.weight", kHidden, kFfn, layer == 1 ? 10.0f : 0.0f);
            add(begin + "w3.weight", kFfn, kHidden, 1);
        }
    }
    QVERIFY(offstage::tests::write_file(folder + QStringLiteral("/model.safetensors"), tensors.file()));
    QVERIFY(offstage::tests::write_file(
        folder + QStringLiteral("/config.json"),
        R"({"architectures":["MixtralForCausalLM"],"model_type":"mixtral","hidden_size":32,"intermediate_size":32,)"
        R"("num_hidden_layers":13,"num_attention_heads":2,"num_key_value_heads":2,"num_local_experts":8,)"
        R"("num_experts_per_tok":2,"rope_theta":10000.0,"rms_norm_eps":1e-5,"max_position_embeddings":64,)"
        R"("vocab_size":48,"hidden_act":"silu","tie_word_embeddings":false,"torch_dtype":"float32"})"));
}

}  // namespace

class TestRecall : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void recall_isThatCountedByHand() {
        RoutingTrace trace;
        trace.header = {"m", 2, 3, 1, {1}, 2};
        trace.tokens = {{0, 0, TokenKind::kDecode},
                        {1, 1, TokenKind::kDecode},
                        {2, 2, TokenKind::kDecode},
                        {3, 3, TokenKind::kDecode}};
        trace.experts = {1, 2, /**/ 1, 2, /**/ 0, 0, /**/ 1, 2};
        trace.guesses = {-1, -1, 2, 0, /**/ -1, -1, 0, 2, /**/ -1, -1, 1, 2, /**/ -1, -1, 2, 1};
        const RecallReport report = measure_recall(trace);
        QCOMPARE(report.n_tokens, 4);
        // Layer 0: 1 was second of 0 1 2, then first; 0 was second; 1 was second. Layer
        // 1: third, first, second, second.
        const std::vector<double> lru = {0.25, 1, 1, 0.25, 0.75, 1}, mean = {0.25, 0.875, 1};
        QCOMPARE(report.lru, lru);
        QCOMPARE(report.lru_mean, mean);
        QCOMPARE(report.ahead.size(), std::size_t{2});
        QCOMPARE(report.ahead[0].n_guesses, 1);
        const std::vector<double> one = {-1, 0.5}, two = {-1, 0.75};
        QCOMPARE(report.ahead[0].layers, one);
        QCOMPARE(report.ahead[1].layers, two);
        QCOMPARE(report.ahead[1].mean, 0.75);
    }

    void lru_isWhatAReplayOfLruLayerHits() {
        const RoutingTrace trace = randomTrace();
        const RecallReport report = measure_recall(trace);
        const Popularity unknown = Popularity::uniform(3, 6, 2);
        for (std::int64_t k = 2; k <= 6; ++k) {
            const auto policy = make_cache_policy(CacheKind::kLruLayer, unknown);
            // The recall's caches begin with 0 as the most recent: the policy gets that
            // before the trace begins.
            policy->begin_step();
            for (std::int32_t e = 5; e >= 0; --e) {
                for (std::int32_t layer = 0; layer < 3; ++layer) policy->used({layer, e}, 1);
            }
            const ReplayResult r = replay(cache_calls(trace), *policy, 3 * k, initial_residents(3 * k, true, unknown));
            for (std::size_t layer = 0; layer < 3; ++layer) {
                QCOMPARE(r.layers[layer].rate(), report.lru[layer * 6 + static_cast<std::size_t>(k) - 1]);
            }
        }
    }

    // The probe changes nothing, guesses the same for any steps, and leaves layers open
    // that it cannot guess.
    void probe_onlyLooks() {
        const auto model = open(tinyModel(QStringLiteral("grouped_f32")), LoadedModel::Text::kNotNeeded);
        const ExpertGrid& grid = model->spec().experts;
        std::vector<TokenId> tokens;
        for (int i = 0; i < 20; ++i) tokens.push_back(static_cast<TokenId>(3 + i * 7 % 45));
        const std::vector<std::int64_t> distances = {1, 1000};
        const std::vector<std::vector<TokenId>> whole = {tokens};
        const RoutingTrace trace = record_routing(*model, whole, distances, {}, {});
        QVERIFY(grid.n_layers > 1);
        QCOMPARE(trace.header.distances, std::vector<std::int64_t>{1});
        QCOMPARE(trace.tokens.size(), tokens.size());
        QCOMPARE(trace.guesses.size(), tokens.size() * trace.header.guesses_per_token());

        KvSequence sequence = model->new_sequence();
        const Segment all{&sequence, tokens};
        QCOMPARE(model->forward().step({&all, 1}, Forward::Logits::kNone, {}), Forward::Outcome::kDone);
        QVERIFY(std::equal(trace.experts.begin(), trace.experts.end(), model->forward().routing().begin()));

        RoutingProbe probe(model->spec(), model->device(), {1}, trace.header.n_guesses, 1);
        model->forward().set_probe(&probe);
        KvSequence one_by_one = model->new_sequence();
        std::vector<std::int32_t> guesses;
        for (const TokenId& token : tokens) {
            const Segment segment{&one_by_one, {&token, 1}};
            QCOMPARE(model->forward().step({&segment, 1}, Forward::Logits::kNone, {}), Forward::Outcome::kDone);
            guesses.insert(guesses.end(), probe.guesses().begin(), probe.guesses().end());
        }
        model->forward().set_probe(nullptr);
        QCOMPARE(guesses, trace.guesses);
        const auto n = static_cast<std::size_t>(trace.header.n_guesses);
        for (std::size_t i = 0; i < guesses.size(); ++i) {
            const std::size_t layer = i % trace.header.guesses_per_token() / n;
            QCOMPARE(guesses[i] == -1, layer == 0);
        }
    }

    // The paper's 1, 2 and 10 layers ahead. Guesses before layer 2 for it or a later
    // layer use another input; all others use the input that the gate gets.
    void distances_areLayersBetweenGuessAndGate() {
        QTemporaryDir folder;
        writeDeepModel(folder.path());
        const auto model = open(folder.path().toStdString(), LoadedModel::Text::kNotNeeded);
        std::vector<std::vector<TokenId>> sequences(1);
        for (int i = 0; i < 48; ++i) sequences[0].push_back(static_cast<TokenId>(i));
        const std::vector<std::int64_t> distances = {1, 2, 10, 13};
        const RecallReport report = measure_recall(record_routing(*model, sequences, distances, {}, {}));
        QCOMPARE(report.ahead.size(), std::size_t{3 * 2});  // the model has no 13 layers ahead
        for (const RecallReport::Ahead& ahead : report.ahead) {
            QCOMPARE(ahead.distance, distances[static_cast<std::size_t>(&ahead - report.ahead.data()) / 2]);
            double sum = 0;
            for (int layer = 0; layer < kDeepLayers; ++layer) {
                const double recall = ahead.layers[static_cast<std::size_t>(layer)];
                const auto from = static_cast<int>(layer - ahead.distance);
                if (from < 0) {
                    QCOMPARE(recall, -1.0);
                    continue;
                }
                sum += recall;
                if (from >= 2 || layer < 2) {
                    QCOMPARE(recall, 1.0);
                } else {  // chance: 2 or 3 of 8
                    QVERIFY2(recall > 0.05 && recall < 0.7, qPrintable(QStringLiteral("%1").arg(recall)));
                }
            }
            QVERIFY(std::abs(ahead.mean - sum / static_cast<double>(kDeepLayers - ahead.distance)) < 1e-12);
        }
        const QString text = QString::fromStdString(to_text(report));
        QVERIFY2(text.contains(QStringLiteral("ahead      1      1      2      2     10     10\n"
                                              "guesses      2      3      2      3      2      3\n")),
                 qPrintable(text));
    }

    // A trained model's layers add to their input, so the next layer's gate is guessed
    // far better than by chance.
    void demoModel_isGuessedWell_fromConversations() {
        const auto model = open(demoModel(), LoadedModel::Text::kWanted);
        const std::string lines =
            R"({"messages":[{"role":"user","content":"What is 2 + 2?"},{"role":"assistant","content":"2 + 2 = 4."}]})"
            "\n\n"
            R"({"messages":[{"role":"user","content":"Tell me a story about a fox."}]})";
        const auto sequences = conversation_sequences(*model, lines, "talk.jsonl");
        QCOMPARE(sequences.size(), std::size_t{2});
        QVERIFY(sequences[0].size() > 15 && sequences[0].front() == model->tokenizer()->bos());
        const std::vector<std::int64_t> distances = {1, 2};
        std::int64_t done = 0;
        const RoutingTrace trace = record_routing(*model, sequences, distances, [&](std::int64_t n) { done = n; }, {});
        QCOMPARE(done, static_cast<std::int64_t>(sequences[0].size() + sequences[1].size()));
        const RecallReport report = measure_recall(trace);
        QCOMPARE(report.ahead.size(), std::size_t{4});
        QVERIFY2(report.ahead[0].mean > 0.6, qPrintable(QString::number(report.ahead[0].mean)));  // chance: 0.25
        QVERIFY(report.ahead[1].mean > report.ahead[0].mean);
        QVERIFY(report.ahead[2].mean < report.ahead[0].mean);
        QCOMPARE(report.lru_mean.back(), 1.0);
        QVERIFY(std::is_sorted(report.lru_mean.begin(), report.lru_mean.end()));
        QCOMPARE(to_json(report)["lru"]["layers"].size(), std::size_t{8});
        QVERIFY(to_json(report)["ahead"][0]["layers"][0].is_null());
        QVERIFY(QString::fromStdString(to_text(report)).contains(QStringLiteral("Recall of the experts guessed")));
    }

    void textsThatCannotBeMeasured_areRefused() {
        const auto model = open(demoModel(), LoadedModel::Text::kWanted);
        const auto says = [&](const std::string& lines) {
            try {
                conversation_sequences(*model, lines, "talk.jsonl");
            } catch (const Error& error) {
                return QString::fromUtf8(error.what());
            }
            return QString();
        };
        QVERIFY(says("{\"messages\":[]}").startsWith(QStringLiteral("talk.jsonl, line 1: \"messages\"")));
        QVERIFY(says("\n{\"messages\":[{\"role\":\"judge\",\"content\":\"x\"}]}").contains(QStringLiteral("line 2")));
        QVERIFY(says("Once upon a time").startsWith(QStringLiteral("talk.jsonl, line 1")));
        QVERIFY(says("").contains(QStringLiteral("no token")));
        QVERIFY_EXCEPTION_THROWN(text_sequences(*model, ""), Error);
        QVERIFY_EXCEPTION_THROWN(text_sequences(*model, "good\xff"), Error);
        QCOMPARE(text_sequences(*model, "Once upon a time").size(), std::size_t{1});
    }

    void picture_isWellFormed() {
        RecallReport report = measure_recall(randomTrace());
        report.model = "<mixture> & \"experts\"\xff";
        report.ahead.push_back({1, 2, {-1, 0.8, 0.9}, 0.85});
        report.ahead.push_back({1, 3, {-1, 0.9, 1.0}, 0.95});
        QXmlStreamReader xml(QByteArray::fromStdString(to_svg(report)));
        int lines = 0, points = 0;
        QString texts;
        while (!xml.atEnd()) {
            if (xml.readNext() != QXmlStreamReader::StartElement) continue;
            if (xml.name() == QStringLiteral("polyline")) {
                ++lines;
                points += static_cast<int>(xml.attributes().value(QStringLiteral("points")).split(u' ').size());
            }
            if (xml.name() == QStringLiteral("text")) texts += xml.readElementText() + u'\n';
        }
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QCOMPARE(lines, 3 + 1 + 2);
        QCOMPARE(points, 4 * 6 + 2 * 2);
        QVERIFY(texts.contains(QStringLiteral("<mixture> & \"experts\"\uFFFD: 400 tokens")));
        QVERIFY(texts.contains(QStringLiteral("1 layer ahead, 3 guesses: mean 95.0 %")));
        QVERIFY(texts.contains(QStringLiteral("100 %")));
    }
};

QTEST_GUILESS_MAIN(TestRecall)
#include "tst_recall.moc"
