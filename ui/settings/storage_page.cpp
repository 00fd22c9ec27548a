#include "ui/settings/storage_page.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <QComboBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QFutureWatcher>
#include <QGridLayout>
#include <QLabel>
#include <QPromise>
#include <QPushButton>
#include <QSettings>
#include <QThreadPool>
#include <QVBoxLayout>

#include "engine/files/cache_folders.h"
#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/engine/format.h"
#include "ui/settings/cache_place.h"
#include "ui/settings/disk_use.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

enum StorageColumn { kName, kSize, kOpen, kDelete };
constexpr int kBelowThing = 6;
constexpr int kAboveStorageNotice = 4;  // its first line beside the text of the buttons

StoredThing describe(const engine::CacheFolder& cache) {
    StoredThing thing;
    thing.path = QFile::decodeName(cache.folder.string().c_str());
    thing.deletable = true;
    switch (cache.content) {
        case engine::CacheContent::kQuantized:
            thing.name = StoragePage::tr("Quantized copies");
            thing.explanation =
                StoragePage::tr("Experts in fewer bits. Without them a model that needs them loads slower once.");
            break;
        case engine::CacheContent::kCalibration:
            thing.name = StoragePage::tr("Measured costs");
            thing.explanation =
                StoragePage::tr("How fast this computer copies and computes. Measured again at the next load.");
            break;
        case engine::CacheContent::kSensitivity:
            thing.name = StoragePage::tr("Measured sensitivity");
            thing.explanation =
                StoragePage::tr("What fewer bits lose in each expert. Measured again where a plan needs it.");
            break;
    }
    return thing;
}

// Runs `work` on another thread, and `then` with its result on this one, while `receiver`
// exists.
template <typename Result, typename Work, typename Then>
void onAnotherThread(QObject* receiver, Work work, Then then) {
    auto* watcher = new QFutureWatcher<Result>(receiver);
    QObject::connect(watcher, &QFutureWatcher<Result>::finished, receiver, [watcher, then] {
        then(watcher->result());
        watcher->deleteLater();
    });
    auto promise = std::make_shared<QPromise<Result>>();
    promise->start();
    watcher->setFuture(promise->future());
    QThreadPool::globalInstance()->start([promise, work] {
        promise->addResult(work());
        promise->finish();
    });
}

QString folderOf(const QString& path) {
    const QFileInfo info(path);
    return info.isDir() ? path : info.absolutePath();
}

// Long paths may be broken at any slash.
void showPath(QLabel& label, const QString& path) {
    label.setText(QDir::toNativeSeparators(path).replace(u'/', QStringLiteral("/\u200b")));
    label.setToolTip(QDir::toNativeSeparators(path));
}

// The width of the widest such button: one width in all parts of the page.
int widestButton(const QStringList& texts) {
    int width = 0;
    for (const QString& text : texts) {
        width = std::max(width, QPushButton(text).sizeHint().width());
    }
    return width;
}

int openWidth() {
    return widestButton({StoragePage::tr("Open folder"), StoragePage::tr("The usual place")});
}

int deleteWidth() {
    return widestButton({StoragePage::tr("Delete…"), StoragePage::tr("Change…"), StoragePage::tr("Remove")});
}

}  // namespace

StoragePage::StoragePage(const QString& conversations, QWidget* parent)
    : QWidget(parent),
      m_cachePlace(textLabel(tr("Where caches are kept"))),
      m_changeCache(new QPushButton(tr("Change…"))),
      m_usualCache(new QPushButton(tr("The usual place"))),
      m_addModels(new QPushButton(tr("&Add a folder…"))),
      m_modelRows(new QVBoxLayout),
      m_notice(textLabel(tr("About what is stored"))),
      m_confirm(new QPushButton(tr("&Delete"))),
      m_keep(new QPushButton(tr("&Keep"))) {
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(kName, 1);
    grid->setColumnMinimumWidth(kOpen, openWidth());
    grid->setColumnMinimumWidth(kDelete, deleteWidth());
    addHeading(*grid, tr("Yours"));
    if (!conversations.isEmpty()) {
        add(*grid, {tr("Conversations"), {}, conversations});
    }
    add(*grid, {tr("Settings"), {}, QSettings().fileName()});
    addHeading(*grid, tr("Made again where it is missing"));
    if (!conversations.isEmpty()) {
        addKept(*grid, conversations);
    }
    for (const engine::CacheFolder& cache : engine::cache_folders()) {
        add(*grid, describe(cache));
    }
    addCachePlace(*grid);
    addHeading(*grid, tr("Where models are looked for"));
    m_modelRows->setContentsMargins(0, 0, 0, 0);
    grid->addLayout(m_modelRows, grid->rowCount(), kName, 1, kDelete + 1);
    m_addModels->setAutoDefault(false);
    grid->addWidget(m_addModels, grid->rowCount(), kName, Qt::AlignLeft);
    connect(m_addModels, &QPushButton::clicked, this,
            [this] { chooseModelsFolder(this, [this](const QString& folder) { Q_EMIT modelFolderAdded(folder); }); });
    grid->setRowStretch(grid->rowCount(), 1);

    m_notice->setContentsMargins(0, kAboveStorageNotice, 0, 0);
    reserveLines(*m_notice, 2, kAboveStorageNotice + 2);
    auto* question = rowOf({{m_notice, 1}});
    for (QPushButton* button : {m_confirm, m_keep}) {
        keepRoom(*button);
        button->setAutoDefault(false);
        question->addWidget(button, 0, Qt::AlignTop);
    }
    columnOf(this, {{new PanelArea(content), 1}, question}, flush(8));
    connect(m_confirm, &QPushButton::clicked, this, &StoragePage::remove);
    connect(m_keep, &QPushButton::clicked, this, [this] {
        const QPushButton* back = m_rows[m_asked].remove;
        endQuestion({});
        const_cast<QPushButton*>(back)->setFocus();
    });
    endQuestion({});
}

void StoragePage::addHeading(QGridLayout& grid, const QString& text) {
    QLabel* heading = lineLabel();
    heading->setText(text);
    setWeight(*heading, QFont::DemiBold);
    heading->setContentsMargins(0, grid.rowCount() > 1 ? 8 : 0, 0, 4);
    grid.addWidget(heading, grid.rowCount(), kName, 1, kDelete + 1);
}

void StoragePage::add(QGridLayout& grid, const StoredThing& thing) {
    const qsizetype index = m_things.size();
    const int at = grid.rowCount();
    Row row;
    QLabel* name = lineLabel();
    name->setText(thing.name);
    grid.addWidget(name, at, kName);
    // Below the name and the buttons, over all of the width.
    auto* texts = columnOf({}, inset(0, 0, 0, kBelowThing, 1));
    if (!thing.explanation.isEmpty()) {
        QLabel* explanation = mutedLabel();
        explanation->setText(thing.explanation);
        texts->addWidget(explanation);
    }
    QLabel* path = mutedLabel(tr("Place of %1").arg(thing.name));
    showPath(*path, thing.path);
    texts->addWidget(path);
    grid.addLayout(texts, at + 1, kName, 1, kDelete + 1);
    row.size = lineLabel(tr("Size of %1").arg(thing.name));
    row.size->setText(QStringLiteral("…"));
    row.size->setMinimumWidth(row.size->fontMetrics().horizontalAdvance(QStringLiteral("1,000.0 GiB")));
    row.size->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    grid.addWidget(row.size, at, kSize);
    grid.addWidget(folderButton(folderOf(thing.path), thing.name), at, kOpen);
    if (thing.deletable) {
        row.remove = new QPushButton(tr("Delete…"));
        row.remove->setAutoDefault(false);
        row.remove->setEnabled(false);  // until its size is known
        row.remove->setAccessibleName(tr("Delete %1").arg(thing.name));
        connect(row.remove, &QPushButton::clicked, this, [this, index] { ask(index); });
        grid.addWidget(row.remove, at, kDelete);
    }
    m_things.append(thing);
    m_rows.append(row);
}

// The choice of how much is kept stands below its size.
void StoragePage::addKept(QGridLayout& grid, const QString& conversations) {
    add(grid, {tr("Conversations as read"),
               tr("A long conversation that is opened again, also after a new start, goes on without being read whole. "
                  "The files contain the conversation's tokens, and are deleted with it."),
               conversations + QStringLiteral("/kv"), true});
    auto* most = new QComboBox;
    for (const int gib : {0, 1, 2, 5, 10, 20, 50, 100}) {
        most->addItem(gib == 0 ? tr("Off") : tr("Up to %1").arg(bytesText(quint64(gib) << 30)), gib);
    }
    const int kept = settings::kKeptOnDisk.value();
    if (most->findData(kept) < 0) {
        most->addItem(tr("Up to %1").arg(bytesText(quint64(kept) << 30)), kept);
    }
    most->setCurrentIndex(most->findData(kept));
    auto* label = labelOf(most, tr("Keep &it on disk"));
    most->setAccessibleName(tr("Keep what was read of conversations on disk"));
    connect(most, &QComboBox::activated, this, [this, most] {
        const int before = settings::kKeptOnDisk.value();
        settings::kKeptOnDisk.set(most->currentData().toInt());
        if (most->currentData().toInt() < before) {
            endQuestion(tr("What is kept so far stays until you delete it."));
        }
    });
    grid.addLayout(rowOf({label, most, Stretch{1}}, inset(0, 0, 0, kBelowThing, 10)), grid.rowCount(), kName, 1,
                   kDelete + 1);
}

QPushButton* StoragePage::folderButton(const QString& folder, const QString& what) {
    auto* button = new QPushButton(tr("Open folder"));
    button->setAutoDefault(false);
    button->setAccessibleName(tr("Open the folder of %1").arg(what));
    connect(button, &QPushButton::clicked, this, [this, folder] {
        if (QFileInfo(folder).isDir()) {
            Q_EMIT folderRequested(folder);
        } else {
            endQuestion(tr("%1 is not there yet.").arg(QDir::toNativeSeparators(folder)));
        }
    });
    return button;
}

void StoragePage::addCachePlace(QGridLayout& grid) {
    const int at = grid.rowCount();
    m_cachePlace->setForegroundRole(QPalette::PlaceholderText);
    grid.addWidget(m_cachePlace, at, kName);
    m_changeCache->setAutoDefault(false);
    m_changeCache->setAccessibleName(tr("Choose where caches are kept"));
    m_usualCache->setAutoDefault(false);
    m_usualCache->setAccessibleName(tr("Keep caches in the usual place"));
    keepRoom(*m_usualCache);
    grid.addWidget(m_usualCache, at, kOpen);
    grid.addWidget(m_changeCache, at, kDelete);
    connect(m_changeCache, &QPushButton::clicked, this, [this] {
        openFolderDialog(this, tr("Keep caches in a folder"), settings::kLastCacheFolder,
                         [this](const QString& folder) { chooseCache(folder); });
    });
    connect(m_usualCache, &QPushButton::clicked, this, [this] { chooseCache({}); });
    refreshCachePlace();
}

// Nothing is moved: the engine has files there open, and all of it is made again.
void StoragePage::chooseCache(const QString& folder) {
    const QString problem = CachePlace::choose(folder);
    refreshCachePlace();
    endQuestion(problem);
    if (!problem.isEmpty()) {
        return;
    }
    if (CachePlace::next() != CachePlace::inForce()) {
        endQuestion(
            tr("What was kept so far is not moved: it is made anew in the new folder, and stays where it is until "
               "you delete it."));
    }
}

void StoragePage::refreshCachePlace() {
    const QString now = CachePlace::inForce(), next = CachePlace::next();
    m_cachePlace->setText(
        next == now
            ? tr("Caches are kept in the folder %1.").arg(QDir::toNativeSeparators(now))
            : tr("From the next start on caches are kept in the folder %1.").arg(QDir::toNativeSeparators(next)));
    m_usualCache->setVisible(!CachePlace::chosen().isEmpty());
}

void StoragePage::setModelFolders(const QStringList& added, const QStringList& others) {
    // The button that was clicked may be one of them.
    if (m_modelFolders != nullptr) {
        m_modelRows->removeWidget(m_modelFolders);
        m_modelFolders->hide();
        m_modelFolders->deleteLater();
    }
    m_modelFolders = new QWidget;
    auto* grid = new QGridLayout(m_modelFolders);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(8);
    grid->setColumnStretch(0, 1);
    grid->setColumnMinimumWidth(1, openWidth());  // below the other rows' buttons
    grid->setColumnMinimumWidth(2, deleteWidth());
    for (const QString& folder : added + others) {
        const int at = grid->rowCount();
        QLabel* path = textLabel(tr("Place of %1").arg(tr("models")));
        showPath(*path, folder);
        grid->addWidget(path, at, 0);
        grid->addWidget(folderButton(folder, folder), at, 1);
        if (at > added.size()) {
            continue;  // another program's
        }
        auto* remove = new QPushButton(tr("Remove"));
        remove->setObjectName(folder);
        remove->setAutoDefault(false);
        describe(*remove, tr("Look no longer for models in %1").arg(folder),
                 tr("Models are no longer looked for there; its files stay."));
        connect(remove, &QPushButton::clicked, this, [this, folder] {
            m_addModels->setFocus();
            Q_EMIT modelFolderRemoved(folder);
        });
        grid->addWidget(remove, at, 2);
    }
    m_modelRows->addWidget(m_modelFolders);
}

void StoragePage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void StoragePage::refresh() {
    if (m_busy) {
        m_again = true;
        return;
    }
    m_busy = true;
    QStringList paths;
    for (const StoredThing& thing : m_things) {
        paths += thing.path;
    }
    onAnotherThread<QList<quint64>>(
        this,
        [paths] {
            QList<quint64> bytes;
            for (const QString& path : paths) {
                bytes += bytesAt(path);
            }
            return bytes;
        },
        [this](const QList<quint64>& bytes) { take(bytes); });
}

void StoragePage::take(const QList<quint64>& bytes) {
    m_busy = false;
    for (qsizetype i = 0; i < m_rows.size(); ++i) {
        Row& row = m_rows[i];
        row.bytes = bytes[i];
        row.size->setText(bytesText(row.bytes));
        if (row.remove != nullptr) {
            row.remove->setEnabled(row.bytes > 0);
        }
    }
    if (std::exchange(m_again, false)) {
        refresh();
        return;
    }
    Q_EMIT measured();
}

void StoragePage::ask(qsizetype index) {
    m_asked = index;
    m_notice->setText(tr("Delete %1 of “%2”?").arg(bytesText(m_rows[index].bytes), m_things[index].name));
    m_confirm->show();
    m_keep->show();
    m_keep->setFocus();
}

void StoragePage::remove() {
    const StoredThing thing = m_things[m_asked];
    m_rows[m_asked].remove->setEnabled(false);
    endQuestion(tr("Deleting “%1”…").arg(thing.name));
    onAnotherThread<QStringList>(
        this, [folder = thing.path] { return emptyFolder(folder); },
        [this, name = thing.name](const QStringList& problems) {
            m_notice->setText(problems.isEmpty()
                                  ? tr("“%1” are deleted.").arg(name)
                                  : tr("Not all of “%1” could be deleted: %2.").arg(name, problems.first()));
            refresh();
        });
}

void StoragePage::endQuestion(const QString& notice) {
    m_asked = -1;
    m_notice->setText(notice);
    m_confirm->hide();
    m_keep->hide();
}

}  // namespace offstage::ui
