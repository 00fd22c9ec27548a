#pragma once
// Presets of one's own, beside the built-in ones: kept in QSettings as JSON, a list of objects with "name".

#include <QList>
#include <QString>

#include "ui/settings/sampling.h"

class QSettings;

namespace offstage::ui {

struct SystemPromptPreset {
    QString name;
    QString text;

    bool operator==(const SystemPromptPreset&) const = default;
};

// Concise, Teacher, Programmer.
QList<SystemPromptPreset> systemPromptPresets();

// In the order they were saved. Entries that cannot be read are left out.
QList<SamplingPreset> readOwnSamplingPresets(QSettings& settings);
void writeOwnSamplingPresets(QSettings& settings, const QList<SamplingPreset>& presets);
QList<SystemPromptPreset> readOwnSystemPromptPresets(QSettings& settings);
void writeOwnSystemPromptPresets(QSettings& settings, const QList<SystemPromptPreset>& presets);

}  // namespace offstage::ui
