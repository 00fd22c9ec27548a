// The local server over real sockets: every endpoint on the demo model, and failures with
// a session that answers only as far as the test allows.

#include <atomic>
#include <cstdio>
#include <future>
#include <thread>

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/local_session.h"
#include "engine/run/model_text.h"
#include "engine/run/sampler.h"
#include "engine/serve/api_server.h"
#include "tests/engine/loopback_client.h"
#include "tests/engine/running_server.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

class TestServe : public QObject {
    Q_OBJECT

    LocalSession m_session;
    std::unique_ptr<Running> m_demo;

    // The engine's own answer, by its thread.
    GenerationResult own(const GenerationRequest& request) {
        std::promise<GenerationResult> result;
        m_demo->server().queue().submit(
            [&](Session& session, const std::stop_token&) { result.set_value(session.generate(request, {}, {})); });
        return result.get_future().get();
    }

  private Q_SLOTS:
    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.kv = KvType::kF32;
        request.context = 512;
        request.learn_placement = false;
        m_session.load(request, {}, {});
        ApiServerSettings settings;
        settings.origins = {"http://localhost:3000"};
        m_demo = std::make_unique<Running>(m_session, m_session.model()->summary(), settings);
    }
    void cleanupTestCase() { m_demo.reset(); }

    // ---------------------------------------------------------------- endpoints
    void models_areListed() {
        const HttpResponse list = m_demo->get("/v1/models");
        QCOMPARE(list.status, 200);
        QVERIFY(list.whole);
        QCOMPARE(list.headers.at("content-type"), std::string("application/json"));
        const QJsonObject model = json_of(list)[QStringLiteral("data")].toArray().at(0).toObject();
        QCOMPARE(model[QStringLiteral("id")].toString(), QStringLiteral("demo-model"));
        QCOMPARE(json_of(m_demo->get("/v1/models/demo-model")), model);
        QCOMPARE(m_demo->get("/v1/models/gpt").status, 404);
    }

    void chat_isTheEnginesAnswer() {
        const HttpResponse response =
            m_demo->post(kChat, chat_body({{QStringLiteral("model"), QStringLiteral("demo-model")}}));
        const GenerationResult expected = own(story(12));
        QCOMPARE(response.status, 200);
        const QJsonObject choice = choice_of_reply(response);
        QCOMPARE(choice[QStringLiteral("message")].toObject()[QStringLiteral("content")].toString().toStdString(),
                 expected.text);
        QCOMPARE(choice[QStringLiteral("finish_reason")].toString(), QStringLiteral("length"));
        QVERIFY(choice[QStringLiteral("logprobs")].isNull());
        const QJsonObject usage = json_of(response)[QStringLiteral("usage")].toObject();
        QCOMPARE(usage[QStringLiteral("prompt_tokens")].toInteger(), expected.prompt_tokens);
        QCOMPARE(usage[QStringLiteral("completion_tokens")].toInteger(), qint64{12});
        QCOMPARE(usage[QStringLiteral("total_tokens")].toInteger(), expected.prompt_tokens + 12);
        QCOMPARE(json_of(response)[QStringLiteral("object")].toString(), QStringLiteral("chat.completion"));
    }

    void chat_streamed_isTheSameInPieces() {
        const QJsonObject usage{{QStringLiteral("include_usage"), true}};
        const HttpResponse response = m_demo->post(
            kChat, chat_body({{QStringLiteral("stream"), true}, {QStringLiteral("stream_options"), usage}}));
        QCOMPARE(response.status, 200);
        QVERIFY(response.whole);
        QCOMPARE(response.headers.at("content-type"), std::string("text/event-stream"));
        const QList<QJsonObject> events = events_of(response);
        QVERIFY(events.size() > 6);
        QVERIFY(response.body.ends_with("data: [DONE]\n\n"));
        std::string text;
        QStringList reasons;
        for (const QJsonObject& event : events.mid(0, events.size() - 2)) {
            QVERIFY(event[QStringLiteral("usage")].isNull());
            const QJsonObject choice = event[QStringLiteral("choices")].toArray().at(0).toObject();
            text += choice[QStringLiteral("delta")].toObject()[QStringLiteral("content")].toString().toStdString();
            if (choice[QStringLiteral("finish_reason")].isString()) {
                reasons << choice[QStringLiteral("finish_reason")].toString();
            }
        }
        QCOMPARE(text, own(story(12)).text);
        QCOMPARE(reasons, QStringList(QStringLiteral("length")));
        const QJsonObject last = events[events.size() - 2];
        QVERIFY(last[QStringLiteral("choices")].toArray().isEmpty());
        QCOMPARE(last[QStringLiteral("usage")].toObject()[QStringLiteral("completion_tokens")].toInt(), 12);
        QCOMPARE(events[0][QStringLiteral("choices")]
                     .toArray()
                     .at(0)
                     .toObject()[QStringLiteral("delta")]
                     .toObject()[QStringLiteral("role")]
                     .toString(),
                 QStringLiteral("assistant"));
    }

    void chat_logProbabilities_areTheEngines() {
        const HttpResponse response =
            m_demo->post(kChat, chat_body({{QStringLiteral("logprobs"), true}, {QStringLiteral("top_logprobs"), 3}}));
        GenerationRequest request = story(12);
        request.n_alternatives = 3;
        const GenerationResult expected = own(request);
        const QJsonArray content =
            choice_of_reply(response)[QStringLiteral("logprobs")].toObject()[QStringLiteral("content")].toArray();
        QCOMPARE(static_cast<std::size_t>(content.size()), expected.choices.size());
        for (int i = 0; i < content.size(); ++i) {
            const TokenChoice& choice = expected.choices[static_cast<std::size_t>(i)];
            const QJsonObject token = content[i].toObject();
            QVERIFY(std::abs(token[QStringLiteral("logprob")].toDouble() - choice.chosen.log_probability) < 1e-6);
            QCOMPARE(token[QStringLiteral("top_logprobs")].toArray().size(), qsizetype{3});
            QByteArray bytes;
            for (const QJsonValue& byte : token[QStringLiteral("bytes")].toArray())
                bytes += static_cast<char>(byte.toInt());
            QCOMPARE(bytes.toStdString(), choice.chosen.bytes);
        }
    }

    void stopText_endsTheAnswerBeforeIt_data() {
        QTest::addColumn<bool>("stream");
        QTest::newRow("whole") << false;
        QTest::newRow("streamed") << true;
    }
    void stopText_endsTheAnswerBeforeIt() {
        QFETCH(bool, stream);
        const std::string whole = own(story(12)).text;
        const std::size_t cut = whole.find(' ', whole.size() / 2);
        QVERIFY(cut != std::string::npos);
        const std::string stop = whole.substr(cut, 4);
        const HttpResponse response =
            m_demo->post(kChat, chat_body({{QStringLiteral("stop"), QJsonArray{QString::fromStdString(stop)}},
                                           {QStringLiteral("logprobs"), true},
                                           {QStringLiteral("stream"), stream}}));
        std::string text, reason, tokens;
        const auto take = [&](const QJsonObject& choice, const char* part) {
            text += choice[QLatin1String(part)].toObject()[QStringLiteral("content")].toString().toStdString();
            reason += choice[QStringLiteral("finish_reason")].toString().toStdString();
            for (const QJsonValue& token :
                 choice[QStringLiteral("logprobs")].toObject()[QStringLiteral("content")].toArray()) {
                tokens += token[QStringLiteral("token")].toString().toStdString();
            }
        };
        if (stream) {
            for (const QJsonObject& event : events_of(response)) {
                take(event[QStringLiteral("choices")].toArray().at(0).toObject(), "delta");
            }
        } else {
            take(choice_of_reply(response), "message");
        }
        QCOMPARE(text, whole.substr(0, whole.find(stop)));
        QCOMPARE(reason, std::string("stop"));
        // The tokens of the shown text, and no more than the one in which the stop text
        // begins.
        tokens.erase(0, tokens.find_first_not_of(' '));
        QVERIFY(tokens.starts_with(text) && tokens.size() < text.size() + 12);
    }

    void completion_echoesAndScoresThePrompt() {
        const HttpResponse response = m_demo->post(
            kCompletions, completion_body({{QStringLiteral("echo"), true}, {QStringLiteral("logprobs"), 2}}));
        QCOMPARE(response.status, 200);
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = "The fox went into the";
        request.sampler.temperature = 0;
        request.max_tokens = 6;
        request.n_alternatives = 2;
        request.score_prompt = true;
        const GenerationResult expected = own(request);
        const QJsonObject choice = choice_of_reply(response);
        QCOMPARE(choice[QStringLiteral("text")].toString().toStdString(), request.raw_prompt + expected.text);
        const QJsonObject logprobs = choice[QStringLiteral("logprobs")].toObject();
        const QJsonArray own_values = logprobs[QStringLiteral("token_logprobs")].toArray();
        const QJsonArray tokens = logprobs[QStringLiteral("tokens")].toArray();
        const QJsonArray offsets = logprobs[QStringLiteral("text_offset")].toArray();
        QCOMPARE(static_cast<std::size_t>(own_values.size()),
                 expected.prompt_choices.size() + expected.choices.size() + 1);
        QVERIFY(own_values[0].isNull());
        double sum = 0, expected_sum = 0;
        for (const QJsonValue& value : own_values) sum += value.toDouble();
        for (std::size_t i = 1; i < expected.prompt_choices.size(); ++i) {
            expected_sum += expected.prompt_choices[i].chosen.log_probability;
        }
        for (const TokenChoice& token : expected.choices) expected_sum += token.chosen.log_probability;
        QVERIFY(expected.end_choice.has_value());  // it ends within its six tokens
        expected_sum += expected.end_choice->chosen.log_probability;
        QVERIFY2(std::abs(sum - expected_sum) < 1e-6, qPrintable(QString::number(sum - expected_sum)));
        // Each token is in the text at its offset; the one that ends the answer is not.
        const QString text = choice[QStringLiteral("text")].toString();
        for (int i = 2; i + 1 < tokens.size(); ++i) {
            QCOMPARE(text.mid(offsets[i].toInt(), tokens[i].toString().size()), tokens[i].toString());
        }
        // The greedy answer is the best of its alternatives.
        const QJsonObject best = logprobs[QStringLiteral("top_logprobs")].toArray().last().toObject();
        for (const QJsonValue& value : best) QVERIFY(value.toDouble() <= own_values.last().toDouble());
    }

    // A client that writes the template's prompt itself gets the chat's tokens.
    void completion_readsSpecialTokens_unlessToldNotTo() {
        const auto prompt_tokens = [this](const QJsonObject& more) {
            QJsonObject body{{QStringLiteral("prompt"),
                              QStringLiteral("<s><|system|>Be brief.</s><|user|>Hi: you</s><|assistant|>")},
                             {QStringLiteral("max_tokens"), 1}};
            for (auto it = more.begin(); it != more.end(); ++it) body.insert(it.key(), it.value());
            const HttpResponse response = m_demo->post(kCompletions, body);
            return json_of(response)[QStringLiteral("usage")][QStringLiteral("prompt_tokens")].toInt();
        };
        QCOMPARE(prompt_tokens({}), 15);
        QCOMPARE(prompt_tokens({{QStringLiteral("parse_special"), true}}), 15);
        QCOMPARE(prompt_tokens({{QStringLiteral("parse_special"), false}}), 43);
    }

    // The requests of multiple-choice evaluations: token ids, a list of them, nothing or
    // one token to generate.
    void completion_ofTokenIds_isThatOfTheText() {
        const HttpResponse text = m_demo->post(kCompletions, completion_body({{QStringLiteral("echo"), true},
                                                                              {QStringLiteral("logprobs"), 1},
                                                                              {QStringLiteral("max_tokens"), 0}}));
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = "The fox went into the";
        QJsonArray ids;
        for (const TokenId id : ModelText(*m_session.model()).prompt_tokens(request)) ids.append(id);
        const HttpResponse of_ids =
            m_demo->post(kCompletions, completion_body({{QStringLiteral("prompt"), QJsonArray{ids, ids}},
                                                        {QStringLiteral("echo"), true},
                                                        {QStringLiteral("logprobs"), 1},
                                                        {QStringLiteral("max_tokens"), 0}}));
        QCOMPARE(of_ids.status, 200);
        QCOMPARE(json_of(of_ids)[QStringLiteral("choices")].toArray().size(), qsizetype{2});
        for (const int i : {0, 1}) {
            QCOMPARE(choice_of_reply(of_ids, i)[QStringLiteral("index")].toInt(), i);
            QCOMPARE(choice_of_reply(of_ids, i)[QStringLiteral("logprobs")][QStringLiteral("token_logprobs")],
                     choice_of_reply(text)[QStringLiteral("logprobs")][QStringLiteral("token_logprobs")]);
        }
        QCOMPARE(json_of(of_ids)[QStringLiteral("usage")][QStringLiteral("completion_tokens")].toInt(), 0);
        QCOMPARE(choice_of_reply(of_ids)[QStringLiteral("text")].toString().trimmed(),
                 QStringLiteral("The fox went into the"));
    }

    // Evaluations request one token more than they score, and drop the last one: it must
    // be there also when the answer ends at once.
    void completion_thatEndsAtOnce_hasTheTokenThatEndsIt_data() {
        QTest::addColumn<bool>("stream");
        QTest::newRow("whole") << false;
        QTest::newRow("streamed") << true;
    }
    void completion_thatEndsAtOnce_hasTheTokenThatEndsIt() {
        QFETCH(bool, stream);
        const QString prompt = QStringLiteral("The cat sat on the mat.");
        GenerationRequest request;
        request.raw = true;
        request.raw_prompt = prompt.toStdString();
        request.sampler.temperature = 0;
        request.max_tokens = 1;
        request.n_alternatives = 1;
        request.score_prompt = true;
        const GenerationResult expected = own(request);
        QCOMPARE(expected.finish, FinishReason::kEndOfTurn);
        QVERIFY(expected.tokens.empty() && expected.end_choice.has_value());
        const HttpResponse response = m_demo->post(kCompletions, completion_body({{QStringLiteral("prompt"), prompt},
                                                                                  {QStringLiteral("echo"), true},
                                                                                  {QStringLiteral("logprobs"), 1},
                                                                                  {QStringLiteral("stream"), stream},
                                                                                  {QStringLiteral("max_tokens"), 1}}));
        QString text;
        QJsonArray values, offsets;
        for (const QJsonObject& part : stream ? events_of(response) : QList<QJsonObject>{json_of(response)}) {
            const QJsonObject choice = part[QStringLiteral("choices")].toArray().at(0).toObject();
            text += choice[QStringLiteral("text")].toString();
            const QJsonObject logprobs = choice[QStringLiteral("logprobs")].toObject();
            for (const QJsonValue& value : logprobs[QStringLiteral("token_logprobs")].toArray()) values.append(value);
            for (const QJsonValue& value : logprobs[QStringLiteral("text_offset")].toArray()) offsets.append(value);
        }
        QCOMPARE(text, prompt);
        QCOMPARE(static_cast<std::size_t>(values.size()), expected.prompt_choices.size() + 1);
        QVERIFY(std::abs(values.last().toDouble() - expected.end_choice->chosen.log_probability) < 1e-6);
        QCOMPARE(offsets.last().toInt(), prompt.size());
    }

    void completion_ofSeveralTexts_streamed() {
        const QJsonArray prompts{QStringLiteral("The fox"), QStringLiteral("A dog")};
        const HttpResponse response = m_demo->post(kCompletions, completion_body({{QStringLiteral("prompt"), prompts},
                                                                                  {QStringLiteral("stream"), true},
                                                                                  {QStringLiteral("echo"), true}}));
        QStringList texts{{}, {}};
        for (const QJsonObject& event : events_of(response)) {
            const QJsonObject choice = event[QStringLiteral("choices")].toArray().at(0).toObject();
            texts[choice[QStringLiteral("index")].toInt()] += choice[QStringLiteral("text")].toString();
        }
        QVERIFY(texts[0].startsWith(QStringLiteral("The fox")) && texts[0].size() > 8);
        QVERIFY(texts[1].startsWith(QStringLiteral("A dog")));
    }

    void seed_decidesTheAnswer() {
        const auto text = [&](int seed) {
            return choice_of_reply(m_demo->post(
                kChat,
                chat_body({{QStringLiteral("temperature"), 1.5},
                           {QStringLiteral("seed"), seed},
                           {QStringLiteral("max_tokens"), 20}})))[QStringLiteral("message")][QStringLiteral("content")]
                .toString();
        };
        QCOMPARE(text(4), text(4));
        QVERIFY(text(4) != text(5));
    }

    // The prompt is read once; each choice is the answer to its own seed.
    void choices_areThoseOfTheirSeeds_data() {
        QTest::addColumn<bool>("stream");
        QTest::newRow("whole") << false;
        QTest::newRow("streamed") << true;
    }
    void choices_areThoseOfTheirSeeds() {
        QFETCH(bool, stream);
        const HttpResponse response = m_demo->post(
            kChat,
            chat_body({{QStringLiteral("n"), 3},
                       {QStringLiteral("temperature"), 1.5},
                       {QStringLiteral("seed"), 4},
                       {QStringLiteral("stream"), stream},
                       {QStringLiteral("stream_options"), QJsonObject{{QStringLiteral("include_usage"), true}}}}));
        QStringList texts{{}, {}, {}};
        qint64 prompt_tokens = 0;
        for (const QJsonObject& part : stream ? events_of(response) : QList<QJsonObject>{json_of(response)}) {
            for (const QJsonValue& choice : part[QStringLiteral("choices")].toArray()) {
                texts[choice[QStringLiteral("index")].toInt()] +=
                    choice[stream ? QStringLiteral("delta") : QStringLiteral("message")][QStringLiteral("content")]
                        .toString();
            }
            prompt_tokens =
                std::max(prompt_tokens, part[QStringLiteral("usage")][QStringLiteral("prompt_tokens")].toInteger());
        }
        GenerationRequest request = story(12);
        request.sampler = {.temperature = 1.5F, .top_k = 0, .top_p = 1};
        for (int i = 0; i < 3; ++i) {
            request.sampler.seed = answer_seed(4, static_cast<std::uint64_t>(i));
            const GenerationResult expected = own(request);
            QCOMPARE(texts[i].toStdString(), expected.text);
            QCOMPARE(prompt_tokens, expected.prompt_tokens);
            QCOMPARE(expected.reused_tokens, expected.prompt_tokens - 1);
        }
        QVERIFY(texts[0] != texts[1] && texts[1] != texts[2]);
    }

    void biasAndPenalties_changeTheAnswer_notTheProbabilities() {
        const auto first_token = [this](const QJsonObject& more) {
            QJsonObject body = chat_body({{QStringLiteral("logprobs"), true}, {QStringLiteral("top_logprobs"), 2}});
            for (auto it = more.begin(); it != more.end(); ++it) body[it.key()] = it.value();
            return choice_of_reply(m_demo->post(kChat, body))[QStringLiteral("logprobs")][QStringLiteral("content")]
                .toArray();
        };
        const QJsonArray plain = first_token({});
        GenerationRequest request = story(12);
        const TokenId best = own(request).tokens.front();
        const QJsonArray without =
            first_token({{QStringLiteral("logit_bias"), QJsonObject{{QString::number(best), -100}}}});
        QVERIFY(without[0][QStringLiteral("token")] != plain[0][QStringLiteral("token")]);
        QCOMPARE(without[0][QStringLiteral("token")],
                 plain[0][QStringLiteral("top_logprobs")][1][QStringLiteral("token")]);
        QCOMPARE(without[0][QStringLiteral("top_logprobs")], plain[0][QStringLiteral("top_logprobs")]);
        const HttpResponse foreign = m_demo->post(
            kChat, chat_body({{QStringLiteral("logit_bias"), QJsonObject{{QStringLiteral("99999999"), 1}}}}));
        QCOMPARE(foreign.status, 400);
        QVERIFY(message_of(foreign).startsWith(QStringLiteral("\"logit_bias\" names token 99999999")));
        // A long greedy answer repeats tokens; with penalties it repeats none of them more often.
        const auto most_often = [&](const QJsonObject& more) {
            QJsonObject body = more;
            body[QStringLiteral("max_tokens")] = 60;
            body[QStringLiteral("ignore_eos")] = true;
            QMap<QString, int> n;
            int most = 0;
            for (const QJsonValue& token : first_token(body))
                most = std::max(most, ++n[token[QStringLiteral("token")].toString()]);
            return most;
        };
        QVERIFY(most_often({{QStringLiteral("presence_penalty"), 2}, {QStringLiteral("frequency_penalty"), 2}}) <
                most_often({}));
    }

    void begunAnswer_isContinuedOnDemand() {
        GenerationRequest request = story(12);
        const GenerationResult whole = own(request);
        const std::size_t cut = whole.text.find(' ', whole.text.size() / 2);
        const QJsonArray messages{
            chat_body()[QStringLiteral("messages")].toArray().at(0),
            QJsonObject{{QStringLiteral("role"), QStringLiteral("assistant")},
                        {QStringLiteral("content"), QString::fromStdString(whole.text.substr(0, cut))}}};
        request.messages.push_back({Role::kAssistant, whole.text.substr(0, cut)});
        request.continue_last = true;
        const GenerationResult expected = own(request);
        const auto text_with = [&](const QJsonObject& more) {
            const HttpResponse response = m_demo->post(kChat, chat_body(more));
            return choice_of_reply(response)[QStringLiteral("message")][QStringLiteral("content")]
                .toString()
                .toStdString();
        };
        const std::string text =
            text_with({{QStringLiteral("messages"), messages}, {QStringLiteral("continue_final_message"), true}});
        QCOMPARE(text, expected.text);
        QVERIFY(text.starts_with(whole.text.substr(cut)));
        request.continue_last = false;  // a message of its own, unless a field says otherwise
        QCOMPARE(text_with({{QStringLiteral("messages"), messages}}), own(request).text);
    }

    void requestsThatTheEngineRefuses_are400() {
        QString longText;
        for (int i = 0; i < 600; ++i) longText += QStringLiteral("fox ");
        const HttpResponse tooLong =
            m_demo->post(kCompletions, completion_body({{QStringLiteral("prompt"), longText}}));
        QCOMPARE(tooLong.status, 400);
        QVERIFY2(message_of(tooLong).contains(QStringLiteral("the context of")), qPrintable(message_of(tooLong)));
        QCOMPARE(json_of(tooLong)[QStringLiteral("error")][QStringLiteral("code")].toString(),
                 QStringLiteral("prompt_longer_than_context"));
        const HttpResponse badId = m_demo->post(
            kCompletions,
            completion_body({{QStringLiteral("prompt"), QJsonArray{1, 99999999}}, {QStringLiteral("stream"), true}}));
        QCOMPARE(badId.status, 400);  // for a stream too: nothing was written yet
        QVERIFY(message_of(badId).startsWith(QStringLiteral("Token 2 of the prompt is 99999999")));
        const HttpResponse chat =
            m_demo->post(kChat, chat_body({{QStringLiteral("stream"), true},
                                           {QStringLiteral("messages"),
                                            QJsonArray{QJsonObject{{QStringLiteral("role"), QStringLiteral("user")},
                                                                   {QStringLiteral("content"), longText}}}}}));
        QCOMPARE(chat.status, 400);
        QCOMPARE(json_of(chat)[QStringLiteral("error")][QStringLiteral("code")].toString(),
                 QStringLiteral("prompt_longer_than_context"));
        QCOMPARE(m_demo->post(kChat, chat_body({{QStringLiteral("reasoning_effort"), QStringLiteral("high")}})).status,
                 400);
        const HttpResponse model = m_demo->post(kChat, chat_body({{QStringLiteral("model"), QStringLiteral("gpt-4")}}));
        QCOMPARE(model.status, 404);
        QCOMPARE(json_of(model)[QStringLiteral("error")][QStringLiteral("code")].toString(),
                 QStringLiteral("model_not_found"));
    }

    // By their size: neither the template nor the tokenizer has read them.
    void hugePrompts_areRefusedUnread_data() {
        QTest::addColumn<bool>("chat");
        QTest::addColumn<QByteArray>("body");
        QTest::newRow("a word") << false << "{\"prompt\": \"" + QByteArray(7'900'000, 'a') + "\"}";
        QTest::newRow("a word in a message")
            << true << "{\"messages\": [{\"role\": \"user\", \"content\": \"" + QByteArray(7'900'000, 'a') + "\"}]}";
        QTest::newRow("a word behind a thought")
            << true
            << "{\"messages\": [{\"role\": \"assistant\", \"content\": \"</think>" + QByteArray(7'900'000, 'a') +
                   "\"}]}";
        QTest::newRow("characters without width")
            << false << "{\"prompt\": \"" + QByteArray("\xE2\x80\x8B").repeated(2'600'000) + "\"}";
        QTest::newRow("messages") << true
                                  << R"({"messages": [)" +
                                         QByteArray(R"({"role": "user", "content": ""},)").repeated(200'000) +
                                         R"({"role": "user", "content": "a"}]})";
    }
    void hugePrompts_areRefusedUnread() {
        QFETCH(bool, chat);
        QFETCH(QByteArray, body);
        const HttpResponse response =
            m_demo->ask(m_demo->text("POST", chat ? kChat : kCompletions, body.toStdString()));
        QCOMPARE(response.status, 400);
        QVERIFY2(message_of(response).startsWith(QStringLiteral("The prompt has at least ")),
                 qPrintable(message_of(response)));
    }

    // The demo model was not made to call tools; the error names what its template lacks.
    void conversationOfAnAgent_isRefusedByWhatTheTemplateLacks() {
        const HttpResponse response = m_demo->ask(m_demo->text("POST", kChat, R"({"messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "tool_calls": [
             {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"}]})"));
        QCOMPARE(response.status, 400);
        QVERIFY2(message_of(response).contains(QStringLiteral("has no place for \"tool_calls\"")),
                 qPrintable(message_of(response)));
    }

    void healthAndMetrics() {
        QCOMPARE(json_of(m_demo->get("/health"))[QStringLiteral("status")].toString(), QStringLiteral("ok"));
        m_demo->post(kChat, chat_body());
        const HttpResponse metrics = m_demo->get("/metrics");
        QVERIFY(metrics.headers.at("content-type").starts_with("text/plain; version=0.0.4"));
        QVERIFY(metrics.body.find("offstage_http_replies_total{path=\"/v1/chat/completions\",status=\"200\"} ") !=
                std::string::npos);
        for (const char* name :
             {"offstage_answers_total ", "offstage_answer_tokens_total ", "offstage_queue_waiting 0"}) {
            QVERIFY2(metrics.body.find(name) != std::string::npos, metrics.body.c_str());
        }
        const HttpResponse head = m_demo->ask(m_demo->text("HEAD", "/health"));
        QCOMPARE(head.status, 200);
        QVERIFY(head.body.empty());
    }

    // ---------------------------------------------------------------- access
    void requests_withoutAccess_areRefused_data() {
        QTest::addColumn<QByteArray>("head");
        QTest::addColumn<int>("status");
        const QByteArray token = "Authorization: Bearer " + QByteArray::fromStdString(kToken) + "\r\n";
        const QByteArray host = "Host: 127.0.0.1\r\n";
        const QByteArray json = "Content-Type: application/json\r\nContent-Length: 2\r\n";
        const QByteArray get = "GET /v1/models HTTP/1.1\r\n", post = "POST /v1/chat/completions HTTP/1.1\r\n";
        QTest::newRow("no token") << get + host << 401;
        QTest::newRow("no token, to post") << post + host + json << 401;
        QTest::newRow("no token, no such path") << "GET /x HTTP/1.1\r\n" + host << 401;
        QTest::newRow("no token, health") << "GET /health HTTP/1.1\r\n" + host << 401;
        QTest::newRow("wrong token") << get + host + "Authorization: Bearer 0123456789abcdef0123456789abcdeF\r\n"
                                     << 401;
        QTest::newRow("another scheme") << get + host + "Authorization: Basic abc\r\n" << 401;
        QTest::newRow("two tokens") << get + host + token + token << 401;
        QTest::newRow("another host") << get + "Host: evil.example\r\n" + token << 403;
        QTest::newRow("two hosts") << get + host + "Host: evil.example\r\n" + token << 403;
        QTest::newRow("no host") << get + token << 403;
        QTest::newRow("another page") << get + host + token + "Origin: http://evil.example\r\n" << 403;
        QTest::newRow("a file's page") << get + host + token + "Origin: null\r\n" << 403;
        QTest::newRow("another page asks first")
            << "OPTIONS /v1/models HTTP/1.1\r\n" + host +
                   "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n"
            << 403;
        QTest::newRow("no such path") << "GET /v2 HTTP/1.1\r\n" + host + token << 404;
        QTest::newRow("a path upwards") << "GET /v1/../health HTTP/1.1\r\n" + host + token << 404;
        QTest::newRow("get for post") << "GET /v1/completions HTTP/1.1\r\n" + host + token << 405;
        QTest::newRow("post for get") << "POST /v1/models HTTP/1.1\r\n" + host + token + json << 405;
        QTest::newRow("delete") << "DELETE /v1/models HTTP/1.1\r\n" + host + token << 405;
        QTest::newRow("no type") << post + host + token + "Content-Length: 2\r\n" << 415;
        QTest::newRow("a form") << post + host + token +
                                       "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n"
                                << 415;
        QTest::newRow("compressed") << post + host + token + json + "Content-Encoding: gzip\r\n" << 415;
        QTest::newRow("no length") << post + host + token + "Content-Type: application/json\r\n" << 411;
        QTest::newRow("length no number")
            << post + host + token + "Content-Type: application/json\r\nContent-Length: -1\r\n"
            << 400;
        QTest::newRow("length twice") << post + host + token + json + "Content-Length: 3\r\n" << 400;
        QTest::newRow("length and chunks") << post + host + token + json + "Transfer-Encoding: chunked\r\n" << 400;
        QTest::newRow("another coding") << post + host + token +
                                               "Content-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n"
                                        << 400;
        QTest::newRow("too large") << post + host + token +
                                          "Content-Type: application/json\r\nContent-Length: 104857600\r\n"
                                   << 413;
        QTest::newRow("larger than any number")
            << post + host + token + "Content-Type: application/json\r\nContent-Length: 99999999999999999999999\r\n"
            << 413;
        QTest::newRow("too large, waiting to go on")
            << post + host + token +
                   "Content-Type: application/json\r\nContent-Length: 104857600\r\nExpect: 100-continue\r\n"
            << 413;
        QTest::newRow("headers without end") << get + host + "X: " + QByteArray(40000, 'a') + "\r\n" << 431;
        QTest::newRow("many headers") << get + host + QByteArray("X: aaaaaaaaaaaaaaaa\r\n").repeated(2000) << 431;
        QTest::newRow("no HTTP") << QByteArray("hello\r\n") << 400;
        QTest::newRow("a long path") << "GET /" + QByteArray(9000, 'a') + " HTTP/1.1\r\n" + host + token << 414;
    }
    void requests_withoutAccess_areRefused() {
        QFETCH(QByteArray, head);
        QFETCH(int, status);
        const HttpResponse response = m_demo->ask(head.toStdString() + "\r\n");
        QCOMPARE(response.status, status);
        QVERIFY(response.whole);
        QVERIFY2(!message_of(response).isEmpty(), response.body.c_str());
        QVERIFY(!response.headers.contains("access-control-allow-origin"));
    }

    void manyRanges_areNotLookedAt() {
        std::string ranges = "0-0";
        for (int i = 0; i < 1500; ++i) ranges += ",0-0";
        const HttpResponse response = m_demo->get("/health", "Range: bytes=" + ranges + "\r\n");
        QCOMPARE(response.status, 200);
        QCOMPARE(response.body, std::string(R"({"status":"ok"})"));
    }

    void allowedPage_isAnswered() {
        const std::string origin = "Origin: http://localhost:3000\r\n";
        const HttpResponse asks = m_demo->ask("OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + origin +
                                              "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
                                              "authorization,content-type\r\n\r\n");
        QCOMPARE(asks.status, 204);
        QCOMPARE(asks.headers.at("access-control-allow-origin"), std::string("http://localhost:3000"));
        QCOMPARE(asks.headers.at("access-control-allow-headers"), std::string("authorization,content-type"));
        const HttpResponse response = m_demo->get("/v1/models", origin);
        QCOMPARE(response.status, 200);
        QCOMPARE(response.headers.at("access-control-allow-origin"), std::string("http://localhost:3000"));
        const HttpResponse refused = m_demo->ask("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + origin + "\r\n");
        QCOMPARE(refused.status, 401);  // which the page may read
        QCOMPARE(refused.headers.at("access-control-allow-origin"), std::string("http://localhost:3000"));
    }

    // ---------------------------------------------------------------- bodies
    void badBodies_are400() {
        for (const char* body : {"", "{", "[]", "{\"messages\": 1}", "\xFF\xFE", "{\"a\":\"\\ud800\"}"}) {
            const HttpResponse response = m_demo->ask(m_demo->text("POST", kChat, body));
            QCOMPARE(response.status, 400);
            QVERIFY(!message_of(response).isEmpty());
        }
        std::string deep;
        for (int i = 0; i < 100000; ++i) deep += "[";
        QCOMPARE(m_demo->ask(m_demo->text("POST", kChat, deep)).status, 400);
    }

    void bodyInChunks_isRead_andNotBeyondItsLimit() {
        const std::string body = QJsonDocument(chat_body({{QStringLiteral("max_tokens"), 1}})).toJson().toStdString();
        const std::string head = "POST " + kChat + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + kToken +
                                 "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        const auto chunk = [](const std::string& bytes) {
            char size[20];
            std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
            return size + bytes + "\r\n";
        };
        QCOMPARE(m_demo->ask(head + chunk(body.substr(0, 10)) + chunk(body.substr(10)) + "0\r\n\r\n").status, 200);
        LoopbackClient endless(m_demo->port());
        endless.send(head);
        const std::string megabyte = chunk(std::string(1 << 20, ' '));
        for (int i = 0; i < 9; ++i) endless.send(megabyte);
        QCOMPARE(endless.read_response().status, 413);
    }

    void bodyThatEndsEarly_isDropped() {
        const std::uint64_t before = n_replies(m_demo->server());
        {
            LoopbackClient client(m_demo->port());
            client.send("POST " + kChat + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + kToken +
                        "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"mess");
        }
        QTRY_COMPARE_WITH_TIMEOUT(n_replies(m_demo->server()), before + 1, kPatienceMs);
        QCOMPARE(m_demo->get("/health").status, 200);
    }

    // Half of the clients leave, at every moment from before the request is complete to
    // the middle of the answer.
    void fiftyRequests_halfOfThemCutOff() {
        std::vector<std::jthread> threads;
        std::atomic<int> whole{0};
        ApiServerSettings settings;
        settings.most_waiting = 64;
        m_demo.reset();
        m_demo = std::make_unique<Running>(m_session, m_session.model()->summary(), settings);
        const std::string expected = own(story(3)).text;
        for (int i = 0; i < 10; ++i) {
            threads.emplace_back([&, i] {
                for (int j = 0; j < 5; ++j) {
                    const int n = 5 * i + j;
                    const std::string text = m_demo->text(
                        "POST", kChat,
                        QJsonDocument(
                            chat_body({{QStringLiteral("stream"), n % 4 < 2}, {QStringLiteral("max_tokens"), 3}}))
                            .toJson()
                            .toStdString());
                    LoopbackClient client(m_demo->port());
                    if (n % 2 == 0) {
                        client.send(text);
                        const HttpResponse response = client.read_response();
                        if (response.status == 200 && response.whole) ++whole;
                    } else {
                        client.send(std::string_view(text).substr(0, n % 3 == 0 ? text.size() / 2 : text.size()));
                        if (n % 3 != 0 && n % 5 == 0) client.read_some(1);
                    }
                }
            });
        }
        threads.clear();  // joined
        QCOMPARE(whole.load(), 25);
        QTRY_VERIFY_WITH_TIMEOUT(m_demo->server().queue().n_running() == 0 && m_demo->server().queue().n_waiting() == 0,
                                 kPatienceMs);
        const QJsonObject choice = choice_of_reply(m_demo->post(kChat, chat_body({{QStringLiteral("max_tokens"), 3}})));
        QCOMPARE(choice[QStringLiteral("message")][QStringLiteral("content")].toString().toStdString(), expected);
    }
};

QTEST_GUILESS_MAIN(TestServe)
#include "tst_serve.moc"
