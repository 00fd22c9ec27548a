#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <vector>

#include <QTest>

#include "engine/error.h"
#include "engine/run/sampler.h"
#include "engine/text/token_masks.h"

using namespace offstage::engine;

namespace {

std::atomic<int> n_allocations = 0;

}  // namespace

// Counted, so that a test can check that there are none.
void* operator new(std::size_t size) {
    ++n_allocations;
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}
// std::stable_sort's buffer comes from here; ASan's own version would not match the
// delete below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++n_allocations;
    return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept {
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Everything off but the temperature.
SamplerSettings plain(float temperature = 1.0f) {
    SamplerSettings s;
    s.temperature = temperature;
    s.top_k = 0;
    s.top_p = 1.0f;
    return s;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
    std::vector<double> p;
    const double best = *std::max_element(logits.begin(), logits.end());
    for (const float x : logits) p.push_back(std::exp((x - best) / temperature));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    return p;
}

std::map<TokenId, int> counts(const SamplerSettings& settings, const std::vector<float>& logits, int n,
                              const std::vector<TokenId>& recent = {}, std::uint64_t seed = 11) {
    Sampler sampler(settings, seed);
    std::map<TokenId, int> seen;
    for (int i = 0; i < n; ++i) ++seen[sampler.sample(logits, recent)];
    return seen;
}

// Sum of (seen - expected)^2 / expected; tokens of no probability must not be seen.
double chi_square(const std::map<TokenId, int>& seen, const std::vector<double>& p, int n) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const auto it = seen.find(static_cast<TokenId>(i));
        const double found = it == seen.end() ? 0 : it->second;
        if (p[i] == 0) {
            if (found > 0) return kInfinity;
        } else {
            sum += (found - p[i] * n) * (found - p[i] * n) / (p[i] * n);
        }
    }
    return sum;
}

// The distribution that is left when only `kept` may be chosen.
std::vector<double> only(std::vector<double> p, const std::vector<std::size_t>& kept) {
    double sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (std::find(kept.begin(), kept.end(), i) == kept.end()) p[i] = 0;
        sum += p[i];
    }
    for (double& x : p) x /= sum;
    return p;
}

std::vector<TokenId> chosen(const SamplerSettings& settings, const std::vector<float>& logits,
                            const std::vector<TokenId>& recent = {}, int n_draws = 4000) {
    std::vector<TokenId> tokens;
    for (const auto& [token, n] : counts(settings, logits, n_draws, recent)) tokens.push_back(token);
    return tokens;
}

using Tokens = std::vector<TokenId>;

}  // namespace

class SamplerTest : public QObject {
    Q_OBJECT

  private slots:
    void greedy_takes_the_first_of_the_best() {
        const std::vector<float> logits = {0.5f, 2.0f, -1.0f, 2.0f};
        for (int i = 0; i < 10; ++i) QCOMPARE(Sampler(plain(0), static_cast<std::uint64_t>(i)).sample(logits, {}), 1);
        SamplerSettings s = plain(0);
        s.top_k = 1;
        s.top_p = 0.1f;
        s.min_p = 1.0f;
        QCOMPARE(Sampler(s, 1).sample(logits, {}), 1);
        s.repeat_penalty = 2.0f;
        QCOMPARE(Sampler(s, 1).sample(logits, Tokens{1}), 3);
    }

    void frequencies_follow_the_softmax_data() {
        QTest::addColumn<float>("temperature");
        for (const float t : {0.3f, 0.7f, 1.0f, 1.7f, 5.0f})
            QTest::addRow("temperature %g", static_cast<double>(t)) << t;
    }
    void frequencies_follow_the_softmax() {
        QFETCH(float, temperature);
        const std::vector<float> logits = {1.0f, 0.0f, 2.0f, 1.5f, -1.0f, 0.5f};
        constexpr int kDraws = 40'000;
        const auto p = softmax(logits, static_cast<double>(temperature));
        // Five degrees of freedom: 20.5 would be passed once in a thousand seeds.
        QVERIFY(chi_square(counts(plain(temperature), logits, kDraws), p, kDraws) < 20.5);
        // The test can fail: against the wrong temperature it is far off.
        QVERIFY(chi_square(counts(plain(temperature * 2), logits, kDraws), p, kDraws) > 100);
        // top_k = all with a sorted walk is the same distribution.
        SamplerSettings s = plain(temperature);
        s.top_k = 5;
        QVERIFY(chi_square(counts(s, logits, kDraws), only(p, {0, 1, 2, 3, 5}), kDraws) < 18.5);
    }

    void large_vocabulary_follows_the_softmax() {
        // 150,000 tokens in eight groups of equal logits: the groups' shares are known.
        std::vector<float> logits(150'000);
        for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 8) * 0.5f;
        const auto expected = softmax({0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 3.5f}, 1.0);
        Sampler sampler(plain(), 3);
        std::map<TokenId, int> groups;
        constexpr int kDraws = 400;
        for (int i = 0; i < kDraws; ++i) ++groups[sampler.sample(logits, {}) % 8];
        QVERIFY(chi_square(groups, expected, kDraws) < 24.3);
    }

    void top_k_keeps_the_best_k() {
        const std::vector<float> logits = {1.0f, 3.0f, 2.0f, 3.0f, 0.0f, 2.0f};
        SamplerSettings s = plain(2.0f);
        s.top_k = 1;
        QCOMPARE(chosen(s, logits), (Tokens{1}));
        s.top_k = 2;
        QCOMPARE(chosen(s, logits), (Tokens{1, 3}));
        s.top_k = 3;  // of equal logits the smaller token
        QCOMPARE(chosen(s, logits), (Tokens{1, 2, 3}));
        s.top_k = 6;
        QCOMPARE(chosen(s, logits).size(), std::size_t{6});
        s.top_k = 1000;
        QCOMPARE(chosen(s, logits).size(), std::size_t{6});
        s.top_k = 2;
        const auto p = only(softmax({1.0f, 3.0f, 2.0f, 2.5f}, 2.0), {1, 3});
        QVERIFY(chi_square(counts(s, {1.0f, 3.0f, 2.0f, 2.5f}, 50'000), p, 50'000) < 10.8);
    }

    void top_k_beyond_the_heap_equals_the_heap() {
        // Above 1024 the vocabulary is partitioned instead.
        std::vector<float> logits(5000);
        for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 7919) % 1000);
        std::vector<std::size_t> order(logits.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
        for (const int k : {1023, 1024, 1025, 2000}) {
            SamplerSettings s = plain(100.0f);
            s.top_k = k;
            for (const TokenId token : chosen(s, logits, {}, 300)) {
                const auto place =
                    std::find(order.begin(), order.end(), static_cast<std::size_t>(token)) - order.begin();
                QVERIFY(place < k);
            }
        }
    }

    void top_p_keeps_the_smallest_set_that_reaches_p() {
        // Probabilities 0.5, 0.25, 0.125, 0.125, out of order.
        const auto log2 = [](double p) { return static_cast<float>(std::log(p)); };
        const std::vector<float> logits = {log2(0.125), log2(0.5), log2(0.125), log2(0.25)};
        SamplerSettings s = plain();
        const auto with = [&](float p) {
            s.top_p = p;
            return chosen(s, logits);
        };
        QCOMPARE(with(0.0f), (Tokens{1}));  // always one
        QCOMPARE(with(0.49f), (Tokens{1}));
        QCOMPARE(with(0.51f), (Tokens{1, 3}));
        QCOMPARE(with(0.74f), (Tokens{1, 3}));
        QCOMPARE(with(0.76f), (Tokens{0, 1, 3}));  // of equal probabilities the smaller token
        QCOMPARE(with(0.90f), (Tokens{0, 1, 2, 3}));
        QCOMPARE(with(1.0f), (Tokens{0, 1, 2, 3}));
        s.top_p = 0.76f;
        QVERIFY(chi_square(counts(s, logits, 50'000), only({0.125, 0.5, 0.125, 0.25}, {0, 1, 3}), 50'000) < 13.8);
        // The temperature comes first: flatter, so more are needed.
        s.temperature = 100.0f;
        QCOMPARE(with(0.51f), (Tokens{0, 1, 3}));
        // And so does top_k: of 0.5 and 0.25 renormalised the first is 0.67.
        s = plain();
        s.top_k = 2;
        QCOMPARE(with(0.66f), (Tokens{1}));
        QCOMPARE(with(0.68f), (Tokens{1, 3}));
    }

    void top_p_of_a_flat_large_vocabulary() {
        // Far more than one batch of the partial sort is needed.
        std::vector<float> logits(100'000, 1.0f);
        SamplerSettings s = plain();
        s.top_p = 0.5f;
        Sampler sampler(s, 5);
        TokenId largest = 0;
        for (int i = 0; i < 80; ++i) largest = std::max(largest, sampler.sample(logits, {}));
        QVERIFY(largest < 50'000);
        QVERIFY(largest > 45'000);
    }

    void min_p_is_relative_to_the_best() {
        const auto ln = [](double p) { return static_cast<float>(std::log(p)); };
        const std::vector<float> logits = {ln(0.1), ln(0.4), ln(0.02), ln(0.21)};
        SamplerSettings s = plain();
        const auto with = [&](float p) {
            s.min_p = p;
            return chosen(s, logits);
        };
        QCOMPARE(with(0.04f), (Tokens{0, 1, 2, 3}));
        QCOMPARE(with(0.06f), (Tokens{0, 1, 3}));
        QCOMPARE(with(0.26f), (Tokens{1, 3}));
        QCOMPARE(with(0.53f), (Tokens{1}));
        QCOMPARE(with(1.0f), (Tokens{1}));
        s.top_p = 0.7f;
        s.top_k = 3;
        QCOMPARE(with(0.26f), (Tokens{1, 3}));
    }

    void repeat_penalty_divides_positive_and_multiplies_negative() {
        SamplerSettings s = plain();
        s.repeat_penalty = 2.0f;
        constexpr int kDraws = 50'000;
        const std::vector<float> logits = {2.0f, -1.0f, 1.0f, 0.0f};
        // Seen twice is seen once; tokens outside of the vocabulary are passed over.
        const Tokens recent = {0, 1, 0, 3, -5, 99};
        const auto p = softmax({1.0f, -2.0f, 1.0f, 0.0f}, 1.0);
        QVERIFY(chi_square(counts(s, logits, kDraws, recent), p, kDraws) < 16.3);
        s.repeat_window = 1;
        QVERIFY(chi_square(counts(s, logits, kDraws, {0, 1, 2}), softmax({2.0f, -1.0f, 0.5f, 0.0f}, 1.0), kDraws) <
                16.3);
        s.repeat_window = 0;  // all
        Tokens many(1000, 3);
        many.insert(many.begin(), {0, 1, 2});
        QVERIFY(chi_square(counts(s, logits, kDraws, many), softmax({1.0f, -2.0f, 0.5f, 0.0f}, 1.0), kDraws) < 16.3);
        s.repeat_window = 64;
        s.repeat_penalty = 0.5f;  // below 1: repeated tokens are preferred
        QVERIFY(chi_square(counts(s, logits, kDraws, {0, 1}), softmax({4.0f, -0.5f, 1.0f, 0.0f}, 1.0), kDraws) < 16.3);
    }

    // Neighbouring seeds, a common choice of users, share no answer.
    void answer_seeds_of_neighbours_are_all_different() {
        QSet<quint64> seeds;
        for (quint64 seed = 1; seed <= 64; ++seed) {
            QCOMPARE(answer_seed(seed, 0), seed);
            for (quint64 answer = 0; answer < 16; ++answer) seeds.insert(answer_seed(seed, answer));
        }
        QCOMPARE(seeds.size(), 64 * 16);
        seeds.clear();
        for (quint64 answer = 1; answer < 16; ++answer) seeds.insert(answer_seed(~quint64{0}, answer));
        QCOMPARE(seeds.size(), 15);
    }

    void not_a_number_is_never_chosen_data() {
        QTest::addColumn<float>("temperature");
        QTest::addColumn<int>("top_k");
        QTest::addColumn<float>("top_p");
        QTest::addRow("greedy") << 0.0f << 0 << 1.0f;
        QTest::addRow("plain") << 1.0f << 0 << 1.0f;
        QTest::addRow("top-k") << 1.0f << 3 << 1.0f;
        QTest::addRow("top-p") << 1.0f << 0 << 0.99f;
        QTest::addRow("large top-k") << 1.0f << 2000 << 0.99f;
    }
    void not_a_number_is_never_chosen() {
        QFETCH(float, temperature);
        QFETCH(int, top_k);
        QFETCH(float, top_p);
        SamplerSettings s = plain(temperature);
        s.top_k = top_k;
        s.top_p = top_p;
        s.repeat_penalty = 1.5f;
        const Tokens all = {0, 1, 2, 3, 4};
        for (const TokenId t : chosen(s, {kNan, 1.0f, -kInfinity, 1.0f, kNan}, all)) QVERIFY(t == 1 || t == 3);
        for (const TokenId t : chosen(s, {kNan, 1.0f, kInfinity, 1.0f, -kNan})) QCOMPARE(t, 2);
        for (const TokenId t : chosen(s, {kNan, -kInfinity, -kInfinity, -5.0f}, all)) QCOMPARE(t, 3);
        QCOMPARE(Sampler(s, 1).sample(std::vector<float>{kNan, kNan, -kInfinity}, {}), -1);
        QCOMPARE(Sampler(s, 1).sample({}, {}), -1);
        // The largest numbers.
        const float big = std::numeric_limits<float>::max();
        for (const TokenId t : chosen(s, {big, -big, 0.0f}, Tokens{1, 2})) QCOMPARE(t, 0);
        QCOMPARE(Sampler(s, 1).sample(std::vector<float>{-big}, Tokens{0}), 0);
    }

    void same_seed_gives_the_same_answer() {
        std::vector<float> logits(1000);
        for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i)) * 3.0f;
        const auto answer = [&](std::uint64_t seed) {
            SamplerSettings s;
            s.repeat_penalty = 1.1f;
            Sampler sampler(s, seed);
            Tokens tokens;
            for (int i = 0; i < 200; ++i) tokens.push_back(sampler.sample(logits, tokens));
            return tokens;
        };
        QCOMPARE(answer(42), answer(42));
        QVERIFY(answer(42) != answer(43));
    }

    void seed_gives_the_same_answer_everywhere() {
        // The standard (mt19937_64) and our mapping fix these choices: eight equal logits
        // use the top three bits of each number.
        std::mt19937_64 random(2026);
        Sampler sampler(plain(), 2026);
        const std::vector<float> logits(8, 1.0f);
        for (int i = 0; i < 100; ++i) QCOMPARE(sampler.sample(logits, {}), static_cast<TokenId>(random() >> 61));
    }

    void validate_names_field_and_range_data() {
        QTest::addColumn<QString>("field");
        QTest::addColumn<double>("value");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* field, double value, const char* part) {
            QTest::addRow("%s %g", field, value) << field << value << part;
        };
        const double nan = std::numeric_limits<double>::quiet_NaN();
        row("temperature", -0.1, "between 0 and 100");
        row("temperature", 101, "between 0 and 100");
        row("temperature", nan, "between 0 and 100");
        row("top_k", -1, "0 (off) or more");
        row("top_p", -0.01, "between 0 and 1");
        row("top_p", 1.01, "between 0 and 1");
        row("top_p", nan, "between 0 and 1");
        row("min_p", -0.01, "between 0 and 1");
        row("min_p", 1.5, "between 0 and 1");
        row("repeat_penalty", 0, "between 0.01 and 100");
        row("repeat_penalty", nan, "between 0.01 and 100");
        row("repeat_window", -1, "0 (all tokens) or more");
    }
    void validate_names_field_and_range() {
        QFETCH(QString, field);
        QFETCH(double, value);
        QFETCH(QString, part);
        SamplerSettings s;
        const auto number = static_cast<float>(value);
        if (field == "temperature") s.temperature = number;
        if (field == "top_k") s.top_k = static_cast<int>(value);
        if (field == "top_p") s.top_p = number;
        if (field == "min_p") s.min_p = number;
        if (field == "repeat_penalty") s.repeat_penalty = number;
        if (field == "repeat_window") s.repeat_window = static_cast<int>(value);
        QVERIFY(s != SamplerSettings());
        try {
            validate(s);
            QFAIL("no error");
        } catch (const Error& e) {
            QCOMPARE(e.kind(), ErrorKind::kInvalidInput);
            QVERIFY2(QString(e.what()).contains(field), e.what());
            QVERIFY2(QString(e.what()).contains(part), e.what());
        }
        QVERIFY_THROWS_EXCEPTION(Error, Sampler(s, 1));
        validate(SamplerSettings());
    }

    void sample_allocates_nothing_after_the_first() {
        std::vector<float> logits(150'000);
        for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<float>(i) * 0.37f) * 8.0f;
        for (const int top_k : {0, 40, 2000}) {
            SamplerSettings s;
            s.top_k = top_k;
            s.min_p = 0.01f;
            s.repeat_penalty = 1.1f;
            Sampler sampler(s, 1);
            Tokens tokens;
            tokens.reserve(100);
            tokens.push_back(sampler.sample(logits, tokens));
            const int before = n_allocations;
            for (int i = 0; i < 30; ++i) tokens.push_back(sampler.sample(logits, tokens));
            QCOMPARE(n_allocations.load(), before);
        }
    }

    void bias_isAddedToLogits() {
        const std::vector<float> logits = {0.5f, 2.0f, -1.0f, 1.9f};
        SamplerSettings s = plain(0);
        s.logit_bias = {{1, -100.0f}, {-1, 100.0f}, {4, 100.0f}};
        QCOMPARE(Sampler(s, 1).sample(logits, {}), 3);
        s.logit_bias = {{2, 3.25f}};
        QCOMPARE(Sampler(s, 1).sample(logits, {}), 2);
        s.logit_bias = {{0, 100.0f}};
        QCOMPARE(Sampler(s, 1).sample({{-kInfinity, 0.0f, kInfinity, 1.0f}}, {}), 2);  // never, and always
        // 100 is enough to choose a token at any usual temperature.
        s = plain(1.0f);
        s.logit_bias = {{2, 100.0f}};
        QCOMPARE(chosen(s, logits), Tokens{2});
        QVERIFY(!Sampler(s, 1).rule(0, 4, {}, {}));  // a device knows no bias
    }

    // Logits 3, 2, 1, 0: each choice of token 0 costs it presence once and frequency.
    void filter_askedForSingleTokens_choosesAsItsMask() {
        constexpr int kVocab = 300;
        struct Filter final : TokenFilter {
            TokenMask tokens{kVocab};
            bool costly = false;
            int n_asked = 0, n_masks = 0;
            bool is_costly() override { return costly; }
            bool allows(TokenId token) override {
                ++n_asked;
                return tokens.has(token);
            }
            const TokenMask& mask() override {
                ++n_masks;
                return tokens;
            }
        };
        std::mt19937 random(7);
        int n_single = 0, n_whole = 0;
        for (int round = 0; round < 600; ++round) {
            SamplerSettings settings;
            settings.temperature = round % 5 == 0 ? 0.0f : 0.9f;
            settings.top_k = std::array{0, 1, 5, 40, 150, 400}[round % 6];
            settings.top_p = round % 2 == 0 ? 1.0f : 0.9f;
            settings.min_p = round % 7 == 0 ? 0.05f : 0.0f;
            settings.repeat_penalty = round % 3 == 0 ? 1.3f : 1.0f;
            settings.presence_penalty = round % 4 == 0 ? 0.5f : 0.0f;
            if (round % 11 == 0) settings.logit_bias = {{3, 5.0f}, {4, -100.0f}};
            const unsigned one_of = std::array{1u, 2u, 10u, 100u}[round % 4];  // allowed
            Filter single, whole;
            for (TokenId token = 0; token < kVocab; ++token) {
                if (token == 17 || random() % one_of == 0) single.tokens.set(token);
            }
            whole.tokens = single.tokens;
            single.costly = true;
            Sampler by_single(settings, 5), by_whole(settings, 5);
            std::vector<TokenId> recent;
            for (int step = 0; step < 4; ++step) {
                std::vector<float> logits(kVocab);
                for (float& x : logits) x = static_cast<float>(random() % 64) / 8.0f;  // with equal ones
                logits[17] = -20.0f;
                logits[random() % 16] = std::numeric_limits<float>::quiet_NaN();
                const TokenId token = by_single.sample(logits, recent, &single);
                QCOMPARE(token, by_whole.sample(logits, recent, &whole));
                QVERIFY(single.tokens.has(token));
                recent.push_back(token);
            }
            QCOMPARE(whole.n_asked, 0);
            n_single += single.n_masks == 0 ? 1 : 0;
            n_whole += single.n_masks > 0 && single.n_asked > 0 ? 1 : 0;
        }
        QVERIFY2(n_single > 50, qPrintable(QString::number(n_single)));  // decided without a mask
        QVERIFY2(n_whole > 50, qPrintable(QString::number(n_whole)));    // too few of the best are allowed
    }
    void penalties_countTheAnswersTokens() {
        const std::vector<float> logits = {3.0f, 2.0f, 1.0f, 0.0f};
        const auto answer = [&](float presence, float frequency, const Tokens& recent, int n) {
            SamplerSettings s = plain(0);
            s.presence_penalty = presence;
            s.frequency_penalty = frequency;
            Sampler sampler(s, 1);
            Tokens tokens;
            for (int i = 0; i < n; ++i) tokens.push_back(sampler.sample(logits, recent));
            return tokens;
        };
        QCOMPARE(answer(1.5f, 0, {}, 5), (Tokens{0, 1, 0, 0, 0}));   // 3, 2, then 1.5 against 0.5 and 1
        QCOMPARE(answer(0, 0.75f, {}, 5), (Tokens{0, 0, 1, 0, 1}));  // 3, 2.25, 1.5
        QCOMPARE(answer(2, 2, {}, 4), (Tokens{0, 1, 2, 3}));
        QCOMPARE(answer(-1, 0, {}, 3), (Tokens{0, 0, 0}));
        // Tokens of the prompt do not count.
        QCOMPARE(answer(2, 2, {0, 0, 0}, 2), (Tokens{0, 1}));
        SamplerSettings s = plain(0);
        s.presence_penalty = 0.1f;
        QVERIFY(!Sampler(s, 1).rule(0, 4, {}, {}));
    }
};

QTEST_APPLESS_MAIN(SamplerTest)
#include "tst_sampler.moc"
