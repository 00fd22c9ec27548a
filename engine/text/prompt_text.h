#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace offstage::engine {

// A text of which some bytes are data: they come from a message, a file or a tool, not
// from the chat template that wrote the rest. Special tokens are not recognized in data.
struct PromptText {
    std::string bytes;
    std::string data;  // one char a byte, '\1': data; shorter than `bytes`: the rest is not

    PromptText() = default;
    PromptText(std::string text) : bytes(std::move(text)) {}  // none of it is data
    PromptText(std::string_view text) : bytes(text) {}
    PromptText(const char* text) : bytes(text) {}
    static PromptText of_data(std::string text) { return PromptText(std::move(text)).as_data(); }

    std::size_t size() const { return bytes.size(); }
    bool empty() const { return bytes.empty(); }

    // Whether any of n bytes is data, and whether any is not.
    bool has_data(std::size_t begin = 0, std::size_t n = std::string::npos) const {
        return begin < data.size() && std::string_view(data).substr(begin, n).find('\1') != std::string::npos;
    }
    bool has_other(std::size_t begin, std::size_t n) const {
        return begin + n > data.size() || std::string_view(data).substr(begin, n).find('\0') != std::string::npos;
    }
    // The end of the stretch of one origin that contains the byte `begin`.
    std::size_t end_of_stretch(std::size_t begin) const {
        if (begin >= data.size()) return size();
        const std::size_t end = data.find(data[begin] == '\0' ? '\1' : '\0', begin);
        return end != std::string::npos ? end : data[begin] == '\0' ? size() : data.size();
    }

    PromptText as_data() && {
        data.assign(size(), '\1');
        return std::move(*this);
    }
    PromptText part(std::size_t begin, std::size_t n = std::string::npos) const {
        PromptText out(bytes.substr(begin, n));
        if (has_data(begin, n)) out.data = data.substr(begin, n);
        return out;
    }
    // `view`: a stretch of `bytes`.
    PromptText part(std::string_view view) const {
        return view.empty() ? PromptText() : part(static_cast<std::size_t>(view.data() - bytes.data()), view.size());
    }
    void append(const PromptText& more, std::size_t begin = 0, std::size_t n = std::string::npos) {
        if (more.has_data(begin, n)) {
            data.resize(size(), '\0');
            data.append(more.data, begin, n);
        }
        bytes.append(more.bytes, begin, n);
    }
};

}  // namespace offstage::engine
