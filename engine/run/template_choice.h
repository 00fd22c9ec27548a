#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/message.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {

struct TemplateChoice {
    std::unique_ptr<ChatTemplate> chat;  // nullptr: the model has none, and none was chosen
    Message note;                        // its source, if not the model's own files
    Message problem;                     // of try_chat_template()
};

// The chat template of a model, as the user named it or its model_path(): the user's
// choice, a family's by its name (family_template_names()) or a file's, in Jinja or in
// Ollama's language; else the model's own; else, for one of Ollama's blobs, its
// manifest's. That of a manifest comes before the model's own if several names of the
// same blob differ in it. Throws Error: kNotFound (no such family and file), and as
// ChatTemplate::parse() and jinja_of_go_template() do.
TemplateChoice choose_chat_template(const std::filesystem::path& model, const std::string& chosen,
                                    const Tokenizer& tokenizer);
// The same without an Error. `problem`: what it would be, or what the prompt of one
// user's message fails with; empty: none.
TemplateChoice try_chat_template(const std::filesystem::path& model, const std::string& chosen,
                                 const Tokenizer& tokenizer);

}  // namespace offstage::engine
