#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/indices.h"

namespace offstage::cli {

// The number of finished tokens of a text, on stderr if that is a terminal.
class TokenProgress {
  public:
    // what: "Measuring".
    TokenProgress(std::string what, std::span<const std::vector<engine::TokenId>> sequences);
    void operator()(std::int64_t n_done) const;
    void finish() const;  // takes the line away

  private:
    std::string what_;
    std::int64_t n_tokens_ = 0;
    bool terminal_ = false;
};

}  // namespace offstage::cli
