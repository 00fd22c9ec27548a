// Drafts: every answer is, bit by bit, the one without them, whatever is drafted,
// accepted and thrown away. How long drafts are, and when they stop, by scripted times.

#include <cmath>
#include <map>
#include <random>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/run/draft_policy.h"
#include "engine/run/prompt_lookup.h"
#include "engine/text/gbnf.h"
#include "tests/engine/asked_answers.h"
#include "tests/engine/errors.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Drafts of which a share is right: it knows the answers.
class KnownAnswers {
  public:
    void add(const Tokens& prompt, const Tokens& answer) { known_[prompt.front()] = joined(prompt, answer); }
    void set_share(int percent) { percent_ = percent; }

    LoadRequest in(LoadRequest request) {
        request.drafts = DraftMode::kAlways;
        request.writes_draft = [this](std::span<const TokenId> tokens, std::span<TokenId> draft) {
            const Tokens& known = known_[tokens.front()];
            std::size_t n = 0;
            for (; n < draft.size() && tokens.size() + n < known.size(); ++n) {
                const std::size_t at = tokens.size() + n;
                const bool is_right = static_cast<int>(random_() % 100) < percent_;
                draft[n] = is_right ? known[at] : static_cast<TokenId>((known[at] + 1) % kVocab);
            }
            return n;
        };
        return request;
    }

  private:
    std::map<TokenId, Tokens> known_;  // by the first token
    int percent_ = 50;
    std::mt19937 random_{7};
};

QStringList allModels() {
    return QDir(sourcePath(QStringLiteral("tests/engine/data/models"))).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
}

// A budget of the emulated card with about this share of the experts.
LoadRequest onCard(const QString& model, int percent, DraftMode drafts = DraftMode::kOff) {
    LoadRequest request = requestFor(model, QString(kEmulatedCard));
    request.prefetch = PrefetchMode::kOff;
    request.drafts = drafts;
    const LoadedModel whole(request, LoadedModel::Text::kNotNeeded, {}, {});
    const Plan& plan = whole.plan();
    const std::uint64_t all = plan.vram_bytes();
    request.vram_bytes = all - plan.expert_bytes + plan.expert_bytes * static_cast<std::uint64_t>(percent) / 100;
    return request;
}

GenerationRequest asked(int which, int n_tokens, float temperature) {
    GenerationRequest one = request(which, 70 + 9 * which, n_tokens);
    one.sampler.temperature = temperature;
    one.n_alternatives = 2;
    return one;
}

// The drafted tokens of the steps since event `next`, by the first layer's events.
std::int64_t draftedSince(std::uint64_t& next, const LocalSession& session) {
    std::int64_t n = 0;
    for (;;) {
        const LayerEvents events = session.layer_events(next);
        if (events.events.empty()) return n;
        for (const LayerEvent& event : events.events) n += event.layer == 0 ? event.n_drafted : 0;
        next = events.first + events.events.size();
    }
}

// Answers with drafts, and the turns after them, beside those without.
void compareWithPlain(const LoadRequest& load, int n_tokens) {
    LocalSession plain, drafting;
    LoadRequest without = load;
    without.drafts = DraftMode::kOff;
    openSessions(without, {&plain});
    KnownAnswers answers;
    std::vector<GenerationRequest> requests;
    std::vector<GenerationResult> expected;
    for (int i = 0; i < 4; ++i) {
        requests.push_back(asked(i, n_tokens, i % 2 == 0 ? 0.0F : 1.0F));
        if (i == 3) requests.back().sampler.frequency_penalty = 0.5F;
        expected.push_back(plain.generate(requests.back(), {}, {}));
        answers.add(requests.back().prompt_ids, expected.back().tokens);
    }
    openSessions(answers.in(load), {&drafting});
    std::uint64_t next_event = 0;
    for (const int percent : {0, 50, 90, 100}) {
        answers.set_share(percent);
        drafting.reset_conversation();
        plain.reset_conversation();
        std::int64_t n_drafted = 0, n_accepted = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            const GenerationResult got = drafting.generate(requests[i], {}, {});
            const QString differs = difference(got, expected[i]);
            QVERIFY2(differs.isEmpty(), qPrintable(QStringLiteral("%1 %, %2: %3").arg(percent).arg(i).arg(differs)));
            n_drafted += got.drafts.drafted;
            n_accepted += got.drafts.accepted;
            QCOMPARE(got.drafts.tokens, got.drafts.steps + got.drafts.accepted);
            // What the sequence holds is what it holds without.
            const GenerationResult same = plain.generate(requests[i], {}, {});
            QCOMPARE(same.tokens, expected[i].tokens);
            GenerationRequest next = requests[i];
            next.prompt_ids = joined(joined(next.prompt_ids, expected[i].tokens), someText(9, 5));
            next.max_tokens = 5;
            next.sampler.frequency_penalty = 0;
            const GenerationResult one = drafting.generate(next, {}, {}), other = plain.generate(next, {}, {});
            QCOMPARE(one.reused_tokens, other.reused_tokens);
            QCOMPARE(draftedSince(next_event, drafting), got.drafts.drafted + one.drafts.drafted);
            const QString turn = difference(one, other);
            QVERIFY2(turn.isEmpty(),
                     qPrintable(QStringLiteral("%1 %, turn behind %2: %3").arg(percent).arg(i).arg(turn)));
        }
        QVERIFY(n_drafted > 4 * n_tokens / 2);
        if (LayerDrafter* const layer = drafting.model()->layer_drafter()) {
            QVERIFY(layer->n_entries() > 70);
            if (percent == 0) QVERIFY(n_accepted < n_drafted / 4);  // lookups
        } else if (percent == 0) {
            QCOMPARE(n_accepted, 0);
        }
        if (percent == 100) QVERIFY2(n_accepted > n_drafted / 2, qPrintable(QString::number(n_accepted)));
    }
    drafting.reset_conversation();
    QCOMPARE(nHeld(drafting), 0);
}

// The models of tests/golden/make_prediction_golden.py, from the folder of the others.
QString predicting(const char* name) {
    return QStringLiteral("../prediction/") + QString::fromLatin1(name);
}
constexpr std::array kPredicting = {"qwen3_next_bf16", "glm4_moe_groups_f32", "deepseek_v3_plain_f32"};

std::unique_ptr<LoadedModel> opened(LoadRequest request, DraftMode drafts) {
    request.drafts = drafts;
    return std::make_unique<LoadedModel>(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
}

// Reads tokens as an answer does, in steps of this many.
void readInSteps(LoadedModel& model, KvSequence& sequence, std::span<const TokenId> tokens, std::size_t n) {
    for (std::size_t at = 0; at < tokens.size(); at += n) {
        const Segment segment{&sequence, tokens.subspan(at, std::min(n, tokens.size() - at))};
        const auto n_prompt = n == 1 ? 0 : static_cast<std::int64_t>(tokens.size());
        model.layer_drafter()->begin_step({&segment, 1}, n_prompt);
        const auto outcome = model.forward().step({&segment, 1}, Forward::Logits::kNone, {}, n_prompt);
        QVERIFY(outcome == Forward::Outcome::kDone);
        model.layer_drafter()->end_step(Forward::Logits::kNone, true);
    }
}

// Answers with drafts by the model's layer and without, and the turns after them.
void compareWithLayer(const LoadRequest& plain_load, LoadRequest load, int n_tokens) {
    LocalSession plain, drafting;
    load.drafts = DraftMode::kAlways;
    openSessions(plain_load, {&plain});
    openSessions(load, {&drafting});
    QVERIFY(plain.model()->layer_drafter() == nullptr);
    QVERIFY(drafting.model()->layer_drafter() != nullptr);
    std::int64_t n_drafted = 0, n_entries = 0;
    for (int i = 0; i < 4; ++i) {
        GenerationRequest one = asked(i, n_tokens, i % 2 == 0 ? 0.0F : 1.0F);
        for (int turn = 0; turn < 3; ++turn) {
            const GenerationResult expected = plain.generate(one, {}, {}), got = drafting.generate(one, {}, {});
            const QString differs = difference(got, expected);
            QVERIFY2(differs.isEmpty(), qPrintable(QStringLiteral("%1, turn %2: %3").arg(i).arg(turn).arg(differs)));
            QCOMPARE(got.reused_tokens, expected.reused_tokens);
            n_drafted += got.drafts.of(Drafter::kLayer).drafted;
            // An entry for each token but those of short prompts.
            n_entries = drafting.model()->layer_drafter()->n_entries();
            QVERIFY2(n_entries > 60, qPrintable(QString::number(n_entries)));
            one.prompt_ids = joined(joined(one.prompt_ids, expected.tokens), someText(9, 5 + turn));
            one.max_tokens = 6;
        }
    }
    QVERIFY2(n_drafted > n_tokens, qPrintable(QString::number(n_drafted)));
}

// A tiny model with a tokenizer beside its files.
class WithTokenizer {
  public:
    explicit WithTokenizer(const std::string& model, const QByteArray& tokenizer = letters()) {
        const QDir from(QString::fromStdString(model));
        for (const QString& name : from.entryList(QDir::Files))
            QFile::copy(from.filePath(name), folder_.filePath(name));
        QFile file(folder_.filePath(QStringLiteral("tokenizer.json")));
        if (file.open(QIODevice::WriteOnly)) file.write(tokenizer);
    }
    std::string path() const { return folder_.path().toStdString(); }

  private:
    QTemporaryDir folder_;
};

// Steps with scripted times, and drafts of which each token is right with this chance.
struct Play {
    DraftPolicy policy;
    double plain_us = 100, drafted_us = 10;  // of a step, and of each drafted token more
    double chance = 0.5;
    std::size_t matched = 3;
    double us = 0, tokens = 0;
    std::int64_t n_drafted = 0;
    std::mt19937 random{3};

    Play() { policy.set_mode(DraftMode::kAuto); }
    void steps(int n) {
        us = tokens = 0;
        n_drafted = 0;
        for (int i = 0; i < n; ++i) {
            const std::size_t length = policy.length(DraftPolicy::kMostDrafted, matched);
            const double noise = 0.95 + 0.1 * std::uniform_real_distribution<double>()(random);
            const double step_us = noise * (plain_us + drafted_us * static_cast<double>(length));
            policy.add_step(length, step_us);
            us += step_us;
            std::size_t n_right = 0;
            const std::size_t n_known = std::min(length + 1, DraftPolicy::kMostDrafted);  // and the one behind these
            for (bool right = true; right && n_right < n_known;) {
                right = std::uniform_real_distribution<double>()(random) < chance;
                policy.add_outcome(matched + n_right, right);
                n_right += right ? 1 : 0;
            }
            tokens += 1 + static_cast<double>(std::min(n_right, length));
            n_drafted += static_cast<std::int64_t>(length);
        }
    }
    double us_per_token() const { return us / tokens; }
};

}  // namespace

class TestDrafts : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

  private Q_SLOTS:
    void initTestCase() { qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); }

    void everyModel_isAsWithout_data() {
        QTest::addColumn<QString>("model");
        for (const QString& model : allModels()) QTest::addRow("%s", qPrintable(model)) << model;
    }
    void everyModel_isAsWithout() {
        QFETCH(QString, model);
        compareWithPlain(requestFor(model), 24);
    }

    void everyWayToMultiply_isAsWithout_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("compute");
        QTest::addColumn<QString>("quant");
        QTest::addColumn<int>("kv");
        const auto add = [](const char* model, ComputeMode compute, const char* quant, KvType kv) {
            QTest::addRow("%s, %d, %s, %d", model, static_cast<int>(compute), quant, static_cast<int>(kv))
                << QString(model) << static_cast<int>(compute) << QString(quant) << static_cast<int>(kv);
        };
        for (const char* const model : {"olmoe_bf16", "gpt_oss_mxfp4", "deepseek_v2_lite_bf16", "qwen3_next_bf16"}) {
            for (const ComputeMode compute : {ComputeMode::kBf16, ComputeMode::kInt8}) {
                add(model, compute, "", KvType::kInt8);
            }
        }
        for (const char* const quant : {"experts=int8,dense=8", "experts=hqq4", "experts=hqq3"}) {
            for (const ComputeMode compute : {ComputeMode::kF32, ComputeMode::kInt8}) {
                add("grouped_bf16", compute, quant, KvType::kF32);
            }
        }
    }
    void everyWayToMultiply_isAsWithout() {
        QFETCH(QString, model);
        QFETCH(int, compute);
        QFETCH(QString, quant);
        QFETCH(int, kv);
        LoadRequest load = requestFor(model);
        load.compute = static_cast<ComputeMode>(compute);
        load.kv = static_cast<KvType>(kv);
        if (!quant.isEmpty()) load.quant = parse_quant(quant.toStdString());
        compareWithPlain(load, 20);
    }

    void emulatedCard_isAsWithout_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("percent");
        for (const char* const model : {"olmoe_bf16", "gpt_oss_bf16", "qwen3_next_bf16", "granite_hybrid_bf16",
                                        "lfm2_moe_bf16", "gemma4_bf16", "glm_moe_dsa_bf16", "deepseek_v4_fp4"}) {
            for (const int percent : {0, 50, 100}) {
                QTest::addRow("%s, %d %%", model, percent) << QString(model) << percent;
            }
        }
    }
    void emulatedCard_isAsWithout() {
        QFETCH(QString, model);
        QFETCH(int, percent);
        compareWithPlain(onCard(model, percent), 24);
    }

    // Windows lose blocks, and the context ends, while drafts go on.
    void longAnswer_toTheEndOfTheContext_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"qwen3_moe_window_f32", "gpt_oss_bf16", "gemma4_odd_f32", "qwen3_5_moe_odd_f32",
                                        "llama4_bf16", "deepseek_v4_odd_f32"}) {
            QTest::addRow("%s", model) << QString(model);
        }
    }
    void longAnswer_toTheEndOfTheContext() {
        QFETCH(QString, model);
        const LoadRequest load = requestFor(model);
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        GenerationRequest one = asked(1, 0, 1);
        const GenerationResult expected = plain.generate(one, {}, {});
        QCOMPARE(expected.finish, FinishReason::kContextFull);
        KnownAnswers answers;
        answers.add(one.prompt_ids, expected.tokens);
        answers.set_share(80);
        openSessions(answers.in(load), {&drafting});
        const GenerationResult got = drafting.generate(one, {}, {});
        QVERIFY2(difference(got, expected).isEmpty(), qPrintable(difference(got, expected)));
        QVERIFY(got.drafts.accepted > 100);
    }

    // A share of right tokens that a test forces is the share that is accepted.
    void acceptance_isCounted() {
        const LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        const GenerationRequest one = asked(0, 400, 0);
        const GenerationResult expected = plain.generate(one, {}, {});
        QCOMPARE(expected.drafts.drafted, 0);
        QCOMPARE(expected.drafts.tokens_per_step(), 1.0);
        KnownAnswers answers;
        answers.add(one.prompt_ids, expected.tokens);
        openSessions(answers.in(load), {&drafting});
        for (const int percent : {0, 50, 90, 100}) {
            answers.set_share(percent);
            const DraftReport got = drafting.generate(one, {}, {}).drafts;
            const double p = percent / 100.0;
            const double n_right = p + p * p + p * p * p + p * p * p * p;  // of four
            QVERIFY2(std::abs(got.tokens_per_step() - 1 - n_right) < 0.35,
                     qPrintable(QString::number(got.tokens_per_step())));
            QVERIFY(got.more_experts() > 0);
            QCOMPARE(got.tokens, 399);
            QCOMPARE(got.expert_calls > got.more_calls, true);
        }
    }

    // The tokens behind a draft have the model's probabilities: chi-squared over many
    // seeds.
    void drawnTokens_haveTheModelsProbabilities() {
        const LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        GenerationRequest one = asked(0, 2, 0);
        one.n_alternatives = kMostAlternatives;
        const GenerationResult best = plain.generate(one, {}, {});
        KnownAnswers answers;
        answers.add(one.prompt_ids, best.tokens);
        answers.set_share(100);
        openSessions(answers.in(load), {&drafting});
        one.sampler.temperature = 1;
        one.sampler.top_k = 0;
        one.sampler.top_p = 1;
        one.n_alternatives = -1;
        one.max_tokens = 3;
        std::map<TokenId, int> counts;
        int n = 0;
        for (std::uint64_t seed = 1; n < 400 && seed < 40'000; ++seed) {
            one.sampler.seed = seed;
            const GenerationResult got = drafting.generate(one, {}, {});
            if (got.tokens.front() != best.tokens.front()) continue;
            ++counts[got.tokens[1]];
            ++n;
        }
        QCOMPARE(n, 400);
        double chi_squared = 0, rest = 1;
        int n_rest = n;
        for (const TokenProbability& token : best.choices[1].alternatives) {
            const double p = std::exp(token.log_probability);
            chi_squared += std::pow(counts[token.token] - p * n, 2) / (p * n);
            rest -= p;
            n_rest -= counts[token.token];
        }
        chi_squared += std::pow(n_rest - rest * n, 2) / (rest * n);
        // 20 degrees of freedom: 45.3 once in a thousand.
        QVERIFY2(chi_squared < 45.3, qPrintable(QString::number(chi_squared)));
    }

    // Grammars, stop texts, limits, a bias, penalties: where the answer ends within a
    // draft, nothing of the rest is seen.
    void rulesOfTheAnswer_holdWithinDrafts() {
        const LoadRequest load = requestFor(QStringLiteral("qwen3_next_bf16"));
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        GenerationRequest base = asked(0, 60, 1);
        const std::string text = plain.generate(base, {}, {}).text;
        std::vector<GenerationRequest> requests(7, base);
        std::vector<std::vector<std::string>> stops(7);
        requests[0].grammar = std::make_shared<const Grammar>(parse_gbnf("root ::= (\"ab\" | [f-k] [A-C]?)+"));
        requests[0].ignore_end = false;
        requests[1].grammar = std::make_shared<const Grammar>(parse_gbnf("root ::= [a-z] [a-z] [a-z] [a-z] [a-z]"));
        requests[1].ignore_end = false;
        requests[2].ignore_end = false;
        stops[2] = {text.substr(20, 3)};
        requests[3].sampler.logit_bias = {{3, 9.0F}, {4, -50.0F}};
        requests[4].sampler.repeat_penalty = 1.4F;
        requests[4].sampler.presence_penalty = 1;
        requests[5].max_tokens = 7;
        requests[6].ignore_end = false;
        stops[6] = {text.substr(9, 1)};
        KnownAnswers answers;
        openSessions(answers.in(load), {&drafting});
        for (std::size_t i = 0; i < requests.size(); ++i) {
            for (LocalSession* const session : {&plain, &drafting}) {
                session->model()->text().defaults.stops = stops[i];
                session->reset_conversation();
            }
            std::vector<std::string> shown[2];
            const auto into = [](std::vector<std::string>& texts) {
                return [&texts](const TextDelta& delta) { texts.push_back(delta.text); };
            };
            const GenerationResult expected = plain.generate(requests[i], into(shown[0]), {});
            // The draft goes on where the answer ends.
            answers.add(requests[i].prompt_ids, joined(expected.tokens, someText(8, 1)));
            for (const int percent : {50, 100}) {
                answers.set_share(percent);
                drafting.reset_conversation();
                shown[1].clear();
                const GenerationResult got = drafting.generate(requests[i], into(shown[1]), {});
                const QString differs = difference(got, expected);
                QVERIFY2(differs.isEmpty(), qPrintable(QStringLiteral("%1: %2").arg(i).arg(differs)));
                QVERIFY2(shown[1] == shown[0], qPrintable(QString::number(i)));
                QVERIFY2(got.drafts.drafted > 0, qPrintable(QString::number(i)));
            }
        }
        QCOMPARE(plain.generate(requests[2], {}, {}).finish, FinishReason::kEndOfTurn);
    }

    // A stop in the middle of a draft: nothing more is shown, and the conversation goes
    // on.
    void stopWithinADraft_endsThere() {
        const LoadRequest load = requestFor(QStringLiteral("qwen3_5_moe_bf16"));
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        GenerationRequest one = asked(0, 40, 0);
        const GenerationResult expected = plain.generate(one, {}, {});
        KnownAnswers answers;
        answers.add(one.prompt_ids, expected.tokens);
        answers.set_share(100);
        openSessions(answers.in(load), {&drafting});
        for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
            drafting.reset_conversation();
            std::stop_source stop;
            const auto on_delta = [&](const TextDelta& delta) {
                if (delta.n_tokens == n) stop.request_stop();
            };
            const GenerationResult got = drafting.generate(one, on_delta, stop.get_token());
            QCOMPARE(got.finish, FinishReason::kStopped);
            QCOMPARE(got.tokens, Tokens(expected.tokens.begin(), expected.tokens.begin() + n));
            QCOMPARE(drafting.generate(one, {}, {}).tokens, expected.tokens);
        }
    }

    void severalAnswers_areAsAlone_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("little_room");
        for (const char* const model : {"olmoe_bf16", "qwen3_moe_window_f32", "qwen3_5_moe_odd_f32"}) {
            for (const bool little_room : {false, true}) {
                QTest::addRow("%s, %d", model, little_room ? 1 : 0) << QString(model) << little_room;
            }
        }
    }
    void severalAnswers_areAsAlone() {
        QFETCH(QString, model);
        QFETCH(bool, little_room);
        LoadRequest load = requestFor(model);
        load.kept_context = 4 * kKeptTokensEach;
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        std::vector<Asked> all(5);
        KnownAnswers answers;
        for (int i = 0; i < 5; ++i) {
            Asked& one = all[static_cast<std::size_t>(i)];
            one.request = asked(i, 100 + 9 * i, i % 2 == 0 ? 0.0F : 1.0F);
            answers.add(one.request.prompt_ids, alone(plain, one.request).tokens);
        }
        all[3].request.n_answers = 2;
        openSessions(answers.in(load), {&drafting});
        {
            const Taken taken(drafting.model()->kv(), little_room ? 12 : 1000);
            makeTogether(drafting, all, 5);
        }
        COMPARE_WITH_ALONE(all, plain);
        QVERIFY(all[0].result.drafts.accepted > 0);
        drafting.reset_conversation();
        QCOMPARE(nHeld(drafting), 0);
    }

    // A draft takes no room that is not there, and nothing from other conversations.
    void noRoom_shortDrafts() {
        LocalSession session;
        openSessions(requestFor(QStringLiteral("olmoe_bf16")), {&session});
        KvSequence sequence = session.model()->new_sequence();
        QVERIFY(sequence.prepare(offstage::kernels::kKvBlockTokens - 2, session.model()->device()));
        sequence.commit(offstage::kernels::kKvBlockTokens - 2);
        QCOMPARE(sequence.room_for_drafts(4), 4);
        const Taken taken(session.model()->kv(), 0);
        QCOMPARE(sequence.room_for_drafts(4), 1);
        QVERIFY(sequence.prepare(2, session.model()->device()));
        sequence.commit(1);
        QCOMPARE(sequence.room_for_drafts(4), 0);
    }

    // ---- prompt lookup
    void promptLookup_findsTheLongestMatch() {
        std::mt19937 random(5);
        for (int round = 0; round < 200; ++round) {
            const auto n_words = static_cast<TokenId>(2 + round % 7);
            PromptLookup lookup;
            Tokens tokens;
            for (int i = 0; i < 60; ++i) {
                tokens.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(n_words)));
                lookup.add(tokens.back());
            }
            // The longest by comparing all; of equals the latest. Few places have the
            // same three tokens, so that all are looked at.
            std::size_t longest = 0;
            for (std::size_t place = 1; place < tokens.size(); ++place) {
                std::size_t n = 0;
                while (n < std::min(place, PromptLookup::kLongestMatch) &&
                       tokens[place - 1 - n] == tokens[tokens.size() - 1 - n])
                    ++n;
                longest = std::max(longest, n);
            }
            std::array<TokenId, 4> draft{};
            const std::size_t got = lookup.find(draft);
            if (n_words > 4) QCOMPARE(got, longest);
            QVERIFY(got <= longest && (got > 0) == (longest > 0));
            if (got == 0) continue;
            // The draft follows such a place.
            bool found = false;
            for (std::size_t place = 1; place < tokens.size() && !found; ++place) {
                Tokens repeated = tokens;
                for (std::size_t i = 0; i < draft.size(); ++i) repeated.push_back(draft[i]);
                found = std::equal(draft.begin(), draft.end(), repeated.begin() + static_cast<std::ptrdiff_t>(place)) &&
                        std::equal(tokens.end() - static_cast<std::ptrdiff_t>(std::min(got, place)), tokens.end(),
                                   tokens.begin() + static_cast<std::ptrdiff_t>(place - std::min(got, place)));
            }
            QVERIFY(found);
        }
    }

    void promptLookup_withoutARepetition_findsNothing() {
        PromptLookup lookup;
        std::array<TokenId, 4> draft{};
        QCOMPARE(lookup.find(draft), std::size_t{0});
        for (TokenId token = 0; token < 20'000; ++token) lookup.add(token);
        QCOMPARE(lookup.find(draft), std::size_t{0});
        for (const TokenId token : {500, 501, 502}) lookup.add(token);
        QCOMPARE(lookup.find(draft), std::size_t{3});
        QCOMPARE(draft, (std::array<TokenId, 4>{503, 504, 505, 506}));
    }

    // An answer that says again what it has said, without a test's help.
    void promptLookup_draftsRepetitions() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        GenerationRequest one = asked(0, 300, 0);
        one.sampler.logit_bias = {{5, 30.0F}};  // one letter, again and again
        const GenerationResult expected = plain.generate(one, {}, {});
        load.drafts = DraftMode::kAlways;
        openSessions(load, {&drafting});
        const GenerationResult got = drafting.generate(one, {}, {});
        QVERIFY2(difference(got, expected).isEmpty(), qPrintable(difference(got, expected)));
        QVERIFY2(got.drafts.steps < 150, qPrintable(QString::number(got.drafts.steps)));
    }

    // ---- how long, and when
    void cheapDrafts_areMade_dearOnesAreNot() {
        for (const double share : {0.0, 0.5, 0.9, 0.99}) {
            for (const double cost : {0.0, 0.05, 0.3, 0.7, 1.0}) {
                Play play;
                play.chance = share;
                play.drafted_us = cost * play.plain_us;
                play.steps(200);
                play.steps(4000);
                const double gain = play.plain_us / play.us_per_token();
                QVERIFY2(gain > 0.98, qPrintable(QStringLiteral("%1 at %2: %3").arg(share).arg(cost).arg(gain)));
                // Close to the best length, known beforehand.
                double best = 1;
                for (int n = 1; n <= 4; ++n) {
                    double tokens = 1, right = 1;
                    for (int i = 0; i < n; ++i) tokens += right *= share;
                    best = std::max(best, tokens / (1 + cost * n));
                }
                QVERIFY2(gain > 0.9 * best,
                         qPrintable(QStringLiteral("%1 at %2: %3 of %4").arg(share).arg(cost).arg(gain).arg(best)));
            }
        }
    }

    void draftsThatDoNotPay_stop_andBeginAgainWhereTheyDo() {
        Play play;
        play.chance = 0.05;
        play.drafted_us = 60;
        play.steps(300);
        play.steps(300);
        QVERIFY2(play.n_drafted < 10, qPrintable(QString::number(play.n_drafted)));
        play.chance = 0.98;  // the answer begins to repeat its prompt
        play.steps(60);
        play.steps(100);
        QVERIFY2(play.n_drafted > 150, qPrintable(QString::number(play.n_drafted)));
        QVERIFY(play.policy.in_use());
        play.drafted_us = 400;  // experts have moved
        play.policy.forget_times();
        play.steps(60);
        play.steps(200);
        QVERIFY2(play.n_drafted < 10, qPrintable(QString::number(play.n_drafted)));
    }

    void off_and_always() {
        DraftPolicy policy;
        QCOMPARE(policy.length(4, 8), std::size_t{0});
        policy.set_mode(DraftMode::kAlways);
        QCOMPARE(policy.length(4, 1), std::size_t{4});
        QCOMPARE(policy.length(2, 1), std::size_t{2});
        QCOMPARE(parse_drafts("always"), DraftMode::kAlways);
        QVERIFY(offstage::tests::error_of([] { static_cast<void>(parse_drafts("often")); }).has_value());
    }

    // A drafter that computes its drafts: it is used where it is worth more than a
    // lookup, and compared now and then where it is not.
    void drafterOfMostWorth_isUsed() {
        DraftPolicy policy;
        policy.set_mode(DraftMode::kAuto);
        for (int i = 0; i < 8; ++i) policy.add_step(0, 100);
        const auto worth = [&](Drafter drafter, std::size_t matched) {
            return policy.choose(4, matched, drafter).worth;
        };
        QVERIFY(worth(Drafter::kLayer, 1) > worth(Drafter::kLookup, 1));
        for (int i = 0; i < 40; ++i) policy.add_outcome(8, true);
        QVERIFY(worth(Drafter::kLayer, 1) < worth(Drafter::kLookup, 8));
        for (int i = 0; i < 40; ++i) policy.add_outcome(1, i % 4 == 0, Drafter::kLayer);
        for (std::size_t n = 1; n <= 4; ++n) {
            for (int i = 0; i < 3; ++i) policy.add_step(n, 100 + 60 * static_cast<double>(n), Drafter::kLayer);
        }
        QCOMPARE(policy.length(4, 1, Drafter::kLayer), std::size_t{0});
        QVERIFY(policy.length(4, 8) > 0);  // its times are its own
        QVERIFY(!policy.probes(Drafter::kLayer));
        for (int i = 0; i < DraftPolicy::kProbeSteps; ++i) policy.add_step(0, 100);
        QVERIFY(policy.probes(Drafter::kLayer));
        policy.add_outcome(1, true, Drafter::kLayer);
        QVERIFY(!policy.probes(Drafter::kLayer));
    }

    // One step that other work disturbed does not end drafts that pay.
    void disturbedStep_isMeasuredAgain() {
        Play play;
        play.chance = 0.9;
        play.drafted_us = 1000;
        play.steps(5);  // the first draft
        QVERIFY(play.n_drafted > 0);
        play.drafted_us = 10;
        play.steps(200);
        play.steps(100);
        QVERIFY2(play.n_drafted > 200, qPrintable(QString::number(play.n_drafted)));
    }

    // ---- the model's own layer
    void prediction_isThatOfTheReference_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("golden");
        for (const char* const name : kPredicting) QTest::addRow("%s", name) << predicting(name) << predicting(name);
        for (const char* const name : {"qwen3_next_bf16", "glm4_moe_groups_f32"}) {
            QTest::addRow("%s.gguf", name) << predicting(name) + QStringLiteral(".gguf") << predicting(name);
        }
    }
    void prediction_isThatOfTheReference() {
        QFETCH(QString, model);
        QFETCH(QString, golden);
        const QJsonObject expected =
            readJson(QString::fromStdString(tinyModel(golden)) + QStringLiteral("/golden.json"));
        const Tokens text = tokensOf(expected[QStringLiteral("text")].toArray());
        std::vector<float> states, logits;
        for (const auto& [key, rows] : {std::pair("states", &states), std::pair("logits", &logits)}) {
            for (const QJsonValue& row : expected[QString::fromLatin1(key)].toArray()) {
                const std::vector<float> values = floatsOf(row.toArray());
                rows->insert(rows->end(), values.begin(), values.end());
            }
        }
        for (const QString& device : {QStringLiteral("cpu"), QString(kEmulatedCard)}) {
            LoadRequest load = requestFor(model, device);
            load.kv = KvType::kF32;
            const auto loaded = opened(load, DraftMode::kAlways);
            QVERIFY(loaded->layer_drafter() != nullptr);
            LayerDrafter& drafter = *loaded->layer_drafter();
            const std::vector<float> got = drafter.logits_of(std::span(text).subspan(1), states);
            const double error = relativeError(got, logits);
            QVERIFY2(error < 1e-4, qPrintable(QString::number(error)));
            // The draft that it makes of its own states, behind the model's.
            KvSequence sequence = loaded->new_sequence();
            QVERIFY(drafter.follow(sequence, {}));
            readInSteps(*loaded, sequence, std::span(text).first(text.size() - 1), 1);
            Tokens draft(4);
            QCOMPARE(drafter.draft(text.back(), draft), draft.size());
            QCOMPARE(draft, tokensOf(expected[QStringLiteral("draft")].toArray()));
            QCOMPARE(drafter.n_entries(), std::ssize(text) - 1);  // none of the draft's
            drafter.leave(sequence);
        }
    }

    // A long prompt's tokens have entries, in whatever steps it is read; a short one's do
    // not, but for its last token.
    void prediction_seesThePrompt() {
        for (const char* const name : kPredicting) {
            const Tokens text = someText(100, 3);
            std::vector<Tokens> drafts;
            for (const std::size_t n : {std::size_t{1}, std::size_t{40}, std::size_t{100}}) {
                const auto loaded = opened(requestFor(predicting(name)), DraftMode::kAlways);
                LayerDrafter& drafter = *loaded->layer_drafter();
                KvSequence sequence = loaded->new_sequence();
                QVERIFY(drafter.follow(sequence, {}));
                readInSteps(*loaded, sequence, text, n);
                drafts.emplace_back(3);
                QCOMPARE(drafter.draft(7, drafts.back()), std::size_t{3});
                QCOMPARE(drafter.n_entries(), 100);
                QCOMPARE(drafts.back(), drafts.front());
                // It goes back with the sequence.
                sequence.truncate(50);
                const std::int64_t n_left = sequence.size();
                drafter.leave(sequence);
                QVERIFY(drafter.follow(sequence, text));
                QCOMPARE(drafter.n_entries(), std::max<std::int64_t>(0, n_left - 1));
                drafter.leave(sequence);
            }
        }
    }

    void predictedDrafts_areAsWithout_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("percent");
        for (const char* const name : kPredicting) {
            for (const int percent : {-1, 0, 50, 100}) {
                QTest::addRow("%s, %d %%", name, percent) << predicting(name) << percent;
            }
        }
    }
    void predictedDrafts_areAsWithout() {
        QFETCH(QString, model);
        QFETCH(int, percent);
        if (percent < 0) return compareWithLayer(requestFor(model), requestFor(model), 40);
        compareWithLayer(onCard(model, percent), onCard(model, percent, DraftMode::kAlways), 40);
    }

    // Any share of the layer's drafts right: what it has of the conversation follows.
    void predictedDrafts_ofWhichAShareIsRight() {
        for (const char* const name : kPredicting) {
            compareWithPlain(requestFor(predicting(name)), 30);
            compareWithPlain(onCard(predicting(name), 50, DraftMode::kAlways), 30);
        }
    }

    void predictedDrafts_inEveryArithmetic_data() {
        QTest::addColumn<int>("compute");
        for (const ComputeMode compute : {ComputeMode::kBf16, ComputeMode::kInt8}) {
            QTest::addRow("%d", static_cast<int>(compute)) << static_cast<int>(compute);
        }
    }
    void predictedDrafts_inEveryArithmetic() {
        QFETCH(int, compute);
        for (const char* const name : kPredicting) {
            LoadRequest load = requestFor(predicting(name));
            load.compute = static_cast<ComputeMode>(compute);
            load.kv = KvType::kInt8;
            compareWithLayer(load, load, 30);
        }
    }

    // Several answers at a time: the layer follows one of them.
    void predictedDrafts_ofSeveralAnswers() {
        LoadRequest load = requestFor(predicting("qwen3_next_bf16"));
        load.kept_context = 4 * kKeptTokensEach;
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        load.drafts = DraftMode::kAlways;
        openSessions(load, {&drafting});
        std::vector<Asked> all(4);
        for (int i = 0; i < 4; ++i) all[static_cast<std::size_t>(i)].request = asked(i, 60 + 9 * i, 0);
        makeTogether(drafting, all, 4);
        COMPARE_WITH_ALONE(all, plain);
        drafting.reset_conversation();
        QCOMPARE(nHeld(drafting), 0);
    }

    // Budgets that become smaller and larger leave the layer where it is.
    void replan_withTheLayer() {
        for (const char* const name : kPredicting) {
            LoadRequest load = onCard(predicting(name), 100, DraftMode::kAlways);
            LocalSession plain, drafting;
            openSessions(load, {&drafting});
            load.drafts = DraftMode::kOff;
            openSessions(load, {&plain});
            const std::uint64_t all = drafting.model()->plan().vram_bytes();
            const std::uint64_t without = all - drafting.model()->plan().expert_bytes;
            GenerationRequest one = asked(0, 40, 0);
            for (const std::uint64_t vram : {without + (all - without) / 2, all}) {
                ReplanRequest request;
                request.vram_bytes = vram;
                drafting.replan(request);
                drafting.wait_for_plan();
                drafting.advance({});
                QCOMPARE(drafting.replans().back().state, ReplanState::kDone);
                QCOMPARE(drafting.model()->plan().budget.vram_bytes, vram);
                const GenerationResult expected = plain.generate(one, {}, {}), got = drafting.generate(one, {}, {});
                QVERIFY2(difference(got, expected).isEmpty(), qPrintable(difference(got, expected)));
                one.prompt_ids = joined(joined(one.prompt_ids, expected.tokens), someText(9, 5));
            }
        }
    }

    // Without drafts nothing of the layer is loaded; with them its bytes are planned and
    // counted.
    void predictionLayer_isCounted() {
        for (const char* const device : {"cpu", kEmulatedCard}) {
            const LoadRequest load = requestFor(predicting("qwen3_next_bf16"), QString::fromLatin1(device));
            const auto plain = opened(load, DraftMode::kOff), drafting = opened(load, DraftMode::kAuto);
            QVERIFY(plain->layer_drafter() == nullptr && drafting->layer_drafter() != nullptr);
            const auto used = [](LoadedModel& model, MemoryUse use, bool on_device) {
                const Arena& arena = on_device ? model.device().memory() : model.ram();
                return arena.usage().by_use[static_cast<std::size_t>(use)];
            };
            const std::uint64_t experts = LayerDrafter::expert_bytes(*drafting->prediction_layer());
            QCOMPARE(used(*drafting, MemoryUse::kExperts, false), used(*plain, MemoryUse::kExperts, false) + experts);
            QVERIFY(used(*drafting, MemoryUse::kDense, true) > used(*plain, MemoryUse::kDense, true));
            const ModelDemand& without = plain->demand();
            const ModelDemand& with = drafting->demand();
            QCOMPARE(with.host_fixed_bytes, without.host_fixed_bytes + experts);
            QCOMPARE(with.dense_read_bytes, without.dense_read_bytes);  // not a part of each token
            QCOMPARE(drafting->reads().total(), plain->reads().total());
            // What is used is within the plan.
            QVERIFY(drafting->ram().usage().used_bytes <= drafting->plan().ram_bytes);
            if (drafting->device().shares_host_memory()) continue;
            QVERIFY(drafting->device().memory().usage().used_bytes <= drafting->plan().vram_bytes());
        }
    }

    // No expert goes to the disk for it, unless it must be there.
    void predictionLayer_givesWayToExperts() {
        LoadRequest load = requestFor(predicting("qwen3_next_bf16"));
        load.ram_bytes = opened(load, DraftMode::kAlways)->plan().vram_bytes();
        const std::uint64_t step = load.ram_bytes / 64;
        auto always = opened(load, DraftMode::kAlways);
        while (always->plan().n_in(Place::kDisk) == 0) {
            load.ram_bytes -= step;
            always = opened(load, DraftMode::kAlways);
        }
        QVERIFY(always->layer_drafter() != nullptr);
        const auto plain = opened(load, DraftMode::kOff), drafting = opened(load, DraftMode::kAuto);
        QCOMPARE(plain->plan().n_in(Place::kDisk), 0);
        QCOMPARE(drafting->plan().n_in(Place::kDisk), 0);
        QVERIFY(drafting->layer_drafter() == nullptr);
        QVERIFY(std::ranges::any_of(drafting->summary().notes, [](const Message& note) {
            return note.english() ==
                   "The layer that predicts further tokens is left out: Experts would have to be read from disk for "
                   "it.";
        }));
    }

    // The least memory that the model fits in: the layer is left out, unless it must be
    // there.
    void noRoomForTheLayer_isLeftOut() {
        LoadRequest load = onCard(predicting("glm4_moe_groups_f32"), 100);
        const std::uint64_t step = load.vram_bytes / 64;
        const auto error = [&](DraftMode mode) {
            return offstage::tests::error_of([&] { static_cast<void>(opened(load, mode)); });
        };
        for (load.vram_bytes = step; error(DraftMode::kOff).has_value();) load.vram_bytes += step;
        const auto loaded = opened(load, DraftMode::kAuto);
        QVERIFY(loaded->layer_drafter() == nullptr);
        QVERIFY(std::ranges::any_of(loaded->summary().notes, [](const Message& note) {
            return note.english().starts_with("The layer that predicts further tokens is left out: ");
        }));
        const auto refused = error(DraftMode::kAlways);
        QVERIFY(refused.has_value());
        QCOMPARE(static_cast<int>(refused->kind()), static_cast<int>(ErrorKind::kOutOfMemory));
    }

    // A file that lacks a part of the layer is loaded without it, with a note.
    void incompleteLayer_isLeftOut() {
        const auto loaded = opened(requestFor(QStringLiteral("glm4_moe_bf16")), DraftMode::kAuto);
        QVERIFY(loaded->layer_drafter() == nullptr);
        const auto notes = loaded->summary().notes;
        QVERIFY(std::ranges::any_of(notes, [](const Message& note) {
            return note.english().starts_with("The layer that predicts further tokens is left out: ");
        }));
    }

    // ---- a small model
    // The model itself as its drafter: every greedy draft is right.
    void draftModel_thatIsTheModel_isAlwaysRight_data() {
        QTest::addColumn<QString>("model");
        for (const char* const model : {"olmoe_bf16", "qwen3_next_bf16", "gpt_oss_bf16"}) {
            QTest::addRow("%s", model) << QString(model);
        }
    }
    void draftModel_thatIsTheModel_isAlwaysRight() {
        QFETCH(QString, model);
        LoadRequest load = requestFor(model);
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        load.drafts = DraftMode::kAlways;
        const WithTokenizer drafter(load.model);
        load.draft_model = drafter.path();
        openSessions(load, {&drafting});
        GenerationRequest one = asked(0, 60, 0);
        for (int turn = 0; turn < 3; ++turn) {
            const GenerationResult expected = plain.generate(one, {}, {}), got = drafting.generate(one, {}, {});
            QVERIFY2(difference(got, expected).isEmpty(), qPrintable(difference(got, expected)));
            const DraftReport::Share& share = got.drafts.of(Drafter::kModel);
            QVERIFY2(share.drafted >= 20 && share.accepted > share.drafted * 9 / 10,
                     qPrintable(QStringLiteral("%1 of %2").arg(share.accepted).arg(share.drafted)));
            one.prompt_ids = joined(joined(one.prompt_ids, expected.tokens), someText(9, 5 + turn));
        }
        one = asked(1, 60, 1);  // drawn: drafts are the best tokens
        const GenerationResult expected = plain.generate(one, {}, {}), got = drafting.generate(one, {}, {});
        QVERIFY2(difference(got, expected).isEmpty(), qPrintable(difference(got, expected)));
    }

    void draftModel_withOtherTokens_isRefused() {
        LoadRequest load = requestFor(QStringLiteral("olmoe_bf16"));
        load.drafts = DraftMode::kAuto;
        const WithTokenizer drafter(load.model, letters().replace("\"b\": 1,", "\"!\": 1,"));
        load.draft_model = drafter.path();
        LocalSession session;
        const auto error = offstage::tests::error_of([&] { openSessions(load, {&session}); });
        QVERIFY(error.has_value());
        const QString text = QString::fromStdString(error->message().english());
        QVERIFY2(text.contains(QStringLiteral("token 1 is \"!\" there and \"b\" here")), qPrintable(text));
    }

    // Decided by accounted times: a card whose experts lie in RAM.
    void automatic_onTheEmulatedCard() {
        LoadRequest load = onCard(QStringLiteral("olmoe_bf16"), 50);
        LocalSession plain, drafting;
        openSessions(load, {&plain});
        GenerationRequest one = asked(0, 400, 0);
        one.ignore_end = false;
        for (const TokenId end : plain.model()->text().eos_tokens) one.sampler.logit_bias.push_back({end, -100.0F});
        const GenerationResult expected = plain.generate(one, {}, {});
        QCOMPARE(expected.tokens.size(), std::size_t{400});
        for (const int percent : {0, 100}) {
            KnownAnswers answers;
            answers.add(one.prompt_ids, expected.tokens);
            answers.set_share(percent);
            LoadRequest automatic = answers.in(load);
            automatic.drafts = DraftMode::kAuto;
            LocalSession session;
            openSessions(automatic, {&session});
            const GenerationResult got = session.generate(one, {}, {});
            QVERIFY2(difference(got, expected).isEmpty(), qPrintable(difference(got, expected)));
            const double gain = got.decode_tokens_per_s / expected.decode_tokens_per_s;
            const QString is = QStringLiteral("%1 % right: %2 times as fast, %3 drafted")
                                   .arg(percent)
                                   .arg(gain)
                                   .arg(got.drafts.drafted);
            QVERIFY2(gain > 0.97, qPrintable(is));  // what was learned included
            if (percent == 0) QVERIFY2(got.drafts.drafted < 60, qPrintable(is));
            if (percent == 100) QVERIFY2(gain > 1.2 && got.drafts.drafted > 200, qPrintable(is));
        }
    }
};

QTEST_GUILESS_MAIN(TestDrafts)
#include "tst_drafts.moc"
