// Checks with weights in files' blocks.
#include "tests/engine/parity/backend_parity.h"
#include "tests/engine/parity/test_experts.h"
#include "tests/kernels/expert_reference.h"

namespace offstage::engine::parity {

namespace {

const std::vector<WeightType> kBlockTypes = [] {
    std::vector<WeightType> types;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (format.is_blocks()) types.push_back(format.type);
    }
    return types;
}();

void check_embed_blocks(Backend& backend, const Promise&) {
    constexpr std::int64_t kVocab = 11;
    for (const WeightType type : kBlockTypes) {
        const std::int64_t hidden = kernels::row_multiple(type) == 256 ? 768 : 544;
        const TestWeight table(backend, type, kVocab, hidden, 1, static_cast<std::size_t>(type) % 4);
        const std::vector<TokenId> tokens = {10, 0, 3, 10, 7};
        const OnDevice<TokenId> on_device(backend, tokens);
        const auto n = static_cast<std::int64_t>(tokens.size());
        const OnDevice<float> x(backend, filled(n * hidden, NAN));
        backend.submit(ops::Embed{table.view, on_device.data(), n, x.data()});
        const std::vector<float> got = x.download();
        for (std::int64_t i = 0; i < n * hidden; ++i) {
            const float expected = table.at(tokens[static_cast<std::size_t>(i / hidden)], i % hidden);
            if (got[static_cast<std::size_t>(i)] == expected) continue;
            QFAIL(qPrintable(QStringLiteral("%1, place %2").arg(kernels::name_of(type)).arg(i)));
        }
    }
}

// From any address; an odd number of blocks, and of rows.
void check_multiply_blocks(Backend& backend, const Promise& promise) {
    for (const WeightType type : kBlockTypes) {
        const std::int64_t multiple = kernels::row_multiple(type);
        const auto offset = static_cast<std::size_t>(type) % 4;
        check_product(backend, promise, TestWeight(backend, type, 37, multiple, 3, offset), {1, 2, 5, 8, 21});
        check_product(backend, promise, TestWeight(backend, type, 5, 5 * multiple, 4, 3 - offset), {1, 4, 9});
        if (QTest::currentTestFailed()) {
            qInfo("%s", kernels::name_of(type));
            return;
        }
    }
    // More columns than a device takes at once, for few inputs and for one.
    for (const WeightType type : {WeightType::kQ5_1, WeightType::kQ6K, WeightType::kIq2S, WeightType::kMxfp4}) {
        check_product(backend, promise, TestWeight(backend, type, 3, 4096 + 768, 6, 1), {1, 2, 7, 12});
        if (QTest::currentTestFailed()) return;
    }
    // Rows that a GPU lays out, which begin at any distance from a multiple of 16.
    for (const WeightType type : {WeightType::kQ4_0, WeightType::kIq4Nl, WeightType::kQ8_0, WeightType::kMxfp4}) {
        check_product(backend, promise, TestWeight(backend, type, 37, 576 + 32, 5, 2), {1, 2, 5, 9, 21});
        if (QTest::currentTestFailed()) return;
    }
    // More rows and more outputs than a GPU block computes, and at addresses aligned to
    // whole vectors.
    for (const WeightType type : {WeightType::kQ4K, WeightType::kQ6K, WeightType::kQ5_0}) {
        check_product(backend, promise, TestWeight(backend, type, 131, 256, 8), {3, 16, 70});
        if (QTest::currentTestFailed()) return;
    }
    // Rows of a larger tensor, apart.
    const TestWeight apart(backend, WeightType::kQ3K, 12, 256, 7);
    kernels::WeightView view = apart.view;
    view.n_rows = 6;
    view.stride = 2 * kernels::row_bytes(WeightType::kQ3K, 256);
    for (const std::int64_t n : {1, 10}) {
        const OnDevice<float> x(backend, random_floats(n * 256, 8));
        const OnDevice<float> y(backend, filled(n * 6, NAN));
        backend.submit(ops::Multiply{view, x.data(), n, y.data()});
        const std::vector<double> in = as_multiplied(promise.rounds(view.type), x.host().data(), n * 256);
        std::vector<Expected> want(static_cast<std::size_t>(n * 6));
        for (std::int64_t i = 0; i < n * 6 * 256; ++i) {
            const std::int64_t t = i / 256 / 6;
            want[static_cast<std::size_t>(i / 256)].add(double{apart.at(i / 256 % 6 * 2, i % 256)} *
                                                        in[static_cast<std::size_t>(t * 256 + i % 256)]);
        }
        PARITY_VERIFY(mismatch(y.download(), want, promise.tolerance(n)));
    }
}

kernels::ExpertLayout block_layout(WeightType gate, WeightType up, WeightType down, std::int64_t hidden,
                                   std::int64_t ffn, const kernels::ExpertSpec& spec = {}) {
    kernels::ExpertLayout layout;
    layout.hidden_dim = hidden;
    layout.ffn_dim = ffn;
    layout.gate = gate;
    layout.up = up;
    layout.down = down;
    layout.spec = spec;
    layout.down_rows_are_outputs = true;
    return layout;
}

// Every type, and with each one activation more.
void check_experts_blocks(Backend& backend, const Promise& promise) {
    const std::vector<kernels::ExpertSpec> specs = kernels::test::all_expert_specs();
    for (std::size_t i = 0; i < kBlockTypes.size(); ++i) {
        const WeightType type = kBlockTypes[i];
        const std::int64_t multiple = kernels::row_multiple(type);
        const std::int64_t hidden = multiple == 256 ? 256 : 96;
        kernels::ExpertSpec spec = specs[i % specs.size()];
        spec.biases = i % 3 != 0 && spec.has_gate();
        const kernels::ExpertLayout layout = block_layout(type, type, type, hidden, multiple, spec);
        const TestExperts experts(backend, {layout, layout});
        const OnDevice<float> inputs(backend, random_floats(64 * hidden, 30));
        const std::vector<std::vector<TestExperts::Share>> steps = {
            {{0, some_tokens(1, 5, 7)}, {1, some_tokens(1, 6, 1)}},
            {{1, some_tokens(2, 5, 7)}, {0, some_tokens(3, 0, 1)}},
            {{0, some_tokens(8, 1, 3)}, {1, some_tokens(17, 5, 7)}}};
        for (const auto& shares : steps) {
            check_step(promise, experts, hidden, inputs, shares);
            if (QTest::currentTestFailed()) {
                qInfo("%s", kernels::name_of(type));
                return;
            }
        }
    }
}

// Matrices of one expert in different types, of files and plain, and layers of several
// layouts: one call of each in a step.
void check_experts_of_mixed_blocks(Backend& backend, const Promise& promise) {
    constexpr std::int64_t kHidden = 256;
    kernels::ExpertSpec clamped;
    clamped.activation = kernels::Activation::kClamped;
    clamped.biases = true;
    const std::vector<kernels::ExpertLayout> layouts = {
        block_layout(WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K, kHidden, 256),
        block_layout(WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K, kHidden, 256),
        block_layout(WeightType::kQ5K, WeightType::kQ3K, WeightType::kQ8_0, kHidden, 96),
        block_layout(WeightType::kMxfp4, WeightType::kMxfp4, WeightType::kMxfp4, kHidden, 32, clamped),
        block_layout(WeightType::kIq2Xs, WeightType::kIq4Xs, WeightType::kF16, kHidden, 33, clamped),
        block_layout(WeightType::kBf16, WeightType::kQ8_0, WeightType::kIq4Nl, kHidden, 64),
        block_layout(WeightType::kF32, WeightType::kF32, WeightType::kQ5_0, kHidden, 160, clamped)};
    const TestExperts experts(backend, layouts);
    const OnDevice<float> inputs(backend, random_floats(64 * kHidden, 34));
    std::vector<TestExperts::Share> one_each;
    std::vector<TestExperts::Share> several;
    for (std::size_t e = 0; e < layouts.size(); ++e) {
        one_each.push_back({e, some_tokens(1, static_cast<std::int32_t>(e), 1)});
        several.push_back({e, some_tokens(static_cast<std::int64_t>(e * 3 + 1), static_cast<std::int32_t>(e), 3)});
    }
    check_step(promise, experts, kHidden, inputs, one_each);
    if (!QTest::currentTestFailed()) check_step(promise, experts, kHidden, inputs, several);
}

// Plain rows next to rows of blocks that end at an odd byte.
void check_experts_of_odd_blocks(Backend& backend, const Promise& promise) {
    constexpr std::int64_t kHidden = 96;
    const std::vector<kernels::ExpertLayout> layouts = {
        block_layout(WeightType::kMxfp4, WeightType::kF32, WeightType::kMxfp4, kHidden, 32),
        block_layout(WeightType::kBf16, WeightType::kMxfp4, WeightType::kBf16, kHidden, 17)};
    for (const kernels::ExpertLayout& layout : layouts) {
        QCOMPARE(layout.up_offset() % 4, std::size_t{0});
        QCOMPARE(layout.neuron_bytes() % 4, std::size_t{0});
    }
    const TestExperts experts(backend, layouts);
    const OnDevice<float> inputs(backend, random_floats(64 * kHidden, 34));
    check_step(promise, experts, kHidden, inputs, {{0, some_tokens(1, 5, 1)}, {1, some_tokens(12, 0, 1)}});
    if (QTest::currentTestFailed()) return;
    check_step(promise, experts, kHidden, inputs, {{1, some_tokens(3, 5, 1)}, {0, some_tokens(10, 0, 1)}});
}

void check_experts_blocks_in_company(Backend& backend, const Promise& promise) {
    for (const WeightType type : {WeightType::kQ4K, WeightType::kIq3Xxs}) {
        const kernels::ExpertLayout own = block_layout(type, type, type, 256, 256);
        const kernels::ExpertLayout other =
            block_layout(WeightType::kQ8_0, WeightType::kQ8_0, WeightType::kQ5_1, 256, 64);
        const TestExperts experts(backend, {own, own, other, other, own});
        check_company(backend, promise, experts, 256, {1, 3, 8, 9});
        if (QTest::currentTestFailed()) return;
    }
}

void check_experts_chosen_blocks(Backend& backend, const Promise&) {
    kernels::ExpertSpec biased;
    biased.biases = true;
    for (const kernels::ExpertLayout& layout :
         {block_layout(WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K, 256, 256, biased),
          block_layout(WeightType::kQ8_0, WeightType::kQ8_0, WeightType::kQ5_1, 96, 64),
          block_layout(WeightType::kMxfp4, WeightType::kF32, WeightType::kMxfp4, 96, 32, biased)}) {
        check_choice(backend, layout);
        if (QTest::currentTestFailed()) return;
    }
}

}  // namespace

std::vector<Check> blocks_checks() {
    return {{"embed_blocks", check_embed_blocks},
            {"multiply_blocks", check_multiply_blocks},
            {"experts_blocks", check_experts_blocks},
            {"experts_of_mixed_blocks", check_experts_of_mixed_blocks},
            {"experts_of_odd_blocks", check_experts_of_odd_blocks},
            {"experts_blocks_in_company", check_experts_blocks_in_company},
            {"experts_chosen_blocks", check_experts_chosen_blocks}};
}

}  // namespace offstage::engine::parity
