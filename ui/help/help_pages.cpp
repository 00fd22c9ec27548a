#include "ui/help/help_pages.h"

#include <QAction>
#include <QCoreApplication>
#include <QHash>
#include <QMenuBar>
#include <QWidget>

#include "ui/widgets/menu_commands.h"

namespace offstage::ui {

namespace {

constexpr char kPageProperty[] = "helpPage";

struct Help {
    Q_DECLARE_TR_FUNCTIONS(Help)
};

// Paragraphs; those that begin with "- " are a list.
QString joined(const QStringList& paragraphs) {
    return paragraphs.join(QStringLiteral("\n\n"));
}

QString item(const QString& text) {
    return QStringLiteral("- ") + text;
}

// A name as Markdown shows it: signs that would mean something there do not.
QString literal(const QString& text) {
    QString out;
    for (const QChar c : text) {
        if (QStringLiteral("\\`*_{}[]<>()#+-.!|~").contains(c)) {
            out += u'\\';
        }
        out += c;
    }
    return out;
}

QString keysText(const QMenuBar& menus) {
    QString table = QStringLiteral("| %1 | %2 |\n|---|---|\n").arg(Help::tr("Command"), Help::tr("Keys"));
    for (const MenuCommand& command : menuCommands(menus)) {
        if (const QKeySequence keys = command.action->shortcut(); !keys.isEmpty()) {
            table += QStringLiteral("| %1 | %2 |\n")
                         .arg(literal(command.path), literal(keys.toString(QKeySequence::NativeText)));
        }
    }
    return joined({table, Help::tr("All of these can be changed: **Edit › Settings › Keys**."),
                   Help::tr("In the message box Enter sends and Shift+Enter begins a new line. Alt with the underlined "
                            "letter opens a menu. Tab goes from field to field, and arrow keys move within a plot or a "
                            "list. What you type when nothing else wants it goes into the message box.")});
}

QList<HelpPage> chatPages() {
    return {
        {QStringLiteral("start"), Help::tr("First steps"),
         joined(
             {Help::tr(
                  "Write a message in the box at the bottom and press Enter. The demo model answers at once. It is "
                  "tiny: it shows how the program works, not what large models can do."),
              Help::tr("Open a model of your own with **File › Open model**, or drop its GGUF file or folder on the "
                       "window. **File › Open with options** says before anything is loaded whether a model fits, what "
                       "would make it fit, and how fast it would be."),
              Help::tr("While an answer is written it can be stopped. Afterwards it can be continued or written again, "
                       "and it and your message can be edited: each makes a branch beside the old one, and nothing is "
                       "erased. An answer that you have edited says so, and the model goes on from your text. "
                       "The arrows at a message go from branch to branch."),
              Help::tr(
                  "Offstage is for Mixture-of-Experts models. In each layer a router calls a few experts for each "
                  "token; the others wait in memory or on the disk. The panels at the right show all of this while "
                  "it happens. You never need them for a conversation."),
              Help::tr("Every command can be found by a part of its name with **View › Command palette**.")})},
        {QStringLiteral("models"), Help::tr("Models and formats"),
         joined(
             {Help::tr("These can be opened:"),
              item(Help::tr("a **GGUF file**, whole or split. Any part of a split file will do, the others are "
                            "looked for beside it;")),
              item(Help::tr("a **folder as published on Hugging Face**, with config.json and safetensors files in "
                            "BF16, F16 or F32.")),
              Help::tr("Mixtral, Phi-3.5-MoE, DeepSeek, DBRX, gpt-oss, Qwen-MoE, Gemma 4, GLM-4, MiniMax-M2, OLMoE "
                       "and Granite-MoE are known, for text alone. Models without experts are refused, and so are "
                       "damaged files, with the file and the place named."),
              Help::tr("Models are never downloaded. The start page offers those that other programs keep on this "
                       "computer: Hugging Face, LM Studio, llama.cpp and Ollama. They are read where they lie. Other "
                       "folders can be added in **File › Open with options**."),
              Help::tr("A GGUF file's experts stay in the file's own format. Fewer bits make a model smaller and "
                       "faster, and its answers a little worse: the Budget panel's quality decides.")})},
        {QStringLiteral("attachments"), Help::tr("Files with a message"),
         joined(
             {Help::tr("Drop files on the window, paste them, or choose them with the paper clip. Text, source code, "
                       "CSV and Markdown are read, and PDF files where this program was built with Qt PDF."),
              Help::tr("Each file stands above the message with its size and its tokens. All of it goes to the "
                       "model, before your text. What does not fit into the context is never cut: the message cannot "
                       "be sent until a file is removed."),
              Help::tr("The text of the files is kept with the conversation. The files themselves are not needed any "
                       "more.")})},
        {QStringLiteral("personas"), Help::tr("Personas"),
         joined({Help::tr("A persona is a system prompt, the sampling and, if you like, a model under a name. It is "
                          "chosen above the conversation, and kept with it."),
                 Help::tr("The menu beside it makes a new persona of what is set up now, changes, renames and deletes "
                          "your own, and writes them to a file or reads them from one. The personas of the program "
                          "have a system prompt alone."),
                 Help::tr("Where a persona's model is not the one that is open, a line above the message box offers to "
                          "open it. What you change in the Sampling panel belongs to the conversation; the persona "
                          "stays as it is until you change it.")})},
        {QStringLiteral("thinking"), Help::tr("Thinking"),
         joined(
             {Help::tr("Some models think before they answer. What they think is folded above the answer, with its "
                       "time and tokens; a click opens it."),
              Help::tr("Where the model lets one choose how much it thinks, the choice stands beside the message box "
                       "and in the Sampling panel. More thinking takes longer."),
              Help::tr("Earlier thoughts are left out of the next prompt where the model's template leaves them "
                       "out.")})},
    };
}

// By the panel's name.
QHash<QString, QString> panelTexts() {
    QHash<QString, QString> texts;
    texts[QStringLiteral("conversations")] = joined(
        {Help::tr("All conversations, by day. The search field looks for words in every message of all of them; a hit "
                  "opens the conversation there."),
         Help::tr("The **Conversation** menu renames, pins, archives, exports and deletes the chosen one. Below the "
                  "list deleting can be undone for a while. Conversations are kept on this computer alone, as they are "
                  "written.")});
    texts[QStringLiteral("experts")] = joined(
        {Help::tr("A map of the model: one row for each layer, one column for each expert. The colour shows what is "
                  "chosen above the map: how often and how recently an expert was called, where it is, in how many "
                  "bits, and how often it was there when it was needed."),
         Help::tr(
             "Hold the pointer over a cell for its numbers. A click marks an expert, dragging marks many; the "
             "right mouse button pins them in the GPU's memory, evicts them, or gives them other bits. Place never "
             "changes an answer; bits do."),
         Help::tr("Ctrl and a click on a word of an answer shows the experts of that token as rings, and a marked "
                  "expert underlines the words that it took part in.")});
    texts[QStringLiteral("cache")] = joined(
        {Help::tr(
             "How often an expert was already in fast memory when it was called (hit rate), how many of the copies "
             "made ahead came in time and were needed, what was copied for each token, and how many experts made "
             "room for others."),
         Help::tr("The second tab replays the calls that were recorded with other cache policies. The model does not "
                  "run for this, and nothing changes; it shows what another policy would have reached.")});
    texts[QStringLiteral("dispatch")] = joined(
        {Help::tr("What each layer did: experts on the GPU, experts copied there first, and experts computed by the "
                  "CPU, with the time that was predicted beside the time that was measured."),
         Help::tr("The timeline shows one token: what CPU, copies and GPU did side by side, and where one waited for "
                  "another. A click on a bar says what both choices would have cost.")});
    texts[QStringLiteral("budget")] = joined(
        {Help::tr("What the memory of the GPU (VRAM) and of the computer (RAM) is spent on, and how much of each the "
                  "model may use. Type a size with its unit, or move the slider."),
         item(Help::tr("**VRAM** and **RAM**: more room holds more experts ready, and tokens come faster.")),
         item(Help::tr("**Context**: how many tokens a conversation may have. Its memory is missing for experts.")),
         item(Help::tr("**Quality**: how many bits experts have at least, or what the answers may lose.")),
         Help::tr("Before **Apply** the preview says how many bytes would be moved, how long that takes, and how fast "
                  "tokens would come, measured now and forecast then. The change is made in the background while the "
                  "conversation goes on. It can be cancelled, and undone.")});
    texts[QStringLiteral("whatIf")] = joined(
        {Help::tr(
             "How fast this model would be on other graphics cards, with more memory, or on several computers that "
             "share the experts. These are forecasts from measured costs of this computer and the data of the "
             "others, not measurements."),
         Help::tr("A profile of hardware can be copied and edited. The model does not run for this.")});
    texts[QStringLiteral("machines")] = joined(
        {Help::tr("Other computers of yours can hold experts of the model in their memory and compute them, while this "
                  "one computes the rest. A model that does not fit here may fit into all of them."),
         item(Help::tr("There, **offstage-node --model MODEL --ram SIZE** serves the same model, and "
                       "**offstage-node pair** shows eight words.")),
         item(Help::tr("Here, **Add** takes its address and the words, once. Both then know each other's keys; what "
                       "goes over the network is encrypted.")),
         item(Help::tr("**Use** lets it help, **Drain** stops that and keeps the pair, **Remove** forgets its key.")),
         Help::tr(
             "Two ways to share the work: as **helpers**, the others compute experts for this computer, which makes "
             "each step; or **every machine makes each step** with its share of the experts, which is faster where "
             "messages are slow. **Automatic** takes what is forecast to be faster, and shows both forecasts. "
             "Beams, several answers at once and neurons left out expert by expert this computer does alone then."),
         Help::tr("The bars show what a token takes: computing there, the network, and waiting here. With 32-bit "
                  "products on both sides answers are the same as without help. A machine that is lost is replaced by "
                  "this one in the middle of an answer; a sentence says so, and how much slower it is."),
         Help::tr("Nothing connects unless you have added a machine and switched it on; for steps that every machine "
                  "makes, those connect to each other, too. Every connection is in the Log panel.")});
    texts[QStringLiteral("benchmark")] = joined(
        {Help::tr("What the answers of this session took: the time to the first token, tokens per second, and how "
                  "evenly they came."),
         Help::tr(
             "**Run** answers the prompts of a scenario; your conversations wait for that time. **Two plans** "
             "answers one prompt under two budgets and shows the difference. Results can be saved as CSV, JSON and "
             "Markdown, and plots as pictures that hold nothing else of the window.")});
    texts[QStringLiteral("log")] = joined(
        {Help::tr("What happened: models that were loaded, changed budgets, decisions and problems, with the time of "
                  "each. It can be filtered, searched and saved."),
         Help::tr(
             "Outbound connections are counted here, too. There are none but to machines that you have added in the "
             "Machines panel.")});
    texts[QStringLiteral("sampling")] = joined(
        {Help::tr("How the next word is chosen, and the system prompt, for the conversation that is shown and for new "
                  "ones. The next answer uses it."),
         item(Help::tr("**System prompt**: what every answer of the conversation should heed.")),
         item(Help::tr("**Temperature**: 0 always takes the most probable word; more is more adventurous.")),
         item(Help::tr("**Top-k, top-p, min-p**: leave improbable words out.")),
         item(Help::tr("**Repetition penalty**: makes words that were just used less probable.")),
         item(Help::tr("**Seed**: the same seed, prompt and settings give the same answer.")),
         item(Help::tr("**Beam width**: follows several answers side by side and takes the most probable one.")),
         Help::tr(
             "Hold the pointer over a field for more. A preset is a good set of values to begin with; your own can "
             "be saved.")});
    return texts;
}

QList<HelpPage> programPages() {
    return {
        {QStringLiteral("server"), Help::tr("Local server"),
         joined({Help::tr("While the local server is on, other programs of this computer can ask the model that is "
                          "open, by a part of OpenAI's HTTP API. It is off until you switch it on in "
                          "**File › Local server**; your own messages go first."),
                 item(Help::tr("The address for other programs, with /v1 at its end, is shown there as soon as it is "
                               "on.")),
                 item(Help::tr("Every request has to bring the token, which other programs call API key. A new token "
                               "makes the old one worthless.")),
                 item(Help::tr("Web pages are refused, but for those whose origin you name under **Web pages**, such "
                               "as http://localhost:3000.")),
                 Help::tr("It listens on 127.0.0.1, which only programs of this computer reach. With another address "
                          "other computers reach it too, and everything passes the network as plain text.")})},
        {QStringLiteral("settings"), Help::tr("Settings"),
         joined(
             {Help::tr("**Edit › Settings** holds what is about the program itself: theme, text size and language, "
                       "the keys of all commands, what is kept in memory, the local server, and what is stored where."),
              Help::tr(
                  "Under **Memory** you choose how much of other conversations stays in memory beside the one that "
                  "is shown, so that going back to one does not read it again, and see what that takes now."),
              Help::tr(
                  "Under **Storage** every folder has its size and a button that opens it. Quantized copies and "
                  "measured costs can be deleted at any time: they are made again when they are needed. They can be "
                  "kept in another folder, and models can be looked for in folders of your own."),
              Help::tr("Every change holds at once and is kept.")})},
        {QStringLiteral("privacy"), Help::tr("Privacy"),
         joined(
             {Help::tr("Offstage makes no outbound connections but to machines that you have added: no telemetry, no "
                       "update check, no download of models. It listens to nothing, but for the local server while "
                       "that is on; the status bar "
                       "says so then."),
              Help::tr("Conversations are kept in one file on this computer and nowhere else. Answers never load "
                       "pictures or anything else from the network."),
              Help::tr("The local server keeps nothing of what is asked and answered.")})},
    };
}

}  // namespace

QList<HelpPage> helpPages(const QList<PanelTitle>& panels, const QMenuBar& menus) {
    QList<HelpPage> pages = chatPages();
    const QHash<QString, QString> texts = panelTexts();
    for (const PanelTitle& each : panels) {
        pages.append({each.name, each.title, texts.value(each.name)});
    }
    pages.append({QStringLiteral("keys"), Help::tr("Keys"), keysText(menus)});
    pages.append(programPages());
    return pages;
}

void setHelpPage(QWidget& part, const QString& id) {
    part.setProperty(kPageProperty, id);
}

QString helpPageOf(const QWidget* widget) {
    for (; widget != nullptr; widget = widget->parentWidget()) {
        if (const QString id = widget->property(kPageProperty).toString(); !id.isEmpty()) {
            return id;
        }
    }
    return {};
}

}  // namespace offstage::ui
