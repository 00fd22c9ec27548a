#pragma once

#include <QtGlobal>

namespace offstage::ui {

// The user's number of tokens of other conversations that stay in the KV cache beside the
// running one's context (engine::LoadRequest::kept_context). Stored in the settings.
class KeptContext {
  public:
    static constexpr qint64 kMost = 1 << 20;
    // The switch's default.
    static constexpr qint64 kUsual = 16384;

    static qint64 tokens();  // 0: none
    static void setTokens(qint64 tokens);
};

}  // namespace offstage::ui
