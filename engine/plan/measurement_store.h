#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/message.h"

namespace offstage::engine {

class JsonFields;

// The JSON of a measurement. Specialized beside each type that is stored:
//     static constexpr const char* kField = "table";  // its key in the file
//     static void write(const T& value, nlohmann::json& out);
//     static T read(const JsonFields& fields);  // throws Error with the key
template <typename T>
struct StoredAs;

// Stored times are no longer than this, microseconds.
inline constexpr double kLongestUs = 1e12;

// What was measured on this computer: costs, choices of arithmetic, habits of models. One
// JSON file for each key, which names everything that the measurement depends on; the
// file is named by a hash of the key and contains the key. A file that is damaged, or of
// another version, is ignored.
class MeasurementStore {
  public:
    // In a folder of `directory`; where that is empty nothing is kept.
    explicit MeasurementStore(const std::filesystem::path& directory, const char* folder = "calibration");

    // Returns whether there is one; otherwise the value stays as it is.
    template <typename T>
    bool load(const std::string& key, T& value) const {
        return load_json(key, StoredAs<T>::kField,
                         [&](const JsonFields& fields) { value = StoredAs<T>::read(fields); });
    }
    // Whole or not at all; failing to write is no error. Returns the reason, empty: kept.
    template <typename T>
    std::string store(const std::string& key, const T& value) const {
        return store_json(key, StoredAs<T>::kField, [&](nlohmann::json& out) { StoredAs<T>::write(value, out); });
    }

    // The reason why the last failed store() failed, a sentence for the user; empty: none
    // failed.
    const Message& problem() const { return problem_; }
    // Costs that were measured again because they did not hold, sentences for the user.
    void add_note(Message note) const { notes_.push_back(std::move(note)); }
    const std::vector<Message>& notes() const { return notes_; }

  private:
    bool load_json(const std::string& key, const char* field, const std::function<void(const JsonFields&)>& read) const;
    std::string store_json(const std::string& key, const char* field,
                           const std::function<void(nlohmann::json&)>& write) const;

    const std::filesystem::path directory_, folder_;
    mutable Message problem_;
    mutable std::vector<Message> notes_;
};

// Reads a list of numbers in [0, most], `n` of them; without n any number.
std::vector<double> stored_numbers(const JsonFields& fields, const std::string& key, double most,
                                   std::optional<std::size_t> n = {});

}  // namespace offstage::engine
