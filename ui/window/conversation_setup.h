#pragma once

#include <optional>

#include <QFrame>

#include "ui/history/history_values.h"
#include "ui/panels/budget_form.h"
#include "ui/settings/personas.h"

class QLabel;
class QPushButton;

namespace offstage::ui {

// What a conversation was answered with: model, device and budgets.
struct ConversationSetup {
    QString model;          // engine::LoadRequest::model
    QString name;           // as it is shown
    QString device;         // engine::LoadRequest::device
    BudgetSetting budget;   // as asked for: 0 where it was left to the program
    BudgetSetting inForce;  // as it was then, for the person; 0 where that is not known

    bool operator==(const ConversationSetup&) const = default;
};

// Kept in the settings, by conversation, the latest kMostKept of them. GUI thread only.
class ConversationSetups {
  public:
    static constexpr int kMostKept = 100;

    static void keep(ConversationId id, const ConversationSetup& setup);
    static std::optional<ConversationSetup> of(ConversationId id);
};

// Says that the conversation shown was answered with another model, device or budget than is open
// now, and offers that one. GUI thread only.
class SetupBar : public QFrame {
    Q_OBJECT

  public:
    explicit SetupBar(QWidget* parent = nullptr);

    // `device`: its name, as people know it. `missing`: the model is not where it was; then nothing
    // is offered.
    void tell(const ConversationSetup& setup, const QString& device, bool missing);
    // That the conversation's persona has another model.
    void tell(const Persona& persona, bool missing);
    QString sentence() const;  // empty while nothing is said
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
