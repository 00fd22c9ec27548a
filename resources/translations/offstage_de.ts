<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>Axis</name>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>s</source>
        <translation>s</translation>
    </message>
    <message>
        <source>ms</source>
        <translation>ms</translation>
    </message>
    <message>
        <source>µs</source>
        <translation>µs</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <comment>what an axis measures, and its unit</comment>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>TiB</source>
        <translation>TiB</translation>
    </message>
    <message>
        <source>GiB</source>
        <translation>GiB</translation>
    </message>
    <message>
        <source>MiB</source>
        <translation>MiB</translation>
    </message>
    <message>
        <source>KiB</source>
        <translation>KiB</translation>
    </message>
</context>
<context>
    <name>BenchmarkExport</name>
    <message>
        <source>run</source>
        <translation>Lauf</translation>
    </message>
    <message>
        <source>in</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>out</source>
        <translation>Ausgabe</translation>
    </message>
    <message>
        <source>TTFT ms</source>
        <translation>TTFT ms</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>copied</source>
        <translation>kopiert</translation>
    </message>
    <message>
        <source>Benchmark of %1</source>
        <translation>Benchmark von %1</translation>
    </message>
    <message>
        <source>date</source>
        <translation>Datum</translation>
    </message>
    <message>
        <source>program</source>
        <translation>Programm</translation>
    </message>
    <message>
        <source>computer</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>%1, %2 cores, %3 RAM</source>
        <translation>%1, %2 Kerne, %3 RAM</translation>
    </message>
    <message>
        <source>device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>Zeiten</translation>
    </message>
    <message>
        <source>the device is emulated: its times are worked out, not measured</source>
        <translation>das Gerät ist emuliert; seine Zeiten sind errechnet, nicht gemessen</translation>
    </message>
    <message>
        <source>model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>budgets</source>
        <translation>Budgets</translation>
    </message>
    <message>
        <source>ITL</source>
        <translation>ITL</translation>
    </message>
    <message>
        <source>each decode step of the engine, by the device&apos;s clock</source>
        <translation>jeder Decode-Schritt der Engine, nach der Uhr des Geräts</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Scenarios</source>
        <translation>Szenarien</translation>
    </message>
    <message>
        <source>Two plans on one prompt</source>
        <translation>Zwei Pläne, ein Prompt</translation>
    </message>
    <message>
        <source>A: %1</source>
        <translation>A: %1</translation>
    </message>
    <message>
        <source>B: %1</source>
        <translation>B: %1</translation>
    </message>
    <message>
        <source>The results could not be saved as %1: %2.</source>
        <translation>Die Ergebnisse konnten nicht als %1 gespeichert werden: %2.</translation>
    </message>
    <message>
        <source>A picture could not be saved as %1.</source>
        <translation>Ein Bild konnte nicht als %1 gespeichert werden.</translation>
    </message>
</context>
<context>
    <name>BudgetSetting</name>
    <message>
        <source>VRAM %1</source>
        <translation>VRAM %1</translation>
    </message>
    <message>
        <source>RAM %1</source>
        <translation>RAM %1</translation>
    </message>
    <message>
        <source>context %1</source>
        <translation>Kontext %1</translation>
    </message>
    <message>
        <source>all experts in %1</source>
        <translation>alle Experten in %1</translation>
    </message>
    <message>
        <source>at least %1 bits</source>
        <translation>mindestens %1 Bit</translation>
    </message>
    <message>
        <source>loss at most %1</source>
        <translation>Verlust höchstens %1</translation>
    </message>
</context>
<context>
    <name>ConversationFiles</name>
    <message>
        <source>missing</source>
        <translation>nicht vorhanden</translation>
    </message>
    <message>
        <source>a list</source>
        <translation>eine Liste</translation>
    </message>
    <message>
        <source>an object</source>
        <translation>ein Objekt</translation>
    </message>
    <message>
        <source>%1: %2 is %3; an object was expected.</source>
        <translation>%1: %2 ist %3; erwartet wurde ein Objekt.</translation>
    </message>
    <message>
        <source>%1: %2 is %3; %4 was expected.</source>
        <translation>%1: %2 ist %3; erwartet wurde %4.</translation>
    </message>
    <message>
        <source>a text</source>
        <translation>ein Text</translation>
    </message>
    <message>
        <source>true or false</source>
        <translation>true oder false</translation>
    </message>
    <message>
        <source>a time in milliseconds</source>
        <translation>eine Zeit in Millisekunden</translation>
    </message>
    <message>
        <source>%1, its place in the list,</source>
        <translation>%1, der Platz in der Liste,</translation>
    </message>
    <message>
        <source>0, or the number of an earlier message,</source>
        <translation>0 oder die Nummer einer früheren Nachricht</translation>
    </message>
    <message>
        <source>a number</source>
        <translation>eine Zahl</translation>
    </message>
    <message>
        <source>a value in the range of this setting</source>
        <translation>ein Wert im Bereich dieser Einstellung</translation>
    </message>
    <message>
        <source>0, or the number of a message,</source>
        <translation>0 oder die Nummer einer Nachricht</translation>
    </message>
    <message>
        <source>%1: this is not JSON (%2 at byte %3).</source>
        <translation>%1: Das ist kein JSON (%2 bei Byte %3).</translation>
    </message>
    <message>
        <source>a version up to %1</source>
        <translation>eine Version bis %1</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <translation>%1 kann nicht gelesen werden: %2.</translation>
    </message>
    <message>
        <source>%1 is too large: %2 bytes; up to %3 are read.</source>
        <translation>%1 ist zu groß: %2 Byte; gelesen werden bis zu %3.</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>%1 cannot be written: %2.</source>
        <translation>%1 kann nicht geschrieben werden: %2.</translation>
    </message>
</context>
<context>
    <name>EventLog</name>
    <message>
        <source>Re-plan %1 is in force: %2 of %3 copies, %4 moved in %5; %6 experts on the device, %7 bits</source>
        <translation>Neuplanung %1 gilt: %2 von %3 Kopien, %4 in %5 verschoben; %6 Experten auf dem Gerät, %7 Bit</translation>
    </message>
    <message>
        <source>Re-plan %1 was cancelled</source>
        <translation>Neuplanung %1 wurde abgebrochen</translation>
    </message>
    <message>
        <source>Re-plan %1 gave way to a later one</source>
        <translation>Neuplanung %1 wich einer späteren</translation>
    </message>
    <message>
        <source>Re-plan %1 could not be carried out</source>
        <translation>Neuplanung %1 war nicht durchführbar</translation>
    </message>
    <message>
        <source>model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>re-plan</source>
        <translation>Neuplanung</translation>
    </message>
    <message>
        <source>decision</source>
        <translation>Entscheidung</translation>
    </message>
    <message>
        <source>note</source>
        <translation>Hinweis</translation>
    </message>
    <message>
        <source>problem</source>
        <translation>Problem</translation>
    </message>
    <message>
        <source>connection</source>
        <translation>Verbindung</translation>
    </message>
</context>
<context>
    <name>Format</name>
    <message>
        <source>%1 ms</source>
        <translation>%1 ms</translation>
    </message>
    <message>
        <source>%1 s</source>
        <translation>%1 s</translation>
    </message>
    <message>
        <source>%1 B</source>
        <translation>%1 Mrd.</translation>
    </message>
    <message>
        <source>%1 M</source>
        <translation>%1 Mio.</translation>
    </message>
    <message>
        <source>CPU · 1 thread</source>
        <translation>CPU · 1 Thread</translation>
    </message>
    <message>
        <source>CPU · %1 threads</source>
        <translation>CPU · %1 Threads</translation>
    </message>
    <message>
        <source>%1 layers × %2 experts, %3 active</source>
        <translation>%1 Schichten × %2 Experten, %3 aktiv</translation>
    </message>
    <message>
        <source>first token %1</source>
        <translation>erstes Token %1</translation>
    </message>
    <message>
        <source>%1 tokens/s</source>
        <translation>%1 Tokens/s</translation>
    </message>
    <message>
        <source>%1 in</source>
        <translation>%1 gelesen</translation>
    </message>
    <message>
        <source> (%1 reused)</source>
        <translation> (%1 wiederverwendet)</translation>
    </message>
    <message>
        <source>, %1 out</source>
        <translation>, %1 geschrieben</translation>
    </message>
    <message>
        <source>32 bit (F32)</source>
        <translation>32 Bit (F32)</translation>
    </message>
    <message>
        <source>16 bit (F16)</source>
        <translation>16 Bit (F16)</translation>
    </message>
    <message>
        <source>16 bit (BF16)</source>
        <translation>16 Bit (BF16)</translation>
    </message>
    <message>
        <source>8 bit (INT8)</source>
        <translation>8 Bit (INT8)</translation>
    </message>
    <message>
        <source>4 bit (HQQ)</source>
        <translation>4 Bit (HQQ)</translation>
    </message>
    <message>
        <source>3 bit (HQQ)</source>
        <translation>3 Bit (HQQ)</translation>
    </message>
    <message>
        <source>2 bit (HQQ)</source>
        <translation>2 Bit (HQQ)</translation>
    </message>
    <message>
        <source>%1 (emulated) · %2 VRAM</source>
        <translation>%1 (emuliert) · %2 VRAM</translation>
    </message>
    <message>
        <source>%1 · %2 VRAM</source>
        <translation>%1 · %2 VRAM</translation>
    </message>
</context>
<context>
    <name>History</name>
    <message>
        <source>One message is damaged</source>
        <translation>Eine Nachricht ist beschädigt</translation>
    </message>
    <message>
        <source>It could not be read from the chat history and is not shown.</source>
        <translation>Sie konnte aus dem Verlauf nicht gelesen werden und wird nicht gezeigt.</translation>
    </message>
    <message>
        <source>The chat history needs Qt&apos;s SQLite driver, which is not installed.</source>
        <translation>Der Verlauf braucht Qts SQLite-Treiber, der nicht installiert ist.</translation>
    </message>
    <message>
        <source>This conversation is no longer there.</source>
        <translation>Diese Unterhaltung gibt es nicht mehr.</translation>
    </message>
    <message>
        <source>The chat history %1 is damaged (%2).</source>
        <translation>Der Verlauf %1 ist beschädigt (%2).</translation>
    </message>
    <message>
        <source>The chat history %1 is in use by another program (%2).</source>
        <translation>Der Verlauf %1 wird von einem anderen Programm benutzt (%2).</translation>
    </message>
    <message>
        <source>There is no space left for the chat history %1 (%2).</source>
        <translation>Für den Verlauf %1 ist kein Platz mehr (%2).</translation>
    </message>
    <message>
        <source>The chat history %1 cannot be read or written (%2).</source>
        <translation>Der Verlauf %1 kann nicht gelesen oder geschrieben werden (%2).</translation>
    </message>
    <message>
        <source>The chat history %1 did not take a change (%2).</source>
        <translation>Der Verlauf %1 hat eine Änderung nicht angenommen (%2).</translation>
    </message>
    <message>
        <source>%1 is a database of another program, not a chat history.</source>
        <translation>%1 ist die Datenbank eines anderen Programms, kein Verlauf.</translation>
    </message>
    <message>
        <source>The chat history %1 was written by a newer version of Offstage (format %2; this one reads formats up to %3).</source>
        <translation>Der Verlauf %1 wurde von einer neueren Version von Offstage geschrieben (Format %2; diese liest Formate bis %3).</translation>
    </message>
</context>
<context>
    <name>MemoryRow</name>
    <message>
        <source>dense weights</source>
        <translation>dichte Gewichte</translation>
    </message>
    <message>
        <source>experts, %1</source>
        <translation>Experten, %1</translation>
    </message>
    <message>
        <source>room for experts</source>
        <translation>Platz für Experten</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV-Cache</translation>
    </message>
    <message>
        <source>staging</source>
        <translation>Übertragungspuffer</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>Arbeitspuffer</translation>
    </message>
    <message>
        <source>other programs</source>
        <translation>andere Programme</translation>
    </message>
    <message>
        <source>%1, budget</source>
        <translation>%1, Budget</translation>
    </message>
    <message>
        <source>%1, of %2</source>
        <translation>%1, von %2</translation>
    </message>
</context>
<context>
    <name>Presets</name>
    <message>
        <source>Concise</source>
        <translation>Knapp</translation>
    </message>
    <message>
        <source>Answer in as few words as the question allows.</source>
        <translation>Antworte mit so wenigen Wörtern, wie die Frage erlaubt.</translation>
    </message>
    <message>
        <source>Teacher</source>
        <translation>Lehrkraft</translation>
    </message>
    <message>
        <source>Explain step by step, with one example for each step, and end with a question that checks what was understood.</source>
        <translation>Erkläre Schritt für Schritt, mit einem Beispiel zu jedem Schritt, und schließe mit einer Frage, die prüft, was verstanden wurde.</translation>
    </message>
    <message>
        <source>Programmer</source>
        <translation>Programmieren</translation>
    </message>
    <message>
        <source>Answer with code first, and then only what the code does not say. Name what could go wrong.</source>
        <translation>Antworte zuerst mit Code und dann nur mit dem, was der Code nicht sagt. Nenne, was schiefgehen könnte.</translation>
    </message>
</context>
<context>
    <name>Sampling</name>
    <message>
        <source>Precise</source>
        <translation>Präzise</translation>
    </message>
    <message>
        <source>Always the most probable word: the same answer every time</source>
        <translation>Immer das wahrscheinlichste Wort: jedes Mal dieselbe Antwort</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Ausgewogen</translation>
    </message>
    <message>
        <source>A little variety, few surprises</source>
        <translation>Etwas Abwechslung, wenig Überraschungen</translation>
    </message>
    <message>
        <source>Creative</source>
        <translation>Kreativ</translation>
    </message>
    <message>
        <source>More variety; very improbable words stay out</source>
        <translation>Mehr Abwechslung; sehr unwahrscheinliche Wörter bleiben außen vor</translation>
    </message>
</context>
<context>
    <name>main</name>
    <message>
        <source>Cannot write the picture %1.
</source>
        <translation>Das Bild %1 kann nicht geschrieben werden.
</translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory.</source>
        <translation>Chat mit Mixture-of-Experts-Modellen, die nicht in den Speicher der GPU passen.</translation>
    </message>
    <message>
        <source>Folder or file of a model; without it, the demo model.</source>
        <translation>Ordner oder Datei eines Modells; ohne Angabe das Demomodell.</translation>
    </message>
    <message>
        <source>Send this as soon as the model is ready.</source>
        <translation>Dies senden, sobald das Modell bereit ist.</translation>
    </message>
    <message>
        <source>Colours: system, light or dark.</source>
        <translation>Farben: system, light oder dark.</translation>
    </message>
    <message>
        <source>Wait for the answer, save a picture of the window to FILE, and quit.</source>
        <translation>Die Antwort abwarten, ein Bild des Fensters in FILE speichern und beenden.</translation>
    </message>
    <message>
        <source>Size of the window, for example 1280x800.</source>
        <translation>Größe des Fensters, zum Beispiel 1280x800.</translation>
    </message>
    <message>
        <source>Where the model runs: cpu, cuda, cuda:N or emulated:PROFILE, for example emulated:rtx-3060.</source>
        <translation>Wo das Modell läuft: cpu, cuda, cuda:N oder emulated:PROFILE, zum Beispiel emulated:rtx-3060.</translation>
    </message>
    <message>
        <source>Budget of GPU memory, for example 8GiB.</source>
        <translation>Budget an GPU-Speicher, zum Beispiel 8GiB.</translation>
    </message>
    <message>
        <source>Language of the window: en, de or vi.</source>
        <translation>Sprache des Fensters: en, de oder vi.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BarPlot</name>
    <message>
        <source>from %1</source>
        <translation>ab %1</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 bis %2</translation>
    </message>
    <message>
        <source>%1
%2, %3 of all</source>
        <comment>bin; count, share</comment>
        <translation>%1
%2, %3 von allen</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>series and value</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>from</source>
        <translation>von</translation>
    </message>
    <message>
        <source>to</source>
        <translation>bis</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkPanel</name>
    <message>
        <source>&amp;Cancel</source>
        <translation>Abb&amp;rechen</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Pictures…</source>
        <translation>Bi&amp;lder&#xa0;…</translation>
    </message>
    <message>
        <source>Open a model to measure its answers, to run scenarios and to compare plans.</source>
        <translation>Ein Modell öffnen, um seine Antworten zu messen, Szenarien auszuführen und Pläne zu vergleichen.</translation>
    </message>
    <message>
        <source>&amp;Answers</source>
        <translation>A&amp;ntworten</translation>
    </message>
    <message>
        <source>S&amp;cenario</source>
        <translation>S&amp;zenario</translation>
    </message>
    <message>
        <source>Two p&amp;lans</source>
        <translation>Zwei &amp;Pläne</translation>
    </message>
    <message>
        <source>Progress of the benchmark</source>
        <translation>Fortschritt des Benchmarks</translation>
    </message>
    <message>
        <source>Stop the run; a plan that was changed for it is put back</source>
        <translation>Den Lauf anhalten; ein dafür geänderter Plan wird zurückgesetzt</translation>
    </message>
    <message>
        <source>Save all results with hardware, model, plan, budgets and seed, as CSV, JSON or Markdown</source>
        <translation>Alle Ergebnisse mit Hardware, Modell, Plan, Budgets und Seed als CSV, JSON oder Markdown speichern</translation>
    </message>
    <message>
        <source>Save a picture of each panel as PNG</source>
        <translation>Ein Bild von jedem Panel als PNG speichern</translation>
    </message>
    <message>
        <source>Answers of this session</source>
        <translation>Antworten dieser Sitzung</translation>
    </message>
    <message>
        <source>Time from one token to the next</source>
        <translation>Zeit von einem Token zum nächsten</translation>
    </message>
    <message>
        <source>How many of the engine&apos;s decode steps took how long</source>
        <translation>Wie viele Decode-Schritte der Engine wie lange dauerten</translation>
    </message>
    <message>
        <source>Ask something: each answer is measured, and this shows how evenly its tokens came.</source>
        <translation>Einfach etwas fragen: Jede Antwort wird gemessen, und hier zeigt sich, wie gleichmäßig ihre Tokens kamen.</translation>
    </message>
    <message>
        <source>Tokens of the prompt</source>
        <translation>Tokens des Prompts</translation>
    </message>
    <message>
        <source>About so many: words are counted, and the table shows what it was</source>
        <translation>Ungefähr so viele: Gezählt werden Wörter, die Tabelle zeigt die tatsächliche Zahl</translation>
    </message>
    <message>
        <source>Tokens of the answer</source>
        <translation>Tokens der Antwort</translation>
    </message>
    <message>
        <source>At most so many</source>
        <translation>Höchstens so viele</translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation>Wiederholungen</translation>
    </message>
    <message>
        <source>How often it is run</source>
        <translation>Wie oft das Szenario ausgeführt wird</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Seed</translation>
    </message>
    <message>
        <source>Of words and sampling, also for the comparison of two plans</source>
        <translation>Für Wörter und Sampling, auch beim Vergleich zweier Pläne</translation>
    </message>
    <message>
        <source>&amp;Run</source>
        <translation>Aus&amp;führen</translation>
    </message>
    <message>
        <source>Run it through the loaded model; the conversation stays as it is</source>
        <translation>Mit dem geladenen Modell ausführen; die Unterhaltung bleibt, wie sie ist</translation>
    </message>
    <message>
        <source>Pro&amp;mpt</source>
        <translation>Pro&amp;mpt</translation>
    </message>
    <message>
        <source>Ans&amp;wer</source>
        <translation>An&amp;twort</translation>
    </message>
    <message>
        <source>Repea&amp;ts</source>
        <translation>W&amp;iederholungen</translation>
    </message>
    <message>
        <source>See&amp;d</source>
        <translation>&amp;Seed</translation>
    </message>
    <message>
        <source>Scenario runs</source>
        <translation>Läufe des Szenarios</translation>
    </message>
    <message>
        <source>Prompt for both plans</source>
        <translation>Prompt für beide Pläne</translation>
    </message>
    <message>
        <source>Tokens of the answers</source>
        <translation>Tokens der Antworten</translation>
    </message>
    <message>
        <source>At most so many, for both plans</source>
        <translation>Höchstens so viele, für beide Pläne</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Plan A is what is in force. It answers, then plan B does, then plan A is put back. Both use the same seed</source>
        <translation>Plan A ist, was jetzt gilt. Er antwortet, danach Plan B, dann wird Plan A wiederhergestellt. Beide verwenden denselben Seed</translation>
    </message>
    <message>
        <source>At m&amp;ost</source>
        <translation>Hö&amp;chstens</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>Plan B (plan A is as it is now)</source>
        <translation>Plan B (Plan A ist der jetzige)</translation>
    </message>
    <message>
        <source>One token: there is no time between tokens.</source>
        <translation>Ein Token: Zwischen Tokens verging keine Zeit.</translation>
    </message>
    <message>
        <source>ITL of %1 decode steps, by the device&apos;s clock: p50 %2 ms, p95 %3 ms, p99 %4 ms</source>
        <translation>ITL von %1 Decode-Schritten, nach der Uhr des Geräts: p50 %2 ms, p95 %3 ms, p99 %4 ms</translation>
    </message>
    <message>
        <source>from one token to the next</source>
        <translation>von einem Token zum nächsten</translation>
    </message>
    <message>
        <source>p50</source>
        <translation>p50</translation>
    </message>
    <message>
        <source>p95</source>
        <translation>p95</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>%1, plan %2</source>
        <translation>%1, Plan %2</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>Plan A</source>
        <translation>Plan A</translation>
    </message>
    <message>
        <source>Plan B</source>
        <translation>Plan B</translation>
    </message>
    <message>
        <source>Budgets</source>
        <translation>Budgets</translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>Erstes Token</translation>
    </message>
    <message>
        <source>ITL p95</source>
        <translation>ITL p95</translation>
    </message>
    <message>
        <source>%1 ms</source>
        <translation>%1 ms</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
    <message>
        <source>Mean bits</source>
        <translation>Bits im Mittel</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>(the same)</source>
        <translation>(derselbe)</translation>
    </message>
    <message>
        <source>Save the results</source>
        <translation>Ergebnisse speichern</translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
        <translation>JSON (*.json)</translation>
    </message>
    <message>
        <source>CSV (*.csv)</source>
        <translation>CSV (*.csv)</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>Saved as %1.</source>
        <translation>Gespeichert als %1.</translation>
    </message>
    <message>
        <source>Folder for the pictures</source>
        <translation>Ordner für die Bilder</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkRunner</name>
    <message>
        <source>The run was interrupted.</source>
        <translation>Der Lauf wurde unterbrochen.</translation>
    </message>
    <message>
        <source>Another model was opened; the run has ended.</source>
        <translation>Ein anderes Modell wurde geöffnet; der Lauf ist beendet.</translation>
    </message>
    <message>
        <source>Run %1 of %2</source>
        <translation>Lauf %1 von %2</translation>
    </message>
    <message>
        <source>Plan A answers</source>
        <translation>Plan A antwortet</translation>
    </message>
    <message>
        <source>Going to plan B</source>
        <translation>Wechsel zu Plan B</translation>
    </message>
    <message>
        <source>Plan B answers</source>
        <translation>Plan B antwortet</translation>
    </message>
    <message>
        <source>Going back to plan A</source>
        <translation>Zurück zu Plan A</translation>
    </message>
    <message>
        <source>The engine is busy; try again when the answer is written.</source>
        <translation>Die Engine ist beschäftigt; bitte erneut versuchen, wenn die Antwort fertig ist.</translation>
    </message>
    <message>
        <source>This engine cannot be re-planned now.</source>
        <translation>Diese Engine kann jetzt nicht umgeplant werden.</translation>
    </message>
    <message>
        <source>The plan before could not be put back: %1</source>
        <translation>Der vorherige Plan konnte nicht wiederhergestellt werden: %1</translation>
    </message>
    <message>
        <source>%1 in, %2 out</source>
        <translation>%1 Eingabe, %2 Ausgabe</translation>
    </message>
    <message>
        <source>plan A</source>
        <translation>Plan A</translation>
    </message>
    <message>
        <source>plan B</source>
        <translation>Plan B</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkTable</name>
    <message>
        <source>%1
%2
%3, %4 bits on average, seed %5</source>
        <translation>%1
%2
%3, %4 Bit im Mittel, Seed %5</translation>
    </message>
    <message>
        <source>run</source>
        <translation>Lauf</translation>
    </message>
    <message>
        <source>in</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>out</source>
        <translation>Ausgabe</translation>
    </message>
    <message>
        <source>TTFT ms</source>
        <translation>TTFT ms</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>p50 ms</source>
        <translation>p50 ms</translation>
    </message>
    <message>
        <source>p95 ms</source>
        <translation>p95 ms</translation>
    </message>
    <message>
        <source>p99 ms</source>
        <translation>p99 ms</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>copied</source>
        <translation>kopiert</translation>
    </message>
    <message>
        <source>The answer, or the scenario</source>
        <translation>Die Antwort oder das Szenario</translation>
    </message>
    <message>
        <source>Tokens of the prompt</source>
        <translation>Tokens des Prompts</translation>
    </message>
    <message>
        <source>Tokens of the answer</source>
        <translation>Tokens der Antwort</translation>
    </message>
    <message>
        <source>Time to the first token</source>
        <translation>Zeit bis zum ersten Token</translation>
    </message>
    <message>
        <source>Decode, after the first token</source>
        <translation>Decode, nach dem ersten Token</translation>
    </message>
    <message>
        <source>Time from one token to the next, median of the engine&apos;s decode steps</source>
        <translation>Zeit von einem Token zum nächsten, Median der Decode-Schritte der Engine</translation>
    </message>
    <message>
        <source>95 of 100 steps take no longer</source>
        <translation>95 von 100 Schritten dauern nicht länger</translation>
    </message>
    <message>
        <source>99 of 100 steps take no longer</source>
        <translation>99 von 100 Schritten dauern nicht länger</translation>
    </message>
    <message>
        <source>Expert calls that found their expert on the accelerator</source>
        <translation>Expertenaufrufe, deren Experte auf dem Beschleuniger lag</translation>
    </message>
    <message>
        <source>Weights copied to the accelerator</source>
        <translation>Auf den Beschleuniger kopierte Gewichte</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetForm</name>
    <message>
        <source>VRAM budget</source>
        <translation>VRAM-Budget</translation>
    </message>
    <message>
        <source>RAM budget</source>
        <translation>RAM-Budget</translation>
    </message>
    <message>
        <source>Context in tokens</source>
        <translation>Kontext in Tokens</translation>
    </message>
    <message>
        <source>Memory of the accelerator that Offstage may take, for everything: dense weights, experts, KV cache and workspace</source>
        <translation>Speicher des Beschleunigers, den Offstage insgesamt belegen darf: dichte Gewichte, Experten, KV-Cache und Arbeitspuffer</translation>
    </message>
    <message>
        <source>Memory of this computer that Offstage may take. Experts that find no room in it are read from disk when they are called</source>
        <translation>Speicher dieses Computers, den Offstage belegen darf. Experten, die darin keinen Platz finden, werden beim Aufruf vom Datenträger gelesen</translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold. Its KV cache takes room that experts could have</source>
        <translation>Tokens, die eine Unterhaltung fassen kann. Ihr KV-Cache belegt Platz, den Experten haben könnten</translation>
    </message>
    <message>
        <source>Quality of the experts</source>
        <translation>Qualität der Experten</translation>
    </message>
    <message>
        <source>Experts in fewer bits are smaller and faster, and say less exactly what the model was trained to say. Nothing of this changes unless you choose it</source>
        <translation>Experten in weniger Bits sind kleiner und schneller, geben das Gelernte aber weniger genau wieder. Ohne ausdrückliche Wahl ändert sich daran nichts</translation>
    </message>
    <message>
        <source>As in the checkpoint</source>
        <translation>Wie im Checkpoint</translation>
    </message>
    <message>
        <source>Mean bits, at least</source>
        <translation>Bits im Mittel, mindestens</translation>
    </message>
    <message>
        <source>Predicted loss, at most</source>
        <translation>Vorhergesagter Verlust, höchstens</translation>
    </message>
    <message>
        <source>All experts in %1</source>
        <translation>Alle Experten in %1</translation>
    </message>
    <message>
        <source>&amp;VRAM</source>
        <translation>&amp;VRAM</translation>
    </message>
    <message>
        <source>&amp;RAM</source>
        <translation>&amp;RAM</translation>
    </message>
    <message>
        <source>Conte&amp;xt</source>
        <translation>Konte&amp;xt</translation>
    </message>
    <message>
        <source>&amp;Quality</source>
        <translation>&amp;Qualität</translation>
    </message>
    <message>
        <source>The model runs on the CPU, which has no memory of its own. RAM and context count.</source>
        <translation>Das Modell läuft auf der CPU, die keinen eigenen Speicher hat. Es zählen RAM und Kontext.</translation>
    </message>
    <message>
        <source>Mean bits per expert weight, at least</source>
        <translation>Bits je Expertengewicht im Mittel, mindestens</translation>
    </message>
    <message>
        <source> bits</source>
        <translation> Bit</translation>
    </message>
    <message>
        <source>Predicted loss in percent, at most</source>
        <translation>Vorhergesagter Verlust in Prozent, höchstens</translation>
    </message>
    <message>
        <source> %</source>
        <translation> %</translation>
    </message>
    <message>
        <source>Floor of quality</source>
        <translation>Untergrenze der Qualität</translation>
    </message>
    <message>
        <source>No plan goes below this</source>
        <translation>Kein Plan geht darunter</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetPanel</name>
    <message>
        <source>none</source>
        <translation>keiner</translation>
    </message>
    <message>
        <source>&amp;Apply</source>
        <translation>An&amp;wenden</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>Rück&amp;gängig</translation>
    </message>
    <message>
        <source>Re&amp;set</source>
        <translation>&amp;Zurücksetzen</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>Abbre&amp;chen</translation>
    </message>
    <message>
        <source>Open a model to see what its memory is spent on, and to change its budgets.</source>
        <translation>Ein Modell öffnen, um zu sehen, was seinen Speicher belegt, und um die Budgets zu ändern.</translation>
    </message>
    <message>
        <source>What memory is spent on</source>
        <translation>Was den Speicher belegt</translation>
    </message>
    <message>
        <source>VRAM and RAM, each divided into what holds it. Arrow keys move from part to part.</source>
        <translation>VRAM und RAM, jeweils aufgeteilt nach Belegung. Die Pfeiltasten wechseln von Teil zu Teil.</translation>
    </message>
    <message>
        <source>Why this cannot be applied</source>
        <translation>Warum sich das nicht anwenden lässt</translation>
    </message>
    <message>
        <source>Move a slider to see what it would change. Nothing happens before Apply.</source>
        <translation>Einen Regler bewegen, um zu sehen, was sich ändern würde. Vor „Anwenden“ geschieht nichts.</translation>
    </message>
    <message>
        <source>Carry this out in the background; the conversation goes on meanwhile</source>
        <translation>Im Hintergrund ausführen; die Unterhaltung geht währenddessen weiter</translation>
    </message>
    <message>
        <source>Go back to the budgets before</source>
        <translation>Zurück zu den vorherigen Budgets</translation>
    </message>
    <message>
        <source>Put the sliders back to what is in force</source>
        <translation>Die Regler auf die geltenden Werte zurücksetzen</translation>
    </message>
    <message>
        <source>Stop moving experts and go back to the plan before</source>
        <translation>Das Verschieben der Experten anhalten und zum vorherigen Plan zurückkehren</translation>
    </message>
    <message>
        <source>Progress of the re-plan</source>
        <translation>Fortschritt der Neuplanung</translation>
    </message>
    <message>
        <source>%1, now</source>
        <translation>%1, jetzt</translation>
    </message>
    <message>
        <source>%1, after</source>
        <translation>%1, danach</translation>
    </message>
    <message>
        <source>now</source>
        <translation>jetzt</translation>
    </message>
    <message>
        <source>after</source>
        <translation>danach</translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>Forecast of both plans, worked out alike from measured costs</source>
        <translation>Prognose für beide Pläne, gleich berechnet aus gemessenen Kosten</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>Erstes Token</translation>
    </message>
    <message>
        <source>Forecast time to the first token of a prompt of 512 tokens</source>
        <translation>Prognose der Zeit bis zum ersten Token bei einem Prompt von 512 Tokens</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>Share of expert calls that find their expert on the accelerator</source>
        <translation>Anteil der Expertenaufrufe, deren Experte auf dem Beschleuniger liegt</translation>
    </message>
    <message>
        <source>Mean bits</source>
        <translation>Bits im Mittel</translation>
    </message>
    <message>
        <source>Per expert weight</source>
        <translation>Je Expertengewicht</translation>
    </message>
    <message>
        <source>Predicted loss</source>
        <translation>Vorhergesagter Verlust</translation>
    </message>
    <message>
        <source>Squared relative error of the experts&apos; weights, weighed by how often each is used</source>
        <translation>Quadratischer relativer Fehler der Expertengewichte, gewichtet nach der Häufigkeit der Nutzung</translation>
    </message>
    <message>
        <source>Experts on the device</source>
        <translation>Experten auf dem Gerät</translation>
    </message>
    <message>
        <source>Of all experts of all layers</source>
        <translation>Von allen Experten aller Schichten</translation>
    </message>
    <message>
        <source>What has to be moved</source>
        <translation>Was verschoben werden muss</translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation>VRAM</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>RAM</translation>
    </message>
    <message>
        <source>This engine cannot be re-planned now.</source>
        <translation>Diese Engine kann jetzt nicht umgeplant werden.</translation>
    </message>
    <message>
        <source>Working it out…</source>
        <translation>Wird berechnet&#xa0;…</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>Nothing has to be moved.</source>
        <translation>Nichts muss verschoben werden.</translation>
    </message>
    <message>
        <source>%1 to move, about %2.</source>
        <translation>%1 zu verschieben, etwa %2.</translation>
    </message>
    <message>
        <source>Waiting for the end of a step</source>
        <translation>Warten auf das Ende eines Schritts</translation>
    </message>
    <message>
        <source>%1 of %2 copies, %3 of %4</source>
        <translation>%1 von %2 Kopien, %3 von %4</translation>
    </message>
    <message>
        <source>In force: nothing had to be moved.</source>
        <translation>Gilt jetzt: Nichts musste verschoben werden.</translation>
    </message>
    <message>
        <source>In force: %1 moved in %2.</source>
        <translation>Gilt jetzt: %1 in %2 verschoben.</translation>
    </message>
    <message>
        <source>%1 experts on the device, %2 bits on average.</source>
        <translation>%1 Experten auf dem Gerät, %2 Bit im Mittel.</translation>
    </message>
    <message>
        <source>Cancelled: the plan before is in force again. %1 of %2 copies had been made.</source>
        <translation>Abgebrochen: Der vorherige Plan gilt wieder. %1 von %2 Kopien waren schon gemacht.</translation>
    </message>
    <message>
        <source>Another change took its place.</source>
        <translation>Eine andere Änderung trat an ihre Stelle.</translation>
    </message>
    <message>
        <source>The change could not be made; the plan before is in force.</source>
        <translation>Die Änderung war nicht möglich; der vorherige Plan gilt.</translation>
    </message>
    <message>
        <source>Go back to the budgets before; there are none yet</source>
        <translation>Zurück zu den vorherigen Budgets; noch gibt es keine</translation>
    </message>
    <message>
        <source>Go back to %1</source>
        <translation>Zurück zu %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CacheComparison</name>
    <message>
        <source>LRU</source>
        <translation>LRU</translation>
    </message>
    <message>
        <source>LFU</source>
        <translation>LFU</translation>
    </message>
    <message>
        <source>Segmented LRU</source>
        <translation>Segmentiertes LRU</translation>
    </message>
    <message>
        <source>Popularity, fixed</source>
        <translation>Popularität, fest</translation>
    </message>
    <message>
        <source>LRU in each layer</source>
        <translation>LRU je Schicht</translation>
    </message>
    <message>
        <source>No cache</source>
        <translation>Kein Cache</translation>
    </message>
    <message>
        <source>Best possible</source>
        <translation>Bestmöglich</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CachePanel</name>
    <message>
        <source>Layer whose hit rate is shown beside that of all</source>
        <translation>Schicht, deren Trefferquote neben der aller Schichten gezeigt wird</translation>
    </message>
    <message>
        <source>Each token</source>
        <translation>Jedes Token</translation>
    </message>
    <message>
        <source>Mean of %1 tokens</source>
        <translation>Mittel über %1 Tokens</translation>
    </message>
    <message>
        <source>Over how many tokens lines are averaged</source>
        <translation>Über wie viele Tokens die Linien gemittelt werden</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>all layers</source>
        <translation>alle Schichten</translation>
    </message>
    <message>
        <source>Hit rate over time</source>
        <translation>Trefferquote im Zeitverlauf</translation>
    </message>
    <message>
        <source>Share of (token, expert) pairs that found their expert on the device. A click selects the token.</source>
        <translation>Anteil der Paare (Token, Experte), deren Experte auf dem Gerät lag. Ein Klick wählt das Token aus.</translation>
    </message>
    <message>
        <source>prefetch</source>
        <translation>Prefetch</translation>
    </message>
    <message>
        <source>recall</source>
        <translation>Recall</translation>
    </message>
    <message>
        <source>precision</source>
        <translation>Precision</translation>
    </message>
    <message>
        <source>Prefetch recall and precision over time</source>
        <translation>Recall und Precision des Prefetch im Zeitverlauf</translation>
    </message>
    <message>
        <source>Recall: of the calls whose expert had no place on the device, those that a guess had brought in time.
Precision: of the experts copied on a guess, those that were called.</source>
        <translation>Recall: Anteil der Aufrufe, deren Experte keinen Platz auf dem Gerät hatte, aber auf Verdacht rechtzeitig gebracht worden war.
Precision: Anteil der auf Verdacht kopierten Experten, die dann aufgerufen wurden.</translation>
    </message>
    <message>
        <source>copied per token</source>
        <translation>kopiert je Token</translation>
    </message>
    <message>
        <source>Bytes moved per token</source>
        <translation>Verschobene Bytes je Token</translation>
    </message>
    <message>
        <source>Bytes of weights that were copied to the device, by each token</source>
        <translation>Bytes an Gewichten, die jedes Token auf das Gerät kopieren ließ</translation>
    </message>
    <message>
        <source>exchanged per token</source>
        <translation>ausgetauscht je Token</translation>
    </message>
    <message>
        <source>experts exchanged per token</source>
        <translation>ausgetauschte Experten je Token</translation>
    </message>
    <message>
        <source>Experts exchanged per token</source>
        <translation>Ausgetauschte Experten je Token</translation>
    </message>
    <message>
        <source>Experts that were admitted to the device, each in the place of one that was evicted</source>
        <translation>Experten, die auf das Gerät aufgenommen wurden, jeder anstelle eines verdrängten</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>Write a prompt to see how many calls find their expert on the device.</source>
        <translation>Einen Prompt schreiben, um zu sehen, wie viele Aufrufe ihren Experten auf dem Gerät finden.</translation>
    </message>
    <message>
        <source>Write a prompt to see how good the guesses are.</source>
        <translation>Einen Prompt schreiben, um zu sehen, wie gut die Vermutungen sind.</translation>
    </message>
    <message>
        <source>Write a prompt to see how much is copied.</source>
        <translation>Einen Prompt schreiben, um zu sehen, wie viel kopiert wird.</translation>
    </message>
    <message>
        <source>Write a prompt to see how many experts are exchanged.</source>
        <translation>Einen Prompt schreiben, um zu sehen, wie viele Experten ausgetauscht werden.</translation>
    </message>
    <message>
        <source>Sums since the model was loaded</source>
        <translation>Summen, seit das Modell geladen wurde</translation>
    </message>
    <message>
        <source>Open a model and write a prompt to see how well its cache of experts works.</source>
        <translation>Ein Modell öffnen und einen Prompt schreiben, um zu sehen, wie gut sein Experten-Cache arbeitet.</translation>
    </message>
    <message>
        <source>Other policies on the same calls</source>
        <translation>Andere Strategien für dieselben Aufrufe</translation>
    </message>
    <message>
        <source>&amp;Experts in the cache</source>
        <translation>&amp;Experten im Cache</translation>
    </message>
    <message>
        <source>Experts in the cache</source>
        <translation>Experten im Cache</translation>
    </message>
    <message>
        <source>How many experts each policy may keep; at first as many as are on the device now</source>
        <translation>Wie viele Experten jede Strategie behalten darf; anfangs so viele, wie jetzt auf dem Gerät liegen</translation>
    </message>
    <message>
        <source>Replays the recorded calls under each policy, without running the model</source>
        <translation>Spielt die aufgezeichneten Aufrufe mit jeder Strategie nach, ohne das Modell auszuführen</translation>
    </message>
    <message>
        <source>Progress of the comparison</source>
        <translation>Fortschritt des Vergleichs</translation>
    </message>
    <message>
        <source>What was compared</source>
        <translation>Was verglichen wurde</translation>
    </message>
    <message>
        <source>Hit rate by cache policy</source>
        <translation>Trefferquote nach Cache-Strategie</translation>
    </message>
    <message>
        <source>Policy</source>
        <translation>Strategie</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Copies</source>
        <translation>Kopien</translation>
    </message>
    <message>
        <source>Share of calls that found their expert on the device</source>
        <translation>Anteil der Aufrufe, deren Experte auf dem Gerät lag</translation>
    </message>
    <message>
        <source>The same of answers alone, without prompts</source>
        <translation>Dasselbe nur für Antworten, ohne Prompts</translation>
    </message>
    <message>
        <source>Experts copied to the device, per token</source>
        <translation>Auf das Gerät kopierte Experten, je Token</translation>
    </message>
    <message>
        <source>Cache policies compared</source>
        <translation>Vergleich der Cache-Strategien</translation>
    </message>
    <message>
        <source>All layers</source>
        <translation>Alle Schichten</translation>
    </message>
    <message>
        <source>All, and layer %1</source>
        <translation>Alle und Schicht %1</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>Schicht %1</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator whose memory would be a cache for experts. What a cache would do can be tried below.</source>
        <translation>Das Modell läuft auf der CPU: Es gibt keinen Beschleuniger, dessen Speicher ein Cache für Experten wäre. Was ein Cache bewirken würde, lässt sich unten ausprobieren.</translation>
    </message>
    <message>
        <source>Since loading: hit rate %1; %2 copied; %3 experts exchanged</source>
        <translation>Seit dem Laden: Trefferquote %1; %2 kopiert; %3 Experten ausgetauscht</translation>
    </message>
    <message>
        <source>%1 of %2 guesses used</source>
        <translation>%1 von %2 Vermutungen genutzt</translation>
    </message>
    <message>
        <source>no expert was copied on a guess</source>
        <translation>kein Experte wurde auf Verdacht kopiert</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Co&amp;mpare policies</source>
        <translation>Strategien &amp;vergleichen</translation>
    </message>
    <message>
        <source>LRU, LFU and others, beside the best that is possible, on the calls of this model that were recorded.</source>
        <translation>LRU, LFU und andere neben dem Bestmöglichen, für die aufgezeichneten Aufrufe dieses Modells.</translation>
    </message>
    <message>
        <source>Write a prompt first: policies are compared on its recorded calls.</source>
        <translation>Zuerst einen Prompt schreiben: Die Strategien werden anhand seiner aufgezeichneten Aufrufe verglichen.</translation>
    </message>
    <message>
        <source>No step is recorded whole; write a prompt and try again.</source>
        <translation>Kein Schritt ist vollständig aufgezeichnet; bitte einen Prompt schreiben und erneut versuchen.</translation>
    </message>
    <message>
        <source>Replaying %1 steps…</source>
        <translation>%1 Schritte werden nachgespielt&#xa0;…</translation>
    </message>
    <message>
        <source>%1 of %2 experts in the cache, %3 steps replayed; each policy begins with the experts planned for.</source>
        <translation>%1 von %2 Experten im Cache, %3 Schritte nachgespielt; jede Strategie beginnt mit den eingeplanten Experten.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatController</name>
    <message>
        <source>Waiting for the model to load…</source>
        <translation>Das Modell wird noch geladen&#xa0;…</translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation>Prompt wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Angehalten</translation>
    </message>
    <message>
        <source>Ended at the limit of %1 tokens (Sampling panel)</source>
        <translation>Beendet an der Grenze von %1 Tokens (Panel „Sampling“)</translation>
    </message>
    <message>
        <source>The context is full: begin a new conversation, or ask for something shorter</source>
        <translation>Der Kontext ist voll: eine neue Unterhaltung beginnen oder um etwas Kürzeres bitten</translation>
    </message>
    <message>
        <source>Not answered</source>
        <translation>Nicht beantwortet</translation>
    </message>
    <message>
        <source>This prompt cannot be answered</source>
        <translation>Dieser Prompt kann nicht beantwortet werden</translation>
    </message>
    <message>
        <source>The answer could not be written</source>
        <translation>Die Antwort konnte nicht geschrieben werden</translation>
    </message>
    <message>
        <source>Not complete</source>
        <translation>Nicht vollständig</translation>
    </message>
    <message>
        <source>The answer ended early</source>
        <translation>Die Antwort endete vorzeitig</translation>
    </message>
    <message>
        <source>Number %1 in the queue</source>
        <translation>Nummer %1 in der Warteschlange</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatPage</name>
    <message>
        <source>What shall we talk about?</source>
        <translation>Worüber wollen wir reden?</translation>
    </message>
    <message>
        <source>%1 · %2 · %3 weights, %4 per token</source>
        <translation>%1 · %2 · %3 Gewichte, %4 je Token</translation>
    </message>
    <message>
        <source>Raising the curtain…</source>
        <translation>Der Vorhang hebt sich&#xa0;…</translation>
    </message>
    <message>
        <source>The model is loading. You can write your message already.</source>
        <translation>Das Modell wird geladen. Die Nachricht kann schon geschrieben werden.</translation>
    </message>
    <message>
        <source>No model is open</source>
        <translation>Kein Modell geöffnet</translation>
    </message>
    <message>
        <source>Open the folder of a Mixture-of-Experts model, or drop it on this window.</source>
        <translation>Den Ordner eines Mixture-of-Experts-Modells öffnen oder auf dieses Fenster ziehen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Type a command</source>
        <translation>Befehl eingeben</translation>
    </message>
    <message>
        <source>Command to look for</source>
        <translation>Gesuchter Befehl</translation>
    </message>
    <message>
        <source>Commands found</source>
        <translation>Gefundene Befehle</translation>
    </message>
    <message>
        <source>No command has this name.</source>
        <translation>Kein Befehl trägt diesen Namen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ContextMeter</name>
    <message>
        <source>Context used: %1 tokens</source>
        <translation>Belegter Kontext: %1 Tokens</translation>
    </message>
    <message>
        <source>Tokens of this conversation in the model&apos;s context: %1</source>
        <translation>Tokens dieser Unterhaltung im Kontext des Modells: %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationList</name>
    <message>
        <source>Search all conversations</source>
        <translation>Alle Unterhaltungen durchsuchen</translation>
    </message>
    <message>
        <source>Archive</source>
        <translation>Archiv</translation>
    </message>
    <message>
        <source>Show the archived conversations</source>
        <translation>Archivierte Unterhaltungen zeigen</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Close this notice</source>
        <translation>Diesen Hinweis schließen</translation>
    </message>
    <message>
        <source>Answering…</source>
        <translation>Antwortet&#xa0;…</translation>
    </message>
    <message>
        <source>Number %1 in the queue</source>
        <translation>Nummer %1 in der Warteschlange</translation>
    </message>
    <message>
        <source>Nothing was found.</source>
        <translation>Nichts gefunden.</translation>
    </message>
    <message>
        <source>No conversation is archived.</source>
        <translation>Keine Unterhaltung ist archiviert.</translation>
    </message>
    <message>
        <source>Your conversations will be listed here.</source>
        <translation>Hier werden die Unterhaltungen aufgelistet.</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>&amp;Umbenennen</translation>
    </message>
    <message>
        <source>Un&amp;pin</source>
        <translation>&amp;Lösen</translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation>&amp;Anheften</translation>
    </message>
    <message>
        <source>Take out of the &amp;archive</source>
        <translation>Aus dem Ar&amp;chiv holen</translation>
    </message>
    <message>
        <source>&amp;Archive</source>
        <translation>Ar&amp;chivieren</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>Lö&amp;schen</translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation>&amp;Neue Unterhaltung</translation>
    </message>
    <message>
        <source>&amp;Import…</source>
        <translation>&amp;Importieren&#xa0;…</translation>
    </message>
    <message>
        <source>“%1” was deleted</source>
        <translation>„%1“ wurde gelöscht</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>Unterhaltung exportieren</translation>
    </message>
    <message>
        <source>JSON: the whole conversation (*.json)</source>
        <translation>JSON: die ganze Unterhaltung (*.json)</translation>
    </message>
    <message>
        <source>Markdown: as it is shown (*.md)</source>
        <translation>Markdown: wie angezeigt (*.md)</translation>
    </message>
    <message>
        <source>Import conversations</source>
        <translation>Unterhaltungen importieren</translation>
    </message>
    <message>
        <source>Conversations (*.json)</source>
        <translation>Unterhaltungen (*.json)</translation>
    </message>
    <message>
        <source>There is nothing to export.</source>
        <translation>Es gibt nichts zu exportieren.</translation>
    </message>
    <message>
        <source>Saved as %1</source>
        <translation>Gespeichert als %1</translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) imported</source>
        <translation>
            <numerusform>%n Unterhaltung importiert</numerusform>
            <numerusform>%n Unterhaltungen importiert</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationListModel</name>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
    <message>
        <source>Pinned · %1</source>
        <translation>Angeheftet · %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationModel</name>
    <message>
        <source>You</source>
        <translation>Ich</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationView</name>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
    <message>
        <source>Go to the latest message</source>
        <translation>Zur neuesten Nachricht</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DeviceChoices</name>
    <message numerus="yes">
        <source>%n core(s), %1 RAM</source>
        <translation>
            <numerusform>%n Kern, %1 RAM</numerusform>
            <numerusform>%n Kerne, %1 RAM</numerusform>
        </translation>
    </message>
    <message>
        <source>%1, %2 free</source>
        <translation>%1, %2 frei</translation>
    </message>
    <message>
        <source>; %1 (%2)</source>
        <translation>; %1 (%2)</translation>
    </message>
    <message>
        <source>; no GPU</source>
        <translation>; keine GPU</translation>
    </message>
    <message>
        <source>; no GPU (%1)</source>
        <translation>; keine GPU (%1)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DispatchPanel</name>
    <message>
        <source>Previous token of the answer</source>
        <translation>Voriges Token der Antwort</translation>
    </message>
    <message>
        <source>Next token of the answer</source>
        <translation>Nächstes Token der Antwort</translation>
    </message>
    <message>
        <source>The token that is shown</source>
        <translation>Das gezeigte Token</translation>
    </message>
    <message>
        <source>This token</source>
        <translation>Dieses Token</translation>
    </message>
    <message>
        <source>Mean of the last %1 tokens</source>
        <translation>Mittel der letzten %1 Tokens</translation>
    </message>
    <message>
        <source>Which tokens the bars are of</source>
        <translation>Für welche Tokens die Balken gelten</translation>
    </message>
    <message>
        <source>Which tokens the bars are of: the one that is shown, or the mean of the latest</source>
        <translation>Für welche Tokens die Balken gelten: für das gezeigte oder als Mittel der neuesten</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>What the bars measure</source>
        <translation>Was die Balken messen</translation>
    </message>
    <message>
        <source>Time: how long each side worked on the layer, all at once; beneath it what was predicted.
Tokens: how many calls of experts each side served.</source>
        <translation>Zeit: wie lange jede Seite an der Schicht arbeitete, alle gleichzeitig; darunter die Vorhersage.
Tokens: wie viele Expertenaufrufe jede Seite bediente.</translation>
    </message>
    <message>
        <source>Where each layer&apos;s experts ran</source>
        <translation>Wo die Experten jeder Schicht liefen</translation>
    </message>
    <message>
        <source>dispatch by layer</source>
        <translation>Verteilung nach Schicht</translation>
    </message>
    <message>
        <source>Timeline of one token</source>
        <translation>Zeitverlauf eines Tokens</translation>
    </message>
    <message>
        <source>token timeline</source>
        <translation>Token-Zeitverlauf</translation>
    </message>
    <message>
        <source>Durations are the device&apos;s; where a side begins within its layer is not known.
Outlines are what was predicted. Wheel or + and - zoom, a click says why.</source>
        <translation>Die Dauern sind die des Geräts; wo eine Seite innerhalb ihrer Schicht beginnt, ist nicht bekannt.
Umrisse zeigen die Vorhersage. Mausrad oder + und - zoomen, ein Klick nennt den Grund.</translation>
    </message>
    <message>
        <source>Why experts ran where they ran</source>
        <translation>Warum Experten dort liefen, wo sie liefen</translation>
    </message>
    <message>
        <source>Write a prompt to see where the experts of each layer run, and why.</source>
        <translation>Einen Prompt schreiben, um zu sehen, wo die Experten jeder Schicht laufen und warum.</translation>
    </message>
    <message>
        <source>Token %1 of %2</source>
        <translation>Token %1 von %2</translation>
    </message>
    <message>
        <source>Latest token</source>
        <translation>Neuestes Token</translation>
    </message>
    <message>
        <source>with the prompt&apos;s last %1 tokens</source>
        <translation>mit den letzten %1 Tokens des Prompts</translation>
    </message>
    <message>
        <source>no longer kept, for want of memory</source>
        <translation>aus Speichermangel nicht mehr vorhanden</translation>
    </message>
    <message>
        <source>not written down yet</source>
        <translation>noch nicht aufgezeichnet</translation>
    </message>
    <message>
        <source>Click a bar to read why its experts ran there: both costs of the choice.</source>
        <translation>Ein Klick auf einen Balken zeigt, warum seine Experten dort liefen: beide Kosten der Wahl.</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>copy</source>
        <translation>Kopie</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>%1 experts</source>
        <translation>%1 Experten</translation>
    </message>
    <message>
        <source>expert %1</source>
        <translation>Experte %1</translation>
    </message>
    <message>
        <source>experts %1</source>
        <translation>Experten %1</translation>
    </message>
    <message>
        <source>Expert %1 (%2)</source>
        <translation>Experte %1 (%2)</translation>
    </message>
    <message>
        <source>one token, %1</source>
        <translation>ein Token, %1</translation>
    </message>
    <message>
        <source>%1 tokens, %2</source>
        <translation>%1 Tokens, %2</translation>
    </message>
    <message>
        <source>%1 was computed on the CPU: there is no accelerator to choose.</source>
        <translation>%1 wurde auf der CPU berechnet: Es gibt keinen Beschleuniger zur Wahl.</translation>
    </message>
    <message>
        <source>%1 had been brought to the device ahead, on a guess: %2 to compute there, against %3 on the CPU.</source>
        <translation>%1 war auf Verdacht vorab auf das Gerät gebracht worden: %2 für die Rechnung dort, gegenüber %3 auf der CPU.</translation>
    </message>
    <message>
        <source>%1 was on the device: %2 to compute there, against %3 on the CPU.</source>
        <translation>%1 lag auf dem Gerät: %2 für die Rechnung dort, gegenüber %3 auf der CPU.</translation>
    </message>
    <message>
        <source>%1 lay %2 and was brought to the device: %3 to copy and %4 to compute there, against %5 on the CPU.</source>
        <translation>%1 lag %2 und wurde auf das Gerät gebracht: %3 für die Kopie und %4 für die Rechnung dort, gegenüber %5 auf der CPU.</translation>
    </message>
    <message>
        <source>The policy “transfer” copies whatever is missing.</source>
        <translation>Die Strategie „transfer“ kopiert, was fehlt.</translation>
    </message>
    <message>
        <source>Alone the CPU would be faster; beside its other work in this layer it is not.</source>
        <translation>Für sich allein wäre die CPU schneller; neben ihrer übrigen Arbeit in dieser Schicht ist sie es nicht.</translation>
    </message>
    <message>
        <source>%1 lay %2 and was computed on the CPU: %3, against %4 to copy it and %5 to compute on the device.</source>
        <translation>%1 lag %2 und wurde auf der CPU berechnet: %3, gegenüber %4 für die Kopie und %5 für die Rechnung auf dem Gerät.</translation>
    </message>
    <message>
        <source>The policy “static” computes whatever is missing on the CPU.</source>
        <translation>Die Strategie „static“ berechnet auf der CPU, was fehlt.</translation>
    </message>
    <message>
        <source>Alone the copy would be faster; side by side with the rest of the layer it is not.</source>
        <translation>Für sich allein wäre die Kopie schneller; neben dem Rest der Schicht ist sie es nicht.</translation>
    </message>
    <message>
        <source>resident on the GPU</source>
        <translation>auf der GPU vorhanden</translation>
    </message>
    <message>
        <source>copied</source>
        <translation>kopiert</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>Schicht %1</translation>
    </message>
    <message>
        <source>copying</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>attention and router</source>
        <translation>Attention und Router</translation>
    </message>
    <message>
        <source>experts on the GPU</source>
        <translation>Experten auf der GPU</translation>
    </message>
    <message>
        <source>experts copied</source>
        <translation>kopierte Experten</translation>
    </message>
    <message>
        <source>experts on the CPU</source>
        <translation>Experten auf der CPU</translation>
    </message>
    <message>
        <source>layer %1: attention and router</source>
        <translation>Schicht %1: Attention und Router</translation>
    </message>
    <message>
        <source>layer %1: </source>
        <translation>Schicht %1: </translation>
    </message>
    <message>
        <source>by the emulated device&apos;s clock</source>
        <translation>nach der Uhr des emulierten Geräts</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>Layer %1: %2 %3.</source>
        <comment>layer, time, how it is known</comment>
        <translation>Schicht %1: %2 %3.</translation>
    </message>
    <message>
        <source>Layer %1, %2: %3 %4, %5 predicted. Policy: %6.</source>
        <comment>layer, side, time, how it is known, time, name</comment>
        <translation>Schicht %1, %2: %3 %4, %5 vorhergesagt. Strategie: %6.</translation>
    </message>
    <message>
        <source>Layer %1: %2 %3, %4 predicted. Policy: %5.</source>
        <comment>layer, time, how it is known, time, name</comment>
        <translation>Schicht %1: %2 %3, %4 vorhergesagt. Strategie: %5.</translation>
    </message>
    <message>
        <source>Which experts these were is no longer known.</source>
        <translation>Welche Experten das waren, ist nicht mehr bekannt.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::EmptyState</name>
    <message>
        <source>Open model…</source>
        <translation>Modell öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Ein Modell öffnen</translation>
    </message>
    <message>
        <source>Try a small emulated GPU</source>
        <translation>Kleine emulierte GPU ausprobieren</translation>
    </message>
    <message>
        <source>Opens the model again on an emulated GPU whose memory is too small for it</source>
        <translation>Öffnet das Modell neu auf einer emulierten GPU, deren Speicher dafür zu klein ist</translation>
    </message>
</context>
<context>
    <name>offstage::ui::EngineWorker</name>
    <message>
        <source>There is not enough free memory for this.</source>
        <translation>Dafür ist nicht genug Speicher frei.</translation>
    </message>
    <message>
        <source>Something unexpected happened inside the engine.</source>
        <translation>In der Engine ist etwas Unerwartetes geschehen.</translation>
    </message>
    <message>
        <source>Loading was cancelled.</source>
        <translation>Das Laden wurde abgebrochen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::EventLog</name>
    <message>
        <source>Connection to %1: %2</source>
        <translation>Verbindung zu %1: %2</translation>
    </message>
    <message>
        <source>Loading %1</source>
        <translation>%1 wird geladen</translation>
    </message>
    <message>
        <source>%1 is loaded in %2</source>
        <translation>%1 wurde in %2 geladen</translation>
    </message>
    <message>
        <source>device %1, %2 of %3 experts on it, context %4</source>
        <translation>Gerät %1, %2 von %3 Experten darauf, Kontext %4</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Re-plan %1 was asked for</source>
        <translation>Neuplanung %1 wurde angefordert</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Art</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Ereignis</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertActions</name>
    <message>
        <source>&amp;Unpin</source>
        <translation>Fixierung &amp;aufheben</translation>
    </message>
    <message>
        <source>The cache may take its place on the device again</source>
        <translation>Der Cache darf seinen Platz auf dem Gerät wieder vergeben</translation>
    </message>
    <message>
        <source>&amp;Pin to the device</source>
        <translation>Auf dem Gerät &amp;fixieren</translation>
    </message>
    <message>
        <source>Brings it to the device and keeps it there, whatever the cache says</source>
        <translation>Bringt den Experten auf das Gerät und hält ihn dort, was auch immer der Cache sagt</translation>
    </message>
    <message>
        <source>&amp;Evict from the device</source>
        <translation>Vom Gerät &amp;verdrängen</translation>
    </message>
    <message>
        <source>Lets it go; it stays in RAM or on disk</source>
        <translation>Gibt seinen Platz frei; der Experte bleibt im RAM oder auf dem Datenträger</translation>
    </message>
    <message>
        <source>P&amp;recision</source>
        <translation>&amp;Genauigkeit</translation>
    </message>
    <message>
        <source>&amp;%1 bit</source>
        <comment>precision of an expert</comment>
        <translation>&amp;%1 Bit</translation>
    </message>
    <message>
        <source>Pinning layer %1, expert %2…</source>
        <translation>Schicht %1, Experte %2 wird fixiert&#xa0;…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is pinned to the device.</source>
        <translation>Schicht %1, Experte %2 ist auf dem Gerät fixiert.</translation>
    </message>
    <message>
        <source>Unpinning layer %1, expert %2…</source>
        <translation>Fixierung von Schicht %1, Experte %2 wird aufgehoben&#xa0;…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is no longer pinned.</source>
        <translation>Schicht %1, Experte %2 ist nicht mehr fixiert.</translation>
    </message>
    <message>
        <source>Taking layer %1, expert %2 off the device…</source>
        <translation>Schicht %1, Experte %2 wird vom Gerät genommen&#xa0;…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 has left the device.</source>
        <translation>Schicht %1, Experte %2 hat das Gerät verlassen.</translation>
    </message>
    <message>
        <source>Changing layer %1, expert %2 to %3 bit…</source>
        <translation>Schicht %1, Experte %2 wird auf %3 Bit geändert&#xa0;…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is kept in %3 bit.</source>
        <translation>Schicht %1, Experte %2 wird mit %3 Bit gespeichert.</translation>
    </message>
    <message>
        <source>Experts cannot be changed at the moment: no model is loaded.</source>
        <translation>Experten lassen sich zurzeit nicht ändern: Es ist kein Modell geladen.</translation>
    </message>
    <message>
        <source>The change was cancelled; everything is as before.</source>
        <translation>Die Änderung wurde abgebrochen; alles ist wie zuvor.</translation>
    </message>
    <message>
        <source>A later change took the place of this one.</source>
        <translation>Eine spätere Änderung trat an die Stelle dieser.</translation>
    </message>
    <message>
        <source>The change could not be made.</source>
        <translation>Die Änderung war nicht möglich.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertsPanel</name>
    <message>
        <source>&amp;Show</source>
        <translation>An&amp;zeigen</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>Schichten</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>When the model reads or writes, this shows which experts its router calls.</source>
        <translation>Wenn das Modell liest oder schreibt, zeigt sich hier, welche Experten sein Router aufruft.</translation>
    </message>
    <message>
        <source>Expert heat map</source>
        <translation>Heatmap der Experten</translation>
    </message>
    <message>
        <source>Numbers of the chosen expert</source>
        <translation>Zahlen zum gewählten Experten</translation>
    </message>
    <message>
        <source>even use:</source>
        <translation>gleichmäßig:</translation>
    </message>
    <message>
        <source>Point at a cell for its numbers.</source>
        <translation>Auf eine Zelle zeigen, um ihre Zahlen zu sehen.</translation>
    </message>
    <message>
        <source>%1 steps ago:</source>
        <translation>vor %1 Schritten:</translation>
    </message>
    <message>
        <source>on the device</source>
        <translation>auf dem Gerät</translation>
    </message>
    <message>
        <source>G</source>
        <comment>glyph: on the GPU</comment>
        <translation>G</translation>
    </message>
    <message>
        <source>on the device, pinned</source>
        <translation>auf dem Gerät, fixiert</translation>
    </message>
    <message>
        <source>P</source>
        <comment>glyph: pinned</comment>
        <translation>F</translation>
    </message>
    <message>
        <source>in RAM</source>
        <translation>im RAM</translation>
    </message>
    <message>
        <source>R</source>
        <comment>glyph: in RAM</comment>
        <translation>R</translation>
    </message>
    <message>
        <source>on disk</source>
        <translation>auf dem Datenträger</translation>
    </message>
    <message>
        <source>D</source>
        <comment>glyph: on disk</comment>
        <translation>D</translation>
    </message>
    <message>
        <source>all experts:</source>
        <translation>alle Experten:</translation>
    </message>
    <message>
        <source>Frequency: last %1 tokens</source>
        <translation>Häufigkeit: letzte %1 Tokens</translation>
    </message>
    <message>
        <source>Frequency: conversation</source>
        <translation>Häufigkeit: Unterhaltung</translation>
    </message>
    <message>
        <source>Frequency: planned</source>
        <translation>Häufigkeit: geplant</translation>
    </message>
    <message>
        <source>Recency</source>
        <translation>Aktualität</translation>
    </message>
    <message>
        <source>Residency</source>
        <translation>Speicherort</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>Share of the latest tokens, prompt and answer, that the router sent to each expert.</source>
        <translation>Anteil der neuesten Tokens, aus Prompt und Antwort, die der Router zu jedem Experten schickte.</translation>
    </message>
    <message>
        <source>Share of all tokens of this conversation that the router sent to each expert.</source>
        <translation>Anteil aller Tokens dieser Unterhaltung, die der Router zu jedem Experten schickte.</translation>
    </message>
    <message>
        <source>Share of tokens that the placement of experts was planned with.</source>
        <translation>Anteil der Tokens, mit dem die Verteilung der Experten geplant wurde.</translation>
    </message>
    <message>
        <source>How long ago each expert was called: 100 % in the last step, 0 % not within %1 steps.</source>
        <translation>Wie lange der letzte Aufruf jedes Experten her ist: 100 % im letzten Schritt, 0 % nicht in den letzten %1 Schritten.</translation>
    </message>
    <message>
        <source>The fastest memory that holds a copy of each expert.</source>
        <translation>Der schnellste Speicher, in dem eine Kopie jedes Experten liegt.</translation>
    </message>
    <message>
        <source>The number format in which each expert is kept.</source>
        <translation>Das Zahlenformat, in dem jeder Experte gespeichert ist.</translation>
    </message>
    <message>
        <source>Share of each expert&apos;s tokens, since the model was loaded, that found it on the device.</source>
        <translation>Anteil der Tokens jedes Experten seit dem Laden des Modells, die ihn auf dem Gerät fanden.</translation>
    </message>
    <message>
        <source>Layer %1, expert %2</source>
        <translation>Schicht %1, Experte %2</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>fixiert</translation>
    </message>
    <message>
        <source>%1 of %2 tokens: %3 of this layer&apos;s tokens</source>
        <translation>%1 von %2 Tokens: %3 der Tokens dieser Schicht</translation>
    </message>
    <message>
        <source>Even use would be %1</source>
        <translation>Gleichmäßig wären %1</translation>
    </message>
    <message>
        <source>planned: %1</source>
        <translation>geplant: %1</translation>
    </message>
    <message>
        <source>Planned: %1 of this layer&apos;s tokens</source>
        <translation>Geplant: %1 der Tokens dieser Schicht</translation>
    </message>
    <message>
        <source>Not called since the model was loaded</source>
        <translation>Nicht aufgerufen, seit das Modell geladen wurde</translation>
    </message>
    <message>
        <source>Tokens since loading: %1</source>
        <translation>Tokens seit dem Laden: %1</translation>
    </message>
    <message>
        <source>hit rate %1</source>
        <translation>Trefferquote %1</translation>
    </message>
    <message>
        <source>called in the last step</source>
        <translation>im letzten Schritt aufgerufen</translation>
    </message>
    <message>
        <source>called one step before the last</source>
        <translation>einen Schritt vor dem letzten aufgerufen</translation>
    </message>
    <message>
        <source>called %1 steps before the last</source>
        <translation>%1 Schritte vor dem letzten aufgerufen</translation>
    </message>
    <message>
        <source>&amp;Fade the idle</source>
        <translation>&amp;Untätige abblenden</translation>
    </message>
    <message>
        <source>What is shown of each expert</source>
        <translation>Was zu jedem Experten gezeigt wird</translation>
    </message>
    <message>
        <source>Shows experts that were not called lately in a faint colour</source>
        <translation>Zeigt Experten blass, die zuletzt nicht aufgerufen wurden</translation>
    </message>
    <message>
        <source>Fade experts that were not called lately</source>
        <translation>Zuletzt nicht aufgerufene Experten abblenden</translation>
    </message>
    <message>
        <source>Layers by experts. Arrow keys move from cell to cell, Return selects an expert, the menu key changes it.</source>
        <translation>Schichten mal Experten. Die Pfeiltasten wechseln von Zelle zu Zelle, die Eingabetaste wählt einen Experten, die Menütaste ändert ihn.</translation>
    </message>
    <message>
        <source>C&amp;hange</source>
        <translation>Ä&amp;ndern</translation>
    </message>
    <message>
        <source>Pin, evict or change the precision of the selected expert</source>
        <translation>Den gewählten Experten fixieren, verdrängen oder seine Genauigkeit ändern</translation>
    </message>
    <message>
        <source>Change the selected expert</source>
        <translation>Den gewählten Experten ändern</translation>
    </message>
    <message>
        <source>Open a model to see its experts.</source>
        <translation>Ein Modell öffnen, um seine Experten zu sehen.</translation>
    </message>
    <message>
        <source>The experts were placed without knowing how popular they are.</source>
        <translation>Die Experten wurden verteilt, ohne dass ihre Popularität bekannt war.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>legend: kind of experts, how many</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator to bring experts to.</source>
        <translation>Das Modell läuft auf der CPU: Es gibt keinen Beschleuniger, auf den Experten gebracht werden könnten.</translation>
    </message>
    <message>
        <source>Ringed: the experts that the selected token called.</source>
        <translation>Umrandet: die Experten, die das gewählte Token aufrief.</translation>
    </message>
    <message>
        <source>The selected token was written by the step that read the prompt, all its tokens at once: which of them called which expert is not known.</source>
        <translation>Das gewählte Token entstand in dem Schritt, der den Prompt las, alle seine Tokens auf einmal: Welches davon welchen Experten aufrief, ist nicht bekannt.</translation>
    </message>
    <message>
        <source>Selected; no token in the chat called it</source>
        <translation>Ausgewählt; kein Token im Chat rief ihn auf</translation>
    </message>
    <message>
        <source>Selected; underlined in the chat: %1 places</source>
        <translation>Ausgewählt; im Chat unterstrichen: %1 Stellen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FindBar</name>
    <message>
        <source>Find in this conversation</source>
        <translation>In dieser Unterhaltung suchen</translation>
    </message>
    <message>
        <source>Previous hit (Shift+Enter)</source>
        <translation>Voriger Treffer (Umschalt+Eingabe)</translation>
    </message>
    <message>
        <source>Next hit (Enter)</source>
        <translation>Nächster Treffer (Eingabe)</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>Nicht gefunden</translation>
    </message>
    <message>
        <source>%1 / %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>Hit %1 of %2</source>
        <translation>Treffer %1 von %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FitView</name>
    <message>
        <source>VRAM budget</source>
        <translation>VRAM-Budget</translation>
    </message>
    <message>
        <source>RAM budget</source>
        <translation>RAM-Budget</translation>
    </message>
    <message>
        <source>Context in tokens</source>
        <translation>Kontext in Tokens</translation>
    </message>
    <message>
        <source>What the model would take of each memory</source>
        <translation>Was das Modell in jedem Speicher belegen würde</translation>
    </message>
    <message>
        <source>Choose a model to see what it would take.</source>
        <translation>Ein Modell wählen, um zu sehen, was es belegen würde.</translation>
    </message>
    <message>
        <source>Whether the model fits</source>
        <translation>Ob das Modell passt</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>What computes the attention and the experts that find room on it. Emulated devices take a part of this computer&apos;s memory and work out the time that the real one would take</source>
        <translation>Berechnet die Attention und die Experten, die darauf Platz finden. Emulierte Geräte nehmen einen Teil des Speichers dieses Computers und berechnen die Zeit, die das echte bräuchte</translation>
    </message>
    <message>
        <source>Memory of the device that Offstage may take</source>
        <translation>Speicher des Geräts, den Offstage belegen darf</translation>
    </message>
    <message>
        <source>Memory of this computer that Offstage may take</source>
        <translation>Speicher dieses Computers, den Offstage belegen darf</translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold</source>
        <translation>Tokens, die eine Unterhaltung fassen kann</translation>
    </message>
    <message>
        <source>all there is</source>
        <translation>alles Vorhandene</translation>
    </message>
    <message>
        <source>what is free</source>
        <translation>alles Freie</translation>
    </message>
    <message>
        <source>the model&apos;s own</source>
        <translation>wie im Modell</translation>
    </message>
    <message>
        <source>Format of the experts</source>
        <translation>Format der Experten</translation>
    </message>
    <message>
        <source>Fewer bits take less memory and are read faster, and say less exactly what the model was trained to say</source>
        <translation>Weniger Bits brauchen weniger Speicher und werden schneller gelesen, geben das Gelernte aber weniger genau wieder</translation>
    </message>
    <message>
        <source>As in the checkpoint</source>
        <translation>Wie im Checkpoint</translation>
    </message>
    <message>
        <source>Mean bits, at least</source>
        <translation>Bits im Mittel, mindestens</translation>
    </message>
    <message>
        <source>Predicted loss, at most</source>
        <translation>Vorhergesagter Verlust, höchstens</translation>
    </message>
    <message>
        <source>All experts in %1</source>
        <translation>Alle Experten in %1</translation>
    </message>
    <message>
        <source>Cache policy</source>
        <translation>Cache-Strategie</translation>
    </message>
    <message>
        <source>Which experts that were copied on demand stay on the device</source>
        <translation>Welche der bei Bedarf kopierten Experten auf dem Gerät bleiben</translation>
    </message>
    <message>
        <source>&amp;Device</source>
        <translation>&amp;Gerät</translation>
    </message>
    <message>
        <source>&amp;VRAM</source>
        <translation>&amp;VRAM</translation>
    </message>
    <message>
        <source>&amp;RAM</source>
        <translation>&amp;RAM</translation>
    </message>
    <message>
        <source>Conte&amp;xt</source>
        <translation>Konte&amp;xt</translation>
    </message>
    <message>
        <source>&amp;Experts</source>
        <translation>&amp;Experten</translation>
    </message>
    <message>
        <source>Cac&amp;he</source>
        <translation>Cac&amp;he</translation>
    </message>
    <message>
        <source>emulated: %1</source>
        <translation>emuliert: %1</translation>
    </message>
    <message>
        <source>The CPU has no memory of its own: RAM counts</source>
        <translation>Die CPU hat keinen eigenen Speicher: Es zählt der RAM</translation>
    </message>
    <message>
        <source>Mean bits per expert weight, at least</source>
        <translation>Bits je Expertengewicht im Mittel, mindestens</translation>
    </message>
    <message>
        <source> bits</source>
        <translation> Bit</translation>
    </message>
    <message>
        <source>Predicted loss in percent, at most</source>
        <translation>Vorhergesagter Verlust in Prozent, höchstens</translation>
    </message>
    <message>
        <source> %</source>
        <translation> %</translation>
    </message>
    <message>
        <source>No model is chosen yet.</source>
        <translation>Noch kein Modell gewählt.</translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation>VRAM</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>RAM</translation>
    </message>
    <message>
        <source>Does not fit: %1 of %2 are missing.</source>
        <translation>Passt nicht: %1 von %2 fehlen.</translation>
    </message>
    <message>
        <source>Does not fit.</source>
        <translation>Passt nicht.</translation>
    </message>
    <message>
        <source>Fits: %1 of %2 experts in RAM, %3 tokens of context.</source>
        <translation>Passt: %1 von %2 Experten im RAM, %3 Tokens Kontext.</translation>
    </message>
    <message>
        <source>Fits: %1 of %2 experts on the device, %3 tokens of context. About %4 of the expert calls will find theirs there.</source>
        <translation>Passt: %1 von %2 Experten auf dem Gerät, %3 Tokens Kontext. Etwa %4 der Expertenaufrufe werden ihren Experten dort finden.</translation>
    </message>
    <message>
        <source>%1 experts stay on disk and are read when they are called.</source>
        <translation>%1 Experten bleiben auf dem Datenträger und werden beim Aufruf gelesen.</translation>
    </message>
    <message>
        <source>The formats are chosen once their cost has been measured; until then the smallest allowed one is counted.</source>
        <translation>Die Formate werden gewählt, sobald ihre Kosten gemessen sind; bis dahin wird mit dem kleinsten erlaubten gerechnet.</translation>
    </message>
    <message>
        <source>The device is emulated: its memory is part of this computer&apos;s RAM, and its times are worked out, not measured.</source>
        <translation>Das Gerät ist emuliert: Sein Speicher ist Teil des RAM dieses Computers, und seine Zeiten sind errechnet, nicht gemessen.</translation>
    </message>
    <message>
        <source>Fits with a context of %1 tokens</source>
        <translation>Passt mit einem Kontext von %1 Tokens</translation>
    </message>
    <message>
        <source>Fits with all VRAM that is free</source>
        <translation>Passt mit dem gesamten freien VRAM</translation>
    </message>
    <message>
        <source>Fits with %1 of VRAM</source>
        <translation>Passt mit %1 VRAM</translation>
    </message>
    <message>
        <source>Fits with %1 of RAM</source>
        <translation>Passt mit %1 RAM</translation>
    </message>
    <message>
        <source>Fits on the CPU</source>
        <translation>Passt auf der CPU</translation>
    </message>
    <message>
        <source>Choose this</source>
        <translation>So wählen</translation>
    </message>
    <message>
        <source>Floor of quality</source>
        <translation>Untergrenze der Qualität</translation>
    </message>
    <message>
        <source>No plan goes below this</source>
        <translation>Kein Plan geht darunter</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FitWorker</name>
    <message>
        <source>The model could not be looked at.</source>
        <translation>Das Modell konnte nicht untersucht werden.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMap</name>
    <message>
        <source>%1 %2, %3 %4: %5</source>
        <comment>heat map cell: title of rows, row, title of columns, column, value</comment>
        <translation>%1 %2, %3 %4: %5</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMapLegend</name>
    <message>
        <source>Colour scale: from 0 to %1; %2 %3</source>
        <translation>Farbskala: von 0 bis %1; %2 %3</translation>
    </message>
    <message>
        <source>Colours: %1</source>
        <translation>Farben: %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::History</name>
    <message>
        <source>Conversations are not saved</source>
        <translation>Unterhaltungen werden nicht gespeichert</translation>
    </message>
    <message>
        <source>The folder %1 cannot be made.</source>
        <translation>Der Ordner %1 kann nicht angelegt werden.</translation>
    </message>
    <message>
        <source>The chat history is damaged.</source>
        <translation>Der Chatverlauf ist beschädigt.</translation>
    </message>
    <message>
        <source>The chat history was damaged</source>
        <translation>Der Chatverlauf war beschädigt</translation>
    </message>
    <message numerus="yes">
        <source>A new one was begun with what could be read: %n message(s)</source>
        <translation>
            <numerusform>Ein neuer wurde mit dem begonnen, was lesbar war: %n Nachricht</numerusform>
            <numerusform>Ein neuer wurde mit dem begonnen, was lesbar war: %n Nachrichten</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> in %n conversation(s).</source>
        <translation>
            <numerusform> in %n Unterhaltung.</numerusform>
            <numerusform> in %n Unterhaltungen.</numerusform>
        </translation>
    </message>
    <message>
        <source>The damaged file is kept as %1</source>
        <translation>Die beschädigte Datei bleibt als %1 erhalten</translation>
    </message>
    <message>
        <source>The conversation could not be saved</source>
        <translation>Die Unterhaltung konnte nicht gespeichert werden</translation>
    </message>
    <message>
        <source>It is kept in memory, and saving is tried again every second.</source>
        <translation>Sie bleibt im Arbeitsspeicher; jede Sekunde wird erneut versucht, sie zu speichern.</translation>
    </message>
    <message>
        <source>Offstage was closed while this was being written</source>
        <translation>Offstage wurde geschlossen, während dies geschrieben wurde</translation>
    </message>
    <message>
        <source>The chat history could not be searched</source>
        <translation>Der Chatverlauf konnte nicht durchsucht werden</translation>
    </message>
    <message>
        <source>“%1” cannot be opened</source>
        <translation>„%1“ kann nicht geöffnet werden</translation>
    </message>
</context>
<context>
    <name>offstage::ui::InputBar</name>
    <message>
        <source>Enter sends · Shift+Enter begins a new line</source>
        <translation>Eingabe sendet · Umschalt+Eingabe beginnt eine neue Zeile</translation>
    </message>
    <message>
        <source>The model is loading. Write on: your message is sent as soon as it is ready</source>
        <translation>Das Modell wird geladen. Einfach weiterschreiben: Die Nachricht wird gesendet, sobald es bereit ist</translation>
    </message>
    <message>
        <source>Your message waits for the model. Esc takes it back</source>
        <translation>Die Nachricht wartet auf das Modell. Esc nimmt sie zurück</translation>
    </message>
    <message>
        <source>No model is open: open one (Ctrl+O), or drop its folder on this window</source>
        <translation>Kein Modell geöffnet: eines öffnen (Strg+O) oder seinen Ordner auf dieses Fenster ziehen</translation>
    </message>
    <message>
        <source>Answering · Esc stops</source>
        <translation>Antwortet · Esc hält an</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Wird angehalten&#xa0;…</translation>
    </message>
    <message>
        <source>Take the message back</source>
        <translation>Nachricht zurücknehmen</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Write something to send</source>
        <translation>Erst etwas zum Senden schreiben</translation>
    </message>
    <message>
        <source> (Esc)</source>
        <translation> (Esc)</translation>
    </message>
    <message>
        <source> (Enter)</source>
        <translation> (Eingabe)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LinePlot</name>
    <message>
        <source>%1: %2</source>
        <comment>series and value</comment>
        <translation>%1: %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LoadBanner</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Loading a model</source>
        <translation>Modell wird geladen</translation>
    </message>
    <message>
        <source>Progress of loading</source>
        <translation>Fortschritt des Ladens</translation>
    </message>
    <message>
        <source>Cancel loading</source>
        <translation>Laden abbrechen</translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation>%1 wird geöffnet</translation>
    </message>
    <message>
        <source> · %1 of %2</source>
        <translation> · %1 von %2</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LogPanel</name>
    <message>
        <source>&amp;Save…</source>
        <translation>&amp;Speichern&#xa0;…</translation>
    </message>
    <message>
        <source>Kind of events</source>
        <translation>Art der Ereignisse</translation>
    </message>
    <message>
        <source>Show events of one kind only</source>
        <translation>Nur Ereignisse einer Art zeigen</translation>
    </message>
    <message>
        <source>All events</source>
        <translation>Alle Ereignisse</translation>
    </message>
    <message>
        <source>Search in the log</source>
        <translation>Im Protokoll suchen</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Show events that hold all of these words</source>
        <translation>Ereignisse zeigen, die alle diese Wörter enthalten</translation>
    </message>
    <message>
        <source>Save what is shown, as text or as JSON</source>
        <translation>Das Gezeigte als Text oder als JSON speichern</translation>
    </message>
    <message>
        <source>Events</source>
        <translation>Ereignisse</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>The chosen event</source>
        <translation>Das gewählte Ereignis</translation>
    </message>
    <message>
        <source>No outbound connections</source>
        <translation>Keine ausgehenden Verbindungen</translation>
    </message>
    <message numerus="yes">
        <source>%n outbound connection(s)</source>
        <translation>
            <numerusform>%n ausgehende Verbindung</numerusform>
            <numerusform>%n ausgehende Verbindungen</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 events</source>
        <translation>%1 von %2 Ereignissen</translation>
    </message>
    <message>
        <source>%1 older ones were let go</source>
        <translation>%1 ältere wurden verworfen</translation>
    </message>
    <message>
        <source>The log could not be saved as %1: %2.</source>
        <translation>Das Protokoll konnte nicht als %1 gespeichert werden: %2.</translation>
    </message>
    <message>
        <source>Save the log</source>
        <translation>Protokoll speichern</translation>
    </message>
    <message>
        <source>Text (*.txt)</source>
        <translation>Text (*.txt)</translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
        <translation>JSON (*.json)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainWindow</name>
    <message>
        <source>Offstage</source>
        <translation>Offstage</translation>
    </message>
    <message>
        <source>Open the folder of a model</source>
        <translation>Ordner eines Modells öffnen</translation>
    </message>
    <message>
        <source>Loading “%1” was cancelled</source>
        <translation>Das Laden von „%1“ wurde abgebrochen</translation>
    </message>
    <message>
        <source>“%1” could not be opened</source>
        <translation>„%1“ konnte nicht geöffnet werden</translation>
    </message>
    <message>
        <source>No model is open now.</source>
        <translation>Jetzt ist kein Modell geöffnet.</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Wird geladen&#xa0;…</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>%1 – Offstage</source>
        <translation>%1 – Offstage</translation>
    </message>
    <message>
        <source>Drop to open %1</source>
        <translation>Loslassen, um %1 zu öffnen</translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation>&amp;Neue Unterhaltung</translation>
    </message>
    <message>
        <source>&amp;Open model…</source>
        <translation>Modell ö&amp;ffnen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>&amp;Anhalten</translation>
    </message>
    <message>
        <source>Stop the answer (Esc)</source>
        <translation>Antwort anhalten (Esc)</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>Copy the whole con&amp;versation</source>
        <translation>Ganze &amp;Unterhaltung kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Ctrl+Shift+C</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Recent models</source>
        <translation>&amp;Zuletzt geöffnete Modelle</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>Ctrl+Q</source>
        <translation>Ctrl+Q</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>&amp;Farbschema</translation>
    </message>
    <message>
        <source>As the &amp;system</source>
        <translation>Wie das &amp;System</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>&amp;Hell</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>&amp;Dunkel</translation>
    </message>
    <message>
        <source>&amp;Reset layout</source>
        <translation>&amp;Layout zurücksetzen</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;About Offstage</source>
        <translation>Ü&amp;ber Offstage</translation>
    </message>
    <message>
        <source>Main tool bar</source>
        <translation>Hauptwerkzeugleiste</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Hardware</source>
        <translation>Hardware</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>Sampling</translation>
    </message>
    <message>
        <source>Show or hide the expert heat map</source>
        <translation>Heatmap der Experten ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>Demomodell</translation>
    </message>
    <message>
        <source>%1 (missing)</source>
        <translation>%1 (fehlt)</translation>
    </message>
    <message>
        <source>Clear the list</source>
        <translation>Liste leeren</translation>
    </message>
    <message>
        <source>About Offstage</source>
        <translation>Über Offstage</translation>
    </message>
    <message>
        <source>Offstage %1</source>
        <translation>Offstage %1</translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory, and see which experts are called. Everything runs on this computer; nothing is sent anywhere.

Apache License 2.0. Uses Qt %1 (LGPL) and cmark-gfm (BSD).</source>
        <translation>Chat mit Mixture-of-Experts-Modellen, die nicht in den Speicher der GPU passen, mit Blick darauf, welche Experten aufgerufen werden. Alles läuft auf diesem Computer; nichts wird irgendwohin gesendet.

Apache License 2.0. Verwendet Qt %1 (LGPL) und cmark-gfm (BSD).</translation>
    </message>
    <message>
        <source>A picture of each panel is in %1.</source>
        <translation>Ein Bild von jedem Panel liegt in %1.</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
    <message>
        <source>Show or hide the conversations</source>
        <translation>Unterhaltungen ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Cache</source>
        <translation>Cache</translation>
    </message>
    <message>
        <source>Show or hide hit rates and copies</source>
        <translation>Trefferquoten und Kopien ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Dispatch</source>
        <translation>Verteilung</translation>
    </message>
    <message>
        <source>Show or hide what CPU, copies and GPU do in each layer</source>
        <translation>Ein- oder ausblenden, was CPU, Kopien und GPU in jeder Schicht tun</translation>
    </message>
    <message>
        <source>Budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>Show or hide the memory budgets</source>
        <translation>Speicherbudgets ein- oder ausblenden</translation>
    </message>
    <message>
        <source>What if</source>
        <translation>Was wäre wenn</translation>
    </message>
    <message>
        <source>Show or hide forecasts for other hardware</source>
        <translation>Prognosen für andere Hardware ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Benchmark</source>
        <translation>Benchmark</translation>
    </message>
    <message>
        <source>Show or hide what answers took</source>
        <translation>Ein- oder ausblenden, wie lange Antworten dauerten</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
    </message>
    <message>
        <source>Show or hide what happened</source>
        <translation>Protokoll der Ereignisse ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Show or hide system prompt and sampling</source>
        <translation>System-Prompt und Sampling ein- oder ausblenden</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Dieser Computer</translation>
    </message>
    <message>
        <source>&amp;Emulated GPU (times are accounted)</source>
        <translation>&amp;Emulierte GPU (Zeiten sind errechnet)</translation>
    </message>
    <message>
        <source>&amp;Try a small emulated GPU</source>
        <translation>&amp;Kleine emulierte GPU ausprobieren</translation>
    </message>
    <message>
        <source>Where the model runs. Found here: %1</source>
        <translation>Wo das Modell läuft. Hier gefunden: %1</translation>
    </message>
    <message>
        <source>Open with o&amp;ptions…</source>
        <translation>Mit O&amp;ptionen öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Ctrl+Shift+O</source>
        <translation>Ctrl+Shift+O</translation>
    </message>
    <message>
        <source>&amp;Find in this conversation…</source>
        <translation>In dieser Unterhaltung &amp;suchen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Command palette…</source>
        <translation>&amp;Befehlspalette&#xa0;…</translation>
    </message>
    <message>
        <source>Ctrl+K</source>
        <translation>Ctrl+K</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>&amp;Sprache</translation>
    </message>
    <message>
        <source>As the s&amp;ystem</source>
        <translation>Wie das S&amp;ystem</translation>
    </message>
    <message>
        <source>The language changes when Offstage starts again.</source>
        <translation>Die Sprache wechselt beim nächsten Start von Offstage.</translation>
    </message>
    <message>
        <source>&amp;Hardware</source>
        <translation>&amp;Hardware</translation>
    </message>
    <message>
        <source>24 MiB of GPU memory: the demo model does not fit, and experts come and go</source>
        <translation>24 MiB GPU-Speicher: Das Demomodell passt nicht hinein, Experten kommen und gehen</translation>
    </message>
    <message>
        <source>Runs on %1: its times are accounted, not measured.</source>
        <translation>Läuft auf %1: Die Zeiten sind errechnet, nicht gemessen.</translation>
    </message>
    <message>
        <source>Runs on %1. Found here: %2.</source>
        <translation>Läuft auf %1. Gefunden: %2.</translation>
    </message>
    <message>
        <source>Te&amp;xt size</source>
        <translation>Te&amp;xtgröße</translation>
    </message>
    <message>
        <source>&amp;Larger</source>
        <translation>&amp;Größer</translation>
    </message>
    <message>
        <source>&amp;Smaller</source>
        <translation>&amp;Kleiner</translation>
    </message>
    <message>
        <source>&amp;As the system</source>
        <translation>&amp;Wie das System</translation>
    </message>
    <message>
        <source>Ctrl+0</source>
        <translation>Ctrl+0</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageBody</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy this code</source>
        <translation>Diesen Code kopieren</translation>
    </message>
    <message>
        <source>text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>Copy the whole &amp;message</source>
        <translation>Ganze &amp;Nachricht kopieren</translation>
    </message>
    <message>
        <source>Copy the &amp;link</source>
        <translation>&amp;Link kopieren</translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation>&amp;Alles auswählen</translation>
    </message>
    <message>
        <source>&amp;Pick this token</source>
        <translation>Dieses &amp;Token wählen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageEditor</name>
    <message>
        <source>Send as a new branch</source>
        <translation>Als neuen Zweig senden</translation>
    </message>
    <message>
        <source>Leave</source>
        <translation>Unverändert lassen</translation>
    </message>
    <message>
        <source>Edit your message</source>
        <translation>Eigene Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Ctrl+Enter sends it as a new branch, Esc leaves it as it was</source>
        <translation>Strg+Eingabe sendet sie als neuen Zweig, Esc lässt sie, wie sie war</translation>
    </message>
    <message>
        <source>Ctrl+Enter</source>
        <translation>Strg+Eingabe</translation>
    </message>
    <message>
        <source>Leave the message as it was</source>
        <translation>Die Nachricht lassen, wie sie war</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>What was there stays, as a branch of its own.</source>
        <translation>Das Bisherige bleibt, als eigener Zweig.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageWidget</name>
    <message>
        <source>Copy the whole message</source>
        <translation>Ganze Nachricht kopieren</translation>
    </message>
    <message>
        <source>Your message</source>
        <translation>Eigene Nachricht</translation>
    </message>
    <message>
        <source>Offstage</source>
        <translation>Offstage</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Figures of this answer: %1</source>
        <translation>Zahlen zu dieser Antwort: %1</translation>
    </message>
    <message>
        <source>%1
Click for the timeline of its tokens</source>
        <translation>%1
Ein Klick zeigt den Zeitverlauf ihrer Tokens</translation>
    </message>
    <message>
        <source>Edit this message: a new branch</source>
        <translation>Diese Nachricht bearbeiten: ein neuer Zweig</translation>
    </message>
    <message>
        <source>Answer again: a new branch</source>
        <translation>Erneut antworten: ein neuer Zweig</translation>
    </message>
    <message>
        <source>Continue this answer</source>
        <translation>Diese Antwort fortsetzen</translation>
    </message>
    <message>
        <source>The branch before</source>
        <translation>Voriger Zweig</translation>
    </message>
    <message>
        <source>The next branch</source>
        <translation>Nächster Zweig</translation>
    </message>
    <message>
        <source>%1/%2</source>
        <translation>%1/%2</translation>
    </message>
    <message>
        <source>Branch %1 of %2</source>
        <translation>Zweig %1 von %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::OpenModelDialog</name>
    <message>
        <source>&amp;Open</source>
        <translation>Ö&amp;ffnen</translation>
    </message>
    <message>
        <source>Open a model with options</source>
        <translation>Modell mit Optionen öffnen</translation>
    </message>
    <message>
        <source>Folder of the model</source>
        <translation>Ordner des Modells</translation>
    </message>
    <message>
        <source>Folder with config.json and *.safetensors</source>
        <translation>Ordner mit config.json und *.safetensors</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>&amp;Modell</translation>
    </message>
    <message>
        <source>&amp;Choose…</source>
        <translation>&amp;Wählen&#xa0;…</translation>
    </message>
    <message>
        <source>Choose the folder of a model</source>
        <translation>Ordner eines Modells wählen</translation>
    </message>
    <message>
        <source>Open the folder of a model</source>
        <translation>Ordner eines Modells öffnen</translation>
    </message>
    <message>
        <source>Load the model this way</source>
        <translation>Das Modell auf diese Weise laden</translation>
    </message>
</context>
<context>
    <name>offstage::ui::Panel</name>
    <message>
        <source>What happened</source>
        <translation>Meldung</translation>
    </message>
    <message>
        <source>Emulated device</source>
        <translation>Emuliertes Gerät</translation>
    </message>
    <message>
        <source>emulated</source>
        <translation>emuliert</translation>
    </message>
    <message>
        <source>panels</source>
        <translation>Panels</translation>
    </message>
    <message>
        <source>What the panels cost</source>
        <translation>Was die Panels kosten</translation>
    </message>
    <message>
        <source>emulated: %1</source>
        <translation>emuliert: %1</translation>
    </message>
    <message>
        <source>There is no such accelerator here: its memory is part of this computer&apos;s, and its times are worked out. They are no measurements.</source>
        <translation>Diesen Beschleuniger gibt es hier nicht: Sein Speicher ist Teil des Speichers dieses Computers, und seine Zeiten sind errechnet. Es sind keine Messungen.</translation>
    </message>
    <message>
        <source>panels: under %1 of a token</source>
        <translation>Panels: unter %1 eines Tokens</translation>
    </message>
    <message>
        <source>panels: %1 of a token</source>
        <translation>Panels: %1 eines Tokens</translation>
    </message>
    <message>
        <source>Share of the answer&apos;s time that the engine spends on writing down what the panels show.
Working out what this panel shows takes %1 ms each time, in the window&apos;s own thread.</source>
        <translation>Anteil der Antwortzeit, in dem die Engine aufzeichnet, was die Panels zeigen.
Was dieses Panel zeigt, kostet jedes Mal %1 ms Rechenzeit im Thread des Fensters.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PlotWidget</name>
    <message>
        <source>Picture copied</source>
        <translation>Bild kopiert</translation>
    </message>
    <message>
        <source>Numbers copied</source>
        <translation>Zahlen kopiert</translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>%1 konnte nicht geschrieben werden: %2</translation>
    </message>
    <message>
        <source>Saved</source>
        <translation>Gespeichert</translation>
    </message>
    <message>
        <source>plot</source>
        <translation>diagramm</translation>
    </message>
    <message>
        <source>Save picture</source>
        <translation>Bild speichern</translation>
    </message>
    <message>
        <source>Save numbers</source>
        <translation>Zahlen speichern</translation>
    </message>
    <message>
        <source>PNG picture (*.png)</source>
        <translation>PNG-Bild (*.png)</translation>
    </message>
    <message>
        <source>Comma-separated values (*.csv)</source>
        <translation>Kommagetrennte Werte (*.csv)</translation>
    </message>
    <message>
        <source>Copy &amp;picture	Ctrl+C</source>
        <translation>&amp;Bild kopieren	Strg+C</translation>
    </message>
    <message>
        <source>&amp;Save picture…</source>
        <translation>Bild &amp;speichern&#xa0;…</translation>
    </message>
    <message>
        <source>Copy &amp;numbers (CSV)	Ctrl+Shift+C</source>
        <translation>&amp;Zahlen kopieren (CSV)	Strg+Umschalt+C</translation>
    </message>
    <message>
        <source>Save n&amp;umbers (CSV)…</source>
        <translation>Za&amp;hlen speichern (CSV)&#xa0;…</translation>
    </message>
    <message>
        <source>Show &amp;all	Home</source>
        <translation>&amp;Alles zeigen	Pos1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PresetBar</name>
    <message>
        <source>Name of the preset</source>
        <translation>Name der Voreinstellung</translation>
    </message>
    <message>
        <source>Save, rename or delete a preset</source>
        <translation>Eine Voreinstellung speichern, umbenennen oder löschen</translation>
    </message>
    <message>
        <source>&amp;Save as preset…</source>
        <translation>Als Voreinstellung &amp;speichern&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Rename…</source>
        <translation>&amp;Umbenennen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Löschen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ProblemCard</name>
    <message>
        <source>Open another model…</source>
        <translation>Anderes Modell öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Back to the previous model</source>
        <translation>Zurück zum vorherigen Modell</translation>
    </message>
    <message>
        <source>Open the demo model</source>
        <translation>Demomodell öffnen</translation>
    </message>
    <message>
        <source>Edit the prompt</source>
        <translation>Prompt bearbeiten</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Details of the problem</source>
        <translation>Einzelheiten des Problems</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>Einzelheiten</translation>
    </message>
    <message>
        <source>Show the details of the problem</source>
        <translation>Einzelheiten des Problems zeigen</translation>
    </message>
    <message>
        <source>See what would fit…</source>
        <translation>Zeigen, was passen würde&#xa0;…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ProfileEditor</name>
    <message>
        <source>Hardware profile</source>
        <translation>Hardwareprofil</translation>
    </message>
    <message>
        <source>%1, changed</source>
        <translation>%1, geändert</translation>
    </message>
    <message>
        <source>Name of the profile</source>
        <translation>Name des Profils</translation>
    </message>
    <message>
        <source> GiB</source>
        <translation> GiB</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Of the GPU in all</source>
        <translation>Der GPU insgesamt</translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation>Reserviert</translation>
    </message>
    <message>
        <source>Of the memory, what driver and display take</source>
        <translation>Was Treiber und Anzeige vom Speicher belegen</translation>
    </message>
    <message>
        <source> GB/s</source>
        <translation> GB/s</translation>
    </message>
    <message>
        <source>Memory bandwidth</source>
        <translation>Speicherbandbreite</translation>
    </message>
    <message>
        <source>As the datasheet has it</source>
        <translation>Laut Datenblatt</translation>
    </message>
    <message>
        <source> TFLOP/s</source>
        <translation> TFLOP/s</translation>
    </message>
    <message>
        <source>Arithmetic</source>
        <translation>Rechenleistung</translation>
    </message>
    <message>
        <source>16-bit matrix products, dense, as the datasheet has it</source>
        <translation>16-Bit-Matrixprodukte, dicht besetzt, laut Datenblatt</translation>
    </message>
    <message>
        <source>Bus bandwidth</source>
        <translation>Busbandbreite</translation>
    </message>
    <message>
        <source>One direction</source>
        <translation>In einer Richtung</translation>
    </message>
    <message>
        <source> µs</source>
        <translation> µs</translation>
    </message>
    <message>
        <source>Launch</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>Per operation of the GPU</source>
        <translation>Je Operation der GPU</translation>
    </message>
    <message>
        <source>Synchronisation</source>
        <translation>Synchronisation</translation>
    </message>
    <message>
        <source>Each time host and GPU wait for each other</source>
        <translation>Jedes Mal, wenn Host und GPU aufeinander warten</translation>
    </message>
    <message>
        <source>What is wrong with the profile</source>
        <translation>Was am Profil nicht stimmt</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Memory</source>
        <translation>&amp;Speicher</translation>
    </message>
    <message>
        <source>&amp;Reserved</source>
        <translation>&amp;Reserviert</translation>
    </message>
    <message>
        <source>Memory &amp;bandwidth</source>
        <translation>Speicher&amp;bandbreite</translation>
    </message>
    <message>
        <source>&amp;Arithmetic</source>
        <translation>Rechen&amp;leistung</translation>
    </message>
    <message>
        <source>B&amp;us</source>
        <translation>B&amp;us</translation>
    </message>
    <message>
        <source>&amp;Launch</source>
        <translation>S&amp;tart</translation>
    </message>
    <message>
        <source>M&amp;eeting</source>
        <translation>S&amp;ynchronisation</translation>
    </message>
    <message>
        <source>The profile could not be saved as %1: %2.</source>
        <translation>Das Profil konnte nicht als %1 gespeichert werden: %2.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PromptEdit</name>
    <message>
        <source>Write a message</source>
        <translation>Nachricht schreiben</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Enter sends, Shift and Enter begins a new line</source>
        <translation>Eingabe sendet, Umschalt und Eingabe beginnt eine neue Zeile</translation>
    </message>
</context>
<context>
    <name>offstage::ui::QuietDocument</name>
    <message>
        <source> – picture not loaded]</source>
        <translation> – Bild nicht geladen]</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SamplingPanel</name>
    <message>
        <source>0 · always the most probable</source>
        <translation>0 · immer das wahrscheinlichste</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>keine Grenze</translation>
    </message>
    <message>
        <source>a new one for each answer</source>
        <translation>für jede Antwort ein neuer</translation>
    </message>
    <message>
        <source>Own settings</source>
        <translation>Eigene Einstellungen</translation>
    </message>
    <message>
        <source>&amp;Preset</source>
        <translation>&amp;Voreinstellung</translation>
    </message>
    <message>
        <source>A good set of values to begin with</source>
        <translation>Bewährte Werte für den Anfang</translation>
    </message>
    <message>
        <source>&amp;Temperature</source>
        <translation>&amp;Temperatur</translation>
    </message>
    <message>
        <source>How adventurous: 0 always takes the most probable word, 1 takes words as often as the model believes in them</source>
        <translation>Wie experimentierfreudig: 0 nimmt immer das wahrscheinlichste Wort, 1 nimmt Wörter so oft, wie das Modell sie für wahrscheinlich hält</translation>
    </message>
    <message>
        <source>Top-&amp;k</source>
        <translation>Top-&amp;k</translation>
    </message>
    <message>
        <source>Only this many of the most probable words are considered</source>
        <translation>Nur so viele der wahrscheinlichsten Wörter kommen in Betracht</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Only the most probable words that together have this probability are considered; 1 considers all</source>
        <translation>Nur die wahrscheinlichsten Wörter, die zusammen diese Wahrscheinlichkeit haben, kommen in Betracht; bei 1 alle</translation>
    </message>
    <message>
        <source>&amp;Min-p</source>
        <translation>&amp;Min-p</translation>
    </message>
    <message>
        <source>Words less probable than this share of the most probable word are left out</source>
        <translation>Wörter, deren Wahrscheinlichkeit unter diesem Anteil der des wahrscheinlichsten liegt, bleiben außen vor</translation>
    </message>
    <message>
        <source>&amp;Repetition penalty</source>
        <translation>&amp;Wiederholungsstrafe</translation>
    </message>
    <message>
        <source>Makes words that were just used less probable; 1 does nothing, much more than 1.2 hurts the language</source>
        <translation>Macht eben verwendete Wörter weniger wahrscheinlich; 1 bewirkt nichts, viel mehr als 1,2 schadet der Sprache</translation>
    </message>
    <message>
        <source>Penalty looks &amp;back</source>
        <translation>&amp;Rückblick der Strafe</translation>
    </message>
    <message>
        <source>How many of the latest tokens count as just used</source>
        <translation>Wie viele der neuesten Tokens als eben verwendet gelten</translation>
    </message>
    <message>
        <source>&amp;Seed</source>
        <translation>&amp;Seed</translation>
    </message>
    <message>
        <source>The same seed, prompt and settings give the same answer; empty or 0: a new seed each time</source>
        <translation>Gleicher Seed, Prompt und gleiche Einstellungen ergeben die gleiche Antwort; leer oder 0: jedes Mal ein neuer Seed</translation>
    </message>
    <message>
        <source>&amp;Longest answer</source>
        <translation>Län&amp;gste Antwort</translation>
    </message>
    <message>
        <source>An answer ends after this many tokens</source>
        <translation>Eine Antwort endet nach so vielen Tokens</translation>
    </message>
    <message>
        <source>Reset to Balanced</source>
        <translation>Auf „Ausgewogen“ zurücksetzen</translation>
    </message>
    <message>
        <source>Your own mixture</source>
        <translation>Eigene Mischung</translation>
    </message>
    <message>
        <source>1 · no beam search</source>
        <translation>1 · keine Beam-Search</translation>
    </message>
    <message>
        <source>What every answer of this conversation should heed</source>
        <translation>Was jede Antwort dieser Unterhaltung beachten soll</translation>
    </message>
    <message>
        <source>S&amp;ystem prompt</source>
        <translation>S&amp;ystem-Prompt</translation>
    </message>
    <message>
        <source>A system prompt to begin with</source>
        <translation>Ein System-Prompt für den Anfang</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>System-Prompt</translation>
    </message>
    <message>
        <source>Beam &amp;width</source>
        <translation>B&amp;eam-Breite</translation>
    </message>
    <message>
        <source>How many answers are followed side by side; the most probable one is shown, at once and without chance. Costs time and memory in proportion</source>
        <translation>Wie viele Antworten nebeneinander verfolgt werden; gezeigt wird die wahrscheinlichste, auf einmal und ohne Zufall. Kostet entsprechend mehr Zeit und Speicher</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keiner</translation>
    </message>
    <message>
        <source>Own text</source>
        <translation>Eigener Text</translation>
    </message>
    <message>
        <source>A preset of yours</source>
        <translation>Eine eigene Voreinstellung</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StackedBar</name>
    <message>
        <source>free</source>
        <translation>frei</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source> · budget %1</source>
        <translation> · Budget %1</translation>
    </message>
    <message>
        <source>%1
%2: %3</source>
        <comment>row; part: size</comment>
        <translation>%1
%2: %3</translation>
    </message>
    <message>
        <source>, %1 of %2</source>
        <translation>, %1 von %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StatusLine</name>
    <message>
        <source>What the engine does</source>
        <translation>Was die Engine tut</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>Geschwindigkeit</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Tokens written per second, after the first token</source>
        <translation>Geschriebene Tokens pro Sekunde, nach dem ersten Token</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation>Modell wird geladen&#xa0;…</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>Bereit</translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation>Prompt wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Wird angehalten&#xa0;…</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Schreibt</translation>
    </message>
    <message>
        <source>%1 tokens/s</source>
        <translation>%1 Tokens/s</translation>
    </message>
</context>
<context>
    <name>offstage::ui::TimelinePlot</name>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>%1, predicted</source>
        <comment>lane</comment>
        <translation>%1, vorhergesagt</translation>
    </message>
    <message>
        <source>%1 from %2</source>
        <comment>duration, begin</comment>
        <translation>%1 ab %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ValueSlider</name>
    <message>
        <source>%1, slider</source>
        <translation>%1, Regler</translation>
    </message>
    <message>
        <source> GiB</source>
        <translation> GiB</translation>
    </message>
    <message>
        <source> MiB</source>
        <translation> MiB</translation>
    </message>
</context>
<context>
    <name>offstage::ui::WhatIfPanel</name>
    <message>
        <source>Forecasts</source>
        <translation>Prognosen</translation>
    </message>
    <message>
        <source>&amp;Forecast</source>
        <translation>&amp;Prognose</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>Abbre&amp;chen</translation>
    </message>
    <message>
        <source>&amp;Edit a copy…</source>
        <translation>&amp;Kopie bearbeiten&#xa0;…</translation>
    </message>
    <message>
        <source>Open a model to see how fast it would be on other hardware.</source>
        <translation>Ein Modell öffnen, um zu sehen, wie schnell es auf anderer Hardware wäre.</translation>
    </message>
    <message>
        <source>Forecasts from datasheets and this computer&apos;s measured CPU, not measurements. Experts count as they are in the checkpoint.</source>
        <translation>Prognosen aus Datenblättern und der gemessenen CPU dieses Computers, keine Messungen. Experten zählen so, wie sie im Checkpoint stehen.</translation>
    </message>
    <message>
        <source>GPU whose VRAM is varied</source>
        <translation>GPU, deren VRAM variiert wird</translation>
    </message>
    <message>
        <source>The curve over VRAM is of this GPU</source>
        <translation>Die Kurve über dem VRAM gilt für diese GPU</translation>
    </message>
    <message>
        <source>Work it out. Measures this computer&apos;s CPU for up to three seconds first</source>
        <translation>Berechnen. Misst zuvor bis zu drei Sekunden lang die CPU dieses Computers</translation>
    </message>
    <message>
        <source>Stop working it out</source>
        <translation>Die Berechnung anhalten</translation>
    </message>
    <message>
        <source>Make a profile of your own from the chosen one</source>
        <translation>Aus dem gewählten ein eigenes Profil machen</translation>
    </message>
    <message>
        <source>Progress of the forecast</source>
        <translation>Fortschritt der Prognose</translation>
    </message>
    <message>
        <source>What more VRAM would bring</source>
        <translation>Was mehr VRAM brächte</translation>
    </message>
    <message>
        <source>Forecasts by GPU</source>
        <translation>Prognosen nach GPU</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation>VRAM</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>first token</source>
        <translation>erstes Token</translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation>Trefferquote</translation>
    </message>
    <message>
        <source>experts on it</source>
        <translation>Experten darauf</translation>
    </message>
    <message>
        <source>Forecast tokens per second by GPU</source>
        <translation>Prognose der Tokens pro Sekunde nach GPU</translation>
    </message>
    <message>
        <source>forecast</source>
        <translation>Prognose</translation>
    </message>
    <message>
        <source>Press Forecast to compare hardware.</source>
        <translation>„Prognose“ drücken, um Hardware zu vergleichen.</translation>
    </message>
    <message>
        <source>Forecast tokens per second over VRAM</source>
        <translation>Prognose der Tokens pro Sekunde nach VRAM</translation>
    </message>
    <message>
        <source>The speed over more and less VRAM.</source>
        <translation>Die Geschwindigkeit bei mehr und weniger VRAM.</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>Abgebrochen.</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>does not fit</source>
        <translation>passt nicht</translation>
    </message>
    <message>
        <source>%1, with the CPU of its own profile</source>
        <translation>%1, mit der CPU des eigenen Profils</translation>
    </message>
    <message>
        <source>forecast tokens/s</source>
        <translation>prognostizierte Tokens/s</translation>
    </message>
    <message>
        <source>forecast, %1</source>
        <translation>Prognose, %1</translation>
    </message>
    <message>
        <source>budget</source>
        <translation>Budget</translation>
    </message>
    <message>
        <source>%1 with %2 of VRAM: 1 GiB more would change nothing (forecast).</source>
        <translation>%1 mit %2 VRAM: 1 GiB mehr würde nichts ändern (Prognose).</translation>
    </message>
    <message>
        <source>%1 with %2 of VRAM: 1 GiB more would bring %3 tokens/s, from %4 to %5 (forecast).</source>
        <translation>%1 mit %2 VRAM: 1 GiB mehr brächte %3 Token/s, von %4 auf %5 (Prognose).</translation>
    </message>
    <message>
        <source>%1 ms</source>
        <translation>%1 ms</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
</context>
</TS>
