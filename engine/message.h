#pragma once
// A message of the engine to the user, as a value: a code and its arguments. The
// catalogues (*_messages.def, one beside each subject) give every code its English
// template, in which %1 to %9 stand for the arguments. The engine itself writes English
// (logs, the command line, what() of an Error); the window translates by the code and
// writes numbers and sizes in the user's language.
//
//   throw Error(kind, messages::ram_budget_not_free(ByteSize{asked}, ByteSize{free}));

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace offstage::engine {

class Message;

// A number of bytes as an argument.
struct ByteSize {
    enum class Style {
        kRounded,  // "145.0 MiB"
        kExact,    // "152060224 bytes"
        kBoth,     // "152060224 bytes (145.0 MiB)"
    };
    std::uint64_t bytes = 0;
    Style style = Style::kRounded;  // in English; the window always rounds
    bool operator==(const ByteSize&) const = default;
};

// A number with a fraction as an argument.
struct Decimal {
    double value = 0;
    int decimals = -1;  // behind the point; -1: as many of six digits as it takes
    bool operator==(const Decimal&) const = default;
};

// "5.6 GiB"
std::string format_bytes(std::uint64_t bytes);

// A code with its English template, a constant of a catalogue. Two are equal when they
// are the same constant.
struct MessageTemplate {
    const char* code;
    const char* english;
};

template <std::size_t kArguments>
struct MessageCode;

// The value for one of a template's places. A text comes from outside (a name, a path,
// the system's or a file's words) and is never translated.
class MessageArgument {
  public:
    using Value =
        std::variant<std::string, std::int64_t, std::uint64_t, Decimal, ByteSize, std::shared_ptr<const Message>>;

    MessageArgument(std::string text);
    MessageArgument(std::string_view text);
    MessageArgument(const char* text);
    template <std::signed_integral T>
    requires(!std::same_as<T, char>) MessageArgument(T count) : value_(static_cast<std::int64_t>(count)) {}
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) MessageArgument(T count) : value_(static_cast<std::uint64_t>(count)) {}
    MessageArgument(double number) : value_(Decimal{number}) {}
    MessageArgument(Decimal number) : value_(number) {}
    MessageArgument(ByteSize size) : value_(size) {}
    MessageArgument(Message message);  // a part of a sentence, or a sentence in a sentence
    MessageArgument(const MessageCode<0>& message);
    // These and those of Message are defined in message.cpp: inline, in every line that
    // uses a message, they took 10 to 20 % of the engine's compile time.
    MessageArgument(const MessageArgument& other);
    MessageArgument(MessageArgument&& other) noexcept;
    MessageArgument& operator=(const MessageArgument& other);
    MessageArgument& operator=(MessageArgument&& other) noexcept;
    ~MessageArgument();

    const Value& value() const { return value_; }
    std::string english() const;
    bool operator==(const MessageArgument& other) const;

  private:
    Value value_;
};

// A sentence, or a part of one. Empty if there is nothing to report.
class Message {
  public:
    Message();
    Message(const MessageCode<0>& message);
    Message(const MessageTemplate& of, std::vector<MessageArgument> arguments);
    Message(const MessageTemplate& of, std::span<MessageArgument> arguments);  // which it takes
    Message(const Message& other);
    Message(Message&& other) noexcept;
    Message& operator=(const Message& other);
    Message& operator=(Message&& other) noexcept;
    ~Message();

    bool empty() const { return template_ == nullptr; }
    std::string_view code() const { return empty() ? "" : template_->code; }  // "ram_budget_not_free"
    std::string_view english_template() const { return empty() ? "" : template_->english; }
    const std::vector<MessageArgument>& arguments() const { return arguments_; }
    // With its arguments in their places; empty where the message is.
    std::string english() const;
    bool is(const MessageTemplate& code) const { return template_ == &code; }
    bool operator==(const Message& other) const;

  private:
    const MessageTemplate* template_ = nullptr;  // of a catalogue, which lives as long as the program
    std::vector<MessageArgument> arguments_;
};

// Counts the places %1, %2 ... of a template. Gaps and repetitions do not compile.
consteval std::size_t count_places(std::string_view english) {
    unsigned seen = 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i + 1 < english.size(); ++i) {
        if (english[i] != '%' || english[i + 1] < '1' || english[i + 1] > '9') continue;
        const unsigned bit = 1u << (english[i + 1] - '0');
        if ((seen & bit) != 0) throw "a place stands twice in a template";
        seen |= bit;
        ++n;
    }
    if (seen != (2u << n) - 2) throw "a template's places are not %1, %2 ... without a gap";
    return n;
}

// One code of a catalogue. A call with its arguments makes a Message; a code without
// arguments is a Message itself.
template <std::size_t kArguments>
struct MessageCode : MessageTemplate {
    template <typename... A>
    requires(sizeof...(A) == kArguments && kArguments > 0) Message operator()(A&&... arguments) const {
        MessageArgument list[] = {MessageArgument(std::forward<A>(arguments))...};
        return Message(*this, std::span<MessageArgument>(list));
    }
};

// Each in English.
std::vector<std::string> english(const std::vector<Message>& messages);

// One sentence after the other; either may be empty.
Message joined(Message first, Message second);

// A message with words from outside only: of a library, of the system.
Message from_outside(std::string text);

}  // namespace offstage::engine

// A line of a catalogue.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared has none
#define OFFSTAGE_MESSAGE(code, english) inline constexpr MessageCode<count_places(english)> code{{#code, (english)}};
// The same for texts that only the command line and files of results show: they have no
// translation.
#define OFFSTAGE_COMMAND_MESSAGE(code, english) OFFSTAGE_MESSAGE(code, english)
// The same for messages that only join their arguments: nothing is translated.
#define OFFSTAGE_FRAME(code, english) OFFSTAGE_MESSAGE(code, english)
