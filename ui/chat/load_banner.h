#pragma once

#include <QFrame>

#include "engine/run/session.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace offstage::ui {

// The progress of loading a model: the stage, the percentage, notes for the user, and
// Cancel.
class LoadBanner : public QFrame {
    Q_OBJECT

  public:
    explicit LoadBanner(QWidget* parent = nullptr);

    void start(const QString& model);
    void setProgress(const engine::LoadProgress& progress);
    void setCancelling();

  Q_SIGNALS:
    void cancelRequested();

  private:
    QLabel* m_title;
    QLabel* m_stage;
    QProgressBar* m_bar;
    QLabel* m_note;
    QPushButton* m_cancel;
};

}  // namespace offstage::ui
