<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>Attachments</name>
    <message>
        <source>%1 is a folder: attach the files in it.</source>
        <translation>%1 ist ein Ordner: Hängen Sie die Dateien darin an.</translation>
    </message>
    <message>
        <source>%1 is not a regular file and cannot be attached.</source>
        <translation>%1 ist keine gewöhnliche Datei und kann nicht angehängt werden.</translation>
    </message>
    <message>
        <source>%1 is not there.</source>
        <translation>%1 ist nicht vorhanden.</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <translation>%1 kann nicht gelesen werden: %2.</translation>
    </message>
    <message>
        <source>%1 is too large to attach: it has %2, and up to %3 are read. Attach the part that matters.</source>
        <translation>%1 ist zu groß zum Anhängen: Die Datei hat %2, gelesen werden bis zu %3. Hängen Sie den Teil an, auf den es ankommt.</translation>
    </message>
    <message>
        <source>The text of %1 is in an encoding that cannot be told. Save it as UTF-8 and attach it again.</source>
        <translation>Die Zeichenkodierung von %1 ist nicht erkennbar. Speichern Sie die Datei als UTF-8 und hängen Sie sie noch einmal an.</translation>
    </message>
    <message>
        <source>%1 is empty.</source>
        <translation>%1 ist leer.</translation>
    </message>
    <message>
        <source>%1 was not attached: its reading was cancelled.</source>
        <translation>%1 wurde nicht angehängt: Das Lesen wurde abgebrochen.</translation>
    </message>
    <message>
        <source>%1 is not a text file. Text, source code, CSV, Markdown and PDF can be attached.</source>
        <translation>%1 ist keine Textdatei. Angehängt werden können Text, Quelltext, CSV, Markdown und PDF.</translation>
    </message>
</context>
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
    <message>
        <source>KV cache in %1 bits</source>
        <translation>KV-Cache in %1 Bit</translation>
    </message>
    <message>
        <source>measured loss at most %1 nats</source>
        <translation>gemessener Verlust höchstens %1 nat</translation>
    </message>
    <message>
        <source>quality: %1</source>
        <translation>Qualität: %1</translation>
    </message>
</context>
<context>
    <name>CachePlace</name>
    <message>
        <source>Nothing can be written to %1. Choose another folder.</source>
        <translation>Nach %1 kann nicht geschrieben werden. Wählen Sie einen anderen Ordner.</translation>
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
        <source>%1 cannot be written: %2.</source>
        <translation>%1 kann nicht geschrieben werden: %2.</translation>
    </message>
</context>
<context>
    <name>EngineText</name>
    <message>
        <source>%1: holds more than %2 JSON values; expected fewer</source>
        <comment>json_too_many_values</comment>
        <translation>%1: enthält mehr als %2 JSON-Werte; erwartet: weniger</translation>
    </message>
    <message>
        <source>%1: JSON nested deeper than %2 levels</source>
        <comment>json_too_deep</comment>
        <translation>%1: JSON ist tiefer als %2 Ebenen verschachtelt</translation>
    </message>
    <message>
        <source>%1: key %2 appears twice in one object; expected each key once</source>
        <comment>json_key_twice</comment>
        <translation>%1: Der Schlüssel %2 kommt in einem Objekt zweimal vor; erwartet: jeder Schlüssel einmal</translation>
    </message>
    <message>
        <source>%1: not valid JSON: a NUL byte at byte %2; expected text in UTF-8</source>
        <comment>json_nul_byte</comment>
        <translation>%1: kein gültiges JSON: ein NUL-Byte an Byte %2; erwartet: Text in UTF-8</translation>
    </message>
    <message>
        <source>%1: not valid JSON at byte %2; expected JSON in UTF-8</source>
        <comment>json_invalid</comment>
        <translation>%1: kein gültiges JSON an Byte %2; erwartet: JSON in UTF-8</translation>
    </message>
    <message>
        <source>%1: not valid JSON: a number out of range; expected numbers that fit 64 bits</source>
        <comment>json_number_out_of_range</comment>
        <translation>%1: kein gültiges JSON: eine Zahl außerhalb des Bereichs; erwartet: Zahlen, die in 64 Bit passen</translation>
    </message>
    <message>
        <source>%1: the file is %2; expected a JSON object</source>
        <comment>json_file_no_object</comment>
        <translation>%1: Die Datei ist %2; erwartet: ein JSON-Objekt</translation>
    </message>
    <message>
        <source>%1: %2 is %3; expected a JSON object</source>
        <comment>json_no_object</comment>
        <translation>%1: %2 ist %3; erwartet: ein JSON-Objekt</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; is missing; expected %3</source>
        <comment>field_missing</comment>
        <translation>%1: &quot;%2&quot; fehlt; erwartet: %3</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; is %3; expected %4</source>
        <comment>field_rejected</comment>
        <translation>%1: &quot;%2&quot; ist %3; erwartet: %4</translation>
    </message>
    <message>
        <source>a number from %1 to %2</source>
        <comment>a_number_in_range</comment>
        <translation>eine Zahl von %1 bis %2</translation>
    </message>
    <message>
        <source>an integer from %1 to %2</source>
        <comment>an_integer_in_range</comment>
        <translation>eine ganze Zahl von %1 bis %2</translation>
    </message>
    <message>
        <source>true or false</source>
        <comment>true_or_false</comment>
        <translation>true oder false</translation>
    </message>
    <message>
        <source>a text</source>
        <comment>a_text</comment>
        <translation>ein Text</translation>
    </message>
    <message>
        <source>a list of %1</source>
        <comment>a_list_of</comment>
        <translation>eine Liste von %1</translation>
    </message>
    <message>
        <source>an object</source>
        <comment>an_object</comment>
        <translation>ein Objekt</translation>
    </message>
    <message>
        <source>something else</source>
        <comment>something_else</comment>
        <translation>etwas anderes</translation>
    </message>
    <message>
        <source>%1: cannot be opened: %2</source>
        <comment>cannot_be_opened</comment>
        <translation>%1: lässt sich nicht öffnen: %2</translation>
    </message>
    <message>
        <source>%1: cannot be read: %2</source>
        <comment>cannot_be_read</comment>
        <translation>%1: lässt sich nicht lesen: %2</translation>
    </message>
    <message>
        <source>%1: cannot be mapped: %2</source>
        <comment>cannot_be_mapped</comment>
        <translation>%1: lässt sich nicht in den Speicher abbilden: %2</translation>
    </message>
    <message>
        <source>%1: cannot be examined: %2</source>
        <comment>cannot_be_examined</comment>
        <translation>%1: lässt sich nicht untersuchen: %2</translation>
    </message>
    <message>
        <source>%1: cannot be listed: %2</source>
        <comment>cannot_be_listed</comment>
        <translation>%1: lässt sich nicht auflisten: %2</translation>
    </message>
    <message>
        <source>%1: cannot be read.</source>
        <comment>profile_cannot_be_read</comment>
        <translation>%1: lässt sich nicht lesen.</translation>
    </message>
    <message>
        <source>%1: is a folder; expected a file</source>
        <comment>is_a_folder</comment>
        <translation>%1: ist ein Ordner; erwartet: eine Datei</translation>
    </message>
    <message>
        <source>%1: is not a regular file; expected a file</source>
        <comment>no_regular_file</comment>
        <translation>%1: ist keine gewöhnliche Datei; erwartet: eine Datei</translation>
    </message>
    <message>
        <source>%1: has %2 bytes; expected at most %3</source>
        <comment>file_too_large</comment>
        <translation>%1: hat %2 Bytes; erwartet: höchstens %3</translation>
    </message>
    <message>
        <source>%1: cannot be read: it has %2 bytes now and had %3 when it was opened; put the file back as it was.</source>
        <comment>file_changed_size</comment>
        <translation>%1: lässt sich nicht lesen: Die Datei hat jetzt %2 Bytes und hatte %3, als sie geöffnet wurde; bitte die Datei wiederherstellen, wie sie war.</translation>
    </message>
    <message>
        <source>%1: cannot be read: %2 at byte %3 or soon after it.</source>
        <comment>cannot_be_read_at_byte</comment>
        <translation>%1: lässt sich nicht lesen: %2 an Byte %3 oder kurz danach.</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <comment>text_file_cannot_be_read</comment>
        <translation>%1 lässt sich nicht lesen: %2.</translation>
    </message>
    <message>
        <source>%1 is not a file.</source>
        <comment>text_file_is_no_file</comment>
        <translation>%1 ist keine Datei.</translation>
    </message>
    <message>
        <source>%1 cannot be opened.</source>
        <comment>text_file_cannot_be_opened</comment>
        <translation>%1 lässt sich nicht öffnen.</translation>
    </message>
    <message>
        <source>%1 is larger than %2 bytes, the most that is read of such a file.</source>
        <comment>text_file_too_large</comment>
        <translation>%1 ist größer als %2 Bytes; mehr wird von einer solchen Datei nicht gelesen.</translation>
    </message>
    <message>
        <source>%1 could not be read to its end.</source>
        <comment>text_file_cut_short</comment>
        <translation>%1 ließ sich nicht bis zum Ende lesen.</translation>
    </message>
    <message>
        <source>%1 is not valid JSON.</source>
        <comment>text_file_no_json</comment>
        <translation>%1 ist kein gültiges JSON.</translation>
    </message>
    <message>
        <source>%1 must hold a JSON object.</source>
        <comment>text_file_no_json_object</comment>
        <translation>%1 muss ein JSON-Objekt enthalten.</translation>
    </message>
    <message>
        <source>%1: no such folder; expected a model&apos;s folder with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards</source>
        <comment>no_model_folder</comment>
        <translation>%1: kein solcher Ordner; erwartet: der Ordner eines Modells mit config.json, den Dateien des Tokenizers und model.safetensors oder model.safetensors.index.json mit seinen Teildateien</translation>
    </message>
    <message>
        <source>%1: is a file; expected the model&apos;s folder, with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards</source>
        <comment>model_folder_is_a_file</comment>
        <translation>%1: ist eine Datei; erwartet: der Ordner des Modells, mit config.json, den Dateien des Tokenizers und model.safetensors oder model.safetensors.index.json mit seinen Teildateien</translation>
    </message>
    <message>
        <source>a list with one name: %1</source>
        <comment>a_list_with_one_name</comment>
        <translation>eine Liste mit einem Namen: %1</translation>
    </message>
    <message>
        <source>&quot;%1&quot;, because &quot;architectures&quot; says %2</source>
        <comment>model_type_of_architecture</comment>
        <translation>&quot;%1&quot;, weil &quot;architectures&quot; %2 nennt</translation>
    </message>
    <message>
        <source>%1: &quot;model_type&quot; %2 is not supported; supported: %3</source>
        <comment>model_type_unsupported</comment>
        <translation>%1: &quot;model_type&quot; %2 wird nicht unterstützt; unterstützt: %3</translation>
    </message>
    <message>
        <source>%1: architecture %2 is not supported; supported: %3</source>
        <comment>architecture_unsupported</comment>
        <translation>%1: Die Architektur %2 wird nicht unterstützt; unterstützt: %3</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; is %3, which is not supported; expected %4</source>
        <comment>field_unsupported</comment>
        <translation>%1: &quot;%2&quot; ist %3; das wird nicht unterstützt; erwartet: %4</translation>
    </message>
    <message>
        <source>a quantized checkpoint</source>
        <comment>a_quantized_checkpoint</comment>
        <translation>ein quantisierter Checkpoint</translation>
    </message>
    <message>
        <source>an embedding for each layer</source>
        <comment>an_embedding_for_each_layer</comment>
        <translation>eine Einbettung für jede Schicht</translation>
    </message>
    <message>
        <source>keys and values that layers share</source>
        <comment>shared_keys_and_values</comment>
        <translation>Schlüssel und Werte, die Schichten sich teilen</translation>
    </message>
    <message>
        <source>null or &quot;vision&quot;</source>
        <comment>null_or_vision</comment>
        <translation>null oder &quot;vision&quot;</translation>
    </message>
    <message>
        <source>an object with &quot;rope_type&quot; and &quot;rope_theta&quot;</source>
        <comment>an_object_with_rope_type</comment>
        <translation>ein Objekt mit &quot;rope_type&quot; und &quot;rope_theta&quot;</translation>
    </message>
    <message>
        <source>%1: &quot;%2&quot; asks for rope type %3, which is not supported; expected &quot;default&quot;, &quot;linear&quot;, &quot;dynamic&quot;, &quot;yarn&quot;, &quot;longrope&quot;, &quot;llama3&quot; or &quot;proportional&quot;</source>
        <comment>rope_type_unsupported</comment>
        <translation>%1: &quot;%2&quot; verlangt den Rope-Typ %3; das wird nicht unterstützt; erwartet: &quot;default&quot;, &quot;linear&quot;, &quot;dynamic&quot;, &quot;yarn&quot;, &quot;longrope&quot;, &quot;llama3&quot; oder &quot;proportional&quot;</translation>
    </message>
    <message>
        <source>a number above &quot;low_freq_factor&quot;</source>
        <comment>a_number_above_low_freq_factor</comment>
        <translation>eine Zahl über &quot;low_freq_factor&quot;</translation>
    </message>
    <message>
        <source>%1: &quot;%2.%3 is an object: rotary positions that differ between layers are not supported; expected one set for all layers</source>
        <comment>rope_differs_between_layers</comment>
        <translation>%1: &quot;%2.%3 ist ein Objekt: Rotationspositionen, die sich je Schicht unterscheiden, werden nicht unterstützt; erwartet: ein Satz für alle Schichten</translation>
    </message>
    <message>
        <source>a token id from 0 to %1, a list of such ids, or null</source>
        <comment>a_token_id_or_list</comment>
        <translation>eine Token-ID von 0 bis %1, eine Liste solcher IDs, oder null</translation>
    </message>
    <message>
        <source>a token id from 0 to %1, a list of such ids, or null, but the list holds %2</source>
        <comment>a_token_id_or_list_but</comment>
        <translation>eine Token-ID von 0 bis %1, eine Liste solcher IDs, oder null; die Liste enthält aber %2</translation>
    </message>
    <message>
        <source>one token id, or null</source>
        <comment>one_token_id_or_null</comment>
        <translation>eine Token-ID, oder null</translation>
    </message>
    <message>
        <source>a divisor of %1 (%2); without the key it is %3</source>
        <comment>a_divisor_without_key</comment>
        <translation>ein Teiler von %1 (%2); ohne den Schlüssel gilt %3</translation>
    </message>
    <message>
        <source>an even number, for rotary positions</source>
        <comment>an_even_number_for_rope</comment>
        <translation>eine gerade Zahl, für Rotationspositionen</translation>
    </message>
    <message>
        <source>an even multiple of %1 (%2), or a &quot;head_dim&quot; beside it</source>
        <comment>an_even_multiple</comment>
        <translation>ein gerades Vielfaches von %1 (%2), oder ein &quot;head_dim&quot; daneben</translation>
    </message>
    <message>
        <source>%1: layers, experts, &quot;hidden_size&quot; and &quot;intermediate_size&quot; together make more than 2^60 weights; expected a model that fits a machine</source>
        <comment>model_too_large_to_count</comment>
        <translation>%1: Schichten, Experten, &quot;hidden_size&quot; und &quot;intermediate_size&quot; ergeben zusammen mehr als 2^60 Gewichte; erwartet: ein Modell, das in einen Computer passt</translation>
    </message>
    <message>
        <source>a list of at most %1 token ids</source>
        <comment>at_most_so_many_tokens</comment>
        <translation>eine Liste mit höchstens %1 Token-Nummern</translation>
    </message>
    <message>
        <source>%1: %2 layers with %3 experts each make %4 experts; expected at most %5 in all layers together</source>
        <comment>too_many_experts_in_all</comment>
        <translation>%1: %2 Schichten mit je %3 Experten ergeben %4 Experten; erwartet: höchstens %5 in allen Schichten zusammen</translation>
    </message>
    <message>
        <source>heads of more than two rotated values for &quot;dynamic&quot;</source>
        <comment>more_than_one_pair_for_dynamic</comment>
        <translation>bei &quot;dynamic&quot; Köpfe mit mehr als zwei gedrehten Werten</translation>
    </message>
    <message>
        <source>%1: &quot;rope_freqs.weight&quot; beside positions of type %2 is not supported; expected one of them</source>
        <comment>rope_factors_beside</comment>
        <translation>%1: &quot;rope_freqs.weight&quot; neben Positionen der Art %2 wird nicht unterstützt; erwartet: eines von beiden</translation>
    </message>
    <message>
        <source>%1: &quot;tie_word_embeddings&quot; is true, but tensor %2 has other values than %3. It is used as the output head, as transformers does.</source>
        <comment>tied_head_differs</comment>
        <translation>%1: &quot;tie_word_embeddings&quot; ist true, aber der Tensor %2 hat andere Werte als %3. Er wird als Ausgabekopf benutzt, wie in transformers.</translation>
    </message>
    <message>
        <source>Tensors of the model&apos;s layers are not used (%1, tensors: %2), the first is %3: config.json does not ask for them, and transformers leaves them out as well. If the model was trained with them, config.json lacks a field, such as &quot;attention_bias&quot;.</source>
        <comment>unused_layer_tensors</comment>
        <translation>Tensoren der Schichten des Modells werden nicht benutzt (%1, Tensoren: %2), der erste ist %3: config.json verlangt sie nicht, und auch transformers lässt sie weg. Wurde das Modell mit ihnen trainiert, so fehlt config.json ein Feld, etwa &quot;attention_bias&quot;.</translation>
    </message>
    <message>
        <source>The synthetic model&apos;s %1 is &quot;%2&quot;; expected a whole number from %3 to %4.</source>
        <comment>synthetic_option_out_of_range</comment>
        <translation>Beim synthetischen Modell ist %1 &quot;%2&quot;; erwartet: eine ganze Zahl von %3 bis %4.</translation>
    </message>
    <message>
        <source>There is no synthetic model &quot;%1&quot;; expected one of %2.</source>
        <comment>no_such_synthetic_model</comment>
        <translation>Es gibt kein synthetisches Modell &quot;%1&quot;; erwartet: eines von %2.</translation>
    </message>
    <message>
        <source>a divisor of the number of experts (%1)</source>
        <comment>a_divisor_of_experts</comment>
        <translation>ein Teiler der Zahl der Experten (%1)</translation>
    </message>
    <message>
        <source>a share of the %1 values of a head that is an even number</source>
        <comment>an_even_share_of_head</comment>
        <translation>ein Anteil der %1 Werte eines Kopfes, der eine gerade Zahl ergibt</translation>
    </message>
    <message>
        <source>a list of %1 numbers from 1e-6 to 1e6</source>
        <comment>a_list_of_rope_factors</comment>
        <translation>eine Liste von %1 Zahlen von 1e-6 bis 1e6</translation>
    </message>
    <message>
        <source>a list of %1 numbers from 1e-6 to 1e6, but the list holds %2</source>
        <comment>a_list_of_rope_factors_but</comment>
        <translation>eine Liste von %1 Zahlen von 1e-6 bis 1e6, aber die Liste enthält %2</translation>
    </message>
    <message>
        <source>2: SparseMixer chooses two</source>
        <comment>two_for_sparsemixer</comment>
        <translation>2: SparseMixer wählt zwei</translation>
    </message>
    <message>
        <source>a list of %1 times %2 or %3</source>
        <comment>a_list_of_layer_types</comment>
        <translation>eine Liste aus %1-mal %2 oder %3</translation>
    </message>
    <message>
        <source>a list of %1 times %2 or %3, but the list holds %4</source>
        <comment>a_list_of_layer_types_but</comment>
        <translation>eine Liste aus %1-mal %2 oder %3, aber die Liste enthält %4</translation>
    </message>
    <message>
        <source>a model with at least one layer of &quot;full_attention&quot;</source>
        <comment>a_model_with_full_attention</comment>
        <translation>ein Modell mit mindestens einer Schicht &quot;full_attention&quot;</translation>
    </message>
    <message>
        <source>1 or null</source>
        <comment>one_or_null</comment>
        <translation>1 oder null</translation>
    </message>
    <message>
        <source>The positions of this model change beyond %1 tokens, so a context of %2 cannot be had while it is loaded; load it again with that context.</source>
        <comment>positions_change_beyond</comment>
        <translation>Die Positionen dieses Modells ändern sich ab %1 Tokens; ein Kontext von %2 ist deshalb nicht möglich, solange es geladen ist. Laden Sie es mit diesem Kontext neu.</translation>
    </message>
    <message>
        <source>as many groups as hold &quot;num_experts_per_tok&quot; (%1) experts</source>
        <comment>as_many_groups_as_hold</comment>
        <translation>so viele Gruppen, dass sie &quot;num_experts_per_tok&quot; (%1) Experten enthalten</translation>
    </message>
    <message>
        <source>a number above 1 for rope type &quot;yarn&quot;</source>
        <comment>a_number_above_one_for_yarn</comment>
        <translation>eine Zahl über 1 für den Rope-Typ &quot;yarn&quot;</translation>
    </message>
    <message>
        <source>a list of layers from 0 to %1</source>
        <comment>a_list_of_layers</comment>
        <translation>eine Liste von Schichten von 0 bis %1</translation>
    </message>
    <message>
        <source>a list of layers from 0 to %1, but the list holds %2</source>
        <comment>a_list_of_layers_but</comment>
        <translation>eine Liste von Schichten von 0 bis %1, die Liste enthält aber %2</translation>
    </message>
    <message>
        <source>%1: no layer has experts; expected a Mixture-of-Experts model</source>
        <comment>no_layer_has_experts</comment>
        <translation>%1: keine Schicht hat Experten; erwartet: ein Mixture-of-Experts-Modell</translation>
    </message>
    <message>
        <source>one of %1</source>
        <comment>one_of</comment>
        <translation>eines von %1</translation>
    </message>
    <message>
        <source>A synthetic model has no option &quot;%1&quot;; expected layers=N, active=A, window=W, vocab=V, type=T or seed=S.</source>
        <comment>no_such_synthetic_option</comment>
        <translation>Ein synthetisches Modell hat keine Option &quot;%1&quot;; erwartet: layers=N, active=A, window=W, vocab=V, type=T oder seed=S.</translation>
    </message>
    <message>
        <source>A synthetic model&apos;s type is &quot;%1&quot;; expected one of %2.</source>
        <comment>no_such_synthetic_type</comment>
        <translation>Der Typ des synthetischen Modells ist &quot;%1&quot;; erwartet: einer von %2.</translation>
    </message>
    <message>
        <source>%1 has blocks of %2 weights, and the experts of %3 have rows of %4 and %5; expected a type whose blocks fit.</source>
        <comment>synthetic_type_does_not_fit</comment>
        <translation>%1 hat Blöcke von %2 Gewichten, und die Experten von %3 haben Zeilen von %4 und %5; erwartet: ein Typ, dessen Blöcke passen.</translation>
    </message>
    <message>
        <source>Latent attention has no window; expected a synthetic model without it, not %1.</source>
        <comment>no_window_with_latent_attention</comment>
        <translation>Latente Aufmerksamkeit hat kein Fenster; erwartet: ein synthetisches Modell ohne sie, nicht %1.</translation>
    </message>
    <message>
        <source>%1: holds no weights; expected model.safetensors, or model.safetensors.index.json with its shards, or one *.safetensors file</source>
        <comment>no_weights</comment>
        <translation>%1: enthält keine Gewichte; erwartet: model.safetensors, oder model.safetensors.index.json mit seinen Teildateien, oder eine einzige *.safetensors-Datei</translation>
    </message>
    <message>
        <source>%1: holds %2 *.safetensors files (%3 ...) and no model.safetensors.index.json; expected model.safetensors, or model.safetensors.index.json with its shards, or one *.safetensors file</source>
        <comment>many_safetensors_no_index</comment>
        <translation>%1: enthält %2 *.safetensors-Dateien (%3 ...) und kein model.safetensors.index.json; erwartet: model.safetensors, oder model.safetensors.index.json mit seinen Teildateien, oder eine einzige *.safetensors-Datei</translation>
    </message>
    <message>
        <source>%1: no such file or folder; expected a model&apos;s folder or a *.safetensors file</source>
        <comment>no_such_checkpoint</comment>
        <translation>%1: keine solche Datei, kein solcher Ordner; erwartet: der Ordner eines Modells oder eine *.safetensors-Datei</translation>
    </message>
    <message>
        <source>%1: not enough memory for the list of its tensors</source>
        <comment>no_memory_for_tensor_list</comment>
        <translation>%1: nicht genug Speicher für die Liste seiner Tensoren</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing; expected it with shape %3</source>
        <comment>tensor_missing</comment>
        <translation>%1: Der Tensor %2 fehlt; erwartet mit der Form %3</translation>
    </message>
    <message>
        <source>%1: tensor %2 has shape %3; expected %4</source>
        <comment>tensor_shape_differs</comment>
        <translation>%1: Der Tensor %2 hat die Form %3; erwartet: %4</translation>
    </message>
    <message>
        <source>%1: tensor %2 does not begin at a multiple of %3 bytes; expected an aligned file, as current writers make</source>
        <comment>tensor_not_aligned</comment>
        <translation>%1: Der Tensor %2 beginnt nicht an einem Vielfachen von %3 Bytes; erwartet: eine ausgerichtete Datei, wie heutige Programme sie schreiben</translation>
    </message>
    <message>
        <source>%1: became shorter while it was opened; expected a file that nobody writes to</source>
        <comment>file_became_shorter</comment>
        <translation>%1: wurde kürzer, während sie geöffnet wurde; erwartet: eine Datei, in die niemand schreibt</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing; expected it here, because %3 says so</source>
        <comment>tensor_missing_by_index</comment>
        <translation>%1: Der Tensor %2 fehlt; erwartet hier, weil %3 es so angibt</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing; expected it here, because %3 says so (and %4 more)</source>
        <comment>tensors_missing_by_index</comment>
        <translation>%1: Der Tensor %2 fehlt; erwartet hier, weil %3 es so angibt (und %4 weitere)</translation>
    </message>
    <message>
        <source>%1: is missing; expected it, because %2 names it for tensor %3 (%4 in all)</source>
        <comment>shard_missing</comment>
        <translation>%1: fehlt; erwartet, weil %2 die Datei für den Tensor %3 nennt (%4 insgesamt)</translation>
    </message>
    <message>
        <source>an object that gives the file of each tensor</source>
        <comment>an_object_of_tensor_files</comment>
        <translation>ein Objekt, das die Datei jedes Tensors angibt</translation>
    </message>
    <message>
        <source>%1: &quot;weight_map&quot;: the file of tensor %2 is %3; expected the name of a file in the same folder</source>
        <comment>shard_name_invalid</comment>
        <translation>%1: &quot;weight_map&quot;: Die Datei des Tensors %2 ist %3; erwartet: der Name einer Datei im selben Ordner</translation>
    </message>
    <message>
        <source>%1: says that its header has %2 bytes; expected a safetensors header of at most %3</source>
        <comment>safetensors_header_too_long</comment>
        <translation>%1: gibt für den Kopf %2 Bytes an; erwartet: ein safetensors-Kopf von höchstens %3</translation>
    </message>
    <message>
        <source>%1 (it looks like a Git LFS pointer: fetch the file itself, &quot;git lfs pull&quot;)</source>
        <comment>looks_like_lfs_pointer</comment>
        <translation>%1 (es sieht nach einem Git-LFS-Verweis aus: die Datei selbst holen, &quot;git lfs pull&quot;)</translation>
    </message>
    <message>
        <source>%1 (it looks like a GGUF file)</source>
        <comment>looks_like_gguf</comment>
        <translation>%1 (es sieht nach einer GGUF-Datei aus)</translation>
    </message>
    <message>
        <source>%1 (it looks like a PyTorch or zip file)</source>
        <comment>looks_like_pytorch</comment>
        <translation>%1 (es sieht nach einer PyTorch- oder zip-Datei aus)</translation>
    </message>
    <message>
        <source>%1 (it looks like a web page)</source>
        <comment>looks_like_web_page</comment>
        <translation>%1 (es sieht nach einer Webseite aus)</translation>
    </message>
    <message>
        <source>%1: has a size in bytes of %2 after its header; expected %3, which its tensors take</source>
        <comment>safetensors_data_left_over</comment>
        <translation>%1: Nach dem Kopf folgen %2 Bytes; erwartet: %3, so viele belegen die Tensoren</translation>
    </message>
    <message>
        <source>%1: the safetensors header begins with %2; expected &quot;{&quot;</source>
        <comment>safetensors_header_begins</comment>
        <translation>%1: Der safetensors-Kopf beginnt mit %2; erwartet: &quot;{&quot;</translation>
    </message>
    <message>
        <source>%1: the safetensors header is not valid JSON: a NUL byte at byte %2 of the header; expected JSON in UTF-8</source>
        <comment>safetensors_header_nul_byte</comment>
        <translation>%1: Der safetensors-Kopf ist kein gültiges JSON: ein NUL-Byte an Byte %2 des Kopfes; erwartet: JSON in UTF-8</translation>
    </message>
    <message>
        <source>%1: the safetensors header is not valid JSON at byte %2 of the header; expected JSON in UTF-8</source>
        <comment>safetensors_header_invalid</comment>
        <translation>%1: Der safetensors-Kopf ist kein gültiges JSON an Byte %2 des Kopfes; erwartet: JSON in UTF-8</translation>
    </message>
    <message>
        <source>%1: the safetensors header is %2; expected a JSON object of tensors</source>
        <comment>safetensors_header_no_object</comment>
        <translation>%1: Der safetensors-Kopf ist %2; erwartet: ein JSON-Objekt aus Tensoren</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot; appears twice; expected once</source>
        <comment>metadata_twice</comment>
        <translation>%1: &quot;__metadata__&quot; kommt zweimal vor; erwartet: einmal</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot; has the key %2 twice; expected once</source>
        <comment>metadata_key_twice</comment>
        <translation>%1: &quot;__metadata__&quot; enthält den Schlüssel %2 zweimal; erwartet: einmal</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot; is %2; expected an object of texts</source>
        <comment>metadata_no_object</comment>
        <translation>%1: &quot;__metadata__&quot; ist %2; erwartet: ein Objekt aus Texten</translation>
    </message>
    <message>
        <source>%1: &quot;__metadata__&quot;: key %2 is %3; expected a text</source>
        <comment>metadata_value_no_text</comment>
        <translation>%1: &quot;__metadata__&quot;: Der Schlüssel %2 ist %3; erwartet: ein Text</translation>
    </message>
    <message>
        <source>%1: tensor %2 appears twice; expected each name once</source>
        <comment>tensor_twice</comment>
        <translation>%1: Der Tensor %2 kommt zweimal vor; erwartet: jeder Name einmal</translation>
    </message>
    <message>
        <source>%1: tensor %2 has %3 twice; expected once</source>
        <comment>tensor_field_twice</comment>
        <translation>%1: Der Tensor %2 hat %3 zweimal; erwartet: einmal</translation>
    </message>
    <message>
        <source>%1: tensor %2: dtype %3 is not known; expected one of the safetensors format, such as &quot;BF16&quot;, &quot;F16&quot; or &quot;F32&quot;</source>
        <comment>tensor_type_unknown</comment>
        <translation>%1: Tensor %2: Der Datentyp %3 ist nicht bekannt; erwartet: einer des safetensors-Formats, etwa &quot;BF16&quot;, &quot;F16&quot; oder &quot;F32&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 has a field %3; expected only &quot;dtype&quot;, &quot;shape&quot; and &quot;data_offsets&quot;</source>
        <comment>tensor_field_unknown</comment>
        <translation>%1: Der Tensor %2 hat ein Feld %3; erwartet: nur &quot;dtype&quot;, &quot;shape&quot; und &quot;data_offsets&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 has no &quot;dtype&quot;; expected one, such as &quot;BF16&quot;</source>
        <comment>tensor_without_dtype</comment>
        <translation>%1: Der Tensor %2 hat kein &quot;dtype&quot;; erwartet: eines, etwa &quot;BF16&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 has no &quot;shape&quot;; expected a list of integers</source>
        <comment>tensor_without_shape</comment>
        <translation>%1: Der Tensor %2 hat keine &quot;shape&quot;; erwartet: eine Liste ganzer Zahlen</translation>
    </message>
    <message>
        <source>%1: tensor %2 has no &quot;data_offsets&quot;; expected [begin, end]</source>
        <comment>tensor_without_offsets</comment>
        <translation>%1: Der Tensor %2 hat keine &quot;data_offsets&quot;; erwartet: [Anfang, Ende]</translation>
    </message>
    <message>
        <source>%1: tensor %2 is %3; expected an object with &quot;dtype&quot;, &quot;shape&quot; and &quot;data_offsets&quot;</source>
        <comment>tensor_no_object</comment>
        <translation>%1: Der Tensor %2 ist %3; erwartet: ein Objekt mit &quot;dtype&quot;, &quot;shape&quot; und &quot;data_offsets&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;dtype&quot; is %3; expected a text such as &quot;BF16&quot;</source>
        <comment>tensor_dtype_no_text</comment>
        <translation>%1: Tensor %2: &quot;dtype&quot; ist %3; erwartet: ein Text wie &quot;BF16&quot;</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;shape&quot; is %3; expected a list of integers</source>
        <comment>tensor_shape_no_list</comment>
        <translation>%1: Tensor %2: &quot;shape&quot; ist %3; erwartet: eine Liste ganzer Zahlen</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;shape&quot; holds %3; expected integers from 0 to 2^63-1</source>
        <comment>tensor_shape_value</comment>
        <translation>%1: Tensor %2: &quot;shape&quot; enthält %3; erwartet: ganze Zahlen von 0 bis 2^63-1</translation>
    </message>
    <message>
        <source>%1: tensor %2 &quot;data_offsets&quot; is or holds %3; expected a list of 2 integers from 0 to 2^64-1</source>
        <comment>tensor_offsets_invalid</comment>
        <translation>%1: Tensor %2: &quot;data_offsets&quot; ist oder enthält %3; erwartet: eine Liste von 2 ganzen Zahlen von 0 bis 2^64-1</translation>
    </message>
    <message>
        <source>%1: tensor %2 has more than %3 dimensions; expected fewer</source>
        <comment>tensor_too_many_dims</comment>
        <translation>%1: Der Tensor %2 hat mehr als %3 Dimensionen; erwartet: weniger</translation>
    </message>
    <message>
        <source>%1: tensor %2 has &quot;data_offsets&quot; [%3, %4]; expected an end that is not before the begin</source>
        <comment>tensor_offsets_reversed</comment>
        <translation>%1: Der Tensor %2 hat &quot;data_offsets&quot; [%3, %4]; erwartet: ein Ende, das nicht vor dem Anfang liegt</translation>
    </message>
    <message>
        <source>%1: tensor %2 has shape %3; expected one whose bytes fit 64 bits</source>
        <comment>tensor_too_many_bytes</comment>
        <translation>%1: Der Tensor %2 hat die Form %3; erwartet: eine, deren Bytes in 64 Bit passen</translation>
    </message>
    <message>
        <source>%1: tensor %2 has shape %3 and dtype %4; expected a whole number of bytes</source>
        <comment>tensor_no_whole_bytes</comment>
        <translation>%1: Der Tensor %2 hat die Form %3 und den Datentyp %4; erwartet: eine ganze Zahl von Bytes</translation>
    </message>
    <message>
        <source>%1: tensor %2 has a size in bytes of %3 by its &quot;data_offsets&quot;; expected %4 by its shape %5 and dtype %6</source>
        <comment>tensor_bytes_differ</comment>
        <translation>%1: Der Tensor %2 hat laut seinen &quot;data_offsets&quot; %3 Bytes; erwartet: %4, wie seine Form %5 und der Datentyp %6 ergeben</translation>
    </message>
    <message>
        <source>%1: tensor %2 overlaps the one before it: its data begins at %3; expected %4</source>
        <comment>tensor_overlaps</comment>
        <translation>%1: Der Tensor %2 überlappt den vorigen: Seine Daten beginnen an %3; erwartet: %4</translation>
    </message>
    <message>
        <source>%1: tensor %2 leaves a hole: its data begins at %3; expected %4</source>
        <comment>tensor_leaves_hole</comment>
        <translation>%1: Der Tensor %2 lässt eine Lücke: Seine Daten beginnen an %3; erwartet: %4</translation>
    </message>
    <message>
        <source>binary data</source>
        <comment>binary_data</comment>
        <translation>Binärdaten</translation>
    </message>
    <message>
        <source>a list</source>
        <comment>a_list</comment>
        <translation>eine Liste</translation>
    </message>
    <message>
        <source>a list of more than 2</source>
        <comment>a_list_of_more_than_two</comment>
        <translation>eine Liste von mehr als 2</translation>
    </message>
    <message>
        <source>%1 has no room for %2: %3 were asked for, %4 are left of the budget of %5.</source>
        <comment>no_room</comment>
        <translation>%1 hat keinen Platz für: %2. Angefordert: %3; vom Budget von %5 sind noch %4 übrig.</translation>
    </message>
    <message>
        <source>%1 has no room for %2: %3 were asked for and not given, although %4 of the budget of %5 are left: other programs or a limit (ulimit, container) hold the rest. Close programs, raise the limit or lower the budget.</source>
        <comment>no_room_given</comment>
        <translation>%1 hat keinen Platz für: %2. Angefordert und nicht bekommen: %3, obwohl vom Budget von %5 noch %4 übrig sind; den Rest halten andere Programme oder eine Grenze (ulimit, Container). Bitte Programme schließen, die Grenze anheben oder das Budget verringern.</translation>
    </message>
    <message>
        <source>%1 has no room for copies on demand: %2</source>
        <comment>no_room_for_copies</comment>
        <translation>%1 hat keinen Platz für Kopien bei Bedarf: %2</translation>
    </message>
    <message>
        <source>A budget of %1 is too small for %2: %3 are in use.</source>
        <comment>budget_below_use</comment>
        <translation>Ein Budget von %1 ist zu klein für %2: %3 sind belegt.</translation>
    </message>
    <message>
        <source>There is no memory for %1: %2 were asked for. Close other programs or choose a smaller model.</source>
        <comment>no_memory_for</comment>
        <translation>Es fehlt Speicher für: %1. Angefordert: %2. Bitte andere Programme schließen oder ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>an expert</source>
        <comment>an_expert</comment>
        <translation>ein Experte</translation>
    </message>
    <message>
        <source>experts on their way</source>
        <comment>experts_on_their_way</comment>
        <translation>Experten auf dem Weg</translation>
    </message>
    <message>
        <source>experts read from disk</source>
        <comment>experts_read_from_disk</comment>
        <translation>vom Datenträger gelesene Experten</translation>
    </message>
    <message>
        <source>packing experts</source>
        <comment>packing_experts</comment>
        <translation>das Packen von Experten</translation>
    </message>
    <message>
        <source>the dense weights</source>
        <comment>the_dense_weights</comment>
        <translation>die dichten Gewichte</translation>
    </message>
    <message>
        <source>routing</source>
        <comment>routing</comment>
        <translation>Routing</translation>
    </message>
    <message>
        <source>guesses</source>
        <comment>guesses</comment>
        <translation>Prognosen</translation>
    </message>
    <message>
        <source>activations</source>
        <comment>activations</comment>
        <translation>Aktivierungen</translation>
    </message>
    <message>
        <source>dense weights</source>
        <comment>dense_weights</comment>
        <translation>dichte Gewichte</translation>
    </message>
    <message>
        <source>dense weights in fewer bits</source>
        <comment>dense_weights_in_fewer_bits</comment>
        <translation>dichte Gewichte in weniger Bits</translation>
    </message>
    <message>
        <source>a layer&apos;s intermediate results</source>
        <comment>intermediate_results</comment>
        <translation>Zwischenergebnisse einer Schicht</translation>
    </message>
    <message>
        <source>rows of a dense network</source>
        <comment>rows_of_a_dense_network</comment>
        <translation>Zeilen eines dichten Netzes</translation>
    </message>
    <message>
        <source>&quot;softmax&quot; or &quot;sigmoid&quot;</source>
        <comment>softmax_or_sigmoid</comment>
        <translation>&quot;softmax&quot; oder &quot;sigmoid&quot;</translation>
    </message>
    <message>
        <source>&quot;greedy&quot;, &quot;group_limited_greedy&quot; or &quot;noaux_tc&quot;</source>
        <comment>topk_methods</comment>
        <translation>&quot;greedy&quot;, &quot;group_limited_greedy&quot; oder &quot;noaux_tc&quot;</translation>
    </message>
    <message>
        <source>the experts&apos; inputs</source>
        <comment>expert_inputs</comment>
        <translation>die Eingaben der Experten</translation>
    </message>
    <message>
        <source>the experts&apos; outputs</source>
        <comment>expert_outputs</comment>
        <translation>die Ausgaben der Experten</translation>
    </message>
    <message>
        <source>a step&apos;s inputs</source>
        <comment>step_inputs</comment>
        <translation>die Eingaben eines Schritts</translation>
    </message>
    <message>
        <source>the scratch memory of a step</source>
        <comment>step_scratch_memory</comment>
        <translation>der Arbeitsspeicher eines Schritts</translation>
    </message>
    <message>
        <source>the KV cache (%1 there in all)</source>
        <comment>kv_cache_of_all</comment>
        <translation>der KV-Cache (dort insgesamt %1)</translation>
    </message>
    <message>
        <source>calibration</source>
        <comment>calibration</comment>
        <translation>Kalibrierung</translation>
    </message>
    <message>
        <source>measuring</source>
        <comment>measuring</comment>
        <translation>das Messen</translation>
    </message>
    <message>
        <source>Measuring the memory&apos;s bandwidth</source>
        <comment>measuring_memory_bandwidth</comment>
        <translation>Das Messen der Speicherbandbreite</translation>
    </message>
    <message>
        <source>Quantizing an expert</source>
        <comment>quantizing_an_expert</comment>
        <translation>Das Quantisieren eines Experten</translation>
    </message>
    <message>
        <source>buffers on the way to the GPU&apos;s quantizer</source>
        <comment>gpu_quantizer_buffers</comment>
        <translation>Puffer auf dem Weg zum Quantisierer der GPU</translation>
    </message>
    <message>
        <source>There is no device %1; expected cpu, cuda, cuda:N or emulated:PROFILE.</source>
        <comment>no_such_device</comment>
        <translation>Es gibt kein Gerät %1; erwartet: cpu, cuda, cuda:N oder emulated:PROFILE.</translation>
    </message>
    <message>
        <source>OFFSTAGE_ISA is &quot;%1&quot;; expected one that this processor has and this Offstage was compiled for: %2. -DOFFSTAGE_INSTRUCTION_SETS=all compiles it for all.</source>
        <comment>no_such_instruction_set</comment>
        <translation>OFFSTAGE_ISA ist „%1“; erwartet: einer, den dieser Prozessor hat und für den dieses Offstage kompiliert wurde: %2. -DOFFSTAGE_INSTRUCTION_SETS=all kompiliert es für alle.</translation>
    </message>
    <message>
        <source>This Offstage was compiled for another processor: it computes with %1 where this one has %2, and is slower for it. installer/run compiles it for this one.</source>
        <comment>compiled_for_another_processor</comment>
        <translation>Dieses Offstage wurde für einen anderen Prozessor kompiliert: Es rechnet mit %1, wo dieser %2 hat, und ist deshalb langsamer. installer/run kompiliert es für diesen.</translation>
    </message>
    <message>
        <source>OFFSTAGE_THREADS is &quot;%1&quot;; expected a number from 1 to 1024.</source>
        <comment>threads_variable_invalid</comment>
        <translation>OFFSTAGE_THREADS ist „%1“; erwartet: eine Zahl von 1 bis 1024.</translation>
    </message>
    <message>
        <source>%1 has %2 in all, less than the %3 asked for.</source>
        <comment>device_memory_too_small</comment>
        <translation>%1 hat insgesamt %2, weniger als die verlangten %3.</translation>
    </message>
    <message>
        <source>%1 has %2 free, less than the %3 asked for.</source>
        <comment>device_memory_not_free</comment>
        <translation>Auf %1 sind %2 frei, weniger als die verlangten %3.</translation>
    </message>
    <message>
        <source>The device %1 cannot be opened: %2.</source>
        <comment>device_cannot_be_opened</comment>
        <translation>Das Gerät %1 lässt sich nicht öffnen: %2.</translation>
    </message>
    <message>
        <source>this machine shows %1 NVIDIA GPU(s), counted from 0</source>
        <comment>machine_has_gpus</comment>
        <translation>dieser Computer zeigt %1 NVIDIA-GPU(s), gezählt ab 0</translation>
    </message>
    <message>
        <source>it is not described: %1</source>
        <comment>gpu_not_described</comment>
        <translation>es wird nicht beschrieben: %1</translation>
    </message>
    <message>
        <source>%1 has compute capability %2.%3, and 7.5 is the least that Offstage serves</source>
        <comment>gpu_too_old</comment>
        <translation>%1 hat die Compute Capability %2.%3, und Offstage braucht mindestens 7.5</translation>
    </message>
    <message>
        <source>%1 does not open: %2</source>
        <comment>gpu_does_not_open</comment>
        <translation>%1 lässt sich nicht öffnen: %2</translation>
    </message>
    <message>
        <source>no NVIDIA driver is loaded</source>
        <comment>no_nvidia_driver</comment>
        <translation>kein NVIDIA-Treiber ist geladen</translation>
    </message>
    <message>
        <source>the NVIDIA driver serves CUDA %1, and this Offstage was built with %2</source>
        <comment>nvidia_driver_too_old</comment>
        <translation>der NVIDIA-Treiber unterstützt CUDA %1, und dieses Offstage wurde mit %2 gebaut</translation>
    </message>
    <message>
        <source>the NVIDIA driver shows no GPU</source>
        <comment>nvidia_driver_shows_no_gpu</comment>
        <translation>der NVIDIA-Treiber zeigt keine GPU</translation>
    </message>
    <message>
        <source>the NVIDIA driver reports: %1</source>
        <comment>nvidia_driver_reports</comment>
        <translation>der NVIDIA-Treiber meldet: %1</translation>
    </message>
    <message>
        <source>the NVIDIA driver does not describe its GPUs</source>
        <comment>nvidia_driver_describes_nothing</comment>
        <translation>der NVIDIA-Treiber beschreibt seine GPUs nicht</translation>
    </message>
    <message>
        <source>The GPU cannot be selected any more.</source>
        <comment>gpu_cannot_be_selected</comment>
        <translation>Die GPU lässt sich nicht mehr auswählen.</translation>
    </message>
    <message>
        <source>The GPU answers no more: %1. Offstage has to be started again.</source>
        <comment>gpu_answers_no_more</comment>
        <translation>Die GPU antwortet nicht mehr: %1. Offstage muss neu gestartet werden.</translation>
    </message>
    <message>
        <source>The attention kernels serve keys of up to 576 numbers and values of up to 512; this model has %1 and %2.</source>
        <comment>attention_too_wide_for_gpu</comment>
        <translation>Die Attention-Kernel unterstützen Schlüssel bis 576 Zahlen und Werte bis 512; dieses Modell hat %1 und %2.</translation>
    </message>
    <message>
        <source>The router&apos;s kernel serves up to 4096 experts, all different, in up to 64 groups.</source>
        <comment>router_too_large_for_gpu</comment>
        <translation>Der Router-Kernel unterstützt bis zu 4096 Experten, alle verschieden, in bis zu 64 Gruppen.</translation>
    </message>
    <message>
        <source>%1 failed while it computed: %2 The next answer may succeed.</source>
        <comment>device_failed_once</comment>
        <translation>%1 ist beim Rechnen gescheitert: %2 Die nächste Antwort kann gelingen.</translation>
    </message>
    <message>
        <source>%1 failed while it computed: %2 Load the model again, or choose another device.</source>
        <comment>device_failed_for_good</comment>
        <translation>%1 ist beim Rechnen gescheitert: %2 Bitte das Modell neu laden oder ein anderes Gerät wählen.</translation>
    </message>
    <message>
        <source>Copying the dense weights to %1 failed: %2</source>
        <comment>copying_dense_weights_failed</comment>
        <translation>Die dichten Gewichte ließen sich nicht auf %1 kopieren: %2</translation>
    </message>
    <message>
        <source>Copying the experts to %1 failed: %2</source>
        <comment>copying_experts_failed</comment>
        <translation>Die Experten ließen sich nicht auf %1 kopieren: %2</translation>
    </message>
    <message>
        <source>There is no hardware profile %1.</source>
        <comment>no_such_profile</comment>
        <translation>Es gibt kein Hardwareprofil %1.</translation>
    </message>
    <message>
        <source>There is no hardware profile %1; none was found in %2.</source>
        <comment>no_such_profile_none_in</comment>
        <translation>Es gibt kein Hardwareprofil %1; in %2 wurde keines gefunden.</translation>
    </message>
    <message>
        <source>There is no hardware profile %1; there are %2, or name a .json file.</source>
        <comment>no_such_profile_there_are</comment>
        <translation>Es gibt kein Hardwareprofil %1; es gibt %2; auch eine .json-Datei lässt sich nennen.</translation>
    </message>
    <message>
        <source>There is no hardware profile to make forecasts with; expected one in %1.</source>
        <comment>no_profile_for_forecasts</comment>
        <translation>Es gibt kein Hardwareprofil, mit dem sich Prognosen machen lassen; erwartet: eines in %1.</translation>
    </message>
    <message>
        <source>%1: %2 is no key of a hardware profile; expected one of %3</source>
        <comment>profile_key_unknown</comment>
        <translation>%1: %2 ist kein Schlüssel eines Hardwareprofils; erwartet: einer von %3</translation>
    </message>
    <message>
        <source>%1: larger than 1 MiB; expected a hardware profile</source>
        <comment>profile_too_large</comment>
        <translation>%1: größer als 1 MiB; erwartet: ein Hardwareprofil</translation>
    </message>
    <message>
        <source>a text that is not empty</source>
        <comment>a_text_not_empty</comment>
        <translation>ein Text, der nicht leer ist</translation>
    </message>
    <message>
        <source>at least what the CPU reads alone (read_gbps)</source>
        <comment>at_least_the_cpus_rate</comment>
        <translation>mindestens, was die CPU allein liest (read_gbps)</translation>
    </message>
    <message>
        <source>Drawing weights</source>
        <comment>drawing_weights</comment>
        <translation>Gewichte werden erzeugt</translation>
    </message>
    <message>
        <source>Packing weights</source>
        <comment>packing_weights</comment>
        <translation>Gewichte werden gepackt</translation>
    </message>
    <message>
        <source>Measuring this machine</source>
        <comment>measuring_this_machine</comment>
        <translation>Dieser Computer wird gemessen</translation>
    </message>
    <message>
        <source>Measuring what fewer bits cost</source>
        <comment>measuring_what_fewer_bits_cost</comment>
        <translation>Was weniger Bits kosten, wird gemessen</translation>
    </message>
    <message>
        <source>Loading was cancelled.</source>
        <comment>loading_cancelled</comment>
        <translation>Das Laden wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Packing an expert was cancelled.</source>
        <comment>packing_cancelled</comment>
        <translation>Das Packen eines Experten wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Quantizing was cancelled.</source>
        <comment>quantizing_cancelled</comment>
        <translation>Das Quantisieren wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Measuring the disk was cancelled.</source>
        <comment>measuring_disk_cancelled</comment>
        <translation>Das Messen des Datenträgers wurde abgebrochen.</translation>
    </message>
    <message>
        <source>Measuring the quantization was cancelled.</source>
        <comment>measuring_quantization_cancelled</comment>
        <translation>Das Messen der Quantisierung wurde abgebrochen.</translation>
    </message>
    <message>
        <source>The calibration was cancelled.</source>
        <comment>calibration_cancelled</comment>
        <translation>Die Kalibrierung wurde abgebrochen.</translation>
    </message>
    <message>
        <source>%1 failed while it was being calibrated: %2</source>
        <comment>device_failed_in_calibration</comment>
        <translation>%1 ist bei der Kalibrierung gescheitert: %2</translation>
    </message>
    <message>
        <source>%1 refused to copy an expert while it was being calibrated.</source>
        <comment>device_refused_copy_in_calibration</comment>
        <translation>%1 hat bei der Kalibrierung die Kopie eines Experten verweigert.</translation>
    </message>
    <message>
        <source>There is no memory for the calibration&apos;s activations.</source>
        <comment>no_memory_for_calibration</comment>
        <translation>Es fehlt Speicher für die Aktivierungen der Kalibrierung.</translation>
    </message>
    <message>
        <source>%1 needs %2 of memory, but only %3 are free: %4 too little. Close other programs or choose a smaller model.</source>
        <comment>memory_not_free</comment>
        <translation>%1: Dafür sind %2 Speicher nötig, frei sind aber nur %3: %4 zu wenig. Bitte andere Programme schließen oder ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>A VRAM budget was given, but the device is the CPU; name a GPU as the device, or limit RAM.</source>
        <comment>vram_budget_without_gpu</comment>
        <translation>Es wurde ein VRAM-Budget angegeben, das Gerät ist aber die CPU; bitte eine GPU als Gerät nennen oder das RAM begrenzen.</translation>
    </message>
    <message>
        <source>A VRAM budget was given, but the device is the CPU; name RAM.</source>
        <comment>vram_budget_without_gpu_now</comment>
        <translation>Es wurde ein VRAM-Budget angegeben, das Gerät ist aber die CPU; bitte ein RAM-Budget nennen.</translation>
    </message>
    <message>
        <source>The RAM budget is %1, but only %2 are free; lower it.</source>
        <comment>ram_budget_not_free</comment>
        <translation>Das RAM-Budget ist %1, frei sind aber nur %2; bitte verringern.</translation>
    </message>
    <message>
        <source>The RAM budget is %1, but only %2 are there; lower it.</source>
        <comment>ram_budget_not_there</comment>
        <translation>Das RAM-Budget ist %1, vorhanden sind aber nur %2; bitte verringern.</translation>
    </message>
    <message>
        <source>The model takes %1 of RAM and %2 are free: little is left for anything else.</source>
        <comment>little_ram_left</comment>
        <translation>Das Modell belegt %1 RAM, und %2 sind frei: Für anderes bleibt wenig übrig.</translation>
    </message>
    <message>
        <source>The context is %1 tokens, and the model was made for %2: answers get worse beyond that.</source>
        <comment>context_beyond_trained</comment>
        <translation>Der Kontext umfasst %1 Tokens, und das Modell ist für %2 gemacht: Darüber hinaus werden Antworten schlechter.</translation>
    </message>
    <message>
        <source>%1 compute threads were asked for, and this program may use %2 cores: more threads than cores make answers slower.</source>
        <comment>more_threads_than_cores</comment>
        <translation>%1 Rechenthreads sind verlangt, und dieses Programm darf %2 Kerne benutzen: Mehr Threads als Kerne machen Antworten langsamer.</translation>
    </message>
    <message>
        <source>Free memory: %1.</source>
        <comment>free_memory</comment>
        <translation>Freier Speicher: %1.</translation>
    </message>
    <message>
        <source>The VRAM budget is %1, but the %2 has only %3 to give; lower it.</source>
        <comment>vram_budget_too_large_for_the</comment>
        <translation>Das VRAM-Budget ist %1, %2 kann aber nur %3 geben; bitte verringern.</translation>
    </message>
    <message>
        <source>The VRAM budget is %1, but %2 has only %3 to give; lower it.</source>
        <comment>vram_budget_too_large</comment>
        <translation>Das VRAM-Budget ist %1, %2 kann aber nur %3 geben; bitte verringern.</translation>
    </message>
    <message>
        <source>The context is %1 tokens; expected 1 to %2, or 0 for the model&apos;s own.</source>
        <comment>context_out_of_range</comment>
        <translation>Der Kontext ist %1 Tokens; erwartet: 1 bis %2, oder 0 für den des Modells.</translation>
    </message>
    <message>
        <source>One format for all experts was asked for and a floor of quality as well; choose one of them.</source>
        <comment>format_and_quality_asked</comment>
        <translation>Es wurden ein Format für alle Experten und zugleich eine Mindestqualität verlangt; bitte eines davon wählen.</translation>
    </message>
    <message>
        <source>A re-plan names one format for all experts and a floor of quality as well; choose one of them.</source>
        <comment>format_and_quality_in_replan</comment>
        <translation>Eine Neuplanung nennt ein Format für alle Experten und zugleich eine Mindestqualität; bitte eines davon wählen.</translation>
    </message>
    <message>
        <source>Experts can have one format for all or a floor of quality, not both; expected one of them.</source>
        <comment>format_and_quality_in_plan</comment>
        <translation>Experten können ein gemeinsames Format oder eine Mindestqualität haben, nicht beides; erwartet: eines davon.</translation>
    </message>
    <message>
        <source>The experts of this model cannot be kept in %1; expected one of %2.</source>
        <comment>expert_format_impossible</comment>
        <translation>Die Experten dieses Modells lassen sich nicht in %1 halten; erwartet: eines von %2.</translation>
    </message>
    <message>
        <source>The experts of this model cannot be kept in %1: that needs a hidden_size that is a multiple of 64, and it is %2; expected one of %3.</source>
        <comment>expert_format_needs_hidden_size</comment>
        <translation>Die Experten dieses Modells können nicht in %1 gehalten werden: dafür muss hidden_size ein Vielfaches von 64 sein, es ist aber %2; erwartet wird eines von %3.</translation>
    </message>
    <message>
        <source>Attention&apos;s %1 stay in %2: %3 needs rows of a multiple of 64 weights, and theirs have %4.</source>
        <comment>attention_matrices_stay</comment>
        <translation>In der Attention bleiben diese in %2: %1. %3 braucht Zeilen aus einem Vielfachen von 64 Gewichten, sie haben aber %4.</translation>
    </message>
    <message>
        <source>matrices</source>
        <comment>matrices</comment>
        <translation>die Matrizen</translation>
    </message>
    <message>
        <source>query, key and value matrices</source>
        <comment>qkv_matrices</comment>
        <translation>die Query-, Key- und Value-Matrizen</translation>
    </message>
    <message>
        <source>output matrices</source>
        <comment>output_matrices</comment>
        <translation>die Ausgabematrizen</translation>
    </message>
    <message>
        <source>and dense networks&apos; matrices</source>
        <comment>and_dense_matrices</comment>
        <translation>die Matrizen und die der dichten Netze</translation>
    </message>
    <message>
        <source>No format of this model has %1 bits per weight; expected a floor of at most %2.</source>
        <comment>no_format_of_so_many_bits</comment>
        <translation>Kein Format dieses Modells hat %1 Bit je Gewicht; erwartet: eine Untergrenze von höchstens %2.</translation>
    </message>
    <message>
        <source>This model&apos;s experts cannot be %1: that needs rows of a multiple of 64 weights, and theirs have %2.</source>
        <comment>expert_rows_do_not_fit_format</comment>
        <translation>Die Experten dieses Modells können nicht %1 sein: Dazu müssen Zeilen ein Vielfaches von 64 Gewichten haben, ihre haben %2.</translation>
    </message>
    <message>
        <source>Dense weights cannot be %1; expected %2.</source>
        <comment>dense_format_unknown</comment>
        <translation>Dichte Gewichte können nicht %1 sein; erwartet: %2.</translation>
    </message>
    <message>
        <source>Rows of %1 %2 weights cannot become %3; packed rows are made of plain weights, a multiple of 64 in each.</source>
        <comment>rows_cannot_be_packed</comment>
        <translation>Zeilen aus %1 Gewichten in %2 können nicht %3 werden; gepackte Zeilen entstehen aus einfachen Gewichten, je Zeile ein Vielfaches von 64.</translation>
    </message>
    <message>
        <source>A weight is infinite, not a number or beyond 1e15; such a tensor cannot be quantized.</source>
        <comment>weight_not_finite</comment>
        <translation>Ein Gewicht ist unendlich, keine Zahl oder größer als 1e15; ein solcher Tensor lässt sich nicht quantisieren.</translation>
    </message>
    <message>
        <source>There is no memory for an expert in the checkpoint&apos;s format while it is quantized.</source>
        <comment>no_memory_to_quantize_expert</comment>
        <translation>Es fehlt Speicher für einen Experten im Format des Checkpoints, während er quantisiert wird.</translation>
    </message>
    <message>
        <source>There is no memory for an expert while its quantization is measured.</source>
        <comment>no_memory_to_measure_expert</comment>
        <translation>Es fehlt Speicher für einen Experten, während seine Quantisierung gemessen wird.</translation>
    </message>
    <message>
        <source>Quantized experts could not be kept in %1 (%2), so they will be quantized anew when they are wanted again.</source>
        <comment>quantized_experts_not_kept</comment>
        <translation>Quantisierte Experten ließen sich nicht in %1 aufbewahren (%2); sie werden neu quantisiert, wenn sie wieder gebraucht werden.</translation>
    </message>
    <message>
        <source>What was measured could not be kept in %1 (%2), so it will be measured again when it is wanted again.</source>
        <comment>measurement_not_kept</comment>
        <translation>Was gemessen wurde, ließ sich nicht in %1 aufbewahren (%2); es wird neu gemessen, wenn es wieder gebraucht wird.</translation>
    </message>
    <message>
        <source>an expert on the CPU</source>
        <comment>an_expert_on_the_cpu</comment>
        <translation>ein Experte auf der CPU</translation>
    </message>
    <message>
        <source>an expert on the device</source>
        <comment>an_expert_on_the_device</comment>
        <translation>ein Experte auf dem Gerät</translation>
    </message>
    <message>
        <source>the copy of an expert</source>
        <comment>an_experts_copy</comment>
        <translation>das Kopieren eines Experten</translation>
    </message>
    <message>
        <source>a token beside its experts</source>
        <comment>a_token_beside_its_experts</comment>
        <translation>ein Token außer seinen Experten</translation>
    </message>
    <message>
        <source>an expert from the disk</source>
        <comment>an_expert_from_the_disk</comment>
        <translation>ein Experte vom Datenträger</translation>
    </message>
    <message>
        <source>A cost kept of this computer did not hold and was measured again: %1 took %2 ms, and %3 ms were kept.</source>
        <comment>kept_cost_did_not_hold</comment>
        <translation>Eine aufbewahrte Messung dieses Computers galt nicht mehr und wurde neu gemacht: %1 brauchte %2 ms, aufbewahrt waren %3 ms.</translation>
    </message>
    <message>
        <source>A token took %1 ms where %2 ms were forecast. The costs of this computer are measured again when the model is loaded next.</source>
        <comment>run_unlike_its_forecast</comment>
        <translation>Ein Token brauchte %1 ms, vorhergesagt waren %2 ms. Die Kosten dieses Computers werden neu gemessen, wenn das Modell das nächste Mal geladen wird.</translation>
    </message>
    <message>
        <source>one is larger than all that may be kept</source>
        <comment>larger_than_all_kept</comment>
        <translation>einer ist größer als alles, was aufbewahrt werden darf</translation>
    </message>
    <message>
        <source>Quantized experts are not kept in %1: %2 are free there, and %3 must stay free for other files.</source>
        <comment>quantized_experts_disk_full</comment>
        <translation>Quantisierte Experten werden nicht in %1 aufbewahrt: Dort sind %2 frei, und %3 müssen für andere Dateien frei bleiben.</translation>
    </message>
    <message>
        <source>%1 of quantized experts were removed from %2: %3 were free there, and %4 must stay free for other files.</source>
        <comment>quantized_experts_removed</comment>
        <translation>%1 an quantisierten Experten wurden aus %2 entfernt: Dort waren %3 frei, und %4 müssen für andere Dateien frei bleiben.</translation>
    </message>
    <message>
        <source>%1: there is no such popularity profile</source>
        <comment>no_such_popularity</comment>
        <translation>%1: Ein solches Popularitätsprofil gibt es nicht</translation>
    </message>
    <message>
        <source>%1: the file is %2 bytes long; expected at most 16 MiB</source>
        <comment>popularity_too_large</comment>
        <translation>%1: Die Datei ist %2 Bytes lang; erwartet: höchstens 16 MiB</translation>
    </message>
    <message>
        <source>%1: &quot;counts&quot;[%2] is %3; expected %4</source>
        <comment>popularity_row_rejected</comment>
        <translation>%1: &quot;counts&quot;[%2] ist %3; erwartet: %4</translation>
    </message>
    <message>
        <source>%1: &quot;counts&quot;[%2][%3] is %4; expected %5</source>
        <comment>popularity_count_rejected</comment>
        <translation>%1: &quot;counts&quot;[%2][%3] ist %4; erwartet: %5</translation>
    </message>
    <message>
        <source>a list of %1 lists</source>
        <comment>a_list_of_lists_counted</comment>
        <translation>eine Liste von %1 Listen</translation>
    </message>
    <message>
        <source>a list of %1 numbers</source>
        <comment>a_list_of_numbers_counted</comment>
        <translation>eine Liste von %1 Zahlen</translation>
    </message>
    <message>
        <source>a number from 0 to 1e15</source>
        <comment>a_count_to_1e15</comment>
        <translation>eine Zahl von 0 bis 1e15</translation>
    </message>
    <message>
        <source>a list whose largest number is more than 1 / n_active of its sum</source>
        <comment>too_uneven_counts</comment>
        <translation>eine Liste, deren größte Zahl mehr als 1 / n_active ihrer Summe ist</translation>
    </message>
    <message>
        <source>counts of tokens that choose n_active different experts each</source>
        <comment>counts_of_different_experts</comment>
        <translation>Zählungen von Tokens, die je n_active verschiedene Experten wählen</translation>
    </message>
    <message>
        <source>%1 counts %2 layers of %3 experts, but %4 has %5 of %6; make a profile of this model (offstage-cli profile).</source>
        <comment>popularity_of_other_model</comment>
        <translation>%1 zählt %2 Schichten mit je %3 Experten, %4 hat aber %5 mit je %6; bitte ein Profil dieses Modells anlegen (offstage-cli profile).</translation>
    </message>
    <message>
        <source>The popularity profile is of %1 layers of %2 experts, the model has %3 of %4; expected a profile of this model.</source>
        <comment>popularity_differs</comment>
        <translation>Das Popularitätsprofil hat %1 Schichten mit je %2 Experten, das Modell %3 mit je %4; erwartet: ein Profil dieses Modells.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s number of experts is out of range.</source>
        <comment>plan_experts_out_of_range</comment>
        <translation>Es lässt sich kein Plan machen: Die Zahl der Experten des Modells liegt außerhalb des Bereichs.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s number of active experts is out of range.</source>
        <comment>plan_active_out_of_range</comment>
        <translation>Es lässt sich kein Plan machen: Die Zahl der aktiven Experten des Modells liegt außerhalb des Bereichs.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s experts have no size.</source>
        <comment>plan_experts_without_size</comment>
        <translation>Es lässt sich kein Plan machen: Die Experten des Modells haben keine Größe.</translation>
    </message>
    <message>
        <source>No plan can be made: a format&apos;s experts have no size.</source>
        <comment>plan_format_without_size</comment>
        <translation>Es lässt sich kein Plan machen: Die Experten eines Formats haben keine Größe.</translation>
    </message>
    <message>
        <source>No plan can be made: the model&apos;s formats are too many.</source>
        <comment>plan_too_many_formats</comment>
        <translation>Es lässt sich kein Plan machen: Das Modell hat zu viele Formate.</translation>
    </message>
    <message>
        <source>No plan can be made: the context is out of range.</source>
        <comment>plan_context_out_of_range</comment>
        <translation>Es lässt sich kein Plan machen: Der Kontext liegt außerhalb des Bereichs.</translation>
    </message>
    <message>
        <source>Memory is short: prompts are read in steps of %1 tokens.</source>
        <comment>short_memory_small_steps</comment>
        <translation>Der Speicher ist knapp: Prompts werden in Schritten von %1 Tokens gelesen.</translation>
    </message>
    <message>
        <source>The context is %1 tokens instead of %2, so that more experts fit in %3; a named context is kept.</source>
        <comment>context_shortened</comment>
        <translation>Der Kontext ist %1 statt %2 Tokens, damit mehr Experten in %3 passen; ein ausdrücklich genannter Kontext wird eingehalten.</translation>
    </message>
    <message>
        <source>VRAM is short: of the context of %1 tokens %2 have their keys and values there; %3 of them lie in RAM.</source>
        <comment>vram_short_kv_in_ram</comment>
        <translation>VRAM ist knapp: Vom Kontext von %1 Tokens haben dort %2 ihre Keys und Values; %3 davon liegen im RAM.</translation>
    </message>
    <message>
        <source>RAM is short: %1 experts are read from disk whenever they are needed.</source>
        <comment>ram_short_disk</comment>
        <translation>RAM ist knapp: %1 Experten werden bei jedem Bedarf vom Datenträger gelesen.</translation>
    </message>
    <message>
        <source>RAM is short: %1 experts are read from disk whenever they are needed, past the system&apos;s cache.</source>
        <comment>ram_short_disk_direct</comment>
        <translation>RAM ist knapp: %1 Experten werden bei jedem Bedarf vom Datenträger gelesen, am Cache des Systems vorbei.</translation>
    </message>
    <message>
        <source>No room is left to copy experts on demand: those not on the device run on the CPU.</source>
        <comment>no_room_to_copy_experts</comment>
        <translation>Es bleibt kein Platz, um Experten bei Bedarf zu kopieren: Die nicht auf dem Gerät liegen, laufen auf der CPU.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights (%3), the KV cache of %4 tokens (%5) and buffers (%6) need %7, %8 more.</source>
        <comment>vram_too_small</comment>
        <translation>Das Modell passt nicht in %1 %2: Dichte Gewichte (%3), der KV-Cache für %4 Tokens (%5) und Puffer (%6) brauchen %7, das sind %8 mehr.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights and room for experts from disk (%3), the KV cache of %4 tokens (%5) and buffers (%6) need %7, %8 more.</source>
        <comment>vram_too_small_with_disk</comment>
        <translation>Das Modell passt nicht in %1 %2: Dichte Gewichte und Platz für Experten vom Datenträger (%3), der KV-Cache für %4 Tokens (%5) und Puffer (%6) brauchen %7, das sind %8 mehr.</translation>
    </message>
    <message>
        <source>A context of %1 tokens would fit.</source>
        <comment>context_would_fit</comment>
        <translation>Ein Kontext von %1 Tokens würde passen.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of RAM: %2 are needed even with the experts on disk, %3 more.</source>
        <comment>ram_too_small</comment>
        <translation>Das Modell passt nicht in %1 RAM: Selbst mit den Experten auf dem Datenträger sind %2 nötig, das sind %3 mehr.</translation>
    </message>
    <message>
        <source>The dense weights pass through RAM while the model is loaded: they take %1, and the RAM budget is %2, %3 too little.</source>
        <comment>dense_weights_pass_ram</comment>
        <translation>Die dichten Gewichte gehen beim Laden durch das RAM: Sie belegen %1, und das RAM-Budget ist %2, das sind %3 zu wenig.</translation>
    </message>
    <message>
        <source>Only %1 of %2 of experts in RAM are page-locked; copies of the others to the GPU are slower.</source>
        <comment>partly_page_locked</comment>
        <translation>Nur %1 von %2 an Experten im RAM sind seitenfest; die übrigen werden langsamer auf die GPU kopiert.</translation>
    </message>
    <message>
        <source>NVIDIA&apos;s library cuBLAS was not found, so slower products of Offstage&apos;s own read prompts on %1; the CUDA toolkit has it.</source>
        <comment>cublas_missing</comment>
        <translation>NVIDIAs Bibliothek cuBLAS wurde nicht gefunden, deshalb lesen langsamere eigene Produkte von Offstage die Prompts auf %1; das CUDA-Toolkit enthält sie.</translation>
    </message>
    <message>
        <source>%1 took %2 experts; %3 more were planned and found no room.</source>
        <comment>experts_left_over</comment>
        <translation>%1 hat %2 Experten aufgenommen; %3 weitere waren geplant und fanden keinen Platz.</translation>
    </message>
    <message>
        <source>%1 has less memory free than planned, and RAM has no room for the experts left over; close other programs or lower the VRAM budget.</source>
        <comment>device_memory_less_than_planned</comment>
        <translation>%1 hat weniger freien Speicher als geplant, und im RAM ist kein Platz für die übrigen Experten; bitte andere Programme schließen oder das VRAM-Budget verringern.</translation>
    </message>
    <message>
        <source>RAM has no room for an expert that is on disk; raise the RAM budget.</source>
        <comment>ram_full_for_disk_expert</comment>
        <translation>Im RAM ist kein Platz für einen Experten, der auf dem Datenträger liegt; bitte das RAM-Budget erhöhen.</translation>
    </message>
    <message>
        <source>No model is loaded; open one first.</source>
        <comment>no_model_loaded</comment>
        <translation>Es ist kein Modell geladen; bitte zuerst eines öffnen.</translation>
    </message>
    <message>
        <source>The %1 message is not UTF-8 text: byte %2 starts no character.</source>
        <comment>message_not_utf8</comment>
        <translation>Die Nachricht der Rolle %1 ist kein UTF-8-Text: Byte %2 beginnt kein Zeichen.</translation>
    </message>
    <message>
        <source>The model %1 has no tokenizer, so it cannot read or write text.</source>
        <comment>model_without_tokenizer</comment>
        <translation>Das Modell %1 hat keinen Tokenizer und kann daher keinen Text lesen oder schreiben.</translation>
    </message>
    <message>
        <source>The model %1 has no chat template. Give it one by --chat-template, in the window by File &gt; Open with options: a file, or a family&apos;s (%2). Without one it can only continue a raw prompt.</source>
        <comment>model_without_template</comment>
        <translation>Das Modell %1 hat keine Chat-Vorlage. Geben Sie ihm eine mit --chat-template, im Fenster mit Datei &gt; Mit Optionen öffnen: eine Datei oder die einer Familie (%2). Ohne sie kann es nur einen rohen Prompt fortsetzen.</translation>
    </message>
    <message>
        <source>There is no chat template %1; expected a file, or the name of one: %2.</source>
        <comment>no_such_chat_template</comment>
        <translation>Es gibt keine Chat-Vorlage %1; erwartet: eine Datei oder der Name von einer: %2.</translation>
    </message>
    <message>
        <source>The model&apos;s file has no chat template; the one that Ollama keeps for %1 is used.</source>
        <comment>template_of_ollama</comment>
        <translation>Die Datei des Modells hat keine Chat-Vorlage; es gilt die, die Ollama für %1 hat.</translation>
    </message>
    <message>
        <source>No prompt can be written with the chat template. Another one is chosen by --chat-template, in the window by File &gt; Open with options. The error: %1</source>
        <comment>template_unusable</comment>
        <translation>Mit der Chat-Vorlage lässt sich kein Prompt schreiben. Eine andere wählen Sie mit --chat-template, im Fenster mit Datei &gt; Mit Optionen öffnen. Der Fehler: %1</translation>
    </message>
    <message>
        <source>Ollama has several names for this file. What it keeps beside it (template, parameters, system message) is taken from %1, not from %2.</source>
        <comment>ollama_name_of_several</comment>
        <translation>Ollama hat mehrere Namen für diese Datei. Was es daneben aufbewahrt (Vorlage, Parameter, Systemnachricht), gilt von %1, nicht von %2.</translation>
    </message>
    <message>
        <source>Where nothing else is chosen, answers are drawn as %1 says: %2.</source>
        <comment>sampling_of_model</comment>
        <translation>Wo nichts anderes gewählt ist, werden Antworten gezogen, wie %1 es sagt: %2.</translation>
    </message>
    <message>
        <source>This of %1 is not used: %2.</source>
        <comment>sampling_not_used</comment>
        <translation>Davon, was %1 vorgibt, wird dies nicht verwendet: %2.</translation>
    </message>
    <message>
        <source>Where no system message is given, the one of %1 is used.</source>
        <comment>system_of_model</comment>
        <translation>Wo keine Systemnachricht angegeben ist, gilt die aus %1.</translation>
    </message>
    <message>
        <source>There is no answer to go on with: the last message is not the assistant&apos;s.</source>
        <comment>no_answer_to_go_on_with</comment>
        <translation>Es gibt keine Antwort zum Fortsetzen: Die letzte Nachricht ist nicht vom Assistenten.</translation>
    </message>
    <message>
        <source>The prompt is empty; expected at least one token.</source>
        <comment>prompt_empty</comment>
        <translation>Der Prompt ist leer; erwartet: mindestens ein Token.</translation>
    </message>
    <message>
        <source>at least %1</source>
        <comment>at_least</comment>
        <translation>mindestens %1</translation>
    </message>
    <message>
        <source>The prompt has %1 tokens, but the context of %2 holds %3 and the answer needs room too; shorten it or start a new conversation.</source>
        <comment>prompt_longer_than_context</comment>
        <translation>Der Prompt hat %1 Tokens, der Kontext von %2 fasst aber %3, und auch die Antwort braucht Platz; bitte kürzen oder eine neue Unterhaltung beginnen.</translation>
    </message>
    <message>
        <source>The model %1 computed no usable probabilities (all are not a number); its weights seem to be damaged.</source>
        <comment>no_usable_probabilities</comment>
        <translation>Das Modell %1 hat keine brauchbaren Wahrscheinlichkeiten berechnet (alle sind keine Zahl); seine Gewichte scheinen beschädigt zu sein.</translation>
    </message>
    <message>
        <source>n_answers is %1; expected 1 to %2.</source>
        <comment>answers_out_of_range</comment>
        <translation>n_answers ist %1; erwartet: 1 bis %2.</translation>
    </message>
    <message>
        <source>Beam search and several drawn answers exclude each other; set one of them to 1.</source>
        <comment>beams_and_answers</comment>
        <translation>Beam-Search und mehrere gezogene Antworten schließen einander aus; bitte eines davon auf 1 setzen.</translation>
    </message>
    <message>
        <source>The beam width is %1; expected 1 to %2.</source>
        <comment>beam_width_out_of_range</comment>
        <translation>Die Beam-Breite ist %1; erwartet: 1 bis %2.</translation>
    </message>
    <message>
        <source>The length penalty is %1; expected -100 to 100.</source>
        <comment>length_penalty_out_of_range</comment>
        <translation>Die Längenstrafe ist %1; erwartet: -100 bis 100.</translation>
    </message>
    <message>
        <source>The sampler&apos;s %1 must be %2, but it is %3.</source>
        <comment>sampler_value_out_of_range</comment>
        <translation>Beim Sampler muss %1 %2 sein, ist aber %3.</translation>
    </message>
    <message>
        <source>between %1 and %2</source>
        <comment>between</comment>
        <translation>zwischen %1 und %2</translation>
    </message>
    <message>
        <source>0 (off) or more</source>
        <comment>off_or_more</comment>
        <translation>0 (aus) oder mehr</translation>
    </message>
    <message>
        <source>0 (all tokens) or more</source>
        <comment>all_tokens_or_more</comment>
        <translation>0 (alle Tokens) oder mehr</translation>
    </message>
    <message>
        <source>A KV cache of %1 tokens is too small: %2 are in use, in blocks of %3.</source>
        <comment>kv_cache_below_use</comment>
        <translation>Ein KV-Cache für %1 Tokens ist zu klein: %2 sind belegt, in Blöcken von %3.</translation>
    </message>
    <message>
        <source>The KV cache keeps its size: %1</source>
        <comment>kv_cache_keeps_size</comment>
        <translation>Der KV-Cache behält seine Größe: %1</translation>
    </message>
    <message>
        <source>The KV cache keeps its format: %1</source>
        <comment>kv_cache_keeps_format</comment>
        <translation>Der KV-Cache behält sein Format: %1</translation>
    </message>
    <message>
        <source>The system page-locks no more RAM for %1, so the device cannot read it.</source>
        <comment>no_more_page_locked_ram</comment>
        <translation>Das System macht kein weiteres RAM seitenfest; das Gerät kann Folgendes nicht lesen: %1.</translation>
    </message>
    <message>
        <source>A context of %1 tokens is too small: the conversation holds %2 already.</source>
        <comment>context_below_use</comment>
        <translation>Ein Kontext von %1 Tokens ist zu klein: Die Unterhaltung hat schon %2.</translation>
    </message>
    <message>
        <source>A context of %1 tokens is not possible: the conversation holds %2, and the most is %3.</source>
        <comment>context_impossible</comment>
        <translation>Ein Kontext von %1 Tokens ist nicht möglich: Die Unterhaltung hat %2, und höchstens sind %3 möglich.</translation>
    </message>
    <message>
        <source>The conversation has outgrown a context of %1 tokens: it holds %2.</source>
        <comment>conversation_outgrew_context</comment>
        <translation>Die Unterhaltung ist über einen Kontext von %1 Tokens hinausgewachsen: Sie hat %2.</translation>
    </message>
    <message>
        <source>There is no expert %1 in layer %2 of the loaded model; it has %3 layers of %4.</source>
        <comment>no_such_expert</comment>
        <translation>In Schicht %2 des geladenen Modells gibt es keinen Experten %1; es hat %3 Schichten mit je %4.</translation>
    </message>
    <message>
        <source>%1 keeps its budget: %2 are needed with everything in its place, but only %3 were allowed.</source>
        <comment>budget_kept</comment>
        <translation>%1 behält das bisherige Budget: Mit allem an seinem Platz sind %2 nötig, erlaubt wären aber nur %3.</translation>
    </message>
    <message>
        <source>%1 refused a copy of an expert.</source>
        <comment>copy_of_expert_refused</comment>
        <translation>%1 hat die Kopie eines Experten verweigert.</translation>
    </message>
    <message>
        <source>Going back failed as well: %1</source>
        <comment>going_back_failed</comment>
        <translation>Auch die Rückkehr ist gescheitert: %1</translation>
    </message>
    <message>
        <source>This session&apos;s budgets do not move.</source>
        <comment>budgets_do_not_move</comment>
        <translation>Die Budgets dieser Sitzung lassen sich nicht ändern.</translation>
    </message>
    <message>
        <source>%1 is kept: %2 ms per token against %3 with %4 (%5 tokens each)</source>
        <comment>choice_kept</comment>
        <translation>„%1“ bleibt: %2 ms je Token gegenüber %3 ms bei „%4“ (je %5 Tokens)</translation>
    </message>
    <message>
        <source>%1 is used, as %2 is not clearly faster: %3 ms per token against %4 (%5 tokens each)</source>
        <comment>choice_not_clearly_better</comment>
        <translation>„%1“ wird benutzt, denn „%2“ ist nicht deutlich schneller: %3 ms je Token gegenüber %4 ms (je %5 Tokens)</translation>
    </message>
    <message>
        <source>%1 is used from now on: %2 ms per token against %3 with %4 (%5 tokens each)</source>
        <comment>choice_changed</comment>
        <translation>Von nun an „%1“: %2 ms je Token gegenüber %3 ms bei „%4“ (je %5 Tokens)</translation>
    </message>
    <message>
        <source>speculative loading</source>
        <comment>speculative_loading</comment>
        <translation>spekulatives Laden</translation>
    </message>
    <message>
        <source>no speculative loading</source>
        <comment>no_speculative_loading</comment>
        <translation>kein spekulatives Laden</translation>
    </message>
    <message>
        <source>%1 has no tokenizer: tokenizer.model (sentencepiece), tokenizer.json or a *.tiktoken file is expected there.</source>
        <comment>no_tokenizer_in_folder</comment>
        <translation>%1 hat keinen Tokenizer: Dort wird tokenizer.model (sentencepiece), tokenizer.json oder eine Datei *.tiktoken erwartet.</translation>
    </message>
    <message>
        <source>%1: the field %2 is &quot;%3&quot;, which is not supported; known are %4. The folder needs a tokenizer of another kind, such as sentencepiece&apos;s tokenizer.model.</source>
        <comment>tokenizer_field_unsupported</comment>
        <translation>%1: Das Feld %2 ist &quot;%3&quot;, was nicht unterstützt wird; bekannt sind %4. Der Ordner braucht einen Tokenizer anderer Art, etwa tokenizer.model von sentencepiece.</translation>
    </message>
    <message>
        <source>%1: the field %2 holds a pattern that PCRE2 refuses: %3. Write it in PCRE2&apos;s syntax, or use the tokenizer of another release of the model.</source>
        <comment>tokenizer_pattern_refused</comment>
        <translation>%1: Das Feld %2 enthält ein Muster, das PCRE2 ablehnt: %3. Schreiben Sie es in der Syntax von PCRE2, oder nehmen Sie den Tokenizer einer anderen Ausgabe des Modells.</translation>
    </message>
    <message>
        <source>The tokenizer&apos;s pattern takes too many steps at byte %1 of the text. Shorten the text there, or use the tokenizer of another release of the model.</source>
        <comment>tokenizer_pattern_too_slow</comment>
        <translation>Das Muster des Tokenizers braucht bei Byte %1 des Textes zu viele Schritte. Kürzen Sie den Text dort, oder nehmen Sie den Tokenizer einer anderen Ausgabe des Modells.</translation>
    </message>
    <message>
        <source>The text is too long for the tokenizer&apos;s normalizer; shorten it.</source>
        <comment>text_too_long_to_normalize</comment>
        <translation>Der Text ist zu lang für die Normalisierung des Tokenizers; kürzen Sie ihn.</translation>
    </message>
    <message>
        <source>%1, line %2: must be %3.</source>
        <comment>line_must_be</comment>
        <translation>%1, Zeile %2: muss %3 sein.</translation>
    </message>
    <message>
        <source>%1: the token of rank %2 is given twice; each must differ.</source>
        <comment>token_rank_twice</comment>
        <translation>%1: Das Token vom Rang %2 kommt zweimal vor; jedes muss anders sein.</translation>
    </message>
    <message>
        <source>%1: the byte %2 is no token; all 256 must be. The file is not whole: fetch it again from where the model came from.</source>
        <comment>byte_without_token</comment>
        <translation>%1: Das Byte %2 ist kein Token; alle 256 müssen es sein. Die Datei ist nicht vollständig: Holen Sie sie noch einmal von dort, woher das Modell kam.</translation>
    </message>
    <message>
        <source>a number</source>
        <comment>a_number</comment>
        <translation>eine Zahl</translation>
    </message>
    <message>
        <source>a text of at most %1 bytes</source>
        <comment>a_text_of_at_most</comment>
        <translation>ein Text von höchstens %1 Bytes</translation>
    </message>
    <message>
        <source>a text of at least one character</source>
        <comment>a_text_of_a_character</comment>
        <translation>ein Text von mindestens einem Zeichen</translation>
    </message>
    <message>
        <source>a regular expression</source>
        <comment>a_regular_expression</comment>
        <translation>ein regulärer Ausdruck</translation>
    </message>
    <message>
        <source>an object with &quot;Regex&quot; or &quot;String&quot;</source>
        <comment>an_object_with_regex</comment>
        <translation>ein Objekt mit &quot;Regex&quot; oder &quot;String&quot;</translation>
    </message>
    <message>
        <source>nested less deeply</source>
        <comment>nested_less_deeply</comment>
        <translation>weniger tief verschachtelt</translation>
    </message>
    <message>
        <source>a list of fewer steps</source>
        <comment>a_list_of_fewer_steps</comment>
        <translation>eine Liste mit weniger Schritten</translation>
    </message>
    <message>
        <source>before ByteLevel, which must be the last step</source>
        <comment>before_byte_level</comment>
        <translation>vor ByteLevel, das der letzte Schritt sein muss</translation>
    </message>
    <message>
        <source>an object of tokens with their ids</source>
        <comment>an_object_of_token_ids</comment>
        <translation>ein Objekt aus Token mit ihren Nummern</translation>
    </message>
    <message>
        <source>an object of tokens with their ids; the file is not whole: fetch it again from where the model came from</source>
        <comment>an_object_of_token_ids_cut</comment>
        <translation>ein Objekt aus Token mit ihren Nummern; die Datei ist nicht vollständig: Holen Sie sie noch einmal von dort, woher das Modell kam</translation>
    </message>
    <message>
        <source>an object; the file is not whole: fetch it again from where the model came from</source>
        <comment>an_object_cut</comment>
        <translation>ein Objekt; die Datei ist nicht vollständig: Holen Sie sie noch einmal von dort, woher das Modell kam</translation>
    </message>
    <message>
        <source>a list of merges, as &quot;a b&quot; or [&quot;a&quot;, &quot;b&quot;]; the file is not whole: fetch it again from where the model came from</source>
        <comment>a_list_of_merges_cut</comment>
        <translation>eine Liste von Verschmelzungen, als &quot;a b&quot; oder [&quot;a&quot;, &quot;b&quot;]; die Datei ist nicht vollständig: Holen Sie sie noch einmal von dort, woher das Modell kam</translation>
    </message>
    <message>
        <source>two tokens, as &quot;a b&quot; or [&quot;a&quot;, &quot;b&quot;]</source>
        <comment>two_tokens_merged</comment>
        <translation>zwei Token, als &quot;a b&quot; oder [&quot;a&quot;, &quot;b&quot;]</translation>
    </message>
    <message>
        <source>a smaller value: the file holds too many</source>
        <comment>a_smaller_value</comment>
        <translation>ein kleinerer Wert: Die Datei enthält zu viele</translation>
    </message>
    <message>
        <source>two tokens of model.vocab that together are one, too, not &quot;%1&quot; and &quot;%2&quot;</source>
        <comment>two_tokens_of_vocab</comment>
        <translation>zwei Token aus model.vocab, die zusammen auch eines sind, nicht &quot;%1&quot; und &quot;%2&quot;</translation>
    </message>
    <message>
        <source>null or 0: with dropout the same text has other tokens each time</source>
        <comment>null_or_zero_dropout</comment>
        <translation>null oder 0: Mit dropout hat derselbe Text jedes Mal andere Token</translation>
    </message>
    <message>
        <source>empty or null: marks inside of words are not supported</source>
        <comment>empty_or_null_affix</comment>
        <translation>leer oder null: Zeichen innerhalb von Wörtern werden nicht unterstützt</translation>
    </message>
    <message>
        <source>a token of model.vocab, not &quot;%1&quot;</source>
        <comment>a_token_of_vocab</comment>
        <translation>ein Token aus model.vocab, nicht &quot;%1&quot;</translation>
    </message>
    <message>
        <source>tokens with ids of their own; %1 is that of &quot;%2&quot;</source>
        <comment>tokens_with_own_ids</comment>
        <translation>Token mit eigenen Nummern; %1 ist die von &quot;%2&quot;</translation>
    </message>
    <message>
        <source>the regular expression that goes with the tiktoken file, or &quot;encoding_name&quot; cl100k_base or o200k_base</source>
        <comment>tiktoken_expression</comment>
        <translation>der reguläre Ausdruck, der zur tiktoken-Datei gehört, oder &quot;encoding_name&quot; cl100k_base oder o200k_base</translation>
    </message>
    <message>
        <source>a token in base64, a blank, and its rank</source>
        <comment>tiktoken_line</comment>
        <translation>ein Token in Base64, ein Leerzeichen und sein Rang</translation>
    </message>
    <message>
        <source>%1 has no tokenizer: %2 is expected in its metadata.</source>
        <comment>no_tokenizer_in_metadata</comment>
        <translation>%1 hat keinen Tokenizer: %2 wird in den Metadaten der Datei erwartet.</translation>
    </message>
    <message>
        <source>%1: %2[%3] is %4; expected %5</source>
        <comment>item_rejected</comment>
        <translation>%1: %2[%3] ist %4; erwartet: %5</translation>
    </message>
    <message>
        <source>%1: %2 is %3; expected one of %4</source>
        <comment>metadata_one_of</comment>
        <translation>%1: %2 ist %3; erwartet: eines von %4</translation>
    </message>
    <message>
        <source>a list of %1 numbers, one for each token</source>
        <comment>a_number_for_each_token</comment>
        <translation>eine Liste von %1 Zahlen, eine je Token</translation>
    </message>
    <message>
        <source>a list of %1, one for each token</source>
        <comment>a_list_for_each_token</comment>
        <translation>eine Liste von %1, eins je Token</translation>
    </message>
    <message>
        <source>a list of 1 to %1 texts (the model&apos;s vocab_size)</source>
        <comment>a_list_of_token_texts</comment>
        <translation>eine Liste von 1 bis %1 Texten (vocab_size des Modells)</translation>
    </message>
    <message>
        <source>text in UTF-8</source>
        <comment>text_in_utf8</comment>
        <translation>Text in UTF-8</translation>
    </message>
    <message>
        <source>The file&apos;s vocabulary has texts twice (tokens: %1; the first are %2 and %3, %4): such a text becomes the later token.</source>
        <comment>gguf_texts_twice</comment>
        <translation>Der Wortschatz der Datei hat Texte doppelt (Token: %1; die ersten sind %2 und %3, %4): Ein solcher Text wird das spätere Token.</translation>
    </message>
    <message>
        <source>Tokens of the file are of no known type (tokens: %1; the first is %2, %3): they add nothing to a text.</source>
        <comment>gguf_types_undefined</comment>
        <translation>Token der Datei haben keinen bekannten Typ (Token: %1; das erste ist %2, %3): Zu einem Text tragen sie nichts bei.</translation>
    </message>
    <message>
        <source>%1 of the file is %2, but it has %3 tokens: the id is not used.</source>
        <comment>gguf_id_beyond</comment>
        <translation>%1 der Datei ist %2, sie hat aber %3 Token: Die ID wird nicht benutzt.</translation>
    </message>
    <message>
        <source>The file does not say how a text is cut into words (&quot;tokenizer.ggml.pre&quot;): &quot;default&quot; is used. Where the model was trained with other words, its answers are worse: a file by a newer converter has the name.</source>
        <comment>gguf_pre_missing</comment>
        <translation>Die Datei sagt nicht, wie ein Text in Wörter zerlegt wird (&quot;tokenizer.ggml.pre&quot;): &quot;default&quot; wird verwendet. Wurde das Modell mit anderen Wörtern trainiert, so sind seine Antworten schlechter: Die Datei eines neueren Konverters hat den Namen.</translation>
    </message>
    <message>
        <source>Merges of the file have a text that is no token (merges: %1; the first is number %2, %3): a word that ends with such a text becomes the tokens of its bytes.</source>
        <comment>gguf_merges_no_token</comment>
        <translation>Verschmelzungen der Datei haben einen Text, der kein Token ist (Verschmelzungen: %1; die erste ist Nummer %2, %3): Ein Wort, das mit so einem Text endet, wird zu den Token seiner Bytes.</translation>
    </message>
    <message>
        <source>%1: the tokens write a blank as %2</source>
        <comment>a_model_with_blank</comment>
        <translation>%1: Die Token schreiben ein Leerzeichen als %2</translation>
    </message>
    <message>
        <source>&quot;default&quot;, or another &quot;tokenizer.ggml.model&quot;: &quot;llama&quot; has no %1</source>
        <comment>default_pre_of_llama</comment>
        <translation>&quot;default&quot; oder ein anderes &quot;tokenizer.ggml.model&quot;: &quot;llama&quot; kennt kein %1</translation>
    </message>
    <message>
        <source>none or 256 tokens of type 6, a byte, not %1</source>
        <comment>all_or_no_byte_tokens</comment>
        <translation>kein Token oder 256 vom Typ 6, einem Byte, nicht %1</translation>
    </message>
    <message>
        <source>the id of a token</source>
        <comment>the_id_of_a_token</comment>
        <translation>die ID eines Tokens</translation>
    </message>
    <message>
        <source>%1 is no valid sentencepiece model.</source>
        <comment>sentencepiece_invalid</comment>
        <translation>%1 ist kein gültiges sentencepiece-Modell.</translation>
    </message>
    <message>
        <source>%1 is no valid sentencepiece model: %2.</source>
        <comment>sentencepiece_damaged</comment>
        <translation>%1 ist kein gültiges sentencepiece-Modell: %2.</translation>
    </message>
    <message>
        <source>a bad field number</source>
        <comment>bad_field_number</comment>
        <translation>eine falsche Feldnummer</translation>
    </message>
    <message>
        <source>it ends in the middle of a record</source>
        <comment>ends_in_a_record</comment>
        <translation>es endet mitten in einem Datensatz</translation>
    </message>
    <message>
        <source>a record of an unknown kind</source>
        <comment>record_of_unknown_kind</comment>
        <translation>ein Datensatz unbekannter Art</translation>
    </message>
    <message>
        <source>it ends in the middle of a number</source>
        <comment>ends_in_a_number</comment>
        <translation>es endet mitten in einer Zahl</translation>
    </message>
    <message>
        <source>a number of more than ten bytes</source>
        <comment>number_too_long</comment>
        <translation>eine Zahl von mehr als zehn Bytes</translation>
    </message>
    <message>
        <source>the field %1 is of the wrong kind</source>
        <comment>wire_field_of_wrong_kind</comment>
        <translation>das Feld %1 ist von der falschen Art</translation>
    </message>
    <message>
        <source>the field %1 is given twice</source>
        <comment>wire_field_twice</comment>
        <translation>das Feld %1 kommt zweimal vor</translation>
    </message>
    <message>
        <source>the field %1 is too long</source>
        <comment>wire_field_too_long</comment>
        <translation>das Feld %1 ist zu lang</translation>
    </message>
    <message>
        <source>the field %1 is no UTF-8 text</source>
        <comment>wire_field_no_utf8</comment>
        <translation>das Feld %1 ist kein UTF-8-Text</translation>
    </message>
    <message>
        <source>trainer_spec&apos;s token names</source>
        <comment>trainer_token_names</comment>
        <translation>Token-Namen von trainer_spec</translation>
    </message>
    <message>
        <source>its normaliser map is cut short</source>
        <comment>normaliser_cut_short</comment>
        <translation>seine Normalisierungstabelle ist abgeschnitten</translation>
    </message>
    <message>
        <source>its normaliser map has an impossible size</source>
        <comment>normaliser_size_impossible</comment>
        <translation>seine Normalisierungstabelle hat eine unmögliche Größe</translation>
    </message>
    <message>
        <source>its normaliser map is too large</source>
        <comment>normaliser_too_large</comment>
        <translation>seine Normalisierungstabelle ist zu groß</translation>
    </message>
    <message>
        <source>its normaliser map nests too many rules</source>
        <comment>normaliser_too_many_rules</comment>
        <translation>seine Normalisierungstabelle verschachtelt zu viele Regeln</translation>
    </message>
    <message>
        <source>its normaliser map runs in a circle</source>
        <comment>normaliser_in_a_circle</comment>
        <translation>seine Normalisierungstabelle läuft im Kreis</translation>
    </message>
    <message>
        <source>its normaliser map points outside of itself</source>
        <comment>normaliser_points_outside</comment>
        <translation>seine Normalisierungstabelle zeigt über sich hinaus</translation>
    </message>
    <message>
        <source>its normaliser map holds text that is no UTF-8</source>
        <comment>normaliser_no_utf8</comment>
        <translation>seine Normalisierungstabelle enthält Text, der kein UTF-8 ist</translation>
    </message>
    <message>
        <source>its normaliser map holds too long a replacement</source>
        <comment>normaliser_replacement_too_long</comment>
        <translation>seine Normalisierungstabelle enthält eine zu lange Ersetzung</translation>
    </message>
    <message>
        <source>piece %1 has a score that is no number</source>
        <comment>piece_score_no_number</comment>
        <translation>Teilstück %1 hat eine Bewertung, die keine Zahl ist</translation>
    </message>
    <message>
        <source>piece %1 is of an unknown type</source>
        <comment>piece_type_unknown</comment>
        <translation>Teilstück %1 ist von unbekanntem Typ</translation>
    </message>
    <message>
        <source>piece %1 is empty</source>
        <comment>piece_empty</comment>
        <translation>Teilstück %1 ist leer</translation>
    </message>
    <message>
        <source>piece %1</source>
        <comment>a_piece</comment>
        <translation>Teilstück %1</translation>
    </message>
    <message>
        <source>more than %1 user-defined pieces begin with one another</source>
        <comment>too_many_pieces_alike</comment>
        <translation>mehr als %1 selbst definierte Teilstücke beginnen miteinander</translation>
    </message>
    <message>
        <source>it holds no pieces</source>
        <comment>no_pieces</comment>
        <translation>es enthält keine Teilstücke</translation>
    </message>
    <message>
        <source>%1 has the model_type %2; 1 (unigram), 2 (BPE), 3 (word) and 4 (char) are known.</source>
        <comment>sentencepiece_type_unknown</comment>
        <translation>%1 hat den model_type %2; bekannt sind 1 (unigram), 2 (BPE), 3 (word) und 4 (char).</translation>
    </message>
    <message>
        <source>%1 holds more pieces than the model&apos;s vocab_size of %2.</source>
        <comment>more_pieces_than_vocab</comment>
        <translation>%1 enthält mehr Teilstücke als die vocab_size des Modells von %2.</translation>
    </message>
    <message>
        <source>%1 rewrites its output (denormalizer_spec), which is not supported.</source>
        <comment>rewrites_output</comment>
        <translation>%1 schreibt seine Ausgabe um (denormalizer_spec); das wird nicht unterstützt.</translation>
    </message>
    <message>
        <source>%1: an added token&apos;s id is larger than any vocabulary.</source>
        <comment>added_token_id_too_large</comment>
        <translation>%1: Die ID eines hinzugefügten Tokens ist größer als jedes Vokabular.</translation>
    </message>
    <message>
        <source>The tokenizer&apos;s %1 &quot;%2&quot; is neither a piece of %3 nor an added token.</source>
        <comment>special_token_unknown</comment>
        <translation>%1 &quot;%2&quot; des Tokenizers ist weder ein Teilstück von %3 noch ein hinzugefügtes Token.</translation>
    </message>
    <message>
        <source>%1: the field %2 must be %3.</source>
        <comment>token_field_must_be</comment>
        <translation>%1: Feld %2; erwartet: %3.</translation>
    </message>
    <message>
        <source>a string, an object with &quot;content&quot;, or null</source>
        <comment>a_string_or_content</comment>
        <translation>ein Text, ein Objekt mit &quot;content&quot;, oder null</translation>
    </message>
    <message>
        <source>an id from 0 to %1 (the model&apos;s vocab_size less one), not %2</source>
        <comment>an_id_not</comment>
        <translation>eine ID von 0 bis %1 (vocab_size des Modells minus eins), nicht %2</translation>
    </message>
    <message>
        <source>a text of 1 to %1 bytes</source>
        <comment>a_text_of_bytes</comment>
        <translation>ein Text von 1 bis %1 Bytes</translation>
    </message>
    <message>
        <source>given once; &quot;%1&quot; is given twice</source>
        <comment>given_twice</comment>
        <translation>einmalige Angabe; &quot;%1&quot; kommt zweimal vor</translation>
    </message>
    <message>
        <source>given once; the id is given twice</source>
        <comment>id_given_twice</comment>
        <translation>einmalige Angabe; die ID kommt zweimal vor</translation>
    </message>
    <message>
        <source>named by a token id</source>
        <comment>named_by_a_token_id</comment>
        <translation>eine Token-ID als Name</translation>
    </message>
    <message>
        <source>an object with a string &quot;content&quot;</source>
        <comment>an_object_with_content</comment>
        <translation>ein Objekt mit einem Text &quot;content&quot;</translation>
    </message>
    <message>
        <source>a token id</source>
        <comment>a_token_id</comment>
        <translation>eine Token-ID</translation>
    </message>
    <message>
        <source>The text is longer than %1 MiB.</source>
        <comment>text_too_long</comment>
        <translation>Der Text ist länger als %1 MiB.</translation>
    </message>
    <message>
        <source>The text is not valid UTF-8 at byte %1.</source>
        <comment>text_not_utf8</comment>
        <translation>Der Text ist an Byte %1 kein gültiges UTF-8.</translation>
    </message>
    <message>
        <source>The text cannot be tokenized.</source>
        <comment>text_not_tokenized</comment>
        <translation>Der Text lässt sich nicht in Tokens zerlegen.</translation>
    </message>
    <message>
        <source>A message is not valid UTF-8 at byte %1.</source>
        <comment>chat_message_not_utf8</comment>
        <translation>Eine Nachricht ist an Byte %1 kein gültiges UTF-8.</translation>
    </message>
    <message>
        <source>The bos token is not valid UTF-8 at byte %1.</source>
        <comment>bos_not_utf8</comment>
        <translation>Das bos-Token ist an Byte %1 kein gültiges UTF-8.</translation>
    </message>
    <message>
        <source>The eos token is not valid UTF-8 at byte %1.</source>
        <comment>eos_not_utf8</comment>
        <translation>Das eos-Token ist an Byte %1 kein gültiges UTF-8.</translation>
    </message>
    <message>
        <source>The conversation is longer than 16 MiB.</source>
        <comment>conversation_too_long</comment>
        <translation>Die Unterhaltung ist länger als 16 MiB.</translation>
    </message>
    <message>
        <source>%1: the field chat_template must be a string, or a list with an entry named &quot;default&quot;.</source>
        <comment>template_field_no_string</comment>
        <translation>%1: Das Feld chat_template muss ein Text sein, oder eine Liste mit einem Eintrag namens &quot;default&quot;.</translation>
    </message>
    <message>
        <source>%1: the chat template is not valid UTF-8 at byte %2.</source>
        <comment>template_not_utf8</comment>
        <translation>%1: Die Chat-Vorlage ist an Byte %2 kein gültiges UTF-8.</translation>
    </message>
    <message>
        <source>%1, line %2: the chat template has %3.</source>
        <comment>template_has</comment>
        <translation>%1, Zeile %2: Fehler in der Chat-Vorlage: %3.</translation>
    </message>
    <message>
        <source>%1, line %2: the chat template uses %3, which is not supported.</source>
        <comment>template_uses</comment>
        <translation>%1, Zeile %2: Die Chat-Vorlage verwendet etwas, das nicht unterstützt wird: %3.</translation>
    </message>
    <message>
        <source>%1, line %2: the chat template failed: %3.</source>
        <comment>template_failed</comment>
        <translation>%1, Zeile %2: Die Chat-Vorlage ist gescheitert: %3.</translation>
    </message>
    <message>
        <source>%1, line %2: no memory for the chat template&apos;s text.</source>
        <comment>template_no_memory</comment>
        <translation>%1, Zeile %2: Es fehlt Speicher für den Text der Chat-Vorlage.</translation>
    </message>
    <message>
        <source>a comment that does not end</source>
        <comment>comment_without_end</comment>
        <translation>ein Kommentar, der nicht endet</translation>
    </message>
    <message>
        <source>a tag that does not end</source>
        <comment>tag_without_end</comment>
        <translation>ein Tag, das nicht endet</translation>
    </message>
    <message>
        <source>a string that does not end</source>
        <comment>string_without_end</comment>
        <translation>eine Zeichenkette, die nicht endet</translation>
    </message>
    <message>
        <source>a broken \%1 escape</source>
        <comment>broken_escape</comment>
        <translation>eine fehlerhafte \%1-Sequenz</translation>
    </message>
    <message>
        <source>an escape that is no character</source>
        <comment>escape_of_no_character</comment>
        <translation>eine Sequenz, die kein Zeichen ist</translation>
    </message>
    <message>
        <source>a \N escape</source>
        <comment>unknown_named_escape</comment>
        <translation>eine \N-Sequenz</translation>
    </message>
    <message>
        <source>the number %1</source>
        <comment>the_number</comment>
        <translation>die Zahl %1</translation>
    </message>
    <message>
        <source>a number followed by a letter</source>
        <comment>number_before_a_letter</comment>
        <translation>eine Zahl, auf die ein Buchstabe folgt</translation>
    </message>
    <message>
        <source>an unexpected character &apos;%1&apos;</source>
        <comment>unexpected_character</comment>
        <translation>ein unerwartetes Zeichen &apos;%1&apos;</translation>
    </message>
    <message>
        <source>an unexpected &apos;%1&apos;</source>
        <comment>unexpected</comment>
        <translation>ein unerwartetes &apos;%1&apos;</translation>
    </message>
    <message>
        <source>%1 bytes, more than the %2 allowed</source>
        <comment>template_too_long</comment>
        <translation>%1 Bytes, mehr als die erlaubten %2</translation>
    </message>
    <message>
        <source>the end of the template</source>
        <comment>end_of_template</comment>
        <translation>das Ende der Vorlage</translation>
    </message>
    <message>
        <source>a string</source>
        <comment>a_string</comment>
        <translation>eine Zeichenkette</translation>
    </message>
    <message>
        <source>the end of the tag</source>
        <comment>end_of_tag</comment>
        <translation>das Ende des Tags</translation>
    </message>
    <message>
        <source>a tag</source>
        <comment>a_tag</comment>
        <translation>ein Tag</translation>
    </message>
    <message>
        <source>%1 where %2 is expected</source>
        <comment>where_expected</comment>
        <translation>%1, wo %2 erwartet wird</translation>
    </message>
    <message>
        <source>%1 where a name is expected</source>
        <comment>where_a_name_expected</comment>
        <translation>%1, wo ein Name erwartet wird</translation>
    </message>
    <message>
        <source>%1 where a value is expected</source>
        <comment>where_a_value_expected</comment>
        <translation>%1, wo ein Wert erwartet wird</translation>
    </message>
    <message>
        <source>%1 where a tag&apos;s name is expected</source>
        <comment>where_a_tag_expected</comment>
        <translation>%1, wo der Name eines Tags erwartet wird</translation>
    </message>
    <message>
        <source>%1 where it does not belong</source>
        <comment>where_it_does_not_belong</comment>
        <translation>%1 an falscher Stelle</translation>
    </message>
    <message>
        <source>no {% %1 %}</source>
        <comment>no_such_tag</comment>
        <translation>kein {% %1 %}</translation>
    </message>
    <message>
        <source>the tag &apos;%1&apos;</source>
        <comment>the_tag</comment>
        <translation>das Tag &apos;%1&apos;</translation>
    </message>
    <message>
        <source>an assignment to &apos;%1&apos;</source>
        <comment>assignment_to</comment>
        <translation>eine Zuweisung an &apos;%1&apos;</translation>
    </message>
    <message>
        <source>a set block with more than one name</source>
        <comment>set_block_of_names</comment>
        <translation>ein set-Block mit mehr als einem Namen</translation>
    </message>
    <message>
        <source>&apos;%1&apos; outside of a loop</source>
        <comment>outside_of_a_loop</comment>
        <translation>&apos;%1&apos; außerhalb einer Schleife</translation>
    </message>
    <message>
        <source>an expression of more than %1 steps inside one another</source>
        <comment>expression_too_deep</comment>
        <translation>ein Ausdruck aus mehr als %1 ineinander liegenden Schritten</translation>
    </message>
    <message>
        <source>more than %1 levels of nesting</source>
        <comment>nesting_too_deep</comment>
        <translation>mehr als %1 Ebenen der Verschachtelung</translation>
    </message>
    <message>
        <source>a subscript of more than one part</source>
        <comment>subscript_of_parts</comment>
        <translation>ein Index aus mehr als einem Teil</translation>
    </message>
    <message>
        <source>unpacked arguments</source>
        <comment>unpacked_arguments</comment>
        <translation>entpackte Argumente</translation>
    </message>
    <message>
        <source>an argument behind a named one</source>
        <comment>argument_behind_named</comment>
        <translation>ein Argument hinter einem benannten</translation>
    </message>
    <message>
        <source>a call of a filter&apos;s result</source>
        <comment>call_of_filter_result</comment>
        <translation>ein Aufruf des Ergebnisses eines Filters</translation>
    </message>
    <message>
        <source>it is nested too deeply</source>
        <comment>template_too_deep</comment>
        <translation>sie ist zu tief verschachtelt</translation>
    </message>
    <message>
        <source>it takes more than %1 steps</source>
        <comment>template_too_many_steps</comment>
        <translation>sie braucht mehr als %1 Schritte</translation>
    </message>
    <message>
        <source>it makes more than %1 MiB of text</source>
        <comment>template_too_much_text</comment>
        <translation>sie erzeugt mehr als %1 MiB Text</translation>
    </message>
    <message>
        <source>its text is longer than %1 MiB</source>
        <comment>template_output_too_long</comment>
        <translation>ihr Text ist länger als %1 MiB</translation>
    </message>
    <message>
        <source>it defines more than %1 macros</source>
        <comment>template_too_many_macros</comment>
        <translation>sie definiert mehr als %1 Makros</translation>
    </message>
    <message>
        <source>%1 with %2 arguments</source>
        <comment>call_with_arguments</comment>
        <translation>%1 mit %2 Argumenten</translation>
    </message>
    <message>
        <source>%1 with an argument &apos;%2&apos;</source>
        <comment>call_with_argument</comment>
        <translation>%1 mit einem Argument &apos;%2&apos;</translation>
    </message>
    <message>
        <source>%1 values are assigned to %2 names</source>
        <comment>values_for_names</comment>
        <translation>%1 Werte werden %2 Namen zugewiesen</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is no namespace, so no attribute of it can be set</source>
        <comment>no_namespace_to_set</comment>
        <translation>&apos;%1&apos; ist kein Namensraum, daher lässt sich kein Attribut davon setzen</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a text</source>
        <comment>method_of_text</comment>
        <translation>die Methode &apos;%1&apos; eines Textes</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a dict</source>
        <comment>method_of_dict</comment>
        <translation>die Methode &apos;%1&apos; eines dict</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a list</source>
        <comment>method_of_list</comment>
        <translation>die Methode &apos;%1&apos; einer Liste</translation>
    </message>
    <message>
        <source>the method &apos;%1&apos; of a value of type %2</source>
        <comment>method_of_type</comment>
        <translation>die Methode &apos;%1&apos; eines Wertes vom Typ %2</translation>
    </message>
    <message>
        <source>a sign before a value of type %1</source>
        <comment>sign_before_type</comment>
        <translation>ein Vorzeichen vor einem Wert vom Typ %1</translation>
    </message>
    <message>
        <source>a dict&apos;s key of type %1</source>
        <comment>dict_key_of_type</comment>
        <translation>ein dict-Schlüssel vom Typ %1</translation>
    </message>
    <message>
        <source>a slice&apos;s bound of type %1</source>
        <comment>slice_bound_of_type</comment>
        <translation>eine Ausschnittsgrenze vom Typ %1</translation>
    </message>
    <message>
        <source>a slice of a value of type %1</source>
        <comment>slice_of_type</comment>
        <translation>ein Ausschnitt eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>a slice with a step of 0</source>
        <comment>slice_step_of_zero</comment>
        <translation>ein Ausschnitt mit der Schrittweite 0</translation>
    </message>
    <message>
        <source>a number is too large</source>
        <comment>number_too_large</comment>
        <translation>eine Zahl ist zu groß</translation>
    </message>
    <message>
        <source>a division by zero</source>
        <comment>division_by_zero</comment>
        <translation>eine Division durch null</translation>
    </message>
    <message>
        <source>a repetition is too long</source>
        <comment>repetition_too_long</comment>
        <translation>eine Wiederholung ist zu lang</translation>
    </message>
    <message>
        <source>%1 without an argument</source>
        <comment>call_without_argument</comment>
        <translation>%1 ohne Argument</translation>
    </message>
    <message>
        <source>range of a value of type %1</source>
        <comment>range_of_type</comment>
        <translation>range eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>range with a step of 0</source>
        <comment>range_step_of_zero</comment>
        <translation>range mit der Schrittweite 0</translation>
    </message>
    <message>
        <source>range of more than %1 numbers</source>
        <comment>range_too_long</comment>
        <translation>range von mehr als %1 Zahlen</translation>
    </message>
    <message>
        <source>a namespace&apos;s name of another type than str</source>
        <comment>namespace_name_of_type</comment>
        <translation>ein Name im Namensraum, der nicht vom Typ str ist</translation>
    </message>
    <message>
        <source>the text format &apos;%1&apos;</source>
        <comment>text_format</comment>
        <translation>das Textformat &apos;%1&apos;</translation>
    </message>
    <message>
        <source>the text format &apos;%1&apos; of a value of type %2</source>
        <comment>text_format_of_type</comment>
        <translation>das Textformat &apos;%1&apos; eines Wertes vom Typ %2</translation>
    </message>
    <message>
        <source>a text format asks for &apos;%1&apos;, which is not given</source>
        <comment>text_format_field</comment>
        <translation>ein Textformat verlangt &apos;%1&apos;, was nicht angegeben ist</translation>
    </message>
    <message>
        <source>a text format and its values do not fit together</source>
        <comment>text_format_values</comment>
        <translation>ein Textformat und seine Werte passen nicht zusammen</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is undefined</source>
        <comment>name_undefined</comment>
        <translation>&apos;%1&apos; ist nicht definiert</translation>
    </message>
    <message>
        <source>an undefined value is used</source>
        <comment>undefined_value_used</comment>
        <translation>ein nicht definierter Wert wird verwendet</translation>
    </message>
    <message>
        <source>&apos;%1&apos; between values of type %2 and %3</source>
        <comment>operator_between_types</comment>
        <translation>&apos;%1&apos; zwischen Werten vom Typ %2 und %3</translation>
    </message>
    <message>
        <source>the function &apos;%1&apos;</source>
        <comment>the_function</comment>
        <translation>die Funktion &apos;%1&apos;</translation>
    </message>
    <message>
        <source>a value of type %1 is called</source>
        <comment>type_is_called</comment>
        <translation>ein Wert vom Typ %1 wird aufgerufen</translation>
    </message>
    <message>
        <source>the macro &apos;%1&apos; takes fewer arguments</source>
        <comment>macro_takes_fewer</comment>
        <translation>das Makro &apos;%1&apos; nimmt weniger Argumente</translation>
    </message>
    <message>
        <source>the macro &apos;%1&apos; takes no argument &apos;%2&apos;</source>
        <comment>macro_takes_no_argument</comment>
        <translation>das Makro &apos;%1&apos; nimmt kein Argument &apos;%2&apos;</translation>
    </message>
    <message>
        <source>&apos;%1&apos; is no function, but it is called</source>
        <comment>no_function_called</comment>
        <translation>&apos;%1&apos; ist keine Funktion, wird aber aufgerufen</translation>
    </message>
    <message>
        <source>%1 takes a text, not a value of type %2</source>
        <comment>takes_a_text</comment>
        <translation>%1 nimmt einen Text, keinen Wert vom Typ %2</translation>
    </message>
    <message>
        <source>%1 takes a number, not a value of type %2</source>
        <comment>takes_a_number</comment>
        <translation>%1 nimmt eine Zahl, keinen Wert vom Typ %2</translation>
    </message>
    <message>
        <source>split at an empty text</source>
        <comment>split_at_empty_text</comment>
        <translation>split an einem leeren Text</translation>
    </message>
    <message>
        <source>%1 of letters beyond ASCII</source>
        <comment>letters_beyond_ascii</comment>
        <translation>%1 von Buchstaben außerhalb von ASCII</translation>
    </message>
    <message>
        <source>get without a key</source>
        <comment>get_without_key</comment>
        <translation>get ohne Schlüssel</translation>
    </message>
    <message>
        <source>index of a value that is not in the list</source>
        <comment>index_of_missing_value</comment>
        <translation>index eines Wertes, der nicht in der Liste ist</translation>
    </message>
    <message>
        <source>cycle without a value</source>
        <comment>cycle_without_value</comment>
        <translation>cycle ohne Wert</translation>
    </message>
    <message>
        <source>a value of type %1 is looked for in a text</source>
        <comment>type_looked_for_in_text</comment>
        <translation>ein Wert vom Typ %1 wird in einem Text gesucht</translation>
    </message>
    <message>
        <source>&apos;in&apos; with a value of type %1</source>
        <comment>in_with_type</comment>
        <translation>&apos;in&apos; mit einem Wert vom Typ %1</translation>
    </message>
    <message>
        <source>a value of type %1 has no items</source>
        <comment>type_without_items</comment>
        <translation>ein Wert vom Typ %1 hat keine Elemente</translation>
    </message>
    <message>
        <source>a value of type %1 cannot be ordered with one of type %2</source>
        <comment>types_not_ordered</comment>
        <translation>ein Wert vom Typ %1 lässt sich nicht mit einem vom Typ %2 ordnen</translation>
    </message>
    <message>
        <source>a namespace inside another value</source>
        <comment>namespace_inside_value</comment>
        <translation>ein Namensraum in einem anderen Wert</translation>
    </message>
    <message>
        <source>a function used as a value</source>
        <comment>function_as_value</comment>
        <translation>eine Funktion als Wert</translation>
    </message>
    <message>
        <source>a list or dict is too large</source>
        <comment>container_too_large</comment>
        <translation>eine Liste oder ein dict ist zu groß</translation>
    </message>
    <message>
        <source>lists and dicts are nested more than %1 deep</source>
        <comment>containers_too_deep</comment>
        <translation>Listen und dicts sind mehr als %1 Ebenen tief verschachtelt</translation>
    </message>
    <message>
        <source>a letter case filter</source>
        <comment>a_letter_case_filter</comment>
        <translation>ein Filter für Groß- und Kleinschreibung</translation>
    </message>
    <message>
        <source>the length of a generator</source>
        <comment>length_of_generator</comment>
        <translation>die Länge eines Generators</translation>
    </message>
    <message>
        <source>the length of a value of type %1</source>
        <comment>length_of_type</comment>
        <translation>die Länge eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>tojson with separators that are not two texts</source>
        <comment>tojson_separators</comment>
        <translation>tojson mit Trennern, die nicht zwei Texte sind</translation>
    </message>
    <message>
        <source>tojson with long separators</source>
        <comment>tojson_long_separators</comment>
        <translation>tojson mit langen Trennern</translation>
    </message>
    <message>
        <source>dictsort of a value of type %1</source>
        <comment>dictsort_of_type</comment>
        <translation>dictsort eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>indent with such a width</source>
        <comment>indent_width</comment>
        <translation>indent mit einer solchen Breite</translation>
    </message>
    <message>
        <source>strftime_now without a format</source>
        <comment>strftime_without_format</comment>
        <translation>strftime_now ohne Format</translation>
    </message>
    <message>
        <source>strftime_now with the directive &apos;%1&apos;</source>
        <comment>strftime_directive</comment>
        <translation>strftime_now mit der Angabe &apos;%1&apos;</translation>
    </message>
    <message>
        <source>tojson with such an indent</source>
        <comment>tojson_indent</comment>
        <translation>tojson mit einer solchen Einrückung</translation>
    </message>
    <message>
        <source>tojson: a key of type %1</source>
        <comment>tojson_key_of_type</comment>
        <translation>tojson: ein Schlüssel vom Typ %1</translation>
    </message>
    <message>
        <source>tojson: a value of type %1</source>
        <comment>tojson_of_type</comment>
        <translation>tojson: ein Wert vom Typ %1</translation>
    </message>
    <message>
        <source>replace needs two texts</source>
        <comment>replace_needs_texts</comment>
        <translation>replace braucht zwei Texte</translation>
    </message>
    <message>
        <source>replace with a count that is no number</source>
        <comment>replace_count</comment>
        <translation>replace mit einer Anzahl, die keine Zahl ist</translation>
    </message>
    <message>
        <source>int of an undefined value</source>
        <comment>int_of_undefined</comment>
        <translation>int eines nicht definierten Wertes</translation>
    </message>
    <message>
        <source>float of an undefined value</source>
        <comment>float_of_undefined</comment>
        <translation>float eines nicht definierten Wertes</translation>
    </message>
    <message>
        <source>items of a value of type %1</source>
        <comment>items_of_type</comment>
        <translation>items eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>abs of a value of type %1</source>
        <comment>abs_of_type</comment>
        <translation>abs eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>a filter of lists with named arguments</source>
        <comment>list_filter_with_names</comment>
        <translation>ein Listenfilter mit benannten Argumenten</translation>
    </message>
    <message>
        <source>selectattr without an attribute</source>
        <comment>selectattr_without_attribute</comment>
        <translation>selectattr ohne Attribut</translation>
    </message>
    <message>
        <source>a test&apos;s name of type %1</source>
        <comment>test_name_of_type</comment>
        <translation>der Name eines Tests vom Typ %1</translation>
    </message>
    <message>
        <source>map without a filter or an attribute</source>
        <comment>map_without_filter</comment>
        <translation>map ohne Filter oder Attribut</translation>
    </message>
    <message>
        <source>a filter&apos;s name of type %1</source>
        <comment>filter_name_of_type</comment>
        <translation>der Name eines Filters vom Typ %1</translation>
    </message>
    <message>
        <source>map of map</source>
        <comment>map_of_map</comment>
        <translation>map von map</translation>
    </message>
    <message>
        <source>the filter &apos;%1&apos;</source>
        <comment>the_filter</comment>
        <translation>der Filter &apos;%1&apos;</translation>
    </message>
    <message>
        <source>the test &apos;%1&apos;</source>
        <comment>the_test</comment>
        <translation>der Test &apos;%1&apos;</translation>
    </message>
    <message>
        <source>the test &apos;%1&apos; without a value</source>
        <comment>test_without_value</comment>
        <translation>der Test &apos;%1&apos; ohne Wert</translation>
    </message>
    <message>
        <source>printing a %1</source>
        <comment>printing_type</comment>
        <translation>die Ausgabe eines Wertes vom Typ %1</translation>
    </message>
    <message>
        <source>%1 (emulated)</source>
        <comment>emulated_device</comment>
        <translation>%1 (emuliert)</translation>
    </message>
    <message>
        <source>The experts cannot be dealt out to %1 machines: a layer has %2, and each machine needs one of them; expected 1 to %3 machines.</source>
        <comment>too_many_machines</comment>
        <translation>Die Experten lassen sich nicht auf %1 Computer verteilen: Eine Schicht hat %2, und jeder Computer braucht einen davon; erwartet: 1 bis %3 Computer.</translation>
    </message>
    <message>
        <source>There is no network &quot;%1&quot;; there are %2.</source>
        <comment>no_such_network</comment>
        <translation>Es gibt kein Netz &quot;%1&quot;; es gibt %2.</translation>
    </message>
    <message>
        <source>1 Gbit Ethernet</source>
        <comment>ethernet_1g</comment>
        <translation>1-Gbit-Ethernet</translation>
    </message>
    <message>
        <source>10 Gbit Ethernet</source>
        <comment>ethernet_10g</comment>
        <translation>10-Gbit-Ethernet</translation>
    </message>
    <message>
        <source>RoCEv2, 25 Gbit</source>
        <comment>rocev2_25g</comment>
        <translation>RoCEv2, 25 Gbit</translation>
    </message>
    <message>
        <source>InfiniBand, 200 Gbit</source>
        <comment>infiniband_200g</comment>
        <translation>InfiniBand, 200 Gbit</translation>
    </message>
    <message>
        <source>line rate; 1 ms a message over TCP, as measured on 10 Gbit Ethernet</source>
        <comment>network_figures_tcp_10g</comment>
        <translation>Leitungsrate; 1 ms je Nachricht über TCP, wie auf 10-Gbit-Ethernet gemessen</translation>
    </message>
    <message>
        <source>line rate; 1 ms a message over TCP, measured on a cluster of four</source>
        <comment>network_figures_tcp_cluster</comment>
        <translation>Leitungsrate; 1 ms je Nachricht über TCP, gemessen auf einem Cluster aus vieren</translation>
    </message>
    <message>
        <source>line rate and latency as the network card&apos;s maker gives them</source>
        <comment>network_figures_of_maker</comment>
        <translation>Leitungsrate und Latenz nach Angabe des Herstellers der Netzwerkkarte</translation>
    </message>
    <message>
        <source>There is no model at %1; expected a GGUF file, or a folder with config.json.</source>
        <comment>no_model_at</comment>
        <translation>Unter %1 ist kein Modell; erwartet: eine GGUF-Datei oder ein Ordner mit config.json.</translation>
    </message>
    <message>
        <source>%1 is no model file; expected a GGUF file, or a folder with config.json, or its config.json or *.safetensors.</source>
        <comment>no_model_file</comment>
        <translation>%1 ist keine Modelldatei; erwartet: eine GGUF-Datei, ein Ordner mit config.json, oder dessen config.json oder *.safetensors.</translation>
    </message>
    <message>
        <source>%1: config.json is missing; expected a model&apos;s folder with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards, or a GGUF file</source>
        <comment>config_missing</comment>
        <translation>%1: config.json fehlt; erwartet: der Ordner eines Modells mit config.json, den Dateien des Tokenizers und model.safetensors oder model.safetensors.index.json mit seinen Teilen, oder eine GGUF-Datei</translation>
    </message>
    <message>
        <source>%1: config.json is missing; expected a model&apos;s folder with config.json, the tokenizer&apos;s files, and model.safetensors or model.safetensors.index.json with its shards, or a GGUF file (%2 is there, a format that Offstage does not read)</source>
        <comment>config_missing_foreign_files</comment>
        <translation>%1: config.json fehlt; erwartet: der Ordner eines Modells mit config.json, den Dateien des Tokenizers und model.safetensors oder model.safetensors.index.json mit seinen Teilen, oder eine GGUF-Datei (%2 ist da, ein Format, das Offstage nicht liest)</translation>
    </message>
    <message>
        <source>%1: holds %2 GGUF models (%3 ...); expected the path of one of them</source>
        <comment>many_gguf_models</comment>
        <translation>%1: enthält %2 GGUF-Modelle (%3 ...); erwartet: der Pfad von einem davon</translation>
    </message>
    <message>
        <source>%1: is missing; expected all %2 parts of this model in one folder</source>
        <comment>part_missing</comment>
        <translation>%1: fehlt; erwartet: alle %2 Teile dieses Modells in einem Ordner</translation>
    </message>
    <message>
        <source>%1: byte %2: %3; expected %4</source>
        <comment>byte_rejected</comment>
        <translation>%1: Byte %2: %3; erwartet: %4</translation>
    </message>
    <message>
        <source>the file begins with %1</source>
        <comment>file_begins_with</comment>
        <translation>die Datei beginnt mit %1</translation>
    </message>
    <message>
        <source>%1: is a big-endian GGUF file; expected a little-endian one</source>
        <comment>gguf_big_endian</comment>
        <translation>%1: ist eine Big-Endian-GGUF-Datei; erwartet: eine in Little-Endian</translation>
    </message>
    <message>
        <source>the number of tensors</source>
        <comment>number_of_tensors</comment>
        <translation>die Anzahl der Tensoren</translation>
    </message>
    <message>
        <source>the number of metadata pairs</source>
        <comment>number_of_metadata_pairs</comment>
        <translation>die Anzahl der Metadaten</translation>
    </message>
    <message>
        <source>a metadata key</source>
        <comment>a_metadata_key</comment>
        <translation>ein Schlüssel der Metadaten</translation>
    </message>
    <message>
        <source>the metadata %1</source>
        <comment>the_metadata</comment>
        <translation>die Metadaten %1</translation>
    </message>
    <message>
        <source>the metadata %1, its type,</source>
        <comment>metadata_type</comment>
        <translation>die Metadaten %1, ihr Typ,</translation>
    </message>
    <message>
        <source>%1, the type of its items,</source>
        <comment>type_of_items</comment>
        <translation>%1, der Typ der Einträge,</translation>
    </message>
    <message>
        <source>the length of %1</source>
        <comment>length_of</comment>
        <translation>die Länge von %1</translation>
    </message>
    <message>
        <source>a tensor&apos;s name</source>
        <comment>a_tensor_name</comment>
        <translation>der Name eines Tensors</translation>
    </message>
    <message>
        <source>a type from 0 to 12</source>
        <comment>a_type_to_12</comment>
        <translation>ein Typ von 0 bis 12</translation>
    </message>
    <message>
        <source>%1 is a list of lists of lists</source>
        <comment>list_of_lists_of_lists</comment>
        <translation>%1 ist eine Liste von Listen von Listen</translation>
    </message>
    <message>
        <source>fewer levels</source>
        <comment>fewer_levels</comment>
        <translation>weniger Ebenen</translation>
    </message>
    <message>
        <source>%1 is there twice</source>
        <comment>is_there_twice</comment>
        <translation>%1 ist zweimal da</translation>
    </message>
    <message>
        <source>each once</source>
        <comment>each_once</comment>
        <translation>jedes einmal</translation>
    </message>
    <message>
        <source>a power of two; the file is damaged: fetch it again</source>
        <comment>a_power_of_two</comment>
        <translation>eine Zweierpotenz; die Datei ist beschädigt: bitte noch einmal laden</translation>
    </message>
    <message>
        <source>tensor %1</source>
        <comment>a_tensor</comment>
        <translation>Tensor %1</translation>
    </message>
    <message>
        <source>%1 has %2 dimensions</source>
        <comment>has_dimensions</comment>
        <translation>%1 hat %2 Dimensionen</translation>
    </message>
    <message>
        <source>at most 4</source>
        <comment>at_most_4</comment>
        <translation>höchstens 4</translation>
    </message>
    <message>
        <source>%1 has a dimension of %2</source>
        <comment>has_a_dimension_of</comment>
        <translation>%1 hat eine Dimension von %2</translation>
    </message>
    <message>
        <source>fewer than 2^59 weights</source>
        <comment>fewer_weights</comment>
        <translation>weniger als 2^59 Gewichte</translation>
    </message>
    <message>
        <source>%1: tensor %2 begins at byte %3 of the data; expected a multiple of the alignment, %4; the file is damaged: fetch it again</source>
        <comment>tensor_alignment</comment>
        <translation>%1: Tensor %2 beginnt bei Byte %3 der Daten; erwartet: ein Vielfaches der Ausrichtung, %4; die Datei ist beschädigt: bitte noch einmal laden</translation>
    </message>
    <message>
        <source>a list of lists</source>
        <comment>a_list_of_lists</comment>
        <translation>eine Liste von Listen</translation>
    </message>
    <message>
        <source>a list of texts</source>
        <comment>a_list_of_texts</comment>
        <translation>eine Liste von Texten</translation>
    </message>
    <message>
        <source>a list of integers</source>
        <comment>a_list_of_integers</comment>
        <translation>eine Liste ganzer Zahlen</translation>
    </message>
    <message>
        <source>a list of numbers</source>
        <comment>a_list_of_numbers</comment>
        <translation>eine Liste von Zahlen</translation>
    </message>
    <message>
        <source>the name that this part had, -00001-of-%1.gguf at its end, with the others beside it</source>
        <comment>a_part_name</comment>
        <translation>der Name, den dieser Teil hatte, mit -00001-of-%1.gguf am Ende, und die anderen daneben</translation>
    </message>
    <message>
        <source>%1, as its name says</source>
        <comment>as_its_name_says</comment>
        <translation>%1, wie ihr Name sagt</translation>
    </message>
    <message>
        <source>%1: tensor %2 is in another part of the model too; expected it once</source>
        <comment>tensor_in_two_parts</comment>
        <translation>%1: Tensor %2 ist auch in einem anderen Teil des Modells; erwartet: einmal</translation>
    </message>
    <message>
        <source>%1: &quot;general.architecture&quot; %2 is not supported; supported: %3</source>
        <comment>gguf_architecture_unsupported</comment>
        <translation>%1: &quot;general.architecture&quot; %2 wird nicht unterstützt; unterstützt: %3</translation>
    </message>
    <message>
        <source>%1: tensor %2 is missing or no list of F32; expected the factors of rotary positions</source>
        <comment>rope_factors_missing</comment>
        <translation>%1: Tensor %2 fehlt oder ist keine Liste von F32; erwartet: die Faktoren der rotierenden Positionen</translation>
    </message>
    <message>
        <source>%1: tensor &quot;rope_freqs.weight&quot; has factors of its own for the pairs that turn, which is not supported; expected 1, and then at least 1e20</source>
        <comment>rope_factors_unsupported</comment>
        <translation>%1: Tensor &quot;rope_freqs.weight&quot; hat eigene Faktoren für die Paare, die sich drehen; das wird nicht unterstützt; erwartet: 1, danach mindestens 1e20</translation>
    </message>
    <message>
        <source>a list of %1 booleans</source>
        <comment>a_list_of_booleans</comment>
        <translation>eine Liste aus %1 Wahrheitswerten</translation>
    </message>
    <message>
        <source>a number for each of %1 layers</source>
        <comment>a_number_for_each_layer</comment>
        <translation>eine Zahl für jede der %1 Schichten</translation>
    </message>
    <message>
        <source>The file&apos;s layers that predict further tokens are not used (%1, tensors: %2).</source>
        <comment>unused_prediction_layers</comment>
        <translation>Die Schichten der Datei, die weitere Tokens vorhersagen, werden nicht benutzt (%1, Tensoren: %2).</translation>
    </message>
    <message>
        <source>The file&apos;s vision tower is not used (%1, tensors: %2): text alone is read.</source>
        <comment>unused_vision_tower</comment>
        <translation>Der Bildteil der Datei wird nicht benutzt (%1, Tensoren: %2): Gelesen wird nur Text.</translation>
    </message>
    <message>
        <source>The file&apos;s audio tower is not used (%1, tensors: %2): text alone is read.</source>
        <comment>unused_audio_tower</comment>
        <translation>Der Audioteil der Datei wird nicht benutzt (%1, Tensoren: %2): Gelesen wird nur Text.</translation>
    </message>
    <message>
        <source>Tensors of the file that nothing here knows are not used (%1, tensors: %2); the first is %3.</source>
        <comment>unused_tensors</comment>
        <translation>Tensoren der Datei, die hier niemand kennt, werden nicht benutzt (%1, Tensoren: %2); der erste ist %3.</translation>
    </message>
    <message>
        <source>%1: tensor &quot;token_embd.weight&quot; is missing or no matrix; expected the tokens&apos; embedding</source>
        <comment>embedding_missing</comment>
        <translation>%1: Tensor &quot;token_embd.weight&quot; fehlt oder ist keine Matrix; erwartet: die Einbettung der Tokens</translation>
    </message>
    <message>
        <source>%1: tensor %2 has dtype %3; expected %4</source>
        <comment>tensor_dtype_differs</comment>
        <translation>%1: Tensor %2 hat den dtype %3; erwartet: %4</translation>
    </message>
    <message>
        <source>%1: tensor %2 has blocks of %3 weights that are no parts of rows of %4; expected whole blocks in each row of inputs</source>
        <comment>tensor_blocks_split</comment>
        <translation>%1: Tensor %2 hat Blöcke von %3 Gewichten, die keine Teile von Zeilen von %4 sind; erwartet: ganze Blöcke in jeder Zeile von Eingaben</translation>
    </message>
    <message>
        <source>%1: the experts of layer %2 are in several formats, %3 and %4 among them; expected one for all experts of a layer</source>
        <comment>expert_formats_differ</comment>
        <translation>%1: die Experten der Schicht %2 sind in mehreren Formaten, %3 und %4 darunter; erwartet: eines für alle Experten einer Schicht</translation>
    </message>
    <message>
        <source>%1: its layers have experts in more than %2 combinations of formats; expected no more</source>
        <comment>too_many_format_mixes</comment>
        <translation>%1: seine Schichten haben Experten in mehr als %2 Kombinationen von Formaten; erwartet: nicht mehr</translation>
    </message>
    <message>
        <source>%1: &quot;tokenizer.ggml.model&quot; is %2; expected one of llama, gpt2, gemma4</source>
        <comment>tokenizer_model_unsupported</comment>
        <translation>%1: &quot;tokenizer.ggml.model&quot; ist %2; erwartet: llama, gpt2 oder gemma4</translation>
    </message>
    <message>
        <source>%1 of the model&apos;s dense matrices are in few bits already and stay as they are.</source>
        <comment>dense_matrices_stay</comment>
        <translation>%1 der dichten Matrizen des Modells haben schon wenige Bits und bleiben, wie sie sind.</translation>
    </message>
    <message>
        <source>sha256: and hexadecimal digits</source>
        <comment>sha256_digits</comment>
        <translation>sha256: und hexadezimale Ziffern</translation>
    </message>
    <message>
        <source>Quantized a second time: %1 experts go from the file&apos;s %2 to %3, with a relative squared error of %4 against the file.</source>
        <comment>quantized_twice</comment>
        <translation>Ein zweites Mal quantisiert: %1 Experten kommen von %2 der Datei nach %3, mit einem relativen quadratischen Fehler von %4 gegenüber der Datei.</translation>
    </message>
    <message>
        <source>%1 (as in the file)</source>
        <comment>as_in_the_file</comment>
        <translation>%1 (wie in der Datei)</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it looks like a Git LFS pointer: fetch the file itself, &quot;git lfs pull&quot;</source>
        <comment>gguf_not_lfs_pointer</comment>
        <translation>&quot;GGUF&quot;; sie sieht nach einem Verweis von Git LFS aus: bitte die Datei selbst holen, &quot;git lfs pull&quot;</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it looks like a web page: fetch the file itself</source>
        <comment>gguf_not_web_page</comment>
        <translation>&quot;GGUF&quot;; sie sieht nach einer Webseite aus: bitte die Datei selbst holen</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it is of the time before GGUF: fetch a newer file of the model</source>
        <comment>gguf_not_older</comment>
        <translation>&quot;GGUF&quot;; sie stammt aus der Zeit vor GGUF: bitte eine neuere Datei des Modells holen</translation>
    </message>
    <message>
        <source>&quot;GGUF&quot;; it is another file or damaged: fetch it again</source>
        <comment>gguf_not_other_file</comment>
        <translation>&quot;GGUF&quot;; es ist eine andere Datei oder sie ist beschädigt: bitte noch einmal laden</translation>
    </message>
    <message>
        <source>%1: tensor %2 begins at byte %3 of the data; expected no more than a file of %4 bytes can hold; the file is damaged: fetch it again</source>
        <comment>tensor_begins_outside</comment>
        <translation>%1: Tensor %2 beginnt bei Byte %3 der Daten; erwartet: nicht mehr, als eine Datei von %4 Bytes fassen kann; die Datei ist beschädigt: bitte noch einmal laden</translation>
    </message>
    <message>
        <source>one of %1; take a file of this model in one of them, such as its Q4_K_M</source>
        <comment>a_readable_type</comment>
        <translation>eines von %1; bitte eine Datei dieses Modells in einem davon nehmen, etwa Q4_K_M</translation>
    </message>
    <message>
        <source>%1 has rows of %2 weights in %3</source>
        <comment>has_rows_of</comment>
        <translation>%1 hat Zeilen von %2 Gewichten in %3</translation>
    </message>
    <message>
        <source>a multiple of %1</source>
        <comment>a_multiple_of</comment>
        <translation>ein Vielfaches von %1</translation>
    </message>
    <message>
        <source>%1: is GGUF version %2; expected version 2 or 3: fetch a newer file of the model</source>
        <comment>gguf_version</comment>
        <translation>%1: ist GGUF-Version %2; erwartet: Version 2 oder 3: bitte eine neuere Datei des Modells holen</translation>
    </message>
    <message>
        <source>no more than a file of %1 bytes can hold, and at most %2: fetch it again</source>
        <comment>no_more_than_file_holds</comment>
        <translation>nicht mehr, als eine Datei von %1 Bytes fassen kann, und höchstens %2: bitte noch einmal laden</translation>
    </message>
    <message>
        <source>%1: is a link to %2, which is missing; expected a file there: fetch it again</source>
        <comment>link_to_nothing</comment>
        <translation>%1: ist eine Verknüpfung mit %2, und das fehlt; erwartet: eine Datei an dieser Stelle: bitte noch einmal laden</translation>
    </message>
    <message>
        <source>%1: is missing; expected it, because Ollama&apos;s %2 is kept in it: fetch it again, &quot;ollama pull %3&quot;</source>
        <comment>ollama_blob_missing</comment>
        <translation>%1: fehlt; erwartet, weil Ollamas %2 darin liegt: bitte noch einmal laden, &quot;ollama pull %3&quot;</translation>
    </message>
    <message>
        <source>Ollama&apos;s %1 is a model with an adapter (LoRA) beside it, which Offstage does not add to the weights; open the model that it was made from, or a GGUF file into which the adapter is merged (llama.cpp&apos;s llama-export-lora)</source>
        <comment>ollama_adapter</comment>
        <translation>%1 von Ollama ist ein Modell mit einem Adapter (LoRA) daneben, den Offstage nicht in die Gewichte einrechnet; öffnen Sie das Modell, aus dem es gemacht ist, oder eine GGUF-Datei, in die der Adapter eingerechnet ist (llama-export-lora von llama.cpp)</translation>
    </message>
    <message>
        <source>BF16, F16 or F32: take the model in one of these, or a GGUF file of it</source>
        <comment>readable_weights</comment>
        <translation>BF16, F16 oder F32: bitte das Modell in einem davon nehmen, oder eine GGUF-Datei davon</translation>
    </message>
    <message>
        <source>The chat template of %1 has no choice of thinking, so &quot;%2&quot; cannot be chosen; ask without it.</source>
        <comment>template_without_thinking</comment>
        <translation>Die Chatvorlage von %1 lässt beim Denken keine Wahl, deshalb kann „%2“ nicht gewählt werden; bitte ohne fragen.</translation>
    </message>
    <message>
        <source>The model %1 has no way of thinking &quot;%2&quot;; its chat template offers %3.</source>
        <comment>no_such_thinking</comment>
        <translation>Das Modell %1 hat keine Art zu denken „%2“; seine Chatvorlage bietet %3.</translation>
    </message>
    <message>
        <source>Token %1 of the prompt is %2; expected 0 to %3, the vocabulary of %4.</source>
        <comment>prompt_token_out_of_range</comment>
        <translation>Token %1 des Prompts ist %2; erwartet 0 bis %3, das Vokabular von %4.</translation>
    </message>
    <message>
        <source>Token %1 of the reply&apos;s beginning is %2; expected 0 to %3, the vocabulary of %4.</source>
        <comment>reply_token_out_of_range</comment>
        <translation>Token %1 vom Anfang der Antwort ist %2; erwartet 0 bis %3, das Vokabular von %4.</translation>
    </message>
    <message>
        <source>n_alternatives is %1; expected -1 to %2.</source>
        <comment>alternatives_out_of_range</comment>
        <translation>n_alternatives ist %1; erwartet -1 bis %2.</translation>
    </message>
    <message>
        <source>This session has no tokenizer.</source>
        <comment>session_without_tokenizer</comment>
        <translation>Diese Sitzung hat keinen Tokenizer.</translation>
    </message>
    <message>
        <source>Offstage cannot listen on %1: %2</source>
        <comment>cannot_listen</comment>
        <translation>Offstage kann an %1 nicht lauschen: %2</translation>
    </message>
    <message>
        <source>another program listens there; stop it, or choose another port.</source>
        <comment>address_in_use</comment>
        <translation>Dort lauscht schon ein anderes Programm; dieses beenden oder einen anderen Port wählen.</translation>
    </message>
    <message>
        <source>this computer has no such address; choose one that it has.</source>
        <comment>address_not_here</comment>
        <translation>Dieser Computer hat keine solche Adresse; eine wählen, die er hat.</translation>
    </message>
    <message>
        <source>ports below 1024 are the administrator&apos;s; choose a larger one.</source>
        <comment>port_not_allowed</comment>
        <translation>Ports unter 1024 gehören dem Administrator; einen größeren wählen.</translation>
    </message>
    <message>
        <source>choose another address.</source>
        <comment>choose_another_address</comment>
        <translation>Eine andere Adresse wählen.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no address to listen on; expected a numeric ADDRESS:PORT like 127.0.0.1:8080 or [::1]:8080, or a port alone.</source>
        <comment>no_address</comment>
        <translation>&quot;%1&quot; ist keine Adresse zum Lauschen; erwartet: ADRESSE:PORT in Zahlen wie 127.0.0.1:8080 oder [::1]:8080, oder ein Port allein.</translation>
    </message>
    <message>
        <source>%1 is no web page&apos;s origin; expected scheme://host or scheme://host:port, like http://localhost:3000.</source>
        <comment>no_origin</comment>
        <translation>%1 ist keine Herkunft einer Webseite; erwartet: schema://host oder schema://host:port, wie http://localhost:3000.</translation>
    </message>
    <message>
        <source>The token file %1 cannot be made: %2.</source>
        <comment>token_file_not_made</comment>
        <translation>Die Token-Datei %1 kann nicht angelegt werden: %2.</translation>
    </message>
    <message>
        <source>The token file %1 cannot be read: %2.</source>
        <comment>token_file_not_read</comment>
        <translation>Die Token-Datei %1 kann nicht gelesen werden: %2.</translation>
    </message>
    <message>
        <source>Others than its owner may use the token file %1; make it private: chmod 600 %2</source>
        <comment>token_file_not_private</comment>
        <translation>Nicht nur der Besitzer darf die Token-Datei %1 benutzen; sie schützen mit: chmod 600 %2</translation>
    </message>
    <message>
        <source>The token file %1 holds no token; expected %2 to %3 printable characters without blanks, or no such file yet.</source>
        <comment>token_file_without_token</comment>
        <translation>Die Token-Datei %1 enthält kein Token; erwartet: %2 bis %3 druckbare Zeichen ohne Leerzeichen, oder noch keine solche Datei.</translation>
    </message>
    <message>
        <source>%1 is %2</source>
        <comment>is_value</comment>
        <translation>%1 ist %2</translation>
    </message>
    <message>
        <source>BF16, F16 or F32</source>
        <comment>plain_types</comment>
        <translation>BF16, F16 oder F32</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights (%3), room for other conversations (%4), the KV cache of %5 tokens (%6) and buffers (%7) need %8, %9 more.</source>
        <comment>vram_too_small_with_kept</comment>
        <translation>Das Modell passt nicht in %1 %2: Dichte Gewichte (%3), Platz für andere Unterhaltungen (%4), der KV-Cache für %5 Tokens (%6) und Puffer (%7) brauchen %8, das sind %9 mehr.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of %2: dense weights and room for experts from disk (%3), room for other conversations (%4), the KV cache of %5 tokens (%6) and buffers (%7) need %8, %9 more.</source>
        <comment>vram_too_small_with_disk_and_kept</comment>
        <translation>Das Modell passt nicht in %1 %2: Dichte Gewichte und Platz für Experten vom Datenträger (%3), Platz für andere Unterhaltungen (%4), der KV-Cache für %5 Tokens (%6) und Puffer (%7) brauchen %8, das sind %9 mehr.</translation>
    </message>
    <message>
        <source>The model does not fit in %1 of RAM: %2 are needed even with the experts on disk, room for other conversations (%3), %4 more.</source>
        <comment>ram_too_small_with_kept</comment>
        <translation>Das Modell passt nicht in %1 RAM: Selbst mit den Experten auf dem Datenträger sind %2 nötig, darin Platz für andere Unterhaltungen (%3), das sind %4 mehr.</translation>
    </message>
    <message>
        <source>The token file %1 is no file; expected one that holds the token.</source>
        <comment>token_file_is_no_file</comment>
        <translation>Die Token-Datei %1 ist keine Datei; erwartet: eine, die das Token enthält.</translation>
    </message>
    <message>
        <source>text</source>
        <comment>text_of_template</comment>
        <translation>Text</translation>
    </message>
    <message>
        <source>A thought is not valid UTF-8 at byte %1.</source>
        <comment>thought_not_utf8</comment>
        <translation>Ein Gedanke ist an Byte %1 kein gültiges UTF-8.</translation>
    </message>
    <message>
        <source>The token file %1 cannot be written: %2.</source>
        <comment>token_file_not_written</comment>
        <translation>Die Token-Datei %1 kann nicht geschrieben werden: %2.</translation>
    </message>
    <message>
        <source>%1: there is no such file of neuron thresholds</source>
        <comment>no_such_neuron_thresholds</comment>
        <translation>%1: Es gibt keine solche Datei mit Schwellen für Neuronen</translation>
    </message>
    <message>
        <source>a list of objects</source>
        <comment>a_list_of_threshold_rows</comment>
        <translation>eine Liste von Objekten</translation>
    </message>
    <message>
        <source>rows whose &quot;theta&quot; is above 0 and ascends</source>
        <comment>ascending_thresholds</comment>
        <translation>Zeilen, deren „theta“ über 0 liegt und ansteigt</translation>
    </message>
    <message>
        <source>%1 is connected: it holds %2 of %3 experts; %4 ms there and back, %5 MB/s.</source>
        <comment>node_is_used</comment>
        <translation>%1 ist verbunden: Er hält %2 von %3 Experten; %4 ms hin und zurück, %5 MB/s.</translation>
    </message>
    <message>
        <source>%1 cannot be reached (%2), so its experts run here; is offstage-node running there, and paired with this computer?</source>
        <comment>node_not_reached</comment>
        <translation>%1 ist nicht zu erreichen (%2), seine Experten laufen daher hier; läuft dort offstage-node, und ist er mit diesem Computer gekoppelt?</translation>
    </message>
    <message>
        <source>cancelled</source>
        <comment>node_test_cancelled</comment>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>%1 does not answer (%2); is offstage-node running there, and paired with this computer?</source>
        <comment>node_test_failed</comment>
        <translation>%1 antwortet nicht (%2); läuft dort offstage-node, und ist er mit diesem Computer gekoppelt?</translation>
    </message>
    <message>
        <source>%1 refuses to work for this computer: %2</source>
        <comment>node_refuses</comment>
        <translation>%1 arbeitet nicht für diesen Computer: %2</translation>
    </message>
    <message>
        <source>%1 is gone (%2): what it held is computed here or by another machine from now on, and the answer is the same.</source>
        <comment>node_lost</comment>
        <translation>%1 ist ausgefallen (%2): Was er hielt, wird ab jetzt hier oder von einem anderen Computer gerechnet, und die Antwort bleibt dieselbe.</translation>
    </message>
    <message>
        <source>%1 is back and is used again.</source>
        <comment>node_is_back</comment>
        <translation>%1 ist wieder da und wird wieder benutzt.</translation>
    </message>
    <message>
        <source>Without %1 a token takes %2 ms; with it, it took %3 ms.</source>
        <comment>node_loss_costs</comment>
        <translation>Ohne %1 dauert ein Token %2 ms; damit waren es %3 ms.</translation>
    </message>
    <message>
        <source>no answer for %1 s</source>
        <comment>node_is_silent</comment>
        <translation>keine Antwort seit %1 s</translation>
    </message>
    <message>
        <source>it sent what is no answer: %1</source>
        <comment>node_sent_nonsense</comment>
        <translation>was er sandte, ist keine Antwort: %1</translation>
    </message>
    <message>
        <source>it could not compute: %1</source>
        <comment>node_could_not_compute</comment>
        <translation>er konnte nicht rechnen: %1</translation>
    </message>
    <message>
        <source>it is being shut down</source>
        <comment>node_says_farewell</comment>
        <translation>er wird beendet</translation>
    </message>
    <message>
        <source>the connection ended</source>
        <comment>node_link_ended</comment>
        <translation>die Verbindung endete</translation>
    </message>
    <message>
        <source>%1 has no room for an expert of this model; raise its --ram.</source>
        <comment>node_holds_nothing</comment>
        <translation>%1 hat keinen Platz für einen Experten dieses Modells; dort --ram erhöhen.</translation>
    </message>
    <message>
        <source>%1 computes with %2, this computer with %3: last bits differ between the two.</source>
        <comment>node_rounds_otherwise</comment>
        <translation>%1 rechnet mit %2, dieser Computer mit %3: Die letzten Bits unterscheiden sich zwischen beiden.</translation>
    </message>
    <message>
        <source>activations go to other machines in bf16: answers differ in rounding from those of one machine</source>
        <comment>node_activations_rounded</comment>
        <translation>Aktivierungen gehen in bf16 zu anderen Computern: Antworten weichen in der Rundung von denen eines Computers ab</translation>
    </message>
    <message>
        <source>%1 machines are more than can be used at once; expected at most %2.</source>
        <comment>too_many_nodes</comment>
        <translation>%1 Computer sind mehr, als zugleich benutzt werden können; erwartet: höchstens %2.</translation>
    </message>
    <message>
        <source>Experts on other machines</source>
        <comment>loading_experts_elsewhere</comment>
        <translation>Experten auf anderen Computern</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no word of a pairing code; expected the eight words that offstage-node pair shows.</source>
        <comment>pairing_word_unknown</comment>
        <translation>&quot;%1&quot; ist kein Wort eines Kopplungscodes; erwartet: die acht Wörter, die offstage-node pair zeigt.</translation>
    </message>
    <message>
        <source>A pairing code has %1 words, this one %2.</source>
        <comment>pairing_words_missing</comment>
        <translation>Ein Kopplungscode hat %1 Wörter, dieser %2.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no address of a machine; expected HOST, HOST:PORT or [ADDRESS]:PORT.</source>
        <comment>node_address_invalid</comment>
        <translation>&quot;%1&quot; ist keine Adresse eines Computers; erwartet: HOST, HOST:PORT oder [ADRESSE]:PORT.</translation>
    </message>
    <message>
        <source>This machine&apos;s key cannot be made in %1: %2.</source>
        <comment>identity_not_made</comment>
        <translation>Der Schlüssel dieses Computers lässt sich in %1 nicht anlegen: %2.</translation>
    </message>
    <message>
        <source>%1 holds no key and certificate that belong together; remove the two files, and pair anew.</source>
        <comment>identity_unreadable</comment>
        <translation>In %1 liegen kein Schlüssel und Zertifikat, die zusammengehören; die beiden Dateien löschen und neu koppeln.</translation>
    </message>
    <message>
        <source>Others than its owner may read this machine&apos;s key %1; make it private: chmod 600 %2</source>
        <comment>identity_not_private</comment>
        <translation>Nicht nur der Eigentümer darf den Schlüssel dieses Computers %1 lesen; ihn privat machen: chmod 600 %2</translation>
    </message>
    <message>
        <source>What is known of other machines cannot be written to %1: %2.</source>
        <comment>peers_not_written</comment>
        <translation>Was über andere Computer bekannt ist, lässt sich nicht in %1 schreiben: %2.</translation>
    </message>
    <message>
        <source>%1 does not say which machines are known: %2; remove the file, and pair anew.</source>
        <comment>peers_invalid</comment>
        <translation>%1 sagt nicht, welche Computer bekannt sind: %2; die Datei löschen und neu koppeln.</translation>
    </message>
    <message>
        <source>No machine &quot;%1&quot; is paired with this one; %2.</source>
        <comment>no_such_peer</comment>
        <translation>Kein Computer &quot;%1&quot; ist mit diesem gekoppelt; %2.</translation>
    </message>
    <message>
        <source>there are %1</source>
        <comment>peers_are</comment>
        <translation>es gibt %1</translation>
    </message>
    <message>
        <source>none is: offstage-node pair there and offstage-cli nodes pair here make a pair</source>
        <comment>no_peers_yet</comment>
        <translation>noch ist es keiner: offstage-node pair dort und offstage-cli nodes pair hier koppeln zwei</translation>
    </message>
    <message>
        <source>Nothing shows a pairing code at %1 (%2); start offstage-node pair there, and use the address that it shows.</source>
        <comment>pairing_not_reached</comment>
        <translation>Bei %1 zeigt nichts einen Kopplungscode (%2); dort offstage-node pair starten und die Adresse nehmen, die es zeigt.</translation>
    </message>
    <message>
        <source>Pairing was cancelled; nothing was stored.</source>
        <comment>pairing_cancelled</comment>
        <translation>Die Kopplung wurde abgebrochen; nichts wurde gespeichert.</translation>
    </message>
    <message>
        <source>%1 does not accept this code; expected the one that offstage-node pair shows there now. A code is good for one pair.</source>
        <comment>pairing_refused</comment>
        <translation>%1 nimmt diesen Code nicht an; erwartet: der, den offstage-node pair dort jetzt zeigt. Ein Code gilt für eine Kopplung.</translation>
    </message>
    <message>
        <source>What answers at %1 does not know the code, so it may be another machine than the one that shows it: nothing was stored.</source>
        <comment>pairing_not_proven</comment>
        <translation>Was bei %1 antwortet, kennt den Code nicht; es kann ein anderer Computer sein als der, der ihn zeigt: Nichts wurde gespeichert.</translation>
    </message>
    <message>
        <source>a list of at most 16 objects</source>
        <comment>a_list_of_chosen_thresholds</comment>
        <translation>eine Liste von höchstens 16 Objekten</translation>
    </message>
    <message>
        <source>objects whose &quot;loss&quot; is above 0 and ascends</source>
        <comment>ascending_losses</comment>
        <translation>Objekte, deren „loss“ über 0 liegt und ansteigt</translation>
    </message>
    <message>
        <source>a list with a share from 0 to 1 for each layer</source>
        <comment>a_share_for_each_layer</comment>
        <translation>eine Liste mit einem Anteil von 0 bis 1 für jede Schicht</translation>
    </message>
    <message>
        <source>a list for each layer, each of as many numbers from 0 to 1e6</source>
        <comment>a_theta_for_each_expert</comment>
        <translation>eine Liste für jede Schicht, jede aus gleich vielen Zahlen von 0 bis 1e6</translation>
    </message>
    <message>
        <source>Chosen within a loss of %1 nats per token: %2 bits per expert weight, %3. Counted are %4 for the formats and %5 for the neurons, %6 in sum; each was measured alone, so that the sum is an estimate of both.</source>
        <comment>quality_traded</comment>
        <translation>Gewählt innerhalb eines Verlusts von %1 nat je Token: %2 Bit je Expertengewicht, %3. Gezählt werden %4 für die Formate und %5 für die Neuronen, zusammen %6; jedes wurde für sich gemessen, die Summe ist also eine Schätzung für beides.</translation>
    </message>
    <message>
        <source>neurons skipped by expert, for a loss of %1</source>
        <comment>left_out_by_expert</comment>
        <translation>Neuronen je Experte übersprungen, für einen Verlust von %1</translation>
    </message>
    <message>
        <source>neurons up to %1 skipped</source>
        <comment>left_out_up_to</comment>
        <translation>Neuronen bis %1 übersprungen</translation>
    </message>
    <message>
        <source>no neurons skipped</source>
        <comment>none_left_out</comment>
        <translation>keine Neuronen übersprungen</translation>
    </message>
    <message>
        <source>What fewer bits cost was not measured of this model: “offstage-cli quantize-report --keep” does.</source>
        <comment>formats_without_a_loss</comment>
        <translation>Was weniger Bit kosten, wurde an diesem Modell nicht gemessen: „offstage-cli quantize-report --keep“ tut es.</translation>
    </message>
    <message>
        <source>What skipped neurons cost was not measured of this model: “offstage-cli sensitivity --keep” does.</source>
        <comment>neurons_without_a_loss</comment>
        <translation>Was übersprungene Neuronen kosten, wurde an diesem Modell nicht gemessen: „offstage-cli sensitivity --keep“ tut es.</translation>
    </message>
    <message>
        <source>A floor of measured loss cannot be kept: what is skipped, or how neurons are guessed, was not measured; expected what was, or nothing skipped.</source>
        <comment>left_out_without_a_loss</comment>
        <translation>Eine Grenze des gemessenen Verlusts lässt sich nicht einhalten: Was übersprungen wird oder wie Neuronen geraten werden, wurde nicht gemessen; erwartet wird etwas Gemessenes, oder dass nichts übersprungen wird.</translation>
    </message>
    <message>
        <source>The neurons that are skipped cost %1 nats per token, more than the floor of %2; expected a loss up to that.</source>
        <comment>left_out_above_the_floor</comment>
        <translation>Die übersprungenen Neuronen kosten %1 nat je Token, mehr als die Grenze von %2; erwartet wird ein Verlust bis dahin.</translation>
    </message>
    <message>
        <source>each format once</source>
        <comment>each_format_once</comment>
        <translation>jedes Format einmal</translation>
    </message>
    <message>
        <source>No thresholds are kept for %1 and a loss of at most %2; kept: %3. Choose them with offstage-cli sensitivity --thresholds-for-loss LOSS --keep.</source>
        <comment>no_thresholds_for_loss</comment>
        <translation>Für %1 und einen Verlust von höchstens %2 sind keine Schwellen aufbewahrt; aufbewahrt: %3. Sie werden mit offstage-cli sensitivity --thresholds-for-loss LOSS --keep gewählt.</translation>
    </message>
    <message>
        <source>none</source>
        <comment>no_thresholds_kept</comment>
        <translation>keine</translation>
    </message>
    <message>
        <source>The thresholds kept beside %1 are of %2 layers of %3 experts, the model has %4 of %5. Choose them anew with offstage-cli sensitivity --thresholds-for-loss LOSS --keep.</source>
        <comment>thresholds_of_another_model</comment>
        <translation>Die neben %1 aufbewahrten Schwellen sind für %2 Schichten mit %3 Experten, das Modell hat %4 mit %5. Sie werden mit offstage-cli sensitivity --thresholds-for-loss LOSS --keep neu gewählt.</translation>
    </message>
    <message>
        <source>%1 makes no whole steps for this computer: %2</source>
        <comment>node_cannot_follow</comment>
        <translation>%1 macht für diesen Computer keine ganzen Schritte: %2</translation>
    </message>
    <message>
        <source>The other machines compute experts for this one (forecast: %1 ms a token; if each made every step itself: %2 ms).</source>
        <comment>node_shape_helpers</comment>
        <translation>Die anderen Computer berechnen Experten für diesen (Prognose: %1 ms je Token; machte jeder alle Schritte selbst: %2 ms).</translation>
    </message>
    <message>
        <source>Every machine makes each step itself and computes its share of the experts (forecast: %1 ms a token; if the others computed experts for this one: %2 ms).</source>
        <comment>node_shape_decentralised</comment>
        <translation>Jeder Computer macht jeden Schritt selbst und berechnet seinen Teil der Experten (Prognose: %1 ms je Token; berechneten die anderen Experten für diesen: %2 ms).</translation>
    </message>
    <message>
        <source>The other machines compute experts for this one: nothing is known that a forecast of the other shape could be made of.</source>
        <comment>node_shape_not_forecast</comment>
        <translation>Die anderen Computer berechnen Experten für diesen: Für eine Prognose der anderen Aufteilung ist nichts bekannt.</translation>
    </message>
    <message>
        <source>Of an answer like this one this computer makes the steps alone: beams, several answers at once and neurons skipped expert by expert are nothing that machines do together.</source>
        <comment>node_steps_alone</comment>
        <translation>Die Schritte einer solchen Antwort macht dieser Computer allein: Beams, mehrere Antworten zugleich und je Experte übersprungene Neuronen machen Computer nicht gemeinsam.</translation>
    </message>
    <message>
        <source>The plan now keeps the KV cache in another type than the other machines do: this computer makes the steps alone until they are connected to anew.</source>
        <comment>node_steps_alone_for_kv</comment>
        <translation>Der Plan hält den KV-Cache jetzt in einem anderen Typ als die anderen Computer: Dieser Computer macht die Schritte allein, bis sie neu verbunden sind.</translation>
    </message>
    <message>
        <source>it sent more of the layers to come than is kept for them</source>
        <comment>node_ran_ahead</comment>
        <translation>er sandte mehr von kommenden Schichten, als dafür aufbewahrt wird</translation>
    </message>
    <message>
        <source>%1 computes tokens without CUDA graphs from now on: %2</source>
        <comment>graphs_given_up</comment>
        <translation>%1 berechnet Token von jetzt an ohne CUDA-Graphen: %2</translation>
    </message>
    <message>
        <source>%1 and %2 are connected to each other: %3 ms there and back, %4 MB/s.</source>
        <comment>node_pair_is_direct</comment>
        <translation>%1 und %2 sind miteinander verbunden: %3 ms hin und zurück, %4 MB/s.</translation>
    </message>
    <message>
        <source>%1 and %2 are not connected to each other (%3): what they send each other goes by this computer.</source>
        <comment>node_pair_by_desktop</comment>
        <translation>%1 und %2 sind nicht miteinander verbunden (%3): Was sie einander schicken, läuft über diesen Computer.</translation>
    </message>
    <message>
        <source>%1 and %2 are no longer connected to each other: as helpers they send each other nothing.</source>
        <comment>node_pair_parted</comment>
        <translation>%1 und %2 sind nicht mehr miteinander verbunden: Als Helfer schicken sie einander nichts.</translation>
    </message>
    <message>
        <source>By what experts were found to take since, %1 now computes %2 of %3 experts in each step (before: %4).</source>
        <comment>node_share_changed</comment>
        <translation>Nach dem, was Experten seither brauchten, berechnet %1 jetzt %2 von %3 Experten in jedem Schritt (zuvor: %4).</translation>
    </message>
    <message>
        <source>%1 was measured again: it computes experts %2 times faster than measured before.</source>
        <comment>node_is_faster</comment>
        <translation>%1 wurde noch einmal gemessen: Es berechnet Experten %2-mal so schnell wie zuvor gemessen.</translation>
    </message>
    <message>
        <source>%1 was measured again: it computes experts %2 times slower than measured before.</source>
        <comment>node_is_slower</comment>
        <translation>%1 wurde noch einmal gemessen: Experten brauchen dort %2-mal so lange wie zuvor gemessen.</translation>
    </message>
    <message>
        <source>From this answer on the other machines compute experts for this one: by what they and their links were found to take since, that is forecast to take %1 ms a token, and %2 ms if each made every step itself.</source>
        <comment>node_shape_now_helpers</comment>
        <translation>Ab dieser Antwort berechnen die anderen Computer Experten für diesen: nach dem, was sie und ihre Verbindungen seither brauchen, dauert ein Token so laut Prognose %1 ms, und %2 ms, wenn jeder jeden Schritt selbst macht.</translation>
    </message>
    <message>
        <source>From this answer on every machine makes each step itself and computes its share of the experts: by what they and their links were found to take since, that is forecast to take %1 ms a token, and %2 ms if the others computed experts for this one.</source>
        <comment>node_shape_now_decentralised</comment>
        <translation>Ab dieser Antwort macht jeder Computer jeden Schritt selbst und berechnet seinen Anteil der Experten: nach dem, was sie und ihre Verbindungen seither brauchen, dauert ein Token so laut Prognose %1 ms, und %2 ms, wenn die anderen Experten für diesen berechnen.</translation>
    </message>
    <message>
        <source>The link to %1 was measured again: messages take %2 ms there and back (before: %3).</source>
        <comment>node_link_is_faster</comment>
        <translation>Die Verbindung zu %1 wurde noch einmal gemessen: Nachrichten brauchen hin und zurück %2 ms (zuvor: %3).</translation>
    </message>
    <message>
        <source>The link to %1 has become slower: messages take %2 ms there and back (before: %3).</source>
        <comment>node_link_is_slower</comment>
        <translation>Die Verbindung zu %1 ist langsamer geworden: Nachrichten brauchen hin und zurück %2 ms (zuvor: %3).</translation>
    </message>
    <message>
        <source>%1 has become slower in use: an expert takes %2 ms there, its way included (before: %3 ms), so less is computed there.</source>
        <comment>node_use_is_slower</comment>
        <translation>%1 ist im Gebrauch langsamer geworden: ein Experte dauert dort, den Weg eingerechnet, %2 ms (zuvor: %3 ms), daher wird dort weniger berechnet.</translation>
    </message>
    <message>
        <source>%1 has become faster in use: an expert takes %2 ms there, its way included (before: %3 ms), so more is computed there.</source>
        <comment>node_use_is_faster</comment>
        <translation>%1 ist im Gebrauch schneller geworden: ein Experte dauert dort, den Weg eingerechnet, %2 ms (zuvor: %3 ms), daher wird dort mehr berechnet.</translation>
    </message>
    <message>
        <source>a list of %1: %2</source>
        <comment>a_list_of_values</comment>
        <translation>eine Liste von %1: %2</translation>
    </message>
    <message>
        <source>one number, or a list that has it for every layer</source>
        <comment>one_number_for_all_layers</comment>
        <translation>eine Zahl, oder eine Liste, die sie für jede Schicht hat</translation>
    </message>
    <message>
        <source>one number, or a list of at least %1 numbers that has it for every layer with attention and 0 for every other</source>
        <comment>one_number_of_heads</comment>
        <translation>eine Zahl, oder eine Liste von mindestens %1 Zahlen, die sie für jede Schicht mit Attention hat und 0 für jede andere</translation>
    </message>
    <message>
        <source>%1: tensor %2 is not supported, and results without it would be wrong; expected a file of this model that has only the tensors of architecture %3: take another one</source>
        <comment>tensor_unread</comment>
        <translation>%1: Der Tensor %2 wird nicht unterstützt, und ohne ihn wären die Ergebnisse falsch; erwartet: eine Datei dieses Modells, die nur die Tensoren der Architektur %3 hat: Nehmen Sie eine andere</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is %2, but the number of the file&apos;s layers that predict further tokens is %3. The %4 layers before them are used.</source>
        <comment>prediction_layers_miscounted</comment>
        <translation>&quot;%1&quot; ist %2, aber die Zahl der Schichten in der Datei, die weitere Tokens vorhersagen, ist %3. Die %4 Schichten vor ihnen werden benutzt.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is missing, but the number of the file&apos;s layers that predict further tokens is %2. The %3 layers before them are used.</source>
        <comment>prediction_layers_uncounted</comment>
        <translation>&quot;%1&quot; fehlt, aber die Zahl der Schichten in der Datei, die weitere Tokens vorhersagen, ist %2. Die %3 Schichten vor ihnen werden benutzt.</translation>
    </message>
    <message>
        <source>nothing listens there</source>
        <comment>call_nothing_listens</comment>
        <translation>dort antwortet kein Programm</translation>
    </message>
    <message>
        <source>no address is known for that name</source>
        <comment>call_name_unknown</comment>
        <translation>zu diesem Namen ist keine Adresse bekannt</translation>
    </message>
    <message>
        <source>the network has no way there</source>
        <comment>call_no_way_there</comment>
        <translation>das Netz hat keinen Weg dorthin</translation>
    </message>
    <message>
        <source>it does not prove that it is the paired machine, or does not know this computer</source>
        <comment>call_other_key</comment>
        <translation>er weist sich nicht als der gekoppelte Computer aus oder kennt diesen Computer nicht</translation>
    </message>
    <message>
        <source>no answer</source>
        <comment>call_no_answer</comment>
        <translation>keine Antwort</translation>
    </message>
    <message>
        <source>another program answers there</source>
        <comment>call_other_program</comment>
        <translation>dort antwortet ein anderes Programm</translation>
    </message>
    <message>
        <source>a message was larger than is allowed</source>
        <comment>call_message_too_large</comment>
        <translation>eine Nachricht war größer als erlaubt</translation>
    </message>
    <message>
        <source>no connection can be made</source>
        <comment>call_not_connected</comment>
        <translation>es kommt keine Verbindung zustande</translation>
    </message>
    <message>
        <source>The room of the context costs speed: about %1 tokens/s instead of %2 with a context of %3 (forecast).</source>
        <comment>context_costs</comment>
        <translation>Der Platz des Kontexts kostet Tempo: etwa %1 Tokens/s statt %2 mit einem Kontext von %3 (Prognose).</translation>
    </message>
    <message>
        <source>the part for NVIDIA GPUs, offstage-cuda, is not installed</source>
        <comment>cuda_part_not_installed</comment>
        <translation>der Teil für NVIDIA-GPUs, offstage-cuda, ist nicht installiert</translation>
    </message>
    <message>
        <source>the part for NVIDIA GPUs, offstage-cuda, does not load: %1</source>
        <comment>cuda_part_does_not_load</comment>
        <translation>der Teil für NVIDIA-GPUs, offstage-cuda, lässt sich nicht laden: %1</translation>
    </message>
    <message>
        <source>the part for NVIDIA GPUs, offstage-cuda, is of another build (%1) than this program (%2)</source>
        <comment>cuda_part_of_other_build</comment>
        <translation>der Teil für NVIDIA-GPUs, offstage-cuda, stammt aus einem anderen Build (%1) als dieses Programm (%2)</translation>
    </message>
    <message>
        <source>Looking at %1</source>
        <comment>looking_at_model</comment>
        <translation>%1 wird angesehen</translation>
    </message>
    <message>
        <source>HF_ENDPOINT is &quot;%1&quot;; expected an address like https://huggingface.co.</source>
        <comment>no_hub_address</comment>
        <translation>HF_ENDPOINT ist „%1“; erwartet: eine Adresse wie https://huggingface.co.</translation>
    </message>
    <message>
        <source>%1 was not reached: %2</source>
        <comment>hub_not_reached</comment>
        <translation>%1 wurde nicht erreicht: %2</translation>
    </message>
    <message>
        <source>%1 has no certificate that this computer trusts (%2); check the address, the clock and the proxy.</source>
        <comment>hub_not_trusted</comment>
        <translation>%1 hat kein Zertifikat, dem dieser Computer vertraut (%2); prüfen Sie Adresse, Uhr und Proxy.</translation>
    </message>
    <message>
        <source>%1 has no %2.</source>
        <comment>hub_has_no</comment>
        <translation>%1 hat kein %2.</translation>
    </message>
    <message>
        <source>%1 answered the request for %2 with status %3.</source>
        <comment>hub_answered</comment>
        <translation>%1 hat die Anfrage nach %2 mit Status %3 beantwortet.</translation>
    </message>
    <message>
        <source>%1 takes no requests for the next %2 seconds; try again then.</source>
        <comment>hub_asks_to_wait</comment>
        <translation>%1 nimmt für die nächsten %2 Sekunden keine Anfragen an; versuchen Sie es dann wieder.</translation>
    </message>
    <message>
        <source>%1 sends requests for %2 from one address to the next without an end.</source>
        <comment>hub_redirects_in_circles</comment>
        <translation>%1 schickt Anfragen nach %2 ohne Ende von einer Adresse zur nächsten.</translation>
    </message>
    <message>
        <source>%1 sends requests for %2 to an address that is not secure: %3</source>
        <comment>hub_redirects_elsewhere</comment>
        <translation>%1 schickt Anfragen nach %2 an eine Adresse, die nicht sicher ist: %3</translation>
    </message>
    <message>
        <source>%1 answered the request for %2 with more than was asked for.</source>
        <comment>hub_answer_too_long</comment>
        <translation>%1 hat die Anfrage nach %2 mit mehr beantwortet, als angefragt war.</translation>
    </message>
    <message>
        <source>%1 describes %2 in a way that cannot be read: %3</source>
        <comment>hub_answer_unreadable</comment>
        <translation>%1 beschreibt %2 so, dass es nicht zu lesen ist: %3</translation>
    </message>
    <message>
        <source>%1 sent another part of %2 than was asked for.</source>
        <comment>hub_sends_other_part</comment>
        <translation>%1 hat einen anderen Teil von %2 gesendet, als angefragt war.</translation>
    </message>
    <message>
        <source>%1 ended the connection again and again while it sent %2.</source>
        <comment>hub_cuts_off</comment>
        <translation>%1 hat die Verbindung immer wieder beendet, während es %2 sendete.</translation>
    </message>
    <message>
        <source>%1 has a file named %2, which would lie outside of the model&apos;s folder.</source>
        <comment>hub_file_name_unsafe</comment>
        <translation>%1 hat eine Datei namens %2, die außerhalb des Ordners des Modells läge.</translation>
    </message>
    <message>
        <source>%1 has no GGUF file, and no config.json with *.safetensors.</source>
        <comment>no_model_in_repository</comment>
        <translation>%1 hat keine GGUF-Datei und keine config.json mit *.safetensors.</translation>
    </message>
    <message>
        <source>%1 has several files; name one by its type behind a colon: %2.</source>
        <comment>several_files_in_repository</comment>
        <translation>%1 hat mehrere Dateien; nennen Sie eine mit ihrem Typ hinter einem Doppelpunkt: %2.</translation>
    </message>
    <message>
        <source>%1 has no file of type %2; expected one of %3.</source>
        <comment>no_such_file_in_repository</comment>
        <translation>%1 hat keine Datei vom Typ %2; erwartet: eine von %3.</translation>
    </message>
    <message>
        <source>%1 is not what %2 announced: its checksum is %3, expected %4. It was removed; try again.</source>
        <comment>file_is_another</comment>
        <translation>%1 ist nicht, was %2 angekündigt hat: Die Prüfsumme ist %3, erwartet war %4. Die Datei wurde entfernt; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>%1 needs %2 more than the disk of %3 has free.</source>
        <comment>no_room_for_model</comment>
        <translation>%1 braucht %2 mehr, als der Datenträger von %3 frei hat.</translation>
    </message>
    <message>
        <source>Another program is getting %1 already.</source>
        <comment>download_goes_on_elsewhere</comment>
        <translation>Ein anderes Programm lädt %1 schon herunter.</translation>
    </message>
    <message>
        <source>The download was stopped; it goes on from here the next time.</source>
        <comment>download_cancelled</comment>
        <translation>Das Herunterladen wurde angehalten; beim nächsten Mal geht es von hier weiter.</translation>
    </message>
    <message>
        <source>What was kept on disk of this conversation is damaged (%1); it was removed, and the prompt is read whole.</source>
        <comment>kept_conversation_damaged</comment>
        <translation>Was von dieser Unterhaltung auf der Platte aufbewahrt war, ist beschädigt (%1); es wurde gelöscht, und der Prompt wird ganz gelesen.</translation>
    </message>
    <message>
        <source>What was read of a conversation is not kept on disk: %1 could not be written: %2</source>
        <comment>kept_conversation_not_written</comment>
        <translation>Was von einer Unterhaltung gelesen wurde, wird nicht auf der Platte aufbewahrt: %1 ließ sich nicht schreiben: %2</translation>
    </message>
    <message>
        <source>The download cannot be written to %1: %2</source>
        <comment>cannot_write_model</comment>
        <translation>Der Download kann nicht nach %1 geschrieben werden: %2</translation>
    </message>
    <message>
        <source>%1 gives %2 only to people who may have it, or has no such repository: check the name, accept its licence there, and set HF_TOKEN to a token of your account.</source>
        <comment>hub_refuses</comment>
        <translation>%1 gibt %2 nur Leuten, die es haben dürfen, oder hat kein solches Repository: Prüfen Sie den Namen, stimmen Sie dort der Lizenz zu, und setzen Sie HF_TOKEN auf ein Token Ihres Kontos.</translation>
    </message>
    <message>
        <source>a dict of values that are no pairs</source>
        <comment>dict_of_no_pairs</comment>
        <translation>ein dict aus Werten, die keine Paare sind</translation>
    </message>
    <message>
        <source>%1 is not a file of a model; expected an address of %2, or a type: %3.</source>
        <comment>file_is_no_model</comment>
        <translation>%1 ist keine Datei eines Modells; erwartet wird eine Adresse von %2 oder ein Typ: %3.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is no repository of the hub; expected OWNER/NAME, OWNER/NAME:Q4_K_M, the address of a page or file at %2, or the name of a suggested model.</source>
        <comment>no_repository_name</comment>
        <translation>„%1“ ist kein Repository des Hubs; erwartet wird BESITZER/NAME, BESITZER/NAME:Q4_K_M, die Adresse einer Seite oder Datei bei %2 oder der Name eines vorgeschlagenen Modells.</translation>
    </message>
    <message>
        <source>The vocabulary has ids of more than one text (texts: %1; the first is of the id %2, %3, which is written %4).</source>
        <comment>vocab_ids_twice</comment>
        <translation>Der Wortschatz hat Nummern mit mehr als einem Text (Texte: %1; der erste gehört zur Nummer %2, %3, die als %4 geschrieben wird).</translation>
    </message>
    <message>
        <source>Added tokens have other ids than the file says, as in Hugging Face&apos;s tokenizers library (tokens: %1; the first is %2, of %3, now %4).</source>
        <comment>added_tokens_moved</comment>
        <translation>Hinzugefügte Token haben andere Nummern als in der Datei, wie in der Bibliothek tokenizers von Hugging Face (Token: %1; das erste ist %2, in der Datei %3, jetzt %4).</translation>
    </message>
    <message>
        <source>the argument &apos;%1&apos; twice</source>
        <comment>argument_twice</comment>
        <translation>das Argument &apos;%1&apos; zweimal</translation>
    </message>
    <message>
        <source>the attribute &apos;%1&apos; of a value of type %2</source>
        <comment>attribute_as_value</comment>
        <translation>das Attribut &apos;%1&apos; eines Wertes vom Typ %2</translation>
    </message>
    <message>
        <source>a key of type %1</source>
        <comment>key_of_type</comment>
        <translation>ein Schlüssel vom Typ %1</translation>
    </message>
    <message>
        <source>the last item of a generator</source>
        <comment>last_of_generator</comment>
        <translation>der letzte Wert eines Generators</translation>
    </message>
    <message>
        <source>a generator that gave a part of its items before</source>
        <comment>iterator_used_again</comment>
        <translation>ein Generator, der vorher schon einen Teil seiner Werte gegeben hat</translation>
    </message>
    <message>
        <source>a generator of a namespace&apos;s values, which were changed before it gave them</source>
        <comment>iterator_of_changed_namespace</comment>
        <translation>ein Generator von Werten eines Namensraums, die geändert wurden, bevor er sie gab</translation>
    </message>
    <message>
        <source>a loop whose filter reads a namespace that the loop changes</source>
        <comment>loop_of_changed_namespace</comment>
        <translation>eine Schleife, deren Filter einen Namensraum liest, den die Schleife ändert</translation>
    </message>
    <message>
        <source>the test &apos;sameas&apos; of two values of type %1</source>
        <comment>sameas_of_type</comment>
        <translation>der Test &apos;sameas&apos; zweier Werte vom Typ %1</translation>
    </message>
    <message>
        <source>dictsort by something else than &quot;key&quot; or &quot;value&quot;</source>
        <comment>dictsort_by</comment>
        <translation>dictsort nach etwas anderem als „key“ oder „value“</translation>
    </message>
    <message>
        <source>the name &apos;%1&apos;</source>
        <comment>the_name</comment>
        <translation>der Name &apos;%1&apos;</translation>
    </message>
    <message>
        <source>%1: incomplete: %2 of %3 bytes; is it still being copied? Otherwise it is damaged: fetch it again</source>
        <comment>file_incomplete</comment>
        <translation>%1: unvollständig: %2 von %3 Bytes; wird sie noch kopiert? Sonst ist sie beschädigt: neu herunterladen</translation>
    </message>
    <message>
        <source>%1: incomplete: %2 of at least %3 bytes, so that its header is cut; is it still being copied? Otherwise it is damaged: fetch it again</source>
        <comment>file_header_incomplete</comment>
        <translation>%1: unvollständig: %2 von mindestens %3 Bytes, sodass der Kopf der Datei abgeschnitten ist; wird sie noch kopiert? Sonst ist sie beschädigt: neu herunterladen</translation>
    </message>
    <message>
        <source>an item of a function</source>
        <comment>item_of_function</comment>
        <translation>ein Element einer Funktion</translation>
    </message>
    <message>
        <source>%1: cannot be read: a part of it was missing for a moment, or its disk fails; try again.</source>
        <comment>changed_while_read</comment>
        <translation>%1: kann nicht gelesen werden: Ein Teil davon fehlte für einen Moment, oder der Datenträger hat einen Fehler; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
        <source>a multiple of %1 (%2)</source>
        <comment>a_multiple_of_key</comment>
        <translation>ein Vielfaches von %1 (%2)</translation>
    </message>
    <message>
        <source>%1: %2 is not supported: it needs %3, which Offstage does not have</source>
        <comment>family_needs</comment>
        <translation>%1: %2 wird nicht unterstützt: Dafür braucht es %3, und das hat Offstage nicht</translation>
    </message>
    <message>
        <source>layers of Mamba-1</source>
        <comment>layers_of_mamba1</comment>
        <translation>Mamba-1-Schichten</translation>
    </message>
    <message>
        <source>a delta rule with a decay for each channel</source>
        <comment>a_decay_of_each_channel</comment>
        <translation>eine Delta-Regel mit eigenem Zerfall für jeden Kanal</translation>
    </message>
    <message>
        <source>lightning attention</source>
        <comment>lightning_attention</comment>
        <translation>Lightning Attention</translation>
    </message>
    <message>
        <source>an integer from %1 to %2, or a list with the same one for each layer</source>
        <comment>one_integer_for_all_layers</comment>
        <translation>eine ganze Zahl von %1 bis %2 oder eine Liste mit derselben für jede Schicht</translation>
    </message>
    <message>
        <source>experts whose size and choice differ between layers</source>
        <comment>experts_of_several_sizes</comment>
        <translation>Experten, deren Größe und Auswahl sich zwischen Schichten unterscheiden</translation>
    </message>
    <message>
        <source>1 to %1 letters M, *, E and -, or as many of &quot;linear_attention&quot;, &quot;full_attention&quot;, &quot;moe&quot; and &quot;mlp&quot; in a list</source>
        <comment>a_pattern_of_layers</comment>
        <translation>1 bis %1 Buchstaben M, *, E und - oder ebenso viele der Wörter &quot;linear_attention&quot;, &quot;full_attention&quot;, &quot;moe&quot; und &quot;mlp&quot; in einer Liste</translation>
    </message>
    <message>
        <source>%1: tensor %2 with shape %3 does not fit what is beside it, %4 (%5) with shape %6; expected one scale for each block, row or group of its weights</source>
        <comment>quantized_misfit</comment>
        <translation>%1: Der Tensor %2 der Form %3 passt nicht zu dem, was dabei liegt, %4 (%5) der Form %6; erwartet wird ein Skalierungsfaktor für jeden Block, jede Zeile oder jede Gruppe seiner Gewichte</translation>
    </message>
    <message>
        <source>%1: has %2: weights with zero points, or with their columns in another order, are not read; expected symmetric ones, or a GGUF file of the model</source>
        <comment>quantized_not_symmetric</comment>
        <translation>%1: enthält %2: Gewichte mit Nullpunkten oder mit Spalten in anderer Reihenfolge werden nicht gelesen; erwartet werden symmetrische, oder eine GGUF-Datei des Modells</translation>
    </message>
    <message>
        <source>%1 cannot draft for %2: token %3 is %4 there and %5 here; choose a model with the same tokens.</source>
        <comment>draft_model_has_other_tokens</comment>
        <translation>%1 kann für %2 nichts entwerfen: Token %3 ist dort %4 und hier %5; wählen Sie ein Modell mit denselben Tokens.</translation>
    </message>
    <message>
        <source>The layer that predicts further tokens is left out: %1</source>
        <comment>prediction_layer_left_out</comment>
        <translation>Die Schicht, die weitere Tokens vorhersagt, bleibt weg: %1</translation>
    </message>
    <message>
        <source>Experts would have to be read from disk for it.</source>
        <comment>prediction_layer_needs_room</comment>
        <translation>Für sie müssten Experten vom Datenträger gelesen werden.</translation>
    </message>
    <message>
        <source>embeddings of n-grams, from tables that are read by rows</source>
        <comment>embeddings_of_n_grams</comment>
        <translation>Einbettungen von N-Grammen, aus Tabellen, die zeilenweise gelesen werden</translation>
    </message>
    <message>
        <source>a rank: an indexer&apos;s queries are made from the queries of this rank</source>
        <comment>a_rank_of_queries</comment>
        <translation>ein Rang: Aus den Queries dieses Rangs entstehen die eines Indexers</translation>
    </message>
    <message>
        <source>no less than &quot;qk_rope_head_dim&quot; (%1)</source>
        <comment>no_less_than_the_rotary_part</comment>
        <translation>mindestens &quot;qk_rope_head_dim&quot; (%1)</translation>
    </message>
    <message>
        <source>a letter F or S for each of %1 layers</source>
        <comment>a_letter_for_each_layer</comment>
        <translation>ein Buchstabe F oder S für jede von %1 Schichten</translation>
    </message>
    <message>
        <source>as many as &quot;num_key_value_heads&quot;</source>
        <comment>as_many_as_kv_heads</comment>
        <translation>so viele wie &quot;num_key_value_heads&quot;</translation>
    </message>
    <message>
        <source>an indexer of its own in the first layer</source>
        <comment>an_indexer_in_the_first_layer</comment>
        <translation>ein eigener Indexer in der ersten Schicht</translation>
    </message>
    <message>
        <source>one value of all layers with a window, and one of all others</source>
        <comment>a_value_for_each_kind_of_layer</comment>
        <translation>ein Wert für alle Schichten mit Fenster und einer für alle anderen</translation>
    </message>
    <message>
        <source>%1: %2 is the shares of several machines, without the scales that say of how many; expected the model in FP8, as it was published, or a GGUF file</source>
        <comment>shares_unknown</comment>
        <translation>%1: %2 besteht aus den Anteilen mehrerer Rechner, ohne die Skalen, die sagen, wie vieler; erwartet wird das Modell in FP8, wie es veröffentlicht ist, oder eine GGUF-Datei</translation>
    </message>
    <message>
        <source>%1: tensor %2 has the number %3; expected 0 to below %4</source>
        <comment>integer_out_of_range</comment>
        <translation>%1: Tensor %2 hat die Zahl %3; erwartet: 0 bis unter %4</translation>
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
    <name>FileDialogs</name>
    <message>
        <source>Look for models in a folder</source>
        <translation>Modelle in einem Ordner suchen</translation>
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
        <source>%1 bit (%2)</source>
        <translation>%1 Bit (%2)</translation>
    </message>
    <message>
        <source>%1 (emulated) · %2 VRAM</source>
        <translation>%1 (emuliert) · %2 VRAM</translation>
    </message>
    <message>
        <source>%1 · %2 VRAM</source>
        <translation>%1 · %2 VRAM</translation>
    </message>
    <message>
        <source>%1 tokens/s (simulated)</source>
        <translation>%1 Tokens/s (simuliert)</translation>
    </message>
    <message>
        <source>%1 tokens/s (forecast)</source>
        <translation>%1 Tokens/s (Prognose)</translation>
    </message>
    <message>
        <source>%1 tokens/s (measured)</source>
        <translation>%1 Tokens/s (gemessen)</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Tokens</translation>
    </message>
    <message>
        <source>Thinking… %1, %2</source>
        <translation>Denkt nach&#xa0;… %1, %2</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Gedanken</translation>
    </message>
    <message>
        <source>Thought for %1, %2</source>
        <translation>%1 nachgedacht, %2</translation>
    </message>
    <message>
        <source>Thought, %1</source>
        <translation>Gedanken, %1</translation>
    </message>
    <message>
        <source>neurons up to %1 skipped</source>
        <translation>Neuronen bis %1 übersprungen</translation>
    </message>
    <message>
        <source>neurons skipped by expert, for a loss of %1</source>
        <translation>Neuronen je Experte übersprungen, für einen Verlust von %1</translation>
    </message>
    <message>
        <source>Reading the prompt: %1 of %2 tokens</source>
        <translation>Prompt wird gelesen: %1 von %2 Tokens</translation>
    </message>
    <message>
        <source>%1, guesses accepted</source>
        <comment>skipped neurons</comment>
        <translation>%1, Geratenes angenommen</translation>
    </message>
    <message>
        <source>Least recently used (LRU)</source>
        <translation>Am längsten ungenutzt (LRU)</translation>
    </message>
    <message>
        <source>Least often used (LFU)</source>
        <translation>Am seltensten genutzt (LFU)</translation>
    </message>
    <message>
        <source>Least recently used, often used protected (SLRU)</source>
        <translation>Am längsten ungenutzt, oft genutzte geschützt (SLRU)</translation>
    </message>
    <message>
        <source>Most popular, fixed</source>
        <translation>Beliebteste, fest</translation>
    </message>
    <message>
        <source>Least recently used in each layer (LRU)</source>
        <translation>Am längsten ungenutzt, je Schicht (LRU)</translation>
    </message>
    <message>
        <source>1 byte</source>
        <translation>1 Byte</translation>
    </message>
    <message>
        <source>%1 tokens a step</source>
        <translation>%1 Token je Schritt</translation>
    </message>
    <message>
        <source>Drafts: %1 of %2 tokens were right, %3 tokens a step; steps called %4 more experts.</source>
        <comment>number, number, number, share</comment>
        <translation>Entwürfe: %1 von %2 Token waren richtig, %3 Token je Schritt; die Schritte riefen %4 mehr Experten auf.</translation>
    </message>
</context>
<context>
    <name>HelpAnswers</name>
    <message>
        <source>Which models can this program open?</source>
        <translation>Welche Modelle kann dieses Programm öffnen?</translation>
    </message>
    <message>
        <source>Does this program send my data anywhere?</source>
        <translation>Sendet dieses Programm meine Daten irgendwohin?</translation>
    </message>
    <message>
        <source>Families: %1.</source>
        <translation>Familien: %1.</translation>
    </message>
    <message>
        <source>The demo model does not know this program well enough to answer. %1 says where everything is, and the search in the help (F1) looks through all of its pages.</source>
        <translation>Das Demomodell kennt dieses Programm nicht gut genug, um zu antworten. „%1“ sagt, wo alles ist, und die Suche in der Hilfe (F1) durchsucht alle ihre Seiten; sie sind auf Englisch.</translation>
    </message>
    <message>
        <source>More in the help: %1</source>
        <translation>Mehr in der Hilfe: %1</translation>
    </message>
    <message>
        <source>The help is in English, with the English names of menus and buttons. It says:</source>
        <translation>Die Hilfe gibt es nur auf Englisch, mit den englischen Namen von Menüs und Knöpfen. Darin steht:</translation>
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
        <source>The chat history %1 was removed or replaced while it was open.</source>
        <translation>Der Verlauf %1 wurde entfernt oder ersetzt, während er offen war.</translation>
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
    <message>
        <source>There is not enough memory for the chat history %1 (%2).</source>
        <translation>Für den Chatverlauf %1 reicht der Speicher nicht (%2).</translation>
    </message>
    <message>
        <source>%1 is in the way of the chat history: it is not a regular file.</source>
        <translation>%1 steht dem Chatverlauf im Weg: Es ist keine gewöhnliche Datei.</translation>
    </message>
    <message>
        <source>Offstage was closed before this was answered</source>
        <translation>Offstage wurde geschlossen, bevor dies beantwortet war</translation>
    </message>
    <message>
        <source>Offstage was closed while this was being written</source>
        <translation>Offstage wurde geschlossen, während dies geschrieben wurde</translation>
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
        <source>The folder %1 cannot be made.</source>
        <translation>Der Ordner %1 kann nicht angelegt werden.</translation>
    </message>
    <message>
        <source>The chat history is damaged.</source>
        <translation>Der Chatverlauf ist beschädigt.</translation>
    </message>
    <message>
        <source>Another Offstage still uses the file, so it was left as it is. Close all others, and try again: then what can be read is taken over.</source>
        <translation>Ein anderes Offstage benutzt die Datei noch, deshalb blieb sie, wie sie ist. Alle anderen schließen und erneut versuchen: Dann wird übernommen, was sich lesen lässt.</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>Angehalten</translation>
    </message>
    <message>
        <source>Not answered</source>
        <translation>Nicht beantwortet</translation>
    </message>
    <message>
        <source>Not complete</source>
        <translation>Nicht vollständig</translation>
    </message>
    <message>
        <source>The model ended its turn within the thought, without an answer</source>
        <translation>Das Modell hat seinen Zug mitten im Nachdenken beendet, ohne Antwort</translation>
    </message>
    <message>
        <source>The context is full</source>
        <translation>Der Kontext ist voll</translation>
    </message>
    <message>
        <source>Ended at the limit of %1 tokens (Instructions and sampling)</source>
        <translation>Endete an der Grenze von %1 Tokens (Anweisungen und Sampling)</translation>
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
        <source>other programs</source>
        <translation>andere Programme</translation>
    </message>
    <message>
        <source>%1, budget</source>
        <translation>%1, Budget</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>Puffer</translation>
    </message>
</context>
<context>
    <name>Message</name>
    <message>
        <source>You</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>From the help</source>
        <translation>Aus der Hilfe</translation>
    </message>
    <message>
        <source>Offstage</source>
        <translation>Offstage</translation>
    </message>
</context>
<context>
    <name>Pdf</name>
    <message>
        <source>%1 is protected by a password. Save it without one and attach that.</source>
        <translation>%1 ist durch ein Passwort geschützt. Speichern Sie die Datei ohne Passwort und hängen Sie diese an.</translation>
    </message>
    <message>
        <source>%1 is encrypted in a way that cannot be read. Save it without protection and attach that.</source>
        <translation>%1 ist auf eine Art verschlüsselt, die nicht gelesen werden kann. Speichern Sie die Datei ohne Schutz und hängen Sie diese an.</translation>
    </message>
    <message>
        <source>%1 is not there.</source>
        <translation>%1 ist nicht vorhanden.</translation>
    </message>
    <message>
        <source>%1 is not a whole PDF file. Open it in a PDF viewer and save it anew, or copy its text.</source>
        <translation>%1 ist keine vollständige PDF-Datei. Öffnen Sie sie in einem PDF-Programm und speichern Sie sie neu, oder kopieren Sie den Text.</translation>
    </message>
    <message>
        <source>%1 is too large to attach: it has %2, and PDF files of up to %3 are read. Attach the pages that matter.</source>
        <translation>%1 ist zu groß zum Anhängen: Die Datei hat %2, gelesen werden PDF-Dateien bis zu %3. Hängen Sie die Seiten an, auf die es ankommt.</translation>
    </message>
    <message>
        <source>%1 was not attached: its reading was cancelled.</source>
        <translation>%1 wurde nicht angehängt: Das Lesen wurde abgebrochen.</translation>
    </message>
    <message>
        <source>%1 is too long to attach: by page %2 of %3 it has more than %4 characters. Attach the pages that matter.</source>
        <translation>%1 ist zu lang zum Anhängen: Bis Seite %2 von %3 sind es mehr als %4 Zeichen. Hängen Sie die Seiten an, auf die es ankommt.</translation>
    </message>
    <message>
        <source>%1 has no text: its pages are pictures. Let a program recognize their text (OCR) and attach that.</source>
        <translation>%1 hat keinen Text: Die Seiten sind Bilder. Lassen Sie den Text von einem Programm erkennen (OCR) und hängen Sie das Ergebnis an.</translation>
    </message>
    <message>
        <source>%1: this Offstage was built without Qt PDF and cannot read PDF files; copy its text.</source>
        <translation>%1: Dieses Offstage wurde ohne Qt PDF gebaut und kann keine PDF-Dateien lesen; kopieren Sie den Text.</translation>
    </message>
</context>
<context>
    <name>QPlatformTheme</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>OK</source>
        <translation>OK</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
</context>
<context>
    <name>QualityLevel</name>
    <message>
        <source>very small</source>
        <comment>change of quality</comment>
        <translation>sehr klein</translation>
    </message>
    <message>
        <source>small</source>
        <comment>change of quality</comment>
        <translation>klein</translation>
    </message>
    <message>
        <source>noticeable</source>
        <comment>change of quality</comment>
        <translation>merklich</translation>
    </message>
    <message>
        <source>large</source>
        <comment>change of quality</comment>
        <translation>groß</translation>
    </message>
    <message>
        <source>Original</source>
        <translation>Original</translation>
    </message>
    <message>
        <source>Experts stay as they are in the model&apos;s files</source>
        <translation>Experten bleiben, wie sie in den Dateien des Modells sind</translation>
    </message>
    <message>
        <source>Nearly lossless</source>
        <translation>Nahezu verlustfrei</translation>
    </message>
    <message>
        <source>Experts in at least 8 bits a weight on average</source>
        <translation>Experten in durchschnittlich mindestens 8 Bit je Gewicht</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Ausgewogen</translation>
    </message>
    <message>
        <source>Experts in at least 4.25 bits a weight on average: about a quarter of 16 bits</source>
        <translation>Experten in durchschnittlich mindestens 4,25 Bit je Gewicht: etwa ein Viertel von 16 Bit</translation>
    </message>
    <message>
        <source>Small</source>
        <translation>Klein</translation>
    </message>
    <message>
        <source>Experts in at least 3.25 bits a weight on average: about a fifth of 16 bits</source>
        <translation>Experten in durchschnittlich mindestens 3,25 Bit je Gewicht: etwa ein Fünftel von 16 Bit</translation>
    </message>
    <message>
        <source>%1 (KL %2)</source>
        <comment>a word, a number</comment>
        <translation>%1 (KL %2)</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>nicht gemessen</translation>
    </message>
    <message>
        <source>none</source>
        <comment>change of quality</comment>
        <translation>keine</translation>
    </message>
    <message>
        <source>%1 (predicted, %2 % error)</source>
        <comment>a word, a number</comment>
        <translation>%1 (vorhergesagt, %2 % Fehler)</translation>
    </message>
    <message>
        <source>%1; skipped neurons: %2</source>
        <translation>%1; übersprungene Neuronen: %2</translation>
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
    <message>
        <source>As the model does</source>
        <translation>Wie das Modell es tut</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
    <message>
        <source>On</source>
        <translation>An</translation>
    </message>
    <message>
        <source>Low</source>
        <translation>Wenig</translation>
    </message>
    <message>
        <source>Medium</source>
        <translation>Mittel</translation>
    </message>
    <message>
        <source>High</source>
        <translation>Viel</translation>
    </message>
</context>
<context>
    <name>SuggestedPrompts</name>
    <message>
        <source>Offstage</source>
        <translation>Offstage</translation>
    </message>
    <message>
        <source>Stories</source>
        <translation>Geschichten</translation>
    </message>
    <message>
        <source>Arithmetic</source>
        <translation>Rechnen</translation>
    </message>
    <message>
        <source>Units</source>
        <translation>Einheiten</translation>
    </message>
    <message>
        <source>Code</source>
        <translation>Code</translation>
    </message>
    <message>
        <source>Words</source>
        <translation>Wörter</translation>
    </message>
    <message>
        <source>Facts</source>
        <translation>Wissen</translation>
    </message>
    <message>
        <source>Talk</source>
        <translation>Gespräch</translation>
    </message>
</context>
<context>
    <name>TokenChoices</name>
    <message>
        <source>(nothing)</source>
        <translation>(nichts)</translation>
    </message>
    <message>
        <source>&lt; %1 %</source>
        <translation>&lt; %1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1&#xa0;%</translation>
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
    <message>
        <source>Do not use the window that is open: open another one.</source>
        <translation>Nicht das offene Fenster verwenden: ein weiteres öffnen.</translation>
    </message>
    <message>
        <source>Another window of Offstage is open</source>
        <translation>Ein anderes Fenster von Offstage ist offen</translation>
    </message>
    <message>
        <source>Both have the same conversations. What is written in one of them is shown in the other after its next start.</source>
        <translation>Beide haben dieselben Gespräche. Was in einem geschrieben wird, zeigt das andere nach seinem nächsten Start.</translation>
    </message>
    <message>
        <source>Begin with a new conversation, not with the last one.</source>
        <translation>Mit einer neuen Unterhaltung beginnen, nicht mit der letzten.</translation>
    </message>
    <message>
        <source>Folder or file of a model; without it, the last one, or the demo model.</source>
        <translation>Ordner oder Datei eines Modells; ohne Angabe das letzte oder das Demo-Modell.</translation>
    </message>
    <message>
        <source>There is no display for a window. “offstage-cli chat” talks in the terminal.
</source>
        <translation>Es gibt keinen Bildschirm für ein Fenster. „offstage-cli chat“ spricht im Terminal.
</translation>
    </message>
    <message>
        <source>--%1 %2: expected is %3.</source>
        <translation>--%1 %2: Erwartet wird %3.</translation>
    </message>
    <message>
        <source>WIDTHxHEIGHT, for example 1280x800</source>
        <translation>BREITExHÖHE, zum Beispiel 1280x800</translation>
    </message>
    <message>
        <source>system, light or dark</source>
        <translation>system, light oder dark</translation>
    </message>
    <message>
        <source>en, de or vi</source>
        <translation>en, de oder vi</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AnswerTokens</name>
    <message>
        <source>&amp;Underline unlikely words</source>
        <translation>Unwahrscheinliche Wörter &amp;unterstreichen</translation>
    </message>
    <message>
        <source>The timeline of this answer is no longer kept: it was written before Offstage was started, or long ago.</source>
        <translation>Der Zeitverlauf dieser Antwort ist nicht mehr da: Sie wurde vor dem Start von Offstage geschrieben oder vor langer Zeit.</translation>
    </message>
    <message>
        <source>The beginning of this answer was written before its probabilities were kept; it cannot be gone on from here.</source>
        <translation>Der Anfang dieser Antwort wurde geschrieben, bevor ihre Wahrscheinlichkeiten aufbewahrt wurden; von hier kann sie nicht fortgesetzt werden.</translation>
    </message>
    <message>
        <source>An answer is on its way. Choose again after that.</source>
        <translation>Eine Antwort ist unterwegs. Bitte danach noch einmal wählen.</translation>
    </message>
    <message>
        <source>Token pro&amp;babilities (from the next answer on)</source>
        <translation>Token&amp;wahrscheinlichkeiten (ab der nächsten Antwort)</translation>
    </message>
    <message>
        <source>At a word of an answer: how probable its tokens were, what else could stand there, and, by a click, a branch from there. From the next answer on</source>
        <translation>An einem Wort einer Antwort: wie wahrscheinlich seine Tokens waren, was sonst dort stehen könnte, und mit einem Klick ein Zweig von dort. Ab der nächsten Antwort</translation>
    </message>
    <message>
        <source>Lines under what the model itself did not expect: dotted below 50 %, dashed below 20 %, solid below 5 %, thick below 1 %. From the next answer on</source>
        <translation>Linien unter dem, was das Modell selbst nicht erwartet hat: gepunktet unter 50&#xa0;%, gestrichelt unter 20&#xa0;%, durchgezogen unter 5&#xa0;%, dick unter 1&#xa0;%. Ab der nächsten Antwort</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AnswerWriter</name>
    <message>
        <source>Summary of the conversation so far:</source>
        <translation>Zusammenfassung des bisherigen Gesprächs:</translation>
    </message>
    <message>
        <source>Number %1 in the queue</source>
        <translation>Nummer %1 in der Warteschlange</translation>
    </message>
    <message>
        <source>Waiting for the model to load…</source>
        <translation>Das Modell wird noch geladen&#xa0;…</translation>
    </message>
    <message>
        <source>Waiting for the benchmark to end…</source>
        <translation>Wartet auf das Ende des Benchmarks …</translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation>Prompt wird gelesen&#xa0;…</translation>
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
        <source>The answer ended early</source>
        <translation>Die Antwort endete vorzeitig</translation>
    </message>
    <message>
        <source>Summarising the oldest turns…</source>
        <translation>Die ältesten Beiträge werden zusammengefasst&#xa0;…</translation>
    </message>
    <message>
        <source>Summarise this conversation in a few sentences, so that it can go on from them: names, facts, decisions and open questions.</source>
        <translation>Fasse dieses Gespräch in wenigen Sätzen zusammen, sodass es damit weitergehen kann: Namen, Tatsachen, Entscheidungen und offene Fragen.</translation>
    </message>
    <message>
        <source>The context is full</source>
        <translation>Der Kontext ist voll</translation>
    </message>
    <message>
        <source>The answer ended because the conversation fills the model&apos;s context: %1 tokens.</source>
        <translation>Die Antwort endete, weil die Unterhaltung den Kontext des Modells füllt: %1 Tokens.</translation>
    </message>
    <message>
        <source>This prompt is too long</source>
        <translation>Dieser Prompt ist zu lang</translation>
    </message>
    <message>
        <source>The prompt alone fills the context of %1 tokens, and the answer needs room too.</source>
        <translation>Der Prompt allein füllt den Kontext von %1 Tokens, und die Antwort braucht auch Platz.</translation>
    </message>
    <message>
        <source>What helps is a shorter one.</source>
        <translation>Es hilft ein kürzerer.</translation>
    </message>
    <message>
        <source>What helps is a shorter one, or fewer or smaller files.</source>
        <translation>Es hilft ein kürzerer, oder weniger oder kleinere Dateien.</translation>
    </message>
    <message>
        <source>The instructions count, too.</source>
        <translation>Auch die Anweisungen zählen mit.</translation>
    </message>
    <message>
        <source>The conversation has %1 tokens with this prompt, and the context holds %2: the answer needs room too.</source>
        <translation>Die Unterhaltung hat mit diesem Prompt %1 Tokens, und der Kontext fasst %2: auch die Antwort braucht Platz.</translation>
    </message>
    <message>
        <source>The model has no chat template, so messages cannot be written for it. Choose that of its family, or a file.</source>
        <translation>Das Modell hat keine Chat-Vorlage, deshalb lassen sich keine Nachrichten für es schreiben. Wählen Sie die seiner Familie oder eine Datei.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AppearancePage</name>
    <message>
        <source>As the system</source>
        <translation>Wie das System</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>T&amp;heme</source>
        <translation>&amp;Farbschema</translation>
    </message>
    <message>
        <source>Te&amp;xt size</source>
        <translation>Te&amp;xtgröße</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>&amp;Sprache</translation>
    </message>
    <message>
        <source>The language changes when Offstage starts again.</source>
        <translation>Die Sprache wechselt beim nächsten Start von Offstage.</translation>
    </message>
    <message>
        <source>100 % is the system&apos;s text size.</source>
        <translation>100 % ist die Textgröße des Systems.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::AttachmentChip</name>
    <message>
        <source>Attached file %1, %2</source>
        <translation>Angehängte Datei %1, %2</translation>
    </message>
    <message>
        <source>Delete removes it from the message</source>
        <translation>Entf nimmt sie aus der Nachricht</translation>
    </message>
    <message>
        <source>%1
%2
Delete, or a click on the cross, removes it from the message</source>
        <translation>%1
%2
Entf oder ein Klick auf das Kreuz nimmt sie aus der Nachricht</translation>
    </message>
    <message>
        <source>File %1, %2</source>
        <translation>Datei %1, %2</translation>
    </message>
    <message>
        <source>Shows its text</source>
        <translation>Zeigt ihren Text</translation>
    </message>
    <message>
        <source>%1
%2
Click to see its text</source>
        <translation>%1
%2
Ein Klick zeigt ihren Text</translation>
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
</context>
<context>
    <name>offstage::ui::BenchmarkPanel</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Pictures…</source>
        <translation>Bilder&#xa0;…</translation>
    </message>
    <message>
        <source>Open a model to measure its answers, to run scenarios and to compare plans.</source>
        <translation>Ein Modell öffnen, um seine Antworten zu messen, Szenarien auszuführen und Pläne zu vergleichen.</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Scenario</source>
        <translation>Szenario</translation>
    </message>
    <message>
        <source>Two plans</source>
        <translation>Zwei Pläne</translation>
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
        <source>Tokens of the answer</source>
        <translation>Tokens der Antwort</translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation>Durchläufe</translation>
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
        <source>Run</source>
        <translation>Ausführen</translation>
    </message>
    <message>
        <source>Run it through the loaded model; the conversation stays as it is</source>
        <translation>Mit dem geladenen Modell ausführen; die Unterhaltung bleibt, wie sie ist</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>Prompt</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
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
        <source>At most</source>
        <translation>Höchstens</translation>
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
        <source>So many: words of several fields, cut to this length by the tokenizer</source>
        <translation>Genau so viele: Wörter aus mehreren Gebieten, vom Tokenizer auf diese Länge geschnitten</translation>
    </message>
    <message>
        <source>So many: where the model would end its answer, it goes on</source>
        <translation>Genau so viele: Wo das Modell seine Antwort beenden würde, schreibt es weiter</translation>
    </message>
    <message>
        <source>Save pictures of plots as PNG: which ones is asked first</source>
        <translation>Bilder von Diagrammen als PNG speichern: Welche, wird vorher gefragt</translation>
    </message>
    <message>
        <source>Median of the runs</source>
        <translation>Median der Läufe</translation>
    </message>
    <message>
        <source>Times and speeds are simulated: the device is emulated.</source>
        <translation>Zeiten und Geschwindigkeiten sind simuliert: Das Gerät ist emuliert.</translation>
    </message>
    <message>
        <source>Times and speeds are measured, by the device&apos;s clock.</source>
        <translation>Zeiten und Geschwindigkeiten sind gemessen, mit der Uhr des Geräts.</translation>
    </message>
    <message>
        <source>Median of %1 runs: %2, first token after %3.</source>
        <translation>Median von %1 Läufen: %2, erstes Token nach %3.</translation>
    </message>
    <message>
        <source>A run is under way</source>
        <translation>Ein Lauf ist im Gang</translation>
    </message>
    <message>
        <source>An answer is being written; wait for its end</source>
        <translation>Gerade wird eine Antwort geschrieben; bitte ihr Ende abwarten</translation>
    </message>
    <message>
        <source>Plan B is plan A as yet: change one of its budgets</source>
        <translation>Plan B ist noch Plan A: eines seiner Budgets ändern</translation>
    </message>
    <message>
        <source>Write a prompt for both plans first</source>
        <translation>Zuerst einen Prompt für beide Pläne schreiben</translation>
    </message>
    <message>
        <source>There are no results yet: ask something, or run a scenario</source>
        <translation>Noch keine Ergebnisse: etwas fragen oder ein Szenario laufen lassen</translation>
    </message>
    <message>
        <source>Emulated devices have simulated times and speeds, the others measured ones: the pointer over a row shows its device.</source>
        <translation>Emulierte Geräte haben simulierte Zeiten und Geschwindigkeiten, die übrigen gemessene: Der Zeiger über einer Zeile zeigt ihr Gerät.</translation>
    </message>
    <message>
        <source>Time between tokens (ITL) of %1 decode steps, by the device&apos;s clock: p50 %2, p95 %3, p99 %4</source>
        <translation>Zeit zwischen Tokens (ITL) über %1 Schritte, nach der Uhr des Geräts: p50 %2, p95 %3, p99 %4</translation>
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
    <message>
        <source>%1: the context was full after %2</source>
        <translation>%1: Kontext voll nach %2</translation>
    </message>
    <message>
        <source>%1: ended early, after %2</source>
        <translation>%1: vorzeitig beendet, nach %2</translation>
    </message>
    <message>
        <source>This engine cannot skip neurons.</source>
        <translation>Diese Engine kann keine Neuronen überspringen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkTable</name>
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
    <message>
        <source>Decode, after the first token; – where there is none, or where a scenario&apos;s answer ended early</source>
        <translation>Decode, nach dem ersten Token; – wo es keines gibt oder wo die Antwort eines Szenarios vorzeitig endete</translation>
    </message>
    <message>
        <source>%1
%2
%3, %4, %5 bits on average, seed %6</source>
        <translation>%1
%2
%3, %4, im Mittel %5 Bit, Startwert %6</translation>
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
        <source>Memory of this computer that Offstage may take. Experts that find no room in it are read from disk when they are called</source>
        <translation>Speicher dieses Computers, den Offstage belegen darf. Experten, die darin keinen Platz finden, werden beim Aufruf vom Datenträger gelesen</translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold. Its KV cache takes room that experts could have</source>
        <translation>Tokens, die eine Unterhaltung fassen kann. Ihr KV-Cache belegt Platz, den Experten haben könnten</translation>
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
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Quality</source>
        <translation>Qualität</translation>
    </message>
    <message>
        <source>The model runs on the CPU, which has no memory of its own. RAM and context count.</source>
        <translation>Das Modell läuft auf der CPU, die keinen eigenen Speicher hat. Es zählen RAM und Kontext.</translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation>KV-Cache</translation>
    </message>
    <message>
        <source>What this quality changes</source>
        <translation>Was diese Qualität ändert</translation>
    </message>
    <message>
        <source>Memory of the accelerator that Offstage may take, for everything: dense weights, experts, KV cache and buffers</source>
        <translation>Speicher des Beschleunigers, den Offstage belegen darf, für alles: dichte Gewichte, Experten, KV-Cache und Puffer</translation>
    </message>
    <message>
        <source>How exactly experts are kept. Fewer bits are smaller and faster, and change what the model says</source>
        <translation>Wie genau Experten gehalten werden. Weniger Bits sind kleiner und schneller und ändern, was das Modell sagt</translation>
    </message>
    <message>
        <source>Advanced</source>
        <translation>Erweitert</translation>
    </message>
    <message>
        <source>Formats and floors of experts, neurons that are skipped, single experts</source>
        <translation>Formate und Untergrenzen der Experten, übersprungene Neuronen, einzelne Experten</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Skip weak
neurons</source>
        <translation>Neuronen
überspringen</translation>
    </message>
    <message>
        <source>Single experts…</source>
        <translation>Einzelne Experten&#xa0;…</translation>
    </message>
    <message>
        <source>Opens the Experts panel: mark experts there, and Change gives them other bits</source>
        <translation>Öffnet das Panel Experten: markieren Sie dort Experten, „Ändern“ gibt ihnen andere Bits</translation>
    </message>
    <message>
        <source>The experts of this file have no more bits: %1</source>
        <translation>Die Experten dieser Datei haben nicht mehr Bits: %1</translation>
    </message>
    <message>
        <source>Custom</source>
        <translation>Eigene Wahl</translation>
    </message>
    <message>
        <source>As chosen below, under Advanced</source>
        <translation>Wie unten unter „Erweitert“ gewählt</translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetPanel</name>
    <message>
        <source>none</source>
        <translation>keiner</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
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
        <source>Move a slider to see what it would change. Nothing happens before Apply.</source>
        <translation>Einen Regler bewegen, um zu sehen, was sich ändern würde. Vor „Anwenden“ geschieht nichts.</translation>
    </message>
    <message>
        <source>Carry this out in the background; the conversation goes on meanwhile</source>
        <translation>Im Hintergrund ausführen; die Unterhaltung geht währenddessen weiter</translation>
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
        <source>First token</source>
        <translation>Erstes Token</translation>
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
    <message>
        <source>Now: as measured, where something was; after: the forecast from measured costs, put right by that</source>
        <translation>Jetzt: wie gemessen, wo etwas gemessen wurde; danach: die Prognose aus gemessenen Kosten, daran berichtigt</translation>
    </message>
    <message>
        <source>Forecast time to the first token of a prompt of 512 tokens, of both plans</source>
        <translation>Prognostizierte Zeit bis zum ersten Token eines Prompts von 512 Tokens, für beide Pläne</translation>
    </message>
    <message>
        <source>Share of expert calls that find their expert on the accelerator; measured: of tokens written, prompts not counted</source>
        <translation>Anteil der Expertenaufrufe, die ihren Experten auf dem Beschleuniger finden; gemessen: geschriebene Tokens, ohne Prompts</translation>
    </message>
    <message>
        <source>What the figures rest on</source>
        <translation>Worauf die Zahlen beruhen</translation>
    </message>
    <message>
        <source>Going back to the plan before</source>
        <translation>Zurück zum Plan davor</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen&#xa0;…</translation>
    </message>
    <message>
        <source>A change is under way</source>
        <translation>Eine Änderung ist im Gang</translation>
    </message>
    <message>
        <source>Nothing is changed yet: move a slider</source>
        <translation>Noch nichts geändert: einen Regler bewegen</translation>
    </message>
    <message>
        <source>What it would change is being worked out</source>
        <translation>Was es ändern würde, wird gerade berechnet</translation>
    </message>
    <message>
        <source>The sliders show what is in force</source>
        <translation>Die Regler zeigen, was gilt</translation>
    </message>
    <message>
        <source>%1; about %2 left</source>
        <translation>%1; noch etwa %2</translation>
    </message>
    <message>
        <source>Active neurons</source>
        <translation>Aktive Neuronen</translation>
    </message>
    <message>
        <source>Share of a token&apos;s neurons that is not skipped, as measured over a text</source>
        <translation>Anteil der Neuronen eines Tokens, der nicht übersprungen wird, an einem Text gemessen</translation>
    </message>
    <message>
        <source>Kullback-Leibler divergence from the whole model, as measured over a text by “offstage-cli sensitivity --keep”</source>
        <translation>Kullback-Leibler-Divergenz vom ganzen Modell, an einem Text gemessen mit „offstage-cli sensitivity --keep“</translation>
    </message>
    <message>
        <source>all</source>
        <comment>neurons</comment>
        <translation>alle</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>nicht gemessen</translation>
    </message>
    <message>
        <source>KL %1</source>
        <translation>KL %1</translation>
    </message>
    <message>
        <source>This engine cannot skip neurons.</source>
        <translation>Diese Engine kann keine Neuronen überspringen.</translation>
    </message>
    <message>
        <source>In force from the next token on: %1. Answers are no longer the model&apos;s own.</source>
        <translation>In Kraft vom nächsten Token an: %1. Antworten sind nicht mehr die des Modells selbst.</translation>
    </message>
    <message>
        <source>In force from the next token on: no neurons are skipped.</source>
        <translation>In Kraft vom nächsten Token an: Es werden keine Neuronen übersprungen.</translation>
    </message>
    <message>
        <source>What is being moved</source>
        <translation>Was verschoben wird</translation>
    </message>
    <message>
        <source>Going back to the plan before; about %1 left</source>
        <translation>Zurück zum Plan davor; noch etwa %1</translation>
    </message>
    <message>
        <source>%1 bits on average.</source>
        <translation>Im Mittel %1 Bit.</translation>
    </message>
    <message>
        <source>Loss by skipped neurons</source>
        <translation>Verlust durch Überspringen</translation>
    </message>
    <message>
        <source>Quality change: %1</source>
        <translation>Änderung: %1</translation>
    </message>
    <message>
        <source>Working out the plan</source>
        <translation>Der Plan wird berechnet</translation>
    </message>
    <message>
        <source>Hit rate of answers</source>
        <translation>Trefferquote der Antworten</translation>
    </message>
    <message>
        <source>A note on the plan</source>
        <translation>Eine Anmerkung zum Plan</translation>
    </message>
    <message>
        <source>Pale, below the bars: the plan after.</source>
        <translation>Blass, unter den Balken: der Plan danach.</translation>
    </message>
    <message>
        <source>%1 to move, at least %2 (not timed yet).</source>
        <translation>%1 zu verschieben, mindestens %2 (noch nicht gemessen).</translation>
    </message>
    <message>
        <source>Less for experts that were quantized before.</source>
        <translation>Weniger bei Experten, die schon quantisiert wurden.</translation>
    </message>
    <message numerus="yes">
        <source>Now: simulated, %n token(s). The rest: forecast.</source>
        <translation>
            <numerusform>Jetzt: simuliert, %n Token. Sonst Prognose.</numerusform>
            <numerusform>Jetzt: simuliert, %n Tokens. Sonst Prognose.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Now: measured, %n token(s). The rest: forecast.</source>
        <translation>
            <numerusform>Jetzt: gemessen, %n Token. Sonst Prognose.</numerusform>
            <numerusform>Jetzt: gemessen, %n Tokens. Sonst Prognose.</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing measured yet: “now” is a forecast too.</source>
        <translation>Noch nichts gemessen: Auch „jetzt“ ist Prognose.</translation>
    </message>
    <message>
        <source>Tokens/s and hit rate now are of the last tokens that were written with this plan; everything else is a forecast</source>
        <translation>Tokens/s und Trefferquote jetzt stammen von den letzten Tokens, die mit diesem Plan geschrieben wurden; alles andere ist eine Prognose</translation>
    </message>
    <message>
        <source>Experts stay in %1 bits: fewer are not known to be faster here.</source>
        <translation>Experten bleiben bei %1 Bit: Dass weniger hier schneller wäre, ist nicht bekannt.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CacheComparison</name>
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
        <source>Compare policies</source>
        <translation>Strategien vergleichen</translation>
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
    <message>
        <source>Write a prompt first: policies are compared on its recorded calls</source>
        <translation>Zuerst einen Prompt schreiben: Strategien werden an seinen aufgezeichneten Aufrufen verglichen</translation>
    </message>
    <message>
        <source>Stop the comparison</source>
        <translation>Den Vergleich anhalten</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no cache whose lines could be drawn</source>
        <translation>Das Modell läuft auf der CPU: Es gibt keinen Cache, dessen Linien zu zeichnen wären</translation>
    </message>
    <message>
        <source>Share of (token, expert) pairs that found their expert on the device; of experts that are copied without some of their neurons, the share of the needed ones that were there. A click selects the token.</source>
        <translation>Anteil der Paare (Token, Experte), deren Experte auf dem Gerät lag; von Experten, die ohne einen Teil ihrer Neuronen kopiert werden, der Anteil der benötigten, die schon da waren. Ein Klick wählt das Token aus.</translation>
    </message>
    <message>
        <source>neurons</source>
        <translation>Neuronen</translation>
    </message>
    <message>
        <source>neurons hit: %1</source>
        <translation>Neuronen getroffen: %1</translation>
    </message>
    <message>
        <source>Layer whose experts are shown over tokens</source>
        <translation>Schicht, deren Experten über den Tokens gezeigt werden</translation>
    </message>
    <message>
        <source>Experts over tokens</source>
        <translation>Experten über den Tokens</translation>
    </message>
    <message>
        <source>Which experts of the layer each of the latest %1 steps called, and where they ran: one column for each token of an answer, one for a prompt. A click selects the token.</source>
        <translation>Welche Experten der Schicht jeder der letzten %1 Schritte gerufen hat und wo sie liefen: eine Spalte für jedes Token einer Antwort, eine für einen Prompt. Ein Klick wählt das Token aus.</translation>
    </message>
    <message>
        <source>Write a prompt to see which experts its tokens call.</source>
        <translation>Einen Prompt schreiben, um zu sehen, welche Experten seine Tokens rufen.</translation>
    </message>
    <message>
        <source>Layer %1</source>
        <translation>Schicht %1</translation>
    </message>
    <message>
        <source>Since loading, prompts included: hit rate %1; %2 copied; %3 experts exchanged</source>
        <translation>Seit dem Laden, mit Prompts: Trefferquote %1; %2 kopiert; %3 Experten ausgetauscht</translation>
    </message>
    <message>
        <source>Different rules of what goes when room is needed, beside the best that is possible, on the calls of this model that were recorded.</source>
        <translation>Verschiedene Regeln, was weicht, wenn Platz gebraucht wird, neben dem Bestmöglichen, auf den aufgezeichneten Aufrufen dieses Modells.</translation>
    </message>
    <message>
        <source>Over time</source>
        <translation>Verlauf</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Policies</source>
        <translation>Strategien</translation>
    </message>
    <message>
        <source>What is shown of the cache</source>
        <translation>Was vom Cache gezeigt wird</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator whose memory would be a cache for experts. What a cache would do can be tried under Policies.</source>
        <translation>Das Modell läuft auf der CPU: Es gibt keinen Beschleuniger, dessen Speicher ein Cache für Experten wäre. Was ein Cache bewirken würde, lässt sich unter „Strategien“ ausprobieren.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatController</name>
    <message>
        <source>Reading the prompt…</source>
        <translation>Prompt wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Making the context larger…</source>
        <translation>Der Kontext wird vergrößert&#xa0;…</translation>
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
        <source>Open a Mixture-of-Experts model, or drop its folder or GGUF file on this window.</source>
        <translation>Ein Mixture-of-Experts-Modell öffnen oder seinen Ordner oder seine GGUF-Datei auf dieses Fenster ziehen.</translation>
    </message>
    <message>
        <source>No model is open. Your text stays here.</source>
        <translation>Es ist kein Modell geöffnet. Der Text bleibt hier.</translation>
    </message>
    <message>
        <source>An answer is on its way. Your text stays here: send it after that.</source>
        <translation>Eine Antwort ist unterwegs. Der Text bleibt hier und kann danach gesendet werden.</translation>
    </message>
    <message>
        <source>An answer is on its way. Your text stays here: save it after that.</source>
        <translation>Eine Antwort ist unterwegs. Der Text bleibt hier und kann danach gespeichert werden.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
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
    <message>
        <source>Type a command or a setting</source>
        <translation>Befehl oder Einstellung eingeben</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ComparisonView</name>
    <message>
        <source>the same</source>
        <translation>gleich</translation>
    </message>
    <message>
        <source>%1 %</source>
        <comment>percent</comment>
        <translation>%1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 points</source>
        <comment>of a percentage</comment>
        <translation>%1 Punkte</translation>
    </message>
    <message>
        <source>%1, plan %2</source>
        <translation>%1, Plan %2</translation>
    </message>
    <message>
        <source>What the comparison says</source>
        <translation>Was der Vergleich sagt</translation>
    </message>
    <message>
        <source>Plan A</source>
        <translation>Plan A</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>Plan B</source>
        <translation>Plan B</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>Budgets</source>
        <translation>Budgets</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>Plan B against plan A: %1 tokens/s, same text.</source>
        <translation>Plan B gegen Plan A: %1 Tokens/s, gleicher Text.</translation>
    </message>
    <message>
        <source>Plan B against plan A: %1 tokens/s, another text.</source>
        <translation>Plan B gegen Plan A: %1 Tokens/s, anderer Text.</translation>
    </message>
    <message>
        <source>(the same)</source>
        <translation>(derselbe)</translation>
    </message>
    <message>
        <source>Tokens/s (simulated)</source>
        <translation>Tokens/s (simuliert)</translation>
    </message>
    <message>
        <source>Tokens/s (measured)</source>
        <translation>Tokens/s (gemessen)</translation>
    </message>
    <message>
        <source>First token</source>
        <translation>Erstes Token</translation>
    </message>
    <message>
        <source>Between tokens, p95</source>
        <translation>Zwischen Tokens, p95</translation>
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
        <source>B against A</source>
        <translation>B gegen A</translation>
    </message>
    <message>
        <source>%1, difference</source>
        <translation>%1, Unterschied</translation>
    </message>
    <message>
        <source>%1 ms</source>
        <translation>%1 ms</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ContextMeter</name>
    <message>
        <source>Context used: %1</source>
        <translation>Kontext belegt: %1</translation>
    </message>
    <message>
        <source>This conversation in the model&apos;s context: %1</source>
        <translation>Diese Unterhaltung im Kontext des Modells: %1</translation>
    </message>
    <message>
        <source>%1 of %2 tokens</source>
        <translation>%1 von %2 Tokens</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationFolders</name>
    <message>
        <source>New folder</source>
        <translation>Neuer Ordner</translation>
    </message>
    <message>
        <source>New folder %1</source>
        <translation>Neuer Ordner %1</translation>
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
    <message>
        <source>Export all conversations</source>
        <translation>Alle Unterhaltungen exportieren</translation>
    </message>
    <message>
        <source>JSON: whole conversations (*.json)</source>
        <translation>JSON: ganze Unterhaltungen (*.json)</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>„%1“</translation>
    </message>
    <message>
        <source>Nothing was exported: %1 cannot be read.</source>
        <translation>Es wurde nichts exportiert: %1 lässt sich nicht lesen.</translation>
    </message>
    <message>
        <source>%1. Not in it, because they cannot be read: %2</source>
        <translation>%1. Nicht darin, weil nicht lesbar: %2</translation>
    </message>
    <message>
        <source>Move to &amp;folder</source>
        <translation>In &amp;Ordner verschieben</translation>
    </message>
    <message>
        <source>&amp;Delete the folder</source>
        <translation>Den Ordner &amp;löschen</translation>
    </message>
    <message>
        <source>New f&amp;older</source>
        <translation>Neuer Or&amp;dner</translation>
    </message>
    <message>
        <source>&amp;None</source>
        <translation>&amp;Keiner</translation>
    </message>
    <message>
        <source>Export the folder “%1”</source>
        <translation>Den Ordner „%1“ exportieren</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>“%1” was deleted; its conversations stay</source>
        <translation>„%1“ wurde gelöscht; die Unterhaltungen bleiben</translation>
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
    <message>
        <source>Not saved · %1</source>
        <translation>Ungesichert · %1</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>This week</source>
        <translation>Diese Woche</translation>
    </message>
    <message>
        <source>Older</source>
        <translation>Älter</translation>
    </message>
    <message>
        <source>Thought</source>
        <comment>where a search found something</comment>
        <translation>Gedanke</translation>
    </message>
    <message numerus="yes">
        <source>%1, closed folder, %n conversation(s)</source>
        <translation>
            <numerusform>%1, geschlossener Ordner, %n Unterhaltung</numerusform>
            <numerusform>%1, geschlossener Ordner, %n Unterhaltungen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1, folder, %n conversation(s)</source>
        <translation>
            <numerusform>%1, Ordner, %n Unterhaltung</numerusform>
            <numerusform>%1, Ordner, %n Unterhaltungen</numerusform>
        </translation>
    </message>
    <message>
        <source>Attached file</source>
        <comment>where a search found something</comment>
        <translation>Angehängte Datei</translation>
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
    <name>offstage::ui::ConversationsPage</name>
    <message>
        <source>&amp;Show the last conversation at the start</source>
        <translation>Beim Start die &amp;letzte Unterhaltung zeigen</translation>
    </message>
    <message>
        <source>Without it the program begins with a new conversation. The list has the others.</source>
        <translation>Sonst beginnt das Programm mit einer neuen Unterhaltung. Die anderen stehen in der Liste.</translation>
    </message>
    <message>
        <source>Let the model write the &amp;titles</source>
        <translation>Das Modell die &amp;Titel schreiben lassen</translation>
    </message>
    <message>
        <source>After the first answer, in a few words and seconds. Your next message comes first. A title that you have typed stays. The demo model writes none.</source>
        <translation>Nach der ersten Antwort, in wenigen Wörtern und Sekunden. Ihre nächste Nachricht geht vor. Ein Titel, den Sie getippt haben, bleibt. Das Demomodell schreibt keine.</translation>
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
    <message>
        <source>the CPU</source>
        <comment>after on</comment>
        <translation>der CPU</translation>
    </message>
    <message>
        <source>%1 (emulated)</source>
        <translation>%1 (emuliert)</translation>
    </message>
    <message>
        <source>%1, laptop</source>
        <translation>%1, Notebook</translation>
    </message>
    <message>
        <source>%1, desktop</source>
        <translation>%1, Desktop</translation>
    </message>
    <message>
        <source>%1 with %2</source>
        <comment>a GPU, the CPU beside it</comment>
        <translation>%1 mit %2</translation>
    </message>
    <message>
        <source>8 desktop cores</source>
        <translation>8 Desktop-Kernen</translation>
    </message>
    <message>
        <source>4 cloud threads</source>
        <translation>4 Cloud-Threads</translation>
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
    <message>
        <source>Durations are the device&apos;s; where a side begins within its layer is not known.
Outlines are what was predicted. Ctrl and the wheel or + and - zoom, a click says why.</source>
        <translation>Die Dauern sind die des Geräts; wo eine Seite innerhalb ihrer Schicht beginnt, ist nicht bekannt.
Umrisse zeigen die Vorhersage. Strg mit dem Mausrad oder + und - zoomen, ein Klick sagt, warum.</translation>
    </message>
    <message>
        <source>How long each side had nothing to do</source>
        <translation>Wie lange jede Seite nichts zu tun hatte</translation>
    </message>
    <message>
        <source>There is no earlier token that is kept</source>
        <translation>Kein früheres Token ist aufbewahrt</translation>
    </message>
    <message>
        <source>This is the latest token</source>
        <translation>Das ist das neueste Token</translation>
    </message>
    <message>
        <source>Idle: GPU %1, copy engine %2, CPU %3 of the token&apos;s %4.</source>
        <translation>Untätig: GPU %1, Kopiereinheit %2, CPU %3 von den %4 des Tokens.</translation>
    </message>
    <message>
        <source>Skipped: %1 of the neurons.</source>
        <translation>Übersprungen: %1 der Neuronen.</translation>
    </message>
    <message>
        <source>Not copied for it: %1.</source>
        <translation>Dafür nicht kopiert: %1.</translation>
    </message>
    <message>
        <source>other machines</source>
        <translation>andere Computer</translation>
    </message>
    <message>
        <source>%1 was computed by another machine, which holds it.</source>
        <translation>%1 wurde von einem anderen Computer berechnet, der ihn hält.</translation>
    </message>
    <message>
        <source>How much of the computing was hidden behind loading</source>
        <translation>Wie viel vom Rechnen hinter dem Laden verborgen war</translation>
    </message>
    <message>
        <source>Of the tokens that the bars are of, in the mean. Loading: the copy engine brings experts to the device, asked for or guessed.
Computing: the device computes attention or experts, or the CPU experts, or both. What both share is hidden: a token takes
loading and computing less that time, as in CORM&apos;s table 3. Measured by the device&apos;s events and the host&apos;s clock.</source>
        <translation>Im Mittel über die Tokens, die die Balken zeigen. Laden: Die Kopiereinheit bringt Experten auf das Gerät, verlangte oder vermutete.
Rechnen: Das Gerät rechnet Attention oder Experten, oder die CPU Experten, oder beide. Was beides gemeinsam hat, ist verborgen: Ein Token dauert
Laden und Rechnen ohne diese Zeit, wie in Tabelle 3 von CORM. Gemessen mit den Ereignissen des Geräts und der Uhr des Computers.</translation>
    </message>
    <message>
        <source>On the CPU alone no expert is loaded to a device, so that no computing is hidden behind loading.</source>
        <translation>Auf der CPU allein wird kein Experte auf ein Gerät geladen, also ist auch kein Rechnen hinter dem Laden verborgen.</translation>
    </message>
    <message>
        <source>Hidden: %1 of the computing behind loading, %2 of the loading behind computing. Loading %3, computing %4, both at once %5.</source>
        <comment>share, share, time, time, time</comment>
        <translation>Verborgen: %1 vom Rechnen hinter dem Laden, %2 vom Laden hinter dem Rechnen. Laden %3, Rechnen %4, beides zugleich %5.</translation>
    </message>
    <message>
        <source>Loading %1, computing %2, both at once %3.</source>
        <comment>time, time, time</comment>
        <translation>Laden %1, Rechnen %2, beides zugleich %3.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DownloadQueue</name>
    <message>
        <source>waits</source>
        <translation>wartet</translation>
    </message>
    <message>
        <source>%1/s</source>
        <translation>%1/s</translation>
    </message>
    <message>
        <source>begins</source>
        <translation>beginnt</translation>
    </message>
    <message>
        <source>is checked</source>
        <translation>wird geprüft</translation>
    </message>
    <message>
        <source>paused</source>
        <translation>angehalten</translation>
    </message>
    <message>
        <source>done</source>
        <translation>fertig</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Got</source>
        <translation>Geladen</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DownloadsDialog</name>
    <message>
        <source>Does not fit here: %1</source>
        <translation>Passt hier nicht: %1</translation>
    </message>
    <message>
        <source>Takes %1 of the GPU&apos;s memory and %2 of RAM here.</source>
        <translation>Belegt hier %1 vom Speicher der GPU und %2 vom RAM.</translation>
    </message>
    <message>
        <source>Takes %1 of RAM here.</source>
        <translation>Belegt hier %1 vom RAM.</translation>
    </message>
    <message numerus="yes">
        <source>%n expert(s) would be read from the disk.</source>
        <translation>
            <numerusform>%n Experte würde vom Datenträger gelesen.</numerusform>
            <numerusform>%n Experten würden vom Datenträger gelesen.</numerusform>
        </translation>
    </message>
    <message>
        <source>Forecast: %1 tokens/s, first token of a short prompt after %2.</source>
        <translation>Vorhersage: %1 Tokens/s, erstes Token eines kurzen Prompts nach %2.</translation>
    </message>
    <message>
        <source>Its speed is known once “Measure speeds” was pressed for such models.</source>
        <translation>Wie schnell es ist, zeigt sich, wenn für solche Modelle „Tempo messen“ gedrückt wurde.</translation>
    </message>
    <message>
        <source>The file</source>
        <translation>Die Datei</translation>
    </message>
    <message>
        <source>&amp;Download</source>
        <translation>&amp;Herunterladen</translation>
    </message>
    <message>
        <source>&amp;Pause</source>
        <translation>&amp;Anhalten</translation>
    </message>
    <message>
        <source>Re&amp;move</source>
        <translation>&amp;Entfernen</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>&amp;Öffnen</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>Downloads</translation>
    </message>
    <message>
        <source>Removes what has come of a download that is not done; a model that is done stays</source>
        <translation>Entfernt, was von einem unfertigen Download gekommen ist; ein fertiges Modell bleibt</translation>
    </message>
    <message>
        <source>Models come into the cache of Hugging Face, where other programs find them too. Downloads go on after a start of the program when you resume them.</source>
        <translation>Modelle kommen in den Cache von Hugging Face, wo auch andere Programme sie finden. Nach einem Start des Programms gehen Downloads weiter, wenn Sie sie fortsetzen.</translation>
    </message>
    <message>
        <source>%1
Reading its headers…</source>
        <translation>%1
Ihre Kopfdaten werden gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>%1 from %2 to %3.</source>
        <translation>%1 von %2 nach %3.</translation>
    </message>
    <message>
        <source>The disk there lacks %1.</source>
        <translation>Dem Datenträger dort fehlen %1.</translation>
    </message>
    <message>
        <source>&amp;Resume</source>
        <translation>&amp;Fortsetzen</translation>
    </message>
    <message>
        <source>Remove a download</source>
        <translation>Einen Download entfernen</translation>
    </message>
    <message>
        <source>Remove %1?</source>
        <translation>%1 entfernen?</translation>
    </message>
    <message>
        <source>%1 of it have come and are deleted. Paused, it keeps them.</source>
        <translation>%1 davon sind schon da und werden gelöscht. Angehalten bleiben sie erhalten.</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>&amp;Look</source>
        <translation>&amp;Ansehen</translation>
    </message>
    <message>
        <source>Choose a model in “What runs here”, or name a repository of the hub.</source>
        <translation>Wählen Sie ein Modell in „Was hier läuft“, oder nennen Sie ein Repository des Hubs.</translation>
    </message>
    <message>
        <source>OWNER/NAME, OWNER/NAME:Q4_K_M or the address of a page or file</source>
        <translation>BESITZER/NAME, BESITZER/NAME:Q4_K_M oder die Adresse einer Seite oder Datei</translation>
    </message>
    <message>
        <source>Reads this file&apos;s headers where it is published and shows what it would take here; nothing is downloaded before you say so</source>
        <translation>Liest die Kopfdaten dieser Datei dort, wo sie veröffentlicht ist, und zeigt, was sie hier brauchen würde; heruntergeladen wird erst, wenn Sie es sagen</translation>
    </message>
    <message>
        <source>Reposi&amp;tory:</source>
        <translation>Reposi&amp;tory:</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DraftAttachments</name>
    <message>
        <source>%1 was not attached: a message can have %2 files.</source>
        <translation>%1 wurde nicht angehängt: Eine Nachricht kann %2 Dateien haben.</translation>
    </message>
    <message>
        <source>%1 is attached already.</source>
        <translation>%1 ist schon angehängt.</translation>
    </message>
    <message numerus="yes">
        <source>%n more files were not attached.</source>
        <translation>
            <numerusform>%n weitere Datei wurde nicht angehängt.</numerusform>
            <numerusform>%n weitere Dateien wurden nicht angehängt.</numerusform>
        </translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>Dateien anhängen</translation>
    </message>
    <message>
        <source>%1 · %2 tokens</source>
        <translation>%1 · %2 Tokens</translation>
    </message>
    <message>
        <source>Reading files…</source>
        <translation>Liest Dateien …</translation>
    </message>
    <message>
        <source>Reading %1: page %2 of %3</source>
        <translation>Liest %1: Seite %2 von %3</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>Eingefügter Text</translation>
    </message>
    <message>
        <source>Too long by %1 tokens: with these files and the first token of an answer the conversation takes %2, and the context holds %3. Remove a file, or attach a part of it.</source>
        <translation>Um %1 Tokens zu lang: Mit diesen Dateien und dem ersten Token einer Antwort hat die Unterhaltung %2, der Kontext fasst %3. Entfernen Sie eine Datei oder hängen Sie einen Teil davon an.</translation>
    </message>
    <message>
        <source>Too long by %1 tokens: with this text and the first token of an answer the conversation takes %2, and the context holds %3. Shorten it.</source>
        <translation>Um %1 Tokens zu lang: Mit diesem Text und dem ersten Token einer Antwort braucht die Unterhaltung %2, und der Kontext fasst %3. Bitte kürzen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::DropTarget</name>
    <message>
        <source>Drop to open %1</source>
        <translation>Loslassen, um %1 zu öffnen</translation>
    </message>
    <message>
        <source>Drop to attach %1</source>
        <translation>Loslassen, um %1 anzuhängen</translation>
    </message>
    <message numerus="yes">
        <source>Drop to attach %n files</source>
        <translation>
            <numerusform>Loslassen, um %n Datei anzuhängen</numerusform>
            <numerusform>Loslassen, um %n Dateien anzuhängen</numerusform>
        </translation>
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
    <message>
        <source>About this program</source>
        <translation>Über dieses Programm</translation>
    </message>
    <message>
        <source>The tabs at the right edge show what goes on inside: experts, memory, speed. To chat you need none of them.</source>
        <translation>Die Reiter am rechten Rand zeigen, was im Innern geschieht: Experten, Speicher, Tempo. Zum Chatten wird keiner davon gebraucht.</translation>
    </message>
    <message>
        <source>Do not show this again</source>
        <translation>Nicht mehr zeigen</translation>
    </message>
    <message>
        <source>What runs here…</source>
        <translation>Was hier läuft&#xa0;…</translation>
    </message>
    <message>
        <source>Models of today, how fast they would be on this computer, and how to get them</source>
        <translation>Modelle von heute, wie schnell sie auf diesem Computer wären, und wie man sie holt</translation>
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
        <translation>Fi&amp;xierung aufheben</translation>
    </message>
    <message>
        <source>&amp;Pin to the device</source>
        <translation>Auf dem Gerät &amp;fixieren</translation>
    </message>
    <message>
        <source>&amp;Evict from the device</source>
        <translation>Vom Gerät &amp;verdrängen</translation>
    </message>
    <message>
        <source>P&amp;recision</source>
        <translation>&amp;Genauigkeit</translation>
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
    <message>
        <source>The cache may take the place on the device again</source>
        <translation>Der Cache darf den Platz auf dem Gerät wieder vergeben</translation>
    </message>
    <message>
        <source>Brings to the device and keeps there, whatever the cache says</source>
        <translation>Bringt auf das Gerät und behält dort, was auch immer der Cache sagt</translation>
    </message>
    <message>
        <source>Lets go; what leaves the device stays in RAM or on disk</source>
        <translation>Gibt frei; was das Gerät verlässt, bleibt im RAM oder auf dem Datenträger</translation>
    </message>
    <message>
        <source>Changing layer %1, expert %2 to %3…</source>
        <translation>Schicht %1, Experte %2 wird in %3 umgewandelt&#xa0;…</translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is kept in %3.</source>
        <translation>Schicht %1, Experte %2 liegt in %3 vor.</translation>
    </message>
    <message>
        <source>&amp;Pin %1 experts to the device</source>
        <translation>%1 Experten auf dem Gerät &amp;fixieren</translation>
    </message>
    <message>
        <source>&amp;Unpin %1 experts</source>
        <translation>%1 Experten &amp;lösen</translation>
    </message>
    <message>
        <source>&amp;Evict %1 experts from the device</source>
        <translation>%1 Experten vom Gerät &amp;verdrängen</translation>
    </message>
    <message>
        <source>P&amp;recision of %1 experts</source>
        <translation>&amp;Genauigkeit von %1 Experten</translation>
    </message>
    <message>
        <source>Pinning %1 experts…</source>
        <translation>%1 Experten werden fixiert&#xa0;…</translation>
    </message>
    <message>
        <source>%1 experts are pinned.</source>
        <translation>%1 Experten sind fixiert.</translation>
    </message>
    <message>
        <source>Unpinning %1 experts…</source>
        <translation>%1 Experten werden gelöst&#xa0;…</translation>
    </message>
    <message>
        <source>%1 experts are no longer pinned.</source>
        <translation>%1 Experten sind nicht mehr fixiert.</translation>
    </message>
    <message>
        <source>Taking %1 experts off the device…</source>
        <translation>%1 Experten werden vom Gerät genommen&#xa0;…</translation>
    </message>
    <message>
        <source>%1 experts have left the device.</source>
        <translation>%1 Experten haben das Gerät verlassen.</translation>
    </message>
    <message>
        <source>Changing %1 experts to %2…</source>
        <translation>%1 Experten werden in %2 umgewandelt&#xa0;…</translation>
    </message>
    <message>
        <source>%1 experts are kept in %2.</source>
        <translation>%1 Experten liegen in %2 vor.</translation>
    </message>
    <message>
        <source>%1 of them found no room there.</source>
        <translation>%1 davon fanden dort keinen Platz.</translation>
    </message>
    <message>
        <source>&amp;As in the file: %1</source>
        <translation>&amp;Wie in der Datei: %1</translation>
    </message>
    <message>
        <source>No model is ready to be changed now</source>
        <translation>Gerade ist kein Modell bereit, geändert zu werden</translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no device to bring experts to</source>
        <translation>Das Modell läuft auf der CPU: Es gibt kein Gerät, auf das Experten gebracht werden könnten</translation>
    </message>
    <message>
        <source>None of these is on the device</source>
        <translation>Keiner davon ist auf dem Gerät</translation>
    </message>
    <message>
        <source>The number format that these are kept in</source>
        <translation>Das Zahlenformat, in dem diese gehalten werden</translation>
    </message>
    <message>
        <source>Going back…</source>
        <translation>Wird zurückgenommen&#xa0;…</translation>
    </message>
    <message>
        <source>Pin %1 experts: %2 of them are copied to the device, about %3, and others leave it where there is no room.</source>
        <translation>%1 Experten anheften: %2 davon werden auf das Gerät kopiert, etwa %3; andere verlassen es, wo kein Platz ist.</translation>
    </message>
    <message>
        <source>Unpin %1 experts: the cache may give their places to others.</source>
        <translation>%1 Experten lösen: der Cache darf ihre Plätze anderen geben.</translation>
    </message>
    <message>
        <source>Take %1 experts off the device: %2 are there, about %3.</source>
        <translation>%1 Experten vom Gerät nehmen: %2 sind dort, etwa %3.</translation>
    </message>
    <message>
        <source>Keep %1 experts in %2: about %3 instead of %4. Answers change.</source>
        <translation>%1 Experten in %2 halten: etwa %3 statt %4. Antworten ändern sich.</translation>
    </message>
    <message>
        <source>The expert is as before.</source>
        <translation>Der Experte ist wie zuvor.</translation>
    </message>
    <message>
        <source>%1 experts are as before.</source>
        <translation>%1 Experten sind wie zuvor.</translation>
    </message>
    <message>
        <source>Pin %1 experts: %2 are on the device, and it has places for %3 more of them, about %4.</source>
        <translation>%1 Experten anheften: %2 sind auf dem Gerät, und dort ist Platz für %3 weitere davon, etwa %4.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertUsePlot</name>
    <message>
        <source>found on the device</source>
        <translation>auf dem Gerät gefunden</translation>
    </message>
    <message>
        <source>copied to the device</source>
        <translation>auf das Gerät kopiert</translation>
    </message>
    <message>
        <source>computed on the CPU</source>
        <translation>auf der CPU berechnet</translation>
    </message>
    <message>
        <source>computed by another machine</source>
        <translation>von einem anderen Computer berechnet</translation>
    </message>
    <message>
        <source>not called</source>
        <translation>nicht gerufen</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>expert</source>
        <translation>Experte</translation>
    </message>
    <message>
        <source>prompt, %1 tokens</source>
        <translation>Prompt, %1 Tokens</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>Schritt %1</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>„%1“</translation>
    </message>
    <message>
        <source>layer %1, expert %2: %3</source>
        <comment>number, number, what became of it</comment>
        <translation>Schicht %1, Experte %2: %3</translation>
    </message>
    <message>
        <source>Save picture as S&amp;VG…</source>
        <translation>Bild als S&amp;VG speichern&#xa0;…</translation>
    </message>
    <message>
        <source>Save picture as SVG</source>
        <translation>Bild als SVG speichern</translation>
    </message>
    <message>
        <source>SVG picture (*.svg)</source>
        <translation>SVG-Bild (*.svg)</translation>
    </message>
    <message>
        <source>%1: experts over tokens</source>
        <translation>%1: Experten über den Tokens</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>Schicht %1</translation>
    </message>
    <message>
        <source>steps %1 to %2; experts from top to bottom</source>
        <translation>Schritte %1 bis %2; Experten von oben nach unten</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertsPanel</name>
    <message>
        <source>Show</source>
        <translation>Anzeigen</translation>
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
        <source>What is shown of each expert</source>
        <translation>Was zu jedem Experten gezeigt wird</translation>
    </message>
    <message>
        <source>Shows experts that were not called lately in a faint colour</source>
        <translation>Zeigt Experten blass, die zuletzt nicht aufgerufen wurden</translation>
    </message>
    <message>
        <source>Change</source>
        <translation>Ändern</translation>
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
        <source>Pin, evict or change the precision of the selected experts</source>
        <translation>Ausgewählte Experten fixieren, vom Gerät verdrängen oder ihre Genauigkeit ändern</translation>
    </message>
    <message>
        <source>Change the selected experts</source>
        <translation>Ausgewählte Experten ändern</translation>
    </message>
    <message>
        <source>Layers by experts. Arrow keys move from cell to cell, Return selects an expert, the menu key changes it. Shift and the arrow keys mark several, Shift and Space the layer, Control and Space the column.</source>
        <translation>Schichten mal Experten. Pfeiltasten gehen von Feld zu Feld, die Eingabetaste wählt einen Experten, die Menütaste ändert ihn. Umschalt und Pfeiltasten markieren mehrere, Umschalt und Leertaste die Schicht, Strg und Leertaste die Spalte.</translation>
    </message>
    <message>
        <source>Point at a cell for its numbers; drag to mark several, click a number for its layer or column.</source>
        <translation>Zeigen Sie auf ein Feld für seine Zahlen; Ziehen markiert mehrere, ein Klick auf eine Nummer ihre Schicht oder Spalte.</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>how many experts, where they are or in what</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>Click an expert first, or drag to mark several</source>
        <translation>Zuerst einen Experten anklicken, oder ziehen, um mehrere zu markieren</translation>
    </message>
    <message>
        <source>all layers:</source>
        <translation>alle Schichten:</translation>
    </message>
    <message>
        <source>Active neurons</source>
        <translation>Aktive Neuronen</translation>
    </message>
    <message>
        <source>Share of the neurons that were not skipped in the last steps, counted for each layer&apos;s experts together.</source>
        <translation>Anteil der Neuronen, die in den letzten Schritten nicht übersprungen wurden, für die Experten jeder Schicht zusammen gezählt.</translation>
    </message>
    <message>
        <source>All neurons are computed. The Budget panel can skip those near zero.</source>
        <translation>Alle Neuronen werden berechnet. Das Panel Budget kann die nahe null überspringen.</translation>
    </message>
    <message>
        <source>this machine alone</source>
        <translation>nur dieser Computer</translation>
    </message>
    <message>
        <source>several machines</source>
        <translation>mehrere Computer</translation>
    </message>
    <message>
        <source>+</source>
        <comment>glyph: on several machines</comment>
        <translation>+</translation>
    </message>
    <message>
        <source>Machine</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>Held by %1, too</source>
        <translation>Auch auf %1</translation>
    </message>
    <message>
        <source>Of residency, precision and machines alone: other colours are amounts</source>
        <translation>Nur bei Aufenthalt, Genauigkeit und Computer: Andere Farben sind Mengen</translation>
    </message>
    <message>
        <source>No other machine helps. The Machines panel adds one.</source>
        <translation>Kein anderer Computer hilft. Der Bereich Computer fügt einen hinzu.</translation>
    </message>
    <message>
        <source>this machine</source>
        <translation>dieser Computer</translation>
    </message>
    <message>
        <source>Which other machines hold each expert beside this one and can compute it; where every machine makes each step, which one computes it.</source>
        <translation>Welche anderen Computer außer diesem jeden Experten halten und berechnen können; wo jeder Computer jeden Schritt macht, welcher ihn berechnet.</translation>
    </message>
    <message>
        <source>Computed by this machine in every step</source>
        <translation>In jedem Schritt auf diesem Computer berechnet</translation>
    </message>
    <message>
        <source>Computed by %1 in every step</source>
        <translation>In jedem Schritt auf %1 berechnet</translation>
    </message>
    <message>
        <source>Colour: %1</source>
        <comment>title of a picture</comment>
        <translation>Farbe: %1</translation>
    </message>
    <message>
        <source>Dim unused</source>
        <translation>Ungenutzte abdunkeln</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Dim experts that were not called lately</source>
        <translation>Experten abdunkeln, die lange nicht aufgerufen wurden</translation>
    </message>
    <message>
        <source>other bits</source>
        <comment>sign: by the user</comment>
        <translation>andere Bits</translation>
    </message>
    <message>
        <source>pinned</source>
        <comment>sign</comment>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>taken off</source>
        <comment>sign: the device</comment>
        <translation>entfernt</translation>
    </message>
    <message>
        <source>Carry this out in the background; the conversation goes on meanwhile</source>
        <translation>Im Hintergrund ausführen; die Unterhaltung geht dabei weiter</translation>
    </message>
    <message>
        <source>Changes of several experts are shown first, and wait for this</source>
        <translation>Änderungen mehrerer Experten werden zuerst gezeigt und warten hierauf</translation>
    </message>
    <message>
        <source>Leave these experts as they are</source>
        <translation>Diese Experten lassen, wie sie sind</translation>
    </message>
    <message>
        <source>There is nothing to discard</source>
        <translation>Es gibt nichts zu verwerfen</translation>
    </message>
    <message>
        <source>Go back to the state before the last change of experts</source>
        <translation>Zurück zum Stand vor der letzten Änderung von Experten</translation>
    </message>
    <message>
        <source>No experts were changed yet</source>
        <translation>Noch wurden keine Experten geändert</translation>
    </message>
    <message>
        <source>End of the colour scale</source>
        <translation>Ende der Farbskala</translation>
    </message>
    <message>
        <source>highest</source>
        <translation>Max.</translation>
    </message>
    <message>
        <source>Scale up to</source>
        <translation>Skala bis</translation>
    </message>
    <message>
        <source>The value that has the last colour. With a fixed one, pictures of different moments and models can be compared; higher values look like it</source>
        <translation>Der Wert mit der letzten Farbe. Mit einem festen lassen sich Bilder verschiedener Augenblicke und Modelle vergleichen; höhere Werte sehen aus wie er</translation>
    </message>
    <message>
        <source>Of how often experts are called alone: other amounts always end at 100 %</source>
        <translation>Nur für die Häufigkeit, mit der Experten gerufen werden: Andere Mengen enden immer bei 100 %</translation>
    </message>
    <message>
        <source>fixed scale up to %1</source>
        <translation>feste Skala bis %1</translation>
    </message>
    <message>
        <source>scale up to the highest value</source>
        <translation>Skala bis zum Höchstwert</translation>
    </message>
    <message>
        <source>Frequency: latest tokens</source>
        <translation>Häufigkeit: neueste Tokens</translation>
    </message>
    <message>
        <source>Frequency: from the start</source>
        <translation>Häufigkeit: von Anfang an</translation>
    </message>
    <message>
        <source>Share of the latest tokens, at most %1 of prompt and answer, that the router sent to each expert.</source>
        <translation>Anteil der neuesten Tokens, höchstens %1 aus Prompt und Antwort, die der Router an jeden Experten schickte.</translation>
    </message>
    <message>
        <source>Share of all tokens that the router sent to each expert, since what the panel names (a conversation, a benchmark) began.</source>
        <translation>Anteil aller Tokens, die der Router an jeden Experten schickte, seit dem Beginn dessen, was das Panel nennt (eine Unterhaltung, ein Benchmark).</translation>
    </message>
    <message>
        <source>Share of each expert&apos;s tokens, since the model was loaded and prompts included, that found it on the device.</source>
        <translation>Anteil der Tokens jedes Experten seit dem Laden des Modells, Prompts mitgezählt, die ihn auf dem Gerät fanden.</translation>
    </message>
    <message numerus="yes">
        <source>Marked: %1, %2: %n expert(s)</source>
        <comment>layers, experts</comment>
        <translation>
            <numerusform>Markiert: %1, %2: %n Experte</numerusform>
            <numerusform>Markiert: %1, %2: %n Experten</numerusform>
        </translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>Schicht %1</translation>
    </message>
    <message>
        <source>layers %1</source>
        <translation>Schichten %1</translation>
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
        <source>layer</source>
        <translation>Schicht</translation>
    </message>
    <message>
        <source>expert</source>
        <translation>Experte</translation>
    </message>
    <message numerus="yes">
        <source>Selected; underlined in the chat: %n place(s)</source>
        <translation>
            <numerusform>Ausgewählt; im Chat unterstrichen: %n Stelle</numerusform>
            <numerusform>Ausgewählt; im Chat unterstrichen: %n Stellen</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <comment>how many experts, a format</comment>
        <translation>%1 in %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::FindBar</name>
    <message>
        <source>Find in this conversation</source>
        <translation>In dieser Unterhaltung suchen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
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
        <source>Looking at the model…</source>
        <translation>Das Modell wird angesehen …</translation>
    </message>
    <message>
        <source>Expected speed</source>
        <translation>Erwartete Geschwindigkeit</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>What was measured so far is kept</source>
        <translation>Was bisher gemessen wurde, bleibt erhalten</translation>
    </message>
    <message>
        <source>Times this computer for some seconds with random weights of the model&apos;s shape; the times are kept</source>
        <translation>Misst diesen Computer einige Sekunden lang mit zufälligen Gewichten in den Maßen des Modells; die Zeiten werden aufbewahrt</translation>
    </message>
    <message>
        <source>An answer is being written; measured beside it, times would be wrong</source>
        <translation>Es wird gerade eine Antwort geschrieben; nebenher gemessene Zeiten wären falsch</translation>
    </message>
    <message>
        <source>Measuring this machine… %1 %</source>
        <translation>Dieser Computer wird gemessen&#xa0;… %1 %</translation>
    </message>
    <message>
        <source>Forecast: %1 tokens/s, first token of a prompt of %2 tokens after %3.</source>
        <translation>Vorhersage: %1 Tokens/s, erstes Token einer Eingabe von %2 Tokens nach %3.</translation>
    </message>
    <message>
        <source>Speed: not measured yet on this machine.</source>
        <translation>Geschwindigkeit: auf diesem Computer noch nicht gemessen.</translation>
    </message>
    <message>
        <source>&amp;KV cache</source>
        <translation>&amp;KV-Cache</translation>
    </message>
    <message>
        <source>In the file: experts in %1, all else in %2.</source>
        <translation>In der Datei: Experten in %1, alles andere in %2.</translation>
    </message>
    <message>
        <source>Fits, but slowly: %1 of %2 experts stay on disk and are read whenever they are called.</source>
        <translation>Passt, ist aber langsam: %1 von %2 Experten bleiben auf der Platte und werden bei jedem Aufruf gelesen.</translation>
    </message>
    <message>
        <source>Fits, but slowly: %1 of %2 experts stay on disk. About %3 tokens/s (forecast).</source>
        <translation>Passt, aber langsam: %1 von %2 Experten bleiben auf der Platte. Etwa %3 Tokens/s (Prognose).</translation>
    </message>
    <message>
        <source>Neuron cache</source>
        <translation>Neuronen-Cache</translation>
    </message>
    <message>
        <source>none</source>
        <comment>neuron cache</comment>
        <translation>keiner</translation>
    </message>
    <message>
        <source>&amp;Neurons</source>
        <translation>&amp;Neuronen</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>Chat-Vorlage</translation>
    </message>
    <message>
        <source>How messages are written for the model. For files that bring no chat template, or one that cannot be used: that of the family it was made from, or a file in Jinja or as Ollama writes them</source>
        <translation>Wie Nachrichten für das Modell geschrieben werden. Für Dateien, die keine Chat-Vorlage mitbringen oder eine, die nicht zu gebrauchen ist: die der Familie, aus der es stammt, oder eine Datei in Jinja oder so, wie Ollama sie schreibt</translation>
    </message>
    <message>
        <source>Chat &amp;template</source>
        <translation>Chat-Vor&amp;lage</translation>
    </message>
    <message>
        <source>From a file…</source>
        <translation>Aus einer Datei …</translation>
    </message>
    <message>
        <source>Choose a chat template</source>
        <translation>Chat-Vorlage wählen</translation>
    </message>
    <message>
        <source>Memory of the device that keeps neurons of experts which were copied without the others, so that an expert that is called again needs only those that are missing. Of use while the Budget panel skips neurons; answers stay the same</source>
        <translation>Speicher des Geräts, der Neuronen von Experten behält, die ohne die übrigen kopiert wurden, sodass ein Experte, der wieder gerufen wird, nur die fehlenden braucht. Nützlich, solange das Panel Budget Neuronen überspringt; die Antworten bleiben gleich</translation>
    </message>
    <message>
        <source>Fits, but cannot answer messages: it has no chat template. Choose that of its family at “Chat template”.</source>
        <translation>Passt, kann aber keine Nachrichten beantworten: Es hat keine Chat-Vorlage. Wählen Sie bei „Chat-Vorlage“ die seiner Familie.</translation>
    </message>
    <message>
        <source>Mea&amp;sure again</source>
        <translation>Erneut me&amp;ssen</translation>
    </message>
    <message>
        <source>Mea&amp;sure</source>
        <translation>Me&amp;ssen</translation>
    </message>
    <message>
        <source>none</source>
        <comment>draft model</comment>
        <translation>keins</translation>
    </message>
    <message>
        <source>A smaller model…</source>
        <translation>Ein kleineres Modell …</translation>
    </message>
    <message>
        <source>Draft model</source>
        <translation>Modell für Entwürfe</translation>
    </message>
    <message>
        <source>A small model with the same vocabulary that says on the CPU which tokens probably follow. The model checks several of them in one step and answers the same as without, sooner where enough of them are right. The draft model&apos;s memory comes on top of what is shown here</source>
        <translation>Ein kleines Modell mit demselben Vokabular, das auf der CPU sagt, welche Token wahrscheinlich folgen. Das Modell prüft mehrere davon in einem Schritt und antwortet dasselbe wie ohne, früher, wenn genug davon richtig sind. Der Speicher des Modells für Entwürfe kommt zu dem hinzu, was hier steht</translation>
    </message>
    <message>
        <source>Dr&amp;aft model</source>
        <translation>Ent&amp;würfe</translation>
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
    <name>offstage::ui::FullContext</name>
    <message>
        <source>Question: </source>
        <comment>in a transcript for the model</comment>
        <translation>Frage: </translation>
    </message>
    <message>
        <source>Answer: </source>
        <comment>in a transcript for the model</comment>
        <translation>Antwort: </translation>
    </message>
    <message>
        <source>A larger context is not possible: %1</source>
        <translation>Ein größerer Kontext ist nicht möglich: %1</translation>
    </message>
    <message>
        <source>What a context of %1 tokens costs in speed is not known yet.</source>
        <translation>Was ein Kontext von %1 Tokens an Tempo kostet, ist noch nicht bekannt.</translation>
    </message>
    <message>
        <source>With a context of %1 tokens the speed stays the same (forecast).</source>
        <translation>Mit einem Kontext von %1 Tokens bleibt das Tempo gleich (Prognose).</translation>
    </message>
    <message>
        <source>With a context of %1 tokens: about %2 tokens/s instead of %3 (forecast).</source>
        <translation>Mit einem Kontext von %1 Tokens: etwa %2 Tokens/s statt %3 (Prognose).</translation>
    </message>
    <message>
        <source>A larger context does not help: %1 tokens are the most that this model can have.</source>
        <translation>Ein größerer Kontext hilft nicht: Mehr als %1 Tokens kann dieses Modell nicht haben.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HardwareMenu</name>
    <message>
        <source>&amp;Hardware</source>
        <translation>&amp;Hardware</translation>
    </message>
    <message>
        <source>Hardware</source>
        <translation>Hardware</translation>
    </message>
    <message>
        <source>This computer</source>
        <translation>Dieser Computer</translation>
    </message>
    <message>
        <source>&amp;Emulated GPU (speed is simulated)</source>
        <translation>&amp;Emulierte GPU (Geschwindigkeit ist simuliert)</translation>
    </message>
    <message>
        <source>&amp;Try a small emulated GPU</source>
        <translation>&amp;Kleine emulierte GPU ausprobieren</translation>
    </message>
    <message>
        <source>24 MiB of GPU memory: the demo model does not fit, and experts come and go</source>
        <translation>24 MiB GPU-Speicher: Das Demomodell passt nicht hinein, Experten kommen und gehen</translation>
    </message>
    <message>
        <source>Where the model runs. Found here: %1</source>
        <translation>Wo das Modell läuft. Hier gefunden: %1</translation>
    </message>
    <message>
        <source>Runs on %1: its speed is simulated, not measured.</source>
        <translation>Läuft auf %1: Die Geschwindigkeit ist simuliert, nicht gemessen.</translation>
    </message>
    <message>
        <source>Runs on %1. Found here: %2.</source>
        <translation>Läuft auf %1. Gefunden: %2.</translation>
    </message>
    <message>
        <source>&amp;Back to %1</source>
        <translation>&amp;Zurück zu %1</translation>
    </message>
    <message>
        <source>Leave the emulated GPU: the model runs on %1 again, and speeds are measured</source>
        <translation>Die emulierte GPU verlassen: das Modell läuft wieder auf %1, und Geschwindigkeiten werden gemessen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMap</name>
    <message>
        <source>%1 %2–%3 of %4</source>
        <comment>title of columns, those that are shown, their number</comment>
        <translation>%1 %2–%3 von %4</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>how many cells, of which kind</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>%1 on average</source>
        <translation>im Mittel %1</translation>
    </message>
    <message>
        <source>%1 at most</source>
        <translation>höchstens %1</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>row or column, its summary</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>%1 %2, %3 %4: %5</source>
        <comment>heat map cell: name of a row, its number, name of a column, its number, value</comment>
        <translation>%1 %2, %3 %4: %5</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>name of a row, its number</comment>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <comment>name of a column, its number</comment>
        <translation>%1 %2</translation>
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
    <message>
        <source>Signs in corners: %1</source>
        <translation>Zeichen in den Ecken: %1</translation>
    </message>
    <message>
        <source>highest: %1</source>
        <comment>end of the colour scale</comment>
        <translation>höchster: %1</translation>
    </message>
    <message>
        <source>%1 and more (fixed)</source>
        <comment>end of the colour scale</comment>
        <translation>%1 und mehr (fest)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HelpDesk</name>
    <message>
        <source>&amp;Contents</source>
        <translation>&amp;Inhalt</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HelpDialog</name>
    <message>
        <source>What was found</source>
        <translation>Was gefunden wurde</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>Hilfe</translation>
    </message>
    <message>
        <source>Search the help</source>
        <translation>Hilfe durchsuchen</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
    <message>
        <source>Page of the help</source>
        <translation>Seite der Hilfe</translation>
    </message>
    <message>
        <source>No page has these words.</source>
        <translation>Keine Seite hat diese Wörter.</translation>
    </message>
    <message numerus="yes">
        <source>%n page(s) found</source>
        <translation>
            <numerusform>%n Seite gefunden</numerusform>
            <numerusform>%n Seiten gefunden</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing found</source>
        <translation>Nichts gefunden</translation>
    </message>
    <message>
        <source>No page of the help has all of these words: %1</source>
        <translation>Keine Seite der Hilfe hat alle diese Wörter: %1</translation>
    </message>
    <message>
        <source>Show all pages</source>
        <translation>Alle Seiten zeigen</translation>
    </message>
    <message>
        <source>&amp;Back</source>
        <translation>&amp;Zurück</translation>
    </message>
    <message>
        <source>The page that was shown before</source>
        <translation>Die Seite, die vorher gezeigt wurde</translation>
    </message>
    <message>
        <source>The pages of the help are in English, with the English names of menus and buttons.</source>
        <translation>Die Seiten der Hilfe sind auf Englisch und nennen Menüs und Knöpfe mit ihren englischen Namen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::History</name>
    <message>
        <source>The chat history could not be searched</source>
        <translation>Der Chatverlauf konnte nicht durchsucht werden</translation>
    </message>
    <message>
        <source>“%1” cannot be opened</source>
        <translation>„%1“ kann nicht geöffnet werden</translation>
    </message>
    <message>
        <source>A change of the conversation could not be saved</source>
        <translation>Eine Änderung der Unterhaltung konnte nicht gespeichert werden</translation>
    </message>
</context>
<context>
    <name>offstage::ui::HitSteps</name>
    <message>
        <source>Previous hit (Shift+Enter)</source>
        <translation>Voriger Treffer (Umschalt+Eingabe)</translation>
    </message>
    <message>
        <source>Next hit (Enter)</source>
        <translation>Nächster Treffer (Eingabe)</translation>
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
        <source> (Enter)</source>
        <translation> (Eingabe)</translation>
    </message>
    <message>
        <source>The model is busy with something else. Write on: your message is sent when that is done</source>
        <translation>Das Modell ist mit etwas anderem beschäftigt. Einfach weiterschreiben: Die Nachricht wird danach gesendet</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>Thinking: %1</source>
        <translation>Nachdenken: %1</translation>
    </message>
    <message>
        <source>How much the model thinks before it answers. From the next answer on</source>
        <translation>Wie viel das Modell nachdenkt, bevor es antwortet. Ab der nächsten Antwort</translation>
    </message>
    <message>
        <source>Attach files</source>
        <translation>Dateien anhängen</translation>
    </message>
    <message>
        <source>Write what is to be done with the files</source>
        <translation>Schreiben Sie, was mit den Dateien geschehen soll</translation>
    </message>
    <message>
        <source>Files being read</source>
        <translation>Dateien, die gelesen werden</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Attach files: text, source code, CSV, Markdown, PDF. Dropping or pasting them does the same</source>
        <translation>Dateien anhängen: Text, Quelltext, CSV, Markdown, PDF. Ablegen oder Einfügen tut dasselbe</translation>
    </message>
    <message>
        <source>Cancel reading files</source>
        <translation>Lesen der Dateien abbrechen</translation>
    </message>
    <message>
        <source>Your message waits for the model</source>
        <translation>Die Nachricht wartet auf das Modell</translation>
    </message>
    <message>
        <source>Your message waits for the model. %1 takes it back</source>
        <translation>Die Nachricht wartet auf das Modell. %1 nimmt sie zurück</translation>
    </message>
    <message>
        <source>No model is open: open one (%1), or drop its folder or GGUF file on this window</source>
        <translation>Kein Modell geöffnet: eines öffnen (%1) oder seinen Ordner oder seine GGUF-Datei auf dieses Fenster ziehen</translation>
    </message>
    <message>
        <source>File menu</source>
        <translation>Menü Datei</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>Antwortet</translation>
    </message>
    <message>
        <source>Answering · %1 stops</source>
        <translation>Antwortet · %1 hält an</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>This is sent when the answer is complete · Enter again keeps it here</source>
        <translation>Das wird gesendet, wenn die Antwort vollständig ist · nochmals Enter lässt es hier</translation>
    </message>
</context>
<context>
    <name>offstage::ui::KeyBindings</name>
    <message>
        <source>A shortcut is one key, with Ctrl, Alt or Shift held or without.</source>
        <translation>Ein Tastenkürzel ist eine Taste, mit oder ohne Strg, Alt oder Umschalt.</translation>
    </message>
    <message>
        <source>%1 alone is needed for writing. Hold Ctrl or Alt with it, or take a function key.</source>
        <translation>%1 allein wird zum Schreiben gebraucht. Halten Sie Strg oder Alt dazu, oder nehmen Sie eine Funktionstaste.</translation>
    </message>
    <message>
        <source>%1 may open a menu or reach a field. Hold Ctrl or Shift as well.</source>
        <translation>%1 öffnet vielleicht ein Menü oder führt in ein Feld. Halten Sie auch Strg oder Umschalt.</translation>
    </message>
    <message>
        <source>%1 belongs to every text field: copy, cut, paste, undo, redo and select all.</source>
        <translation>%1 gehört jedem Textfeld: kopieren, ausschneiden, einfügen, rückgängig, wiederholen und alles auswählen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::KeyEdit</name>
    <message>
        <source>Press the new keys here</source>
        <translation>Hier die neuen Tasten drücken</translation>
    </message>
</context>
<context>
    <name>offstage::ui::KeysPage</name>
    <message>
        <source>N&amp;o keys</source>
        <translation>K&amp;eine Tasten</translation>
    </message>
    <message>
        <source>The command keeps its place in the menu, without keys</source>
        <translation>Der Befehl bleibt im Menü, ohne Tasten</translation>
    </message>
    <message>
        <source>&amp;Reset</source>
        <translation>&amp;Zurücksetzen</translation>
    </message>
    <message>
        <source>Give this command the keys that it has by itself</source>
        <translation>Diesem Befehl seine eigenen Tasten geben</translation>
    </message>
    <message>
        <source>Reset &amp;all</source>
        <translation>&amp;Alle zurücksetzen</translation>
    </message>
    <message>
        <source>Give every command the keys that it has by itself</source>
        <translation>Jedem Befehl seine eigenen Tasten geben</translation>
    </message>
    <message>
        <source>About these keys</source>
        <translation>Zu diesen Tasten</translation>
    </message>
    <message>
        <source>&amp;Use them here</source>
        <translation>&amp;Hier verwenden</translation>
    </message>
    <message>
        <source>Take these keys from the other command</source>
        <translation>Dem anderen Befehl diese Tasten nehmen</translation>
    </message>
    <message>
        <source>Search commands and keys</source>
        <translation>Befehle und Tasten suchen</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>Befehle</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Keys of the chosen command</source>
        <translation>Tasten des gewählten Befehls</translation>
    </message>
    <message>
        <source>&amp;Keys</source>
        <translation>&amp;Tasten</translation>
    </message>
    <message>
        <source>All commands have their own keys again.</source>
        <translation>Alle Befehle haben wieder ihre eigenen Tasten.</translation>
    </message>
    <message>
        <source>%1 belongs to “%2”.</source>
        <translation>%1 gehört zu „%2“.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LeftOutEdit</name>
    <message>
        <source>Compute with guessed neurons</source>
        <translation>Mit geratenen Neuronen rechnen</translation>
    </message>
    <message>
        <source>Skipped neurons</source>
        <translation>Übersprungene Neuronen</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keine</translation>
    </message>
    <message>
        <source>Up to one activation</source>
        <translation>Bis zu einer Aktivierung</translation>
    </message>
    <message>
        <source>Neurons skipped up to this activation</source>
        <translation>Neuronen, die bis zu dieser Aktivierung übersprungen werden</translation>
    </message>
    <message>
        <source>The threshold of all experts</source>
        <translation>Die Schwelle aller Experten</translation>
    </message>
    <message>
        <source>Where the neurons of an expert were guessed and copied ahead, and it needs others: compute with those that are there. Less is copied, and answers change more; no measured loss counts this</source>
        <translation>Wo die Neuronen eines Experten geraten und vorab kopiert wurden und er andere braucht: mit den vorhandenen rechnen. Es wird weniger kopiert, und die Antworten ändern sich mehr; kein gemessener Verlust zählt das mit</translation>
    </message>
    <message>
        <source>By expert, loss %1</source>
        <translation>Je Experte, Verlust %1</translation>
    </message>
    <message>
        <source>Each expert has its own threshold. Measured over %1, %2 tokens: %3 of the neurons active, Kullback-Leibler divergence %4</source>
        <translation>Jeder Experte hat seine eigene Schwelle. Gemessen an %1, %2 Tokens: %3 der Neuronen aktiv, Kullback-Leibler-Divergenz %4</translation>
    </message>
    <message>
        <source>By expert: not measured</source>
        <translation>Je Experte: nicht gemessen</translation>
    </message>
    <message>
        <source>“offstage-cli sensitivity --thresholds-for-loss 0.003 --keep” chooses a threshold for each expert</source>
        <translation>„offstage-cli sensitivity --thresholds-for-loss 0.003 --keep“ wählt für jeden Experten eine Schwelle</translation>
    </message>
    <message>
        <source>The quality above is one floor for bits and neurons: the plan chooses what is skipped</source>
        <translation>Die Qualität darüber ist eine Grenze für Bit und Neuronen: Der Plan wählt, was übersprungen wird</translation>
    </message>
    <message>
        <source>Neurons of the chosen experts whose activation is at most a threshold are skipped: less is read and copied, and the answers are no longer the model&apos;s own</source>
        <translation>Neuronen der gewählten Experten, deren Aktivierung höchstens eine Schwelle erreicht, werden übersprungen: Es wird weniger gelesen und kopiert, und die Antworten sind nicht mehr die des Modells selbst</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LinePlot</name>
    <message>
        <source>%1: %2</source>
        <comment>series and value</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>highest %1</source>
        <translation>höchstens %1</translation>
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
    <name>offstage::ui::LocalModelView</name>
    <message>
        <source>On this computer</source>
        <translation>Auf diesem Computer</translation>
    </message>
    <message>
        <source>&amp;Add folder…</source>
        <translation>&amp;Ordner hinzufügen …</translation>
    </message>
    <message>
        <source>All models…</source>
        <translation>Alle Modelle …</translation>
    </message>
    <message>
        <source>Models on this computer</source>
        <translation>Modelle auf diesem Computer</translation>
    </message>
    <message>
        <source>Look for models in a folder of your own too</source>
        <translation>Auch in einem eigenen Ordner nach Modellen suchen</translation>
    </message>
    <message>
        <source>All models that were found, and how to load them</source>
        <translation>Alle gefundenen Modelle, und wie sie geladen werden</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalModels</name>
    <message>
        <source>folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>%1 bits</source>
        <translation>%1 Bit</translation>
    </message>
    <message>
        <source>Fits · %1</source>
        <translation>Passt · %1</translation>
    </message>
    <message>
        <source>Fits, partly on disk · %1</source>
        <translation>Passt, zum Teil auf der Platte · %1</translation>
    </message>
    <message>
        <source>Does not fit: %1 are missing</source>
        <translation>Passt nicht: %1 fehlen</translation>
    </message>
    <message>
        <source>Does not fit</source>
        <translation>Passt nicht</translation>
    </message>
    <message>
        <source>Cannot be opened: %1</source>
        <translation>Kann nicht geöffnet werden: %1</translation>
    </message>
    <message>
        <source>Looking for models on this computer…</source>
        <translation>Suche nach Modellen auf diesem Computer …</translation>
    </message>
    <message>
        <source>No Mixture-of-Experts models were found. Looked in: %1.</source>
        <translation>Es wurden keine Mixture-of-Experts-Modelle gefunden. Gesucht wurde in: %1.</translation>
    </message>
    <message numerus="yes">
        <source>%n other model(s) are no Mixture-of-Experts models.</source>
        <translation>
            <numerusform>%n weiteres Modell ist kein Mixture-of-Experts-Modell.</numerusform>
            <numerusform>%n weitere Modelle sind keine Mixture-of-Experts-Modelle.</numerusform>
        </translation>
    </message>
    <message>
        <source>There are too many files: not all were looked at.</source>
        <translation>Es sind zu viele Dateien: Nicht alle wurden angesehen.</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Passt</translation>
    </message>
    <message>
        <source>Fits, partly on disk</source>
        <translation>Passt, zum Teil auf der Platte</translation>
    </message>
    <message>
        <source>%1 experts × %2 layers</source>
        <translation>%1 Experten × %2 Schichten</translation>
    </message>
    <message>
        <source>no chat template</source>
        <translation>keine Chat-Vorlage</translation>
    </message>
    <message>
        <source>Fits, but needs a chat template</source>
        <translation>Passt, braucht aber eine Chat-Vorlage</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalServerPage</name>
    <message>
        <source>&amp;Local server on</source>
        <translation>&amp;Lokaler Server an</translation>
    </message>
    <message>
        <source>Switch it on &amp;when Offstage starts</source>
        <translation>&amp;Beim Start von Offstage einschalten</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>Copy the token</source>
        <translation>Das Token kopieren</translation>
    </message>
    <message>
        <source>&amp;New token</source>
        <translation>&amp;Neues Token</translation>
    </message>
    <message>
        <source>Make another token. Programs that bring the one before are refused from then on, and what is being answered is stopped.</source>
        <translation>Ein anderes Token erzeugen. Programme mit dem bisherigen werden von da an abgewiesen, und eine laufende Antwort wird angehalten.</translation>
    </message>
    <message>
        <source>C&amp;opy</source>
        <translation>K&amp;opieren</translation>
    </message>
    <message>
        <source>Copy the address for other programs</source>
        <translation>Die Adresse für andere Programme kopieren</translation>
    </message>
    <message>
        <source>State of the local server</source>
        <translation>Zustand des lokalen Servers</translation>
    </message>
    <message>
        <source>&amp;Stop this answer</source>
        <translation>Diese Antwort an&amp;halten</translation>
    </message>
    <message>
        <source>Stop the answer that another program is getting</source>
        <translation>Die Antwort an ein anderes Programm anhalten</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>Problem</translation>
    </message>
    <message>
        <source>Address to listen on</source>
        <translation>Adresse, an der gelauscht wird</translation>
    </message>
    <message>
        <source>127.0.0.1: programs of this computer alone</source>
        <translation>127.0.0.1: nur Programme dieses Computers</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>Port</translation>
    </message>
    <message>
        <source>any free one</source>
        <translation>ein freier</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>made when first switched on</source>
        <translation>entsteht beim ersten Einschalten</translation>
    </message>
    <message>
        <source>What other programs call the API key. Kept in %1, which only you can read.</source>
        <translation>Was andere Programme API-Schlüssel nennen. Liegt in %1 und ist für niemand anderen lesbar.</translation>
    </message>
    <message>
        <source>none, or http://localhost:3000</source>
        <translation>keine, oder http://localhost:3000</translation>
    </message>
    <message>
        <source>Web pages that may use the server</source>
        <translation>Webseiten, die den Server benutzen dürfen</translation>
    </message>
    <message>
        <source>Where pages come from that may use the server, with blanks between</source>
        <translation>Woher die Seiten kommen, die den Server benutzen dürfen; dazwischen Leerzeichen</translation>
    </message>
    <message>
        <source>Address for other programs</source>
        <translation>Adresse für andere Programme</translation>
    </message>
    <message>
        <source>shown while the server is on</source>
        <translation>erscheint, solange der Server an ist</translation>
    </message>
    <message>
        <source>Other computers can reach this address. What is asked and answered, and the token, pass the network as plain text.</source>
        <translation>Andere Computer können diese Adresse erreichen. Fragen, Antworten und das Token gehen unverschlüsselt durch das Netz.</translation>
    </message>
    <message>
        <source>While it is on, other programs can ask the model that is open, by parts of the HTTP APIs of OpenAI, Anthropic and Ollama. Your own messages go first.</source>
        <translation>Solange er an ist, können andere Programme das geöffnete Modell fragen, mit Teilen der HTTP-APIs von OpenAI, Anthropic und Ollama. Eigene Nachrichten gehen vor.</translation>
    </message>
    <message>
        <source>&amp;Port</source>
        <translation>&amp;Port</translation>
    </message>
    <message>
        <source>&amp;Address</source>
        <translation>&amp;Adresse</translation>
    </message>
    <message>
        <source>Web pa&amp;ges</source>
        <translation>&amp;Webseiten</translation>
    </message>
    <message>
        <source>&amp;Token</source>
        <translation>&amp;Token</translation>
    </message>
    <message>
        <source>For other p&amp;rograms</source>
        <translation>Für andere P&amp;rogramme</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalServerSwitch</name>
    <message>
        <source>Listening at %1</source>
        <translation>Lauscht an %1</translation>
    </message>
    <message>
        <source>Listening at %1, without a model yet</source>
        <translation>Lauscht an %1, noch ohne Modell</translation>
    </message>
    <message>
        <source>%1 answered, %2 waiting</source>
        <translation>%1 beantwortet, %2 wartend</translation>
    </message>
    <message>
        <source>%1 · %2, %3 being answered</source>
        <translation>%1 · %2, %3 in Arbeit</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
</context>
<context>
    <name>offstage::ui::LogPanel</name>
    <message>
        <source>Save…</source>
        <translation>Speichern&#xa0;…</translation>
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
    <name>offstage::ui::MachineTexts</name>
    <message>
        <source>Measured again: %1 times faster than at first, so more is computed there.</source>
        <translation>Noch einmal gemessen: %1-mal so schnell wie zuerst, daher wird dort mehr berechnet.</translation>
    </message>
    <message>
        <source>Measured again: %1 times slower than at first, so less is computed there.</source>
        <translation>Noch einmal gemessen: braucht %1-mal so lange wie zuerst, daher wird dort weniger berechnet.</translation>
    </message>
    <message>
        <source>◌ connecting…</source>
        <translation>◌ verbindet sich&#xa0;…</translation>
    </message>
    <message>
        <source>● up</source>
        <translation>● da</translation>
    </message>
    <message>
        <source>▲ not reached</source>
        <translation>▲ nicht erreicht</translation>
    </message>
    <message>
        <source>▲ refuses</source>
        <translation>▲ lehnt ab</translation>
    </message>
    <message>
        <source>▲ shutting down</source>
        <translation>▲ wird beendet</translation>
    </message>
    <message>
        <source>◌ draining</source>
        <translation>◌ wird abgezogen</translation>
    </message>
    <message>
        <source>○ off</source>
        <translation>○ aus</translation>
    </message>
    <message>
        <source>○ no model open</source>
        <translation>○ kein Modell offen</translation>
    </message>
    <message>
        <source>◌ after this answer</source>
        <translation>◌ nach dieser Antwort</translation>
    </message>
    <message>
        <source>Attention and the choice of experts are computed on every machine; %1 of the %2 experts here.</source>
        <translation>Attention und die Wahl der Experten werden auf jedem Computer berechnet; %1 der %2 Experten hier.</translation>
    </message>
    <message>
        <source>Attention and the choice of experts are computed here, and all experts that no other machine takes.</source>
        <translation>Attention und die Wahl der Experten werden hier berechnet, und alle Experten, die kein anderer Computer nimmt.</translation>
    </message>
    <message>
        <source>Of a token&apos;s %1 ms it waited %2 ms for other machines.</source>
        <translation>Von den %1 ms eines Tokens wartete er %2 ms auf andere Computer.</translation>
    </message>
    <message>
        <source>%1, %2, key %3…</source>
        <translation>%1, %2, Schlüssel %3&#xa0;…</translation>
    </message>
    <message>
        <source>It is not used, and nothing connects to it.</source>
        <translation>Er wird nicht benutzt, und nichts verbindet sich mit ihm.</translation>
    </message>
    <message>
        <source>It is not reached: %1. Its experts run here; it is tried again by itself.</source>
        <translation>Er ist nicht zu erreichen: %1. Seine Experten laufen hier; es wird von selbst wieder versucht.</translation>
    </message>
    <message>
        <source>Holds %1 of %2 experts in %3 of %4.</source>
        <translation>Hält %1 von %2 Experten in %3 von %4.</translation>
    </message>
    <message>
        <source>%1 ms there and back, %2 MB/s; %3 threads, %4.</source>
        <translation>%1 ms hin und zurück, %2 MB/s; %3 Threads, %4.</translation>
    </message>
    <message>
        <source>Makes each step as well; computes %1 of the experts.</source>
        <translation>Macht jeden Schritt mit; berechnet %1 der Experten.</translation>
    </message>
    <message>
        <source>Connected to %1 itself: %2 ms there and back, %3 MB/s.</source>
        <translation>Selbst mit %1 verbunden: %2 ms hin und zurück, %3 MB/s.</translation>
    </message>
    <message>
        <source>Not connected to %1 (%2): what the two send each other goes by this computer.</source>
        <translation>Nicht mit %1 verbunden (%2): Was die beiden einander schicken, läuft über diesen Computer.</translation>
    </message>
    <message>
        <source>A token: %1 ms computing its experts, %2 ms on the network, %3 ms waited for here; %4.</source>
        <translation>Ein Token: %1 ms Rechnen seiner Experten, %2 ms im Netz, hier %3 ms gewartet; %4.</translation>
    </message>
    <message>
        <source>A token: %1 ms computing there, %2 ms on the network, %3 ms waited for here; %4.</source>
        <translation>Ein Token: dort %1 ms Rechnen, %2 ms im Netz, hier %3 ms gewartet; %4.</translation>
    </message>
    <message numerus="yes">
        <source>Lost since it was joined: %n time(s).</source>
        <translation>
            <numerusform>Seit der Verbindung %n-mal ausgefallen.</numerusform>
            <numerusform>Seit der Verbindung %n-mal ausgefallen.</numerusform>
        </translation>
    </message>
    <message>
        <source>As long as they compute whatever they hold, the others are helpers.</source>
        <translation>Solange die anderen alles berechnen, was sie halten, sind sie Helfer.</translation>
    </message>
    <message>
        <source>Chosen when machines are connected to, and anew before an answer where the other has become clearly faster, by what each is forecast to take.</source>
        <translation>Wird gewählt, sobald Computer verbunden werden, und neu vor einer Antwort, wo die andere Art deutlich schneller geworden ist: danach, was jede laut Prognose braucht.</translation>
    </message>
    <message>
        <source>Counts as soon as a machine is used.</source>
        <translation>Gilt, sobald ein Computer benutzt wird.</translation>
    </message>
    <message>
        <source>In force: every machine makes each step.</source>
        <translation>In Kraft: Jeder Computer macht jeden Schritt.</translation>
    </message>
    <message>
        <source>In force: desktop and helpers.</source>
        <translation>In Kraft: dieser Computer und Helfer.</translation>
    </message>
    <message>
        <source>Forecast: %1 ms a token, the other way %2 ms.</source>
        <translation>Prognose: %1 ms je Token, auf die andere Art %2 ms.</translation>
    </message>
    <message>
        <source>Forecast now: %1 ms a token, the other way %2 ms; it is chosen anew before an answer, where it is clearly faster.</source>
        <translation>Prognose jetzt: %1 ms je Token, auf die andere Art %2 ms; wo die deutlich schneller ist, wird vor einer Antwort neu gewählt.</translation>
    </message>
    <message>
        <source>What the other would take is not known.</source>
        <translation>Was die andere Art bräuchte, ist nicht bekannt.</translation>
    </message>
    <message>
        <source>A machine makes no steps for this one, so the choice fell on helpers.</source>
        <translation>Ein Computer macht keine Schritte für diesen, daher fiel die Wahl auf Helfer.</translation>
    </message>
    <message>
        <source>Being connected to; until then this machine makes every step alone.</source>
        <translation>Wird verbunden; bis dahin macht dieser Computer jeden Schritt allein.</translation>
    </message>
    <message>
        <source>No other machine is reached: this one makes every step alone.</source>
        <translation>Kein anderer Computer ist erreichbar: Dieser macht jeden Schritt allein.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::Machines</name>
    <message>
        <source>%1: %2 ms there and back, %3 MB/s; it holds %4 experts in %5 of %6.</source>
        <translation>%1: %2 ms hin und zurück, %3 MB/s; er hält %4 Experten in %5 von %6.</translation>
    </message>
    <message>
        <source>experts of the model on %1; again while it cannot be reached</source>
        <translation>Experten des Modells auf %1; erneut, solange er nicht zu erreichen ist</translation>
    </message>
    <message>
        <source>pairing</source>
        <translation>Kopplung</translation>
    </message>
    <message>
        <source>test of the connection to %1</source>
        <translation>Test der Verbindung zu %1</translation>
    </message>
    <message>
        <source>experts of the model on %1, again</source>
        <translation>Experten des Modells auf %1, wieder</translation>
    </message>
    <message>
        <source>steps of the model, made by %1 as well; again while it cannot be reached</source>
        <translation>Schritte des Modells, auch auf %1 gemacht; erneut, solange er nicht zu erreichen ist</translation>
    </message>
    <message>
        <source>steps of the model, made by %1 as well</source>
        <translation>Schritte des Modells, auch auf %1 gemacht</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MachinesPanel</name>
    <message>
        <source>%1 ms, %2 MB/s</source>
        <translation>%1 ms, %2 MB/s</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>Befehl</translation>
    </message>
    <message>
        <source>● up</source>
        <translation>● da</translation>
    </message>
    <message>
        <source>The chosen machine</source>
        <translation>Der gewählte Computer</translation>
    </message>
    <message>
        <source>What the times are of</source>
        <translation>Was die Zeiten zeigen</translation>
    </message>
    <message>
        <source>Send activations in 16 bit</source>
        <translation>Aktivierungen in 16 Bit senden</translation>
    </message>
    <message>
        <source>Add…</source>
        <translation>Hinzufügen&#xa0;…</translation>
    </message>
    <message>
        <source>Test link</source>
        <translation>Prüfen</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>Benutzen</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>This Offstage was built without the libraries that connections need (gRPC and OpenSSL), so other machines cannot help.</source>
        <translation>Dieses Offstage wurde ohne die Bibliotheken gebaut, die Verbindungen brauchen (gRPC und OpenSSL); andere Computer können daher nicht helfen.</translation>
    </message>
    <message>
        <source>%1 is paired with this machine.</source>
        <translation>%1 ist mit diesem Computer gekoppelt.</translation>
    </message>
    <message>
        <source>%1 is paired with this machine. It does not answer yet: start offstage-node there.</source>
        <translation>%1 ist mit diesem Computer gekoppelt. Er antwortet noch nicht: dort offstage-node starten.</translation>
    </message>
    <message>
        <source>Another computer of yours can hold experts of the model in its memory, and compute them.</source>
        <translation>Ein anderer Computer von Ihnen kann Experten des Modells im Speicher halten und berechnen.</translation>
    </message>
    <message>
        <source>1. There, let it serve the same model:</source>
        <translation>1. Dort dasselbe Modell bereitstellen:</translation>
    </message>
    <message>
        <source>2. Beside it, let it show eight words:</source>
        <translation>2. Daneben acht Wörter anzeigen lassen:</translation>
    </message>
    <message>
        <source>3. Here, press Add… and type its address and the words.</source>
        <translation>3. Hier auf Hinzufügen&#xa0;… drücken und seine Adresse und die Wörter eingeben.</translation>
    </message>
    <message>
        <source>Nothing connects to another machine before that. What goes over the network is encrypted.</source>
        <translation>Vorher verbindet sich nichts mit einem anderen Computer. Was über das Netz geht, ist verschlüsselt.</translation>
    </message>
    <message>
        <source>Machine</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Link</source>
        <translation>Verbindung</translation>
    </message>
    <message>
        <source>Experts of the model that it holds</source>
        <translation>Experten des Modells, die er hält</translation>
    </message>
    <message>
        <source>A small message there and back, and the rate of large ones</source>
        <translation>Eine kleine Nachricht hin und zurück, und die Rate großer</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>A token&apos;s time by machine</source>
        <translation>Die Zeit eines Tokens je Computer</translation>
    </message>
    <message>
        <source>time by machine</source>
        <translation>Zeit je Computer</translation>
    </message>
    <message>
        <source>Known once a part of an answer was written with their help.</source>
        <translation>Bekannt, sobald ein Teil einer Antwort mit ihrer Hilfe geschrieben wurde.</translation>
    </message>
    <message>
        <source>Experts by machine</source>
        <translation>Experten je Computer</translation>
    </message>
    <message>
        <source>experts by machine</source>
        <translation>Experten je Computer</translation>
    </message>
    <message>
        <source>Open a model to see where its experts are.</source>
        <translation>Ein Modell öffnen, um zu sehen, wo seine Experten sind.</translation>
    </message>
    <message>
        <source>where that is faster</source>
        <translation>wo das schneller ist</translation>
    </message>
    <message>
        <source>whatever they hold</source>
        <translation>alles, was sie halten</translation>
    </message>
    <message>
        <source>What other machines compute</source>
        <translation>Was andere Computer berechnen</translation>
    </message>
    <message>
        <source>Which experts other machines compute: those that are forecast to be done sooner there, by measured costs, or all that they hold</source>
        <translation>Welche Experten andere Computer berechnen: die, die dort nach gemessenen Kosten voraussichtlich früher fertig sind, oder alle, die sie halten</translation>
    </message>
    <message>
        <source>Half the bytes over the network. Answers are then rounded: they differ a little from those of one machine</source>
        <translation>Halb so viele Bytes über das Netz. Antworten sind dann gerundet: Sie weichen ein wenig von denen eines Computers ab</translation>
    </message>
    <message>
        <source>They compute</source>
        <translation>Sie berechnen</translation>
    </message>
    <message>
        <source>Experts that each machine holds</source>
        <translation>Experten, die jeder Computer hält</translation>
    </message>
    <message>
        <source>Pair with a machine that shows eight words</source>
        <translation>Mit einem Computer koppeln, der acht Wörter zeigt</translation>
    </message>
    <message>
        <source>Test the link to the chosen machine</source>
        <translation>Verbindung zum gewählten Computer prüfen</translation>
    </message>
    <message>
        <source>Use or drain the chosen machine</source>
        <translation>Gewählten Computer benutzen oder abziehen</translation>
    </message>
    <message>
        <source>Remove the chosen machine</source>
        <translation>Gewählten Computer entfernen</translation>
    </message>
    <message>
        <source>Testing the link to %1…</source>
        <translation>Die Verbindung zu %1 wird geprüft&#xa0;…</translation>
    </message>
    <message>
        <source>%1 is used from the end of this answer on.</source>
        <translation>%1 wird ab dem Ende dieser Antwort benutzt.</translation>
    </message>
    <message>
        <source>%1 is being connected to.</source>
        <translation>Die Verbindung zu %1 wird aufgebaut.</translation>
    </message>
    <message>
        <source>%1 is used as soon as a model is open.</source>
        <translation>%1 wird benutzt, sobald ein Modell geöffnet ist.</translation>
    </message>
    <message>
        <source>%1 is drained: its experts run here again from the end of this answer on. It stays paired.</source>
        <translation>%1 wird abgezogen: Seine Experten laufen ab dem Ende dieser Antwort wieder hier. Er bleibt gekoppelt.</translation>
    </message>
    <message>
        <source>%1 is drained: its experts run here again. It stays paired.</source>
        <translation>%1 ist abgezogen: Seine Experten laufen wieder hier. Er bleibt gekoppelt.</translation>
    </message>
    <message>
        <source>Remove a machine</source>
        <translation>Computer entfernen</translation>
    </message>
    <message>
        <source>Remove %1?</source>
        <translation>%1 entfernen?</translation>
    </message>
    <message>
        <source>Its key is forgotten. To use it again it has to be paired again, with new words.</source>
        <translation>Sein Schlüssel wird vergessen. Um ihn wieder zu benutzen, muss er neu gekoppelt werden, mit neuen Wörtern.</translation>
    </message>
    <message>
        <source>%1 was removed.</source>
        <translation>%1 wurde entfernt.</translation>
    </message>
    <message>
        <source>○ no model open</source>
        <translation>○ kein Modell offen</translation>
    </message>
    <message>
        <source>This machine</source>
        <translation>Dieser Computer</translation>
    </message>
    <message>
        <source>computing</source>
        <translation>Rechnen</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>Warten</translation>
    </message>
    <message>
        <source>this machine</source>
        <translation>dieser Computer</translation>
    </message>
    <message>
        <source>network</source>
        <translation>Netz</translation>
    </message>
    <message>
        <source>What a token takes, measured: mean of the last %1. Machines work side by side.</source>
        <translation>Was ein Token braucht, gemessen: Mittel der letzten %1. Die Computer arbeiten nebeneinander.</translation>
    </message>
    <message>
        <source>What a token takes on each machine</source>
        <translation>Was ein Token auf jedem Computer braucht</translation>
    </message>
    <message>
        <source>Choose a machine first</source>
        <translation>Zuerst einen Computer wählen</translation>
    </message>
    <message>
        <source>Drain</source>
        <translation>Abziehen</translation>
    </message>
    <message>
        <source>Its experts run here again; it stays paired</source>
        <translation>Seine Experten laufen wieder hier; er bleibt gekoppelt</translation>
    </message>
    <message>
        <source>Its memory and its processor are used for experts of the model</source>
        <translation>Sein Speicher und sein Prozessor werden für Experten des Modells benutzt</translation>
    </message>
    <message>
        <source>Measures latency and rate, for about a second</source>
        <translation>Misst etwa eine Sekunde lang Latenz und Rate</translation>
    </message>
    <message>
        <source>Forgets it and its key</source>
        <translation>Vergisst ihn und seinen Schlüssel</translation>
    </message>
    <message>
        <source>What the experts are counted by</source>
        <translation>Wonach die Experten gezählt sind</translation>
    </message>
    <message>
        <source>What the forecasts are of</source>
        <translation>Wovon die Prognosen sind</translation>
    </message>
    <message>
        <source>Who makes the steps now</source>
        <translation>Wer die Schritte jetzt macht</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatisch</translation>
    </message>
    <message>
        <source>Desktop and helpers</source>
        <translation>Dieser Computer und Helfer</translation>
    </message>
    <message>
        <source>Every machine makes each step</source>
        <translation>Jeder Computer macht jeden Schritt</translation>
    </message>
    <message>
        <source>Who makes the steps</source>
        <translation>Wer die Schritte macht</translation>
    </message>
    <message>
        <source>Desktop and helpers: this machine makes each step, and sends the others what their experts compute with; two messages for a layer, there and back.
Every machine makes each step: attention is computed on all of them, and of each layer every machine sends the others what its experts gave; one message.
Automatic: what is forecast to be faster, by what links, experts and steps were measured to take.</source>
        <translation>Dieser Computer und Helfer: Dieser Computer macht jeden Schritt und sendet den anderen, womit ihre Experten rechnen; zwei Nachrichten je Schicht, hin und zurück.
Jeder Computer macht jeden Schritt: Attention wird auf allen berechnet, und in jeder Schicht sendet jeder den anderen, was seine Experten ergaben; eine Nachricht.
Automatisch: was laut Prognose schneller ist, nach dem, was Verbindungen, Experten und Schritte gemessen brauchen.</translation>
    </message>
    <message>
        <source>A token&apos;s time on this machine in both shapes</source>
        <translation>Die Zeit eines Tokens auf diesem Computer, auf beide Arten</translation>
    </message>
    <message>
        <source>A token&apos;s time in both shapes, forecast</source>
        <translation>Die Zeit eines Tokens auf beide Arten, Prognose</translation>
    </message>
    <message>
        <source>forecast of both shapes</source>
        <translation>Prognose beider Arten</translation>
    </message>
    <message>
        <source>Forecast when machines are connected to.</source>
        <translation>Prognose, sobald Computer verbunden werden.</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>It counts from the end of this answer on.</source>
        <translation>Es gilt ab dem Ende dieser Antwort.</translation>
    </message>
    <message>
        <source>Desktop and helpers, forecast</source>
        <translation>Dieser Computer und Helfer, Prognose</translation>
    </message>
    <message>
        <source>Every machine, forecast</source>
        <translation>Jeder Computer, Prognose</translation>
    </message>
    <message>
        <source>Every machine, measured</source>
        <translation>Jeder Computer, gemessen</translation>
    </message>
    <message>
        <source>Desktop and helpers, measured</source>
        <translation>Dieser Computer und Helfer, gemessen</translation>
    </message>
    <message>
        <source>Where every machine makes each step, each computes its share</source>
        <translation>Wo jeder Computer jeden Schritt macht, berechnet jeder seinen Teil</translation>
    </message>
    <message>
        <source>What a token takes, measured: mean of the last %1. Machines work side by side; of the others their experts are counted.</source>
        <translation>Was ein Token braucht, gemessen: Mittel der letzten %1. Die Computer arbeiten nebeneinander; von den anderen sind die Experten gezählt.</translation>
    </message>
    <message>
        <source>Experts that each machine computes in every step</source>
        <translation>Experten, die jeder Computer in jedem Schritt berechnet</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainMenu</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
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
        <source>Open with o&amp;ptions…</source>
        <translation>Mit O&amp;ptionen öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Ctrl+Shift+O</source>
        <translation>Ctrl+Shift+O</translation>
    </message>
    <message>
        <source>&amp;Local server…</source>
        <translation>&amp;Lokaler Server&#xa0;…</translation>
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
        <source>&amp;Find in this conversation…</source>
        <translation>In dieser Unterhaltung &amp;suchen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>&amp;Anhalten</translation>
    </message>
    <message>
        <source>Se&amp;ttings…</source>
        <translation>Einste&amp;llungen …</translation>
    </message>
    <message>
        <source>&amp;Conversation</source>
        <translation>&amp;Unterhaltung</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>&amp;Umbenennen</translation>
    </message>
    <message>
        <source>&amp;Pinned</source>
        <translation>An&amp;geheftet</translation>
    </message>
    <message>
        <source>&amp;Archived</source>
        <translation>&amp;Archiviert</translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren …</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Löschen</translation>
    </message>
    <message>
        <source>Export a&amp;ll conversations…</source>
        <translation>Alle Unterhaltungen ex&amp;portieren …</translation>
    </message>
    <message>
        <source>&amp;Import conversations…</source>
        <translation>Unterhaltungen &amp;importieren …</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
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
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;First steps</source>
        <translation>&amp;Erste Schritte</translation>
    </message>
    <message>
        <source>&amp;Keys</source>
        <translation>&amp;Tasten</translation>
    </message>
    <message>
        <source>&amp;About Offstage</source>
        <translation>Ü&amp;ber Offstage</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>Antwort anhalten</translation>
    </message>
    <message>
        <source>Stop the answer (%1)</source>
        <translation>Antwort anhalten (%1)</translation>
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
        <source>Copy the last &amp;answer</source>
        <translation>Letzte Ant&amp;wort kopieren</translation>
    </message>
    <message>
        <source>Ctrl+Shift+A</source>
        <translation>Ctrl+Shift+A</translation>
    </message>
    <message>
        <source>&amp;Next conversation</source>
        <translation>&amp;Nächste Unterhaltung</translation>
    </message>
    <message>
        <source>Ctrl+PgDown</source>
        <translation>Ctrl+PgDown</translation>
    </message>
    <message>
        <source>Pre&amp;vious conversation</source>
        <translation>&amp;Vorige Unterhaltung</translation>
    </message>
    <message>
        <source>Ctrl+PgUp</source>
        <translation>Ctrl+PgUp</translation>
    </message>
    <message>
        <source>An&amp;swer again</source>
        <translation>Noch einmal an&amp;tworten</translation>
    </message>
    <message>
        <source>Ctrl+R</source>
        <translation>Ctrl+R</translation>
    </message>
    <message>
        <source>Edit the last &amp;message</source>
        <translation>Letzte Nachricht &amp;bearbeiten</translation>
    </message>
    <message>
        <source>Ctrl+Shift+E</source>
        <translation>Ctrl+Shift+E</translation>
    </message>
    <message>
        <source>Settings › Appearance</source>
        <translation>Einstellungen › Darstellung</translation>
    </message>
    <message>
        <source>theme, dark, light, colours, text size, font, language</source>
        <translation>Farbschema, dunkel, hell, Farben, Textgröße, Schrift, Sprache</translation>
    </message>
    <message>
        <source>Settings › Keys</source>
        <translation>Einstellungen › Tasten</translation>
    </message>
    <message>
        <source>shortcuts, keyboard, hotkeys</source>
        <translation>Kürzel, Tastatur, Tastenkürzel, Shortcuts</translation>
    </message>
    <message>
        <source>Settings › Memory</source>
        <translation>Einstellungen › Arbeitsspeicher</translation>
    </message>
    <message>
        <source>context kept, conversations, RAM, KV cache</source>
        <translation>behaltener Kontext, Unterhaltungen, RAM, KV-Cache</translation>
    </message>
    <message>
        <source>Settings › Local server</source>
        <translation>Einstellungen › Lokaler Server</translation>
    </message>
    <message>
        <source>API, OpenAI, port, address, HTTP</source>
        <translation>API, OpenAI, Port, Adresse, HTTP</translation>
    </message>
    <message>
        <source>Settings › Storage</source>
        <translation>Einstellungen › Ablage</translation>
    </message>
    <message>
        <source>folders, model folders, cache, disk, history, delete</source>
        <translation>Ordner, Modellordner, Cache, Festplatte, Speicherplatz, Verlauf, löschen</translation>
    </message>
    <message>
        <source>creativity, randomness, top-k, min-p, repetition penalty, beam, longest answer, max tokens, thinking</source>
        <translation>Kreativität, Zufall, Top-k, Min-p, Wiederholungsstrafe, Beam, längste Antwort, Tokens, Denken</translation>
    </message>
    <message>
        <source>Budget › Memory, context and quality</source>
        <translation>Budget › Speicher, Kontext und Qualität</translation>
    </message>
    <message>
        <source>VRAM, RAM, GPU memory, context length, offload layers, quantization, bits, KV cache, experts</source>
        <translation>VRAM, RAM, GPU-Speicher, Kontextlänge, Schichten auslagern, Quantisierung, Bits, KV-Cache, Experten</translation>
    </message>
    <message>
        <source>chat, start, clear</source>
        <translation>Chat, beginnen, leeren</translation>
    </message>
    <message>
        <source>load, file, GGUF, folder, switch model, change model</source>
        <translation>laden, Datei, GGUF, Ordner, Modell wechseln</translation>
    </message>
    <message>
        <source>load, context, device, GPU, quantization</source>
        <translation>laden, Kontext, Gerät, GPU, Quantisierung</translation>
    </message>
    <message>
        <source>API, OpenAI, port, serve</source>
        <translation>API, OpenAI, Port, anbieten</translation>
    </message>
    <message>
        <source>exit, close</source>
        <translation>schließen, verlassen, Ende</translation>
    </message>
    <message>
        <source>clipboard, Markdown</source>
        <translation>Zwischenablage, Markdown</translation>
    </message>
    <message>
        <source>clipboard, reply, response</source>
        <translation>Zwischenablage, Erwiderung</translation>
    </message>
    <message>
        <source>search</source>
        <translation>suchen</translation>
    </message>
    <message>
        <source>cancel, interrupt, halt</source>
        <translation>abbrechen, unterbrechen, anhalten</translation>
    </message>
    <message>
        <source>preferences, options, configuration</source>
        <translation>Optionen, Konfiguration, Vorlieben</translation>
    </message>
    <message>
        <source>title, name</source>
        <translation>Titel, Name</translation>
    </message>
    <message>
        <source>save, Markdown, JSON, download</source>
        <translation>speichern, Markdown, JSON</translation>
    </message>
    <message>
        <source>save, backup, JSON, download</source>
        <translation>speichern, sichern, JSON</translation>
    </message>
    <message>
        <source>load, restore, JSON</source>
        <translation>laden, wiederherstellen, JSON</translation>
    </message>
    <message>
        <source>remove, erase</source>
        <translation>entfernen, tilgen</translation>
    </message>
    <message>
        <source>retry, redo, try again, another answer</source>
        <translation>neu, wiederholen, andere Antwort</translation>
    </message>
    <message>
        <source>change, correct, prompt</source>
        <translation>ändern, verbessern, Prompt</translation>
    </message>
    <message>
        <source>logits, logprobs, alternatives</source>
        <translation>Logits, Logprobs, Alternativen</translation>
    </message>
    <message>
        <source>night, black, appearance</source>
        <translation>Nacht, schwarz, Aussehen</translation>
    </message>
    <message>
        <source>day, white, appearance</source>
        <translation>Tag, weiß, Aussehen</translation>
    </message>
    <message>
        <source>English</source>
        <translation>Englisch, English</translation>
    </message>
    <message>
        <source>German</source>
        <translation>Deutsch, German</translation>
    </message>
    <message>
        <source>Vietnamese</source>
        <translation>Vietnamesisch, Vietnamese</translation>
    </message>
    <message>
        <source>zoom in, font size, bigger</source>
        <translation>vergrößern, Schriftgröße, Zoom</translation>
    </message>
    <message>
        <source>zoom out, font size</source>
        <translation>verkleinern, Schriftgröße, Zoom</translation>
    </message>
    <message>
        <source>panels, windows, default</source>
        <translation>Tafeln, Fenster, Anfang</translation>
    </message>
    <message>
        <source>heat map, router, routing</source>
        <translation>Heatmap, Router, Routing</translation>
    </message>
    <message>
        <source>hit rate, copies, policy</source>
        <translation>Trefferquote, Kopien, Regel</translation>
    </message>
    <message>
        <source>timeline, CPU, GPU, layers</source>
        <translation>Zeitleiste, CPU, GPU, Schichten</translation>
    </message>
    <message>
        <source>memory, VRAM, RAM, context, quantization</source>
        <translation>Speicher, VRAM, RAM, Kontext, Quantisierung</translation>
    </message>
    <message>
        <source>forecast, hardware, buy, upgrade</source>
        <translation>Vorhersage, Hardware, kaufen, aufrüsten</translation>
    </message>
    <message>
        <source>network, nodes, cluster, pair</source>
        <translation>Netz, Knoten, Cluster, koppeln</translation>
    </message>
    <message>
        <source>speed, tokens per second, measure, compare</source>
        <translation>Tempo, Tokens pro Sekunde, messen, vergleichen</translation>
    </message>
    <message>
        <source>events, connections, errors</source>
        <translation>Ereignisse, Verbindungen, Fehler</translation>
    </message>
    <message>
        <source>temperature, top-p, seed, system prompt</source>
        <translation>Temperatur, Top-p, Seed, Systemprompt</translation>
    </message>
    <message>
        <source>chats, history, list</source>
        <translation>Chats, Verlauf, Liste</translation>
    </message>
    <message>
        <source>Move to &amp;folder</source>
        <translation>In &amp;Ordner verschieben</translation>
    </message>
    <message>
        <source>New f&amp;older</source>
        <translation>Neuer Or&amp;dner</translation>
    </message>
    <message>
        <source>Settings › Conversations</source>
        <translation>Einstellungen › Unterhaltungen</translation>
    </message>
    <message>
        <source>start, last conversation, reopen, titles, names</source>
        <translation>Start, letzte Unterhaltung, wieder öffnen, Titel, Namen</translation>
    </message>
    <message>
        <source>Instructions and sampling › System prompt</source>
        <translation>Anweisungen und Sampling › Systemprompt</translation>
    </message>
    <message>
        <source>persona, role, character</source>
        <translation>Persona, Rolle, Charakter</translation>
    </message>
    <message>
        <source>Instructions and sampling › Temperature, top-p, seed</source>
        <translation>Anweisungen und Sampling › Temperatur, Top-p, Seed</translation>
    </message>
    <message>
        <source>group, category, project</source>
        <translation>Gruppe, Kategorie, Projekt</translation>
    </message>
    <message>
        <source>perplexity, uncertain, surprise</source>
        <translation>Perplexität, unsicher, Überraschung, unerwartet</translation>
    </message>
    <message>
        <source>What &amp;runs here…</source>
        <translation>&amp;Was hier läuft&#xa0;…</translation>
    </message>
    <message>
        <source>suggest, catalogue, which model, download</source>
        <translation>Vorschlag, Katalog, welches Modell, herunterladen</translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory, and see which experts are called. Everything runs on this computer; nothing is sent anywhere but to machines that you add and to the hub of a model that you ask for.

Apache License 2.0. Uses Qt %1 (LGPL) and cmark-gfm (BSD).</source>
        <translation>Chat mit Mixture-of-Experts-Modellen, die nicht in den Speicher der GPU passen, mit Blick darauf, welche Experten aufgerufen werden. Alles läuft auf diesem Computer; nichts wird irgendwohin gesendet außer zu Computern, die Sie hinzufügen, und zu dem Hub eines Modells, das Sie anfordern.

Apache License 2.0. Verwendet Qt %1 (LGPL) und cmark-gfm (BSD).</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainToolBar</name>
    <message>
        <source>Main tool bar</source>
        <translation>Hauptwerkzeugleiste</translation>
    </message>
    <message>
        <source>Panels</source>
        <translation>Bereiche</translation>
    </message>
    <message>
        <source>Open one of the panels: budgets, experts, forecasts and more</source>
        <translation>Einen der Bereiche öffnen: Budgets, Experten, Prognosen und mehr</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainWindow</name>
    <message>
        <source>Offstage</source>
        <translation>Offstage</translation>
    </message>
    <message>
        <source>%1 – Offstage</source>
        <translation>%1 – Offstage</translation>
    </message>
    <message>
        <source>Offstage, %1</source>
        <translation>Offstage, %1</translation>
    </message>
    <message>
        <source>Persona</source>
        <translation>Persona</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MemoryPage</name>
    <message>
        <source>&amp;Keep room for other conversations</source>
        <translation>Platz für andere Unterhaltungen &amp;behalten</translation>
    </message>
    <message>
        <source>What is in force</source>
        <translation>Was gilt</translation>
    </message>
    <message>
        <source>What was read of a conversation stays in memory while there is room, so that going back to it does not read it again. Without room of their own, the others have what the running conversation leaves of its context.</source>
        <translation>Was von einer Unterhaltung gelesen wurde, bleibt im Speicher, solange Platz ist, damit die Rückkehr zu ihr sie nicht neu liest. Ohne eigenen Platz haben die anderen das, was die laufende Unterhaltung von ihrem Kontext übrig lässt.</translation>
    </message>
    <message>
        <source>&amp;Tokens</source>
        <translation>&amp;Token</translation>
    </message>
    <message>
        <source>Tokens of other conversations that are kept</source>
        <translation>Token anderer Unterhaltungen, die behalten werden</translation>
    </message>
    <message>
        <source>No model is open. The next one is opened with what is chosen here.</source>
        <translation>Kein Modell ist geöffnet. Das nächste wird mit dem geöffnet, was hier gewählt ist.</translation>
    </message>
    <message>
        <source>In force now: room for %1 tokens, which takes %2 of memory.</source>
        <translation>Jetzt gilt: Platz für %1 Tokens; er belegt %2 Speicher.</translation>
    </message>
    <message>
        <source>In force now: no room of their own, which takes no memory.</source>
        <translation>Jetzt gilt: kein eigener Platz; das belegt keinen Speicher.</translation>
    </message>
    <message>
        <source>Nothing of other conversations is kept at the moment.</source>
        <translation>Von anderen Unterhaltungen ist im Augenblick nichts da.</translation>
    </message>
    <message numerus="yes">
        <source>Kept at the moment: %1 tokens of %n conversation(s).</source>
        <translation>
            <numerusform>Im Augenblick da: %1 Tokens von %n Unterhaltung.</numerusform>
            <numerusform>Im Augenblick da: %1 Tokens von %n Unterhaltungen.</numerusform>
        </translation>
    </message>
    <message>
        <source>Your choice is being carried out…</source>
        <translation>Ihre Wahl wird gerade umgesetzt …</translation>
    </message>
    <message>
        <source>Your choice could not be carried out: %1</source>
        <translation>Ihre Wahl konnte nicht umgesetzt werden: %1</translation>
    </message>
    <message>
        <source>Your choice counts for the next model that is opened.</source>
        <translation>Ihre Wahl gilt für das nächste Modell, das geöffnet wird.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageAttachments</name>
    <message>
        <source>Text of %1</source>
        <translation>Text von %1</translation>
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
        <source>Show its &amp;experts</source>
        <translation>Seine &amp;Experten zeigen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageEditor</name>
    <message>
        <source>Send as a new branch</source>
        <translation>Als neuen Zweig senden</translation>
    </message>
    <message>
        <source>Edit your message</source>
        <translation>Eigene Nachricht bearbeiten</translation>
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
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Enter sends it as a new branch, Shift and Enter begins a new line, Esc leaves it as it was</source>
        <translation>Eingabe sendet es als neuen Zweig, Umschalt und Eingabe beginnt eine neue Zeile, Esc lässt es, wie es war</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Save as a new branch</source>
        <translation>Als neuen Zweig speichern</translation>
    </message>
    <message>
        <source>Edit the answer</source>
        <translation>Die Antwort bearbeiten</translation>
    </message>
    <message>
        <source>Ctrl and Enter saves it as a new branch, Esc leaves it as it was</source>
        <translation>Strg und Eingabe speichert es als neuen Zweig, Esc lässt es, wie es war</translation>
    </message>
    <message>
        <source>Ctrl+Enter</source>
        <translation>Strg+Eingabe</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageFooter</name>
    <message>
        <source>Copy the whole message</source>
        <translation>Ganze Nachricht kopieren</translation>
    </message>
    <message>
        <source>Edit this message: a new branch</source>
        <translation>Diese Nachricht bearbeiten: ein neuer Zweig</translation>
    </message>
    <message>
        <source>Edit this answer: a new branch</source>
        <translation>Diese Antwort bearbeiten: ein neuer Zweig</translation>
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
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Edited by you</source>
        <translation>Von Ihnen bearbeitet</translation>
    </message>
    <message>
        <source>You have changed this answer. What it was before is another branch.</source>
        <translation>Sie haben diese Antwort geändert. Was vorher dastand, ist ein anderer Zweig.</translation>
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
        <source>Open this page of the help</source>
        <translation>Diese Seite der Hilfe öffnen</translation>
    </message>
    <message>
        <source>Read the page</source>
        <translation>Seite lesen</translation>
    </message>
    <message>
        <source>Let the model answer this: a new branch</source>
        <translation>Das Modell antworten lassen: ein neuer Zweig</translation>
    </message>
    <message>
        <source>Ask the model anyway</source>
        <translation>Trotzdem das Modell fragen</translation>
    </message>
    <message>
        <source>The model sees neither this nor the question</source>
        <translation>Das Modell sieht weder dies noch die Frage</translation>
    </message>
    <message>
        <source>%1
Simulated: what the emulated device would reach, worked out from its datasheet; the text came at another speed here.
Click for the timeline of its tokens</source>
        <translation>%1
Simuliert: was das emulierte Gerät nach seinem Datenblatt erreichen würde; hier kam der Text in einem anderen Tempo.
Ein Klick zeigt die Zeitleiste der Tokens</translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageWidget</name>
    <message>
        <source>Your message</source>
        <translation>Eigene Nachricht</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Edit this message: a new branch</source>
        <translation>Diese Nachricht bearbeiten: ein neuer Zweig</translation>
    </message>
    <message>
        <source>Edit this answer: a new branch</source>
        <translation>Diese Antwort bearbeiten: ein neuer Zweig</translation>
    </message>
    <message>
        <source>Answer, edited by you</source>
        <translation>Antwort, von Ihnen bearbeitet</translation>
    </message>
    <message>
        <source>The model no longer sees what stands above.</source>
        <translation>Das Modell sieht nicht mehr, was darüber steht.</translation>
    </message>
    <message>
        <source>The model no longer sees what stands above, but this summary of it:</source>
        <translation>Das Modell sieht nicht mehr, was darüber steht, sondern diese Zusammenfassung davon:</translation>
    </message>
    <message>
        <source>Answer from the help</source>
        <translation>Antwort aus der Hilfe</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ModelMenu</name>
    <message>
        <source>&amp;Models</source>
        <translation>&amp;Modelle</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Open a &amp;file…</source>
        <translation>&amp;Datei öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Open with o&amp;ptions…</source>
        <translation>Mit &amp;Optionen öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Clear the list of recent models</source>
        <translation>Liste der zuletzt geöffneten &amp;leeren</translation>
    </message>
    <message>
        <source>%1 (missing)</source>
        <translation>%1 (fehlt)</translation>
    </message>
    <message>
        <source>Opened lately</source>
        <translation>Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation>Demomodell</translation>
    </message>
    <message>
        <source>Found on this computer</source>
        <translation>Auf diesem Computer gefunden</translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation>Lädt&#xa0;…</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>Click for other models</source>
        <translation>Klicken zeigt andere Modelle</translation>
    </message>
    <message>
        <source>What &amp;runs here…</source>
        <translation>&amp;Was hier läuft&#xa0;…</translation>
    </message>
    <message>
        <source>%1 (needs a chat template)</source>
        <translation>%1 (braucht eine Chat-Vorlage)</translation>
    </message>
    <message>
        <source>Open a fol&amp;der…</source>
        <translation>O&amp;rdner öffnen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ModelOpener</name>
    <message>
        <source>“%1” could not be opened</source>
        <translation>„%1“ konnte nicht geöffnet werden</translation>
    </message>
    <message>
        <source>The model that is open stays open.</source>
        <translation>Das geöffnete Modell bleibt geöffnet.</translation>
    </message>
    <message>
        <source>Looking at the files of “%1”…</source>
        <translation>Die Dateien von „%1“ werden angesehen …</translation>
    </message>
    <message>
        <source>Loading “%1” was cancelled</source>
        <translation>Das Laden von „%1“ wurde abgebrochen</translation>
    </message>
    <message>
        <source>No model is open now.</source>
        <translation>Jetzt ist kein Modell geöffnet.</translation>
    </message>
    <message>
        <source>the model %1</source>
        <translation>das Modell %1</translation>
    </message>
    <message>
        <source>“%1” is on this computer now</source>
        <translation>„%1“ ist jetzt auf diesem Computer</translation>
    </message>
    <message>
        <source>“%1” has no chat template</source>
        <translation>„%1“ hat keine Chat-Vorlage</translation>
    </message>
    <message>
        <source>Without one messages cannot be written for it. Choose that of its family, or a file.</source>
        <translation>Ohne sie lassen sich keine Nachrichten für es schreiben. Wählen Sie die seiner Familie oder eine Datei.</translation>
    </message>
    <message numerus="yes">
        <source>%n download(s) can be resumed: File › What runs here › Downloads</source>
        <translation>
            <numerusform>%n Download kann fortgesetzt werden: Datei › Was hier läuft › Downloads</numerusform>
            <numerusform>%n Downloads können fortgesetzt werden: Datei › Was hier läuft › Downloads</numerusform>
        </translation>
    </message>
    <message>
        <source>Close Offstage</source>
        <translation>Offstage schließen</translation>
    </message>
    <message>
        <source>%1 is still being downloaded.</source>
        <translation>%1 wird noch heruntergeladen.</translation>
    </message>
    <message numerus="yes">
        <source>%n model(s) are still being downloaded.</source>
        <translation>
            <numerusform>%n Modell wird noch heruntergeladen.</numerusform>
            <numerusform>%n Modelle werden noch heruntergeladen.</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 have come.</source>
        <translation>%1 von %2 sind angekommen.</translation>
    </message>
    <message>
        <source>Closing pauses this. What has come is kept, and the next start can resume it.</source>
        <translation>Schließen hält das an. Was angekommen ist, bleibt, und nach dem nächsten Start lässt es sich fortsetzen.</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Keep downloading</source>
        <translation>Weiter herunterladen</translation>
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
        <source>&amp;Model</source>
        <translation>&amp;Modell</translation>
    </message>
    <message>
        <source>Load the model this way</source>
        <translation>Das Modell auf diese Weise laden</translation>
    </message>
    <message>
        <source>Folder or file of the model</source>
        <translation>Ordner oder Datei des Modells</translation>
    </message>
    <message>
        <source>GGUF file, or folder with config.json and *.safetensors</source>
        <translation>GGUF-Datei, oder Ordner mit config.json und *.safetensors</translation>
    </message>
    <message>
        <source>Choose a GGUF file, or the config.json of a model&apos;s folder</source>
        <translation>Eine GGUF-Datei wählen, oder die config.json im Ordner eines Modells</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Ein Modell öffnen</translation>
    </message>
    <message>
        <source>Models (%1)</source>
        <translation>Modelle (%1)</translation>
    </message>
    <message>
        <source>All files (%1)</source>
        <translation>Alle Dateien (%1)</translation>
    </message>
    <message>
        <source>&amp;File…</source>
        <translation>Da&amp;tei&#xa0;…</translation>
    </message>
    <message>
        <source>Fo&amp;lder…</source>
        <translation>Or&amp;dner&#xa0;…</translation>
    </message>
    <message>
        <source>Choose the folder of a model as published: config.json and *.safetensors</source>
        <translation>Den Ordner eines Modells wählen, wie es veröffentlicht ist: config.json und *.safetensors</translation>
    </message>
    <message>
        <source>Open the folder of a model</source>
        <translation>Ordner eines Modells öffnen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PairDialog</name>
    <message>
        <source>&amp;Use it from now on</source>
        <translation>Ab jetzt &amp;benutzen</translation>
    </message>
    <message>
        <source>What came of it</source>
        <translation>Was daraus wurde</translation>
    </message>
    <message>
        <source>Add a machine</source>
        <translation>Computer hinzufügen</translation>
    </message>
    <message>
        <source>On the other machine, offstage-node pair shows an address and eight words. Type them here: the two machines then know each other&apos;s keys.</source>
        <translation>Auf dem anderen Computer zeigt offstage-node pair eine Adresse und acht Wörter. Hier eingeben: Dann kennen beide Computer den Schlüssel des anderen.</translation>
    </message>
    <message>
        <source>Address of the other machine</source>
        <translation>Adresse des anderen Computers</translation>
    </message>
    <message>
        <source>cupboard or 192.168.1.7:7421</source>
        <translation>schrank oder 192.168.1.7:7421</translation>
    </message>
    <message>
        <source>Its name or number in your network, as offstage-node pair shows it</source>
        <translation>Sein Name oder seine Nummer in Ihrem Netz, wie offstage-node pair sie zeigt</translation>
    </message>
    <message>
        <source>The eight words</source>
        <translation>Die acht Wörter</translation>
    </message>
    <message>
        <source>eight words with spaces between them</source>
        <translation>acht Wörter mit Leerzeichen dazwischen</translation>
    </message>
    <message>
        <source>The words that offstage-node pair shows at this moment. They are good for one pair</source>
        <translation>Die Wörter, die offstage-node pair in diesem Augenblick zeigt. Sie gelten für eine Kopplung</translation>
    </message>
    <message>
        <source>What to call it here</source>
        <translation>Wie er hier heißen soll</translation>
    </message>
    <message>
        <source>its own name</source>
        <translation>sein eigener Name</translation>
    </message>
    <message>
        <source>What to call it here; without a name it keeps its own</source>
        <translation>Wie er hier heißen soll; ohne Namen behält er seinen eigenen</translation>
    </message>
    <message>
        <source>Experts of the model that is open, and of later ones, are computed there, too</source>
        <translation>Experten des geöffneten Modells und späterer werden auch dort berechnet</translation>
    </message>
    <message>
        <source>Pairing is under way</source>
        <translation>Die Kopplung läuft</translation>
    </message>
    <message>
        <source>&amp;Address</source>
        <translation>&amp;Adresse</translation>
    </message>
    <message>
        <source>&amp;Words</source>
        <translation>&amp;Wörter</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Pair</source>
        <translation>&amp;Koppeln</translation>
    </message>
    <message>
        <source>Pairing was cancelled. Nothing was stored.</source>
        <translation>Die Kopplung wurde abgebrochen. Nichts wurde gespeichert.</translation>
    </message>
    <message>
        <source>Connecting to %1…</source>
        <translation>Verbindung zu %1 wird aufgebaut&#xa0;…</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen&#xa0;…</translation>
    </message>
    <message>
        <source>Connects to the other machine once, and exchanges keys</source>
        <translation>Verbindet sich einmal mit dem anderen Computer und tauscht Schlüssel aus</translation>
    </message>
    <message>
        <source>The address is missing</source>
        <translation>Die Adresse fehlt</translation>
    </message>
    <message>
        <source>A code has eight words; these are %1</source>
        <translation>Ein Code hat acht Wörter; dies sind %1</translation>
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
        <source>Share of the answer&apos;s time that the engine spends on writing down what the panels show.
Working out what this panel shows takes %1 ms each time, in the window&apos;s own thread.</source>
        <translation>Anteil der Antwortzeit, in dem die Engine aufzeichnet, was die Panels zeigen.
Was dieses Panel zeigt, kostet jedes Mal %1 ms Rechenzeit im Thread des Fensters.</translation>
    </message>
    <message>
        <source>Panels</source>
        <translation>Panels</translation>
    </message>
    <message>
        <source>Panels cost %1 of speed</source>
        <translation>Panels kosten %1 Tempo</translation>
    </message>
    <message>
        <source>Whose figures these are</source>
        <translation>Wessen Zahlen das sind</translation>
    </message>
    <message>
        <source>Panels cost under %1 of speed</source>
        <translation>Panels kosten unter %1 Tempo</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PanelDocks</name>
    <message>
        <source>Panels</source>
        <translation>Bereiche</translation>
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
        <source>Experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Show or hide the expert heat map</source>
        <translation>Heatmap der Experten ein- oder ausblenden</translation>
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
        <source>Machines</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>Show or hide other machines that compute experts</source>
        <translation>Andere Computer, die Experten berechnen, ein- oder ausblenden</translation>
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
        <source>Instructions and sampling</source>
        <translation>Anweisungen und Sampling</translation>
    </message>
    <message>
        <source>Show or hide instructions (system prompt) and sampling</source>
        <translation>Anweisungen (Systemprompt) und Sampling ein- oder ausblenden</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PanelRail</name>
    <message>
        <source>Opens below the conversation</source>
        <translation>Öffnet sich unter der Unterhaltung</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PasteOffer</name>
    <message>
        <source>Long text</source>
        <translation>Langer Text</translation>
    </message>
    <message>
        <source>Attach as a file</source>
        <translation>Als Datei anhängen</translation>
    </message>
    <message>
        <source>Keep as text</source>
        <translation>Als Text behalten</translation>
    </message>
    <message>
        <source>A long text (%1): attach it as a file?</source>
        <translation>Ein langer Text (%1): als Datei anhängen?</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PersonaBar</name>
    <message>
        <source>Persona of this conversation</source>
        <translation>Persona dieser Unterhaltung</translation>
    </message>
    <message>
        <source>Persona: system prompt, sampling and model under a name</source>
        <translation>Persona: Systemprompt, Sampling und Modell unter einem Namen</translation>
    </message>
    <message>
        <source>&amp;Change it to what is set up now</source>
        <translation>&amp;Auf das ändern, was jetzt eingestellt ist</translation>
    </message>
    <message>
        <source>&amp;Import personas…</source>
        <translation>Personas &amp;importieren …</translation>
    </message>
    <message>
        <source>&amp;Export my personas…</source>
        <translation>Meine Personas &amp;exportieren …</translation>
    </message>
    <message>
        <source>Persona</source>
        <translation>Persona</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keine</translation>
    </message>
    <message>
        <source>%1, changed</source>
        <translation>%1, geändert</translation>
    </message>
    <message>
        <source>%1 cannot be read: %2.</source>
        <translation>%1 kann nicht gelesen werden: %2.</translation>
    </message>
    <message numerus="yes">
        <source>%n persona(s) imported</source>
        <translation>
            <numerusform>%n Persona importiert</numerusform>
            <numerusform>%n Personas importiert</numerusform>
        </translation>
    </message>
    <message>
        <source>Saved as %1</source>
        <translation>Gespeichert als %1</translation>
    </message>
    <message>
        <source>Import personas</source>
        <translation>Personas importieren</translation>
    </message>
    <message>
        <source>Personas (*.json)</source>
        <translation>Personas (*.json)</translation>
    </message>
    <message>
        <source>Export my personas</source>
        <translation>Meine Personas exportieren</translation>
    </message>
    <message>
        <source>&amp;Bring back %1</source>
        <translation>%1 &amp;zurückholen</translation>
    </message>
    <message>
        <source>System prompt of this conversation</source>
        <translation>Systemprompt dieser Unterhaltung</translation>
    </message>
    <message>
        <source>System prompt: %1</source>
        <translation>Systemprompt: %1</translation>
    </message>
    <message>
        <source>This conversation&apos;s alone; click to change it</source>
        <translation>Gilt nur für diese Unterhaltung; Klicken zum Ändern</translation>
    </message>
    <message>
        <source>Make, edit or delete a persona</source>
        <translation>Eine Persona anlegen, bearbeiten oder löschen</translation>
    </message>
    <message>
        <source>&amp;New persona…</source>
        <translation>&amp;Neue Persona …</translation>
    </message>
    <message>
        <source>Edi&amp;t…</source>
        <translation>&amp;Bearbeiten …</translation>
    </message>
    <message>
        <source>&amp;Use for new conversations</source>
        <translation>&amp;Für neue Unterhaltungen verwenden</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PersonaEditor</name>
    <message>
        <source>New persona</source>
        <translation>Neue Persona</translation>
    </message>
    <message>
        <source>Edit a persona</source>
        <translation>Persona bearbeiten</translation>
    </message>
    <message>
        <source>Name of the persona</source>
        <translation>Name der Persona</translation>
    </message>
    <message>
        <source>What every answer should heed</source>
        <translation>Was jede Antwort beachten soll</translation>
    </message>
    <message>
        <source>The model that is open (none is)</source>
        <translation>Das offene Modell (keines ist offen)</translation>
    </message>
    <message>
        <source>Offer %1</source>
        <translation>%1 anbieten</translation>
    </message>
    <message>
        <source>Where another model is open, the window offers to open this one</source>
        <translation>Ist ein anderes Modell offen, bietet das Fenster an, dieses zu öffnen</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Instructions</source>
        <translation>&amp;Anweisungen</translation>
    </message>
    <message>
        <source>&amp;Sampling</source>
        <translation>&amp;Sampling</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>&amp;Modell</translation>
    </message>
    <message>
        <source>As the persona has it: temperature %1</source>
        <translation>Wie in der Persona: Temperatur %1</translation>
    </message>
    <message>
        <source>As set up now: temperature %1</source>
        <translation>Wie jetzt eingestellt: Temperatur %1</translation>
    </message>
    <message>
        <source>The conversation&apos;s own</source>
        <translation>Wie in der Unterhaltung</translation>
    </message>
    <message>
        <source>Another persona has this name</source>
        <translation>Eine andere Persona heißt schon so</translation>
    </message>
    <message>
        <source>Not saved yet: close once more to drop the instructions</source>
        <translation>Noch nicht gespeichert: noch einmal schließen verwirft die Anweisungen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::Personas</name>
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
    <message>
        <source>%1 is not a file of personas that Offstage wrote.</source>
        <translation>%1 ist keine Datei mit Personas, die Offstage geschrieben hat.</translation>
    </message>
    <message>
        <source>%1 was written by a newer Offstage and cannot be read by this one.</source>
        <translation>%1 wurde von einem neueren Offstage geschrieben und kann von diesem nicht gelesen werden.</translation>
    </message>
    <message>
        <source>%1 holds no personas.</source>
        <translation>%1 enthält keine Personas.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::PictureDialog</name>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>A picture could not be saved as %1: %2.</source>
        <translation>Ein Bild konnte nicht als %1 gespeichert werden: %2.</translation>
    </message>
    <message>
        <source>Pictures of plots</source>
        <translation>Bilder von Diagrammen</translation>
    </message>
    <message>
        <source>Plots to save</source>
        <translation>Zu speichernde Diagramme</translation>
    </message>
    <message>
        <source>Save in a folder…</source>
        <translation>In einem Ordner speichern&#xa0;…</translation>
    </message>
    <message>
        <source>No plot has anything to show yet: open a model and ask it something.</source>
        <translation>Noch hat kein Diagramm etwas zu zeigen: Öffnen Sie ein Modell und fragen Sie es etwas.</translation>
    </message>
    <message>
        <source>Each plot is saved as PNG with its title, model, hardware and plan. Conversations and prompts are in none of them.</source>
        <translation>Jedes Diagramm wird als PNG mit Titel, Modell, Hardware und Plan gespeichert. Unterhaltungen und Prompts sind in keinem davon.</translation>
    </message>
    <message>
        <source>Folder for the pictures</source>
        <translation>Ordner für die Bilder</translation>
    </message>
    <message numerus="yes">
        <source>%n picture(s) saved in %1.</source>
        <translation>
            <numerusform>%n Bild in %1 gespeichert.</numerusform>
            <numerusform>%n Bilder in %1 gespeichert.</numerusform>
        </translation>
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
        <source>&amp;Save picture…</source>
        <translation>Bild &amp;speichern&#xa0;…</translation>
    </message>
    <message>
        <source>Show &amp;all	Home</source>
        <translation>&amp;Alles zeigen	Pos1</translation>
    </message>
    <message>
        <source>Copy pi&amp;cture	Ctrl+C</source>
        <translation>&amp;Bild kopieren	Strg+C</translation>
    </message>
    <message>
        <source>Copy &amp;numbers (CSV)	Ctrl+Alt+C</source>
        <translation>&amp;Zahlen kopieren (CSV)	Strg+Alt+C</translation>
    </message>
    <message>
        <source>Sa&amp;ve numbers (CSV)…</source>
        <translation>Za&amp;hlen speichern (CSV)&#xa0;…</translation>
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
    <message>
        <source>Use the larger context</source>
        <translation>Den größeren Kontext verwenden</translation>
    </message>
    <message>
        <source>Go on without the oldest turns</source>
        <translation>Ohne die ältesten Beiträge weiter</translation>
    </message>
    <message>
        <source>Summarise the oldest turns and go on</source>
        <translation>Die ältesten Beiträge zusammenfassen und weiter</translation>
    </message>
    <message>
        <source>Close this notice</source>
        <translation>Hinweis schließen</translation>
    </message>
    <message>
        <source>Choose a chat template…</source>
        <translation>Eine Chat-Vorlage wählen …</translation>
    </message>
    <message>
        <source>Ask in a new conversation</source>
        <translation>In neuer Unterhaltung fragen</translation>
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
        <source>Memory</source>
        <translation>Arbeitsspeicher</translation>
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
    <name>offstage::ui::QualityEdit</name>
    <message>
        <source>Quality of the experts</source>
        <translation>Qualität der Experten</translation>
    </message>
    <message>
        <source>Experts in fewer bits are smaller and faster, and say less exactly what the model was trained to say. Nothing of this changes unless you choose it</source>
        <translation>Experten in weniger Bits sind kleiner und schneller, geben das Gelernte aber weniger genau wieder. Ohne ausdrückliche Wahl ändert sich daran nichts</translation>
    </message>
    <message>
        <source>Mean bits, at least</source>
        <translation>Ø Bits, mindestens</translation>
    </message>
    <message>
        <source>Predicted loss, at most</source>
        <translation>Vorhergesagter Verlust, höchstens</translation>
    </message>
    <message>
        <source>No plan goes below this</source>
        <translation>Kein Plan geht darunter</translation>
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
        <source>Format of the KV cache</source>
        <translation>Format des KV-Caches</translation>
    </message>
    <message>
        <source>What keys and values of the conversation are kept in. 8 bits take half of the room of 16 and change answers a little; 32 bits are exact</source>
        <translation>Worin Schlüssel und Werte der Unterhaltung gehalten werden. 8 Bit brauchen halb so viel Platz wie 16 und ändern Antworten ein wenig; 32 Bit sind exakt</translation>
    </message>
    <message>
        <source>16 bits</source>
        <translation>16 Bit</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8 Bit</translation>
    </message>
    <message>
        <source>32 bits, exact</source>
        <translation>32 Bit, exakt</translation>
    </message>
    <message>
        <source>No format of ours has fewer bits than this file&apos;s</source>
        <translation>Kein eigenes Format hat weniger Bits als das dieser Datei</translation>
    </message>
    <message>
        <source>Measured loss, at most</source>
        <translation>Gemessener Verlust, höchstens</translation>
    </message>
    <message>
        <source>Measured loss in nats per token, at most</source>
        <translation>Gemessener Verlust in nat je Token, höchstens</translation>
    </message>
    <message>
        <source> nats</source>
        <translation> nat</translation>
    </message>
    <message>
        <source>Original</source>
        <translation>Original</translation>
    </message>
    <message>
        <source>Original: %1</source>
        <translation>Original: %1</translation>
    </message>
    <message>
        <source>One floor for bits and neurons, in nats per token: the planner chooses formats and which neurons are skipped, whichever is forecast to be fastest. Only what was measured of the model is chosen, each measured alone: their sum is an estimate</source>
        <translation>Eine Grenze für Bit und Neuronen, in nat je Token: Der Planer wählt Formate und übersprungene Neuronen so, wie es nach der Vorhersage am schnellsten ist. Gewählt wird nur, was am Modell gemessen wurde, jedes für sich: Die Summe ist eine Schätzung</translation>
    </message>
    <message>
        <source>All experts in this format</source>
        <translation>Alle Experten in diesem Format</translation>
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
        <source>all tokens</source>
        <translation>alle Tokens</translation>
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
        <source>Preset</source>
        <translation>Voreinstellung</translation>
    </message>
    <message>
        <source>A good set of values to begin with</source>
        <translation>Bewährte Werte für den Anfang</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>How adventurous: 0 always takes the most probable word, 1 takes words as often as the model believes in them</source>
        <translation>Wie experimentierfreudig: 0 nimmt immer das wahrscheinlichste Wort, 1 nimmt Wörter so oft, wie das Modell sie für wahrscheinlich hält</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
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
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Words less probable than this share of the most probable word are left out</source>
        <translation>Wörter, deren Wahrscheinlichkeit unter diesem Anteil der des wahrscheinlichsten liegt, bleiben außen vor</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>Wiederholungsstrafe</translation>
    </message>
    <message>
        <source>Makes words that were just used less probable; 1 does nothing, much more than 1.2 hurts the language</source>
        <translation>Macht eben verwendete Wörter weniger wahrscheinlich; 1 bewirkt nichts, viel mehr als 1,2 schadet der Sprache</translation>
    </message>
    <message>
        <source>Penalty looks back</source>
        <translation>Rückblick der Strafe</translation>
    </message>
    <message>
        <source>How many of the latest tokens count as just used; 0: all of the conversation</source>
        <translation>Wie viele der neuesten Tokens als eben verwendet gelten; 0: alle der Unterhaltung</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Seed</translation>
    </message>
    <message>
        <source>The same seed, prompt and settings give the same answer; empty or 0: a new seed each time</source>
        <translation>Gleicher Seed, Prompt und gleiche Einstellungen ergeben die gleiche Antwort; leer oder 0: jedes Mal ein neuer Seed</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>Längste Antwort</translation>
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
        <source>System prompt</source>
        <translation>Systemprompt</translation>
    </message>
    <message>
        <source>Beam width</source>
        <translation>Beam-Breite</translation>
    </message>
    <message>
        <source>How many answers are followed side by side; the most probable one is shown, at once and without chance. Costs time and memory in proportion</source>
        <translation>Wie viele Antworten nebeneinander verfolgt werden; gezeigt wird die wahrscheinlichste, auf einmal und ohne Zufall. Kostet entsprechend mehr Zeit und Speicher</translation>
    </message>
    <message>
        <source>A preset of yours</source>
        <translation>Eine eigene Voreinstellung</translation>
    </message>
    <message>
        <source>%L1, as the model advises</source>
        <translation>%L1, wie das Modell es empfiehlt</translation>
    </message>
    <message>
        <source>What this model&apos;s publisher advises</source>
        <translation>Was der Herausgeber dieses Modells empfiehlt</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>How much this model thinks before it answers; more takes longer. From the next answer on</source>
        <translation>Wie viel dieses Modell nachdenkt, bevor es antwortet; mehr dauert länger. Ab der nächsten Antwort</translation>
    </message>
    <message>
        <source>Instructions (system prompt)</source>
        <translation>Anweisungen (Systemprompt)</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ServerIndicator</name>
    <message>
        <source>Local server</source>
        <translation>Lokaler Server</translation>
    </message>
    <message>
        <source>Stop the answer to another program</source>
        <translation>Antwort an ein anderes Programm anhalten</translation>
    </message>
    <message>
        <source>Stop the answer that another program is getting</source>
        <translation>Die Antwort an ein anderes Programm anhalten</translation>
    </message>
    <message>
        <source>Local server: not on</source>
        <translation>Lokaler Server: nicht an</translation>
    </message>
    <message>
        <source>Local server: %1</source>
        <translation>Lokaler Server: %1</translation>
    </message>
    <message>
        <source>%1
Click to open the local server&apos;s settings.</source>
        <translation>%1
Ein Klick öffnet die Einstellungen des lokalen Servers.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Subjects</source>
        <translation>Themen</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Darstellung</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Local server</source>
        <translation>Lokaler Server</translation>
    </message>
    <message>
        <source>Storage</source>
        <translation>Ablage</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Arbeitsspeicher</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SettingsWatch</name>
    <message>
        <source>The settings cannot be saved as %1: what is changed now is lost at the end.</source>
        <translation>Die Einstellungen können nicht als %1 gespeichert werden: Was jetzt geändert wird, geht am Ende verloren.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SetupBar</name>
    <message>
        <source>What this conversation was answered with</source>
        <translation>Womit diese Unterhaltung beantwortet wurde</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Open this model with these budgets; the conversation stays</source>
        <translation>Dieses Modell mit diesen Budgets öffnen; die Unterhaltung bleibt</translation>
    </message>
    <message>
        <source>Go on with the model that is open</source>
        <translation>Mit dem geöffneten Modell weitermachen</translation>
    </message>
    <message>
        <source>It is no longer at %1: answers will come from the model that is open.</source>
        <translation>Es liegt nicht mehr in %1: Antworten kommen vom geöffneten Modell.</translation>
    </message>
    <message>
        <source>The persona “%1” goes with %2.</source>
        <comment>model</comment>
        <translation>Zur Persona „%1“ gehört %2.</translation>
    </message>
    <message>
        <source>This conversation used %1 on %2.</source>
        <comment>model, device</comment>
        <translation>Diese Unterhaltung lief mit %1 auf %2.</translation>
    </message>
    <message>
        <source>This conversation used %1 on %2, with %3.</source>
        <comment>model, device, budgets</comment>
        <translation>Diese Unterhaltung lief mit %1 auf %2, bei %3.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SizeSpinBox</name>
    <message>
        <source>%1 is too much here: the most is %2.</source>
        <translation>%1 ist hier zu viel: höchstens %2.</translation>
    </message>
    <message>
        <source>%1 is too little here: the least is %2.</source>
        <translation>%1 ist hier zu wenig: mindestens %2.</translation>
    </message>
    <message>
        <source>“%1” is not a size. Write it as 600 MiB or %2 GiB.</source>
        <translation>„%1“ ist keine Größe. Schreiben Sie sie als 600 MiB oder %2 GiB.</translation>
    </message>
    <message>
        <source>“%1” is not a number.</source>
        <translation>„%1“ ist keine Zahl.</translation>
    </message>
    <message>
        <source>not a size</source>
        <translation>keine Größe</translation>
    </message>
    <message>
        <source>not a number</source>
        <translation>keine Zahl</translation>
    </message>
    <message>
        <source>at most %1</source>
        <translation>höchstens %1</translation>
    </message>
    <message>
        <source>at least %1</source>
        <translation>mindestens %1</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SpeedMeter</name>
    <message>
        <source>here %1</source>
        <translation>hier %1</translation>
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
        <source>Tokens written per second, after the first token, as measured.</source>
        <translation>Geschriebene Tokens pro Sekunde, nach dem ersten Token, gemessen.</translation>
    </message>
    <message>
        <source>Answering another program</source>
        <translation>Antwortet einem anderen Programm</translation>
    </message>
    <message>
        <source>Waiting for the end of another program&apos;s answer…</source>
        <translation>Wartet auf das Ende der Antwort an ein anderes Programm&#xa0;…</translation>
    </message>
    <message>
        <source>Neurons that are skipped</source>
        <translation>Was vom Modell übersprungen wird</translation>
    </message>
    <message>
        <source>Neurons of the experts whose activation is at most this, or at most their expert&apos;s own threshold, are skipped: the answers are not the model&apos;s own. The Budget panel changes it.</source>
        <translation>Neuronen der Experten, deren Aktivierung höchstens so groß ist oder höchstens die Schwelle ihres Experten erreicht, werden übersprungen: Die Antworten sind nicht die des Modells selbst. Das Panel Budget ändert das.</translation>
    </message>
    <message>
        <source>Tokens written per second, after the first token.
Simulated: what the emulated device would reach, worked out from its datasheet.
Here: how fast the text really came on this computer, which does that device&apos;s work.</source>
        <translation>Geschriebene Tokens pro Sekunde, nach dem ersten Token.
Simuliert: was das emulierte Gerät nach seinem Datenblatt erreichen würde.
Hier: wie schnell der Text wirklich kam, auf diesem Rechner, der die Arbeit des Geräts tut.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StepsOwner</name>
    <message>
        <source>Experts, Cache and Dispatch show what the engine did last, from the beginning of the conversation, benchmark or request of another program on.</source>
        <translation>Experten, Cache und Verteilung zeigen, was die Engine zuletzt getan hat, vom Beginn der Unterhaltung, des Benchmarks oder der Anfrage eines anderen Programms an.</translation>
    </message>
    <message>
        <source>A benchmark</source>
        <translation>Ein Benchmark</translation>
    </message>
    <message>
        <source>Another program</source>
        <translation>Ein anderes Programm</translation>
    </message>
    <message>
        <source>This conversation</source>
        <translation>Diese Unterhaltung</translation>
    </message>
    <message>
        <source>“%1”</source>
        <translation>„%1“</translation>
    </message>
    <message>
        <source>A new conversation</source>
        <translation>Eine neue Unterhaltung</translation>
    </message>
</context>
<context>
    <name>offstage::ui::StoragePage</name>
    <message>
        <source>Quantized copies</source>
        <translation>Quantisierte Kopien</translation>
    </message>
    <message>
        <source>Experts in fewer bits. Without them a model that needs them loads slower once.</source>
        <translation>Experten in weniger Bits. Ohne sie lädt ein Modell, das sie braucht, einmal langsamer.</translation>
    </message>
    <message>
        <source>Measured costs</source>
        <translation>Gemessene Kosten</translation>
    </message>
    <message>
        <source>How fast this computer copies and computes. Measured again at the next load.</source>
        <translation>Wie schnell dieser Computer kopiert und rechnet. Wird beim nächsten Laden neu gemessen.</translation>
    </message>
    <message>
        <source>Measured sensitivity</source>
        <translation>Gemessene Empfindlichkeit</translation>
    </message>
    <message>
        <source>What fewer bits lose in each expert. Measured again where a plan needs it.</source>
        <translation>Was weniger Bits bei jedem Experten verlieren. Wird neu gemessen, wo ein Plan es braucht.</translation>
    </message>
    <message>
        <source>About what is stored</source>
        <translation>Zum Gespeicherten</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Löschen</translation>
    </message>
    <message>
        <source>&amp;Keep</source>
        <translation>&amp;Behalten</translation>
    </message>
    <message>
        <source>Yours</source>
        <translation>Ihres</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Made again where it is missing</source>
        <translation>Entsteht neu, wo es fehlt</translation>
    </message>
    <message>
        <source>Where models are looked for</source>
        <translation>Wo nach Modellen gesucht wird</translation>
    </message>
    <message>
        <source>Place of %1</source>
        <translation>Ort: %1</translation>
    </message>
    <message>
        <source>models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Size of %1</source>
        <translation>Größe: %1</translation>
    </message>
    <message>
        <source>Open folder</source>
        <translation>Ordner öffnen</translation>
    </message>
    <message>
        <source>Open the folder of %1</source>
        <translation>Ordner öffnen: %1</translation>
    </message>
    <message>
        <source>%1 is not there yet.</source>
        <translation>%1 gibt es noch nicht.</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>Löschen …</translation>
    </message>
    <message>
        <source>Delete %1</source>
        <translation>%1 löschen</translation>
    </message>
    <message>
        <source>Delete %1 of “%2”?</source>
        <translation>%1 von „%2“ löschen?</translation>
    </message>
    <message>
        <source>Deleting “%1”…</source>
        <translation>„%1“ werden gelöscht …</translation>
    </message>
    <message>
        <source>“%1” are deleted.</source>
        <translation>„%1“ sind gelöscht.</translation>
    </message>
    <message>
        <source>Not all of “%1” could be deleted: %2.</source>
        <translation>Nicht alle „%1“ konnten gelöscht werden: %2.</translation>
    </message>
    <message>
        <source>Where caches are kept</source>
        <translation>Wo Zwischenspeicher liegen</translation>
    </message>
    <message>
        <source>Change…</source>
        <translation>Ändern …</translation>
    </message>
    <message>
        <source>The usual place</source>
        <translation>Üblicher Ort</translation>
    </message>
    <message>
        <source>&amp;Add a folder…</source>
        <translation>Ordner &amp;hinzufügen …</translation>
    </message>
    <message>
        <source>Choose where caches are kept</source>
        <translation>Wählen, wo Zwischenspeicher liegen</translation>
    </message>
    <message>
        <source>Keep caches in the usual place</source>
        <translation>Zwischenspeicher am üblichen Ort halten</translation>
    </message>
    <message>
        <source>Keep caches in a folder</source>
        <translation>Zwischenspeicher in einem Ordner halten</translation>
    </message>
    <message>
        <source>What was kept so far is not moved: it is made anew in the new folder, and stays where it is until you delete it.</source>
        <translation>Was bisher da ist, wird nicht verschoben: Es entsteht im neuen Ordner neu und bleibt am alten, bis Sie es löschen.</translation>
    </message>
    <message>
        <source>Caches are kept in the folder %1.</source>
        <translation>Zwischenspeicher liegen im Ordner %1.</translation>
    </message>
    <message>
        <source>From the next start on caches are kept in the folder %1.</source>
        <translation>Vom nächsten Start an liegen Zwischenspeicher im Ordner %1.</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Look no longer for models in %1</source>
        <translation>Modelle nicht mehr in %1 suchen</translation>
    </message>
    <message>
        <source>Models are no longer looked for there; its files stay.</source>
        <translation>Modelle werden dort nicht mehr gesucht; die Dateien bleiben.</translation>
    </message>
    <message>
        <source>Conversations as read</source>
        <translation>Gelesene Unterhaltungen</translation>
    </message>
    <message>
        <source>A long conversation that is opened again, also after a new start, goes on without being read whole. The files contain the conversation&apos;s tokens, and are deleted with it.</source>
        <translation>Eine lange Unterhaltung, die wieder geöffnet wird, auch nach einem neuen Start, geht weiter, ohne ganz gelesen zu werden. Die Dateien enthalten die Tokens der Unterhaltung und werden mit ihr gelöscht.</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
    <message>
        <source>Up to %1</source>
        <translation>Bis zu %1</translation>
    </message>
    <message>
        <source>Keep &amp;it on disk</source>
        <translation>Auf der &amp;Platte aufbewahren</translation>
    </message>
    <message>
        <source>Keep what was read of conversations on disk</source>
        <translation>Was von Unterhaltungen gelesen wurde, auf der Platte aufbewahren</translation>
    </message>
    <message>
        <source>What is kept so far stays until you delete it.</source>
        <translation>Was bisher aufbewahrt ist, bleibt, bis Sie es löschen.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SuggestedModels</name>
    <message>
        <source>code</source>
        <translation>Code</translation>
    </message>
    <message>
        <source>reasoning</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>GPU and RAM</source>
        <translation>GPU und RAM</translation>
    </message>
    <message>
        <source>RAM</source>
        <translation>RAM</translation>
    </message>
    <message>
        <source>%1 are missing</source>
        <translation>%1 fehlen</translation>
    </message>
    <message>
        <source>no room</source>
        <translation>kein Platz</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>For</source>
        <translation>Für</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>Room in</source>
        <translation>Platz in</translation>
    </message>
    <message>
        <source> (on this computer)</source>
        <translation> (auf diesem Computer)</translation>
    </message>
    <message>
        <source>%1, %2 active</source>
        <translation>%1, %2 aktiv</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>%1 at %2k</source>
        <comment>speed or time at a context of so many thousand tokens</comment>
        <translation>%1 bei %2k</translation>
    </message>
    <message>
        <source>Tokens/s
at 8k</source>
        <translation>Tokens/s
bei 8k</translation>
    </message>
    <message>
        <source>First token
at 8k</source>
        <translation>Erstes Token
bei 8k</translation>
    </message>
    <message>
        <source>Tokens/s
at 32k</source>
        <translation>Tokens/s
bei 32k</translation>
    </message>
    <message>
        <source>First token
at 32k</source>
        <translation>Erstes Token
bei 32k</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>column: its text</comment>
        <translation>%1: %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SuggestionsDialog</name>
    <message>
        <source>Also &amp;those without room</source>
        <translation>Auch solche &amp;ohne Platz</translation>
    </message>
    <message>
        <source>The chosen model</source>
        <translation>Das gewählte Modell</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>&amp;Copy address</source>
        <translation>Adresse &amp;kopieren</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>&amp;Öffnen</translation>
    </message>
    <message>
        <source>What runs here</source>
        <translation>Was hier läuft</translation>
    </message>
    <message>
        <source>All models</source>
        <translation>Alle Modelle</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Code</source>
        <translation>Code</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>Good for</source>
        <translation>Gut für</translation>
    </message>
    <message>
        <source>Models of today</source>
        <translation>Modelle von heute</translation>
    </message>
    <message>
        <source>The address at which the model is published; Offstage asks nothing of the network</source>
        <translation>Die Adresse, unter der das Modell veröffentlicht ist; Offstage fragt nichts im Netz</translation>
    </message>
    <message>
        <source>Forecasts for this computer, for a prompt that fills a context of 8,192 or 32,768 tokens. They are the ones that a model has once it is here.</source>
        <translation>Vorhersagen für diesen Computer, für einen Prompt, der einen Kontext von 8.192 oder 32.768 Tokens füllt. Es sind dieselben, die ein Modell hat, wenn es hier ist.</translation>
    </message>
    <message>
        <source>Measuring: %1</source>
        <translation>Messen: %1</translation>
    </message>
    <message>
        <source>Planning: %1</source>
        <translation>Planen: %1</translation>
    </message>
    <message>
        <source>Planning…</source>
        <translation>Planen&#xa0;…</translation>
    </message>
    <message>
        <source>Cancel &amp;measuring</source>
        <translation>&amp;Messen abbrechen</translation>
    </message>
    <message>
        <source>&amp;Measure speeds</source>
        <translation>Tempo &amp;messen</translation>
    </message>
    <message>
        <source>Not while an answer is being written: it would disturb the times</source>
        <translation>Nicht, während eine Antwort geschrieben wird: Sie würde die Zeiten stören</translation>
    </message>
    <message>
        <source>Measures this computer with random weights of each shape, some seconds each, and keeps the times</source>
        <translation>Misst diesen Computer mit zufälligen Gewichten jeder Form, je einige Sekunden, und merkt sich die Zeiten</translation>
    </message>
    <message>
        <source>All speeds are known</source>
        <translation>Alle Tempos sind bekannt</translation>
    </message>
    <message numerus="yes">
        <source>%n model(s) have room whose speed was not measured yet</source>
        <translation>
            <numerusform>%n Modell hat Platz, dessen Tempo noch nicht gemessen wurde</numerusform>
            <numerusform>%n Modelle haben Platz, deren Tempo noch nicht gemessen wurde</numerusform>
        </translation>
    </message>
    <message>
        <source>Only a model that is on this computer can be opened</source>
        <translation>Nur ein Modell, das auf diesem Computer ist, lässt sich öffnen</translation>
    </message>
    <message>
        <source>%1: %2 weights, %3 of them read for each token; context of %4 tokens; licence %5.</source>
        <translation>%1: %2 Gewichte, davon %3 je Token gelesen; Kontext von %4 Tokens; Lizenz %5.</translation>
    </message>
    <message>
        <source>Published at %1</source>
        <translation>Veröffentlicht unter %1</translation>
    </message>
    <message>
        <source>GGUF files at %1</source>
        <translation>GGUF-Dateien unter %1</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>Forecasts for this computer with the emulated GPU, for a prompt that fills a context of 8,192 or 32,768 tokens. They are the ones that a model has once it is here.</source>
        <translation>Vorhersagen für diesen Computer mit der emulierten GPU, für einen Prompt, der einen Kontext von 8.192 oder 32.768 Tokens füllt. Es sind dieselben, die ein Modell hat, wenn es hier ist.</translation>
    </message>
    <message>
        <source>None of these models has room here. “Also those without room” says what is missing</source>
        <translation>Keines dieser Modelle hat hier Platz. „Auch solche ohne Platz“ sagt, was fehlt</translation>
    </message>
    <message>
        <source>&amp;Get…</source>
        <translation>&amp;Holen&#xa0;…</translation>
    </message>
    <message>
        <source>Reads this file&apos;s headers where it is published and shows what it would take here; nothing is downloaded before you say so</source>
        <translation>Liest die Kopfdaten dieser Datei dort, wo sie veröffentlicht ist, und zeigt, was sie hier brauchen würde; heruntergeladen wird erst, wenn Sie es sagen</translation>
    </message>
    <message>
        <source>&amp;Downloads…</source>
        <translation>&amp;Downloads&#xa0;…</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>offstage::ui::SurpriseLegend</name>
    <message>
        <source>&lt; %1 %</source>
        <comment>probability of a word</comment>
        <translation>&lt; %1 %</translation>
    </message>
    <message>
        <source>Lines under unlikely words: dotted %1, dashed %2, solid %3, thick %4</source>
        <translation>Linien unter unwahrscheinlichen Wörtern: gepunktet %1, gestrichelt %2, durchgezogen %3, dick %4</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ThoughtBlock</name>
    <message>
        <source>Thought before the answer</source>
        <translation>Gedanken vor der Antwort</translation>
    </message>
    <message>
        <source>Hide what the model thought</source>
        <translation>Verbergen, was das Modell gedacht hat</translation>
    </message>
    <message>
        <source>Show what the model thought</source>
        <translation>Zeigen, was das Modell gedacht hat</translation>
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
    <name>offstage::ui::TokenChoicesTip</name>
    <message>
        <source>Probabilities of this token</source>
        <translation>Wahrscheinlichkeiten dieses Tokens</translation>
    </message>
    <message>
        <source>A click on one goes on from it</source>
        <translation>Ein Klick auf eine Alternative setzt dort fort</translation>
    </message>
    <message>
        <source>A click keeps this open</source>
        <translation>Ein Klick hält dies offen</translation>
    </message>
    <message>
        <source>Drafted, and right: no step of its own</source>
        <translation>Entworfen und richtig: kein eigener Schritt</translation>
    </message>
</context>
<context>
    <name>offstage::ui::TokenChoicesView</name>
    <message>
        <source>No probabilities are kept of this token</source>
        <translation>Zu diesem Token sind keine Wahrscheinlichkeiten aufbewahrt</translation>
    </message>
    <message>
        <source>&amp;Instead of “%1” go on with</source>
        <translation>&amp;Statt „%1“ weiter mit</translation>
    </message>
    <message>
        <source>“%1”, %2</source>
        <translation>„%1“, %2</translation>
    </message>
</context>
<context>
    <name>offstage::ui::UnsavedBar</name>
    <message>
        <source>Not everything is saved yet</source>
        <translation>Noch ist nicht alles gespeichert</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Save as a file…</source>
        <translation>Als Datei sichern …</translation>
    </message>
    <message>
        <source>Close without saving</source>
        <translation>Ohne Speichern schließen</translation>
    </message>
    <message>
        <source>Saves what is not saved, and closes the window</source>
        <translation>Speichert, was noch nicht gespeichert ist, und schließt das Fenster</translation>
    </message>
    <message>
        <source>Puts the conversations that are not saved into a file, and closes the window</source>
        <translation>Legt die nicht gespeicherten Unterhaltungen in einer Datei ab und schließt das Fenster</translation>
    </message>
    <message>
        <source>Keep the window open</source>
        <translation>Fenster offen lassen</translation>
    </message>
    <message>
        <source>Saves what is not saved</source>
        <translation>Speichert, was noch nicht gespeichert ist</translation>
    </message>
    <message>
        <source>Puts the conversations that are not saved into a file</source>
        <translation>Legt die nicht gespeicherten Unterhaltungen in einer Datei ab</translation>
    </message>
    <message>
        <source>Conversations are not saved</source>
        <translation>Unterhaltungen werden nicht gespeichert</translation>
    </message>
    <message>
        <source>What is not saved is lost if Offstage closes now.</source>
        <translation>Was nicht gespeichert ist, geht verloren, wenn Offstage jetzt schließt.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::UnsavedGuard</name>
    <message>
        <source>What is written is kept in memory; saving is tried again every second.</source>
        <translation>Was geschrieben wird, bleibt im Arbeitsspeicher; jede Sekunde wird erneut versucht, es zu speichern.</translation>
    </message>
    <message>
        <source>What is written is kept in memory until Offstage closes.</source>
        <translation>Was geschrieben wird, bleibt im Arbeitsspeicher, bis Offstage schließt.</translation>
    </message>
    <message>
        <source>All conversations are saved.</source>
        <translation>Alle Unterhaltungen sind gespeichert.</translation>
    </message>
    <message>
        <source>Tried again at %1.</source>
        <translation>Erneut versucht um %1.</translation>
    </message>
    <message>
        <source>Save the conversations that are not saved</source>
        <translation>Die nicht gespeicherten Unterhaltungen sichern</translation>
    </message>
    <message>
        <source>Conversations (*.json)</source>
        <translation>Unterhaltungen (*.json)</translation>
    </message>
    <message>
        <source>Saved as %1: what is written from now on is not in it.</source>
        <translation>Als %1 gesichert: Was von jetzt an geschrieben wird, steht nicht darin.</translation>
    </message>
</context>
<context>
    <name>offstage::ui::ValueSlider</name>
    <message>
        <source>%1, slider</source>
        <translation>%1, Regler</translation>
    </message>
    <message>
        <source>%1, limit</source>
        <translation>%1, Grenze</translation>
    </message>
</context>
<context>
    <name>offstage::ui::WhatIfPanel</name>
    <message>
        <source>Forecasts</source>
        <translation>Prognosen</translation>
    </message>
    <message>
        <source>Forecast</source>
        <translation>Prognose</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Edit a copy…</source>
        <translation>Kopie bearbeiten&#xa0;…</translation>
    </message>
    <message>
        <source>Open a model to see how fast it would be on other hardware.</source>
        <translation>Ein Modell öffnen, um zu sehen, wie schnell es auf anderer Hardware wäre.</translation>
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
        <translation>%1 mit %2 VRAM: 1 GiB mehr brächte %3 Tokens/s, von %4 auf %5 (Prognose).</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>%1 × %2</source>
        <translation>%1 × %2</translation>
    </message>
    <message>
        <source>not possible</source>
        <translation>nicht möglich</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPUs</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>GPU whose VRAM and machines are varied</source>
        <translation>GPU, deren VRAM und Zahl der Computer verändert werden</translation>
    </message>
    <message>
        <source>The forecasts over VRAM and over machines are of this GPU</source>
        <translation>Die Prognosen über VRAM und Zahl der Computer gelten für diese GPU</translation>
    </message>
    <message>
        <source>Number of machines</source>
        <translation>Zahl der Computer</translation>
    </message>
    <message>
        <source>So many computers like this one, with one GPU each, share the experts of every layer among them.
A layer is done when the slowest of them is, and their results have gone over the network.</source>
        <translation>So viele Computer wie dieser, mit je einer GPU, teilen sich die Experten jeder Schicht.
Eine Schicht ist fertig, wenn der langsamste es ist und die Ergebnisse über das Netz gegangen sind.</translation>
    </message>
    <message>
        <source>Network between the machines</source>
        <translation>Netz zwischen den Computern</translation>
    </message>
    <message>
        <source>%1 GB/s, %2 µs a message</source>
        <translation>%1 GB/s, %2 µs je Nachricht</translation>
    </message>
    <message>
        <source>Of each machine</source>
        <translation>Je Computer</translation>
    </message>
    <message>
        <source>What more machines would bring</source>
        <translation>Was mehr Computer brächten</translation>
    </message>
    <message>
        <source>machines</source>
        <translation>Computer</translation>
    </message>
    <message>
        <source>busiest</source>
        <translation>meistbeschäftigt</translation>
    </message>
    <message>
        <source>network</source>
        <translation>Netz</translation>
    </message>
    <message>
        <source>Forecasts by number of machines</source>
        <translation>Prognosen nach Zahl der Computer</translation>
    </message>
    <message>
        <source>A token&apos;s experts of one layer on the machine that has most of them, on average</source>
        <translation>Experten eines Tokens in einer Schicht auf dem Computer, der die meisten davon hat, im Mittel</translation>
    </message>
    <message>
        <source>Share of a token&apos;s time that the network takes</source>
        <translation>Anteil des Netzes an der Zeit eines Tokens</translation>
    </message>
    <message>
        <source>Forecast tokens per second over the number of machines</source>
        <translation>Prognose der Tokens pro Sekunde über der Zahl der Computer</translation>
    </message>
    <message>
        <source>The speed over the number of machines.</source>
        <translation>Die Geschwindigkeit über der Zahl der Computer.</translation>
    </message>
    <message>
        <source>Cancelled. What is shown was worked out before.</source>
        <translation>Abgebrochen. Was zu sehen ist, wurde vorher berechnet.</translation>
    </message>
    <message>
        <source>forecast, %1 over %2</source>
        <translation>Prognose, %1 über %2</translation>
    </message>
    <message>
        <source>chosen</source>
        <translation>gewählt</translation>
    </message>
    <message>
        <source>%1 over %2: more machines would not be faster than one, with %3 tokens/s (forecast).</source>
        <translation>%1 über %2: Mehr Computer wären nicht schneller als einer mit %3 Tokens/s (Prognose).</translation>
    </message>
    <message>
        <source>%1 over %2: fastest with %3 machines, %4 tokens/s (forecast).</source>
        <translation>%1 über %2: am schnellsten mit %3 Computern, %4 Tokens/s (Prognose).</translation>
    </message>
    <message>
        <source>What the machines send their results over after every layer</source>
        <translation>Worüber die Computer nach jeder Schicht ihre Ergebnisse senden</translation>
    </message>
    <message>
        <source>One machine needs no network</source>
        <translation>Ein einzelner Computer braucht kein Netz</translation>
    </message>
    <message>
        <source>How fast the model is here</source>
        <translation>Wie schnell das Modell hier ist</translation>
    </message>
    <message>
        <source>Forecast, not measured</source>
        <translation>Prognose, nicht gemessen</translation>
    </message>
    <message>
        <source>Here, as it runs now: %1</source>
        <translation>Hier, wie es jetzt läuft: %1</translation>
    </message>
    <message>
        <source>not measured yet: ask something</source>
        <translation>noch nicht gemessen: etwas fragen</translation>
    </message>
    <message>
        <source>It is being worked out</source>
        <translation>Wird gerade berechnet</translation>
    </message>
    <message>
        <source>Open a model first</source>
        <translation>Zuerst ein Modell öffnen</translation>
    </message>
    <message>
        <source>every machine makes each step</source>
        <translation>jeder Computer macht jeden Schritt</translation>
    </message>
    <message>
        <source>desktop and helpers</source>
        <translation>dieser Computer und Helfer</translation>
    </message>
    <message>
        <source>Here, as it runs now with %1 (%2): %3</source>
        <translation>Hier, wie es jetzt mit %1 läuft (%2): %3</translation>
    </message>
    <message>
        <source>Without: %1.</source>
        <translation>Ohne: %1.</translation>
    </message>
    <message>
        <source>per 1,000 USD</source>
        <translation>je 1.000 USD</translation>
    </message>
    <message>
        <source>Tokens per second for 1,000 USD that machines and network cards cost</source>
        <translation>Token pro Sekunde für je 1.000 USD, die Computer und Netzwerkkarten kosten</translation>
    </message>
    <message>
        <source> USD</source>
        <translation> USD</translation>
    </message>
    <message>
        <source>not given</source>
        <translation>nicht angegeben</translation>
    </message>
    <message>
        <source>Price of a machine</source>
        <translation>Preis eines Computers</translation>
    </message>
    <message>
        <source>What one machine costs, without its network card. The table then says how much speed the money buys.</source>
        <translation>Was ein Computer ohne seine Netzwerkkarte kostet. Die Tabelle sagt dann, wie viel Geschwindigkeit das Geld bringt.</translation>
    </message>
    <message>
        <source>%1: that CPU, not this computer&apos;s</source>
        <translation>%1: jene CPU, nicht die dieses Computers</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Experts that are on it</source>
        <translation>Experten, die auf ihr sind</translation>
    </message>
    <message>
        <source>Forecasts from datasheets and this computer&apos;s measured CPU, not measurements. Experts count as in the model&apos;s files.</source>
        <translation>Vorhersagen aus Datenblättern und der hier gemessenen CPU, keine Messungen. Experten zählen wie in den Dateien des Modells.</translation>
    </message>
    <message>
        <source>Each token includes %1 µs measured here beyond the forecast.</source>
        <translation>In jedem Token sind %1 µs enthalten, die hier über die Vorhersage hinaus gemessen wurden.</translation>
    </message>
    <message>
        <source>Share of an answer&apos;s expert calls that find their expert there</source>
        <translation>Anteil der Expertenaufrufe einer Antwort, die ihren Experten dort finden</translation>
    </message>
    <message>
        <source>In original quality: %1.</source>
        <translation>In Originalqualität: %1.</translation>
    </message>
    <message>
        <source>Without, in original quality: %1.</source>
        <translation>Ohne sie, in Originalqualität: %1.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>column: its text</comment>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Nothing is worked out yet. Press Forecast.</source>
        <translation>Noch nichts ausgerechnet. „Prognose“ tut es.</translation>
    </message>
    <message>
        <source>not measured since the last change: ask again</source>
        <translation>seit der letzten Änderung nicht gemessen: noch einmal fragen</translation>
    </message>
</context>
</TS>
