#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace offstage::ui {

struct LoggedStep;

// What a step did with the device's experts.
struct StepFigures {
    std::uint64_t tokens = 0, resident = 0, bytes = 0;
    std::uint64_t missed = 0;  // calls without their expert on the device, guessed in time or not
    std::uint64_t guessed = 0, used = 0, admissions = 0;
    std::uint64_t neededNeurons = 0, heldNeurons = 0;
    double hitRate() const {
        return tokens > 0 ? static_cast<double>(resident) / static_cast<double>(tokens)
                          : std::numeric_limits<double>::quiet_NaN();
    }
};

// For one layer, or for all (-1).
StepFigures figuresOf(const LoggedStep& step, int layer);

// Mean of the last values, token by token; NaN where a token has none.
class RunningMean {
  public:
    void reset(int length);
    double add(double value);

  private:
    std::vector<double> m_values;
    std::size_t m_next = 0;
    std::size_t m_length = 1;
};

}  // namespace offstage::ui
