// The quantizer against the hqq package's errors (tests/golden/make_hqq_golden.py),
// against itself on other instruction sets and numbers of threads, and on weights that
// are hard to pack.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <QtTest>

#include "engine/error.h"
#include "engine/model/model_files.h"
#include "engine/model/weights.h"
#include "engine/quant/quantizer.h"
#include "engine/quant/weight_format.h"
#include "kernels/packed.h"
#include "kernels/quantize.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::tests;
using kernels::WeightType;

namespace {

constexpr WeightType kHqq[] = {WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2};
constexpr WeightType kPacked[] = {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2};

std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// The same as draw() of make_hqq_golden.py, bit by bit.
std::vector<float> draw(std::uint64_t seed, std::int64_t rows, std::int64_t cols, const QString& kind, float scale) {
    std::vector<float> weights(static_cast<std::size_t>(rows * cols));
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        const std::uint64_t bits = mix(static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15ull + seed);
        int sum = 0;
        for (int k = 0; k < (kind == "even" ? 1 : 4); ++k) sum += static_cast<std::int16_t>(bits >> (16 * k));
        float x = static_cast<float>(sum) * 0x1p-16f;
        if (kind == "cube") x = x * x * x;
        x *= scale;
        if (kind == "rows") x *= std::ldexp(1.0f, static_cast<int>(i / cols % 8) - 4);
        weights[static_cast<std::size_t>(i)] = x;
    }
    return weights;
}

kernels::WeightView viewOf(const std::vector<float>& weights, std::int64_t cols) {
    const auto rows = static_cast<std::int64_t>(weights.size()) / cols;
    return {weights.data(), WeightType::kF32, rows, cols};
}

struct Result {
    std::vector<std::byte> bytes;
    QuantError error;
};

Result quantize(const kernels::WeightView& rows, WeightType format, QuantMethod method = QuantMethod::kHqq,
                int threads = 2) {
    kernels::ThreadPool pool(threads);
    Result result{
        std::vector<std::byte>(static_cast<std::size_t>(rows.n_rows) * kernels::row_bytes(format, rows.n_cols)), {}};
    result.error = Quantizer(pool, method).quantize(rows, format, result.bytes.data());
    return result;
}

std::vector<float> unpack(const std::vector<std::byte>& bytes, WeightType format, std::int64_t cols) {
    const std::size_t row_bytes = kernels::row_bytes(format, cols);
    std::vector<float> values(bytes.size() / row_bytes * static_cast<std::size_t>(cols));
    for (std::size_t r = 0; r * row_bytes < bytes.size(); ++r) {
        kernels::unpack_row(format, bytes.data() + r * row_bytes, cols, 0, cols,
                            values.data() + r * static_cast<std::size_t>(cols));
    }
    return values;
}

// A device for rows: does the threads' work, with one piece changed as set.
class ScriptedHelper final : public RowQuantizer {
  public:
    enum class Piece { kRight, kRefused, kFailed, kWrongFirstRow };
    explicit ScriptedHelper(Piece odd = Piece::kRight, int which = 0) : odd_(odd), which_(which) {}
    int pieces = 0;

    std::int64_t rows_per_piece(std::int64_t, WeightType, WeightType) const override { return 3; }
    bool start(int slot, const kernels::WeightView& rows, WeightType format) override {
        const bool odd = pieces++ == which_;
        if (odd && odd_ == Piece::kRefused) return false;
        std::vector<std::byte>& place = slots_[static_cast<std::size_t>(slot)];
        if (!place.empty()) qFatal("a slot was used twice");
        place = quantize(rows, format).bytes;
        if (odd && odd_ == Piece::kWrongFirstRow) place[5] ^= std::byte{1};
        failed_[static_cast<std::size_t>(slot)] = odd && odd_ == Piece::kFailed;
        return true;
    }
    const std::byte* finish(int slot) override {
        taken_ = std::move(slots_[static_cast<std::size_t>(slot)]);
        slots_[static_cast<std::size_t>(slot)].clear();
        if (taken_.empty()) qFatal("nothing was in the slot");
        return failed_[static_cast<std::size_t>(slot)] ? nullptr : taken_.data();
    }
    bool idle() const { return slots_[0].empty() && slots_[1].empty(); }

  private:
    const Piece odd_;
    const int which_;
    std::vector<std::byte> slots_[kSlots], taken_;
    bool failed_[kSlots] = {};
};

const QJsonObject& golden() {
    static const QJsonObject object = test::readJson(test::sourcePath("tests/engine/data/hqq_golden.json"));
    return object;
}

// Ours no worse than 1.02 of the package's; the quantizer's reported error is that found
// by reading; and at 2 and 3 bits HQQ is better than round to nearest.
void compare(const kernels::WeightView& rows, const QJsonObject& hqq) {
    for (const WeightType format : kHqq) {
        const std::string name(format_row(format).option);
        const Result ours = quantize(rows, format);
        const double reference = hqq[QString::fromStdString(name)].toDouble();
        QVERIFY(reference > 0.01);
        QVERIFY2(ours.error.relative() <= 1.02 * reference,
                 qPrintable(QString("%1: %2 against %3").arg(name.c_str()).arg(ours.error.relative()).arg(reference)));
        QVERIFY(ours.error.relative() > 0.85 * reference);  // far better would be a mistake in the measure

        std::vector<float> original(static_cast<std::size_t>(rows.n_rows * rows.n_cols));
        for (std::int64_t r = 0; r < rows.n_rows; ++r) {
            kernels::cpu_kernels().widen(rows.row(r), rows.type, rows.n_cols,
                                         original.data() + static_cast<std::size_t>(r * rows.n_cols));
        }
        const double found = test::relativeError(unpack(ours.bytes, format, rows.n_cols), original);
        QVERIFY(std::abs(found / ours.error.relative() - 1) < 1e-5);

        const Result nearest = quantize(rows, format, QuantMethod::kNearest);
        QVERIFY2(ours.error.relative() < nearest.error.relative() * (format == WeightType::kHqq4 ? 1.0 : 0.99),
                 name.c_str());
    }
}

}  // namespace

class TestQuantizer : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void errors_ofDrawnTensors_areThoseOfHqq_data() {
        QTest::addColumn<QJsonObject>("tensor");
        for (const QJsonValue& value : golden()["drawn"].toArray()) {
            QTest::newRow(qPrintable(value["name"].toString())) << value.toObject();
        }
    }
    void errors_ofDrawnTensors_areThoseOfHqq() {
        QFETCH(QJsonObject, tensor);
        const std::int64_t cols = tensor["cols"].toInt();
        const std::vector<float> weights =
            draw(static_cast<std::uint64_t>(tensor["seed"].toInt()), tensor["rows"].toInt(), cols,
                 tensor["kind"].toString(), static_cast<float>(tensor["scale"].toDouble()));
        for (int i = 0; i < 3; ++i) {
            QCOMPARE(weights[static_cast<std::size_t>(i)], static_cast<float>(tensor["first"].toArray()[i].toDouble()));
        }
        compare(viewOf(weights, cols), tensor["hqq"].toObject());
    }

    void errors_ofTheDemoModelsExperts_areThoseOfHqq() {
        kernels::ThreadPool pool(2);
        ModelSpec spec = read_model_spec(test::demoModel());
        const ExpertGrid& grid = spec.experts;
        const auto source = open_weights(Checkpoint::open(test::demoModel()), spec, false, pool);
        const QJsonArray experts = golden()["experts"].toArray();
        QCOMPARE(experts.size(), 3);
        for (const QJsonValue& expert : experts) {
            std::vector<std::byte> block(grid.expert_bytes(source->expert_type()));
            source->pack_expert(LayerIndex{expert["layer"].toInt()}, ExpertIndex{expert["expert"].toInt()},
                                block.data(), pool);
            compare({block.data(), source->expert_type(), 3 * grid.ffn_dim, grid.hidden_dim}, expert["hqq"].toObject());
        }
    }

    void bytes_onEveryInstructionSet_areTheSame_data() {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<int>("cols");
        QTest::addColumn<float>("scale");
        QTest::newRow("one block") << "bell" << 64 << 0.02f;
        QTest::newRow("three groups") << "bell" << 192 << 0.02f;
        QTest::newRow("a super group and a bit") << "rows" << 64 * 17 + 2048 << 0.02f;
        QTest::newRow("heavy tails") << "cube" << 1024 << 0.1f;
        QTest::newRow("errors that are shrunk") << "bell" << 832 << 3.0f;
        QTest::newRow("tiny") << "even" << 320 << 1e-20f;
        QTest::newRow("huge") << "bell" << 320 << 4e14f;
    }
    void bytes_onEveryInstructionSet_areTheSame() {
        QFETCH(QString, kind);
        QFETCH(int, cols);
        QFETCH(float, scale);
        const std::vector<float> weights = draw(7, 8, cols, kind, scale);
        for (const WeightType format : kPacked) {
            const std::size_t row_bytes = kernels::row_bytes(format, cols);
            std::vector<float> scratch(static_cast<std::size_t>(kernels::quantize_scratch_floats(format, cols)));
            for (const bool fits : {true, false}) {
                for (std::size_t row = 0; row < 8; ++row) {
                    std::vector<std::byte> truth;
                    double error = 0;
                    for (const kernels::InstructionSet set : kernels::available_instruction_sets()) {
                        const kernels::QuantizeKernels& k = kernels::quantize_kernels(set);
                        std::vector<std::byte> bytes(row_bytes + 16, std::byte{0x5a});
                        const double found =
                            k.pack_row(format, fits, weights.data() + row * static_cast<std::size_t>(cols), cols,
                                       scratch.data(), bytes.data());
                        QVERIFY(std::all_of(bytes.end() - 16, bytes.end(),
                                            [](std::byte b) { return b == std::byte{0x5a}; }));
                        if (truth.empty()) {
                            truth = bytes;
                            error = found;
                        }
                        QVERIFY2(bytes == truth, kernels::name_of(set).data());
                        QVERIFY(std::abs(found - error) <= 1e-5 * error);
                    }
                }
            }
        }
    }

    void bytes_forAnyNumberOfThreads_areTheSame() {
        const std::vector<float> weights = draw(3, 301, 448, "bell", 0.02f);
        for (const WeightType format : kPacked) {
            const Result one = quantize(viewOf(weights, 448), format, QuantMethod::kHqq, 1);
            for (const int threads : {2, 3}) {
                const Result many = quantize(viewOf(weights, 448), format, QuantMethod::kHqq, threads);
                QVERIFY(many.bytes == one.bytes);
                QCOMPARE(many.error.squared, one.error.squared);
                QCOMPARE(many.error.weights, one.error.weights);
            }
        }
    }

    void int8_coversTheLargestWeight() {
        const std::vector<float> weights = draw(11, 16, 512, "cube", 1.0f);
        const Result result = quantize(viewOf(weights, 512), WeightType::kInt8);
        const std::vector<float> read = unpack(result.bytes, WeightType::kInt8, 512);
        for (std::size_t g = 0; g < weights.size(); g += 64) {
            float largest = 0;
            for (std::size_t i = g; i < g + 64; ++i) largest = std::max(largest, std::abs(weights[i]));
            // Half a step of the scale, which is at most 1/128 too large.
            const float bound = largest / 127.0f * 0.5f * 1.0079f;
            for (std::size_t i = g; i < g + 64; ++i) QVERIFY(std::abs(read[i] - weights[i]) <= bound);
        }
    }

    void zeros_andConstants_comeBackExactly() {
        std::vector<float> weights(64 * 40, 0.0f);
        for (const WeightType format : kPacked) {
            const Result zeros = quantize(viewOf(weights, 64 * 20), format);
            QCOMPARE(zeros.error.squared, 0.0);
            QCOMPARE(zeros.error.relative(), 0.0);
            for (const float value : unpack(zeros.bytes, format, 64 * 20)) QCOMPARE(value, 0.0f);
        }
        for (const float constant : {0.75f, -0.75f, 3e-5f}) {
            std::fill(weights.begin(), weights.end(), constant);
            for (const WeightType format : kHqq) {
                QVERIFY(quantize(viewOf(weights, 64 * 20), format).error.relative() < 1e-5);
            }
        }
    }

    // One group far from zero must not cost its super group the zeros' precision.
    void anOutlyingGroup_leavesItsNeighboursAlone() {
        std::vector<float> weights = draw(5, 1, 4096, "bell", 0.02f);
        for (std::size_t i = 0; i < 64; ++i) weights[i] = 1.0f + 1e-6f * static_cast<float>(i % 7);
        for (const WeightType format : kHqq) {
            const std::vector<float> read = unpack(quantize(viewOf(weights, 4096), format).bytes, format, 4096);
            const double near = test::relativeError(std::span(read).subspan(64), std::span(weights).subspan(64));
            QVERIFY2(near < (format == WeightType::kHqq2   ? 0.75
                             : format == WeightType::kHqq3 ? 0.30
                                                           : 0.16),
                     qPrintable(QString::number(near)));
        }
    }

    void otherFormats_areCopiedRoundedOrRefused() {
        const std::vector<float> weights = draw(5, 3, 100, "bell", 1.0f);
        const Result copy = quantize(viewOf(weights, 100), WeightType::kF32);
        QVERIFY(std::memcmp(copy.bytes.data(), weights.data(), copy.bytes.size()) == 0);
        QCOMPARE(copy.error.squared, 0.0);
        const Result rounded = quantize(viewOf(weights, 100), WeightType::kBf16);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            QCOMPARE(reinterpret_cast<const kernels::Bf16*>(rounded.bytes.data())[i].bits,
                     kernels::to_bf16(weights[i]).bits);
        }
        QVERIFY(rounded.error.relative() > 1e-4 && rounded.error.relative() < 4e-3);
        for (const WeightType format : {WeightType::kHqq4, WeightType::kF16}) {
            QCOMPARE(mismatch(error_of([&] { quantize(viewOf(weights, 100), format); }), ErrorKind::kUnsupported),
                     QString());
        }
    }

    void brokenWeights_areAnError_data() {
        QTest::addColumn<float>("value");
        QTest::newRow("not a number") << std::numeric_limits<float>::quiet_NaN();
        QTest::newRow("infinite") << -std::numeric_limits<float>::infinity();
        QTest::newRow("beyond what can be packed") << 2e15f;
    }
    void brokenWeights_areAnError() {
        QFETCH(float, value);
        std::vector<float> weights = draw(5, 40, 64, "bell", 1.0f);
        weights[64 * 33 + 5] = value;
        for (const WeightType format : {WeightType::kInt8, WeightType::kHqq2, WeightType::kBf16}) {
            QCOMPARE(mismatch(error_of([&] { quantize(viewOf(weights, 64), format); }), ErrorKind::kInvalidModel),
                     QString());
        }
    }

    void stopping_isCancelled() {
        const std::vector<float> weights = draw(5, 4, 64, "bell", 1.0f);
        kernels::ThreadPool pool(2);
        std::vector<std::byte> out(4 * kernels::row_bytes(WeightType::kHqq3, 64));
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(mismatch(error_of([&] {
                              Quantizer(pool).quantize(viewOf(weights, 64), WeightType::kHqq3, out.data(),
                                                       stop.get_token());
                          }),
                          ErrorKind::kCancelled),
                 QString());
    }

    // For any behaviour of the device, the rows are those of the threads; and no work of
    // it remains under way.
    void helper_packs_andWhereItFailsTheThreadsDo() {
        using Piece = ScriptedHelper::Piece;
        const std::vector<float> weights = draw(5, 11, 320, "bell", 0.02f);
        const kernels::WeightView rows = viewOf(weights, 320);
        for (const WeightType format : kPacked) {
            const Result want = quantize(rows, format);
            for (const Piece odd : {Piece::kRight, Piece::kRefused, Piece::kFailed, Piece::kWrongFirstRow}) {
                for (int which = 0; which < 4; ++which) {
                    ScriptedHelper helper(odd, which);
                    kernels::ThreadPool pool(2);
                    Quantizer quantizer(pool, QuantMethod::kHqq, &helper);
                    std::vector<std::byte> out(want.bytes.size());
                    const QuantError error = quantizer.quantize(rows, format, out.data());
                    QVERIFY(out == want.bytes);
                    QVERIFY(std::abs(error.relative() / want.error.relative() - 1) < 1e-6);
                    QVERIFY(helper.idle());
                    if (odd == Piece::kRight) {
                        QCOMPARE(quantizer.n_helped(), 11);
                        QCOMPARE(helper.pieces, 4);
                    } else {
                        QVERIFY(quantizer.n_helped() <= which * 3);
                        QVERIFY(which < 2 || quantizer.n_helped() > 0);
                    }
                }
            }
        }
        // Round to nearest is done by the threads only.
        ScriptedHelper unused;
        kernels::ThreadPool pool(2);
        std::vector<std::byte> out(quantize(rows, WeightType::kHqq4).bytes.size());
        Quantizer(pool, QuantMethod::kNearest, &unused).quantize(rows, WeightType::kHqq4, out.data());
        QCOMPARE(unused.pieces, 0);
    }

    void helper_infiniteWeightOrStop_endAsWithoutIt() {
        std::vector<float> weights = draw(6, 10, 64, "bell", 0.02f);
        weights[64 * 7 + 3] = std::numeric_limits<float>::infinity();
        ScriptedHelper helper;
        kernels::ThreadPool pool(1);
        std::vector<std::byte> out(10 * kernels::row_bytes(WeightType::kHqq2, 64));
        Quantizer quantizer(pool, QuantMethod::kHqq, &helper);
        QVERIFY_THROWS_EXCEPTION(Error, quantizer.quantize(viewOf(weights, 64), WeightType::kHqq2, out.data()));
        QVERIFY(helper.idle());
        std::stop_source stop;
        stop.request_stop();
        QVERIFY_THROWS_EXCEPTION(
            Error, quantizer.quantize(viewOf(weights, 64), WeightType::kHqq2, out.data(), stop.get_token()));
        QVERIFY(helper.idle());
    }
};

QTEST_GUILESS_MAIN(TestQuantizer)
#include "tst_quantizer.moc"
