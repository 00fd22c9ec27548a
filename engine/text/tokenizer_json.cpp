#include "engine/text/tokenizer_json.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/text/json_part.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxJsonDepth = 32;
constexpr std::size_t kMaxJsonValues = 1u << 20;  // outside of the vocabulary and the merges

// The events of nlohmann's parser.
class TokenizerJsonReader {
  public:
    TokenizerJsonReader(const std::string& source, JsonExtent extent) : source_(source), extent_(extent) {}
    TokenizerJson take() { return std::move(file_); }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(json::number_integer_t value) { return number(value, value); }
    bool number_unsigned(json::number_unsigned_t value) {
        constexpr auto kLargest = static_cast<json::number_unsigned_t>(INT64_MAX);
        return number(static_cast<std::int64_t>(std::min(value, kLargest)), value);
    }
    bool number_float(json::number_float_t value, const std::string&) { return add(value); }
    bool binary(json::binary_t&) { return false; }

    bool string(std::string& text) {
        if (place_ == Place::kPair) {
            pair_.push_back(std::move(text));
            return true;
        }
        if (place_ != Place::kMerges) return add(std::move(text));
        const std::size_t space = text.find(' ');
        if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) bad_merge();
        file_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
        return true;
    }

    bool start_object(std::size_t) {
        if (place_ == Place::kRest && at_model_field("vocab")) {
            place_ = Place::kVocab;
            return extent_ == JsonExtent::kWhole;
        }
        return open(json::object());
    }
    bool key(std::string& name) {
        key_ = std::move(name);
        return true;
    }
    bool end_object() { return close(); }

    bool start_array(std::size_t) {
        if (place_ == Place::kMerges) {
            place_ = Place::kPair;
            pair_.clear();
            return true;
        }
        if (place_ == Place::kRest && at_model_field("merges")) {
            place_ = Place::kMerges;
            file_.has_merges = true;
            return extent_ == JsonExtent::kWhole;
        }
        return open(json::array());
    }
    bool end_array() {
        if (place_ != Place::kPair) return close();
        if (pair_.size() != 2) bad_merge();
        file_.merges.emplace_back(std::move(pair_[0]), std::move(pair_[1]));
        place_ = Place::kMerges;
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const json::exception& failure) {
        throw Error(ErrorKind::kInvalidModel, messages::text_file_no_json(source_), failure.what());
    }

  private:
    enum class Place { kRest, kVocab, kMerges, kPair };

    [[noreturn]] void bad_merge() const {
        bad_field(source_, "model.merges[" + std::to_string(file_.merges.size()) + "]", messages::two_tokens_merged);
    }

    bool at_model_field(const char* name) const { return open_.size() == 2 && open_[1] == model_ && key_ == name; }

    bool number(std::int64_t id, auto value) {
        if (place_ != Place::kVocab) return add(value);
        file_.vocab.emplace_back(std::move(key_), id);
        return true;
    }

    json& add_value(json value) {
        if (place_ == Place::kVocab) bad_field(source_, "model.vocab", messages::an_object_of_token_ids);
        if (place_ != Place::kRest) bad_merge();
        if (++n_values_ > kMaxJsonValues) bad_field(source_, key_, messages::a_smaller_value);
        if (open_.empty()) return file_.rest = std::move(value);
        if (open_.back()->is_array()) {
            open_.back()->push_back(std::move(value));
            return open_.back()->back();
        }
        return (*open_.back())[key_] = std::move(value);
    }
    bool add(json value) {
        add_value(std::move(value));
        return true;
    }
    // Elements of lists move when the list grows, but none that is open does: nothing is
    // added before it is closed.
    bool open(json value) {
        if (open_.size() >= kMaxJsonDepth) bad_field(source_, key_, messages::nested_less_deeply);
        json* added = &add_value(std::move(value));
        if (open_.size() == 1 && key_ == "model") model_ = added;
        open_.push_back(added);
        return true;
    }
    bool close() {
        if (place_ != Place::kRest) {
            place_ = Place::kRest;
        } else {
            open_.pop_back();
        }
        return true;
    }

    std::string source_;
    JsonExtent extent_;
    TokenizerJson file_;
    std::vector<json*> open_;  // from the whole to the object or list that is being read
    json* model_ = nullptr;
    std::string key_;
    Place place_ = Place::kRest;
    std::vector<std::string> pair_;
    std::size_t n_values_ = 0;
};

}  // namespace

TokenizerJson parse_tokenizer_json(std::string_view bytes, const std::string& source, JsonExtent extent) {
    TokenizerJsonReader reader(source, extent);
    json::sax_parse(bytes, &reader);
    TokenizerJson file = reader.take();
    if (!file.rest.is_object()) throw Error(ErrorKind::kInvalidModel, messages::text_file_no_json_object(source));
    return file;
}

}  // namespace offstage::engine
