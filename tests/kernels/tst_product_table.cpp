// The tables of which kernel multiplies what: every row decides some case, every case
// that the code asks for has a row, and the files that they name exist.

#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <QTest>

#include "kernels/cpu_product_table.h"
#include "kernels/cuda_product_table.h"

using namespace offstage::kernels;

namespace {

constexpr std::array kMachines = {std::uint32_t{0}, product_needs::kLanes16, product_needs::kLanes8,
                                  product_needs::kLanes8 | product_needs::kBf16Widened,
                                  product_needs::kLanes8 | product_needs::kNoVnni};

template <typename Kernel, std::size_t kRows>
const ProductRow<Kernel>* first_row(const ProductRow<Kernel> (&table)[kRows], const ProductCase& product) {
    for (const ProductRow<Kernel>& row : table) {
        if (product.fits(row)) return &row;
    }
    return nullptr;
}

std::vector<ProductInputs> inputs_of(ProductInputs inputs) {
    if (inputs != ProductInputs::kEither) return {inputs};
    return {ProductInputs::kFloat, ProductInputs::kBytes};
}

// Whether some case of the row, with nothing that it does not need, is decided by it.
template <typename Kernel, std::size_t kRows>
bool decides(const ProductRow<Kernel> (&table)[kRows], const ProductRow<Kernel>& row) {
    for (std::uint8_t bit = 1; bit <= weights::kBlocks; bit = static_cast<std::uint8_t>(bit << 1)) {
        if ((row.weights & bit) == 0) continue;
        for (const ProductInputs inputs : inputs_of(row.inputs)) {
            for (const std::int64_t rows : {std::int64_t{row.fewest}, std::int64_t{row.most}}) {
                if (first_row(table, {row.of, bit, inputs, rows, row.needs}) == &row) return true;
            }
        }
    }
    return false;
}

bool is_coded(std::uint8_t bit) {
    return (weights::kCoded & bit) != 0;
}

}  // namespace

class TestProductTable : public QObject {
    Q_OBJECT

  private slots:
    void everyRow_decidesSomeCase() {
        for (const auto& row : kCpuProducts) QVERIFY2(decides(kCpuProducts, row), kCpuKernels[int(row.kernel)].name);
        for (const auto& row : kCudaProducts) QVERIFY2(decides(kCudaProducts, row), kCudaKernels[int(row.kernel)].name);
    }

    void everyCaseOfTheCpu_hasARow() {
        namespace needs = product_needs;
        for (std::uint8_t bit = 1; bit <= weights::kBlocks; bit = static_cast<std::uint8_t>(bit << 1)) {
            for (const std::uint32_t machine : kMachines) {
                for (const std::int64_t rows : {1, 2, 4, 5, 8, 9, 12, 13, 16, 17, 300}) {
                    for (const bool bytes : {false, true}) {
                        if (bytes && !is_coded(bit)) continue;
                        const ProductInputs inputs = bytes ? ProductInputs::kBytes : ProductInputs::kFloat;
                        for (const std::uint32_t lies : {std::uint32_t{0}, needs::kInterleaved}) {
                            const ProductCase matrix{ProductOf::kMatrix, bit, inputs, rows, machine | lies};
                            QVERIFY(first_row(kCpuProducts, matrix) != nullptr);
                        }
                        for (const std::uint32_t theta : {needs::kTheta, needs::kNoTheta}) {
                            for (const std::uint32_t rest :
                                 {std::uint32_t{0}, needs::kAllNeurons, needs::kByOutputs,
                                  needs::kBf16Pairs | needs::kAllNeurons, needs::kBf16Widened | needs::kAllNeurons}) {
                                const ProductCase expert{ProductOf::kExperts, bit, inputs, rows, theta | rest};
                                QVERIFY(first_row(kCpuProducts, expert) != nullptr);
                            }
                        }
                    }
                }
            }
        }
    }

    void everyCaseOfAGpu_hasARow() {
        namespace needs = product_needs;
        constexpr std::array kGpus = {needs::kNoCublas, needs::kCublasServes, std::uint32_t{0},
                                      needs::kTensorCores | needs::kNoCublas,
                                      needs::kTensorCores | needs::kCublasServes};
        for (std::uint8_t bit = 1; bit <= weights::kBlocks; bit = static_cast<std::uint8_t>(bit << 1)) {
            for (const std::uint32_t gpu : kGpus) {
                for (const std::int64_t rows : {1, 2, 3, 4, 8, 9, 64, 65, 256, 257, 4096}) {
                    for (const bool bytes : {false, true}) {
                        if (bytes && bit != weights::kBlocks) continue;
                        for (const std::uint32_t shape :
                             {std::uint32_t{0}, needs::kWhole | needs::kAligned, needs::kSmall}) {
                            ProductCase product{ProductOf::kMatrix, bit,
                                                bytes ? ProductInputs::kBytes : ProductInputs::kFloat, rows,
                                                gpu | shape};
                            QVERIFY(first_row(kCudaProducts, product) != nullptr);
                            if (rows <= kFewCudaRows) {
                                product.of = ProductOf::kUp;
                                QVERIFY(first_row(kCudaProducts, product) != nullptr);
                                product.of = ProductOf::kDown;
                                product.facts |= bit == weights::kBlocks ? needs::kByOutputs : 0;
                            } else {
                                product.of = ProductOf::kExperts;
                            }
                            QVERIFY(first_row(kCudaProducts, product) != nullptr);
                        }
                    }
                }
            }
        }
    }

    void kernel_isTheOneMeasuredBest_data() {
        namespace needs = product_needs;
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("rows");
        QTest::addColumn<unsigned>("facts");
        QTest::addColumn<int>("kernel");
        const auto row = [](const char* name, WeightType type, int rows, std::uint32_t facts, CpuProduct kernel) {
            QTest::newRow(name) << int(type) << rows << unsigned(facts) << int(kernel);
        };
        const std::uint32_t strips16 = needs::kLanes16 | needs::kInterleaved;
        const std::uint32_t strips8 = needs::kLanes8 | needs::kInterleaved;
        row("Q4_K, one token", WeightType::kQ4K, 1, needs::kLanes16, CpuProduct::kQuantizedRows);
        row("Q4_K, a prompt", WeightType::kQ4K, 9, needs::kLanes16, CpuProduct::kQuantizedPanels);
        row("Q4_K, AVX2", WeightType::kQ4K, 16, needs::kLanes8, CpuProduct::kQuantizedRows);
        row("Q4_K side by side", WeightType::kQ4K, 300, strips16, CpuProduct::kQuantizedStrips);
        row("Q4_K side by side, AVX2", WeightType::kQ4K, 12, strips8, CpuProduct::kQuantizedStrips);
        row("Q4_K side by side, a prompt, AVX2", WeightType::kQ4K, 13, strips8, CpuProduct::kQuantizedPanels);
        row("Q4_K, AVX2 alone", WeightType::kQ4K, 7, needs::kLanes8 | needs::kNoVnni, CpuProduct::kQuantizedRows);
        row("HQQ4, AVX2 alone", WeightType::kHqq4, 8, needs::kLanes8 | needs::kNoVnni, CpuProduct::kQuantizedPanels);
        row("Q4_K side by side, AVX2 alone", WeightType::kQ4K, 8, strips8 | needs::kNoVnni,
            CpuProduct::kQuantizedPanels);
        row("INT8, 4", WeightType::kInt8, 4, needs::kLanes16, CpuProduct::kQuantizedRows);
        row("INT8, 5", WeightType::kInt8, 5, needs::kLanes16, CpuProduct::kQuantizedPanels);
        row("HQQ2, 8", WeightType::kHqq2, 8, needs::kLanes16, CpuProduct::kQuantizedRows);
    }
    void kernel_isTheOneMeasuredBest() {
        QFETCH(int, type);
        QFETCH(int, rows);
        QFETCH(unsigned, facts);
        QFETCH(int, kernel);
        const ProductCase product{ProductOf::kMatrix, weights_of(WeightType(type)), ProductInputs::kBytes, rows, facts};
        QCOMPARE(int(find_cpu_product(product)), kernel);
    }

    // What `info` prints.
    void rowsInWords_nameKernelsAndFilesThatExist() {
        QCOMPARE(std::size(kCpuKernels), std::size_t(CpuProduct::kExpertByMatrices) + 1);
        QCOMPARE(std::size(kCudaKernels), std::size_t(CudaProduct::kExpertByMatrices) + 1);
        std::vector<ProductRowText> texts = cpu_product_rows();
        QCOMPARE(texts.size(), std::size(kCpuProducts));
        for (ProductRowText& text : cuda_product_rows()) texts.push_back(std::move(text));
        QCOMPARE(texts.size(), std::size(kCpuProducts) + std::size(kCudaProducts));
        for (const ProductRowText& text : texts) {
            QVERIFY(!text.of.empty() && !text.weights.empty() && !text.inputs.empty());
            QCOMPARE(int(text.needs.size()), std::popcount(text.need_bits));
            const std::filesystem::path file = std::filesystem::path(OFFSTAGE_SOURCE_DIR) / text.kernel.file;
            QVERIFY2(std::filesystem::is_regular_file(file), text.kernel.file);
        }
        QCOMPARE(texts.front().weights, std::string("GGUF's blocks"));
        QCOMPARE(texts.front().rows(), std::string("any number"));
    }
};

QTEST_GUILESS_MAIN(TestProductTable)
#include "tst_product_table.moc"
