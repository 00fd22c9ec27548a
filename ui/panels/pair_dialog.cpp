#include "ui/panels/pair_dialog.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>

#include "ui/base/theme.h"
#include "ui/engine/machines.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kCodeWords = 8;
constexpr int kSaidLines = 4;
constexpr int kDialogWidth = 460;

}  // namespace

PairDialog::PairDialog(Machines& machines, QWidget* parent)
    : QDialog(parent),
      m_machines(machines),
      m_address(new QLineEdit),
      m_words(new QLineEdit),
      m_name(new QLineEdit),
      m_use(new QCheckBox(tr("&Use it from now on"))),
      m_progress(new QProgressBar),
      m_said(textLabel(tr("What came of it"))),
      m_pair(nullptr) {
    setWindowTitle(tr("Add a machine"));
    auto* about = textLabel();
    about->setText(
        tr("On the other machine, offstage-node pair shows an address and eight words. Type them here: the "
           "two machines then know each other's keys."));
    m_address->setAccessibleName(tr("Address of the other machine"));
    m_address->setPlaceholderText(tr("cupboard or 192.168.1.7:7421"));
    m_address->setToolTip(tr("Its name or number in your network, as offstage-node pair shows it"));
    m_words->setAccessibleName(tr("The eight words"));
    m_words->setPlaceholderText(tr("eight words with spaces between them"));
    m_words->setToolTip(tr("The words that offstage-node pair shows at this moment. They are good for one pair"));
    m_name->setAccessibleName(tr("What to call it here"));
    m_name->setPlaceholderText(tr("its own name"));
    m_name->setToolTip(tr("What to call it here; without a name it keeps its own"));
    m_use->setChecked(true);
    m_use->setToolTip(tr("Experts of the model that is open, and of later ones, are computed there, too"));
    m_progress->setRange(0, 0);
    m_progress->setTextVisible(false);
    m_progress->setAccessibleName(tr("Pairing is under way"));
    keepRoom(*m_progress);
    m_said->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_said->setFixedHeight(kSaidLines * fontMetrics().lineSpacing());

    auto* form = new QFormLayout;
    form->addRow(tr("&Address"), m_address);
    form->addRow(tr("&Words"), m_words);
    form->addRow(tr("&Name"), m_name);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    m_pair = buttons->addButton(tr("&Pair"), QDialogButtonBox::ActionRole);
    columnOf(this, {about, form, m_use, m_progress, m_said, Stretch{1}, buttons}, apart(10));
    setMinimumSize(kDialogWidth, layout()->minimumHeightForWidth(kDialogWidth));
    // Within the dialog: elsewhere they would have no effect.
    buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
    m_pair->setDefault(true);

    connect(m_pair, &QPushButton::clicked, this, &PairDialog::pair);
    connect(buttons, &QDialogButtonBox::rejected, this, &PairDialog::reject);
    for (QLineEdit* edit : {m_address, m_words}) {
        connect(edit, &QLineEdit::textChanged, this, &PairDialog::refresh);
    }
    for (QLineEdit* edit : {m_address, m_words, m_name}) {
        connect(edit, &QLineEdit::returnPressed, this, [this] {
            if (!m_pair->isEnabled()) {
                say(m_pair->toolTip(), true);  // what is missing
            }
        });
    }
    connect(&m_machines, &Machines::pairingFailed, this, [this](const QString& sentence) {
        refresh();
        say(sentence.isEmpty() ? tr("Pairing was cancelled. Nothing was stored.") : sentence, !sentence.isEmpty());
        m_words->setFocus();
    });
    connect(&m_machines, &Machines::paired, this, [this](const QString& name) {
        if (m_use->isChecked()) {
            m_machines.setUsed(name, true);
        }
        accept();
    });
    refresh();
}

QString PairDialog::problem() const {
    return m_said->text();
}

void PairDialog::pair() {
    m_cancelling = false;
    say(tr("Connecting to %1…").arg(m_address->text().trimmed()), false);
    m_machines.pair(m_address->text(), m_words->text(), m_name->text());
    refresh();
}

void PairDialog::reject() {
    if (!m_machines.isPairing()) {
        QDialog::reject();
        return;
    }
    if (!m_cancelling) {
        m_cancelling = true;
        m_machines.cancelPairing();
        say(tr("Cancelling…"), false);
    }
}

void PairDialog::refresh() {
    const bool busy = m_machines.isPairing();
    for (QWidget* field : {static_cast<QWidget*>(m_address), static_cast<QWidget*>(m_words),
                           static_cast<QWidget*>(m_name), static_cast<QWidget*>(m_use)}) {
        field->setEnabled(!busy);
    }
    static const QRegularExpression blanks(QStringLiteral("[\\s,-]+"));
    const qsizetype words = m_words->text().split(blanks, Qt::SkipEmptyParts).size();
    const bool complete = !m_address->text().trimmed().isEmpty() && words == kCodeWords;
    m_pair->setEnabled(complete && !busy);
    m_pair->setToolTip(complete ? tr("Connects to the other machine once, and exchanges keys")
                       : m_address->text().trimmed().isEmpty() ? tr("The address is missing")
                                                               : tr("A code has eight words; these are %1").arg(words));
    m_progress->setVisible(busy);
}

void PairDialog::say(const QString& sentence, bool isProblem) {
    const Colours colours = Colours::of(palette());
    QPalette own = m_said->palette();
    own.setColor(QPalette::WindowText, isProblem ? colours.problem : colours.text);
    m_said->setPalette(own);
    m_said->setText(sentence);
}

}  // namespace offstage::ui
