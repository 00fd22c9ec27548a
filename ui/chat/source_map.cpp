#include "ui/chat/source_map.h"

#include <algorithm>

#include "ui/chat/markdown_splitter.h"

namespace offstage::ui {

void SourceMap::append(const Run& run) {
    if (run.length > 0) {
        m_runs.append(run);
    }
}

qsizetype SourceMap::sourceAt(int position) const {
    const auto after = std::upper_bound(m_runs.begin(), m_runs.end(), position,
                                        [](int at, const Run& run) { return at < run.position; });
    if (after == m_runs.begin()) {
        return m_runs.isEmpty() ? -1 : m_runs.first().source;
    }
    const Run& run = *std::prev(after);
    const int into = position - run.position;
    if (into >= run.length) {
        return run.source + std::max<qsizetype>(0, run.sourceLength - 1);
    }
    return run.length == run.sourceLength ? run.source + into : run.source;
}

QList<QPair<int, int>> SourceMap::pieces(qsizetype begin, qsizetype end) const {
    QList<QPair<int, int>> out;
    for (const Run& run : m_runs) {
        const qsizetype from = std::max(begin, run.source);
        const qsizetype to = std::min(end, run.source + run.sourceLength);
        if (from >= to) {
            continue;
        }
        const bool exact = run.length == run.sourceLength;
        const int first = exact ? run.position + static_cast<int>(from - run.source) : run.position;
        const int length = exact ? static_cast<int>(to - from) : run.length;
        if (!out.isEmpty() && out.last().first + out.last().second == first) {
            out.last().second += length;
        } else {
            out.append({first, length});
        }
    }
    return out;
}

SourceMap SourceMap::ofLines(const MarkdownSegment& segment) {
    SourceMap map;
    for (qsizetype i = 0; i < segment.lines.size(); ++i) {
        const SourceLine& line = segment.lines[i];
        const qsizetype next = i + 1 < segment.lines.size() ? segment.lines[i + 1].text : segment.text.size();
        const qsizetype length = next - line.text;
        map.append({static_cast<int>(line.text), static_cast<int>(length), line.source, length});
    }
    return map;
}

}  // namespace offstage::ui
