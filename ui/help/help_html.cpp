#include "ui/help/help_html.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <cstdlib>
#include <memory>

#include <QRegularExpression>

namespace offstage::ui {

namespace {

struct CmarkDeleter {
    void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
    void operator()(cmark_node* node) const { cmark_node_free(node); }
    void operator()(char* text) const { std::free(text); }
};

QString anchorOf(const QString& heading) {
    static const QRegularExpression tags(QStringLiteral("<[^>]*>|&[a-z]+;"));
    static const QRegularExpression others(QStringLiteral("[^\\w -]"), QRegularExpression::UseUnicodePropertiesOption);
    return QString(heading).remove(tags).toLower().remove(others).replace(u' ', u'-');
}

}  // namespace

QString helpHtml(const QString& markdown) {
    cmark_gfm_core_extensions_ensure_registered();
    const std::unique_ptr<cmark_parser, CmarkDeleter> parser(cmark_parser_new(CMARK_OPT_DEFAULT));
    cmark_parser_attach_syntax_extension(parser.get(), cmark_find_syntax_extension("table"));
    const QByteArray bytes = markdown.toUtf8();
    cmark_parser_feed(parser.get(), bytes.constData(), static_cast<size_t>(bytes.size()));
    const std::unique_ptr<cmark_node, CmarkDeleter> page(cmark_parser_finish(parser.get()));
    const std::unique_ptr<char, CmarkDeleter> rendered(
        cmark_render_html(page.get(), CMARK_OPT_DEFAULT, cmark_parser_get_syntax_extensions(parser.get())));
    // Qt would show the end of code as an empty line, and heads of columns in their
    // middle.
    const QString html = QString::fromUtf8(rendered.get())
                             .replace(QStringLiteral("\n</code></pre>"), QStringLiteral("</code></pre>"))
                             .replace(QStringLiteral("<th>"), QStringLiteral("<th align=\"left\">"));

    static const QRegularExpression heading(QStringLiteral("<h[1-6]>(.*?)</h[1-6]>"));
    QString out;
    qsizetype from = 0;
    for (auto it = heading.globalMatch(html); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        out += QStringView(html).mid(from, match.capturedStart() - from);
        out += QStringLiteral("<a name=\"%1\"></a>").arg(anchorOf(match.captured(1)));
        from = match.capturedStart();
    }
    return out + html.mid(from);
}

}  // namespace offstage::ui
