// Data sets as they are published, with the prompts of lm-eval's tasks.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/as_size.h"
#include "engine/device/device_messages.h"
#include "engine/error.h"
#include "engine/eval/choice_files.h"
#include "engine/eval/csv.h"
#include "engine/eval/eval_messages.h"
#include "engine/files/files_messages.h"
#include "engine/json.h"
#include "engine/text/template_text.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr std::array<const char*, 4> kLetters = {"A", "B", "C", "D"};

std::string line_of(const std::string& source, std::int64_t number) {
    return source + ", line " + std::to_string(number);
}

// str.strip() of Python.
std::string_view python_strip(std::string_view text) {
    while (const std::size_t n = python_space_at(text)) text.remove_prefix(n);
    return text.substr(0, text.size() - trailing_space(text));
}

std::int64_t count_characters(std::string_view utf8) {
    return std::count_if(utf8.begin(), utf8.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

Choice choice_of_text(const std::string& text) {
    return {{}, " " + text, count_characters(text)};
}

std::vector<std::uint8_t> only_right(std::size_t right, std::size_t n) {
    std::vector<std::uint8_t> is_right(n, 0);
    is_right[right] = 1;
    return is_right;
}

// A text that is there and not empty.
std::string text_of_field(const JsonFields& fields, const char* key) {
    std::string text = fields.text(key);
    if (text.empty()) fields.reject(key, messages::a_text_not_empty);
    return text;
}

struct NumberedLine {
    std::int64_t number;
    std::string_view text;
};

// The lines that are not blank.
std::vector<NumberedLine> lines_with_text(std::string_view text) {
    std::vector<NumberedLine> lines;
    for (std::int64_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({number, line});
    }
    return lines;
}

// A label as a number or as text in digits: both are found in published files.
std::optional<std::int64_t> number_of(const nlohmann::json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() != 1 || text[0] < '0' || text[0] > '9') return std::nullopt;
    return text[0] - '0';
}

// Labels of a separate file, or of the fields of the data's lines.
class Labels {
  public:
    // low: that of the first choice.
    Labels(const NamedText& file, std::size_t n_tasks, const std::string& data, std::int64_t low)
        : source_(file.source), low_(low) {
        if (source_.empty()) return;
        lines_ = lines_with_text(file.text);
        if (lines_.size() != n_tasks) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::labels_differ_from_tasks(source_, lines_.size(), data, n_tasks));
        }
    }

    // Index of the right choice of the task.
    std::size_t right(std::size_t task, const JsonFields& fields, const char* key, std::size_t n_choices) const {
        const std::int64_t high = low_ + static_cast<std::int64_t>(n_choices) - 1;
        const Message expected = messages::from_to(low_, high);
        if (source_.empty()) {
            const nlohmann::json* const value = fields.find(key);
            if (value == nullptr) {
                fields.reject(key, messages::labels_elsewhere(expected));
            }
            const std::optional<std::int64_t> label = number_of(*value);
            if (!label || *label < low_ || *label > high) {
                fields.reject(key, messages::label_of_test_split(expected));
            }
            return as_size(*label - low_);
        }
        std::string_view text = lines_[task].text;
        while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
        if (text.size() != 1 || text[0] < '0' + low_ || text[0] > '0' + high) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::label_rejected(line_of(source_, lines_[task].number), in_quotes(text), expected));
        }
        return as_size(text[0] - '0' - low_);
    }

  private:
    std::string source_;
    std::int64_t low_;
    std::vector<NumberedLine> lines_;
};

// Each line's object as a task. make(fields, index, where).
template <typename Make>
std::vector<ChoiceTask> tasks_of_lines(const NamedText& data, const Make& make) {
    std::vector<ChoiceTask> tasks;
    for (const NumberedLine& line : lines_with_text(data.text)) {
        const std::string where = line_of(data.source, line.number);
        const nlohmann::json object = parse_json(line.text, where, {.max_depth = 8, .max_values = 10'000});
        const JsonFields fields(object, where);
        ChoiceTask task = make(fields, tasks.size(), where);
        task.where = where;
        tasks.push_back(std::move(task));
    }
    return tasks;
}

std::vector<ChoiceTask> parse_piqa(const ChoiceFiles& files) {
    const Labels labels(files.labels, lines_with_text(files.data.text).size(), files.data.source, 0);
    return tasks_of_lines(files.data, [&](const JsonFields& fields, std::size_t index, const std::string&) {
        ChoiceTask task;
        task.context = "Question: " + text_of_field(fields, "goal") + "\nAnswer:";
        for (const char* key : {"sol1", "sol2"}) task.choices.push_back(choice_of_text(text_of_field(fields, key)));
        task.is_right = only_right(labels.right(index, fields, "label", 2), 2);
        return task;
    });
}

std::vector<ChoiceTask> parse_winogrande(const ChoiceFiles& files) {
    const Labels labels(files.labels, lines_with_text(files.data.text).size(), files.data.source, 1);
    return tasks_of_lines(files.data, [&](const JsonFields& fields, std::size_t index, const std::string&) {
        const std::string sentence = fields.text("sentence");
        const std::size_t blank = sentence.find('_');
        if (blank == std::string::npos) fields.reject("sentence", messages::a_sentence_with_blank);
        const std::string rest(python_strip(std::string_view(sentence).substr(blank + 1)));
        if (rest.empty()) fields.reject("sentence", messages::a_text_behind_blank);
        ChoiceTask task;
        for (const char* key : {"option1", "option2"}) {
            task.choices.push_back(choice_of_text(rest));
            task.choices.back().lead = sentence.substr(0, blank) + text_of_field(fields, key);
        }
        task.is_right = only_right(labels.right(index, fields, "answer", 2), 2);
        return task;
    });
}

// Without "[header]" and the like, which occur in WikiHow's part of HellaSwag.
std::string without_brackets(std::string_view text) {
    std::string out = jinja::replace_text(python_strip(text), " [title]", ". ", -1).bytes;
    for (std::size_t open = out.find('['); open != std::string::npos; open = out.find('[', open)) {
        const std::size_t close = out.find_first_of("]\n", open);
        if (close == std::string::npos) break;
        if (out[close] == '\n') {  // brackets do not go beyond a line
            ++open;
        } else {
            out.erase(open, close + 1 - open);
        }
    }
    return jinja::replace_text(out, "  ", " ", -1).bytes;
}

std::vector<ChoiceTask> parse_hellaswag(const ChoiceFiles& files) {
    const Labels labels(files.labels, lines_with_text(files.data.text).size(), files.data.source, 0);
    return tasks_of_lines(files.data, [&](const JsonFields& fields, std::size_t index, const std::string&) {
        ChoiceTask task;
        task.context = without_brackets(fields.text("activity_label") + ": " + fields.text("ctx_a") + " " +
                                        jinja::to_capitalized(fields.text("ctx_b", std::string())));
        const nlohmann::json* const endings = fields.find("endings");
        if (endings == nullptr || !endings->is_array() || endings->size() < 2 || endings->size() > 9) {
            fields.reject("endings", messages::a_list_of_2_to_9_texts);
        }
        for (const nlohmann::json& ending : *endings) {
            const std::string text = ending.is_string() ? without_brackets(ending.get<std::string>()) : std::string();
            if (text.empty()) fields.reject("endings", messages::a_list_of_texts_not_empty);
            task.choices.push_back(choice_of_text(text));
        }
        task.is_right = only_right(labels.right(index, fields, "label", task.choices.size()), task.choices.size());
        return task;
    });
}

// The choices of a line of ARC, as published: a list of {"text", "label"} in "question";
// or two lists, "text" and "label", in "choices".
struct ArcChoices {
    std::string question;
    std::vector<std::string> texts, labels;
};

ArcChoices arc_choices(const JsonFields& fields, const std::string& where) {
    const auto strings = [&](const JsonFields& object, const char* key) {
        const nlohmann::json* const list = object.find(key);
        if (list == nullptr || !list->is_array()) object.reject(key, messages::a_list_of_texts);
        std::vector<std::string> values;
        for (const nlohmann::json& value : *list) {
            if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
                object.reject(key, messages::a_list_of_texts_not_empty);
            }
            values.push_back(value.get<std::string>());
        }
        return values;
    };
    const nlohmann::json* const question = fields.find("question");
    if (question != nullptr && question->is_object()) {
        const JsonFields inner = fields.object("question");
        ArcChoices out{text_of_field(inner, "stem"), {}, {}};
        const nlohmann::json* const list = inner.find("choices");
        if (list == nullptr || !list->is_array()) inner.reject("choices", messages::a_list_of_labelled_texts);
        for (std::size_t i = 0; i < list->size(); ++i) {
            const JsonFields choice((*list)[i], where, "question.choices[" + std::to_string(i) + "].");
            out.texts.push_back(text_of_field(choice, "text"));
            out.labels.push_back(text_of_field(choice, "label"));
        }
        return out;
    }
    ArcChoices out{text_of_field(fields, "question"), {}, {}};
    const nlohmann::json* const choices = fields.find("choices");
    if (choices == nullptr || !choices->is_object()) {
        fields.reject("choices", messages::an_object_of_texts_and_labels);
    }
    const JsonFields lists = fields.object("choices");
    out.texts = strings(lists, "text");
    out.labels = strings(lists, "label");
    if (out.labels.size() != out.texts.size()) {
        lists.reject("label", messages::as_many_labels_as_texts(out.texts.size()));
    }
    return out;
}

std::vector<ChoiceTask> parse_arc(const ChoiceFiles& files) {
    return tasks_of_lines(files.data, [&](const JsonFields& fields, std::size_t, const std::string& where) {
        const ArcChoices choices = arc_choices(fields, where);
        if (choices.texts.size() < 2) fields.reject("choices", messages::at_least_two_choices);
        const std::string key = fields.text("answerKey");
        const auto right = std::find(choices.labels.begin(), choices.labels.end(), key);
        if (right == choices.labels.end()) fields.reject("answerKey", messages::the_label_of_a_choice);
        ChoiceTask task;
        task.context = "Question: " + choices.question + "\nAnswer:";
        for (const std::string& text : choices.texts) task.choices.push_back(choice_of_text(text));
        task.is_right = only_right(as_size(right - choices.labels.begin()), choices.texts.size());
        return task;
    });
}

// ---- MMLU

struct MmluQuestion {
    std::string where;
    std::string prompt;  // up to "Answer:"
    std::size_t right = 0;
};

std::vector<MmluQuestion> mmlu_questions(const NamedText& file) {
    std::vector<MmluQuestion> questions;
    for (const CsvRow& row : parse_csv(file.text, file.source)) {
        const std::string where = line_of(file.source, row.line);
        if (row.fields.size() != 6) {
            throw Error(ErrorKind::kInvalidModel, messages::csv_fields_not_six(where, row.fields.size()));
        }
        const std::string& answer = row.fields[5];
        const auto right = std::find(kLetters.begin(), kLetters.end(), answer);
        if (right == kLetters.end()) {
            throw Error(ErrorKind::kInvalidModel, messages::csv_answer_invalid(where, in_quotes(answer)));
        }
        MmluQuestion question{where, std::string(python_strip(row.fields[0])) + "\n",
                              as_size(right - kLetters.begin())};
        for (std::size_t i = 0; i < kLetters.size(); ++i) {
            question.prompt += std::string(kLetters[i]) + ". " + row.fields[i + 1] + "\n";
        }
        question.prompt += "Answer:";
        questions.push_back(std::move(question));
    }
    return questions;
}

std::vector<ChoiceTask> parse_mmlu(const ChoiceFiles& files) {
    std::string beginning =
        "The following are multiple choice questions (with answers) about " + files.subject + ".\n\n";
    if (!files.shots.source.empty()) {
        const std::vector<MmluQuestion> shots = mmlu_questions(files.shots);
        if (static_cast<std::int64_t>(shots.size()) < files.n_shots) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::too_few_shots(files.shots.source, shots.size(), files.n_shots));
        }
        for (std::size_t i = 0; i < as_size(files.n_shots); ++i) {
            beginning += shots[i].prompt + " " + kLetters[shots[i].right] + "\n\n";
        }
    }
    std::vector<ChoiceTask> tasks;
    for (const MmluQuestion& question : mmlu_questions(files.data)) {
        ChoiceTask task{question.where, files.subject, beginning + question.prompt, {}, {}};
        task.is_right = only_right(question.right, kLetters.size());
        for (const char* letter : kLetters) task.choices.push_back(choice_of_text(letter));
        tasks.push_back(std::move(task));
    }
    return tasks;
}

}  // namespace

std::vector<ChoiceTask> parse_lm_eval_choices(ChoiceFormat format, const ChoiceFiles& files) {
    switch (format) {
        case ChoiceFormat::kMmlu:
            return parse_mmlu(files);
        case ChoiceFormat::kPiqa:
            return parse_piqa(files);
        case ChoiceFormat::kWinogrande:
            return parse_winogrande(files);
        case ChoiceFormat::kHellaSwag:
            return parse_hellaswag(files);
        case ChoiceFormat::kArc:
            return parse_arc(files);
        default:
            return {};
    }
}

std::string mmlu_subject(std::string_view path) {
    path.remove_prefix(path.find_last_of('/') + 1);  // npos + 1 is 0
    if (path.ends_with(".csv")) path.remove_suffix(4);
    for (const std::string_view split : {"_test", "_val", "_dev"}) {
        if (path.ends_with(split)) {
            path.remove_suffix(split.size());
            break;
        }
    }
    std::string subject(path);
    std::replace(subject.begin(), subject.end(), '_', ' ');
    return subject;
}

}  // namespace offstage::engine
