#pragma once

#include <QWidget>

class QComboBox;
class QSpinBox;

namespace offstage::ui {

class Appearance;

// Theme, text size and language; each applies as soon as it is chosen, with a note if it
// does not.
class AppearancePage : public QWidget {
    Q_OBJECT

  public:
    explicit AppearancePage(Appearance& appearance, QWidget* parent = nullptr);

  private:
    void refresh();

    Appearance& m_appearance;
    QComboBox* m_theme;
    QSpinBox* m_textSize;
    QComboBox* m_language;
};

}  // namespace offstage::ui
