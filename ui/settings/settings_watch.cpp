#include "ui/settings/settings_watch.h"

#include <QDir>
#include <QTimer>

namespace offstage::ui {

namespace {

constexpr int kLookMs = 3000;

}  // namespace

SettingsWatch::SettingsWatch(QObject* parent) : QObject(parent) {
    auto* timer = new QTimer(this);
    timer->setTimerType(Qt::VeryCoarseTimer);
    connect(timer, &QTimer::timeout, this, &SettingsWatch::save);
    timer->start(kLookMs);
}

bool SettingsWatch::save() {
    QSettings now;  // one object's status never becomes good again
    now.sync();
    const bool failed = now.status() == QSettings::AccessError;
    if (failed && !m_inTrouble) {
        Q_EMIT troubled(tr("The settings cannot be saved as %1: what is changed now is lost at the end.")
                            .arg(QDir::toNativeSeparators(now.fileName())));
    }
    m_inTrouble = failed;
    return !failed;
}

}  // namespace offstage::ui
