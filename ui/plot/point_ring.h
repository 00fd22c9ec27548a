#pragma once

#include <cstddef>
#include <vector>

#include <QPointF>

namespace offstage::ui {

// The latest points of a series, in order of x; memory is bounded by the capacity.
class PointRing {
  public:
    explicit PointRing(std::size_t capacity = 100'000) : m_capacity(capacity) {}

    std::size_t size() const { return m_points.size(); }
    bool empty() const { return m_points.empty(); }
    // i-th oldest.
    const QPointF& operator[](std::size_t i) const {
        const std::size_t at = m_first + i;
        return m_points[at < m_points.size() ? at : at - m_points.size()];
    }
    const QPointF& front() const { return (*this)[0]; }
    const QPointF& back() const { return (*this)[size() - 1]; }

    void append(QPointF point);
    void assign(std::vector<QPointF> points);
    void clear();
    void setCapacity(std::size_t capacity);
    // Index of the first point with an x not below this one; size() if there is none.
    std::size_t lowerBound(double x) const;

  private:
    std::size_t m_capacity;
    std::size_t m_first = 0;  // the oldest, once the ring is full
    std::vector<QPointF> m_points;
};

// One column of pixels of a series: the first, lowest, highest and last of its values.
struct Column {
    double x = 0;  // pixel, the column's left edge
    double first = 0, low = 0, high = 0, last = 0;
    bool joined = false;  // no gap between this column and the one before
};

// Columns for the points begin..end: a point belongs to the column of x times `perUnit`
// plus `offset`. Values that are NaN leave gaps. Extremes of every column are kept, and
// so those of the whole.
std::vector<Column> decimate(const PointRing& points, std::size_t begin, std::size_t end, double perUnit,
                             double offset);

}  // namespace offstage::ui
