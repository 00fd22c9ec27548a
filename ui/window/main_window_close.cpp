// Handles unsaved data while the window is open and at its end: nothing is lost unless
// the user agrees.
#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QFileInfo>
#include <QSettings>
#include <QStatusBar>
#include <QTime>
#include <QTimer>

#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/history/conversation_files.h"
#include "ui/server/local_server_switch.h"
#include "ui/window/main_window.h"
#include "ui/window/side_columns.h"
#include "ui/window/unsaved_bar.h"

namespace offstage::ui {

namespace {

// A second click on the window's close button within this time does not count: the user
// cannot have read the question yet.
constexpr int kReadingTimeMs = 1000;
// After this time, an announced session's end that did not come is ignored.
constexpr int kSessionEndMs = 60'000;

}  // namespace

void MainWindow::createUnsavedBar() {
    m_unsaved = new UnsavedBar;
    m_unsaved->hide();
    m_reading = new QTimer(this);
    m_reading->setSingleShot(true);
    m_reading->setInterval(kReadingTimeMs);
    connect(m_unsaved, &UnsavedBar::tryAgainRequested, this, &MainWindow::tryToSaveAgain);
    connect(m_unsaved, &UnsavedBar::closeRequested, this, &MainWindow::closeWithoutSaving);
    connect(m_unsaved, &UnsavedBar::fileRequested, this, &MainWindow::chooseFileForUnsaved);
    connect(m_unsaved, &UnsavedBar::stayRequested, this, [this] {
        m_unsaved->takeBack();
        refreshUnsaved();
    });
    connect(&m_history, &History::saved, this, [this](quint64 changes) {
        if (m_unsaved->isAsking() && changes >= m_askedAt) {
            m_unsaved->takeBack();
        }
        refreshUnsaved();
    });
    for (const auto signal : {&History::added, &History::changed, &History::removed}) {
        connect(&m_history, signal, this, &MainWindow::refreshUnsaved);
    }
    connect(&m_history, &History::troubleChanged, this, [this] {
        m_sinceTrouble.clear();
        refreshUnsaved();
    });
    connect(qApp, &QGuiApplication::commitDataRequest, this, &MainWindow::endSession, Qt::DirectConnection);
    refreshUnsaved();
}

// The bar stays as long as the trouble does.
void MainWindow::refreshUnsaved() {
    if (m_unsaved->isAsking()) {
        return;
    }
    const QString trouble = m_history.trouble();
    if (trouble.isEmpty()) {
        m_unsaved->takeBack();
        return;
    }
    QStringList sentences = {trouble, m_history.isOpen()
                                          ? tr("What is written is kept in memory; saving is tried again every second.")
                                          : tr("What is written is kept in memory until Offstage closes.")};
    sentences += m_sinceTrouble;
    m_unsaved->tell(sentences.join(u' '), m_history.hasUnsaved());
}

void MainWindow::tryToSaveAgain() {
    if (m_unsaved->isAsking()) {
        m_reading->start();  // this close is no second one
        close();
        return;
    }
    if (m_history.tryAgain()) {
        statusBar()->showMessage(tr("All conversations are saved."), 8000);
    } else {
        m_sinceTrouble = QStringList(tr("Tried again at %1.").arg(QTime::currentTime().toString(u"HH:mm:ss")));
    }
    refreshUnsaved();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    const bool isSecond = m_unsaved->isAsking() && !m_reading->isActive();
    const bool isInFile = m_inFileAt == m_history.changeCount();
    const bool mayAsk = isVisible() && !isSecond && !isInFile && !m_closesUnsaved && !m_sessionEnds;
    if (mayAsk && !m_history.saveNow()) {
        event->ignore();
        askAboutUnsaved();
        return;
    }
    QSettings kept;
    settings::kWindowGeometry.set(kept, saveGeometry());
    m_columns->bringBack();
    settings::kWindowState.set(kept, saveState(kLayoutVersion));
    kept.sync();
    if (kept.status() == QSettings::AccessError) {
        qWarning("offstage: the settings cannot be saved as %s", qPrintable(kept.fileName()));
    }
    // Hidden at once; the engine obeys the stop within a layer's time.
    hide();
    m_server->setOn(false);
    m_engine.shutdown();
    m_history.close();
    event->accept();
}

void MainWindow::askAboutUnsaved() {
    if (!m_unsaved->isAsking()) {
        m_reading->start();
    }
    m_askedAt = m_history.changeCount();
    m_unsaved->ask(m_history.trouble(), m_history.hasUnsaved());
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
    openSaveDialog(this, tr("Save the conversations that are not saved"), {tr("Conversations (*.json)")},
                   settings::folderOf(settings::kLastExportFolder), {}, [this](const QString& file) {
                       settings::kLastExportFolder.set(QFileInfo(file).path());
                       saveUnsavedTo(file);
                   });
}

void MainWindow::saveUnsavedTo(const QString& file) {
    const QList<StoredConversation> conversations = m_history.unsaved();
    const QString error = conversations.isEmpty() ? QString() : writeFile(file, conversationsToJson(conversations));
    if (m_unsaved->isAsking()) {
        error.isEmpty() ? closeWithoutSaving() : m_unsaved->ask(error, true);
        return;
    }
    if (error.isEmpty()) {
        m_inFileAt = m_history.changeCount();
    }
    const QString saved = tr("Saved as %1: what is written from now on is not in it.");
    m_sinceTrouble = QStringList(error.isEmpty() ? saved.arg(QDir::toNativeSeparators(file)) : error);
    refreshUnsaved();
}

}  // namespace offstage::ui
