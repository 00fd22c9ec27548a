#pragma once

#include <QObject>
#include <QSettings>

namespace offstage::ui {

// Notices when the program's settings cannot be written to the disk, which QSettings does
// not report. While it exists, unwritten settings are kept in memory and tried again
// every few seconds. GUI thread only.
class SettingsWatch : public QObject {
    Q_OBJECT

  public:
    explicit SettingsWatch(QObject* parent = nullptr);

    // Writes unsaved settings. False: that was not possible.
    bool save();

  Q_SIGNALS:
    // Once for each spell of trouble.
    void troubled(const QString& sentence);

  private:
    QSettings m_settings;  // unwritten changes are kept while an object has the file open
    bool m_inTrouble = false;
};

}  // namespace offstage::ui
