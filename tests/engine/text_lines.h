#pragma once
// Lines for comparing tokenizers, and the files they come from.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include <QByteArray>

#include "engine/text/utf8.h"

namespace offstage::test {

inline const std::filesystem::path kTextData = OFFSTAGE_SOURCE_DIR "/tests/engine/data/text";
inline const std::filesystem::path kLayouts = kTextData / "bpe_layouts";

inline std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The lines that tests/golden/make_bpe_golden.py draws.
class Lines {
  public:
    Lines() : parts_(nlohmann::json::parse(bytes_of(kLayouts / "lines.json"))) {}

    std::string next() {
        std::string line;
        const auto n = 1 + below(12);
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto kind = below(16);
            if (kind < 9) {
                line += pick("fragments").get<std::string>();
            } else if (kind < 12) {
                const nlohmann::json& range = pick("ranges");
                const auto low = range[0].get<std::uint64_t>();
                const auto size = range[1].get<std::uint64_t>() - low + 1;
                for (auto left = 1 + below(4); left > 0; --left) {
                    engine::append_utf8(static_cast<std::uint32_t>(low + below(size)), line);
                }
            } else if (kind < 15) {
                const auto first = below(16);
                const auto blank = parts_["blanks"][std::min(first, below(parts_["blanks"].size()))].get<std::string>();
                for (auto left = 1 + below(5); left > 0; --left) line += blank;
            } else if (below(4) == 0) {
                line += QByteArray::fromHex(QByteArray::fromStdString(pick("broken").get<std::string>())).toStdString();
            } else {
                line += ' ';
            }
        }
        return line;
    }

  private:
    std::uint64_t below(std::uint64_t n) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (state_ >> 33) % n;
    }
    const nlohmann::json& pick(const char* list) { return parts_[list][below(parts_[list].size())]; }

    nlohmann::json parts_;
    std::uint64_t state_ = 20261123;
};

inline std::string mended(const std::string& raw) {
    engine::Utf8Stream stream;
    std::string text = stream.push(raw);
    return text + stream.finish();
}

}  // namespace offstage::test
