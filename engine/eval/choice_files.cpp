#include "engine/eval/choice_files.h"

#include "engine/error.h"

namespace offstage::engine {

std::vector<ChoiceTask> parse_choices(ChoiceFormat format, const ChoiceFiles& files) {
    const bool is_llama = format == ChoiceFormat::kLlamaHellaSwag || format == ChoiceFormat::kLlamaWinogrande ||
                          format == ChoiceFormat::kLlamaChoices;
    std::vector<ChoiceTask> tasks =
        is_llama ? parse_llama_choices(format, files.data) : parse_lm_eval_choices(format, files);
    if (tasks.empty()) {
        throw Error(ErrorKind::kInvalidModel,
                    files.data.source + " holds no task; expected at least one in the format " +
                        choice_format_row(format).name + ": " + choice_format_row(format).file + ".");
    }
    return tasks;
}

}  // namespace offstage::engine
