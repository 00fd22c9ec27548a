// Answers that are held to a form, by the demo model: schemas of many kinds at a high
// temperature, grammars, several answers, thoughts, and what is refused.

#include <random>

#include <QtTest>

#include "engine/error.h"
#include "engine/run/answer_constraint.h"
#include "engine/run/local_session.h"
#include "engine/text/gbnf.h"
#include "engine/text/json_schema_grammar.h"
#include "tests/engine/schema_check.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

using Json = nlohmann::ordered_json;

std::shared_ptr<const Grammar> shared(Grammar grammar) {
    return std::make_shared<const Grammar>(std::move(grammar));
}

// Schemas of the kinds that JSON Schema's test suite has, bounded so that an answer ends.
class SchemaMaker {
  public:
    explicit SchemaMaker(unsigned seed) : random_(seed) {}

    Json make() {
        definitions_ = Json::object();
        Json schema = pick(4) == 0 ? of_kind(pick(12), 0) : object(0);
        if (!definitions_.empty()) schema["$defs"] = definitions_;
        if (pick(4) == 0) schema["title"] = "Made";
        return schema;
    }

  private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    Json value(int depth) { return of_kind(depth > 2 ? pick(8) : pick(14), depth); }

    Json of_kind(int kind, int depth) {
        switch (kind) {
            case 0:
                return string();
            case 1:
                return {{"type", "boolean"}};
            case 2:
                return {{"type", Json::array({"null", "integer"})},
                        {"minimum", pick(50) - 25},
                        {"maximum", 30 + pick(900)}};
            case 3:
                return number();
            case 4:
                return {
                    {"enum", Json::array({"red", "gr\u00fcn", 3, nullptr, Json{{"a", Json::array({1, 2})}}, "\"\\"})}};
            case 5:
                return {{"const", pick(2) == 0 ? Json("fixed \u20ac") : Json::array({true, pick(100)})}};
            case 6:
                return {{"type", "string"},
                        {"format",
                         std::vector<const char*>{"date", "time", "uuid", "ipv4"}[static_cast<std::size_t>(pick(4))]}};
            case 7:
                return {{"type", "string"},
                        {"pattern", std::vector<const char*>{"^[A-Z]{2}-[0-9]{3,5}$", "^(ab|c.)+?[^x]?$",
                                                             "^\\w{1,8}@\\w{1,8}\\.org$", "^\\d+\\s\\S{2}$",
                                                             "^\"[\\\\a]{1,3}\"$"}[static_cast<std::size_t>(pick(5))]}};
            case 8:
                return array(depth);
            case 9:
                return {{"type", "array"},
                        {"prefixItems", Json::array({value(depth + 1), value(depth + 1)})},
                        {"items", pick(2) == 0 ? Json(false) : string()},
                        {"minItems", pick(3)},
                        {"maxItems", 2 + pick(2)}};
            case 10:
                return {{pick(2) == 0 ? "anyOf" : "oneOf",
                         Json::array({value(depth + 1), value(depth + 1), Json{{"type", "null"}}})}};
            case 11:
                return reference(depth);
            case 12: {
                Json open = object(depth + 1);
                open.erase("additionalProperties");
                return {{"allOf", Json::array({open, Json{{"properties", {{"more", number()}}},
                                                          {"required", Json::array({"more"})}}})}};
            }
            default:
                return object(depth);
        }
    }
    Json string() {
        Json schema = {{"type", "string"}};
        if (pick(3) == 0) schema["minLength"] = pick(4);
        if (pick(3) != 0) schema["maxLength"] = 4 + pick(20);
        return schema;
    }
    Json number() {
        if (pick(2) == 0) return {{"type", pick(2) == 0 ? "number" : "integer"}};
        Json schema = {{"type", pick(2) == 0 ? "number" : "integer"}};
        const int low = pick(2000) - 1000;
        schema[pick(3) == 0 ? "exclusiveMinimum" : "minimum"] = low;
        schema[pick(3) == 0 ? "exclusiveMaximum" : "maximum"] = low + 2 + pick(3000);
        return schema;
    }
    Json array(int depth) {
        const int least = pick(3);
        return {{"type", "array"}, {"items", value(depth + 1)}, {"minItems", least}, {"maxItems", least + pick(3)}};
    }
    Json object(int depth) {
        static const std::vector<std::string> names = {"name", "size", "a b", "\u00e4", "q\"", "list",
                                                       "of",   "type", "x/y", "\\",     "id",  "kind"};
        Json properties = Json::object(), required = Json::array();
        const int n = pick(5);
        for (int i = 0; i < n; ++i) {
            const std::string& name = names[static_cast<std::size_t>(pick(static_cast<int>(names.size())))];
            properties[name] = value(depth + 1);
            if (pick(2) == 0) required.push_back(name);
        }
        Json schema = {{"type", "object"}, {"properties", properties}};
        if (!required.empty()) schema["required"] = required;
        if (pick(3) != 0 || depth > 1) {
            schema["additionalProperties"] = false;
        } else if (pick(3) == 0) {
            schema["additionalProperties"] = {{"type", "boolean"}};
        }
        return schema;
    }
    Json reference(int depth) {
        const std::string name = "d" + std::to_string(definitions_.size());
        definitions_[name] = true;
        if (pick(2) == 0) {
            definitions_[name] = value(depth + 2);
        } else {  // itself, in a list that may be empty
            definitions_[name] = {
                {"type", "object"},
                {"properties",
                 {{"of", {{"type", "array"}, {"items", {{"$ref", "#/$defs/" + name}}}, {"maxItems", 1}}},
                  {"n", {{"type", "integer"}, {"minimum", 0}, {"maximum", 9}}}}},
                {"required", Json::array({"n"})},
                {"additionalProperties", false}};
        }
        return {{"$ref", "#/$defs/" + name}};
    }

    std::mt19937 random_;
    Json definitions_;
};

}  // namespace

class TestConstrainedAnswers : public QObject {
    Q_OBJECT

    LocalSession m_session;

    static GenerationRequest request(Grammar grammar, std::uint64_t seed = 1) {
        GenerationRequest request;
        request.messages = {{Role::kUser, "Tell me a story about a fox."}};
        request.grammar = shared(std::move(grammar));
        request.sampler.temperature = 1.5F;
        request.sampler.top_k = 0;
        request.sampler.top_p = 1;
        request.sampler.seed = seed;
        return request;
    }
    QString error_of(const GenerationRequest& request) {
        try {
            m_session.generate(request, {}, {});
        } catch (const Error& error) {
            return QString::fromUtf8(error.what());
        }
        return {};
    }

  private Q_SLOTS:
    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.compute = ComputeMode::kF32;
        request.context = 2048;
        request.n_threads = 1;  // tests run side by side, and threads would wait for each other
        request.checks_costs = false;
        request.learn_placement = false;
        m_session.load(request, {}, {});
    }

    void manySchemas_atAHighTemperature_giveValidJson_data() {
        QTest::addColumn<unsigned>("first");
        for (unsigned first = 0; first < 500; first += 50) QTest::addRow("from %u on", first) << first;
    }
    void manySchemas_atAHighTemperature_giveValidJson() {
        QFETCH(const unsigned, first);
        int n_long = 0;
        std::int64_t n_tokens = 0;
        for (unsigned i = first; i < first + 50; ++i) {
            const Json schema = SchemaMaker(i).make();
            const std::string shown = "schema " + std::to_string(i) + " " + schema.dump();
            GenerationResult result;
            // A text or a list without a bound may fill the context; then another one is drawn.
            for (unsigned again = 0; again < 5; ++again) {
                try {
                    result = m_session.generate(request(json_schema_grammar(schema), i + 1 + 1000 * again), {}, {});
                } catch (const Error& error) {
                    QFAIL((shown + ": " + error.what()).c_str());
                }
                if (result.finish != FinishReason::kContextFull) break;
                ++n_long;
            }
            const std::string said = shown + "\nanswer " + result.text;
            n_tokens += static_cast<std::int64_t>(result.tokens.size());
            QCOMPARE(result.finish, FinishReason::kEndOfTurn);
            const Json value = Json::parse(result.text, nullptr, false);
            QVERIFY2(!value.is_discarded(), said.c_str());
            QVERIFY2(SchemaCheck(schema).fits(value), said.c_str());
        }
        qInfo("%lld tokens", static_cast<long long>(n_tokens));
        QVERIFY(n_long < 10);
    }

    void grammar_choosesTheBestOfWhatItAllows() {
        GenerationRequest one = request(parse_gbnf("root ::= \"yes\" | \"no\" | \"may\" \"be\"?"));
        one.sampler.temperature = 0;
        const GenerationResult result = m_session.generate(one, {}, {});
        QVERIFY2(result.text == "yes" || result.text == "no" || result.text == "may" || result.text == "maybe",
                 result.text.c_str());
        QCOMPARE(result.finish, FinishReason::kEndOfTurn);
        // The same with the answer's tokens on the way.
        std::string streamed;
        m_session.generate(one, [&](const TextDelta& delta) { streamed += delta.text; }, {});
        QCOMPARE(streamed, result.text);
        // Bias cannot bring in what is excluded.
        one.sampler.logit_bias = {{result.tokens[0], -100.0F}, {TokenId{100}, 100.0F}};
        const std::string other = m_session.generate(one, {}, {}).text;
        QVERIFY2(other == "yes" || other == "no" || other == "may" || other == "maybe", other.c_str());
    }

    void text_beginsWithoutTheTokenizersBlank_orWithTheGrammars() {
        for (const char* root :
             {"root ::= \"The fox\"", "root ::= \" The fox\"", "root ::= \"\xF0\x9F\xA6\x8A\xE2\x82\xAC\" [a-c]"}) {
            const GenerationResult result = m_session.generate(request(parse_gbnf(root)), {}, {});
            std::string text = result.text;
            if (std::string(root).find("\" The") != std::string::npos) text.insert(0, text.starts_with(' ') ? "" : " ");
            const Grammar grammar = parse_gbnf(root);
            GrammarAutomaton automaton(grammar);
            const auto state = automaton.read(automaton.start(), text);
            QVERIFY2(state != GrammarAutomaton::kDead && automaton.accepts(state), result.text.c_str());
        }
    }

    void severalAnswers_haveTheFormEach() {
        GenerationRequest several = request(json_schema_grammar(
            {{"type", "array"}, {"items", {{"type", "integer"}}}, {"minItems", 2}, {"maxItems", 4}}));
        several.n_answers = 5;
        const GenerationResult result = m_session.generate(several, {}, {});
        QCOMPARE(result.answers.size(), std::size_t{5});
        QSet<QString> texts;
        for (const Answer& answer : result.answers) {
            const Json value = Json::parse(answer.text, nullptr, false);
            QVERIFY2(value.is_array() && value.size() >= 2 && value.size() <= 4, answer.text.c_str());
            QCOMPARE(answer.finish, FinishReason::kEndOfTurn);
            texts.insert(QString::fromStdString(answer.text));
        }
        QVERIFY(texts.size() > 2);
    }

    void begunAnswer_isPartOfTheForm() {
        GenerationRequest begun = request(
            json_schema_grammar({{"properties", {{"ab", {{"type", "integer"}, {"minimum", 10}, {"maximum", 99}}}}},
                                 {"required", Json::array({"ab"})}}));
        begun.messages.push_back({Role::kAssistant, "{\"a"});
        begun.continue_last = true;
        const std::string rest = m_session.generate(begun, {}, {}).text;
        const Json value = Json::parse("{\"a" + rest, nullptr, false);
        QVERIFY2(value.is_object() && value["ab"].is_number_integer(), rest.c_str());
        begun.messages.back().content = "Well";
        QVERIFY(error_of(begun).startsWith(QStringLiteral("The beginning of the answer has another form")));
    }

    void whatCannotBe_isSaid() {
        GenerationRequest one = request(parse_gbnf("root ::= \"a\""));
        one.beam.width = 2;
        QVERIFY(error_of(one).startsWith(QStringLiteral("Beam search and an answer of a given form")));
        one.beam.width = 1;
        one.ignore_end = true;
        QVERIFY(error_of(one).contains(QStringLiteral("ignore_end")));
        one.ignore_end = false;
        one.max_tokens = 1;
        one.grammar = shared(parse_gbnf("root ::= [a-z]{200}"));
        QCOMPARE(m_session.generate(one, {}, {}).finish, FinishReason::kMaxTokens);
        one.max_tokens = 0;
        QVERIFY(!m_session.generate(request(parse_gbnf("root ::= \"a\"")), {}, {}).text.empty());  // and goes on
    }

    // Formats of thoughts on the demo model's tokens.
    void thoughts_areFree_andTheAnswerFollowsThem() {
        const ModelText text(*m_session.model());
        ThinkingFormat format;
        format.kind = ThinkingFormat::Kind::kTags;
        format.open = {"<think>", -1};
        format.close = {"</think>", -1};
        const auto write = [&](const std::string& reply, bool in_thought) {
            GenerationRequest one = request(parse_gbnf("root ::= \"[\" [0-9]+ \"]\""));
            ThoughtSplitter splitter(format, in_thought);
            const auto constraint = AnswerConstraint::make(text, one, {}, splitter);
            std::string problem;
            for (const char c : reply) {  // byte tokens alone
                TokenId token = -1;
                for (TokenId id = 0; id < text.vocab_size() && token < 0; ++id) {
                    if (text.piece(id) == std::string(1, c)) token = id;
                }
                if (token < 0 || !constraint->mask().has(token)) return problem + "refused at " + c;
                const bool was = splitter.in_thought();
                const std::string answer = splitter.push(token, text.piece(token)).answer;
                constraint->push(token, was, splitter, answer);
            }
            for (const TokenId end : text.end_tokens()) {
                if (!constraint->is_complete() && constraint->mask().has(end)) return std::string("may end");
            }
            return std::string(constraint->is_complete() ? "complete" : "goes on");
        };
        QCOMPARE(write("<think>Hm, ] is it?</think>[42]", false), std::string("complete"));
        QCOMPARE(write("[42]", false), std::string("complete"));
        QCOMPARE(write("<think>Hm", false), std::string("goes on"));
        QCOMPARE(write("Well", false), std::string("refused at W"));
        QCOMPARE(write("Hm</think>\n\n[1", true), std::string("goes on"));
        QCOMPARE(write("Hm</think>x", true), std::string("refused at x"));
        QCOMPARE(write("<think>a</think>[1]", true), std::string("complete"));
    }
};

QTEST_GUILESS_MAIN(TestConstrainedAnswers)
#include "tst_constrained_answers.moc"
