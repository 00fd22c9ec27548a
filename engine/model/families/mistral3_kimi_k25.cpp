// Language models of DeepSeek's kind beside a tower for images, which is left out:
// Kimi-K2.5 and later (transformers: models/kimi_k25), and Mistral Small 4 as it is
// published (models/mistral3). text_config says which it is.

#include "engine/base_messages.h"
#include "engine/model/families/family.h"

namespace offstage::engine {
namespace {

void read_kimi_k25(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, kDeepseekV3.read);
}

void read_mistral3(const ConfigFields& config, ModelSpec& spec) {
    const char* const key = "text_config";
    if (!config.has_value(key)) config.reject(key, messages::an_object);
    const std::string type = config.object(key).text("model_type", "mistral");
    if (type != "mistral4") config.unsupported("text_config.model_type", in_quotes(type), in_quotes("mistral4"));
    read_language_model(config, spec, kMistral4.read);
}

std::vector<TensorPart> parts_beside_a_tower(const ModelSpec& spec, const DenseTensor& tensor) {
    return in_language_model(spec, kDeepseekV3.parts(spec, tensor));
}

}  // namespace

const Family kKimiK25 = {
    "KimiK25ForConditionalGeneration", "kimi_k25", read_kimi_k25, parts_beside_a_tower, language_model_expert,
    look_for_fused_language_model};
const Family kKimi25 = {
    "Kimi_K25ForConditionalGeneration", "kimi_k25", read_kimi_k25, parts_beside_a_tower, language_model_expert,
    look_for_fused_language_model};
const Family kMistral3 = {
    "Mistral3ForConditionalGeneration", "mistral3", read_mistral3, parts_beside_a_tower, language_model_expert,
    look_for_fused_language_model};

}  // namespace offstage::engine
