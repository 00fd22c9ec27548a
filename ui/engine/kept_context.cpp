#include "ui/engine/kept_context.h"

#include <algorithm>

#include "ui/base/settings.h"

namespace offstage::ui {

qint64 KeptContext::tokens() {
    return std::clamp<qint64>(settings::kKeptContext.value(), 0, kMost);
}

void KeptContext::setTokens(qint64 tokens) {
    settings::kKeptContext.set(std::clamp<qint64>(tokens, 0, kMost));
}

}  // namespace offstage::ui
