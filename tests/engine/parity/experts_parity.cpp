#include <numeric>

#include "engine/device/mirror.h"
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_experts.h"
#include "tests/kernels/expert_reference.h"

namespace offstage::engine::parity {

namespace {

void check_experts(Backend& backend, const Promise& promise) {
    for (const WeightType type : kTypes) {
        for (const auto& [hidden, ffn] :
             {std::pair<std::int64_t, std::int64_t>{72, 33}, {200, 130}, {64, 256}, {192, 150}, {128, 1}, {8, 5}}) {
            const TestExperts experts(backend, type, hidden, ffn, 4);
            const OnDevice<float> inputs(backend, random_floats(64 * hidden, 30));
            std::vector<std::vector<TestExperts::Share>> steps;
            for (std::int64_t n = 1; n <= 9; ++n) steps.push_back({{0, some_tokens(n, 5, 7)}});
            steps.push_back({{1, some_tokens(1, 63, 1)}, {3, some_tokens(1, 0, 1)}});
            steps.push_back({{2, some_tokens(3, 0, 1)},
                             {0, some_tokens(40, 1, 3)},
                             {1, some_tokens(8, 9, 5)},
                             {3, some_tokens(12, 0, 1)}});
            for (const auto& shares : steps) {
                check_step(promise, experts, hidden, inputs, shares);
                if (QTest::currentTestFailed()) return;
            }
        }
    }
}

void check_experts_packed(Backend& backend, const Promise& promise) {
    for (const WeightType type : kPackedTypes) {
        const auto check = [&](std::int64_t hidden, std::int64_t ffn,
                               const std::vector<std::vector<TestExperts::Share>>& steps) {
            const TestExperts experts(backend, type, hidden, ffn, 2);
            const OnDevice<float> inputs(backend, random_floats(64 * hidden, 30));
            for (const auto& shares : steps) {
                if (!QTest::currentTestFailed()) check_step(promise, experts, hidden, inputs, shares);
            }
        };
        std::vector<std::vector<TestExperts::Share>> steps;
        for (std::int64_t n = 1; n <= 8; ++n) steps.push_back({{0, some_tokens(n, 5, 7)}});
        check(64, 33, steps);
        check(192, 70, {{{0, some_tokens(1, 3, 1)}, {1, some_tokens(21, 0, 3)}}, {{1, some_tokens(6, 0, 1)}}});
        check(320, 5, {{{0, some_tokens(2, 3, 1)}, {1, some_tokens(4, 0, 3)}}, {{1, some_tokens(9, 0, 1)}}});
        // Inputs that are split in such products: pieces of 256 columns for each warp, or
        // no pieces.
        check(256, 33, steps);
        check(768, 16, {{{0, some_tokens(5, 3, 1)}, {1, some_tokens(8, 0, 3)}}, {{1, some_tokens(1, 0, 1)}}});
        check(1280, 5, {{{1, some_tokens(2, 0, 1)}}, {{0, some_tokens(3, 0, 1)}}});
        check(640, 17, {{{1, some_tokens(1, 0, 1)}}, {{0, some_tokens(33, 0, 1)}}});
        // With one neuron nothing is averaged: a product's last bits show.
        check(1088, 1, {{{0, some_tokens(2, 0, 1)}}, {{1, some_tokens(8, 0, 1)}}});
        // More columns than a block takes, and than HQQ2's super groups have.
        check(2112, 18, {{{1, some_tokens(1, 0, 1)}}});
        check(1216, 9, {{{0, some_tokens(3, 0, 1)}}, {{1, some_tokens(8, 0, 1)}}});
    }
}

// Each expert of a step in a different format.
void check_experts_of_mixed_formats(Backend& backend, const Promise& promise) {
    constexpr std::int64_t kHidden = 128;
    const std::vector<WeightType> types = {WeightType::kHqq2, WeightType::kBf16, WeightType::kHqq4, WeightType::kHqq4,
                                           WeightType::kHqq3, WeightType::kInt8, WeightType::kHqq2, WeightType::kF16};
    const TestExperts experts(backend, types, kHidden, 48);
    const OnDevice<float> inputs(backend, random_floats(64 * kHidden, 32));
    std::vector<TestExperts::Share> one_each;
    std::vector<TestExperts::Share> several;
    for (std::size_t e = 0; e < types.size(); ++e) {
        one_each.push_back({e, some_tokens(1, static_cast<std::int32_t>(e), 1)});
        several.push_back({e, some_tokens(static_cast<std::int64_t>(e * 3 + 1), static_cast<std::int32_t>(e), 3)});
    }
    check_step(promise, experts, kHidden, inputs, one_each);
    if (!QTest::currentTestFailed()) check_step(promise, experts, kHidden, inputs, several);
}

// Matrices of one expert in different formats, w2 in both orientations, few rows and
// many.
void check_experts_of_mixed_matrices(Backend& backend, const Promise& promise) {
    constexpr std::int64_t kHidden = 128;
    std::vector<kernels::ExpertLayout> layouts;
    const auto add = [&](WeightType gate, WeightType up, WeightType down, std::int64_t ffn, bool outputs) {
        kernels::ExpertLayout layout;
        layout.hidden_dim = kHidden;
        layout.ffn_dim = ffn;
        layout.gate = gate;
        layout.up = up;
        layout.down = down;
        layout.down_rows_are_outputs = outputs;
        layout.spec.biases = layouts.size() % 2 == 0;
        if (layout.spec.biases) layout.spec.activation = kernels::Activation::kClamped;
        layouts.push_back(layout);
    };
    add(WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8, 35, false);
    add(WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8, 33, false);
    add(WeightType::kHqq3, WeightType::kHqq2, WeightType::kHqq4, 48, false);
    add(WeightType::kBf16, WeightType::kInt8, WeightType::kF32, 21, false);
    add(WeightType::kHqq4, WeightType::kBf16, WeightType::kF16, 40, false);
    add(WeightType::kF32, WeightType::kF32, WeightType::kBf16, 17, false);
    add(WeightType::kF16, WeightType::kF16, WeightType::kHqq4, 70, false);
    add(WeightType::kHqq4, WeightType::kHqq4, WeightType::kInt8, 64, true);
    add(WeightType::kHqq2, WeightType::kHqq2, WeightType::kHqq2, 192, true);
    add(WeightType::kBf16, WeightType::kBf16, WeightType::kBf16, 53, true);
    add(WeightType::kF32, WeightType::kHqq3, WeightType::kF16, 30, true);
    const TestExperts experts(backend, layouts);
    const OnDevice<float> inputs(backend, random_floats(64 * kHidden, 34));
    std::vector<TestExperts::Share> together;
    for (std::size_t e = 0; e < layouts.size(); ++e) {
        for (const std::int64_t n : {1, 2, 3, 5, 8, 21}) {
            if (QTest::currentTestFailed()) return;
            check_step(promise, experts, kHidden, inputs, {{e, some_tokens(n, 3, 5)}});
        }
        together.push_back({e, some_tokens(static_cast<std::int64_t>(e * 2 + 1), 1, 3)});
    }
    check_step(promise, experts, kHidden, inputs, together);
}

// Every activation, with and without biases, in every format, few rows and many.
void check_all_specs(Backend& backend, const Promise& promise, const std::vector<WeightType>& types,
                     std::int64_t hidden, std::int64_t ffn) {
    for (kernels::ExpertSpec spec : kernels::test::all_expert_specs()) {
        for (const bool biases : {true, false}) {
            if (biases && !spec.has_gate()) continue;
            spec.biases = biases;
            const TestExperts experts(backend, types, hidden, ffn, spec);
            const OnDevice<float> inputs(backend, random_floats(64 * hidden, 33));
            for (std::size_t e = 0; e < types.size(); ++e) {
                for (const std::int64_t n : {1, 2, 3, 8, 21}) {
                    if (!QTest::currentTestFailed())
                        check_step(promise, experts, hidden, inputs, {{e, some_tokens(n, 3, 5)}});
                }
            }
            std::vector<TestExperts::Share> together;
            for (std::size_t e = 0; e < types.size(); ++e) {
                together.push_back({e, some_tokens(static_cast<std::int64_t>(e * 4 + 1), 1, 3)});
            }
            if (!QTest::currentTestFailed()) check_step(promise, experts, hidden, inputs, together);
        }
    }
}
void check_experts_by_spec(Backend& backend, const Promise& promise) {
    check_all_specs(backend, promise, {std::begin(kTypes), std::end(kTypes)}, 29, 17);
}
void check_experts_by_spec_packed(Backend& backend, const Promise& promise) {
    check_all_specs(backend, promise, {std::begin(kPackedTypes), std::end(kPackedTypes)}, 128, 35);
    if (QTest::currentTestFailed()) return;
    check_all_specs(backend, promise, {std::begin(kPackedTypes), std::end(kPackedTypes)}, 256, 18);
}

void check_experts_in_company(Backend& backend, const Promise& promise) {
    for (const WeightType type : kTypes) {
        check_company(backend, promise, TestExperts(backend, type, 200, 250, 5), 200, {1, 2, 3, 5, 8, 9, 33});
        if (QTest::currentTestFailed()) return;
    }
}

// Beside experts of its own format and of others.
void check_experts_packed_in_company(Backend& backend, const Promise& promise) {
    for (const WeightType type : kPackedTypes) {
        const std::vector<WeightType> types = {type, type, WeightType::kHqq3, WeightType::kBf16, type};
        check_company(backend, promise, TestExperts(backend, types, 128, 70), 128, {1, 4, 6, 20});
        if (QTest::currentTestFailed()) return;
        check_company(backend, promise, TestExperts(backend, types, 256, 35), 256, {1, 2, 3, 7, 8});
        if (QTest::currentTestFailed()) return;
    }
}

void check_experts_chosen(Backend& backend, const Promise&) {
    kernels::ExpertSpec biased;
    biased.biases = true;
    biased.activation = kernels::Activation::kClamped;
    kernels::ExpertLayout mixed = kernels::expert_layout(WeightType::kInt8, 128, 21, biased);
    mixed.gate = WeightType::kBf16;
    mixed.down = WeightType::kF32;
    for (const kernels::ExpertLayout& layout :
         {kernels::expert_layout(WeightType::kBf16, 72, 130, biased),
          kernels::expert_layout(WeightType::kF32, 20, 9, kernels::ExpertSpec()),
          kernels::expert_layout(WeightType::kHqq4, 128, 35, biased),
          kernels::expert_layout(WeightType::kHqq3, 256, 35, biased),
          kernels::expert_layout(WeightType::kInt8, 64, 17, kernels::ExpertSpec()), mixed}) {
        check_choice(backend, layout);
        if (QTest::currentTestFailed()) return;
    }
    // More rows than a launch takes.
    check_choice(backend, kernels::expert_layout(WeightType::kF16, 24, 16, kernels::ExpertSpec()), 70);
    kernels::ExpertLayout outputs = kernels::expert_layout(WeightType::kBf16, 72, 16, kernels::ExpertSpec());
    outputs.down_rows_are_outputs = true;  // a product for each call
    QVERIFY(!backend.takes_chosen_experts(outputs));
}

// A network for every token is an expert with all rows, wider than the routed experts.
void check_dense_network(Backend& backend, const Promise& promise) {
    for (const auto& [type, hidden] :
         {std::pair<WeightType, std::int64_t>{WeightType::kBf16, 72}, {WeightType::kHqq4, 128}}) {
        const TestExperts network(backend, type, hidden, 300, 1);
        const OnDevice<float> inputs(backend, random_floats(64 * hidden, 33));
        for (const std::int64_t n : {1, 5, 64}) {
            const std::vector<TestExperts::Share> all = {{0, some_tokens(n, 0, 1)}};
            check_step(promise, network, hidden, inputs, all);
            if (QTest::currentTestFailed()) return;
        }
    }
}

// Every third row, and where the rows are, in host memory: the bits of rows on the
// device, also of rows that the host writes between two of the same operation.
void check_combine_host_rows(Backend& backend, const Promise&) {
    if (!backend.combines_host_rows()) return;
    constexpr std::int64_t kHidden = 300;
    for (const std::int64_t n_active : {1, 2, 8, 11}) {
        const auto n = static_cast<std::size_t>(n_active);
        PinnedHost<float> host_rows(backend, n * kHidden, "a test");
        PinnedHost<std::int32_t> row_of(backend, n, "a test");
        PARITY_VERIFY(host_rows.mapped() == nullptr || row_of.mapped() == nullptr ? QStringLiteral("not mapped")
                                                                                  : QString());
        const OnDevice<float> weights(backend, random_floats(n_active, 41));
        for (const std::uint32_t seed : {50u, 51u}) {
            const std::vector<float> values = random_floats(n_active * kHidden, seed);
            std::vector<float> on_device = values;
            std::vector<std::int32_t> order(n);
            for (std::size_t r = 0; r < n; ++r) {
                order[r] = static_cast<std::int32_t>((r + seed) % n);
                row_of.host()[r] = order[r] % 3 == 0 ? ~order[r] : order[r];
                float* const its = on_device.data() + r * kHidden;
                if (r % 3 == 0) std::fill_n(its, kHidden, NAN);
            }
            std::copy(values.begin(), values.end(), host_rows.host());
            const OnDevice<float> all(backend, values), some(backend, on_device);
            const OnDevice<std::int32_t> order_there(backend, order);
            const OnDevice<float> want(backend, random_floats(kHidden, 42)), got(backend, random_floats(kHidden, 42));
            backend.submit(
                ops::Combine{all.data(), order_there.data(), weights.data(), 1, n_active, kHidden, want.data()});
            backend.submit(ops::Combine{some.data(), row_of.mapped(), weights.data(), 1, n_active, kHidden, got.data(),
                                        host_rows.mapped()});
            QVERIFY(same_bits<float>(got.download(), want.download()));
            if (!backend.awaits_host()) continue;
            // What the host writes when the device waits already.
            PinnedHost<float> seen(backend, 1, "a test");
            const OnDevice<float> late(backend, random_floats(kHidden, 42));
            const std::vector<std::int32_t> places(row_of.host(), row_of.host() + n);
            std::fill_n(row_of.host(), n, 0);
            std::fill_n(host_rows.host(), n_active * kHidden, NAN);
            backend.begin_repeated(7);
            seen.store(0, late.data(), 1);
            const std::uint32_t number = backend.hand_over();
            backend.submit(ops::Combine{some.data(), row_of.mapped(), weights.data(), 1, n_active, kHidden, late.data(),
                                        host_rows.mapped(), true});
            backend.end_repeated();
            QVERIFY(backend.host_wait_handed(number));
            QCOMPARE(seen.host()[0], late.host()[0]);
            std::copy(values.begin(), values.end(), host_rows.host());
            std::copy(places.begin(), places.end(), row_of.host());
            backend.answer(number);
            QVERIFY(same_bits<float>(late.download(), want.download()));
        }
    }
}

void check_combine(Backend& backend, const Promise&) {
    for (const std::int64_t n_active : {1, 2, 4}) {
        for (const std::int64_t n : {1, 3, 50}) {
            constexpr std::int64_t kHidden = 72;
            const OnDevice<float> rows(backend, random_floats(n * n_active * kHidden, 40));
            const OnDevice<float> weights(backend, random_floats(n * n_active, 41));
            std::vector<std::int32_t> row_of(static_cast<std::size_t>(n * n_active));
            std::iota(row_of.begin(), row_of.end(), 0);
            std::shuffle(row_of.begin(), row_of.end(), std::mt19937(5));
            const OnDevice<std::int32_t> order(backend, row_of);
            const OnDevice<float> x(backend, random_floats(n * kHidden, 42));
            backend.submit(ops::Combine{rows.data(), order.data(), weights.data(), n, n_active, kHidden, x.data()});
            std::vector<Expected> want;
            for (std::int64_t t = 0; t < n; ++t) {
                for (std::int64_t i = 0; i < kHidden; ++i) {
                    Expected value;
                    value.add(double{x.host()[static_cast<std::size_t>(t * kHidden + i)]});
                    for (std::int64_t a = t * n_active; a < (t + 1) * n_active; ++a) {
                        const auto row = static_cast<std::size_t>(row_of[static_cast<std::size_t>(a)] * kHidden + i);
                        value.add(double{weights.host()[static_cast<std::size_t>(a)]} * double{rows.host()[row]});
                    }
                    want.push_back(value);
                }
            }
            PARITY_VERIFY(mismatch(x.download(), want, 1e-6));
        }
    }
}

}  // namespace

std::vector<Check> experts_checks() {
    return {{"experts", check_experts},
            {"experts_by_spec", check_experts_by_spec},
            {"experts_by_spec_packed", check_experts_by_spec_packed},
            {"experts_in_company", check_experts_in_company},
            {"experts_packed", check_experts_packed},
            {"experts_packed_in_company", check_experts_packed_in_company},
            {"experts_of_mixed_formats", check_experts_of_mixed_formats},
            {"experts_of_mixed_matrices", check_experts_of_mixed_matrices},
            {"experts_chosen", check_experts_chosen},
            {"dense_network", check_dense_network},
            {"combine", check_combine},
            {"combine_host_rows", check_combine_host_rows}};
}

}  // namespace offstage::engine::parity
