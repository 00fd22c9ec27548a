#include <algorithm>
#include <cassert>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/cold_reads.h"
#include "engine/model/file.h"
#include "engine/model/safetensors.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kMaxIndexBytes = 64u << 20;

class SafetensorsCheckpoint final : public Checkpoint, public ColdBytes {
  public:
    explicit SafetensorsCheckpoint(std::string source) : source_(std::move(source)) {}

    // Adds the tensors of one file: all of them, or those that an index names. Before finish() only.
    void add_file(const std::filesystem::path& path, const std::vector<std::string>* wanted) {
        MappedFile map(path);
        const std::string& name = map.file().path();
        std::vector<SafetensorsEntry> entries = parse_safetensors_header(map.bytes(), map.bytes().size(), name);
        if (map.file().size_bytes_now() < map.bytes().size()) {
            throw Error(ErrorKind::kInvalidModel,
                        name + ": became shorter while it was opened; expected a file that nobody writes to");
        }
        if (wanted != nullptr) {
            std::unordered_set<std::string_view> missing(wanted->begin(), wanted->end());
            std::erase_if(entries, [&](const SafetensorsEntry& entry) { return missing.erase(entry.name) == 0; });
            if (!missing.empty()) {
                const std::string_view first = *std::min_element(missing.begin(), missing.end());
                throw Error(ErrorKind::kInvalidModel,
                            name + ": tensor " + in_quotes(first) + " is missing; expected it here, because " +
                                source_ + " says so" +
                                (missing.size() == 1 ? "" : " (and " + std::to_string(missing.size() - 1) + " more)"));
            }
        }
        for (SafetensorsEntry& entry : entries) {
            const auto bytes = map.bytes().subspan(entry.begin, entry.end - entry.begin);
            total_bytes_ += bytes.size();
            tensors_.push_back({std::move(entry.name), entry.type, std::move(entry.shape), bytes, entry.supported_type,
                                std::move(entry.type_name)});
        }
        files_.push_back(std::move(map));
    }

    // No tensor may be added after this: the table points into their names.
    void finish() {
        by_name_.reserve(tensors_.size());
        for (const TensorView& tensor : tensors_) by_name_.emplace(tensor.name, &tensor);
        assert(by_name_.size() == tensors_.size());
    }

    std::span<const TensorView> tensors() const override { return tensors_; }

    const TensorView* find(std::string_view name) const override {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }

    void release(std::span<const std::byte> bytes) const override {
        if (const MappedFile* file = file_with(bytes)) file->drop_pages(bytes);
    }

    void drop_cached(std::span<const std::byte> bytes) const override {
        if (const MappedFile* file = file_with(bytes)) file->drop_cached(bytes);
    }

    void prefetch(std::span<const std::byte> bytes) const override {
        if (const MappedFile* file = file_with(bytes)) file->read_ahead(bytes);
    }

    void require_readable(std::span<const std::byte> bytes) const override {
        if (const MappedFile* file = file_with(bytes)) file->require_readable(bytes);
    }

    std::uint64_t total_bytes() const override { return total_bytes_; }
    std::string source() const override { return source_; }

  protected:
    std::string file_of(const TensorView& tensor) const override {
        const MappedFile* file = file_with(tensor.bytes);
        return file == nullptr ? source_ : file->file().path();
    }

  private:
    const MappedFile* file_with(std::span<const std::byte> bytes) const {
        const auto found =
            std::find_if(files_.begin(), files_.end(), [&](const MappedFile& file) { return file.contains(bytes); });
        return found == files_.end() ? nullptr : &*found;
    }

    std::string source_;
    std::vector<MappedFile> files_;
    std::vector<TensorView> tensors_;
    std::unordered_map<std::string_view, const TensorView*> by_name_;
    std::uint64_t total_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Checkpoint> open_safetensors_file(const std::filesystem::path& file) {
    auto checkpoint = std::make_unique<SafetensorsCheckpoint>(file.string());
    checkpoint->add_file(file, nullptr);
    checkpoint->finish();
    return checkpoint;
}

std::unique_ptr<Checkpoint> open_safetensors_shards(const std::filesystem::path& index_file) {
    const std::string text = RegularFile(index_file).read_all(kMaxIndexBytes);
    const std::vector<ShardContents> shards = parse_shard_index(text, index_file.string());
    auto checkpoint = std::make_unique<SafetensorsCheckpoint>(index_file.string());
    for (const ShardContents& shard : shards) {
        const std::filesystem::path path = index_file.parent_path() / shard.file;
        std::error_code ignored;
        if (std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::not_found) {
            throw Error(ErrorKind::kNotFound, path.string() + ": is missing; expected it, because " +
                                                  index_file.string() + " names it for tensor " +
                                                  in_quotes(shard.tensors.front()) + " (" +
                                                  std::to_string(shard.tensors.size()) + " in all)");
        }
        checkpoint->add_file(path, &shard.tensors);
    }
    checkpoint->finish();
    return checkpoint;
}

}  // namespace offstage::engine
