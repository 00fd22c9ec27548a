#include "ui/engine/demo_model.h"

#include <QCryptographicHash>

#include "engine/run/session.h"

namespace offstage::ui {

namespace {

// Of resources/demo-model: its number of tokens, and the SHA-1 of their names, each with a
// line's end.
constexpr std::int64_t kDemoTokens = 2048;
constexpr char kDemoVocabulary[] = "30a5decb17c033098f39ba06fa3d099b8dc54db4";

}  // namespace

bool isDemoModel(const engine::ModelSummary& model) {
    if (model.vocab_size != kDemoTokens) {
        return false;
    }
    const QByteArray names = QByteArray::fromStdString(engine::token_names(model));
    return QCryptographicHash::hash(names, QCryptographicHash::Sha1).toHex() == kDemoVocabulary;
}

}  // namespace offstage::ui
