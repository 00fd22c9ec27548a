// Splits an arbitrary reply into thought and answer. The first byte chooses the format
// and where the reply begins; a byte of 0xF8 to 0xFC in the rest is a special token, all
// else text. The result is the same for text byte by byte and for text up to the next
// special token.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "engine/text/thought_splitter.h"

using namespace offstage::engine;

namespace {

constexpr std::uint8_t kFirstSpecial = 0xF8;
const std::string kTexts[] = {"<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"};

ThinkingFormat format_of(std::uint8_t choice) {
    ThinkingFormat format;
    switch (choice % 4) {
        case 1:
            format.kind = ThinkingFormat::Kind::kTags;
            format.open = {"<think>"};
            format.close = {"</think>"};
            break;
        case 2:
            format.kind = ThinkingFormat::Kind::kTags;
            format.open = {kTexts[1], kFirstSpecial + 1};
            format.close = {kTexts[3], kFirstSpecial + 3};
            format.channel = "thought";
            break;
        case 3:
            format.kind = ThinkingFormat::Kind::kHarmony;
            format.start = {kTexts[0], kFirstSpecial};
            format.open = {kTexts[1], kFirstSpecial + 1};
            format.message = {kTexts[2], kFirstSpecial + 2};
            format.close = {kTexts[3], kFirstSpecial + 3};
            break;
        default:
            break;
    }
    return format;
}

ThoughtSplitter split(const ThinkingFormat& format, std::span<const std::uint8_t> reply, bool in_thought,
                      bool byte_by_byte) {
    ThoughtSplitter splitter(format, in_thought);
    std::string thought, answer, text;
    const auto take = [&](const ThoughtSplitter::Piece& piece) {
        thought += piece.thought;
        answer += piece.answer;
    };
    const auto flush = [&] {
        if (!text.empty()) take(splitter.push(1, text));
        text.clear();
    };
    for (const std::uint8_t byte : reply) {
        const bool special = byte >= kFirstSpecial && byte < kFirstSpecial + std::size(kTexts);
        if (special || byte_by_byte) flush();
        if (special) {
            take(splitter.push(byte, kTexts[byte - kFirstSpecial]));
        } else {
            text += static_cast<char>(byte);
        }
    }
    flush();
    if (thought != splitter.thought() || answer != splitter.answer()) std::abort();
    splitter.finish();
    // The shown text is the reply's text: no more of it, except replacement characters
    // for invalid bytes.
    std::size_t most = 0;
    for (const std::uint8_t byte : reply) {
        most +=
            byte >= kFirstSpecial && byte < kFirstSpecial + std::size(kTexts) ? kTexts[byte - kFirstSpecial].size() : 3;
    }
    if (splitter.thought().size() + splitter.answer().size() > most) std::abort();
    return splitter;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const ThinkingFormat format = format_of(data[0]);
    const bool in_thought = format.any() && (data[0] & 4) != 0;
    const std::span<const std::uint8_t> reply(data + 1, size - 1);
    const ThoughtSplitter at_once = split(format, reply, in_thought, false);
    const ThoughtSplitter by_bytes = split(format, reply, in_thought, true);
    if (at_once.thought() != by_bytes.thought() || at_once.answer() != by_bytes.answer()) std::abort();
    return 0;
}
