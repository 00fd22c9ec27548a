#include "ui/widgets/file_choice.h"

#include <utility>

#include <QFileInfo>
#include <QSignalBlocker>

namespace offstage::ui {

namespace {

const QString kOther = QStringLiteral("\n");  // no path and no name

}  // namespace

FileChoice::FileChoice(const QString& none, const QStringList& names, const QString& other,
                       std::function<void(QWidget*, const Taken&)> ask)
    : m_ask(std::move(ask)) {
    addItem(none, QString());
    for (const QString& name : names) {
        addItem(name, name);
    }
    addItem(other, kOther);
    connect(this, &QComboBox::currentIndexChanged, this, &FileChoice::take);
}

void FileChoice::choose(const QString& chosen) {
    const QSignalBlocker quiet(this);
    int index = findData(chosen);
    if (index < 0) {
        index = count() - 1;
        insertItem(index, QFileInfo(chosen).fileName(), chosen);
        setItemData(index, chosen, Qt::ToolTipRole);
    }
    setCurrentIndex(index);
    m_chosen = chosen;
}

void FileChoice::take(int index) {
    const QString chosen = itemData(index).toString();
    if (chosen != kOther) {
        m_chosen = chosen;
        Q_EMIT chosenByUser();
        return;
    }
    choose(m_chosen);  // until there is a file, and where none is chosen
    m_ask(this, [this](const QString& path) {
        choose(path);
        Q_EMIT chosenByUser();
    });
}

}  // namespace offstage::ui
