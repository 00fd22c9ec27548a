#include "ui/panels/expert_use_plot.h"

#include <algorithm>
#include <cmath>

#include <QLocale>
#include <QMenu>
#include <QPainter>

#include "ui/base/save_file.h"
#include "ui/base/theme.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

using engine::ExpertOutcome;

struct UseKind {
    ExpertOutcome use;
    int category;  // colour and pattern, as in the Dispatch panel
    const char* name;
};
constexpr UseKind kUseKinds[] = {
    {ExpertOutcome::kHit, 1, QT_TRANSLATE_NOOP("offstage::ui::ExpertUsePlot", "found on the device")},
    {ExpertOutcome::kCopied, 2, QT_TRANSLATE_NOOP("offstage::ui::ExpertUsePlot", "copied to the device")},
    {ExpertOutcome::kCpu, 3, QT_TRANSLATE_NOOP("offstage::ui::ExpertUsePlot", "computed on the CPU")},
    {ExpertOutcome::kElsewhere, 4, QT_TRANSLATE_NOOP("offstage::ui::ExpertUsePlot", "computed by another machine")},
};

QString useName(ExpertOutcome use) {
    const auto* kind =
        std::find_if(std::begin(kUseKinds), std::end(kUseKinds), [use](const UseKind& k) { return k.use == use; });
    return kind == std::end(kUseKinds) ? ExpertUsePlot::tr("not called") : ExpertUsePlot::tr(kind->name);
}

constexpr double kColumnWidth = 8;  // of the latest, while the view was not moved
constexpr double kPatternFrom = 7;  // pixels of a cell

}  // namespace

ExpertUsePlot::ExpertUsePlot(QWidget* parent) : PlotWidget(parent) {
    m_zoom.setSmallestSpan(4);
}

void ExpertUsePlot::setUses(const QString& model, int layer, int experts, std::vector<Column> columns) {
    if (columns.size() > kMostColumns) {
        columns.erase(columns.begin(), columns.end() - kMostColumns);
    }
    if (model == m_model && layer == m_layer && experts == m_experts && columns == m_columns) {
        return;
    }
    if (columns.empty() || m_columns.empty() || columns.front().step < m_columns.front().step) {
        m_moved = false;
    }
    m_model = model;
    m_layer = layer;
    m_experts = experts;
    m_columns = std::move(columns);
    if (!isEmpty()) {
        m_zoom.setFull(
            {static_cast<double>(m_columns.front().number), static_cast<double>(m_columns.back().number + 1)});
    }
    setCurrent(m_current && columnOf(m_current->first) != nullptr ? m_current : std::nullopt);
    markStale(Layer::Frame);
}

const ExpertUsePlot::Column* ExpertUsePlot::columnOf(qint64 number) const {
    const auto at = std::partition_point(m_columns.begin(), m_columns.end(),
                                         [number](const Column& column) { return column.number < number; });
    return at == m_columns.end() || at->number != number ? nullptr : &*at;
}

// ---------------------------------------------------------------- places

QSize ExpertUsePlot::sizeHint() const {
    return {420, 90 + std::clamp(m_experts, 16, 64) * 5};
}

QSize ExpertUsePlot::minimumSizeHint() const {
    return {200, 150};
}

void ExpertUsePlot::layOut() {
    const QFontMetrics metrics = fontMetrics();
    const AxisSpec across{tr("step"), Unit::Count};
    const int top = kEdge + legendHeight(metrics, legend(), width() - 2 * kEdge) + metrics.height() + 3;
    const int bottom = height() - kEdge - bottomAxisHeight(across.title);
    const int left = kEdge + metrics.horizontalAdvance(QLocale().toString(std::max(99, m_experts - 1))) + 7;
    m_area = QRect(QPoint(left, top), QPoint(std::max(left + 10, width() - kEdge - 4), std::max(top + 10, bottom)));
    if (!m_moved) {
        const double fit = std::max(4.0, std::floor(m_area.width() / kColumnWidth));
        const Range full = m_zoom.full();
        m_zoom.show({std::max(full.lo, full.hi - fit), full.hi});
    }
    const Range view = m_zoom.view();
    m_x = Axis(across, view.lo, view.hi, m_area.left(), m_area.right() + 1);
    m_y = Axis({tr("expert"), Unit::Count}, 0, std::max(1, m_experts), m_area.top(), m_area.bottom() + 1);
}

QRectF ExpertUsePlot::rectOf(qint64 number, int expert) {
    ensureLaidOut();
    const double left = m_x.pixelOf(static_cast<double>(number));
    const double right = m_x.pixelOf(static_cast<double>(number + 1));
    const double top = m_y.pixelOf(expert);
    const double bottom = m_y.pixelOf(expert + 1);
    const auto gap = [](double size) { return size >= 3 ? 1.0 : 0.0; };
    return {left, top, std::max(1.0, right - left - gap(right - left)),
            std::max(1.0, bottom - top - gap(bottom - top))};
}

std::optional<std::pair<qint64, int>> ExpertUsePlot::cellAt(QPoint at) {
    ensureLaidOut();
    if (isEmpty() || !m_area.contains(at)) {
        return std::nullopt;
    }
    const auto number = static_cast<qint64>(std::floor(m_x.valueAt(at.x() + 0.5)));
    const int expert = std::clamp(static_cast<int>(std::floor(m_y.valueAt(at.y() + 0.5))), 0, m_experts - 1);
    if (columnOf(number) == nullptr) {
        return std::nullopt;
    }
    return std::pair(number, expert);
}

// ---------------------------------------------------------------- painting

std::vector<LegendEntry> ExpertUsePlot::legend() const {
    std::vector<LegendEntry> entries;
    for (const UseKind& kind : kUseKinds) {
        const bool isUsed = std::any_of(m_columns.begin(), m_columns.end(), [&](const Column& column) {
            return std::any_of(column.calls.begin(), column.calls.end(),
                               [&](const auto& call) { return call.second == kind.use; });
        });
        if (isUsed) {
            entries.push_back(areaEntry(tr(kind.name), kind.category, palette()));
        }
    }
    return entries;
}

void ExpertUsePlot::paintFrame(QPainter& painter) {
    const Colours colours = Colours::of(palette());
    const QFontMetrics metrics = fontMetrics();
    const int line = metrics.height();
    paintLegend(painter, QRect(kEdge, 3, width() - 2 * kEdge, m_area.top()), legend(), palette());
    painter.fillRect(m_area, mixed(palette().color(QPalette::Window), colours.text, 0.05));
    painter.setPen(colours.muted);
    painter.drawText(QRect(kEdge, m_area.top() - line - 1, width() - 2 * kEdge, line), Qt::AlignLeft | Qt::AlignVCenter,
                     m_y.caption());
    for (const Tick& tick : m_y.ticks(std::max(2, m_area.height() / (2 * line)))) {
        if (tick.value >= m_experts) {
            continue;
        }
        const int y = static_cast<int>(std::lround(m_y.pixelOf(tick.value + 0.5)));
        painter.drawText(QRect(0, y - line / 2, m_area.left() - 6, line), Qt::AlignRight | Qt::AlignVCenter,
                         tick.label);
    }
    paintBottomAxis(painter, m_x, m_area);
}

void ExpertUsePlot::paintData(QPainter& painter) {
    painter.save();
    painter.setClipRect(m_area);
    const QRectF cell = rectOf(m_columns.front().number, 0);
    const bool patterned = std::min(cell.width(), cell.height()) >= kPatternFrom;
    QPen prompt(Colours::of(palette()).muted, 1);
    prompt.setDashPattern({3, 3});
    for (const Column& column : m_columns) {
        if (static_cast<double>(column.number + 1) < m_x.lo() || static_cast<double>(column.number) > m_x.hi()) {
            continue;
        }
        for (const auto& [expert, use] : column.calls) {
            const auto* kind = std::find_if(std::begin(kUseKinds), std::end(kUseKinds),
                                            [used = use](const UseKind& k) { return k.use == used; });
            if (kind == std::end(kUseKinds)) {
                continue;
            }
            const QColor colour = seriesColour(kind->category, palette());
            const QBrush brush = patterned ? patternBrush(colour, patternOf(kind->category)) : QBrush(colour);
            painter.fillRect(rectOf(column.number, expert), brush);
        }
        if (column.prompt) {
            painter.setPen(prompt);
            const int x = static_cast<int>(std::lround(m_x.pixelOf(static_cast<double>(column.number)))) - 1;
            painter.drawLine(x, m_area.top(), x, m_area.bottom());
        }
    }
    painter.restore();
}

void ExpertUsePlot::paintOver(QPainter& painter) {
    if (!m_current) {
        return;
    }
    const QRectF rect = rectOf(m_current->first, m_current->second);
    paintRings(painter, rect);
    paintReading(painter, rect.center().toPoint(), reading());
}

// ---------------------------------------------------------------- pointing

QString ExpertUsePlot::textOf(const Column& column) const {
    if (column.prompt) {
        return tr("prompt, %1 tokens").arg(QLocale().toString(column.tokens));
    }
    const QString words = m_textOf ? m_textOf(column.step).simplified() : QString();
    return words.isEmpty() ? tr("step %1").arg(QLocale().toString(column.number)) : tr("“%1”").arg(words);
}

void ExpertUsePlot::setCurrent(std::optional<std::pair<qint64, int>> cell) {
    QString text;
    if (const Column* column = cell ? columnOf(cell->first) : nullptr) {
        const auto call = std::find_if(column->calls.begin(), column->calls.end(),
                                       [&](const auto& each) { return each.first == cell->second; });
        text = textOf(*column) + u'\n' +
               tr("layer %1, expert %2: %3", "number, number, what became of it")
                   .arg(QLocale().toString(m_layer), QLocale().toString(cell->second),
                        useName(call == column->calls.end() ? ExpertOutcome::kNone : call->second));
    }
    if (cell != m_current || text != reading()) {
        m_current = cell;
        setReading(text);
        update();
    }
}

void ExpertUsePlot::zoomChanged() {
    m_moved = true;
}

std::optional<double> ExpertUsePlot::keyZoomCentre() const {
    return m_current ? std::optional(static_cast<double>(m_current->first) + 0.5) : std::nullopt;
}

void ExpertUsePlot::pointAt(std::optional<QPoint> at) {
    setCurrent(at ? cellAt(*at) : std::nullopt);
}

void ExpertUsePlot::step(int right, int down) {
    ensureLaidOut();
    auto cell = m_current.value_or(std::pair(m_columns.back().number, 0));
    if (m_current) {
        const auto at = columnOf(cell.first) - m_columns.data();
        const auto next = std::clamp<std::ptrdiff_t>(at + right, 0, std::ssize(m_columns) - 1);
        cell = {m_columns[static_cast<size_t>(next)].number, std::clamp(cell.second + down, 0, m_experts - 1)};
    }
    const Range view = m_zoom.view();
    const auto number = static_cast<double>(cell.first);
    const double by = number < view.lo ? number - view.lo : std::max(0.0, number + 1 - view.hi);
    if (by != 0 && m_zoom.pan(by)) {
        m_moved = true;
        markStale(Layer::Frame);
    }
    setCurrent(cell);
}

void ExpertUsePlot::click(Qt::MouseButton button) {
    if (const Column* column = m_current ? columnOf(m_current->first) : nullptr; column && button == Qt::LeftButton) {
        Q_EMIT stepClicked(column->step);
    }
}

// ---------------------------------------------------------------- taking it away

void ExpertUsePlot::extendMenu(QMenu& menu, QPoint) {
    menu.addAction(tr("Save picture as S&VG…"), this, [this] {
        openSaveDialog(this, tr("Save picture as SVG"), {tr("SVG picture (*.svg)")}, suggestedName(),
                       [this](const QString& path) { saveSvg(path); });
    });
}

bool ExpertUsePlot::saveSvg(const QString& path) {
    return sayWhetherSaved(path, saveFile(path, svg()));
}

QByteArray ExpertUsePlot::svg() const {
    engine::ExpertPicture picture;
    picture.title = tr("%1: experts over tokens").arg(m_model).toStdString();
    for (const LegendEntry& entry : legend()) {
        const auto* kind = std::find_if(std::begin(kUseKinds), std::end(kUseKinds),
                                        [&](const UseKind& k) { return tr(k.name) == entry.text; });
        picture.legend.emplace_back(kind->use, entry.text.toStdString());
    }
    picture.n_columns = std::ssize(m_columns);
    picture.n_experts = m_experts;
    engine::ExpertPicture::Layer& layer = picture.layers.emplace_back();
    layer.title = tr("layer %1").arg(QLocale().toString(m_layer)).toStdString();
    layer.uses.resize(m_columns.size() * static_cast<size_t>(m_experts));
    for (size_t c = 0; c < m_columns.size(); ++c) {
        for (const auto& [expert, use] : m_columns[c].calls) {
            if (expert >= 0 && expert < m_experts) {
                layer.uses[c * static_cast<size_t>(m_experts) + static_cast<size_t>(expert)] = use;
            }
        }
    }
    if (!isEmpty()) {
        picture.below =
            tr("steps %1 to %2; experts from top to bottom")
                .arg(QLocale().toString(m_columns.front().number), QLocale().toString(m_columns.back().number))
                .toStdString();
    }
    return QByteArray::fromStdString(engine::to_svg(picture));
}

QString ExpertUsePlot::csv() const {
    QString text = csvLine({QStringLiteral("step"), QStringLiteral("tokens"), QStringLiteral("text"),
                            QStringLiteral("layer"), QStringLiteral("expert"), QStringLiteral("where")});
    static constexpr const char* kNames[] = {"", "", "device", "copied", "cpu", "elsewhere"};
    for (const Column& column : m_columns) {
        const QString words = m_textOf && !column.prompt ? m_textOf(column.step) : QString();
        for (const auto& [expert, use] : column.calls) {
            text += csvLine({QString::number(column.number), QString::number(column.tokens), words,
                             QString::number(m_layer), QString::number(expert),
                             QString::fromLatin1(kNames[static_cast<size_t>(use)])});
        }
    }
    return text;
}

}  // namespace offstage::ui
