#include <iostream>
#include <utility>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_options.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/terminal_output.h"
#include "app/read_option.h"
#include "engine/error.h"
#include "engine/run/run_messages.h"
#include "engine/serve/api_server.h"
#include "engine/text/family_templates.h"

namespace offstage::cli {
namespace {

constexpr const char* kDefaultListen = "127.0.0.1:8080";

struct ServeOptions {
    ModelOptions model;
    engine::ListenAddress listen = engine::parse_listen_address(kDefaultListen);
    std::string token_file;            // empty: a token for this run only
    std::vector<std::string> origins;  // of web pages that may use the server
    std::int64_t queue = 16;           // requests that may wait
    std::int64_t parallel = 4;         // requests that are answered at a time
};

engine::ApiServerSettings settings_of(const ServeOptions& options) {
    engine::ApiServerSettings settings;
    settings.listen = options.listen;
    settings.origins = options.origins;
    settings.most_waiting = static_cast<std::size_t>(options.queue);
    // Machines make one answer at a time; between two of them they are joined again, and
    // their notes printed.
    settings.most_together = options.model.nodes.empty() ? static_cast<std::size_t>(options.parallel) : 1;
    if (options.token_file.empty()) {
        settings.token = engine::make_token();
    } else {
        engine::TokenFile file = engine::read_or_make_token_file(options.token_file);
        settings.token = std::move(file.token);
        if (file.made) std::cerr << "note: A token was made and written to " << options.token_file << "." << std::endl;
    }
    return settings;
}

void declare_serve(CLI::App& command, ServeOptions& options) {
    add_model_option(command, options.model.model);
    add_parsed(command, "--listen", options.listen, engine::parse_listen_address,
               "ADDRESS:PORT, numeric; other addresses than 127.0.0.1 and [::1] can be reached from other "
               "computers")
        ->default_str(kDefaultListen);
    command.add_option("--token-file", options.token_file,
                       "File with the token that every request must bring; made with a new one where there is none. "
                       "Unless given: a new token for each start, printed");
    add_parsed_list(command, "--allow-origin", options.origins, engine::parse_origin,
                    "Web pages of this origin, like http://localhost:3000, may use the server too; may be given more "
                    "than once. Unless given: none");
    add_checked(command, "--queue", options.queue, CLI::Range(0, 1000),
                "Requests that may wait while others are answered; further ones get 503");
    add_checked(command, "--parallel", options.parallel, CLI::Range(1, 16),
                "Requests that are answered at a time. They share the KV cache and their steps: together more tokens a "
                "second, each fewer. With --node requests are answered one after another");
    add_context_option(command, options.model, kModelContext);
    add_template_option(command, options.model.chat_template);
    add_run_options(command, options.model, true);
    add_drafts_option(command, options.model);
    add_node_options(command, options.model);
}

int run_serve(const ServeOptions& options) {
    const engine::ApiServerSettings settings = settings_of(options);
    engine::ApiServer server(settings);  // fails for an address in use before the model is read
    if (!settings.listen.is_loopback()) {
        std::cerr << "note: " << server.address().text()
                  << " can be reached from other computers. What is asked and answered, and the token, pass the "
                     "network as plain text."
                  << std::endl;
    }
    std::stop_source stop;
    const InterruptWatch watch(stop);
    catch_interrupts(true);
    catch_terminations();
    server.start();

    const auto session = engine::Session::create();
    engine::ModelSummary model;
    try {
        engine::LoadRequest load = load_request(options.model);
        load.text_needs = engine::TextNeeds::kTokenizer;
        model = session->load(load, progress_on_terminal(), stop.get_token());
    } catch (const engine::Error& error) {
        if (error.kind() == engine::ErrorKind::kCancelled && stop.stop_requested()) return 0;
        throw;
    }
    if (!model.has_chat_template) {
        std::cerr << "note: "
                  << engine::messages::model_without_template(model.name, engine::family_template_names()).english()
                  << std::endl;
    }
    print_notes(model);
    join_session(*session, options.model);
    server.set_model(model);
    std::cout << model.name << " answers at " << server.base_url() << "\n"
              << (options.token_file.empty() ? "Token, of this start alone: " + settings.token
                                             : "Token: the one in " + options.token_file)
              << "\nCtrl+C ends." << std::endl;

    while (server.queue().wait(stop.get_token())) {
        server.queue().run_next(*session, stop.get_token());
        print_machine_notes(*session);
    }
    server.stop();
    return 0;
}

}  // namespace

void add_serve(Commands& commands) {
    commands.add("serve",
                 "Answer other programs of this computer over HTTP, as OpenAI, Anthropic or Ollama would, until Ctrl+C",
                 declare_serve, run_serve);
}

}  // namespace offstage::cli
