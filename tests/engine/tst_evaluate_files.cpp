// The files of offstage-cli evaluate, and computations with them without a model:
// prompts, scored tokens, choices, logit files, and figures by hand.

#include <cmath>
#include <cstring>

#include <QDirIterator>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/eval/choice_evaluation.h"
#include "engine/eval/choice_files.h"
#include "engine/eval/csv.h"
#include "engine/eval/evaluation_progress.h"
#include "engine/eval/kl_divergence.h"
#include "engine/eval/logit_file.h"
#include "tests/engine/errors.h"
#include "tests/fuzz/evaluation_files.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::tests;

namespace {

constexpr auto kMmlu = ChoiceFormat::kMmlu;
constexpr auto kLlamaChoices = ChoiceFormat::kLlamaChoices;

std::vector<ChoiceTask> tasks_of(ChoiceFormat format, std::string_view data, std::string_view labels = {},
                                 std::string_view shots = {}, std::int64_t n_shots = 1) {
    ChoiceFiles files{{data, "data"},
                      {labels, labels.empty() ? "" : "labels"},
                      {shots, shots.empty() ? "" : "dev"},
                      n_shots,
                      "odd numbers"};
    return parse_choices(format, files);
}

std::size_t right_of(const ChoiceTask& task) {
    return static_cast<std::size_t>(std::find(task.is_right.begin(), task.is_right.end(), 1) - task.is_right.begin());
}

std::string number_bytes(std::uint32_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}
std::string text_bytes(const std::string& text) {
    return number_bytes(static_cast<std::uint32_t>(text.size())) + text;
}
std::string answer_bytes(const std::vector<std::string>& texts, const std::vector<std::uint32_t>& labels) {
    std::string bytes = number_bytes(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) bytes += text_bytes(text);
    for (const std::uint32_t label : labels) bytes += number_bytes(label);
    return bytes;
}

// A token per byte, and <s> (1) before a text if requested.
class ByteTokenizer final : public Tokenizer {
  public:
    explicit ByteTokenizer(bool adds_bos) : adds_bos_(adds_bos) {}
    std::int64_t vocab_size() const override { return 256; }
    TokenId bos() const override { return 1; }
    TokenId eos() const override { return 2; }
    std::vector<TokenId> ends() const override { return {2}; }
    bool adds_bos() const override { return adds_bos_; }
    bool adds_eos() const override { return false; }
    std::vector<TokenId> encode(std::string_view text) const override {
        std::vector<TokenId> tokens;
        for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
        return tokens;
    }
    std::vector<TokenId> encode_prompt(const PromptText& text, const ChatTemplate*) const override {
        std::vector<TokenId> tokens = encode(text.bytes);
        if (text.bytes.starts_with("<s>")) tokens.erase(tokens.begin() + 1, tokens.begin() + 3);
        return tokens;
    }
    std::vector<TokenId> encode_after(TokenId, std::string_view text, const ChatTemplate*) const override {
        return encode(text);
    }
    std::string decode(std::span<const TokenId>) const override { return {}; }
    std::string piece_bytes(TokenId) const override { return {}; }
    bool begins_with_space() const override { return false; }
    std::string piece_name(TokenId) const override { return {}; }
    bool is_control(TokenId) const override { return false; }
    TokenId special_token(std::string_view) const override { return -1; }

  private:
    bool adds_bos_;
};

// The texts that are scored, one letter a token.
std::vector<std::string> scored(const TaskTokens& tokens) {
    std::vector<std::string> texts;
    for (const ScoredTokens& choice : tokens.choices) {
        texts.emplace_back();
        for (std::size_t i = choice.first; i < choice.end; ++i) texts.back() += static_cast<char>(choice.tokens[i]);
    }
    return texts;
}

TaskTokens tokens_of(ChoiceRule rule, const ChoiceTask& task, std::int64_t context = 1000, bool bos = true) {
    return tokens_of_task(task, rule, ByteTokenizer(bos), context, false);
}

ChoiceTask two_choices(const std::string& context, const std::string& a, const std::string& b) {
    return {"task", {}, context, {{{}, a, 1}, {{}, b, 4}}, {1, 0}};
}

}  // namespace

class TestEvaluateFiles : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---- formats of lm-eval's data sets
    void mmlu_promptIsLmEvals() {
        const auto tasks = tasks_of(kMmlu, "\" Which, of these,\nis \"\"even\"\"? \",1,2,3,5,B\r\n\nTwo?,2,3,4,5,A", {},
                                    "One?,1,2,3,4,A\nNot shown?,1,2,3,4,C\n");
        QCOMPARE(tasks.size(), std::size_t{2});
        QCOMPARE(tasks[0].context,
                 std::string("The following are multiple choice questions (with answers) about odd numbers.\n\n"
                             "One?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: A\n\n"
                             "Which, of these,\nis \"even\"?\nA. 1\nB. 2\nC. 3\nD. 5\nAnswer:"));
        QCOMPARE(tasks[0].where, std::string("data, line 1"));
        QCOMPARE(tasks[1].where, std::string("data, line 4"));
        QCOMPARE(tasks[0].group, std::string("odd numbers"));
        QCOMPARE(tasks[0].choices[3].continuation, std::string(" D"));
        QCOMPARE(right_of(tasks[0]), std::size_t{1});
        QCOMPARE(right_of(tasks[1]), std::size_t{0});
        QCOMPARE(mmlu_subject("/a/high_school_physics_test.csv"), std::string("high school physics"));
        QCOMPARE(mmlu_subject("anatomy_dev.csv"), std::string("anatomy"));
    }

    void piqa_hasItsLabelsBesideOrInTheLines() {
        const std::string line = R"({"goal": "Boil it", "sol1": "Heat it.", "sol2": "Kühl es.")";
        for (const auto& tasks : {tasks_of(ChoiceFormat::kPiqa, line + "}\n\n" + line + "}", "0\r\n1\n"),
                                  tasks_of(ChoiceFormat::kPiqa, line + ",\"label\": 0}\n" + line + ",\"label\": 1}")}) {
            QCOMPARE(tasks.size(), std::size_t{2});
            QCOMPARE(tasks[1].context, std::string("Question: Boil it\nAnswer:"));
            QCOMPARE(tasks[1].choices[1].continuation, std::string(" Kühl es."));
            QCOMPARE(tasks[1].choices[1].n_characters, std::int64_t{8});  // not bytes, and not the blank
            QCOMPARE(right_of(tasks[0]), std::size_t{0});
            QCOMPARE(right_of(tasks[1]), std::size_t{1});
        }
    }

    void winogrande_scoresWhatFollowsTheOption() {
        const auto tasks = tasks_of(
            ChoiceFormat::kWinogrande,
            R"({"sentence": "Ann thanked Bo as _  had helped. ", "option1": "Ann", "option2": "Bo", "answer": "2"})");
        QCOMPARE(tasks[0].context, std::string());
        QCOMPARE(tasks[0].choices[0].lead, std::string("Ann thanked Bo as Ann"));
        QCOMPARE(tasks[0].choices[1].lead, std::string("Ann thanked Bo as Bo"));
        QCOMPARE(tasks[0].choices[1].continuation, std::string(" had helped."));
        QCOMPARE(right_of(tasks[0]), std::size_t{1});
    }

    void hellaswag_isCleanedAsLmEvalDoes() {
        const auto tasks = tasks_of(
            ChoiceFormat::kHellaSwag,
            std::string(
                R"({"activity_label": "Tea", "ctx_a": "A [step] cup [title] is there.", "ctx_b": "then SHE", )") +
                "\"label\": \"1\", \"endings\": [\" sings [substeps] loud. \", \"pours.\", \"a\", \"b [open\"]}");
        QCOMPARE(tasks[0].context, std::string("Tea: A cup. is there. Then she"));
        QCOMPARE(tasks[0].choices[0].continuation, std::string(" sings loud."));
        QCOMPARE(tasks[0].choices[3].continuation, std::string(" b [open"));
        QCOMPARE(right_of(tasks[0]), std::size_t{1});
    }

    void arc_isReadInBothItsForms() {
        const std::string published = std::string(R"({"question": {"stem": "Hot?", "choices": )") +
                                      R"([{"text": "ice", "label": "1"}, {"text": "fire", "label": "2"}, )" +
                                      R"({"text": "rain", "label": "3"}]}, "answerKey": "2"})";
        const std::string lists = std::string(R"({"question": "Hot?", "choices": {"text": ["ice", "fire", "rain"], )") +
                                  R"("label": ["A", "B", "C"]}, "answerKey": "B"})";
        for (const std::string& line : {published, lists}) {
            const auto tasks = tasks_of(ChoiceFormat::kArc, line);
            QCOMPARE(tasks[0].context, std::string("Question: Hot?\nAnswer:"));
            QCOMPARE(tasks[0].choices.size(), std::size_t{3});
            QCOMPARE(tasks[0].choices[1].continuation, std::string(" fire"));
            QCOMPARE(right_of(tasks[0]), std::size_t{1});
        }
    }

    // ---- formats of llama.cpp
    void llamaFormats_areRead() {
        const auto six = tasks_of(ChoiceFormat::kLlamaHellaSwag, "Tea: She\r\n2\na\nb\nc\nd\nNext\n0\ne\nf\ng\nh\n\n");
        QCOMPARE(six.size(), std::size_t{2});
        QCOMPARE(six[0].context, std::string("Tea: She"));
        QCOMPARE(six[1].choices[3].continuation, std::string(" h"));
        QCOMPARE(right_of(six[0]), std::size_t{2});
        QCOMPARE(six[1].where, std::string("data, line 7"));

        const auto csv = tasks_of(ChoiceFormat::kLlamaWinogrande,
                                  "0,\"Ann, who \"\"knew\"\" Bo, said _ came.\",Ann,Bo,2\n1,It is _ now.,hot,cold,1");
        QCOMPARE(csv.size(), std::size_t{2});
        QCOMPARE(csv[0].choices[0].lead, std::string("Ann, who \"\"knew\"\" Bo, said Ann"));  // as it stands there
        QCOMPARE(csv[0].choices[1].continuation, std::string(" came."));
        QCOMPARE(right_of(csv[0]), std::size_t{1});
        QCOMPARE(right_of(csv[1]), std::size_t{0});

        const std::string first = text_bytes("Hot?") + answer_bytes({"ice", "fire"}, {0, 1}) + answer_bytes({}, {});
        const std::string second =
            text_bytes("Cold?") + answer_bytes({"ice", "fire", "sun"}, {1, 0, 0}) + answer_bytes({"x", "y"}, {1, 1});
        const auto binary =
            tasks_of(kLlamaChoices, number_bytes(2) + number_bytes(12) +
                                        number_bytes(static_cast<std::uint32_t>(12 + first.size())) + first + second);
        QCOMPARE(binary.size(), std::size_t{2});
        QCOMPARE(binary[1].context, std::string("Cold?"));
        QCOMPARE(binary[1].choices[2].continuation, std::string(" sun"));
        QCOMPARE(right_of(binary[0]), std::size_t{1});
        QCOMPARE(right_of(binary[1]), std::size_t{0});
    }

    void badFiles_areNamed_data() {
        QTest::addColumn<int>("format");
        QTest::addColumn<QByteArray>("data");
        QTest::addColumn<QByteArray>("labels");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, ChoiceFormat format, const std::string& data, const char* says,
                            const std::string& labels = {}) {
            QTest::newRow(name) << static_cast<int>(format) << QByteArray::fromStdString(data)
                                << QByteArray::fromStdString(labels) << QString::fromLatin1(says);
        };
        using enum ChoiceFormat;
        row("nothing", kArc, "\n \n", "data holds no task|expected at least one in the format arc");
        row("a field too few", ChoiceFormat::kMmlu, "a,b,c,d,e,A\nq,1,2,3,A\n", "data, line 2 has 5 fields|expected 6");
        row("a header", ChoiceFormat::kMmlu, "question,A,B,C,D,answer\n",
            "line 1, field 6 (answer) is \"answer\"|A, B, C or D");
        row("an open quote", ChoiceFormat::kMmlu, "a,b,c,d,e,A\n\"q,1\n,2,3,A\n", "data, line 2|never closed");
        row("text after a quote", ChoiceFormat::kMmlu, "\"q\" x,1,2,3,4,A\n", "line 1|after the double quote");
        row("a quote inside", ChoiceFormat::kMmlu, "q\"x,1,2,3,4,A\n", "line 1|written twice");
        row("not UTF-8", ChoiceFormat::kMmlu, "q\xff,1,2,3,4,A\n", "data is not UTF-8: byte 2");
        row("no JSON", kPiqa, "{\"goal\": 1}\n{", "data, line");
        row("no goal", kPiqa, R"({"sol1": "a", "sol2": "b", "label": 0})", "data, line 1|\"goal\"");
        row("an empty solution", kPiqa, R"({"goal": "g", "sol1": "", "sol2": "b", "label": 0})", "\"sol1\"|not empty");
        row("no label", kPiqa, R"({"goal": "g", "sol1": "a", "sol2": "b"})", "line 1|\"label\"|--labels");
        row("a label too high", kPiqa, R"({"goal": "g", "sol1": "a", "sol2": "b", "label": 2})",
            "\"label\" is 2|0 to 1");
        row("labels of another split", kPiqa, R"({"goal": "g", "sol1": "a", "sol2": "b"})",
            "labels holds 2 labels, but data has 1 tasks", "0\n1\n");
        row("a label of letters", kPiqa, R"({"goal": "g", "sol1": "a", "sol2": "b"})",
            "labels, line 1 is \"yes\"|0 to 1", "yes\n");
        row("no answer", kWinogrande, R"({"sentence": "a _ b", "option1": "a", "option2": "b", "answer": ""})",
            "\"answer\"|1 to 2|validation split");
        row("no blank", kWinogrande, R"({"sentence": "a b", "option1": "a", "option2": "b", "answer": "1"})",
            "\"sentence\"|_");
        row("nothing after the blank", kWinogrande,
            R"({"sentence": "a _ ", "option1": "a", "option2": "b", "answer": "1"})", "text after the _");
        row("endings that are none", kHellaSwag, R"({"activity_label": "a", "ctx_a": "b", "endings": "c", "label": 0})",
            "\"endings\"|2 to 9");
        row("an ending of brackets", kHellaSwag,
            R"({"activity_label": "a", "ctx_a": "b", "endings": ["[x]", "y"], "label": 0})", "\"endings\"|not empty");
        row("an answer that is no label", kArc,
            R"({"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "E"})",
            "line 1|\"answerKey\" is \"E\"");
        row("labels too few", kArc,
            R"({"question": "q", "choices": {"text": ["a", "b"], "label": ["A"]}, "answerKey": "A"})",
            "\"choices.label\"|2");
        row("choices that are none", kArc, R"({"question": {"stem": "q"}, "answerKey": "A"})", "\"question.choices\"");
        row("five lines", kLlamaHellaSwag, "a\n0\nb\nc\nd\n", "data has 5 lines|six");
        row("a label of six lines", kLlamaHellaSwag, "a\n4\nb\nc\nd\ne\n", "data, line 2 (label) is \"4\"|0 to 3");
        row("an empty ending", kLlamaHellaSwag, "a\n0\nb\n\nd\ne\n", "data, line 4 (ending) is empty");
        row("four fields", kLlamaWinogrande, "0,a _ b,c,1\n", "data, line 1 has 4 fields|expected 5");
        row("no blank in csv", kLlamaWinogrande, "0,a b,c,d,1\n", "line 1 (sentence)");
        row("an answer of 3", kLlamaWinogrande, "0,a _ b,c,d,3\n", "line 1 (answer) is \"3\"");
        row("nothing in binary", ChoiceFormat::kLlamaChoices, "ab", "data (number of tasks)|ends after 2");
        row("more tasks than bytes", ChoiceFormat::kLlamaChoices, number_bytes(1000) + number_bytes(8),
            "said to hold 1000 tasks");
        row("a text beyond the end", ChoiceFormat::kLlamaChoices,
            number_bytes(1) + number_bytes(8) + number_bytes(99) + "x",
            "data, task 1 (question) needs 99 bytes at byte 12");
        row("one answer", ChoiceFormat::kLlamaChoices,
            number_bytes(1) + number_bytes(8) + text_bytes("q") + answer_bytes({"a"}, {1}) + answer_bytes({}, {}),
            "data, task 1 has fewer than two answers");
        row("no right answer", ChoiceFormat::kLlamaChoices,
            number_bytes(1) + number_bytes(8) + text_bytes("q") + answer_bytes({"a", "b"}, {0, 0}) +
                answer_bytes({}, {}),
            "data, task 1 has no answer with label 1");
        row("101 answers", ChoiceFormat::kLlamaChoices,
            number_bytes(1) + number_bytes(8) + text_bytes("q") + number_bytes(101), "has 101 answers");
    }
    void badFiles_areNamed() {
        QFETCH(int, format);
        QFETCH(QByteArray, data);
        QFETCH(QByteArray, labels);
        QFETCH(QString, says);
        const auto error =
            error_of([&] { tasks_of(static_cast<ChoiceFormat>(format), data.toStdString(), labels.toStdString()); });
        QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, says), QString());
    }

    void shots_tooFew_areNamed() {
        QCOMPARE(mismatch(error_of([] { tasks_of(kMmlu, "q,1,2,3,4,A\n", {}, "q,1,2,3,4,A\n", 5); }),
                          ErrorKind::kInvalidModel, "dev holds 1 questions; expected at least 5|--n-shots"),
                 QString());
    }

    // ---- which tasks, which tokens, which choice
    void limits_takeWhatTheirOriginTakes() {
        const auto chosen = [](ChoiceFormat format, std::int64_t limit) { return choose_tasks(format, 10, limit); };
        const std::vector<std::size_t> first = {0, 1, 2};
        QCOMPARE(chosen(kMmlu, 3), first);
        QCOMPARE(chosen(kMmlu, 0).size(), std::size_t{10});
        QCOMPARE(chosen(kMmlu, 11).size(), std::size_t{10});
        // std::mt19937(1) begins with 1791095845, 4282876139, 3093770124: of 10, 9 and 8
        // left the places 4, 8 and 5.
        QCOMPARE(chosen(ChoiceFormat::kLlamaWinogrande, 3), (std::vector<std::size_t>{4, 8, 5}));
        QCOMPARE(chosen(kLlamaChoices, 0), chosen(kMmlu, 0));
        QCOMPARE(chosen(ChoiceFormat::kLlamaHellaSwag, 3), (std::vector<std::size_t>{4, 9, 6}));
        std::vector<std::size_t> all = chosen(ChoiceFormat::kLlamaHellaSwag, 0);
        std::sort(all.begin(), all.end());
        QCOMPARE(all, chosen(kMmlu, 0));
    }

    void tokens_ofLmEval_areTheContinuations() {
        const ChoiceTask task = two_choices("Is it? ", "yes", "no");
        const TaskTokens tokens = tokens_of(ChoiceRule::kSum, task);
        QCOMPARE(scored(tokens), (std::vector<std::string>{" yes", " no"}));  // the blank goes to the continuation
        QCOMPARE(tokens.choices[0].tokens.front(), TokenId{1});
        QCOMPARE(tokens.choices[0].first, std::size_t{7});
        QCOMPARE(tokens_of(ChoiceRule::kSum, task, 1000, false).choices[0].first, std::size_t{6});
        // "<s>Is it? yes" are 11 tokens, the last of which is no input.
        const TaskTokens cut = tokens_of(ChoiceRule::kSum, task, 8);
        QCOMPARE(cut.n_cut, std::int64_t{2});
        QCOMPARE(scored(cut), (std::vector<std::string>{" yes", " no"}));
        QCOMPARE(cut.choices[0].tokens.size(), std::size_t{9});
        QCOMPARE(mismatch(error_of([&] { tokens_of(ChoiceRule::kSum, task, 2); }), ErrorKind::kInvalidInput,
                          "task, choice 1|--context"),
                 QString());
        QCOMPARE(mismatch(error_of([&] { tokens_of(ChoiceRule::kSum, two_choices("a", "b", "")); }),
                          ErrorKind::kInvalidInput, "task, choice 2 adds no token"),
                 QString());
    }

    void tokens_ofLlama_beginWhereTheTextsDiffer() {
        const ChoiceTask task = two_choices("Is it?", " ay", " aye, it is");
        QCOMPARE(scored(tokens_of(ChoiceRule::kMeanPerToken, task)), (std::vector<std::string>{"y", "ye, it is"}));
        const ChoiceTask plain = two_choices("Is it?", " yes", " no");
        QCOMPARE(scored(tokens_of(ChoiceRule::kMeanPerToken, plain)), (std::vector<std::string>{"yes", "no"}));
        QCOMPARE(mismatch(error_of([&] { tokens_of(ChoiceRule::kMeanPerToken, plain, 7); }), ErrorKind::kInvalidInput,
                          "11 tokens long, but the context holds 7"),
                 QString());

        ChoiceTask blank{"task", {}, {}, {{"So Ann", " left."}, {"So Bo", " left."}}, {1, 0}};
        // After the choice, without the last token.
        QCOMPARE(scored(tokens_of(ChoiceRule::kMeanAfterChoice, blank)), (std::vector<std::string>{" left", " left"}));
        // Three tokens or fewer from the difference on in one of them: from there.
        blank.choices = {{"So Ann", "."}, {"So B", "."}};
        QCOMPARE(scored(tokens_of(ChoiceRule::kMeanAfterChoice, blank)), (std::vector<std::string>{"Ann", "B"}));
    }

    void choice_isThatOfTheRule() {
        const ChoiceTask task = two_choices("q", "a", "bbbb");  // 1 and 4 characters
        const std::vector<double> sums = {-2, -3};
        const std::vector<std::int64_t> n = {1, 2};
        QCOMPARE(chosen_by(ChoiceRule::kSum, 0, task, sums, n), std::size_t{0});
        QCOMPARE(chosen_by(ChoiceRule::kSumAndPerCharacter, 0, task, sums, n), std::size_t{0});
        const std::vector<std::int64_t> one = {1, 1};
        QCOMPARE(chosen_by(ChoiceRule::kSumAndPerCharacter, 1, task, sums, one), std::size_t{1});  // -2 and -0.75
        QCOMPARE(chosen_by(ChoiceRule::kMeanPerToken, 0, task, sums, one), std::size_t{0});
        QCOMPARE(chosen_by(ChoiceRule::kMeanPerToken, 0, task, sums, n), std::size_t{1});  // -2 and -1.5
        const std::vector<double> equal = {-1, -2};
        QCOMPARE(chosen_by(ChoiceRule::kMeanPerToken, 0, task, equal, n), std::size_t{0});
        QCOMPARE(chosen_by(ChoiceRule::kMeanAfterChoice, 0, task, equal, n), std::size_t{1});
    }

    void report_sumsUpByHand() {
        ChoiceReport report;
        report.format = ChoiceFormat::kPiqa;
        report.n_tasks = 9;
        report.scores = {{"acc", 6}, {"acc_norm", 3}};
        report.chance = 0.5;
        const std::vector<ChoiceTask> tasks = {two_choices("q", "a", "b")};
        for (int i = 0; i < 8; ++i) report.results.push_back({0, {-1, -2}, {1, 1}, {0, 1}, {1, 0}});
        report.partial = true;
        QCOMPARE(report.value(0), 0.75);
        QVERIFY(std::abs(report.standard_error(0) - std::sqrt(0.75 * 0.25 / 7)) < 1e-12);
        const auto json = to_json(report, tasks, true);
        QCOMPARE(json["n_done"].get<int>(), 8);
        QVERIFY(json["partial"].get<bool>());
        QCOMPARE(json["scores"][1]["value"].get<double>(), 0.375);
        // Wilson's interval of 6 of 8.
        QVERIFY(std::abs(json["scores"][0]["interval_95"][0].get<double>() - 0.40927) < 1e-5);
        QVERIFY(std::abs(json["scores"][0]["interval_95"][1].get<double>() - 0.92852) < 1e-5);
        QCOMPARE(json["results"].size(), std::size_t{8});
        QCOMPARE(json["results"][0]["chosen"][1].get<int>(), 1);
        QCOMPARE(json["results"][0]["right"][0].get<int>(), 0);
        QVERIFY(!to_json(report, tasks, false).contains("results"));
        const std::string text = to_text(report);
        QVERIFY2(text.find("8 of 9 tasks, stopped: partial") != std::string::npos, text.c_str());
        QVERIFY2(text.find("75.00 % +/- 16.37") != std::string::npos, text.c_str());
        QVERIFY2(text.find("Rule: lm-eval: acc") != std::string::npos, text.c_str());
    }

    void progress_isALine() {
        QCOMPARE(progress_line({"Task", 12, 100, "acc 58.33 %", 9}),
                 std::string("Task 12 of 100: acc 58.33 %, 1:06 left"));
        QCOMPARE(progress_line({"Chunk", 1, 61, {}, 70}), std::string("Chunk 1 of 61, 1:10:00 left"));
        QCOMPARE(progress_line({"Chunk", 0, 61, {}, 0}), std::string("Chunk 0 of 61"));
    }

    // ---- logits of a base model
    void logitFile_hasTheBytesOfLlamaCpp() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("base.bin").toStdString();
        const LogitFileHeader header{4, 3, {0, 1, 2, 1}};
        {
            LogitFileWriter writer(path, header);
            writer.add(std::vector<float>{0.0f, 1.0f, -20.0f});  // the last one lies more than 16 below
            QVERIFY(!QFile::exists(folder.filePath("base.bin")));
            writer.commit();
        }
        QFile file(folder.filePath("base.bin"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray bytes = file.readAll();
        // Scale 16 / 65535; minimum -15 - ln(1 + e + e^-20) = -16.3132617; codes 15/16 of
        // 65535, 65535, 0; padding.
        QCOMPARE(bytes.toHex(' '), QByteArray("5f 6c 6f 67 69 74 73 5f 04 00 00 00 03 00 00 00 01 00 00 00 "
                                              "00 00 00 00 01 00 00 00 02 00 00 00 01 00 00 00 "
                                              "80 00 80 39 8f 81 82 c1 ff ef ff ff 00 00 00 00"));
        const LogitFile read(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))), "f");
        QCOMPARE(read.header().tokens, header.tokens);
        QCOMPARE(read.header().n_chunks(), std::int64_t{1});
        const std::vector<std::uint16_t> words = read.rows(0);
        const LogitRow row = decode_logit_row(words, 3);
        QVERIFY(std::abs(row.log_probability(1) + 0.31326169f) < 1e-5f);
        QVERIFY(std::abs(row.log_probability(0) + 1.31326169f) < 2e-4f);
    }

    void logitFile_withoutCommit_isNone() {
        const QTemporaryDir folder;
        { LogitFileWriter writer(folder.filePath("base.bin").toStdString(), {4, 3, {0, 1, 2, 1}}); }
        QVERIFY(QDir(folder.path()).isEmpty(QDir::AllEntries | QDir::NoDotAndDotDot));
        QCOMPARE(mismatch(error_of([] {
                              LogitFileWriter("/no/such/folder/f", {4, 3, {0, 1, 2, 1}});
                          }),
                          ErrorKind::kInvalidInput, "/no/such/folder/f cannot be written"),
                 QString());
    }

    void logitFile_damaged_isNamed_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        const auto ints = [](std::initializer_list<std::int32_t> values) {
            return QByteArray(reinterpret_cast<const char*>(values.begin()), static_cast<qsizetype>(values.size() * 4));
        };
        const QByteArray tokens = ints({0, 1, 2, 1}), row(16, '\0');
        const auto file = [&](const QByteArray& sizes) { return QByteArray("_logits_") + sizes + tokens + row; };
        QTest::newRow("nothing") << QByteArray() << "f does not begin with \"_logits_\"";
        QTest::newRow("another file") << QByteArray(60, 'x') << "--kl-base-write";
        QTest::newRow("chunks of 3") << file(ints({3, 3, 1})) << "n_ctx 3; expected 4";
        QTest::newRow("no vocabulary") << file(ints({4, -3, 1})) << "n_vocab -3";
        QTest::newRow("no chunk") << file(ints({4, 3, 0})) << "n_chunk 0";
        QTest::newRow("cut") << file(ints({4, 3, 1})).chopped(1) << "f is 51 bytes long; expected 1 chunks of 32 bytes";
        QTest::newRow("longer") << file(ints({4, 3, 1})) + "x"
                                << "f is 53 bytes";
        QTest::newRow("all too large") << file(ints({1 << 24, 1 << 24, 0x7fffffff})) << "f is 52 bytes";
        QTest::newRow("a token beyond the vocabulary")
            << QByteArray("_logits_") + ints({4, 2, 1}) + tokens + row.chopped(4) << "the token 2 at place 2";
        QTest::newRow("a scale that is no number")
            << file(ints({4, 3, 1})).replace(36, 4, ints({0x7fc00000})) << "f, chunk 1, row 1|finite";
    }
    void logitFile_damaged_isNamed() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        const auto view = std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size())));
        QCOMPARE(mismatch(error_of([&] { LogitFile(view, "f").rows(0); }), ErrorKind::kInvalidModel, says), QString());
    }

    void klDivergence_isThatByHand() {
        // Base 1/2, 1/4, 1/8, 1/8; the model 1/4 each.
        const std::vector<float> base = {std::log(4.0f), std::log(2.0f), 0, 0}, even(4, 3.0f);
        std::vector<std::uint16_t> words(8);
        encode_logit_row(base, words);
        KlDivergence sums;
        sums.add(even, decode_logit_row(words, 4), 0);
        sums.add(even, decode_logit_row(words, 4), 2);
        const double ln2 = std::log(2.0);
        const auto near = [](double a, double b) { return std::abs(a - b) < 1e-4; };
        QVERIFY(near(sums.kl.mean(), 0.25 * ln2));  // 1/2 ln 2 + 0 - 2 (1/8 ln 2)
        QVERIFY(near(sums.perplexity(), 4));
        QVERIFY(near(sums.base_perplexity(), std::exp((ln2 + 3 * ln2) / 2)));
        QVERIFY(near(sums.ln_ratio(), 0));
        QVERIFY(near(sums.delta_p.mean(), (-0.25 + 0.125) / 2));
        QVERIFY(near(sums.rms_delta_p(), std::sqrt((0.0625 + 0.015625) / 2)));
        QVERIFY(near(sums.rms_delta_p_error(), 0.5 / sums.rms_delta_p() * (0.0625 - 0.015625) / 2));
        QCOMPARE(sums.same_top(), 1.0);
        sums.add(std::vector<float>{0, 5, 0, 0}, decode_logit_row(words, 4), 1);
        QVERIFY(near(sums.same_top(), 2.0 / 3));
        QVERIFY(near(sums.same_top_error(), std::sqrt(2.0 / 9 / 2)));
        QCOMPARE(sums.covariance(), 0.0);  // too few tokens for a result
        // Tokens that are less probable than e^-16 in the base count for nothing.
        KlDivergence rare;
        std::vector<std::uint16_t> cut(6);
        encode_logit_row(std::vector<float>{0, -50}, cut);
        rare.add(std::vector<float>{0, -2000}, decode_logit_row(cut, 2), 0);
        QVERIFY(std::abs(rare.kl.mean()) < 1e-5);
        // The model against itself: the ratio has no error, because both errors are the
        // same.
        KlDivergence same;
        for (int i = 0; i < 20; ++i) same.add(base, decode_logit_row(words, 4), i % 4);
        QVERIFY(std::abs(same.ln_ratio()) < 1e-4 && same.ln_ratio_error() < 1e-4);
        QVERIFY(same.nll.standard_error() > 0.05);
        QCOMPARE(interpolated_percentile({1, 2, 4}, 0.75), 3.0);
        QCOMPARE(interpolated_percentile({1, 2, 4}, 1), 4.0);
    }

    void storedInputs_keepThePromises() {
        QDirIterator files(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/evaluation_files", QDir::Files);
        int n = 0;
        while (files.hasNext()) {
            QFile file(files.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            const std::string broken = check_evaluation_file(file.readAll().toStdString());
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + QString::fromStdString(": " + broken)));
            ++n;
        }
        QVERIFY(n >= 16);
    }
};

QTEST_GUILESS_MAIN(TestEvaluateFiles)
#include "tst_evaluate_files.moc"
