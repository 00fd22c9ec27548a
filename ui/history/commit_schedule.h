#pragma once

#include <algorithm>
#include <chrono>

namespace offstage::ui {

// When waiting changes are committed: at once if one of them is urgent, otherwise
// kGatherTime after the first of them came. Later changes never postpone it, so no change
// waits longer than kGatherTime for its commit to begin. The caller passes the time.
class CommitSchedule {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // Part of the time that a crash may lose; the rest is the commit itself.
    static constexpr std::chrono::milliseconds kGatherTime{250};

    void add(Time now, bool urgent) { m_due = std::min(m_due, urgent ? Time::min() : now + kGatherTime); }
    // Waiting changes are due now.
    void hurry() { m_due = Time::min(); }
    // A commit of all waiting changes begins.
    void clear() { m_due = Time::max(); }
    // Time::max(): nothing waits.
    Time due() const { return m_due; }

  private:
    Time m_due = Time::max();
};

}  // namespace offstage::ui
