#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace offstage::engine {

// The contents of cache_directory(). All of it can be made again.
enum class CacheContent : std::uint8_t {
    kQuantized,    // experts in fewer bits (QuantCache)
    kCalibration,  // measured costs of this hardware (CalibrationCache)
    kSensitivity,  // the loss of fewer bits in each expert of a model (SensitivityCache)
};

struct CacheFolder {
    CacheContent content;
    std::filesystem::path folder;  // need not be there
};

// Empty where cache_directory() is.
std::vector<CacheFolder> cache_folders();
// The same where OFFSTAGE_CACHE names no other place.
std::vector<CacheFolder> usual_cache_folders();

}  // namespace offstage::engine
