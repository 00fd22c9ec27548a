#pragma once

#include <functional>

#include <QComboBox>

namespace offstage::ui {

// A box that offers nothing, some names, and a file or folder that the user looks for.
class FileChoice : public QComboBox {
    Q_OBJECT

  public:
    using Taken = std::function<void(const QString& path)>;

    // none: what the empty choice is called. ask: lets the user look for a file, by the
    // entry with the text `other`.
    FileChoice(const QString& none, const QStringList& names, const QString& other,
               std::function<void(QWidget* parent, const Taken& taken)> ask);

    // A name or a path, which is offered from then on; empty: none.
    const QString& chosen() const { return m_chosen; }
    void choose(const QString& chosen);

  Q_SIGNALS:
    void chosenByUser();

  private:
    void take(int index);

    const std::function<void(QWidget*, const Taken&)> m_ask;
    QString m_chosen;
};

}  // namespace offstage::ui
