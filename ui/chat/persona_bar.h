#pragma once

#include <optional>

#include <QWidget>

#include "ui/settings/personas.h"

class QAction;

namespace offstage::ui {

class ChatController;
class EngineController;
class PresetBar;
class SamplingPanel;
class SystemPromptChip;

// At the head of the conversation: its persona, and a menu to make, edit, delete, import
// and export them, and to begin new conversations with one. Choosing a persona sets the
// conversation's system prompt and sampling; the window offers its model. Beside it the
// conversation's system prompt, if it has one.
// GUI thread only.
class PersonaBar : public QWidget {
    Q_OBJECT

  public:
    PersonaBar(Personas& personas, ChatController& chat, SamplingPanel& sampling, const EngineController& engine,
               QWidget* parent = nullptr);

    PresetBar& presets() const { return *m_bar; }
    QMenu& choices() const { return *m_choices; }  // the same as of its box
    // The shown conversation's; nothing: none, or it was deleted.
    std::optional<Persona> persona() const;
    // The conversation's system prompt or sampling differs from the persona's.
    bool isChanged() const;

    // Reports come as whole sentences by said().
    void importFrom(const QString& file);
    void exportTo(const QString& file);

  public Q_SLOTS:
    void refresh();

  Q_SIGNALS:
    void chosen();  // another persona for the conversation
    void said(const QString& sentence);
    void systemPromptRequested();  // the user wants to read or change it

  private:
    void choose(qsizetype index);
    void edit(const Persona& persona);
    void save(const Persona& persona);
    void remove(const Persona& persona);
    void restore();
    void chooseImport();
    void chooseExport();
    Persona setupNow(const Persona& of) const;
    // The conversation's, or the user's in place of a persona's.
    Sampling ownSampling() const;
    QList<Persona> all() const { return Personas::builtIn() + m_personas.own(); }

    Personas& m_personas;
    ChatController& m_chat;
    SamplingPanel& m_sampling;
    const EngineController& m_engine;
    PresetBar* m_bar;
    SystemPromptChip* m_prompt;
    QMenu* m_choices;
    QAction* m_new;
    QAction* m_edit;
    QAction* m_update;
    QAction* m_ofNew;
    QAction* m_restore;  // seen once one was deleted
    QAction* m_import;
    QAction* m_export;
    Persona m_removed;  // can be restored
};

}  // namespace offstage::ui
