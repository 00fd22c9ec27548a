#pragma once

#include <QtGlobal>

namespace offstage::ui {

// How many tokens of other conversations stay in the KV cache beside the running one's context
// (engine::LoadRequest::kept_context), as the person chose it. Kept in the settings.
class KeptContext {
  public:
    static constexpr qint64 kMost = 1 << 20;
    // What the switch offers where nothing was chosen yet.
    static constexpr qint64 kUsual = 16384;

    static qint64 tokens();  // 0: none
    static void setTokens(qint64 tokens);
};

}  // namespace offstage::ui
