#include "ui/plot/heat_map_summary.h"

#include <algorithm>

namespace offstage::ui {

HeatMapSummary::HeatMapSummary(int rows, int columns, std::span<const double> values, std::span<const double> known,
                               Kind kind)
    : m_rows(static_cast<std::size_t>(rows)), m_columns(static_cast<std::size_t>(columns)) {
    std::vector<int> inRow(m_rows.size()), inColumn(m_columns.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!known.empty() && known[i] == 0) {
            continue;
        }
        const std::size_t row = i / m_columns.size(), column = i % m_columns.size();
        ++inRow[row];
        ++inColumn[column];
        for (double* const line : {&m_rows[row], &m_columns[column]}) {
            *line = kind == Kind::Mean ? *line + values[i] : std::max(*line, values[i]);
        }
    }
    const auto divide = [](std::vector<double>& sums, const std::vector<int>& counts) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] = counts[i] > 0 ? sums[i] / counts[i] : 0;
        }
    };
    if (kind == Kind::Mean) {
        divide(m_rows, inRow);
        divide(m_columns, inColumn);
    }
}

HeatMapSummary::HeatMapSummary(int rows, int columns, std::span<const std::uint8_t> kinds, int nKinds)
    : m_nKinds(nKinds),
      m_rowKinds(static_cast<std::size_t>(rows) * static_cast<std::size_t>(nKinds)),
      m_columnKinds(static_cast<std::size_t>(columns) * static_cast<std::size_t>(nKinds)) {
    const auto wide = static_cast<std::size_t>(std::max(1, columns)), n = static_cast<std::size_t>(nKinds);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (kinds[i] < n) {
            ++m_rowKinds[i / wide * n + kinds[i]];
            ++m_columnKinds[i % wide * n + kinds[i]];
        }
    }
}

}  // namespace offstage::ui
