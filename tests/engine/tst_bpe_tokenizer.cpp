#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include <QTemporaryDir>
#include <QTest>

#include "engine/error.h"
#include "engine/text/chat_template.h"
#include "engine/text/encoding_watch.h"
#include "engine/text/split_pattern.h"
#include "engine/text/token_bound.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/errors.h"
#include "tests/engine/text_lines.h"
#include "tests/engine/tokenizer_folder.h"
#include "tests/sanitized.h"

using namespace offstage::engine;
using namespace offstage::tests;
using nlohmann::json;
using offstage::test::bytes_of;
using offstage::test::kLayouts;
using offstage::test::Lines;
using offstage::test::mended;

namespace {

constexpr int kLines = 10'000;
constexpr int kLinesOfHash = 100;

class Fnv {
  public:
    void add(std::string_view bytes) {
        for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    }
    void add(const std::vector<TokenId>& ids) {
        const auto one = [&](TokenId id) { add(std::string_view(reinterpret_cast<const char*>(&id), sizeof id)); };
        for (const TokenId id : ids) one(id);
        one(-1);
    }
    std::string text() const { return QString::number(value_, 16).rightJustified(16, QLatin1Char('0')).toStdString(); }

  private:
    std::uint64_t value_ = 0xCBF29CE484222325u;
};

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    Utf8Stream stream;
    std::string text;
    for (const TokenId id : ids) text += stream.push(tokenizer.piece_bytes(id));
    return text + stream.finish();
}

struct Folder : offstage::test::TokenizerFolder {
    Folder() : TokenizerFolder(4096) {}
};

// A smallest tokenizer.json, to be changed.
json small() {
    json vocab = json::object();
    for (const char* token : {"a", "b", "c", "ab", "abc", "<unk>", "\u0120", "\u0120a"}) {
        vocab[token] = vocab.size();
    }
    while (vocab.size() < 20) vocab["z" + std::to_string(vocab.size())] = vocab.size();  // no text becomes these
    return {
        {"added_tokens", json::array({{{"id", 20}, {"content", "<end>"}, {"special", true}},
                                      {{"id", 21}, {"content", "<tool>"}, {"special", false}}})},
        {"normalizer", nullptr},
        {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
        {"post_processor", nullptr},
        {"decoder", {{"type", "ByteLevel"}}},
        {"model",
         {{"type", "BPE"}, {"vocab", vocab}, {"merges", json::array({"a b", json::array({"ab", "c"}), "\u0120 a"})}}}};
}

// Stretches of a prompt, each data where it begins with "=".
PromptText prompt_of(const std::vector<std::string>& stretches) {
    PromptText prompt;
    for (const std::string& one : stretches)
        prompt.append(one.starts_with('=') ? PromptText::of_data(one.substr(1)) : PromptText(one));
    return prompt;
}

json regex_split(const std::string& pattern) {
    return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

std::string base64_line(const std::string& bytes, const std::string& rank) {
    return QByteArray::fromStdString(bytes).toBase64().toStdString() + " " + rank + "\n";
}

std::string byte_lines(int n = 256) {
    std::string text;
    for (int b = 0; b < n; ++b) text += base64_line(std::string(1, static_cast<char>(b)), std::to_string(b));
    return text;
}

}  // namespace

class BpeTokenizerTest : public QObject {
    Q_OBJECT

  private slots:
    // ------------------------------------------ against Python's tokenizers and tiktoken
    void ten_thousand_lines_equal_python_data() {
        QTest::addColumn<QString>("layout");
        const json golden = json::parse(bytes_of(kLayouts / "golden.json"));
        for (const auto& [name, hashes] : golden.items()) QTest::addRow("%s", name.c_str()) << name.c_str();
        QVERIFY(golden.size() >= 14);
    }
    void ten_thousand_lines_equal_python() {
        QFETCH(QString, layout);
        const json golden = json::parse(bytes_of(kLayouts / "golden.json"))[layout.toStdString()];
        const auto tokenizer = Tokenizer::open(kLayouts / layout.toStdString(), 4096);
        Lines lines;
        int n_broken = 0;
        const std::size_t n_lines = offstage::test::kSanitized ? kLines / 10 : kLines;  // all read the same memory
        for (std::size_t hundred = 0; hundred < n_lines / kLinesOfHash; ++hundred) {
            Fnv plain;
            Fnv special;
            Fnv decoded;
            for (int i = 0; i < kLinesOfHash; ++i) {
                const std::string raw = lines.next();
                if (find_invalid_utf8(raw) != std::string::npos) {
                    ++n_broken;
                    QVERIFY_THROWS_EXCEPTION(Error, tokenizer->encode(raw));
                }
                const std::string text = mended(raw);
                plain.add(tokenizer->encode(text));
                const auto ids = tokenizer->encode_with_special(text);
                special.add(ids);
                const std::vector<TokenId> middle(ids.begin() + (ids.empty() ? 0 : 1),
                                                  ids.end() - (ids.size() > 1 ? 1 : 0));
                decoded.add(tokenizer->decode(middle));
                decoded.add("\n");
            }
            const std::string where = "lines " + std::to_string(hundred * kLinesOfHash) + " and after";
            QVERIFY2(plain.text() == golden["plain"][hundred], where.c_str());
            QVERIFY2(special.text() == golden["special"][hundred], where.c_str());
            QVERIFY2(decoded.text() == golden["decoded"][hundred], where.c_str());
        }
        QVERIFY(n_broken > static_cast<int>(n_lines / 20));
    }

    // The lower bound of a text's tokens: never above the real number, whatever a
    // normalizer does to it, and high enough to refuse a long word.
    void token_bound_is_never_above_the_tokens_data() { ten_thousand_lines_equal_python_data(); }
    void token_bound_is_never_above_the_tokens() {
        QFETCH(QString, layout);
        const auto tokenizer = Tokenizer::open(kLayouts / layout.toStdString(), 4096);
        const TokenBound bound(*tokenizer);
        const auto check = [&](const std::string& text) {
            const auto n = static_cast<std::int64_t>(tokenizer->encode(text).size());
            QVERIFY2(bound.at_least(text) <= n, text.substr(0, 60).c_str());
        };
        Lines lines;
        for (int i = 0; i < 5; ++i) {
            std::string text;
            for (int j = 0; j < kLinesOfHash; ++j) text += mended(lines.next());
            check(text);
        }
        std::vector<std::string> tokens;
        for (std::int64_t id = 0; id < tokenizer->vocab_size(); ++id)
            tokens.push_back(tokenizer->piece_bytes(static_cast<TokenId>(id)));
        std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
        for (std::size_t i = 0; i < 20 && i < tokens.size(); ++i) {
            if (find_invalid_utf8(tokens[i]) != std::string::npos) continue;
            std::string text;
            for (int j = 0; j < 50; ++j) text += tokens[i];
            check(text);
        }
        std::string marked;
        for (int i = 0; i < 1000; ++i) marked += "e\xCC\x81";  // one character, where it is composed
        check(marked);
        const std::string word(10'000, 'e');
        check(word);
        QVERIFY(bound.at_least(word) >= 100);
    }

    void decode_is_the_text_again_and_so_is_the_stream_data() {
        QTest::addColumn<QString>("layout");
        for (const char* name : {"gpt_oss", "deepseek", "deepseek_moe", "glm", "dbrx", "granite", "tiktoken", "kimi"}) {
            QTest::addRow("%s", name) << name;
        }
    }
    void decode_is_the_text_again_and_so_is_the_stream() {
        QFETCH(QString, layout);
        const auto tokenizer = Tokenizer::open(kLayouts / layout.toStdString(), 4096);
        QVERIFY(!tokenizer->begins_with_space());
        Lines lines;
        for (int i = 0; i < 300; ++i) {
            const std::string text = mended(lines.next());
            // Tokens that include the blanks beside them.
            if (text.find("<left>") != std::string::npos || text.find("<right>") != std::string::npos) continue;
            const auto ids = tokenizer->encode(text);
            QCOMPARE(tokenizer->decode(ids), text);
            QCOMPARE(streamed(*tokenizer, ids), text);
        }
    }

    void byte_fallback_streams_its_text_with_a_space_before_it() {
        const auto tokenizer = Tokenizer::open(kLayouts / "phi", 4096);
        QVERIFY(tokenizer->begins_with_space());
        const std::string text = "Hello \xE6\xBC\x94\xF0\x9F\x91\xA9 x";
        const auto ids = tokenizer->encode(text);
        QCOMPARE(tokenizer->decode(ids), text);
        QCOMPARE(streamed(*tokenizer, ids), " " + text);
    }

    void many_threads_encode_the_same() {
        const auto tokenizer = Tokenizer::open(kLayouts / "gpt_oss", 4096);
        std::vector<std::string> texts;
        std::vector<std::vector<TokenId>> expected;
        Lines lines;
        for (int i = 0; i < 200; ++i) {
            texts.push_back(mended(lines.next()));
            expected.push_back(tokenizer->encode(texts.back()));
        }
        std::atomic<int> n_wrong = 0;
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < 4; ++t) {
                threads.emplace_back([&] {
                    for (std::size_t i = 0; i < texts.size(); ++i)
                        n_wrong += tokenizer->encode(texts[i]) != expected[i];
                });
            }
        }
        QCOMPARE(n_wrong.load(), 0);
    }

    void watched_encoding_ends_when_its_check_throws_data() {
        QTest::addColumn<QString>("text");
        QString words;
        for (int i = 0; i < 30'000; ++i) words += QStringLiteral("word %1").arg(i);
        QTest::newRow("words") << words;
        QTest::newRow("one word") << QString(100'000, u'a');
    }
    void watched_encoding_ends_when_its_check_throws() {
        QFETCH(QString, text);
        const std::string utf8 = text.toStdString();
        const auto tokenizer = Tokenizer::open(kLayouts / "qwen", 4096);
        const std::vector<TokenId> all = tokenizer->encode(utf8);
        int n = 0;
        {
            const EncodingWatch watch([&] { ++n; });
            QCOMPARE(tokenizer->encode(utf8), all);
        }
        // At the beginning, while added tokens are looked for, and while words are
        // merged.
        QVERIFY2(n >= 48, qPrintable(QString::number(n)));
        struct Gone {};
        for (const int wanted : {3, n}) {
            int n_inner = 0;
            const EncodingWatch watch([&] {
                if (++n_inner == wanted) throw Gone();
            });
            QVERIFY_THROWS_EXCEPTION(Gone, tokenizer->encode(utf8));
            QCOMPARE(n_inner, wanted);
        }
        QCOMPARE(tokenizer->encode(utf8), all);
    }

    // A word of a megabyte, and a megabyte of words: neither takes quadratic time, which
    // would be minutes.
    void long_texts_are_encoded_whole() {
        const auto tokenizer = Tokenizer::open(kLayouts / "qwen", 4096);
        for (const std::string& part : {std::string("a"), std::string(" "), std::string("the actors wait 123\n")}) {
            std::string text;
            while (text.size() < (1u << 20)) text += part;
            QCOMPARE(tokenizer->decode(tokenizer->encode(text)), text);
        }
    }

    // ---------------------------------------------------------------- prompts
    void special_tokens_are_found_where_the_template_wrote_them() {
        Folder folder;
        json file = small();
        file["added_tokens"] = json::array({{{"id", 20}, {"content", "cc"}, {"special", true}},
                                            {{"id", 21}, {"content", "bb"}, {"special", false}},
                                            {{"id", 22}, {"content", "aa"}, {"special", false}},
                                            {{"id", 23}, {"content", "ccb"}, {"special", true}}});
        folder.write("tokenizer.json", file.dump());
        const auto tokenizer = folder.open();
        const auto chat = ChatTemplate::parse("{{ messages[0].content }}bb", "test");
        const auto ids = [&](const std::vector<std::string>& stretches) {
            return tokenizer->encode_prompt(prompt_of(stretches), chat.get());
        };
        using Ids = std::vector<TokenId>;
        QCOMPARE(ids({"cc"}), Ids{20});
        QCOMPARE(ids({"=cc"}), (Ids{2, 2}));
        QCOMPARE(ids({"c", "=c"}), (Ids{2, 2}));
        QCOMPARE(ids({"=c", "c"}), (Ids{2, 2}));
        QCOMPARE(ids({"ccb"}), Ids{23});
        QCOMPARE(ids({"cc", "=b"}), (Ids{20, 1}));  // the template's text stays a token
        QCOMPARE(ids({"=c", "cc"}), (Ids{2, 20}));
        QCOMPARE(ids({"=cc", "cc", "=cc"}), (Ids{2, 2, 20, 2, 2}));
        QCOMPARE(ids({"a", "=bc"}), Ids{4});  // a word reaches across
        // Tokens that are not special: those that the template writes are markers.
        QCOMPARE(ids({"bb", "=bb", "=aa"}), (Ids{21, 1, 1, 22}));
        QCOMPARE(tokenizer->encode_prompt(prompt_of({"=bb"}), nullptr), Ids{21});
        QCOMPARE(tokenizer->encode_after(4, "bbaacc", chat.get()), (Ids{1, 1, 22, 2, 2}));
        QCOMPARE(tokenizer->encode("bb"), Ids{21});
    }

    void special_tokens_of_normalized_text_are_found_where_the_template_wrote_them() {
        Folder folder;
        json file = small();
        file["added_tokens"] = json::array({{{"id", 20}, {"content", "cc"}, {"special", true}, {"normalized", true}}});
        file["normalizer"] = {
            {"type", "Sequence"},
            {"normalizers", json::array({{{"type", "NFC"}},
                                         {{"type", "Lowercase"}},
                                         {{"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", "cc"}},
                                         {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}})}};
        folder.write("tokenizer.json", file.dump());
        const auto tokenizer = folder.open();
        const auto ids = [&](const std::vector<std::string>& stretches) {
            return tokenizer->encode_prompt(prompt_of(stretches), nullptr);
        };
        using Ids = std::vector<TokenId>;
        QCOMPARE(ids({"CC", "=CC", "x", "=X", "C", "=C", "CC"}), (Ids{20, 2, 2, 20, 2, 2, 2, 2, 20}));
        QCOMPARE(ids({"=  cc", "CC", "=  "}), (Ids{2, 2, 20}));
        QCOMPARE(ids({"=\u00e9x", "x", "=e\u0301"}), (Ids{2, 2, 20}));  // longer and shorter by the normal form
    }

    // ---------------------------------------------------------------- the files' fields
    void special_tokens_and_ends_are_read() {
        Folder folder;
        folder.write("tokenizer.json", small().dump());
        folder.write("tokenizer_config.json", R"({"eos_token": "<end>", "bos_token": null})");
        auto tokenizer = folder.open();
        QCOMPARE(tokenizer->vocab_size(), 22);
        QCOMPARE(tokenizer->eos(), 20);
        QCOMPARE(tokenizer->bos(), -1);
        QVERIFY(!tokenizer->adds_bos() && !tokenizer->adds_eos());
        QVERIFY(tokenizer->is_control(20) && !tokenizer->is_control(21) && !tokenizer->is_control(4));
        QCOMPARE(tokenizer->special_token("<end>"), 20);
        QCOMPARE(tokenizer->special_token("<tool>"), 21);
        QCOMPARE(tokenizer->special_token("abc"), -1);
        QCOMPARE(tokenizer->piece_bytes(20), std::string());
        QCOMPARE(tokenizer->piece_name(20), std::string("<end>"));
        QCOMPARE(tokenizer->piece_bytes(7), std::string(" a"));
        QCOMPARE(tokenizer->piece_name(7), std::string("\u0120a"));
        QCOMPARE(tokenizer->piece_name(25), std::string());  // a gap
        QCOMPARE(tokenizer->piece_name(-1), std::string());
        using Ids = std::vector<TokenId>;
        QCOMPARE(tokenizer->encode_with_special("abc<end> a<tool>"), (Ids{4, 20, 7, 21}));
        QCOMPARE(tokenizer->encode("<tool>ab"), (Ids{21, 3}));
        QCOMPARE(tokenizer->encode("<end>"), Ids{});  // none of its characters is a token here
        QCOMPARE(tokenizer->decode(Ids{4, 20, 7, 22, -1, 99, 21}), std::string("abc a<tool>"));

        // The file puts a token before texts; tokenizer_config.json has the last word.
        json file = small();
        file["post_processor"] = {{"type", "TemplateProcessing"},
                                  {"single", json::array({{{"SpecialToken", {{"id", "<end>"}, {"type_id", 0}}}},
                                                          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}})}};
        folder.write("tokenizer.json", file.dump());
        folder.write("tokenizer_config.json", "{}");
        QVERIFY(folder.open()->adds_bos());
        QCOMPARE(folder.open()->bos(), 20);
        folder.write("tokenizer_config.json", R"({"bos_token": "<end>", "add_bos_token": false})");
        QVERIFY(!folder.open()->adds_bos());
        QCOMPARE(folder.open()->prefix(), Ids{});
        // A token that a field names is special, and one of tokenizer_config.json is
        // found too.
        folder.write("tokenizer_config.json",
                     R"({"eos_token": "<tool>", "added_tokens_decoder": {"30": {"content": "<more>"}}})");
        tokenizer = folder.open();
        QVERIFY(tokenizer->is_control(21));
        QCOMPARE(tokenizer->encode("<more>"), Ids{22});  // the next free id
        folder.write("tokenizer_config.json", R"({"eos_token": "<absent>"})");
        QVERIFY(QString(folder.error().what()).contains("<absent>"));
    }

    // GLM-4.5 puts two tokens before a text; the library puts all of a template there,
    // independent of the fields.
    void template_isPutAroundATextAsAWhole() {
        Folder folder;
        json file = small();
        const auto special = [](const char* id) { return json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
        const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
        const auto write = [&](const json& single) {
            file["post_processor"] = {
                {"type", "Sequence"},
                {"processors",
                 json::array({{{"type", "ByteLevel"}}, {{"type", "TemplateProcessing"}, {"single", single}}})}};
            folder.write("tokenizer.json", file.dump());
        };
        using Ids = std::vector<TokenId>;
        write(json::array({special("<tool>"), special("<end>"), text, special("abc"), special("<end>")}));
        folder.write("tokenizer_config.json", "{}");
        auto tokenizer = folder.open();
        QCOMPARE(tokenizer->prefix(), (Ids{21, 20}));
        QCOMPARE(tokenizer->suffix(), (Ids{4, 20}));
        QCOMPARE(tokenizer->bos(), -1);
        QVERIFY(!tokenizer->adds_bos() && !tokenizer->adds_eos());
        QCOMPARE(tokenizer->encode("abc"), Ids{4});  // as ever

        folder.write("tokenizer_config.json", R"({"bos_token": "<end>", "eos_token": "<end>"})");
        tokenizer = folder.open();
        QVERIFY(tokenizer->adds_bos() && tokenizer->adds_eos());
        QCOMPARE(tokenizer->prefix(), (Ids{21, 20}));
        folder.write("tokenizer_config.json", R"({"bos_token": "<end>", "eos_token": "<end>", "add_bos_token": false,
                                                  "add_eos_token": false})");
        tokenizer = folder.open();
        QCOMPARE(tokenizer->prefix(), Ids{21});
        QCOMPARE(tokenizer->suffix(), Ids{4});
        folder.write("tokenizer_config.json", R"({"bos_token": "ab", "eos_token": "a", "add_bos_token": true,
                                                  "add_eos_token": true})");
        tokenizer = folder.open();
        QCOMPARE(tokenizer->prefix(), (Ids{3, 21, 20}));
        QCOMPARE(tokenizer->suffix(), (Ids{4, 20, 0}));

        // A token other than the one named BOS is put there anyway.
        write(json::array({special("<tool>"), text}));
        folder.write("tokenizer_config.json", R"({"bos_token": "<end>"})");
        QCOMPARE(folder.open()->prefix(), Ids{21});
        QCOMPARE(folder.open()->bos(), 20);
        for (const char* unknown : {"<sop>", ""}) {
            write(json::array({special(unknown), special("<end>"), text}));
            QVERIFY2(QString(folder.error().what()).contains("post_processor \"" + QString(unknown) + "\""),
                     folder.error().what());
        }
    }

    void json_goes_before_tiktoken_and_pieces() {
        Folder folder;
        QVERIFY(!Tokenizer::is_in(folder.path()));
        QCOMPARE(folder.error().kind(), ErrorKind::kNotFound);
        QVERIFY(QString(folder.error().what()).contains("tokenizer.json"));
        folder.write("tokenizer.model", byte_lines());  // a tiktoken file of that name
        folder.write("tokenizer_config.json", R"({"pat_str": "\\w+|."})");
        QVERIFY(Tokenizer::is_in(folder.path()));
        QCOMPARE(folder.open()->encode("ab"), (std::vector<TokenId>{'a', 'b'}));
        folder.write("tokenizer.json", small().dump());
        QCOMPARE(folder.open()->encode("ab"), std::vector<TokenId>{3});
        folder.write("tokenizer.model", "no pieces in here");
        QCOMPARE(folder.open()->encode("ab"), std::vector<TokenId>{3});
    }

    // AutoTokenizer of transformers 5 uses tokenizer.json, for any "legacy"; the
    // tokenizer.model beside it would put a blank after each special token.
    void json_counts_where_pieces_lie_beside_it() {
        const std::string pieces = bytes_of(OFFSTAGE_SOURCE_DIR "/resources/demo-model/tokenizer.model");
        Folder alone, both;
        for (const char* config : {R"({"legacy": true})", R"({"legacy": false})", "{}"}) {
            for (Folder* folder : {&alone, &both}) {
                folder->write("tokenizer.json", bytes_of(kLayouts / "metaspace" / "tokenizer.json"));
                folder->write("tokenizer_config.json", config);
            }
            both.write("tokenizer.model", pieces);
            const auto expected = alone.open();
            const auto tokenizer = both.open();
            QCOMPARE(tokenizer->vocab_size(), expected->vocab_size());
            Lines lines;
            for (int i = 0; i < 200; ++i) {
                const std::string text = mended(lines.next());
                QVERIFY2(tokenizer->encode_with_special(text) == expected->encode_with_special(text), text.c_str());
            }
        }
        // One of a kind that is not read here leaves it to the pieces.
        both.write("tokenizer.json", R"({"model": {"type": "Unigram", "vocab": [["a", -1.5]], "unk_id": 0}})");
        QCOMPARE(both.open(2048)->encode("hello").front(),
                 Tokenizer::open(OFFSTAGE_SOURCE_DIR "/resources/demo-model", 2048)->encode("hello").front());
        both.write("tokenizer.json", "{");
        QVERIFY(QString(both.error().what()).contains("tokenizer.json"));
    }

    // The ids and texts are those of tokenizers 0.23 with such files.
    void ids_and_texts_that_are_there_twice_are_read_as_by_the_library() {
        using Ids = std::vector<TokenId>;
        const auto opened = [](const json& file, const char* config = "{}") {
            Folder folder;
            folder.write("tokenizer.json", file.dump());
            folder.write("tokenizer_config.json", config);
            return folder.open();
        };
        QVERIFY(opened(small())->notes().empty());
        // Two texts of one id: both are read.
        json file = small();
        file["model"]["vocab"]["c"] = 1;
        auto tokenizer = opened(file);
        QCOMPARE(tokenizer->encode("bc"), (Ids{1, 1}));
        QCOMPARE(tokenizer->notes().size(), std::size_t{1});
        QVERIFY(QString(tokenizer->notes()[0].english().c_str()).contains("ids of more than one text (texts: 1; the "));
        // One that no bytes are written as is none of a text, even as a whole word.
        file = small();
        file["model"]["ignore_merges"] = true;
        Folder with_other;
        std::string other = file.dump();
        other.insert(other.find("\"a\":0"), "\"\u65e5\":1,");
        with_other.write("tokenizer.json", other);
        QVERIFY(with_other.open()->encode("\u65e5") != Ids{1});
        // A text of two ids: the later one.
        Folder folder;
        std::string text = small().dump();
        text.replace(text.find("\"z8\":8"), 6, "\"a\":8");
        folder.write("tokenizer.json", text);
        QCOMPARE(folder.open()->encode("a"), Ids{8});
        // Added tokens have the ids of their texts, or the next ones.
        const auto added = [&](std::initializer_list<std::pair<int, const char*>> tokens, const char* config = "{}") {
            json with = small();
            with["added_tokens"] = json::array();
            for (const auto& [id, content] : tokens)
                with["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}});
            return opened(with, config);
        };
        tokenizer = added({{4, "<x>"}});
        QCOMPARE(tokenizer->encode_with_special("<x>abc"), (Ids{20, 4}));
        QVERIFY(QString(tokenizer->notes()[0].english().c_str()).contains("the first is \"<x>\", of 4, now 20"));
        QCOMPARE(added({{4, "<w>"}, {1, "<x>"}, {5, "<z>"}})->encode_with_special("<z><x><w>"), (Ids{22, 21, 20}));
        QCOMPARE(added({{21, "<y>"}, {21, "<x>"}, {25, "<y>"}})->encode_with_special("<x><y>"), (Ids{21, 20}));
        QCOMPARE(added({{30, "abc"}, {31, ""}, {32, "<x>"}})->encode_with_special("abc<x>"), (Ids{4, 20}));
        QCOMPARE(added({{1, "<x>"}}, R"({"added_tokens_decoder": {"1": {"content": "<x>"}, "6": {"content": "<y>"}}})")
                     ->encode_with_special("<x><y>"),
                 (Ids{20, 21}));
    }

    // As tokenizers 0.23.3 and transformers 5.24 read them: the last one's flags, and
    // special where one of them is.
    void an_added_token_that_is_there_twice_has_the_flags_of_the_last() {
        using Ids = std::vector<TokenId>;
        const json none = json::object(), left = {{"lstrip", true}}, right = {{"rstrip", true}};
        const json special = {{"special", true}}, text = {{"special", false}};
        const auto opened = [](const std::vector<json>& flags, const json& config, const char* older = "{}") {
            json file = small();
            file["added_tokens"] = json::array();
            for (json token : flags) {
                token.update({{"id", 20 + file["added_tokens"].size()}, {"content", "<x>"}});
                file["added_tokens"].push_back(token);
            }
            Folder folder;
            folder.write("tokenizer.json", file.dump());
            folder.write("tokenizer_config.json", config.dump());
            folder.write("added_tokens.json", older);
            return folder.open();
        };
        const auto ids = [&](const auto&... parts) { return opened(parts...)->encode_with_special("a <x> b"); };
        const Ids plain = {0, 6, 20, 6, 1}, takes_left = {0, 20, 6, 1}, takes_right = {0, 6, 20, 1};
        QCOMPARE(ids(std::vector{none, left}, none), takes_left);
        QCOMPARE(ids(std::vector{left, none}, none), plain);
        QCOMPARE(ids(std::vector{left, right}, none), takes_right);
        json config = left;
        config["content"] = "<x>";
        QCOMPARE(ids(std::vector{none}, json{{"added_tokens_decoder", {{"20", config}}}}), takes_left);
        QCOMPARE(ids(std::vector{left}, none, R"({"<x>": 20})"), takes_left);  // it has no flags
        QVERIFY(opened({special, text}, none)->is_control(20));
        QVERIFY(opened({text, special}, none)->is_control(20));
        QVERIFY(!opened({text, text}, none)->is_control(20));
    }

    // Hugging Face tokenizers reads an empty list, and none without one.
    void an_empty_list_of_merges_leaves_characters() {
        json file = small();
        file["model"]["merges"] = json::array();
        Folder folder;
        folder.write("tokenizer.json", file.dump());
        const auto ids = folder.open()->encode("ab");
        QCOMPARE(ids.size(), std::size_t{2});
        QCOMPARE(folder.open()->decode(ids), std::string("ab"));
    }

    // ---------------------------------------------------------------- bad input
    void impossible_json_is_refused_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("part");
        const auto raw = [](const char* name, const std::string& text, const char* part) {
            QTest::addRow("%s", name) << QByteArray::fromStdString(text) << part;
        };
        const auto changed = [&](const char* name, const char* pointer, const json& value, const char* part) {
            json file = small();
            file[json::json_pointer(pointer)] = value;
            raw(name, file.dump(), part);
        };
        const auto without = [&](const char* name, const char* field, const char* part) {
            json file = small();
            file["model"].erase(field);
            raw(name, file.dump(), part);
        };
        raw("empty", "", "is not valid JSON");
        raw("a list", "[]", "must hold a JSON object");
        raw("cut", small().dump().substr(0, 300), "is not valid JSON");
        raw("no model", "{}", "the field model must be an object");
        raw("deep", "{\"x\":" + std::string(5000, '[') + std::string(5000, ']') + "}", "nested less deeply");
        without("no merges", "merges", "the field model.merges must be a list of merges");
        without("no vocabulary", "vocab", "the field model.vocab must be an object of tokens");
        changed("a merge of three", "/model/merges/1", "a b c", "model.merges[1]");
        changed("a merge of one", "/model/merges/0", json::array({"a"}), "model.merges[0]");
        changed("a merge of numbers", "/model/merges/0", json::array({1, 2}), "model.merges[0]");
        changed("a merge that is no list", "/model/merges/0", 7, "model.merges[0]");
        changed("merges in an object", "/model/merges", json::object(), "model.merges");
        changed("a merge of no token", "/model/merges/0", "a x", "model.merges[0]");
        changed("a merge to no token", "/model/merges/0", "b a", "model.merges[0]");
        changed("a list of tokens", "/model/vocab", json::array({"a"}), "model.vocab");
        changed("an id below zero", "/model/vocab/a", -1, "an id from 0 to 4095");
        changed("an id above the vocabulary", "/model/vocab/a", 4096, "not 4096");
        changed("a huge id", "/model/vocab/a", 18446744073709551615u, "an id from 0 to 4095");
        changed("an id that is no integer", "/model/vocab/a", 1e300, "model.vocab");
        changed("an id that is a text", "/model/vocab/a", "1", "model.vocab");
        changed("another model", "/model/type", "Unigram", "the field model.type is \"Unigram\"");
        changed("dropout", "/model/dropout", 0.1, "model.dropout");
        changed("a mark of word ends", "/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix");
        changed("an unknown token that is none", "/model/unk_token", "<?>", "model.unk_token");
        changed("a flag that is none", "/model/byte_fallback", "yes", "true or false");
        changed("an unknown pre-tokenizer", "/pre_tokenizer/type", "BertPreTokenizer",
                "the field pre_tokenizer.type is \"BertPreTokenizer\", which is not supported; known are Split");
        changed("a pre-tokenizer without a type", "/pre_tokenizer", json::object(), "pre_tokenizer.type");
        changed("steps behind ByteLevel", "/pre_tokenizer",
                {{"type", "Sequence"},
                 {"pretokenizers", json::array({{{"type", "ByteLevel"}}, {{"type", "WhitespaceSplit"}}})}},
                "pre_tokenizer.pretokenizers[1]");
        changed(
            "a pattern that PCRE2 refuses", "/pre_tokenizer", regex_split("(a"),
            "the field pre_tokenizer.pattern.Regex holds a pattern that PCRE2 refuses: missing closing parenthesis");
        changed("a property that nobody knows", "/pre_tokenizer", regex_split("\\p{Klingonisch}"), "PCRE2 refuses");
        changed("a class that PCRE2 has not", "/pre_tokenizer", regex_split("[a[^b]]"), "PCRE2 refuses");
        changed("an order to PCRE2", "/pre_tokenizer", regex_split("(*LIMIT_MATCH=9)a"), "a regular expression");
        changed("no pattern", "/pre_tokenizer", {{"type", "Split"}, {"behavior", "Isolated"}},
                "an object with \"Regex\" or \"String\"");
        changed("an unknown behavior", "/pre_tokenizer",
                {{"type", "Split"}, {"pattern", {{"String", "x"}}}, {"behavior", "Dropped"}}, "pre_tokenizer.behavior");
        changed("an empty pattern", "/pre_tokenizer",
                {{"type", "Split"}, {"pattern", {{"String", ""}}}, {"behavior", "Isolated"}}, "pattern.String");
        changed("an unknown normalizer", "/normalizer", {{"type", "BertNormalizer"}}, "normalizer.type");
        changed("no decoder", "/decoder", nullptr, "decoder");
        changed("an unknown decoder", "/decoder", {{"type", "CTC"}}, "decoder.type");
        changed("an unknown processor", "/post_processor", {{"type", "BertProcessing"}}, "post_processor.type");
        changed("an added token without an id", "/added_tokens/0/id", nullptr, "a token id");
        changed("a long added token", "/added_tokens/0/content", std::string(1025, 'a'), "a text of 1 to 1024 bytes");
        changed("an added token of no kind", "/added_tokens/0", 5, "an object with a string \"content\"");
    }
    void impossible_json_is_refused() {
        QFETCH(QByteArray, file);
        QFETCH(QString, part);
        Folder folder;
        folder.write("tokenizer.json", file.toStdString());
        const Error error = folder.error();
        QVERIFY2(error.kind() == ErrorKind::kInvalidModel || error.kind() == ErrorKind::kUnsupported, error.what());
        QVERIFY2(QString(error.what()).contains("tokenizer.json"), error.what());
        QVERIFY2(QString(error.what()).contains(part), error.what());
    }

    void impossible_tiktoken_is_refused_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QByteArray>("config");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* name, const std::string& file, const char* part,
                            const char* config = R"({"encoding_name": "cl100k_base"})") {
            QTest::addRow("%s", name) << QByteArray::fromStdString(file) << QByteArray(config) << part;
        };
        row("empty", "", "the byte 0 is no token");
        row("a byte missing", byte_lines(255), "the byte 255 is no token");
        row("no base64", byte_lines() + "a*b= 256\n", "line 257: must be a token in base64");
        row("base64 cut", byte_lines() + "YWI 256\n", "line 257");
        row("no rank", byte_lines() + "YWI=\n", "line 257");
        row("a rank that is none", byte_lines() + "YWI= x\n", "line 257");
        row("a huge rank", byte_lines() + "YWI= 99999999999999999999\n", "line 257");
        row("a rank above the vocabulary", byte_lines() + "YWI= 4096\n", "not 4096");
        row("a rank below zero", byte_lines() + "YWI= -1\n", "not -1");
        row("a rank twice", byte_lines() + "YWI= 255\n", "the id is given twice");
        row("a token twice", byte_lines() + "YWI= 256\nYWI= 257\n", "rank 257 is given twice");
        row("no pattern", byte_lines(), "pat_str", "{}");
        row("a pattern that PCRE2 refuses", byte_lines(), "PCRE2 refuses", R"({"pat_str": "a{3,1}"})");
    }
    void impossible_tiktoken_is_refused() {
        QFETCH(QByteArray, file);
        QFETCH(QByteArray, config);
        QFETCH(QString, part);
        Folder folder;
        folder.write("x.tiktoken", file.toStdString());
        folder.write("tokenizer_config.json", config.toStdString());
        const Error error = folder.error();
        QCOMPARE(error.kind() == ErrorKind::kInvalidModel || error.kind() == ErrorKind::kUnsupported, true);
        QVERIFY2(QString(error.what()).contains(part), error.what());
    }

    // Patterns that take time polynomial or exponential in the text's length.
    void hostile_patterns_end_in_an_error_data() {
        QTest::addColumn<QString>("pattern");
        for (const char* pattern : {"(a+)+b", "(?:a|a)*b", "a*a*a*a*a*a*b", "(a|aa)*c", "(?:(?:a?){20}){20}b"}) {
            QTest::addRow("%s", pattern) << pattern;
        }
    }
    void hostile_patterns_end_in_an_error() {
        QFETCH(QString, pattern);
        json file = small();
        file["pre_tokenizer"] = regex_split(pattern.toStdString());
        Folder folder;
        folder.write("tokenizer.json", file.dump());
        const auto tokenizer = folder.open();
        std::string text(20'000, 'a');
        text += "!bc";
        QCOMPARE(mismatch(error_of([&] { tokenizer->encode(text); }), ErrorKind::kInvalidInput, "too many steps"),
                 QString());
    }

    void patterns_mean_what_they_mean_elsewhere_data() {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<bool>("rust");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("matches");
        const auto row = [](const char* pattern, const char* text, const QStringList& matches, bool rust = false) {
            QTest::addRow("%s%s", pattern, rust ? " (Rust)" : "") << pattern << rust << text << matches;
        };
        row("a{1,3}+", "aaaaaaaxa", {"aaaaaaa", "a"});  // repeats the repetition
        row("a{1,3}+", "aaaaaaaxa", {"aaa", "aaa", "a", "a"}, true);
        row("(?:ab){2}+c?", "ababababc", {"ababababc"});
        row("\\s", "a\u180eb\u0085c\u3000", {"\u0085", "\u3000"});
        row("\\S+", "a\u180eb c", {"a\u180eb", "c"});
        row("\\w+", "e\u0301\u203f\u0663\u00b2", {"e\u0301\u203f\u0663"});
        row("[\\w-]+", "e\u0301-x y", {"e\u0301-x", "y"});
        row("\\W", "a. b", {".", " "});
        row("\\h+", "x0fAg", {"0fA"});
        row("\\p{Han}+", "\u6f14\u5458\u3002\u3001\u3042", {"\u6f14\u5458"});  // not the script's extensions
        row("[\\p{L}&&[^\\p{Han}]]+", "ab\u6f14c1", {"ab", "c"});
        row("[^\\p{L}&&[^a]]+", "ab1", {"a", "1"});
        row("[a-c[x-z]]+", "axd", {"ax"});
        row("[&a]+", "a&b", {"a&"});
        row("^b|a$", "a\nb", {"a", "b"});
        row("^b|a$", "a\nb", {}, true);
        row("\\u00e9|\\x41", "A\u00e9", {"A", "\u00e9"});
        row("\\u{e9}", "A\u00e9", {"\u00e9"}, true);
        row("(?i:'s)", "'S'\u017f'T", {"'S", "'\u017f"});
        row("x*", "axxb", {"", "xx", ""});
        row("[{]2|a{1}", "{2a", {"{2", "a"});
    }
    void patterns_mean_what_they_mean_elsewhere() {
        QFETCH(QString, pattern);
        QFETCH(bool, rust);
        QFETCH(QString, text);
        QFETCH(QStringList, matches);
        const json none;
        const auto compiled = SplitPattern::regex(
            pattern.toStdString(), rust ? PatternSyntax::kRust : PatternSyntax::kOniguruma, JsonPart(none, "test"));
        const std::string subject = text.toStdString();
        QStringList found;
        std::size_t at = 0;
        for (const TextSpan& span : compiled.find(subject)) {
            QCOMPARE(span.begin, at);  // without a gap
            at = span.end;
            if (span.is_match) found << QString::fromStdString(subject.substr(span.begin, span.end - span.begin));
        }
        QCOMPARE(at, subject.size());
        QCOMPARE(found, matches);
    }

    void findings_of_fuzzing_end_in_ids_or_an_error() {
        int n_opened = 0;
        int n_refused = 0;
        for (const char* kind : {"tokenizer_json", "tiktoken"}) {
            for (const auto& entry : std::filesystem::directory_iterator(
                     std::filesystem::path(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus") / kind)) {
                Folder folder;
                folder.write(kind == std::string("tiktoken") ? "x.tiktoken" : "tokenizer.json", bytes_of(entry.path()));
                folder.write("tokenizer_config.json", R"({"encoding_name": "cl100k_base"})");
                try {
                    const auto tokenizer = folder.open();
                    const std::string text = tokenizer->decode(tokenizer->encode_with_special("a cab<end> \u6f14 12"));
                    QCOMPARE(find_invalid_utf8(text), std::string::npos);
                    ++n_opened;
                } catch (const Error&) {
                    ++n_refused;
                }
            }
        }
        QVERIFY(n_opened >= 5);
        QVERIFY(n_refused >= 5);
    }
};

QTEST_APPLESS_MAIN(BpeTokenizerTest)
#include "tst_bpe_tokenizer.moc"
