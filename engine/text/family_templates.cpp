#include "engine/text/family_templates.h"

#include <array>

namespace offstage::engine {
namespace {

// The text around the messages, in Jinja's strings. If the system message is part of the
// user's first one, `user_open` is not written after it.
struct FamilyTemplate {
    std::string_view name;
    std::string_view begin;
    std::string_view system_open, system_close;
    std::string_view user_open, user_close;
    std::string_view assistant_open, assistant_close;
    std::string_view answer;           // the beginning of an answer follows it
    std::string_view unthinking = {};  // ... and this, where thinking is off
    std::string_view thinking = {};    // ... or this, where it is not
    bool system_opens_user = false;
    std::string_view without_system = {};  // written first if there is no system message
};

// Source: the templates that the families' publishers ship.
constexpr std::array kFamilyTemplates = {
    FamilyTemplate{"chatml", "", R"(<|im_start|>system\n)", R"(<|im_end|>\n)", R"(<|im_start|>user\n)",
                   R"(<|im_end|>\n)", R"(<|im_start|>assistant\n)", R"(<|im_end|>\n)", R"(<|im_start|>assistant\n)"},
    FamilyTemplate{"deepseek-v2", "<｜begin▁of▁sentence｜>", "", R"(\n\n)", "User: ", R"(\n\n)",
                   "Assistant: ", "<｜end▁of▁sentence｜>", "Assistant:"},
    FamilyTemplate{"deepseek-v3", "<｜begin▁of▁sentence｜>", "", "", "<｜User｜>", "", "<｜Assistant｜>",
                   "<｜end▁of▁sentence｜>", "<｜Assistant｜>"},
    FamilyTemplate{"gemma4", "<bos>", R"(<|turn>system\n)", R"(<turn|>\n)", R"(<|turn>user\n)", R"(<turn|>\n)",
                   R"(<|turn>model\n)", R"(<turn|>\n)", R"(<|turn>model\n)", R"(<|channel>thought\n<channel|>)"},
    FamilyTemplate{"glm4", "[gMASK]<sop>", R"(<|system|>\n)", "", R"(<|user|>\n)", "", R"(<|assistant|>\n)", "",
                   "<|assistant|>", R"(\n<think></think>)"},
    FamilyTemplate{"gpt-oss", "", R"(<|start|>developer<|message|># Instructions\n\n)", "<|end|>",
                   "<|start|>user<|message|>", "<|end|>", "<|start|>assistant<|channel|>final<|message|>", "<|end|>",
                   "<|start|>assistant"},
    FamilyTemplate{"granite", "", "<|start_of_role|>system<|end_of_role|>", R"(<|end_of_text|>\n)",
                   "<|start_of_role|>user<|end_of_role|>", R"(<|end_of_text|>\n)",
                   "<|start_of_role|>assistant<|end_of_role|>", R"(<|end_of_text|>\n)",
                   "<|start_of_role|>assistant<|end_of_role|>"},
    FamilyTemplate{"kimi-k2", "", "<|im_system|>system<|im_middle|>", "<|im_end|>", "<|im_user|>user<|im_middle|>",
                   "<|im_end|>", "<|im_assistant|>assistant<|im_middle|>", "<|im_end|>",
                   "<|im_assistant|>assistant<|im_middle|>"},
    FamilyTemplate{"minimax-m2", "", R"(]~!b[]~b]system\n)", R"([e~[\n)", R"(]~b]user\n)", R"([e~[\n)", R"(]~b]ai\n)",
                   R"([e~[\n)", R"(]~b]ai\n)", "", R"(<think>\n)", false,
                   R"(]~!b[]~b]system\nYou are a helpful assistant.[e~[\n)"},
    FamilyTemplate{"mixtral", "<s>", "[INST] ", R"(\n\n)", "[INST] ", " [/INST]", " ", "</s>", "", "", "", true},
    FamilyTemplate{"olmoe", "<|endoftext|>", R"(<|system|>\n)", R"(\n)", R"(<|user|>\n)", R"(\n)", R"(<|assistant|>\n)",
                   R"(<|endoftext|>\n)", R"(<|assistant|>\n)"},
    FamilyTemplate{"phi", "", R"(<|system|>\n)", R"(<|end|>\n)", R"(<|user|>\n)", R"(<|end|>\n)", R"(<|assistant|>\n)",
                   R"(<|end|>\n)", R"(<|assistant|>\n)"},
    FamilyTemplate{"qwen3", "", R"(<|im_start|>system\n)", R"(<|im_end|>\n)", R"(<|im_start|>user\n)",
                   R"(<|im_end|>\n)", R"(<|im_start|>assistant\n)", R"(<|im_end|>\n)", R"(<|im_start|>assistant\n)",
                   R"(<think>\n\n</think>\n\n)"},
};

}  // namespace

std::string family_template(std::string_view name) {
    for (const FamilyTemplate& family : kFamilyTemplates) {
        if (family.name != name) continue;
        const auto text = [](std::string_view piece) {
            return piece.empty() ? std::string() : "{{ '" + std::string(piece) + "' }}";
        };
        std::string jinja = text(family.begin);
        // Harmony's first message lists the channels, and sets the amount of thinking.
        if (name == "gpt-oss") {
            jinja +=
                "{{ '<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\\n"
                "Knowledge cutoff: 2024-06\\nCurrent date: ' + strftime_now('%Y-%m-%d') + '\\n\\nReasoning: ' + "
                "(reasoning_effort if reasoning_effort is defined else 'medium') + '\\n\\n# Valid channels: analysis, "
                "commentary, final. Channel must be included for every message.<|end|>' }}";
        }
        if (!family.without_system.empty()) {
            jinja +=
                "{% if not messages or messages[0].role != 'system' %}" + text(family.without_system) + "{% endif %}";
        }
        jinja += "{% for message in messages %}{% if message.role == 'system' %}" + text(family.system_open) +
                 "{{ message.content }}" + text(family.system_close) + "{% elif message.role == 'user' %}";
        jinja += family.system_opens_user ? "{% if loop.first or messages[loop.index0 - 1].role != 'system' %}" +
                                                text(family.user_open) + "{% endif %}"
                                          : text(family.user_open);
        jinja += "{{ message.content }}" + text(family.user_close) + "{% elif message.role == 'assistant' %}" +
                 text(family.assistant_open) + "{{ message.content }}" + text(family.assistant_close) +
                 "{% endif %}{% endfor %}{% if add_generation_prompt %}" + text(family.answer);
        if (!family.unthinking.empty()) {
            jinja +=
                "{% if enable_thinking is defined and not enable_thinking %}" + text(family.unthinking) + "{% endif %}";
        }
        return jinja + text(family.thinking) + "{% endif %}";
    }
    return {};
}

std::string family_template_names() {
    std::string names;
    for (const FamilyTemplate& family : kFamilyTemplates)
        names += (names.empty() ? "" : ", ") + std::string(family.name);
    return names;
}

}  // namespace offstage::engine
