#include "engine/files/cache_folders.h"

#include <cstdlib>

namespace offstage::engine {
namespace {

std::filesystem::path usual_cache_directory() {
    // By the specification of XDG_CACHE_HOME, relative paths are ignored.
    const char* const xdg = std::getenv("XDG_CACHE_HOME");
    if (xdg != nullptr && std::filesystem::path(xdg).is_absolute()) return std::filesystem::path(xdg) / "offstage";
    const char* const home = std::getenv("HOME");
    if (home != nullptr && std::filesystem::path(home).is_absolute()) {
        return std::filesystem::path(home) / ".cache" / "offstage";
    }
    return {};
}

std::vector<CacheFolder> cache_folders_of(const std::filesystem::path& caches) {
    if (caches.empty()) return {};
    return {{CacheContent::kQuantized, caches / "quantized"},
            {CacheContent::kCalibration, caches / "calibration"},
            {CacheContent::kSensitivity, caches / "sensitivity"}};
}

}  // namespace

std::filesystem::path cache_directory() {
    const char* const own = std::getenv("OFFSTAGE_CACHE");
    if (own != nullptr && std::filesystem::path(own).is_absolute()) return own;
    return usual_cache_directory();
}

std::filesystem::path calibration_directory(const std::string& asked) {
    if (!asked.empty()) return asked;
    const std::filesystem::path caches = cache_directory();
    return caches.empty() ? caches : caches / "calibration";
}

std::vector<CacheFolder> cache_folders() {
    return cache_folders_of(cache_directory());
}

std::vector<CacheFolder> usual_cache_folders() {
    return cache_folders_of(usual_cache_directory());
}

}  // namespace offstage::engine
