#pragma once

#include <QLayout>
#include <QScrollArea>

namespace offstage::ui {

// What a PanelArea scrolls: its parts shrink to their minimum before that. Otherwise a
// scroll area would ask for the height that the layout prefers at a width.
class PanelContent : public QWidget {
  public:
    int heightForWidth(int width) const override {
        return layout()->hasHeightForWidth() ? layout()->minimumHeightForWidth(width) : -1;
    }
};

// The scrolled part of a panel. Its content takes the available width and scrolls if the
// height is too little: a dock can be made lower than its contents, but not narrower. The
// room of the vertical bar is always kept, so that the content keeps its width.
class PanelArea : public QScrollArea {
    Q_OBJECT

  public:
    // `content` becomes this area's.
    explicit PanelArea(QWidget* content);

    QSize sizeHint() const override;         // as wide as the content needs
    QSize minimumSizeHint() const override;  // of the same width, and some lines

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    int m_neededWidth = 0;  // known to the parent's layout
};

}  // namespace offstage::ui
