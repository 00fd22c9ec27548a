#pragma once

#include <QFrame>

class QLabel;
class QLineEdit;
class QToolButton;

namespace offstage::ui {

class ConversationFind;
class ConversationView;

// Which hit of how many, and buttons for the previous and the next one. GUI thread only.
class HitSteps : public QWidget {
    Q_OBJECT

  public:
    explicit HitSteps(QWidget* parent = nullptr);

    void setHits(qsizetype current, qsizetype count);  // the first is 0; 0 of them: "Not found"
    void clear();                                      // nothing is looked for
    QString text() const;

  Q_SIGNALS:
    void previous();
    void next();

  private:
    void enable(bool any);

    QLabel* m_count;
    QToolButton* m_previous;
    QToolButton* m_next;
};

// Find in this conversation: a search line, the number of hits, previous and next. Enter
// and F3 go to the next hit, with Shift to the previous; Esc closes. While it is open,
// the view marks all hits.
class FindBar : public QFrame {
    Q_OBJECT

  public:
    FindBar(ConversationFind& find, ConversationView& view, QWidget* parent = nullptr);

    QLineEdit& edit() const { return *m_edit; }
    QString countText() const { return m_steps->text(); }
    void start();
    void leave();

  Q_SIGNALS:
    void left();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void refresh();
    void showCurrent();

    ConversationFind& m_find;
    ConversationView& m_view;
    QLineEdit* m_edit;
    HitSteps* m_steps;
    QToolButton* m_close;
};

}  // namespace offstage::ui
