// The panel Cache on a scripted engine.

#include <thread>

#include <QComboBox>
#include <QFile>
#include <QScrollArea>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTest>

#include "tests/ui/find_widget.h"
#include "tests/ui/three_panels.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/format.h"
#include "ui/panels/cache_panel.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

void choose(const CachePanel& panel, const char* box, int data) {
    auto& choice = test::find<QComboBox>(panel, box);
    choice.setCurrentIndex(choice.findData(data));
}

}  // namespace

class TestCachePanel : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // ---------------------------------------------------------------- cache

    void cache_lines_areOfEachToken() {
        test::ThreePanels b(onDevice());
        b.load();
        choose(*b.cache, "Over how many tokens lines are averaged", 1);
        b.answer();
        choose(*b.cache, "Layer whose hit rate is shown beside that of all", 2);
        const auto& hits = b.cache->hits();
        QCOMPARE(hits.seriesCount(), 2);
        std::size_t point = 0;
        for (const LoggedStep& step : b.log->steps()) {
            if (step.isPrompt()) {
                continue;
            }
            double all = 0, resident = 0, layer = 0, layerResident = 0, bytes = 0;
            for (const auto& event : step.layers) {
                bytes += static_cast<double>(event.bytes_copied);
                for (const auto& a : step.assignmentsOf(event)) {
                    all += 1;
                    resident += a.target == 0;
                    layer += event.layer == 2;
                    layerResident += event.layer == 2 && a.target == 0;
                }
            }
            QCOMPARE(hits.points(0)[point].x(), static_cast<double>(step.id));
            QCOMPARE(hits.points(0)[point].y(), resident / all);
            QCOMPARE(hits.points(1)[point].y(), layerResident / layer);
            QCOMPARE(b.cache->bytes().points(0)[point].y(), bytes);
            ++point;
        }
        QCOMPARE(hits.points(0).size(), point);
        QVERIFY(point > 100);
    }

    // If experts are copied without some of their neurons, the neurons that were present
    // have a separate line and sum.
    void cache_tellsNeuronsHit() {
        test::Script script = onDevice();
        script.neededNeurons = 200;
        script.heldNeurons = 130;
        test::ThreePanels b(script);
        b.load();
        choose(*b.cache, "Over how many tokens lines are averaged", 1);
        b.answer();
        const auto& hits = b.cache->hits();
        QCOMPARE(hits.seriesCount(), 2);
        QVERIFY(hits.points(1).size() > 100);
        for (std::size_t i = 0; i < hits.points(1).size(); ++i) QCOMPARE(hits.points(1)[i].y(), 0.65);
        QTRY_VERIFY2(test::textOf(*b.cache, QStringLiteral("Sums since the model was loaded"))
                         .contains(QStringLiteral("neurons hit: ") + percentText(0.65)),
                     qPrintable(test::textOf(*b.cache, QStringLiteral("Sums since the model was loaded"))));
        choose(*b.cache, "Layer whose hit rate is shown beside that of all", 2);
        QCOMPARE(hits.seriesCount(), 3);
        QVERIFY(hits.points(2).size() > 100);
        b.cache->resize(420, 900);
        const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
        if (!folder.isEmpty()) QVERIFY(b.cache->grab().save(folder + QStringLiteral("/cache-neurons.png")));
    }

    void cache_prefetch_isOfEachToken() {
        test::ThreePanels b(onDevice());
        b.load();
        choose(*b.cache, "Over how many tokens lines are averaged", 1);
        b.answer();
        const auto& lines = b.cache->prefetch();
        std::size_t point = 0;
        for (const LoggedStep& step : b.log->steps()) {
            if (step.isPrompt()) {
                continue;
            }
            double used = 0, guessed = 0, missed = 0, admissions = 0;
            for (const auto& event : step.layers) {
                used += static_cast<double>(event.used_guesses);
                guessed += static_cast<double>(event.guessed_copies);
                admissions += static_cast<double>(event.admissions);
                for (const auto& a : step.assignmentsOf(event)) {
                    missed += a.target != 0;
                }
            }
            const QPointF recall = lines.points(0)[point], precision = lines.points(1)[point];
            QCOMPARE(recall.x(), static_cast<double>(step.id));
            if (guessed > 0) {
                QCOMPARE(recall.y(), used / (missed + used));
                QCOMPARE(precision.y(), used / guessed);
            } else {  // no guesses: no share of them
                QVERIFY(std::isnan(recall.y()) && std::isnan(precision.y()));
            }
            QCOMPARE(b.cache->exchanges().points(0)[point].y(), admissions);
            ++point;
        }
        QVERIFY(point > 100);
        QCOMPARE(lines.points(0).size(), point);
        // Over many tokens: the share of the sums.
        choose(*b.cache, "Over how many tokens lines are averaged", 64);
        QCOMPARE(lines.points(0).size(), point);
        QCOMPARE(lines.points(1)[point - 1].y(), 0.5);  // two guesses for each that is used
    }

    void cache_openedAfterTheAnswer_drawsAllOfIt() {
        test::ThreePanels b(onDevice());
        b.load();
        b.cache->hide();
        b.answerUnseen();
        QCOMPARE(b.cache->exchanges().points(0).size(), std::size_t{0});
        b.cache->show();
        QTRY_VERIFY(b.cache->exchanges().points(0).size() > 100);
        QCOMPARE(b.cache->prefetch().points(0).size(), b.cache->hits().points(0).size());
    }

    void cache_wideDock_showsItsPlotsSideBySide() {
        test::ThreePanels b(onDevice());
        b.load();
        const auto place = [&b](const QWidget& plot) { return plot.mapTo(b.cache.get(), QPoint()); };
        b.cache->resize(360, 900);
        QTRY_VERIFY(place(b.cache->prefetch()).y() > place(b.cache->hits()).y());
        QCOMPARE(place(b.cache->prefetch()).x(), place(b.cache->hits()).x());
        b.cache->resize(800, 900);  // two and two
        QTRY_COMPARE(place(b.cache->prefetch()).y(), place(b.cache->hits()).y());
        QVERIFY(place(b.cache->prefetch()).x() > place(b.cache->hits()).x());
        QVERIFY(place(b.cache->bytes()).y() > place(b.cache->hits()).y());
        QTRY_COMPARE(b.cache->hits().width(), b.cache->prefetch().width());
        b.cache->resize(1100, 900);  // three would fit: four are two and two all the same
        QTRY_VERIFY(b.cache->hits().width() > 450);
        QCOMPARE(place(b.cache->exchanges()).y(), place(b.cache->bytes()).y());
        b.cache->resize(1400, 900);
        QTRY_COMPARE(place(b.cache->exchanges()).y(), place(b.cache->hits()).y());
        b.cache->resize(340, 900);  // and back: side-by-side parts keep no dock wide
        QCOMPARE(b.cache->width(), 340);
        QTRY_COMPARE(place(b.cache->exchanges()).x(), place(b.cache->hits()).x());
    }

    void cache_policies_areReplayed() {
        test::ThreePanels b(onDevice());
        b.load();
        QVERIFY(!compareButton(*b.cache).isEnabled());  // nothing is recorded yet
        b.answer();
        QCOMPARE(test::find<QSpinBox>(*b.cache, "Experts in the cache").value(), 20);
        compareButton(*b.cache).click();
        QTRY_VERIFY(b.cache->table().isVisible());
        QCOMPARE(b.cache->table().rowCount(), 6);
        std::vector<double> rates;
        for (int row = 0; row < 6; ++row) {
            rates.push_back(QLocale().toDouble(b.cache->table().item(row, 1)->text().chopped(2)));
        }
        QCOMPARE(b.cache->table().item(0, 0)->text(), QStringLiteral("Least recently used (LRU)"));
        QCOMPARE(rates[4], 0.0);  // no cache
        for (const double rate : rates) {
            QVERIFY(rate <= rates[5]);  // nothing is better than the best
        }
        QVERIFY(rates[5] > 0);
        // The scripted placement keeps the lowest numbers, as planned: a fixed cache's
        // contents are the same.
        engine::CacheCalls calls = cacheCallsOf(*b.log, 8, 8);
        QCOMPARE(calls.layers.size(), b.log->steps().size() * 8);
        QVERIFY(test::textOf(*b.cache, QStringLiteral("What was compared")).contains(QStringLiteral("20 of 64")));
        QCOMPARE(b.cache->policies().barCount(), 6);
        test::find<QSpinBox>(*b.cache, "Experts in the cache").setValue(64);
        compareButton(*b.cache).click();
        QTRY_COMPARE(b.cache->table().item(0, 1)->text().chopped(2).toDouble(), 100.0);
        // In a low panel the result comes into view.
        b.cache->resize(360, 300);
        b.cache->findChild<QScrollArea*>()->verticalScrollBar()->setValue(0);
        QTRY_VERIFY(b.cache->table().visibleRegion().isEmpty());
        compareButton(*b.cache).click();
        QTRY_VERIFY(b.cache->table().visibleRegion().boundingRect().height() > 40);
    }

    void cache_comparisonCancelled_leavesNothing() {
        engine::CacheCalls calls;
        calls.n_layers = 32;
        calls.n_experts = 64;
        constexpr int kSteps = 8000;
        for (int step = 0; step < kSteps; ++step) {
            for (int layer = 0; layer < 32; ++layer) {
                calls.layers.push_back({layer, true, calls.calls.size(), 2, static_cast<size_t>(step), 1});
                const int e = (step * 7 + layer * 13) % 63;
                calls.calls.push_back({{layer, e}, 1});
                calls.calls.push_back({{layer, e + 1}, 1});
            }
        }
        calls.n_tokens = kSteps;
        CacheComparison comparison;
        QSignalSpy finished(&comparison, &CacheComparison::finished);
        comparison.start(calls, engine::Popularity::uniform(32, 64, 2), 1000);
        // QTRY_VERIFY checks every 50 ms, in which a fast machine has compared them all.
        QElapsedTimer waited;
        waited.start();
        while (comparison.progress() <= 0 && waited.elapsed() < 30'000) std::this_thread::yield();
        QVERIFY(comparison.progress() > 0);
        QVERIFY(comparison.progress() < 0.9);
        comparison.cancel();
        QTRY_COMPARE(finished.size(), 1);
        QVERIFY(finished.back().at(0).value<std::vector<PolicyResult>>().empty());
        QVERIFY(!comparison.isRunning());
        comparison.start(calls, engine::Popularity::uniform(32, 64, 2), 1000);
        // And one that is destroyed while it runs ends with it.
    }

    void cache_onCpu_saysThereIsNone() {
        test::ThreePanels b(onCpu());
        b.load();
        b.answer();
        QVERIFY(!b.cache->hits().isVisible());
        QVERIFY(compareButton(*b.cache).isEnabled());
        QCOMPARE(test::find<QSpinBox>(*b.cache, "Experts in the cache").value(), 32);
    }

    void cache_click_selectsTheToken() {
        test::ThreePanels b(onDevice());
        b.load();
        b.answer();
        const auto token = b.log->token(kMessage, 30);
        Q_EMIT b.cache->hits().clicked(static_cast<double>(token->step));
        QVERIFY(b.selection->token());
        QCOMPARE(b.selection->token()->index, 30);
    }

    // Mixtral-Offloading's figure 1 for the steps that ran.
    void uses_showWhereEachStepsExpertsRan() {
        test::ThreePanels b(onDevice());
        b.selection->setTextSource(
            [&b](MessageId, const TextRange& range) { return b.text.mid(range.begin, range.end - range.begin); });
        b.load();
        b.cache->hide();
        b.answerUnseen();
        ExpertUsePlot& uses = b.cache->uses();
        QVERIFY(uses.columns().empty());  // nothing is done for a picture that is not seen
        b.cache->show();
        test::child<QTabWidget>(*b.cache).setCurrentIndex(1);
        choose(*b.cache, "Layer whose experts are shown over tokens", 3);
        QTRY_COMPARE(uses.columns().size(), b.log->steps().size());
        int counted[6] = {};
        for (std::size_t i = 0; i < uses.columns().size(); ++i) {
            const ExpertUsePlot::Column& column = uses.columns()[i];
            const LoggedStep& step = b.log->steps()[i];
            QCOMPARE(column.step, step.id);
            QCOMPARE(column.prompt, step.isPrompt());
            const auto assignments = step.assignmentsOf(step.layers[3]);
            QCOMPARE(column.calls.size(), assignments.size());
            for (std::size_t n = 0; n < assignments.size(); ++n) {
                const auto& a = assignments[n];
                QCOMPARE(column.calls[n].first, static_cast<int>(a.expert));
                QCOMPARE(column.calls[n].second, a.target == 0   ? engine::ExpertOutcome::kHit
                                                 : a.target == 1 ? engine::ExpertOutcome::kCopied
                                                                 : engine::ExpertOutcome::kCpu);
                ++counted[static_cast<int>(column.calls[n].second)];
            }
        }
        QVERIFY(counted[2] > 0 && counted[3] > 0 && counted[4] > 0);
        QVERIFY(uses.columns().front().prompt);

        // The latest columns are visible; the item at the pointer is named.
        std::size_t newest = uses.columns().size() - 1;
        while (!b.log->tokenOfStep(uses.columns()[newest].step)) {
            --newest;  // the end of the answer writes none
        }
        const ExpertUsePlot::Column& last = uses.columns()[newest];
        const QRectF cell = uses.rectOf(last.number, last.calls.front().first);
        QVERIFY(uses.rect().contains(cell.toRect()));
        QVERIFY(cell.width() >= 5);
        const auto pointAt = [&uses](const QRectF& place) {
            const QPointF at = place.center();
            QMouseEvent move(QEvent::MouseMove, at, uses.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
            QApplication::sendEvent(&uses, &move);
        };
        pointAt(cell);
        QVERIFY2(uses.reading().contains(QStringLiteral("layer 3, expert %1: ").arg(last.calls.front().first)),
                 qPrintable(uses.reading()));
        const auto token = b.log->tokenOfStep(last.step);
        const QString words = b.text.mid(token->text.begin, token->text.end - token->text.begin).simplified();
        QVERIFY2(words.isEmpty() || uses.reading().startsWith(u'“' + words), qPrintable(uses.reading()));
        QTest::mouseClick(&uses, Qt::LeftButton, {}, cell.center().toPoint());
        QCOMPARE(b.selection->token()->index, token->index);
        // An expert that the token did not call.
        int idle = 0;
        while (std::any_of(last.calls.begin(), last.calls.end(), [&](const auto& c) { return c.first == idle; })) {
            ++idle;
        }
        pointAt(uses.rectOf(last.number, idle));
        QVERIFY2(uses.reading().endsWith(QStringLiteral("not called")), qPrintable(uses.reading()));

        // Exported: numbers, and the same picture as from the command line.
        const int calls = counted[2] + counted[3] + counted[4];
        QCOMPARE(uses.csv().count(QStringLiteral("\r\n")), calls + 1);
        QCOMPARE(uses.csv().count(QStringLiteral(",copied")), counted[3]);
        const QTemporaryDir folder;
        QVERIFY(uses.saveSvg(folder.filePath(QStringLiteral("uses.svg"))));
        QFile file(folder.filePath(QStringLiteral("uses.svg")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString svg = QString::fromUtf8(file.readAll());
        QCOMPARE(svg.count(QStringLiteral("#1f5fa8")), counted[2] + 1);  // and the legend's
        QCOMPARE(svg.count(QStringLiteral("#c2410c")), counted[3] + 1);
        QCOMPARE(svg.count(QStringLiteral("#2f7d4f")), counted[4] + 1);
        takePicture(*b.cache, QStringLiteral("uses-narrow"));
        b.cache->resize(900, 900);
        takePicture(*b.cache, QStringLiteral("uses-wide"));

        // A long session shows only the latest steps.
        std::vector<ExpertUsePlot::Column> many;
        for (int i = 0; i < 2 * ExpertUsePlot::kMostColumns; ++i) {
            many.push_back({static_cast<StepId>(i), i, 1, false, {{0, engine::ExpertOutcome::kHit}}});
        }
        uses.setUses(QStringLiteral("model"), 0, 8, many);
        QCOMPARE(uses.columns().size(), static_cast<std::size_t>(ExpertUsePlot::kMostColumns));
        QCOMPARE(uses.columns().back().number, qint64(2 * ExpertUsePlot::kMostColumns - 1));
        QVERIFY(uses.rectOf(0, 0).right() < 0);  // out of sight until the view is moved
        QTest::keyClick(&uses, Qt::Key_Home);
        QVERIFY(uses.rectOf(uses.columns().front().number, 0).left() >= 0);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestCachePanel)
#include "tst_cache_panel.moc"
