// Questions to the demo model: those about the program are answered from the manual, all
// others are the model's.

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include "ui/help/help_answers.h"
#include "ui/help/help_pages.h"

using namespace offstage::ui;

namespace {

QJsonObject jsonOf(const QString& path) {
    QFile file(path);
    return file.open(QFile::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject();
}

}  // namespace

class TestHelpAnswers : public QObject {
    Q_OBJECT

    const HelpAnswers m_answers;

  private Q_SLOTS:
    // "*": about the program, on whichever page; "": about something else.
    void question_isAnsweredFromItsPage_data() {
        QTest::addColumn<QString>("page");
        const auto rows = [](const char* page, std::initializer_list<const char*> questions) {
            for (const char* asked : questions) {
                QTest::newRow(asked) << QString::fromLatin1(page);
            }
        };
        rows("models", {"Can you open GGUF files?",
                        "Can it open GGUF files?",
                        "Is GGUF supported?",
                        "Can I use a GGUF model?",
                        "which file formats do you read",
                        "Which models can this program open?",
                        "Does Offstage support safetensors?",
                        "How do I open my own model?",
                        "Can I load a bigger model?",
                        "Where do I get other models?",
                        "How can I download a model?",
                        "Does it work with Ollama models?",
                        "Does it find the models of LM Studio?",
                        "Can I run Qwen3 30B with this?",
                        "Do you support DeepSeek?",
                        "Can it run Mixtral?",
                        "Which model should I use on my laptop?",
                        "What models would run on my computer?",
                        "Kannst du GGUF-Dateien öffnen?",
                        "Welche Modelle kann das Programm öffnen?",
                        "Liest Offstage safetensors?",
                        "Wie öffne ich ein anderes Modell?",
                        "Wo bekomme ich größere Modelle her?",
                        "Kann ich Modelle von Hugging Face herunterladen?",
                        "Welche Modelle laufen auf meinem Rechner?",
                        "Bạn có mở được tệp GGUF không?",
                        "Chương trình này mở được những mô hình nào?",
                        "Làm sao tải mô hình khác?",
                        "Có chạy được mô hình của Ollama không?"});
        rows("privacy", {"Do you send my data anywhere?",
                         "Does this program need an internet connection?",
                         "Can you work offline?",
                         "Is my data safe with you?",
                         "Are my chats private?",
                         "Who can read my conversations?",
                         "Is there any telemetry?",
                         "Where are my conversations saved?",
                         "Can you search the web?",
                         "Brauchst du eine Internetverbindung?",
                         "Schickt das Programm meine Daten irgendwohin?",
                         "Werden meine Daten hochgeladen?",
                         "Gehst du ins Internet?",
                         "Funktioniert das offline?",
                         "Geht es ohne Internet?",
                         "Läuft das auch offline?",
                         "Wo werden meine Unterhaltungen gespeichert?",
                         "Ist das hier privat?",
                         "Wer kann mitlesen?",
                         "Có cần internet không?",
                         "Bạn có gửi dữ liệu của tôi đi đâu không?",
                         "Chương trình có cần internet không?",
                         "Cuộc trò chuyện của tôi được lưu ở đâu?"});
        rows("chat",
             {"Can I attach a PDF?", "What kinds of files can I attach?", "Can you look at pictures?",
              "Can it read my documents?", "How do I edit my message?", "How do I stop an answer?",
              "What happens when the context is full?", "How long can a conversation be?", "What is a persona here?",
              "How do I get a new answer to the same question?", "Kann ich eine PDF-Datei anhängen?",
              "Welche Dateien kann ich mitschicken?", "Kannst du Bilder sehen?",
              "Wie kann ich meine Nachricht bearbeiten?", "Wie stoppe ich eine Antwort?",
              "Was passiert, wenn der Kontext voll ist?", "Tôi có thể đính kèm tệp PDF không?",
              "Bạn có xem được hình ảnh không?", "Làm sao sửa tin nhắn của tôi?"});
        rows("start", {"Which panels are there?",
                       "Is there a panel for machines?",
                       "What can this program do?",
                       "What is this program?",
                       "What can you do?",
                       "What is Offstage?",
                       "What is this app for?",
                       "How does this program work?",
                       "Tell me about this program.",
                       "How do I use Offstage?",
                       "Are you a big model?",
                       "Welche Panels gibt es?",
                       "Was kann dieses Programm?",
                       "Was kannst du?",
                       "Was ist das für ein Programm?",
                       "Wozu ist Offstage gut?",
                       "Wie benutze ich dieses Programm?",
                       "Erkläre mir das Programm.",
                       "Có những bảng nào?",
                       "Chương trình này làm được gì?",
                       "Bạn làm được gì?",
                       "Offstage là gì?"});
        rows("running",
             {"Does it use the GPU?", "Do you run on my graphics card?", "Can this use my NVIDIA card?",
              "Does it need a GPU?", "Do you work without a graphics card?", "Does Offstage support AMD GPUs?",
              "Which CPU instructions do you use?", "Do you use CUDA?", "Benutzt du die GPU?",
              "Nutzt das Programm meine Grafikkarte?", "Läuft es auch ohne Grafikkarte?",
              "Brauche ich eine Nvidia-Karte?", "Chương trình có dùng GPU không?", "Có cần card đồ họa không?"});
        rows("budget", {"How do I give the model more VRAM?", "How much RAM may it use?", "How can I make it faster?",
                        "Why is it so slow?", "How do I change the quality of the model?",
                        "Wie stelle ich das VRAM-Budget ein?", "Warum ist es so langsam?",
                        "Wie mache ich das Modell schneller?", "Wie viel Arbeitsspeicher braucht das Programm?",
                        "Làm sao đổi ngân sách VRAM?", "Làm sao để chạy nhanh hơn?"});
        rows("machines",
             {"Can you use other computers?", "Können andere Rechner mithelfen?", "Kannst du mehrere Computer nutzen?",
              "Can I spread a model over two machines?", "Có thể dùng máy tính khác không?"});
        rows("keys", {"Which keyboard shortcuts are there?", "Is there a shortcut for a new chat?",
                      "Welche Tastenkürzel gibt es?", "Có những phím tắt nào?"});
        rows("conversations",
             {"How do I delete a conversation?", "Can I export my chats?", "How can I search my conversations?",
              "How do I rename a chat?", "Wie lösche ich eine Unterhaltung?", "Kann ich meine Gespräche exportieren?",
              "Làm sao xóa cuộc trò chuyện?"});
        rows("sampling", {"How do I set the temperature?", "Where do I write a system prompt?",
                          "Can I give you instructions?", "Wo stelle ich die Temperatur ein?",
                          "Wie gebe ich dir einen Systemprompt?", "Làm sao đổi nhiệt độ lấy mẫu?"});
        rows("server",
             {"Do you have an API?", "Can other programs use this model?", "Is there an OpenAI compatible server?",
              "Hast du eine API?", "Gibt es einen lokalen Server?", "Chương trình có máy chủ cục bộ không?"});
        rows("settings", {"Is there a dark mode?", "How do I change the language?", "Can I make the text bigger?",
                          "Can this program speak German?", "Gibt es einen dunklen Modus?",
                          "Wie stelle ich die Sprache um?", "Làm sao đổi ngôn ngữ?", "Có chế độ tối không?"});
        rows("experts", {"What does the heat map show?", "What do the colours in the map mean?",
                         "Was zeigt die Heatmap?", "Bản đồ nhiệt cho thấy gì?"});
        rows("benchmark",
             {"How fast are you?", "How do I measure the speed?", "Wie schnell bist du?", "Bạn chạy nhanh thế nào?"});
        rows("what-if",
             {"How fast would it be on an RTX 4090?", "Wie schnell wäre es mit einer besseren Grafikkarte?"});
        rows("log", {"Where is the log?", "Wo ist das Protokoll?"});
        rows("command-line",
             {"Can I use this from the terminal?", "Is there a command line version?", "Gibt es eine Kommandozeile?"});
        rows("building", {"Does Offstage run on Windows?", "Is there a Mac version?", "How do I install Offstage?",
                          "Läuft Offstage unter Windows?", "Wie installiere ich das Programm?",
                          "Offstage có chạy trên Windows không?"});
        rows("*", {"Is this program open source?",
                   "What does Offstage cost?",
                   "Who made this program?",
                   "Which licence does this app have?",
                   "When was this program written?",
                   "Ist dieses Programm kostenlos?",
                   "Wer hat Offstage gemacht?",
                   "Chương trình này có miễn phí không?",
                   "Can I print from this program?",
                   "Why is the window of this app grey?",
                   "Kann das Programm sprechen?",
                   "Is my graphics card being used?",
                   "Are you running on the GPU right now?",
                   "Could I run a 70B model with 8 GB of VRAM?",
                   "Does this thing work with AMD?",
                   "What's the difference between Offstage and Ollama?",
                   "Can I use my own GPT?",
                   "Where are the model files?",
                   "How can I switch to another model?",
                   "Do you keep what I type?",
                   "Does anything leave my computer?",
                   "Do I need to be online?",
                   "Does it connect to a server somewhere?",
                   "Can you show me how to change the font?",
                   "Is there a way to get longer answers?",
                   "What is the box at the bottom for?",
                   "What do the tabs on the right do?",
                   "What does the Budget panel do?",
                   "How do I close a panel?",
                   "How do I get rid of the panels?",
                   "Can I have several windows?",
                   "How do I make the answers less random?",
                   "What does 'measured' mean next to the speed?",
                   "Why does it say simulated?",
                   "How do I go back to the CPU?",
                   "What is the lightning thing in the toolbar?",
                   "Can I talk to you by voice?",
                   "Can you see my screen?",
                   "Can you make pictures?",
                   "Do you remember our last conversation?",
                   "Why are your answers so short?",
                   "Why do you make mistakes?",
                   "How many parameters do you have?",
                   "Which model am I talking to?",
                   "Kann ich dir ein Foto schicken?",
                   "Was macht das Budget-Panel?",
                   "Wofür sind die Tabs rechts?",
                   "Merkst du dir, was ich schreibe?",
                   "Kann ich ein eigenes Modell benutzen?",
                   "Wie viele Parameter hast du?",
                   "Mit welchem Modell spreche ich?",
                   "Warum sind deine Antworten so kurz?",
                   "Wie ändere ich die Schrift?",
                   "Wie beende ich das Programm?",
                   "Kann man das Programm auf Deutsch umstellen?",
                   "Läuft das auf meinem Laptop?",
                   "Braucht man dafür eine gute Grafikkarte?",
                   "Ist das hier ChatGPT?",
                   "Ist das sicher?",
                   "Bạn có nhớ cuộc trò chuyện trước không?",
                   "Bạn có bao nhiêu tham số?",
                   "Làm sao để tắt chương trình?",
                   "Tôi cần máy tính thế nào?",
                   "Làm sao đổi mô hình?",
                   "Bạn là ChatGPT phải không?",
                   "Will my old GTX 1060 be any use?",
                   "Does the app phone home?",
                   "Do I have to pay for anything?",
                   "How do I add my own GGUF?",
                   "Where do downloaded models end up?",
                   "Can I put conversations into folders?",
                   "How do I get back a deleted conversation?",
                   "Is there an undo?",
                   "How much disk space does it need?",
                   "What is that coloured grid on the right?",
                   "Can I use a laptop without a graphics card?",
                   "How do I make it answer in a certain style?",
                   "Why is the answer cut off?",
                   "Can I compare two graphics cards?",
                   "Which quantization is best?",
                   "Does it understand Word files?",
                   "How can I see which experts were used?",
                   "Can I run the model on two PCs at once?",
                   "Can my phone talk to it?",
                   "How do I turn off the panels?",
                   "Welche Grafikkarte brauche ich?",
                   "Wie viel Speicher brauchst du?",
                   "Kann ich meine Chats sichern?",
                   "Was bedeuten die Farben im Experten-Panel?",
                   "Wie installiere ich ein anderes Modell?",
                   "Gibt es Tastenkürzel für den nächsten Chat?",
                   "Verstehst du Word-Dokumente?",
                   "Ist das Programm Open Source?",
                   "Làm sao mở tệp GGUF của tôi?",
                   "Chương trình có gửi tin nhắn của tôi lên mạng không?",
                   "Will this damage my graphics card?",
                   "How do I find something I said last week?",
                   "Can I change the colours?",
                   "What models did you find on my computer?",
                   "Does it support AVX-512?",
                   "How can I read a long PDF with you?",
                   "Can I run this on a Raspberry Pi?",
                   "How do I pin a chat?",
                   "What is the difference between the panels?",
                   "Can you speak Vietnamese?",
                   "How do I see the speed?",
                   "What does Apply do in Budget?",
                   "Is my old laptop good enough?",
                   "How do I turn on thinking?",
                   "Can I import my ChatGPT conversations?",
                   "Kann ich das Fenster dunkel machen?",
                   "Wie lade ich ein Modell herunter?",
                   "Wie finde ich alte Nachrichten?",
                   "Kannst du auf zwei Rechnern laufen?",
                   "Hast du Zugriff auf meine Dateien?",
                   "Máy tôi có 16GB RAM chạy được không?",
                   "Làm sao tìm tin nhắn cũ?"});
        rows("", {"What is an expert?",
                  "Can you open the window?",
                  "Write a story about how you open a GGUF file.",
                  "Do you know a poem?",
                  "Can you read Shakespeare?",
                  "How do you send data in Python?",
                  "What is a solar panel?",
                  "Was ist ein Budget?",
                  "Was ist eine API?",
                  "Wie funktioniert das Internet?",
                  "Wie hoch ist die Temperatur auf der Sonne?",
                  "Was sind Bereiche der Mathematik?",
                  "Làm bảng cửu chương",
                  "Mình có dùng mạng xã hội không?",
                  "Kannst du das Fenster öffnen?",
                  "Schreib eine Geschichte über GGUF-Dateien.",
                  "Kennst du ein Gedicht?",
                  "Wie spät ist es?",
                  "Bạn có biết bài thơ nào không?",
                  "Tell me a story about a fox who finds a lantern.",
                  "What is 47 + 38?",
                  "How many minutes are 3 hours?",
                  "Write a Python function that adds up the even numbers in a list.",
                  "Which is the odd one out: apple, pear, hammer, plum?",
                  "What is the capital of France?",
                  "I am happy because my sister is visiting.",
                  "Hello!",
                  "Hi, how are you?",
                  "Good morning",
                  "Thank you!",
                  "Can you help me sleep better?",
                  "How can I save money?",
                  "How can I improve my memory?",
                  "Do you like music?",
                  "Tell me a joke.",
                  "My computer does not work.",
                  "What is the opposite of fast?",
                  "How many letters does model have?",
                  "Spell the word cache.",
                  "How long is the word layer?",
                  "Which animal runs the fastest?",
                  "How fast is a cheetah?",
                  "What keys does a piano have?",
                  "Write a program that prints hello.",
                  "Is it cold in winter?",
                  "Can it rain tomorrow?",
                  "Translate good morning to German.",
                  "I want to learn to swim. What can I do?",
                  "Are you a human?",
                  "Who wrote Faust?",
                  "What should I eat for dinner?",
                  "Who won the game yesterday?",
                  "Hallo!",
                  "Wie geht es dir?",
                  "Erzähl mir eine Geschichte über einen Fuchs.",
                  "Was ist 12 mal 12?",
                  "Wie heißt die Hauptstadt von Italien?",
                  "Ich bin müde, weil ich schlecht geschlafen habe.",
                  "Schreib ein Gedicht über den Herbst.",
                  "Danke schön!",
                  "Was soll ich heute kochen?",
                  "Wie schnell ist ein Gepard?",
                  "Xin chào!",
                  "Bạn khỏe không?",
                  "Kể cho tôi nghe một câu chuyện về con cáo.",
                  "12 nhân 12 bằng bao nhiêu?",
                  "Thủ đô của Pháp là gì?",
                  "Cảm ơn bạn!",
                  "Viết một bài thơ về mùa thu.",
                  "What time does the train leave?",
                  "Which language do people speak in Brazil?",
                  "Can you count to ten?",
                  "What is a quantum computer?",
                  "Is the earth flat?",
                  "How do I open a jar?",
                  "How do I make a cake faster?",
                  "Where can I buy a cheap phone?",
                  "What does a graphic designer do?",
                  "I need a budget for my holiday.",
                  "Which river runs through Paris?",
                  "What is the largest ocean?",
                  "How many legs does a spider have?",
                  "Do you know who discovered America?",
                  "Is it going to rain?",
                  "Can I keep a fox as a pet?",
                  "How old are you?",
                  "What is the chemical symbol of gold?",
                  "I am going to the beach with my dog tomorrow.",
                  "What is your favourite colour?",
                  "What is my name?",
                  "Does a whale have lungs?",
                  "Is there life on Mars?",
                  "Wie viele Beine hat eine Spinne?",
                  "Welche Sprache spricht man in Brasilien?",
                  "Was ist die Quadratwurzel von 49?",
                  "Kannst du bis zehn zählen?",
                  "Ich brauche Hilfe bei Mathe.",
                  "Wo ist mein Hund?",
                  "Ist die Erde rund?",
                  "Wie alt bist du?",
                  "Kannst du mir einen Witz erzählen?",
                  "Con nhện có bao nhiêu chân?",
                  "Bạn bao nhiêu tuổi?",
                  "Hôm nay trời có mưa không?",
                  "Bạn thích màu gì?",
                  "What does a lion eat?",
                  "Can dogs eat apples?",
                  "Name three rivers.",
                  "Is a tomato a fruit?",
                  "What should I wear today?",
                  "Tell me something interesting.",
                  "How do I tie my shoes?",
                  "Are you happy?",
                  "What is 9 times 8?",
                  "How many weeks are in a year?",
                  "Who is your best friend?",
                  "I have lost my keys.",
                  "Can you give me a recipe for soup?",
                  "Who lives in the White House?",
                  "Was ist ein Verb?",
                  "Ich habe Hunger.",
                  "Wie lange dauert ein Flug nach Rom?",
                  "Wer hat das Telefon erfunden?",
                  "Một năm có bao nhiêu ngày?",
                  "Bạn có thích mèo không?",
                  "What is a mammal?",
                  "How do I learn to dance?",
                  "Do you know a riddle?",
                  "Is seven a prime number?",
                  "Where is Mount Everest?",
                  "How long do cats sleep?",
                  "What rhymes with house?",
                  "Wie macht man Brot?",
                  "Was ist dein Lieblingstier?",
                  "Bạn thích ăn gì?"});
    }
    void question_isAnsweredFromItsPage() {
        QFETCH(const QString, page);
        const std::optional<HelpAnswer> answer = m_answers.answerOf(QString::fromUtf8(QTest::currentDataTag()));
        QCOMPARE(answer.has_value(), !page.isEmpty());
        if (answer) {
            QVERIFY(!helpPageText(answer->page).isEmpty());
            QVERIFY2(answer->text.size() > 80 && answer->text.contains(QStringLiteral("](help:%1)").arg(answer->page)),
                     qPrintable(answer->text));
            QVERIFY2(!answer->text.contains(QStringLiteral(".md)")), qPrintable(answer->text));
        }
        if (page != QStringLiteral("*") && answer) {
            QCOMPARE(answer->page, page);
        }
    }

    // What the demo model was trained for, but for the program.
    void promptOfTheModelsOwnSubjects_isTheModels() {
        const QJsonObject domains = jsonOf(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model/heldout.json"));
        qsizetype n = 0;
        for (auto domain = domains.begin(); domain != domains.end(); ++domain) {
            for (const QJsonValue& row : domain.value().toArray()) {
                const QString prompt = row[QLatin1String("prompt")].toString();
                if (domain.key() != QStringLiteral("offstage")) {
                    QVERIFY2(!m_answers.answerOf(prompt), qPrintable(prompt));
                    ++n;
                }
            }
        }
        QVERIFY(n >= 300);
    }

    void longTextsAndTasks_areTheModels() {
        const QString question = QStringLiteral("Can you open GGUF files? ");
        QVERIFY(m_answers.answerOf(question));
        QVERIFY(!m_answers.answerOf(question.repeated(12)));
        QVERIFY(!m_answers.answerOf(QStringLiteral("Please write a poem about Offstage.")));
        QVERIFY(!m_answers.answerOf({}));
    }

    void everyTopic_hasItsPartOfAPage() {
        const QJsonArray topics = jsonOf(QStringLiteral(":/help/questions.json"))[QLatin1String("topics")].toArray();
        QVERIFY(topics.size() > 20);
        for (const QJsonValue& topic : topics) {
            const QString page = topic[QLatin1String("page")].toString();
            const QString heading = topic[QLatin1String("heading")].toString();
            const QString text = helpPageText(topic[QLatin1String("from")].toString(page));
            QVERIFY2(page.isEmpty() || !text.isEmpty(), qPrintable(page));
            QVERIFY2(heading.isEmpty() || text.contains(QStringLiteral("\n## %1\n").arg(heading)),
                     qPrintable(page + u' ' + heading));
        }
    }

    // A part of a page that has the question's words comes before the page's beginning.
    void answer_isThePartThatSuits() {
        const auto has = [this](const char* question, const char* words) {
            const auto answer = m_answers.answerOf(QString::fromUtf8(question));
            return answer && answer->text.contains(QString::fromUtf8(words));
        };
        QVERIFY(has("How do I delete a conversation?", "**Conversation** menu"));
        QVERIFY(has("Does it use the GPU?", "accelerator (GPU) with the CPU beside it"));
        QVERIFY(has("What can this program do?", "Mixture-of-Experts"));
        QVERIFY(has("Was kann dieses Programm?", "Mixture-of-Experts"));
        QVERIFY(has("Who made this program?", "First steps"));
        QVERIFY(has("Can you open GGUF files?", "Mixtral"));
    }
};

QTEST_GUILESS_MAIN(TestHelpAnswers)
#include "tst_help_answers.moc"
