#include "engine/serve/tool_fields.h"

#include <string>
#include <utility>

#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostTools = 512;

void check_tool_name(const RequestJson& tool, const std::string& at) {
    const std::string name = RequestFields(tool, at).text("name");
    if (name.empty()) throw ApiError(400, "\"" + at + "name\" is missing; expected the tool's name.", "tools");
}

const RequestJson* tool_list(const RequestFields& fields) {
    const RequestJson* list = fields.find("tools");
    if (list == nullptr || (list->is_array() && list->empty())) return nullptr;
    if (!list->is_array() || list->size() > kMostTools) {
        refuse_field("tools", *list, "a list of at most " + std::to_string(kMostTools));
    }
    return list;
}

void check_parameters(const RequestJson& tool, const char* name, const std::string& at) {
    static_cast<void>(RequestFields(tool, at).object(name));
}

// A name that must be one of the tools'.
void choose_tool(ToolUse& use, const RequestJson& tools, const std::string& name, const std::string& field) {
    for (const auto& tool : tools) {
        if (tool["function"]["name"] != name) continue;
        use.required = true;
        use.only = name;
        return;
    }
    refuse_field(field, name, "the name of one of the tools");
}

// Where the APIs of OpenAI have a function and its name.
struct ToolPlaces {
    RequestObject tool, choice;
    bool is_flat;  // the tool is the function, and the choice has its name
};

// A function as chat templates take it, checked.
RequestJson function_of(const RequestJson& tool, const ToolPlaces& places, const std::string& at) {
    if (!tool.is_object()) {
        refuse_field("tools", tool,
                     std::string("objects with \"type\" and ") + (places.is_flat ? "\"name\"" : "\"function\""));
    }
    check_fields(tool, places.tool, at);
    const RequestJson& function = places.is_flat ? tool : RequestFields(tool, at).object("function");
    const std::string here = places.is_flat ? at : at + "function.";
    if (!places.is_flat) check_fields(function, RequestObject::kToolFunction, here);
    check_tool_name(function, here);
    check_parameters(function, "parameters", here);
    static_cast<void>(RequestFields(function, here).text("description"));
    static_cast<void>(RequestFields(function, here).boolean("strict", false));
    if (!places.is_flat) return function;
    RequestJson kept = RequestJson::object();
    for (const char* name : {"name", "description", "parameters", "strict"}) {
        if (const auto found = tool.find(name); found != tool.end()) kept[name] = *found;
    }
    return kept;
}

std::string name_of_choice(const RequestJson& choice, const ToolPlaces& places) {
    check_fields(choice, places.choice, "tool_choice.");
    const RequestFields named(choice, "tool_choice.");
    if (places.is_flat) return named.text("name");
    const RequestJson& function = named.object("function");
    check_fields(function, places.choice, "tool_choice.function.");
    return RequestFields(function, "tool_choice.function.").text("name");
}

ToolUse tools_of(const RequestFields& fields, const ToolPlaces& places) {
    ToolUse use;
    const RequestJson* list = tool_list(fields);
    const RequestJson* choice = fields.find("tool_choice");
    use.parallel = fields.boolean("parallel_tool_calls", true);
    const bool is_named = choice != nullptr && choice->is_object();
    if (choice != nullptr && !is_named && *choice != "none" && *choice != "auto" && *choice != "required") {
        refuse_field("tool_choice", *choice, "none, auto, required, or an object with a function's name");
    }
    if (list == nullptr) {
        if (is_named || (choice != nullptr && *choice == "required")) {
            refuse_field("tool_choice", *choice, "none or auto: there are no \"tools\"");
        }
        return use;
    }
    RequestJson tools = RequestJson::array();
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string at = "tools[" + std::to_string(i) + "].";
        tools.push_back({{"type", "function"}, {"function", function_of((*list)[i], places, at)}});
    }
    if (choice != nullptr && *choice == "none") return use;
    if (is_named) {
        choose_tool(use, tools, name_of_choice(*choice, places),
                    places.is_flat ? "tool_choice.name" : "tool_choice.function.name");
    }
    use.required = use.required || (choice != nullptr && *choice == "required");
    use.definitions = tools.dump();
    return use;
}

}  // namespace

ToolUse openai_tools(const RequestFields& fields) {
    return tools_of(fields, {RequestObject::kTool, RequestObject::kToolChoice, false});
}

ToolUse responses_tools(const RequestFields& fields) {
    return tools_of(fields, {RequestObject::kResponseTool, RequestObject::kResponseToolChoice, true});
}

ToolUse anthropic_tools(const RequestFields& fields) {
    ToolUse use;
    const RequestJson* list = tool_list(fields);
    const RequestJson& choice = fields.object("tool_choice");
    check_fields(choice, RequestObject::kAnthropicChoice, "tool_choice.");
    const RequestFields chosen(choice, "tool_choice.");
    const std::string type = chosen.text("type");
    use.parallel = !chosen.boolean("disable_parallel_tool_use", false);
    if (!choice.empty() && type != "auto" && type != "any" && type != "tool" && type != "none") {
        refuse_field("tool_choice.type", type, "auto, any, tool or none");
    }
    if (list == nullptr) {
        if (type == "any" || type == "tool")
            refuse_field("tool_choice.type", type, "auto or none: there are no \"tools\"");
        return use;
    }
    RequestJson tools = RequestJson::array();
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string at = "tools[" + std::to_string(i) + "].";
        const RequestJson& tool = (*list)[i];
        if (!tool.is_object()) refuse_field("tools", tool, "objects with \"name\" and \"input_schema\"");
        check_fields(tool, RequestObject::kAnthropicTool, at);
        check_tool_name(tool, at);
        check_parameters(tool, "input_schema", at);
        RequestJson function = {{"name", tool["name"]},
                                {"description", RequestFields(tool, at).text("description")},
                                {"parameters", tool.value("input_schema", RequestJson::object())}};
        if (RequestFields(tool, at).boolean("strict", false)) function["strict"] = true;
        tools.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    if (type == "none") return use;
    if (type == "tool") choose_tool(use, tools, chosen.text("name"), "tool_choice.name");
    use.required = use.required || type == "any";
    use.definitions = tools.dump();
    return use;
}

}  // namespace offstage::engine
