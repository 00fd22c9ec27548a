#pragma once

#include <QObject>
#include <QStringList>

class QMimeData;
class QWidget;

namespace offstage::ui {

class DropHint;

// Files that are dragged over the window and dropped on it: a model to open, or files to
// attach. GUI thread only.
class DropTarget : public QObject {
    Q_OBJECT

  public:
    explicit DropTarget(QWidget& window);

    // The path of a drag of files; empty if it cannot be a model.
    static QString modelPathIn(const QMimeData* mime);

  Q_SIGNALS:
    void modelDropped(const QString& path);
    void filesDropped(const QStringList& paths);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    QWidget& m_window;
    DropHint* m_hint;
};

}  // namespace offstage::ui
