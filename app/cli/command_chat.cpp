#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/generation_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/manual.h"
#include "app/cli/message_input.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/reply_printer.h"
#include "app/cli/terminal_output.h"
#include "engine/error.h"
#include "engine/json.h"
#include "engine/manual/demo_model.h"

namespace offstage::cli {
namespace {

class Chat {
  public:
    explicit Chat(GenerateOptions& options)
        : options_(options), session_(engine::Session::create()), thinking_(options.thinking) {}

    int run() {
        options_.prompt = prompt_of(options_);
        engine::LoadRequest load = load_request(options_.model);
        load.text_needs = engine::TextNeeds::kChatTemplate;
        const engine::ModelSummary model = session_->load(load, progress_on_terminal(), {});
        std::cout << model.name << ": " << model.n_layers << " layers x " << model.n_experts << " experts, "
                  << model.n_active << " active, on " << where(model)
                  << ".\nType a message; /new begins a new conversation, /quit or Ctrl+D ends.\n";
        if (engine::is_demo_model(model)) manual_.emplace(manual_answers());
        apply_defaults(model, options_);
        thinking_choices_ = model.thinking_choices;
        if (!thinking_choices_.empty()) std::cout << "/think " << choices() << " says how it thinks.\n";
        if (!thinking_.empty()) check_choice(thinking_);
        print_notes(model);
        join_session(*session_, options_.model);
        start_over();
        catch_interrupts(false);  // stops an answer, again and again; at the prompt it ends the conversation
        const auto input = open_message_input();
        if (!options_.prompt->empty()) {
            std::cout << "\n> " << *options_.prompt << "\n";
            answer(*options_.prompt);
        }
        while (true) {
            const std::optional<std::string> line = input->next();
            if (!line || *line == "/quit" || *line == "/exit") break;
            if (!is_command(*line)) {
                if (line->find_first_not_of(" \t\r\n") != std::string::npos) answer(*line);
            } else if (*line == "/new") {
                start_over();
                std::cout << "A new conversation.\n";
            } else if (*line == "/think" || line->starts_with("/think ")) {
                think(line->substr(std::min(line->find_first_not_of(' ', 6), line->size())));
            } else {
                const std::string word = line->substr(0, line->find_first_of(" \t\r"));
                std::cerr << "offstage-cli: " << engine::in_quotes(word) << " is no command here; there are /new"
                          << (thinking_choices_.empty() ? "" : ", /think") << " and /quit. A message that begins with "
                          << "a slash is sent with a blank before it." << std::endl;
            }
        }
        std::cout << std::endl;
        return 0;
    }

  private:
    // A line that begins with a slash and a word of letters; "/usr/bin" and "//" are
    // text.
    static bool is_command(std::string_view line) {
        if (!line.starts_with('/') || line.find('\n') != std::string_view::npos) return false;
        const std::string_view word = line.substr(1, line.find_first_of(" \t\r") - 1);
        return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    }

    static std::string where(const engine::ModelSummary& model) {
        const std::string cpu =
            "the CPU (" + model.instruction_set + ", " + std::to_string(model.n_threads) + " threads)";
        if (model.device.empty() || model.device == "cpu") return cpu;
        return model.device_name + " with " + std::to_string(model.resident_experts) + " of " +
               std::to_string(model.total_experts) + " experts, and on " + cpu;
    }

    std::string choices() const {
        std::string names;
        for (const std::string& name : thinking_choices_) names += (names.empty() ? "" : "|") + name;
        return names;
    }

    void check_choice(const std::string& name) const {
        if (std::find(thinking_choices_.begin(), thinking_choices_.end(), name) != thinking_choices_.end()) return;
        throw engine::Error(engine::ErrorKind::kInvalidInput,
                            thinking_choices_.empty() ? engine::messages::no_thinking_to_choose(name)
                                                      : engine::messages::no_way_of_thinking_here(name, choices()));
    }

    // "/think NAME", from the next message on; "/think" alone: the template's default.
    void think(std::string name) {
        name.erase(std::min(name.find_last_not_of(" \t\r") + 1, name.size()));
        try {
            if (!name.empty()) check_choice(name);
            thinking_ = name;
            std::cout << "Thinking: " << (name.empty() ? "as the chat template does by itself" : name) << ".\n";
        } catch (const engine::Error& error) {
            std::cerr << "offstage-cli: " << error.what() << std::endl;
        }
    }

    void start_over() {
        session_->begin_conversation();
        messages_.clear();
        if (!options_.system.empty()) messages_.push_back({engine::Role::kSystem, options_.system});
    }

    // Questions about the program are answered from the manual: the demo model knows it
    // as it was when that was trained.
    void answer(const std::string& text) {
        const auto known = manual_ ? manual_->answer_of(text) : std::nullopt;
        if (known) {
            std::cout << answer_text(*known) << std::flush;
        } else {
            generate(text);
        }
    }

    // A message that cannot be answered is removed, and the conversation continues.
    void generate(const std::string& text) {
        engine::GenerationRequest request;
        request.messages = messages_;
        request.messages.push_back({engine::Role::kUser, text});
        request.sampler = options_.sampler;
        request.max_tokens = options_.max_tokens;
        request.thinking = thinking_;
        try {
            clear_interrupt();
            std::stop_source stop;
            engine::GenerationResult result;
            {
                ReplyPrinter printer(ReplyPrinter::shown(options_.hide_thinking, ReplyPrinter::Thoughts::kLabelled));
                const InterruptWatch watch(stop);
                result = session_->generate(
                    request, [&](const engine::TextDelta& delta) { printer.print(delta); }, stop.get_token());
                printer.finish();
            }
            clear_interrupt();
            if (!result.tokens.empty()) {  // a message stopped before its answer began is forgotten
                messages_ = std::move(request.messages);
                messages_.push_back({engine::Role::kAssistant, result.text, result.thought, result.thought_is_open});
            }
            std::array<char, 192> figures{};
            const std::string of_thought =
                result.thought_tokens > 0 ? ", " + std::to_string(result.thought_tokens) + " of them thought" : "";
            std::snprintf(figures.data(), figures.size(), "\n  [%zu tokens%s, first after %.0f ms, %.1f tokens/s%s]\n",
                          result.tokens.size(), of_thought.c_str(), 1000 * result.ttft_s, result.decode_tokens_per_s,
                          result.finish == engine::FinishReason::kStopped ? ", stopped"
                          : result.finish == engine::FinishReason::kContextFull
                              ? ", the context is full: /new begins again"
                              : "");
            std::cout << figures.data();
            print_notes(result);
            print_machine_notes(*session_);
        } catch (const engine::Error& error) {
            std::cerr << "offstage-cli: " << error.what() << std::endl;
        }
    }

    GenerateOptions& options_;
    std::unique_ptr<engine::Session> session_;
    std::vector<engine::ChatMessage> messages_;
    std::optional<engine::ManualAnswers> manual_;
    std::vector<std::string> thinking_choices_;
    std::string thinking_;
};

void declare_chat(CLI::App& command, GenerateOptions& options) {
    add_model_option(command, options.model.model);
    add_prompt_options(command, options, "First message");
    add_sampler_options(command, options);
    add_node_options(command, options.model);
    add_run_options(command, options.model, true);
    add_drafts_option(command, options.model);
}

int run_chat(GenerateOptions& options) {
    return Chat(options).run();
}

}  // namespace

void add_chat(Commands& commands) {
    commands.add(
        "chat",
        "Talk in the terminal: a line is a message, and so are lines that are pasted together; Ctrl+C stops an answer. "
        "Where standard input is no terminal, each of its lines is a message (--prompt-file -: all of it is one)",
        declare_chat, run_chat);
}

}  // namespace offstage::cli
