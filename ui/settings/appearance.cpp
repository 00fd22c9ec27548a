#include "ui/settings/appearance.h"

#include <algorithm>

#include <QApplication>
#include <QSettings>

namespace offstage::ui {

namespace {

const QString kThemeKey = QStringLiteral("theme");
const QString kTextSizeKey = QStringLiteral("textSize");
const QString kLanguageKey = QStringLiteral("language");

}  // namespace

Appearance::Appearance(std::optional<Theme> theme, QObject* parent) : QObject(parent) {
    const QSettings settings;
    m_theme = theme.value_or(themeFromName(settings.value(kThemeKey).toString()));
    m_textSize = std::clamp(settings.value(kTextSizeKey, 0).toInt(), kTextSmallest, kTextLargest);
    m_language = settings.value(kLanguageKey).toString();
}

void Appearance::apply() {
    applyTheme(*qApp, m_theme);
    applyTextSize(*qApp, m_textSize);
}

void Appearance::setTheme(Theme theme) {
    m_theme = theme;
    QSettings().setValue(kThemeKey, nameOf(theme));
    applyTheme(*qApp, m_theme);
    Q_EMIT changed();
}

void Appearance::setTextSize(int steps) {
    m_textSize = std::clamp(steps, kTextSmallest, kTextLargest);
    QSettings().setValue(kTextSizeKey, m_textSize);
    applyTextSize(*qApp, m_textSize);
    Q_EMIT changed();
}

void Appearance::setLanguage(const QString& code) {
    if (code == m_language) {
        return;
    }
    m_language = code;
    QSettings().setValue(kLanguageKey, code);
    Q_EMIT changed();
    Q_EMIT languageChanged();
}

}  // namespace offstage::ui
