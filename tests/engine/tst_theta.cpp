// Neurons that a theta leaves out: against a model in plain PyTorch that sets the same
// ones to zero (tests/golden/make_theta_golden.py), for every place of the experts, and
// with theta 0 as without one.

#include <cmath>
#include <limits>
#include <map>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/choice_files.h"
#include "engine/eval/theta_scorer.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/local_session.h"
#include "engine/run/moe_layer.h"
#include "tests/engine/errors.h"
#include "tests/engine/keep_costs.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace tests = offstage::tests;

namespace {

using Rows = std::vector<std::vector<float>>;

// Logits after each token, of tokens that are read step_size at a time.
Rows inSteps(LoadedModel& model, std::span<const TokenId> tokens, std::size_t step_size) {
    KvSequence sequence = model.new_sequence();
    Rows rows;
    const auto width = static_cast<std::ptrdiff_t>(model.spec().vocab_size);
    while (!tokens.empty()) {
        const std::size_t n = std::min(step_size, tokens.size());
        const Segment segment{&sequence, tokens.first(n)};
        if (model.forward().step({&segment, 1}, Forward::Logits::kAll, {}) != Forward::Outcome::kDone) return {};
        const auto logits = model.forward().logits();
        for (auto at = logits.begin(); at != logits.end(); at += width) rows.emplace_back(at, at + width);
        tokens = tokens.subspan(n);
    }
    return rows;
}

std::unique_ptr<LoadedModel> open(const LoadRequest& request,
                                  LoadedModel::Text wanted = LoadedModel::Text::kNotNeeded) {
    return std::make_unique<LoadedModel>(keepCosts(request), wanted, LoadProgressFn{}, std::stop_token{});
}

// The capital of a country, between the right one and another.
std::vector<ChoiceTask> capitals() {
    constexpr const char* kFacts[][3] = {{"France", "Paris", "Rome"}, {"Japan", "Tokyo", "Lima"},
                                         {"Italy", "Rome", "Oslo"},   {"Spain", "Madrid", "Tokyo"},
                                         {"Norway", "Oslo", "Paris"}, {"Peru", "Lima", "Madrid"}};
    std::string lines;
    for (const auto& [country, right, wrong] : kFacts) {
        const std::string said = std::string("The capital of ") + country + " is ";
        lines += std::string(R"({"question": "What is the capital of )") + country + R"(?", "choices": {"text": [")" +
                 said + wrong + R"(.", ")" + said + right + R"(."], "label": ["A", "B"]}, "answerKey": "B"})" + "\n";
    }
    return parse_choices(ChoiceFormat::kArc, {{lines, "capitals"}, {}, {}, 0, {}});
}

// Elements of an SVG picture, by name.
std::map<QString, int> elementsOf(const std::string& svg) {
    QXmlStreamReader xml(QByteArray::fromStdString(svg));
    std::map<QString, int> elements;
    while (!xml.atEnd()) {
        if (xml.readNext() == QXmlStreamReader::StartElement) ++elements[xml.name().toString()];
    }
    return xml.hasError() ? std::map<QString, int>{} : elements;
}

}  // namespace

class TestTheta : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void logits_areThoseOfTheReference_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("resident");
        QTest::newRow("on the CPU") << QStringLiteral("cpu") << QStringLiteral("auto") << 0;
        QTest::newRow("resident") << QStringLiteral("emulated:rtx-3060") << QStringLiteral("static") << 12;
        QTest::newRow("copied") << QStringLiteral("emulated:rtx-3060") << QStringLiteral("transfer") << 0;
        QTest::newRow("in two places") << QStringLiteral("emulated:rtx-3060") << QStringLiteral("static") << 5;
    }
    void logits_areThoseOfTheReference() {
        QFETCH(QString, device);
        QFETCH(QString, policy);
        QFETCH(int, resident);
        const QJsonObject golden = readJson(sourcePath(QStringLiteral("tests/engine/data/theta_golden.json")));
        LoadRequest request = onThisMachine(tinyModel(golden[QLatin1String("model")].toString()));
        request.compute = ComputeMode::kF32;
        request.kv = KvType::kF32;
        if (device != QStringLiteral("cpu")) put(request, device, policy, resident);
        const auto model = open(request);
        if (device != QStringLiteral("cpu")) QCOMPARE(model->plan().n_resident(), std::int64_t{resident});
        const QJsonArray cases = golden[QLatin1String("cases")].toArray();
        QCOMPARE(cases.size(), 9);
        for (const QJsonValue& each : cases) {
            const double theta = each[QLatin1String("theta")].toDouble();
            const auto tokens = tokensOf(each[QLatin1String("tokens")].toArray());
            const QJsonArray expected = each[QLatin1String("logits")].toArray();
            model->forward().moe().set_theta(theta);
            // One row of an expert, a few, and many: each has separate kernels.
            for (const std::size_t step_size : {std::size_t{1}, std::size_t{7}, tokens.size()}) {
                const Recorder& recorder = model->dispatcher().recorder();
                const std::uint64_t first = recorder.n_events();
                const Rows got = inSteps(*model, tokens, step_size);
                QCOMPARE(static_cast<qsizetype>(got.size()), expected.size());
                for (qsizetype row = 0; row < expected.size(); ++row) {
                    const double error =
                        relativeError(got[static_cast<std::size_t>(row)], floatsOf(expected[row].toArray()));
                    QVERIFY2(error < 1e-4, qPrintable(QStringLiteral("theta %1, steps of %2, row %3: %4")
                                                          .arg(theta)
                                                          .arg(step_size)
                                                          .arg(row)
                                                          .arg(error)));
                }
                std::vector<std::uint64_t> neurons(3, 0), active(3, 0);
                for (std::uint64_t i = first; i < recorder.n_events(); ++i) {
                    neurons[static_cast<std::size_t>(recorder.event(i).layer)] += recorder.event(i).neurons;
                    active[static_cast<std::size_t>(recorder.event(i).layer)] += recorder.event(i).active_neurons;
                }
                for (int layer = 0; layer < 3; ++layer) {
                    const auto of_layer = [&](const char* key) {
                        return static_cast<std::uint64_t>(each[QLatin1String(key)].toArray()[layer].toInt());
                    };
                    QCOMPARE(neurons[static_cast<std::size_t>(layer)], of_layer("neurons"));
                    QCOMPARE(active[static_cast<std::size_t>(layer)], of_layer("active"));
                }
            }
        }
    }

    // The place of experts never changes a bit, in our own formats and with both kinds of
    // kernels for them.
    void places_changeNoBit_data() {
        QTest::addColumn<QString>("quant");
        QTest::addColumn<int>("compute");
        for (const char* const quant : {"", "experts=int8", "experts=hqq4"}) {
            QTest::addRow("%s in float", quant) << QString(quant) << static_cast<int>(ComputeMode::kF32);
            if (*quant != 0)
                QTest::addRow("%s in bytes", quant) << QString(quant) << static_cast<int>(ComputeMode::kInt8);
        }
    }
    void places_changeNoBit() {
        QFETCH(QString, quant);
        QFETCH(int, compute);
        LoadRequest request = onThisMachine(demoModel());
        request.compute = static_cast<ComputeMode>(compute);
        if (!quant.isEmpty()) request.quant = parse_quant(quant.toStdString());
        request.theta = 0.1;
        const auto cpu = open(request);
        QCOMPARE(cpu->summary().theta, 0.1);
        LoadRequest elsewhere = request;
        put(elsewhere, QStringLiteral("emulated:rtx-3060"), QStringLiteral("static"), 20);
        const auto emulated = open(elsewhere);
        const std::vector<TokenId> tokens = text(12);
        std::vector<Rows> with_theta;
        for (const std::size_t step_size : {1u, 3u, 12u}) {
            with_theta.push_back(inSteps(*cpu, tokens, step_size));
            QCOMPARE(inSteps(*emulated, tokens, step_size), with_theta.back());
        }
        const DispatchTotals totals = emulated->dispatcher().recorder().all_totals();
        QVERIFY(totals.resident_calls > 0 && totals.cpu_calls > 0);

        // It leaves something out, and stops when it is switched off.
        request.theta = 0;
        const auto dense = open(request);
        cpu->forward().moe().set_theta(0);
        int n = 0;
        for (const std::size_t step_size : {1u, 3u, 12u}) {
            const Rows expected = inSteps(*dense, tokens, step_size);
            QVERIFY(expected != with_theta[static_cast<std::size_t>(n++)]);
            QCOMPARE(inSteps(*cpu, tokens, step_size), expected);
        }
        QCOMPARE(dense->dispatcher().recorder().all_totals().neurons, std::uint64_t{0});
    }

    void readBytes_areWithoutWhatIsLeftOut() {
        const auto model = open(onThisMachine(demoModel()));
        const std::vector<TokenId> tokens = text(20);
        const auto read = [&](double theta) {
            model->forward().moe().set_theta(theta);
            const DispatchTotals before = model->dispatcher().recorder().all_totals();
            inSteps(*model, tokens, 1);
            const DispatchTotals after = model->dispatcher().recorder().all_totals();
            const auto share = theta > 0 ? static_cast<double>(after.active_neurons - before.active_neurons) /
                                               static_cast<double>(after.neurons - before.neurons)
                                         : 1.0;
            return std::pair(static_cast<double>(after.host_read_bytes - before.host_read_bytes), share);
        };
        const auto [all, everyone] = read(0);
        QCOMPARE(everyone, 1.0);
        const auto [some, share] = read(0.1);
        QVERIFY2(share > 0.1 && share < 0.9, qPrintable(QString::number(share)));
        // For one token in one format for all three matrices: w1 and the active part of
        // the others.
        QVERIFY2(std::abs(some / all - (1 + 2 * share) / 3) < 1e-6, qPrintable(QString::number(some / all)));
    }

    void session_changesIt_withoutLoading() {
        LoadRequest request = onThisMachine(demoModel());
        LocalSession session;
        session.load(request, {}, {});
        GenerationRequest question;
        question.messages = {{Role::kUser, "Tell me a story."}};
        question.sampler.temperature = 0;
        question.max_tokens = 12;
        const auto answer = [&] {
            session.reset_conversation();
            return session.generate(question, {}, {}).text;
        };
        const std::string dense = answer();
        QVERIFY(session.snapshot().active_shares.empty());
        session.set_theta(2);
        const std::string sparse = answer();
        const Snapshot seen = session.snapshot();
        QCOMPARE(static_cast<std::int64_t>(seen.active_shares.size()), seen.n_layers);
        QVERIFY(std::all_of(seen.active_shares.begin(), seen.active_shares.end(),
                            [](float share) { return share >= 0 && share < 0.5F; }));
        QVERIFY2(sparse != dense, sparse.c_str());
        session.set_theta(0);
        QCOMPARE(answer(), dense);
        for (const double wrong : {-0.1, std::numeric_limits<double>::quiet_NaN(), 1e9}) {
            QCOMPARE(
                tests::mismatch(tests::error_of([&] { session.set_theta(wrong); }), ErrorKind::kInvalidInput, "Theta"),
                QString());
            request.theta = wrong;
            QCOMPARE(tests::mismatch(tests::error_of([&] { open(request); }), ErrorKind::kInvalidInput, "Theta"),
                     QString());
        }
        QCOMPARE(answer(), dense);
        request.theta = 2;
        session.load(request, {}, {});
        QCOMPARE(answer(), sparse);
    }

    // Quality against theta: theta 0 is the reference, and no theta is left behind.
    void report_isOfTheSameText() {
        LoadRequest request = onThisMachine(demoModel());
        const auto model = open(request);
        const std::vector<TokenId> tokens = text(90);
        std::vector<std::string> lines;
        const ThetaReport report = measure_thetas(*model, tokens, {{64, 32}, {0.3, 0.05, 0.3}, 8},
                                                  [&](const std::string& line) { lines.push_back(line); }, {}, {});
        QCOMPARE(report.rows.size(), std::size_t{3});
        QCOMPARE(lines.size(), std::size_t{3});
        const Perplexity alone = measure_perplexity(*model, tokens, {}, {64, 32}, {}, {});
        QCOMPARE(report.rows[0].theta, 0.0);
        QVERIFY(std::abs(report.rows[0].perplexity.value() - alone.value()) < 1e-6 * alone.value());
        QVERIFY(report.rows[0].mean_kl < 1e-6);
        QCOMPARE(report.rows[0].same_top, 1.0);
        QCOMPARE(report.rows[0].active_share, 1.0);
        for (std::size_t i = 1; i < report.rows.size(); ++i) {
            const ThetaRow& row = report.rows[i];
            const ThetaRow& before = report.rows[i - 1];
            QVERIFY(row.active_share < before.active_share && row.active_share > 0);
            QVERIFY(row.mean_kl > before.mean_kl);
            QVERIFY(row.read_bytes_per_token < before.read_bytes_per_token);
            QVERIFY(row.tokens_per_s > 0);
            QCOMPARE(row.perplexity.n_tokens, alone.n_tokens);
            // Over all neurons: the last layer has fewer, those of scored tokens.
            const std::size_t n_alike = row.layer_shares.size() - 1;
            double mean = 0;
            for (std::size_t l = 0; l < n_alike; ++l) mean += row.layer_shares[l] / static_cast<double>(n_alike);
            const double last = row.layer_shares.back();
            const double part = (row.active_share - mean) / (last - mean);
            QVERIFY2(part > 0 && part <= 1.0 / static_cast<double>(n_alike + 1) + 1e-9,
                     qPrintable(QString::number(part)));
        }
        QCOMPARE(model->forward().moe().thetas().mean(), 0.0f);
        const NeuronThresholds kept = thresholds_of(report);
        QCOMPARE(kept.n_tokens, alone.n_tokens);
        QCOMPARE(kept.rows.size(), std::size_t{2});
        QCOMPARE(kept.rows[1].theta, 0.3);
        QCOMPARE(kept.rows[1].mean_kl, report.rows[2].mean_kl);
        QCOMPARE(kept.rows[1].active_share, report.rows[2].active_share);
        const std::string csv = to_csv(report);
        QCOMPARE(std::count(csv.begin(), csv.end(), '\n'), std::ptrdiff_t{4});
        QCOMPARE(to_json(report)["rows"][2]["theta"].get<double>(), 0.3);
        const QByteArray svg = QByteArray::fromStdString(to_svg(report));
        QVERIFY(svg.contains(">0</text>") && !svg.contains(">-0</text>"));
        QXmlStreamReader xml(svg);
        int n_lines = 0;
        while (!xml.atEnd()) n_lines += xml.readNext() == QXmlStreamReader::StartElement && xml.name() == u"polyline";
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        QCOMPARE(n_lines, static_cast<int>(model->spec().experts.n_layers) + 4);
        QCOMPARE(tests::mismatch(tests::error_of([&] {
                                     measure_thetas(*model, tokens, {{64, 32}, {0.1}, 200}, {}, {}, {});
                                 }),
                                 ErrorKind::kInvalidInput, "Decode fewer"),
                 QString());
    }

    // Accuracy against theta: each has the score that it has alone.
    void report_hasTheTasksScores() {
        const auto model = open(onThisMachine(demoModel()), LoadedModel::Text::kWanted);
        const std::vector<TokenId> tokens = text(90);
        const std::vector<ChoiceTask> tasks = capitals();
        ThetaSettings settings{{64, 32}, {0.6}};
        settings.format = ChoiceFormat::kArc;
        settings.tasks = tasks;
        std::vector<std::string> lines;
        std::vector<EvaluationProgress> done;
        const ThetaReport report = measure_thetas(
            *model, tokens, settings, [&](const std::string& line) { lines.push_back(line); },
            [&](const EvaluationProgress& progress) { done.push_back(progress); }, {});
        QVERIFY(!report.partial);
        QCOMPARE(report.rows.size(), std::size_t{2});
        QCOMPARE(lines.size(), std::size_t{4});
        QVERIFY2(QByteArray::fromStdString(lines[3]).startsWith("theta 0.6: acc "), lines[3].c_str());
        QCOMPARE(done.size(), std::size_t{12});
        for (std::size_t i = 0; i < done.size(); ++i) {
            QCOMPARE(done[i].n_done, static_cast<std::int64_t>(i) + 1);
            QCOMPARE(done[i].n_all, std::int64_t{12});
        }
        QVERIFY(done[11].score.starts_with("theta 0.6, acc"));
        for (const ThetaRow& row : report.rows) {
            model->forward().moe().set_theta({row.theta});
            const ChoiceReport alone = evaluate_choices(*model, ChoiceFormat::kArc, tasks, {}, {}, {});
            QCOMPARE(row.choices->n_done(), std::int64_t{6});
            for (std::size_t i = 0; i < alone.results.size(); ++i) {
                QCOMPARE(row.choices->results[i].log_likelihood, alone.results[i].log_likelihood);
            }
            QCOMPARE(row.choices->value(1), alone.value(1));
        }
        model->use_theta({});
        QVERIFY(report.rows[0].choices->results[0].log_likelihood != report.rows[1].choices->results[0].log_likelihood);

        const nlohmann::ordered_json json = to_json(report);
        QCOMPARE(json["task"].get<std::string>(), std::string("arc"));
        QCOMPARE(json["chance"].get<double>(), 0.5);
        const nlohmann::ordered_json& score = json["rows"][1]["scores"][1];
        QCOMPARE(score["name"].get<std::string>(), std::string("acc_norm"));
        QCOMPARE(score["value"].get<double>(), report.rows[1].choices->value(1));
        QCOMPARE(score["standard_error"].get<double>(), report.rows[1].choices->standard_error(1));
        QCOMPARE(score["from_theta_0"].get<double>(),
                 report.rows[1].choices->value(1) - report.rows[0].choices->value(1));
        const std::string words = to_text(report);
        QVERIFY2(words.find("right answers in %, arc, 6 tasks; by chance 50.00") != std::string::npos, words.c_str());
        const QByteArrayList csv = QByteArray::fromStdString(to_csv(report)).trimmed().split('\n');
        QCOMPARE(csv.size(), 3);
        QVERIFY(csv[0].contains(",n_tasks,acc,acc_standard_error,acc_norm,acc_norm_standard_error,"));
        QCOMPARE(csv[1].count(','), csv[0].count(','));
        QCOMPARE(csv[2].count(','), csv[0].count(','));

        // Two scores more than without tasks: a line, two markers and their bars for
        // each.
        ThetaReport without = report;
        for (ThetaRow& row : without.rows) row.choices.reset();
        std::map<QString, int> drawn = elementsOf(to_svg(report)), before = elementsOf(to_svg(without));
        QCOMPARE(drawn[QStringLiteral("polyline")], before[QStringLiteral("polyline")] + 2);
        QCOMPARE(drawn[QStringLiteral("circle")], before[QStringLiteral("circle")] + 2 * (2 + 1));  // and the legend's
        QVERIFY(to_svg(report).find("Accuracy: arc, 6 tasks, by chance 50 %") != std::string::npos);
        // One theta's tasks were not all done: not drawn, since they are other tasks.
        ThetaReport part = report;
        part.rows[1].choices->partial = true;
        QCOMPARE(elementsOf(to_svg(part))[QStringLiteral("circle")], drawn[QStringLiteral("circle")] - 2);
    }

    void report_stopped_keepsWhatIsDone() {
        const auto model = open(onThisMachine(demoModel()), LoadedModel::Text::kWanted);
        const std::vector<TokenId> tokens = text(70);
        const std::vector<ChoiceTask> tasks = capitals();
        ThetaSettings settings{{64, 32}, {0.2, 0.6}, 8};
        settings.format = ChoiceFormat::kArc;
        settings.tasks = tasks;
        const auto stopped_at = [&](std::size_t n_lines, std::int64_t n_tasks) {
            std::stop_source stop;
            std::size_t lines = 0;
            const auto progress = [&](const std::string&) {
                if (++lines == n_lines) stop.request_stop();
            };
            return measure_thetas(
                *model, tokens, settings, progress,
                [&](const EvaluationProgress& so_far) {
                    if (so_far.n_done == n_tasks) stop.request_stop();
                },
                stop.get_token());
        };
        const ThetaReport in_text = stopped_at(2, 0);
        QVERIFY(in_text.partial && !in_text.rows[0].choices);
        QCOMPARE(in_text.rows.size(), std::size_t{2});
        settings.decode_tokens = 0;                     // nothing after the tasks that would see the stop
        const ThetaReport in_tasks = stopped_at(0, 8);  // the second of theta 0.2
        settings.decode_tokens = 8;
        QVERIFY(in_tasks.partial && to_json(in_tasks)["partial"].get<bool>());
        QCOMPARE(in_tasks.rows.size(), std::size_t{3});
        QCOMPARE(in_tasks.rows[0].choices->n_done(), std::int64_t{6});
        QCOMPARE(in_tasks.rows[1].choices->n_done(), std::int64_t{2});
        QVERIFY(!in_tasks.rows[2].choices);
        QVERIFY(to_text(in_tasks).find("  of 2 tasks") != std::string::npos);
        const ThetaReport in_decode = stopped_at(6, 0);
        QVERIFY(in_decode.partial && in_decode.rows[2].choices->n_done() == 6);
        QCOMPARE(in_decode.rows[0].tokens_per_s, 0.0);
        QVERIFY(!to_json(in_decode)["rows"][0].contains("tokens_per_s"));
        QCOMPARE(model->forward().moe().thetas().mean(), 0.0f);
        std::stop_source before;
        before.request_stop();
        QCOMPARE(tests::mismatch(
                     tests::error_of([&] { measure_thetas(*model, tokens, settings, {}, {}, before.get_token()); }),
                     ErrorKind::kCancelled, ""),
                 QString());
    }

    void change_isOfTheSameTasks() {
        const auto answers = [](const std::vector<std::uint8_t>& right) {
            ChoiceReport report;
            report.scores = {{"acc"}};
            for (const std::uint8_t each : right) report.results.push_back({0, {}, {}, {}, {each}});
            return report;
        };
        const ChoiceChange change = change_between(answers({1, 1, 1, 0}), answers({1, 0, 0, 1}), 0);
        QCOMPARE(change.value, -0.25);
        QVERIFY(std::abs(change.standard_error - std::sqrt(0.6875 / 3)) < 1e-12);
        QCOMPARE(change_between(answers({1, 1, 1, 0}), answers({0}), 0).value, -1.0);  // over tasks done by both
        QCOMPARE(change_between(answers({}), answers({1}), 0).value, 0.0);
    }

    void thresholds_areKeptAndRead() {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath(QStringLiteral("t.json")).toStdString();
        const NeuronThresholds written{
            "m", "text.txt", "BF16", 100, 7, {{0.1, 0.8, 7.1, 0.01, 0.99}, {0.3, 0.4, 8, 0.05, 0.9}}, {}};
        write_neuron_thresholds(written, file);
        const NeuronThresholds read = read_neuron_thresholds(file);
        QVERIFY(read.rows == written.rows && read.model == written.model && read.text == written.text);
        QCOMPARE(read.n_tokens, std::int64_t{100});
        QCOMPARE(read.perplexity, 7.0);
        // On the line between the measured ones, from none left out on; beyond them
        // unknown.
        QVERIFY(expected_loss(read, 0).known && expected_loss(read, 0).mean_kl == 0);
        QCOMPARE(expected_loss(read, 0.05).active_share, 0.9);
        QCOMPARE(expected_loss(read, 0.2).mean_kl, 0.03);
        QCOMPARE(expected_loss(read, 0.3).same_top, 0.9);
        QVERIFY(!expected_loss(read, 0.31).known);
        QVERIFY(!expected_loss({}, 0.1).known);
        const std::string head =
            R"({"format": "offstage-neuron-thresholds", "version": 1, "n_tokens": 1, "perplexity": 1, "rows": )";
        const auto row = [](const char* theta, const char* share) {
            return std::string(R"({"theta": )") + theta + R"(, "active_share": )" + share +
                   R"(, "perplexity": 1, "mean_kl": 0, "same_top": 1})";
        };
        const std::pair<std::string, std::string> damaged[] = {
            {head + "3}", "a list of objects"},
            {head + "[" + row("0.2", "1") + "," + row("0.2", "1") + "]}", "ascends"},
            {head + "[" + row("0.2", "1.5") + "]}", "rows[0].active_share"},
            {"{}", "format"}};
        for (const auto& [text, told] : damaged) {
            QCOMPARE(tests::mismatch(tests::error_of([&] { parse_neuron_thresholds(text, "f"); }),
                                     ErrorKind::kInvalidModel, told.c_str()),
                     QString());
        }
    }

    // The measured share of active neurons is used in forecasts, and in a preview of
    // another theta. The host is emulated as well: the cost of gathering is accounted
    // there, independent of this build.
    void forecasts_knowWhatIsActive() {
        LoadRequest request = onThisMachine(demoModel());
        put(request, QStringLiteral("emulated:corm"), QStringLiteral("transfer"), 0);
        request.sparse_loading = SparseLoading::kAlways;
        LocalSession session;
        session.load(request, {}, {});
        const ReplanPreview whole = session.preview({});
        ReplanRequest change;
        change.theta = 0.3;
        const ReplanPreview less = session.preview(change);
        QCOMPARE(less.before.decode_tokens_per_s, whole.before.decode_tokens_per_s);
        QVERIFY2(less.after.decode_tokens_per_s > 1.1 * whole.after.decode_tokens_per_s,
                 qPrintable(
                     QStringLiteral("%1 %2").arg(less.after.decode_tokens_per_s).arg(whole.after.decode_tokens_per_s)));
        request.theta = 0.3;
        const ModelSummary opened = session.load(request, {}, {});
        QVERIFY(std::abs(session.preview({}).before.decode_tokens_per_s / less.after.decode_tokens_per_s - 1) < 1e-6);
        change.theta = 0;
        QVERIFY(std::abs(session.preview(change).after.decode_tokens_per_s / whole.after.decode_tokens_per_s - 1) <
                1e-6);

        const FitEstimate report = plan_model(request, 16, {}, {});
        QCOMPARE(report.active_share_is(), std::string("measured"));
        QCOMPARE(report.inputs.cost.active_share(-1, 1), expected_loss(opened.thresholds, 0.3).active_share);
        request.active_share = 0.9;
        const FitEstimate given = plan_model(request, 16, {}, {});
        QCOMPARE(given.active_share_is(), std::string("given"));
        QCOMPARE(given.inputs.cost.active_share(-1, 1), 0.9);
        QVERIFY(given.forecast->decode_tokens_per_s < report.forecast->decode_tokens_per_s);
        QCOMPARE(expected_shares(opened.thresholds, 0).of_model, 0.0);
        QCOMPARE(expected_shares(opened.thresholds, 1e5).of_model, 0.0);
    }

    // The data beside a model is in its summary; an unreadable file is a note.
    void thresholds_ofTheDemoModel_areInItsSummary() {
        const auto model = open(onThisMachine(demoModel()));
        const NeuronThresholds& known = model->summary().thresholds;
        QVERIFY(known.rows.size() >= 4 && known.n_tokens > 10000);
        QVERIFY(expected_loss(known, 0.1).mean_kl < expected_loss(known, 0.3).mean_kl);
        QVERIFY(expected_loss(known, 0.1).active_share > 0.5);
    }

  private:
    LoadRequest onThisMachine(const std::string& model) const {
        LoadRequest request;
        request.model = model;
        request.context = 64 + 32 + 16;
        if (model != demoModel()) request.context = 0;
        request.n_threads = 1;
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        request.quant_cache_directory = quantized_.path().toStdString();
        request.prefetch = PrefetchMode::kOff;
        request.learn_placement = false;
        return request;
    }
    // On a device with room for this many experts.
    static void put(LoadRequest& request, const QString& device, const QString& policy, int n_experts) {
        request.device = device.toStdString();
        request.dispatch = parse_dispatch(policy.toStdString());
        const auto whole = open(request);
        const Plan& plan = whole->plan();
        const bool all = n_experts == static_cast<int>(whole->spec().experts.size());
        const std::uint64_t expert_bytes = whole->experts().expert_bytes(whole->experts().format(0));
        request.vram_bytes = plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes + 4096 +
                             static_cast<std::uint64_t>(n_experts + (all ? 0 : 2)) * expert_bytes;
    }
    static std::vector<TokenId> text(std::size_t n) {
        const auto golden = readJson(sourcePath(QStringLiteral("tests/engine/data/demo_golden.json")));
        std::vector<TokenId> tokens;
        for (const QJsonValue& each : golden[QLatin1String("cases")].toArray()) {
            for (const TokenId token : tokensOf(each[QLatin1String("tokens")].toArray())) tokens.push_back(token);
        }
        if (tokens.size() > n) tokens.resize(n);
        return tokens;
    }

    QTemporaryDir cache_, quantized_;
};

QTEST_GUILESS_MAIN(TestTheta)
#include "tst_theta.moc"
