#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "tests/engine/parity/parity_values.h"

namespace offstage::engine::parity {

// Experts of one shape on the device, and steps over them.
class TestExperts {
  public:
    TestExperts(Backend& backend, WeightType type, std::int64_t hidden, std::int64_t ffn, std::size_t n_experts)
        : TestExperts(backend, std::vector<WeightType>(n_experts, type), hidden, ffn) {}
    TestExperts(Backend& backend, const std::vector<WeightType>& types, std::int64_t hidden, std::int64_t ffn,
                const kernels::ExpertSpec& spec = {})
        : TestExperts(backend, layouts_of(types, hidden, ffn, spec)) {}
    // Their hidden_dim is the same.
    TestExperts(Backend& backend, const std::vector<kernels::ExpertLayout>& layouts);

    kernels::ExpertView view(std::size_t expert) const {
        return {experts_[expert].block->data(), experts_[expert].layout};
    }

    // Runs the calls (expert, rows) in one step. Rows are in the calls' order, with `gap`
    // unused rows before each call.
    struct Share {
        std::size_t expert;
        std::vector<std::int32_t> tokens;
    };
    struct Result {
        std::vector<float> rows;
        std::vector<std::int64_t> first_rows;
    };
    Result run(std::span<const Share> shares, const OnDevice<float>& inputs, std::int64_t gap) const;

    // Rows of one token and expert each, found by the device in a table; elsewhere: an
    // expert that it lacks, whose rows are kUntouched.
    static constexpr float kUntouched = 77.0f;
    std::vector<float> choose(const std::vector<std::int32_t>& chosen, const std::vector<std::int32_t>& row_token,
                              const OnDevice<float>& inputs, std::int32_t elsewhere = -1) const;

    // For a row of an expert that has n_rows of them.
    std::vector<Expected> expected(std::size_t expert, const float* x, const Promise& promise,
                                   std::int64_t n_rows) const;

    std::span<const float> row(const Result& result, std::size_t share, std::size_t row) const {
        const auto first = static_cast<std::size_t>(result.first_rows[share]) + row;
        return std::span(result.rows)
            .subspan(first * static_cast<std::size_t>(hidden_), static_cast<std::size_t>(hidden_));
    }

  private:
    struct Expert {
        kernels::ExpertLayout layout;
        RandomRows gate, up, down;
        std::vector<float> biases;  // 0 where there are none
        std::unique_ptr<OnDevice<std::byte>> block;
    };

    static std::vector<kernels::ExpertLayout> layouts_of(const std::vector<WeightType>& types, std::int64_t hidden,
                                                         std::int64_t ffn, const kernels::ExpertSpec& spec);

    Backend& backend_;
    std::int64_t hidden_;
    std::vector<Expert> experts_;
};

// n different tokens of 64, in order if `apart` is 1, otherwise scattered.
std::vector<std::int32_t> some_tokens(std::int64_t n, std::int32_t first, std::int32_t apart);

// One step's results, and the unused rows before each call.
void check_step(const Promise& promise, const TestExperts& experts, std::int64_t hidden, const OnDevice<float>& inputs,
                const std::vector<TestExperts::Share>& shares);
// The first expert's rows have the same results alone and beside the next four, for any
// addresses of the inputs.
void check_company(Backend& backend, const Promise& promise, const TestExperts& experts, std::int64_t hidden,
                   std::initializer_list<std::int64_t> all_n);
// The device's own choice among experts of one layout gives the bits of calls of one row.
void check_choice(Backend& backend, const kernels::ExpertLayout& layout, std::size_t n_rows = 4);

}  // namespace offstage::engine::parity
