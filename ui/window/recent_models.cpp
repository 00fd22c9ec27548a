#include "ui/window/recent_models.h"

#include <QFileInfo>

#include "ui/base/settings.h"

namespace offstage::ui {

RecentModels::RecentModels(QObject* parent) : QObject(parent) {
    m_models = settings::kRecentModels.value().mid(0, kMost);
}

bool RecentModels::isMissing(const QString& model) {
    return !model.startsWith(QStringLiteral("synthetic:")) && !QFileInfo::exists(model);
}

void RecentModels::add(const QString& model) {
    m_models.removeAll(model);
    m_models.prepend(model);
    m_models = m_models.mid(0, kMost);
    save();
}

void RecentModels::clear() {
    m_models.clear();
    save();
}

void RecentModels::save() {
    settings::kRecentModels.set(m_models);
    Q_EMIT changed();
}

}  // namespace offstage::ui
