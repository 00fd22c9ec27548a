#include "engine/message.h"

#include <array>
#include <cstdio>
#include <iterator>

#include "engine/base_messages.h"

namespace offstage::engine {

namespace {

std::string bytes_text(std::uint64_t bytes) {
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string decimal_text(Decimal number) {
    std::array<char, 400> text{};
    if (number.decimals < 0) {
        std::snprintf(text.data(), text.size(), "%g", number.value);
    } else {
        std::snprintf(text.data(), text.size(), "%.*f", number.decimals, number.value);
    }
    return text.data();
}

std::string size_text(ByteSize size) {
    std::string exact = bytes_text(size.bytes);
    std::string rounded = format_bytes(size.bytes);
    switch (size.style) {
        case ByteSize::Style::kRounded:
            return rounded;
        case ByteSize::Style::kExact:
            return exact;
        case ByteSize::Style::kBoth:
            break;
    }
    return exact == rounded ? exact : exact + " (" + rounded + ")";
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::array<const char*, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) return bytes_text(bytes);
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
    return text.data();
}

MessageArgument::MessageArgument(std::string text) : value_(std::move(text)) {}
MessageArgument::MessageArgument(std::string_view text) : value_(std::string(text)) {}
MessageArgument::MessageArgument(const char* text) : value_(std::string(text)) {}
MessageArgument::MessageArgument(Message message) : value_(std::make_shared<const Message>(std::move(message))) {}
MessageArgument::MessageArgument(const MessageCode<0>& message) : MessageArgument(Message(message)) {}
MessageArgument::MessageArgument(const MessageArgument& other) = default;
MessageArgument::MessageArgument(MessageArgument&& other) noexcept = default;
MessageArgument& MessageArgument::operator=(const MessageArgument& other) = default;
MessageArgument& MessageArgument::operator=(MessageArgument&& other) noexcept = default;
MessageArgument::~MessageArgument() = default;

Message::Message() = default;
Message::Message(const MessageCode<0>& message) : template_(&message) {}
Message::Message(const MessageTemplate& of, std::vector<MessageArgument> arguments)
    : template_(&of), arguments_(std::move(arguments)) {}
Message::Message(const MessageTemplate& of, std::span<MessageArgument> arguments)
    : template_(&of),
      arguments_(std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end())) {}
Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

bool Message::operator==(const Message& other) const {
    return template_ == other.template_ && arguments_ == other.arguments_;
}

std::string MessageArgument::english() const {
    struct Text {
        std::string operator()(const std::string& text) const { return text; }
        std::string operator()(std::int64_t count) const { return std::to_string(count); }
        std::string operator()(std::uint64_t count) const { return std::to_string(count); }
        std::string operator()(Decimal number) const { return decimal_text(number); }
        std::string operator()(ByteSize size) const { return size_text(size); }
        std::string operator()(const std::shared_ptr<const Message>& message) const { return message->english(); }
    };
    return std::visit(Text(), value_);
}

bool MessageArgument::operator==(const MessageArgument& other) const {
    const auto* const mine = std::get_if<std::shared_ptr<const Message>>(&value_);
    const auto* const others = std::get_if<std::shared_ptr<const Message>>(&other.value_);
    if (mine != nullptr && others != nullptr) return **mine == **others;
    return value_ == other.value_;
}

std::string Message::english() const {
    const std::string_view form = english_template();
    std::string text;
    for (std::size_t i = 0; i < form.size(); ++i) {
        if (form[i] == '%' && i + 1 < form.size() && form[i + 1] >= '1' && form[i + 1] <= '9') {
            text += arguments_.at(static_cast<std::size_t>(form[++i] - '1')).english();
        } else {
            text += form[i];
        }
    }
    return text;
}

std::vector<std::string> english(const std::vector<Message>& messages) {
    std::vector<std::string> texts;
    texts.reserve(messages.size());
    for (const Message& message : messages) texts.push_back(message.english());
    return texts;
}

Message joined(Message first, Message second) {
    if (first.empty()) return second;
    if (second.empty()) return first;
    return messages::two_sentences(std::move(first), std::move(second));
}

Message from_outside(std::string text) {
    return messages::words_from_outside(std::move(text));
}

}  // namespace offstage::engine
