#include "ui/load/downloads_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QScreen>
#include <QTableView>

#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/load/download_queue.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/table_rows.h"

namespace offstage::ui {

namespace {

// What a load of exactly this file would take and give here.
QString fitText(const engine::FitEstimate& fit) {
    if (!fit.fits) {
        return DownloadsDialog::tr("Does not fit here: %1").arg(engineText(fit.problem));
    }
    QString text = fit.vram.total > 0 ? DownloadsDialog::tr("Takes %1 of the GPU's memory and %2 of RAM here.")
                                            .arg(bytesText(fit.vram.used()), bytesText(fit.ram.used()))
                                      : DownloadsDialog::tr("Takes %1 of RAM here.").arg(bytesText(fit.ram.used()));
    if (const int onDisk = static_cast<int>(fit.plan.n_in(engine::Place::kDisk)); onDisk > 0) {
        text += u' ' + DownloadsDialog::tr("%n expert(s) would be read from the disk.", nullptr, onDisk);
    }
    return text + u' ' +
           (fit.forecast
                ? DownloadsDialog::tr("Forecast: %1 tokens/s, first token of a short prompt after %2.")
                      .arg(rateText(fit.forecast->decode_tokens_per_s), secondsText(fit.forecast->ttft_s))
                : DownloadsDialog::tr("Its speed is known once “Measure speeds” was pressed for such models."));
}

}  // namespace

DownloadsDialog::DownloadsDialog(DownloadQueue& queue, QWidget* parent)
    : QDialog(parent),
      m_queue(queue),
      m_name(new QLineEdit),
      m_look(new QPushButton(tr("&Look"))),
      m_facts(textLabel(tr("The file"))),
      m_get(new QPushButton(tr("&Download"))),
      m_table(new QTableView),
      m_pause(new QPushButton(tr("&Pause"))),
      m_remove(new QPushButton(tr("Re&move"))),
      m_open(new QPushButton(tr("&Open"))) {
    setWindowTitle(tr("Downloads"));
    reserveLines(*m_facts, 6);
    m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_facts->setText(tr("Choose a model in “What runs here”, or name a repository of the hub."));
    m_name->setPlaceholderText(tr("OWNER/NAME, OWNER/NAME:Q4_K_M or the address of a page or file"));
    m_name->setClearButtonEnabled(true);
    m_look->setEnabled(false);
    m_look->setToolTip(
        tr("Reads this file's headers where it is published and shows what it would take here; nothing is downloaded "
           "before you say so"));
    m_get->setEnabled(false);
    m_table->setModel(&m_queue);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->horizontalHeader()->setSectionResizeMode(DownloadQueue::Name, QHeaderView::Stretch);
    m_table->horizontalHeader()->setSectionResizeMode(DownloadQueue::Progress, QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(DownloadQueue::Status, QHeaderView::Stretch);
    showRows(*m_table, tr("Downloads"));
    m_remove->setToolTip(tr("Removes what has come of a download that is not done; a model that is done stays"));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    for (QPushButton* button : {m_pause, m_remove, m_open}) {
        buttons->addButton(button, QDialogButtonBox::ActionRole);
    }
    for (QPushButton* button : {m_look, m_get, m_pause, m_remove, m_open, buttons->button(QDialogButtonBox::Close)}) {
        button->setAutoDefault(false);  // Enter is the table's
    }
    auto* name = new QLabel(tr("Reposi&tory:"));
    name->setBuddy(m_name);
    auto* about = mutedLabel();
    about->setText(
        tr("Models come into the cache of Hugging Face, where other programs find them too. Downloads go on after a "
           "start of the program when you resume them."));
    columnOf(this,
             {rowOf({name, {m_name, 1}, m_look}),
              rowOf({{m_facts, 1}, {m_get, 0, Qt::AlignTop}}, apart(12)),
              {m_table, 1},
              about,
              buttons},
             apart(10));
    resize(QSize(860, 480).boundedTo(screen()->availableSize()));

    const auto look = [this] {
        if (const QString typed = m_name->text().trimmed(); !typed.isEmpty()) {
            Q_EMIT wanted(typed);
        }
    };
    connect(m_name, &QLineEdit::textChanged, this,
            [this](const QString& text) { m_look->setEnabled(!text.trimmed().isEmpty()); });
    connect(m_name, &QLineEdit::returnPressed, this, look);
    connect(m_look, &QPushButton::clicked, this, look);
    connect(&m_queue, &DownloadQueue::looked, this, &DownloadsDialog::showOffer);
    connect(this, &QObject::destroyed, &m_queue, &DownloadQueue::stopLooking);
    connect(m_get, &QPushButton::clicked, this, [this] {
        m_get->setEnabled(false);
        m_queue.add(m_offered);
        m_table->selectRow(m_queue.rowCount() - 1);
        m_table->setFocus();
    });
    connect(m_pause, &QPushButton::clicked, this, [this] {
        const bool goesOn = m_queue.at(row()).state < Download::State::Paused;
        goesOn ? m_queue.pause(row()) : m_queue.resume(row());
    });
    connect(m_remove, &QPushButton::clicked, this, &DownloadsDialog::askToRemove);
    connect(m_open, &QPushButton::clicked, this, &DownloadsDialog::openChosen);
    connect(m_table, &QTableView::activated, this, &DownloadsDialog::openChosen);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &DownloadsDialog::refresh);
    for (const auto signal : {&QAbstractItemModel::rowsRemoved, &QAbstractItemModel::rowsInserted}) {
        connect(&m_queue, signal, this, &DownloadsDialog::refresh);
    }
    connect(&m_queue, &QAbstractItemModel::dataChanged, this, &DownloadsDialog::refresh);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    if (m_queue.rowCount() > 0) {
        m_table->selectRow(0);
    }
    refresh();
}

void DownloadsDialog::offer(const QString& name, const engine::LoadRequest& load, const engine::FitHeld& held) {
    m_offered.clear();
    m_get->setEnabled(false);
    m_facts->setText(tr("%1\nReading its headers…").arg(name));
    m_queue.look(name, load, held);
}

void DownloadsDialog::showOffer(const HubOffer& offer) {
    QStringList facts{offer.name};
    if (offer.bytes > 0) {
        facts << tr("%1 from %2 to %3.").arg(bytesText(offer.bytes), offer.host, offer.folder);
    }
    if (offer.withoutRoom > 0) {
        facts << tr("The disk there lacks %1.").arg(bytesText(offer.withoutRoom));
    }
    if (offer.fit) {
        facts << fitText(*offer.fit);
    }
    if (!offer.problem.empty()) {
        facts << engineText(offer.problem);
    }
    m_facts->setText(facts.join(u'\n'));
    m_offered = offer.name;
    m_get->setEnabled(offer.bytes > 0 && offer.withoutRoom == 0);
    if (m_get->isEnabled() && m_queue.rowCount() == 0) {  // otherwise a person may be at work there
        m_get->setFocus();
    }
}

int DownloadsDialog::row() const {
    return m_table->currentIndex().isValid() ? m_table->currentIndex().row() : -1;
}

void DownloadsDialog::openChosen() {
    if (row() >= 0 && m_queue.at(row()).state == Download::State::Done) {
        const QString path = m_queue.at(row()).path;
        accept();
        Q_EMIT chosen(path);
    }
}

// What has come is gone then; a model that is done stays on the disk.
void DownloadsDialog::askToRemove() {
    const Download download = m_queue.at(row());
    if (download.state == Download::State::Done || download.bytesDone == 0 || !m_queue.isAlone(download)) {
        m_queue.remove(row());
        return;
    }
    auto* question = new QMessageBox(this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setWindowTitle(tr("Remove a download"));
    question->setTextFormat(Qt::PlainText);
    question->setText(tr("Remove %1?").arg(download.name));
    question->setInformativeText(
        tr("%1 of it have come and are deleted. Paused, it keeps them.").arg(bytesText(download.bytesDone)));
    QPushButton* remove = question->addButton(tr("Remove"), QMessageBox::AcceptRole);
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    connect(remove, &QPushButton::clicked, this, [this, id = download.id] {
        for (int each = 0; each < m_queue.rowCount(); ++each) {
            if (m_queue.at(each).id == id) {
                m_queue.remove(each);
                return;
            }
        }
    });
    question->open();
}

void DownloadsDialog::refresh() {
    const bool has = row() >= 0;
    const auto state = has ? m_queue.at(row()).state : Download::State::Done;
    m_pause->setText(has && (state == Download::State::Paused || state == Download::State::Failed) ? tr("&Resume")
                                                                                                   : tr("&Pause"));
    m_pause->setEnabled(has && state != Download::State::Done);
    m_remove->setEnabled(has);
    m_open->setEnabled(has && state == Download::State::Done);
}

}  // namespace offstage::ui
