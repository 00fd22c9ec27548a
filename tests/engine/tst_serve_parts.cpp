// The local server without sockets: requests, access, stop texts, the queue, and tokens
// in replies.

#include <algorithm>
#include <set>
#include <sys/stat.h>
#include <thread>

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/stop_texts.h"
#include "engine/serve/access.h"
#include "engine/serve/answer_queue.h"
#include "engine/serve/answer_work.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_request.h"
#include "engine/serve/openai_reply.h"
#include "tests/engine/thinker_session.h"

using namespace offstage::engine;
using offstage::test::GateSession;
using offstage::test::Thinker;

namespace {

HttpRequest head_with(std::initializer_list<std::pair<const std::string, std::string>> headers,
                      const std::string& method = "GET") {
    HttpRequest head;
    head.method = method;
    head.path = "/v1/models";
    head.headers = headers;
    return head;
}

QString refusal_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const ApiError& error) {
        return QString::number(error.status()) + QLatin1Char(' ') + QString::fromUtf8(error.what());
    } catch (const Error& error) {
        return QString::fromUtf8(error.what());
    }
    return QStringLiteral("none");
}

QByteArray header_of(const HttpReply& reply, const std::string& name) {
    for (const auto& [key, value] : reply.headers) {
        if (key == name) return QByteArray::fromStdString(value);
    }
    return {};
}

const std::string kToken = "0123456789abcdef0123456789abcdef";

}  // namespace

class TestServeParts : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---- requests
    void chatRequest_isRead() {
        const ApiRequest request = parse_chat_request(R"({"model": "m", "messages": [
            {"role": "developer", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "H"},
            {"type": "text", "text": "i"}]}, {"role": "assistant", "content": "Yes"}], "temperature": 0.5, "top_p": 0.9,
            "max_completion_tokens": 7, "max_tokens": 7, "stop": "end", "seed": -3, "n": 1, "stream": true,
            "stream_options": {"include_usage": true}, "logprobs": true, "top_logprobs": 4, "user": "whoever"})");
        QCOMPARE(request.model, std::string("m"));
        QVERIFY(request.stream && request.include_usage && !request.echo);
        QCOMPARE(request.stop, std::vector<std::string>{"end"});
        QCOMPARE(request.prompts.size(), std::size_t{1});
        const GenerationRequest& answer = request.prompts[0];
        QCOMPARE(answer.messages.size(), std::size_t{3});
        QCOMPARE(answer.messages[0].role, Role::kSystem);
        QCOMPARE(answer.messages[1].content, std::string("Hi"));
        QCOMPARE(answer.messages[2].role, Role::kAssistant);
        QCOMPARE(answer.sampler.temperature, 0.5F);
        QCOMPARE(answer.sampler.top_p, 0.9F);
        QCOMPARE(answer.sampler.top_k, 0);
        QCOMPARE(answer.sampler.seed, static_cast<std::uint64_t>(-3));
        QCOMPARE(answer.max_tokens, 7);
        QCOMPARE(answer.n_alternatives, 4);
    }

    void chatRequest_leftOut_isAsTheApiSays() {
        const ApiRequest request =
            parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}], "stop": null})");
        const GenerationRequest& answer = request.prompts[0];
        QCOMPARE(answer.sampler.temperature, 1.0F);
        QCOMPARE(answer.sampler.top_p, 1.0F);
        QCOMPARE(answer.sampler.seed, std::uint64_t{0});
        QCOMPARE(answer.max_tokens, 0);
        QCOMPARE(answer.n_alternatives, -1);
        QVERIFY(!request.stream && request.stop.empty() && !request.wants_log_probabilities());
    }

    void thinking_isReadFromEffortOrTemplatesVariables() {
        const auto read = [](const char* more) {
            return parse_chat_request(std::string(R"({"messages": [{"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Yes", "reasoning_content": "So"}])") +
                                      more + "}")
                .prompts[0];
        };
        QCOMPARE(read("").thinking, std::string());
        QCOMPARE(read("").messages[1].thought, std::string("So"));
        QCOMPARE(read(R"(, "reasoning_effort": "low")").thinking, std::string("low"));
        QCOMPARE(read(R"(, "reasoning_effort": "none")").thinking, std::string("none"));
        QCOMPARE(read(R"(, "chat_template_kwargs": {"enable_thinking": false})").thinking, std::string("off"));
        QCOMPARE(read(R"(, "chat_template_kwargs": {"enable_thinking": true})").thinking, std::string("on"));
        QCOMPARE(read(R"(, "chat_template_kwargs": {"reasoning_effort": "high"})").thinking, std::string("high"));
    }

    // Pieces as the engine sends them: a thought, then the answer.
    void thoughts_areApartFromTheAnswer() {
        Thinker session;
        ApiRequest request = parse_chat_request(
            R"({"messages": [{"role": "user", "content": "Hi"}], "stop": ["no"], "logprobs": true, "stream": true})");
        OpenAiReply whole(request, {"m", "1", 2});
        OpenAiReply streamed(request, {"m", "1", 2});
        std::string events;
        answer_request(request, session, {}, [&](const AnswerPiece& piece) {
            whole.add(piece);
            events += streamed.events(piece);
        });
        const QJsonObject object = QJsonDocument::fromJson(QByteArray::fromStdString(whole.whole({}))).object();
        const QJsonObject choice = object[QStringLiteral("choices")].toArray().at(0).toObject();
        const QJsonObject message = choice[QStringLiteral("message")].toObject();
        QCOMPARE(message[QStringLiteral("reasoning_content")].toString(), QStringLiteral("So so."));
        QCOMPARE(message[QStringLiteral("content")].toString(), QStringLiteral("Yes"));
        const QJsonArray tokens = choice[QStringLiteral("logprobs")].toObject()[QStringLiteral("content")].toArray();
        QCOMPARE(tokens.size(), 1);
        QVERIFY(events.find(R"("delta":{"reasoning_content":"So "})") != std::string::npos);
        QVERIFY(events.find(R"("delta":{"content":"Yes"})") != std::string::npos);
        // Its text turned out to be a thought.
        session.announces_it = false;
        OpenAiReply taken_back(request, {"m", "1", 2});
        answer_request(request, session, {}, [&](const AnswerPiece& piece) { taken_back.add(piece); });
        QCOMPARE(taken_back.whole({}), whole.whole({}));
        // Its thought turned out to be the answer: it does not come twice.
        session.announces_it = true;
        session.thought.clear();
        OpenAiReply once(request, {"m", "1", 2});
        answer_request(request, session, {}, [&](const AnswerPiece& piece) { once.add(piece); });
        QVERIFY(once.whole({}).find("reasoning_content") == std::string::npos);
    }

    // Fields that present programs send with every request: none of them changes an
    // answer.
    void ordinaryRequests_areTaken_data() {
        QTest::addColumn<QByteArray>("more");
        QTest::newRow("null") << QByteArray(R"("tools": null, "grammar": null, "unknown": null, "stop": null)");
        QTest::newRow("OpenAI") << QByteArray(
            R"("user": "u", "metadata": {"a": "b"}, "store": true, "service_tier": "auto", "safety_identifier": "x",
               "prompt_cache_key": "k", "parallel_tool_calls": false, "n": 1, "presence_penalty": 0.0, "logit_bias": {},
               "frequency_penalty": 0, "response_format": {"type": "text"}, "tools": [], "tool_choice": "auto",
               "modalities": ["text"], "verbosity": "medium", "reasoning_effort": null, "stop": [],
               "stream_options": {"include_usage": true, "include_obfuscation": false})");
        QTest::newRow("llama.cpp") << QByteArray(
            R"("cache_prompt": true, "id_slot": -1, "timings_per_token": true, "return_progress": true, "samplers": [],
               "reasoning_format": "auto", "dynatemp_range": 0, "dynatemp_exponent": 1, "typ_p": 1, "typical_p": 1.0,
               "xtc_probability": 0, "xtc_threshold": 0.1, "dry_multiplier": 0, "dry_base": 1.75, "mirostat": 0,
               "dry_allowed_length": 2, "dry_penalty_last_n": -1, "mirostat_tau": 5, "n_keep": 5, "n_discard": 2, "grammar": "",
               "backend_sampling": false, "min_keep": 0, "lora": [], "speculative.n_max": 16, "n_cache_reuse": 0, "n_probs": 0, "seed": -1, "max_tokens": -1, "top_k": 40)");
        QTest::newRow("others") << QByteArray(
            R"("min_tokens": 0, "skip_special_tokens": true, "stop_token_ids": [], "best_of": 1, "suffix": "",
               "include_stop_str_in_output": false, "keep_alive": "5m", "usage": {"include": true}, "do_sample": true,
               "top_a": 0, "use_beam_search": false, "length_penalty": 1.2, "priority": 3, "ttl": 300,
               "models": ["a"], "provider": {"order": ["b"]}, "transforms": [], "function_call": "auto", "echo": false, "stop": "")");
    }
    void ordinaryRequests_areTaken() {
        QFETCH(QByteArray, more);
        const std::string fields = more.toStdString() + "}";
        const GenerationRequest plain =
            parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}]})").prompts[0];
        const ApiRequest given =
            parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi", "name": null}], )" + fields);
        QVERIFY(given.stop.empty());
        QCOMPARE(given.prompts[0].max_tokens, 0);
        SamplerSettings sampler = given.prompts[0].sampler;
        if (more.contains("top_k")) sampler.top_k = 0;
        QVERIFY(!given.prompts[0].continue_last);
        QVERIFY(sampler == plain.sampler);
        if (!more.contains("reasoning_effort"))  // which only chats have
            QCOMPARE(parse_completion_request(R"({"prompt": "a", )" + fields).prompts.size(), std::size_t{1});
    }

    void otherNames_areRead() {
        const GenerationRequest answer =
            parse_completion_request(R"({"prompt": "a", "repeat_penalty": 1.8, "repeat_last_n": 10, "n_predict": 7,
                "ignore_eos": true})")
                .prompts[0];
        QCOMPARE(answer.sampler.repeat_penalty, 1.8F);
        QCOMPARE(answer.sampler.repeat_window, 10);
        QCOMPARE(answer.max_tokens, 7);
        QVERIFY(answer.ignore_end && !answer.prompt_only);
        QVERIFY(answer.raw_special);  // as other servers do it
        const ApiRequest same = parse_completion_request(
            R"({"prompt": "a", "max_tokens": 7, "n_predict": 7, "max_completion_tokens": null, "repeat_penalty": 2,
                "repetition_penalty": 2.0})");
        QCOMPARE(same.prompts[0].max_tokens, 7);
        QCOMPARE(same.prompts[0].sampler.repeat_penalty, 2.0F);
        const ApiRequest plain = parse_completion_request(R"({"prompt": ["a", "b"], "parse_special": false})");
        QVERIFY(!plain.prompts[0].raw_special && !plain.prompts[1].raw_special);
        const auto sampler_of = [](const char* window) {
            return parse_completion_request(std::string(R"({"prompt": "a", "repeat_penalty": 1.8, "repeat_last_n": )") +
                                            window + "}")
                .prompts[0]
                .sampler;
        };
        QCOMPARE(sampler_of("-1").repeat_window, 0);  // all
        QCOMPARE(sampler_of("0").repeat_penalty, 1.0F);
        const ApiRequest endless = parse_completion_request(R"({"prompt": "a", "max_tokens": -1, "stop": ["", "x"]})");
        QVERIFY(endless.prompts[0].max_tokens == 0 && !endless.prompts[0].prompt_only);
        QCOMPARE(endless.stop, std::vector<std::string>{"x"});
        QCOMPARE(parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}], "enable_thinking": false})")
                     .prompts[0]
                     .thinking,
                 std::string("off"));
    }

    void conversationOfAnAgent_isRead() {
        const ApiRequest request = parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi", "name": "Ann"},
            {"role": "assistant", "content": null, "refusal": null, "annotations": [], "audio": null,
             "function_call": null, "tool_calls": [{"id": "c1", "index": 0, "type": "function",
             "function": {"name": "f", "arguments": "[1, 2]"}}, {"function": {"name": "g", "arguments": {"b": 2}}}]},
            {"role": "tool", "tool_call_id": "c1", "name": "f", "content": [{"type": "text", "text": "42"}]},
            {"role": "assistant", "type": "text"}, {"role": "user", "content": [{"type": "text", "text": null}]}]})");
        const std::vector<ChatMessage>& messages = request.prompts[0].messages;
        QCOMPARE(messages.size(), std::size_t{5});
        QCOMPARE(messages[0].name, std::string("Ann"));
        QCOMPARE(messages[1].content, std::string());
        QCOMPARE(messages[1].tool_calls.size(), std::size_t{2});
        QCOMPARE(messages[1].tool_calls[0].id, std::string("c1"));
        QCOMPARE(messages[1].tool_calls[0].name, std::string("f"));
        QCOMPARE(messages[1].tool_calls[0].arguments, std::string("[1, 2]"));
        QCOMPARE(messages[1].tool_calls[1].arguments, std::string(R"({"b":2})"));
        QCOMPARE(messages[2].role, Role::kTool);
        QCOMPARE(messages[2].tool_call_id, std::string("c1"));
        QCOMPARE(messages[2].name, std::string("f"));
        QCOMPARE(messages[2].content, std::string("42"));
        QCOMPARE(messages[3].content, std::string());
        QCOMPARE(messages[4].content, std::string());
    }

    void penaltiesAndBias_areRead() {
        const SamplerSettings sampler =
            parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}], "presence_penalty": 0.5,
                "frequency_penalty": -2, "logit_bias": {"7": -100, "12": 2.5}})")
                .prompts[0]
                .sampler;
        QCOMPARE(sampler.presence_penalty, 0.5F);
        QCOMPARE(sampler.frequency_penalty, -2.0F);
        std::vector<std::pair<TokenId, float>> biases = sampler.logit_bias;
        std::sort(biases.begin(), biases.end());
        QCOMPARE(biases, (std::vector<std::pair<TokenId, float>>{{7, -100.0F}, {12, 2.5F}}));
    }

    void severalChoices_haveASeedEach() {
        const ApiRequest request =
            parse_completion_request(R"({"prompt": ["a", "b"], "n": 2, "seed": 5, "echo": true, "stop": null})");
        QCOMPARE(request.n_choices, std::size_t{2});
        QCOMPARE(request.prompts.size(), std::size_t{2});  // each lies there once
        QCOMPARE(request.n_answers(), std::size_t{4});
        for (const std::size_t i : {0, 1, 2, 3}) {
            QCOMPARE(request.prompt_of(i).raw_prompt, std::string(i < 2 ? "a" : "b"));
            QCOMPARE(request.prompt_of(i).sampler.seed == 5, i % 2 == 0);
        }
        QCOMPARE(request.prompt_of(1).sampler.seed, request.prompt_of(3).sampler.seed);
        // Without a seed the engine draws one for each.
        const ApiRequest drawn = parse_chat_request(R"({"messages": [{"role": "user", "content": "a"}], "n_cmpl": 3})");
        QCOMPARE(drawn.n_answers(), std::size_t{3});
        for (const std::size_t i : {0, 1, 2}) QCOMPARE(drawn.prompt_of(i).sampler.seed, std::uint64_t{0});
    }

    void answersAndBiases_haveLimits() {
        const auto prompts = [](int n_prompts, int n) {
            QByteArray list = QByteArray("\"a\",").repeated(n_prompts);
            list.chop(1);
            return "{\"prompt\": [" + list.toStdString() + "], \"n\": " + std::to_string(n) + "}";
        };
        QCOMPARE(parse_completion_request(prompts(64, 16)).n_answers(), std::size_t{1024});
        const QString answers = refusal_of([&] { static_cast<void>(parse_completion_request(prompts(65, 16))); });
        QVERIFY2(answers.startsWith(QStringLiteral("400 \"n\" is 16; expected at most 1024 answers")),
                 qPrintable(answers));
        const auto biases = [](int n) {
            std::string list;
            for (int i = 0; i < n; ++i) list += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\": 1";
            return R"({"prompt": "a", "best_of": 1, "logit_bias": {)" + list + "}}";
        };
        QCOMPARE(parse_completion_request(biases(1024)).prompts[0].sampler.logit_bias.size(), std::size_t{1024});
        const QString many = refusal_of([&] { static_cast<void>(parse_completion_request(biases(1025))); });
        QVERIFY2(many.startsWith(QStringLiteral("400 \"logit_bias\" is an object; expected")), qPrintable(many));
    }

    void integers_mayBeWrittenAsFloats() {
        const auto read = [](const char* limit) {
            return parse_completion_request(std::string(R"({"prompt": "a", "top_k": 40.0, "max_tokens": )") + limit +
                                            "}")
                .prompts[0];
        };
        QCOMPARE(read("7.0").max_tokens, 7);
        QCOMPARE(read("7.0").sampler.top_k, 40);
        QVERIFY(read("-1.0").max_tokens == 0 && !read("-1.0").prompt_only);
        for (const char* limit : {"7.5", "1e300", "-2.0"}) {
            QVERIFY(refusal_of([&] { read(limit); }).startsWith(QStringLiteral("400 \"max_tokens\" is ")));
        }
    }

    void promptsOfSeveralChoices_countOnce() {
        GateSession session;
        session.allow(100);
        const ApiRequest request = parse_completion_request(R"({"prompt": ["a", "b"], "n": 3, "max_tokens": 2})");
        std::set<std::size_t> choices;
        const AnswerTotals totals =
            answer_request(request, session, {}, [&](const AnswerPiece& piece) { choices.insert(piece.choice); });
        QCOMPARE(choices.size(), std::size_t{6});
        QCOMPARE(totals.prompt_tokens, std::int64_t{2});
        QCOMPARE(totals.answer_tokens, std::int64_t{12});
    }

    void lastMessageOfTheAssistant_isContinuedOnDemand_data() {
        QTest::addColumn<QByteArray>("more");
        QTest::addColumn<bool>("begun");
        QTest::newRow("nothing said") << QByteArray("") << false;
        QTest::newRow("vLLM") << QByteArray(R"(, "continue_final_message": true, "add_generation_prompt": false)")
                              << true;
        QTest::newRow("no prompt for a new one") << QByteArray(R"(, "add_generation_prompt": false)") << true;
        QTest::newRow("not continued") << QByteArray(R"(, "continue_final_message": false)") << false;
        QTest::newRow("a new one") << QByteArray(R"(, "add_generation_prompt": true)") << false;
        QTest::newRow("continued") << QByteArray(R"(, "continue_final_message": true)") << true;
    }
    void lastMessageOfTheAssistant_isContinuedOnDemand() {
        QFETCH(QByteArray, more);
        QFETCH(bool, begun);
        const std::string body = R"({"messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Yes", "prefix": false}])" +
                                 more.toStdString() + "}";
        QCOMPARE(parse_chat_request(body).prompts[0].continue_last, begun);
    }

    void markedMessage_isContinued_unlessAFieldContradicts() {
        const auto continues = [](const std::string& mark, const std::string& more) {
            return parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Yes", )" +
                                      ("\"" + mark + "\": true}]") + more + "}")
                .prompts[0]
                .continue_last;
        };
        for (const char* mark : {"prefix", "partial"}) {
            QVERIFY(continues(mark, ""));
            QVERIFY(continues(mark, R"(, "add_generation_prompt": false)"));
            QCOMPARE(refusal_of([&] { continues(mark, R"(, "continue_final_message": false)"); }),
                     QStringLiteral("400 \"continue_final_message\" is false; expected true, to agree with "
                                    "\"messages[1].%1\".")
                         .arg(QLatin1String(mark)));
            QCOMPARE(refusal_of([&] { continues(mark, R"(, "add_generation_prompt": true)"); }),
                     QStringLiteral("400 \"add_generation_prompt\" is true; expected false, to agree with "
                                    "\"messages[1].%1\".")
                         .arg(QLatin1String(mark)));
        }
    }

    void callsOfTools_areNoBegunAnswer() {
        QVERIFY(!parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant",
            "content": null, "tool_calls": [{"function": {"name": "g", "arguments": "{}"}}]}]})")
                     .prompts[0]
                     .continue_last);
    }

    void bestOf_asManyAsAnswers_isTaken() {
        QCOMPARE(parse_completion_request(R"({"prompt": "a", "n": 3, "best_of": 3})").n_answers(), std::size_t{3});
    }

    void seedZero_isASeed() {
        const auto seed_of = [](const char* seed) {
            return parse_completion_request(std::string(R"({"prompt": "a", "seed": )") + seed + "}")
                .prompts[0]
                .sampler.seed;
        };
        QVERIFY(seed_of("0") != 0);
        QCOMPARE(seed_of("0"), seed_of("0"));
        QCOMPARE(seed_of("5"), std::uint64_t{5});
    }

    void completionRequest_promptsOfEveryKind_data() {
        QTest::addColumn<QByteArray>("prompt");
        QTest::addColumn<int>("count");
        QTest::newRow("text") << QByteArray(R"("ab")") << 1;
        QTest::newRow("texts") << QByteArray(R"(["ab", "", "c"])") << 3;
        QTest::newRow("ids") << QByteArray("[1, 2, 3]") << 1;
        QTest::newRow("lists of ids") << QByteArray("[[1, 2], [3]]") << 2;
    }
    void completionRequest_promptsOfEveryKind() {
        QFETCH(QByteArray, prompt);
        QFETCH(int, count);
        const ApiRequest request = parse_completion_request(R"({"prompt": )" + prompt.toStdString() +
                                                            R"(, "echo": true, "logprobs": 1, "max_tokens": 0})");
        QCOMPARE(static_cast<int>(request.prompts.size()), count);
        for (const GenerationRequest& one : request.prompts) {
            QVERIFY(one.raw && one.score_prompt && one.prompt_only);
            QCOMPARE(one.n_alternatives, 1);
        }
        if (prompt == "[1, 2, 3]") QCOMPARE(request.prompts[0].prompt_ids, (std::vector<TokenId>{1, 2, 3}));
        if (prompt == R"("ab")") QCOMPARE(request.prompts[0].raw_prompt, std::string("ab"));
        QCOMPARE(parse_completion_request(R"({"prompt": "a"})").prompts[0].max_tokens, 16);
    }

    void badRequests_sayTheFieldAndWhatWasExpected_data() {
        QTest::addColumn<bool>("chat");
        QTest::addColumn<QString>("body");
        QTest::addColumn<QString>("message");
        const auto chat = [](const char* name, const char* more, const char* message) {
            QTest::newRow(name) << true
                                << QStringLiteral(R"({"messages": [{"role": "user", "content": "Hi"}]%1})").arg(more)
                                << QString::fromUtf8(message);
        };
        const auto other = [](const char* name, bool is_chat, const char* body, const char* message) {
            QTest::newRow(name) << is_chat << QString::fromUtf8(body) << QString::fromUtf8(message);
        };
        chat("temperature", R"(, "temperature": -1)", R"("temperature" is -1; expected a number from 0.0 to 100.0.)");
        chat("text for a number", R"(, "top_p": "1")", R"("top_p" is "1"; expected a number from 0.0 to 1.0.)");
        chat("max_tokens", R"(, "max_tokens": 0)", R"("max_tokens" is 0; expected -1 or an integer from 1)");
        chat("two limits", R"(, "n_predict": 5, "max_tokens": 7)",
             R"("n_predict" is 5; expected what "max_tokens" says, 7: both name the same.)");
        chat("three limits", R"(, "n_predict": 7, "max_tokens": 7, "max_completion_tokens": 8)",
             R"("max_tokens" is 7; expected what "max_completion_tokens" says, 8: both name the same.)");
        chat("two penalties", R"(, "repetition_penalty": 1.1, "repeat_penalty": 1.2)",
             R"("repeat_penalty" is 1.2; expected what "repetition_penalty" says, 1.1: both name the same.)");
        chat("two ways to think", R"(, "enable_thinking": true, "chat_template_kwargs": {"enable_thinking": false})",
             R"("enable_thinking" is true; expected what "chat_template_kwargs.enable_thinking" says, false: both)");
        chat(
            "two efforts", R"(, "reasoning_effort": "low", "chat_template_kwargs": {"reasoning_effort": "high"})",
            R"("reasoning_effort" is "low"; expected what "chat_template_kwargs.reasoning_effort" says, "high": both)");
        chat("half a token", R"(, "max_tokens": 1.5)", R"("max_tokens" is 1.5; expected -1 or an integer from 1)");
        chat("huge", R"(, "max_tokens": 18446744073709551615)", R"("max_tokens" is 18446744073709551615)");
        chat("too many answers", R"(, "n": 17)", R"("n" is 17; expected an integer from 1 to 16.)");
        chat("two counts of answers", R"(, "n": 2, "n_cmpl": 3)", R"("n_cmpl" is 3; expected what "n" says, 2: both)");
        chat("penalty", R"(, "frequency_penalty": 2.5)", R"("frequency_penalty" is 2.5; expected a number from -2.0)");
        chat("bias", R"(, "logit_bias": {"5": 101})",
             R"("logit_bias.5" is 101; expected a number from -100.0 to 100.0)");
        chat("bias of a word", R"(, "logit_bias": {"fox": 1})", R"("logit_bias" is "fox"; expected token ids)");
        chat("list of biases", R"(, "logit_bias": [[5, 1]])", R"("logit_bias" is a list of 1; expected an object)");
        chat("nothing to go on with", R"(, "continue_final_message": true)",
             R"("continue_final_message" is true; expected false, since the last message)");
        chat("no beginning", R"(, "add_generation_prompt": false)",
             R"("add_generation_prompt" is false; expected true, since the last message)");
        chat("bias of a zero before", R"(, "logit_bias": {"7": 1, "07": 2})",
             R"("logit_bias" is "07"; expected token ids as names)");
        chat("best of three", R"(, "n": 2, "best_of": 3)",
             R"("best_of" is 3; expected 2, as many as "n": this server gives every answer)");
        chat("tools", R"(, "tools": [{}])", R"("tools[0].function.name" is missing; expected)");
        chat("another tool", R"(, "tools": [{"type": "web_search"}])",
             R"("tools[0].type" is "web_search"; expected "function": there are no other tools.)");
        chat("choice of none", R"(, "tool_choice": "required")",
             R"("tool_choice" is "required"; expected none or auto: there are no "tools".)");
        chat(
            "choice of another",
            R"(, "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": {"type": "function", "function": {"name": "g"}})",
            R"("tool_choice.function.name" is "g"; expected the name of one of the tools.)");
        chat("form", R"(, "response_format": {"type": "xml"})",
             R"("response_format.type" is "xml"; expected text, json_object or json_schema.)");
        chat("form without a schema", R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "a"}})",
             R"("response_format.json_schema.schema" is missing; expected a JSON schema.)");
        chat("keyword", R"(, "response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}})",
             "\"response_format\": The JSON schema's keyword \"not\" at # is not supported.");
        chat("grammar", R"(, "grammar": "root ::= yes")",
             R"("grammar": The grammar has no rule "yes"; expected it, since it is used.)");
        chat("two forms", R"(, "json_schema": {}, "grammar": "root ::= [a-c]")",
             R"("grammar" and "json_schema" both give the answer a form; expected one.)");
        chat("form without an end", R"(, "json_schema": {}, "ignore_eos": true)",
             R"("ignore_eos" is true; expected false: an answer ends where "json_schema" says.)");
        chat("form of another server", R"(, "guided_json": {})",
             R"("guided_json" is an object; expected none: "response_format" or "grammar" give an answer a form.)");
        chat("another penalty", R"(, "dry_multiplier": 0.8)", R"("dry_multiplier" is 0.8; expected 0)");
        chat("adapter", R"(, "lora": [{"id": 0, "scale": 1}])", R"("lora" is a list of 1; expected none)");
        chat("called function", R"(, "function_call": {"name": "f"})",
             R"("function_call" is an object; expected "none")");
        chat("at least", R"(, "min_tokens": 100)", R"("min_tokens" is 100; expected 0: this server does not do that.)");
        chat("unknown", R"(, "temprature": 0)", R"("temprature" is no field that this server knows there)");
        chat("of the other endpoint", R"(, "prompt": "a")", R"("prompt" is no field that this server knows there)");
        chat("unknown option", R"(, "stream_options": {"x": 1})", R"("stream_options.x" is no field)");
        chat("option", R"(, "stream_options": {"include_usage": 1})",
             R"("stream_options.include_usage" is 1; expected)");
        chat("alternatives alone", R"(, "top_logprobs": 2)", R"("top_logprobs" is given without "logprobs": true.)");
        chat("too many alternatives", R"(, "logprobs": true, "top_logprobs": 21)",
             R"("top_logprobs" is 21; expected an integer from 0 to 20.)");
        chat("another variable", R"(, "chat_template_kwargs": {"x": 1})", R"("chat_template_kwargs" has "x"; this)");
        chat("no stop", R"(, "stop": [1])", R"("stop" is 1; expected texts of at most 1024 bytes.)");
        chat("key twice", R"(, "n": 1, "n": 1)", "The request's body: ");
        other("no JSON", true, "{", "The request's body: ");
        other("no object", true, "[1]", "The request's body is a list of 1; expected an object.");
        other("no messages", true, "{}", R"("messages" is missing; expected a list of messages.)");
        other("empty messages", true, R"({"messages": []})", R"("messages" is a list of 0; expected a list)");
        const auto message = [&](const char* name, const char* fields, const char* text) {
            const QString body = QStringLiteral(R"({"messages": [{%1}]})").arg(QString::fromUtf8(fields));
            QTest::newRow(name) << true << body << QString::fromUtf8(text);
        };
        message("role", R"("role": "function", "content": "x")",
                R"("messages[0].role" is "function"; expected system, developer, user, assistant or tool.)");
        message("unknown in a message", R"("role": "user", "content": "x", "colour": 1)",
                R"("messages[0].colour" is no field)");
        message("sound", R"("role": "assistant", "audio": {"id": "a"})",
                R"("messages[0].audio" is an object; expected none)");
        message("begun answer of the user's", R"("role": "user", "content": "x", "prefix": true)",
                R"("messages[0].prefix" is true; expected it in the last message)");
        other("both", true,
              R"({"messages": [{"role": "assistant", "content": "x"}], "continue_final_message": true,
                  "add_generation_prompt": true})",
              R"("add_generation_prompt" is true; expected false, to agree with "continue_final_message")");
        other("neither", true,
              R"({"messages": [{"role": "assistant", "content": "x"}], "continue_final_message": false,
                  "add_generation_prompt": false})",
              R"("add_generation_prompt" is false; expected true, to agree with "continue_final_message")");
        message("calls of another kind", R"("role": "assistant", "tool_calls": [{"type": "custom", "function": {}}])",
                R"("messages[0].tool_calls[0].type" is "custom"; expected "function")");
        message("no call", R"("role": "assistant", "tool_calls": [{"id": "1"}])",
                R"("messages[0].tool_calls[0]" is an object; expected an object with "function")");
        message("unknown in a part", R"("role": "user", "content": [{"type": "text", "text": "x", "b": 1}])",
                R"("messages[0].content.b" is no field)");
        message("number in a part", R"("role": "user", "content": [{"type": "text", "text": 1}])",
                R"("messages[0].content.text" is 1; expected a text.)");
        other("no content", true, R"({"messages": [{"role": "user"}]})", R"("messages[0].content" is missing)");
        other("a picture", true, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
              R"("messages[0].content" is "image_url"; expected parts of type "text")");
        other("no prompt", false, "{}", R"("prompt" is missing; expected a text)");
        other("empty list", false, R"({"prompt": []})", R"("prompt" is a list of 0; expected)");
        other("negative id", false, R"({"prompt": [1, -2]})", R"("prompt" is -2; expected token ids.)");
        other("an id that is a text", false, R"({"prompt": [1, "2"]})", R"("prompt" is "2"; expected token ids.)");
        other("best of two", false, R"({"prompt": "a", "best_of": 2})", R"("best_of" is 2; expected 1)");
        other("suffix", false, R"({"prompt": "a", "suffix": "b"})", R"("suffix" is "b"; expected none)");
    }
    void badRequests_sayTheFieldAndWhatWasExpected() {
        QFETCH(bool, chat);
        QFETCH(QString, body);
        QFETCH(QString, message);
        const QString refusal = refusal_of([&] {
            static_cast<void>(chat ? parse_chat_request(body.toStdString())
                                   : parse_completion_request(body.toStdString()));
        });
        QVERIFY2(refusal.startsWith(QStringLiteral("400 ") + message), qPrintable(refusal));
    }

    void errors_haveTheShapeThatClientsKnow() {
        const auto object = QJsonDocument::fromJson(QByteArray::fromStdString(
                                                        ApiError(404, "No \xFF", "model", "x").body(ApiStyle::kOpenAi)))
                                .object()[QStringLiteral("error")]
                                .toObject();
        QCOMPARE(object[QStringLiteral("message")].toString(), QStringLiteral("No \uFFFD"));
        QCOMPARE(object[QStringLiteral("type")].toString(), QStringLiteral("invalid_request_error"));
        QCOMPARE(object[QStringLiteral("param")].toString(), QStringLiteral("model"));
        QCOMPARE(object[QStringLiteral("code")].toString(), QStringLiteral("x"));
    }

    // ---- stop texts
    void stopTexts_letThroughWhatIsNone_data() {
        QTest::addColumn<QStringList>("pieces");
        QTest::addColumn<QStringList>("stops");
        QTest::addColumn<QString>("shown");
        QTest::addColumn<bool>("found");
        QTest::newRow("none") << QStringList{"a", "b"} << QStringList{} << "ab" << false;
        QTest::newRow("in a piece") << QStringList{"one END two"} << QStringList{"END"} << "one " << true;
        QTest::newRow("over pieces") << QStringList{"one E", "N", "D", "two"} << QStringList{"END"} << "one " << true;
        QTest::newRow("a beginning only") << QStringList{"one EN", "TER"} << QStringList{"END"} << "one ENTER" << false;
        QTest::newRow("at the end") << QStringList{"one", " EN"} << QStringList{"END"} << "one EN" << false;
        QTest::newRow("begins again") << QStringList{"a", "a", "b"} << QStringList{"ab"} << "a" << true;
        QTest::newRow("the first of two") << QStringList{"x##y\n"} << QStringList{"\n", "##"} << "x" << true;
        QTest::newRow("a whole answer") << QStringList{"#"} << QStringList{"#"} << "" << true;
        QTest::newRow("characters of several bytes")
            << QStringList{QStringLiteral("1\u20AC"), QStringLiteral("\u00A32")}
            << QStringList{QStringLiteral("\u20AC\u00A3")} << "1" << true;
    }
    void stopTexts_letThroughWhatIsNone() {
        QFETCH(QStringList, pieces);
        QFETCH(QStringList, stops);
        QFETCH(QString, shown);
        QFETCH(bool, found);
        std::vector<std::string> texts;
        for (const QString& stop : stops) texts.push_back(stop.toStdString());
        StopTexts filter(texts);
        std::string all;
        for (const QString& piece : pieces) {
            all += filter.push(piece.toStdString());
            QVERIFY(shown.toStdString().starts_with(all));  // nothing that has to be taken back
        }
        all += filter.finish();
        QCOMPARE(QString::fromStdString(all), shown);
        QCOMPARE(filter.found(), found);
    }

    // ---- access
    void tokens_areRandomAndLong() {
        const std::string one = make_token(), other = make_token();
        QCOMPARE(one.size(), std::size_t{64});
        QVERIFY(one != other);
        QVERIFY(one.find_first_not_of("0123456789abcdef") == std::string::npos);
    }

    void tokenFile_isMadeForItsOwnerAlone_andReadAgain() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("token")).toStdString();
        const mode_t before = ::umask(0);
        const TokenFile made = read_or_make_token_file(path);
        ::umask(before);
        QVERIFY(made.made);
        struct stat status {};
        QCOMPARE(::stat(path.c_str(), &status), 0);
        QCOMPARE(status.st_mode & 07777, mode_t{0600});
        const TokenFile again = read_or_make_token_file(path);
        QVERIFY(!again.made);
        QCOMPARE(again.token, made.token);
        QVERIFY(::chmod(path.c_str(), 0640) == 0);
        QVERIFY(refusal_of([&] { read_or_make_token_file(path); }).contains(QStringLiteral("chmod 600")));
    }

    void tokenFile_inAFolderThatIsNotThere_isMadeWithIt() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("a/b/token")).toStdString();
        const mode_t before = ::umask(0);
        const TokenFile made = read_or_make_token_file(path);
        ::umask(before);
        QVERIFY(made.made && !read_or_make_token_file(path).made);
        for (const char* name : {"a", "a/b"}) {
            struct stat status {};
            QCOMPARE(::stat(folder.filePath(QLatin1String(name)).toUtf8().constData(), &status), 0);
            QCOMPARE(status.st_mode & 07777, mode_t{0700});
        }
        const QString refusal = refusal_of([&] { read_or_make_token_file(path + "/below/a/file"); });
        QVERIFY2(refusal.contains(QStringLiteral("below/a/file")), qPrintable(refusal));
    }

    void tokenFile_withoutAToken_isRefused_data() {
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("short") << QByteArray("123456789012345\n");
        QTest::newRow("a blank inside") << QByteArray("12345678 12345678");
        QTest::newRow("too long") << QByteArray(2000, 'a');
        QTest::newRow("no ASCII") << QByteArray("12345678901234567\xC3\xA4");
    }
    void tokenFile_withoutAToken_isRefused() {
        QFETCH(QByteArray, content);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("token"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
        file.close();
        QVERIFY(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner));
        const QString refusal = refusal_of([&] { read_or_make_token_file(path.toStdString()); });
        QVERIFY2(refusal.contains(QStringLiteral("holds no token")), qPrintable(refusal));
    }

    void secrets_areTheSameOrNot() {
        QVERIFY(is_same_secret("abc", "abc"));
        QVERIFY(!is_same_secret("abd", "abc"));
        QVERIFY(!is_same_secret("abcabc", "abc"));
        QVERIFY(!is_same_secret("", "abc"));
        QVERIFY(!is_same_secret("ab", "abc"));
    }

    void hosts_ofThisComputer() {
        for (const char* host :
             {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "127.1.2.3:80", "[::1]", "[::1]:8080"}) {
            QVERIFY2(is_loopback_host(host), host);
        }
        for (const char* host :
             {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil",
              "localhost:80:80", "localhost:", "[::2]", "[::1", "127.0.0.1:8x", "1127.0.0.1"}) {
            QVERIFY2(!is_loopback_host(host), host);
        }
    }

    void origins_areWrittenInOneWay() {
        QCOMPARE(parse_origin("HTTP://LocalHost:3000"), std::string("http://localhost:3000"));
        for (const char* text : {"*", "null", "", "localhost", "http://", "http://a/", "http://a/b", "http://a b"}) {
            QVERIFY2(refusal_of([&] { parse_origin(text); }).contains(QStringLiteral("is no web page's origin")), text);
        }
    }

    void listenAddresses() {
        QCOMPARE(parse_listen_address("127.0.0.1:80").text(), std::string("127.0.0.1:80"));
        QCOMPARE(parse_listen_address("localhost:0").text(), std::string("127.0.0.1:0"));
        QCOMPARE(parse_listen_address("9000").text(), std::string("127.0.0.1:9000"));
        QCOMPARE(parse_listen_address("[0:0::1]:80").text(), std::string("[::1]:80"));
        QVERIFY(parse_listen_address("[::1]:80").is_loopback() && parse_listen_address("127.9.9.9:80").is_loopback());
        QVERIFY(!parse_listen_address("0.0.0.0:80").is_loopback() && !parse_listen_address("[::]:80").is_loopback());
        for (const char* text : {"", ":80", "host.example:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80",
                                 "[127.0.0.1]:80", "127.0.0.1:8x", "127.1:80"}) {
            QVERIFY2(refusal_of([&] { parse_listen_address(text); }).contains(QStringLiteral("is no address")), text);
        }
    }

    void rules_refuseOtherHostsAndPages() {
        const AccessRules rules(kToken, true, {"http://localhost:3000"});
        QVERIFY(!rules.refuse_source(head_with({{"host", "127.0.0.1:8080"}})));
        QCOMPARE(rules.refuse_source(head_with({{"host", "evil.example"}}))->status, 403);
        QCOMPARE(rules.refuse_source(head_with({}))->status, 403);
        QVERIFY(!rules.refuse_source(head_with({{"host", "localhost"}, {"origin", "http://localhost:3000"}})));
        for (const char* origin : {"http://localhost:3001", "https://localhost:3000", "null", "http://evil.example"}) {
            QCOMPARE(rules.refuse_source(head_with({{"host", "localhost"}, {"origin", origin}}))->status, 403);
        }
        const AccessRules open(kToken, false, {});
        QVERIFY(!open.refuse_source(head_with({{"host", "my-computer.local"}})));
    }

    void rules_wantTheToken() {
        const AccessRules rules(kToken, true, {});
        QVERIFY(!rules.refuse_token(head_with({{"authorization", "Bearer " + kToken}})));
        QVERIFY(!rules.refuse_token(head_with({{"authorization", "bearer  " + kToken}})));
        for (const std::string& given : {std::string(), kToken, "Basic " + kToken, "Bearer " + kToken + "0",
                                         "Bearer " + kToken.substr(1), std::string("Bearer ")}) {
            const auto refusal = rules.refuse_token(head_with({{"authorization", given}}));
            QCOMPARE(refusal.has_value() ? refusal->status : 0, 401);
            QCOMPARE(header_of(*refusal, "WWW-Authenticate"), QByteArray("Bearer"));
        }
        QCOMPARE(rules.refuse_token(head_with({}))->status, 401);
    }

    void preflights_areAnswered() {
        const AccessRules rules(kToken, true, {"http://localhost:3000"});
        HttpRequest head = head_with({{"host", "localhost"},
                                      {"origin", "http://localhost:3000"},
                                      {"access-control-request-method", "POST"},
                                      {"access-control-request-headers", "authorization,content-type,x-stainless-os"}},
                                     "OPTIONS");
        auto reply = rules.answer_preflight(head);
        QVERIFY(reply.has_value());
        rules.add_origin(head, *reply);
        QCOMPARE(reply->status, 204);
        QCOMPARE(header_of(*reply, "Access-Control-Allow-Origin"), QByteArray("http://localhost:3000"));
        QCOMPARE(header_of(*reply, "Access-Control-Allow-Headers"),
                 QByteArray("authorization,content-type,x-stainless-os"));
        QCOMPARE(header_of(*reply, "Vary"), QByteArray("Origin"));
        head.headers.erase("access-control-request-headers");
        head.headers.emplace("access-control-request-headers", "a\x01: b");
        QCOMPARE(header_of(*rules.answer_preflight(head), "Access-Control-Allow-Headers"),
                 QByteArray("Authorization, Content-Type"));
        head.headers.erase("origin");
        QVERIFY(!rules.answer_preflight(head));
    }

    // ---- the queue
    void queue_takesAsManyAsItHasPlacesFor() {
        AnswerQueue queue(2);
        GateSession session;
        std::string order;
        const auto add = [&](char name) {
            return queue.submit([&order, name](Session&, const std::stop_token&) { order += name; });
        };
        const auto a = add('a'), b = add('b'), c = add('c');
        QVERIFY(a && b && c);  // nothing is being done: one of them does not wait
        QVERIFY(!add('d'));
        b->cancel();
        QCOMPARE(queue.n_waiting(), std::size_t{2});
        QVERIFY(add('e'));  // its place is free
        while (queue.run_next(session, {})) {
        }
        QCOMPARE(order, std::string("ace"));
        QVERIFY(!queue.run_next(session, {}));
    }

    // A client that has its reply can ask again at once.
    void queue_saysThatWorkHasEnded_whenItsPlaceIsFree_data() {
        QTest::addColumn<int>("most");
        QTest::newRow("one") << 1;
        QTest::newRow("two, each on a thread of its own") << 2;
    }
    void queue_saysThatWorkHasEnded_whenItsPlaceIsFree() {
        QFETCH(const int, most);
        const auto places = static_cast<std::size_t>(most);
        AnswerQueue queue(0, places);
        GateSession session;
        std::size_t n_ended = 0, n_taken = 0, n_done = 0;
        const auto work = [&](Session&, const std::stop_token&) { ++n_done; };
        const auto ended = [&] {
            ++n_ended;
            n_taken += queue.submit(work) ? 1 : 0;
        };
        for (std::size_t i = 0; i < places; ++i) QVERIFY(queue.submit(work, ended));
        QVERIFY(!queue.submit(work));
        while (queue.run_next(session, {})) {
        }
        QCOMPARE(n_ended, places);
        QCOMPARE(n_taken, places);
        QCOMPARE(n_done, 2 * places);
        // Work that is dropped does not end.
        QVERIFY(queue.submit(work, ended));
        queue.close();
        QCOMPARE(n_ended, places);
    }

    void queue_togetherWithOthers_beginsNoMoreThanItMay() {
        AnswerQueue queue(8, 2);
        GateSession session;
        int n_done = 0;
        const auto add = [&](int n) {
            for (int i = 0; i < n; ++i) {
                queue.submit([&](Session& beside, const std::stop_token& stop) {
                    GenerationRequest request;
                    beside.generate(request, {}, stop);
                    ++n_done;
                    if (n_done == 5) queue.set_alone(true);
                });
            }
        };
        add(8);
        QVERIFY(queue.run_next(session, {}, 3));
        QCOMPARE(n_done, 3);
        QVERIFY(queue.run_next(session, {}));
        QVERIFY2(n_done == 5 || n_done == 6, std::to_string(n_done).c_str());  // what was begun is done
        const int n_before = n_done;
        QVERIFY(queue.run_next(session, {}));
        QCOMPARE(n_done, n_before + 1);
        queue.set_alone(false);
        QVERIFY(queue.run_next(session, {}));
        QCOMPARE(n_done, 8);
    }

    void queue_closed_dropsAndStops() {
        AnswerQueue queue(4);
        GateSession session;
        bool stopped = false, dropped = true;
        queue.submit([&](Session&, const std::stop_token& stop) {
            queue.close();
            stopped = stop.stop_requested();
        });
        queue.submit([&](Session&, const std::stop_token&) { dropped = false; });
        QVERIFY(queue.wait({}));
        QVERIFY(queue.run_next(session, {}));
        QVERIFY(!queue.run_next(session, {}));
        QVERIFY(stopped && dropped);
        QVERIFY(!queue.wait({}));
        QVERIFY(!queue.submit([](Session&, const std::stop_token&) {}));
    }

    void queue_stopOfItsOwner_endsWaitingAndWork() {
        AnswerQueue queue(4);
        GateSession session;
        std::stop_source stop;
        bool stopped = false;
        queue.submit([&](Session&, const std::stop_token& token) {
            stop.request_stop();
            stopped = token.stop_requested();
        });
        QVERIFY(queue.run_next(session, stop.get_token()));
        QVERIFY(stopped);
        QVERIFY(!queue.wait(stop.get_token()));
    }

    void queue_saysWhenThereIsWork() {
        AnswerQueue queue(4);
        int calls = 0;
        queue.set_on_submit([&] { ++calls; });
        queue.submit([](Session&, const std::stop_token&) {});
        QCOMPARE(calls, 1);
        queue.close();
        queue.submit([](Session&, const std::stop_token&) {});
        QCOMPARE(calls, 1);
    }

    // ---- replies
    void tokens_areWrittenWhole() {
        QCOMPARE(token_text({1, 0, "ab", false}), std::string("ab"));
        QCOMPARE(token_text({1, 0, "\xE2\x82", false}), std::string("bytes:\\xe2\\x82"));
        QCOMPARE(token_text({1, 0, "</s>", true}), std::string("</s>"));
    }

    void completion_offsetsCountCharacters() {
        ApiRequest request = parse_completion_request(R"({"prompt": "x", "echo": true, "logprobs": 1})");
        OpenAiReply reply(request, {"m", "1", 2});
        AnswerPiece piece;
        piece.text =
            "\xC3\xA4"
            "b\xE2\x82\xAC!";
        piece.dropped_space = true;
        const auto add = [&](const char* bytes, double log_probability, bool control = false) {
            TokenChoice choice;
            choice.chosen = {1, log_probability, bytes, control};
            choice.alternatives = {{2, -0.5, "z", false}};
            piece.tokens.push_back(choice);
        };
        add("<s>", std::nan(""), true);
        add(" \xC3\xA4", -1);
        add("b\xE2\x82", -HUGE_VAL);
        add("\xAC", -2);
        reply.add(piece);
        piece = {};
        piece.finish_reason = "stop";
        piece.text = "!";
        add("!", -3);
        reply.add(piece);
        const QJsonObject object = QJsonDocument::fromJson(QByteArray::fromStdString(reply.whole({}))).object();
        const QJsonObject choice = object[QStringLiteral("choices")].toArray().at(0).toObject();
        const QJsonObject logprobs = choice[QStringLiteral("logprobs")].toObject();
        QCOMPARE(logprobs[QStringLiteral("text_offset")].toArray(), (QJsonArray{0, 0, 1, 3, 3}));
        const QJsonArray own = logprobs[QStringLiteral("token_logprobs")].toArray();
        QVERIFY(own[0].isNull());
        QCOMPARE(own[2].toDouble(), -9999.0);
        QVERIFY(logprobs[QStringLiteral("top_logprobs")].toArray().at(0).isNull());
        QCOMPARE(logprobs[QStringLiteral("top_logprobs")].toArray().at(1).toObject(),
                 (QJsonObject{{QStringLiteral("z"), -0.5}, {QStringLiteral(" \u00E4"), -1}}));
        QCOMPARE(choice[QStringLiteral("finish_reason")].toString(), QStringLiteral("stop"));
    }
};

QTEST_GUILESS_MAIN(TestServeParts)
#include "tst_serve_parts.moc"
