#include <iostream>

#include "app/cli/commands.h"

namespace offstage::cli {

int run_generate(const GenerateOptions& options) {
    const auto session = engine::Session::create();
    session->load(load_request(options.model), progress_on_terminal(), {});

    engine::GenerationRequest request;
    request.raw = options.raw;
    request.raw_prompt = options.prompt;
    if (!options.system.empty()) request.messages.push_back({engine::Role::kSystem, options.system});
    request.messages.push_back({engine::Role::kUser, options.prompt});
    request.sampler = options.sampler;
    request.max_tokens = options.max_tokens;

    engine::TextDeltaFn stream;
    if (!options.model.json) stream = [](const engine::TextDelta& delta) { std::cout << delta.text << std::flush; };
    const engine::GenerationResult result = session->generate(request, stream, {});
    if (options.model.json) {
        print_json({{"text", result.text},
                    {"tokens", result.tokens},
                    {"prompt_tokens", result.prompt_tokens},
                    {"ttft_s", result.ttft_s},
                    {"decode_tokens_per_s", result.decode_tokens_per_s},
                    {"finish", std::string(engine::name_of(result.finish))},
                    {"seed", result.seed}});
    } else {
        std::cout << std::endl;
    }
    return 0;
}

}  // namespace offstage::cli
