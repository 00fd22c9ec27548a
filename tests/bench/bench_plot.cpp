// The cost of one painting of each plot, full of data, at 800 x 400: bench_plot
// [--pictures FOLDER]
// Processor time, so that other work on the machine has little effect. Run with
// QT_QPA_PLATFORM=offscreen. "data": the data changed, everything is painted; "hover":
// only the crosshair moved.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <QApplication>
#include <QDir>
#include <QMouseEvent>

#include "ui/base/theme.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/heat_map.h"
#include "ui/plot/line_plot.h"
#include "ui/plot/stacked_bar.h"
#include "ui/plot/timeline_plot.h"

using namespace offstage::ui;

namespace {

std::mt19937 generator(7);

double uniform() {
    return std::uniform_real_distribution<double>(0, 1)(generator);
}

QString s(const char* text) {
    return QString::fromUtf8(text);
}

struct Subject {
    QString name;
    PlotWidget* plot;
    std::function<void()> change;  // the data, so that everything is painted again
};

double medianOf(std::vector<double>& times) {
    std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
    return times[times.size() / 2];
}

double millisecondsSince(std::clock_t from) {
    return 1000.0 * static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
}

void measure(const Subject& subject) {
    constexpr int kRuns = 101;
    subject.plot->resize(800, 400);
    QImage target(800, 400, QImage::Format_ARGB32_Premultiplied);
    std::vector<double> data;
    std::vector<double> hover;
    for (int run = 0; run < kRuns; ++run) {
        subject.change();
        std::clock_t from = std::clock();
        subject.plot->render(&target);
        data.push_back(millisecondsSince(from));
        const QPointF at(100 + 6 * run % 600, 60 + 2 * run);
        QMouseEvent move(QEvent::MouseMove, at, at, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        from = std::clock();
        QApplication::sendEvent(subject.plot, &move);
        subject.plot->render(&target);
        hover.push_back(millisecondsSince(from));
    }
    std::printf("%-34s data %6.2f ms   hover %6.2f ms   (medians of %d)\n", qPrintable(subject.name), medianOf(data),
                medianOf(hover), kRuns);
}

std::vector<double> walk(size_t points, double start) {
    std::vector<double> y;
    double at = start;
    for (size_t i = 0; i < points; ++i) {
        at += uniform() - 0.5;
        y.push_back(i % 9001 > 8800 ? std::nan("") : 60 + 0.2 * at + 8 * uniform());
    }
    return y;
}

std::vector<double> upTo(size_t points) {
    std::vector<double> x(points);
    std::iota(x.begin(), x.end(), 0.0);
    return x;
}

Subject lines(const QString& name, size_t points, int series) {
    auto* plot = new LinePlot;
    plot->setCapacity(points);
    plot->setXAxis({s("token"), Unit::Count});
    plot->setYAxis({{}, Unit::TokensPerSecond});
    for (int i = 0; i < series; ++i) {
        plot->addSeries(i % 2 == 0 ? s("measured %1").arg(i / 2 + 1) : s("predicted %1").arg(i / 2 + 1),
                        i % 2 == 0 ? LinePlot::Line::Solid : LinePlot::Line::Dashed);
        plot->setPoints(i, upTo(points), walk(points, 30.0 * i));
    }
    plot->setEvents({{0.6 * static_cast<double>(points), s("new plan")}});
    return {name, plot, [plot, points] {
                static double x = static_cast<double>(points);
                plot->append(0, x += 1, 60 + 10 * uniform());
            }};
}

Subject percents() {
    auto* plot = new LinePlot;
    plot->setXAxis({s("token"), Unit::Count});
    plot->setPercentMode(s("hit rate"));
    for (int i = 0; i < 4; ++i) {
        plot->addSeries(QStringList{s("LRU"), s("LFU"), s("heat-protected"), s("static")}[i]);
        std::vector<double> y;
        for (int t = 0; t < 300; ++t) {
            y.push_back(0.2 * i + 0.2 + 0.15 * std::sin(t / 30.0 + i) + 0.03 * uniform());
        }
        plot->setPoints(i, upTo(y.size()), y);
    }
    return {s("LinePlot 4 x 300, percent"), plot, [plot] { plot->append(0, 1e6, 0.5); }};
}

Subject memory() {
    auto* plot = new StackedBar;
    const auto row = [](const QString& name, double share) {
        return StackedBar::Row{name,
                               {{s("dense weights"), 2.1e9, 0},
                                {s("experts, 4 bit"), 5.2e9 * share, 1},
                                {s("experts, 2 bit"), 1.4e9, 2},
                                {s("KV cache"), 0.9e9, 3},
                                {s("staging"), 0.12e9, 4},
                                {s("other processes"), 0.7e9, 6}},
                               12e9,
                               10e9};
    };
    plot->setRows({row(s("VRAM now"), 0.6), row(s("VRAM with the new plan"), 1.4)});
    return {s("StackedBar 2 x 6"), plot, [plot, row] {
                plot->setRows({row(s("VRAM now"), uniform()), row(s("after"), 1)});
            }};
}

Subject bars() {
    auto* plot = new BarPlot;
    plot->setValueAxis({{}, Unit::TokensPerSecond});
    const QStringList groups{s("this machine"), s("RTX 3060 12 GB"), s("RTX 4070 Ti Super"), s("RTX 4090"),
                             s("2 x RTX 3060")};
    const auto fill = [plot, groups](double first) {
        plot->setBars({s("predicted"), groups, {first, 21, 37.5, 64.2, 35}, true});
    };
    fill(11.8);
    plot->setEmphasised(0);
    return {s("BarPlot lying"), plot, [fill] { fill(10 + uniform()); }};
}

Subject histogram() {
    auto* plot = new BarPlot;
    std::vector<double> itl;
    std::normal_distribution<double> normal(26'000, 2500);
    for (int i = 0; i < 20'000; ++i) {
        itl.push_back(normal(generator) + (i % 90 == 0 ? 14'000 : 0));
    }
    plot->setValueAxis({s("tokens"), Unit::Count});
    const Histogram all = histogramOf(itl, 60, 0.999);
    plot->setHistogram(all, {s("ITL"), Unit::Microseconds},
                       {{26'000, s("median 26.0 ms")}, {40'200, s("p99 40.2 ms")}});
    return {s("BarPlot histogram, 60 bins"), plot, [plot, all] {
                Histogram other = all;
                other.counts[0] = std::floor(100 * uniform());
                plot->setHistogram(other, {s("ITL"), Unit::Microseconds}, {{26'000, s("median 26.0 ms")}});
            }};
}

Subject timeline(const QString& name, int layers) {
    auto* plot = new TimelinePlot;
    plot->setLanes({s("CPU"), s("copy"), s("GPU")});
    plot->setCategories({s("attention"), s("expert"), s("weight copy"), s("prefetch")});
    std::vector<TimelinePlot::Span> spans;
    double t = 0;
    qint64 id = 0;
    for (int layer = 0; layer < layers; ++layer) {
        const QString label = s("layer %1").arg(layer);
        const double attention = 120 + 40 * uniform();
        const double cpu = 300 + 200 * uniform();
        const double copy = 180 + 60 * uniform();
        spans.push_back({2, t, t + attention, label, 0, ++id});
        spans.push_back({0, t + attention + 6, t + attention + cpu, label, 1, ++id});
        spans.push_back({0, t + attention + 6, t + attention + cpu * 0.9, label, 1, id, true});
        spans.push_back({1, t + attention + 4, t + attention + copy, label, layer % 3 == 0 ? 3 : 2, ++id});
        spans.push_back({2, t + attention + copy, t + attention + copy + 90, label, 1, ++id});
        spans.push_back({2, t + attention + copy + 10, t + attention + copy + 80, label, 1, id, true});
        t += attention + std::max(cpu, copy + 90) + 10;
    }
    plot->setSpans(spans);
    return {name, plot, [plot, spans] { plot->setSpans(spans); }};
}

Subject heat(const QString& name, int rows, int columns) {
    auto* plot = new HeatMap;
    plot->setTitles(s("layers"), s("experts"));
    const auto cells = static_cast<size_t>(rows * columns);
    const auto values = [cells] {
        std::vector<double> v(cells);
        std::generate(v.begin(), v.end(), [] { return std::pow(uniform(), 3); });
        return v;
    };
    plot->setValues(rows, columns, values(), 1);
    return {name, plot, [plot, rows, columns, values] { plot->setValues(rows, columns, values(), 1); }};
}

Subject kinds(const QString& name, int rows, int columns) {
    auto* plot = new HeatMap;
    plot->setTitles(s("layers"), s("experts"));
    const std::vector<HeatMap::Category> categories = {{s("on disk"), s("·"), HeatMap::Category::kQuiet},
                                                       {s("RAM"), s("R"), 1, Pattern::Diagonal},
                                                       {s("GPU"), s("G"), 0},
                                                       {s("on its way"), s("→"), 3, Pattern::Dots}};
    const auto cells = static_cast<size_t>(rows * columns);
    const auto fill = [plot, rows, columns, cells, categories] {
        std::vector<std::uint8_t> of(cells);
        std::vector<double> bright(cells);
        for (size_t i = 0; i < cells; ++i) {
            of[i] = static_cast<std::uint8_t>(std::min(3.0, 4 * std::pow(uniform(), 1.5)));
            bright[i] = 0.3 + 0.7 * uniform();
        }
        plot->setCategories(rows, columns, of, categories);
        plot->setBrightness(bright);
    };
    fill();
    std::vector<HeatMap::Cell> lit;
    for (int row = 0; row < rows; ++row) {
        lit.push_back({row, row * 5 % columns});
        lit.push_back({row, (row * 7 + 3) % columns});
    }
    if (columns != 16) {
        plot->setHighlighted(lit);
    } else {
        plot->setSelected(HeatMap::Cell{2, 5});
    }
    return {name, plot, fill};
}

}  // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    applyTheme(app, Theme::Light);
    const std::vector<Subject> subjects = {
        lines(s("LinePlot 1 x 100,000"), 100'000, 1),
        lines(s("LinePlot 4 x 100,000"), 100'000, 4),
        lines(s("LinePlot 2 x 400"), 400, 2),
        percents(),
        memory(),
        bars(),
        histogram(),
        timeline(s("TimelinePlot 48 layers"), 48),
        timeline(s("TimelinePlot 12,000 spans"), 2000),
        heat(s("HeatMap 32 x 8"), 32, 8),
        heat(s("HeatMap 60 x 256"), 60, 256),
        kinds(s("HeatMap kinds 8 x 16"), 8, 16),
        kinds(s("HeatMap kinds 32 x 8, ringed"), 32, 8),
        kinds(s("HeatMap kinds 60 x 256, ringed"), 60, 256),
    };
    if (argc > 2 && s(argv[1]) == s("--pictures")) {
        const QDir folder(QString::fromLocal8Bit(argv[2]));
        for (const auto theme : {Theme::Light, Theme::Dark}) {
            applyTheme(app, theme);
            for (const QSize size : {QSize(800, 400), QSize(330, 300)}) {
                for (const Subject& subject : subjects) {
                    subject.plot->resize(size);
                    QApplication::processEvents();
                    const QPointF at(size.width() * 0.55, size.height() * 0.4);
                    QMouseEvent move(QEvent::MouseMove, at, at, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
                    QApplication::sendEvent(subject.plot, &move);
                    QString file = subject.name + s(" %1 %2.png").arg(nameOf(theme)).arg(size.width());
                    subject.plot->grab().save(folder.filePath(file.replace(u' ', u'_').remove(u',')));
                }
            }
        }
        return 0;
    }
    for (const Subject& subject : subjects) {
        measure(subject);
    }
    return 0;
}
