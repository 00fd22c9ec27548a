#include "engine/model/mapped_checkpoint.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/model/model_messages.h"
#include "engine/model/quantized_tensor.h"

namespace offstage::engine {

void MappedCheckpoint::add(MappedFile file, std::vector<TensorView> tensors) {
    if (file.file().size_bytes_now() < file.bytes().size()) {
        throw Error(ErrorKind::kInvalidModel, messages::file_became_shorter(file.file().path()));
    }
    for (const TensorView& tensor : tensors) total_bytes_ += tensor.bytes.size();
    tensors_.insert(tensors_.end(), std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end()));
    files_.push_back(std::move(file));
}

void MappedCheckpoint::finish() {
    join_quantized(tensors_, *this);
    by_name_.reserve(tensors_.size());
    for (const TensorView& tensor : tensors_) by_name_.emplace(tensor.name, &tensor);
    assert(by_name_.size() == tensors_.size());
}

const TensorView* MappedCheckpoint::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

void MappedCheckpoint::release(std::span<const std::byte> bytes) const {
    if (const MappedFile* file = file_with(bytes)) file->drop_pages(bytes);
}

void MappedCheckpoint::drop_cached(std::span<const std::byte> bytes) const {
    if (const MappedFile* file = file_with(bytes)) file->drop_cached(bytes);
}

void MappedCheckpoint::prefetch(std::span<const std::byte> bytes) const {
    if (const MappedFile* file = file_with(bytes)) file->read_ahead(bytes);
}

void MappedCheckpoint::require_readable(std::span<const std::byte> bytes) const {
    if (const MappedFile* file = file_with(bytes)) file->require_readable(bytes);
}

std::uint64_t MappedCheckpoint::n_lost() const {
    std::uint64_t n = 0;
    for (const MappedFile& file : files_) n += file.n_lost();
    return n;
}

void MappedCheckpoint::require_nothing_lost(std::uint64_t before) const {
    if (n_lost() == before) return;
    for (const MappedFile& file : files_) file.require_nothing_lost(0);
    throw Error(ErrorKind::kInvalidModel, messages::changed_while_read(source_));
}

void MappedCheckpoint::expect_scattered_reads(bool scattered) const {
    for (const MappedFile& file : files_) file.expect_scattered_reads(scattered);
}

std::vector<const RegularFile*> MappedCheckpoint::files() const {
    std::vector<const RegularFile*> files;
    for (const MappedFile& file : files_) files.push_back(&file.file());
    return files;
}

FileRange MappedCheckpoint::range_of(std::span<const std::byte> bytes) const {
    const MappedFile* const file = file_with(bytes);
    assert(file != nullptr);
    return {static_cast<std::size_t>(file - files_.data()),
            static_cast<std::uint64_t>(bytes.data() - file->bytes().data()), bytes.size()};
}

std::string MappedCheckpoint::file_of(const TensorView& tensor) const {
    const MappedFile* file = file_with(tensor.bytes);
    return file == nullptr ? source_ : file->file().path();
}

const MappedFile* MappedCheckpoint::file_with(std::span<const std::byte> bytes) const {
    const auto found =
        std::find_if(files_.begin(), files_.end(), [&](const MappedFile& file) { return file.contains(bytes); });
    return found == files_.end() ? nullptr : &*found;
}

}  // namespace offstage::engine
