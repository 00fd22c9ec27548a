#include "ui/settings/appearance.h"

#include <algorithm>

#include <QApplication>

#include "ui/base/settings.h"

namespace offstage::ui {

Appearance::Appearance(std::optional<Theme> theme, QObject* parent) : QObject(parent) {
    m_theme = theme.value_or(themeFromName(settings::kTheme.value()));
    m_textSize = std::clamp(settings::kTextSize.value(), kTextSmallest, kTextLargest);
    m_language = settings::kLanguage.value();
}

void Appearance::apply() {
    applyTheme(*qApp, m_theme);
    applyTextSize(*qApp, m_textSize);
}

void Appearance::setTheme(Theme theme) {
    m_theme = theme;
    settings::kTheme.set(nameOf(theme));
    applyTheme(*qApp, m_theme);
    Q_EMIT changed();
}

void Appearance::setTextSize(int steps) {
    m_textSize = std::clamp(steps, kTextSmallest, kTextLargest);
    settings::kTextSize.set(m_textSize);
    applyTextSize(*qApp, m_textSize);
    Q_EMIT changed();
}

void Appearance::setLanguage(const QString& code) {
    if (code == m_language) {
        return;
    }
    m_language = code;
    settings::kLanguage.set(code);
    Q_EMIT changed();
    Q_EMIT languageChanged();
}

}  // namespace offstage::ui
