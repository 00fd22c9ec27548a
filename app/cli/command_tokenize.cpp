#include <algorithm>
#include <filesystem>
#include <iostream>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/model/model_files.h"
#include "engine/run/model_defaults.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "engine/run/template_choice.h"
#include "engine/text/family_templates.h"
#include "engine/text/json_part.h"
#include "engine/text/tokenizer.h"

namespace offstage::cli {
namespace {

struct TokenizeOptions {
    std::string model;
    std::optional<std::string> text;  // none: standard input
    std::string chat_template;        // as ModelOptions::chat_template
    std::vector<std::string> chat;    // "ROLE:TEXT" each, or "-"; empty: plain text
    bool special = false;
    bool no_answer = false;
    bool json = false;
};

// A folder with only a tokenizer has no vocab_size as a limit for ids.
constexpr std::int64_t kAnyVocabulary = 1 << 22;

engine::ChatMessage message(const std::string& role, std::string content) {
    for (const engine::Role known : {engine::Role::kSystem, engine::Role::kUser, engine::Role::kAssistant}) {
        if (role == name_of(known)) return {known, std::move(content)};
    }
    throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::no_such_role(role));
}

// A text, or a list of parts with texts, as the server takes it.
std::string content_of(const engine::JsonPart& content) {
    const auto text_of = [](const engine::JsonPart& text) {
        if (!text.value().is_string()) text.bad(engine::messages::text_or_parts);
        return text.value().get<std::string>();
    };
    if (!content.value().is_array()) return text_of(content);
    std::string text;
    for (const engine::JsonPart& part : content.items()) {
        if (part.text("type", "") != "text") part.bad(engine::messages::text_or_parts);
        text += text_of(part.at("text"));
    }
    return text;
}

// "user:Hello" each, or "-": [{"role": ..., "content": ...}, ...] on standard input.
std::vector<engine::ChatMessage> read_turns(const std::vector<std::string>& turns) {
    std::vector<engine::ChatMessage> messages;
    if (turns.size() != 1 || turns[0] != "-") {
        for (const std::string& turn : turns) {
            const std::size_t colon = std::min(turn.find(':'), turn.size());
            messages.push_back(message(turn.substr(0, colon), turn.substr(std::min(colon + 1, turn.size()))));
        }
        return messages;
    }
    const nlohmann::json list = nlohmann::json::parse(read_standard_input(), nullptr, false);
    if (list.is_discarded()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::conversation_no_json);
    }
    for (const engine::JsonPart& turn : engine::JsonPart(list, "standard input").items()) {
        messages.push_back(message(turn.text("role"), content_of(turn.at("content"))));
    }
    return messages;
}

void declare_tokenize(CLI::App& command, TokenizeOptions& options) {
    command.add_option("--model", options.model, "Folder with a tokenizer")->required();
    CLI::Option* chat_turns = command.add_option(
        "--chat", options.chat,
        "Turns as ROLE:TEXT (system, user, assistant), rendered with the chat template; -: a list of {\"role\", "
        "\"content\"} in JSON on standard input");
    add_template_option(command, options.chat_template);
    command.add_option("--text", options.text, "The text; standard input unless given")->excludes(chat_turns);
    command.add_flag("--special", options.special, "Special tokens written in the text are taken as such")
        ->excludes(chat_turns);
    command.add_flag("--no-answer", options.no_answer, "Without the beginning of the answer after the last turn")
        ->needs(chat_turns);
    add_json_option(command, options.json);
}

int run_tokenize(const TokenizeOptions& options) {
    const std::filesystem::path directory = engine::model_path(options.model);
    const std::int64_t vocab_size = std::filesystem::exists(directory / "config.json")
                                        ? engine::read_model_spec(directory).vocab_size
                                        : kAnyVocabulary;
    const auto tokenizer = engine::Tokenizer::open(directory, vocab_size);
    std::string text = options.text ? *options.text : std::string();
    std::vector<engine::TokenId> tokens;
    if (!options.chat.empty()) {
        const auto chat_template = engine::choose_chat_template(options.model, options.chat_template, *tokenizer).chat;
        if (chat_template == nullptr) {
            throw engine::Error(engine::ErrorKind::kUnsupported,
                                engine::messages::model_without_template(engine::shown_path(directory),
                                                                         engine::family_template_names()));
        }
        const auto piece = [&](engine::TokenId id) { return id >= 0 ? tokenizer->piece_name(id) : std::string(); };
        const engine::PromptText prompt =
            chat_template->render(engine::read_model_defaults(options.model).with_system(read_turns(options.chat)),
                                  {piece(tokenizer->bos()), piece(tokenizer->eos())}, !options.no_answer);
        tokens = tokenizer->encode_prompt(prompt, chat_template.get());
        text = prompt.bytes;
    } else {
        if (!options.text) text = read_standard_input();
        tokens = options.special ? tokenizer->encode_with_special(text) : tokenizer->encode(text);
    }

    auto list = nlohmann::ordered_json::array();
    for (const engine::TokenId id : tokens) {
        list.push_back({{"id", id}, {"piece", tokenizer->piece_name(id)}, {"special", tokenizer->is_control(id)}});
    }
    if (options.json) {
        print_json({{"text", text}, {"n_tokens", tokens.size()}, {"tokens", list}});
        return 0;
    }
    if (!options.chat.empty()) std::cout << text << "\n\n";
    for (const auto& token : list) {  // a piece as JSON writes it: line ends and quotes can be seen
        std::cout << token["id"] << "\t"
                  << token["piece"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << (token["special"] == true ? "\tspecial" : "") << "\n";
    }
    std::cout << tokens.size() << " tokens" << std::endl;
    return 0;
}

}  // namespace

void add_tokenize(Commands& commands) {
    commands.add("tokenize", "Ids and pieces of a text or of a rendered conversation", declare_tokenize, run_tokenize);
}

}  // namespace offstage::cli
