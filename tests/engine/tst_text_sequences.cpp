// Texts before which a tokenizer puts several tokens, as GLM-4.5's does: in raw prompts,
// in the windows that evaluations cut, and in what perplexity scores.

#include <QFile>
#include <QtTest>

#include "engine/eval/expert_profile.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/logits.h"
#include "engine/eval/perplexity.h"
#include "engine/eval/text_sequences.h"
#include "engine/run/model_text.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

using Ids = std::vector<TokenId>;

// [gMASK] 20, <sop> 21 before a text, <end> 22 after it; letters and their pairs.
const QByteArray kTokenizer = R"({
  "added_tokens": [{"id": 20, "content": "[gMASK]", "special": true}, {"id": 21, "content": "<sop>", "special": true},
                   {"id": 22, "content": "<end>", "special": true}],
  "normalizer": null, "decoder": {"type": "ByteLevel"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[gMASK]", "type_id": 0}}, {"SpecialToken": {"id": "<sop>", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<end>", "type_id": 0}}]}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "z5": 5, "z6": 6, "z7": 7, "z8": 8,
    "z9": 9, "z10": 10, "z11": 11, "z12": 12, "z13": 13, "z14": 14, "z15": 15, "z16": 16, "z17": 17, "z18": 18,
    "z19": 19}, "merges": ["a b", "ab c"]}})";

}  // namespace

class TestTextSequences : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::unique_ptr<LoadedModel> m_model;

  private Q_SLOTS:
    void initTestCase() {
        const QString tiny = QString::fromStdString(tinyModel(QStringLiteral("grouped_f32")));
        for (const QString& name : {QStringLiteral("/config.json"), QStringLiteral("/model.safetensors")})
            QVERIFY(QFile::copy(tiny + name, m_folder.path() + name));
        QVERIFY(offstage::tests::write_file(m_folder.filePath(QStringLiteral("tokenizer.json")), kTokenizer));
        QVERIFY(offstage::tests::write_file(
            m_folder.filePath(QStringLiteral("chat_template.jinja")),
            "{% for m in messages %}{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<sop>{% endif %}"));
        LoadRequest request;
        request.model = m_folder.path().toStdString();
        request.compute = ComputeMode::kF32;
        request.kv = KvType::kF32;  // windows are read at once, the references one by one
        request.n_threads = 1;      // tests run side by side, and threads would wait for each other
        request.context = 8;
        request.learn_placement = false;
        m_model =
            std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, LoadProgressFn{}, std::stop_token{});
    }

    void rawPrompt_isWithinTheTemplate() {
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = "abcab";
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{20, 21, 4, 3, 22}));
        request.raw_tokens = 3;
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{20, 21, 4}));
    }

    void rawPrompt_hasSpecialTokens_whereTheyCount() {
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = "abc<end>ab";
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{20, 21, 4, 3, 22}));
        request.raw_special = true;
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{20, 21, 4, 22, 3, 22}));
        request.raw_prompt = "[gMASK]<sop>abc<end>ab";  // tokens that would be added are there
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{20, 21, 4, 22, 3, 22}));
        request.raw_prompt = "<sop>ab";
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{20, 21, 21, 3, 22}));
    }

    // A message that contains its own end marker does not end there.
    void markersInMessages_areText() {
        GenerationRequest request;
        request.messages = {{Role::kUser, "abc<end>ab"}, {Role::kAssistant, "ab<end>abc"}};
        const Ids prompt = {4, 3, 22, 3, 4, 22, 21};
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), prompt);
        QCOMPARE(ModelText(*m_model).render(request.messages), prompt);
        request.continue_last = true;
        QCOMPARE(ModelText(*m_model).prompt_tokens(request), (Ids{4, 3, 22, 21, 3, 4}));
        const auto sequences = conversation_sequences(
            *m_model, R"({"messages": [{"role": "user", "content": "abc<end>ab"}]})", "chats.jsonl");
        QCOMPARE(sequences, (std::vector<Ids>{{4, 3, 22}}));
    }

    // The same conversation in each form of file, and an empty one.
    void conversations_areReadAsLinesAndAsShareGptsList() {
        const std::vector<Ids> talk = {{4, 3, 22, 4, 22}};
        const char* const kLine =
            R"({"messages": [{"role": "user", "content": "abcab"}, {"role": "assistant", "content": "abc"}]})";
        const char* const kShareGpt = R"([{"conversations": []},
            {"id": "x", "conversations": [{"from": "human", "value": "abcab"},
                                          {"from": "gpt", "value": "abc", "markdown": null}]}])";
        QCOMPARE(conversation_sequences(*m_model, kLine, "a.jsonl"), talk);
        QCOMPARE(sequences_of(*m_model, kShareGpt, "a.json"), talk);
        const auto refusal = [&](const char* text) {
            const auto error = offstage::tests::error_of([&] { sequences_of(*m_model, text, "a.json"); });
            return error ? QString(error->what()) : QString();
        };
        // Calls of tools are the assistant's; their results have a role of their own,
        // which this template writes like any.
        const auto with = [](const char* speaker) {
            return "[{\"conversations\": [{\"from\": \"human\", \"value\": \"abcab\"}, {\"from\": \"" +
                   std::string(speaker) + "\", \"value\": \"abc\"}]}]";
        };
        QCOMPARE(sequences_of(*m_model, with("function_call"), "a.json"), talk);
        for (const char* const speaker : {"tool", "observation", "function_response"}) {
            QCOMPARE(sequences_of(*m_model, with(speaker), "a.json"), talk);
        }
        QVERIFY(refusal(R"([{"conversations": [{"from": "narrator", "value": "a"}]}])")
                    .startsWith(QStringLiteral("a.json, [0]: \"conversations[0].from\" is \"narrator\"")));
        QVERIFY(refusal(R"([{"text": "a"}])").contains(QStringLiteral("\"messages\"")));
        QVERIFY(!refusal("[]").isEmpty());

        LoadedStepModel steps(*m_model);
        const Popularity counted = count_experts(steps, m_model->spec().experts, talk, {}, {});
        QCOMPARE(counted.n_tokens, 5);
    }

    void windows_beginWithThePrefix() {
        const auto sequences = text_sequences(*m_model, "abcabcabcabcabcabcabcc");
        QCOMPARE(sequences, (std::vector<Ids>{{20, 21, 4, 4, 4, 4, 4, 4}, {20, 21, 4, 2}}));
    }

    // 8 tokens in windows of 6, each after two more.
    void counts_areThoseOfEveryTokenFed() {
        LoadedStepModel steps(*m_model);
        const Popularity counted =
            count_experts(steps, m_model->spec().experts, *m_model->tokenizer(), "abcabcabcabcabcabcabcc", {}, {});
        QCOMPARE(counted.n_tokens, 8 + 2 * 2);
    }

    // With a prefix the first token is predicted too, from the tokens before it.
    void perplexity_seesThePrefixBeforeEachWindow() {
        const Ids tokens = {4, 4, 3, 0, 2, 4, 1};
        const std::size_t vocab = static_cast<std::size_t>(m_model->spec().vocab_size);
        std::vector<std::vector<float>> rows;
        std::size_t next = 0;
        score_text(*m_model, tokens, {6, 2},
                   [&](std::size_t first, std::span<const float> logits) {
                       QCOMPARE(first, next);
                       for (std::size_t i = 0; i < logits.size(); i += vocab)
                           rows.emplace_back(logits.begin() + static_cast<std::ptrdiff_t>(i),
                                             logits.begin() + static_cast<std::ptrdiff_t>(i + vocab));
                       next = rows.size();
                   },
                   {});
        QCOMPARE(rows.size(), tokens.size());
        // Windows hold 4 of the text's tokens and score the last 2 of them, the first
        // window all.
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::size_t begin = i < 4 ? 0 : (i - 2) / 2 * 2;
            Ids before = {20, 21};
            before.insert(before.end(), tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                          tokens.begin() + static_cast<std::ptrdiff_t>(i));
            const auto expected = compute_logits(*m_model, before, false);
            QVERIFY2(relativeError(rows[i], expected.back()) < 1e-5, qPrintable(QString::number(i)));
        }
        const auto refused = offstage::tests::error_of([&] { score_text(*m_model, tokens, {2, 1}, {}, {}); });
        QVERIFY(refused.has_value());
        QVERIFY2(QString(refused->what()).contains(QStringLiteral("expected 3 to")), refused->what());
    }
};

QTEST_GUILESS_MAIN(TestTextSequences)
#include "tst_text_sequences.moc"
