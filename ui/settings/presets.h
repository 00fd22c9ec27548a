#pragma once
// The user's own presets of sampling, beside the built-in ones: kept in QSettings as
// JSON, a list of objects with "name".

#include <QList>
#include <QString>

#include "ui/engine/sampling.h"

namespace offstage::ui {

// In the order they were saved. Entries that cannot be read are left out.
QList<SamplingPreset> readOwnSamplingPresets();
void writeOwnSamplingPresets(const QList<SamplingPreset>& presets);

}  // namespace offstage::ui
