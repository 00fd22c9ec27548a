#pragma once

#include <QList>
#include <QPair>

namespace offstage::ui {

struct MarkdownSegment;

// From positions in a rendered document to places in the message's source and back. Runs
// are in the order of the document; a run whose two lengths are equal is exact to the
// character, any other (a formula) counts as a whole.
class SourceMap {
  public:
    struct Run {
        int position = 0;
        int length = 0;
        qsizetype source = 0;
        qsizetype sourceLength = 0;
    };

    void clear() { m_runs.clear(); }
    void append(const Run& run);
    const QList<Run>& runs() const { return m_runs; }

    // -1: the document has no source. A position between two runs belongs to the one
    // before it.
    qsizetype sourceAt(int position) const;
    // The pieces of the document that come from [begin, end) of the source, as (position,
    // length).
    QList<QPair<int, int>> pieces(qsizetype begin, qsizetype end) const;

    // For text that is shown unchanged: code, prompts.
    static SourceMap ofLines(const MarkdownSegment& segment);

  private:
    QList<Run> m_runs;
};

}  // namespace offstage::ui
