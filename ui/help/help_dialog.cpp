#include "ui/help/help_dialog.h"

#include <algorithm>

#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTextTable>
#include <QUrl>
#include <QVBoxLayout>

#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kPageRole = Qt::UserRole;
constexpr char kAllPages[] = "all";  // the link that ends a search without hits
constexpr QSize kHelpSize{820, 600};
constexpr QSize kLeastHelpSize{480, 320};  // with less a page would be a column of single words
constexpr int kListWidth = 190;
constexpr int kHelpIndent = 20;
constexpr int kHelpLineHeight = 120;  // percent
constexpr int kHelpCellPadding = 3;
constexpr int kRowPadding = 10;

QStringList wordsOf(const QString& search) {
    return search.simplified().split(u' ', Qt::SkipEmptyParts);
}

bool hasAll(const HelpPage& page, const QStringList& words) {
    return std::all_of(words.begin(), words.end(), [&](const QString& word) {
        return page.title.contains(word, Qt::CaseInsensitive) || page.text.contains(word, Qt::CaseInsensitive);
    });
}

// Markdown as Qt lays it out has narrow lines, deep lists and a frame around each cell of a table.
void layOut(QTextDocument& document) {
    document.setIndentWidth(kHelpIndent);
    QTextCursor all(&document);
    all.select(QTextCursor::Document);
    QTextBlockFormat airy;
    airy.setLineHeight(kHelpLineHeight, QTextBlockFormat::ProportionalHeight);
    all.mergeBlockFormat(airy);
    for (QTextFrame* frame : document.rootFrame()->childFrames()) {
        if (auto* table = qobject_cast<QTextTable*>(frame)) {
            QTextTableFormat format = table->format();
            format.setBorder(0);
            format.setCellSpacing(0);
            format.setCellPadding(kHelpCellPadding);
            table->setFormat(format);
        }
    }
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
    auto* side = new QVBoxLayout;
    side->addWidget(m_search);
    side->addWidget(m_list, 1);
    side->addWidget(m_found);
    auto* left = new QWidget;
    left->setLayout(side);
    side->setContentsMargins(0, 0, 0, 0);
    left->setFixedWidth(kListWidth);
    auto* middle = new QHBoxLayout;
    middle->setSpacing(12);
    middle->addWidget(left);
    middle->addWidget(m_view, 1);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addLayout(middle, 1);
    column->addWidget(buttons);
    connect(m_search, &QLineEdit::textChanged, this, &HelpDialog::search);
    connect(m_list, &QListWidget::currentRowChanged, this, &HelpDialog::showCurrent);
    connect(m_view, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
        if (link.toString() == QLatin1String(kAllPages)) {
            m_search->clear();
            m_search->setFocus();
        }
    });
    setMinimumSize(kLeastHelpSize);
    resize(parent == nullptr ? kHelpSize : kHelpSize.boundedTo(parent->size() - QSize(24, 24)));
}

void HelpDialog::setPages(const QList<HelpPage>& pages) {
    m_pages = pages;
    search();
}

bool HelpDialog::showPage(const QString& id) {
    m_search->clear();
    for (int row = 0; row < m_list->count(); ++row) {
        if (m_list->item(row)->data(kPageRole).toString() == id) {
            m_list->setCurrentRow(row);
            return true;
        }
    }
    return false;
}

QString HelpDialog::page() const {
    const QListWidgetItem* item = m_list->currentItem();
    return item == nullptr ? QString() : item->data(kPageRole).toString();
}

QString HelpDialog::heading() const {
    const QListWidgetItem* item = m_list->currentItem();
    return item == nullptr ? QString() : item->text();
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

int HelpDialog::nMarks() const {
    return static_cast<int>(m_view->extraSelections().size());
}

// Pages that have all of the words; those with one of them in the title come first.
void HelpDialog::search() {
    const QStringList words = wordsOf(m_search->text());
    const QString before = page();
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
        if (each->id == before && words.isEmpty()) {
            row = m_list->count() - 1;
        }
    }
    m_list->setCurrentRow(found.isEmpty() ? -1 : row);
    m_found->setText(words.isEmpty()   ? QString()
                     : found.isEmpty() ? tr("No page has these words.")
                                       : tr("%n page(s) found", nullptr, static_cast<int>(found.size())));
    showCurrent();
}

void HelpDialog::showCurrent() {
    const QString id = page();
    const auto shown =
        std::find_if(m_pages.begin(), m_pages.end(), [&](const HelpPage& each) { return each.id == id; });
    if (shown != m_pages.end()) {
        m_view->setMarkdown(QStringLiteral("## %1\n\n%2").arg(shown->title, shown->text));
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
    // Where nothing was found the words stand there, too, and are no hit.
    for (const QString& word : page().isEmpty() ? QStringList() : wordsOf(m_search->text())) {
        for (QTextCursor at = m_view->document()->find(word); !at.isNull(); at = m_view->document()->find(word, at)) {
            marks.append({at, format});
        }
    }
    m_view->setExtraSelections(marks);
    // The word may stand below what is seen; of several the first.
    const auto first = std::min_element(marks.begin(), marks.end(), [](const auto& a, const auto& b) {
        return a.cursor.selectionStart() < b.cursor.selectionStart();
    });
    if (first != marks.end()) {
        QTextCursor at = first->cursor;
        at.setPosition(at.selectionStart());
        m_view->setTextCursor(at);
        m_view->ensureCursorVisible();
    }
}

// Arrows in the search field go through the list.
bool HelpDialog::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_search && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Down || key == Qt::Key_Up) {
            const int row = m_list->currentRow() + (key == Qt::Key_Down ? 1 : -1);
            m_list->setCurrentRow(std::clamp(row, 0, std::max(0, m_list->count() - 1)));
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            m_view->setFocus();
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

void HelpDialog::changeEvent(QEvent* event) {
    QDialog::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        showCurrent();
    }
}

}  // namespace offstage::ui
