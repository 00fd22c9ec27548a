#pragma once

#include <QSettings>

namespace offstage::ui {

// The format of the settings' file: one JSON object, a field for each setting. Bytes are
// {"base64": "..."}; integers that JSON's numbers cannot hold exactly are texts.
//
// Not Qt's own, because Qt 6.4 silently replaces the old file by an empty one when the
// disk is full: it does not notice an unwritten buffer. Here a failed save leaves the old
// file, and QSettings::status() is AccessError.
QSettings::Format settingsFormat();

// Makes it the format of every QSettings from now on. At the first start it takes over
// settings of Qt's own format. Call it once, after the program's name is set and before
// the first QSettings.
void useSettingsFormat();

}  // namespace offstage::ui
