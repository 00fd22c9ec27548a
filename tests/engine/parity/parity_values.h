#pragma once
// Values for the checks of a device: in its memory, random weights, and expected results.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <QTest>

#include "engine/device/backend.h"
#include "kernels/packed.h"
#include "tests/kernels/attention_shapes.h"

namespace offstage::engine::parity {

using kernels::AttentionShape;
using kernels::WeightType;
using kernels::test::grouped_attention;
using kernels::test::latent_attention;

// The accuracy required of a device.
struct Promise {
    // For products and experts with more than kFewRows rows, as a share of the sum of the
    // magnitudes of the terms. For a device that rounds inputs to 16 bits it is larger.
    double batched_tolerance = 3e-6;
    bool bit_exact = true;  // a row of experts() has the same bits in any company
    // Inputs of products with files' blocks are rounded to 8 bits, also for the expected
    // results.
    bool byte_inputs = false;

    bool rounds(WeightType type) const { return byte_inputs && kernels::is_blocks(type); }
    // For experts with many rows: all matrices are in blocks, or none is multiplied so.
    bool rounds(WeightType type, const kernels::ExpertLayout& layout, std::int64_t n_rows) const {
        return rounds(type) &&
               (n_rows <= kFewRows || (rounds(layout.gate) && rounds(layout.up) && rounds(layout.down)));
    }
    double tolerance(std::int64_t n_rows) const { return n_rows > kFewRows ? batched_tolerance : kTolerance; }
    static constexpr std::int64_t kFewRows = 8;
    static constexpr double kTolerance = 3e-6;  // float32 throughout
};

inline constexpr WeightType kTypes[] = {WeightType::kF32, WeightType::kF16, WeightType::kBf16};
inline constexpr WeightType kPackedTypes[] = {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3,
                                              WeightType::kHqq2};

// Reserved before every check: no check takes a larger step.
Backend::StepShape largest_step();

// Waits until the device has finished its work.
void finish(Backend& backend);

// Values in the device's memory. The host's copy is kept, because upload() reads it until
// the next host_wait.
template <typename Value>
class OnDevice {
  public:
    OnDevice(Backend& backend, std::vector<Value> values) : backend_(backend), host_(std::move(values)) {
        block_ = backend.memory().allocate(host_.size() * sizeof(Value), MemoryUse::kWorkspace, "a test");
        backend.upload(block_.data(), host_.data(), host_.size() * sizeof(Value));
    }
    ~OnDevice() { finish(backend_); }  // nothing may still work on the memory
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

    Value* data() const { return block_.template as<Value>(); }
    const std::vector<Value>& host() const { return host_; }

    std::vector<Value> download() const {
        std::vector<Value> values(host_.size());
        backend_.download(values.data(), data(), values.size() * sizeof(Value));
        finish(backend_);
        return values;
    }

  private:
    Backend& backend_;
    std::vector<Value> host_;
    DeviceBlock block_;
};

std::vector<float> random_floats(std::int64_t n, std::uint32_t seed, float scale = 1.0f);
std::vector<float> filled(std::int64_t n, float value);

// Random rows of any type: their bytes, and their values.
class RandomRows {
  public:
    RandomRows(WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::uint32_t seed, float scale);

    const std::vector<std::byte>& bytes() const { return bytes_; }
    float at(std::int64_t row, std::int64_t col) const {
        return values_[static_cast<std::size_t>(row * n_cols_ + col)];
    }

  private:
    void set_scales(WeightType type, std::byte* row, std::mt19937& generator, float scale) const;

    std::int64_t n_cols_;
    std::vector<std::byte> bytes_;
    std::vector<float> values_;
};

// A weight (rows, cols) as the device and as the reference see it; `offset`: bytes from
// an address of any alignment.
struct TestWeight {
    TestWeight(Backend& backend, WeightType type, std::int64_t rows, std::int64_t cols, std::uint32_t seed,
               std::size_t offset = 0)
        : values(type, rows, cols, seed, 0.5f),
          device(backend, behind(offset, values.bytes())),
          view{device.data() + offset, type, rows, cols} {
        backend.lay_out(view);
    }

    float at(std::int64_t row, std::int64_t col) const { return values.at(row, col); }
    static std::vector<std::byte> behind(std::size_t offset, std::vector<std::byte> bytes) {
        bytes.insert(bytes.begin(), offset, std::byte{0xff});
        return bytes;
    }

    RandomRows values;
    OnDevice<std::byte> device;
    kernels::WeightView view;
};

// An expected value, and the sum of the magnitudes of its terms, which bounds the
// rounding error.
struct Expected {
    double value = 0;
    double magnitude = 0;
    void add(double term) {
        value += term;
        magnitude += std::abs(term);
    }
};

// Empty if all is equal, otherwise the first different place.
QString mismatch(std::span<const float> got, std::span<const Expected> want, double tolerance);
// n inputs, rounded to 8 bits or not.
std::vector<double> as_multiplied(bool rounds, const float* x, std::int64_t n);

#define PARITY_VERIFY(problem)                        \
    do {                                              \
        const QString found = (problem);              \
        QVERIFY2(found.isEmpty(), qPrintable(found)); \
    } while (false)

template <typename Value>
bool same_bits(std::span<const Value> a, std::span<const Value> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace offstage::engine::parity
