#include "ui/settings/storage_page.h"

#include <memory>
#include <utility>

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

#include "engine/plan/cache_folders.h"
#include "ui/format.h"
#include "ui/settings/disk_use.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/panel_area.h"

namespace offstage::ui {

namespace {

enum StorageColumn { kName, kSize, kOpen, kDelete };

StoredThing describe(const engine::CacheFolder& cache) {
    StoredThing thing;
    thing.path = QFile::decodeName(cache.folder.string().c_str());
    thing.deletable = true;
    switch (cache.content) {
        case engine::CacheContent::kQuantized:
            thing.id = QStringLiteral("quantized");
            thing.name = StoragePage::tr("Quantized copies");
            thing.explanation =
                StoragePage::tr("Experts in fewer bits. Without them a model that needs them loads slower once.");
            break;
        case engine::CacheContent::kCalibration:
            thing.id = QStringLiteral("calibration");
            thing.name = StoragePage::tr("Measured costs");
            thing.explanation =
                StoragePage::tr("How fast this computer copies and computes. Measured again at the next load.");
            break;
        case engine::CacheContent::kSensitivity:
            thing.id = QStringLiteral("sensitivity");
            thing.name = StoragePage::tr("Measured sensitivity");
            thing.explanation =
                StoragePage::tr("What fewer bits lose in each expert. Measured again where a plan needs it.");
            break;
    }
    return thing;
}

// The result of `work`, which is done on another thread, for `then` on this one, while `receiver` lives.
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

}  // namespace

StoragePage::StoragePage(const QString& conversations, const QStringList& models, QWidget* parent)
    : QWidget(parent),
      m_notice(textLabel(tr("About what is stored"))),
      m_confirm(new QPushButton(tr("&Delete"))),
      m_keep(new QPushButton(tr("&Keep"))) {
    auto* content = new QWidget;
    auto* grid = new QGridLayout(content);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(10);
    grid->setVerticalSpacing(8);
    grid->setColumnStretch(kName, 1);
    addHeading(*grid, tr("Yours"));
    if (!conversations.isEmpty()) {
        add(*grid, {QStringLiteral("conversations"), tr("Conversations"), {}, conversations});
    }
    add(*grid, {QStringLiteral("settings"), tr("Settings"), {}, QSettings().fileName()});
    addHeading(*grid, tr("Made again where it is missing"));
    for (const engine::CacheFolder& cache : engine::cache_folders()) {
        add(*grid, describe(cache));
    }
    if (!models.isEmpty()) {
        addHeading(*grid, tr("Where models are looked for"));
        for (qsizetype i = 0; i < models.size(); ++i) {
            add(*grid, {QStringLiteral("models%1").arg(i), {}, {}, models[i], false, false});
        }
    }
    grid->setRowStretch(grid->rowCount(), 1);

    m_notice->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_notice->setMinimumHeight(2 * m_notice->fontMetrics().lineSpacing() + 2);
    auto* question = new QHBoxLayout;
    question->addWidget(m_notice, 1);
    for (QPushButton* button : {m_confirm, m_keep}) {
        QSizePolicy kept = button->sizePolicy();
        kept.setRetainSizeWhenHidden(true);
        button->setSizePolicy(kept);
        button->setAutoDefault(false);
        question->addWidget(button, 0, Qt::AlignTop);
    }
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addWidget(new PanelArea(content), 1);
    column->addLayout(question);
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
    QFont font = heading->font();
    font.setWeight(QFont::DemiBold);
    heading->setFont(font);
    if (grid.rowCount() > 1) {
        heading->setContentsMargins(0, 8, 0, 0);
    }
    grid.addWidget(heading, grid.rowCount(), kName, 1, kDelete + 1);
}

void StoragePage::add(QGridLayout& grid, const StoredThing& thing) {
    const qsizetype index = m_things.size();
    const int at = grid.rowCount();
    Row row;
    auto* texts = new QVBoxLayout;
    texts->setSpacing(1);
    if (!thing.name.isEmpty()) {
        QLabel* name = lineLabel();
        name->setText(thing.name);
        texts->addWidget(name);
    }
    if (!thing.explanation.isEmpty()) {
        QLabel* explanation = mutedLabel();
        explanation->setText(thing.explanation);
        texts->addWidget(explanation);
    }
    QLabel* path = textLabel(tr("Place of %1").arg(thing.name.isEmpty() ? tr("models") : thing.name));
    // Long paths may be broken at any slash.
    path->setText(QDir::toNativeSeparators(thing.path).replace(u'/', QStringLiteral("/\u200b")));
    path->setToolTip(QDir::toNativeSeparators(thing.path));
    if (!thing.name.isEmpty()) {
        path->setForegroundRole(QPalette::PlaceholderText);
    }
    texts->addWidget(path);
    grid.addLayout(texts, at, kName);
    if (thing.counted) {
        row.size = lineLabel(tr("Size of %1").arg(thing.name));
        row.size->setText(QStringLiteral("…"));
        row.size->setMinimumWidth(row.size->fontMetrics().horizontalAdvance(QStringLiteral("1,000.0 GiB")));
        row.size->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        grid.addWidget(row.size, at, kSize);
    }
    const QString what = thing.name.isEmpty() ? thing.path : thing.name;
    row.open = new QPushButton(tr("Open folder"));
    row.open->setAutoDefault(false);
    row.open->setAccessibleName(tr("Open the folder of %1").arg(what));
    connect(row.open, &QPushButton::clicked, this, [this, index] {
        const QString folder = folderOf(m_things[index].path);
        if (QFileInfo(folder).isDir()) {
            Q_EMIT folderRequested(folder);
        } else {
            endQuestion(tr("%1 is not there yet.").arg(QDir::toNativeSeparators(folder)));
        }
    });
    grid.addWidget(row.open, at, kOpen);
    if (thing.deletable) {
        row.remove = new QPushButton(tr("Delete…"));
        row.remove->setAutoDefault(false);
        row.remove->setEnabled(false);  // until it is known that there is something
        row.remove->setAccessibleName(tr("Delete %1").arg(what));
        connect(row.remove, &QPushButton::clicked, this, [this, index] { ask(index); });
        grid.addWidget(row.remove, at, kDelete);
    }
    m_things.append(thing);
    m_rows.append(row);
}

qsizetype StoragePage::indexOf(const QString& id) const {
    for (qsizetype i = 0; i < m_things.size(); ++i) {
        if (m_things[i].id == id) {
            return i;
        }
    }
    return -1;
}

QPushButton* StoragePage::deleteButton(const QString& id) const {
    const qsizetype index = indexOf(id);
    return index < 0 ? nullptr : m_rows[index].remove;
}

QPushButton* StoragePage::openButton(const QString& id) const {
    const qsizetype index = indexOf(id);
    return index < 0 ? nullptr : m_rows[index].open;
}

QString StoragePage::sizeText(const QString& id) const {
    const qsizetype index = indexOf(id);
    return index < 0 || m_rows[index].size == nullptr ? QString() : m_rows[index].size->text();
}

QString StoragePage::notice() const {
    return m_notice->text();
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
        paths += thing.counted ? thing.path : QString();
    }
    onAnotherThread<QList<quint64>>(
        this,
        [paths] {
            QList<quint64> bytes;
            for (const QString& path : paths) {
                bytes += path.isEmpty() ? 0 : bytesAt(path);
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
        if (row.size != nullptr) {
            row.size->setText(bytesText(row.bytes));
        }
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
