#include <algorithm>
#include <cmath>

#include "tests/engine/parity/backend_parity.h"
#include "tests/kernels/router_reference.h"

namespace offstage::engine::parity {

namespace {

// Against the reference in double precision. If two experts are almost equal, rounding
// may choose either.
void check_routing(Backend& backend, const kernels::RouterSpec& spec, std::int64_t n, bool biased,
                   bool scaled = false) {
    constexpr std::int64_t kHidden = 72;
    const std::int64_t n_experts = spec.n_experts;
    const std::int64_t n_active = spec.n_active;
    const OnDevice<float> gate(backend, random_floats(n_experts * kHidden, 14, 0.7f));
    const OnDevice<float> bias(backend, random_floats(n_experts, 16, 0.3f));
    const OnDevice<float> scale(backend, random_floats(n_experts, 17));
    const OnDevice<float> x(backend, random_floats(n * kHidden, 15));
    const OnDevice<std::int32_t> experts(backend,
                                         std::vector<std::int32_t>(static_cast<std::size_t>(n * n_active), -1));
    const OnDevice<float> weights(backend, filled(n * n_active, NAN));
    const kernels::RouterArrays arrays{gate.data(), biased ? bias.data() : nullptr, scaled ? scale.data() : nullptr};
    backend.submit(ops::Route{spec, arrays, x.data(), n, kHidden, experts.data(), weights.data()});
    const std::vector<std::int32_t> got = experts.download();
    const std::vector<float> got_weights = weights.download();
    for (std::int64_t t = 0; t < n; ++t) {
        std::vector<double> logits(static_cast<std::size_t>(n_experts), 0.0);
        for (std::int64_t e = 0; e < n_experts; ++e) {
            for (std::int64_t i = 0; i < kHidden; ++i) {
                logits[static_cast<std::size_t>(e)] += double{gate.host()[static_cast<std::size_t>(e * kHidden + i)]} *
                                                       double{x.host()[static_cast<std::size_t>(t * kHidden + i)]};
            }
        }
        const kernels::test::Routing want =
            kernels::test::expected_routing(spec, logits, biased ? bias.host() : std::vector<float>());
        for (std::size_t a = 0; a < static_cast<std::size_t>(n_active); ++a) {
            const std::size_t place = static_cast<std::size_t>(t * n_active) + a;
            QCOMPARE(got[place], want.experts[a]);
            const double factor = scaled ? double{scale.host()[static_cast<std::size_t>(want.experts[a])]} : 1.0;
            QVERIFY(std::abs(double{got_weights[place]} - factor * want.weights[a]) < 2e-5 * (1 + want.weights[a]));
        }
    }
}

void check_route(Backend& backend, const Promise&) {
    for (const auto& [n_experts, n_active] : {std::pair<int, int>{8, 2}, {16, 4}, {5, 1}, {3, 3}}) {
        kernels::RouterSpec spec;
        spec.n_experts = n_experts;
        spec.n_active = n_active;
        for (const std::int64_t n : {1, 2, 9, 100}) {
            check_routing(backend, spec, n, false);
            if (QTest::currentTestFailed()) return;
        }
    }
    for (const kernels::RouterSpec& spec : kernels::test::router_specs()) {
        for (const bool biased : {false, true}) {
            for (const bool scaled : {false, true}) {
                check_routing(backend, spec, 5, biased, scaled);
                if (QTest::currentTestFailed()) return;
            }
        }
    }
}

// Experts by the token: those of the table before any other, the lower number first, with
// the weights that their scores give them.
void check_route_by_token(Backend& backend, const Promise&) {
    constexpr std::int64_t kHidden = 24, kRows = 9;
    kernels::RouterSpec spec{
        .n_experts = 12, .n_active = 3, .scoring = kernels::RouterScoring::kSqrtSoftplus, .scale = 1.5f};
    const OnDevice<float> table(backend, {7, 2, 11, 0, 1, 5, 4, 3, 10, 9, 6, 8});
    const OnDevice<std::int32_t> tokens(backend, {3, 0, 1, 2, 2, 0, 1, 3, 0});
    const OnDevice<float> gate(backend, random_floats(spec.n_experts * kHidden, 14, 0.7f));
    const OnDevice<float> x(backend, random_floats(kRows * kHidden, 15));
    const OnDevice<std::int32_t> experts(backend, std::vector<std::int32_t>(kRows * 4, -1));
    const OnDevice<float> weights(backend, filled(kRows * 4, NAN));
    for (const std::int32_t n_active : {3, 4}) {
        spec.n_active = n_active;
        kernels::RouterArrays arrays{gate.data()};
        arrays.by_token = table.data();
        arrays.n_by_token = 3;
        arrays.tokens = tokens.data();
        backend.submit(ops::Route{spec, arrays, x.data(), kRows, kHidden, experts.data(), weights.data()});
        const std::vector<std::int32_t> got = experts.download();
        const std::vector<float> got_weights = weights.download();
        for (std::int64_t t = 0; t < kRows; ++t) {
            const auto entry = table.host().begin() + 3 * tokens.host()[static_cast<std::size_t>(t)];
            std::vector<float> want(entry, entry + 3);
            std::sort(want.begin(), want.end());
            double sum = 0;
            std::vector<double> scores;
            for (std::int32_t a = 0; a < n_active; ++a) {
                const std::int32_t expert = got[static_cast<std::size_t>(t * n_active + a)];
                if (a < 3) QCOMPARE(static_cast<float>(expert), want[static_cast<std::size_t>(a)]);
                if (a == 3) QVERIFY(std::find(want.begin(), want.end(), static_cast<float>(expert)) == want.end());
                double logit = 0;
                for (std::int64_t i = 0; i < kHidden; ++i) {
                    logit += double{gate.host()[static_cast<std::size_t>(expert * kHidden + i)]} *
                             double{x.host()[static_cast<std::size_t>(t * kHidden + i)]};
                }
                scores.push_back(std::sqrt(std::log1p(std::exp(logit))));
                sum += scores.back();
            }
            for (std::int32_t a = 0; a < n_active; ++a) {
                const double weight = 1.5 * scores[static_cast<std::size_t>(a)] / sum;
                QVERIFY(std::abs(double{got_weights[static_cast<std::size_t>(t * n_active + a)]} - weight) < 2e-5);
            }
        }
    }
}

// Experts whose gates are equal, or NaN: the lower index first, and never one that does
// not exist.
void check_route_of_equals(Backend& backend, const Promise&) {
    constexpr std::int64_t kHidden = 8;
    for (kernels::RouterSpec spec : kernels::test::router_specs()) {
        for (const float value : {0.25f, NAN}) {
            const OnDevice<float> gate(backend, filled(spec.n_experts * kHidden, value));
            const OnDevice<float> x(backend, filled(kHidden, 0.5f));
            const OnDevice<std::int32_t> experts(backend, std::vector<std::int32_t>(64, -1));
            const OnDevice<float> weights(backend, filled(64, NAN));
            // Also more experts than the groups in use have.
            for (const std::int32_t n_active : {spec.n_active, spec.n_experts}) {
                spec.n_active = n_active;
                backend.submit(ops::Route{spec, {gate.data()}, x.data(), 1, kHidden, experts.data(), weights.data()});
                const std::vector<std::int32_t> got = experts.download();
                const std::vector<float> got_weights = weights.download();
                for (std::int32_t a = 0; a < n_active; ++a) {
                    QCOMPARE(got[static_cast<std::size_t>(a)], a);
                    QVERIFY(std::isfinite(got_weights[static_cast<std::size_t>(a)]));
                }
            }
        }
    }
}

}  // namespace

std::vector<Check> router_checks() {
    return {
        {"route", check_route}, {"route_by_token", check_route_by_token}, {"route_of_equals", check_route_of_equals}};
}

}  // namespace offstage::engine::parity
