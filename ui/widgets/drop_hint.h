#pragma once

#include <QWidget>

namespace offstage::ui {

// Covers the window while a file is dragged over it, and shows what dropping it would do.
class DropHint : public QWidget {
    Q_OBJECT

  public:
    explicit DropHint(QWidget* window);

    void setText(const QString& text);

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    QString m_text;
};

}  // namespace offstage::ui
