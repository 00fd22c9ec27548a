#include "ui/settings/cache_place.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QSettings>
#include <QTemporaryFile>

#include "engine/plan/cache_folders.h"

namespace offstage::ui {

namespace {

const QString kKey = QStringLiteral("cacheFolder");
constexpr char kVariable[] = "OFFSTAGE_CACHE";
// Set while the variable is what apply() made of the settings.
constexpr char kIsOurs[] = "offstageCacheIsChosen";

struct PlaceText {
    Q_DECLARE_TR_FUNCTIONS(CachePlace)
};

QString folderOf(const std::vector<engine::CacheFolder>& folders) {
    return folders.empty() ? QString() : QFile::decodeName(folders.front().folder.parent_path().string().c_str());
}

bool isOurs() {
    return QCoreApplication::instance() != nullptr && QCoreApplication::instance()->property(kIsOurs).toBool();
}

}  // namespace

QString CachePlace::chosen() {
    const QString folder = QSettings().value(kKey).toString();
    return QDir::isAbsolutePath(folder) ? folder : QString();
}

QString CachePlace::choose(const QString& folder) {
    if (folder.isEmpty()) {
        QSettings().remove(kKey);
        return {};
    }
    const QString place = QDir(folder).filePath(QStringLiteral("offstage"));
    // By writing: permissions do not tell it of every file system.
    QTemporaryFile probe(QDir(place).filePath(QStringLiteral("probe-XXXXXX")));
    if (!QDir().mkpath(place) || !probe.open()) {
        return PlaceText::tr("Nothing can be written to %1. Choose another folder.")
            .arg(QDir::toNativeSeparators(place));
    }
    QSettings().setValue(kKey, place);
    return {};
}

QString CachePlace::inForce() {
    return folderOf(engine::cache_folders());
}

QString CachePlace::next() {
    if (qEnvironmentVariableIsSet(kVariable) && !isOurs()) {
        return inForce();
    }
    return chosen().isEmpty() ? folderOf(engine::usual_cache_folders()) : chosen();
}

void CachePlace::apply() {
    const QString folder = chosen();
    if (!folder.isEmpty() && !qEnvironmentVariableIsSet(kVariable)) {
        qputenv(kVariable, QFile::encodeName(folder));
        QCoreApplication::instance()->setProperty(kIsOurs, true);
    }
}

}  // namespace offstage::ui
