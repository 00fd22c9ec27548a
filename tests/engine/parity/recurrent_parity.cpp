// Operations of recurrent layers: DeltaNet, Mamba-2, gated short convolution.

#include <algorithm>
#include <functional>
#include <memory>

#include "tests/engine/parity/backend_parity.h"

namespace offstage::engine::parity {

namespace {

using Inputs = std::vector<std::span<const float>>;

// An operation on rows of several inputs, and its definition in double.
struct RecurrentOperation {
    std::int64_t kept_size = 0;
    std::vector<std::int64_t> input_widths;
    std::int64_t out_width = 0;
    std::function<ops::Operation(std::span<const AttentionSegment>, const kernels::KvShape&,
                                 const std::vector<float*>& inputs, float* out)>
        operation;
    // The outputs of a sequence's rows. kept: what is kept before them, then after them.
    std::function<std::vector<double>(const Inputs&, std::vector<double>& kept)> define;
};

constexpr std::int64_t kLayer = 1;

// n rows of random inputs on the device.
class RandomStep {
  public:
    RandomStep(Backend& backend, const RecurrentOperation& operation, std::int64_t n, std::uint32_t seed)
        : backend_(backend), operation_(operation), out_(backend, filled(n * operation.out_width, NAN)) {
        for (const std::int64_t width : operation.input_widths) {
            inputs_.push_back(std::make_unique<OnDevice<float>>(backend, random_floats(n * width, seed++, 3.0f)));
        }
    }

    // first: the segments' row 0.
    void submit(std::span<const AttentionSegment> segments, const kernels::KvShape& kv, std::int64_t first = 0) {
        std::vector<float*> inputs;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            inputs.push_back(inputs_[i]->data() + first * operation_.input_widths[i]);
        }
        backend_.submit(operation_.operation(segments, kv, inputs, out_.data() + first * operation_.out_width));
    }
    std::vector<double> define(const AttentionSegment& segment, std::vector<double>& kept) const {
        Inputs rows;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const auto width = static_cast<std::size_t>(operation_.input_widths[i]);
            rows.push_back(std::span(inputs_[i]->host())
                               .subspan(static_cast<std::size_t>(segment.first_row) * width,
                                        static_cast<std::size_t>(segment.n_tokens) * width));
        }
        return operation_.define(rows, kept);
    }
    std::vector<float> out() const { return out_.download(); }

  private:
    Backend& backend_;
    const RecurrentOperation& operation_;
    std::vector<std::unique_ptr<OnDevice<float>>> inputs_;
    OnDevice<float> out_;
};

bool are_near(std::span<const float> got, const std::vector<double>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!(std::abs(double{got[i]} - wanted[i]) <= 1e-4 * (1 + std::abs(wanted[i])))) return false;
    }
    return true;
}

// Two sequences in a step, one with a state and one that begins; the first continues in a
// second step. Its tokens one by one have the same bits.
void check_recurrent(Backend& backend, const RecurrentOperation& operation) {
    const kernels::KvShape kv = kernels::kv_shape_of_states(2, operation.kept_size);
    const std::int64_t n_floats = kv.block_bytes() / 4;
    const auto place = static_cast<std::size_t>(kv.keys_offset(kLayer, 0) / 4);
    const auto n_kept = static_cast<std::size_t>(operation.kept_size);
    const OnDevice<float> before(backend, random_floats(n_floats, 5)), after(backend, filled(n_floats, NAN)),
        other(backend, filled(n_floats, NAN)), last(backend, filled(n_floats, NAN)),
        odd(backend, filled(n_floats, NAN)), even(backend, filled(n_floats, NAN));
    const auto address = [](const OnDevice<float>& block) { return reinterpret_cast<std::byte*>(block.data()); };
    const OnDevice<std::byte*> tables(
        backend, {address(before), address(after), nullptr, address(other), address(after), address(last),
                  address(before), address(odd), address(odd), address(even), address(even), address(odd)});
    const auto segment = [&](std::int64_t first_row, std::int64_t n_tokens, std::int64_t past, std::size_t table) {
        return AttentionSegment{
            first_row, n_tokens, past, std::span(tables.host()).subspan(2 * table, 2), tables.data() + 2 * table, {}};
    };
    const auto kept_in = [&](const OnDevice<float>& block) {
        const std::vector<float> floats = block.download();
        return std::vector(floats.begin() + static_cast<std::ptrdiff_t>(place),
                           floats.begin() + static_cast<std::ptrdiff_t>(place + n_kept));
    };
    const auto first = before.host().begin() + static_cast<std::ptrdiff_t>(place);
    std::vector<double> kept(first, first + static_cast<std::ptrdiff_t>(n_kept)), kept_of_other(n_kept);
    constexpr std::int64_t kTokens = 6;
    const std::vector<AttentionSegment> both = {segment(0, kTokens, 20, 0), segment(kTokens, 2, 0, 1)};
    RandomStep step(backend, operation, kTokens + 2, 6);
    step.submit(both, kv);
    std::vector<double> want = step.define(both[0], kept);
    const std::vector<double> of_other = step.define(both[1], kept_of_other);
    want.insert(want.end(), of_other.begin(), of_other.end());
    const std::vector<float> together = step.out();
    QVERIFY(are_near(together, want));
    QVERIFY(are_near(kept_in(after), kept));
    QVERIFY(are_near(kept_in(other), kept_of_other));

    const std::vector<AttentionSegment> next = {segment(0, 1, 20 + kTokens, 2)};
    RandomStep second(backend, operation, 1, 16);
    second.submit(next, kv);
    QVERIFY(are_near(second.out(), second.define(next[0], kept)));
    QVERIFY(are_near(kept_in(last), kept));
    QVERIFY(same_bits<float>(before.download(), before.host()));

    // A step that keeps the state behind each of its tokens.
    std::vector<std::unique_ptr<OnDevice<float>>> states;
    std::vector<std::byte*> addresses = {address(before)};
    for (std::int64_t t = 0; t < kTokens; ++t) {
        states.push_back(std::make_unique<OnDevice<float>>(backend, filled(n_floats, NAN)));
        addresses.push_back(address(*states.back()));
    }
    const OnDevice<std::byte*> behind_each(backend, addresses);
    const std::vector<AttentionSegment> kept_each = {
        AttentionSegment{0, kTokens, 20, behind_each.host(), behind_each.data(), {}}};
    RandomStep keeping(backend, operation, kTokens + 2, 6);
    keeping.submit(kept_each, kv);

    RandomStep one_by_one(backend, operation, kTokens + 2, 6);
    for (std::int64_t t = 0; t < kTokens; ++t) {
        const std::size_t table = t == 0 ? 3 : t % 2 == 1 ? 4 : 5;
        const std::vector<AttentionSegment> one = {segment(0, 1, 20 + t, table)};
        one_by_one.submit(one, kv, t);
        QVERIFY(same_bits<float>(kept_in(*states[static_cast<std::size_t>(t)]), kept_in(t % 2 == 0 ? odd : even)));
    }
    const auto n_values = static_cast<std::size_t>(kTokens * operation.out_width);
    const std::vector<float> alone = one_by_one.out();
    QVERIFY(same_bits<float>(std::span(alone).first(n_values), std::span(together).first(n_values)));
    const std::vector<float> each_kept = keeping.out();
    QVERIFY(same_bits<float>(std::span(each_kept).first(n_values), std::span(alone).first(n_values)));
    QVERIFY(same_bits<float>(kept_in(even), kept_in(after)));
}

double at(std::span<const float> values, std::int64_t i) {
    return double{values[static_cast<std::size_t>(i)]};
}

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

// The convolution of a sequence's rows. kept: the inputs of the last tokens from `first`
// on.
std::vector<double> convolved(const kernels::ConvolutionShape& shape, std::span<const float> weights,
                              std::span<const float> bias, const std::vector<double>& rows, std::vector<double>& kept,
                              std::int64_t first) {
    const std::int64_t width = shape.n_channels;
    const auto begin = kept.begin() + first;
    std::vector<double> inputs(begin, begin + shape.kept_size());
    inputs.insert(inputs.end(), rows.begin(), rows.end());
    std::vector<double> out;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const std::int64_t t = static_cast<std::int64_t>(row) / width, c = static_cast<std::int64_t>(row) % width;
        double sum = bias.empty() ? 0 : at(bias, c);
        for (std::int64_t i = 0; i < shape.kernel_size; ++i) {
            sum += at(weights, c * shape.kernel_size + i) * inputs[static_cast<std::size_t>((t + i) * width + c)];
        }
        out.push_back(shape.silu ? sum * sigmoid(sum) : sum);
    }
    std::copy(inputs.end() - shape.kept_size(), inputs.end(), begin);
    return out;
}

// DeltaNetShape's and Mamba2Shape's definition for a token of one value head.
std::vector<double> updated(const kernels::StateShape& shape, const double* q, const double* k, const double* v,
                            double decay, double beta, bool corrects, double* state) {
    std::vector<double> out;
    for (std::int64_t c = 0; c < shape.value_dim; ++c) {
        double known = 0, value = 0;
        for (std::int64_t i = 0; i < shape.key_dim; ++i) known += k[i] * (state[i * shape.value_dim + c] *= decay);
        for (std::int64_t i = 0; i < shape.key_dim; ++i) {
            double& s = state[i * shape.value_dim + c];
            s += k[i] * beta * (v[c] - (corrects ? known : 0));
            value += q[i] * s;
        }
        out.push_back(value);
    }
    return out;
}

void normalise(std::vector<double>& values, std::size_t first, std::int64_t n, float eps, std::span<const float> weight,
               std::int64_t first_weight) {
    double squares = 0;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(n); ++i) squares += values[i] * values[i];
    const double length = std::sqrt(squares / static_cast<double>(n) + double{eps});
    for (std::int64_t i = 0; i < n; ++i) {
        values[first + static_cast<std::size_t>(i)] *= at(weight, first_weight + i) / length;
    }
}

std::vector<float> rates(std::int64_t n, std::uint32_t seed) {
    std::vector<float> values = random_floats(n, seed);
    for (float& rate : values) rate = -std::abs(rate) - 0.01f;
    return values;
}

std::vector<double> doubles(std::span<const float> values) {
    return {values.begin(), values.end()};
}

void check_delta_net(Backend& backend, const Promise&) {
    for (kernels::DeltaNetShape shape : {kernels::DeltaNetShape{2, 4, 16, 16, 4, false},
                                         {2, 6, 7, 9, 3, true},
                                         {1, 1, 130, 33, 2, false},
                                         {1, 2, 128, 128, 4, false},
                                         {3, 3, 5, 70, 1, false}}) {
        const std::int64_t width = shape.qkv_width(), n_heads = shape.n_value_heads;
        const OnDevice<float> convolution(backend, random_floats(width * shape.kernel_size, 1));
        const OnDevice<float> rate(backend, rates(n_heads, 2)), bias(backend, random_floats(n_heads, 3));
        const OnDevice<float> norm(backend, random_floats(shape.value_dim, 4));
        shape.convolution = convolution.data();
        shape.decay_rate = rate.data();
        shape.time_bias = bias.data();
        shape.norm = norm.data();
        shape.norm_eps = 1e-6f;
        const auto define = [&](const Inputs& inputs, std::vector<double>& kept) {
            const kernels::StateShape states = shape.states();
            const std::int64_t k_dim = shape.key_dim;
            std::vector<double> rows =
                convolved(shape.inputs(), convolution.host(), {}, doubles(inputs[0]), kept, states.size());
            std::vector<double> out;
            for (std::int64_t t = 0; t < std::ssize(inputs[0]) / width; ++t) {
                double* const row = rows.data() + t * width;
                for (std::int64_t head = 0; head < 2 * shape.n_key_heads; ++head) {
                    double* const x = row + head * k_dim;
                    double squares = 1e-6;
                    for (std::int64_t i = 0; i < k_dim; ++i) squares += x[i] * x[i];
                    if (head < shape.n_key_heads) squares *= static_cast<double>(k_dim);
                    for (std::int64_t i = 0; i < k_dim; ++i) x[i] /= std::sqrt(squares);
                }
                for (std::int64_t head = 0; head < n_heads; ++head) {
                    const double* const q = row + states.key_head(head) * k_dim;
                    const double* const k = q + shape.n_key_heads * k_dim;
                    const double* const v = row + 2 * shape.n_key_heads * k_dim + head * shape.value_dim;
                    const double a = at(inputs[1], t * 2 * n_heads + head) + at(bias.host(), head);
                    const double decay = std::exp(at(rate.host(), head) * std::log1p(std::exp(a)));
                    const double beta = sigmoid(at(inputs[1], (t * 2 + 1) * n_heads + head));
                    const std::size_t first = out.size();
                    const auto values =
                        updated(states, q, k, v, decay, beta, true, kept.data() + head * k_dim * shape.value_dim);
                    out.insert(out.end(), values.begin(), values.end());
                    normalise(out, first, shape.value_dim, shape.norm_eps, norm.host(), 0);
                    for (std::size_t i = first; i < out.size(); ++i) {
                        const double z = at(inputs[2], static_cast<std::int64_t>(i));
                        out[i] *= z * sigmoid(z);
                    }
                }
            }
            return out;
        };
        check_recurrent(backend, {shape.kept_size(),
                                  {width, 2 * n_heads, shape.output_width()},
                                  shape.output_width(),
                                  [&](auto segments, const auto& kv, const auto& inputs, float* out) {
                                      return ops::DeltaNet{kLayer,    shape,     segments, inputs[0],
                                                           inputs[1], inputs[2], kv,       out};
                                  },
                                  define});
    }
}

void check_mamba2(Backend& backend, const Promise&) {
    // groups, heads, state, head, kernel
    for (kernels::Mamba2Shape shape : {kernels::Mamba2Shape{1, 4, 16, 8, 4},
                                       {2, 6, 7, 9, 3},
                                       {1, 2, 130, 33, 2},
                                       {4, 4, 128, 64, 4},
                                       {3, 3, 5, 70, 1}}) {
        const std::int64_t width = shape.row_width(), n_heads = shape.n_heads, out_width = shape.output_width();
        const OnDevice<float> convolution(backend, random_floats(width * shape.kernel_size, 1));
        const OnDevice<float> convolution_bias(backend, random_floats(width, 7));
        const OnDevice<float> rate(backend, rates(n_heads, 2)), bias(backend, random_floats(n_heads, 3));
        const OnDevice<float> norm(backend, random_floats(out_width, 4)), skip(backend, random_floats(n_heads, 8));
        shape.convolution = convolution.data();
        shape.convolution_bias = convolution_bias.data();
        shape.decay_rate = rate.data();
        shape.time_bias = bias.data();
        shape.skip = skip.data();
        shape.norm = norm.data();
        shape.norm_eps = 1e-5f;
        const auto define = [&](const Inputs& inputs, std::vector<double>& kept) {
            const kernels::StateShape states = shape.states();
            const std::vector<double> rows = convolved(shape.inputs(), convolution.host(), convolution_bias.host(),
                                                       doubles(inputs[0]), kept, states.size());
            std::vector<double> out;
            for (std::int64_t t = 0; t < std::ssize(inputs[0]) / width; ++t) {
                const double* const row = rows.data() + t * width;
                const std::size_t first = out.size();
                for (std::int64_t head = 0; head < n_heads; ++head) {
                    const double* const x = row + head * shape.head_dim;
                    const double* const b = row + out_width + head / (n_heads / shape.n_groups) * shape.state_dim;
                    const double* const c = b + shape.n_groups * shape.state_dim;
                    const double time = std::log1p(std::exp(at(inputs[1], t * n_heads + head) + at(bias.host(), head)));
                    const auto values = updated(states, c, b, x, std::exp(at(rate.host(), head) * time), time, false,
                                                kept.data() + head * shape.state_dim * shape.head_dim);
                    for (std::size_t i = 0; i < values.size(); ++i) {
                        const double z = at(inputs[2], static_cast<std::int64_t>(out.size()));
                        out.push_back((values[i] + at(skip.host(), head) * x[i]) * z * sigmoid(z));
                    }
                }
                const std::int64_t group = out_width / shape.n_groups;
                for (std::int64_t g = 0; g < shape.n_groups; ++g) {
                    normalise(out, first + static_cast<std::size_t>(g * group), group, shape.norm_eps, norm.host(),
                              g * group);
                }
            }
            return out;
        };
        check_recurrent(backend, {shape.kept_size(),
                                  {width, n_heads, out_width, n_heads},
                                  out_width,
                                  [&](auto segments, const auto& kv, const auto& inputs, float* out) {
                                      return ops::Mamba2{kLayer,    shape,     segments, inputs[0], inputs[1],
                                                         inputs[3], inputs[2], kv,       out};
                                  },
                                  define});
    }
}

void check_gated_convolution(Backend& backend, const Promise&) {
    for (kernels::ConvolutionShape shape : {kernels::ConvolutionShape{70, 3}, {257, 4}, {5, 2}}) {
        const std::int64_t width = shape.n_channels;
        const OnDevice<float> weights(backend, random_floats(width * shape.kernel_size, 1));
        shape.weights = weights.data();
        shape.silu = false;
        const auto define = [&](const Inputs& inputs, std::vector<double>& kept) {
            const std::int64_t n = std::ssize(inputs[0]) / (3 * width);
            std::vector<double> products, out;
            for (std::int64_t i = 0; i < n * width; ++i) {
                const std::int64_t b = i / width * 3 * width + i % width;
                products.push_back(at(inputs[0], b) * at(inputs[0], b + 2 * width));
            }
            const std::vector<double> rows = convolved(shape, weights.host(), {}, products, kept, 0);
            for (std::int64_t i = 0; i < n * width; ++i) {
                out.push_back(rows[static_cast<std::size_t>(i)] *
                              at(inputs[0], (i / width * 3 + 1) * width + i % width));
            }
            return out;
        };
        check_recurrent(backend, {shape.kept_size(),
                                  {3 * width},
                                  width,
                                  [&](auto segments, const auto& kv, const auto& inputs, float* out) {
                                      return ops::GatedConvolution{kLayer, shape, segments, inputs[0], kv, out};
                                  },
                                  define});
    }
}

}  // namespace

std::vector<Check> recurrent_checks() {
    return {{"delta_net", check_delta_net}, {"mamba2", check_mamba2}, {"gated_convolution", check_gated_convolution}};
}

}  // namespace offstage::engine::parity
