#pragma once

#include <algorithm>
#include <chrono>

namespace offstage::ui {

// When the changes that wait are committed: at once where one of them is urgent, else kGatherTime after the first of
// them came. Changes that come later never put it off, so no change waits longer than kGatherTime for its commit to
// begin. The caller brings the time.
class CommitSchedule {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // Part of what a crash may lose; the rest is the commit itself.
    static constexpr std::chrono::milliseconds kGatherTime{250};

    void add(Time now, bool urgent) { m_due = std::min(m_due, urgent ? Time::min() : now + kGatherTime); }
    // What waits is due now.
    void hurry() { m_due = Time::min(); }
    // A commit of all that waited begins.
    void clear() { m_due = Time::max(); }
    // Time::max(): nothing waits.
    Time due() const { return m_due; }

  private:
    Time m_due = Time::max();
};

}  // namespace offstage::ui
