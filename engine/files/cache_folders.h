#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace offstage::engine {

// $OFFSTAGE_CACHE, $XDG_CACHE_HOME/offstage or ~/.cache/offstage; empty when none is
// known.
std::filesystem::path cache_directory();
// The folder of MeasurementStore: `asked`, or if that is empty a folder of
// cache_directory().
std::filesystem::path calibration_directory(const std::string& asked = {});

// The contents of cache_directory(). All of it can be made again.
enum class CacheContent : std::uint8_t {
    kQuantized,    // experts in fewer bits (QuantCache)
    kCalibration,  // measured on this computer (MeasurementStore)
    kSensitivity,  // the loss of fewer bits in each expert of a model (Sensitivity)
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
