#pragma once
// The guarantees of the readers of evaluation files, checked on any input: either an
// engine::Error that names the file, or tasks and logits that keep their contract. The
// first byte chooses the reader; the byte 0x1e separates a file from that of its labels
// or solved questions. Returns the first broken guarantee, or "". Shared by the fuzz
// target and by the test that reads the stored inputs.

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "engine/error.h"
#include "engine/eval/choice_files.h"
#include "engine/eval/logit_file.h"

namespace offstage::tests {

constexpr const char* kEvaluationSource = "input";

inline std::string check_evaluation_error(const engine::Error& error) {
    if (!std::string_view(error.what()).starts_with(kEvaluationSource)) return "a message that does not name the file";
    if (error.kind() != engine::ErrorKind::kInvalidModel) return "an error of another kind than kInvalidModel";
    return {};
}

inline std::string check_choices(engine::ChoiceFormat format, std::string_view text) {
    const std::size_t parted = text.find('\x1e');
    engine::ChoiceFiles files{{text.substr(0, parted), kEvaluationSource}, {}, {}, 1, "subject"};
    if (parted != std::string_view::npos) {
        const engine::NamedText second{text.substr(parted + 1), std::string(kEvaluationSource) + "-2"};
        (format == engine::ChoiceFormat::kMmlu ? files.shots : files.labels) = second;
    }
    std::vector<engine::ChoiceTask> tasks;
    try {
        tasks = engine::parse_choices(format, files);
    } catch (const engine::Error& error) {
        return check_evaluation_error(error);
    }
    if (tasks.empty()) return "no task and no error";
    for (const engine::ChoiceTask& task : tasks) {
        if (!std::string_view(task.where).starts_with(kEvaluationSource)) return "a task that does not name the file";
        if (task.choices.size() < 2 || task.is_right.size() != task.choices.size()) return "choices of another shape";
        bool any = false;
        for (const std::uint8_t right : task.is_right) any = any || right == 1;
        if (!any) return "a task without a right choice";
        const engine::ChoiceRule rule = engine::choice_format_row(format).rule;
        for (const engine::Choice& choice : task.choices) {
            if (task.context.empty() && choice.lead.empty() && choice.continuation.empty()) return "an empty text";
            if (rule == engine::ChoiceRule::kSumAndPerCharacter && choice.n_characters < 1)
                return "a choice of nothing";
        }
    }
    for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}}) {
        for (const std::size_t task : engine::choose_tasks(format, tasks.size(), limit)) {
            if (task >= tasks.size()) return "a task that is not there";
        }
    }
    return {};
}

inline std::string check_logit_file(std::string_view bytes) {
    try {
        const engine::LogitFile file(std::as_bytes(std::span(bytes)), kEvaluationSource);
        const engine::LogitFileHeader& header = file.header();
        if (header.n_chunks() < 1 || header.tokens.size() % static_cast<std::size_t>(header.n_context) != 0) {
            return "a shape out of range";
        }
        for (std::int64_t chunk = 0; chunk < header.n_chunks(); ++chunk) {
            const std::vector<std::uint16_t> words = file.rows(chunk);
            for (std::size_t at = 0; at < words.size(); at += header.row_words()) {
                const engine::LogitRow row =
                    engine::decode_logit_row(std::span(words).subspan(at, header.row_words()), header.vocab_size);
                if (row.codes.size() != static_cast<std::size_t>(header.vocab_size)) return "codes of another shape";
                if (std::isnan(row.log_probability(row.codes.size() - 1))) return "a log probability that is none";
            }
        }
    } catch (const engine::Error& error) {
        return check_evaluation_error(error);
    }
    return {};
}

inline std::string check_evaluation_file(std::string_view input) {
    if (input.empty()) return {};
    const std::size_t n_formats = engine::choice_formats().size();
    const std::size_t reader = static_cast<unsigned char>(input.front()) % (n_formats + 1);
    input.remove_prefix(1);
    if (reader == n_formats) return check_logit_file(input);
    return check_choices(engine::choice_formats()[reader].format, input);
}

}  // namespace offstage::tests
