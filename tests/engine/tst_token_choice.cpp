// Log probabilities of tokens: the arithmetic against a plain softmax; and those of the
// demo model's answers and prompts against the logits of the same tokens, computed
// separately.

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <QtTest>

#include "engine/error.h"
#include "engine/eval/logits.h"
#include "engine/run/local_session.h"
#include "engine/run/model_text.h"
#include "engine/run/token_choice.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 4);
    std::vector<float> logits(n);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

// The definition, in long double, without anything subtracted.
std::vector<double> softmax(const std::vector<float>& logits) {
    long double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
    std::vector<double> shares;
    for (const float logit : logits) {
        shares.push_back(static_cast<double>(std::exp(static_cast<long double>(logit)) / sum));
    }
    return shares;
}

std::vector<TokenId> ids_of(const std::vector<TokenProbability>& tokens) {
    std::vector<TokenId> ids;
    for (const TokenProbability& token : tokens) ids.push_back(token.token);
    return ids;
}

GenerationRequest story(int max_tokens, int n_alternatives) {
    GenerationRequest request;
    request.messages = {{Role::kUser, "Tell me a story about a fox."}};
    request.sampler.temperature = 0;
    request.max_tokens = max_tokens;
    request.n_alternatives = n_alternatives;
    return request;
}

}  // namespace

class TestTokenChoice : public QObject {
    Q_OBJECT

    LocalSession m_session;

    LoadedModel& model() { return *m_session.model(); }
    std::vector<TokenId> prompt_of(const GenerationRequest& request) {
        return ModelText(model()).prompt_tokens(request);
    }
    // The choices of tokens[first ...] have the model's probabilities after all before.
    void compare(const std::vector<TokenChoice>& choices, const std::vector<TokenId>& tokens, std::size_t first,
                 std::size_t n_alternatives) {
        const std::vector<std::vector<float>> logits = compute_logits(model(), tokens, true);
        QCOMPARE(choices.size(), tokens.size() - first);
        for (std::size_t i = 0; i < choices.size(); ++i) {
            const std::vector<double> shares = softmax(logits[first + i - 1]);
            QCOMPARE(choices[i].chosen.token, tokens[first + i]);
            const auto is_share = [&](const TokenProbability& token) {
                const double share = shares[static_cast<std::size_t>(token.token)];
                // Steps of one token add in another order than steps of many.
                return std::abs(std::exp(token.log_probability) - share) < 2e-5;
            };
            QVERIFY(is_share(choices[i].chosen));
            QCOMPARE(choices[i].alternatives.size(), n_alternatives);
            for (const TokenProbability& token : choices[i].alternatives) QVERIFY(is_share(token));
        }
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
    }
    void init() { m_session.reset_conversation(); }

    void probabilities_areThoseOfASoftmaxAndSumToOne() {
        const std::vector<float> logits = random_logits(1013, 1);
        const std::vector<double> shares = softmax(logits);
        double sum = 0;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            const double share = std::exp(log_probability(logits, static_cast<TokenId>(i)));
            QVERIFY(std::abs(share - shares[i]) <= 1e-12 * shares[i]);
            sum += share;
        }
        QVERIFY(std::abs(sum - 1) < 1e-12);
    }

    void largeLogits_doNotOverflow() {
        std::vector<float> logits = random_logits(64, 2);
        const double expected = log_probability(logits, 5);
        for (float& logit : logits) logit = std::round(logit) + 30000;
        std::vector<float> small = logits;
        for (float& logit : small) logit -= 30000;
        QCOMPARE(log_probability(logits, 5), log_probability(small, 5));
        QVERIFY(std::isfinite(expected) && expected < 0);
    }

    void alternatives_areTheBestInOrder_data() {
        QTest::addColumn<int>("vocab");
        QTest::addColumn<int>("n");
        for (const int vocab : {1, 7, 20, 21, 5000}) {
            for (const int n : {0, 1, 2, 20}) {
                QTest::addRow("%d of %d", n, vocab) << vocab << n;
            }
        }
    }
    void alternatives_areTheBestInOrder() {
        QFETCH(int, vocab);
        QFETCH(int, n);
        std::vector<float> logits = random_logits(static_cast<std::size_t>(vocab), 3);
        for (float& logit : logits) logit = std::round(logit);  // many are equal
        std::vector<TokenId> expected(logits.size());
        std::iota(expected.begin(), expected.end(), 0);
        std::stable_sort(expected.begin(), expected.end(), [&](TokenId a, TokenId b) {
            return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
        });
        expected.resize(static_cast<std::size_t>(std::min(n, vocab)));
        const TokenChoice choice = choice_of(logits, vocab - 1, n);
        QCOMPARE(ids_of(choice.alternatives), expected);
        QCOMPARE(choice.chosen.token, vocab - 1);
        for (const TokenProbability& token : choice.alternatives) {
            QCOMPARE(token.log_probability, log_probability(logits, token.token));
        }
    }

    void logitsThatAreNoNumbers_countForNothing() {
        const std::vector<float> logits = {1, kNan, 2, -kInfinity};
        QVERIFY(std::abs(log_probability(logits, 0) + std::log(1 + std::exp(1.0))) < 1e-12);
        QCOMPARE(log_probability(logits, 1), -HUGE_VAL);
        QCOMPARE(log_probability(logits, 3), -HUGE_VAL);
        QCOMPARE(ids_of(choice_of(logits, 0, 20).alternatives), (std::vector<TokenId>{2, 0, 3}));
        const std::vector<float> infinite = {1, kInfinity, kInfinity, kNan};
        QVERIFY(std::abs(log_probability(infinite, 2) + std::log(2.0)) < 1e-12);
        QCOMPARE(log_probability(infinite, 0), -HUGE_VAL);
        const std::vector<float> nothing = {kNan, kNan};
        QCOMPARE(log_probability(nothing, 0), -HUGE_VAL);
        QVERIFY(choice_of(nothing, 0, 2).alternatives.empty());
        const std::vector<float> never = {-kInfinity, -kInfinity};
        QCOMPARE(log_probability(never, 1), -HUGE_VAL);
    }

    void answer_hasWhatTheModelGaveItsTokens_data() {
        QTest::addColumn<float>("temperature");
        QTest::addColumn<float>("penalty");
        QTest::addColumn<int>("alternatives");
        QTest::newRow("greedy") << 0.0F << 1.0F << 3;
        QTest::newRow("hot, with a penalty") << 1.7F << 1.5F << 20;
        QTest::newRow("no alternatives") << 1.0F << 1.0F << 0;
    }
    void answer_hasWhatTheModelGaveItsTokens() {
        QFETCH(float, temperature);
        QFETCH(float, penalty);
        QFETCH(int, alternatives);
        GenerationRequest request = story(12, alternatives);
        request.sampler.temperature = temperature;
        request.sampler.repeat_penalty = penalty;
        request.sampler.seed = 11;
        std::vector<TokenChoice> streamed;
        const GenerationResult result = m_session.generate(request,
                                                           [&](const TextDelta& delta) {
                                                               QCOMPARE(delta.choice.has_value(), delta.token >= 0);
                                                               if (delta.choice.has_value())
                                                                   streamed.push_back(*delta.choice);
                                                           },
                                                           {});
        QVERIFY(result.tokens.size() > 4);
        QVERIFY(streamed == result.choices);
        std::vector<TokenId> tokens = prompt_of(request);
        const std::size_t first = tokens.size();
        tokens.insert(tokens.end(), result.tokens.begin(), result.tokens.end());
        compare(result.choices, tokens, first, static_cast<std::size_t>(alternatives));

        std::string text;
        for (const TokenChoice& choice : result.choices) text += choice.chosen.bytes;
        QCOMPARE(QString::fromStdString(text).trimmed(), QString::fromStdString(result.text).trimmed());
        if (temperature == 0) {
            for (const TokenChoice& choice : result.choices) QCOMPARE(choice.chosen, choice.alternatives.front());
        }
    }

    void answer_isTheSameWithoutThem() {
        GenerationRequest request = story(12, 5);
        request.sampler.temperature = 1;
        request.sampler.seed = 3;
        const GenerationResult with = m_session.generate(request, {}, {});
        request.n_alternatives = -1;
        const GenerationResult without =
            m_session.generate(request, [](const TextDelta& delta) { QVERIFY(!delta.choice.has_value()); }, {});
        QCOMPARE(without.tokens, with.tokens);
        QVERIFY(without.choices.empty() && without.prompt_choices.empty());
    }

    void severalAnswers_haveTheirOwn() {
        GenerationRequest request = story(8, 2);
        request.sampler.temperature = 1;
        request.sampler.seed = 5;
        request.n_answers = 3;
        const GenerationResult result = m_session.generate(request, {}, {});
        QCOMPARE(result.answers.size(), std::size_t{3});
        QVERIFY(result.choices == result.answers[0].choices);
        for (const Answer& answer : result.answers) {
            QCOMPARE(answer.finish, FinishReason::kMaxTokens);
            QCOMPARE(answer.choices.size(), answer.tokens.size());
            double sum = 0;
            for (std::size_t i = 0; i < answer.tokens.size(); ++i) {
                QCOMPARE(answer.choices[i].chosen.token, answer.tokens[i]);
                sum += answer.choices[i].chosen.log_probability;
            }
            QVERIFY(std::abs(sum - answer.log_probability) < 1e-9);
        }
    }

    void tokenThatEndsAnAnswer_isThereToo_data() {
        QTest::addColumn<int>("answers");
        QTest::newRow("one") << 1;
        QTest::newRow("three") << 3;
    }
    void tokenThatEndsAnAnswer_isThereToo() {
        QFETCH(int, answers);
        GenerationRequest request = story(200, 2);
        request.messages = {{Role::kUser, "Hello"}};
        request.sampler.temperature = answers > 1 ? 1 : 0;
        request.sampler.seed = 5;
        request.n_answers = answers;
        const GenerationResult result = m_session.generate(request, {}, {});
        QCOMPARE(result.finish, FinishReason::kEndOfTurn);
        QCOMPARE(result.choices.size(), result.tokens.size());
        QVERIFY(result.end_choice.has_value() && result.end_choice->chosen.is_control);
        QCOMPARE(result.end_choice->chosen.bytes, std::string("</s>"));
        if (answers == 1) QCOMPARE(result.end_choice->chosen, result.end_choice->alternatives.front());
        for (const Answer& answer : result.answers) {
            if (answer.finish != FinishReason::kEndOfTurn) continue;
            double sum = answer.end_choice->chosen.log_probability;
            for (const TokenChoice& choice : answer.choices) sum += choice.chosen.log_probability;
            QVERIFY(std::abs(sum - answer.log_probability) < 1e-9);
        }
        QVERIFY(!m_session.generate(story(3, 2), {}, {}).end_choice.has_value());
    }

    void beamSearch_givesNone() {
        GenerationRequest request = story(6, 2);
        request.beam.width = 2;
        const GenerationResult result =
            m_session.generate(request, [](const TextDelta& delta) { QVERIFY(!delta.choice.has_value()); }, {});
        QVERIFY(!result.tokens.empty() && result.choices.empty());
        for (const Answer& answer : result.answers) QVERIFY(answer.choices.empty());
    }

    void tooManyAlternatives_areRefused() {
        for (const int n : {-2, 21}) {
            QVERIFY_EXCEPTION_THROWN(m_session.generate(story(2, n), {}, {}), Error);
        }
    }

    // Also if the KV cache holds the prompt already, and the answer is the same as
    // without.
    void prompt_isScoredWhole() {
        GenerationRequest request = story(10, -1);
        const GenerationResult plain = m_session.generate(request, {}, {});
        request.n_alternatives = 4;
        request.score_prompt = true;
        const GenerationResult scored = m_session.generate(request, {}, {});
        QCOMPARE(scored.reused_tokens, std::int64_t{0});
        QCOMPARE(scored.tokens, plain.tokens);
        const std::vector<TokenId> prompt = prompt_of(request);
        QCOMPARE(scored.prompt_choices.size(), prompt.size());
        QCOMPARE(scored.prompt_choices.front().chosen.token, prompt.front());
        QVERIFY(std::isnan(scored.prompt_choices.front().chosen.log_probability));
        QVERIFY(scored.prompt_choices.front().chosen.is_control);
        QCOMPARE(scored.prompt_choices.front().chosen.bytes, std::string("<s>"));
        compare({scored.prompt_choices.begin() + 1, scored.prompt_choices.end()}, prompt, 1, 4);
    }

    void promptAlone_isReadAndNothingAnswered() {
        GenerationRequest request = story(0, 0);
        request.score_prompt = true;
        request.prompt_only = true;
        const GenerationResult result = m_session.generate(request, [](const TextDelta&) { QFAIL("an answer"); }, {});
        QCOMPARE(result.finish, FinishReason::kMaxTokens);
        QVERIFY(result.tokens.empty() && result.text.empty());
        QCOMPARE(static_cast<std::int64_t>(result.prompt_choices.size()), result.prompt_tokens);
    }

    void promptInIds_isThatPrompt() {
        GenerationRequest request = story(8, -1);
        const GenerationResult asked = m_session.generate(request, {}, {});
        GenerationRequest ids = story(8, -1);
        ids.prompt_ids = prompt_of(request);
        ids.messages.clear();
        QCOMPARE(m_session.generate(ids, {}, {}).tokens, asked.tokens);
        QCOMPARE(m_session.text_of(asked.tokens), ModelText(model()).decode(asked.tokens, false));
    }

    void idsThatTheVocabularyHasNot_areRefused() {
        GenerationRequest request = story(2, -1);
        request.prompt_ids = {1, 1'000'000};
        try {
            m_session.generate(request, {}, {});
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidInput);
            QVERIFY2(QString::fromUtf8(error.what())
                         .startsWith(QStringLiteral("Token 2 of the prompt is 1000000; expected 0 to ")),
                     error.what());
        }
        request = story(2, -1);
        request.reply_begin = {-1};
        QVERIFY_EXCEPTION_THROWN(m_session.generate(request, {}, {}), Error);
    }

    void reply_goesOnAfterItsBeginning() {
        const GenerationResult whole = m_session.generate(story(12, -1), {}, {});
        QCOMPARE(whole.tokens.size(), std::size_t{12});
        GenerationRequest request = story(7, 1);
        request.reply_begin.assign(whole.tokens.begin(), whole.tokens.begin() + 5);
        const GenerationResult rest = m_session.generate(request, {}, {});
        QCOMPARE(rest.tokens, std::vector<TokenId>(whole.tokens.begin() + 5, whole.tokens.end()));
        QCOMPARE(ModelText(model()).decode(request.reply_begin, true) + rest.text, whole.text);

        request.reply_begin[4] = whole.tokens[4] == 300 ? 301 : 300;  // another token there: another story
        QVERIFY(m_session.generate(request, {}, {}).choices.size() == 7);
    }

    // Two of the three bytes of the euro sign: for any next token, no byte is lost.
    void reply_completesTheCharacterOfItsBeginning() {
        const std::vector<TokenId> euro = model().tokenizer()->encode("\xE2\x82\xAC");
        std::vector<TokenId> begin;
        for (const TokenId id : euro) {
            const std::string bytes = model().tokenizer()->piece_bytes(id);
            if (bytes == "\xE2" || bytes == "\x82") begin.push_back(id);
        }
        if (begin.size() != 2) QSKIP("the demo model has a token for the euro sign");
        for (const int answers : {1, 2}) {
            GenerationRequest request = story(4, -1);
            request.reply_begin = begin;
            request.n_answers = answers;
            const GenerationResult result = m_session.generate(request, {}, {});
            Utf8Stream stream;
            const std::string expected = stream.push("\xE2\x82" + ModelText(model()).bytes(result.tokens));
            QCOMPARE(result.text, expected + stream.finish());
        }
    }
};

QTEST_GUILESS_MAIN(TestTokenChoice)
#include "tst_token_choice.moc"
