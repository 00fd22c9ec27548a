#pragma once

#include <QWidget>

class QLabel;
class QListView;
class QPushButton;
class QSortFilterProxyModel;

namespace offstage::ui {

class LocalModels;

// The list of models found on this computer: names, properties, and whether they fit. A
// row takes two lines if there is room for the verdict at the right, otherwise three.
class LocalModelView : public QWidget {
    Q_OBJECT

  public:
    // Few: the first models that can be opened, exactly as high as they are, and a button
    // to see the others.
    enum class Extent { All, Few };
    static constexpr int kFew = 3;

    LocalModelView(LocalModels& models, Extent extent, QWidget* parent = nullptr);

    // Marks the row of this model, if it is there.
    void setCurrent(const QString& path);
    QListView& list() const { return *m_list; }
    QLabel& status() const { return *m_status; }
    QPushButton& button() const { return *m_button; }  // adds a folder, or shows all

  Q_SIGNALS:
    void chosen(const QString& path);
    void opened(const QString& path);  // by a double click or Enter
    void allRequested();

  private:
    void refresh();
    void restyle();
    bool event(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

    LocalModels& m_models;
    Extent m_extent;
    QLabel* m_heading;
    QListView* m_list;
    QLabel* m_status;
    QPushButton* m_button;
    QSortFilterProxyModel* m_rows;
    bool m_marking = false;
    QString m_current;  // the marked model, also after another search
};

}  // namespace offstage::ui
