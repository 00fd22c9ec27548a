#pragma once

#include <QObject>
#include <QSettings>

namespace offstage::ui {

// Notices that the program's settings do not reach the disk: QSettings keeps silent about it. While it lives, settings
// that could not be written are kept in memory and tried again every few seconds. GUI thread only.
class SettingsWatch : public QObject {
    Q_OBJECT

  public:
    explicit SettingsWatch(QObject* parent = nullptr);

    // Writes what is not on the disk yet. False: that was not possible.
    bool save();

  Q_SIGNALS:
    // Once for each spell of trouble.
    void troubled(const QString& sentence);

  private:
    QSettings m_settings;  // changes that are not written live as long as somebody has the file open
    bool m_inTrouble = false;
};

}  // namespace offstage::ui
