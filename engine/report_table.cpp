#include "engine/report_table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/print.h"

namespace offstage::engine {
namespace {

std::string shown(const Cell& cell, const Column& column, const char* nothing) {
    if (cell.text) return *cell.text;
    if (std::isnan(cell.number)) return nothing;
    return print("%.*f", column.digits, column.factor * cell.number) + column.unit;
}

}  // namespace

std::string Table::text() const {
    std::vector<std::string> lines(rows_.size() + 1);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        const Column& column = columns_[c];
        std::vector<std::string> cells = {column.name};
        for (const std::vector<Cell>& row : rows_) cells.push_back(c < row.size() ? shown(row[c], column, "-") : "");
        std::size_t width = static_cast<std::size_t>(std::abs(column.width));
        for (const std::string& cell : cells) width = std::max(width, column.width < 0 ? cell.size() + 2 : 0);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const std::string blanks(width - std::min(width, cells[i].size()), ' ');
            lines[i] += column.width < 0 ? cells[i] + blanks : blanks + cells[i];
        }
    }
    std::string text;
    for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    return text;
}

std::string Table::markdown() const {
    std::string names = "|", rule = "|", lines;
    for (const Column& column : columns_) {
        names += " " + column.name + " |";
        rule += column.width < 0 ? "---|" : "---:|";
    }
    for (const std::vector<Cell>& row : rows_) {
        lines += "|";
        for (std::size_t c = 0; c < row.size(); ++c) lines += print(" %s |", shown(row[c], columns_[c], "-").c_str());
        lines += "\n";
    }
    return names + "\n" + rule + "\n" + lines;
}

std::string Table::csv() const {
    std::string text;
    for (const Column& column : columns_) text += (text.empty() ? "" : ",") + column.name;
    text += "\n";
    for (const std::vector<Cell>& row : rows_) {
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            if (c > 0) text += ',';
            if (c < row.size()) text += shown(row[c], columns_[c], "");
        }
        text += "\n";
    }
    return text;
}

}  // namespace offstage::engine
