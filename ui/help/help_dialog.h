#pragma once

#include <QDialog>
#include <QList>

#include "ui/help/help_pages.h"

class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QTextBrowser;
class QUrl;

namespace offstage::ui {

// The pages of the help: a list, a search over all of them, and the chosen page with the
// found words marked; Enter goes from one to the next. A search without hits shows a
// message in the page's place and lists all pages. Links lead to other pages, and Back
// returns to the place before. The window stays usable beside it. GUI thread only.
class HelpDialog : public QDialog {
    Q_OBJECT

  public:
    explicit HelpDialog(QWidget* parent = nullptr);

    // The page that was shown stays, where it is still there; at first none is.
    void setPages(const QList<HelpPage>& pages);
    // Shows a page and ends a search. False: there is no such page.
    bool showPage(const QString& id);
    // Follows a link of the shown page: "budgets.md#the-planner". False: it leads nowhere
    // here.
    bool follow(const QUrl& link);
    void back();
    QString page() const { return m_page; }  // the id of the one shown; empty: none
    QString text() const;                    // as it is shown, without marks
    QStringList listed() const;              // ids, in the list's order
    QLineEdit& searchEdit() const { return *m_search; }
    QListWidget& list() const { return *m_list; }
    QTextBrowser& view() const { return *m_view; }

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    struct Place {
        QString page;
        int scrolled = 0;
    };

    void fillList();  // with what is searched
    void search();
    void go(const QString& id);  // and remembers where one was
    void showNow(const QString& id);
    void mark();
    void goToMark(bool next);

    QList<HelpPage> m_pages;
    QString m_page;
    QList<Place> m_before;
    QLineEdit* m_search;
    QListWidget* m_list;
    QLabel* m_found;
    QTextBrowser* m_view;
    QPushButton* m_backButton = nullptr;
};

}  // namespace offstage::ui
