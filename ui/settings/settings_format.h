#pragma once

#include <QSettings>

namespace offstage::ui {

// The format of the settings' file: one JSON object, a field for each setting. Bytes are {"base64": "..."}; integers
// that JSON's numbers do not hold exactly are texts.
//
// Not Qt's own, because Qt 6.4 puts an empty file over the old one where the disk is full, and says nothing: that an
// unwritten buffer remains is not noticed. Here a save that did not go well leaves the old file, and
// QSettings::status() is AccessError.
QSettings::Format settingsFormat();

// Makes it that of every QSettings from now on. At the first start, settings of Qt's own format are taken over. Once,
// when the program has its name and before the first QSettings.
void useSettingsFormat();

}  // namespace offstage::ui
