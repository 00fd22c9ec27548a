#pragma once

#include <QDialog>

#include "engine/run/fit_estimate.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace offstage::ui {

class DownloadQueue;
struct HubOffer;

// The queue of downloads, and above it what a file would take and give before it is got.
class DownloadsDialog : public QDialog {
    Q_OBJECT

  public:
    explicit DownloadsDialog(DownloadQueue& queue, QWidget* parent = nullptr);

    // Asks the hub for the headers of this file (DownloadQueue::look()) and shows what
    // they say; a person may download it then.
    void offer(const QString& name, const engine::LoadRequest& load, const engine::FitHeld& held);

  Q_SIGNALS:
    void wanted(const QString& name);   // typed: to be offered
    void chosen(const QString& model);  // a downloaded one, to be opened

  private:
    void showOffer(const HubOffer& offer);
    void refresh();
    void openChosen();
    void askToRemove();
    int row() const;  // the chosen one; -1: none

    DownloadQueue& m_queue;
    QString m_offered;
    QLineEdit* m_name;
    QPushButton* m_look;
    QLabel* m_facts;
    QPushButton* m_get;
    QTableView* m_table;
    QPushButton* m_pause;
    QPushButton* m_remove;
    QPushButton* m_open;
};

}  // namespace offstage::ui
