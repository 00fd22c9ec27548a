#include "ui/plot/point_ring.h"

#include <algorithm>
#include <cmath>

namespace offstage::ui {

void PointRing::append(QPointF point) {
    if (m_points.size() < m_capacity) {
        m_points.push_back(point);
    } else if (!m_points.empty()) {
        m_points[m_first] = point;
        m_first = (m_first + 1) % m_points.size();
    }
}

void PointRing::assign(std::vector<QPointF> points) {
    m_first = 0;
    if (points.size() > m_capacity) {
        points.erase(points.begin(), points.end() - static_cast<std::ptrdiff_t>(m_capacity));
    }
    m_points = std::move(points);
}

void PointRing::clear() {
    m_points.clear();
    m_first = 0;
}

void PointRing::setCapacity(std::size_t capacity) {
    std::rotate(m_points.begin(), m_points.begin() + static_cast<std::ptrdiff_t>(m_first), m_points.end());
    m_capacity = capacity;
    assign(std::move(m_points));
}

std::size_t PointRing::lowerBound(double x) const {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if ((*this)[middle].x() < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

std::vector<Column> decimate(const PointRing& points, std::size_t begin, std::size_t end, double perUnit,
                             double offset) {
    std::vector<Column> columns;
    bool gap = true;  // before the first point
    for (std::size_t i = begin; i < end; ++i) {
        const QPointF& point = points[i];
        const double y = point.y();
        if (!std::isfinite(y)) {
            gap = true;
            continue;
        }
        const double x = std::floor(point.x() * perUnit + offset);
        if (columns.empty() || columns.back().x != x) {
            columns.push_back({x, y, y, y, y, !gap});
        } else {
            Column& column = columns.back();
            column.low = std::min(column.low, y);
            column.high = std::max(column.high, y);
            column.last = y;
        }
        gap = false;
    }
    return columns;
}

}  // namespace offstage::ui
