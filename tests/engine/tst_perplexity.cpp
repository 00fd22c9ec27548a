#include <algorithm>
#include <cmath>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/logits.h"
#include "engine/eval/perplexity.h"
#include "engine/eval/quantize_report.h"
#include "engine/model/model_files.h"
#include "engine/quant/quantize_dense.h"
#include "engine/run/model_shape.h"
#include "kernels/cpu_kernels.h"
#include "kernels/packed.h"
#include "tests/engine/errors.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/test_models.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::tests;
using kernels::WeightType;

namespace {

LoadRequest request(std::int64_t context = 512) {
    LoadRequest r;
    r.kv = KvType::kF32;  // as the reference
    r.model = test::demoModel();
    r.context = context;
    r.compute = ComputeMode::kF32;
    r.n_threads = 1;  // many small products: threads on a busy machine would mostly wait
    return r;
}

std::string text() {
    QFile file(test::sourcePath("tests/engine/data/demo_text.txt"));
    return file.open(QFile::ReadOnly) ? file.readAll().toStdString() : std::string();
}

LoadedModel& model() {
    static LoadedModel loaded(request(), LoadedModel::Text::kWanted, {}, {});
    return loaded;
}

std::vector<TokenId> tokens(std::size_t n) {
    std::vector<TokenId> all = tokens_of_text(model(), text());
    all.resize(n);
    return all;
}

}  // namespace

class TestPerplexity : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void likelihood_isThatOfTransformers_data() {
        QTest::addColumn<QJsonObject>("golden");
        const QJsonObject file = test::readJson(test::sourcePath("tests/engine/data/perplexity_golden.json"));
        for (const QJsonValue& value : file["cases"].toArray()) {
            QTest::addRow("window %d stride %d", value["window"].toInt(), value["stride"].toInt()) << value.toObject();
        }
    }
    void likelihood_isThatOfTransformers() {
        QFETCH(QJsonObject, golden);
        const std::vector<TokenId> part = tokens(static_cast<std::size_t>(golden["n_tokens"].toInt()));
        std::int64_t told = 0;
        const Perplexity result =
            measure_perplexity(model(), part, {}, {golden["window"].toInt(), golden["stride"].toInt()},
                               [&](std::int64_t done, std::int64_t all) {
                                   QVERIFY(done > told && done <= all);
                                   told = done;
                               },
                               {});
        QCOMPARE(result.n_tokens, golden["n_scored"].toInt());
        QCOMPARE(told, static_cast<std::int64_t>(part.size()));
        const double expected = golden["negative_log_likelihood"].toDouble();
        QVERIFY2(std::abs(result.negative_log_likelihood / expected - 1) < 1e-4,
                 qPrintable(QString("%1 against %2").arg(result.negative_log_likelihood).arg(expected)));
        QVERIFY(std::abs(result.value() - std::exp(result.negative_log_likelihood / golden["n_scored"].toInt())) <
                1e-9);
    }

    // Every token once, in order, and with the logits of exactly its window's beginning.
    void rows_comeOnceAndInOrder() {
        const std::vector<TokenId> part = tokens(41);
        const auto width = static_cast<std::size_t>(model().spec().vocab_size);
        QVERIFY(!model().tokenizer()->adds_bos());
        std::size_t next = 1;  // nothing predicts the first
        std::vector<float> last;
        score_text(model(), part, {16, 5},
                   [&](std::size_t first, std::span<const float> logits) {
                       QCOMPARE(first, next);
                       next += logits.size() / width;
                       last.assign(logits.end() - static_cast<std::ptrdiff_t>(width), logits.end());
                   },
                   {});
        QCOMPARE(next, part.size());
        // The last window that is needed begins at 25: 25 + 16 covers 41, 20 + 16 does
        // not.
        const std::vector<TokenId> window(part.begin() + 25, part.end() - 1);
        const std::vector<float> expected = compute_logits(model(), window, false).back();
        QVERIFY(test::relativeError(last, expected) < 1e-5);
    }

    void logProbability_isOfTheSoftmax() {
        const std::vector<float> logits = {1000.0f, 1001.0f, 990.0f, -INFINITY};
        const double sum = std::exp(-1.0) + 1 + std::exp(-11.0);
        QVERIFY(std::abs(log_probability(logits, 0) - (-1 - std::log(sum))) < 1e-12);
        QVERIFY(std::abs(log_probability(logits, 1) + std::log(sum)) < 1e-12);
    }

    void badWindowsAndTexts_areErrors_data() {
        QTest::addColumn<int>("window");
        QTest::addColumn<int>("stride");
        QTest::addColumn<QString>("message");
        QTest::newRow("beyond the context")
            << 513 << 100 << "The window is 513 tokens; expected 2 to the context's 512";
        QTest::newRow("too short") << 1 << 1 << "The window is 1";
        QTest::newRow("no stride") << 64 << 0 << "The stride is 0 tokens; expected 1 to 63";
        QTest::newRow("tokens left out") << 64 << 64 << "The stride is 64";
    }
    void badWindowsAndTexts_areErrors() {
        QFETCH(int, window);
        QFETCH(int, stride);
        QFETCH(QString, message);
        QCOMPARE(mismatch(error_of([&] {
                              measure_perplexity(model(), tokens(100), {}, {window, stride}, {}, {});
                          }),
                          ErrorKind::kInvalidInput, message),
                 QString());
        for (const char* bad : {"", "\xff\xfe"}) {
            QCOMPARE(mismatch(error_of([&] { tokens_of_text(model(), bad); }), ErrorKind::kInvalidInput), QString());
        }
    }

    void specialTokens_areTokensOnlyWhenAskedFor() {
        const std::string chat = "<s><|user|>Hello</s>";
        const std::vector<TokenId> special = tokens_of_text(model(), chat, true);
        QCOMPARE(special.front(), model().tokenizer()->bos());
        QVERIFY(tokens_of_text(model(), chat).size() > special.size());
    }

    void onlyAnswers_count_whereAskedFor() {
        const std::string chat = "<s><|user|>Hello</s><|assistant|>Hello!</s><|user|>Bye</s><|assistant|>Bye!";
        const std::vector<TokenId> all = tokens_of_text(model(), chat, true);
        const std::vector<std::uint8_t> counts = answers_of(model(), all, "<|assistant|>");
        const std::vector<TokenId> first = model().tokenizer()->encode_with_special("<|assistant|>Hello!</s>");
        const std::vector<TokenId> second = model().tokenizer()->encode_with_special("<|assistant|>Bye!");
        const std::int64_t n = std::count(counts.begin(), counts.end(), 1);
        QCOMPARE(n, static_cast<std::int64_t>(first.size() - 1 + second.size() - 1));  // without the markers
        QCOMPARE(counts.back(), 1);
        QCOMPARE(counts.front(), 0);
        std::vector<std::uint8_t> others = counts;
        for (std::uint8_t& count : others) count ^= 1u;
        const auto measured = [&](const std::vector<std::uint8_t>& which) {
            return measure_perplexity(model(), all, which, {}, {}, {});
        };
        QCOMPARE(measured(counts).n_tokens, n);
        QVERIFY(std::abs(measured(counts).negative_log_likelihood + measured(others).negative_log_likelihood -
                         measured({}).negative_log_likelihood) < 1e-6);
        for (const auto& [marker, text] :
             {std::pair{"<|robot|>", chat}, std::pair{"<|assistant|>", std::string("Hi all")}}) {
            QCOMPARE(mismatch(error_of([&] { answers_of(model(), tokens_of_text(model(), text, true), marker); }),
                              ErrorKind::kInvalidInput),
                     QString());
        }
    }

    void stopping_isCancelled() {
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(mismatch(error_of([&] { measure_perplexity(model(), tokens(100), {}, {}, {}, stop.get_token()); }),
                          ErrorKind::kCancelled),
                 QString());
    }

    // ---- dense weights in fewer bits
    void denseWeights_areQuantizedInPlace_data() {
        QTest::addColumn<int>("format");
        for (const WeightType format : {WeightType::kBf16, WeightType::kInt8, WeightType::kHqq4}) {
            QTest::newRow(kernels::name_of(format)) << static_cast<int>(format);
        }
    }
    void denseWeights_areQuantizedInPlace() {
        QFETCH(int, format);
        const auto type = static_cast<WeightType>(format);
        kernels::ThreadPool pool(2);
        HostMemory memory;
        Arena host("RAM", memory, std::uint64_t{1} << 30);
        ModelSpec spec = read_model_spec(test::demoModel());
        const auto source = open_weights(Checkpoint::open(test::demoModel()), spec, false, pool);
        const DenseWeights original = source->load_dense(host);
        DenseWeights weights = source->load_dense(host);
        QCOMPARE(weights.bytes(), source->dense_bytes());
        const std::uint64_t before = host.usage().used_bytes;
        quantize_dense(weights, type, host, pool);
        QCOMPARE(weights.bytes(), quantized_dense_bytes(spec, source->dense_bytes(), WeightType::kBf16, type));
        const std::uint64_t after = host.usage().used_bytes;
        QVERIFY(type == WeightType::kBf16 ? after == before : after < before);  // the originals were given back
        QCOMPARE(weights.find(TensorRole::kEmbedding)->matrix.type, WeightType::kBf16);
        QCOMPARE(weights.find(TensorRole::kHead)->matrix.type, WeightType::kBf16);
        const double largest = type == WeightType::kBf16 ? 0.0 : type == WeightType::kInt8 ? 0.01 : 0.11;
        for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
            QVERIFY(weights.find(TensorRole::kRouter, l)->values == original.find(TensorRole::kRouter, l)->values);
            for (const TensorRole part : {TensorRole::kQkv, TensorRole::kAttentionOutput}) {
                const Matrix& a = original.find(part, l)->matrix;
                const Matrix& b = weights.find(part, l)->matrix;
                QCOMPARE(b.type, type);
                QCOMPARE(b.n_rows, a.n_rows);
                const auto n = static_cast<std::size_t>(a.n_rows * a.n_cols);
                std::vector<float> want(n), got(n);
                kernels::cpu_kernels().widen(a.memory.data(), a.type, static_cast<std::int64_t>(n), want.data());
                if (kernels::is_packed(type)) {
                    for (std::int64_t r = 0; r < b.n_rows; ++r) {
                        kernels::unpack_row(type, b.view().row(r), b.n_cols, 0, b.n_cols,
                                            got.data() + static_cast<std::size_t>(r * b.n_cols));
                    }
                } else {
                    kernels::cpu_kernels().widen(b.memory.data(), b.type, static_cast<std::int64_t>(n), got.data());
                }
                const double error = test::relativeError(got, want);
                QVERIFY2(error <= largest && (error > 0 || type == WeightType::kBf16),
                         qPrintable(QString::number(error)));
            }
        }
    }

    // ---- the report
    void report_ofAFewCells_hasWhatTheTableSays() {
        const std::vector<QuantCell> cells = {{WeightType::kBf16, WeightType::kBf16, QuantMethod::kHqq},
                                              {WeightType::kHqq4, WeightType::kHqq3, QuantMethod::kHqq},
                                              {WeightType::kBf16, WeightType::kHqq2, QuantMethod::kHqq},
                                              {WeightType::kBf16, WeightType::kHqq2, QuantMethod::kNearest}};
        const QTemporaryDir folder;
        qputenv("XDG_CACHE_HOME", folder.path().toUtf8());
        LoadRequest r = request(256);
        const std::string part = text().substr(0, 2500);
        int lines = 0;
        const QuantizeReport report =
            make_quantize_report(r, part, false, {}, {256, 128}, cells, [&](const std::string&) { ++lines; }, {});
        QCOMPARE(lines, 5);  // one for each row, and one before them
        QCOMPARE(report.rows.size(), std::size_t{4});
        const Perplexity plain = measure_perplexity(model(), tokens_of_text(model(), part), {}, {256, 128}, {}, {});
        QVERIFY(std::abs(report.rows[0].perplexity.value() / plain.value() - 1) < 1e-5);
        QVERIFY(std::abs(report.rows[0].mean_kl) < 1e-6);
        QCOMPARE(report.rows[0].same_top, 1.0);
        for (std::size_t i = 1; i < 4; ++i) {
            QVERIFY(report.rows[i].mean_kl > 1e-4);
            QVERIFY(report.rows[i].same_top > 0.4 && report.rows[i].same_top < 1.0);
            QVERIFY(report.rows[i].bytes < report.rows[0].bytes);
            QCOMPARE(report.rows[i].perplexity.n_tokens, plain.n_tokens);
        }
        QCOMPARE(report.rows[2].bytes, report.rows[3].bytes);
        QVERIFY2(report.rows[2].mean_kl < report.rows[3].mean_kl, "HQQ is nearer than rounding to nearest");
        const std::string table = to_markdown(report);
        QVERIFY(table.find("| 4 bit | hqq3 |") != std::string::npos);
        QVERIFY(table.find("| 16 bit | rtn2 |") != std::string::npos);
        QCOMPARE(to_json(report)["rows"].size(), std::size_t{4});
    }

    void cells_areThoseThatTheModelAllows() {
        ExpertGrid grid = read_model_spec(test::demoModel()).experts;
        QCOMPARE(quantize_report_cells(grid).size(), std::size_t{24});
        const std::vector<FormatId> wanted = {
            WeightType::kHqq3};  // beside the first, in 3 formats of attention; rounded too
        QCOMPARE(quantize_report_cells(grid, wanted).size(), std::size_t{1 + 3 * 2});
        grid.hidden_dim = 200;
        QCOMPARE(quantize_report_cells(grid).size(), std::size_t{1});
    }

    // For a file's blocks: a note on the second quantization, and its loss, with a text
    // and without.
    void report_ofAFilesBlocks_saysThatTheyAreMadeAnew() {
        const QTemporaryDir folder;
        LoadRequest r = request(64);
        r.model = folder.filePath("mixed.gguf").toStdString();
        tests::write_mixed_gguf(r.model);
        const ExpertGrid grid = read_model_shape(r.model).spec.experts;
        const std::vector<QuantCell> cells = quantize_report_cells(grid);
        QCOMPARE(cells.size(), std::size_t{4});  // as in the file, and HQQ: 16 bits and 8 are more than the file's
        QVERIFY(!cells[0].experts && !cells[0].attention);
        const QuantizeReport report = make_quantize_report(r, {}, false, {}, {}, cells, {}, {});
        const std::string blocks = "Q4_K, Q6_K, Q5_K, Q3_K, IQ4_XS, Q8_0";
        QCOMPARE(report.blocks, blocks);
        QCOMPARE(report.rows[0].squared_error.value(), 0.0);
        for (std::size_t i = 1; i < report.rows.size(); ++i) {
            QVERIFY(report.rows[i].bytes < report.rows[i - 1].bytes);
            QVERIFY(report.rows[i].squared_error.value() > report.rows[i - 1].squared_error.value());
        }
        const std::string table = to_markdown(report);
        QVERIFY2(table.find("| as in the file | " + blocks + " | ") != std::string::npos, table.c_str());
        QVERIFY2(table.find("| hqq3 from " + blocks + " | ") != std::string::npos, table.c_str());
        QVERIFY2(table.find("perplexity") == std::string::npos, table.c_str());
        QVERIFY2(note_of(report).find("18 experts are made anew from the file's " + blocks) != std::string::npos,
                 note_of(report).c_str());

        const std::vector<FormatId> larger = {WeightType::kInt8};
        try {
            quantize_report_cells(grid, larger);
            QFAIL("a format of more bits was taken");
        } catch (const Error& error) {
            QVERIFY2(QString(error.what()).contains("expected formats with fewer bits than the file's"), error.what());
        }
    }
};

QTEST_GUILESS_MAIN(TestPerplexity)
#include "tst_perplexity.moc"
