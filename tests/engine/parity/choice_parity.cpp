#include <bit>
#include <random>

#include "engine/run/sampler.h"
#include "tests/engine/parity/backend_parity.h"

namespace offstage::engine::parity {

namespace {

// The token that the device chooses against the one that the host's sampler chooses with
// the same random numbers.
void check_choices(Backend& backend, const SamplerSettings& settings, std::vector<float> logits,
                   std::span<const TokenId> never) {
    constexpr std::uint64_t kSeed = 5;
    Sampler on_host(settings, kSeed), on_device(settings, kSeed);
    std::vector<TokenId> text{1, 7, 7, 3};
    for (int i = 0; i < 4; ++i) {
        const auto before = std::span<const TokenId>(text).first(text.size() - 1);
        const auto rule = on_device.rule(0, static_cast<std::int64_t>(logits.size()), never, before);
        QVERIFY(rule.has_value());
        const OnDevice<float> row(backend, logits);
        const OnDevice<kernels::TokenRule> rules(backend, {*rule});
        const OnDevice<TokenId> last(backend, {text.back()});
        const OnDevice<TokenId> chosen(backend, std::vector<TokenId>(2, -7));
        backend.submit(ops::ChooseToken{row.data(), static_cast<std::int64_t>(logits.size()), rules.data(), last.data(),
                                        chosen.data()});
        const std::vector<TokenId> got = chosen.download();
        std::vector<float> possible = logits;
        for (const TokenId token : never) {
            if (token < static_cast<TokenId>(logits.size())) possible[static_cast<std::size_t>(token)] = -INFINITY;
        }
        const TokenId want = on_host.sample(possible, text);
        QVERIFY2(got[0] == want && got[1] == std::max(want, 0),
                 qPrintable(QStringLiteral("%1 of %2, not %3").arg(got[0]).arg(logits.size()).arg(want)));
        if (want < 0) return;
        on_device.count_choice();
        text.push_back(want);
        std::rotate(logits.begin(), logits.begin() + 1, logits.end());
    }
}

void check_choose_token(Backend& backend, const Promise&) {
    std::vector<SamplerSettings> all(7);
    all[0].temperature = 0;
    all[1] = {.temperature = 1.3f, .top_k = 64, .top_p = 1};
    all[2] = {.temperature = 0.7f, .top_k = 40, .top_p = 0.9f};
    all[3] = {.temperature = 5, .top_k = 7, .top_p = 1, .min_p = 0.3f};
    all[4] = {.temperature = 0.9f, .top_k = 20, .top_p = 0.99f, .repeat_penalty = 1.7f};
    all[5] = {.temperature = 0, .repeat_penalty = 0.4f, .repeat_window = 2};
    all[6] = {.temperature = 1e-3f, .top_k = 3, .top_p = 0};
    const std::vector<TokenId> never{3, 90, 100'000};
    for (const std::int64_t vocab : {65, 301, 2048, 2049, 6200}) {
        for (const SamplerSettings& settings : all) {
            check_choices(backend, settings, random_floats(vocab, static_cast<std::uint32_t>(vocab), 4.0f), never);
            if (QTest::currentTestFailed()) return;
        }
        // Equal logits, also of both zeros and infinities, and none at all.
        std::vector<float> logits(static_cast<std::size_t>(vocab), -0.0f);
        for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = 0.0f;
        check_choices(backend, all[2], logits, {});
        for (std::size_t i = 1; i < logits.size(); i += 7) logits[i] = NAN;
        for (std::size_t i = 5; i < logits.size(); i += 50) logits[i] = i % 100 == 5 ? INFINITY : 3.4e38f;
        check_choices(backend, all[1], logits, {});
        check_choices(backend, all[5], logits, never);
        std::fill(logits.begin(), logits.end(), -INFINITY);
        check_choices(backend, all[2], logits, {});
        check_choices(backend, all[0], logits, {});
        logits[61] = -2;
        check_choices(backend, all[4], logits, {});
        if (QTest::currentTestFailed()) return;
    }
}

}  // namespace

std::vector<Check> choice_checks() {
    return {{"choose_token", check_choose_token}};
}

}  // namespace offstage::engine::parity
