#include "engine/run/stop_texts.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {

std::string StopTexts::push(std::string_view piece) {
    if (found()) return {};
    held_ += piece;
    std::size_t stop = std::string::npos;
    for (const std::string& text : texts_) {
        const std::size_t at = held_.find(text);
        if (at < stop) found_ = text;
        stop = std::min(stop, at);
    }
    if (found()) {
        return std::exchange(held_, {}).substr(0, stop);
    }
    // The longest end that begins a stop text.
    std::size_t n_held = 0;
    for (const std::string& text : texts_) {
        for (std::size_t n = std::min(text.size() - 1, held_.size()); n > n_held; --n) {
            if (held_.ends_with(std::string_view(text).substr(0, n))) n_held = n;
        }
    }
    std::string shown = held_.substr(0, held_.size() - n_held);
    held_.erase(0, shown.size());
    return shown;
}

std::string StopTexts::finish() {
    return found() ? std::string() : std::exchange(held_, {});
}

}  // namespace offstage::engine
