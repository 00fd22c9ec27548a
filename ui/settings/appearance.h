#pragma once

#include <optional>

#include <QObject>

#include "ui/base/theme.h"

namespace offstage::ui {

// The program's appearance: theme, text size, language. Stored in QSettings and applied
// to the whole application at once, except the language, which changes at the next start.
// GUI thread only.
class Appearance : public QObject {
    Q_OBJECT

  public:
    // Nothing is applied before apply(). `theme`: from the command line; it holds until
    // the user chooses another.
    explicit Appearance(std::optional<Theme> theme = std::nullopt, QObject* parent = nullptr);

    void apply();

    Theme theme() const { return m_theme; }
    void setTheme(Theme theme);
    int textSize() const { return m_textSize; }  // steps from the desktop's: kTextSmallest .. kTextLargest
    void setTextSize(int steps);                 // beyond these: the nearest of them
    // One of languages(); empty: as the system.
    const QString& language() const { return m_language; }
    void setLanguage(const QString& code);

  Q_SIGNALS:
    void changed();
    void languageChanged();

  private:
    Theme m_theme;
    int m_textSize;
    QString m_language;
};

}  // namespace offstage::ui
