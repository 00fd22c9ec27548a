#include "tests/engine/parity/backend_parity.h"

namespace offstage::engine::parity {

const std::vector<Check>& all_checks() {
    static const std::vector<Check> all = [] {
        std::vector<Check> checks;
        for (const auto& of_file :
             {dense_checks(), attention_checks(), kv_checks(), recurrent_checks(), router_checks(), experts_checks(),
              queues_checks(), blocks_checks(), choice_checks()}) {
            checks.insert(checks.end(), of_file.begin(), of_file.end());
        }
        return checks;
    }();
    return all;
}

void run_check(const Check& check, Backend& backend, const Promise& promise) {
    if (promise.byte_inputs) QVERIFY(backend.set_byte_inputs(kernels::ByteInputTypes::all()));
    QVERIFY(backend.ok());
    backend.reserve(largest_step());
    check.run(backend, promise);
}

void check_product(Backend& backend, const Promise& promise, const TestWeight& weight,
                   std::initializer_list<std::int64_t> all_n) {
    const std::int64_t rows = weight.view.n_rows;
    const std::int64_t cols = weight.view.n_cols;
    for (const std::int64_t n : all_n) {
        const OnDevice<float> x(backend, random_floats(n * cols, static_cast<std::uint32_t>(n)));
        const OnDevice<float> y(backend, filled(n * rows, NAN));
        backend.submit(ops::Multiply{weight.view, x.data(), n, y.data()});
        std::vector<Expected> want(static_cast<std::size_t>(n * rows));
        for (std::int64_t t = 0; t < n; ++t) {
            const std::vector<double> in =
                as_multiplied(promise.rounds(weight.view.type), x.host().data() + t * cols, cols);
            for (std::int64_t r = 0; r < rows; ++r) {
                for (std::int64_t i = 0; i < cols; ++i) {
                    want[static_cast<std::size_t>(t * rows + r)].add(double{weight.at(r, i)} *
                                                                     in[static_cast<std::size_t>(i)]);
                }
            }
        }
        PARITY_VERIFY(mismatch(y.download(), want, promise.tolerance(n)));
    }
}

}  // namespace offstage::engine::parity
