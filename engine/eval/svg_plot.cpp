#include "engine/eval/svg_plot.h"

#include <algorithm>
#include <cmath>

#include "engine/print.h"

namespace offstage::engine {
namespace {

constexpr double kPlotWidth = 460, kPlotHeight = 300;  // the area between the axes
constexpr double kLeft = 80, kTop = 84, kRight = 28, kLegendLine = 20, kBelow = 62;
constexpr double kCaption = 44;  // part of kTop: the line above all plots
constexpr const char* kInk = "#222222";
constexpr const char* kGrid = "#dddddd";

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                // XML allows no control characters.
                out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return out;
}

std::string line(double x1, double y1, double x2, double y2, const std::string& colour, double width, bool dashed) {
    return print(R"(<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f"%s/>)", x1, y1, x2, y2,
                 colour.c_str(), width, dashed ? R"( stroke-dasharray="6 4")" : "") +
           "\n";
}

std::string marker(double x, double y, const std::string& colour) {
    return print(R"(<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>)", x, y, colour.c_str()) + "\n";
}

// Steps that leave at most ten ticks: whole ones, or (of a short range) any.
double tick_step(double range, double shortest = 1) {
    double step = shortest;
    for (int i = 0; range / step > 10; ++i) step *= i % 3 == 1 ? 2.5 : 2;  // 1 2 5 10 20 50 ...
    return step;
}

constexpr double kShortestStep = 1e-6;

// From first to last; rounded to the step, so that none is shown as 0.30000000000000004.
std::vector<double> ticks(double first, double last, double shortest) {
    std::vector<double> all;
    const double step = tick_step(last - first, shortest);
    const double end = last / step + 1e-9;
    for (double i = std::ceil(first / step - 1e-9); i <= end; ++i) all.push_back(i * step + 0.0);  // never "-0"
    return all;
}

class Area {
  public:
    Area(const Plot& plot, double left, double top) : plot_(plot), left_(left), top_(top) {}

    std::string draw() const {
        std::string svg = svg_text(left_ + kPlotWidth / 2, top_ - 16, "middle", 15, plot_.title);
        const auto y_tick = [&](double value, const std::string& text) {
            const double y = y_of(value);
            svg += line(left_, y, left_ + kPlotWidth, y, kGrid, 1, false);
            svg += svg_text(left_ - 8, y + 4, "end", 12, text);
        };
        if (plot_.y_is_share) {
            for (int percent = 0; percent <= 100; percent += 20)
                y_tick(percent / 100.0, std::to_string(percent) + " %");
        } else {
            for (const double y : ticks(plot_.y_first, plot_.y_last, kShortestStep)) y_tick(y, print("%g", y));
        }
        const double bottom = top_ + kPlotHeight;
        const bool fine = plot_.x_last - plot_.x_first < 3;
        for (const double x : ticks(plot_.x_first, plot_.x_last, fine ? kShortestStep : 1)) {
            svg += line(x_of(x), bottom, x_of(x), bottom + 5, kInk, 1, false);
            svg += svg_text(x_of(x), bottom + 20, "middle", 12, print("%g", x));
        }
        svg += line(left_, bottom, left_ + kPlotWidth, bottom, kInk, 1, false);
        svg += line(left_, bottom, left_, top_, kInk, 1, false);
        svg += svg_text(left_ + kPlotWidth / 2, bottom + 42, "middle", 13, plot_.x_label);
        const double middle = top_ + kPlotHeight / 2;
        svg += svg_text(left_ - 54, middle, "middle", 13, plot_.y_label,
                        print(" transform=\"rotate(-90 %.1f %.1f)\"", left_ - 54, middle));
        for (const PlotSeries& series : plot_.series) svg += draw(series);
        double y = bottom + kBelow;
        for (const PlotSeries& series : plot_.series) {
            if (series.name.empty()) continue;
            svg += line(left_, y, left_ + 34, y, series.colour, series.width, series.dashed);
            if (series.markers) svg += marker(left_ + 17, y, series.colour);
            svg += svg_text(left_ + 42, y + 4, "start", 12, series.name);
            y += kLegendLine;
        }
        return svg;
    }

    std::size_t legend_lines() const {
        return static_cast<std::size_t>(std::count_if(plot_.series.begin(), plot_.series.end(),
                                                      [](const PlotSeries& s) { return !s.name.empty(); }));
    }

  private:
    double x_of(double x) const {
        const double range = std::max(plot_.x_last - plot_.x_first, 1e-9);
        return left_ + (x - plot_.x_first) / range * kPlotWidth;
    }
    double first_y() const { return plot_.y_is_share ? 0 : plot_.y_first; }
    double last_y() const { return plot_.y_is_share ? 1 : plot_.y_last; }
    double y_of(double value) const {
        const double range = std::max(last_y() - first_y(), 1e-9);
        return top_ + (1 - (value - first_y()) / range) * kPlotHeight;
    }

    std::string draw(const PlotSeries& series) const {
        std::string points, markers;
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
            const double x = series.x[i], y = series.y[i];
            if (!(x >= plot_.x_first && x <= plot_.x_last && y >= first_y() && y <= last_y())) continue;
            const double at = x_of(x) + series.shift;
            points += print("%.1f,%.1f ", at, y_of(y));
            if (i < series.bars.size()) {
                markers += error_bar(at, y - series.bars[i], y + series.bars[i], series.colour);
            }
            if (series.markers) markers += marker(at, y_of(y), series.colour);
        }
        if (points.empty()) return {};
        points.pop_back();
        return "<polyline points=\"" + points +
               print(R"(" fill="none" stroke="%s" stroke-width="%.1f" stroke-linejoin="round"%s/>)",
                     series.colour.c_str(), series.width, series.dashed ? R"( stroke-dasharray="6 4")" : "") +
               "\n" + markers;
    }

    // With caps, as far as the axes go.
    std::string error_bar(double x, double low, double high, const std::string& colour) const {
        constexpr double kCap = 4;
        const double top = y_of(std::min(high, last_y())), bottom = y_of(std::max(low, first_y()));
        std::string svg = line(x, top, x, bottom, colour, 1.2, false);
        if (high <= last_y()) svg += line(x - kCap, top, x + kCap, top, colour, 1.2, false);
        if (low >= first_y()) svg += line(x - kCap, bottom, x + kCap, bottom, colour, 1.2, false);
        return svg;
    }

    const Plot& plot_;
    double left_, top_;
};

}  // namespace

std::string svg_text(double x, double y, const char* anchor, int size, const std::string& text,
                     const std::string& more) {
    return print(R"(<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s")", x, y, anchor, size, kInk) +
           more + ">" + escaped(text) + "</text>\n";
}

std::string to_svg(std::span<const Plot> plots, const std::string& caption) {
    // Four make two rows of two.
    const std::size_t n_columns = plots.size() == 4 ? 2 : std::clamp<std::size_t>(plots.size(), 1, 3);
    std::string body;
    std::size_t legend = 0;  // lines, of a row
    double top = kTop, bottom = kTop;
    for (std::size_t i = 0; i < plots.size(); ++i) {
        if (i > 0 && i % n_columns == 0) {
            top = bottom + kTop - kCaption;
            legend = 0;
        }
        const Area area(plots[i], kLeft + static_cast<double>(i % n_columns) * (kPlotWidth + kRight + kLeft), top);
        body += area.draw();
        legend = std::max(legend, area.legend_lines());
        bottom = top + kPlotHeight + kBelow + kLegendLine * static_cast<double>(legend) + 8;
    }
    const double width = static_cast<double>(n_columns) * (kPlotWidth + kRight + kLeft);
    return print(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" )",
                 width, bottom, width, bottom) +
           "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n" +
           print(R"(<rect width="%.0f" height="%.0f" fill="#ffffff"/>)", width, bottom) + "\n" +
           svg_text(width / 2, 32, "middle", 18, caption) + body + "</svg>\n";
}

}  // namespace offstage::engine
