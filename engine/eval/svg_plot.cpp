#include "engine/eval/svg_plot.h"

#include <algorithm>
#include <cmath>

#include "engine/print.h"

namespace offstage::engine {
namespace {

constexpr double kPlotWidth = 460, kPlotHeight = 300;  // of the area between the axes
constexpr double kLeft = 80, kTop = 84, kRight = 28, kLegendLine = 20, kBelow = 62;
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
                // XML knows no control characters.
                out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    }
    return out;
}

std::string text_at(double x, double y, const char* anchor, int size, const std::string& text,
                    const std::string& more = {}) {
    return print(R"(<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d" fill="%s")", x, y, anchor, size, kInk) +
           more + ">" + escaped(text) + "</text>\n";
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
    Area(const Plot& plot, double left) : plot_(plot), left_(left) {}

    std::string draw() const {
        std::string svg = text_at(left_ + kPlotWidth / 2, kTop - 16, "middle", 15, plot_.title);
        const auto y_tick = [&](double value, const std::string& text) {
            const double y = y_of(value);
            svg += line(left_, y, left_ + kPlotWidth, y, kGrid, 1, false);
            svg += text_at(left_ - 8, y + 4, "end", 12, text);
        };
        if (plot_.y_is_share) {
            for (int percent = 0; percent <= 100; percent += 20)
                y_tick(percent / 100.0, std::to_string(percent) + " %");
        } else {
            for (const double y : ticks(plot_.y_first, plot_.y_last, kShortestStep)) y_tick(y, print("%g", y));
        }
        constexpr double kBottom = kTop + kPlotHeight;
        const bool fine = plot_.x_last - plot_.x_first < 3;
        for (const double x : ticks(plot_.x_first, plot_.x_last, fine ? kShortestStep : 1)) {
            svg += line(x_of(x), kBottom, x_of(x), kBottom + 5, kInk, 1, false);
            svg += text_at(x_of(x), kBottom + 20, "middle", 12, print("%g", x));
        }
        svg += line(left_, kBottom, left_ + kPlotWidth, kBottom, kInk, 1, false);
        svg += line(left_, kBottom, left_, kTop, kInk, 1, false);
        svg += text_at(left_ + kPlotWidth / 2, kBottom + 42, "middle", 13, plot_.x_label);
        const double middle = kTop + kPlotHeight / 2;
        svg += text_at(left_ - 54, middle, "middle", 13, plot_.y_label,
                       print(" transform=\"rotate(-90 %.1f %.1f)\"", left_ - 54, middle));
        for (const PlotSeries& series : plot_.series) svg += draw(series);
        double y = kBottom + kBelow;
        for (const PlotSeries& series : plot_.series) {
            if (series.name.empty()) continue;
            svg += line(left_, y, left_ + 34, y, series.colour, series.width, series.dashed);
            if (series.markers) svg += marker(left_ + 17, y, series.colour);
            svg += text_at(left_ + 42, y + 4, "start", 12, series.name);
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
        return kTop + (1 - (value - first_y()) / range) * kPlotHeight;
    }

    std::string draw(const PlotSeries& series) const {
        std::string points, markers;
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
            const double x = series.x[i], y = series.y[i];
            if (!(x >= plot_.x_first && x <= plot_.x_last && y >= first_y() && y <= last_y())) continue;
            points += print("%.1f,%.1f ", x_of(x), y_of(y));
            if (series.markers) markers += marker(x_of(x), y_of(y), series.colour);
        }
        if (points.empty()) return {};
        points.pop_back();
        return "<polyline points=\"" + points +
               print(R"(" fill="none" stroke="%s" stroke-width="%.1f" stroke-linejoin="round"%s/>)",
                     series.colour.c_str(), series.width, series.dashed ? R"( stroke-dasharray="6 4")" : "") +
               "\n" + markers;
    }

    const Plot& plot_;
    double left_;
};

}  // namespace

std::string to_svg(std::span<const Plot> plots, const std::string& caption) {
    std::string body;
    std::size_t legend = 0;
    double left = kLeft;
    for (const Plot& plot : plots) {
        const Area area(plot, left);
        body += area.draw();
        legend = std::max(legend, area.legend_lines());
        left += kPlotWidth + kRight + kLeft;
    }
    const double width = std::max(left - kLeft, kPlotWidth);
    const double height = kTop + kPlotHeight + kBelow + kLegendLine * static_cast<double>(legend) + 8;
    return print(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" )",
                 width, height, width, height) +
           "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n" +
           print(R"(<rect width="%.0f" height="%.0f" fill="#ffffff"/>)", width, height) + "\n" +
           text_at(width / 2, 32, "middle", 18, caption) + body + "</svg>\n";
}

}  // namespace offstage::engine
