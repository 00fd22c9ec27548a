// The display of a message's text: formulas, colours of code, and the mapping from the
// shown text to its source.
#include <cmath>

#include <QPalette>
#include <QSignalSpy>

#include "tests/ui/window_fixture.h"
#include "ui/chat/code_highlight.h"
#include "ui/chat/markdown_renderer.h"
#include "ui/chat/math_text.h"
#include "ui/chat/message_body.h"

using namespace offstage::ui;

namespace {

QString tones(const QString& language, const QString& line, LexState* state = nullptr) {
    LexState own;
    const CodeLanguage* found = findLanguage(language);
    if (!found) {
        return QStringLiteral("no such language");
    }
    static constexpr char kLetters[] = ".KTFSNCM+-";
    QString out(line.size(), u'.');
    for (const CodeSpan& span : lexLine(*found, line, state ? *state : own)) {
        for (int i = span.begin; i < span.begin + span.length; ++i) {
            out[i] = QLatin1Char(kLetters[static_cast<int>(span.tone)]);
        }
    }
    return out;
}

double luminance(const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

}  // namespace

class TestChatViewText : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void math_tex_readsAsUnicode_data() {
        QTest::addColumn<QString>("tex");
        QTest::addColumn<QString>("text");
        QTest::newRow("greek") << QStringLiteral("\\alpha_1^2 + \\Omega") << QStringLiteral("α₁² + Ω");
        QTest::newRow("fraction") << QStringLiteral("\\frac{a}{b+1}") << QStringLiteral("a/(b+1)");
        QTest::newRow("nested") << QStringLiteral("\\frac{1}{\\sqrt{2\\pi}}") << QStringLiteral("1/(√(2π))");
        QTest::newRow("root") << QStringLiteral("\\sqrt[3]{x}") << QStringLiteral("∛x");
        QTest::newRow("sum") << QStringLiteral("\\sum_{i=1}^{n} x_i") << QStringLiteral("∑ᵢ₌₁ⁿ xᵢ");
        QTest::newRow("integral") << QStringLiteral("\\int_0^1 f(x)\\,dx") << QStringLiteral("∫₀¹ f(x) dx");
        QTest::newRow("no such superscript") << QStringLiteral("e^{-q\\Omega}") << QStringLiteral("e^(−qΩ)");
        QTest::newRow("arrow") << QStringLiteral("f: \\mathbb{R} \\to \\mathbb{C}") << QStringLiteral("f: ℝ → ℂ");
        QTest::newRow("text") << QStringLiteral("x \\text{ if } y") << QStringLiteral("x if y");
        QTest::newRow("accent") << QStringLiteral("\\hat{x} \\vec v") << QStringLiteral("x\u0302 v\u20d7");
        QTest::newRow("function") << QStringLiteral("O(n \\log n)") << QStringLiteral("O(n log n)");
        QTest::newRow("relations") << QStringLiteral("a \\leq b \\neq c") << QStringLiteral("a ≤ b ≠ c");
        QTest::newRow("matrix") << QStringLiteral("\\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix}")
                                << QStringLiteral("(a b; c d)");
        QTest::newRow("left right") << QStringLiteral("\\left( x \\right)") << QStringLiteral("( x )");
        QTest::newRow("unknown") << QStringLiteral("\\foo{x}") << QStringLiteral("foox");
        QTest::newRow("unclosed") << QStringLiteral("\\frac{a") << QStringLiteral("a/");
    }
    void math_tex_readsAsUnicode() {
        QFETCH(QString, tex);
        QFETCH(QString, text);
        QCOMPARE(mathToText(tex, false).simplified(), text);
    }

    void math_anyText_endsAndIsBounded() {
        for (const QString& tex :
             {QStringLiteral("{").repeated(5000), QStringLiteral("\\frac").repeated(5000),
              QStringLiteral("\\sqrt{").repeated(5000), QStringLiteral("^").repeated(5000),
              QStringLiteral("\\begin{matrix}").repeated(2000), QStringLiteral("\\not\\hat_").repeated(3000)}) {
            QVERIFY(mathToText(tex, true).size() <= 4 * tex.size());
        }
    }

    void math_delimiters_areFoundWhereTheyAreSome_data() {
        QTest::addColumn<QString>("markdown");
        QTest::addColumn<QStringList>("formulas");
        QTest::newRow("dollar") << QStringLiteral("so $x^2$ and $y$.")
                                << QStringList{QStringLiteral("x^2"), QStringLiteral("y")};
        QTest::newRow("display") << QStringLiteral("$$a\n= b$$") << QStringList{QStringLiteral("a\n= b")};
        QTest::newRow("brackets") << QStringLiteral("\\(a\\) and \\[b\\]")
                                  << QStringList{QStringLiteral("a"), QStringLiteral("b")};
        QTest::newRow("prices") << QStringLiteral("It costs $5 and $6.") << QStringList{};
        QTest::newRow("price and price") << QStringLiteral("from $5-$6 to $7") << QStringList{};
        QTest::newRow("price behind") << QStringLiteral("from $5, or 10$ in all") << QStringList{};
        QTest::newRow("code") << QStringLiteral("`$x$` and ``a`$y$``") << QStringList{};
        QTest::newRow("escaped") << QStringLiteral("\\$x\\$") << QStringList{};
        QTest::newRow("open") << QStringLiteral("$x and no end") << QStringList{};
        QTest::newRow("shell") << QStringLiteral("$HOME and $PATH") << QStringList{};
        QTest::newRow("blank line") << QStringLiteral("$$a\n\nb$$") << QStringList{};
    }
    void math_delimiters_areFoundWhereTheyAreSome() {
        QFETCH(QString, markdown);
        QFETCH(QStringList, formulas);
        QStringList found;
        for (const MathSpan& span : findMath(markdown)) {
            found << span.tex;
        }
        QCOMPARE(found, formulas);
    }

    void math_inMarkdown_isShownAndCopiedAsWritten() {
        const QString source = QStringLiteral("Let $a_1 * b_2 * c$ be *small*, at $5 or $6.");
        MessageBody body;
        body.setMarkdown(source, true);
        body.layoutFor(600);
        QCOMPARE(body.plainText(), QStringLiteral("Let a₁ ∗ b₂ ∗ c be small, at $5 or $6."));
        body.selectAll();
        QCOMPARE(body.selectedText(), QStringLiteral("Let $a_1 * b_2 * c$ be small, at $5 or $6."));
    }

    void code_line_hasItsTones_data() {
        QTest::addColumn<QString>("language");
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* language, const char* line, const char* expected) {
            QTest::newRow(language) << QString::fromLatin1(language) << QString::fromLatin1(line)
                                    << QString::fromLatin1(expected);
        };
        row("c", "int x = 0x1F; // y", "TTT.....NNNN..CCCC");
        row("c++", "return f(\"a\\\"b\");", "KKKKKK.F.SSSSSS..");
        row("c#", "public Foo x;", "KKKKKK.TTT...");
        row("go", "func f() { nil }", "KKKK.F.....TTT..");
        row("rust", "let x: &'a str = 'c';", "KKK.....TT.TTT...SSS.");
        row("java", "@Override class A", "MMMMMMMMM.KKKKK.T");
        row("kotlin", "val a = 1.5", "KKK.....NNN");
        row("swift", "let n = nil", "KKK.....TTT");
        row("js", "const a = `b`;", "KKKKK.....SSS.");
        row("ts", "let a: string", "KKK....TTTTTT");
        row("python", "def f(x): # y", "KKK.F.....CCC");
        row("ruby", "puts @a if nil", ".....MM.KK.TTT");
        row("php", "echo $a;", "KKKK.TT.");
        row("bash", "if [ $a ]; # b", "KK...TT....CCC");
        row("sql", "SELECT a FROM 'b' -- c", "KKKKKK...KKKK.SSS.CCCC");
        row("json", "\"a\": [1, true]", "MMM...N..TTTT.");
        row("yaml", "- key: true # c", "..MMM..TTTT.CCC");
        row("toml", "a = \"b\"", "M...SSS");
        row("html", "<a href=\"b\">c</a>", "KK.TTTT.SSSK.KKKK");
        row("css", "@media x { color: red }", "KKKKKK.K...MMMMM.......");
        row("lua", "local a = nil -- b", "KKKKK.....TTT.CCCC");
        row("diff", "+added", "++++++");
    }
    void code_line_hasItsTones() {
        QFETCH(QString, language);
        QFETCH(QString, line);
        QFETCH(QString, expected);
        QCOMPARE(tones(language, line), expected);
    }

    void code_stringsAndComments_reachOverLines() {
        LexState state;
        tones(QStringLiteral("c"), QStringLiteral("a /* b"), &state);
        QCOMPARE(tones(QStringLiteral("c"), QStringLiteral("c */ int"), &state), QStringLiteral("CCCC.TTT"));
        state = {};
        tones(QStringLiteral("py"), QStringLiteral("x = \"\"\"a"), &state);
        QCOMPARE(tones(QStringLiteral("py"), QStringLiteral("b\"\"\" if"), &state), QStringLiteral("SSSS.KK"));
        state = {};
        tones(QStringLiteral("rust"), QStringLiteral("/* /* */"), &state);
        QCOMPARE(tones(QStringLiteral("rust"), QStringLiteral("a */ fn"), &state), QStringLiteral("CCCC.KK"));
    }

    void code_tones_areLegible() {
        for (const bool dark : {false, true}) {
            applyTheme(*qApp, dark ? Theme::Dark : Theme::Light);
            const double behind = luminance(Colours::of(QApplication::palette()).raised);
            for (int tone = 0; tone < kCodeTones; ++tone) {
                const double ink = luminance(toneColour(static_cast<CodeTone>(tone), dark));
                const double contrast = (std::max(ink, behind) + 0.05) / (std::min(ink, behind) + 0.05);
                QVERIFY2(contrast >= 4.5,
                         qPrintable(QStringLiteral("tone %1, dark %2: %3").arg(tone).arg(dark).arg(contrast)));
            }
        }
        applyTheme(*qApp, Theme::Light);
    }

    void code_streamed_sameColoursAsAtOnce() {
        QString text = QStringLiteral("```cpp\n/* begins\n");
        for (int i = 0; i < 150; ++i) {  // reaches over the segments code is cut into
            text +=
                i == 100 ? QStringLiteral("ends */ return \"x\";\n") : QStringLiteral("int a%1 = %1; // c\n").arg(i);
        }
        text += QStringLiteral("```\n");
        MessageBody once;
        once.setMarkdown(text, true);
        MessageBody pieces;
        pieces.setMarkdown(QString(), false);
        pieces.layoutFor(500);
        for (qsizetype from = 0; from < text.size(); from += 57) {
            pieces.appendMarkdown(text.mid(from, 57));
        }
        pieces.finishMarkdown();
        for (MessageBody* body : {&once, &pieces}) {
            body->resize(500, body->layoutFor(500));
        }
        QCOMPARE(pieces.grab().toImage(), once.grab().toImage());
    }

    void continuedAfterItsEnd_looksAsRenderedAtOnce() {
        const QString text = QStringLiteral("A fox went\n\n```\nfirst\nsecond\n```\n\nand came home.");
        for (const qsizetype stopped : {text.indexOf(QStringLiteral("ox")), text.indexOf(QStringLiteral("econd")),
                                        text.indexOf(QStringLiteral(" home"))}) {
            MessageBody once;
            once.setMarkdown(text, true);
            MessageBody pieces;
            pieces.setMarkdown(QString(), false);
            pieces.appendMarkdown(text.left(stopped));
            pieces.finishMarkdown();
            pieces.appendMarkdown(text.mid(stopped));
            pieces.finishMarkdown();
            for (MessageBody* body : {&once, &pieces}) {
                body->resize(500, body->layoutFor(500));
            }
            QCOMPARE(pieces.grab().toImage(), once.grab().toImage());
        }
    }

    // Each visible word of the source can be found, and leads back to its place in the
    // source.
    void source_map_isExact_data() {
        QTest::addColumn<QString>("source");
        QTest::newRow("paragraph") << QStringLiteral("one **two** *three* `four` five\nsix ~~seven~~ eight.");
        QTest::newRow("repeated words") << QStringLiteral("a the **the** the *the* the http://the.example the");
        QTest::newRow("link") << QStringLiteral("see [the page](http://the.page/see) page see");
        QTest::newRow("escapes") << QStringLiteral("x\\*y &amp; z \\_w and &lt;tag&gt; end");
        QTest::newRow("lists") << QStringLiteral("1. 1 one\n2. two\n   - nested 2\n   - more\n\n     still\n3. three");
        QTest::newRow("quote") << QStringLiteral("> quoted text\n> goes on\n\nafter it");
        QTest::newRow("heading") << QStringLiteral("## Two words\n\ntext\n\n\n\nfar down");
        QTest::newRow("code") << QStringLiteral("see\n\n```cpp\nint a;\n\nint b;\n```\nafter");
        QTest::newRow("table") << QStringLiteral("| a | b |\n|---|---|\n| one | **two** |\n| three | a |\n\nend");
        QTest::newRow("windows lines") << QStringLiteral("one\r\ntwo\r\n\r\nthree\r\n");
        QTest::newRow("beyond the first plane") << QStringLiteral("😀 one 😀 **two** 😀");
        QTest::newRow("formula") << QStringLiteral("before $a_1$ after **it** $b$ end");
    }
    void source_map_isExact() {
        QFETCH(QString, source);
        MarkdownSplitter splitter;
        splitter.append(source);
        splitter.finish();
        int exact = 0;
        for (const MarkdownSegment& segment : splitter.finished()) {
            QuietDocument document;
            TableColumns columns;
            SourceMap map;
            renderSegment(segment, TextStyle::of(QFont(), QPalette()), {}, document, columns, map);
            for (int at = 0; at < document.characterCount() - 1; ++at) {
                const QChar shown = document.characterAt(at);
                const qsizetype from = map.sourceAt(at);
                if (!shown.isLetterOrNumber() || from < 0 || source[from] == u'$') {
                    continue;
                }
                const auto pieces = map.pieces(from, from + 1);
                const bool whole = !pieces.isEmpty() && pieces.first().second == 1;
                if (whole && pieces.first().first == at) {
                    QCOMPARE(source[from], shown);
                    ++exact;
                }
            }
        }
        int letters = 0;
        bool address = false;
        for (qsizetype i = 0; i < source.size(); ++i) {
            address = (address || source[i] == u'(') && source[i] != u')';
            letters += source[i].isLetter() && !address ? 1 : 0;
        }
        // Names of entities, a fence's language, a formula and an item's number are not
        // shown letter by letter.
        QVERIFY2(exact >= letters - 10, qPrintable(QStringLiteral("%1 of %2").arg(exact).arg(letters)));
    }

    void pick_altClick_saysWhereInTheSource() {
        MessageBody body;
        const QString source = QStringLiteral("# Head\n\nsome **bold** words");
        body.setMarkdown(source, true);
        body.resize(600, body.layoutFor(600));
        QSignalSpy picked(&body, &MessageBody::tokenPicked);
        const int y = body.text().yOfSource(source.indexOf(u's')) + 8;
        QTest::mouseClick(&body, Qt::LeftButton, Qt::ControlModifier, QPoint(3, y));
        QCOMPARE(picked.size(), 1);
        QCOMPARE(source.mid(picked[0][0].toInt(), 4), QStringLiteral("some"));
        for (const QString& word : {QStringLiteral("bold"), QStringLiteral("words")}) {
            QTest::keyClick(&body, Qt::Key_Right, Qt::AltModifier);
            QCOMPARE(source.mid(picked.last()[0].toInt(), word.size()), word);
        }
        QTest::keyClick(&body, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(source.mid(picked.last()[0].toInt(), 4), QStringLiteral("bold"));
    }

    void marks_changeWhatIsPaintedThere() {
        MessageBody body;
        const QString source = QStringLiteral("some **bold** words");
        body.setMarkdown(source, true);
        body.resize(600, body.layoutFor(600));
        const QImage plain = body.grab().toImage();
        const int at = static_cast<int>(source.indexOf(QStringLiteral("bold")));
        for (const TextMark mark : {TextMark::Found, TextMark::FoundCurrent, TextMark::Token}) {
            body.setMarks(mark, {{at, at + 4}});
            const QImage marked = body.grab().toImage();
            QVERIFY(marked != plain);
            const QRect left(0, 0, 20, marked.height());
            QCOMPARE(marked.copy(left), plain.copy(left));  // and nowhere else
            body.setMarks(mark, {});
            QCOMPARE(body.grab().toImage(), plain);
        }
    }

    void table_copied_hasTabsBetweenCells() {
        MessageBody body;
        body.setMarkdown(QStringLiteral("| a | b |\n|---|---|\n| c | d |\n"), true);
        body.layoutFor(500);
        body.selectAll();
        QCOMPARE(body.selectedText().trimmed(), QStringLiteral("a\tb\nc\td"));
    }

    void longAnswer_farSegments_haveNoDocuments() {
        MessageBody body;
        body.setMarkdown(QString::fromStdString(offstage::test::longAnswer(20'000)), true);
        const int height = body.layoutFor(700, {0, 1000});
        QVERIFY(height > 20'000);
        const size_t segments = body.text().parts().size();
        QVERIFY2(static_cast<size_t>(body.text().documentCount()) * 10 < segments,
                 qPrintable(QString::number(body.text().documentCount())));
        body.layoutFor(700, {height / 2, height / 2 + 1000});
        QVERIFY(static_cast<size_t>(body.text().documentCount()) * 10 < segments);
        body.selectAll();
        QVERIFY(body.selectedText().size() > 50'000);  // all of it all the same
    }
};

OFFSTAGE_UI_TEST_MAIN(TestChatViewText)
#include "tst_chat_view_text.moc"
