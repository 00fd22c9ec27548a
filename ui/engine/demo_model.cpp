#include "ui/engine/demo_model.h"

#include <QCryptographicHash>

#include "engine/run/model_summary.h"
#include "engine/run/text_of_model.h"

namespace offstage::ui {

namespace {

// Of resources/demo-model: its number of tokens, and the SHA-1 of their names, each with a
// line's end.
constexpr std::int64_t kDemoTokens = 2048;
constexpr char kDemoVocabulary[] = "30a5decb17c033098f39ba06fa3d099b8dc54db4";

}  // namespace

bool isDemoModel(const engine::ModelSummary& model) {
    if (model.vocab_size != kDemoTokens || model.text == nullptr) {
        return false;
    }
    QCryptographicHash names(QCryptographicHash::Sha1);
    for (engine::TokenId token = 0; token < kDemoTokens; ++token) {
        names.addData(QByteArray::fromStdString(model.text->tokenizer->piece_name(token) + '\n'));
    }
    return names.result().toHex() == kDemoVocabulary;
}

}  // namespace offstage::ui
