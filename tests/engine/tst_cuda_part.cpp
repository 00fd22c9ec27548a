// offstage-cuda.so as the program meets it: no driver, no library, a broken one, one of
// another build, and one of its own, which here is the tests' (tests/cuda_part).
#include <cstdio>
#include <dlfcn.h>

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "engine/device/cuda_messages.h"
#include "kernels/cuda_part.h"

using namespace offstage::kernels;

namespace {

const std::string kFakePart = OFFSTAGE_BIN_DIR "/../tests/fake_cuda_part.so";
constexpr char kDriver[] = "libm.so.6";  // a library that is there

std::string sentence(const CudaPart& part) {
    return offstage::engine::message_of(part.none_because).english();
}

}  // namespace

class TestCudaPart : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init();
    void cleanup();
    void noDriver_opensNothing();
    void noLibrary_saysSo();
    void brokenLibrary_saysWhy();
    void otherLibrary_isRefused();
    void otherBuild_isRefused();
    void sameBuild_answers();
};

void TestCudaPart::init() {
    qputenv("FAKE_CUDA_BUILD", kCudaBuild);
}

void TestCudaPart::cleanup() {
    qunsetenv("FAKE_CUDA_BUILD");
}

void TestCudaPart::noDriver_opensNothing() {
    const CudaPart part = load_cuda_part("libno-such-driver.so.1", {kFakePart});
    QVERIFY(part.none_because.fault == CudaFault::kNoDriver);
    QVERIFY(part.devices == nullptr && part.open == nullptr);
}

void TestCudaPart::noLibrary_saysSo() {
    const CudaPart part = load_cuda_part(kDriver, {"/nowhere/offstage-cuda.so"});
    QCOMPARE(sentence(part), std::string("the part for NVIDIA GPUs, offstage-cuda, is not installed"));
    QVERIFY(part.devices == nullptr && part.open == nullptr);
}

void TestCudaPart::brokenLibrary_saysWhy() {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("offstage-cuda.so"));
    QFile file(path);
    QVERIFY(file.open(QFile::WriteOnly) && file.write("no library at all") > 0);
    file.close();
    // The first that exists counts, also where a later one would load.
    const CudaPart part = load_cuda_part(kDriver, {"/nowhere/offstage-cuda.so", path.toStdString(), kFakePart});
    QVERIFY2(
        sentence(part).starts_with("the part for NVIDIA GPUs, offstage-cuda, does not load: " + path.toStdString()),
        sentence(part).c_str());
    QVERIFY(part.devices == nullptr && part.open == nullptr);
}

void TestCudaPart::otherLibrary_isRefused() {
    Dl_info libc;
    QVERIFY(dladdr(reinterpret_cast<void*>(&std::puts), &libc) != 0);
    const CudaPart part = load_cuda_part(kDriver, {libc.dli_fname});
    QVERIFY(part.none_because.fault == CudaFault::kPartOfOtherBuild);
    QVERIFY(part.devices == nullptr && part.open == nullptr);
}

void TestCudaPart::otherBuild_isRefused() {
    qputenv("FAKE_CUDA_BUILD", "0.0.9-0123456789abcdef");
    const CudaPart part = load_cuda_part(kDriver, {kFakePart});
    QCOMPARE(sentence(part), std::string("the part for NVIDIA GPUs, offstage-cuda, is of another build "
                                         "(0.0.9-0123456789abcdef) than this program (") +
                                 kCudaBuild + ")");
    QVERIFY(part.devices == nullptr && part.open == nullptr);
}

void TestCudaPart::sameBuild_answers() {
    QVERIFY(QByteArray(kCudaBuild).contains('-'));
    const CudaPart part = load_cuda_part(kDriver, {kFakePart});
    QVERIFY2(part.none_because.none(), sentence(part).c_str());
    CudaDevices found;
    part.devices(found);
    QCOMPARE(found.devices.size(), std::size_t{1});
    QCOMPARE(found.devices.front().name, std::string("A GPU of the tests"));
    QCOMPARE(found.devices.front().free_bytes, std::int64_t{-1});
    CudaOpening opening;
    part.open(7, opening);
    QVERIFY(opening.reason.fault == CudaFault::kNoSuchOrdinal);
    QCOMPARE(opening.reason.first, std::int64_t{7});
}

QTEST_GUILESS_MAIN(TestCudaPart)
#include "tst_cuda_part.moc"
