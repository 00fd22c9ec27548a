// The plot kit: axes, decimation, CSV, and each plot under mouse and keys.
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include <QSignalSpy>
#include <QSplitter>
#include <QTemporaryDir>
#include <QTest>
#include <QVBoxLayout>

#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/csv.h"
#include "ui/plot/heat_map.h"
#include "ui/plot/heat_map_legend.h"
#include "ui/plot/line_plot.h"
#include "ui/plot/stacked_bar.h"
#include "ui/plot/timeline_plot.h"
#include "ui/widgets/panel_area.h"

using namespace offstage::ui;

class TestPlot : public QObject {
    Q_OBJECT

    static QStringList labelsOf(const Axis& axis, int most) {
        QStringList labels;
        for (const Tick& tick : axis.ticks(most)) {
            labels << tick.label;
        }
        return labels;
    }

    static void fill(TimelinePlot& plot) {
        plot.setLanes({QStringLiteral("CPU"), QStringLiteral("GPU")});
        plot.setCategories({QStringLiteral("expert")});
        plot.setSpans({{0, 0, 100, QStringLiteral("a"), 0, 11},
                       {0, 200, 300, QStringLiteral("b"), 0, 12},
                       {1, 220, 260, QStringLiteral("c"), 0, 13},
                       {1, 210, 280, QStringLiteral("c"), 0, 13, true},
                       {5, 0, 1000, QStringLiteral("no such lane"), 0, 14}});
        plot.resize(500, 220);
    }

    static void fill(StackedBar& plot) {
        plot.setRows({{QStringLiteral("VRAM"),
                       {{QStringLiteral("dense"), 2e9, 0},
                        {QStringLiteral("none"), 0, 1},
                        {QStringLiteral("experts, 4 bit"), 5e9, 2}},
                       12e9,
                       10e9}});
        plot.resize(500, 200);
    }

  private Q_SLOTS:
    void ticks_linear_areNice() {
        QCOMPARE(labelsOf(Axis({{}, Unit::Plain}, 0, 10, 0, 100), 6),
                 QStringList({QStringLiteral("0"), QStringLiteral("2"), QStringLiteral("4"), QStringLiteral("6"),
                              QStringLiteral("8"), QStringLiteral("10")}));
        QCOMPARE(
            labelsOf(Axis({{}, Unit::Bytes}, 0, 1.5 * 1024 * 1024 * 1024, 0, 100), 4),
            QStringList({QStringLiteral("0.0"), QStringLiteral("0.5"), QStringLiteral("1.0"), QStringLiteral("1.5")}));
        QCOMPARE(labelsOf(Axis({{}, Unit::Count}, 0, 2, 0, 100), 10),
                 QStringList({QStringLiteral("0"), QStringLiteral("1"), QStringLiteral("2")}));
        QCOMPARE(Axis({QStringLiteral("copied"), Unit::Bytes}, 0, 2e9, 0, 1).caption(), QStringLiteral("copied (GiB)"));
        // One number shows no scale.
        QCOMPARE(labelsOf(Axis({{}, Unit::Microseconds}, 7.6, 10.8, 0, 100), 2),
                 QStringList({QStringLiteral("8"), QStringLiteral("10")}));
        for (const double lo : {0.62, 7.2, 19.0, 140.0, 4100.0}) {
            for (const double span : {0.13, 0.26, 0.55, 1.1, 3.7}) {
                const QStringList few = labelsOf(Axis({{}, Unit::Plain}, lo, lo + span, 0, 100), 2);
                QVERIFY2(few.size() >= 2 && few.size() <= 6, qPrintable(few.join(u' ')));
            }
        }
        QCOMPARE(labelsOf(Axis({{}, Unit::Count}, 2.6, 3.4, 0, 100), 2), QStringList{QStringLiteral("3")});
        // Zoomed to microseconds far from the origin, neighbours still differ.
        const QStringList deep = labelsOf(Axis({{}, Unit::Microseconds}, 1'234'567, 1'234'571, 0, 100), 5);
        QVERIFY(deep.size() >= 4);
        QCOMPARE(QSet<QString>(deep.begin(), deep.end()).size(), deep.size());
    }

    void axis_uselessRanges_stayFinite() {
        for (const double lo : {0.0, -1.0, std::nan(""), 1e300}) {
            const Axis axis({{}, Unit::Plain}, lo, lo, 0, 100);
            QVERIFY(std::isfinite(axis.pixelOf(1)));
            QVERIFY(axis.ticks(8).size() < 100);
        }
        QVERIFY((niceRange(std::nan(""), 1, 5) == Range{0, 1}));
        QVERIFY((niceRange(0.3, 9.7, 5) == Range{0, 10}));
    }

    void zoom_keepsThePointAndTheBounds() {
        ZoomRange zoom;
        zoom.setFull({0, 100});
        QVERIFY(zoom.zoom(25, 0.5));
        QVERIFY((zoom.view() == Range{12.5, 62.5}));
        zoom.pan(1000);
        QVERIFY((zoom.view() == Range{50, 100}));
        zoom.setFull({0, 120});  // follows the end
        QVERIFY((zoom.view() == Range{70, 120}));
        QVERIFY(zoom.reset());
        QVERIFY(!zoom.isZoomed());
    }

    void decimation_keepsExtremesAndGaps() {
        PointRing ring(50'000);
        std::mt19937 generator(3);
        double low = 1e9;
        double high = -1e9;
        for (int i = 0; i < 60'000; ++i) {
            const double y = i == 31'007 ? 99 : std::uniform_real_distribution<double>(0, 1)(generator);
            ring.append({static_cast<double>(i), i >= 40'000 && i < 41'000 ? std::nan("") : y});
            if (i >= 10'000 && !(i >= 40'000 && i < 41'000)) {
                low = std::min(low, y);
                high = std::max(high, y);
            }
        }
        QCOMPARE(ring.size(), size_t(50'000));
        QCOMPARE(ring.front().x(), 10'000.0);
        const auto columns = decimate(ring, 0, ring.size(), 0.01, 0);
        QVERIFY(columns.size() <= 501);
        double seenLow = 1e9;
        double seenHigh = -1e9;
        int breaks = 0;
        for (const Column& column : columns) {
            seenLow = std::min(seenLow, column.low);
            seenHigh = std::max(seenHigh, column.high);
            breaks += column.joined ? 0 : 1;
        }
        QCOMPARE(seenLow, low);
        QCOMPARE(seenHigh, high);
        QCOMPARE(breaks, 2);  // the beginning, and after the gap
    }

    void csv_fieldsAreQuoted() {
        QCOMPARE(csvLine({QStringLiteral("a,b"), QStringLiteral("say \"x\""), QStringLiteral("plain")}),
                 QStringLiteral("\"a,b\",\"say \"\"x\"\"\",plain\r\n"));
        QCOMPARE(csvNumber(0.25), QStringLiteral("0.25"));
        QCOMPARE(csvNumber(std::nan("")), QString());
    }

    void colours_standOutOnTheirGround() {
        const QPalette before = qApp->palette();
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            for (int i = 0; i < kSeriesColours; ++i) {
                QVERIFY(contrastOf(seriesColour(i, qApp->palette()), qApp->palette().color(QPalette::Window)) >= 3);
            }
        }
        qApp->setPalette(before);
    }

    void lines_csvJoinsSeriesByX() {
        LinePlot plot;
        plot.setXAxis({QStringLiteral("token"), Unit::Count});
        plot.setYAxis({{}, Unit::TokensPerSecond});
        plot.addSeries(QStringLiteral("a"));
        plot.addSeries(QStringLiteral("b"), LinePlot::Line::Dashed);
        plot.setPoints(0, {1, 2}, {10, std::nan("")});
        plot.setPoints(1, {2, 3}, {5, 6});
        QCOMPARE(plot.csv(), QStringLiteral("token,a (tokens/s),b (tokens/s)\r\n1,10,\r\n2,,5\r\n3,,6\r\n"));
        QVERIFY(!plot.append(1, 2.5, 1));
        QVERIFY(plot.append(1, 4, 1));
    }

    void lines_mouseAndKeys_moveTheCrosshairAndZoom() {
        LinePlot plot;
        plot.addSeries(QStringLiteral("speed"));
        std::vector<double> x(101);
        std::iota(x.begin(), x.end(), 0.0);
        plot.setPoints(0, x, x);
        plot.resize(600, 300);
        plot.show();
        QVERIFY(QTest::qWaitForWindowExposed(&plot));
        const QPoint at(static_cast<int>(std::lround(plot.xAxis().pixelOf(40))), plot.height() / 2);
        QTest::mouseMove(&plot, at);
        QTRY_VERIFY(plot.crosshair() == 40.0);
        QVERIFY(plot.reading().contains(QStringLiteral("40")));
        QTest::keyClick(&plot, Qt::Key_Right);
        QVERIFY(plot.crosshair() == 41.0);
        QTest::keyClick(&plot, Qt::Key_Left, Qt::ShiftModifier);
        QVERIFY(plot.crosshair() == 31.0);
        QSignalSpy clicked(&plot, &LinePlot::clicked);
        QTest::keyClick(&plot, Qt::Key_Return);
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked[0][0].toDouble(), 31.0);
        QTest::keyClick(&plot, Qt::Key_Plus);
        QVERIFY(plot.xAxis().hi() - plot.xAxis().lo() < 70);
        QTest::keyClick(&plot, Qt::Key_Home);
        QCOMPARE(plot.xAxis().hi(), 100.0);
    }

    void plots_hover_paintsNoDataAgain() {
        LinePlot plot;
        plot.addSeries(QStringLiteral("a"));
        plot.setPoints(0, {0, 1, 2, 3}, {1, 5, 2, 4});
        plot.resize(400, 200);
        plot.show();
        QVERIFY(QTest::qWaitForWindowExposed(&plot));
        plot.grab();
        const int painted = plot.renderCount();
        QTest::mouseMove(&plot, QPoint(200, 100));
        plot.grab();
        QCOMPARE(plot.renderCount(), painted);
        plot.append(0, 4, 1);
        plot.append(0, 5, 1);
        plot.grab();
        QCOMPARE(plot.renderCount(), painted + 1);
    }

    void plots_darkAndLight_differ() {
        StackedBar plot;
        fill(plot);
        const QPalette before = qApp->palette();
        plot.show();
        applyTheme(*qApp, Theme::Light);
        QTRY_VERIFY(!isDark(plot.palette()));
        const QImage light = plot.grab().toImage();
        applyTheme(*qApp, Theme::Dark);
        QTRY_VERIFY(isDark(plot.palette()));
        const QImage dark = plot.grab().toImage();
        qApp->setPalette(before);
        QVERIFY(light != dark);
        const QPoint ground(light.width() - 1, light.height() - 1);
        QVERIFY(qGray(light.pixel(ground)) > qGray(dark.pixel(ground)));
    }

    void bar_parts_areWherePainted() {
        StackedBar plot;
        fill(plot);
        const QImage image = plot.grab().toImage();
        const QRectF dense = plot.rectOf({0, 0});
        QCOMPARE(image.pixelColor(QPointF(dense.right() - 4, dense.top() + 2).toPoint()),
                 seriesColour(0, plot.palette()));
        QVERIFY((plot.partAt(dense.center().toPoint()) == StackedBar::PartIndex{0, 0}));
        QVERIFY(plot.rectOf({0, 1}).isEmpty());
        const QRectF free = plot.rectOf({0, StackedBar::kFree});
        // The budget's mark is at 10 of 7 to 12.
        const QRectF label = plot.labelRectOf({0, StackedBar::kFree});
        QCOMPARE(label.left(), free.left());
        QVERIFY(label.right() < free.left() + 0.6 * free.width());
        QVERIFY(label.width() > 0.5 * free.width());
        QCOMPARE(plot.labelRectOf({0, 0}), dense);
        QVERIFY(std::abs(free.width() / dense.width() - 2.5) < 0.05);
        QSignalSpy clicked(&plot, &StackedBar::partClicked);
        QTest::mouseClick(&plot, Qt::LeftButton, {}, plot.rectOf({0, 2}).center().toPoint());
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked[0][1].toInt(), 2);
        QTest::keyClick(&plot, Qt::Key_Right);
        QVERIFY((plot.current() == StackedBar::PartIndex{0, StackedBar::kFree}));
        QVERIFY(plot.csv().contains(QStringLiteral("VRAM,\"experts, 4 bit\",5000000000\r\n")));
    }

    void bar_sizesAlone_moveNoNeighbour() {
        QWidget window;
        auto* column = new QVBoxLayout(&window);
        auto* plot = new StackedBar;
        column->addWidget(plot);
        fill(*plot);
        window.show();
        QCoreApplication::processEvents();
        const offstage::test::EventCount layouts(window, QEvent::LayoutRequest);
        const auto part = [](double size) { return StackedBar::Part{QStringLiteral("dense weights"), size, 0}; };
        plot->setRows({{QStringLiteral("RAM"), {part(1)}}});
        QCoreApplication::processEvents();
        QCOMPARE(layouts.count(), 1);
        plot->setRows({{QStringLiteral("RAM"), {part(2)}}});
        QCoreApplication::processEvents();
        QCOMPARE(layouts.count(), 1);
        plot->setRows({{QStringLiteral("RAM"), {part(2)}}, {QStringLiteral("VRAM"), {part(1)}}});
        QCoreApplication::processEvents();
        QCOMPARE(layouts.count(), 2);
    }

    void histogram_countsEverything() {
        const Histogram whole = histogramOf(std::vector<double>{1, 1.5, 2, 9.9, std::nan("")}, 10);
        QCOMPARE(std::accumulate(whole.counts.begin(), whole.counts.end(), 0.0), 4.0);
        QVERIFY(!whole.openEnd);
        std::vector<double> tailed(1000, 5);
        tailed[0] = 1;
        tailed.push_back(1e6);
        const Histogram cut = histogramOf(tailed, 20, 0.99);
        QVERIFY(cut.openEnd && cut.counts.size() <= 21);
        QCOMPARE(std::accumulate(cut.counts.begin(), cut.counts.end(), 0.0), 1001.0);
    }

    // A long caption leaves the numbers their room.
    void histogram_inANarrowPanel_hasItsNumbers() {
        BarPlot plot;
        plot.resize(320, 150);
        plot.setHistogram({7600, 200, {3, 5, 9, 14, 8, 2, 1, 1, 0, 0, 1, 0, 1, 0, 0, 2}},
                          {QStringLiteral("from one token to the next"), Unit::Microseconds});
        QVERIFY2(plot.numbersBelow().size() >= 3, qPrintable(plot.numbersBelow().join(u' ')));
        plot.resize(900, 150);
        QVERIFY2(plot.numbersBelow().size() >= 4, qPrintable(plot.numbersBelow().join(u' ')));
    }

    // The second was written beyond the widget's edge.
    void histogram_marksAtTheRight_haveTheirNames() {
        BarPlot plot;
        plot.resize(320, 150);
        plot.setHistogram({0, 10, {3, 5, 9, 14, 8, 2, 1, 1, 0, 2}},
                          {QStringLiteral("from one token to the next"), Unit::Microseconds},
                          {{96, QStringLiteral("median")}, {98, QStringLiteral("p95")}});
        const std::vector<QRect> names = plot.markNames();
        QCOMPARE(names.size(), std::size_t{2});
        QVERIFY(names[0].right() < names[1].left());
        for (const QRect& name : names) {
            QVERIFY2(plot.rect().contains(name),
                     qPrintable(QStringLiteral("%1 to %2 of %3").arg(name.left()).arg(name.right()).arg(plot.width())));
        }
    }

    // It was written over the axis's caption.
    void histogram_markAtTheLeft_leavesTheCaptionItsPlace() {
        BarPlot plot;
        plot.resize(320, 150);
        plot.setHistogram({0, 10, {30, 5, 0, 0, 0, 0, 0, 0, 0, 2}},
                          {QStringLiteral("from one token to the next"), Unit::Microseconds},
                          {{1, QStringLiteral("p50")}});
        plot.setValueAxis({QStringLiteral("decode steps"), Unit::Count});
        QVERIFY(plot.markNames().front().left() > plot.fontMetrics().horizontalAdvance(QStringLiteral("decode steps")));
    }

    void stackedBar_thatShrinksNoMore_hasNoGreatestHeight() {
        StackedBar bar;
        bar.setRows({{QStringLiteral("VRAM"), {{QStringLiteral("experts"), 2e9, 0}}, 12e9, 10e9}});
        bar.setShrinking(true);
        QVERIFY(bar.maximumHeight() < QWIDGETSIZE_MAX);
        bar.setShrinking(false);
        QCOMPARE(bar.maximumHeight(), QWIDGETSIZE_MAX);
    }

    void bars_mouseAndKeys_findTheBar() {
        BarPlot plot;
        plot.setBars({QStringLiteral("m"), {QStringLiteral("now"), QStringLiteral("RTX 3060")}, {10, 20}, true});
        plot.resize(400, 240);
        QTest::mouseClick(&plot, Qt::LeftButton, {}, plot.rectOf(1).center().toPoint());
        QCOMPARE(plot.current(), std::optional(1));
        QCOMPARE(plot.reading(), QStringLiteral("RTX 3060\nm: 20"));
        QTest::keyClick(&plot, Qt::Key_Up);
        QCOMPARE(plot.current(), std::optional(0));
        QVERIFY(std::abs(plot.rectOf(1).width() / plot.rectOf(0).width() - 2) < 0.05);
        QCOMPARE(plot.csv(), QStringLiteral("group,m\r\nnow,10\r\nRTX 3060,20\r\n"));
        plot.setHistogram({0, 2, {3, 1}}, {QStringLiteral("ITL"), Unit::Microseconds});
        QTest::keyClick(&plot, Qt::Key_Right);
        QCOMPARE(plot.current(), std::optional(1));
        QCOMPARE(plot.csv(), QStringLiteral("from (us),to (us),count\r\n0,2,3\r\n2,4,1\r\n"));
    }

    void timeline_mouseAndKeys_findSpans() {
        TimelinePlot plot;
        fill(plot);
        QCOMPARE(plot.spans().size(), size_t(4));
        QSignalSpy clicked(&plot, &TimelinePlot::spanClicked);
        QTest::mouseClick(&plot, Qt::LeftButton, {}, plot.rectOf(1).center().toPoint());
        QCOMPARE(clicked.count(), 1);
        QCOMPARE(clicked[0][0].toLongLong(), 12);
        QVERIFY(plot.reading().contains(QStringLiteral("100")));
        QTest::keyClick(&plot, Qt::Key_Left);
        QCOMPARE(plot.current().value(), 0);
        QTest::keyClick(&plot, Qt::Key_Right);
        QTest::keyClick(&plot, Qt::Key_Down);
        QCOMPARE(plot.spans()[static_cast<size_t>(plot.current().value())].id, 13);
        for (int i = 0; i < 60; ++i) {
            QTest::keyClick(&plot, Qt::Key_Plus);
        }
        QVERIFY(std::abs(plot.axis().hi() - plot.axis().lo() - 1) < 1e-6);  // a single microsecond
        QVERIFY(!plot.spanAt({1, 1}));
    }

    // Its legend takes more lines where it is narrow: what scrolls is as high as it is at
    // this width, whatever the width before.
    void stackedBar_heightFollowsItsWidth() {
        const auto areaWith = [](StackedBar& bar) {
            auto* content = new QWidget;
            (new QVBoxLayout(content))->addWidget(&bar);
            auto* area = new PanelArea(content);
            area->setMinimumWidth(120);
            return area;
        };
        const auto fillLong = [](StackedBar& bar) {
            bar.setReserve(1, 1);
            bar.setRows({{QStringLiteral("VRAM"),
                          {{QStringLiteral("dense weights"), 2e9, 0},
                           {QStringLiteral("experts as in the checkpoint"), 2e9, 1},
                           {QStringLiteral("experts in four bits"), 3e9, 2},
                           {QStringLiteral("buffers of the device"), 1e9, 3}},
                          12e9,
                          10e9}});
        };
        QSplitter splitter;
        auto* bar = new StackedBar;
        PanelArea* const area = areaWith(*bar);
        splitter.addWidget(area);
        splitter.addWidget(new QWidget);
        splitter.resize(900, 90);
        splitter.setSizes({220, 680});
        splitter.show();
        QVERIFY(QTest::qWaitForWindowExposed(&splitter));
        QTRY_VERIFY(bar->width() < 230);
        fillLong(*bar);  // now: what it keeps is the legend of this width
        const auto dragTo = [&](int x) {
            QWidget* const handle = splitter.handle(1);
            const QPoint from = handle->rect().center();
            QTest::mousePress(handle, Qt::LeftButton, {}, from);
            QTest::mouseMove(handle, handle->mapFrom(&splitter, QPoint(x, from.y())));
            QTest::mouseRelease(handle, Qt::LeftButton, {}, handle->mapFrom(&splitter, QPoint(x, from.y())));
        };
        const auto heightOfANewOne = [&] {
            auto* fresh = new StackedBar;
            const std::unique_ptr<PanelArea> other(areaWith(*fresh));
            fillLong(*fresh);
            other->resize(area->size());
            other->show();
            QCoreApplication::processEvents();
            return other->widget()->height();
        };
        int narrow = 0;
        for (const int width : {220, 700, 180}) {
            dragTo(width);
            QTRY_VERIFY(std::abs(area->width() - width) < 12);
            QTRY_COMPARE(area->widget()->height(), heightOfANewOne());
            narrow = narrow == 0 ? bar->height() : narrow;
            QVERIFY(width < 300 || bar->height() < narrow);
        }
    }

    // A line without a number says nothing, and two numbers in one place even less.
    void scale_eachTickHasANumber_inAnyWidth() {
        HeatMapLegend legend;
        for (const auto end : {HeatMapLegend::End::Whole, HeatMapLegend::End::Highest, HeatMapLegend::End::Fixed}) {
            legend.setRange(0.92, 0.25, QStringLiteral("even use:"), end);
            std::size_t most = 0;
            for (const int width : {240, 300, 336, 420, 700}) {
                legend.resize(width, legend.heightForWidth(width));
                int from = 0;
                for (const auto& tick : legend.ticks()) {
                    const int wide = legend.fontMetrics().horizontalAdvance(tick.text);
                    QVERIFY2(!tick.text.isEmpty() && tick.left >= from && tick.left + wide <= width,
                             qPrintable(QStringLiteral("%1 at %2 of %3").arg(tick.text).arg(tick.left).arg(width)));
                    from = tick.left + wide + 1;
                }
                QVERIFY(legend.ticks().size() >= std::max<std::size_t>(2, most));
                most = legend.ticks().size();
            }
            QCOMPARE(most, std::size_t{5});
        }
    }

    void heat_categories_clickMenuAndCsv() {
        HeatMap map;
        map.setTitles(QStringLiteral("layers"), QStringLiteral("experts"));
        map.setCategories(2, 2, {0, 1, 1, 9},
                          {{QStringLiteral("RAM"), QStringLiteral("R"), HeatMap::Category::kQuiet},
                           {QStringLiteral("GPU"), {}, 0, Pattern::Dots}});
        map.resize(260, 200);
        QVERIFY(map.isCategorical());
        const QImage image = map.grab().toImage();
        QSet<QRgb> colours;
        const QRect cell = map.rectOf({0, 1});
        for (int y = cell.top(); y < cell.bottom(); ++y) {
            for (int x = cell.left(); x < cell.right(); ++x) {
                colours << image.pixel(x, y);
            }
        }
        QCOMPARE(colours.size(), 2);  // the colour and its hatching
        const QRgb bright = map.colourOf({0, 1});
        map.setBrightness({1, 0.2, 1, 1});
        QVERIFY(map.colourOf({0, 1}) != bright);
        QSignalSpy clicked(&map, &HeatMap::cellClicked);
        QTest::mouseClick(&map, Qt::LeftButton, {}, map.rectOf({1, 0}).center());
        QCOMPARE(clicked.count(), 1);
        QVERIFY(clicked.first().at(0).value<HeatMap::Cell>() == (HeatMap::Cell{1, 0}));
        map.setHighlighted({{0, 0}, {7, 7}});
        QCOMPARE(map.highlighted().size(), size_t(1));
        QVERIFY(
            map.csv().startsWith(QStringLiteral("layers,experts,value,brightness\r\n0,0,RAM,1\r\n0,1,GPU,0.2\r\n")));
    }

    void export_writesFilesOrSaysWhy() {
        StackedBar plot;
        fill(plot);
        const QTemporaryDir folder;
        QVERIFY(plot.savePicture(folder.filePath(QStringLiteral("a.png"))));
        const QSize size = QImage(folder.filePath(QStringLiteral("a.png"))).size();
        QCOMPARE(size.width(), 1000);
        QVERIFY(size.height() > 100 && size.height() < 400);  // without what is blank below the bar
        const QString nowhere = folder.filePath(QStringLiteral("none/a.csv"));
        QVERIFY(!plot.saveCsv(nowhere));
        QVERIFY(plot.notice().startsWith(nowhere));
    }

    void export_changesALinksTarget_andWritesToDevices() {
        StackedBar plot;
        fill(plot);
        const QTemporaryDir folder;
        const QString link = folder.filePath(QStringLiteral("link.csv"));
        QVERIFY(QFile::link(folder.filePath(QStringLiteral("target.csv")), link));
        QVERIFY(plot.saveCsv(link));
        QVERIFY(QFileInfo(link).isSymLink());
        QVERIFY(QFileInfo(folder.filePath(QStringLiteral("target.csv"))).size() > 0);
        const QString full = folder.filePath(QStringLiteral("full.csv"));
        if (!QFile::exists(QStringLiteral("/dev/full")) || !QFile::link(QStringLiteral("/dev/full"), full)) {
            QSKIP("no /dev/full on this system");
        }
        QVERIFY(!plot.saveCsv(full));
        QVERIFY(plot.notice().startsWith(full));
        QVERIFY(QFileInfo(full).isSymLink() && !QFileInfo(full).isFile());
    }
};

OFFSTAGE_UI_TEST_MAIN(TestPlot)
#include "tst_plot.moc"
