#pragma once

#include <string>
#include <vector>

#include <QDialog>

#include "engine/model/model_finder.h"
#include "engine/run/suggestions.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace offstage::ui {

class EngineController;
class FittingColumns;
class SuggestedModels;

// "What runs here": models that people run today, with the file that suits this computer
// and its forecast, before a byte of it is there.
class SuggestionsDialog : public QDialog {
    Q_OBJECT

  public:
    // `load`: how models are opened here. `found`: those on this computer.
    SuggestionsDialog(const EngineController& engine, const engine::LoadRequest& load,
                      std::vector<engine::FoundModel> found, QWidget* parent = nullptr);
    ~SuggestionsDialog() override;

    // The search for them has ended meanwhile.
    void setFound(std::vector<engine::FoundModel> found);

  Q_SIGNALS:
    void chosen(const QString& model);  // one on this computer, to be opened
    void wanted(const QString& name);   // one on the hub, "OWNER/NAME:TYPE", to be got
    void downloadsRequested();

  private:
    void fitColumns();
    void look(bool measure);
    void cancelMeasuring();
    void act();
    void refresh();
    void selectChosen();  // or the first
    void showChosen();
    const engine::Suggestion* current() const;

    const EngineController& m_engine;
    engine::SuggestionRequest m_request;
    std::vector<engine::FoundModel> m_found;
    std::string m_chosen;  // the name of the chosen model, which stays so when all are planned again
    SuggestedModels* m_models;
    QSortFilterProxyModel* m_shown;
    QComboBox* m_use;
    QCheckBox* m_all;
    QTableView* m_table;
    FittingColumns* m_columns;
    QLabel* m_facts;
    QLabel* m_status;
    QProgressBar* m_progress;
    QPushButton* m_measure;
    QPushButton* m_copy;
    QPushButton* m_get;
    QPushButton* m_open;
};

}  // namespace offstage::ui
