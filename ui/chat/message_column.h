#pragma once

#include <functional>

#include <QList>

#include "ui/chat/message_text.h"

namespace offstage::ui {

class ConversationModel;
class MessageWidget;

// The places of a conversation's messages, one below the other. Rows near the viewport
// have widgets and exact heights; the heights of the others are estimates. GUI thread
// only.
class MessageColumn {
  public:
    static constexpr int kWidest = 760;  // pixels at the ordinary font

    struct Row {
        int height = 0;             // 0: not known
        QWidget* widget = nullptr;  // MessageWidget or ProblemCard; null: far from the viewport
        MessageWidget* message() const;
    };
    // A point that keeps its place: a row, and a place in it, at a distance from the
    // viewport's top.
    struct Anchor {
        int row = -1;
        MessageText::Anchor place;
        int distance = 0;
    };

    MessageColumn(const ConversationModel& model, QWidget& viewport, std::function<QWidget*(int row)> make,
                  std::function<void(Row& row)> release)
        : m_model(model), m_viewport(viewport), m_make(std::move(make)), m_release(std::move(release)) {}

    QList<Row>& rows() { return m_rows; }
    const QList<Row>& rows() const { return m_rows; }
    // After removed rows: no row has a place until the next computeTops().
    void dropTops() { m_tops.clear(); }
    bool hasTops() const { return m_tops.size() == m_rows.size() + 1; }
    int topOf(int row) const { return m_tops[row]; }
    int bottom() const { return m_tops.last(); }

    // The column's place in a viewport of this width.
    static int widthIn(int viewport, const QFontMetrics& metrics);
    static int leftIn(int viewport, const QFontMetrics& metrics);

    // The width that the viewport leaves. A change scales the heights of distant rows;
    // they are measured when they come near.
    void fitWidth();
    void computeTops();
    // `value`: of the scroll bar, the viewport's top.
    Anchor anchorAt(int value) const;
    int valueFor(const Anchor& anchor) const;  // `anchor` has one of the rows
    // Makes widgets and measures heights around this scroll position. False: a height
    // differs from its estimate.
    bool layOutAround(int value);
    // Moves the widgets there, and releases distant ones.
    void place(int value);

  private:
    int rowAt(int y) const;
    int lastMessage() const;  // its row; cards may follow it

    const ConversationModel& m_model;
    QWidget& m_viewport;
    std::function<QWidget*(int)> m_make;
    std::function<void(Row&)> m_release;
    QList<Row> m_rows;
    QList<int> m_tops;  // of each row, and the end of the last
    int m_width = -1;   // in the last layout
};

// Keeps the layout of `bar`, which is as wide as the conversation, on the column.
void standOnColumn(QWidget& bar);

}  // namespace offstage::ui
