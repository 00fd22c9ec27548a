// Parses and renders a template from an untrusted file. The first byte chooses the
// conversation.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/error.h"
#include "engine/text/chat_template.h"

using namespace offstage::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::vector<ChatMessage> messages;
    if ((data[0] & 1) != 0) messages.push_back({Role::kSystem, "Be brief."});
    if ((data[0] & 2) != 0) {
        messages.push_back({Role::kUser, " Wer wartet? \xE6\xBC\x94\xE5\x91\x98\n"});
        messages.push_back({Role::kAssistant, "<think>a</think>\n1, 2"});
    }
    if ((data[0] & 4) != 0) messages.push_back({Role::kUser, ""});
    const std::string_view jinja(reinterpret_cast<const char*>(data), size);
    try {
        ChatTemplate::parse(jinja, "fuzz")->render(messages, {"<s>", "</s>"}, (data[0] & 8) != 0);
    } catch (const Error&) {
    }
    return 0;
}
