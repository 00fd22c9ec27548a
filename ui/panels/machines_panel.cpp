#include "ui/panels/machines_panel.h"

#include <algorithm>

#include <QCheckBox>
#include <QComboBox>
#include <QFontDatabase>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QMessageBox>
#include <QPushButton>
#include <QTreeWidget>

#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/machines.h"
#include "ui/panels/machine_texts.h"
#include "ui/panels/pair_dialog.h"
#include "ui/panels/tiles.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr int kMachinesNoticeLines = 3;
constexpr int kDetailLines = 6;
constexpr int kShapeLines = 3;
constexpr int kNarrowestPicture = 400;
constexpr int kNarrowestButton = 78;
constexpr int kWideEnoughForLinks = 370;
constexpr int kMachineRowPadding = 6;
constexpr int kComputing = 0, kNetwork = 1, kWaiting = 2;  // categories of the times
enum MachineListColumn { MachineName, MachineStateColumn, MachineExperts, MachineLink, MachineListColumns };

QString linkText(const engine::MachineFigures& figures) {
    return MachinesPanel::tr("%1 ms, %2 MB/s")
        .arg(MachineTexts::ms(figures.latency_us), QLocale().toString(figures.mbps, 'f', 0));
}

// A token's time as parts of a bar.
std::vector<StackedBar::Part> partsOf(const engine::ShapeTimes& times) {
    return {{MachinesPanel::tr("computing"), times.computing_us, kComputing},
            {MachinesPanel::tr("network"), times.network_us, kNetwork},
            {MachinesPanel::tr("waiting"), times.waiting_us, kWaiting}};
}

// A command to type elsewhere: to be selected and copied.
QLabel* commandLabel(const QString& command) {
    QLabel* label = textLabel(MachinesPanel::tr("Command"));
    label->setText(command);
    label->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label->setMargin(6);
    label->setFrameShape(QFrame::StyledPanel);
    return label;
}

}  // namespace

MachinesPanel::MachinesPanel(EngineController& engine, Machines& machines, QWidget* parent)
    : Panel(engine, parent),
      m_machines(machines),
      m_introduction(nullptr),
      m_content(nullptr),
      m_list(new QTreeWidget),
      m_details(textLabel(tr("The chosen machine"))),
      m_times(new StackedBar),
      m_places(new StackedBar),
      m_forecasts(new StackedBar),
      m_timesTitle(textLabel(tr("What the times are of"))),
      m_placesTitle(textLabel(tr("What the experts are counted by"))),
      m_forecastsTitle(textLabel(tr("What the forecasts are of"))),
      m_shapeText(textLabel(tr("Who makes the steps now"))),
      m_shape(new QComboBox),
      m_when(new QComboBox),
      m_halves(new QCheckBox(tr("Send activations in 16 bit"))),
      m_add(new QPushButton(tr("Add…"))),
      m_test(new QPushButton(tr("Test link"))),
      m_use(new QPushButton(tr("Use"))),
      m_remove(new QPushButton(tr("Remove"))) {
    m_introduction = buildIntroduction();
    m_content = buildMachines();
    addTo(body(), {m_introduction, {m_content, 1}});
    setEmptyText(
        tr("This Offstage was built without the libraries that connections need (gRPC and OpenSSL), so other machines "
           "cannot help."));
    setEmpty(!m_machines.isBuilt());
    if (!m_machines.isBuilt()) {
        for (QPushButton* button : {m_add, m_test, m_use, m_remove}) {
            button->setParent(this);
            button->hide();
        }
        refresh();
        return;
    }
    buildActions();
    reserveNotice(kMachinesNoticeLines);
    connect(&m_machines, &Machines::changed, this, &MachinesPanel::refresh);
    connect(&m_machines, &Machines::noted, this, [this](const QString& sentence, bool isProblem) {
        say(sentence, isProblem ? Notice::Problem : Notice::Plain);
    });
    connect(&m_machines, &Machines::tested, this, [this](const QString&, const QString& sentence, bool failed) {
        say(sentence, failed ? Notice::Problem : Notice::Plain);
    });
    connect(&m_machines, &Machines::paired, this, [this](const QString& name, bool answers) {
        choose(name);
        say(answers
                ? tr("%1 is paired with this machine.").arg(name)
                : tr("%1 is paired with this machine. It does not answer yet: start offstage-node there.").arg(name));
    });
    connect(&engine, &EngineController::stateChanged, this, &MachinesPanel::refresh);
    if (!m_machines.problem().isEmpty()) {
        say(m_machines.problem(), Notice::Problem);
    }
    refresh();
}

QWidget* MachinesPanel::buildIntroduction() {
    const auto said = [](QLabel* label, const QString& sentence) {
        label->setText(sentence);
        return label;
    };
    return widgetOf(
        columnOf({said(textLabel(),
                       tr("Another computer of yours can hold experts of the model in its memory, and compute them.")),
                  said(textLabel(), tr("1. There, let it serve the same model:")),
                  commandLabel(QStringLiteral("offstage-node --model MODEL --ram 48GiB")),
                  said(textLabel(), tr("2. Beside it, let it show eight words:")),
                  commandLabel(QStringLiteral("offstage-node pair")),
                  said(textLabel(), tr("3. Here, press Add… and type its address and the words.")),
                  said(mutedLabel(),
                       tr("Nothing connects to another machine before that. What goes over the network is encrypted.")),
                  Stretch{1}},
                 flush(8)));
}

QWidget* MachinesPanel::buildMachines() {
    m_list->setColumnCount(MachineListColumns);
    m_list->setHeaderLabels({tr("Machine"), tr("State"), tr("Experts"), tr("Link")});
    m_list->headerItem()->setTextAlignment(MachineExperts, Qt::AlignRight | Qt::AlignVCenter);
    m_list->headerItem()->setToolTip(MachineExperts, tr("Experts of the model that it holds"));
    m_list->headerItem()->setToolTip(MachineLink, tr("A small message there and back, and the rate of large ones"));
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setAlternatingRowColors(true);
    m_list->setAccessibleName(tr("Machines"));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setMinimumSectionSize(fontMetrics().averageCharWidth() * 7);
    m_list->header()->setSectionResizeMode(MachineName, QHeaderView::Stretch);
    for (const int column : {MachineStateColumn, MachineExperts, MachineLink}) {
        m_list->header()->setSectionResizeMode(column, QHeaderView::ResizeToContents);
    }
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_details->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    m_details->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_details->setMinimumHeight(kDetailLines * fontMetrics().lineSpacing());
    m_times->setUnit(Unit::Microseconds);
    m_times->setAccessibleName(tr("A token's time by machine"));
    m_times->setFileName(tr("time by machine"));
    m_times->setEmptyText(tr("Known once a part of an answer was written with their help."));
    m_times->setReserve(2, 1);
    m_places->setUnit(Unit::Count);
    m_places->setAccessibleName(tr("Experts by machine"));
    m_places->setFileName(tr("experts by machine"));
    m_places->setEmptyText(tr("Open a model to see where its experts are."));
    m_places->setReserve(2, 1);
    m_forecastsTitle->setText(tr("A token's time on this machine in both shapes"));
    m_forecasts->setUnit(Unit::Microseconds);
    m_forecasts->setAccessibleName(tr("A token's time in both shapes, forecast"));
    m_forecasts->setFileName(tr("forecast of both shapes"));
    m_forecasts->setEmptyText(tr("Forecast when machines are connected to."));
    m_forecasts->setReserve(3, 1);
    auto* tiles = new Tiles(kNarrowestPicture);
    tiles->add(widgetOf(columnOf({m_list, buildChoices(), m_details, Stretch{1}}, flush())));
    m_pictures = widgetOf(
        columnOf({m_timesTitle, m_times, m_forecastsTitle, m_forecasts, m_placesTitle, m_places, Stretch{1}}, flush()));
    tiles->add(m_pictures);
    connect(m_list, &QTreeWidget::currentItemChanged, this, [this] {
        m_details->setText(texts().detailsOf(this->chosen()));
        refreshActions();
    });
    return widgetOf(columnOf({tiles, Stretch{1}}, flush()));
}

// The choices of shape and use.
QWidget* MachinesPanel::buildChoices() {
    m_shape->addItem(tr("Automatic"), static_cast<int>(engine::NodeShape::kAuto));
    m_shape->addItem(tr("Desktop and helpers"), static_cast<int>(engine::NodeShape::kHelpers));
    m_shape->addItem(tr("Every machine makes each step"), static_cast<int>(engine::NodeShape::kDecentralised));
    describe(
        *m_shape, tr("Who makes the steps"),
        tr("Desktop and helpers: this machine makes each step, and sends the others what their experts compute with; "
           "two messages for a layer, there and back.\n"
           "Every machine makes each step: attention is computed on all of them, and of each layer every machine sends "
           "the others what its experts gave; one message.\n"
           "Automatic: what is forecast to be faster, by what links, experts and steps were measured to take."));
    letShrink(*m_shape, 12);
    reserveLines(*m_shapeText, kShapeLines);
    m_when->addItem(tr("where that is faster"));
    m_when->addItem(tr("whatever they hold"));
    m_when->setAccessibleName(tr("What other machines compute"));
    letShrink(*m_when, 10);
    m_halves->setToolTip(tr(
        "Half the bytes over the network. Answers are then rounded: they differ a little from those of one machine"));
    auto* part = new QWidget;
    auto* rows = new QGridLayout(part);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setHorizontalSpacing(8);
    rows->setVerticalSpacing(6);
    rows->setColumnStretch(1, 1);
    const auto addRow = [&](int row, const QString& text, QComboBox* field) {
        auto* label = labelOf(field, text);
        rows->addWidget(label, row, 0);
        rows->addWidget(field, row, 1);
    };
    addRow(0, tr("Steps"), m_shape);
    addRow(1, tr("They compute"), m_when);
    rows->addWidget(m_halves, 2, 0, 1, 2);
    rows->addWidget(m_shapeText, 3, 0, 1, 2);
    connect(m_shape, &QComboBox::activated, this, [this] {
        engine::MachineUse use = m_machines.use();
        use.shape = static_cast<engine::NodeShape>(m_shape->currentData().toInt());
        if (use.shape == m_machines.use().shape) {
            return;
        }
        m_machines.setUse(use);
        if (engine().isAnswering() && !snapshot().machines.empty()) {
            say(tr("It counts from the end of this answer on."));
        }
    });
    connect(m_when, &QComboBox::activated, this, [this](int index) {
        engine::MachineUse use = m_machines.use();
        use.always = index == 1;
        m_machines.setUse(use);
    });
    connect(m_halves, &QCheckBox::clicked, this, [this](bool on) {
        engine::MachineUse use = m_machines.use();
        use.halves_activations = on;
        m_machines.setUse(use);
    });
    return part;
}

void MachinesPanel::buildActions() {
    m_add->setToolTip(tr("Pair with a machine that shows eight words"));
    m_test->setAccessibleName(tr("Test the link to the chosen machine"));
    m_use->setAccessibleName(tr("Use or drain the chosen machine"));
    m_remove->setAccessibleName(tr("Remove the chosen machine"));
    auto* buttons = new Tiles(kNarrowestButton);
    for (QPushButton* button : {m_add, m_test, m_use, m_remove}) {
        buttons->add(button);
    }
    footer().addWidget(buttons);
    connect(m_add, &QPushButton::clicked, this, &MachinesPanel::add);
    connect(m_test, &QPushButton::clicked, this, [this] {
        say(tr("Testing the link to %1…").arg(chosen()));
        m_machines.test(chosen());
    });
    connect(m_use, &QPushButton::clicked, this, [this] {
        const Machines::Machine* machine = m_machines.find(chosen());
        if (machine == nullptr) {
            return;
        }
        const bool use = !machine->used;
        const QString name = machine->name;
        const bool answering = engine().isAnswering();
        m_machines.setUsed(name, use);
        say(use ? (answering          ? tr("%1 is used from the end of this answer on.").arg(name)
                   : engine().model() ? tr("%1 is being connected to.").arg(name)
                                      : tr("%1 is used as soon as a model is open.").arg(name))
                : (answering ? tr("%1 is drained: its experts run here again from the end of this answer on. It stays "
                                  "paired.")
                                   .arg(name)
                             : tr("%1 is drained: its experts run here again. It stays paired.").arg(name)));
    });
    connect(m_remove, &QPushButton::clicked, this, &MachinesPanel::askToRemove);
}

void MachinesPanel::add() {
    auto* dialog = new PairDialog(m_machines, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    // The button is disabled while machines are paired, and the focus goes elsewhere.
    connect(
        dialog, &QDialog::finished, m_add, [this] { m_add->setFocus(); }, Qt::QueuedConnection);
    dialog->open();
}

void MachinesPanel::askToRemove() {
    const QString name = chosen();
    auto* question = new QMessageBox(this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setWindowTitle(tr("Remove a machine"));
    question->setTextFormat(Qt::PlainText);
    question->setText(tr("Remove %1?").arg(name));
    question->setInformativeText(
        tr("Its key is forgotten. To use it again it has to be paired again, with new words."));
    QPushButton* remove = question->addButton(tr("Remove"), QMessageBox::AcceptRole);
    question->setDefaultButton(question->addButton(QMessageBox::Cancel));
    connect(remove, &QPushButton::clicked, this, [this, name] {
        const QString why = m_machines.remove(name);
        say(why.isEmpty() ? tr("%1 was removed.").arg(name) : why, why.isEmpty() ? Notice::Plain : Notice::Problem);
    });
    question->open();
}

QString MachinesPanel::details() const {
    return m_details->text();
}

QString MachinesPanel::chosen() const {
    const QTreeWidgetItem* item = m_list->currentItem();
    return item != nullptr ? item->data(MachineName, Qt::UserRole).toString() : QString();
}

void MachinesPanel::choose(const QString& machine) {
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* item = m_list->topLevelItem(i);
        if (item->data(MachineName, Qt::UserRole).toString() == machine) {
            m_list->setCurrentItem(item);
        }
    }
}

MachineTexts MachinesPanel::texts() const {
    return {m_machines, engine(), snapshot()};
}

void MachinesPanel::refreshShape() {
    const engine::NodeShape chosen = m_machines.use().shape;
    m_shape->setCurrentIndex(m_shape->findData(static_cast<int>(chosen)));
    m_shapeText->setText(texts().shapeInForce());
    const engine::Snapshot& now = snapshot();
    const engine::MachineShape& shape = now.machine_shape;
    std::vector<StackedBar::Row> rows;
    if (texts().isAny(engine::MachineState::kUp) && shape.helpers.us() > 0 && shape.peers.us() > 0) {
        rows.push_back({tr("Desktop and helpers, forecast"), partsOf(shape.helpers)});
        rows.push_back({tr("Every machine, forecast"), partsOf(shape.peers)});
        for (StackedBar::Row& row : rows) {
            row.predicted = true;
        }
        // An emulated device's time is worked out.
        if (now.machine_tokens > 0 && !(engine().model() && engine().model()->emulated)) {
            double waiting_us = 0;
            for (const engine::MachineFigures& figures : now.machines) {
                waiting_us += figures.waiting_us;
            }
            waiting_us = std::min(waiting_us, now.machine_token_us);
            rows.push_back({shape.decentralised ? tr("Every machine, measured") : tr("Desktop and helpers, measured"),
                            {{tr("computing"), now.machine_token_us - waiting_us, kComputing},
                             {tr("waiting"), waiting_us, kWaiting}}});
        }
    }
    m_forecasts->setRows(std::move(rows));
    m_when->setEnabled(chosen != engine::NodeShape::kDecentralised);
    m_when->setToolTip(
        m_when->isEnabled()
            ? tr("Which experts other machines compute: those that are forecast to be done sooner there, "
                 "by measured costs, or all that they hold")
            : tr("Where every machine makes each step, each computes its share"));
}

void MachinesPanel::modelChanged() {
    refresh();
}

void MachinesPanel::showSnapshot(const engine::Snapshot&) {
    refresh();
}

void MachinesPanel::resizeEvent(QResizeEvent* event) {
    Panel::resizeEvent(event);
    m_list->setColumnHidden(MachineLink, m_list->viewport()->width() < kWideEnoughForLinks);
}

void MachinesPanel::refresh() {
    const bool any = !m_machines.all().isEmpty();
    m_introduction->setVisible(!any);
    m_content->setVisible(any);
    refreshList();
    refreshPictures();
    refreshShape();
    refreshActions();
    m_details->setText(texts().detailsOf(chosen()));
    m_when->setCurrentIndex(m_machines.use().always ? 1 : 0);
    m_halves->setChecked(m_machines.use().halves_activations);
}

void MachinesPanel::refreshList() {
    const int rows = 1 + static_cast<int>(m_machines.all().size());
    const QString before = chosen();
    while (m_list->topLevelItemCount() > rows) {
        delete m_list->takeTopLevelItem(m_list->topLevelItemCount() - 1);
    }
    while (m_list->topLevelItemCount() < rows) {
        m_list->addTopLevelItem(new QTreeWidgetItem);
    }
    const auto set = [&](int row, const QString& key, const QStringList& texts) {
        QTreeWidgetItem* item = m_list->topLevelItem(row);
        item->setData(MachineName, Qt::UserRole, key);
        item->setTextAlignment(MachineExperts, Qt::AlignRight | Qt::AlignVCenter);
        for (int column = 0; column < MachineListColumns; ++column) {
            item->setText(column, texts.value(column));
        }
        item->setToolTip(MachineName, texts.value(MachineName));
        item->setSizeHint(MachineName, {0, fontMetrics().height() + kMachineRowPadding});
    };
    const qint64 all = snapshot().n_layers * snapshot().n_experts;
    set(0, {},
        {tr("This machine"), engine().model() ? tr("● up") : tr("○ no model open"),
         engine().model() && all > 0 ? QLocale().toString(all) : QString(), QString()});
    for (int row = 1; row < rows; ++row) {
        const Machines::Machine& machine = m_machines.all()[row - 1];
        const engine::MachineFigures* figures = texts().figuresOf(machine.name);
        const bool up = figures != nullptr && figures->state == engine::MachineState::kUp;
        set(row, machine.name,
            {machine.name, texts().stateOf(machine.name),
             up ? QLocale().toString(qlonglong{figures->n_held}) : QString(), up ? linkText(*figures) : QString()});
    }
    choose(before);
    if (m_list->currentItem() == nullptr && rows > 1) {
        m_list->setCurrentItem(m_list->topLevelItem(1));
    }
    const int line = fontMetrics().height() + kMachineRowPadding;
    m_list->setFixedHeight(m_list->header()->sizeHint().height() + std::min(rows, 8) * line + 2 * m_list->frameWidth() +
                           2);
}

void MachinesPanel::refreshPictures() {
    const engine::Snapshot& now = snapshot();
    std::vector<StackedBar::Row> times, places;
    const bool timed = now.machine_tokens > 0 && texts().isAny(engine::MachineState::kUp);
    double waiting_us = 0;
    for (const engine::MachineFigures& figures : now.machines) {
        waiting_us += figures.waiting_us;
    }
    // An emulated device's time is worked out; the other machines' are measured.
    const bool emulated = engine().model() && engine().model()->emulated;
    if (timed && !emulated) {
        times.push_back({tr("This machine"),
                         {{tr("computing"), std::max(0.0, now.machine_token_us - waiting_us), kComputing},
                          {tr("waiting"), std::min(waiting_us, now.machine_token_us), kWaiting}}});
    }
    const qint64 all = now.n_layers * now.n_experts;
    const bool owned = now.machine_shape.decentralised && !now.expert_owners.empty();
    if (all > 0 && engine().model()) {
        const auto here = owned ? std::count(now.expert_owners.begin(), now.expert_owners.end(), 0) : all;
        places.push_back({tr("This machine"), {{tr("this machine"), static_cast<double>(here), 0}}});
    }
    for (std::size_t i = 0; i < now.machines.size(); ++i) {
        const engine::MachineFigures& figures = now.machines[i];
        const QString name = QString::fromStdString(figures.name);
        if (timed) {
            times.push_back(
                {name,
                 {{tr("computing"), figures.compute_us, kComputing}, {tr("network"), figures.network_us, kNetwork}}});
        }
        if (all > 0) {
            const std::int64_t there = owned ? figures.n_owned : figures.n_held;
            places.push_back({name, {{name, static_cast<double>(there), 1 + static_cast<int>(i)}}});
        }
    }
    const QString tokens = QLocale().toString(qlonglong{now.machine_tokens});
    m_timesTitle->setText(!timed ? tr("What a token takes on each machine")
                          : now.machine_shape.decentralised
                              ? tr("What a token takes, measured: mean of the last %1. Machines work side "
                                   "by side; of the others their experts are counted.")
                                    .arg(tokens)
                              : tr("What a token takes, measured: mean of the last %1. Machines work side "
                                   "by side.")
                                    .arg(tokens));
    m_placesTitle->setText(owned ? tr("Experts that each machine computes in every step")
                                 : tr("Experts that each machine holds"));
    m_times->setRows(std::move(times));
    m_places->setRows(std::move(places));
    m_pictures->setVisible(!now.machines.empty());  // before they would be blank
}

void MachinesPanel::refreshActions() {
    if (!m_machines.isBuilt()) {
        return;
    }
    const Machines::Machine* machine = m_machines.find(chosen());
    QWidget* focus = focusAmong({m_test, m_use, m_remove});
    const QString why = tr("Choose a machine first");
    m_use->setText(machine != nullptr && machine->used ? tr("Drain") : tr("Use"));
    m_use->setToolTip(machine == nullptr ? why
                      : machine->used    ? tr("Its experts run here again; it stays paired")
                                         : tr("Its memory and its processor are used for experts of the model"));
    m_test->setToolTip(machine == nullptr ? why : tr("Measures latency and rate, for about a second"));
    m_remove->setToolTip(machine == nullptr ? why : tr("Forgets it and its key"));
    m_use->setEnabled(machine != nullptr);
    m_test->setEnabled(machine != nullptr && !m_machines.isTesting());
    m_remove->setEnabled(machine != nullptr);
    m_add->setEnabled(!m_machines.isPairing());
    passFocus(focus, {m_add});
}

}  // namespace offstage::ui
