#include "ui/settings/disk_use.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include <QFile>

namespace offstage::ui {

namespace {

namespace fs = std::filesystem;

fs::path pathOf(const QString& path) {
    return QFile::encodeName(path).toStdString();
}

}  // namespace

quint64 bytesAt(const QString& path) {
    std::error_code code;
    const fs::path root = pathOf(path);
    if (fs::is_regular_file(root, code)) {
        const auto size = fs::file_size(root, code);
        return code ? 0 : size;
    }
    quint64 bytes = 0;
    fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, code);
    for (const fs::recursive_directory_iterator end; !code && at != end; at.increment(code)) {
        std::error_code own;  // a file that is gone again ends nothing
        if (!at->is_symlink(own) && at->is_regular_file(own)) {
            const auto size = at->file_size(own);
            bytes += own ? 0 : size;
        }
    }
    return bytes;
}

QStringList emptyFolder(const QString& folder) {
    QStringList problems;
    std::error_code code;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(pathOf(folder), code), end; !code && at != end; at.increment(code)) {
        entries.push_back(at->path());
    }
    if (code && code != std::errc::no_such_file_or_directory) {
        problems += QStringLiteral("%1: %2").arg(folder, QString::fromStdString(code.message()));
    }
    for (const fs::path& entry : entries) {
        std::error_code failed;
        fs::remove_all(entry, failed);
        if (failed) {
            problems += QStringLiteral("%1: %2").arg(QFile::decodeName(entry.string().c_str()),
                                                     QString::fromStdString(failed.message()));
        }
    }
    return problems;
}

}  // namespace offstage::ui
