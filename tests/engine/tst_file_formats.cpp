// Weights that stay in a file's blocks: layouts of each layer, packing and unpacking,
// other formats made from them, dense tensors, and refusals.

#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include <QtTest>

#include "engine/device/cpu_backend.h"
#include "engine/device/host_memory.h"
#include "engine/error.h"
#include "engine/model/families/family.h"
#include "engine/model/file_formats.h"
#include "engine/model/model_files.h"
#include "engine/model/pack_neurons.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/quantizer.h"
#include "engine/quant/random_rows.h"
#include "engine/run/dense_costs.h"
#include "kernels/blocks.h"
#include "tests/engine/errors.h"
#include "tests/engine/test_models.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::tests;
namespace kernels = offstage::kernels;
using kernels::WeightType;

namespace {

constexpr std::int64_t kHidden = 256, kFfn = 512, kExperts = 2, kHeads = 2, kHeadDim = 128;

// Tensors in memory: of the requested types, with random rows.
class MemoryCheckpoint final : public Checkpoint {
  public:
    void add(const std::string& name, std::vector<std::int64_t> shape, WeightType type) {
        const std::int64_t n_cols = shape.back();
        std::int64_t n_rows = 1;
        for (std::size_t i = 0; i + 1 < shape.size(); ++i) n_rows *= shape[i];
        const std::vector<std::byte> some = random_rows(type, n_cols);
        const std::size_t row = kernels::row_bytes(type, n_cols);
        std::vector<std::byte>& bytes = memory_[name];
        bytes.resize(static_cast<std::size_t>(n_rows) * row);
        for (std::size_t r = 0; r < static_cast<std::size_t>(n_rows); ++r) {
            std::memcpy(bytes.data() + r * row, some.data() + (r * 7 + memory_.size()) % 16 * row, row);
        }
        tensors_.push_back({name, type, std::move(shape), bytes, true, kernels::name_of(type)});
    }
    const std::vector<std::byte>& bytes(const std::string& name) const { return memory_.at(name); }

    std::span<const TensorView> tensors() const override { return tensors_; }
    const TensorView* find(std::string_view name) const override {
        const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                        [&](const TensorView& tensor) { return tensor.name == name; });
        return found == tensors_.end() ? nullptr : &*found;
    }
    void release(std::span<const std::byte>) const override {}
    void prefetch(std::span<const std::byte>) const override {}
    void require_readable(std::span<const std::byte>) const override {}
    std::uint64_t total_bytes() const override { return 1; }
    std::string source() const override { return "memory"; }

  private:
    std::map<std::string, std::vector<std::byte>> memory_;
    std::vector<TensorView> tensors_;
};

std::string expert_name(std::int64_t layer, std::size_t matrix) {
    return "blk." + std::to_string(layer) + ".e" + std::to_string(matrix);
}

std::vector<TensorPart> parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string name = std::to_string(tensor.layer) + "." + std::to_string(static_cast<int>(tensor.role));
    if (tensor.role == TensorRole::kQkv) {
        const std::int64_t rows = kHeads * kHeadDim;
        return {{name + ".q", {rows, spec.hidden_dim}, 0, 0, 0, rows},
                {name + ".k", {rows, spec.hidden_dim}},
                {name + ".v", {rows, spec.hidden_dim}}};
    }
    if (tensor.kind == DenseTensor::Kind::kNetwork) {
        const std::int64_t ffn = tensor.n_rows / 3;
        return {{name + ".g", {ffn, kHidden}}, {name + ".u", {ffn, kHidden}}, {name + ".d", {kHidden, ffn}}};
    }
    if (tensor.kind == DenseTensor::Kind::kVector && tensor.n_rows == 1) return {{name, {tensor.n_cols}}};
    return {{name, {tensor.n_rows, tensor.n_cols}}};
}

// All experts in one tensor each, as in GGUF.
ExpertParts expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::int64_t n = g.ffn_dim * g.hidden_dim;
    ExpertParts found;
    for (std::size_t m = 0; m < 2; ++m) {
        found.matrices[m] = {
            expert_name(layer, m), {g.n_experts, g.ffn_dim, g.hidden_dim}, expert * n, g.hidden_dim, 1};
    }
    found.matrices[2] = {expert_name(layer, 2), {g.n_experts, g.hidden_dim, g.ffn_dim}, expert * n, 1, g.ffn_dim};
    return found;
}

const Family kInBlocks = {"Test", "test", nullptr, parts, expert};

using Types = std::array<WeightType, 3>;

ModelSpec spec_of(std::size_t n_layers) {
    ModelSpec spec;
    spec.family = &kInBlocks;
    spec.vocab_size = 48;
    spec.hidden_dim = kHidden;
    spec.max_context = 256;
    spec.experts.hidden_dim = kHidden;
    spec.experts.ffn_dim = kFfn;
    spec.experts.n_experts = kExperts;
    spec.experts.n_active = 1;
    GroupedQuerySpec attention;
    attention.n_heads = attention.n_kv_heads = kHeads;
    attention.head_dim = kHeadDim;
    MoeSpec moe;
    moe.router.n_experts = kExperts;
    moe.router.n_active = 1;
    moe.shared_dim = 256;
    spec.layers.resize(n_layers);
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
    spec.number_moe_layers();
    return spec;
}

struct Model {
    // `dense`: of all matrices but the values' and the second one of networks, which are
    // in `others`.
    Model(const std::vector<Types>& layers, WeightType dense, WeightType others) : spec(spec_of(layers.size())) {
        auto made = std::make_unique<MemoryCheckpoint>();
        for (const DenseTensor& tensor : dense_tensors(spec)) {
            for (const TensorPart& part : parts(spec, tensor)) {
                const bool other = part.name.ends_with(".v") || part.name.ends_with(".d");
                made->add(part.name, part.shape,
                          tensor.kind == DenseTensor::Kind::kVector ? WeightType::kF32
                          : other                                   ? others
                                                                    : dense);
            }
        }
        for (std::size_t l = 0; l < layers.size(); ++l) {
            for (std::size_t m = 0; m < 3; ++m) {
                const auto layer = static_cast<std::int64_t>(l);
                made->add(expert_name(layer, m), expert(spec, layer, 0).matrices[m].shape, layers[l][m]);
            }
        }
        checkpoint = made.get();
        source = open_weights(std::move(made), spec, false, pool);
    }

    // Element `at` of a tensor, as the scalar decoder has it.
    float weight(const std::string& name, std::int64_t at) const {
        float value = 0;
        const TensorView& tensor = *checkpoint->find(name);
        if (kernels::is_blocks(tensor.type)) {
            kernels::unpack_blocks(tensor.type, tensor.bytes.data(), at, 1, &value);
        } else {
            convert_weights(tensor.bytes.data() + static_cast<std::size_t>(at) * kernels::bytes_per_weight(tensor.type),
                            tensor.type, reinterpret_cast<std::byte*>(&value), WeightType::kF32, 1);
        }
        return value;
    }
    std::vector<std::byte> packed(std::int32_t layer, std::int32_t index) {
        std::vector<std::byte> block(spec.experts.expert_bytes(spec.experts.stored(source->expert_type(), layer)));
        source->pack_expert(LayerIndex{layer}, ExpertIndex{index}, block.data(), pool);
        return block;
    }
    std::vector<std::byte> unpacked(std::int32_t layer, std::int32_t index) {
        const std::vector<std::byte> block = packed(layer, index);
        const kernels::ExpertLayout plain = spec.experts.layout(WeightType::kF32);
        std::vector<std::byte> out(plain.bytes());
        const WeightType stored = spec.experts.stored(source->expert_type(), layer);
        unpack_expert({block.data(), spec.experts.layout(stored)}, plain, out.data(), pool);
        return out;
    }

    kernels::ThreadPool pool{2};
    ModelSpec spec;
    const MemoryCheckpoint* checkpoint = nullptr;
    std::unique_ptr<WeightSource> source;
};

}  // namespace

class TestFileFormats : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void experts_unpacked_areTheFilesWeights_data() {
        QTest::addColumn<int>("type_number");
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            if (format.is_blocks()) QTest::newRow(format.name) << static_cast<int>(format.type);
        }
    }
    void experts_unpacked_areTheFilesWeights() {
        QFETCH(int, type_number);
        const auto type = static_cast<WeightType>(type_number);
        Model model({{type, type, WeightType::kQ8_0}}, type, type);
        QCOMPARE(model.source->expert_type(), WeightType::kFile1);
        const std::vector<std::byte> block = model.unpacked(0, 1);
        const auto* const floats = reinterpret_cast<const float*>(block.data());
        bool differ = false;
        for (std::int64_t j = 0; j < kFfn;
             j += offstage::test::kSanitized ? 5 : 1) {  // the test's own reading takes the time
            for (std::int64_t h = 0; h < kHidden; ++h) {
                const std::int64_t in_matrix = kFfn * kHidden;  // the second expert's
                const float found[3] = {floats[(3 * j) * kHidden + h], floats[(3 * j + 1) * kHidden + h],
                                        floats[(3 * j + 2) * kHidden + h]};
                QCOMPARE(found[0], model.weight(expert_name(0, 0), in_matrix + j * kHidden + h));
                QCOMPARE(found[1], model.weight(expert_name(0, 1), in_matrix + j * kHidden + h));
                QCOMPARE(found[2], model.weight(expert_name(0, 2), in_matrix + h * kFfn + j));
                differ |= found[0] != found[1];
            }
        }
        QVERIFY(differ);
    }

    // Codes and exponents in two tensors, gate and up rows in turn.
    void mxfp4_asTransformersWritesIt_isRead() {
        const std::string folder = offstage::test::tinyModel(QStringLiteral("gpt_oss_mxfp4"));
        ModelSpec spec = read_model_spec(folder);
        const auto checkpoint = Checkpoint::open(folder);
        kernels::ThreadPool pool(2);
        const auto source = open_weights(Checkpoint::open(folder), spec, false, pool);
        const ExpertGrid& grid = spec.experts;
        QCOMPARE(source->expert_type(), WeightType::kFile1);
        std::vector<std::byte> block(grid.expert_bytes(WeightType::kFile1));
        source->pack_expert(LayerIndex{1}, ExpertIndex{3}, block.data(), pool);
        const kernels::ExpertLayout plain = grid.layout(WeightType::kF32);
        std::vector<std::byte> wide(plain.bytes());
        unpack_expert({block.data(), grid.layout(WeightType::kFile1)}, plain, wide.data(), pool);
        const auto* const floats = reinterpret_cast<const float*>(wide.data());

        const auto weight = [&](const char* name, std::int64_t n_rows, std::int64_t n_cols, std::int64_t row,
                                std::int64_t col) {
            const std::string p = std::string("model.layers.1.mlp.experts.") + name;
            const std::int64_t at = (3 * n_rows + row) * n_cols + col;
            const auto byte =
                static_cast<int>(checkpoint->find(p + "_blocks")->bytes[static_cast<std::size_t>(at / 2)]);
            const auto exponent =
                static_cast<int>(checkpoint->find(p + "_scales")->bytes[static_cast<std::size_t>(at / 32)]);
            const int code = at % 2 == 0 ? byte & 15 : byte >> 4;
            constexpr float kSizes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
            return std::ldexp(code < 8 ? kSizes[code] : -kSizes[code - 8], exponent - 127);
        };
        const std::int64_t ffn = grid.ffn_dim, hidden = grid.hidden_dim;
        for (std::int64_t j = 0; j < ffn; ++j) {
            for (std::int64_t h = 0; h < hidden; ++h) {
                const float* const neuron = floats + 3 * j * hidden;
                QCOMPARE(neuron[h], weight("gate_up_proj", 2 * ffn, hidden, 2 * j, h));
                QCOMPARE(neuron[hidden + h], weight("gate_up_proj", 2 * ffn, hidden, 2 * j + 1, h));
                QCOMPARE(neuron[2 * hidden + h], weight("down_proj", hidden, ffn, h, j));
            }
        }
    }

    void layers_ofSeveralFormats_eachHaveTheirs() {
        constexpr Types kMixed = {WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K};
        constexpr Types kPlain = {WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ4K};
        Model model({kMixed, kPlain, kMixed}, WeightType::kQ4K, WeightType::kQ4K);
        const ExpertGrid& grid = model.spec.experts;
        QCOMPARE(grid.file_layouts.size(), std::size_t{2});
        QVERIFY((grid.file_formats == std::vector{WeightType::kFile1, WeightType::kFile2, WeightType::kFile1}));
        const std::int64_t rows = kFfn;
        QCOMPARE(grid.expert_bytes(WeightType::kFile2), std::uint64_t(2 * rows * 144 + kHidden * (kFfn / 256) * 144));
        QCOMPARE(grid.expert_bytes(WeightType::kFile1), std::uint64_t(2 * rows * 144 + kHidden * (kFfn / 256) * 210));
        QCOMPARE(QString::fromStdString(stored_formats_of(grid, WeightType::kFile1)), QStringLiteral("Q4_K, Q6_K"));
        const auto names = format_rows_of(grid);
        QCOMPARE(std::string(names[static_cast<std::size_t>(WeightType::kFile1)].method), std::string("Q4_K + Q6_K"));
        QCOMPARE(names[static_cast<std::size_t>(WeightType::kFile1)].bits, 5);
        QCOMPARE(names[static_cast<std::size_t>(WeightType::kFile2)].bits, 4);  // 4.5
        QCOMPARE(model.packed(1, 0).size(), grid.expert_bytes(WeightType::kFile2));

        // Opened again, the spec is the same.
        ModelSpec again = model.spec;
        kernels::ThreadPool pool(1);
        auto copy = std::make_unique<MemoryCheckpoint>();
        for (const TensorView& tensor : model.checkpoint->tensors()) copy->add(tensor.name, tensor.shape, tensor.type);
        open_weights(std::move(copy), again, false, pool);
        QVERIFY(again.experts == grid);
        QCOMPARE(again.stored.size(), dense_tensors(model.spec).size());
    }

    void copies_inOtherFormats_areThoseOfThePlainWeights() {
        Model model({{WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K},
                     {WeightType::kIq3S, WeightType::kIq3S, WeightType::kQ5K}},
                    WeightType::kQ8_0, WeightType::kQ8_0);
        ExpertSource source(model.spec.experts, *model.source, nullptr);
        for (std::int32_t layer = 0; layer < 2; ++layer) {
            const std::vector<std::byte> plain = model.unpacked(layer, 1);
            for (const WeightType format : {WeightType::kInt8, WeightType::kHqq3, WeightType::kBf16}) {
                QVERIFY(source.supports(format));
                const kernels::ExpertLayout layout = model.spec.experts.layout(format);
                std::vector<std::byte> expected(layout.bytes()), made(layout.bytes());
                Quantizer(model.pool)
                    .quantize_expert({plain.data(), model.spec.experts.layout(WeightType::kF32)}, layout,
                                     expected.data());
                source.pack(LayerIndex{layer}, ExpertIndex{1}, format, made.data(), model.pool);
                QVERIFY2(made == expected, kernels::name_of(format));
            }
            // In the file's own: the file's bytes.
            const WeightType stored = model.spec.experts.stored(source.master_type(), layer);
            std::vector<std::byte> own(model.spec.experts.expert_bytes(stored));
            source.pack(LayerIndex{layer}, ExpertIndex{1}, stored, own.data(), model.pool);
            QVERIFY(own == model.packed(layer, 1));
        }
    }

    void denseTensors_stayInBlocks() {
        Model model({{WeightType::kQ4K, WeightType::kQ4K, WeightType::kQ6K}}, WeightType::kQ4K, WeightType::kQ6K);
        QVERIFY((model.spec.split_qkv == std::vector<std::uint8_t>{1}));
        HostMemory memory;
        Arena arena("RAM", memory, std::uint64_t{1} << 30);
        const DenseWeights dense = model.source->load_dense(arena);
        QCOMPARE(dense.bytes(), model.source->dense_bytes());
        QVERIFY(dense.find(TensorRole::kQkv, 0) == nullptr);
        const DenseWeight& values = *dense.find(TensorRole::kValue, 0);
        QCOMPARE(values.matrix.type, WeightType::kQ6K);
        const std::string name = "0." + std::to_string(static_cast<int>(TensorRole::kQkv));
        QVERIFY(std::memcmp(values.matrix.memory.data(), model.checkpoint->bytes(name + ".v").data(),
                            values.matrix.bytes()) == 0);
        // Queries pair as neighbours in this file: their rows are reordered, whole.
        const DenseWeight& queries = *dense.find(TensorRole::kQuery, 0);
        const std::size_t row = kernels::row_bytes(WeightType::kQ4K, kHidden);
        QVERIFY(std::memcmp(queries.matrix.memory.data() + row, model.checkpoint->bytes(name + ".q").data() + 2 * row,
                            row) == 0);
        const DenseWeight& network = *dense.find(TensorRole::kNetwork, 0);
        QVERIFY(network.matrix.network.has_value());
        QCOMPARE(network.matrix.network->down, WeightType::kQ6K);
        QVERIFY(network.matrix.network->down_rows_are_outputs);
        QCOMPARE(network.bytes(), std::uint64_t(2 * 256 * 144 + 256 * 210));
    }

    // The first layer's experts are larger than the second's.
    void costs_areMeasured_whereLayersDiffer() {
        Model model({{WeightType::kQ6K, WeightType::kQ6K, WeightType::kQ6K},
                     {WeightType::kQ2K, WeightType::kQ2K, WeightType::kQ2K}},
                    WeightType::kQ4K, WeightType::kQ6K);
        CpuOperations operations(model.pool, kernels::GemmMode::kF32);
        CpuBackend cpu(model.pool, kernels::GemmMode::kF32, std::uint64_t{1} << 30);
        const DenseCosts costs =
            dense_costs({model.spec, model.source->expert_type()}, cpu, operations, MeasurementStore({}), {});
        QVERIFY(!costs.step.empty());
        QVERIFY(costs.step.front().us > 0);
        // With a pause after each layer of every second token; the pause itself is not
        // counted.
        int n_pauses = 0;
        bool in_order = true;
        const auto measured = [&] {
            return measure_paused_layers({model.spec, model.source->expert_type()}, operations,
                                         [&](bool first) {
                                             in_order = in_order && first == (n_pauses++ % 2 == 0);
                                             std::this_thread::sleep_for(std::chrono::milliseconds(first ? 60 : 90));
                                         },
                                         {});
        };
        PausedLayers paused = measured();
        // Other work on the computer makes layers longer; what is counted in error is
        // there every time.
        for (int i = 0; i < 9 && paused.longer_us >= 25000; ++i) paused = measured();
        QVERIFY(in_order && n_pauses >= 3 * 2 && n_pauses % 2 == 0);
        QVERIFY2(paused.longer_us >= 0 && paused.longer_us < 25000, qPrintable(QString::number(paused.longer_us)));
        QVERIFY(paused.layer_us >= paused.longer_us);
        QVERIFY(paused.pause_us >= 90000);  // the second of each token
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(measure_paused_layers(
                     {model.spec, model.source->expert_type()}, operations, [](bool) {}, stop.get_token())
                     .layer_us,
                 0.0);
    }

    void experts_ofOneLayerInSeveralFormats_areRefused() {
        const ModelSpec plain = spec_of(1);
        auto checkpoint = std::make_unique<MemoryCheckpoint>();
        for (const DenseTensor& tensor : dense_tensors(plain)) {
            for (const TensorPart& part : parts(plain, tensor))
                checkpoint->add(part.name, part.shape, WeightType::kF32);
        }
        constexpr auto kSeparate = [](const ModelSpec& spec, std::int64_t layer, std::int64_t index) {
            const std::string p = std::to_string(layer) + "." + std::to_string(index) + ".";
            return separate_expert(spec, {p + "g", p + "u", p + "d"});
        };
        static constexpr Family kApart = {"Test", "test", nullptr, parts, kSeparate};
        for (std::int64_t e = 0; e < kExperts; ++e) {
            for (const ExpertPart& part : kSeparate(plain, 0, e).matrices) {
                checkpoint->add(part.name, part.shape, e == 0 ? WeightType::kQ4K : WeightType::kQ5K);
            }
        }
        ModelSpec spec = plain;
        spec.family = &kApart;
        kernels::ThreadPool pool(1);
        QCOMPARE(mismatch(error_of([&] { open_weights(std::move(checkpoint), spec, false, pool); }),
                          ErrorKind::kUnsupported, "Q4_K and Q5_K"),
                 QString());
    }
};

QTEST_GUILESS_MAIN(TestFileFormats)
#include "tst_file_formats.moc"
