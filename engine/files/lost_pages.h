#pragma once

#include <cstddef>
#include <cstdint>

namespace offstage::engine {

// Keeps the program alive when a page of a mapped file cannot be read, since the file was
// cut short or its disk fails: the system sends SIGBUS then. While an object exists, the
// map reads as zeros from the lost page on, and the loss is counted: whoever reads
// compares n_lost() before and after, and discards what it read. For up to 1,024 maps at
// once; SIGBUS elsewhere goes to the handler that was there before. Any thread.
class LostPages {
  public:
    // A whole map, from its first page on.
    LostPages(const std::byte* data, std::size_t bytes);
    ~LostPages();  // before munmap()
    LostPages(const LostPages&) = delete;
    LostPages& operator=(const LostPages&) = delete;

    // Losses since the construction; never decreases.
    std::uint64_t n_lost() const;
    // Maps the file of this descriptor again, if there are zeros in its place.
    void map_again(int descriptor);

  private:
    struct Slot;

    Slot* slot_ = nullptr;  // nullptr: none was free
};

}  // namespace offstage::engine
