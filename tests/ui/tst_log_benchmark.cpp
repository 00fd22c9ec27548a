// The panels Log and Benchmark on a scripted engine, and their files.

#include <QAbstractItemModelTester>
#include <QDockWidget>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMainWindow>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScopeGuard>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTemporaryDir>

#include "kernels/formats.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/panel_bench.h"
#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/engine/format.h"
#include "ui/panels/benchmark_panel.h"
#include "ui/panels/budget_panel.h"
#include "ui/panels/log_panel.h"
#include "ui/panels/picture_dialog.h"
#include "ui/plot/bar_plot.h"
#include "ui/widgets/size_spin_box.h"
#include "ui/widgets/value_slider.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

class TestLogBenchmark : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---- log
    void log_isAModelAndStaysBounded() {
        EventLog few;
        const QAbstractItemModelTester tester(&few, QAbstractItemModelTester::FailureReportingMode::QtTest);
        few.append(LogKind::Note, QStringLiteral("one"));
        few.append(LogKind::Problem, QStringLiteral("two"));
        few.clear();
        EventLog log;
        for (int i = 0; i < EventLog::kMostRows + 5; ++i) {
            log.append(LogKind::Note, QString::number(i));
        }
        QVERIFY(log.size() <= EventLog::kMostRows);
        QCOMPARE(log.size() + log.dropped(), qint64{EventLog::kMostRows + 5});
        QCOMPARE(log.at(log.size() - 1).text, QString::number(EventLog::kMostRows + 4));
        QCOMPARE(log.at(0).text, QString::number(log.dropped()));
    }

    void log_filtersSearchesAndSaves() {
        EventLog log;
        LogPanel panel(log);
        panel.show();
        QCOMPARE(panel.connectionsText(), QStringLiteral("No outbound connections"));
        log.append(LogKind::Load, QStringLiteral("Loading demo"));
        log.append(LogKind::Problem, QStringLiteral("RAM is short"), QStringLiteral("arena: 12 bytes"));
        log.append(LogKind::Decision, QStringLiteral("balanced is kept"));
        QCOMPARE(panel.table().model()->rowCount(), 3);
        panel.search().setText(QStringLiteral("ARENA short"));
        QCOMPARE(panel.table().model()->rowCount(), 1);
        panel.search().clear();
        panel.kind().setCurrentIndex(panel.kind().findData(static_cast<int>(LogKind::Decision)));
        QCOMPARE(panel.table().model()->rowCount(), 1);
        panel.kind().setCurrentIndex(0);
        QCOMPARE(namelessControls(panel).join(u'|'), QString());
        picture(panel, QStringLiteral("log"));

        const QTemporaryDir folder;
        QVERIFY(panel.save(folder.filePath(QStringLiteral("log.json"))));
        QFile file(folder.filePath(QStringLiteral("log.json")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
        QCOMPARE(json[QStringLiteral("format")].toString(), QStringLiteral("offstage.log"));
        QCOMPARE(json[QStringLiteral("entries")].toArray().size(), 3);
        QCOMPARE(json[QStringLiteral("entries")][1][QStringLiteral("kind")].toString(), QStringLiteral("problem"));
        QVERIFY(panel.save(folder.filePath(QStringLiteral("log.txt"))));
        QString why;
        QVERIFY(!panel.save(QStringLiteral("/nowhere/at/all/log.txt"), &why));
        QVERIFY(why.contains(QStringLiteral("/nowhere/at/all")));
        log.appendConnection(QStringLiteral("example.org"), QStringLiteral("an expert node"));
        QVERIFY(!panel.connectionsText().startsWith(QStringLiteral("No")));
    }

    void log_followsTheEngine() {
        Bench bench;
        EventLog log;
        log.follow(bench.engine);
        bench.open();
        QTRY_COMPARE(log.size(), 2);  // loading, loaded
        engine::ReplanRequest request;
        request.vram_bytes = 5 * kGiB;
        bench.engine.replan(request);
        QTRY_COMPARE(log.size(), 4);  // requested, in force
        QVERIFY(log.at(3).text.contains(QStringLiteral("in force")));
        bench.with([](ReplanStage& s) { s.note = "The cache rests."; });
        bench.engine.replan(request);
        QTRY_COMPARE(log.size(), 7);
        QCOMPARE(log.at(6).kind, LogKind::Note);
        QCOMPARE(log.at(6).text, QStringLiteral("The cache rests."));
    }

    // Notes from before the weights are read are shown then, and not again when the model
    // is loaded.
    void log_showsNotesWhenTheyCome() {
        Bench bench;
        EventLog log;
        log.follow(bench.engine);
        Script script;
        script.loadNotes = {"Little memory is left.", "The context is shorter."};
        script.answerNotes = {"The disk is full."};
        bench.stage->setScript(script);
        bench.open();
        const auto texts = [&log](LogKind kind) {
            QStringList found;
            for (int i = 0; i < log.size(); ++i) {
                if (log.at(i).kind == kind) {
                    found << log.at(i).text;
                }
            }
            return found.join(u'|');
        };
        QTRY_COMPARE(log.size(), 4);
        QCOMPARE(log.at(1).text, QStringLiteral("Little memory is left."));
        QCOMPARE(log.at(2).kind, LogKind::Load);
        QCOMPARE(texts(LogKind::Note), QStringLiteral("Little memory is left.|The context is shorter."));
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "Hello"}};
        QVERIFY(bench.engine.generate(request) != 0);
        QTRY_COMPARE(texts(LogKind::Note),
                     QStringLiteral("Little memory is left.|The context is shorter.|The disk is full."));
    }

    // ---- benchmark
    void benchmark_measuresAnswers() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        QVERIFY(panel.emptyText().contains(QStringLiteral("Open a model")));
        bench.open();
        panel.show();
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "Hello"}};
        QVERIFY(bench.engine.generate(request) != 0);
        QTRY_COMPARE(panel.answers().rowCount(), 1);
        const BenchmarkRun& run = panel.answers().runs().front();
        QCOMPARE(run.tokensOut, qint64{11});
        QCOMPARE(run.itlSeconds.size(), std::size_t{10});
        QVERIFY(std::abs(run.itl(0.5) - 0.015) < 1.5e-3);
        QVERIFY(run.itl(0.99) >= run.itl(0.95) && run.itl(0.95) > run.itl(0.5));
        QVERIFY(panel.histogram().barCount() > 0);
        const QAbstractItemModelTester tester(&panel.answers(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QCOMPARE(namelessControls(panel).join(u'|'), QString());
        picture(panel, QStringLiteral("benchmark-answers"));
    }

    void log_columns_followTheTextSize() {
        const auto usual = qScopeGuard([] { applyTextSize(*qApp, 0); });
        applyTextSize(*qApp, 0);
        EventLog log;
        LogPanel panel(log);
        panel.show();
        const int column = panel.table().columnWidth(EventLog::Time), least = panel.table().minimumWidth();
        applyTextSize(*qApp, 3);
        QTRY_VERIFY(panel.table().columnWidth(EventLog::Time) > column);
        QVERIFY(panel.table().minimumWidth() > least);
    }

    void benchmark_runsAScenario() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        bench.open();
        panel.show();
        panel.showPage(BenchmarkPanel::Scenario);
        test::find<QSpinBox>(panel, "Tokens of the prompt").setValue(64);
        test::find<QSpinBox>(panel, "Tokens of the answer").setValue(40);  // longer than the engine's text
        panel.repeats().setValue(3);
        QTest::mouseClick(&test::find<QPushButton>(panel, "Run"), Qt::LeftButton);
        QTRY_COMPARE(panel.scenarios().rowCount(), 3);
        QTRY_VERIFY(!panel.runner().isRunning());
        QCOMPARE(panel.answers().rowCount(), 0);  // these are no answers of the user's
        const auto requests = bench.stage->requests();
        QCOMPARE(requests.size(), std::size_t{3});
        QVERIFY(requests[0].raw && requests[0].max_tokens == 40);
        QVERIFY(requests[0].raw_prompt != requests[1].raw_prompt);
        QVERIFY(bench.stage->resets >= 3);  // nothing is found in the KV cache
        for (int row = 0; row < 3; ++row) {
            const BenchmarkRun& run = panel.scenarios().runs()[static_cast<std::size_t>(row)];
            QCOMPARE(run.tokensIn, qint64{64});
            QCOMPARE(run.tokensOut, qint64{40});
            QVERIFY(!run.endedEarly && run.hasSpeed());
            QVERIFY(panel.scenarios().index(row, BenchmarkTable::Speed).data().toString() != QStringLiteral("–"));
        }
        picture(panel, QStringLiteral("benchmark-scenario"));
    }

    void benchmark_scenarioThatEndsEarlySaysSo() {
        Bench bench;
        Script stubborn;
        stubborn.ignoresEnd = false;
        bench.stage->setScript(stubborn);
        BenchmarkPanel panel(bench.engine);
        bench.open();
        QVERIFY(panel.runner().runScenario({64, 40, 1, 1}));
        QTRY_COMPARE(panel.scenarios().rowCount(), 1);
        const BenchmarkRun run = panel.scenarios().runs().front();
        QCOMPARE(run.tokensOut, qint64{11});
        QVERIFY(run.endedEarly);
        const auto shown = [&](BenchmarkTable::Column column) {
            return panel.scenarios().index(0, column).data().toString();
        };
        QVERIFY2(shown(BenchmarkTable::Label).contains(QStringLiteral("ended early, after 11")),
                 qPrintable(shown(BenchmarkTable::Label)));
        QCOMPARE(shown(BenchmarkTable::Speed), QStringLiteral("–"));
        const QJsonObject json = QJsonDocument::fromJson(benchmarkJson(panel.report())).object();
        const QJsonValue row = json[QStringLiteral("scenarios")][0];
        QVERIFY(row[QStringLiteral("ended_early")].toBool());
        QVERIFY(row[QStringLiteral("tokens_per_s")].isNull());
        QVERIFY(benchmarkMarkdown(panel.report()).contains("| 64 | 11 |"));
    }

    void benchmark_comparesTwoPlansAndGoesBack() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        bench.open();
        panel.show();
        panel.showPage(BenchmarkPanel::Compare);
        QTRY_COMPARE(panel.planB().vram().bytes(), 6 * kGiB);
        panel.prompt().setPlainText(QStringLiteral("Tell me of the sea."));
        QVERIFY(!test::find<QPushButton>(panel, "Compare").isEnabled());  // the same plan twice has no meaning
        panel.planB().vram().spin().setValue(9);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Compare").isEnabled());
        QTest::mouseClick(&test::find<QPushButton>(panel, "Compare"), Qt::LeftButton);
        QTRY_COMPARE(panel.comparisons().size(), std::size_t{1});
        QTRY_VERIFY(!panel.runner().isRunning());
        bench.with([](ReplanStage& s) {
            QCOMPARE(s.requests.size(), std::size_t{2});
            QCOMPARE(s.requests[0].vram_bytes.value_or(0), 9 * kGiB);
            QCOMPARE(s.requests[1].vram_bytes.value_or(0), 6 * kGiB);
        });
        const BenchmarkComparison& c = panel.comparisons().front();
        QCOMPARE(c.a.setting.vramBytes, 6 * kGiB);
        QCOMPARE(c.b.setting.vramBytes, 9 * kGiB);
        QCOMPARE(c.a.text, c.b.text);
        QCOMPARE(bench.stage->requests()[0].sampler.seed, bench.stage->requests()[1].sampler.seed);
        QCOMPARE(settingInForce(bench.engine).vramBytes, 6 * kGiB);
        picture(panel, QStringLiteral("benchmark-compare"));
    }

    void benchmark_focusComesBackToCompare() {
        Bench bench;
        BenchmarkPanel panel(bench.engine);
        bench.open();
        panel.show();
        panel.showPage(BenchmarkPanel::Compare);
        QTRY_COMPARE(panel.planB().vram().bytes(), 6 * kGiB);
        panel.prompt().setPlainText(QStringLiteral("Tell me of the sea."));
        panel.planB().vram().spin().setValue(9);
        QTRY_VERIFY(test::find<QPushButton>(panel, "Compare").isEnabled());
        test::find<QPushButton>(panel, "Compare").setFocus();
        QTest::keyClick(&test::find<QPushButton>(panel, "Compare"), Qt::Key_Space);
        QVERIFY(panel.runner().isRunning());
        QCOMPARE(qobject_cast<QPushButton*>(panel.focusWidget())->text(), QStringLiteral("Cancel"));
        QTRY_VERIFY(!panel.runner().isRunning());
        QCOMPARE(panel.focusWidget(), &test::find<QPushButton>(panel, "Compare"));
    }

    void benchmark_cancelledComparisonPutsThePlanBack() {
        Bench bench;
        Script slow;
        slow.answer = longAnswer(200);
        slow.tokensPerSecond = 200;
        bench.stage->setScript(slow);
        BenchmarkPanel panel(bench.engine);
        bench.open();
        panel.show();
        BenchmarkRunner::Comparison comparison;
        comparison.prompt = QStringLiteral("x");
        comparison.maxTokens = 20;
        comparison.a = settingInForce(bench.engine);
        comparison.b = comparison.a;
        comparison.b.vramBytes = 9 * kGiB;
        QSignalSpy ended(&panel.runner(), &BenchmarkRunner::ended);
        int sent = 0;
        connect(&panel.runner(), &BenchmarkRunner::progressed, &panel, [&](int done, int, const QString&) {
            if (done == 2 && sent++ == 0) {  // plan B is in force and begins to answer
                QMetaObject::invokeMethod(&panel.runner(), &BenchmarkRunner::cancel, Qt::QueuedConnection);
            }
        });
        QVERIFY(panel.runner().runComparison(comparison));
        QTRY_COMPARE(ended.size(), 1);
        QCOMPARE(ended[0][0].toString(), QString());
        QCOMPARE(settingInForce(bench.engine).vramBytes, 6 * kGiB);
        QVERIFY(panel.comparisons().empty());
    }

    void export_saysAllThatAReaderNeeds() {
        BenchmarkReport report = beginReport();
        report.programVersion = QStringLiteral("1.2.3");
        report.model.name = "demo, \"quoted\"";
        report.model.emulated = true;
        report.model.device = "emulated:t4";
        report.fingerprint = QStringLiteral("00ff");
        BenchmarkRun run;
        run.label = QStringLiteral("a | pipe, a \"quote\"\nand a line");
        run.time = QDateTime::fromMSecsSinceEpoch(0);
        run.tokensIn = 5;
        run.tokensOut = 3;
        run.itlSeconds = {0.01, 0.02};
        run.seed = 18'446'744'073'709'551'615ULL;
        run.setting.vramBytes = kGiB;
        run.text = QStringLiteral("answer");
        report.answers = {run};
        report.comparisons = {{QStringLiteral("prompt"), run, run}};

        const QJsonObject json = QJsonDocument::fromJson(benchmarkJson(report)).object();
        QCOMPARE(json[QStringLiteral("format")].toString(), QStringLiteral("offstage.benchmark"));
        QCOMPARE(json[QStringLiteral("version")].toInt(), 1);
        QCOMPARE(json[QStringLiteral("timing")].toString(), QStringLiteral("accounted"));
        QCOMPARE(json[QStringLiteral("model")][QStringLiteral("fingerprint")].toString(), report.fingerprint);
        const QJsonValue answer = json[QStringLiteral("answers")][0];
        QCOMPARE(answer[QStringLiteral("itl_s")].toArray().size(), 2);
        QCOMPARE(answer[QStringLiteral("seed")].toString(), QStringLiteral("18446744073709551615"));
        QVERIFY(answer[QStringLiteral("text")].isUndefined());
        QCOMPARE(json[QStringLiteral("comparisons")][0][QStringLiteral("a")][QStringLiteral("text")].toString(),
                 QStringLiteral("answer"));
        for (const char* key : {"program", "hardware", "plan", "budgets", "scenarios", "created"}) {
            QVERIFY2(json.contains(QLatin1String(key)), key);
        }

        const QString csv = QString::fromUtf8(benchmarkCsv(report));
        QVERIFY(csv.contains(QStringLiteral("\"a | pipe, a \"\"quote\"\"\nand a line\"")));
        QCOMPARE(csv.count(QStringLiteral("\r\n")), 4);  // headings, an answer, two plans
        const QString markdown = QString::fromUtf8(benchmarkMarkdown(report));
        QVERIFY(markdown.contains(QStringLiteral("a \\| pipe")));
        QVERIFY(markdown.contains(QStringLiteral("not measured")));

        const QTemporaryDir folder;
        for (const char* ending : {"csv", "json", "md"}) {
            const QString path = folder.filePath(QStringLiteral("out.") + QLatin1String(ending));
            QVERIFY(saveBenchmark(report, path));
            QVERIFY(QFileInfo(path).size() > 100);
        }
        QString why;
        QVERIFY(!saveBenchmark(report, QStringLiteral("/nowhere/at/all.csv"), &why));
        QVERIFY(!why.isEmpty());
    }

    // Every panel was grabbed, with the titles of conversations and the system prompt.
    void pictures_areOfThePlotsThatArePicked() {
        QMainWindow window;
        QList<QDockWidget*> docks;
        const auto dock = [&](const QString& title, QWidget* content) {
            docks << new QDockWidget(title, &window);
            docks.back()->setWidget(content);
            window.addDockWidget(Qt::RightDockWidgetArea, docks.back());
        };
        const auto bars = [](const QString& name, int n) {
            auto* plot = new BarPlot;
            plot->setAccessibleName(name);
            BarPlot::Bars data;
            for (int i = 0; i < n; ++i) {
                data.names << QString::number(i);
                data.values.push_back(3.0);
            }
            plot->setBars(data);
            return plot;
        };
        dock(QStringLiteral("Sampling"), new QPlainTextEdit(QStringLiteral("A secret system prompt")));
        dock(QStringLiteral("Cache"), bars(QStringLiteral("Hit rate"), 2));
        dock(QStringLiteral("Dispatch"), bars(QStringLiteral("Times"), 2));
        dock(QStringLiteral("Budget"), bars(QStringLiteral("Nothing"), 0));
        window.show();
        PictureDialog dialog(plotsOf(docks), QStringLiteral("a model · a GPU · a plan"));
        QCOMPARE(dialog.list().count(), 2);
        dialog.list().item(1)->setCheckState(Qt::Unchecked);
        const QTemporaryDir folder;
        QSignalSpy saved(&dialog, &PictureDialog::saved);
        const QSize before = dialog.chosen()[0].plot->size();
        dialog.saveIn(folder.path());
        QCOMPARE(saved.size(), 1);
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList(QStringLiteral("Cache-Hit-rate.png")));
        const QImage image(folder.filePath(QStringLiteral("Cache-Hit-rate.png")));
        QVERIFY(image.width() > 2000 && image.height() > 600);  // independent of the room in the window
        QCOMPARE(plotsOf(docks)[0].plot->size(), before);
        picture(dialog, QStringLiteral("pictures-dialog"));
        QString why;
        QVERIFY(savePlots(plotsOf(docks), {}, QStringLiteral("/nowhere/at/all"), &why).isEmpty());
        QVERIFY(!why.isEmpty());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestLogBenchmark)
#include "tst_log_benchmark.moc"
