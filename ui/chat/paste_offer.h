#pragma once

#include <QTextCursor>
#include <QWidget>

class QLabel;
class QPlainTextEdit;

namespace offstage::ui {

// Asks, above the input box, whether a long text that was just pasted or dropped into it
// is to be a file of the message. The text stands in the box until then, as any other, so
// that it is never lost; the question goes with it, and with the answer.
class PasteOffer : public QWidget {
    Q_OBJECT

  public:
    static constexpr qint64 kLongPaste = 20'000;  // bytes; a longer text is asked about

    explicit PasteOffer(QPlainTextEdit& edit, QWidget* parent = nullptr);

    // Text has come into the box here.
    void pasted(int from, int to);
    QString text() const;  // with what has changed in it since
    void removeText();

  Q_SIGNALS:
    void accepted();  // text() is to be a file

  private:
    QPlainTextEdit& m_edit;
    QTextCursor m_range;
    QLabel* m_question;
};

}  // namespace offstage::ui
