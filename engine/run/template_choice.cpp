#include "engine/run/template_choice.h"

#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/model/model_finder.h"
#include "engine/run/run_messages.h"
#include "engine/text/family_templates.h"
#include "engine/text/go_template.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxGivenTemplateBytes = 1u << 20;

std::unique_ptr<ChatTemplate> parse_either(const std::string& text, const std::string& source,
                                           const Tokenizer& tokenizer) {
    if (!is_go_template(text)) return ChatTemplate::parse(text, source);
    const bool begins = tokenizer.adds_bos() && tokenizer.bos() >= 0;
    const std::string bos = begins ? tokenizer.piece_name(tokenizer.bos()) : std::string();
    return ChatTemplate::parse(jinja_of_go_template(text, source, bos), source);
}

}  // namespace

TemplateChoice choose_chat_template(const std::filesystem::path& model, const std::string& chosen,
                                    const Tokenizer& tokenizer) {
    if (!chosen.empty()) {
        if (const std::string jinja = family_template(chosen); !jinja.empty()) {
            return {ChatTemplate::parse(jinja, chosen), {}};
        }
        const auto text = read_small_file(chosen, kMaxGivenTemplateBytes);
        if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_chat_template(chosen, family_template_names()));
        return {parse_either(*text, chosen, tokenizer), {}};
    }
    if (auto own = ChatTemplate::read(model)) return {std::move(own), {}};
    const auto manifest = ollama_manifest_of(std::filesystem::absolute(model));
    if (!manifest || manifest->chat_template.empty()) return {};
    const auto text = read_small_file(manifest->chat_template, kMaxGivenTemplateBytes);
    if (!text) return {};
    return {parse_either(*text, shown_path(manifest->chat_template), tokenizer),
            messages::template_of_ollama(manifest->name)};
}

}  // namespace offstage::engine
