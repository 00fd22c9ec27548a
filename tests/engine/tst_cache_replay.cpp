// Replays routing on caches: compared with counts by hand on small traces, and with the
// bound that no policy exceeds.

#include <cmath>
#include <random>

#include <QtTest>

#include "engine/error.h"
#include "engine/eval/cache_picture.h"
#include "engine/eval/replay_report.h"

using namespace offstage::engine;

namespace {

// One layer, one active expert: a decode step for each.
RoutingTrace sequence(const std::vector<std::int32_t>& experts, std::int64_t n_experts = 4) {
    RoutingTrace trace;
    trace.header = {"m", 1, n_experts, 1, {}, 0};
    trace.experts = experts;
    for (std::size_t i = 0; i < experts.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        trace.tokens.push_back({at, at, TokenKind::kDecode});
    }
    return trace;
}

Popularity nothingKnown(const RoutingTrace& trace) {
    return Popularity::uniform(trace.header.n_layers, trace.header.n_experts, trace.header.n_active);
}

ReplayResult run(const RoutingTrace& trace, CacheKind kind, std::int64_t n_slots) {
    const Popularity popularity = nothingKnown(trace);
    const auto policy = make_cache_policy(kind, popularity);
    return replay(cache_calls(trace), *policy, n_slots, initial_residents(n_slots, false, popularity));
}

// Tokens that stay with some experts for a while.
RoutingTrace clustered(unsigned seed) {
    std::mt19937 random(seed);
    RoutingTrace trace;
    trace.header = {"m", 3, 8, 2, {1}, 2};
    for (int t = 0; t < 600; ++t) {
        trace.tokens.push_back({t < 100 ? t / 20 : t, t, t < 100 ? TokenKind::kPrompt : TokenKind::kDecode});
        for (int layer = 0; layer < 3; ++layer) {
            const int base = t / 40 % 4 * 2 + layer;
            const auto first = static_cast<std::int32_t>((base + static_cast<int>(random() % 3)) % 8);
            trace.experts.push_back(first);
            trace.experts.push_back((first + 1 + static_cast<std::int32_t>(random() % 2)) % 8);
        }
        for (int layer = 0; layer < 3; ++layer) {
            const auto row =
                trace.experts_of(static_cast<std::size_t>(t)).subspan(static_cast<std::size_t>(2 * layer), 2);
            // Every second guess is right.
            trace.guesses.push_back(layer == 0 ? -1 : row[1]);
            trace.guesses.push_back(layer == 0 ? -1 : (row[1] + 3) % 8);
        }
    }
    return trace;
}

}  // namespace

class TestCacheReplay : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    // LRU of two: 0 and 1 are there at the beginning, 2 takes the place of 1 after the
    // third token, 1 that of 0 after the fourth.
    void picture_showsHitsMissesAndWhatElseIsHeld() {
        const RoutingTrace trace = sequence({1, 0, 2, 1, 2});
        const CachePictureRequest request{CacheKind::kLru, 2, {}, {}, 0, 64};
        const QString svg = QString::fromStdString(to_svg(cache_picture(trace, nothingKnown(trace), request)));
        const auto count = [&](const char* colour) { return svg.count(QLatin1String(colour)) - 1; };  // the legend's
        QCOMPARE(count("#1f5fa8"), 3);  // 1, 0, and 2 at the end
        QCOMPARE(count("#c2410c"), 2);
        QCOMPARE(count("#9a9a9a"), 1 + 1 + 2 + 2 + 1);
        QVERIFY(svg.contains(QStringLiteral("layer 0: 60 % of what was used")));
        QVERIFY(svg.endsWith(QStringLiteral("</svg>\n")));

        // The cache processes the tokens before the drawn ones.
        const CachePictureRequest last{CacheKind::kLru, 2, {}, {0}, 4, 1};
        QVERIFY(QString::fromStdString(to_svg(cache_picture(trace, nothingKnown(trace), last)))
                    .contains(QStringLiteral("layer 0: 100 %")));
        const CachePictureRequest beyond{CacheKind::kLru, 2, {}, {}, 5, 1}, layer{CacheKind::kLru, 2, {}, {1}, 0, 1};
        QVERIFY_THROWS_EXCEPTION(Error, cache_picture(trace, nothingKnown(trace), beyond));
        QVERIFY_THROWS_EXCEPTION(Error, cache_picture(trace, nothingKnown(trace), layer));
        QVERIFY_THROWS_EXCEPTION(Error, cache_picture(trace, nothingKnown(clustered(1)), request));
    }

    void stepOfManyTokens_callsAnExpertOnce() {
        RoutingTrace trace;
        trace.header = {"m", 2, 4, 2, {}, 0};
        trace.experts = {0, 1, 2, 3, /**/ 1, 0, 3, 2, /**/ 2, 0, 0, 1, /**/ 3, 1, 1, 2};
        trace.tokens = {{0, 0, TokenKind::kPrompt},
                        {0, 1, TokenKind::kPrompt},
                        {0, 2, TokenKind::kPrompt},
                        {4, 3, TokenKind::kDecode}};
        const CacheCalls calls = cache_calls(trace);
        QCOMPARE(calls.n_tokens, 4);
        QCOMPARE(calls.layers.size(), std::size_t{4});
        std::vector<std::int64_t> flat;
        for (const auto& layer : calls.layers) {
            for (std::size_t i = layer.first; i < layer.first + layer.n_calls; ++i) {
                const CacheCalls::Call& call = calls.calls[i];
                QCOMPARE(call.key.layer, layer.layer);
                flat.insert(flat.end(), {layer.layer, call.key.expert, call.n_tokens});
            }
            QCOMPARE(layer.decode, layer.token == 3);
        }
        const std::vector<std::int64_t> expected = {0, 0, 3, 0, 1, 2, 0, 2, 1,            // step 0, layer 0
                                                    1, 0, 1, 1, 1, 1, 1, 2, 2, 1, 3, 2,   // layer 1
                                                    0, 1, 1, 0, 3, 1, 1, 1, 1, 1, 2, 1};  // step 4
        QCOMPARE(flat, expected);
    }

    void hits_areThoseCountedByHand_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<int>("hits");
        QTest::addColumn<int>("admissions");
        // Two slots hold 0 and 1; the calls are 2 0 2 3 2 0 3 0.
        QTest::newRow("static") << QStringLiteral("static") << 3 << 0;
        QTest::newRow("lru") << QStringLiteral("lru") << 3 << 5;
        QTest::newRow("oracle") << QStringLiteral("oracle") << 5 << 1;
    }
    void hits_areThoseCountedByHand() {
        QFETCH(QString, policy);
        QFETCH(int, hits);
        QFETCH(int, admissions);
        const RoutingTrace trace = sequence({2, 0, 2, 3, 2, 0, 3, 0});
        ReplayResult result;
        if (policy == QStringLiteral("oracle")) {
            result = replay_oracle(cache_calls(trace), 2, initial_residents(2, false, nothingKnown(trace)));
        } else {
            result = run(trace, parse_cache_kind(policy.toStdString()), 2);
        }
        QCOMPARE(result.policy, policy.toStdString());
        QCOMPARE(result.all.calls, std::uint64_t{8});
        QCOMPARE(result.all.hits, static_cast<std::uint64_t>(hits));
        QCOMPARE(result.admissions, static_cast<std::uint64_t>(admissions));
        QCOMPARE(result.evictions, result.admissions);
        QCOMPARE(result.copies(), static_cast<std::uint64_t>(8 - hits));
    }

    void noPolicy_hitsMoreThanTheOracle_data() {
        QTest::addColumn<int>("seed");
        for (int seed = 1; seed <= 4; ++seed) QTest::addRow("seed %d", seed) << seed;
    }
    void noPolicy_hitsMoreThanTheOracle() {
        QFETCH(int, seed);
        const RoutingTrace trace = clustered(static_cast<unsigned>(seed));
        ReplayRequest request;
        request.policies = {kCacheKinds.begin(), kCacheKinds.end()};
        request.sizes = {0, 1, 3, 6, 12, 18, 24};
        const ReplayReport report = compare_policies(trace, nothingKnown(trace), request);
        const std::size_t n_columns = kCacheKinds.size() + 1;
        QCOMPARE(report.results.size(), request.sizes.size() * n_columns);
        double last_bound = -1;
        for (std::size_t i = 0; i < report.results.size(); i += n_columns) {
            const ReplayResult& oracle = report.results[i + n_columns - 1];
            QCOMPARE(oracle.policy, std::string("oracle"));
            QVERIFY(oracle.all.rate() >= last_bound);
            last_bound = oracle.all.rate();
            for (std::size_t p = 0; p + 1 < n_columns; ++p) {
                const ReplayResult& r = report.results[i + p];
                QVERIFY2(r.all.hits <= oracle.all.hits, r.policy.c_str());
                QCOMPARE(r.all.calls, oracle.all.calls);
                QCOMPARE(r.prompt.calls + r.decode.calls, r.all.calls);
                QCOMPARE(r.prompt.hits + r.decode.hits, r.all.hits);
                std::uint64_t hits = 0;
                for (const HitCount& layer : r.layers) hits += layer.hits;
                QCOMPARE(hits, r.all.hits);
                if (r.n_slots == 24) QCOMPARE(r.all.hits, r.all.calls);
                if (r.n_slots == 0) QCOMPARE(r.all.hits, std::uint64_t{0});
            }
        }
    }

    void initialResidents_arePopular_orSpread() {
        Popularity popularity = Popularity::uniform(2, 4, 1);
        const auto keys = [&](std::int64_t n, bool per_layer) {
            std::vector<std::pair<int, int>> list;
            for (const ExpertKey key : initial_residents(n, per_layer, popularity))
                list.emplace_back(key.layer, key.expert);
            return list;
        };
        using List = std::vector<std::pair<int, int>>;
        QCOMPARE(keys(3, false), (List{{0, 0}, {0, 1}, {1, 0}}));
        popularity.counts = {10, 20, 30, 40, 97, 1, 1, 1};
        popularity.n_tokens = 100;
        QCOMPARE(keys(3, false), (List{{1, 0}, {0, 3}, {0, 2}}));
        QCOMPARE(keys(3, true), (List{{0, 3}, {0, 2}, {1, 0}}));
    }

    // A right guess serves the call without being a hit; a wrong one only costs a copy.
    void guesses_serveMisses_andEvictNothing() {
        const RoutingTrace trace = clustered(9);
        const Popularity popularity = nothingKnown(trace);
        const CacheCalls calls = cache_calls(trace);
        for (const CacheKind kind : kCacheKinds) {
            const auto plain = make_cache_policy(kind, popularity);
            const auto with = make_cache_policy(kind, popularity);
            const ReplayResult a = replay(calls, *plain, 9, initial_residents(9, true, popularity));
            const ReplayResult b = replay(calls, *with, 9, initial_residents(9, true, popularity), {&trace, 1, 2});
            QCOMPARE(b.all.hits, a.all.hits);
            QCOMPARE(b.admissions, a.admissions);
            QCOMPARE(a.guessed_copies, std::uint64_t{0});
            QVERIFY(b.guessed_used > 0 && b.guessed_used < b.guessed_copies);
            // Half of every call of layers 1 and 2 was guessed in steps of one token: its
            // second expert.
            std::uint64_t missed = 0;
            for (std::size_t layer = 1; layer < 3; ++layer) missed += b.layers[layer].calls - b.layers[layer].hits;
            QVERIFY(b.guessed_used <= missed);
            QCOMPARE(b.copies(), a.copies() + b.guessed_copies - b.guessed_used);
        }
    }

    void report_tellsAllOfIt() {
        const RoutingTrace trace = clustered(3);
        ReplayRequest request;
        request.policies = {CacheKind::kLru, CacheKind::kSlru};
        request.sizes = {6, 12};
        request.expert_bytes = 1000;
        request.distance = 1;
        const ReplayReport report = compare_policies(trace, nothingKnown(trace), request);
        const nlohmann::ordered_json json = to_json(report);
        QCOMPARE(json["results"].size(), std::size_t{6});
        QCOMPARE(json["n_steps"].get<int>(), 505);
        const auto& first = json["results"][0];
        QCOMPARE(first["policy"].get<std::string>(), std::string("lru"));
        QCOMPARE(first["residency"].get<double>(), 0.25);
        QCOMPARE(first["layers"].size(), std::size_t{3});
        QCOMPARE(first["bytes_per_token"].get<double>(),
                 std::round(static_cast<double>(report.results[0].copies()) * 1000 / 600));
        const QString text = QString::fromStdString(to_text(report));
        QVERIFY(text.contains(QStringLiteral("oracle")) && text.contains(QStringLiteral("Bytes copied per token")));
    }

    void requestsThatDoNotFit_areRefused() {
        const RoutingTrace trace = sequence({0, 1});
        ReplayRequest request;
        request.policies = {CacheKind::kLru};
        request.sizes = {1};
        const auto refused = [&](const Popularity& popularity) {
            try {
                compare_policies(trace, popularity, request);
            } catch (const Error& error) {
                return error.kind() == ErrorKind::kInvalidInput;
            }
            return false;
        };
        QVERIFY(refused(Popularity::uniform(1, 5, 1)));
        QVERIFY(!refused(nothingKnown(trace)));
        request.distance = 1;
        QVERIFY(refused(nothingKnown(trace)));
    }
};

QTEST_GUILESS_MAIN(TestCacheReplay)
#include "tst_cache_replay.moc"
