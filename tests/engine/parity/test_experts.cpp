#include "tests/engine/parity/test_experts.h"

#include <algorithm>

#include "tests/kernels/byte_inputs_reference.h"
#include "tests/kernels/expert_reference.h"

namespace offstage::engine::parity {

namespace {

// To 8 bits; earlier rounding may change a code, so the spread is that code's step.
void round_activations(std::vector<double>& activations, std::vector<double>& spreads) {
    constexpr double kTolerance = Promise::kTolerance;
    const std::vector<float> floats(activations.begin(), activations.end());
    const auto rounded = kernels::test::rounded_inputs(floats.data(), static_cast<std::int64_t>(floats.size()));
    double widest = 0;  // of 32, since they share a scale
    for (std::size_t j = 0; j < floats.size(); ++j) {
        if (j % 32 == 0) widest = *std::max_element(&spreads[j], &spreads[j] + 32);
        activations[j] = rounded.values[j];
        const double step = rounded.steps[j];
        const double moves = kTolerance * (spreads[j] + widest) + 1e-6 * step;
        spreads[j] += widest + (rounded.margins[j] * step < moves ? step / kTolerance : 0);
    }
}

}  // namespace

TestExperts::TestExperts(Backend& backend, const std::vector<kernels::ExpertLayout>& layouts)
    : backend_(backend), hidden_(layouts.front().hidden_dim) {
    for (const kernels::ExpertLayout& layout : layouts) {
        const auto seed = static_cast<std::uint32_t>(20 + 3 * experts_.size());
        const auto scale = 1.0f / std::sqrt(static_cast<float>(hidden_));
        std::vector<std::byte> block(layout.bytes());
        const kernels::ExpertView own{block.data(), layout};
        const auto rows = [&](const kernels::WeightView& part, std::uint32_t n) {
            RandomRows random(part.type, part.n_rows, part.n_cols, seed + n, scale);
            const std::size_t row_bytes = kernels::row_bytes(part.type, part.n_cols);
            for (std::int64_t r = 0; r < part.n_rows; ++r) {
                std::memcpy(block.data() + (part.row(r) - block.data()),
                            random.bytes().data() + static_cast<std::size_t>(r) * row_bytes, row_bytes);
            }
            return random;
        };
        // One matrix is both.
        const RandomRows gate = rows(own.gate(), layout.spec.has_gate() ? 0 : 1);
        Expert expert{layout, gate, rows(own.up(), 1), rows(own.down(), 2), {}, nullptr};
        expert.biases = random_floats(2 * layout.ffn_dim + hidden_, seed + 100, 0.8f);
        if (layout.spec.biases) {
            std::memcpy(block.data() + layout.bias_offset(), expert.biases.data(), layout.bias_bytes());
        } else {
            std::fill(expert.biases.begin(), expert.biases.end(), 0.0f);
        }
        expert.block = std::make_unique<OnDevice<std::byte>>(backend, std::move(block));
        backend.lay_out(kernels::ExpertView{expert.block->data(), layout});
        experts_.push_back(std::move(expert));
    }
}

TestExperts::Result TestExperts::run(std::span<const Share> shares, const OnDevice<float>& inputs,
                                     std::int64_t gap) const {
    std::vector<ExpertCall> calls;
    std::vector<std::int32_t> row_token;
    Result result;
    for (const Share& share : shares) {
        row_token.resize(row_token.size() + static_cast<std::size_t>(gap), 0);
        result.first_rows.push_back(static_cast<std::int64_t>(row_token.size()));
        calls.push_back({view(share.expert), result.first_rows.back(), static_cast<std::int64_t>(share.tokens.size())});
        row_token.insert(row_token.end(), share.tokens.begin(), share.tokens.end());
    }
    const OnDevice<std::int32_t> tokens(backend_, row_token);
    const OnDevice<float> out(backend_, filled(static_cast<std::int64_t>(row_token.size()) * hidden_, 77.0f));
    backend_.submit(ops::Experts{calls, inputs.data(), tokens.data(), out.data()});
    result.rows = out.download();
    return result;
}

std::vector<float> TestExperts::choose(const std::vector<std::int32_t>& chosen,
                                       const std::vector<std::int32_t>& row_token, const OnDevice<float>& inputs,
                                       std::int32_t elsewhere) const {
    std::vector<std::byte*> addresses;
    for (const Expert& expert : experts_) addresses.push_back(expert.block->data());
    if (elsewhere >= 0) addresses[static_cast<std::size_t>(elsewhere)] = nullptr;
    const OnDevice<std::byte*> blocks(backend_, addresses);
    const OnDevice<std::int32_t> experts(backend_, chosen);
    const OnDevice<std::int32_t> tokens(backend_, row_token);
    const OnDevice<float> out(backend_, filled(static_cast<std::int64_t>(chosen.size()) * hidden_, kUntouched));
    backend_.submit(ops::ChosenExperts{experts_.front().layout, blocks.data(), experts.data(),
                                       static_cast<std::int64_t>(chosen.size()), inputs.data(), tokens.data(),
                                       out.data()});
    return out.download();
}

std::vector<Expected> TestExperts::expected(std::size_t expert, const float* x, const Promise& promise,
                                            std::int64_t n_rows) const {
    const Expert& e = experts_[expert];
    const std::int64_t ffn = e.layout.ffn_dim;
    const kernels::ExpertSpec& spec = e.layout.spec;
    const float* biases = e.biases.data();
    const auto inputs_for = [&](WeightType type) {
        return as_multiplied(promise.rounds(type, e.layout, n_rows), x, hidden_);
    };
    const std::vector<double> gate_in = inputs_for(e.layout.gate);
    const std::vector<double> up_in = inputs_for(e.layout.up);
    std::vector<double> activations;
    std::vector<double> spreads;
    for (std::int64_t j = 0; j < ffn; ++j) {
        Expected gate;
        Expected up;
        gate.add(double{biases[j]});
        up.add(double{biases[ffn + j]});
        for (std::int64_t i = 0; i < hidden_; ++i) {
            gate.add(double{e.gate.at(j, i)} * gate_in[static_cast<std::size_t>(i)]);
            up.add(double{e.up.at(j, i)} * up_in[static_cast<std::size_t>(i)]);
        }
        const double activated = kernels::test::gate_in_double(spec, gate.value);
        const double factor = kernels::test::up_in_double(spec, up.value);
        // How far rounding inside the two sums can move the activation (its slope is at
        // most 1.2).
        const bool adds_one = spec.activation == kernels::Activation::kClamped;
        activations.push_back(activated * factor);
        spreads.push_back(1.2 * gate.magnitude * std::abs(factor) +
                          std::abs(activated) * (up.magnitude + (adds_one ? 1 : 0)));
    }
    if (promise.rounds(e.layout.down, e.layout, n_rows)) round_activations(activations, spreads);
    std::vector<Expected> out(static_cast<std::size_t>(hidden_));
    for (std::int64_t i = 0; i < hidden_; ++i) {
        Expected& value = out[static_cast<std::size_t>(i)];
        value.add(double{biases[2 * ffn + i]});
        for (std::int64_t j = 0; j < ffn; ++j) {
            const double column = double{e.layout.down_rows_are_outputs ? e.down.at(i, j) : e.down.at(j, i)};
            value.value += activations[static_cast<std::size_t>(j)] * column;
            value.magnitude += spreads[static_cast<std::size_t>(j)] * std::abs(column);
        }
    }
    return out;
}

std::vector<kernels::ExpertLayout> TestExperts::layouts_of(const std::vector<WeightType>& types, std::int64_t hidden,
                                                           std::int64_t ffn, const kernels::ExpertSpec& spec) {
    std::vector<kernels::ExpertLayout> layouts;
    for (const WeightType type : types) layouts.push_back(kernels::expert_layout(type, hidden, ffn, spec));
    return layouts;
}

std::vector<std::int32_t> some_tokens(std::int64_t n, std::int32_t first, std::int32_t apart) {
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < n; ++i) tokens.push_back((first + i * apart) % 64);
    return tokens;
}

void check_step(const Promise& promise, const TestExperts& experts, std::int64_t hidden, const OnDevice<float>& inputs,
                const std::vector<TestExperts::Share>& shares) {
    const TestExperts::Result result = experts.run(shares, inputs, 2);
    for (std::size_t s = 0; s < shares.size(); ++s) {
        for (std::size_t r = 0; r < shares[s].tokens.size(); ++r) {
            const float* x = inputs.host().data() + shares[s].tokens[r] * hidden;
            const auto n_rows = static_cast<std::int64_t>(shares[s].tokens.size());
            PARITY_VERIFY(mismatch(experts.row(result, s, r), experts.expected(shares[s].expert, x, promise, n_rows),
                                   promise.tolerance(n_rows)));
        }
        for (std::int64_t i = -2 * hidden; i < 0; ++i) {
            QCOMPARE(result.rows[static_cast<std::size_t>(result.first_rows[s] * hidden + i)], 77.0f);
        }
    }
}

void check_company(Backend& backend, const Promise& promise, const TestExperts& experts, std::int64_t hidden,
                   std::initializer_list<std::int64_t> all_n) {
    const OnDevice<float> inputs(backend, random_floats(64 * hidden, 31));
    for (const std::int64_t n : all_n) {
        const TestExperts::Share share{0, some_tokens(n, 3, 5)};
        const std::vector<TestExperts::Share> alone = {share};
        const std::vector<TestExperts::Share> company = {{1, some_tokens(2, 0, 1)},
                                                         {2, some_tokens(1, 7, 1)},
                                                         share,
                                                         {3, some_tokens(20, 1, 3)},
                                                         {4, some_tokens(7, 2, 1)}};
        const TestExperts::Result a = experts.run(alone, inputs, 0);
        const TestExperts::Result b = experts.run(company, inputs, 1);
        for (std::size_t r = 0; r < share.tokens.size(); ++r) {
            if (promise.bit_exact) {
                QVERIFY(same_bits(experts.row(a, 0, r), experts.row(b, 2, r)));
            } else {
                const float* x = inputs.host().data() + share.tokens[r] * hidden;
                PARITY_VERIFY(mismatch(experts.row(b, 2, r), experts.expected(0, x, promise, n), promise.tolerance(n)));
            }
        }
    }
}

void check_choice(Backend& backend, const kernels::ExpertLayout& layout, std::size_t n_rows) {
    if (!backend.takes_chosen_experts(layout)) {
        QVERIFY(backend.info().kind != DeviceKind::kCuda);
        return;
    }
    constexpr std::size_t kExperts = 3;
    const TestExperts experts(backend, std::vector<kernels::ExpertLayout>(kExperts, layout));
    const OnDevice<float> inputs(backend, random_floats(64 * layout.hidden_dim, 30));
    std::vector<std::int32_t> chosen;
    std::vector<std::int32_t> tokens;
    std::vector<TestExperts::Share> shares;
    for (std::size_t r = 0; r < n_rows; ++r) {
        chosen.push_back(static_cast<std::int32_t>((r * r + 2) % kExperts));
        tokens.push_back(static_cast<std::int32_t>((r * 7 + 5) % 64));
        shares.push_back({static_cast<std::size_t>(chosen.back()), {tokens.back()}});
    }
    const std::vector<float> rows = experts.choose(chosen, tokens, inputs);
    QVERIFY2(backend.ok(), backend.failure().english().c_str());
    std::vector<float> expected = experts.run(shares, inputs, 0).rows;
    QVERIFY(same_bits<float>(rows, expected));
    constexpr std::int32_t kElsewhere = 2;
    const std::vector<float> others = experts.choose(chosen, tokens, inputs, kElsewhere);
    QVERIFY2(backend.ok(), backend.failure().english().c_str());
    const auto hidden = static_cast<std::size_t>(layout.hidden_dim);
    for (std::size_t r = 0; r < n_rows; ++r) {
        if (chosen[r] == kElsewhere) std::fill_n(expected.data() + r * hidden, hidden, TestExperts::kUntouched);
    }
    QVERIFY(same_bits<float>(others, expected));
}

}  // namespace offstage::engine::parity
