#pragma once

#include <optional>

#include <QFrame>

#include "ui/history/history_values.h"
#include "ui/panels/budget_form.h"
#include "ui/settings/personas.h"

class QLabel;
class QPushButton;

namespace offstage::ui {

// The model, device and budgets of a conversation's answers.
struct ConversationSetup {
    QString model;          // engine::LoadRequest::model
    QString name;           // as it is shown
    QString device;         // engine::LoadRequest::device
    BudgetSetting budget;   // as requested: 0 if it was left to the program
    BudgetSetting inForce;  // as it was then, for display; 0 if that is not known

    bool operator==(const ConversationSetup&) const = default;
};

// Kept in the settings, by conversation, the latest kMostKept of them. GUI thread only.
class ConversationSetups {
  public:
    static constexpr int kMostKept = 100;

    static void keep(ConversationId id, const ConversationSetup& setup);
    static std::optional<ConversationSetup> of(ConversationId id);
};

// Shows that the conversation was answered with another model, device or budget than the
// present ones, and offers that one. GUI thread only.
class SetupBar : public QFrame {
    Q_OBJECT

  public:
    explicit SetupBar(QWidget* parent = nullptr);

    // `device`: its display name. `missing`: the model no longer exists there; then
    // nothing is offered.
    void tell(const ConversationSetup& setup, const QString& device, bool missing);
    // The conversation's persona has another model.
    void tell(const Persona& persona, bool missing);
    QString sentence() const;  // empty while the bar is hidden
    QPushButton& openButton() const { return *m_open; }

  Q_SIGNALS:
    void openRequested();
    void dismissed();

  protected:
    void paintEvent(QPaintEvent* event) override;

  private:
    QLabel* m_sentence;
    QPushButton* m_open;
};

}  // namespace offstage::ui
