#pragma once
// What a report consists of: tables, and objects of JSON made of a struct's fields.

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace offstage::engine {

struct Column {
    std::string name;  // above the cells
    // Of cells in a line of text, with the blanks before them. Below 0: with those after
    // them, and wider where a cell needs it; in Markdown these stand to the left.
    int width = 0;
    int digits = 0;         // of numbers, after the point
    double factor = 1;      // of numbers: 100 for per cent, 1e-6 for MB
    std::string unit = {};  // after numbers
};

// A number, a text, or nothing, which is shown as "-".
struct Cell {
    Cell() = default;
    Cell(std::string words) : text(std::move(words)) {}
    Cell(const char* words) : text(words) {}
    template <typename Number>
    requires std::is_arithmetic_v<Number> Cell(Number of) : number(static_cast<double>(of)) {}

    std::optional<std::string> text;
    double number = std::numeric_limits<double>::quiet_NaN();  // NaN: nothing
};

// A number that below 0 says that it is not known.
inline Cell if_known(double value) {
    return value < 0 ? Cell() : Cell(value);
}

// Rows under columns. A row may end before the last column.
class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add_column(Column column) { columns_.push_back(std::move(column)); }
    std::vector<Cell>& add(std::vector<Cell> row) { return rows_.emplace_back(std::move(row)); }

    std::string text() const;  // a line of names, and one for each row
    std::string markdown() const;
    std::string csv() const;  // nothing: an empty field

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

// "32 layers of 8 experts, 2 active".
template <typename Report>
std::string shape_text(const Report& of) {
    return std::to_string(of.n_layers) + " layers of " + std::to_string(of.n_experts) + " experts, " +
           std::to_string(of.n_active) + " active";
}

}  // namespace offstage::engine

// Adds fields of a struct to an object of JSON, in this order, each under its own name:
// ADD_FIELDS(json, row, gain) writes json["gain"] = row.gain.
#define ADD_FIELDS(json, from, ...)                                              \
    do {                                                                         \
        auto& nlohmann_json_j = json;                                            \
        const auto& nlohmann_json_t = from;                                      \
        NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__)) \
    } while (false)
