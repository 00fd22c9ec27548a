// Experts stored in a checkpoint as parts of larger tensors (as in gpt-oss, DBRX and
// Granite) or with a tensor for each matrix, and their biases.

#include <cstring>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/device/host_memory.h"
#include "engine/model/families/family.h"
#include "engine/model/weights.h"
#include "engine/quant/expert_source.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/checkpoint_writer.h"

using namespace offstage::engine;
using offstage::tests::error_of;
using offstage::tests::mismatch;
using offstage::tests::SafetensorsWriter;
using offstage::tests::write_file;
namespace kernels = offstage::kernels;

namespace {

constexpr std::int64_t kLayers = 2, kExperts = 3;

// Whole numbers that bfloat16 holds. matrix: 0 gate, 1 up, 2 down; h -1: the bias of
// neuron j; j -1: that of hidden value h.
float valueOf(std::int64_t layer, std::int64_t expert, std::int64_t matrix, std::int64_t j, std::int64_t h) {
    return static_cast<float>((layer * 97 + expert * 31 + matrix * 53 + j * 11 + h * 3 + 14) % 251 - 125);
}

std::string prefixOf(std::int64_t layer) {
    return "layers." + std::to_string(layer) + ".";
}

// Dense tensors by their role's number.
std::vector<TensorPart> denseParts(const ModelSpec&, const DenseTensor& tensor) {
    const std::string name = prefixOf(tensor.layer) + "role" + std::to_string(static_cast<int>(tensor.role));
    if (tensor.kind == DenseTensor::Kind::kVector && tensor.n_rows == 1) return {{name, {tensor.n_cols}}};
    return {{name, {tensor.n_rows, tensor.n_cols}}};
}

// gate_up_proj (n_experts, hidden, 2 ffn): gate and up interleaved; down_proj (n_experts,
// ffn, hidden); a bias for each.
ExpertParts gptOssExpert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = prefixOf(layer);
    const std::vector<std::int64_t> both = {g.n_experts, g.hidden_dim, 2 * g.ffn_dim};
    const std::int64_t first = expert * g.hidden_dim * 2 * g.ffn_dim;
    ExpertParts parts;
    for (const std::int64_t i : {0, 1}) {
        const auto m = static_cast<std::size_t>(i);
        parts.matrices[m] = {p + "gate_up_proj", both, first + i, 2, 2 * g.ffn_dim};
        parts.biases[m] = {p + "gate_up_proj_bias", {g.n_experts, 2 * g.ffn_dim}, expert * 2 * g.ffn_dim + i, 2, 0};
    }
    parts.matrices[2] = {
        p + "down_proj", {g.n_experts, g.ffn_dim, g.hidden_dim}, expert * g.ffn_dim * g.hidden_dim, g.hidden_dim, 1};
    parts.biases[2] = {p + "down_proj_bias", {g.n_experts, g.hidden_dim}, expert * g.hidden_dim, 0, 1};
    return parts;
}

// w1, v1 and w2 (n_experts * ffn, hidden) each.
ExpertParts dbrxExpert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    ExpertParts parts;
    const std::array<std::string, 3> names = {"w1", "v1", "w2"};
    for (std::size_t i = 0; i < 3; ++i) {
        parts.matrices[i] = {prefixOf(layer) + names[i],
                             {g.n_experts * g.ffn_dim, g.hidden_dim},
                             expert * g.ffn_dim * g.hidden_dim,
                             g.hidden_dim,
                             1};
    }
    return parts;
}

// input_linear (n_experts, 2 ffn, hidden): gate's rows, then up's; output_linear
// (n_experts, hidden, ffn).
ExpertParts graniteExpert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = prefixOf(layer);
    ExpertParts parts;
    for (const std::int64_t i : {0, 1}) {
        parts.matrices[static_cast<std::size_t>(i)] = {p + "input_linear",
                                                       {g.n_experts, 2 * g.ffn_dim, g.hidden_dim},
                                                       (expert * 2 + i) * g.ffn_dim * g.hidden_dim,
                                                       g.hidden_dim,
                                                       1};
    }
    parts.matrices[2] = {
        p + "output_linear", {g.n_experts, g.hidden_dim, g.ffn_dim}, expert * g.ffn_dim * g.hidden_dim, 1, g.ffn_dim};
    return parts;
}

ExpertParts separateExpert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const std::string p = prefixOf(layer) + "experts." + std::to_string(expert) + ".";
    ExpertParts parts = separate_expert(spec, {p + "w1", p + "w3", p + "w2"});
    const std::int64_t ffn = spec.experts.ffn_dim;
    parts.biases = {ExpertPart{p + "b1", {ffn}, 0, 1, 0}, ExpertPart{p + "b3", {ffn}, 0, 1, 0},
                    ExpertPart{p + "b2", {spec.experts.hidden_dim}, 0, 0, 1}};
    return parts;
}

const Family kGptOss = {"Test", "test", nullptr, denseParts, gptOssExpert};
const Family kDbrx = {"Test", "test", nullptr, denseParts, dbrxExpert};
const Family kGranite = {"Test", "test", nullptr, denseParts, graniteExpert};
const Family kSeparate = {"Test", "test", nullptr, denseParts, separateExpert};

ModelSpec specOf(const Family& family, bool biases, std::int64_t hidden, std::int64_t ffn) {
    ModelSpec spec;
    spec.family = &family;
    spec.vocab_size = 3;
    spec.hidden_dim = hidden;
    spec.tied_embeddings = true;
    spec.experts.hidden_dim = hidden;
    spec.experts.ffn_dim = ffn;
    spec.experts.n_experts = kExperts;
    spec.experts.n_active = 2;
    spec.experts.expert.biases = biases;
    GroupedQuerySpec attention;
    attention.n_heads = attention.n_kv_heads = 1;
    attention.head_dim = 2;
    MoeSpec moe;
    moe.router.n_experts = kExperts;
    moe.router.n_active = 2;
    spec.layers.resize(kLayers);
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
    spec.number_moe_layers();
    return spec;
}

// All tensors that the family names, an expert's weights at the family's places.
struct TestCheckpoint {
    struct Tensor {
        std::vector<std::int64_t> shape;
        std::vector<float> values;
    };

    explicit TestCheckpoint(const ModelSpec& spec) {
        const ExpertGrid& g = spec.experts;
        for (const DenseTensor& dense : dense_tensors(spec)) {
            for (const TensorPart& part : denseParts(spec, dense)) at(part.name, part.shape);
        }
        for (std::int64_t l = 0; l < kLayers; ++l) {
            for (std::int64_t e = 0; e < kExperts; ++e) {
                const ExpertParts parts = spec.family->expert(spec, l, e);
                for (std::size_t m = 0; m < 3; ++m) {
                    fill(parts.matrices[m], l, e, m, g.ffn_dim, g.hidden_dim, 0, 0);
                    if (!g.expert.biases) continue;
                    fill(parts.biases[m], l, e, m, m < 2 ? g.ffn_dim : 1, m < 2 ? 1 : g.hidden_dim, m < 2 ? 0 : -1,
                         m < 2 ? -1 : 0);
                }
            }
        }
    }

    Tensor& at(const std::string& name, const std::vector<std::int64_t>& shape) {
        Tensor& tensor = tensors[name];
        std::int64_t n = 1;
        for (const std::int64_t dim : shape) n *= dim;
        tensor.shape = shape;
        tensor.values.resize(static_cast<std::size_t>(n), NAN);
        return tensor;
    }
    void fill(const ExpertPart& part, std::int64_t l, std::int64_t e, std::size_t m, std::int64_t n_neurons,
              std::int64_t n_hidden, std::int64_t from_j, std::int64_t from_h) {
        Tensor& tensor = at(part.name, part.shape);
        for (std::int64_t j = 0; j < n_neurons; ++j) {
            for (std::int64_t h = 0; h < n_hidden; ++h) {
                const std::int64_t place = part.first + j * part.neuron_stride + h * part.hidden_stride;
                float& value = tensor.values.at(static_cast<std::size_t>(place));
                QVERIFY(std::isnan(value));  // outside of every expert
                value = valueOf(l, e, static_cast<std::int64_t>(m), j + from_j, h + from_h);
            }
        }
    }
    QByteArray file(bool bf16) const {
        SafetensorsWriter writer;
        for (const auto& [name, tensor] : tensors) {
            QByteArrayList shape;
            for (const std::int64_t dim : tensor.shape) shape.append(QByteArray::number(static_cast<qint64>(dim)));
            const QByteArray dims = "[" + shape.join(",") + "]";
            if (bf16) {
                std::vector<std::uint16_t> bits;
                for (const float value : tensor.values) bits.push_back(kernels::to_bf16(value).bits);
                writer.add(QByteArray::fromStdString(name), "BF16", dims, bits);
            } else {
                writer.add(QByteArray::fromStdString(name), "F32", dims, tensor.values);
            }
        }
        return writer.file();
    }

    std::map<std::string, Tensor> tensors;
};

class TestExpertParts : public QObject {
    Q_OBJECT

  private slots:
    void experts_comeFromTheirParts_data() {
        QTest::addColumn<const Family*>("family");
        QTest::addColumn<bool>("biases");
        QTest::newRow("gpt-oss") << &kGptOss << true;
        QTest::newRow("gpt-oss without biases") << &kGptOss << false;
        QTest::newRow("DBRX") << &kDbrx << false;
        QTest::newRow("Granite") << &kGranite << false;
        QTest::newRow("a tensor for each") << &kSeparate << true;
    }
    void experts_comeFromTheirParts() {
        QFETCH(const Family*, family);
        QFETCH(bool, biases);
        kernels::ThreadPool pool(2);
        for (const auto& [hidden, ffn] : {std::pair<std::int64_t, std::int64_t>{6, 5}, {34, 130}}) {
            for (const int way : {0, 1, 2}) {  // bf16; float32; float32 that is rounded
                QTemporaryDir directory;
                const QString path = directory.filePath("model.safetensors");
                ModelSpec spec = specOf(*family, biases, hidden, ffn);
                const TestCheckpoint checkpoint(spec);
                QVERIFY(write_file(path, checkpoint.file(way == 0)));
                const auto weights = open_weights(Checkpoint::open(path.toStdString()), spec, way == 2, pool);
                const kernels::ExpertLayout layout = spec.experts.layout(weights->expert_type());
                QCOMPARE(layout.gate, way == 1 ? kernels::WeightType::kF32 : kernels::WeightType::kBf16);
                std::vector<std::byte> block(layout.bytes());
                const kernels::ExpertView view{block.data(), layout};
                std::vector<float> row(static_cast<std::size_t>(hidden));
                for (std::int32_t l = 0; l < kLayers; ++l) {
                    for (std::int32_t e = 0; e < kExperts; ++e) {
                        weights->pack_expert(LayerIndex{l}, ExpertIndex{e}, block.data(), pool);
                        const kernels::WeightView parts[] = {view.gate(), view.up(), view.down()};
                        for (std::int64_t m = 0; m < 3; ++m) {
                            for (std::int64_t j = 0; j < ffn; ++j) {
                                kernels::cpu_kernels().widen(parts[m].row(j), parts[m].type, hidden, row.data());
                                for (std::int64_t h = 0; h < hidden; ++h)
                                    QCOMPARE(row[static_cast<std::size_t>(h)], valueOf(l, e, m, j, h));
                            }
                        }
                        if (!biases) continue;
                        const kernels::ExpertBiases b = view.biases();
                        for (std::int64_t j = 0; j < ffn; ++j) {
                            QCOMPARE(b.gate[j], valueOf(l, e, 0, j, -1));
                            QCOMPARE(b.up[j], valueOf(l, e, 1, j, -1));
                        }
                        for (std::int64_t h = 0; h < hidden; ++h) QCOMPARE(b.down[h], valueOf(l, e, 2, -1, h));
                    }
                }
            }
        }
    }

    // Two experts of one tensor have different fingerprints; the same one has the same.
    void fingerprints_tellExpertsOfOneTensorApart() {
        kernels::ThreadPool pool(2);
        for (const Family* family : {&kGptOss, &kDbrx, &kGranite}) {
            QTemporaryDir directory;
            const QString path = directory.filePath("model.safetensors");
            ModelSpec spec = specOf(*family, false, 6, 5);
            QVERIFY(write_file(path, TestCheckpoint(spec).file(true)));
            const auto weights = open_weights(Checkpoint::open(path.toStdString()), spec, false, pool);
            const auto of = [&](std::int32_t e) {
                return *weights->expert_fingerprint(LayerIndex{1}, ExpertIndex{e}, pool);
            };
            QVERIFY(of(0) != of(1) && of(1) != of(2));
            QCOMPARE(of(1).text(), of(1).text());
        }
    }

    // In another format an expert keeps its biases, bit by bit.
    void quantizedExperts_keepTheirBiases() {
        kernels::ThreadPool pool(2);
        QTemporaryDir directory;
        const QString path = directory.filePath("model.safetensors");
        ModelSpec spec = specOf(kGptOss, true, 128, 7);
        QVERIFY(write_file(path, TestCheckpoint(spec).file(true)));
        const auto weights = open_weights(Checkpoint::open(path.toStdString()), spec, false, pool);
        ExpertSource source(spec.experts, *weights, nullptr);
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            if (!source.supports(format.type)) continue;
            const kernels::ExpertLayout layout = spec.experts.layout(format.type);
            std::vector<std::byte> block(layout.bytes());
            source.pack(LayerIndex{1}, ExpertIndex{2}, format.type, block.data(), pool);
            const kernels::ExpertView view{block.data(), layout};
            const kernels::ExpertBiases b = view.biases();
            for (std::int64_t j = 0; j < 7; ++j) QCOMPARE(b.up[j], valueOf(1, 2, 1, j, -1));
            for (std::int64_t h = 0; h < 128; ++h) QCOMPARE(b.down[h], valueOf(1, 2, 2, -1, h));
            // The matrices, about as they were: a neuron's w2 in its own format.
            std::vector<float> row(128);
            const kernels::WeightView down = view.down();
            double squared = 0, all = 0;
            for (std::int64_t j = 0; j < 7; ++j) {
                kernels::cpu_kernels().widen(down.row(j), down.type, 128, row.data());
                for (std::int64_t h = 0; h < 128; ++h) {
                    const double want = double{valueOf(1, 2, 2, j, h)};
                    squared += (want - double{row[static_cast<std::size_t>(h)]}) *
                               (want - double{row[static_cast<std::size_t>(h)]});
                    all += want * want;
                }
            }
            const double most =
                kernels::traits_of(down.type).is_packed() ? 1.5 * kernels::traits_of(down.type).typical_error : 0;
            QVERIFY2(std::sqrt(squared / all) <= most + 1e-9, format.name);
        }
    }

    void anotherShape_isNamed() {
        kernels::ThreadPool pool(1);
        QTemporaryDir directory;
        const QString path = directory.filePath("model.safetensors");
        ModelSpec spec = specOf(kGptOss, true, 6, 5);
        TestCheckpoint checkpoint(spec);
        TestCheckpoint::Tensor& bias = checkpoint.tensors.at("layers.1.gate_up_proj_bias");
        std::swap(bias.shape[0], bias.shape[1]);
        QVERIFY(write_file(path, checkpoint.file(true)));
        const auto error = error_of([&] { open_weights(Checkpoint::open(path.toStdString()), spec, false, pool); });
        QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, "model.safetensors|layers.1.gate_up_proj_bias|10, 3|3, 10"),
                 QString());
    }
};

}  // namespace

QTEST_GUILESS_MAIN(TestExpertParts)

#include "tst_expert_parts.moc"
