#include "ui/help/help_dialog.h"

#include <algorithm>

#include <QDialogButtonBox>
#include <QFontDatabase>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTextTable>
#include <QUrl>

#include "ui/base/theme.h"
#include "ui/help/help_html.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kPageRole = Qt::UserRole;
constexpr char kAllPages[] = "all";  // the link that ends a search without hits
constexpr QSize kHelpSize{900, 640};
constexpr QSize kLeastHelpSize{480, 320};  // below it a page would be a column of single words
constexpr int kListWidth = 190;
constexpr int kHelpIndent = 20;
constexpr int kHelpLineHeight = 120;  // percent
constexpr int kHelpCellPadding = 4;
constexpr int kRowPadding = 10;
constexpr int kMostVisited = 100;

QStringList wordsOf(const QString& search) {
    return search.simplified().split(u' ', Qt::SkipEmptyParts);
}

// Addresses of links are not looked through.
bool hasAll(const HelpPage& page, const QStringList& words) {
    static const QRegularExpression address(QStringLiteral("\\]\\([^)]*\\)"));
    const QString text = QString(page.text).remove(address);
    return std::all_of(words.begin(), words.end(),
                       [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

QString styleOf(const QPalette& palette) {
    const Colours colours = Colours::of(palette);
    return QStringLiteral(
               "a { color: %1; } code { font-family: '%2'; } pre { background-color: %3; } th { background-color: %3; "
               "}")
        .arg(colours.accent.name(), QFontDatabase::systemFont(QFontDatabase::FixedFont).family(),
             colours.raised.name());
}

// Of a window in English, where this is not translated, there is nothing to say.
QString languageNote() {
    constexpr char kEnglish[] =
        QT_TRANSLATE_NOOP("offstage::ui::HelpDialog",
                          "The pages of the help are in English, with the English names of menus and buttons.");
    const QString note = HelpDialog::tr(kEnglish);
    return note == QLatin1String(kEnglish) ? QString() : QStringLiteral("<p><i>%1</i></p>").arg(note.toHtmlEscaped());
}

// Qt's HTML has narrow line spacing, deep lists, a frame around each cell of a table, and
// lines of code that are never broken.
void layOut(QTextDocument& document) {
    document.setIndentWidth(kHelpIndent);
    QTextCursor edit(&document);
    edit.beginEditBlock();  // laid out once, at its end
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        QTextBlockFormat format = block.blockFormat();
        if (format.nonBreakableLines()) {  // code: where a line is broken, its rest stands further right
            format.setNonBreakableLines(false);
            format.setLeftMargin(kHelpIndent);
            format.setTextIndent(-kHelpIndent);
        } else {
            format.setLineHeight(kHelpLineHeight, QTextBlockFormat::ProportionalHeight);
        }
        QTextCursor(block).setBlockFormat(format);
    }
    for (QTextFrame* frame : document.rootFrame()->childFrames()) {
        if (auto* table = qobject_cast<QTextTable*>(frame)) {
            QTextTableFormat format = table->format();
            format.setBorder(0);
            format.setCellSpacing(0);
            format.setCellPadding(kHelpCellPadding);
            format.setTopMargin(kHelpCellPadding);
            format.setBottomMargin(2 * kHelpCellPadding);
            table->setFormat(format);
        }
    }
    edit.endEditBlock();
}

}  // namespace

HelpDialog::HelpDialog(QWidget* parent)
    : QDialog(parent),
      m_search(new QLineEdit),
      m_list(new QListWidget),
      m_found(mutedLabel(tr("What was found"))),
      m_view(new QTextBrowser) {
    setWindowTitle(tr("Help"));
    m_search->setPlaceholderText(tr("Search the help"));
    m_search->setAccessibleName(m_search->placeholderText());
    m_search->setClearButtonEnabled(true);
    m_search->installEventFilter(this);
    m_list->setAccessibleName(tr("Pages"));
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setFrameShape(QFrame::NoFrame);
    m_view->setAccessibleName(tr("Page of the help"));
    m_view->setOpenLinks(false);
    m_view->setFrameShape(QFrame::NoFrame);
    m_view->document()->setDocumentMargin(12);
    auto* side = columnOf({m_search, {m_list, 1}, m_found});
    auto* left = new QWidget;
    left->setLayout(side);
    side->setContentsMargins(0, 0, 0, 0);
    left->setFixedWidth(kListWidth);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    m_backButton = buttons->addButton(tr("&Back"), QDialogButtonBox::ResetRole);
    m_backButton->setToolTip(tr("The page that was shown before"));
    m_backButton->setShortcut(QKeySequence::Back);
    m_backButton->setAutoDefault(false);
    m_backButton->setEnabled(false);
    connect(m_backButton, &QPushButton::clicked, this, &HelpDialog::back);
    columnOf(this, {{rowOf({left, {m_view, 1}}, apart(12)), 1}, buttons});
    connect(m_search, &QLineEdit::textChanged, this, &HelpDialog::search);
    connect(m_list, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
        if (item != nullptr) {
            go(item->data(kPageRole).toString());
        }
    });
    connect(m_view, &QTextBrowser::anchorClicked, this, &HelpDialog::follow);
    setMinimumSize(kLeastHelpSize);
    resize(parent == nullptr ? kHelpSize : kHelpSize.boundedTo(parent->size() - QSize(24, 24)));
}

void HelpDialog::setPages(const QList<HelpPage>& pages) {
    m_pages = pages;
    if (!m_page.isEmpty()) {
        search();
    }
}

bool HelpDialog::showPage(const QString& id) {
    const QSignalBlocker quiet(m_search);
    m_search->clear();
    return follow(QUrl(id + QStringLiteral(".md")));
}

bool HelpDialog::follow(const QUrl& link) {
    if (link.toString() == QLatin1String(kAllPages)) {
        m_search->clear();
        m_search->setFocus();
        return true;
    }
    const QString id = link.path().isEmpty() ? m_page : link.path().section(u'.', 0, 0);
    if (std::none_of(m_pages.begin(), m_pages.end(), [&](const HelpPage& each) { return each.id == id; })) {
        return false;
    }
    if (m_page != id) {
        const QSignalBlocker quiet(m_search);
        m_search->clear();
    }
    go(id);
    if (m_search->text().isEmpty()) {
        fillList();  // all pages are listed again
    }
    if (link.hasFragment()) {
        m_view->scrollToAnchor(link.fragment());
    }
    return true;
}

void HelpDialog::back() {
    if (m_before.isEmpty()) {
        return;
    }
    const Place place = m_before.takeLast();
    const QSignalBlocker quiet(m_search);
    m_search->clear();
    m_page = place.page;
    search();
    m_view->verticalScrollBar()->setValue(place.scrolled);
    m_backButton->setEnabled(!m_before.isEmpty());
}

QString HelpDialog::text() const {
    return m_view->toPlainText();
}

QStringList HelpDialog::listed() const {
    QStringList ids;
    for (int row = 0; row < m_list->count(); ++row) {
        ids += m_list->item(row)->data(kPageRole).toString();
    }
    return ids;
}

// Lists the pages with all of the words; pages with one of them in the title come first.
// Without words the shown page stays.
void HelpDialog::fillList() {
    const QStringList words = wordsOf(m_search->text());
    QList<const HelpPage*> found;
    for (const HelpPage& each : m_pages) {
        if (hasAll(each, words)) {
            found.append(&each);
        }
    }
    std::stable_partition(found.begin(), found.end(), [&](const HelpPage* each) {
        return std::any_of(words.begin(), words.end(),
                           [&](const QString& word) { return each->title.contains(word, Qt::CaseInsensitive); });
    });
    const QSignalBlocker quiet(m_list);
    m_list->clear();
    int row = 0;
    for (const HelpPage* each : found) {
        auto* item = new QListWidgetItem(each->title, m_list);
        item->setData(kPageRole, each->id);
        item->setToolTip(each->title);
        item->setSizeHint({0, m_list->fontMetrics().height() + kRowPadding});
        if (each->id == m_page && words.isEmpty()) {
            row = m_list->count() - 1;
        }
    }
    m_list->setCurrentRow(found.isEmpty() ? -1 : row);
    m_found->setText(words.isEmpty()   ? QString()
                     : found.isEmpty() ? tr("No page has these words.")
                                       : tr("%n page(s) found", nullptr, static_cast<int>(found.size())));
}

void HelpDialog::search() {
    fillList();
    const QListWidgetItem* item = m_list->currentItem();
    showNow(item == nullptr ? QString() : item->data(kPageRole).toString());
}

void HelpDialog::go(const QString& id) {
    if (!m_page.isEmpty() && m_page != id) {
        m_before.append({m_page, m_view->verticalScrollBar()->value()});
        if (m_before.size() > kMostVisited) {
            m_before.removeFirst();
        }
        m_backButton->setEnabled(true);
    }
    showNow(id);
}

void HelpDialog::showNow(const QString& id) {
    m_page = id;
    m_view->document()->setDefaultStyleSheet(styleOf(palette()));
    const auto shown =
        std::find_if(m_pages.begin(), m_pages.end(), [&](const HelpPage& each) { return each.id == id; });
    if (shown != m_pages.end()) {
        m_view->setHtml(languageNote() + helpHtml(shown->text));
    } else if (!m_pages.isEmpty()) {
        const QString searched = m_search->text().simplified().toHtmlEscaped();
        m_view->setHtml(QStringLiteral("<h2>%1</h2><p>%2</p><p><a href=\"%3\">%4</a></p>")
                            .arg(tr("Nothing found").toHtmlEscaped(),
                                 tr("No page of the help has all of these words: %1").arg(searched),
                                 QLatin1String(kAllPages), tr("Show all pages").toHtmlEscaped()));
    }
    layOut(*m_view->document());
    mark();
}

void HelpDialog::mark() {
    QList<QTextEdit::ExtraSelection> marks;
    QTextCharFormat format;
    QColor ground = palette().color(QPalette::Highlight);
    ground.setAlpha(80);
    format.setBackground(ground);
    format.setFontUnderline(true);  // colour is not the only sign
    // The page shown when nothing is found contains the words too, which are no hits.
    for (const QString& word : page().isEmpty() ? QStringList() : wordsOf(m_search->text())) {
        for (QTextCursor at = m_view->document()->find(word); !at.isNull(); at = m_view->document()->find(word, at)) {
            marks.append({at, format});
        }
    }
    std::sort(marks.begin(), marks.end(),
              [](const auto& a, const auto& b) { return a.cursor.selectionStart() < b.cursor.selectionStart(); });
    m_view->setExtraSelections(marks);
    goToMark(false);
}

// The word may be below the visible part: the first one, or the next after the last
// visited one.
void HelpDialog::goToMark(bool next) {
    const QList<QTextEdit::ExtraSelection> marks = m_view->extraSelections();
    if (marks.isEmpty()) {
        return;
    }
    auto at = marks.begin();
    if (next) {
        const int here = m_view->textCursor().position();
        at = std::find_if(marks.begin(), marks.end(),
                          [here](const auto& mark) { return mark.cursor.selectionStart() > here; });
        at = at == marks.end() ? marks.begin() : at;
    }
    QTextCursor cursor = at->cursor;
    cursor.setPosition(cursor.selectionStart());
    m_view->setTextCursor(cursor);
    m_view->ensureCursorVisible();
}

// In the search field arrow keys move through the list; Enter moves through the hits on
// the page.
bool HelpDialog::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_search && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Down || key == Qt::Key_Up) {
            const int row = m_list->currentRow() + (key == Qt::Key_Down ? 1 : -1);
            m_list->setCurrentRow(std::clamp(row, 0, std::max(0, m_list->count() - 1)));
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            goToMark(true);
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void HelpDialog::changeEvent(QEvent* event) {
    QDialog::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        const int scrolled = m_view->verticalScrollBar()->value();
        showNow(m_page);
        m_view->verticalScrollBar()->setValue(scrolled);
    }
}

}  // namespace offstage::ui
