#include "engine/manual/demo_model.h"

#include "engine/name_hash.h"
#include "engine/run/model_summary.h"

namespace offstage::engine {
namespace {

// Of resources/demo-model: its number of tokens, and the hash of their names, each with a
// line's end.
constexpr std::int64_t kDemoTokens = 2048;
constexpr const char* kDemoVocabulary = "d2328a720255135a";

}  // namespace

bool is_demo_model(const ModelSummary& model) {
    return model.vocab_size == kDemoTokens && name_hash(token_names(model)) == kDemoVocabulary;
}

}  // namespace offstage::engine
