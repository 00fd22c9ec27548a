// GGUF files that are damaged, cut short or made to attack: each is refused with the
// file's name and what is wrong.

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/files/gguf.h"
#include "engine/model/gguf_model.h"
#include "engine/run/loaded_model.h"
#include "tests/engine/errors.h"
#include "tests/engine/gguf_parts.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::tests::GgufParts;
using offstage::tests::GgufWriter;
using offstage::tests::sentence_of;
namespace fs = std::filesystem;

namespace {

std::string parse(const std::string& bytes) {
    const QString error = sentence_of(
        [&] { static_cast<void>(parse_gguf(std::as_bytes(std::span(bytes.data(), bytes.size())), "x.gguf")); });
    return error.toStdString();
}

void open(const std::string& model) {
    LoadRequest request;
    request.model = model;
    request.compute = ComputeMode::kF32;
    request.n_threads = 1;  // tests run side by side, and threads would wait for each other
    const LoadedModel opened(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
}

}  // namespace

class TestDamagedGguf : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void badContainer_isNamed() {
        const std::string good = GgufWriter().add("a", std::uint32_t{1}).add_floats("t", {2, 2}, {1, 2, 3, 4}).bytes();
        QCOMPARE(parse(good), std::string());
        const auto contains = [](const std::string& error, const char* words) {
            if (error.find(words) == std::string::npos) qWarning("%s", error.c_str());
            return error.find(words) != std::string::npos;
        };
        QVERIFY(contains(parse("GGML" + good.substr(4)),
                         "x.gguf: byte 0: the file begins with \"GGML\"; expected \"GGUF\""));
        QVERIFY(contains(parse("GG"), "incomplete: 2 of at least 4 bytes"));
        QVERIFY(contains(parse(GgufWriter().set_version(1).bytes()), "is GGUF version 1; expected version 2 or 3"));
        QVERIFY(contains(parse(GgufWriter().set_version(0x03000000).bytes()), "big-endian"));
        const auto with = [&](std::size_t at, std::uint64_t value) {
            std::string bytes = good;
            std::memcpy(bytes.data() + at, &value, sizeof value);
            return parse(bytes);
        };
        QVERIFY(contains(with(8, 1ull << 40), "the number of tensors is 1099511627776"));
        QVERIFY(contains(with(16, 1ull << 60), "the number of metadata pairs"));
        QVERIFY(
            contains(with(24, 1ull << 63), "the length of a metadata key is 9223372036854775808; expected no more"));
        for (std::size_t n = 0; n < good.size() - 48; ++n) {  // anywhere in the header
            QVERIFY2(!parse(good.substr(0, n)).empty(), qPrintable(QString::number(n)));
        }
        QVERIFY(contains(parse(GgufWriter().add("general.alignment", std::uint32_t{24}).bytes()),
                         "\"general.alignment\" is 24; expected a power of two"));
        QVERIFY(
            contains(parse(GgufWriter().add("general.alignment", std::uint32_t{0}).bytes()), "expected an integer"));
        GgufWriter twice;
        twice.add_floats("t", {1}, {1}).add_floats("t", {1}, {1});
        QVERIFY(contains(parse(twice.bytes()), "tensor \"t\" is there twice"));
        QVERIFY(contains(parse(GgufWriter().add_tensor("t", {1ull << 40, 1ull << 40}, 0, "").bytes()),
                         "tensor \"t\" has a dimension of 1099511627776; expected fewer than 2^59 weights"));
        QVERIFY(contains(parse(GgufWriter().add_tensor("t", {1, 1, 1, 1, 1}, 0, "").bytes()), "has 5 dimensions"));
    }

    // Files like those that attacked other programs; the fuzzer starts with them too.
    void attack_isRefused_data() {
        QTest::addColumn<QString>("words");
        const auto row = [](const char* file, const char* words) { QTest::newRow(file) << QString::fromLatin1(words); };
        // CVE-2024-21802: more dimensions than the reader has room for
        row("many-dimensions", "byte 85: tensor \"t\" has 2147483647 dimensions; expected at most 4");
        // CVE-2024-21836, CVE-2024-23605, CVE-2026-27940: a count times the size of one
        // wraps
        row("many-tensors", "the number of tensors is 72057594037927936; expected no more than a file of 192 bytes");
        row("many-tensors-2", "the number of tensors is 50127021939428129; expected no more than a file of 192 bytes");
        row("many-pairs", "the number of metadata pairs is 2305843009213693953; expected no more than a file of 96");
        // CVE-2024-21825: the items of a list times their size wrap
        row("list-too-long", "the length of the metadata \"a\" is 2305843009213693953; expected no more");
        row("list-of-texts-too-long", "the length of the metadata \"a\" is 1152921504606846977; expected no more");
        row("list-of-no-type", "the metadata \"a\", the type of its items, is 13; expected a type from 0 to 12");
        row("lists-in-lists", "the metadata \"a\" is a list of lists of lists; expected fewer levels");
        // CVE-2024-23496: a text whose length plus one is 0
        row("text-of-all-bytes",
            "the length of a metadata key is 18446744073709551615; expected no more than a file of");
        row("value-of-all-bytes",
            "the length of the metadata \"a\" is 18446744073709551615; expected no more than a file of 96");
        // CVE-2025-49847: a token whose length does not fit 32 bits
        row("token-of-2-GiB", "the length of the metadata \"tokenizer.ggml.tokens\" is 2147483649; expected no more");
        // CVE-2024-32878: reading ends in the middle, and memory that was never set is
        // freed
        row("key-twice", "the metadata \"general.architecture\" is there twice; expected each once");
        row("ends-in-a-pair",
            "so that its header is cut; is it still being copied? Otherwise it is damaged: fetch it again");
        // CVE-2025-53630: every tensor could be, the sum of their sizes wraps
        row("sum-of-sizes", "bytes; is it still being copied?");
        // CVE-2026-33298: the product of the dimensions wraps
        row("product-of-dimensions", "tensor \"t\" has a dimension of 4294967296; expected fewer than 2^59 weights");
        row("negative-dimension", "tensor \"t\" has a dimension of 18446744073709551612; expected fewer than 2^59");
        row("zero-hides-dimensions", "tensor \"t\" has a dimension of 288230376151711744; expected fewer than 2^59");
        // CVE-2026-7482: dimensions that promise more than the file has
        row("false-dimensions",
            "incomplete: 192 of 4194432 bytes; is it still being copied? Otherwise it is damaged: fetch it again");
        row("false-dimensions-of-blocks", "incomplete: 192 of 36992 bytes");
        row("rows-of-part-blocks", "tensor \"t\" has rows of 100 weights in Q4_K; expected a multiple of 256");
        row("offset-beyond-the-file", "incomplete: 192 of 4240 bytes");
        row("offset-wraps", "tensor \"t\" begins at byte 18446744073709551488 of the data; expected no more than");
        row("offset-of-no-alignment",
            "tensor \"t\" begins at byte 4 of the data; expected a multiple of the alignment, 32");
        row("alignment-zero", "\"general.alignment\" is 0; expected an integer from 1 to 1048576");
        row("alignment-24", "is 24; expected a power of two; the file is damaged: fetch it again");
        row("alignment-huge", "\"general.alignment\" is 2147483648; expected an integer from 1 to 1048576");
        row("alignment-is-a-text", "\"general.alignment\" is \"32\"; expected an integer from 1 to 1048576");
        row("alignment-64-offset-32", "expected a multiple of the alignment, 64; the file is damaged: fetch it again");
        row("tensor-twice", "tensor \"t\" is there twice; expected each once");
        row("no-magic", "byte 0: the file begins with \"GGUP\"; expected \"GGUF\"; it is another file or damaged");
        row("big-endian", "is a big-endian GGUF file; expected a little-endian one");
    }
    void attack_isRefused() {
        QFETCH(QString, words);
        const QString path = sourcePath(QStringLiteral("tests/fuzz/corpus/gguf_model/")) + QTest::currentDataTag();
        const QString error = sentence_of([&] { static_cast<void>(open_gguf(path.toStdString())); });
        QVERIFY2(error.contains(words), qPrintable(error));
        QVERIFY2(error.startsWith(path + QStringLiteral(": ")), qPrintable(error));
        QCOMPARE(sentence_of([&] { static_cast<void>(read_gguf_spec(path.toStdString())); }), error);
    }
    void everyStoredFile_endsInAnError() {
        const QDir folder(sourcePath(QStringLiteral("tests/fuzz/corpus/gguf_model")));
        const QStringList files = folder.entryList(QDir::Files);
        QVERIFY(files.size() >= 31);
        for (const QString& file : files) {
            const QString path = folder.filePath(file);
            const QString error = sentence_of([&] { open(path.toStdString()); });
            QVERIFY2(error.contains(file), qPrintable(error));
        }
    }

    void badModel_isNamed_data() {
        QTest::addColumn<QString>("changed");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* changed, const char* words) {
            QTest::newRow(changed) << QString::fromLatin1(changed) << QString::fromLatin1(words);
        };
        row("architecture",
            "\"general.architecture\" \"mamba\" is not supported; supported: llama, qwen2moe, qwen3moe");
        row("known architecture", "\"jamba\" is not supported: it needs layers of Mamba-1, which ");
        row("no architecture", "\"general.architecture\" is missing; expected a text");
        row("dense", "qwen3moe: no layer has experts; expected a Mixture-of-Experts model");
        row("no heads", "\"qwen3moe.attention.head_count\" is missing; expected");
        row("layers", "\"qwen3moe.block_count\" is \"four\"; expected an integer");
        row("more layers", "tensor \"blk.4.ffn_gate_exps.weight\" is missing");
        row("ffn", "tensor \"blk.0.ffn_gate_exps.weight\" has shape");
        row("type", "tensor \"blk.0.attn_output.weight\" has dtype type 43; expected one of F32, F16, Q4_0");
        row("IQ4_KS", "has dtype IQ4_KS of ik_llama.cpp (type 144); expected one of F32, F16, Q4_0");
        row("Q4_0_R4", "has dtype Q4_0_R4/R8 of ik_llama.cpp (type 202); expected one of F32, F16, Q4_0");
        row("Q4_0_4_4", "has dtype Q4_0_4_4 (type 31); expected one of F32, F16, Q4_0");
        row("Q8_1", "tensor \"blk.0.attn_output.weight\" has dtype Q8_1 (type 9); expected one of F32, F16, Q4_0");
        row("foreign type", "tensor \"blk.0.attn_output.weight\" has dtype I8 (type 24); expected one of");
        row("what to take instead", "NVFP4; take a file of this model in one of them, such as its Q4_K_M");
        row("cut", "bytes; is it still being copied? Otherwise it is damaged: fetch it again");
        row("no embedding", "tensor \"token_embd.weight\" is missing or no matrix");
        row("blocks in part", "has rows of 7 weights in Q8_0; expected a multiple of 32");
    }
    void badModel_isNamed() {
        QFETCH(QString, changed);
        QFETCH(QString, words);
        const GgufParts whole(QStringLiteral("qwen3_moe_bf16"));
        GgufWriter writer = whole.pairs();
        if (changed == QLatin1String("architecture")) writer.add("general.architecture", "mamba");
        if (changed == QLatin1String("known architecture")) writer.add("general.architecture", "jamba");
        if (changed == QLatin1String("no architecture")) writer.remove("general.architecture");
        if (changed == QLatin1String("dense")) writer.remove("qwen3moe.expert_count");
        if (changed == QLatin1String("no heads")) writer.remove("qwen3moe.attention.head_count");
        if (changed == QLatin1String("layers")) writer.add("qwen3moe.block_count", "four");
        if (changed == QLatin1String("more layers")) {
            const auto n = whole.header.metadata.integer("qwen3moe.block_count", 1, 100);
            words.replace(QStringLiteral("blk.4"), QStringLiteral("blk.%1").arg(n));
            writer.add("qwen3moe.block_count", n + 1);
        }
        if (changed == QLatin1String("ffn")) writer.add("qwen3moe.expert_feed_forward_length", std::uint32_t{8});
        for (const GgufTensor& tensor : whole.header.tensors) {
            std::uint32_t type = tensor.type;
            auto shape = GgufParts::shapeOf(tensor);
            if (tensor.name == "blk.0.attn_output.weight") {
                if (changed == QLatin1String("type")) type = 43;
                if (changed == QLatin1String("IQ4_KS")) type = 144;
                if (changed == QLatin1String("Q4_0_R4")) type = 202;
                if (changed == QLatin1String("Q4_0_4_4")) type = 31;
                if (changed == QLatin1String("Q8_1")) type = 9;
                if (changed == QLatin1String("foreign type") || changed == QLatin1String("what to take instead")) {
                    type = 24;
                }
                if (changed == QLatin1String("blocks in part")) {
                    type = 8;
                    shape = {3, 7};
                }
            }
            if (changed == QLatin1String("no embedding") && tensor.name == "token_embd.weight") continue;
            writer.add_tensor(std::string(tensor.name), shape, type, whole.bytesOf(tensor));
        }
        const QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "bad.gguf";
        writer.write(path);
        if (changed == QLatin1String("cut")) fs::resize_file(path, fs::file_size(path) - 5000);
        const QString error = sentence_of([&] { open(path.string()); });
        QVERIFY2(error.contains(words), qPrintable(error));
        QVERIFY2(error.startsWith(QString::fromStdString(path.string()) + QStringLiteral(": ")), qPrintable(error));
    }
};

QTEST_GUILESS_MAIN(TestDamagedGguf)
#include "tst_damaged_gguf.moc"
