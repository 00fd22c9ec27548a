#include "engine/eval/choice_files.h"

#include "engine/error.h"
#include "engine/eval/eval_messages.h"

namespace offstage::engine {

std::vector<ChoiceTask> parse_choices(ChoiceFormat format, const ChoiceFiles& files) {
    const bool is_llama = format == ChoiceFormat::kLlamaHellaSwag || format == ChoiceFormat::kLlamaWinogrande ||
                          format == ChoiceFormat::kLlamaChoices;
    std::vector<ChoiceTask> tasks =
        is_llama ? parse_llama_choices(format, files.data) : parse_lm_eval_choices(format, files);
    if (tasks.empty()) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::file_without_task(files.data.source, choice_format_row(format).name,
                                                choice_format_row(format).file));
    }
    return tasks;
}

}  // namespace offstage::engine
