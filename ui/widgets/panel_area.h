#pragma once

#include <QScrollArea>

namespace offstage::ui {

// The scrolled part of a panel. Its content takes the width there is and scrolls where that is too little, in both
// directions: a dock can be made smaller than what is in it, and nothing is cut. The room of the vertical bar is kept
// while there is none, so that the content keeps its width.
class PanelArea : public QScrollArea {
    Q_OBJECT

  public:
    // `content` becomes this area's.
    explicit PanelArea(QWidget* content);

    QSize sizeHint() const override;         // as wide as the content needs
    QSize minimumSizeHint() const override;  // enough to see what it is
};

}  // namespace offstage::ui
