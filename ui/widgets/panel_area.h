#pragma once

#include <QScrollArea>

namespace offstage::ui {

// The scrolled part of a panel. Its content takes the available width and scrolls if that
// is too little, in both directions: a dock can be made smaller than its contents, and
// nothing is cut. The room of the vertical bar is always kept, so that the content keeps
// its width.
class PanelArea : public QScrollArea {
    Q_OBJECT

  public:
    // `content` becomes this area's.
    explicit PanelArea(QWidget* content);

    QSize sizeHint() const override;         // as wide as the content needs
    QSize minimumSizeHint() const override;  // enough to recognize it
};

}  // namespace offstage::ui
