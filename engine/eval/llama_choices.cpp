// The task files of llama.cpp's perplexity tool.

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/error.h"
#include "engine/eval/choice_files.h"
#include "engine/eval/eval_messages.h"
#include "engine/json.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

[[noreturn]] void refuse(const std::string& where, Message found_and_expected) {
    throw Error(ErrorKind::kInvalidModel, messages::choices_rejected(where, std::move(found_and_expected)));
}

void require_utf8(const NamedText& file) {
    const std::size_t invalid = find_invalid_utf8(file.text);
    if (invalid != std::string_view::npos) {
        refuse(file.source, messages::choices_not_utf8(invalid + 1));
    }
}

// Without their ends; empty ones at the end of the text are left out.
std::vector<std::string_view> lines_of_text(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

std::vector<ChoiceTask> parse_six_lines(const NamedText& data) {
    require_utf8(data);
    constexpr std::size_t kLines = 6;
    const std::vector<std::string_view> lines = lines_of_text(data.text);
    if (lines.size() % kLines != 0) {
        refuse(data.source, messages::choices_lines_not_six(lines.size()));
    }
    std::vector<ChoiceTask> tasks;
    for (std::size_t first = 0; first < lines.size(); first += kLines) {
        const auto where = [&](std::size_t line) { return data.source + ", line " + std::to_string(first + line + 1); };
        ChoiceTask task{where(0), {}, std::string(lines[first]), {}, std::vector<std::uint8_t>(4, 0)};
        const std::string_view label = lines[first + 1];
        if (label.size() != 1 || label[0] < '0' || label[0] > '3') {
            refuse(where(1), messages::choices_label_invalid(in_quotes(label)));
        }
        task.is_right[static_cast<std::size_t>(label[0] - '0')] = 1;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::string_view ending = lines[first + 2 + i];
            if (ending.empty()) refuse(where(2 + i), messages::choices_ending_empty);
            task.choices.push_back({{}, std::string(" ").append(ending)});
        }
        tasks.push_back(std::move(task));
    }
    return tasks;
}

std::vector<ChoiceTask> parse_winogrande_csv(const NamedText& data) {
    require_utf8(data);
    std::vector<ChoiceTask> tasks;
    const std::vector<std::string_view> lines = lines_of_text(data.text);
    for (std::size_t number = 0; number < lines.size(); ++number) {
        const std::string where = data.source + ", line " + std::to_string(number + 1);
        const std::string_view line = lines[number];
        // Only commas outside double quotes separate; the fifth field is the rest.
        std::vector<std::string_view> fields;
        bool quoted = false;
        std::size_t begin = 0;
        for (std::size_t i = 0; i < line.size() && fields.size() < 4; ++i) {
            if (line[i] == '"') quoted = !quoted;
            if (line[i] != ',' || quoted) continue;
            fields.push_back(line.substr(begin, i - begin));
            begin = i + 1;
        }
        fields.push_back(line.substr(begin));
        if (fields.size() != 5) {
            refuse(where, messages::choices_fields_not_five(fields.size()));
        }
        std::string_view sentence = fields[1];
        if (sentence.size() >= 2 && sentence.front() == '"') sentence = sentence.substr(1, sentence.size() - 2);
        const std::size_t blank = sentence.find('_');
        if (blank == std::string_view::npos) {
            refuse(where, messages::choices_sentence_without_blank(in_quotes(sentence)));
        }
        const std::string_view answer = fields[4];
        if (answer != "1" && answer != "2") {
            refuse(where, messages::choices_answer_invalid(in_quotes(answer)));
        }
        ChoiceTask task{where, {}, {}, {}, {}};
        for (const std::string_view choice : {fields[2], fields[3]}) {
            if (choice.empty()) refuse(where, messages::choices_choice_empty);
            task.choices.push_back({std::string(sentence.substr(0, blank)) + std::string(choice),
                                    std::string(sentence.substr(blank + 1))});
        }
        task.is_right = {static_cast<std::uint8_t>(answer == "1"), static_cast<std::uint8_t>(answer == "2")};
        tasks.push_back(std::move(task));
    }
    return tasks;
}

// Reads the binary format from its beginning on; `where` names the place in messages.
class ChoiceBytes {
  public:
    ChoiceBytes(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}
    void set_where(const std::string& where) { where_ = where; }

    std::uint32_t number(const char* what) {
        require(sizeof(std::uint32_t), what);
        std::uint32_t value = 0;
        std::memcpy(&value, bytes_.data() + at_, sizeof(value));
        at_ += sizeof(value);
        return value;
    }
    std::string text(const char* what) {
        const std::uint32_t n = number(what);
        require(n, what);
        const std::string_view text = bytes_.substr(at_, n);
        if (find_invalid_utf8(text) != std::string_view::npos) {
            refuse(where_, messages::choices_text_not_utf8(what));
        }
        at_ += n;
        return std::string(text);
    }

  private:
    void require(std::size_t n, const char* what) const {
        if (n <= bytes_.size() - at_) return;
        refuse(where_, messages::choices_cut_short(what, n, at_, bytes_.size()));
    }

    std::string_view bytes_;
    std::size_t at_ = 0;
    std::string where_;
};

struct BinaryAnswers {
    std::vector<std::string> texts;
    std::vector<std::uint8_t> is_right;
};

BinaryAnswers read_answers(ChoiceBytes& bytes, const std::string& where) {
    constexpr std::uint32_t kMostAnswers = 100;  // llama.cpp's limit as well
    const std::uint32_t n = bytes.number("number of answers");
    if (n > kMostAnswers) refuse(where, messages::choices_too_many_answers(n));
    BinaryAnswers answers;
    for (std::uint32_t i = 0; i < n; ++i) answers.texts.push_back(bytes.text("answer"));
    for (std::uint32_t i = 0; i < n; ++i) answers.is_right.push_back(bytes.number("label") == 1 ? 1 : 0);
    return answers;
}

std::vector<ChoiceTask> parse_binary_choices(const NamedText& data) {
    ChoiceBytes bytes(data.text, data.source);
    const std::uint32_t n = bytes.number("number of tasks");
    if (n > data.text.size() / sizeof(std::uint32_t)) {
        refuse(data.source, messages::choices_too_many_tasks(n, data.text.size()));
    }
    for (std::uint32_t i = 0; i < n; ++i) bytes.number("place of a task");
    std::vector<ChoiceTask> tasks;
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::string where = data.source + ", task " + std::to_string(i + 1);
        bytes.set_where(where);
        ChoiceTask task{where, {}, bytes.text("question"), {}, {}};
        BinaryAnswers answers = read_answers(bytes, where);
        read_answers(bytes, where);  // those with several right ones
        if (task.context.empty()) refuse(where, messages::choices_question_empty);
        if (answers.texts.size() < 2) refuse(where, messages::choices_too_few_answers);
        if (std::find(answers.is_right.begin(), answers.is_right.end(), 1) == answers.is_right.end()) {
            refuse(where, messages::choices_none_right);
        }
        for (const std::string& answer : answers.texts) {
            if (answer.empty()) refuse(where, messages::choices_answer_empty);
            task.choices.push_back({{}, std::string(" ").append(answer)});
        }
        task.is_right = std::move(answers.is_right);
        tasks.push_back(std::move(task));
    }
    return tasks;
}

}  // namespace

std::vector<ChoiceTask> parse_llama_choices(ChoiceFormat format, const NamedText& data) {
    switch (format) {
        case ChoiceFormat::kLlamaHellaSwag:
            return parse_six_lines(data);
        case ChoiceFormat::kLlamaWinogrande:
            return parse_winogrande_csv(data);
        case ChoiceFormat::kLlamaChoices:
            return parse_binary_choices(data);
        default:
            return {};
    }
}

}  // namespace offstage::engine
