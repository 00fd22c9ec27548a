#pragma once
// A part of an array that somewhere else owns: std::span for headers that device code
// includes, which is C++17.

#include <cstddef>
#include <utility>

namespace offstage::kernels {

template <typename T>
class Span {
  public:
    constexpr Span() = default;
    constexpr Span(const T* data, std::size_t size) : data_(data), size_(size) {}
    // Whatever has data() and size(): an array, a vector, std::span.
    template <typename Values, typename = decltype(static_cast<const T*>(std::declval<const Values&>().data()))>
    constexpr Span(const Values& values) : data_(values.data()), size_(values.size()) {}

    constexpr const T* data() const { return data_; }
    constexpr std::size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T* begin() const { return data_; }
    constexpr const T* end() const { return data_ + size_; }
    constexpr const T& operator[](std::size_t i) const { return data_[i]; }
    constexpr const T& front() const { return data_[0]; }

  private:
    const T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace offstage::kernels
