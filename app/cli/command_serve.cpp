#include <iostream>
#include <utility>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/nodes_joined.h"
#include "engine/error.h"
#include "engine/run/run_messages.h"
#include "engine/serve/local_server.h"
#include "engine/text/family_templates.h"

namespace offstage::cli {
namespace {

engine::LocalServerSettings settings_of(const ServeOptions& options) {
    engine::LocalServerSettings settings;
    settings.listen = engine::parse_listen_address(options.listen);
    for (const std::string& origin : options.origins) settings.origins.push_back(engine::parse_origin(origin));
    settings.most_waiting = static_cast<std::size_t>(options.queue);
    if (options.token_file.empty()) {
        settings.token = engine::make_token();
    } else {
        engine::TokenFile file = engine::read_or_make_token_file(options.token_file);
        settings.token = std::move(file.token);
        if (file.made) std::cerr << "note: A token was made and written to " << options.token_file << "." << std::endl;
    }
    return settings;
}

}  // namespace

int run_serve(const ServeOptions& options) {
    const engine::LocalServerSettings settings = settings_of(options);
    engine::LocalServer server(settings);  // fails for an address in use before the model is read
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
        model = session->load(load_request(options.model), progress_on_terminal(), stop.get_token());
    } catch (const engine::Error& error) {
        if (error.kind() == engine::ErrorKind::kCancelled && stop.stop_requested()) return 0;
        throw;
    }
    if (!model.has_tokenizer) {
        throw engine::Error(engine::ErrorKind::kUnsupported,
                            engine::messages::model_cannot_answer_requests(model.name));
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

}  // namespace offstage::cli
