#include "engine/eval/expert_profile.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/eval/eval_messages.h"

namespace offstage::engine {
namespace {

// The bytes of text that the tokenizer gets at once: few enough for progress and memory,
// so many that the cuts do not matter.
constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

// The first piece of `text`: up to a line's end if it has one, otherwise to a character's
// end.
std::string_view next_piece(std::string_view text) {
    if (text.size() <= kPieceBytes) return text;
    const std::size_t line = text.rfind('\n', kPieceBytes);
    if (line != std::string_view::npos && line > 0) return text.substr(0, line + 1);
    std::size_t end = kPieceBytes;
    while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
    return text.substr(0, end);
}

Popularity nothing_counted(const ExpertGrid& grid) {
    Popularity counted = Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active);
    std::fill(counted.counts.begin(), counted.counts.end(), 0.0);
    counted.n_tokens = 0;
    return counted;
}

void count_sequence(StepModel& model, std::span<const TokenId> tokens, Popularity& counted,
                    const std::stop_token& stop) {
    model.restart();
    for (std::span<const TokenId> left = tokens; !left.empty();) {
        const std::size_t size = std::min(left.size(), static_cast<std::size_t>(model.max_step()));
        model.feed(left.first(size), static_cast<std::int64_t>(tokens.size()), false, stop);
        counted.add(model.routing(), static_cast<std::int64_t>(size));
        left = left.subspan(size);
    }
}

}  // namespace

Popularity count_experts(StepModel& model, const ExpertGrid& grid, const Tokenizer& tokenizer, std::string_view text,
                         const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                         const std::stop_token& stop) {
    const std::size_t invalid = find_invalid_utf8(text);
    if (invalid != std::string::npos) {
        throw Error(ErrorKind::kInvalidInput, messages::text_is_not_utf8(invalid + 1));
    }
    Popularity counted = nothing_counted(grid);
    std::size_t bytes_done = 0;
    std::int64_t n_done = 0;
    const std::vector<TokenId> prefix = tokenizer.prefix();
    const std::int64_t room = model.context() - static_cast<std::int64_t>(prefix.size());
    if (room < 1) throw Error(ErrorKind::kInvalidInput, messages::context_too_short_to_count);
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view piece = next_piece(rest);
        rest.remove_prefix(piece.size());
        const std::vector<TokenId> tokens = tokenizer.encode(piece);
        const auto n = static_cast<std::int64_t>(tokens.size());
        bytes_done += piece.size();
        const auto all = static_cast<std::int64_t>(static_cast<double>(n_done + n) * static_cast<double>(text.size()) /
                                                   static_cast<double>(bytes_done));
        for (std::int64_t begin = 0; begin < n; begin += room) {
            std::vector<TokenId> window = prefix;
            window.insert(window.end(), tokens.begin() + begin, tokens.begin() + std::min(n, begin + room));
            count_sequence(model, window, counted, stop);
            n_done += std::min(n - begin, room);
            if (progress) progress(n_done, std::max(n_done, all));
        }
    }
    if (n_done == 0) throw Error(ErrorKind::kInvalidInput, messages::text_without_token_to_count);
    return counted;
}

Popularity count_experts(StepModel& model, const ExpertGrid& grid, std::span<const std::vector<TokenId>> sequences,
                         const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                         const std::stop_token& stop) {
    Popularity counted = nothing_counted(grid);
    std::int64_t all = 0, done = 0;
    for (const std::vector<TokenId>& tokens : sequences) all += static_cast<std::int64_t>(tokens.size());
    for (const std::vector<TokenId>& tokens : sequences) {
        count_sequence(model, tokens, counted, stop);
        done += static_cast<std::int64_t>(tokens.size());
        if (progress) progress(done, all);
    }
    return counted;
}

}  // namespace offstage::engine
