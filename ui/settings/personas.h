#pragma once

#include <optional>

#include <QByteArray>
#include <QList>
#include <QObject>
#include <QString>

#include "ui/engine/sampling.h"
#include "ui/history/history_values.h"

namespace offstage::ui {

// The settings of a conversation, under a name.
struct Persona {
    QString id;  // stored with conversations; the program's own: "concise"
    QString name;
    QString systemPrompt;
    std::optional<Sampling> sampling;  // nothing: the present choice
    QString model;                     // engine::LoadRequest::model; empty: the open one
    QString modelName;                 // as it is shown

    bool operator==(const Persona&) const = default;
};

// The program's personas, and the user's own, stored in QSettings as JSON. Presets of the
// system prompt from earlier versions are converted once. GUI thread only.
class Personas : public QObject {
    Q_OBJECT

  public:
    static constexpr int kLongestName = 60;

    explicit Personas(QObject* parent = nullptr);

    static QList<Persona> builtIn();                     // Concise, Teacher, Programmer: only a system prompt
    const QList<Persona>& own() const { return m_own; }  // in the order they were made
    std::optional<Persona> find(const QString& id) const;
    // With which new conversations begin (settings::kPersonaOfNew), if the user chose one.
    std::optional<Persona> ofNew() const;
    // The conversation has its persona's system prompt, of the program's own ones in any of
    // the window's languages, and its sampling. False without a persona.
    bool isAsChosen(const ConversationInfo& conversation) const;

    // Adds it, with a new id if it has none, or replaces the user's own persona of that
    // id or, without an id, of that name. Returns the id.
    QString put(const Persona& persona);
    void remove(const QString& id);

    // {"format": "offstage.personas", "version": 1, "personas": [{"name",
    // "system_prompt", "sampling", "model", "model_name"}]}; sampling and model only if
    // set.
    static QByteArray toJson(const QList<Persona>& personas);
    // Adds a file's personas; one of the same name is replaced. Returns their number;
    // `problem`: a whole sentence if the file cannot be read, and then nothing has
    // changed.
    int addFrom(const QByteArray& json, const QString& fileName, QString& problem);

  Q_SIGNALS:
    void changed();

  private:
    void keep();

    QList<Persona> m_own;
};

}  // namespace offstage::ui
