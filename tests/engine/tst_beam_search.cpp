// Beam search against transformers: its arithmetic on toy language models, and a whole
// search on the demo model.

#include <limits>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/beam_search.h"
#include "engine/run/session.h"
#include "tests/sanitized.h"

using offstage::engine::BeamAnswer;
using offstage::engine::BeamSearch;
using offstage::engine::BeamSettings;
using offstage::engine::TokenId;

namespace {

QJsonArray golden(const char* name) {
    QFile file(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/") + QLatin1String(name));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object()[QLatin1String("cases")].toArray();
}

std::vector<TokenId> tokens_of(const QJsonValue& array) {
    std::vector<TokenId> tokens;
    for (const auto& token : array.toArray()) tokens.push_back(token.toInt());
    return tokens;
}

// 32-bit finaliser of MurmurHash3.
std::uint32_t scramble(std::uint32_t value) {
    value ^= value >> 16;
    value *= 0x85EBCA6Bu;
    value ^= value >> 13;
    value *= 0xC2B2AE35u;
    return value ^ value >> 16;
}

// The language model of make_beam_golden.py: a hash of all tokens so far gives the
// logits.
struct Toy {
    std::uint32_t seed = 0;
    int vocab_size = 40;
    std::vector<TokenId> ends = {2};
    float end_bias = 0;

    void append_row(const std::vector<TokenId>& tokens, std::vector<float>& logits) const {
        std::uint32_t state = scramble(seed + 1);
        for (const TokenId token : tokens) state = scramble(state * 31u + static_cast<std::uint32_t>(token) + 1u);
        const std::size_t first = logits.size();
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(vocab_size); ++i) {
            logits.push_back(static_cast<float>(scramble(state + i * 0x9E3779B9u) >> 8) / 2097152.0f - 4.0f);
        }
        for (const TokenId end : ends) logits[first + static_cast<std::size_t>(end)] += end_bias;
    }
};

// Feeds the search like a session: the parents' tokens, continued by each branch's token.
// `after_step` may end it.
template <typename AfterStep>
void drive(BeamSearch& search, const Toy& toy, const std::vector<TokenId>& prompt, const AfterStep& after_step) {
    std::vector<std::vector<TokenId>> live = {prompt};
    for (int step = 1; !search.done(); ++step) {
        std::vector<float> logits;
        for (const auto& tokens : live) toy.append_row(tokens, logits);
        std::vector<std::vector<TokenId>> next;
        for (const BeamSearch::Branch& branch : search.advance(logits, toy.vocab_size)) {
            next.push_back(live[static_cast<std::size_t>(branch.parent)]);
            next.back().push_back(branch.token);
        }
        live = std::move(next);
        QVERIFY(step < 1000);
        after_step(step, live);
    }
}

std::vector<BeamAnswer> search_all(const BeamSettings& settings, const Toy& toy, const std::vector<TokenId>& prompt,
                                   std::int64_t max_tokens) {
    BeamSearch search(settings, toy.ends, max_tokens);
    drive(search, toy, prompt, [](int, const auto&) {});
    return search.answers();
}

}  // namespace

class TestBeamSearch : public QObject {
    Q_OBJECT

    std::unique_ptr<offstage::engine::Session> session_;
    QString device_;

  private Q_SLOTS:
    void toyModel_answersAsTransformers_data() {
        QTest::addColumn<QJsonObject>("wanted");
        const QJsonArray cases = golden("beam_toy_golden.json");
        QVERIFY(cases.size() >= 100);
        for (const auto& value : cases) {
            const QJsonObject wanted = value.toObject();
            QTest::addRow("seed %d: width %d, penalty %.0f, %d end tokens", wanted[QLatin1String("seed")].toInt(),
                          wanted[QLatin1String("width")].toInt(), wanted[QLatin1String("length_penalty")].toDouble(),
                          static_cast<int>(wanted[QLatin1String("ends")].toArray().size()))
                << wanted;
        }
    }
    void toyModel_answersAsTransformers() {
        QFETCH(QJsonObject, wanted);
        Toy toy;
        toy.seed = static_cast<std::uint32_t>(wanted[QLatin1String("seed")].toInt());
        toy.vocab_size = wanted[QLatin1String("vocab_size")].toInt();
        toy.ends = tokens_of(wanted[QLatin1String("ends")]);
        toy.end_bias = static_cast<float>(wanted[QLatin1String("end_bias")].toDouble());
        const BeamSettings settings{wanted[QLatin1String("width")].toInt(),
                                    wanted[QLatin1String("length_penalty")].toDouble()};
        const auto found = search_all(settings, toy, tokens_of(wanted[QLatin1String("prompt")]),
                                      wanted[QLatin1String("max_tokens")].toInt());
        const QJsonArray answers = wanted[QLatin1String("answers")].toArray();
        QCOMPARE(static_cast<int>(found.size()), static_cast<int>(answers.size()));
        for (std::size_t i = 0; i < found.size(); ++i) {
            const QJsonValue answer = answers[static_cast<qsizetype>(i)];
            QCOMPARE(found[i].tokens, tokens_of(answer[QLatin1String("tokens")]));
            QCOMPARE(found[i].ended, answer[QLatin1String("ended")].toBool());
            const double score = answer[QLatin1String("score")].toDouble();
            QVERIFY2(qAbs(found[i].score - score) < 2e-5 * qMax(1.0, qAbs(score)),
                     qPrintable(QStringLiteral("%1, expected %2").arg(found[i].score).arg(score)));
            const auto length = static_cast<double>(found[i].tokens.size() + (found[i].ended ? 1 : 0));
            QVERIFY(qAbs(found[i].score - found[i].log_probability / std::pow(length, settings.length_penalty)) < 1e-9);
        }
    }

    void demoModel_answersAsTransformers_data() {
        QTest::addColumn<QString>("device");
        QTest::addColumn<QJsonObject>("wanted");
        const QJsonArray cases = golden("beam_demo_golden.json");
        QCOMPARE(cases.size(), 72);
        int nth = 0;
        for (const QString& device : {QStringLiteral("cpu"), QStringLiteral("emulated:rtx-3060")}) {
            for (const auto& value : cases) {
                const QJsonObject wanted = value.toObject();
                if (offstage::test::kSanitized && nth++ % 9 != 0) continue;
                // The arithmetic is the same on both: the second needs only one penalty.
                if (device != QLatin1String("cpu") && wanted[QLatin1String("length_penalty")].toDouble() != 1) continue;
                QTest::addRow("%s: %s width %d, penalty %.0f", qPrintable(device),
                              qPrintable(wanted[QLatin1String("prompt")].toString()),
                              wanted[QLatin1String("width")].toInt(),
                              wanted[QLatin1String("length_penalty")].toDouble())
                    << device << wanted;
            }
        }
    }
    void demoModel_answersAsTransformers() {
        QFETCH(QString, device);
        QFETCH(QJsonObject, wanted);
        if (session_ == nullptr || device_ != device) {
            session_ = offstage::engine::Session::create();
            offstage::engine::LoadRequest load;
            load.kv = offstage::engine::KvType::kF32;  // as the reference
            load.model = OFFSTAGE_SOURCE_DIR "/resources/demo-model";
            load.compute = offstage::engine::ComputeMode::kF32;
            load.device = device.toStdString();
            if (device != QLatin1String("cpu")) load.vram_bytes = std::uint64_t{14} << 20;  // not all experts fit
            load.context = 512;
            session_->load(load, {}, {});
            device_ = device;
        }
        offstage::engine::GenerationRequest request;
        request.messages = {{offstage::engine::Role::kUser, wanted[QLatin1String("prompt")].toString().toStdString()}};
        request.max_tokens = wanted[QLatin1String("max_tokens")].toInt();
        request.beam.width = wanted[QLatin1String("width")].toInt();
        request.beam.length_penalty = wanted[QLatin1String("length_penalty")].toDouble();
        request.sampler.temperature = 0;
        const offstage::engine::GenerationResult result = session_->generate(request, {}, {});
        const QJsonArray answers = wanted[QLatin1String("answers")].toArray();
        QCOMPARE(result.tokens, tokens_of(answers[0][QLatin1String("tokens")]));
        if (request.beam.width == 1) return;
        QCOMPARE(static_cast<qsizetype>(result.answers.size()), answers.size());
        for (std::size_t i = 0; i < result.answers.size(); ++i) {
            const QJsonValue answer = answers[static_cast<qsizetype>(i)];
            const double score = answer[QLatin1String("score")].toDouble();
            QVERIFY2(qAbs(result.answers[i].score - score) < 2e-3 * qMax(0.1, qAbs(score)),
                     qPrintable(QStringLiteral("%1: %2, expected %3").arg(i).arg(result.answers[i].score).arg(score)));
            QCOMPARE(result.answers[i].tokens, tokens_of(answer[QLatin1String("tokens")]));
        }
    }

    // With as many beams as sequences nothing is pruned: the answers are the best of all
    // sequences.
    void widthOfAllSequences_findsTheBestOfAll() {
        const Toy toy{11, 4, {0}, 0.5f};
        const std::int64_t length = 3;  // tokens 1 .. 3 continue, 0 ends: 3 + 9 live beams at most
        std::vector<BeamAnswer> all;
        const std::function<void(std::vector<TokenId>, double)> visit = [&](std::vector<TokenId> tokens, double sum) {
            std::vector<TokenId> input = {1};
            input.insert(input.end(), tokens.begin(), tokens.end());
            std::vector<float> logits;
            toy.append_row(input, logits);
            double total = 0;
            for (const float logit : logits) total += std::exp(static_cast<double>(logit));
            for (TokenId token = 0; token < toy.vocab_size; ++token) {
                const double next =
                    sum + static_cast<double>(logits[static_cast<std::size_t>(token)]) - std::log(total);
                std::vector<TokenId> longer = tokens;
                if (token != 0) longer.push_back(token);
                if (token == 0 || static_cast<std::int64_t>(longer.size()) == length) {
                    all.push_back({longer, next, next, token == 0});
                } else {
                    visit(longer, next);
                }
            }
        };
        visit({}, 0);
        std::sort(all.begin(), all.end(), [](const BeamAnswer& a, const BeamAnswer& b) { return a.score > b.score; });
        const auto found = search_all({16, 0.0}, toy, {1}, length);
        QCOMPARE(found.size(), std::size_t{16});
        for (std::size_t i = 0; i < found.size(); ++i) {
            QCOMPARE(found[i].tokens, all[i].tokens);
            QVERIFY(qAbs(found[i].score - all[i].score) < 1e-5);
        }
    }

    void finish_midway_answersAreTheLiveBeams() {
        const Toy toy{5, 40, {2}, -100.0f};  // never ends by itself
        BeamSearch search({4, 1.0}, {2}, 100);
        std::vector<TokenId> leading;
        drive(search, toy, {1}, [&](int step, const std::vector<std::vector<TokenId>>& live) {
            if (step < 6) return;
            leading.assign(live.front().begin() + 1, live.front().end());  // behind the prompt
            search.finish();
        });
        const auto answers = search.answers();
        QCOMPARE(answers.size(), std::size_t{4});
        QCOMPARE(answers[0].tokens, leading);
        QCOMPARE(answers[0].tokens.size(), std::size_t{6});
        for (std::size_t i = 1; i < answers.size(); ++i) {
            QVERIFY(answers[i].score <= answers[i - 1].score);
            QVERIFY(!answers[i].ended);
        }
    }

    void finish_beforeTheFirstToken_givesOneEmptyAnswer() {
        BeamSearch search({8, 1.0}, {2}, 10);
        search.finish();
        QVERIFY(search.done());
        QCOMPARE(search.answers().size(), std::size_t{1});
        QVERIFY(search.answers()[0].tokens.empty());
        QVERIFY(search.advance({}, 40).empty());
    }

    void logits_notFinite_areNeverChosen() {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const float infinity = std::numeric_limits<float>::infinity();
        BeamSearch search({4, 1.0}, {0}, 8);
        const std::vector<float> logits = {nan, infinity, -infinity, 1.0f, 2.0f};
        const auto branches = search.advance(logits, 5);
        QCOMPARE(branches.size(), std::size_t{2});
        QCOMPARE(branches[0].token, 4);
        QCOMPARE(branches[1].token, 3);
        // None at all: the tokens so far are the answer.
        const std::vector<float> nothing(10, nan);
        QVERIFY(search.advance(nothing, 5).empty());
        QVERIFY(search.done());
        QCOMPARE(search.answers().size(), std::size_t{2});
        QCOMPARE(search.answers()[0].tokens, std::vector<TokenId>{4});
    }

    void maxTokens_zero_goesOnUntilEnded() {
        Toy toy{3, 40, {2}, -100.0f};
        BeamSearch search({2, 1.0}, {2}, 0);
        int steps = 0;
        drive(search, toy, {1}, [&](int step, const auto&) {
            steps = step;
            if (step == 300) search.finish();
        });
        QCOMPARE(steps, 300);
        QCOMPARE(search.answers()[0].tokens.size(), std::size_t{300});
    }

    void settings_outOfRange_areRefused_data() {
        QTest::addColumn<int>("width");
        QTest::addColumn<double>("penalty");
        QTest::addColumn<QString>("says");
        QTest::newRow("no beam") << 0 << 1.0 << QStringLiteral("beam width");
        QTest::newRow("too wide") << 17 << 1.0 << QStringLiteral("1 to 16");
        QTest::newRow("not a number") << 4 << std::numeric_limits<double>::quiet_NaN() << QStringLiteral("penalty");
        QTest::newRow("infinite") << 4 << std::numeric_limits<double>::infinity() << QStringLiteral("penalty");
    }
    void settings_outOfRange_areRefused() {
        QFETCH(int, width);
        QFETCH(double, penalty);
        QFETCH(QString, says);
        try {
            offstage::engine::validate(BeamSettings{width, penalty});
            QFAIL("no error");
        } catch (const offstage::engine::Error& error) {
            QVERIFY2(QString::fromStdString(error.what()).contains(says), error.what());
        }
        offstage::engine::validate(BeamSettings{16, -1.0});
    }
};

QTEST_GUILESS_MAIN(TestBeamSearch)
#include "tst_beam_search.moc"
