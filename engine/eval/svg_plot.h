#pragma once

#include <span>
#include <string>
#include <vector>

namespace offstage::engine {

struct PlotSeries {
    std::string name;  // empty: not in the legend
    std::vector<double> x, y;
    std::string colour = "#1f5fa8";  // as in CSS
    double width = 2;
    bool dashed = false;
    bool markers = false;
    std::vector<double> bars = {};  // half the length of an error bar at each point; empty: none
    double shift = 0;               // pixels to the right: where bars of several series would cover each other
};

// Lines over two axes. x: ticks at whole numbers, unless its range is shorter than 3; y:
// shares, 0 to 1, shown as per cent, or any numbers.
struct Plot {
    std::string title;
    std::string x_label, y_label;
    double x_first = 0, x_last = 1;
    std::vector<PlotSeries> series;
    bool y_is_share = true;  // false: y_first .. y_last
    double y_first = 0, y_last = 1;
};

// The plots in rows of at most three as one SVG picture on a light ground, readable
// without a style sheet or scripts; `caption` is above them. Values outside the axes, and
// ones that are not finite, are left out.
std::string to_svg(std::span<const Plot> plots, const std::string& caption);

// A line of text for a picture that is drawn by hand, escaped. anchor: "start", "middle"
// or "end"; more: further attributes, each with a space before it.
std::string svg_text(double x, double y, const char* anchor, int size, const std::string& text,
                     const std::string& more = {});

}  // namespace offstage::engine
