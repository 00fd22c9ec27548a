#pragma once
// Answers of tiny models with a letter for each token, alone and several at a time, so
// that they can be compared bit by bit.

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/run/local_session.h"
#include "tests/engine/greedy_reader.h"

namespace offstage::test {

inline constexpr std::int64_t kTinyVocab = 48;

// A tokenizer with a letter for each token.
inline QByteArray letters() {
    QJsonObject vocab;
    for (int i = 0; i < kTinyVocab; ++i) vocab[QString(QChar(i < 26 ? 'a' + i : 'A' + i - 26))] = i;
    const QJsonObject file{
        {QStringLiteral("decoder"), QJsonObject{{QStringLiteral("type"), QStringLiteral("ByteLevel")}}},
        {QStringLiteral("pre_tokenizer"), QJsonObject{{QStringLiteral("type"), QStringLiteral("ByteLevel")},
                                                      {QStringLiteral("add_prefix_space"), false}}},
        {QStringLiteral("model"), QJsonObject{{QStringLiteral("type"), QStringLiteral("BPE")},
                                              {QStringLiteral("vocab"), vocab},
                                              {QStringLiteral("merges"), QJsonArray()}}}};
    return QJsonDocument(file).toJson();
}

// Sessions with a tiny model, and such a tokenizer beside its files.
inline void openSessions(engine::LoadRequest request, std::initializer_list<engine::LocalSession*> sessions) {
    const QTemporaryDir folder;
    const QDir model(QString::fromStdString(request.model));
    for (const QString& name : model.entryList(QDir::Files)) QFile::copy(model.filePath(name), folder.filePath(name));
    QFile tokenizer(folder.filePath(QStringLiteral("tokenizer.json")));
    QVERIFY(tokenizer.open(QIODevice::WriteOnly));
    tokenizer.write(letters());
    tokenizer.close();
    request.model = folder.path().toStdString();
    request.text_needs = engine::TextNeeds::kTokenizer;
    for (engine::LocalSession* const session : sessions) session->load(request, {}, {});
}

// A request, and what became of it.
struct Asked {
    engine::GenerationRequest request = {};
    engine::TextDeltaFn on_delta = {};
    std::stop_source stop = {};
    engine::GenerationResult result = {};
    std::exception_ptr problem = {};
    int n_begun = 0, n_ended = 0;

    engine::AnswerCall call() {
        ++n_begun;
        return {&request, &on_delta, stop.get_token(),
                [this](engine::GenerationResult made, const std::exception_ptr& why_not) {
                    result = std::move(made);
                    problem = why_not;
                    ++n_ended;
                }};
    }
};

inline void makeTogether(engine::Session& session, std::vector<Asked>& all, int most) {
    std::size_t i = 0;
    session.generate_together(
        [&]() -> std::optional<engine::AnswerCall> {
            if (i == all.size()) return std::nullopt;
            return all[i++].call();
        },
        most);
}

// With no two that begin alike, so that none finds a part of its prompt in the KV cache.
inline engine::GenerationRequest request(int which, std::int64_t n_prompt, int n_tokens) {
    engine::GenerationRequest request;
    request.prompt_ids = joined({which}, someText(n_prompt - 1, 100 + which));
    request.max_tokens = n_tokens;
    request.ignore_end = true;
    request.sampler.seed = static_cast<std::uint64_t>(which + 1);
    request.sampler.temperature = which % 2 == 0 ? 0.0F : 1.0F;
    return request;
}

inline engine::GenerationResult alone(engine::LocalSession& session, const engine::GenerationRequest& request) {
    session.reset_conversation();
    return session.generate(request, {}, {});
}

inline QString difference(const engine::GenerationResult& got, const engine::GenerationResult& expected) {
    if (got.tokens != expected.tokens || got.text != expected.text || got.finish != expected.finish) {
        return QStringLiteral("%1 (%2) instead of %3 (%4)")
            .arg(QString::fromStdString(got.text))
            .arg(static_cast<int>(got.finish))
            .arg(QString::fromStdString(expected.text))
            .arg(static_cast<int>(expected.finish));
    }
    if (got.answers.size() != expected.answers.size()) return QStringLiteral("other answers");
    for (std::size_t i = 0; i < got.answers.size(); ++i) {
        if (got.answers[i].tokens != expected.answers[i].tokens) return QStringLiteral("answer %1").arg(i);
    }
    if (got.choices.size() != expected.choices.size() || got.prompt_choices.size() != expected.prompt_choices.size()) {
        return QStringLiteral("%1 probabilities and %2 scores instead of %3 and %4")
            .arg(got.choices.size())
            .arg(got.prompt_choices.size())
            .arg(expected.choices.size())
            .arg(expected.prompt_choices.size());
    }
    if (got.end_choice != expected.end_choice) return QStringLiteral("probabilities of the end");
    for (std::size_t i = 0; i < expected.choices.size(); ++i) {
        if (!(got.choices[i] == expected.choices[i])) return QStringLiteral("probabilities of token %1").arg(i);
    }
    for (std::size_t i = 1; i < expected.prompt_choices.size(); ++i) {
        if (!(got.prompt_choices[i] == expected.prompt_choices[i])) return QStringLiteral("scores of token %1").arg(i);
    }
    return {};
}

#define COMPARE_WITH_ALONE(all, session)                                                                      \
    for (std::size_t i = 0; i < (all).size(); ++i) {                                                          \
        QVERIFY2((all)[i].n_ended == 1 && !(all)[i].problem, qPrintable(QStringLiteral("answer %1").arg(i))); \
        const QString differs = difference((all)[i].result, alone(session, (all)[i].request));                \
        QVERIFY2(differs.isEmpty(), qPrintable(QStringLiteral("answer %1: %2").arg(i).arg(differs)));         \
    }

inline std::uint64_t nSteps(engine::LocalSession& session) {
    return session.model()->dispatcher().recorder().last_step() + 1;
}

inline std::int64_t nHeld(engine::LocalSession& session) {
    std::int64_t n = 0;
    engine::KvCache& kv = session.model()->kv();
    for (std::size_t g = 0; g < kv.n_groups(); ++g) n += kv.pool(g).n_blocks() - kv.pool(g).n_free();
    return n;
}

// All blocks but so many of each group, for as long as this exists.
class Taken {
  public:
    Taken(engine::KvCache& kv, std::int64_t n_left) : kv_(kv) {
        for (std::size_t g = 0; g < kv.n_groups(); ++g) {
            while (kv.pool(g).n_free() > n_left) blocks_.emplace_back(g, kv.pool(g).take());
        }
    }
    ~Taken() {
        for (const auto& [group, block] : blocks_) kv_.pool(group).drop(block);
    }
    std::int64_t n() const { return std::ssize(blocks_); }

  private:
    engine::KvCache& kv_;
    std::vector<std::pair<std::size_t, std::int32_t>> blocks_;
};

}  // namespace offstage::test
