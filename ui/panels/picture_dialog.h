#pragma once

#include <QDialog>
#include <QList>
#include <QString>

class QDockWidget;
class QListWidget;
class QPushButton;

namespace offstage::ui {

class PlotWidget;

// A plot of a panel, with the name it is offered under: "Experts: calls of each expert".
struct OfferedPlot {
    PlotWidget* plot = nullptr;
    QString title;
};

// The plots of these panels that have data. Nothing else of a panel is offered:
// conversations and system prompts are private.
QList<OfferedPlot> plotsOf(const QList<QDockWidget*>& docks);

// Writes one PNG per plot at full size, below its title and `about`: model, hardware,
// plan. Returns the paths; `why` gets a sentence if one could not be written.
QStringList savePlots(const QList<OfferedPlot>& plots, const QString& about, const QString& folder,
                      QString* why = nullptr);

// Lets the user choose the plots and a folder. GUI thread only.
class PictureDialog : public QDialog {
    Q_OBJECT

  public:
    PictureDialog(QList<OfferedPlot> plots, const QString& about, QWidget* parent = nullptr);

    QListWidget& list() const { return *m_list; }
    QList<OfferedPlot> chosen() const;
    void saveIn(const QString& folder);

  Q_SIGNALS:
    void saved(const QString& sentence);

  private:
    void askWhere();

    QList<OfferedPlot> m_plots;
    QString m_about;
    QListWidget* m_list;
    QPushButton* m_save;
};

}  // namespace offstage::ui
