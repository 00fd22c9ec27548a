#include "engine/text/family_templates.h"

#include <algorithm>
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

// A family's form of calls of tools and of their results, in Jinja. A call may use
// `call`, `name`, and `arguments`, which is JSON; a result `name`, and whether it is the
// `first` or the `last` of results that follow each other.
struct ToolForm {
    std::string_view family;
    std::string_view begin, call, end;  // of an assistant's message, after its text
    std::string_view result;
    // Calls, results and the answer to them are one turn of the assistant's, which is
    // opened once,
    bool one_turn = false;
    bool closed_by_calls = true;  // and closed at the calls as well.
    bool instead = false;         // The calls stand for the whole message.
};

// Source: the templates that the families' publishers ship.
constexpr std::array kToolForms = {
    ToolForm{.family = "deepseek-v3",
             .begin = "{{ '<｜tool▁calls▁begin｜>' }}",
             .call = R"({{ '\n' if not loop.first else '' }}{{ '<｜tool▁call▁begin｜>function<｜tool▁sep｜>' + name }})"
                     R"({{ '\n```json\n' }}{{ arguments }}{{ '\n```<｜tool▁call▁end｜>' }})",
             .end = "{{ '<｜tool▁calls▁end｜>' }}",
             .result =
                 R"({{ '<｜tool▁outputs▁begin｜>' if first else '\n' }}{{ '<｜tool▁output▁begin｜>' }})"
                 R"({{ message.content }}{{ '<｜tool▁output▁end｜>' }}{% if last %}{{ '<｜tool▁outputs▁end｜>' }})"
                 "{% endif %}",
             .one_turn = true},
    ToolForm{.family = "gemma4",
             .begin =
                 R"({% macro written(value) %}{% if value is string %}{{ '<|"|>' + value + '<|"|>' }})"
                 "{% elif value is boolean %}{{ 'true' if value else 'false' }}{% elif value is mapping %}{{ '{' }}"
                 "{% for k, v in value | dictsort %}{{ k }}:{{ written(v) }}{{ ',' if not loop.last else '' }}"
                 "{% endfor %}{{ '}' }}{% elif value is sequence %}[{% for v in value %}{{ written(v) }}"
                 "{{ ',' if not loop.last else '' }}{% endfor %}]{% else %}{{ value }}{% endif %}{% endmacro %}",
             .call = "{{ '<|tool_call>call:' + name }}{% if call.function.arguments is mapping %}"
                     "{{ written(call.function.arguments) }}{% else %}{{ '{' }}{{ arguments }}{{ '}' }}{% endif %}"
                     "{{ '<tool_call|>' }}",
             .end = "",
             .result = R"({{ '<|tool_response>response:' + name + '{value:<|"|>' }}{{ message.content }})"
                       R"({{ '<|"|>}<tool_response|>' }})",
             .one_turn = true,
             .closed_by_calls = false},
    ToolForm{.family = "glm4",
             .begin = "",
             .call = R"({{ '\n' if message.content or not loop.first else '' }}{{ '<tool_call>' + name + '\n' }})"
                     R"({% if call.function.arguments is mapping %}{% for k, v in call.function.arguments.items() %})"
                     R"({{ '<arg_key>' + k + '</arg_key>\n<arg_value>' }}{{ v if v is string else v | tojson }})"
                     R"({{ '</arg_value>\n' }}{% endfor %}{% else %}{{ arguments }}{% endif %}{{ '</tool_call>' }})",
             .end = "",
             .result = R"({{ '<|observation|>' if first else '' }}{{ '\n<tool_response>\n' }}{{ message.content }})"
                       R"({{ '\n</tool_response>' }})"},
    ToolForm{.family = "gpt-oss",
             .begin = "{% if message.content %}{{ '<|start|>assistant<|channel|>analysis<|message|>' }}"
                      "{{ message.content }}{{ '<|end|>' }}{% endif %}",
             .call = "{{ '<|start|>assistant to=functions.' + name + '<|channel|>commentary json<|message|>' }}"
                     "{{ arguments }}{{ '<|call|>' }}",
             .end = "",
             .result = "{{ '<|start|>functions.' + name + ' to=assistant<|channel|>commentary<|message|>' }}"
                       "{{ message.content | tojson }}{{ '<|end|>' }}",
             .instead = true},
    ToolForm{.family = "granite",
             .begin = "{{ '<|tool_call|>[' }}",
             .call = R"({{ ', ' if not loop.first else '' }}{{ '{"name": "' + name + '", "arguments": ' }})"
                     "{{ arguments }}{{ '}' }}",
             .end = "]",
             .result = R"({{ '<|start_of_role|>tool_response<|end_of_role|>' }}{{ message.content }})"
                       R"({{ '<|end_of_text|>\n' }})"},
    ToolForm{.family = "kimi-k2",
             .begin = "{{ '<|tool_calls_section_begin|>' }}",
             .call = "{{ '<|tool_call_begin|>' + call.id + '<|tool_call_argument_begin|>' }}{{ arguments }}"
                     "{{ '<|tool_call_end|>' }}",
             .end = "{{ '<|tool_calls_section_end|>' }}",
             .result = R"({{ '<|im_system|>' + (message.name or 'tool') + '<|im_middle|>## Return of ' }})"
                       R"({{ message.tool_call_id or '' }}{{ '\n' }}{{ message.content }}{{ '<|im_end|>' }})"},
    ToolForm{.family = "minimax-m2",
             .begin = R"({{ '\n<minimax:tool_call>\n' }})",
             .call = R"({{ '<invoke name="' + name + '">\n' }}{% if call.function.arguments is mapping %})"
                     R"({% for k, v in call.function.arguments.items() %}{{ '<parameter name="' + k + '">' }})"
                     R"({{ v if v is string else v | tojson }}{{ '</parameter>\n' }}{% endfor %}{% else %})"
                     R"({{ arguments + '\n' }}{% endif %}{{ '</invoke>\n' }})",
             .end = "{{ '</minimax:tool_call>' }}",
             .result = R"({{ ']~b]tool' if first else '' }}{{ '\n<response>' }}{{ message.content }})"
                       R"({{ '</response>' }}{{ '[e~[\n' if last else '' }})"},
    ToolForm{.family = "qwen3",
             .begin = "",
             .call = R"({{ '\n' if message.content or not loop.first else '' }})"
                     R"({{ '<tool_call>\n{"name": "' + name + '", "arguments": ' }}{{ arguments }})"
                     R"({{ '}\n</tool_call>' }})",
             .end = "",
             .result = R"({{ '<|im_start|>user' if first else '' }}{{ '\n<tool_response>\n' }})"
                       R"({{ message.content }}{{ '\n</tool_response>' }}{{ '<|im_end|>\n' if last else '' }})"},
};

const ToolForm* tool_form_of(std::string_view family) {
    const auto* const found =
        std::find_if(kToolForms.begin(), kToolForms.end(), [&](const ToolForm& form) { return form.family == family; });
    return found == kToolForms.end() ? nullptr : found;
}

std::string text(std::string_view piece) {
    return piece.empty() ? std::string() : "{{ '" + std::string(piece) + "' }}";
}

constexpr std::string_view kAfterResult = "(loop.previtem is defined and loop.previtem.role == 'tool')";
constexpr std::string_view kBeforeResult = "(loop.nextitem is defined and loop.nextitem.role == 'tool')";

std::string unless(std::string_view condition, const std::string& jinja) {
    return "{% if not " + std::string(condition) + " %}" + jinja + "{% endif %}";
}

// An assistant's message, and a tool's.
std::string assistant_and_tool(const FamilyTemplate& family, const ToolForm& form) {
    std::string calls(form.begin);
    calls +=
        "{% for call in message.tool_calls %}{% set name = call.function.name %}{% set arguments = "
        "call.function.arguments if call.function.arguments is string else call.function.arguments | tojson %}";
    calls += std::string(form.call) + "{% endfor %}" + std::string(form.end);
    const std::string open = text(family.assistant_open), close = text(family.assistant_close);
    std::string jinja;
    if (form.instead) {
        jinja = "{% if message.tool_calls %}" + calls + "{% else %}" + open + "{{ message.content or '' }}" + close +
                "{% endif %}";
    } else {
        jinja = form.one_turn ? unless(kAfterResult, open) : open;
        jinja += "{{ message.content or '' }}{% if message.tool_calls %}" + calls + "{% endif %}";
        jinja += form.closed_by_calls ? close : unless(kBeforeResult, close);
    }
    // A result's name is that of its call, which is one of the last message's.
    jinja +=
        "{% set tools.calls = message.tool_calls or [] %}{% elif message.role == 'tool' %}{% set tools.name = "
        "message.name or (tools.calls[-1].function.name if tools.calls else '') %}{% for call in tools.calls %}"
        "{% if call.id == message.tool_call_id %}{% set tools.name = call.function.name %}{% endif %}{% endfor %}"
        "{% set name = tools.name %}{% set first = not ";
    jinja += std::string(kAfterResult) + " %}{% set last = not " + std::string(kBeforeResult) + " %}";
    return jinja + std::string(form.result);
}

}  // namespace

std::string family_template(std::string_view name) {
    for (const FamilyTemplate& family : kFamilyTemplates) {
        if (family.name != name) continue;
        const ToolForm* const form = tool_form_of(name);
        std::string jinja = text(family.begin);
        if (form != nullptr) jinja += "{% set tools = namespace(calls=[], name='') %}";
        // Harmony's first message lists the channels, and sets the amount of thinking.
        if (name == "gpt-oss") {
            jinja +=
                "{{ '<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
                "Knowledge cutoff: 2024-06\nCurrent date: ' + strftime_now('%Y-%m-%d') + '\n\nReasoning: ' + "
                "(reasoning_effort if reasoning_effort is defined else 'medium') + '\n\n# Valid channels: analysis, "
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
        jinja += "{{ message.content }}" + text(family.user_close) + "{% elif message.role == 'assistant' %}";
        jinja += form != nullptr ? assistant_and_tool(family, *form)
                                 : text(family.assistant_open) + "{{ message.content }}" + text(family.assistant_close);
        jinja += "{% endif %}{% endfor %}{% if add_generation_prompt %}";
        jinja += form != nullptr && form->one_turn
                     ? unless("(messages and messages[-1].role == 'tool')", text(family.answer))
                     : text(family.answer);
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
