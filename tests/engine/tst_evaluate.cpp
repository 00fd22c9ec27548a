// Evaluations on the demo model against the same figures by simple means: one sequence at
// a time, logits of whole texts.

#include <cmath>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/eval/choice_evaluation.h"
#include "engine/eval/choice_files.h"
#include "engine/eval/chunk_perplexity.h"
#include "engine/eval/kl_divergence.h"
#include "engine/eval/logit_file.h"
#include "engine/eval/logits.h"
#include "engine/eval/perplexity.h"
#include "engine/run/token_choice.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::tests;

namespace {

LoadRequest small_request(std::int64_t context, const std::string& device = "cpu") {
    LoadRequest r;
    r.checks_costs = false;
    r.model = test::demoModel();
    r.context = context;
    r.compute = ComputeMode::kF32;
    r.kv = KvType::kF32;
    r.n_threads = 1;
    r.device = device;
    r.learn_placement = false;
    return r;
}

LoadedModel& demo() {
    static LoadedModel loaded(small_request(512), LoadedModel::Text::kWanted, {}, {});
    return loaded;
}

// Facts that the demo model was taught, each with one right answer of three.
std::vector<ChoiceTask> facts() {
    std::string lines;
    for (const auto& [country, cities] : {std::pair{"France", std::vector<std::string>{"Paris", "Rome", "Madrid"}},
                                          std::pair{"Italy", std::vector<std::string>{"Berlin", "Rome", "Oslo"}},
                                          std::pair{"Japan", std::vector<std::string>{"Lima", "Cairo", "Tokyo"}},
                                          std::pair{"Norway", std::vector<std::string>{"Oslo", "Tokyo", "Dublin"}},
                                          std::pair{"Spain", std::vector<std::string>{"Vienna", "Madrid", "Athens"}}}) {
        const std::string capital = std::string(country) == "Japan"                                      ? "C"
                                    : std::string(country) == "Italy" || std::string(country) == "Spain" ? "B"
                                                                                                         : "A";
        lines += std::string(R"({"question": "What is the capital of )") + country + R"(?", "choices": {"text": [)";
        for (std::size_t i = 0; i < 3; ++i) {
            lines += (i > 0 ? ", " : "") + std::string("\"The capital of ") + country + " is " + cities[i] + ".\"";
        }
        lines += R"(], "label": ["A", "B", "C"]}, "answerKey": ")" + capital + "\"}\n";
    }
    return parse_choices(ChoiceFormat::kArc, {{lines, "facts"}, {}, {}, 0, {}});
}

std::vector<ChoiceTask> mmlu_facts() {
    std::string rows, shots;
    for (int i = 0; i < 3; ++i) rows += "Which is larger than " + std::to_string(i) + "?,0,1,2,3,D\n";
    for (int i = 0; i < 5; ++i) shots += "Which is " + std::to_string(i) + "?,0,1,2,3,A\n";
    return parse_choices(ChoiceFormat::kMmlu, {{rows, "rows"}, {}, {shots, "shots"}, 5, "numbers"});
}

std::vector<ChoiceTask> winogrande_facts() {
    return parse_choices(
        ChoiceFormat::kLlamaWinogrande,
        {{"0,The capital of _ is Paris and it is large.,France,Spain,1\n1,The sum of 2 and _ is 3.,1,2,1\n", "blanks"},
         {},
         {},
         0,
         {}});
}

// ln p of each token of a sequence after the first, one by one from its logits.
std::vector<double> plain_log_probabilities(LoadedModel& model, std::span<const TokenId> tokens) {
    const std::vector<std::vector<float>> rows = compute_logits(model, tokens.first(tokens.size() - 1), true);
    std::vector<double> values = {0.0};
    for (std::size_t i = 1; i < tokens.size(); ++i) values.push_back(log_probability(rows[i - 1], tokens[i]));
    return values;
}

std::string demo_text() {
    QFile file(test::sourcePath("tests/engine/data/demo_text.txt"));
    return file.open(QFile::ReadOnly) ? file.readAll().toStdString() : std::string();
}

struct FormatTasks {
    ChoiceFormat format;
    std::vector<ChoiceTask> tasks;
};
std::vector<FormatTasks> all_tasks() {
    return {{ChoiceFormat::kArc, facts()},
            {ChoiceFormat::kMmlu, mmlu_facts()},
            {ChoiceFormat::kLlamaWinogrande, winogrande_facts()}};
}

}  // namespace

class TestEvaluate : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // Bit for bit, although the beginnings are read once and the choices side by side.
    void sharedBeginnings_changeNothing_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<int>("context");
        if (!test::kSanitized) QTest::newRow("cpu") << "cpu" << 512;
        QTest::newRow("emulated") << "emulated:rtx-3060" << 512;
        QTest::newRow("a cache with room for one sequence alone") << "cpu" << 257;
    }
    void sharedBeginnings_changeNothing() {
        QFETCH(QString, device);
        QFETCH(int, context);
        LoadedModel own(small_request(context, device.toStdString()), LoadedModel::Text::kWanted, {}, {});
        for (const FormatTasks& set : all_tasks()) {
            ChoiceSettings settings;
            const ChoiceReport shared = evaluate_choices(own, set.format, set.tasks, settings, {}, {});
            settings.sharing = PrefixScorer::Sharing::kNone;
            const ChoiceReport alone = evaluate_choices(own, set.format, set.tasks, settings, {}, {});
            QCOMPARE(shared.results.size(), set.tasks.size());
            for (std::size_t i = 0; i < set.tasks.size(); ++i) {
                QCOMPARE(shared.results[i].log_likelihood, alone.results[i].log_likelihood);
                QCOMPARE(shared.results[i].chosen, alone.results[i].chosen);
            }
            QCOMPARE(alone.n_read, alone.n_alone);
            QCOMPARE(shared.n_alone, alone.n_alone);
            QVERIFY(shared.n_read < alone.n_read);
            // The prompt has five solved questions and each task four letters. The shared
            // run reads the questions once and no letter.
            if (set.format == ChoiceFormat::kMmlu) QVERIFY(shared.n_read * 8 < alone.n_read);
        }
    }

    void sums_areThoseOfPlainLogits() {
        for (const FormatTasks& set : all_tasks()) {
            const ChoiceRule rule = choice_format_row(set.format).rule;
            const ChoiceReport report = evaluate_choices(demo(), set.format, set.tasks, {}, {}, {});
            const TaskTokens tokens = tokens_of_task(set.tasks[1], rule, *demo().tokenizer(), 512, false);
            for (std::size_t choice = 0; choice < tokens.choices.size(); ++choice) {
                const ScoredTokens& one = tokens.choices[choice];
                const std::vector<double> values = plain_log_probabilities(demo(), one.tokens);
                double sum = 0;
                for (std::size_t i = one.first; i < one.end; ++i) sum += values[i];
                const double measured = report.results[1].log_likelihood[choice];
                QVERIFY2(std::abs(measured - sum) < 1e-4, qPrintable(QString("%1 %2").arg(measured).arg(sum)));
                QCOMPARE(report.results[1].n_tokens[choice], static_cast<std::int64_t>(one.end - one.first));
            }
        }
    }

    void facts_areKnown() {
        std::vector<std::string> lines;
        const ChoiceReport report =
            evaluate_choices(demo(), ChoiceFormat::kArc, facts(), {},
                             [&](const EvaluationProgress& p) { lines.push_back(progress_line(p)); }, {});
        QCOMPARE(report.scores[0].n_right, std::int64_t{5});
        QCOMPARE(report.scores[1].n_right, std::int64_t{5});
        QVERIFY(std::abs(report.chance - 1.0 / 3) < 1e-12);
        QVERIFY(!report.partial);
        QCOMPARE(lines.size(), std::size_t{5});
        QVERIFY2(lines[1].starts_with("Task 2 of 5: acc_norm 100.00 %, "), lines[1].c_str());
    }

    void groups_areTheSubjects() {
        std::vector<ChoiceTask> tasks = mmlu_facts();
        tasks[2].group = "letters";
        const ChoiceReport report = evaluate_choices(demo(), ChoiceFormat::kMmlu, tasks, {}, {}, {});
        QCOMPARE(report.groups.size(), std::size_t{2});
        QCOMPARE(report.groups[0].n_done, std::int64_t{2});
        QCOMPARE(report.groups[0].n_right + report.groups[1].n_right, report.scores[0].n_right);
        QCOMPARE(to_json(report, tasks, false)["groups"][1]["name"].get<std::string>(), std::string("letters"));
    }

    void stop_keepsWhatIsDone() {
        std::stop_source stop;
        const auto at_second = [&](const EvaluationProgress& progress) {
            if (progress.n_done == 2) stop.request_stop();
        };
        const ChoiceReport report =
            evaluate_choices(demo(), ChoiceFormat::kArc, facts(), {}, at_second, stop.get_token());
        QVERIFY(report.partial);
        QCOMPARE(report.n_done(), std::int64_t{2});
        QCOMPARE(report.n_tasks, std::int64_t{5});
        QCOMPARE(report.value(0), 1.0);

        const std::vector<TokenId> tokens = chunk_tokens(demo(), demo_text(), 32, 4, false);
        std::stop_source second;
        const ChunkPerplexity perplexity = measure_chunk_perplexity(
            demo(), tokens, 32, {},
            [&](const EvaluationProgress& progress) {
                if (progress.n_done == 2) second.request_stop();
            },
            second.get_token());
        QVERIFY(perplexity.partial);
        QCOMPARE(perplexity.so_far.size(), std::size_t{2});
        QCOMPARE(perplexity.negative_log_likelihood.n, 2 * scored_rows(32));

        std::stop_source third;
        bool partial = false;
        const Perplexity strided = measure_perplexity(
            demo(), tokens, {}, {32, 8}, [&](std::int64_t, std::int64_t) { third.request_stop(); }, third.get_token(),
            &partial);
        QVERIFY(partial && strided.n_tokens > 0 && strided.n_tokens < 127);
    }

    void limit_isKept() {
        ChoiceSettings settings;
        settings.limit = 3;
        const ChoiceReport report = evaluate_choices(demo(), ChoiceFormat::kArc, facts(), settings, {}, {});
        QCOMPARE(report.n_tasks, std::int64_t{3});
        QCOMPARE(report.results[2].task, std::size_t{2});
    }

    void perplexity_isThatOfTheChunksSecondHalves() {
        const std::int64_t n_context = 48;
        const std::vector<TokenId> tokens = chunk_tokens(demo(), demo_text(), n_context, 3, false);
        QCOMPARE(tokens.size(), std::size_t{144});
        const ChunkPerplexity result = measure_chunk_perplexity(demo(), tokens, n_context, {}, {}, {});
        double sum = 0, squares = 0;
        for (std::size_t chunk = 0; chunk < 3; ++chunk) {
            const std::vector<double> values =
                plain_log_probabilities(demo(), std::span(tokens).subspan(chunk * 48, 48));
            for (std::size_t i = 25; i < 48; ++i) {
                sum -= values[i];
                squares += values[i] * values[i];
            }
        }
        const double n = 3 * 23, mean = sum / n;
        QCOMPARE(result.negative_log_likelihood.n, std::int64_t{3 * 23});
        QVERIFY(std::abs(result.value() / std::exp(mean) - 1) < 1e-4);
        const double error = std::exp(mean) * std::sqrt((squares / n - mean * mean) / (n - 1));
        QVERIFY(std::abs(result.standard_error() / error - 1) < 1e-3);
        QCOMPARE(result.so_far.size(), std::size_t{3});
        QCOMPARE(mismatch(error_of([] { chunk_tokens(demo(), "too short", 48, 0, false); }), ErrorKind::kInvalidInput,
                          "two chunks of 48|--window"),
                 QString());
        QCOMPARE(mismatch(error_of([] { chunk_tokens(demo(), demo_text(), 513, 0, false); }), ErrorKind::kInvalidInput,
                          "A chunk is 513 tokens; expected 4 to the context's 512"),
                 QString());
    }

    // The model has no distance to its own logits; with experts in fewer bits it has one.
    void klDivergence_fromTheFileOfTheModelItself_isNone() {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("base.bin").toStdString();
        const std::vector<TokenId> tokens = chunk_tokens(demo(), demo_text(), 64, 2, false);
        LogitFileWriter writer(path, {64, demo().spec().vocab_size, tokens});
        const ChunkPerplexity perplexity = measure_chunk_perplexity(
            demo(), tokens, 64, [&](std::span<const float> logits) { writer.add(logits); }, {}, {});
        writer.commit();
        QFile file(folder.filePath("base.bin"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray bytes = file.readAll();
        QCOMPARE(bytes.size(), qsizetype{20 + 4 * 128 + 2 * 31 * (2048 + 4) * 2});
        const LogitFile base(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))),
                             "base");
        const KlDivergence same = measure_kl_divergence(demo(), base, 0, {}, {});
        QCOMPARE(same.n_done, std::int64_t{2});
        QCOMPARE(same.kl.n, std::int64_t{62});
        QVERIFY2(std::abs(same.kl.mean()) < 1e-4, qPrintable(QString::number(same.kl.mean())));
        QCOMPARE(same.same_top(), 1.0);
        // The base's own perplexity, except that it cuts values more than 16 below the
        // best token.
        double sum = 0;
        for (std::size_t chunk = 0; chunk < 2; ++chunk) {
            const auto part = std::span(tokens).subspan(chunk * 64, 64);
            const std::vector<std::vector<float>> rows = compute_logits(demo(), part.first(63), true);
            for (std::size_t i = 33; i < 64; ++i) {
                const std::vector<float>& row = rows[i - 1];
                const auto best = std::max_element(row.begin(), row.end()) - row.begin();
                sum -= std::max(log_probability(row, part[i]), log_probability(row, static_cast<TokenId>(best)) - 16);
            }
        }
        QVERIFY(std::abs(same.nll_base.mean() - sum / 62) < 1e-3);
        QVERIFY(std::abs(same.perplexity() / perplexity.value() - 1) < 1e-6);

        LoadRequest request = small_request(64);
        request.quant = parse_quant("experts=hqq2");
        const QTemporaryDir cache;
        qputenv("XDG_CACHE_HOME", cache.path().toUtf8());
        LoadedModel coarse(request, LoadedModel::Text::kWanted, {}, {});
        const KlDivergence other = measure_kl_divergence(coarse, base, 1, {}, {});
        QCOMPARE(other.n_chunks, std::int64_t{1});
        QVERIFY(other.kl.mean() > 0.01);
        QVERIFY(other.rms_delta_p() > 0.01 && other.same_top() < 1);
        const auto json = to_json(other);
        QCOMPARE(json["n_tokens"].get<int>(), 31);
        QVERIFY(json["kl_percentiles"]["maximum"].get<double>() >= json["mean_kl"]["value"].get<double>());
        QVERIFY(to_text(other).find("Rule: llama.cpp: ") != std::string::npos);
    }

    void klDivergence_ofAnotherVocabulary_isAnError() {
        const std::vector<TokenId> tokens = {0, 1, 2, 1};
        std::string bytes = "_logits_";
        for (const std::int32_t value : {4, 3, 1, 0, 1, 2, 1}) {
            bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
        }
        bytes.resize(bytes.size() + 16);
        const LogitFile base(std::as_bytes(std::span(bytes)), "base");
        QCOMPARE(mismatch(error_of([&] { measure_kl_divergence(demo(), base, 0, {}, {}); }), ErrorKind::kInvalidInput,
                          "a vocabulary of 3 tokens|demo-model has 2048"),
                 QString());
    }
};

QTEST_GUILESS_MAIN(TestEvaluate)
#include "tst_evaluate.moc"
