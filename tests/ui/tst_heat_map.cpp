// The colour scale, the heat map and the experts panel.
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include "tests/ui/panel_parts.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/theme.h"
#include "ui/engine/engine_controller.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/snapshot_poller.h"
#include "ui/plot/heat_map_legend.h"

using namespace offstage;
using namespace offstage::ui;

class TestHeatMap : public QObject {
    Q_OBJECT

    static engine::Snapshot snapshotOf(std::int64_t layers, std::int64_t experts, std::int64_t active) {
        engine::Snapshot s;
        s.revision = 1;
        s.n_layers = layers;
        s.n_experts = experts;
        s.n_active = active;
        s.window_tokens = 64;
        s.conversation_tokens = 200;
        s.window_counts.resize(static_cast<size_t>(layers * experts));
        s.conversation_counts.resize(s.window_counts.size());
        for (size_t i = 0; i < s.window_counts.size(); ++i) {
            s.window_counts[i] = static_cast<std::uint32_t>(i % 65);
            s.conversation_counts[i] = 2 * (i % 65) + 1;
        }
        return s;
    }

    // As seen with one missing kind of cone (Vienot, Brettel and Mollon 1999, linear
    // RGB).
    static QRgb asSeenBy(QRgb c, bool deuteranope) {
        const auto lin = [](int v) { return std::pow(v / 255.0, 2.2); };
        const auto out = [](double v) { return static_cast<int>(255 * std::pow(std::clamp(v, 0.0, 1.0), 1 / 2.2)); };
        const double r = lin(qRed(c)), g = lin(qGreen(c)), b = lin(qBlue(c));
        const double rg = deuteranope ? 0.29275 * r + 0.70725 * g : 0.11238 * r + 0.88762 * g;
        const double b2 = deuteranope ? -0.02234 * r + 0.02234 * g + b : 0.00401 * r - 0.00401 * g + b;
        return qRgb(out(rg), out(rg), out(b2));
    }

    // Perceived lightness, 0..1: L of OKLab (B. Ottosson, "A perceptual color space for
    // image processing", 2020).
    static double lightnessOf(QRgb c) {
        const auto lin = [](int v) { return v <= 10 ? v / 255.0 / 12.92 : std::pow((v / 255.0 + 0.055) / 1.055, 2.4); };
        const double r = lin(qRed(c)), g = lin(qGreen(c)), b = lin(qBlue(c));
        return 0.2104542553 * std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) +
               0.7936177850 * std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) -
               0.0040720468 * std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
    }

  private Q_SLOTS:
    // A saved picture of eight layers of eight experts has the scale and says what is
    // shown, and nearly nothing of it is blank.
    void picture_hasScaleAndChannel_andNoBlankEdges() {
        HeatMap map;
        HeatMapLegend legend;
        std::vector<double> values(64);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) / 64;
        map.setTitles(QStringLiteral("layer"), QStringLiteral("expert"));
        map.setValues(8, 8, values, 1);
        legend.setRange(1, 0.25, QStringLiteral("mean"));
        const QRgb ground = map.palette().color(QPalette::Window).rgb();
        const auto content = [ground](const QImage& image) {
            QRect inside;
            for (int y = 0; y < image.height(); ++y) {
                for (int x = 0; x < image.width(); ++x) {
                    inside |= image.pixel(x, y) == ground ? QRect() : QRect(x, y, 1, 1);
                }
            }
            return inside;
        };
        const QSize before = legend.size();
        const QImage plot = map.pictureOf({1200, 675}, 1);
        map.setPictureTexts(QStringLiteral("Colour: recency"), &legend);
        const QImage whole = map.pictureOf({1200, 675}, 1);
        for (const QImage& image : {plot, whole}) {
            const QRect inside = content(image);
            QVERIFY2(inside.width() > image.width() - 40 && inside.height() > image.height() - 40,
                     qPrintable(QStringLiteral("%1x%2").arg(image.width()).arg(image.height())));
            QVERIFY(image.width() < 600 && image.height() < 600);
        }
        QVERIFY(whole.height() >= plot.height() + legend.heightForWidth(380) + map.fontMetrics().height());
        QCOMPARE(legend.size(), before);
        const QString folder = qEnvironmentVariable("OFFSTAGE_PICTURES");
        if (!folder.isEmpty()) {
            map.pictureOf({1200, 675}).save(folder + QStringLiteral("/heat-map-saved.png"));
        }
    }

    void scale_lightness_changesEvenlyInOneDirection() {
        for (const auto ground : {ColorScale::Ground::Dark, ColorScale::Ground::Light}) {
            const ColorScale scale(ground);
            const double sign = ground == ColorScale::Ground::Dark ? 1 : -1;
            const double range = std::abs(lightnessOf(scale.at(1)) - lightnessOf(scale.at(0)));
            QVERIFY(range > 0.55);
            double before = lightnessOf(scale.at(0));
            for (int i = 1; i <= 64; ++i) {
                const double now = lightnessOf(scale.at(i / 64.0));
                const double step = sign * (now - before);
                QVERIFY2(step > 0.4 * range / 64 && step < 1.8 * range / 64, qPrintable(QString::number(step)));
                before = now;
            }
        }
    }

    void scale_colourBlind_staysMonotone() {
        for (const bool deuteranope : {true, false}) {
            for (const auto ground : {ColorScale::Ground::Dark, ColorScale::Ground::Light}) {
                const ColorScale scale(ground);
                const double sign = ground == ColorScale::Ground::Dark ? 1 : -1;
                double before = lightnessOf(asSeenBy(scale.at(0), deuteranope));
                for (int i = 1; i <= 32; ++i) {
                    const double now = lightnessOf(asSeenBy(scale.at(i / 32.0), deuteranope));
                    QVERIFY(sign * (now - before) > 0);
                    before = now;
                }
            }
        }
    }

    void scale_outOfRange_isClamped() {
        const ColorScale scale;
        QCOMPARE(scale.at(-1), scale.at(0));
        QCOMPARE(scale.at(7), scale.at(1));
        QCOMPARE(scale.at(std::numeric_limits<double>::quiet_NaN()), scale.at(0));
    }

    void map_cells_areWherePainted_data() {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("columns");
        QTest::addColumn<QSize>("size");
        QTest::newRow("demo") << 8 << 8 << QSize(340, 400);
        QTest::newRow("mixtral") << 32 << 8 << QSize(340, 500);
        QTest::newRow("qwen3") << 48 << 128 << QSize(340, 400);
        QTest::newRow("wide") << 48 << 128 << QSize(1400, 300);
        QTest::newRow("one") << 1 << 1 << QSize(200, 200);
    }
    void map_cells_areWherePainted() {
        QFETCH(int, rows);
        QFETCH(int, columns);
        QFETCH(QSize, size);
        HeatMap map;
        std::vector<double> values(static_cast<size_t>(rows * columns));
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<double>(i) / static_cast<double>(values.size());
        }
        map.setValues(rows, columns, values, 1);
        map.resize(size);
        const QImage image = map.grab().toImage();
        for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < columns; ++column) {
                const HeatMap::Cell cell{row, column};
                const QPoint centre = map.rectOf(cell).center();
                QVERIFY(image.rect().contains(centre));
                QCOMPARE(image.pixel(centre), map.colourOf(cell));
                QVERIFY(map.cellAt(centre) == cell);
            }
        }
        QVERIFY(!map.cellAt(QPoint(0, 0)));
        QVERIFY(!map.cellAt(QPoint(size.width() - 1, size.height() - 1)));
    }

    void map_sameValues_areNotPaintedAgain() {
        HeatMap map;
        map.setValues(2, 2, {0, 0.5, 1, 0.2}, 1);
        map.resize(300, 300);
        map.show();
        QVERIFY(QTest::qWaitForWindowExposed(&map));
        map.grab();
        const int painted = map.renderCount();
        map.grab();
        QTest::mouseMove(&map, map.rectOf({1, 1}).center());
        map.grab();
        QCOMPARE(map.renderCount(), painted);
    }

    void columns_zoomByWheelDragAndKeys() {
        HeatMap map;
        std::vector<double> values(4 * 128);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<double>(i % 128) / 128;
        }
        map.setValues(4, 128, values, 1);
        map.resize(600, 200);
        map.show();
        QCOMPARE(map.shownColumns().count(), 128);
        const HeatMap::Cell under{1, 96};
        const auto turn = [&map](QPoint at, int notches) {
            QWheelEvent event(at, map.mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, Qt::NoModifier,
                              Qt::NoScrollPhase, false);
            QCoreApplication::sendEvent(&map, &event);
            return event.isAccepted();
        };
        QVERIFY(turn(map.rectOf(under).center(), 4));
        const HeatMap::Columns zoomed = map.shownColumns();
        QCOMPARE(zoomed.count(), 52);                                           // 128 * 0.8^4
        QVERIFY(zoomed.contains(96) && zoomed.begin > 50 && zoomed.end < 128);  // the cell under the mouse stays
        QVERIFY(map.rectOf({0, zoomed.begin - 1}).isNull() && map.rectOf({0, zoomed.end}).isNull());
        const QImage image = map.grab().toImage();
        for (int column = zoomed.begin; column < zoomed.end; ++column) {
            const QPoint centre = map.rectOf({3, column}).center();
            QVERIFY(map.cellAt(centre) == (HeatMap::Cell{3, column}));
            QCOMPARE(image.pixel(centre), map.colourOf({3, column}));
        }
        QVERIFY(!map.cellAt(map.rectOf({3, zoomed.end - 1}).center() + QPoint(12, 0)));
        QCOMPARE(map.csv().count(u'\n'), 4 * 128 + 1);  // all of them, as before

        // Dragged to the right, the columns at the left become visible; this selects
        // nothing.
        const QPoint from = map.rectOf({2, 96}).center();
        const int width = map.rectOf({0, 96}).x() - map.rectOf({0, 95}).x();
        QTest::mousePress(&map, Qt::LeftButton, {}, from);
        QTest::mouseMove(&map, from + QPoint(12 * width, 0));
        QTest::mouseRelease(&map, Qt::LeftButton, {}, from + QPoint(12 * width, 0));
        QCOMPARE(map.shownColumns().begin, zoomed.begin - 12);
        QCOMPARE(map.shownColumns().count(), 52);
        QVERIFY(!map.selected());

        // The arrow keys scroll their target into view.
        map.setFocus();
        QTest::mouseMove(&map, map.rectOf({0, map.shownColumns().begin}).center());
        const int begin = map.shownColumns().begin;
        QTest::keyClick(&map, Qt::Key_Left);
        QCOMPARE(map.shownColumns().begin, begin - 1);
        QTest::keyClick(&map, Qt::Key_End);
        QVERIFY(map.current()->column == 127 && map.shownColumns().contains(127));
        QTest::keyClick(&map, Qt::Key_Plus);
        QVERIFY(map.shownColumns().count() < 52 && map.shownColumns().contains(127));
        for (int i = 0; i < 20; ++i) {
            QTest::keyClick(&map, Qt::Key_Plus);
        }
        QCOMPARE(map.shownColumns().count(), HeatMap::kFewestShown);
        const QPoint last = map.rectOf({0, 127}).center();
        QTest::mouseDClick(&map, Qt::LeftButton, {}, last);
        QTest::mouseRelease(&map, Qt::LeftButton, {}, last);
        QCOMPARE(map.shownColumns().count(), 128);
        QVERIFY(!turn(map.rectOf(under).center(), -1));  // whole already: the panel may scroll

        map.setValues(2, 8, std::vector<double>(16, 0.5), 1);  // few: the wheel is the panel's
        QCOMPARE(map.shownColumns().count(), 8);
        QVERIFY(!turn(map.rectOf({1, 3}).center(), 4));
    }

    void area_isMarkedByDraggingOverCellsAndNumbers() {
        HeatMap map;
        map.setSummary(HeatMapSummary::Kind::Mean);
        map.setValues(61, 256, std::vector<double>(61 * 256, 0.5), 1);
        map.resize(700, 400);
        map.show();
        QSignalSpy clicked(&map, &HeatMap::cellClicked);
        const auto drag = [&map](QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) {
            QTest::mousePress(&map, Qt::LeftButton, modifiers, from);
            QTest::mouseMove(&map, (from + to) / 2);
            QTest::mouseMove(&map, to);
            QTest::mouseRelease(&map, Qt::LeftButton, modifiers, to);
        };
        const auto at = [&map](int row, int column) { return map.rectOf({row, column}).center(); };
        drag(at(20, 100), at(3, 140));
        QVERIFY(map.area() == (HeatMap::Area{3, 20, 100, 140}));
        QCOMPARE(map.area()->count(), 18 * 41);
        QVERIFY(!map.selected() && clicked.isEmpty());
        // A number beside the cells is its row, one above them its column; the same for
        // the bars of the summaries.
        const QRect first = map.rectOf({0, 0}), last = map.rectOf({60, 255});
        QTest::mouseClick(&map, Qt::LeftButton, {}, {first.left() - 8, at(7, 0).y()});
        QVERIFY(map.area() == (HeatMap::Area{7, 7, 0, 255}));
        QTest::mouseClick(&map, Qt::LeftButton, {}, {last.right() + 10, at(9, 0).y()});
        QVERIFY(map.area() == (HeatMap::Area{9, 9, 0, 255}));
        QTest::mouseClick(&map, Qt::LeftButton, {}, {at(0, 33).x(), last.bottom() + 10});
        QVERIFY(map.area() == (HeatMap::Area{0, 60, 33, 33}));
        drag({at(0, 30).x(), first.top() - 8}, {at(0, 45).x(), first.top() - 8});
        QVERIFY(map.area() == (HeatMap::Area{0, 60, 30, 45}));
        QTest::mouseClick(&map, Qt::LeftButton, {}, at(5, 5));
        QVERIFY(!map.area() && clicked.last().at(0).value<HeatMap::Cell>() == (HeatMap::Cell{5, 5}));
        // Zoomed in, dragging pans; with Shift it marks, only within the visible part.
        map.showColumns(100, 164);
        drag(at(5, 120), at(9, 130));
        QVERIFY(!map.area());
        const int begin = map.shownColumns().begin;
        QVERIFY(begin < 100);
        drag(at(5, begin + 4), at(9, begin + 8), Qt::ShiftModifier);
        QVERIFY(map.area() == (HeatMap::Area{5, 9, begin + 4, begin + 8}));
        map.setValues(8, 8, std::vector<double>(64, 0.5), 1);  // another model
        QVERIFY(!map.area());
    }

    void area_isMarkedByKeys() {
        HeatMap map;
        map.setValues(48, 128, std::vector<double>(48 * 128, 0.5), 1);
        map.resize(600, 400);
        QTest::keyClick(&map, Qt::Key_Right);
        for (const Qt::Key key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Down}) {
            QTest::keyClick(&map, key, Qt::ShiftModifier);
        }
        QVERIFY(map.area() == (HeatMap::Area{0, 1, 1, 3}));
        QTest::keyClick(&map, Qt::Key_Left, Qt::ShiftModifier);
        QVERIFY(map.area() == (HeatMap::Area{0, 1, 1, 2}));
        QTest::keyClick(&map, Qt::Key_Space, Qt::ShiftModifier);
        QVERIFY(map.area() == (HeatMap::Area{1, 1, 0, 127}));
        QTest::keyClick(&map, Qt::Key_Space, Qt::ControlModifier);
        QVERIFY(map.area() == (HeatMap::Area{0, 47, 2, 2}));
        QTest::keyClick(&map, Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(map.area()->count(), 48 * 128);
        QTest::keyClick(&map, Qt::Key_Escape);
        QVERIFY(!map.area() && map.current());
    }

    void summaries_areMeansHighestsAndShares() {
        HeatMap map;
        map.setTitles(QStringLiteral("layers"), QStringLiteral("experts"));
        map.setRowNumbers({3, 4});  // after three dense layers
        map.setSummary(HeatMapSummary::Kind::Mean);
        map.setValues(2, 3, {0, 0.5, 1, 0.2, 0.2, 0.2}, 1);
        QCOMPARE(map.summary().row(0), 0.5);
        QCOMPARE(map.summary().column(2), 0.6);
        const QString second = map.lineText({1, 1, 0, 2});
        QVERIFY2(second.startsWith(QStringLiteral("layers 4: 20")) && second.endsWith(QStringLiteral("% on average")),
                 qPrintable(second));
        map.setBrightness({1, 1, 0, 1, 1, 1});  // one is not known
        QCOMPARE(map.summary().row(0), 0.25);
        QCOMPARE(map.summary().column(2), 0.2);
        map.setBrightness({});
        map.setSummary(HeatMapSummary::Kind::Highest);
        QCOMPARE(map.summary().row(0), 1.0);
        QCOMPARE(map.summary().column(0), 0.2);
        HeatMap::Category here, there;
        here.name = QStringLiteral("here");
        there.name = QStringLiteral("there");
        there.colour = 1;
        map.setCategories(2, 3, {0, 1, 1, 0, 0, 7}, {here, there});
        QCOMPARE(map.summary().kindsOfRow(0)[1], 2);
        QCOMPARE(map.summary().kindsOfRow(1)[0], 2);  // one of no kind
        QCOMPARE(map.lineText({0, 0, 0, 2}), QStringLiteral("layers 3: 1 here, 2 there"));
        QCOMPARE(map.lineText({0, 1, 1, 1}), QStringLiteral("experts 1: 1 here, 1 there"));
        QVERIFY(map.csv().contains(QStringLiteral("3,0,here")) && !map.csv().contains(QStringLiteral("\n0,")));
        // At their places: beside each row a bar as long as its share.
        map.resize(400, 300);
        const QImage image = map.grab().toImage();
        const QRect lastOfRow = map.rectOf({0, 2});
        const auto colour = [&](int share) {
            return image.pixel(lastOfRow.right() + 1 + (lastOfRow.width() >= 14 ? 2 : 1) + 4 + share * 14 / 100,
                               lastOfRow.center().y());
        };
        QCOMPARE(colour(15), map.colourOf({0, 0}));
        QCOMPARE(colour(80), map.colourOf({0, 1}));
    }

    void map_arrowKeys_moveTheCell() {
        HeatMap map;
        map.setValues(3, 4, std::vector<double>(12, 0.5), 1);
        map.resize(300, 300);
        QSignalSpy moved(&map, &HeatMap::currentChanged);
        QTest::keyClick(&map, Qt::Key_Right);
        QVERIFY(map.current() == (HeatMap::Cell{0, 1}));
        QTest::keyClick(&map, Qt::Key_Down);
        QTest::keyClick(&map, Qt::Key_End);
        QVERIFY(map.current() == (HeatMap::Cell{1, 3}));
        QTest::keyClick(&map, Qt::Key_Right);
        QVERIFY(map.current() == (HeatMap::Cell{1, 3}));
        QTest::keyClick(&map, Qt::Key_PageDown);
        QTest::keyClick(&map, Qt::Key_Home);
        QVERIFY(map.current() == (HeatMap::Cell{2, 0}));
        QVERIFY(moved.count() >= 5);
    }

    void panel_hover_saysTheNumbers() {
        EngineController engine([] { return test::makeFakeSession(std::make_shared<test::Stage>()); });
        ExpertsPanel panel(engine);
        panel.resize(360, 640);
        panel.show();
        panel.setSnapshot(snapshotOf(8, 8, 2));
        QCOMPARE(panel.map().rows(), 8);
        QTest::mouseMove(&panel.map(), panel.map().rectOf({2, 5}).center());
        // Cell 21: 21 of 64 tokens.
        QTRY_VERIFY(test::readoutOf(panel).contains(QStringLiteral("Layer 2, expert 5")));
        QVERIFY(test::readoutOf(panel).contains(QStringLiteral("21 of 64 tokens")));
        QVERIFY(test::readoutOf(panel).contains(QStringLiteral("32.8 %")));
        QVERIFY(test::readoutOf(panel).contains(QStringLiteral("25.0 %")));
        panel.setChannel(ExpertChannel::Conversation);
        QVERIFY(test::readoutOf(panel).contains(QStringLiteral("43 of 200 tokens")));
        QVERIFY(test::readoutOf(panel).contains(QStringLiteral("21.5 %")));
        QCOMPARE(panel.legend().mark(), 0.25);
        QCOMPARE(panel.legend().top(), 127.0 / 200);
    }

    void panel_brokenSnapshot_showsNothing() {
        EngineController engine([] { return test::makeFakeSession(std::make_shared<test::Stage>()); });
        ExpertsPanel panel(engine);
        engine::Snapshot s = snapshotOf(8, 8, 2);
        s.window_counts.pop_back();
        panel.setSnapshot(s);
        QCOMPARE(panel.map().rows(), 0);
        panel.setSnapshot({});
        QCOMPARE(panel.map().rows(), 0);
    }

    // A ring is seen on every colour of cells, in either theme: what lies beside its line,
    // on both sides, differs from it.
    void ring_standsOutOfEveryCell() {
        const QPalette usual = qApp->palette();
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            applyTheme(*qApp, theme);
            HeatMap map;
            map.resize(400, 400);
            map.setTitles(QStringLiteral("layers"), QStringLiteral("experts"));
            map.setValues(8, 8, std::vector<double>(64, 1.0), 1);
            for (const double value : {0.0, 0.5, 1.0}) {
                map.setValues(8, 8, std::vector<double>(64, value), 1);
                map.setSelected(HeatMap::Cell{4, 4});
                const QImage image = map.grab().toImage();
                const QRect cell = map.rectOf({4, 4});
                const QColor ring = image.pixelColor(cell.center().x(), cell.top() - 1);
                for (const int beside : {cell.top(), cell.top() - 3}) {
                    const QColor ground = image.pixelColor(cell.center().x(), beside);
                    QVERIFY2(std::abs(ground.lightness() - ring.lightness()) > 60,
                             qPrintable(QStringLiteral("%1 %2: %3 %4")
                                            .arg(nameOf(theme))
                                            .arg(value)
                                            .arg(ring.name(), ground.name())));
                }
            }
        }
        applyTheme(*qApp, Theme::Light);
        qApp->setPalette(usual);
    }

    void poller_hiddenPanel_takesNoSnapshot() {
        test::Script script;
        script.tokensPerSecond = 200;
        script.answer = std::string(400'000, 'a');
        test::WindowFixture f(script);
        f.openAndWait();
        auto& panel = test::part<ExpertsPanel>(*f.window);
        const QTimer& polling = *panel.poller().findChild<QTimer*>();
        const QSignalSpy polls(&polling, &QTimer::timeout);
        QTRY_VERIFY(polling.isActive());
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().text.size() > 20);
        QTRY_VERIFY(panel.map().rows() == 8);
        panel.parentWidget()->hide();  // the dock
        QTRY_VERIFY(!polling.isActive());
        const auto before = polls.size();
        const auto shown = f.last().text.size();
        QTRY_VERIFY(f.last().text.size() > shown + 100);
        QCOMPARE(polls.size(), before);
        panel.parentWidget()->show();
        QTRY_VERIFY(polling.isActive());
        QTRY_VERIFY(polls.size() > before);
    }

    void poller_intervals_areBounded() {
        QVERIFY(SnapshotPoller::kLivelyIntervalMs >= 33);
        QVERIFY(SnapshotPoller::kQuietIntervalMs >= 200);
        test::Script script;
        script.tokensPerSecond = 200;
        script.answer = std::string(400'000, 'a');
        test::WindowFixture f(script);
        f.openAndWait();
        const auto intervalOf = [](const SnapshotPoller& poller) { return poller.findChild<QTimer*>()->interval(); };
        const SnapshotPoller& poller = test::part<ExpertsPanel>(*f.window).poller();
        QTRY_COMPARE(intervalOf(poller), SnapshotPoller::kQuietIntervalMs);
        QWidget read;  // not lively
        read.show();
        const SnapshotPoller other(f.window->core().engine, read);
        f.ask(QStringLiteral("hi"));
        QTRY_VERIFY(f.last().text.size() > 20);
        QCOMPARE(intervalOf(other), SnapshotPoller::kQuietIntervalMs);
        if (QGuiApplication::applicationState() == Qt::ApplicationActive) {
            QCOMPARE(intervalOf(poller), SnapshotPoller::kLivelyIntervalMs);
        }
    }
};

OFFSTAGE_UI_TEST_MAIN(TestHeatMap)
#include "tst_heat_map.moc"
