#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <optional>
#include <unistd.h>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "engine/error.h"

namespace offstage::cli {
namespace {

class LineReader {
  public:
    // The next line without its end; none at the end of the input or after Ctrl+C.
    std::optional<std::string> next() {
        while (true) {
            const std::size_t end = buffer_.find('\n');
            if (end != std::string::npos) {
                std::string line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                return line;
            }
            std::array<char, 4096> chunk{};
            const ssize_t n = read(STDIN_FILENO, chunk.data(), chunk.size());
            if (n < 0 && errno == EINTR && !is_interrupted()) continue;
            if (n > 0) {
                buffer_.append(chunk.data(), static_cast<std::size_t>(n));
                continue;
            }
            if (n < 0 || buffer_.empty()) return std::nullopt;
            return std::exchange(buffer_, {});
        }
    }

  private:
    std::string buffer_;
};

class Chat {
  public:
    explicit Chat(const GenerateOptions& options) : options_(options), session_(engine::Session::create()) {}

    int run() {
        const engine::ModelSummary model = session_->load(load_request(options_.model), progress_on_terminal(), {});
        std::cout << model.name << ": " << model.n_layers << " layers x " << model.n_experts << " experts, "
                  << model.n_active << " active, on " << where(model)
                  << ".\nType a message; /new begins a new conversation, /quit or Ctrl+D ends.\n";
        print_notes(model);
        start_over();
        catch_interrupts(false);  // stops an answer, again and again; at the prompt it ends the conversation
        LineReader input;
        std::optional<std::string> line;
        if (!options_.prompt.empty()) {
            std::cout << "\n> " << options_.prompt << "\n";
            answer(options_.prompt);
        }
        while (true) {
            std::cout << "\n> " << std::flush;
            line = input.next();
            if (!line || *line == "/quit" || *line == "/exit") break;
            if (*line == "/new") {
                start_over();
                std::cout << "A new conversation.\n";
            } else if (line->find_first_not_of(" \t\r") != std::string::npos) {
                answer(*line);
            }
        }
        std::cout << std::endl;
        return 0;
    }

  private:
    static std::string where(const engine::ModelSummary& model) {
        const std::string cpu =
            "the CPU (" + model.instruction_set + ", " + std::to_string(model.n_threads) + " threads)";
        if (model.device.empty() || model.device == "cpu") return cpu;
        return model.device_name + " with " + std::to_string(model.resident_experts) + " of " +
               std::to_string(model.total_experts) + " experts, and on " + cpu;
    }

    void start_over() {
        session_->reset_conversation();
        messages_.clear();
        if (!options_.system.empty()) messages_.push_back({engine::Role::kSystem, options_.system});
    }

    // A message that cannot be answered is taken back, and the conversation goes on.
    void answer(const std::string& text) {
        engine::GenerationRequest request;
        request.messages = messages_;
        request.messages.push_back({engine::Role::kUser, text});
        request.sampler = options_.sampler;
        request.max_tokens = options_.max_tokens;
        try {
            clear_interrupt();
            std::stop_source stop;
            engine::GenerationResult result;
            {
                const InterruptWatch watch(stop);
                result = session_->generate(
                    request, [](const engine::TextDelta& delta) { std::cout << delta.text << std::flush; },
                    stop.get_token());
            }
            clear_interrupt();
            if (!result.tokens.empty()) {  // a message stopped before its answer began is forgotten
                messages_ = std::move(request.messages);
                messages_.push_back({engine::Role::kAssistant, result.text});
            }
            std::array<char, 128> figures{};
            std::snprintf(figures.data(), figures.size(), "\n  [%zu tokens, first after %.0f ms, %.1f tokens/s%s]\n",
                          result.tokens.size(), 1000 * result.ttft_s, result.decode_tokens_per_s,
                          result.finish == engine::FinishReason::kStopped ? ", stopped"
                          : result.finish == engine::FinishReason::kContextFull
                              ? ", the context is full: /new begins again"
                              : "");
            std::cout << figures.data();
            print_notes(result);
        } catch (const engine::Error& error) {
            std::cerr << "offstage-cli: " << error.what() << std::endl;
        }
    }

    const GenerateOptions& options_;
    std::unique_ptr<engine::Session> session_;
    std::vector<engine::ChatMessage> messages_;
};

}  // namespace

int run_chat(const GenerateOptions& options) {
    return Chat(options).run();
}

}  // namespace offstage::cli
