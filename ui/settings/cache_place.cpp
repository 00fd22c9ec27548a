#include "ui/settings/cache_place.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QTemporaryFile>

#include "engine/files/cache_folders.h"
#include "ui/base/settings.h"

namespace offstage::ui {

namespace {

constexpr char kCacheVariable[] = "OFFSTAGE_CACHE";
// Set while the variable is what apply() made of the settings.
constexpr char kCacheIsChosen[] = "offstageCacheIsChosen";

struct PlaceText {
    Q_DECLARE_TR_FUNCTIONS(CachePlace)
};

QString cacheRootOf(const std::vector<engine::CacheFolder>& folders) {
    return folders.empty() ? QString() : QFile::decodeName(folders.front().folder.parent_path().string().c_str());
}

bool isChosenCache() {
    return QCoreApplication::instance() != nullptr && QCoreApplication::instance()->property(kCacheIsChosen).toBool();
}

}  // namespace

QString CachePlace::chosen() {
    const QString folder = settings::kCacheFolder.value();
    return QDir::isAbsolutePath(folder) ? folder : QString();
}

QString CachePlace::choose(const QString& folder) {
    if (folder.isEmpty()) {
        settings::kCacheFolder.remove();
        return {};
    }
    const QString place = QDir(folder).filePath(QStringLiteral("offstage"));
    // By writing: on some file systems permissions are not reliable.
    QTemporaryFile probe(QDir(place).filePath(QStringLiteral("probe-XXXXXX")));
    if (!QDir().mkpath(place) || !probe.open()) {
        return PlaceText::tr("Nothing can be written to %1. Choose another folder.")
            .arg(QDir::toNativeSeparators(place));
    }
    settings::kCacheFolder.set(place);
    return {};
}

QString CachePlace::inForce() {
    return cacheRootOf(engine::cache_folders());
}

QString CachePlace::next() {
    if (qEnvironmentVariableIsSet(kCacheVariable) && !isChosenCache()) {
        return inForce();
    }
    return chosen().isEmpty() ? cacheRootOf(engine::usual_cache_folders()) : chosen();
}

void CachePlace::apply() {
    const QString folder = chosen();
    if (!folder.isEmpty() && !qEnvironmentVariableIsSet(kCacheVariable)) {
        qputenv(kCacheVariable, QFile::encodeName(folder));
        QCoreApplication::instance()->setProperty(kCacheIsChosen, true);
    }
}

}  // namespace offstage::ui
