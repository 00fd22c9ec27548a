#pragma once

#include <QColor>

namespace offstage::ui {

// What a search has found, in messages and in the list of conversations.
struct FoundColours {
    QColor background, text;
};

inline FoundColours foundColours(bool isDark, bool isCurrent = false) {
    const QColor ink(0x1b, 0x1f, 0x27);
    if (isCurrent) {
        return {QColor(0xff, 0xa9, 0x2e), ink};
    }
    return isDark ? FoundColours{QColor(0x6b, 0x56, 0x14), QColor(0xff, 0xff, 0xff)}
                  : FoundColours{QColor(0xff, 0xe9, 0x9a), ink};
}

}  // namespace offstage::ui
