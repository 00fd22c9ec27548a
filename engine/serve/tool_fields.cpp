#include "engine/serve/tool_fields.h"

#include <string>
#include <utility>

#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"

namespace offstage::engine {
namespace {

using OrderedTools = nlohmann::ordered_json;

constexpr std::size_t kMostTools = 512;

void check_tool_name(const nlohmann::json& tool, const std::string& at) {
    const std::string name = RequestFields(tool, at).text("name");
    if (name.empty()) throw ApiError(400, "\"" + at + "name\" is missing; expected the tool's name.", "tools");
}

const nlohmann::json* tool_list(const RequestFields& fields) {
    const nlohmann::json* list = fields.find("tools");
    if (list == nullptr || (list->is_array() && list->empty())) return nullptr;
    if (!list->is_array() || list->size() > kMostTools) {
        refuse_field("tools", *list, "a list of at most " + std::to_string(kMostTools));
    }
    return list;
}

void check_parameters(const nlohmann::json& tool, const char* name, const std::string& at) {
    static_cast<void>(RequestFields(tool, at).object(name));
}

// A name that must be one of the tools'.
void choose_tool(ToolUse& use, const OrderedTools& tools, const std::string& name, const std::string& field) {
    for (const auto& tool : tools) {
        if (tool["function"]["name"] != name) continue;
        use.required = true;
        use.only = name;
        return;
    }
    refuse_field(field, name, "the name of one of the tools");
}

}  // namespace

ToolUse openai_tools(const RequestFields& fields, std::string_view body) {
    ToolUse use;
    const nlohmann::json* list = tool_list(fields);
    const nlohmann::json* choice = fields.find("tool_choice");
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
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string at = "tools[" + std::to_string(i) + "].";
        const nlohmann::json& tool = (*list)[i];
        if (!tool.is_object()) refuse_field("tools", tool, "objects with \"type\" and \"function\"");
        check_fields(tool, RequestObject::kTool, at);
        const nlohmann::json& function = RequestFields(tool, at).object("function");
        check_fields(function, RequestObject::kToolFunction, at + "function.");
        check_tool_name(function, at + "function.");
        check_parameters(function, "parameters", at + "function.");
        static_cast<void>(RequestFields(function, at + "function.").text("description"));
        static_cast<void>(RequestFields(function, at + "function.").boolean("strict", false));
    }
    if (choice != nullptr && *choice == "none") return use;
    OrderedTools tools = OrderedTools::parse(body)["tools"];
    for (auto& tool : tools) tool["type"] = "function";
    if (is_named) {
        check_fields(*choice, RequestObject::kToolChoice, "tool_choice.");
        const RequestFields named(*choice, "tool_choice.");
        const nlohmann::json& function = named.object("function");
        check_fields(function, RequestObject::kToolChoice, "tool_choice.function.");
        choose_tool(use, tools, RequestFields(function, "tool_choice.function.").text("name"),
                    "tool_choice.function.name");
    }
    use.required = use.required || (choice != nullptr && *choice == "required");
    use.definitions = tools.dump();
    return use;
}

ToolUse anthropic_tools(const RequestFields& fields, std::string_view body) {
    ToolUse use;
    const nlohmann::json* list = tool_list(fields);
    const nlohmann::json& choice = fields.object("tool_choice");
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
    OrderedTools tools = OrderedTools::array();
    const OrderedTools given = OrderedTools::parse(body)["tools"];
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string at = "tools[" + std::to_string(i) + "].";
        const nlohmann::json& tool = (*list)[i];
        if (!tool.is_object()) refuse_field("tools", tool, "objects with \"name\" and \"input_schema\"");
        check_fields(tool, RequestObject::kAnthropicTool, at);
        check_tool_name(tool, at);
        check_parameters(tool, "input_schema", at);
        OrderedTools function = {{"name", given[i]["name"]},
                                 {"description", RequestFields(tool, at).text("description")},
                                 {"parameters", given[i].value("input_schema", OrderedTools::object())}};
        if (RequestFields(tool, at).boolean("strict", false)) function["strict"] = true;
        tools.push_back({{"type", "function"}, {"function", std::move(function)}});
    }
    if (type == "none") return use;
    if (type == "tool") choose_tool(use, tools, chosen.text("name"), "tool_choice.name");
    use.required = use.required || type == "any";
    use.definitions = tools.dump();
    return use;
}

void check_form_and_tools(const GenerationRequest& answer, const char* field) {
    if (answer.grammar == nullptr || !answer.tools.any()) return;
    throw ApiError(400, std::string("\"tools\" and \"") + field + "\" were given together; expected one of them.",
                   field);
}

}  // namespace offstage::engine
