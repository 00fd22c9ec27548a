#include "app/cli/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace offstage::cli {
namespace {

// The number of letters to insert, remove or change (Levenshtein); 0 if one begins with
// the other.
std::size_t distance(std::string_view a, std::string_view b) {
    if (a.starts_with(b) || b.starts_with(a)) return 0;
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t corner = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = corner + (a[i] == b[j] ? 0 : 1);
            corner = row[j + 1];
            row[j + 1] = std::min({changed, corner + 1, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names) {
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const std::string& name : names) {
        const std::size_t n = distance(word.substr(0, 64), name);
        if (!word.empty() && n <= std::clamp<std::size_t>(std::min(word.size(), name.size()) / 2, 1, 3)) {
            near.emplace_back(n, name);
        }
    }
    std::sort(near.begin(), near.end());
    std::vector<std::string> list;
    for (auto& [n, name] : near) {
        if (n == near.front().first && list.size() < 3) list.push_back(std::move(name));
    }
    return list;
}

}  // namespace offstage::cli
