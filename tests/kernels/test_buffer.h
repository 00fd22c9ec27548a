#pragma once
// Memory that ends at a page without access, with guard bytes on both sides of the
// values: a kernel that reads far beyond its input crashes, and guards_intact() finds one
// that writes beyond its output.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

#include <QtGlobal>

namespace offstage::kernels::test {

template <typename Value>
class TestBuffer {
  public:
    // slack: bytes between the last value and the forbidden page; it also sets the
    // values' alignment.
    explicit TestBuffer(std::int64_t n, std::size_t slack = 0) : n_(static_cast<std::size_t>(n)), slack_(slack) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t used = (kGuardBytes + n_ * sizeof(Value) + slack_ + page - 1) / page * page;
        mapped_bytes_ = used + page;
        void* mapped = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) qFatal("mmap of a test buffer failed");
        base_ = static_cast<std::byte*>(mapped);
        if (mprotect(base_ + used, page, PROT_NONE) != 0) qFatal("mprotect of a test buffer failed");
        std::memset(base_, kGuard, used);
        values_ = reinterpret_cast<Value*>(base_ + used - slack_ - n_ * sizeof(Value));
    }
    ~TestBuffer() { munmap(base_, mapped_bytes_); }
    TestBuffer(const TestBuffer&) = delete;
    TestBuffer& operator=(const TestBuffer&) = delete;

    Value* data() const { return values_; }
    std::span<Value> span() const { return {values_, n_}; }
    Value& operator[](std::int64_t i) const { return values_[i]; }

    bool guards_intact() const {
        const auto* begin = reinterpret_cast<const std::byte*>(values_);
        const auto* end = reinterpret_cast<const std::byte*>(values_ + n_);
        const auto is_guard = [](std::byte value) { return value == std::byte{kGuard}; };
        return std::all_of(begin - kGuardBytes, begin, is_guard) && std::all_of(end, end + slack_, is_guard);
    }

  private:
    static constexpr std::size_t kGuardBytes = 256;
    static constexpr unsigned char kGuard = 0xa5;
    std::size_t n_;
    std::size_t slack_;
    std::size_t mapped_bytes_ = 0;
    std::byte* base_ = nullptr;
    Value* values_ = nullptr;
};

}  // namespace offstage::kernels::test
