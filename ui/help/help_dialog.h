#pragma once

#include <QDialog>
#include <QList>

#include "ui/help/help_pages.h"

class QLabel;
class QLineEdit;
class QListWidget;
class QTextBrowser;

namespace offstage::ui {

// The pages of the help: a list, a search over all of them, and the page that is chosen with the
// words found marked; a search that finds none says so in the page's place and offers all pages. The
// window stays usable beside it. GUI thread only.
class HelpDialog : public QDialog {
    Q_OBJECT

  public:
    explicit HelpDialog(QWidget* parent = nullptr);

    // The page that was shown stays, where it is still there.
    void setPages(const QList<HelpPage>& pages);
    // Ends a search. False: there is no such page.
    bool showPage(const QString& id);
    QString page() const;        // the id of the one shown; empty: none
    QString heading() const;     // its title
    QString text() const;        // as it is shown, without marks
    QStringList listed() const;  // ids, in the list's order
    QLineEdit& searchEdit() const { return *m_search; }
    QListWidget& list() const { return *m_list; }
    QTextBrowser& view() const { return *m_view; }
    int nMarks() const;  // words of the search that are marked on the page shown

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    void search();
    void showCurrent();
    void mark();

    QList<HelpPage> m_pages;
    QLineEdit* m_search;
    QListWidget* m_list;
    QLabel* m_found;
    QTextBrowser* m_view;
};

}  // namespace offstage::ui
