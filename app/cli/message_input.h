#pragma once

#include <memory>
#include <optional>
#include <string>

namespace offstage::cli {

// The user's messages, typed or from another program.
class MessageInput {
  public:
    virtual ~MessageInput() = default;
    // Writes the prompt and waits. Nothing at the end of the input, and after Ctrl+C.
    virtual std::optional<std::string> next() = 0;
};

// Messages from standard input: each line is a message. On a terminal lines are edited,
// with earlier ones in a history, and lines that are pasted together are one message.
// There the terminal stays in a mode without echo and without a limit for a line's length
// between the messages too, for typing ahead; one object at a time, on the main thread,
// after catch_interrupts().
std::unique_ptr<MessageInput> open_message_input();

}  // namespace offstage::cli
