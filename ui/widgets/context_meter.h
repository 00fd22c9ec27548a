#pragma once

#include <QWidget>

namespace offstage::ui {

// "123 of 2,048 tokens" with a small bar: how much of the context the conversation takes.
class ContextMeter : public QWidget {
    Q_OBJECT

  public:
    explicit ContextMeter(QWidget* parent = nullptr);

    void setUsed(qint64 used, qint64 size);  // used -1: not known
    QString text() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    QString textOf(qint64 used) const;

    qint64 m_used = 0;
    qint64 m_size = 0;
};

}  // namespace offstage::ui
