#pragma once

#include <QAbstractButton>
#include <QList>

namespace offstage::ui {

// One file: its name and its size. A removable chip is removed by a click on its cross,
// or by Delete, Backspace, Space or Enter. An opening chip is a switch over its whole
// area that shows the file's text.
class AttachmentChip : public QAbstractButton {
    Q_OBJECT

  public:
    enum class Kind { Removable, Opening };

    explicit AttachmentChip(Kind kind, QWidget* parent = nullptr);

    void setFile(const QString& name, const QString& detail);
    const QString& name() const { return m_name; }
    const QString& detail() const { return m_detail; }
    QRect markRect() const;  // of the cross, or of the arrow

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

  protected:
    bool hitButton(const QPoint& at) const override;
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

  private:
    Kind m_kind;
    QString m_name;
    QString m_detail;
};

// Chips in rows, as many in each row as fit.
class AttachmentChips : public QWidget {
    Q_OBJECT

  public:
    struct File {
        QString name;
        QString detail;
        bool operator==(const File&) const = default;
    };

    // `side`: Qt::AlignLeft or Qt::AlignRight.
    AttachmentChips(AttachmentChip::Kind kind, Qt::Alignment side, QWidget* parent = nullptr);

    // Chips of files that stay keep the keyboard's focus.
    void setFiles(const QList<File>& files);
    const QList<AttachmentChip*>& chips() const { return m_chips; }

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    // The estimated height of so many chips.
    static int estimatedHeight(qsizetype files, const QFontMetrics& metrics);

  Q_SIGNALS:
    void clicked(int index);

  protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

  private:
    int arrange(int width, bool places) const;

    AttachmentChip::Kind m_kind;
    Qt::Alignment m_side;
    QList<File> m_files;
    QList<AttachmentChip*> m_chips;
};

}  // namespace offstage::ui
