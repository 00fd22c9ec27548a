#pragma once

#include <optional>

#include <QByteArray>
#include <QList>
#include <QObject>
#include <QString>

#include "ui/engine/sampling.h"

namespace offstage::ui {

// How a conversation is set up, under a name.
struct Persona {
    QString id;  // what conversations remember; those of the program: "concise"
    QString name;
    QString systemPrompt;
    std::optional<Sampling> sampling;  // nothing: whatever is chosen
    QString model;                     // engine::LoadRequest::model; empty: whatever is open
    QString modelName;                 // as it is shown

    bool operator==(const Persona&) const = default;
};

// The personas of the program, and the person's own, kept in QSettings as JSON. Texts that earlier versions kept as
// presets of the system prompt are taken over once. GUI thread only.
class Personas : public QObject {
    Q_OBJECT

  public:
    explicit Personas(QObject* parent = nullptr);

    static QList<Persona> builtIn();                     // Concise, Teacher, Programmer: a system prompt alone
    const QList<Persona>& own() const { return m_own; }  // in the order they were made
    std::optional<Persona> find(const QString& id) const;

    // Adds it, under an id of its own where it has none, or takes the place of the person's own persona of that id or,
    // without an id, of that name. Returns the id.
    QString put(const Persona& persona);
    void rename(const QString& id, const QString& name);
    void remove(const QString& id);

    // {"format": "offstage.personas", "version": 1, "personas": [{"name", "system_prompt", "sampling", "model",
    // "model_name"}]}; sampling and model where there are any.
    static QByteArray toJson(const QList<Persona>& personas);
    // Adds what a file holds; one of the same name takes the other's place. Returns how many; `problem`: a whole
    // sentence where the file cannot be read, and then nothing has changed.
    int addFrom(const QByteArray& json, const QString& fileName, QString& problem);

  Q_SIGNALS:
    void changed();

  private:
    void keep();

    QList<Persona> m_own;
};

}  // namespace offstage::ui
