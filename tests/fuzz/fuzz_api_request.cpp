// Reads the body of a request to the local server, as each endpoint does.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/serve/api_error.h"
#include "engine/serve/api_request.h"

using namespace offstage::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    for (ApiRequest (*const parse)(std::string_view) : {parse_chat_request, parse_completion_request, parse_ollama_chat,
                                                        parse_ollama_generate, parse_anthropic_request}) {
        try {
            const ApiRequest request = parse(body);
            const bool may_ask_nothing = parse == parse_ollama_chat || parse == parse_ollama_generate;
            if (request.prompts.empty() && !may_ask_nothing) std::abort();
        } catch (const ApiError&) {
        }
    }
    return 0;
}
