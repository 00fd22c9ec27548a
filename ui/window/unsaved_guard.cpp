#include "ui/window/unsaved_guard.h"

#include <QApplication>
#include <QDir>
#include <QMainWindow>
#include <QStatusBar>
#include <QTime>

#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/history/conversation_files.h"
#include "ui/history/history.h"
#include "ui/window/unsaved_bar.h"

namespace offstage::ui {

namespace {

// A second click on the window's close button within this time does not count: the user
// cannot have read the question yet.
constexpr int kReadingTimeMs = 1000;
// After this time, an announced session's end that did not come is ignored.
constexpr int kSessionEndMs = 60'000;

}  // namespace

UnsavedGuard::UnsavedGuard(QMainWindow& window, History& history)
    : QObject(&window), m_window(window), m_history(history), m_bar(new UnsavedBar) {
    m_bar->hide();
    m_reading.setSingleShot(true);
    m_reading.setInterval(kReadingTimeMs);
    connect(m_bar, &UnsavedBar::tryAgainRequested, this, &UnsavedGuard::tryAgain);
    connect(m_bar, &UnsavedBar::closeRequested, this, &UnsavedGuard::closeWithoutSaving);
    connect(m_bar, &UnsavedBar::fileRequested, this, &UnsavedGuard::chooseFile);
    connect(m_bar, &UnsavedBar::stayRequested, this, [this] {
        m_bar->takeBack();
        refresh();
    });
    connect(&m_history, &History::saved, this, [this](quint64 changes) {
        if (m_bar->isAsking() && changes >= m_askedAt) {
            m_bar->takeBack();
        }
        refresh();
    });
    for (const auto signal : {&History::added, &History::changed, &History::removed}) {
        connect(&m_history, signal, this, &UnsavedGuard::refresh);
    }
    connect(&m_history, &History::troubleChanged, this, [this] {
        m_sinceTrouble.clear();
        refresh();
    });
    connect(qApp, &QGuiApplication::commitDataRequest, this, &UnsavedGuard::endSession, Qt::DirectConnection);
    refresh();
}

// The bar stays as long as the trouble does.
void UnsavedGuard::refresh() {
    if (m_bar->isAsking()) {
        return;
    }
    const QString trouble = m_history.trouble();
    if (trouble.isEmpty()) {
        m_bar->takeBack();
        return;
    }
    QStringList sentences = {trouble, m_history.isOpen()
                                          ? tr("What is written is kept in memory; saving is tried again every second.")
                                          : tr("What is written is kept in memory until Offstage closes.")};
    sentences += m_sinceTrouble;
    m_bar->tell(sentences.join(u' '), m_history.hasUnsaved());
}

void UnsavedGuard::tryAgain() {
    if (m_bar->isAsking()) {
        m_reading.start();  // this close is no second one
        m_window.close();
        return;
    }
    if (m_history.tryAgain()) {
        m_window.statusBar()->showMessage(tr("All conversations are saved."), 8000);
    } else {
        m_sinceTrouble = QStringList(tr("Tried again at %1.").arg(QTime::currentTime().toString(u"HH:mm:ss")));
    }
    refresh();
}

bool UnsavedGuard::mayClose() {
    const bool isSecond = m_bar->isAsking() && !m_reading.isActive();
    const bool isInFile = m_inFileAt == m_history.changeCount();
    const bool mayAsk = m_window.isVisible() && !isSecond && !isInFile && !m_closesUnsaved && !m_sessionEnds;
    if (!mayAsk || m_history.saveNow()) {
        return true;
    }
    if (!m_bar->isAsking()) {
        m_reading.start();
    }
    m_askedAt = m_history.changeCount();
    m_bar->ask(m_history.trouble(), m_history.hasUnsaved());
    m_window.setWindowState(m_window.windowState() & ~Qt::WindowMinimized);
    QApplication::alert(&m_window);
    return false;
}

void UnsavedGuard::closeWithoutSaving() {
    m_closesUnsaved = true;
    m_window.close();
    m_closesUnsaved = false;  // something else may have kept the window
}

void UnsavedGuard::endSession() {
    m_history.saveNow();
    m_sessionEnds = true;
    QTimer::singleShot(kSessionEndMs, this, [this] { m_sessionEnds = false; });
}

void UnsavedGuard::chooseFile() {
    openSaveDialog(&m_window, tr("Save the conversations that are not saved"), {tr("Conversations (*.json)")}, {},
                   [this](const QString& file) { saveTo(file); });
}

void UnsavedGuard::saveTo(const QString& file) {
    const QList<StoredConversation> conversations = m_history.unsaved();
    const QString error = conversations.isEmpty() ? QString() : writeFile(file, conversationsToJson(conversations));
    if (m_bar->isAsking()) {
        error.isEmpty() ? closeWithoutSaving() : m_bar->ask(error, true);
        return;
    }
    if (error.isEmpty()) {
        m_inFileAt = m_history.changeCount();
    }
    const QString saved = tr("Saved as %1: what is written from now on is not in it.");
    m_sinceTrouble = QStringList(error.isEmpty() ? saved.arg(QDir::toNativeSeparators(file)) : error);
    refresh();
}

}  // namespace offstage::ui
