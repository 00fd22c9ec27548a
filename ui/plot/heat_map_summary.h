#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace offstage::ui {

// Each row and each column of a table in one number, or in how many cells it has of each
// kind: worked out once for new data, in one pass over it.
class HeatMapSummary {
  public:
    enum class Kind { None, Mean, Highest };

    HeatMapSummary() = default;
    // row-major values; cells whose `known` is 0 do not count (empty: all do).
    HeatMapSummary(int rows, int columns, std::span<const double> values, std::span<const double> known, Kind kind);
    // row-major kinds below nKinds; others count as none.
    HeatMapSummary(int rows, int columns, std::span<const std::uint8_t> kinds, int nKinds);

    double row(int row) const { return m_rows[static_cast<std::size_t>(row)]; }
    double column(int column) const { return m_columns[static_cast<std::size_t>(column)]; }
    // Cells of each kind.
    std::span<const int> kindsOfRow(int row) const { return counts(m_rowKinds, row); }
    std::span<const int> kindsOfColumn(int column) const { return counts(m_columnKinds, column); }

  private:
    std::span<const int> counts(const std::vector<int>& all, int line) const {
        const auto n = static_cast<std::size_t>(m_nKinds);
        return std::span(all).subspan(static_cast<std::size_t>(line) * n, n);
    }

    int m_nKinds = 0;
    std::vector<double> m_rows, m_columns;
    std::vector<int> m_rowKinds, m_columnKinds;
};

}  // namespace offstage::ui
