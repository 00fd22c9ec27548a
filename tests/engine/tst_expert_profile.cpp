// Counting over windows, on a scripted model with the demo model's tokenizer.

#include <QtTest>

#include "engine/error.h"
#include "engine/eval/expert_profile.h"
#include "test_models.h"
#include "tests/engine/errors.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

// Routes token t of layer l to expert (t + l) % 8 and the one after it.
class ScriptedModel final : public StepModel {
  public:
    explicit ScriptedModel(std::int64_t context) : context_(context) {}
    std::int64_t vocab_size() const override { return 2048; }
    std::int64_t context() const override { return context_; }
    std::int64_t max_step() const override { return 100; }
    double now_us() override { return 0; }
    void set_policy(const DispatchSettings&) override {}
    DispatchTotals totals() const override { return {}; }
    void reset_totals() override {}
    void restart() override { windows.emplace_back(); }
    void feed(std::span<const TokenId> tokens, std::int64_t, bool, const std::stop_token& stop) override {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, from_outside("Stopped."));
        windows.back().insert(windows.back().end(), tokens.begin(), tokens.end());
        routing_.clear();
        for (const TokenId token : tokens) {
            for (int layer = 0; layer < 2; ++layer) {
                routing_.push_back((token + layer) % 8);
                routing_.push_back((token + layer + 1) % 8);
            }
        }
    }
    void advance(std::span<const BeamSearch::Branch>, const std::stop_token&) override {}
    std::span<const float> logits() const override { return {}; }
    std::span<const std::int32_t> routing() const override { return routing_; }

    std::vector<std::vector<TokenId>> windows;

  private:
    std::int64_t context_;
    std::vector<std::int32_t> routing_;
};

ExpertGrid grid() {
    ExpertGrid grid;
    grid.n_layers = 2;
    grid.n_experts = 8;
    grid.n_active = 2;
    return grid;
}

}  // namespace

class TestExpertProfile : public QObject {
    Q_OBJECT

    std::unique_ptr<Tokenizer> tokenizer_;

  private Q_SLOTS:
    void initTestCase() { tokenizer_ = Tokenizer::open(offstage::test::demoModel(), 2048); }

    void counts_areThoseOfEveryToken_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("context");
        QTest::newRow("one window") << QByteArray("An expert is one of several.") << 2048;
        QTest::newRow("windows of 7") << QByteArray("An expert is one of several small networks.") << 7;
        QTest::newRow("lines beyond one piece") << QByteArray("One line of text.\n").repeated(20000) << 2048;
        // No line to cut at, and two bytes per character: pieces must end between
        // characters.
        QTest::newRow("one long line") << QByteArray("x") + QByteArray("\xc3\xa9").repeated(200000) << 2048;
        QTest::newRow("four bytes a character")
            << QByteArray("xy") + QByteArray("\xf0\x9f\x98\x80").repeated(90000) << 999;
    }
    void counts_areThoseOfEveryToken() {
        QFETCH(QByteArray, text);
        QFETCH(int, context);
        ScriptedModel model(context);
        std::int64_t done = 0, all = 0;
        const auto progress = [&](std::int64_t now, std::int64_t estimate) {
            QVERIFY(now > done && estimate >= now);
            done = now;
            all = estimate;
        };
        const Popularity counted = count_experts(model, grid(), *tokenizer_, text.toStdString(), progress, {});
        std::vector<double> counts(16, 0);
        std::int64_t n = 0;
        std::string back;
        for (const auto& window : model.windows) {
            QVERIFY(!window.empty() && static_cast<int>(window.size()) <= context);
            for (const TokenId token : window) {
                ++n;
                back += tokenizer_->piece_bytes(token);
                for (int layer = 0; layer < 2; ++layer) {
                    counts[static_cast<std::size_t>(8 * layer + (token + layer) % 8)] += 1;
                    counts[static_cast<std::size_t>(8 * layer + (token + layer + 1) % 8)] += 1;
                }
            }
        }
        QCOMPARE(counted.n_tokens, n);
        QCOMPARE(done, n);
        QCOMPARE(all, n);
        QCOMPARE(counted.counts, counts);
        // No text is lost; sentencepiece begins each piece with a space, and removes
        // spaces at its end.
        const auto letters = [](QByteArray bytes) {
            return bytes.replace(' ', QByteArray()).replace('\n', QByteArray());
        };
        QCOMPARE(letters(QByteArray::fromStdString(back)), letters(text));
    }

    void text_thatCannotBeCounted_isRefused_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("nothing") << QByteArray() << QStringLiteral("no token");
        QTest::newRow("not UTF-8") << QByteArray("good\xff") << QStringLiteral("byte 5");
    }
    void text_thatCannotBeCounted_isRefused() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        ScriptedModel model(64);
        QCOMPARE(mismatch(error_of([&] { count_experts(model, grid(), *tokenizer_, text.toStdString(), {}, {}); }),
                          ErrorKind::kInvalidInput, says),
                 QString());
    }

    void stop_endsInCancelled() {
        ScriptedModel model(64);
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(
            mismatch(error_of([&] { count_experts(model, grid(), *tokenizer_, "An expert.", {}, stop.get_token()); }),
                     ErrorKind::kCancelled),
            QString());
    }
};

QTEST_GUILESS_MAIN(TestExpertProfile)
#include "tst_expert_profile.moc"
