// The end of the window: nothing that was written is lost unless the person says so.
#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>
#include <QTimer>

#include "ui/history/conversation_files.h"
#include "ui/main_window.h"
#include "ui/unsaved_bar.h"

namespace offstage::ui {

namespace {

// A second click on the window's cross that follows sooner was made before the question could be read.
constexpr int kReadingTimeMs = 1000;
// A session's end that did not come after all is forgotten.
constexpr int kSessionEndMs = 60'000;

}  // namespace

void MainWindow::createUnsavedBar() {
    m_unsaved = new UnsavedBar;
    m_unsaved->hide();
    m_reading = new QTimer(this);
    m_reading->setSingleShot(true);
    m_reading->setInterval(kReadingTimeMs);
    connect(m_unsaved, &UnsavedBar::tryAgainRequested, this, [this] {
        m_reading->start();  // this close is no second one
        close();
    });
    connect(m_unsaved, &UnsavedBar::closeRequested, this, &MainWindow::closeWithoutSaving);
    connect(m_unsaved, &UnsavedBar::fileRequested, this, &MainWindow::chooseFileForUnsaved);
    connect(&m_history, &History::saved, this, [this](quint64 changes) {
        if (changes >= m_askedAt) {
            m_unsaved->hide();
        }
    });
    connect(qApp, &QGuiApplication::commitDataRequest, this, &MainWindow::endSession, Qt::DirectConnection);
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const bool isSecond = m_unsaved->isVisible() && !m_reading->isActive();
    const bool mayAsk = isVisible() && !isSecond && !m_closesUnsaved && !m_sessionEnds;
    if (mayAsk && !m_history.saveNow()) {
        event->ignore();
        askAboutUnsaved();
        return;
    }
    QSettings settings;
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/state"), saveState());
    // Gone for the person at once; the engine obeys the stop within a layer's time.
    hide();
    m_engine.shutdown();
    m_history.close();
    event->accept();
}

void MainWindow::askAboutUnsaved() {
    if (!m_unsaved->isVisible()) {
        m_reading->start();
    }
    m_askedAt = m_history.changeCount();
    m_unsaved->ask(m_history.trouble(), !m_history.unsaved().isEmpty());
    setWindowState(windowState() & ~Qt::WindowMinimized);
    QApplication::alert(this);
}

void MainWindow::closeWithoutSaving() {
    m_closesUnsaved = true;
    close();
}

void MainWindow::endSession() {
    m_history.saveNow();
    m_sessionEnds = true;
    QTimer::singleShot(kSessionEndMs, this, [this] { m_sessionEnds = false; });
}

void MainWindow::chooseFileForUnsaved() {
    auto* dialog = new QFileDialog(this, tr("Save the conversations that are not saved"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilter(tr("Conversations (*.json)"));
    dialog->setDefaultSuffix(QStringLiteral("json"));
    dialog->setDirectory(QSettings().value(QStringLiteral("lastExportFolder"), QDir::homePath()).toString());
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& file) {
        QSettings().setValue(QStringLiteral("lastExportFolder"), QFileInfo(file).path());
        saveUnsavedTo(file);
    });
    dialog->open();
}

void MainWindow::saveUnsavedTo(const QString& file) {
    const QList<StoredConversation> conversations = m_history.unsaved();
    const QString error = conversations.isEmpty() ? QString() : writeFile(file, conversationsToJson(conversations));
    if (error.isEmpty()) {
        closeWithoutSaving();
    } else {
        m_unsaved->ask(error, true);
    }
}

}  // namespace offstage::ui
