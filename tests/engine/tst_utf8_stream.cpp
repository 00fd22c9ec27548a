#include <QTest>

#include "engine/text/tokenizer.h"

using namespace offstage::engine;

namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

std::string encoded(std::uint32_t c) {
    std::string out;
    if (c < 0x80) return std::string(1, static_cast<char>(c));
    const int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static constexpr unsigned kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kLead[n] | (c >> (6 * (n - 1))));
    for (int i = n - 2; i >= 0; --i) out += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
    return out;
}

std::string streamed(const std::string& bytes, std::size_t step) {
    Utf8Stream stream;
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        const std::string shown = stream.push(std::string_view(bytes).substr(at, step));
        if (find_invalid_utf8(shown) != std::string::npos) return "invalid";
        out += shown;
    }
    return out + stream.finish();
}

}  // namespace

class Utf8StreamTest : public QObject {
    Q_OBJECT

  private slots:
    void find_invalid_utf8_accepts_every_character_and_no_surrogate() {
        for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
            const bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;
            if ((find_invalid_utf8(encoded(c)) == std::string::npos) == is_surrogate)
                QFAIL(qPrintable(QString::number(c, 16)));
        }
        for (std::uint32_t c = 0x110000; c < 0x140000; c += 0x101)
            QCOMPARE(find_invalid_utf8(encoded(c)), std::size_t{0});
    }

    // Against the table of the Unicode standard, written out: every sequence of two
    // bytes, and sequences of three and four from bytes at the edges of the ranges.
    void find_invalid_utf8_agrees_with_decoding() {
        const auto is_valid = [](const std::string& s) {
            for (std::uint32_t c = 0; c < 0x80; ++c) {
                if (s == std::string(1, static_cast<char>(c))) return true;
            }
            const auto at = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(s[i])); };
            for (std::size_t i = 1; i < s.size(); ++i) {
                if ((at(i) & 0xC0) != 0x80) return false;
            }
            std::uint32_t c = 0;
            if (s.size() == 2 && (at(0) & 0xE0) == 0xC0) c = (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
            if (s.size() == 3 && (at(0) & 0xF0) == 0xE0)
                c = (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
            if (s.size() == 4 && (at(0) & 0xF8) == 0xF0) {
                c = (at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
            }
            const std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
            return s.size() > 1 && c >= least[s.size()] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
        };
        for (unsigned a = 0x80; a < 0x100; ++a) {
            for (unsigned b = 0; b < 0x100; ++b) {
                const std::string two = {static_cast<char>(a), static_cast<char>(b)};
                QCOMPARE(find_invalid_utf8(two) == std::string::npos, is_valid(two));
                for (const unsigned c : {0x00u, 0x7Fu, 0x80u, 0xBFu, 0xC0u, 0xFFu}) {
                    const std::string three = two + static_cast<char>(c);
                    if ((a & 0xF0) == 0xE0) QCOMPARE(find_invalid_utf8(three) == std::string::npos, is_valid(three));
                    for (const unsigned d : {0x7Fu, 0x80u, 0xBFu, 0xC0u}) {
                        const std::string four = three + static_cast<char>(d);
                        if ((a & 0xF8) == 0xF0) QCOMPARE(find_invalid_utf8(four) == std::string::npos, is_valid(four));
                    }
                }
            }
        }
    }

    void find_invalid_utf8_tells_where_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("at");
        const auto row = [](const char* name, const QByteArray& text, int at) {
            QTest::addRow("%s", name) << text << at;
        };
        row("empty", "", -1);
        row("nul", QByteArray("a\0b", 3), -1);
        row("lone continuation", "ab\x80", 2);
        row("cut at the end", "ab\xE6\xBC", 2);
        row("cut in the middle", "ab\xE6\xBCz", 2);
        row("overlong slash", "x\xC0\xAF", 1);
        row("overlong, three bytes", "x\xE0\x9F\xBF", 1);
        row("overlong, four bytes", "x\xF0\x8F\xBF\xBF", 1);
        row("surrogate", "\xC3\xA9\xED\xA0\x80", 2);
        row("past the last", "\xF4\x90\x80\x80", 0);
        row("five bytes", "\xF8\x88\x80\x80\x80", 0);
        row("latin 1", "caf\xE9", 3);
    }
    void find_invalid_utf8_tells_where() {
        QFETCH(QByteArray, text);
        QFETCH(int, at);
        const std::size_t found =
            find_invalid_utf8(std::string_view(text.data(), static_cast<std::size_t>(text.size())));
        QCOMPARE(found, at < 0 ? std::string_view::npos : static_cast<std::size_t>(at));
    }

    void stream_gives_the_same_text_however_it_is_cut() {
        std::string text = std::string("a\0b", 3);
        for (const std::uint32_t c : {0x24u, 0x7Fu, 0x80u, 0xA2u, 0x7FFu, 0x800u, 0x20ACu, 0xD7FFu, 0xE000u, 0xFFFFu,
                                      0x10000u, 0x1F469u, 0x10FFFFu}) {
            text += encoded(c);
        }
        for (std::size_t step = 1; step <= text.size(); ++step) QCOMPARE(streamed(text, step), text);
    }

    void stream_never_splits_a_character() {
        Utf8Stream stream;
        QCOMPARE(stream.push("\xF0"), std::string());
        QCOMPARE(stream.push("\x9F\x91"), std::string());
        QCOMPARE(stream.push("\xA9!\xC3"), std::string("\xF0\x9F\x91\xA9!"));
        QCOMPARE(stream.finish(), kReplacement);
        QCOMPARE(stream.finish(), std::string());
        QCOMPARE(stream.push("new"), std::string("new"));
    }

    void stream_replaces_invalid_bytes_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("text");
        const auto row = [](const QByteArray& bytes, const QByteArray& text) {
            QTest::addRow("%s", bytes.toHex().data()) << bytes << text;
        };
        row("a\x80z", "a\xEF\xBF\xBDz");
        row("\xFF\xFE", "\xEF\xBF\xBD\xEF\xBF\xBD");
        row("\xE6\xBCz", "\xEF\xBF\xBD\xEF\xBF\xBDz");                // a character that breaks off
        row("\xF0\x9F\x91", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // at the end as well
        row("\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
        row("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // surrogate
        row("\xC3\xC3\xA9", "\xEF\xBF\xBD\xC3\xA9");
        row("\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    }
    void stream_replaces_invalid_bytes() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, text);
        // The same as Qt decodes it, cut at any place.
        QCOMPARE(QString::fromUtf8(bytes).toUtf8(), text);
        for (std::size_t step = 1; step <= 4; ++step) QCOMPARE(streamed(bytes.toStdString(), step), text.toStdString());
    }
};

QTEST_APPLESS_MAIN(Utf8StreamTest)
#include "tst_utf8_stream.moc"
