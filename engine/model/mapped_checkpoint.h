#pragma once
// A Checkpoint over mapped files, in any format. For code that opens one.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/files/mapped_file.h"
#include "engine/message.h"
#include "engine/model/checkpoint.h"
#include "engine/model/cold_reads.h"
#include "engine/model/file_bytes.h"

namespace offstage::engine {

class MappedCheckpoint final : public Checkpoint, public ColdBytes, public FileBytes {
  public:
    // `readable`: the tensor types that it may hold, for messages.
    MappedCheckpoint(std::string source, MessageArgument readable)
        : source_(std::move(source)), readable_(std::move(readable)) {}

    // The tensors of one file. Before finish() only.
    void add(MappedFile file, std::vector<TensorView> tensors);
    // No tensor may be added after this: the table points into their names, which are
    // unique.
    void finish();

    std::span<const TensorView> tensors() const override { return tensors_; }
    const TensorView* find(std::string_view name) const override;
    void release(std::span<const std::byte> bytes) const override;
    void drop_cached(std::span<const std::byte> bytes) const override;
    void prefetch(std::span<const std::byte> bytes) const override;
    void require_readable(std::span<const std::byte> bytes) const override;
    std::uint64_t n_lost() const override;
    void require_nothing_lost(std::uint64_t before) const override;
    void expect_scattered_reads(bool scattered) const override;
    std::vector<const RegularFile*> files() const override;
    FileRange range_of(std::span<const std::byte> bytes) const override;
    std::uint64_t total_bytes() const override { return total_bytes_; }
    std::string source() const override { return source_; }

  protected:
    std::string file_of(const TensorView& tensor) const override;
    MessageArgument readable_types() const override { return readable_; }

  private:
    const MappedFile* file_with(std::span<const std::byte> bytes) const;

    std::string source_;
    MessageArgument readable_;
    std::vector<MappedFile> files_;
    std::vector<TensorView> tensors_;
    std::unordered_map<std::string_view, const TensorView*> by_name_;
    std::uint64_t total_bytes_ = 0;
};

}  // namespace offstage::engine
