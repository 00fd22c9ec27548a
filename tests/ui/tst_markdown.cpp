// Splitting a growing Markdown text, and rendering its segments.
#include <random>

#include <QTest>
#include <QTextBlock>
#include <QTextDocument>

#include "tests/ui/window_fixture.h"
#include "ui/chat/markdown_renderer.h"
#include "ui/chat/markdown_splitter.h"
#include "ui/chat/message_body.h"

using namespace offstage::ui;
using Kind = MarkdownSegment::Kind;

class TestMarkdown : public QObject {
    Q_OBJECT

    static QList<MarkdownSegment> split(const QString& text) {
        MarkdownSplitter splitter;
        splitter.append(text);
        splitter.finish();
        return splitter.finished();
    }

    // Texts with everything that decides where a cut falls.
    static QStringList samples() {
        QString table = QStringLiteral("before\n| a | b |\n|---|---|\n");
        for (int i = 0; i < 60; ++i) {
            table += QStringLiteral("| %1 | x |\n").arg(i);
        }
        return {
            QStringLiteral("One paragraph\nof two lines.\n\nAnother.\n"),
            QStringLiteral("# Title\nText at once\n\n## Next\n\n- a\n- b\n\n  more of b\n\n- c\n\nend"),
            QStringLiteral("1. one\n\n2. two\n   ```py\n   print(1)\n   ```\n3. three\n"),
            QStringLiteral("text\n```cpp\nint x;\n\nint y;\n```\nafter\n\n~~~\n```\n~~~\n"),
            QStringLiteral("```\nnever closed\n| a | b |\n"),
            table + QStringLiteral("\nafter the table\n"),
            QString(20'000, u'x') + QStringLiteral(" end\n"),
            QStringLiteral("word ").repeated(5000),
            QStringLiteral("\n\n\n"),
            QStringLiteral("a\r\n\r\nb\r\n"),
            QStringLiteral("😀").repeated(5000),
            QStringLiteral("See [^1] and [^b].\n\n- [ ] to do [x]\n- [x] done\n\n[^1]: One\n[^b]: Two\n    lines\n\n"
                           "    and more\n\n- a list\n\nend [^1]\n"),
            QString::fromStdString(offstage::test::longAnswer(3000)),
        };
    }

  private Q_SLOTS:
    void split_blankLine_cutsParagraphs() {
        const auto s = split(QStringLiteral("one\ntwo\n\nthree\n"));
        QCOMPARE(s.size(), 2);
        QCOMPARE(s[0].text, QStringLiteral("one\ntwo"));
        QCOMPARE(s[1].text, QStringLiteral("three"));
    }

    void split_fence_keepsBlankLinesInside() {
        const auto s = split(QStringLiteral("see:\n```Python x\na\n\nb\n```\nend"));
        QCOMPARE(s.size(), 3);
        QCOMPARE(s[1].kind, Kind::Code);
        QCOMPARE(s[1].language, QStringLiteral("python"));
        QCOMPARE(s[1].text, QStringLiteral("a\n\nb\n"));
        QCOMPARE(s[2].text, QStringLiteral("end"));
    }

    // An answer that was stopped after "```" left a box without content.
    void split_fenceAtTheEnd_isNoCode() {
        QCOMPARE(split(QStringLiteral("```")).size(), 0);
        QCOMPARE(split(QStringLiteral("```cpp\n")).size(), 0);
        QCOMPARE(split(QStringLiteral("text\n```")).size(), 1);
        QCOMPARE(split(QStringLiteral("```\n```\n")).size(), 1);  // written so
        QCOMPARE(split(QStringLiteral("```\nx")).first().kind, Kind::Code);
    }

    void split_looseList_staysTogether() {
        const auto s = split(QStringLiteral("1. a\n\n   more\n\n2. b\n\nafter\n"));
        QCOMPARE(s.size(), 2);
        QVERIFY(s[0].text.contains(QStringLiteral("2. b")));
        QCOMPARE(s[1].text, QStringLiteral("after"));
    }

    void split_longTable_repeatsHead() {
        const auto s = split(samples()[5]);
        QCOMPARE(s[0].text, QStringLiteral("before"));
        QCOMPARE(s[1].kind, Kind::Table);
        QVERIFY(!s[1].continued);
        QVERIFY(s[2].continued);
        QVERIFY(s[2].text.startsWith(QStringLiteral("| a | b |\n|---|---|\n| 8 |")));
        QCOMPARE(s.last().text, QStringLiteral("after the table"));
    }

    void split_anyChunks_sameAsAtOnce() {
        std::mt19937 random(1);
        for (const QString& text : samples()) {
            const auto expected = split(text);
            for (const int most : {1, 3, 50, 5000}) {
                MarkdownSplitter splitter;
                qsizetype from = 0;
                while (from < text.size()) {
                    const qsizetype n =
                        most == 1 ? 1 : 1 + static_cast<qsizetype>(random() % static_cast<unsigned>(most));
                    splitter.append(QStringView(text).mid(from, n));
                    from += n;
                    if (random() % 16 == 0) {
                        splitter.growing();  // looking ahead changes nothing
                    }
                }
                splitter.finish();
                QCOMPARE(splitter.finished(), expected);
            }
        }
    }

    void split_anyText_growingHasABound() {
        for (const QString& text : samples()) {
            MarkdownSplitter splitter;
            for (qsizetype from = 0; from < text.size(); from += 97) {
                splitter.append(QStringView(text).mid(from, 97));
                qsizetype growing = 0;
                for (const auto& segment : splitter.growing()) {
                    growing += segment.text.size();
                }
                QVERIFY2(growing <= 4 * MarkdownSplitter::kProseLimit, qPrintable(text.left(40)));
            }
        }
    }

    void render_inPieces_sameAsAtOnce() {
        for (const QString& text : samples()) {
            MessageBody once;
            once.setMarkdown(text, true);
            once.layoutFor(600);
            MessageBody pieces;
            pieces.setMarkdown(QString(), false);
            pieces.layoutFor(600);
            for (qsizetype from = 0; from < text.size(); from += 61) {
                pieces.appendMarkdown(text.mid(from, 61));
            }
            pieces.finishMarkdown();
            QCOMPARE(pieces.plainText(), once.plainText());
            QCOMPARE(pieces.layoutFor(600), once.layoutFor(600));
            QVERIFY(std::equal(pieces.text().parts().begin(), pieces.text().parts().end(), once.text().parts().begin(),
                               once.text().parts().end(),
                               [](const auto& a, const auto& b) { return a.segment == b.segment; }));
            once.resize(600, once.layoutFor(600));
            pieces.resize(600, pieces.layoutFor(600));
            if (once.height() < 4000) {
                QCOMPARE(pieces.grab().toImage(), once.grab().toImage());
            }
        }
    }

    void render_finishedSegments_areNotRenderedAgain() {
        MessageBody body;
        body.setMarkdown(QString(), false);
        body.layoutFor(600);
        for (int i = 0; i < 100; ++i) {
            body.appendMarkdown(QStringLiteral("Paragraph %1.\n\n").arg(i));
        }
        QVERIFY(body.text().renderCount() >= 100);
        QVERIFY2(body.text().renderCount() <= 110, qPrintable(QString::number(body.text().renderCount())));
    }

    void render_html_showsAsCharacters() {
        MessageBody body;
        body.setMarkdown(QStringLiteral("a <b>bold</b> <script>alert(1)</script>\n\n<div onclick=x>\n<img "
                                        "src=\"http://e.example/x\">\n</div>\n"),
                         true);
        QVERIFY(body.plainText().contains(QStringLiteral("<b>bold</b>")));
        QVERIFY(body.plainText().contains(QStringLiteral("<script>alert(1)</script>")));
        QVERIFY(body.plainText().contains(QStringLiteral("<img src=")));
    }

    void render_image_loadsNothing() {
        const TextStyle style = TextStyle::of(QFont(), QPalette());
        QuietDocument document;
        TableColumns columns;
        SourceMap map;
        renderSegment(
            {Kind::Prose, QStringLiteral("![a chart](http://e.example/x.png) ![f](file:///etc/hostname)"), {}, false},
            style, {}, document, columns, map);
        QVERIFY(document.toPlainText().contains(QStringLiteral("a chart")));
        QVERIFY(!document.toPlainText().contains(QChar::ObjectReplacementCharacter));
        QVERIFY(!document.toHtml().contains(QStringLiteral("e.example")));
        QVERIFY(!document.toHtml().contains(QStringLiteral("hostname")));
        QVERIFY(
            !document.resource(QTextDocument::ImageResource, QUrl(QStringLiteral("file:///etc/hostname"))).isValid());
    }

    void render_link_keepsOnlyWebAndMail_data() {
        QTest::addColumn<QString>("url");
        QTest::addColumn<bool>("kept");
        QTest::newRow("https") << QStringLiteral("https://example.org/a?b=c") << true;
        QTest::newRow("mailto") << QStringLiteral("mailto:a@example.org") << true;
        QTest::newRow("file") << QStringLiteral("file:///etc/passwd") << false;
        QTest::newRow("javascript") << QStringLiteral("javascript:alert(1)") << false;
        QTest::newRow("relative") << QStringLiteral("../x") << false;
    }
    void render_link_keepsOnlyWebAndMail() {
        QFETCH(QString, url);
        QFETCH(bool, kept);
        const TextStyle style = TextStyle::of(QFont(), QPalette());
        QuietDocument document;
        TableColumns columns;
        SourceMap map;
        renderSegment({Kind::Prose, QStringLiteral("[text](%1)").arg(url), {}, false}, style, {}, document, columns,
                      map);
        QCOMPARE(document.toPlainText(), QStringLiteral("text"));
        const QString href = document.begin().begin().fragment().charFormat().anchorHref();
        QCOMPARE(!href.isEmpty(), kept);
    }

    void render_orderedList_keepsItsNumbers() {
        MessageBody body;
        body.setMarkdown(QStringLiteral("7. seven\n8. eight\n"), true);
        QVERIFY(body.plainText().contains(QStringLiteral("7.\tseven")));
        QVERIFY(body.plainText().contains(QStringLiteral("8.\teight")));
    }

    void render_tasks_haveBoxes() {
        MessageBody body;
        const QString text = QStringLiteral(
            "- [ ] write `[x]` down [x]\n- [x] x\n- [X] **bold**\n- [x](http://e.example)\n"
            "- plain\n\n1. [ ] first\n2. second\n");
        body.setMarkdown(text, true);
        QCOMPARE(body.plainText(), QStringLiteral("☐\twrite [x] down [x]\n☑\tx\n☑\tbold\n•\tx\n•\tplain\n"
                                                  "1.\t☐ first\n2.\tsecond"));
        QCOMPARE(body.source(), text);  // what is copied and exported
        // The "x" that is shown is the word, not the box's mark.
        const SourceMap& map = body.text().parts()[0].map;
        const auto shown =
            map.pieces(text.indexOf(QStringLiteral("x\n- [X]")), text.indexOf(QStringLiteral("\n- [X]")));
        QCOMPARE(shown.size(), 1);
        QCOMPARE(shown[0].first, static_cast<int>(body.plainText().indexOf(QStringLiteral("☑\tx")) + 2));
    }

    void render_footnotes_refersAcrossSegments() {
        MessageBody body;
        const QString text = QStringLiteral(
            "A claim[^1], `[^1]`, a class [^a-z], and another[^note].\n\nMore.\n\n"
            "[^1]: https://example.org/a_b_c\n[^note]: The *text* of it\n    goes on\n\n"
            "    and ends\n\n- a list\n");
        body.setMarkdown(text, true);
        body.layoutFor(600);
        QCOMPARE(body.plainText(),
                 QStringLiteral("A claim1, [^1], a class [^a-z], and anothernote.\n\nMore.\n\n"
                                "1\thttps://example.org/a_b_c\n\nnote\tThe text of it goes on\nand ends\n\n•\ta list"));
        const QTextDocument& first = *body.text().parts()[0].document;
        const QTextCharFormat mark = [&first] {
            QTextCursor cursor(const_cast<QTextDocument*>(&first));
            cursor.setPosition(8);  // behind the first reference
            return cursor.charFormat();
        }();
        QCOMPARE(mark.verticalAlignment(), QTextCharFormat::AlignSuperScript);
        QCOMPARE(mark.property(kNoteProperty).toString(), QStringLiteral("1"));
        QCOMPARE(body.text().noteText(QStringLiteral("note")), QStringLiteral("The *text* of it goes on and ends"));
        body.selectAll();
        QVERIFY(
            body.selectedText().startsWith(QStringLiteral("A claim[^1], [^1], a class [^a-z], and another[^note].")));
        QCOMPARE(body.source(), text);
        // A click on a word of the footnote is at its place of the source.
        const qsizetype at = text.indexOf(QStringLiteral("goes"));
        QVERIFY(!body.text().rectOfSource(at).isEmpty());
    }

    void render_footnote_thatComesLater_turnsItsReferenceIntoOne() {
        MessageBody body;
        body.layoutFor(600);
        body.setMarkdown(QString(), false);
        body.appendMarkdown(QStringLiteral("A claim[^1].\n\nMore.\n\n"));
        QVERIFY(body.plainText().startsWith(QStringLiteral("A claim[^1].")));
        body.appendMarkdown(QStringLiteral("[^1]"));
        QVERIFY(body.plainText().startsWith(QStringLiteral("A claim[^1].")));
        body.appendMarkdown(QStringLiteral(": Its source"));
        QVERIFY(body.plainText().startsWith(QStringLiteral("A claim1.")));
        body.finishMarkdown();
        QVERIFY(body.plainText().endsWith(QStringLiteral("1\tIts source")));
    }

    void formulas_andPrices_areNeverGarbled_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("shown");
        const auto row = [](const char* text, const char* shown) {
            QTest::newRow(text) << QString::fromUtf8(text) << QString::fromUtf8(shown);
        };
        row("It costs $5, then $10 or $15.50 a_b_c.", "It costs $5, then $10 or $15.50 a_b_c.");
        row("Between $5 and 10$ a month, $HOME and $PATH", "Between $5 and 10$ a month, $HOME and $PATH");
        row("US$ 3 and 4 US$", "US$ 3 and 4 US$");
        row("$\\frac{a_1}{b_2}$ and $x_i * y_i * z_i$", "a₁/b₂ and xᵢ ∗ yᵢ ∗ zᵢ");
        row("\\(a_1 * b_1\\) * \\(c_2\\) *", "a₁ ∗ b₁ * c₂ *");
        row("$a_{long\\_name}$ and _emphasis_", "a_(long_name) and emphasis");
        row("Unclosed $x_1 + y_2 and \\(z_3", "Unclosed $x_1 + y_2 and (z_3");
    }
    void formulas_andPrices_areNeverGarbled() {
        QFETCH(QString, text);
        MessageBody body;
        body.setMarkdown(text, true);
        QTEST(body.plainText(), "shown");
    }

    void render_deepNesting_isBounded() {
        MessageBody body;
        body.setMarkdown(QStringLiteral("> ").repeated(1500) + QStringLiteral("deep\n\n") +
                             QStringLiteral("*a **b ").repeated(400) + QStringLiteral("\n\n[").repeated(500),
                         true);
        QVERIFY(body.layoutFor(500) >= 0);
    }

    void select_acrossSegments_copiesAll() {
        MessageBody body;
        body.setMarkdown(QStringLiteral("first\n\n```\ncode\n```\n\nlast\n"), true);
        body.layoutFor(500);
        body.selectAll();
        QCOMPARE(body.selectedText(), QStringLiteral("first\n\ncode\n\nlast"));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestMarkdown)
#include "tst_markdown.moc"
