#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <QDir>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/model/checkpoint.h"
#include "engine/model/safetensors.h"
#include "tests/engine/checkpoint_writer.h"
#include "tests/fuzz/model_files.h"

using namespace offstage;
using engine::Checkpoint;
using engine::ErrorKind;
using engine::TensorView;
using tests::error_of;
using tests::mismatch;
using tests::safetensors_file;
using tests::SafetensorsWriter;
using tests::write_file;

namespace {

constexpr std::size_t kPage = 4096;

std::span<const std::byte> bytes_of(const QByteArray& text) {
    return std::as_bytes(std::span(text.constData(), static_cast<std::size_t>(text.size())));
}

template <typename T>
std::vector<T> values_of(const TensorView& tensor) {
    std::vector<T> values(tensor.bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
    return values;
}

// Whether this page is in the process's page table. Nothing if the system does not report
// it.
std::optional<bool> is_mapped_in(const std::byte* at) {
    const int fd = ::open("/proc/self/pagemap", O_RDONLY);
    if (fd < 0) return {};
    std::uint64_t entry = 0;
    const auto offset = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at) / kPage * sizeof entry);
    const bool read = ::pread(fd, &entry, sizeof entry, offset) == sizeof entry;
    ::close(fd);
    if (!read) return {};
    return (entry >> 63) != 0;
}

long sum_of(std::span<const std::byte> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), 0L,
                           [](long sum, std::byte b) { return sum + static_cast<int>(b); });
}

}  // namespace

class TestCheckpoint : public QObject {
    Q_OBJECT

  private:
    QTemporaryDir dir_;

    QString path(const QString& name) const { return dir_.filePath(name); }
    std::unique_ptr<Checkpoint> open(const QString& name) const { return Checkpoint::open(path(name).toStdString()); }
    std::optional<engine::Error> open_error(const QString& name) const {
        return error_of([&] { open(name); });
    }

  private slots:
    void init() {
        dir_ = QTemporaryDir();
        QVERIFY(dir_.isValid());
    }

    // ------------------------------------------------------------ good files

    void values_survive_writing_and_mapping() {
        const std::vector<float> f32 = {1.5f, -0.0f, 3e38f, 1e-45f, 7.0f, -2.25f};
        const std::vector<quint16> bf16 = {0x3f80, 0xff80, 0x0001};
        const std::vector<quint16> f16 = {0x3c00};
        QVERIFY(write_file(path("m.safetensors"), SafetensorsWriter()
                                                      .add_metadata(R"({"format":"pt","":"x"})")
                                                      .add("layers.0.w", "F32", "[2,3]", f32)
                                                      .add("b", "BF16", "[3]", bf16)
                                                      .add("scalar", "F16", "[]", f16)
                                                      .add("empty", "F32", "[4,0,2]", std::vector<float>())
                                                      .add("steps", "I64", "[1]", std::vector<qint64>{-5})
                                                      .file()));
        const auto checkpoint = open("m.safetensors");
        QCOMPARE(checkpoint->tensors().size(), std::size_t{5});
        QCOMPARE(checkpoint->total_bytes(), std::uint64_t{24 + 6 + 2 + 0 + 8});
        QCOMPARE(checkpoint->source(), path("m.safetensors").toStdString());

        const TensorView* w = checkpoint->find("layers.0.w");
        QVERIFY(w != nullptr);
        QCOMPARE(w->name, std::string("layers.0.w"));
        QCOMPARE(w->type, kernels::WeightType::kF32);
        QCOMPARE(w->shape, (std::vector<std::int64_t>{2, 3}));
        QCOMPARE(w->n_elements(), 6);
        QCOMPARE(std::memcmp(w->bytes.data(), f32.data(), 24), 0);
        QCOMPARE(checkpoint->find("b")->type, kernels::WeightType::kBf16);
        QCOMPARE(values_of<quint16>(*checkpoint->find("b")), bf16);
        QCOMPARE(checkpoint->find("scalar")->type, kernels::WeightType::kF16);
        QCOMPARE(checkpoint->find("scalar")->n_elements(), 1);
        QVERIFY(checkpoint->find("scalar")->shape.empty());
        QCOMPARE(values_of<quint16>(*checkpoint->find("scalar")), f16);
        QCOMPARE(checkpoint->find("empty")->n_elements(), 0);
        QVERIFY(checkpoint->find("empty")->bytes.empty());
        QVERIFY(checkpoint->find("b")->supported_type);
        QVERIFY(!checkpoint->find("steps")->supported_type);
        QCOMPARE(checkpoint->find("steps")->type_name, std::string("I64"));
        QCOMPARE(values_of<qint64>(*checkpoint->find("steps")), std::vector<qint64>{-5});
        for (const TensorView& tensor : checkpoint->tensors()) QCOMPARE(checkpoint->find(tensor.name), &tensor);
        QVERIFY(checkpoint->find("layers.0") == nullptr);
        QVERIFY(checkpoint->find("__metadata__") == nullptr);
        QVERIFY(checkpoint->find("") == nullptr);
    }

    void file_without_tensors_opens_empty() {
        QVERIFY(write_file(path("m.safetensors"), safetensors_file("{}", {})));
        QCOMPARE(open("m.safetensors")->tensors().size(), std::size_t{0});
        QCOMPARE(open("m.safetensors")->total_bytes(), std::uint64_t{0});
    }

    void header_in_any_order_is_returned_in_data_order() {
        const QByteArray header = R"({"z":{"shape":[1],"data_offsets":[0,4],"dtype":"F32"},)"
                                  R"("a":{"data_offsets":[8,12],"dtype":"F32","shape":[1]},)"
                                  R"("m":{"dtype":"F32","data_offsets":[4,8],"shape":[1]}}   )";
        const QByteArray file = safetensors_file(header, QByteArray(12, 'x'));
        const auto entries = engine::parse_safetensors_header(bytes_of(file), 8 + header.size() + 12, "m");
        QCOMPARE(entries.size(), std::size_t{3});
        QCOMPARE(entries[0].name, std::string("z"));
        QCOMPARE(entries[1].name, std::string("m"));
        QCOMPARE(entries[2].name, std::string("a"));
        QCOMPARE(entries[0].begin, std::uint64_t(8 + header.size()));
        QCOMPARE(entries[2].end, std::uint64_t(8 + header.size() + 12));
    }

    void header_alone_is_enough_to_parse() {
        const QByteArray header = R"({"a":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}})";
        const QByteArray front = safetensors_file(header, {});
        const auto entries = engine::parse_safetensors_header(bytes_of(front), front.size() + 1099511627776, "m");
        QCOMPARE(entries.front().end - entries.front().begin, std::uint64_t{1099511627776});
    }

    void dtype_takes_its_bytes_data() {
        QTest::addColumn<QByteArray>("dtype");
        QTest::addColumn<int>("bytes");  // for 4 elements
        const std::pair<const char*, int> rows[] = {
            {"F64", 32},        {"I64", 32},    {"U64", 32},    {"C64", 32},    {"F32", 16},    {"I32", 16},
            {"U32", 16},        {"F16", 8},     {"BF16", 8},    {"I16", 8},     {"U16", 8},     {"I8", 4},
            {"U8", 4},          {"BOOL", 4},    {"F8_E4M3", 4}, {"F8_E5M2", 4}, {"F8_E8M0", 4}, {"F8_E4M3FNUZ", 4},
            {"F8_E5M2FNUZ", 4}, {"F6_E2M3", 3}, {"F6_E3M2", 3}, {"F4", 2}};
        for (const auto& [dtype, bytes] : rows) QTest::newRow(dtype) << QByteArray(dtype) << bytes;
    }
    void dtype_takes_its_bytes() {
        QFETCH(QByteArray, dtype);
        QFETCH(int, bytes);
        for (const int size : {bytes - 1, bytes, bytes + 1}) {
            const QByteArray file = SafetensorsWriter().add("t", dtype, "[2,2]", std::vector<char>(size)).file();
            const auto parse = [&] { engine::parse_safetensors_header(bytes_of(file), file.size(), "m"); };
            if (size == bytes) {
                QVERIFY(!error_of(parse));
            } else {
                QCOMPARE(mismatch(error_of(parse), ErrorKind::kInvalidModel,
                                  "m: |\"t\"|" + dtype + "|" + QString::number(size) + "|expected " +
                                      QString::number(bytes)),
                         "");
            }
        }
    }

    // ------------------------------------------------------------ bad headers

    void header_is_rejected_data() {
        QTest::addColumn<QByteArray>("header");
        QTest::addColumn<int>("data_bytes");
        QTest::addColumn<ErrorKind>("kind");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* header, int data_bytes, const char* words,
                            ErrorKind kind = ErrorKind::kInvalidModel) {
            QTest::newRow(name) << QByteArray(header) << data_bytes << kind << QString(words);
        };
        row("not JSON", R"({"a":)", 0, "header is not valid JSON at byte|expected JSON");
        row("text after the object", R"({}{})", 0, "header is not valid JSON");
        row("not UTF-8", "{\"\xff\":1}", 0, "header is not valid JSON|UTF-8");
        row("half a surrogate", R"({"\ud800":1})", 0, "header is not valid JSON");
        row("a comment", "{/**/}", 0, "header is not valid JSON");
        row("a number beyond double", R"({"a":{"shape":[1e999]}})", 0, "header is not valid JSON");
        row("a list", "[]", 0, "begins with \"[\"|expected \"{\"");
        row("a space first", " {}", 0, "begins with \" \"|expected \"{\"");
        row("a tensor that is a number", R"({"a":3})", 0, "\"a\" is 3|expected an object with \"dtype\"");
        row("a tensor that is a list", R"({"a":[]})", 0, "\"a\" is a list|expected an object");
        row("a tensor that is null", R"({"a":null})", 0, "\"a\" is null|expected an object");
        row("a tensor that is a text", R"({"a":"b"})", 0, "\"a\" is \"b\"|expected an object");
        row("no dtype", R"({"a":{"shape":[],"data_offsets":[0,4]}})", 4, "\"a\"|no \"dtype\"|expected");
        row("no shape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "\"a\"|no \"shape\"|expected a list");
        row("no offsets", R"({"a":{"dtype":"F32","shape":[]}})", 4, "\"a\"|no \"data_offsets\"|expected [begin, end]");
        row("nothing at all", R"({"a":{}})", 0, "\"a\"|no \"dtype\"");
        row("a field more", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"stride":1}})", 4,
            "\"a\"|field \"stride\"|expected only");
        row("dtype twice", R"({"a":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4,
            "\"a\"|\"dtype\" twice|expected once");
        row("shape twice", R"({"a":{"dtype":"F32","shape":[],"shape":[],"data_offsets":[0,4]}})", 4,
            "\"a\"|\"shape\" twice");
        row("offsets twice", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"data_offsets":[0,4]}})", 4,
            "\"a\"|\"data_offsets\" twice");
        row("unknown dtype", R"({"a":{"dtype":"F12","shape":[],"data_offsets":[0,4]}})", 4,
            "\"a\"|dtype \"F12\"|expected one of", ErrorKind::kUnsupported);
        row("dtype in small letters", R"({"a":{"dtype":"f32","shape":[],"data_offsets":[0,4]}})", 4, "dtype \"f32\"",
            ErrorKind::kUnsupported);
        row("dtype a number", R"({"a":{"dtype":32,"shape":[],"data_offsets":[0,4]}})", 4,
            "\"a\"|\"dtype\" is 32|expected a text");
        row("dtype an object", R"({"a":{"dtype":{},"shape":[],"data_offsets":[0,4]}})", 4, "\"dtype\" is an object");
        row("shape a number", R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4,
            "\"a\"|\"shape\" is 1|expected a list");
        row("negative dimension", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4,
            "\"a\"|\"shape\" holds -1|expected integers from 0");
        row("two negative dimensions", R"({"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds -1");
        row("a dimension of 1.0", R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds 1.0");
        row("a dimension of 1e30", R"({"a":{"dtype":"F32","shape":[1e30],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds 1e30");
        row("a dimension of 2^63", R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds 9223372036854775808");
        row("a dimension of 2^64", R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds 18446744073709551616");
        row("a dimension in quotes", R"({"a":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds \"1\"");
        row("a list in the shape", R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds a list");
        row("an object in the shape", R"({"a":{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}})", 4,
            "\"shape\" holds an object");
        row("elements beyond 64 bits", R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
            0, "\"a\"|[4294967296, 4294967296]|expected one whose bytes fit 64 bits");
        row("bytes beyond 64 bits", R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0,
            "\"a\"|[2305843009213693952]|fit 64 bits");
        row("zero hides an overflow", R"({"a":{"dtype":"F32","shape":[9223372036854775807,4,0],"data_offsets":[0,0]}})",
            0, "\"a\"|fit 64 bits");
        row("zero before an overflow",
            R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,4],"data_offsets":[0,0]}})", 0, "\"a\"|fit 64 bits");
        row("half a byte", R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1,
            "\"a\"|F4|expected a whole number of bytes");
        row("offsets a number", R"({"a":{"dtype":"F32","shape":[],"data_offsets":4}})", 4,
            "\"a\"|\"data_offsets\"|4|expected a list of 2 integers");
        row("one offset", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4]}})", 4,
            "a list of 1|expected a list of 2");
        row("three offsets", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4,4]}})", 4,
            "a list of more than 2|expected a list of 2");
        row("negative offset", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[-4,0]}})", 4, "holds -4|expected");
        row("offset 0.0", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0.0,4]}})", 4, "holds 0.0|expected");
        row("end before begin", R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4,0]}})", 4,
            "\"a\"|[4, 0]|expected an end that is not before");
        row("more bytes than the shape", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,12]}})", 12,
            "\"a\" has a size in bytes of 12 |expected 8|[2]|F32");
        row("fewer bytes than the shape", R"({"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4,
            "\"a\" has a size in bytes of 4 |expected 4000000|[1000, 1000]");
        row("bytes for an empty tensor", R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}})", 4,
            "\"a\" has a size in bytes of 4 |expected 0");
        row("name twice",
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
            4, "\"a\" appears twice|expected each name once");
        row("name twice, once escaped",
            R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"\u0061":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
            4, "\"a\" appears twice");
        row("overlap",
            R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
            4, "\"b\" overlaps|begins at 2|expected 3");
        row("the same bytes twice",
            R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
            4, "\"b\" overlaps|begins at 0|expected 4");
        row("hole",
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
            4, "\"b\" leaves a hole|begins at 2|expected 1");
        row("hole at the start", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", 4,
            "\"a\" leaves a hole|begins at 2|expected 0");
        row("offsets that wrap round",
            R"({"a":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807]},)"
            R"("b":{"dtype":"U8","shape":[9223372036854775807],"data_offsets":[9223372036854775807,18446744073709551614]}})",
            4, "fit 64 bits");
        row("data missing", R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", 4,
            "incomplete: |still being copied? Otherwise it is damaged: fetch it again");
        row("data left over", R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", 4,
            "size in bytes of 4 after its header|expected 3, which its tensors take");
        row("data of no tensor", "{}", 4, "size in bytes of 4 after its header|expected 0, which its tensors take");
        row("metadata a text", R"({"__metadata__":"x"})", 0, "\"__metadata__\" is \"x\"|expected an object");
        row("metadata null", R"({"__metadata__":null})", 0, "\"__metadata__\" is null|expected an object");
        row("metadata with a number", R"({"__metadata__":{"k":1}})", 0, "\"__metadata__\"|\"k\" is 1|expected a text");
        row("metadata with a list", R"({"__metadata__":{"k":[]}})", 0, "\"k\" is a list|expected a text");
        row("metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, "\"__metadata__\" appears twice");
        row("metadata key twice", R"({"__metadata__":{"k":"1","k":"2"}})", 0, "\"k\" twice");
    }
    void header_is_rejected() {
        QFETCH(QByteArray, header);
        QFETCH(int, data_bytes);
        QFETCH(ErrorKind, kind);
        QFETCH(QString, words);
        QVERIFY(write_file(path("bad.safetensors"), safetensors_file(header, QByteArray(data_bytes, 'x'))));
        QCOMPARE(mismatch(open_error("bad.safetensors"), kind, path("bad.safetensors") + ": |" + words), "");
    }

    void nul_in_header_is_rejected_although_the_json_before_it_is_whole() {
        const QByteArray header("{}\0{\"a\":1}", 10);
        QVERIFY(write_file(path("bad.safetensors"), safetensors_file(header, {})));
        QCOMPARE(
            mismatch(open_error("bad.safetensors"), ErrorKind::kInvalidModel, "bad.safetensors: |NUL byte at byte 2"),
            "");
    }

    void shape_with_too_many_dimensions_is_rejected() {
        for (const int n_dims : {64, 65}) {
            const QByteArray shape = "[1" + QByteArray(",1").repeated(n_dims - 1) + "]";
            const QByteArray file = SafetensorsWriter().add("deep", "U8", shape, std::vector<char>(1)).file();
            const auto error = error_of([&] { engine::parse_safetensors_header(bytes_of(file), file.size(), "m"); });
            if (n_dims == 64) {
                QVERIFY(!error);
            } else {
                QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, "m: |\"deep\"|more than 64 dimensions|expected"),
                         "");
            }
        }
    }

    void nesting_costs_neither_stack_nor_time() {
        for (const char* front : {R"({"a":)", R"({"__metadata__":)", R"({"a":{"shape":)"}) {
            for (const char* bracket : {"[", "{\"a\":"}) {
                const QByteArray file = safetensors_file(front + QByteArray(bracket).repeated(5'000'000), {});
                const auto error =
                    error_of([&] { engine::parse_safetensors_header(bytes_of(file), file.size(), "m"); });
                QVERIFY(error);
                QCOMPARE(error->kind(), ErrorKind::kInvalidModel);
            }
        }
    }

    void names_in_messages_are_short_and_printable() {
        const QByteArray name = "\\u0000\\u001b[2J" + QByteArray("n").repeated(100'000);
        const QByteArray file = safetensors_file("{\"" + name + "\":1}", {});
        const auto error = error_of([&] { engine::parse_safetensors_header(bytes_of(file), file.size(), "m"); });
        QCOMPARE(mismatch(error, ErrorKind::kInvalidModel, "\\x00\\x1b[2Jnnn|n..."), "");
        QVERIFY(std::strlen(error->what()) < 300);
    }

    // ------------------------------------------------------------ bad files

    void file_front_is_rejected_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const QByteArray& file, const char* words) {
            QTest::newRow(name) << file << QString(words);
        };
        row("no bytes", {}, "incomplete: 0 of at least 8 bytes|still being copied?");
        row("seven bytes", QByteArray(7, '\0'), "incomplete: 7 of at least 8 bytes|still being copied?");
        row("header of no bytes", QByteArray(8, '\0'), "begins with \"\"|expected \"{\"");
        row("header longer than the file", tests::little_endian(10) + "{}",
            "incomplete: 10 of at least 18 bytes|still being copied?");
        row("header of 2^64 - 1 bytes", tests::little_endian(~quint64{0}) + "{}",
            "18446744073709551615|at most 100000000");
        row("header of 2^64 - 8 bytes", tests::little_endian(~quint64{7}) + "{}", "at most 100000000");
        row("header above 100 MB", tests::little_endian(100'000'001) + "{}", "100000001|at most 100000000");
        row("header of just 100 MB", tests::little_endian(100'000'000) + "{}",
            "incomplete: 10 of at least 100000008 bytes");
        row("Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer");
        row("GGUF", QByteArray("GGUF\3\0\0\0", 8), "GGUF");
        row("zip", QByteArray("PK\3\4\0\0\10\10", 8), "zip");
        row("web page", "<!DOCTYPE html><html></html>", "web page");
    }
    void file_front_is_rejected() {
        QFETCH(QByteArray, file);
        QFETCH(QString, words);
        QVERIFY(write_file(path("bad.safetensors"), file));
        QCOMPARE(
            mismatch(open_error("bad.safetensors"), ErrorKind::kInvalidModel, path("bad.safetensors") + ": |" + words),
            "");
    }

    void every_truncation_and_every_extension_is_rejected() {
        const QByteArray whole = SafetensorsWriter()
                                     .add("a", "F32", "[3]", std::vector<float>{1, 2, 3})
                                     .add("b", "BF16", "[2]", std::vector<quint16>{1, 2})
                                     .file();
        const auto parse = [&](const QByteArray& file) {
            return error_of([&] { engine::parse_safetensors_header(bytes_of(file), file.size(), "m"); });
        };
        QVERIFY(!parse(whole));
        for (qsizetype n = 0; n < whole.size(); ++n) {
            QCOMPARE(mismatch(parse(whole.left(n)), ErrorKind::kInvalidModel,
                              "m: |incomplete: " + QString::number(n) + " of |still being copied?"),
                     "");
        }
        QCOMPARE(mismatch(parse(whole + 'x'), ErrorKind::kInvalidModel,
                          "m: |size in bytes of 17 after its header|expected 16, which"),
                 "");
    }

    void every_flipped_bit_of_a_header_is_an_error_or_a_right_table() {
        const QByteArray whole = SafetensorsWriter()
                                     .add_metadata(R"({"format":"pt"})")
                                     .add("a", "F32", "[3]", std::vector<float>{1, 2, 3})
                                     .add("b", "BF16", "[2,1]", std::vector<quint16>{1, 2})
                                     .file();
        for (qsizetype at = 0; at < whole.size() - 16; ++at) {
            for (int bit = 0; bit < 8; ++bit) {
                QByteArray file = whole;
                file[at] = static_cast<char>(file[at] ^ (1 << bit));
                QCOMPARE(tests::check_safetensors_file(bytes_of(file), file.size()), "");
            }
        }
    }

    // ------------------------------------------------------------ shards

    void shards_make_one_checkpoint() {
        QVERIFY(write_file(path("s1.safetensors"),
                           SafetensorsWriter().add("a", "F32", "[1]", std::vector<float>{1}).file()));
        QVERIFY(write_file(path("s2.safetensors"), SafetensorsWriter()
                                                       .add("b", "F32", "[2]", std::vector<float>{2, 3})
                                                       .add("not in the index", "F32", "[1]", std::vector<float>{9})
                                                       .add("a", "F32", "[1]", std::vector<float>{8})
                                                       .file()));
        QVERIFY(QDir(dir_.path()).mkdir("sub"));
        QVERIFY(write_file(path("sub/s3.safetensors"),
                           SafetensorsWriter().add("c", "F32", "[]", std::vector<float>{4}).file()));
        const QByteArray index = R"({"metadata":{"total_size":"wrong"},"weight_map":{"a":"s1.safetensors",)"
                                 R"("b":"s2.safetensors","c":"sub/s3.safetensors"}})";
        QVERIFY(write_file(path("model.safetensors.index.json"), index));
        for (const QString& name : {QString(), QString("model.safetensors.index.json")}) {
            const auto checkpoint = open(name);
            QCOMPARE(checkpoint->tensors().size(), std::size_t{3});
            QCOMPARE(values_of<float>(*checkpoint->find("a")), std::vector<float>{1});
            QCOMPARE(values_of<float>(*checkpoint->find("b")), (std::vector<float>{2, 3}));
            QCOMPARE(values_of<float>(*checkpoint->find("c")), std::vector<float>{4});
            QVERIFY(checkpoint->find("not in the index") == nullptr);
            QCOMPARE(checkpoint->total_bytes(), std::uint64_t{16});
            // Messages name the shard.
            const std::int64_t wrong[] = {3};
            QCOMPARE(mismatch(error_of([&] { checkpoint->require("b", wrong); }), ErrorKind::kInvalidModel,
                              path("s2.safetensors") + ": |\"b\"|(2)|expected (3)"),
                     "");
        }
    }

    void shards_behind_links_are_followed() {
        QTemporaryDir elsewhere;
        const QString blob = elsewhere.filePath("blob");
        QVERIFY(write_file(blob, SafetensorsWriter().add("a", "F32", "[1]", std::vector<float>{1}).file()));
        QVERIFY(QFile::link(blob, path("s1.safetensors")));
        QVERIFY(write_file(path("model.safetensors.index.json"), R"({"weight_map":{"a":"s1.safetensors"}})"));
        QCOMPARE(values_of<float>(*open("")->find("a")), std::vector<float>{1});
    }

    void index_is_rejected_data() {
        QTest::addColumn<QByteArray>("index");
        QTest::addColumn<ErrorKind>("kind");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* index, const char* words,
                            ErrorKind kind = ErrorKind::kInvalidModel) {
            QTest::newRow(name) << QByteArray(index) << kind << QString(words);
        };
        const char* in_index = "model.safetensors.index.json: |\"weight_map\"|expected";
        row("not JSON", "{", "model.safetensors.index.json: |not valid JSON at byte");
        row("a list", "[]", "model.safetensors.index.json: |the file is a list of 0|expected a JSON object");
        row("no map", "{}", in_index);
        row("empty map", R"({"weight_map":{}})", in_index);
        row("map a list", R"({"weight_map":[]})", in_index);
        row("tensor twice", R"({"weight_map":{"a":"s1.safetensors","a":"s1.safetensors"}})",
            "model.safetensors.index.json: |\"a\" appears twice");
        const char* in_folder =
            "model.safetensors.index.json: |\"weight_map\"|tensor \"a\"|expected the name of a file in the same folder";
        row("file a number", R"({"weight_map":{"a":1}})", in_folder);
        row("file null", R"({"weight_map":{"a":null}})", in_folder);
        row("file empty", R"({"weight_map":{"a":""}})", in_folder);
        row("file absolute", R"({"weight_map":{"a":"/etc/passwd"}})", in_folder);
        row("file above", R"({"weight_map":{"a":"../s1.safetensors"}})", in_folder);
        row("file above, later", R"({"weight_map":{"a":"sub/../../s1.safetensors"}})", in_folder);
        row("file only ..", R"({"weight_map":{"a":".."}})", in_folder);
        row("file a folder's name", R"({"weight_map":{"a":"sub/"}})", in_folder);
        row("file with a NUL", R"({"weight_map":{"a":"s1.safetensors\u0000.x"}})", in_folder);
        row("shard missing", R"({"weight_map":{"a":"s1.safetensors","b":"s7.safetensors"}})",
            "s7.safetensors: is missing|expected it|model.safetensors.index.json|\"b\"", ErrorKind::kNotFound);
        row("shard a folder", R"({"weight_map":{"a":"sub"}})", "sub: is a folder|expected a file");
        row("shard broken", R"({"weight_map":{"a":"broken.safetensors"}})", "broken.safetensors: |incomplete: ");
        row("tensor not in its shard",
            R"({"weight_map":{"a":"s1.safetensors","x":"s1.safetensors","y":"s1.safetensors"}})",
            "s1.safetensors: |tensor \"x\" is missing|expected it here|model.safetensors.index.json|1 more");
    }
    void index_is_rejected() {
        QFETCH(QByteArray, index);
        QFETCH(ErrorKind, kind);
        QFETCH(QString, words);
        const QByteArray shard = SafetensorsWriter().add("a", "F32", "[1]", std::vector<float>{1}).file();
        QVERIFY(QDir(dir_.path()).mkpath("folder/sub"));
        QVERIFY(write_file(path("s1.safetensors"), shard));
        QVERIFY(write_file(path("folder/s1.safetensors"), shard));
        QVERIFY(write_file(path("folder/broken.safetensors"), shard.left(20)));
        QVERIFY(write_file(path("folder/model.safetensors.index.json"), index));
        QCOMPARE(mismatch(open_error("folder"), kind, words), "");
    }

    // ------------------------------------------------------------ paths

    void folder_is_searched_in_order() {
        const auto model = [](float value) {
            return SafetensorsWriter().add("a", "F32", "[1]", std::vector<float>{value}).file();
        };
        QVERIFY(write_file(path("any-name.safetensors"), model(1)));
        QCOMPARE(values_of<float>(*open("")->find("a")), std::vector<float>{1});
        QVERIFY(write_file(path("other.safetensors"), model(2)));
        QCOMPARE(
            mismatch(open_error(""), ErrorKind::kNotFound,
                     dir_.path() + ": |holds 2 *.safetensors files|any-name.safetensors|expected model.safetensors"),
            "");
        QVERIFY(write_file(path("model.safetensors.index.json"), R"({"weight_map":{"a":"other.safetensors"}})"));
        QCOMPARE(values_of<float>(*open("")->find("a")), std::vector<float>{2});
        QVERIFY(write_file(path("model.safetensors"), model(3)));
        QCOMPARE(values_of<float>(*open("")->find("a")), std::vector<float>{3});
        QCOMPARE(values_of<float>(*open("any-name.safetensors")->find("a")), std::vector<float>{1});
    }

    void path_is_rejected_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<ErrorKind>("kind");
        QTest::addColumn<QString>("words");
        QTest::newRow("nothing there") << "none.safetensors" << ErrorKind::kNotFound
                                       << "no such file or folder|expected";
        QTest::newRow("below a file") << "file/x" << ErrorKind::kNotFound << "file/x: |expected";
        QTest::newRow("folder without weights")
            << "empty" << ErrorKind::kNotFound
            << "empty: holds no weights|expected model.safetensors, or model.safetensors.index.json";
        QTest::newRow("folder for a file")
            << "folders" << ErrorKind::kInvalidModel << "folders/model.safetensors: is a folder|expected a file";
        QTest::newRow("link to nowhere") << "links" << ErrorKind::kNotFound
                                         << "links/model.safetensors: is a link to |nowhere, which is missing";
        // A pipe must not be waited for.
        QTest::newRow("pipe") << "pipe" << ErrorKind::kInvalidModel << "pipe: is not a regular file|expected a file";
        QTest::newRow("device") << "/dev/null" << ErrorKind::kInvalidModel << "/dev/null: is not a regular file";
    }
    void path_is_rejected() {
        QFETCH(QString, name);
        QFETCH(ErrorKind, kind);
        QFETCH(QString, words);
        QVERIFY(write_file(path("file"), "x"));
        QVERIFY(QDir(dir_.path()).mkpath("empty"));
        QVERIFY(QDir(dir_.path()).mkpath("folders/model.safetensors"));
        QVERIFY(QDir(dir_.path()).mkpath("links"));
        QVERIFY(QFile::link(path("nowhere"), path("links/model.safetensors")));
        QCOMPARE(::mkfifo(path("pipe").toLocal8Bit().constData(), 0600), 0);
        const QString whole = name.startsWith('/') ? name : path(name);
        QCOMPARE(mismatch(error_of([&] { Checkpoint::open(whole.toStdString()); }), kind, words), "");
    }

    void unreadable_file_is_an_error() {
        if (::geteuid() == 0) QSKIP("root may read every file");
        QVERIFY(write_file(path("m.safetensors"), safetensors_file("{}", {})));
        QVERIFY(QFile::setPermissions(path("m.safetensors"), QFileDevice::WriteOwner));
        QCOMPARE(mismatch(open_error("m.safetensors"), ErrorKind::kNotFound, "m.safetensors: cannot be opened"), "");
    }

    // ------------------------------------------------------------ require

    void require_checks_name_shape_dtype_and_alignment() {
        const SafetensorsWriter writer = SafetensorsWriter()
                                             .add("w", "BF16", "[2,3]", std::vector<quint16>{1, 2, 3, 4, 5, 6})
                                             .add("scalar", "F32", "[]", std::vector<float>{1})
                                             .add("steps", "I64", "[1]", std::vector<qint64>{1})
                                             .add("fp8", "F8_E4M3", "[2]", std::vector<char>{1, 2});
        QVERIFY(write_file(path("m.safetensors"), writer.file()));
        QVERIFY(write_file(path("shifted.safetensors"), writer.file(1)));
        const auto checkpoint = open("m.safetensors");
        const auto shape = [](auto... dims) { return std::vector<std::int64_t>{dims...}; };
        QCOMPARE(&checkpoint->require("w", shape(2, 3)), checkpoint->find("w"));
        QCOMPARE(&checkpoint->require("scalar", {}), checkpoint->find("scalar"));

        const auto expect = [&](const Checkpoint& from, const char* name, const std::vector<std::int64_t>& dims,
                                const QString& words) {
            return mismatch(error_of([&] { from.require(name, dims); }), ErrorKind::kInvalidModel, words);
        };
        const QString file = path("m.safetensors") + ": |";
        QCOMPARE(expect(*checkpoint, "nope", shape(2, 3), file + "\"nope\" is missing|expected it with shape (2, 3)"),
                 "");
        QCOMPARE(expect(*checkpoint, "w", shape(3, 2), file + "\"w\" has shape (2, 3)|expected (3, 2)"), "");
        QCOMPARE(expect(*checkpoint, "w", shape(2), file + "\"w\" has shape (2, 3)|expected (2)"), "");
        QCOMPARE(expect(*checkpoint, "w", shape(2, 3, 1), file + "\"w\" has shape (2, 3)|expected (2, 3, 1)"), "");
        QCOMPARE(expect(*checkpoint, "steps", shape(1), file + "\"steps\" has dtype I64|expected BF16, F16 or F32"),
                 "");
        const QString fp8 = file + "\"fp8\" has dtype F8_E4M3|expected BF16, F16 or F32|or a GGUF file of it";
        QCOMPARE(expect(*checkpoint, "fp8", shape(2), fp8), "");
        QCOMPARE(expect(*checkpoint, "fp8", shape(4), fp8), "");  // as where values are packed

        const auto shifted = open("shifted.safetensors");
        QCOMPARE(values_of<quint16>(*shifted->find("w")), (std::vector<quint16>{1, 2, 3, 4, 5, 6}));
        QCOMPARE(expect(*shifted, "w", shape(2, 3),
                        path("shifted.safetensors") + ": |\"w\"|multiple of 2 bytes|expected an aligned file"),
                 "");
        QCOMPARE(expect(*shifted, "scalar", {}, "\"scalar\"|multiple of 4 bytes"), "");
    }

    // ------------------------------------------------------------ memory

    // A file that is cut short while its bytes are read ends no program: they are zeros, and
    // whoever asks afterwards gets the reason. Put back in its place, the file is read again.
    void pages_lost_while_they_are_read_become_an_error() {
        const QTemporaryDir folder;
        const QString path = folder.filePath("model.safetensors");
        const QByteArray file = SafetensorsWriter().add("t", "U8", "[400000]", std::vector<char>(400'000, 7)).file();
        QVERIFY(write_file(path, file));
        const auto checkpoint = Checkpoint::open(path.toStdString());
        const std::span<const std::byte> bytes = checkpoint->find("t")->bytes;
        checkpoint->require_readable(bytes);
        const std::uint64_t n_lost = checkpoint->n_lost();
        QCOMPARE(sum_of(bytes), 7L * 400'000);
        checkpoint->require_nothing_lost(n_lost);

        QVERIFY(QFile::resize(path, 100'000));
        const long sum = sum_of(bytes);
        QVERIFY(sum > 0 && sum < 7L * 110'000);
        QVERIFY(checkpoint->n_lost() > n_lost);
        const auto ask = [&](std::uint64_t before) { checkpoint->require_nothing_lost(before); };
        QCOMPARE(mismatch(error_of([&] { ask(n_lost); }), ErrorKind::kInvalidModel,
                          "model.safetensors: cannot be read: it has 100000 bytes now"),
                 "");
        QCOMPARE(mismatch(error_of([&] { checkpoint->require_readable(bytes); }), ErrorKind::kInvalidModel,
                          "it has 100000 bytes now"),
                 "");

        QFile again(path);
        QVERIFY(again.open(QIODevice::ReadWrite) && again.write(file) == file.size() && again.flush());
        QCOMPARE(mismatch(error_of([&] { ask(n_lost); }), ErrorKind::kInvalidModel, "was missing for a moment"), "");
        checkpoint->require_readable(bytes);
        const std::uint64_t now = checkpoint->n_lost();
        QCOMPARE(sum_of(bytes), 7L * 400'000);
        ask(now);
        // Also from several threads at once.
        QVERIFY(QFile::resize(path, 100'000));
        std::atomic<long> all = 0;
        {
            std::vector<std::jthread> readers;
            for (int i = 0; i < 4; ++i) readers.emplace_back([&] { all += sum_of(bytes); });
        }
        QVERIFY(all < 4 * 7L * 110'000);
        QVERIFY(error_of([&] { ask(now); }));
    }

    void release_drops_whole_pages_and_data_stays_readable() {
        std::vector<quint16> values(64 * kPage);
        std::iota(values.begin(), values.end(), quint16{0});
        QVERIFY(write_file(
            path("m.safetensors"),
            SafetensorsWriter().add("w", "BF16", "[" + QByteArray::number(values.size()) + "]", values).file()));
        const auto checkpoint = open("m.safetensors");
        const std::span<const std::byte> bytes = checkpoint->find("w")->bytes;
        QCOMPARE(sum_of(bytes), sum_of(std::as_bytes(std::span(values))));
        const std::byte* middle = bytes.data() + bytes.size() / 2;
        const std::byte* last = bytes.data() + bytes.size() - 1;
        const bool visible = is_mapped_in(middle).has_value();
        if (visible) QCOMPARE(is_mapped_in(middle), std::optional(true));

        // Less than a page: its neighbours' bytes are on it, so it stays.
        const auto page_begin = bytes.subspan(kPage - reinterpret_cast<std::uintptr_t>(bytes.data()) % kPage);
        checkpoint->release(page_begin.subspan(0, kPage - 1));
        checkpoint->release(page_begin.subspan(1, kPage - 1));
        checkpoint->release(page_begin.subspan(1, kPage));
        checkpoint->release(page_begin.subspan(kPage, 0));
        if (visible) QCOMPARE(is_mapped_in(page_begin.data()), std::optional(true));
        checkpoint->release(page_begin.subspan(0, kPage));
        if (visible) QCOMPARE(is_mapped_in(page_begin.data()), std::optional(false));
        if (visible) QCOMPARE(is_mapped_in(page_begin.data() + kPage), std::optional(true));

        checkpoint->release(bytes);
        if (visible) QCOMPARE(is_mapped_in(middle), std::optional(false));
        if (visible) QCOMPARE(is_mapped_in(last), std::optional(false));
        QCOMPARE(values_of<quint16>(*checkpoint->find("w")), values);
        if (!visible) QSKIP("the data stayed readable, but /proc/self/pagemap cannot be read: pages not checked");
    }

    void advice_on_other_memory_changes_nothing() {
        const std::vector<quint16> values(8 * kPage, 7);
        QVERIFY(write_file(path("m.safetensors"), SafetensorsWriter().add("w", "BF16", "[8,4096]", values).file()));
        const auto checkpoint = open("m.safetensors");
        const std::span<const std::byte> bytes = checkpoint->find("w")->bytes;
        // madvise(MADV_DONTNEED) would set this memory to zero.
        const std::vector<std::byte> other(16 * kPage, std::byte{5});
        checkpoint->release(other);
        checkpoint->prefetch(other);
        checkpoint->release({});
        checkpoint->prefetch({});
        checkpoint->release({bytes.data() + kPage, bytes.size() * 4});  // begins here, ends elsewhere
        checkpoint->prefetch({bytes.data() + kPage, bytes.size() * 4});
        QVERIFY(std::all_of(other.begin(), other.end(), [](std::byte b) { return b == std::byte{5}; }));
        for (const std::size_t at : {std::size_t{0}, std::size_t{1}, kPage - 1, bytes.size() - 1, bytes.size()}) {
            checkpoint->prefetch(bytes.subspan(at));
            checkpoint->release(bytes.subspan(at));
        }
        checkpoint->prefetch(bytes);
        QCOMPARE(values_of<quint16>(*checkpoint->find("w")), values);
    }

    void data_stays_when_the_file_is_removed_after_opening() {
        QVERIFY(write_file(path("m.safetensors"),
                           SafetensorsWriter().add("a", "F32", "[1]", std::vector<float>{6}).file()));
        const auto checkpoint = open("m.safetensors");
        QVERIFY(QFile::remove(path("m.safetensors")));
        checkpoint->release(checkpoint->find("a")->bytes);
        QCOMPARE(values_of<float>(*checkpoint->find("a")), std::vector<float>{6});
    }

    void closing_gives_files_back() {
        QVERIFY(write_file(path("m.safetensors"),
                           SafetensorsWriter().add("a", "F32", "[1]", std::vector<float>{6}).file()));
        QVERIFY(write_file(path("bad.safetensors"), safetensors_file("{", {})));
        const auto n_open = [] {
            return QDir("/proc/self/fd").entryList(QDir::NoDotAndDotDot | QDir::AllEntries | QDir::System).size();
        };
        const auto n_maps = [&] {
            QFile maps("/proc/self/maps");
            return maps.open(QIODevice::ReadOnly) ? maps.readAll().count(dir_.path().toLocal8Bit()) : -1;
        };
        const auto before = n_open();
        for (int i = 0; i < 50; ++i) {
            open("m.safetensors");
            open_error("bad.safetensors");
            open_error("");
        }
        QCOMPARE(n_open(), before);
        QCOMPARE(n_maps(), 0);
    }

    // ------------------------------------------------- stored inputs of the fuzz targets

    void stored_input_gives_tensors_or_an_error_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("is_index");
        for (const char* unit : {"safetensors", "shard_index"}) {
            const QDir folder(QString(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/") + unit);
            const QStringList names = folder.entryList(QDir::Files);
            QVERIFY2(!names.isEmpty(), qPrintable(folder.path()));
            for (const QString& name : names) {
                QTest::newRow(qPrintable(unit + ('/' + name))) << folder.filePath(name) << (unit[1] == 'h');
            }
        }
    }
    void stored_input_gives_tensors_or_an_error() {
        QFETCH(QString, file);
        QFETCH(bool, is_index);
        QFile input(file);
        QVERIFY(input.open(QIODevice::ReadOnly));
        const QByteArray bytes = input.readAll();
        QCOMPARE(is_index ? tests::check_shard_index(bytes.toStdString()) : tests::check_safetensors(bytes_of(bytes)),
                 "");
    }
};

QTEST_GUILESS_MAIN(TestCheckpoint)
#include "tst_checkpoint.moc"
