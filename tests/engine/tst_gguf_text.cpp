#include <map>
#include <numeric>

#include <QTest>

#include "engine/error.h"
#include "engine/files/gguf.h"
#include "engine/files/gguf_file.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/gguf_tokens.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/text_lines.h"
#include "tests/engine/tokenizer_folder.h"

using namespace offstage::engine;
using nlohmann::json;
using offstage::test::bytes_of;
using offstage::test::kLayouts;
using offstage::test::kTextData;
using offstage::test::Lines;
using offstage::test::mended;
using offstage::tests::GgufWriter;
using namespace offstage::tests::gguf_tokens;

namespace {

// A tokenizer.json without the flags of added tokens that a GGUF file cannot hold.
json without_flags(json file) {
    for (json& token : file["added_tokens"]) {
        for (const char* flag : {"lstrip", "rstrip", "single_word", "normalized"}) token[flag] = false;
    }
    return file;
}

// The same tokenizer as llama.cpp's converters write it.
GgufWriter gguf_of(const json& file, const std::string& pre) {
    Tokens tokens;
    for (const auto& [name, id] : file["model"]["vocab"].items()) {
        const bool is_byte = file["model"]["byte_fallback"].get<bool>() && name.starts_with("<0x");
        tokens.put(id.get<std::size_t>(), name, is_byte ? kByte : kNormal);
    }
    for (const json& token : file["added_tokens"]) {
        tokens.put(token["id"].get<std::size_t>(), token["content"].get<std::string>(),
                   token["special"].get<bool>() ? kControl : kUserDefined);
    }
    std::vector<std::string> merges;
    for (const json& merge : file["model"]["merges"]) {
        merges.push_back(merge.is_string() ? merge.get<std::string>()
                                           : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
    GgufWriter writer = tokens.writer(pre == "gemma4" ? pre : "gpt2");
    if (pre == "gemma4") writer.add("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
    return writer.add("tokenizer.ggml.pre", pre).add("tokenizer.ggml.merges", merges);
}

// From a tiktoken file: each token's merge is the last of those that make it.
GgufWriter gguf_of(const Tokenizer& tiktoken, std::size_t n_ranks, const std::string& pre) {
    Tokens tokens;
    std::map<std::string, std::size_t> ranks;
    for (std::size_t id = 0; id < static_cast<std::size_t>(tiktoken.vocab_size()); ++id) {
        const auto token = static_cast<TokenId>(id);
        tokens.put(id, tiktoken.piece_name(token), tiktoken.is_control(token) ? kControl : kNormal);
        if (id < n_ranks) ranks.emplace(tokens.names[id], id);
    }
    std::vector<std::string> merges;
    for (std::size_t id = 0; id < n_ranks; ++id) {
        std::vector<std::string> parts;
        const std::string& name = tokens.names[id];
        for (std::size_t at = 0; at < name.size();) {
            const std::size_t n = character_bytes(name, at);
            parts.push_back(name.substr(at, n));
            at += n;
        }
        while (parts.size() > 2) {
            std::size_t best = id;
            std::size_t where = 0;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
                const auto found = ranks.find(parts[i] + parts[i + 1]);
                if (found == ranks.end() || found->second >= best) continue;
                best = found->second;
                where = i;
            }
            if (best == id) break;
            parts[where] += parts[where + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(where) + 1);
        }
        if (parts.size() == 2) merges.push_back(parts[0] + " " + parts[1]);
    }
    return tokens.writer("gpt2").add("tokenizer.ggml.pre", pre).add("tokenizer.ggml.merges", merges);
}

// DeepSeekMoE's small tokenizer has only the first of the letters with two cases.
bool has_letters_of_no_layout(const std::string& text) {
    static constexpr std::pair<char32_t, char32_t> kKnown[] = {{0, 0x7F},      {0xB5, 0xB5},    {0xC0, 0xD6},
                                                               {0xD8, 0xF6},   {0xF8, 0x1BA},   {0x370, 0x373},
                                                               {0x400, 0x481}, {0x10A0, 0x10C5}};
    for (const char32_t c : QString::fromStdString(text).toUcs4()) {
        if (QChar::isLower(c) || QChar::isUpper(c) || QChar::category(c) == QChar::Letter_Titlecase) {
            const auto holds = [&](const auto& range) { return c >= range.first && c <= range.second; };
            if (std::none_of(std::begin(kKnown), std::end(kKnown), holds)) return true;
        }
    }
    return false;
}

// The pieces of a sentencepiece tokenizer.model: records of protobuf.
Tokens pieces_of(const std::string& model) {
    std::size_t at = 0;
    const auto varint = [&] {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = static_cast<unsigned char>(model[at++]);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
    };
    Tokens tokens;
    while (at < model.size()) {
        const auto tag = varint();
        const auto end = varint() + at;
        if (tag != (1 << 3 | 2)) {
            at = end;
            continue;
        }
        std::string text;
        float score = 0;
        std::uint64_t type = kNormal;
        while (at < end) {
            const auto field = varint() >> 3;
            if (field == 2) {
                std::memcpy(&score, model.data() + at, sizeof score);
                at += sizeof score;
            } else if (field == 3) {
                type = varint();
            } else {
                const auto n = varint();
                text = model.substr(at, n);
                at += n;
            }
        }
        tokens.add(text, static_cast<Type>(type), score);
    }
    return tokens;
}

}  // namespace

class GgufTextTest : public QObject {
    Q_OBJECT

  private slots:
    // ---- the same as from the model's own files
    void ids_equal_those_of_tokenizer_json_data() {
        QTest::addColumn<QString>("layout");
        QTest::addColumn<QString>("pre");
        const auto row = [](const char* layout, const char* pre) { QTest::addRow("%s", pre) << layout << pre; };
        row("dbrx", "dbrx");
        row("deepseek", "deepseek-v3");
        row("deepseek_moe", "deepseek-llm");
        row("gemma", "gemma4");
        row("glm", "glm4");
        row("gpt_oss", "gpt-4o");
        row("granite", "refact");
        row("olmoe", "olmo");
        row("qwen", "qwen2");
        row("kimi", "kimi-k2");
        row("tiktoken", "llama-bpe");
    }
    void ids_equal_those_of_tokenizer_json() {
        QFETCH(QString, layout);
        QFETCH(QString, pre);
        const std::filesystem::path folder = kLayouts / layout.toStdString();
        std::unique_ptr<Tokenizer> expected;
        std::unique_ptr<Tokenizer> tokenizer;
        if (std::filesystem::exists(folder / "tokenizer.json")) {
            const json file = without_flags(json::parse(bytes_of(folder / "tokenizer.json")));
            const offstage::test::TokenizerFolder copy(kVocabSize);
            copy.write("tokenizer.json", file.dump());
            expected = copy.open();
            tokenizer = open(gguf_of(file, pre.toStdString()));
        } else {
            const std::string ranks = bytes_of(folder / "small.tiktoken");
            expected = Tokenizer::open(folder, kVocabSize);
            tokenizer = open(gguf_of(*expected, static_cast<std::size_t>(std::count(ranks.begin(), ranks.end(), '\n')),
                                     pre.toStdString()));
        }
        QCOMPARE(tokenizer->vocab_size(), expected->vocab_size());
        Lines lines;
        int n_compared = 0;
        for (int i = 0; i < 2'500; ++i) {
            const std::string text = mended(lines.next());
            if (pre == "deepseek-llm" && has_letters_of_no_layout(text)) continue;
            ++n_compared;
            QVERIFY2(tokenizer->encode(text) == expected->encode(text), text.c_str());
            const Ids ids = tokenizer->encode_with_special(text);
            QVERIFY2(ids == expected->encode_with_special(text), text.c_str());
            QCOMPARE(tokenizer->decode(ids), expected->decode(ids));
        }
        QVERIFY(n_compared >= 800);
    }

    void ids_equal_those_of_sentencepiece_data() {
        QTest::addColumn<QString>("folder");
        QTest::addRow("demo model") << OFFSTAGE_SOURCE_DIR "/resources/demo-model";
        QTest::addRow("bpe") << QString::fromStdString((kTextData / "bpe").string());
    }
    void ids_equal_those_of_sentencepiece() {
        QFETCH(QString, folder);
        const std::string model = bytes_of(std::filesystem::path(folder.toStdString()) / "tokenizer.model");
        const offstage::test::TokenizerFolder copy(kVocabSize);
        copy.write("tokenizer.model", model);
        const auto expected = copy.open();
        const auto tokenizer = open(pieces_of(model).writer("llama"));
        QCOMPARE(tokenizer->vocab_size(), expected->vocab_size());
        QCOMPARE(tokenizer->bos(), expected->bos());
        QCOMPARE(tokenizer->eos(), expected->eos());
        QVERIFY(tokenizer->adds_bos() && !tokenizer->adds_eos());
        std::vector<std::string> texts;
        for (const char* golden : {"demo-model.ids.json", "bpe.ids.json"}) {
            const json file = json::parse(bytes_of(kTextData / golden));
            for (const json& text : file["texts"]) {
                texts.push_back(text["text"].get<std::string>());
            }
        }
        Lines lines;
        while (texts.size() < 4'000) texts.push_back(mended(lines.next()));
        for (const std::string& text : texts) {
            const Ids ids = tokenizer->encode(text);
            QVERIFY2(ids == expected->encode(text), text.c_str());
            QVERIFY2(tokenizer->encode_with_special("<s>" + text + "</s>") ==
                         expected->encode_with_special("<s>" + text + "</s>"),
                     text.c_str());
            QCOMPARE(tokenizer->decode(ids), expected->decode(ids));
        }
    }

    // ---- names of ways to cut words
    void each_name_cuts_as_its_models_do_data() {
        QTest::addColumn<QString>("names");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("words");
        const auto row = [](const char* names, const char* text, const QStringList& words) {
            QTest::addRow("%s", names) << names << text << words;
        };
        row("gpt-2 phi-2 olmo mpt granite-docling", "It's 123,\n\n x", {"It", "'s", " 123", ",", "\n\n", " x"});
        row("default falcon", "It's 12345 a$", {"It", "'", "s", " ", "123", "45", " a", "$"});
        row("starcoder refact smollm command-r", "x 12", {"x", " ", "1", "2"});
        row("dbrx smaug-bpe glm4 chatglm-bpe llama-bpe llama3 lfm2", "IT'LL 1234\n\n x()\n",
            {"IT", "'LL", " ", "123", "4", "\n\n", " x", "()\n"});
        row("qwen2 deepseek-r1-qwen hunyuan", "It's 12 \u0915\u094D\u0937",
            {"It", "'s", " ", "1", "2", " \u0915", "\u094D\u0937"});
        row("qwen35", "It's 12 \u0915\u094D\u0937", {"It", "'s", " ", "1", "2", " \u0915\u094D\u0937"});
        row("gpt-4o llama4 minimax-m2", "HelloWorld's 1234//\n", {"Hello", "World's", " ", "123", "4", "//\n"});
        row("tekken", "HelloWorld's 12//\n", {"Hello", "World", "'s", " ", "1", "2", "//\n"});
        row("kimi-k2", "Hello\u6F14\u5458World 1234", {"Hello", "\u6F14\u5458", "World", " ", "123", "4"});
        row("deepseek-llm", "Ab \u03B1\u6F14 12,!", {"Ab", " \u03B1", "\u6F14", " ", "1", "2", ",!"});
        row("deepseek-coder", "Ab, x\n12", {"Ab", ",", " x", "\n", "1", "2"});
        row("deepseek-v3", "a 1234 \u6F14\u30AB.x !!\n", {"a", " ", "123", "4", " ", "\u6F14\u30AB", ".x", " !!\n"});
        row("bailingmoe bailingmoe2", "It's 12\n\nx", {"It", "'s", " ", "1", "2", "\n\n", "x"});
        row("superbpe", "by 1234567 x", {"by ", "1", "234", "567", " x"});
    }
    // Each word is one token of the vocabulary, whose merges continue across the words'
    // ends.
    void each_name_cuts_as_its_models_do() {
        QFETCH(QString, names);
        QFETCH(QString, text);
        QFETCH(QStringList, words);
        Tokens tokens = byte_tokens();
        std::vector<std::string> merges;
        std::string sofar;
        const std::string whole = text.toStdString();
        std::map<std::string, bool> known;
        for (const std::string& name : tokens.names) known[name] = true;
        // Every stretch of the text is a token, longer ones of higher rank.
        const auto level = [&](const std::string& bytes) {
            std::string out;
            for (const char c : bytes) out += tokens.names[static_cast<unsigned char>(c)];
            return out;
        };
        std::vector<std::string> added;
        for (std::size_t n = 2; n <= whole.size(); ++n) {
            for (std::size_t at = 0; at + n <= whole.size(); ++at) {
                const std::string stretch = level(whole.substr(at, n));
                if (!known.emplace(stretch, true).second) continue;
                added.push_back(stretch);
                merges.push_back(level(whole.substr(at, n - 1)) + " " + level(whole.substr(at + n - 1, 1)));
            }
        }
        for (const std::string& token : added) tokens.add(token);
        for (const QString& name : names.split(' ')) {
            const auto tokenizer = open(tokens.writer("gpt2")
                                            .add("tokenizer.ggml.pre", name.toStdString())
                                            .add("tokenizer.ggml.merges", merges));
            // Merges of equal length may stop before a word's end; none goes across one.
            const Ids ids = tokenizer->encode(whole);
            QStringList joined;
            std::size_t taken = 0;
            for (const QString& word : words) {
                std::string sum;
                while (taken < ids.size() && sum.size() < word.toStdString().size()) {
                    sum += tokenizer->piece_bytes(ids[taken++]);
                }
                joined << QString::fromStdString(sum);
            }
            QCOMPARE(joined, words);
            QCOMPARE(taken, ids.size());
        }
    }

    void composed_characters_are_wanted_by_some() {
        const std::string decomposed = "Cafe\u0301";
        for (const char* name : {"qwen2", "qwen35", "olmo"}) {
            const auto tokenizer = open(small_bpe().add("tokenizer.ggml.pre", name));
            QCOMPARE(tokenizer->decode(tokenizer->encode(decomposed)), std::string("Caf\u00E9"));
        }
        const auto tokenizer = open(small_bpe().add("tokenizer.ggml.pre", "gpt-4o"));
        QCOMPARE(tokenizer->decode(tokenizer->encode(decomposed)), decomposed);
    }

    // ---- special tokens
    void types_say_what_is_special() {
        Tokens more;
        more.add("<|begin|>", kControl).add("<tool>", kUserDefined).add("[PAD260]", kUnused);
        const auto tokenizer = open(small_bpe(more).add("tokenizer.ggml.bos_token_id", std::uint32_t{258}));
        QCOMPARE(tokenizer->vocab_size(), 261);
        QCOMPARE(tokenizer->bos(), 258);
        QCOMPARE(tokenizer->eos(), -1);
        QVERIFY(!tokenizer->adds_bos());
        QVERIFY(tokenizer->is_control(258) && !tokenizer->is_control(259) && !tokenizer->is_control(260));
        QCOMPARE(tokenizer->special_token("<|begin|>"), 258);
        QCOMPARE(tokenizer->special_token("<tool>"), 259);
        QCOMPARE(tokenizer->special_token("[PAD260]"), -1);
        QCOMPARE(tokenizer->encode_with_special("abc<|begin|>ab<tool>"), (Ids{257, 258, 256, 259}));
        QCOMPARE(tokenizer->encode("ab<tool>"), (Ids{256, 259}));
        QVERIFY(tokenizer->encode("<|begin|>").size() > 1);
        QCOMPARE(tokenizer->decode(Ids{257, 258, 259}), std::string("abc<tool>"));
        QCOMPARE(tokenizer->ends(), Ids{});
    }

    void a_text_begins_with_bos_as_the_file_or_the_kind_says() {
        Tokens more;
        more.add("<s>", kControl);
        const GgufWriter writer = small_bpe(more).add("tokenizer.ggml.bos_token_id", std::uint32_t{258});
        const auto begins = [&](const char* pre) {
            return open(GgufWriter(writer).add("tokenizer.ggml.pre", pre))->adds_bos();
        };
        QVERIFY(begins("llama-bpe") && begins("tekken") && !begins("qwen2") && !begins("gpt-4o"));
        QVERIFY(open(GgufWriter(writer).add("tokenizer.ggml.add_bos_token", true))->adds_bos());
        QVERIFY(
            !open(GgufWriter(writer).add("tokenizer.ggml.pre", "llama-bpe").add("tokenizer.ggml.add_bos_token", false))
                 ->adds_bos());
        const GgufWriter spm = small_pieces().writer("llama");
        QVERIFY(open(spm)->adds_bos());
        QCOMPARE(open(spm)->bos(), 1);
        QCOMPARE(open(spm)->eos(), 2);
        QVERIFY(!open(GgufWriter(spm).add("tokenizer.ggml.add_bos_token", false))->adds_bos());
        QVERIFY(open(GgufWriter(spm).add("tokenizer.ggml.add_eos_token", true))->adds_eos());
    }

    // Its files have "add_bos_token": false.
    void texts_of_glm_begin_with_two_tokens() {
        Tokens more;
        more.add("[gMASK]", kControl).add("<sop>", kControl);
        GgufWriter writer = small_bpe(more).add("tokenizer.ggml.bos_token_id", std::uint32_t{258});
        writer.add("tokenizer.ggml.add_bos_token", false);
        QCOMPARE(open(writer)->prefix(), Ids{});
        writer.add("tokenizer.ggml.pre", "glm4");
        QCOMPARE(open(writer)->prefix(), (Ids{258, 259}));
        QCOMPARE(open(small_bpe().add("tokenizer.ggml.pre", "glm4"))->prefix(), Ids{});
    }

    void ends_of_a_turn_are_named_or_known_data() {
        QTest::addColumn<QStringList>("tokens");  // 258 and after
        QTest::addColumn<QVariantMap>("ids");
        QTest::addColumn<QList<int>>("ends");
        const auto row = [](const char* name, const QStringList& tokens, const QVariantMap& ids,
                            const QList<int>& ends) { QTest::addRow("%s", name) << tokens << ids << ends; };
        row("eos", {"<x>", "<y>"}, {{"eos", 259}}, {259});
        row("eot and eom", {"<x>", "<y>", "<z>"}, {{"eos", 260}, {"eot", 258}, {"eom", 259}}, {260, 258, 259});
        row("known texts", {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}, {{"eos", 260}}, {260, 259});
        row("harmony", {"<|return|>", "<|start|>", "<|end|>", "<|call|>"}, {{"eos", 258}}, {258, 261});
        row("phi", {"<|end|>", "<|user|>"}, {}, {258});
        row("gemma", {"<eos>", "</s>", "<|tool_response>", "<turn|>"}, {{"eos", 258}}, {258, 260, 261});
        row("deepseek", {"<\uFF5Cend\u2581of\u2581sentence\uFF5C>"}, {}, {258});
        row("minimax", {"[e~[", "]~b]"}, {{"eos", 258}}, {258});
    }
    void ends_of_a_turn_are_named_or_known() {
        QFETCH(QStringList, tokens);
        QFETCH(QVariantMap, ids);
        QFETCH(QList<int>, ends);
        for (const Type type : {kControl, kUserDefined}) {
            Tokens more;
            for (const QString& token : tokens) more.add(token.toStdString(), type);
            GgufWriter writer = small_bpe(more);
            for (const auto& [name, id] : ids.asKeyValueRange()) {
                writer.add("tokenizer.ggml." + name.toStdString() + "_token_id", id.toUInt());
            }
            const auto tokenizer = open(writer);
            const Ids found = tokenizer->ends();
            QCOMPARE(QList<int>(found.begin(), found.end()), ends);
            const bool is_named = ids.contains("eot");  // which changes no type
            QVERIFY(is_named || tokenizer->is_control(ends.last()));
        }
    }

    // Qwen's vocabulary has the tag among its ordinary tokens.
    void normal_tokens_are_ends_if_nobody_writes_them() {
        Tokens more;
        more.add("</s>").add("<eos>").add("<|im_end|>");
        const auto tokenizer = open(small_bpe(more));
        QCOMPARE(tokenizer->ends(), Ids{260});
        QVERIFY(!tokenizer->is_control(258) && tokenizer->is_control(260));
        QCOMPARE(tokenizer->special_token("</s>"), -1);
        QCOMPARE(tokenizer->piece_bytes(258), std::string("</s>"));
    }

    // ---- files in use
    // Ollama's converter writes llama, and gives each token its id as its score.
    void gemma4_is_no_sentencepiece_whatever_its_model_is_called() {
        const json file = without_flags(json::parse(bytes_of(kLayouts / "gemma" / "tokenizer.json")));
        const auto expected = open(gguf_of(file, "gemma4"));
        GgufWriter writer = gguf_of(file, "gemma4").add("tokenizer.ggml.model", "llama");
        std::vector<float> scores(static_cast<std::size_t>(expected->vocab_size()));
        std::iota(scores.begin(), scores.end(), 0.0f);
        writer.add("tokenizer.ggml.scores", scores);
        const auto named = open(writer);
        const auto by_family = open(writer.remove("tokenizer.ggml.pre").add("general.architecture", "gemma4"));
        Lines lines;
        for (int i = 0; i < 500; ++i) {
            const std::string text = mended(lines.next());
            const Ids ids = expected->encode_with_special(text);
            QVERIFY2(named->encode_with_special(text) == ids, text.c_str());
            QVERIFY2(by_family->encode_with_special(text) == ids, text.c_str());
            QCOMPARE(named->decode(ids), expected->decode(ids));
        }
        QCOMPARE(named->adds_bos(), expected->adds_bos());
        QVERIFY(named->notes().empty());
    }

    void default_cuts_as_the_family_does_where_ollama_says_no_more() {
        Tokens tokens = byte_tokens();
        tokens.add("1234").add("12").add("34").add("/\u010A/").add("/\u010A");  // 256 to 260
        tokens.add("[gMASK]", kControl).add("<sop>", kControl);
        const std::vector<std::string> merges = {"/ \u010A", "/\u010A /", "1 2", "3 4", "12 34"};
        GgufWriter writer = tokens.writer("gpt2").add("tokenizer.ggml.merges", merges);
        const auto of = [&](const char* architecture) {
            return open(writer.add("general.architecture", architecture).add("tokenizer.ggml.pre", "default"));
        };
        const std::string text = "1234 a/\n/";
        for (const auto& [architecture, pre] :
             {std::pair("gptoss", "gpt-4o"), std::pair("glm4moelite", "glm4"), std::pair("qwen3moe", "default")}) {
            const auto expected =
                open(GgufWriter(writer).add("general.architecture", "llama").add("tokenizer.ggml.pre", pre));
            QCOMPARE(of(architecture)->encode(text), expected->encode(text));
            QCOMPARE(of(architecture)->prefix(), expected->prefix());
        }
        QCOMPARE(of("glm4moelite")->prefix(), (Ids{261, 262}));
        QVERIFY(of("gptoss")->encode(text) != of("qwen3moe")->encode(text));
    }

    // Three pairs are in the official Gemma 4 QAT files. Encoding takes the later token.
    void a_text_that_is_there_twice_is_the_later_token() {
        Tokens more;
        more.add("abc").add("<x>", kControl).add("<x>", kControl).add("ab");  // 258 to 261; 257 and 256 before
        const auto tokenizer = open(small_bpe(more).add("tokenizer.ggml.eos_token_id", std::uint32_t{259}));
        QCOMPARE(tokenizer->encode("abc ab"), (Ids{258, 32, 261}));
        QCOMPARE(tokenizer->encode_with_special("<x>"), Ids{260});
        QCOMPARE(tokenizer->decode(Ids{257, 258, 256, 261, 259, 260}), std::string("abcabcabab"));
        QVERIFY(tokenizer->is_control(259) && tokenizer->is_control(260));
        QCOMPARE(tokenizer->eos(), 259);
        QCOMPARE(tokenizer->piece_name(259), std::string("<x>"));
        QCOMPARE(tokenizer->notes().size(), std::size_t{1});
        QCOMPARE(tokenizer->notes().front().english(),
                 "The file's vocabulary has texts twice (tokens: 3; the first are 257 and 258, \"abc\"): "
                 "such a text becomes the later token.");
    }

    void a_piece_that_is_there_twice_is_the_later_token() {
        Tokens tokens = small_pieces();
        tokens.add("\u2581a", kNormal, -1).add("<s>", kControl);  // 264, 265; 262 and 1 before
        const auto tokenizer = open(tokens.writer("llama"));
        QCOMPARE(tokenizer->encode("ab"), (Ids{264, 261}));
        QCOMPARE(tokenizer->encode_with_special("<s>a"), (Ids{265, 264}));
        QCOMPARE(tokenizer->decode(Ids{1, 262, 264, 265}), std::string("a a"));
        QCOMPARE(tokenizer->piece_bytes(262), std::string(" a"));
        QCOMPARE(tokenizer->piece_name(262), tokenizer->piece_name(264));
        QCOMPARE(tokenizer->bos(), 1);
        QVERIFY(tokenizer->is_control(1) && tokenizer->is_control(265));
        QCOMPARE(tokenizer->notes().size(), std::size_t{1});
    }

    void a_byte_that_is_there_twice_is_the_later_token() {
        for (const Type type : {kByte, kNormal}) {
            Tokens tokens = small_pieces();
            tokens.add("<0x05>", type);  // 264; 8 before
            const auto tokenizer = open(tokens.writer("llama"));
            QCOMPARE(tokenizer->encode("a\5"), (Ids{262, 264}));
            QCOMPARE(tokenizer->decode(Ids{262, 264}), std::string("a\5"));
            QCOMPARE(tokenizer->notes().size(), std::size_t{1});
        }
    }

    // Texts still become such a token, but it adds nothing to an answer.
    void a_token_without_a_type_adds_nothing_to_a_text() {
        for (const std::int32_t type : {0, 7, -1}) {
            Tokens tokens = byte_tokens();
            tokens.add("ab").add("abc").add("q", static_cast<Type>(type));
            tokens.types[256] = type;
            const auto tokenizer =
                open(tokens.writer("gpt2").add("tokenizer.ggml.merges", std::vector<std::string>{"a b", "ab c"}));
            QCOMPARE(tokenizer->encode("ab"), Ids{256});
            QCOMPARE(tokenizer->decode(Ids{'a', 256, 'b'}), std::string("ab"));
            QCOMPARE(tokenizer->piece_bytes(256), std::string());
            QVERIFY(!tokenizer->is_control(256));
            QCOMPARE(tokenizer->notes().back().english(),
                     "Tokens of the file are of no known type (tokens: 2; the first is 256, \"ab\"): they add nothing "
                     "to a text.");
        }
        Tokens pieces = small_pieces();
        pieces.types[262] = 0;
        const auto tokenizer = open(pieces.writer("llama"));
        QCOMPARE(tokenizer->encode("ab"), (Ids{262, 261}));
        QCOMPARE(tokenizer->decode(Ids{262, 261}), std::string("b"));
        QCOMPARE(tokenizer->notes().size(), std::size_t{1});
    }

    // As llama.cpp: the letters merge, their result may merge further, and a word that
    // ends so becomes its bytes.
    void a_merge_whose_result_is_no_token_leaves_bytes_or_a_longer_token() {
        Tokens more;
        more.add("zy").add("qzxx");  // 258, 259
        const std::vector<std::string> merges = {"q z", "z y", "x x", "qz xx", "a b", "\u0120 q", "qz", "q ", ""};
        const auto tokenizer = open(small_bpe(more).add("tokenizer.ggml.merges", merges));
        const auto as_bytes = [&](const char* text) {
            Ids ids;
            for (const char c : std::string_view(text)) ids.push_back(tokenizer->encode(std::string(1, c)).front());
            return ids;
        };
        QCOMPARE(tokenizer->encode("qz"), as_bytes("qz"));
        QCOMPARE(tokenizer->encode("qzy"), as_bytes("qzy"));  // not q and zy
        QCOMPARE(tokenizer->encode("zy"), Ids{258});
        QCOMPARE(tokenizer->encode("qzxx"), Ids{259});
        QCOMPARE(tokenizer->encode("a q"), as_bytes("a q"));
        QCOMPARE(tokenizer->encode("ab"), Ids{256});
        QCOMPARE(tokenizer->notes().size(), std::size_t{1});
        QVERIFY(QString::fromStdString(tokenizer->notes().front().english())
                    .startsWith(
                        "Merges of the file have a text that is no token (merges: 7; the first is number 0, \"q z\")"));
    }

    void of_a_merge_that_is_there_twice_the_first_counts() {
        const std::vector<std::string> merges = {"a b", "b c", "a b"};
        QCOMPARE(open(small_bpe().add("tokenizer.ggml.merges", merges))->encode("abc").front(), 256);
    }

    void without_merges_words_are_bytes_or_whole() {
        const std::vector<std::string> none;
        GgufWriter writer = small_bpe().add("tokenizer.ggml.merges", none);
        const Ids letters = open(writer)->encode("abc");
        QCOMPARE(letters.size(), std::size_t{3});
        QCOMPARE(open(writer)->decode(letters), std::string("abc"));
        QCOMPARE(open(writer.add("tokenizer.ggml.pre", "llama-bpe"))->encode("abc"), Ids{257});
        // llama.cpp reads this one's files without the list, no others.
        QCOMPARE(open(writer.remove("tokenizer.ggml.merges").add("tokenizer.ggml.pre", "kimi-k2"))->encode("abc"),
                 Ids{257});
    }

    void special_ids_beyond_the_vocabulary_are_passed_over() {
        for (const char* key : {"bos", "eos", "eot", "eom", "unknown"}) {
            const std::string name = "tokenizer.ggml." + std::string(key) + "_token_id";
            const auto tokenizer = open(small_bpe().add(name, std::uint32_t{258}));
            QCOMPARE(tokenizer->bos(), -1);
            QCOMPARE(tokenizer->eos(), -1);
            QVERIFY(tokenizer->ends().empty());
            QCOMPARE(tokenizer->notes().front().english(),
                     "\"" + name + "\" of the file is 258, but it has 258 tokens: the id is not used.");
            QVERIFY(open(small_bpe().add(name, std::int32_t{-1}))->notes().empty());
            QVERIFY(open(small_bpe().add(name, std::uint32_t{0xFFFFFFFF}))->notes().empty());
        }
        // llama.cpp's own id of sentencepiece models is taken instead.
        QCOMPARE(open(small_pieces().writer("llama").add("tokenizer.ggml.eos_token_id", std::uint32_t{999}))->eos(), 2);
    }

    // All ends of generation_config.json, as Ollama's converter keeps them.
    void every_id_of_eos_token_ids_is_an_end() {
        const auto tokenizer = open(small_bpe()
                                        .add("tokenizer.ggml.eos_token_id", std::uint32_t{5})
                                        .add("tokenizer.ggml.eos_token_ids", std::vector<std::int32_t>{5, 7, 9, 999}));
        QCOMPARE(tokenizer->ends(), (Ids{5, 7, 9}));
    }

    // DeepSeek's files: the bytes that no UTF-8 has, as letters.
    void user_defined_tokens_are_the_text_they_hold() {
        Tokens more;
        more.add("\u00FC", kUserDefined).add("\u00C0b", kUserDefined).add("\u0120x", kUserDefined);  // 258 to 260
        const auto tokenizer = open(small_bpe(more));
        const Ids ids = tokenizer->encode("Z\u00FCrich \u00C0b");
        QCOMPARE(std::count(ids.begin(), ids.end(), 258), 1);
        QCOMPARE(std::count(ids.begin(), ids.end(), 259), 1);
        QCOMPARE(tokenizer->decode(ids), std::string("Z\u00FCrich \u00C0b"));
        QCOMPARE(tokenizer->piece_bytes(258), std::string("\u00FC"));
        QCOMPARE(tokenizer->piece_bytes(260), std::string("\u0120x"));
        QCOMPARE(tokenizer->piece_name(258), std::string("\u00FC"));
        std::string streamed;
        for (const TokenId id : ids) streamed += tokenizer->piece_bytes(id);
        QCOMPARE(streamed, std::string("Z\u00FCrich \u00C0b"));
    }

    void findings_of_fuzzing_end_in_ids_or_an_error() {
        int n_opened = 0;
        for (const auto& entry :
             std::filesystem::directory_iterator(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/gguf_text")) {
            const std::string file = bytes_of(entry.path());
            try {
                const GgufHeader header = parse_gguf(std::as_bytes(std::span(file)), "model.gguf");
                const auto tokenizer = Tokenizer::open(header.metadata, kVocabSize);
                const std::string text = tokenizer->decode(tokenizer->encode_with_special("a cab<|end|> \u6f14 12"));
                QCOMPARE(find_invalid_utf8(text), std::string::npos);
                ++n_opened;
            } catch (const Error& error) {
                QVERIFY2(QString(error.what()).startsWith("model.gguf"), error.what());
            }
        }
        QVERIFY(n_opened >= 7);
    }
};

QTEST_APPLESS_MAIN(GgufTextTest)
#include "tst_gguf_text.moc"
