#pragma once
// Errors that a test expects.

#include <optional>

#include <QMetaType>
#include <QString>
#include <QStringList>

#include "engine/error.h"

namespace offstage::tests {

// The Error that `action` throws, or nothing. Another exception ends the test as a
// failure.
template <typename Action>
std::optional<engine::Error> error_of(Action action) {
    try {
        action();
    } catch (const engine::Error& error) {
        return error;
    }
    return {};
}

// What the Error that `action` throws says; "": it throws none.
template <typename Action>
QString sentence_of(Action action) {
    const std::optional<engine::Error> error = error_of(action);
    return error ? QString::fromUtf8(error->what()) : QString();
}

// "" when there is an error of this kind whose sentence has all `words`, separated by
// '|'; otherwise the difference.
inline QString mismatch(const std::optional<engine::Error>& error, engine::ErrorKind kind, const QString& words = {}) {
    if (!error) return "no error";
    const QString sentence = QString::fromUtf8(error->what());
    if (error->kind() != kind)
        return "another kind: " + QString::number(static_cast<int>(error->kind())) + ": " + sentence;
    for (const QString& word : words.split('|')) {
        if (!sentence.contains(word)) return "no '" + word + "' in: " + sentence;
    }
    return {};
}

}  // namespace offstage::tests

Q_DECLARE_METATYPE(offstage::engine::ErrorKind)
