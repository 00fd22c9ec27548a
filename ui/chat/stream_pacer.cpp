#include "ui/chat/stream_pacer.h"

#include <algorithm>

#include "ui/base/delay.h"
#include "ui/chat/message_widget.h"

namespace offstage::ui {

namespace {

constexpr int kPaintIntervalMs = 33;
constexpr qint64 kLongestIntervalMs = 200;
// Characters rendered in one turn: fewer for text that is expensive to render (a table's
// rows).
constexpr qsizetype kSlice = 768;
constexpr qsizetype kLeastSlice = 192;
constexpr double kTurnMs = 5;     // limit of a turn, without painting
constexpr double kPiecesMs = 3;   // after which a turn begins no further piece
constexpr int kPieceRows = 8;     // table rows in one piece: as many as in a segment
constexpr qsizetype kMuch = 256;  // characters in a turn that are painted in the next one

// The length of a turn's first piece: up to a paragraph's end, or some rows of a table,
// so that a piece is rendered once and as a whole.
qsizetype pieceOf(QStringView text) {
    int rows = 0;
    qsizetype from = 0;
    while (true) {
        const qsizetype end = text.indexOf(u'\n', from);
        if (end < 0) {
            return text.size();
        }
        const QStringView line = text.mid(from, end - from).trimmed();
        rows = line.startsWith(u'|') ? rows + 1 : 0;
        from = end + 1;
        if ((line.isEmpty() && from > 1) || rows == kPieceRows) {
            return from;
        }
    }
}

}  // namespace

StreamPacer::StreamPacer(QWidget& viewport) : m_viewport(viewport), m_slice(kSlice) {
    m_timer.setSingleShot(true);
    connect(&m_timer, &QTimer::timeout, this, &StreamPacer::due);
    callAfter(m_painting, 0, this, [this] { m_viewport.setUpdatesEnabled(true); });
}

void StreamPacer::append(MessageId id, const QString& text) {
    m_unshown[id] += text;
    start();
}

void StreamPacer::start() {
    if (m_timer.isActive()) {
        return;  // throttled, not debounced: the timer is never started anew
    }
    // If rendering is expensive, it leaves the event loop free most of the time.
    const qint64 interval = std::clamp<qint64>(4 * m_costMs, kPaintIntervalMs, kLongestIntervalMs);
    const qint64 since = m_since.isValid() ? m_since.elapsed() : interval;
    m_timer.start(static_cast<int>(std::max<qint64>(0, interval - since)));
}

void StreamPacer::begin() {
    m_since.start();
    m_rendered = 0;
    ++m_turns;
}

bool StreamPacer::show(MessageId id, MessageWidget& widget) {
    QString& unshown = m_unshown[id];
    const qint64 before = widget.body().text().renderedCharacters();
    qsizetype left = std::min(m_slice, unshown.size());
    left -= left < unshown.size() && unshown[left - 1].isHighSurrogate() ? 1 : 0;
    if (left > kMuch) {
        // Painting takes as long as rendering: other events are processed between the
        // two.
        m_viewport.setUpdatesEnabled(false);
        m_painting.start();
    }
    do {
        const qsizetype length = pieceOf(QStringView(unshown).first(left));
        widget.appendText(unshown.first(length));
        unshown.remove(0, length);
        left -= length;
    } while (left > 0 && static_cast<double>(m_since.nsecsElapsed()) * 1e-6 < kPiecesMs);
    m_rendered += widget.body().text().renderedCharacters() - before;
    m_mostRendered = std::max(m_mostRendered, m_rendered);
    return unshown.isEmpty();
}

void StreamPacer::end() {
    const double cost = static_cast<double>(m_since.nsecsElapsed()) * 1e-6;
    m_costMs = static_cast<qint64>(cost);
    m_slice = cost > kTurnMs
                  ? std::max(kLeastSlice, static_cast<qsizetype>(static_cast<double>(m_slice) * kTurnMs / cost))
                  : std::min(kSlice, m_slice + m_slice / 4);
    m_since.start();
    if (!m_unshown.isEmpty()) {
        start();
    }
}

}  // namespace offstage::ui
