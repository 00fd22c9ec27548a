#include "ui/engine/kept_context.h"

#include <algorithm>

#include <QSettings>

namespace offstage::ui {

namespace {

const QString kKeptContextKey = QStringLiteral("keptContext");

}  // namespace

qint64 KeptContext::tokens() {
    return std::clamp<qint64>(QSettings().value(kKeptContextKey, 0).toLongLong(), 0, kMost);
}

void KeptContext::setTokens(qint64 tokens) {
    QSettings().setValue(kKeptContextKey, std::clamp<qint64>(tokens, 0, kMost));
}

}  // namespace offstage::ui
